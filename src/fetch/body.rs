//! Reads a body to its end, to its limit or to the end of patience.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::body::Frame;
use tokio::time::{Instant, sleep_until};

use super::turns::{SMALL_MAX, Turn, Turns, tied};
use super::{Settings, Truncated};

/// Bounds of one body.
#[derive(Clone, Debug)]
pub(super) struct BodyBounds {
    /// Bytes without transfer coding.
    pub(super) bytes_max: usize,
    /// End of the whole fetch.
    pub(super) deadline: Instant,
    /// Bytes that each window must bring.
    pub(super) window_bytes: u64,
    /// Length of a window.
    pub(super) window: Duration,
    /// What it needs to become large.
    pub(super) turns: Turns,
}

impl BodyBounds {
    pub(super) fn new(
        settings: &Settings,
        bytes_max: usize,
        deadline: Instant,
        turns: &Turns,
    ) -> Self {
        let window = settings.rate_window.get().max(Duration::from_millis(1));
        // At least one byte: a body that stands still is always too slow.
        let window_bytes = (settings.rate_min.get() as f64 * window.as_secs_f64()) as u64;
        let (window_bytes, turns) = (window_bytes.max(1), turns.clone());
        BodyBounds { bytes_max, deadline, window_bytes, window, turns }
    }
}

/// What came of a body.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) payload: Bytes,
    pub(super) truncated: Option<Truncated>,
    /// Held if the payload is large.
    pub(super) turn: Option<Turn>,
}

