//! An archive in memory that can take the process down with it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use crawler::archive::{ArchiveError, Capture, DnsCapture, Position, RecordAt, Written};
use crawler::clock::Timestamp;
use crawler::crawl::Store;
use crawler::fetch::{Outcome, Purpose};
use tokio::sync::Notify;

/// When the process dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Crash {
    /// It does not.
    Never,
    /// Right after this many records of this run, before anything is committed of the last.
    AfterRecords(u64),
}

impl Crash {
    /// Draws a crash from a seed and the number of crashes before.
    pub(super) fn after(seed: u64, crashes: u64) -> Crash {
        let mixed = (seed << 32 | crashes).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Crash::AfterRecords(1 + (mixed >> 33) % (20 + crashes * 5))
    }
}

/// Records by their place, as one file.
#[derive(Clone, Default)]
pub(super) struct MemoryStore {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    file: Mutex<File>,
    died: Notify,
    grown: Notify,
}

#[derive(Default)]
struct File {
    /// Offset → what the record is of.
    records: BTreeMap<u64, (String, Purpose, u16)>,
    end: u64,
    sequence: u64,
    left: Option<u64>,
    dead: bool,
    /// Records that a resume cut off.
    cut: u64,
    usage: BTreeSet<(String, String)>,
}

impl MemoryStore {
    fn file(&self) -> MutexGuard<'_, File> {
        self.shared.file.lock().expect("no test panics while holding it")
    }

    /// Does what the archive does at opening: what is behind the committed position goes.
    pub(super) fn resume(&self, committed: &Position, crash: Crash) {
        let mut file = self.file();
        let behind = file.records.split_off(&committed.offset);
        file.cut += behind.len() as u64;
        file.end = committed.offset;
        file.sequence = 0;
        file.dead = false;
        file.left = match crash {
            Crash::Never => None,
            Crash::AfterRecords(records) => Some(records),
        };
    }

    /// Completes when the process dies.
    pub(super) async fn died(&self) {
        self.shared.died.notified().await;
    }

    /// Completes when so many pages have a record.
    pub(super) async fn holds(&self, pages: usize) {
        while self.urls().len() < pages {
            self.shared.grown.notified().await;
        }
    }

    /// Returns the pages that have a record.
    pub(super) fn urls(&self) -> BTreeSet<String> {
        let file = self.file();
        let pages = file.records.values().filter(|(_, purpose, _)| *purpose == Purpose::Page);
        pages.map(|(url, ..)| url.clone()).collect()
    }

    /// Returns the status codes that robots.txt was answered with, in order.
    pub(super) fn robots(&self) -> Vec<u16> {
        let file = self.file();
        let records = file
            .records
            .values()
            .filter(|(url, purpose, _)| *purpose == Purpose::Robots && !url.starts_with("dns:"));
        records.map(|(.., status)| *status).collect()
    }

    /// Returns the names whose answers have a record, once for each record.
    pub(super) fn names(&self) -> Vec<String> {
        let file = self.file();
        let urls = file.records.values().map(|(url, ..)| url);
        urls.filter_map(|url| url.strip_prefix("dns:")).map(str::to_owned).collect()
    }

    /// Returns the usage preferences that captures of pages carried, as they stood in robots.txt.
    pub(super) fn usage(&self) -> BTreeSet<(String, String)> {
        self.file().usage.clone()
    }

    /// Returns how many pages have more than one record of a final answer.
    pub(super) fn repeated(&self) -> usize {
        let file = self.file();
        let pages = file.records.values().filter(|(_, purpose, status)| {
            *purpose == Purpose::Page && *status != 0 && !matches!(status, 429 | 503)
        });
        let urls: Vec<&String> = pages.map(|(url, ..)| url).collect();
        urls.len() - urls.iter().collect::<BTreeSet<_>>().len()
    }

    /// Returns how many records were cut off after crashes: their pages were fetched again.
    pub(super) fn refetched(&self) -> u64 {
        self.file().cut
    }
}

impl File {
    /// Appends a record; the process may die of it.
    fn append(&mut self, record: (String, Purpose, u16)) -> u64 {
        let at = self.end;
        self.end += 100;
        self.records.insert(at, record);
        if let Some(left) = &mut self.left {
            *left -= 1;
            self.dead = *left == 0;
        }
        at
    }
}

impl MemoryStore {
    /// Appends the answer of a name server; false from the moment on at which the process is dead.
    fn append_dns(&self, dns: &DnsCapture) -> bool {
        let mut file = self.file();
        if file.dead {
            return false;
        }
        file.append((format!("dns:{}", dns.host), Purpose::Robots, 0));
        if file.dead {
            self.shared.died.notify_one();
        }
        !file.dead
    }

    /// Appends a record; `None` from the moment on at which the process is dead.
    fn append(&self, capture: &Capture) -> Option<Written> {
        let mut file = self.file();
        if file.dead {
            return None;
        }
        let status = match &*capture.outcome {
            Outcome::Answer(answer) => answer.status,
            Outcome::Failed(_) => 0,
        };
        let sequence = file.sequence;
        file.usage.extend(capture.usage.iter().cloned());
        file.sequence += 1;
        let at = file.append((capture.url.to_string(), capture.purpose, status));
        self.shared.grown.notify_one();
        if file.dead {
            self.shared.died.notify_one();
            return None;
        }
        Some(Written {
            at: RecordAt { file: "memory".to_owned(), offset: at, length: 100 },
            position: Position { file: "memory".to_owned(), offset: file.end },
            record_id: format!("urn:uuid:{at:032x}"),
            date: Timestamp::from_millis(at),
            payload_digest: Some("sha1:SIMULATED".to_owned()),
            is_revisit: capture.revisit.is_some(),
            cdxj: None,
            bytes: 100,
            sequence,
        })
    }
}

impl Store for MemoryStore {
    async fn write(&self, capture: Arc<Capture>) -> Result<Written, ArchiveError> {
        match self.append(&capture) {
            Some(written) => Ok(written),
            // A dead process neither writes nor answers.
            None => std::future::pending().await,
        }
    }

    async fn write_dns(&self, dns: Arc<DnsCapture>) -> Result<(), ArchiveError> {
        match self.append_dns(&dns) {
            true => Ok(()),
            false => std::future::pending().await,
        }
    }

    async fn sync(&self) -> Result<(), ArchiveError> {
        Ok(())
    }
}
