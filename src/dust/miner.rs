//! Keeps a bounded sample of every site and finds candidates in it.
//!
//! Sites are registrable domains. A site is mined when its sample has grown enough or its share of
//! duplicates has risen, and only where there is something to gain. Nothing here proves a rule:
//! candidates go to `validate`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::corpus::Corpus;
use super::evidence::{Apart, Declared, Doc, Documents, Observation, Page, Window};
use super::rule::{Rule, RuleError, RuleId, RuleKind, Scope, Source};
use super::search::Search;
use crate::clock::Timestamp;
use crate::url::{CrawlUrl, Site};

/// Pages between two searches of a small site that promises something.
const PROMISE_STEP: u64 = 4;

/// How often the step between searches doubles while they find nothing.
const FRUITLESS_MAX: u32 = 3;

/// How the miner samples and when it mines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Settings {
    /// Pages kept per site, the latest ones; 20,000 suffice for all rules of the model sites.
    pub pages_per_site: usize,
    /// Pages kept over all sites, some 550 bytes each; the site not used for longest is dropped
    /// first.
    pub pages_total: usize,
    /// Sizes of the sample at which a site is mined, if it has shown further duplicates; later at
    /// each doubling of the last one. The sooner a rule is found, the more is left for it to save;
    /// where the last searches found nothing, sizes at which too little is new are passed over.
    pub mine_at: Vec<u64>,
    /// Least share of duplicates among the pages of a site that is mined.
    pub duplicate_share_min: f64,
    /// A rise of the share of duplicates by this much is a reason to mine again.
    pub duplicate_share_rise: f64,
    /// Whether links that lead back to the page they stand on, as those of the posts of a topic
    /// do, are learned as well, where rules are proved by pairs of pages: what stands for such a
    /// link is that page.
    pub self_links: bool,
    /// Distinct documents that must speak for a rule.
    pub support_min: u32,
    /// URLs of the sample that a found rule must rewrite where it takes probes to prove it: one
    /// that touches fewer saves nothing. A trial by pairs costs nothing.
    pub applicable_min: u32,
    /// Largest share of documents that speak against a candidate.
    pub negative_share_max: f64,
    /// Judgements in one search; each looks at every key of the sample once.
    pub judgements_max: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            pages_per_site: 20_000,
            pages_total: 100_000,
            mine_at: vec![
                25, 50, 75, 100, 125, 150, 175, 200, 250, 300, 400, 500, 600, 800, 1_000, 1_400,
                2_000, 3_000, 5_000, 10_000, 20_000,
            ],
            duplicate_share_min: 0.02,
            duplicate_share_rise: 0.05,
            self_links: true,
            support_min: 3,
            applicable_min: 8,
            negative_share_max: 0.005,
            judgements_max: 2_000,
        }
    }
}

/// The samples of all sites.
#[derive(Debug, Default)]
pub struct Miner {
    settings: Settings,
    sites: BTreeMap<Site, Window>,
    /// The sites by when they were used last.
    by_use: BTreeMap<u64, Site>,
    /// Weight of all samples, in pages.
    held: usize,
    /// Sites that may be due since they were asked about last.
    stirred: BTreeSet<Site>,
    /// Sites that were dropped since somebody asked for them.
    forgotten: Vec<Site>,
    observations: u64,
}

impl Miner {
    /// Starts without samples.
    pub fn new(settings: Settings) -> Self {
        Miner { settings, ..Miner::default() }
    }

    /// Takes in one page.
    pub fn observe(&mut self, observation: &Observation) {
        self.observations += 1;
        let site = observation.url.site();
        let gone = matches!(observation.status, 404 | 410) && !observation.troubled;
        let redirect = matches!(observation.declared, Some(Declared::Redirect(_)));
        let page = (200..300).contains(&observation.status) || redirect;
        if !gone && !page {
            return;
        }
        let window = self.sites.entry(site.clone()).or_default();
        self.by_use.remove(&std::mem::replace(&mut window.used, self.observations));
        self.by_use.insert(self.observations, site.clone());
        let pages_max = self.settings.pages_per_site;
        self.weigh_again(&site, |window| {
            if gone {
                window.add_dead(observation.url.as_str(), pages_max / 4);
            } else {
                window.add(Page::of(observation), pages_max);
            }
        });
        self.stirred.insert(site);
    }

