//! Orders carried out on the state.

use std::sync::Arc;

use super::changes::{Changes, Job};
use super::jobs::Reply;
use super::order::{Answer, Budget, By, Entry, Kind, Order, Refusal, host_name};
use crate::clock::Timestamp;
use crate::crawl::error::CrawlError;
use crate::crawl::learned;
use crate::crawl::log::JsonLog;
use crate::crawl::state::State;
use crate::db::Batch;
use crate::db::families::{meta, queue, urls};
use crate::dust::{RuleBook, RuleId, RuleSet, RuleState};
use crate::filter::{Filter, Usage};
use crate::frontier::{HostStatus, PRIORITIES, UrlState};
use crate::url::Host;

/// Reasons of what the budgets of the whole crawl refused.
const OF_THE_CRAWL: [&str; 2] = ["total-pages", "total-bytes"];

/// Reasons of what any budget refused.
pub(super) const BUDGETS: [&str; 4] =
    [OF_THE_CRAWL[0], OF_THE_CRAWL[1], "host-pages", "host-bytes"];

/// Name of the journal, beside the crawl log.
pub const JOURNAL: &str = "control.jsonl";

impl State {
    /// Returns what the crawl has used up.
    pub(in crate::crawl) fn used(&self) -> Usage {
        let counters = &self.counters;
        Usage { pages: counters.done, bytes: counters.bytes }
    }

    /// Returns true if the pages under way are as many as the page budget of the crawl has room
    /// for. Some of them may come to nothing, so nobody else is refused for them: how much room is
    /// left is known when they are settled.
    pub(in crate::crawl) fn is_budget_under_way(&self) -> bool {
        let (counters, most) = (&self.counters, self.filter.settings().total_pages_max);
        counters.done < most && counters.done + counters.in_flight >= most
    }

    /// Puts what an operator changed in earlier runs in force.
    pub(in crate::crawl) fn take_up_changes(&mut self) {
        self.filter = Arc::new(self.changes.filter(&self.filter));
        let rules = self.changes.politeness(self.frontier.rules());
        self.frontier.set_rules(rules);
        if let Some(time) = self.changes.budget.time {
            self.settings.time_max = time;
        }
        if let Some(on) = self.changes.rules {
            self.enforces = on;
        }
    }

