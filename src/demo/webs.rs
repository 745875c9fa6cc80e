//! Ready-made webs: the fixed one of `crawler demo`, and drawn ones for simulations.

use std::time::Duration;

use super::draw::{Draw, word};
use super::spec::{
    Busy, DnsAnswer, Habits, Language, Latency, Redirects, RetryAfter, RobotsAnswer, SiteSpec,
    Sitemap, Traps, UrlStyle,
};
use super::web::WebSpec;

/// The seed of the demonstration. Changing it changes every word that a newcomer sees.
const DEMO_SEED: u64 = 2002;

/// Returns the small fixed web of `crawler demo`: eight hosts under the reserved `.test` (RFC
/// 2606), about 600 documents, and two to three times as many URLs for them.
///
/// One host is slow, one asks for a Crawl-delay of a second, one refuses with 429 for a while, and
/// one is a maze without end.
pub fn demo_web() -> WebSpec {
    let sites = vec![forum(), docs(), news(), shop(), wiki(), slow(), patient(), maze()];
    WebSpec::new(DEMO_SEED, sites)
}

fn demo_site(name: &str, pages: u32, style: UrlStyle) -> SiteSpec {
    let mut site = SiteSpec::new(name, pages);
    site.style = style;
    (site.fanout, site.links, site.cross_links) = (9, 3, 1);
    site.latency.base = Duration::from_millis(5);
    site.latency.spread = Duration::from_millis(15);
    site.robots = vec![(Duration::ZERO, RobotsAnswer::rules(&[], None))];
    site
}

/// Print views, parameters in any order, a session in the URL, and a name with and without www.
fn forum() -> SiteSpec {
    let mut site = demo_site("www.forum.test", 90, UrlStyle::Query);
    site.aliases = vec!["forum.test".to_owned()];
    let (session, sessions) = (Some("sid"), 1);
    site.habits =
        Habits { share: 30, session, sessions, order: true, print: true, ..Habits::default() };
    site.volatile_line = true;
    site
}

/// `index.html`, slashes, a sitemap with pages that nobody links to, images and compression.
fn docs() -> SiteSpec {
    let mut site = demo_site("docs.test", 130, UrlStyle::Folders);
    site.habits = Habits { share: 60, index_html: true, slash: true, ..Habits::default() };
    (site.orphans, site.sitemap) = (6, Sitemap::Plain);
    (site.assets, site.gzip) = (true, true);
    site
}

/// `story?id=` beside `story_`, tracking parameters, a feed, and stories that repeat others.
fn news() -> SiteSpec {
    let mut site = demo_site("www.news.test", 140, UrlStyle::Story);
    site.habits = Habits { share: 50, story: true, tracking: 2, ..Habits::default() };
    site.near_replicas = 80;
    // Not chunked: of chunked answers `warcio check` doubts the digests, which follow the standard.
    (site.volatile_line, site.feed) = (true, true);
    site
}

/// A parameter that matters, parameters in any order, and a moment of 429.
fn shop() -> SiteSpec {
    let mut site = demo_site("shop.test", 50, UrlStyle::Query);
    site.habits = Habits { share: 40, order: true, decoy: true, ..Habits::default() };
    site.canonical_links = true;
    site.robots.clear();
    site.faults.busy = Some(Busy {
        first: Duration::from_secs(4),
        length: Duration::from_secs(3),
        every: Duration::ZERO,
        status: 429,
        retry_after: RetryAfter::Seconds,
    });
    site
}

/// Upper and lower case, redirects in chains and in a circle, and what robots.txt and the pages
/// themselves forbid.
fn wiki() -> SiteSpec {
    let mut site = demo_site("wiki.test", 90, UrlStyle::Folders);
    site.habits = Habits { share: 40, case: true, ..Habits::default() };
    site.redirects =
        Redirects { share: 20, chain: 2, looping: true, cross_host: true, ..Redirects::default() };
    (site.private_pages, site.broken_markup, site.directives) = (3, 100, true);
    site.robots = vec![(Duration::ZERO, RobotsAnswer::rules(&["/private/"], None))];
    site
}

fn slow() -> SiteSpec {
    let mut site = demo_site("slow.test", 10, UrlStyle::Folders);
    site.latency.base = Duration::from_millis(600);
    site.latency.spread = Duration::from_millis(200);
    site
}

fn patient() -> SiteSpec {
    let mut site = demo_site("patient.test", 30, UrlStyle::Story);
    site.robots = vec![(Duration::ZERO, RobotsAnswer::rules(&[], Some(1)))];
    site
}

fn maze() -> SiteSpec {
    let mut site = demo_site("maze.test", 20, UrlStyle::Folders);
    site.traps = Traps { calendar: true, growing_path: true, ..Traps::default() };
    site
}

