//! Hours in which a host may be fetched, in a time zone of its own.

use std::fmt;
use std::str::FromStr;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::clock::Timestamp;

/// Allowed hours, `"22:00-06:00 Europe/Rome"`: from the first minute to before the last one, every
/// day; past midnight where the end is earlier than the start. Without a zone it is UTC.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    start: Time,
    end: Time,
    zone: TimeZone,
    text: String,
}

impl Window {
    /// Returns the first moment from `at` on that lies in one of the windows; `at` itself if there
    /// are none.
    pub fn next_open(windows: &[Window], at: Timestamp) -> Timestamp {
        windows.iter().map(|window| window.opens(at)).min().unwrap_or(at)
    }

    fn opens(&self, at: Timestamp) -> Timestamp {
        let millis = i64::try_from(at.as_millis()).unwrap_or(i64::MAX);
        let Ok(instant) = jiff::Timestamp::from_millisecond(millis) else { return at };
        let local = instant.to_zoned(self.zone.clone());
        let time = local.time();
        let inside = if self.start < self.end {
            self.start <= time && time < self.end
        } else {
            time >= self.start || time < self.end
        };
        if inside {
            return at;
        }
        // The first opening ahead. A time that the clock passes twice opens twice.
        let days = [Ok(local.date()), local.date().tomorrow()].into_iter().flatten();
        let openings = days.flat_map(|day| {
            let opening = self.zone.to_ambiguous_zoned(day.to_datetime(self.start));
            [opening.clone().compatible(), opening.later()].into_iter().flatten()
        });
        let mut openings = openings.map(|opening| opening.timestamp().as_millisecond());
        let opening = openings.find(|opening| *opening > millis).unwrap_or(millis);
        Timestamp::from_millis(u64::try_from(opening).unwrap_or(0))
    }
}

impl FromStr for Window {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is not a window: write `22:00-06:00 Europe/Rome`, or leave out UTC")
        };
        let (hours, zone) = text.trim().split_once(' ').unwrap_or((text.trim(), "UTC"));
        let (start, end) = hours.split_once('-').ok_or_else(wrong)?;
        let start: Time = start.trim().parse().map_err(|_| wrong())?;
        let end: Time = if end.trim() == "24:00" {
            Time::midnight()
        } else {
            end.trim().parse().map_err(|_| wrong())?
        };
        let zone = TimeZone::get(zone.trim())
            .map_err(|_| format!("`{}` is not a time zone of the tz database", zone.trim()))?;
        Ok(Window { start, end, zone, text: text.trim().to_owned() })
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for Window {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(window: &str, at: &str, want: &str) {
        let windows = [window.parse::<Window>().unwrap()];
        let at = Timestamp::from_rfc3339(at).unwrap();
        assert_eq!(Window::next_open(&windows, at), Timestamp::from_rfc3339(want).unwrap());
    }

    #[test]
    fn a_window_past_midnight_is_open_on_both_sides_of_it() {
        let rome = "22:00-06:00 Europe/Rome";
        check(rome, "2026-01-10T23:30:00Z", "2026-01-10T23:30:00Z");
        check(rome, "2026-01-10T04:59:59Z", "2026-01-10T04:59:59Z");
        check(rome, "2026-01-10T05:00:00Z", "2026-01-10T21:00:00Z");
        check(rome, "2026-01-10T12:00:00Z", "2026-01-10T21:00:00Z");
    }

    #[test]
    fn summer_time_moves_the_opening() {
        check("22:00-06:00 Europe/Rome", "2026-07-10T12:00:00Z", "2026-07-10T20:00:00Z");
    }

    /// Between the two passes of the same hour it was taken to be open, since it had been.
    #[test]
    fn a_window_within_the_hour_that_comes_twice_opens_twice() {
        let rome = "02:30-02:45 Europe/Rome";
        check(rome, "2026-10-25T00:20:00Z", "2026-10-25T00:30:00Z");
        check(rome, "2026-10-25T01:20:00Z", "2026-10-25T01:30:00Z");
        check(rome, "2026-10-25T01:45:00Z", "2026-10-26T01:30:00Z");
        // And not at all where the clock leaves the hour out, but for the moment after it.
        check(rome, "2026-03-29T00:59:00Z", "2026-03-29T01:30:00Z");
    }

    #[test]
    fn a_window_of_the_day_opens_tomorrow_when_it_is_over() {
        check("09:00-17:00", "2026-01-10T17:00:00Z", "2026-01-11T09:00:00Z");
        check("09:00-24:00", "2026-01-10T23:59:00Z", "2026-01-10T23:59:00Z");
    }

    #[test]
    fn nonsense_is_refused_with_an_example() {
        for text in ["", "22:00", "25:00-06:00", "22:00-06:00 Atlantis/City"] {
            assert!(text.parse::<Window>().is_err(), "{text}");
        }
    }
}
