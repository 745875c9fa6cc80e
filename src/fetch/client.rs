//! One fetch from beginning to end: connection, request, head, body, codings.

use std::collections::HashSet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, TRANSFER_ENCODING};
use hyper::{Response, Version};
use tokio::time::{Instant, timeout_at};

use super::body::{BodyBounds, Gathered, gather};
use super::chunked::framed_len;
use super::coding::{Bounds, Coding, Codings, Decoded, codings, decode};
use super::connect::{Connected, Connector};
use super::http1::Http1;
use super::http2::{self, Http2, Unanswered};
use super::pool::{Link, Pool, Wire};
use super::recorder::{Blocks, Overflow, Record};
use super::request::{RequestMaker, authority, without_credentials};
use super::signature::{SignatureError, Signer};
use super::turns::{SMALL_MAX, Turn, Turns, tied};
use super::{
    Answer, Failed, Failure, Fetch, HttpVersion, Outcome, Request, Settings, Timing, Truncated,
};
use crate::clock::{Clock, Timestamp};
use crate::url::Origin;

/// Why nothing can be fetched at all.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The file of further root certificates is of no use.
    #[error("load the certificates of `{}` (`ca_file`): {why}", path.display())]
    CaFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A setting that is sent with every request holds what cannot be sent.
    #[error("use the {what} in a request: it holds a line break or another control character")]
    Identity {
        /// Which setting.
        what: &'static str,
    },
    /// TLS could not be set up.
    #[error("set up TLS: {0}")]
    Tls(String),
    /// Requests cannot be signed.
    #[error(transparent)]
    Signature(#[from] SignatureError),
}

/// Fetches with hyper.
///
/// Connections are kept per origin and used again. Cookies are neither kept nor sent: every page is
/// fetched as by a first visitor, so the order of fetches cannot change what is seen. Dropping a
/// fetch under way closes its connection.
#[derive(Debug)]
pub struct HyperFetch {
    settings: Settings,
    requests: RequestMaker,
    signer: Option<Signer>,
    connector: Connector,
    pool: Pool,
    /// Origins that offer HTTP/2 and cannot speak it.
    only_http1: Mutex<HashSet<Origin>>,
    turns: Turns,
    clock: Arc<Clock>,
}

impl HyperFetch {
    /// Makes a client that calls itself `user_agent` and, if `contact` is a mail address, says so.
    ///
    /// # Errors
    /// Fails if a certificate file cannot be used or a setting cannot be sent.
    pub fn new(
        settings: &Settings,
        user_agent: &str,
        contact: &str,
        clock: Arc<Clock>,
    ) -> Result<Self, FetchError> {
        Ok(HyperFetch {
            requests: RequestMaker::new(settings, user_agent, contact)?,
            signer: Signer::new(
                settings.signature_key.as_deref(),
                settings.signature_agent.as_deref(),
            )?,
            connector: Connector::new(settings)?,
            pool: Pool::new(settings.idle_max, settings.idle_for.get()),
            only_http1: Mutex::default(),
            turns: Turns::new(settings.large_max),
            settings: settings.clone(),
            clock,
        })
    }

    /// Closes connections that have been idle for too long; also done with every fetch.
    pub fn sweep(&self) {
        self.pool.sweep();
    }

    /// Returns how many idle connections are kept.
    pub fn idle(&self) -> usize {
        self.pool.len()
    }

