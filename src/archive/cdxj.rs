//! CDXJ index lines, with the fields, order and spelling of `cdxj-indexer`, as pywb reads them.
//!
//! A line is `SURT-KEY YYYYMMDDhhmmss {json}`; lines of a finished index are sorted by bytes.

use serde::Deserialize;

use super::http;
use crate::url::CrawlUrl;

/// What an index line says of a record, but for where the record is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    key: String,
    timestamp: String,
    url: String,
    mime: Option<String>,
    status: Option<String>,
    digest: Option<String>,
}

/// The named fields of a record that decide about its index line.
pub(super) struct Source<'a> {
    pub(super) kind: &'a str,
    pub(super) uri: &'a str,
    pub(super) date: &'a str,
    pub(super) content_type: &'a str,
    pub(super) payload_digest: Option<&'a str>,
    /// The head of the HTTP message in the block, or nothing.
    pub(super) http_head: &'a [u8],
}

impl Entry {
    /// Returns the entry of a record, or `None` for types that are not replayed.
    pub(super) fn of(source: &Source<'_>) -> Option<Entry> {
        let is_http = !source.http_head.is_empty();
        let mime = match source.kind {
            "revisit" => Some("warc/revisit".to_owned()),
            "response" if is_http => {
                http::header(source.http_head, "content-type").map(|value| bare_type(&value))
            }
            "response" => None,
            "resource" | "metadata" if source.content_type == "application/warc-fields" => {
                return None;
            }
            "resource" | "metadata" => Some(bare_type(source.content_type)),
            _ => return None,
        };
        let with_status = is_http && matches!(source.kind, "response" | "revisit");
        Some(Entry {
            key: key_of(source.uri),
            timestamp: timestamp_of(source.date),
            url: source.uri.to_owned(),
            mime,
            status: if with_status { http::status(source.http_head) } else { None },
            digest: source.payload_digest.map(str::to_owned),
        })
    }

    /// Returns the same record under another URL.
    pub(super) fn under(&self, url: &str) -> Entry {
        Entry { key: key_of(url), url: url.to_owned(), ..self.clone() }
    }

    /// Returns the media type, if there is one.
    pub(super) fn mime(&self) -> Option<&str> {
        self.mime.as_deref()
    }

    /// Returns the status of the HTTP message, if there is one.
    pub(super) fn status(&self) -> Option<&str> {
        self.status.as_deref()
    }

    /// Returns the line, line end included.
    pub(super) fn line(&self, length: u64, offset: u64, filename: &str) -> String {
        let mut line = format!("{} {} {{\"url\": ", self.key, self.timestamp);
        push_json(&mut line, &self.url);
        let (length, offset) = (length.to_string(), offset.to_string());
        let fields = [
            ("mime", self.mime.as_deref()),
            ("status", self.status.as_deref()),
            ("digest", self.digest.as_deref()),
            ("length", Some(length.as_str())),
            ("offset", Some(offset.as_str())),
            ("filename", Some(filename)),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                line.push_str(", \"");
                line.push_str(name);
                line.push_str("\": ");
                push_json(&mut line, value);
            }
        }
        line.push_str("}\n");
        line
    }
}

/// Where a line says that its record is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) length: u64,
    pub(super) filename: String,
}

/// Returns the place that a line points to, or `None` if it is no CDXJ line.
pub(super) fn place(line: &str) -> Option<Place> {
    #[derive(Deserialize)]
    struct Json {
        offset: String,
        length: String,
        filename: String,
    }
    let json = line.splitn(3, ' ').nth(2)?;
    let Json { offset, length, filename } = serde_json::from_str(json).ok()?;
    Some(Place { offset: offset.parse().ok()?, length: length.parse().ok()?, filename })
}

/// Returns the sort key of any target URI; those that are not http sort as they are.
pub(super) fn key_of(uri: &str) -> String {
    CrawlUrl::parse(uri).map_or_else(|_| uri.replace(' ', "%20"), |url| url.surt())
}

/// Returns the 14 digits of a WARC date, or as many as it has.
fn timestamp_of(date: &str) -> String {
    date.chars().filter(char::is_ascii_digit).take(14).collect()
}

fn bare_type(value: &str) -> String {
    let end = value.find(|c: char| c == ';' || c.is_whitespace()).unwrap_or(value.len());
    value[..end].to_owned()
}

/// Appends a JSON string in ASCII, as Python's `json.dumps` writes it.
fn push_json(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: &str, content_type: &str, http_head: &[u8]) -> Option<Entry> {
        Entry::of(&Source {
            kind,
            uri: "http://example.org/a?b=\u{e9}",
            date: "2026-01-02T03:04:05.678Z",
            content_type,
            payload_digest: Some("sha1:AAA"),
            http_head,
        })
    }

    #[test]
    fn a_response_line_reads_as_cdxj_indexer_writes_it() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n";
        let line = entry("response", "application/http", head).unwrap().line(12, 34, "a.warc.gz");
        assert_eq!(
            line.split_once(" 2026").unwrap().1,
            "0102030405 {\"url\": \"http://example.org/a?b=\\u00e9\", \"mime\": \"text/html\", \
             \"status\": \"200\", \"digest\": \"sha1:AAA\", \"length\": \"12\", \
             \"offset\": \"34\", \"filename\": \"a.warc.gz\"}\n"
        );
        let place = place(line.trim_end()).unwrap();
        assert_eq!(place, Place { offset: 34, length: 12, filename: "a.warc.gz".into() });
    }

    #[test]
    fn only_what_can_be_replayed_is_indexed() {
        assert!(entry("request", "application/http", b"GET / HTTP/1.1\r\n\r\n").is_none());
        assert!(entry("metadata", "application/warc-fields", b"").is_none());
        assert!(entry("warcinfo", "application/warc-fields", b"").is_none());
        assert!(entry("resource", "text/dns", b"").is_some());
        let revisit = entry("revisit", "application/http", b"HTTP/1.1 304 Not\r\n\r\n").unwrap();
        assert!(
            revisit.line(1, 2, "f").contains("\"mime\": \"warc/revisit\", \"status\": \"304\"")
        );
    }

    #[test]
    fn lines_that_are_torn_or_not_ours_have_no_place() {
        for line in ["", "key", "key 2026", "key 2026 {\"offset\": \"1", "key 2026 {}", "\0\0\0"] {
            assert_eq!(place(line), None, "{line:?}");
        }
    }
}
