//! The miner's side of the crawl: what it is told, what it answers, and where it runs.
//!
//! The loop tells it of every page through a bounded channel and never waits for it: when the
//! channel is full, a page is not told, which costs evidence and no time. In a real crawl it has a
//! thread of its own, since mining a full sample takes seconds; in a simulation it works inline, so
//! that the same seed gives the same crawl.
//!
//! What it answers (a rule set, events, probes, checkpoints) is applied by the loop, in the loop's
//! batches.

use std::collections::{BTreeSet, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::dust::declared::DeclaredRule;
use crate::dust::durable::RuleRows;
use crate::dust::{
    self, Fetched, Finding, Observation, Probe, Rule, RuleBook, RuleEvent, RuleId, RuleSet,
    RuleState,
};
use crate::url::{CrawlUrl, Site};

/// Messages that may wait for the miner.
const WAITING_MAX: usize = 4096;

/// Answers of the miner that may wait for the loop, after which the miner does.
const ANSWERS_MAX: usize = 256;

/// How long messages gather: to be woken for a page costs the loop and the miner more than most
/// pages do to be heard.
const GATHERS: std::time::Duration = std::time::Duration::from_millis(5);

/// Pages of all sites between two checkpoints.
const CHECKPOINT_EVERY: u64 = 1000;

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

/// What the loop tells the miner.
#[derive(Debug)]
pub(super) enum Tell {
    /// A page was fetched; the number is that of its row until a checkpoint holds it.
    Page(Box<Observation>, u64, Timestamp),
    /// A probe came to this; the second is its reference.
    Probed(u64, Fetched, Option<Fetched>, Timestamp),
    /// An audited URL with its key and what that showed, and what the URL says of the rules.
    Audited(Vec<RuleId>, Box<(CrawlUrl, CrawlUrl, Fetched)>, Finding, Timestamp),
    /// A site declares rules.
    Declared(Site, Vec<DeclaredRule>),
    /// Rules suppressed a URL.
    Suppressed(Vec<RuleId>),
    /// A URL that rules suppressed is to be fetched after all.
    Restored(Vec<RuleId>),
    /// An operator takes a rule out of force, or puts it in.
    Decide(RuleId, bool, Timestamp),
    /// Say what is worth keeping, and then that this was heard, by its number.
    Checkpoint(u64),
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
    /// What is to be kept: what has changed in the book, and samples of sites, none where a sample
    /// was dropped; they hold all rows up to this number.
    Keep(RuleRows, Vec<(Site, Option<Vec<u8>>)>, u64),
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

    /// Returns what the miner has to say up to a checkpoint, at the end of a run, and whether that
    /// is all: it waits for a mining that is under way, at most as long as `patience`, and is not
    /// waited for any more once it has been silent too often.
    pub(super) fn last_words(&mut self, patience: std::time::Duration) -> (Vec<Said>, bool) {
        let number = match self {
            Learner::Thread { asked, .. } => {
                *asked += 1;
                *asked
            }
            Learner::Off | Learner::Inline(_) => 0,
        };
        let mut answers = self.tell(Tell::Checkpoint(number));
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
    changed: BTreeSet<Site>,
}

impl Mind {
    /// `changed` are the sites whose samples hold more than what is kept of them.
    pub(super) fn new(book: RuleBook, probes: bool, changed: BTreeSet<Site>) -> Self {
        Mind { book, probes, pages: 0, latest: 0, changed }
    }

    fn hear(&mut self, message: Tell) -> Vec<Said> {
        let mut said = Vec::new();
        let mut heard = None;
        match message {
            Tell::Page(observation, row, now) => {
                self.latest = row;
                let site = observation.url.site();
                self.book.observe(&observation);
                self.changed.insert(site.clone());
                self.pages += 1;
                self.mine(now);
                self.probe(&site, now, &mut said);
                if self.pages.is_multiple_of(CHECKPOINT_EVERY) {
                    said.push(self.keep());
                }
            }
            Tell::Probed(id, outcome, reference, now) => {
                let site = self.book.site_of_probe(id);
                self.book.probe_result(id, outcome, reference, now);
                if let Some(site) = site {
                    self.probe(&site, now, &mut said);
                }
            }
            Tell::Audited(rules, audited, finding, now) => {
                let (url, key, shown) = &*audited;
                self.book.audit_result(&rules, (url, key), (*shown, finding), now);
            }
            Tell::Declared(site, rules) => {
                for (rule, scope) in rules {
                    self.book.declare(&site, rule, scope);
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
                said.push(self.keep());
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

    fn keep(&mut self) -> Said {
        self.changed.extend(self.book.take_forgotten());
        let sites = std::mem::take(&mut self.changed);
        let samples = sites.into_iter().map(|site| {
            let sample = self.book.encode_site(&site);
            (site, sample)
        });
        let samples = samples.collect();
        Said::Keep(self.book.take_changed_rows(), samples, self.latest)
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
            let (said, is_done) = learner.last_words(std::time::Duration::ZERO);
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

    /// While the miner was busy the finding of an audit was lost with what was only counted, and
    /// its URL, which was fetched, never spoke again.
    #[test]
    fn a_finding_waits_for_room_and_what_is_only_counted_does_not() {
        let (tell, told) = sync_channel(1);
        let (_saying, said) = sync_channel(8);
        let mut learner = Learner::over(tell, said);
        let url = CrawlUrl::parse("http://a.example/p").unwrap();
        let audited = || {
            let pair = (url.clone(), url.clone(), Fetched::Gone);
            Tell::Audited(vec![RuleId(1)], Box::new(pair), Finding::Failed, Timestamp::ZERO)
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
