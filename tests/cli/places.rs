//! Where there is nothing, and what is wrong before anything is begun.

use super::*;

#[test]
fn a_mistyped_directory_or_host_is_nothing_found() {
    let dir = tempfile::tempdir().unwrap();
    let ask = |args: &[&str]| crawler(dir.path(), &[args, &["--dir", "nosuch"]].concat());
    check(&ask(&["verify", "--archive-only"]), 3, &["there is no archive in nosuch/archive"]);
    check(&ask(&["repair"]), 3, &["there is no crawl in nosuch"]);
    check(&ask(&["audit"]), 3, &["read the crawl log in nosuch/log"]);
    let crawled = crawled();
    check(&crawled.ask(&["audit", "--host", "nosuch.example"]), 3, &["nosuch.example"]);
    check(&crawled.ask(&["audit"]), 0, &[]);
}

#[test]
fn a_contact_that_reaches_nobody_is_refused_and_a_missing_one_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let output = crawler(dir.path(), &["config", "check", "--contact", "x"]);
    check(&output, 78, &["command line: contact: must be a `mailto:` address"]);
    let output = crawler(dir.path(), &["config", "check"]);
    check(&output, 0, &[]);
    assert!(text(&output.stdout).contains("`contact` is missing"), "{}", text(&output.stdout));
    let output = crawler(dir.path(), &["config", "check", "--json"]);
    assert_eq!(json(&output)["missing"][0], "contact");
    let output = crawler(dir.path(), &["config", "check", "--contact", "mailto:me@a.test"]);
    assert!(!text(&output.stdout).contains("missing"), "{}", text(&output.stdout));
}

#[test]
fn what_cannot_work_is_said_before_anything_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let run = |set: &[&str]| {
        let run = [&["run", "http://127.0.0.1:9/"], &LOOPBACK[..], set].concat();
        let output = crawler(dir.path(), &run);
        assert!(!dir.path().join("crawl").exists(), "{set:?} leaves nothing behind");
        output
    };
    check(&run(&["--set", "fetch.ca_file=/nonexistent.pem"]), 78, &["/nonexistent.pem"]);
    let half = ["--set", "fetch.signature_agent=https://b.test"];
    check(&run(&half), 78, &["belong together"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    check(&run(&["--dashboard", &address]), 78, &[&address]);
    let token = ["--dashboard", "127.0.0.1:0", "--set", "dashboard.token_file=nosuch"];
    check(&run(&token), 78, &["nosuch"]);
    for (key, value) in [("head_fields_max", "0"), ("head_max", "0B"), ("decoded_max", "0B")] {
        let set = format!("fetch.{key}={value}");
        check(&crawler(dir.path(), &["config", "check", "--set", &set]), 78, &[key]);
    }
}

#[test]
fn words_are_those_of_people() {
    let crawled = crawled();
    let url = crawled.url("/a");
    let shown = text(&crawled.ask(&["robots", &url]).stdout);
    assert!(!shown.contains("OurGroup") && !shown.contains("EveryGroup"), "{shown}");
    let bare = crawled.url("").replace("http://", "");
    let shown = text(&crawled.ask(&["robots", &bare, "--fetch"]).stdout);
    assert!(shown.starts_with(&format!("http://{bare}/robots.txt")), "{shown}");
    let dir = tempfile::tempdir().unwrap();
    let args = [&["dns", "127.0.0.1"], &LOOPBACK[..]].concat();
    let shown = text(&crawler(dir.path(), &args).stdout);
    assert!(shown.contains("127.0.0.1 (for ever)"), "{shown}");
    let args = [&["dns", "127.0.0.1", "--json"], &LOOPBACK[..]].concat();
    assert!(json(&crawler(dir.path(), &args))["now"]["ttl_s"].is_null());
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(["config", "check"]).current_dir(dir.path()).env("CRAWLER_DIR", "");
    check(&command.output().unwrap(), 0, &[]);
}

/// A crawl whose budget was spent said that it was complete, and no larger one brought back what
/// the budget had refused.
#[test]
fn a_spent_budget_is_a_limit_and_the_same_command_with_a_larger_one_goes_on() {
    let crawled = crawled();
    let dir = tempfile::tempdir().unwrap();
    let (home, a, b) = (crawled.url("/"), crawled.url("/a"), crawled.url("/b?x=1"));
    let run = |set: &[&str]| {
        let more = ["--set", "limits.disk_reserve=1MB", "--json"];
        let args = [&["run", &home, &a, &b][..], &LOOPBACK, &more, set];
        crawler(dir.path(), &args.concat())
    };
    let three = ["--set", "scope.total_pages_max=3"];
    for _ in 0..2 {
        let output = run(&three);
        check(&output, 10, &[]);
        assert_eq!(json(&output)["ended"], "limit");
        assert_eq!(json(&output)["counters"]["done"], 3);
    }
    let output = run(&["--set", "scope.host_pages_max=4"]);
    check(&output, 0, &[]);
    assert_eq!(json(&output)["counters"]["done"], 4, "the budget of a host is no end of the crawl");
    let output = run(&[]);
    check(&output, 0, &[]);
    // The home page, a, b, gone, listed, the sitemap.
    assert_eq!(json(&output)["counters"]["done"], 6);
    check(&crawler(dir.path(), &["verify"]), 0, &[]);
}

/// Checks a configuration, which `run` would be given as `crawler.toml`.
#[track_caller]
fn refused(text: &str, args: &[&str], want: &str) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("crawler.toml"), text).unwrap();
    let output = crawler(dir.path(), &[&["config", "check"], args].concat());
    check(&output, 78, &[&format!("error: {want}")]);
}

