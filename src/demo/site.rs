//! One site of a web: its documents, their URLs, and what any path of it leads to.

use std::borrow::Cow;
use std::ops::Range;

use super::board;
use super::draw::{hash, mix, word};
use super::repository::Browsed;
use super::spec::{SiteSpec, UrlStyle};
use super::web::WebSpec;

/// A site with what it needs to answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site<'w> {
    pub(super) web: &'w WebSpec,
    pub(super) index: u32,
    pub(super) spec: &'w SiteSpec,
    pub(super) seed: u64,
}

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Document {
        number: u32,
        print: bool,
        session: Option<String>,
    },
    Private(u32),
    Robots,
    /// A part of the sitemap; none for the first file.
    Sitemap(Option<u32>),
    Style,
    Image(u32),
    Paper(u32),
    Huge,
    Redirect {
        status: u16,
        to: String,
    },
    Feed,
    Quiet(Quiet),
    /// Months since year 0.
    Calendar(u32),
    Growing(u32),
    SessionPath {
        id: String,
        number: u32,
    },
    /// A choice of the shop.
    Facets(u32),
    Edited(u32),
    /// A list and how it is ordered.
    Sorted(u32, String),
    Browsed(Browsed),
    Board(board::Shown),
    Unknown,
}

/// Pages that ask for restraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quiet {
    /// Says nofollow and noarchive in a meta element.
    Meta,
    /// Says nofollow in a header.
    Header,
    /// Reached only by links that are not to be followed.
    Behind(u32),
}

/// Where hostile redirects lead, on home's `/inward/N`.
pub(super) const INWARD: [&str; 9] = [
    "http://127.0.0.1/",
    "http://[::1]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/",
    "http://0x7f000001/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "http://",
    "",
];

/// URLs of one sitemap file.
pub(super) const SITEMAP_URLS: u32 = 1_000;

/// Images and papers that a site with assets has.
pub(super) const IMAGES: u32 = 5;
pub(super) const PAPERS: u32 = 2;

/// Short lists that can be put into any order; there are as many long ones.
pub(super) const LISTS: u32 = 20;

/// The query with which the lists are linked to, and which is idle.
pub(super) const SHOWN_FIRST: &str = "utm_source=lists";

const SHORT_LISTS: &str = "/hours/";
const LONG_LISTS: &str = "/tasks/";

/// Returns the path of a list, of which the first [`LISTS`] are the short ones.
pub(super) fn list_path(list: u32) -> String {
    let folder = if list < LISTS { SHORT_LISTS } else { LONG_LISTS };
    format!("{folder}{}", list % LISTS)
}

/// Years that the calendar has; far more than anyone would crawl.
const CALENDAR_MONTHS: u32 = 12 * 10_000;

impl<'w> Site<'w> {
    /// Returns the numbers of all documents.
    pub(super) fn numbers(self) -> impl Iterator<Item = u32> {
        let translated = if self.spec.habits.decoy { 1..self.spec.pages } else { 0..0 };
        (0..self.listed()).chain(translated.map(move |number| self.listed() + number))
    }

    /// Returns how many documents the sitemap lists: linked ones and orphans.
    pub(super) fn listed(self) -> u32 {
        self.spec.pages.saturating_add(self.spec.orphans)
    }

    /// Returns the document that a translation translates.
    pub(super) fn original(self, number: u32) -> Option<u32> {
        let number = number.checked_sub(self.listed())?;
        (self.spec.habits.decoy && (1..self.spec.pages).contains(&number)).then_some(number)
    }

    fn exists(self, number: u32) -> bool {
        number < self.listed() || self.original(number).is_some()
    }

    fn fanout(self) -> u32 {
        self.spec.fanout.max(1)
    }

    /// Returns the documents below one in the tree that makes all of them reachable.
    pub(super) fn children(self, number: u32) -> Range<u32> {
        let pages = self.spec.pages;
        if number >= pages {
            return 0..0;
        }
        let first = number.saturating_mul(self.fanout()).saturating_add(1).min(pages);
        first..first.saturating_add(self.fanout()).min(pages)
    }

    pub(super) fn parent(self, number: u32) -> u32 {
        number.saturating_sub(1) / self.fanout()
    }

    /// Returns the section of a document: its ancestor next to home.
    pub(super) fn section(self, mut number: u32) -> u32 {
        if number >= self.spec.pages {
            return 0;
        }
        while number > self.fanout() {
            number = self.parent(number);
        }
        number
    }

    fn is_section(self, number: u32) -> bool {
        number >= 1 && number <= self.fanout() && number < self.spec.pages
    }

    /// Returns true for a document that answers 410: never one with children.
    pub(super) fn is_gone(self, number: u32) -> bool {
        let share = u64::from(self.spec.faults.gone);
        share > 0
            && number > 0
            && self.children(number).is_empty()
            && mix(self.seed, hash(1, "gone") ^ u64::from(number)) % 1000 < share
    }

    pub(super) fn word(self, number: u32) -> String {
        word(mix(self.seed, u64::from(number)))
    }

