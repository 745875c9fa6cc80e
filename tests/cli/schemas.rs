//! The JSON of every command is what `src/cli/JSON.md` says: no key more, no key less.

use std::collections::BTreeMap;

use super::docs::demo;
use super::*;

/// The page, read when the test runs.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/cli/JSON.md");

/// A key as documented: its types, and whether it may be absent.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    types: Vec<String>,
    optional: bool,
}

/// Reads the page: sections by their headings, keys by their lines.
fn documented() -> BTreeMap<String, BTreeMap<String, Key>> {
    let mut sections = BTreeMap::new();
    let mut name = String::new();
    let mut inside = false;
    let page = std::fs::read_to_string(PAGE).expect("the page is there");
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            name = heading.trim_matches('`').to_owned();
        } else if line.starts_with("```") {
            inside = !inside;
        } else if inside && !line.trim().is_empty() {
            let mut words = line.split_whitespace();
            let (path, types) = (words.next().unwrap(), words.next().expect("a key has a type"));
            let optional = path.ends_with('?');
            let key = Key { types: types.split('|').map(str::to_owned).collect(), optional };
            let keys: &mut BTreeMap<String, Key> = sections.entry(name.clone()).or_default();
            let twice = keys.insert(path.trim_end_matches('?').to_owned(), key);
            assert!(twice.is_none(), "{name}: {path} stands there twice");
        }
    }
    sections
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    }
}

/// Collects the keys of a value; a documented `x.*` stands for every key below `x`, and what is
/// documented as `any` is not looked into.
fn collect(
    value: &Value,
    path: &str,
    known: &BTreeMap<String, Key>,
    found: &mut BTreeMap<String, Vec<&'static str>>,
) {
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let any = join("*");
                let name = if known.contains_key(&any) { any } else { join(key) };
                let types = found.entry(name.clone()).or_default();
                if !types.contains(&type_of(inner)) {
                    types.push(type_of(inner));
                }
                let opaque = known.get(&name).is_some_and(|key| key.types == ["any"]);
                if !opaque {
                    collect(inner, &name, known, found);
                }
            }
        }
        Value::Array(list) => {
            for inner in list {
                collect(inner, &format!("{path}[]"), known, found);
            }
        }
        _ => {}
    }
}

#[track_caller]
pub(super) fn compare_with_page(name: &str, value: &Value) {
    compare(name, std::slice::from_ref(value), known(&documented(), name));
}

#[track_caller]
fn compare(name: &str, values: &[Value], known: &BTreeMap<String, Key>) {
    let mut found = BTreeMap::new();
    values.iter().for_each(|value| collect(value, "", known, &mut found));
    let mut wrong = Vec::new();
    for (path, types) in &found {
        match known.get(path) {
            None => wrong.push(format!("{path} is not documented ({types:?})")),
            Some(key) => {
                let fits = |kind: &&str| key.types.iter().any(|t| t == kind || t == "any");
                let bad: Vec<_> = types.iter().filter(|kind| !fits(kind)).collect();
                if !bad.is_empty() {
                    wrong.push(format!("{path} is {bad:?}, documented as {:?}", key.types));
                }
            }
        }
    }
    for (path, key) in known {
        // What stands in an empty list or under an absent key cannot be seen.
        let outer = path.rsplit_once("[]").map(|(outer, _)| outer);
        let inner_of_missing = outer.is_some_and(|outer| {
            !found.keys().any(|found| found.starts_with(&format!("{outer}[]")))
        });
        let below = path.match_indices('.').any(|(at, _)| {
            known.get(&path[..at]).is_some_and(|key| key.optional)
                && !found.contains_key(&path[..at])
        });
        if !found.contains_key(path) && !key.optional && !inner_of_missing && !below {
            wrong.push(format!("{path} is documented and not there"));
        }
    }
    assert!(wrong.is_empty(), "`crawler {name} --json`:\n{}", wrong.join("\n"));
}

