//! The little of HTTP that an archive must read back: heads, chunks and content codings.

use std::io::{self, Read};

/// Returns the length of the head at the start of a message, blank line included; `None` if it
/// does not end. Bare line feeds end lines too, as servers exist that send them.
pub(super) fn head_length(message: &[u8]) -> Option<usize> {
    let mut line_start = 0;
    for end in memchr::memchr_iter(b'\n', message) {
        let line = &message[line_start..end];
        if line.is_empty() || line == b"\r" {
            return Some(end + 1);
        }
        line_start = end + 1;
    }
    None
}

/// Returns the status as it stands in the status line.
pub(super) fn status(head: &[u8]) -> Option<String> {
    let line = head.split(|&b| b == b'\n').next()?;
    let mut words = line.split(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty());
    words.next().filter(|version| version.starts_with(b"HTTP/"))?;
    words.next().map(text)
}

/// Returns the first value of a header, or `None`; `name` in any case.
pub(super) fn header(head: &[u8], name: &str) -> Option<String> {
    headers(head, name).next()
}

/// Returns the values of all fields of a name, in their order; `name` in any case.
pub(super) fn headers(head: &[u8], name: &str) -> impl Iterator<Item = String> {
    raw_headers(head, name).map(|value| text(&value))
}

/// Returns the same values as bytes.
pub(super) fn raw_headers(head: &[u8], name: &str) -> impl Iterator<Item = Vec<u8>> {
    let mut lines = head.split(|&b| b == b'\n').skip(1).peekable();
    std::iter::from_fn(move || {
        loop {
            let line = lines.next()?;
            let Some(colon) = memchr::memchr(b':', line) else { continue };
            if !line[..colon].trim_ascii().eq_ignore_ascii_case(name.as_bytes()) {
                continue;
            }
            let mut value = line[colon + 1..].trim_ascii().to_vec();
            while let Some(folded) =
                lines.next_if(|next| next.starts_with(b" ") || next.starts_with(b"\t"))
            {
                value.push(b' ');
                value.extend_from_slice(folded.trim_ascii());
            }
            return Some(value);
        }
    })
}

/// Returns true if the body after this head is in chunks.
pub(super) fn is_chunked(head: &[u8]) -> bool {
    header(head, "transfer-encoding").is_some_and(|te| te.to_ascii_lowercase().contains("chunked"))
}

/// Returns true if the transfer codings of the head are more than chunks. Those who check digests
/// take chunk framing off and nothing else.
pub(super) fn is_coded(head: &[u8]) -> bool {
    let codings = header(head, "transfer-encoding").unwrap_or_default().to_ascii_lowercase();
    codings.split(',').map(str::trim).any(|one| !matches!(one, "" | "chunked" | "identity"))
}

fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&b| char::from(b)).collect(),
    }
}

/// Takes chunk framing off a stream that arrives in pieces of any size.
#[derive(Debug, Default)]
pub(super) struct Dechunker {
    state: Chunk,
    line: Vec<u8>,
}

#[derive(Debug, Default)]
enum Chunk {
    #[default]
    Size,
    Data(u64),
    AfterData,
    Trailer,
    Broken,
}

/// A size line longer than this is no size line.
const SIZE_LINE_MAX: usize = 4096;

impl Dechunker {
    /// Passes the payload within `piece` to `sink`; framing that is broken ends the payload.
    pub(super) fn push(&mut self, mut piece: &[u8], sink: &mut dyn FnMut(&[u8])) {
        while !piece.is_empty() {
            match &mut self.state {
                Chunk::Data(left) => {
                    let take = usize::try_from(*left).unwrap_or(usize::MAX).min(piece.len());
                    sink(&piece[..take]);
                    piece = &piece[take..];
                    *left -= take as u64;
                    if *left == 0 {
                        self.state = Chunk::AfterData;
                    }
                }
                Chunk::Size | Chunk::AfterData => {
                    let (line, rest) = match memchr::memchr(b'\n', piece) {
                        Some(end) => (&piece[..=end], &piece[end + 1..]),
                        None => (piece, &piece[piece.len()..]),
                    };
                    piece = rest;
                    self.line.extend_from_slice(line);
                    if self.line.ends_with(b"\n") {
                        self.end_line();
                    } else if self.line.len() > SIZE_LINE_MAX {
                        self.state = Chunk::Broken;
                    }
                }
                Chunk::Trailer | Chunk::Broken => return,
            }
        }
    }

    /// Returns true if the framing came to its proper end, trailers aside.
    pub(super) fn is_complete(&self) -> bool {
        matches!(self.state, Chunk::Trailer)
    }

    fn end_line(&mut self) {
        let line = self.line.trim_ascii();
        self.state = match self.state {
            Chunk::AfterData if line.is_empty() => Chunk::Size,
            Chunk::AfterData => Chunk::Broken,
            _ => {
                let digits = line.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
                let size = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'));
                match size.and_then(|text| u64::from_str_radix(text, 16).ok()) {
                    Some(0) => Chunk::Trailer,
                    Some(size) => Chunk::Data(size),
                    None => Chunk::Broken,
                }
            }
        };
        self.line.clear();
    }
}

