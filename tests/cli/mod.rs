//! The program as people and scripts meet it: exit codes, messages, output.

mod ctl;
mod demos;
mod docs;
mod exports;
mod inlinks;
mod places;
mod repairs;
mod results;
mod schemas;
mod site;
mod streams;
mod suggested;
mod watched;

use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value;

/// Runs the program in a directory, with nothing of the caller's environment that it reads.
fn crawler(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(args).current_dir(dir);
    for variable in ["CRAWLER_CONFIG", "CRAWLER_DIR", "CRAWLER_CONTACT", "CRAWLER_LOG"] {
        command.env_remove(variable);
    }
    command.output().expect("the program starts")
}

#[track_caller]
fn check(output: &Output, code: i32, on_stderr: &[&str]) {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "stdout:\n{out}\nstderr:\n{err}");
    for want in on_stderr {
        assert!(err.contains(want), "`{want}` is not in stderr:\n{err}");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", text(&output.stdout)))
}

const LOOPBACK: [&str; 6] = [
    "--contact",
    "mailto:test@crawler.test",
    "--set",
    "dns.allow=[\"127.0.0.0/8\"]",
    "--set",
    "politeness.min_delay=10ms",
];

/// A finished crawl of the site, made once.
struct Crawled {
    dir: tempfile::TempDir,
    site: String,
    run: Output,
}

fn crawled() -> &'static Crawled {
    static CRAWLED: OnceLock<Crawled> = OnceLock::new();
    CRAWLED.get_or_init(|| {
        let site = site::serve();
        let dir = tempfile::tempdir().expect("a directory");
        let seeds = format!("# seeds\nht!tp://no url\n{site}/\n");
        std::fs::write(dir.path().join("seeds.txt"), seeds).expect("it is written");
        std::fs::write(
            dir.path().join("crawler.toml"),
            "contact = \"mailto:test@crawler.test\"\nseeds = [\"seeds.txt\"]\n\
             [dns]\nallow = [\"127.0.0.0/8\"]\n[politeness]\nmin_delay = \"10ms\"\n\
             [limits]\ndisk_reserve = \"1MB\"\n",
        )
        .expect("it is written");
        let run = crawler(dir.path(), &["run"]);
        Crawled { dir, site, run }
    })
}

impl Crawled {
    fn ask(&self, args: &[&str]) -> Output {
        crawler(self.dir.path(), args)
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.site)
    }
}

#[test]
fn without_a_contact_nothing_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    for args in [
        &["run", "http://127.0.0.1:9/"][..],
        &["fetch", "http://127.0.0.1:9/"],
        &["plan", "http://127.0.0.1:9/"],
        &["robots", "http://127.0.0.1:9/", "--fetch"],
    ] {
        let output = crawler(dir.path(), args);
        check(&output, 78, &["contact: is missing", "add --contact mailto:"]);
    }
    assert!(!dir.path().join("crawl").exists(), "a refused command leaves nothing behind");
}

#[test]
fn an_unknown_key_is_named_with_file_line_and_the_key_that_was_meant() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("crawler.toml"), "[politeness]\nmin_dely = \"2s\"\n").unwrap();
    let want = ["crawler.toml:2:1: politeness.min_dely", "did you mean `min_delay`?"];
    check(&crawler(dir.path(), &["config", "check"]), 78, &want);
    check(&crawler(dir.path(), &["run", "http://127.0.0.1:9/"]), 78, &want);
}

#[test]
fn a_wrong_command_line_is_a_usage_error_and_help_is_none() {
    let dir = tempfile::tempdir().unwrap();
    check(&crawler(dir.path(), &["crawl"]), 2, &["unrecognized subcommand"]);
    check(&crawler(dir.path(), &["explain"]), 2, &["<URL>"]);
    check(&crawler(dir.path(), &["explain", "mailto:x@y.test"]), 2, &["http(s)://"]);
    check(&crawler(dir.path(), &["--help"]), 0, &[]);
}

#[test]
fn every_command_has_a_help_with_examples() {
    let dir = tempfile::tempdir().unwrap();
    for command in [
        "explain",
        "robots",
        "dns",
        "fetch",
        "plan",
        "verify",
        "repair",
        "export",
        "init",
        "doctor",
        "completions",
        "man",
        "ctl",
        "top",
    ] {
        let output = crawler(dir.path(), &[command, "--help"]);
        check(&output, 0, &[]);
        let help = text(&output.stdout);
        assert!(
            help.contains("Examples:") && help.contains(&format!("crawler {command}")),
            "{help}"
        );
    }
}

