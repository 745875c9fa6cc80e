//! Files that are damaged while no process runs: what is said of it, and what goes on.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crawler::db::families::meta::{self, ArchivePosition};
use crawler::db::families::urls;
use crawler::db::{Batch, Db};
use crawler::demo::{Draft, Judge, Protect};
use crawler::frontier::UrlState;

use super::process::{Ended, Fault, World};
use super::{small, until_logged};

/// Returns the largest file below `dir` whose name contains `part`.
fn largest(dir: &Path, part: &str) -> PathBuf {
    let files = std::fs::read_dir(dir).expect("it is there").flatten().map(|entry| entry.path());
    let named = files.filter(|path| path.to_string_lossy().contains(part));
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |data| data.len());
    named.max_by_key(size).unwrap_or_else(|| panic!("no {part} in {}", dir.display()))
}

/// Changes a file's bytes.
fn change(path: &Path, how: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).expect("it is read");
    how(&mut bytes);
    std::fs::write(path, bytes).expect("it is written");
}

/// Overwrites 64 bytes in the middle.
fn spoil(bytes: &mut [u8]) {
    let middle = bytes.len() / 2;
    bytes[middle..].iter_mut().take(64).for_each(|byte| *byte ^= 0x5a);
}

/// Crawls until some requests are logged and the process is killed.
fn crawl_a_little(world: &World) {
    let mut child = world.start("run", &Fault::default());
    if !until_logged(&mut child, world, 25) {
        child.kill().expect("it can be killed");
        child.wait().expect("it is gone");
    }
}

