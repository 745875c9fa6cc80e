//! Opening, reading, and the one batch.

use std::path::{Path, PathBuf};

use rocksdb::{
    ColumnFamilyDescriptor, DB, Env, IteratorMode, ReadOptions, WriteBatch, WriteOptions,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::DbError;
use super::families::Family;
use super::options::{Settings, Shared};

/// Version of the layouts in `families`; a state of another version is refused.
pub const FORMAT_VERSION: u32 = 4;

const VERSION_KEY: &[u8] = b"format-version";

/// The open state of one crawl.
pub struct Db {
    db: DB,
    dir: PathBuf,
    /// A state in memory has nothing to be made safe.
    in_memory: bool,
}

impl std::fmt::Debug for Db {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Db").field("dir", &self.dir).finish_non_exhaustive()
    }
}

/// A file system in memory.
pub struct MemoryEnv(Env);

impl std::fmt::Debug for MemoryEnv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MemoryEnv")
    }
}

impl MemoryEnv {
    /// Returns an empty file system.
    ///
    /// # Errors
    /// Returns what RocksDB says.
    pub fn new() -> Result<MemoryEnv, DbError> {
        Ok(MemoryEnv(Env::mem_env()?))
    }
}

/// What the state occupies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Bytes of files: tables, write-ahead log and what RocksDB notes of itself.
    pub disk_bytes: u64,
    /// Bytes of memory in caches, buffers and table readers.
    pub memory_bytes: u64,
}

impl Db {
    /// Opens the state in `dir`, making it where there is none.
    ///
    /// # Errors
    /// Returns [`DbError::Locked`] if another process has it, [`DbError::Version`] if another
    /// version wrote it, and what RocksDB says otherwise.
    pub fn open(dir: &Path, settings: &Settings) -> Result<Db, DbError> {
        Self::open_with(dir, settings, None)
    }

    /// Opens a state that lives in memory and outlasts the handles to it: for simulations.
    ///
    /// # Errors
    /// As [`Db::open`].
    pub fn open_in_memory(
        dir: &Path,
        settings: &Settings,
        memory: &MemoryEnv,
    ) -> Result<Db, DbError> {
        Self::open_with(dir, settings, Some(memory.0.clone()))
    }

    fn open_with(dir: &Path, settings: &Settings, env: Option<Env>) -> Result<Db, DbError> {
        let in_memory = env.is_some();
        let shared = Shared::new(settings, env);
        let options = shared.database();
        if !in_memory {
            Self::refuse_strangers(dir)?;
        }
        let families = Family::ALL
            .map(|family| ColumnFamilyDescriptor::new(family.name(), shared.family(family)));
        let db = DB::open_cf_descriptors(&options, dir, families)
            .map_err(|error| Self::opening_error(dir, error))?;
        let db = Db { db, dir: dir.to_owned(), in_memory };
        db.check_version()?;
        Ok(db)
    }

    /// Opens the state in `dir` for reading while another process may be writing it: what was
    /// committed when it was opened is seen, and nothing is changed.
    ///
    /// The writer takes files away while they are looked for: what stood in a log is in a table
    /// then, of which the list that was read does not know yet. So the files are looked at before
    /// and after, and if they changed, all is opened anew, a bounded number of times.
    ///
    /// # Errors
    /// Returns [`DbError::Missing`] if there is no state, [`DbError::Restless`] if its files
    /// changed every time, and otherwise as [`Db::open`].
    pub fn open_read_only(dir: &Path, settings: &Settings) -> Result<Db, DbError> {
        if !dir.join("CURRENT").exists() {
            return Err(DbError::Missing(dir.to_owned()));
        }
        for _ in 0..OPENINGS_MAX {
            let before = files_of(dir);
            let opened = Self::open_as_it_is(dir, settings);
            if before.is_some() && before == files_of(dir) {
                return opened;
            }
        }
        Err(DbError::Restless(dir.to_owned()))
    }

