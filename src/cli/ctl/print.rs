//! What `crawler ctl` prints.

use serde_json::json;

use super::super::output::{bytes, number, plain};
use super::super::{Answer, Common, Exit, Failed, progress};
use super::running::refused;
use crate::control::Status;
use crate::crawl::steer::{self, Refusal};
use crate::crawl::view::HostState;

/// Hosts, rules and failures that are printed, of each; `--json` has them all.
const LINES_MAX: usize = 10;

/// Prints what an order came to.
pub(super) fn said(common: &Common, said: Result<steer::Answer, Refusal>) -> Answer {
    match said {
        Ok(answer) if common.json => {
            let mut value = serde_json::to_value(&answer)?;
            if let Some(map) = value.as_object_mut() {
                map.insert("ok".to_owned(), json!(true));
            }
            println!("{value}");
            Ok(Exit::Complete)
        }
        Ok(answer) => {
            println!("{}", plain(&answer.text));
            Ok(Exit::Complete)
        }
        Err(refusal) => {
            if common.json {
                let Refusal { kind, text } = &refusal;
                println!("{}", json!({ "ok": false, "kind": kind, "text": text }));
            }
            Err(refused(&refusal))
        }
    }
}

/// Prints how a crawl stands.
pub(super) fn status(common: &Common, status: &Status) -> Answer {
    if common.json {
        println!("{}", serde_json::to_string(status)?);
        return Ok(Exit::Complete);
    }
    println!("crawl in {}, process {}", plain(&status.dir), status.pid);
    let Some(snapshot) = &status.snapshot else {
        println!("it has just begun: ask again in a second");
        return Ok(Exit::Complete);
    };
    println!("{}", plain(&progress::line(snapshot)));
    let view = &snapshot.view;
    println!(
        "in flight {}, rules in force {}, saved {}",
        number(snapshot.in_flight as u64),
        number(snapshot.rules as u64),
        number(snapshot.counters.suppressed)
    );
    if let Some(free) = snapshot.disk_free {
        println!("disk free {}", bytes(free as f64));
    }
    if view.orders_left > 0 {
        println!("{} orders are still being carried out", view.orders_left);
    }
    for host in view.hosts.iter().take(LINES_MAX) {
        println!(
            "  {:<32} {:<11} {:>9} waiting  gap {} ms  latency {} ms  429/503: {}",
            plain(&host.name),
            state_word(host.state),
            number(host.backlog),
            number(host.gap_ms),
            number(host.latency_ms),
            host.busy
        );
    }
    for fault in view.faults.iter().take(LINES_MAX) {
        println!("  {} {}", plain(&fault.what), plain(&fault.url));
    }
    Ok(Exit::Complete)
}

/// Returns the word for how a host stands.
pub(in crate::cli) fn state_word(state: HostState) -> &'static str {
    match state {
        HostState::Idle => "idle",
        HostState::Fetching => "fetching",
        HostState::Ready => "ready",
        HostState::Waiting => "waiting",
        HostState::BackingOff => "backing off",
        HostState::Parked => "parked",
        HostState::GivenUp => "given up",
    }
}

/// Prints that an order was taken by a crawl which does not run.
pub(super) fn noted(common: &Common, answer: &steer::Answer) -> Result<(), Failed> {
    if common.json {
        let mut value = serde_json::to_value(answer)?;
        if let Some(map) = value.as_object_mut() {
            map.insert("ok".to_owned(), json!(true));
            map.insert("running".to_owned(), json!(false));
        }
        println!("{value}");
    } else {
        println!("{}", plain(&answer.text));
    }
    Ok(())
}
