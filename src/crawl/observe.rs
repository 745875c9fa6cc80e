//! What the state counts for observers beside the counters of the crawl.

use super::state::State;
use crate::db::DbError;
use crate::db::families::meta::QueueShape;
use crate::db::families::urls;
use crate::frontier::{HostStatus, UrlState};

impl State {
    /// Counts a host that was closed for good.
    pub(super) fn count_closed(&mut self, status: &HostStatus) {
        match status {
            HostStatus::Open => {}
            HostStatus::Parked { .. } => self.tally.hosts_parked += 1,
            HostStatus::GivenUp { .. } => self.tally.hosts_given_up += 1,
        }
    }

    /// Takes back what was counted when a host was closed, since it is opened again.
    pub(super) fn count_opened(&mut self, status: &HostStatus) {
        let count = match status {
            HostStatus::Open => return,
            HostStatus::Parked { .. } => &mut self.tally.hosts_parked,
            HostStatus::GivenUp { .. } => &mut self.tally.hosts_given_up,
        };
        *count = count.saturating_sub(1);
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
}
