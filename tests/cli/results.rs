//! What comes out of a crawl: the report, data sets, differences; and who made it.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::*;

#[test]
fn the_report_is_one_page_without_scripts_that_says_what_the_json_says() {
    let crawled = crawled();
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("report.html").display().to_string();
    let tables = out.path().join("tables").display().to_string();
    let output = crawled.ask(&["report", "--out", &file, "--csv", &tables]);
    check(&output, 0, &[]);
    assert_eq!(text(&output.stdout).trim(), file);
    let page = std::fs::read_to_string(&file).unwrap();
    for want in ["From found to kept", "No host was asked too early", "robots.txt line 2", "<svg"] {
        assert!(page.contains(want), "{want}");
    }
    for banned in ["<script", "<link", " src=", "url(http"] {
        assert!(!page.contains(banned), "{banned}");
    }
    let funnel = std::fs::read_to_string(format!("{tables}/funnel.csv")).unwrap();
    assert!(funnel.contains("fetched,6,"), "{funnel}");
    let report = json(&crawled.ask(&["report", "--json"]));
    let table = |id: &str| {
        let sections = report["sections"].as_array().unwrap().iter();
        let mut tables = sections.flat_map(|section| section["tables"].as_array().unwrap());
        tables.find(|table| table["id"] == id).unwrap().clone()
    };
    assert_eq!(table("hosts")["rows"][0]["verdict"], "kept", "{report}");
    assert_eq!(table("hosts")["rows"][0]["requests"], 7);
    let refused = table("robots")["rows"][0].clone();
    assert_eq!(refused["urls"], 2, "{refused}");
    assert_eq!(table("settings-changed")["rows"][0]["key"], "contact");
    let nowhere = tempfile::tempdir().unwrap();
    check(&crawler(nowhere.path(), &["report"]), 3, &["there is none", "`crawler run` makes one"]);
}

#[test]
fn a_table_of_all_captures_is_read_back_by_column() {
    let crawled = crawled();
    let out = tempfile::tempdir().unwrap();
    let file = out.path().join("pages.parquet");
    let name = file.display().to_string();
    let args = ["export", "--out", &name, "--status", "200", "--mime", "text/html", "--json"];
    let output = crawled.ask(&args);
    check(&output, 0, &[]);
    assert_eq!(json(&output)["records"], 4, "{}", text(&output.stdout));
    check(&crawled.ask(&args), 2, &["is there already"]);
    let opened = std::fs::File::open(&file).unwrap();
    let reader = SerializedFileReader::new(opened).unwrap();
    let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    let strings = |wanted: &str| -> Vec<Option<String>> {
        let of_row = |row: &parquet::record::Row| {
            let mut columns = row.get_column_iter();
            match columns.find(|(name, _)| *name == wanted).unwrap().1 {
                Field::Str(text) => Some(text.clone()),
                _ => None,
            }
        };
        rows.iter().map(of_row).collect()
    };
    let mut urls: Vec<String> = strings("url").into_iter().flatten().collect();
    urls.sort();
    assert_eq!(urls, ["/", "/a", "/b?x=1", "/listed"].map(|path| crawled.url(path)));
    assert!(strings("text").iter().flatten().all(|text| text.starts_with("word0 of /")));
    let said = strings("usage_ai_train");
    assert!(said.iter().all(|said| said.as_deref() == Some("no")), "{said:?}");
    assert!(strings("warc_file").iter().flatten().all(|file| file.ends_with(".warc.gz")));
}

#[test]
fn texts_are_exported_once_and_only_as_their_owners_allow() {
    let crawled = crawled();
    let output = crawled.ask(&["export", "--format", "text", "--mime", "text/html"]);
    check(&output, 0, &[]);
    let texts = text(&output.stdout);
    let heads: Vec<&str> = texts.lines().filter(|line| line.starts_with("# ")).collect();
    assert!((1..=5).contains(&heads.len()), "{texts}");
    let all = crawled.ask(&["export", "--format", "text", "--mime", "text/html", "--all"]);
    let all = text(&all.stdout).lines().filter(|line| line.starts_with("# ")).count();
    assert!(all >= heads.len() && all >= 4, "{all}");
    let refused = crawled.ask(&["export", "--format", "text", "--for", "ai-train"]);
    check(&refused, 3, &["refused by their owners"]);
    assert!(refused.stdout.is_empty());
    check(&crawled.ask(&["export", "--format", "text", "--for", "search"]), 0, &[]);
    let stated = crawled.ask(&["export", "--format", "text", "--for", "search", "--stated"]);
    check(&stated, 3, &["refused or not allowed in words by their owners"]);
    check(&crawled.ask(&["export", "--format", "parquet"]), 2, &["add --out FILE"]);
    let misplaced = crawled.ask(&["export", "--format", "jsonl", "--for", "search"]);
    check(&misplaced, 2, &["--for belongs to --format parquet or text"]);
}

