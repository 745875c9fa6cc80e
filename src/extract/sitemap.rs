//! Sitemaps, sitemap indexes (sitemaps.org 0.9, as XML or text, gzip or not), RSS and Atom.
//!
//! Lenient: namespaces, misnested tags and such as are not closed do not matter, and what is whole
//! before a document breaks off counts. Entities of a document's own are never expanded, and
//! nothing outside the document is ever read, so neither expansion bombs nor external entities
//! exist here; a compressed body is read up to a bound and counts as broken off there.

use std::borrow::Cow;
use std::io::Read;

use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};
use xxhash_rust::xxh3::xxh3_64;

use super::charset::decode;
use super::facts::{DocumentKind, SitemapEntry};
use super::settings::Settings;
use crate::url::CrawlUrl;

/// Bytes kept of one field.
const FIELD_MAX: usize = 8 * 1024;

/// A list of URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sitemap {
    /// `Sitemap`, `SitemapIndex`, `SitemapText` or `Feed`.
    pub kind: DocumentKind,
    /// The encoding it was decoded by.
    pub charset: &'static str,
    /// The entries that are whole, in order.
    pub entries: Vec<SitemapEntry>,
    /// True if there are more entries than were kept.
    pub truncated_entries: bool,
    /// How many more.
    pub dropped: u32,
    /// True if the body is longer than what was read.
    pub truncated_body: bool,
    /// Where the document is broken, if it is.
    pub problem: Option<String>,
}

/// Why a body is no list of URLs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SitemapError {
    /// Neither XML of a known kind nor lines with URLs.
    #[error("neither a sitemap nor a feed nor a list of URLs")]
    Unknown,
    /// XML that breaks off before its first entry.
    #[error("broken before its first entry: {0}")]
    Broken(String),
}

/// Reads a sitemap or feed that was found at `url`.
///
/// # Errors
/// Returns why the body is no list of URLs.
pub fn sitemap(
    url: &CrawlUrl,
    content_type: Option<&str>,
    body: &[u8],
    settings: &Settings,
) -> Result<Sitemap, SitemapError> {
    let (body, truncated_body) = unpack(body, settings.sitemap_max.as_len());
    let guess_max = settings.charset_guess_max.as_len();
    let (text, encoding, _) = decode(&body, content_type, None, guess_max);
    let mut list = List {
        url,
        settings,
        found: Sitemap {
            kind: DocumentKind::SitemapText,
            charset: encoding.name(),
            entries: Vec::new(),
            truncated_entries: false,
            dropped: 0,
            truncated_body,
            problem: None,
        },
        room: settings.link_bytes_max.as_len(),
    };
    let text = text.trim_start();
    if text.starts_with('<') {
        read_xml(text, &mut list)?;
    } else {
        read_lines(text, &mut list)?;
    }
    Ok(list.found)
}

/// Decompresses a body that begins like gzip, up to `max` bytes; what is broken ends it.
fn unpack(body: &[u8], max: usize) -> (Cow<'_, [u8]>, bool) {
    if !body.starts_with(&[0x1F, 0x8B]) {
        return (Cow::Borrowed(&body[..body.len().min(max)]), body.len() > max);
    }
    let mut plain = Vec::new();
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    // An error leaves in `plain` what came before it.
    let broken = flate2::read::MultiGzDecoder::new(body).take(limit).read_to_end(&mut plain);
    let too_long = plain.len() > max;
    plain.truncate(max);
    (Cow::Owned(plain), too_long || broken.is_err())
}

/// The entries so far.
struct List<'a> {
    url: &'a CrawlUrl,
    settings: &'a Settings,
    found: Sitemap,
    /// Bytes of the URLs that there is room for.
    room: usize,
}

impl List<'_> {
    /// Adds an entry, if its location is a URL that can be crawled.
    fn add(&mut self, draft: Draft) {
        let loc = draft.loc.trim();
        if loc.is_empty() || loc.len() > self.settings.url_length_max.saturating_mul(4) {
            return;
        }
        if self.found.entries.len() >= self.settings.sitemap_entries_max || self.room == 0 {
            self.found.truncated_entries = true;
            self.found.dropped = self.found.dropped.saturating_add(1);
            return;
        }
        let Ok(url) = draft.base.as_ref().unwrap_or(self.url).join(loc) else { return };
        if url.as_str().len() > self.settings.url_length_max {
            return;
        }
        self.room = self.room.saturating_sub(url.as_str().len());
        let filled = |text: String| {
            let text = text.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let loc = loc.to_owned();
        let (lastmod, changefreq) = (filled(draft.lastmod), filled(draft.changefreq));
        self.found.entries.push(SitemapEntry { url, loc, lastmod, changefreq });
    }
}

