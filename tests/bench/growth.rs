//! Measures whether a page costs more the more URLs are known: 10^4 to 10^7 of them over 10^2 to
//! 10^5 hosts, of which the last 10,000 wait.
//!
//! `cargo bench --profile dev --bench growth [-- SIZE ...]`, SIZE one of `4` to `7`. Each state is
//! written by one process and opened by another, as after a restart. That one says how long opening
//! took and how much memory is resident, then runs the whole crawl in virtual time: every page has
//! 40 links, 38 of them to known URLs of its host and two to new ones, a title and a paragraph. At
//! last it asks the seen test for 40 known and 40 new URLs of a host at once, over and over.
//!
//! | column | meaning |
//! |---|---|
//! | seen B | bytes of table files per URL once all rows of the seen test were written |
//! | disk B | the same of the whole state |
//! | open s | wall clock from nothing to a frontier that gives leases |
//! | MiB | resident memory, when opened and at the end |
//! | us/page | processor time of everything but network and archive, per page |
//! | known, new us | wall clock per URL asked for |

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

/// URLs that wait, and those known for each host.
const WAITING: u32 = 10_000;
const PER_HOST: u32 = 100;
/// Links of a page to URLs that are known, and to new ones.
const KNOWN_LINKS: u32 = 38;
const NEW_LINKS: u32 = 2;
/// Fetches before the measurement begins: caches and allocators settle.
const WARM: u32 = 1_000;
/// Fetches that are measured; with those before fewer than [`WAITING`], so that work never runs
/// out.
const MEASURED: u32 = 6_000;
/// Batches of the seen test that are timed.
const TESTS: u32 = 500;
const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    match &arguments[..] {
        [step, known, dir] => {
            let size = Size { known: known.parse().expect("a number") };
            match step.as_str() {
                "fill" => size.fill(Path::new(dir)),
                _ => size.measure(Path::new(dir)),
            }
        }
        [] => compare(&["4", "5", "6", "7"].map(str::to_owned)),
        sizes => compare(sizes),
    }
}

fn compare(sizes: &[String]) {
    println!("| known | hosts | seen B | disk B | open s | MiB | us/page | known us | new us |");
    println!("|---|---|---|---|---|---|---|---|---|");
    for size in sizes {
        let size = Size { known: 10u32.pow(size.parse().expect("a power of ten")) };
        let dir = tempfile::tempdir().expect("a directory for the state");
        let disk = size.step("fill", dir.path());
        let figures = size.step("measure", dir.path());
        println!("| {} | {} | {disk} | {figures} |", size.known, size.hosts());
    }
}

/// How many URLs are known.
#[derive(Clone, Copy, Debug)]
struct Size {
    known: u32,
}

impl Size {
    fn hosts(self) -> u32 {
        self.known / PER_HOST
    }

