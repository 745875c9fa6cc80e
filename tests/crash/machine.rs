//! A machine that is short of files or memory, or whose clock is set while no process runs.

use std::time::Duration;

use crawler::demo::{Draft, Judge, Protect};

use super::process::{Fault, World};
use super::{small, until_logged};

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_process_that_may_open_few_files_says_so_and_blames_no_host() {
    let draft = Draft { hosts: 40, pages: (3, 8), dust: 0, ..Draft::default() };
    let world = World::serve(21, draft).await.set("politeness.unreachable_initial=200ms");
    tokio::task::block_in_place(|| {
        let limit = "ulimit -n 64".to_owned();
        let ended = world.run("run", &Fault { limit, ..Fault::default() });
        assert!(ended.said.contains("64 files"), "{}", ended.said);
        assert_eq!(ended.code, Some(0), "{}", ended.said);
        world.finish();
    });
    world.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_process_without_address_space_says_so_instead_of_hanging() {
    let world = World::serve(22, small()).await;
    tokio::task::block_in_place(|| {
        for mib in [600, 1000] {
            let limit = format!("ulimit -v {}", mib * 1024);
            let ended = world.run("run", &Fault { limit, ..Fault::default() });
            assert_eq!(ended.code, Some(1), "{}", ended.said);
            assert!(ended.said.contains(&format!("{mib} MiB of address space")), "{}", ended.said);
        }
        // Little, but enough.
        let limit = format!("ulimit -v {}", 1100 * 1024);
        let ended = world.run("run", &Fault { limit, ..Fault::default() });
        assert_eq!(ended.code, Some(0), "{}", ended.said);
        world.finish();
    });
    world.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_clock_set_by_an_hour_shortens_no_rest_and_stops_no_crawl() {
    let draft = Draft { hosts: 3, pages: (8, 12), dust: 0, ..Draft::default() };
    let world =
        World::serve(23, draft).await.set("politeness.min_delay=1s").set("politeness.max_delay=1s");
    // The server's own clock judges. What it leaves over is for its own delays.
    let want = Duration::from_millis(700);
    world.server.requests().judge(Judge::new(Protect::Hosts, move |_| want));
    tokio::task::block_in_place(|| {
        let mut said = String::new();
        for clock_shift in [0, 3600, 0, -3600] {
            let mut child = world.start("run", &Fault { clock_shift, ..Fault::default() });
            if !until_logged(&mut child, &world, 4) {
                child.kill().expect("it can be killed");
                child.wait().expect("it is gone");
            }
            said.push_str(&world.said());
        }
        assert!(said.contains("the machine's clock was set forward by"), "{said}");
        assert!(said.contains("behind times that the crawl has stored"), "{said}");
        world.finish();
    });
    let judged = world.server.requests().verdict().expect("a judge was appointed");
    assert_eq!(judged.violations, 0, "{:?}", judged.examples);
    world.server.shutdown().await;
}
