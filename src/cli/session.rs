//! Opens everything that a crawl needs, runs it, and closes it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::sync::{Notify, mpsc, oneshot};
use uuid::Uuid;

use super::machine;
use super::output::{duration, number};
use super::{Exit, Failed, demo, progress, quoted, report, speech, wire};
use crate::archive::{About, Archive, Position, RevisitPolicy, is_cut_short};
use crate::clock::{Clock, Step, Timestamp};
use crate::config::{Config, Override, Source};
use crate::control::{Server, Steering};
use crate::crawl::log::{self, CrawlLog, JsonLog};
use crate::crawl::steer::{By, Channel, Order};
use crate::crawl::{
    Command, Crawl, Dust, Edge, Options, Parts, Resumed, SeedUrl, State, Store, Summary,
    resume_clock,
};
use crate::dashboard::{self, Bound, Dashboard, DashboardError};
use crate::db::families::meta::{self, ArchivePosition};
use crate::db::{Batch, Db};
use crate::dns::Resolve;
use crate::dust::{LiveRules, RuleSet};
use crate::fetch::{Fetch, HyperFetch, user_agent};
use crate::filter::Filter;
use crate::frontier::{Frontier, Rules};

/// Version that the User-Agent and warcinfo records name.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How long what the visits still do is waited for when a run has ended.
const LAST_VISITS: Duration = Duration::from_secs(10);

/// How talkative a run is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Talk {
    pub(super) quiet: bool,
    /// Whether it is a demo's, which the next demo may replace.
    pub(super) is_demo: bool,
}

/// Runs a crawl to its end on this thread, with visits on all cores.
pub(super) fn crawl(config: &Config, seeds: &[SeedUrl], talk: Talk) -> Result<Summary, Failed> {
    let config = &machine::fitted(config)?;
    let shared = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("visits")
        .build()
        .context("start the threads of the crawl")?;
    // The loop has a thread of its own, so that a short read of the state may hold it.
    let own = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("start the crawl's loop")?;
    let handle = shared.handle().clone();
    let summary = own.block_on(on_loop(config, seeds, talk, handle));
    // The state must not be closed by a thread of theirs while the process ends: RocksDB's own
    // threads are gone by then, and it aborts the process in place of the exit code.
    shared.shutdown_timeout(LAST_VISITS);
    summary
}

