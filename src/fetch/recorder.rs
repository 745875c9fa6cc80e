//! Keeps the bytes of an HTTP/1.1 exchange as they pass, for the archive.
//!
//! hyper parses the header block and forgets its spelling, and undoes the chunks. A [`Recorder`]
//! stands between hyper and the stream and copies what must be archived byte for byte: the request,
//! the header block of the final answer and, where there is a transfer coding, the body with its
//! framing. Without one the body's bytes are those that hyper hands out, so they are not copied.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes of one read at most. hyper begins with a buffer of 8 KiB and doubles it when a read fills
/// it; every exchange begins anew.
pub(super) const READ_MAX: usize = 8 * 1024 - 1;

/// What has passed in the present exchange; shared by the stream, which hyper owns, and the fetch.
#[derive(Clone, Debug)]
pub(super) struct Record(Arc<Mutex<Passed>>);

/// Bounds of a record.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordBounds {
    /// Header bytes, interim answers included.
    pub(super) head_max: usize,
    /// Interim answers.
    pub(super) interim_max: usize,
    /// Body bytes with their framing.
    pub(super) body_max: usize,
}

#[derive(Debug)]
struct Passed {
    bounds: RecordBounds,
    sent: BytesMut,
    head: BytesMut,
    wire_body: BytesMut,
    stage: Stage,
    /// Bytes of the present line of the header block, and whether a lone CR is all of them.
    line: (usize, bool),
    /// Where the present line of the header block begins.
    line_start: usize,
    interim: usize,
    interim_bytes: usize,
    received: u64,
    overflow: Option<Overflow>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Head,
    /// The body, whose framing must be kept.
    CodedBody,
    /// The body, whose bytes hyper hands out as they are.
    PlainBody,
}

/// Which bound a server exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overflow {
    /// Header bytes.
    Head,
    /// Interim answers.
    Interim,
    /// Body bytes with their framing.
    Body,
}

/// The blocks of an exchange.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    pub(super) request: Bytes,
    pub(super) head: Bytes,
}

impl Record {
    pub(super) fn new(bounds: RecordBounds) -> Self {
        Record(Arc::new(Mutex::new(Passed {
            bounds,
            sent: BytesMut::new(),
            head: BytesMut::new(),
            wire_body: BytesMut::new(),
            stage: Stage::Head,
            line: (0, false),
            line_start: 0,
            interim: 0,
            interim_bytes: 0,
            received: 0,
            overflow: None,
        })))
    }

    /// Forgets the exchange before and begins the next one.
    pub(super) fn begin(&self, body_max: usize) {
        let mut passed = self.lock();
        let bounds = RecordBounds { body_max, ..passed.bounds };
        *passed = Passed {
            bounds,
            sent: BytesMut::with_capacity(512),
            head: BytesMut::with_capacity(1024),
            wire_body: BytesMut::new(),
            stage: Stage::Head,
            line: (0, false),
            line_start: 0,
            interim: 0,
            interim_bytes: 0,
            received: 0,
            overflow: None,
        };
    }

    /// Returns the request and the final answer's header block; call it once the head is there.
    pub(super) fn take_blocks(&self) -> Blocks {
        let mut passed = self.lock();
        let request = std::mem::take(&mut passed.sent).freeze();
        Blocks { request, head: std::mem::take(&mut passed.head).freeze() }
    }

    /// Returns the body with its framing, or `None` if it had no transfer coding.
    pub(super) fn take_wire_body(&self) -> Option<Bytes> {
        let mut passed = self.lock();
        let coded = passed.stage == Stage::CodedBody;
        coded.then(|| std::mem::take(&mut passed.wire_body).freeze())
    }

    /// Returns the bytes that came since the exchange began.
    pub(super) fn received(&self) -> u64 {
        self.lock().received
    }

    /// Returns the bound that was exceeded, if one was.
    pub(super) fn overflow(&self) -> Option<Overflow> {
        self.lock().overflow
    }

    fn lock(&self) -> MutexGuard<'_, Passed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Passed {
    /// Takes note of `bytes` that came; fails if a bound of the header block is exceeded.
    fn note(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.received += bytes.len() as u64;
        let body = match self.stage {
            Stage::Head => self.note_head(bytes)?,
            Stage::CodedBody | Stage::PlainBody => bytes,
        };
        if self.stage == Stage::CodedBody {
            let room = self.bounds.body_max.saturating_sub(self.wire_body.len());
            if body.len() > room {
                self.overflow = Some(Overflow::Body);
            }
            self.wire_body.extend_from_slice(&body[..body.len().min(room)]);
        }
        Ok(())
    }

