//! Reading several logs into one list of records.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::line::{Context, Format, LineError, Parsed, detect, parse};
use crate::clock::ByteSize;
use crate::dust::paper::Record;

/// How much may be read, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Settings {
    /// Longest line; longer ones are bad. Far above the longest URL that servers accept.
    pub line_bytes_max: ByteSize,
    /// Most bytes of one file after decompression; the rest is left out, and said.
    pub file_bytes_max: ByteSize,
    /// Most distinct URLs kept. Beyond it a sample is kept, uniform by hash of the URL.
    pub urls_max: usize,
    /// How many bad lines are kept to be shown; all are counted.
    pub bad_lines_shown_max: usize,
    /// Scheme and host of the URLs in web-server logs that do not name their host, such as
    /// `https://example.org`.
    pub site: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            line_bytes_max: ByteSize::kib(64),
            file_bytes_max: ByteSize::gib(64),
            // The miner needs about 0.6 KiB for a URL, so 1.2 GiB for these.
            urls_max: 2_000_000,
            bad_lines_shown_max: 20,
            site: None,
        }
    }
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// The name of the file, as it was given.
    pub file: String,
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub error: LineError,
    /// How many later lines of the file are wrong in the same way.
    pub more: u64,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.error)?;
        match self.more {
            0 => Ok(()),
            1 => f.write_str(" (and in 1 more line)"),
            more => write!(f, " (and in {more} more lines)"),
        }
    }
}

/// What was read.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    /// One record per URL, in the order of their first lines. Errors (4xx, 5xx) are left out.
    pub records: Vec<Record>,
    /// How many lines were read, blank lines and comments aside.
    pub lines: u64,
    /// How many lines were well-formed but of no use: errors, and requests other than GET and
    /// HEAD.
    pub unused: u64,
    /// How many lines were bad.
    pub bad: u64,
    /// The first bad lines, of those of one file that are wrong in the same way the first one.
    pub bad_lines: Vec<BadLine>,
    /// The share of the distinct URLs that was kept; 1 unless there were too many. At share q the
    /// support of a rule is about q² of its true support: rare rules are missed, none is invented.
    pub share: f64,
}

/// Reads logs, one after the other.
pub struct Batch {
    settings: Settings,
    collected: Collected,
    /// Where the record of each URL is, by a 128-bit hash: two URLs in a billion lists of a
    /// billion would share one.
    places: HashMap<u128, u32>,
    /// Only URLs whose hash is at most this are kept.
    threshold: u128,
}

impl Batch {
    /// Starts with nothing read.
    pub fn new(settings: Settings) -> Self {
        let collected = Collected { share: 1.0, ..Collected::default() };
        Batch { settings, collected, places: HashMap::new(), threshold: u128::MAX }
    }

    /// Reads one log, plain or gzip. Without a format it is told from the first lines.
    ///
    /// Returns the format, or none for a file that has no lines or is of no known format; the
    /// latter counts as a bad line. A broken or too large file is read as far as it goes, and
    /// counts as a bad line too.
    ///
    /// # Errors
    /// Fails if nothing can be read at all.
    pub fn read(
        &mut self,
        source: impl BufRead,
        name: &str,
        format: Option<Format>,
    ) -> io::Result<Option<Format>> {
        self.read_beside(source, name, format, &mut |_| None)
    }

    /// Does the same, and shows the lines of a JSON log to `own` first: of a line that it knows it
    /// returns the record.
    ///
    /// # Errors
    /// Fails if nothing can be read at all.
    pub fn read_beside(
        &mut self,
        mut source: impl BufRead,
        name: &str,
        format: Option<Format>,
        own: &mut dyn FnMut(&[u8]) -> Option<Record>,
    ) -> io::Result<Option<Format>> {
        /// The first two bytes of a gzip member (RFC 1952 §2.3.1).
        const GZIP: [u8; 2] = [0x1f, 0x8b];
        let limit = self.settings.file_bytes_max.get().saturating_add(1);
        let mut file = Reading { name, context: None, waiting: Vec::new(), own };
        file.context = format.map(|format| self.context(format));
        // A source may give a single byte at first, as a pipe does.
        let mut first = Vec::with_capacity(GZIP.len());
        (&mut source).take(GZIP.len() as u64).read_to_end(&mut first)?;
        let is_gzip = first == GZIP;
        let source = io::Cursor::new(first).chain(source);
        if is_gzip {
            let plain = BufReader::with_capacity(1 << 16, MultiGzDecoder::new(source).take(limit));
            self.read_plain(plain, &mut file);
        } else {
            self.read_plain(source.take(limit), &mut file);
        }
        if let Some((first, _)) = file.waiting.first() {
            self.collected.lines += 1;
            self.bad(name, *first, LineError::UnknownFormat);
        }
        Ok(file.context.map(|context| context.format))
    }

