//! What a name has resolved to over time.
//!
//! A [`History`] is a value: it reads no clock and stores nothing. Its bytes, all numbers
//! big-endian: `version u8 = 1`, then per interval, oldest first: `first_seen u64`,
//! `last_seen u64`, `superseded u64` (milliseconds; 0 = not yet), `count u8`, and per address a
//! length byte (4 or 16) with the address.

use std::net::IpAddr;

use crate::clock::Timestamp;

/// A stretch of time in which a name had one set of addresses.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Interval {
    /// The addresses, sorted; empty if the name had none.
    pub addresses: Vec<IpAddr>,
    /// When they were seen first.
    pub first_seen: Timestamp,
    /// When they were confirmed last.
    pub last_seen: Timestamp,
    /// When other addresses were seen in their place; `None` if these are the present ones.
    pub superseded: Option<Timestamp>,
}

/// The address sets of one name, oldest first; at most [`History::INTERVALS_MAX`] of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct History {
    intervals: Vec<Interval>,
}

/// Why bytes are not a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// Written by another version of the program.
    #[error("read an address history of format {0}, this version reads format 1")]
    Version(u8),
    /// Cut off or overwritten.
    #[error("read an address history: its bytes are damaged")]
    Damaged,
}

impl History {
    /// Intervals kept; the oldest is dropped for the next one. Names that rotate through many
    /// address sets would grow without end otherwise.
    pub const INTERVALS_MAX: usize = 64;
    /// Addresses kept per interval.
    pub const ADDRESSES_MAX: usize = 64;

    /// Returns the intervals, oldest first.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Notes that at `now` the name had `addresses`, in whatever order.
    ///
    /// Returns true if the set differs from the last one, so that there is something new to show.
    pub fn observe(&mut self, addresses: &[IpAddr], now: Timestamp) -> bool {
        let mut addresses = addresses.to_vec();
        addresses.sort_unstable();
        addresses.dedup();
        addresses.truncate(Self::ADDRESSES_MAX);
        if let Some(last) = self.intervals.last_mut() {
            if last.addresses == addresses {
                last.last_seen = last.last_seen.max(now);
                return false;
            }
            last.superseded = Some(now);
        }
        if self.intervals.len() == Self::INTERVALS_MAX {
            self.intervals.remove(0);
        }
        let interval = Interval { addresses, first_seen: now, last_seen: now, superseded: None };
        self.intervals.push(interval);
        true
    }

    /// Returns the form in which it is stored; see the module's head for the layout.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(1 + self.intervals.len() * 32);
        bytes.push(VERSION);
        for interval in &self.intervals {
            let superseded = interval.superseded.unwrap_or(Timestamp::ZERO);
            for at in [interval.first_seen, interval.last_seen, superseded] {
                bytes.extend_from_slice(&at.as_millis().to_be_bytes());
            }
            // `observe` and `decode` keep the count below 256.
            bytes.push(interval.addresses.len() as u8);
            for address in &interval.addresses {
                match address {
                    IpAddr::V4(v4) => push_with_length(&mut bytes, &v4.octets()),
                    IpAddr::V6(v6) => push_with_length(&mut bytes, &v6.octets()),
                }
            }
        }
        bytes
    }

    /// Reads the stored form.
    ///
    /// # Errors
    /// Fails on bytes that [`History::encode`] cannot have written.
    pub fn decode(bytes: &[u8]) -> Result<History, HistoryError> {
        let (&version, mut rest) = bytes.split_first().ok_or(HistoryError::Damaged)?;
        if version != VERSION {
            return Err(HistoryError::Version(version));
        }
        let mut intervals = Vec::new();
        while !rest.is_empty() {
            if intervals.len() == Self::INTERVALS_MAX {
                return Err(HistoryError::Damaged);
            }
            intervals.push(take_interval(&mut rest).ok_or(HistoryError::Damaged)?);
        }
        Ok(History { intervals })
    }
}

const VERSION: u8 = 1;