/// One URL per line; other lines are passed over.
fn read_lines(text: &str, list: &mut List<'_>) -> Result<(), SitemapError> {
    for line in text.lines().map(str::trim) {
        let scheme = line.split_once("://").map(|(scheme, _)| scheme);
        if scheme.is_some_and(|s| s.eq_ignore_ascii_case("http") || s.eq_ignore_ascii_case("https"))
            && !line.contains(char::is_whitespace)
        {
            list.add(Draft { loc: line.to_owned(), ..Draft::default() });
        }
    }
    if list.found.entries.is_empty() { Err(SitemapError::Unknown) } else { Ok(()) }
}

/// An entry that is being read.
#[derive(Default)]
struct Draft {
    loc: String,
    /// What `loc` is relative to, where the document says so.
    base: Option<CrawlUrl>,
    /// Stands for `loc` in RSS, where items may lack a link.
    guid: String,
    lastmod: String,
    changefreq: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Field {
    Loc,
    Guid,
    Lastmod,
    Changefreq,
}

/// Open elements that are told apart; of those nested deeper only the number is known.
const DEPTH_MAX: usize = 64;

/// An open element.
struct Open {
    /// Hash of its name without prefix.
    name: u64,
    /// What references in it are relative to, where it or one around it says so.
    base: Option<CrawlUrl>,
}

/// A walk over the events of a document.
struct Walk<'l, 'a> {
    list: &'l mut List<'a>,
    kind: Option<DocumentKind>,
    /// The open elements, outermost first.
    open: Vec<Open>,
    /// How many more are open, nested deeper.
    beyond: usize,
    /// The entry that is open and the depth of its element.
    entry: Option<(usize, Draft)>,
    field: Option<Field>,
}

fn read_xml(text: &str, list: &mut List<'_>) -> Result<(), SitemapError> {
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    let mut walk = Walk { list, kind: None, open: Vec::new(), beyond: 0, entry: None, field: None };
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => walk.start(&tag, false)?,
            Ok(Event::Empty(tag)) => walk.start(&tag, true)?,
            Ok(Event::End(tag)) => walk.end(local(tag.name().as_ref())),
            Ok(Event::Text(text)) => walk.text(&text),
            Ok(Event::CData(text)) => walk.text(&text),
            Ok(Event::GeneralRef(reference)) => walk.reference(&reference),
            Ok(Event::Eof) => break,
            Ok(_) => {}
            Err(error) => {
                // An entry that breaks off is dropped, like elsewhere; but where that happens in
                // the end tag of its location, all that is needed has come.
                if walk.field == Some(Field::Loc) {
                    walk.end_entry();
                }
                walk.list.found.problem = Some(error.to_string());
                break;
            }
        }
    }
    let kind = walk.kind;
    match (kind, &list.found.problem) {
        (None, Some(problem)) => Err(SitemapError::Broken(problem.clone())),
        (None, None) => Err(SitemapError::Unknown),
        (Some(_), Some(problem)) if list.found.entries.is_empty() => {
            Err(SitemapError::Broken(problem.clone()))
        }
        (Some(kind), _) => {
            list.found.kind = kind;
            Ok(())
        }
    }
}

/// Returns a name without its namespace prefix.
fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

impl Walk<'_, '_> {
    fn start(&mut self, tag: &BytesStart<'_>, is_empty: bool) -> Result<(), SitemapError> {
        let name = tag.name();
        let name = local(name.as_ref());
        if self.kind.is_none() {
            self.kind = Some(kind_of_root(name).ok_or(SitemapError::Unknown)?);
        }
        self.field = None;
        if begins_entry(name) && self.may_begin(name) {
            self.begin_entry(name, tag);
        } else {
            self.push(name, tag);
            self.begin_field(name, tag);
        }
        if is_empty {
            self.end(name);
        }
        Ok(())
    }

