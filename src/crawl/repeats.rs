//! What follows from text that comes back, and from answers that are no content: hosts are probed,
//! slowed, put last and parked.
//!
//! What is known of a host's texts is one row of `sites`. It is held here while the host is busy
//! and written after every [`PAGES_UNSAVED`] pages, when it changes a decision, and when it makes
//! room: a crash costs a few pages of evidence, and a page no write of 10 KiB.

use std::num::NonZeroUsize;

use lru::LruCache;
use serde::{Deserialize, Serialize};

use super::admit::Admitted;
use super::evidence::{Marks, fetched_of};
use super::learn::{Asker, ProbeFlight};
use super::near::NearMode;
use super::state::State;
use super::steer::Job;
use super::visit::{PageFacts, Visit};
use crate::clock::Timestamp;
use crate::content::host::{HostContent, HostPages, HostSettings, Outcome, Settled};
use crate::content::near::NearSettings;
use crate::content::probes::Probe;
use crate::content::signature::SignatureSettings;
use crate::content::soft_error::HostErrors;
use crate::content::trap::{HostTrap, Level, Transition, section_of};
use crate::db::families::dust::{self as sites, Kind};
use crate::db::{Batch, Db, DbError};
use crate::dust::{Fetched as Shown, Finding};
use crate::fetch::Outcome as Fetched;
use crate::frontier::{HostStatus, Lease, Waiting};
use crate::url::{CrawlUrl, Host};

/// Pages of a host after which its row is written again.
const PAGES_UNSAVED: u32 = 16;

/// Paths of a host that are remembered until its probes are planned.
const TARGETS_MAX: usize = 32;

/// Probes that may be awaited for a host to be asked for nothing: half of what rules may have
/// waiting, so that sleeping hosts leave these their room.
const HOST_PROBES_MAX: usize = 5_000;

/// Redirects within a host that a probe for nothing follows.
const HOPS_MAX: u8 = 3;

/// Share of duplicates above which a host counts as showing them, once enough pages are known.
const STALE_SHARE: f64 = 0.5;
const STALE_PAGES_MIN: u64 = 50;

/// Settings of what follows from repeats and soft errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct RepeatSettings {
    /// Near-duplicates: `off`, `index` them for `crawler dups`, or also `look_up` each page at
    /// once, for the crawl log and as evidence of traps.
    pub near_duplicates: NearMode,
    /// Hosts whose texts are held in memory; 5 to 25 KiB each.
    pub hosts_held: usize,
    /// What is made of a host's pages.
    pub host: HostSettings,
    /// When two texts are near-duplicates.
    pub near: NearSettings,
    /// When two pages of a finished crawl are near-replicas by their signatures, for `crawler dups
    /// --replicas`.
    pub signatures: SignatureSettings,
}

impl Default for RepeatSettings {
    fn default() -> Self {
        RepeatSettings {
            near_duplicates: NearMode::default(),
            hosts_held: 1024,
            host: HostSettings::default(),
            near: NearSettings::default(),
            signatures: SignatureSettings::default(),
        }
    }
}

/// What is known of the texts of busy hosts.
#[derive(Debug)]
pub(super) struct HostTexts {
    held: LruCache<Host, Held>,
    /// Rows for the next batch.
    unwritten: Vec<(Host, Vec<u8>)>,
}

#[derive(Debug, Default)]
struct Held {
    content: HostContent,
    /// Pages since it was last written.
    unsaved: u32,
    /// Some paths with queries, for the plan of its probes.
    targets: Vec<String>,
    /// Whether probes of an earlier run have been looked for.
    is_checked: bool,
}

impl HostTexts {
    pub(super) fn new(most: usize) -> Self {
        let most = NonZeroUsize::new(most.max(16)).unwrap_or(NonZeroUsize::MIN);
        HostTexts { held: LruCache::sparse(most), unwritten: Vec::new() }
    }

