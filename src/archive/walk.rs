//! Going through the records of a directory, and which of them are wanted.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

use regex::Regex;

use super::cdxj::Entry;
use super::error::Named;
use super::files::{self, Listed};
use super::index::{DAMAGES_MAX, HeadKeeper, behind, entry_of};
use super::reader::{Damage, Extent, Head, Reader, Record};
use super::{ArchiveError, RecordAt, http};
use crate::clock::Timestamp;
use crate::fetch::url_text;
use crate::url::CrawlUrl;

/// Which records are wanted: those that meet every condition that is set.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Pattern that the target URI contains.
    pub url: Option<Regex>,
    /// Host names, each with its subdomains.
    pub hosts: Vec<String>,
    /// Media types or their beginnings: `text/html`, `image/`. A revisit has two: `warc/revisit`
    /// and that of what it repeats.
    pub mimes: Vec<String>,
    /// Statuses: `200`, or a class as `4xx`.
    pub statuses: Vec<String>,
    /// Not before.
    pub since: Option<Timestamp>,
    /// Not after.
    pub until: Option<Timestamp>,
}

impl Selection {
    /// Returns true if no condition is set.
    pub fn is_everything(&self) -> bool {
        let Selection { url, hosts, mimes, statuses, since, until } = self;
        let no_list = hosts.is_empty() && mimes.is_empty() && statuses.is_empty();
        no_list && url.is_none() && since.is_none() && until.is_none()
    }

    /// Returns true if the record is wanted.
    pub fn matches(&self, found: &Found) -> bool {
        let uri = found.head.uri();
        let is_any = |wanted: &[String], meets: &dyn Fn(&str) -> bool| {
            wanted.is_empty() || wanted.iter().any(|one| meets(one))
        };
        let host = CrawlUrl::parse(uri).map(|url| url.host_str().to_owned()).unwrap_or_default();
        let in_host = |want: &str| {
            host.strip_suffix(want).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'))
        };
        let mimes =
            [found.mime.clone(), found.content_type()].map(|mime| mime.to_ascii_lowercase());
        let starts = |want: &str| {
            let want = want.to_ascii_lowercase();
            let is_revisit = found.head.kind() == "revisit";
            mimes[0].starts_with(&want) || (is_revisit && mimes[1].starts_with(&want))
        };
        let status = found.status.as_deref().unwrap_or_default();
        let in_class = |want: &str| match want.strip_suffix("xx") {
            Some(class) => status.len() == 3 && status.starts_with(class),
            None => status == want,
        };
        self.url.as_ref().is_none_or(|pattern| pattern.is_match(uri))
            && is_any(&self.hosts, &in_host)
            && is_any(&self.mimes, &starts)
            && is_any(&self.statuses, &in_class)
            && self.since.is_none_or(|since| found.date.is_some_and(|date| date >= since))
            && self.until.is_none_or(|until| found.date.is_some_and(|date| date <= until))
    }
}

/// A record that can be replayed: a response, a revisit, or a resource.
#[derive(Clone, Debug)]
pub struct Found {
    /// Where it is.
    pub at: RecordAt,
    /// Its named fields.
    pub head: Head,
    /// Status line and headers of the HTTP message, or nothing.
    pub http_head: Vec<u8>,
    /// Status of the HTTP message.
    pub status: Option<String>,
    /// Media type of the payload, without parameters; `warc/revisit` for revisits.
    pub mime: String,
    /// Its date.
    pub date: Option<Timestamp>,
    pub(super) entry: Entry,
}

impl Found {
    pub(super) fn of(file: &str, head: Head, extent: Extent, http_head: &[u8]) -> Option<Found> {
        let entry = entry_of(&head, http_head)?;
        let at = RecordAt { file: file.to_owned(), offset: extent.offset, length: extent.length };
        let date = head.get("WARC-Date").and_then(Timestamp::from_rfc3339);
        let mime = entry.mime().unwrap_or_default().to_owned();
        let status = entry.status().map(str::to_owned);
        Some(Found { at, head, http_head: http_head.to_vec(), status, mime, date, entry })
    }

