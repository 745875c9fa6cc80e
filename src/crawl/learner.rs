//! The miner's side of the crawl: what it is told, what it answers, and where it runs.
//!
//! The loop tells it of every page through a bounded channel and never waits for it: when the
//! channel is full, a page is not told, which costs evidence and no time. In a real crawl it has a
//! thread of its own, since mining a full sample takes seconds; in a simulation it works inline, so
//! that the same seed gives the same crawl.
//!
//! What it answers (a rule set, events, probes, rules and samples to be kept) is applied by the
//! loop, in its batches.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::dust::declared::DeclaredRule;
use crate::dust::durable::RuleRows;
use crate::dust::{
    self, Fetched, Finding, LedBack, Observation, Probe, Rule, RuleBook, RuleEvent, RuleId,
    RuleSet, RuleState,
};
use crate::url::{CrawlUrl, Site};

/// Messages that may wait for the miner.
const WAITING_MAX: usize = 4096;

/// Answers of the miner that may wait for the loop, after which the miner does.
const ANSWERS_MAX: usize = 256;

/// How long messages gather: to be woken for a page costs the loop and the miner more than most
/// pages do to be heard.
const GATHERS: std::time::Duration = std::time::Duration::from_millis(5);

/// Pages of all sites after which the rules are kept with what they have come to since.
const CHECKPOINT_EVERY: u64 = 1000;

/// The sample of a site is kept when one part in so many of it is new: as it is written whole, a
/// page then costs the same whatever the size of the sample. Until then rows hold what is new.
const NEW_PART: usize = 4;

/// Pages that are new before a sample is kept, however small it is.
const NEW_MIN: usize = 8;

/// Bytes of samples that are kept at a time at the end of a run.
const KEPT_AT_ONCE: usize = 1 << 20;

/// Waits in a row in which the miner says nothing, after which it is not waited for any more: a
/// mining takes seconds, on a busy machine a minute.
const SILENCES_MAX: u32 = 24;

/// Findings that wait for room in the channel; of more, the later ones are lost.
const OWED_MAX: usize = 10_000;

/// Probes asked for at a time and site.
const PROBES_MAX: usize = 8;

/// What is done with what is learned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DustMode {
    /// `suggest` for `purpose = "archive"`, where every form of a page may be wanted, else
    /// `enforce`.
    #[default]
    Auto,
    /// Nothing is learned.
    Off,
    /// Rules are searched for, but nothing is fetched for their sake.
    Observe,
    /// Rules are proved, with probes, and shown; none is applied.
    Suggest,
    /// Proved rules are applied.
    Enforce,
}

/// Learning of rules during the crawl.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct DustSettings {
    /// `auto`, `off`, `observe`, `suggest` or `enforce`.
    pub mode: DustMode,
    /// The sample of a site, and the search in it.
    pub miner: dust::miner::Settings,
    /// Proof by probes, and the audit of rules in force.
    pub validate: dust::validate::Settings,
}

impl DustSettings {
    /// Returns the settings of the rule book.
    pub fn book(&self) -> dust::Settings {
        dust::Settings { miner: self.miner.clone(), validate: self.validate.clone() }
    }
}

/// A URL that rules rewrite, and what it was compared with.
#[derive(Debug)]
pub(super) struct AuditedForm {
    pub(super) url: CrawlUrl,
    /// Its key: another URL, which need not be there.
    pub(super) key: CrawlUrl,
    /// The page that stands for it, under the address it was fetched by.
    pub(super) stands: CrawlUrl,
    /// What that had shown.
    pub(super) shown: Fetched,
}

/// What the loop tells the miner.
#[derive(Debug)]
pub(super) enum Tell {
    /// A page was fetched; the number is that of its row until a kept sample holds it.
    Page(Box<Observation>, u64, Timestamp),
    /// A probe came to this; the second is its reference.
    Probed(u64, Box<(Fetched, Option<Fetched>)>, Timestamp),
    /// An audited URL, and what it says of the rules.
    Audited(Vec<RuleId>, Box<AuditedForm>, Finding, Timestamp),
    /// A site declares rules.
    Declared(Site, Vec<DeclaredRule>),
    /// Links led back to the page they were found on.
    SelfLinks(Box<LedBack>, Timestamp),
    /// Rules suppressed a URL.
    Suppressed(Vec<RuleId>),
    /// A URL that rules suppressed is to be fetched after all.
    Restored(Vec<RuleId>),
    /// An operator takes a rule out of force, or puts it in.
    Decide(RuleId, bool, Timestamp),
    /// Say what is worth keeping of the rules, and then that this was heard, by its number.
    Checkpoint(u64),
    /// The same for samples, of which more may be left to be kept.
    Leave(u64),
    /// Show the rules to those who watch.
    Show,
}

