//! Seed lists: text to URLs with priority. Pure; reading the file is the caller's business.
//!
//! One URL per line; blank lines and what follows a `#` at the start of a word are skipped. After
//! the URL stand options: `priority=N` (0 is fetched first, as are seeds without one) and `hops=N`
//! (at most so many links from here; the crawl's own limit holds as well). A bare name
//! (`example.org`, `example.org/docs`) is read as `http://`: servers that speak only https redirect
//! there, while the reverse guess fails where https is not spoken; [`Seed::scheme_assumed`] records
//! the guess. A byte order mark is accepted, and CRLF or a bare CR for a line end. A bad line is
//! reported and never costs a good one; what is no text at all, [`check_is_text`] refuses.
//!
//! A line with `+` in front, which other crawlers read as a SURT prefix, is refused: scope is set
//! by the configuration, in one place.

use std::collections::HashSet;
use std::fmt;

use crate::url::CrawlUrl;

/// Longest line in bytes. Longer ones are no URLs but a sign of a wrong file.
const LINE_BYTES_MAX: usize = 16 * 1024;

/// A URL to begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// The URL.
    pub url: CrawlUrl,
    /// Its priority, 0 being first; none if the line says nothing.
    pub priority: Option<u8>,
    /// Most hops from this seed; none if the line says nothing.
    pub hops_max: Option<u16>,
    /// The line it stands on, counted from 1.
    pub line: usize,
    /// True if the line gave no scheme.
    pub scheme_assumed: bool,
}

/// A line that is no seed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SeedError {
    /// Name of the list.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong and what to write instead.
    pub why: String,
}

impl fmt::Display for SeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.why)
    }
}

/// What a seed list holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seeds {
    /// Good lines in order, each URL once.
    pub seeds: Vec<Seed>,
    /// Bad lines in order.
    pub errors: Vec<SeedError>,
    /// How many lines repeat a URL from above; the first one counts.
    pub repeated: usize,
}

/// Reads a seed list. `file` is for messages; priorities run from 0 to below `priorities`.
pub fn parse(file: &str, text: &[u8], priorities: u8) -> Seeds {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut known = HashSet::new();
    let mut all = Seeds::default();
    for (index, line) in lines(text).enumerate() {
        match parse_line(line, index + 1, priorities) {
            Ok(None) => {}
            Ok(Some(seed)) if !known.insert(seed.url.fingerprint()) => all.repeated += 1,
            Ok(Some(seed)) => all.seeds.push(seed),
            Err(why) => {
                all.errors.push(SeedError { file: file.to_owned(), line: index + 1, why });
            }
        }
    }
    all
}

/// Checks that a file may be a seed list. Of a program, a picture or UTF-16 each line would be
/// wrong by itself, but for those that look like hosts.
///
/// # Errors
/// Returns the first line that no text has.
pub fn check_is_text(file: &str, text: &[u8]) -> Result<(), SeedError> {
    let is_utf16 = text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff");
    let end = if is_utf16 { Some(0) } else { text.iter().position(|byte| *byte == 0) };
    let Some(end) = end else { return Ok(()) };
    let why = "this is a binary file or UTF-16; name a list with one URL a line, saved as UTF-8";
    Err(SeedError { file: file.to_owned(), line: lines(&text[..end]).count(), why: why.to_owned() })
}

/// Splits a list at its line ends, of whichever system.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let Some(end) = text.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            return Some(text);
        };
        let length = if text[end..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = Some(&text[end + length..]);
        Some(&text[..end])
    })
}

