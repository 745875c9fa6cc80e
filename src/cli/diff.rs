//! `crawler diff`: two crawls compared.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde_json::json;
use similar::{ChangeTag, TextDiff};

use super::output::number;
use super::sketch::Source;
use super::terminal::Stdout;
use super::{Answer, Common, Exit, Failed, look};
use crate::config::Config;
use crate::crawl::diff::{Change, Counts, Difference, diff as compare, is_of_host};
use crate::db::Db;

/// Lines of a text around a change.
const CONTEXT: usize = 2;

/// Flags of `diff`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler diff monday friday                        counts, and the first of each change
  crawler diff monday friday --list | grep ^-       every URL on a line of its own
  crawler diff monday friday --host docs.example.org --json
  crawler diff monday friday --url https://example.org/terms    what its text says now

Lines begin with + added, ~ changed, > moved, r redirected, - gone, ? missing (the second crawl did
not fetch it), = unchanged (only with --unchanged).

Exit codes: 0 compared, 3 a crawl or a page is not there.")]
pub(super) struct DiffArgs {
    /// Directory of the first crawl
    #[arg(value_name = "A")]
    a: PathBuf,
    /// Directory of the second crawl
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Only this host and its subdomains
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Every URL that differs, one a line
    #[arg(long)]
    list: bool,
    /// With --list: also those that are the same
    #[arg(long, requires = "list")]
    unchanged: bool,
    /// URLs of each change that are shown
    #[arg(long, value_name = "N", default_value_t = 10)]
    most: usize,
    /// The text of one URL in both, compared block by block
    #[arg(long, value_name = "URL", conflicts_with_all = ["list", "host"])]
    url: Option<String>,
}

/// Compares.
pub(super) fn diff(common: &Common, args: &DiffArgs) -> Answer {
    let (a, b) = (of(common, &args.a)?, of(common, &args.b)?);
    if let Some(url) = &args.url {
        return texts(common, &a, &b, url);
    }
    let (old, new) = (open(&a)?, open(&b)?);
    let wanted = |url: &str| args.host.as_ref().is_none_or(|host| is_of_host(url, host));
    if args.list {
        return list(common, args, &old, &new, wanted);
    }
    let mut shown: BTreeMap<Change, Vec<Difference>> = BTreeMap::new();
    let counts = compare(&old, &new, wanted, |difference| {
        let of = shown.entry(difference.change).or_default();
        if difference.change != Change::Unchanged && of.len() < args.most {
            of.push(difference);
        }
    })?;
    warn(&counts);
    if common.json {
        let differences: Vec<&Difference> = shown.values().flatten().collect();
        println!("{}", json!({ "counts": counts, "differences": differences }));
        return Ok(Exit::Complete);
    }
    for change in Change::ALL {
        println!("{:<11} {:>9}", change.name(), number(counts.get(change)));
        for difference in shown.get(&change).into_iter().flatten() {
            println!("  {}", line(difference));
        }
    }
    Ok(Exit::Complete)
}

/// Returns the configuration of one of both crawls, each with the archive that it wrote.
fn of(common: &Common, dir: &Path) -> Result<Config, Failed> {
    look::as_written(&Common { dir: Some(dir.to_owned()), ..common.clone() })
}

fn open(config: &Config) -> Result<Db, Failed> {
    look::open(config)
}

fn warn(counts: &Counts) {
    if counts.not_looked_for > 0 {
        let more = number(counts.not_looked_for);
        eprintln!("warning: {more} more pages are gone than texts are looked for elsewhere");
    }
}

fn list(
    common: &Common,
    args: &DiffArgs,
    old: &Db,
    new: &Db,
    wanted: impl Fn(&str) -> bool,
) -> Answer {
    let mut out = BufWriter::new(Stdout);
    let mut failed = None;
    let counts = compare(old, new, wanted, |difference| {
        if failed.is_some() || (difference.change == Change::Unchanged && !args.unchanged) {
            return;
        }
        let written = if common.json {
            let line = json!(difference);
            writeln!(out, "{line}")
        } else {
            writeln!(out, "{}", line(&difference))
        };
        failed = written.err();
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    out.flush().context("failed to write to standard output")?;
    warn(&counts);
    Ok(Exit::Complete)
}

fn line(difference: &Difference) -> String {
    let Difference { change, url, to, status_a, status_b } = difference;
    let sign = match change {
        Change::Added => '+',
        Change::Changed => '~',
        Change::Redirected => 'r',
        Change::Moved => '>',
        Change::Gone => '-',
        Change::Missing => '?',
        Change::Unchanged => '=',
    };
    let mut line = format!("{sign} {url}");
    if let Some(to) = to {
        line.push_str(&format!(" -> {to}"));
    }
    if let (Some(a), Some(b)) = (status_a, status_b)
        && a != b
    {
        let word = |status: u16| match status {
            0 => "failed".to_owned(),
            status => status.to_string(),
        };
        line.push_str(&format!(" ({} -> {})", word(*a), word(*b)));
    }
    line
}

/// Compares the texts of one URL, block by block.
fn texts(common: &Common, a: &Config, b: &Config, url: &str) -> Answer {
    let url = look::url_of(url)?.to_string();
    let (old, new) = (Source::read(a, &url)?, Source::read(b, &url)?);
    let text = |page: &Source| {
        let blocks = page.extracted.blocks.iter().map(|block| block.text.trim());
        let lines: Vec<&str> = blocks.filter(|text| !text.is_empty()).collect();
        lines.iter().map(|line| format!("{line}\n")).collect::<String>()
    };
    let (old, new) = (text(&old), text(&new));
    let compared = TextDiff::from_lines(&old, &new);
    let same = old == new;
    if common.json {
        let lines: Vec<_> = compared
            .iter_all_changes()
            .filter(|change| change.tag() != ChangeTag::Equal)
            .map(|change| {
                let added = change.tag() == ChangeTag::Insert;
                json!({ "added": added, "text": change.value().trim_end() })
            })
            .collect();
        println!("{}", json!({ "url": url, "same": same, "lines": lines }));
    } else {
        let (from, to) = (a.dir.display().to_string(), b.dir.display().to_string());
        let mut unified = compared.unified_diff();
        print!("{}", unified.context_radius(CONTEXT).header(&from, &to));
    }
    Ok(Exit::Complete)
}
