//! `crawler doctor`: whether this machine and this configuration can crawl.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::look;
use super::machine;
use super::output::{bytes, number};
use super::run::read_kept_seeds;
use super::wire::{self, unresolved};
use super::{Answer, Common, Exit, Failed};
use crate::clock::{Clock, Timestamp};
use crate::config::{self, Config};
use crate::db::families::meta;
use crate::db::{Db, DbError};
use crate::dns::{DnsFailure, HickoryResolver, Resolve};
use crate::fetch::{HyperFetch, user_agent};
use crate::url::Host;

/// A clock before this is wrong: this program is newer (2025-01-01).
const CLOCK_MIN: Timestamp = Timestamp::from_millis(1_735_689_600_000);

/// Flags of `doctor`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler doctor                     with crawler.toml in this directory
  crawler doctor --host example.org  resolve this name

Asks name servers, and nobody else. Exit codes: 0 ready, 20 something would go wrong.")]
pub(super) struct DoctorArgs {
    /// Name to resolve; without it the first seed's
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Health {
    Good,
    Warning,
    Bad,
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    health: Health,
    found: String,
    /// What to do, unless it is good.
    next: String,
}

fn check(name: &'static str, health: Health, found: impl Into<String>, next: &str) -> Check {
    let next = if health == Health::Good { String::new() } else { next.to_owned() };
    Check { name, health, found: found.into(), next }
}

/// Examines machine and configuration.
pub(super) fn doctor(common: &Common, args: &DoctorArgs) -> Answer {
    let config = common.load(&[])?.config;
    let now = Clock::system(Timestamp::ZERO).now();
    let mut checks = vec![contact(&config), open_files(&config), disk(&config), writable(&config)];
    checks.push(state(&config, now));
    checks.push(clock(now));
    checks.push(roots(&config));
    checks.push(names(&config, args)?);
    let bad = checks.iter().any(|check| check.health == Health::Bad);
    let exit = if bad { Exit::Verify } else { Exit::Complete };
    if common.json {
        println!("{}", json!({ "ready": !bad, "checks": checks }));
        return Ok(exit);
    }
    for check in &checks {
        let word = match check.health {
            Health::Good if common.quiet => continue,
            Health::Good => "good",
            Health::Warning => "warning",
            Health::Bad => "BAD",
        };
        println!("{word:<8} {:<11} {}", check.name, check.found);
        if !check.next.is_empty() {
            println!("{:20} {}", "", check.next);
        }
    }
    Ok(exit)
}

fn contact(config: &Config) -> Check {
    match config::check_contact(config) {
        Ok(()) => {
            let agent = user_agent(&config.name, env!("CARGO_PKG_VERSION"), &config.contact);
            check("contact", Health::Good, agent, "")
        }
        Err(error) => {
            let next = error.hint.unwrap_or_default();
            check("contact", Health::Bad, format!("contact {}", error.message), &next)
        }
    }
}

fn open_files(config: &Config) -> Check {
    // A crawl raises what it has to what it may have, and gets by with less if need be.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    let need = machine::files_wanted(config);
    let Some(limit) = limit else {
        return check("open files", Health::Good, "no limit", "");
    };
    let found = format!("{} allowed, up to {} needed", number(limit), number(need));
    let health = if limit >= need { Health::Good } else { Health::Warning };
    let next = format!(
        "fewer fetches at once than set: raise the hard limit to {need}, or lower \
         frontier.in_flight_max"
    );
    check("open files", health, found, &next)
}

/// Returns the nearest directory that exists.
fn nearest(dir: &Path) -> PathBuf {
    let mut dir = if dir.is_absolute() {
        dir.to_owned()
    } else {
        std::env::current_dir().unwrap_or_default().join(dir)
    };
    while !dir.exists() && dir.pop() {}
    dir
}

fn disk(config: &Config) -> Check {
    let dir = nearest(&config.dir);
    let reserve = config.limits.disk_reserve.get();
    match rustix::fs::statvfs(&dir) {
        Err(error) => {
            let found = format!("free space of {} is not known: {error}", dir.display());
            check("disk", Health::Warning, found, "give another directory with --dir")
        }
        Ok(stat) => {
            let free = stat.f_bavail.saturating_mul(stat.f_frsize);
            let (has, keeps) = (bytes(free as f64), bytes(reserve as f64));
            let found = format!("{has} free in {}, {keeps} kept free", dir.display());
            let health = match free {
                free if free <= reserve => Health::Bad,
                free if free < reserve.saturating_mul(2) => Health::Warning,
                _ => Health::Good,
            };
            check("disk", health, found, "free some, give --dir, or lower limits.disk_reserve")
        }
    }
}

fn writable(config: &Config) -> Check {
    let dir = nearest(&config.dir);
    let shown = dir.display();
    match rustix::fs::access(&dir, rustix::fs::Access::WRITE_OK) {
        Ok(()) => check("directory", Health::Good, format!("{shown} can be written"), ""),
        Err(error) => {
            let found = format!("{shown} cannot be written: {error}");
            check("directory", Health::Bad, found, "change its permissions, or give --dir")
        }
    }
}

fn state(config: &Config, now: Timestamp) -> Check {
    let dir = look::state_dir(config);
    let db = match Db::open_read_only(&dir, &config.state) {
        Ok(db) => db,
        Err(DbError::Missing(_)) => {
            return check("state", Health::Good, "none yet; `crawler run` makes it", "");
        }
        Err(error) => {
            let found = format!("failed to {error}");
            return check("state", Health::Bad, found, "`crawler verify` says more");
        }
    };
    let session = meta::session(&db).ok().flatten().unwrap_or_default();
    let latest = session.latest;
    if latest > now {
        let found = format!("its last change, {latest}, is in the future");
        let next = "the clock was set back: the crawl's times go on from there; set it right";
        return check("state", Health::Warning, found, next);
    }
    match look::running(&dir, &db) {
        Ok(Some(pid)) => {
            let found = format!("process {pid} is crawling here");
            let next = "another crawl needs a directory of its own";
            check("state", Health::Warning, found, next)
        }
        _ => check("state", Health::Good, format!("readable, last change {latest}"), ""),
    }
}

fn clock(now: Timestamp) -> Check {
    let health = if now >= CLOCK_MIN { Health::Good } else { Health::Bad };
    let next = "set the clock: certificates, robots.txt and the archive's dates depend on it";
    check("clock", health, now.to_rfc3339(), next)
}

fn roots(config: &Config) -> Check {
    let clock = Arc::new(Clock::system(Timestamp::ZERO));
    // The contact has a check of its own; here any will do.
    let agent = user_agent(&config.name, env!("CARGO_PKG_VERSION"), "mailto:doctor@localhost");
    match HyperFetch::new(&config.fetch, &agent, "mailto:doctor@localhost", clock) {
        Ok(_) => check("tls", Health::Good, "certificates of authorities are there", ""),
        Err(error) => {
            let found = format!("failed to {error}");
            check("tls", Health::Bad, found, "see the keys of [fetch] in `crawler config show`")
        }
    }
}

fn names(config: &Config, args: &DoctorArgs) -> Result<Check, Failed> {
    let host: Host = match &args.host {
        Some(name) => look::url_of(name)?.host(),
        None => {
            let seeds = read_kept_seeds(config).unwrap_or_default();
            match seeds.first() {
                Some(seed) => seed.host(),
                None => look::url_of("example.org")?.host(),
            }
        }
    };
    if let Some(proxy) = &config.fetch.proxy {
        return Ok(check("dns", Health::Good, format!("names are left to {proxy}"), ""));
    }
    let runtime = wire::runtime()?;
    let _guard = runtime.enter();
    let clock = Arc::new(Clock::system(Timestamp::ZERO));
    let resolver = match HickoryResolver::new(&config.dns, clock) {
        Ok(resolver) => resolver,
        Err(error) => {
            let next = "set dns.servers = [\"address:53\"]";
            return Ok(check("dns", Health::Bad, format!("failed to {error}"), next));
        }
    };
    Ok(match runtime.block_on(resolver.resolve(&host)) {
        Ok(resolved) => {
            let list: Vec<String> = resolved.addresses.iter().map(ToString::to_string).collect();
            check("dns", Health::Good, format!("{host} is {}", list.join(", ")), "")
        }
        Err(DnsFailure::Refused(addresses)) => {
            let list: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            let found = format!("{host} is {}, which may not be asked", list.join(", "));
            check("dns", Health::Warning, found, "dns.allow = [\"NETWORK\"] allows it")
        }
        Err(failure) => {
            let found = format!("{host}: {}", unresolved(&failure));
            check("dns", Health::Bad, found, "see /etc/resolv.conf, or set dns.servers")
        }
    })
}
