//! Near-replicas of a crawl by their signatures: pages with nearly the same words that link to
//! pages with nearly the same words, whatever their order and whatever site they are on.
//!
//! Signatures need the whole collection, as each component is brought to [0, 1] over all pages and
//! travels along links; so they are taken of a crawl that is there, from its archive, and not of
//! pages as they come. Reads only.
//!
//! Bounded: the first [`PAGES_MAX`] pages in the order of the state, [`LINKS_MAX`] links of each
//! between them, some 300 bytes a page besides its links.
//!
//! Source: [`crate::content::signature`].

use std::collections::HashMap;

use serde::Serialize;

use crate::content::signature::{
    COMPONENTS, Signature, SignatureSettings, collisions, distance, hyperlink_map, normalized,
    project,
};
use crate::db::families::urls;
use crate::db::{Db, DbError};
use crate::frontier::UrlState;
use crate::url::{CrawlUrl, Fingerprint};

/// Pages that are compared: among more the walk in one component would take minutes.
pub const PAGES_MAX: usize = 250_000;

/// Links of a page that count, among those that lead to pages compared.
pub const LINKS_MAX: usize = 1000;

/// What signatures are made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageWords {
    /// Hashes of the words of its main text; none for a page that is no evidence.
    pub words: Vec<u64>,
    /// What it links to.
    pub links: Vec<Fingerprint>,
}

/// Two pages whose signatures collide.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplicaPair {
    /// One.
    pub a: String,
    /// The other.
    pub b: String,
    /// Largest difference of a component of their random projections, 0 to 1.
    pub words: f32,
    /// Largest difference of a component of their hyperlink maps, 0 to 1.
    pub links: f32,
}

/// The near-replicas of a crawl.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Replicas {
    /// Pages compared.
    pub pages: usize,
    /// Pages with too little text, or that the archive could not give.
    pub left_out: usize,
    /// True if there are more than [`PAGES_MAX`] pages.
    pub cut: bool,
    /// Pairs found.
    pub pairs_total: usize,
    /// Pairs, those with the most similar words first.
    pub pairs: Vec<ReplicaPair>,
}

/// Finds the near-replicas of a crawl; `read` gives what a page is made of, at most `most` pairs
/// are named.
///
/// # Errors
/// Returns what the database says, and what `read` says.
pub fn replicas<E: From<DbError>>(
    db: &Db,
    settings: &SignatureSettings,
    most: usize,
    mut read: impl FnMut(&CrawlUrl) -> Result<PageWords, E>,
) -> Result<Replicas, E> {
    let (pages, cut) = pages(db)?;
    let place: HashMap<Fingerprint, u32> =
        pages.iter().zip(0..).map(|((page, _), at)| (*page, at)).collect();
    let mut projections: Vec<Option<Signature<COMPONENTS>>> = Vec::with_capacity(pages.len());
    let mut children = Vec::with_capacity(pages.len());
    for (_, url) in &pages {
        let page = read(url)?;
        projections.push((!page.words.is_empty()).then(|| project(&page.words)));
        let links = page.links.iter().filter_map(|link| place.get(link).copied());
        children.push(links.take(LINKS_MAX).collect::<Vec<u32>>());
    }
    // Pages without words are no pages of the collection, and nobody's children.
    let mut kept = Vec::new();
    let mut number = vec![None; pages.len()];
    for (at, projection) in projections.iter().enumerate() {
        if projection.is_some() {
            number[at] = Some(kept.len() as u32);
            kept.push(at);
        }
    }
    let rp = normalized(&projections.into_iter().flatten().collect::<Vec<_>>());
    let number_of = |links: &Vec<u32>| links.iter().filter_map(|at| number[*at as usize]).collect();
    let children: Vec<Vec<u32>> = kept.iter().map(|at| number_of(&children[*at])).collect();
    let hm = hyperlink_map(&rp, &children, settings);
    let found = collisions(&rp, &hm, settings);
    let pair = |(a, b): &(u32, u32)| {
        let (a, b) = (*a as usize, *b as usize);
        let name = |at: usize| pages[kept[at]].1.to_string();
        let (words, links) = (distance(&rp[a], &rp[b]), distance(&hm[a], &hm[b]));
        ReplicaPair { a: name(a), b: name(b), words, links }
    };
    let mut ranked: Vec<&(u32, u32)> = found.iter().collect();
    let apart = |(a, b): &(u32, u32)| distance(&rp[*a as usize], &rp[*b as usize]);
    ranked.sort_by(|x, y| apart(x).total_cmp(&apart(y)).then(x.cmp(y)));
    Ok(Replicas {
        pages: rp.len(),
        left_out: pages.len() - rp.len(),
        cut,
        pairs_total: found.len(),
        pairs: ranked.into_iter().take(most).map(pair).collect(),
    })
}

