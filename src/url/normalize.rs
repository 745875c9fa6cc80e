//! Parsing and syntax normalization (WHATWG URL; RFC 3986 §6.2.2).
//!
//! The WHATWG parser already lower-cases scheme and host, decodes and checks the host (IDN, IPv4 in
//! all its spellings, IPv6), drops the default port, and resolves dot segments, `%2e` among them.
//! What it leaves alone and RFC 3986 calls equivalent is done here: hexadecimal digits of an escape
//! in upper case, escaped unreserved characters decoded. `^` in a path is escaped, as WHATWG has
//! asked for since 2023 and the crate does not. A host loses its trailing dots: they only keep a
//! resolver from trying search domains, which ours never does.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use url::{EncodingOverride, Url};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::{Host, Origin, Site, cdx_key, surt};

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
///
/// Of a URL the first 32 bits are the hash of its host, so that the rows of one host stand side by
/// side wherever this is a key: the links of a page, most of which lead to its own host, are then
/// found in a few blocks, however many URLs are known. The other 96 bits are of the whole URL.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fingerprint(pub u128);

impl Fingerprint {
    /// Returns the fingerprint of any text that serves as a key.
    pub fn of(text: &str) -> Self {
        Fingerprint(xxh3_128(text.as_bytes()))
    }

    /// Returns the fingerprint of a URL in normal form, of which `host` is the host.
    pub fn of_url(host: &str, url: &str) -> Self {
        let host = xxh3_64(host.as_bytes()) as u32;
        Fingerprint(u128::from(host) << 96 | xxh3_128(url.as_bytes()) >> 32)
    }

