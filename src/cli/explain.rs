//! `crawler explain`: why a URL is where it is.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use tokio::runtime::Runtime;

use super::look::{self, Bench};
use super::output::{bytes, number};
use super::wire::{self, Wire};
use super::{Answer, Common, Exit, Failed};
use crate::clock::{Clock, Timestamp};
use crate::config::Config;
use crate::crawl::explain::{Applied, Explanation, Judges, LineOf, State, explain as explained};
use crate::crawl::log::{self, BesideLine};
use crate::db::Db;
use crate::db::families::robots as rows;
use crate::dust::RuleId;
use crate::robots::Entry;
use crate::url::{CrawlUrl, Host};

/// Requests that `--history` shows.
const HISTORY_MAX: usize = 100;

/// Flags of `explain`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler explain https://example.org/a?sid=1     why it was fetched, or not
  crawler explain example.org/a --history         also every request for it, from the crawl log
  crawler explain https://example.org/a --json    for scripts
  crawler explain --seeds seeds.txt --live https://example.org/a
                                                  before a crawl: what would become of it

Exit codes: 0 the crawl has met it, 3 it has not.")]
pub(super) struct ExplainArgs {
    /// The URL
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
    /// Show also every request for it; reads the whole crawl log
    #[arg(long)]
    history: bool,
    /// Seed list from which scope is measured, where the configuration names none
    #[arg(long, short, value_name = "FILE")]
    seeds: Vec<PathBuf>,
    /// Ask the host for its robots.txt where none is stored, or the stored one is too old
    #[arg(long)]
    live: bool,
}

/// Explains URLs.
pub(super) fn explain(common: &Common, args: &ExplainArgs) -> Answer {
    let mut config = look::as_crawled(common)?;
    if !args.seeds.is_empty() {
        config.seeds.clone_from(&args.seeds);
    }
    let db = look::open_if_there(&config)?;
    let bench = Bench::new(&config, db.as_ref())?;
    if bench.seeds.is_empty() {
        eprintln!("note: no seeds are known, so nothing is in scope; name a list with --seeds");
    }
    let mut live = if args.live { Some(Live::new(&config)?) } else { None };
    let now = Clock::system(Timestamp::ZERO).now();
    let mut all_known = true;
    for (number, text) in args.urls.iter().enumerate() {
        let url = look::url_of(text)?;
        let entry = match &mut live {
            Some(live) => live.robots(&config, db.as_ref(), &url, now)?,
            None => None,
        };
        let judges = Judges {
            filter: &bench.filter,
            politeness: &bench.politeness,
            dust: &bench.dust,
            enforces: bench.enforces,
            seeds: &bench.seeds,
            robots: entry.as_ref(),
            paused: bench.paused,
        };
        let explanation = explained(db.as_ref(), &judges, &url, now)?;
        all_known &= explanation.is_known();
        let history = if args.history { history(&config, &url)? } else { Vec::new() };
        if common.json {
            let mut line = serde_json::to_value(&explanation)?;
            line["given"] = json!(text);
            if args.history {
                line["history"] = json!(history);
            }
            println!("{line}");
            continue;
        }
        if number > 0 {
            println!();
        }
        print(&explanation, text, db.is_none());
        for line in &history {
            let outcome = line.failure.clone().unwrap_or_else(|| line.status.to_string());
            let (at, purpose, then, took) = (&line.at, &line.purpose, &line.then, line.took_ms);
            let left_out = left_out(line);
            row(
                "request",
                &format!("{at}  {purpose}  {outcome} in {took} ms, then {then}{left_out}"),
            );
            if let Some(beside) = &line.beside {
                row("", &fetched_beside(beside));
            }
        }
    }
    Ok(if all_known { Exit::Complete } else { Exit::Nothing })
}

/// The means to ask for a robots.txt; at most one request an origin.
struct Live {
    runtime: Runtime,
    wire: Wire,
    asked: BTreeMap<String, Entry>,
}

impl Live {
    fn new(config: &Config) -> Result<Live, Failed> {
        let runtime = wire::runtime()?;
        let guard = runtime.enter();
        let wire = Wire::new(config)?;
        drop(guard);
        Ok(Live { runtime, wire, asked: BTreeMap::new() })
    }