#[test]
fn a_state_that_another_process_has_open_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("crawl/state");
    std::fs::create_dir_all(&state).unwrap();
    let _held = crawler::db::Db::open(&state, &Default::default()).unwrap();
    std::fs::write(state.join("PID"), "4242").unwrap();
    let mut args = vec!["run", "http://127.0.0.1:9/"];
    args.extend(LOOPBACK);
    let want = ["another process (process 4242) has it open", "stop that crawl first"];
    check(&crawler(dir.path(), &args), 75, &want);
    check(&crawler(dir.path(), &["repair"]), 75, &want);
}

#[test]
fn without_a_crawl_there_is_nothing_to_show() {
    let dir = tempfile::tempdir().unwrap();
    for args in [&["status"][..], &["verify"]] {
        check(&crawler(dir.path(), args), 3, &["there is none", "`crawler run` makes one"]);
    }
    check(&crawler(dir.path(), &["export", "--format", "jsonl"]), 3, &["there is no archive"]);
    check(&crawler(dir.path(), &["robots", "a.test"]), 3, &["nothing is stored", "--fetch"]);
    let output = crawler(dir.path(), &["explain", "http://a.test/x", "--json"]);
    check(&output, 3, &[]);
    assert_eq!(json(&output)["state"]["is"], "unknown");
}

#[test]
fn a_bad_seed_is_named_and_costs_no_good_one() {
    let crawled = crawled();
    check(&crawled.run, 0, &["warning: seeds.txt:2:"]);
    let status = json(&crawled.ask(&["status", "--json"]));
    // The home page, a, b, gone, listed, the sitemap.
    assert_eq!(status["counters"]["done"], 6, "{status}");
    assert_eq!(status["state"], "complete");
}

#[test]
fn explain_knows_what_became_of_a_url_and_why() {
    let crawled = crawled();
    let explain = |path: &str| {
        let output = crawled.ask(&["explain", &crawled.url(path), "--json", "--history"]);
        (output.status.code(), json(&output))
    };
    let (code, home) = explain("/");
    assert_eq!((code, &home["state"]["is"]), (Some(0), &Value::from("done")), "{home}");
    assert_eq!(home["seen"]["step"], "a seed");
    assert_eq!(home["history"][0]["status"], 200);
    let (_, listed) = explain("/listed");
    assert_eq!(listed["state"]["status"], 200, "{listed}");
    assert_eq!(listed["seen"]["via"], crawled.url("/sitemap.xml"));
    let (code, private) = explain("/private/x");
    assert_eq!((code, &private["state"]["is"]), (Some(0), &Value::from("refused")), "{private}");
    assert_eq!(private["state"]["reason"], "robots-disallowed");
    assert_eq!(private["robots"]["line"], 2);
    assert_eq!(private["seen"]["via"], crawled.url("/"));
    let elsewhere = crawled.ask(&["explain", "http://elsewhere.test/", "--json"]);
    let elsewhere = json(&elsewhere);
    assert_eq!(elsewhere["state"]["reason"], "out-of-scope", "{elsewhere}");
    let (code, never) = explain("/never");
    assert_eq!((code, &never["state"]["is"]), (Some(3), &Value::from("unknown")));
    assert_eq!(never["schedule_gate"]["code"], "in-scope");
    let untold = text(&crawled.ask(&["explain", &crawled.url("/untold")]).stdout);
    assert!(untold.contains("links were not followed: 1 page-nofollow"), "{untold}");
    let shown = text(&crawled.ask(&["explain", &crawled.url("/private/x")]).stdout);
    assert!(shown.contains("robots.txt line 2, group *: Disallow: /private/"), "{shown}");
}