impl Tell {
    /// Returns true for what a rule is to hear, however busy the miner is.
    fn is_owed(&self) -> bool {
        matches!(self, Tell::Audited(..) | Tell::Probed(..))
    }
}

/// What the miner answers.
#[derive(Debug)]
pub(super) enum Said {
    /// Another rule set is to be in force, with what has changed in the book that it follows from,
    /// and the fetched URLs that its new rules give another key, with that key.
    Rules(RuleSet, RuleRows, Vec<(CrawlUrl, CrawlUrl)>),
    /// Steps in the lives of rules.
    Events(Vec<RuleEvent>),
    /// URLs to fetch for the sake of rules.
    Probes(Vec<Probe>),
    /// What has changed in the book is to be kept.
    Keep(RuleRows),
    /// The sample of a site is to be kept, or none any more; it holds all rows of the site up to
    /// this number.
    Sample(Site, Option<Vec<u8>>, u64),
    /// The rules that are worth a look, and the probes that all have cost.
    Shown(Vec<Rule>, u64),
    /// All that was told up to this checkpoint was heard, and all that follows from it was said.
    Heard(u64),
}

/// Rules that are shown at a time; those that are not stay as observers last saw them.
const SHOWN_MAX: usize = 100;

/// Where the miner runs.
#[derive(Debug)]
pub(super) enum Learner {
    /// Nowhere: rules are off.
    Off,
    /// In the loop.
    Inline(Box<Mind>),
    /// On a thread of its own.
    Thread {
        tell: SyncSender<Tell>,
        said: Receiver<Said>,
        /// Findings that wait for room in the channel.
        owed: VecDeque<Tell>,
        /// Messages that were not told because the channel was full.
        dropped: u64,
        /// Checkpoints that were asked for.
        asked: u64,
        /// Waits for its last words, in a row, in which it said nothing.
        silences: u32,
    },
}

impl Learner {
    /// Starts a thread for the miner; `wake` is called when it has said something.
    pub(super) fn spawn(
        mut mind: Mind,
        wake: impl Fn() + Send + 'static,
    ) -> std::io::Result<Learner> {
        let (tell, told) = sync_channel::<Tell>(WAITING_MAX);
        let (saying, said) = sync_channel(ANSWERS_MAX);
        let run = move || {
            // It ends when the loop is gone, and what it would have said then interests nobody.
            while let Ok(first) = told.recv() {
                for message in std::iter::once(first).chain(told.try_iter()) {
                    for answer in mind.hear(message) {
                        if saying.send(answer).is_err() {
                            return;
                        }
                        wake();
                    }
                }
                std::thread::sleep(GATHERS);
            }
        };
        std::thread::Builder::new().name("dust miner".to_owned()).spawn(run)?;
        Ok(Learner::over(tell, said))
    }

    /// Speaks with a miner over these channels.
    pub(super) fn over(tell: SyncSender<Tell>, said: Receiver<Said>) -> Learner {
        Learner::Thread { tell, said, owed: VecDeque::new(), dropped: 0, asked: 0, silences: 0 }
    }

    /// Tells the miner something; returns what it says at once.
    pub(super) fn tell(&mut self, message: Tell) -> Vec<Said> {
        match self {
            Learner::Off => Vec::new(),
            Learner::Inline(mind) => mind.hear(message),
            Learner::Thread { tell, owed, dropped, .. } => {
                owed.push_back(message);
                while let Some(message) = owed.pop_front() {
                    if let Err(TrySendError::Full(message)) = tell.try_send(message) {
                        owed.push_front(message);
                        break;
                    }
                }
                // What keeps its place is what is told once: a page that came to nothing for want
                // of a finding says nothing again.
                if owed.back().is_some_and(|last| !last.is_owed()) || owed.len() > OWED_MAX {
                    owed.pop_back();
                    *dropped += 1;
                }
                Vec::new()
            }
        }
    }

    /// Returns what the miner has said meanwhile.
    pub(super) fn listen(&mut self) -> Vec<Said> {
        match self {
            Learner::Thread { said, .. } => said.try_iter().take(ANSWERS_MAX).collect(),
            Learner::Off | Learner::Inline(_) => Vec::new(),
        }
    }

