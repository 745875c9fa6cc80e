//! The house rules, as a test: what a reader of any file may rely on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn sources(dir: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut dirs = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(dir)];
    while let Some(dir) = dirs.pop() {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(&dir)
            .expect("the folder is there")
            .flatten()
            .map(|e| e.path())
            .collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).expect("sources are UTF-8");
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty());
    found
}

fn module_of(path: &Path) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let inner = path.strip_prefix(root).expect("it is below src");
    let first = inner.components().next().expect("it has a name").as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// Who may import whom: words ← logic ← edges ← whole; never upward, never sideways among edges.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("clock", &[]),
    ("url", &["clock"]),
    ("seed", &["clock", "url"]),
    // Evidence for a rule is what pages show, in the words of `content`.
    ("dust", &["clock", "url", "content"]),
    ("robots", &["clock", "url"]),
    ("extract", &["clock", "url"]),
    ("content", &["clock", "url"]),
    ("filter", &["clock", "url", "dust"]),
    ("frontier", &["clock", "url", "robots"]),
    // `dns` says its failures in the words of `fetch`; that is all it knows of it.
    ("dns", &["clock", "url", "fetch"]),
    ("fetch", &["clock", "url"]),
    ("archive", &["clock", "url", "fetch"]),
    ("db", &["clock", "url", "frontier"]),
    ("dashboard", &["clock", "url", "dust", "db", "fetch", "crawl"]),
    ("demo", &["clock", "url", "dns", "fetch"]),
    // What is made of a crawl afterwards: it reads all that lies below, and no configuration.
    ("report", &["clock", "url", "content", "crawl", "db", "dust", "frontier"]),
    (
        "dataset",
        &["clock", "url", "archive", "content", "crawl", "db", "extract", "frontier", "robots"],
    ),
];

#[test]
fn modules_import_only_what_lies_below_them() {
    let mut wrong = Vec::new();
    for (path, text) in sources("src") {
        let module = module_of(&path);
        let Some((_, allowed)) = MAY_IMPORT.iter().find(|(name, _)| *name == module) else {
            continue;
        };
        for (number, line) in (1..).zip(text.lines()) {
            let code = line.split("//").next().unwrap_or_default();
            for part in code.split("crate::").skip(1) {
                let name: String =
                    part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let inner = name == module || name.is_empty();
                if !inner && !allowed.contains(&name.as_str()) {
                    wrong.push(format!("{}:{number}: {module} imports {name}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Crates that one module alone may name.
const OWNED: &[(&str, &[&str])] = &[
    ("rocksdb::", &["db"]),
    ("clap::", &["cli"]),
    ("anyhow::", &["cli"]),
    ("axum::", &["dashboard"]),
    ("prometheus_client::", &["dashboard"]),
];

#[test]
fn heavy_crates_have_one_owner() {
    let mut wrong = Vec::new();
    for (path, text) in sources("src") {
        let module = module_of(&path);
        for (name, owners) in OWNED {
            if owners.contains(&module.as_str()) {
                continue;
            }
            let used = text.lines().any(|line| {
                line.trim_start().starts_with(&format!("use {name}"))
                    || line.contains(&format!(" {name}"))
            });
            if used {
                wrong.push(format!("{} names {name}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn logic_reads_no_clock_and_draws_no_lots() {
    let logic = ["url", "seed", "dust", "robots", "extract", "content", "filter", "frontier"];
    let mut wrong = Vec::new();
    for (path, text) in sources("src") {
        if !logic.contains(&module_of(&path).as_str()) {
            continue;
        }
        for (number, line) in (1..).zip(text.lines()) {
            let code = line.split("//").next().unwrap_or_default();
            for banned in ["Instant::now", "SystemTime", "rand::", "thread_rng", "tokio::"] {
                if code.contains(banned) {
                    wrong.push(format!("{}:{number}: {banned}", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where they differ, RocksDB and all the rest is built a second time for the fuzz targets.
#[test]
fn fuzz_targets_are_built_by_the_profile_of_the_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dev = |file: &str| {
        let text = std::fs::read_to_string(root.join(file)).expect("the manifest is there");
        let manifest: toml::Table = toml::from_str(&text).expect("it is TOML");
        manifest["profile"]["dev"].clone()
    };
    assert_eq!(dev("tests/fuzz/Cargo.toml"), dev("Cargo.toml"));
}

#[test]
fn every_file_says_what_it_is_for_and_no_line_is_long() {
    let mut wrong = Vec::new();
    for dir in ["src", "tests"] {
        for (path, text) in sources(dir) {
            if !text.starts_with("//!") {
                wrong.push(format!("{}: no head", path.display()));
            }
            for (number, line) in (1..).zip(text.lines()) {
                // What cannot be broken (a literal, a URL) may stick out.
                let long = line.chars().count() > 100 && !line.contains('"');
                if long && !line.contains("http") {
                    wrong.push(format!("{}:{number}: longer than 100", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_default_configuration_names_every_key_with_its_default() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = root.join("config/default.toml");
    let loaded = crawler::config::load(Some(&file), &[]).expect("it is right");
    assert_eq!(loaded.config, crawler::config::Config::default());
    let named: BTreeSet<String> = loaded.sources.keys().cloned().collect();
    let known = crawler::config::known_keys();
    let missing: Vec<&String> = known.difference(&named).collect();
    assert!(missing.is_empty(), "config/default.toml lacks {missing:?}");
}

#[test]
fn nothing_is_unfinished() {
    let words =
        [["to", "do!("].concat(), ["unimpl", "emented!("].concat(), ["#[ign", "ore"].concat()];
    for dir in ["src", "tests"] {
        for (path, text) in sources(dir) {
            for word in &words {
                assert!(!text.contains(word), "{} has {word}", path.display());
            }
        }
    }
}
