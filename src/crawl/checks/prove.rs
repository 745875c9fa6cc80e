//! What is fetched before a crawl ends: what rules set aside and nothing has proved, few at first,
//! in growing steps; then some of what rules in force hide.

use std::collections::{BTreeSet, VecDeque};

use super::{STEP_MAX, Why};
use crate::clock::Timestamp;
use crate::crawl::error::CrawlError;
use crate::crawl::state::State;
use crate::db::families::{suppressed, urls};
use crate::db::{Batch, DbError};
use crate::dust::{RuleId, RuleKind, RuleSet, Trust};
use crate::frontier::UrlState;
use crate::url::{CrawlUrl, Fingerprint};

/// URLs of one rule in doubt that are remembered, 32 bytes each.
const IN_DOUBT_MAX: usize = 16 * STEP_MAX;

/// URLs of one rule that are looked at in one step.
pub(super) const ROWS_MAX: usize = 100_000;

/// How far the URLs of a rule were looked at before the end of a crawl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scan {
    /// Where it goes on.
    from: Fingerprint,
    /// The version of the rules when it began.
    version: u64,
}

/// When all that a rule hides was found to be proved, or remembered as in doubt, and how far the
/// rule was trusted.
#[derive(Debug)]
pub(super) struct Clean {
    at: Timestamp,
    trust: Trust,
}

/// What is found of a URL that was set aside.
enum SetAside {
    /// That it is in doubt.
    Doubtful(Open),
    /// Nothing: it is on its way already, or nothing is fetched from its host.
    Passed,
    /// That what stands for it shows the same.
    Proved,
}

/// A URL that was set aside and is in doubt.
struct Open {
    /// By the rules that are proved for it, another one stands for it.
    is_held: bool,
    /// What stands for it shows nothing that it could be compared with.
    is_mute: bool,
    own: Fingerprint,
    by: Fingerprint,
    rules: Vec<RuleId>,
    /// How many of them are not proved for it.
    in_doubt: usize,
    /// Places and values in and for which its rules are not proved.
    places: Vec<u64>,
}

