//! Parts of an archive in other forms: a WARC of its own, an index, or JSON lines with the text.

use std::collections::HashSet;
use std::fs::{File, TryLockError};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use uuid::Uuid;

use super::encode::{USAGE_HEADERS, warcinfo};
use super::error::Named;
use super::files::Listed;
use super::reader::{Head, Record};
use super::record::{Form, member};
use super::walk::{Found, Selection, Walked, walk, walk_all};
use super::{About, ArchiveError, Compression, Settings};
use crate::clock::Timestamp;
use crate::url::Fingerprint;

/// What an export wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Records, or lines.
    pub records: u64,
    /// Bytes.
    pub bytes: u64,
    /// Records that were not asked for, but that a wanted revisit refers to.
    pub originals: u64,
    /// Records left out because their block is too large to be held in memory.
    pub too_large: u64,
    /// What was looked through, and the damage that was stepped over.
    pub walked: Walked,
}

/// Writes a new file as a whole: it has another name, with `.part` behind it, until it is complete
/// and on the disk, so that half of it is never taken for it, nor in the way of the next attempt.
///
/// # Errors
/// The file must not exist, nor may another process write it; otherwise what the operating system
/// refused, or `write`.
pub fn write_whole<T, E: From<ArchiveError>>(
    target: &Path,
    write: impl FnOnce(File) -> Result<T, E>,
) -> Result<T, E> {
    if target.exists() {
        let why = std::io::ErrorKind::AlreadyExists.into();
        return Err(ArchiveError::io("create", target, why).into());
    }
    write_part(target, write)
}

/// Writes a file as a whole likewise, in place of an earlier one. What is no file, such as a
/// terminal or a pipe, is written to as it is.
///
/// # Errors
/// What the operating system refused; the earlier file is then as it was.
pub fn replace_whole(target: &Path, bytes: &[u8]) -> Result<(), ArchiveError> {
    replace_by(target, |mut file| file.write_all(bytes).named("write", target))
}

/// Writes a file in the same way, piece by piece.
///
/// # Errors
/// What the operating system refused, or `write`; the earlier file is then as it was.
pub fn replace_by<T, E: From<ArchiveError>>(
    target: &Path,
    write: impl FnOnce(File) -> Result<T, E>,
) -> Result<T, E> {
    if is_device(target) {
        return write(File::create(target).named("write", target)?);
    }
    write_part(&aim(target), write)
}

/// Checks that [`replace_whole`] can write a file, which it leaves as it is.
///
/// # Errors
/// What the operating system refused.
pub fn check_writable(target: &Path) -> Result<(), ArchiveError> {
    if target.is_dir() {
        let why = std::io::ErrorKind::IsADirectory.into();
        return Err(ArchiveError::io("write", target, why));
    }
    if is_device(target) {
        return Ok(());
    }
    let part = part_of(&aim(target));
    let begun = begin(&part).named("write", target);
    begun.and_then(|_| std::fs::remove_file(&part).named("write", target))
}

fn is_device(target: &Path) -> bool {
    std::fs::metadata(target).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Returns the file that a link leads to, so that the link stays one.
fn aim(target: &Path) -> PathBuf {
    target.canonicalize().unwrap_or_else(|_| target.to_owned())
}

fn part_of(target: &Path) -> PathBuf {
    let mut part = target.as_os_str().to_owned();
    part.push(".part");
    PathBuf::from(part)
}

fn write_part<T, E: From<ArchiveError>>(
    target: &Path,
    write: impl FnOnce(File) -> Result<T, E>,
) -> Result<T, E> {
    let part = &part_of(target);
    let (file, kept) = begin(part).named("create", target)?;
    let written = write(file).and_then(|written| {
        let kept = kept.sync_all().and_then(|()| std::fs::rename(part, target));
        kept.named("write", target)?;
        Ok(written)
    });
    if written.is_err() {
        // What is left of it would only take room.
        let _ = std::fs::remove_file(part);
    }
    written
}

/// Creates the file, or empties what a kill left of it; returns it twice.
fn begin(part: &Path) -> std::io::Result<(File, File)> {
    let mut options = File::options();
    let file = options.read(true).write(true).create(true).truncate(false).open(part)?;
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        let why = "another process is writing it";
        return Err(std::io::Error::new(std::io::ErrorKind::ResourceBusy, why));
    }
    file.set_len(0)?;
    let kept = file.try_clone()?;
    Ok((file, kept))
}

/// The largest block that is packed anew; whole gzip members are copied whatever their size.
const BLOCK_MAX: usize = 1 << 30;

/// Writes the wanted records, with the requests and metadata that belong to them and the records
/// that wanted revisits refer to, without which those cannot be replayed, into one new WARC file;
/// `settings` and `about` are for its warcinfo record. The file must not exist.
///
/// # Errors
/// What the operating system refused.
pub fn export_warc(
    dir: &Path,
    selection: &Selection,
    target: &Path,
    settings: &Settings,
    about: &About,
    now: Timestamp,
) -> Result<Exported, ArchiveError> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    write_warc(dir, selection, (target, &name), settings, about, now)
}

