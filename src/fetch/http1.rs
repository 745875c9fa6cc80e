//! One HTTP/1.1 connection, driven by the fetch that uses it.
//!
//! hyper wants its connection polled beside the request. That is done in the same future, not in a
//! task of its own: no waking across threads, and dropping the fetch closes the connection. Between
//! two exchanges the stream alone is kept: what hyper holds is made in a microsecond, and its
//! buffers are most of what an idle connection would weigh.

use std::future::Future;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::{Body, Frame, Incoming};
use hyper::client::conn::http1::{Builder, Connection, Parts, SendRequest};
use hyper::rt::{Read, ReadBuf};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

use super::Settings;
use super::connect::Stream;
use super::recorder::{READ_MAX, Record, RecordBounds, Recorder};

type Recorded = TokioIo<Recorder<TokioIo<Stream>>>;

/// An HTTP/1.1 connection for one exchange, with its record.
#[derive(Debug)]
pub(super) struct Http1 {
    sender: SendRequest<Empty<Bytes>>,
    connection: Option<Connection<Recorded, Empty<Bytes>>>,
    record: Record,
}

impl Http1 {
    /// Takes over a stream; sends nothing yet.
    pub(super) async fn open(stream: Stream, settings: &Settings) -> hyper::Result<Self> {
        let record = Record::new(RecordBounds {
            head_max: settings.head_max.as_len(),
            interim_max: settings.interim_max,
            body_max: 0,
        });
        let recorder = Recorder::new(TokioIo::new(stream), record.clone());
        let (sender, connection) = Builder::new()
            .title_case_headers(true)
            // What browsers put up with: folded lines, a space before the colon, lines that are no
            // field. A NUL byte or a lone carriage return is refused all the same.
            .allow_obsolete_multiline_headers_in_responses(true)
            .allow_spaces_after_header_name_in_responses(true)
            .ignore_invalid_headers_in_responses(true)
            .max_headers(settings.head_fields_max)
            // The longest header block, and what comes behind it in one read.
            .max_buf_size(settings.head_max.as_len().saturating_add(READ_MAX))
            .handshake(TokioIo::new(recorder))
            .await?;
        Ok(Http1 { sender, connection: Some(connection), record })
    }

    /// Returns the record of the present exchange.
    pub(super) fn record(&self) -> &Record {
        &self.record
    }

    /// Sends a request and waits for the head of its answer; `wire_max` bounds the recorded body.
    pub(super) async fn send(
        &mut self,
        request: Request<Empty<Bytes>>,
        wire_max: usize,
    ) -> hyper::Result<Response<Incoming>> {
        self.record.begin(wire_max);
        let mut response = pin!(self.sender.send_request(request));
        let connection = &mut self.connection;
        std::future::poll_fn(|cx| {
            drive(connection, cx);
            response.as_mut().poll(cx)
        })
        .await
    }

    /// Polls for the next part of a body.
    pub(super) fn poll_frame(
        &mut self,
        body: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        drive(&mut self.connection, cx);
        Pin::new(body).poll_frame(cx)
    }

    /// Returns the stream if it is open and waits for a request: the server has not closed it and
    /// has sent nothing that nobody asked for.
    pub(super) fn into_stream(mut self) -> Option<Stream> {
        drive(&mut self.connection, &mut Context::from_waker(Waker::noop()));
        let connection = self.connection.filter(|_| self.sender.is_ready())?;
        let Parts { io, read_buf, .. } = connection.into_parts();
        read_buf.is_empty().then(|| io.into_inner().into_stream().into_inner())
    }
}

/// Returns true if nothing has come on a stream on which nothing was asked, nor its end.
pub(super) fn is_quiet(stream: &mut Stream) -> bool {
    let mut byte = [MaybeUninit::uninit()];
    let mut buf = ReadBuf::uninit(&mut byte);
    let mut cx = Context::from_waker(Waker::noop());
    Pin::new(stream).poll_read(&mut cx, buf.unfilled()).is_pending()
}

/// Polls the connection; lets go of it once it has ended. Its error reaches the response or the
/// body too, so it is not kept.
fn drive(connection: &mut Option<Connection<Recorded, Empty<Bytes>>>, cx: &mut Context<'_>) {
    if let Some(open) = connection
        && Pin::new(open).poll(cx).is_ready()
    {
        *connection = None;
    }
}
