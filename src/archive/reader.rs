//! Reads WARC files of any origin, one record at a time, in bounded memory and without panics.
//!
//! Plain files, one gzip member per record and several records per member are all understood.
//! Damage is a value with its place ([`Damage`]); reading can go on at the next whole record with
//! [`resync`]. Blocks are streamed, so that a record may be larger than memory.
//! Not understood: zstd-compressed WARCs and ARC files.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::bufread::GzDecoder;

/// The named fields of a record; more than this is damage.
const HEAD_BYTES_MAX: usize = 256 * 1024;
/// What a block is streamed in.
const PIECE_BYTES: usize = 64 * 1024;

/// The version line and named fields of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// `1.0` or `1.1`.
    pub version: String,
    fields: Vec<(String, String)>,
}

impl Head {
    /// Returns the first value of a field; its name in any case.
    pub fn get(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        field.map(|(_, value)| value.as_str())
    }

    /// Returns all values of a field; its name in any case.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        let matching = self.fields.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name));
        matching.map(|(_, value)| value.as_str())
    }

    /// Returns all fields in order.
    pub fn fields(&self) -> &[(String, String)] {
        &self.fields
    }

    /// Returns the record's type, or nothing.
    pub fn kind(&self) -> &str {
        self.get("WARC-Type").unwrap_or_default()
    }

    /// Returns the target URI, or nothing; WARC/1.0 has it in angle brackets.
    pub fn uri(&self) -> &str {
        self.get("WARC-Target-URI").unwrap_or_default().trim_matches(['<', '>'])
    }

    /// Returns true if the block is an HTTP message.
    pub fn is_http(&self) -> bool {
        let kind = self.get("Content-Type").unwrap_or_default();
        kind.trim_start().to_ascii_lowercase().starts_with("application/http")
    }
}

/// Where a record stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Offset in the file: of the gzip member, or of the record in a plain file.
    pub offset: u64,
    /// Bytes in the file, the two closing line ends or the gzip trailer included.
    pub length: u64,
    /// How many records of the same gzip member stand before it; anything but 0 is against Annex
    /// D.
    pub index_in_member: u32,
    /// True if no other record shares the gzip member, so that its bytes can be copied as they
    /// are.
    pub is_alone: bool,
}

/// One whole record with its block.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its named fields.
    pub head: Head,
    /// Its block, or the first bytes of it.
    pub block: Vec<u8>,
    /// True if the block was longer than the limit.
    pub block_cut: bool,
    /// Where it stands.
    pub extent: Extent,
}

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at offset {offset}")]
pub struct Damage {
    /// Offset of the record (or gzip member) that could not be read.
    pub offset: u64,
    /// What is wrong.
    pub kind: DamageKind,
}

/// Kinds of damage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DamageKind {
    /// The file ends within the record.
    #[error("record cut off by the end of the file")]
    Torn,
    /// No `WARC/1.x` line where a record must begin.
    #[error("no WARC record")]
    NotWarc,
    /// A field without a colon, or a head without an end.
    #[error("malformed record header")]
    BadHead,
    /// No usable Content-Length.
    #[error("record without a valid Content-Length")]
    NoLength,
    /// The block is not followed by two line ends.
    #[error("record not closed by two line ends")]
    NotClosed,
    /// The gzip member is corrupt.
    #[error("corrupt gzip member ({0})")]
    Gzip(String),
    /// The file could not be read.
    #[error("read error ({0})")]
    Read(String),
}

/// A buffered reader that knows its place.
struct Counted<R> {
    inner: BufReader<R>,
    at: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buf)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl<R: Read> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.at += count as u64;
        self.inner.consume(count);
    }
}

enum Source<R: Read> {
    Between(Counted<R>),
    Member {
        start: u64,
        index: u32,
        text: Box<BufReader<GzDecoder<Counted<R>>>>,
    },
    /// Reading stopped at damage or at the end.
    Stopped,
}

/// Reads records in order.
pub struct Reader<R: Read> {
    source: Source<R>,
}

impl Reader<File> {
    /// Opens a file at a record boundary.
    ///
    /// # Errors
    /// Returns the operating system's error.
    pub fn open_at(path: &Path, offset: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        Ok(Reader::new(file, offset))
    }
}

