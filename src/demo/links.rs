//! The links of a site's pages, in every form that its habits give them.

use super::draw::{Draw, hash, mix, word};
use super::site::{INWARD, LISTS, PAPERS, SHOWN_FIRST, Site, list_path, with_parameter};
use super::spec::SiteSpec;

/// A link as a page writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) href: String,
    pub(super) text: String,
    pub(super) nofollow: bool,
}

/// Slots from here on are links besides those that make every document reachable.
const FREE_SLOT: u64 = 4;

impl Site<'_> {
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
            if draw.below(1000) < u64::from(self.spec.dead_links) {
                onward.push(format!("/missing-{to}.html"));
            } else if draw.below(100) < u64::from(self.spec.redirects.share) {
                onward.push(format!("/go/{}/{to}", self.spec.redirects.chain));
            } else {
                add(to, FREE_SLOT + slot);
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
            (traps.facets, "/shop?choice=0", "Shop"),
            (traps.edited, "/told/0", "Told"),
            (traps.soft_404, "/lost-and-found", "Lost"),
            (redirects.looping, "/loop/a", "Round"),
            (redirects.cross_host, "/out", "Out"),
            (self.spec.huge_bytes > 0, "/huge.html", "Everything"),
            (self.spec.feed, "/feed.xml", "Feed"),
            (self.spec.directives, "/quiet/meta", "Quiet"),
            (self.spec.directives, "/quiet/header", "Quiet"),
            (true, "mailto:webmaster@site.invalid", "Mail"),
            (true, "javascript:void(0)", "Script"),
            (true, "#top", "Top"),
        ];
        let open = ways.into_iter().filter(|(open, ..)| *open);
        links.extend(open.map(|(_, href, text)| Link::new(href.to_owned(), text)));
        if self.spec.commits > 0 {
            links.push(Link::new(self.repository_home(), "Repository"));
        }
        if self.spec.boards > 0 {
            links.push(Link::new(self.first_board(), "Board"));
        }
        if traps.sorted {
            links.extend([0, LISTS].map(first_list));
        }
        if self.spec.directives {
            let link = Link::new("/quiet/page-0".to_owned(), "Advertisement");
            links.push(Link { nofollow: true, ..link });
        }
        if redirects.hostile {
            let hrefs = (0..INWARD.len()).map(|number| format!("/inward/{number}"));
            links.extend(hrefs.map(|href| Link::new(href, "Inward")));
        }
        for number in 0..self.spec.private_pages {
            links.push(Link::new(format!("/private/note-{number}.html"), "Note"));
        }
        if self.spec.assets {
            let papers = (0..PAPERS).map(|number| format!("/files/paper-{number}.pdf"));
            links.extend(papers.map(|href| Link::new(href, "Paper")));
        }
    }

    /// Returns a link from one document to another, now and then in one of the site's habits.
    /// `session` is passed on; `slot` tells apart several links between the same two.
    pub(super) fn link(self, from: u32, to: u32, slot: u64, session: Option<&str>) -> String {
        let habits = &self.spec.habits;
        let canonical = self.canonical(to);
        let mut draw = Draw::new(mix(self.seed, mix(u64::from(from), u64::from(to)) ^ slot));
        let shown = draw.below(100) < u64::from(habits.share);
        let mut href = if shown { self.varied(&canonical, slot, &mut draw) } else { canonical };
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
    fn varied(self, canonical: &str, slot: u64, draw: &mut Draw) -> String {
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
        // What makes every document reachable stays on the host itself: a crawl may leave the
        // aliases out of its scope.
        let aliases = if slot < FREE_SLOT { &[][..] } else { &self.spec.aliases[..] };
        for alias in aliases {
            forms.push(format!("{}{canonical}", self.web.origin(alias)));
        }
        let at = draw.below(forms.len() as u64) as usize;
        forms.get(at).cloned().unwrap_or_else(|| canonical.to_owned())
    }
}

/// Returns the link by which a list is found, before it is put into any order.
pub(super) fn first_list(list: u32) -> Link {
    Link::new(format!("{}?{SHOWN_FIRST}", list_path(list)), "List")
}

impl Link {
    pub(super) fn new(href: String, text: &str) -> Self {
        Link { href, text: text.to_owned(), nofollow: false }
    }
}
