//! Where hosts stand: in line before the back queues, in one of them, behind others of their group,
//! asleep, or out.
//!
//! A host has one standing at a time, and the row that says so changes in the batch of the event
//! that moves it.

use std::net::IpAddr;

use super::error::CrawlError;
use super::state::State;
use crate::clock::Timestamp;
use crate::db::families::queue::Item;
use crate::db::families::{hosts, line, queue, urls};
use crate::db::{Batch, DbError};
use crate::dust::Fetched;
use crate::frontier::{
    Errand, Grouping, HostId, HostRecord, HostStatus, Lease, PRIORITIES, PUT_OFF, Parting, Place,
    Standing, UrlRecord, UrlState, Waiting, group_of_address, group_of_name,
};
use crate::url::{CrawlUrl, Fingerprint, Host};

/// Hosts that are called out of groups that are none any more in one step.
const CALL_STEP: usize = 1000;

/// Rows of a host that was given up that are marked failed in one step.
const DRAIN_STEP: usize = 200;

impl State {
    /// Gives a host without a back queue a place in line, or a better one.
    pub(super) fn stand(
        &mut self,
        batch: &mut Batch,
        host: HostId,
        priority: u8,
    ) -> Result<(), DbError> {
        let Some(mut record) = self.hosts.get(&self.db, host)? else { return Ok(()) };
        let better = match record.standing {
            Standing::Out => record.is_open(),
            Standing::InLine(place) => place.priority > priority,
            Standing::Snoozed(_) | Standing::InGroup(..) => false,
        };
        if better {
            let place = Place { priority, serial: self.next_row() };
            // While its name is looked up it is counted among those with a back queue.
            if !self.in_lookup.contains(&host) {
                if let Standing::InLine(place) = record.standing {
                    self.frontier.skip_ticket(place.priority);
                }
                self.frontier.ticket_added(priority);
            }
            line::restand(batch, &self.db, &mut record, Standing::InLine(place));
            self.hosts.set(record);
        }
        Ok(())
    }

