//! What the archive is given: one visit, or one answer of a name server.

use std::net::IpAddr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::fetch::{Outcome, Purpose};
use crate::url::{CrawlUrl, Host};

/// One visit, as the archive keeps it.
#[derive(Clone, Debug)]
pub struct Capture {
    /// The URL as it was fetched.
    pub url: CrawlUrl,
    /// What came of it.
    pub outcome: Arc<Outcome>,
    /// What the fetch was for.
    pub purpose: Purpose,
    /// Discovery path from the seed, one letter a hop (Heritrix); empty for a seed.
    pub path: String,
    /// The page that led here.
    pub via: Option<CrawlUrl>,
    /// Version of the rule set that judged the URL.
    pub rule_version: u64,
    /// What robots.txt said, in a few words.
    pub robots: Option<String>,
    /// Usage preferences that hold for this URL from elsewhere than its own headers (robots.txt,
    /// meta elements): name and raw value. Those in the headers are found by the archive.
    pub usage: Vec<(String, String)>,
    /// Character encoding that the page was read in.
    pub charset: Option<String>,
    /// An earlier record with the same payload.
    pub revisit: Option<RevisitOf>,
    /// Further fields of the metadata record: name and value.
    pub extra: Vec<(String, String)>,
}

impl Capture {
    /// Returns the capture of a seed with nothing further known; the rest is filled in by field.
    pub fn new(url: CrawlUrl, outcome: Arc<Outcome>) -> Self {
        Capture {
            url,
            outcome,
            purpose: Purpose::Page,
            path: String::new(),
            via: None,
            rule_version: 0,
            robots: None,
            usage: Vec::new(),
            charset: None,
            revisit: None,
            extra: Vec::new(),
        }
    }
}

/// The earlier record that a revisit record points to (WARC/1.1 §6.7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevisitOf {
    /// Its target URI.
    pub uri: String,
    /// Its WARC date: [`Written::date`](super::Written).
    pub date: Timestamp,
    /// Its record id without angle brackets, if known.
    pub record_id: Option<String>,
    /// Its payload digest, `sha1:` and base 32; required for [`Profile::IdenticalPayload`].
    pub payload_digest: Option<String>,
    /// Why nothing new is stored.
    pub profile: Profile,
}

/// Why a visit yields a revisit record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The payload has the digest of an earlier one.
    IdenticalPayload,
    /// The server answered 304.
    ServerNotModified,
}

impl Profile {
    /// Returns the URI that names the profile in a record.
    pub fn uri(self) -> &'static str {
        match self {
            Profile::IdenticalPayload => {
                "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
            }
            Profile::ServerNotModified => {
                "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
            }
        }
    }
}

/// What a name server said of a host.
#[derive(Clone, Debug)]
pub struct DnsCapture {
    /// The name asked for.
    pub host: Host,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
    /// How long the answer may be kept, in seconds.
    pub ttl: u32,
    /// The name server, if known.
    pub server: Option<IpAddr>,
    /// When it was asked.
    pub asked: Timestamp,
}
