//! A site on loopback for the commands: eight pages, a robots.txt, a sitemap.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

/// Status, head lines, and body of an answer.
pub(super) type Page = (&'static str, String, String);

/// Serves the site until the test process ends; returns its origin.
pub(super) fn serve() -> String {
    serve_pages(|path, host| {
        let (status, kind, body) = page(path, host);
        (status, format!("Content-Type: {kind}\r\n"), body)
    })
}

/// Serves pages, by path and host, until the test process ends; returns their origin.
pub(super) fn serve_pages(page: fn(&str, &str) -> Page) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream, page));
        }
    });
    format!("http://{address}")
}

/// Returns a page of HTML with a text of its own and more in its head and body.
pub(super) fn html(text: &str, head: &str, body: &str) -> Page {
    let words: String = (0..60).map(|n| format!("word{} of {text} ", n * 7 % 53)).collect();
    let page = format!("<html><head>{head}</head><body><p>{words}</p>{body}</body></html>");
    ("200 OK", "Content-Type: text/html\r\n".to_owned(), page)
}

fn answer(stream: TcpStream, page: fn(&str, &str) -> Page) {
    let Ok(copy) = stream.try_clone() else { return };
    let mut lines = BufReader::new(copy).lines();
    let Some(Ok(first)) = lines.next() else { return };
    let mut host = String::new();
    for line in lines.map_while(Result::ok).take_while(|line| !line.is_empty()) {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("host:") {
            host = value.trim().to_owned();
        }
    }
    let path = first.split(' ').nth(1).unwrap_or("/").to_owned();
    let (status, head, body) = page(&path, &host);
    let mut stream = stream;
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\n{head}Content-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
}

fn page(path: &str, host: &str) -> (&'static str, &'static str, String) {
    let text: String = (0..60).map(|n| format!("word{} of {path} ", n * 7 % 53)).collect();
    let html = |links: &str| {
        let body = format!(
            "<html><head><title>Page {path}</title></head><body><p>{text}</p>{links}</body></html>"
        );
        ("200 OK", "text/html; charset=utf-8", body)
    };
    match path {
        "/robots.txt" => {
            let body = format!(
                "User-agent: *\nDisallow: /private/\nContent-Signal: ai-train=no\n\
                 Sitemap: http://{host}/sitemap.xml\n"
            );
            ("200 OK", "text/plain", body)
        }
        "/sitemap.xml" => {
            let urls: String = ["a", "listed", "private/y"]
                .map(|name| format!("<url><loc>http://{host}/{name}</loc></url>"))
                .concat();
            let body = format!(
                "<?xml version=\"1.0\"?><urlset \
                 xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{urls}</urlset>"
            );
            ("200 OK", "application/xml", body)
        }
        "/" => html(
            "<a href=/a>a</a> <a href=/b?x=1>b</a> <a href=/private/x>x</a> <a href=/gone>gone</a> \
             <a href=http://elsewhere.test/>elsewhere</a>",
        ),
        "/a" | "/b?x=1" => html("<a href=/>home</a>"),
        "/listed" => html("<meta name=robots content=nofollow><a href=/untold>untold</a>"),
        _ => ("404 Not Found", "text/html", "<p>no such page</p>".to_owned()),
    }
}