    /// Takes the next host of a front queue and gives it a back queue, if it may have one.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn activate(&mut self, priority: u8, now: Timestamp) -> Result<(), CrawlError> {
        let cursor = self.line_cursors[usize::from(priority)];
        let Some((place, id)) = line::head(&self.db, priority, cursor)? else {
            // The count and the rows can only part where a row was lost; the rows are right.
            self.frontier.clear_line(priority);
            return Ok(());
        };
        self.line_cursors[usize::from(priority)] = place.serial + 1;
        if self.in_lookup.contains(&id) {
            return Ok(());
        }
        let Some(mut record) = self.hosts.get(&self.db, id)? else {
            self.frontier.skip_ticket(priority);
            return Ok(());
        };
        if record.standing != Standing::InLine(place) || self.frontier.active(id).is_some() {
            self.frontier.skip_ticket(priority);
            return Ok(());
        }
        let by_address = self.frontier.rules().all().group == Grouping::Ip;
        if by_address && self.frontier.group(&record).is_none() && record.is_open() {
            // Its group must be known before its first request, or that may come too early.
            self.frontier.skip_ticket(priority);
            self.frontier.lookup_began();
            self.in_lookup.insert(id);
            self.lookups.push((id, record.name.clone()));
            return Ok(());
        }
        let (group, room) = self.frontier.group_of(&record);
        let standing = match (record.is_open(), room) {
            (true, true) => {
                self.frontier.activate(record, place);
                return Ok(());
            }
            (true, false) => Standing::InGroup(group, self.next_row()),
            (false, _) => Standing::Out,
        };
        let mut batch = Batch::default();
        self.frontier.skip_ticket(priority);
        line::restand(&mut batch, &self.db, &mut record, standing);
        self.hosts.set(record);
        if standing == Standing::Out {
            // The room that it was called for is another's.
            self.admit_from_group(&mut batch, group)?;
        }
        self.commit(batch, now)
    }

    /// Takes the hosts whose address must be looked up.
    pub(super) fn take_lookups(&mut self) -> Vec<(HostId, Host)> {
        std::mem::take(&mut self.lookups)
    }

    /// Notes the group of a host and puts it back into line. A name without an address has a group
    /// of its own until a visit finds one: [`State::regroup`].
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn group_found(
        &mut self,
        id: HostId,
        address: Option<&IpAddr>,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        self.frontier.lookup_ended();
        self.in_lookup.remove(&id);
        let Some(mut record) = self.hosts.get(&self.db, id)? else { return Ok(()) };
        let own = || group_of_name(&record.name);
        record.group = Some(address.map_or_else(own, |address| group_of_address(*address)));
        let mut batch = Batch::default();
        if let Standing::InLine(place) = record.standing {
            let place = Place { priority: place.priority, serial: self.next_row() };
            line::restand(&mut batch, &self.db, &mut record, Standing::InLine(place));
            self.frontier.ticket_added(place.priority);
        }
        self.hosts.set(record);
        self.commit(batch, now)
    }

    /// Returns the group of an active host, where addresses are kept apart.
    pub(super) fn group_by_address(&self, host: HostId) -> Option<u64> {
        let by_address = self.frontier.rules().all().group == Grouping::Ip;
        let active = self.frontier.active(host).filter(|_| by_address)?;
        self.frontier.group(&active.record)
    }

    /// Puts a host into the group of the address that its name has by now, before anything is asked
    /// of that address; the URL of the lease waits as before.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn regroup(
        &mut self,
        batch: &mut Batch,
        lease: Lease,
        address: IpAddr,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        let id = lease.host;
        if lease.waiting.errand == Errand::Page {
            self.counters.in_flight = self.counters.in_flight.saturating_sub(1);
            self.counters.queued += 1;
        }
        hosts::delete_lease(batch, &self.db, id);
        if let Some(record) = self.frontier.record_mut(id) {
            record.pace.hold_until(now.plus(PUT_OFF));
        }
        let (record, parting) = self.frontier.leave_group(lease, now);
        // With the old group still in its record, so that the next one of that gets its room.
        self.part(batch, record, parting)?;
        Ok(self.change_host(id, |record| record.group = Some(group_of_address(address)))?)
    }

    /// Puts hosts into line that wait in groups which are none any more, since another grouping is
    /// set: nobody would ever leave those and call them.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn call_stranded(
        &mut self,
        stranded: &[HostId],
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        for some in stranded.chunks(CALL_STEP) {
            let mut batch = Batch::default();
            for id in some {
                if let Some(record) = self.hosts.get(&self.db, *id)? {
                    self.line_up(&mut batch, record)?;
                }
            }
            self.commit(batch, now)?;
        }
        Ok(())
    }

    /// Gives a host without a back queue a place in line, or none if it may not be crawled.
    fn line_up(&mut self, batch: &mut Batch, mut record: HostRecord) -> Result<(), DbError> {
        let standing = if record.is_open() {
            let priority = self.best_priority(&record)?;
            self.frontier.ticket_added(priority);
            Standing::InLine(Place { priority, serial: self.next_row() })
        } else {
            Standing::Out
        };
        line::restand(batch, &self.db, &mut record, standing);
        self.hosts.set(record);
        Ok(())
    }

    /// Reads the next rows of a host with a back queue.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn fill(&mut self, id: HostId, now: Timestamp) -> Result<(), CrawlError> {
        let Some(active) = self.frontier.active(id) else { return Ok(()) };
        let most = self.frontier.settings().buffer.max(2);
        let (rows, more) = queue::read(&self.db, id, &active.cursors, most)?;
        let places: Vec<Place> = rows.iter().map(|(place, _)| *place).collect();
        let waiting = self.waiting(rows)?;
        let none = waiting.is_empty();
        self.frontier.fill(id, &places, waiting, more);
        if none && let Some(record) = self.frontier.drop_empty(id) {
            let mut batch = Batch::default();
            self.part(&mut batch, record, Parting::Empty)?;
            self.commit(batch, now)?;
        }
        Ok(())
    }

    fn waiting(&self, rows: Vec<(Place, Item)>) -> Result<Vec<Waiting>, DbError> {
        let prints = rows.iter().filter_map(|(_, item)| match item {
            Item::Page(fingerprint) => Some(*fingerprint),
            Item::Probe { .. } | Item::Robots { .. } => None,
        });
        let prints: Vec<Fingerprint> = prints.collect();
        let mut records = urls::get_many(&self.db, &prints)?.into_iter();
        let mut waiting = Vec::with_capacity(rows.len());
        for (place, item) in rows {
            let one = match item {
                Item::Page(fingerprint) => {
                    let record = records.next().flatten();
                    record.and_then(|record| page_of(place, fingerprint, record))
                }
                Item::Probe { url, number } => errand_of(place, &url, "S", Errand::Probe(number)),
                Item::Robots { url, origin, hops } => {
                    errand_of(place, &url, "P", Errand::Robots { origin, hops, row: true })
                }
            };
            waiting.extend(one);
        }
        Ok(waiting)
    }

    /// Gives a host that left its back queue its next standing.
    pub(super) fn part(
        &mut self,
        batch: &mut Batch,
        mut record: HostRecord,
        parting: Parting,
    ) -> Result<(), DbError> {
        let id = record.id;
        let group = self.frontier.group_of(&record).0;
        let standing = match parting {
            Parting::Stays => {
                self.hosts.set(record);
                return Ok(());
            }
            // A row that was added meanwhile keeps the host in line.
            Parting::Empty => Standing::Out,
            Parting::Closed => {
                self.count_closed(&record.status);
                Standing::Out
            }
            Parting::Snoozed(at) => Standing::Snoozed(at),
            // Those that wait for its room in the group come first.
            Parting::Rotated if line::group_head(&self.db, group)?.is_some() => {
                Standing::InGroup(group, self.next_row())
            }
            Parting::Rotated | Parting::Left => {
                let priority = self.best_priority(&record)?;
                self.frontier.ticket_added(priority);
                Standing::InLine(Place { priority, serial: self.next_row() })
            }
        };
        line::restand(batch, &self.db, &mut record, standing);
        if matches!(record.status, HostStatus::GivenUp { .. }) && record.queued > 0 {
            self.drain.push_back(id);
        }
        self.hosts.set(record);
        self.admit_from_group(batch, group)
    }

    /// A host that waited for room in the group comes to the head of a front queue.
    fn admit_from_group(&mut self, batch: &mut Batch, group: u64) -> Result<(), DbError> {
        let Some(id) = line::group_head(&self.db, group)? else { return Ok(()) };
        let Some(record) = self.hosts.get(&self.db, id)? else { return Ok(()) };
        if !matches!(record.standing, Standing::InGroup(..)) {
            return Ok(());
        }
        self.line_up(batch, record)
    }

    fn best_priority(&self, record: &HostRecord) -> Result<u8, DbError> {
        let (rows, _) = queue::read(&self.db, record.id, &record.floors, 2)?;
        Ok(rows.first().map_or(PRIORITIES as u8 - 1, |(place, _)| place.priority))
    }

    /// Brings sleeping hosts whose time has come back into line; returns when the next one wakes.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn wake(&mut self, now: Timestamp) -> Result<Option<Timestamp>, CrawlError> {
        let woken = line::woken(&self.db, now, 64)?;
        if !woken.is_empty() {
            let mut batch = Batch::default();
            for id in woken {
                if let Some(record) = self.hosts.get(&self.db, id)? {
                    self.line_up(&mut batch, record)?;
                }
            }
            self.commit(batch, now)?;
        }
        Ok(line::next_waking(&self.db)?)
    }

    /// Has the queue of a host emptied that is given up: nobody would come for what is put there.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn drain_if_given_up(&mut self, host: HostId) -> Result<(), DbError> {
        let is_gone = |record: HostRecord| matches!(record.status, HostStatus::GivenUp { .. });
        if self.host(host)?.is_some_and(is_gone) && !self.drain.contains(&host) {
            self.drain.push_back(host);
        }
        Ok(())
    }

    /// Marks some URLs of hosts that were given up as failed; returns true if there are more.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn drain_given_up(&mut self, now: Timestamp) -> Result<bool, CrawlError> {
        let Some(id) = self.drain.front().copied() else { return Ok(false) };
        let Some(record) = self.host(id)? else {
            self.drain.pop_front();
            return Ok(true);
        };
        let HostStatus::GivenUp { reason, .. } = record.status.clone() else {
            self.drain.pop_front();
            return Ok(true);
        };
        let (rows, _) = queue::read(&self.db, id, &record.floors, DRAIN_STEP)?;
        if rows.is_empty() {
            self.drain.pop_front();
            return Ok(true);
        }
        let mut batch = Batch::default();
        let mut floors = record.floors;
        for (place, item) in &rows {
            queue::delete(&mut batch, &self.db, id, *place);
            let floor = &mut floors[usize::from(place.priority) % PRIORITIES];
            *floor = (*floor).max(place.serial + 1);
            if let Item::Robots { url, origin, hops } = item
                && self.awaits_robots(origin, url, *hops)
            {
                let why = format!("it redirects to {}, which is given up", record.name);
                self.lose_robots(&mut batch, origin.clone(), why, now)?;
            }
            if let Item::Probe { number, .. } = item {
                self.give_up_probe(&mut batch, *number, Fetched::Unavailable, now)?;
            }
            if let Item::Page(fingerprint) = item
                && let Some(mut url) = urls::get(&self.db, *fingerprint)?
            {
                url.state = UrlState::Failed {
                    reason: "host-given-up".to_owned(),
                    detail: reason.clone(),
                    at: now,
                };
                urls::put(&mut batch, &self.db, *fingerprint, &url);
                self.shape.remove(url.hops, place.priority);
                self.give_back(&mut batch, *fingerprint)?;
                self.counters.queued = self.counters.queued.saturating_sub(1);
                self.counters.failed += 1;
                self.count("host-given-up");
            }
        }
        let gone = rows.len() as u64;
        self.change_host(id, |record| {
            record.floors = floors;
            record.queued = record.queued.saturating_sub(gone);
        })?;
        self.commit(batch, now)?;
        Ok(true)
    }
}