#[test]
fn every_commands_json_is_as_documented() {
    let crawled = crawled();
    let page = |path: &str| crawled.url(path);
    let out = tempfile::tempdir().unwrap();
    let file = |name: &str| out.path().join(name).display().to_string();
    let commands: Vec<(&str, Vec<String>)> = vec![
        ("status", vec![]),
        ("report", vec![]),
        ("report", vec!["--inlinks".to_owned()]),
        ("audit", vec![]),
        ("explain", vec![page("/private/x"), page("/never"), "--history".to_owned()]),
        ("robots", vec![page("/private/x")]),
        ("dns", vec!["127.0.0.1".to_owned()]),
        ("fetch", vec![page("/"), "--links".to_owned()]),
        ("plan", vec![page("/")]),
        ("verify", vec![]),
        ("repair", vec![]),
        ("export", vec!["--out".to_owned(), file("part.warc.gz")]),
        ("export --format parquet", vec!["--out".to_owned(), file("part.parquet")]),
        ("export --format jsonl", vec!["--text".to_owned(), "1KB".to_owned()]),
        ("run", vec![]),
        ("ctl delay", vec!["a.test".to_owned(), "3s".to_owned()]),
        ("ctl budget", vec![]),
        ("ctl exclude add", vec!["a.test".to_owned(), "--preview".to_owned()]),
        ("dups", vec![]),
        ("dups --replicas", vec![]),
        ("diff", vec!["crawl".to_owned(), "crawl".to_owned()]),
        ("diff --url", vec![page("/"), "crawl".to_owned(), "crawl".to_owned()]),
        ("sketch", vec![page("/a")]),
        ("doctor", vec!["--host".to_owned(), "127.0.0.1".to_owned()]),
        ("config check", vec![]),
        ("config show --effective", vec![]),
        ("identity show", vec![]),
        ("identity init", vec!["--out".to_owned(), file("identity"), "--sign".to_owned()]),
    ];
    let documented = documented();
    // What has no answer looks otherwise.
    let refused = "http://10.0.0.1/x".to_owned();
    let failing: Vec<(&str, Vec<String>)> = vec![
        ("fetch", vec![refused.clone()]),
        ("fetch", vec![broken()]),
        ("robots", vec![refused.clone(), "--fetch".to_owned()]),
        ("plan", vec![refused]),
        ("dns", vec!["127.0.0.1".to_owned(), "--stored".to_owned()]),
    ];
    for (name, more) in commands.iter().chain(&failing) {
        let output = crawler(crawled.dir.path(), &arguments(name, more));
        compare(name, &values(name, &output), known(&documented, name));
    }
    let demo = demo();
    let place = demo.dir.path();
    compare("demo", std::slice::from_ref(&demo.said), known(&documented, "demo"));
    let commands_of_rules = of_rules(place);
    for (name, more) in &commands_of_rules {
        let output = crawler(place, &arguments(name, more));
        compare(name, &values(name, &output), known(&documented, name));
    }
    let apply = super::docs::shell(place, "crawler dust apply --dir demo-crawl --json < urls.txt");
    compare("dust apply", &values("dust apply", &apply), known(&documented, "dust apply"));
    let run = commands.iter().chain(&commands_of_rules).map(|(name, _)| *name);
    // The last one needs a crawl that runs: see `ctl.rs`.
    let run: Vec<&str> = run.chain(["demo", "dust apply", "ctl status"]).collect();
    for name in documented.keys() {
        assert!(run.contains(&name.as_str()), "`{name}` is not run here");
    }
}

/// Returns a page that breaks off, on a host whose robots.txt is missing.
fn broken() -> String {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut asked = [0; 4096];
            let read = stream.read(&mut asked).unwrap_or(0);
            if asked[..read].starts_with(b"GET /robots.txt") {
                let _ = stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
            }
        }
    });
    format!("http://{address}/")
}

