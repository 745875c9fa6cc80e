//! `crawler plan`: what a crawl of these seeds would do, at the cost of robots.txt and sitemaps.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use futures_util::StreamExt;
use serde::Serialize;

use super::look::{self, Bench};
use super::output::{duration, number};
use super::run::read_seeds;
use super::wire::{self, Wire};
use super::{Answer, Common, Exit, Failed};
use crate::clock::Span;
use crate::config::Config;
use crate::crawl::SeedUrl;
use crate::db::Db;
use crate::extract::{self, DocumentKind};
use crate::fetch::{Outcome, Purpose};
use crate::filter::{Candidate, Filter};
use crate::frontier::Rules;
use crate::robots::Robots;
use crate::url::{CrawlUrl, Origin};

/// Hosts that are asked at once; each is asked for one thing after another.
const HOSTS_AT_ONCE: usize = 16;

/// URLs of sitemaps that are judged per host.
const LISTED_MAX: usize = 1_000_000;

/// Flags of `plan`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler plan --seeds seeds.txt --contact mailto:you@example.org
  crawler plan https://example.org/ --sitemaps 50     read more of its sitemaps

Only robots.txt and sitemaps are fetched, one after another per host. Exit codes: 0 at least one
seed can be crawled, 3 none can, 78 no contact or no seeds.")]
pub(super) struct PlanArgs {
    /// Seed list: one URL a line; `-` is standard input; may be given several times
    #[arg(long, short, value_name = "FILE")]
    seeds: Vec<PathBuf>,
    /// Seeds given here
    #[arg(value_name = "URL")]
    urls: Vec<String>,
    /// Most sitemaps to fetch per host
    #[arg(long, value_name = "N", default_value_t = 10)]
    sitemaps: usize,
    /// Most hosts to ask, in the order of the seeds
    #[arg(long, value_name = "N", default_value_t = 200)]
    hosts: usize,
}

/// What is planned for one origin.
#[derive(Debug, Default, Serialize)]
struct Plan {
    origin: String,
    addresses: Vec<String>,
    /// Why it cannot be crawled at all.
    problem: Option<String>,
    robots: Option<String>,
    group: Option<String>,
    crawl_delay_ms: Option<u64>,
    /// Least time between two requests.
    floor_ms: u64,
    /// True if its Crawl-delay is more than is honoured, so that it would be parked.
    parked: bool,
    seeds: Vec<SeedPlan>,
    sitemaps: Vec<SitemapPlan>,
    listed: u64,
    listed_accepted: u64,
    listed_disallowed: u64,
    /// Reasons for which listed URLs would be refused.
    refused: BTreeMap<String, u64>,
    /// Least time for what is listed.
    least_ms: u64,
}

impl Plan {
    /// Returns true if at least one seed would be crawled.
    fn is_good(&self) -> bool {
        self.problem.is_none() && !self.parked && self.seeds.iter().any(|seed| seed.accept)
    }
}

#[derive(Debug, Serialize)]
struct SeedPlan {
    url: String,
    accept: bool,
    why: String,
}

#[derive(Debug, Serialize)]
struct SitemapPlan {
    url: String,
    came_to: String,
    entries: u64,
}

/// Shows what a crawl would do.
pub(super) fn plan(common: &Common, args: &PlanArgs) -> Answer {
    let mut config = common.load(&[])?.config;
    if !args.seeds.is_empty() {
        config.seeds.clone_from(&args.seeds);
    }
    let seeds = read_seeds(&config, &args.urls)?;
    if seeds.is_empty() {
        return Err(Failed::with(
            Exit::Config,
            "there are no seeds: give a list with --seeds FILE, or URLs on the command line",
        ));
    }
    let urls: Vec<CrawlUrl> = seeds.iter().map(|seed| seed.url.clone()).collect();
    let bench = Bench {
        filter: Filter::new(&config.scope, &urls)?,
        politeness: Rules::new(config.politeness.clone(), &config.host),
        dust: config.dust.book(),
        enforces: false,
        paused: false,
        seeds: urls,
    };
    let mut origins: Vec<(Origin, Vec<SeedUrl>)> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for seed in seeds {
        let origin = seed.url.origin();
        let at = *known.entry(origin.to_string()).or_insert(origins.len());
        if at == origins.len() {
            origins.push((origin, Vec::new()));
        }
        origins[at].1.push(seed);
    }
    let left_out = origins.len().saturating_sub(args.hosts);
    origins.truncate(args.hosts);
    let runtime = wire::runtime()?;
    let _guard = runtime.enter();
    let wire = Wire::new(&config)?;
    let db = look::open_if_there(&config)?;
    for (origin, _) in &origins {
        wire.heed(&config, db.as_ref(), &origin.host)?;
    }
    let tasks = origins.iter().map(|(origin, seeds)| {
        one(&config, &bench, &wire, db.as_ref(), origin, seeds, args.sitemaps)
    });
    let mut plans: Vec<Plan> = Vec::new();
    runtime.block_on(async {
        let mut done = futures_util::stream::iter(tasks).buffered(HOSTS_AT_ONCE);
        while let Some(plan) = done.next().await {
            let plan = plan?;
            if common.json {
                println!("{}", serde_json::to_string(&plan)?);
            } else {
                print(&plan);
            }
            plans.push(plan);
        }
        Ok::<(), Failed>(())
    })?;
    if !common.json && !common.quiet {
        total(&plans, left_out);
    }
    let any = plans.iter().any(Plan::is_good);
    Ok(if any { Exit::Complete } else { Exit::Nothing })
}

