//! From a capture to the records that keep it, as bytes ready to be appended.
//!
//! Digests and compression are done here, by whoever calls, so that many captures can be encoded at
//! once while one task appends. Nothing here depends on where in a file the bytes will stand.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use uuid::Uuid;

use super::capture::{Capture, DnsCapture, Profile, RevisitOf};
use super::cdxj::{Entry, Source};
use super::digest::payload_digest;
use super::http::{Dechunker, is_chunked, is_coded, payload};
use super::record::{Form, Kind, Record, WarcFields, urn};
use super::{About, RevisitPolicy, Settings};
use crate::clock::Timestamp;
use crate::fetch::{Answer, Failed, HttpVersion, Outcome, Purpose, Truncated};

/// Something to be archived.
#[derive(Clone, Debug)]
pub(super) enum Item {
    Visit(Arc<Capture>),
    Dns(Arc<DnsCapture>),
}

impl Item {
    /// Returns when the exchange began: the date of all its records.
    pub(super) fn date(&self) -> Timestamp {
        match self {
            Item::Visit(capture) => match &*capture.outcome {
                Outcome::Answer(answer) => answer.began,
                Outcome::Failed(failed) => failed.began,
            },
            Item::Dns(dns) => dns.asked,
        }
    }

    /// Returns about how many bytes must be digested and compressed.
    pub(super) fn weight(&self) -> usize {
        match self {
            Item::Visit(capture) => match &*capture.outcome {
                Outcome::Answer(answer) => answer.head_block.len() + answer.wire_body.len(),
                Outcome::Failed(_) => 0,
            },
            Item::Dns(_) => 0,
        }
    }
}

/// The records of one item, one behind the other. The first is the one that is referred to.
#[derive(Clone, Debug)]
pub(super) struct Encoded {
    pub(super) bytes: Vec<u8>,
    /// Length of the first record.
    pub(super) first_length: u64,
    pub(super) record_id: Uuid,
    pub(super) date: Timestamp,
    pub(super) payload_digest: Option<String>,
    pub(super) entry: Option<Entry>,
    pub(super) is_revisit: bool,
    /// The warcinfo record that the fields name.
    pub(super) warcinfo: Uuid,
}

/// Encodes items for one archive.
#[derive(Clone, Debug)]
pub(super) struct Encoder {
    pub(super) form: Form,
    pub(super) revisit: RevisitPolicy,
}

impl Encoder {
    pub(super) fn new(settings: &Settings) -> Self {
        let form = Form { compression: settings.compression, level: settings.level };
        Encoder { form, revisit: settings.revisit }
    }

    /// Returns the records of an item, bound to a warcinfo record.
    pub(super) fn encode(&self, item: &Item, warcinfo: Uuid) -> Encoded {
        let date = item.date();
        let batch = Batch { form: self.form, warcinfo, date, day: date.to_rfc3339() };
        match item {
            Item::Dns(dns) => batch.dns(dns),
            Item::Visit(capture) => match &*capture.outcome {
                Outcome::Answer(answer) => batch.answer(capture, answer, self.revisit_of(capture)),
                Outcome::Failed(failed) => batch.failed(capture, failed),
            },
        }
    }

    fn revisit_of<'a>(&self, capture: &'a Capture) -> Option<&'a RevisitOf> {
        let wanted = self.revisit == RevisitPolicy::Identical;
        // Without the digest, a reader could not find the payload: store it again.
        let complete = |of: &&RevisitOf| {
            of.profile == Profile::ServerNotModified || of.payload_digest.is_some()
        };
        capture.revisit.as_ref().filter(|_| wanted).filter(complete)
    }
}

/// What all records of one item share.
struct Batch {
    form: Form,
    warcinfo: Uuid,
    date: Timestamp,
    day: String,
}

impl Batch {
    fn record(&self, kind: Kind, id: Uuid, uri: &str, content_type: &str) -> Record {
        let mut record = Record::new(kind, id, &self.day);
        record.field("WARC-Target-URI", uri);
        record.field("WARC-Warcinfo-ID", &urn(self.warcinfo));
        record.optional("Content-Type", Some(content_type));
        record
    }