    async fn run(&self, request: &Request, visit: &mut Visit) -> Result<Answer, Broken> {
        let origin = request.url.origin();
        let proxied = self.connector.proxy().is_some();
        let is_usable = |ip| !request.fresh && (proxied || request.addresses.contains(&ip));
        if let Some(link) = self.pool.take(&origin, is_usable) {
            match self.exchange(request, &origin, link, visit).await {
                // The server closed the connection before it could see the request.
                Err(broken) if broken.unprocessed => {}
                // A GET may be repeated (RFC 9110 §9.2.2), but two requests within milliseconds are
                // what a server that drops them can bear least.
                Err(broken) if broken.unanswered => {
                    return Err(Broken { failure: Failure::KeptClosed, ..broken });
                }
                outcome => return outcome,
            }
        }
        let offer = !self.lock_only_http1().contains(&origin);
        let link = self.connect(request, offer, visit).await?;
        let http2 = matches!(link.wire, Wire::Http2(_));
        match self.exchange(request, &origin, link, visit).await {
            Err(broken) if broken.unprocessed && http2 => {
                let link = self.connect(request, false, visit).await?;
                let outcome = self.exchange(request, &origin, link, visit).await;
                if outcome.is_ok() {
                    self.note_only_http1(origin);
                }
                outcome
            }
            // It may have worked on the request, so that the next one has a lease of its own.
            Err(broken) if broken.failure == Failure::ClosedEarly && http2 => {
                self.note_only_http1(origin);
                Err(broken)
            }
            outcome => outcome,
        }
    }

    fn note_only_http1(&self, origin: Origin) {
        let mut origins = self.lock_only_http1();
        if origins.len() >= ONLY_HTTP1_MAX {
            // They are few; should they be many, some are found out once more.
            origins.clear();
        }
        origins.insert(origin);
    }

    fn lock_only_http1(&self) -> MutexGuard<'_, HashSet<Origin>> {
        self.only_http1.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(
        &self,
        request: &Request,
        http2: bool,
        visit: &mut Visit,
    ) -> Result<Link, Broken> {
        let deadline = visit.deadline;
        let made = self.connector.connect(&request.url, &request.addresses, http2, deadline).await;
        let connected = made.map_err(|lost| {
            visit.address = lost.address.or(visit.address);
            if lost.is_starved {
                self.pool.clear();
            }
            Broken::new(lost.failure, lost.detail)
        })?;
        visit.address = Some(connected.address);
        visit.timing.connect += connected.connect_took;
        visit.timing.tls += connected.tls_took;
        let Connected { stream, address, tls, http2, .. } = connected;
        let wire = if http2 {
            match timeout_at(deadline, Http2::open(stream, &self.settings)).await {
                Ok(opened) => Wire::Http2(opened.map_err(|error| Broken::unopened(&error))?),
                Err(_) => {
                    let detail = "connection not opened in time".to_owned();
                    return Err(Broken::new(Failure::Timeout, detail));
                }
            }
        } else {
            Wire::Http1(Box::new(stream))
        };
        Ok(Link { wire, address, tls })
    }

    async fn exchange(
        &self,
        request: &Request,
        origin: &Origin,
        Link { wire, address, tls }: Link,
        visit: &mut Visit,
    ) -> Result<Answer, Broken> {
        visit.address = Some(address);
        let (parts, wire) = match wire {
            Wire::Http1(stream) => {
                let opened = Http1::open(*stream, &self.settings).await;
                let mut http1 = opened.map_err(|error| Broken::unopened(&error))?;
                let parts = self.exchange1(request, &mut http1, visit).await?;
                (parts, http1.into_stream().map(|stream| Wire::Http1(Box::new(stream))))
            }
            Wire::Http2(mut http2) => {
                let parts = self.exchange2(request, &mut http2, visit).await?;
                (parts, Some(Wire::Http2(http2)))
            }
        };
        if let Some(wire) = wire.filter(|_| parts.reusable) {
            self.pool.put(origin.clone(), Link { wire, address, tls: tls.clone() });
        }
        self.answer(request, parts, address, tls, visit).await.ok_or_else(Broken::crowded)
    }