fn page_of(place: Place, fingerprint: Fingerprint, record: UrlRecord) -> Option<Waiting> {
    Some(Waiting {
        place,
        url: CrawlUrl::parse(&record.url).ok()?,
        fingerprint,
        path: record.path,
        via: record.via,
        hops: record.hops,
        hops_max: record.hops_max,
        attempts: record.attempts,
        busy: record.busy,
        errand: Errand::Page,
    })
}

fn errand_of(place: Place, url: &str, path: &str, errand: Errand) -> Option<Waiting> {
    let url = CrawlUrl::parse(url).ok()?;
    Some(Waiting {
        place,
        fingerprint: url.fingerprint(),
        url,
        path: path.to_owned(),
        via: None,
        hops: 0,
        hops_max: None,
        attempts: 0,
        busy: 0,
        errand,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::learn::{Asker, ProbeFlight};
    use crate::crawl::readmit::tests::{open, url};
    use crate::db::MemoryEnv;
    use crate::frontier::{Next, Politeness, Rules};

    /// Gives hosts back queues until nobody waits for one any more; answers all lookups but those
    /// that are held back.
    fn activate_all(state: &mut State, held_back: &mut Vec<HostId>, now: Timestamp) {
        for _ in 0..100 {
            let Next::Activate(priority) = state.frontier.next(now) else { return };
            state.activate(priority, now).unwrap();
            held_back.extend(state.take_lookups().into_iter().map(|(id, _)| id));
        }
        panic!("it has no end");
    }

    /// The line that it had left was taken to have lost another host, which then was never called;
    /// and its name was looked up a second time.
    #[test]
    fn a_host_that_gets_a_better_place_while_its_name_is_looked_up_takes_no_place_of_others() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let by_address = Politeness { group: Grouping::Ip, ..Politeness::default() };
        state.frontier.set_rules(Rules::new(by_address, &Default::default()));
        let mut batch = Batch::default();
        for name in ["a.example", "b.example"] {
            let id = state.host_id(&Host::new(name)).unwrap();
            state.stand(&mut batch, id, 5).unwrap();
        }
        state.commit(batch, now).unwrap();
        state.activate(5, now).unwrap();
        let mut lookups: Vec<HostId> = state.take_lookups().into_iter().map(|(id, _)| id).collect();
        assert_eq!(lookups, [HostId(0)]);
        let mut batch = Batch::default();
        state.stand(&mut batch, HostId(0), 1).unwrap();
        state.commit(batch, now).unwrap();
        activate_all(&mut state, &mut lookups, now);
        assert_eq!(lookups, [HostId(0), HostId(1)]);
        for id in lookups {
            state.group_found(id, None, now).unwrap();
        }
        activate_all(&mut state, &mut Vec::new(), now);
        let active: Vec<HostId> = state.actives().iter().map(|active| active.record.id).collect();
        assert_eq!(active, [HostId(0), HostId(1)]);
        assert_eq!(state.frontier.selector().waiting(), 0);
    }

    /// They were awaited for ever, until there was no room for others.
    #[test]
    fn probes_of_a_host_that_is_given_up_are_awaited_no_longer() {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let ask = |state: &mut State| {
            let mut batch = Batch::default();
            let asker = Asker::Rule { id: 1, is_reference: false };
            let flight = ProbeFlight { asker, hops: 0 };
            state.enqueue_probe(&mut batch, &url("http://a.example/p"), flight).unwrap();
            state.commit(batch, now).unwrap();
            assert_eq!(state.probes.len(), 1);
        };
        ask(&mut state);
        let status = HostStatus::GivenUp { reason: "gone".to_owned(), at: now };
        state.change_host(HostId(0), |record| record.status = status).unwrap();
        state.drain.push_back(HostId(0));
        while state.drain_given_up(now).unwrap() {}
        assert!(state.probes.is_empty(), "{:?}", state.probes);
        ask(&mut state);
        while state.drain_given_up(now).unwrap() {}
        assert!(state.probes.is_empty(), "{:?}", state.probes);
    }
}
