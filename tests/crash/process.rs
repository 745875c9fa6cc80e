//! The real process on a web of its own: how it is started, and what must hold at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crawler::archive;
use crawler::clock::{Clock, Timestamp};
use crawler::crawl::audit;
use crawler::db::families::urls;
use crawler::db::{Db, Settings};
use crawler::demo::{Draft, Server, ServerOptions, Truth, WebSpec};
use crawler::frontier::UrlState;
use crawler::url::CrawlUrl;

/// Milliseconds after which a process that should have ended is taken to hang.
const HANG_MILLIS: u32 = 180_000;

/// A web that is served, and the directory of its crawl.
pub(super) struct World {
    pub(super) server: Server,
    dir: tempfile::TempDir,
    /// Settings as `--set` takes them.
    settings: Vec<String>,
}

/// Something that goes wrong with a run; see `shim.c`.
#[derive(Clone, Debug, Default)]
pub(super) struct Fault {
    /// `op,path,nth,act`, or nothing.
    pub(super) call: String,
    /// Seconds by which the wall clock is wrong.
    pub(super) clock_shift: i64,
    /// A command of the shell before the program, such as `ulimit -n 64`.
    pub(super) limit: String,
    /// Time after which the run ends, as a setting; empty for none.
    pub(super) time_max: String,
}

impl Fault {
    pub(super) fn call(call: &str) -> Fault {
        Fault { call: call.to_owned(), ..Fault::default() }
    }
}

/// How a run ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// The exit code; `None` after a signal.
    pub(super) code: Option<i32>,
    /// What it said.
    pub(super) said: String,
    /// Whether the fault struck.
    pub(super) struck: bool,
}

impl World {
    /// Serves a web without sick and hesitant sites, so that every document must be found.
    pub(super) async fn serve(seed: u64, draft: Draft) -> World {
        let draft = Draft { sick: 0, touchy: 0, ..draft };
        let web = WebSpec::draw(seed, &draft);
        let clock = Arc::new(Clock::system(Timestamp::ZERO));
        let server = Server::start(web, clock, ServerOptions::default()).await.expect("loopback");
        let dir = tempfile::tempdir().expect("a directory");
        let list: Vec<String> = server.web().homes().iter().map(ToString::to_string).collect();
        std::fs::write(dir.path().join("seeds.txt"), list.join("\n")).expect("it is written");
        let settings = [
            &format!("dns.servers=[\"{}\"]", server.dns_addr()),
            "dns.allow=[\"127.0.0.0/8\"]",
            "politeness.min_delay=10ms",
            "politeness.max_delay=100ms",
            "archive.compression=none",
            "archive.size_max=1MB",
            "limits.disk_reserve=0B",
            "limits.log_size=64KiB",
            "dust.mode=off",
        ];
        let settings = settings.map(ToOwned::to_owned).to_vec();
        World { server, dir, settings }
    }

    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Adds a setting; a later one of the same key counts.
    pub(super) fn set(mut self, setting: &str) -> World {
        let key = setting.split('=').next().unwrap_or_default();
        self.settings.retain(|old| old.split('=').next() != Some(key));
        self.settings.push(setting.to_owned());
        self
    }

    /// Prepares a command of the program in this directory.
    fn command(&self, command: &str, fault: &Fault) -> Command {
        let program = env!("CARGO_BIN_EXE_crawler");
        let mut shell = Command::new("sh");
        let limit = if fault.limit.is_empty() { ":" } else { &fault.limit };
        shell.arg("-c").arg(format!("{limit} && exec \"$@\"")).arg("sh");
        shell.arg(program).args(command.split(' ')).args(["--contact", "mailto:test@crawler.test"]);
        shell.arg("--dir").arg(self.dir());
        if command == "run" {
            shell.arg("--quiet").arg("--seeds").arg(self.dir().join("seeds.txt"));
        }
        for setting in &self.settings {
            shell.args(["--set", setting]);
        }
        if !fault.time_max.is_empty() {
            shell.args(["--set", &format!("limits.time_max={}", fault.time_max)]);
        }
        if !fault.call.is_empty() || fault.clock_shift != 0 {
            shell.env("LD_PRELOAD", shim()).env("FAULT_HIT", self.hit());
            shell.env("CLOCK_SHIFT", fault.clock_shift.to_string());
            if !fault.call.is_empty() {
                shell.env("FAULT", &fault.call);
            }
        }
        shell.current_dir(self.dir()).stdin(Stdio::null());
        shell
    }

    fn hit(&self) -> PathBuf {
        self.dir().join("fault-struck")
    }

