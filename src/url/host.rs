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

    /// Reads the host that a person names, in any spelling: capitals, letters beyond ASCII, a final
    /// dot, an address. `None` for what is more than a host, such as a URL or a port, and for what
    /// no host can be called.
    pub fn named(text: &str) -> Option<Self> {
        // Only an address of IPv6, in brackets, has colons.
        let has_port = text.contains(':') && !text.ends_with(']');
        let is_bare = !has_port && !text.contains(['/', '\\', '?', '#', '@']);
        // The parser would drop white space, and so read another name.
        if text.is_empty() || !is_bare || text.contains(char::is_whitespace) {
            return None;
        }
        let url = super::CrawlUrl::parse(&format!("http://{text}/")).ok()?;
        Some(url.host()).filter(Host::is_valid)
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true for what can be the name of a host; files may say anything.
    pub fn is_valid(&self) -> bool {
        is_name(&self.0)
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

    /// Returns true where hosts below the name belong to the site; those below a public suffix, or
    /// an address, do not.
    pub fn has_hosts_below(&self) -> bool {
        let below = super::CrawlUrl::parse(&format!("http://below.{}/", self.0));
        below.is_ok_and(|below| below.site() == *self)
    }

    /// Returns true for what can be the name of a host; files may say anything.
    pub fn is_valid(&self) -> bool {
        is_name(&self.0)
    }
}

/// Bytes of a host's name at most (RFC 1035 §2.3.4).
const NAME_MAX: usize = 255;

/// Returns true for what has nothing that could end a word or a line where it is written.
fn is_name(name: &str) -> bool {
    let of_host = |b: u8| b.is_ascii_alphanumeric() || b".-_[]:".contains(&b);
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(of_host)
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

#[cfg(test)]
mod tests {
    use crate::url::CrawlUrl;

    fn check(url: &str, site: &str, origin: &str) {
        let url = CrawlUrl::parse(url).unwrap();
        assert_eq!(url.site().as_str(), site, "{url}");
        assert_eq!(url.origin().to_string(), origin, "{url}");
    }

    #[test]
    fn a_site_is_what_one_owner_registered() {
        check("http://www.a.example.co.uk/x", "example.co.uk", "http://www.a.example.co.uk");
        check("https://Example.com.:8443/", "example.com", "https://example.com:8443");
        check("http://b\u{fc}cher.de/", "xn--bcher-kva.de", "http://xn--bcher-kva.de");
        check("http://me.github.io/", "me.github.io", "http://me.github.io");
        check("http://x.unknown-suffix/", "x.unknown-suffix", "http://x.unknown-suffix");
    }

    #[test]
    fn a_host_without_an_owner_is_its_own_site() {
        for host in ["localhost", "com", "co.uk", "127.0.0.1", "[2001:db8::1]", "a..b", ".com"] {
            let url = CrawlUrl::parse(&format!("http://{host}/")).unwrap();
            let site = url.site();
            assert!(host.ends_with(site.as_str()) && !site.as_str().is_empty(), "{host} {site}");
        }
        check("http://127.0.0.1:80/", "127.0.0.1", "http://127.0.0.1");
        check("http://[2001:DB8::1]/", "[2001:db8::1]", "http://[2001:db8::1]");
        check("http://co.uk/", "co.uk", "http://co.uk");
        check("http://localhost/", "localhost", "http://localhost");
    }

    #[test]
    fn only_an_ip_literal_has_an_address() {
        let ip = |url: &str| CrawlUrl::parse(url).unwrap().host().ip().map(|ip| ip.to_string());
        assert_eq!(ip("http://0x7f.1/").as_deref(), Some("127.0.0.1"));
        assert_eq!(ip("http://[::ffff:127.0.0.1]/").as_deref(), Some("::ffff:127.0.0.1"));
        assert_eq!(ip("http://127.0.0.1.example/"), None);
    }
}