/// Does the same for a file that will have another name, which its warcinfo record says.
pub(super) fn write_warc(
    dir: &Path,
    selection: &Selection,
    (target, name): (&Path, &str),
    settings: &Settings,
    about: &About,
    now: Timestamp,
) -> Result<Exported, ArchiveError> {
    write_whole(target, |file| {
        write_into(file, dir, selection, (target, name), settings, about, now)
    })
}

fn write_into(
    file: File,
    dir: &Path,
    selection: &Selection,
    (target, name): (&Path, &str),
    settings: &Settings,
    about: &About,
    now: Timestamp,
) -> Result<Exported, ArchiveError> {
    let (wanted, originals) = wanted_ids(dir, selection)?;
    let gzip = name.ends_with(".gz");
    let compression = if gzip { Compression::Gzip } else { Compression::None };
    let settings = Settings { compression, ..settings.clone() };
    let form = Form { compression, level: settings.level };
    let mut out = BufWriter::new(file);
    let info = warcinfo(&settings, about, Uuid::new_v4(), name, now);
    let bytes = info.len() as u64;
    let mut exported = Exported { records: 1, bytes, originals, ..Exported::default() };
    out.write_all(&info).named("write", target)?;
    let mut source: Option<(Listed, File)> = None;
    let walked = walk_all(dir, BLOCK_MAX, |listed, record, _| {
        if !belongs(&record.head, &wanted) {
            return Ok(());
        }
        let packed = listed.file.ends_with(".gz");
        let written = if packed == gzip && record.extent.is_alone {
            let file = match &mut source {
                Some((open, file)) if open.path == listed.path => file,
                _ => {
                    let file = listed.read().named("read", &listed.path)?;
                    &mut source.insert((listed.clone(), file)).1
                }
            };
            let copied = copy(file, &record, &mut out);
            copied.map_err(|why| ArchiveError::copy(&listed.path, target, why))?
        } else if record.block_cut {
            exported.too_large += 1;
            return Ok(());
        } else {
            let mut bytes = Vec::new();
            member(&[head_text(&record.head).as_bytes(), &record.block], form, &mut bytes);
            out.write_all(&bytes).named("write", target)?;
            bytes.len() as u64
        };
        exported.records += 1;
        exported.bytes += written;
        Ok(())
    })?;
    out.flush().named("write", target)?;
    Ok(Exported { walked, ..exported })
}

/// Returns hashes of the ids of all wanted records and of those that are concurrent to them, with
/// what wanted revisits refer to, and how many records these are.
fn wanted_ids(
    dir: &Path,
    selection: &Selection,
) -> Result<(HashSet<Fingerprint>, u64), ArchiveError> {
    let (mut wanted, mut referred) = (HashSet::new(), HashSet::new());
    walk(dir, selection, 0, |found, _| {
        wanted.extend(ids(&found.head));
        let place = |uri, date| found.head.get(uri).zip(found.head.get(date));
        let place = place("WARC-Refers-To-Target-URI", "WARC-Refers-To-Date");
        referred.extend(found.head.get("WARC-Refers-To").map(Fingerprint::of));
        referred.extend(place.map(capture));
        Ok(())
    })?;
    let mut originals = 0;
    if referred.is_empty() {
        return Ok((wanted, originals));
    }
    walk(dir, &Selection::default(), 0, |found, _| {
        let id = found.head.get("WARC-Record-ID").map(Fingerprint::of);
        let place = (found.head.uri(), found.head.get("WARC-Date").unwrap_or_default());
        let is_meant = referred.contains(&capture(place))
            || id.as_ref().is_some_and(|id| referred.contains(id));
        let is_new = id.is_some_and(|id| !wanted.contains(&id));
        if found.head.kind() != "revisit" && is_meant && is_new {
            wanted.extend(ids(&found.head));
            originals += 1;
        }
        Ok(())
    })?;
    Ok((wanted, originals))
}

fn ids(head: &Head) -> impl Iterator<Item = Fingerprint> {
    let own = head.get("WARC-Record-ID").into_iter();
    own.chain(head.all("WARC-Concurrent-To")).map(Fingerprint::of)
}

/// What a capture is known by where a revisit names no record.
fn capture((uri, date): (&str, &str)) -> Fingerprint {
    Fingerprint::of(&format!("{date} {uri}"))
}

fn belongs(head: &Head, wanted: &HashSet<Fingerprint>) -> bool {
    let is_wanted = |id: &str| wanted.contains(&Fingerprint::of(id));
    head.get("WARC-Record-ID").is_some_and(is_wanted)
        || head.all("WARC-Concurrent-To").any(is_wanted)
}

fn copy(file: &mut File, record: &Record, out: &mut impl Write) -> std::io::Result<u64> {
    file.seek(SeekFrom::Start(record.extent.offset))?;
    std::io::copy(&mut file.take(record.extent.length), out)
}

