//! The gates themselves.

use std::sync::Arc;

use crate::url::CrawlUrl;

use super::candidate::{Candidate, Directives, Found, Usage};
use super::canonize::{Canonize, Canonized};
use super::pattern::{PatternError, Patterns};
use super::reason::{Limit, Reason, Verdict};
use super::scope::SeedScope;
use super::settings::{Duplicates, Embeds, Settings};
use super::shape;

/// Why settings make no filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// An entry of a list is no pattern.
    #[error("read a pattern: {0}")]
    Pattern(#[from] PatternError),
    /// A status or a content type that nothing can match.
    #[error("read `{key}`: `{text}` is no {what}")]
    Entry {
        /// The settings key.
        key: &'static str,
        /// The entry.
        text: String,
        /// What it should be, with examples.
        what: &'static str,
    },
}

/// Five gates under one set of settings and seeds; immutable and cheap to clone.
#[derive(Clone, Debug)]
pub struct Filter {
    settings: Arc<Settings>,
    scope: SeedScope,
    include: Arc<Patterns>,
    exclude: Arc<Patterns>,
    only: Arc<Patterns>,
}

impl Filter {
    /// Makes a filter.
    ///
    /// # Errors
    /// Returns the first entry of the settings that cannot be read, by key and number.
    pub fn new(settings: &Settings, seeds: &[CrawlUrl]) -> Result<Self, FilterError> {
        check_entries(settings)?;
        Ok(Filter {
            settings: Arc::new(settings.clone()),
            scope: SeedScope::new(settings.scope, seeds),
            include: Arc::new(Patterns::new("include", &settings.include)?),
            exclude: Arc::new(Patterns::new("exclude", &settings.exclude)?),
            only: Arc::new(Patterns::new("only", &settings.only)?),
        })
    }

    /// Returns this filter with one more pattern in `exclude`; one that is there already adds
    /// nothing.
    ///
    /// # Errors
    /// Returns why the text is no pattern.
    pub fn with_exclude(&self, pattern: &str) -> Result<Self, FilterError> {
        let mut settings = Settings::clone(&self.settings);
        if !settings.exclude.iter().any(|known| known == pattern) {
            settings.exclude.push(pattern.to_owned());
        }
        let exclude = Arc::new(Patterns::new("exclude", &settings.exclude)?);
        Ok(Filter { settings: Arc::new(settings), exclude, ..self.clone() })
    }

    /// Returns this filter without a pattern of `exclude`, or `None` if it has no such entry.
    pub fn without_exclude(&self, pattern: &str) -> Option<Self> {
        let mut settings = Settings::clone(&self.settings);
        let before = settings.exclude.len();
        settings.exclude.retain(|known| known != pattern);
        if settings.exclude.len() == before {
            return None;
        }
        // Every remaining entry has been compiled before.
        let exclude = Arc::new(Patterns::new("exclude", &settings.exclude).ok()?);
        Some(Filter { settings: Arc::new(settings), exclude, ..self.clone() })
    }

    /// Returns this filter with settings that compile to nothing changed: budgets.
    pub fn with_budgets(&self, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings::clone(&self.settings);
        change(&mut settings);
        Filter { settings: Arc::new(settings), ..self.clone() }
    }

    /// Returns this filter with its scope grown by more seeds.
    pub fn with_seeds(&self, seeds: &[CrawlUrl]) -> Self {
        Filter { scope: self.scope.with(seeds), ..self.clone() }
    }

    /// Returns the settings, changes at run time included.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Takes one snapshot of the rules for all links of a page (I6).
    pub fn page<'f>(&'f self, rules: &'f dyn Canonize) -> PageGate<'f> {
        PageGate { filter: self, rules, version: rules.version() }
    }

