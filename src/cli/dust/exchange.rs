//! `crawler dust export | import`: rules for other programs and other crawls.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;

use super::super::output::path;
use super::{Answer, Common, Exit, Failed, decide};
use crate::dust::export::{self, Form};
use crate::dust::rule::FORMAT;
use crate::dust::{Rule, RuleBook, RuleFile, RuleState};
use crate::url::{CrawlUrl, Site};

const EXPORT_EXAMPLES: &str = "\
Examples:
  crawler dust export --format json --out rules.json
  crawler dust export --format nginx --rules rules.json > dust.conf
  crawler dust export --format clean-param --site example.org >> robots.txt

Rules that a format cannot express, or that hold in some parts of their site or for some values
alone, are named on standard error and in a comment.

Exit codes: 0 written, 3 there is no such rule.";

const IMPORT_EXAMPLES: &str = "\
Examples:
  crawler dust import rules.json --dir crawl

The crawl must be stopped, or not yet begun. Rules come in as candidates: they are judged first when
their site is mined, and enforced only when they are proved here. Rules that are known here stay as
they are, but retired ones are tried again. `crawler dust enable ID` vouches for one.";

/// For whom rules are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatName {
    /// A rule file, for `import`, `apply` and `validate`
    Json,
    /// Redirects of nginx
    Nginx,
    /// Redirects of Apache
    Apache,
    /// Clean-param lines of robots.txt
    CleanParam,
    /// Fuzzy rules of pywb
    Pywb,
}

/// Flags of `dust export`.
#[derive(Args, Debug)]
#[command(after_help = EXPORT_EXAMPLES)]
pub(in crate::cli) struct ExportArgs {
    /// For whom
    #[arg(long, value_enum, default_value_t = FormatName::Json)]
    format: FormatName,
    /// A rule file; without it the rules of the crawl
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Only rules of this site
    #[arg(long, value_name = "SITE")]
    site: Option<String>,
    /// Rules in any state, proved or not, and everywhere or not; for servers and replayers none
    /// that was refuted or disabled
    #[arg(long)]
    any: bool,
    /// Write to this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Flags of `dust import`.
#[derive(Args, Debug)]
#[command(after_help = IMPORT_EXAMPLES)]
pub(in crate::cli) struct ImportArgs {
    /// The rule file
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Sites named where the one that was asked for is not among them.
const SITES_NAMED: usize = 8;

/// Returns the site of a host or a URL.
fn site_named(name: &str) -> Option<Site> {
    let url = CrawlUrl::parse(name).or_else(|_| CrawlUrl::parse(&format!("http://{name}/")));
    url.ok().map(|url| url.site())
}

/// Exports.
pub(super) fn export(common: &Common, args: &ExportArgs) -> Answer {
    let mut rules = super::rules_of(common, args.rules.as_ref())?;
    if let Some(site) = &args.site {
        let sites: BTreeSet<String> = rules.iter().map(|rule| rule.site.to_string()).collect();
        let own = site_named(site);
        rules.retain(|rule| rule.site.as_str() == site || Some(&rule.site) == own.as_ref());
        if rules.is_empty() {
            let some: Vec<String> = sites.into_iter().take(SITES_NAMED).collect();
            let why = match some.is_empty() {
                true => "there are no rules at all".to_owned(),
                false => format!("there are no rules of {site}, but of {}", some.join(", ")),
            };
            return Err(Failed::with(Exit::Nothing, why));
        }
    }
    let is_wrong = |rule: &Rule| matches!(rule.state, RuleState::Retired | RuleState::Suspended);
    let takes_all = args.any && args.format == FormatName::Json;
    rules.retain(|rule| {
        rule.state == RuleState::Enforced || takes_all || args.any && !is_wrong(rule)
    });
    if let Some(site) = args.site.as_ref().filter(|_| rules.is_empty()) {
        let why = format!("no rule of {site} is in force; --any takes rules in any state");
        return Err(Failed::with(Exit::Nothing, why));
    }
    let form = match args.format {
        FormatName::Json => None,
        FormatName::Nginx => Some(Form::Nginx),
        FormatName::Apache => Some(Form::Apache),
        FormatName::CleanParam => Some(Form::CleanParam),
        FormatName::Pywb => Some(Form::Pywb),
    };
    let count = rules.len();
    let mut left_out = Vec::new();
    let text = match form {
        None => {
            let file = RuleFile { format: FORMAT, version: 0, rules };
            serde_json::to_string_pretty(&file)? + "\n"
        }
        Some(form) => {
            let exported = export::export(&rules.iter().collect::<Vec<_>>(), form, args.any);
            left_out = exported.left_out;
            exported.text
        }
    };
    for (id, why) in &left_out {
        eprintln!("left out: {id}: {why}");
    }
    let written = count - left_out.len();
    match &args.out {
        Some(file) => super::write(file, text.as_bytes())?,
        None if !common.json => print!("{text}"),
        None => {}
    }
    if common.json {
        let left_out: Vec<_> =
            left_out.iter().map(|(id, why)| json!({ "rule": id, "why": why })).collect();
        let mut said = json!({ "written": written, "left_out": left_out });
        match &args.out {
            Some(file) => said["file"] = path(file).into(),
            None => said["text"] = text.into(),
        }
        println!("{said}");
    }
    if !common.quiet {
        eprintln!("{written} rules written, {} left out", left_out.len());
    }
    Ok(Exit::Complete)
}

/// Imports.
pub(super) fn import(common: &Common, args: &ImportArgs) -> Answer {
    let config = common.load(&[])?.config;
    let rules = super::rule_file(&args.file)?.rules;
    let db = decide::open(&config)?;
    let mut book = super::book(&config, &db)?.unwrap_or_else(|| RuleBook::new(config.dust.book()));
    let ids: Vec<_> = rules.iter().map(|rule| rule.id).collect();
    let known: Vec<_> = ids.iter().copied().filter(|id| book.rule(*id).is_some()).collect();
    book.import(rules);
    let now = decide::time(&db)?;
    let revived = known.iter().filter(|id| book.revive(**id, "imported", now)).count();
    decide::keep(&config, &db, &mut book)?;
    let (imported, known) = (ids.len() - known.len(), known.len() - revived);
    if common.json {
        let counts = json!({ "imported": imported, "known": known, "revived": revived });
        println!("{counts}");
    } else {
        println!(
            "{imported} rules imported as candidates, {revived} retired ones to be tried again, \
             {known} known already and left as they are"
        );
    }
    Ok(Exit::Complete)
}
