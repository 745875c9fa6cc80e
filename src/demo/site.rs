//! One site of a web: its documents, their URLs, and what any path of it leads to.

use std::borrow::Cow;
use std::ops::Range;

use super::draw::{Draw, hash, mix, push_paragraph, word};
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
    /// Months since year 0.
    Calendar(u32),
    Growing(u32),
    SessionPath {
        id: String,
        number: u32,
    },
    Unknown,
}

/// A link as a page writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) href: String,
    pub(super) text: String,
    pub(super) nofollow: bool,
}

/// URLs of one sitemap file.
pub(super) const SITEMAP_URLS: u32 = 1_000;

/// Images and papers that a site with assets has.
pub(super) const IMAGES: u32 = 5;
pub(super) const PAPERS: u32 = 2;

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
    fn original(self, number: u32) -> Option<u32> {
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

    fn parent(self, number: u32) -> u32 {
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

    fn word(self, number: u32) -> String {
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
            .or_else(|| self.endless(path))
            .or_else(|| self.redirect(path))
            .or_else(|| self.document(path, query))
            .or_else(|| self.slash_redirect(path))
            .unwrap_or(Target::Unknown)
    }

    fn fixed(self, path: &str) -> Option<Target> {
        use super::spec::Sitemap;
        match path {
            "/robots.txt" => return Some(Target::Robots),
            "/huge.html" if self.spec.huge_bytes > 0 => return Some(Target::Huge),
            "/static/site.css" if self.spec.assets => return Some(Target::Style),
            _ => {}
        }
        let below = |before: &str, after: &str, end: u32| {
            numbered(path, before, after).filter(|number| *number < end)
        };
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

    fn endless(self, path: &str) -> Option<Target> {
        let traps = &self.spec.traps;
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

    /// Returns a link from one document to another, now and then in one of the site's habits.
    /// `session` is passed on; `slot` tells apart several links between the same two.
    pub(super) fn link(self, from: u32, to: u32, slot: u64, session: Option<&str>) -> String {
        let habits = &self.spec.habits;
        let canonical = self.canonical(to);
        let mut draw = Draw::new(mix(self.seed, mix(u64::from(from), u64::from(to)) ^ slot));
        let shown = draw.below(100) < u64::from(habits.share);
        let mut href = if shown { self.varied(&canonical, &mut draw) } else { canonical };
        if let Some(name) = habits.session {
            let started = || {
                let id = draw.below(u64::from(habits.sessions.max(1)));
                (shown && draw.below(3) == 0).then(|| format!("{:016x}", mix(self.seed, id)))
            };
            if let Some(id) = session.map(str::to_owned).or_else(started) {
                href = with_parameter(&href, &format!("{name}={id}"));
            }
        }
        href
    }

    /// Applies one habit that fits.
    fn varied(self, canonical: &str, draw: &mut Draw) -> String {
        let habits = &self.spec.habits;
        let mut forms: Vec<String> = Vec::new();
        if habits.tracking > 0 {
            let source = word(mix(self.seed, hash(2, "utm") ^ draw.below(habits.tracking.into())));
            forms.push(with_parameter(canonical, &format!("utm_source={source}&utm_medium=link")));
        }
        if habits.index_html && canonical.ends_with('/') {
            forms.push(format!("{canonical}index.html"));
        }
        if habits.slash && canonical.len() > 1 && canonical.ends_with('/') {
            forms.push(canonical[..canonical.len() - 1].to_owned());
        }
        if habits.case
            && let Some(letter) = canonical.bytes().position(|b| b.is_ascii_lowercase())
        {
            let query = canonical.find('?').unwrap_or(canonical.len());
            if letter < query {
                let mut cased = canonical.to_owned();
                cased[letter..=letter].make_ascii_uppercase();
                forms.push(cased);
            }
        }
        if habits.order
            && let Some((path, query)) = canonical.split_once('?')
        {
            let mut parameters: Vec<&str> = query.split('&').collect();
            if parameters.len() > 1 {
                parameters.reverse();
                forms.push(format!("{path}?{}", parameters.join("&")));
            }
        }
        if habits.print {
            forms.push(with_parameter(canonical, "print=1"));
        }
        if habits.story
            && let Some(rest) = canonical.strip_prefix("/story_")
        {
            forms.push(format!("/story?id={}", rest.replacen('?', "&", 1)));
        }
        for alias in &self.spec.aliases {
            forms.push(format!("{}{canonical}", self.web.origin(alias)));
        }
        let at = draw.below(forms.len() as u64) as usize;
        forms.get(at).cloned().unwrap_or_else(|| canonical.to_owned())
    }

    /// Returns the main text of a document, one paragraph a line.
    pub(super) fn main_text(self, number: u32) -> String {
        let base = self.replicated(number);
        let mut text = self.own_text(base.unwrap_or(number));
        if base.is_some() {
            self.edit(&mut text, number);
        }
        text
    }

    /// Returns the document that a near replica repeats.
    fn replicated(self, number: u32) -> Option<u32> {
        let share = u64::from(self.spec.near_replicas);
        let replica = |n: u32| mix(self.seed, hash(3, "near") ^ u64::from(n)) % 1000 < share;
        let base = number.checked_sub(1)?;
        // The one before must be an original itself, or replicas of replicas would drift.
        (share > 0 && number > 1 && replica(number) && !replica(base)).then_some(base)
    }

    fn own_text(self, number: u32) -> String {
        let mut draw = Draw::new(mix(self.seed, hash(4, "text") ^ u64::from(number)));
        let (least, most) = self.spec.words;
        let mut left = u64::from(least) + draw.below(u64::from(most.saturating_sub(least)) + 1);
        let mut text = String::with_capacity(left as usize * 6 + 16);
        while left > 0 {
            let words = (30 + draw.below(40)).min(left);
            left -= words;
            push_paragraph(&mut text, &mut draw, words);
            if left > 0 {
                text.push('\n');
            }
        }
        text
    }

    /// Replaces about one word in forty, and one for certain by a word that is nowhere else.
    fn edit(self, text: &mut String, number: u32) {
        let mut draw = Draw::new(mix(self.seed, hash(5, "edit") ^ u64::from(number)));
        let certain = draw.below(text.matches(' ').count() as u64 + 1) as usize;
        let edited: Vec<Cow<'_, str>> = text
            .split(' ')
            .enumerate()
            .map(|(at, known)| match (at == certain, draw.below(40)) {
                (true, _) => Cow::Owned(format!("{}{number}", word(draw.next()))),
                // A word at the end of a paragraph holds the line break and stays.
                (false, 0) if !known.contains('\n') => Cow::Owned(word(draw.next())),
                (false, _) => Cow::Borrowed(known),
            })
            .collect();
        *text = edited.join(" ");
    }

    /// Returns the title of a document.
    pub(super) fn title(self, number: u32) -> String {
        let mut title = self.word(number);
        title[..1].make_ascii_uppercase();
        for turn in 1..3 {
            title.push(' ');
            title.push_str(&word(mix(
                self.seed,
                hash(6, "title") ^ (u64::from(number) << 2) ^ turn,
            )));
        }
        title
    }

    /// Returns the links of a document's page as it is asked for with a session.
    pub(super) fn links(self, number: u32, session: Option<&str>) -> Vec<Link> {
        let mut links = Vec::new();
        let mut add = |to: u32, slot: u64| {
            let (href, text) = (self.link(number, to, slot, session), self.title(to));
            links.push(Link { href, text, nofollow: false });
        };
        if let Some(original) = self.original(number) {
            add(original, 0);
            add(0, 0);
            return links;
        }
        add(0, 0);
        if number > 0 {
            add(self.parent(number), 1);
        }
        self.children(number).for_each(|child| add(child, 2));
        if self.spec.habits.decoy && (1..self.spec.pages).contains(&number) {
            add(self.listed() + number, 3);
        }
        let mut draw = Draw::new(mix(self.seed, hash(7, "links") ^ u64::from(number)));
        let mut onward = Vec::new();
        for slot in 0..u64::from(self.spec.links) {
            let to = draw.below(self.spec.pages.into()) as u32;
            if draw.below(100) < u64::from(self.spec.redirects.share) {
                onward.push(format!("/go/{}/{to}", self.spec.redirects.chain));
            } else {
                add(to, 4 + slot);
            }
        }
        links.extend(onward.into_iter().map(|href| Link::new(href, "onward")));
        for _ in 0..self.spec.cross_links {
            links.extend(self.cross_link(&mut draw));
        }
        if number == 0 {
            self.home_links(&mut links);
        }
        links
    }

    fn cross_link(self, draw: &mut Draw) -> Option<Link> {
        let other = self.web.site(draw.below(self.web.hosts().len() as u64) as u32)?;
        let to = draw.below(other.spec.pages.into()) as u32;
        let href = format!("{}{}", self.web.origin(&other.spec.name), other.canonical(to));
        Some(Link { href, text: other.title(to), nofollow: false })
    }

    /// Adds what only home links to: the ways into everything that is not a document.
    fn home_links(self, links: &mut Vec<Link>) {
        let SiteSpec { traps, redirects, .. } = self.spec;
        let ways = [
            (traps.calendar, "/calendar/2026-11", "Calendar"),
            (traps.growing_path, "/more/", "More"),
            (traps.session_path, "/s/00000000/page-0", "Members"),
            (traps.soft_404, "/lost-and-found", "Lost"),
            (redirects.looping, "/loop/a", "Round"),
            (redirects.cross_host, "/out", "Out"),
            (self.spec.huge_bytes > 0, "/huge.html", "Everything"),
            (true, "mailto:webmaster@site.invalid", "Mail"),
            (true, "javascript:void(0)", "Script"),
            (true, "#top", "Top"),
        ];
        let open = ways.into_iter().filter(|(open, ..)| *open);
        links.extend(open.map(|(_, href, text)| Link::new(href.to_owned(), text)));
        for number in 0..self.spec.private_pages {
            links.push(Link::new(format!("/private/note-{number}.html"), "Note"));
        }
        if self.spec.assets {
            let papers = (0..PAPERS).map(|number| format!("/files/paper-{number}.pdf"));
            links.extend(papers.map(|href| Link::new(href, "Paper")));
        }
    }
}

impl Link {
    pub(super) fn new(href: String, text: &str) -> Self {
        Link { href, text: text.to_owned(), nofollow: false }
    }
}

fn with_parameter(target: &str, parameter: &str) -> String {
    let mark = if target.contains('?') { '&' } else { '?' };
    format!("{target}{mark}{parameter}")
}

/// Returns the number between two parts of a path, written without leading zeros.
fn numbered(path: &str, before: &str, after: &str) -> Option<u32> {
    let digits = path.strip_prefix(before)?.strip_suffix(after)?;
    let number: u32 = digits.parse().ok()?;
    (digits.len() == 1 || !digits.starts_with(['0', '+'])).then_some(number)
}
