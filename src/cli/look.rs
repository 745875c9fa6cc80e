//! What commands that look at a crawl share: its state, its judges, its seeds.

use std::path::{Path, PathBuf};

use rustix::process::{Flock, FlockType};

use super::run::read_kept_seeds;
use super::{Common, Failed, report};
use crate::config::{self as configuration, Config, Override, Source};
use crate::crawl::steer::Changes;
use crate::crawl::{CrawlError, DustMode, seeds_of};
use crate::db::families::meta;
use crate::db::{Db, DbError};
use crate::dust;
use crate::filter::Filter;
use crate::frontier::Rules;
use crate::report::Setting;
use crate::url::CrawlUrl;

/// Parts of the configuration that judge: what a crawl was run with holds when it is looked at.
const JUDGING: [&str; 11] = [
    "archive.cdxj",
    "archive.dir",
    "contact",
    "dns.",
    "dust.",
    "limits.",
    "name",
    "politeness.",
    "purpose",
    "repeats.",
    "scope.",
];

/// Parts that say where the archive of a crawl is, and what belongs to it.
const WRITING: [&str; 2] = ["archive.cdxj", "archive.dir"];

/// Loads the configuration for a look at a crawl: what neither file nor flags say now is as in the
/// crawl's latest run, so that its decisions are explained as they were made.
pub(super) fn as_crawled(common: &Common) -> Result<Config, Failed> {
    as_in_latest_run(common, &JUDGING)
}

/// Loads the configuration for a look at what a crawl has archived: without a word of file or flags
/// that is where its latest run wrote it.
pub(super) fn as_written(common: &Common) -> Result<Config, Failed> {
    as_in_latest_run(common, &WRITING)
}

fn as_in_latest_run(common: &Common, parts: &[&str]) -> Result<Config, Failed> {
    let loaded = common.load(&[])?;
    let noted = report::noted_settings(&loaded.config.dir.join("log")).unwrap_or_default();
    let known = configuration::known_keys();
    let wanted = noted.into_iter().filter(|setting| {
        let key = &setting.key;
        setting.value != setting.default
            && parts.iter().any(|part| key.starts_with(part))
            && known.contains(key)
            && !loaded.sources.contains_key(key)
    });
    let wanted: Vec<Override> = wanted
        .map(|Setting { key, value, .. }| Override { key, value, source: Source::File })
        .collect();
    if wanted.is_empty() {
        return Ok(loaded.config);
    }
    Ok(common.load(&wanted)?.config)
}

/// Where the state of a crawl lies.
pub(super) fn state_dir(config: &Config) -> PathBuf {
    config.dir.join("state")
}

/// Where its archive lies.
pub(super) fn archive_dir(config: &Config) -> PathBuf {
    config.dir.join(&config.archive.dir)
}

/// Opens the state for reading.
pub(super) fn open(config: &Config) -> Result<Db, Failed> {
    Ok(Db::open_read_only(&state_dir(config), &config.state)?)
}