#[test]
fn explain_says_before_a_crawl_what_would_become_of_a_url() {
    let crawled = crawled();
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("seeds.txt"), format!("{}/\n", crawled.site)).unwrap();
    let explain = |more: &[&str], path: &str| {
        let url = if path.starts_with('/') { crawled.url(path) } else { path.to_owned() };
        let mut args = vec!["explain", &url, "--json", "--seeds", "seeds.txt"];
        args.extend(LOOPBACK);
        args.extend(more);
        let output = crawler(dir.path(), &args);
        check(&output, 3, &[]);
        json(&output)
    };
    let check = |said: &Value, is: &str, reason: Option<&str>, seed: bool| {
        let forecast = &said["forecast"];
        assert_eq!(forecast["is"], is, "{said}");
        assert_eq!(forecast["reason"].as_str(), reason, "{said}");
        assert_eq!(forecast["seed"], seed, "{said}");
    };
    let home = explain(&[], "/#top");
    check(&home, "fetched", None, true);
    assert_eq!(home["url"], crawled.url("/"), "the normal form is shown beside what was given");
    assert_eq!(home["given"], crawled.url("/#top"));
    check(&explain(&[], "/private/x"), "fetched", None, false);
    check(&explain(&["--live"], "/private/x"), "refused", Some("robots-disallowed"), false);
    check(&explain(&["--live"], "/a"), "fetched", None, false);
    check(&explain(&[], "http://elsewhere.test/"), "refused", Some("out-of-scope"), false);
    let exclude = ["--set", "scope.exclude=[\"regex:/a$\"]"];
    check(&explain(&exclude, "/a"), "refused", Some("excluded"), false);
    let unsown = crawler(dir.path(), &["explain", &crawled.url("/a")]);
    assert!(text(&unsown.stderr).contains("no seeds are known"), "{}", text(&unsown.stderr));
    assert!(!dir.path().join("crawl").exists(), "looking leaves nothing behind");
}

#[test]
fn robots_names_group_line_and_signals() {
    let crawled = crawled();
    let output = crawled.ask(&["robots", &crawled.url("/private/x"), "--json"]);
    check(&output, 0, &[]);
    let known = &json(&output)[0];
    assert_eq!(known["verdict"]["allowed"], false, "{known}");
    assert_eq!(known["verdict"]["rule"], "Disallow: /private/");
    assert_eq!(known["signals"][0]["name"], "content-signal");
    assert_eq!(known["sitemaps"][0], crawled.url("/sitemap.xml"));
    let dir = tempfile::tempdir().unwrap();
    let url = crawled.url("/a");
    let mut args = vec!["robots", &url, "--fetch", "--json"];
    args.extend(LOOPBACK);
    let output = crawler(dir.path(), &args);
    check(&output, 0, &[]);
    assert_eq!(json(&output)[0]["verdict"]["allowed"], true);
}

#[test]
fn dns_of_an_address_is_the_address_if_it_may_be_asked() {
    let dir = tempfile::tempdir().unwrap();
    let mut args = vec!["dns", "127.0.0.1", "--json"];
    args.extend(LOOPBACK);
    let output = crawler(dir.path(), &args);
    check(&output, 0, &[]);
    assert_eq!(json(&output)["now"]["addresses"][0], "127.0.0.1");
    let refused = crawler(dir.path(), &["dns", "127.0.0.1"]);
    check(&refused, 3, &[]);
    assert!(text(&refused.stdout).contains("address not allowed: 127.0.0.1; see dns.allow"));
}

#[test]
fn fetch_shows_every_decision_and_obeys_robots() {
    let crawled = crawled();
    let dir = tempfile::tempdir().unwrap();
    let fetch = |path: &str| {
        let url = crawled.url(path);
        let mut args = vec!["fetch", &url, "--links", "--json", "--set", "scope.scope=any"];
        args.extend(LOOPBACK);
        crawler(dir.path(), &args)
    };
    let output = fetch("/");
    check(&output, 0, &[]);
    let page = json(&output);
    assert_eq!((&page["status"], &page["title"]), (&Value::from(200), &Value::from("Page /")));
    assert_eq!(page["links"]["by_kind"]["anchor"], 5, "{page}");
    assert_eq!(page["link_list"].as_array().map(Vec::len), Some(5));
    assert_eq!(page["archive_gate"]["accept"], true);
    let private = fetch("/private/x");
    check(&private, 3, &[]);
    assert_eq!(json(&private)["robots"]["line"], 2);
    assert!(!dir.path().join("crawl").exists(), "nothing is stored");
}

#[test]
fn plan_reads_robots_and_sitemaps_and_judges_what_they_list() {
    let crawled = crawled();
    let dir = tempfile::tempdir().unwrap();
    let (home, private) = (crawled.url("/"), crawled.url("/private/z"));
    let mut args = vec!["plan", &home, &private, "--json"];
    args.extend(LOOPBACK);
    let output = crawler(dir.path(), &args);
    check(&output, 0, &[]);
    let plan = json(&output);
    assert_eq!(plan["floor_ms"], 10, "{plan}");
    assert_eq!((&plan["listed"], &plan["listed_accepted"]), (&Value::from(3), &Value::from(2)));
    assert_eq!(plan["listed_disallowed"], 1);
    assert_eq!(plan["seeds"][0]["accept"], true);
    assert_eq!(plan["seeds"][1]["accept"], false);
    let mut args = vec!["plan", &private];
    args.extend(LOOPBACK);
    check(&crawler(dir.path(), &args), 3, &["0 of 1 origins can be crawled"]);
}

