//! Checking an archive: every record, every digest, every line of every index.
//!
//! Nothing is changed here; what can be mended is marked, and [`super::repair`] mends it.

use std::collections::HashSet;
use std::fmt;
use std::fs::{self, File};
use std::path::Path;

use serde::Serialize;

use super::digest::Stated;
use super::error::Named;
use super::files::{self, Listed, Name};
use super::http::{Dechunker, head_length, is_chunked};
use super::index::{Indexed, behind, entry_of, read_if_any};
use super::reader::{Damage, Extent, Head, Reader};
use super::{ArchiveError, cdxj, index};
use crate::url::Fingerprint;

/// What a check of an archive found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// WARC files.
    pub files: u64,
    /// Whole records.
    pub records: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Digests that were checked.
    pub digests: u64,
    /// What is wrong; at most a thousand are named.
    pub problems: Vec<Problem>,
    /// How many more problems there are.
    pub problems_unnamed: u64,
}

impl Report {
    /// Returns true if nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    fn add(&mut self, file: &str, offset: Option<u64>, finding: Finding) {
        if self.problems.len() < PROBLEMS_MAX {
            let detail = finding.to_string();
            self.problems.push(Problem { file: file.to_owned(), offset, finding, detail });
        } else {
            self.problems_unnamed += 1;
        }
    }
}

const PROBLEMS_MAX: usize = 1000;

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Name of the WARC file, without `.open`.
    pub file: String,
    /// Offset of the record.
    pub offset: Option<u64>,
    /// What it is.
    pub finding: Finding,
    /// The same for people.
    pub detail: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            Some(offset) => write!(f, "{} at {offset}: {}", self.file, self.detail),
            None => write!(f, "{}: {}", self.file, self.detail),
        }
    }
}

/// What can be wrong with an archive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Finding {
    /// The file ends in a torn record; `repair` cuts it.
    #[error("torn tail of {bytes} bytes ({reason}); `repair` cuts it")]
    TornTail {
        /// From the last whole record to the end of the file.
        bytes: u64,
        /// What stopped the reading.
        reason: String,
    },
    /// A file without a single whole record; `repair` leaves it, as it may be no WARC file at all.
    #[error(
        "no whole record in {bytes} bytes ({reason}); `repair` leaves it: put a copy in its place, \
         or move it away"
    )]
    NoRecord {
        /// Its length.
        bytes: u64,
        /// What stopped the reading.
        reason: String,
    },
    /// Bytes that cannot be read, with whole records behind them.
    #[error("{bytes} damaged bytes ({reason}); the records behind them are whole")]
    Damaged {
        /// Up to the next whole record.
        bytes: u64,
        /// What stopped the reading.
        reason: String,
    },
    /// The block has not the digest that the record states.
    #[error("block digest does not match")]
    BlockDigest,
    /// The payload has not the digest that the record states.
    #[error("payload digest does not match")]
    PayloadDigest,
    /// A mandatory field is missing.
    #[error("field {field} is missing")]
    MissingField {
        /// Its name.
        field: String,
    },
    /// Two records of the file have one id.
    #[error("record id is used twice")]
    DuplicateId,
    /// A record names another of the same capture that is not in the file.
    #[error("WARC-Concurrent-To names a record that is not in this file")]
    ConcurrentTo,
    /// The gzip member holds other records too.
    #[error("record shares its gzip member with others")]
    SharedMember,
    /// The file does not begin with a warcinfo record.
    #[error("first record is no warcinfo")]
    NoWarcinfo,
    /// A finished file has no index; `repair` makes one.
    #[error("no index beside it; `repair` makes one")]
    IndexMissing,
    /// The index is not sorted; `repair` makes it again.
    #[error("index is not sorted; `repair` makes it again")]
    IndexUnsorted,
    /// The index does not say what the records say; `repair` makes it again.
    #[error(
        "index lacks {missing} records and has {extra} lines too many; `repair` makes it again"
    )]
    IndexDiffers {
        /// Records without their line.
        missing: u64,
        /// Lines without their record.
        extra: u64,
    },
}

/// Checks all WARC files of a directory and their indexes; `indexed` says which have one. A missing
/// directory is empty.
///
/// # Errors
/// What the operating system refused; what is wrong with the files is in the report.
pub fn verify(dir: &Path, indexed: Indexed) -> Result<Report, ArchiveError> {
    check(dir, indexed, false)
}

/// Checks the archive of a crawl that is writing: of the open file what it holds when its turn
/// comes. What is half written there, or not indexed yet, is no damage.
///
/// # Errors
/// As [`verify`].
pub fn verify_while_written(dir: &Path, indexed: Indexed) -> Result<Report, ArchiveError> {
    check(dir, indexed, true)
}

