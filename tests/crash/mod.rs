//! The real process under fire: killed at random and at named points, on full, failing and
//! read-only disks, short of files and memory, with a wrong clock and damaged files.
//!
//! `CRASH_KILLS=50 cargo test --test all crash::` kills more often at random moments than every
//! test run has time for; `CRASH_POINTS=all` kills at every named point and disturbs every call,
//! not at a sample of them. The table of faults and outcomes is `tests/crash/FAULTS.md`.

mod damage;
mod disk;
mod machine;
mod points;
mod process;

use std::process::Child;
use std::time::Duration;

use crawler::demo::Draft;
use process::{Fault, World};

/// Returns a number from the environment.
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|n| n.parse().ok())
}

/// True if everything is asked for that takes long.
fn is_thorough() -> bool {
    std::env::var("CRASH_POINTS").is_ok_and(|asked| asked == "all")
}

/// A web of a few dozen pages: one run of it takes about a second.
fn small() -> Draft {
    Draft { hosts: 4, pages: (8, 20), dust: 0, ..Draft::default() }
}

/// Waits until the crawl has logged `more` further requests, or has ended; returns true in the
/// latter case. It looks again and again, bounded, since only the process knows when it gets there.
fn until_logged(child: &mut Child, world: &World, more: usize) -> bool {
    let want = world.logged() + more;
    for _ in 0..60_000 {
        if let Some(status) = child.try_wait().expect("the child can be asked") {
            assert!(status.success(), "the crawl ended with {status}");
            return true;
        }
        if world.logged() >= want {
            return false;
        }
        std::thread::yield_now();
        std::thread::park_timeout(Duration::from_millis(1));
    }
    panic!("the crawl does not get on");
}

/// Mixes a number into one that looks random.
fn mixed(n: u64) -> u64 {
    let z = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (z ^ (z >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 20
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_process_killed_at_any_moment_loses_nothing_and_hurries_nobody() {
    let kills = number("CRASH_KILLS").unwrap_or(6);
    // So large that it does not end before the last kill.
    let pages = 20 + kills as u32;
    let draft = Draft { hosts: 6, pages: (pages, 2 * pages), dust: 0, ..Draft::default() };
    let world = World::serve(11, draft).await.set("politeness.min_delay=20ms");
    tokio::task::block_in_place(|| {
        let mut killed = 0;
        for kill in 0..kills {
            let mut child = world.start("run", &Fault::default());
            if until_logged(&mut child, &world, 1 + mixed(kill) as usize % 12) {
                break;
            }
            // Somewhere within the next request, not just behind a line of the log.
            std::thread::park_timeout(Duration::from_micros(mixed(kill + 1_000_000) % 8_000));
            child.kill().expect("it can be killed");
            child.wait().expect("it is gone");
            killed += 1;
        }
        println!("{killed} kills at random moments, {} requests logged", world.logged());
        assert_eq!(killed, kills, "the crawl ended before the last kill");
        world.finish();
    });
    world.server.shutdown().await;
}
