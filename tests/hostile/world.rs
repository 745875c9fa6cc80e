//! One crawl of one hostile host beside a healthy one, and the verdict on it.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crawler::archive::{About, Archive, Indexed};
use crawler::clock::{ByteSize, Clock, Span, Timestamp};
use crawler::crawl::log::{CrawlLog, JsonLog, Line};
use crawler::crawl::{
    Crawl, Dust, Edge, Ended, Options, Parts, RepeatSettings, SeedUrl, Settings, State, Summary,
};
use crawler::db::families::urls;
use crawler::db::{Db, MemoryEnv};
use crawler::dns::HickoryResolver;
use crawler::dust::{LiveRules, RuleSet};
use crawler::fetch::{HyperFetch, user_agent};
use crawler::filter::{Filter, Scope};
use crawler::frontier::{Frontier, Politeness, Rules, UrlState};
use crawler::url::CrawlUrl;
use flate2::read::MultiGzDecoder;

use super::site::{ADDRESS, Site, Speech, healthy, page_path, tally};
use crate::loopback::name_server::{NameServer, Reply as Dns};

/// What the web's URLs call their passwords in these tests; it stands nowhere but in pages.
const SECRET: &str = "secret";

/// Pages of the healthy site.
pub(crate) const HEALTHY_PAGES: usize = 12;

/// Every setting that a behaviour may need otherwise, all of them short.
pub(crate) struct Limits {
    pub(crate) fetch: crawler::fetch::Settings,
    pub(crate) dns: crawler::dns::Settings,
    pub(crate) politeness: Politeness,
    pub(crate) filter: crawler::filter::Settings,
    pub(crate) crawl: Settings,
    pub(crate) robots: crawler::robots::Settings,
    pub(crate) extract: crawler::extract::Settings,
    pub(crate) repeats: RepeatSettings,
}

impl Limits {
    fn small(name_server: SocketAddr, ca_file: &Path) -> Self {
        Limits {
            fetch: crawler::fetch::Settings {
                ca_file: Some(ca_file.to_owned()),
                robots_total: Span::millis(2_500),
                total: Span::millis(5_000),
                // What is slow on purpose never comes; what is not may have to wait for the
                // processor.
                first_byte: Span::millis(1_500),
                ..crate::loopback::client::small()
            },
            dns: crawler::dns::Settings {
                servers: vec![name_server],
                allow: vec![format!("{}/32", std::net::Ipv4Addr::from(ADDRESS)).parse().unwrap()],
                timeout: Span::millis(200),
                total: Span::millis(800),
                attempts: 1,
                negative_min: Span::millis(5),
                negative_max: Span::millis(20),
                failed_min: Span::millis(5),
                failed_max: Span::millis(20),
                ..crawler::dns::Settings::default()
            },
            politeness: Politeness {
                min_delay: Span::millis(1),
                max_delay: Span::millis(20),
                factor: 0.0,
                group_delay: Span::millis(0),
                backoff_initial: Span::millis(5),
                backoff_max: Span::millis(20),
                honor_retry_after_up_to: Span::millis(200),
                honor_crawl_delay_up_to: Span::millis(200),
                unreachable_initial: Span::millis(5),
                unreachable_max: 4,
                ..Politeness::default()
            },
            filter: crawler::filter::Settings {
                // Whatever is refused is refused for a better reason than the scope.
                scope: Scope::Any,
                total_pages_max: 2_000,
                ..crawler::filter::Settings::default()
            },
            crawl: Settings {
                retries_max: 2,
                busy_answers_max: 4,
                robots_failures_max: 2,
                time_max: Span::secs(60),
                disk_reserve: ByteSize(0),
                ..Settings::default()
            },
            robots: crawler::robots::Settings {
                failure_ttl_min: Span::millis(5),
                failure_ttl_max: Span::millis(20),
                ..crawler::robots::Settings::default()
            },
            extract: crawler::extract::Settings::default(),
            repeats: RepeatSettings::default(),
        }
    }
}