    /// Returns what the miner has to say up to a checkpoint, which is made of a number, at the end
    /// of a run, and whether that is all: it waits for a mining that is under way, at most as long
    /// as `patience`, and is not waited for any more once it has been silent too often.
    pub(super) fn last_words(
        &mut self,
        checkpoint: fn(u64) -> Tell,
        patience: std::time::Duration,
    ) -> (Vec<Said>, bool) {
        let number = match self {
            Learner::Thread { asked, .. } => {
                *asked += 1;
                *asked
            }
            Learner::Off | Learner::Inline(_) => 0,
        };
        let mut answers = self.tell(checkpoint(number));
        let Learner::Thread { said, silences, .. } = self else { return (answers, true) };
        loop {
            match said.recv_timeout(patience) {
                // Checkpoints that come by themselves, or that were asked for before, are not it.
                Ok(Said::Heard(heard)) if heard == number => {
                    *silences = 0;
                    return (answers, true);
                }
                Ok(answer) => {
                    *silences = 0;
                    answers.push(answer);
                }
                Err(RecvTimeoutError::Timeout) => {
                    *silences += 1;
                    let is_lost = *silences >= SILENCES_MAX;
                    if is_lost {
                        tracing::error!("the miner does not answer; what it found last is lost");
                    }
                    return (answers, is_lost);
                }
                // A miner that is gone says nothing more.
                Err(RecvTimeoutError::Disconnected) => return (answers, true),
            }
        }
    }

    /// Returns how many messages were not told because the miner was too busy.
    pub(super) fn dropped(&self) -> u64 {
        match self {
            Learner::Thread { dropped, .. } => *dropped,
            Learner::Off | Learner::Inline(_) => 0,
        }
    }

    /// Returns true where there is a miner.
    pub(super) fn is_on(&self) -> bool {
        !matches!(self, Learner::Off)
    }
}

/// The rule book, and when it does what.
#[derive(Debug)]
pub(super) struct Mind {
    book: RuleBook,
    /// Whether URLs may be fetched for the sake of rules.
    probes: bool,
    pages: u64,
    /// Number of the last row that was told.
    latest: u64,
    /// The sites whose samples are not what is kept of them, with how many rows hold the rest.
    unkept: BTreeMap<Site, usize>,
    /// Those of them of which something is held by no row: a page that is another one than its key
    /// led to, or a dead URL.
    rowless: BTreeSet<Site>,
}

impl Mind {
    /// `unkept` are the sites whose samples hold more than what is kept of them, with how many rows
    /// hold the rest.
    pub(super) fn new(book: RuleBook, probes: bool, unkept: BTreeMap<Site, usize>) -> Self {
        Mind { book, probes, pages: 0, latest: 0, unkept, rowless: BTreeSet::new() }
    }

    fn hear(&mut self, message: Tell) -> Vec<Said> {
        let mut said = Vec::new();
        let mut heard = None;
        match message {
            Tell::Page(observation, row, now) => {
                self.latest = row;
                let site = observation.url.site();
                self.book.observe(&observation);
                self.pages += 1;
                self.mine(now);
                self.probe(&site, now, &mut said);
                self.keep_grown(site, &mut said);
                if self.pages.is_multiple_of(CHECKPOINT_EVERY) {
                    said.push(Said::Keep(self.book.take_changed_rows()));
                    let sites = std::mem::take(&mut self.rowless);
                    self.rowless = self.keep_some(sites, &mut said);
                }
            }
            Tell::Probed(id, came, now) => {
                let (outcome, reference) = *came;
                let site = self.book.site_of_probe(id);
                self.book.probe_result(id, outcome, reference, now);
                if let Some(site) = site {
                    self.probe(&site, now, &mut said);
                    self.note_rowless(site);
                }
            }
            Tell::Audited(rules, audited, finding, now) => {
                let AuditedForm { url, key, stands, shown } = &*audited;
                if finding == Finding::Failed && shown.is_page() {
                    self.book.set_apart(url, stands);
                }
                self.book.audit_result(&rules, (url, key), (*shown, finding), now);
                if finding == Finding::Failed {
                    self.probe(&url.site(), now, &mut said);
                    self.note_rowless(url.site());
                }
            }
            Tell::Declared(site, rules) => {
                for (rule, scope) in rules {
                    self.book.declare(&site, rule, scope);
                }
            }
            Tell::SelfLinks(found, now) => {
                let site = found.page.site();
                if let Err(error) = self.book.found_self_links(*found, now) {
                    tracing::error!(%site, %error, "a rule for links to their own page is no use");
                }
            }
            Tell::Suppressed(rules) => self.book.count_suppressed(&rules),
            Tell::Restored(rules) => self.book.count_restored(&rules),
            Tell::Decide(rule, enforce, now) => {
                let known = if enforce {
                    self.book.enforce(rule, "an operator says so", now)
                } else {
                    self.book.suspend(rule, "an operator says so", now)
                };
                if !known {
                    tracing::warn!(rule = rule.0, "there is no such rule");
                }
            }
            Tell::Checkpoint(number) => {
                said.push(Said::Keep(self.book.take_changed_rows()));
                heard = Some(number);
            }
            Tell::Leave(number) => {
                self.keep_rest(&mut said);
                heard = Some(number);
            }
            Tell::Show => {
                let rules = most_telling(self.book.rules());
                said.push(Said::Shown(rules, self.book.probes_spent()));
            }
        }
        self.report(&mut said);
        said.extend(heard.map(Said::Heard));
        said
    }

