//! `crawler dust`: rules by which different URLs lead to the same text, outside of a crawl's run.

mod apply;
mod asked;
mod constants;
mod decide;
mod exchange;
mod logs;
mod mine;
mod pages;
mod prove;
mod rules;
mod texts;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Subcommand;

pub(super) use self::decide::decide_one;
use super::look;
use super::{Answer, Common, Exit, Failed};
use crate::archive;
use crate::clock::{Clock, Timestamp};
use crate::config::Config;
use crate::crawl::learned;
use crate::db::Db;
use crate::dust::{Rule, RuleBook, RuleFile, RuleId};

/// Subcommands of `dust`.
#[derive(Debug, Subcommand)]
pub(super) enum DustCommand {
    /// Find the rules of logs: crawl logs, web-server logs, TSV lists, WARC files, CDXJ indexes
    Mine(Box<mine::MineArgs>),
    /// Prove the rules of a file by fetching pages
    Validate(prove::ValidateArgs),
    /// Rewrite URLs from standard input to their canonical form
    Apply(apply::ApplyArgs),
    /// List rules with their evidence and what each saved
    Rules(rules::RulesArgs),
    /// Show step by step which rules give a URL its key
    Explain(rules::ExplainArgs),
    /// Take rules out of force until they are enabled; what they suppressed comes back
    Disable(decide::DecideArgs),
    /// Put rules in force, whatever their proof
    Enable(decide::DecideArgs),
    /// Take rules back: what they suppressed comes back, and they may be learned again later
    Revert(decide::DecideArgs),
    /// Write rules for other crawls and programs
    Export(exchange::ExportArgs),
    /// Load rules of another crawl as candidates, to be proved here
    Import(exchange::ImportArgs),
}

/// Runs a subcommand.
pub(super) fn dust(common: &Common, command: &DustCommand) -> Answer {
    match command {
        DustCommand::Mine(args) => mine::mine(common, args),
        DustCommand::Validate(args) => prove::validate(common, args),
        DustCommand::Apply(args) => apply::apply(common, args),
        DustCommand::Rules(args) => rules::rules(common, args),
        DustCommand::Explain(args) => rules::explain(common, args),
        DustCommand::Disable(args) => decide::decide(common, args, decide::Decision::Disable),
        DustCommand::Enable(args) => decide::decide(common, args, decide::Decision::Enable),
        DustCommand::Revert(args) => decide::decide(common, args, decide::Decision::Revert),
        DustCommand::Export(args) => exchange::export(common, args),
        DustCommand::Import(args) => exchange::import(common, args),
    }
}

/// Reads a file whole.
fn read(file: &Path) -> Result<Vec<u8>, Failed> {
    Ok(std::fs::read(file).with_context(|| format!("failed to read {}", file.display()))?)
}

/// Writes a file whole, or leaves it as it was.
fn write(file: &Path, bytes: &[u8]) -> Result<(), Failed> {
    Ok(archive::replace_whole(file, bytes)?)
}

/// Checks that a file can be written, before hours of fetching for it.
fn check_writable(file: Option<&Path>) -> Result<(), Failed> {
    Ok(file.map_or(Ok(()), archive::check_writable)?)
}

/// Reads a rule file.
fn rule_file(file: &Path) -> Result<RuleFile, Failed> {
    let bytes = read(file)?;
    RuleFile::parse(&bytes).map_err(|error| {
        let why = match serde_json::from_slice::<mine::PaperFile>(&bytes) {
            Ok(_) => {
                "its rules are of `dust mine --mode paper`; only `dust apply` takes them".into()
            }
            Err(_) => error.to_string(),
        };
        Failed::with(Exit::Config, format!("failed to use {}: {why}", file.display()))
    })
}

/// Returns the rules of a file, or those that the crawl has learned.
fn rules_of(common: &Common, file: Option<&PathBuf>) -> Result<Vec<Rule>, Failed> {
    if let Some(file) = file {
        return Ok(rule_file(file)?.rules);
    }
    let config = common.load(&[])?.config;
    rules_of_crawl(&config, &look::open(&config)?)
}

/// Returns the rules that a crawl has learned.
fn rules_of_crawl(config: &Config, db: &Db) -> Result<Vec<Rule>, Failed> {
    let book = book(config, db)?.ok_or_else(|| {
        let dir = config.dir.display();
        Failed::with(
            Exit::Nothing,
            format!("the crawl in {dir} has learned no rules yet; give a file with --rules FILE"),
        )
    })?;
    Ok(book.rules_as_proved())
}

/// Returns the rule book of a crawl, without its samples.
pub(super) fn book(config: &Config, db: &Db) -> Result<Option<RuleBook>, Failed> {
    let Some(stored) = learned::rules(db)? else { return Ok(None) };
    let book = RuleBook::decode(config.dust.book(), &stored, [])
        .context("failed to read the learned rules")?;
    Ok(Some(book))
}

/// Finds the rule that an id, or the beginning of one, names.
fn find(rules: &[Rule], id: &str) -> Result<RuleId, Failed> {
    let named: Vec<RuleId> = rules
        .iter()
        .map(|rule| rule.id)
        .filter(|known| !id.is_empty() && known.to_string().starts_with(&id.to_ascii_lowercase()))
        .collect();
    match named[..] {
        [one] => Ok(one),
        [] => Err(Failed::with(
            Exit::Nothing,
            format!("there is no rule {id}; `crawler dust rules` lists them"),
        )),
        _ => Err(Failed::with(
            Exit::Usage,
            format!("{id} is the beginning of {} rules; write more of it", named.len()),
        )),
    }
}

/// Returns the time.
fn now() -> Timestamp {
    Clock::system(Timestamp::ZERO).now()
}

/// Returns a word as JSON has it.
fn word(value: impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