    /// Remembers a URL that answered 404 or 410.
    pub(crate) fn note_dead(&mut self, url: &CrawlUrl) {
        let dead_max = self.settings.pages_per_site / 4;
        self.weigh_again(&url.site(), |window| window.add_dead(url.as_str(), dead_max));
    }

    /// Takes in that a URL is another page than the one that stands for it.
    pub(crate) fn set_apart(&mut self, url: &CrawlUrl, stands: &CrawlUrl) {
        if let Some(window) = self.sites.get_mut(&url.site()) {
            window.set_apart(Apart { url: url.as_str().into(), stands: stands.as_str().into() });
        }
    }

    /// Forgets that pages are others than what stood for them, where `is_due` says so.
    pub(crate) fn forget_apart(
        &mut self,
        site: &Site,
        is_due: impl Fn(&CrawlUrl, &CrawlUrl) -> bool,
    ) {
        self.weigh_again(site, |window| window.forget_apart(is_due));
    }

    /// Changes the sample of a site, if there is one, and keeps all of them within their bound.
    fn weigh_again(&mut self, site: &Site, change: impl FnOnce(&mut Window)) {
        let Some(window) = self.sites.get_mut(site) else { return };
        let before = window.weight();
        change(window);
        self.held = (self.held + window.weight()).saturating_sub(before);
        self.drop_oldest();
    }

    /// Lets a site be mined again without waiting for its sample to double.
    pub(crate) fn hurry(&mut self, site: &Site) {
        if let Some(window) = self.sites.get_mut(site) {
            window.hurried = true;
            self.stirred.insert(site.clone());
        }
    }

    /// Notes that a rule was proved which may hold on other sites too: those that show duplicates
    /// are searched before their sample has grown.
    pub(crate) fn spread(&mut self, from: &Site) {
        for (site, window) in self.sites.iter_mut().filter(|(site, _)| *site != from) {
            window.promising = true;
            self.stirred.insert(site.clone());
        }
    }

    /// Returns true where mining a site now may find something new.
    pub fn due(&self, site: &Site) -> bool {
        let Some(window) = self.sites.get(site) else { return false };
        let share = window.duplicate_share();
        let unknown = window.documents.pages() == 0;
        if !unknown && share < self.settings.duplicate_share_min {
            return false;
        }
        // What promises something is searched for at once, but for a step that grows with what has
        // to be searched.
        let step = PROMISE_STEP.max(window.mined_at / 16) << window.fruitless.min(FRUITLESS_MAX);
        if window.promising && window.total >= window.mined_at + step {
            return true;
        }
        let news = unknown || window.documents.duplicates() != window.mined_duplicates;
        if !news && !window.hurried {
            return false;
        }
        // The longer nothing was found, the more is to be new.
        let grown = match window.fruitless.min(FRUITLESS_MAX) {
            0 => window.mined_at + 1,
            times => window.mined_at + ((window.mined_at / 8) << times),
        };
        let at = self.settings.mine_at.iter().copied().find(|at| *at >= grown);
        let at = at.unwrap_or_else(|| window.mined_at.saturating_mul(2));
        let first = self.settings.mine_at.first().copied().unwrap_or(0);
        let risen = window.mined_at > 0
            && share >= window.mined_share + self.settings.duplicate_share_rise
            && window.total >= window.mined_at + first;
        let hurried = window.hurried && window.total >= window.mined_at + first;
        window.total >= at || risen || hurried
    }

    /// Returns the sites that became due since they were asked for last.
    pub fn take_due(&mut self) -> Vec<Site> {
        let stirred = std::mem::take(&mut self.stirred);
        stirred.into_iter().filter(|site| self.due(site)).collect()
    }