    /// Takes one step in a process of its own, and returns what it says.
    fn step(self, step: &str, dir: &Path) -> String {
        let program = std::env::current_exe().expect("the program's own path");
        let dir = dir.to_str().expect("a path in UTF-8");
        let output = Command::new(program).args([step, &self.known.to_string(), dir]).output();
        let output = output.expect("the program runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{step} {}: {errors}", self.known);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn url(self, n: u32) -> CrawlUrl {
        let host = host_name(n % self.hosts());
        let text = format!("http://{host}/section/{}/page-{n}.html", n % 37);
        CrawlUrl::parse(&text).expect("a URL of the benchmark")
    }
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

impl Size {
    /// Writes a state, as a crawl that was stopped leaves it; says what it occupies per URL.
    fn fill(self, dir: &Path) {
        let db = Db::open(&dir.join("state"), &DbSettings::default()).expect("opens");
        let per_url = |db: &Db| db.totals().disk_bytes as f64 / f64::from(self.known);
        let numbers: Vec<u32> = (0..self.known).collect();
        for chunk in numbers.chunks(1000) {
            let mut batch = Batch::default();
            for n in chunk {
                seen::put(&mut batch, &db, self.url(*n).fingerprint(), seen::Known::Itself);
            }
            db.commit(batch).expect("commits");
        }
        let seen = per_url(&db);
        self.fill_hosts(&db);
        for chunk in numbers.chunks(1000) {
            let mut batch = Batch::default();
            chunk.iter().for_each(|n| self.put_url(&mut batch, &db, *n));
            db.commit(batch).expect("commits");
        }
        let mut batch = Batch::default();
        let (known, queued) = (u64::from(self.known), u64::from(WAITING));
        let counters =
            Counters { discovered: known, queued, done: known - queued, ..Counters::default() };
        meta::put_counters(&mut batch, &db, &counters);
        let row = u64::from(self.hosts()) + known + 1;
        meta::put_serials(&mut batch, &db, &Serials { host: self.hosts(), row, probe: 0 });
        db.commit(batch).expect("commits");
        db.sync().expect("syncs");
        println!("{seen:.1} | {:.1}", per_url(&db));
    }

    /// Those that wait come last: they were found last.
    fn waits(self, n: u32) -> bool {
        n >= self.known - WAITING
    }

    fn fill_hosts(self, db: &Db) {
        let settings = robots::Settings::default();
        let none = FetchedRobots::Status { status: 404, retry_after: None };
        let robots = robots::after_fetch(None, none, START, &settings).to_bytes();
        let waiting = |id: u32| match WAITING / self.hosts() {
            0 => u64::from(id >= self.hosts() - WAITING),
            each => u64::from(each),
        };
        for id in 0..self.hosts() {
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

    fn put_url(self, batch: &mut Batch, db: &Db, n: u32) {
        let url = self.url(n);
        let print = url.fingerprint();
        let host = n % self.hosts();
        let serial = u64::from(self.hosts()) + u64::from(n) + 1;
        let place = Place { priority: (host % 4) as u8 + 2, serial };
        let record = UrlRecord {
            url: url.to_string(),
            via: Some(print),
            path: "LLL".to_owned(),
            hops: 3,
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

/// The world of the benchmark: names, network and archive.
#[derive(Debug)]
struct World {
    size: Size,
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

impl World {
    /// Renders a page with links to URLs of its host, known ones all over and new ones.
    fn page(&self, url: &CrawlUrl, count: u32) -> Bytes {
        let hosts = self.size.hosts();
        let number = url.path().trim_end_matches(".html").rsplit('-').next();
        let n: u32 = number.and_then(|n| n.parse().ok()).unwrap_or(0);
        let mut html = format!("<title>Page {n}</title><p>The text of page {n}, the {count}.</p>");
        let known = (0..KNOWN_LINKS).map(|k| n % hosts + hosts * ((count * 31 + k * 7) % PER_HOST));
        let new = (0..NEW_LINKS).map(|k| n % hosts + hosts * (PER_HOST + count * NEW_LINKS + k));
        for to in known.chain(new) {
            html.push_str(&format!("<a href=\"/section/{}/page-{to}.html\">{to}</a> ", to % 37));
        }
        Bytes::from(html)
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
        let began = self.0.clock.now();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let count = self.0.fetches.fetch_add(1, Ordering::Relaxed) + 1;
        if count == WARM {
            self.0.warm.store(processor_us(), Ordering::Relaxed);
        } else if count == WARM + MEASURED {
            self.0.over.notify_one();
        }
        let body = self.0.page(&request.url, count);
        let head = Bytes::from_static(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n");
        Outcome::Answer(Box::new(Answer {
            status: if request.purpose == Purpose::Robots { 404 } else { 200 },
            version: HttpVersion::Http11,
            headers: vec![("content-type".to_owned(), Bytes::from_static(b"text/html"))],
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

impl Size {
    /// Opens the state of `dir` and crawls; prints what that took.
    fn measure(self, dir: &Path) {
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
            let resident = resident_kib() / 1024;
            let per_page = self.crawl(state).await;
            let at_end = resident_kib() / 1024;
            let known = self.time_seen(&db, 0);
            let new = self.time_seen(&db, self.hosts() * (PER_HOST + 1_000_000 / PER_HOST));
            println!("{opened:.2} | {resident}, {at_end} | {per_page} | {known:.2} | {new:.2}");
        });
    }

    async fn crawl(self, state: State) -> u64 {
        let clock = Arc::new(Clock::starting_at(START));
        let world = Shared(Arc::new(World {
            size: self,
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
        spent / u64::from(MEASURED)
    }

    /// Asks the seen test for 40 URLs of one host at a time, from number `first` on; returns
    /// microseconds per URL.
    fn time_seen(self, db: &Db, first: u32) -> f64 {
        let mut spent = 0;
        for test in 0..TESTS {
            let host = test.wrapping_mul(2_654_435_761) % self.hosts();
            let urls = (0..40).map(|k| self.url(first + host + self.hosts() * (k * 2)));
            let keys: Vec<_> = urls.map(|url| url.fingerprint()).collect();
            let began = wall_us();
            let found = seen::get_many(db, &keys).expect("answers");
            spent += wall_us() - began;
            assert_eq!(found.len(), keys.len());
        }
        spent as f64 / f64::from(TESTS * 40)
    }
}

fn wall_us() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    (time.tv_sec as u64) * 1_000_000 + (time.tv_nsec as u64) / 1000
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
