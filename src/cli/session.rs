//! Opens everything that a crawl needs, runs it, and closes it.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use tokio::sync::{Notify, mpsc};

use super::Failed;
use super::output::{duration, number};
use super::progress;
use crate::archive::{About, Archive, RevisitPolicy};
use crate::clock::{Clock, Timestamp};
use crate::config::Config;
use crate::crawl::log::{CrawlLog, JsonLog};
use crate::crawl::{Command, Crawl, Dust, Edge, Options, Parts, Resumed, SeedUrl, State, Summary};
use crate::db::Db;
use crate::db::families::meta;
use crate::dns::HickoryResolver;
use crate::dust::{LiveRules, RuleSet};
use crate::fetch::{HyperFetch, user_agent};
use crate::filter::Filter;
use crate::frontier::{Frontier, Rules};

/// Version that the User-Agent and warcinfo records name.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How talkative a run is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Talk {
    pub(super) quiet: bool,
}

/// Runs a crawl to its end on this thread, with visits on all cores.
pub(super) fn crawl(config: &Config, seeds: &[SeedUrl], talk: Talk) -> Result<Summary, Failed> {
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
    shared.shutdown_background();
    summary
}

async fn on_loop(
    config: &Config,
    seeds: &[SeedUrl],
    talk: Talk,
    visits: tokio::runtime::Handle,
) -> Result<Summary, Failed> {
    let state_dir = config.dir.join("state");
    std::fs::create_dir_all(&state_dir)
        .with_context(|| format!("make the directory {}", state_dir.display()))?;
    let db = Arc::new(Db::open(&state_dir, &config.state)?);
    note_pid(&state_dir);
    let floor = meta::session(&db)?.map_or(Timestamp::ZERO, |session| session.latest);
    let clock = Arc::new(Clock::system(floor));
    let agent = user_agent(&config.name, VERSION, &config.contact);
    let archive = {
        // The writing task belongs to the visits' runtime.
        let _guard = visits.enter();
        open_archive(config, &db, &agent)?
    };
    let edge = Arc::new(Edge {
        clock: clock.clone(),
        resolve: HickoryResolver::new(&config.dns, clock.clone())?,
        fetch: HyperFetch::new(&config.fetch, &agent, &config.contact, clock.clone())?,
        store: archive.clone(),
    });
    let wake = Arc::new(Notify::new());
    let parts = parts(config, db, seeds, clock.now(), wake.clone())?;
    let (state, resumed) = State::open(parts, clock.now())?;
    announce(talk, &resumed, clock.now());
    let mut crawl = Crawl::new(edge, state, options(config, visits.clone(), wake));
    let (commands, inbox) = mpsc::channel(16);
    let signals = visits.spawn(obey_signals(commands));
    let shown = (!talk.quiet).then(|| visits.spawn(progress::show(crawl.snapshots())));
    let summary = crawl.run(seeds, inbox).await;
    drop(crawl);
    signals.abort();
    if let Some(shown) = shown {
        // It ends with the crawl's last view.
        let _ = shown.await;
    }
    archive.close().await?;
    Ok(summary?)
}

fn open_archive(config: &Config, db: &Db, agent: &str) -> Result<Archive, Failed> {
    let mut settings = config.archive.clone();
    settings.dir = config.dir.join(&settings.dir);
    let about = About {
        software: format!("{}/{VERSION}", config.name),
        user_agent: agent.to_owned(),
        contact: config.contact.clone(),
        robots: "RFC 9309".to_owned(),
    };
    let committed = meta::archive(db)?;
    let position = committed.filter(|committed| !committed.file.is_empty()).map(|committed| {
        crate::archive::Position { file: committed.file, offset: committed.offset }
    });
    let (archive, opened) = Archive::open(settings, about, position.as_ref())?;
    for cut in &opened.cuts {
        tracing::info!(file = cut.file, bytes = cut.bytes, "cut off what was not committed");
    }
    Ok(archive)
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
        rule_log: JsonLog::open(&log_dir.join("rules.jsonl"))?,
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
        disks: vec![config.dir.clone()],
        wake,
        visits,
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
        let command = if asked == 1 {
            eprintln!("\nstopping: finishing what is in flight; once more stops at once");
            Command::Stop
        } else {
            eprintln!("\nstopping at once; the same command goes on from here");
            Command::Abort
        };
        if commands.send(command).await.is_err() {
            return;
        }
    }
}