    fn answer(&self, capture: &Capture, answer: &Answer, of: Option<&RevisitOf>) -> Encoded {
        let id = Uuid::new_v4();
        let uri = capture.url.as_str();
        let digest = payload_digest(&payload_of(answer));
        let kind = if of.is_some() { Kind::Revisit } else { Kind::Response };
        // A block with status 304 would be replayed as an answer without a body; without a block,
        // replay takes head and body from the record that it refers to.
        let has_head = of.is_none_or(|of| of.profile == Profile::IdenticalPayload);
        let (content_type, head) =
            if has_head { (RESPONSE_TYPE, &answer.head_block[..]) } else { ("", &[][..]) };
        let mut record = self.record(kind, id, uri, content_type);
        connection_fields(&mut record, answer);
        let stated = match of {
            Some(of) => {
                revisit_fields(&mut record, of);
                of.payload_digest.clone()
            }
            None => {
                record.optional("WARC-Truncated", answer.truncated.and_then(truncation));
                Some(digest.clone())
            }
        };
        record.optional("WARC-Payload-Digest", stated.as_deref());
        let body = if of.is_some() { &[][..] } else { &answer.wire_body[..] };
        let mut bytes = Vec::with_capacity(1024 + body.len() / 3);
        let first_length = record.write(&[head, body], self.form, &mut bytes);
        self.request(uri, id, &answer.request_block, Some(answer), &mut bytes);
        let mut fields = answer_metadata(capture, answer);
        if !has_head {
            fields.add("notModifiedHead", answer.head_block.escape_ascii().to_string());
        }
        self.metadata(uri, id, &fields, &mut bytes);
        let entry = Entry::of(&Source {
            kind: kind.as_str(),
            uri,
            date: &self.day,
            content_type,
            payload_digest: stated.as_deref(),
            http_head: head,
        });
        let (date, warcinfo, is_revisit) = (self.date, self.warcinfo, of.is_some());
        let payload_digest = Some(digest);
        Encoded {
            bytes,
            first_length,
            record_id: id,
            date,
            payload_digest,
            entry,
            is_revisit,
            warcinfo,
        }
    }

    fn failed(&self, capture: &Capture, failed: &Failed) -> Encoded {
        let id = Uuid::new_v4();
        let uri = capture.url.as_str();
        let mut bytes = Vec::with_capacity(1024);
        let fields = failure_metadata(capture, failed);
        let mut record = self.record(Kind::Metadata, id, uri, FIELDS_TYPE);
        let address = failed.address.map(|address| address.to_canonical().to_string());
        record.optional("WARC-IP-Address", address.as_deref());
        let first_length = record.write(&[fields.as_bytes()], self.form, &mut bytes);
        if let Some(request) = &failed.request_block {
            self.request(uri, id, request, None, &mut bytes);
        }
        let (date, warcinfo) = (self.date, self.warcinfo);
        Encoded {
            bytes,
            first_length,
            record_id: id,
            date,
            payload_digest: None,
            entry: None,
            is_revisit: false,
            warcinfo,
        }
    }

    fn dns(&self, dns: &DnsCapture) -> Encoded {
        let id = Uuid::new_v4();
        let uri = format!("dns:{}", dns.host);
        let mut block = String::new();
        for address in &dns.addresses {
            let kind = if address.is_ipv4() { "A" } else { "AAAA" };
            // Writing to a String cannot fail.
            let _ = write!(block, "{}.\t{}\tIN\t{kind}\t{address}\r\n", dns.host, dns.ttl);
        }
        let digest = payload_digest(block.as_bytes());
        let mut record = self.record(Kind::Resource, id, &uri, DNS_TYPE);
        let server = dns.server.map(|server| server.to_canonical().to_string());
        record.optional("WARC-IP-Address", server.as_deref());
        record.field("WARC-Payload-Digest", &digest);
        let mut bytes = Vec::with_capacity(512);
        let first_length = record.write(&[block.as_bytes()], self.form, &mut bytes);
        let entry = Entry::of(&Source {
            kind: Kind::Resource.as_str(),
            uri: &uri,
            date: &self.day,
            content_type: DNS_TYPE,
            payload_digest: Some(&digest),
            http_head: &[],
        });
        let (date, warcinfo) = (self.date, self.warcinfo);
        let payload_digest = Some(digest);
        Encoded {
            bytes,
            first_length,
            record_id: id,
            date,
            payload_digest,
            entry,
            is_revisit: false,
            warcinfo,
        }
    }