/// A behaviour, and what a crawl must make of it.
pub(crate) struct Case {
    pub(crate) id: String,
    /// What the server does, in words.
    pub(crate) does: &'static str,
    pub(crate) speech: Speech,
    pub(crate) zone: Vec<(&'static str, Dns)>,
    scheme: &'static str,
    seeds: Vec<&'static str>,
    states: Vec<(&'static str, &'static str)>,
    asked: Vec<(&'static str, std::ops::RangeInclusive<usize>)>,
    never: Vec<&'static str>,
    requests_max: usize,
    sent_max: u64,
    after: bool,
    ends: Ended,
    limits: fn(&mut Limits),
    pub(crate) heavy: bool,
}

/// Begins a case: the page behind the bad one must be reached, within 20 requests and 16 MiB.
pub(crate) fn case(id: impl Into<String>, does: &'static str, speech: Speech) -> Case {
    Case {
        id: id.into(),
        does,
        speech,
        zone: Vec::new(),
        scheme: "http",
        seeds: vec!["/"],
        states: Vec::new(),
        asked: Vec::new(),
        never: Vec::new(),
        requests_max: 20,
        sent_max: 16 << 20,
        after: true,
        ends: Ended::Complete,
        limits: |_| {},
        heavy: false,
    }
}

impl Case {
    /// The URL or path must end in this state: `done 200`, `done 200 time`, `failed closed-early`,
    /// `refused robots-disallowed`, `queued` or `unknown`; alternatives with `|`.
    pub(crate) fn at(mut self, url: &'static str, state: &'static str) -> Self {
        self.states.push((url, state));
        self
    }

    /// The path must be asked for so many times.
    pub(crate) fn asked(
        mut self,
        path: &'static str,
        times: std::ops::RangeInclusive<usize>,
    ) -> Self {
        self.asked.push((path, times));
        self
    }

    /// No path that begins so may be asked for.
    pub(crate) fn never(mut self, path: &'static str) -> Self {
        self.never.push(path);
        self
    }

    /// The host as a whole cannot be crawled, so that the page behind is not reached.
    pub(crate) fn lost(mut self) -> Self {
        self.after = false;
        self
    }

    /// The host ends parked.
    pub(crate) fn parked(mut self) -> Self {
        self.ends = Ended::Parked;
        self
    }

    /// Takes much of the processor, so that it is not tried beside many others.
    pub(crate) fn heavy(mut self) -> Self {
        self.heavy = true;
        self
    }

    /// The host speaks TLS.
    pub(crate) fn secure(&mut self) {
        self.scheme = "https";
    }

    pub(crate) fn requests(mut self, max: usize) -> Self {
        self.requests_max = max;
        self
    }

    pub(crate) fn sends(mut self, max: u64) -> Self {
        self.sent_max = max;
        self
    }

    pub(crate) fn seeds(mut self, seeds: &[&'static str]) -> Self {
        self.seeds = seeds.to_vec();
        self
    }

    pub(crate) fn with(mut self, limits: fn(&mut Limits)) -> Self {
        self.limits = limits;
        self
    }

    pub(crate) fn zone(mut self, zone: &[(&'static str, Dns)]) -> Self {
        self.zone = zone.to_vec();
        self
    }

    /// Returns what is expected, in one line for the table.
    pub(crate) fn expects(&self) -> String {
        let mut parts: Vec<String> =
            self.states.iter().map(|(url, state)| format!("{url} {state}")).collect();
        parts.extend(self.never.iter().map(|path| format!("{path} never asked for")));
        parts.extend(self.asked.iter().map(|(path, times)| {
            format!("{path} asked for {} to {} times", times.start(), times.end())
        }));
        parts.push(format!("at most {} requests", self.requests_max));
        parts.push(match (self.after, self.ends) {
            (true, _) => "the host goes on".to_owned(),
            (false, Ended::Parked) => "the host is parked".to_owned(),
            (false, _) => "the host is given up".to_owned(),
        });
        parts.join("; ")
    }

    /// Returns the seeds, with the host under this name.
    pub(crate) fn seeds_at(&self, name: &str, port: u16) -> Vec<String> {
        self.seeds
            .iter()
            .map(|seed| self.written(seed, port).replace("//bad.test", &format!("//{name}")))
            .collect()
    }

    fn written(&self, text: &str, port: u16) -> String {
        match text.starts_with('/') {
            true => format!("{}://bad.test:{port}{text}", self.scheme),
            false => text.replace("PORT", &port.to_string()),
        }
    }
}

/// What came of a crawl.
pub(crate) struct Ran {
    pub(crate) summary: Summary,
    pub(crate) lines: Vec<Line>,
    pub(crate) ledger: BTreeMap<String, UrlState>,
    pub(crate) raw_log: String,
}

/// Servers, name server and directory of one crawl.
pub(crate) struct World {
    pub(crate) bad: Site,
    pub(crate) good: Site,
    /// Stands for what lies inside: nothing may ever connect to it.
    pub(crate) inner: Vec<Site>,
    names: NameServer,
    dir: tempfile::TempDir,
    archive: PathBuf,
}

impl World {
    pub(crate) async fn new(speech: Speech, zone: &[(&'static str, Dns)], name: &str) -> Self {
        let mut known = vec![
            ("good.test", Dns::V4(vec![ADDRESS], 300)),
            ("bad.test", Dns::V4(vec![ADDRESS], 300)),
        ];
        known.retain(|(name, _)| !zone.iter().any(|(other, _)| other == name));
        known.extend(zone.iter().cloned());
        let dir = tempfile::tempdir().unwrap();
        // A folder for validators that are other programs, or one that goes with the test.
        let archive = match std::env::var_os("HOSTILE_ARCHIVES") {
            Some(folder) => Path::new(&folder).join(name),
            None => dir.path().join("archive"),
        };
        let bad = Site::start(ADDRESS, speech).await;
        World {
            inner: Site::inside(bad.address.port()).await,
            good: Site::start(ADDRESS, healthy(HEALTHY_PAGES)).await,
            bad,
            names: NameServer::start(&known).await,
            dir,
            archive,
        }
    }

    fn parts(&self, limits: &Limits, seeds: &[SeedUrl], now: Timestamp, env: &MemoryEnv) -> Parts {
        let db_settings =
            crawler::db::Settings { cache: ByteSize::mib(8), ..crawler::db::Settings::default() };
        let db = Db::open_in_memory(Path::new("/state"), &db_settings, env).unwrap();
        let homes: Vec<_> = seeds.iter().map(|seed| seed.url.clone()).collect();
        let rules = Rules::new(limits.politeness.clone(), &Default::default());
        Parts {
            db: Arc::new(db),
            frontier: Frontier::new(Default::default(), rules, now),
            filter: Arc::new(Filter::new(&limits.filter, &homes).unwrap()),
            rules: Arc::new(LiveRules::new(RuleSet::default())),
            settings: limits.crawl.clone(),
            robots_settings: limits.robots.clone(),
            agent: "crawler".to_owned(),
            log: CrawlLog::open(&self.logs(), 1 << 26).unwrap(),
            rule_log: JsonLog::open(&self.logs().join("rules.jsonl")).unwrap(),
            repeats: limits.repeats.clone(),
            dust: Dust::default(),
        }
    }

    fn logs(&self) -> PathBuf {
        self.dir.path().join("log")
    }

    /// Crawls to the end.
    pub(crate) async fn crawl(
        &self,
        seeds: &[String],
        ca_file: &Path,
        change: fn(&mut Limits),
    ) -> Ran {
        let mut limits = Limits::small(self.names.address, ca_file);
        change(&mut limits);
        let clock = Arc::new(Clock::system(Timestamp::ZERO));
        let agent = user_agent("crawler", "0", "https://bot.example/");
        let store = self.open_archive(&agent);
        let edge = Arc::new(Edge {
            clock: clock.clone(),
            resolve: HickoryResolver::new(&limits.dns, clock.clone()).unwrap(),
            fetch: HyperFetch::new(&limits.fetch, &agent, "bot@bot.example", clock.clone())
                .unwrap(),
            store: store.clone(),
        });
        let seed = |url: &String| SeedUrl {
            url: CrawlUrl::parse(url).unwrap(),
            priority: None,
            hops_max: None,
        };
        let seeds: Vec<SeedUrl> = seeds.iter().map(seed).collect();
        let env = MemoryEnv::new().unwrap();
        let now = clock.now();
        let (state, _) = State::open(self.parts(&limits, &seeds, now, &env), now).unwrap();
        let options = Options {
            extract: limits.extract.clone(),
            ..Options::new(tokio::runtime::Handle::current())
        };
        let mut crawl = Crawl::new(edge, state, options);
        let (_commands, inbox) = tokio::sync::mpsc::channel(1);
        let summary = crawl.run(&seeds, inbox).await.expect("no failure of our own");
        let mut ledger = BTreeMap::new();
        urls::each(crawl.state().db(), |_, record| {
            ledger.insert(record.url, record.state);
            true
        })
        .unwrap();
        drop(crawl);
        store.close().await.unwrap();
        let raw_log = std::fs::read_to_string(self.logs().join("crawl-00001.jsonl"))
            .or_else(|_| std::fs::read_to_string(self.logs().join("crawl-00000.jsonl")))
            .unwrap();
        let lines = raw_log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        Ran { summary, lines, ledger, raw_log }
    }

    fn open_archive(&self, agent: &str) -> Archive {
        let settings = crawler::archive::Settings {
            dir: self.archive.clone(),
            ..crawler::archive::Settings::default()
        };
        let about = About {
            software: "crawler/0".to_owned(),
            user_agent: agent.to_owned(),
            contact: "bot@bot.example".to_owned(),
            robots: "RFC 9309".to_owned(),
            crawl: None,
        };
        Archive::open(settings, about, None).unwrap().0
    }

    /// Crawls a case and returns everything that is wrong with the outcome.
    pub(crate) async fn try_case(case: &Case, ca_file: &Path) -> Vec<String> {
        let world = World::new(case.speech.clone(), &case.zone, &case.id).await;
        let (bad, good) = (world.bad.address.port(), world.good.address.port());
        let mut seeds: Vec<String> =
            case.seeds.iter().map(|seed| case.written(seed, bad)).collect();
        seeds.push(format!("http://good.test:{good}/"));
        let ran = world.crawl(&seeds, ca_file, case.limits).await;
        let mut wrong = world.always(&ran, good);
        if ran.summary.ended != case.ends {
            wrong.push(format!("ended {:?}: {:?}", ran.summary.ended, ran.summary.parked));
        }
        let after = ("/after", "done 200");
        for (url, want) in case.states.iter().chain(case.after.then_some(&after)) {
            let got = ran.state_of(&case.written(url, bad));
            if !want.split('|').any(|want| want == got) {
                wrong.push(format!("{url} is `{got}`, not `{want}`"));
            }
        }
        world.judge_log(case, &mut wrong);
        if !wrong.is_empty() {
            wrong.push(format!("asked for: {:.1000}", format!("{:?}", tally(&world.bad.log))));
            for line in ran.lines.iter().take(40) {
                if line.host != "good.test" {
                    let reason = line.detail.as_deref().unwrap_or_default();
                    wrong.push(format!(
                        "  {:.100} {} {:?} {:?} {reason:.200} {}",
                        line.url, line.status, line.failure, line.truncated, line.then
                    ));
                }
            }
        }
        wrong
    }

    fn judge_log(&self, case: &Case, wrong: &mut Vec<String>) {
        let log = &self.bad.log;
        let requests = log.requests();
        if requests.len() > case.requests_max || log.connections() > 2 * case.requests_max as u64 {
            wrong.push(format!("{} requests, {} connections", requests.len(), log.connections()));
        }
        if log.sent() > case.sent_max {
            wrong.push(format!("{} bytes were sent", log.sent()));
        }
        for (path, times) in &case.asked {
            let asked = log.asked(path);
            if !times.contains(&asked) {
                wrong.push(format!("{path} asked for {asked} times, not {times:?}"));
            }
        }
        for prefix in &case.never {
            if requests.iter().any(|(_, path)| path.starts_with(prefix)) {
                wrong.push(format!("{prefix} was asked for"));
            }
        }
    }

    /// Checks what must hold after every behaviour.
    fn always(&self, ran: &Ran, good: u16) -> Vec<String> {
        let mut wrong = Vec::new();
        for number in 0..HEALTHY_PAGES {
            let path = page_path(number);
            let state = ran.state_of(&format!("http://good.test:{good}{path}"));
            let asked = self.good.log.asked(&path);
            if state != "done 200" || asked != 1 {
                wrong.push(format!("healthy {path}: `{state}`, asked for {asked} times"));
            }
        }
        if self.inner.iter().any(|inner| inner.log.connections() > 0) {
            wrong.push("there was a connection to the inside".to_owned());
        }
        let counters = &ran.summary.counters;
        if counters.imbalance() != 0 || counters.in_flight != 0 {
            wrong.push(format!("counters do not add up: {counters:?}"));
        }
        if ran.lines.len() as u64 != counters.requests {
            wrong.push(format!("{} lines, {} requests", ran.lines.len(), counters.requests));
        }
        for line in &ran.lines {
            let detail = line.detail.as_deref().unwrap_or_default();
            if detail.contains("a visit broke") {
                wrong.push(format!("the visit of {} panicked", line.url));
            }
            if line.status == 0 && (line.failure.is_none() || detail.is_empty()) {
                wrong.push(format!("no reason in the log: {line:?}"));
            }
            if line.took_ms > 25_000 {
                wrong.push(format!("{} took {} ms", line.url, line.took_ms));
            }
        }
        let heads = self.bad.log.heads();
        if heads.iter().any(|head| head.contains("\r\nCookie:") || head.contains("uthorization:")) {
            wrong.push("a cookie or a credential was sent".to_owned());
        }
        if ran.raw_log.contains(SECRET) || ran.ledger.keys().any(|url| url.contains(SECRET)) {
            wrong.push("a credential in the crawl log or the ledger".to_owned());
        }
        if ran.raw_log.chars().any(|c| c.is_control() && c != '\n') {
            wrong.push("a control character in the crawl log".to_owned());
        }
        self.check_files(&mut wrong);
        wrong
    }

    /// Politeness by the log, and the archive by its verifier.
    fn check_files(&self, wrong: &mut Vec<String>) {
        let audit = crawler::crawl::audit::audit(&self.logs(), None).unwrap();
        if audit.violations_total > 0 || !audit.bad_lines.is_empty() {
            wrong.push(format!("audit: {:?} {:?}", audit.violations, audit.bad_lines));
        }
        let report = crawler::archive::verify(&self.archive, Indexed::IfAny).unwrap();
        if !report.problems.is_empty() {
            wrong.push(format!("archive: {:?}", report.problems));
        }
        let mut text = Vec::new();
        for entry in std::fs::read_dir(&self.archive).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            // What is no gzip is an index, and read as it is.
            if MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).is_err() {
                text.extend(bytes);
            }
        }
        let of_ours = |line: &&[u8]| {
            let starts = [&b"WARC-"[..], b"via:", b"GET ", b"Host:", b"Referer:", b"test,"];
            starts.iter().any(|start| line.starts_with(start))
        };
        let mut lines = text.split(|byte| *byte == b'\n').filter(of_ours);
        if lines.any(|line| memchr::memmem::find(line, SECRET.as_bytes()).is_some()) {
            wrong.push("a credential in what the archive says itself".to_owned());
        }
    }
}

impl Ran {
    /// Returns the state of a URL in words, with the truncation of its last answer.
    pub(crate) fn state_of(&self, url: &str) -> String {
        let url = CrawlUrl::parse(url).unwrap();
        match self.ledger.get(url.as_str()) {
            None => "unknown".to_owned(),
            Some(UrlState::Queued(_)) => "queued".to_owned(),
            Some(UrlState::Refused { reason, .. }) => format!("refused {reason}"),
            Some(UrlState::Failed { reason, .. }) => format!("failed {reason}"),
            Some(UrlState::Suppressed { .. }) => "suppressed".to_owned(),
            Some(UrlState::Done(done)) => {
                let line = self.lines.iter().rfind(|line| line.url == url.as_str());
                match line.and_then(|line| line.truncated.as_deref()) {
                    Some(why) => format!("done {} {why}", done.status),
                    None => format!("done {}", done.status),
                }
            }
        }
    }
}
