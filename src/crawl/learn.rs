//! Between the loop and the miner: pages become observations, answers become changes.

use super::admit::Admitted;
use super::beside::Beside;
use super::discover::Link;
use super::error::CrawlError;
use super::evidence::{Marks, fetched_of};
use super::judge::{Leads, Look, Under};
use super::learned;
use super::learner::{Said, Tell};
use super::state::State;
use super::told;
use super::visit::{PageFacts, Visit};
use crate::clock::Timestamp;
use crate::content::probes::Probe as Nonsense;
use crate::db::families::queue::Item;
use crate::db::families::{dust as samples, urls};
use crate::db::{Batch, DbError};
use crate::dust::declared::{self, DeclaredRule};
use crate::dust::{Declared, Fetched, Observation, Probe, RuleEvent, RuleId, RuleState, Text};
use crate::fetch::{Answer, Outcome};
use crate::filter::{Candidate, Found};
use crate::frontier::{PRIORITIES, UrlState};
use crate::url::{CrawlUrl, Fingerprint, Host, Site};

/// Probes whose outcome is awaited; more would mean that nobody takes them.
pub(super) const PROBES_MAX: usize = 10_000;

/// How long the loop waits for the miner when nothing else is left to do.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_secs(5);

/// Locations of a sitemap that are looked at for the host that the site prefers.
const LISTED_MAX: usize = 1_000;

/// Redirects that a probe follows.
const PROBE_HOPS_MAX: u8 = 5;

/// A fetch that a judgement needs.
#[derive(Clone, Debug)]
pub(super) struct ProbeFlight {
    pub(super) asker: Asker,
    /// Redirects followed so far.
    pub(super) hops: u8,
}

/// Whose judgement needs a fetch.
#[derive(Clone, Debug)]
pub(super) enum Asker {
    /// The miner's.
    Rule {
        /// The miner's name for it.
        id: u64,
        /// True for the second fetch, the URL as found.
        is_reference: bool,
    },
    /// That of audits which did not agree: what stands for their URLs, of which this names one, is
    /// fetched once more, under its own address or another one.
    Audit(Fingerprint, Under),
    /// That of an audit whose form, which this names, is fetched once more.
    Form(Fingerprint),
    /// How a host answers to what cannot exist.
    Host {
        /// The host.
        host: Host,
        /// What it is asked for.
        probe: Nonsense,
    },
}

/// What a page led to that nothing had led to before.
#[derive(Clone, Debug, Default)]
pub(super) struct News {
    /// URLs that were queued for it, but for forms of known ones.
    pub(super) urls: u64,
    /// These URLs, if rules would have hidden the page.
    pub(super) led_to: Vec<Fingerprint>,
    /// Parts that it shows are among them.
    pub(super) has_parts: bool,
}

/// A probe with two fetches, until both are there.
#[derive(Clone, Debug, Default)]
pub(super) struct Pair {
    wants_reference: bool,
    outcome: Option<Fetched>,
    reference: Option<Fetched>,
}