    /// Returns the canonical path and query of a document.
    pub(super) fn canonical(self, number: u32) -> String {
        if let Some(original) = self.original(number) {
            return with_parameter(&self.canonical(original), "lang=de");
        }
        if number == 0 {
            return "/".to_owned();
        }
        let section = self.section(number);
        match self.spec.style {
            UrlStyle::Folders if self.is_section(number) => {
                format!("/{}-{number}/", self.word(number))
            }
            UrlStyle::Folders if section == 0 => {
                format!("/archive/{}-{number}.html", self.word(number))
            }
            UrlStyle::Folders => {
                format!("/{}-{section}/{}-{number}.html", self.word(section), self.word(number))
            }
            UrlStyle::Query if self.is_section(number) => format!("/list.php?topic={number}"),
            UrlStyle::Query => format!("/view.php?topic={section}&id={number}"),
            UrlStyle::Story => format!("/story_{number}"),
        }
    }

    /// Returns what a path and query leads to.
    pub(super) fn parse(self, target: &str) -> Target {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        self.fixed(path)
            .or_else(|| self.endless(path, query))
            .or_else(|| self.browsed(path, query).map(Target::Browsed))
            .or_else(|| self.shown_board(path, query).map(Target::Board))
            .or_else(|| self.redirect(path))
            .or_else(|| self.document(path, query))
            .or_else(|| self.slash_redirect(path))
            .unwrap_or(Target::Unknown)
    }

    fn fixed(self, path: &str) -> Option<Target> {
        use super::spec::Sitemap;
        match path {
            "/robots.txt" => return Some(Target::Robots),
            "/feed.xml" if self.spec.feed => return Some(Target::Feed),
            "/huge.html" if self.spec.huge_bytes > 0 => return Some(Target::Huge),
            "/static/site.css" if self.spec.assets => return Some(Target::Style),
            _ => {}
        }
        let below = |before: &str, after: &str, end: u32| {
            numbered(path, before, after).filter(|number| *number < end)
        };
        if self.spec.directives
            && let Some(rest) = path.strip_prefix("/quiet/")
        {
            return match rest {
                "meta" => Some(Target::Quiet(Quiet::Meta)),
                "header" => Some(Target::Quiet(Quiet::Header)),
                _ => below("/quiet/page-", "", 3).map(|n| Target::Quiet(Quiet::Behind(n))),
            };
        }
        if self.spec.assets {
            let image = below("/static/image-", ".png", IMAGES).map(Target::Image);
            let paper = || below("/files/paper-", ".pdf", PAPERS).map(Target::Paper);
            if let Some(asset) = image.or_else(paper) {
                return Some(asset);
            }
        }
        if let Some(number) = below("/private/note-", ".html", self.spec.private_pages) {
            return Some(Target::Private(number));
        }
        let ending = match self.spec.sitemap {
            Sitemap::None => return None,
            Sitemap::Plain => ".xml",
            Sitemap::Gzip => ".xml.gz",
        };
        if path.strip_prefix("/sitemap") == Some(ending) {
            return Some(Target::Sitemap(None));
        }
        let files = self.listed().div_ceil(SITEMAP_URLS);
        below("/sitemap-", ending, files).map(|part| Target::Sitemap(Some(part)))
    }

    fn endless(self, path: &str, query: &str) -> Option<Target> {
        let traps = &self.spec.traps;
        if traps.facets && path == "/shop" {
            return numbered(query, "choice=", "").map(Target::Facets);
        }
        if traps.edited && path.starts_with("/told/") {
            return numbered(path, "/told/", "").map(Target::Edited);
        }
        let list = |before: &str| numbered(path, before, "").filter(|list| *list < LISTS);
        if traps.sorted
            && let Some(list) = list(SHORT_LISTS).or(list(LONG_LISTS).map(|list| LISTS + list))
        {
            let is_first = query.is_empty() || query == SHOWN_FIRST;
            let order = if is_first { "" } else { query.strip_prefix("sort=")? };
            return Some(Target::Sorted(list, order.to_owned()));
        }
        if traps.calendar
            && let Some(rest) = path.strip_prefix("/calendar/")
        {
            let (year, month) = rest.strip_suffix('/').unwrap_or(rest).split_once('-')?;
            let (year, month): (u32, u32) = (year.parse().ok()?, month.parse().ok()?);
            let months = year.checked_mul(12)?.checked_add(month.checked_sub(1)?)?;
            return (month <= 12 && months < CALENDAR_MONTHS).then_some(Target::Calendar(months));
        }
        if traps.growing_path && path.starts_with("/more/") && path.ends_with('/') {
            let mut segments = path[1..path.len() - 1].split('/');
            let depth = path.matches('/').count() as u32 - 1;
            return segments.all(|segment| segment == "more").then_some(Target::Growing(depth));
        }
        if traps.session_path
            && let Some(rest) = path.strip_prefix("/s/")
        {
            let (id, rest) = rest.split_once('/')?;
            let number =
                rest.strip_prefix("page-")?.parse().ok().filter(|n| *n < self.spec.pages)?;
            let hex = id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
            return hex.then(|| Target::SessionPath { id: id.to_owned(), number });
        }
        None
    }

