//! `crawler dust rules` and `crawler dust explain`: what is learned, and what it does to a URL.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use super::super::look;
use super::super::output::number;
use super::apply::compile;
use super::{Answer, Common, Exit, Failed, word};
use crate::crawl::unsaved::{Unsaved, unsaved};
use crate::db::families::meta;
use crate::dust::{Rule, RuleSet, RuleState};
use crate::url::CrawlUrl;

const RULES_EXAMPLES: &str = "\
Examples:
  crawler dust rules                                  the rules of the crawl in the directory
  crawler dust rules --state enforced --site example.org
  crawler dust rules --rules rules.json --json

`alike` and `unlike` count distinct documents, `draws` uniform trials, `audits` checks while in
force, `saved` fetches avoided. A URL that two rules change counts for both of them, and once in
the last line.

Where rules are suggested and not applied, the ledger is read for what they would save: `unsaved`
pages that were fetched and `waiting` URLs, beside another one of their key. In force, a rule has
some of them fetched all the same.";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  crawler dust explain 'http://example.org/story?id=12&sid=ab'
  crawler dust explain --rules rules.json http://example.org/story_12";

/// Flags of `dust rules`.
#[derive(Args, Debug)]
#[command(after_help = RULES_EXAMPLES)]
pub(in crate::cli) struct RulesArgs {
    /// A rule file; without it the rules of the crawl
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Only rules in this state: candidate, shadow, enforced, suspended, retired
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Only rules of this site
    #[arg(long, value_name = "SITE")]
    site: Option<String>,
}

/// Flags of `dust explain`.
#[derive(Args, Debug)]
#[command(after_help = EXPLAIN_EXAMPLES)]
pub(in crate::cli) struct ExplainArgs {
    /// The URL
    url: String,
    /// A rule file; without it the rules of the crawl
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
}

/// Returns a rule as JSON, with its text for people.
pub(super) fn row(rule: &Rule) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(rule)?;
    if let Some(map) = value.as_object_mut() {
        map.insert("text".to_owned(), Value::String(rule.to_string()));
    }
    Ok(value)
}

/// Returns rules as a table, with what those would save that are suggested and not applied.
pub(super) fn table(rules: &[&Rule], unsaved: Option<&Unsaved>) -> String {
    let mut out = String::new();
    if rules.is_empty() {
        return out;
    }
    let more = |fetched: &str, waiting: &str| match unsaved {
        Some(_) => format!("  {fetched:>9}  {waiting:>9}"),
        None => String::new(),
    };
    let _ = writeln!(
        out,
        "{:<16}  {:<9}  {:>7}  {:>7}  {:>9}  {:>7}  {:>7}  {:>9}{}  rule",
        "id",
        "state",
        "alike",
        "unlike",
        "draws",
        "probes",
        "audits",
        "saved",
        more("unsaved", "waiting")
    );
    for rule in rules {
        let e = rule.evidence;
        let limits = rule.limits.reason().map_or(String::new(), |why| format!(" ({why})"));
        let of = |good: u32, bad: u32| format!("{good}/{}", u64::from(good) + u64::from(bad));
        let saving = unsaved.and_then(|unsaved| unsaved.of(rule));
        let [fetched, waiting] =
            saving.map(|of| [of.fetched, of.waiting].map(number)).unwrap_or_default();
        let _ = writeln!(
            out,
            "{:<16}  {:<9}  {:>7}  {:>7}  {:>9}  {:>7}  {:>7}  {:>9}{}  {}: {rule}{limits}",
            rule.id.to_string(),
            word(rule.state),
            number(e.documents_same.into()),
            number(e.documents_different.into()),
            of(e.draws_same, e.draws_failed),
            number(e.probes.into()),
            of(e.audits_same, e.audits_failed),
            number(e.suppressed),
            more(&fetched, &waiting),
            rule.site,
        );
    }
    out
}

/// Lists rules.
pub(super) fn rules(common: &Common, args: &RulesArgs) -> Answer {
    let state: Option<RuleState> = match &args.state {
        None => None,
        Some(text) => Some(serde_json::from_value(json!(text)).map_err(|_| {
            let known = "candidate, shadow, enforced, suspended or retired";
            Failed::with(Exit::Usage, format!("--state {text}: write {known}"))
        })?),
    };
    let mut suggesting = None;
    let (rules, counters) = match &args.rules {
        Some(file) => (super::rule_file(file)?.rules, None),
        None => {
            let config = look::as_crawled(common)?;
            let db = look::open(&config)?;
            let counters = meta::counters(&db).context("failed to read the counters")?;
            let rules = super::rules_of_crawl(&config, &db)?;
            suggesting = look::only_suggests(&config, &db)?.then_some(db);
            (rules, counters)
        }
    };
    let mut rules: Vec<&Rule> = rules
        .iter()
        .filter(|rule| state.is_none_or(|state| rule.state == state))
        .filter(|rule| args.site.as_ref().is_none_or(|site| rule.site.as_str() == site))
        .collect();
    let unsaved = match &suggesting {
        Some(db) => unsaved(db, &RuleSet::in_force(rules.iter().copied())?)?,
        None => None,
    };
    rules.sort_by(|a, b| {
        let order = |rule: &Rule| (rule.state != RuleState::Enforced, rule.site.clone());
        let saves = |rule: &Rule| {
            let unsaved = unsaved.as_ref().and_then(|unsaved| unsaved.of(rule));
            (rule.evidence.suppressed, unsaved.map(|of| of.fetched + of.waiting))
        };
        order(a).cmp(&order(b)).then_with(|| saves(b).cmp(&saves(a)))
    });
    // Two rules may change one URL, which each of them counts: the crawl itself knows for all of
    // them, for a part their sum is the most that may be.
    let is_part = args.state.is_some() || args.site.is_some();
    let saved = match counters {
        Some(counters) if !is_part => counters.suppressed,
        _ => rules.iter().map(|rule| rule.evidence.suppressed).sum(),
    };
    if common.json {
        println!("{}", listed(&rules, saved, unsaved.as_ref())?);
    } else {
        print!("{}", table(&rules, unsaved.as_ref()));
        if !common.quiet {
            let enforced = rules.iter().filter(|rule| rule.state == RuleState::Enforced).count();
            println!(
                "{} rules, {} in force; {} fetches avoided",
                number(rules.len() as u64),
                number(enforced as u64),
                number(saved)
            );
            if let Some(Unsaved { all, cut, .. }) = unsaved {
                let least = if cut { "at least " } else { "" };
                println!(
                    "They are suggested, not applied. Applied, they would have saved {least}{} of \
                     the pages fetched, and would save {least}{} of the URLs that wait, but for \
                     some that are fetched to check them: dust.mode = \"enforce\" applies them, \
                     as does a purpose other than `archive`.",
                    number(all.fetched),
                    number(all.waiting)
                );
            }
        }
    }
    Ok(Exit::Complete)
}

