//! Time as a value: [`Timestamp`], [`Clock`], and the two units that settings are written in.
//!
//! Upholds **I7**: this is the only module that reads the machine's clock. Everything else takes
//! `now: Timestamp` as an argument, so a week of politeness is proved in a second of test time.
//! It does not sleep; waiting is the business of the crawl loop.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Milliseconds since the Unix epoch, never running backwards within a crawl's state.
///
/// Unlike [`std::time::Instant`] it can be stored, compared over restarts and built in a test.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The Unix epoch: earlier than everything that a crawl does.
    pub const ZERO: Timestamp = Timestamp(0);
    /// Later than everything.
    pub const MAX: Timestamp = Timestamp(u64::MAX);

    /// Returns the timestamp `millis` milliseconds after the Unix epoch.
    pub const fn from_millis(millis: u64) -> Self {
        Timestamp(millis)
    }

    /// Returns the milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// Returns `self - earlier`, or zero where `earlier` is later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// Returns `self + span`, stopping at [`Timestamp::MAX`].
    pub fn plus(self, span: Duration) -> Timestamp {
        let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        Timestamp(self.0.saturating_add(millis))
    }

    /// Returns `self - span`, stopping at [`Timestamp::ZERO`].
    pub fn minus(self, span: Duration) -> Timestamp {
        let millis = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        Timestamp(self.0.saturating_sub(millis))
    }

    /// Formats as RFC 3339 in UTC with milliseconds, the form of the crawl log and of WARC dates.
    pub fn to_rfc3339(self) -> String {
        let millis = i64::try_from(self.0).unwrap_or(i64::MAX);
        jiff::Timestamp::from_millisecond(millis)
            .map_or_else(|_| "9999-12-31T23:59:59.999Z".to_owned(), |at| format!("{at:.3}"))
    }

    /// Parses RFC 3339, or returns `None`.
    pub fn from_rfc3339(text: &str) -> Option<Timestamp> {
        let at: jiff::Timestamp = text.parse().ok()?;
        u64::try_from(at.as_millisecond()).ok().map(Timestamp)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_rfc3339())
    }
}

/// The source of `now`.
///
/// The wall clock anchors it once; after that it follows tokio's monotonic clock, so that a step of
/// the wall clock neither shortens a gap nor freezes the crawl, and paused tokio time drives it in
/// simulation. It never returns less than the largest timestamp that the state had stored.
#[derive(Debug)]
pub struct Clock {
    anchor: tokio::time::Instant,
    origin: AtomicU64,
}

impl Clock {
    /// Starts a clock at the machine's wall time, but not before `floor`.
    pub fn system(floor: Timestamp) -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that reads time (I7)")]
        let wall = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        Self::starting_at(Timestamp(wall.max(floor.0)))
    }

    /// Starts a clock for a crawl that has run before: at the machine's wall time, but not before
    /// `floor`, the latest time stored, nor before what the boot clock says if the machine still
    /// runs as it did at `anchor`. Also returns how far the wall clock was set since then.
    pub fn resume(floor: Timestamp, anchor: Option<&Anchor>) -> (Self, Step) {
        let wall = Self::system(Timestamp::ZERO).now();
        let here = Anchor::here(wall);
        let (Some(then), Some(here)) = (anchor, here) else {
            let back = floor.since(wall);
            let step = if back > STEP_TOLERATED { Step::Back(back) } else { Step::None };
            return (Self::starting_at(wall.max(floor)), step);
        };
        if then.boot != here.boot {
            return Self::resume(floor, None);
        }
        let expected = then.at.plus(Duration::from_millis(here.up_ms.saturating_sub(then.up_ms)));
        let step = match (wall.since(expected), expected.since(wall)) {
            (forward, _) if forward > STEP_TOLERATED => Step::Forward(forward),
            (_, back) if back > STEP_TOLERATED => Step::Back(back),
            _ => Step::None,
        };
        (Self::starting_at(wall.max(expected).max(floor)), step)
    }

    /// Returns what a later run needs to find out whether the wall clock was set meanwhile.
    pub fn anchor(&self) -> Option<Anchor> {
        Anchor::here(self.now())
    }

    /// Starts a clock at `start`, whatever the machine says: for simulations.
    pub fn starting_at(start: Timestamp) -> Self {
        Clock { anchor: tokio::time::Instant::now(), origin: AtomicU64::new(start.0) }
    }

    /// Returns the present time.
    pub fn now(&self) -> Timestamp {
        Timestamp(self.origin.load(Ordering::Relaxed)).plus(self.anchor.elapsed())
    }

    /// Returns the tokio instant of `at`, for `tokio::time::sleep_until`.
    pub fn instant_of(&self, at: Timestamp) -> tokio::time::Instant {
        // A far future would overflow tokio's instants; no wait of ours is longer than a year.
        let ahead = at.since(self.now()).min(Duration::from_secs(365 * 24 * 3600));
        tokio::time::Instant::now() + ahead
    }
}

