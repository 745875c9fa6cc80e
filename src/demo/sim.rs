//! The web in process: [`Fetch`] and [`Resolve`] in virtual time, without a socket or a thread.
//!
//! Every wait is a `tokio::time::sleep`, so under paused time a slow server costs nothing, and a
//! run is the same every time.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use tokio::time::sleep;

use crate::clock::{ByteSize, Clock, Timestamp};
use crate::dns::{DnsFailure, Resolve, Resolved};
use crate::fetch::{
    Answer, Failed, Failure, Fetch, HttpVersion, Outcome, Request, Timing, Truncated,
};
use crate::url::Host;

use super::log::RequestLog;
use super::reply::{Ask, Page, Reply, reply};
use super::spec::DnsAnswer;
use super::web::WebSpec;

/// What the fetches of a simulation may take; the defaults are those of many crawlers.
#[derive(Clone, Copy, Debug)]
pub struct SimLimits {
    /// Until the head of an answer.
    pub first_byte: Duration,
    /// Until the end of an answer.
    pub total: Duration,
    /// Bytes of body that are taken.
    pub body_bytes_max: ByteSize,
    /// Until a name server is given up.
    pub dns: Duration,
    /// Requests that the log keeps.
    pub log_kept_max: usize,
}

impl Default for SimLimits {
    fn default() -> Self {
        SimLimits {
            first_byte: Duration::from_secs(30),
            total: Duration::from_secs(120),
            body_bytes_max: ByteSize::mib(16),
            dns: Duration::from_secs(5),
            log_kept_max: 10_000,
        }
    }
}

/// A web that is asked by calling it. Clones share everything.
#[derive(Clone, Debug)]
pub struct SimWeb {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    web: Arc<WebSpec>,
    clock: Arc<Clock>,
    began: Timestamp,
    limits: SimLimits,
    log: RequestLog,
    /// The address of a name and when the answer ends: at most one entry for each name of the web.
    known: Mutex<HashMap<Host, (IpAddr, Timestamp)>>,
}

impl SimWeb {
    /// Opens a web; its own time begins now.
    pub fn new(web: Arc<WebSpec>, clock: Arc<Clock>) -> Self {
        Self::with_limits(web, clock, SimLimits::default())
    }

    /// Opens a web whose fetches have these limits.
    pub fn with_limits(web: Arc<WebSpec>, clock: Arc<Clock>, limits: SimLimits) -> Self {
        let (began, log) = (clock.now(), RequestLog::new(limits.log_kept_max));
        SimWeb {
            shared: Arc::new(Shared { web, clock, began, limits, log, known: Mutex::default() }),
        }
    }

    /// Returns the requests so far.
    pub fn log(&self) -> &RequestLog {
        &self.shared.log
    }

    /// Returns the web's description.
    pub fn web(&self) -> &Arc<WebSpec> {
        &self.shared.web
    }

    fn elapsed(&self) -> Duration {
        self.shared.clock.now().since(self.shared.began)
    }
}

impl Resolve for SimWeb {
    async fn resolve(&self, host: &Host) -> Result<Resolved, DnsFailure> {
        let Shared { web, limits, .. } = &*self.shared;
        if let Some(ip) = host.ip() {
            return Err(DnsFailure::Refused(vec![ip]));
        }
        let spec = web.site_of(host.as_str()).map(|site| site.spec.dns.clone()).unwrap_or_default();
        let found = |address, cached| Resolved {
            addresses: vec![address],
            refused: Vec::new(),
            ttl: spec.ttl,
            cached,
        };
        let known = self.shared.known().get(host).copied();
        if let Some((address, _)) = known.filter(|(_, ends)| *ends > self.shared.clock.now()) {
            return Ok(found(address, true));
        }
        sleep(spec.latency).await;
        match web.address(host.as_str(), self.elapsed()) {
            Ok(address) => {
                let ends = self.shared.clock.now().plus(spec.ttl);
                self.shared.known().insert(host.clone(), (address, ends));
                Ok(found(address, false))
            }
            Err(DnsAnswer::Private(address)) => Err(DnsFailure::Refused(vec![address])),
            Err(DnsAnswer::Fails) => Err(DnsFailure::Failed("SERVFAIL".to_owned())),
            Err(DnsAnswer::Silent) => {
                sleep(limits.dns).await;
                Err(DnsFailure::Failed("no answer from the name server".to_owned()))
            }
            Err(DnsAnswer::NotFound | DnsAnswer::Address | DnsAnswer::Changing(_)) => {
                Err(DnsFailure::NotFound)
            }
        }
    }