/// Returns rules as JSON, with what they saved, or would save.
fn listed(
    rules: &[&Rule],
    saved: u64,
    unsaved: Option<&Unsaved>,
) -> Result<Value, serde_json::Error> {
    let with_unsaved = |rule: &&Rule| {
        let mut value = row(rule)?;
        if let Some(saving) = unsaved.and_then(|unsaved| unsaved.of(rule)) {
            value["unsaved"] = json!(saving);
        }
        Ok::<_, serde_json::Error>(value)
    };
    let rows: Vec<Value> = rules.iter().map(with_unsaved).collect::<Result<_, _>>()?;
    let mut listed = json!({ "rules": rows, "saved": saved });
    if let Some(Unsaved { all, cut, .. }) = unsaved {
        listed["unsaved"] = json!({ "fetched": all.fetched, "waiting": all.waiting, "cut": cut });
    }
    Ok(listed)
}

/// Explains the key of a URL.
pub(super) fn explain(common: &Common, args: &ExplainArgs) -> Answer {
    let url = look::url_of(&args.url)?;
    let rules = super::rules_of(common, args.rules.as_ref())?;
    let set = compile(&rules, false)?;
    let canonized = set.canonize_proved(&url);
    let mut form = url.clone();
    let mut steps = Vec::new();
    // What one rule leaves may be for another one that was applied before.
    for _ in 0..canonized.rules.len() {
        for id in &canonized.rules {
            let Some(rule) = rules.iter().find(|rule| rule.id == *id) else { continue };
            let after = alone(rule, &form)?;
            if after != form {
                steps.push((rule, form.to_string(), after.to_string()));
                form = after;
            }
        }
        if form == *canonized.key {
            break;
        }
    }
    let mut not_here = Vec::new();
    for rule in set.rules().filter(|rule| !canonized.rules.contains(&rule.id)) {
        if let Some(why) = rule.limits.reason()
            && let Some(after) = changed(rule, &url)?
        {
            not_here.push((rule, why, after));
        }
    }
    let mut idle = Vec::new();
    for rule in rules.iter().filter(|rule| rule.state != RuleState::Enforced) {
        if let Some(after) = changed(rule, &url)? {
            idle.push((rule, after));
        }
    }
    if common.json {
        let steps: Vec<Value> = steps
            .iter()
            .map(|(rule, before, after)| {
                json!({ "rule": rule.id, "text": rule.to_string(), "before": before, "after": after })
            })
            .collect();
        let idle: Vec<Value> = idle
            .iter()
            .map(|(rule, after)| {
                json!({ "rule": rule.id, "text": rule.to_string(), "state": rule.state, "after": after })
            })
            .collect();
        let not_here: Vec<Value> = not_here
            .iter()
            .map(|(rule, why, after)| {
                json!({ "rule": rule.id, "text": rule.to_string(), "why": why, "after": after })
            })
            .collect();
        let (url, key) = (url.as_str(), canonized.key.as_str());
        println!(
            "{}",
            json!({
                "url": url, "key": key, "steps": steps, "not_here": not_here, "not_in_force": idle
            })
        );
        return Ok(Exit::Complete);
    }
    println!("{url}");
    for (rule, _, after) in &steps {
        println!("  {} {rule}\n    {after}", rule.id);
    }
    match steps.is_empty() {
        true => println!("  no rule in force touches it: its key is its own"),
        false => println!("  key: {}", canonized.key),
    }
    for (rule, why, after) in &not_here {
        println!("  not here ({why}): {} {rule}\n    would be {after}", rule.id);
    }
    for (rule, after) in &idle {
        println!("  not in force ({}): {} {rule}\n    would be {after}", word(rule.state), rule.id);
    }
    Ok(Exit::Complete)
}

/// Returns what a rule of a URL's site alone makes of it, if that is another form.
fn changed(rule: &Rule, url: &CrawlUrl) -> Result<Option<String>, Failed> {
    if rule.site != url.site() {
        return Ok(None);
    }
    let after = alone(rule, url)?;
    Ok((after != *url).then(|| after.to_string()))
}

/// Returns what a rule alone makes of a URL.
fn alone(rule: &Rule, url: &CrawlUrl) -> Result<CrawlUrl, Failed> {
    let set = compile(std::slice::from_ref(rule), true)?;
    Ok(set.canonize(url).key.into_owned())
}
