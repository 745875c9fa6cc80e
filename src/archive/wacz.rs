//! WACZ 1.1.1: an archive with its index and list of pages in one ZIP file, for replayweb.page.
//!
//! Every entry is stored, not deflated: readers fetch single records out of it by range.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

use super::error::Named;
use super::export::{write_warc, write_whole};
use super::files::{self, Listed, Name};
use super::walk::Selection;
use super::{About, ArchiveError, Exported, Settings, index};
use crate::clock::Timestamp;

/// Lines of the index that share one gzip member, as pywb's tools have it.
const LINES_PER_MEMBER: usize = 300;

/// Packs an archive as WACZ: all its files, the whole records of those that are being written, or,
/// where something is selected, one new WARC file of the wanted records. The file must not exist.
/// What it counts as records are those that can be replayed.
///
/// # Errors
/// What the operating system refused.
pub fn export_wacz(
    dir: &Path,
    selection: &Selection,
    target: &Path,
    settings: &Settings,
    about: &About,
    now: Timestamp,
) -> Result<Exported, ArchiveError> {
    if selection.is_everything() {
        let mut warcs = Vec::new();
        for listed in files::list(dir).named("list", dir)? {
            let name = Name::parse(&listed.file).filter(|_| !listed.open);
            let index = name.map(|name| dir.join(name.cdxj()));
            let warc = Warc::of(listed, index)?;
            // Of one that was just begun there may be nothing yet.
            if warc.length > 0 || !warc.listed.open {
                warcs.push(warc);
            }
        }
        return pack(warcs, target, settings, about, now);
    }
    let file = format!("{}-selection.warc.gz", settings.prefix);
    let mut part = target.as_os_str().to_owned();
    part.push(".part.warc.gz");
    let part = PathBuf::from(part);
    let packed = write_warc(dir, selection, (&part, &file), settings, about, now);
    let packed = packed.and_then(|exported| {
        let listed = Listed { path: part.clone(), file, open: false };
        let done = pack(vec![Warc::of(listed, None)?], target, settings, about, now)?;
        Ok(Exported { records: done.records, bytes: done.bytes, ..exported })
    });
    // Its records are in the package now, or nowhere.
    let _ = fs::remove_file(&part);
    packed
}

/// A file to pack, and its index lines.
struct Warc {
    listed: Listed,
    /// Bytes of whole records.
    length: u64,
    lines: Lines,
}

enum Lines {
    /// A sorted index that stands beside the file.
    Beside(PathBuf),
    /// Sorted lines made for the purpose.
    Made(Vec<String>),
}

impl Warc {
    fn of(listed: Listed, index: Option<PathBuf>) -> Result<Self, ArchiveError> {
        if let Some(index) = index.filter(|index| index.exists()) {
            let length = fs::metadata(&listed.path).named("read", &listed.path)?.len();
            return Ok(Warc { listed, length, lines: Lines::Beside(index) });
        }
        let mut scan = index::scan(&listed.path_now(), 0, &listed.file)?;
        scan.lines.sort_unstable();
        Ok(Warc { listed, length: scan.end, lines: Lines::Made(scan.lines) })
    }

    fn lines(&self) -> Result<Box<dyn Iterator<Item = io::Result<String>> + '_>, ArchiveError> {
        Ok(match &self.lines {
            Lines::Made(lines) => Box::new(lines.iter().map(|line| Ok(line.trim_end().to_owned()))),
            Lines::Beside(path) => {
                Box::new(BufReader::new(File::open(path).named("read", path)?).lines())
            }
        })
    }
}

/// Passes the lines of all indexes to `each` in one sorted sequence, without the line ends; memory
/// holds one line of each file.
fn merged(
    warcs: &[Warc],
    mut each: impl FnMut(&str) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let mut sources = warcs.iter().map(Warc::lines).collect::<Result<Vec<_>, _>>()?;
    let mut heads = BinaryHeap::new();
    for (i, source) in sources.iter_mut().enumerate() {
        heads.extend(
            source
                .next()
                .transpose()
                .named("read", &warcs[i].listed.path)?
                .map(|line| Reverse((line, i))),
        );
    }
    while let Some(Reverse((line, i))) = heads.pop() {
        each(&line)?;
        let next = sources[i].next().transpose().named("read", &warcs[i].listed.path)?;
        heads.extend(next.map(|line| Reverse((line, i))));
    }
    Ok(())
}

