//! Captures of every shape, made by hand.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::archive::{About, Capture, DnsCapture, Profile, RevisitOf, Settings, Written};
use crate::clock::Timestamp;
use crate::fetch::{Answer, Failed, Failure, HttpVersion, Outcome, Purpose, Timing, Truncated};
use crate::url::{CrawlUrl, Host};

pub(super) const START: Timestamp = Timestamp::from_millis(1_763_632_800_123);

pub(super) fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

pub(super) fn about() -> About {
    About {
        software: "crawler/0.1.0".to_owned(),
        user_agent: "Mozilla/5.0 (compatible; crawler/0.1.0; +https://example.org/bot)".to_owned(),
        contact: "mailto:crawl@example.org".to_owned(),
        robots: "RFC 9309".to_owned(),
        crawl: None,
    }
}

pub(super) fn settings(dir: &std::path::Path) -> Settings {
    Settings {
        dir: dir.to_owned(),
        operator: "Example Archive".to_owned(),
        description: "samples".to_owned(),
        ..Settings::default()
    }
}

/// Returns an answer whose body came as it is.
pub(super) fn answer(head: &str, body: &[u8]) -> Answer {
    let body = Bytes::copy_from_slice(body);
    let headers = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let headers = headers
        .map(|(name, value)| (name.to_ascii_lowercase(), Bytes::copy_from_slice(value.as_bytes())));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    Answer {
        status,
        version: HttpVersion::Http11,
        headers: headers.collect(),
        request_block: Bytes::from_static(
            b"GET /a HTTP/1.1\r\nHost: example.org\r\nUser-Agent: crawler\r\n\r\n",
        ),
        head_block: Bytes::copy_from_slice(format!("{head}\r\n\r\n").as_bytes()),
        wire_body: body.clone(),
        payload: body.clone(),
        body,
        truncated: None,
        address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)),
        tls: None,
        began: START,
        timing: Timing { total: Duration::from_millis(12), ..Timing::default() },
        asked_to_sign: false,
    }
}

pub(super) fn plain(path: &str, body: &[u8]) -> Capture {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}"
    );
    capture(path, answer(&head, body))
}

pub(super) fn capture(path: &str, answer: Answer) -> Capture {
    let url = url(&format!("http://example.org{path}"));
    Capture::new(url, Arc::new(Outcome::Answer(Box::new(answer))))
}

fn chunked(head: &str, payload: &[u8]) -> Answer {
    let mut wire = Vec::new();
    for piece in payload.chunks(7) {
        wire.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        wire.extend_from_slice(piece);
        wire.extend_from_slice(b"\r\n");
    }
    wire.extend_from_slice(b"0\r\n\r\n");
    let mut chunked = answer(&format!("{head}\r\nTransfer-Encoding: chunked"), payload);
    chunked.wire_body = wire.into();
    chunked
}

fn gzipped(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    std::io::Write::write_all(&mut encoder, body).unwrap();
    encoder.finish().unwrap()
}

const PAGE: &[u8] = b"<!doctype html><title>A page</title><p>Some text, \xc3\xa9 too.</p>";
const HTML: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8";

/// Returns captures of every kind but revisits, each a second after the one before.
pub(super) fn all() -> Vec<Capture> {
    let mut captures = vec![plain("/plain", PAGE)];
    captures.push(capture("/chunked", chunked(HTML, PAGE)));
    let coded = format!("{HTML}\r\nContent-Encoding: gzip");
    let packed = gzipped(PAGE);
    let length = packed.len();
    let mut answer_coded = answer(&format!("{coded}\r\nContent-Length: {length}"), &packed);
    answer_coded.body = Bytes::from_static(PAGE);
    captures.push(capture("/gzip", answer_coded));
    let mut both = chunked(&coded, &packed);
    both.body = Bytes::from_static(PAGE);
    captures.push(capture("/gzip-chunked", both));
    captures.push(plain("/empty", b""));
    captures.push(capture("/no-content", answer("HTTP/1.1 204 No Content", b"")));
    let moved = "HTTP/1.1 301 Moved Permanently\r\nLocation: /plain\r\nContent-Length: 0";
    captures.push(capture("/moved", answer(moved, b"")));
    captures.push(capture(
        "/gone",
        answer("HTTP/1.0 404 Not Found\r\nContent-Type: text/plain", b"gone"),
    ));
    captures.extend(truncated());
    captures.push(http2());
    captures.extend(failed());
    for (i, capture) in captures.iter_mut().enumerate() {
        date(capture, i as u64 * 1000);
    }
    captures[1].via = Some(url("http://example.org/plain"));
    captures[1].path = "L".to_owned();
    captures[1].charset = Some("UTF-8".to_owned());
    captures[1].robots = Some("allowed by line 3".to_owned());
    captures[1].usage = vec![("Content-Usage".to_owned(), "train-ai=n".to_owned())];
    captures[1].extra = vec![("note".to_owned(), "two\r\nlines".to_owned())];
    captures
}