async fn one(
    config: &Config,
    bench: &Bench,
    wire: &Wire,
    db: Option<&Db>,
    origin: &Origin,
    seeds: &[SeedUrl],
    sitemaps_max: usize,
) -> Result<Plan, Failed> {
    let mut plan = Plan { origin: origin.to_string(), ..Plan::default() };
    let Some(first) = seeds.first() else { return Ok(plan) };
    match wire.resolve(&origin.host).await {
        Ok(resolved) => {
            plan.addresses = resolved.addresses.iter().map(ToString::to_string).collect();
        }
        Err(failure) => {
            plan.problem = Some(wire::unresolved(&failure));
            return Ok(plan);
        }
    }
    let got = wire.robots(&first.url, |host| wire.heed(config, db, host)).await?;
    let settings = bench.politeness.of(origin.host.as_str());
    let robots = got.entry.robots();
    let delay = robots.and_then(Robots::crawl_delay);
    plan.robots = got.steps.last().map(|(url, said)| format!("{url}: {said}"));
    plan.group = robots.map(|robots| robots.group().to_owned());
    plan.crawl_delay_ms = delay.map(|delay| delay.as_millis() as u64);
    let floor = settings.min_delay.get().max(delay.unwrap_or_default());
    plan.floor_ms = floor.as_millis() as u64;
    plan.parked = delay.is_some_and(|delay| delay > settings.honor_crawl_delay_up_to.get());
    for seed in seeds {
        let verdict = bench.filter.schedule(&Candidate::seed(&seed.url));
        let robots = got.entry.allows(&seed.url);
        let accept = verdict.accept && robots.allowed;
        let why = if verdict.accept { robots.reason } else { verdict.to_string() };
        plan.seeds.push(SeedPlan { url: seed.url.to_string(), accept, why });
    }
    if plan.seeds.iter().all(|seed| !seed.accept) || plan.parked {
        // Nothing of it would be crawled, so its sitemaps are not asked for either.
        return Ok(plan);
    }
    let listed = robots.map(Robots::sitemaps).unwrap_or_default();
    let start = listed.iter().filter_map(|sitemap| first.url.join(sitemap).ok()).collect();
    read_sitemaps(config, bench, wire, &got.entry, start, sitemaps_max, &mut plan).await;
    let requests = plan.listed_accepted.max(plan.seeds.len() as u64);
    plan.least_ms = plan.floor_ms.saturating_mul(requests);
    Ok(plan)
}

