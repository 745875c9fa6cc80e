//! Single requests outside a crawl, as polite as in one.
//!
//! Every request of a command goes through [`Wire::get`], which keeps the rest that the host is due
//! ([`Pace`], the same judge as in the crawl) and begins with the rest that a crawl left behind.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::sync::Mutex;

use super::Failed;
use super::look;
use super::output::duration;
use crate::clock::{Clock, Timestamp};
use crate::config::{self, Config};
use crate::crawl::{retry_after, robots_outcome};
use crate::db::Db;
use crate::db::families::hosts;
use crate::dns::{DnsError, DnsFailure, HickoryResolver, Resolve, Resolved};
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

/// Longest rest of a host that a command waits for: as long as the longest Crawl-delay that is
/// honoured by default.
const WAIT_MAX: Duration = Duration::from_secs(600);

/// Longest rest that is waited for without a word.
const WAIT_SILENT_MAX: Duration = Duration::from_secs(5);

/// What a request came to.
pub(super) struct Got {
    pub(super) resolved: Result<Resolved, DnsFailure>,
    /// None if the name has no address, or the host rests for too long.
    pub(super) outcome: Option<Outcome>,
    /// How long was waited before it, or would have to be.
    pub(super) waited: Duration,
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

/// Returns what resolves the names of a crawl: behind a proxy, nobody here. Call it inside a
/// runtime.
pub(super) fn resolver(config: &Config, clock: Arc<Clock>) -> Result<HickoryResolver, DnsError> {
    let resolver = HickoryResolver::new(&config.dns, clock)?;
    Ok(match config.fetch.proxy {
        Some(_) => resolver.left_to_proxy(),
        None => resolver,
    })
}

impl Wire {
    /// Makes the means to ask; refuses without a contact, for no request goes out without one. Call
    /// it inside a runtime.
    pub(super) fn new(config: &Config) -> Result<Wire, Failed> {
        config::check_contact(config)?;
        let clock = Arc::new(Clock::system(Timestamp::ZERO));
        let agent = user_agent(&config.name, env!("CARGO_PKG_VERSION"), &config.contact);
        Ok(Wire {
            resolver: resolver(config, clock.clone())?,
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
        look::refuse_running(config, db, &format!("ask {host}"))?;
        let mut paces = self.paces.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // One that this command has asked already has a pace of its own.
        paces.entry(host.clone()).or_insert_with(|| Arc::new(Mutex::new(record.pace)));
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
        let waited = due.since(asked);
        if waited <= WAIT_MAX {
            if waited > WAIT_SILENT_MAX {
                eprintln!("note: {host} rests for {} before it is asked again", duration(waited));
            }
            tokio::time::sleep(waited).await;
        }
        let resolved = self.resolver.resolve(&host).await;
        if waited > WAIT_MAX {
            return Got { resolved, outcome: None, waited, rest: None };
        }
        let Ok(known) = &resolved else {
            return Got { resolved, outcome: None, waited, rest: None };
        };
        let addresses = known.addresses.clone();
        let (etag, last_modified) = (None, None);
        let url = url.clone();
        let request = Request { url, addresses, purpose, etag, last_modified, fresh: false };
        let began = self.clock.now();
        let outcome = self.fetch.fetch(request).await;
        let ended = self.clock.now();
        let took = ended.since(began);
        let behaviour = match &outcome {
            Outcome::Answer(answer) if outcome.is_busy() => {
                Behaviour::Busy { took, retry_after: retry_after(answer) }
            }
            Outcome::Failed(_) if outcome.is_busy() => Behaviour::Busy { took, retry_after: None },
            Outcome::Answer(_) => Behaviour::Good { took },
            Outcome::Failed(_) => Behaviour::Unreachable { took, most: u32::MAX },
        };
        let rest = pace.finish(behaviour, began, ended, &settings);
        Got { resolved, outcome: Some(outcome), waited, rest: Some(rest) }
    }

    /// Fetches the robots.txt of a URL's origin, redirects followed, and notes its Crawl-delay.
    /// Before another host is asked on the way, `heed` is: see [`Wire::heed`].
    ///
    /// # Errors
    /// Returns what `heed` says.
    pub(super) async fn robots(
        &self,
        url: &CrawlUrl,
        heed: impl Fn(&Host) -> Result<(), Failed>,
    ) -> Result<GotRobots, Failed> {
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
                Err(next) => {
                    if next.host() != target.host() {
                        heed(&next.host())?;
                    }
                    target = next;
                }
            }
        }
        let entry = robots::after_fetch(None, fetched, self.clock.now(), &self.robots);
        let delay = entry.robots().and_then(robots::Robots::crawl_delay);
        let pace = self.pace(&url.host());
        let mut pace = pace.lock().await;
        // Other ports of the host may have other wishes: it is one machine that is spared.
        let wish = delay.map(|delay| delay.as_millis() as u64);
        pace.crawl_delay_ms = pace.crawl_delay_ms.max(wish);
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
        (Ok(_), None) => {
            format!("not asked: the host rests for {} more; try again then", duration(got.waited))
        }
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::cli::Exit;
    use crate::clock::Span;

    /// It was read nowhere, and the next request followed after a minute.
    #[tokio::test]
    async fn a_host_that_asks_for_an_hour_is_not_asked_again_and_the_command_says_so() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let asked = tokio::spawn(async move {
            let (mut tcp, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = tcp.read(&mut request).await.unwrap();
            let answer = b"HTTP/1.1 503 Busy\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n";
            tcp.write_all(answer).await.unwrap();
            // No second connection is taken: a second request would find nobody.
        });
        let mut config = Config { contact: "mailto:a@a.example".to_owned(), ..Config::default() };
        config.dns.allow = vec!["127.0.0.0/8".parse().unwrap()];
        config.fetch.first_byte = Span::secs(10);
        let (wire, url) = (Wire::new(&config).unwrap(), CrawlUrl::parse(&url).unwrap());
        let got = wire.get(&url, Purpose::Page).await;
        assert_eq!(got.rest.unwrap().gap, Duration::from_secs(3600));
        asked.await.unwrap();
        let got = wire.get(&url, Purpose::Page).await;
        assert!(got.outcome.is_none());
        assert!(said(&got).starts_with("not asked: the host rests for "), "{}", said(&got));
    }

    /// Of two ports of a host the one that wished for nothing came last, and the sitemaps of the
    /// other one were fetched as fast as that allowed.
    #[tokio::test]
    async fn the_longest_wish_of_a_hosts_ports_holds() {
        let mut config = Config { contact: "mailto:a@a.example".to_owned(), ..Config::default() };
        config.dns.allow = vec!["127.0.0.0/8".parse().unwrap()];
        config.politeness.min_delay = Span::millis(1);
        let wire = Wire::new(&config).unwrap();
        for robots in ["User-agent: *\nCrawl-delay: 0.05\n", "User-agent: *\nDisallow:\n"] {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/", listener.local_addr().unwrap());
            tokio::spawn(async move {
                let (mut tcp, _) = listener.accept().await.unwrap();
                let mut request = [0; 4096];
                let _ = tcp.read(&mut request).await.unwrap();
                let length = robots.len();
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{robots}");
                tcp.write_all(answer.as_bytes()).await.unwrap();
            });
            let url = CrawlUrl::parse(&url).unwrap();
            wire.robots(&url, |_| Ok(())).await.unwrap();
            assert_eq!(wire.pace(&url.host()).lock().await.crawl_delay_ms, Some(50));
        }
    }

    #[tokio::test]
    async fn other_hosts_on_the_way_to_a_robots_txt_are_heeded_before_they_are_asked() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (mut tcp, _) = listener.accept().await.unwrap();
            let mut request = [0; 4096];
            let _ = tcp.read(&mut request).await.unwrap();
            let to = format!("http://127.0.0.2:{port}/robots.txt");
            let answer =
                format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
            tcp.write_all(answer.as_bytes()).await.unwrap();
        });
        let mut config = Config { contact: "mailto:a@a.example".to_owned(), ..Config::default() };
        config.dns.allow = vec!["127.0.0.0/8".parse().unwrap()];
        let wire = Wire::new(&config).unwrap();
        let url = CrawlUrl::parse(&format!("http://127.0.0.1:{port}/")).unwrap();
        let refuse = |host: &Host| Err(Failed::with(Exit::Locked, host.to_string()));
        assert!(wire.robots(&url, refuse).await.is_err());
    }
}
