//! What observers see one by one, beside the figures of a [`super::Snapshot`]: hosts, rules,
//! fetches in flight, failures. Every list is as long as a screen needs, and no longer.

use serde::{Deserialize, Serialize};

use super::edge::Store;
use super::run::Crawl;
use super::state::State;
use super::watched::KnownRule;
use crate::clock::Timestamp;
use crate::dns::Resolve;
use crate::dust::{Evidence, RuleId, RuleState, Source};
use crate::fetch::Fetch;
use crate::frontier::{Active, Errand, HostRecord, HostStatus};

/// Hosts with a back queue that are shown: those with the longest backlogs.
pub const HOSTS_MAX: usize = 200;

/// Reasons that are counted apart: all codes, and more statuses than there are.
const REASONS_MAX: usize = 1_000;

/// Clusters of near-duplicates that are shown.
const CLUSTERS_MAX: usize = 8;

/// Fetches, rules and failures that are shown, of each.
const SHOWN_MAX: usize = 64;

/// How a host stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostState {
    /// Nothing of it waits.
    Idle,
    /// One of its URLs is being fetched.
    Fetching,
    /// It may be fetched now.
    #[default]
    Ready,
    /// It rests, as every host does between two requests, or waits for a back queue.
    Waiting,
    /// It rests longer, because it answered 429 or 503, or not at all.
    BackingOff,
    /// It waits for a person.
    Parked,
    /// It is given up.
    GivenUp,
}

/// One host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostLine {
    /// Its name.
    pub name: String,
    /// How it stands.
    pub state: HostState,
    /// URLs that wait.
    pub backlog: u64,
    /// Pages fetched.
    pub done: u64,
    /// Rest after its last fetch, in milliseconds.
    pub gap_ms: u64,
    /// Moving average of its fetches, in milliseconds.
    pub latency_ms: u64,
    /// 429 and 503 answers in all.
    pub busy: u32,
    /// Time until it may be fetched, in milliseconds; 0 for now.
    pub next_ms: u64,
    /// Bytes received.
    pub bytes: u64,
    /// Pages whose text was known before.
    pub duplicates: u64,
    /// Why it is held, where it is.
    pub reason: String,
}

impl HostLine {
    /// Describes a host at `now`; `next` is when it may be fetched.
    pub(super) fn new(record: &HostRecord, next: Timestamp, now: Timestamp) -> HostLine {
        let next_ms = next.since(now).as_millis() as u64;
        let (state, reason) = match &record.status {
            HostStatus::Parked { reason, .. } => (HostState::Parked, reason.clone()),
            HostStatus::GivenUp { reason, .. } => (HostState::GivenUp, reason.clone()),
            HostStatus::Open if record.queued == 0 => (HostState::Idle, String::new()),
            HostStatus::Open if record.pace.is_troubled() => (HostState::BackingOff, String::new()),
            HostStatus::Open if next_ms > 0 => (HostState::Waiting, String::new()),
            HostStatus::Open => (HostState::Ready, String::new()),
        };
        HostLine {
            name: record.name.to_string(),
            state,
            backlog: record.queued,
            done: record.done,
            gap_ms: record.pace.gap_ms,
            latency_ms: record.pace.latency().as_millis() as u64,
            busy: record.pace.busy_total,
            next_ms,
            bytes: record.bytes,
            duplicates: record.duplicates,
            reason,
        }
    }
}

/// One fetch in flight.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FlightLine {
    /// What is fetched.
    pub url: String,
    /// `page`, `robots` or `probe`.
    pub purpose: String,
    /// Since when, in milliseconds.
    pub age_ms: u64,
}

/// One request that brought no page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FaultLine {
    /// When it began.
    pub at: Timestamp,
    /// What was fetched.
    pub url: String,
    /// What came of it.
    pub what: String,
}

/// One rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuleLine {
    /// Its id.
    pub id: String,
    /// Its site.
    pub site: String,
    /// The rule in words.
    pub text: String,
    /// Its state.
    pub state: RuleState,
    /// Distinct documents seen alike under it.
    pub alike: u32,
    /// Distinct documents that it would have merged wrongly.
    pub unlike: u32,
    /// Fetches avoided.
    pub saved: u64,
    /// All that speaks for and against it.
    pub evidence: Evidence,
    /// Where it came from; none until the miner has shown it.
    pub source: Option<Source>,
    /// When its state last changed.
    pub changed: Timestamp,
}

/// What is known of learning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DustView {
    /// Whether anything is learned.
    pub learns: bool,
    /// Whether what is learned is applied.
    pub enforces: bool,
    /// Rules by state: candidate, shadow, enforced, suspended, retired.
    pub by_state: [u64; 5],
    /// Checks of rules in force by this run.
    pub audits: u64,
    /// Probe fetches that rules have cost.
    pub probes: u64,
    /// Rules, in force first, then by what they save.
    pub rules: Vec<RuleLine>,
}

