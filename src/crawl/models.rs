//! What repeats on the pages of each site, in memory for the sites whose turn it is.
//!
//! What was published of a site is small, and a row of the state; a sample in progress is large,
//! and only in memory. So as many sites as there is room for take their samples at once, each to
//! its end, while the others wait: if samples went to disk and came back in turn, a crawl of more
//! sites than fit would move one with every page.

use std::sync::Arc;

use lru::LruCache;

use crate::content::{Analysis, Boilerplate, Room, Settings, SiteModel};
use crate::db::families::dust as rows;
use crate::db::{Batch, Db, DbError};
use crate::url::Site;

/// Sites that take a sample at once, of nine bytes for each of [`Settings::sample_windows_max`] and
/// for each window of a page: 8 MB where pages have some thousand words, and 18 MB at most.
pub(super) const SAMPLES_MAX: usize = 24;

/// Bytes of models that take no sample: what is published of some 500 sites, or the names of many
/// thousands that wait.
const RESTING_MAX: usize = 6 << 20;

/// A site that brought none of so many pages of all sites makes room for others.
const IDLE_PAGES: u64 = 4096;

/// The models of sites that were used last.
#[derive(Debug)]
pub(super) struct Models {
    sampling: LruCache<Site, Sampling>,
    samples_max: usize,
    resting: LruCache<Site, Resting>,
    resting_bytes: usize,
    /// Pages of all sites.
    seen: u64,
    /// `seen` when a site last had to wait for room.
    waited: Option<u64>,
}

#[derive(Debug)]
struct Sampling {
    model: SiteModel,
    /// `seen` at its last page.
    used: u64,
}

#[derive(Debug)]
struct Resting {
    model: SiteModel,
    bytes: usize,
    /// It has seen pages that its row does not know of.
    is_ahead: bool,
}

impl Models {
    pub(super) fn new(samples_max: usize) -> Self {
        Models {
            sampling: LruCache::unbounded(),
            samples_max,
            resting: LruCache::unbounded(),
            resting_bytes: 0,
            seen: 0,
            waited: None,
        }
    }

