//! `crawler dust disable | enable | revert`: an operator decides about rules of a stopped crawl.

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use super::super::look;
use super::{Answer, Common, Exit, Failed, find, word};
use crate::clock::{Clock, Timestamp};
use crate::config::Config;
use crate::crawl::learned;
use crate::crawl::log::JsonLog;
use crate::crawl::steer::{self, Kind, Refusal};
use crate::db::families::{meta, suppressed};
use crate::db::{Batch, Db, DbError};
use crate::dust::{Rule, RuleBook, RuleEvent, RuleState};

const EXAMPLES: &str = "\
Examples:
  crawler dust disable 3f2a                 the beginning of an id is enough
  crawler dust revert 3f2a91c0 77d0 --dir crawl

The crawl must be stopped. URLs that the rules suppressed are back in its queue with the next run.";

/// Flags of `dust disable`, `enable` and `revert`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct DecideArgs {
    /// Ids of rules, or beginnings of them
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
}

/// What an operator decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Disable,
    Enable,
    Revert,
}

/// Suppressed URLs that are counted for the answer.
const COUNTED_MAX: usize = 1_000_000;

/// Opens the state of a stopped crawl for writing.
pub(super) fn open(config: &Config) -> Result<Db, Failed> {
    let dir = look::state_dir(config);
    match Db::open(&dir, &config.state) {
        Err(error @ DbError::Locked { .. }) => {
            let why = anyhow::Error::from(error);
            let what = "change rules, which can be done only while the crawl is stopped";
            Err(why.context(what).into())
        }
        opened => Ok(opened?),
    }
}

/// Returns the time, not before what the crawl has stored.
pub(super) fn time(db: &Db) -> Result<Timestamp, Failed> {
    let floor = meta::session(db)?.map_or(Timestamp::ZERO, |session| session.latest);
    Ok(Clock::system(floor).now())
}

/// Stores a changed book, after its events are in the log of rules.
pub(super) fn keep(
    config: &Config,
    db: &Db,
    book: &mut RuleBook,
) -> Result<Vec<RuleEvent>, Failed> {
    // A new version: the next run and its log tell it from the old one.
    book.take_rule_set()?;
    let events = book.take_events();
    let mut log = JsonLog::open(&config.dir.join("log").join("rules.jsonl"))?;
    for event in &events {
        log.write(event)?;
    }
    let mut batch = Batch::default();
    learned::put_rules(&mut batch, db, &book.encode_rules());
    db.commit(batch)?;
    db.sync()?;
    Ok(events)
}

/// Decides.
pub(super) fn decide(common: &Common, args: &DecideArgs, decision: Decision) -> Answer {
    let config = common.load(&[])?.config;
    let dir = look::state_dir(&config);
    if !dir.exists() {
        return Err(Failed::from(DbError::Missing(dir)));
    }
    let db = open(&config)?;
    let decided = carry_out(&config, &db, &args.ids, decision)?;
    print(common, &decided);
    Ok(Exit::Complete)
}

/// Decides about one rule as an order does that is given to a stopped crawl.
pub(in crate::cli) fn decide_one(
    config: &Config,
    db: &Db,
    id: &str,
    on: bool,
) -> Result<Result<steer::Answer, Refusal>, Failed> {
    let decision = if on { Decision::Enable } else { Decision::Disable };
    let decided = match carry_out(config, db, &[id.to_owned()], decision) {
        Ok(decided) => decided,
        Err(failed) => {
            let kind = match failed.exit {
                Exit::Nothing => Kind::Nothing,
                Exit::Usage => Kind::Usage,
                _ => return Err(failed),
            };
            return Ok(Err(Refusal::new(kind, failed.line)));
        }
    };
    let lines = decided.iter().flat_map(Decided::lines);
    Ok(Ok(steer::Answer::of(lines.collect::<Vec<_>>().join("; "))))
}

/// What became of a rule.
struct Decided {
    rule: Rule,
    before: RuleState,
    /// URLs that come back.
    back: usize,
}

fn carry_out(
    config: &Config,
    db: &Db,
    ids: &[String],
    decision: Decision,
) -> Result<Vec<Decided>, Failed> {
    let Some(mut book) = super::book(config, db)? else {
        let dir = config.dir.display();
        return Err(Failed::with(Exit::Nothing, format!("the crawl in {dir} has no rules yet")));
    };
    let rules: Vec<Rule> = book.rules().cloned().collect();
    let ids = ids.iter().map(|id| find(&rules, id)).collect::<Result<Vec<_>, _>>()?;
    let now = time(db)?;
    let why = "an operator says so";
    for id in &ids {
        match decision {
            Decision::Disable => book.suspend(*id, why, now),
            Decision::Enable => book.enforce(*id, why, now),
            Decision::Revert => book.revert(*id, why, now),
        };
    }
    let events = keep(config, db, &mut book)?;
    let mut decided = Vec::new();
    for id in &ids {
        let rule = book.rule(*id).context("find a rule that was just changed")?;
        let event = events.iter().find(|event| event.rule == *id);
        let back = match event.is_some_and(RuleEvent::readmits) {
            true => suppressed::by_rule(db, id.0, COUNTED_MAX)?.len(),
            false => 0,
        };
        let before = event.and_then(|event| event.from).unwrap_or(rule.state);
        decided.push(Decided { rule: rule.clone(), before, back });
    }
    Ok(decided)
}

impl Decided {
    /// Returns what is said to people, in one line or two.
    fn lines(&self) -> Vec<String> {
        let Decided { rule, before, back } = self;
        if *before == rule.state {
            return vec![format!("{} {rule}: already {}", rule.id, word(rule.state))];
        }
        let mut lines =
            vec![format!("{} {rule}: {} -> {}", rule.id, word(*before), word(rule.state))];
        if *back > 0 {
            lines.push(format!("{back} URLs that it suppressed come back with the next run"));
        }
        if rule.state == RuleState::Enforced && rule.evidence.draws_same == 0 {
            let vouched = "no trial has proved it: you vouch for it; audits go on checking it";
            lines.push(vouched.to_owned());
        }
        lines
    }
}

fn print(common: &Common, decided: &[Decided]) {
    if common.json {
        let rules: Vec<Value> = decided
            .iter()
            .map(|Decided { rule, before, back }| {
                json!({
                    "rule": rule.id, "site": rule.site, "text": rule.to_string(),
                    "from": before, "to": rule.state, "urls_back": back,
                })
            })
            .collect();
        println!("{}", json!({ "rules": rules }));
        return;
    }
    for lines in decided.iter().map(Decided::lines) {
        println!("{}", lines.join("\n  "));
    }
}
