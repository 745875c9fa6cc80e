//! Fetching pages for proofs: through a proxy on loopback, or from the sites themselves.

use std::collections::{BTreeMap, HashMap, hash_map};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use xxhash_rust::xxh3::xxh3_64;

use super::super::look::{self, Bench};
use super::super::wire::{Wire, said, unresolved};
use super::asked::{Asked, Missing, Reason};
use super::texts::{SAMPLE, Texts};
use super::{Exit, Failed};
use crate::clock::{Clock, Span, Timestamp};
use crate::config::Config;
use crate::crawl::page_of;
use crate::db::Db;
use crate::dust::{Fetched, Fetcher, Observation, paper};
use crate::extract;
use crate::fetch::{Answer, Fetch, HyperFetch, Outcome, Proxy, Purpose, Request, user_agent};
use crate::filter::Filter;
use crate::robots;
use crate::url::{CrawlUrl, Host, Origin, Site};

/// Redirects that are followed.
const HOPS_MAX: usize = 5;

/// How pages are fetched.
#[derive(Args, Debug)]
pub(super) struct FetchArgs {
    /// `none`, `live` (from the sites, politely), or `proxy=http://127.0.0.1:PORT`
    #[arg(long, value_name = "HOW", default_value = "none")]
    fetch: String,
    /// Rest between two fetches through the proxy [0s]
    #[arg(long, value_name = "SPAN")]
    delay: Option<Span>,
}

enum Way {
    Proxy(Box<HyperFetch>, Duration),
    Live(Box<Live>),
}

/// Asking sites themselves: as politely as the crawl in the same directory, and nobody whom it does
/// not ask.
struct Live {
    wire: Wire,
    config: Config,
    /// The state of that crawl, if there is one.
    db: Option<Db>,
    filter: Filter,
}

impl Live {
    fn new(config: &Config) -> Result<Live, Failed> {
        let db = look::open_if_there(config)?;
        if let Some(db) = &db {
            look::refuse_running(config, db, "fetch pages for proofs")?;
        }
        let filter = Bench::new(config, db.as_ref())?.filter;
        Ok(Live { wire: Wire::new(config)?, config: config.clone(), db, filter })
    }

    fn heed(&self, host: &Host) -> Result<(), Failed> {
        self.wire.heed(&self.config, self.db.as_ref(), host)
    }

    fn may_ask(&self, url: &CrawlUrl) -> bool {
        !url.has_bad_port() && self.filter.excludes(url).is_none()
    }

    async fn robots(&self, url: &CrawlUrl) -> Result<Robots, Failed> {
        self.heed(&url.host())?;
        let entry = self.wire.robots(url, |host| self.heed(host)).await?.entry;
        let mut withheld = None;
        if entry.is_withheld() {
            let (reason, why) = match self.wire.resolve(&url.host()).await {
                Err(failure) => (Reason::Address, unresolved(&failure)),
                Ok(_) => (Reason::Robots, entry.allows(url).reason),
            };
            let why = format!("{}: {why}", url.host());
            tracing::warn!(%url, why, "not asked");
            withheld = Some(Missing { reason, why });
        }
        Ok(Robots { entry, withheld })
    }
}

/// The robots.txt of an origin.
struct Robots {
    entry: robots::Entry,
    /// Why it could not be had, where all is disallowed by that.
    withheld: Option<Missing>,
}

/// Fetches pages one after the other, redirects followed.
pub(super) struct Pages {
    runtime: tokio::runtime::Runtime,
    way: Way,
    robots: HashMap<Origin, Robots>,
    texts: Texts,
    /// Requests made, redirects and samples included.
    pub(super) requests: u64,
    /// URLs asked for, and what came of them.
    pub(super) asked: Asked,
}

/// Where the redirects of a URL end.
enum Shown {
    Page(CrawlUrl, Box<Answer>),
    Missing(Missing),
}

impl FetchArgs {
    /// Returns true where nothing is to be fetched.
    pub(super) fn is_none(&self) -> bool {
        self.fetch == "none"
    }

    /// Checks that no flag is without effect.
    ///
    /// # Errors
    /// Fails with what to do instead.
    pub(super) fn check(&self) -> Result<(), Failed> {
        if self.delay.is_none() || self.fetch.starts_with("proxy=") {
            return Ok(());
        }
        let what = "--delay is for --fetch proxy=URL: sites are asked by politeness.min_delay";
        Err(Failed::with(Exit::Usage, what))
    }

