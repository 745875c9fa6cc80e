//! The near-duplicate index in the state: pages are added in the batch of their visit, and looked
//! for by the visits of others.

use serde::{Deserialize, Serialize};

use crate::content::near::{BandKey, BandStore, NearIndex, NearSettings, PageId, band_keys};
use crate::content::{Analysis, WideSketch};
use crate::db::families::content as contents;
use crate::db::{Batch, Db, DbError};
use crate::url::Fingerprint;

/// What is done about near-duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NearMode {
    /// Nothing.
    Off,
    /// Pages are indexed, for `crawler dups`.
    Index,
    /// Pages are indexed, and each is looked up when it comes: for the crawl log, and as evidence
    /// that a host repeats itself.
    #[default]
    LookUp,
}

/// A near-duplicate of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Near {
    /// Its URL.
    pub url: Fingerprint,
    /// Estimated resemblance.
    pub resemblance: f64,
}

/// Returns the number of a page in the index.
pub fn page_id(url: Fingerprint) -> PageId {
    url.short()
}

/// Returns the stored sketch of a page of the index.
///
/// # Errors
/// Returns what the database says.
pub fn stored_sketch(db: &Db, page: PageId) -> Result<Option<WideSketch>, DbError> {
    let found = contents::sketch(db, page)?;
    Ok(found.and_then(|(_, bytes)| bytes.try_into().ok()).map(WideSketch::from_bytes))
}

/// Returns the page that is most like this one, if any is near enough.
///
/// # Errors
/// Returns what the database says.
pub(super) fn nearest(
    db: &Db,
    settings: &NearSettings,
    own: Fingerprint,
    analysis: &Analysis,
) -> Result<Option<Near>, DbError> {
    let Some(sketch) = &analysis.wide else { return Ok(None) };
    alike(db, settings, own, sketch)
}

/// Returns the page of the index whose sketch is most like this one, if any is near enough; `own`
/// is the page that asks.
///
/// # Errors
/// Returns what the database says.
pub fn alike(
    db: &Db,
    settings: &NearSettings,
    own: Fingerprint,
    sketch: &WideSketch,
) -> Result<Option<Near>, DbError> {
    let store = StoredBands { db, url: own, batch: Batch::default() };
    for (page, resemblance) in NearIndex::new(settings.clone(), store).find(sketch)? {
        if let Some((url, _)) = contents::sketch(db, page)?
            && url != own
        {
            return Ok(Some(Near { url, resemblance }));
        }
    }
    Ok(None)
}

/// Adds a page to the index, unless it is thin.
///
/// # Errors
/// Returns what the database says.
pub(super) fn add(
    db: &Db,
    batch: &mut Batch,
    settings: &NearSettings,
    url: Fingerprint,
    analysis: &Analysis,
) -> Result<(), DbError> {
    analysis.wide.as_ref().map_or(Ok(()), |sketch| put(db, batch, settings, url, sketch))
}

/// Adds the sketch of a page to the index.
///
/// # Errors
/// Returns what the database says.
pub fn put(
    db: &Db,
    batch: &mut Batch,
    settings: &NearSettings,
    url: Fingerprint,
    sketch: &WideSketch,
) -> Result<(), DbError> {
    let mut store = StoredBands { db, url, batch: std::mem::take(batch) };
    let put = store.put(page_id(url), sketch, &band_keys(sketch, settings));
    *batch = store.batch;
    put
}

/// The index, with the batch that takes what is added under one URL.
struct StoredBands<'d> {
    db: &'d Db,
    url: Fingerprint,
    batch: Batch,
}

impl BandStore for StoredBands<'_> {
    type Error = DbError;

    fn put(&mut self, page: PageId, sketch: &WideSketch, keys: &[BandKey]) -> Result<(), DbError> {
        keys.iter().for_each(|key| contents::put_band(&mut self.batch, self.db, key.0, page));
        contents::put_sketch(&mut self.batch, self.db, page, self.url, sketch.bytes());
        Ok(())
    }

    fn get(&self, keys: &[BandKey], limit: usize, out: &mut Vec<PageId>) -> Result<(), DbError> {
        let bands: Vec<u64> = keys.iter().map(|key| key.0).collect();
        contents::bands(self.db, &bands, limit, out)
    }

    fn sketch(&self, page: PageId) -> Result<Option<WideSketch>, DbError> {
        stored_sketch(self.db, page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::near::MemoryBands;
    use crate::content::sketch;
    use crate::db::MemoryEnv;

    /// The sketch of a text of 200 shingles, `changed` of them its own.
    fn text(base: u64, own: u64, changed: u64) -> WideSketch {
        let shingle = |at: u64| match at < changed {
            true => xxhash_rust::xxh3::xxh3_64(&(own << 32 | at).to_be_bytes()),
            false => xxhash_rust::xxh3::xxh3_64(&(base << 8 | at).to_be_bytes()),
        };
        sketch(&(0..200).map(shingle).collect::<Vec<_>>()).unwrap().1
    }

    #[test]
    fn the_index_of_the_state_answers_as_the_one_in_memory() {
        let env = MemoryEnv::new().unwrap();
        let mut db = Db::open_in_memory("/state".as_ref(), &Default::default(), &env).unwrap();
        let settings = NearSettings::default();
        let bands = MemoryBands::new(40_000, &settings);
        let mut memory = NearIndex::new(settings.clone(), bands);
        let (mut found, mut pages) = (0, 0u64);
        for base in 0..1000 {
            // A third of the texts comes again twice, more and more changed: at the end out of
            // reach.
            for version in 0..if base % 3 == 0 { 3 } else { 1 } {
                let sketch = text(base, pages + 1, version * base / 20);
                let url = Fingerprint::of(&format!("http://a.test/{pages}"));
                let stored = alike(&db, &settings, url, &sketch).unwrap();
                let Ok(held) = memory.find(&sketch);
                let stored = stored.map(|near| (page_id(near.url), near.resemblance));
                assert_eq!(stored, held.first().copied(), "version {version} of {base}");
                found += u64::from(stored.is_some());
                let mut batch = Batch::default();
                put(&db, &mut batch, &settings, url, &sketch).unwrap();
                db.commit(batch).unwrap();
                let Ok(()) = memory.add(page_id(url), &sketch);
                pages += 1;
            }
            if base == 500 {
                // What is opened again stands in files.
                drop(db);
                db = Db::open_in_memory("/state".as_ref(), &Default::default(), &env).unwrap();
            }
        }
        assert!((300..667).contains(&found), "{found}");
    }
}
