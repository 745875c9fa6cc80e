//! The crawl log: one JSON line for every request, whatever came of it.
//!
//! A line is written before the batch of its visit, with one `write`, so that a killed process
//! leaves whole lines and every request that was made and recorded stands in it. It is what
//! `crawler audit` proves politeness from and what `crawler dust mine` learns from.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::CrawlError;
use crate::dust::RuleId;

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Line {
    /// When the request began, RFC 3339 UTC.
    pub at: String,
    /// The same, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// How long it took, in milliseconds, rounded up.
    pub took_ms: u64,
    /// Rest of the host that began at its end, in milliseconds.
    pub gap_ms: u64,
    /// Why the rest is as long as it is.
    pub gap_reason: String,
    /// The host may not be asked again before this (milliseconds since the epoch).
    pub next_allowed_ms: u64,
    /// Host name.
    pub host: String,
    /// Group (address or site) as a number, where one is kept apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u64>,
    /// Rest of the group, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group_gap_ms: Option<u64>,
    /// `page`, `robots` or `probe`.
    pub purpose: String,
    /// HTTP status; 0 where there was no answer.
    pub status: u16,
    /// Stable code of the failure, where there was no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// One line for people about the failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The URL as found, in normal form: what was fetched.
    pub url: String,
    /// Its key under the rules, where it differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
    /// What stands for it under the rules, and why it was fetched all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<BesideLine>,
    /// The page it was found on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// Discovery path.
    pub path: String,
    /// Decoded bytes.
    pub size: u64,
    /// Bytes as transferred.
    pub wire: u64,
    /// Media type.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub mime: String,
    /// Payload digest, as the archive has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Digest of the main text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Sketch of the main text; absent where it is thin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sketch: Option<String>,
    /// How the content was judged: `new`, `duplicate`, `thin`, `none`, or no content at all, as
    /// `junk:soft-404`, `junk:login`, `junk:consent`, `junk:empty-result`; `junk:passing` is what a
    /// server showed in place of several pages for a while, as a notice of maintenance.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// By what it was judged to be no content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// The known page that is most like it, if any is near enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub near: Option<NearLine>,
    /// Where a redirect leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// What the page calls its canonical URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub declared: Option<String>,
    /// Links found.
    pub links: u32,
    /// Links left out, being more than are kept (`extract.links_max`,
    /// `extract.sitemap_entries_max`) or too long (`extract.url_length_max`).
    #[serde(skip_serializing_if = "is_zero")]
    pub links_dropped: u32,
    /// Why no links were looked for: the reason of the extract gate, as `type-not-extracted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_extracted: Option<String>,
    /// What kept a part of the body from being read, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Where the text was known, or the links were not followed: the reason of the follow gate,
    /// `followed`, `duplicate-content`, `soft-error` or `page-nofollow`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<String>,
    /// Address that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Milliseconds of connection, TLS handshake and first byte.
    pub connect_ms: u64,
    /// Milliseconds of the TLS handshake.
    pub tls_ms: u64,
    /// Milliseconds from request to head.
    pub first_byte_ms: u64,
    /// Why the body is short, as [`crate::fetch::Truncated`] names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<String>,
    /// Version of the rule set.
    pub rules: u64,
    /// Archive file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Offset in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// What follows: `done`, `retry`, `failed`, `busy`, `interrupted`.
    pub then: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A URL that stood for the one that was fetched.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BesideLine {
    /// It.
    pub url: String,
    /// `check`: the rules that make both one page are not proved yet, and are compared by them;
    /// `audit`: they are in force, and are measured; `kept-back`: what would stand for the URL says
    /// that its links are not to be followed, or that it is not to be archived, and this one may
    /// not; `redirects`: what would stand for the URL redirects, and it is not known that this one
    /// does to the same; `brought-back`: the rules fell, or what stood for the URL came to nothing.
    pub why: String,
    /// The rules by their ids, where there are any left.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleId>,
}

/// A near-duplicate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NearLine {
    /// Its URL.
    pub url: String,
    /// Estimated resemblance of the main texts, 0 to 1.
    pub resemblance: f64,
}

/// Appends lines to `crawl-NNNNN.jsonl`, beginning a new file at a size.
#[derive(Debug)]
pub struct CrawlLog {
    dir: PathBuf,
    file: File,
    name: PathBuf,
    number: u32,
    size: u64,
    size_max: u64,
    buffer: Vec<u8>,
}

const STEM: &str = "crawl-";

/// Name of the log of rules, beside the crawl log.
pub const RULES: &str = "rules.jsonl";

