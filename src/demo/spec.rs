//! The description of a synthetic site: what it holds, how it behaves, and what it does wrong.

use std::net::IpAddr;
use std::time::Duration;

use encoding_rs::{Encoding, UTF_8};

/// One synthetic site.
///
/// A plain value; start from [`SiteSpec::new`] and change fields.
#[derive(Clone, Debug)]
pub struct SiteSpec {
    /// Canonical host name.
    pub name: String,
    /// Other host names that serve the same; links use them now and then.
    pub aliases: Vec<String>,
    /// A name that decides all content instead of its own: sites with one such name and the same
    /// shape are mirrors.
    pub twin: Option<String>,
    /// Documents, home included; every one reachable from home. At least 1.
    pub pages: u32,
    /// Documents that no page links to and only the sitemap names.
    pub orphans: u32,
    /// Documents under `/private/`, linked from home.
    pub private_pages: u32,
    /// Documents that each document links down to: the depth of the site is log(pages) by this.
    pub fanout: u32,
    /// Further links to documents of the same site, per page.
    pub links: u32,
    /// Links to documents of other sites, per page.
    pub cross_links: u32,
    /// Per mille of further links that lead nowhere (404).
    pub dead_links: u32,
    /// Form of the URLs.
    pub style: UrlStyle,
    /// Words of main text, from and to.
    pub words: (u32, u32),
    /// Words of text that every page repeats around the main text.
    pub boilerplate_words: u32,
    /// What the text is written in.
    pub language: Language,
    /// How the text is coded.
    pub charset: Charset,
    /// A line around the text that differs from URL to URL (a counter, a date).
    pub volatile_line: bool,
    /// Per mille of documents that repeat another document but for a few words.
    pub near_replicas: u32,
    /// Tells the canonical URL in the head of each page.
    pub canonical_links: bool,
    /// Has an RSS feed of its first documents.
    pub feed: bool,
    /// Has links and pages that ask crawlers not to follow or to archive: under `/quiet/`.
    pub directives: bool,
    /// Has a style sheet, images and files.
    pub assets: bool,
    /// Codes answers with gzip for those who accept it.
    pub gzip: bool,
    /// Sends answers in chunks, without Content-Length.
    pub chunked: bool,
    /// Serves https too (in process only).
    pub https: bool,
    /// Habits that give one document many URLs.
    pub habits: Habits,
    /// Commits of a repository that is shown at each of them, under `/git/`; 0: there is none.
    pub commits: u32,
    /// Boards of tasks, sorted and cut into pages, under `/board/`.
    pub boards: u32,
    /// What documents say of their URLs in a No-Vary-Search header, true or not.
    pub no_vary_search: Option<&'static str>,
    /// Endless spaces.
    pub traps: Traps,
    /// Failures.
    pub faults: Faults,
    /// Redirects.
    pub redirects: Redirects,
    /// robots.txt from a time on, by the time since the web began; sorted. Empty: 404.
    pub robots: Vec<(Duration, RobotsAnswer)>,
    /// Sitemap.
    pub sitemap: Sitemap,
    /// Time to an answer.
    pub latency: Latency,
    /// The name in the DNS.
    pub dns: DnsSpec,
    /// Its address; none: one of the web's own choice.
    pub address: Option<IpAddr>,
    /// Size of one huge page, linked from home; 0: none.
    pub huge_bytes: u64,
    /// Per mille of documents with broken markup.
    pub broken_markup: u32,
}

impl SiteSpec {
    /// Returns a plain, healthy site of folders and pages.
    pub fn new(name: &str, pages: u32) -> Self {
        SiteSpec {
            name: name.to_owned(),
            aliases: Vec::new(),
            twin: None,
            pages: pages.max(1),
            orphans: 0,
            private_pages: 0,
            fanout: 12,
            links: 4,
            cross_links: 1,
            dead_links: 0,
            style: UrlStyle::Folders,
            words: (60, 160),
            boilerplate_words: 30,
            language: Language::Latin,
            charset: Charset::default(),
            volatile_line: false,
            near_replicas: 0,
            canonical_links: false,
            feed: false,
            directives: false,
            assets: false,
            gzip: false,
            chunked: false,
            https: false,
            habits: Habits::default(),
            commits: 0,
            boards: 0,
            no_vary_search: None,
            traps: Traps::default(),
            faults: Faults::default(),
            redirects: Redirects::default(),
            robots: Vec::new(),
            sitemap: Sitemap::None,
            latency: Latency::default(),
            dns: DnsSpec::default(),
            address: None,
            huge_bytes: 0,
            broken_markup: 0,
        }
    }