/// What a drawn web is like.
#[derive(Clone, Copy, Debug)]
pub struct Draft {
    /// Number of sites.
    pub hosts: u32,
    /// Documents of a site, from and to; most sites are small, as on the real web.
    pub pages: (u32, u32),
    /// Per mille of sites that are sick: refusing, silent, failing, without a name.
    pub sick: u32,
    /// Per mille of sites with habits that give documents many URLs.
    pub dust: u32,
    /// Per mille of sites that are slow, busy now and then, or ask for a Crawl-delay.
    pub touchy: u32,
    /// Per mille of sites with endless spaces; a crawl of them ends only by its limits.
    pub traps: u32,
    /// Sites on one address; 1: each has its own.
    pub hosts_per_address: u32,
}

impl Default for Draft {
    fn default() -> Self {
        Draft {
            hosts: 100,
            pages: (5, 500),
            sick: 50,
            dust: 300,
            touchy: 100,
            traps: 0,
            hosts_per_address: 1,
        }
    }
}

impl WebSpec {
    /// Draws a web of many kinds of sites; the seed decides all of it.
    pub fn draw(seed: u64, draft: &Draft) -> WebSpec {
        let mut draw = Draw::new(seed);
        let site = |number| draw_site(&mut draw, draft, number);
        let mut sites: Vec<SiteSpec> = (0..draft.hosts).map(site).collect();
        for (number, site) in (0u32..).zip(&mut sites) {
            if draft.hosts_per_address > 1 {
                let shared = number / draft.hosts_per_address;
                site.address = Some(super::web::numbered_address(shared));
            }
        }
        WebSpec::new(seed, sites)
    }
}

fn draw_site(draw: &mut Draw, draft: &Draft, number: u32) -> SiteSpec {
    let (least, most) = draft.pages;
    // A square of a draw: many small sites and few large ones.
    let (a, b) = (draw.below(1 << 16), draw.below(1 << 16));
    let range = u128::from(most.saturating_sub(least));
    let pages = least + ((range * u128::from(a) * u128::from(b)) >> 32) as u32;
    let mut site = SiteSpec::new(&format!("{}{number}.test", word(draw.next())), pages);
    site.style = match draw.below(3) {
        0 => UrlStyle::Folders,
        1 => UrlStyle::Query,
        _ => UrlStyle::Story,
    };
    site.fanout = 3 + draw.below(15) as u32;
    site.latency.base = Duration::from_millis(10 + draw.below(190));
    site.latency.spread = Duration::from_millis(draw.below(300));
    site.gzip = draw.below(2) == 0;
    site.chunked = draw.below(4) == 0;
    if draw.below(2) == 0 {
        site.sitemap = if draw.below(2) == 0 { Sitemap::Plain } else { Sitemap::Gzip };
        site.robots = vec![(Duration::ZERO, RobotsAnswer::rules(&["/private/"], None))];
        site.private_pages = draw.below(4) as u32;
    }
    site.language = match draw.below(10) {
        0 => Language::Accented,
        1 => Language::Cyrillic,
        2 => Language::Ideographs,
        _ => Language::Latin,
    };
    site.directives = draw.below(4) == 0;
    site.feed = draw.below(4) == 0;
    site.dead_links = draw.below(3) as u32 * 20;
    site.redirects.hostile = draw.below(20) == 0;
    let hit = |draw: &mut Draw, share: u32| draw.below(1000) < u64::from(share);
    if hit(draw, draft.dust) {
        site.habits = draw_habits(draw, site.style);
    }
    if hit(draw, draft.touchy) {
        make_touchy(draw, &mut site);
    }
    if hit(draw, draft.sick) {
        make_sick(draw, &mut site);
    }
    if hit(draw, draft.traps) {
        let one = |draw: &mut Draw| draw.below(2) == 0;
        site.traps = Traps {
            calendar: true,
            growing_path: one(draw),
            session_path: one(draw),
            soft_404: one(draw),
            ..Traps::default()
        };
    }
    site
}

fn draw_habits(draw: &mut Draw, style: UrlStyle) -> Habits {
    let mut one = || draw.below(3) == 0;
    let session = one().then_some("sid");
    Habits {
        share: 30,
        session,
        sessions: 2,
        tracking: if one() { 2 } else { 0 },
        index_html: one(),
        slash: one(),
        case: one(),
        order: one(),
        print: one(),
        story: style == UrlStyle::Story,
        decoy: one(),
    }
}