    fn open_as_it_is(dir: &Path, settings: &Settings) -> Result<Db, DbError> {
        let shared = Shared::new(settings, None);
        let mut options = shared.database();
        options.create_if_missing(false);
        options.create_missing_column_families(false);
        // All tables are opened now, and held: an open file is there also when its name is gone.
        options.set_max_open_files(-1);
        Self::refuse_strangers(dir)?;
        let families = Family::ALL
            .map(|family| ColumnFamilyDescriptor::new(family.name(), shared.family(family)));
        let db = DB::open_cf_descriptors_read_only(&options, dir, families, false)
            .map_err(|error| Self::opening_error(dir, error))?;
        let db = Db { db, dir: dir.to_owned(), in_memory: false };
        match db.get_raw(Family::Meta, VERSION_KEY)? {
            // Its first batch is still to come.
            None => Err(DbError::Missing(dir.to_owned())),
            Some(_) => db.check_version().map(|()| db),
        }
    }

    /// Removes the state in `dir`, if there is one, and no file that is not part of it.
    ///
    /// # Errors
    /// Returns [`DbError::Locked`] if a process has it, and what RocksDB says otherwise.
    pub fn destroy(dir: &Path) -> Result<(), DbError> {
        if !dir.join("CURRENT").exists() {
            return Ok(());
        }
        DB::destroy(&rocksdb::Options::default(), dir)
            .map_err(|error| Self::opening_error(dir, error))
    }

    /// A state with other families than ours is of another version: RocksDB's own message about it
    /// would help nobody.
    fn refuse_strangers(dir: &Path) -> Result<(), DbError> {
        let Ok(names) = DB::list_cf(&rocksdb::Options::default(), dir) else { return Ok(()) };
        let known = |name: &String| {
            name == "default" || Family::ALL.iter().any(|family| family.name() == name)
        };
        match names.iter().find(|name| !known(name)) {
            None => Ok(()),
            Some(name) => Err(DbError::Version {
                dir: dir.to_owned(),
                found: format!("unknown (it has a family `{name}`)"),
                wanted: FORMAT_VERSION,
            }),
        }
    }

    fn opening_error(dir: &Path, error: rocksdb::Error) -> DbError {
        let text = error.as_ref();
        if text.contains("lock hold by current process") || text.contains("/LOCK:") {
            let pid = std::fs::read_to_string(dir.join("PID")).unwrap_or_default();
            let pid = pid.trim();
            let pid = if pid.is_empty() { String::new() } else { format!(" (process {pid})") };
            return DbError::Locked { dir: dir.to_owned(), pid };
        }
        error.into()
    }

    fn check_version(&self) -> Result<(), DbError> {
        match self.get_raw(Family::Meta, VERSION_KEY)? {
            Some(bytes) if bytes == FORMAT_VERSION.to_be_bytes() => Ok(()),
            Some(bytes) => Err(DbError::Version {
                dir: self.dir.clone(),
                found: <[u8; 4]>::try_from(&bytes[..])
                    .map_or("unreadable".to_owned(), |b| u32::from_be_bytes(b).to_string()),
                wanted: FORMAT_VERSION,
            }),
            None => {
                let mut batch = Batch::default();
                batch.put_raw(self, Family::Meta, VERSION_KEY, &FORMAT_VERSION.to_be_bytes());
                self.commit(batch)
            }
        }
    }

