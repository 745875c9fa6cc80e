//! The metrics: one table that says what there is, and one way to write it down.
//!
//! `docker/METRICS.md` describes the same table for people; a test compares the two. No label has
//! more values than its row here says: there is never a label for a host, a URL or a rule.

use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use super::metrics_table::METRICS;
use crate::crawl::Snapshot;

/// The media type of what [`text`] returns.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How a metric changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows; its name ends in `_total`.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Counts by size.
    Histogram,
}

impl Kind {
    /// Returns the word of the exposition format.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }

    fn metric_type(self) -> MetricType {
        match self {
            Kind::Counter => MetricType::Counter,
            Kind::Gauge => MetricType::Gauge,
            Kind::Histogram => MetricType::Histogram,
        }
    }
}

/// One figure of a metric.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of a counter.
    Count(u64),
    /// Of a gauge.
    Level(f64),
    /// Of a histogram: its sum, and counts by upper bound.
    Spread(f64, Vec<(f64, u64)>),
}

/// Figures of a metric with the value of its label; without a label there is one, with "".
pub type Samples = Vec<(String, Value)>;

/// One metric.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name without unit and suffix.
    pub name: &'static str,
    /// Its unit, `bytes` or `seconds`; empty for plain numbers.
    pub unit: &'static str,
    /// How it changes.
    pub kind: Kind,
    /// The name of its label; empty for none.
    pub label: &'static str,
    /// What it counts.
    pub help: &'static str,
    /// Reads it from a snapshot.
    pub read: fn(&Snapshot) -> Samples,
}

