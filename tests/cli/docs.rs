//! The documentation: every command in it is run, or its exception is named with the reason; every
//! file it leads to is there; the table of settings is the one of `config/default.toml`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::*;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Languages that a block may be in; commands are `sh`.
const LANGUAGES: [&str; 6] = ["sh", "text", "toml", "yaml", "json", "ini"];

/// Commands that a test cannot run, by how they begin, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("./run ", "builds with cargo, which runs this; that the script knows the word is checked"),
    ("cargo ", "runs this very test, or measures for minutes"),
    ("crawler top", "needs a terminal; src/cli/top/tests.rs drives it"),
    ("pip install ", "fetches other people's programs; .ci/replay does"),
    ("wb-manager ", "pywb is not installed here; .ci/replay runs it"),
    ("wayback", "pywb is not installed here; .ci/replay runs it"),
    ("CONTACT=", "there is no Docker here"),
    ("openssl ", "may not be installed; the fixture has the token that it would make"),
    ("sudo ", "changes the machine"),
    ("journalctl ", "reads the machine's journal"),
    ("rsync ", "copies to another machine"),
];

/// What stands in a command for what the fixture has.
const INSTEAD: &[(&str, &str)] = &[
    ("target/release/crawler", "crawler"),
    ("0.0.0.0:8400", "127.0.0.1:0"),
    ("127.0.0.1:8400", "127.0.0.1:0"),
    ("https://example.org", "$SITE"),
    ("http://example.org", "$SITE"),
    ("slow.example.org", "127.0.0.1"),
    ("parked.example.org", "127.0.0.1"),
    ("www.example.org", "127.0.0.1"),
    ("0daf", "$RULE"),
];

/// Commands that end with another code than 0, and why.
const ENDS_WITH: &[(&str, i32, &str)] = &[
    ("crawler ctl status", 3, "no crawl runs in the fixture"),
    ("crawler ctl stop", 3, "no crawl runs in the fixture"),
    ("crawler explain --seeds", 3, "it is explained before the crawl has met it"),
    ("crawler dups --by-host", 3, "the fixture repeats nothing"),
    ("crawler export --format aliases", 3, "no rule suppressed anything in the fixture"),
    ("crawler export --out corpus.txt", 3, "the owner of the fixture's site says no to training"),
];

/// Returns the pages, as paths from the root.
fn pages() -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("README.md")];
    let mut dirs: Vec<PathBuf> = ["src", "config", "docker", "tests"].map(PathBuf::from).to_vec();
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(Path::new(ROOT).join(&dir)).unwrap().flatten() {
            let path = dir.join(entry.file_name());
            if entry.path().is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn read(page: &Path) -> String {
    std::fs::read_to_string(Path::new(ROOT).join(page)).unwrap()
}

/// Returns the commands of a page with their lines; a `\` at the end of a line joins the next.
fn commands(page: &Path) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut block: Option<String> = None;
    let mut open = false;
    for (number, line) in (1..).zip(read(page).lines()) {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            block = match block {
                Some(_) => None,
                None => {
                    let known = LANGUAGES.contains(&language);
                    // JSON.md lists keys, a block a command.
                    let keys = page.ends_with("JSON.md") && language.is_empty();
                    assert!(known || keys, "{}:{number}: name the language", page.display());
                    Some(language.to_owned())
                }
            };
            continue;
        }
        if block.as_deref() != Some("sh") {
            continue;
        }
        let text = line.split("   #").next().unwrap_or_default().trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let part = text.trim_end_matches('\\').trim_end();
        match found.last_mut().filter(|_| open) {
            Some((_, command)) => *command = format!("{command} {part}"),
            None => found.push((number, part.to_owned())),
        }
        open = text.ends_with('\\');
    }
    assert!(block.is_none(), "{}: a block does not end", page.display());
    found
}

/// A finished crawl of the demo web, made once by the command of the README, but hurried.
pub(super) struct Demo {
    pub(super) dir: tempfile::TempDir,
    /// What it printed.
    pub(super) said: Value,
}

pub(super) fn demo() -> &'static Demo {
    static DEMO: OnceLock<Demo> = OnceLock::new();
    DEMO.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let hurry = ["--set", "politeness.min_delay=5ms", "--set", "politeness.factor=1"];
        // These two are in the demo because they take their time.
        let hosts = ["--set", "scope.exclude=[\"patient.test\", \"slow.test\"]"];
        let output = crawler(dir.path(), &[&["demo", "--json"], &hurry[..], &hosts].concat());
        check(&output, 0, &[]);
        Demo { said: json(&output), dir }
    })
}

pub(super) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let (path, copied) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            self::copy(&path, &copied);
        } else if entry.file_type().unwrap().is_file() {
            std::fs::copy(&path, &copied).unwrap();
        }
    }
}

/// A directory as the reader of a page has it: a crawl, the demo's crawl, seeds, a log, a token.
struct Stage {
    dir: tempfile::TempDir,
    site: String,
    rule: String,
}