    /// Returns the directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn handle(&self, family: Family) -> &rocksdb::ColumnFamily {
        self.db.cf_handle(family.name()).expect("every family is opened with the database")
    }

    /// Writes a batch: all of it or nothing.
    ///
    /// # Errors
    /// Returns what RocksDB says; after an error nothing more may be written.
    pub fn commit(&self, batch: Batch) -> Result<(), DbError> {
        Ok(self.db.write_opt(batch.0, &WriteOptions::default())?)
    }

    /// Makes all commits safe against a power cut.
    ///
    /// # Errors
    /// Returns what RocksDB says.
    pub fn sync(&self) -> Result<(), DbError> {
        if self.in_memory { Ok(()) } else { Ok(self.db.flush_wal(true)?) }
    }

    /// Returns a value as stored.
    ///
    /// # Errors
    /// Returns what RocksDB says.
    pub fn get_raw(&self, family: Family, key: &[u8]) -> Result<Option<Vec<u8>>, DbError> {
        Ok(self.db.get_cf(self.handle(family), key)?)
    }

    /// Returns whether a key is there.
    ///
    /// # Errors
    /// Returns what RocksDB says.
    pub fn has(&self, family: Family, key: &[u8]) -> Result<bool, DbError> {
        Ok(self.db.get_pinned_cf(self.handle(family), key)?.is_some())
    }

    /// Returns the values of several keys, in their order; sorted ones are found faster.
    ///
    /// # Errors
    /// Returns what RocksDB says.
    pub fn get_many<K: AsRef<[u8]>>(
        &self,
        family: Family,
        keys: &[K],
    ) -> Result<Vec<Option<Vec<u8>>>, DbError> {
        let handle = self.handle(family);
        let keys: Vec<&[u8]> = keys.iter().map(AsRef::as_ref).collect();
        let is_sorted = keys.is_sorted();
        let values = self.db.batched_multi_get_cf(handle, keys, is_sorted);
        values.into_iter().map(|value| Ok(value?.map(|slice| slice.to_vec()))).collect()
    }

    /// Decodes a stored value of version 1.
    ///
    /// # Errors
    /// Returns [`DbError::Corrupt`] with the key.
    pub fn decode<T: DeserializeOwned>(
        family: Family,
        key: &[u8],
        bytes: &[u8],
    ) -> Result<T, DbError> {
        Self::decode_version(1, family, key, bytes)
    }

    /// Decodes a stored value of this version.
    ///
    /// # Errors
    /// Returns [`DbError::Corrupt`] with the key.
    pub(super) fn decode_version<T: DeserializeOwned>(
        wanted: u8,
        family: Family,
        key: &[u8],
        bytes: &[u8],
    ) -> Result<T, DbError> {
        let corrupt = |why: String| DbError::Corrupt {
            family: family.name(),
            key: key.iter().map(|byte| format!("{byte:02x}")).collect(),
            why,
        };
        match bytes.split_first() {
            Some((version, rest)) if *version == wanted => {
                postcard::from_bytes(rest).map_err(|e| corrupt(e.to_string()))
            }
            Some((version, _)) => Err(corrupt(format!("value of version {version}"))),
            None => Err(corrupt("empty value".to_owned())),
        }
    }

    /// Returns a decoded value.
    ///
    /// # Errors
    /// Returns what RocksDB says, or that the value is corrupt.
    pub fn get<T: DeserializeOwned>(
        &self,
        family: Family,
        key: &[u8],
    ) -> Result<Option<T>, DbError> {
        let bytes = self.db.get_pinned_cf(self.handle(family), key)?;
        bytes.map(|bytes| Self::decode(family, key, &bytes)).transpose()
    }

    /// Calls `visit` with the rows from `from` on and before `to` (all that follow, if empty),
    /// until it returns false.
    ///
    /// # Errors
    /// Returns what RocksDB says, or what `visit` returns.
    pub fn scan(
        &self,
        family: Family,
        from: &[u8],
        to: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<bool, DbError>,
    ) -> Result<(), DbError> {
        let mut options = ReadOptions::default();
        // Where a family has prefixes, rows of others may be among those wanted here.
        options.set_total_order_seek(true);
        options.set_iterate_lower_bound(from.to_vec());
        if !to.is_empty() {
            options.set_iterate_upper_bound(to.to_vec());
        }
        let mut rows = self.db.iterator_cf_opt(self.handle(family), options, IteratorMode::Start);
        for row in &mut rows {
            let (key, value) = row?;
            if !visit(&key, &value)? {
                break;
            }
        }
        Ok(())
    }

    /// Calls `visit` with the keys that begin with each of `prefixes`, in order, until it returns
    /// false for that prefix. The family is one that is read by prefixes of this length.
    ///
    /// # Errors
    /// Returns what RocksDB says.
    pub fn each_with_prefixes<P: AsRef<[u8]>>(
        &self,
        family: Family,
        prefixes: &[P],
        mut visit: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), DbError> {
        let mut options = ReadOptions::default();
        options.set_prefix_same_as_start(true);
        // One iterator serves them all: making one costs more than a seek that the filters end.
        let mut rows = self.db.raw_iterator_cf_opt(self.handle(family), options);
        for prefix in prefixes {
            let prefix = prefix.as_ref();
            rows.seek(prefix);
            while let Some(key) = rows.key().filter(|key| key.starts_with(prefix)) {
                if !visit(key) {
                    break;
                }
                rows.next();
            }
            rows.status()?;
        }
        Ok(())
    }

    /// Returns an estimate of the number of keys of a family.
    pub fn estimate(&self, family: Family) -> u64 {
        let handle = self.handle(family);
        let estimate = self.db.property_int_value_cf(handle, "rocksdb.estimate-num-keys");
        estimate.ok().flatten().unwrap_or(0)
    }

    /// Returns what the state occupies.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for family in Family::ALL {
            let read = |name: &str| {
                let value = self.db.property_int_value_cf(self.handle(family), name);
                value.ok().flatten().unwrap_or(0)
            };
            totals.disk_bytes += match self.in_memory {
                true => read("rocksdb.total-sst-files-size"),
                false => 0,
            };
            totals.memory_bytes += read("rocksdb.cur-size-all-mem-tables");
            totals.memory_bytes += read("rocksdb.estimate-table-readers-mem");
        }
        let meta = self.handle(Family::Meta);
        let cached = self.db.property_int_value_cf(meta, "rocksdb.block-cache-usage");
        totals.memory_bytes += cached.ok().flatten().unwrap_or(0);
        if !self.in_memory {
            totals.disk_bytes = self.file_bytes();
        }
        totals
    }

    /// Returns the bytes of all files of the state: of a young crawl most is in the write-ahead
    /// log. A file that goes away meanwhile counts nothing.
    fn file_bytes(&self) -> u64 {
        let Ok(entries) = std::fs::read_dir(&self.dir) else { return 0 };
        let sizes = entries.flatten().filter_map(|entry| entry.metadata().ok());
        sizes.filter(std::fs::Metadata::is_file).map(|data| data.len()).sum()
    }

    /// Verifies the checksum of every table.
    ///
    /// # Errors
    /// Returns the first damage that RocksDB finds.
    pub fn verify_checksums(&self) -> Result<u64, DbError> {
        let mut rows = 0;
        for family in Family::ALL {
            self.scan(family, &[], &[], |_, _| {
                rows += 1;
                Ok(true)
            })?;
        }
        Ok(rows)
    }
}