#[test]
fn verify_finds_a_flipped_byte_and_says_which_record_it_is() {
    let crawled = crawled();
    let output = crawled.ask(&["verify", "--json", "--all"]);
    check(&output, 0, &[]);
    let report = json(&output);
    assert_eq!(
        (&report["clean"], &report["state"]["records"]),
        (&Value::from(true), &Value::from(6))
    );

    let copy = tempfile::tempdir().unwrap();
    let archive = copy.path().join("crawl/archive");
    std::fs::create_dir_all(&archive).unwrap();
    let mut warc = None;
    for entry in std::fs::read_dir(crawled.dir.path().join("crawl/archive")).unwrap() {
        let from = entry.unwrap().path();
        let to = archive.join(from.file_name().unwrap());
        std::fs::copy(&from, &to).unwrap();
        warc = warc.or(to.display().to_string().ends_with(".warc.gz").then_some(to));
    }
    check(&crawler(copy.path(), &["verify", "--archive-only"]), 0, &[]);
    let warc = warc.expect("there is a WARC file");
    let mut bytes = std::fs::read(&warc).unwrap();
    // Within the compressed part of a member: its header has bytes that nothing vouches for.
    let half = bytes.len() / 2;
    let member = bytes[half..].windows(3).position(|three| three == [0x1f, 0x8b, 8]);
    let middle = half + member.expect("a record begins in the second half") + 40;
    bytes[middle] ^= 0x40;
    std::fs::write(&warc, &bytes).unwrap();
    let output = crawler(copy.path(), &["verify", "--archive-only"]);
    check(&output, 20, &["`crawler repair`"]);
    let shown = text(&output.stdout);
    assert!(shown.contains("archive: ") && shown.contains(".warc.gz"), "{shown}");

    // A torn tail is cut, and then all is well again.
    bytes[middle] ^= 0x40;
    bytes.extend_from_slice(&[0x1f, 0x8b, 8, 0, 1, 2, 3]);
    std::fs::write(&warc, &bytes).unwrap();
    check(&crawler(copy.path(), &["verify", "--archive-only"]), 20, &[]);
    let repaired = crawler(copy.path(), &["repair"]);
    check(&repaired, 0, &[]);
    assert!(text(&repaired.stdout).contains("cut "), "{}", text(&repaired.stdout));
    check(&crawler(copy.path(), &["verify", "--archive-only"]), 0, &[]);
}