    /// Adds to the header block up to its end; returns what is left for the body.
    fn note_head<'a>(&mut self, bytes: &'a [u8]) -> io::Result<&'a [u8]> {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end + 1);
            rest = after;
            let empty = match self.line {
                (0, _) => line == b"\n" || line == b"\r\n",
                (1, true) => line == b"\n",
                _ => false,
            };
            self.line = (0, false);
            if empty && self.line_start == 0 {
                // Empty lines before a status line belong to no answer (RFC 9112 §2.2).
                self.head.clear();
                continue;
            }
            self.extend_head(line)?;
            self.line_start = self.head.len();
            if empty && self.end_head()? {
                return Ok(rest);
            }
        }
        if !rest.is_empty() {
            let cr_only = self.line.0 == 0 && rest == b"\r";
            self.line = (self.line.0 + rest.len(), cr_only);
            self.extend_head(rest)?;
        }
        Ok(&[])
    }

    fn extend_head(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = self.bounds.head_max.saturating_sub(self.head.len() + self.interim_bytes);
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if bytes.len() > room { self.exceed(Overflow::Head) } else { Ok(()) }
    }

    /// Returns true if the block that just ended is that of the final answer.
    fn end_head(&mut self) -> io::Result<bool> {
        if is_interim(&self.head) {
            self.interim += 1;
            self.interim_bytes += self.head.len();
            self.head.clear();
            self.line_start = 0;
            if self.interim > self.bounds.interim_max {
                self.exceed(Overflow::Interim)?;
            }
            return Ok(false);
        }
        self.stage =
            if has_transfer_coding(&self.head) { Stage::CodedBody } else { Stage::PlainBody };
        Ok(true)
    }

    fn exceed(&mut self, overflow: Overflow) -> io::Result<()> {
        self.overflow = Some(overflow);
        Err(io::Error::other("header block over its limit"))
    }
}

/// Returns true for 100 to 199 but 101, which ends HTTP on the connection.
fn is_interim(head: &[u8]) -> bool {
    let mut words = head.split(|byte| *byte == b' ');
    let status = words.nth(1).unwrap_or_default();
    status.len() >= 3 && status[0] == b'1' && !status.starts_with(b"101")
}

fn has_transfer_coding(head: &[u8]) -> bool {
    const NAME: &[u8] = b"transfer-encoding";
    head.split(|byte| *byte == b'\n')
        .any(|line| line.get(..NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME)))
}

/// A stream that keeps a [`Record`] of what passes.
#[derive(Debug)]
pub(super) struct Recorder<S> {
    stream: S,
    record: Record,
}

impl<S> Recorder<S> {
    pub(super) fn new(stream: S, record: Record) -> Self {
        Recorder { stream, record }
    }

