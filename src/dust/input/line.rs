//! One line of a log, by format.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::access_log;
use crate::dust::paper::Record;

/// The formats of logs that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// `url`, `status`, `size_min`, `size_max`, `sketch`, separated by tabs; `-` is unknown, and
    /// fields at the end may be missing.
    Tsv,
    /// JSON lines with `url`, `status`, and perhaps `size` and `sketch`: our own crawl log.
    CrawlLog,
    /// Common or Combined Log Format, perhaps with the virtual host in front.
    AccessLog,
    /// Sorted index of WARC files: SURT key, timestamp, JSON.
    Cdxj,
}

/// Why a line cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// Longer than a line may be.
    #[error("line too long")]
    TooLong,
    /// Not UTF-8.
    #[error("not UTF-8")]
    Encoding,
    /// A field that must be there is missing or empty.
    #[error("no {0}")]
    Missing(&'static str),
    /// A field that must be a number is none.
    #[error("{0} is not a number: `{1}`")]
    Number(&'static str, String),
    /// Not JSON, or not of the right shape.
    #[error("not a JSON record: {0}")]
    Json(String),
    /// Not of the format at all.
    #[error("not a line of {0}")]
    Shape(&'static str),
    /// A web-server log without host, and none was given.
    #[error("no host in the line; name scheme and host with --site")]
    NoHost,
    /// No line of the file has a known shape.
    #[error("no line from here on is of a known log format; name it with --format")]
    UnknownFormat,
    /// The file is longer than may be read.
    #[error("file too large: the rest is left out")]
    FileTooLarge,
    /// The source failed: a broken gzip file, or an I/O error.
    #[error("unreadable from here on: {0}")]
    Unreadable(String),
}

/// What a line holds.
pub(super) enum Parsed {
    /// A record.
    Record(Record),
    /// A request that tells nothing about a document.
    Unused,
}

/// What is the same for all lines of a file.
pub(super) struct Context {
    pub(super) format: Format,
    /// Scheme, `://` and host, without a slash at the end.
    base: Option<String>,
}

impl Context {
    pub(super) fn new(format: Format, site: Option<&str>) -> Self {
        let base = site.map(|site| {
            let site = site.trim_end_matches('/');
            if site.contains("://") { site.to_owned() } else { format!("http://{site}") }
        });
        Context { format, base }
    }
}

/// Tells the format from the first bytes of a log; none if no line has a known shape.
pub fn detect(head: &[u8]) -> Option<Format> {
    /// How many lines are looked at: one bad line at the top must not decide.
    const LINES: usize = 20;
    let text = String::from_utf8_lossy(head);
    let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    lines.take(LINES).find_map(shape)
}

fn shape(line: &str) -> Option<Format> {
    if line.starts_with('{') {
        return Some(Format::CrawlLog);
    }
    let mut tabs = line.split('\t');
    let is_number =
        |text: Option<&str>| text.is_some_and(|text| text.trim().parse::<u16>().is_ok());
    if tabs.next().is_some_and(|url| !url.is_empty()) && is_number(tabs.next()) {
        return Some(Format::Tsv);
    }
    let mut words = line.splitn(3, ' ');
    if let (Some(key), Some(time), Some(rest)) = (words.next(), words.next(), words.next()) {
        let is_time = time.len() >= 4 && time.bytes().all(|b| b.is_ascii_digit());
        if key.contains(')') && is_time && rest.starts_with('{') {
            return Some(Format::Cdxj);
        }
    }
    access_log::is_shape(line).then_some(Format::AccessLog)
}

pub(super) fn parse(context: &Context, line: &str) -> Result<Parsed, LineError> {
    match context.format {
        Format::Tsv => tsv(line).map(Parsed::Record),
        Format::CrawlLog => crawl_log(line),
        Format::AccessLog => access_log::parse(line, context.base.as_deref()),
        Format::Cdxj => cdxj(line),
    }
}

fn tsv(line: &str) -> Result<Record, LineError> {
    let mut fields = line.split('\t');
    let url = fields.next().filter(|url| !url.is_empty()).ok_or(LineError::Missing("url"))?;
    let status: i64 = number("status", fields.next().ok_or(LineError::Missing("status"))?)?;
    let sizes = [fields.next().unwrap_or("-"), fields.next().unwrap_or("-")];
    let size = if status == WHOLE_DOCUMENT_STATUS { size(sizes)? } else { None };
    let sketch = fields.next().map_or(Vec::new(), sketch);
    let status = u16::try_from(status.max(0)).unwrap_or(u16::MAX);
    Ok(Record { url: url.to_owned(), status, size, sketch })
}

/// The only status whose sizes are looked at.
const WHOLE_DOCUMENT_STATUS: i64 = 200;

fn size([least, greatest]: [&str; 2]) -> Result<Option<(i64, i64)>, LineError> {
    if least == "-" {
        return Ok(None);
    }
    let greatest = if greatest == "-" { least } else { greatest };
    // Numbers beyond any size are equal.
    let clamped = |number: i128| number.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    let read = |name, text| number(name, text).map(clamped);
    Ok(Some((read("size_min", least)?, read("size_max", greatest)?)))
}

pub(super) fn number<N: std::str::FromStr>(name: &'static str, text: &str) -> Result<N, LineError> {
    /// Longest part of a wrong number that is shown.
    const SHOWN: usize = 40;
    let error = |_| LineError::Number(name, text.chars().take(SHOWN).collect());
    text.trim().parse().map_err(error)
}

/// Reads comma-separated min-hashes; `-` and nothing are an unknown sketch. Each stands for itself
/// by a hash of its text, since only equality matters.
fn sketch(text: &str) -> Vec<u64> {
    if matches!(text, "-" | "") {
        return Vec::new();
    }
    text.split(',').map(|value| xxh3_64(value.as_bytes())).collect()
}

/// Reads the sketch of our own crawl log: 16 bins of 8 bits without commas, each of which is the
/// min-hash of one part of the text.
fn bins(text: &str) -> Option<Vec<u64>> {
    const DIGITS: usize = 32;
    if text.len() != DIGITS {
        return None;
    }
    let bin = |at| u64::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..DIGITS).step_by(2).map(bin).collect()
}

/// What is read of a JSON record; other fields may be there.
#[derive(Deserialize)]
struct Json {
    url: String,
    #[serde(default)]
    status: Option<serde_json::Value>,
    #[serde(default)]
    size: Option<i64>,
    #[serde(default)]
    size_min: Option<i64>,
    #[serde(default)]
    size_max: Option<i64>,
    #[serde(default)]
    sketch: Option<String>,
    #[serde(default)]
    digest: Option<String>,
    #[serde(default)]
    purpose: Option<String>,
}

/// Returns true for what a crawl log was asked for that is no page of its site: a robots.txt, and
/// what tested a rule or the site, to which nothing there leads.
pub(crate) fn is_no_page(purpose: &str) -> bool {
    matches!(purpose, "robots" | "probe")
}

impl Json {
    /// Returns the record; a fetch without an answer has no status or 0, and is of no use.
    fn parsed(self) -> Result<Parsed, LineError> {
        if self.purpose.as_deref().is_some_and(is_no_page) {
            return Ok(Parsed::Unused);
        }
        let status = match &self.status {
            Some(serde_json::Value::Number(status)) => number("status", &status.to_string())?,
            // Indexes write numbers as strings, and `-` for none.
            Some(serde_json::Value::String(status)) if status != "-" => number("status", status)?,
            _ => return Ok(Parsed::Unused),
        };
        if status == 0 {
            return Ok(Parsed::Unused);
        }
        let least = self.size_min.or(self.size);
        let size = least.map(|least| (least, self.size_max.unwrap_or(least)));
        let of_text = |text: &str| bins(text).unwrap_or_else(|| sketch(text));
        let sketch = self.sketch.as_deref().map_or(Vec::new(), of_text);
        if self.url.is_empty() {
            return Err(LineError::Missing("url"));
        }
        Ok(Parsed::Record(Record { url: self.url, status, size, sketch }))
    }
}

fn json(text: &str) -> Result<Json, LineError> {
    serde_json::from_str(text).map_err(|error| LineError::Json(error.to_string()))
}

fn crawl_log(line: &str) -> Result<Parsed, LineError> {
    json(line)?.parsed()
}

/// How often a digest stands in for a min-hash: for as many as any setting compares.
const DIGEST_VALUES: usize = 16;

/// An index knows no document sizes, only those of compressed records; but equal digests are equal
/// documents. So the digest stands for the sketch, where there is none.
fn cdxj(line: &str) -> Result<Parsed, LineError> {
    // Such as `!OpenWayback-CDXJ 1.0`.
    if line.starts_with('!') {
        return Ok(Parsed::Unused);
    }
    let brace = line.find('{').ok_or(LineError::Shape("a CDXJ index"))?;
    let json = json(&line[brace..])?;
    let digest = json.digest.clone();
    let mut parsed = json.parsed()?;
    if let (Parsed::Record(record), Some(digest)) = (&mut parsed, digest)
        && record.sketch.is_empty()
    {
        record.sketch = vec![xxh3_64(digest.as_bytes()); DIGEST_VALUES];
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: Format, line: &str, want: Result<Record, LineError>) {
        let got = parse(&Context::new(format, None), line).map(|parsed| match parsed {
            Parsed::Record(record) => Some(record),
            Parsed::Unused => None,
        });
        assert_eq!(got, want.map(Some), "{line}");
    }

    fn record(url: &str, status: u16, size: Option<(i64, i64)>, sketch: &[u64]) -> Record {
        Record { url: url.to_owned(), status, size, sketch: sketch.to_vec() }
    }

    #[test]
    fn a_tsv_line_has_five_fields_of_which_the_last_may_be_unknown() {
        let tsv = |line, want| check(Format::Tsv, line, want);
        let values = [xxh3_64(b"ff"), xxh3_64(b"0a")];
        tsv("http://h/\t200\t3\t9\tff,0a", Ok(record("http://h/", 200, Some((3, 9)), &values)));
        tsv("http://h/\t301\t-\t-\t-", Ok(record("http://h/", 301, None, &[])));
        tsv("http://h/\t200\t7", Ok(record("http://h/", 200, Some((7, 7)), &[])));
        tsv("http://h/", Err(LineError::Missing("status")));
        tsv("\t200", Err(LineError::Missing("url")));
        tsv("http://h/\t200\tten", Err(LineError::Number("size_min", "ten".to_owned())));
    }

    #[test]
    fn a_crawl_log_line_may_have_more_fields() {
        let values = [xxh3_64(b"1"), xxh3_64(b"2")];
        let line = r#"{"time":"2026-01-01T00:00:00Z","url":"http://h/","status":200,"size":12,"sketch":"1,2","x":{"y":[]}}"#;
        check(Format::CrawlLog, line, Ok(record("http://h/", 200, Some((12, 12)), &values)));
        let line = r#"{"url":"http://h/","status":"304","size":null,"sketch":null}"#;
        check(Format::CrawlLog, line, Ok(record("http://h/", 304, None, &[])));
        check(Format::CrawlLog, r#"{"url":"","status":200}"#, Err(LineError::Missing("url")));
    }

    #[test]
    fn the_sketch_of_our_own_log_is_read_bin_by_bin_and_its_robots_files_are_passed_over() {
        let line = r#"{"url":"http://h/","status":200,"purpose":"page","sketch":"000102030405060708090a0b0c0d0eff"}"#;
        let bins: Vec<u64> = (0..15).chain([255]).collect();
        check(Format::CrawlLog, line, Ok(record("http://h/", 200, None, &bins)));
        let look = r#"{"url":"http://h/a?_=1643869043","status":200,"purpose":"probe"}"#;
        let robots = r#"{"url":"http://h/robots.txt","status":200,"purpose":"robots"}"#;
        for line in [look, robots] {
            let parsed = parse(&Context::new(Format::CrawlLog, None), line);
            assert!(matches!(parsed, Ok(Parsed::Unused)), "{line}");
        }
    }

    #[test]
    fn a_fetch_without_an_answer_is_of_no_use() {
        let line = r#"{"url":"http://h/","status":null,"failure":"timeout"}"#;
        let parsed = parse(&Context::new(Format::CrawlLog, None), line);
        assert!(matches!(parsed, Ok(Parsed::Unused)));
    }

    /// A status of 0 is no answer, and counted for a page of unknown text.
    #[test]
    fn what_failed_in_our_own_crawl_is_of_no_use() {
        let failed =
            r#"{"url":"http://h/","status":0,"failure":"timeout","purpose":"page","size":0}"#;
        let of_index = r#"org,h)/ 20260101000000 {"url":"http://h.org/","status":"0"}"#;
        for (format, line) in [(Format::CrawlLog, failed), (Format::Cdxj, of_index)] {
            let parsed = parse(&Context::new(format, None), line);
            assert!(matches!(parsed, Ok(Parsed::Unused)), "{line}");
        }
        check(Format::Tsv, "http://h/\t0", Ok(record("http://h/", 0, None, &[])));
    }

    /// The reference looks at sizes of status 200 only, and takes any whole number.
    #[test]
    fn what_the_miner_of_the_paper_does_not_look_at_may_be_anything() {
        let tsv = |line, want| check(Format::Tsv, line, Ok(want));
        tsv("u\t301\t\t\tten", record("u", 301, None, &[xxh3_64(b"ten")]));
        tsv("u\t304\t5\t5", record("u", 304, None, &[]));
        tsv("u\t-1\t5", record("u", 0, None, &[]));
        tsv("u\t99999\t5", record("u", u16::MAX, None, &[]));
        tsv("u\t200\t-\tten", record("u", 200, None, &[]));
        let size = Some((1, i64::MAX));
        tsv("u\t200\t1\t9223372036854775808", record("u", 200, size, &[]));
    }

    /// Values are names: their case and their zeros tell them apart. An MD5 in a list is one value,
    /// not the sketch of our own log.
    #[test]
    fn values_of_sketches_in_lists_are_compared_as_they_are_written() {
        let sketch = |text: &str| {
            let line = format!("u\t200\t1\t1\t{text}");
            match parse(&Context::new(Format::Tsv, None), &line) {
                Ok(Parsed::Record(record)) => record.sketch,
                _ => panic!("{line}"),
            }
        };
        assert_ne!(sketch("AB"), sketch("ab"));
        assert_ne!(sketch("0a"), sketch("a"));
        assert_eq!(sketch("ff,0a"), sketch("ff,0a"));
        assert_eq!(sketch("ab0102030405060708090a0b0c0d0eff").len(), 1);
    }

    #[test]
    fn an_index_line_compares_documents_by_digest() {
        let line = r#"org,h)/ 20260101000000 {"url":"http://h.org/","status":"200","length":"300","digest":"sha1:A"}"#;
        let digest = vec![xxh3_64(b"sha1:A"); DIGEST_VALUES];
        check(Format::Cdxj, line, Ok(record("http://h.org/", 200, None, &digest)));
    }

    #[test]
    fn the_head_of_an_index_is_of_no_use() {
        let parsed = parse(&Context::new(Format::Cdxj, None), "!OpenWayback-CDXJ 1.0");
        assert!(matches!(parsed, Ok(Parsed::Unused)));
    }

    #[test]
    fn the_format_is_told_by_the_first_line_that_has_one() {
        for (text, want) in [
            ("# list\n\nhttp://h/\t200\t-\t-\t-\n", Some(Format::Tsv)),
            ("{\"url\":\"http://h/\"}\n", Some(Format::CrawlLog)),
            ("org,h)/ 20260101000000 {\"url\":\"http://h/\"}\n", Some(Format::Cdxj)),
            (
                "garbage\n1.2.3.4 - - [01/Jan/2026:00:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n",
                Some(Format::AccessLog),
            ),
            ("plain words\n", None),
            ("", None),
        ] {
            assert_eq!(detect(text.as_bytes()), want, "{text}");
        }
    }
}
