//! Fetching one URL once: the [`Fetch`] trait, what it is asked and what it answers.
//!
//! What the web does wrong is a value here ([`Failure`]), never an error. A fetch follows no
//! redirect, consults no robots.txt and waits for nobody: those are decisions, and decisions are
//! made in the core. Every fetch ends within its wall-clock limit (I8).
//!
//! [`HyperFetch`] is the real one. Its ways: `connect` makes a stream to exactly the addresses of
//! the request, `http1` and `http2` speak on it, `recorder` keeps the bytes for the archive, `body`
//! reads within the limits, `coding` undoes compression within its own, `pool` keeps connections
//! for the next request to the same origin. [`Failure::retry`] says what a failure means.

mod body;
mod chunked;
mod client;
mod coding;
mod connect;
mod failure;
mod frames;
mod http1;
mod http2;
mod pool;
mod proxy;
mod recorder;
mod request;
mod roots;
mod settings;
mod signature;
mod turns;

pub use client::{FetchError, HyperFetch};
pub use failure::RetryPolicy;
pub use proxy::Proxy;
pub use request::{mail_of, user_agent};
pub use settings::Settings;
pub use signature::{DIRECTORY_PATH, SignatureError, SigningKey};

use std::future::Future;
use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::url::CrawlUrl;

/// One GET to make. Only a lease gives the right to make it (I1).
#[derive(Clone, Debug)]
pub struct Request {
    /// What to fetch.
    pub url: CrawlUrl,
    /// Addresses of its host, already checked; connect to these and to no others.
    pub addresses: Vec<IpAddr>,
    /// What it is for; robots.txt has limits of its own.
    pub purpose: Purpose,
    /// `If-None-Match` to send.
    pub etag: Option<String>,
    /// `If-Modified-Since` to send, as the server wrote it.
    pub last_modified: Option<String>,
    /// Whether a connection is opened for it, even if one is kept: the last one may have closed on
    /// this very request.
    pub fresh: bool,
}

/// What a fetch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// A URL of the frontier.
    Page,
    /// The robots.txt of an origin, or what it redirects to.
    Robots,
    /// A sample that tests a DUST rule or a soft error.
    Probe,
}

/// What came of one fetch.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The server answered with a status and headers, and perhaps with all of a body.
    Answer(Box<Answer>),
    /// No usable answer.
    Failed(Failed),
}

impl Outcome {
    /// Returns true if the server says that it is asked too much, or cannot serve anybody now.
    pub fn is_busy(&self) -> bool {
        match self {
            Outcome::Answer(answer) => matches!(answer.status, 429 | 503),
            Outcome::Failed(failed) => failed.failure == Failure::EnhanceYourCalm,
        }
    }
}

/// A failure with what there is to archive and to count.
#[derive(Clone, Debug)]
pub struct Failed {
    /// The class, which decides about waiting and trying again.
    pub failure: Failure,
    /// One line for the log: what, and where in the exchange. Never a credential.
    pub detail: String,
    /// When the request began.
    pub began: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// The address that was tried last.
    pub address: Option<IpAddr>,
    /// The request block, if it was sent.
    pub request_block: Option<Bytes>,
    /// Bytes of an answer that could not be used (nonsense status line, endless header).
    pub received: Bytes,
}

/// Why there is no usable answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Failure {
    /// The name does not exist or has no address.
    DnsNotFound,
    /// Name servers failed or were silent.
    DnsFailed,
    /// Every address is private, loopback or otherwise refused.
    AddressRefused,
    /// TCP connection refused or unreachable.
    ConnectFailed,
    /// TCP connection not made in time.
    ConnectTimeout,
    /// Certificate not valid for this name, time or chain.
    TlsCertificate,
    /// TLS handshake failed otherwise.
    TlsFailed,
    /// TLS handshake not finished in time.
    TlsTimeout,
    /// The proxy refused or failed; never worked around.
    ProxyFailed,
    /// No header block in time.
    FirstByteTimeout,
    /// Connection closed or reset before a header block.
    ClosedEarly,
    /// A connection that was kept open closed on the request, without a byte of an answer: the
    /// server may have been about to close it, or it has worked on the request, which no one can
    /// tell. So the next try has a lease of its own.
    KeptClosed,
    /// The server says in HTTP/2 that it is asked too much: what 429 says elsewhere.
    EnhanceYourCalm,
    /// Header block too large.
    HeadTooLarge,
    /// Not HTTP, or HTTP that must be rejected.
    ProtocolError,
    /// The whole fetch took too long and left nothing to keep.
    Timeout,
    /// Our own network or descriptors failed; the host is not to blame.
    LocalFailure,
}

