//! One WARC record as bytes: header fields, block, and the gzip member around them.

use std::cell::RefCell;

use libdeflater::{CompressionLvl, Compressor};
use uuid::Uuid;

use super::Compression;
use super::digest::digest_of;

/// First line of every record.
const VERSION: &str = "WARC/1.1\r\n";

/// Types of records that this archive writes (WARC/1.1 §6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Warcinfo,
    Response,
    Request,
    Metadata,
    Resource,
    Revisit,
}

impl Kind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Kind::Warcinfo => "warcinfo",
            Kind::Response => "response",
            Kind::Request => "request",
            Kind::Metadata => "metadata",
            Kind::Resource => "resource",
            Kind::Revisit => "revisit",
        }
    }
}

/// A record in the making: its named fields in order.
pub(super) struct Record {
    head: String,
}

impl Record {
    /// Begins a record with its mandatory fields; the length follows with the block.
    pub(super) fn new(kind: Kind, id: Uuid, date: &str) -> Self {
        let mut record = Record { head: String::with_capacity(1024) };
        record.head.push_str(VERSION);
        record.field("WARC-Type", kind.as_str());
        record.field("WARC-Record-ID", &urn(id));
        record.field("WARC-Date", date);
        record
    }

    /// Adds a field. Control characters in the value become spaces: a value cannot begin a line.
    pub(super) fn field(&mut self, name: &str, value: &str) {
        self.head.push_str(name);
        self.head.push_str(": ");
        push_clean(&mut self.head, value);
        self.head.push_str("\r\n");
    }

    /// Adds a field that may be missing.
    pub(super) fn optional(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.field(name, value);
        }
    }

    /// Ends the head and writes head, block (in pieces) and the two closing line ends to `out`.
    /// Returns how many bytes `out` has grown.
    pub(super) fn write(mut self, block: &[&[u8]], form: Form, out: &mut Vec<u8>) -> u64 {
        let length: usize = block.iter().map(|piece| piece.len()).sum();
        self.field("WARC-Block-Digest", &digest_of(block));
        self.field("Content-Length", &length.to_string());
        self.head.push_str("\r\n");
        let start = out.len();
        let (head, closing) = ([self.head.as_bytes()], [&b"\r\n\r\n"[..]]);
        store(head.iter().chain(block).chain(&closing).copied(), form, out);
        (out.len() - start) as u64
    }
}

/// Appends a record that is already text: head and block, without the closing line ends.
pub(super) fn member(pieces: &[&[u8]], form: Form, out: &mut Vec<u8>) {
    store(pieces.iter().chain(&[&b"\r\n\r\n"[..]]).copied(), form, out);
}

fn store<'a>(pieces: impl Iterator<Item = &'a [u8]>, form: Form, out: &mut Vec<u8>) {
    match form.compression {
        Compression::None => pieces.for_each(|piece| out.extend_from_slice(piece)),
        Compression::Gzip => gzip_member(pieces, form.level, out),
    }
}

/// How records are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) compression: Compression,
    pub(super) level: u32,
}

/// Returns a record id in the form of a field value.
pub(super) fn urn(id: Uuid) -> String {
    format!("<urn:uuid:{id}>")
}

/// Text of a block of type `application/warc-fields`.
#[derive(Default)]
pub(super) struct WarcFields(String);

impl WarcFields {
    pub(super) fn add(&mut self, name: &str, value: impl AsRef<str>) {
        push_clean_name(&mut self.0, name);
        self.0.push_str(": ");
        push_clean(&mut self.0, value.as_ref());
        self.0.push_str("\r\n");
    }

    pub(super) fn add_some(&mut self, name: &str, value: Option<impl AsRef<str>>) {
        if let Some(value) = value.filter(|value| !value.as_ref().is_empty()) {
            self.add(name, value);
        }
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

fn push_clean(out: &mut String, value: &str) {
    out.extend(value.trim().chars().map(|c| if c.is_control() { ' ' } else { c }));
}

fn push_clean_name(out: &mut String, name: &str) {
    let token = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    out.extend(name.chars().map(|c| if token(c) { c } else { '-' }));
}

thread_local! {
    /// A compressor is some 100 kB, and the record that it needs in one piece some more; making
    /// both for each small record would cost more than compressing it.
    static GZIP: RefCell<Option<Gzip>> = const { RefCell::new(None) };
}

struct Gzip {
    level: u32,
    compressor: Compressor,
    plain: Vec<u8>,
}

impl Gzip {
    fn new(level: u32) -> Gzip {
        let effort = i32::try_from(level).ok().and_then(|level| CompressionLvl::new(level).ok());
        let compressor = Compressor::new(effort.unwrap_or_default());
        Gzip { level, compressor, plain: Vec::new() }
    }
}

/// A plain record longer than this does not stay in memory behind its compression.
const PLAIN_KEPT_MAX: usize = 1 << 20;

/// Appends one gzip member without name or time: the same record always makes the same bytes
/// (RFC 1952 §2.3).
fn gzip_member<'a>(pieces: impl Iterator<Item = &'a [u8]>, level: u32, out: &mut Vec<u8>) {
    GZIP.with_borrow_mut(|kept| {
        let gzip = match kept {
            Some(gzip) if gzip.level == level => gzip,
            _ => kept.insert(Gzip::new(level)),
        };
        gzip.plain.clear();
        pieces.for_each(|piece| gzip.plain.extend_from_slice(piece));
        let start = out.len();
        out.resize(start + gzip.compressor.gzip_compress_bound(gzip.plain.len()), 0);
        let written = gzip.compressor.gzip_compress(&gzip.plain, &mut out[start..]);
        out.truncate(start + written.expect("the bound holds for every input"));
        if gzip.plain.capacity() > PLAIN_KEPT_MAX {
            gzip.plain = Vec::new();
        }
    });
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn written(form: Form, block: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut record = Record::new(Kind::Metadata, Uuid::nil(), "2026-01-02T03:04:05.678Z");
        record.field("X-Test", "one\r\nWARC-Type: response");
        let length = record.write(block, form, &mut out);
        assert_eq!(length, out.len() as u64);
        out
    }

    #[test]
    fn a_value_with_a_line_end_cannot_forge_a_field() {
        let form = Form { compression: Compression::None, level: 6 };
        let text = String::from_utf8(written(form, &[b"a", b"bc"])).unwrap();
        assert!(text.contains("\r\nX-Test: one  WARC-Type: response\r\n"), "{text}");
        assert!(text.ends_with("Content-Length: 3\r\n\r\nabc\r\n\r\n"), "{text}");
    }

    #[test]
    fn a_member_unpacks_to_the_plain_record() {
        let plain = Form { compression: Compression::None, level: 1 };
        let noise: Vec<u8> =
            (0..300_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for level in [1, 6, 9, 6] {
            for block in [&b""[..], b"short", &noise, &[7; 200_000]] {
                let packed = written(Form { compression: Compression::Gzip, level }, &[block]);
                let mut unpacked = Vec::new();
                let mut decoder = flate2::bufread::GzDecoder::new(&packed[..]);
                decoder.read_to_end(&mut unpacked).unwrap();
                assert_eq!(unpacked, written(plain, &[block]));
                assert!(decoder.into_inner().is_empty());
            }
        }
    }
}
