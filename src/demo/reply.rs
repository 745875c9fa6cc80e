//! What a site answers to one request, whoever carries it.

use std::fmt::Write;
use std::io::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use encoding_rs::UTF_8;
use flate2::{Compression, GzBuilder};

use crate::clock::Timestamp;

use super::draw::{hash, hash_bytes, mix};
use super::site::{Quiet, SITEMAP_URLS, Site, Target};
use super::spec::{RetryAfter, RobotsAnswer, Sitemap};
use super::web::WebSpec;

/// A request as the sites see it.
#[derive(Clone, Debug)]
pub(super) struct Ask<'a> {
    pub(super) host: &'a str,
    /// Path and query.
    pub(super) target: &'a str,
    pub(super) if_none_match: Option<&'a str>,
    pub(super) gzip: bool,
    /// Since the last request of this host began.
    pub(super) since_last: Option<Duration>,
    pub(super) elapsed: Duration,
    pub(super) now: Timestamp,
}

/// What comes of it.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    /// The connection is not accepted.
    Refused,
    /// The connection is closed after this time without an answer.
    Closed(Duration),
    /// Nothing ever comes.
    Silent,
    /// An answer.
    Page(Box<Page>),
}

/// An answer with the time that it takes.
#[derive(Clone, Debug)]
pub(super) struct Page {
    pub(super) status: u16,
    /// Names as they are sent; neither Content-Length nor Transfer-Encoding.
    pub(super) headers: Vec<(&'static str, String)>,
    /// As sent.
    pub(super) payload: Bytes,
    /// Without content coding.
    pub(super) body: Bytes,
    pub(super) chunked: bool,
    /// How many bytes of the payload come before the connection breaks.
    pub(super) cut: Option<usize>,
    pub(super) wait: Duration,
    /// Bytes a second; 0: at once.
    pub(super) rate: u64,
}

impl Page {
    /// Returns how long the body takes.
    pub(super) fn body_time(&self) -> Duration {
        let bytes = self.cut.unwrap_or(self.payload.len()) as u64;
        match self.rate {
            0 => Duration::ZERO,
            rate => Duration::from_millis(bytes.saturating_mul(1000) / rate),
        }
    }
}

/// Answers one request.
pub(super) fn reply(web: &WebSpec, ask: &Ask<'_>) -> Reply {
    let Some(site) = web.site_of(ask.host) else { return Reply::Page(Box::new(misdirected())) };
    let faults = &site.spec.faults;
    if faults.refused {
        return Reply::Refused;
    }
    if faults.silent {
        return Reply::Silent;
    }
    let target = site.parse(ask.target);
    let wait = site.wait(ask.target);
    if target != Target::Robots {
        let lot = site.lot(ask);
        if lot < u64::from(faults.closed) {
            return Reply::Closed(wait);
        }
    }
    let mut page = site
        .busy_page(ask)
        .or_else(|| site.hurried_page(ask, &target))
        .or_else(|| site.error(ask, &target));
    let mut page = page.take().unwrap_or_else(|| site.page(&target, ask));
    page.wait = wait;
    page.rate = site.spec.latency.rate;
    site.finish(&mut page, ask, &target);
    Reply::Page(Box::new(page))
}

/// Returns the answer to a name that nobody serves here.
fn misdirected() -> Page {
    page(421, "text/plain", "no such host\n".into())
}

fn page(status: u16, content_type: &str, body: Bytes) -> Page {
    let headers = vec![("Content-Type", content_type.to_owned())];
    let (payload, wait) = (body.clone(), Duration::ZERO);
    Page { status, headers, payload, body, chunked: false, cut: None, wait, rate: 0 }
}

impl Site<'_> {
    /// Returns a page in the encoding of the site.
    fn html(self, status: u16, text: String) -> Page {
        let charset = &self.spec.charset;
        let label = charset.encoding.name().to_ascii_lowercase();
        let kind = if charset.in_header {
            format!("text/html; charset={label}")
        } else {
            "text/html".to_owned()
        };
        let body = if charset.encoding == UTF_8 {
            Bytes::from(text)
        } else {
            charset.encoding.encode(&text).0.into_owned().into()
        };
        page(status, &kind, body)
    }

    fn wait(self, target: &str) -> Duration {
        let latency = &self.spec.latency;
        let spread = u64::try_from(latency.spread.as_millis()).unwrap_or(u64::MAX);
        let share = hash(mix(self.seed, 11), target);
        latency.base + Duration::from_millis(share % spread.saturating_add(1).max(1))
    }

    /// Returns a number below 1,000 that decides the fate of a URL for this minute.
    fn lot(self, ask: &Ask<'_>) -> u64 {
        let minute = ask.elapsed.as_secs() / 60;
        mix(hash(mix(self.seed, 12), ask.target), minute) % 1000
    }