    fn request(
        &self,
        uri: &str,
        concurrent_to: Uuid,
        block: &[u8],
        answer: Option<&Answer>,
        out: &mut Vec<u8>,
    ) {
        if block.is_empty() {
            return;
        }
        let mut record = self.record(Kind::Request, Uuid::new_v4(), uri, REQUEST_TYPE);
        record.field("WARC-Concurrent-To", &urn(concurrent_to));
        if let Some(answer) = answer {
            connection_fields(&mut record, answer);
        }
        record.write(&[block], self.form, out);
    }

    fn metadata(&self, uri: &str, of: Uuid, fields: &WarcFields, out: &mut Vec<u8>) {
        let mut record = self.record(Kind::Metadata, Uuid::new_v4(), uri, FIELDS_TYPE);
        record.field("WARC-Concurrent-To", &urn(of));
        record.write(&[fields.as_bytes()], self.form, out);
    }
}

const RESPONSE_TYPE: &str = "application/http; msgtype=response";
const REQUEST_TYPE: &str = "application/http; msgtype=request";
const FIELDS_TYPE: &str = "application/warc-fields";
const DNS_TYPE: &str = "text/dns";

/// Field of a warcinfo record with the id of the crawl.
pub(super) const CRAWL_FIELD: &str = "crawl";

/// Returns the warcinfo record that begins a file.
pub(super) fn warcinfo(
    settings: &Settings,
    about: &About,
    id: Uuid,
    filename: &str,
    date: Timestamp,
) -> Vec<u8> {
    let mut record = Record::new(Kind::Warcinfo, id, &date.to_rfc3339());
    record.field("WARC-Filename", filename);
    record.field("Content-Type", FIELDS_TYPE);
    let fields = warcinfo_fields(settings, about);
    let mut bytes = Vec::new();
    record.write(&[fields.as_bytes()], Encoder::new(settings).form, &mut bytes);
    bytes
}

/// Returns what a warcinfo record says of the crawl.
pub(super) fn warcinfo_fields(settings: &Settings, about: &About) -> WarcFields {
    let part = if settings.is_part_of.is_empty() { &settings.prefix } else { &settings.is_part_of };
    let mut fields = WarcFields::default();
    fields.add("software", &about.software);
    fields.add("format", "WARC File Format 1.1");
    let edition = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/";
    fields.add("conformsTo", edition);
    fields.add("isPartOf", part);
    fields.add_some("operator", Some(&settings.operator));
    fields.add_some("contact", Some(&about.contact));
    fields.add_some("description", Some(&settings.description));
    fields.add_some("robots", Some(&about.robots));
    fields.add_some("http-header-user-agent", Some(&about.user_agent));
    fields.add_some(CRAWL_FIELD, about.crawl.map(|id| format!("urn:uuid:{id}")));
    fields
}

/// Returns what the payload digest covers. Chunk framing that was cut off cannot be taken away by
/// those who check the digest, so the bytes as they stand are the payload then.
fn payload_of(answer: &Answer) -> Cow<'_, [u8]> {
    if is_coded(&answer.head_block) {
        return Cow::Owned(payload(&answer.head_block, &answer.wire_body));
    }
    if answer.truncated.is_some() && is_chunked(&answer.head_block) {
        let mut dechunker = Dechunker::default();
        dechunker.push(&answer.wire_body, &mut |_| {});
        if !dechunker.is_complete() {
            return Cow::Borrowed(&answer.wire_body);
        }
    }
    Cow::Borrowed(&answer.payload)
}

fn connection_fields(record: &mut Record, answer: &Answer) {
    record.field("WARC-IP-Address", &answer.address.to_canonical().to_string());
    let protocol = match answer.version {
        HttpVersion::Http10 => "http/1.0",
        HttpVersion::Http11 => "http/1.1",
        HttpVersion::Http2 => "h2",
    };
    record.field("WARC-Protocol", protocol);
    if let Some((_, suite)) = &answer.tls {
        record.field("WARC-Cipher-Suite", &cipher_suite(suite));
    }
}

