//! Single requests outside a crawl, as polite as in one.
//!
//! Every request of a command goes through [`Wire::get`], which keeps the rest that the host is due
//! ([`Pace`], the same judge as in the crawl) and begins with the rest that a crawl left behind.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Context;
use tokio::sync::Mutex;

use super::look;
use super::{Exit, Failed};
use crate::clock::{Clock, Timestamp};
use crate::config::{self, Config};
use crate::crawl::robots_outcome;
use crate::db::Db;
use crate::db::families::hosts;
use crate::dns::{DnsFailure, HickoryResolver, Resolve, Resolved};
use crate::fetch::{Fetch, HyperFetch, Outcome, Purpose, Request, user_agent};
use crate::frontier::{Behaviour, Pace, Rest, Rules};
use crate::robots::{self, FetchedRobots};
use crate::url::{CrawlUrl, Host};

/// Clock, name servers and network of a command.
pub(super) struct Wire {
    pub(super) clock: Arc<Clock>,
    pub(super) agent: String,
    pub(super) rules: Rules,
    resolver: HickoryResolver,
    fetch: HyperFetch,
    robots: robots::Settings,
    name: String,
    /// One lock per host: requests to it follow one another.
    paces: std::sync::Mutex<HashMap<Host, Arc<Mutex<Pace>>>>,
}

/// What a request came to.
pub(super) struct Got {
    pub(super) resolved: Result<Resolved, DnsFailure>,
    /// None if the name has no address.
    pub(super) outcome: Option<Outcome>,
    /// How long was waited before it.
    pub(super) waited: std::time::Duration,
    /// The rest of the host that follows.
    pub(super) rest: Option<Rest>,
}

/// A robots.txt that was fetched, and the way there.
pub(super) struct GotRobots {
    pub(super) entry: robots::Entry,
    /// What was asked, in order, with what came of it.
    pub(super) steps: Vec<(CrawlUrl, String)>,
}

/// Returns a runtime for the requests of a command.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failed> {
    let built = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    Ok(built.context("start the threads for requests")?)
}

impl Wire {
    /// Makes the means to ask; refuses without a contact, for no request goes out without one. Call
    /// it inside a runtime.
    pub(super) fn new(config: &Config) -> Result<Wire, Failed> {
        config::check_contact(config)?;
        let clock = Arc::new(Clock::system(Timestamp::ZERO));
        let agent = user_agent(&config.name, env!("CARGO_PKG_VERSION"), &config.contact);
        Ok(Wire {
            resolver: HickoryResolver::new(&config.dns, clock.clone())?,
            fetch: HyperFetch::new(&config.fetch, &agent, &config.contact, clock.clone())?,
            rules: Rules::new(config.politeness.clone(), &config.host),
            robots: config.robots.clone(),
            name: config.name.clone(),
            paces: std::sync::Mutex::new(HashMap::new()),
            clock,
            agent,
        })
    }

    /// Takes over what a crawl knows of a host's rest.
    ///
    /// # Errors
    /// Refuses if a crawl is asking this host now: two askers that know nothing of each other would
    /// hurry it.
    pub(super) fn heed(&self, config: &Config, db: Option<&Db>, host: &Host) -> Result<(), Failed> {
        let Some(db) = db else { return Ok(()) };
        let Some(id) = hosts::id_of(db, host.as_str())? else { return Ok(()) };
        let Some(record) = hosts::get(db, id)? else { return Ok(()) };
        if let Some(pid) = look::running(&look::state_dir(config), db)? {
            return Err(Failed::with(
                Exit::Locked,
                format!(
                    "failed to ask {host}: the crawl in {} (process {pid}) is asking it, and two \
                     askers would hurry it; stop that crawl first, or see `crawler explain`",
                    config.dir.display()
                ),
            ));
        }
        let mut paces = self.paces.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        paces.insert(host.clone(), Arc::new(Mutex::new(record.pace)));
        Ok(())
    }

    fn pace(&self, host: &Host) -> Arc<Mutex<Pace>> {
        let mut paces = self.paces.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        paces.entry(host.clone()).or_default().clone()
    }

