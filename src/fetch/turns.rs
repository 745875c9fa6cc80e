//! Large bodies take turns, so that many hosts together cannot fill the memory.
//!
//! Most pages are small, and a fetch may be under way for every host. A body that grows beyond
//! [`SMALL_MAX`] needs a turn, of which there are few; without one it waits, and the server with
//! it, until its deadline. The turn is given back when the last reader of the bytes lets them go:
//! after they were parsed and archived.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

/// Bytes that no body needs a turn for. Nine pages of ten are far below.
pub(super) const SMALL_MAX: usize = 1 << 20;

/// The turns that there are.
#[derive(Clone, Debug)]
pub(super) struct Turns(Arc<Semaphore>);

/// The right to hold one large body, wire bytes and decoded bytes together.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    _permit: Arc<OwnedSemaphorePermit>,
}

impl Turns {
    pub(super) fn new(count: usize) -> Self {
        Turns(Arc::new(Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS))))
    }

    /// Waits for a turn; `None` if there was none in time.
    pub(super) async fn take(&self, deadline: Instant) -> Option<Turn> {
        let permit = timeout_at(deadline, self.0.clone().acquire_owned()).await.ok()?.ok()?;
        Some(Turn { _permit: Arc::new(permit) })
    }
}

/// Ties a turn to the bytes that it was taken for.
pub(super) fn tied(bytes: Bytes, turn: Option<&Turn>) -> Bytes {
    struct Held(Bytes, #[expect(dead_code, reason = "held, not read")] Turn);
    impl AsRef<[u8]> for Held {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    match turn {
        Some(turn) => Bytes::from_owner(Held(bytes, turn.clone())),
        None => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn a_turn_comes_back_with_the_last_of_its_bytes() {
        let turns = Turns::new(1);
        let soon = || Instant::now() + Duration::from_millis(10);
        let turn = turns.take(soon()).await.expect("it is free");
        let bytes = tied(Bytes::from_static(b"large"), Some(&turn));
        drop(turn);
        let slice = bytes.slice(1..3);
        drop(bytes);
        assert!(turns.take(soon()).await.is_none(), "a slice is still there");
        assert_eq!(slice, "ar");
        drop(slice);
        assert!(turns.take(soon()).await.is_some());
    }
}
