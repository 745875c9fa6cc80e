//! The command line: one file per command, one definition of every flag.
//!
//! Data goes to standard output, talk to standard error; every command takes `--json`. Only this
//! module names `clap` and `anyhow`. It decides nothing: commands read, call and print.

#[macro_use]
mod terminal;

mod audit;
mod config;
mod ctl;
mod demo;
mod diff;
mod dns;
mod doctor;
mod dups;
mod dust;
mod exit;
mod explain;
mod export;
mod failed;
mod fetch;

mod identity;
mod init;
mod look;
mod machine;
mod manual;
mod output;
mod plan;
mod progress;
mod report;
mod robots;
mod run;
mod session;
mod sketch;
mod speech;
mod status;
mod top;
mod verify;
mod wire;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};

use crate::config::{self as configuration, ConfigError, Loaded, Override, Source};

pub use exit::Exit;

/// A polite web crawler that learns which URLs lead to the same text.
#[derive(Debug, Parser)]
#[command(name = "crawler", version, about, max_term_width = 100, after_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  crawler demo                                                  a small web of its own, no internet
  crawler run --seeds seeds.txt --contact mailto:you@example.org    crawl; again: go on
  crawler config show --effective                               every value and where it is from
  crawler report                                                the crawl as one page
  crawler audit                                                 prove that nobody was hurried

Exit codes: 0 complete, 1 internal, 2 usage, 3 nothing found, 4 too many failures, 5 refused
by the running crawl, 10 limit, 11 interrupted, 12 disk full, 13 only parked hosts left, 20 check failed, 75 locked, 78 configuration";

/// Reads a path, also an empty one, as of a variable that is set to nothing.
fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// Flags that every command takes.
#[derive(Clone, Debug, Args)]
struct Common {
    /// Configuration file; without it `crawler.toml` is read if it is there
    #[arg(long, short, global = true, value_name = "FILE", env = "CRAWLER_CONFIG",
        value_parser = path())]
    config: Option<PathBuf>,
    /// Directory of the crawl
    #[arg(long, global = true, value_name = "DIR", env = "CRAWLER_DIR", value_parser = path())]
    dir: Option<PathBuf>,
    /// Where site owners can reach you: `mailto:` address or URL
    #[arg(long, global = true, value_name = "CONTACT", env = "CRAWLER_CONTACT")]
    contact: Option<String>,
    /// Override any key: `--set politeness.min_delay=2s`
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Answer with JSON on standard output
    #[arg(long, global = true)]
    json: bool,
    /// Say only what went wrong
    #[arg(long, short, global = true)]
    quiet: bool,
    /// What the program says of itself: error, warn, info, debug or trace, also per module
    #[arg(long, global = true, value_name = "LEVEL", default_value = "warn", env = "CRAWLER_LOG")]
    log_level: String,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Crawl, or go on with the crawl in the directory
    Run(run::RunArgs),
    /// Crawl a small web of its own on loopback: no internet needed
    Demo(demo::DemoArgs),
    /// Check or show the configuration
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Show how far the crawl is
    Status,
    /// Steer the crawl: pause, slow a host, exclude, budgets, rules, log level
    Ctl(ctl::CtlArgs),
    /// Watch the running crawl full-screen, and steer it
    Top(top::TopArgs),
    /// Write the crawl as one page: what was found, kept and left out, and why
    Report(report::ReportArgs),
    /// Prove from the crawl log that no host was asked too early
    Audit(audit::AuditArgs),
    /// Rules by which different URLs lead to the same text: mine, apply, list, change, exchange
    #[command(subcommand)]
    Dust(dust::DustCommand),
    /// Say why a URL is where it is: gates, rules, robots.txt, queue, archive
    Explain(explain::ExplainArgs),
    /// Show what a robots.txt says to us, and by which line
    Robots(robots::RobotsArgs),
    /// Show what a name resolves to, now and before
    Dns(dns::DnsArgs),
    /// Fetch one page and show every decision; nothing is stored
    Fetch(fetch::FetchArgs),
    /// Show what a crawl of these seeds would do, from robots.txt and sitemaps alone
    Plan(plan::PlanArgs),
    /// Check state, counters, archive and indexes against each other
    Verify(verify::VerifyArgs),
    /// Mend what a crash left in the archive: torn tails, open files, indexes
    Repair(verify::RepairArgs),
    /// Write the archive, or a part of it, as WARC, WACZ, CDXJ, JSONL, Parquet or plain text
    Export(export::ExportArgs),
    /// Show what the crawl has twice: exactly, nearly, by clusters, by host; compare two pages
    Dups(dups::DupsArgs),
    /// Compare two crawls: what was added, changed, moved, redirected, gone
    Diff(diff::DiffArgs),
    /// Show what a page is known by, or how alike two pages are
    Sketch(sketch::SketchArgs),
    /// Write a configuration from a few answers
    Init(init::InitArgs),
    /// Write or show who this crawler is, for site owners and for servers that ask
    #[command(subcommand)]
    Identity(identity::IdentityCommand),
    /// Examine this machine and this configuration
    Doctor(doctor::DoctorArgs),
    /// Write completions for a shell
    Completions(manual::CompletionsArgs),
    /// Write the manual page
    Man(manual::ManArgs),
}

