//! `crawler dust`, as people run it: files in, standard output and exit codes out.

mod logs;
mod redirects;
mod site;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use site::ModelSite;

const BIN: &str = env!("CARGO_BIN_EXE_crawler");

/// Exit codes of the program.
const USAGE: i32 = 2;
const NOTHING: i32 = 3;
const REFUTED: i32 = 20;
const LOCKED: i32 = 75;

/// A directory of its own, in which commands run.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn run(&self, args: &[&str], input: &str) -> Output {
        self.run_bytes(args, input.as_bytes())
    }

    fn run_bytes(&self, args: &[&str], input: &[u8]) -> Output {
        let mut child = Command::new(BIN)
            .arg("dust")
            .args(args)
            .current_dir(self.0.path())
            .env_remove("CRAWLER_DIR")
            .env_remove("CRAWLER_CONFIG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap()
    }

    /// Runs a command that must end with this code; returns what it wrote.
    fn check(&self, args: &[&str], input: &str, code: i32) -> (String, String) {
        let output = self.run(args, input);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        assert_eq!(output.status.code(), Some(code), "{args:?}\n{out}\n{err}");
        (out, err)
    }

    fn json(&self, args: &[&str]) -> Value {
        let (out, _) = self.check(&[args, &["--json"]].concat(), "", 0);
        serde_json::from_str(&out).unwrap()
    }
}

const TIME: &str = "[10/Oct/2000:13:55:36 -0700]";

/// An access log in which every story stands under both of its URLs, and a line is bad.
fn access_log(stories: u64) -> String {
    let line = |url: String, n: u64| {
        format!("1.2.3.4 - - {TIME} \"GET {url} HTTP/1.1\" 200 {}\n", 4000 + n * 3)
    };
    let mut log = String::from("this is no line of a log\n");
    for n in 1..=stories {
        log.push_str(&line(format!("/story?id={n}"), n));
        log.push_str(&line(format!("/story_{n}"), n));
    }
    log
}

/// Rules with one in force, in a file.
fn rule_file(place: &Place, state: &str) -> (PathBuf, String) {
    use crawler::clock::Timestamp;
    use crawler::dust::{Rule, RuleFile, RuleKind, Scope, Source};
    use crawler::url::Site;
    let substring = RuleKind::Substring {
        from: "/story_".to_owned(),
        to: "/story?id=".to_owned(),
        at_start: true,
        at_end: false,
    };
    let site = Site::new("forum.example");
    let mut rule = Rule::new(site, substring, Scope::default(), Source::Mined, Timestamp::ZERO);
    rule.state = serde_json::from_value(Value::String(state.to_owned())).unwrap();
    let id = rule.id.to_string();
    let file = RuleFile { format: 1, version: 1, rules: vec![rule] };
    (place.file("rules.json", &serde_json::to_string(&file).unwrap()), id)
}

fn name(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn without_pages_the_miner_of_the_paper_stops_before_validation_and_says_so() {
    let place = Place::new();
    place.file("access.log", &access_log(30));
    let args =
        ["mine", "--mode", "paper", "--site", "http://forum.example", "access.log", "--json"];
    let (out, err) = place.check(&args, "", 0);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["urls"], 60);
    let pair = &report["after_elimination"][0];
    let ends = |value: &Value, end: &str| value.as_str().unwrap().ends_with(end);
    assert!(ends(&pair["alpha"], "/story?id=") && ends(&pair["beta"], "/story_"), "{pair}");
    assert_eq!(pair["support"], 30);
    assert!(report["likely"].is_array() && report["param_candidates"].is_array());
    assert!(report.get("validated").is_none());
    assert!(err.contains("stopped before validation"), "{err}");
    assert!(err.contains("access.log:1: not a line of a web-server log"), "{err}");
    assert!(err.contains("1 bad lines"), "{err}");
}

