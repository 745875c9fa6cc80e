//! Counts the header blocks that a server sends over HTTP/2 (RFC 9113 §4.1).
//!
//! Interim answers are passed over by what reads them, however many they are, and nobody says that
//! there were any. Each begins a HEADERS frame, so those are counted as they pass.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes before the payload of a frame: its length in three, its type in one, and six more.
const HEADER_LEN: usize = 9;

/// The type of a frame that begins a header block.
const HEADERS: u8 = 1;

/// The header blocks of the present exchange; shared by the stream and the fetch.
#[derive(Clone, Debug)]
pub(super) struct HeaderBlocks {
    count: Arc<AtomicUsize>,
    max: usize,
}

impl HeaderBlocks {
    /// Allows so many interim answers, the final one, and trailers.
    pub(super) fn new(interim_max: usize) -> Self {
        HeaderBlocks { count: Arc::default(), max: interim_max.saturating_add(2) }
    }

    /// Begins the next exchange.
    pub(super) fn begin(&self) {
        self.count.store(0, Ordering::Release);
    }

    /// Returns true if there were more than are allowed; the stream has failed then.
    pub(super) fn are_too_many(&self) -> bool {
        self.count.load(Ordering::Acquire) > self.max
    }
}

/// A stream that fails when a server sends too many header blocks.
#[derive(Debug)]
pub(super) struct Counted<S> {
    stream: S,
    blocks: HeaderBlocks,
    frames: Frames,
}

impl<S> Counted<S> {
    pub(super) fn new(stream: S, blocks: HeaderBlocks) -> Self {
        Counted { stream, blocks, frames: Frames::default() }
    }
}

/// Where in its frames a stream is.
#[derive(Debug, Default)]
struct Frames {
    header: [u8; HEADER_LEN],
    /// Bytes of the header that have come.
    came: usize,
    /// Bytes of the payload that have not.
    left: usize,
}

impl Frames {
    /// Passes `bytes`; returns how many HEADERS frames begin in them.
    fn pass(&mut self, mut bytes: &[u8]) -> usize {
        let mut blocks = 0;
        while !bytes.is_empty() {
            if self.left > 0 {
                let passed = self.left.min(bytes.len());
                self.left -= passed;
                bytes = &bytes[passed..];
                continue;
            }
            let part = bytes.len().min(HEADER_LEN - self.came);
            self.header[self.came..self.came + part].copy_from_slice(&bytes[..part]);
            self.came += part;
            bytes = &bytes[part..];
            if self.came == HEADER_LEN {
                let [a, b, c, kind, ..] = self.header;
                self.left = u32::from_be_bytes([0, a, b, c]) as usize;
                self.came = 0;
                blocks += usize::from(kind == HEADERS);
            }
        }
        blocks
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        std::task::ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let blocks = self.frames.pass(&buf.filled()[before..]);
        if blocks > 0 {
            self.blocks.count.fetch_add(blocks, Ordering::AcqRel);
            if self.blocks.are_too_many() {
                return Poll::Ready(Err(io::Error::other("too many header blocks")));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
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

    #[test]
    fn header_blocks_are_counted_however_the_network_cuts_them() {
        let frame = |kind: u8, payload: &[u8]| {
            let header = [0, 0, payload.len() as u8, kind, 0, 0, 0, 0, 1];
            [&header[..], payload].concat()
        };
        // The payload of the second looks like a frame of headers itself.
        let data = frame(0, &frame(HEADERS, b"x"));
        let wire = [frame(HEADERS, b"a"), data, frame(HEADERS, b""), frame(9, b"more")].concat();
        for size in 1..=wire.len() {
            let mut frames = Frames::default();
            let count: usize = wire.chunks(size).map(|piece| frames.pass(piece)).sum();
            assert_eq!(count, 2, "pieces of {size}");
        }
    }
}
