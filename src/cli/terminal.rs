//! Printing that no text of the web can abuse.
//!
//! The macros shadow those of the standard library in every command, so that nobody has to
//! remember: what would move a cursor, set a title or turn the direction of text is written as an
//! escape. The escapes are those of JSON, so that a line of JSON stays one, with the same meaning.

use std::borrow::Cow;
use std::fmt::Write;

macro_rules! print {
    ($($arg:tt)*) => {
        ::std::print!("{}", $crate::cli::terminal::shown(&::std::format!($($arg)*)))
    };
}

macro_rules! println {
    () => { ::std::println!() };
    ($($arg:tt)*) => {
        ::std::println!("{}", $crate::cli::terminal::shown(&::std::format!($($arg)*)))
    };
}

macro_rules! eprintln {
    () => { ::std::eprintln!() };
    ($($arg:tt)*) => {
        ::std::eprintln!("{}", $crate::cli::terminal::shown(&::std::format!($($arg)*)))
    };
}

macro_rules! eprint {
    ($($arg:tt)*) => {
        ::std::eprint!("{}", $crate::cli::terminal::shown(&::std::format!($($arg)*)))
    };
}

/// Returns text as it may be printed: line feeds and tabs stay, other control characters and those
/// that turn the direction of text become `\uXXXX`.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_obeyed(c) {
            // Writing to a string cannot fail; all of these are in the first plane.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out.into()
}

fn is_obeyed(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_would_obey_is_printed() {
        for (text, want) in [
            ("plain ä 世界\n\tindented", "plain ä 世界\n\tindented"),
            ("a\u{1b}[2Jb", "a\\u001b[2Jb"),
            ("a\u{9b}31m\u{7f}\r\u{0}", "a\\u009b31m\\u007f\\u000d\\u0000"),
            ("a\u{202e}b\u{2066}", "a\\u202eb\\u2066"),
        ] {
            assert_eq!(shown(text), want);
        }
        let json = serde_json::to_string("a\u{9b}b\u{202e}c\u{1b}").unwrap();
        let read: String = serde_json::from_str(&shown(&json)).unwrap();
        assert_eq!(read, "a\u{9b}b\u{202e}c\u{1b}");
    }
}
