//! Index files: made line by line while a WARC grows, sorted when it is finished, rebuilt from the
//! records where they are lost.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs;
use std::io::{self, BufRead, Seek as _, Write};
use std::path::Path;

use super::cdxj::{self, Entry, Source};
use super::error::Named;
use super::files::{Listed, Name, sync_dir};
use super::reader::{Damage, DamageKind, Extent, Head, Reader, resync};
use super::{ArchiveError, http};

/// The start of a block that is kept to find an HTTP head in.
const HTTP_HEAD_MAX: usize = 256 * 1024;

/// Collects what an index line needs while a record streams by.
#[derive(Default)]
pub(super) struct HeadKeeper(Vec<u8>);

impl HeadKeeper {
    pub(super) fn push(&mut self, head: &Head, piece: &[u8]) {
        if head.is_http() {
            let take = piece.len().min(HTTP_HEAD_MAX - self.0.len());
            self.0.extend_from_slice(&piece[..take]);
        }
    }

    /// Returns the HTTP head, or nothing.
    pub(super) fn http_head(&self) -> &[u8] {
        http::head_length(&self.0).map_or(&self.0[..], |length| &self.0[..length])
    }
}

/// Returns the index entry of a record that was read.
pub(super) fn entry_of(head: &Head, http_head: &[u8]) -> Option<Entry> {
    Entry::of(&Source {
        kind: head.kind(),
        uri: head.uri(),
        date: head.get("WARC-Date").unwrap_or_default(),
        content_type: head.get("Content-Type").unwrap_or_default(),
        payload_digest: head.get("WARC-Payload-Digest"),
        http_head,
    })
}

/// What a look through the records of a file found.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Offset behind the last whole record.
    pub(super) end: u64,
    /// Whole records.
    pub(super) records: u64,
    /// Their index lines, in the order of the file.
    pub(super) lines: Vec<String>,
    /// Damage with whole records behind it; at most a thousand are named.
    pub(super) damages: Vec<Damage>,
}

/// Looks through the records from `from` on, a record boundary, stepping over damage.
pub(super) fn scan(path: &Path, from: u64, filename: &str) -> Result<Scan, ArchiveError> {
    let mut lines = Vec::new();
    let scan = scan_with(path, from, filename, |line| {
        lines.push(line);
        Ok(())
    })?;
    Ok(Scan { lines, ..scan })
}

/// Does the same, but passes the lines on instead of keeping them.
pub(super) fn scan_with(
    path: &Path,
    from: u64,
    filename: &str,
    mut each: impl FnMut(String) -> Result<(), ArchiveError>,
) -> Result<Scan, ArchiveError> {
    let mut reader = Reader::open_at(path, from).named("read", path)?;
    let mut scan = Scan { end: from, ..Scan::default() };
    loop {
        let mut keeper = HeadKeeper::default();
        match reader.next_with(|head, piece| keeper.push(head, piece)) {
            None => return Ok(scan),
            Some(Ok((head, Extent { offset, length, .. }))) => {
                scan.end = offset + length;
                scan.records += 1;
                let entry = entry_of(&head, keeper.http_head());
                let line = entry.map(|entry| entry.line(length, offset, filename));
                line.map_or(Ok(()), &mut each)?;
            }
            Some(Err(damage)) => match behind(path, &damage)? {
                None => return Ok(scan),
                Some((_, next)) => {
                    reader = next;
                    if scan.damages.len() < DAMAGES_MAX {
                        scan.damages.push(damage);
                    }
                }
            },
        }
    }
}

/// Damages that are named one by one; a file of nothing else would fill the memory.
pub(super) const DAMAGES_MAX: usize = 1000;

/// Returns the next whole record behind damage, if there is one. A disk that cannot be read is an
/// error and no damage: nothing may be cut because of it.
pub(super) fn behind(
    path: &Path,
    damage: &Damage,
) -> Result<Option<(u64, Reader<fs::File>)>, ArchiveError> {
    if let DamageKind::Read(why) = &damage.kind {
        return Err(ArchiveError::io("read", path, io::Error::other(why.clone())));
    }
    let file = fs::File::open(path).named("read", path)?;
    resync(file, damage).named("read", path)
}

/// Makes the growing index of a file agree with the file, of which every record is whole.
///
/// Lines that are there are kept; those of records behind `end` go, those that are missing come
/// from the records themselves. Returns the length of the index in bytes.
pub(super) fn restore(dir: &Path, name: &Name, warc: &Path, end: u64) -> Result<u64, ArchiveError> {
    let growing = dir.join(name.cdxj_open());
    let finished = dir.join(name.cdxj());
    let old = [&growing, &finished].into_iter().find(|path| path.exists());
    let known_to = match old {
        Some(old) => known_lines(old, end, |_| Ok(()))?,
        None => None,
    };
    let mut index_end = 0;
    replace_with(&growing, |out| {
        let mut put = |line: &str| {
            index_end += line.len() as u64;
            out.write_all(line.as_bytes()).named("write", &growing)
        };
        if let Some(old) = old.filter(|_| known_to.is_some()) {
            known_lines(old, end, &mut put)?;
        }
        let from = known_to.unwrap_or_default();
        scan_with(warc, from, &name.warc(), |line| put(&line)).map(drop)
    })?;
    Ok(index_end)
}

