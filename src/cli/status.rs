//! `crawler status`: how far the crawl is, also while it runs.

use serde_json::json;

use super::output::{bytes, number};
use super::{Answer, Common, Exit, look};
use crate::crawl::parked::{ParkedPart, parked_parts};
use crate::db::Family;
use crate::db::families::{hosts, meta};
use crate::frontier::HostStatus;

/// Hosts, and parts of hosts, that are named.
const NAMED_MAX: usize = 1000;

/// Shows the counters of the last commit.
pub(super) fn status(common: &Common) -> Answer {
    let config = common.load(&[])?.config;
    let db = look::open(&config)?;
    let running = look::running(&look::state_dir(&config), &db)?;
    let counters = meta::counters(&db)?.unwrap_or_default();
    let session = meta::session(&db)?.unwrap_or_default();
    let (mut total, mut open) = (0u64, 0u64);
    let mut parked = Vec::new();
    hosts::each(&db, |record| {
        total += 1;
        open += u64::from(record.queued > 0 && record.is_open());
        if let HostStatus::Parked { reason, .. } = record.status
            && parked.len() < NAMED_MAX
        {
            parked.push((record.name.to_string(), reason));
        }
        true
    })?;
    let parts = parked_parts(&db, NAMED_MAX)?;
    let state = match running {
        Some(_) => "running",
        None if session.ended.is_empty() => "killed",
        None => &session.ended,
    };
    if common.json {
        let status = json!({
            "state": state,
            "latest": session.latest.to_rfc3339(),
            "runs": session.runs,
            "counters": counters,
            "reasons": meta::reasons(&db)?.unwrap_or_default(),
            "hosts": total,
            "hosts_waiting": open,
            "parked": parked,
            "parked_parts": parts,
            "urls": db.estimate(Family::Urls),
            "disk": db.totals(),
        });
        println!("{status}");
        return Ok(Exit::Complete);
    }
    println!("state      {state}, last change {}", session.latest.to_rfc3339());
    println!("fetched    {} ({})", number(counters.done), bytes(counters.bytes as f64));
    println!("queued     {}", number(counters.queued + counters.in_flight));
    println!("refused    {}", number(counters.refused));
    println!("known      {} ({} by a rule)", number(counters.known), number(counters.suppressed));
    println!("failed     {}", number(counters.failed));
    println!("hosts      {} ({} with waiting URLs)", number(total), number(open));
    for (host, reason) in parked {
        println!("parked     {host}: {reason}");
    }
    for part in parts {
        let ParkedPart { host, part, reason, urls, .. } = part;
        println!("parked     {host}{part}: {reason}; {} URLs held", number(urls));
    }
    Ok(Exit::Complete)
}