#[test]
fn the_miner_of_the_paper_validates_through_a_proxy_and_its_rules_can_be_applied() {
    let place = Place::new();
    let site = ModelSite::start();
    place.file("access.log", &access_log(30));
    let proxy = format!("proxy=http://{}", site.address);
    let log = ["--site", "http://forum.example", "access.log"];
    let args = ["mine", "--mode", "paper", "--fetch", &proxy, "--rules", "paper.json", "--ms", "5"];
    let report = place.json(&[&args[..], &log].concat());
    assert_eq!(report["options"]["MS"], 5);
    let rule = &report["validated"][0];
    let ends = |value: &Value, end: &str| value.as_str().unwrap().ends_with(end);
    assert!(ends(&rule["from"], "/story?id=") && ends(&rule["to"], "/story_"), "{rule}");
    let fetches = report["fetches"].as_u64().unwrap();
    assert_eq!(site.requests(), fetches);
    let apply = ["apply", "--rules", "paper.json", "--quiet"];
    let (out, _) = place.check(&apply, "http://forum.example/story?id=77\n", 0);
    assert_eq!(out, "http://forum.example/story_77\n");
}

#[test]
fn our_miner_proves_rules_and_they_are_applied_listed_and_explained() {
    let place = Place::new();
    let site = ModelSite::start();
    place.file("access.log", &access_log(200));
    place.file("canon.tsv", "http://forum.example/story?id=7\t200\n");
    let proxy = format!("proxy=http://{}", site.address);
    let args = ["mine", "--fetch", &proxy, "--rules", "rules.json", "--canon", "canon.tsv"];
    let args = [&args[..], &["--site", "http://forum.example", "access.log"]].concat();
    let report = place.json(&[&args[..], &["--probes", "0.01"]].concat());
    assert_eq!(report["enforced"], 0, "a hundredth of 400 URLs pays for no proof");
    let report = place.json(&[&args[..], &["--probes", "0.5"]].concat());
    assert_eq!(report["enforced"], 1, "{report}");
    assert_eq!(
        report["canonical"]["http://forum.example/story?id=7"],
        "http://forum.example/story_7"
    );
    let list = place.json(&["rules", "--rules", "rules.json", "--state", "enforced"]);
    assert_eq!(list["rules"][0]["text"], "\"^/story?id=\" -> \"^/story_\"");
    let id = list["rules"][0]["id"].as_str().unwrap().to_owned();
    let (table, _) = place.check(&["rules", "--rules", "rules.json"], "", 0);
    assert!(table.contains(&id) && table.contains("1 in force"), "{table}");

    let input = "http://forum.example/story?id=9\nno URL\n";
    let (out, err) = place.check(&["apply", "--rules", "rules.json"], input, 0);
    assert_eq!(out, "http://forum.example/story_9\nno URL\n");
    assert_eq!(err, "2 lines, 1 changed, 1 no URL\n");
    let explained =
        place.json(&["explain", "--rules", "rules.json", "http://forum.example/story?id=9"]);
    assert_eq!(explained["key"], "http://forum.example/story_9");
    assert_eq!(explained["steps"][0]["rule"], id.as_str());
}

#[test]
fn only_a_proxy_on_this_machine_is_taken() {
    let place = Place::new();
    place.file("a.tsv", "http://h/\t200\n");
    for how in ["proxy=http://192.0.2.1:80", "proxy=nonsense", "everything"] {
        let (_, err) = place.check(&["mine", "--fetch", how, "a.tsv"], "", USAGE);
        assert!(err.contains("--fetch"), "{err}");
    }
}

#[test]
fn a_rule_file_is_proved_or_refuted() {
    let place = Place::new();
    let site = ModelSite::start();
    place.file("access.log", &access_log(100));
    let (rules, _) = rule_file(&place, "candidate");
    let proxy = format!("proxy=http://{}", site.address);
    let args = ["validate", name(&rules), "--log", "access.log", "--site", "http://forum.example"];
    let proved = place.json(&[&args[..], &["--fetch", &proxy]].concat());
    assert_eq!((&proved["proved"], &proved["refuted"]), (&1.into(), &0.into()), "{proved}");

    let liar = ModelSite::start_with_other_texts();
    let proxy = format!("proxy=http://{}", liar.address);
    let (out, _) = place.check(&[&args[..], &["--fetch", &proxy]].concat(), "", REFUTED);
    assert!(out.contains("0 proved, 1 refuted"), "{out}");
    let (_, err) = place.check(&args, "", USAGE);
    assert!(err.contains("--fetch live"), "{err}");
}