fn parse_line(line: &[u8], number: usize, priorities: u8) -> Result<Option<Seed>, String> {
    if line.len() > LINE_BYTES_MAX {
        return Err(format!("{} bytes in one line; at most {LINE_BYTES_MAX}", line.len()));
    }
    let line = std::str::from_utf8(line).map_err(|_| "not UTF-8; save the list as UTF-8")?;
    let mut words = line.split_whitespace().take_while(|word| !word.starts_with('#'));
    let Some(first) = words.next() else { return Ok(None) };
    let (url, scheme_assumed) = parse_url(first)?;
    let mut seed = Seed { url, priority: None, hops_max: None, line: number, scheme_assumed };
    for word in words {
        match word.split_once('=') {
            Some(("priority", value)) => seed.priority = Some(priority(value, priorities)?),
            Some(("hops", value)) => {
                let hops = value.parse().map_err(|_| format!("`hops={value}`: not 0 to 65535"))?;
                seed.hops_max = Some(hops);
            }
            _ => return Err(format!("`{}` is neither `priority=` nor `hops=`", shown(word))),
        }
    }
    Ok(Some(seed))
}

fn priority(value: &str, priorities: u8) -> Result<u8, String> {
    match value.parse() {
        Ok(priority) if priority < priorities => Ok(priority),
        _ => {
            let last = priorities.saturating_sub(1);
            Err(format!("`priority={}`: not 0 to {last}", shown(value)))
        }
    }
}

fn parse_url(word: &str) -> Result<(CrawlUrl, bool), String> {
    if word.starts_with('+') {
        return Err("lines with `+` are not read; set `scope = \"prefix\"` or `include`".to_owned());
    }
    let assumed = !has_scheme(word);
    if assumed && word.contains('@') {
        return Err("an address with `@` is no seed; write http:// or https:// in front".to_owned());
    }
    let parsed =
        if assumed { CrawlUrl::parse(&format!("http://{word}")) } else { CrawlUrl::parse(word) };
    parsed.map(|url| (url, assumed)).map_err(|error| format!("`{}`: {error}", shown(word)))
}

