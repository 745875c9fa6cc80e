//! One HTTP/2 connection, and its messages written as HTTP/1.1 for the archive.

use std::error::Error;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::FutureExt;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::header::HeaderMap;
use hyper::rt::Executor;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::Settings;
use super::connect::Stream;
use super::frames::{Counted, HeaderBlocks};

/// An HTTP/2 connection; dropping it closes it.
#[derive(Debug)]
pub(super) struct Http2 {
    sender: SendRequest<Empty<Bytes>>,
    /// The server ended the connection because it was asked too much.
    calm: Arc<AtomicBool>,
    blocks: HeaderBlocks,
    /// Completes when nothing more can come of the connection, and `calm` is settled.
    ended: oneshot::Receiver<()>,
    _tasks: EndOnDrop,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(super) struct Unanswered {
    pub(super) error: hyper::Error,
    /// The server says that it is asked too much (RFC 9113 §7, ENHANCE_YOUR_CALM).
    pub(super) wants_calm: bool,
    /// The server cannot have worked on it (RFC 9113 §8.7): it was never sent, or was refused.
    pub(super) is_unprocessed: bool,
    /// The server sent too many interim answers.
    pub(super) is_flooded: bool,
}

impl Http2 {
    /// Takes over a stream on which ALPN chose HTTP/2.
    pub(super) async fn open(stream: Stream, settings: &Settings) -> hyper::Result<Self> {
        let head_max = u32::try_from(settings.head_max.get()).unwrap_or(u32::MAX);
        let blocks = HeaderBlocks::new(settings.interim_max);
        let stream = TokioIo::new(Counted::new(TokioIo::new(stream), blocks.clone()));
        let tasks = Tasks::default();
        let end_on_drop = EndOnDrop(tasks.clone());
        let (sender, connection) = Builder::new(tasks.clone())
            .timer(TokioTimer::new())
            .max_header_list_size(head_max)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .handshake(stream)
            .await?;
        let (calm, (ending, ended)) = (Arc::<AtomicBool>::default(), oneshot::channel::<()>());
        let told = calm.clone();
        // Its error reaches the body too, and a response that is waited for; but not a request that
        // comes after it.
        tasks.execute(connection.map(move |end| {
            told.store(end.is_err_and(|error| wants_calm(&error)), Ordering::Release);
            drop(ending);
        }));
        Ok(Http2 { sender, calm, blocks, ended, _tasks: end_on_drop })
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(
        &mut self,
        request: Request<Empty<Bytes>>,
    ) -> Result<Response<Incoming>, Unanswered> {
        self.blocks.begin();
        let error = match self.sender.ready().await {
            Ok(()) => match self.sender.send_request(request).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            },
            Err(error) => error,
        };
        let mut wants_calm = wants_calm(&error);
        if error.is_closed() || error.is_canceled() {
            // That the sender was let go is its only way to end.
            let _ = (&mut self.ended).await;
            wants_calm |= self.wants_calm();
        }
        let is_flooded = self.blocks.are_too_many();
        let is_unprocessed = !is_flooded && is_unprocessed(&error);
        Err(Unanswered { error, wants_calm, is_unprocessed, is_flooded })
    }

    /// Returns true if the server ended the connection because it was asked too much.
    pub(super) fn wants_calm(&self) -> bool {
        self.calm.load(Ordering::Acquire)
    }

    /// Returns true if the connection takes another request.
    pub(super) fn is_open(&self) -> bool {
        self.sender.is_ready() && !self.sender.is_closed()
    }
}

/// Returns true if the server sent ENHANCE_YOUR_CALM, for a stream or for the connection. hyper
/// keeps the code to itself; the text of its cause is the same for every server, and a test's.
fn wants_calm(error: &hyper::Error) -> bool {
    const SAID: &str = "error received: detected excessive load generating behavior";
    error.source().is_some_and(|cause| cause.to_string().contains(SAID))
}

/// Returns true if the request never left, or the server says that it has not looked at it: by
/// REFUSED_STREAM, or by GOAWAY with a number below that of its stream. A stream that GOAWAY spares
/// breaks, if it does, with the connection.
fn is_unprocessed(error: &hyper::Error) -> bool {
    const REFUSED: &str = "stream error received: refused stream";
    const GONE_AWAY: &str = "connection error received:";
    let said = error.source().map(ToString::to_string).unwrap_or_default();
    let is_refused = said.starts_with(REFUSED) || said.starts_with(GONE_AWAY);
    error.is_closed() || error.is_canceled() || is_refused
}

/// Ends the tasks of a connection, and with them its socket.
///
/// Left to themselves they would say goodbye to the server first, and wait for ever for one that
/// does not read.
#[derive(Debug)]
struct EndOnDrop(Tasks);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.lock().abort_all();
    }
}

/// The tasks that hyper wants for one connection.
#[derive(Clone, Debug, Default)]
struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl Tasks {
    fn lock(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F> Executor<F> for Tasks
where
    F: Future + Send + 'static,
{
    fn execute(&self, task: F) {
        let mut tasks = self.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task.map(drop));
    }
}

/// Bytes that a server may send unasked: enough for 1 MB/s at half a second's round trip.
const WINDOW: u32 = 512 * 1024;

/// Writes a request as HTTP/1.1.
pub(super) fn request_block(host: &str, target: &str, headers: &HeaderMap) -> Bytes {
    let mut block = BytesMut::with_capacity(512);
    block.put_slice(b"GET ");
    block.put_slice(target.as_bytes());
    block.put_slice(b" HTTP/1.1\r\nhost: ");
    block.put_slice(host.as_bytes());
    block.put_slice(b"\r\n");
    put_fields(&mut block, headers);
    block.freeze()
}

/// Writes an answer's head as HTTP/1.1.
pub(super) fn head_block(status: StatusCode, headers: &HeaderMap) -> Bytes {
    let mut block = BytesMut::with_capacity(1024);
    block.put_slice(b"HTTP/1.1 ");
    block.put_slice(status.as_str().as_bytes());
    block.put_slice(b" ");
    block.put_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    block.put_slice(b"\r\n");
    put_fields(&mut block, headers);
    block.freeze()
}

fn put_fields(block: &mut BytesMut, headers: &HeaderMap) {
    for (name, value) in headers {
        block.put_slice(name.as_str().as_bytes());
        block.put_slice(b": ");
        block.put_slice(value.as_bytes());
        block.put_slice(b"\r\n");
    }
    block.put_slice(b"\r\n");
}