fn push_with_length(bytes: &mut Vec<u8>, octets: &[u8]) {
    bytes.push(octets.len() as u8);
    bytes.extend_from_slice(octets);
}

fn take_interval(rest: &mut &[u8]) -> Option<Interval> {
    let first_seen = take_timestamp(rest)?;
    let last_seen = take_timestamp(rest)?;
    let superseded = Some(take_timestamp(rest)?).filter(|at| *at != Timestamp::ZERO);
    let count = usize::from(*rest.split_off_first()?);
    if count > History::ADDRESSES_MAX {
        return None;
    }
    let addresses = (0..count).map(|_| take_address(rest)).collect::<Option<Vec<_>>>()?;
    Some(Interval { addresses, first_seen, last_seen, superseded })
}

fn take_timestamp(rest: &mut &[u8]) -> Option<Timestamp> {
    let bytes = rest.split_off(..8)?;
    Some(Timestamp::from_millis(u64::from_be_bytes(bytes.try_into().ok()?)))
}

fn take_address(rest: &mut &[u8]) -> Option<IpAddr> {
    let length = usize::from(*rest.split_off_first()?);
    let octets = rest.split_off(..length)?;
    match length {
        4 => <[u8; 4]>::try_from(octets).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(octets).ok().map(IpAddr::from),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn the_same_addresses_in_another_order_are_no_news() {
        let mut history = History::default();
        assert!(history.observe(&[ip("192.0.2.1"), ip("192.0.2.2")], at(1)));
        assert!(!history.observe(&[ip("192.0.2.2"), ip("192.0.2.1")], at(5)));
        assert_eq!(history.intervals().len(), 1);
        assert_eq!(history.intervals()[0].first_seen, at(1));
        assert_eq!(history.intervals()[0].last_seen, at(5));
        assert_eq!(history.intervals()[0].superseded, None);
    }

    #[test]
    fn new_addresses_supersede_the_old_ones_and_both_are_kept() {
        let mut history = History::default();
        history.observe(&[ip("192.0.2.1")], at(1));
        assert!(history.observe(&[ip("2001:db8::1")], at(9)));
        assert_eq!(history.intervals()[0].superseded, Some(at(9)));
        assert_eq!(history.intervals()[1].addresses, [ip("2001:db8::1")]);
    }

    #[test]
    fn a_name_that_changes_all_the_time_stays_bounded() {
        let mut history = History::default();
        for n in 0..1_000u32 {
            history.observe(&[IpAddr::from(n.to_be_bytes())], at(u64::from(n)));
        }
        assert_eq!(history.intervals().len(), History::INTERVALS_MAX);
        assert_eq!(history.intervals()[0].first_seen, at(1_000 - 64));
        assert_eq!(History::decode(&history.encode()), Ok(history));
    }

    #[test]
    fn damaged_bytes_are_named_as_such() {
        let mut history = History::default();
        history.observe(&[ip("192.0.2.1")], at(1));
        let bytes = history.encode();
        assert_eq!(History::decode(&[]), Err(HistoryError::Damaged));
        assert_eq!(History::decode(&[9]), Err(HistoryError::Version(9)));
        for end in 2..bytes.len() {
            assert_eq!(History::decode(&bytes[..end]), Err(HistoryError::Damaged), "{end}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_fail_without_harm(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            if let Ok(history) = History::decode(&bytes) {
                prop_assert_eq!(History::decode(&history.encode()), Ok(history));
            }
        }

        #[test]
        fn histories_survive_a_round_trip(sets in prop::collection::vec(
            prop::collection::vec(any::<u128>(), 0..4), 0..20)) {
            let mut history = History::default();
            for (n, set) in sets.iter().enumerate() {
                let addresses: Vec<IpAddr> =
                    set.iter().map(|bits| IpAddr::from(bits.to_be_bytes())).collect();
                history.observe(&addresses, at(n as u64 + 1));
            }
            prop_assert_eq!(History::decode(&history.encode()), Ok(history));
        }
    }
}