/// How often a state that is being written is opened before it counts as one that cannot be.
const OPENINGS_MAX: usize = 100;

/// Returns what tells that files of a state came, went or were renamed: the list of its tables and
/// how long it is, and the names of its logs. None while it is replaced just now.
fn files_of(dir: &Path) -> Option<(String, u64, Vec<std::ffi::OsString>)> {
    let current = std::fs::read_to_string(dir.join("CURRENT")).ok()?;
    let length = std::fs::metadata(dir.join(current.trim())).ok()?.len();
    let names = std::fs::read_dir(dir).ok()?.flatten().map(|entry| entry.file_name());
    let is_log = |name: &std::ffi::OsString| name.to_string_lossy().ends_with(".log");
    let mut logs: Vec<_> = names.filter(is_log).collect();
    logs.sort();
    Some((current, length, logs))
}

/// Changes that are made together or not at all.
#[derive(Default)]
pub struct Batch(WriteBatch);

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Batch({} changes)", self.0.len())
    }
}

impl Batch {
    /// Puts a value as it is.
    pub fn put_raw(&mut self, db: &Db, family: Family, key: &[u8], value: &[u8]) {
        self.0.put_cf(db.handle(family), key, value);
    }

    /// Puts a value of version 1.
    pub fn put<T: Serialize>(&mut self, db: &Db, family: Family, key: &[u8], value: &T) {
        self.put_version(1, db, family, key, value);
    }

    /// Puts a value of this version.
    pub(super) fn put_version<T: Serialize>(
        &mut self,
        version: u8,
        db: &Db,
        family: Family,
        key: &[u8],
        value: &T,
    ) {
        let bytes = postcard::to_extend(value, vec![version])
            .expect("stored types are plain data, which postcard always encodes");
        self.0.put_cf(db.handle(family), key, bytes);
    }

    /// Deletes a key.
    pub fn delete(&mut self, db: &Db, family: Family, key: &[u8]) {
        self.0.delete_cf(db.handle(family), key);
    }

    /// Returns true if there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of changes.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}
