//! Puts a report together from what the log and the state say.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::log::LogFacts;
use super::redirects::Chain;
use super::state::{StateFacts, end_of};
use super::{CSV_ROWS_MAX, Figure, Report, Section, safe};
use super::{content, hosts_part as hosts, inlinks, overview, plot};
use crate::clock::Timestamp;
use crate::content::near::NearSettings;
use crate::crawl::inlinks::Inlinks;
use crate::db::{Db, DbError};
use crate::dust::{self, RuleEvent};

/// Events in the lives of rules that are kept, the latest.
const EVENTS_MAX: usize = CSV_ROWS_MAX;

/// Bytes of the end of the rules' log that are read: some ten thousand events.
const EVENTS_BYTES_MAX: u64 = 8 << 20;

/// One setting of the crawl.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Its key, as in the configuration file.
    pub key: String,
    /// Its value.
    pub value: String,
    /// What it would be if nobody had set it.
    pub default: String,
}

impl Setting {
    /// Returns true where somebody set it to something else.
    pub fn is_changed(&self) -> bool {
        self.value != self.default
    }

    /// Returns the setting without what must not be passed on.
    pub fn without_credentials(mut self) -> Setting {
        self.value = safe::setting(&self.key, &self.value);
        self
    }
}

/// What a report is made from.
#[derive(Debug)]
pub struct Input<'a> {
    /// The directory of the crawl log.
    pub log: &'a Path,
    /// The state, open for reading.
    pub db: &'a Db,
    /// How near-duplicates are told.
    pub near: &'a NearSettings,
    /// Settings of the rule book.
    pub dust: dust::Settings,
    /// Rules are proved and none is applied.
    pub only_suggests: bool,
    /// The pages that lead to broken links, where they were looked for.
    pub inlinks: Option<&'a Inlinks>,
    /// The configuration.
    pub settings: Vec<Setting>,
    /// Names and versions of what was used.
    pub versions: Vec<(String, String)>,
    /// Name of the crawler.
    pub name: String,
    /// Its contact.
    pub contact: String,
    /// True while the crawl runs.
    pub is_running: bool,
    /// The time.
    pub now: Timestamp,
}

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The log cannot be read.
    #[error("read {}: {why}; see that the file is there and may be read", file.display())]
    Log {
        /// The file.
        file: PathBuf,
        /// What the system says.
        why: std::io::Error,
    },
    /// The state cannot be read.
    #[error(transparent)]
    Db(#[from] DbError),
}

/// All that was read.
pub(super) struct Facts<'a> {
    pub(super) input: &'a Input<'a>,
    pub(super) log: LogFacts,
    pub(super) state: StateFacts,
    /// The pages that lead to broken links, where any page could be looked into.
    pub(super) inlinks: Option<&'a Inlinks>,
    pub(super) events: Vec<RuleEvent>,
    /// The longest redirect chains, with what they came to.
    pub(super) chains: Vec<(Chain, String)>,
    /// How many chains there are of each length.
    pub(super) chain_lengths: BTreeMap<usize, u64>,
}

/// Makes the report of a crawl.
///
/// # Errors
/// Returns which file could not be read; single bad lines are warnings in the report.
pub fn build(input: &Input<'_>) -> Result<Report, ReportError> {
    let log = LogFacts::read(input.log)?;
    let inlinks = input.inlinks.filter(|found| !found.is_blind());
    let mut state = StateFacts::read(input.db, input.near, input.dust.clone(), inlinks)?;
    if input.only_suggests {
        state.count_unsaved(input.db)?;
    }
    let mut chains = log.redirects.chains();
    let mut chain_lengths = BTreeMap::new();
    for chain in &chains {
        *chain_lengths.entry(chain.length()).or_default() += 1;
    }
    chains.truncate(CSV_ROWS_MAX);
    let chains = chains.into_iter().map(|chain| {
        let end = end_of(input.db, &chain)?;
        Ok((chain, end))
    });
    let chains = chains.collect::<Result<Vec<_>, DbError>>()?;
    let mut warnings = log.warnings.clone();
    let events = events(&input.log.join("rules.jsonl"), &mut warnings);
    warnings.extend(input.inlinks.into_iter().flat_map(inlinks::unknown));
    let facts = Facts { input, log, state, inlinks, events, chains, chain_lengths };
    if facts.log.redirects.beyond > 0 {
        let beyond = plot::grouped(facts.log.redirects.beyond);
        warnings.push(format!("{beyond} further redirects are counted but not followed"));
    }
    if facts.log.hosts.beyond > 0 {
        let beyond = plot::grouped(facts.log.hosts.beyond);
        warnings.push(format!("{beyond} requests to further hosts are counted but not told apart"));
    }
    let sections: Vec<Section> = vec![
        overview::funnel(&facts),
        overview::time(&facts),
        overview::answers(&facts),
        overview::errors(&facts),
        overview::depth(&facts),
        hosts::politeness(&facts),
        hosts::refusals(&facts),
        content::duplicates(&facts),
        content::rules(&facts),
        content::redirects(&facts),
        content::junk(&facts),
        hosts::traps(&facts),
        overview::settings(&facts),
    ];
    let time = |ms: u64| Timestamp::from_millis(ms).to_rfc3339();
    let (from, to) = facts.log.span.map_or_else(Default::default, |(a, b)| (time(a), time(b)));
    Ok(Report {
        made: input.now,
        name: input.name.clone(),
        contact: safe::url(&input.contact),
        state: state_of(&facts),
        from,
        to,
        figures: figures(&facts),
        sections,
        warnings,
    })
}

