//! The paper's miner against two other implementations: a naive one beside this file, on random
//! lists, and one outside of this repository with its recorded results.

// Whatever fails here has to end the test, and say where.
#![allow(clippy::unwrap_used)]

mod naive;
mod recorded;

use std::collections::BTreeMap;

use crawler::dust::paper::{Cue, Record, Settings, mine};
use naive::Naive;
use proptest::prelude::*;

/// A list of short URLs in which borders, overlaps and empty strings abound, or of a small site
/// with aliases and numbered items.
fn url() -> impl Strategy<Value = String> {
    let soup = "(|http://|http://h/)[ab1/.?=&]{0,9}";
    let host = prop::sample::select(vec!["h.co", "www.h.co", "g.org"]);
    let path = prop::sample::select(vec!["s_", "s?id=", "s.php?id=", "~", "people/", "x/x/"]);
    let tail = prop::sample::select(vec!["", "&n=1", "/", "/index.html", "/a/b/c/d/e/f/g"]);
    let site = (host, path, 0..8u8, tail).prop_map(|(h, p, n, t)| format!("http://{h}/{p}{n}{t}"));
    prop_oneof![soup, site]
}

fn record() -> impl Strategy<Value = Record> {
    let size = prop::option::of((0..6i64, 0..3i64).prop_map(|(least, more)| (least, least + more)));
    let sketch = prop::collection::vec(0..2u64, 0..5);
    let status = prop::sample::select(vec![200, 200, 200, 200, 301, 404]);
    (url(), status, size, sketch).prop_map(|(url, status, size, sketch)| Record {
        url,
        status,
        size,
        sketch,
    })
}

fn settings() -> impl Strategy<Value = Settings> {
    let cue = prop::sample::select(vec![Cue::Auto, Cue::Size, Cue::Sketch, Cue::None]);
    let deficiency = prop::sample::select(vec![0.0, 0.05, 0.5]);
    let window = prop::sample::select(vec![0, 1, 3, 1100]);
    let table = prop::sample::select(vec![100, 1 << 20]);
    (
        0..9usize,
        1..7usize,
        1..12usize,
        1..4u64,
        deficiency,
        0..3u64,
        window,
        cue,
        any::<bool>(),
        table,
    )
        .prop_map(|(s, low, high, ms, mrd, mad, mw, cue, one_run, table)| Settings {
            substring_tokens_max: s,
            bucket_max_low: low,
            bucket_max_high: high,
            support_min: ms,
            deficiency_relative_max: mrd,
            deficiency_absolute_max: mad,
            window_max: mw,
            cue,
            one_run,
            sketch_values_min: 2,
            table_bytes_max: crawler::clock::ByteSize(table),
            ..Settings::default()
        })
}

proptest! {
    #![proptest_config(
        ProptestConfig { cases: 600, failure_persistence: None, ..Default::default() }
    )]

    #[test]
    fn the_miner_finds_what_the_figures_of_the_paper_find(
        records in prop::collection::vec(record(), 0..40),
        settings in settings(),
    ) {
        let report = mine(&records, &settings, None);
        let naive = Naive::mine(&records, &settings);
        let ours: BTreeMap<_, _> = report
            .likely()
            .map(|pair| ((pair.alpha_tokens, pair.beta_tokens), (pair.support, pair.support_high)))
            .collect();
        prop_assert_eq!(ours.len(), report.counts().0);
        prop_assert_eq!(ours, naive.likely);
        let ours: Vec<_> =
            report.after_elimination().map(|pair| (pair.alpha_tokens, pair.beta_tokens)).collect();
        prop_assert_eq!(ours, naive.after_elimination);
    }
}
