//! What every metric is, and where in a snapshot it stands.

use super::metrics::{Kind, Metric, Samples, Value};
use crate::crawl::{Brake, FETCH_BOUNDS_MS, MARGIN_BOUNDS_MS, REST_REASONS, Spread};
use crate::db::families::meta::DEPTHS;

fn one(value: Value) -> Samples {
    vec![(String::new(), value)]
}

fn count(value: u64) -> Samples {
    one(Value::Count(value))
}

fn level(value: u64) -> Samples {
    one(Value::Level(value as f64))
}

fn levels<'l>(pairs: impl IntoIterator<Item = (&'l str, u64)>) -> Samples {
    pairs.into_iter().map(|(label, n)| (label.to_owned(), Value::Level(n as f64))).collect()
}

fn counts<'l>(pairs: impl IntoIterator<Item = (&'l str, u64)>) -> Samples {
    pairs.into_iter().map(|(label, n)| (label.to_owned(), Value::Count(n))).collect()
}

fn spread(spread: &Spread, bounds: &[u64]) -> Samples {
    let upper = bounds.iter().map(|ms| *ms as f64 / 1000.0).chain([f64::MAX]);
    let buckets = upper.zip(spread.counts.iter().copied()).collect();
    one(Value::Spread(spread.sum_ms as f64 / 1000.0, buckets))
}

fn depth_name(depth: usize) -> String {
    if depth + 1 == DEPTHS { format!("{depth}+") } else { depth.to_string() }
}

const RULE_STATES: [&str; 5] = ["candidate", "shadow", "enforced", "suspended", "retired"];

const BRAKES: [&str; 7] =
    ["exhausted", "paused", "disk", "in-flight", "politeness", "back-queues", "nothing"];

fn brake_name(brake: &Brake) -> &'static str {
    match brake {
        Brake::Exhausted => "exhausted",
        Brake::Paused => "paused",
        Brake::Disk { .. } => "disk",
        Brake::InFlight { .. } => "in-flight",
        Brake::Politeness { .. } => "politeness",
        Brake::BackQueues { .. } => "back-queues",
        Brake::Nothing => "nothing",
    }
}

macro_rules! metric {
    ($name:literal, $unit:literal, $kind:ident, $label:literal, $help:literal, $read:expr) => {
        Metric {
            name: $name,
            unit: $unit,
            kind: Kind::$kind,
            label: $label,
            help: $help,
            read: $read,
        }
    };
}

