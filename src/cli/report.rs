//! `crawler report`: the crawl as one page, for people and for the record.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde_json::json;

use super::output::number;
use super::{Answer, Common, Exit, Failed, look};
use crate::archive::{ArchiveError, replace_by, replace_whole};
use crate::clock::{Clock, Timestamp};
use crate::config::{Config, Loaded};
use crate::crawl::inlinks::{Inlinks, inlinks};
use crate::db::Db;
use crate::report::{INLINKS_FILE, INLINKS_HEAD, Input, Report, Setting, build, inlink_row};

/// Beside the crawl log: the settings of the latest run.
pub(super) const SETTINGS_FILE: &str = "settings.json";

/// Flags of `report`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler report                            writes report.html into the crawl's directory
  crawler report --out monday.html          during the crawl too: it is only read
  crawler report --csv tables/              every table as a file of its own
  crawler report --csv tables/ --inlinks    also inlinks.csv: every link that is broken, by page
  crawler report --json | jq .figures       nothing is written

Exit codes: 0 written, 3 there is no crawl.")]
pub(super) struct ReportArgs {
    /// File to write; an earlier report is replaced
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Directory for the tables as CSV files
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
    /// Find all pages that lead to broken links; reads every archived page again
    #[arg(long)]
    inlinks: bool,
}

/// Writes the report.
pub(super) fn report(common: &Common, args: &ReportArgs) -> Answer {
    let config = look::as_crawled(common)?;
    let db = look::open(&config)?;
    if let Some(dir) = &args.csv {
        std::fs::create_dir_all(dir)
            .with_context(|| format!("failed to make the directory {}", dir.display()))?;
    }
    let inlinks = match args.inlinks {
        true => Some(find_inlinks(&config, &db, args.csv.as_deref())?),
        false => None,
    };
    let report = make(&config, &db, inlinks.as_ref())?;
    if let Some(dir) = &args.csv {
        write_tables(&report, dir)?;
    }
    if common.json {
        println!("{}", serde_json::to_string(&report)?);
        if args.out.is_none() {
            return Ok(Exit::Complete);
        }
    }
    let file = write(&config, &report, args.out.as_deref())?;
    if !common.json {
        println!("{}", file.display());
    }
    Ok(Exit::Complete)
}

/// Makes the report of a crawl, beside the crawl if it runs.
pub(super) fn make(config: &Config, db: &Db, inlinks: Option<&Inlinks>) -> Result<Report, Failed> {
    let is_running = look::running(&look::state_dir(config), db)?.is_some();
    let log = config.dir.join("log");
    let input = Input {
        log: &log,
        db,
        near: &config.repeats.near,
        dust: config.dust.book(),
        only_suggests: look::only_suggests(config, db)?,
        inlinks,
        settings: settings_of_run(config, &log),
        versions: versions(),
        name: config.name.clone(),
        contact: config.contact.clone(),
        is_running,
        now: Clock::system(Timestamp::ZERO).now(),
    };
    Ok(build(&input).context("failed to make the report")?)
}

/// Finds the pages that lead to broken links; where a directory is given, every link is written
/// there.
fn find_inlinks(config: &Config, db: &Db, dir: Option<&Path>) -> Result<Inlinks, Failed> {
    let archive = look::archive_dir(config);
    let Some(file) = dir.map(|dir| dir.join(INLINKS_FILE)) else {
        return Ok(inlinks(db, &archive, &config.extract, |_| Ok(()))?);
    };
    let failed = |why| ArchiveError::write(&file, why);
    replace_by(&file, |to| {
        let mut out = BufWriter::new(to);
        out.write_all(INLINKS_HEAD.as_bytes()).map_err(failed)?;
        let found = inlinks(db, &archive, &config.extract, |link| {
            out.write_all(inlink_row(link).as_bytes()).map_err(failed)
        })?;
        out.flush().map_err(failed)?;
        Ok::<_, Failed>(found)
    })
}

/// Writes a report to a file, or to `report.html` in the crawl's directory; returns where it is.
pub(super) fn write(
    config: &Config,
    report: &Report,
    out: Option<&Path>,
) -> Result<PathBuf, Failed> {
    let file = out.map_or_else(|| config.dir.join("report.html"), Path::to_owned);
    // A reader of the earlier report never sees half of the new one.
    replace_whole(&file, report.html().as_bytes()).with_context(|| {
        let file = file.display();
        format!("failed to write {file}; name another file with --out FILE")
    })?;
    Ok(file)
}

fn write_tables(report: &Report, dir: &Path) -> Result<(), Failed> {
    for table in report.tables() {
        let file = dir.join(format!("{}.csv", table.id));
        replace_whole(&file, table.csv().as_bytes())?;
        let (rows, total) = (table.rows.len() as u64, table.total);
        if rows < total {
            eprintln!("{} has {} of {} rows", file.display(), number(rows), number(total));
        }
    }
    Ok(())
}

/// Returns every setting with its default.
fn settings(config: &Config) -> Vec<Setting> {
    let rows = |config: Config| {
        let (sources, places) = Default::default();
        Loaded { config, sources, places }.effective()
    };
    let defaults: std::collections::BTreeMap<String, String> =
        rows(Config::default()).into_iter().map(|(key, value, _)| (key, value)).collect();
    let own = rows(config.clone()).into_iter().map(|(key, value, _)| {
        let default = defaults.get(&key).cloned().unwrap_or_default();
        Setting { key, value, default }.without_credentials()
    });
    own.collect()
}

/// Notes the settings of a run, so that a later report shows those and not its own.
pub(super) fn note_settings(config: &Config) {
    let file = config.dir.join("log").join(SETTINGS_FILE);
    let text = json!(settings(config)).to_string();
    if let Err(error) = replace_whole(&file, text.as_bytes()) {
        let file = file.display();
        tracing::warn!(%error, "the report will lack the settings of this run: {file}");
    }
}

fn settings_of_run(config: &Config, log: &Path) -> Vec<Setting> {
    noted_settings(log).unwrap_or_else(|| settings(config))
}

/// Returns the settings of the latest run, if they were noted.
pub(super) fn noted_settings(log: &Path) -> Option<Vec<Setting>> {
    let stored = std::fs::read(log.join(SETTINGS_FILE)).ok()?;
    serde_json::from_slice(&stored).ok()
}

fn versions() -> Vec<(String, String)> {
    let pair = |name: &str, value: String| (name.to_owned(), value);
    vec![
        pair("crawler", env!("CARGO_PKG_VERSION").to_owned()),
        pair("state format", crate::db::FORMAT_VERSION.to_string()),
        pair("rule format", crate::dust::rule::FORMAT.to_string()),
        pair("archive", "WARC/1.1, CDXJ".to_owned()),
        pair("system", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)),
        pair("least Rust", env!("CARGO_PKG_RUST_VERSION").to_owned()),
    ]
}