impl Stage {
    fn new() -> Stage {
        let crawled = crawled();
        let dir = tempfile::tempdir().unwrap();
        copy(crawled.dir.path(), dir.path());
        // `init` writes a list of this name.
        let settings = dir.path().join("crawler.toml");
        let own = std::fs::read_to_string(&settings).unwrap().replace("seeds.txt", "own.txt");
        std::fs::write(&settings, own).unwrap();
        std::fs::rename(dir.path().join("seeds.txt"), dir.path().join("own.txt")).unwrap();
        copy(&demo().dir.path().join("demo-crawl"), &dir.path().join("demo-crawl"));
        copy(&crawled.dir.path().join("crawl"), &dir.path().join("earlier"));
        let write = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        let site = crawled.site.clone();
        std::fs::create_dir_all(dir.path().join("seeds")).unwrap();
        write("seeds/example.txt", &format!("{site}/\n"));
        write("urls.txt", &format!("{site}/a\n{site}/b?x=1\n"));
        write("token", "0123456789abcdef0123456789abcdef\n");
        let line = |n: u64| {
            let time = "[10/Oct/2025:13:55:36 +0000]";
            format!("192.0.2.1 - - {time} \"GET /story?id={n}&sid=7 HTTP/1.1\" 200 {}\n", 900 + n)
        };
        write("access.log", &(1..60).map(line).collect::<String>());
        let listed = crawler(dir.path(), &["dust", "rules", "--dir", "demo-crawl", "--json"]);
        let rules = json(&listed);
        let rule = rules["rules"][0]["id"].as_str().expect("the demo learns rules").to_owned();
        Stage { dir, site, rule }
    }

    fn run(&self, command: &str) -> Output {
        let meant = command.replace("$SITE", &self.site).replace("$RULE", &self.rule);
        shell(self.dir.path(), &meant)
    }
}

/// Runs a command as a shell does, with the program on its path.
pub(super) fn shell(dir: &Path, command: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_crawler"));
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", command]).current_dir(dir).env("PATH", path);
    for variable in ["CRAWLER_CONFIG", "CRAWLER_DIR", "CRAWLER_CONTACT", "CRAWLER_LOG"] {
        shell.env_remove(variable);
    }
    shell.output().unwrap()
}

/// Returns why a command is not run; what it names is checked all the same.
fn excused(command: &str) -> Option<&'static str> {
    let (start, why) = NOT_RUN.iter().find(|(start, _)| command.starts_with(start))?;
    let second = command.split(' ').nth(1).unwrap_or_default();
    if *start == "./run " {
        let script = read(Path::new("run"));
        assert!(script.contains(&format!("\n  {second})")), "./run knows no {second}");
    }
    Some(why)
}