/// A failure with the exit code that belongs to it.
#[derive(Debug)]
pub(crate) struct Failed {
    exit: Exit,
    /// What to print.
    line: String,
}

impl<E: Into<anyhow::Error>> From<E> for Failed {
    fn from(error: E) -> Self {
        let error = error.into();
        Failed { exit: exit_of(&error), line: failed::line(&error) }
    }
}

fn exit_of(error: &anyhow::Error) -> Exit {
    use crate::archive::ArchiveError;
    use crate::crawl::CrawlError;
    use crate::dataset::DatasetError;
    use crate::db::DbError;
    // A client that cannot be built names what was configured for it.
    if error.is::<ConfigError>() || error.is::<crate::fetch::FetchError>() {
        return Exit::Config;
    }
    let full = error.downcast_ref::<CrawlError>().is_some_and(CrawlError::is_full)
        || error.downcast_ref::<ArchiveError>().is_some_and(ArchiveError::is_full)
        || error.downcast_ref::<DatasetError>().is_some_and(DatasetError::is_full);
    let db = error.downcast_ref::<DbError>().or_else(|| match error.downcast_ref::<CrawlError>() {
        Some(CrawlError::Db(db)) => Some(db),
        _ => None,
    });
    let in_use = error.downcast_ref::<ArchiveError>().is_some_and(ArchiveError::is_in_use);
    match db {
        Some(DbError::Locked { .. }) => Exit::Locked,
        _ if in_use => Exit::Locked,
        Some(DbError::Missing(_)) => Exit::Nothing,
        Some(DbError::Full) => Exit::Disk,
        _ if full => Exit::Disk,
        _ => Exit::Internal,
    }
}

impl Failed {
    /// Returns a failure with an exit code of its own.
    pub(crate) fn with(exit: Exit, message: impl std::fmt::Display) -> Self {
        Failed { exit, line: message.to_string() }
    }
}

type Answer = Result<Exit, Failed>;

/// Runs the program.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, everything else is a wrong command line.
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Complete };
            let _ = error.print();
            return exit.into();
        }
    };
    if let Err(failed) = speech::begin(&cli.common.log_level) {
        eprintln!("error: {}", failed.line);
        return failed.exit.into();
    }
    terminal::ended(dispatch(cli)).into()
}

