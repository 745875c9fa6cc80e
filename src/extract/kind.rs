//! What a body is: by its declared type, then by its first bytes.

use std::borrow::Cow;

use super::facts::{DocumentKind, Page};

/// How far the first element of an XML document is looked for.
const ROOT_WITHIN: usize = 8 * 1024;

/// Openings by which an undeclared body shows to be HTML (WHATWG MIME Sniffing §7.1).
const HTML_OPENINGS: [&[u8]; 17] = [
    b"<!doctype html",
    b"<html",
    b"<head",
    b"<script",
    b"<iframe",
    b"<h1",
    b"<div",
    b"<font",
    b"<table",
    b"<a",
    b"<style",
    b"<title",
    b"<b",
    b"<body",
    b"<br",
    b"<p",
    b"<!--",
];

/// Decides what a page is.
pub(super) fn of(page: &Page<'_>) -> DocumentKind {
    match declared(page).as_str() {
        // Feeds and sitemaps are often sent as HTML; no HTML begins so.
        "text/html" | "application/xhtml+xml" => {
            by_root(page.body).filter(|kind| is_list(*kind)).unwrap_or(DocumentKind::Html)
        }
        "text/css" => DocumentKind::Css,
        "image/svg+xml" => DocumentKind::Svg,
        "text/xml" | "application/xml" => by_root(page.body).unwrap_or(DocumentKind::Other),
        "application/rss+xml" | "application/atom+xml" | "application/rdf+xml" => {
            by_root(page.body).unwrap_or(DocumentKind::Feed)
        }
        "" | "unknown/unknown" | "application/unknown" | "*/*" => by_bytes(page),
        "text/plain"
        | "application/gzip"
        | "application/x-gzip"
        | "application/octet-stream"
        | "binary/octet-stream"
            if is_sitemap_path(page.url.path()) =>
        {
            let listed = by_root(page.body).filter(|kind| is_list(*kind));
            listed.unwrap_or(DocumentKind::SitemapText)
        }
        _ => DocumentKind::Other,
    }
}

/// Tells whether a page is declared to be XML, so that `<x/>` is an empty element.
pub(super) fn is_xml(page: &Page<'_>) -> bool {
    let declared = declared(page);
    declared.ends_with("+xml") || matches!(declared.as_str(), "text/xml" | "application/xml")
}

/// Returns the declared type without parameters, in lower case.
fn declared(page: &Page<'_>) -> String {
    let declared = page.content_type.unwrap_or_default();
    declared.split([';', ',']).next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn is_list(kind: DocumentKind) -> bool {
    matches!(kind, DocumentKind::Sitemap | DocumentKind::SitemapIndex | DocumentKind::Feed)
}

fn is_sitemap_path(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    name.contains("sitemap") || name.ends_with(".xml.gz")
}

/// Decides for a body that nothing declares.
fn by_bytes(page: &Page<'_>) -> DocumentKind {
    if let Some(kind) = by_root(page.body) {
        return kind;
    }
    let start = opening(page.body);
    let is_html = HTML_OPENINGS.iter().any(|tag| {
        start.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag))
            && (*tag == b"<!--"
                || start.get(tag.len()).is_some_and(|b| b" >\t\n\r\x0C".contains(b)))
    });
    if is_html {
        DocumentKind::Html
    } else if is_sitemap_path(page.url.path()) {
        DocumentKind::SitemapText
    } else {
        DocumentKind::Other
    }
}

/// Returns the beginning of a body: no byte order mark, no white space, no zero bytes of UTF-16.
fn opening(body: &[u8]) -> Cow<'_, [u8]> {
    let head = &body[..body.len().min(ROOT_WITHIN)];
    let marks: [&[u8]; 3] = [b"\xEF\xBB\xBF", b"\xFF\xFE", b"\xFE\xFF"];
    let head = marks.iter().find_map(|mark| head.strip_prefix(*mark)).unwrap_or(head);
    if !head.iter().take(4).any(|&b| b == 0) {
        return Cow::Borrowed(head.trim_ascii_start());
    }
    let head: Vec<u8> = head.iter().copied().filter(|&b| b != 0).collect();
    Cow::Owned(head.trim_ascii_start().to_vec())
}