    /// Returns the robots.txt of a URL's origin as it is now; none where the stored one holds yet.
    fn robots(
        &mut self,
        config: &Config,
        db: Option<&Db>,
        url: &CrawlUrl,
        now: Timestamp,
    ) -> Result<Option<Entry>, Failed> {
        let origin = url.origin();
        let stored = match db {
            Some(db) => rows::get(db, &origin)?,
            None => None,
        };
        let stored = stored.map(|bytes| Entry::from_bytes(&bytes)).transpose()?;
        if stored.is_some_and(|entry| !entry.is_stale(now) && entry.is_for(&config.name)) {
            return Ok(None);
        }
        if let Some(entry) = self.asked.get(&origin.to_string()) {
            return Ok(Some(entry.clone()));
        }
        let _guard = self.runtime.enter();
        self.wire.heed(config, db, &url.host())?;
        let got = {
            let heed = |host: &Host| self.wire.heed(config, db, host);
            self.runtime.block_on(self.wire.robots(url, heed))?
        };
        self.asked.insert(origin.to_string(), got.entry.clone());
        Ok(Some(got.entry))
    }
}

/// Says what of an answer was not read, or not kept.
fn left_out(line: &log::Line) -> String {
    let mut said = String::new();
    if let Some(code) = &line.not_extracted {
        said += &format!("; no links looked for ({code})");
    }
    if line.links_dropped > 0 {
        said += &format!("; {} links left out", number(line.links_dropped.into()));
    }
    if let Some(problem) = &line.problem {
        said += &format!("; not read to its end: {problem}");
    }
    said
}

/// Says why a URL was asked for that another one stands for.
fn fetched_beside(beside: &BesideLine) -> String {
    let BesideLine { url, why, rules } = beside;
    let rules: Vec<String> = rules.iter().map(RuleId::to_string).collect();
    let rules = rules.join(", ");
    match why.as_str() {
        "check" => format!("to check {rules} against {url}, which stands for it"),
        "audit" => format!("as an audit of {rules}, in force, against {url}"),
        "kept-back" => format!("since {url}, of the same key, keeps back links or itself"),
        "redirects" => {
            format!("since {url}, of the same key, redirects, and it may not to the same")
        }
        _ => format!("brought back: {url} stood for it"),
    }
}

fn row(name: &str, text: &str) {
    println!("  {name:<14} {text}");
}

fn print(explanation: &Explanation, given: &str, no_crawl: bool) {
    println!("{}", explanation.url);
    if given != explanation.url {
        row("given as", given);
    }
    match &explanation.state {
        State::Unknown if no_crawl => row("unknown", "there is no crawl here yet"),
        State::Unknown => row("unknown", "the crawl has not met this URL"),
        State::Queued(line) => queued(line),
        State::Done {
            at,
            status,
            bytes: size,
            mime,
            content,
            same_text_as,
            links,
            file,
            offset,
            length,
            ..
        } => {
            row(
                "done",
                &format!("{status} at {at}, {} of {mime}, {links} links", bytes(*size as f64)),
            );
            let same = same_text_as.as_ref().map(|url| format!(", same text as {url}"));
            row("content", &format!("{content}{}", same.unwrap_or_default()));
            match (file, offset, length) {
                (Some(file), Some(offset), Some(length)) => {
                    row("archive", &format!("{file} offset {offset}, {length} bytes"));
                }
                _ => row("archive", "no record: the archive gate or the page said no"),
            }
        }
        State::Refused { reason, detail, at } => {
            row("refused", &format!("{reason} at {at}: {detail}"))
        }
        State::Failed { reason, detail, at, attempts } => {
            row("failed", &format!("{reason} at {at} after {attempts} attempts: {detail}"));
        }
        State::Suppressed { by, by_is, rules, rules_gone, version, at } => {
            row("suppressed", &format!("at {at} by rules of version {version}"));
            row("stands for it", &format!("{by} ({by_is})"));
            rules.iter().for_each(rule);
            for id in rules_gone {
                row("rule", &format!("{id}, which is no longer in the book"));
            }
        }
    }
    if let Some(forecast) = &explanation.forecast {
        let code = forecast.reason.as_ref().map(|code| format!(" ({code})"));
        row("forecast", &format!("{}{}", forecast.why, code.unwrap_or_default()));
        let unfollowed: Vec<String> =
            forecast.unfollowed.iter().map(|(code, pages)| format!("{pages} {code}")).collect();
        if !unfollowed.is_empty() {
            let pages = unfollowed.join(", ");
            row("may be on", &format!("pages whose links were not followed: {pages}"));
        }
    }
    if let Some(seen) = &explanation.seen {
        let path =
            if seen.path.is_empty() { String::new() } else { format!(", path {}", seen.path) };
        row("found", &format!("{} as {}{path}", seen.at, seen.step));
        for (step, url) in seen.chain.iter().rev().skip(1).enumerate() {
            row(if step == 0 { "from" } else { "" }, url);
        }
    }
    rules(explanation);
    let gate = |gate: &crate::crawl::explain::Gate| {
        let word = if gate.accept { "accepts" } else { "refuses" };
        format!("{word}: {} ({})", gate.reason, gate.code)
    };
    row("schedule gate", &gate(&explanation.schedule_gate));
    row("fetch gate", &gate(&explanation.fetch_gate));
    let robots = &explanation.robots;
    let word = match (robots.known, robots.allowed) {
        (false, _) => "",
        (true, true) => "allows: ",
        (true, false) => "disallows: ",
    };
    row("robots.txt", &format!("{word}{}", robots.reason));
    if let (Some(fetched), Some(until)) = (robots.fetched, robots.valid_until) {
        let stale = if robots.stale { " (over)" } else { "" };
        row("", &format!("fetched {fetched}, believed until {until}{stale}"));
    }
    if let Some(part) = &explanation.parked_part {
        let since = part.since.map(|at| format!(" since {at}")).unwrap_or_default();
        let (name, held) = (&part.name, number(part.urls));
        row("parked part", &format!("{name}{since}: {}; {held} URLs held", part.reason));
        let what = match (part.leaves_out, &explanation.state) {
            (true, _) => "is left out; `crawler ctl forgive` lets its host be crawled again",
            (false, State::Done { .. }) => "was fetched",
            (false, _) => "is one of those that are fetched there all the same",
        };
        row("", &format!("this URL {what}"));
    }
    if let Some(host) = &explanation.host_state {
        let (queued, done) = (number(host.queued), number(host.done));
        row(
            "host",
            &format!("{}: {}, {queued} queued, {done} done", explanation.host, host.status),
        );
        row("", &format!("{}; {}, next at {}", host.standing, host.why, host.next_allowed));
    }
}

