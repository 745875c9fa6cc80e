//! `robots`, `robots_delay`, `robots_sitemaps`, `robots_url`: robots.txt. `directives`: meta robots
//! and X-Robots-Tag.

use crawler::extract::{Page, Settings, extract};
use crawler::robots::{Directives, Robots, product_token, robots_url};
use crawler::url::{CrawlUrl, UrlError};
use data_encoding::BASE64;
use serde_json::{Value, json};

/// Answers a request whose operation is known here.
pub(crate) fn answer(op: &str, request: &Value) -> Option<Value> {
    Some(match op {
        "robots" => match as_http(text(request, "url")) {
            Ok(url) => {
                let verdict = robots(request).verdict(&url);
                json!({ "allowed": verdict.allowed, "reason": verdict.reason })
            }
            Err(error) => json!({ "error": error.to_string() }),
        },
        "robots_delay" => {
            json!({ "crawl_delay": robots(request).crawl_delay().map(|delay| delay.as_secs_f64()) })
        }
        "robots_sitemaps" => json!({ "sitemaps": sitemaps(request) }),
        "robots_url" => {
            json!({ "url": CrawlUrl::parse(text(request, "url")).ok().map(|url| robots_url(&url)) })
        }
        "directives" => directives(request),
        _ => return None,
    })
}

/// Reads a URL of another scheme as if it were of http: robots.txt is about paths.
fn as_http(url: &str) -> Result<CrawlUrl, UrlError> {
    match CrawlUrl::parse(url) {
        Err(UrlError::Scheme(scheme)) => {
            CrawlUrl::parse(&format!("http{}", url.get(scheme.len()..).unwrap_or_default()))
        }
        url => url,
    }
}

fn text<'a>(request: &'a Value, key: &str) -> &'a str {
    request[key].as_str().unwrap_or_default()
}

fn robots(request: &Value) -> Robots {
    let body = BASE64.decode(text(request, "robots_txt").as_bytes()).unwrap_or_default();
    Robots::parse(&body, product_token(text(request, "user_agent")))
}

fn sitemaps(request: &Value) -> Vec<String> {
    let base = CrawlUrl::parse(text(request, "base_url")).ok();
    let resolve = |url: &String| match &base {
        Some(base) => base.as_url().join(url).map_or_else(|_| url.clone(), String::from),
        None => url.clone(),
    };
    robots(request).sitemaps().iter().map(resolve).collect()
}

fn directives(request: &Value) -> Value {
    let url = CrawlUrl::parse("http://example.com/").expect("a constant URL");
    let page = Page {
        url: &url,
        content_type: Some("text/html; charset=utf-8"),
        link_headers: &[],
        body: text(request, "html").as_bytes(),
    };
    let metas = extract(&page, &Settings::default()).meta_robots;
    let metas = metas.iter().map(|(name, content)| (name.as_str(), content.as_str()));
    let headers = request["x_robots_tag"].as_array().into_iter().flatten();
    let headers = headers.filter_map(Value::as_str);
    let read = Directives::read(metas, headers, text(request, "user_agent"));
    json!({ "noindex": read.noindex, "nofollow": read.nofollow, "noarchive": read.noarchive })
}
