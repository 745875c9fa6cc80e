//! Whole crawls in virtual time, over seeded webs, with crashes: what proves I1 to I6.
//!
//! Replay one with `SIM_SEED=n cargo test --test all sim::`; `SIM_SEEDS=n` runs n seeds instead of
//! the few that every test run has time for, and `-- --nocapture` says how many fetches were
//! judged.

mod content;
mod crowd;
mod declared;
mod exceptions;
mod explain;
mod forms;
mod found;
mod groups;
mod names;
mod outage;
mod remaining;
mod robots;
mod scripted;
mod seeds;
mod self_links;
mod steer;
mod store;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crawler::clock::{ByteSize, Clock, Span, Timestamp};
use crawler::crawl::log::{Line, files};
use crawler::crawl::{
    Command, Crawl, DustMode, DustSettings, Edge, Ended, Options, Parts, RepeatSettings, SeedUrl,
    Settings, Snapshot, State, Summary,
};
use crawler::db::Db;
use crawler::demo::{Draft, Judge, Judgement, Protect, SimWeb, SiteSpec, WebSpec};
use crawler::dust::{LiveRules, RuleSet};
use crawler::filter::{Filter, Settings as FilterSettings};
use crawler::frontier::{Frontier, Grouping, Politeness, Rules, Settings as FrontierSettings};
use store::{Crash, MemoryStore};
use tokio::sync::mpsc;

/// When all simulated crawls begin.
const START: Timestamp = Timestamp::from_millis(1_790_000_000_000);

/// One simulated crawl: a web, a state directory in memory, an archive in memory.
struct World {
    web: Arc<WebSpec>,
    env: crawler::db::MemoryEnv,
    logs: tempfile::TempDir,
    store: MemoryStore,
    politeness: Politeness,
    frontier: FrontierSettings,
    filter: FilterSettings,
    limits: Settings,
    dust: DustSettings,
    repeats: RepeatSettings,
    outage: Option<outage::Outage>,
    /// Directories whose disks are watched.
    disks: Vec<std::path::PathBuf>,
    /// Seeds besides the homes of sites.
    seeds: Vec<crawler::url::CrawlUrl>,
    /// Sites whose homes are seeds.
    homes: usize,
}

/// Fetches that all worlds of this process have judged.
static JUDGED: AtomicU64 = AtomicU64::new(0);

/// How a run ended.
enum Run {
    Ended(Box<Summary>),
    Crashed,
}

impl World {
    fn new(web: WebSpec) -> World {
        World {
            web: Arc::new(web),
            env: crawler::db::MemoryEnv::new().expect("memory is there"),
            logs: tempfile::tempdir().expect("a directory for logs"),
            store: MemoryStore::default(),
            politeness: Politeness {
                factor: 2.0,
                unreachable_initial: Span::secs(10),
                unreachable_max: 3,
                ..Politeness::default()
            },
            frontier: FrontierSettings { in_flight_max: 16, ..FrontierSettings::default() },
            filter: FilterSettings { total_pages_max: 20_000, ..FilterSettings::default() },
            limits: Settings { robots_failures_max: 3, ..Settings::default() },
            dust: DustSettings { mode: DustMode::Off, ..DustSettings::default() },
            repeats: RepeatSettings::default(),
            outage: None,
            disks: Vec::new(),
            seeds: Vec::new(),
            homes: usize::MAX,
        }
    }

    /// Opens the state of a crawl that does not run.
    fn state(&self) -> Db {
        Db::open_in_memory(Path::new("/state"), &Default::default(), &self.env).expect("opens")
    }

    fn parts(&self, filter: Filter, now: Timestamp) -> Parts {
        let db_settings =
            crawler::db::Settings { cache: ByteSize::mib(16), ..crawler::db::Settings::default() };
        let db = Db::open_in_memory(Path::new("/state"), &db_settings, &self.env).expect("opens");
        let rules = Rules::new(self.politeness.clone(), &Default::default());
        Parts {
            db: Arc::new(db),
            frontier: Frontier::new(self.frontier.clone(), rules, now),
            filter: Arc::new(filter),
            rules: Arc::new(LiveRules::new(RuleSet::default())),
            settings: self.limits.clone(),
            robots_settings: crawler::robots::Settings::default(),
            agent: "crawler".to_owned(),
            log: crawler::crawl::log::CrawlLog::open(self.logs.path(), 1 << 24).expect("opens"),
            rule_log: crawler::crawl::log::JsonLog::open(&self.logs.path().join("rules.jsonl"))
                .expect("opens"),
            repeats: self.repeats.clone(),
            dust: crawler::crawl::Dust {
                mode: self.dust.mode,
                settings: self.dust.book(),
                ..Default::default()
            },
        }
    }

