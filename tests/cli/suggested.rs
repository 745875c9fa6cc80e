//! Rules that are suggested and not applied: what they would save.

use crawler::clock::Timestamp;
use crawler::dust::{Rule, RuleFile, RuleKind, Scope, Source};
use crawler::url::Site;

use super::site::{Page, html, serve_pages};
use super::*;

/// A page under three addresses, and one under two, of which neither is their key.
fn page(path: &str, _: &str) -> Page {
    let of = |path: &str| format!("<a href='{path}'>on</a>");
    match path.split('?').next().unwrap_or_default() {
        "/" => {
            html("/", "", &["/a", "/a?sid=1", "/a?sid=2", "/b?sid=3", "/b?sid=4"].map(of).concat())
        }
        path @ ("/a" | "/b") => html(path, "", ""),
        _ => ("404 Not Found", "Content-Type: text/html\r\n".to_owned(), "<p>none</p>".to_owned()),
    }
}

/// Nothing told an archivist whether rules were worth applying: none had saved anything.
#[test]
fn what_suggested_rules_would_save_is_counted_in_the_ledger() {
    let dir = tempfile::tempdir().unwrap();
    let home = format!("{}/", serve_pages(page));
    let run = ["run", "--quiet", &home, "--set", "limits.disk_reserve=1MB"];
    check(&crawler(dir.path(), &[&run[..], &LOOPBACK].concat()), 0, &[]);
    let (site, kind) = (Site::new("127.0.0.1"), RuleKind::drop(vec!["sid".to_owned()], None));
    let rule = Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO);
    let id = rule.id.to_string();
    let file = RuleFile { format: 1, version: 1, rules: vec![rule] };
    let file = serde_json::to_string(&file).unwrap();
    std::fs::write(dir.path().join("rules.json"), file).unwrap();
    check(&crawler(dir.path(), &["dust", "import", "rules.json"]), 0, &[]);
    check(&crawler(dir.path(), &["dust", "enable", &id]), 0, &[]);

    let listed = |more: &[&str]| {
        let output = crawler(dir.path(), &[&["dust", "rules", "--json"], more].concat());
        check(&output, 0, &[]);
        let listed = json(&output);
        super::schemas::compare_with_page("dust rules", &listed);
        listed
    };
    let suggested = listed(&[]);
    let rule = &suggested["rules"][0];
    let saving = serde_json::json!({ "fetched": 3, "waiting": 0 });
    assert_eq!((&rule["id"], &rule["unsaved"]), (&Value::from(id), &saving), "{suggested}");
    let all = serde_json::json!({ "fetched": 3, "waiting": 0, "cut": false });
    assert_eq!((&suggested["saved"], &suggested["unsaved"]), (&Value::from(0), &all));
    let applied = listed(&["--set", "dust.mode=enforce"]);
    assert_eq!((applied.get("unsaved"), applied["rules"][0].get("unsaved")), (None, None));

    let said = "They are suggested, not applied. Applied, they would have saved 3 of the pages";
    let shown = crawler(dir.path(), &["dust", "rules"]);
    assert!(text(&shown.stdout).contains(said), "{}", text(&shown.stdout));
    let report = json(&crawler(dir.path(), &["report", "--json"]));
    let sections = report["sections"].as_array().unwrap();
    let rules = sections.iter().find(|section| section["id"] == "rules").unwrap();
    assert!(rules["text"].as_str().unwrap().contains(said), "{rules}");
    let row = &rules["tables"][0]["rows"][0];
    let figures = (&row["unsaved_fetched"], &row["unsaved_waiting"]);
    assert_eq!(figures, (&Value::from(3), &Value::from(0)), "{rules}");
}
