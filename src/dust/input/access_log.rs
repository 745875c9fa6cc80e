//! Web-server logs: Common and Combined Log Format, with or without the virtual host in front
//! (Apache HTTP Server documentation, mod_log_config).
//!
//! ```text
//! [vhost[:port] ]client ident user [time] "GET /path HTTP/1.1" status bytes ["referer" "agent"]
//! ```

use super::line::{LineError, Parsed, number};
use crate::dust::paper::Record;
use crate::url::CrawlUrl;

const NAME: &str = "a web-server log";

/// Returns whether a line looks like one of a web-server log.
pub(super) fn is_shape(line: &str) -> bool {
    split(line).is_some_and(|parts| {
        parts.after.split(' ').next().is_some_and(|s| s.parse::<u16>().is_ok())
    })
}

/// The parts of a line between its brackets and quotes.
struct Parts<'l> {
    /// What stands before the time.
    before: &'l str,
    /// The request line, as it was escaped.
    request: &'l str,
    /// Status, bytes and what follows.
    after: &'l str,
}

fn split(line: &str) -> Option<Parts<'_>> {
    let (before, rest) = line.split_once(" [")?;
    let (_, rest) = rest.split_once("] \"")?;
    let end = closing_quote(rest)?;
    Some(Parts { before, request: &rest[..end], after: rest[end + 1..].trim_start() })
}

/// Returns where the quoted text ends; a quote inside it is escaped with a backslash.
fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// Reads one line. `base` is scheme and host for lines that do not name their host.
///
/// Only GET and HEAD tell of documents; of HEAD, and of answers without a body, no size is known.
pub(super) fn parse(line: &str, base: Option<&str>) -> Result<Parsed, LineError> {
    let Parts { before, request, after } = split(line).ok_or(LineError::Shape(NAME))?;
    let mut after = after.split(' ');
    let status: u16 = number("status", after.next().unwrap_or_default())?;
    let bytes = match after.next() {
        None | Some("-") => None,
        Some(bytes) => Some(number::<i64>("bytes", bytes)?),
    };
    let request = unescape(request);
    let mut words = request.split(' ').filter(|word| !word.is_empty());
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        // Empty requests ("-") are logged for connections that timed out.
        return Ok(Parsed::Unused);
    };
    // A target with spaces was never the URL of a page, and its first word even less.
    let is_request = words.next().is_none_or(|version| version.starts_with("HTTP/"));
    if !is_request || !matches!(method, "GET" | "HEAD") {
        return Ok(Parsed::Unused);
    }
    let url = match target.as_bytes().first() {
        Some(b'/') => format!("{}{target}", origin(before, base)?),
        _ if has_scheme(target) && is_of_site(target, base) => target.to_owned(),
        _ => return Ok(Parsed::Unused),
    };
    let size = bytes.filter(|&bytes| method == "GET" && bytes > 0).map(|bytes| (bytes, bytes));
    Ok(Parsed::Record(Record { url, status, size, sketch: Vec::new() }))
}

fn has_scheme(target: &str) -> bool {
    let begins =
        |scheme: &str| target.get(..scheme.len()).is_some_and(|t| t.eq_ignore_ascii_case(scheme));
    begins("http://") || begins("https://")
}

/// Returns true for a URL of the site that a log is of, as far as that was told. Anybody may ask a
/// server for a page of another one, to learn whether it is an open proxy: a line about that is no
/// reason to fetch from there.
fn is_of_site(target: &str, base: Option<&str>) -> bool {
    let site = |url: &str| CrawlUrl::parse(url).ok().map(|url| url.site());
    base.is_none_or(|base| site(base) == site(target))
}

/// Returns scheme and host of a line: those that were given, unless the line begins with a virtual
/// host (then there is one word more before the time than the three of the Common Log Format).
fn origin(before: &str, base: Option<&str>) -> Result<String, LineError> {
    const WORDS_WITHOUT_HOST: usize = 3;
    let first = before.split(' ').next().unwrap_or_default();
    // User names may hold spaces; a virtual host has a port or a dot, and an address does not
    // stand in the second word without it.
    let mut words = before.split(' ');
    let has_host = words.clone().count() > WORDS_WITHOUT_HOST
        && words.nth(1).is_some_and(|client| client != "-")
        && first != "-";
    if !has_host {
        return base.map(str::to_owned).ok_or(LineError::NoHost);
    }
    let (host, port) = match first.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (host, port),
        _ => (first, ""),
    };
    let host = host.to_ascii_lowercase();
    Ok(match port {
        "443" => format!("https://{host}"),
        "" | "80" | "0" => match base.and_then(|base| base.split_once("://")) {
            // A host without a telling port has the scheme that was given.
            Some((scheme, _)) if port.is_empty() => format!("{scheme}://{host}"),
            _ => format!("http://{host}"),
        },
        port => format!("http://{host}:{port}"),
    })
}