/// Difference between two clocks that is no step: a slow start, a leap second, a little drift.
const STEP_TOLERATED: Duration = Duration::from_secs(5);

/// How the wall clock was set while no process ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It was not, as far as can be known.
    None,
    /// Forward: what seems to be long past may have been a moment ago.
    Forward(Duration),
    /// Back, behind times that are stored.
    Back(Duration),
}

/// One moment by the crawl's clock and by the machine's, which nobody can set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// Which start of the machine this is.
    boot: String,
    /// Milliseconds since that start, sleep included.
    up_ms: u64,
    /// The crawl's time.
    at: Timestamp,
}

impl Anchor {
    /// Returns the present moment, or `None` on a machine that does not tell one start from
    /// another.
    fn here(at: Timestamp) -> Option<Anchor> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let up = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let up_ms =
            u64::try_from(up.tv_sec).ok()? * 1000 + u64::try_from(up.tv_nsec).ok()? / 1_000_000;
        Some(Anchor { boot: boot.trim().to_owned(), up_ms, at })
    }
}

/// A duration in settings: `"250ms"`, `"10s"`, `"5m"`, `"24h"`, `"30d"`; a number needs a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub Duration);

impl Span {
    /// Returns a span of `millis` milliseconds.
    pub const fn millis(millis: u64) -> Self {
        Span(Duration::from_millis(millis))
    }

    /// Returns a span of `secs` seconds.
    pub const fn secs(secs: u64) -> Self {
        Span(Duration::from_secs(secs))
    }

    /// Returns the duration.
    pub const fn get(self) -> Duration {
        self.0
    }
}

const SPAN_UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split_unit(text);
        let factor = SPAN_UNITS.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
        match (number.parse::<f64>(), factor) {
            (Ok(value), Some(factor)) if value >= 0.0 && value * factor as f64 <= 1e14 => {
                Ok(Span(Duration::from_millis((value * factor as f64).round() as u64)))
            }
            _ => Err(format!(
                "`{text}` is not a duration: write `250ms`, `10s`, `5m`, `24h` or `30d`"
            )),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis() as u64;
        let (unit, factor) = SPAN_UNITS
            .iter()
            .rev()
            .find(|(_, factor)| millis >= *factor && millis.is_multiple_of(*factor))
            .unwrap_or(&SPAN_UNITS[1]);
        write!(f, "{}{unit}", millis / factor)
    }
}

/// A number of bytes in settings: `"500KiB"`, `"2MiB"`, `"1GB"`; a bare number is bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(pub u64);

impl ByteSize {
    /// Returns `n` kibibytes.
    pub const fn kib(n: u64) -> Self {
        ByteSize(n * 1024)
    }

    /// Returns `n` mebibytes.
    pub const fn mib(n: u64) -> Self {
        ByteSize(n * 1024 * 1024)
    }

    /// Returns `n` gibibytes.
    pub const fn gib(n: u64) -> Self {
        ByteSize(n * 1024 * 1024 * 1024)
    }