    /// Runs from `start` until the crawl ends, or the store says that the process dies.
    /// Nobody may be hurried meanwhile.
    async fn run(&self, start: Timestamp, crash: Crash) -> (Run, Timestamp) {
        let gap = self.politeness.min_delay.get();
        let (run, now, judgement) = self.judged(start, gap, crash).await;
        assert_eq!(judgement.violations, 0, "{:?}", judgement.examples);
        assert!(judgement.in_flight_peak <= 1);
        (run, now)
    }

    fn cut(&self, web: &SimWeb, clock: &Arc<Clock>) -> outage::Cut {
        outage::Cut { web: web.clone(), clock: clock.clone(), outage: self.outage }
    }

    /// Runs in the same way, and shows every view of it to `watch`.
    async fn watched(
        &self,
        start: Timestamp,
        crash: Crash,
        watch: impl FnMut(&Snapshot) + Send + 'static,
    ) -> (Run, Timestamp) {
        let gap = self.politeness.min_delay.get();
        let (run, now, judgement) = self.seen(start, gap, crash, watch).await;
        assert_eq!(judgement.violations, 0, "{:?}", judgement.examples);
        (run, now)
    }

    /// Runs in the same way, under a judge who wants `gap` between two requests of a host.
    async fn judged(
        &self,
        start: Timestamp,
        gap: Duration,
        crash: Crash,
    ) -> (Run, Timestamp, Judgement) {
        let nobody = |_| std::future::pending();
        self.driven(start, gap, crash, nobody, |_| ()).await
    }

    /// Runs in the same way, while an operator gives orders; when he is done the crawl goes on.
    async fn steered<O: Future<Output = ()>>(
        &self,
        start: Timestamp,
        gap: Duration,
        crash: Crash,
        operator: impl FnOnce(mpsc::Sender<Command>) -> O,
    ) -> (Run, Timestamp, Judgement) {
        self.driven(start, gap, crash, operator, |_| ()).await
    }

    /// Runs in the same way, while somebody watches.
    async fn seen(
        &self,
        start: Timestamp,
        gap: Duration,
        crash: Crash,
        watch: impl FnMut(&Snapshot) + Send + 'static,
    ) -> (Run, Timestamp, Judgement) {
        let nobody = |_| std::future::pending();
        self.driven(start, gap, crash, nobody, watch).await
    }

    async fn driven<O: Future<Output = ()>>(
        &self,
        start: Timestamp,
        gap: Duration,
        crash: Crash,
        operator: impl FnOnce(mpsc::Sender<Command>) -> O,
        mut watch: impl FnMut(&Snapshot) + Send + 'static,
    ) -> (Run, Timestamp, Judgement) {
        let clock = Arc::new(Clock::starting_at(start));
        let web = SimWeb::new(self.web.clone(), clock.clone());
        web.log().judge(Judge::new(Protect::Hosts, move |_| gap));
        let mut homes = self.web.homes();
        homes.truncate(self.homes);
        homes.extend(self.seeds.iter().cloned());
        let filter = Filter::new(&self.filter, &homes).expect("settings are right");
        let (state, _) = State::open(self.parts(filter, start), start).expect("opens");
        self.store.resume(&state.archive_position(), crash);
        let edge = Arc::new(Edge {
            clock: clock.clone(),
            resolve: self.cut(&web, &clock),
            fetch: self.cut(&web, &clock),
            store: self.store.clone(),
        });
        let runtime = tokio::runtime::Handle::current();
        let options = Options { disks: self.disks.clone(), ..Options::new(runtime) };
        let mut crawl = Crawl::new(edge, state, options);
        let mut views = crawl.snapshots();
        let watcher = tokio::spawn(async move {
            while views.changed().await.is_ok() {
                if let Some(view) = &*views.borrow_and_update() {
                    watch(view);
                }
            }
        });
        let (commands, inbox) = mpsc::channel(1);
        let seeds: Vec<SeedUrl> =
            homes.into_iter().map(|url| SeedUrl { url, priority: None, hops_max: None }).collect();
        let db = Arc::downgrade(crawl.state().db());
        let died = self.store.died();
        let operator = operator(commands);
        let run = tokio::select! {
            biased;
            () = died => Run::Crashed,
            // What it does is over before the crawl is; it never completes this select.
            () = async {
                operator.await;
                std::future::pending().await
            } => unreachable!("nothing follows"),
            summary = crawl.run(&seeds, inbox) => {
                Run::Ended(Box::new(summary.expect("no failure of our own")))
            }
        };
        drop(crawl);
        watcher.await.expect("it ends with the crawl");
        // Aborted visits hold the database until the runtime has dropped them.
        for _ in 0..1000 {
            if db.strong_count() == 0 {
                break;
            }
            tokio::task::yield_now().await;
        }
        let judgement = web.log().verdict().expect("a judge was appointed");
        JUDGED.fetch_add(judgement.requests, Ordering::Relaxed);
        (run, clock.now(), judgement)
    }
}