    async fn exchange1(
        &self,
        request: &Request,
        http1: &mut Http1,
        visit: &mut Visit,
    ) -> Result<Parts, Broken> {
        let bytes_max = self.settings.body_max_for(request.purpose);
        let response = self.head1(request, http1, bytes_max, visit).await?;
        let record = http1.record().clone();
        let blocks = self.blocks(&record);
        if let Err((failure, detail)) = self.check_status(&response, request) {
            return Err(Broken { blocks, ..Broken::new(failure, detail) });
        }
        let (head, mut body) = response.into_parts();
        let bounds = BodyBounds::new(&self.settings, bytes_max, visit.deadline, &self.turns);
        let coded = head.headers.contains_key(TRANSFER_ENCODING);
        let over = || coded && record.overflow() == Some(Overflow::Body);
        let expected = content_length(&head.headers);
        let gathered = gather(bounds, expected, |cx| http1.poll_frame(&mut body, cx), over).await;
        let gathered = gathered.ok_or_else(Broken::crowded)?;
        let wire_body = wire_body(&record, &head.headers, &gathered);
        let http10 = head.version == Version::HTTP_10;
        // A length beside a transfer coding is how requests are smuggled (RFC 9112 §6.3).
        let ambiguous = coded && (http10 || head.headers.contains_key(CONTENT_LENGTH));
        Ok(Parts {
            status: head.status.as_u16(),
            version: if http10 { HttpVersion::Http10 } else { HttpVersion::Http11 },
            headers: head.headers,
            blocks,
            reusable: gathered.truncated.is_none() && !ambiguous,
            gathered,
            wire_body: Some(wire_body),
        })
    }

    async fn head1(
        &self,
        request: &Request,
        http1: &mut Http1,
        bytes_max: usize,
        visit: &mut Visit,
    ) -> Result<Response<Incoming>, Broken> {
        let made = self.requests.http1(request, self.connector.proxy());
        let mut made = made.map_err(Broken::unsendable)?;
        self.sign(request, made.headers_mut(), visit);
        // Tiny chunks are framed by more bytes than they carry; honest framing is next to nothing.
        let wire_max = bytes_max.saturating_mul(2).saturating_add(FRAMING_FREE);
        let sent = Instant::now();
        let by = visit.head_deadline(&self.settings);
        let head = timeout_at(by, http1.send(made, wire_max)).await;
        visit.timing.first_byte = sent.elapsed();
        let broken = match head {
            Ok(Ok(response)) => return Ok(response),
            Ok(Err(error)) => Broken::head(&error, http1.record()),
            Err(_) => visit.late(),
        };
        Err(Broken { blocks: self.blocks(http1.record()), ..broken })
    }

    fn sign(&self, request: &Request, headers: &mut HeaderMap, visit: &mut Visit) {
        let signer = self.signer.as_ref();
        visit.signed =
            signer.is_some_and(|signer| signer.sign(&request.url, self.clock.now(), headers));
    }

    fn blocks(&self, record: &Record) -> Blocks {
        let blocks = record.take_blocks();
        match self.connector.proxy() {
            Some(_) => Blocks { request: without_credentials(blocks.request), ..blocks },
            None => blocks,
        }
    }

    fn check_status(
        &self,
        response: &Response<Incoming>,
        request: &Request,
    ) -> Result<(), (Failure, String)> {
        let by_proxy = self.connector.proxy().is_some() && !request.url.is_https();
        match response.status().as_u16() {
            status @ 100..200 => {
                Err((Failure::ProtocolError, format!("status {status} to a plain GET")))
            }
            407 if by_proxy => {
                Err((Failure::ProxyFailed, "the proxy asks for credentials (407)".to_owned()))
            }
            _ => Ok(()),
        }
    }