fn head_text(head: &Head) -> String {
    let mut text = format!("WARC/{}\r\n", head.version);
    for (name, value) in head.fields() {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text
}

/// Writes the sorted index of the wanted records.
///
/// # Errors
/// What the operating system refused.
pub fn export_cdxj(
    dir: &Path,
    selection: &Selection,
    out: &mut dyn Write,
) -> Result<Exported, ArchiveError> {
    let mut lines = Vec::new();
    let walked = walk(dir, selection, 0, |found, _| {
        lines.push(found.cdxj_line());
        Ok(())
    })?;
    write_sorted(lines, walked, out)
}

fn write_sorted(
    mut lines: Vec<String>,
    walked: Walked,
    out: &mut dyn Write,
) -> Result<Exported, ArchiveError> {
    lines.sort_unstable();
    let (records, mut bytes) = (lines.len() as u64, 0);
    // Each line is let go when it is written: a copy of them all would take as much again.
    for line in lines {
        bytes += line.len() as u64;
        out.write_all(line.as_bytes()).named("write", Path::new("the output"))?;
    }
    Ok(Exported { records, bytes, walked, ..Exported::default() })
}

/// Writes sorted index lines by which the wanted records are found under other URLs, those that
/// `aliases` names for a target URI: as pywb reads them, beside the index of the records.
///
/// # Errors
/// What the operating system refused.
pub fn export_aliases(
    dir: &Path,
    selection: &Selection,
    aliases: &mut dyn FnMut(&str) -> Vec<String>,
    out: &mut dyn Write,
) -> Result<Exported, ArchiveError> {
    let mut lines = Vec::new();
    let walked = walk(dir, selection, 0, |found, _| {
        lines.extend(aliases(found.head.uri()).iter().map(|url| found.cdxj_line_as(url)));
        Ok(())
    })?;
    write_sorted(lines, walked, out)
}

/// Writes one JSON object a line for each wanted record: where and when, what the server said, and
/// up to `text_max` bytes of the payload as text, where it is text. No text is written for 0.
///
/// # Errors
/// What the operating system refused.
pub fn export_jsonl(
    dir: &Path,
    selection: &Selection,
    text_max: usize,
    out: &mut dyn Write,
) -> Result<Exported, ArchiveError> {
    let mut exported = Exported::default();
    // A compressed payload is hardly ever longer than its text, a head hardly ever so long.
    let block_max = if text_max == 0 { 0 } else { text_max.saturating_add(256 * 1024) };
    let walked = walk(dir, selection, block_max, |found, block| {
        let mut line = json_of(found, block, text_max).to_string();
        line.push('\n');
        exported.records += 1;
        exported.bytes += line.len() as u64;
        out.write_all(line.as_bytes()).named("write", Path::new("the output"))
    })?;
    Ok(Exported { walked, ..exported })
}

/// Fields of a record that are passed on, and their names in JSON.
const PASSED_ON: [(&str, &str); 8] = [
    ("WARC-Type", "type"),
    ("WARC-Date", "date"),
    ("WARC-Payload-Digest", "digest"),
    ("WARC-IP-Address", "ip"),
    ("WARC-Protocol", "protocol"),
    ("WARC-Truncated", "truncated"),
    ("WARC-Refers-To-Target-URI", "revisit_of"),
    ("WARC-Record-ID", "record_id"),
];

fn json_of(found: &Found, block: &[u8], text_max: usize) -> Value {
    let mut json = Map::new();
    json.insert("url".to_owned(), found.head.uri().into());
    for (field, name) in PASSED_ON {
        if let Some(value) = found.head.get(field) {
            json.insert(name.to_owned(), value.into());
        }
    }
    let status = found.status.as_deref().and_then(|status| status.parse::<u16>().ok());
    json.insert("status".to_owned(), status.into());
    json.insert("mime".to_owned(), found.mime.as_str().into());
    json.insert("file".to_owned(), found.at.file.as_str().into());
    json.insert("offset".to_owned(), found.at.offset.into());
    json.insert("length".to_owned(), found.at.length.into());
    for name in USAGE_HEADERS {
        // Fields of one name are one list (RFC 9110 §5.3).
        let values: Vec<String> = found.http_headers(name).collect();
        if !values.is_empty() {
            json.insert(name.to_owned(), values.join(", ").into());
        }
    }
    if text_max > 0 && is_text(&found.content_type()) && found.head.kind() != "revisit" {
        json.insert("text".to_owned(), text_of(found, block, text_max).into());
    }
    Value::Object(json)
}

fn is_text(mime: &str) -> bool {
    let mime = mime.to_ascii_lowercase();
    let named = ["json", "xml", "javascript", "ecmascript", "yaml"];
    mime.starts_with("text/") || named.iter().any(|part| mime.contains(part))
}

/// Reads the payload as text: byte order mark first, then the header's word, then a guess.
fn text_of(found: &Found, block: &[u8], text_max: usize) -> String {
    let bytes = found.decoded(block, text_max);
    let declared = found.content_type().split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let label = value.trim().trim_matches('"');
        let is_charset = name.trim().eq_ignore_ascii_case("charset");
        encoding_rs::Encoding::for_label(label.as_bytes()).filter(|_| is_charset)
    });
    let guess = || {
        let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Deny);
        detector.feed(&bytes, true);
        detector.guess(None, chardetng::Utf8Detection::Allow)
    };
    declared.unwrap_or_else(guess).decode(&bytes).0.into_owned()
}