    /// The schedule gate without rules: may this URL wait in the frontier?
    pub fn schedule(&self, candidate: &Candidate<'_>) -> Verdict {
        // Before the exclusions, so that what an exclusion refused may be judged again when it is
        // taken back: the ledger does not keep what the link said.
        if candidate.nofollow && self.settings.obey_link_nofollow && candidate.found != Found::Seed
        {
            return Verdict::no(Reason::LinkNofollow);
        }
        if let Some(pattern) = self.exclude.find(candidate.url) {
            return Verdict::no(Reason::Excluded(pattern));
        }
        if candidate.found == Found::Seed {
            let fault = shape::seed_fault(candidate.url, &self.settings);
            return fault.map_or_else(|| Verdict::yes(Reason::Seed), Verdict::no);
        }
        if let Some(fault) = shape::fault(candidate.url, &self.settings) {
            return Verdict::no(fault);
        }
        if let Some(limit) = shape::over(candidate.hops.into(), self.settings.hops_max.into()) {
            return Verdict::no(Reason::TooManyHops(limit));
        }
        if let Some(max) = candidate.hops_max.filter(|max| candidate.hops > *max) {
            let limit = Limit { found: candidate.hops.into(), max: max.into() };
            return Verdict::no(Reason::TooManyHops(limit));
        }
        let redirects_max = self.settings.redirects_max.into();
        if let Some(limit) = shape::over(candidate.redirects.into(), redirects_max) {
            return Verdict::no(Reason::TooManyRedirects(limit));
        }
        match candidate.found {
            Found::Embed => self.schedule_embed(candidate),
            Found::Redirect if candidate.embed_hops > 0 => self.schedule_embed(candidate),
            _ => self.schedule_page(candidate),
        }
    }

    fn schedule_page(&self, candidate: &Candidate<'_>) -> Verdict {
        let Candidate { url, found, .. } = *candidate;
        let from_seed = found == Found::Redirect && candidate.from_seed;
        // It is no page: its entries have to match what it need not.
        let sitemap = candidate.declared && self.scope.holds_part_of_host(url);
        let must_match = !self.only.is_empty() && !from_seed && !sitemap;
        if must_match && self.only.find(url).is_none() {
            return Verdict::no(Reason::NotInOnly);
        }
        if let Some(pattern) = self.include.find(url) {
            return Verdict::yes(Reason::Included(pattern));
        }
        if self.scope.holds(url) {
            return Verdict::yes(Reason::InScope);
        }
        if sitemap {
            return Verdict::yes(Reason::DeclaredSitemap);
        }
        if from_seed && self.settings.seed_redirects {
            return Verdict::yes(Reason::SeedRedirect);
        }
        Verdict::no(Reason::OutOfScope)
    }

    fn schedule_embed(&self, candidate: &Candidate<'_>) -> Verdict {
        let Candidate { url, via, embed_hops, .. } = *candidate;
        if let Some(limit) = shape::over(embed_hops.into(), self.settings.embed_hops_max.into()) {
            return Verdict::no(Reason::EmbedTooDeep(limit));
        }
        if let Some(pattern) = self.include.find(url) {
            return Verdict::yes(Reason::Included(pattern));
        }
        let near = |same: fn(&CrawlUrl, &CrawlUrl) -> bool| via.is_some_and(|via| same(via, url));
        let within = match self.settings.embeds {
            Embeds::Any => true,
            Embeds::Domain => near(|a, b| a.site() == b.site()) || self.scope.holds(url),
            Embeds::Host => near(|a, b| a.host_str() == b.host_str()) || self.scope.holds(url),
            Embeds::Scope => self.scope.holds(url),
            Embeds::None => false,
        };
        if within { Verdict::yes(Reason::Embed) } else { Verdict::no(Reason::EmbedOutOfScope) }
    }

    /// Returns the exclusion that refuses a URL, if one does.
    pub fn excludes(&self, url: &CrawlUrl) -> Option<Reason> {
        self.exclude.find(url).map(Reason::Excluded)
    }