/// A ZIP file in the making, which lists and digests what goes in.
struct Package<'a> {
    zip: ZipWriter<BufWriter<File>>,
    target: &'a Path,
    resources: Vec<Value>,
    bytes: u64,
}

impl Package<'_> {
    /// Begins an entry of up to 4 GiB, or of any size.
    fn begin(&mut self, path: &str, is_large: bool) -> Result<Entry<'_>, ArchiveError> {
        let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        let options = stored.large_file(is_large);
        let begun = self.zip.start_file(path, options).map_err(io::Error::from);
        begun.named("write", self.target)?;
        Ok(Entry { zip: &mut self.zip, digest: Sha256::new(), bytes: 0 })
    }

    /// Lists an entry that was written.
    fn list(&mut self, path: &str, hash: &str, bytes: u64) {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.bytes += bytes;
        self.resources.push(json!({"name": name, "path": path, "hash": hash, "bytes": bytes}));
    }

    fn add(&mut self, path: &str, contents: &[u8]) -> Result<String, ArchiveError> {
        let target = self.target;
        let mut entry = self.begin(path, false)?;
        entry.write_all(contents).named("write", target)?;
        let (hash, bytes) = entry.end();
        self.list(path, &hash, bytes);
        Ok(hash)
    }
}

struct Entry<'a> {
    zip: &'a mut ZipWriter<BufWriter<File>>,
    digest: Sha256,
    bytes: u64,
}

impl Entry<'_> {
    fn end(self) -> (String, u64) {
        let digest = data_encoding::HEXLOWER.encode(&self.digest.finalize());
        (format!("sha256:{digest}"), self.bytes)
    }
}

impl Write for Entry<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.zip.write(bytes)?;
        self.digest.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.zip.flush()
    }
}

fn pack(
    warcs: Vec<Warc>,
    target: &Path,
    settings: &Settings,
    about: &About,
    now: Timestamp,
) -> Result<Exported, ArchiveError> {
    write_whole(target, |file| pack_into(file, &warcs, target, settings, about, now))
}

fn pack_into(
    file: File,
    warcs: &[Warc],
    target: &Path,
    settings: &Settings,
    about: &About,
    now: Timestamp,
) -> Result<Exported, ArchiveError> {
    let zip = ZipWriter::new(BufWriter::new(file));
    let mut package = Package { zip, target, resources: Vec::new(), bytes: 0 };
    for warc in warcs {
        add_warc(&mut package, warc)?;
    }
    let records = add_index(&mut package, warcs)?;
    add_pages(&mut package, warcs)?;
    let title = match &settings.is_part_of {
        part if part.is_empty() => &settings.prefix,
        part => part,
    };
    let datapackage = json!({
        "profile": "data-package",
        "resources": package.resources,
        "wacz_version": "1.1.1",
        "title": title,
        "description": settings.description,
        "software": about.software,
        "created": format!("{}Z", &now.to_rfc3339()[..19]),
    });
    let datapackage = format!("{datapackage:#}");
    let hash = package.add("datapackage.json", datapackage.as_bytes())?;
    let digest = json!({"path": "datapackage.json", "hash": hash});
    package.add("datapackage-digest.json", format!("{digest:#}").as_bytes())?;
    let Package { zip, bytes, .. } = package;
    let mut file = zip.finish().map_err(io::Error::from).named("write", target)?;
    file.flush().named("write", target)?;
    Ok(Exported { records, bytes, ..Exported::default() })
}

fn add_warc(package: &mut Package<'_>, warc: &Warc) -> Result<(), ArchiveError> {
    let (path, target) = (format!("archive/{}", warc.listed.file), package.target);
    let source = warc.listed.read().named("read", &warc.listed.path)?;
    let mut entry = package.begin(&path, warc.length >= u64::from(u32::MAX))?;
    let copied = io::copy(&mut source.take(warc.length), &mut entry);
    copied.map_err(|why| ArchiveError::copy(&warc.listed.path, target, why))?;
    let (hash, bytes) = entry.end();
    package.list(&path, &hash, bytes);
    Ok(())
}