/// Returns true for `scheme:` in front, but not for `host:port`.
fn has_scheme(word: &str) -> bool {
    let Some((scheme, rest)) = word.split_once(':') else { return false };
    let starts = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    let letters = scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    starts && letters && !rest.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns a word as messages may show it: short, and without what might be a password.
fn shown(word: &str) -> String {
    if word.contains('@') {
        return "...@...".to_owned();
    }
    let mut chars = word.chars();
    let mut short: String = chars.by_ref().take(80).collect();
    if chars.next().is_some() {
        short.push_str("...");
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Seeds {
        parse("seeds.txt", text.as_bytes(), 4)
    }

    /// URL, priority, hops, scheme assumed.
    type Read<'a> = (&'a str, Option<u8>, Option<u16>, bool);

    fn check(line: &str, want: Result<Read<'_>, &str>) {
        let all = parsed(line);
        match want {
            Ok((url, priority, hops_max, scheme_assumed)) => {
                let url = CrawlUrl::parse(url).unwrap();
                let seed = Seed { url, priority, hops_max, line: 1, scheme_assumed };
                assert_eq!(all, Seeds { seeds: vec![seed], ..Seeds::default() }, "{line}");
            }
            Err(why) => {
                assert_eq!(all.seeds, [], "{line}");
                let error = all.errors[0].to_string();
                assert!(error.starts_with("seeds.txt:1: ") && error.contains(why), "{error}");
            }
        }
    }

    #[test]
    fn a_line_is_a_url_and_options() {
        check("http://a.test/x", Ok(("http://a.test/x", None, None, false)));
        check("HTTPS://A.test:443/#top", Ok(("https://a.test/", None, None, false)));
        check("\thttp://a.test  priority=2 ", Ok(("http://a.test/", Some(2), None, false)));
        check("http://a.test hops=0 priority=0", Ok(("http://a.test/", Some(0), Some(0), false)));
        check("http://a.test priority=3", Ok(("http://a.test/", Some(3), None, false)));
        check("http://a.test # home", Ok(("http://a.test/", None, None, false)));
        check("a.test", Ok(("http://a.test/", None, None, true)));
        check("localhost:8080/x", Ok(("http://localhost:8080/x", None, None, true)));
        check("bücher.test/a", Ok(("http://xn--bcher-kva.test/a", None, None, true)));
        check("[::1]:80", Ok(("http://[::1]/", None, None, true)));
        check("http:a.test", Ok(("http://a.test/", None, None, false)));
    }

    #[test]
    fn a_bad_line_says_what_is_wrong() {
        check("ftp://a.test/", Err("scheme `ftp` is not crawled"));
        check("mailto:you@a.test", Err("scheme `mailto` is not crawled"));
        check("you@a.test", Err("no seed"));
        check("http://", Err("not a URL"));
        check("http://a b", Err("`b` is neither"));
        check("http://a.test priority=-1", Err("not 0 to 3"));
        check("http://a.test priority=4", Err("not 0 to 3"));
        check("http://a.test hops=x", Err("`hops=x`"));
        check("http://a.test colour=red", Err("`colour=red` is neither"));
        check("+http://(org,example,", Err("scope"));
        check(&format!("http://a.test/{}", "x".repeat(20_000)), Err("bytes in one line"));
    }

    #[test]
    fn a_password_is_never_shown() {
        let all = parsed("http://me:secret@a.test:99999/");
        assert!(!all.errors[0].to_string().contains("secret"));
        assert_eq!(parsed("http://me:secret@a.test/").seeds[0].url.as_str(), "http://a.test/");
    }

    #[test]
    fn a_bad_line_costs_no_good_one() {
        let text = b"\xef\xbb\xbf# list\r\n\r\nhttp://a.test/\r\nnot a url\r\n\xff\xfe\r\n\
                     a.test\r\nb.test\r\nhttp://a.test/#again";
        let all = parse("s", text, 1);
        let urls: Vec<_> = all.seeds.iter().map(|seed| (seed.line, seed.url.as_str())).collect();
        assert_eq!(urls, [(3, "http://a.test/"), (7, "http://b.test/")]);
        let lines: Vec<_> = all.errors.iter().map(|error| error.line).collect();
        assert_eq!((lines, all.repeated), (vec![4, 5], 2));
        assert!(all.errors[1].to_string().contains("UTF-8"));
    }

    /// A list with the line ends of an old Mac was one line, and all its seeds were lost.
    #[test]
    fn a_line_ends_as_on_any_system() {
        for end in ["\n", "\r\n", "\r"] {
            let all = parsed(&["# list", "http://a.test/", "", "b.test", "x y"].join(end));
            let found: Vec<_> = all.seeds.iter().map(|s| (s.line, s.url.as_str())).collect();
            assert_eq!(found, [(2, "http://a.test/"), (4, "http://b.test/")], "{end:?}");
            assert_eq!(all.errors[0].line, 5, "{end:?}");
        }
    }

    /// Each line was named by itself, and words in it were crawled as hosts.
    #[test]
    fn what_is_no_text_is_refused_in_one_line() {
        let refused = |text: &[u8]| {
            let error = check_is_text("s", text).unwrap_err().to_string();
            assert!(error.contains("binary file or UTF-16"), "{error}");
            error
        };
        assert!(refused(b"\x7fELF\x02\nword\r\n\x00more\n").starts_with("s:3: "));
        assert!(refused(b"\xff\xfeh\0t\0").starts_with("s:1: "));
        assert!(refused(b"\xfe\xff\0h").starts_with("s:1: "));
        assert!(refused(b"h\0t\0").starts_with("s:1: "));
        for text in [&b""[..], b"\xef\xbb\xbfhttp://a.test/\n", b"\xe9.test\n"] {
            assert_eq!(check_is_text("s", text), Ok(()));
        }
    }

    #[test]
    fn an_empty_list_is_empty() {
        assert_eq!(parsed(""), Seeds::default());
        assert_eq!(parsed("\n  \n# nothing\n"), Seeds::default());
    }
}