/// Decides by the name of the first element, if the body is XML of a known kind.
fn by_root(body: &[u8]) -> Option<DocumentKind> {
    let head = opening(body);
    let mut rest = &head[..];
    loop {
        rest = rest.trim_ascii_start();
        let length = match rest {
            [b'<', b'?', ..] => after(rest, b"?>")?,
            [b'<', b'!', b'-', b'-', ..] => after(rest, b"-->")?,
            [b'<', b'!', ..] => doctype_length(rest)?,
            _ => break,
        };
        rest = &rest[length..];
    }
    let name = rest.strip_prefix(b"<")?;
    let end = name.iter().position(|b| b.is_ascii_whitespace() || matches!(b, b'>' | b'/'))?;
    let local = name[..end].rsplit(|&b| b == b':').next()?.to_ascii_lowercase();
    match &local[..] {
        b"urlset" => Some(DocumentKind::Sitemap),
        b"sitemapindex" => Some(DocumentKind::SitemapIndex),
        b"rss" | b"rdf" | b"feed" => Some(DocumentKind::Feed),
        b"html" => Some(DocumentKind::Html),
        _ => None,
    }
}

/// Returns how much of the text ends with the first `end`.
fn after(text: &[u8], end: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, end).map(|at| at + end.len())
}

/// Returns the length of a document type declaration: a `>` in quotes, in a comment or in the
/// internal subset does not end it.
fn doctype_length(text: &[u8]) -> Option<usize> {
    let (mut at, mut inside) = (0, false);
    loop {
        at += match text.get(at)? {
            b'>' if !inside => return Some(at + 1),
            quote @ (b'"' | b'\'') => 1 + after(&text[at + 1..], &[*quote])?,
            b'<' if text[at..].starts_with(b"<!--") => after(&text[at..], b"-->")?,
            bracket @ (b'[' | b']') => {
                inside = *bracket == b'[';
                1
            }
            _ => 1,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::CrawlUrl;

    #[track_caller]
    fn check(url: &str, content_type: Option<&str>, body: &str, want: DocumentKind) {
        let url = CrawlUrl::parse(url).unwrap();
        let page = Page { url: &url, content_type, link_headers: &[], body: body.as_bytes() };
        assert_eq!(of(&page), want, "{content_type:?} {body}");
    }

    #[test]
    fn the_declared_type_decides_but_for_lists_of_urls() {
        use DocumentKind::*;
        let url = "http://e.org/x";
        check(url, Some("Text/HTML; charset=x"), "plain", Html);
        check(url, Some("text/html"), "<?xml version='1.0'?><rss version='2.0'>", Feed);
        check(url, Some("text/css"), "<html>", Css);
        check(url, Some("application/xml"), "<!-- x --><a:urlset xmlns:a='y'>", Sitemap);
        check(url, Some("text/xml"), "<!DOCTYPE html><html>", Html);
        let subset = "<!DOCTYPE rss [<!-- it's > --><!ENTITY a ']>'><!ENTITY b \"c\">]><rss>";
        check(url, Some("text/xml"), subset, Feed);
        check(url, Some("text/xml"), "<!DOCTYPE rss SYSTEM 'x>y' [ <!ENTITY a '", Other);
        check(url, Some("text/xml"), "<svg>", Other);
        check(url, Some("image/png"), "<html>", Other);
        check(url, Some("text/plain"), "<html>", Other);
    }

    #[test]
    fn without_a_type_the_first_bytes_decide() {
        use DocumentKind::*;
        let url = "http://e.org/x";
        check(url, None, "\u{feff} <!DOCTYPE HTML>", Html);
        check(url, None, "<a href=x>", Html);
        check(url, None, "<abbr>", Other);
        check(url, None, "<sitemapindex>", SitemapIndex);
        check(url, None, "", Other);
        check("http://e.org/sitemap.txt", Some("text/plain"), "http://e.org/", SitemapText);
        check("http://e.org/sitemap.xml", Some("text/plain"), "<urlset>", Sitemap);
    }
}
