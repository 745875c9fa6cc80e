//! What goes into an export: all that was asked for, and nothing that its owner refuses.

use super::docs::copy;
use super::site::{Page, html, serve_pages};
use super::*;

/// Crawls the paths of a site in their order, in a directory of its own.
fn crawl(page: fn(&str, &str) -> Page, paths: &[&str]) -> tempfile::TempDir {
    crawl_for("archive", page, paths)
}

fn crawl_for(purpose: &str, page: fn(&str, &str) -> Page, paths: &[&str]) -> tempfile::TempDir {
    let site = serve_pages(page);
    let dir = tempfile::tempdir().unwrap();
    let urls: Vec<String> = paths.iter().map(|path| format!("{site}{path}")).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    let purpose = format!("purpose={purpose}");
    let more = ["--set", "limits.disk_reserve=1MB", "--set", &purpose];
    let args = [&["run", "--quiet"], &LOOPBACK[..], &more, &urls];
    check(&crawler(dir.path(), &args.concat()), 0, &[]);
    dir
}

fn heads(dir: &Path, args: &[&str]) -> Vec<String> {
    let output = crawler(dir, &[&["export", "--format", "text"], args].concat());
    let lines = text(&output.stdout);
    let heads = lines.lines().filter_map(|line| line.strip_prefix("# http://"));
    heads.map(|url| url.split_once('/').unwrap().1.to_owned()).collect()
}

fn refusing(path: &str, _: &str) -> Page {
    let (status, head, body) = match path {
        "/free" => html(path, "", ""),
        "/meta" => html(path, "<meta name=tdm-reservation content=1>", ""),
        "/robots.txt" => return ("404 Not Found", String::new(), String::new()),
        _ => html(path, "", ""),
    };
    let more = match path {
        "/tags" => "X-Robots-Tag: nosnippet\r\nX-Robots-Tag: noai\r\n",
        "/usage" => "Content-Usage: search=y\r\nContent-Usage: train-ai=n\r\n",
        _ => "",
    };
    (status, head + more, body)
}

/// Only the first field of a name was read, and no `meta` of the TDM Reservation Protocol.
#[test]
fn every_place_where_an_owner_says_no_is_heard() {
    let dir = crawl(refusing, &["/free", "/tags", "/usage", "/meta"]);
    assert_eq!(heads(dir.path(), &[]).len(), 4);
    assert_eq!(heads(dir.path(), &["--for", "ai-train"]), ["free"]);
    let output = crawler(dir.path(), &["export", "--format", "jsonl", "--url", "/usage$"]);
    assert_eq!(json(&output)["content-usage"], "search=y, train-ai=n");
    let output = crawler(dir.path(), &["export", "--format", "jsonl", "--url", "/tags$"]);
    assert_eq!(json(&output)["x-robots-tag"], "nosnippet, noai");
}

/// Its help said that the purpose decides which preferences are obeyed, and it decided none.
#[test]
fn what_a_crawl_is_for_is_the_use_that_owners_must_not_have_refused() {
    let dir = crawl_for("ai-train", refusing, &["/free", "/tags", "/usage", "/meta"]);
    assert_eq!(heads(dir.path(), &[]), ["free"]);
    assert_eq!(heads(dir.path(), &["--for", "any"]).len(), 4);
    assert_eq!(heads(dir.path(), &["--for", "search"]).len(), 4);
}

fn twice(path: &str, _: &str) -> Page {
    let (_, head, body) = html("both", "", "");
    match path {
        "/e404" => ("404 Not Found", head, body),
        "/ok" => ("200 OK", head, body),
        _ => ("404 Not Found", String::new(), String::new()),
    }
}

#[test]
fn a_text_that_an_error_page_had_first_is_not_lost() {
    let dir = crawl(twice, &["/e404", "/ok"]);
    assert_eq!(heads(dir.path(), &[]), ["ok"]);
}

fn led_away(path: &str, _: &str) -> Page {
    match path {
        "/robots.txt" => ("302 Found", "Location: /terms\r\n".to_owned(), String::new()),
        _ => html(path, "", ""),
    }
}

/// A page that stood in the place of a robots.txt was a text of the corpus, which nobody had asked
/// for.
#[test]
fn what_a_robots_txt_leads_to_is_no_page() {
    let dir = crawl(led_away, &["/ok"]);
    assert_eq!(heads(dir.path(), &[]), ["ok"]);
    let output = crawler(dir.path(), &["export", "--format", "jsonl", "--url", "/terms$"]);
    assert_eq!(json(&output)["status"], 200, "it is in the archive all the same");
    let dir = crawl(led_away, &["/ok", "/terms"]);
    assert_eq!(heads(dir.path(), &[]).len(), 2, "where it was met it is a page");
}