/// Pages with nearly the same text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClusterLine {
    /// How many pages, since the program started.
    pub pages: u64,
    /// The page that others were like first.
    pub url: String,
    /// The page that came last.
    pub newest: String,
}

/// The lists of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct View {
    /// Hosts with a back queue, longest backlog first.
    pub hosts: Vec<HostLine>,
    /// Fetches in flight, oldest first.
    pub flights: Vec<FlightLine>,
    /// Failures, latest first.
    pub faults: Vec<FaultLine>,
    /// Clusters of near-duplicates, the largest first.
    pub clusters: Vec<ClusterLine>,
    /// How often each reason was given, most frequent first.
    pub reasons: Vec<(String, u64)>,
    /// Learning.
    pub dust: DustView,
    /// Orders that are still being carried out.
    pub orders_left: usize,
}

impl<R: Resolve, F: Fetch, S: Store> Crawl<R, F, S> {
    /// Describes what is going on.
    pub(super) fn view(&self, now: Timestamp) -> View {
        let mut flights: Vec<_> = self.flights.values().map(|admitted| &admitted.lease).collect();
        flights.sort_unstable_by_key(|lease| (lease.given, lease.host));
        let flights = flights.into_iter().take(SHOWN_MAX).map(|lease| FlightLine {
            url: lease.waiting.url.to_string(),
            purpose: match lease.waiting.errand {
                Errand::Page => "page",
                Errand::Probe(_) => "probe",
                Errand::Robots { .. } => "robots",
            }
            .to_owned(),
            age_ms: now.since(lease.given).as_millis() as u64,
        });
        View { flights: flights.collect(), ..self.state.view(now) }
    }
}

impl State {
    fn view(&self, now: Timestamp) -> View {
        let mut reasons: Vec<(String, u64)> =
            self.reasons.iter().map(|(reason, count)| (reason.clone(), *count)).collect();
        reasons.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        reasons.truncate(REASONS_MAX);
        let faults = self.seen_of.faults.iter().rev().map(|fault| FaultLine {
            at: fault.at,
            url: fault.url.clone(),
            what: fault.what.clone(),
        });
        View {
            hosts: self.active_hosts(now),
            flights: Vec::new(),
            faults: faults.collect(),
            clusters: self.seen_of.clusters.largest(CLUSTERS_MAX),
            reasons,
            dust: self.dust_view(),
            orders_left: self.changes.orders_left(),
        }
    }

    fn active_hosts(&self, now: Timestamp) -> Vec<HostLine> {
        let mut actives = self.frontier.actives();
        let longest =
            |active: &&Active| (std::cmp::Reverse(active.record.queued), active.record.id);
        if actives.len() > HOSTS_MAX {
            actives.select_nth_unstable_by_key(HOSTS_MAX, longest);
            actives.truncate(HOSTS_MAX);
        }
        actives.sort_unstable_by_key(longest);
        let line = |active: &Active| {
            let next = self.frontier.earliest(&active.record, now);
            let mut line = HostLine::new(&active.record, next, now);
            if active.is_in_flight() {
                (line.state, line.next_ms) = (HostState::Fetching, 0);
            }
            line
        };
        actives.into_iter().map(line).collect()
    }

    fn dust_view(&self) -> DustView {
        let mut by_state = [0; 5];
        for rule in self.seen_of.rules.values() {
            by_state[rule.state as usize] += 1;
        }
        let mut rules: Vec<_> = self.seen_of.rules.iter().collect();
        let order = |rule: &KnownRule| {
            (rule.state != RuleState::Enforced, std::cmp::Reverse(rule.saved), rule.state)
        };
        let by_rank = |row: &(&RuleId, &KnownRule)| (order(row.1), *row.0);
        if rules.len() > SHOWN_MAX {
            rules.select_nth_unstable_by_key(SHOWN_MAX, by_rank);
            rules.truncate(SHOWN_MAX);
        }
        rules.sort_unstable_by_key(by_rank);
        let rules = rules.into_iter().map(|(id, rule)| RuleLine {
            id: id.to_string(),
            site: rule.site.clone(),
            text: rule.text.clone(),
            state: rule.state,
            alike: rule.evidence.documents_same,
            unlike: rule.evidence.documents_different,
            saved: rule.saved,
            evidence: rule.evidence,
            source: rule.source,
            changed: rule.changed,
        });
        DustView {
            learns: self.learner.is_on(),
            enforces: self.enforces && self.learner.is_on(),
            by_state,
            audits: self.seen_of.audits,
            probes: self.seen_of.probes,
            rules: rules.collect(),
        }
    }
}