impl State {
    /// Tells the miner of a page, given what it shows and by which marks it is told from others,
    /// and of what it led to that is new.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn learn(
        &mut self,
        batch: &mut Batch,
        admitted: &Admitted,
        answer: &Answer,
        (facts, (fetched, marks), news): (&PageFacts, (Fetched, Marks), &News),
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        if !self.learner.is_on() {
            return Ok(());
        }
        let waiting = &admitted.lease.waiting;
        let troubled = self.is_troubled(admitted);
        let key = admitted.canonical.as_deref().and_then(|key| CrawlUrl::parse(key).ok());
        let (text, digest, bag) = match fetched {
            Fetched::Page { text, digest, bag, .. } => (text, digest, bag),
            _ => (Text::Unknown, None, None),
        };
        let redirect = facts.redirect.clone().map(Declared::Redirect);
        let canonical = facts.canonical.clone().filter(|url| *url != waiting.url);
        self.tell_declared(waiting.url.site(), declarations(&waiting.url, answer, facts));
        let observation = Observation {
            url: waiting.url.clone(),
            key: key.clone().unwrap_or_else(|| waiting.url.clone()),
            status: answer.status,
            text,
            digest,
            bag,
            declared: redirect.or(canonical.map(Declared::Canonical)),
            junk: facts.junk.is_some(),
            troubled,
        };
        if troubled {
            self.checks.end(waiting.fingerprint);
            self.stood.remove(&waiting.fingerprint);
        } else if key.is_some() || self.is_compared(waiting.fingerprint) {
            let key = key.as_ref().unwrap_or(&waiting.url);
            let parts = marks.parts.filter(|_| news.has_parts);
            let (redirect, led_to) = (facts.redirect.as_ref(), &news.led_to[..]);
            let words = facts.analysis.as_ref().map(|analysis| &analysis.vocabulary);
            let beside = marks.beside.zip(Beside::of(facts));
            let wording = marks.wording;
            let beside = beside.as_ref();
            let leads = Leads { redirect, new: news.urls, led_to, parts, wording, words, beside };
            let shown = (fetched, leads);
            self.tell_audit(batch, (&waiting.url, waiting.fingerprint), key, shown, now)?;
        }
        if let Some(analysis) = facts.analysis.as_ref().filter(|_| !troubled)
            && self.rules.snapshot().knows(waiting.url.host_str())
        {
            self.looks.note_said(waiting.fingerprint, &analysis.vocabulary);
        }
        if !troubled {
            self.note_links_back(&waiting.url, (fetched, facts.redirect.as_ref()), now)?;
        }
        if let Some(via) = admitted.via.as_ref().filter(|_| !troubled) {
            let shown = (fetched, facts.redirect.as_ref());
            self.note_self_link((&waiting.url, via), shown, now)?;
        }
        let row = self.next_row();
        told::note(batch, &self.db, row, &observation);
        self.tell(Tell::Page(Box::new(observation), row, now));
        Ok(())
    }

    /// Returns true where a host had not recovered from 429, 503 or silence when it was asked: an
    /// answer given in trouble may be a page that says so, whatever its status, and is no evidence.
    pub(super) fn is_troubled(&self, admitted: &Admitted) -> bool {
        let record = self.frontier.active(admitted.lease.host).map(|active| &active.record);
        record.is_some_and(|record| record.pace.is_troubled())
    }

    /// Tells the miner what a site declares of its URLs, in its robots.txt or with a page.
    pub(super) fn tell_declared(&mut self, site: Site, rules: Vec<DeclaredRule>) {
        if self.learner.is_on() && !rules.is_empty() {
            self.tell(Tell::Declared(site, rules));
        }
    }

    /// Tells the miner, and what is known of the URL's host, that rules kept it from being fetched.
    pub(super) fn tell_suppressed(&mut self, url: &CrawlUrl, rules: &[u64]) {
        self.texts.note_hidden(&url.host());
        self.seen_of.note_suppressed(rules);
        if self.learner.is_on() {
            let rules = rules.iter().copied().map(RuleId).collect();
            // Counting says nothing at once that could not wait for the next page.
            self.tell(Tell::Suppressed(rules));
        }
    }

    /// Tells the miner that a URL which rules kept from being fetched is to be fetched after all.
    pub(super) fn tell_restored(&mut self, rules: &[u64]) {
        self.seen_of.note_restored(rules);
        if self.learner.is_on() {
            self.tell(Tell::Restored(rules.iter().copied().map(RuleId).collect()));
        }
    }

    /// Takes in what a probe came to, given the URL that was asked for; a redirect becomes one more
    /// probe.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn settle_probe(
        &mut self,
        batch: &mut Batch,
        number: u64,
        (asked, visit): (&CrawlUrl, &Visit),
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        let Some(ProbeFlight { asker, hops }) = self.probes.remove(&number) else {
            return Ok(());
        };
        let facts = visit.page.as_deref();
        let asker = match asker {
            Asker::Host { host, probe } => {
                return Ok(self.settle_nothing(batch, (host, probe), hops, asked, visit)?);
            }
            asker @ (Asker::Rule { .. } | Asker::Audit(..) | Asker::Form(_)) => asker,
        };
        let redirect = facts.and_then(|facts| facts.redirect.clone());
        if let Some(target) = redirect
            && hops < PROBE_HOPS_MAX
            && self.may_be_probed(&target)?
        {
            let asker = match asker {
                // It is led back to its own address: that is no other one.
                Asker::Audit(page, under) if target.fingerprint() == page => {
                    Asker::Audit(page, under.led_back())
                }
                asker => asker,
            };
            let flight = ProbeFlight { asker, hops: hops + 1 };
            return Ok(self.enqueue_probe(batch, &target, flight)?);
        }
        let fetched = match &*visit.outcome {
            Outcome::Answer(answer) => fetched_of(answer, visit.page.as_deref()),
            Outcome::Failed(_) => Fetched::Unavailable,
        };
        self.probe_came_to(batch, asker, Look::of(fetched, facts), now)
    }

    /// Takes in that a probe is not fetched, and what that counts as.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn give_up_probe(
        &mut self,
        batch: &mut Batch,
        number: u64,
        shown: Fetched,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        match self.probes.remove(&number) {
            Some(flight) => self.probe_came_to(batch, flight.asker, Look::of(shown, None), now),
            None => Ok(()),
        }
    }

    pub(super) fn probe_came_to(
        &mut self,
        batch: &mut Batch,
        asker: Asker,
        look: Look,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        let fetched = look.shown;
        let (id, is_reference) = match asker {
            Asker::Rule { id, is_reference } => (id, is_reference),
            Asker::Audit(page, under) => {
                return Ok(self.looked_at(batch, (page, under), look, now)?);
            }
            Asker::Form(form) => return Ok(self.form_looked_at(form, &look, now)?),
            // What a host may not be asked says nothing about how it answers.
            Asker::Host { .. } => return Ok(()),
        };
        let Some(pair) = self.pairs.get_mut(&id) else { return Ok(()) };
        if is_reference {
            pair.reference = Some(fetched);
        } else {
            pair.outcome = Some(fetched);
        }
        let (Some(outcome), true) =
            (pair.outcome, !pair.wants_reference || pair.reference.is_some())
        else {
            return Ok(());
        };
        let reference = pair.reference;
        self.pairs.remove(&id);
        self.tell(Tell::Probed(id, Box::new((outcome, reference)), now));
        Ok(())
    }

    /// Returns true if a probe is still awaited; its row may have outlived the run that asked.
    pub(super) fn awaits_probe(&self, number: u64) -> bool {
        self.probes.contains_key(&number)
    }

    /// Tells the miner something and notes what it says at once; [`State::apply_said`] applies
    /// that, between visits.
    pub(super) fn tell(&mut self, message: Tell) {
        let said = self.learner.tell(message);
        self.said.extend(said);
    }

    /// Applies what the miner has said, each in a batch of its own; returns true if there was
    /// anything.
    ///
    /// # Errors
    /// Returns what the database or the log of rules says.
    pub(super) fn apply_said(&mut self, now: Timestamp) -> Result<bool, CrawlError> {
        let heard = self.learner.listen();
        self.said.extend(heard);
        let said = std::mem::take(&mut self.said);
        let any = !said.is_empty();
        for one in said {
            let mut batch = Batch::default();
            match one {
                Said::Rules(set, rows, keys) => {
                    // Stored first, in one batch: a crash leaves the old version or the new.
                    learned::put_rules(&mut batch, &self.db, &rows);
                    if self.enforces {
                        self.note_keys(&mut batch, &keys)?;
                    }
                    self.commit(batch, now)?;
                    if self.enforces {
                        self.rules.publish(set);
                    }
                }
                Said::Events(events) => self.note_events(&events)?,
                Said::Shown(rules, probes) => self.seen_of.refresh(&rules, probes),
                Said::Heard(_) => {}
                Said::Probes(probes) => {
                    for probe in probes {
                        self.ask_probe(&mut batch, probe, now)?;
                    }
                    self.commit(batch, now)?;
                }
                Said::Keep(rows) => {
                    learned::put_rules(&mut batch, &self.db, &rows);
                    self.commit(batch, now)?;
                }
                Said::Sample(site, sample, row) => {
                    let (kind, name) = (samples::Kind::Sample, site.as_str());
                    match sample {
                        Some(sample) => samples::put(&mut batch, &self.db, kind, name, &sample),
                        None => samples::delete(&mut batch, &self.db, kind, name),
                    }
                    samples::delete_told(&mut batch, &self.db, name, row)?;
                    self.commit(batch, now)?;
                }
            }
        }
        Ok(any)
    }

    fn note_events(&mut self, events: &[RuleEvent]) -> Result<(), CrawlError> {
        for event in events {
            self.rule_log.write(event)?;
            self.seen_of.note_rule(event);
            if event.readmits() {
                self.tally.rules_retracted += u64::from(event.from == Some(RuleState::Enforced));
                self.readmit.push_back(event.rule);
            }
        }
        Ok(())
    }

    fn ask_probe(
        &mut self,
        batch: &mut Batch,
        probe: Probe,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        if self.probes.len() >= PROBES_MAX {
            return Ok(());
        }
        let Probe { id, url, reference, .. } = probe;
        self.pairs.insert(id, Pair { wants_reference: reference.is_some(), ..Pair::default() });
        let reference = reference.map(|reference| (reference, true));
        for (url, is_reference) in [(url, false)].into_iter().chain(reference) {
            let asker = Asker::Rule { id, is_reference };
            if self.may_be_probed(&url)? {
                self.enqueue_probe(batch, &url, ProbeFlight { asker, hops: 0 })?;
            } else {
                self.probe_came_to(batch, asker, Look::of(Fetched::Forbidden, None), now)?;
            }
        }
        Ok(())
    }

    /// Returns true for a URL that the crawl may fetch, as it was fetched or lies within its scope:
    /// what a rule makes of a URL, or a server sends to, may be anywhere.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn may_be_probed(&self, url: &CrawlUrl) -> Result<bool, DbError> {
        if self.filter.schedule(&Candidate::link(url, url, 0)).accept {
            return Ok(true);
        }
        let record = urls::get(&self.db, url.fingerprint())?;
        Ok(record.is_some_and(|record| matches!(record.state, UrlState::Done(_))))
    }

    /// Puts a probe into its host's queue, under a number of its own.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn enqueue_probe(
        &mut self,
        batch: &mut Batch,
        url: &CrawlUrl,
        flight: ProbeFlight,
    ) -> Result<(), DbError> {
        // What a host says to nonsense decides what its next pages are, and so does a doubt about a
        // rule that hides some of them. A rule that is but tried has time; where rules are enforced
        // none is tried by probes.
        let priority = match flight.asker {
            Asker::Rule { .. } if !self.enforces => PRIORITIES as u8 - 1,
            Asker::Rule { .. } | Asker::Host { .. } | Asker::Audit(..) | Asker::Form(_) => 0,
        };
        self.serials.probe += 1;
        let number = self.serials.probe;
        self.probes.insert(number, flight);
        let host = self.host_id(&url.host())?;
        let item = Item::Probe { url: url.to_string(), number };
        self.enqueue(batch, host, priority, &item)?;
        self.drain_if_given_up(host)
    }

    /// Passes an operator's decision about a rule on to the miner; returns false if it is too busy
    /// to hear it.
    pub(super) fn decide_rule(&mut self, id: RuleId, enforce: bool, now: Timestamp) -> bool {
        let dropped = self.learner.dropped();
        self.tell(Tell::Decide(id, enforce, now));
        self.learner.dropped() == dropped
    }

    /// Asks the miner to show its rules; it answers when it has time.
    pub(super) fn ask_for_rules(&mut self) {
        if self.learner.is_on() {
            self.tell(Tell::Show);
        }
    }

    /// Waits until the miner has heard everything, and applies what it says; returns true if it
    /// had anything to say but what it keeps, or has not heard everything yet.
    ///
    /// # Errors
    /// Returns what the database or the log of rules says.
    pub(super) fn hear_miner(&mut self, now: Timestamp) -> Result<bool, CrawlError> {
        if !self.learner.is_on() {
            return Ok(false);
        }
        let (said, is_done) = self.learner.last_words(Tell::Checkpoint, LAST_WORDS);
        let kept = |one: &Said| matches!(one, Said::Keep(_) | Said::Sample(..) | Said::Heard(_));
        let news = said.iter().any(|one| !kept(one));
        self.said.extend(said);
        self.apply_said(now)?;
        Ok(news || !is_done)
    }

    /// Ends the miner's part of a run.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn close_learning(&mut self, now: Timestamp) -> Result<(), CrawlError> {
        if self.learner.is_on() {
            self.probes.clear();
            self.give_up_looks(now)?;
            self.hear_miner(now)?;
            while self.keep_samples(now)? {}
        }
        Ok(())
    }

    /// Keeps some of the samples that are not kept as they are: all at once could be too much to
    /// hold. Returns true if there were any.
    fn keep_samples(&mut self, now: Timestamp) -> Result<bool, CrawlError> {
        let (said, is_done) = self.learner.last_words(Tell::Leave, LAST_WORDS);
        let any = said.iter().any(|one| matches!(one, Said::Sample(..)));
        self.said.extend(said);
        self.apply_said(now)?;
        Ok(any && is_done)
    }
}

