//! The flags of `crawler ctl`, and the orders that they make.

use clap::{Args, Subcommand};

use crate::clock::{ByteSize, Span};
use crate::crawl::steer::{Budget, Order};

const EXAMPLES: &str = "\
Examples:
  crawler ctl pause                                  no more requests; also after a restart
  crawler ctl resume
  crawler ctl delay slow.example.org 10s             at least 10 s between two requests
  crawler ctl delay slow.example.org default         as the configuration says
  crawler ctl exclude add .ads.example --preview     how many waiting URLs it would drop
  crawler ctl exclude add 'regex:[?&]replytocom='    drop them
  crawler ctl exclude remove .ads.example            bring them back
  crawler ctl budget --total-pages 100000 --time none
  crawler ctl rules off 3f2a                         the beginning of an id is enough
  crawler ctl forgive parked.example.org             crawl it again
  crawler ctl log debug
  crawler ctl status --json

Every order is a line of log/control.jsonl in the directory of the crawl (--dir), and what it
changed holds after a restart.

Exit codes: 0 done, 1 the crawl does not answer, 2 wrong order, 3 no crawl runs here, or no such
host, rule or exclusion, 5 it cannot be done now, 75 another process has the state open";

/// Flags of `ctl`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct CtlArgs {
    #[command(subcommand)]
    pub(super) order: CtlCommand,
}

/// Subcommands of `ctl`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum CtlCommand {
    /// Make no more requests until it is resumed
    Pause,
    /// Make requests again
    Resume,
    /// End when what is in flight is done; `crawler run` goes on
    Stop,
    /// End at once; `crawler run` goes on
    Abort,
    /// Set the least rest between two requests of a host
    Delay {
        /// Host name
        host: String,
        /// As `250ms`, `10s`, `5m`; `default` for what the configuration says
        #[arg(value_name = "SPAN")]
        delay: String,
    },
    /// Add or take back exclusions
    #[command(subcommand)]
    Exclude(ExcludeCommand),
    /// Change budgets, or show them; `none` for no limit
    Budget(BudgetArgs),
    /// Apply learned rules, or stop applying them: all, or one
    Rules {
        /// `on` or `off`
        #[arg(value_parser = ["on", "off"])]
        state: String,
        /// Id of a rule, or its beginning; `crawler dust rules` lists them
        id: Option<String>,
    },
    /// Open a host that is parked or given up, with what was refused or failed meanwhile
    Forgive {
        /// Host name
        host: String,
    },
    /// Change what the running program says of itself
    Log {
        /// error, warn, info, debug, trace or off, also per module
        level: String,
    },
    /// Show how the running crawl stands
    Status,
}

/// Subcommands of `ctl exclude`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ExcludeCommand {
    /// Refuse what matches, and drop what waits
    Add {
        /// Host, `.domain`, URL prefix or `regex:…`, as in `scope.exclude`
        pattern: String,
        /// Change nothing: tell how many waiting URLs it would drop
        #[arg(long)]
        preview: bool,
    },
    /// Take an exclusion back, and bring back what it refused
    Remove {
        /// The pattern, as it was added or configured
        pattern: String,
    },
}

/// Flags of `ctl budget`.
#[derive(Args, Debug)]
pub(in crate::cli) struct BudgetArgs {
    /// Pages in all
    #[arg(long, value_name = "N", value_parser = pages)]
    total_pages: Option<u64>,
    /// Bytes in all, as `10GB`
    #[arg(long, value_name = "SIZE", value_parser = size)]
    total_bytes: Option<ByteSize>,
    /// Pages of each host
    #[arg(long, value_name = "N", value_parser = pages)]
    host_pages: Option<u64>,
    /// Bytes of each host
    #[arg(long, value_name = "SIZE", value_parser = size)]
    host_bytes: Option<ByteSize>,
    /// Time of one run, as `6h`
    #[arg(long, value_name = "SPAN", value_parser = span)]
    time: Option<Span>,
}

fn pages(text: &str) -> Result<u64, String> {
    if text == "none" {
        return Ok(0);
    }
    text.replace([',', '_'], "").parse().map_err(|_| "write a number, or `none`".to_owned())
}

fn size(text: &str) -> Result<ByteSize, String> {
    if text == "none" { Ok(ByteSize(0)) } else { text.parse() }
}

fn span(text: &str) -> Result<Span, String> {
    if text == "none" { Ok(Span::secs(0)) } else { text.parse() }
}

impl CtlCommand {
    /// Returns the order; none for the question how the crawl stands.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub(super) fn order(&self) -> Result<Option<Order>, String> {
        Ok(Some(match self {
            CtlCommand::Status => return Ok(None),
            CtlCommand::Pause => Order::Pause,
            CtlCommand::Resume => Order::Resume,
            CtlCommand::Stop => Order::Stop,
            CtlCommand::Abort => Order::Abort,
            CtlCommand::Delay { host, delay } => {
                let delay = match delay.as_str() {
                    "default" => None,
                    span => Some(span.parse()?),
                };
                Order::Delay { host: host.clone(), delay }
            }
            CtlCommand::Exclude(ExcludeCommand::Add { pattern, preview }) => {
                Order::Exclude { pattern: pattern.clone(), preview: *preview }
            }
            CtlCommand::Exclude(ExcludeCommand::Remove { pattern }) => {
                Order::Include { pattern: pattern.clone() }
            }
            CtlCommand::Budget(args) => Order::Budget(Budget {
                total_pages: args.total_pages,
                total_bytes: args.total_bytes,
                host_pages: args.host_pages,
                host_bytes: args.host_bytes,
                time: args.time,
            }),
            CtlCommand::Rules { state, id } => Order::Rules { on: state == "on", id: id.clone() },
            CtlCommand::Forgive { host } => Order::Forgive { host: host.clone() },
            CtlCommand::Log { level } => Order::Log { level: level.clone() },
        }))
    }
}