    fn begin_entry(&mut self, name: &str, tag: &BytesStart<'_>) {
        if let Some((depth, _)) = &self.entry {
            self.open.truncate(depth - 1);
        }
        self.end_entry();
        // What is still open out there was never closed: the entry itself must have room.
        self.open.truncate(DEPTH_MAX / 2);
        self.beyond = 0;
        self.push(name, tag);
        self.entry = Some((self.open.len(), Draft::default()));
    }

    /// Begins a field, if the element just opened lies directly in an entry and is one.
    fn begin_field(&mut self, name: &str, tag: &BytesStart<'_>) {
        let (depth, in_feed) = (self.open.len() + self.beyond, self.in_feed());
        let Some((entry_depth, draft)) = &mut self.entry else {
            self.lead_on(name, tag);
            return;
        };
        if depth != *entry_depth + 1 {
            return;
        }
        self.field = field_of(name, draft, in_feed).filter(|field| {
            *field != Field::Guid || attribute(tag, "isPermaLink").is_none_or(|is| is != "false")
        });
        if self.field != Some(Field::Loc) {
            return;
        }
        draft.base = self.open.last().and_then(|open| open.base.clone());
        if in_feed && let Some(href) = alternate_href(tag) {
            draft.loc = href;
            self.field = None;
        }
    }

    /// Takes the link of a feed to its next page, or to what was archived before (RFC 5005 §3, §4).
    fn lead_on(&mut self, name: &str, tag: &BytesStart<'_>) {
        let is_link = self.in_feed() && name.eq_ignore_ascii_case("link");
        let rel = is_link.then(|| attribute(tag, "rel")).flatten().unwrap_or_default();
        let leads_on =
            ["next", "prev-archive"].iter().any(|on| rel.trim().eq_ignore_ascii_case(on));
        let href = leads_on.then(|| attribute(tag, "href")).flatten();
        if let Some(loc) = href.filter(|href| href.len() <= FIELD_MAX) {
            let base = self.open.last().and_then(|open| open.base.clone());
            self.list.add(Draft { loc, base, ..Draft::default() });
        }
    }

    fn push(&mut self, name: &str, tag: &BytesStart<'_>) {
        if self.open.len() == DEPTH_MAX {
            self.beyond += 1;
            return;
        }
        let outer = self.open.last().and_then(|open| open.base.clone());
        // RFC 4287 §2.
        let base = match attribute(tag, "xml:base").filter(|base| base.len() <= FIELD_MAX) {
            Some(base) => outer.as_ref().unwrap_or(self.list.url).join(&base).ok().or(outer),
            None => outer,
        };
        self.open.push(Open { name: xxh3_64(name.as_bytes()), base });
    }

    fn in_feed(&self) -> bool {
        self.kind == Some(DocumentKind::Feed)
    }

    /// An entry within an entry is one that lacks its end tag, unless it is the field of another
    /// vocabulary that has the same name.
    fn may_begin(&self, name: &str) -> bool {
        self.in_feed() == matches!(name, "item" | "entry")
    }

    /// Closes an element with all that was left open in it. An end tag that closes nothing in the
    /// open entry closes nothing.
    fn end(&mut self, name: &str) {
        self.field = None;
        let name = xxh3_64(name.as_bytes());
        let floor = self.entry.as_ref().map_or(0, |(depth, _)| depth - 1);
        match self.open[floor..].iter().rposition(|open| open.name == name) {
            Some(at) => {
                self.open.truncate(floor + at);
                self.beyond = 0;
                if at == 0 {
                    self.end_entry();
                }
            }
            None => self.beyond = self.beyond.saturating_sub(1),
        }
    }

    fn end_entry(&mut self) {
        self.field = None;
        if let Some((_, mut draft)) = self.entry.take() {
            let is_url = |text: &str| CrawlUrl::parse(text.trim()).is_ok();
            if draft.loc.trim().is_empty() && is_url(&draft.guid) {
                draft.loc = std::mem::take(&mut draft.guid);
            }
            self.list.add(draft);
        }
    }

    fn open_field(&mut self) -> Option<&mut String> {
        let draft = &mut self.entry.as_mut()?.1;
        Some(match self.field? {
            Field::Loc => &mut draft.loc,
            Field::Guid => &mut draft.guid,
            Field::Lastmod => &mut draft.lastmod,
            Field::Changefreq => &mut draft.changefreq,
        })
    }

