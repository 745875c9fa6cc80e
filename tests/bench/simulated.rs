//! A crawl in virtual time over a state that was written beforehand: what `frontier` and `growth`
//! measure. Network, names and archive are simulated, so that what is left is the crawl itself.

use std::net::IpAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use crawler::archive::{ArchiveError, Capture, DnsCapture, Position, RecordAt, Written};
use crawler::clock::{Clock, Timestamp};
use crawler::crawl::log::{CrawlLog, JsonLog};
use crawler::crawl::{
    Crawl, Dust, DustMode, Edge, Options, Parts, RepeatSettings, Settings, State, Store,
};
use crawler::db::families::meta::{self, Counters, QueueShape, Serials};
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

const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);

/// A state: over how many hosts how many URLs are known, of which the last ones wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub known: u32,
    pub waiting: u32,
    pub hosts: u32,
}

/// Bytes of table files per known URL.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disk {
    /// Of the rows of the seen test.
    pub seen: f64,
    /// Of everything.
    pub all: f64,
}

/// Runs this program again for one step; returns what it says. Steps are processes, so that one
/// opens what another has written, as after a restart.
pub(crate) fn step(arguments: &[&str], dir: &Path) -> String {
    let program = std::env::current_exe().expect("the program's own path");
    let output = Command::new(program).args(arguments).arg(dir).output();
    let output = output.expect("the program runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn host_name(host: u32) -> Host {
    Host::new(&format!("h{host}.example{}.org", host % 977))
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

impl Shape {
    /// Returns URL `n`; those of one host are as many numbers apart as there are hosts.
    pub(crate) fn url(self, n: u32) -> CrawlUrl {
        let host = host_name(n % self.hosts);
        let text = format!("http://{host}{}", path(n));
        CrawlUrl::parse(&text).expect("a URL of the benchmark")
    }

    /// Writes the state, as a crawl that was stopped leaves it.
    pub(crate) fn fill(self, dir: &Path) -> Disk {
        let db = Db::open(&dir.join("state"), &DbSettings::default()).expect("opens");
        let per_url = |db: &Db| db.totals().disk_bytes as f64 / f64::from(self.known);
        self.in_batches(&db, |batch, n| {
            seen::put_itself(batch, &db, self.url(n).fingerprint(), (self.hops(n), None));
        });
        let seen = per_url(&db);
        self.fill_hosts(&db);
        self.in_batches(&db, |batch, n| self.put_url(batch, &db, n));
        let mut batch = Batch::default();
        let (known, queued) = (u64::from(self.known), u64::from(self.waiting));
        let counters =
            Counters { discovered: known, queued, done: known - queued, ..Counters::default() };
        meta::put_counters(&mut batch, &db, &counters);
        // As a crawl keeps it; without it opening counts the queue, and reads every URL for that.
        let mut shape = QueueShape::default();
        let waiting = (0..self.known).filter(|n| self.waits(*n));
        waiting.for_each(|n| shape.add(HOPS_MAX, self.priority(n)));
        meta::put_shape(&mut batch, &db, &shape);
        let row = u64::from(self.hosts) + known + 1;
        meta::put_serials(&mut batch, &db, &Serials { host: self.hosts, row, probe: 0 });
        db.commit(batch).expect("commits");
        db.sync().expect("syncs");
        let disk = Disk { seen, all: per_url(&db) };
        // So does a crawl keep what its scope is measured from; without that the first run after it
        // looks for seeds among all URLs, as it does after an upgrade.
        State::open(parts(dir, Arc::new(db)), START).expect("opens");
        disk
    }

    fn in_batches(self, db: &Db, put: impl Fn(&mut Batch, u32)) {
        for first in (0..self.known).step_by(1000) {
            let mut batch = Batch::default();
            (first..self.known.min(first + 1000)).for_each(|n| put(&mut batch, n));
            db.commit(batch).expect("commits");
        }
    }

    /// Those that wait come last: they were found last.
    fn waits(self, n: u32) -> bool {
        n >= self.known - self.waiting
    }

    fn fill_hosts(self, db: &Db) {
        let settings = robots::Settings::default();
        let none = FetchedRobots::Status { status: 404, max_age: None, retry_after: None };
        let robots = robots::after_fetch(None, none, START, &settings).to_bytes();
        let waiting = |id: u32| match self.waiting / self.hosts {
            0 => u64::from(id >= self.hosts - self.waiting),
            each => u64::from(each),
        };
        for id in 0..self.hosts {
            let mut batch = Batch::default();
            let mut record = HostRecord::new(HostId(id), host_name(id));
            record.queued = waiting(id);
            hosts::put_id(&mut batch, db, record.name.as_str(), record.id);
            let place = Place { priority: (id % 4) as u8 + 2, serial: u64::from(id) + 1 };
            if record.queued > 0 {
                line::restand(&mut batch, db, &mut record, Standing::InLine(place));
            }
            hosts::put(&mut batch, db, &record);
            robots_rows::put(&mut batch, db, &self.url(id).origin(), &robots);
            db.commit(batch).expect("commits");
        }
    }

    fn priority(self, n: u32) -> u8 {
        (n % self.hosts % 4) as u8 + 2
    }

    /// Returns the links from a seed to a URL: the more the later it was found, so that no page
    /// that waits leads nearer to what is known.
    fn hops(self, n: u32) -> u16 {
        let each = self.known / u32::from(HOPS_MAX) + 1;
        if self.waits(n) { HOPS_MAX } else { 1 + (n / each) as u16 }
    }

    fn put_url(self, batch: &mut Batch, db: &Db, n: u32) {
        let url = self.url(n);
        let print = url.fingerprint();
        let host = n % self.hosts;
        let serial = u64::from(self.hosts) + u64::from(n) + 1;
        let place = Place { priority: self.priority(n), serial };
        let record = UrlRecord {
            url: url.to_string(),
            via: Some(print),
            path: "L".repeat(usize::from(self.hops(n))),
            hops: self.hops(n),
            hops_max: None,
            discovered: START,
            state: if self.waits(n) { UrlState::Queued(place) } else { done() },
            attempts: 0,
            busy: 0,
        };
        urls::put(batch, db, print, &record);
        if self.waits(n) {
            queue::put(batch, db, HostId(host), place, &queue::Item::Page(print));
        }
    }
}

/// Links from a seed to the URLs that wait, the farthest ones.
const HOPS_MAX: u16 = 3;

/// Returns the path of URL `n`.
pub(crate) fn path(n: u32) -> String {
    format!("/section/{}/page-{n}.html", n % 37)
}

/// What is measured of a crawl.
pub(crate) struct Run {
    /// Fetches before the measurement begins: caches and allocators settle.
    pub warm: u32,
    /// Fetches that are measured; with those before fewer than wait, so that work never runs out.
    pub measured: u32,
    /// Media type of all pages.
    pub media_type: &'static str,
    /// Renders the page of a URL, the nth that is fetched.
    pub page: fn(Shape, &CrawlUrl, u32) -> Bytes,
}

/// The simulated edges.
struct World {
    shape: Shape,
    run: Run,
    clock: Arc<Clock>,
    fetches: AtomicU32,
    records: AtomicU64,
    /// Processor time at the end of the warm-up.
    warm: AtomicU64,
    over: Notify,
}

/// The world, as the crawl's edge wants three of it.
#[derive(Clone)]
struct Shared(Arc<World>);

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Shared").field(&self.0.shape).finish()
    }
}

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
        let world = &*self.0;
        let began = world.clock.now();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let count = world.fetches.fetch_add(1, Ordering::Relaxed) + 1;
        if count == world.run.warm {
            world.warm.store(processor_us(), Ordering::Relaxed);
        } else if count == world.run.warm + world.run.measured {
            world.over.notify_one();
        }
        let body = (world.run.page)(world.shape, &request.url, count);
        let media_type = world.run.media_type;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {media_type}\r\n\r\n");
        Outcome::Answer(Box::new(Answer {
            status: if request.purpose == Purpose::Robots { 404 } else { 200 },
            version: HttpVersion::Http11,
            headers: vec![("content-type".to_owned(), Bytes::from_static(media_type.as_bytes()))],
            request_block: Bytes::from_static(b"GET / HTTP/1.1\r\n\r\n"),
            head_block: Bytes::from(head),
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

/// What a crawl came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// Seconds by the wall clock until the frontier could give leases.
    pub opened: f64,
    /// Resident memory then, in KiB.
    pub resident_opened: u64,
    /// Resident memory at the end, in KiB.
    pub resident: u64,
    /// Processor time of the loop's thread per page, in microseconds.
    pub per_page: u64,
}

/// Opens the state of `dir` and crawls; `after` is given the state when all is over.
pub(crate) fn measure(dir: &Path, shape: Shape, run: Run, after: impl FnOnce(&Db)) -> Measured {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let began = wall_us();
        let db = Arc::new(Db::open(&dir.join("state"), &DbSettings::default()).expect("opens"));
        let (state, _) = State::open(parts(dir, db.clone()), START).expect("opens");
        let opened = (wall_us() - began) as f64 / 1e6;
        let resident_opened = resident_kib();
        let per_page = crawl(state, shape, run).await;
        let resident = resident_kib();
        after(&db);
        Measured { opened, resident_opened, resident, per_page }
    })
}

async fn crawl(state: State, shape: Shape, run: Run) -> u64 {
    let clock = Arc::new(Clock::starting_at(START));
    let world = Shared(Arc::new(World {
        shape,
        run,
        clock: clock.clone(),
        fetches: AtomicU32::new(0),
        records: AtomicU64::new(0),
        warm: AtomicU64::new(0),
        over: Notify::new(),
    }));
    let edge = Arc::new(Edge {
        clock,
        resolve: world.clone(),
        fetch: world.clone(),
        store: world.clone(),
    });
    let options = Options { dns: false, ..Options::new(tokio::runtime::Handle::current()) };
    let mut crawl = Crawl::new(edge, state, options);
    let (_commands, inbox) = tokio::sync::mpsc::channel(1);
    tokio::select! {
        biased;
        () = world.0.over.notified() => {}
        ended = crawl.run(&[], inbox) => panic!("the crawl ended too early: {ended:?}"),
    }
    let spent = processor_us() - world.0.warm.load(Ordering::Relaxed);
    spent / u64::from(world.0.run.measured)
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

/// Returns the time of a clock that only goes on, in microseconds.
pub(crate) fn wall_us() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    (time.tv_sec as u64) * 1_000_000 + (time.tv_nsec as u64) / 1000
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
