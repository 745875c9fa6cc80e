//! Connections that are kept for the next request to their origin.
//!
//! One per origin, since a host has one fetch at a time (I2); bounded in number and in age, the
//! longest idle is closed first. Nobody watches them while they idle: whether one still lives is
//! asked when it is wanted.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::connect::Stream;
use super::http1::is_quiet;
use super::http2::Http2;
use crate::url::Origin;

/// A connection with what an answer says about it.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) wire: Wire,
    pub(super) address: IpAddr,
    pub(super) tls: Option<(String, String)>,
}

/// A connection by its protocol.
#[derive(Debug)]
pub(super) enum Wire {
    Http1(Box<Stream>),
    Http2(Http2),
}

impl Link {
    /// Returns true if the next request has something to learn from it: it lives, or its server
    /// ended it with a wish for calm, which must not be gone around by another connection.
    fn is_of_use(&mut self) -> bool {
        match &mut self.wire {
            Wire::Http1(stream) => is_quiet(stream),
            Wire::Http2(http2) => http2.is_open() || http2.wants_calm(),
        }
    }
}

/// Idle connections by origin.
#[derive(Debug)]
pub(super) struct Pool {
    max: usize,
    idle_for: Duration,
    idle: Mutex<Idle>,
}

#[derive(Debug, Default)]
struct Idle {
    by_origin: HashMap<Origin, Kept>,
    /// Origins by the serial number of their connection; the oldest first.
    by_age: BTreeMap<u64, Origin>,
    serial: u64,
}

#[derive(Debug)]
struct Kept {
    link: Link,
    serial: u64,
    until: Instant,
}

impl Pool {
    pub(super) fn new(max: usize, idle_for: Duration) -> Self {
        Pool { max, idle_for, idle: Mutex::default() }
    }

    /// Takes out the connection of `origin` if it is of use and `usable` agrees to its address.
    pub(super) fn take(&self, origin: &Origin, usable: impl Fn(IpAddr) -> bool) -> Option<Link> {
        let kept = {
            let mut idle = self.lock();
            let kept = idle.by_origin.remove(origin)?;
            idle.by_age.remove(&kept.serial);
            kept
        };
        let mut link = kept.link;
        (kept.until > Instant::now() && usable(link.address) && link.is_of_use()).then_some(link)
    }

    /// Keeps a connection, unless it is of no use any more.
    pub(super) fn put(&self, origin: Origin, mut link: Link) {
        if self.max == 0 || self.idle_for.is_zero() || !link.is_of_use() {
            return;
        }
        let now = Instant::now();
        // Closed outside the lock, at the end of the function.
        let mut closed = Vec::new();
        let mut idle = self.lock();
        idle.serial += 1;
        let serial = idle.serial;
        let kept = Kept { link, serial, until: now + self.idle_for };
        idle.by_age.insert(serial, origin.clone());
        if let Some(other) = idle.by_origin.insert(origin, kept) {
            idle.by_age.remove(&other.serial);
            closed.push(other);
        }
        idle.close(now, self.max, &mut closed);
    }

    /// Closes the connections that have been idle for too long.
    pub(super) fn sweep(&self) {
        let mut closed = Vec::new();
        self.lock().close(Instant::now(), self.max, &mut closed);
    }

    /// Closes all idle connections.
    pub(super) fn clear(&self) {
        let idle = std::mem::take(&mut *self.lock());
        // Closed outside the lock.
        drop(idle);
    }

    /// Returns how many connections are idle.
    pub(super) fn len(&self) -> usize {
        self.lock().by_origin.len()
    }

    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Idle {
    fn close(&mut self, now: Instant, max: usize, closed: &mut Vec<Kept>) {
        while let Some(entry) = self.by_age.first_entry() {
            let expired = self.by_origin.get(entry.get()).is_none_or(|kept| kept.until <= now);
            if !expired && self.by_origin.len() <= max {
                break;
            }
            closed.extend(self.by_origin.remove(&entry.remove()));
        }
    }
}