    /// The fetch gate: may a waiting URL still be fetched? It knows exclusions made since the URL
    /// was scheduled, and the budgets.
    pub fn fetch(&self, url: &CrawlUrl, host: &Usage, total: &Usage) -> Verdict {
        if let Some(pattern) = self.exclude.find(url) {
            return Verdict::no(Reason::Excluded(pattern));
        }
        let settings = &self.settings;
        let refusal = spent(total.pages, settings.total_pages_max)
            .map(Reason::TotalPages)
            .or_else(|| spent(total.bytes, settings.total_bytes_max.get()).map(Reason::TotalBytes))
            .or_else(|| spent(host.pages, settings.host_pages_max).map(Reason::HostPages))
            .or_else(|| spent(host.bytes, settings.host_bytes_max.get()).map(Reason::HostBytes));
        refusal.map_or_else(|| Verdict::yes(Reason::WithinBudget), Verdict::no)
    }

    /// The archive gate: is an answer kept? `content_type` as the server wrote it, `length` of the
    /// body before decoding, in bytes.
    pub fn archive(
        &self,
        status: u16,
        content_type: Option<&str>,
        length: u64,
        directives: &Directives,
    ) -> Verdict {
        let settings = &self.settings;
        if !settings.archive_statuses.iter().any(|entry| status_matches(entry, status)) {
            return Verdict::no(Reason::StatusNotArchived(status.to_string().into()));
        }
        // RFC 9110 §8.3: without a type the content is nothing but octets.
        let essence = essence(content_type.unwrap_or("application/octet-stream"));
        if !settings.archive_types.iter().any(|entry| type_matches(entry, &essence)) {
            return Verdict::no(Reason::TypeNotArchived(essence.into()));
        }
        let max = settings.archive_bytes_max.get();
        if max != 0 && length > max {
            return Verdict::no(Reason::TooLongToArchive(Limit { found: length, max }));
        }
        if directives.noarchive && settings.obey_noarchive {
            return Verdict::no(Reason::Noarchive);
        }
        Verdict::yes(Reason::Archived)
    }

    /// The extract gate: are links looked for? A redirect always is, for its Location; `length` of
    /// the decoded body in bytes, which has no limit here where `is_list` says that it is a sitemap
    /// or a feed, of which as much is read as `extract.sitemap_max` allows.
    pub fn extract(
        &self,
        status: u16,
        content_type: Option<&str>,
        length: u64,
        is_list: bool,
    ) -> Verdict {
        let settings = &self.settings;
        if matches!(status, 300..=399) {
            return Verdict::yes(Reason::Extracted);
        }
        let error = status >= 400;
        if status < 200 || (error && !settings.extract_errors) {
            return Verdict::no(Reason::StatusNotExtracted(status.to_string().into()));
        }
        if length == 0 {
            return Verdict::no(Reason::EmptyBody);
        }
        let essence = content_type.map(essence).unwrap_or_default();
        let searched = essence.is_empty()
            || settings.extract_types.iter().any(|entry| type_matches(entry, &essence));
        if !searched {
            return Verdict::no(Reason::TypeNotExtracted(essence.into()));
        }
        let max = settings.extract_bytes_max.get();
        if max != 0 && length > max && !is_list {
            return Verdict::no(Reason::TooLongToExtract(Limit { found: length, max }));
        }
        Verdict::yes(Reason::Extracted)
    }

    /// The reasons for which [`Filter::follow`] refuses: all of them.
    pub const UNFOLLOWED: [Reason; 3] =
        [Reason::PageNofollow, Reason::SoftError, Reason::DuplicateContent];

    /// The follow gate: are the links of a page offered to the schedule gate?
    pub fn follow(&self, directives: &Directives) -> Verdict {
        let Directives { nofollow, duplicate, host_duplicates, audit, soft_error, .. } =
            *directives;
        if nofollow && self.settings.obey_page_nofollow {
            return Verdict::no(Reason::PageNofollow);
        }
        if soft_error {
            return Verdict::no(Reason::SoftError);
        }
        let stale = match self.settings.follow_duplicates {
            Duplicates::Always => false,
            // The links of what an audit speaks for are followed on no other page.
            Duplicates::Auto => duplicate && host_duplicates && !audit,
            Duplicates::Never => duplicate,
        };
        if stale { Verdict::no(Reason::DuplicateContent) } else { Verdict::yes(Reason::Followed) }
    }
}

/// The schedule gate for all links of one page: one filter, one version of the rules.
#[derive(Clone, Copy)]
pub struct PageGate<'f> {
    filter: &'f Filter,
    rules: &'f dyn Canonize,
    version: u64,
}