    /// Returns 64 bits that number a page where the whole is too long: the last ones, since the
    /// first are its host's.
    pub fn short(self) -> u64 {
        self.0 as u64
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

/// Ports that are not fetched from, in order (WHATWG Fetch, "bad port").
const BAD_PORTS: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
];

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
        Self::from_url(resolve(&self.0, reference).map_err(UrlError::Syntax)?)
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
        drop_trailing_dots(&mut url)?;
        if url.path().contains('^') {
            let path = url.path().replace('^', "%5E");
            url.set_path(&path);
        }
        if let Cow::Owned(path) = normalize_escapes(url.path()) {
            url.set_path(&path);
        }
        if let Some(Cow::Owned(query)) = url.query().map(normalize_escapes) {
            url.set_query(Some(&query));
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

    /// Returns true if no browser would connect to the port: what listens there speaks mail, shell
    /// or another protocol, in which a request could be made to mean something.
    pub fn has_bad_port(&self) -> bool {
        BAD_PORTS.binary_search(&self.port()).is_ok()
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

    /// Returns the query without its question mark: `None` without one, `Some("")` after one alone.
    pub fn query(&self) -> Option<&str> {
        self.0.query()
    }

    /// Returns path and query as they stand on the request line.
    pub fn path_and_query(&self) -> &str {
        &self.0[url::Position::BeforePath..url::Position::AfterQuery]
    }

    /// Returns the hash of the normal form.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_url(self.host_str(), self.as_str())
    }

    /// Returns the key of this URL in a CDXJ index, exactly as pywb computes it; see [`cdx_key`].
    ///
    /// Different URLs share a key, so it serves look-ups only; [`super::surt`] loses nothing.
    pub fn surt(&self) -> String {
        // Only a port that is no number has no key, and a parsed URL has none such.
        cdx_key(self.as_str()).unwrap_or_else(|| surt(self))
    }
}

/// Resolves a reference as browsers do, without normalizing the outcome: for base URLs that are no
/// [`CrawlUrl`], such as those of a document's `base` element.
///
/// # Errors
/// Returns what is wrong with the reference.
pub fn resolve(base: &Url, reference: &str) -> Result<Url, url::ParseError> {
    resolve_from(base, reference, None)
}

/// Resolves a reference as [`resolve`] does, found in a document of another encoding than UTF-8, in
/// which `encode` encodes its query.
///
/// # Errors
/// Returns what is wrong with the reference.
pub fn resolve_from(
    base: &Url,
    reference: &str,
    encode: EncodingOverride<'_>,
) -> Result<Url, url::ParseError> {
    let options = Url::options().base_url(Some(base)).encoding_override(encode);
    options.parse(reference).or_else(|error| {
        // WHATWG passes over any number of slashes before the host; the crate over two only.
        let bare = reference.trim_start_matches(|c: char| c <= ' ');
        let host = bare.trim_start_matches(['/', '\\', '\t', '\n', '\r']);
        let slashes = bare[..bare.len() - host.len()].matches(['/', '\\']).count();
        if slashes < 3 || !matches!(base.scheme(), "http" | "https") {
            return Err(error);
        }
        options.parse(&format!("//{host}"))
    })
}

/// Takes the trailing dots off the host; what is left is parsed again, for it may be an address.
fn drop_trailing_dots(url: &mut Url) -> Result<(), UrlError> {
    let host = url.host_str().unwrap_or_default();
    let name = host.trim_end_matches('.');
    if name.is_empty() {
        return Err(UrlError::Host);
    }
    if name.len() < host.len() {
        let name = name.to_owned();
        url.set_host(Some(&name)).map_err(UrlError::Syntax)?;
    }
    Ok(())
}

/// Upper-cases the digits of every escape and decodes those of unreserved characters.
///
/// Borrows where nothing is to be done, which is nearly always.
fn normalize_escapes(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let first = memchr::memchr_iter(b'%', bytes).find(|&at| {
        let shouts = |digit: &u8| !digit.is_ascii_lowercase();
        escaped_byte(bytes, at)
            .is_some_and(|byte| is_unreserved(byte) || !bytes[at + 1..at + 3].iter().all(shouts))
    });
    match first {
        None => Cow::Borrowed(text),
        Some(at) => Cow::Owned(rewrite_escapes(text, at)),
    }
}

/// Rewrites `text` from the escape at `start` on.
fn rewrite_escapes(text: &str, start: usize) -> String {
    let bytes = text.as_bytes();
    let mut out = String::with_capacity(text.len());
    let (mut copied, mut at) = (0, start);
    while let Some(found) = memchr::memchr(b'%', &bytes[at..]) {
        at += found;
        let Some(byte) = escaped_byte(bytes, at) else {
            at += 1;
            continue;
        };
        out.push_str(&text[copied..at]);
        if is_unreserved(byte) && !completes_an_escape(out.as_bytes(), byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.extend(bytes[at + 1..at + 3].iter().map(|b| char::from(b.to_ascii_uppercase())));
        }
        at += 3;
        copied = at;
    }
    out.push_str(&text[copied..]);
    out
}

/// Returns the byte that the escape at `at` stands for, if there is one.
pub(crate) fn escaped_byte(bytes: &[u8], at: usize) -> Option<u8> {
    let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
    Some((digit(at + 1)? * 16 + digit(at + 2)?) as u8)
}

/// Returns true if `byte` would turn a stray percent sign before it into an escape, as the `1` of
/// `%4%31` would: it must stay encoded, or another pass would read another URL.
fn completes_an_escape(before: &[u8], byte: u8) -> bool {
    byte.is_ascii_hexdigit()
        && match before {
            // Two digits after the sign are a whole escape already.
            [.., b'%', last] if last.is_ascii_hexdigit() => true,
            [.., b'%'] => true,
            _ => false,
        }
}

/// RFC 3986 §2.3.
const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(input: &str, want: &str) {
        let url = CrawlUrl::parse(input).unwrap_or_else(|error| panic!("{input}: {error}"));
        assert_eq!(url.as_str(), want, "{input}");
        assert_eq!(CrawlUrl::parse(want).as_ref(), Ok(&url), "normalizing {want} again");
    }

    #[test]
    fn equivalent_spellings_become_one() {
        for (input, want) in [
            (
                "HTTP://Example.COM:80/%7euser/%c3%a9?q=%41%2f#top",
                "http://example.com/~user/%C3%A9?q=A%2F",
            ),
            ("https://user:secret@example.com:443", "https://example.com/"),
            ("http://example.com./a", "http://example.com/a"),
            ("http://example.com.../a", "http://example.com/a"),
            ("http://ex%61mple.com:8080/a/./b/../c", "http://example.com:8080/a/c"),
            ("http://B\u{fc}cher.example/", "http://xn--bcher-kva.example/"),
            ("http://[2001:DB8:0::1]:80/", "http://[2001:db8::1]/"),
            ("http://0x7f.1../", "http://127.0.0.1/"),
            ("http://a/%2E%2e/%2e/b%2E%2e%2e", "http://a/b..."),
            ("http://a/^%5e?^", "http://a/%5E%5E?^"),
        ] {
            check(input, want);
        }
    }