    async fn exchange2(
        &self,
        request: &Request,
        http2: &mut Http2,
        visit: &mut Visit,
    ) -> Result<Parts, Broken> {
        let mut made = self.requests.http2(request).map_err(Broken::unsendable)?;
        self.sign(request, made.headers_mut(), visit);
        let target = request.url.path_and_query();
        let request_block = http2::request_block(&authority(&request.url), target, made.headers());
        let sent = Instant::now();
        let head = timeout_at(visit.head_deadline(&self.settings), http2.send(made)).await;
        visit.timing.first_byte = sent.elapsed();
        let blocks = Blocks { request: request_block, head: Bytes::new() };
        let response = match head {
            Ok(Ok(response)) => response,
            Ok(Err(Unanswered { error, wants_calm: true, .. })) => {
                let broken = Broken::new(Failure::EnhanceYourCalm, describe(&error));
                return Err(Broken { blocks, ..broken });
            }
            Ok(Err(Unanswered { error, is_flooded: true, .. })) => {
                let broken = Broken::new(Failure::HeadTooLarge, describe(&error));
                return Err(Broken { blocks, ..broken });
            }
            Ok(Err(Unanswered { error, is_unprocessed, .. })) => {
                let broken = Broken::new(Failure::ClosedEarly, describe(&error));
                return Err(Broken { blocks, unprocessed: is_unprocessed, ..broken });
            }
            Err(_) => return Err(Broken { blocks, ..visit.late() }),
        };
        let (head, mut body) = response.into_parts();
        let blocks = Blocks { head: http2::head_block(head.status, &head.headers), ..blocks };
        if head.headers.len() > self.settings.head_fields_max {
            let detail = format!("{} header fields", head.headers.len());
            return Err(Broken { blocks, ..Broken::new(Failure::HeadTooLarge, detail) });
        }
        let bytes_max = self.settings.body_max_for(request.purpose);
        let bounds = BodyBounds::new(&self.settings, bytes_max, visit.deadline, &self.turns);
        let poll = |cx: &mut std::task::Context<'_>| {
            hyper::body::Body::poll_frame(std::pin::Pin::new(&mut body), cx)
        };
        let gathered = gather(bounds, content_length(&head.headers), poll, || false).await;
        let gathered = gathered.ok_or_else(Broken::crowded)?;
        let reusable = gathered.truncated.is_none();
        Ok(Parts {
            status: head.status.as_u16(),
            version: HttpVersion::Http2,
            headers: head.headers,
            blocks,
            gathered,
            wire_body: None,
            reusable,
        })
    }

    async fn answer(
        &self,
        request: &Request,
        parts: Parts,
        address: IpAddr,
        tls: Option<(String, String)>,
        visit: &mut Visit,
    ) -> Option<Answer> {
        let Gathered { payload, truncated, mut turn } = parts.gathered;
        let wire_body = parts.wire_body.unwrap_or_else(|| payload.clone());
        let bounds = Bounds {
            bytes_max: self.settings.decoded_max_for(request.purpose),
            ratio_max: self.settings.ratio_max,
            ratio_free: self.settings.ratio_free.as_len(),
        };
        let max = self.settings.codings_max;
        let undoing = Undoing { max, bounds, turns: &self.turns, deadline: visit.deadline };
        let headers = &parts.headers;
        let transfer = undoing.undo(&payload, headers, TRANSFER_ENCODING, &mut turn).await?;
        let content = undoing.undo(&transfer.body, headers, CONTENT_ENCODING, &mut turn).await?;
        let broken = match (transfer.whole, content.whole) {
            (false, _) => Some(Truncated::Unspecified),
            (true, false) => Some(Truncated::Undecoded),
            (true, true) => None,
        };
        let headers = parts
            .headers
            .iter()
            .map(|(name, value)| {
                (name.as_str().to_owned(), Bytes::copy_from_slice(value.as_bytes()))
            })
            .collect();
        let was_signed = visit.signed;
        let asked_to_sign = self.signer.as_ref().is_some_and(|signer| {
            signer.hear(&request.url, parts.status, &parts.headers, was_signed)
        });
        visit.timing.total = visit.start.elapsed();
        Some(Answer {
            status: parts.status,
            version: parts.version,
            headers,
            request_block: parts.blocks.request,
            head_block: parts.blocks.head,
            wire_body,
            payload: transfer.body,
            body: content.body,
            truncated: truncated.or(broken),
            address,
            tls,
            began: visit.began,
            timing: visit.timing,
            asked_to_sign,
        })
    }
}