    /// Returns true if nothing can ever be fetched from it.
    pub fn is_dead(&self) -> bool {
        let faults = &self.faults;
        let named = matches!(self.dns.answer, DnsAnswer::Address | DnsAnswer::Changing(_));
        faults.refused || faults.silent || !named
    }

    /// Returns robots.txt as it stands `elapsed` after the web began.
    pub fn robots_at(&self, elapsed: Duration) -> &RobotsAnswer {
        let current = self.robots.iter().rev().find(|(from, _)| *from <= elapsed);
        current.map_or(&RobotsAnswer::Status(404), |(_, answer)| answer)
    }
}

/// Form of a site's URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UrlStyle {
    /// `/topic-3/page-17.html`
    Folders,
    /// `/view.php?topic=3&id=17`
    Query,
    /// `/story_17`
    Story,
}

/// What a text is written in; the words mean nothing in any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// ASCII letters.
    Latin,
    /// Latin letters with accents, all within windows-1252.
    Accented,
    /// Cyrillic letters, all within windows-1251 and KOI8-R.
    Cyrillic,
    /// Ideographs without spaces, all within Shift_JIS, EUC-JP and GB18030.
    Ideographs,
}

/// How a text becomes bytes, and where the page says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charset {
    /// The encoding; UTF-16 is not written by the library and counts as UTF-8.
    pub encoding: &'static Encoding,
    /// Content-Type has it.
    pub in_header: bool,
    /// A meta element has it.
    pub in_page: bool,
}

impl Default for Charset {
    fn default() -> Self {
        Charset { encoding: UTF_8, in_header: true, in_page: true }
    }
}

/// Habits that give one document many URLs: what DUST rules are to find.
#[derive(Clone, Debug, Default)]
pub struct Habits {
    /// Per cent of links that show a habit.
    pub share: u32,
    /// Name of a session parameter; pages pass on the one they were asked with.
    pub session: Option<&'static str>,
    /// How many different session ids the site gives out.
    pub sessions: u32,
    /// How many different `utm_source` values there are; 0: no tracking parameters.
    pub tracking: u32,
    /// `/` and `/index.html` are the same.
    pub index_html: bool,
    /// Folders with and without a final slash are the same; otherwise the latter redirects.
    pub slash: bool,
    /// Letter case does not matter in paths.
    pub case: bool,
    /// Parameters come in any order.
    pub order: bool,
    /// `print=1` gives the same text in another frame.
    pub print: bool,
    /// `/story?id=17` and `/story_17` are the same.
    pub story: bool,
    /// A parameter that looks idle but selects another text: what a rule must not touch.
    pub decoy: bool,
}

/// Spaces without end.
#[derive(Clone, Debug, Default)]
pub struct Traps {
    /// A calendar with links to the next and the previous month for ever.
    pub calendar: bool,
    /// A relative link that makes the path longer each time.
    pub growing_path: bool,
    /// A part of the site with a new session id in the path of every link.
    pub session_path: bool,
    /// A shop that lists some of its sixty goods in any order, by endlessly many choices.
    pub facets: bool,
    /// Twenty texts under endlessly many paths, a few words of them others each time.
    pub edited: bool,
    /// Short and long lists that can be put into any order by up to three of their columns.
    pub sorted: bool,
    /// Unknown paths answer 200 with an apology, and there are links to such paths.
    pub soft_404: bool,
}

/// What goes wrong. Shares are per mille of requests; whether one is hit is decided by the URL and
/// the minute, so that a later attempt has another fate.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// No connection is accepted.
    pub refused: bool,
    /// Connections are accepted and nothing is ever answered.
    pub silent: bool,
    /// Connections closed before an answer.
    pub closed: u32,
    /// Bodies cut off in the middle.
    pub truncated: u32,
    /// 500 and 503 in turn.
    pub errors: u32,
    /// Per mille of childless documents that are gone for good (410).
    pub gone: u32,
    /// A request sooner than this after the last one's beginning gets 429, robots.txt excepted:
    /// a host that defends itself.
    pub hurried: Option<Duration>,
    /// Times at which every request gets 429 (or 503) with Retry-After.
    pub busy: Option<Busy>,
}

/// Bursts of refusal.
#[derive(Clone, Copy, Debug)]
pub struct Busy {
    /// When the first burst begins, after the web began.
    pub first: Duration,
    /// How long a burst lasts.
    pub length: Duration,
    /// From the beginning of one burst to the next; zero: there is only one.
    pub every: Duration,
    /// 429 or 503.
    pub status: u16,
    /// How Retry-After is written.
    pub retry_after: RetryAfter,
}