    /// Returns the sites whose samples were dropped since they were asked for last; what is kept
    /// of them is to go too.
    pub(crate) fn take_forgotten(&mut self) -> Vec<Site> {
        std::mem::take(&mut self.forgotten)
    }

    /// Searches one site for candidates, given its rules in force, ids not to be tried, and what
    /// others propose.
    ///
    /// # Errors
    /// Returns a rule in force that cannot be used.
    pub fn mine(
        &mut self,
        site: &Site,
        enforced: Vec<Rule>,
        refuted: &BTreeSet<RuleId>,
        priors: &[(RuleKind, Scope, Source)],
        now: Timestamp,
    ) -> Result<Vec<Rule>, RuleError> {
        let Some(window) = self.sites.get_mut(site) else { return Ok(Vec::new()) };
        window.mined_at = window.total;
        window.hurried = false;
        window.promising = false;
        window.mined_share = window.duplicate_share();
        window.mined_duplicates = window.documents.duplicates();
        let window = &*window;
        let (labelled, documents) = labelled(window);
        let documents = documents.as_ref().unwrap_or(&window.documents);
        let corpus = Corpus::new(window, &labelled, documents, enforced)?;
        let search = Search {
            corpus,
            site,
            settings: &self.settings,
            refuted,
            budget: self.settings.judgements_max,
            wanting: BTreeMap::new(),
            found: Vec::new(),
            by_size: false,
            now,
        };
        let found = search.run(priors)?;
        if let Some(window) = self.sites.get_mut(site) {
            window.fruitless = window.fruitless.saturating_add(found.is_empty().into());
        }
        Ok(found)
    }

    /// Notes that a page of a site agreed with what a search had found.
    pub(crate) fn bear_fruit(&mut self, site: &Site) {
        if let Some(window) = self.sites.get_mut(site) {
            window.fruitless = 0;
        }
    }

    /// Lets rules be found that touch as few URLs as must speak for them.
    pub(crate) fn take_small_rules(&mut self) {
        self.settings.applicable_min = self.settings.applicable_min.min(self.settings.support_min);
    }

    pub(crate) fn window(&self, site: &Site) -> Option<&Window> {
        self.sites.get(site)
    }

    /// Puts a kept sample back, if there is room.
    pub(crate) fn restore(&mut self, site: Site, window: Window) {
        self.observations = self.observations.max(window.used);
        self.held += window.weight();
        self.by_use.insert(window.used, site.clone());
        self.stirred.insert(site.clone());
        self.sites.insert(site, window);
        self.drop_oldest();
    }

    /// Returns the sites with a sample.
    pub fn sites(&self) -> impl Iterator<Item = &Site> {
        self.sites.keys()
    }

    /// Makes room: the sites not used for longest go, but never the last one.
    fn drop_oldest(&mut self) {
        while self.held > self.settings.pages_total && self.by_use.len() > 1 {
            let Some((_, site)) = self.by_use.pop_first() else { return };
            if let Some(window) = self.sites.remove(&site) {
                self.held = self.held.saturating_sub(window.weight());
            }
            self.stirred.remove(&site);
            self.forgotten.push(site);
        }
    }
}

/// URLs that the site itself declared to be the same as a page: they count as seen with its text.
fn labelled(window: &Window) -> (Vec<(CrawlUrl, Option<Doc>)>, Option<Documents>) {
    let declares = window.pages.iter().any(|page| page.declared.is_some());
    if !declares {
        return (Vec::new(), None);
    }
    let by_url = window.by_url();
    let mut documents = window.documents.clone();
    let mut extra = Vec::new();
    for page in &window.pages {
        let Some((redirect, target)) = &page.declared else { continue };
        let known = by_url.get(&**target).and_then(|page| page.doc);
        let (url, doc) = if *redirect {
            (&page.url, Some(known.unwrap_or_else(|| documents.of_target(target))))
        } else if known.is_none() && page.text.is_told() {
            (target, page.doc)
        } else {
            continue;
        };
        if let Ok(url) = CrawlUrl::parse(url) {
            extra.push((url, doc));
        }
    }
    (extra, Some(documents))
}