    /// Begins anew what an earlier run, or an order to a stopped crawl, left to do.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn take_up_jobs(&mut self, now: Timestamp) -> Result<(), CrawlError> {
        // What a budget refused is looked at again: the budget may be a larger one by now.
        if BUDGETS.iter().any(|reason| self.reasons.contains_key(*reason)) {
            self.changes.ask(Job::Budget);
        }
        for job in self.changes.jobs.clone() {
            if let Job::Forgive { host } = &job {
                self.open_host(host, now)?;
            }
            self.jobs.add(job, Answer::default(), None);
        }
        Ok(())
    }

    /// Returns true if the page or byte budget of the crawl kept something from being fetched. Only
    /// where it ever did the ledger is looked through, up to the first such URL.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn is_cut_by_budget(&self) -> Result<bool, CrawlError> {
        let is_total = |reason: &str| OF_THE_CRAWL.contains(&reason);
        if !self.reasons.keys().any(|reason| is_total(reason)) {
            return Ok(false);
        }
        let mut found = false;
        urls::each(&self.db, |_, record| {
            found = matches!(&record.state, UrlState::Refused { reason, .. } if is_total(reason));
            !found
        })?;
        Ok(found)
    }

    /// Puts what an operator changed into a batch.
    pub(in crate::crawl) fn keep_changes(&self, batch: &mut Batch) {
        meta::put_control(batch, &self.db, &self.changes.write());
    }

    /// Carries out an order that is state: kept first, then in force. The answer comes through
    /// `reply` when its job is done, or at once where it leaves none.
    ///
    /// # Errors
    /// Returns what the database or the journal says.
    pub(in crate::crawl) fn steer(
        &mut self,
        order: &Order,
        by: By,
        reply: Reply,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        let mut changes = self.changes.clone();
        let made = self.check(order).and_then(|()| match order {
            Order::Rules { on, id: Some(id) } => self.decide(id, *on, now),
            order => changes.make(order, &self.filter),
        });
        self.note_order(now, by, order, made.as_ref())?;
        let answer = match made {
            Ok(answer) => answer,
            Err(refusal) => {
                let _ = reply.send(Err(refusal));
                return Ok(());
            }
        };
        let wanted = changes.jobs.clone();
        self.changes = changes;
        let mut batch = Batch::default();
        self.keep_changes(&mut batch);
        self.commit(batch, now)?;
        self.jobs.retain(|job| wanted.contains(job));
        self.put_in_force(order, now)?;
        let answer = match order {
            Order::Budget(_) => Answer { budget: Some(self.budget()), ..answer },
            _ => answer,
        };
        match Job::of(order) {
            Some(job) => self.jobs.add(job, answer, Some(reply)),
            // Nobody waits for the answer any more: that is the asker's business.
            None => drop(reply.send(Ok(answer))),
        }
        Ok(())
    }

    /// Returns the budgets in force.
    pub(in crate::crawl) fn budget(&self) -> Budget {
        Budget::of(self.filter.settings(), self.settings.time_max)
    }

    /// Writes a line of the journal.
    ///
    /// # Errors
    /// Returns what the system says.
    pub(in crate::crawl) fn note_order(
        &mut self,
        at: Timestamp,
        by: By,
        order: &Order,
        said: Result<&Answer, &Refusal>,
    ) -> Result<(), CrawlError> {
        let entry = Entry::new(at, by, order, said);
        if let Some(journal) = &mut self.journal {
            return journal.write(&entry);
        }
        let mut journal = JsonLog::open(&self.log.dir().join(JOURNAL))?;
        journal.write(&entry)?;
        self.journal = Some(journal);
        Ok(())
    }

    /// Refuses what cannot be true of this crawl.
    fn check(&mut self, order: &Order) -> Result<(), Refusal> {
        match order {
            Order::Rules { .. } if !self.learner.is_on() => {
                let text = "rules are off in this crawl: set `dust.mode`, then run it again";
                Err(Refusal::new(Kind::Refused, text))
            }
            Order::Forgive { host } => {
                let name = Host::new(&host_name(host)?);
                match self.hosts.find(&self.db, &name) {
                    Ok(Some(_)) => Ok(()),
                    Ok(None) => {
                        let text = format!("the crawl knows no host {name}");
                        Err(Refusal::new(Kind::Nothing, text))
                    }
                    Err(error) => Err(Refusal::new(Kind::Refused, format!("failed to {error}"))),
                }
            }
            _ => Ok(()),
        }
    }

    fn put_in_force(&mut self, order: &Order, now: Timestamp) -> Result<(), CrawlError> {
        match order {
            Order::Exclude { pattern, .. } => {
                // It was compiled a moment ago, so it can be.
                if let Ok(filter) = self.filter.with_exclude(pattern) {
                    self.filter = Arc::new(filter);
                }
            }
            Order::Include { pattern } => {
                if let Some(filter) = self.filter.without_exclude(pattern) {
                    self.filter = Arc::new(filter);
                }
            }
            Order::Budget(budget) => {
                let filter: &Filter = &self.filter;
                self.filter = Arc::new(filter.with_budgets(|settings| budget.write(settings)));
                self.settings.time_max = budget.time.unwrap_or(self.settings.time_max);
            }
            Order::Delay { host, .. } => self.slow_host(host, now)?,
            Order::Forgive { host } => {
                let rules = self.changes.politeness(&self.configured.politeness);
                self.frontier.set_rules(rules);
                self.open_host(host, now)?;
            }
            Order::Rules { on, id: None } => self.apply_rules(*on)?,
            Order::Rules { .. }
            | Order::Pause
            | Order::Resume
            | Order::Stop
            | Order::Abort
            | Order::Log { .. } => {}
        }
        Ok(())
    }

    /// Puts changed delays in force; the rest of the host that is under way grows with them.
    fn slow_host(&mut self, host: &str, now: Timestamp) -> Result<(), CrawlError> {
        let rules = self.changes.politeness(&self.configured.politeness);
        self.frontier.set_rules(rules);
        let Ok(name) = host_name(host) else { return Ok(()) };
        let Some(id) = self.hosts.find(&self.db, &Host::new(&name))? else { return Ok(()) };
        let least = self.frontier.rules().of(&name).min_delay.get();
        self.change_host(id, |record| {
            if record.pace.last_ended > Timestamp::ZERO {
                record.pace.hold_until(record.pace.last_ended.plus(least));
            }
        })?;
        self.frontier.refresh(id);
        self.commit(Batch::default(), now)
    }

    /// Opens a host that is held, and gives it a place if it has waiting URLs. What it asked for,
    /// and the rest that it is owed, stay.
    fn open_host(&mut self, host: &str, now: Timestamp) -> Result<(), CrawlError> {
        let Ok(name) = host_name(host).map(|name| Host::new(&name)) else { return Ok(()) };
        let Some(id) = self.hosts.find(&self.db, &name)? else { return Ok(()) };
        let mut batch = Batch::default();
        self.forgive_texts(&name)?;
        self.forgive_robots(&mut batch, &name)?;
        if let Some(record) = self.host(id)? {
            self.count_opened(&record.status);
        }
        self.change_host(id, |record| {
            record.status = HostStatus::Open;
            record.robots_failures = 0;
            record.pace.forgive();
        })?;
        self.frontier.refresh(id);
        if self.frontier.active(id).is_none()
            && let Some(record) = self.host(id)?
            && record.queued > 0
        {
            let (rows, _) = queue::read(&self.db, id, &record.floors, 2)?;
            let best = rows.first().map_or(PRIORITIES as u8 - 1, |(place, _)| place.priority);
            self.stand(&mut batch, id, best)?;
        }
        self.commit(batch, now)
    }

    /// Applies the rules that are proved or on trial, or none: then what rules on trial have set
    /// aside comes back, since nothing would prove them.
    fn apply_rules(&mut self, on: bool) -> Result<(), CrawlError> {
        self.enforces = on;
        let book = self.stored_book()?;
        let set = match book {
            // As at the beginning of a run.
            Some(book) if on && self.learner.is_on() => book.proving_by_pairs().rule_set(),
            Some(book) if on => book.rule_set(),
            Some(book) => {
                let on_trial = book.rules().filter(|rule| rule.state == RuleState::Shadow);
                self.readmit.extend(on_trial.map(|rule| rule.id));
                Ok(RuleSet::default())
            }
            None => Ok(RuleSet::default()),
        };
        self.rules.publish(set.map_err(|error| CrawlError::Rules(error.to_string()))?);
        Ok(())
    }

    fn stored_book(&self) -> Result<Option<RuleBook>, CrawlError> {
        let Some(stored) = learned::rules(&self.db)? else { return Ok(None) };
        let book = RuleBook::decode(self.configured.dust.clone(), &stored, []);
        book.map(Some).map_err(|error| CrawlError::Rules(error.to_string()))
    }

    /// Tells the miner what the operator says of one rule.
    fn decide(&mut self, id: &str, on: bool, now: Timestamp) -> Result<Answer, Refusal> {
        let (rule, text) = self.rule_named(id)?;
        if !self.decide_rule(rule, on, now) {
            let text = "the miner is too busy to hear it: try again in a moment";
            return Err(Refusal::new(Kind::Refused, text));
        }
        let word = match on {
            true => "put in force",
            false => "taken out of force, and what it suppressed comes back,",
        };
        Ok(Answer::of(format!("{rule} ({text}) is {word} as soon as the miner has heard of it")))
    }

    /// Finds the rule that an id, or the beginning of one, names.
    fn rule_named(&self, id: &str) -> Result<(RuleId, String), Refusal> {
        let start = id.to_ascii_lowercase();
        let named = self.seen_of.rules_named(&start);
        match &named[..] {
            [one] => Ok(one.clone()),
            [] => {
                let text = format!("there is no rule `{}`", id.escape_debug());
                Err(Refusal::new(Kind::Nothing, format!("{text}; `crawler dust rules` lists them")))
            }
            _ => {
                let text = format!("{start} is the beginning of {} rules", named.len());
                Err(Refusal::new(Kind::Usage, format!("{text}; write more of it")))
            }
        }
    }

    /// Returns what an operator changed.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::readmit::tests::{drop_parameter, open, record, url};
    use crate::db::MemoryEnv;
    use crate::db::families::suppressed::{self, Suppression};

    /// What a rule on trial had set aside stayed aside when rules were switched off; and switched
    /// on again, the rules did not know of it any more, so that the crawl ended without it.
    #[test]
    fn rules_that_are_switched_off_and_on_forget_no_trial() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let rule = drop_parameter("sid");
        let mut book = RuleBook::new(Default::default()).proving_by_pairs();
        book.import(vec![rule.clone()]);
        book.try_by_pairs(vec![rule.id], now).unwrap();
        let (form, by) = (url("http://a.example/p?sid=1"), url("http://a.example/p"));
        let own = form.fingerprint();
        let mut batch = Batch::default();
        learned::put_rules(&mut batch, &state.db, &book.encode_rules());
        let by = by.fingerprint();
        let how = Suppression { rules: vec![rule.id.0], at: now };
        suppressed::put(&mut batch, &state.db, by, own, &how);
        let aside = UrlState::Suppressed { by, rules: vec![rule.id.0], version: 1, at: now };
        urls::put(&mut batch, &state.db, own, &record(&form, None, aside));
        state.commit(batch, now).unwrap();
        // The miner is on, and says nothing.
        state.learner = crate::crawl::learner::Learner::spawn(
            crate::crawl::learner::Mind::new(book, false, Default::default()),
            || {},
        )
        .unwrap();
        state.apply_rules(true).unwrap();
        let on_trial = state.rules.snapshot();
        assert_eq!(on_trial.rule(rule.id).map(|rule| rule.state), Some(RuleState::Shadow));
        state.apply_rules(false).unwrap();
        assert!(state.rules.snapshot().is_empty());
        while state.readmit_some(now).unwrap() {}
        let back = urls::get(&state.db, own).unwrap().unwrap();
        assert!(matches!(back.state, UrlState::Queued(_)), "{:?}", back.state);
    }

    /// A page that was to be fetched once more made room in a budget that had refused others, and
    /// came to nothing: the crawl was called complete without them.
    #[test]
    fn a_crawl_is_cut_by_a_budget_that_refused_something_and_has_room_again() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let filter = state.filter.with_budgets(|settings| settings.total_pages_max = 2);
        state.filter = Arc::new(filter);
        state.counters.done = 1;
        assert!(!state.is_cut_by_budget().unwrap());
        let page = url("http://a.example/p");
        let (reason, detail) = ("total-pages".to_owned(), "2 of at most 2".to_owned());
        let refused = UrlState::Refused { reason, detail, at: now };
        let mut batch = Batch::default();
        urls::put(&mut batch, &state.db, page.fingerprint(), &record(&page, None, refused));
        state.count("total-pages");
        state.commit(batch, now).unwrap();
        assert!(state.is_cut_by_budget().unwrap());
        assert!(!state.is_budget_under_way());
        state.counters.in_flight = 1;
        assert!(state.is_budget_under_way());
        state.counters.done = 2;
        assert!(!state.is_budget_under_way(), "who comes now is refused");
    }
}
