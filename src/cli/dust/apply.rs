//! `crawler dust apply`: URLs in, canonical forms out, line by line.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use super::mine::PaperFile;
use super::{Answer, Common, Exit, Failed};
use crate::dust::{Rule, RuleSet, paper};
use crate::url::CrawlUrl;

const EXAMPLES: &str = "\
Examples:
  crawler dust apply --rules rules.json < urls.txt > canonical.txt
  crawler dust apply --dir crawl --pairs < urls.txt | sort -t$'\\t' -k2

One line for every line: the canonical form, or the line itself, byte by byte, where it is no URL.
Only rules in force are applied, and none where it failed or for values that nothing spoke for,
unless --any is given.";

/// Flags of `dust apply`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct ApplyArgs {
    /// A rule file; without it the rules of the crawl
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Apply rules in any state, proved or not, and everywhere
    #[arg(long)]
    any: bool,
    /// Write the line as it was in front of the outcome, by a tab
    #[arg(long)]
    pairs: bool,
}

/// What rewrites.
enum Rewriter {
    Ours(RuleSet),
    Paper(BTreeMap<String, Vec<paper::Rule>>, usize),
}

/// Compiles rules; by default those in force, as far as they are proved.
pub(super) fn compile(rules: &[Rule], any: bool) -> Result<RuleSet, Failed> {
    if !any {
        return Ok(RuleSet::in_force(rules)?);
    }
    let rules = rules.iter().cloned().map(Arc::new).collect();
    Ok(RuleSet::compile(1, rules, 0.0)?)
}

impl Rewriter {
    fn new(common: &Common, args: &ApplyArgs) -> Result<Rewriter, Failed> {
        if let Some(file) = &args.rules
            && let Ok(found) = serde_json::from_slice::<PaperFile>(&super::read(file)?)
        {
            let sites = found.sites.into_iter().map(|site| (site.site, site.rules)).collect();
            return Ok(Rewriter::Paper(sites, found.rounds));
        }
        let rules = super::rules_of(common, args.rules.as_ref())?;
        let set = compile(&rules, args.any)?;
        if set.is_empty() && !rules.is_empty() {
            eprintln!("none of {} rules is in force; --any applies them all the same", rules.len());
        }
        Ok(Rewriter::Ours(set))
    }

    /// Returns the outcome and the names of the rules that led to it; nothing for what is no URL.
    fn rewrite(&self, line: &str) -> Option<(String, Vec<String>)> {
        let url = CrawlUrl::parse(line).ok()?;
        match self {
            Rewriter::Ours(set) => {
                let canonized = set.canonize_proved(&url);
                let rules = canonized.rules.iter().map(ToString::to_string).collect();
                Some((canonized.key.to_string(), rules))
            }
            Rewriter::Paper(sites, rounds) => {
                let rules = sites.get(url.site().as_str()).or_else(|| sites.get(""));
                let outcome = paper::canonize(line, rules.map_or(&[], Vec::as_slice), *rounds);
                Some((outcome, Vec::new()))
            }
        }
    }
}

/// Rewrites standard input.
pub(super) fn apply(common: &Common, args: &ApplyArgs) -> Answer {
    let rewriter = Rewriter::new(common, args)?;
    let mut out = io::BufWriter::new(crate::cli::terminal::Stdout);
    let (mut lines, mut changed, mut bad) = (0u64, 0u64, 0u64);
    for line in io::stdin().lock().split(b'\n') {
        let line = line?;
        lines += 1;
        let url = String::from_utf8_lossy(&line);
        let url = url.trim_end_matches('\r');
        let outcome = rewriter.rewrite(url);
        match &outcome {
            Some((key, _)) => changed += u64::from(key != url),
            None => bad += u64::from(!url.is_empty()),
        }
        if common.json {
            let object = match outcome {
                Some((key, rules)) => json!({ "url": url, "key": key, "rules": rules }),
                None => json!({ "url": url, "key": Value::Null }),
            };
            writeln!(out, "{object}")?;
            continue;
        }
        // What is no URL is given back byte by byte.
        let (before, after) = match &outcome {
            Some((key, _)) => (url.as_bytes(), key.as_bytes()),
            None => (&line[..], &line[..]),
        };
        if args.pairs {
            out.write_all(before)?;
            out.write_all(b"\t")?;
        }
        out.write_all(after)?;
        out.write_all(b"\n")?;
    }
    out.flush()?;
    if !common.quiet {
        eprintln!("{lines} lines, {changed} changed, {bad} no URL");
    }
    Ok(Exit::Complete)
}