impl Busy {
    /// Returns how much longer a burst lasts, or `None` outside of bursts.
    pub fn remaining(&self, elapsed: Duration) -> Option<Duration> {
        let since = elapsed.checked_sub(self.first)?;
        let every = self.every.as_millis();
        let into = match every {
            0 => since,
            _ => Duration::from_millis((since.as_millis() % every) as u64),
        };
        self.length.checked_sub(into).filter(|left| !left.is_zero())
    }
}

/// How Retry-After is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// Not at all.
    None,
    /// Seconds until the end of the burst, rounded up.
    Seconds,
    /// The HTTP date of its end, rounded up.
    Date,
}

/// Redirects.
#[derive(Clone, Debug, Default)]
pub struct Redirects {
    /// Per cent of further links that lead through a redirect.
    pub share: u32,
    /// Redirects in a row before the page.
    pub chain: u32,
    /// A link from home into a loop of redirects.
    pub looping: bool,
    /// A link from home that redirects to another host.
    pub cross_host: bool,
    /// Links from home that redirect to private addresses, other schemes and nonsense.
    pub hostile: bool,
}

/// What robots.txt answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RobotsAnswer {
    /// 200 with this text; sitemap lines are added where the site has a sitemap.
    Text(String),
    /// Another status with no text.
    Status(u16),
    /// A redirect to this URL or path.
    Redirect(String),
}

impl RobotsAnswer {
    /// Returns rules for everybody: what is disallowed, and a Crawl-delay.
    pub fn rules(disallow: &[&str], crawl_delay: Option<u32>) -> Self {
        let mut text = String::from("User-agent: *\n");
        for path in disallow {
            text.push_str(&format!("Disallow: {path}\n"));
        }
        if disallow.is_empty() {
            text.push_str("Disallow:\n");
        }
        if let Some(seconds) = crawl_delay {
            text.push_str(&format!("Crawl-delay: {seconds}\n"));
        }
        RobotsAnswer::Text(text)
    }
}

/// Sitemaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sitemap {
    /// None.
    None,
    /// One file, or an index with files of 1,000 URLs where one is too small.
    Plain,
    /// The same, but the files are compressed.
    Gzip,
}

/// Time to an answer.
#[derive(Clone, Copy, Debug)]
pub struct Latency {
    /// The least.
    pub base: Duration,
    /// What a URL may need above it.
    pub spread: Duration,
    /// Bytes of body a second; 0: at once.
    pub rate: u64,
}

impl Default for Latency {
    fn default() -> Self {
        Latency { base: Duration::from_millis(20), spread: Duration::from_millis(60), rate: 0 }
    }
}

/// A site's name in the DNS.
#[derive(Clone, Debug)]
pub struct DnsSpec {
    /// What is answered.
    pub answer: DnsAnswer,
    /// How long it may be kept.
    pub ttl: Duration,
    /// How long it takes.
    pub latency: Duration,
}

impl Default for DnsSpec {
    fn default() -> Self {
        DnsSpec {
            answer: DnsAnswer::Address,
            ttl: Duration::from_secs(3600),
            latency: Duration::from_millis(5),
        }
    }
}

/// What a name server says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DnsAnswer {
    /// The address of the site.
    Address,
    /// One address and another in turn, each for this long.
    Changing(Duration),
    /// An address that no crawler should connect to.
    Private(IpAddr),
    /// NXDOMAIN.
    NotFound,
    /// SERVFAIL.
    Fails,
    /// Nothing.
    Silent,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_come_and_go() {
        let secs = Duration::from_secs;
        let busy = |every| Busy {
            first: secs(10),
            length: secs(5),
            every: secs(every),
            status: 429,
            retry_after: RetryAfter::Seconds,
        };
        for (every, at, want) in [
            (0, 9, None),
            (0, 10, Some(5)),
            (0, 14, Some(1)),
            (0, 15, None),
            (60, 15, None),
            (60, 71, Some(4)),
        ] {
            assert_eq!(busy(every).remaining(secs(at)), want.map(secs), "{every} {at}");
        }
    }

    #[test]
    fn robots_change_with_time() {
        let mut site = SiteSpec::new("a.test", 1);
        assert_eq!(site.robots_at(Duration::ZERO), &RobotsAnswer::Status(404));
        site.robots = vec![
            (Duration::ZERO, RobotsAnswer::rules(&[], Some(2))),
            (Duration::from_secs(60), RobotsAnswer::Status(503)),
        ];
        let text = "User-agent: *\nDisallow:\nCrawl-delay: 2\n".to_owned();
        assert_eq!(site.robots_at(Duration::from_secs(59)), &RobotsAnswer::Text(text));
        assert_eq!(site.robots_at(Duration::from_secs(60)), &RobotsAnswer::Status(503));
    }
}