impl PageGate<'_> {
    /// Returns the version of the rules that every link of the page meets.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Judges a link as it was found, and canonizes it if it is accepted.
    pub fn schedule<'u>(&self, candidate: &Candidate<'u>) -> Scheduled<'u> {
        let verdict = self.filter.schedule(candidate);
        let canonized = verdict.accept.then(|| self.rules.canonize(candidate.url));
        Scheduled { verdict, canonized }
    }
}

/// What the schedule gate says about one link.
#[derive(Clone, Debug)]
pub struct Scheduled<'u> {
    /// The verdict on the URL as found, which is what would be fetched.
    pub verdict: Verdict,
    /// The canonical URL; none if the link was refused.
    pub canonized: Option<Canonized<'u>>,
}

/// Returns the limit if it is reached: what is spent leaves nothing for one more.
fn spent(found: u64, max: u64) -> Option<Limit> {
    (max != 0 && found >= max).then_some(Limit { found, max })
}

/// Returns the media type without parameters, in lower case.
fn essence(content_type: &str) -> String {
    let end = content_type.find([';', ',']).unwrap_or(content_type.len());
    content_type[..end].trim().to_ascii_lowercase()
}

fn type_matches(entry: &str, essence: &str) -> bool {
    match entry.strip_suffix('*') {
        Some(start) => {
            essence.len() >= start.len() && essence.is_char_boundary(start.len()) && {
                essence[..start.len()].eq_ignore_ascii_case(start)
            }
        }
        None => entry.eq_ignore_ascii_case(essence),
    }
}

fn status_matches(entry: &str, status: u16) -> bool {
    match entry.as_bytes() {
        b"*" => true,
        [class, b'x' | b'X', b'x' | b'X'] => u16::from(class - b'0') == status / 100,
        _ => entry.parse() == Ok(status),
    }
}

