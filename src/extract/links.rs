//! Collects the references of one page: bounded, resolved once the base is known, one per URL.

use std::borrow::Cow;
use std::collections::HashMap;

use encoding_rs::Encoding;
use url::EncodingOverride;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::facts::{Extracted, Link, LinkKind};
use super::settings::Settings;
use crate::url::{CrawlUrl, UrlError, resolve_from};

/// A reference as found.
struct Reference {
    raw: String,
    kind: LinkKind,
    nofollow: bool,
    /// As [`Link::as_link`].
    as_link: Option<bool>,
    text: String,
    /// `Link` headers are resolved against the URL of the answer, whatever `base` says.
    ignores_base: bool,
}

/// References in the order found. What is written alike is kept once, so that repeated menus cost
/// nothing; all wait for the end of the page, since a `base` element may come late.
pub(super) struct References {
    found: Vec<Reference>,
    by_text: HashMap<u64, u32>,
    links_max: usize,
    found_max: usize,
    /// References that found no room.
    dropped: u32,
    /// The first canonical link, kept apart since the same text may also be an ordinary link.
    canonical: Option<(String, bool)>,
}

impl References {
    /// Returns room for so many links.
    pub(super) fn new(links_max: usize) -> Self {
        References {
            found: Vec::new(),
            by_text: HashMap::new(),
            links_max,
            // Differently written references may be one URL, so a few more than links are kept.
            found_max: links_max.saturating_mul(2),
            dropped: 0,
            canonical: None,
        }
    }

    /// Adds a reference and returns its number, or `None` if there is no room.
    pub(super) fn add(&mut self, kind: LinkKind, raw: &str, nofollow: bool) -> Option<u32> {
        self.insert(kind, raw, nofollow, false)
    }

    /// Adds a reference of a `Link` header.
    pub(super) fn add_from_header(&mut self, kind: LinkKind, raw: &str, nofollow: bool) {
        self.insert(kind, raw, nofollow, true);
    }

    fn insert(&mut self, kind: LinkKind, raw: &str, nofollow: bool, base: bool) -> Option<u32> {
        if kind == LinkKind::Canonical && self.canonical.is_none() {
            self.canonical = Some((raw.to_owned(), base));
        }
        let key = xxh3_64_with_seed(raw.as_bytes(), u64::from(base));
        if let Some(&number) = self.by_text.get(&key) {
            let known = &mut self.found[number as usize];
            known.kind = known.kind.stronger(kind);
            known.nofollow &= nofollow;
            known.as_link = either(known.as_link, as_link(kind, nofollow));
            return Some(number);
        }
        if self.found.len() >= self.found_max {
            self.dropped = self.dropped.saturating_add(1);
            return None;
        }
        let number = u32::try_from(self.found.len()).ok()?;
        self.found.push(Reference {
            raw: raw.to_owned(),
            kind,
            nofollow,
            as_link: as_link(kind, nofollow),
            text: String::new(),
            ignores_base: base,
        });
        self.by_text.insert(key, number);
        Some(number)
    }

    /// Returns the anchor text of a reference, to be added to.
    pub(super) fn text_mut(&mut self, number: u32) -> Option<&mut String> {
        self.found.get_mut(number as usize).map(|reference| &mut reference.text)
    }

    /// Resolves everything against the base and puts the links into `facts`.
    pub(super) fn resolve(
        self,
        document: &CrawlUrl,
        encoding: &'static Encoding,
        settings: &Settings,
        facts: &mut Extracted,
    ) {
        facts.links_dropped = facts.links_dropped.saturating_add(self.dropped);
        facts.canonical = self.canonical.and_then(|(raw, ignores_base)| {
            let base = if ignores_base { document } else { &facts.base };
            resolve(base, &raw, encoding, settings.url_length_max).ok()
        });
        let mut by_url: HashMap<u64, usize> = HashMap::with_capacity(self.found.len());
        let mut room = settings.link_bytes_max.as_len();
        for reference in self.found {
            if room == 0 {
                facts.links_dropped = facts.links_dropped.saturating_add(1);
                continue;
            }
            let base = if reference.ignores_base { document } else { &facts.base };
            let url = match resolve(base, &reference.raw, encoding, settings.url_length_max) {
                Ok(url) => url,
                Err(Unusable::TooLong) => {
                    facts.links_too_long += 1;
                    continue;
                }
                Err(Unusable::NotCrawlable) => {
                    facts.links_unusable += 1;
                    continue;
                }
            };
            let key = xxh3_64(url.as_str().as_bytes());
            if let Some(&known) = by_url.get(&key) {
                merge(&mut facts.links[known], reference);
            } else if facts.links.len() < self.links_max {
                room = room.saturating_sub(url.as_str().len());
                by_url.insert(key, facts.links.len());
                facts.links.push(Link {
                    url,
                    kind: reference.kind,
                    rel_nofollow: reference.nofollow,
                    as_link: reference.as_link,
                    text: reference.text,
                    raw: reference.raw,
                });
            } else {
                facts.links_dropped = facts.links_dropped.saturating_add(1);
            }
        }
        facts.truncated_links |= facts.links_dropped > 0;
    }
}