/// Of a crawl of one file, all was well without its index, and there was nothing to mend.
#[test]
fn the_only_index_is_missed_and_made_again_unless_the_crawl_was_to_have_none() {
    let crawled = crawled();
    let copy = tempfile::tempdir().unwrap();
    docs::copy(&crawled.dir.path().join("crawl"), &copy.path().join("crawl"));
    let remove = || {
        let entries = std::fs::read_dir(copy.path().join("crawl/archive")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let indexes: Vec<_> =
            paths.filter(|path| path.extension().is_some_and(|end| end == "cdxj")).collect();
        indexes.iter().for_each(|index| std::fs::remove_file(index).unwrap());
        indexes.len()
    };
    assert_eq!(remove(), 1);
    let without = ["--set", "archive.cdxj=false"];
    check(&crawler(copy.path(), &[&["verify"], &without[..]].concat()), 0, &[]);
    let output = crawler(copy.path(), &[&["repair"], &without[..]].concat());
    check(&output, 0, &[]);
    assert!(text(&output.stdout).contains("there was nothing to mend"));
    let output = crawler(copy.path(), &["verify", "--all"]);
    check(&output, 20, &["`crawler repair`"]);
    assert!(text(&output.stdout).contains("no index beside it"), "{}", text(&output.stdout));
    let output = crawler(copy.path(), &["repair"]);
    check(&output, 0, &[]);
    assert!(text(&output.stdout).contains("indexed "), "{}", text(&output.stdout));
    check(&crawler(copy.path(), &["verify", "--all"]), 0, &[]);
    assert_eq!(remove(), 1);
    // What is from elsewhere may have been made without.
    std::fs::remove_dir_all(copy.path().join("crawl/state")).unwrap();
    check(&crawler(copy.path(), &["verify", "--archive-only"]), 0, &[]);
}

#[test]
fn export_selects_and_writes_every_form() {
    let crawled = crawled();
    let output = crawled.ask(&["export", "--format", "jsonl", "--status", "404", "--text", "1KB"]);
    check(&output, 0, &[]);
    let lines = text(&output.stdout);
    assert_eq!(lines.lines().count(), 1, "{lines}");
    assert!(lines.contains("/gone") && lines.contains("no such page"), "{lines}");
    let output = crawled.ask(&["export", "--format", "cdxj", "--mime", "text/html"]);
    check(&output, 0, &[]);
    assert_eq!(text(&output.stdout).lines().count(), 5, "{}", text(&output.stdout));
    let out = tempfile::tempdir().unwrap();
    for name in ["part.warc.gz", "part.wacz"] {
        let file = out.path().join(name).display().to_string();
        let args = ["export", "--out", &file, "--url", "/a$", "--json"];
        let output = crawled.ask(&args);
        check(&output, 0, &[]);
        assert!(json(&output)["bytes"].as_u64().is_some_and(|bytes| bytes > 100));
        check(&crawled.ask(&args), 2, &["is there already"]);
    }
    check(&crawled.ask(&["export", "--format", "jsonl", "--host", "nobody.test"]), 3, &[]);
    check(&crawled.ask(&["export", "--format", "warc"]), 2, &["add --out FILE"]);
    check(&crawled.ask(&["export", "--url", "(", "--format", "jsonl"]), 2, &["regular expression"]);
}

#[test]
fn init_writes_what_config_check_accepts_and_never_over_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    check(&crawler(dir.path(), &["init", "--yes"]), 78, &["contact: is missing"]);
    assert!(!dir.path().join("crawler.toml").exists());
    let args = [
        "init",
        "--yes",
        "--contact",
        "mailto:me@crawler.test",
        "--purpose",
        "search",
        "--scope",
        "domain",
        "--seed",
        "http://a.test/",
        "--seed",
        "b.test",
    ];
    check(&crawler(dir.path(), &args), 0, &[]);
    check(&crawler(dir.path(), &["config", "check"]), 0, &[]);
    let shown = text(&crawler(dir.path(), &["config", "show", "--effective"]).stdout);
    for want in [
        "contact = \"mailto:me@crawler.test\"  # from the file",
        "purpose = \"search\"  # from the file",
        "scope.scope = \"domain\"  # from the file",
        "seeds = [\"seeds.txt\"]  # from the file",
        "fetch.",
    ] {
        assert!(shown.contains(want), "`{want}` is not in:\n{shown}");
    }
    let seeds = std::fs::read_to_string(dir.path().join("seeds.txt")).unwrap();
    assert!(seeds.contains("http://a.test/\nhttp://b.test/\n"), "{seeds}");
    check(&crawler(dir.path(), &args), 78, &["is there already; --force"]);
    let mut force = args.to_vec();
    force.push("--force");
    check(&crawler(dir.path(), &force), 0, &[]);
}

#[test]
fn flags_show_as_the_origin_of_what_they_set() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["config", "show", "--effective", "--json", "--set", "politeness.min_delay=7s"];
    let output = crawler(dir.path(), &args);
    check(&output, 0, &[]);
    let rows = json(&output);
    let row = rows.as_array().unwrap().iter().find(|row| row["key"] == "politeness.min_delay");
    assert_eq!(row.map(|row| &row["source"]), Some(&Value::from("flag")), "{rows}");
}

#[test]
fn doctor_names_what_is_missing_and_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let output = crawler(dir.path(), &["doctor", "--host", "127.0.0.1", "--json"]);
    check(&output, 20, &[]);
    let report = json(&output);
    let of = |name: &str| {
        let checks = report["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).unwrap().clone()
    };
    assert_eq!(of("contact")["health"], "bad");
    assert!(of("contact")["next"].as_str().unwrap().contains("--contact"));
    assert_eq!(of("clock")["health"], "good");
    let mut args = vec!["doctor", "--host", "127.0.0.1", "--set", "limits.disk_reserve=1MB"];
    args.extend(LOOPBACK);
    check(&crawler(dir.path(), &args), 0, &[]);
}

#[test]
fn completions_and_manual_know_every_command() {
    let dir = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let output = crawler(dir.path(), &["completions", shell]);
        check(&output, 0, &[]);
        let script = text(&output.stdout);
        assert!(script.contains("explain") && script.contains("doctor"), "{shell}");
    }
    check(&crawler(dir.path(), &["man", "--out", "man"]), 0, &[]);
    assert!(dir.path().join("man/crawler-explain.1").exists());
    assert!(text(&crawler(dir.path(), &["man"]).stdout).starts_with(".ie"));
}