fn dispatch(cli: Cli) -> Answer {
    let common = cli.common.with_values()?;
    match cli.command {
        Command::Run(args) => run::run(&common, &args),
        Command::Demo(args) => demo::demo(&common, &args),
        Command::Config(command) => config::config(&common, &command),
        Command::Status => status::status(&common),
        Command::Ctl(args) => ctl::ctl(&common, &args),
        Command::Top(args) => top::top(&common, &args),
        Command::Report(args) => report::report(&common, &args),
        Command::Audit(args) => audit::audit(&common, &args),
        Command::Dups(args) => dups::dups(&common, &args),
        Command::Diff(args) => diff::diff(&common, &args),
        Command::Sketch(args) => sketch::sketch(&common, &args),
        Command::Dust(command) => dust::dust(&common, &command),
        Command::Explain(args) => explain::explain(&common, &args),
        Command::Robots(args) => robots::robots(&common, &args),
        Command::Dns(args) => dns::dns(&common, &args),
        Command::Fetch(args) => fetch::fetch(&common, &args),
        Command::Plan(args) => plan::plan(&common, &args),
        Command::Verify(args) => verify::verify(&common, &args),
        Command::Repair(args) => verify::repair(&common, &args),
        Command::Export(args) => export::export(&common, &args),
        Command::Identity(command) => identity::identity(&common, &command),
        Command::Init(args) => init::init(&common, &args),
        Command::Doctor(args) => doctor::doctor(&common, &args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&common, &args),
    }
}

impl Common {
    /// Takes a variable that is set to nothing for one that is not set. A flag without a value is
    /// refused: what a script meant by it is not known.
    fn with_values(mut self) -> Result<Common, Failed> {
        let paths = [
            (&mut self.config, "--config", "CRAWLER_CONFIG"),
            (&mut self.dir, "--dir", "CRAWLER_DIR"),
        ];
        for (path, flag, variable) in paths {
            if path.as_ref().is_some_and(|path| path.as_os_str().is_empty()) {
                if std::env::var_os(variable).is_none_or(|value| !value.is_empty()) {
                    return Err(Failed::with(Exit::Usage, format!("{flag} is given no value")));
                }
                *path = None;
            }
        }
        self.contact = self.contact.filter(|contact| !contact.is_empty());
        Ok(self)
    }

    /// Loads the configuration that file, environment and flags make together.
    fn load(&self, more: &[Override]) -> Result<Loaded, Failed> {
        let default = PathBuf::from("crawler.toml");
        let file = self.config.clone().or_else(|| default.exists().then_some(default));
        let mut overrides = Vec::new();
        let from = |key: &str, variable: &str, value: String| {
            let set = std::env::var(variable).is_ok_and(|found| found == value);
            let source = if set { Source::Environment } else { Source::Flag };
            Override { key: key.to_owned(), value: quoted(&value), source }
        };
        if let Some(dir) = &self.dir {
            let dir = text_of("the directory of the crawl (--dir, CRAWLER_DIR)", dir)?;
            overrides.push(from("dir", "CRAWLER_DIR", dir.to_owned()));
        }
        if let Some(contact) = &self.contact {
            overrides.push(from("contact", "CRAWLER_CONTACT", contact.clone()));
        }
        for set in &self.set {
            let Some((key, value)) = set.split_once('=') else {
                return Err(Failed::with(Exit::Usage, format!("--set {set}: write KEY=VALUE")));
            };
            let (key, value) = (key.trim().to_owned(), value.trim().to_owned());
            overrides.push(Override { key, value, source: Source::Flag });
        }
        overrides.extend(more.iter().cloned());
        Ok(configuration::load(file.as_deref(), &overrides)?)
    }
}

/// Returns a path as the text that a configuration holds for it; `what` it is begins the message.
/// One that is not UTF-8 is refused, for whatever text stood for it would name another file.
fn text_of<'p>(what: &str, path: &'p Path) -> Result<&'p str, Failed> {
    path.to_str().ok_or_else(|| {
        let shown = path.as_os_str().as_encoded_bytes().escape_ascii();
        let why = "its name is not UTF-8, and a configuration can hold no other";
        let next = "rename it, or name a link to it";
        Failed::with(Exit::Config, format!("{what} `{shown}`: {why}; {next}"))
    })
}

/// Returns a text as a TOML string.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
