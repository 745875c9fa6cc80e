//! What the page is told once a second, as JSON: made once, whoever is looking.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use crate::crawl::{Brake, FETCH_BOUNDS_MS, MARGIN_BOUNDS_MS, REST_REASONS, Snapshot};
use crate::fetch::Failure;

/// Failures of which the page shows the URL.
const FAULTS_MAX: usize = 10;

/// Three texts that a stream sends; the last two only when they have changed.
#[derive(Clone, Debug)]
pub(super) struct Published {
    /// Everything but hosts and rules.
    pub(super) view: Arc<str>,
    /// Hosts with a back queue.
    pub(super) hosts: Arc<str>,
    /// The rule book.
    pub(super) rules: Arc<str>,
}

impl Published {
    /// Writes a snapshot down, keeping what has not changed since `before`.
    pub(super) fn of(snapshot: &Snapshot, before: Option<&Published>) -> Published {
        let keep = |text: String, old: Option<&Arc<str>>| match old {
            Some(old) if **old == *text => old.clone(),
            _ => Arc::from(text),
        };
        Published {
            view: Arc::from(view(snapshot).to_string()),
            hosts: keep(to_json(&snapshot.view.hosts), before.map(|before| &before.hosts)),
            rules: keep(to_json(&snapshot.view.dust), before.map(|before| &before.rules)),
        }
    }
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Returns a snapshot without its long lists, with what follows from it.
pub(super) fn view(snapshot: &Snapshot) -> Value {
    let mut view = serde_json::to_value(snapshot).unwrap_or_default();
    if let Some(fields) = view.as_object_mut() {
        fields.remove("view");
        let (now, why) = why(snapshot);
        fields.insert("why".to_owned(), json!({ "now": now, "then": why }));
        let latest: Vec<_> = snapshot.view.faults.iter().take(FAULTS_MAX).collect();
        fields.insert("faults".to_owned(), json!(latest));
        fields.insert("clusters".to_owned(), json!(snapshot.view.clusters));
        fields.insert("outcomes".to_owned(), outcomes(snapshot));
        let bounds = json!({
            "fetch_ms": FETCH_BOUNDS_MS,
            "margin_ms": MARGIN_BOUNDS_MS,
            "rests": REST_REASONS,
        });
        fields.insert("bounds".to_owned(), bounds);
    }
    view
}

/// Sorts reasons into errors and decisions; statuses have a table of their own.
fn outcomes(snapshot: &Snapshot) -> Value {
    let codes = snapshot.view.reasons.iter().filter(|(code, _)| !code.starts_with("status-"));
    let (errors, decisions): (Vec<_>, Vec<_>) = codes.partition(|(code, _)| is_error(code));
    json!({ "errors": errors, "decisions": decisions })
}

fn is_error(code: &str) -> bool {
    let failure = serde_json::from_value::<Failure>(Value::from(code));
    failure.is_ok() || matches!(code, "host-given-up" | "busy" | "retry")
}

/// Says why the crawl is not faster, and what would change that.
fn why(snapshot: &Snapshot) -> (String, String) {
    let pair = |now: String, then: &str| (now, then.to_owned());
    if let Some(ended) = snapshot.ended {
        let then = "The same command goes on from here, if anything is left.";
        return pair(format!("The crawl has ended: {}.", ended.word()), then);
    }
    match &snapshot.brake {
        Brake::Exhausted => {
            pair("Nothing is queued.".to_owned(), "What is in flight is being finished.")
        }
        Brake::Paused => pair("It is paused.".to_owned(), "Resume it, and it goes on at once."),
        Brake::Disk { free, reserve } => pair(
            format!(
                "The disk has {} MB free; {} MB are reserved.",
                free / 1_000_000,
                reserve / 1_000_000
            ),
            "It goes on by itself when there is room again; limits.disk_reserve sets the reserve.",
        ),
        Brake::InFlight { max } => pair(
            format!("{max} fetches are in flight, the most allowed."),
            "frontier.in_flight_max may be raised, if network and memory bear it.",
        ),
        Brake::Politeness { resting } => pair(
            format!("All {resting} hosts with waiting URLs are resting."),
            "That is politeness, not a fault. More hosts would make the crawl faster; shorter \
             rests would only make it ruder.",
        ),
        Brake::BackQueues { waiting, max } => pair(
            format!("{waiting} hosts wait for one of {max} back queues."),
            "frontier.back_queues may be raised, at the price of memory.",
        ),
        Brake::Nothing => {
            pair("Nothing holds it back.".to_owned(), "It goes as fast as answers come.")
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::crawl::view::{
        ClusterLine, DustView, FaultLine, HostLine, HostState, RuleLine, View,
    };
    use crate::crawl::{Ended, Remaining, Slowest, Tally};
    use crate::db::families::meta::{Counters, QueueShape};
    use crate::dust::{Evidence, RuleState, Source};

    /// A crawl in its middle, with names that try to be markup.
    pub(in crate::dashboard) fn snapshot() -> Snapshot {
        let hostile = "<img src=x onerror=alert(1)>.example";
        let mut shape = QueueShape::default();
        (0..20u16).for_each(|hops| shape.add(hops, (hops % 8) as u8));
        let mut tally = Tally { margin_min_ms: Some(3), near_duplicates: 2, ..Tally::default() };
        tally.fetch.counts[3] = 40;
        tally.margin.counts[0] = 39;
        tally.rests[0] = 38;
        tally.rests[5] = 2;
        let counters = Counters {
            discovered: 100,
            queued: 19,
            in_flight: 1,
            done: 40,
            known: 30,
            refused: 7,
            failed: 3,
            suppressed: 12,
            requests: 55,
            robots_requests: 5,
            probe_requests: 4,
            bytes: 123_456,
            duplicates: 6,
            junk: 1,
            by_class: [0, 36, 2, 9, 2, 0],
            retries: 2,
        };
        Snapshot {
            at: Timestamp::from_millis(1_700_000_060_000),
            began: Timestamp::from_millis(1_700_000_000_000),
            counters,
            hosts_active: 2,
            hosts_ready: 1,
            hosts_waiting: [0, 3, 0, 0, 0, 0, 0, 1],
            in_flight: 1,
            rate: 1.5,
            bytes_rate: 2048.0,
            brake: Brake::Politeness { resting: 2 },
            slowest: Some(Slowest { host: hostile.to_owned(), backlog: 10, gap_ms: 1_000 }),
            remaining: Remaining { floor_ms: 10_000, ceiling_ms: Some(60_000) },
            rules_version: 2,
            rules: 1,
            disk_free: Some(5_000_000_000),
            disk_reserve: 1_000_000_000,
            hosts_known: 9,
            shape,
            tally,
            ended: None,
            view: View {
                hosts: vec![HostLine {
                    name: hostile.to_owned(),
                    state: HostState::BackingOff,
                    backlog: 10,
                    done: 30,
                    ..HostLine::default()
                }],
                reasons: [("status-200", 36), ("timeout", 2), ("out-of-scope", 7)]
                    .map(|(code, count)| (code.to_owned(), count))
                    .to_vec(),
                faults: vec![FaultLine {
                    at: Timestamp::from_millis(1_700_000_059_000),
                    url: "http://host.example/<b>".to_owned(),
                    what: "status 404".to_owned(),
                }],
                clusters: vec![ClusterLine {
                    pages: 3,
                    url: "http://host.example/<i>".to_owned(),
                    newest: "http://host.example/2".to_owned(),
                }],
                dust: DustView {
                    learns: true,
                    enforces: true,
                    by_state: [1, 1, 1, 0, 0],
                    probes: 4,
                    rules: vec![RuleLine {
                        id: "00000000000000ab".to_owned(),
                        site: "example".to_owned(),
                        text: "drop <script>alert(2)</script>".to_owned(),
                        state: RuleState::Enforced,
                        source: Some(Source::Mined),
                        evidence: Evidence { suppressed: 12, ..Evidence::default() },
                        changed: Timestamp::from_millis(1_700_000_030_000),
                        ..RuleLine::default()
                    }],
                    ..DustView::default()
                },
                ..View::default()
            },
        }
    }

    #[test]
    fn a_view_has_what_the_page_reads_and_no_long_list() {
        let view = view(&snapshot());
        assert!(view.get("view").is_none());
        assert_eq!(view["counters"]["done"], 40);
        assert_eq!(view["remaining"]["floor_ms"], 10_000);
        assert!(view["remaining"]["ceiling_ms"].as_u64().unwrap() >= 10_000);
        assert_eq!(view["tally"]["rests"].as_array().unwrap().len(), REST_REASONS.len());
        let bounds = view["bounds"]["fetch_ms"].as_array().unwrap().len();
        assert_eq!(view["tally"]["fetch"]["counts"].as_array().unwrap().len(), bounds + 1);
        assert_eq!(view["outcomes"]["errors"], json!([["timeout", 2]]));
        assert_eq!(view["outcomes"]["decisions"], json!([["out-of-scope", 7]]));
        assert_eq!(view["faults"][0]["what"], "status 404");
        assert_eq!(view["clusters"][0]["pages"], 3);
        assert_eq!(view["why"]["now"], "All 2 hosts with waiting URLs are resting.");
    }

    #[test]
    fn unchanged_lists_are_not_sent_again() {
        let first = Published::of(&snapshot(), None);
        let second = Published::of(&snapshot(), Some(&first));
        assert!(Arc::ptr_eq(&first.hosts, &second.hosts));
        assert!(Arc::ptr_eq(&first.rules, &second.rules));
        let mut fewer = snapshot();
        fewer.view.hosts.clear();
        let third = Published::of(&fewer, Some(&second));
        assert!(!Arc::ptr_eq(&second.hosts, &third.hosts));
    }

    #[test]
    fn every_brake_is_said_in_words() {
        let brakes = [
            Brake::Exhausted,
            Brake::Paused,
            Brake::Disk { free: 1, reserve: 2 },
            Brake::InFlight { max: 3 },
            Brake::Politeness { resting: 4 },
            Brake::BackQueues { waiting: 5, max: 6 },
            Brake::Nothing,
        ];
        for brake in brakes {
            let (now, then) = why(&Snapshot { brake, ..snapshot() });
            assert!(now.ends_with('.') && then.ends_with('.'), "{now} {then}");
        }
        let ended = Snapshot { ended: Some(Ended::Complete), ..snapshot() };
        assert_eq!(why(&ended).0, "The crawl has ended: complete.");
    }
}