impl State {
    /// Before the crawl ends, fetches what rules set aside and nothing has proved; and of each rule
    /// in force the URL that it suppressed last, and more where the last audits raised a doubt: a
    /// site that changed its habits late would keep what the rule hides. Returns true if there is
    /// anything to fetch.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn check_rules(&mut self, now: Timestamp) -> Result<bool, CrawlError> {
        if self.checks.are_done {
            return Ok(false);
        }
        let set = self.rules.snapshot();
        // Nothing is under way when nothing is left to do: what was awaited came to nothing.
        let awaited: Vec<Fingerprint> = self.checks.awaited.keys().copied().collect();
        for url in awaited {
            self.checks.end(url);
        }
        let mut any = false;
        // What one rule brings back is committed before the next one is looked at: what two of them
        // set aside would come back twice.
        for rule in set.rules() {
            let mut batch = Batch::default();
            let closed = self.joins_a_closed_host(&rule.rule)?;
            if closed {
                // What was proved may wait in vain by now.
                self.checks.clean.remove(&rule.id);
            }
            if (closed || set.is_limited(rule.id))
                && self.prove_before_the_end(&mut batch, &set, rule.id, now)?
            {
                self.commit(batch, now)?;
                any = true;
            }
        }
        if any {
            return Ok(true);
        }
        for rule in set.rules() {
            let mut batch = Batch::default();
            if self.measure_before_the_end(&mut batch, &set, rule.id)? {
                self.commit(batch, now)?;
                any = true;
            }
        }
        if any {
            return Ok(true);
        }
        let mut batch = Batch::default();
        any = self.ask_what_is_shared(&mut batch)?;
        if any {
            self.commit(batch, now)?;
        }
        Ok(any)
    }

    /// Returns true where a rule takes two hosts for one and one of them is closed: what waits on
    /// that is not fetched, and stands for what the other one would show.
    fn joins_a_closed_host(&mut self, rule: &RuleKind) -> Result<bool, DbError> {
        let RuleKind::HostAlias { from, to, .. } = rule else { return Ok(false) };
        Ok(!self.is_host_open(from)? || !self.is_host_open(to)?)
    }

    /// Fetches some of what a rule set aside, from as many places and for as many values as may be.
    /// Returns true if there may be more.
    fn prove_before_the_end(
        &mut self,
        batch: &mut Batch,
        set: &RuleSet,
        rule: RuleId,
        now: Timestamp,
    ) -> Result<bool, DbError> {
        if self.prove_what_was_in_doubt(batch, set, rule)? {
            return Ok(true);
        }
        let newly = Scan { from: Fingerprint(0), version: set.version() };
        let scan = *self.checks.scans.entry(rule).or_insert(newly);
        let rows = suppressed::by_rule_from(&self.db, rule.0, scan.from, ROWS_MAX)?;
        let clean = self.checks.clean.get(&rule).filter(|of| set.trusts_as(rule, &of.trust));
        let clean = clean.map_or(Timestamp::ZERO, |of| of.at);
        let (mut open, mut is_clean) = (Vec::new(), true);
        for (own, by) in &rows {
            let is_known = clean > Timestamp::ZERO
                && suppressed::get(&self.db, *by, *own)?.is_some_and(|how| how.at < clean);
            if is_known {
                continue;
            }
            match self.look_at(set, *own, *by)? {
                SetAside::Doubtful(one) => open.push(one),
                SetAside::Passed => is_clean = false,
                SetAside::Proved => {}
            }
        }
        // What is in doubt is remembered: the rest of what was hidden by now needs no look, while
        // the rule is trusted as much.
        let is_all = scan.from == newly.from && rows.len() < ROWS_MAX;
        if is_clean && is_all && open.len() <= IN_DOUBT_MAX {
            self.checks.clean.insert(rule, Clean { at: now, trust: set.trust(rule) });
        }
        if open.is_empty() {
            let rest = rows.last().filter(|_| rows.len() == ROWS_MAX);
            let after = |last: Fingerprint| Fingerprint(last.0.saturating_add(1));
            let next = rest.map(|(last, _)| Scan { from: after(*last), ..scan });
            // What was passed may have come into doubt since.
            let is_old = scan.from != newly.from && scan.version != newly.version;
            self.checks.scans.insert(rule, next.unwrap_or(newly));
            return Ok(next.is_some() || is_old);
        }
        let mut any = false;
        // These are suppressed again when their turn comes, without a fetch.
        for one in open.extract_if(.., |one| one.is_held).take(STEP_MAX) {
            any |= self.restore_suppressed(batch, one.by, one.own)?;
        }
        // First what can be compared, and tests one rule; in the order of their hashes, which is
        // no order.
        open.sort_by_key(|one| (one.is_mute, one.in_doubt, one.own));
        let mut seen = BTreeSet::new();
        let (apart, alike): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|one| one.places.iter().any(|at| seen.insert(*at)));
        let mut open: VecDeque<Open> = apart.into_iter().chain(alike).collect();
        for one in open.drain(..self.checks.proving_step(rule).min(open.len())) {
            any |= self.prove_by(batch, rule, &one)?;
        }
        let rest = open.iter().map(|one| (one.own, one.by)).take(IN_DOUBT_MAX);
        self.checks.in_doubt.insert(rule, rest.collect());
        Ok(any)
    }

    /// Fetches some of what was in doubt when all that a rule hides was last looked at, and still
    /// is. Returns false if nothing of it is left.
    fn prove_what_was_in_doubt(
        &mut self,
        batch: &mut Batch,
        set: &RuleSet,
        rule: RuleId,
    ) -> Result<bool, DbError> {
        let Some(mut known) = self.checks.in_doubt.remove(&rule) else { return Ok(false) };
        let (mut any, mut left) = (false, self.checks.proving_step(rule));
        while left > 0
            && let Some((own, by)) = known.pop_front()
        {
            match self.look_at(set, own, by)? {
                SetAside::Doubtful(one) if one.is_held => {
                    any |= self.restore_suppressed(batch, by, own)?;
                }
                SetAside::Doubtful(one) if self.prove_by(batch, rule, &one)? => {
                    (any, left) = (true, left - 1);
                }
                SetAside::Passed => _ = self.checks.clean.remove(&rule),
                SetAside::Doubtful(_) | SetAside::Proved => {}
            }
        }
        if !known.is_empty() {
            self.checks.in_doubt.insert(rule, known);
        }
        Ok(any)
    }

    /// Fetches a URL that was set aside, to prove the rules that set it aside; returns false if it
    /// has come back meanwhile.
    fn prove_by(&mut self, batch: &mut Batch, rule: RuleId, one: &Open) -> Result<bool, DbError> {
        let is_restored = self.restore_suppressed(batch, one.by, one.own)?;
        if is_restored {
            self.checks.begin(one.own, one.by, &one.rules, Why::Told);
            *self.checks.proving.entry(rule).or_default() += 1;
        }
        Ok(is_restored)
    }

    /// Looks at a URL that was suppressed in favour of `by`: it is in doubt if it is not proved to
    /// show the same, or if `by` waits on a host that is closed.
    fn look_at(
        &mut self,
        set: &RuleSet,
        own: Fingerprint,
        by: Fingerprint,
    ) -> Result<SetAside, DbError> {
        let Some(url) = self.url_of(own)? else { return Ok(SetAside::Proved) };
        if self.checks.awaits(own) || !self.is_host_open(&url.host())? {
            return Ok(SetAside::Passed);
        }
        let united = self.united_by(set, &url, by)?;
        let is_doubtful = !united.all.is_empty() && !united.is_proved(set);
        let mut waits_in_vain = false;
        if let Some(record) = urls::get(&self.db, by)?
            && let Ok(stands) = CrawlUrl::parse(&record.url)
        {
            let waits = matches!(record.state, UrlState::Queued(_));
            waits_in_vain = waits && !self.is_host_open(&stands.host())?;
        }
        if !is_doubtful && !waits_in_vain {
            return Ok(SetAside::Proved);
        }
        // Suppressed again in favour of what is never fetched, it would come back for ever.
        let proved = set.proved_key(&url).filter(|_| !waits_in_vain);
        let is_held = match proved {
            Some(key) => match self.held_by_proved(set, &url, (own, key.fingerprint()))? {
                Some((by, united)) => !self.is_measured(set, &united, by)?,
                None => false,
            },
            None => false,
        };
        let (is_mute, places) = (!self.can_testify(by)?, set.open_at(&united.url, &united.rules));
        let in_doubt = set.in_doubt(&united.url, &united.rules);
        let rules = united.rules;
        Ok(SetAside::Doubtful(Open { is_held, is_mute, own, by, rules, in_doubt, places }))
    }
}
