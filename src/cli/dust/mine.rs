//! `crawler dust mine`: the rules of a log.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::super::output::number;
use super::asked::Asked;
use super::constants::{Constants, amount};
use super::logs::{self, LogArgs};
use super::pages::FetchArgs;
use super::rules::{row, table};
use super::texts::Texts;
use super::{Answer, Common, Exit, Failed};
use crate::dust::paper::{self, run_mine};
use crate::dust::{Fetcher, Report, RuleState, learn};
use crate::url::CrawlUrl;

/// Which miner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// Ours: every rule is proved, none may cost a page
    Default,
    /// The algorithm of the paper, to the letter
    Paper,
}

const EXAMPLES: &str = "\
Examples:
  crawler dust mine --site https://example.org access.log access.log.1.gz
  crawler dust mine --site https://example.org access.log --fetch live --contact mailto:me@example.org
  crawler dust mine crawl/log --rules rules.json
  crawler dust mine --mode paper --json list.tsv > report.json
  crawler dust mine --mode paper --fetch proxy=http://127.0.0.1:8099 --valid valid.tsv train.tsv

Bad lines are counted and the first ones shown with file and line; they are never fatal, unless
there are no others: exit code 3. JSON lines of other programs need `url` and `status`, and say more
with `size` or `sketch`. The miner of the paper splits mixed logs by site, but takes a TSV list for
one site. Settings of our own miner are those of the configuration: --set
dust.validate.success_good=0.999";

/// Flags of `dust mine`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct MineArgs {
    /// Logs, plain or gzip; a directory stands for the crawl logs or WARC files in it
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Which miner
    #[arg(long, value_enum, default_value_t = Mode::Default)]
    mode: Mode,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    fetch: FetchArgs,
    /// Validate on the URLs of this log instead (--mode paper)
    #[arg(long, value_name = "FILE")]
    valid: Option<PathBuf>,
    /// Show the canonical form of every URL of this log
    #[arg(long, value_name = "FILE")]
    canon: Option<PathBuf>,
    /// Write the rules to a file, for `apply`, `export`, `import` and `validate`
    #[arg(long, value_name = "OUT")]
    rules: Option<PathBuf>,
    /// Most fetches for proofs, as a share of the URLs of a site; without it that of a crawl, or
    /// `dust.validate.probes_on_request` where that is more
    #[arg(long, value_name = "SHARE", value_parser = amount)]
    probes: Option<f64>,
    #[command(flatten)]
    constants: Constants,
}

/// Mines.
pub(super) fn mine(common: &Common, args: &MineArgs) -> Answer {
    match args.mode {
        Mode::Paper => by_the_paper(common, args),
        Mode::Default => ours(common, args),
    }
}

/// The rule file of the paper's miner: its rules are not ours, and only `apply` takes it.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PaperFile {
    /// 1.
    pub(super) paper: u32,
    /// Most rounds of canonization.
    pub(super) rounds: usize,
    /// Rules of each site in their order; a site without a name is any.
    pub(super) sites: Vec<PaperSite>,
}

/// The rules of one site.
#[derive(Debug, Default, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PaperSite {
    pub(super) site: String,
    pub(super) rules: Vec<paper::Rule>,
}

fn by_the_paper(common: &Common, args: &MineArgs) -> Answer {
    if args.probes.is_some() {
        let what = "--probes is for our miner: that of the paper fetches what --n says";
        return Err(Failed::with(Exit::Usage, what));
    }
    args.fetch.check()?;
    super::check_writable(args.rules.as_deref())?;
    let config = common.load(&[])?.config;
    let logs = logs::read(&args.log, &args.files, None)?;
    logs.report(common.quiet)?;
    let list = |file: &Option<PathBuf>| -> Result<Option<Vec<paper::Record>>, Failed> {
        let Some(file) = file else { return Ok(None) };
        let logs = logs::read(&args.log, std::slice::from_ref(file), None)?;
        logs.report(common.quiet)?;
        Ok(Some(logs.collected.records))
    };
    let settings = args.constants.settings();
    let rounds = settings.rounds_max;
    let mine = paper::MineArgs {
        train: logs.collected.records,
        valid: list(&args.valid)?,
        canon: list(&args.canon)?,
        split_sites: logs.mixed,
        settings,
        json: common.json,
    };
    let mut pages = args.fetch.pages(&config, Texts::new(&config))?;
    if pages.is_none() {
        eprintln!("stopped before validation: there is no way to fetch pages; see --fetch");
    }
    let mut out = io::BufWriter::new(crate::cli::terminal::Stdout);
    let fetcher = pages.as_mut().map(|pages| pages as &mut dyn paper::Fetcher);
    let valid = run_mine(mine, fetcher, &mut out)?;
    out.flush()?;
    let asked = pages.map(|pages| pages.asked).unwrap_or_default();
    asked.check()?;
    if let Some(file) = &args.rules {
        let sites = valid.into_iter().map(|(site, rules)| PaperSite { site, rules }).collect();
        let rules = PaperFile { paper: 1, rounds, sites };
        super::write(file, &serde_json::to_vec_pretty(&rules)?)?;
    }
    tell(&asked);
    Ok(Exit::Complete)
}

