//! `crawler verify` and `crawler repair`: is everything there, and what can be mended.

use clap::Args;
use serde_json::json;

use super::look;
use super::output::{bytes, number};
use super::{Answer, Common, Exit, Failed};
use crate::archive::{self, Indexed};
use crate::config::Config;
use crate::crawl::verify::verify_state;
use crate::db::Db;

/// Records that are looked for unless `--all` is given.
const SAMPLE: u64 = 10_000;

/// Flags of `verify`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler verify                    state, ledger, counters, archive and indexes
  crawler verify --all              look for every archive record that the ledger names
  crawler verify --archive-only     only the WARC files, as for an archive from elsewhere

Exit codes: 0 all is well, 3 there is no crawl, 20 something is wrong; each problem is one line.")]
pub(super) struct VerifyArgs {
    /// Look for every archive record that the ledger names, not for 10,000 of them
    #[arg(long)]
    all: bool,
    /// Check only the archive
    #[arg(long, conflicts_with = "state_only")]
    archive_only: bool,
    /// Check only the state
    #[arg(long)]
    state_only: bool,
}

/// Checks state and archive; exit code 20 if anything is wrong.
pub(super) fn verify(common: &Common, args: &VerifyArgs) -> Answer {
    let config = look::as_written(common)?;
    let dir = look::archive_dir(&config);
    if args.archive_only && !dir.exists() {
        let why = format!("there is no archive in {}; name the crawl with --dir", dir.display());
        return Err(Failed::with(Exit::Nothing, why));
    }
    let mut state = None;
    let db = match args.archive_only {
        true => look::open_if_there(&config)?,
        false => Some(look::open(&config)?),
    };
    let state_dir = look::state_dir(&config);
    let running = db.as_ref().map(|db| look::running(&state_dir, db)).transpose()?.flatten();
    if let Some(pid) = running.filter(|_| !common.quiet) {
        eprintln!("process {pid} is crawling here: what it writes meanwhile is not seen");
    }
    if let Some(db) = db.as_ref().filter(|_| !args.archive_only) {
        let most = if args.all { u64::MAX } else { SAMPLE };
        let records = (!args.state_only).then_some(dir.as_path());
        state = Some(verify_state(db, records, most)?);
    }
    let indexed = indexed(&config, db.is_some());
    let warcs = match (args.state_only, running) {
        (true, _) => None,
        (false, Some(_)) => Some(archive::verify_while_written(&dir, indexed)?),
        (false, None) => Some(archive::verify(&dir, indexed)?),
    };
    let clean = state.as_ref().is_none_or(|report| report.is_clean())
        && warcs.as_ref().is_none_or(|report| report.is_clean());
    let exit = if clean { Exit::Complete } else { Exit::Verify };
    if common.json {
        println!("{}", json!({ "clean": clean, "state": state, "archive": warcs }));
        return Ok(exit);
    }
    if let Some(report) = &state {
        for fault in &report.problems {
            println!("state: {}: {}", fault.code, fault.detail);
        }
        more(report.problems_unnamed);
        let words: Vec<String> =
            report.urls.iter().map(|(word, count)| format!("{} {word}", number(*count))).collect();
        if !common.quiet {
            println!(
                "state      {} rows, {} hosts, {} waiting; URLs: {}",
                number(report.rows),
                number(report.hosts),
                number(report.waiting),
                if words.is_empty() { "none".to_owned() } else { words.join(", ") }
            );
            let (looked, named) = (number(report.records), number(report.records_named));
            println!("records    {looked} of {named} that the ledger names were looked for");
        }
    }
    if let Some(report) = &warcs {
        report.problems.iter().for_each(|problem| println!("archive: {problem}"));
        more(report.problems_unnamed);
        if !common.quiet {
            println!(
                "archive    {} files, {} records, {}, {} digests right",
                number(report.files),
                number(report.records),
                bytes(report.bytes as f64),
                number(report.digests)
            );
        }
    }
    if !common.quiet {
        println!("{}", if clean { "all is well" } else { "something is wrong" });
    }
    if !clean {
        eprintln!(
            "torn tails, unfinished files and indexes are mended by `crawler repair`; a record or \
             row that is lost is fetched again only by a new crawl, or comes back from a copy"
        );
    }
    Ok(exit)
}