    /// Returns what repeats on the pages of a site.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn boilerplate(
        &mut self,
        db: &Db,
        site: &Site,
    ) -> Result<Arc<Boilerplate>, DbError> {
        if let Some(held) = self.sampling.get(site) {
            return Ok(held.model.boilerplate());
        }
        if let Some(held) = self.resting.get(site) {
            return Ok(held.model.boilerplate());
        }
        let stored = rows::get(db, rows::Kind::Model, site.as_str())?;
        let model = stored.and_then(|bytes| SiteModel::decode(&bytes)).unwrap_or_default();
        if model.is_sampling() && self.has_room(db)? {
            let boilerplate = model.boilerplate();
            self.sampling.put(site.clone(), Sampling { model, used: self.seen });
            return Ok(boilerplate);
        }
        let model = model.rest();
        let boilerplate = model.boilerplate();
        self.let_rest(db, site, model, false)?;
        Ok(boilerplate)
    }

    /// Lets the model of a site learn from a page.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn observe(
        &mut self,
        db: &Db,
        batch: &mut Batch,
        site: &Site,
        page: &Analysis,
        settings: &Settings,
    ) -> Result<(), DbError> {
        self.boilerplate(db, site)?;
        self.seen += 1;
        let (mut model, room) = match self.sampling.pop(site) {
            Some(held) => (held.model, self.room()),
            None => {
                let Some(held) = self.resting.pop(site) else { return Ok(()) };
                self.resting_bytes -= held.bytes;
                let may_begin = held.model.is_due() && self.has_room(db)?;
                (held.model, if may_begin { self.room() } else { Room::Full })
            }
        };
        let is_news = model.observe(page, settings, room);
        if is_news {
            rows::put(batch, db, rows::Kind::Model, site.as_str(), &model.encode());
        }
        if model.is_sampling() {
            self.sampling.put(site.clone(), Sampling { model, used: self.seen });
            return Ok(());
        }
        self.let_rest(db, site, model, !is_news)
    }

    /// Whether others wait for the room of a sample.
    fn room(&self) -> Room {
        match self.waited {
            Some(at) if self.seen - at < IDLE_PAGES => Room::Short,
            _ => Room::Ample,
        }
    }

    /// Whether one more sample fits; where none does, a site that is idle makes room.
    fn has_room(&mut self, db: &Db) -> Result<bool, DbError> {
        if self.sampling.len() < self.samples_max {
            return Ok(true);
        }
        let seen = self.seen;
        let is_idle = |held: &Sampling| seen - held.used >= IDLE_PAGES;
        if self.sampling.peek_lru().is_some_and(|(_, held)| is_idle(held))
            && let Some((site, held)) = self.sampling.pop_lru()
        {
            self.let_rest(db, &site, held.model.rest(), true)?;
            return Ok(true);
        }
        self.waited = Some(seen);
        Ok(false)
    }

    /// Holds a model without a sample; others make room for it, the least recently used first.
    fn let_rest(
        &mut self,
        db: &Db,
        site: &Site,
        model: SiteModel,
        is_ahead: bool,
    ) -> Result<(), DbError> {
        let bytes = model.memory() + site.as_str().len();
        self.resting_bytes += bytes;
        self.resting.put(site.clone(), Resting { model, bytes, is_ahead });
        let mut batch = Batch::default();
        while self.resting_bytes > RESTING_MAX && self.resting.len() > 1 {
            let Some((site, held)) = self.resting.pop_lru() else { break };
            self.resting_bytes -= held.bytes;
            if held.is_ahead {
                rows::put(&mut batch, db, rows::Kind::Model, site.as_str(), &held.model.encode());
            }
        }
        if batch.is_empty() { Ok(()) } else { db.commit(batch) }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::content::{Block, BlockKind, Content, Page, Region};
    use crate::db::MemoryEnv;

    fn analysis(text: &str, known: &Boilerplate) -> Analysis {
        let kind = BlockKind::Paragraph;
        let block = |text| Block { text, link_chars: 0, path: 1, kind, region: Region::None };
        let frame = "the same words stand at the head of every single page of this site here";
        let blocks = [block(frame), block(text)];
        let page = Page { blocks: &blocks, ..Page::default() };
        Content::new(Settings::default()).analyse(&page, known)
    }

    /// Lets three sites bring pages in turn, as many as each is given, `samples` of them sampled at
    /// once; returns which have something published.
    fn learned(samples: usize, pages: [u64; 3]) -> [bool; 3] {
        let env = MemoryEnv::new().unwrap();
        let db = Db::open_in_memory(Path::new("/state"), &Default::default(), &env).unwrap();
        let mut models = Models::new(samples);
        let sites = ["a.test", "b.test", "c.test"].map(Site::new);
        for n in 0..pages.into_iter().max().unwrap() {
            for (site, _) in sites.iter().zip(pages).filter(|(_, pages)| n < *pages) {
                let words: Vec<String> = (0..40).map(|i| format!("w{}", n * 40 + i)).collect();
                let mut batch = Batch::default();
                let known = models.boilerplate(&db, site).unwrap();
                let page = analysis(&words.join(" "), &known);
                models.observe(&db, &mut batch, site, &page, &Settings::default()).unwrap();
                db.commit(batch).unwrap();
                assert!(models.sampling.len() <= samples);
            }
        }
        // What was published outlives the program.
        let mut models = Models::new(samples);
        sites.map(|site| !models.boilerplate(&db, &site).unwrap().is_empty())
    }

    #[test]
    fn sites_are_learned_however_few_fit_into_memory() {
        let few = u64::from(Settings::default().sample_pages_min);
        assert_eq!(learned(SAMPLES_MAX, [few + 2; 3]), [true; 3]);
        assert_eq!(learned(SAMPLES_MAX, [few - 2; 3]), [false; 3]);
        assert_eq!(learned(1, [few + 2; 3]), [true, false, false]);
        // Each ends its sample early, since the next waits.
        assert_eq!(learned(1, [6 * few + 10; 3]), [true; 3]);
        // One that brings nothing any more makes room.
        assert_eq!(learned(1, [few - 2, IDLE_PAGES + 5 * few, 0]), [false, true, false]);
    }
}
