//! The run so far, in bounded memory: when the room is used up, every second point goes.

use serde::Serialize;

use crate::crawl::Snapshot;

/// Points kept at most: two for every pixel of a wide chart would be wasted.
const POINTS_MAX: usize = 720;

/// Columns of one point after its time, in the order in which they are sent.
pub(super) const COLUMNS: [&str; 8] =
    ["rate", "bytes_rate", "discovered", "done", "queued", "saved", "failed", "duplicates"];

/// One moment: its time in milliseconds, then [`COLUMNS`].
type Point = (u64, [f64; COLUMNS.len()]);

/// Points at even distances from the beginning of the run on, and the last one, whatever its
/// distance.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    kept: Vec<Point>,
    latest: Option<Point>,
    /// Every how many snapshots a point is kept, as a power of two.
    thinned: u32,
    seen: u64,
}

#[derive(Serialize)]
struct Table {
    columns: [&'static str; COLUMNS.len()],
    times: Vec<u64>,
    values: Vec<Vec<f64>>,
}

impl History {
    /// Notes a snapshot.
    pub(super) fn add(&mut self, snapshot: &Snapshot) {
        let point = point_of(snapshot);
        self.latest = Some(point);
        if self.seen.is_multiple_of(1 << self.thinned.min(60)) {
            self.kept.push(point);
            self.latest = None;
        }
        self.seen += 1;
        if self.kept.len() >= POINTS_MAX {
            self.latest = Some(point);
            let mut number = 0;
            self.kept.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.thinned += 1;
        }
    }

    fn points(&self) -> impl Iterator<Item = &Point> + Clone {
        self.kept.iter().chain(&self.latest)
    }

    /// Returns the points as JSON, by columns.
    pub(super) fn json(&self) -> String {
        let column = |index: usize| self.points().map(|(_, row)| row[index]).collect();
        let table = Table {
            columns: COLUMNS,
            times: self.points().map(|(at, _)| *at).collect(),
            values: (0..COLUMNS.len()).map(column).collect(),
        };
        serde_json::to_string(&table).unwrap_or_default()
    }
}

fn point_of(snapshot: &Snapshot) -> Point {
    let counters = &snapshot.counters;
    // Two digits are more than a chart shows.
    let short = |value: f64| (value * 100.0).round() / 100.0;
    let row = [
        short(snapshot.rate),
        short(snapshot.bytes_rate),
        counters.discovered as f64,
        counters.done as f64,
        (counters.queued + counters.in_flight) as f64,
        counters.suppressed as f64,
        counters.failed as f64,
        counters.duplicates as f64,
    ];
    (snapshot.at.as_millis(), row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::dashboard::view::tests::snapshot;

    fn after(seconds: u64) -> History {
        let mut history = History::default();
        for second in 0..seconds {
            let at = Timestamp::from_millis(1_000 * second);
            history.add(&Snapshot { at, ..snapshot() });
        }
        history
    }

    #[test]
    fn a_long_run_keeps_its_beginning_its_end_and_even_distances_in_bounded_room() {
        for seconds in [1, 2, 719, 720, 721, 5_000, 100_000] {
            let history = after(seconds);
            let times: Vec<u64> = history.points().map(|(at, _)| *at).collect();
            assert!(times.len() <= POINTS_MAX, "{seconds}: {}", times.len());
            assert!(times.len() as u64 >= seconds.min(POINTS_MAX as u64 / 2 - 1), "{seconds}");
            assert_eq!(times[0], 0);
            assert_eq!(*times.last().unwrap(), 1_000 * (seconds - 1), "{seconds}");
            let steps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let even = &steps[..steps.len().saturating_sub(1)];
            assert!(even.iter().all(|step| *step == steps[0]), "{seconds}: {steps:?}");
        }
    }

    #[test]
    fn the_json_has_one_list_a_column() {
        let json: serde_json::Value = serde_json::from_str(&after(3).json()).unwrap();
        assert_eq!(json["times"], serde_json::json!([0, 1000, 2000]));
        assert_eq!(json["columns"].as_array().unwrap().len(), COLUMNS.len());
        for column in json["values"].as_array().unwrap() {
            assert_eq!(column.as_array().unwrap().len(), 3);
        }
    }
}