    /// Returns the line of the record in an index, line end included.
    pub fn cdxj_line(&self) -> String {
        self.entry.line(self.at.length, self.at.offset, &self.at.file)
    }

    /// Returns the line by which the record is found under another URL, line end included.
    pub fn cdxj_line_as(&self, url: &str) -> String {
        self.entry.under(url).line(self.at.length, self.at.offset, &self.at.file)
    }

    /// Returns the payload of the record's block, without chunks and content coding, at most `max`
    /// bytes of it; nothing for revisits.
    pub fn decoded(&self, block: &[u8], max: usize) -> Vec<u8> {
        if self.http_head.is_empty() {
            return block[..block.len().min(max)].to_vec();
        }
        let body = block.get(self.http_head.len()..).unwrap_or_default();
        http::decoded(&self.http_head, http::payload(&self.http_head, body), max)
    }

    /// Returns the type of the payload with its parameters, or nothing.
    pub fn content_type(&self) -> String {
        let of_record = || self.head.get("Content-Type").unwrap_or_default().to_owned();
        if self.http_head.is_empty() {
            of_record()
        } else {
            self.http_header("content-type").unwrap_or_default()
        }
    }

    /// Returns the first value of a header of the HTTP message; `name` in any case.
    pub fn http_header(&self, name: &str) -> Option<String> {
        http::header(&self.http_head, name)
    }

    /// Returns the values of all fields of a name, in their order; `name` in any case.
    pub fn http_headers(&self, name: &str) -> impl Iterator<Item = String> {
        http::headers(&self.http_head, name)
    }
}

impl Record {
    /// Returns the type of the payload with its parameters, and the payload without chunks and
    /// content coding, at most `max` bytes of it; nothing for a revisit.
    pub fn content(&self, max: usize) -> (Option<String>, Vec<u8>) {
        let of_record = self.head.get("Content-Type").map(str::to_owned);
        if !self.head.is_http() {
            return (of_record, self.block[..self.block.len().min(max)].to_vec());
        }
        let length = http::head_length(&self.block).unwrap_or(self.block.len());
        let (head, body) = self.block.split_at(length);
        (http::header(head, "content-type"), http::decoded(head, http::payload(head, body), max))
    }

    /// Returns the values of all fields of a name of its HTTP message, in their order; none where
    /// it is no such message. `name` in any case.
    pub fn http_headers(&self, name: &str) -> impl Iterator<Item = String> {
        http::headers(self.http_head(), name)
    }

    /// Returns the same where the field names URLs, read as the crawl reads them.
    pub fn http_urls(&self, name: &str) -> impl Iterator<Item = String> {
        http::raw_headers(self.http_head(), name).map(|value| url_text(&value))
    }

    fn http_head(&self) -> &[u8] {
        let length = if self.head.is_http() { http::head_length(&self.block) } else { None };
        &self.block[..length.unwrap_or_default()]
    }
}

/// What a walk through the records passed by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walked {
    /// Files looked at.
    pub files: u64,
    /// Whole records of every type.
    pub records: u64,
    /// Damage that was stepped over: the file and what is wrong with it; the first thousand.
    pub damages: Vec<(String, Damage)>,
    /// How many there were.
    pub damaged: u64,
}

/// Passes every record that can be replayed and is wanted to `each`, with the first `block_max`
/// bytes of its block, in the order of the files. Damage is stepped over and reported.
///
/// # Errors
/// What the operating system refused, or the first error of `each`.
pub fn walk(
    dir: &Path,
    selection: &Selection,
    block_max: usize,
    mut each: impl FnMut(&Found, &[u8]) -> Result<(), ArchiveError>,
) -> Result<Walked, ArchiveError> {
    walk_all(dir, block_max, |listed, record, http_head| {
        let Record { head, block, extent, .. } = record;
        match Found::of(&listed.file, head, extent, http_head) {
            Some(found) if selection.matches(&found) => each(&found, &block),
            _ => Ok(()),
        }
    })
}