fn merge(known: &mut Link, again: Reference) {
    known.kind = known.kind.stronger(again.kind);
    known.rel_nofollow &= again.nofollow;
    known.as_link = either(known.as_link, again.as_link);
    if known.text.is_empty() {
        known.text = again.text;
    }
}

/// Returns what a reference adds to [`Link::as_link`].
fn as_link(kind: LinkKind, nofollow: bool) -> Option<bool> {
    (!kind.is_embed() && kind != LinkKind::Refresh).then_some(nofollow)
}

fn either(known: Option<bool>, again: Option<bool>) -> Option<bool> {
    match (known, again) {
        (Some(known), Some(again)) => Some(known && again),
        (known, again) => known.or(again),
    }
}

/// Why a reference is no link.
pub(super) enum Unusable {
    TooLong,
    NotCrawlable,
}

/// Resolves a reference as a browser does: the query in the encoding of the page.
pub(super) fn resolve(
    base: &CrawlUrl,
    raw: &str,
    encoding: &'static Encoding,
    length_max: usize,
) -> Result<CrawlUrl, Unusable> {
    // Parsing first would cost as much as the longest `data:` URL of the page. Three bytes of
    // blanks or escapes per byte of URL is more than any URL has that ends below the limit.
    if raw.len() > length_max.saturating_mul(4) {
        let is_other_scheme = starts_with_ignoring_case(raw, "data:")
            || starts_with_ignoring_case(raw, "javascript:");
        return Err(if is_other_scheme { Unusable::NotCrawlable } else { Unusable::TooLong });
    }
    let encode = query_encoder(encoding);
    let output = encoding.output_encoding();
    let encode: EncodingOverride<'_> =
        if output == encoding_rs::UTF_8 { None } else { Some(&encode) };
    let parsed = resolve_from(base.as_url(), raw, encode).map_err(UrlError::Syntax);
    match parsed.and_then(CrawlUrl::from_url) {
        Ok(url) if url.as_str().len() > length_max => Err(Unusable::TooLong),
        Ok(url) => Ok(url),
        Err(_) => Err(Unusable::NotCrawlable),
    }
}

fn starts_with_ignoring_case(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

fn query_encoder(encoding: &'static Encoding) -> impl Fn(&str) -> Cow<'_, [u8]> {
    move |text| Cow::Owned(encode_query(text, encoding))
}

/// Encodes the query of a URL; what the encoding lacks becomes a percent-encoded character
/// reference (WHATWG URL, "percent-encode after encoding").
fn encode_query(text: &str, encoding: &'static Encoding) -> Vec<u8> {
    let (bytes, _, lossy) = encoding.encode(text);
    if !lossy {
        return bytes.into_owned();
    }
    let mut encoded = Vec::with_capacity(text.len());
    let mut buffer = [0; 4];
    for c in text.chars() {
        let (bytes, _, lossy) = encoding.encode(c.encode_utf8(&mut buffer));
        if lossy {
            encoded.extend(format!("%26%23{}%3B", u32::from(c)).bytes());
        } else {
            encoded.extend_from_slice(&bytes);
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{EUC_JP, UTF_8, WINDOWS_1252};

    #[track_caller]
    fn check(raw: &str, encoding: &'static Encoding, want: Option<&str>) {
        let base = CrawlUrl::parse("http://example.org/a/b").unwrap();
        let url = resolve(&base, raw, encoding, 100).ok();
        assert_eq!(url.as_ref().map(CrawlUrl::as_str), want, "{raw}");
    }

    #[test]
    fn queries_are_encoded_as_the_page_is_and_paths_are_not() {
        check("é?é", UTF_8, Some("http://example.org/a/%C3%A9?%C3%A9"));
        check("é?é", WINDOWS_1252, Some("http://example.org/a/%C3%A9?%E9"));
        check("?日本", EUC_JP, Some("http://example.org/a/b?%C6%FC%CB%DC"));
        check("?日é", WINDOWS_1252, Some("http://example.org/a/b?%26%2326085%3B%E9"));
    }

    #[test]
    fn carets_are_escaped_in_paths_only() {
        check("^?^", UTF_8, Some("http://example.org/a/%5E?^"));
    }

    /// Ten thousand short links behind a long `base` are eighty megabytes of URLs.
    #[test]
    fn the_urls_of_a_page_have_a_bound_in_bytes() {
        let page = CrawlUrl::parse("http://example.org/").unwrap();
        let mut facts = Extracted::empty(&page, crate::extract::DocumentKind::Html);
        facts.base = CrawlUrl::parse(&format!("http://example.org/{}/", "x".repeat(979))).unwrap();
        let mut references = References::new(100);
        (100..110).for_each(|n| _ = references.add(LinkKind::Anchor, &n.to_string(), false));
        let link_bytes_max = crate::clock::ByteSize::kib(2);
        let settings = Settings { link_bytes_max, ..Settings::default() };
        references.resolve(&page, UTF_8, &settings, &mut facts);
        assert_eq!((facts.links.len(), facts.links_dropped), (3, 7));
        assert!(facts.truncated_links);
    }

    #[test]
    fn what_cannot_be_crawled_is_no_link() {
        check("mailto:a@b", UTF_8, None);
        check("http://[x", UTF_8, None);
        check(&format!("/{}", "x".repeat(100)), UTF_8, None);
        check(&format!("data:,{}", "x".repeat(1000)), UTF_8, None);
    }
}