#[test]
fn a_crawl_does_not_differ_from_itself() {
    let crawled = crawled();
    let output = crawled.ask(&["diff", "crawl", "crawl", "--json"]);
    check(&output, 0, &[]);
    let counts = &json(&output)["counts"];
    assert_eq!((&counts["unchanged"], &counts["added"]), (&Value::from(6), &Value::from(0)));
    let home = crawled.url("/");
    let output = crawled.ask(&["diff", "crawl", "crawl", "--url", &home, "--json"]);
    check(&output, 0, &[]);
    assert_eq!(json(&output)["same"], true);
    let list = crawled.ask(&["diff", "crawl", "crawl", "--list", "--unchanged"]);
    assert_eq!(text(&list.stdout).lines().count(), 6, "{}", text(&list.stdout));
    check(&crawled.ask(&["diff", "crawl", "nowhere"]), 3, &["there is none"]);
}

#[test]
fn an_identity_is_written_once_and_its_key_is_for_its_owner_alone() {
    let dir = tempfile::tempdir().unwrap();
    check(&crawler(dir.path(), &["identity", "init"]), 78, &["contact: is missing"]);
    let args = [
        "identity",
        "init",
        "--contact",
        "https://bot.example.org/",
        "--range",
        "192.0.2.0/28",
        "--sign",
        "--json",
    ];
    let output = crawler(dir.path(), &args);
    check(&output, 0, &[]);
    let written = json(&output);
    let key = dir.path().join("identity/key.pem");
    assert_eq!(key.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let read =
        |name: &str| std::fs::read_to_string(dir.path().join("identity").join(name)).unwrap();
    assert!(read("user-agent.txt").contains("+https://bot.example.org/"));
    assert!(read("bot.html").contains("192.0.2.0/28"));
    let ranges: Value = serde_json::from_str(&read("ranges.json")).unwrap();
    assert_eq!(ranges["prefixes"][0]["ipv4Prefix"], "192.0.2.0/28");
    let directory: Value = serde_json::from_str(&read("signatures-directory.json")).unwrap();
    assert_eq!(directory["keys"][0]["kid"], written["key_id"]);
    assert!(!read("signatures-directory.json").contains("\"d\""), "the secret stays a secret");
    check(&crawler(dir.path(), &args), 78, &["is there already; --force"]);
    let secret = std::fs::read(&key).unwrap();
    let forced = crawler(dir.path(), &[&args[..], &["--force"]].concat());
    check(&forced, 0, &[]);
    assert_eq!(std::fs::read(&key).unwrap(), secret, "a published key stays");
    let bad =
        crawler(dir.path(), &["identity", "init", "--contact", "mailto:a@b.test", "--range", "x"]);
    check(&bad, 78, &["--range x: write an address or a range"]);
}

/// A server that shows its pages to those alone who sign; returns its origin.
fn serve_signed() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || ask_for_signature(stream));
        }
    });
    format!("http://{address}")
}

fn ask_for_signature(mut stream: TcpStream) {
    let Ok(copy) = stream.try_clone() else { return };
    let lines = BufReader::new(copy).lines().map_while(Result::ok);
    let request: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let first = request.first().cloned().unwrap_or_default();
    let signed = request.iter().any(|line| line.to_lowercase().starts_with("signature-input:"));
    let (status, more, body) = match (first.starts_with("GET /robots.txt"), signed) {
        (true, _) => ("404 Not Found", "", ""),
        (_, true) => ("200 OK", "", "<p>Good day, whoever you can prove to be.</p>"),
        _ => (
            "403 Forbidden",
            "Accept-Signature: sig=(\"@authority\");created;expires;keyid;tag=\"web-bot-auth\"\r\n",
            "<p>Who are you?</p>",
        ),
    };
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\n{more}Content-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
}