impl Metric {
    /// Returns the name under which Prometheus knows it.
    pub fn full_name(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!("_{}", self.unit) };
        let suffix = if self.kind == Kind::Counter { "_total" } else { "" };
        format!("{}{unit}{suffix}", self.name)
    }

    fn encode(
        &self,
        snapshot: &Snapshot,
        encoder: &mut DescriptorEncoder<'_>,
    ) -> Result<(), std::fmt::Error> {
        let unit = (!self.unit.is_empty()).then(|| Unit::Other(self.unit.to_owned()));
        let mut metric = encoder.encode_descriptor(
            self.name,
            self.help,
            unit.as_ref(),
            self.kind.metric_type(),
        )?;
        for (label, value) in (self.read)(snapshot) {
            if self.label.is_empty() {
                value.encode(&mut metric)?;
            } else {
                let labels = [(self.label, label.as_str())];
                value.encode(&mut metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

impl Value {
    fn encode(&self, to: &mut MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        match self {
            Value::Count(count) => to.encode_counter::<NoLabels, _, u64>(count, None),
            Value::Level(level) => to.encode_gauge(level),
            Value::Spread(sum, buckets) => {
                let total = buckets.iter().map(|(_, count)| count).sum();
                to.encode_histogram::<NoLabels>(*sum, total, buckets, None)
            }
        }
    }
}

/// Exemplars have labels; there are none.
type NoLabels = [(&'static str, &'static str); 0];

#[derive(Debug)]
struct Reading(Arc<Snapshot>);

impl Collector for Reading {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        METRICS.iter().try_for_each(|metric| metric.encode(&self.0, &mut encoder))
    }
}

/// Returns a snapshot in the text format of OpenMetrics.
///
/// # Errors
/// Never in practice: writing into a string cannot fail.
pub fn text(snapshot: Arc<Snapshot>) -> Result<String, std::fmt::Error> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Reading(snapshot)));
    let mut text = String::with_capacity(16 * 1024);
    encode(&mut text, &registry)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::dashboard::view::tests::snapshot;

    fn exposed() -> String {
        text(Arc::new(snapshot())).unwrap()
    }

    /// The rows `| name | type | unit | label | meaning |` of the document.
    fn documented() -> BTreeMap<String, [String; 4]> {
        let document = include_str!("../../docker/METRICS.md");
        let rows = document.lines().filter(|line| line.starts_with("| `crawler_"));
        let rows = rows.map(|line| {
            let cells: Vec<String> =
                line.trim_matches('|').split('|').map(|c| c.trim().replace('`', "")).collect();
            assert_eq!(cells.len(), 5, "{line}");
            let [name, kind, unit, label, help] = [0, 1, 2, 3, 4].map(|i| cells[i].clone());
            (name, [kind, unit, label, help])
        });
        rows.collect()
    }

    #[test]
    fn the_document_says_exactly_what_is_exposed() {
        let wanted: BTreeMap<String, [String; 4]> = METRICS
            .iter()
            .map(|metric| {
                let row = [metric.kind.word(), metric.unit, metric.label, metric.help];
                (metric.full_name(), row.map(str::to_owned))
            })
            .collect();
        assert_eq!(wanted.len(), METRICS.len(), "two metrics have one name");
        let found = documented();
        for (name, row) in &wanted {
            assert_eq!(found.get(name), Some(row), "| `{name}` | {} |", row.join(" | "));
        }
        assert_eq!(found.len(), wanted.len(), "the document names metrics that are not there");
    }

    #[test]
    fn what_is_exposed_is_what_the_table_says() {
        let text = exposed();
        assert!(text.ends_with("# EOF\n"));
        for metric in METRICS {
            let family = metric.full_name().trim_end_matches("_total").to_owned();
            let kind = format!("# TYPE {family} {}\n", metric.kind.word());
            assert!(text.contains(&kind), "{kind}");
            assert!(!(metric.read)(&snapshot()).is_empty(), "{family}");
        }
        assert!(text.contains("\ncrawler_urls{state=\"done\"} 40.0\n"), "{text}");
        assert!(text.contains("\ncrawler_received_bytes_total 123456\n"), "{text}");
        assert!(text.contains("\ncrawler_fetch_duration_seconds_bucket{le=\"0.25\"} 40\n"));
        assert!(text.contains("\ncrawler_fetch_duration_seconds_bucket{le=\"+Inf\"} 40\n"));
    }

    #[test]
    fn no_name_of_the_web_becomes_a_label() {
        let text = exposed();
        assert!(!text.contains("example") && !text.contains('<') && !text.contains("status-200"));
        let lines = text.lines().filter(|line| !line.starts_with('#')).count();
        assert!(lines < 250, "{lines} lines");
    }

    #[test]
    fn the_urls_of_all_states_are_the_urls_that_were_discovered() {
        let find = |name: &str| METRICS.iter().find(|metric| metric.full_name() == name).unwrap();
        let states = (find("crawler_urls").read)(&snapshot());
        let sum: f64 = states
            .iter()
            .map(|(_, value)| if let Value::Level(level) = value { *level } else { f64::NAN })
            .sum();
        assert_eq!(sum, 100.0);
    }

    /// Names that look like ours, wherever they stand in a text.
    fn named(text: &str) -> BTreeSet<String> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        text.split(|c| !is_name(c))
            .filter(|word| word.starts_with("crawler_"))
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn every_metric_of_the_dashboard_and_the_alerts_is_exposed() {
        let mut known = BTreeSet::new();
        for metric in METRICS {
            let name = metric.full_name();
            if metric.kind == Kind::Histogram {
                known.extend(["_bucket", "_sum", "_count"].map(|suffix| format!("{name}{suffix}")));
            }
            known.insert(name);
        }
        let files = [
            include_str!("../../docker/grafana/dashboards/crawler.json"),
            include_str!("../../docker/prometheus/alerts.yaml"),
            include_str!("../../docker/prometheus/alerts_test.yaml"),
        ];
        for file in files {
            let named = named(file);
            assert!(named.len() >= 5, "{named:?}");
            let unknown: Vec<&String> = named.difference(&known).collect();
            assert!(unknown.is_empty(), "not exposed: {unknown:?}");
        }
    }
}