/// Returns the archived pages of a crawl that are content, at most [`PAGES_MAX`], and whether there
/// are more.
///
/// A page goes by the key of its record: where a rule rewrote links to it, these lead to the key.
fn pages(db: &Db) -> Result<(Vec<(Fingerprint, CrawlUrl)>, bool), DbError> {
    let (mut pages, mut cut) = (Vec::new(), false);
    urls::each(db, |page, record| {
        let UrlState::Done(done) = &record.state else { return true };
        let is_content = matches!(done.content.as_str(), "new" | "duplicate");
        if !is_content || done.record.is_none() {
            return true;
        }
        cut = pages.len() >= PAGES_MAX;
        if !cut {
            pages.extend(CrawlUrl::parse(&record.url).map(|url| (page, url)));
        }
        !cut
    })?;
    Ok((pages, cut))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::content::Words;
    use crate::db::{Batch, MemoryEnv};
    use crate::frontier::{DoneState, UrlRecord};

    const TEXTS: [&str; 6] = [
        "the old harbour lies below the town and its boats come home at night",
        "at night its boats come home and the town lies below the old harbour",
        "the old harbour lies below the town and its boats come home at night",
        "wool was sold by the stone in the square behind the church every spring",
        "no word of this stands anywhere else among these few made up sentences",
        "",
    ];

    /// Returns near-replicas of six pages, each of which links to the pages given.
    fn found(links: &[(usize, usize)]) -> Vec<(String, String)> {
        let env = MemoryEnv::new().unwrap();
        let db = Db::open_in_memory("/state".as_ref(), &Default::default(), &env).unwrap();
        let url = |at: usize| CrawlUrl::parse(&format!("http://a.test/{at}")).unwrap();
        let mut batch = Batch::default();
        for at in 0..TEXTS.len() {
            let done = DoneState {
                at: Timestamp::from_millis(0),
                status: 200,
                bytes: 0,
                mime: "text/html".to_owned(),
                text_digest: None,
                record: Some(("a.warc".to_owned(), 0, 0)),
                rules_version: 0,
                content: "new".to_owned(),
                links: 0,
                evidence: Vec::new(),
            };
            let state = UrlState::Done(Box::new(done));
            let record = UrlRecord {
                url: url(at).to_string(),
                via: None,
                path: String::new(),
                hops: 0,
                hops_max: None,
                discovered: Timestamp::from_millis(0),
                state,
                attempts: 0,
                busy: 0,
            };
            urls::put(&mut batch, &db, url(at).fingerprint(), &record);
        }
        db.commit(batch).unwrap();
        let read = |page: &CrawlUrl| {
            let at = (0..TEXTS.len()).find(|at| url(*at) == *page).unwrap();
            let links = links.iter().filter(|(from, _)| *from == at);
            let links = links.map(|(_, to)| url(*to).fingerprint()).collect();
            Ok::<_, DbError>(PageWords { words: Words::of(TEXTS[at]).hashes().to_vec(), links })
        };
        let all = replicas(&db, &SignatureSettings::default(), 10, read).unwrap();
        assert_eq!((all.pages, all.left_out, all.cut), (5, 1, false));
        assert_eq!(all.pairs.len(), all.pairs_total);
        let mut pairs: Vec<(String, String)> = all.pairs.iter().map(ordered).collect();
        pairs.sort();
        pairs
    }

    fn ordered(pair: &ReplicaPair) -> (String, String) {
        let last = |url: &str| url.rsplit('/').next().unwrap_or_default().to_owned();
        let (a, b) = (last(&pair.a), last(&pair.b));
        if a < b { (a, b) } else { (b, a) }
    }

    fn check(links: &[(usize, usize)], want: &[(&str, &str)]) {
        let want: Vec<(String, String)> =
            want.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        assert_eq!(found(links), want);
    }

    #[test]
    fn pages_of_the_same_words_are_replicas_unless_they_lead_elsewhere() {
        check(&[], &[("0", "1"), ("0", "2"), ("1", "2")]);
        check(&[(0, 3), (1, 3), (2, 4)], &[("0", "1")]);
        // What has no words is nobody's child.
        check(&[(0, 5)], &[("0", "1"), ("0", "2"), ("1", "2")]);
    }
}
