//! How good the range of the remaining time is: the truth is known when the crawl is over.
//!
//! `SIM_SEEDS=300 cargo test --test all sim::remaining -- --nocapture` prints the figures that
//! MEASUREMENTS.md has.

use std::sync::{Arc, Mutex};

use super::*;

/// What was said at a moment.
#[derive(Clone, Copy, Debug)]
struct Said {
    at: Timestamp,
    done: u64,
    floor_ms: u64,
    ceiling_ms: Option<u64>,
}

/// How a range did: the remaining time in truth, and what was said.
#[derive(Clone, Copy, Debug)]
struct Held {
    truth_ms: u64,
    said: Said,
}

impl Held {
    fn holds(&self) -> bool {
        let most = self.said.ceiling_ms.unwrap_or(0);
        (self.said.floor_ms..=most).contains(&self.truth_ms)
    }
}

/// Crawls a drawn web; returns what was said half-way by time, and half-way by pages.
async fn crawl(seed: u64) -> [Held; 2] {
    // Webs of one to sixty hosts, with and without trouble, rules and a limit on large hosts.
    let kind = seed % 6;
    let draft = Draft {
        hosts: [1, 4, 12, 30, 60, 20][kind as usize],
        pages: if kind < 2 { (50, 600) } else { (3, 150) },
        sick: if kind == 3 { 150 } else { 50 },
        touchy: if kind == 4 { 300 } else { 100 },
        ..Draft::default()
    };
    let mut world = World::new(WebSpec::draw(seed, &draft));
    world.politeness.factor = [2.0, 5.0][(seed / 6 % 2) as usize];
    if kind == 5 {
        world.filter.host_pages_max = 60;
        world.frontier.in_flight_max = 4;
    }
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = said.clone();
    let (run, end) = world
        .watched(START, Crash::Never, move |snapshot| {
            heard.lock().expect("nobody panics with it").push(Said {
                at: snapshot.at,
                done: snapshot.counters.done,
                floor_ms: snapshot.floor_ms(),
                ceiling_ms: snapshot.ceiling_ms(),
            });
        })
        .await;
    assert!(matches!(run, Run::Ended(_)), "seed {seed}: nothing crashes here");
    let said = said.lock().expect("nobody panics with it");
    let pages = said.last().map_or(0, |said| said.done);
    let half = START.plus(end.since(START) / 2);
    let by_time = said.iter().find(|said| said.at >= half);
    let by_pages = said.iter().find(|said| said.done * 2 >= pages);
    [by_time, by_pages].map(|said| {
        let said = *said.unwrap_or_else(|| panic!("seed {seed}: nothing was said"));
        Held { truth_ms: end.since(said.at).as_millis() as u64, said }
    })
}

#[tokio::test(start_paused = true)]
async fn half_way_the_truth_lies_in_the_range_nine_times_of_ten() {
    let seeds = seeds(12);
    let mut held = [0usize; 2];
    let mut widths = Vec::new();
    for seed in &seeds {
        let both = crawl(*seed).await;
        for (count, one) in held.iter_mut().zip(&both) {
            *count += usize::from(one.holds());
            let Said { floor_ms, ceiling_ms, done, .. } = one.said;
            let most = ceiling_ms.unwrap_or(0);
            if !one.holds() || seeds.len() == 1 {
                println!(
                    "seed {seed}: {} s were left at {done} pages, {} to {} s were said",
                    one.truth_ms / 1000,
                    floor_ms / 1000,
                    most / 1000
                );
            }
        }
        let [by_time, _] = both;
        let most = by_time.said.ceiling_ms.unwrap_or(0) as f64;
        widths.push((
            by_time.said.floor_ms as f64 / by_time.truth_ms.max(1) as f64,
            most / by_time.truth_ms.max(1) as f64,
        ));
    }
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    println!(
        "{} crawls: within the range {} times half-way by time, {} times half-way by pages; floor \
         {:.2} and ceiling {:.2} of the truth in the median",
        seeds.len(),
        held[0],
        held[1],
        median(widths.iter().map(|(least, _)| *least).collect()),
        median(widths.iter().map(|(_, most)| *most).collect()),
    );
    for count in held {
        assert!(count * 10 >= seeds.len() * 9, "{count} of {}", seeds.len());
    }
    // A range that holds because it says nothing is no use.
    assert!(median(widths.iter().map(|(least, _)| *least).collect()) > 0.3);
    assert!(median(widths.iter().map(|(_, most)| *most).collect()) < 4.0);
}
