//! What only a walk over the state can tell: hosts without a back queue, the queue by priority, the
//! disk. Observers take it on a thread of their own; the loop has no part in it.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::view::{HostLine, HostState};
use crate::clock::Timestamp;
use crate::db::families::{hosts, queue};
use crate::db::{Db, DbError, Family};
use crate::frontier::{PRIORITIES, Rules, Standing};

/// Hosts of each state that are named; all are counted.
const NAMED_MAX: usize = 100;

/// Waiting rows that are counted by priority.
const ROWS_MAX: u64 = 5_000_000;

/// Files of the archive that are measured.
const FILES_MAX: usize = 100_000;

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Census {
    /// When it was begun.
    pub at: Timestamp,
    /// Hosts in all.
    pub hosts: u64,
    /// Hosts that wait for a back queue, or for room in their group.
    pub waiting: u64,
    /// Hosts that sleep longer than they would keep a back queue.
    pub sleeping: u64,
    /// Hosts that have not recovered from 429, 503 or silence.
    pub backing_off: u64,
    /// Hosts that wait for a person.
    pub parked: u64,
    /// Hosts that are given up.
    pub given_up: u64,
    /// Hosts by name: those that are held first, then by how they stand and what waits.
    pub lines: Vec<HostLine>,
    /// Waiting URLs by priority.
    pub queue: [u64; PRIORITIES],
    /// False if not all of them were counted.
    pub queue_is_whole: bool,
    /// Bytes of the state.
    pub state_bytes: u64,
    /// Bytes of the archive.
    pub archive_bytes: u64,
    /// Files of the archive.
    pub archive_files: u64,
}

/// Counts. `archive` is the archive's directory.
///
/// # Errors
/// Returns what the database says.
pub fn census(
    db: &Db,
    archive: &Path,
    politeness: &Rules,
    now: Timestamp,
) -> Result<Census, DbError> {
    let mut census = Census { at: now, queue_is_whole: true, ..Census::default() };
    let mut held: Vec<HostLine> = Vec::new();
    let mut others: Vec<HostLine> = Vec::new();
    hosts::each(db, |record| {
        census.hosts += 1;
        let next = match record.standing {
            Standing::Snoozed(at) => at,
            Standing::Out | Standing::InLine(_) | Standing::InGroup(..) => {
                record.pace.earliest(politeness.of(record.name.as_str()), now)
            }
        };
        let line = HostLine::new(&record, next, now);
        let list = match line.state {
            HostState::Parked => {
                census.parked += 1;
                &mut held
            }
            HostState::GivenUp => {
                census.given_up += 1;
                &mut held
            }
            HostState::BackingOff => {
                census.backing_off += 1;
                &mut held
            }
            _ => &mut others,
        };
        match record.standing {
            Standing::Snoozed(_) => census.sleeping += 1,
            Standing::InLine(_) | Standing::InGroup(..) => census.waiting += 1,
            Standing::Out => {}
        }
        list.push(line);
        if list.len() >= 2 * NAMED_MAX {
            keep_longest(list);
        }
        true
    })?;
    keep_longest(&mut held);
    keep_longest(&mut others);
    census.lines = held;
    census.lines.append(&mut others);
    let mut rows = 0;
    db.scan(Family::Queue, &[], &[], |key, _| {
        rows += 1;
        if let Some((_, place)) = queue::parse(key) {
            census.queue[usize::from(place.priority) % PRIORITIES] += 1;
        }
        census.queue_is_whole = rows < ROWS_MAX;
        Ok(census.queue_is_whole)
    })?;
    census.state_bytes = db.totals().disk_bytes;
    (census.archive_files, census.archive_bytes) = size_of(archive);
    Ok(census)
}

fn keep_longest(lines: &mut Vec<HostLine>) {
    lines.sort_by(|a, b| {
        let rank = |host: &HostLine| (host.state, host.backlog, host.done);
        rank(b).cmp(&rank(a)).then_with(|| a.name.cmp(&b.name))
    });
    lines.truncate(NAMED_MAX);
}

/// Returns the number of files in a directory, and their bytes.
fn size_of(dir: &Path) -> (u64, u64) {
    let Ok(entries) = std::fs::read_dir(dir) else { return (0, 0) };
    let sizes = entries.take(FILES_MAX).flatten().filter_map(|entry| {
        let about = entry.metadata().ok()?;
        about.is_file().then_some(about.len())
    });
    sizes.fold((0, 0), |(files, bytes), size| (files + 1, bytes + size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::{Batch, MemoryEnv};
    use crate::frontier::{HostId, HostRecord, Politeness};
    use crate::url::Host;

    /// It was shown as one that may be fetched now.
    #[test]
    fn a_host_that_was_never_asked_waits_for_its_hours() {
        let env = MemoryEnv::new().unwrap();
        let db = Db::open_in_memory("/state".as_ref(), &Default::default(), &env).unwrap();
        let mut batch = Batch::default();
        let mut host = HostRecord::new(HostId(0), Host::new("a.example"));
        host.queued = 1;
        hosts::put(&mut batch, &db, &host);
        db.commit(batch).unwrap();
        let windows = vec!["22:00-06:00".parse().unwrap()];
        let politeness = Politeness { windows, ..Politeness::default() };
        let politeness = Rules::new(politeness, &Default::default());
        let noon = Timestamp::from_rfc3339("2026-01-10T12:00:00Z").unwrap();
        let census = census(&db, "/none".as_ref(), &politeness, noon).unwrap();
        let line = &census.lines[0];
        assert_eq!((line.state, line.next_ms), (HostState::Waiting, 10 * 3_600_000));
    }
}
