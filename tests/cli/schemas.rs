//! The JSON of every command is what `src/cli/JSON.md` says: no key more, no key less.

use std::collections::BTreeMap;

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
        ("audit", vec![]),
        ("explain", vec![page("/private/x"), "--history".to_owned()]),
        ("robots", vec![page("/private/x")]),
        ("dns", vec!["127.0.0.1".to_owned()]),
        ("fetch", vec![page("/"), "--links".to_owned()]),
        ("plan", vec![page("/")]),
        ("verify", vec![]),
        ("repair", vec![]),
        ("export", vec!["--out".to_owned(), file("part.warc.gz")]),
        ("export --format parquet", vec!["--out".to_owned(), file("part.parquet")]),
        ("export --format jsonl", vec!["--text".to_owned(), "1KB".to_owned()]),
        ("ctl budget", vec![]),
        ("ctl exclude add", vec!["a.test".to_owned(), "--preview".to_owned()]),
        ("dups", vec![]),
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
    for (name, more) in &commands {
        let mut args: Vec<&str> = name.split(' ').collect();
        args.extend(more.iter().map(String::as_str));
        args.push("--json");
        let output = crawled.ask(&args);
        let shown = text(&output.stdout);
        let values: Vec<Value> = match serde_json::from_str(&shown) {
            Ok(value) => vec![value],
            Err(_) => shown
                .lines()
                .map(|line| {
                    serde_json::from_str(line).unwrap_or_else(|e| panic!("{name}: {e}: {line}"))
                })
                .collect(),
        };
        assert!(!values.is_empty(), "{name}: {}", text(&output.stderr));
        let known = documented.get(*name).unwrap_or_else(|| panic!("`{name}` is not documented"));
        compare(name, &values, known);
    }
    let run: Vec<&str> = documented.keys().map(String::as_str).collect();
    for name in run {
        assert!(commands.iter().any(|(command, _)| *command == name), "`{name}` is not run here");
    }
}
