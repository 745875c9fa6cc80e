//! URLs as the crawler knows them: parsed by the WHATWG rules, normalized by RFC 3986 syntax only.
//!
//! [`CrawlUrl`] is the only form of a URL behind the extractor. Nothing here may change which
//! resource a URL names: dropping parameters, sorting them, removing slashes or `index.html` are
//! rules, and rules must be proved (`dust`). Userinfo is dropped at the door, so that no credential
//! is ever sent on or logged.
//!
//! Two keys sort by reversed host: [`surt`], which loses nothing and serves scopes, and
//! [`cdx_key`], which folds much and serves the look-ups of a replayer, never the crawl.

mod cdx;
mod host;
mod normalize;
pub(crate) mod query;
mod surt;

pub use cdx::cdx_key;
pub use host::{Host, Origin, Site};
pub(crate) use normalize::escaped_byte;
pub use normalize::{CrawlUrl, Fingerprint, UrlError, resolve, resolve_from};
pub use surt::{surt, surt_prefix};