/// Returns the registered name of a suite; rustls spells those of TLS 1.3 in its own way.
fn cipher_suite(name: &str) -> String {
    name.replacen("TLS13_", "TLS_", 1)
}

fn revisit_fields(record: &mut Record, of: &RevisitOf) {
    record.field("WARC-Profile", of.profile.uri());
    record.field("WARC-Refers-To-Target-URI", &of.uri);
    record.field("WARC-Refers-To-Date", &of.date.to_rfc3339());
    let id = of.record_id.as_ref().map(|id| format!("<{}>", id.trim_matches(['<', '>'])));
    record.optional("WARC-Refers-To", id.as_deref());
    if of.profile == Profile::IdenticalPayload {
        // WARC/1.1 §6.7.2: a block without its payload says so in this way.
        record.field("WARC-Truncated", "length");
    }
}

/// Returns why a block ends early, if it does (WARC/1.1 §5.13).
fn truncation(reason: Truncated) -> Option<&'static str> {
    match reason {
        Truncated::Length => Some("length"),
        Truncated::Time => Some("time"),
        Truncated::Disconnect => Some("disconnect"),
        Truncated::Unspecified => Some("unspecified"),
        Truncated::Undecoded => None,
    }
}

/// Headers by which owners say what may be done with their texts. They are kept raw, and passed on
/// to whoever takes the texts.
pub const USAGE_HEADERS: [&str; 5] =
    ["content-usage", "content-signal", "tdm-reservation", "tdm-policy", "x-robots-tag"];

fn answer_metadata(capture: &Capture, answer: &Answer) -> WarcFields {
    let mut fields = discovery(capture);
    let millis = |span: std::time::Duration| span.as_millis().to_string();
    fields.add("fetchTimeMs", millis(answer.timing.total));
    fields.add("connectTimeMs", millis(answer.timing.connect));
    fields.add("firstByteTimeMs", millis(answer.timing.first_byte));
    if let Some((protocol, _)) = &answer.tls {
        fields.add("tlsTimeMs", millis(answer.timing.tls));
        fields.add("tlsProtocol", protocol);
    }
    fields.add_some("charsetForLinkExtraction", capture.charset.as_ref());
    if capture.revisit.is_none() && answer.truncated.and_then(truncation).is_some() {
        fields.add("bodyBytesKept", answer.wire_body.len().to_string());
    }
    for name in USAGE_HEADERS {
        for value in answer.header_texts(name) {
            fields.add(name, value);
        }
    }
    rest(capture, &mut fields);
    fields
}

fn failure_metadata(capture: &Capture, failed: &Failed) -> WarcFields {
    let mut fields = discovery(capture);
    let name = serde_json::to_value(failed.failure).ok();
    let name = name.as_ref().and_then(|name| name.as_str()).unwrap_or("failed");
    fields.add("fetchFailure", name);
    fields.add_some("fetchFailureDetail", Some(&failed.detail));
    fields.add("fetchTimeMs", failed.took.as_millis().to_string());
    if !failed.received.is_empty() {
        fields.add("receivedBytes", failed.received.len().to_string());
        let start = &failed.received[..failed.received.len().min(RECEIVED_SHOWN_MAX)];
        fields.add("receivedStart", start.escape_ascii().to_string());
    }
    rest(capture, &mut fields);
    fields
}

/// Enough of a broken answer to see what it was.
const RECEIVED_SHOWN_MAX: usize = 1024;

fn discovery(capture: &Capture) -> WarcFields {
    let mut fields = WarcFields::default();
    match &capture.via {
        Some(via) => fields.add("via", via.as_str()),
        None if capture.path.is_empty() => fields.add("seed", "true"),
        None => {}
    }
    fields.add_some("hopsFromSeed", Some(&capture.path));
    match capture.purpose {
        Purpose::Page => {}
        Purpose::Robots => fields.add("purpose", "robots"),
        Purpose::Probe => fields.add("purpose", "probe"),
    }
    fields.add("ruleVersion", capture.rule_version.to_string());
    fields
}

fn rest(capture: &Capture, fields: &mut WarcFields) {
    fields.add_some("robots", capture.robots.as_ref());
    for (name, value) in capture.usage.iter().chain(&capture.extra) {
        fields.add(name, value);
    }
}
