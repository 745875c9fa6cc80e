//! Numbers and times for people.

use std::path::Path;
use std::time::Duration;

pub(super) use crate::report::grouped as number;

/// Returns a size with two or three significant digits: `4.1 MB`.
pub(super) fn bytes(n: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let (mut value, mut unit) = (n, 0);
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 || value >= 100.0 {
        format!("{value:.0} {}", units[unit])
    } else {
        format!("{value:.1} {}", units[unit])
    }
}

/// Returns a duration in its two largest units: `2h05m`, `3m20s`, `12s`.
pub(super) fn duration(span: Duration) -> String {
    let secs = span.as_secs();
    let (days, hours, minutes) = (secs / 86_400, secs / 3600 % 24, secs / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) if secs < 10 => format!("{:.1}s", span.as_secs_f64()),
        (0, 0, 0) => format!("{secs}s"),
        (0, 0, _) => format!("{minutes}m{:02}s", secs % 60),
        (0, _, _) => format!("{hours}h{minutes:02}m"),
        _ => format!("{days}d{hours:02}h"),
    }
}

/// Returns a path as JSON has it; JSON is UTF-8, and what of a path is not is replaced.
pub(super) fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Returns text of the web as it may be shown on a terminal: control characters, and characters
/// that turn the direction of text or have no width, are written as escapes.
pub(super) fn plain(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_unsafe(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out.into()
}

fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_as_an_escape() {
        for (text, want) in [
            ("http://a.test/ä", "http://a.test/ä"),
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("a\u{9b}31mb", "a\\u{9b}31mb"),
            ("a\nb\tc", "a\\nb\\tc"),
            ("a\u{202e}b", "a\\u{202e}b"),
        ] {
            assert_eq!(plain(text), want);
        }
    }

    #[test]
    fn figures_are_readable() {
        assert_eq!(number(0), "0");
        assert_eq!(number(12_034), "12,034");
        assert_eq!(number(1_000_000), "1,000,000");
        assert_eq!(bytes(999.0), "999 B");
        assert_eq!(bytes(4_100_000.0), "4.1 MB");
        assert_eq!(duration(Duration::from_secs(7500)), "2h05m");
        assert_eq!(duration(Duration::from_millis(1500)), "1.5s");
        assert_eq!(duration(Duration::from_secs(90_000)), "1d01h");
    }
}