/// Longest line of an index that is read; a URL takes but some kilobytes of it.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Passes the lines of an index whose records lie before `end` to `each`; returns where the last of
/// these records ends. `None` if there is a line that cannot be read: it hides others, so that only
/// the records tell.
fn known_lines(
    path: &Path,
    end: u64,
    mut each: impl FnMut(&str) -> Result<(), ArchiveError>,
) -> Result<Option<u64>, ArchiveError> {
    let mut source = io::BufReader::new(fs::File::open(path).named("read", path)?);
    let (mut known_to, mut line) = (0, Vec::new());
    loop {
        line.clear();
        let mut bounded = io::Read::take(&mut source, LINE_BYTES_MAX);
        if bounded.read_until(b'\n', &mut line).named("read", path)? == 0 {
            return Ok(Some(known_to));
        }
        let text = String::from_utf8_lossy(&line);
        let place = cdxj::place(text.trim_end()).filter(|_| text.ends_with('\n'));
        let Some(place) = place else { return Ok(None) };
        let behind = place.offset.saturating_add(place.length);
        if behind <= end {
            known_to = known_to.max(behind);
            each(&text)?;
        }
    }
}

/// Writes the finished, sorted index of a file from its growing one, in bounded memory: the index
/// of a file of small records is larger than all else that a crawl holds.
pub(super) fn finish(dir: &Path, name: &Name) -> Result<(), ArchiveError> {
    let growing = dir.join(name.cdxj_open());
    let source = match fs::File::open(&growing) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(ArchiveError::io("read", &growing, error)),
    };
    let length = source.metadata().named("read", &growing)?.len();
    // As few runs as there may be files open, each as small as that allows.
    let run = RUN_BYTES.max(usize::try_from(length / RUNS_MAX).unwrap_or(usize::MAX));
    let finished = dir.join(name.cdxj());
    replace_with(&finished, |out| {
        let sorted = sort_lines(io::BufReader::new(source), run, || scratch(&growing), out);
        sorted.named("write", &finished)
    })
}

/// Bytes of lines that are sorted in memory at a time.
const RUN_BYTES: usize = 8 << 20;

/// Sorted runs of one index that are merged.
const RUNS_MAX: u64 = 64;

/// Sorts lines by bytes: runs of about `run_bytes` in memory, then all of them from `scratch`
/// files.
fn sort_lines(
    mut source: impl BufRead,
    run_bytes: usize,
    scratch: impl Fn() -> io::Result<fs::File>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut runs = Vec::new();
    let mut lines = Vec::new();
    loop {
        lines.clear();
        while lines.len() < run_bytes && source.read_until(b'\n', &mut lines)? > 0 {}
        if lines.last().is_some_and(|last| *last != b'\n') {
            lines.push(b'\n');
        }
        let mut sorted: Vec<&[u8]> = lines.split_inclusive(|byte| *byte == b'\n').collect();
        sorted.sort_unstable();
        if lines.len() < run_bytes && runs.is_empty() {
            return sorted.iter().try_for_each(|line| out.write_all(line));
        }
        if lines.is_empty() {
            return merge(runs, out);
        }
        let mut run = io::BufWriter::new(scratch()?);
        sorted.iter().try_for_each(|line| run.write_all(line))?;
        let mut run = run.into_inner()?;
        run.seek(io::SeekFrom::Start(0))?;
        runs.push(io::BufReader::new(run));
    }
}

fn merge(mut runs: Vec<impl BufRead>, out: &mut impl Write) -> io::Result<()> {
    let mut least = BinaryHeap::new();
    for (at, run) in runs.iter_mut().enumerate() {
        least.extend(next_line(run)?.map(|line| Reverse((line, at))));
    }
    while let Some(Reverse((line, at))) = least.pop() {
        out.write_all(&line)?;
        least.extend(next_line(&mut runs[at])?.map(|line| Reverse((line, at))));
    }
    Ok(())
}

fn next_line(run: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    let read = run.read_until(b'\n', &mut line)?;
    Ok((read > 0).then_some(line))
}

