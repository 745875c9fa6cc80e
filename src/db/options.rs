//! How RocksDB is set up, and what it may use.

use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, Cache, DBCompressionType, Env, MemtableFactory,
    Options, SliceTransform, WriteBufferManager,
};
use serde::{Deserialize, Serialize};

use super::families::Family;
use crate::clock::{ByteSize, Span};

/// Bounds of the state's memory and its durability.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Settings {
    /// Memory for cached blocks, indexes, filters and write buffers together.
    pub cache: ByteSize,
    /// How often the write-ahead log is made safe against a power cut; `kill -9` needs none of it.
    pub sync_interval: Span,
    /// Files of the state that are held open; fewer mean that tables are opened again and again.
    pub open_files_max: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { cache: ByteSize::mib(32), sync_interval: Span::secs(1), open_files_max: 256 }
    }
}

pub(super) struct Shared {
    cache: Cache,
    buffers: WriteBufferManager,
    env: Option<Env>,
    open_files_max: u32,
}

impl Shared {
    pub(super) fn new(settings: &Settings, env: Option<Env>) -> Self {
        let cache = Cache::new_lru_cache(settings.cache.as_len().max(1 << 20));
        let buffers = WriteBufferManager::new_write_buffer_manager_with_cache(
            (settings.cache.as_len() / 3).max(1 << 20),
            false,
            cache.clone(),
        );
        Shared { cache, buffers, env, open_files_max: settings.open_files_max }
    }

    pub(super) fn database(&self) -> Options {
        let mut options = Options::default();
        if let Some(env) = &self.env {
            options.set_env(env);
        }
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        options.set_write_buffer_manager(&self.buffers);
        // Rows that lie by hash take one writer at a time; there are no more.
        options.set_allow_concurrent_memtable_write(false);
        options.set_max_total_wal_size(64 << 20);
        options.set_max_open_files(i32::try_from(self.open_files_max).unwrap_or(i32::MAX));
        options.set_keep_log_file_num(2);
        options.set_max_background_jobs(2);
        options.set_bytes_per_sync(1 << 20);
        // Each file that is merged is read through a buffer of that length, a dozen at once: of
        // 2 MiB, as RocksDB has it, they are memory that nothing bounds.
        options.set_compaction_readahead_size(128 << 10);
        options.set_wal_recovery_mode(rocksdb::DBRecoveryMode::TolerateCorruptedTailRecords);
        options
    }

    /// Options of one family. They must be given at every open, since a family opened without them
    /// has no Bloom filter and pays ten times as much for a miss.
    pub(super) fn family(&self, family: Family) -> Options {
        let mut options = Options::default();
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(&self.cache);
        table.set_cache_index_and_filter_blocks(true);
        table.set_pin_l0_filter_and_index_blocks_in_cache(true);
        // In parts of a block each: the filter of a whole file is larger than a shard of a small
        // cache, which then keeps none, and every look-up reads megabytes.
        table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
        table.set_partition_filters(true);
        table.set_metadata_block_size(4 << 10);
        table.set_pin_top_level_index_and_filter(true);
        table.set_format_version(5);
        if family.is_looked_up() {
            table.set_bloom_filter(10.0, false);
            table.set_optimize_filters_for_memory(true);
        }
        if let Some(length) = family.prefix_length() {
            // Most prefixes that are looked for are not there: filters say so without a seek.
            options.set_prefix_extractor(SliceTransform::create_fixed_prefix(length));
            // Rows lie by hash and not in the order of all keys, where a new one costs as many
            // comparisons as there are levels.
            options.set_memtable_factory(MemtableFactory::HashLinkList { bucket_count: 1 << 15 });
            table.set_bloom_filter(10.0, false);
            table.set_whole_key_filtering(false);
        }
        // Hashes have no neighbours worth reading along: every look-up decodes a whole block.
        let hashed =
            matches!(family, Family::Seen | Family::Urls | Family::Contents | Family::Bands);
        table.set_block_size(if hashed { 4 << 10 } else { 16 << 10 });
        options.set_block_based_table_factory(&table);
        options.set_write_buffer_size(8 << 20);
        // Each family has a block at least, and most of them are never filled.
        options.set_arena_block_size(64 << 10);
        options.set_target_file_size_base(16 << 20);
        options.set_level_compaction_dynamic_level_bytes(true);
        options.set_compression_type(DBCompressionType::Lz4);
        if family != Family::Seen {
            // Of hashes no more is left out than what RocksDB puts around each: half of a row.
            options.set_bottommost_compression_type(DBCompressionType::Zstd);
        }
        options
    }
}
