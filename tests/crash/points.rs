//! Killed at named points: each system call by which the crawl changes something durable, before
//! it, in its middle and right after it, in the crawl and in its resuming.
//!
//! One directory is killed again and again, so that every resume meets what the last kill left.

use std::collections::BTreeMap;

use crawler::demo::Draft;

use super::process::{Fault, World};
use super::{is_thorough, mixed, number};

/// Where the process dies: `op,path` of the shim, the range from which the number of the call is
/// drawn, what it is.
const POINTS: &[(&str, u64, &str)] = &[
    ("connect,*", 5, "fetch"),
    ("write,/state/", 40, "batch"),
    ("write,.warc.open", 30, "archive record"),
    ("write,.cdxj.open", 20, "index line"),
    ("write,crawl-0", 25, "log line"),
    ("open,crawl-0", 3, "log rotation"),
    ("open,.warc.open", 3, "new archive file"),
    ("rename,.warc.open", 2, "archive rotation"),
    ("rename,.cdxj.part", 2, "index of a finished file"),
    ("sync,archive", 4, "archive sync"),
    ("sync,/state/", 6, "state sync"),
    ("write,.sst", 6, "state table"),
    ("write,MANIFEST", 4, "state manifest"),
    ("rename,/state/", 3, "state switch"),
    ("unlink,/state/", 4, "state clean-up"),
    ("cut,archive", 1, "resume: cut of the archive's tail"),
    ("cut,/log", 1, "resume: cut of the log's tail"),
    ("open,/state/", 12, "resume: opening the state"),
];

/// Points of the life of rules, where there is something to learn.
const RULE_POINTS: &[(&str, u64, &str)] = &[
    ("write,/state/", 400, "batch while rules change"),
    ("write,.warc.open", 300, "archive record while rules change"),
    ("write,rules.jsonl", 10, "rule's life"),
];

/// Kills at points drawn from `points`, so many times or until the crawl ends; returns how often
/// each kind struck.
fn kill_at(
    world: &World,
    points: &[(&'static str, u64, &'static str)],
    kills: u64,
    seed: u64,
) -> BTreeMap<&'static str, u32> {
    let mut struck = BTreeMap::new();
    for kill in 0..kills {
        let draw = mixed(seed << 32 | kill);
        let (call, range, name) = points[(kill % points.len() as u64) as usize];
        let nth = 1 + draw % range;
        let acts: &[&str] =
            if call.starts_with("write") { &["kill", "torn", "after"] } else { &["kill", "after"] };
        let act = acts[(draw >> 8) as usize % acts.len()];
        // A point that is not reached soon is passed over.
        let fault =
            Fault { time_max: "3s".to_owned(), ..Fault::call(&format!("{call},{nth},{act}")) };
        let ended = world.run("run", &fault);
        match ended.code {
            Some(10) => {}
            Some(0) => break,
            None => *struck.entry(name).or_default() += 1,
            code => panic!("{name} ({call},{nth},{act}) ended with {code:?}: {}", ended.said),
        }
    }
    struck
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_process_killed_at_named_points_loses_nothing_and_writes_nothing_twice() {
    let kills = number("CRASH_POINT_KILLS").unwrap_or(if is_thorough() { 200 } else { 18 });
    // So large that it does not end before the last kill.
    let pages = 90 + 2 * kills as u32;
    let draft = Draft { hosts: 6, pages: (pages, pages + 40), dust: 0, ..Draft::default() };
    // Small caches and files, so that tables are written and files rotated all the time.
    let world = World::serve(3, draft).await.set("state.cache=1MiB").set("archive.size_max=1MB");
    tokio::task::block_in_place(|| {
        let struck = kill_at(&world, POINTS, kills, 1);
        println!("killed {} times: {struck:?}", struck.values().sum::<u32>());
        assert!(struck.len() * 3 > POINTS.len(), "too few points were met: {struck:?}");
        world.finish();
    });
    world.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_process_killed_while_rules_change_loses_no_document() {
    let kills = if is_thorough() { 45 } else { 3 };
    let draft = Draft { hosts: 2, pages: (150, 250), dust: 1000, ..Draft::default() };
    let world = World::serve(5, draft).await.set("dust.mode=enforce");
    tokio::task::block_in_place(|| {
        let struck = kill_at(&world, RULE_POINTS, kills, 2);
        println!("killed {} times: {struck:?}", struck.values().sum::<u32>());
        assert!(!struck.is_empty(), "no point was met");
        world.finish();
    });
    world.server.shutdown().await;
}