    fn redirect(self, path: &str) -> Option<Target> {
        let redirects = &self.spec.redirects;
        let found = |to: String| Some(Target::Redirect { status: 302, to });
        if redirects.looping {
            match path {
                "/loop/a" => return found("/loop/b".to_owned()),
                "/loop/b" => return found("/loop/a".to_owned()),
                _ => {}
            }
        }
        if redirects.hostile
            && let Some(number) = numbered(path, "/inward/", "")
        {
            return found((*INWARD.get(number as usize)?).to_owned());
        }
        if redirects.cross_host && path == "/out" {
            let next = (self.index + 1) % self.web.hosts().len().max(1) as u32;
            let other = self.web.site(next)?;
            return found(format!("{}/", self.web.origin(&other.spec.name)));
        }
        let (left, number) = path.strip_prefix("/go/")?.split_once('/')?;
        let (left, number): (u32, u32) = (left.parse().ok()?, number.parse().ok()?);
        if redirects.share == 0 || left > redirects.chain || !self.exists(number) {
            return None;
        }
        match left {
            0 => Some(Target::Redirect { status: 301, to: self.canonical(number) }),
            _ => found(format!("/go/{}/{number}", left - 1)),
        }
    }

    /// Undoes the habits of the site and sees whether a document's canonical path is left.
    fn document(self, path: &str, query: &str) -> Option<Target> {
        let habits = &self.spec.habits;
        let (mut print, mut session) = (false, None);
        let mut parameters: Vec<&str> = query.split('&').filter(|part| !part.is_empty()).collect();
        parameters.retain(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            if Some(name) == habits.session {
                session = Some(value.to_owned());
                return false;
            }
            if habits.print && *parameter == "print=1" {
                print = true;
                return false;
            }
            habits.tracking == 0 || !name.starts_with("utm_")
        });
        let mut path = Cow::Borrowed(path);
        if habits.case {
            path = Cow::Owned(path.to_ascii_lowercase());
        }
        if habits.index_html
            && let Some(folder) = path.strip_suffix("index.html")
        {
            path = Cow::Owned(folder.to_owned());
        }
        if habits.story && path == "/story" {
            let id = parameters.iter().position(|parameter| parameter.starts_with("id="))?;
            path = Cow::Owned(format!("/story_{}", &parameters.remove(id)["id=".len()..]));
        }
        if habits.order {
            let rank = |parameter: &&str| {
                ["topic=", "id=", "lang="].iter().position(|name| parameter.starts_with(name))
            };
            parameters.sort_by_key(rank);
        }
        let number = self.number(&path, &parameters)?;
        let mut plain = path.into_owned();
        if !parameters.is_empty() {
            plain.push('?');
            plain.push_str(&parameters.join("&"));
        }
        let canonical = self.canonical(number);
        let slash_only = habits.slash && canonical.strip_suffix('/') == Some(&*plain);
        (plain == canonical || slash_only).then_some(Target::Document { number, print, session })
    }

    /// Guesses the number of a document from its path; the caller compares with the truth.
    fn number(self, path: &str, parameters: &[&str]) -> Option<u32> {
        let value = |name: &str| {
            let text = parameters.iter().find_map(|parameter| parameter.strip_prefix(name));
            text.and_then(|text| text.parse::<u32>().ok())
        };
        let number = match self.spec.style {
            _ if path == "/" => 0,
            UrlStyle::Folders => {
                let name = path.strip_suffix('/').unwrap_or(path);
                let name = name.strip_suffix(".html").unwrap_or(name);
                name.rsplit_once('-')?.1.parse().ok()?
            }
            UrlStyle::Query => value("id=").or_else(|| value("topic="))?,
            UrlStyle::Story => path.strip_prefix("/story_")?.parse().ok()?,
        };
        let translated = parameters.contains(&"lang=de");
        let number = if translated { self.listed().checked_add(number)? } else { number };
        self.exists(number).then_some(number)
    }

    fn slash_redirect(self, path: &str) -> Option<Target> {
        let number = self.number(path, &[])?;
        let to = self.canonical(number);
        (to.strip_suffix('/') == Some(path)).then_some(Target::Redirect { status: 301, to })
    }
}

/// Adds a parameter to a path and query.
pub(super) fn with_parameter(target: &str, parameter: &str) -> String {
    let mark = if target.contains('?') { '&' } else { '?' };
    format!("{target}{mark}{parameter}")
}

/// Returns the number between two parts of a path, written without leading zeros.
fn numbered(path: &str, before: &str, after: &str) -> Option<u32> {
    let digits = path.strip_prefix(before)?.strip_suffix(after)?;
    let number: u32 = digits.parse().ok()?;
    (digits.len() == 1 || !digits.starts_with(['0', '+'])).then_some(number)
}