fn check(ended: &Ended, code: i32, words: &[&str]) {
    assert_eq!(ended.code, Some(code), "{}", ended.said);
    for word in words {
        assert!(ended.said.contains(word), "`{word}` is not in: {}", ended.said);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_damaged_table_of_the_state_is_named_by_verify_and_stops_the_crawl() {
    let world = World::serve(31, Draft { pages: (40, 60), ..small() }).await;
    let world = world.set("state.cache=1MiB");
    tokio::task::block_in_place(|| {
        world.run("run", &Fault::default());
        let table = largest(&world.dir().join("state"), ".sst");
        let whole = std::fs::read(&table).expect("it is read");
        change(&table, |bytes| spoil(bytes));
        let name = table.file_name().expect("it has one").to_string_lossy().into_owned();
        check(&world.run("verify", &Fault::default()), 20, &["unreadable", &name, "copy"]);
        std::fs::write(&table, whole).expect("the copy is put back");
        world.finish();
    });
    world.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_torn_tail_of_the_states_log_costs_requests_but_no_url_and_no_rest() {
    let world = World::serve(32, small())
        .await
        .set("politeness.min_delay=1s")
        .set("politeness.max_delay=1s");
    let want = Duration::from_millis(700);
    world.server.requests().judge(Judge::new(Protect::Hosts, move |_| want));
    tokio::task::block_in_place(|| {
        crawl_a_little(&world);
        let log = largest(&world.dir().join("state"), ".log");
        // The last second is what a power cut may take.
        change(&log, |bytes| bytes.truncate(bytes.len() * 9 / 10));
        world.finish();
    });
    let judged = world.server.requests().verdict().expect("a judge was appointed");
    assert_eq!(judged.violations, 0, "{:?}", judged.examples);
    world.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_spoiled_log_of_the_state_is_refused_with_what_to_do() {
    let world = World::serve(33, small()).await;
    tokio::task::block_in_place(|| {
        crawl_a_little(&world);
        let log = largest(&world.dir().join("state"), ".log");
        let whole = std::fs::read(&log).expect("it is read");
        change(&log, |bytes| spoil(bytes));
        check(&world.run("run", &Fault::default()), 1, &["damaged", "verify", "copy"]);
        std::fs::write(&log, whole).expect("the copy is put back");
        world.finish();
    });
    world.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_damaged_archive_is_mended_where_it_can_be_and_named_where_not() {
    // Nothing of it was forced to the disk, so nothing is taken for a power cut.
    let world = World::serve(34, small()).await.set("state.sync_interval=1h");
    tokio::task::block_in_place(|| {
        crawl_a_little(&world);
        let archive = world.dir().join("archive");
        let warc = largest(&archive, ".warc");
        let whole = std::fs::read(&warc).expect("it is read");
        // Bytes behind the end are cut, by `repair` or by the crawl itself.
        change(&warc, |bytes| bytes.extend_from_slice(b"WARC/1.1\r\nWARC-Type: resp"));
        check(&world.run("verify", &Fault::default()), 20, &["torn tail", "repair"]);
        // A file that is shorter than the state knows cannot be gone on with.
        change(&warc, |bytes| bytes.truncate(whole.len() / 2));
        check(&world.run("run", &Fault::default()), 1, &["restore the file"]);
        // Damage with whole records behind it stays, and is named.
        std::fs::write(&warc, &whole).expect("the copy is put back");
        change(&warc, |bytes| spoil(bytes));
        check(&world.run("verify", &Fault::default()), 20, &[".warc"]);
        std::fs::write(&warc, &whole).expect("the copy is put back");
        world.finish();
    });
    world.server.shutdown().await;
}

/// Returns the middle one of the records that a state knows of: its file, and where it begins.
fn middle_record(state: &Path) -> ArchivePosition {
    let db = Db::open(state, &Default::default()).expect("nobody has it open");
    let mut records = Vec::new();
    urls::each(&db, |_, record| {
        if let UrlState::Done(done) = record.state {
            records.extend(done.record.map(|(file, offset, _)| ArchivePosition { file, offset }));
        }
        true
    })
    .expect("it is read");
    records.sort_by_key(|record| (record.file.clone(), record.offset));
    let middle = records.swap_remove(records.len() / 2);
    let mut batch = Batch::default();
    meta::put_forced(&mut batch, &db, &middle);
    db.commit(batch).expect("it is written");
    middle
}

/// The state may reach the disk before the records that it knows of. It refused to be opened then,
/// for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_a_power_cut_took_of_the_archive_is_fetched_again() {
    for (seed, torn) in [(36, 0), (37, 9), (38, 400)] {
        let world = World::serve(seed, small()).await.set("state.sync_interval=1h");
        tokio::task::block_in_place(|| {
            crawl_a_little(&world);
            let forced = middle_record(&world.dir().join("state"));
            let warc = largest(&world.dir().join("archive"), ".warc");
            let end = usize::try_from(forced.offset).expect("it is small") + torn;
            change(&warc, |bytes| bytes.truncate(end));
            check(&world.run("run", &Fault::default()), 0, &["power cut", "fetched again"]);
            world.finish();
        });
        world.server.shutdown().await;
    }
    // Its length may have reached the disk, and its bytes not.
    let world = World::serve(39, small()).await.set("state.sync_interval=1h");
    tokio::task::block_in_place(|| {
        crawl_a_little(&world);
        let forced = middle_record(&world.dir().join("state"));
        let warc = largest(&world.dir().join("archive"), ".warc");
        let end = usize::try_from(forced.offset).expect("it is small");
        change(&warc, |bytes| bytes[end..].fill(0));
        check(&world.run("run", &Fault::default()), 0, &["power cut", "fetched again"]);
        world.finish();
    });
    world.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_spoiled_configuration_or_rule_file_changes_nothing() {
    let world = World::serve(35, small()).await;
    tokio::task::block_in_place(|| {
        crawl_a_little(&world);
        let config = world.dir().join("crawler.toml");
        for text in ["[politeness\nmin_delay = \"1s\"\n", "min_delay = 1\n", "\u{0}\u{1}\u{2}"] {
            std::fs::write(&config, text).expect("it is written");
            check(&world.run("run", &Fault::default()), 78, &["crawler.toml"]);
        }
        std::fs::remove_file(&config).expect("it is removed");
        std::fs::write(world.dir().join("rules.json"), "{\"format\": 1, \"ru").expect("written");
        check(&world.run("dust import rules.json", &Fault::default()), 78, &["rules.json"]);
        world.finish();
    });
    world.server.shutdown().await;
}
