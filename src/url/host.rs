//! The three ways in which URLs belong together: by host, by origin, by site.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A canonical host name or IP literal: lower case, ASCII, no trailing dot; IPv6 in brackets.
///
/// The unit of politeness: all ports and schemes of one name share one host.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Host(Arc<str>);

impl Host {
    /// Wraps a host that is already canonical, as [`super::CrawlUrl::host_str`] returns it.
    pub fn new(canonical: &str) -> Self {
        Host(Arc::from(canonical))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the address if the host is an IP literal.
    pub fn ip(&self) -> Option<std::net::IpAddr> {
        self.0.trim_start_matches('[').trim_end_matches(']').parse().ok()
    }

    /// Returns the registrable domain (public suffix plus one label), or the host itself where
    /// there is none: IP literals, single labels and public suffixes.
    pub fn site(&self) -> Site {
        if self.ip().is_some() {
            return Site(self.0.clone());
        }
        match psl::domain_str(&self.0) {
            Some(domain) if domain.len() < self.0.len() => Site(Arc::from(domain)),
            _ => Site(self.0.clone()),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// A registrable domain: what one owner holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Site(Arc<str>);

impl Site {
    /// Wraps a registrable domain that is already canonical.
    pub fn new(canonical: &str) -> Self {
        Site(Arc::from(canonical))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Scheme, host and port: the unit of robots.txt (RFC 9309 §2.3).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Origin {
    /// True for https.
    pub https: bool,
    /// The host.
    pub host: Host,
    /// The port, the scheme's default included.
    pub port: u16,
}

impl Origin {
    /// Returns the URL of a path at this origin; `path` starts with a slash.
    pub fn url_text(&self, path: &str) -> String {
        format!("{self}{path}")
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, default) = if self.https { ("https", 443) } else { ("http", 80) };
        write!(f, "{scheme}://{}", self.host)?;
        if self.port == default { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}
