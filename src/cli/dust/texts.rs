//! What pages show a miner outside of a crawl: their texts, with what repeats on their site set
//! aside, as the crawl itself has them.

use std::collections::BTreeMap;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::archive::Found;
use crate::config::Config;
use crate::content::soft_error::{self, HostErrors};
use crate::content::{self, Analysis, Boilerplate, Content, Room, SiteModel};
use crate::crawl::{blocks_of, page_of, text_page};
use crate::dust::{Declared, Fetched, Observation, Text};
use crate::extract::{self, Extracted};
use crate::url::{CrawlUrl, Site};

/// Pages of a site from which its boilerplate is learned before anything is compared.
pub(super) const SAMPLE: u64 = 40;

/// Sites whose boilerplate is learned at a time, 300 KiB each; pages of further ones are told apart
/// by their payloads alone.
const SITES_MAX: usize = 512;

/// Reads pages as the crawl does.
pub(super) struct Texts {
    extract: extract::Settings,
    content: Content,
    settings: content::Settings,
    models: BTreeMap<Site, Learned>,
    /// How many of them are being learned.
    sampling: usize,
}

/// What repeats on the pages of a site.
enum Learned {
    /// Being learned.
    Sampling(Box<SiteModel>),
    /// As much as there was to learn.
    Done(Arc<Boilerplate>),
}

impl Texts {
    /// Reads pages by the settings of a crawl.
    pub(super) fn new(config: &Config) -> Texts {
        Texts {
            extract: config.extract.clone(),
            content: Content::new(config.content.clone()),
            settings: config.content.clone(),
            models: BTreeMap::new(),
            sampling: 0,
        }
    }

    /// Finds links and text of a page.
    pub(super) fn extract(
        &self,
        url: &CrawlUrl,
        content_type: Option<&str>,
        link: Option<String>,
        body: &[u8],
    ) -> Extracted {
        let links: Vec<String> = link.into_iter().collect();
        extract::extract(
            &extract::Page { url, content_type, link_headers: &links, body },
            &self.extract,
        )
    }

    /// Analyses the text of a page under what is known of its site.
    pub(super) fn analyse(&mut self, url: &CrawlUrl, extracted: &Extracted) -> Option<Analysis> {
        if extracted.kind != extract::DocumentKind::Html || extracted.blocks.is_empty() {
            return None;
        }
        let known = match self.models.get(&url.site()) {
            None => Arc::default(),
            Some(Learned::Sampling(model)) => model.boilerplate(),
            Some(Learned::Done(known)) => Arc::clone(known),
        };
        let blocks = blocks_of(extracted);
        Some(self.content.analyse(&text_page(url, extracted, &blocks), &known))
    }

    /// Returns true while more pages of a site are wanted for its sample.
    pub(super) fn is_sampling(&self, site: &Site) -> bool {
        match self.models.get(site) {
            None => self.sampling < SITES_MAX,
            Some(Learned::Sampling(_)) => true,
            Some(Learned::Done(_)) => false,
        }
    }

    /// Learns what repeats on a site from one of its pages.
    pub(super) fn learn(&mut self, url: &CrawlUrl, extracted: &Extracted) {
        let site = url.site();
        if !self.is_sampling(&site) {
            return;
        }
        // Under the model as it stands: one that is not learning takes no sample.
        if !self.models.contains_key(&site) {
            self.models.insert(site.clone(), Learned::Sampling(Box::default()));
            self.sampling += 1;
        }
        let Some(analysis) = self.analyse(url, extracted) else { return };
        let Some(Learned::Sampling(model)) = self.models.get_mut(&site) else { return };
        model.observe(&analysis, &self.settings, Room::Ample);
        if model.pages() >= SAMPLE {
            self.end_sample(&site);
        }
    }

    /// Ends the sample of a site, however small.
    pub(super) fn end_sample(&mut self, site: &Site) {
        if let Some(learned) = self.models.get_mut(site)
            && let Learned::Sampling(model) = learned
        {
            *learned = Learned::Done(model.boilerplate());
            self.sampling -= 1;
        }
    }

    /// Ends all samples.
    pub(super) fn end_samples(&mut self) {
        let sites: Vec<Site> = self.models.keys().cloned().collect();
        sites.iter().for_each(|site| self.end_sample(site));
    }

    /// Learns from an archived page.
    pub(super) fn learn_archived(&mut self, found: &Found, block: &[u8], max: usize) {
        let Some((url, status)) = answered(found) else { return };
        if (200..300).contains(&status) && self.is_sampling(&url.site()) {
            let body = found.decoded(block, max);
            let content_type = found.http_header("content-type");
            let extracted = self.extract(&url, content_type.as_deref(), None, &body);
            self.learn(&url, &extracted);
        }
    }

    /// Returns what an archived answer shows the miner; nothing for what is no answer, and no text
    /// for a revisit.
    pub(super) fn observe_archived(
        &mut self,
        found: &Found,
        block: &[u8],
        max: usize,
    ) -> Option<Observation> {
        let (url, status) = answered(found)?;
        let moved = (300..400).contains(&status);
        let target = found.http_header("location").filter(|_| moved);
        let redirect = target.and_then(|target| url.join(&target).ok()).map(Declared::Redirect);
        let digest = found.head.get("WARC-Payload-Digest").map(|text| xxh3_64(text.as_bytes()));
        let mut seen = Observation {
            digest,
            declared: redirect,
            troubled: status == 429,
            ..Observation::of(url, status, Text::Unknown)
        };
        if !(200..300).contains(&status) || found.head.kind() == "revisit" {
            return Some(seen);
        }
        let url = &seen.url;
        let body = found.decoded(block, max);
        let (content_type, link) = (found.http_header("content-type"), found.http_header("link"));
        let extracted = self.extract(url, content_type.as_deref(), link, &body);
        let analysis = self.analyse(url, &extracted);
        let junk = analysis.as_ref().is_some_and(|analysis| {
            let answer = soft_error::Answer {
                target: url.path_and_query(),
                title: extracted.title.as_deref().unwrap_or_default(),
                blocks: &blocks_of(&extracted),
                analysis,
                password_field: extracted.password_field,
                text_seen_elsewhere: false,
            };
            HostErrors::default().judge(&answer).is_some()
        });
        let canonical = extracted.canonical.filter(|canonical| canonical != url);
        let is_html = extracted.kind == extract::DocumentKind::Html;
        let shown = page_of(Some(&body[..]), is_html, analysis.as_ref(), junk);
        if let Fetched::Page { text, bag, digest: of_body, .. } = shown {
            seen.digest = seen.digest.or(of_body);
            // A log names the same bytes by the digest that the archive has.
            seen.text = match (text, seen.digest) {
                (Text::Bytes(_), Some(digest)) => Text::Bytes(digest),
                (text, _) => text,
            };
            seen.bag = bag;
        }
        seen.declared = canonical.map(Declared::Canonical);
        seen.junk = junk;
        Some(seen)
    }
}

/// Returns URL and status of an archived HTTP answer.
fn answered(found: &Found) -> Option<(CrawlUrl, u16)> {
    let status = found.status.as_deref()?.parse().ok().filter(|status| *status > 0)?;
    Some((CrawlUrl::parse(found.head.uri()).ok()?, status))
}