    fn text(&mut self, text: &str) {
        if let Some(field) = self.open_field().filter(|f| f.len() + text.len() <= FIELD_MAX) {
            field.push_str(text);
        }
    }

    /// Adds a character reference, or one of the entities that XML itself and HTML have; an entity
    /// of the document's own is left as written.
    fn reference(&mut self, reference: &BytesRef<'_>) {
        let written = format!("&{};", &**reference);
        self.text(&htmlize::unescape_attribute(written.as_str()));
    }
}

fn kind_of_root(name: &str) -> Option<DocumentKind> {
    match name.to_ascii_lowercase().as_str() {
        "urlset" | "url" => Some(DocumentKind::Sitemap),
        "sitemapindex" | "sitemap" => Some(DocumentKind::SitemapIndex),
        "rss" | "rdf" | "channel" | "feed" => Some(DocumentKind::Feed),
        _ => None,
    }
}

fn begins_entry(name: &str) -> bool {
    matches!(name, "url" | "sitemap" | "item" | "entry")
}

/// Returns the field that an element inside an entry fills. The first of a kind counts.
fn field_of(name: &str, draft: &Draft, in_feed: bool) -> Option<Field> {
    let (field, filled) = match name.to_ascii_lowercase().as_str() {
        "loc" => (Field::Loc, &draft.loc),
        // In a sitemap it is a language version of the page that `loc` names.
        "link" if in_feed => (Field::Loc, &draft.loc),
        "guid" if in_feed => (Field::Guid, &draft.guid),
        "lastmod" | "pubdate" | "date" | "updated" | "modified" => (Field::Lastmod, &draft.lastmod),
        "changefreq" => (Field::Changefreq, &draft.changefreq),
        _ => return None,
    };
    filled.trim().is_empty().then_some(field)
}

/// Returns the value of an attribute.
fn attribute(tag: &BytesStart<'_>, name: &str) -> Option<String> {
    let mut attributes = tag.html_attributes();
    let mut attributes = attributes.with_checks(false).flatten();
    let found = attributes.find(|attribute| attribute.key.as_ref() == name)?;
    Some(htmlize::unescape_attribute(&*found.value).into_owned())
}

