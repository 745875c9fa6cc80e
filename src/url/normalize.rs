//! Parsing and syntax normalization (WHATWG URL; RFC 3986 §6.2.2).

use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;
use xxhash_rust::xxh3::xxh3_128;

use super::{Host, Origin, Site, surt};

/// Why a text is not a URL that can be crawled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// Not a URL by the WHATWG rules.
    #[error("not a URL: {0}")]
    Syntax(url::ParseError),
    /// A scheme other than http and https.
    #[error("scheme `{0}` is not crawled, only http and https")]
    Scheme(String),
    /// No host, or an empty one.
    #[error("no host")]
    Host,
}

/// A 128-bit hash of a canonical URL: the key under which it is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fingerprint(pub u128);

impl Fingerprint {
    /// Returns the fingerprint of any text that serves as a key.
    pub fn of(text: &str) -> Self {
        Fingerprint(xxh3_128(text.as_bytes()))
    }

    /// Returns the 16 bytes, most significant first, so that they sort as numbers.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An absolute http or https URL in normal form: no fragment, no userinfo, idempotent.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CrawlUrl(Url);

impl CrawlUrl {
    /// Parses and normalizes an absolute URL.
    ///
    /// # Errors
    /// Returns why the text cannot be crawled.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        Self::from_url(Url::parse(text).map_err(UrlError::Syntax)?)
    }

    /// Resolves `reference` against this URL and normalizes the outcome.
    ///
    /// # Errors
    /// Returns why the outcome cannot be crawled.
    pub fn join(&self, reference: &str) -> Result<Self, UrlError> {
        Self::from_url(self.0.join(reference).map_err(UrlError::Syntax)?)
    }

    /// Normalizes a parsed URL.
    ///
    /// # Errors
    /// Returns why it cannot be crawled.
    pub fn from_url(mut url: Url) -> Result<Self, UrlError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(UrlError::Scheme(url.scheme().to_owned()));
        }
        url.set_fragment(None);
        if !url.username().is_empty() || url.password().is_some() {
            url.set_username("").map_err(|()| UrlError::Host)?;
            url.set_password(None).map_err(|()| UrlError::Host)?;
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(UrlError::Host);
        }
        Ok(CrawlUrl(url))
    }

    /// Returns the normal form.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the parsed URL.
    pub fn as_url(&self) -> &Url {
        &self.0
    }

    /// Returns true for https.
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Returns the canonical host name or IP literal.
    pub fn host_str(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Returns the host.
    pub fn host(&self) -> Host {
        Host::new(self.host_str())
    }

    /// Returns the port, the scheme's default included.
    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or(0)
    }

    /// Returns scheme, host and port.
    pub fn origin(&self) -> Origin {
        Origin { https: self.is_https(), host: self.host(), port: self.port() }
    }

    /// Returns the registrable domain.
    pub fn site(&self) -> Site {
        self.host().site()
    }

    /// Returns the path, which starts with a slash.
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// Returns path and query as they stand on the request line.
    pub fn path_and_query(&self) -> &str {
        &self.0[url::Position::BeforePath..url::Position::AfterQuery]
    }

    /// Returns the hash of the normal form.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.as_str())
    }

    /// Returns the SURT key, as CDXJ indexes have it.
    pub fn surt(&self) -> String {
        surt(self)
    }
}

impl fmt::Display for CrawlUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for CrawlUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl Serialize for CrawlUrl {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for CrawlUrl {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        CrawlUrl::parse(&text).map_err(serde::de::Error::custom)
    }
}