impl Fetch for HyperFetch {
    async fn fetch(&self, request: Request) -> Outcome {
        let start = Instant::now();
        let mut visit = Visit {
            began: self.clock.now(),
            start,
            deadline: start + self.settings.total_for(request.purpose),
            address: None,
            timing: Timing::default(),
            signed: false,
        };
        match self.run(&request, &mut visit).await {
            Ok(answer) => Outcome::Answer(Box::new(answer)),
            Err(broken) => Outcome::Failed(Failed {
                failure: broken.failure,
                detail: broken.detail,
                began: visit.began,
                took: start.elapsed(),
                address: visit.address,
                request_block: Some(broken.blocks.request).filter(|block| !block.is_empty()),
                received: broken.blocks.head,
            }),
        }
    }
}

/// Origins remembered for speaking no HTTP/2.
const ONLY_HTTP1_MAX: usize = 4096;
/// Chunk framing that is never too much, in bytes.
const FRAMING_FREE: usize = 64 * 1024;
/// Encoded bytes from which on decoding leaves the network's threads.
const DECODE_ASIDE: usize = 256 * 1024;

/// A fetch under way.
struct Visit {
    began: Timestamp,
    start: Instant,
    deadline: Instant,
    address: Option<IpAddr>,
    timing: Timing,
    /// The last request was signed.
    signed: bool,
}

impl Visit {
    fn head_deadline(&self, settings: &Settings) -> Instant {
        self.deadline.min(Instant::now() + settings.first_byte.get())
    }

    fn late(&self) -> Broken {
        if Instant::now() >= self.deadline {
            let detail = "no header block when the time of the whole fetch was up";
            Broken::new(Failure::Timeout, detail.to_owned())
        } else {
            Broken::new(Failure::FirstByteTimeout, "no header block in time".to_owned())
        }
    }
}

/// An exchange that led to no answer.
struct Broken {
    failure: Failure,
    detail: String,
    blocks: Blocks,
    /// True if the server has not worked on the request, since it went not out or, in HTTP/2, since
    /// the server says so: worth another connection at once.
    unprocessed: bool,
    /// True if by HTTP/1 not a byte of an answer came and no limit was reached: what the server did
    /// is not known.
    unanswered: bool,
}

impl Broken {
    fn new(failure: Failure, detail: String) -> Self {
        let blocks = Blocks::default();
        Broken { failure, detail, blocks, unprocessed: false, unanswered: false }
    }

    /// A large body for which there was no room in time: our shortage, not the host's fault.
    fn crowded() -> Self {
        let detail = "too many other large bodies were under way (fetch.large_max)";
        Self::new(Failure::LocalFailure, detail.to_owned())
    }

    fn unopened(error: &hyper::Error) -> Self {
        Self::new(Failure::ClosedEarly, describe(error))
    }

    fn unsendable(detail: String) -> Self {
        Self::new(Failure::ProtocolError, detail)
    }

    fn head(error: &hyper::Error, record: &Record) -> Self {
        let failure = match record.overflow() {
            Some(Overflow::Head | Overflow::Interim) => Failure::HeadTooLarge,
            _ if error.is_parse_too_large() => Failure::HeadTooLarge,
            _ if error.is_parse() => Failure::ProtocolError,
            _ => Failure::ClosedEarly,
        };
        let unanswered = failure == Failure::ClosedEarly && record.received() == 0;
        // hyper takes a request back from a connection that it finds closed.
        let unprocessed = unanswered && error.is_canceled();
        Broken { unprocessed, unanswered, ..Broken::new(failure, describe(error)) }
    }
}

/// An answer before its codings are undone.
struct Parts {
    status: u16,
    version: HttpVersion,
    headers: HeaderMap,
    blocks: Blocks,
    gathered: Gathered,
    /// Where it differs from the payload.
    wire_body: Option<Bytes>,
    reusable: bool,
}