    fn mine(&mut self, now: Timestamp) {
        for site in self.book.take_due() {
            self.unkept.entry(site.clone()).or_default();
            match self.book.mine(&site, now) {
                Ok(found) => tracing::info!(%site, found, "mined for rules"),
                Err(error) => tracing::error!(%site, %error, "a rule in force cannot be used"),
            }
        }
    }

    fn probe(&mut self, site: &Site, now: Timestamp, said: &mut Vec<Said>) {
        if !self.probes {
            return;
        }
        // What robots.txt forbids comes back as forbidden: the loop asks it for every lease.
        match self.book.next_probes(now, site, PROBES_MAX, &|_| true) {
            Ok(probes) if !probes.is_empty() => said.push(Said::Probes(probes)),
            Ok(_) => {}
            Err(error) => tracing::error!(%site, %error, "a rule on trial cannot be used"),
        }
    }

    fn report(&mut self, said: &mut Vec<Said>) {
        // The rules first: what an event brings back must not meet the rule that has fallen.
        let events = self.book.take_events();
        match self.book.take_rule_set() {
            Ok(Some(set)) => {
                let keys = self.book.take_new_keys(&set);
                said.push(Said::Rules(set, self.book.take_changed_rows(), keys));
            }
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "a rule cannot be put in force"),
        }
        if !events.is_empty() {
            said.push(Said::Events(events));
        }
    }

    /// Keeps the sample of a site that has grown by a page, if enough of it is new, and nothing any
    /// more of those that were dropped to make room for it.
    fn keep_grown(&mut self, site: Site, said: &mut Vec<Said>) {
        for site in self.book.take_forgotten() {
            said.push(self.keep_sample(site));
        }
        let len = self.book.sample_size(&site);
        let new = self.unkept.entry(site.clone()).or_default();
        *new += 1;
        // What came to no sample at all is held by rows alone, which are worth nothing.
        if len == 0 || *new >= NEW_MIN.max(len / NEW_PART) {
            said.push(self.keep_sample(site));
        }
    }

    /// Notes that the sample of a site, if there is one, has come to hold what no row does.
    fn note_rowless(&mut self, site: Site) {
        if self.book.sample_size(&site) > 0 {
            self.unkept.entry(site.clone()).or_default();
            self.rowless.insert(site);
        }
    }

    /// Keeps some of the samples that are not kept as they are.
    fn keep_rest(&mut self, said: &mut Vec<Said>) {
        self.unkept.extend(self.book.take_forgotten().into_iter().map(|site| (site, 0)));
        self.keep_some(self.unkept.keys().cloned().collect(), said);
    }

    /// Keeps the samples of some of these sites; returns the others.
    fn keep_some(&mut self, mut sites: BTreeSet<Site>, said: &mut Vec<Said>) -> BTreeSet<Site> {
        let mut bytes = 0;
        while bytes < KEPT_AT_ONCE
            && let Some(site) = sites.pop_first()
        {
            let kept = self.keep_sample(site);
            bytes += if let Said::Sample(_, Some(sample), _) = &kept { sample.len() } else { 0 };
            said.push(kept);
        }
        sites
    }

    fn keep_sample(&mut self, site: Site) -> Said {
        self.unkept.remove(&site);
        self.rowless.remove(&site);
        let sample = self.book.encode_site(&site);
        Said::Sample(site, sample, self.latest)
    }
}

