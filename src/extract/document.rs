//! One page to its facts: by its kind, each through its own reader.

use encoding_rs::{Encoding, UTF_8};

use super::charset::decode;
use super::css;
use super::facts::{DocumentKind, Extracted, LinkKind, Page};
use super::html;
use super::kind;
use super::link_header::link_header;
use super::links::References;
use super::page_links::relation;
use super::settings::Settings;
use super::sitemap;
use super::xhtml;

/// Links taken from the `Link` headers of one answer.
const HEADER_LINKS_MAX: usize = 256;

/// Extracts the facts of a page.
pub fn extract(page: &Page<'_>, settings: &Settings) -> Extracted {
    extract_as(page, kind::of(page), settings)
}

/// Extracts the facts of a page that was found as a sitemap, whatever type it says it has: plain
/// text is then read as a list of URLs.
pub fn extract_sitemap(page: &Page<'_>, settings: &Settings) -> Extracted {
    let kind = match kind::of(page) {
        DocumentKind::Other => DocumentKind::SitemapText,
        kind => kind,
    };
    extract_as(page, kind, settings)
}

/// Tells whether a page shows itself to be a sitemap or a feed, whose links have bounds of their
/// own: [`Settings::sitemap_max`] and [`Settings::sitemap_entries_max`].
pub fn is_list(page: &Page<'_>) -> bool {
    is_list_kind(kind::of(page))
}

/// Tells whether a page is HTML, and so may ask something of robots.
pub fn is_html(page: &Page<'_>) -> bool {
    kind::of(page) == DocumentKind::Html
}

fn is_list_kind(kind: DocumentKind) -> bool {
    use DocumentKind::{Feed, Sitemap, SitemapIndex, SitemapText};
    matches!(kind, Sitemap | SitemapIndex | SitemapText | Feed)
}

fn links_max(kind: DocumentKind, settings: &Settings) -> usize {
    if is_list_kind(kind) {
        settings.sitemap_entries_max.saturating_add(HEADER_LINKS_MAX)
    } else {
        settings.links_max
    }
}

fn extract_as(page: &Page<'_>, kind: DocumentKind, settings: &Settings) -> Extracted {
    let mut facts = Extracted::empty(page.url, kind);
    let mut references = References::new(links_max(kind, settings));
    header_links(page, &mut references);
    let body = &page.body[..page.body.len().min(settings.body_max.as_len())];
    match kind {
        DocumentKind::Html | DocumentKind::Svg => {
            facts.truncated_body = body.len() < page.body.len();
            let (mut text, encoding) = text_of(page, body, settings, &mut facts);
            if kind == DocumentKind::Html && kind::is_xml(page) {
                text = xhtml::with_end_tags(text);
            }
            let forms = html::read(&text, encoding, settings, &mut facts, &mut references);
            references.resolve(page.url, encoding, settings, &mut facts);
            forms.finish(page.url, encoding, settings, &mut facts);
            return facts;
        }
        DocumentKind::Css => {
            facts.truncated_body = body.len() < page.body.len();
            let (text, _) = text_of(page, body, settings, &mut facts);
            css::references(&text, &mut |kind, url| _ = references.add(kind, url, false));
        }
        DocumentKind::Sitemap
        | DocumentKind::SitemapIndex
        | DocumentKind::SitemapText
        | DocumentKind::Feed => sitemap_links(page, settings, &mut facts, &mut references),
        DocumentKind::Other => {}
    }
    references.resolve(page.url, UTF_8, settings, &mut facts);
    facts
}

fn header_links(page: &Page<'_>, references: &mut References) {
    let links = page.link_headers.iter().flat_map(|value| link_header(value));
    for link in links.take(HEADER_LINKS_MAX).filter(|link| !link.anchored) {
        if let Some(kind) = relation(&link.rel, &link.media_type, LinkKind::LinkHeader) {
            let nofollow = link.rel.split_ascii_whitespace().any(|rel| rel == "nofollow");
            references.add_from_header(kind, &link.target, nofollow);
        }
    }
}

fn text_of<'p>(
    page: &Page<'p>,
    body: &'p [u8],
    settings: &Settings,
    facts: &mut Extracted,
) -> (std::borrow::Cow<'p, str>, &'static Encoding) {
    let tld = page.url.host_str().rsplit('.').next();
    let tld = tld.filter(|tld| tld.bytes().all(|b| b.is_ascii_lowercase()));
    let guess_max = settings.charset_guess_max.as_len();
    let (text, encoding, _) = decode(body, page.content_type, tld, guess_max);
    facts.charset = encoding.name();
    (text, encoding)
}

fn sitemap_links(
    page: &Page<'_>,
    settings: &Settings,
    facts: &mut Extracted,
    references: &mut References,
) {
    match sitemap::sitemap(page.url, page.content_type, page.body, settings) {
        Ok(found) => {
            facts.kind = found.kind;
            facts.charset = found.charset;
            facts.truncated_body = found.truncated_body;
            facts.links_dropped = found.dropped;
            facts.errors.extend(found.problem);
            let kind = match found.kind {
                DocumentKind::SitemapIndex => LinkKind::Sitemap,
                DocumentKind::Feed => LinkKind::FeedEntry,
                _ => LinkKind::SitemapEntry,
            };
            for entry in &found.entries {
                references.add(kind, entry.url.as_str(), false);
            }
            facts.entries = found.entries;
        }
        Err(error) => {
            facts.kind = DocumentKind::Other;
            facts.errors.push(error.to_string());
        }
    }
}
