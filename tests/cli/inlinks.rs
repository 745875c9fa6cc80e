//! The pages that lead to broken links: all of them, however they lead there.

use super::site::{Page, html, serve_pages};
use super::*;

/// Seven pages lead to what is missing: by a link, from another base, over redirects, by both, as
/// twins of which one is archived as a revisit, and one that is not archived at all.
fn page(path: &str, _: &str) -> Page {
    let to =
        |target: &str| ("301 Moved Permanently", format!("Location: {target}\r\n"), String::new());
    match path {
        "/" => {
            let names = ["plain", "based", "over", "twin-a", "twin-b", "more", "kept", "fine"];
            html(path, "", &names.map(|name| format!("<a href=/{name}>{name}</a> ")).concat())
        }
        "/plain" => html(path, "", "<a href=/missing>x</a> <a href=/missing#part>again</a>"),
        "/based" => html(path, "<base href=/far/off/>", "<a href=../../missing>x</a>"),
        "/over" => html(path, "", "<a href=/r1>x</a> <a href=/loop>y</a>"),
        "/twin-a" | "/twin-b" => html("twin", "", "<a href=/missing>x</a>"),
        "/more" => html(path, "", "<a href=/missing rel=nofollow>x</a> <a href=/r2>y</a>"),
        "/kept" => html(path, "<meta name=robots content=noarchive>", "<a href=/missing>x</a>"),
        "/fine" => html(path, "", "<a href=/>home</a>"),
        "/r1" => to("/r2"),
        "/r2" => to("/missing"),
        "/loop" => to("/loop"),
        _ => ("404 Not Found", String::new(), String::new()),
    }
}

/// Returns the row of a report about a broken link.
fn broken<'r>(report: &'r Value, url: &str) -> &'r Value {
    let sections = report["sections"].as_array().unwrap().iter();
    let mut tables = sections.flat_map(|section| section["tables"].as_array().unwrap());
    let table = tables.find(|table| table["id"] == "errors").expect("the table is there");
    let mut rows = table["rows"].as_array().unwrap().iter();
    rows.find(|row| row["url"] == url).unwrap_or_else(|| panic!("{table}"))
}

/// Only the page was named on which a broken link was found first.
#[test]
fn all_pages_that_lead_to_a_broken_link_are_named_however_they_do() {
    let site = serve_pages(page);
    let dir = tempfile::tempdir().unwrap();
    let ask = |args: &[&str]| {
        let output = crawler(dir.path(), args);
        check(&output, 0, &[]);
        output
    };
    let home = format!("{site}/");
    let more = ["--set", "limits.disk_reserve=1MB"];
    ask(&[&["run", "--quiet", &home], &LOOPBACK[..], &more].concat());
    let exported = text(&ask(&["export", "--format", "jsonl"]).stdout);
    assert!(exported.contains("\"type\":\"revisit\""), "one twin repeats the other: {exported}");

    let missing = format!("{site}/missing");
    let first_only = json(&ask(&["report", "--json"]));
    let row = broken(&first_only, &missing);
    assert!(row["via"].is_string() && row.get("pages").is_none(), "{row}");

    let report = json(&ask(&["report", "--json", "--inlinks", "--csv", "tables"]));
    let row = broken(&report, &missing);
    assert_eq!((&row["status"], &row["pages"]), (&Value::from(404), &Value::from(6)), "{row}");
    assert_eq!(row["linked_from"].as_array().map(Vec::len), Some(5), "the first five are named");
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("1 pages with links are not in the archive"), "{warnings}");

    let rows = std::fs::read_to_string(dir.path().join("tables/inlinks.csv")).unwrap();
    let mut rows: Vec<&str> = rows.lines().collect();
    assert_eq!(rows.remove(0), "url,status,reason,page,link");
    rows.sort_unstable();
    let want = [
        ("based", "missing"),
        ("more", "missing"),
        ("more", "r2"),
        ("over", "r1"),
        ("plain", "missing"),
        ("twin-a", "missing"),
        ("twin-b", "missing"),
    ];
    let want = want.map(|(page, link)| format!("{missing},404,,{site}/{page},{site}/{link}"));
    assert_eq!(rows, want);

    std::fs::remove_dir_all(dir.path().join("crawl/archive")).unwrap();
    let report = json(&ask(&["report", "--json", "--inlinks"]));
    let row = broken(&report, &missing);
    assert!(row["via"].is_string() && row.get("pages").is_none(), "{row}");
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("the archive gives no page with links"), "{warnings}");
}