impl<R: Read> Reader<R> {
    /// Reads from a source that stands at `offset`, a record boundary.
    pub fn new(source: R, offset: u64) -> Self {
        let inner = BufReader::with_capacity(PIECE_BYTES, source);
        let counted = Counted { inner, at: offset };
        Reader { source: Source::Between(counted) }
    }

    /// Returns the next record with at most `block_max` bytes of its block.
    pub fn next_record(&mut self, block_max: usize) -> Option<Result<Record, Damage>> {
        let mut block = Vec::new();
        let mut block_cut = false;
        let read = self.next_with(|_, piece| {
            let take = piece.len().min(block_max - block.len());
            block.extend_from_slice(&piece[..take]);
            block_cut |= take < piece.len();
        });
        let with_block = |(head, extent)| Record { head, block, block_cut, extent };
        read.map(|read| read.map(with_block))
    }

    /// Reads the next record, passing its block to `sink` in pieces of at most 64 KiB.
    ///
    /// After damage there are no further records until [`resync`].
    pub fn next_with(
        &mut self,
        sink: impl FnMut(&Head, &[u8]),
    ) -> Option<Result<(Head, Extent), Damage>> {
        match std::mem::replace(&mut self.source, Source::Stopped) {
            Source::Stopped => None,
            Source::Between(mut raw) => match raw.fill_buf() {
                Ok([]) => None,
                Ok([0x1f, ..]) => {
                    let start = raw.at;
                    let text = BufReader::with_capacity(PIECE_BYTES, GzDecoder::new(raw));
                    Some(self.member_record(start, 0, text, sink))
                }
                Ok(_) => Some(self.plain_record(raw, sink)),
                Err(error) => Some(Err(Damage { offset: raw.at, kind: unreadable(&error) })),
            },
            Source::Member { start, index, text } => {
                Some(self.member_record(start, index, *text, sink))
            }
        }
    }

    fn plain_record(
        &mut self,
        mut raw: Counted<R>,
        sink: impl FnMut(&Head, &[u8]),
    ) -> Result<(Head, Extent), Damage> {
        let offset = raw.at;
        let head = record(&mut raw, sink).map_err(|kind| Damage { offset, kind })?;
        let extent = Extent { offset, length: raw.at - offset, index_in_member: 0, is_alone: true };
        self.source = Source::Between(raw);
        Ok((head, extent))
    }

    fn member_record(
        &mut self,
        start: u64,
        index_in_member: u32,
        mut text: BufReader<GzDecoder<Counted<R>>>,
        sink: impl FnMut(&Head, &[u8]),
    ) -> Result<(Head, Extent), Damage> {
        let damaged = |kind| Damage { offset: start, kind };
        let head = record(&mut text, sink).map_err(damaged)?;
        // Reading to the member's end also checks its trailer.
        let ended = text.fill_buf().map_err(|error| damaged(unreadable(&error)))?.is_empty();
        let length = text.get_ref().get_ref().at - start;
        self.source = if ended {
            Source::Between(text.into_inner().into_inner())
        } else {
            Source::Member { start, index: index_in_member.saturating_add(1), text: Box::new(text) }
        };
        let is_alone = ended && index_in_member == 0;
        Ok((head, Extent { offset: start, length, index_in_member, is_alone }))
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Returns whether `source` holds a whole record at `offset`, without reading further.
    fn has_record_at(source: &mut R, offset: u64) -> io::Result<bool> {
        source.seek(SeekFrom::Start(offset))?;
        let mut reader = Reader::new(&mut *source, offset);
        Ok(matches!(reader.next_with(|_, _| {}), Some(Ok(_))))
    }
}

/// Finds the next whole record after damage in a file, and returns a reader that stands there with
/// its offset; `None` if there is none.
///
/// # Errors
/// Returns the operating system's error.
pub fn resync<R: Read + Seek>(
    mut source: R,
    damage: &Damage,
) -> io::Result<Option<(u64, Reader<R>)>> {
    let mut from = damage.offset + 1;
    // Each false candidate costs a look at one record; a file of nothing but candidates is hostile.
    const CANDIDATES_MAX: usize = 10_000;
    for _ in 0..CANDIDATES_MAX {
        let Some(candidate) = next_candidate(&mut source, from)? else { return Ok(None) };
        if Reader::has_record_at(&mut source, candidate)? {
            source.seek(SeekFrom::Start(candidate))?;
            return Ok(Some((candidate, Reader::new(source, candidate))));
        }
        from = candidate + 1;
    }
    Ok(None)
}

/// Finds the next gzip head or version line at or after `from`.
fn next_candidate<R: Read + Seek>(source: &mut R, from: u64) -> io::Result<Option<u64>> {
    const GZIP: &[u8] = &[0x1f, 0x8b, 8];
    const PLAIN: &[u8] = b"WARC/1.";
    source.seek(SeekFrom::Start(from))?;
    let mut window = Vec::with_capacity(2 * PIECE_BYTES);
    let mut start = from;
    loop {
        let read = source.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut window)?;
        let gzip = memchr::memmem::find(&window, GZIP);
        let plain = memchr::memmem::find(&window, PLAIN);
        if let Some(at) = gzip.into_iter().chain(plain).min() {
            return Ok(Some(start + at as u64));
        }
        if read == 0 {
            return Ok(None);
        }
        let keep = window.len().min(PLAIN.len() - 1);
        start += (window.len() - keep) as u64;
        window.drain(..window.len() - keep);
    }
}