    /// Makes the means to fetch, or nothing for `none`. What is fetched is read by `texts`, so that
    /// it compares with what they have read before.
    pub(super) fn pages(&self, config: &Config, texts: Texts) -> Result<Option<Pages>, Failed> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let way = {
            let _guard = runtime.enter();
            match self.fetch.as_str() {
                "none" => return Ok(None),
                "live" => Way::Live(Box::new(Live::new(config)?)),
                other => match other.strip_prefix("proxy=") {
                    Some(proxy) => self.proxied(config, proxy)?,
                    None => {
                        let help = "write none, live, or proxy=http://127.0.0.1:PORT";
                        return Err(Failed::with(Exit::Usage, format!("--fetch {other}: {help}")));
                    }
                },
            }
        };
        let (robots, asked) = (HashMap::new(), Asked::default());
        Ok(Some(Pages { runtime, way, robots, texts, requests: 0, asked }))
    }

    /// A proxy must be on this machine: it serves a model or an archive, and owes nobody a rest.
    fn proxied(&self, config: &Config, text: &str) -> Result<Way, Failed> {
        let usage =
            |what: String| Failed::with(Exit::Usage, format!("--fetch proxy={text}: {what}"));
        let proxy: Proxy = text.parse().map_err(usage)?;
        let host = url::Url::parse(text).ok().and_then(|url| url.host_str().map(str::to_owned));
        let host = host.unwrap_or_default();
        let ip: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
        if host != "localhost" && !ip.is_some_and(|ip| ip.is_loopback()) {
            let what = "only a proxy on this machine; for sites use --fetch live with fetch.proxy";
            return Err(usage(what.to_owned()));
        }
        let delay = self.delay.map_or(Duration::ZERO, |delay| delay.get());
        let settings = crate::fetch::Settings { proxy: Some(proxy), ..config.fetch.clone() };
        let agent = user_agent(&config.name, env!("CARGO_PKG_VERSION"), &config.contact);
        let clock = Arc::new(Clock::system(Timestamp::ZERO));
        let fetch = HyperFetch::new(&settings, &agent, &config.contact, clock)?;
        Ok(Way::Proxy(Box::new(fetch), delay))
    }
}

impl Pages {
    /// Learns what repeats on the pages of each site that is not known yet, from a sample of a log.
    pub(super) fn learn_sites(&mut self, log: &[Observation]) {
        let mut samples: BTreeMap<Site, Vec<(u64, &CrawlUrl)>> = BTreeMap::new();
        let wanted = |seen: &&Observation| {
            seen.status == 200 && !seen.junk && self.texts.is_sampling(&seen.url.site())
        };
        for seen in log.iter().filter(wanted) {
            let order = xxh3_64(seen.url.as_str().as_bytes());
            samples.entry(seen.url.site()).or_default().push((order, &seen.url));
        }
        for (site, mut urls) in samples {
            urls.sort();
            for (_, url) in urls.into_iter().take(SAMPLE as usize) {
                if let Shown::Page(url, answer) = self.follow(url) {
                    let extracted = self.extract(&url, &answer);
                    self.texts.learn(&url, &extracted);
                }
            }
            self.texts.end_sample(&site);
        }
    }

    /// Follows the redirects of a URL, and counts what came of it.
    fn follow(&mut self, url: &CrawlUrl) -> Shown {
        let shown = self.end_of(url);
        match &shown {
            Shown::Page(..) => self.asked.count_page(),
            Shown::Missing(missing) => self.asked.count_missing(missing),
        }
        shown
    }

    fn end_of(&mut self, url: &CrawlUrl) -> Shown {
        let mut url = url.clone();
        for _ in 0..=HOPS_MAX {
            if let Some(missing) = self.refusal(&url) {
                return Shown::Missing(missing);
            }
            let answer = match self.get(&url) {
                Ok(answer) => answer,
                Err(missing) => return Shown::Missing(missing),
            };
            let location =
                answer.header_url("location").filter(|_| (300..400).contains(&answer.status));
            let reason = match (location.and_then(|to| url.join(&to).ok()), answer.status) {
                (Some(next), _) => {
                    url = next;
                    continue;
                }
                (None, 200..=299) => return Shown::Page(url, Box::new(answer)),
                (None, 404 | 410) => Reason::Gone,
                (None, status) => Reason::Status(status),
            };
            let why = format!("{url} answered {}", answer.status);
            return Shown::Missing(Missing { reason, why });
        }
        let why = format!("{url} is what the last of {HOPS_MAX} redirects leads to");
        Shown::Missing(Missing { reason: Reason::Redirects, why })
    }

