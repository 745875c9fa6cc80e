//! Whether a state agrees with itself and with its archive.
//!
//! Every row of the ledger is read and counted anew, every waiting URL looked up in its host's
//! queue, every record looked for in the archive. Nothing is written. It does not check the
//! archive's own digests: `archive::verify` does.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use crate::archive::{RecordAt, read_at};
use crate::db::families::meta::QueueShape;
use crate::db::families::queue::{self, Item};
use crate::db::families::{hosts, meta, urls};
use crate::db::{Db, DbError, Family};
use crate::frontier::{HostId, Place, UrlState};
use crate::url::{CrawlUrl, Fingerprint};

/// Problems that are named; all are counted.
const NAMED_MAX: usize = 1000;

/// What a check of the state found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StateReport {
    /// Rows read, in all families.
    pub rows: u64,
    /// URLs of the ledger by what became of them.
    pub urls: BTreeMap<String, u64>,
    /// Waiting rows, probes and robots.txt included.
    pub waiting: u64,
    /// Hosts.
    pub hosts: u64,
    /// Archive records that were looked at.
    pub records: u64,
    /// Archive records that the ledger names.
    pub records_named: u64,
    /// What is wrong; at most a thousand are named.
    pub problems: Vec<Fault>,
    /// How many more there are.
    pub problems_unnamed: u64,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// Stable code.
    pub code: &'static str,
    /// What and where.
    pub detail: String,
}

impl StateReport {
    /// Returns true if nothing is wrong.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    fn add(&mut self, code: &'static str, detail: String) {
        if self.problems.len() < NAMED_MAX {
            self.problems.push(Fault { code, detail });
        } else {
            self.problems_unnamed += 1;
        }
    }
}

/// Checks a state. `archive` is the archive's directory, of whose records at most `records_max`,
/// evenly spread over the ledger, are looked for; `None` looks for none.
///
/// # Errors
/// Returns what the database says where it cannot be read at all; a single damaged row is a fault
/// of the report.
pub fn verify_state(
    db: &Db,
    archive: Option<&Path>,
    records_max: u64,
) -> Result<StateReport, DbError> {
    let mut report = StateReport::default();
    match db.verify_checksums() {
        Ok(rows) => report.rows = rows,
        Err(error) => {
            report.add("unreadable", error.to_string());
            return Ok(report);
        }
    }
    let shape = ledger(db, archive, records_max, &mut report)?;
    if let Some(stored) = meta::shape(db)?
        && stored != shape
    {
        let detail = format!("stored {stored:?}, in the ledger {shape:?}");
        report.add("wrong-queue-shape", detail);
    }
    waiting(db, &mut report)?;
    counters(db, &mut report)?;
    Ok(report)
}

/// Reads every URL's row; returns the shape of the queue that the rows have.
fn ledger(
    db: &Db,
    archive: Option<&Path>,
    records_max: u64,
    report: &mut StateReport,
) -> Result<QueueShape, DbError> {
    let mut shape = QueueShape::default();
    let named = count_records(db)?;
    // Every n-th record, rounded up, so that no more than the most are read.
    let step = named.div_ceil(records_max.max(1)).max(1);
    db.scan(Family::Urls, &[], &[], |key, value| {
        let fingerprint = Fingerprint(u128::from_be_bytes(key.try_into().unwrap_or_default()));
        let record = match urls::decode(key, value) {
            Ok(record) => record,
            Err(error) => {
                report.add("damaged-row", error.to_string());
                return Ok(true);
            }
        };
        match CrawlUrl::parse(&record.url) {
            Ok(url) if url.fingerprint() == fingerprint => {}
            // The normal form of an earlier version, which left `^` as it is.
            Ok(url) if Fingerprint::of_url(url.host_str(), &record.url) == fingerprint => {}
            _ => report.add("wrong-key", format!("{} stands under {fingerprint}", record.url)),
        }
        let word = match &record.state {
            UrlState::Queued(place) => {
                check_place(db, &record.url, fingerprint, *place, report)?;
                shape.add(record.hops, place.priority);
                "queued"
            }
            UrlState::Done(done) => {
                if let (Some(dir), Some((file, offset, length))) = (archive, &done.record) {
                    if report.records_named.is_multiple_of(step) {
                        let at = RecordAt { file: file.clone(), offset: *offset, length: *length };
                        check_record(dir, &record.url, &at, report);
                    }
                    report.records_named += 1;
                }
                "done"
            }
            UrlState::Refused { .. } => "refused",
            UrlState::Failed { .. } => "failed",
            UrlState::Suppressed { .. } => "suppressed",
        };
        *report.urls.entry(word.to_owned()).or_default() += 1;
        Ok(true)
    })?;
    Ok(shape)
}

fn count_records(db: &Db) -> Result<u64, DbError> {
    let mut named = 0;
    db.scan(Family::Urls, &[], &[], |key, value| {
        let record = urls::decode(key, value);
        if let Ok(UrlState::Done(done)) = record.map(|record| record.state) {
            named += u64::from(done.record.is_some());
        }
        Ok(true)
    })?;
    Ok(named)
}