    fn busy_page(self, ask: &Ask<'_>) -> Option<Page> {
        let busy = self.spec.faults.busy?;
        let left = busy.remaining(ask.elapsed)?;
        let mut page = self.html(busy.status, self.error_page(busy.status, ask.target));
        let seconds = left.as_millis().div_ceil(1000) as u64;
        match busy.retry_after {
            RetryAfter::None => {}
            RetryAfter::Seconds => page.headers.push(("Retry-After", seconds.to_string())),
            RetryAfter::Date => {
                // Dates have whole seconds: one more, or the date would lie before the end.
                let until = ask.now.plus(left + Duration::from_millis(999));
                page.headers.push(("Retry-After", http_date(until)));
            }
        }
        Some(page)
    }

    fn hurried_page(self, ask: &Ask<'_>, target: &Target) -> Option<Page> {
        let least = self.spec.faults.hurried?;
        let early = ask.since_last.is_some_and(|since| since < least);
        (early && *target != Target::Robots).then(|| {
            let mut page = self.html(429, self.error_page(429, ask.target));
            let seconds = least.as_millis().div_ceil(1000);
            page.headers.push(("Retry-After", seconds.to_string()));
            page
        })
    }

    fn error(self, ask: &Ask<'_>, target: &Target) -> Option<Page> {
        let faults = &self.spec.faults;
        let lot = self.lot(ask);
        let hit = lot >= u64::from(faults.closed) && lot < u64::from(faults.closed + faults.errors);
        (hit && *target != Target::Robots).then(|| {
            let status = if lot.is_multiple_of(2) { 500 } else { 503 };
            self.html(status, self.error_page(status, ask.target))
        })
    }

    fn page(self, target: &Target, ask: &Ask<'_>) -> Page {
        let at = ask.target;
        match target {
            Target::Document { number, .. } if self.is_gone(*number) => {
                self.html(410, self.error_page(410, at))
            }
            Target::Document { number, print, session } => {
                let text = self.document_page(*number, *print, session.as_deref(), at);
                let mut page = self.html(200, text);
                let said = self.spec.no_vary_search.map(str::to_owned);
                page.headers.extend(said.map(|said| ("No-Vary-Search", said)));
                page
            }
            Target::Private(number) => {
                self.html(200, self.plain_page("Note", &format!("Note {number}."), &[], at))
            }
            Target::Robots => self.robots(ask.elapsed),
            Target::Sitemap(part) => self.sitemap(*part),
            Target::Style => page(200, "text/css", self.style_sheet().into()),
            Target::Image(_) => page(200, "image/png", Bytes::from_static(PIXEL)),
            Target::Paper(number) => page(200, "application/pdf", self.paper(*number)),
            Target::Huge => self.html(200, self.huge_page()),
            Target::Redirect { status, to } => {
                let mut page = self
                    .html(*status, format!("<a href=\"{}\">moved</a>\n", to.replace('&', "&amp;")));
                page.headers.push(("Location", to.clone()));
                page
            }
            Target::Feed => page(200, "application/rss+xml", self.feed().into()),
            Target::Quiet(quiet) => {
                let mut page = self.html(200, self.quiet_page(*quiet, at));
                if *quiet == Quiet::Header {
                    page.headers.push(("X-Robots-Tag", "nofollow".to_owned()));
                }
                page
            }
            Target::Calendar(months) => self.html(200, self.calendar_page(*months, at)),
            Target::Growing(_) => self.html(200, self.growing_page(at)),
            Target::SessionPath { id, number } => {
                self.html(200, self.session_page(id, *number, at))
            }
            Target::Facets(choice) => self.html(200, self.facets_page(*choice, at)),
            Target::Edited(number) => self.html(200, self.edited_page(*number, at)),
            Target::Sorted(list, order) => self.html(200, self.sorted_page(*list, order, at)),
            Target::Browsed(page) => self.html(200, self.repository_page(*page, at)),
            Target::Board(shown) => self.html(200, self.board_page(shown, at)),
            Target::Unknown => {
                let status = if self.spec.traps.soft_404 { 200 } else { 404 };
                self.html(status, self.error_page(status, at))
            }
        }
    }