    fn of(&mut self, db: &Db, host: &Host) -> Result<&mut Held, DbError> {
        if !self.held.contains(host) {
            let waiting = self.unwritten.iter().rev().find(|(name, _)| name == host);
            let stored = match waiting {
                Some((_, bytes)) => Some(bytes.clone()),
                None => sites::get(db, Kind::Errors, host.as_str())?,
            };
            // A row of another version is as good as none.
            let content = stored.and_then(|bytes| HostContent::decode(&bytes)).unwrap_or_default();
            let gone = self.held.push(host.clone(), Held { content, ..Held::default() });
            if let Some((name, gone)) = gone.filter(|(_, gone)| gone.unsaved > 0) {
                self.unwritten.push((name, gone.content.encode()));
            }
        }
        Ok(self.held.get_or_insert_mut(host.clone(), Held::default))
    }

    /// Returns how links into a place are treated, if its host is busy.
    fn level(&self, url: &CrawlUrl) -> Option<(Level, Level)> {
        let trap = self.held.peek(&url.host())?.content.trap();
        Some((trap.level_at(url.path_and_query()), trap.level(None)))
    }

    fn trapped(&self, url: &CrawlUrl) -> bool {
        let Some(held) = self.held.peek(&url.host()) else { return false };
        held.content.trap().leaves_out(url.path_and_query(), url.fingerprint().short())
    }

    /// Takes note of an address that rules keep from being fetched, if its host is busy; it is
    /// written with the next page.
    pub(super) fn note_hidden(&mut self, host: &Host) {
        if let Some(held) = self.held.peek_mut(host) {
            held.content.note_hidden();
        }
    }

    /// Takes note of an address that comes back, if its host is busy.
    pub(super) fn note_restored(&mut self, host: &Host) {
        if let Some(held) = self.held.peek_mut(host) {
            held.content.note_restored();
        }
    }

    fn save(&mut self, host: &Host) {
        if let Some(held) = self.held.peek_mut(host) {
            held.unsaved = 0;
            self.unwritten.push((host.clone(), held.content.encode()));
        }
    }

    /// Puts what must be written into the batch.
    pub(super) fn flush(&mut self, batch: &mut Batch, db: &Db) {
        for (host, bytes) in self.unwritten.drain(..) {
            sites::put(batch, db, Kind::Errors, host.as_str(), &bytes);
        }
    }

    /// Prepares everything that changed to be written.
    pub(super) fn save_all(&mut self) {
        for (host, held) in &mut self.held {
            if std::mem::take(&mut held.unsaved) > 0 {
                self.unwritten.push((host.clone(), held.content.encode()));
            }
        }
    }
}

/// How the links of a page are treated.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Standing {
    /// The host, or this part of it, was parked before this page came: short of that, a tree that
    /// has two names is followed under both.
    pub(super) repeats: bool,
    /// Its links come last.
    pub(super) last: bool,
    /// Factor on the host's gap.
    pub(super) slower: u32,
}