    fn knows(&self, host: &Host, until: Timestamp) -> bool {
        self.shared.known().get(host).is_some_and(|(_, ends)| *ends > until)
    }
}

impl Shared {
    fn known(&self) -> MutexGuard<'_, HashMap<Host, (IpAddr, Timestamp)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Notes the end of a request, also when its future is dropped in the middle.
struct UnderWay<'s> {
    shared: &'s Shared,
    host: Host,
    address: Option<IpAddr>,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.shared.log.end(&self.host, self.address, self.shared.clock.now());
    }
}

impl Fetch for SimWeb {
    async fn fetch(&self, request: Request) -> Outcome {
        let shared = &*self.shared;
        let began = shared.clock.now();
        let (host, address) = (request.url.host(), request.addresses.first().copied());
        let site = shared.web.site_of(request.url.host_str());
        let asked = (&host, site.is_some());
        let since_last = shared.log.begin(asked, request.url.path_and_query(), address, began);
        let _under_way = UnderWay { shared, host, address };
        let https = request.url.is_https();
        let served = site.is_none_or(|site| !https || site.spec.https)
            && request.url.port() == shared.web.port_for(https);
        let ask = Ask {
            host: request.url.host_str(),
            target: request.url.path_and_query(),
            if_none_match: request.etag.as_deref(),
            gzip: true,
            since_last,
            elapsed: self.elapsed(),
            now: began,
        };
        let visit = Visit { shared, request: &request, began };
        match if served { reply(&shared.web, &ask) } else { Reply::Refused } {
            Reply::Refused => {
                sleep(Duration::from_millis(1)).await;
                visit.failed(Failure::ConnectFailed, "connection refused", false)
            }
            Reply::Closed(wait) if wait < shared.limits.first_byte => {
                sleep(wait).await;
                visit.failed(Failure::ClosedEarly, "connection closed before an answer", true)
            }
            Reply::Silent | Reply::Closed(_) => visit.timed_out().await,
            Reply::Page(page) if page.wait >= shared.limits.first_byte => visit.timed_out().await,
            Reply::Page(page) => visit.answer(*page).await,
        }
    }
}

/// One fetch in the making.
struct Visit<'s> {
    shared: &'s Shared,
    request: &'s Request,
    began: Timestamp,
}

impl Visit<'_> {
    async fn timed_out(&self) -> Outcome {
        sleep(self.shared.limits.first_byte).await;
        self.failed(Failure::FirstByteTimeout, "no answer in time", true)
    }

    fn failed(&self, failure: Failure, detail: &str, sent: bool) -> Outcome {
        Outcome::Failed(Failed {
            failure,
            detail: detail.to_owned(),
            began: self.began,
            took: self.shared.clock.now().since(self.began),
            address: self.request.addresses.first().copied(),
            request_block: sent.then(|| request_block(self.request)),
            received: Bytes::new(),
        })
    }

    async fn answer(&self, page: Page) -> Outcome {
        let limits = &self.shared.limits;
        sleep(page.wait).await;
        let first_byte = self.shared.clock.now().since(self.began);
        let whole = page.cut.unwrap_or(page.payload.len());
        let body_time = page.body_time();
        let left = limits.total.saturating_sub(page.wait);
        let in_time = if body_time > left { share(whole, left, body_time) } else { whole };
        let length = in_time.min(limits.body_bytes_max.as_len());
        sleep(body_time.min(left)).await;
        let truncated = if length < in_time {
            Some(Truncated::Length)
        } else if in_time < whole {
            Some(Truncated::Time)
        } else {
            page.cut.map(|_| Truncated::Disconnect)
        };
        let total = self.shared.clock.now().since(self.began);
        let timing = Timing { first_byte, total, ..Timing::default() };
        Outcome::Answer(Box::new(answer(self.request, page, length, truncated, self.began, timing)))
    }
}