/// Passes every record of one file that can be replayed to `each`, as [`walk`] does.
///
/// # Errors
/// What the operating system refused, or the first error of `each`.
pub fn walk_file(
    path: &Path,
    block_max: usize,
    mut each: impl FnMut(&Found, &[u8]) -> Result<(), ArchiveError>,
) -> Result<Walked, ArchiveError> {
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let listed = Listed { path: path.to_owned(), file, open: false };
    let mut walked = Walked::default();
    walk_one(&listed, block_max, &mut walked, &mut |listed, record, http_head| {
        let Record { head, block, extent, .. } = record;
        Found::of(&listed.file, head, extent, http_head)
            .map_or(Ok(()), |found| each(&found, &block))
    })?;
    Ok(walked)
}

/// Passes every whole record of a directory to `each`, with its HTTP head if it has one.
pub(super) fn walk_all(
    dir: &Path,
    block_max: usize,
    mut each: impl FnMut(&Listed, Record, &[u8]) -> Result<(), ArchiveError>,
) -> Result<Walked, ArchiveError> {
    let mut walked = Walked::default();
    for listed in files::list(dir).named("list", dir)? {
        walk_one(&listed, block_max, &mut walked, &mut each)?;
    }
    Ok(walked)
}

fn walk_one(
    listed: &Listed,
    block_max: usize,
    walked: &mut Walked,
    each: &mut impl FnMut(&Listed, Record, &[u8]) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    walked.files += 1;
    let mut reader = Reader::new(listed.read().named("read", &listed.path)?, 0);
    loop {
        let mut keeper = HeadKeeper::default();
        match next(&mut reader, block_max, &mut keeper) {
            None => return Ok(()),
            Some(Ok(record)) => {
                walked.records += 1;
                each(listed, record, keeper.http_head())?;
            }
            Some(Err(damage)) => {
                let next = behind(&listed.path_now(), &damage)?;
                walked.damaged += 1;
                if walked.damages.len() < DAMAGES_MAX {
                    walked.damages.push((listed.file.clone(), damage));
                }
                match next {
                    Some((_, next)) => reader = next,
                    None => return Ok(()),
                }
            }
        }
    }
}

fn next(
    reader: &mut Reader<File>,
    block_max: usize,
    keeper: &mut HeadKeeper,
) -> Option<Result<Record, Damage>> {
    let mut block = Vec::new();
    let mut block_cut = false;
    let read = reader.next_with(|head, piece| {
        keeper.push(head, piece);
        let take = piece.len().min(block_max - block.len());
        block.extend_from_slice(&piece[..take]);
        block_cut |= take < piece.len();
    });
    let with_block = |(head, extent)| Record { head, block, block_cut, extent };
    read.map(|read| read.map(with_block))
}

/// Reads one record, with at most `block_max` bytes of its block, from a finished or open file.
///
/// # Errors
/// [`ArchiveError::Missing`] if there is no such file, [`ArchiveError::Damaged`] if no whole record
/// begins at the offset; otherwise what the operating system refused.
pub fn read_at(dir: &Path, at: &RecordAt, block_max: usize) -> Result<Record, ArchiveError> {
    let missing = || ArchiveError::Missing { file: at.file.clone(), dir: dir.to_owned() };
    // A name from outside must not lead out of the directory.
    if at.file.contains(['/', '\\', '\0']) {
        return Err(missing());
    }
    let finished = dir.join(&at.file);
    let growing = dir.join(format!("{}{}", at.file, files::OPEN));
    let path = if finished.exists() { finished } else { growing };
    if !path.exists() {
        return Err(missing());
    }
    let mut file = File::open(&path).named("read", &path)?;
    file.seek(SeekFrom::Start(at.offset)).named("read", &path)?;
    let torn = Damage { offset: at.offset, kind: super::DamageKind::Torn };
    let record = Reader::new(file, at.offset).next_record(block_max).unwrap_or(Err(torn));
    record.map_err(|damage| ArchiveError::Damaged { path, damage })
}