    /// Resolves a name.
    pub(super) async fn resolve(&self, host: &Host) -> Result<Resolved, DnsFailure> {
        self.resolver.resolve(host).await
    }

    /// Makes one request when its host may be asked.
    pub(super) async fn get(&self, url: &CrawlUrl, purpose: Purpose) -> Got {
        let host = url.host();
        let pace = self.pace(&host);
        let mut pace = pace.lock().await;
        let settings = self.rules.of(host.as_str()).clone();
        let asked = self.clock.now();
        let due = pace.earliest(&settings, asked);
        tokio::time::sleep(due.since(asked)).await;
        let waited = due.since(asked);
        let resolved = self.resolver.resolve(&host).await;
        let Ok(known) = &resolved else {
            return Got { resolved, outcome: None, waited, rest: None };
        };
        let addresses = known.addresses.clone();
        let request =
            Request { url: url.clone(), addresses, purpose, etag: None, last_modified: None };
        let began = self.clock.now();
        let outcome = self.fetch.fetch(request).await;
        let ended = self.clock.now();
        let took = ended.since(began);
        let behaviour = match &outcome {
            outcome if outcome.is_busy() => Behaviour::Busy { took, retry_after: None },
            Outcome::Answer(_) => Behaviour::Good { took },
            Outcome::Failed(_) => Behaviour::Unreachable { took, most: u32::MAX },
        };
        let rest = pace.finish(behaviour, began, ended, &settings);
        Got { resolved, outcome: Some(outcome), waited, rest: Some(rest) }
    }

    /// Fetches the robots.txt of a URL's origin, redirects followed, and notes its Crawl-delay.
    pub(super) async fn robots(&self, url: &CrawlUrl) -> Result<GotRobots, Failed> {
        let mut target = CrawlUrl::parse(&robots::robots_url(url))?;
        let mut steps = Vec::new();
        let mut fetched = FetchedRobots::Redirects;
        for _ in 0..=self.robots.redirects_max {
            let got = self.get(&target, Purpose::Robots).await;
            let said = said(&got);
            let found = match &got.outcome {
                None => Ok(FetchedRobots::NoAnswer(said.clone())),
                Some(outcome) => robots_outcome(&target, outcome, &self.name, &self.robots),
            };
            steps.push((target.clone(), said));
            match found {
                Ok(found) => {
                    fetched = found;
                    break;
                }
                Err(next) => target = next,
            }
        }
        let entry = robots::after_fetch(None, fetched, self.clock.now(), &self.robots);
        let delay = entry.robots().and_then(robots::Robots::crawl_delay);
        let pace = self.pace(&url.host());
        let mut pace = pace.lock().await;
        pace.crawl_delay_ms = delay.map(|delay| delay.as_millis() as u64);
        if let Some(delay) = delay.filter(|_| pace.last_ended != Timestamp::ZERO) {
            // The wish counts from the request that brought it.
            let until = pace.last_ended.plus(delay);
            pace.hold_until(until);
        }
        drop(pace);
        Ok(GotRobots { entry, steps })
    }
}

/// Says in a few words what a request came to.
pub(super) fn said(got: &Got) -> String {
    match (&got.resolved, &got.outcome) {
        (Err(failure), _) => unresolved(failure),
        (Ok(_), Some(Outcome::Answer(answer))) => {
            let took = answer.timing.total.as_millis();
            format!("{} in {took} ms from {}", answer.status, answer.address)
        }
        (Ok(_), Some(Outcome::Failed(failed))) => {
            format!("{}: {}", failed.failure.name(), failed.detail)
        }
        (Ok(_), None) => "not asked".to_owned(),
    }
}

/// Says why a name has no address to connect to.
pub(super) fn unresolved(failure: &DnsFailure) -> String {
    match failure {
        DnsFailure::NotFound => "the name has no address".to_owned(),
        DnsFailure::Refused(addresses) => {
            let list: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            let list = list.join(", ");
            format!("address not allowed: {list}; see dns.allow and dns.allow_private")
        }
        DnsFailure::Failed(detail) => format!("the name servers failed: {detail}"),
    }
}