/// A name of bytes that are no UTF-8 was a panic when the work was done.
#[cfg(target_os = "linux")]
#[test]
fn a_file_whose_name_is_no_text_is_named_as_far_as_it_is() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let crawled = crawled();
    let out = tempfile::tempdir().unwrap();
    for (name, args) in [
        (&b"a\xff.jsonl"[..], &["export", "--json", "--dir"][..]),
        (b"a\xff.parquet", &["export", "--json", "--dir"]),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_crawler"))
            .args(args)
            .arg(crawled.dir.path().join("crawl"))
            .arg("--out")
            .arg(OsStr::from_bytes(name))
            .current_dir(out.path())
            .output()
            .unwrap();
        check(&output, 0, &[]);
        assert!(json(&output)["file"].as_str().unwrap().starts_with("a\u{fffd}."));
    }
    let output = Command::new(env!("CARGO_BIN_EXE_crawler"))
        .args(["init", "--json", "--contact", "mailto:me@example.org", "--config"])
        .arg(OsStr::from_bytes(b"c\xff.toml"))
        .current_dir(out.path())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    check(&output, 0, &[]);
    assert_eq!(json(&output)["config"], "c\u{fffd}.toml");
}

/// After `kill -9` the newest file has its records and is named `.open`.
#[test]
fn a_package_holds_the_records_of_the_file_that_is_being_written() {
    let dir = tempfile::tempdir().unwrap();
    copy(&crawled().dir.path().join("crawl"), &dir.path().join("crawl"));
    let export = |out: &str| {
        let output = crawler(dir.path(), &["export", "--json", "--out", out]);
        check(&output, 0, &[]);
        json(&output)["records"].clone()
    };
    let finished = export("finished.wacz");
    assert!(finished.as_u64() > Some(5), "{finished}");
    for entry in std::fs::read_dir(dir.path().join("crawl/archive")).unwrap().flatten() {
        let mut open = entry.path().into_os_string();
        open.push(".open");
        std::fs::rename(entry.path(), &open).unwrap();
        if open.to_string_lossy().ends_with(".warc.gz.open") {
            let mut bytes = std::fs::read(&open).unwrap();
            bytes.extend_from_slice(&[0x1f, 0x8b, 8, 0, 1, 2, 3]);
            std::fs::write(&open, bytes).unwrap();
        }
    }
    assert_eq!(export("open.wacz"), finished);
}

#[test]
fn a_package_of_nothing_says_so() {
    let crawled = crawled();
    let out = tempfile::tempdir().unwrap();
    let name = |name: &str| out.path().join(name).display().to_string();
    let nothing = name("nothing.wacz");
    let output = crawled.ask(&["export", "--out", &nothing, "--host", "nosuch.example"]);
    check(&output, 3, &[]);
    let mut package = zip::ZipArchive::new(std::fs::File::open(&nothing).unwrap()).unwrap();
    let mut second = String::new();
    let mut entry = package.by_name("indexes/index.idx").unwrap();
    std::io::Read::read_to_string(&mut entry, &mut second).unwrap();
    assert_eq!(second.lines().count(), 1, "{second}");
    // Whatever was asked for, the number is that of the records that can be replayed.
    let all = crawled.ask(&["export", "--json", "--out", &name("all.wacz")]);
    let every = crawled.ask(&["export", "--json", "--out", &name("every.wacz"), "--url", "."]);
    assert_eq!(json(&all)["records"], json(&every)["records"]);
}

fn repeating(path: &str, _: &str) -> Page {
    match path {
        "/robots.txt" => ("404 Not Found", String::new(), String::new()),
        _ => html("all of them", "", ""),
    }
}

fn shared(path: &str, _: &str) -> Page {
    let (status, head, body) = html("all of them", "", "");
    let more = match path {
        "/robots.txt" => return ("404 Not Found", String::new(), String::new()),
        "/no" => "Content-Usage: train-ai=n\r\n",
        "/yes" => "Content-Signal: ai-train=yes\r\n",
        _ => "",
    };
    (status, head + more, body)
}