/// Returns what comes with a page about the URLs of its site; redirects and canonical links are
/// part of the observation.
fn declarations(url: &CrawlUrl, answer: &Answer, facts: &PageFacts) -> Vec<DeclaredRule> {
    let header = answer.header_text("no-vary-search");
    let mut rules = header.map(|text| declared::no_vary_search(&text, url)).unwrap_or_default();
    let of_sitemap = |link: &&Link| link.found == Found::Manifest && link.url.site() == url.site();
    rules.extend(declared::listed(
        facts.links.iter().filter(of_sitemap).map(|link| &link.url).take(LISTED_MAX),
    ));
    rules
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::sync_channel;

    use super::*;
    use crate::crawl::learner::Learner;
    use crate::crawl::readmit::tests::{done, drop_parameter, open, record, url};
    use crate::db::MemoryEnv;

    /// A checkpoint that was on its way ended the wait for the miner's last words, and the crawl
    /// with it, before a rule that had fallen gave back what it hid.
    #[test]
    fn the_crawl_hears_the_miner_to_the_end_before_it_ends() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let (tell, told) = sync_channel(8);
        let (saying, said) = sync_channel(8);
        state.learner = Learner::over(tell, said);
        saying.send(Said::Keep(Default::default())).unwrap();
        let miner = std::thread::spawn(move || {
            let asked = told.recv().expect("it is asked for its last words");
            let Tell::Checkpoint(number) = asked else { panic!("{asked:?}") };
            saying.send(Said::Shown(Vec::new(), 0)).unwrap();
            saying.send(Said::Keep(Default::default())).unwrap();
            saying.send(Said::Heard(number)).unwrap();
        });
        assert!(state.hear_miner(now).unwrap(), "it had more to say");
        miner.join().unwrap();
    }

    /// What a rule made of a URL was asked for wherever it lay, as was what a probe was sent to.
    #[test]
    fn a_probe_stays_within_the_scope() {
        use crate::filter::Filter;
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let [seed, inside, outside] =
            ["http://a.example/", "http://a.example/x", "http://b.example/x"].map(url);
        state.filter = Arc::new(Filter::new(&Default::default(), &[seed]).unwrap());
        let rule = drop_parameter("sid").id;
        let ask = |state: &mut State, id, url: &CrawlUrl, reference: Option<&CrawlUrl>| {
            let (url, reference, stratum) = (url.clone(), reference.cloned(), String::new());
            let probe = Probe { id, rule, stratum, url, reference };
            let mut batch = Batch::default();
            state.ask_probe(&mut batch, probe, now).unwrap();
            state.commit(batch, now).unwrap();
            (state.probes.len(), state.pairs.len())
        };
        assert_eq!(ask(&mut state, 1, &inside, None), (1, 1));
        assert_eq!(ask(&mut state, 2, &outside, None), (1, 1), "it is answered: forbidden");
        assert_eq!(ask(&mut state, 3, &outside, Some(&inside)), (2, 2));
        assert!(!state.may_be_probed(&outside).unwrap());
        let mut batch = Batch::default();
        let row = record(&outside, None, done(Fetched::Gone, false));
        urls::put(&mut batch, &state.db, outside.fingerprint(), &row);
        state.commit(batch, now).unwrap();
        assert!(state.may_be_probed(&outside).unwrap(), "it was fetched, as what a page embeds");
    }
}