/// Returns the log's files in order.
///
/// # Errors
/// Returns what the system says.
pub fn files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with(STEM) && name.ends_with(".jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Bytes of the log that [`recent`] reads: some seconds of a fast crawl, longer than the state can
/// be behind its log.
const RECENT_BYTES: u64 = 1 << 20;

/// Returns the newest lines, the earliest first, also from earlier files where the newest one has
/// just begun; lines that cannot be read are left out, since this is no audit.
///
/// # Errors
/// Returns what the system says.
pub fn recent(dir: &Path) -> io::Result<Vec<Line>> {
    let (mut tails, mut wanted) = (Vec::new(), RECENT_BYTES);
    for name in files(dir)?.iter().rev() {
        let tail = tail_of(name, wanted)?;
        wanted = wanted.saturating_sub(tail.len() as u64);
        tails.push(tail);
        if wanted == 0 {
            break;
        }
    }
    let lines = tails.iter().rev().flat_map(|tail| tail.split(|byte| *byte == b'\n'));
    Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

/// Returns the last bytes of a file, at most `most`.
fn tail_of(name: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(name)?;
    let start = file.metadata()?.len().saturating_sub(most);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn name_of(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("{STEM}{number:05}.jsonl"))
}

/// Bytes in which a log is read backwards for the end of its last whole line.
const TAIL_BLOCK: u64 = 64 << 10;

/// Returns how many bytes of a log are whole lines, reading it backwards in blocks.
fn whole_length(log: &mut (impl Read + Seek), block: u64) -> io::Result<u64> {
    let mut end = log.seek(SeekFrom::End(0))?;
    let mut bytes = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(block.max(1));
        bytes.resize((end - start) as usize, 0);
        log.seek(SeekFrom::Start(start))?;
        log.read_exact(&mut bytes)?;
        if let Some(at) = bytes.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

impl CrawlLog {
    /// Opens the log in `dir` and goes on where it ended; a torn last line is cut off.
    ///
    /// # Errors
    /// Returns what the system says.
    pub fn open(dir: &Path, size_max: u64) -> Result<CrawlLog, CrawlError> {
        let wrap = |why| CrawlError::Log { file: dir.display().to_string(), why };
        std::fs::create_dir_all(dir).map_err(wrap)?;
        let last = files(dir).map_err(wrap)?.pop();
        let number = last
            .as_ref()
            .and_then(|path| path.file_stem()?.to_str()?.strip_prefix(STEM)?.parse().ok())
            .unwrap_or(1);
        let name = last.unwrap_or_else(|| name_of(dir, number));
        let size = Self::cut_torn(&name).map_err(wrap)?;
        let file = OpenOptions::new().create(true).append(true).open(&name).map_err(wrap)?;
        let (dir, size_max) = (dir.to_owned(), size_max.max(1 << 16));
        Ok(CrawlLog { dir, file, name, number, size, size_max, buffer: Vec::new() })
    }

    /// Returns the newest lines, as [`recent`].
    pub(super) fn recent(&self) -> Result<Vec<Line>, CrawlError> {
        recent(&self.dir)
            .map_err(|why| CrawlError::Log { file: self.dir.display().to_string(), why })
    }

    fn cut_torn(name: &Path) -> io::Result<u64> {
        let Ok(mut file) = File::open(name) else { return Ok(0) };
        let whole = whole_length(&mut file, TAIL_BLOCK)?;
        if whole < file.metadata()?.len() {
            OpenOptions::new().write(true).open(name)?.set_len(whole)?;
        }
        Ok(whole)
    }

    /// Returns the directory that it lies in.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Appends a line with one write.
    ///
    /// # Errors
    /// Returns what the system says; the log then ends with a whole line all the same.
    pub fn write(&mut self, line: &Line) -> Result<(), CrawlError> {
        self.buffer.clear();
        let encoded = serde_json::to_writer(&mut self.buffer, line);
        encoded.expect("a line is plain data, which serde_json always encodes");
        self.buffer.push(b'\n');
        let written = self.file.write_all(&self.buffer);
        if let Err(why) = written {
            // What was written of the line goes, so that the next one begins at a line's start.
            let _ = self.file.set_len(self.size);
            return Err(CrawlError::Log { file: self.name.display().to_string(), why });
        }
        self.size += self.buffer.len() as u64;
        if self.size >= self.size_max {
            self.rotate()?;
        }
        Ok(())
    }

    fn rotate(&mut self) -> Result<(), CrawlError> {
        let name = name_of(&self.dir, self.number + 1);
        let opened = OpenOptions::new().create(true).append(true).open(&name);
        self.file =
            opened.map_err(|why| CrawlError::Log { file: name.display().to_string(), why })?;
        self.number += 1;
        self.name = name;
        self.size = 0;
        Ok(())
    }
}

/// Appends JSON lines to one file: the lives of rules.
#[derive(Debug)]
pub struct JsonLog {
    file: File,
    name: PathBuf,
}

impl JsonLog {
    /// Opens a log, or goes on with it; a torn last line is cut off.
    ///
    /// # Errors
    /// Returns what the system says.
    pub fn open(name: &Path) -> Result<JsonLog, CrawlError> {
        let wrap = |why| CrawlError::Log { file: name.display().to_string(), why };
        if let Some(dir) = name.parent() {
            std::fs::create_dir_all(dir).map_err(wrap)?;
        }
        CrawlLog::cut_torn(name).map_err(wrap)?;
        let file = OpenOptions::new().create(true).append(true).open(name).map_err(wrap)?;
        Ok(JsonLog { file, name: name.to_owned() })
    }

    /// Appends a line with one write.
    ///
    /// # Errors
    /// Returns what the system says.
    pub fn write(&mut self, line: &impl Serialize) -> Result<(), CrawlError> {
        let wrap = |why| CrawlError::Log { file: self.name.display().to_string(), why };
        let mut bytes = serde_json::to_vec(line).map_err(io::Error::other).map_err(wrap)?;
        bytes.push(b'\n');
        self.file.write_all(&bytes).map_err(wrap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_last_line_is_cut_when_the_log_is_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = CrawlLog::open(dir.path(), 1 << 20).unwrap();
        let line = Line { url: "http://a.example/".to_owned(), ..Line::default() };
        log.write(&line).unwrap();
        drop(log);
        let name = files(dir.path()).unwrap().remove(0);
        OpenOptions::new().append(true).open(&name).unwrap().write_all(b"{\"at\":\"20").unwrap();
        let mut log = CrawlLog::open(dir.path(), 1 << 20).unwrap();
        log.write(&line).unwrap();
        let text = std::fs::read_to_string(&name).unwrap();
        let lines: Vec<Line> = text.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(lines, [line.clone(), line]);
    }

    /// Counts the bytes that are read.
    struct Counted<'b>(io::Cursor<&'b [u8]>, usize);

    impl Read for Counted<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let read = self.0.read(into)?;
            self.1 += read;
            Ok(read)
        }
    }

    impl Seek for Counted<'_> {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    /// The whole file was read for its last line.
    #[test]
    fn of_a_log_no_more_is_read_than_tells_where_its_last_whole_line_ends() {
        for block in 1..12 {
            for (text, want) in [("", 0), ("ab", 0), ("\n", 1), ("a\nbc\n", 5), ("a\nbcd", 2)] {
                let mut log = Counted(io::Cursor::new(text.as_bytes()), 0);
                assert_eq!(whole_length(&mut log, block).unwrap(), want, "{text:?} by {block}");
            }
        }
        let text = "line\n".repeat(100_000) + "torn";
        let mut log = Counted(io::Cursor::new(text.as_bytes()), 0);
        assert_eq!(whole_length(&mut log, 1000).unwrap(), 500_000);
        assert_eq!(log.1, 1000);
    }

    #[test]
    fn a_full_file_is_followed_by_the_next_number() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = CrawlLog::open(dir.path(), 0).unwrap();
        let line = Line { url: "x".repeat(40_000), ..Line::default() };
        for _ in 0..4 {
            log.write(&line).unwrap();
        }
        assert_eq!(files(dir.path()).unwrap().len(), 3);
    }

    /// A file that had just begun was all that was read.
    #[test]
    fn what_is_recent_does_not_depend_on_where_a_file_ends() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = CrawlLog::open(dir.path(), 0).unwrap();
        let line = |at_ms| Line { at_ms, url: "x".repeat(40_000), ..Line::default() };
        let recent = || -> Vec<u64> {
            recent(dir.path()).unwrap().into_iter().map(|line| line.at_ms).collect()
        };
        assert_eq!(recent(), [0_u64; 0]);
        for at_ms in 0..4 {
            log.write(&line(at_ms)).unwrap();
            assert_eq!(recent(), (0..=at_ms).collect::<Vec<_>>());
        }
        for at_ms in 4..40 {
            log.write(&line(at_ms)).unwrap();
        }
        let newest = recent();
        assert!((10..30).contains(&newest.len()), "{newest:?}");
        assert_eq!(newest, (40 - newest.len() as u64..40).collect::<Vec<_>>());
    }
}