fn check(dir: &Path, indexed: Indexed, is_written: bool) -> Result<Report, ArchiveError> {
    let mut report = Report::default();
    let files = files::list(dir).named("list", dir)?;
    let with_index = index::is_kept(dir, &files, indexed);
    for mut listed in files {
        let finished = dir.join(&listed.file);
        if is_written && listed.open && finished.exists() {
            // It was finished since the files were listed.
            listed = Listed { path: finished, open: false, ..listed };
        }
        let grows = is_written && listed.open;
        let (mut lines, length) = check_file(&listed, grows, &mut report)?;
        let Some(name) = Name::parse(&listed.file) else { continue };
        let path = dir.join(if listed.open { name.cdxj_open() } else { name.cdxj() });
        match read_if_any(&path)? {
            Some(text) => {
                let mut index: Vec<&str> = text.split_inclusive('\n').collect();
                if grows {
                    cut_to_common(&mut lines, &mut index, length);
                }
                compare(&name, listed.open, &mut lines, index, &mut report);
            }
            None if with_index && !listed.open => {
                report.add(&name.warc(), None, Finding::IndexMissing);
            }
            None => {}
        }
    }
    Ok(report)
}

/// Keeps the lines of records that both know: those that end within `length`, and no later than the
/// last one that is indexed.
fn cut_to_common(lines: &mut Vec<String>, index: &mut Vec<&str>, length: u64) {
    let end = |line: &str| cdxj::place(line.trim_end()).map(|place| place.offset + place.length);
    let indexed = index.iter().filter_map(|line| end(line)).filter(|end| *end <= length).max();
    let indexed = indexed.unwrap_or(0);
    let is_common = |line: &str| end(line).is_some_and(|end| end <= indexed);
    lines.retain(|line| is_common(line));
    index.retain(|line| is_common(line));
}

/// What is kept of a file's records to compare them with one another.
#[derive(Default)]
struct Ties {
    /// Hashes of the ids: half the memory of the ids themselves.
    ids: HashSet<Fingerprint>,
    concurrent: Vec<(u64, Fingerprint)>,
    lines: Vec<String>,
    records: u64,
}

/// Checks the records of a file; returns their index lines and the length of the file. Of one that
/// grows, what comes behind that length is left for the next check.
fn check_file(
    listed: &Listed,
    grows: bool,
    report: &mut Report,
) -> Result<(Vec<String>, u64), ArchiveError> {
    let path = &listed.path;
    let length = fs::metadata(path).named("read", path)?.len();
    report.files += 1;
    report.bytes += length;
    let mut reader = Reader::open_at(path, 0).named("read", path)?;
    let mut ties = Ties::default();
    loop {
        let mut block = BlockCheck::default();
        match reader.next_with(|head, piece| block.push(head, piece)) {
            None => break,
            Some(Ok((_, extent))) if grows && extent.offset + extent.length > length => break,
            Some(Err(damage)) if grows && behind(path, &damage)?.is_none() => break,
            Some(Ok((head, extent))) => {
                check_record(listed, &head, extent, block, &mut ties, report);
            }
            Some(Err(damage)) => match step_over(listed, length, &damage, ties.records, report)? {
                Some(behind) => reader = behind,
                None => break,
            },
        }
    }
    for (offset, id) in &ties.concurrent {
        // Those of one capture are written together, but perhaps not read together.
        if !grows && !ties.ids.contains(id) {
            report.add(&listed.file, Some(*offset), Finding::ConcurrentTo);
        }
    }
    Ok((ties.lines, length))
}

fn step_over(
    listed: &Listed,
    length: u64,
    damage: &Damage,
    records: u64,
    report: &mut Report,
) -> Result<Option<Reader<File>>, ArchiveError> {
    let next = behind(&listed.path, damage)?;
    let reason = damage.kind.to_string();
    // An open file of a crawl that came to no record is moved aside whole.
    let is_mended = records > 0 || (listed.open && Name::parse(&listed.file).is_some());
    let finding = match &next {
        Some((offset, _)) => Finding::Damaged { bytes: offset - damage.offset, reason },
        None if is_mended => {
            Finding::TornTail { bytes: length.saturating_sub(damage.offset), reason }
        }
        None => Finding::NoRecord { bytes: length, reason },
    };
    report.add(&listed.file, Some(damage.offset), finding);
    Ok(next.map(|(_, reader)| reader))
}