async fn on_loop(
    config: &Config,
    seeds: &[SeedUrl],
    talk: Talk,
    visits: tokio::runtime::Handle,
) -> Result<Summary, Failed> {
    let agent = user_agent(&config.name, VERSION, &config.contact);
    // What cannot work is found out before anything is made.
    let bound = Bound::new(&config.dashboard).map_err(not_shown)?;
    check_edge(config, &agent)?;
    let state_dir = config.dir.join("state");
    std::fs::create_dir_all(&state_dir)
        .with_context(|| format!("make the directory {}", state_dir.display()))?;
    let db = Arc::new(Db::open(&state_dir, &config.state)?);
    note_pid(&state_dir);
    if !talk.is_demo {
        demo::unmark(&config.dir).with_context(|| format!("write to {}", config.dir.display()))?;
    }
    let (clock, step) = resume_clock(&db)?;
    let clock = Arc::new(clock);
    warn_of(step);
    let (archive, lost_behind) = {
        // The writing task belongs to the visits' runtime.
        let _guard = visits.enter();
        open_archive(config, &db, &agent)?
    };
    let edge = Arc::new(Edge {
        clock: clock.clone(),
        resolve: wire::resolver(config, clock.clone())?,
        fetch: HyperFetch::new(&config.fetch, &agent, &config.contact, clock.clone())?,
        store: archive.clone(),
    });
    let wake = Arc::new(Notify::new());
    let parts = parts(config, db, seeds, clock.now(), wake.clone())?;
    report::note_settings(config);
    let (mut state, resumed) = State::open(parts, clock.now())?;
    if let Some(end) = lost_behind {
        let urls = state.fetch_again_behind(&end, clock.now())?;
        eprintln!(
            "warning: the last records of the archive did not reach the disk, as after a power cut; \
             their {} URLs are fetched again",
            number(urls)
        );
    }
    announce(talk, &resumed, clock.now());
    let paused = state.changes().paused;
    let db = state.db().clone();
    let mut crawl = Crawl::new(edge, state, options(config, visits.clone(), wake));
    let (commands, inbox) = mpsc::channel(16);
    let dashboard = match bound {
        Some(bound) => Some(dashboard(bound, config, talk, &crawl, commands.clone())?),
        // Without one nobody subscribes, and no snapshot is made for it.
        None => None,
    };
    let steering = Steering {
        commands: commands.clone(),
        snapshots: crawl.snapshots(),
        db,
        archive: config.dir.join(&config.archive.dir),
        clock: clock.clone(),
        politeness: Arc::new(Rules::new(config.politeness.clone(), &config.host)),
        log_level: speech::louder(),
    };
    let control = open_control(config, steering, &visits);
    if paused && !talk.quiet {
        eprintln!("paused by an operator: `crawler ctl resume` lets it go on");
    }
    let signals = visits.spawn(obey_signals(commands));
    let shown = (!talk.quiet).then(|| visits.spawn(progress::show(crawl.snapshots())));
    let summary = crawl.run(seeds, inbox).await;
    let committed = meta::archive(crawl.state().db());
    drop(crawl);
    signals.abort();
    if let Some(control) = control {
        control.close(summary.as_ref().map_or("failed", |summary| summary.ended.word())).await;
    }
    if let Some(shown) = shown {
        // It ends with the crawl's last view.
        let _ = shown.await;
    }
    if let Some(dashboard) = dashboard {
        dashboard.close();
    }
    // What ended the crawl says more than what its archive's closing met because of it.
    let closed = match committed.ok().flatten().map(position_of) {
        Some(committed) => archive.close_at(committed).await,
        None => archive.close().await,
    };
    let summary = summary?;
    closed?;
    Ok(summary)
}

/// Returns what `--dashboard` says, as an override of the configuration.
pub(super) fn listen(address: Option<&str>) -> Option<Override> {
    let value = quoted(address?);
    Some(Override { key: "dashboard.listen".to_owned(), value, source: Source::Flag })
}

/// Builds what asks the web, and lets it go again: certificates and keys are read for it.
fn check_edge(config: &Config, agent: &str) -> Result<(), Failed> {
    let clock = Arc::new(Clock::system(Timestamp::ZERO));
    wire::resolver(config, clock.clone())?;
    HyperFetch::new(&config.fetch, agent, &config.contact, clock)?;
    Ok(())
}

fn not_shown(error: DashboardError) -> Failed {
    let exit = match error {
        DashboardError::Thread(_) => Exit::Internal,
        _ => Exit::Config,
    };
    Failed::with(exit, format!("failed to {error}"))
}

fn dashboard<R: Resolve, F: Fetch, S: Store>(
    bound: Bound,
    config: &Config,
    talk: Talk,
    crawl: &Crawl<R, F, S>,
    commands: mpsc::Sender<Command>,
) -> Result<Dashboard, Failed> {
    let about = dashboard::About {
        name: config.name.clone(),
        version: VERSION.to_owned(),
        dir: config.dir.display().to_string(),
        purpose: serde_json::to_value(config.purpose)?.as_str().unwrap_or_default().to_owned(),
    };
    let dashboard = bound.start(about, crawl.snapshots(), commands).map_err(not_shown)?;
    if !talk.quiet {
        eprintln!("dashboard: http://{}/", dashboard.address());
    }
    Ok(dashboard)
}