/// Returns the payload of a message body: chunk framing taken off where the head says so.
pub(super) fn payload(head: &[u8], body: &[u8]) -> Vec<u8> {
    if !is_chunked(head) {
        return body.to_vec();
    }
    let mut payload = Vec::with_capacity(body.len());
    Dechunker::default().push(body, &mut |bytes| payload.extend_from_slice(bytes));
    payload
}

/// Returns a payload without its content codings, at most `max` bytes of it; a coding that is
/// broken or unknown ends in what could be read so far.
pub(super) fn decoded(head: &[u8], payload: Vec<u8>, max: usize) -> Vec<u8> {
    /// Codings applied one over the other; more than these is an attack.
    const CODINGS_MAX: usize = 4;
    let codings = header(head, "content-encoding").unwrap_or_default().to_ascii_lowercase();
    let mut bytes = payload;
    let codings: Vec<&str> = codings.split(',').map(str::trim).collect();
    for coding in codings.iter().rev().take(CODINGS_MAX) {
        bytes = match *coding {
            "gzip" | "x-gzip" => bounded(flate2::read::MultiGzDecoder::new(&bytes[..]), max),
            // Servers send both forms under this name.
            "deflate" if bytes.first().is_some_and(|b| b & 0x0f == 8) => {
                bounded(flate2::read::ZlibDecoder::new(&bytes[..]), max)
            }
            "deflate" => bounded(flate2::read::DeflateDecoder::new(&bytes[..]), max),
            "br" => bounded(brotli::Decompressor::new(&bytes[..], 4096), max),
            "zstd" => match zstd::stream::read::Decoder::new(&bytes[..]) {
                Ok(decoder) => bounded(decoder, max),
                Err(_) => Vec::new(),
            },
            _ => bytes,
        };
    }
    bytes.truncate(max);
    bytes
}

fn bounded(reader: impl Read, max: usize) -> Vec<u8> {
    let mut out = Vec::new();
    // What was decoded before an error stays in `out`, and that is all there is to have.
    let _: io::Result<usize> = reader.take(max as u64).read_to_end(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_end_at_the_first_blank_line() {
        fn check(message: &[u8], want: Option<usize>) {
            assert_eq!(head_length(message), want, "{message:?}");
        }
        check(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody", Some(25));
        check(b"HTTP/1.1 200 OK\nA: b\n\nbody", Some(22));
        check(b"HTTP/1.1 200 OK\r\nA: b\r\n", None);
        check(b"", None);
    }

    #[test]
    fn headers_are_found_in_any_case_and_folded_lines_are_joined() {
        let head = b"HTTP/1.1 200 OK\r\ncontent-TYPE : text/html;\r\n charset=x\r\nA: \xe9\r\n\r\n";
        assert_eq!(header(head, "Content-Type").as_deref(), Some("text/html; charset=x"));
        assert_eq!(header(head, "a").as_deref(), Some("é"));
        assert_eq!(raw_headers(head, "a").next().as_deref(), Some(&b"\xe9"[..]));
        assert_eq!(header(head, "b"), None);
        assert_eq!(status(head).as_deref(), Some("200"));
        assert_eq!(status(b"ICY 200 OK\r\n"), None);
    }

    #[test]
    fn chunks_come_off_whatever_the_pieces() {
        fn check(body: &[u8], want: &[u8], complete: bool) {
            for size in 1..=body.len().max(1) {
                let mut dechunker = Dechunker::default();
                let mut got = Vec::new();
                for piece in body.chunks(size) {
                    dechunker.push(piece, &mut |bytes| got.extend_from_slice(bytes));
                }
                assert_eq!((got.as_slice(), dechunker.is_complete()), (want, complete), "{size}");
            }
        }
        check(b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n", b"abcde", true);
        check(b"3\nabc\n0\n\n", b"abc", true);
        check(b"3\r\nabc\r\n0\r\nTrailer: x\r\n\r\n", b"abc", true);
        check(b"5\r\nab", b"ab", false);
        check(b"zz\r\nab", b"", false);
        check(b"1\r\naXX\r\n", b"a", false);
        check(b"", b"", false);
    }

    #[test]
    fn decoding_stops_at_its_bound() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
        io::Write::write_all(&mut encoder, &vec![b'a'; 1 << 20]).unwrap();
        let bomb = encoder.finish().unwrap();
        let head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n";
        assert_eq!(decoded(head, bomb.clone(), 1000).len(), 1000);
        assert_eq!(decoded(head, bomb, 1 << 21).len(), 1 << 20);
        assert_eq!(decoded(head, b"not gzip".to_vec(), 100), b"");
    }
}