/// Returns the body as it stood on the wire: recorded where it had a transfer coding.
fn wire_body(record: &Record, headers: &HeaderMap, gathered: &Gathered) -> Bytes {
    let payload = &gathered.payload;
    let Some(wire) = record.take_wire_body() else { return payload.clone() };
    match gathered.truncated {
        // What was broken stays in the archive with its breakage.
        Some(Truncated::Unspecified | Truncated::Disconnect) => wire,
        truncated if is_chunked(headers) => {
            wire.slice(..framed_len(&wire, payload.len(), truncated.is_none()))
        }
        _ => wire.slice(..payload.len().min(wire.len())),
    }
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

fn is_chunked(headers: &HeaderMap) -> bool {
    let last = headers.get_all(TRANSFER_ENCODING).iter().next_back();
    let last =
        last.and_then(|value| value.to_str().ok()).and_then(|value| value.rsplit(',').next());
    last.is_some_and(|coding| coding.trim().eq_ignore_ascii_case("chunked"))
}

/// How codings are undone.
struct Undoing<'f> {
    /// Codings on top of each other.
    max: usize,
    bounds: Bounds,
    turns: &'f Turns,
    deadline: Instant,
}

impl Undoing<'_> {
    /// Undoes what a header says; an output that grows large needs a turn, if there is none yet.
    /// Returns `None` if it got none in time.
    async fn undo(
        &self,
        payload: &Bytes,
        headers: &HeaderMap,
        field: hyper::header::HeaderName,
        turn: &mut Option<Turn>,
    ) -> Option<Decoded> {
        let values = headers.get_all(field).iter().map(|value| value.as_bytes());
        let codings = match codings(values, self.max) {
            Codings::TooMany => return Some(Decoded { body: Bytes::new(), whole: false }),
            Codings::Known(codings) if codings.is_empty() => {
                return Some(Decoded { body: payload.clone(), whole: true });
            }
            Codings::Known(codings) => codings,
        };
        let length = payload.len();
        let small = Bounds { bytes_max: SMALL_MAX.min(self.bounds.bytes_max), ..self.bounds };
        if turn.is_none() && small.output_max(length) < self.bounds.output_max(length) {
            let decoded = decode_aside(payload, &codings, small).await;
            if decoded.whole {
                return Some(decoded);
            }
            *turn = Some(self.turns.take(self.deadline).await?);
        }
        let decoded = decode_aside(payload, &codings, self.bounds).await;
        Some(Decoded { body: tied(decoded.body, turn.as_ref()), ..decoded })
    }
}

/// Decodes a long payload where it holds nobody up.
async fn decode_aside(payload: &Bytes, codings: &[Coding], bounds: Bounds) -> Decoded {
    if payload.len() < DECODE_ASIDE {
        return decode(payload, codings, bounds);
    }
    let (payload, codings) = (payload.clone(), codings.to_vec());
    let decoded = tokio::task::spawn_blocking(move || decode(&payload, &codings, bounds));
    // It fails only if the runtime is going down.
    decoded.await.unwrap_or(Decoded { body: Bytes::new(), whole: false })
}

/// Returns an error with its causes in one line.
fn describe(error: &(dyn std::error::Error + 'static)) -> String {
    const CAUSES_MAX: usize = 4;
    let causes = std::iter::successors(Some(error), |error| error.source()).take(CAUSES_MAX);
    let mut lines: Vec<String> = causes.map(ToString::to_string).collect();
    lines.dedup();
    lines.join(": ").escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn no_default_lets_one_fetch_run_for_ever() {
        let settings = Settings::default();
        for limit in [settings.connect, settings.tls, settings.first_byte] {
            assert!(limit.get() > Duration::ZERO && limit <= settings.total);
        }
        assert!(settings.robots_body_max.get() >= 500 * 1024, "RFC 9309 §2.5");
    }
}
