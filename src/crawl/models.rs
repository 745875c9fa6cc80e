//! What repeats on the pages of each site, in memory for the sites whose turn it is.
//!
//! A model is a row of the state, written in the batch of the visit that gave it something new to
//! tell, and when it has to leave memory: a crawl of more sites than fit would otherwise begin
//! every sample again and never know what repeats.

use std::sync::Arc;

use lru::LruCache;

use crate::content::{Analysis, Boilerplate, Settings, SiteModel};
use crate::db::families::dust as rows;
use crate::db::{Batch, Db, DbError};
use crate::url::Site;

/// Bytes of models that are held: some 400 sites amid their samples, or thousands past them.
pub(super) const BYTES_MAX: usize = 24 << 20;

/// The models of sites that were used last.
#[derive(Debug)]
pub(super) struct Models {
    held: LruCache<Site, Held>,
    bytes: usize,
    bytes_max: usize,
}

#[derive(Debug)]
struct Held {
    model: SiteModel,
    bytes: usize,
    /// It has seen pages that its row does not know of.
    is_ahead: bool,
}

impl Models {
    pub(super) fn new(bytes_max: usize) -> Self {
        Models { held: LruCache::unbounded(), bytes: 0, bytes_max }
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
        if let Some(held) = self.held.get(site) {
            return Ok(held.model.boilerplate());
        }
        let stored = rows::get(db, rows::Kind::Model, site.as_str())?;
        let model = stored.and_then(|bytes| SiteModel::decode(&bytes)).unwrap_or_default();
        let boilerplate = model.boilerplate();
        self.hold(db, site, model, false)?;
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
        let Some(Held { mut model, bytes, .. }) = self.held.pop(site) else { return Ok(()) };
        self.bytes -= bytes;
        let is_news = model.observe(page, settings);
        if is_news {
            rows::put(batch, db, rows::Kind::Model, site.as_str(), &model.encode(true));
        }
        self.hold(db, site, model, !is_news)
    }

    /// Holds a model; others make room for it, the least recently used first.
    fn hold(
        &mut self,
        db: &Db,
        site: &Site,
        model: SiteModel,
        is_ahead: bool,
    ) -> Result<(), DbError> {
        let bytes = model.memory();
        self.bytes += bytes;
        self.held.put(site.clone(), Held { model, bytes, is_ahead });
        let mut batch = Batch::default();
        while self.bytes > self.bytes_max && self.held.len() > 1 {
            let Some((site, held)) = self.held.pop_lru() else { break };
            self.bytes -= held.bytes;
            if held.is_ahead {
                let bytes = held.model.encode(true);
                rows::put(&mut batch, db, rows::Kind::Model, site.as_str(), &bytes);
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
        let page = Page { blocks: &blocks, links: 0 };
        Content::new(Settings::default()).analyse(&page, known)
    }

    /// Returns what is known of each of three sites after `pages` pages of each, in turn.
    fn learned(bytes_max: usize, pages: u64) -> Vec<bool> {
        let env = MemoryEnv::new().unwrap();
        let db = Db::open_in_memory(Path::new("/state"), &Default::default(), &env).unwrap();
        let mut models = Models::new(bytes_max);
        let sites = ["a.test", "b.test", "c.test"].map(Site::new);
        for n in 0..pages {
            for site in &sites {
                let words: Vec<String> = (0..40).map(|i| format!("w{}", n * 40 + i)).collect();
                let mut batch = Batch::default();
                let known = models.boilerplate(&db, site).unwrap();
                let page = analysis(&words.join(" "), &known);
                models.observe(&db, &mut batch, site, &page, &Settings::default()).unwrap();
                db.commit(batch).unwrap();
            }
            assert!(models.bytes <= bytes_max || models.held.len() == 1);
        }
        sites.iter().map(|site| models.boilerplate(&db, site).unwrap().version() > 0).collect()
    }

    #[test]
    fn sites_are_learned_however_few_fit_into_memory() {
        let pages = u64::from(Settings::default().sample_pages_min);
        assert_eq!(learned(BYTES_MAX, pages + 2), [true; 3]);
        assert_eq!(learned(1, pages + 2), [true; 3]);
        assert_eq!(learned(1, pages - 2), [false; 3]);
    }
}
