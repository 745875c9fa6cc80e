//! What the state shows to observers: read once a second, never stored.

use super::snapshot::{HOSTS_SHOWN, HostNow, HostView};
use super::state::State;
use crate::clock::Timestamp;
use crate::db::DbError;
use crate::db::families::meta::QueueShape;
use crate::db::families::urls;
use crate::frontier::{Active, HostStatus, UrlState};

impl State {
    /// Counts a host that was closed for good.
    pub(super) fn count_closed(&mut self, status: &HostStatus) {
        match status {
            HostStatus::Open => {}
            HostStatus::Parked { .. } => self.tally.hosts_parked += 1,
            HostStatus::GivenUp { .. } => self.tally.hosts_given_up += 1,
        }
    }

    /// Counts the queue anew where its stored shape is of another version, or none.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn recount_shape(&mut self) -> Result<(), DbError> {
        if self.shape.total() == self.counters.queued {
            return Ok(());
        }
        let mut shape = QueueShape::default();
        urls::each(&self.db, |_, record| {
            if let UrlState::Queued(place) = record.state {
                shape.add(record.hops, place.priority);
            }
            true
        })?;
        self.shape = shape;
        Ok(())
    }

    /// Returns the hosts with the longest backlogs among those with a back queue, at most
    /// [`HOSTS_SHOWN`].
    pub(super) fn busiest(&self, now: Timestamp) -> Vec<HostView> {
        let mut actives = self.frontier.actives();
        let key = |active: &&Active| (std::cmp::Reverse(active.record.queued), active.record.id);
        if actives.len() > HOSTS_SHOWN {
            actives.select_nth_unstable_by_key(HOSTS_SHOWN, key);
            actives.truncate(HOSTS_SHOWN);
        }
        actives.sort_unstable_by_key(key);
        actives.into_iter().map(|active| self.view_of(active, now)).collect()
    }

    fn view_of(&self, active: &Active, now: Timestamp) -> HostView {
        let record = &active.record;
        let rests = self.frontier.earliest(record).since(now);
        let doing = match (active.is_in_flight(), rests.is_zero()) {
            (true, _) => HostNow::InFlight,
            (false, true) => HostNow::Ready,
            (false, false) if record.pace.is_troubled() => HostNow::BackingOff,
            (false, false) => HostNow::Waiting,
        };
        HostView {
            host: record.name.to_string(),
            now: doing,
            backlog: record.queued,
            done: record.done,
            bytes: record.bytes,
            duplicates: record.duplicates,
            gap_ms: record.pace.gap_ms,
            latency_ms: record.pace.latency().as_millis() as u64,
            rests_ms: rests.as_millis() as u64,
            busy: record.pace.busy_total,
        }
    }
}
