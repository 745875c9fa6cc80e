//! All hosts that misbehave in one crawl of the real process, each under a name of its own, with
//! the sizes and counts that are default and short times: its memory has a bound, and the healthy
//! hosts among them are crawled as if they were alone.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use crawler::archive;
use crawler::crawl::audit;

use super::site::{ADDRESS, Site, healthy, page_path};
use super::table;
use super::world::HEALTHY_PAGES;
use crate::loopback::name_server::{NameServer, Reply as Dns};
use crate::loopback::tls::Authority;

/// Healthy hosts.
const HEALTHY: usize = 3;

/// What the process may have resident at most, in MiB: the state's cache, and bodies of which
/// `fetch.large_max` may be of `fetch.body_max` and `fetch.decoded_max`.
const RESIDENT_MAX_MIB: u64 = 512;

/// Looks, one in ten milliseconds, after which the process is taken to hang.
const LOOKS_MAX: u32 = 24_000;

/// How waiting is cut short; nothing here changes what a server may make the crawl hold.
const SETTINGS: &[&str] = &[
    "dns.allow=[\"127.0.0.2/32\"]",
    "dns.timeout=200ms",
    "dns.total=800ms",
    "dns.attempts=1",
    "dns.negative_min=5ms",
    "dns.negative_max=20ms",
    "dns.failed_min=5ms",
    "dns.failed_max=20ms",
    "fetch.connect=1s",
    "fetch.tls=1s",
    "fetch.first_byte=1500ms",
    "fetch.total=5s",
    "fetch.robots_total=2500ms",
    "fetch.rate_min=4000B",
    "fetch.rate_window=400ms",
    "politeness.min_delay=1ms",
    "politeness.max_delay=20ms",
    "politeness.factor=0.0",
    "politeness.group_delay=0ms",
    "politeness.backoff_initial=5ms",
    "politeness.backoff_max=20ms",
    "politeness.honor_retry_after_up_to=200ms",
    "politeness.honor_crawl_delay_up_to=200ms",
    "politeness.unreachable_initial=5ms",
    "politeness.unreachable_max=4",
    "robots.failure_ttl_min=5ms",
    "robots.failure_ttl_max=20ms",
    "limits.retries_max=2",
    "limits.busy_answers_max=4",
    "limits.robots_failures_max=2",
    "limits.disk_reserve=0B",
    // Their silence is their own: nothing here is an outage of ours.
    "limits.outage_hosts=100000",
    "scope.scope=any",
    "scope.host_pages_max=500",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_behaviours_in_one_crawl_are_bounded_in_memory_and_leave_others_alone() {
    let authority = Authority::new();
    let ca_file = authority.file();
    let (mut sites, mut inner, mut seeds) = (Vec::new(), Vec::new(), String::new());
    let mut zone: Vec<(String, Dns)> = Vec::new();
    for (number, (group, case)) in table::all(&authority).into_iter().enumerate() {
        let site = Site::start(ADDRESS, case.speech.clone()).await;
        let port = site.address.port();
        if matches!(group, "redirect" | "dns" | "html") {
            inner.extend(Site::inside(port).await);
        }
        // The certificates are of one name.
        let name = if group == "tls" { "bad.test".to_owned() } else { format!("bad{number}.test") };
        let own = case.zone.iter().find(|(known, _)| *known == "bad.test");
        let reply = own.map_or(Dns::V4(vec![ADDRESS], 300), |(_, reply)| reply.clone());
        zone.push((name.clone(), reply));
        let others = case.zone.iter().filter(|(known, _)| *known != "bad.test");
        zone.extend(others.map(|(known, reply)| ((*known).to_owned(), reply.clone())));
        for seed in case.seeds_at(&name, port) {
            let _ = writeln!(seeds, "{seed}");
        }
        sites.push(site);
    }
    let mut good = Vec::new();
    for number in 0..HEALTHY {
        let site = Site::start(ADDRESS, healthy(HEALTHY_PAGES)).await;
        let name = format!("good{number}.test");
        let _ = writeln!(seeds, "http://{name}:{}/", site.address.port());
        zone.push((name, Dns::V4(vec![ADDRESS], 300)));
        good.push(site);
    }
    let zone: Vec<(&str, Dns)> = zone.iter().map(|(name, r)| (name.as_str(), r.clone())).collect();
    let names = NameServer::start(&zone).await;
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("seeds.txt"), seeds).unwrap();
    let mut settings: Vec<String> = SETTINGS.iter().map(ToString::to_string).collect();
    settings.push(format!("dns.servers=[\"{}\"]", names.address));
    settings.push(format!("fetch.ca_file=\"{}\"", ca_file.display()));
    let place = dir.path().to_owned();
    let ran = tokio::task::spawn_blocking(move || run(&place, &settings)).await.unwrap();

    println!("{} hostile hosts at once: {} MiB at most, {}", sites.len(), ran.mib, ran.status);
    // Whether a host ends parked is told by its own trial.
    assert!(matches!(ran.status.code(), Some(0 | 13)), "{}: {}", ran.status, ran.said);
    assert!(ran.mib <= RESIDENT_MAX_MIB, "{} MiB were resident", ran.mib);
    for (number, site) in good.iter().enumerate() {
        for page in 0..HEALTHY_PAGES {
            let asked = site.log.asked(&page_path(page));
            assert_eq!(asked, 1, "good{number}.test, page {page}");
        }
    }
    assert!(inner.iter().all(|site| site.log.connections() == 0), "a connection to the inside");
    let audit = audit::audit(&dir.path().join("log"), None).unwrap();
    assert_eq!(audit.violations_total, 0, "{:?}", audit.violations);
    assert!(audit.bad_lines.is_empty(), "{:?}", audit.bad_lines);
    let archive = dir.path().join("archive");
    let report = archive::verify(&archive, archive::Indexed::IfAny).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}

/// How the process ended.
struct Ran {
    status: ExitStatus,
    /// The most that was resident.
    mib: u64,
    said: String,
}

fn run(dir: &Path, settings: &[String]) -> Ran {
    let said = dir.join("said");
    let out = std::fs::File::create(&said).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(["run", "--quiet", "--contact", "mailto:test@crawler.test", "--dir"]).arg(dir);
    command.arg("--seeds").arg(dir.join("seeds.txt"));
    for setting in settings {
        command.args(["--set", setting]);
    }
    command.current_dir(dir).stdin(Stdio::null());
    command.stdout(out.try_clone().unwrap()).stderr(out);
    let mut child = command.spawn().unwrap();
    let mut mib = 0;
    for _ in 0..LOOKS_MAX {
        mib = mib.max(high_water(child.id()));
        if let Some(status) = child.try_wait().unwrap() {
            return Ran { status, mib, said: std::fs::read_to_string(said).unwrap() };
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("it hangs: {}", std::fs::read_to_string(said).unwrap());
}

/// Returns the most memory that a process has had resident, in MiB; 0 once it is gone.
fn high_water(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}