/// Opens the archive; returns also where it ends, if a power cut took what the state has behind it.
fn open_archive(
    config: &Config,
    db: &Db,
    agent: &str,
) -> Result<(Archive, Option<Position>), Failed> {
    let mut settings = config.archive.clone();
    settings.dir = config.dir.join(&settings.dir);
    let about = About {
        software: format!("{}/{VERSION}", config.name),
        user_agent: agent.to_owned(),
        contact: config.contact.clone(),
        robots: "RFC 9309".to_owned(),
        crawl: Some(crawl_id(db)?),
    };
    let mut position = meta::archive(db)?.map(position_of);
    let mut lost_behind = None;
    if let (Some(committed), Some(forced)) = (&position, meta::forced(db)?.map(position_of))
        && is_cut_short(&settings.dir, committed, &forced)?
    {
        lost_behind = Some(forced.clone());
        position = Some(forced);
    }
    let (archive, opened) = Archive::open(settings, about, position.as_ref())?;
    if position.is_none() {
        // What is written from now on is the crawl's own: without this a crash before the first
        // commit would keep it, though its fetches are made again.
        let Position { file, offset } = opened.position.clone();
        let mut batch = Batch::default();
        meta::put_archive(&mut batch, db, &ArchivePosition { file, offset });
        db.commit(batch)?;
    }
    if let Some(file) = &opened.moved_away {
        tracing::warn!(file, "the newest finished file is no longer in the archive: going on");
    }
    for cut in &opened.cuts {
        tracing::info!(file = cut.file, bytes = cut.bytes, "cut off what was not committed");
    }
    Ok((archive, lost_behind))
}

fn position_of(committed: ArchivePosition) -> Position {
    Position { file: committed.file, offset: committed.offset }
}

/// Returns the id by which files of this crawl are told from those of others; gives it one.
fn crawl_id(db: &Db) -> Result<Uuid, Failed> {
    if let Some(id) = meta::crawl(db)? {
        return Ok(Uuid::from_u128(id));
    }
    let id = Uuid::new_v4();
    let mut batch = Batch::default();
    meta::put_crawl(&mut batch, db, &id.as_u128());
    db.commit(batch)?;
    Ok(id)
}

fn parts(
    config: &Config,
    db: Arc<Db>,
    seeds: &[SeedUrl],
    now: Timestamp,
    wake: Arc<Notify>,
) -> Result<Parts, Failed> {
    let log_dir = config.dir.join("log");
    let urls: Vec<_> = seeds.iter().map(|seed| seed.url.clone()).collect();
    let rules = Rules::new(config.politeness.clone(), &config.host);
    Ok(Parts {
        frontier: Frontier::new(config.frontier.clone(), rules, now),
        filter: Arc::new(Filter::new(&config.scope, &urls)?),
        rules: Arc::new(LiveRules::new(RuleSet::default())),
        settings: config.limits.clone(),
        robots_settings: config.robots.clone(),
        agent: config.name.clone(),
        log: CrawlLog::open(&log_dir, config.limits.log_size.get())?,
        rule_log: JsonLog::open(&log_dir.join(log::RULES))?,
        repeats: config.repeats.clone(),
        dust: Dust { mode: config.dust_mode(), settings: config.dust.book(), wake: Some(wake) },
        db,
    })
}

fn options(config: &Config, visits: tokio::runtime::Handle, wake: Arc<Notify>) -> Options {
    Options {
        extract: config.extract.clone(),
        content: config.content.clone(),
        revisits: config.archive.revisit != RevisitPolicy::Never,
        dns: config.archive.dns,
        sync_interval: config.state.sync_interval,
        disks: vec![config.dir.clone(), config.dir.join(&config.archive.dir)],
        wake,
        visits,
    }
}

/// Says that the machine's clock was set, since the times of a crawl then differ from it.
fn warn_of(step: Step) {
    match step {
        Step::None => {}
        Step::Forward(by) => eprintln!(
            "warning: the machine's clock was set forward by {}; hosts rest for as long as they \
             would have without it",
            duration(by)
        ),
        Step::Back(by) => eprintln!(
            "warning: the machine's clock is {} behind times that the crawl has stored; its times go \
             on from those, so records are dated ahead of the clock by that much",
            duration(by)
        ),
    }
}

/// Opens the control socket. A crawl goes on without one: it can still be stopped by a signal.
fn open_control(
    config: &Config,
    steering: Steering,
    visits: &tokio::runtime::Handle,
) -> Option<Server> {
    let _guard = visits.enter();
    match Server::open(&config.dir, steering) {
        Ok(server) => Some(server),
        Err(error) => {
            eprintln!(
                "warning: `crawler ctl` and `crawler top` cannot reach it: failed to {error}"
            );
            None
        }
    }
}