fn truncated() -> Vec<Capture> {
    let reasons =
        [Truncated::Length, Truncated::Time, Truncated::Disconnect, Truncated::Unspecified];
    let mut captures = Vec::new();
    for (i, reason) in reasons.into_iter().enumerate() {
        let mut short = answer(&format!("{HTML}\r\nContent-Length: 5000"), PAGE);
        short.truncated = Some(reason);
        captures.push(capture(&format!("/short-{i}"), short));
    }
    let mut cut_chunk = chunked(HTML, PAGE);
    cut_chunk.wire_body.truncate(30);
    cut_chunk.payload = Bytes::copy_from_slice(&PAGE[..20]);
    cut_chunk.truncated = Some(Truncated::Disconnect);
    captures.push(capture("/short-chunk", cut_chunk));
    captures
}

fn http2() -> Capture {
    let mut answer = answer("HTTP/1.1 200 OK\r\ncontent-type: text/html", PAGE);
    answer.version = HttpVersion::Http2;
    answer.address = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
    answer.tls = Some(("TLSv1_3".to_owned(), "TLS13_AES_128_GCM_SHA256".to_owned()));
    let mut capture = capture("/h2", answer);
    capture.url = url("https://example.org/h2?b=2&a=1");
    capture
}

fn failed() -> Vec<Capture> {
    let failure = |failure, detail: &str, request: Option<&'static [u8]>| Failed {
        failure,
        detail: detail.to_owned(),
        began: START,
        took: Duration::from_millis(30_000),
        address: request.map(|_| IpAddr::V4(Ipv4Addr::new(192, 0, 2, 8))),
        request_block: request.map(Bytes::from_static),
        received: Bytes::new(),
    };
    let request: &[u8] = b"GET / HTTP/1.1\r\nHost: down.example\r\n\r\n";
    let mut nonsense = failure(Failure::ProtocolError, "status line is no HTTP", Some(request));
    nonsense.received = Bytes::from_static(b"ICY 200 OK\r\n\0\xff");
    let failures = [
        failure(Failure::DnsNotFound, "no such name", None),
        failure(Failure::FirstByteTimeout, "no answer within 30 s", Some(request)),
        nonsense,
    ];
    let outcome = |failed| Arc::new(Outcome::Failed(failed));
    let capture = |failed| Capture::new(url("http://down.example/"), outcome(failed));
    failures.into_iter().map(capture).collect()
}

/// Moves a capture to `START` and `millis`.
pub(super) fn date(capture: &mut Capture, millis: u64) {
    let began = START.plus(Duration::from_millis(millis));
    let mut outcome = (*capture.outcome).clone();
    match &mut outcome {
        Outcome::Answer(answer) => answer.began = began,
        Outcome::Failed(failed) => failed.began = began,
    }
    capture.outcome = Arc::new(outcome);
}

/// Returns both kinds of revisits of a record that was written for [`plain`]`(path, ..)`.
pub(super) fn revisits(path: &str, body: &[u8], written: &Written) -> Vec<Capture> {
    let of = |profile| RevisitOf {
        uri: format!("http://example.org{path}"),
        date: written.date,
        record_id: Some(written.record_id.clone()),
        payload_digest: written.payload_digest.clone(),
        profile,
    };
    let mut same = plain("/copy", body);
    same.revisit = Some(of(Profile::IdenticalPayload));
    date(&mut same, 60_000);
    let mut unchanged = capture(path, answer("HTTP/1.1 304 Not Modified\r\nETag: \"x\"", b""));
    unchanged.revisit = Some(of(Profile::ServerNotModified));
    date(&mut unchanged, 61_000);
    let mut robots = plain("/robots.txt", b"User-agent: *\nDisallow:\n");
    robots.purpose = Purpose::Robots;
    date(&mut robots, 62_000);
    vec![same, unchanged, robots]
}

pub(super) fn dns() -> DnsCapture {
    DnsCapture {
        host: Host::new("example.org"),
        addresses: vec!["192.0.2.7".parse().unwrap(), "2001:db8::7".parse().unwrap()],
        ttl: 300,
        server: Some("192.0.2.53".parse().unwrap()),
        asked: START,
    }
}
