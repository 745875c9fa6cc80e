//! One progress line a second at most, on standard error.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::output::{bytes, duration, number};
use super::terminal::shown;
use crate::crawl::{Brake, Snapshot};

/// Lines that go to a file come this often: a log is read later, and by people.
const PLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// Prints the view until the crawl is gone.
pub(super) async fn show(mut view: watch::Receiver<Option<Arc<Snapshot>>>) {
    let terminal = std::io::stderr().is_terminal();
    let mut last = None;
    while view.changed().await.is_ok() {
        let Some(snapshot) = view.borrow_and_update().clone() else { continue };
        let due = last.is_none_or(|at| snapshot.at.since(at) >= PLAIN_INTERVAL);
        if terminal {
            // Back to the line's start, and what is left of a longer line before goes.
            let line = format!("\r{}\x1b[K", shown(&line(&snapshot)));
            // A terminal that is gone is no reason to end.
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
        } else if due {
            last = Some(snapshot.at);
            eprintln!("{}", line(&snapshot));
        }
    }
    if terminal {
        eprintln!();
    }
}

/// Returns the line of one moment.
pub(super) fn line(snapshot: &Snapshot) -> String {
    let counters = &snapshot.counters;
    let waiting: u64 = snapshot.hosts_waiting.iter().sum();
    let hosts = snapshot.hosts_active as u64 + waiting;
    let mut parts = vec![
        format!("{} done", number(counters.done)),
        format!("{} queued", number(counters.queued)),
    ];
    let saved = counters.suppressed;
    for (count, word) in
        [(counters.duplicates, "dup"), (saved, "saved"), (counters.failed, "failed")]
    {
        if count > 0 {
            parts.push(format!("{} {word}", number(count)));
        }
    }
    parts.push(format!("{:.1}/s {}/s", snapshot.rate, bytes(snapshot.bytes_rate)));
    parts.push(format!("{} hosts ({} ready)", number(hosts), snapshot.hosts_ready));
    parts.push(brake(&snapshot.brake));
    parts.push(remaining(snapshot));
    parts.retain(|part| !part.is_empty());
    parts.join(" | ")
}

/// Says why the crawl is not faster.
pub(super) fn brake(brake: &Brake) -> String {
    match brake {
        Brake::Exhausted => "finishing".to_owned(),
        Brake::Paused => "paused".to_owned(),
        Brake::Disk { free, reserve } => format!(
            "paused: {} free on the disk, {} reserved",
            bytes(*free as f64),
            bytes(*reserve as f64)
        ),
        Brake::InFlight { max } => format!("{max} in flight, the most allowed"),
        Brake::Politeness { resting: 1 } => "waiting: 1 host rests".to_owned(),
        Brake::Politeness { resting } => format!("waiting: {resting} hosts rest"),
        Brake::BackQueues { waiting, max } => {
            format!("{} hosts wait for {max} back queues", number(*waiting))
        }
        Brake::Nothing => String::new(),
    }
}

/// Returns the range of the remaining time, and the host that sets its floor.
pub(super) fn remaining(snapshot: &Snapshot) -> String {
    if snapshot.counters.queued == 0 {
        return String::new();
    }
    let floor = snapshot.floor_ms();
    let from = duration(Duration::from_millis(floor));
    let host = snapshot.slowest.as_ref().filter(|_| floor > 0);
    let named = host.map_or(String::new(), |slowest| {
        format!(" ({}: {} x {} ms)", slowest.host, number(slowest.backlog), slowest.gap_ms)
    });
    match snapshot.ceiling_ms() {
        Some(ceiling) => {
            format!("{from} to {} left{named}", duration(Duration::from_millis(ceiling)))
        }
        None => format!("at least {from} left{named}"),
    }
}
