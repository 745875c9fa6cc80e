//! `crawler dns`: what a name has resolved to, and what it resolves to now.

use std::net::IpAddr;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::look;
use super::output::duration;
use super::wire::{self, unresolved};
use super::{Answer, Common, Exit};
use crate::clock::{Clock, Timestamp};
use crate::db::families::names;
use crate::dns::{HickoryResolver, History, Resolve};

/// Flags of `dns`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler dns example.org             what it resolved to in this crawl, and now
  crawler dns example.org --stored    without asking anybody

Exit codes: 0 it has an address, 3 nothing is known of it.")]
pub(super) struct DnsArgs {
    /// The host name
    #[arg(value_name = "HOST")]
    host: String,
    /// Only what is stored: ask no name server
    #[arg(long)]
    stored: bool,
}

/// Shows the addresses of a name.
pub(super) fn dns(common: &Common, args: &DnsArgs) -> Answer {
    let config = common.load(&[])?.config;
    let host = look::url_of(&args.host)?.host();
    let stored = match look::open_if_there(&config)? {
        Some(db) => names::get(&db, host.as_str())?,
        None => None,
    };
    let history = stored.map(|bytes| History::decode(&bytes)).transpose()?.unwrap_or_default();
    let resolved = if args.stored {
        None
    } else {
        let runtime = wire::runtime()?;
        let clock = std::sync::Arc::new(Clock::system(Timestamp::ZERO));
        let _guard = runtime.enter();
        let resolver = HickoryResolver::new(&config.dns, clock)?;
        Some(runtime.block_on(resolver.resolve(&host)))
    };
    let known = !history.intervals().is_empty() || matches!(resolved, Some(Ok(_)));
    let exit = if known { Exit::Complete } else { Exit::Nothing };
    if common.json {
        let now = resolved.as_ref().map(|resolved| match resolved {
            Ok(resolved) => json!({
                "addresses": resolved.addresses,
                "refused": resolved.refused,
                "ttl_s": (!is_for_ever(resolved.ttl)).then_some(resolved.ttl.as_secs()),
            }),
            Err(failure) => json!({ "failure": unresolved(failure) }),
        });
        let history: Vec<_> = history
            .intervals()
            .iter()
            .map(|interval| {
                json!({
                    "addresses": interval.addresses,
                    "first_seen": interval.first_seen.to_rfc3339(),
                    "last_seen": interval.last_seen.to_rfc3339(),
                    "superseded": interval.superseded.map(Timestamp::to_rfc3339),
                })
            })
            .collect();
        println!("{}", json!({ "host": host.as_str(), "now": now, "history": history }));
        return Ok(exit);
    }
    println!("{host}");
    match &resolved {
        None => {}
        Some(Ok(resolved)) => {
            let ttl = match is_for_ever(resolved.ttl) {
                true => "ever".to_owned(),
                false => duration(resolved.ttl),
            };
            println!("  now         {} (for {ttl})", list(&resolved.addresses));
            if !resolved.refused.is_empty() {
                println!("  not allowed {}; see dns.allow", list(&resolved.refused));
            }
        }
        Some(Err(failure)) => println!("  now         {}", unresolved(failure)),
    }
    for interval in history.intervals().iter().rev() {
        let until = match interval.superseded {
            None => format!("last confirmed {}", interval.last_seen),
            Some(at) => format!("until {at}"),
        };
        println!("  {}  {}, {until}", interval.first_seen, list(&interval.addresses));
    }
    if history.intervals().is_empty() {
        println!("  the crawl has not resolved it");
    }
    Ok(exit)
}

/// An address given as one stays what it is.
fn is_for_ever(ttl: Duration) -> bool {
    ttl == Duration::MAX
}

fn list(addresses: &[IpAddr]) -> String {
    if addresses.is_empty() {
        return "no address".to_owned();
    }
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