fn make_touchy(draw: &mut Draw, site: &mut SiteSpec) {
    match draw.below(4) {
        0 => {
            let (base, spread) = (Duration::from_secs(2), Duration::from_secs(3));
            site.latency = Latency { base, spread, rate: 20_000 };
        }
        1 => {
            let seconds = 1 + draw.below(10) as u32;
            site.robots = vec![(Duration::ZERO, RobotsAnswer::rules(&[], Some(seconds)))];
        }
        2 => {
            site.robots = vec![
                (Duration::ZERO, RobotsAnswer::Status(503)),
                (Duration::from_secs(600), RobotsAnswer::rules(&["/private/"], None)),
            ];
        }
        _ => {
            site.faults.busy = Some(Busy {
                first: Duration::from_secs(10 + draw.below(600)),
                length: Duration::from_secs(5 + draw.below(120)),
                every: Duration::from_secs(900),
                status: if draw.below(2) == 0 { 429 } else { 503 },
                retry_after: match draw.below(3) {
                    0 => RetryAfter::None,
                    1 => RetryAfter::Seconds,
                    _ => RetryAfter::Date,
                },
            });
        }
    }
}

fn make_sick(draw: &mut Draw, site: &mut SiteSpec) {
    match draw.below(8) {
        0 => site.faults.refused = true,
        1 => site.faults.silent = true,
        2 => site.dns.answer = DnsAnswer::NotFound,
        3 => site.dns.answer = DnsAnswer::Fails,
        4 => site.dns.answer = DnsAnswer::Private([10, 0, 0, 1].into()),
        5 => site.faults.gone = 200,
        6 => site.faults.errors = 100,
        _ => (site.faults.closed, site.faults.truncated) = (50, 50),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet, VecDeque};

    use super::*;
    use crate::demo::site::Target;
    use crate::demo::{DocumentId, Truth};

    #[test]
    fn the_demonstration_has_the_size_that_it_promises() {
        let web = demo_web();
        let documents: usize = (0..8).map(|host| web.documents(host).count()).sum();
        assert_eq!(web.hosts().len(), 8);
        assert!((550..=650).contains(&documents), "{documents} documents");
        // What the patient and the slow host have takes seconds each.
        assert!(web.documents(5).count() <= 10 && web.documents(6).count() <= 30);
    }

    #[test]
    fn the_demonstration_ends_within_about_a_minute_at_ten_requests_a_second() {
        let web = demo_web();
        let mut queue: VecDeque<_> = web.homes().into();
        let mut seen: HashSet<_> = queue.iter().cloned().collect();
        let mut requests = BTreeMap::new();
        while let Some(url) = queue.pop_front() {
            *requests.entry(url.host_str().to_owned()).or_insert(0) += 1;
            let Some(Truth::Document { .. }) = web.truth(&url) else { continue };
            let site = web.site_of(url.host_str()).unwrap();
            let Target::Document { number, session, .. } = site.parse(url.path_and_query()) else {
                panic!("{url}");
            };
            for link in site.links(number, session.as_deref()) {
                let Ok(link) = url.join(&link.href) else { continue };
                if seen.insert(link.clone()) {
                    queue.push_back(link);
                }
            }
        }
        assert!(requests.values().all(|count| *count <= 500), "{requests:?}");
        assert!(requests.values().sum::<u32>() > 1_300, "{requests:?}");
    }

    #[test]
    fn a_drawn_web_is_decided_by_its_seed() {
        let draft = Draft { hosts: 300, ..Draft::default() };
        let (one, same, other) =
            (WebSpec::draw(1, &draft), WebSpec::draw(1, &draft), WebSpec::draw(2, &draft));
        assert_eq!(format!("{:?}", one.hosts()), format!("{:?}", same.hosts()));
        assert_ne!(format!("{:?}", one.hosts()), format!("{:?}", other.hosts()));
        let names: HashSet<_> = one.hosts().iter().map(|site| &site.name).collect();
        assert_eq!(names.len(), 300);
        let dead = one.hosts().iter().filter(|site| site.is_dead()).count();
        assert!((1..40).contains(&dead), "{dead} dead hosts");
    }

    #[test]
    fn sites_share_addresses_where_the_draft_says_so() {
        let web = WebSpec::draw(1, &Draft { hosts_per_address: 10, ..Draft::default() });
        let addresses: HashSet<_> = web.hosts().iter().map(|site| site.address).collect();
        assert_eq!(addresses.len(), 10);
    }

    #[test]
    fn the_sick_have_no_documents_to_miss() {
        let mut site = SiteSpec::new("a.test", 40);
        site.faults.gone = 500;
        let web = WebSpec::new(1, vec![site]);
        let there = web.documents(0).count();
        assert!(there > 4 && there < 40, "{there}");
        let gone = (0..40).filter(|number| {
            let url = web.url(DocumentId { host: 0, number: *number }).unwrap();
            web.truth(&url) == Some(Truth::Gone)
        });
        assert_eq!(gone.count(), 40 - there);
    }
}