fn queued(line: &LineOf) {
    let before = match (line.before, line.before_is_more) {
        (before, true) => format!("more than {} URLs of its host before it", number(before)),
        (0, false) => "next of its host".to_owned(),
        (before, false) => format!("{} URLs of its host before it", number(before)),
    };
    let word = if line.in_flight { "in flight" } else { "queued" };
    row(word, &format!("priority {}, {before}", line.priority));
    match line.earliest {
        Some(at) => row("earliest", &format!("{at}: {}", line.why)),
        None => row("earliest", &format!("not while its host stands so: {}", line.why)),
    }
    if line.attempts > 0 || line.busy > 0 {
        let (failed, busy) = (line.attempts, line.busy);
        row("before", &format!("{failed} attempts failed, {busy} met a busy host"));
    }
}

fn rules(explanation: &Explanation) {
    let said = &explanation.rules;
    match &said.key {
        None if said.of_site == 0 => row("rules", "none is known of its site"),
        None => {
            let (count, version) = (said.of_site, said.version);
            row(
                "rules",
                &format!("none in force applies ({count} of its site, version {version})"),
            );
        }
        Some(key) => {
            let only = if said.enforced { "" } else { ", but rules are not applied in this crawl" };
            row("rules", &format!("make it {key} (version {}{only})", said.version));
            if let Some(holder) = &said.key_held_by {
                row("", &format!("which {holder} stands for"));
            }
            said.applied.iter().for_each(rule);
        }
    }
}

fn rule(rule: &Applied) {
    row("rule", &format!("{} {}", rule.id, rule.text));
    let evidence = &rule.evidence;
    let state = serde_json::to_value(rule.state).unwrap_or_default();
    let changed = format!("{} since {}", state.as_str().unwrap_or_default(), rule.changed);
    row(
        "",
        &format!(
            "{changed}; same text in {} documents, {} draws, {} audits, another in {}, {} and {}; \
             {} fetches saved",
            evidence.documents_same,
            evidence.draws_same,
            evidence.audits_same,
            evidence.documents_different,
            evidence.draws_failed,
            evidence.audits_failed,
            number(evidence.suppressed)
        ),
    );
}

/// Finds the requests for a URL in the crawl log.
fn history(config: &Config, url: &CrawlUrl) -> Result<Vec<log::Line>, Failed> {
    let mut found = Vec::new();
    // Most lines are of other URLs and need no parsing.
    let needle = serde_json::to_string(url.as_str())?;
    for file in log::files(&config.dir.join("log")).unwrap_or_default() {
        let reader = std::io::BufReader::new(std::fs::File::open(&file)?);
        for line in reader.split(b'\n') {
            let line = line?;
            if memchr::memmem::find(&line, needle.as_bytes()).is_none() {
                continue;
            }
            if let Ok(line) = serde_json::from_slice::<log::Line>(&line)
                && line.url == url.as_str()
            {
                found.push(line);
            }
        }
    }
    // The latest are the ones that are asked about.
    let skip = found.len().saturating_sub(HISTORY_MAX);
    Ok(found.split_off(skip))
}