    fn context(&self, format: Format) -> Context {
        Context::new(format, self.settings.site.as_deref())
    }

    fn read_plain(&mut self, mut source: impl BufRead, file: &mut Reading<'_>) {
        let line_max = self.settings.line_bytes_max.as_len();
        let (mut line, mut number, mut bytes) = (Vec::new(), 0, 0u64);
        while file.waiting.len() < DETECT_LINES {
            line.clear();
            number += 1;
            match read_line(&mut source, &mut line, line_max) {
                Ok(0) => return,
                Ok(read) => bytes += read as u64,
                Err(error) => {
                    self.bad(file.name, number, LineError::Unreadable(error.to_string()));
                    return;
                }
            }
            if bytes > self.settings.file_bytes_max.get() {
                self.bad(file.name, number, LineError::FileTooLarge);
                return;
            }
            if number == 1 && line.starts_with(BYTE_ORDER_MARK) {
                line.drain(..BYTE_ORDER_MARK.len());
            }
            let text = line.trim_ascii_end();
            if text.is_empty() || text.starts_with(b"#") {
                continue;
            }
            if file.context.is_none() {
                file.context = detect(text).map(|format| self.context(format));
                if file.context.is_none() {
                    // Too long a line must stay too long.
                    line.truncate(line_max + 1);
                    file.waiting.push((number, std::mem::take(&mut line)));
                    continue;
                }
                // A line that has no shape is bad in any format.
                for (number, line) in std::mem::take(&mut file.waiting) {
                    self.line(file, &line, number);
                }
            }
            self.line(file, &line, number);
        }
    }

    /// Takes in one record that was read elsewhere, such as from an archive.
    pub fn push(&mut self, record: Record) {
        const ERROR_STATUS_MIN: u16 = 400;
        if record.status >= ERROR_STATUS_MIN {
            self.collected.unused += 1;
            return;
        }
        let hash = xxh3_128(record.url.as_bytes());
        if hash > self.threshold {
            return;
        }
        let records = &mut self.collected.records;
        let next = records.len() as u32;
        let place = *self.places.entry(hash).or_insert(next);
        if place != next {
            merge(&mut records[place as usize], record);
            return;
        }
        records.push(record);
        if records.len() > self.settings.urls_max.max(1) {
            self.halve();
        }
    }

    /// Returns what was read.
    pub fn finish(mut self) -> Collected {
        self.collected.records.shrink_to_fit();
        self.collected
    }

    /// Takes in a line that is neither blank nor a comment.
    fn line(&mut self, file: &mut Reading<'_>, line: &[u8], number: u64) {
        let Some(context) = &file.context else { return };
        self.collected.lines += 1;
        if line.len() > self.settings.line_bytes_max.as_len() {
            self.bad(file.name, number, LineError::TooLong);
            return;
        }
        let line = line.trim_ascii_end();
        if context.format == Format::CrawlLog
            && let Some(record) = (file.own)(line)
        {
            self.push(record);
            return;
        }
        let parsed = std::str::from_utf8(line).map_err(|_| LineError::Encoding);
        match parsed.and_then(|line| parse(context, line)) {
            Ok(Parsed::Record(record)) => self.push(record),
            Ok(Parsed::Unused) => self.collected.unused += 1,
            Err(error) => self.bad(file.name, number, error),
        }
    }

    fn bad(&mut self, name: &str, line: u64, error: LineError) {
        self.collected.bad += 1;
        let shown = &mut self.collected.bad_lines;
        let is_same = |bad: &&mut BadLine| bad.file == name && bad.error == error;
        if let Some(same) = shown.iter_mut().find(is_same) {
            same.more += 1;
        } else if shown.len() < self.settings.bad_lines_shown_max {
            shown.push(BadLine { file: name.to_owned(), line, error, more: 0 });
        }
    }

    /// Forgets the URLs in the upper half of the hashes that are kept.
    fn halve(&mut self) {
        self.threshold /= 2;
        self.collected.share /= 2.0;
        let threshold = self.threshold;
        let is_kept = |record: &Record| xxh3_128(record.url.as_bytes()) <= threshold;
        self.collected.records.retain(is_kept);
        self.places.clear();
        for (at, record) in (0u32..).zip(&self.collected.records) {
            self.places.insert(xxh3_128(record.url.as_bytes()), at);
        }
    }
}