/// Keys and lines were looked for in the text, where a comment or a list over several lines hid
/// them.
#[test]
fn every_error_of_a_configuration_names_line_and_key_and_what_to_write() {
    for (text, want) in [
        (
            "[politeness] # be nice\nmin_dealy = \"2s\"\n",
            "2:1: politeness.min_dealy: unknown field",
        ),
        (
            "[frontier] # many\nin_flight_max = 0\n",
            "2:1: frontier.in_flight_max: must be at least 1",
        ),
        (
            "[scope]\nexclude = [\n  \"a.test\", # [no table]\n  3,\n]\n",
            "4:3: scope.exclude: invalid type",
        ),
        ("scope.exclude = [\n  3,\n]\n", "2:3: scope.exclude: invalid type"),
        ("[scope]\n\nexclude = [\"regex:(\"] # bad\n", "3:1: scope.exclude: "),
        ("scope = \"host\"\n", "1:9: scope: is a table of keys: write `[scope]`"),
        (
            "[host.slow.example.org]\nmin_delay = \"9s\"\n",
            "1:12: host.slow.example: unknown field `example`",
        ),
        ("[dns]\nallow = [\"127.0.0.0\"]\n", "2:10: dns.allow: invalid IP address syntax"),
        ("[dns]\nservers = [\"8.8.8.8\"]\n", "2:12: dns.servers: invalid socket address syntax"),
    ] {
        refused(text, &[], &format!("crawler.toml:{want}"));
    }
    for (text, hint) in [
        ("[host.slow.example.org]\n", "write `[host.\"slow.example.org\"]`"),
        ("[dns]\nallow = [\"127.0.0.0\"]\n", "write a network as \"127.0.0.0/8\""),
        ("[dns]\nservers = [\"8.8.8.8\"]\n", "write address and port as \"192.0.2.1:53\""),
    ] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("crawler.toml"), text).unwrap();
        check(&crawler(dir.path(), &["config", "check"]), 78, &[hint]);
    }
}

/// The line of the file was blamed, which was right.
#[test]
fn a_value_that_overrides_the_file_is_blamed_where_it_is_given() {
    let text = "[politeness]\nmin_delay = \"2s\"\n";
    let set = ["--set", "politeness.min_delay=60s"];
    refused(text, &set, "command line: politeness.min_delay: 1m is more than");
}