async fn read_sitemaps(
    config: &Config,
    bench: &Bench,
    wire: &Wire,
    robots: &crate::robots::Entry,
    start: VecDeque<CrawlUrl>,
    most: usize,
    plan: &mut Plan,
) {
    let mut waiting = start;
    let mut met: BTreeSet<String> = waiting.iter().map(ToString::to_string).collect();
    let mut urls = BTreeSet::new();
    while let Some(url) = waiting.pop_front() {
        let mut sitemap = SitemapPlan { url: url.to_string(), came_to: String::new(), entries: 0 };
        // A sitemap elsewhere is another host's: this plan does not ask it.
        let skip = if plan.sitemaps.len() >= most {
            Some("not fetched: --sitemaps is reached")
        } else if url.origin().to_string() != plan.origin {
            Some("not fetched: it is on another host")
        } else if !robots.allows(&url).allowed {
            Some("not fetched: robots.txt disallows it")
        } else {
            None
        };
        if let Some(why) = skip {
            sitemap.came_to = why.to_owned();
            plan.sitemaps.push(sitemap);
            if plan.sitemaps.len() > most {
                break;
            }
            continue;
        }
        let got = wire.get(&url, Purpose::Page).await;
        sitemap.came_to = wire::said(&got);
        if let Some(Outcome::Answer(answer)) = &got.outcome
            && answer.status == 200
        {
            let content_type = answer.header_text("content-type");
            let page = extract::Page {
                url: &url,
                content_type: content_type.as_deref(),
                link_headers: &[],
                body: &answer.body,
            };
            let found = extract::extract_sitemap(&page, &config.extract);
            sitemap.entries = found.entries.len() as u64;
            for entry in found.entries {
                if found.kind == DocumentKind::SitemapIndex {
                    if met.insert(entry.url.to_string()) {
                        waiting.push_back(entry.url);
                    }
                } else if urls.len() < LISTED_MAX && urls.insert(entry.url.fingerprint().0) {
                    judge(bench, robots, &url, &entry.url, plan);
                }
            }
        }
        plan.sitemaps.push(sitemap);
    }
}

fn judge(
    bench: &Bench,
    robots: &crate::robots::Entry,
    sitemap: &CrawlUrl,
    url: &CrawlUrl,
    plan: &mut Plan,
) {
    plan.listed += 1;
    let verdict = bench.filter.schedule(&Candidate::link(url, sitemap, 1));
    if !verdict.accept {
        *plan.refused.entry(verdict.code().to_owned()).or_default() += 1;
    } else if url.origin().to_string() == plan.origin && !robots.is_allowed(url) {
        plan.listed_disallowed += 1;
    } else {
        plan.listed_accepted += 1;
    }
}

fn print(plan: &Plan) {
    let row = |name: &str, text: String| println!("  {name:<12} {text}");
    println!("{}", plan.origin);
    if let Some(problem) = &plan.problem {
        return row("cannot", problem.clone());
    }
    row("dns", plan.addresses.join(", "));
    row("robots.txt", plan.robots.clone().unwrap_or_default());
    match plan.group.as_deref() {
        None => {}
        Some("") => row("group", "none speaks to us".to_owned()),
        Some(group) => row("group", group.to_owned()),
    }
    let by = if plan.crawl_delay_ms.is_some() { " (its Crawl-delay counts)" } else { "" };
    row("politeness", format!("at least {} between requests{by}", Span::millis(plan.floor_ms)));
    if plan.parked {
        let more = "its Crawl-delay is more than politeness.honor_crawl_delay_up_to";
        row("parked", format!("{more}: it would be parked, not crawled"));
    }
    for seed in &plan.seeds {
        row(
            if seed.accept { "seed" } else { "not crawled" },
            format!("{}: {}", seed.url, seed.why),
        );
    }
    for sitemap in &plan.sitemaps {
        let entries = match sitemap.entries {
            0 => String::new(),
            entries => format!(", {} entries", number(entries)),
        };
        row("sitemap", format!("{}: {}{entries}", sitemap.url, sitemap.came_to));
    }
    if plan.listed > 0 {
        let (listed, accepted) = (number(plan.listed), number(plan.listed_accepted));
        let disallowed = number(plan.listed_disallowed);
        row(
            "listed",
            format!(
                "{listed} URLs, {accepted} in scope and allowed, {disallowed} disallowed by robots.txt"
            ),
        );
        for (reason, count) in &plan.refused {
            row("", format!("{} {reason}", number(*count)));
        }
        let least = duration(Duration::from_millis(plan.least_ms));
        row("time", format!("at least {least} for what is listed"));
    }
}

fn total(plans: &[Plan], left_out: usize) {
    let good = plans.iter().filter(|plan| plan.is_good()).count();
    let listed: u64 = plans.iter().map(|plan| plan.listed_accepted).sum();
    let slowest = plans.iter().max_by_key(|plan| plan.least_ms).filter(|plan| plan.least_ms > 0);
    eprintln!(
        "{good} of {} origins can be crawled; {} URLs listed for us",
        plans.len(),
        number(listed)
    );
    if left_out > 0 {
        eprintln!("{left_out} origins were not asked; --hosts N asks more");
    }
    if let Some(slowest) = slowest {
        let least = duration(Duration::from_millis(slowest.least_ms));
        eprintln!("no faster than {least}, because of {}", slowest.origin);
    }
}