/// Undoes the escapes of Apache and nginx in a quoted field: `\"`, `\\`, `\n`, `\t`, `\xhh`. Bytes
/// beyond ASCII are percent-encoded, as they were on the wire or should have been.
fn unescape(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let hex = rest.strip_prefix('x').and_then(|hex| hex.get(..2));
        if let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            rest = &rest[3..];
            match byte {
                b'!'..=b'~' => plain.push(char::from(byte)),
                _ => plain.push_str(&format!("%{byte:02X}")),
            }
            continue;
        }
        let mut characters = rest.chars();
        match characters.next() {
            Some('n') => plain.push_str("%0A"),
            Some('r') => plain.push_str("%0D"),
            Some('t') => plain.push_str("%09"),
            Some(other) => plain.push(other),
            None => plain.push('\\'),
        }
        rest = characters.as_str();
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: &str = "[10/Oct/2000:13:55:36 -0700]";

    /// URL, status and bytes; none for a line that is of no use.
    type Want<'w> = Option<(&'w str, u16, Option<i64>)>;

    fn check(before: &str, request_and_rest: &str, want: Result<Want, LineError>) {
        let line = format!("{before} {TIME} {request_and_rest}");
        let got = parse(&line, Some("https://site.example")).map(|parsed| match parsed {
            Parsed::Record(record) => {
                Some((record.url, record.status, record.size.map(|size| size.0)))
            }
            Parsed::Unused => None,
        });
        let want = want.map(|want| want.map(|(url, status, size)| (url.to_owned(), status, size)));
        assert_eq!(got, want, "{line}");
    }

    #[test]
    fn common_and_combined_lines_are_read() {
        let url = "https://site.example/a.gif";
        check(
            "127.0.0.1 - frank",
            r#""GET /a.gif HTTP/1.0" 200 2326"#,
            Ok(Some((url, 200, Some(2326)))),
        );
        check(
            "::1 - -",
            r#""GET /a.gif HTTP/1.0" 200 2326 "http://x/?a=\"" "Mozilla/4.08 [en]""#,
            Ok(Some((url, 200, Some(2326)))),
        );
        check("h - -", r#""GET /a.gif HTTP/1.0" 304 -"#, Ok(Some((url, 304, None))));
        check("h - -", r#""HEAD /a.gif HTTP/1.0" 200 2326"#, Ok(Some((url, 200, None))));
    }

    #[test]
    fn the_host_is_taken_from_the_line_where_it_stands_there() {
        check(
            "A.example:443 1.2.3.4 - -",
            r#""GET /x HTTP/1.1" 200 1"#,
            Ok(Some(("https://a.example/x", 200, Some(1)))),
        );
        check(
            "a.example:80 1.2.3.4 - -",
            r#""GET /x HTTP/1.1" 200 1"#,
            Ok(Some(("http://a.example/x", 200, Some(1)))),
        );
        check(
            "a.example:8080 1.2.3.4 - -",
            r#""GET /x HTTP/1.1" 200 1"#,
            Ok(Some(("http://a.example:8080/x", 200, Some(1)))),
        );
        check(
            "a.example 1.2.3.4 - -",
            r#""GET /x HTTP/1.1" 200 1"#,
            Ok(Some(("https://a.example/x", 200, Some(1)))),
        );
        check(
            "1.2.3.4 - John Doe",
            r#""GET /x HTTP/1.1" 200 1"#,
            Ok(Some(("https://site.example/x", 200, Some(1)))),
        );
        check(
            "1.2.3.4 - -",
            r#""GET http://b.site.example/x HTTP/1.1" 200 1"#,
            Ok(Some(("http://b.site.example/x", 200, Some(1)))),
        );
    }

    #[test]
    fn other_requests_are_of_no_use_and_broken_lines_are_bad() {
        check("h - -", r#""POST /a HTTP/1.0" 200 5"#, Ok(None));
        check("h - -", r#""-" 408 0"#, Ok(None));
        check("h - -", r#""CONNECT a.example:443 HTTP/1.1" 200 5"#, Ok(None));
        check("h - -", r#""GET /a HTTP/1.0 200 5"#, Err(LineError::Shape(NAME)));
        check(
            "h - -",
            r#""GET /a HTTP/1.0" OK 5"#,
            Err(LineError::Number("status", "OK".to_owned())),
        );
    }

    /// `/a b` was read as a request for `/a`, which nobody made.
    #[test]
    fn a_target_with_spaces_is_no_url_and_a_scheme_may_be_in_capitals() {
        check("h - -", r#""GET /a b HTTP/1.1" 200 5"#, Ok(None));
        check("h - -", r#""GET /a b" 200 5"#, Ok(None));
        check("h - -", r#""GET /a" 200 5"#, Ok(Some(("https://site.example/a", 200, Some(5)))));
        let url = "HTTPS://www.site.example/x";
        check(
            "h - -",
            r#""GET HTTPS://www.site.example/x HTTP/1.1" 200 1"#,
            Ok(Some((url, 200, Some(1)))),
        );
    }

    /// Whoever asked a public server for pages of another one made its auditor fetch them there.
    #[test]
    fn what_was_asked_of_another_site_is_of_no_use_where_the_site_is_told() {
        let request = r#""GET http://b.example/x HTTP/1.1" 200 1"#;
        check("h - -", request, Ok(None));
        let parsed = parse(&format!("h - - {TIME} {request}"), None);
        assert!(matches!(parsed, Ok(Parsed::Record(record)) if record.url == "http://b.example/x"));
    }

    #[test]
    fn without_a_host_anywhere_a_line_is_bad() {
        let line = format!(r#"h - - {TIME} "GET /a HTTP/1.0" 200 5"#);
        assert_eq!(parse(&line, None).err(), Some(LineError::NoHost));
    }

    #[test]
    fn escapes_are_undone() {
        let url = "https://site.example/a\"%C3%A9\\%09b";
        check("h - -", r#""GET /a\"\xc3\xa9\\\tb HTTP/1.0" 200 5"#, Ok(Some((url, 200, Some(5)))));
    }
}
