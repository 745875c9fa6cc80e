//! What a site asks of robots: robots.txt by RFC 9309, meta robots and X-Robots-Tag.
//!
//! [`Robots`] is the part of one robots.txt that concerns us, small enough to keep for every
//! origin; [`Entry`] is what we know of an origin's robots.txt at a time, failures included;
//! [`Directives`] is what a page says about itself. All are plain values: fetching, waiting and
//! storing are done by others. A file of any bytes can be read: whatever is no rule is passed over.
//!
//! Upholds the robots part of **I8**: bytes read, bytes of a line and memory are bounded, and a
//! verdict costs microseconds however the file is made.
//!
//! Does not decide how long to wait between requests: `crawl_delay` is the site's wish as it
//! stands, and `frontier` honours it.
//!
//! Sources: RFC 9309; where it is silent, the behaviour of Google's reference parser
//! (github.com/google/robotstxt); Crawl-delay and Clean-param as Yandex documents them; the meta
//! tag and the header as Google documents them.

mod cache;
mod directives;
mod entry;
mod parse;
mod pattern;
mod rules;

pub use cache::DecodeError;
pub use directives::Directives;
pub(crate) use directives::words_for_us;
pub use entry::{Entry, FetchedRobots, Settings, Validators, after_fetch};
pub use parse::product_token;
pub(crate) use pattern::octets_matched;
pub use rules::{Robots, Signal, SignalScope, Verdict};

use crate::url::CrawlUrl;

/// Returns the URL of the robots.txt that speaks for `url`: same scheme, host and port
/// (RFC 9309 §2.3).
pub fn robots_url(url: &CrawlUrl) -> String {
    url.origin().url_text("/robots.txt")
}
