//! Links into rows: the schedule gate, the URL-seen test, the queue.

use std::collections::{HashMap, HashSet};

use super::checks::United;
use super::state::State;
use super::steer::Job;
use super::way;
use crate::clock::Timestamp;
use crate::db::families::queue::Item;
use crate::db::families::seen::{self, Depth, Known};
use crate::db::families::suppressed::{self, Suppression};
use crate::db::families::urls;
use crate::db::{Batch, DbError, Family};
use crate::filter::{Candidate, Canonized, Found, PageGate, Reason, Scheduled};
use crate::frontier::{HostStatus, Rank, UrlRecord, UrlState, priority};
use crate::url::{CrawlUrl, Fingerprint};

/// The reason of URLs in a part of a host that repeats itself for ever.
pub(super) const TRAPPED: &str = "trap";
pub(super) const TRAPPED_DETAIL: &str = "its part of the host brings no new text";

/// The reason of URLs that lie too many links from their seeds.
pub(super) const TOO_FAR: &str = "too-many-hops";

/// A URL that was found.
#[derive(Clone, Debug)]
pub struct Link {
    /// In normal form.
    pub url: CrawlUrl,
    /// How it was found.
    pub found: Found,
    /// Letter of the hop.
    pub letter: char,
    /// True if the link says rel=nofollow.
    pub nofollow: bool,
    /// Where a page needs a URL, or refreshes to it, and links to it as well: true if each such
    /// link says rel=nofollow. None for other links.
    pub as_link: Option<bool>,
}

impl Link {
    /// Returns the plain link that this one is as well.
    fn otherwise(&self) -> Option<Link> {
        let nofollow = self.as_link?;
        let (url, found) = (self.url.clone(), Found::Link);
        Some(Link { url, found, letter: 'L', nofollow, as_link: None })
    }
}

/// The page on which links were found.
#[derive(Clone, Debug)]
pub(super) struct Via<'a> {
    pub(super) url: &'a CrawlUrl,
    pub(super) fingerprint: Fingerprint,
    pub(super) path: &'a str,
    pub(super) hops: u16,
    pub(super) hops_max: Option<u16>,
    /// Its links come last: host or page show what is known already.
    pub(super) stale: bool,
}

/// A seed, as the seed list gives it.
#[derive(Clone, Debug)]
pub struct SeedUrl {
    /// In normal form.
    pub url: CrawlUrl,
    /// Priority, where the list says one.
    pub priority: Option<u8>,
    /// Links to follow from here, where the list says how many; `scope.hops_max` still holds.
    pub hops_max: Option<u16>,
}

struct Accepted<'l> {
    link: &'l Link,
    own: Fingerprint,
    key: Fingerprint,
    hops: u16,
    hops_max: Option<u16>,
    priority: Option<u8>,
}

impl<'l> Accepted<'l> {
    fn new(link: &'l Link, canonized: Option<Canonized<'_>>, hops: u16) -> Self {
        let own = link.url.fingerprint();
        let key = canonized.map_or(own, |canonized| canonized.key.fingerprint());
        Accepted { link, own, key, hops, hops_max: None, priority: None }
    }
}

/// A link before the schedule gate.
struct Judged<'l> {
    link: &'l Link,
    hops: u16,
    scheduled: Scheduled<'l>,
}

impl<'l> Judged<'l> {
    fn new(gate: &PageGate<'_>, via: &'l Via<'_>, link: &'l Link) -> Self {
        let hops = way::deeper(via.hops, link.letter);
        let path = way::longer(via.path, link.letter);
        let depth = (hops, via.hops_max);
        let candidate = way::candidate(&link.url, Some(via.url), &path, depth, link.nofollow);
        Judged { link, hops, scheduled: gate.schedule(&candidate) }
    }

    fn is_accepted(&self) -> bool {
        self.scheduled.verdict.accept
    }
}

/// What the URL-seen test says of the links of one page, which are let in one after another in one
/// batch: what it has of the first ones cannot be read yet.
struct Met<'l> {
    known: HashMap<Fingerprint, Known>,
    /// The depths of those that were known themselves before.
    depths: HashMap<Fingerprint, Depth>,
    /// Those that took a nearer way in this batch.
    nearer: HashSet<Fingerprint>,
    new: HashMap<Fingerprint, New<'l>>,
}