/// A decision about one rule printed another object than all other orders, and was no line of the
/// journal; a refusal printed nothing.
#[test]
fn orders_to_a_stopped_crawl_are_answered_and_noted_like_others() {
    let dir = tempfile::tempdir().unwrap();
    super::docs::copy(&demo().dir.path().join("demo-crawl"), &dir.path().join("crawl"));
    let rules = json(&crawler(dir.path(), &["dust", "rules", "--json"]));
    let id = rules["rules"][0]["id"].as_str().expect("the demo learns rules");
    let documented = documented();
    let ctl = |args: &[&str]| crawler(dir.path(), &[&["ctl", "--json"], args].concat());
    let output = ctl(&["rules", "off", id]);
    check(&output, 0, &[]);
    compare("ctl delay", &values("ctl rules", &output), known(&documented, "ctl delay"));
    assert_eq!(json(&output)["running"], false);
    for (args, exit, kind) in [
        (["rules", "off", "nothing"], 3, "nothing"),
        (["exclude", "remove", "other.test"], 3, "nothing"),
        (["exclude", "add", "regex:("], 2, "usage"),
    ] {
        let output = ctl(&args);
        check(&output, exit, &[]);
        let said = json(&output);
        assert_eq!((&said["ok"], &said["kind"]), (&Value::Bool(false), &Value::from(kind)));
    }
    let journal = std::fs::read_to_string(dir.path().join("crawl/log/control.jsonl")).unwrap();
    assert_eq!(journal.lines().count(), 4, "{journal}");
    assert!(journal.lines().next().unwrap().contains(id), "{journal}");
}

/// Commands about rules, in a directory with a crawl of the demo web.
fn of_rules(place: &Path) -> Vec<(&'static str, Vec<String>)> {
    let line = |n: u64, url: String| {
        let time = "[10/Oct/2025:13:55:36 +0000]";
        format!("192.0.2.1 - - {time} \"GET {url} HTTP/1.1\" 200 {}\n", 900 + n)
    };
    let both = |n: u64| line(n, format!("/story?id={n}")) + &line(n, format!("/story_{n}"));
    std::fs::write(place.join("access.log"), (1..60).map(both).collect::<String>()).unwrap();
    let port = std::fs::read_to_string(place.join("demo-crawl/demo.port")).unwrap();
    let url = format!("http://news.test:{}/story?id=9&utm_medium=mail&utm_source=x", port.trim());
    std::fs::write(place.join("urls.txt"), format!("{url}\nno URL\n")).unwrap();
    let out = ["dust", "export", "--format", "json", "--out", "rules.json", "--dir", "demo-crawl"];
    check(&crawler(place, &out), 0, &[]);
    let rules = json(&crawler(place, &["dust", "rules", "--dir", "demo-crawl", "--json"]));
    let id = rules["rules"][0]["id"].as_str().expect("the demo learns rules");
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    // Nobody is asked for what is gone.
    std::fs::write(place.join("gone.tsv"), "https://example.org/story\t404\n").unwrap();
    let live = "--fetch live --contact mailto:test@crawler.test";
    vec![
        ("dust rules", words("--dir demo-crawl")),
        ("dust explain", words(&format!("--dir demo-crawl {url}"))),
        ("dust mine", words("--site https://example.org access.log")),
        ("dust validate", words(&format!("rules.json --log gone.tsv {live}"))),
        ("dust mine --mode paper", words("--site https://example.org access.log")),
        ("dust export", words("--format nginx --dir demo-crawl")),
        ("dust export", words("--dir demo-crawl")),
        ("dust export", words("--format pywb --out fuzzy.yaml --dir demo-crawl")),
        ("dust import", words("rules.json --dir other")),
        ("dust disable", words(&format!("{id} --dir demo-crawl"))),
    ]
}

fn arguments<'a>(name: &'a str, more: &'a [String]) -> Vec<&'a str> {
    let words = name.split(' ').chain(more.iter().map(String::as_str));
    words.chain(["--json"]).collect()
}

fn known<'d>(
    documented: &'d BTreeMap<String, BTreeMap<String, Key>>,
    name: &str,
) -> &'d BTreeMap<String, Key> {
    documented.get(name).unwrap_or_else(|| panic!("`{name}` is not documented"))
}

/// What a command printed: one value, or one a line.
fn values(name: &str, output: &Output) -> Vec<Value> {
    let shown = text(&output.stdout);
    let values: Vec<Value> = match serde_json::from_str(&shown) {
        Ok(value) => vec![value],
        Err(_) => {
            let read =
                |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{name}: {e}: {line}"));
            shown.lines().map(read).collect()
        }
    };
    assert!(!values.is_empty(), "{name}: {}", text(&output.stderr));
    values
}
