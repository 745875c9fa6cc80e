//! `crawler demo`: a small web on loopback, crawled by the real pipeline.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use serde_json::json;

use super::output::{number, path};
use super::run::{exit_of, print};
use super::session::{self, Talk};
use super::{Answer, Common, Exit, Failed, look, quoted, report};
use crate::archive;
use crate::clock::{Clock, Timestamp};
use crate::config::{Config, Override, Source};
use crate::crawl::{SeedUrl, log, steer};
use crate::db::Db;
use crate::db::families::urls;
use crate::demo::{Server, ServerOptions, Truth, WebSpec, demo_web};
use crate::dust::RuleState;
use crate::frontier::UrlState;
use crate::url::CrawlUrl;

/// Flags of `demo`.
#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// Keep what an earlier demo left and go on with it
    #[arg(long)]
    keep: bool,
    /// Show the crawl live on this address, such as 127.0.0.1:8400, with metrics at /metrics
    #[arg(long, value_name = "ADDRESS")]
    dashboard: Option<String>,
}

/// Serves the demo web, crawls it, and compares what was found with what there is.
pub(super) fn demo(common: &Common, args: &DemoArgs) -> Answer {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .thread_name("demo web")
        .build()
        .context("start the demo web")?;
    let mut mark = Mark::take(&settings(common, None, None)?.dir)?;
    let port = if args.keep { mark.port()? } else { 0 };
    let server = runtime.block_on(async {
        let clock = Arc::new(Clock::system(Timestamp::ZERO));
        let options = ServerOptions { http_port: port, ..ServerOptions::default() };
        Server::start(demo_web(), clock, options).await
    });
    let server = server.with_context(|| match port {
        0 => "serve the demo web on loopback".to_owned(),
        port => format!(
            "serve the demo web on port {port} again, which its URLs name; end what uses it, or \
             begin anew without --keep"
        ),
    })?;
    let config = settings(common, Some(&server), args.dashboard.as_deref())?;
    if !args.keep {
        clear(&config)?;
    }
    mark.note(server.http_port())?;
    let seeds: Vec<SeedUrl> = server
        .web()
        .homes()
        .into_iter()
        .map(|url| SeedUrl { url, priority: None, hops_max: None })
        .collect();
    if !common.quiet && !common.json {
        eprintln!(
            "a web of {} hosts on loopback; the crawl goes to {}\n\
             watch it in another terminal: crawler top --dir {}",
            seeds.len(),
            config.dir.display(),
            config.dir.display()
        );
    }
    let talk = Talk { quiet: common.quiet || common.json, is_demo: true };
    let summary = session::crawl(&config, &seeds, talk)?;
    let (found, all) = coverage(&config, server.web())?;
    let saved = avoided(&config, server.web())?;
    let report = report::make(&config, &look::open(&config)?, None)?;
    let page = report::write(&config, &report, None)?;
    if common.json {
        let report = json!({
            "summary": summary,
            "documents": all,
            "documents_fetched": found,
            "avoided": saved.urls,
            "avoided_in_second_half": saved.late,
            "rules": saved.rules,
            "report": path(&page),
        });
        println!("{report}");
    } else {
        print(common, &summary)?;
        println!("{} of {} documents of the demo web fetched", number(found), number(all));
        print!("{saved}");
        println!("archive: {}", config.dir.join(&config.archive.dir).display());
        println!("report: {}", page.display());
    }
    runtime.block_on(server.shutdown());
    let exit = exit_of(&config, &summary);
    // What is left over here belongs to the demo's own trap, which a limit stops.
    Ok(if exit == Exit::Parked { Exit::Complete } else { exit })
}

/// File in the demo's directory that keeps the port of the web, which is part of all its URLs. What
/// lies beside it was made by a demo, and the next one may replace it.
const PORT_FILE: &str = "demo.port";

/// Where a demo keeps its archive, whatever the configuration says of crawls.
const ARCHIVE_DIR: &str = "archive";

/// The port file, locked for as long as the demo runs: no other one begins in its directory.
struct Mark {
    path: PathBuf,
    file: File,
}