fn check_place(
    db: &Db,
    url: &str,
    own: Fingerprint,
    place: Place,
    report: &mut StateReport,
) -> Result<(), DbError> {
    let Ok(parsed) = CrawlUrl::parse(url) else { return Ok(()) };
    let host = hosts::id_of(db, parsed.host_str())?;
    let row = match host {
        Some(host) => db.get::<Item>(Family::Queue, &queue::key(host, place))?,
        None => None,
    };
    if row != Some(Item::Page(own)) {
        let (priority, serial) = (place.priority, place.serial);
        report.add("lost-url", format!("{url} waits at {priority}/{serial}, where it is not"));
    }
    Ok(())
}

fn check_record(dir: &Path, url: &str, at: &RecordAt, report: &mut StateReport) {
    report.records += 1;
    match read_at(dir, at, 0) {
        Ok(record) if record.head.uri() == url => {}
        Ok(record) if CrawlUrl::parse(url).is_ok_and(|url| record.head.uri() == url.as_str()) => {}
        Ok(record) => {
            let found = record.head.uri().to_owned();
            let detail = format!("{url} at {} offset {}: it is of {found}", at.file, at.offset);
            report.add("wrong-record", detail);
        }
        Err(error) => {
            let detail = format!("{url} at {} offset {}: failed to {error}", at.file, at.offset);
            report.add("lost-record", detail);
        }
    }
}

/// Counts the rows of every host's queue against what its record says.
fn waiting(db: &Db, report: &mut StateReport) -> Result<(), DbError> {
    let mut rows: BTreeMap<HostId, u64> = BTreeMap::new();
    db.scan(Family::Queue, &[], &[], |key, _| {
        if let Some((host, _)) = queue::parse(key) {
            *rows.entry(host).or_default() += 1;
            report.waiting += 1;
        }
        Ok(true)
    })?;
    hosts::each(db, |host| {
        report.hosts += 1;
        let found = rows.remove(&host.id).unwrap_or(0);
        if found != host.queued {
            let detail = format!("{}: {} by its record, {found} rows", host.name, host.queued);
            report.add("wrong-queue-count", detail);
        }
        true
    })?;
    for (host, count) in rows {
        report.add("queue-without-host", format!("host {}: {count} rows", host.0));
    }
    Ok(())
}

fn counters(db: &Db, report: &mut StateReport) -> Result<(), DbError> {
    let counters = meta::counters(db)?.unwrap_or_default();
    if counters.imbalance() != 0 {
        let detail = format!(
            "discovered {} is not queued {} + in flight {} + done {} + known {} + refused {} + \
             failed {}",
            counters.discovered,
            counters.queued,
            counters.in_flight,
            counters.done,
            counters.known,
            counters.refused,
            counters.failed
        );
        report.add("counters-do-not-add-up", detail);
    }
    let found = |word: &str| report.urls.get(word).copied().unwrap_or(0);
    let exact = [
        ("queued", counters.queued + counters.in_flight, found("queued")),
        ("done", counters.done, found("done")),
        ("failed", counters.failed, found("failed")),
        ("suppressed", counters.suppressed, found("suppressed")),
    ];
    // A URL may be refused on many pages, and has one row.
    let refused = (counters.refused, found("refused"));
    for (word, counted, rows) in exact {
        if counted != rows {
            report.add("wrong-count", format!("{word}: {counted} counted, {rows} in the ledger"));
        }
    }
    if refused.0 < refused.1 {
        let detail = format!("refused: {} counted, {} in the ledger", refused.0, refused.1);
        report.add("wrong-count", detail);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::db::{Batch, MemoryEnv};
    use crate::frontier::UrlRecord;

    /// Checks a state with one URL, which stands under this key.
    fn check(text: &str, key: Fingerprint, want: &[&str]) {
        let env = MemoryEnv::new().unwrap();
        let db = Db::open_in_memory("/state".as_ref(), &Default::default(), &env).unwrap();
        let [reason, detail] = ["excluded", "matches `exclude`"].map(str::to_owned);
        let record = UrlRecord {
            url: text.to_owned(),
            via: None,
            path: "L".to_owned(),
            hops: 0,
            hops_max: None,
            discovered: Timestamp::ZERO,
            state: UrlState::Refused { reason, detail, at: Timestamp::ZERO },
            attempts: 0,
            busy: 0,
        };
        let counters = meta::Counters { discovered: 1, refused: 1, ..Default::default() };
        let mut batch = Batch::default();
        urls::put(&mut batch, &db, key, &record);
        meta::put_counters(&mut batch, &db, &counters);
        db.commit(batch).unwrap();
        let report = verify_state(&db, None, 0).unwrap();
        let codes: Vec<_> = report.problems.iter().map(|fault| fault.code).collect();
        assert_eq!(codes, want, "{text}");
    }

    #[test]
    fn a_url_stands_under_its_key_also_if_that_is_of_an_older_normal_form() {
        let of = |text: &str| Fingerprint::of_url("a.test", text);
        check("http://a.test/x^y", of("http://a.test/x^y"), &[]);
        check("http://a.test/x%5Ey", of("http://a.test/x%5Ey"), &[]);
        check("http://a.test/x", of("http://a.test/y"), &["wrong-key"]);
    }
}