fn seeds(default: u64) -> Vec<u64> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    match (number("SIM_SEED"), number("SIM_SEEDS")) {
        (Some(seed), _) => vec![seed],
        (None, Some(count)) => (0..count).collect(),
        (None, None) => (0..default).collect(),
    }
}

/// Returns a healthy web with something to learn on every host.
fn dusty() -> Draft {
    Draft { hosts: 4, pages: (120, 300), sick: 0, touchy: 0, dust: 1000, ..Draft::default() }
}

fn balanced(summary: &Summary) {
    assert_eq!(summary.counters.imbalance(), 0, "{:?}", summary.counters);
    assert_eq!(summary.counters.in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn a_web_of_many_kinds_is_crawled_to_its_end_and_nobody_is_hurried() {
    for seed in seeds(6) {
        let world = World::new(WebSpec::draw(
            seed,
            &Draft { hosts: 30, pages: (3, 60), ..Draft::default() },
        ));
        let (run, _) = world.run(START, Crash::Never).await;
        let Run::Ended(summary) = run else { panic!("seed {seed}: nothing crashes here") };
        assert_eq!(summary.ended, Ended::Complete, "seed {seed}: {summary:?}");
        balanced(&summary);
        assert!(summary.counters.done > 100, "seed {seed}: {:?}", summary.counters);
        assert_eq!(world.store.repeated(), 0, "seed {seed}");
    }
    println!("{} fetches judged so far", JUDGED.load(Ordering::Relaxed));
}

/// The budget was asked after robots.txt: each host that was left was still asked for that.
#[tokio::test(start_paused = true)]
async fn no_host_is_asked_for_its_robots_txt_once_the_budget_is_spent() {
    let sites = ["a.test", "b.test", "c.test"].map(|name| SiteSpec::new(name, 3));
    let mut world = World::new(WebSpec::new(6, sites.to_vec()));
    world.filter.total_pages_max = 1;
    world.frontier.back_queues = 1;
    let (run, _) = world.run(START, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    assert_eq!(summary.counters.done, 1, "{summary:?}");
    assert_eq!(world.store.robots().len(), 1, "{summary:?}");
}

#[tokio::test(start_paused = true)]
async fn crashes_lose_no_url_and_repeat_only_what_was_in_flight() {
    let mut all_crashes = 0;
    for seed in seeds(4) {
        // Without dust: session ids depend on when a page was first seen.
        let draft =
            Draft { hosts: 12, pages: (3, 40), sick: 0, touchy: 0, dust: 0, ..Draft::default() };
        let calm = World::new(WebSpec::draw(seed, &draft));
        calm.run(START, Crash::Never).await;
        let want = calm.store.urls();

        let world = World::new(WebSpec::draw(seed, &draft));
        let (mut now, mut crashes) = (START, 0u64);
        loop {
            let crash = Crash::after(seed, crashes);
            let (run, at) = world.run(now, crash).await;
            now = at.plus(Duration::from_millis(50));
            match run {
                Run::Crashed => crashes += 1,
                Run::Ended(summary) => {
                    balanced(&summary);
                    break;
                }
            }
            assert!(crashes < 10_000, "seed {seed}: the crawl does not get on");
        }
        assert!(crashes > 3, "seed {seed}: {crashes} crashes prove little");
        assert_eq!(world.store.urls(), want, "seed {seed} after {crashes} crashes");
        assert_eq!(world.store.repeated(), 0, "seed {seed}: a record stands twice");
        let most = crashes * world.frontier.in_flight_max as u64;
        assert!(world.store.refetched() <= most, "seed {seed}");
        all_crashes += crashes;
    }
    let judged = JUDGED.load(Ordering::Relaxed);
    println!("{judged} fetches judged so far, {all_crashes} crashes");
}

#[tokio::test(start_paused = true)]
async fn crashes_amid_learning_and_probing_lose_no_document() {
    let mut suppressed = 0;
    for seed in seeds(2) {
        let draft = dusty();
        let calm = World::new(WebSpec::draw(seed, &draft));
        calm.run(START, Crash::Never).await;

        let mut world = World::new(WebSpec::draw(seed, &draft));
        world.dust.mode = DustMode::Enforce;
        let (mut now, mut crashes) = (START, 0u64);
        let summary = loop {
            // Far enough apart for rules to be proved, put in force and interrupted in both.
            let Crash::AfterRecords(records) = Crash::after(seed, crashes) else { unreachable!() };
            let (run, at) = world.run(now, Crash::AfterRecords(records * 3)).await;
            now = at.plus(Duration::from_millis(50));
            match run {
                Run::Crashed => crashes += 1,
                Run::Ended(summary) => break summary,
            }
            assert!(crashes < 10_000, "seed {seed}: the crawl does not get on");
        };
        balanced(&summary);
        assert!(crashes > 3, "seed {seed}: {crashes} crashes prove little");
        let (all, kept) = (calm.documents(), world.documents());
        let lost: Vec<_> = all.difference(&kept).collect();
        assert!(lost.is_empty(), "seed {seed} after {crashes} crashes: lost {lost:?}");
        assert_eq!(world.store.repeated(), 0, "seed {seed}: a record stands twice");
        suppressed += summary.counters.suppressed;
        println!(
            "seed {seed}: {crashes} crashes, {} suppressed, {} probes",
            summary.counters.suppressed, summary.counters.probe_requests
        );
    }
    assert!(suppressed > 0, "no rule was in force");
}

#[tokio::test(start_paused = true)]
async fn politeness_holds_over_a_crash() {
    for seed in seeds(3) {
        let draft = Draft { hosts: 3, pages: (20, 40), sick: 0, touchy: 0, ..Draft::default() };
        let world = World::new(WebSpec::draw(seed, &draft));
        let mut now = START;
        for crashes in 0..40 {
            let (run, at) = world.run(now, Crash::after(seed, crashes)).await;
            now = at;
            if matches!(run, Run::Ended(_)) {
                break;
            }
        }
        let log = crawler::crawl::audit::audit(world.logs.path(), None).expect("the log is read");
        assert_eq!(log.violations.len(), 0, "seed {seed}: {:?}", log.violations);
        assert!(log.requests > 20);
    }
}

#[tokio::test(start_paused = true)]
async fn a_fault_in_the_gap_is_caught() {
    let draft = Draft { hosts: 4, pages: (10, 20), sick: 0, touchy: 0, ..Draft::default() };
    let mut world = World::new(WebSpec::draw(1, &draft));
    world.politeness.min_delay = Span::millis(0);
    world.politeness.factor = 0.0;
    // The judge wants a second where the crawl was told to keep none.
    let broken = {
        let mut strict = World::new((*world.web).clone());
        strict.politeness = world.politeness.clone();
        strict
    };
    let (run, _, judgement) = broken.judged(START, Duration::from_secs(1), Crash::Never).await;
    assert!(matches!(run, Run::Ended(_)), "nothing crashes here");
    assert!(judgement.violations > 0, "a crawl without gaps must be found out");
}

#[tokio::test(start_paused = true)]
async fn hosts_on_one_address_are_kept_apart_where_the_group_is_the_address() {
    let draft =
        Draft { hosts: 24, pages: (3, 12), sick: 0, hosts_per_address: 6, ..Draft::default() };
    let mut world = World::new(WebSpec::draw(7, &draft));
    world.politeness.group = Grouping::Ip;
    let (run, _) = world.run(START, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    let log = crawler::crawl::audit::audit(world.logs.path(), None).expect("the log is read");
    assert_eq!(log.violations.len(), 0, "{:?}", log.violations);
}

/// Also hosts that were never asked before, and those whose turn comes when their hours are over.
#[tokio::test(start_paused = true)]
async fn no_request_is_made_outside_the_allowed_hours() {
    let draft = Draft { hosts: 12, pages: (10, 30), sick: 0, ..Draft::default() };
    let mut world = World::new(WebSpec::draw(11, &draft));
    let second_of_day = |at: Timestamp| at.as_millis() / 1000 % 86_400;
    let opens = (second_of_day(START) / 3600 + 2) % 24;
    // One minute, so that the crawl takes several days.
    let window = format!("{opens:02}:00-{opens:02}:01 UTC");
    world.politeness.windows = vec![window.parse().expect("a window")];
    let (run, _) = world.run(START, Crash::Never).await;
    let Run::Ended(summary) = run else { panic!("nothing crashes here") };
    balanced(&summary);
    assert_eq!(summary.ended, Ended::Complete);
    let mut days = std::collections::BTreeSet::new();
    for line in world.lines() {
        let at = Timestamp::from_millis(line.at_ms);
        let second = second_of_day(at);
        assert_eq!((second / 3600, second / 60 % 60), (opens, 0), "{}", line.url);
        days.insert(at.as_millis() / 86_400_000);
    }
    assert!(days.len() > 1, "the hours end before the crawl does");
}

impl World {
    /// Returns the lines of the crawl log.
    fn lines(&self) -> Vec<Line> {
        let files = files(self.logs.path()).expect("the log is there");
        let text: String =
            files.iter().map(|file| std::fs::read_to_string(file).expect("is read")).collect();
        text.lines().map(|line| serde_json::from_str(line).expect("a whole line")).collect()
    }

    /// Returns the documents of the web that were fetched under some URL.
    fn documents(&self) -> std::collections::BTreeSet<crawler::demo::DocumentId> {
        let urls = self.store.urls();
        let parsed = urls.iter().filter_map(|url| crawler::url::CrawlUrl::parse(url).ok());
        parsed
            .filter_map(|url| match self.web.truth(&url) {
                Some(crawler::demo::Truth::Document { id, .. }) => Some(id),
                _ => None,
            })
            .collect()
    }
}

#[tokio::test(start_paused = true)]
async fn learned_rules_save_fetches_and_cost_no_document() {
    // A small web may have too few duplicates of any one kind to prove a rule; several have not.
    let (mut suppressed, mut saved) = (0, 0);
    for seed in seeds(2) {
        let draft = dusty();
        let mut crawled = Vec::new();
        for dust in [DustMode::Off, DustMode::Enforce] {
            let mut world = World::new(WebSpec::draw(seed, &draft));
            world.dust.mode = dust;
            let (run, _) = world.run(START, Crash::Never).await;
            let Run::Ended(summary) = run else { panic!("nothing crashes here") };
            balanced(&summary);
            assert_eq!(summary.ended, Ended::Complete);
            crawled.push((world.documents(), summary.counters));
        }
        let [(all, plain), (kept, learned)] = &crawled[..] else { unreachable!("two crawls") };
        let lost: Vec<_> = all.difference(kept).collect();
        println!(
            "seed {seed}: {} documents, {} requests without rules, {} with them ({} probes, {} \
             suppressed), lost {}",
            all.len(),
            plain.requests,
            learned.requests,
            learned.probe_requests,
            learned.suppressed,
            lost.len()
        );
        assert!(lost.is_empty(), "seed {seed}: lost {lost:?}");
        suppressed += learned.suppressed;
        saved += plain.requests as i64 - learned.requests as i64;
    }
    assert!(suppressed > 0, "nothing was learned");
    assert!(saved > 0, "learning cost {} requests more than it saved", -saved);
}
