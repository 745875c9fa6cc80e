//! Logs of every kind as people have them: empty, broken, of other programs.

use std::io::Write;

use serde_json::Value;

use super::site::ModelSite;
use super::{NOTHING, Place, REFUTED, USAGE, access_log, name, rule_file};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Returns the rules that were found, in words.
fn rules(report: &Value) -> Vec<String> {
    let rules = report["rules"].as_array().unwrap();
    rules.iter().map(|rule| rule["text"].as_str().unwrap().to_owned()).collect()
}

/// The sizes and sketches of other programs' JSON were passed over without a word.
#[test]
fn json_lines_of_other_programs_say_as_much_as_a_list() {
    let place = Place::new();
    let (mut sizes, mut json_sizes) = (String::new(), String::new());
    let (mut sketches, mut json_sketches) = (String::new(), String::new());
    for n in 0..40 {
        for url in [format!("http://f.example/s?id={n}"), format!("http://f.example/s_{n}")] {
            let (size, sketch) = (4_000 + 1_000 * n, format!("{n}a,{n}b,{n}c,{n}d"));
            sizes.push_str(&format!("{url}\t200\t{size}\t{size}\n"));
            sketches.push_str(&format!("{url}\t200\t-\t-\t{sketch}\n"));
            json_sizes
                .push_str(&format!("{{\"url\":\"{url}\",\"status\":\"200\",\"size\":{size}}}\n"));
            json_sketches.push_str(&format!(
                "{{\"url\":\"{url}\",\"status\":200,\"sketch\":\"{sketch}\"}}\n"
            ));
        }
    }
    for (list, json) in [(sizes, json_sizes), (sketches, json_sketches)] {
        place.file("list.tsv", &list);
        place.file("list.jsonl", &json);
        let (of_list, of_json) =
            (place.json(&["mine", "list.tsv"]), place.json(&["mine", "list.jsonl"]));
        assert_eq!(of_json["urls"], 80);
        assert!(!rules(&of_list).is_empty(), "{of_list}");
        assert_eq!(rules(&of_json), rules(&of_list));
    }
}

#[test]
fn a_broken_crawl_log_is_read_as_far_as_it_goes() {
    let place = Place::new();
    let line =
        |n: u64| format!("{{\"at_ms\":1,\"url\":\"http://f.example/{n}\",\"status\":200}}\n");
    let mut log = gzip((0..50).map(line).collect::<String>().as_bytes());
    log.extend(gzip(line(50).as_bytes()));
    log.truncate(log.len() - 12);
    std::fs::write(place.path("crawl.gz"), &log).unwrap();
    let (out, err) = place.check(&["mine", "crawl.gz", "--json"], "", 0);
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["urls"], 50);
    assert!(err.contains("unreadable from here on"), "{err}");
    let long =
        format!("{}{{\"at_ms\":1,\"url\":\"{}\"}}\n{}", line(1), "x".repeat(3 << 20), line(2));
    place.file("long.jsonl", &long);
    let (_, err) = place.check(&["mine", "long.jsonl"], "", 0);
    assert!(err.contains("long.jsonl:2: line too long") && err.contains("1 bad lines"), "{err}");
}

/// The access log just after a rotation kept the miner from reading all others.
#[test]
fn what_holds_no_lines_stops_nothing_and_what_is_all_wrong_is_said_once() {
    let place = Place::new();
    place.file("empty.log", "");
    place.file("garbage.log", "hello\nworld\n");
    place.file("access.log", &access_log(30));
    let site = ["--site", "https://s.example"];
    let mine = |files: &[&str], code| {
        place.check(&[&["mine"], &site[..], files, &["--json"]].concat(), "", code)
    };
    let urls = |files: &[&str]| {
        let (out, err) = mine(files, 0);
        (serde_json::from_str::<Value>(&out).unwrap()["urls"].as_u64().unwrap(), err)
    };
    assert_eq!(urls(&["empty.log", "access.log"]).0, 60);
    let (count, err) = urls(&["garbage.log", "access.log"]);
    assert_eq!(count, 60);
    assert!(err.contains("garbage.log:1: ") && err.contains("--format"), "{err}");
    assert_eq!(urls(&["empty.log"]).0, 0);
    let (_, err) = mine(&["garbage.log"], NOTHING);
    assert!(err.contains("nothing could be read"), "{err}");
    let (_, err) = place.check(&["mine", "--format", "access-log", "access.log"], "", NOTHING);
    assert_eq!(err.matches("--site").count(), 1, "{err}");
    let paper = ["mine", "--mode", "paper", "access.log", "--canon", "empty.log"];
    place.check(&[&paper[..], &site].concat(), "", 0);
}

/// They were passed over in silence, and `0 URLs` was a success.
#[test]
fn what_is_no_url_is_counted_and_no_log_when_nothing_is_left() {
    let place = Place::new();
    let lines = "ftp://a.example/\t200\t5\nno url\t200\t6\n";
    place.file("none.tsv", lines);
    place.file("some.tsv", &format!("{lines}http://a.example/\t200\t7\n"));
    let (_, err) = place.check(&["mine", "none.tsv"], "", NOTHING);
    assert!(err.contains("2 entries left out") && err.contains("ftp://a.example/"), "{err}");
    let (_, err) = place.check(&["mine", "some.tsv"], "", 0);
    assert!(err.contains("2 entries left out"), "{err}");
}