/// Returns copies of the rules in force, by what they save, then of those on trial, then of others.
fn most_telling<'r>(rules: impl Iterator<Item = &'r Rule>) -> Vec<Rule> {
    let mut all: Vec<&Rule> = rules.collect();
    let key = |rule: &&Rule| {
        let rank = match rule.state {
            RuleState::Enforced => 0,
            RuleState::Shadow => 1,
            RuleState::Suspended => 2,
            RuleState::Candidate => 3,
            RuleState::Retired => 4,
        };
        (rank, std::cmp::Reverse(rule.evidence.suppressed), rule.id)
    };
    if all.len() > SHOWN_MAX {
        all.select_nth_unstable_by_key(SHOWN_MAX, key);
        all.truncate(SHOWN_MAX);
    }
    all.into_iter().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dust::{RuleKind, Scope, Source};

    #[test]
    fn a_miner_that_is_still_at_work_has_not_said_its_last_words() {
        let (tell, told) = sync_channel(8);
        let (saying, said) = sync_channel(8);
        let mut learner = Learner::over(tell, said);
        let mut last_words = || {
            let (said, is_done) = learner.last_words(Tell::Checkpoint, std::time::Duration::ZERO);
            (said.len(), is_done)
        };
        assert_eq!(last_words(), (0, false));
        saying.send(Said::Shown(Vec::new(), 0)).unwrap();
        saying.send(Said::Heard(1)).unwrap();
        assert_eq!(last_words(), (2, false), "that was the checkpoint before");
        saying.send(Said::Heard(3)).unwrap();
        assert_eq!(last_words(), (0, true));
        assert_eq!(told.try_iter().count(), 3);
        let waits = std::iter::repeat_with(&mut last_words).take_while(|(_, is_done)| !is_done);
        assert_eq!(waits.count(), SILENCES_MAX as usize - 1, "nobody waits for ever");
        drop(saying);
        assert_eq!(last_words(), (0, true), "it is gone");
    }

    #[test]
    fn of_many_rules_those_in_force_are_shown_before_all_others() {
        let rules: Vec<Rule> = (0..1_000u64)
            .map(|n| {
                let (name, value) = (n.to_string(), String::new());
                let kind = RuleKind::SetParameter { name, value };
                let site = Site::new("example.org");
                let mut rule =
                    Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO);
                rule.evidence.suppressed = n;
                rule.state = match n % 10 {
                    0 => RuleState::Enforced,
                    1 => RuleState::Shadow,
                    _ => RuleState::Retired,
                };
                rule
            })
            .collect();
        let shown = most_telling(rules.iter());
        assert_eq!(shown.len(), SHOWN_MAX);
        assert!(shown.iter().all(|rule| rule.state == RuleState::Enforced));
        let few = most_telling(rules[..15].iter());
        assert_eq!(few.len(), 15);
    }

    /// A mind, and what it says to keep of samples: the site, the bytes, and the row.
    fn heard(mind: &mut Mind, message: Tell) -> Vec<(Site, Option<usize>, u64)> {
        let kept = mind.hear(message).into_iter().filter_map(|said| match said {
            Said::Sample(site, sample, row) => Some((site, sample.map(|bytes| bytes.len()), row)),
            _ => None,
        });
        kept.collect()
    }

    fn page(site: &str, row: u64) -> Tell {
        let url = CrawlUrl::parse(&format!("http://{site}/page/{row:06}")).unwrap();
        let page = Observation::of(url, 200, crate::dust::Text::Page([row, 0, 0, 0]));
        Tell::Page(Box::new(page), row, Timestamp::ZERO)
    }

    /// Every thousand pages the samples of all sites were written whole, so that a page cost the
    /// more the longer the crawl went on, and all of them were held in memory for it.
    #[test]
    fn a_page_costs_the_same_to_keep_whatever_the_size_of_its_sample() {
        let mut mind = Mind::new(RuleBook::new(dust::Settings::default()), false, BTreeMap::new());
        let mut written = 0;
        let mut last = 0;
        for row in 1..=4_000 {
            let kept = heard(&mut mind, page("a.example", row));
            assert!(kept.len() <= 1);
            for (_, bytes, held) in kept {
                last = bytes.unwrap();
                written += last;
                assert_eq!(held, row);
            }
        }
        assert!(written < 6 * last, "{written} bytes were written for a sample of {last}");
        assert!(mind.unkept.values().all(|rows| *rows < 1_000), "rows hold a quarter at most");
    }

    /// That two URLs are two pages stands in the sample alone: a site that was read to its end and
    /// then audited for hours would have forgotten it with the process.
    #[test]
    fn what_no_row_holds_is_kept_with_the_rules() {
        let mut mind = Mind::new(RuleBook::new(dust::Settings::default()), false, BTreeMap::new());
        (1..=100).for_each(|row| drop(heard(&mut mind, page("a.example", row))));
        let url = |n: u32| CrawlUrl::parse(&format!("http://a.example/page/{n:06}")).unwrap();
        let audited = |finding: Finding| {
            Tell::Audited(
                vec![],
                Box::new(AuditedForm {
                    url: url(1),
                    key: url(2),
                    stands: url(2),
                    shown: Fetched::Gone,
                }),
                finding,
                Timestamp::ZERO,
            )
        };
        let mut kept_by = |tell: Tell| {
            heard(&mut mind, tell);
            let rows = 1_000 - mind.pages % 1_000;
            let others = (0..rows).map(|row| page("b.example", 10_000 + row));
            let kept: Vec<_> = others.flat_map(|tell| heard(&mut mind, tell)).collect();
            kept.iter().filter(|kept| kept.0.as_str() == "a.example").count()
        };
        assert_eq!(kept_by(audited(Finding::Same)), 0);
        assert_eq!(kept_by(audited(Finding::Failed)), 1);
        assert_eq!(kept_by(audited(Finding::Same)), 0, "once");
    }

    #[test]
    fn at_the_end_all_samples_are_kept_in_pieces_and_a_dropped_one_goes() {
        let mut settings = dust::Settings::default();
        settings.miner.pages_total = 40_000;
        let mut mind = Mind::new(RuleBook::new(settings), false, BTreeMap::new());
        let mut rows = 0..;
        let mut tell = |mind: &mut Mind, site: &str, pages: usize| -> Vec<_> {
            let told = rows.by_ref().take(pages);
            told.flat_map(|row| heard(mind, page(site, row))).collect()
        };
        tell(&mut mind, "gone.example", 3);
        for site in 0..4 {
            // Each is kept when it has 9,000 pages or so, and then has some that are new.
            tell(&mut mind, &format!("s{site}.example"), 9_900);
        }
        let gone = tell(&mut mind, "s4.example", 9_900);
        let gone: Vec<&str> =
            gone.iter().filter(|kept| kept.1.is_none()).map(|kept| kept.0.as_str()).collect();
        assert_eq!(gone, ["gone.example", "s0.example"], "what was not used for longest");
        let mut pieces = Vec::new();
        for number in 0..9 {
            let sites: Vec<Site> =
                heard(&mut mind, Tell::Leave(number)).into_iter().map(|kept| kept.0).collect();
            if sites.is_empty() {
                break;
            }
            pieces.push(sites);
        }
        assert!(pieces.len() > 1, "{pieces:?}");
        let kept: Vec<&str> = pieces.iter().flatten().map(Site::as_str).collect();
        assert_eq!(kept, ["s1.example", "s2.example", "s3.example", "s4.example"]);
    }

    /// While the miner was busy the finding of an audit was lost with what was only counted, and
    /// its URL, which was fetched, never spoke again.
    #[test]
    fn a_finding_waits_for_room_and_what_is_only_counted_does_not() {
        let (tell, told) = sync_channel(1);
        let (_saying, said) = sync_channel(8);
        let mut learner = Learner::over(tell, said);
        let url = CrawlUrl::parse("http://a.example/p").unwrap();
        let audited = || {
            let [key, stands, url] = [url.clone(), url.clone(), url.clone()];
            let form = AuditedForm { url, key, stands, shown: Fetched::Gone };
            Tell::Audited(vec![RuleId(1)], Box::new(form), Finding::Failed, Timestamp::ZERO)
        };
        learner.tell(Tell::Suppressed(Vec::new()));
        learner.tell(audited());
        learner.tell(Tell::Suppressed(Vec::new()));
        learner.tell(audited());
        let heard = (0..4).map(|_| {
            let one = told.try_recv().expect("there is more to hear");
            learner.tell(Tell::Show);
            matches!(one, Tell::Audited(..))
        });
        assert_eq!(heard.collect::<Vec<_>>(), [false, true, true, false], "in their order");
    }
}