    /// Gives the stream back.
    pub(super) fn into_stream(self) -> S {
        self.stream
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Recorder<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let most = buf.remaining().min(READ_MAX);
        let mut part = ReadBuf::new(buf.initialize_unfilled_to(most));
        std::task::ready!(Pin::new(&mut self.stream).poll_read(cx, &mut part))?;
        let count = part.filled().len();
        if count > 0 {
            self.record.lock().note(part.filled())?;
        }
        buf.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Recorder<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let count = std::task::ready!(Pin::new(&mut self.stream).poll_write(cx, buf))?;
        self.record.lock().sent.extend_from_slice(&buf[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOUNDS: RecordBounds = RecordBounds { head_max: 100, interim_max: 2, body_max: 20 };

    /// Feeds `wire` in pieces of every size; all must lead to the same record.
    fn check(wire: &[u8], head: &[u8], body: Option<&[u8]>, overflow: Option<Overflow>) {
        for size in 1..=wire.len() {
            let record = Record::new(BOUNDS);
            for piece in wire.chunks(size) {
                if record.lock().note(piece).is_err() {
                    break;
                }
            }
            assert_eq!(record.overflow(), overflow, "pieces of {size}");
            if overflow != Some(Overflow::Head) {
                assert_eq!(record.take_wire_body().as_deref(), body, "pieces of {size}");
                assert_eq!(record.take_blocks().head, head, "pieces of {size}");
            } else {
                assert!(record.take_blocks().head.len() <= BOUNDS.head_max);
            }
        }
    }

    #[test]
    fn the_header_block_is_kept_as_it_came() {
        let head = b"HTTP/1.1 200  Fine \r\nX-Odd:a\r\nx-odd :  b\r\n folded\r\n\r\n";
        check(&[head, &b"body\n\n"[..]].concat(), head, None, None);
        let bare = b"HTTP/1.0 200 OK\nA: b\n\n";
        check(&[bare, &b"body\r\n\r\n"[..]].concat(), bare, None, None);
        check(b"\r\n\n\r\nHTTP/1.1 204 No\r\n\r\n", b"HTTP/1.1 204 No\r\n\r\n", None, None);
    }

    #[test]
    fn a_line_with_a_stray_carriage_return_does_not_end_the_block() {
        let head = b"HTTP/1.1 200 OK\r\n\r\r\nA: b\r\n\r\n";
        check(head, head, None, None);
    }

    #[test]
    fn the_framing_of_a_coded_body_is_kept() {
        let head = b"HTTP/1.1 200 OK\r\ntransfer-ENCODING: chunked\r\n\r\n";
        check(
            &[head, &b"3\r\nabc\r\n0\r\n\r\n"[..]].concat(),
            head,
            Some(b"3\r\nabc\r\n0\r\n\r\n"),
            None,
        );
        let long = [head, &[b'1'; 30][..]].concat();
        check(&long, head, Some(&[b'1'; 20]), Some(Overflow::Body));
    }

    #[test]
    fn interim_answers_are_passed_over_but_not_for_ever() {
        let early = b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n";
        let last = b"HTTP/1.1 200 OK\r\n\r\n";
        check(&[&early[..], early, last].concat(), last, None, None);
        let many = b"HTTP/1.1 102 a\n\n".repeat(3);
        check(&many, b"", None, Some(Overflow::Interim));
        let switch = b"HTTP/1.1 101 Switch\r\n\r\n";
        check(switch, switch, None, None);
    }

    #[test]
    fn an_endless_header_block_is_stopped() {
        check(&b"HTTP/1.1 200 OK\r\nA: b\r\n".repeat(9), b"", None, Some(Overflow::Head));
        check(&[b'x'; 200], b"", None, Some(Overflow::Head));
    }

    /// Feeds `wire` cut at `cuts` and returns all that is known afterwards.
    fn outcome(wire: &[u8], cuts: &[usize]) -> (Option<Overflow>, Bytes, Option<Bytes>) {
        let record = Record::new(BOUNDS);
        let mut rest = wire;
        let mut stopped = false;
        for cut in cuts.iter().map(|cut| cut % (wire.len() + 1)).chain([wire.len()]) {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            rest = after;
            stopped = stopped || record.lock().note(piece).is_err();
        }
        let wire_body = record.take_wire_body();
        let head = if stopped { Bytes::new() } else { record.take_blocks().head };
        (record.overflow(), head, wire_body)
    }

    fn wire() -> impl Strategy<Value = Vec<u8>> {
        let word = prop_oneof![
            Just(&b"\r\n"[..]),
            Just(&b"\n"[..]),
            Just(&b"\r"[..]),
            Just(&b"HTTP/1.1 200 OK\r\n"[..]),
            Just(&b"HTTP/1.1 103 E\r\n\r\n"[..]),
            Just(&b"Transfer-Encoding: chunked\r\n"[..]),
            Just(&b"a: b\r\n"[..]),
            Just(&b" \0x"[..]),
        ];
        prop::collection::vec(word, 0..12).prop_map(|words| words.concat())
    }

    proptest! {
        #[test]
        fn how_the_network_cuts_the_bytes_changes_nothing(
            wire in wire(),
            cuts in prop::collection::vec(any::<usize>(), 0..6),
        ) {
            let whole = outcome(&wire, &[]);
            prop_assert_eq!(&outcome(&wire, &cuts), &whole);
            prop_assert!(whole.1.len() <= BOUNDS.head_max);
            prop_assert!(whole.2.is_none_or(|body| body.len() <= BOUNDS.body_max));
        }
    }
}
