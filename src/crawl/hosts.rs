//! Records of hosts without a back queue: read through a bounded cache, written with the batch.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;

use lru::LruCache;

use crate::db::families::hosts;
use crate::db::{Batch, Db, DbError};
use crate::frontier::{HostId, HostRecord};
use crate::url::Host;

/// Finds and keeps host records. A host with a back queue has its one true record in the frontier;
/// the caller looks there first.
#[derive(Debug)]
pub(super) struct Hosts {
    ids: LruCache<Host, HostId>,
    records: LruCache<HostId, HostRecord>,
    changed: BTreeMap<HostId, HostRecord>,
    /// Numbers that the database does not have yet: the cache may let go of them before it does.
    new_ids: HashMap<Host, HostId>,
}

impl Hosts {
    pub(super) fn new(capacity: usize) -> Self {
        let capacity = NonZeroUsize::new(capacity.max(16)).unwrap_or(NonZeroUsize::MIN);
        Hosts {
            ids: LruCache::sparse(capacity),
            records: LruCache::sparse(capacity),
            changed: BTreeMap::new(),
            new_ids: HashMap::new(),
        }
    }

    /// Returns the number of a host, or `None` if it was never heard of.
    pub(super) fn find(&mut self, db: &Db, name: &Host) -> Result<Option<HostId>, DbError> {
        if let Some(id) = self.ids.get(name).or_else(|| self.new_ids.get(name)) {
            return Ok(Some(*id));
        }
        let id = hosts::id_of(db, name.as_str())?;
        if let Some(id) = id {
            self.ids.put(name.clone(), id);
        }
        Ok(id)
    }

    /// Gives a new host its number.
    pub(super) fn create(&mut self, name: Host, next: &mut u32) -> HostId {
        let id = HostId(*next);
        *next += 1;
        self.ids.put(name.clone(), id);
        self.new_ids.insert(name.clone(), id);
        self.changed.insert(id, HostRecord::new(id, name));
        id
    }

    /// Returns a copy of a record.
    pub(super) fn get(&mut self, db: &Db, id: HostId) -> Result<Option<HostRecord>, DbError> {
        if let Some(record) = self.changed.get(&id) {
            return Ok(Some(record.clone()));
        }
        if let Some(record) = self.records.get(&id) {
            return Ok(Some(record.clone()));
        }
        let record = hosts::get(db, id)?;
        if let Some(record) = &record {
            self.records.put(id, record.clone());
        }
        Ok(record)
    }

    /// Notes a changed record, to be written with the next batch.
    pub(super) fn set(&mut self, record: HostRecord) {
        self.changed.insert(record.id, record);
    }

    /// Puts all changes into the batch.
    pub(super) fn flush(&mut self, batch: &mut Batch, db: &Db) {
        for (name, id) in self.new_ids.drain() {
            hosts::put_id(batch, db, name.as_str(), id);
        }
        for (id, record) in std::mem::take(&mut self.changed) {
            hosts::put(batch, db, &record);
            self.records.put(id, record);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::MemoryEnv;

    #[test]
    fn a_host_has_one_number_however_many_are_met_before_the_first_is_written() {
        let env = MemoryEnv::new().unwrap();
        let db = Db::open_in_memory("/state".as_ref(), &Default::default(), &env).unwrap();
        let mut hosts = Hosts::new(16);
        let name = |n: u32| Host::new(&format!("host-{n}.example"));
        let mut next = 0;
        for n in 0..40 {
            assert_eq!(hosts.find(&db, &name(n)).unwrap(), None);
            hosts.create(name(n), &mut next);
        }
        assert_eq!(hosts.find(&db, &name(0)).unwrap(), Some(HostId(0)));
        let mut batch = Batch::default();
        hosts.flush(&mut batch, &db);
        db.commit(batch).unwrap();
        for n in 0..40 {
            assert_eq!(hosts.find(&db, &name(n)).unwrap(), Some(HostId(n)));
        }
    }
}