fn check_entries(settings: &Settings) -> Result<(), FilterError> {
    for text in &settings.archive_statuses {
        let fits = match text.as_bytes() {
            b"*" => true,
            [b'1'..=b'9', b'x' | b'X', b'x' | b'X'] => true,
            digits => digits.len() == 3 && digits.iter().all(u8::is_ascii_digit),
        };
        if !fits {
            let what = "status: write `200`, `4xx` or `*`";
            let key = "archive_statuses";
            return Err(FilterError::Entry { key, text: text.clone(), what });
        }
    }
    let lists =
        [("archive_types", &settings.archive_types), ("extract_types", &settings.extract_types)];
    for (key, list) in lists {
        for text in list {
            let stars = text.matches('*').count();
            let fits = text == "*"
                || (text.contains('/') && (stars == 0 || (stars == 1 && text.ends_with("/*"))));
            if !fits {
                let what = "content type: write `text/html`, `image/*` or `*`";
                return Err(FilterError::Entry { key, text: text.clone(), what });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::clock::ByteSize;
    use crate::filter::{NoRules, Scope};

    use super::*;

    const VIA: &str = "http://www.a.test/dir/page";

    fn url(text: &str) -> CrawlUrl {
        CrawlUrl::parse(text).unwrap()
    }

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn settings() -> Settings {
        Settings {
            include: texts(&["extra.test"]),
            exclude: texts(&["regex:/private/", "bad.test"]),
            hops_max: 5,
            url_length_max: 100,
            path_depth_max: 10,
            parameters_max: 4,
            host_pages_max: 10,
            host_bytes_max: ByteSize(1000),
            total_pages_max: 100,
            total_bytes_max: ByteSize(10_000),
            archive_types: texts(&["text/*", "image/png"]),
            archive_statuses: texts(&["2xx", "404"]),
            archive_bytes_max: ByteSize(500),
            extract_bytes_max: ByteSize(500),
            ..Settings::default()
        }
    }

    fn filter(settings: &Settings) -> Filter {
        Filter::new(settings, &[url("http://www.a.test/")]).unwrap()
    }

    /// Judges `to` as found on a page of the seed's host.
    fn scheduled(
        settings: &Settings,
        to: &str,
        change: impl Fn(&mut Candidate<'_>),
    ) -> &'static str {
        let (to, via) = (url(to), url(VIA));
        let mut candidate = Candidate::link(&to, &via, 1);
        change(&mut candidate);
        filter(settings).schedule(&candidate).code()
    }

    type Change = fn(&mut Candidate<'_>);

    const LINKS: &[(&str, Change, &str)] = &[
        ("http://www.a.test/x", |_| (), "in-scope"),
        ("http://b.test/x", |_| (), "out-of-scope"),
        ("http://extra.test/x", |_| (), "included"),
        ("http://www.a.test/private/x", |_| (), "excluded"),
        ("http://bad.test/", |link| link.found = Found::Seed, "excluded"),
        ("http://b.test/", |link| link.found = Found::Seed, "seed"),
        ("http://www.a.test/x", |link| link.nofollow = true, "link-nofollow"),
        ("http://www.a.test/x", |link| link.hops = 6, "too-many-hops"),
        ("http://www.a.test/x", |link| link.hops = 5, "in-scope"),
        ("http://www.a.test/1/2/3/4/5/6/7/8/9/10/11", |_| (), "path-too-deep"),
        ("http://www.a.test/a/b/a/c/a/d/a/", |_| (), "path-repeats"),
        ("http://www.a.test/?a&b&c&d&e", |_| (), "too-many-parameters"),
        ("http://cdn.test/x.png", |link| link.found = Found::Embed, "embed"),
        (
            "http://cdn.test/x.css",
            |link| (link.found, link.embed_hops) = (Found::Embed, 6),
            "embed-too-deep",
        ),
        (
            "http://b.test/",
            |link| (link.found, link.from_seed) = (Found::Redirect, true),
            "seed-redirect",
        ),
        ("http://b.test/", |link| link.found = Found::Redirect, "out-of-scope"),
        ("http://b.test/", |link| (link.found, link.embed_hops) = (Found::Redirect, 1), "embed"),
        ("http://www.a.test/x", |link| link.hops_max = Some(0), "too-many-hops"),
        ("http://www.a.test/x", |link| link.hops_max = Some(1), "in-scope"),
        ("http://www.a.test/", |link| link.found = Found::Manifest, "in-scope"),
        ("http://www.a.test/", |link| link.found = Found::Inferred, "in-scope"),
    ];

    #[test]
    fn the_schedule_gate_gives_its_reason() {
        for (to, change, want) in LINKS {
            assert_eq!(scheduled(&settings(), to, change), *want, "{to}");
        }
        let long = format!("http://www.a.test/{}", "x".repeat(90));
        assert_eq!(scheduled(&settings(), &long, |_| ()), "url-too-long");
        assert_eq!(scheduled(&settings(), &long, |link| link.found = Found::Seed), "url-too-long");
    }

    #[test]
    fn only_narrows_pages_but_not_what_they_need() {
        let settings = Settings { only: texts(&["regex:/docs/"]), ..settings() };
        assert_eq!(scheduled(&settings, "http://www.a.test/docs/x", |_| ()), "in-scope");
        assert_eq!(scheduled(&settings, "http://www.a.test/x", |_| ()), "not-in-only");
        let embed = |link: &mut Candidate<'_>| link.found = Found::Embed;
        assert_eq!(scheduled(&settings, "http://www.a.test/x.png", embed), "embed");
        let seed = |link: &mut Candidate<'_>| {
            (link.found, link.from_seed) = (Found::Redirect, true);
        };
        assert_eq!(scheduled(&settings, "http://b.test/", seed), "seed-redirect");
        assert_eq!(scheduled(&settings, "http://www.a.test/x.xml", sitemap), "in-scope");
        assert_eq!(scheduled(&settings, "http://b.test/docs/x.xml", sitemap), "out-of-scope");
    }

    fn sitemap(link: &mut Candidate<'_>) {
        (link.found, link.declared) = (Found::Manifest, true);
    }

    /// Returns what is said of the sitemap of a host of which one folder is crawled.
    fn above_the_folder(to: &str) -> &'static str {
        let settings = Settings { scope: Scope::Prefix, ..settings() };
        let filter = Filter::new(&settings, &[url("http://www.a.test/docs/")]).unwrap();
        let (to, via) = (url(to), url("http://www.a.test/robots.txt"));
        let mut candidate = Candidate::link(&to, &via, 1);
        sitemap(&mut candidate);
        filter.schedule(&candidate).code()
    }

    #[test]
    fn a_declared_sitemap_need_not_lie_in_the_folder_that_is_crawled() {
        assert_eq!(above_the_folder("http://www.a.test/sitemap.xml"), "declared-sitemap");
        assert_eq!(above_the_folder("http://b.test/docs/sitemap.xml"), "out-of-scope");
        assert_eq!(above_the_folder("http://bad.test/sitemap.xml"), "excluded");
    }

    #[test]
    fn embeds_follow_a_scope_of_their_own() {
        for (embeds, page_host, page_site, elsewhere) in [
            (Embeds::Any, true, true, true),
            (Embeds::Domain, true, true, false),
            (Embeds::Host, true, false, false),
            (Embeds::Scope, false, false, false),
            (Embeds::None, false, false, false),
        ] {
            let filter = filter(&Settings { embeds, ..settings() });
            let via = url("http://img.b.test/page");
            let check = |to: &str, want: bool| {
                let to = url(to);
                let mut candidate = Candidate::link(&to, &via, 1);
                (candidate.found, candidate.embed_hops) = (Found::Embed, 1);
                assert_eq!(filter.schedule(&candidate).accept, want, "{embeds:?} {to}");
            };
            check("http://img.b.test/x.png", page_host);
            check("http://cdn.b.test/x.png", page_site);
            check("http://cdn.test/x.png", elsewhere);
            check("http://www.a.test/x.png", embeds != Embeds::None);
        }
    }

    #[test]
    fn a_budget_is_spent_when_it_is_reached() {
        let filter = filter(&settings());
        let check = |url_text: &str, host: (u64, u64), total: (u64, u64), want: &str| {
            let usage = |(pages, bytes)| Usage { pages, bytes };
            let verdict = filter.fetch(&url(url_text), &usage(host), &usage(total));
            assert_eq!(verdict.code(), want);
        };
        check("http://www.a.test/", (9, 999), (99, 9_999), "within-budget");
        check("http://www.a.test/", (10, 0), (0, 0), "host-pages");
        check("http://www.a.test/", (0, 1000), (0, 0), "host-bytes");
        check("http://www.a.test/", (0, 0), (100, 0), "total-pages");
        check("http://www.a.test/", (0, 0), (0, 10_000), "total-bytes");
        check("http://bad.test/", (0, 0), (0, 0), "excluded");
    }

    #[test]
    fn the_archive_gate_knows_statuses_types_lengths_and_wishes() {
        let filter = filter(&settings());
        let check = |status, content_type, length, noarchive, want: &str| {
            let directives = Directives { noarchive, ..Directives::default() };
            let verdict = filter.archive(status, content_type, length, &directives);
            assert_eq!(verdict.code(), want, "{status} {content_type:?}");
        };
        check(200, Some("Text/HTML; charset=utf-8"), 500, false, "archived");
        check(404, Some("text/plain"), 1, false, "archived");
        check(500, Some("text/html"), 1, false, "status-not-archived");
        check(200, Some("image/gif"), 1, false, "type-not-archived");
        check(200, None, 1, false, "type-not-archived");
        check(200, Some("image/png"), 501, false, "too-long-to-archive");
        check(200, Some("image/png"), 1, true, "noarchive");
    }

    #[test]
    fn the_extract_gate_looks_where_links_are() {
        let filter = filter(&settings());
        let check = |status, content_type, length, want: &str| {
            let verdict = filter.extract(status, content_type, length, false);
            assert_eq!(verdict.code(), want, "{status}");
        };
        assert!(filter.extract(200, Some("text/xml"), 501, true).accept);
        check(200, Some("text/html;charset=x"), 500, "extracted");
        check(200, None, 1, "extracted");
        check(301, Some("image/png"), 0, "extracted");
        check(404, Some("text/html"), 1, "status-not-extracted");
        check(200, Some("image/png"), 1, "type-not-extracted");
        check(200, Some("text/css"), 501, "too-long-to-extract");
        check(200, Some("text/html"), 0, "empty-body");
    }

    #[test]
    fn what_the_follow_gate_refuses_for_is_written_beside_it() {
        let mut refused = BTreeSet::new();
        for bits in 0..1u8 << 6 {
            let is = |bit: u8| bits >> bit & 1 == 1;
            let directives = Directives {
                nofollow: is(0),
                noarchive: is(1),
                duplicate: is(2),
                host_duplicates: is(3),
                audit: is(4),
                soft_error: is(5),
            };
            for follow_duplicates in [Duplicates::Always, Duplicates::Auto, Duplicates::Never] {
                let filter = filter(&Settings { follow_duplicates, ..settings() });
                let verdict = filter.follow(&directives);
                refused.extend((!verdict.accept).then(|| verdict.code()));
            }
        }
        let written = Filter::UNFOLLOWED.map(|reason| reason.code());
        assert_eq!(refused, BTreeSet::from(written));
    }

    #[test]
    fn the_follow_gate_obeys_the_page_and_distrusts_duplicates() {
        let check = |follow_duplicates, directives: Directives, want: &str| {
            let filter = filter(&Settings { follow_duplicates, ..settings() });
            assert_eq!(filter.follow(&directives).code(), want, "{directives:?}");
        };
        let plain = Directives::default();
        let nofollow = Directives { nofollow: true, ..plain };
        let soft = Directives { soft_error: true, ..plain };
        let once = Directives { duplicate: true, ..plain };
        let often = Directives { host_duplicates: true, ..once };
        check(Duplicates::Auto, plain, "followed");
        check(Duplicates::Auto, nofollow, "page-nofollow");
        check(Duplicates::Auto, soft, "soft-error");
        check(Duplicates::Auto, once, "followed");
        check(Duplicates::Auto, often, "duplicate-content");
        check(Duplicates::Always, often, "followed");
        check(Duplicates::Never, once, "duplicate-content");
        let audit = Directives { audit: true, ..often };
        check(Duplicates::Auto, audit, "followed");
        check(Duplicates::Never, audit, "duplicate-content");
    }

    #[test]
    fn every_reason_can_be_reached() {
        let mut seen = BTreeSet::new();
        for (to, change, _) in LINKS {
            seen.insert(scheduled(&settings(), to, change));
        }
        let long = format!("http://www.a.test/{}", "x".repeat(90));
        seen.insert(scheduled(&settings(), &long, |_| ()));
        seen.insert(scheduled(&settings(), "http://www.a.test:25/", |_| ()));
        seen.insert(above_the_folder("http://www.a.test/sitemap.xml"));
        let far = |link: &mut Candidate<'_>| link.redirects = u16::MAX;
        seen.insert(scheduled(&settings(), "http://www.a.test/", far));
        let only = Settings { only: texts(&["regex:/docs/"]), ..settings() };
        seen.insert(scheduled(&only, "http://www.a.test/x", |_| ()));
        let none = Settings { embeds: Embeds::None, ..settings() };
        seen.insert(scheduled(&none, "http://b.test/", |link| link.found = Found::Embed));
        let filter = filter(&settings());
        let page = url(VIA);
        for (host, total) in [(0, 0), (10, 0), (1, 100)] {
            let usage = |pages| Usage { pages, bytes: 0 };
            seen.insert(filter.fetch(&page, &usage(host), &usage(total)).code());
        }
        for (host, total) in [(1000, 0), (0, 10_000)] {
            let usage = |bytes| Usage { pages: 0, bytes };
            seen.insert(filter.fetch(&page, &usage(host), &usage(total)).code());
        }
        let often = Directives { duplicate: true, host_duplicates: true, ..Directives::default() };
        let soft = Directives { soft_error: true, ..Directives::default() };
        let all = Directives { nofollow: true, noarchive: true, ..Directives::default() };
        for (status, kind, length) in [
            (200, "text/html", 1),
            (500, "text/html", 1),
            (200, "image/gif", 1),
            (200, "text/html", 501),
            (200, "text/html", 0),
        ] {
            seen.insert(filter.archive(status, Some(kind), length, &Directives::default()).code());
            seen.insert(filter.extract(status, Some(kind), length, false).code());
        }
        seen.insert(filter.archive(200, Some("text/html"), 1, &all).code());
        for directives in [Directives::default(), often, soft, all] {
            seen.insert(filter.follow(&directives).code());
        }
        assert_eq!(seen, Reason::CODES.iter().copied().collect());
    }

    #[test]
    fn exclusions_change_by_making_a_new_filter() {
        let old = filter(&settings());
        let new = old.with_exclude("regex:/late/").unwrap();
        let page = url("http://www.a.test/late/x");
        let usage = Usage::default();
        assert!(old.fetch(&page, &usage, &usage).accept);
        let verdict = new.fetch(&page, &usage, &usage);
        assert_eq!(verdict.reason, Reason::Excluded("regex:/late/".into()));
        assert_eq!(new.with_exclude("regex:/late/").unwrap().settings(), new.settings());
        assert!(new.without_exclude("regex:/late/").unwrap().fetch(&page, &usage, &usage).accept);
        assert!(old.without_exclude("regex:/late/").is_none());
        assert!(old.with_exclude("regex:(").is_err());
    }

    #[test]
    fn a_seed_that_redirects_takes_the_scope_with_it() {
        let old = filter(&settings());
        let (target, page) = (url("http://b.test/"), url("http://b.test/x"));
        let link = Candidate::link(&page, &target, 1);
        assert!(!old.schedule(&link).accept);
        assert!(old.with_seeds(std::slice::from_ref(&target)).schedule(&link).accept);
    }

    #[test]
    fn all_links_of_a_page_meet_one_version_and_refused_links_are_not_canonized() {
        struct Lower;
        impl Canonize for Lower {
            fn version(&self) -> u64 {
                7
            }
            fn canonize<'u>(&self, url: &'u CrawlUrl) -> Canonized<'u> {
                match CrawlUrl::parse(&url.as_str().to_ascii_lowercase()) {
                    Ok(lower) if lower != *url => {
                        Canonized { key: std::borrow::Cow::Owned(lower), rules: vec![3] }
                    }
                    _ => Canonized::same(url),
                }
            }
        }
        let filter = filter(&settings());
        let gate = filter.page(&Lower);
        assert_eq!(gate.version(), 7);
        let (page, via) = (url("http://www.a.test/X"), url(VIA));
        let canonized = gate.schedule(&Candidate::link(&page, &via, 1)).canonized.unwrap();
        assert_eq!((canonized.key.as_str(), canonized.rules), ("http://www.a.test/x", vec![3]));
        let outside = url("http://b.test/X");
        assert_eq!(gate.schedule(&Candidate::link(&outside, &via, 1)).canonized, None);
        let gate = filter.page(&NoRules);
        let plain = gate.schedule(&Candidate::link(&page, &via, 1)).canonized.unwrap();
        assert_eq!((gate.version(), plain), (0, Canonized::same(&page)));
    }

    #[test]
    fn entries_that_match_nothing_are_refused() {
        let check = |settings: Settings, want: &str| {
            let error = Filter::new(&settings, &[]).expect_err(want).to_string();
            assert!(error.contains(want), "{error}");
        };
        let plain = Settings::default();
        check(
            Settings { archive_statuses: texts(&["20x"]), ..plain.clone() },
            "`archive_statuses`: `20x`",
        );
        check(Settings { archive_types: texts(&["html"]), ..plain.clone() }, "`archive_types`");
        check(Settings { extract_types: texts(&["text/*x"]), ..plain.clone() }, "`extract_types`");
        check(Settings { include: texts(&["a/b"]), ..plain.clone() }, "`include`, entry 1");
        check(Settings { only: texts(&["regex:["]), ..plain }, "`only`, entry 1");
        assert_eq!(Settings::default().scope, Scope::Host);
    }
}