/// Reads frames until the body ends or a bound is reached; `poll_frame` drives the connection, and
/// `over` tells whether the wire bytes exceed theirs. Returns `None` if a large body got no turn in
/// time, which is no fault of its server.
pub(super) async fn gather(
    bounds: BodyBounds,
    expected: Option<u64>,
    mut poll_frame: impl FnMut(&mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>>,
    over: impl Fn() -> bool,
) -> Option<Gathered> {
    let mut parts = Parts::new(bounds.bytes_max, expected);
    let mut window_end = Instant::now() + bounds.window;
    let mut window_start_len = 0;
    let mut timer = pin!(sleep_until(window_end.min(bounds.deadline)));
    let mut frames = 0u32;
    let mut turn = None;
    let truncated = loop {
        let step = std::future::poll_fn(|cx| match poll_frame(cx) {
            Poll::Ready(frame) => Poll::Ready(Step::Frame(frame)),
            Poll::Pending => timer.as_mut().poll(cx).map(|()| Step::Timer),
        });
        match step.await {
            Step::Frame(None) => break None,
            Step::Frame(Some(Ok(frame))) => {
                frames = frames.wrapping_add(1);
                if let Ok(data) = frame.into_data() {
                    parts.push(data);
                }
                if parts.full || over() {
                    break Some(Truncated::Length);
                }
                if parts.len() > SMALL_MAX && turn.is_none() {
                    turn = Some(bounds.turns.take(bounds.deadline).await?);
                    // The server was not to blame for the wait.
                    window_start_len = parts.len();
                    window_end = Instant::now() + bounds.window;
                    timer.as_mut().reset(window_end.min(bounds.deadline));
                }
                // A body that never pauses never lets the timer be asked.
                if frames.is_multiple_of(FRAMES_PER_LOOK) && Instant::now() >= bounds.deadline {
                    break Some(Truncated::Time);
                }
            }
            Step::Frame(Some(Err(error))) => break Some(cause(&error, over())),
            Step::Timer => {
                let now = Instant::now();
                let came = (parts.len() - window_start_len) as u64;
                if now >= bounds.deadline || came < bounds.window_bytes {
                    break Some(Truncated::Time);
                }
                window_start_len = parts.len();
                window_end = now + bounds.window;
                timer.as_mut().reset(window_end.min(bounds.deadline));
            }
        }
    };
    Some(Gathered { payload: tied(parts.finish(), turn.as_ref()), truncated, turn })
}

const FRAMES_PER_LOOK: u32 = 64;

enum Step {
    Frame(Option<hyper::Result<Frame<Bytes>>>),
    Timer,
}

/// Broken framing is told from a connection that ended.
fn cause(error: &hyper::Error, over: bool) -> Truncated {
    use io::ErrorKind::{InvalidData, InvalidInput};
    let inner =
        std::error::Error::source(error).and_then(|inner| inner.downcast_ref::<io::Error>());
    match inner.map(io::Error::kind) {
        _ if over => Truncated::Length,
        Some(InvalidData | InvalidInput) => Truncated::Unspecified,
        _ => Truncated::Disconnect,
    }
}

/// The parts of a body; a body of one part is never copied.
struct Parts {
    first: Bytes,
    joined: BytesMut,
    max: usize,
    expected: usize,
    full: bool,
}

impl Parts {
    fn new(max: usize, expected: Option<u64>) -> Self {
        // A header may claim anything: room is made for what is allowed and likely, no more.
        const ROOM_MAX: usize = 1 << 20;
        let expected = expected.map_or(0, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let expected = expected.min(max).min(ROOM_MAX);
        Parts { first: Bytes::new(), joined: BytesMut::new(), max, expected, full: false }
    }

    fn len(&self) -> usize {
        if self.joined.is_empty() { self.first.len() } else { self.joined.len() }
    }

    /// Adds a part as far as there is room.
    fn push(&mut self, mut data: Bytes) {
        let room = self.max - self.len();
        if data.len() > room {
            data.truncate(room);
            self.full = true;
        }
        if self.len() == 0 {
            self.first = data;
        } else if !data.is_empty() {
            if self.joined.is_empty() {
                let room = self.expected.max((self.first.len() + data.len()) * 2);
                self.joined = BytesMut::with_capacity(room);
                self.joined.extend_from_slice(&self.first);
                self.first = Bytes::new();
            }
            self.joined.extend_from_slice(&data);
        }
    }

    fn finish(self) -> Bytes {
        if self.joined.is_empty() { self.first } else { self.joined.freeze() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    fn run(bounds: BodyBounds, frames: Vec<&'static [u8]>, end: bool) -> Gathered {
        try_run(bounds, frames, end).expect("there is room for it")
    }

    fn try_run(bounds: BodyBounds, frames: Vec<&'static [u8]>, end: bool) -> Option<Gathered> {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let mut frames: VecDeque<_> = frames.into();
            let deadline = Instant::now() + (bounds.deadline - Instant::now());
            let bounds = BodyBounds { deadline, ..bounds };
            let poll = move |_: &mut Context<'_>| match frames.pop_front() {
                Some(data) => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(data))))),
                None if end => Poll::Ready(None),
                None => Poll::Pending,
            };
            gather(bounds, Some(u64::MAX), poll, || false).await
        })
    }

    fn bounds(bytes_max: usize) -> BodyBounds {
        let settings = Settings::default();
        let deadline = Instant::now() + Duration::from_secs(60);
        BodyBounds::new(&settings, bytes_max, deadline, &Turns::new(1))
    }

    #[test]
    fn a_body_within_its_limit_is_whole() {
        let got = run(bounds(6), vec![b"abc", b"", b"def"], true);
        assert_eq!((&got.payload[..], got.truncated), (&b"abcdef"[..], None));
        let got = run(bounds(0), vec![b""], true);
        assert_eq!((got.payload.len(), got.truncated), (0, None));
    }

    #[test]
    fn a_body_over_its_limit_is_cut_exactly_there() {
        for max in 0..6 {
            let got = run(bounds(max), vec![b"abc", b"def"], true);
            assert_eq!(
                (&got.payload[..], got.truncated),
                (&b"abcdef"[..max], Some(Truncated::Length))
            );
        }
    }

    #[test]
    fn a_body_that_stands_still_is_given_up_with_what_came() {
        let got = run(bounds(9), vec![b"abc"], false);
        assert_eq!((&got.payload[..], got.truncated), (&b"abc"[..], Some(Truncated::Time)));
    }

    #[test]
    fn a_large_body_waits_for_its_turn_until_its_deadline() {
        let half: &'static [u8] = &[b'x'; SMALL_MAX / 2 + 1];
        let free = bounds(4 * SMALL_MAX);
        let got = run(free.clone(), vec![half, half, half], true);
        assert_eq!((got.payload.len(), got.truncated), (3 * half.len(), None));
        assert!(run(free.clone(), vec![half], true).turn.is_none());
        // Others hold the room: that is no reason to keep half of a page for good.
        assert!(try_run(free.clone(), vec![half, half, half], true).is_none());
        drop(got);
        let after = run(free, vec![half, half, half], true);
        assert_eq!((after.payload.len(), after.truncated), (3 * half.len(), None));
    }

    #[test]
    fn one_part_is_handed_on_without_a_copy() {
        let part: &'static [u8] = b"only part";
        let got = run(bounds(99), vec![part], true);
        assert_eq!(got.payload.as_ptr(), part.as_ptr());
    }
}