/// Who had a text first refused it for all who had it later: their records have no payload.
#[test]
fn a_text_is_had_from_an_owner_who_allows_it_though_another_had_it_first() {
    let dir = crawl(shared, &["/no", "/yes", "/unsaid"]);
    let kind = |url: &str| {
        let output = crawler(dir.path(), &["export", "--format", "jsonl", "--url", url]);
        json(&output)["type"].clone()
    };
    assert_eq!(["/no$", "/yes$", "/unsaid$"].map(kind), ["response", "revisit", "revisit"]);
    assert_eq!(heads(dir.path(), &[]), ["no"]);
    assert_eq!(heads(dir.path(), &["--all"]).len(), 3);
    assert_eq!(heads(dir.path(), &["--url", "/yes$"]), ["yes"], "its original is not wanted");
    assert_eq!(heads(dir.path(), &["--for", "ai-train", "--stated"]), ["yes"]);
    let train = ["export", "--for", "ai-train", "--mime", "text/html", "--json"];
    let out = dir.path().join("c.txt").display().to_string();
    let output = crawler(dir.path(), &[&train[..], &["--out", &out]].concat());
    check(&output, 0, &[]);
    let written = json(&output);
    let counts = ["records", "left_out_by_usage", "left_out_as_duplicates"];
    assert_eq!(counts.map(|count| written[count].as_u64()), [Some(1); 3], "{written}");
    assert_eq!(written["left_out_without_text"], 0, "{written}");
}

/// A revisit has a type of its own in an index, and the page that it stands for another one.
#[test]
fn a_revisit_is_chosen_by_the_type_of_what_it_repeats_and_comes_with_it() {
    let dir = crawl(repeating, &["/one", "/two?x=1"]);
    let lines = |args: &[&str]| {
        let output = crawler(dir.path(), &[&["export", "--format", "jsonl"], args].concat());
        let lines = text(&output.stdout);
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
    };
    let kinds = |lines: &[Value]| {
        lines.iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&lines(&["--mime", "text/html"])), ["response", "revisit"]);
    assert_eq!(kinds(&lines(&["--mime", "warc/revisit"])), ["revisit"]);
    let file = dir.path().join("two.warc.gz").display().to_string();
    let output = crawler(dir.path(), &["export", "--out", &file, "--url", "/two"]);
    check(&output, 0, &["1 record that a revisit refers to"]);
    let alone = dir.path().join("alone");
    std::fs::create_dir_all(alone.join("archive")).unwrap();
    std::fs::rename(&file, alone.join("archive/two.warc.gz")).unwrap();
    let output = crawler(dir.path(), &["export", "--format", "jsonl", "--dir", "alone"]);
    let held: Vec<Value> =
        text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(kinds(&held), ["response", "revisit"]);
    let package = dir.path().join("all.wacz");
    let out = package.display().to_string();
    check(&crawler(dir.path(), &["export", "--out", &out]), 0, &[]);
    let mut package = zip::ZipArchive::new(std::fs::File::open(&package).unwrap()).unwrap();
    let mut pages = String::new();
    let mut entry = package.by_name("pages/pages.jsonl").unwrap();
    std::io::Read::read_to_string(&mut entry, &mut pages).unwrap();
    assert!(pages.contains("/one\"") && pages.contains("/two?x=1\""), "{pages}");
}

#[test]
fn a_filter_that_nothing_can_meet_is_refused() {
    let crawled = crawled();
    let export = |args: &[&str]| crawled.ask(&[&["export", "--format", "cdxj"], args].concat());
    for status in ["abc", "40x", "4", "2000"] {
        check(&export(&["--status", status]), 2, &["--status", status, "write 404 or 4xx"]);
    }
    check(&export(&["--status", "4XX"]), 0, &[]);
    for host in ["http://docs.test/", "a.test:80", ""] {
        check(&export(&["--host", host]), 2, &["--host", "write a name"]);
    }
    let stated = ["export", "--format", "text", "--for", "search", "--stated"];
    check(&crawled.ask(&stated), 3, &["refused or not allowed in words by their owners"]);
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("a.cdxj").display().to_string();
    let output = crawled.ask(&["export", "--out", &file, "--json", "--quiet"]);
    check(&output, 0, &[]);
    assert!(json(&output)["records"].as_u64() > Some(5));
}

/// Half a file stood under the name that was asked for, and was in the way of the next attempt.
#[test]
fn an_export_that_fails_leaves_nothing_behind() {
    let crawled = crawled();
    for name in ["a.warc.gz", "a.wacz", "a.jsonl", "a.cdxj", "a.parquet"] {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join(name).display().to_string();
        // No file may grow past a block.
        let script = r#"trap "" XFSZ; ulimit -f 1; exec "$0" "$@""#;
        let mut shell = Command::new("sh");
        shell.args(["-c", script, env!("CARGO_BIN_EXE_crawler"), "export", "--out", &target]);
        let output = shell.current_dir(crawled.dir.path()).output().expect("there is a shell");
        check(&output, 12, &["no space left"]);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "{name}");
        check(&crawled.ask(&["export", "--out", &target]), 0, &[]);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "{name}");
    }
}
