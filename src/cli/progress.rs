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

/// Columns of a terminal that does not tell.
const COLUMNS: u16 = 80;

/// Prints the view until the crawl is gone.
pub(super) async fn show(mut view: watch::Receiver<Option<Arc<Snapshot>>>) {
    let terminal = std::io::stderr().is_terminal();
    let mut last = None;
    while view.changed().await.is_ok() {
        let Some(snapshot) = view.borrow_and_update().clone() else { continue };
        let due = last.is_none_or(|at| snapshot.at.since(at) >= PLAIN_INTERVAL);
        if terminal {
            // Back to the line's start, and what is left of a longer line before goes. One that
            // wrapped would stay.
            let width = ratatui::crossterm::terminal::size().map_or(COLUMNS, |size| size.0);
            let line = format!("\r{}\x1b[K", shown(&line_within(&snapshot, width.into())));
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
    let parts = [parts(snapshot), vec![remaining(snapshot)]].concat();
    join(parts)
}

/// Returns as much of that line as fits into a row of so many columns, the last one free: first it
/// does without the name of the slowest host, then without what is too long.
pub(super) fn line_within(snapshot: &Snapshot, columns: usize) -> String {
    let whole = line(snapshot);
    if whole.chars().count() < columns {
        return whole;
    }
    let mut fitting: Vec<String> = Vec::new();
    let mut left = columns.saturating_sub(1);
    let all = [parts(snapshot), vec![time_left(snapshot)]].concat();
    for part in all.into_iter().filter(|part| !part.is_empty()) {
        let needs = part.chars().count() + if fitting.is_empty() { 0 } else { BETWEEN.len() };
        if needs <= left {
            left -= needs;
            fitting.push(part);
        }
    }
    join(fitting)
}

const BETWEEN: &str = " | ";

fn join(mut parts: Vec<String>) -> String {
    parts.retain(|part| !part.is_empty());
    parts.join(BETWEEN)
}

fn parts(snapshot: &Snapshot) -> Vec<String> {
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
    parts
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
    let time = time_left(snapshot);
    match snapshot.slowest.as_ref().filter(|_| snapshot.floor_ms() > 0 && !time.is_empty()) {
        Some(slowest) => {
            let backlog = number(slowest.backlog);
            format!("{time} ({}: {backlog} x {} ms)", slowest.host, slowest.gap_ms)
        }
        None => time,
    }
}

fn time_left(snapshot: &Snapshot) -> String {
    if snapshot.counters.queued == 0 {
        return String::new();
    }
    let from = duration(Duration::from_millis(snapshot.floor_ms()));
    match snapshot.ceiling_ms() {
        Some(ceiling) => format!("{from} to {} left", duration(Duration::from_millis(ceiling))),
        None => format!("at least {from} left"),
    }
}