impl Mark {
    /// Marks a directory as a demo's and locks it.
    ///
    /// # Errors
    /// Refuses a directory with a crawl that no demo made, and one in which another demo runs.
    fn take(dir: &Path) -> Result<Mark, Failed> {
        let path = dir.join(PORT_FILE);
        let holds = |part: &&str| dir.join(part).exists();
        if !path.exists() && ["state", "log", ARCHIVE_DIR].iter().any(holds) {
            let dir = dir.display();
            let why = format!(
                "{dir} holds a crawl that no demo made, and it stays as it is; name another \
                 directory with --dir"
            );
            return Err(Failed::with(Exit::Usage, why));
        }
        let open = || {
            std::fs::create_dir_all(dir)?;
            File::options().read(true).write(true).create(true).truncate(false).open(&path)
        };
        let file = open().with_context(|| format!("write {}", path.display()))?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let dir = dir.display();
            let why = format!(
                "another demo runs in {dir}; end it first, or name another directory with --dir"
            );
            return Err(Failed::with(Exit::Locked, why));
        }
        Ok(Mark { path, file })
    }

    /// Returns the port of an earlier demo; 0, for any, if there was none.
    fn port(&mut self) -> Result<u16, Failed> {
        let path = self.path.display();
        let mut text = String::new();
        self.file.read_to_string(&mut text).with_context(|| format!("read {path}"))?;
        if text.is_empty() {
            return Ok(0);
        }
        let port = text.trim().parse();
        Ok(port
            .with_context(|| format!("read {path}: it holds no port; begin anew without --keep"))?)
    }

    fn note(&mut self, port: u16) -> Result<(), Failed> {
        let mut write = || {
            self.file.set_len(0)?;
            self.file.rewind()?;
            self.file.write_all(port.to_string().as_bytes())
        };
        Ok(write().with_context(|| format!("write {}", self.path.display()))?)
    }
}

/// Takes the mark of a demo off a directory: what `crawler run` goes on with is a crawl like any
/// other, which no later demo may replace.
pub(super) fn unmark(dir: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(dir.join(PORT_FILE)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the settings of the demo; without a server, as far as they do not depend on it.
fn settings(
    common: &Common,
    server: Option<&Server>,
    dashboard: Option<&str>,
) -> Result<Config, Failed> {
    let set =
        |key: &str, value: String| Override { key: key.to_owned(), value, source: Source::Flag };
    let mut overrides = vec![
        set("dns.allow", "[\"127.0.0.0/8\"]".to_owned()),
        set("politeness.min_delay", quoted("100ms")),
        set("politeness.max_delay", quoted("2s")),
        set("politeness.backoff_initial", quoted("1s")),
        set("politeness.unreachable_initial", quoted("1s")),
        set("politeness.unreachable_max", "2".to_owned()),
        set("scope.host_pages_max", "400".to_owned()),
        set("limits.retries_max", "1".to_owned()),
        set("purpose", quoted("search")),
        set("limits.disk_reserve", quoted("100MB")),
        set("archive.dir", quoted(ARCHIVE_DIR)),
    ];
    if common.dir.is_none() {
        overrides.push(set("dir", quoted("demo-crawl")));
    }
    if common.contact.is_none() {
        overrides.push(set("contact", quoted("mailto:demo@crawler.test")));
    }
    // What is asked for on the command line is stronger than what makes the demo quick.
    overrides.retain(|ours| {
        let mut asked = common.set.iter().filter_map(|set| set.split_once('='));
        !asked.any(|(key, _)| key.trim() == ours.key)
    });
    overrides.extend(session::listen(dashboard));
    if let Some(server) = server {
        overrides.push(set("dns.servers", format!("[{}]", quoted(&server.dns_addr().to_string()))));
    }
    Ok(common.load(&overrides)?.config)
}

/// Removes an earlier demo: the state first, which whoever crawls there has locked, and of all else
/// only files that a crawl makes.
fn clear(config: &Config) -> Result<(), Failed> {
    Db::destroy(&config.dir.join("state"))?;
    let dir = config.dir.join("log");
    let own = [log::RULES, steer::JOURNAL, report::SETTINGS_FILE].map(|name| dir.join(name));
    for file in log::files(&dir).unwrap_or_default().into_iter().chain(own) {
        match std::fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                let what = format!("remove {} of the earlier demo", file.display());
                return Err(anyhow::Error::from(error).context(what).into());
            }
            _ => {}
        }
    }
    Ok(archive::remove_own(&config.dir.join(ARCHIVE_DIR), &config.archive.prefix)?)
}

/// Counts the documents of the web that were fetched under some URL, and all that there are.
fn coverage(config: &Config, web: &WebSpec) -> Result<(u64, u64), Failed> {
    let db = Db::open_read_only(&config.dir.join("state"), &config.state)?;
    let mut found = BTreeSet::new();
    urls::each(&db, |_, record| {
        if let UrlState::Done(done) = &record.state
            && done.status == 200
            && let Ok(url) = CrawlUrl::parse(&record.url)
            && let Some(Truth::Document { id: document, .. }) = web.truth(&url)
        {
            found.insert(document);
        }
        true
    })?;
    let all: u64 = (0..web.hosts().len() as u32).map(|h| web.documents(h).count() as u64).sum();
    Ok((found.len() as u64, all))
}

