//! Finds the records whose payload revisits repeat: a revisit has none of its own.
//!
//! A revisit names its original by its record id, by URL and date, or by nothing but the digest of
//! the payload. Of the archive only heads are read, once, and once more where there are revisits;
//! an original need not be wanted itself, nor stand before its revisits. Memory is bounded by
//! [`NAMES_MAX`].

use std::collections::HashMap;
use std::path::Path;

use super::PAYLOAD_MAX;
use crate::archive::{ArchiveError, Head, Record, RecordAt, Selection, read_at, walk};
use crate::url::Fingerprint;

/// Names of originals that are remembered, about 60 bytes each; what repeats a later one is without
/// text.
const NAMES_MAX: usize = 5_000_000;

/// Where the originals of the wanted revisits are.
#[derive(Debug, Default)]
pub(super) struct Originals {
    files: Vec<String>,
    places: HashMap<Fingerprint, Option<Place>>,
}

/// Where a record is; the file by its number.
#[derive(Clone, Copy, Debug)]
struct Place {
    file: usize,
    offset: u64,
    length: u64,
}

impl Originals {
    /// Finds those of the revisits that are wanted.
    ///
    /// # Errors
    /// What the operating system refused.
    pub(super) fn find(dir: &Path, selection: &Selection) -> Result<Originals, ArchiveError> {
        let mut files: Vec<String> = Vec::new();
        let mut places: HashMap<Fingerprint, Option<Place>> = HashMap::new();
        walk(dir, selection, 0, |found, _| {
            if found.head.kind() == "revisit" && places.len() < NAMES_MAX {
                places.extend(called(&found.head).into_iter().flatten().map(|name| (name, None)));
            }
            Ok(())
        })?;
        if places.is_empty() {
            return Ok(Originals::default());
        }
        walk(dir, &Selection::default(), 0, |found, _| {
            if found.head.kind() == "revisit" {
                return Ok(());
            }
            if files.last() != Some(&found.at.file) {
                files.push(found.at.file.clone());
            }
            let file = files.len() - 1;
            for name in names(&found.head).into_iter().flatten() {
                if let Some(place) = places.get_mut(&name) {
                    let (offset, length) = (found.at.offset, found.at.length);
                    place.get_or_insert(Place { file, offset, length });
                }
            }
            Ok(())
        })?;
        Ok(Originals { files, places })
    }

    /// Reads the original of a revisit; `None` if it is not in the archive, or damaged.
    ///
    /// # Errors
    /// What the operating system refused.
    pub(super) fn read(&self, dir: &Path, revisit: &Head) -> Result<Option<Record>, ArchiveError> {
        let placed = |name: Fingerprint| {
            let place = self.places.get(&name).copied().flatten();
            place.map(|place| (name, place))
        };
        let Some((name, place)) = called(revisit).into_iter().flatten().find_map(placed) else {
            return Ok(None);
        };
        let Place { file, offset, length } = place;
        let at = RecordAt { file: self.files[file].clone(), offset, length };
        match read_at(dir, &at, PAYLOAD_MAX) {
            // Of records that share a gzip member, only the first one is found by its offset.
            Ok(record) => Ok(names(&record.head).contains(&Some(name)).then_some(record)),
            Err(ArchiveError::Missing { .. } | ArchiveError::Damaged { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns what a revisit calls its original, the surest name first.
fn called(revisit: &Head) -> [Option<Fingerprint>; 3] {
    let uri = revisit.get("WARC-Refers-To-Target-URI").map(|uri| uri.trim_matches(['<', '>']));
    let capture = uri.zip(revisit.get("WARC-Refers-To-Date")).map(capture);
    [revisit.get("WARC-Refers-To").map(Fingerprint::of), capture, digest(revisit)]
}

/// Returns what revisits may call a record.
fn names(head: &Head) -> [Option<Fingerprint>; 3] {
    let capture = head.get("WARC-Date").map(|date| capture((head.uri(), date)));
    [head.get("WARC-Record-ID").map(Fingerprint::of), capture, digest(head)]
}

fn capture((uri, date): (&str, &str)) -> Fingerprint {
    Fingerprint::of(&format!("{date} {uri}"))
}

fn digest(head: &Head) -> Option<Fingerprint> {
    head.get("WARC-Payload-Digest").map(Fingerprint::of)
}
