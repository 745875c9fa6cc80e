//! Whole crawls of hosts that misbehave, over real sockets, each beside a healthy host.
//!
//! A behaviour is a [`world::Case`]: what the server does, and what must come of its URLs, how
//! often it may be asked, and what never. After each of them the healthy host must have been
//! crawled completely and once, nothing inside may have been connected to, the counters must add
//! up, every request must stand in the log with its reason, politeness must hold by the log, and
//! the archive must be sound.
//!
//! `behaviours.tsv` is the table for people and programs; `cargo test --test all hostile::` checks
//! that it is that of the code. `HOSTILE_TABLE=write` writes it anew, `HOSTILE_ONLY=word` tries
//! only what has the word in its name, `HOSTILE_ARCHIVES=folder` leaves the WARC files there for
//! validators.

mod site;
mod table;
mod terminal;
mod together;
mod world;

use std::collections::BTreeSet;
use std::path::Path;

use futures_util::StreamExt;
use world::World;

use crate::loopback::tls::Authority;

/// Crawls at once; they mostly wait.
const AT_ONCE: usize = 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_behaviour_is_survived_by_the_whole_crawl() {
    let authority = Authority::new();
    let ca_file = authority.file();
    let only = std::env::var("HOSTILE_ONLY").unwrap_or_default();
    let mut cases = table::all(&authority);
    let total = cases.len();
    cases.retain(|(_, case)| case.id.contains(&only));
    let (mut survived, mut failed) = (0, Vec::new());
    for (heavy, at_once) in [(false, AT_ONCE), (true, 2)] {
        let ca_file = &ca_file;
        let chosen = cases.iter().filter(|(_, case)| case.heavy == heavy);
        let mut trials = futures_util::stream::iter(chosen)
            .map(|(_, case)| async move { (case, World::try_case(case, ca_file).await) })
            .buffer_unordered(at_once);
        while let Some((case, wrong)) = trials.next().await {
            match wrong.is_empty() {
                true => survived += 1,
                false => {
                    failed.push(format!("{}: {}\n  {}", case.id, case.does, wrong.join("\n  ")));
                }
            }
        }
    }
    println!("{survived} of {total} behaviours survived by whole crawls");
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn the_table_names_every_behaviour() {
    let authority = Authority::new();
    let cases = table::all(&authority);
    let mut ids = BTreeSet::new();
    let mut table = String::from("id\tgroup\tbehaviour\texpected\n");
    for (group, case) in &cases {
        assert!(ids.insert(case.id.clone()), "`{}` stands there twice", case.id);
        table.push_str(&format!("{}\t{group}\t{}\t{}\n", case.id, case.does, case.expects()));
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile/behaviours.tsv");
    if std::env::var("HOSTILE_TABLE").is_ok_and(|what| what == "write") {
        std::fs::write(&file, &table).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(written == table, "{} is not of today: HOSTILE_TABLE=write writes it", file.display());
    let Some(folder) = std::env::var_os("CRAWLER_CONFORMANCE") else { return };
    let list = std::fs::read(Path::new(&folder).join("hostile_behaviours.json")).unwrap();
    let list: Vec<serde_json::Value> = serde_json::from_slice(&list).unwrap();
    let list: Vec<&str> = list.iter().filter_map(|one| one["id"].as_str()).collect();
    let missing: Vec<&&str> = list.iter().filter(|id| !ids.contains(**id)).collect();
    assert!(missing.is_empty(), "without an entry: {missing:?}");
    println!("{} behaviours, {} of them of the list of {}", ids.len(), list.len(), list.len());
}
