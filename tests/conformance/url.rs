//! `url`, `resolve`: the WHATWG parser under the crawler's URLs. `toascii`, `ipv4-host`: its host.
//! `path-dots.special`, `crawler-commons.BasicURLNormalizer`: the normal form of a URL. `surt`: the
//! key of a CDXJ index.

use crawler::url::{CrawlUrl, cdx_key, resolve};
use serde_json::{Value, json};
use url::{Host, Url};

/// Answers a request whose operation is known here.
pub(crate) fn answer(op: &str, request: &Value) -> Option<Value> {
    let input = request["input"].as_str().unwrap_or_default();
    Some(match op {
        "url" => json!({ "href": parse(input, &request["base"]) }),
        "resolve" => json!({ "output": parse(input, &request["base"]) }),
        "toascii" => json!({ "output": host(input) }),
        "ipv4-host" => json!({ "output": ipv4(input) }),
        "path-dots.special" => json!({ "output": path(input) }),
        "crawler-commons.BasicURLNormalizer" => json!({ "output": normal_form(input) }),
        "surt" => json!({ "key": cdx_key(request["url"].as_str().unwrap_or_default()) }),
        _ => return None,
    })
}

fn parse(input: &str, base: &Value) -> Option<String> {
    let url = match base.as_str() {
        Some(base) if !base.is_empty() => resolve(&Url::parse(base).ok()?, input).ok()?,
        _ => Url::parse(input).ok()?,
    };
    Some(url.into())
}

/// The host of a URL made of the input, as the suite's own page reads it.
fn host(input: &str) -> Option<String> {
    let url = Url::parse(&format!("https://{input}/x")).ok()?;
    url.host_str().map(str::to_owned)
}

fn ipv4(input: &str) -> Option<String> {
    let url = CrawlUrl::parse(&format!("http://{input}/")).ok()?;
    match url.as_url().host()? {
        Host::Ipv4(address) => Some(address.to_string()),
        Host::Domain(_) | Host::Ipv6(_) => None,
    }
}

fn path(input: &str) -> Option<String> {
    let url = CrawlUrl::parse(&format!("http://example.com{input}")).ok()?;
    Some(url.path().to_owned())
}

/// The normal form; what has no scheme is read as if typed into a browser.
fn normal_form(input: &str) -> Option<String> {
    let url = match CrawlUrl::parse(input) {
        Err(crawler::url::UrlError::Syntax(url::ParseError::RelativeUrlWithoutBase)) => {
            CrawlUrl::parse(&format!("http://{input}"))
        }
        url => url,
    };
    Some(url.ok()?.to_string())
}
