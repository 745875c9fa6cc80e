//! Disks that are full, failing or read-only, at every kind of file.

use crawler::demo::Draft;

use super::process::{Fault, World};
use super::{is_thorough, small};

/// A fault of the disk, the exit code that it must lead to, and a word of the message.
const FAULTS: &[(&str, i32, &str)] = &[
    ("write,/state/,60+,full", 12, "no space left"),
    ("write,.log,60+,full", 12, "no space left"),
    ("write,crawl-0,20+,full", 12, "free the disk"),
    ("open,crawl-00002,1+,full", 12, "free the disk"),
    ("write,/state/,60+,io", 1, "state"),
    ("write,.warc.open,10+,io", 1, "archive"),
    ("write,crawl-0,20+,io", 1, "crawl log"),
    ("sync,archive,1+,io", 1, "sync"),
    ("open,/state/,1+,readonly", 1, "Read-only"),
    ("open,/archive/,1+,readonly", 1, "Read-only"),
    ("open,/log/,1+,readonly", 1, "Read-only"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_disk_that_fails_ends_the_run_by_its_exit_code_and_the_same_command_goes_on() {
    let every = if is_thorough() { 1 } else { 4 };
    for (call, code, word) in FAULTS.iter().step_by(every) {
        let world = World::serve(7, Draft { pages: (25, 40), ..small() }).await;
        tokio::task::block_in_place(|| {
            let ended = world.run("run", &Fault::call(call));
            assert!(ended.struck, "{call} was not met");
            assert_eq!(ended.code, Some(*code), "{call}: {}", ended.said);
            assert!(ended.said.contains(word), "{call}: {}", ended.said);
            world.finish();
        });
        world.server.shutdown().await;
    }
}
