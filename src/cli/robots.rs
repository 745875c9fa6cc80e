//! `crawler robots`: what a robots.txt says to us, and by which line.

use clap::Args;
use serde_json::{Value, json};

use super::look;
use super::wire::{self, Wire};
use super::{Answer, Common, Exit, Failed};
use crate::clock::{Clock, Span, Timestamp};
use crate::db::families::robots as rows;
use crate::db::{Db, Family};
use crate::robots::{Entry, Robots, SignalScope};
use crate::url::{CrawlUrl, Host, Origin};

/// Flags of `robots`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler robots example.org                      what is stored for the host, by scheme and port
  crawler robots https://example.org/private/x    may this URL be fetched, and which line says so
  crawler robots example.org --fetch              ask the host where nothing is stored

Exit codes: 0 known, 3 nothing is stored.")]
pub(super) struct RobotsArgs {
    /// A host name, or a URL to be judged
    #[arg(value_name = "HOST|URL")]
    target: String,
    /// Ask the host where nothing is stored
    #[arg(long)]
    fetch: bool,
}

struct Known {
    origin: Origin,
    entry: Entry,
    steps: Vec<(CrawlUrl, String)>,
}

/// Shows robots.txt of a host, and its verdict on a URL.
pub(super) fn robots(common: &Common, args: &RobotsArgs) -> Answer {
    let config = common.load(&[])?.config;
    let url = look::url_of(&args.target)?;
    let is_url = args.target.contains("://");
    let db = look::open_if_there(&config)?;
    // A port names one origin, a bare host all of them.
    let is_one = is_url || args.target.contains(':');
    let mut known = match &db {
        Some(db) if is_one => one(db, url.origin())?.into_iter().collect(),
        Some(db) => of_host(db, &url)?,
        None => Vec::new(),
    };
    if known.is_empty() && args.fetch {
        let runtime = wire::runtime()?;
        let _guard = runtime.enter();
        let wire = Wire::new(&config)?;
        wire.heed(&config, db.as_ref(), &url.host())?;
        let got = {
            let heed = |host: &Host| wire.heed(&config, db.as_ref(), host);
            runtime.block_on(wire.robots(&url, heed))?
        };
        known.push(Known { origin: url.origin(), entry: got.entry, steps: got.steps });
    }
    let now = Clock::system(Timestamp::ZERO).now();
    let judged = is_url.then_some(&url);
    if common.json {
        let shown: Vec<Value> = known.iter().map(|known| json_of(known, judged, now)).collect();
        println!("{}", Value::Array(shown));
    } else {
        known.iter().for_each(|known| print(known, judged, now));
    }
    if known.is_empty() {
        let name = url.host_str();
        return Err(Failed::with(
            Exit::Nothing,
            format!("nothing is stored of robots.txt of {name}; --fetch asks the host"),
        ));
    }
    Ok(Exit::Complete)
}

fn one(db: &Db, origin: Origin) -> Result<Option<Known>, Failed> {
    let Some(bytes) = rows::get(db, &origin)? else { return Ok(None) };
    Ok(Some(Known { entry: Entry::from_bytes(&bytes)?, origin, steps: Vec::new() }))
}

/// Finds all origins of a host.
fn of_host(db: &Db, url: &CrawlUrl) -> Result<Vec<Known>, Failed> {
    let mut origins = Vec::new();
    for scheme in ["http", "https"] {
        let from = format!("{scheme}://{}", url.host_str());
        db.scan(Family::Robots, from.as_bytes(), &[], |key, _| {
            if !key.starts_with(from.as_bytes()) {
                return Ok(false);
            }
            let text = String::from_utf8_lossy(key).into_owned();
            if let Ok(found) = CrawlUrl::parse(&text)
                && found.host_str() == url.host_str()
            {
                origins.push(found.origin());
            }
            Ok(true)
        })?;
    }
    let mut known = Vec::new();
    for origin in origins {
        known.extend(one(db, origin)?);
    }
    Ok(known)
}

fn json_of(known: &Known, url: Option<&CrawlUrl>, now: Timestamp) -> Value {
    let Known { origin, entry, steps } = known;
    let robots = entry.robots();
    let delay = robots.and_then(Robots::crawl_delay).map(|delay| delay.as_millis() as u64);
    let signals = robots.map(Robots::signals).unwrap_or_default().iter();
    let signals: Vec<Value> = signals
        .map(|signal| {
            json!({
                "line": signal.line,
                "scope": scope_word(signal.scope),
                "name": signal.name,
                "value": signal.value,
            })
        })
        .collect();
    let verdict = url.map(|url| {
        let verdict = entry.allows(url);
        json!({
            "url": url.as_str(),
            "allowed": verdict.allowed,
            "group": verdict.group,
            "line": verdict.line,
            "rule": verdict.rule,
            "reason": verdict.reason,
        })
    });
    let steps: Vec<Value> =
        steps.iter().map(|(url, said)| json!({ "url": url.as_str(), "came_to": said })).collect();
    json!({
        "origin": origin.to_string(),
        "fetched": entry.fetched.to_rfc3339(),
        "valid_until": entry.valid_until.to_rfc3339(),
        "stale": entry.is_stale(now),
        "failures": entry.failures(),
        "group": robots.map_or("", Robots::group),
        "rules": robots.map_or(0, Robots::rules),
        "crawl_delay_ms": delay,
        "sitemaps": robots.map(Robots::sitemaps).unwrap_or_default(),
        "clean_params": robots.map(Robots::clean_params).unwrap_or_default(),
        "signals": signals,
        "verdict": verdict,
        "steps": steps,
    })
}

fn scope_word(scope: SignalScope) -> &'static str {
    match scope {
        SignalScope::File => "file",
        SignalScope::OurGroup => "our-group",
        SignalScope::OtherGroup => "other-group",
    }
}

fn print(known: &Known, url: Option<&CrawlUrl>, now: Timestamp) {
    let Known { origin, entry, steps } = known;
    let row = |name: &str, text: String| println!("  {name:<12} {text}");
    println!("{}", origin.url_text("/robots.txt"));
    for (url, said) in steps {
        row("asked", format!("{url}: {said}"));
    }
    let stale =
        if entry.is_stale(now) { " (over: it is fetched before the next page)" } else { "" };
    row("fetched", format!("{}, believed until {}{stale}", entry.fetched, entry.valid_until));
    if entry.failures() > 0 {
        row("failures", format!("{} in a row", entry.failures()));
    }
    if let Some(robots) = entry.robots() {
        match robots.group() {
            "" => row("group", "none speaks to us".to_owned()),
            group => row("group", format!("{group}, {} rules for us", robots.rules())),
        }
        if let Some(delay) = robots.crawl_delay() {
            row("crawl-delay", Span(delay).to_string());
        }
        for sitemap in robots.sitemaps() {
            row("sitemap", sitemap.clone());
        }
        for params in robots.clean_params() {
            row("clean-param", params.clone());
        }
        for signal in robots.signals() {
            let scope = match signal.scope {
                SignalScope::File => "for all",
                SignalScope::OurGroup => "in our group",
                SignalScope::OtherGroup => "in a group for others",
            };
            row(
                "signal",
                format!("line {} ({scope}): {}: {}", signal.line, signal.name, signal.value),
            );
        }
    }
    let root = CrawlUrl::parse(&origin.url_text("/")).ok();
    if let Some(judged) = url.or(root.as_ref()) {
        let verdict = entry.allows(judged);
        let word = if verdict.allowed { "allowed" } else { "disallowed" };
        row(word, format!("{judged}: {}", verdict.reason));
    }
}