/// What stood for its bytes named another directory, which two crawls could share.
#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_not_utf8_is_refused_and_no_other_is_taken_for_it() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let dir = tempfile::tempdir().unwrap();
    let (place, list) = (OsStr::from_bytes(b"x\xe9"), OsStr::from_bytes(b"s\xe9.txt"));
    std::fs::write(dir.path().join(list), "http://127.0.0.1:9/\n").unwrap();
    let run = |args: &[&str], flag: &str, path: &OsStr| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
        command.args(args).args(LOOPBACK).arg(flag).arg(path).current_dir(dir.path());
        for variable in ["CRAWLER_CONFIG", "CRAWLER_DIR", "CRAWLER_CONTACT", "CRAWLER_LOG"] {
            command.env_remove(variable);
        }
        command.output().unwrap()
    };
    let why = "is not UTF-8, and a configuration can hold no other; rename it";
    check(&run(&["run", "http://127.0.0.1:9/"], "--dir", place), 78, &["--dir", "`x\\xe9`", why]);
    check(&run(&["run"], "--seeds", list), 78, &["--seeds", "`s\\xe9.txt`", why]);
    check(&run(&["init", "--yes"], "--dir", place), 78, &["`x\\xe9`", why]);
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap()).collect();
    assert_eq!(left.len(), 1, "the list alone: {left:?}");
    // What goes into no configuration is used as it is given.
    let config = OsStr::from_bytes(b"c\xe9.toml");
    std::fs::write(dir.path().join(config), "name = \"other\"\n").unwrap();
    check(&run(&["config", "check"], "--config", config), 0, &[]);
}

/// Thousands of lines were named one by one, and words between them crawled as hosts; and `-` was a
/// file that is not there.
#[test]
fn a_seed_list_may_come_on_standard_input_and_what_is_no_text_is_refused_in_one_line() {
    use std::io::Write;
    use std::process::Stdio;
    let dir = tempfile::tempdir().unwrap();
    let mut binary = b"\x7fELF\x02\x01\x01\0".to_vec();
    binary.extend(b"\nlocalhost\n\x01\x02\n".repeat(100));
    std::fs::write(dir.path().join("binary"), binary).unwrap();
    let run = [&["run", "--seeds", "binary"], &LOOPBACK[..]].concat();
    let output = crawler(dir.path(), &run);
    check(&output, 78, &["failed to read seeds binary:1: this is a binary file or UTF-16"]);
    assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
    assert!(!dir.path().join("crawl").exists());

    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args(["run", "--seeds", "-", "--set", "limits.disk_reserve=1MB", "--json"]);
    command.args(LOOPBACK).current_dir(dir.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    for variable in ["CRAWLER_CONFIG", "CRAWLER_DIR", "CRAWLER_CONTACT", "CRAWLER_LOG"] {
        command.env_remove(variable);
    }
    let mut child = command.spawn().unwrap();
    let list = format!("# old ends\r{}\r", crawled().url("/"));
    child.stdin.take().unwrap().write_all(list.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    check(&output, 0, &[]);
    assert!(json(&output)["counters"]["done"].as_u64() > Some(1), "{}", text(&output.stdout));
}

/// It called right what each run then refused, one at a time.
#[test]
fn config_check_names_at_once_what_a_run_would_refuse() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("crawler.toml"),
        "contact = \"mailto:me@a.test\"\nseeds = [\"no.txt\", \"null.txt\"]\n[fetch]\n\
         ca_file = \"no.pem\"\naccept = \"a\\nb\"\nsignature_key = \"nokey.pem\"\n\
         signature_agent = \"https://b.test\"\n",
    )
    .unwrap();
    std::fs::write(dir.path().join("null.txt"), "http://a.test/\n\0\n").unwrap();
    let ask = ["config", "check", "--json", "--set", "dashboard.token_file=notoken"];
    let output = crawler(dir.path(), &ask);
    let want = [
        "error: crawler.toml:2:1: seeds: failed to read seeds no.txt: ",
        "error: crawler.toml:2:1: seeds: failed to read seeds null.txt:2: ",
        "error: crawler.toml:4:1: fetch.ca_file: failed to load the certificates of `no.pem`",
        "error: crawler.toml:6:1: fetch.signature_key: failed to read the key nokey.pem",
        "error: crawler.toml:5:1: fetch.accept: failed to use the `accept` in a request",
        "error: command line: dashboard.token_file: failed to read the dashboard's token",
    ];
    check(&output, 78, &want);
    assert_eq!(text(&output.stderr).lines().count(), want.len(), "{}", text(&output.stderr));
    let report = json(&output);
    assert_eq!(report["valid"], false);
    assert_eq!(report["problems"].as_array().map(Vec::len), Some(want.len()));
    schemas::compare_with_page("config check", &report);

    std::fs::write(dir.path().join("crawler.toml"), "seeds = [\"bad.txt\"]\n").unwrap();
    std::fs::write(dir.path().join("bad.txt"), "mailto:x@y.test\n").unwrap();
    let why = ["crawler.toml:1:1: seeds: no line of the seed lists is a URL"];
    check(&crawler(dir.path(), &["config", "check"]), 78, &why);
}