/// What a rule of the crawl kept from being fetched, judged by who drew the web.
#[derive(Debug, Default, serde::Serialize)]
struct Avoided {
    site: String,
    rule: String,
    fetches: u64,
    /// Of these, in the second half of the crawl's pages.
    late: u64,
    /// Of documents that were fetched under another URL.
    right: u64,
    /// Of documents that were not fetched at all.
    wrong: u64,
}

/// What all rules kept from being fetched.
#[derive(Debug, Default)]
struct Saved {
    urls: u64,
    late: u64,
    wrong: u64,
    rules: Vec<Avoided>,
}

impl std::fmt::Display for Saved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.rules.is_empty() {
            return writeln!(f, "no rule kept a URL from being fetched");
        }
        writeln!(f, "rules that were learned on the way, and the fetches that each avoided:")?;
        writeln!(f, "{:>9} {:>15} {:>6}  rule", "all", "in second half", "wrong")?;
        for Avoided { site, rule, fetches, late, wrong, .. } in &self.rules {
            let [fetches, late, wrong] = [*fetches, *late, *wrong].map(number);
            writeln!(f, "{fetches:>9} {late:>15} {wrong:>6}  {site}: {rule}")?;
        }
        let [urls, late, wrong] = [self.urls, self.late, self.wrong].map(number);
        writeln!(
            f,
            "{urls} URLs were not fetched, {late} of them in the second half of the crawl; {wrong} \
             of them lead to a document that was fetched under no other URL"
        )
    }
}

/// Lists the rules in force with the fetches that each avoided, against the truth about the web. A
/// URL that several rules changed counts for each.
fn avoided(config: &Config, web: &WebSpec) -> Result<Saved, Failed> {
    let db = Db::open_read_only(&config.dir.join("state"), &config.state)?;
    let Some(book) = super::dust::book(config, &db)? else { return Ok(Saved::default()) };
    let mut fetched = BTreeSet::new();
    let mut fetched_at = Vec::new();
    let mut suppressed: Vec<(Option<Truth>, Vec<u64>, Timestamp)> = Vec::new();
    urls::each(&db, |_, record| {
        let truth = CrawlUrl::parse(&record.url).ok().and_then(|url| web.truth(&url));
        if let UrlState::Done(done) = &record.state {
            fetched_at.push(done.at);
        }
        match (record.state, truth) {
            (UrlState::Done(done), Some(Truth::Document { id, .. })) if done.status == 200 => {
                fetched.insert(id);
            }
            (UrlState::Suppressed { rules, at, .. }, truth) => suppressed.push((truth, rules, at)),
            _ => {}
        }
        true
    })?;
    fetched_at.sort_unstable();
    let middle = fetched_at.get(fetched_at.len() / 2).copied().unwrap_or(Timestamp::ZERO);
    let mut saved = Saved::default();
    let enforced = book.rules().filter(|rule| rule.state == RuleState::Enforced);
    let mut rules: BTreeMap<u64, Avoided> = enforced
        .map(|rule| {
            let (site, text) = (rule.site.to_string(), rule.to_string());
            (rule.id.0, Avoided { site, rule: text, ..Avoided::default() })
        })
        .collect();
    for (truth, by, at) in suppressed {
        let late = at >= middle;
        let right = !matches!(truth, Some(Truth::Document { id, .. }) if !fetched.contains(&id));
        saved.urls += 1;
        saved.late += u64::from(late);
        saved.wrong += u64::from(!right);
        for id in by {
            let Some(rule) = rules.get_mut(&id) else { continue };
            rule.fetches += 1;
            rule.late += u64::from(late);
            rule.right += u64::from(right);
            rule.wrong += u64::from(!right);
        }
    }
    saved.rules = rules.into_values().filter(|rule| rule.fetches > 0).collect();
    saved.rules.sort_by(|a, b| (b.fetches, &a.site, &a.rule).cmp(&(a.fetches, &b.site, &b.rule)));
    Ok(saved)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These two keys alone of those that the demo sets could not be set, and an earlier demo was
    /// cleared in place of the directory that was named.
    #[test]
    fn what_is_set_on_the_command_line_holds_in_the_demo() {
        let set = ["dir=/elsewhere", "contact=mailto:me@a.test", "politeness.min_delay=1s"];
        let common = Common {
            config: None,
            dir: None,
            contact: None,
            set: set.map(str::to_owned).into(),
            json: false,
            quiet: true,
            log_level: "warn".to_owned(),
        };
        let Ok(config) = settings(&common, None, None) else { panic!("they are right") };
        assert_eq!(config.dir, Path::new("/elsewhere"));
        assert_eq!(config.contact, "mailto:me@a.test");
        assert_eq!(config.politeness.min_delay, crate::clock::Span::secs(1));
    }
}