/// Opens the state for reading, or returns `None` where there is no crawl yet.
pub(super) fn open_if_there(config: &Config) -> Result<Option<Db>, Failed> {
    match Db::open_read_only(&state_dir(config), &config.state) {
        Ok(db) => Ok(Some(db)),
        Err(DbError::Missing(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the number of the process that is crawling here, if one is.
pub(super) fn running(state_dir: &Path, db: &Db) -> Result<Option<u32>, Failed> {
    let session = meta::session(db)?.unwrap_or_default();
    if !session.ended.is_empty() {
        return Ok(None);
    }
    let pid = std::fs::read_to_string(state_dir.join("PID")).unwrap_or_default();
    let Ok(pid) = pid.trim().parse::<u32>() else { return Ok(None) };
    // After a kill the number may be that of any process, and a copy of a crawl has it as well; of
    // a crawl in another container it is none here.
    if let Some(is_locked) = is_locked(state_dir) {
        return Ok(is_locked.then_some(pid));
    }
    let alive = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    Ok(alive.filter(|pid| rustix::process::test_kill_process(*pid).is_ok()).map(|_| pid))
}

/// Refuses to do `what`, which asks hosts, while a crawl may be asking the same ones: two askers
/// that know nothing of each other would hurry them.
pub(super) fn refuse_running(config: &Config, db: &Db, what: &str) -> Result<(), Failed> {
    let Some(pid) = running(&state_dir(config), db)? else { return Ok(()) };
    let dir = config.dir.display();
    Err(Failed::with(
        super::Exit::Locked,
        format!(
            "failed to {what}: the crawl in {dir} (process {pid}) is asking, and two askers would \
             hurry its hosts; stop that crawl first, or see `crawler explain`"
        ),
    ))
}

/// Returns whether a process holds the lock of a state; `None` where that cannot be told. Not for a
/// process that has the state open for writing: its own lock would go with the file that is opened
/// here.
fn is_locked(state_dir: &Path) -> Option<bool> {
    let lock = std::fs::File::open(state_dir.join("LOCK")).ok()?;
    let held = rustix::process::fcntl_getlk(&lock, &Flock::from(FlockType::WriteLock)).ok()?;
    Some(held.is_some())
}

/// Returns what an operator changed while the crawl ran.
fn changes(db: &Db) -> Result<Changes, Failed> {
    Ok(Changes::read(meta::control(db)?.as_deref()).map_err(CrawlError::Control)?)
}

/// Returns true where a crawl proves rules and applies none of them.
pub(super) fn only_suggests(config: &Config, db: &Db) -> Result<bool, Failed> {
    Ok(config.dust_mode() == DustMode::Suggest && changes(db)?.rules != Some(true))
}

/// The judges of a crawl, built from its settings and seeds.
pub(super) struct Bench {
    pub(super) filter: Filter,
    pub(super) politeness: Rules,
    pub(super) dust: dust::Settings,
    pub(super) enforces: bool,
    /// The seeds that scope is measured from.
    pub(super) seeds: Vec<CrawlUrl>,
    /// Whether an operator paused the crawl.
    pub(super) paused: bool,
}

impl Bench {
    /// Builds them. Scope is measured from the seeds of the configuration, and from those that the
    /// crawl has stored: it may have been given others on its command line.
    pub(super) fn new(config: &Config, db: Option<&Db>) -> Result<Bench, Failed> {
        let mut seeds = read_kept_seeds(config)?;
        if let Some(db) = db {
            seeds.extend(seeds_of(db)?);
        }
        // What an operator changed while it ran holds here too.
        let changes = db.map(changes).transpose()?.unwrap_or_default();
        let enforces = matches!(config.dust_mode(), DustMode::Auto | DustMode::Enforce);
        Ok(Bench {
            filter: changes.filter(&Filter::new(&config.scope, &seeds)?),
            politeness: changes.politeness(&Rules::new(config.politeness.clone(), &config.host)),
            dust: config.dust.book(),
            enforces: changes.rules.unwrap_or(enforces),
            paused: changes.paused,
            seeds,
        })
    }
}

/// Reads a URL as people write it: a bare name is taken for `http://`, as in seed lists.
pub(super) fn url_of(text: &str) -> Result<CrawlUrl, Failed> {
    let bare = !text.contains("://") && !has_other_scheme(text);
    let full = if bare { format!("http://{text}") } else { text.to_owned() };
    CrawlUrl::parse(&full).map_err(|error| {
        Failed::with(
            super::Exit::Usage,
            format!("`{text}` is no URL that can be crawled: {error}; write it as http(s)://…"),
        )
    })
}

/// Returns true for `mailto:someone`, and false for `example.org:8080/x`.
fn has_other_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        let is_name = !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric());
        is_name && !rest.starts_with(|c: char| c.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Batch;
    use crate::db::families::meta::Session;

    /// A torn archive was right by `crawler verify`, since the number of the crawl that was killed
    /// had become that of another process.
    #[test]
    fn a_process_of_the_same_number_is_no_crawl() {
        let dir = tempfile::tempdir().unwrap();
        let db = Db::open(dir.path(), &Default::default()).unwrap();
        let mut batch = Batch::default();
        meta::put_session(&mut batch, &db, &Session::default());
        db.commit(batch).unwrap();
        drop(db);
        std::fs::write(dir.path().join("PID"), std::process::id().to_string()).unwrap();
        let db = Db::open_read_only(dir.path(), &Default::default()).unwrap();
        assert_eq!(running(dir.path(), &db).ok(), Some(None));
    }

    #[test]
    fn a_bare_name_is_a_url_and_another_scheme_is_none() {
        for (text, want) in [
            ("example.org", Some("http://example.org/")),
            ("example.org:8080/x", Some("http://example.org:8080/x")),
            ("localhost:8080", Some("http://localhost:8080/")),
            ("HTTPS://Example.org/a", Some("https://example.org/a")),
            ("[::1]:80/x", Some("http://[::1]/x")),
            ("mailto:x@y.test", None),
            ("ftp://y.test/", None),
            ("", None),
        ] {
            let url = url_of(text).ok().map(|url| url.to_string());
            assert_eq!(url.as_deref(), want, "{text}");
        }
    }
}