/// Makes a file that is gone when it is closed, also by a crash.
fn scratch(beside: &Path) -> io::Result<fs::File> {
    let mut path = beside.as_os_str().to_owned();
    path.push(".run");
    let mut options = fs::File::options();
    let file = options.read(true).write(true).create(true).truncate(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// Writes the finished index of a file from sorted lines.
pub(super) fn write(dir: &Path, name: &Name, lines: &[String]) -> Result<(), ArchiveError> {
    replace_with_lines(&dir.join(name.cdxj()), lines)
}

/// Which finished files of an archive have an index beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexed {
    /// All, by the settings of the crawl: the only one may be missing as well.
    All,
    /// All, if any has one; an archive without any was made so.
    IfAny,
}

/// Returns true if the files of a directory are to have indexes.
pub(super) fn is_kept(dir: &Path, files: &[Listed], indexed: Indexed) -> bool {
    let has_index = |name: Name| dir.join(name.cdxj()).exists();
    indexed == Indexed::All
        || files.iter().any(|listed| Name::parse(&listed.file).is_some_and(has_index))
}

/// Returns true if an index is there and holds these lines, in this order, and nothing else.
pub(super) fn is_made_of(path: &Path, lines: &[String]) -> Result<bool, ArchiveError> {
    let mut index = match fs::File::open(path) {
        Ok(file) => io::BufReader::new(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(ArchiveError::io("read", path, error)),
    };
    let mut have = Vec::new();
    for line in lines {
        have.resize(line.len(), 0);
        match io::Read::read_exact(&mut index, &mut have) {
            Ok(()) if have == line.as_bytes() => {}
            Ok(()) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(ArchiveError::io("read", path, error)),
        }
    }
    Ok(index.fill_buf().named("read", path)?.is_empty())
}

pub(super) fn read_if_any(path: &Path) -> Result<Option<String>, ArchiveError> {
    match fs::read(path) {
        // Bytes that are no text make lines that cannot be read, and those are dealt with.
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ArchiveError::io("read", path, error)),
    }
}

fn replace_with_lines(path: &Path, lines: &[impl AsRef<str>]) -> Result<(), ArchiveError> {
    replace_with(path, |out| {
        let written = lines.iter().try_for_each(|line| out.write_all(line.as_ref().as_bytes()));
        written.named("write", path)
    })
}

/// Replaces a file as a whole: whoever looks, also after a crash, sees the old or the new one.
fn replace_with(
    path: &Path,
    write: impl FnOnce(&mut io::BufWriter<fs::File>) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = Path::new(&part);
    let written = fs::File::create(part).named("write", path).and_then(|file| {
        let mut out = io::BufWriter::new(file);
        write(&mut out)?;
        let file = out.into_inner().map_err(io::IntoInnerError::into_error);
        file.and_then(|file| file.sync_data()).named("write", path)
    });
    if let Err(error) = written {
        // What is left of it would only take room.
        let _ = fs::remove_file(part);
        return Err(error);
    }
    fs::rename(part, path).named("write", path)?;
    path.parent().map_or(Ok(()), sync_dir).named("sync", path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_sorted_alike_in_one_run_and_in_many() {
        let dir = tempfile::tempdir().unwrap();
        let lines: Vec<String> = (0..3_000u64)
            .map(|n| format!("{:x} {n}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40))
            .collect();
        let mut want = lines.clone();
        want.sort_unstable();
        let text = lines.concat();
        for run in [1, 100, 7_000, text.len(), text.len() + 1] {
            for given in [text.as_str(), text.trim_end()] {
                let mut out = Vec::new();
                let made = std::cell::Cell::new(0);
                let file = || {
                    made.set(made.get() + 1);
                    scratch(&dir.path().join("growing"))
                };
                // As many files as a process may have open are not to be had here.
                let run = run.max(text.len() / 200);
                sort_lines(given.as_bytes(), run, file, &mut out).unwrap();
                assert_eq!(String::from_utf8(out).unwrap(), want.concat());
                assert_eq!(made.get() > 0, run <= text.len(), "{run} of {}", text.len());
            }
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left behind");
        let mut out = Vec::new();
        sort_lines(&b""[..], 10, || Err(io::Error::other("none is needed")), &mut out).unwrap();
        assert!(out.is_empty());
    }

    #[test]
    fn lines_are_known_up_to_an_end_and_only_if_all_can_be_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("index");
        let line = |offset: u64| {
            let rest = format!(r#""length": "10", "offset": "{offset}", "filename": "f""#);
            format!("com,example)/ 20260101000000 {{{rest}}}\n")
        };
        let known = |text: &str, end: u64| {
            fs::write(&path, text).unwrap();
            let mut kept = String::new();
            let to = known_lines(&path, end, |line| {
                kept.push_str(line);
                Ok(())
            });
            to.unwrap().map(|to| (to, kept))
        };
        let whole = line(0) + &line(10) + &line(20);
        assert_eq!(known(&whole, 30), Some((30, whole.clone())));
        assert_eq!(known(&whole, 25), Some((20, line(0) + &line(10))));
        assert_eq!(known("", 30), Some((0, String::new())));
        assert_eq!(known(whole.trim_end(), 30), None);
        assert_eq!(known(&whole.replacen("offset", "o", 1), 30), None);
        // A file without an end of line is not held as a whole.
        let endless = line(0).trim_end().to_owned() + &" ".repeat(3 << 20);
        assert_eq!(known(&endless, 30), None);
    }
}