fn check_record(
    listed: &Listed,
    head: &Head,
    extent: Extent,
    block: BlockCheck,
    ties: &mut Ties,
    report: &mut Report,
) {
    let at = Some(extent.offset);
    let mut add = |finding| report.add(&listed.file, at, finding);
    if ties.records == 0 && extent.offset == 0 && head.kind() != "warcinfo" {
        add(Finding::NoWarcinfo);
    }
    ties.records += 1;
    for field in ["WARC-Type", "WARC-Record-ID", "WARC-Date"] {
        if head.get(field).is_none() {
            add(Finding::MissingField { field: field.to_owned() });
        }
    }
    if extent.index_in_member > 0 {
        add(Finding::SharedMember);
    }
    if let Some(id) = head.get("WARC-Record-ID")
        && !ties.ids.insert(Fingerprint::of(id))
    {
        add(Finding::DuplicateId);
    }
    let concurrent = head.all("WARC-Concurrent-To").map(Fingerprint::of);
    ties.concurrent.extend(concurrent.map(|id| (extent.offset, id)));
    let entry = entry_of(head, block.http_head());
    ties.lines.extend(entry.map(|e| e.line(extent.length, extent.offset, &listed.file)));
    let (block, payload) = block.finish(head);
    if block == Some(false) {
        add(Finding::BlockDigest);
    }
    if payload == Some(false) {
        add(Finding::PayloadDigest);
    }
    report.records += 1;
    report.digests += u64::from(block.is_some()) + u64::from(payload.is_some());
}

/// Checks the digests of one record while its block streams by.
#[derive(Default)]
struct BlockCheck {
    digests: Option<Digests>,
    /// The HTTP head, as far as it has come.
    start: Vec<u8>,
    in_body: bool,
    dechunker: Option<Dechunker>,
}

struct Digests {
    block: Option<Stated>,
    /// Over the payload as it stands, and over what is left of it without chunks: some tools write
    /// the one, the specification means the other.
    payload: Option<(Stated, Stated)>,
}

impl Digests {
    fn stated(head: &Head) -> Self {
        let stated = |field| head.get(field).map(Stated::parse);
        let payload = stated("WARC-Payload-Digest").zip(stated("WARC-Payload-Digest"));
        let payload = payload.filter(|_| head.kind() != "revisit");
        Digests { block: stated("WARC-Block-Digest"), payload }
    }
}

/// A head that is longer is taken for a body.
const HTTP_HEAD_MAX: usize = 256 * 1024;

impl BlockCheck {
    fn push(&mut self, head: &Head, piece: &[u8]) {
        let digests = self.digests.get_or_insert_with(|| Digests::stated(head));
        if let Some(block) = &mut digests.block {
            block.update(piece);
        }
        if self.in_body || !head.is_http() {
            self.body(piece);
            return;
        }
        self.start.extend_from_slice(piece);
        let length = head_length(&self.start);
        if let Some(length) = length.or((self.start.len() > HTTP_HEAD_MAX).then_some(0)) {
            let body = self.start.split_off(length);
            self.in_body = true;
            self.dechunker = is_chunked(&self.start).then(Dechunker::default);
            self.body(&body);
        }
    }

    fn body(&mut self, piece: &[u8]) {
        let Some(Digests { payload: Some((raw, bare)), .. }) = &mut self.digests else { return };
        raw.update(piece);
        if let Some(dechunker) = &mut self.dechunker {
            dechunker.push(piece, &mut |bytes| bare.update(bytes));
        }
    }

    fn http_head(&self) -> &[u8] {
        &self.start
    }

    /// Returns whether block and payload have their digests; `None` where none is stated.
    fn finish(self, head: &Head) -> (Option<bool>, Option<bool>) {
        let Digests { block, payload } = self.digests.unwrap_or_else(|| Digests::stated(head));
        let is_chunked = self.dechunker.is_some();
        let payload = payload.and_then(|(raw, bare)| match (raw.holds(), bare.holds()) {
            (Some(raw), Some(bare)) => Some(raw || (is_chunked && bare)),
            _ => None,
        });
        (block.and_then(Stated::holds), payload)
    }
}

/// Compares the lines that records make with those of their index.
fn compare(
    name: &Name,
    is_open: bool,
    lines: &mut [String],
    mut index: Vec<&str>,
    report: &mut Report,
) {
    if !is_open && !index.is_sorted() {
        report.add(&name.warc(), None, Finding::IndexUnsorted);
    }
    index.sort_unstable();
    lines.sort_unstable();
    let has = |line: &str| index.binary_search(&line).is_ok();
    let missing = lines.iter().filter(|line| !has(line)).count() as u64;
    let known = |line: &str| lines.binary_search_by(|have| have.as_str().cmp(line)).is_ok();
    let extra = index.iter().filter(|line| !known(line) || cdxj::place(line.trim_end()).is_none());
    let extra = extra.count() as u64;
    if missing + extra > 0 {
        report.add(&name.warc(), None, Finding::IndexDiffers { missing, extra });
    }
}