/// Says which files have an index: those of a crawl as its settings say, and what is from elsewhere
/// as it was made.
fn indexed(config: &Config, is_crawl: bool) -> Indexed {
    if is_crawl && config.archive.cdxj { Indexed::All } else { Indexed::IfAny }
}

fn more(unnamed: u64) {
    if unnamed > 0 {
        println!("… and {} more", number(unnamed));
    }
}

/// Flags of `repair`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler repair            cut torn tails, finish files that a crash left open, and make indexes
                            that are missing or wrong
  crawler repair --index    make every CDXJ index anew as well

It needs no network and changes no whole record, and ends with the check of `crawler verify`, which
says what is left; `verify --all` reads more. A crawl that is to go on needs no repair: `crawler
run` mends by itself what a crash left. Exit codes: 0 all is well now, 3 there is no crawl, 20
damage is left, 75 a crawl is writing here.")]
pub(super) struct RepairArgs {
    /// Make the index of every file anew
    #[arg(long)]
    index: bool,
}

/// Mends the archive.
pub(super) fn repair(common: &Common, args: &RepairArgs) -> Answer {
    let config = look::as_written(common)?;
    let state_dir = look::state_dir(&config);
    if !state_dir.exists() && !look::archive_dir(&config).exists() {
        let dir = config.dir.display();
        let why = format!("there is no crawl in {dir}; name its directory with --dir");
        return Err(Failed::with(Exit::Nothing, why));
    }
    // Held for as long as the archive is changed: no crawl may begin meanwhile.
    let state = match state_dir.join("CURRENT").exists() {
        true => Some(Db::open(&state_dir, &config.state)?),
        false => None,
    };
    let indexed = indexed(&config, state.is_some());
    let dir = look::archive_dir(&config);
    let repaired = archive::repair(&dir, args.index, indexed)?;
    // Only the check that finds damage can say that none is left.
    let checked = state.as_ref().map(|db| verify_state(db, Some(&dir), SAMPLE)).transpose()?;
    let checked = checked.unwrap_or_default();
    let warcs = archive::verify(&dir, indexed)?;
    let exit = if checked.is_clean() && warcs.is_clean() { Exit::Complete } else { Exit::Verify };
    let cuts: Vec<String> = repaired.cuts.iter().map(ToString::to_string).collect();
    let in_archive = warcs.problems.iter().map(|problem| format!("archive: {problem}"));
    let in_state =
        checked.problems.iter().map(|fault| format!("state: {}: {}", fault.code, fault.detail));
    let left: Vec<String> = in_archive.chain(in_state).collect();
    let left_unnamed = warcs.problems_unnamed + checked.problems_unnamed;
    if common.json {
        let report = json!({
            "cuts": cuts,
            "finished": repaired.finished,
            "indexed": repaired.indexed,
            "left": left,
            "left_unnamed": left_unnamed,
        });
        println!("{report}");
        return Ok(exit);
    }
    cuts.iter().for_each(|cut| println!("cut        {cut}"));
    repaired.finished.iter().for_each(|file| println!("finished   {file}"));
    repaired.indexed.iter().for_each(|file| println!("indexed    {file}"));
    left.iter().for_each(|damage| println!("left       {damage}"));
    more(left_unnamed);
    let is_sound = cuts.is_empty() && repaired.finished.is_empty() && repaired.indexed.is_empty();
    if !common.quiet && is_sound {
        let word = if left.is_empty() { "there was nothing to mend" } else { "nothing was mended" };
        println!("{word}");
    }
    if !warcs.is_clean() {
        eprintln!(
            "damage that is no torn tail stays: cutting it out would move records that the state \
             knows by their place; `crawler export` copies all whole records to a new file"
        );
    }
    if !checked.is_clean() {
        eprintln!(
            "the state is not mended: a record or row that is lost comes back from a copy, or is \
             fetched again only by a new crawl"
        );
    }
    Ok(exit)
}
