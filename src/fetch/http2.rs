//! One HTTP/2 connection, and its messages written as HTTP/1.1 for the archive.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::FutureExt;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper::header::HeaderMap;
use hyper::rt::Executor;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioTimer;
use tokio::task::JoinSet;

use super::Settings;
use super::connect::Stream;

/// An HTTP/2 connection; dropping it closes it.
#[derive(Debug)]
pub(super) struct Http2 {
    sender: SendRequest<Empty<Bytes>>,
    _tasks: EndOnDrop,
}

impl Http2 {
    /// Takes over a stream on which ALPN chose HTTP/2.
    pub(super) async fn open(stream: Stream, settings: &Settings) -> hyper::Result<Self> {
        let head_max = u32::try_from(settings.head_max.get()).unwrap_or(u32::MAX);
        let tasks = Tasks::default();
        let end_on_drop = EndOnDrop(tasks.clone());
        let (sender, connection) = Builder::new(tasks.clone())
            .timer(TokioTimer::new())
            .max_header_list_size(head_max)
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .handshake(stream)
            .await?;
        // Its error reaches the response or the body too.
        tasks.execute(connection.map(drop));
        Ok(Http2 { sender, _tasks: end_on_drop })
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(
        &mut self,
        request: Request<Empty<Bytes>>,
    ) -> hyper::Result<Response<Incoming>> {
        self.sender.ready().await?;
        self.sender.send_request(request).await
    }

    /// Returns true if the connection takes another request.
    pub(super) fn is_open(&self) -> bool {
        self.sender.is_ready() && !self.sender.is_closed()
    }
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