/// What became of a link of this batch.
enum New<'l> {
    Waits(&'l CrawlUrl),
    /// In favour of this URL, which is suppressed in favour of none.
    Suppressed(Fingerprint),
}

impl Met<'_> {
    fn suppress(&mut self, own: Fingerprint, by: Fingerprint) {
        self.known.insert(own, Known::Itself);
        self.new.insert(own, New::Suppressed(by));
    }
}

impl State {
    /// Adds seeds that are not known yet.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn discover_seeds(
        &mut self,
        batch: &mut Batch,
        seeds: &[SeedUrl],
        now: Timestamp,
    ) -> Result<u64, DbError> {
        let before = self.counters.queued;
        let mut accepted = Vec::new();
        let links: Vec<Link> = seeds
            .iter()
            .map(|seed| Link {
                url: seed.url.clone(),
                found: Found::Seed,
                letter: ' ',
                nofollow: false,
                as_link: None,
            })
            .collect();
        let filter = self.filter.clone();
        let rules = self.rules.snapshot();
        let gate = filter.page(&*rules);
        let mut any_new = false;
        for (seed, link) in seeds.iter().zip(&links) {
            any_new |= self.keep_scope(batch, &link.url);
            self.counters.discovered += 1;
            let scheduled = gate.schedule(&Candidate::seed(&link.url));
            if !scheduled.verdict.accept {
                self.refuse_found(batch, link, None, &scheduled.verdict, now)?;
                continue;
            }
            accepted.push(Accepted {
                hops_max: seed.hops_max,
                priority: seed.priority,
                ..Accepted::new(link, scheduled.canonized, 0)
            });
        }
        self.admit_new(batch, None, accepted, gate.version(), now)?;
        // In a run before, links into the scope of a new one were refused.
        if any_new && self.session.runs > 1 {
            self.bring_back_later(batch, Job::Refilter);
        }
        Ok(self.counters.queued - before)
    }

    /// Passes the links of a page through the schedule gate and the URL-seen test, and queues those
    /// that are new. What is refused as a part of the page may be a link of it as well. All meet
    /// one filter and one version of the rules (I6), which is returned.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn discover(
        &mut self,
        batch: &mut Batch,
        via: &Via<'_>,
        links: &[Link],
        now: Timestamp,
    ) -> Result<u64, DbError> {
        let filter = self.filter.clone();
        let rules = self.rules.snapshot();
        let gate = filter.page(&*rules);
        let otherwise: Vec<Option<Link>> = links.iter().map(Link::otherwise).collect();
        let mut accepted = Vec::with_capacity(links.len());
        for (link, otherwise) in links.iter().zip(&otherwise) {
            self.counters.discovered += 1;
            let first = Judged::new(&gate, via, link);
            let plain = otherwise.as_ref().filter(|_| !first.is_accepted());
            let plain = plain.map(|plain| Judged::new(&gate, via, plain));
            let Judged { link, hops, scheduled } =
                plain.filter(Judged::is_accepted).unwrap_or(first);
            if !scheduled.verdict.accept {
                self.refuse_found(batch, link, Some(via), &scheduled.verdict, now)?;
                continue;
            }
            if self.is_trapped(&link.url) {
                self.refuse_trapped(batch, link, via, now)?;
                continue;
            }
            if matches!(scheduled.verdict.reason, Reason::SeedRedirect) {
                self.widen_scope(batch, &link.url);
            }
            let hops_max = via.hops_max;
            accepted.push(Accepted { hops_max, ..Accepted::new(link, scheduled.canonized, hops) });
        }
        self.admit_new(batch, Some(via), accepted, gate.version(), now)?;
        Ok(gate.version())
    }

    /// Records a refusal, unless the URL has a record already: what one page may not lead to,
    /// another may. One that lies too deep keeps the best way to it, by which it is judged again
    /// when a page on that way turns out to be nearer. A URL that is too long has no record: that
    /// is told from the URL alone, and thousands of them are a page's work, megabytes of state.
    fn refuse_found(
        &mut self,
        batch: &mut Batch,
        link: &Link,
        via: Option<&Via<'_>>,
        verdict: &crate::filter::Verdict,
        now: Timestamp,
    ) -> Result<(), DbError> {
        self.counters.refused += 1;
        self.count(verdict.code());
        if matches!(verdict.reason, Reason::UrlTooLong(_)) {
            return Ok(());
        }
        let own = link.url.fingerprint();
        let discovered = match &verdict.reason {
            Reason::TooManyHops(_) => self.first_or_nearer(own, link, via, now)?,
            _ => (!self.db.has(Family::Urls, &own.to_bytes())?).then_some(now),
        };
        if let Some(discovered) = discovered {
            let state = UrlState::Refused {
                reason: verdict.code().to_owned(),
                detail: verdict.reason.to_string(),
                at: now,
            };
            let record = new_record(link, via, depth_of(link, via), state, discovered);
            urls::put(batch, &self.db, own, &record);
        }
        Ok(())
    }

    /// Returns when a URL was first found: now, or where it was refused for too many hops by a way
    /// that leaves less room than this one. None for any other.
    fn first_or_nearer(
        &self,
        own: Fingerprint,
        link: &Link,
        via: Option<&Via<'_>>,
        now: Timestamp,
    ) -> Result<Option<Timestamp>, DbError> {
        let Some(record) = urls::get(&self.db, own)? else { return Ok(Some(now)) };
        let is_too_far =
            matches!(&record.state, UrlState::Refused { reason, .. } if reason == TOO_FAR);
        let limit = self.filter.settings().hops_max;
        let (before, by_now) = ((record.hops, record.hops_max), depth_of(link, via));
        let is_nearer = way::room(by_now, limit) > way::room(before, limit);
        let is_better = is_too_far && record.path.ends_with(link.letter) && is_nearer;
        Ok(is_better.then_some(record.discovered))
    }

    /// Records that a link leads into a part of a host that repeats itself for ever.
    fn refuse_trapped(
        &mut self,
        batch: &mut Batch,
        link: &Link,
        via: &Via<'_>,
        now: Timestamp,
    ) -> Result<(), DbError> {
        self.counters.refused += 1;
        self.count(TRAPPED);
        let own = link.url.fingerprint();
        if !self.db.has(Family::Urls, &own.to_bytes())? {
            let detail = TRAPPED_DETAIL.to_owned();
            let state = UrlState::Refused { reason: TRAPPED.to_owned(), detail, at: now };
            let record = new_record(link, Some(via), depth_of(link, Some(via)), state, now);
            urls::put(batch, &self.db, own, &record);
            self.hold_in_part(&link.url, now)?;
        }
        Ok(())
    }

    fn admit_new(
        &mut self,
        batch: &mut Batch,
        via: Option<&Via<'_>>,
        accepted: Vec<Accepted<'_>>,
        version: u64,
        now: Timestamp,
    ) -> Result<(), DbError> {
        let mut keys: Vec<Fingerprint> =
            accepted.iter().flat_map(|one| [one.own, one.key]).collect();
        // In the order of the rows, so that neighbours are read together.
        keys.sort_unstable();
        keys.dedup();
        let answers = seen::get_many(&self.db, &keys)?;
        let mut met = Met {
            known: HashMap::with_capacity(keys.len()),
            depths: HashMap::with_capacity(keys.len()),
            nearer: HashSet::new(),
            new: HashMap::new(),
        };
        let mut untold = Vec::new();
        for (key, answer) in keys.into_iter().zip(answers) {
            let Some((known, depth)) = answer else { continue };
            met.known.insert(key, known);
            match depth {
                Some(depth) => {
                    met.depths.insert(key, depth);
                }
                None if known == Known::Itself => untold.push(key),
                None => {}
            }
        }
        self.read_depths(&untold, &mut met)?;
        for one in accepted {
            self.admit_one(batch, via, &one, version, &mut met, now)?;
        }
        Ok(())
    }

    /// Reads the depths that the URL-seen test does not tell, if there is any limit that they could
    /// come to.
    fn read_depths(&self, untold: &[Fingerprint], met: &mut Met<'_>) -> Result<(), DbError> {
        let is_limited = self.filter.settings().hops_max != 0 || self.refused_too_far();
        if !is_limited || untold.is_empty() {
            return Ok(());
        }
        for (own, record) in untold.iter().zip(urls::get_many(&self.db, untold)?) {
            if let Some(record) = record {
                met.depths.insert(*own, (record.hops, record.hops_max));
            }
        }
        Ok(())
    }

    /// Returns true if anything was ever refused for too many hops.
    fn refused_too_far(&self) -> bool {
        self.reasons.contains_key(TOO_FAR)
    }

    /// Has a URL that is known take the way by which it was found now, if that leaves more room for
    /// links than the one before. What a page led to already may come back for that.
    fn find_nearer(
        &mut self,
        batch: &mut Batch,
        via: Option<&Via<'_>>,
        one: &Accepted<'_>,
        met: &mut Met<'_>,
    ) -> Result<(), DbError> {
        let Some(known) = met.depths.get(&one.own).copied() else { return Ok(()) };
        let by_now = (one.hops, one.hops_max);
        if !self.is_nearer(by_now, known) || !self.may_take_nearer(via, one.own, met) {
            return Ok(());
        }
        let Some(mut record) = urls::get(&self.db, one.own)? else { return Ok(()) };
        if !self.is_nearer(by_now, (record.hops, record.hops_max)) {
            return Ok(());
        }
        let path = via.map_or(String::new(), |via| way::longer(via.path, one.link.letter));
        // A path says also what a URL is: only one plain link is as good as another.
        if via.is_none() || (path.ends_with('L') && record.path.ends_with('L')) {
            record.via = via.map(|via| via.fingerprint);
            record.path = path;
        }
        let stands = match record.state {
            UrlState::Suppressed { by, .. } => Some(by),
            _ => None,
        };
        self.take_nearer(batch, one.own, record, by_now);
        met.nearer.insert(one.own);
        stands.map_or(Ok(()), |by| self.stand_nearer(batch, via, (by, by_now), met))
    }

    /// Has what stands for a URL lead as far as that would have led by the way by which it was
    /// found now.
    fn stand_nearer(
        &mut self,
        batch: &mut Batch,
        via: Option<&Via<'_>>,
        (by, by_now): (Fingerprint, Depth),
        met: &mut Met<'_>,
    ) -> Result<(), DbError> {
        // What is new in this batch was found on the same page.
        if met.new.contains_key(&by) || !self.may_take_nearer(via, by, met) {
            return Ok(());
        }
        if self.lead_nearer(batch, by, by_now)? {
            met.nearer.insert(by);
        }
        Ok(())
    }

    /// Has a URL of the ledger lead as far as from this depth, if that is nearer than its own;
    /// returns true where it is.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn lead_nearer(
        &mut self,
        batch: &mut Batch,
        own: Fingerprint,
        by_now: Depth,
    ) -> Result<bool, DbError> {
        let Some(record) = urls::get(&self.db, own)? else { return Ok(false) };
        let is_nearer = self.is_nearer(by_now, (record.hops, record.hops_max));
        if is_nearer {
            self.take_nearer(batch, own, record, by_now);
        }
        Ok(is_nearer)
    }

    fn is_nearer(&self, by_now: Depth, known: Depth) -> bool {
        let limit = self.filter.settings().hops_max;
        way::room(by_now, limit) > way::room(known, limit)
    }

    /// Returns false for the page itself, of which it is still to be settled in this batch what
    /// becomes of it, and for what took a nearer way in it: its record cannot be read yet.
    fn may_take_nearer(&self, via: Option<&Via<'_>>, url: Fingerprint, met: &Met<'_>) -> bool {
        via.is_none_or(|via| via.fingerprint != url) && !met.nearer.contains(&url)
    }

    fn take_nearer(
        &mut self,
        batch: &mut Batch,
        own: Fingerprint,
        mut record: UrlRecord,
        by_now: Depth,
    ) {
        match record.state {
            UrlState::Queued(place) => {
                self.shape.remove(record.hops, place.priority);
                self.shape.add(by_now.0, place.priority);
            }
            UrlState::Done(_) if self.refused_too_far() => {
                self.bring_back_at_last(batch, Job::Nearer);
            }
            UrlState::Done(_)
            | UrlState::Refused { .. }
            | UrlState::Failed { .. }
            | UrlState::Suppressed { .. } => {}
        }
        (record.hops, record.hops_max) = by_now;
        urls::put(batch, &self.db, own, &record);
        seen::put_itself(batch, &self.db, own, by_now);
    }

    fn admit_one<'l>(
        &mut self,
        batch: &mut Batch,
        via: Option<&Via<'_>>,
        one: &Accepted<'l>,
        version: u64,
        met: &mut Met<'l>,
        now: Timestamp,
    ) -> Result<(), DbError> {
        match met.known.get(&one.own).copied() {
            Some(Known::Itself) => {
                self.behind.met(one.own);
                if let Some(via) = via {
                    self.meet_again((&one.link.url, one.own), (via.url, via.fingerprint));
                }
                self.counters.known += 1;
                self.count("known");
                return self.find_nearer(batch, via, one, met);
            }
            // It was met before another URL took its key over, since it can stand for nothing.
            Some(Known::By(_)) if self.has_its_place(one.own)? => {
                self.counters.known += 1;
                self.count("known");
                return Ok(());
            }
            // Its text is the key of another URL, which stands for it if the rules still say so.
            Some(Known::By(by)) if self.stands_when_found(met, by, one.own)? => {
                if let Some(by) = self.stand_in_found(met, via, one, by)?
                    && let Some(united) = self.united_found(met, one, by)?
                    && !self.notes_kept_back(one.own, by, &united)
                {
                    let set = self.rules.snapshot();
                    if !self.is_fetched_to_check(&set, one.own, &united, by)? {
                        met.suppress(one.own, by);
                        let how = (by, united.numbers());
                        self.stand_nearer(batch, via, (by, (one.hops, one.hops_max)), met)?;
                        return self.suppress_found(batch, via, one, how, version, now);
                    }
                    // Fetched, it stands for its key itself, and nothing says any more what it
                    // is to be compared with.
                    self.await_audit(one.own, by, &united.rules);
                }
            }
            Some(Known::By(_)) | None => {}
        }
        // Most links are their own key, and nothing more is asked of the rules for them.
        let set = (one.key != one.own).then(|| self.rules.snapshot());
        let proved = set.as_ref().and_then(|set| set.proved_key(&one.link.url));
        let proved = proved.map(|key| key.fingerprint()).filter(|key| *key != one.own);
        let (mut free, mut is_form) = (Vec::new(), false);
        // First by the rules that are proved for it: what they say holds whatever the others do.
        for key in proved.into_iter().chain(set.is_some().then_some(one.key)) {
            let Some(set) = &set else { break };
            let Some(by) = self.holder_found(met, via, one, key)? else {
                free.push(key);
                continue;
            };
            if by == one.own {
                continue;
            }
            let Some(united) = self.united_found(met, one, by)? else { continue };
            if self.notes_kept_back(one.own, by, &united) {
                free.push(key);
                continue;
            }
            let is_hidden = match Some(key) == proved {
                true if !united.is_proved(set) => {
                    free.push(key);
                    continue;
                }
                true => {
                    !self.is_drawn(set, one.own, &united, by)?
                        && !self.is_contested(one.own, by, &united.rules)
                }
                false => !self.is_fetched_to_check(set, one.own, &united, by)?,
            };
            if is_hidden {
                met.suppress(one.own, by);
                let how = (by, united.numbers());
                self.stand_nearer(batch, via, (by, (one.hops, one.hops_max)), met)?;
                return self.suppress_found(batch, via, one, how, version, now);
            }
            is_form = true;
        }
        for key in free {
            met.known.insert(key, Known::By(one.own));
            seen::put_by(batch, &self.db, key, one.own);
        }
        met.known.insert(one.own, Known::Itself);
        seen::put_itself(batch, &self.db, one.own, (one.hops, one.hops_max));
        self.find_in_part(&one.link.url, one.own)?;
        if self.queue_found(batch, via, one, now)? {
            self.behind.found(one.own, is_form);
            met.new.insert(one.own, New::Waits(&one.link.url));
        }
        Ok(())
    }

    /// Returns the URL that stands for a key now that a page leads to another form of it: the URL
    /// that was found itself, where that is the one that has the key.
    fn holder_found(
        &self,
        met: &Met<'_>,
        via: Option<&Via<'_>>,
        one: &Accepted<'_>,
        key: Fingerprint,
    ) -> Result<Option<Fingerprint>, DbError> {
        let known = match met.known.get(&key) {
            Some(known) => Some(*known),
            // The keys of all links were asked for at once, but those by proved rules alone.
            None if key == one.key => None,
            None => seen::get(&self.db, key)?,
        };
        let (holder, stands) = match known {
            None => return Ok(None),
            Some(Known::Itself) => (key, true),
            Some(Known::By(by)) => (by, self.stands_when_found(met, by, key)?),
        };
        match stands {
            false => Ok(None),
            true if holder == one.own => Ok(Some(holder)),
            true => self.stand_in_found(met, via, one, holder),
        }
    }

    /// Returns true if `by`, which has or had the key `key`, stands for it now that a page leads to
    /// another form of it.
    fn stands_when_found(
        &self,
        met: &Met<'_>,
        by: Fingerprint,
        key: Fingerprint,
    ) -> Result<bool, DbError> {
        Ok(met.new.contains_key(&by) || self.still_stands(by, key)?.is_some())
    }

    /// Returns what makes a URL that was found and the one that stands for it one page, if the
    /// rules still do: some may have fallen since they gave the link its key.
    fn united_found(
        &self,
        met: &Met<'_>,
        one: &Accepted<'_>,
        by: Fingerprint,
    ) -> Result<Option<United>, DbError> {
        let (set, url) = (self.rules.snapshot(), &one.link.url);
        let united = match met.new.get(&by) {
            Some(New::Waits(stands)) => United::by_key(&set, url, CrawlUrl::clone(stands)),
            _ => Some(self.united_by(&set, url, by)?),
        };
        Ok(united.filter(|united| !united.all.is_empty()))
    }

    /// Returns what stands for a URL that was found, given what may: not the page that redirects
    /// to it, which shows by that that it stands for nothing.
    fn stand_in_found(
        &self,
        met: &Met<'_>,
        via: Option<&Via<'_>>,
        one: &Accepted<'_>,
        by: Fingerprint,
    ) -> Result<Option<Fingerprint>, DbError> {
        let redirects = via.filter(|_| one.link.found == Found::Redirect);
        let by = match met.new.get(&by) {
            Some(New::Waits(_)) => Some(by),
            Some(New::Suppressed(by)) if met.new.contains_key(by) => Some(*by),
            Some(New::Suppressed(by)) => self.stand_in(one.own, *by)?,
            None => self.stand_in(one.own, by)?,
        };
        Ok(by.filter(|by| redirects.is_none_or(|via| via.fingerprint != *by)))
    }

    /// Returns true for a URL that was let in before, whatever became of it. What a gate refused on
    /// one page, another page may lead to.
    fn has_its_place(&self, url: Fingerprint) -> Result<bool, DbError> {
        let record = urls::get(&self.db, url)?;
        Ok(record.is_some_and(|record| !matches!(record.state, UrlState::Refused { .. })))
    }

    /// Returns what stands for the key `key`, if the rules still give it to `by`: `by`, or what
    /// stands for that. A retired rule leaves its keys behind; this is where they lose their
    /// meaning.
    pub(super) fn still_stands(
        &self,
        by: Fingerprint,
        key: Fingerprint,
    ) -> Result<Option<Fingerprint>, DbError> {
        let Some(url) = self.url_of(by)? else { return Ok(None) };
        let set = self.rules.snapshot();
        let has_it = set.canonize(&url).key.fingerprint() == key
            || set.proved_key(&url).is_some_and(|proved| proved.fingerprint() == key);
        if has_it { self.stand_in(key, by) } else { Ok(None) }
    }

    /// Queues a URL; returns false where its host is given up.
    fn queue_found(
        &mut self,
        batch: &mut Batch,
        via: Option<&Via<'_>>,
        one: &Accepted<'_>,
        now: Timestamp,
    ) -> Result<bool, DbError> {
        let belongs = matches!(one.link.found, Found::Embed | Found::Redirect | Found::Seed);
        let stale = via.is_some_and(|via| via.stale) || self.comes_last(&one.link.url);
        let priority =
            one.priority.unwrap_or_else(|| priority(Rank { hops: one.hops, belongs, stale }));
        let host = self.host_id(&one.link.url.host())?;
        let status = self.host(host)?.map(|record| record.status);
        if let Some(HostStatus::GivenUp { reason, .. }) = status {
            let reason_code = "host-given-up".to_owned();
            let state = UrlState::Failed { reason: reason_code, detail: reason, at: now };
            let record = new_record(one.link, via, (one.hops, one.hops_max), state, now);
            urls::put(batch, &self.db, one.own, &record);
            self.counters.failed += 1;
            self.count("host-given-up");
            return Ok(false);
        }
        let place = self.enqueue(batch, host, priority, &Item::Page(one.own))?;
        self.shape.add(one.hops, place.priority);
        let record =
            new_record(one.link, via, (one.hops, one.hops_max), UrlState::Queued(place), now);
        urls::put(batch, &self.db, one.own, &record);
        self.counters.queued += 1;
        Ok(true)
    }

    fn suppress_found(
        &mut self,
        batch: &mut Batch,
        via: Option<&Via<'_>>,
        one: &Accepted<'_>,
        (by, rules): (Fingerprint, Vec<u64>),
        version: u64,
        now: Timestamp,
    ) -> Result<(), DbError> {
        self.checks.are_done = false;
        seen::put_itself(batch, &self.db, one.own, (one.hops, one.hops_max));
        self.behind.met(by);
        self.counters.known += 1;
        self.counters.suppressed += 1;
        self.count("suppressed");
        self.tell_suppressed(&one.link.url, &rules);
        let how = Suppression { rules: rules.clone(), at: now };
        suppressed::put(batch, &self.db, by, one.own, &how);
        let state = UrlState::Suppressed { by, rules, version, at: now };
        let record = new_record(one.link, via, (one.hops, one.hops_max), state, now);
        urls::put(batch, &self.db, one.own, &record);
        Ok(())
    }
}