/// Returns how many of `whole` bytes come in `left` of `all` the time.
fn share(whole: usize, left: Duration, all: Duration) -> usize {
    let part = whole as u128 * left.as_millis() / all.as_millis().max(1);
    usize::try_from(part).unwrap_or(whole).min(whole)
}

fn answer(
    request: &Request,
    page: Page,
    length: usize,
    truncated: Option<Truncated>,
    began: Timestamp,
    timing: Timing,
) -> Answer {
    let head_block = head_block(&page);
    let headers = headers(&page);
    let payload = page.payload.slice(..length.min(page.payload.len()));
    let coded = page.payload != page.body;
    let body = match (truncated, coded) {
        (None, _) => page.body,
        (Some(_), false) => payload.clone(),
        (Some(_), true) => decoded_part(&payload),
    };
    let wire_body =
        if page.chunked { chunks(&payload, truncated.is_none()) } else { payload.clone() };
    let nowhere = IpAddr::from([0, 0, 0, 0]);
    Answer {
        status: page.status,
        version: HttpVersion::Http11,
        headers,
        request_block: request_block(request),
        head_block,
        wire_body,
        payload,
        body,
        truncated,
        address: request.addresses.first().copied().unwrap_or(nowhere),
        tls: request.url.is_https().then(|| ("TLSv1.3".to_owned(), "simulated".to_owned())),
        began,
        timing,
        asked_to_sign: false,
    }
}

/// Returns what a gzip body gives up to the place where it is cut.
fn decoded_part(payload: &[u8]) -> Bytes {
    use std::io::Read;
    let mut body = Vec::new();
    // The error at the cut is the point; what came before it has been written.
    let _ = flate2::read::GzDecoder::new(payload).read_to_end(&mut body);
    body.into()
}

fn framing(page: &Page) -> Option<(&'static str, String)> {
    match page.status {
        204 | 304 => None,
        _ if page.chunked => Some(("Transfer-Encoding", "chunked".to_owned())),
        _ => Some(("Content-Length", page.payload.len().to_string())),
    }
}

fn headers(page: &Page) -> Vec<(String, Bytes)> {
    let all = page.headers.iter().cloned().chain(framing(page));
    all.map(|(name, value)| (name.to_ascii_lowercase(), Bytes::from(value))).collect()
}

fn head_block(page: &Page) -> Bytes {
    let mut head = BytesMut::with_capacity(512);
    let reason = hyper::StatusCode::from_u16(page.status).ok();
    let reason = reason.and_then(|status| status.canonical_reason()).unwrap_or("Unknown");
    head.put_slice(format!("HTTP/1.1 {} {reason}\r\n", page.status).as_bytes());
    for (name, value) in page.headers.iter().cloned().chain(framing(page)) {
        for part in [name, ": ", &value, "\r\n"] {
            head.put_slice(part.as_bytes());
        }
    }
    head.put_slice(b"\r\n");
    head.freeze()
}

/// Frames a body as one chunk and, if it is whole, the last chunk.
fn chunks(payload: &[u8], whole: bool) -> Bytes {
    let mut wire = BytesMut::with_capacity(payload.len() + 24);
    if !payload.is_empty() {
        wire.put_slice(format!("{:X}\r\n", payload.len()).as_bytes());
        wire.put_slice(payload);
        wire.put_slice(b"\r\n");
    }
    if whole {
        wire.put_slice(b"0\r\n\r\n");
    }
    wire.freeze()
}

fn request_block(request: &Request) -> Bytes {
    let url = &request.url;
    let host = match url.as_url().port() {
        Some(port) => format!("{}:{port}", url.host_str()),
        None => url.host_str().to_owned(),
    };
    let mut block = format!(
        "GET {} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: simulated\r\nAccept-Encoding: gzip\r\n",
        url.path_and_query()
    );
    for (name, value) in
        [("If-None-Match", &request.etag), ("If-Modified-Since", &request.last_modified)]
    {
        if let Some(value) = value {
            block.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    block.push_str("\r\n");
    block.into()
}