fn record(text: &mut impl BufRead, mut sink: impl FnMut(&Head, &[u8])) -> Result<Head, DamageKind> {
    let head = head(text)?;
    let length = head.get("Content-Length").and_then(|value| value.parse::<u64>().ok());
    let mut left = length.ok_or(DamageKind::NoLength)?;
    while left > 0 {
        let piece = text.fill_buf().map_err(|error| unreadable(&error))?;
        if piece.is_empty() {
            return Err(DamageKind::Torn);
        }
        let take = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        sink(&head, &piece[..take]);
        text.consume(take);
        left -= take as u64;
    }
    let mut closing = [0; 4];
    text.read_exact(&mut closing).map_err(|error| unreadable(&error))?;
    if &closing == b"\r\n\r\n" { Ok(head) } else { Err(DamageKind::NotClosed) }
}

fn head(text: &mut impl BufRead) -> Result<Head, DamageKind> {
    let mut budget = HEAD_BYTES_MAX;
    let mut line = Vec::new();
    read_line(text, &mut line, &mut budget)?;
    let version = line.strip_prefix(b"WARC/").filter(|version| version.starts_with(b"1."));
    let version = version.ok_or(DamageKind::NotWarc)?;
    let mut head = Head { version: lossy(version), fields: Vec::new() };
    loop {
        read_line(text, &mut line, &mut budget)?;
        if line.is_empty() {
            return Ok(head);
        }
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            let (_, value) = head.fields.last_mut().ok_or(DamageKind::BadHead)?;
            value.push(' ');
            value.push_str(&lossy(line.trim_ascii()));
            continue;
        }
        let colon = memchr::memchr(b':', &line).ok_or(DamageKind::BadHead)?;
        let value = lossy(line[colon + 1..].trim_ascii());
        head.fields.push((lossy(line[..colon].trim_ascii()), value));
    }
}

/// Reads a line without its end; `budget` is what is left of the head's bytes.
fn read_line(
    text: &mut impl BufRead,
    line: &mut Vec<u8>,
    budget: &mut usize,
) -> Result<(), DamageKind> {
    line.clear();
    let limit = *budget as u64;
    let read = text.take(limit).read_until(b'\n', line).map_err(|error| unreadable(&error))?;
    *budget -= read;
    if line.last() != Some(&b'\n') {
        // The first bytes tell a torn record from what was never WARC.
        let is_first = limit == HEAD_BYTES_MAX as u64;
        let could_be_warc = line.starts_with(b"WARC/1.") || b"WARC/1.".starts_with(line);
        return Err(match (is_first, could_be_warc, *budget) {
            (true, false, _) => DamageKind::NotWarc,
            (_, _, 0) => DamageKind::BadHead,
            _ => DamageKind::Torn,
        });
    }
    line.pop();
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    Ok(())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn unreadable(error: &io::Error) -> DamageKind {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => DamageKind::Torn,
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            DamageKind::Gzip(error.to_string())
        }
        _ => DamageKind::Read(error.to_string()),
    }
}
