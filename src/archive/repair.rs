//! Mending what can be mended without guessing: torn tails are cut, indexes are made again.
//!
//! Damage with whole records behind it stays as it is: cutting it out would move every record
//! behind it, and the state knows where they are.

use std::path::Path;

use super::disk::{FileSystem, Medium};
use super::error::Named;
use super::files::{self, Listed, Name};
use super::index::{DAMAGES_MAX, Indexed};
use super::open::{Opened, cut_to, mend};
use super::{ArchiveError, Cut, Damage, index};

/// What was mended, and what could not be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repaired {
    /// Torn tails that were cut.
    pub cuts: Vec<Cut>,
    /// Open files that were finished.
    pub finished: Vec<String>,
    /// Files whose index was made again.
    pub indexed: Vec<String>,
    /// Damage with whole records behind it: the file and what is wrong with it.
    pub left: Vec<(String, Damage)>,
}

/// Mends an archive that no crawl is writing to; what is left besides, such as a wrong digest,
/// [`super::verify`] finds afterwards. With `with_index`, each file gets its index anew,
/// else each whose index is missing or not that of its records, where `indexed` says that it has
/// one.
///
/// # Errors
/// What the operating system refused; an archive in use is refused as well.
pub fn repair(dir: &Path, with_index: bool, indexed: Indexed) -> Result<Repaired, ArchiveError> {
    let mut repaired = Repaired::default();
    let files = files::list(dir).named("list", dir)?;
    let indexes = match with_index {
        true => Indexes::AllAnew,
        false if index::is_kept(dir, &files, indexed) => Indexes::Mended,
        false => Indexes::None,
    };
    for listed in files {
        // Only to meet the lock of a crawl that is writing.
        drop(FileSystem.open(&listed.path).named("open", &listed.path)?);
        repair_file(dir, &listed, indexes, &mut repaired)?;
    }
    Ok(repaired)
}

/// Which indexes are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Indexes {
    AllAnew,
    Mended,
    None,
}

fn repair_file(
    dir: &Path,
    listed: &Listed,
    indexes: Indexes,
    repaired: &mut Repaired,
) -> Result<(), ArchiveError> {
    let mut scan = index::scan(&listed.path, 0, &listed.file)?;
    let mut opened = Opened::default();
    if scan.records > 0 {
        cut_to(&listed.path, &listed.file, scan.end, 0, &mut opened)?;
    }
    let name = Name::parse(&listed.file);
    if let Some(name) = name.as_ref().filter(|_| listed.open) {
        mend(dir, name, listed, &mut opened)?;
    }
    repaired.cuts.append(&mut opened.cuts);
    repaired.finished.append(&mut opened.finished);
    let room = DAMAGES_MAX.saturating_sub(repaired.left.len());
    let left = scan.damages.into_iter().map(|damage| (listed.file.clone(), damage));
    repaired.left.extend(left.take(room));
    let Some(name) = name.filter(|name| dir.join(name.warc()).exists()) else { return Ok(()) };
    scan.lines.sort_unstable();
    let is_wanted = match indexes {
        Indexes::AllAnew => true,
        Indexes::Mended => !index::is_made_of(&dir.join(name.cdxj()), &scan.lines)?,
        Indexes::None => false,
    };
    if is_wanted {
        index::write(dir, &name, &scan.lines)?;
        repaired.indexed.push(name.warc());
    }
    Ok(())
}
