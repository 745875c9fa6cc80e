//! `crawler run`: crawl, or go on.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;

use super::output::{bytes, duration, number};
use super::session::{self, Talk};
use super::{Answer, Common, Exit, Failed, text_of};
use crate::config::{self, Config, Override, Source};
use crate::crawl::{Ended, SeedUrl, Summary};
use crate::frontier::PRIORITIES;
use crate::seed;
use crate::url::CrawlUrl;

/// Flags of `run`.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// Seed list: one URL a line, `#` begins a comment; `-` is standard input; may be given several
    /// times
    #[arg(long, short, value_name = "FILE")]
    pub(super) seeds: Vec<PathBuf>,
    /// Show the crawl live on this address, such as 127.0.0.1:8400, with metrics at /metrics
    #[arg(long, value_name = "ADDRESS")]
    pub(super) dashboard: Option<String>,
    /// Seeds given here
    #[arg(value_name = "URL")]
    pub(super) urls: Vec<String>,
}

/// Crawls.
pub(super) fn run(common: &Common, args: &RunArgs) -> Answer {
    let mut overrides = Vec::new();
    if !args.seeds.is_empty() {
        let list: Result<Vec<toml::Value>, Failed> =
            args.seeds.iter().map(|file| Ok(text_of("--seeds", file)?.into())).collect();
        let value = toml::Value::Array(list?).to_string();
        overrides.push(Override { key: "seeds".to_owned(), value, source: Source::Flag });
    }
    overrides.extend(session::listen(args.dashboard.as_deref()));
    let config = common.load(&overrides)?.config;
    config::check_contact(&config)?;
    let seeds = read_seeds(&config, &args.urls)?;
    if seeds.is_empty() && !config.dir.join("state").exists() {
        return Err(Failed::with(
            Exit::Config,
            "there are no seeds: give a list with --seeds FILE, or URLs on the command line",
        ));
    }
    let talk = Talk { quiet: common.quiet || common.json, is_demo: false };
    let summary = session::crawl(&config, &seeds, talk)?;
    print(common, &summary)?;
    Ok(exit_of(&config, &summary))
}

/// Reads the seed lists of the configuration and the URLs of the command line. A bad line never
/// loses the good ones: it is named, and the others are crawled.
pub(super) fn read_seeds(config: &Config, urls: &[String]) -> Result<Vec<SeedUrl>, Failed> {
    read_lists(config.seeds.iter(), urls)
}

/// Reads the seed lists of the configuration for whoever looks at a crawl: standard input is the
/// run's.
pub(super) fn read_kept_seeds(config: &Config) -> Result<Vec<CrawlUrl>, Failed> {
    let kept = config.seeds.iter().filter(|file| *file != Path::new(STANDARD_INPUT));
    Ok(read_lists(kept, &[])?.into_iter().map(|seed| seed.url).collect())
}

fn read_lists<'f>(
    files: impl Iterator<Item = &'f PathBuf>,
    urls: &[String],
) -> Result<Vec<SeedUrl>, Failed> {
    let mut seeds = Vec::new();
    let mut bad = 0;
    let mut take = |name: &str, text: &[u8]| {
        let parsed = seed::parse(name, text, PRIORITIES as u8);
        for error in &parsed.errors {
            eprintln!("warning: {error}");
        }
        bad += parsed.errors.len();
        seeds.extend(parsed.seeds.into_iter().map(|seed| SeedUrl {
            url: seed.url,
            priority: seed.priority,
            hops_max: seed.hops_max,
        }));
    };
    for file in files {
        let (name, text) = read_list(file).map_err(|why| Failed::with(Exit::Config, why))?;
        take(&name, &text);
    }
    if !urls.is_empty() {
        take("command line", urls.join("\n").as_bytes());
    }
    if seeds.is_empty() && bad > 0 {
        return Err(Failed::with(Exit::Config, NO_SEED));
    }
    Ok(seeds)
}

/// Why seed lists that hold something are refused together.
const NO_SEED: &str = "no line of the seed lists is a URL";

/// Returns what a run would refuse of the seed lists. Standard input is left for the run.
pub(super) fn refused_lists(config: &Config) -> Vec<String> {
    let mut refused = Vec::new();
    let (mut seeds, mut bad) = (0, 0);
    for file in config.seeds.iter().filter(|file| *file != Path::new(STANDARD_INPUT)) {
        match read_list(file) {
            Err(why) => refused.push(why),
            Ok((name, text)) => {
                let parsed = seed::parse(&name, &text, PRIORITIES as u8);
                seeds += parsed.seeds.len();
                bad += parsed.errors.len();
            }
        }
    }
    if refused.is_empty() && seeds == 0 && bad > 0 {
        refused.push(NO_SEED.to_owned());
    }
    refused
}

/// What stands for standard input where a seed list is named.
const STANDARD_INPUT: &str = "-";

/// Reads a seed list; returns what messages call it, and its text.
///
/// # Errors
/// Says what is wrong with it as a whole.
fn read_list(file: &Path) -> Result<(String, Vec<u8>), String> {
    let mut text = Vec::new();
    let (name, read) = if file == Path::new(STANDARD_INPUT) {
        ("standard input".to_owned(), std::io::stdin().lock().read_to_end(&mut text))
    } else {
        let opened = std::fs::File::open(file);
        (file.display().to_string(), opened.and_then(|mut file| file.read_to_end(&mut text)))
    };
    read.map_err(|error| format!("failed to read seeds {name}: {error}"))?;
    seed::check_is_text(&name, &text).map_err(|error| format!("failed to read seeds {error}"))?;
    Ok((name, text))
}

/// Prints what a run came to.
pub(super) fn print(common: &Common, summary: &Summary) -> Result<(), Failed> {
    if common.json {
        println!("{}", serde_json::to_string(summary)?);
        return Ok(());
    }
    if common.quiet {
        return Ok(());
    }
    let counters = &summary.counters;
    println!(
        "{} in {}: {} fetched, {} queued, {} refused, {} known, {} failed; {} received",
        summary.ended.word(),
        duration(std::time::Duration::from_millis(summary.took_ms)),
        number(counters.done),
        number(counters.queued),
        number(counters.refused),
        number(counters.known),
        number(counters.failed),
        bytes(counters.bytes as f64)
    );
    let mut reasons: Vec<(&String, &u64)> = summary.reasons.iter().collect();
    reasons.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    for (reason, count) in reasons {
        println!("  {:>10}  {reason}", number(*count));
    }
    for (host, reason) in &summary.parked {
        println!("parked: {host}: {reason}");
    }
    Ok(())
}

/// Returns the exit code of a run.
pub(super) fn exit_of(config: &Config, summary: &Summary) -> Exit {
    if summary.counters.imbalance() != 0 {
        let counters = &summary.counters;
        eprintln!("error: the counters do not add up ({counters:?}); run `crawler verify`");
        return Exit::Verify;
    }
    match summary.ended {
        Ended::Complete => match config.max_failures {
            Some(most) if summary.counters.failed > most => Exit::Failures,
            _ => Exit::Complete,
        },
        Ended::Parked => Exit::Parked,
        Ended::Interrupted => Exit::Interrupted,
        Ended::Limit => Exit::Limit,
    }
}