#[test]
fn rules_are_imported_as_candidates_and_decided_about_on_a_stopped_crawl() {
    let place = Place::new();
    let (rules, id) = rule_file(&place, "enforced");
    let (_, err) = place.check(&["disable", "00", "--dir", "crawl"], "", NOTHING);
    assert!(err.contains("crawl"), "{err}");
    let imported = place.json(&["import", name(&rules), "--dir", "crawl"]);
    assert_eq!(imported["imported"], 1);
    let state = || {
        let list = place.json(&["rules", "--dir", "crawl"]);
        list["rules"][0]["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(state(), "candidate");
    let mut lines = 1;
    for (command, from, to) in [
        ("enable", "candidate", "enforced"),
        ("disable", "enforced", "suspended"),
        ("enable", "suspended", "enforced"),
        ("revert", "enforced", "retired"),
    ] {
        let answer = place.json(&[command, &id[..6], "--dir", "crawl"]);
        assert_eq!(answer["rules"][0]["from"], from, "{command}");
        assert_eq!(answer["rules"][0]["to"], to, "{command}");
        assert_eq!(state(), to);
        lines += 1;
    }
    // A retired rule that comes in again is tried again, and any other one is left as it is.
    for (state_then, imported) in [("candidate", [0, 0, 1]), ("candidate", [0, 1, 0])] {
        let answer = place.json(&["import", name(&rules), "--dir", "crawl"]);
        let counts = ["imported", "known", "revived"].map(|key| answer[key].as_u64().unwrap());
        assert_eq!((counts, state().as_str()), (imported, state_then), "{answer}");
    }
    lines += 1;
    let log = std::fs::read_to_string(place.path("crawl/log/rules.jsonl")).unwrap();
    assert_eq!(log.lines().count(), lines);
    let (_, err) = place.check(&["enable", "0000000000000000", "--dir", "crawl"], "", NOTHING);
    assert!(err.contains("there is no rule"), "{err}");
}

#[test]
fn a_crawl_that_runs_keeps_its_rules_to_itself() {
    let place = Place::new();
    let (rules, id) = rule_file(&place, "enforced");
    place.check(&["import", name(&rules), "--dir", "crawl"], "", 0);
    let db = crawler::db::Db::open(&place.path("crawl/state"), &Default::default()).unwrap();
    let (_, err) = place.check(&["disable", &id, "--dir", "crawl"], "", LOCKED);
    assert!(err.contains("only while the crawl is stopped"), "{err}");
    drop(db);
    place.check(&["disable", &id, "--dir", "crawl"], "", 0);
}

#[test]
fn rules_are_exported_for_other_programs() {
    let place = Place::new();
    let (rules, id) = rule_file(&place, "enforced");
    for (format, want) in [
        ("json", "\"kind\": \"substring\""),
        ("nginx", "return 301 \"$scheme://$http_host/story?id=$1\""),
        ("apache", "[R=301,NE,QSD,L]"),
        ("clean-param", "left out"),
        ("pywb", "rules.yaml"),
    ] {
        let args = ["export", "--format", format, "--rules", name(&rules)];
        let (out, err) = place.check(&args, "", 0);
        assert!(out.contains(want) && out.contains(&id), "{format}: {out}");
        assert_eq!(err.contains("left out: "), ["clean-param", "pywb"].contains(&format), "{err}");
    }
    place.check(&["export", "--rules", name(&rules), "--out", "again.json"], "", 0);
    place.check(&["rules", "--rules", "again.json"], "", 0);
}

/// `0 rules written` was a success, also for a site that was misspelt.
#[test]
fn where_there_is_no_rule_of_a_site_nothing_is_exported() {
    let place = Place::new();
    let (rules, _) = rule_file(&place, "candidate");
    let export = |more: &[&str], code| {
        place.check(&[&["export", "--rules", name(&rules), "--site"], more].concat(), "", code).1
    };
    let said = export(&["nothere.example"], NOTHING);
    assert!(said.contains("no rules of nothere.example, but of forum.example"), "{said}");
    assert!(export(&["forum.example"], NOTHING).contains("--any"));
    assert!(export(&["forum.example", "--any"], 0).contains("1 rules written"));
    for name in ["www.forum.example", "http://forum.example/story?id=1"] {
        assert!(export(&[name, "--any"], 0).contains("1 rules written"), "{name}");
    }
}

/// What had been refuted stood among the redirects for a server, one of which led in a circle.
#[test]
fn what_was_refuted_or_disabled_is_written_for_other_crawls_alone() {
    let place = Place::new();
    for state in ["retired", "suspended"] {
        let (rules, _) = rule_file(&place, state);
        let export = |format| {
            let args = ["export", "--any", "--format", format, "--rules", name(&rules)];
            place.check(&args, "", 0).1
        };
        assert!(export("nginx").contains("0 rules written"), "{state}");
        assert!(export("json").contains("1 rules written"), "{state}");
    }
}

/// With a file it printed nothing, and without a form the rules and not what was left out.
#[test]
fn an_export_says_in_json_what_it_wrote() {
    let place = Place::new();
    let (rules, _) = rule_file(&place, "enforced");
    let export = |more: &[&str]| place.json(&[&["export", "--rules", name(&rules)], more].concat());
    let said = export(&["--out", "again.json"]);
    assert_eq!((&said["written"], &said["file"]), (&1.into(), &"again.json".into()), "{said}");
    let file = std::fs::read_to_string(place.path("again.json")).unwrap();
    assert_eq!(export(&[])["text"], file);
    assert_eq!(export(&["--format", "pywb"])["left_out"].as_array().unwrap().len(), 1);
}

#[test]
fn crawl_logs_gzip_and_archives_are_read() {
    let place = Place::new();
    let mut log = String::new();
    for n in 0..20 {
        let sketch: String = (0..16).map(|bin| format!("{:02x}", (n * 16 + bin) % 251)).collect();
        for url in [format!("http://f.example/s?id={n}"), format!("http://f.example/s_{n}")] {
            log.push_str(&format!(
                "{{\"url\":\"{url}\",\"status\":200,\"purpose\":\"page\",\"size\":{n},\"sketch\":\"{sketch}\"}}\n"
            ));
        }
    }
    log.push_str(
        "{\"url\":\"http://f.example/robots.txt\",\"status\":200,\"purpose\":\"robots\"}\n",
    );
    std::fs::create_dir(place.path("log")).unwrap();
    place.file("log/crawl-00001.jsonl", &log);
    let report = place.json(&["mine", "--mode", "paper", "log"]);
    assert_eq!((&report["urls"], &report["options"]["similar"]), (&40.into(), &"sketch".into()));
    assert_eq!(report["after_elimination"][0]["support"], 20);
    let report = place.json(&["mine", "log"]);
    assert_eq!(report["urls"], 40);
    assert_eq!(report["rules"][0]["evidence"]["documents_same"], 20, "{report}");

    let gzip = std::fs::File::create(place.path("crawl.gz")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(gzip, flate2::Compression::fast());
    gzip.write_all(log.as_bytes()).unwrap();
    gzip.finish().unwrap();
    assert_eq!(place.json(&["mine", "crawl.gz"])["urls"], 40);

    let mut warc = String::new();
    for n in 0..20 {
        for url in [format!("http://f.example/s?id={n}"), format!("http://f.example/s_{n}")] {
            let body = site::page(&site::text(n));
            let block = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            warc.push_str(&format!(
                "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\n\
                 WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:{n}>\r\n\
                 Content-Type: application/http;msgtype=response\r\nContent-Length: {}\r\n\r\n\
                 {block}\r\n\r\n",
                block.len()
            ));
        }
    }
    place.file("pages.warc", &warc);
    let report = place.json(&["mine", "--mode", "paper", "pages.warc"]);
    assert_eq!((&report["urls"], &report["options"]["similar"]), (&40.into(), &"sketch".into()));
    assert_eq!(report["after_elimination"][0]["support"], 20);
    let report = place.json(&["mine", "pages.warc"]);
    assert_eq!(report["urls"], 40);
    assert_eq!(report["rules"][0]["evidence"]["documents_same"], 20, "{report}");

    // What changes with each visit, and what stands on every page, is no part of a text; and what
    // was archived as a revisit shows what its payload showed before.
    let mut warc = String::new();
    let mut record = |kind: &str, url: &str, n: u64, block: &str| {
        warc.push_str(&format!(
            "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n\
             WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:{n}>\r\n\
             WARC-Payload-Digest: sha1:{n}\r\n\
             WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n\
             Content-Type: application/http;msgtype=response\r\nContent-Length: {}\r\n\r\n\
             {block}\r\n\r\n",
            block.len()
        ));
    };
    for n in 0..20 {
        for (visit, url) in [(2 * n, format!("t?t={n}")), (2 * n + 1, format!("t-{n}"))] {
            let around = site::text(1000);
            let visits = format!("{around} Visited {visit} times, by {} of us.", visit * 7919);
            let body = site::page(&format!("{visits}</p><p>{}</p><p>{visits}", site::text(n)));
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
            record("response", &format!("http://f.example/{url}"), visit, &format!("{head}{body}"));
            if visit % 2 == 1 {
                record("revisit", &format!("http://f.example/u/{n}"), visit, head);
            }
        }
    }
    place.file("visited.warc", &warc);
    let report = place.json(&["mine", "visited.warc"]);
    assert_eq!(report["urls"], 60);
    let proposed = report["rules"].as_array().unwrap().iter();
    let same = proposed.filter(|rule| rule["evidence"]["documents_same"] == 20).count();
    assert!(same >= 2, "{report}");
}

/// One rule that drops two parameters was listed twice.
#[test]
fn a_rule_is_listed_once_however_often_it_was_applied() {
    use crawler::clock::Timestamp;
    use crawler::dust::{Rule, RuleFile, RuleKind, RuleState, Scope, Source};
    let place = Place::new();
    let names = vec!["a".to_owned(), "b".to_owned()];
    let kind = RuleKind::drop(names, None);
    let site = crawler::url::Site::new("f.example");
    let mut rule = Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO);
    rule.state = RuleState::Enforced;
    let file = RuleFile { format: 1, version: 1, rules: vec![rule] };
    place.file("rules.json", &serde_json::to_string(&file).unwrap());
    let url = "http://f.example/?a=1&b=2&c=3";
    let explained = place.json(&["explain", "--rules", "rules.json", url]);
    assert_eq!(explained["steps"].as_array().unwrap().len(), 1, "{explained}");
    let (out, _) = place.check(&["apply", "--rules", "rules.json", "--json"], url, 0);
    let applied: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(applied["rules"].as_array().unwrap().len(), 1, "{applied}");
}

#[test]
fn a_rule_is_applied_as_far_as_its_file_says_that_it_is_proved() {
    use crawler::clock::Timestamp;
    use crawler::dust::{Rule, RuleKind, Scope, Source};
    let place = Place::new();
    let kind = RuleKind::drop(vec!["by".to_owned()], None);
    let site = crawler::url::Site::new("f.example");
    let rule = Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO);
    let mut rule = serde_json::to_value(rule).unwrap();
    let seen = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(b"name"));
    rule["state"] = "enforced".into();
    rule["limits"] = serde_json::json!({ "values": { "by": [seen] } });
    let file = serde_json::json!({ "format": 2, "rules": [rule] });
    place.file("rules.json", &file.to_string());
    let urls = "http://f.example/?by=name\nhttp://f.example/?by=size\n";
    let apply = |more: &[&str]| {
        place.check(&[&["apply", "--rules", "rules.json"], more].concat(), urls, 0).0
    };
    assert_eq!(apply(&[]), "http://f.example/\nhttp://f.example/?by=size\n");
    assert_eq!(apply(&["--any"]), "http://f.example/\nhttp://f.example/\n");
    let explain = |url: &str| place.json(&["explain", "--rules", "rules.json", url]);
    let [seen, unseen] = ["name", "size"].map(|by| explain(&format!("http://f.example/?by={by}")));
    assert_eq!(seen["key"], "http://f.example/");
    assert_eq!(seen["not_here"], serde_json::json!([]));
    assert_eq!(unseen["key"], "http://f.example/?by=size");
    assert_eq!(unseen["not_here"][0]["after"], "http://f.example/", "{unseen}");
    let export = ["export", "--rules", "rules.json", "--format", "clean-param"];
    let (text, said) = place.check(&export, "", 0);
    assert!(!text.contains("Clean-param: by") && said.contains("few values"), "{text}{said}");
    let (text, _) = place.check(&[&export[..], &["--any"]].concat(), "", 0);
    assert!(text.contains("Clean-param: by"), "{text}");
    file_with_bad_hash_is_refused(&place, file);
}