#[test]
fn only_a_server_that_asks_for_it_gets_signed_requests_and_only_with_a_key() {
    let site = serve_signed();
    let dir = tempfile::tempdir().unwrap();
    let contact = ["--contact", "mailto:test@crawler.test"];
    check(&crawler(dir.path(), &[&["identity", "init", "--sign"][..], &contact].concat()), 0, &[]);
    for (name, keys, want) in [
        ("without", &[][..], 403),
        (
            "with",
            &[
                "--set",
                "fetch.signature_key=identity/key.pem",
                "--set",
                "fetch.signature_agent=https://bot.crawler.test",
            ],
            200,
        ),
    ] {
        let mut args = vec!["run", &site, "--dir", name, "--set", "limits.disk_reserve=1MB"];
        args.extend(LOOPBACK);
        args.extend(keys);
        check(&crawler(dir.path(), &args), 0, &[]);
        let log = dir.path().join(name).join("log/crawl-00001.jsonl");
        let log = std::fs::read_to_string(log).unwrap();
        let lines: Vec<Value> =
            log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let pages: Vec<&Value> = lines.iter().filter(|line| line["purpose"] == "page").collect();
        assert_eq!(pages.last().unwrap()["status"], want, "{log}");
        // The signed request is one of its own, under a lease of its own.
        assert_eq!(pages.len(), if want == 200 { 2 } else { 1 }, "{log}");
        check(&crawler(dir.path(), &["audit", "--dir", name]), 0, &[]);
    }
    let half = [
        &["run", &site, "--dir", "half", "--set", "fetch.signature_agent=https://b.test"][..],
        &LOOPBACK,
    ]
    .concat();
    check(&crawler(dir.path(), &half), 78, &["belong together"]);
}

/// Answers for an auditor: broken links, chains that end where something is known, and a loop.
fn broken(path: &str, _: &str) -> super::site::Page {
    let to =
        |target: &str| ("301 Moved Permanently", format!("Location: {target}\r\n"), String::new());
    match path {
        "/" => {
            let links = "<a href=/missing>1</a> <a href=/r1>2</a> <a href=/loop>3</a> \
                         <a href=/broken>4</a>";
            super::site::html(path, "", links)
        }
        "/r1" => to("/r2"),
        "/r2" => to("/missing"),
        "/loop" => to("/loop"),
        "/broken" => ("500 Internal Server Error", String::new(), String::new()),
        _ => ("404 Not Found", String::new(), String::new()),
    }
}

#[test]
fn the_report_names_broken_links_with_their_pages_and_follows_chains_to_their_ends() {
    let site = super::site::serve_pages(broken);
    let dir = tempfile::tempdir().unwrap();
    let home = format!("{site}/");
    let more = ["--set", "limits.disk_reserve=1MB", "--set", "politeness.backoff_initial=10ms"];
    check(
        &crawler(dir.path(), &[&["run", "--quiet", &home], &LOOPBACK[..], &more].concat()),
        0,
        &[],
    );
    let report = json(&crawler(dir.path(), &["report", "--json"]));
    let rows = |id: &str| {
        let sections = report["sections"].as_array().unwrap().iter();
        let mut tables = sections.flat_map(|section| section["tables"].as_array().unwrap());
        let table = tables.find(|table| table["id"] == id);
        table.unwrap_or_else(|| panic!("no table {id}"))["rows"].as_array().unwrap().clone()
    };
    let url = |path: &str| Value::from(format!("{site}{path}"));
    let errors = rows("errors");
    let of = |path: &str| errors.iter().find(|row| row["url"] == url(path)).cloned();
    let missing = of("/missing").expect("a broken link is named");
    assert_eq!((&missing["status"], &missing["via"]), (&Value::from(404), &url("/")));
    assert_eq!(of("/broken").expect("it is named")["status"], 500);
    let chains = rows("chains");
    let chain =
        |steps: &[&str]| Value::from(steps.iter().map(|step| url(step)).collect::<Vec<_>>());
    let found = chains.iter().find(|row| row["chain"] == chain(&["/r1", "/r2", "/missing"]));
    let found = found.unwrap_or_else(|| panic!("{chains:?}"));
    assert_eq!((&found["redirects"], &found["status"]), (&Value::from(2), &Value::from("404")));
    let looped = chains.iter().find(|row| row["chain"] == chain(&["/loop", "/loop"]));
    assert_eq!(looped.unwrap_or_else(|| panic!("{chains:?}"))["status"], "loop");
    let lengths = rows("chain-lengths");
    let of_two = lengths.iter().find(|row| row["redirects"] == 2);
    assert_eq!(of_two.map(|row| &row["chains"]), Some(&Value::from(1)), "{lengths:?}");
}
