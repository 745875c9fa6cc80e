//! A web of synthetic sites, and the truth about it.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use crate::url::CrawlUrl;

use super::draw::{hash, mix};
use super::site::{Quiet, Site, Target};
use super::spec::{DnsAnswer, SiteSpec};

/// First address that is given out where a site names none: 198.18.0.0/15 belongs to nobody, being
/// set aside for measurements of network devices (RFC 2544).
const FIRST_ADDRESS: u32 = 0xc612_0000;

/// How many addresses there are from the first.
const ADDRESSES: u32 = 1 << 17;

/// Many synthetic sites and one seed that decides everything they say.
///
/// Nothing of a page is stored: a million pages on 100,000 hosts cost what the descriptions of the
/// hosts cost. The same seed and sites answer the same for ever.
#[derive(Clone, Debug)]
pub struct WebSpec {
    seed: u64,
    port: u16,
    hosts: Vec<SiteSpec>,
    by_name: HashMap<String, u32>,
}

/// One document of the web, however many URLs it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocumentId {
    /// Index of its site.
    pub host: u32,
    /// Number within the site; 0 is home.
    pub number: u32,
}

/// What a URL of the web leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Truth {
    /// A document.
    Document {
        /// Which one.
        id: DocumentId,
        /// True if this is its canonical URL; false for one of its other URLs (DUST).
        canonical: bool,
    },
    /// A document that is gone for good.
    Gone,
    /// A page under `/private/`.
    Private,
    /// A page that asks crawlers not to follow its links, or not to archive it.
    Quiet,
    /// A page to which only links lead that are not to be followed.
    Unwanted,
    /// A feed.
    Feed,
    /// robots.txt.
    Robots,
    /// A sitemap, or a part of one.
    Sitemap,
    /// A style sheet, image or file.
    Asset,
    /// The huge page.
    Huge,
    /// A redirect.
    Redirect,
    /// A page of an endless space.
    Trap,
    /// A page of the repository.
    Repository {
        /// Which of its texts the page shows; none where it lists them, or shows a part of one.
        text: Option<u32>,
    },
    /// A page of a board of tasks.
    Board {
        /// A number for the set of tasks that it shows, in any order.
        tasks: u64,
    },
    /// An error page, hidden behind 200 if `soft`.
    Error {
        /// True if the status is 200.
        soft: bool,
    },
}

impl WebSpec {
    /// Makes a web on port 80. Of two sites with one name the first is found.
    pub fn new(seed: u64, hosts: Vec<SiteSpec>) -> Self {
        let mut by_name = HashMap::new();
        for (index, site) in (0u32..).zip(&hosts) {
            for name in std::iter::once(&site.name).chain(&site.aliases) {
                by_name.entry(name.clone()).or_insert(index);
            }
        }
        WebSpec { seed, port: 80, hosts, by_name }
    }

    /// Returns this web on another port, which becomes part of its URLs.
    pub fn with_port(self, port: u16) -> Self {
        WebSpec { port, ..self }
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the sites in order.
    pub fn hosts(&self) -> &[SiteSpec] {
        &self.hosts
    }

    /// Returns all host names in order, aliases behind their site, with the index of the site.
    pub fn names(&self) -> impl Iterator<Item = (&str, u32)> {
        (0u32..).zip(&self.hosts).flat_map(|(index, site)| {
            let names = std::iter::once(&site.name).chain(&site.aliases);
            names.map(move |name| (name.as_str(), index))
        })
    }

    /// Returns the home URL of every site: enough seeds to find everything.
    pub fn homes(&self) -> Vec<CrawlUrl> {
        (0u32..)
            .zip(&self.hosts)
            .filter_map(|(host, _)| self.url(DocumentId { host, number: 0 }))
            .collect()
    }

    /// Returns what a URL leads to, or `None` outside of this web.
    pub fn truth(&self, url: &CrawlUrl) -> Option<Truth> {
        let site = self.site_of(url.host_str())?;
        if url.port() != self.port_for(url.is_https()) || (url.is_https() && !site.spec.https) {
            return None;
        }
        Some(match site.parse(url.path_and_query()) {
            Target::Document { number, .. } if site.is_gone(number) => Truth::Gone,
            Target::Document { number, .. } => {
                let id = DocumentId { host: site.index, number };
                let canonical = self.url(id).is_some_and(|canonical| canonical == *url);
                Truth::Document { id, canonical }
            }
            Target::Private(_) => Truth::Private,
            Target::Quiet(Quiet::Behind(_)) => Truth::Unwanted,
            Target::Quiet(Quiet::Meta | Quiet::Header) => Truth::Quiet,
            Target::Feed => Truth::Feed,
            Target::Robots => Truth::Robots,
            Target::Sitemap(_) => Truth::Sitemap,
            Target::Style | Target::Image(_) | Target::Paper(_) => Truth::Asset,
            Target::Huge => Truth::Huge,
            Target::Redirect { .. } => Truth::Redirect,
            Target::Calendar(_)
            | Target::Growing(_)
            | Target::SessionPath { .. }
            | Target::Facets(_)
            | Target::Edited(_)
            | Target::Sorted(..) => Truth::Trap,
            Target::Browsed(page) => Truth::Repository { text: site.version_of(page) },
            Target::Board(shown) => Truth::Board { tasks: shown.set() },
            Target::Unknown => Truth::Error { soft: site.spec.traps.soft_404 },
        })
    }

    /// Returns every document that a complete crawl of a site must have: those linked from home,
    /// those in the sitemap, and none if the site is dead.
    pub fn documents(&self, host: u32) -> impl Iterator<Item = DocumentId> + '_ {
        let site = self.site(host).filter(|site| !site.spec.is_dead());
        site.into_iter().flat_map(move |site| {
            let gone = move |number: &u32| !site.is_gone(*number);
            site.numbers().filter(gone).map(move |number| DocumentId { host, number })
        })
    }