fn file_with_bad_hash_is_refused(place: &Place, mut file: Value) {
    file["rules"][0]["limits"]["values"]["by"][0] = "no hash".into();
    place.file("rules.json", &file.to_string());
    let (_, said) = place.check(&["apply", "--rules", "rules.json"], "", 78);
    assert!(said.contains("`no hash`"), "{said}");
}

/// What one rule leaves may be for another one that was applied before: the steps ended there.
#[test]
fn the_steps_of_an_explanation_lead_to_the_key() {
    use crawler::clock::Timestamp;
    use crawler::dust::{Rule, RuleFile, RuleKind, RuleState, Scope, Source};
    let place = Place::new();
    let rule = |kind| {
        let site = crawler::url::Site::new("f.example");
        let mut rule = Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO);
        rule.state = RuleState::Enforced;
        rule
    };
    let renamed = RuleKind::Substring {
        from: "?old=".to_owned(),
        to: "?a=".to_owned(),
        at_start: false,
        at_end: false,
    };
    let rules = vec![rule(RuleKind::drop(vec!["a".to_owned()], None)), rule(renamed)];
    let file = RuleFile { format: 1, version: 1, rules };
    place.file("rules.json", &serde_json::to_string(&file).unwrap());
    let url = "http://f.example/?a=1&old=2";
    let explained = place.json(&["explain", "--rules", "rules.json", url]);
    assert_eq!(explained["key"], "http://f.example/");
    let steps = explained["steps"].as_array().unwrap();
    let after: Vec<&str> = steps.iter().map(|step| step["after"].as_str().unwrap()).collect();
    let want = ["http://f.example/?old=2", "http://f.example/?a=2", "http://f.example/"];
    assert_eq!(after, want, "{explained}");
}

