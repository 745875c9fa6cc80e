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
use crate::crawl::DustMode;
use crate::db::families::meta;
use crate::dust::{Rule, RuleState};
use crate::url::CrawlUrl;

const RULES_EXAMPLES: &str = "\
Examples:
  crawler dust rules                                  the rules of the crawl in the directory
  crawler dust rules --state enforced --site example.org
  crawler dust rules --rules rules.json --json

`alike` and `unlike` count distinct documents, `draws` uniform trials, `audits` checks while in
force, `saved` fetches avoided. A URL that two rules change counts for both of them, and once in
the last line.";

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

/// Returns rules as a table.
pub(super) fn table(rules: &[&Rule]) -> String {
    let mut out = String::new();
    if rules.is_empty() {
        return out;
    }
    let _ = writeln!(
        out,
        "{:<16}  {:<9}  {:>7}  {:>7}  {:>9}  {:>7}  {:>7}  {:>9}  rule",
        "id", "state", "alike", "unlike", "draws", "probes", "audits", "saved"
    );
    for rule in rules {
        let e = rule.evidence;
        let limits = rule.limits.reason().map_or(String::new(), |why| format!(" ({why})"));
        let of = |good: u32, bad: u32| format!("{good}/{}", u64::from(good) + u64::from(bad));
        let _ = writeln!(
            out,
            "{:<16}  {:<9}  {:>7}  {:>7}  {:>9}  {:>7}  {:>7}  {:>9}  {}: {rule}{limits}",
            rule.id.to_string(),
            word(rule.state),
            number(e.documents_same.into()),
            number(e.documents_different.into()),
            of(e.draws_same, e.draws_failed),
            number(e.probes.into()),
            of(e.audits_same, e.audits_failed),
            number(e.suppressed),
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
    let mut is_suggested = false;
    let (rules, counters) = match &args.rules {
        Some(file) => (super::rule_file(file)?.rules, None),
        None => {
            let config = look::as_crawled(common)?;
            is_suggested = config.dust_mode() == DustMode::Suggest;
            let db = look::open(&config)?;
            let counters = meta::counters(&db).context("failed to read the counters")?;
            (super::rules_of_crawl(&config, &db)?, counters)
        }
    };
    let mut rules: Vec<&Rule> = rules
        .iter()
        .filter(|rule| state.is_none_or(|state| rule.state == state))
        .filter(|rule| args.site.as_ref().is_none_or(|site| rule.site.as_str() == site))
        .collect();
    rules.sort_by(|a, b| {
        let order = |rule: &Rule| (rule.state != RuleState::Enforced, rule.site.clone());
        order(a).cmp(&order(b)).then(b.evidence.suppressed.cmp(&a.evidence.suppressed))
    });
    // Two rules may change one URL, which each of them counts: the crawl itself knows for all of
    // them, for a part their sum is the most that may be.
    let is_part = args.state.is_some() || args.site.is_some();
    let saved = match counters {
        Some(counters) if !is_part => counters.suppressed,
        _ => rules.iter().map(|rule| rule.evidence.suppressed).sum(),
    };
    if common.json {
        let rules: Vec<Value> = rules.iter().map(|rule| row(rule)).collect::<Result<_, _>>()?;
        println!("{}", json!({ "rules": rules, "saved": saved }));
    } else {
        print!("{}", table(&rules));
        if !common.quiet {
            let enforced = rules.iter().filter(|rule| rule.state == RuleState::Enforced).count();
            println!(
                "{} rules, {} in force; {} fetches avoided",
                number(rules.len() as u64),
                number(enforced as u64),
                number(saved)
            );
            if is_suggested && enforced > 0 {
                println!(
                    "They are suggested, not applied: dust.mode = \"enforce\" applies them, as \
                     does a purpose other than `archive`."
                );
            }
        }
    }
    Ok(Exit::Complete)
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
