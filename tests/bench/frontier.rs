//! Measures what a waiting URL costs: resident memory and time per decision with 10,000 URLs
//! waiting over 10,000 hosts, with the same 10,000 where 990,000 more have been fetched, and with
//! 1,000,000 waiting.
//!
//! `cargo bench --bench frontier`; with `--profile dev` it builds faster. Each state is written by
//! one process and opened by another, as after a restart. That one runs the whole crawl in virtual
//! time, with a network that answers every page with one line of text: `next`, `activate`, `fill`,
//! the gates, the lease, the visit, the log and the one batch. What it prints is therefore the cost
//! of all that, of which the frontier's own part is some. Time is the processor time of the loop's
//! thread, the least of [`RUNS`]; memory is the most of them.
//!
//! What waits costs memory only through caches that the configuration bounds: between the second
//! and the third row, which have the same URLs known, lies what a hundred times as many waiting
//! URLs cost. The first row is a crawl too small to fill those caches.

use std::net::IpAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use crawler::archive::{ArchiveError, Capture, DnsCapture, Position, RecordAt, Written};
use crawler::clock::{Clock, Span, Timestamp};
use crawler::crawl::log::{CrawlLog, JsonLog};
use crawler::crawl::{
    Crawl, Dust, DustMode, Edge, Options, Parts, RepeatSettings, Settings, State, Store,
};
use crawler::db::families::meta::{self, Counters, Serials};
use crawler::db::families::{hosts, line, queue, robots as robots_rows, seen, urls};
use crawler::db::{Batch, Db, Settings as DbSettings};
use crawler::dns::{DnsFailure, Resolve, Resolved};
use crawler::dust::{LiveRules, RuleSet};
use crawler::fetch::{Answer, Fetch, HttpVersion, Outcome, Purpose, Request, Timing};
use crawler::filter::{Filter, Scope, Settings as FilterSettings};
use crawler::frontier::{
    DoneState, Frontier, HostId, HostRecord, Place, Rules, Standing, UrlRecord, UrlState,
};
use crawler::robots::{self, FetchedRobots};
use crawler::url::{CrawlUrl, Host};
use tokio::sync::Notify;

const HOSTS: u32 = 10_000;
const MANY: u32 = 1_000_000;
const FEW: u32 = 10_000;
/// Fetches before the measurement begins: caches and allocators settle.
const WARM: u32 = 1_000;
/// Fetches that are measured; with those before fewer than `FEW`, so that work never runs out.
const MEASURED: u32 = 8_000;
/// Times that each size is measured, each on a state of its own.
const RUNS: u32 = 3;
const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);

/// A state: how many URLs are known, and how many of them wait.
#[derive(Clone, Copy)]
struct Size {
    name: &'static str,
    known: u32,
    waiting: u32,
}

const SIZES: [Size; 3] = [
    Size { name: "few", known: FEW, waiting: FEW },
    Size { name: "few-of-many", known: MANY, waiting: FEW },
    Size { name: "many", known: MANY, waiting: MANY },
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let size = |name: &str| SIZES.into_iter().find(|size| size.name == name);
    match &arguments[..] {
        [step, name, dir] => {
            let size = size(name).expect("the parent names a size");
            match step.as_str() {
                "fill" => fill(Path::new(dir), size),
                _ => measure(Path::new(dir)),
            }
        }
        _ => compare(),
    }
}

fn compare() {
    println!("| known | waiting | resident KiB | us per fetch |");
    println!("|---|---|---|---|");
    for size in SIZES {
        let (mut resident, mut time) = (0, u64::MAX);
        for _ in 0..RUNS {
            let dir = tempfile::tempdir().expect("a directory for the state");
            step("fill", size, dir.path());
            let figures = step("measure", size, dir.path());
            let figures: Vec<u64> = figures.split(' ').filter_map(|f| f.parse().ok()).collect();
            resident = resident.max(figures[0]);
            time = time.min(figures[1]);
        }
        println!("| {} | {} | {resident} | {time} |", size.known, size.waiting);
    }
}