    #[test]
    fn what_may_name_another_resource_stays() {
        for url in [
            "http://example.com/a//b/",
            "http://example.com/index.html?b=2&a=1&&",
            "http://example.com/?",
            "http://example.com/a%2Fb%3Fc?d%26e=%2B+",
            "http://example.com/100%",
            "http://example.com:81/",
            "http://www.example.com/?PHPSESSID=1",
        ] {
            check(url, url);
        }
    }

    #[test]
    fn a_stray_percent_sign_never_grows_into_an_escape() {
        check("http://a/%4%31", "http://a/%4%31");
        check("http://a/%%34%31", "http://a/%%341");
        check("http://a/%%2d?%%7a%4%7E", "http://a/%-?%z%4~");
        check("http://a/%25%34%31", "http://a/%2541");
        check("http://a/%2%35%61", "http://a/%2%35a");
    }

    #[test]
    fn what_cannot_be_crawled_is_refused_with_its_reason() {
        for (input, want) in [
            ("ftp://example.com/", "scheme `ftp` is not crawled, only http and https"),
            ("mailto:a@example.com", "scheme `mailto` is not crawled, only http and https"),
            ("http://./", "no host"),
            ("http://256.256.256.256/", "not a URL: invalid IPv4 address"),
            ("/a", "not a URL: relative URL without a base"),
        ] {
            let error = CrawlUrl::parse(input).err().map(|error| error.to_string());
            assert_eq!(error.as_deref(), Some(want), "{input}");
        }
    }

    #[test]
    fn references_are_resolved_before_they_are_normalized() {
        let base = CrawlUrl::parse("http://example.com/a/b?c").unwrap();
        for (reference, want) in [
            ("../%7Ex#y", "http://example.com/~x"),
            ("?%64", "http://example.com/a/b?d"),
            ("//user@other.test.:80", "http://other.test/"),
            ("", "http://example.com/a/b?c"),
            ("///other.test/x", "http://other.test/x"),
            (" /\\\t//other.test\\x", "http://other.test/x"),
        ] {
            assert_eq!(base.join(reference).unwrap().as_str(), want, "{reference}");
        }
    }

    proptest! {
        #[test]
        fn normalizing_twice_is_normalizing_once(
            host in "(%?[a-cA-C0-9.]{1,3}){1,4}|\\PC{1,8}",
            path in "([%a-fA-F0-9./?;~ é\\\\-]|%[2-7][0-9a-fA-F]){0,30}",
            any in "\\PC{0,20}",
        ) {
            let texts =
                [format!("http://{host}/{path}"), format!("https://a.b/{path}?{any}{path}")];
            for text in texts {
                if let Ok(once) = CrawlUrl::parse(&text) {
                    let twice = CrawlUrl::parse(once.as_str());
                    prop_assert_eq!(twice.as_ref(), Ok(&once), "{}", text);
                    prop_assert!(!once.host_str().ends_with('.'));
                }
            }
        }

        #[test]
        fn decoding_a_normal_form_gives_what_decoding_the_original_gives(
            path in "(%?[a-zA-Z0-9/._~-]|%[2-7][0-9a-fA-F]){0,30}",
        ) {
            let decode = |text: &str| {
                let (bytes, mut at) = (text.as_bytes(), 0);
                let mut out = Vec::new();
                while at < bytes.len() {
                    let escape = if bytes[at] == b'%' { escaped_byte(bytes, at) } else { None };
                    out.push(escape.unwrap_or(bytes[at]));
                    at += if escape.is_some() { 3 } else { 1 };
                }
                out
            };
            prop_assert_eq!(decode(&normalize_escapes(&path)), decode(&path));
        }
    }
}