fn state_of(facts: &Facts<'_>) -> String {
    let session = &facts.state.session;
    let runs = match session.runs {
        0 | 1 => String::new(),
        runs => format!(", in {runs} runs"),
    };
    let how = match session.ended.as_str() {
        _ if facts.input.is_running => "running",
        "" => "killed; the same command goes on",
        "complete" => "complete",
        "parked" => "only parked hosts are left",
        "limit" => "stopped by a limit; the same command goes on",
        other => other,
    };
    format!("{how}{runs}")
}

fn figures(facts: &Facts<'_>) -> Vec<Figure> {
    let (counters, answered) = (&facts.state.counters, &facts.state.answered);
    let figure = |name: &str, value: String, note: String, alarm: bool| Figure {
        name: name.to_owned(),
        value,
        note,
        alarm,
    };
    let (early, margin) = facts.log.hosts.verdict();
    let early = early + facts.log.hosts.early_groups;
    let span = facts.log.span.map_or(0, |(from, to)| to.saturating_sub(from));
    let rate = counters.done as f64 / (span as f64 / 1000.0).max(0.001);
    let share = |part: u64| percent(part, answered.all);
    let (done, failed) = (counters.done, counters.failed);
    vec![
        figure(
            "Pages fetched",
            plot::grouped(done),
            format!("{} in {}, {rate:.1} a second", bytes(counters.bytes), span_text(span)),
            false,
        ),
        figure(
            "New text kept",
            plot::grouped(answered.new),
            format!("{} of what was fetched", share(answered.new)),
            false,
        ),
        figure(
            "Known text",
            plot::grouped(answered.duplicates),
            format!("{} of what was fetched", share(answered.duplicates)),
            false,
        ),
        figure(
            "Saved by rules",
            plot::grouped(counters.suppressed),
            format!("{} were spent", content::price(&facts.state.rules)),
            false,
        ),
        figure(
            "Asked too early",
            plot::grouped(early),
            match margin {
                Some(ms) => format!("closest call: {ms} ms after it was allowed"),
                None => "no host was asked twice".to_owned(),
            },
            early > 0,
        ),
        figure(
            "Hosts",
            plot::grouped(facts.state.hosts_total),
            format!("{} parked", plot::grouped(facts.state.hosts_parked)),
            facts.state.hosts_parked > 0,
        ),
        figure(
            "Failed",
            plot::grouped(failed),
            format!("{} of all outcomes", percent(failed, failed + done)),
            failed > done / 10,
        ),
        figure(
            "Waiting",
            plot::grouped(counters.queued + counters.in_flight),
            format!("{} occurrences found in all", plot::grouped(counters.discovered)),
            false,
        ),
    ]
}

/// Reads the latest events in the lives of rules.
fn events(file: &Path, warnings: &mut Vec<String>) -> Vec<RuleEvent> {
    let text = match tail(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            warnings.push(format!("the lives of rules lack: {}: {error}", file.display()));
            return Vec::new();
        }
    };
    let parsed = text.lines().rev().filter_map(|line| serde_json::from_str(line).ok());
    parsed.take(EVENTS_MAX).collect()
}

fn tail(file: &Path) -> std::io::Result<String> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = std::fs::File::open(file)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(EVENTS_BYTES_MAX)))?;
    let mut bytes = Vec::new();
    file.take(EVENTS_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns a share in percent.
pub(super) fn percent(part: u64, all: u64) -> String {
    if all == 0 {
        return "0 %".to_owned();
    }
    let share = 100.0 * part as f64 / all as f64;
    if share > 0.0 && share < 10.0 { format!("{share:.1} %") } else { format!("{share:.0} %") }
}

/// Returns a size in the unit that suits it.
pub(super) fn bytes(n: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let (mut value, mut unit) = (n as f64, 0);
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && value < 100.0);
    format!("{value:.digits$} {}", units[unit])
}

/// Returns a time in its two largest units.
pub(super) fn span_text(ms: u64) -> String {
    let span = Duration::from_millis(ms);
    let secs = span.as_secs();
    let (days, hours, minutes) = (secs / 86_400, secs / 3600 % 24, secs / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) if ms < 1000 => format!("{ms} ms"),
        (0, 0, 0) => format!("{:.1} s", span.as_secs_f64()),
        (0, 0, _) => format!("{minutes} min {} s", secs % 60),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_readable() {
        assert_eq!(percent(1, 3), "33 %");
        assert_eq!(percent(1, 300), "0.3 %");
        assert_eq!(percent(0, 0), "0 %");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(4_100_000), "4.1 MB");
        assert_eq!(span_text(999), "999 ms");
        assert_eq!(span_text(72_000), "1 min 12 s");
        assert_eq!(span_text(90_000_000), "1 d 1 h");
    }
}