    /// Adds what depends on the request: entity tag, coding, date, faults.
    fn finish(self, page: &mut Page, ask: &Ask<'_>, target: &Target) {
        let fate = hash(mix(self.seed, 13), ask.target);
        let tagged = match target {
            Target::Document { .. } => fate.is_multiple_of(2),
            other => *other == Target::Robots,
        };
        if page.status == 200 && tagged {
            let tag = format!("\"{:016x}\"", hash_bytes(0, &page.body));
            if ask.if_none_match == Some(tag.as_str()) {
                page.status = 304;
                (page.payload, page.body) = (Bytes::new(), Bytes::new());
            }
            page.headers.push(("ETag", tag));
            let changed = Timestamp::from_millis(1_700_000_000_000 + fate % 50_000_000_000);
            page.headers.push(("Last-Modified", http_date(changed)));
        }
        if self.spec.gzip && ask.gzip && page.body.len() > 200 && coded(target) {
            page.payload = gzip(&page.body);
            page.headers.push(("Content-Encoding", "gzip".to_owned()));
            page.headers.push(("Vary", "Accept-Encoding".to_owned()));
        }
        page.chunked = self.spec.chunked && page.status == 200;
        let faults = &self.spec.faults;
        let before = u64::from(faults.closed + faults.errors);
        let lot = self.lot(ask);
        let hit = lot >= before && lot < before + u64::from(faults.truncated);
        if hit && *target != Target::Robots && page.payload.len() > 1 {
            page.cut = Some(page.payload.len() / 2);
        }
        page.headers.push(("Date", http_date(ask.now)));
        page.headers.push(("Server", "synthetic".to_owned()));
    }

    fn robots(self, elapsed: Duration) -> Page {
        match self.spec.robots_at(elapsed) {
            RobotsAnswer::Text(text) => {
                let mut text = text.clone();
                if let Some(path) = self.sitemap_path() {
                    let origin = self.web.origin(&self.spec.name);
                    let _ = write!(text, "\nSitemap: {origin}{path}\n");
                }
                page(200, "text/plain", text.into())
            }
            RobotsAnswer::Status(status) => page(*status, "text/plain", Bytes::new()),
            RobotsAnswer::Redirect(to) => {
                let mut page = page(301, "text/plain", Bytes::new());
                page.headers.push(("Location", to.clone()));
                page
            }
        }
    }

    fn sitemap_path(self) -> Option<&'static str> {
        match self.spec.sitemap {
            Sitemap::None => None,
            Sitemap::Plain => Some("/sitemap.xml"),
            Sitemap::Gzip => Some("/sitemap.xml.gz"),
        }
    }

    fn sitemap(self, part: Option<u32>) -> Page {
        let origin = self.web.origin(&self.spec.name);
        let files = self.listed().div_ceil(SITEMAP_URLS);
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let space = "xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"";
        if part.is_none() && files > 1 {
            let _ = writeln!(xml, "<sitemapindex {space}>");
            let ending = if self.spec.sitemap == Sitemap::Gzip { ".xml.gz" } else { ".xml" };
            for file in 0..files {
                let _ =
                    writeln!(xml, "<sitemap><loc>{origin}/sitemap-{file}{ending}</loc></sitemap>");
            }
            xml.push_str("</sitemapindex>\n");
        } else {
            let first = part.unwrap_or(0).saturating_mul(SITEMAP_URLS);
            let _ = writeln!(xml, "<urlset {space}>");
            for number in first..first.saturating_add(SITEMAP_URLS).min(self.listed()) {
                let path = self.canonical(number).replace('&', "&amp;");
                let _ = writeln!(xml, "<url><loc>{origin}{path}</loc></url>");
            }
            xml.push_str("</urlset>\n");
        }
        match self.spec.sitemap {
            // The file itself is compressed; that is not a content coding.
            Sitemap::Gzip => page(200, "application/gzip", gzip(xml.as_bytes())),
            Sitemap::None | Sitemap::Plain => page(200, "application/xml", xml.into()),
        }
    }

    fn paper(self, number: u32) -> Bytes {
        let text = self.main_text(number);
        format!("%PDF-1.4\n% {}\n%%EOF\n", text.replace('\n', " ")).into()
    }
}

/// Returns true where a server would compress.
fn coded(target: &Target) -> bool {
    !matches!(target, Target::Image(_) | Target::Paper(_) | Target::Sitemap(_))
}

fn gzip(body: &[u8]) -> Bytes {
    // The default header has no time in it, so equal bodies give equal bytes.
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::fast());
    let written = encoder.write_all(body).and_then(|()| encoder.finish());
    written.expect("a vector accepts every write").into()
}

fn http_date(at: Timestamp) -> String {
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_millis(at.as_millis()))
}

/// A whole PNG: one white pixel.
const PIXEL: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 0, 0, 0, 0, 0x3a, 0x7e, 0x9b, 0x55, 0, 0, 0, 10, b'I', b'D', b'A', b'T',
    0x78, 0x9c, 0x63, 0xf8, 0x0f, 0, 1, 1, 1, 0, 0xb1, 0x38, 0xf6, 0x14, 0, 0, 0, 0, b'I', b'E',
    b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];