    /// Starts a command whose words go to a file in its directory. The shell makes way for the
    /// program, so killing the child kills that.
    pub(super) fn start(&self, command: &str, fault: &Fault) -> Child {
        let _ = std::fs::remove_file(self.hit());
        let said = std::fs::File::create(self.dir().join("said")).expect("it is created");
        let also = said.try_clone().expect("it is open");
        let mut command = self.command(command, fault);
        command.stdout(said).stderr(also).spawn().expect("the program starts")
    }

    /// Runs a command to its end.
    pub(super) fn run(&self, command: &str, fault: &Fault) -> Ended {
        let mut child = self.start(command, fault);
        for _ in 0..HANG_MILLIS {
            if let Some(status) = child.try_wait().expect("the child can be asked") {
                return Ended { code: status.code(), said: self.said(), struck: self.struck() };
            }
            std::thread::park_timeout(Duration::from_millis(1));
        }
        child.kill().expect("it can be killed");
        panic!("it hangs after {fault:?}: {}", self.said());
    }

    /// What the last command said so far.
    pub(super) fn said(&self) -> String {
        std::fs::read_to_string(self.dir().join("said")).unwrap_or_default()
    }

    /// Whether the fault of the last command has struck.
    pub(super) fn struck(&self) -> bool {
        self.hit().exists()
    }

    /// Number of lines in the crawl log.
    pub(super) fn logged(&self) -> usize {
        let files = crawler::crawl::log::files(&self.dir().join("log")).unwrap_or_default();
        let count = |text: Vec<u8>| text.iter().filter(|byte| **byte == b'\n').count();
        files.iter().filter_map(|file| std::fs::read(file).ok()).map(count).sum()
    }

    /// Runs the crawl to its end and checks all that was promised: nothing lost, nothing twice,
    /// everything whole, nobody hurried.
    pub(super) fn finish(&self) {
        let ended = self.run("run", &Fault::default());
        assert_eq!(ended.code, Some(0), "the last run: {}", ended.said);
        self.check_documents();
        self.check_archive();
        self.check_politeness();
        let verified = self.run("verify", &Fault::default());
        assert_eq!(verified.code, Some(0), "{}", verified.said);
    }

    /// Every document of the web is fetched.
    fn check_documents(&self) {
        let db = Db::open_read_only(&self.dir().join("state"), &Settings::default());
        let mut found = BTreeSet::new();
        urls::each(&db.expect("opens"), |_, record| {
            if let UrlState::Done(_) = record.state
                && let Ok(url) = CrawlUrl::parse(&record.url)
                && let Some(Truth::Document { id, .. }) = self.server.web().truth(&url)
            {
                found.insert(id);
            }
            true
        })
        .expect("the ledger is read");
        let web = self.server.web();
        let hosts = 0..web.hosts().len() as u32;
        let all: BTreeSet<_> = hosts.flat_map(|host| web.documents(host)).collect();
        let lost: Vec<_> = all.difference(&found).collect();
        assert!(lost.is_empty(), "{} of {} documents lost: {lost:?}", lost.len(), all.len());
    }

    /// The archive is whole, and no answer stands in it twice.
    fn check_archive(&self) {
        let archive = self.dir().join("archive");
        let report = archive::verify(&archive, archive::Indexed::IfAny);
        let report = report.expect("the archive is read");
        assert!(report.is_clean(), "{:?}", report.problems);
        let mut pages: BTreeMap<String, u32> = BTreeMap::new();
        let selection = archive::Selection::default();
        archive::walk(&archive, &selection, 0, |found, _| {
            if found.head.kind() == "response" && !found.head.uri().ends_with("/robots.txt") {
                *pages.entry(found.head.uri().to_owned()).or_default() += 1;
            }
            Ok(())
        })
        .expect("the archive is read");
        let twice: Vec<_> = pages.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "{twice:?}");
        assert!(pages.len() > 10, "{} pages prove little", pages.len());
    }

    /// The log alone proves that no host was asked too early.
    pub(super) fn check_politeness(&self) {
        let audit = audit::audit(&self.dir().join("log"), None).expect("the log is read");
        let found = (audit.violations_total, audit.bad_lines.len());
        assert_eq!(found, (0, 0), "{:?}", audit.violations);
    }
}

/// Builds `shim.c` once, with the C compiler that RocksDB's build needs anyway.
fn shim() -> &'static Path {
    static BUILT: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let build = || {
        let dir = tempfile::tempdir().expect("a directory");
        let library = dir.path().join("shim.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crash/shim.c");
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O1", "-Wall", "-o"]).arg(&library).arg(source).arg("-ldl");
        let status = cc.status().expect("a C compiler is there, as for RocksDB");
        assert!(status.success(), "the shim does not compile");
        (dir, library)
    };
    &BUILT.get_or_init(build).1
}