/// What stood behind the host became a part of every URL.
#[test]
fn a_site_of_a_log_is_scheme_host_and_port() {
    let place = Place::new();
    place.file("access.log", &access_log(30));
    for bad in [
        "https://s.example/path",
        "https://s.example?a=1",
        "https://me@s.example",
        "ftp://s.example",
        "https://",
        "https:",
        "a b",
        "",
    ] {
        let (_, err) = place.check(&["mine", "--site", bad, "access.log"], "", USAGE);
        assert!(err.contains("--site") && err.contains("https://example.org"), "{bad}: {err}");
    }
    for good in ["https://s.example", "https://s.example:8443/", "s.example", "http://[::1]:80"] {
        place.check(&["mine", "--site", good, "access.log"], "", 0);
    }
}

/// Hours of fetching were lost, or a file with half of the rules was left.
#[test]
fn a_rule_file_that_cannot_be_written_is_told_before_anything_is_read() {
    let place = Place::new();
    place.file("access.log", &access_log(30));
    let (rules, _) = rule_file(&place, "candidate");
    std::fs::create_dir(place.path("folder")).unwrap();
    for out in ["no/such/place.json", "folder"] {
        let site = ["--site", "http://forum.example", "--rules", out];
        for args in [
            &["mine", "missing.log"][..],
            &["mine", "--mode", "paper", "missing.log"],
            &[
                "validate",
                name(&rules),
                "--log",
                "missing.log",
                "--fetch",
                "proxy=http://127.0.0.1:9",
            ],
        ] {
            let output = place.run(&[args, &site].concat(), "");
            let err = String::from_utf8(output.stderr).unwrap();
            assert!(!output.status.success() && err.contains(out), "{args:?}: {err}");
            assert!(!err.contains("missing.log"), "{args:?}: {err}");
        }
    }
    let mine = ["mine", "--site", "http://forum.example", "access.log", "--rules", "out.json"];
    place.check(&mine, "", 0);
    place.check(&["rules", "--rules", "out.json"], "", 0);
    assert!(!place.path("out.json.part").exists());
}

/// All rules were retired, also those in force, and the command said nothing and succeeded.
#[test]
fn where_no_page_can_be_fetched_rules_stay_as_they_are_and_the_command_fails() {
    let place = Place::new();
    let line =
        |n: u64| format!("http://127.0.0.1/story?id={n}\t200\nhttp://127.0.0.1/story_{n}\t200\n");
    let list: String = (1..=20).map(line).collect();
    place.file("own.tsv", &list);
    place.file("list.tsv", &list.replace("127.0.0.1", "forum.example"));
    let (rules, _) = rule_file(&place, "enforced");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy = format!("proxy=http://{closed}");
    let live = ["--fetch", "live", "--contact", "mailto:a@a.example"];
    let proxied = ["--fetch", &proxy];
    for (args, how, said) in [
        (&["mine", "own.tsv"][..], &live[..], "dns.allow_private"),
        (&["mine", "list.tsv"][..], &proxied[..], "proxy-failed"),
        (&["validate", name(&rules), "--log", "own.tsv"][..], &live[..], "address not allowed"),
        (&["validate", name(&rules), "--log", "list.tsv"][..], &proxied[..], "proxy-failed"),
    ] {
        let out = place.file("out.json", "as before");
        let args = [args, how, &["--rules", "out.json"]].concat();
        let (_, err) = place.check(&args, "", NOTHING);
        assert!(err.contains("none showed a page") && err.contains(said), "{args:?}: {err}");
        assert_eq!(std::fs::read_to_string(out).unwrap(), "as before");
    }
}

/// URLs whose text no log tells were not drawn, and rules that touch nothing else "not met".
#[test]
fn rules_are_proved_on_a_log_that_tells_no_sizes() {
    let place = Place::new();
    let line = |n: u64| {
        format!("http://forum.example/story?id={n}\t200\nhttp://forum.example/story_{n}\t304\n")
    };
    place.file("list.tsv", &(1..=40).map(line).collect::<String>());
    let (rules, _) = rule_file(&place, "candidate");
    let check = |site: &ModelSite, code| {
        let proxy = format!("proxy=http://{}", site.address);
        let args = ["validate", name(&rules), "--log", "list.tsv", "--fetch", &proxy];
        place.check(&args, "", code).0
    };
    let out = check(&ModelSite::start(), 0);
    assert!(out.contains("1 proved, 0 refuted"), "{out}");
    let out = check(&ModelSite::start_with_other_texts(), REFUTED);
    assert!(out.contains("0 proved, 1 refuted"), "{out}");
    let (_, err) = place.check(&["mine", "list.tsv"], "", 0);
    assert!(err.contains("80 URLs tell nothing of their text"), "{err}");
}

#[test]
fn senseless_constants_and_flags_without_effect_are_refused() {
    let place = Place::new();
    place.file("access.log", &access_log(30));
    let paper = ["--mode", "paper"];
    for flags in [
        &["--mrd", "nan"][..],
        &["--mrd=-1"],
        &["--epsilon", "nan"],
        &["--epsilon", "7"],
        &["--epsilon=-0.5"],
        &["--same", "nan"],
        &["--same", "9"],
        &["--param-min-frac", "nan"],
        &["--probes", "0.1"],
    ] {
        place.check(&[&["mine", "access.log"], &paper[..], flags].concat(), "", USAGE);
    }
    for flags in [
        &["--probes", "nan"][..],
        &["--probes=-3"],
        &["--t-low", "2"],
        &["--no-params"],
        &["--delay", "bogus"],
        &["--delay", "1s"],
    ] {
        let (_, err) = place.check(&[&["mine", "access.log"], flags].concat(), "", USAGE);
        assert!(err.contains("--"), "{err}");
    }
}
