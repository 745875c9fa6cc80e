//! What the operator may say about scope and limits.

use serde::{Deserialize, Serialize};

use crate::clock::ByteSize;

/// Settings of the five gates. A limit of zero means: no limit.
///
/// Patterns of `include`, `exclude` and `only` are one of
/// - `docs.example.org`: this host;
/// - `.example.org`: this domain and every host below it;
/// - `http://example.org/a/`: every URL that starts so, http or https, any port;
/// - `regex:[?&]replytocom=`: a regular expression, searched for anywhere in the normal form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Settings {
    /// What belongs to the crawl, measured from the seeds: `host`, `domain`, `prefix` or `any`.
    /// `host` by default, for it is what most people mean by a site.
    pub scope: Scope,
    /// Patterns that belong to the crawl besides the scope. Limits still hold.
    pub include: Vec<String>,
    /// Patterns that never belong to it; stronger than everything else, seeds included.
    pub exclude: Vec<String>,
    /// If not empty, a page must match one of these patterns as well; seeds, what they redirect to,
    /// embeds and the sitemaps that robots.txt names need not.
    pub only: Vec<String>,
    /// Scope of what a page needs to be shown (images, styles, scripts) and of what that redirects
    /// to: `any`, `domain`, `host` (both of the page), `scope` or `none`. `any` by default, so that
    /// archived pages are whole. A page to which a link leads as well is a page.
    pub embeds: Embeds,
    /// Most embeds in a row (a style that imports a style), whether redirects lie between them or
    /// not; 5 suffices for all real pages.
    pub embed_hops_max: u16,
    /// A seed's redirect to another host takes the scope with it, so that `example.org` may lead
    /// to `www.example.org`.
    pub seed_redirects: bool,
    /// Most links from a seed; a seed may have a lower limit of its own. High by default: long
    /// lists are paged, and traps are recognised by their content long before.
    pub hops_max: u16,
    /// Most redirects in a row; 20 is where browsers stop. They cost no hops, so that only this
    /// ends a chain that grows for ever.
    pub redirects_max: u16,
    /// Longest URL in bytes; 2048 is what servers and browsers have in common.
    pub url_length_max: u32,
    /// Most segments of a path.
    pub path_depth_max: u16,
    /// How often one segment may occur in a path; relative links gone wrong repeat without end.
    pub path_repeat_max: u16,
    /// Most parameters of a query.
    pub parameters_max: u16,
    /// Most pages fetched per host.
    pub host_pages_max: u64,
    /// Most bytes fetched per host.
    pub host_bytes_max: ByteSize,
    /// Most pages fetched in all.
    pub total_pages_max: u64,
    /// Most bytes fetched in all.
    pub total_bytes_max: ByteSize,
    /// Content types to archive: `text/html`, `image/*` or `*`.
    pub archive_types: Vec<String>,
    /// Statuses to archive: `200`, `4xx` or `*`. Errors are facts about the web too.
    pub archive_statuses: Vec<String>,
    /// Longest body to archive, before decoding.
    pub archive_bytes_max: ByteSize,
    /// A page that says noarchive is not archived.
    pub obey_noarchive: bool,
    /// Content types to search for links. An answer without a type is searched, and so is what was
    /// found as a sitemap.
    pub extract_types: Vec<String>,
    /// Longest body to search for links, after decoding. For sitemaps and feeds
    /// `extract.sitemap_max` holds instead.
    pub extract_bytes_max: ByteSize,
    /// Links on 4xx and 5xx pages are extracted too. Off: error pages link to each other.
    pub extract_errors: bool,
    /// Links of a page that says nofollow (meta robots, X-Robots-Tag) are not followed.
    pub obey_page_nofollow: bool,
    /// Links with rel=nofollow are not followed.
    pub obey_link_nofollow: bool,
    /// Links of a page whose text is known already: `auto` follows them unless the host is showing
    /// many duplicates, `always`, `never`. Its parts, such as pictures, are asked for in any case
    /// where their address has no query.
    pub follow_duplicates: Duplicates,
}

impl Default for Settings {
    fn default() -> Self {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Settings {
            scope: Scope::Host,
            include: Vec::new(),
            exclude: Vec::new(),
            only: Vec::new(),
            embeds: Embeds::Any,
            embed_hops_max: 5,
            seed_redirects: true,
            hops_max: 100,
            redirects_max: 20,
            url_length_max: 2048,
            path_depth_max: 32,
            path_repeat_max: 3,
            parameters_max: 64,
            host_pages_max: 0,
            host_bytes_max: ByteSize(0),
            total_pages_max: 0,
            total_bytes_max: ByteSize(0),
            archive_types: texts(&["*"]),
            archive_statuses: texts(&["*"]),
            archive_bytes_max: ByteSize(0),
            obey_noarchive: true,
            extract_types: texts(&[
                "text/html",
                "application/xhtml+xml",
                "text/css",
                "text/xml",
                "application/xml",
                "application/rss+xml",
                "application/atom+xml",
                "application/rdf+xml",
                "application/gzip",
                "application/x-gzip",
                "text/plain",
                "image/svg+xml",
            ]),
            extract_bytes_max: ByteSize::mib(16),
            extract_errors: false,
            obey_page_nofollow: true,
            obey_link_nofollow: true,
            follow_duplicates: Duplicates::Auto,
        }
    }
}

/// What belongs to the crawl, measured from the seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Hosts of seeds; schemes and ports do not matter.
    Host,
    /// Registrable domains of seeds with all hosts below them.
    Domain,
    /// The folder of each seed and what lies below it.
    Prefix,
    /// Everything.
    Any,
}

/// What a page may need and get, measured from the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Embeds {
    /// From anywhere.
    Any,
    /// From the page's registrable domain, or within the scope.
    Domain,
    /// From the page's host, or within the scope.
    Host,
    /// Within the scope.
    Scope,
    /// Nothing.
    None,
}

/// Whether links of a page with known text are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Duplicates {
    /// Unless the host is showing many duplicates.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