/// Takes one step in a process of its own, and returns what it says.
fn step(step: &str, size: Size, dir: &Path) -> String {
    let program = std::env::current_exe().expect("the program's own path");
    let dir = dir.to_str().expect("a path in UTF-8");
    let output = Command::new(program).args([step, size.name, dir]).output();
    let output = output.expect("the program runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{step} {}: {errors}", size.name);
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn host_name(host: u32) -> Host {
    Host::new(&format!("h{host}.example{}.org", host % 977))
}

fn url(n: u32) -> CrawlUrl {
    let text = format!("http://{}/section/{}/page-{n}.html", host_name(n % HOSTS), n % 37);
    CrawlUrl::parse(&text).expect("a URL of the benchmark")
}

fn done() -> UrlState {
    UrlState::Done(Box::new(DoneState {
        at: START,
        status: 200,
        bytes: 20_000,
        mime: "text/html".to_owned(),
        text_digest: Some(1 << 100),
        record: Some(("crawl-20260101000000-00001.warc.gz".to_owned(), 1 << 30, 5_000)),
        rules_version: 0,
        content: "new".to_owned(),
        links: 40,
        evidence: Vec::new(),
    }))
}

/// Writes a state of `size`, as a crawl that was stopped leaves it.
fn fill(dir: &Path, size: Size) {
    let db = Db::open(&dir.join("state"), &DbSettings::default()).expect("opens");
    let settings = robots::Settings::default();
    let none = FetchedRobots::Status { status: 404, retry_after: None };
    let robots = robots::after_fetch(None, none, START, &settings).to_bytes();
    for id in 0..HOSTS {
        let mut batch = Batch::default();
        let mut record = HostRecord::new(HostId(id), host_name(id));
        record.queued = u64::from(size.waiting / HOSTS);
        hosts::put_id(&mut batch, &db, record.name.as_str(), record.id);
        let place = Place { priority: (id % 4) as u8 + 2, serial: u64::from(id) + 1 };
        line::restand(&mut batch, &db, &mut record, Standing::InLine(place));
        hosts::put(&mut batch, &db, &record);
        robots_rows::put(&mut batch, &db, &url(id).origin(), &robots);
        db.commit(batch).expect("commits");
    }
    // Those that wait come last: they were found last.
    let first = size.known - size.waiting;
    for chunk in (0..size.known).collect::<Vec<u32>>().chunks(1000) {
        let mut batch = Batch::default();
        for n in chunk {
            let url = url(*n);
            let print = url.fingerprint();
            let host = *n % HOSTS;
            let serial = u64::from(HOSTS) + u64::from(*n) + 1;
            let place = Place { priority: (host % 4) as u8 + 2, serial };
            seen::put(&mut batch, &db, print, seen::Known::Itself);
            let record = UrlRecord {
                url: url.to_string(),
                via: Some(print),
                path: "LLL".to_owned(),
                hops: 3,
                discovered: START,
                state: if *n < first { done() } else { UrlState::Queued(place) },
                attempts: 0,
                busy: 0,
            };
            urls::put(&mut batch, &db, print, &record);
            if *n >= first {
                queue::put(&mut batch, &db, HostId(host), place, &queue::Item::Page(print));
            }
        }
        db.commit(batch).expect("commits");
    }
    let mut batch = Batch::default();
    let (known, queued) = (u64::from(size.known), u64::from(size.waiting));
    let counters =
        Counters { discovered: known, queued, done: known - queued, ..Counters::default() };
    meta::put_counters(&mut batch, &db, &counters);
    let row = u64::from(HOSTS) + known + 1;
    meta::put_serials(&mut batch, &db, &Serials { host: HOSTS, row, probe: 0 });
    db.commit(batch).expect("commits");
    db.sync().expect("syncs");
}

/// The world of the benchmark: names, network and archive.
#[derive(Debug)]
struct World {
    clock: Arc<Clock>,
    fetches: AtomicU32,
    records: AtomicU64,
    /// Processor time at the end of the warm-up.
    warm: AtomicU64,
    over: Notify,
}

/// The world, as the crawl's edge wants three of it.
#[derive(Clone, Debug)]
struct Shared(Arc<World>);

impl Resolve for Shared {
    async fn resolve(&self, _: &Host) -> Result<Resolved, DnsFailure> {
        let addresses = vec![IpAddr::from([192, 0, 2, 1])];
        let ttl = Duration::from_secs(3600);
        Ok(Resolved { addresses, refused: Vec::new(), ttl, cached: true })
    }

    fn knows(&self, _: &Host, _: Timestamp) -> bool {
        true
    }
}

impl Fetch for Shared {
    async fn fetch(&self, request: Request) -> Outcome {
        let began = self.0.clock.now();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let count = self.0.fetches.fetch_add(1, Ordering::Relaxed) + 1;
        if count == WARM {
            self.0.warm.store(processor_us(), Ordering::Relaxed);
        } else if count == WARM + MEASURED {
            self.0.over.notify_one();
        }
        let body = Bytes::from(format!("The text of {}.\n", request.url));
        let head = Bytes::from_static(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n");
        Outcome::Answer(Box::new(Answer {
            status: if request.purpose == Purpose::Robots { 404 } else { 200 },
            version: HttpVersion::Http11,
            headers: vec![("content-type".to_owned(), Bytes::from_static(b"text/plain"))],
            request_block: Bytes::from_static(b"GET / HTTP/1.1\r\n\r\n"),
            head_block: head,
            wire_body: body.clone(),
            payload: body.clone(),
            body,
            truncated: None,
            asked_to_sign: false,
            address: IpAddr::from([192, 0, 2, 1]),
            tls: None,
            began,
            timing: Timing::default(),
        }))
    }
}

impl Store for Shared {
    async fn write(&self, capture: Arc<Capture>) -> Result<Written, ArchiveError> {
        let sequence = self.0.records.fetch_add(1, Ordering::Relaxed);
        let (file, offset) = ("memory".to_owned(), sequence * 100);
        Ok(Written {
            at: RecordAt { file: file.clone(), offset, length: 100 },
            position: Position { file, offset: offset + 100 },
            record_id: format!("urn:uuid:{sequence:032x}"),
            date: self.0.clock.now(),
            payload_digest: Some(format!("sha1:{sequence:032}")),
            is_revisit: capture.revisit.is_some(),
            cdxj: None,
            bytes: 100,
            sequence,
        })
    }

    async fn write_dns(&self, _: Arc<DnsCapture>) -> Result<(), ArchiveError> {
        Ok(())
    }

    async fn sync(&self) -> Result<(), ArchiveError> {
        Ok(())
    }
}

/// Opens the state of `dir` and crawls; prints resident memory and time per fetch.
fn measure(dir: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let clock = Arc::new(Clock::starting_at(START));
        let world = Shared(Arc::new(World {
            clock: clock.clone(),
            fetches: AtomicU32::new(0),
            records: AtomicU64::new(0),
            warm: AtomicU64::new(0),
            over: Notify::new(),
        }));
        let db = Arc::new(Db::open(&dir.join("state"), &DbSettings::default()).expect("opens"));
        let (state, _) = State::open(parts(dir, db), START).expect("opens");
        let edge = Arc::new(Edge {
            clock,
            resolve: world.clone(),
            fetch: world.clone(),
            store: world.clone(),
        });
        let options = Options {
            extract: Default::default(),
            content: Default::default(),
            dns: false,
            revisits: true,
            sync_interval: Span::secs(60),
            disks: Vec::new(),
            wake: Default::default(),
            visits: tokio::runtime::Handle::current(),
        };
        let mut crawl = Crawl::new(edge, state, options);
        let (_commands, inbox) = tokio::sync::mpsc::channel(1);
        tokio::select! {
            biased;
            () = world.0.over.notified() => {}
            ended = crawl.run(&[], inbox) => panic!("the crawl ended too early: {ended:?}"),
        }
        let spent = processor_us() - world.0.warm.load(Ordering::Relaxed);
        println!("{} {}", resident_kib(), spent / u64::from(MEASURED));
    });
}

fn parts(dir: &Path, db: Arc<Db>) -> Parts {
    let filter = FilterSettings { scope: Scope::Any, ..FilterSettings::default() };
    let rules = Rules::new(Default::default(), &Default::default());
    Parts {
        db,
        frontier: Frontier::new(Default::default(), rules, START),
        filter: Arc::new(Filter::new(&filter, &[]).expect("settings are right")),
        rules: Arc::new(LiveRules::new(RuleSet::default())),
        settings: Settings::default(),
        robots_settings: robots::Settings::default(),
        agent: "crawler".to_owned(),
        log: CrawlLog::open(dir, 1 << 28).expect("opens"),
        rule_log: JsonLog::open(&dir.join("rules.jsonl")).expect("opens"),
        repeats: RepeatSettings::default(),
        dust: Dust { mode: DustMode::Off, ..Dust::default() },
    }
}

/// Returns the resident memory of the process.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let line = line.expect("the kernel says so").trim();
    line.trim_end_matches(" kB").parse().expect("a number")
}

/// Returns the processor time of this thread, in microseconds.
fn processor_us() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("this is Linux");
    let spent = text.split(' ').next().and_then(|spent| spent.parse::<u64>().ok());
    spent.expect("nanoseconds come first") / 1000
}
