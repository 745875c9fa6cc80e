//! `meta http-equiv=refresh` (WHATWG HTML §4.2.5.3, "shared declarative refresh steps").

/// Returns where a refresh leads, as written; `None` where it only reloads or is no refresh. The
/// value of a `Refresh` header has the same form.
pub fn target(content: &str) -> Option<&str> {
    let rest = content.trim_start_matches(is_space);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 && !rest.starts_with('.') {
        return None;
    }
    let rest = rest[digits..].trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !rest.starts_with(|c| matches!(c, ';' | ',') || is_space(c)) {
        return None;
    }
    let rest = rest.trim_start_matches(is_space);
    let rest = rest.strip_prefix([';', ',']).unwrap_or(rest).trim_start_matches(is_space);
    if rest.is_empty() {
        return None;
    }
    let url = after_keyword(rest).unwrap_or(rest);
    let quote = url.chars().next().filter(|c| matches!(c, '"' | '\''));
    let url = match quote {
        Some(quote) => url[1..].split(quote).next().unwrap_or_default(),
        None => url,
    };
    let url = url.trim_end_matches(is_space);
    (!url.is_empty()).then_some(url)
}

/// Returns what stands behind `url =`, if the text begins so.
fn after_keyword(rest: &str) -> Option<&str> {
    let head = rest.get(..3).filter(|head| head.eq_ignore_ascii_case("url"))?;
    let value = rest[head.len()..].trim_start_matches(is_space).strip_prefix('=')?;
    Some(value.trim_start_matches(is_space))
}

fn is_space(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\x0C' | '\r' | ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content: &str, want: Option<&str>) {
        assert_eq!(target(content), want, "{content}");
    }

    #[test]
    fn the_target_is_read_as_browsers_read_it() {
        check("0;url=a.html", Some("a.html"));
        check("5; URL = 'a b.html' trailing", Some("a b.html"));
        check("1.5,a.html", Some("a.html"));
        check("0 a.html", Some("a.html"));
        check(".5;url=a", Some("a"));
        check("0;url\"a\"", Some("url\"a\""));
        check("0;url=\"a", Some("a"));
    }

    #[test]
    fn a_refresh_without_target_leads_nowhere() {
        check("30", None);
        check("30;", None);
        check("url=a.html", None);
        check("5x;url=a", None);
        check("", None);
    }
}