/// A note for whoever finds the state locked.
fn note_pid(state_dir: &Path) {
    if let Err(error) = std::fs::write(state_dir.join("PID"), std::process::id().to_string()) {
        tracing::warn!(%error, "cannot note the process number beside the state");
    }
}

fn announce(talk: Talk, resumed: &Resumed, now: Timestamp) {
    if talk.quiet || !resumed.resumed {
        return;
    }
    let ago = duration(now.since(resumed.stopped));
    let how = match resumed.how.as_str() {
        "killed" => "killed".to_owned(),
        how => format!("it was {how}"),
    };
    eprintln!(
        "resuming: {} done, {} queued, stopped {ago} ago ({how}; {} in flight then)",
        number(resumed.done),
        number(resumed.queued),
        resumed.interrupted
    );
}

/// First Ctrl-C or SIGTERM: finish what is in flight; second: stop at once. Both are resumable.
async fn obey_signals(commands: mpsc::Sender<Command>) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        tracing::warn!("signals cannot be caught: Ctrl-C will end the crawl at once");
        return;
    };
    let mut asked = 0u32;
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        asked += 1;
        let (order, text) = if asked == 1 {
            (Order::Stop, "stopping: finishing what is in flight; once more stops at once")
        } else {
            (Order::Abort, "stopping at once; the same command goes on from here")
        };
        let by = By { channel: Channel::Signal, ..By::default() };
        // The crawl's end is the answer.
        let (reply, _) = oneshot::channel();
        let command = Command::Steer { order, by, reply };
        if commands.send(command).await.is_err() {
            return;
        }
        eprintln!("\n{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Capture;
    use crate::db::MemoryEnv;
    use crate::fetch::{Answer, HttpVersion, Outcome, Timing};
    use crate::url::CrawlUrl;

    fn capture() -> Capture {
        let answer = Answer {
            status: 404,
            version: HttpVersion::Http11,
            headers: Vec::new(),
            request_block: "GET /robots.txt HTTP/1.1\r\n\r\n".into(),
            head_block: "HTTP/1.1 404 Not Found\r\n\r\n".into(),
            wire_body: Default::default(),
            payload: Default::default(),
            body: Default::default(),
            truncated: None,
            address: [127, 0, 0, 1].into(),
            tls: None,
            began: Timestamp::from_millis(1),
            timing: Timing::default(),
            asked_to_sign: false,
        };
        let url = CrawlUrl::parse("http://a.example/robots.txt").unwrap();
        Capture::new(url, Arc::new(Outcome::Answer(Box::new(answer))))
    }

    /// They were kept, and fetched and written once more.
    #[tokio::test]
    async fn records_of_a_crawl_that_died_before_its_first_commit_are_no_part_of_the_archive() {
        let (env, dir) = (MemoryEnv::new().unwrap(), tempfile::tempdir().unwrap());
        let db = Db::open_in_memory("/state".as_ref(), &Default::default(), &env).unwrap();
        let config = Config { dir: dir.path().to_owned(), ..Config::default() };
        let warcs = || {
            let entries = std::fs::read_dir(dir.path().join(&config.archive.dir)).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            names.filter(|name| name.ends_with(".warc.gz")).count()
        };
        for _ in 0..2 {
            let (archive, _) = open_archive(&config, &db, "crawler").unwrap();
            assert_eq!(warcs(), 0);
            archive.write(Arc::new(capture())).await.unwrap();
            archive.close().await.unwrap();
            assert_eq!(warcs(), 1);
        }
        // What was there before the crawl is not its own to take away.
        let other = Db::open_in_memory("/other".as_ref(), &Default::default(), &env).unwrap();
        open_archive(&config, &other, "crawler").unwrap().0.close().await.unwrap();
        open_archive(&config, &other, "crawler").unwrap().0.close().await.unwrap();
        assert_eq!(warcs(), 1);
    }
}
