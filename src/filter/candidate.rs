//! What the gates are asked about.

use crate::url::CrawlUrl;

/// How a URL was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Found {
    /// Given by the operator.
    Seed,
    /// A link to another page.
    Link,
    /// Something the page needs to be shown.
    Embed,
    /// Where a redirect leads.
    Redirect,
    /// A sitemap, named by robots.txt or by an index; what it lists are links.
    Manifest,
    /// Derived otherwise. Nothing is at present: canonical links and alternates are links.
    Inferred,
}

/// A URL before the schedule gate.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The URL as found, in normal form.
    pub url: &'a CrawlUrl,
    /// The page it was found on; none for a seed.
    pub via: Option<&'a CrawlUrl>,
    /// How it was found.
    pub found: Found,
    /// Links followed from the seed, this one included. Redirects and embeds add nothing.
    pub hops: u16,
    /// Most links from its seed, where the seed has a limit of its own.
    pub hops_max: Option<u16>,
    /// Embeds in a row at the end of the path from the seed, this one included; redirects between
    /// and behind them do not end the row. A redirect with such a row is that of an embed.
    pub embed_hops: u16,
    /// Redirects in a row at the end of the path from the seed, this one included.
    pub redirects: u16,
    /// True if nothing but redirects lies between a seed and this URL.
    pub from_seed: bool,
    /// True for a sitemap that robots.txt names, also by an index or a redirect.
    pub declared: bool,
    /// True if the link says rel=nofollow.
    pub nofollow: bool,
}

impl<'a> Candidate<'a> {
    /// Returns a seed.
    pub fn seed(url: &'a CrawlUrl) -> Self {
        let (found, from_seed) = (Found::Seed, true);
        Candidate {
            url,
            via: None,
            found,
            hops: 0,
            hops_max: None,
            embed_hops: 0,
            redirects: 0,
            from_seed,
            declared: false,
            nofollow: false,
        }
    }

    /// Returns a plain link of a page.
    pub fn link(url: &'a CrawlUrl, via: &'a CrawlUrl, hops: u16) -> Self {
        let (found, via) = (Found::Link, Some(via));
        Candidate {
            url,
            via,
            found,
            hops,
            hops_max: None,
            embed_hops: 0,
            redirects: 0,
            from_seed: false,
            declared: false,
            nofollow: false,
        }
    }
}

/// What a host, or the crawl, has used up: fetches begun and bytes received. Counting fetches when
/// they begin keeps a budget exact, however many are in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Pages fetched.
    pub pages: u64,
    /// Bytes received.
    pub bytes: u64,
}

/// What a page asks of crawlers, from meta robots and X-Robots-Tag together, and what is known of
/// its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Directives {
    /// Says nofollow or none.
    pub nofollow: bool,
    /// Says noarchive.
    pub noarchive: bool,
    /// Its text is known already.
    pub duplicate: bool,
    /// Its host is showing many duplicates now.
    pub host_duplicates: bool,
    /// It was fetched to speak for others that rules suppress.
    pub audit: bool,
    /// It is an error page with a status of success.
    pub soft_error: bool,
}