    /// Returns the numbers of the texts that the repository of a site has.
    pub fn repository_texts(&self, host: u32) -> impl Iterator<Item = u32> + '_ {
        self.site(host).into_iter().flat_map(|site| site.versions())
    }

    /// Returns the numbers of the sets of tasks that pages of a site's boards show.
    pub fn sets_of_tasks(&self, host: u32) -> impl Iterator<Item = u64> + '_ {
        self.site(host).into_iter().flat_map(|site| site.sets_of_tasks())
    }

    /// Returns the canonical URL of a document.
    pub fn url(&self, id: DocumentId) -> Option<CrawlUrl> {
        let site = self.site(id.host)?;
        let path = site.canonical(id.number);
        CrawlUrl::parse(&format!("{}{path}", self.origin(&site.spec.name))).ok()
    }

    /// Returns the main text of a document, one paragraph a line.
    pub fn text(&self, id: DocumentId) -> Option<String> {
        self.site(id.host).map(|site| site.main_text(id.number))
    }

    /// Returns the URLs, DUST and all, that the pages of one document may link to; for building
    /// expectations without fetching.
    pub fn links(&self, id: DocumentId) -> Vec<CrawlUrl> {
        let (Some(site), Some(base)) = (self.site(id.host), self.url(id)) else {
            return Vec::new();
        };
        let links = site.links(id.number, None);
        links.iter().filter_map(|link| base.join(&link.href).ok()).collect()
    }

    /// Returns the address of a host name `elapsed` after the web began, or why there is none.
    pub(super) fn address(&self, name: &str, elapsed: Duration) -> Result<IpAddr, DnsAnswer> {
        let Some(site) = self.site_of(name) else { return Err(DnsAnswer::NotFound) };
        match &site.spec.dns.answer {
            DnsAnswer::Address => Ok(self.own_address(site.index)),
            DnsAnswer::Changing(every) => {
                let turn = elapsed.as_millis() / every.as_millis().max(1);
                let odd = turn % 2 == 1;
                let index = if odd { self.neighbour(site.index) } else { site.index };
                Ok(self.own_address(index))
            }
            other => Err(other.clone()),
        }
    }

    /// Returns another site's index, always the same one: the next that accepts connections.
    fn neighbour(&self, index: u32) -> u32 {
        let count = (self.hosts.len() as u32).max(1);
        let mut others = (1..count).map(|step| (index + step) % count);
        let open = |other: &u32| !self.hosts[*other as usize].faults.refused;
        others.find(open).unwrap_or(index)
    }

    fn own_address(&self, index: u32) -> IpAddr {
        let own = self.hosts.get(index as usize).and_then(|site| site.address);
        own.unwrap_or_else(|| numbered_address(index))
    }

    /// Gives every site without an address one of these in turn, and `nobody` to those that refuse
    /// connections.
    pub(super) fn place(&mut self, addresses: &[IpAddr], nobody: IpAddr) {
        let mut turn = addresses.iter().cycle();
        for site in &mut self.hosts {
            if site.faults.refused {
                site.address = Some(nobody);
            } else if site.address.is_none() {
                site.address = turn.next().copied();
            }
        }
    }

    pub(super) fn site(&self, index: u32) -> Option<Site<'_>> {
        let spec = self.hosts.get(index as usize)?;
        let name = spec.twin.as_ref().unwrap_or(&spec.name);
        Some(Site { web: self, index, spec, seed: mix(self.seed, hash(self.seed, name)) })
    }

    pub(super) fn site_of(&self, name: &str) -> Option<Site<'_>> {
        self.site(*self.by_name.get(name)?)
    }

    /// Returns the origin of a host name as links write it.
    pub(super) fn origin(&self, name: &str) -> String {
        match self.port {
            80 => format!("http://{name}"),
            port => format!("http://{name}:{port}"),
        }
    }

    /// Returns the port on which a scheme is served.
    pub(super) fn port_for(&self, https: bool) -> u16 {
        if https { 443 } else { self.port }
    }
}

/// Returns one of the addresses that belong to nobody.
pub(super) fn numbered_address(index: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from(FIRST_ADDRESS + index % ADDRESSES))
}