impl State {
    /// Returns how a host answers nonsense, as known now.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn errors_of(&mut self, host: &Host) -> Result<std::sync::Arc<HostErrors>, DbError> {
        Ok(self.texts.of(&self.db, host)?.content.errors())
    }

    /// Takes note of a page of a host: what follows for the host is done, what follows for its
    /// links is returned.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn settle_text(
        &mut self,
        batch: &mut Batch,
        admitted: &Admitted,
        facts: &PageFacts,
        now: Timestamp,
    ) -> Result<Standing, DbError> {
        let lease = &admitted.lease;
        let url = &lease.waiting.url;
        let host = url.host();
        let via = admitted.via.as_ref().filter(|via| via.host() == host);
        let outcome = Outcome {
            target: url.path_and_query(),
            analysis: facts.analysis.as_ref(),
            junk: facts.junk.is_some(),
            known_payload: facts.known_payload,
            known_text: facts.repeats.is_some(),
            known_nearly: facts.near.is_some(),
            waiting: self.frontier.active(lease.host).map(|active| active.record.queued),
            via: via.map(CrawlUrl::path_and_query),
            walled: facts.junk.as_ref().is_some_and(|junk| junk.junk.is_wall())
                && (lease.waiting.path.ends_with('R') || query_names_page(url)),
        };
        if !self.texts.of(&self.db, &host)?.is_checked {
            self.forget_unanswered(&host)?;
        }
        let settings = &self.repeats.host;
        let held = self.texts.of(&self.db, &host)?;
        let before = held.content.trap().level_at(outcome.target);
        // Where a rule was refused, all pages are fetched, and not a few of what it hides. What
        // comes back when a rule falls, all at once, was met among pages that were new.
        let is_thin = facts.analysis.as_ref().is_some_and(|analysis| analysis.thin);
        let own = lease.waiting.fingerprint;
        let is_sampled = admitted.is_audit && self.checks.samples(own, is_thin);
        if is_sampled || self.stood.contains_key(&own) && !is_thin {
            return Ok(Standing { repeats: before == Level::Parked, ..Standing::default() });
        }
        let Settled { level, changes, .. } = held.content.settle(&outcome, settings);
        if facts.analysis.is_none() {
            return Ok(Standing { repeats: before == Level::Parked, ..Standing::default() });
        }
        held.unsaved += 1;
        if held.targets.len() < TARGETS_MAX {
            held.targets.push(outcome.target.to_owned());
        }
        let known: Vec<&str> = held.targets.iter().map(String::as_str).collect();
        let seed = xxhash_rust::xxh3::xxh3_64(host.as_str().as_bytes());
        let probes = held.content.probes_due(seed, &known, settings);
        if held.unsaved >= PAGES_UNSAVED || !probes.is_empty() || !changes.is_empty() {
            self.texts.save(&host);
        }
        for probe in probes {
            self.ask_nothing(batch, url, probe)?;
        }
        for change in changes {
            self.tell_change(batch, url, &change, now)?;
            if change.section.is_none() && change.to == Level::Parked {
                self.park(lease, &change.reason, now)?;
            }
        }
        Ok(Standing {
            repeats: before == Level::Parked,
            last: level >= Level::LowPriority,
            slower: if level > Level::Healthy {
                self.repeats.host.trap.slowed_gap_factor
            } else {
                1
            },
        })
    }

    /// Returns how many URLs of a host rules keep from being fetched by now.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn hidden_of(&mut self, host: &Host) -> Result<u64, DbError> {
        Ok(self.texts.of(&self.db, host)?.content.hidden())
    }

    /// Takes note of a page that was fetched only to measure rules, given whether its text was
    /// known where it was. Returns true where its host, of which so much was fetched, is showing
    /// many duplicates: as it would where there are no rules, so that with them no more of its
    /// links are followed than without.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn shows_known_texts(
        &mut self,
        url: &CrawlUrl,
        known_by_audit: Option<bool>,
        pages: &HostPages,
    ) -> Result<bool, DbError> {
        let held = self.texts.of(&self.db, &url.host())?;
        if let Some(is_known) = known_by_audit {
            held.content.note_audit(is_known);
            held.unsaved += 1;
        }
        Ok(pages.fetched >= STALE_PAGES_MIN && held.content.shows_known_texts(STALE_SHARE, pages))
    }

    /// Takes note of a payload that has no text to be judged, such as a photograph: where no other
    /// URL had it, it speaks for the page that led to it, however little that page says.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn settle_payload(
        &mut self,
        batch: &mut Batch,
        admitted: &Admitted,
        facts: &PageFacts,
        now: Timestamp,
    ) -> Result<(), DbError> {
        let Some(via) = &admitted.via else { return Ok(()) };
        if facts.known_payload || facts.analysis.is_some() || !is_work(&facts.mime) {
            return Ok(());
        }
        let held = self.texts.of(&self.db, &via.host())?;
        let changes = held.content.led_to_payload(via.path_and_query(), &self.repeats.host);
        held.unsaved += 1;
        if held.unsaved >= PAGES_UNSAVED || !changes.is_empty() {
            self.texts.save(&via.host());
        }
        for change in changes {
            self.tell_change(batch, via, &change, now)?;
        }
        Ok(())
    }

    /// Logs and counts a change of the level of a host or of a part of it, shown by `page`, and
    /// brings back what a part that recovers had held.
    fn tell_change(
        &mut self,
        batch: &mut Batch,
        page: &CrawlUrl,
        change: &Transition,
        now: Timestamp,
    ) -> Result<(), DbError> {
        let whole = change.section.is_none();
        if let Some(section) = change.section {
            self.note_part(page, section, now)?;
        }
        tracing::info!(
            host = page.host().as_str(), whole, from = ?change.from, to = ?change.to,
            reason = change.reason, page = page.as_str(), "a host repeats itself"
        );
        self.count(match change.to {
            _ if !whole && change.from == Level::Parked => "trap-section-recovered",
            Level::Healthy => "trap-healthy",
            Level::Slowed => "trap-slowed",
            Level::LowPriority => "trap-low-priority",
            Level::Parked if whole => "trap-parked",
            Level::Parked => "trap-section-parked",
        });
        if !whole && change.from == Level::Parked {
            self.bring_back_later(batch, Job::Untrap);
        }
        Ok(())
    }

    /// Judges the part of a host anew to which a URL belongs that comes back from where rules had
    /// set it aside, if it is parked, and brings back what it had held: in other company it might
    /// not have been parked.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn reprieve_part(
        &mut self,
        batch: &mut Batch,
        url: &CrawlUrl,
        now: Timestamp,
    ) -> Result<(), DbError> {
        let held = self.texts.of(&self.db, &url.host())?;
        let change = held.content.reprieve(url.path_and_query(), &self.repeats.host);
        let Some(change) = change else { return Ok(()) };
        self.texts.save(&url.host());
        self.tell_change(batch, url, &change, now)
    }

    /// Returns true for one of the few URLs of a host that are fetched though their part of it is
    /// parked, since they are to prove rules: else these would never fall, and all that they have
    /// set aside would be lost.
    pub(super) fn is_proof_in_trap(&mut self, waiting: &Waiting) -> bool {
        let held = self.texts.held.peek_mut(&waiting.url.host());
        self.checks.awaits(waiting.fingerprint)
            && held.is_some_and(|held| held.content.takes_proof())
    }

    /// Puts a host that repeated itself back among the healthy, with all its sections.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn forgive_texts(&mut self, host: &Host) -> Result<(), DbError> {
        self.texts.of(&self.db, host)?.content.forgive();
        self.forget_parts(host)?;
        self.texts.save(host);
        Ok(())
    }

    /// Parks the host of a lease; ending the lease takes its back queue away. Its URLs stay queued.
    fn park(&mut self, lease: &Lease, reason: &str, at: Timestamp) -> Result<(), DbError> {
        let reason = format!("repeats itself: {reason}");
        self.change_host(lease.host, |record| {
            if record.is_open() {
                record.status = HostStatus::Parked { reason, at };
            }
        })
    }

    /// Returns true if a URL lies in a part of a host that was found to repeat itself for ever,
    /// while the host as a whole does not, and is none of those by which it is seen whether that is
    /// still so.
    pub(super) fn is_trapped(&self, url: &CrawlUrl) -> bool {
        self.texts.trapped(url)
    }

    /// Returns the same as [`State::is_trapped`], of a host that may not be busy.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn is_still_trapped(&mut self, url: &CrawlUrl) -> Result<bool, DbError> {
        self.texts.of(&self.db, &url.host())?;
        Ok(self.texts.trapped(url))
    }

    /// Returns the evidence about the new text of a host.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn trap_of(&mut self, host: &Host) -> Result<&HostTrap, DbError> {
        Ok(self.texts.of(&self.db, host)?.content.trap())
    }

    /// Returns true if a URL lies in a part of a busy host that is parked, whether it is left out
    /// or not.
    pub(super) fn is_in_parked_part(&self, url: &CrawlUrl) -> bool {
        let held = self.texts.held.peek(&url.host());
        let section = section_of(url.path_and_query());
        held.zip(section).is_some_and(|(held, part)| held.content.trap().is_parked(part))
    }

    /// Returns true if links to a URL come last.
    pub(super) fn comes_last(&self, url: &CrawlUrl) -> bool {
        self.texts.level(url).is_some_and(|(part, _)| part >= Level::LowPriority)
    }

    fn ask_nothing(
        &mut self,
        batch: &mut Batch,
        page: &CrawlUrl,
        probe: Probe,
    ) -> Result<(), DbError> {
        if self.probes.len() >= HOST_PROBES_MAX {
            return Ok(());
        }
        let Ok(url) = page.join(&probe.target) else { return Ok(()) };
        let asker = Asker::Host { host: page.host(), probe };
        self.enqueue_probe(batch, &url, ProbeFlight { asker, hops: 0 })
    }

    /// Takes note of what a host answered to a path that cannot exist; a redirect within the host
    /// becomes a further probe, one that leads away says nothing. Nor does a page that is there:
    /// some sites go by the number of an item, whatever stands behind it.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn settle_nothing(
        &mut self,
        batch: &mut Batch,
        (host, probe): (Host, Probe),
        hops: u8,
        asked: &CrawlUrl,
        visit: &Visit,
    ) -> Result<(), DbError> {
        let facts = visit.page.as_deref();
        if let Some(target) = facts.and_then(|facts| facts.redirect.as_ref()) {
            if hops < HOPS_MAX && target.host() == host {
                let asker = Asker::Host { host, probe };
                let flight = ProbeFlight { asker, hops: hops + 1 };
                return self.enqueue_probe(batch, target, flight);
            }
            return Ok(());
        }
        if let Fetched::Answer(answer) = &*visit.outcome
            && !self.is_there(&host, &probe, asked, fetched_of(answer, facts))?
        {
            let analysis = facts.and_then(|facts| facts.analysis.as_ref());
            let held = self.texts.of(&self.db, &host)?;
            held.content.note_probe(&probe, answer.status, analysis);
            self.texts.save(&host);
        }
        Ok(())
    }

    /// Returns true where the answer to a probe is what the host shows, without the nonsense, at a
    /// place that was known when the probe was planned.
    fn is_there(
        &mut self,
        host: &Host,
        probe: &Probe,
        asked: &CrawlUrl,
        shown: Shown,
    ) -> Result<bool, DbError> {
        let places = self.texts.of(&self.db, host)?.targets.clone();
        for place in places.iter().filter(|place| probe.strays_from(place)) {
            let Ok(url) = asked.join(place) else { continue };
            let known = self.evidence_at(url.fingerprint())?;
            let shows_it = |(known, _): &(Shown, Marks)| {
                let has_its_text = known.judged_by(shown) == Finding::Same;
                known.is_page() && (has_its_text || known.stands_still(shown))
            };
            if known.as_ref().is_some_and(shows_it) {
                tracing::debug!(%asked, place, "an answer to nonsense is a page that is there");
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Lets the probes of a host be planned again if an earlier run asked for them and took no
    /// answer.
    fn forget_unanswered(&mut self, host: &Host) -> Result<(), DbError> {
        let asks_host = |flight: &ProbeFlight| match &flight.asker {
            Asker::Host { host: asked, .. } => asked == host,
            Asker::Rule { .. } | Asker::Audit(..) | Asker::Form(_) => false,
        };
        let waits = self.probes.values().any(asks_host);
        let held = self.texts.of(&self.db, host)?;
        held.is_checked = true;
        if !waits {
            held.content.forget_unanswered();
        }
        Ok(())
    }
}

/// Returns whether a type is that of works that are no text: pictures, sounds, films, papers. What
/// servers make for each page, such as feeds, scripts and styles, is none.
fn is_work(mime: &str) -> bool {
    let made = ["json", "xml", "script", "x-www-form"];
    ["image/", "audio/", "video/", "application/"].iter().any(|kind| mime.starts_with(kind))
        && !made.iter().any(|part| mime.contains(part))
        || mime == "image/svg+xml"
}

/// Returns true where the query of a URL names a page, as that of a login form does which says what
/// is shown afterwards: there is one for each page of its host.
pub(super) fn query_names_page(url: &CrawlUrl) -> bool {
    let query = url.path_and_query().split_once('?').map_or("", |(_, query)| query);
    let mut values = url::form_urlencoded::parse(query.as_bytes()).map(|(_, value)| value);
    values.any(|value| value.contains(['/', '?']))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use super::*;
    use crate::content::{Block, Boilerplate, Content, Page};
    use crate::crawl::discover::{Link, Via};
    use crate::crawl::parked::parked_parts;
    use crate::crawl::readmit::tests::{open, record, url};
    use crate::db::MemoryEnv;
    use crate::db::families::suppressed::{self, Suppression};
    use crate::db::families::{parts, urls};
    use crate::dust::RuleId;
    use crate::filter::{Filter, Found};
    use crate::frontier::UrlState;

    /// Shows a page of `/view/` with text `n`; returns whether its section recovered.
    fn show(state: &mut State, n: u64, known_text: bool) -> bool {
        let words: Vec<String> = (0..80).map(|at| format!("w{}", n << 20 | at)).collect();
        let text = words.join(" ");
        let blocks = [Block::paragraph(&text)];
        let page = Page { blocks: &blocks, ..Page::default() };
        let analysis = Content::default().analyse(&page, &Boilerplate::default());
        let outcome = Outcome {
            target: "/view/page",
            analysis: Some(&analysis),
            junk: false,
            known_payload: false,
            known_text,
            known_nearly: false,
            waiting: None,
            via: None,
            walled: false,
        };
        let held = state.texts.of(&state.db, &url("http://a.example/").host()).unwrap();
        let settled = held.content.settle(&outcome, &state.repeats.host);
        settled.changes.iter().any(|change| {
            change.section.is_some() && change.from == Level::Parked && change.to < Level::Parked
        })
    }

    /// What was refused in a section that was parked stayed refused whatever the section showed.
    #[test]
    fn what_was_refused_as_a_trap_comes_back_when_its_section_recovers() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let home = url("http://a.example/");
        let seeds = std::slice::from_ref(&home);
        state.filter = Arc::new(Filter::new(&Default::default(), seeds).unwrap());
        assert!(!(0..113).any(|_| show(&mut state, 0, true)));
        let (fingerprint, hops_max) = (home.fingerprint(), None);
        let via = Via { url: &home, fingerprint, path: "", hops: 0, hops_max, stale: false };
        let link = |n: u32| Link {
            url: url(&format!("http://a.example/view/{n}")),
            found: Found::Link,
            letter: 'L',
            nofollow: false,
            as_link: None,
        };
        let mut links: Vec<Link> = (0..2_000).map(link).collect();
        links.push(Link { url: url("http://a.example/other"), ..link(0) });
        let mut batch = Batch::default();
        state.discover(&mut batch, &via, &links, now).unwrap();
        state.commit(batch, now).unwrap();
        let queued = |state: &State| {
            let state_of = |link: &&Link| {
                let record = urls::get(&state.db, link.url.fingerprint()).unwrap().unwrap();
                matches!(record.state, UrlState::Queued(_))
            };
            links.iter().filter(state_of).count()
        };
        let sampled = queued(&state);
        let host = home.host();
        state.texts.save(&host);
        state.commit(Batch::default(), now).unwrap();
        let parts = parked_parts(&state.db, 9).unwrap();
        let names: Vec<_> = parts.iter().map(|part| (&*part.host, &*part.part)).collect();
        assert_eq!(names, [("a.example", "/view")]);
        assert_eq!(parts[0].urls, links.len() as u64 - sampled as u64);
        assert_eq!(parts[0].reason, "0 % of its last 64 pages had new text, of 113 in all");
        assert!((2..40).contains(&sampled), "{sampled} of 2,001");
        let recovered = (1..10).find(|n| show(&mut state, *n, false));
        assert!(recovered.is_some());
        let mut batch = Batch::default();
        state.bring_back_later(&mut batch, Job::Untrap);
        let section = section_of("/view/page").unwrap();
        state.note_part(&home, section, now).unwrap();
        state.commit(batch, now).unwrap();
        assert_eq!(parts::get(&state.db, &host, section).unwrap(), None);
        while state.work(&HashSet::new(), now).unwrap() {}
        assert_eq!(queued(&state), links.len());
        assert_eq!(state.counters.refused, 0);
        assert!(state.jobs.is_empty() && state.changes.jobs.is_empty());
    }

    /// It stayed refused for the exclusion, and was not found when the section recovered.
    #[test]
    fn what_comes_back_into_a_parked_section_comes_back_when_that_recovers() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        assert!(!(0..113).any(|_| show(&mut state, 0, true)));
        let pages: Vec<CrawlUrl> =
            (0..200).map(|n| url(&format!("http://a.example/view/{n}"))).collect();
        let why = crate::filter::Reason::Excluded("/view".into());
        let mut batch = Batch::default();
        for page in &pages {
            let (reason, detail) = (why.code().to_owned(), why.to_string());
            let refused = UrlState::Refused { reason, detail, at: now };
            urls::put(&mut batch, &state.db, page.fingerprint(), &record(page, None, refused));
        }
        state.counters.refused = pages.len() as u64;
        state.bring_back_later(&mut batch, Job::Include { pattern: "/view".to_owned() });
        state.commit(batch, now).unwrap();
        while state.work(&HashSet::new(), now).unwrap() {}
        let is_trap = |state: &UrlState| {
            let UrlState::Refused { reason, .. } = state else { return false };
            reason == "trap"
        };
        let trapped = |state: &State| {
            let records =
                pages.iter().map(|page| urls::get(&state.db, page.fingerprint()).unwrap().unwrap());
            records.filter(|record| is_trap(&record.state)).count() as u64
        };
        let held = trapped(&state);
        assert!(held > 100, "{held} of 200");
        assert_eq!(state.counters.refused, held);
        assert!((1..10).any(|n| show(&mut state, n, false)));
        let mut batch = Batch::default();
        state.bring_back_later(&mut batch, Job::Untrap);
        state.commit(batch, now).unwrap();
        while state.work(&HashSet::new(), now).unwrap() {}
        assert_eq!((trapped(&state), state.counters.refused), (0, 0));
    }

    #[test]
    fn a_login_form_names_the_page_that_is_shown_afterwards() {
        let names = |target: &str| {
            let url = CrawlUrl::parse(&format!("http://a.example{target}"));
            query_names_page(&url.expect("it is a URL"))
        };
        assert!(names("/login?return=/listing/8") && names("/login?return=%2Flisting%2F8"));
        assert!(names("/user/login?destination=node/1") && names("/in?to=show.php%3Fid=1"));
        assert!(!names("/login") && !names("/a/login?lang=en") && !names("/login?return="));
    }

    /// The things that lists showed were on trial, and the part was parked for the lists.
    #[test]
    fn a_part_is_judged_anew_when_what_rules_had_set_aside_in_it_comes_back() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let (own, rules) = (url("http://a.example/view/2"), vec![7]);
        let by = url("http://a.example/view/1").fingerprint();
        let mut batch = Batch::default();
        let how = Suppression { rules: rules.clone(), at: now };
        suppressed::put(&mut batch, &state.db, by, own.fingerprint(), &how);
        let aside = UrlState::Suppressed { by, rules, version: 1, at: now };
        urls::put(&mut batch, &state.db, own.fingerprint(), &record(&own, None, aside));
        state.commit(batch, now).unwrap();
        (0..113).for_each(|_| _ = show(&mut state, 0, true));
        assert!(state.is_in_parked_part(&own));
        state.readmit.push_back(RuleId(7));
        while state.readmit_some(now).unwrap() {}
        assert!(!state.is_in_parked_part(&own));
        let back = urls::get(&state.db, own.fingerprint()).unwrap().unwrap();
        assert!(matches!(back.state, UrlState::Queued(_)), "{:?}", back.state);
    }

    #[test]
    fn no_more_probes_for_nothing_are_awaited_than_leaves_room_for_those_of_rules() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let probe = crate::content::probes::plan(1, &["/a"], 1).remove(0);
        let mut batch = Batch::default();
        for n in 0..HOST_PROBES_MAX + 2 {
            let page = url(&format!("http://h{n}.example/"));
            state.ask_nothing(&mut batch, &page, probe.clone()).unwrap();
        }
        assert_eq!(state.probes.len(), HOST_PROBES_MAX);
    }
}