    /// Returns why a URL is not asked for, if it is not.
    fn refusal(&mut self, url: &CrawlUrl) -> Option<Missing> {
        let Way::Live(live) = &self.way else { return None };
        if !live.may_ask(url) {
            let why = format!("{url} is excluded, or on a port of other services");
            return Some(Missing { reason: Reason::Excluded, why });
        }
        let known = match self.robots.entry(url.origin()) {
            hash_map::Entry::Occupied(known) => known.into_mut(),
            hash_map::Entry::Vacant(unknown) => {
                self.requests += 1;
                match self.runtime.block_on(live.robots(url)) {
                    Ok(known) => unknown.insert(known),
                    Err(failed) => {
                        tracing::warn!(%url, why = failed.line, "not asked");
                        return Some(Missing { reason: Reason::NotNow, why: failed.line });
                    }
                }
            }
        };
        if known.withheld.is_some() {
            return known.withheld.clone();
        }
        (!known.entry.is_allowed(url)).then(|| {
            let why = format!("{url}: {}", known.entry.allows(url).reason);
            Missing { reason: Reason::Disallowed, why }
        })
    }

    fn get(&mut self, url: &CrawlUrl) -> Result<Answer, Missing> {
        self.requests += 1;
        let outcome = match &self.way {
            Way::Live(live) => {
                let got = self.runtime.block_on(live.wire.get(url, Purpose::Probe));
                let reason = match got.resolved {
                    Ok(_) => Reason::NotNow,
                    Err(_) => Reason::Address,
                };
                let why = said(&got);
                got.outcome.ok_or(Missing { reason, why })?
            }
            Way::Proxy(fetch, delay) => {
                let request = Request {
                    url: url.clone(),
                    addresses: Vec::new(),
                    purpose: Purpose::Probe,
                    etag: None,
                    last_modified: None,
                    fresh: false,
                };
                self.runtime.block_on(async {
                    tokio::time::sleep(*delay).await;
                    fetch.fetch(request).await
                })
            }
        };
        match outcome {
            Outcome::Answer(answer) => Ok(*answer),
            Outcome::Failed(failed) => {
                tracing::warn!(%url, failure = failed.failure.name(), detail = failed.detail);
                let why = format!("{}: {}", failed.failure.name(), failed.detail);
                Err(Missing { reason: Reason::of(failed.failure), why })
            }
        }
    }

    fn extract(&self, url: &CrawlUrl, answer: &Answer) -> extract::Extracted {
        let content_type = answer.header_text("content-type");
        self.texts.extract(url, content_type.as_deref(), None, &answer.body)
    }
}

impl Fetcher for Pages {
    fn fetch(&mut self, url: &CrawlUrl) -> Fetched {
        match self.follow(url) {
            Shown::Page(url, answer) => {
                let extracted = self.extract(&url, &answer);
                let analysis = self.texts.analyse(&url, &extracted);
                let whole = answer.truncated.is_none() && !answer.body.is_empty();
                let is_html = extracted.kind == extract::DocumentKind::Html;
                page_of(whole.then_some(&answer.body[..]), is_html, analysis.as_ref(), false)
            }
            Shown::Missing(missing) => missing.reason.shows(),
        }
    }
}

impl paper::Fetcher for Pages {
    fn fetch(&mut self, url: &str) -> paper::Fetched {
        let Ok(url) = CrawlUrl::parse(url) else { return paper::Fetched::Failed };
        let Shown::Page(url, answer) = self.follow(&url) else { return paper::Fetched::Failed };
        let extracted = self.extract(&url, &answer);
        let text = match extracted.kind {
            extract::DocumentKind::Html => {
                let blocks = extracted.blocks.iter().map(|block| &*block.text);
                blocks.collect::<Vec<_>>().join("\n")
            }
            _ => String::from_utf8_lossy(&answer.body).into_owned(),
        };
        paper::Fetched::Page(paper::Shingles::of(&text))
    }
}