/// Says what could not be fetched, if there is something.
fn tell(asked: &Asked) {
    if let Some(line) = asked.line() {
        eprintln!("{line}");
    }
}

fn ours(common: &Common, args: &MineArgs) -> Answer {
    if args.valid.is_some() {
        let what = "--valid is for --mode paper: our miner proves rules on the log itself";
        return Err(Failed::with(Exit::Usage, what));
    }
    if args.constants.are_given() {
        let what = "the constants of the paper are for --mode paper: our miner has --set dust.";
        return Err(Failed::with(Exit::Usage, what));
    }
    args.fetch.check()?;
    super::check_writable(args.rules.as_deref())?;
    let config = common.load(&[])?.config;
    let mut texts = Texts::new(&config);
    let logs = logs::read(&args.log, &args.files, Some(&mut texts))?;
    logs.report(common.quiet)?;
    let observations = logs.into_observations()?;
    let untold = observations.iter().filter(|seen| seen.tells_nothing()).count() as u64;
    if untold > 0 && !common.quiet {
        eprintln!("{} URLs tell nothing of their text: rules are found by others", number(untold));
    }
    let mut pages = args.fetch.pages(&config, texts)?;
    match &mut pages {
        Some(pages) => pages.learn_sites(&observations),
        None => eprintln!("nothing is proved: there is no way to fetch pages; see --fetch"),
    }
    let urls = observations.len();
    let fetcher = pages.as_mut().map(|pages| pages as &mut dyn Fetcher);
    let mut settings = config.dust.book();
    if let Some(share) = args.probes {
        settings.validate.probe_share_max = share;
        settings.validate.probes_on_request = 0;
    }
    let report = learn(observations, fetcher, settings, super::now())?;
    let (requests, asked) = pages.map(|pages| (pages.requests, pages.asked)).unwrap_or_default();
    asked.check()?;
    if let Some(file) = &args.rules {
        super::write(file, &serde_json::to_vec_pretty(&report.book.export())?)?;
    }
    let canonical = canonical(args, &report)?;
    if common.json {
        let rules: Vec<Value> = report.rules.iter().map(row).collect::<Result<_, _>>()?;
        let mut object = json!({
            "urls": urls,
            "rules": rules,
            "enforced": report.enforced().count(),
            "probes": report.probes,
            "requests": requests,
            "events": report.events,
        });
        if let (Some(map), Some(canonical)) = (object.as_object_mut(), canonical) {
            let canonical = canonical.into_iter().map(|(url, key)| (url, Value::String(key)));
            map.insert("canonical".to_owned(), Value::Object(canonical.collect()));
        }
        println!("{object}");
        tell(&asked);
        return Ok(Exit::Complete);
    }
    let mut out = io::BufWriter::new(crate::cli::terminal::Stdout);
    let mut shown: Vec<_> = report.rules.iter().collect();
    shown.sort_by_key(|rule| rule.state != RuleState::Enforced);
    write!(out, "{}", table(&shown, None))?;
    writeln!(
        out,
        "{} URLs, {} rules found, {} proved; {} probes, {} requests",
        number(urls as u64),
        number(report.rules.len() as u64),
        number(report.enforced().count() as u64),
        number(report.probes),
        number(requests)
    )?;
    for (url, key) in canonical.into_iter().flatten().filter(|(url, key)| url != key) {
        writeln!(out, "{url}\t{key}")?;
    }
    out.flush()?;
    tell(&asked);
    Ok(Exit::Complete)
}

/// Returns the canonical form of every URL of `--canon`.
fn canonical(args: &MineArgs, report: &Report) -> Result<Option<Vec<(String, String)>>, Failed> {
    let Some(file) = &args.canon else { return Ok(None) };
    let logs = logs::read(&args.log, std::slice::from_ref(file), None)?;
    logs.report(true)?;
    let set = report.book.rule_set()?;
    let forms = logs.collected.records.into_iter().map(|record| {
        let key = CrawlUrl::parse(&record.url).map(|url| set.canonize(&url).key.to_string());
        let key = key.unwrap_or_else(|_| record.url.clone());
        (record.url, key)
    });
    Ok(Some(forms.collect()))
}