/// Returns the depth of a URL that was refused, and the limit of its seed.
fn depth_of(link: &Link, via: Option<&Via<'_>>) -> Depth {
    via.map_or((0, None), |via| (way::deeper(via.hops, link.letter), via.hops_max))
}

fn new_record(
    link: &Link,
    via: Option<&Via<'_>>,
    (hops, hops_max): Depth,
    state: UrlState,
    now: Timestamp,
) -> UrlRecord {
    UrlRecord {
        url: link.url.as_str().to_owned(),
        via: via.map(|via| via.fingerprint),
        path: via.map_or(String::new(), |via| way::longer(via.path, link.letter)),
        hops,
        hops_max,
        discovered: now,
        state,
        attempts: 0,
        busy: 0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::crawl::readmit::tests::{open, url};
    use crate::db::MemoryEnv;
    use crate::filter::Filter;

    fn link(url: &CrawlUrl) -> Link {
        Link { url: url.clone(), found: Found::Link, letter: 'L', nofollow: false, as_link: None }
    }

    /// The first depth held, however near the page was found later.
    #[test]
    fn a_url_that_waits_takes_the_way_that_leaves_most_room() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let (page, other) = (url("http://a.example/page"), url("http://a.example/other"));
        let seeds = std::slice::from_ref(&page);
        state.filter = Arc::new(Filter::new(&Default::default(), seeds).unwrap());
        // Page, depth, limit; depth and limit of what is found, and from where.
        let steps = [
            (&page, 3, None, (4, None), &page),
            (&other, 5, None, (4, None), &page),
            (&other, 0, Some(9), (4, None), &page),
            (&other, 1, None, (2, None), &other),
            (&page, 0, Some(100), (1, Some(100)), &page),
        ];
        let target = url("http://a.example/target");
        for (from, hops, hops_max, depth, by) in steps {
            let (fingerprint, path) = (from.fingerprint(), "L");
            let via = Via { url: from, fingerprint, path, hops, hops_max, stale: false };
            let mut batch = Batch::default();
            state.discover(&mut batch, &via, &[link(&target)], now).unwrap();
            state.commit(batch, now).unwrap();
            let record = urls::get(&state.db, target.fingerprint()).unwrap().unwrap();
            assert_eq!((record.hops, record.hops_max), depth);
            assert_eq!(record.via, Some(by.fingerprint()));
            assert!(matches!(record.state, UrlState::Queued(_)));
            let mut counted = [0; 16];
            counted[usize::from(record.hops)] = 1;
            assert_eq!(state.shape.by_depth, counted);
        }
        assert_eq!((state.counters.queued, state.counters.known), (1, 4));
        assert!(state.changes.jobs.is_empty());
    }

    /// Of several pages that lead too deep, the one that was met first was remembered.
    #[test]
    fn what_lies_too_deep_keeps_the_nearest_way() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let pages = ["p", "q", "r"].map(|name| url(&format!("http://a.example/{name}")));
        let target = url("http://a.example/target");
        for (from, hops, want) in [(0, 150, 0), (1, 120, 1), (2, 130, 1)] {
            let (fingerprint, path): (_, &str) = (pages[from].fingerprint(), "L");
            let page = &pages[from];
            let via = Via { url: page, fingerprint, path, hops, hops_max: None, stale: false };
            let mut batch = Batch::default();
            state.discover(&mut batch, &via, &[link(&target)], now).unwrap();
            state.commit(batch, now).unwrap();
            let record = urls::get(&state.db, target.fingerprint()).unwrap().unwrap();
            assert_eq!(record.via, Some(pages[want].fingerprint()));
        }
    }
}