/// Adds what a further line tells about a URL. Sizes are those of whole documents (status 200).
fn merge(known: &mut Record, other: Record) {
    const WHOLE_DOCUMENT_STATUS: u16 = 200;
    if other.status == WHOLE_DOCUMENT_STATUS {
        let before = if known.status == WHOLE_DOCUMENT_STATUS { known.size } else { None };
        known.status = WHOLE_DOCUMENT_STATUS;
        known.size = match (before, other.size) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (before, other) => before.or(other),
        };
    }
    if known.sketch.is_empty() {
        known.sketch = other.sketch;
    }
}

/// How many lines are looked at for the format, comments and blank lines aside: one bad line must
/// not decide.
const DETECT_LINES: usize = 100;

/// What some editors begin a file of UTF-8 with; it belongs to no line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file while it is read.
struct Reading<'r> {
    name: &'r str,
    /// None until the format is known.
    context: Option<Context>,
    /// Lines that did not tell it, with their numbers.
    waiting: Vec<(u64, Vec<u8>)>,
    /// Knows some lines of JSON logs.
    own: &'r mut dyn FnMut(&[u8]) -> Option<Record>,
}

/// Reads up to and with the next line feed; of a line longer than `max` only a little more.
///
/// Returns how many bytes were taken from the source, 0 at its end.
fn read_line(source: &mut impl BufRead, line: &mut Vec<u8>, max: usize) -> io::Result<usize> {
    let mut read = 0;
    loop {
        let buffer = match source.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            buffer => buffer?,
        };
        let end = memchr::memchr(b'\n', buffer);
        let taken = end.map_or(buffer.len(), |end| end + 1);
        if line.len() <= max {
            line.extend_from_slice(&buffer[..taken]);
        }
        source.consume(taken);
        read += taken;
        if taken == 0 || end.is_some() {
            return Ok(read);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    fn check(settings: Settings, text: &[u8], format: Option<Format>) -> Collected {
        let mut batch = Batch::new(settings);
        batch.read(text, "a.log", format).unwrap();
        batch.finish()
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// The mark made the first URL one without a scheme.
    #[test]
    fn a_byte_order_mark_costs_no_line_of_any_format() {
        for (format, line) in [
            (Format::Tsv, "http://h/a\t200"),
            (Format::CrawlLog, "{\"url\":\"http://h/a\",\"status\":200}"),
        ] {
            for given in [None, Some(format)] {
                let read =
                    check(Settings::default(), format!("\u{feff}{line}\n").as_bytes(), given);
                let urls: Vec<_> = read.records.iter().map(|r| r.url.as_str()).collect();
                assert_eq!((urls, read.bad), (vec!["http://h/a"], 0), "{line}");
            }
        }
        let text = "\u{feff}# a comment\nhttp://h/a\t200\n";
        assert_eq!(check(Settings::default(), text.as_bytes(), None).bad, 0);
    }

    #[test]
    fn bad_lines_are_counted_and_named_and_the_others_kept() {
        let text = b"http://h/a\t200\t1\t1\t-\n\n# note\nnonsense\nhttp://h/b\tx\nhttp://h/\xff\t200\nhttp://h/c\t301\n";
        let read = check(Settings::default(), text, Some(Format::Tsv));
        assert_eq!(
            read.records.iter().map(|r| r.url.as_str()).collect::<Vec<_>>(),
            ["http://h/a", "http://h/c"]
        );
        assert_eq!((read.lines, read.bad), (5, 3));
        let shown: Vec<String> = read.bad_lines.iter().map(BadLine::to_string).collect();
        assert!(shown[0].starts_with("a.log:4: "), "{shown:?}");
        assert!(shown[1].starts_with("a.log:5: "), "{shown:?}");
        assert!(shown[2].starts_with("a.log:6: "), "{shown:?}");
    }

    #[test]
    fn gzip_is_told_by_its_first_bytes_and_its_members_are_joined() {
        let mut text = gzip(b"http://h/a\t200\n");
        text.extend(gzip(b"http://h/b\t200\n"));
        assert_eq!(check(Settings::default(), &text, None).records.len(), 2);
        let mut batch = Batch::new(Settings::default());
        batch.read(BufReader::with_capacity(1, &text[..]), "a.log", None).unwrap();
        assert_eq!(batch.finish().records.len(), 2);
        text.truncate(text.len() - 9);
        let cut = check(Settings::default(), &text, None);
        assert_eq!((cut.records.len(), cut.bad), (2, 1));
    }

    #[test]
    fn a_decompressed_file_is_read_to_its_limit_only() {
        let line = b"http://h/a\t200\n";
        let settings =
            Settings { file_bytes_max: ByteSize(10 * line.len() as u64), ..Settings::default() };
        let read = check(settings, &gzip(&line.repeat(1000)), None);
        assert_eq!((read.lines, read.bad), (10, 1));
        assert_eq!(read.bad_lines[0].error, LineError::FileTooLarge);
    }

    #[test]
    fn a_line_beyond_the_limit_is_bad_and_the_next_is_read() {
        let settings = Settings { line_bytes_max: ByteSize(100), ..Settings::default() };
        let text = format!("http://h/{}\t200\nhttp://h/b\t200\n", "x".repeat(200_000));
        let read = check(settings, text.as_bytes(), None);
        assert_eq!((read.records.len(), read.bad), (1, 1));
        assert_eq!(read.bad_lines[0].error, LineError::TooLong);
    }

    #[test]
    fn lines_of_one_url_are_united() {
        let text = b"u\t304\t1\t1\t-\nu\t200\t9\t9\t-\nu\t200\t5\t7\tff\nu\t404\t1\t1\n";
        let read = check(Settings::default(), text, Some(Format::Tsv));
        let want = Record {
            url: "u".to_owned(),
            status: 200,
            size: Some((5, 9)),
            sketch: vec![xxh3_64(b"ff")],
        };
        assert_eq!(read.records, [want]);
        assert_eq!(read.unused, 1);
    }

    #[test]
    fn too_many_urls_leave_a_uniform_sample_that_forgets_no_line_of_what_it_keeps() {
        let line = |i: usize| format!("http://h/{i}\t200\t{i}\t{i}\n");
        let text: String = (0..10_000).chain(0..10_000).map(line).collect();
        let settings = Settings { urls_max: 1000, ..Settings::default() };
        let read = check(settings, text.as_bytes(), None);
        assert!((400..=1000).contains(&read.records.len()), "{}", read.records.len());
        let estimate = read.records.len() as f64 / read.share;
        assert!((8_000.0..12_000.0).contains(&estimate), "{estimate}");
        let places: std::collections::HashSet<_> = read.records.iter().map(|r| &r.url).collect();
        assert_eq!(places.len(), read.records.len());
    }

    #[test]
    fn the_format_is_told_however_little_the_source_gives_at_once() {
        let text = b"# from a pipe\nnonsense\nhttp://h/a\t200\nhttp://h/b\t200\n";
        let mut batch = Batch::new(Settings::default());
        let source = BufReader::with_capacity(3, &text[..]);
        assert_eq!(batch.read(source, "a.log", None).unwrap(), Some(Format::Tsv));
        let read = batch.finish();
        assert_eq!((read.records.len(), read.bad, read.bad_lines[0].line), (2, 1, 2));
    }

    /// A file just after a rotation stopped all others.
    #[test]
    fn a_file_without_lines_is_no_lines() {
        for text in ["", "\n\n", "# a list\n# of nothing\n"] {
            let read = check(Settings::default(), text.as_bytes(), None);
            assert_eq!((read.lines, read.bad), (0, 0), "{text:?}");
        }
        assert_eq!(check(Settings::default(), &gzip(b""), None).bad, 0);
    }

    #[test]
    fn a_log_of_unknown_format_is_one_bad_entry_and_the_next_is_read() {
        let mut batch = Batch::new(Settings::default());
        batch.read(&b"# note\nhello world\nhello again\n"[..], "a.log", None).unwrap();
        batch.read(&b"http://h/a\t200\n"[..], "b.log", None).unwrap();
        let read = batch.finish();
        assert_eq!((read.records.len(), read.bad), (1, 1));
        let shown = read.bad_lines[0].to_string();
        assert!(shown.starts_with("a.log:2: ") && shown.contains("--format"), "{shown}");
    }

    #[test]
    fn the_format_is_told_below_any_number_of_comments() {
        let text = format!("{}http://h/a\t200\nnonsense\n", "# note\n\n".repeat(200));
        let read = check(Settings::default(), text.as_bytes(), None);
        assert_eq!((read.records.len(), read.bad, read.bad_lines[0].line), (1, 1, 402));
    }

    #[test]
    fn what_is_wrong_with_all_lines_is_said_once() {
        let text =
            "1.2.3.4 - - [01/Jan/2026:00:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n".repeat(3_000);
        let read = check(Settings::default(), text.as_bytes(), None);
        assert_eq!((read.bad, read.bad_lines.len()), (3_000, 1));
        let shown = read.bad_lines[0].to_string();
        assert!(shown.starts_with("a.log:1: ") && shown.contains("2999"), "{shown}");
    }

    #[test]
    fn a_file_that_breaks_off_before_its_format_is_told_is_read_as_far_as_it_goes() {
        let mut text = gzip(b"http://h/a\t200\n");
        text.truncate(12);
        let read = check(Settings::default(), &text, None);
        assert_eq!((read.records.len(), read.bad), (0, 1));
    }
}