/// What is no URL came back changed: bytes that are no UTF-8, and a carriage return at the end.
#[test]
fn lines_that_are_no_url_come_back_as_they_are() {
    let place = Place::new();
    let (rules, _) = rule_file(&place, "enforced");
    let input = b"\xff\xfe\r\nno URL\r\n\r\nhttp://forum.example/story_1\r\n";
    let args = ["apply", "--rules", name(&rules)];
    let output = place.run_bytes(&args, input);
    assert_eq!(output.stdout, b"\xff\xfe\r\nno URL\r\n\r\nhttp://forum.example/story?id=1\n");
    let output = place.run_bytes(&[&args[..], &["--pairs"]].concat(), b"\xff\r\n");
    assert_eq!(output.stdout, b"\xff\r\t\xff\r\n");
}

#[test]
fn the_rules_of_the_paper_are_named_where_they_are_not_taken() {
    let place = Place::new();
    place.file("paper.json", r#"{"paper":1,"rounds":10,"sites":[]}"#);
    for args in [
        &["rules", "--rules", "paper.json"][..],
        &["export", "--rules", "paper.json"],
        &["import", "paper.json", "--dir", "crawl"],
    ] {
        let (_, err) = place.check(args, "", 78);
        assert!(err.contains("--mode paper"), "{err}");
    }
}