    /// Returns the number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the number of bytes as a length, stopping at what the machine can address.
    pub fn as_len(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

const SIZE_UNITS: [(&str, u64); 10] = [
    ("", 1),
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, unit) = split_unit(text);
        let factor = SIZE_UNITS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))
            .map(|(_, factor)| *factor);
        match (number.parse::<f64>(), factor) {
            (Ok(value), Some(factor)) if value >= 0.0 && value * (factor as f64) < 1e18 => {
                Ok(ByteSize((value * factor as f64).round() as u64))
            }
            _ => Err(format!("`{text}` is not a size: write `500KiB`, `2MiB` or `1GB`")),
        }
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) = SIZE_UNITS
            .iter()
            .filter(|(name, factor)| !name.is_empty() && self.0 >= *factor)
            .filter(|(_, factor)| self.0.is_multiple_of(*factor))
            .max_by_key(|(_, factor)| *factor)
            .unwrap_or(&SIZE_UNITS[1]);
        write!(f, "{}{unit}", self.0 / factor)
    }
}

fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

macro_rules! serde_by_text {
    ($name:ident, $what:literal) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($what)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<$name, E> {
                        number.to_string().parse().map_err(E::custom)
                    }
                    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<$name, E> {
                        number.to_string().parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_any(Text)
            }
        }
    };
}
serde_by_text!(Span, "a duration such as \"10s\"");
serde_by_text!(ByteSize, "a size such as \"2MiB\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_sizes_survive_a_round_trip() {
        for text in ["250ms", "10s", "5m", "23h", "30d", "90s"] {
            assert_eq!(text.parse::<Span>().map(|span| span.to_string()), Ok(text.to_owned()));
        }
        for text in ["500KiB", "2MiB", "1GB", "12B"] {
            assert_eq!(text.parse::<ByteSize>().map(|size| size.to_string()), Ok(text.to_owned()));
        }
    }

    #[test]
    fn a_duration_without_a_unit_is_refused() {
        assert!("10".parse::<Span>().is_err());
        assert!("-1s".parse::<Span>().is_err());
        assert!("1 fortnight".parse::<Span>().is_err());
        assert_eq!("1.5s".parse::<Span>(), Ok(Span::millis(1500)));
    }

    /// Resumes a minute after an anchor that lies `wrong_ms` beside the wall clock.
    fn check_step(wrong_ms: i64, want: Step) {
        let clock = Clock::system(Timestamp::ZERO);
        let mut anchor = clock.anchor().unwrap();
        anchor.up_ms -= 60_000;
        let at = anchor.at.as_millis().saturating_add_signed(-60_000 + wrong_ms);
        anchor.at = Timestamp::from_millis(at);
        let (resumed, step) = Clock::resume(Timestamp::ZERO, Some(&anchor));
        let rounded =
            |span: Duration| Duration::from_secs((span.as_secs_f64() / 10.0).round() as u64 * 10);
        let step = match step {
            Step::Forward(by) => Step::Forward(rounded(by)),
            Step::Back(by) => Step::Back(rounded(by)),
            Step::None => Step::None,
        };
        assert_eq!(step, want);
        assert!(resumed.now() >= anchor.at.plus(Duration::from_secs(60)), "time runs on");
    }

    #[tokio::test]
    async fn a_wall_clock_that_was_set_is_found_out_by_the_boot_clock() {
        check_step(0, Step::None);
        check_step(-3_600_000, Step::Forward(Duration::from_secs(3600)));
        check_step(3_600_000, Step::Back(Duration::from_secs(3600)));
    }

    #[tokio::test]
    async fn after_a_restart_of_the_machine_time_goes_on_from_what_is_stored() {
        let floor = Clock::system(Timestamp::ZERO).now().plus(Duration::from_secs(7200));
        let (clock, step) = Clock::resume(floor, None);
        assert!(clock.now() >= floor);
        assert!(matches!(step, Step::Back(by) if by > Duration::from_secs(7000)), "{step:?}");
    }

    #[test]
    fn timestamps_print_as_rfc3339() {
        let at = Timestamp::from_millis(1_763_632_800_123);
        assert_eq!(at.to_rfc3339(), "2025-11-20T10:00:00.123Z");
        assert_eq!(Timestamp::from_rfc3339(&at.to_rfc3339()), Some(at));
        assert_eq!(Timestamp::MAX.plus(Duration::MAX), Timestamp::MAX);
    }
}