/// Why a body is shorter than the server meant it to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Truncated {
    /// Longer than the limit (WARC-Truncated: length).
    Length,
    /// Took longer than the limit or came too slowly (WARC-Truncated: time).
    Time,
    /// Cut off by the server (WARC-Truncated: disconnect).
    Disconnect,
    /// The transfer coding was broken (WARC-Truncated: unspecified).
    Unspecified,
    /// The content coding was broken or a bomb. All that was sent is there, so that a record of it
    /// is whole; what could be read of it is not.
    Undecoded,
}

/// An HTTP answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Status code, 100-999; never 1xx.
    pub status: u16,
    /// `HTTP/1.0`, `HTTP/1.1` or `HTTP/2`.
    pub version: HttpVersion,
    /// Headers in order, names in lower case, values as bytes.
    pub headers: Vec<(String, Bytes)>,
    /// The request as sent (for HTTP/2 its HTTP/1.1 rendering), blank line included.
    pub request_block: Bytes,
    /// Status line and headers as received (for HTTP/2 rendered as HTTP/1.1), blank line included.
    pub head_block: Bytes,
    /// The body as it stood on the wire after the head: transfer coding and content coding intact.
    pub wire_body: Bytes,
    /// The body without transfer coding, content coding intact: what a payload digest covers.
    pub payload: Bytes,
    /// The body without content coding: what is parsed.
    pub body: Bytes,
    /// Whether the body is short, and why.
    pub truncated: Option<Truncated>,
    /// The address that answered.
    pub address: IpAddr,
    /// TLS protocol and cipher suite, if any.
    pub tls: Option<(String, String)>,
    /// When the request began.
    pub began: Timestamp,
    /// How long each part took.
    pub timing: Timing,
    /// The server asks for a signed request, and the next one to it will be signed.
    pub asked_to_sign: bool,
}

impl Answer {
    /// Returns true if all came that was sent, whether or not it could be read.
    pub fn is_whole(&self) -> bool {
        matches!(self.truncated, None | Some(Truncated::Undecoded))
    }

    /// Returns the first value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| &value[..])
    }

    /// Returns the first value of a header as text, bytes outside ASCII replaced.
    pub fn header_text(&self, name: &str) -> Option<String> {
        self.header(name).map(|value| String::from_utf8_lossy(value).trim().to_owned())
    }

    /// Returns all values of a header as text.
    pub fn header_texts<'a>(&'a self, name: &'a str) -> impl Iterator<Item = String> + 'a {
        let values = self.headers.iter().filter(move |(n, _)| n == name);
        values.map(|(_, value)| String::from_utf8_lossy(value).trim().to_owned())
    }

    /// Returns the first value of a header that names URLs. Where it is not UTF-8, its bytes
    /// outside ASCII are percent-encoded: the server knows its resource by them, as browsers
    /// assume.
    pub fn header_url(&self, name: &str) -> Option<String> {
        self.header(name).map(url_text)
    }

    /// Returns all values of a header that names URLs, as [`Answer::header_url`] does.
    pub fn header_urls<'a>(&'a self, name: &'a str) -> impl Iterator<Item = String> + 'a {
        let values = self.headers.iter().filter(move |(n, _)| n == name);
        values.map(|(_, value)| url_text(value))
    }
}

/// Returns the value of a header that names URLs, as [`Answer::header_url`] does.
pub(crate) fn url_text(value: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(value) {
        return text.trim().to_owned();
    }
    let mut text = String::with_capacity(value.len());
    for &byte in value.trim_ascii() {
        if byte.is_ascii() {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

/// HTTP version of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HttpVersion {
    /// HTTP/1.0.
    #[serde(rename = "HTTP/1.0")]
    Http10,
    /// HTTP/1.1.
    #[serde(rename = "HTTP/1.1")]
    Http11,
    /// HTTP/2.
    #[serde(rename = "HTTP/2")]
    Http2,
}

/// Durations of the parts of a fetch; zero for a part that a kept connection made unnecessary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// TCP connection.
    pub connect: Duration,
    /// TLS handshake.
    pub tls: Duration,
    /// From the request's last byte to the head's last.
    pub first_byte: Duration,
    /// All of it, connection included.
    pub total: Duration,
}

/// Makes requests.
pub trait Fetch: Send + Sync + 'static {
    /// Makes one request and returns what came of it, within the limits.
    fn fetch(&self, request: Request) -> impl Future<Output = Outcome> + Send;
}