/// Every metric, in the order in which they are written.
pub(super) const METRICS: &[Metric] = &[
    metric!(
        "crawler_build_info",
        "",
        Gauge,
        "version",
        "Always 1; the label says the version",
        |_| { levels([(env!("CARGO_PKG_VERSION"), 1)]) }
    ),
    metric!("crawler_run_began", "seconds", Gauge, "", "When this run began, Unix time", |s| {
        one(Value::Level(s.began.as_millis() as f64 / 1000.0))
    }),
    metric!(
        "crawler_snapshot_at",
        "seconds",
        Gauge,
        "",
        "When the crawl last published these figures, Unix time; older than a few seconds means \
         that its loop stands",
        |s| one(Value::Level(s.at.as_millis() as f64 / 1000.0))
    ),
    metric!(
        "crawler_urls_discovered",
        "",
        Counter,
        "",
        "URL occurrences: seeds, and links after one page's own repeats are dropped",
        |s| count(s.counters.discovered)
    ),
    metric!(
        "crawler_urls",
        "",
        Gauge,
        "state",
        "What became of them; all states together are what was discovered",
        |s| {
            let c = &s.counters;
            levels([
                ("queued", c.queued),
                ("in-flight", c.in_flight),
                ("done", c.done),
                ("known", c.known),
                ("refused", c.refused),
                ("failed", c.failed),
            ])
        }
    ),
    metric!(
        "crawler_urls_saved",
        "",
        Gauge,
        "",
        "URLs that a learned rule keeps from being fetched; fewer after a rule is retracted",
        |s| level(s.counters.suppressed)
    ),
    metric!("crawler_requests", "", Counter, "purpose", "Requests made", |s| {
        let c = &s.counters;
        let pages = c.requests.saturating_sub(c.robots_requests + c.probe_requests);
        counts([("page", pages), ("robots", c.robots_requests), ("probe", c.probe_requests)])
    }),
    metric!("crawler_answers", "", Counter, "class", "Answers by class of their status", |s| {
        let names = ["other", "1xx", "2xx", "3xx", "4xx", "5xx"];
        let by_class = s.counters.by_class;
        // Index 0 is statuses below 100; 600 and more are counted with 5xx.
        counts(names.into_iter().zip(by_class))
    }),
    metric!("crawler_retries", "", Counter, "", "Attempts that failed and were put off", |s| {
        count(s.counters.retries)
    }),
    metric!("crawler_received", "bytes", Counter, "", "Bytes received, before decoding", |s| {
        count(s.counters.bytes)
    }),
    metric!(
        "crawler_reasons",
        "",
        Counter,
        "reason",
        "How often a gate, a failure or a judgement gave each reason; statuses are left out",
        |s| {
            let codes = s.view.reasons.iter().filter(|(code, _)| !code.starts_with("status-"));
            counts(codes.map(|(code, n)| (code.as_str(), *n)))
        }
    ),
    metric!(
        "crawler_duplicates",
        "",
        Counter,
        "kind",
        "Pages that brought nothing new: the same text, nearly the same text, error pages",
        |s| {
            counts([
                ("exact", s.counters.duplicates),
                ("near", s.tally.near_duplicates),
                ("junk", s.counters.junk),
            ])
        }
    ),
    metric!("crawler_fetch_duration", "seconds", Histogram, "", "How long fetches took", |s| {
        spread(&s.tally.fetch, &FETCH_BOUNDS_MS)
    }),
    metric!(
        "crawler_politeness_margin",
        "seconds",
        Histogram,
        "",
        "How much later than its host's rest demanded each request was made",
        |s| spread(&s.tally.margin, &MARGIN_BOUNDS_MS)
    ),
    metric!(
        "crawler_politeness_violations",
        "",
        Counter,
        "",
        "Requests made before their host's rest was over; must stay 0",
        |s| count(s.tally.too_early)
    ),
    metric!(
        "crawler_rests",
        "",
        Counter,
        "reason",
        "Rests of hosts, by what set their length",
        |s| { counts(REST_REASONS.into_iter().zip(s.tally.rests)) }
    ),
    metric!(
        "crawler_hosts",
        "",
        Gauge,
        "state",
        "Hosts that may be asked, that rest, that wait for a back queue, that are parked or given up",
        |s| {
            levels([
                ("ready", s.hosts_ready as u64),
                ("resting", s.hosts_active.saturating_sub(s.hosts_ready) as u64),
                ("waiting", s.hosts_waiting.iter().sum()),
                ("parked", s.tally.hosts_parked),
                ("given-up", s.tally.hosts_given_up),
            ])
        }
    ),
    metric!("crawler_hosts_known", "", Gauge, "", "Hosts that were ever heard of", |s| {
        level(s.hosts_known)
    }),
    metric!(
        "crawler_queue_pages",
        "",
        Gauge,
        "depth",
        "Waiting and running pages, by links from the seed",
        |s| {
            let by_depth = s.shape.by_depth.iter().enumerate();
            by_depth.map(|(d, n)| (depth_name(d), Value::Level(*n as f64))).collect()
        }
    ),
    metric!(
        "crawler_queue_priority_pages",
        "",
        Gauge,
        "priority",
        "Waiting and running pages, by priority, 0 best",
        |s| {
            let by_priority = s.shape.by_priority.iter().enumerate();
            by_priority.map(|(p, n)| (p.to_string(), Value::Level(*n as f64))).collect()
        }
    ),
    metric!("crawler_rules", "", Gauge, "state", "Learned rules, by state", |s| {
        levels(RULE_STATES.into_iter().zip(s.view.dust.by_state))
    }),
    metric!("crawler_rules_version", "", Gauge, "", "Version of the rule set in force", |s| {
        level(s.rules_version)
    }),
    metric!(
        "crawler_rules_retracted",
        "",
        Counter,
        "",
        "Rules that were in force in this run and were taken out of it",
        |s| count(s.tally.rules_retracted)
    ),
    metric!(
        "crawler_disk_free",
        "bytes",
        Gauge,
        "",
        "Bytes free on the fuller of the disks",
        |s| { s.disk_free.map_or_else(|| one(Value::Level(f64::NAN)), level) }
    ),
    metric!("crawler_disk_reserve", "bytes", Gauge, "", "Bytes that must stay free", |s| {
        level(s.disk_reserve)
    }),
    metric!(
        "crawler_remaining",
        "seconds",
        Gauge,
        "bound",
        "Range of the remaining time; the ceiling is infinite while no end is in sight",
        |s| {
            let floor = s.floor_ms() as f64 / 1000.0;
            let ceiling = s.ceiling_ms().map_or(f64::INFINITY, |ms| ms as f64 / 1000.0);
            vec![
                ("floor".to_owned(), Value::Level(floor)),
                ("ceiling".to_owned(), Value::Level(ceiling)),
            ]
        }
    ),
    metric!(
        "crawler_brake",
        "",
        Gauge,
        "brake",
        "1 for what holds the crawl back most, else 0",
        |s| {
            let present = brake_name(&s.brake);
            levels(BRAKES.into_iter().map(|name| (name, u64::from(name == present))))
        }
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brakes_are_named_as_in_json() {
        let brakes = [
            Brake::Exhausted,
            Brake::Paused,
            Brake::Disk { free: 0, reserve: 0 },
            Brake::InFlight { max: 0 },
            Brake::Politeness { resting: 0 },
            Brake::BackQueues { waiting: 0, max: 0 },
            Brake::Nothing,
        ];
        for (brake, name) in brakes.iter().zip(BRAKES) {
            assert_eq!(brake_name(brake), name);
            assert_eq!(serde_json::to_value(brake).unwrap()["brake"], name);
        }
    }
}