/// Returns the target of a link of Atom, if it is the entry itself.
fn alternate_href(tag: &BytesStart<'_>) -> Option<String> {
    let mut href = None;
    for attribute in tag.html_attributes().with_checks(false).flatten() {
        let value = htmlize::unescape_attribute(&*attribute.value);
        match local(attribute.key.as_ref()) {
            "href" => href = Some(value.into_owned()),
            "rel" if !value.trim().eq_ignore_ascii_case("alternate") => return None,
            _ => {}
        }
    }
    href.filter(|href| href.len() <= FIELD_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &[u8]) -> Result<Sitemap, SitemapError> {
        let url = CrawlUrl::parse("http://e.org/dir/sitemap.xml").unwrap();
        sitemap(&url, None, body, &Settings::default())
    }

    /// Compares the locations as written.
    #[track_caller]
    fn check(body: &str, want: &[&str]) {
        let found = read(body.as_bytes()).map(|s| s.entries).unwrap_or_default();
        let found: Vec<_> = found.iter().map(|entry| &entry.loc[..]).collect();
        assert_eq!(found, want, "{body}");
    }

    #[test]
    fn locations_are_found_under_any_namespace_and_in_bad_order() {
        check("<urlset><url><loc> http://e.org/a\n</loc></url></urlset>", &["http://e.org/a"]);
        check(
            "<s:urlset xmlns:s='x'><s:url><s:loc>http://e.org/a</s:loc></s:url></s:urlset>",
            &["http://e.org/a"],
        );
        check(
            "<urlset><url><loc>http://e.org/a<lastmod>x</url><url><loc>http://e.org/b</loc>",
            &["http://e.org/a"],
        );
        check("<urlset><url><lastmod>x</lastmod><loc>/b</loc></url></urlset>", &["/b"]);
    }

    #[test]
    fn extensions_are_no_entries() {
        check(
            "<urlset><url><loc>http://e.org/a</loc><image:image><image:loc>http://e.org/i\
             </image:loc></image:image><xhtml:link rel='alternate' href='http://e.org/de'/>\
             <video:video><video:url>x</video:url></video:video></url></urlset>",
            &["http://e.org/a"],
        );
    }

    /// The language versions of a page took its place where they stand before it.
    #[test]
    fn what_stands_beside_a_location_is_none() {
        check(
            "<urlset><url><xhtml:link rel='alternate' hreflang='de' href='http://e.org/de'/>\
             <xhtml:link>http://e.org/no</xhtml:link><loc>http://e.org/a</loc></url></urlset>",
            &["http://e.org/a"],
        );
        let body = b"<urlset><url><guid>http://e.org/no</guid></url></urlset>";
        assert_eq!(read(body).unwrap().entries, []);
    }

    /// RFC 4287 §2: the base of a reference is that of the element it stands in.
    #[test]
    fn entries_of_a_feed_are_resolved_against_their_base() {
        let body = b"<feed xml:base='/blog/'><entry><link href='a'/></entry>\
            <entry xml:base='2024/'><link href='b'/></entry>\
            <entry><link xml:base='http://x.org/y/' href='c'/></entry>\
            <entry><link href='d'/></entry></feed>";
        let entries = read(body).unwrap().entries;
        let urls: Vec<_> = entries.iter().map(|entry| entry.url.as_str()).collect();
        let of = ["blog/a", "blog/2024/b"].map(|path| format!("http://e.org/{path}"));
        assert_eq!(urls, [&of[0], &of[1], "http://x.org/y/c", "http://e.org/blog/d"]);
    }

    /// RFC 5005: of a feed in pages the first alone was read.
    #[test]
    fn a_feed_leads_to_its_next_page() {
        check(
            "<feed><link rel='self' href='/1'/><link rel='next' href='/2'/><link rel='last' \
             href='/9'/><entry><link href='/a'/><link rel='next' href='/b'/></entry></feed>",
            &["/2", "/a"],
        );
        check(
            "<rss><channel><atom:link rel='prev-archive' href='http://e.org/old'/><item>\
             <link>http://e.org/a</link></item></channel></rss>",
            &["http://e.org/old", "http://e.org/a"],
        );
        check("<urlset><link rel='next' href='/2'/><url><loc>/a</loc></url></urlset>", &["/a"]);
    }

    /// RSS 2.0: a guid is a URL unless it says that it is none.
    #[test]
    fn a_guid_that_is_no_link_is_none() {
        check(
            "<rss><channel><item><guid isPermaLink='false'>http://e.org/a</guid></item>\
             <item><guid isPermaLink=\"true\">http://e.org/b</guid></item></channel></rss>",
            &["http://e.org/b"],
        );
    }

    /// The depth was counted by start and end tags, of which HTML need not have as many.
    #[test]
    fn tags_that_are_not_closed_hide_no_field() {
        check(
            "<rss><channel><item><description>one<br>two<p>three</description>\
             <link>http://e.org/a</link></item><item><title>t</b></title>\
             <link>http://e.org/b</link></item></channel></rss>",
            &["http://e.org/a", "http://e.org/b"],
        );
        check(
            "<urlset><url><x><y><loc>http://e.org/no</loc></x><loc>http://e.org/a</loc></url>",
            &["http://e.org/a"],
        );
    }

    #[test]
    fn dates_and_frequencies_are_kept_as_written() {
        let body = b"<urlset><url><loc>http://e.org/</loc><lastmod> 2024-01-01 </lastmod>\
            <changefreq>daily</changefreq></url></urlset>";
        let entry = read(body).unwrap().entries.remove(0);
        assert_eq!(entry.lastmod.as_deref(), Some("2024-01-01"));
        assert_eq!(entry.changefreq.as_deref(), Some("daily"));
    }

    #[test]
    fn feeds_give_the_links_of_their_items() {
        check(
            "<rss><channel><link>http://e.org/</link><item><link>http://e.org/a?b&amp;c</link>\
             <guid>http://e.org/g</guid></item><item><guid>http://e.org/h</guid></item>\
             <item><guid>17</guid></item><item><link>http://e.org/<![CDATA[?x&y]]></link></item>",
            &["http://e.org/a?b&c", "http://e.org/h", "http://e.org/?x&y"],
        );
        check(
            "<feed><link href='http://e.org/'/><entry><link rel='self' href='/s'/><link \
             rel='alternate' href='/a'/><link href='/b'/><source><link href='/c'/></source>\
             </entry></feed>",
            &["/a"],
        );
        check(
            "<rdf:RDF><channel><items><rdf:li resource='x'/></items></channel><item \
             rdf:about='x'><link>http://e.org/a</link></item></rdf:RDF>",
            &["http://e.org/a"],
        );
    }

    #[test]
    fn text_lists_one_url_a_line_and_other_lines_are_passed_over() {
        check(
            "\u{feff}http://e.org/a\r\n# no\nftp://e.org/\n HTTPS://e.org/b \n/c",
            &["http://e.org/a", "HTTPS://e.org/b"],
        );
        assert_eq!(read(b"no list").unwrap_err(), SitemapError::Unknown);
        assert_eq!(read(b"<html><url>x</url></html>").unwrap_err(), SitemapError::Unknown);
        assert_eq!(read(b"").unwrap_err(), SitemapError::Unknown);
    }

    #[test]
    fn what_is_whole_before_the_end_counts() {
        check(
            "<urlset><url><loc>http://e.org/a</loc></url><url><loc>http://e.org/b",
            &["http://e.org/a"],
        );
        check("<urlset><url><loc>http://e.org/a</lo", &["http://e.org/a"]);
        check("<urlset><url><loc>http://e.org/a</loc><news:na", &[]);
        assert!(matches!(read(b"<urlset><url").unwrap_err(), SitemapError::Broken(_)));
    }

    #[test]
    fn gzip_is_seen_by_its_first_bytes_and_bounded() {
        use std::io::Write;
        let pack = |plain: &[u8]| {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            packer.write_all(plain).unwrap();
            packer.finish().unwrap()
        };
        let entry = b"<urlset><url><loc>http://e.org/a</loc></url>".to_vec();
        let packed = pack(&entry);
        assert_eq!(read(&packed).unwrap().entries.len(), 1);
        assert!(read(&packed[..packed.len() - 6]).unwrap().truncated_body);

        let bomb = pack(&[&entry[..], &vec![b' '; 3 << 20]].concat());
        let settings =
            Settings { sitemap_max: crate::clock::ByteSize::mib(1), ..Settings::default() };
        let url = CrawlUrl::parse("http://e.org/s").unwrap();
        let found = sitemap(&url, None, &bomb, &settings).unwrap();
        assert_eq!((found.entries.len(), found.truncated_body), (1, true));
    }

    #[test]
    fn entities_of_the_document_are_not_expanded() {
        check(
            "<!DOCTYPE urlset [<!ENTITY e SYSTEM 'file:///etc/passwd'><!ENTITY a 'aaaa'>\
             <!ENTITY b '&a;&a;'>]><urlset><url><loc>http://e.org/&e;&copy2;&eacute;&#x41;</loc>\
             </url></urlset>",
            &["http://e.org/&e;&copy2;éA"],
        );
    }

    #[test]
    fn entries_are_bounded() {
        let url = CrawlUrl::parse("http://e.org/s").unwrap();
        let settings = Settings { sitemap_entries_max: 2, ..Settings::default() };
        let found = sitemap(&url, None, b"http://a/\nhttp://b/\nhttp://c/", &settings).unwrap();
        assert_eq!((found.entries.len(), found.truncated_entries), (2, true));
    }

    /// Short entries under a long `xml:base` were as many long URLs: a gigabyte of them.
    #[test]
    fn the_urls_of_entries_have_a_bound_in_bytes() {
        let entries: String =
            (100..110).map(|n| format!("<entry><link href='{n}'/></entry>")).collect();
        let base = format!("http://e.org/{}/", "x".repeat(985));
        let feed =
            format!("<feed xmlns='http://www.w3.org/2005/Atom' xml:base='{base}'>{entries}</feed>");
        let url = CrawlUrl::parse("http://e.org/s").unwrap();
        let settings =
            Settings { link_bytes_max: crate::clock::ByteSize::kib(2), ..Settings::default() };
        let found = sitemap(&url, None, feed.as_bytes(), &settings).unwrap();
        assert_eq!((found.entries.len(), found.dropped), (3, 7));
        assert!(found.truncated_entries);
    }
}
