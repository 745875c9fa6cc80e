//! What the web says must not reach a terminal as a command to it.

use std::process::Command;

use super::site::{ADDRESS, Ask, Reply, Site, answer, http_by, raw};

/// Clears a screen, sets a title, turns the direction of text; in seven bits and in eight.
const EVIL: &str = "\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\u{202e}\u{8}";

fn evil(ask: &Ask<'_>) -> Option<Reply> {
    let html = format!(
        "<title>T{EVIL}</title><meta name=description content='{EVIL}'><h1>{EVIL}</h1><p>{}{EVIL}</p>\
         <a href='/a{EVIL}'>{EVIL}</a><a href=/redirect>r</a><a href=/type>t</a>\
         <a href=/status>s</a>\
         <a href='/secret{EVIL}'>x</a><a href=/missing>m</a>",
        super::site::words(ask.path)
    );
    Some(match ask.path {
        "/robots.txt" => answer(
            "200 OK",
            "",
            format!(
                "User-agent: *\nDisallow: /secret{EVIL}\nDisallow: /secret\nSitemap: /s{EVIL}\n"
            ),
        ),
        "/redirect" => raw("HTTP/1.1 302 F\u{9b}31m\r\nLocation: /to\u{9b}31m\r\n\r\n"),
        "/type" => answer("200 OK", "Content-Type: te\u{9b}31mxt/\u{9b}31mhtml\r\n", "x"),
        "/status" => raw(format!("HTTP/1.1 2{EVIL}00 OK\r\n\r\n")),
        "/missing" => answer("404 Not \u{9b}31m Found", "", "x"),
        _ => answer("200 OK", "Content-Type: text/html; x=\u{9b}31m\r\nX-A: \u{9b}31m\r\n", html),
    })
}

/// Runs the program and returns everything that it printed.
fn printed(dir: &std::path::Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_crawler"))
        .args(["--contact", "mailto:t@crawler.test", "--set", "politeness.min_delay=5ms"])
        .args(["--set", "dns.allow=[\"127.0.0.0/8\"]", "--set", "limits.disk_reserve=1MB"])
        .args(args)
        .current_dir(dir)
        .env("CRAWLER_LOG", "debug")
        .output()
        .expect("the program starts");
    String::from_utf8([output.stdout, output.stderr].concat()).expect("what is printed is UTF-8")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_command_prints_what_a_terminal_would_obey() {
    let site = Site::start(ADDRESS, http_by(evil)).await;
    let home = format!("http://{}", site.address);
    let dir = tempfile::tempdir().unwrap();
    let urls: Vec<String> = ["/", "/redirect", "/type", "/status", "/secret", "/missing"]
        .iter()
        .map(|path| format!("{home}{path}"))
        .collect();
    let mut commands = vec![vec!["run", &urls[0]]];
    for url in &urls {
        commands.extend(["explain", "fetch", "sketch"].map(|command| vec![command, url.as_str()]));
    }
    let robots = ["robots", &urls[0], "--fetch"];
    commands.extend([vec!["status"], robots.to_vec(), vec!["plan", &urls[0]], vec!["dups"]]);
    commands.extend([vec!["audit"], vec!["verify"], vec!["dust", "rules"], vec!["status"]]);
    commands.extend([vec!["dns", "127.0.0.2"], vec!["export", "--format", "cdxj"]]);
    let mut text = 0;
    for command in &commands {
        for json in [&[][..], &["--json"]] {
            let out = printed(dir.path(), &[command, json].concat());
            let bad = out.chars().find(|c| c.is_control() && *c != '\n' && *c != '\t');
            let bad = bad.or_else(|| out.chars().find(|c| *c == '\u{202e}'));
            assert_eq!(bad, None, "{command:?} {json:?}: {}", out.escape_debug());
            text += out.len();
        }
    }
    assert!(text > 10_000, "the commands said next to nothing");
}