#[test]
fn every_command_in_the_documentation_runs() {
    let (mut ran, mut wrong) = (0, Vec::new());
    let mut used = BTreeSet::new();
    for page in pages() {
        let commands = commands(&page);
        if commands.is_empty() {
            continue;
        }
        let mut stage = None;
        for (number, command) in commands {
            let at = format!("{}:{number}: {command}", page.display());
            let mut asked = command.clone();
            for (what, instead) in INSTEAD {
                asked = asked.replace(what, instead);
            }
            if excused(&asked).is_some() {
                used.insert(asked.split(' ').next().unwrap_or_default().to_owned());
                continue;
            }
            if asked.split(' ').take(2).eq(["crawler", "demo"]) {
                // It has been run once for all pages.
                assert_eq!(demo().said["report"], "demo-crawl/report.html", "{at}");
                continue;
            }
            let known = asked.starts_with("crawler ") || asked.contains("crawler ");
            assert!(known, "{at}: no row of NOT_RUN covers it, and it is not ours to run");
            let ends = ENDS_WITH.iter().find(|(start, ..)| asked.starts_with(start));
            let code = ends.map_or(0, |(_, code, _)| *code);
            let output = stage.get_or_insert_with(Stage::new).run(&asked);
            ran += 1;
            if output.status.code() != Some(code) {
                let (out, err) = (text(&output.stdout), text(&output.stderr));
                wrong.push(format!("{at}\n  {:?}: {asked}\n{out}{err}", output.status.code()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(ran > 30, "{ran} commands were run");
    for (start, why) in NOT_RUN {
        let word = start.split(['/', ' ', '=']).next().unwrap_or_default();
        assert!(used.iter().any(|used| used.starts_with(word)), "no page needs {start} ({why})");
    }
}

#[test]
fn every_file_that_a_page_leads_to_is_there() {
    let mut wrong = Vec::new();
    for page in pages() {
        let folder = page.parent().unwrap().to_owned();
        let text = read(&page);
        let targets = text.match_indices("](").map(|(at, _)| &text[at + 2..]);
        let pictures = text.match_indices("src=\"").map(|(at, _)| &text[at + 5..]);
        for target in targets.chain(pictures) {
            let end = target.find([')', '"', ' ', '\n']).unwrap_or(0);
            let file = target[..end].split('#').next().unwrap_or_default();
            let outside = file.contains("://") || file.starts_with("mailto:") || file.is_empty();
            // A link in a doc comment's style names an item, not a file.
            if outside || file.contains("::") {
                continue;
            }
            if !Path::new(ROOT).join(&folder).join(file).exists() {
                wrong.push(format!("{}: {file}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the table of settings that `config/default.toml` makes.
fn settings_page() -> String {
    let mut page = String::from(
        "# Settings\n\nEvery key, its default and what it means, as \
         [default.toml](default.toml) has them; a test holds\nthe two together. A file \
         `crawler.toml` takes those that are changed, `--set section.key=value` one of\nthem; \
         `crawler config show --effective` says what holds and where it is from.\n\n\
         Durations are `\"250ms\"`, `\"10s\"`, `\"5m\"`, `\"24h\"`, `\"30d\"`; sizes \
         `\"500KiB\"`, `\"2MiB\"`, `\"1GB\"`.\n",
    );
    let head = "\n| key | default | meaning |\n|---|---|---|\n";
    let mut meaning = String::new();
    let mut section = String::new();
    let mut table_open = false;
    let file = read(Path::new("config/default.toml"));
    // An array over several lines is one value. At the end stands what hosts may have, as comments.
    let file =
        file.split("\n# [host.").next().unwrap().replace("[\n    ", "[").replace(",\n]", "]");
    let file = file.replace("\n    ", " ");
    for line in file.lines().skip(4) {
        let optional = line.strip_prefix("# ").filter(|rest| {
            rest.split_once(" = ").is_some_and(|(key, _)| !key.contains([' ', '.', '`']))
        });
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            page.push_str(&format!("\n## `{name}`\n\n{}\n", meaning.trim()));
            section = format!("{name}.");
            (meaning, table_open) = (String::new(), false);
        } else if let Some((key, value)) = optional.unwrap_or(line).split_once(" = ")
            && (optional.is_some() || !line.starts_with('#'))
        {
            if !std::mem::replace(&mut table_open, true) {
                page.push_str(head);
            }
            let value = match optional {
                Some(example) => {
                    format!("none; such as `{}`", example.split_once(" = ").unwrap().1)
                }
                None => format!("`{value}`"),
            };
            let value = value.replace('|', "\\|");
            page.push_str(&format!("| `{section}{key}` | {value} | {} |\n", meaning.trim()));
            meaning.clear();
        } else if let Some(text) = line.strip_prefix('#') {
            meaning.push_str(text);
        } else {
            meaning.clear();
        }
    }
    let hosts = "\n## `host.\"NAME\"`\n\nThe same keys as in `politeness`, for one host: \
                 `min_delay`, `max_delay`, `factor`, `windows`.\n";
    page + hosts
}

#[test]
fn the_table_of_settings_is_that_of_the_default_configuration() {
    let file = Path::new(ROOT).join("config/SETTINGS.md");
    let want = settings_page();
    for key in crawler::config::known_keys() {
        assert!(want.contains(&format!("| `{key}` |")), "{key} has no row");
    }
    for row in want.lines().filter_map(|line| line.strip_prefix("| `")) {
        let mut parts = row.split('`');
        let (key, value) = (parts.next().unwrap(), parts.nth(1).unwrap());
        let set = format!("{key} = {}", value.replace("\\|", "|"));
        let read = toml::from_str::<crawler::config::Config>(&set);
        assert!(read.is_ok(), "{set}: {read:?}");
    }
    // Written anew on demand: WRITE_SETTINGS=1 cargo test --test all settings
    if std::env::var_os("WRITE_SETTINGS").is_some() {
        std::fs::write(&file, &want).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(found, want, "write it anew with WRITE_SETTINGS=1");
}

/// What a pattern may be was learned from the message about one that is none.
#[test]
fn the_settings_say_what_a_pattern_is_and_each_of_theirs_is_one() {
    let page = read(Path::new("config/SETTINGS.md"));
    let row = page.lines().find(|line| line.starts_with("| `scope.exclude` |")).unwrap();
    // Behind key and default.
    let patterns: Vec<&str> = row.split('`').skip(1).step_by(2).skip(2).collect();
    let dir = tempfile::tempdir().unwrap();
    for (pattern, url) in [
        ("docs.example.org", "http://docs.example.org/"),
        (".example.org", "http://www.example.org/"),
        ("http://example.org/a/", "https://example.org:8443/a/b"),
        ("regex:[?&]replytocom=", "http://example.org/b?x=1&replytocom=2"),
    ] {
        assert!(patterns.contains(&pattern), "{pattern}: {row}");
        let set = format!("scope.exclude=[\"{pattern}\"]");
        let output = crawler(dir.path(), &["explain", url, "--set", &set]);
        let why = format!("matches `exclude`: {pattern}");
        assert!(text(&output.stdout).contains(&why), "{}", text(&output.stdout));
    }
    assert_eq!(patterns.len(), 4, "{patterns:?}");
}