/// Adds the index in gzip members of 300 lines, and the index of those members; returns the number
/// of lines.
fn add_index(package: &mut Package<'_>, warcs: &[Warc]) -> Result<u64, ArchiveError> {
    let target = package.target;
    let mut second =
        "!meta 0 {\"format\": \"cdxj-gzip-1.0\", \"filename\": \"index.cdx.gz\"}\n".to_owned();
    let mut entry = package.begin("indexes/index.cdx.gz", true)?;
    let (mut block, mut first, mut lines, mut offset) = (Vec::new(), String::new(), 0, 0);
    let mut end_block = |block: &mut Vec<u8>, first: &str| {
        let is_empty = block.is_empty();
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
        let member = encoder.write_all(block).and_then(|()| encoder.finish())?;
        entry.write_all(&member)?;
        if !is_empty {
            let place = format!("{{\"offset\": {offset}, \"length\": {}}}", member.len());
            second.push_str(&format!("{first} {place}\n"));
        }
        offset += member.len();
        block.clear();
        io::Result::Ok(())
    };
    merged(warcs, |line| {
        if block.is_empty() {
            first = key_and_time(line).to_owned();
        }
        block.extend_from_slice(line.as_bytes());
        block.push(b'\n');
        lines += 1;
        let is_full = lines % LINES_PER_MEMBER as u64 == 0;
        if is_full { end_block(&mut block, &first).named("write", target) } else { Ok(()) }
    })?;
    if !block.is_empty() || lines == 0 {
        end_block(&mut block, &first).named("write", target)?;
    }
    let (hash, bytes) = entry.end();
    package.list("indexes/index.cdx.gz", &hash, bytes);
    package.add("indexes/index.idx", second.as_bytes())?;
    Ok(lines)
}

/// Returns what a line is found by. A key has no spaces, but may have braces.
fn key_and_time(line: &str) -> &str {
    let end = memchr::memchr_iter(b' ', line.as_bytes()).nth(1);
    end.map_or(line, |end| &line[..end])
}

/// Adds the list of pages: every HTML document that was answered with 200, also where it is a
/// revisit of one. What revisits repeat is known by hashes of digests, eight bytes for each page.
fn add_pages(package: &mut Package<'_>, warcs: &[Warc]) -> Result<(), ArchiveError> {
    let target = package.target;
    let mut entry = package.begin("pages/pages.jsonl", true)?;
    let head = json!({"format": "json-pages-1.0", "id": "pages", "title": "All pages"});
    writeln!(entry, "{head}").named("write", target)?;
    let mut known = HashSet::new();
    merged(warcs, |line| {
        known.extend(Line::of(line).filter(Line::is_page).map(|line| line.digest()));
        Ok(())
    })?;
    let mut serial = 0u64;
    merged(warcs, |line| {
        let Some(page) = page_of(line, &known, serial) else { return Ok(()) };
        serial += 1;
        writeln!(entry, "{page}").named("write", target)
    })?;
    let (hash, bytes) = entry.end();
    package.list("pages/pages.jsonl", &hash, bytes);
    Ok(())
}

/// What a line of an index says of a page.
struct Line<'l> {
    timestamp: &'l str,
    json: Value,
}

impl Line<'_> {
    fn of(line: &str) -> Option<Line<'_>> {
        let mut parts = line.splitn(3, ' ').skip(1);
        let (timestamp, json) = (parts.next()?, parts.next()?);
        let json = serde_json::from_str(json).ok()?;
        let line = Line { timestamp, json };
        line.is("status", &["200"]).then_some(line)
    }

    fn is(&self, field: &str, want: &[&str]) -> bool {
        // Names of media types are compared in any case (RFC 9110 §8.3.1).
        let is_one = |value: &str| want.iter().any(|want| value.eq_ignore_ascii_case(want));
        self.json[field].as_str().is_some_and(is_one)
    }

    fn is_page(&self) -> bool {
        self.is("mime", &["text/html", "application/xhtml+xml"])
    }

    fn digest(&self) -> u64 {
        xxhash_rust::xxh3::xxh3_64(self.json["digest"].as_str().unwrap_or_default().as_bytes())
    }
}

fn page_of(line: &str, known: &HashSet<u64>, serial: u64) -> Option<Value> {
    let line = Line::of(line)?;
    let repeats = || line.is("mime", &["warc/revisit"]) && known.contains(&line.digest());
    if !line.is_page() && !repeats() {
        return None;
    }
    let digits = |range: std::ops::Range<usize>| line.timestamp.get(range);
    let (year, month, day) = (digits(0..4)?, digits(4..6)?, digits(6..8)?);
    let (hour, minute, second) = (digits(8..10)?, digits(10..12)?, digits(12..14)?);
    let time = format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z");
    Some(json!({"id": format!("page-{serial}"), "url": line.json["url"], "ts": time}))
}
