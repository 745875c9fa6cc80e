//! How long a host rests between two requests, and everything that may lengthen the rest.
//!
//! Pure: `now` is an argument. Every wish of the host (Crawl-delay, Retry-After) is a floor that
//! our own maximum never shortens; our maximum bounds only what we infer ourselves.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::window::Window;
use crate::clock::{Span, Timestamp};
use crate::url::Host;

/// Which second unit, beside the host, may have only one fetch in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Grouping {
    /// None: the host alone.
    #[default]
    Host,
    /// The address that the host's name resolves to.
    Ip,
    /// The registrable domain.
    RegistrableDomain,
}

/// Politeness of the whole crawl, with overrides for single hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Settings {
    /// Least rest between the end of one fetch of a host and the start of the next.
    pub min_delay: Span,
    /// Longest rest that slowness alone may cause; a host's own wish may exceed it.
    pub max_delay: Span,
    /// The rest is this many times the duration of the last fetch [IIR §20.2.3].
    pub factor: f64,
    /// Second unit that is kept apart, beside the host: `host`, `ip` or `registrable-domain`.
    pub group: Grouping,
    /// Least rest between two fetches of one group.
    pub group_delay: Span,
    /// Longest Crawl-delay that is honoured; a host that asks for more is parked, and says so.
    pub honor_crawl_delay_up_to: Span,
    /// Longest Retry-After that is waited for; a host that asks for more is parked.
    pub honor_retry_after_up_to: Span,
    /// Rest after the first 429 or 503 without Retry-After; doubles each time. What Retry-After
    /// asks for doubles too, from the second time on.
    pub backoff_initial: Span,
    /// Upper bound of that doubling.
    pub backoff_max: Span,
    /// Good answers in a row that forgive one doubling.
    pub forgive_after: u32,
    /// Rest after the first failure to reach a host, a quarter of it where a name does not exist;
    /// doubles each time up to `backoff_max`. While a fault of ours lasts it grows to a quarter of
    /// an hour at most.
    pub unreachable_initial: Span,
    /// Failures to reach a host in a row after which it is given up; its URLs are marked failed. A
    /// name that does not exist, or whose addresses are refused, is given up after three at most
    /// if it never answered.
    pub unreachable_max: u32,
    /// Hours in which hosts may be fetched: `["22:00-06:00 Europe/Rome"]`; empty means always.
    pub windows: Vec<Window>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            min_delay: Span::secs(1),
            max_delay: Span::secs(30),
            factor: 5.0,
            group: Grouping::Host,
            group_delay: Span::millis(500),
            honor_crawl_delay_up_to: Span::secs(600),
            honor_retry_after_up_to: Span::secs(24 * 3600),
            backoff_initial: Span::secs(60),
            backoff_max: Span::secs(24 * 3600),
            forgive_after: 5,
            unreachable_initial: Span::secs(60),
            unreachable_max: 6,
            windows: Vec::new(),
        }
    }
}

/// What one host's table in the configuration may change.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct HostOverride {
    /// Replaces `politeness.min_delay`.
    pub min_delay: Option<Span>,
    /// Replaces `politeness.max_delay`.
    pub max_delay: Option<Span>,
    /// Replaces `politeness.factor`.
    pub factor: Option<f64>,
    /// Replaces `politeness.windows`.
    pub windows: Option<Vec<Window>>,
}

impl Settings {
    /// Returns what is wrong with the values, as (key, message).
    pub fn problem(&self) -> Option<(&'static str, String)> {
        if self.min_delay > self.max_delay {
            let message = format!("{} is more than max_delay = {}", self.min_delay, self.max_delay);
            return Some(("min_delay", message));
        }
        if !(self.factor.is_finite() && (0.0..=1000.0).contains(&self.factor)) {
            return Some(("factor", format!("{} is not between 0 and 1000", self.factor)));
        }
        None
    }

    /// Returns the settings with one host's overrides applied.
    pub fn with(&self, host: &HostOverride) -> Settings {
        let mut settings = self.clone();
        if let Some(min_delay) = host.min_delay {
            settings.min_delay = min_delay;
            settings.max_delay = settings.max_delay.max(min_delay);
        }
        if let Some(max_delay) = host.max_delay {
            settings.max_delay = max_delay.max(settings.min_delay);
        }
        if let Some(factor) = host.factor {
            settings.factor = factor;
        }
        if let Some(windows) = &host.windows {
            settings.windows = windows.clone();
        }
        settings
    }
}

/// The settings of the crawl and of single hosts, looked up by host name.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    all: Settings,
    hosts: BTreeMap<String, Settings>,
}

impl Rules {
    /// Composes the crawl's settings with overrides by host name, in any spelling; what is no name
    /// of a host is passed over.
    pub fn new(all: Settings, overrides: &BTreeMap<String, HostOverride>) -> Self {
        let named = |name: &str| Host::named(name).map(|host| host.as_str().to_owned());
        let hosts =
            overrides.iter().filter_map(|(name, host)| Some((named(name)?, all.with(host))));
        Rules { hosts: hosts.collect(), all }
    }

    /// Returns the settings of a host.
    pub fn of(&self, host: &str) -> &Settings {
        self.hosts.get(host).unwrap_or(&self.all)
    }

    /// Returns the settings of hosts without overrides.
    pub fn all(&self) -> &Settings {
        &self.all
    }

    /// Replaces the least delay of one host while the crawl runs.
    pub fn set_min_delay(&mut self, host: &str, min_delay: Span) {
        let changed = HostOverride { min_delay: Some(min_delay), ..HostOverride::default() };
        let settings = self.of(host).with(&changed);
        self.hosts.insert(host.to_owned(), settings);
    }

    /// Waits for whatever one host asks for, however long, instead of parking it.
    pub fn honor_all(&mut self, host: &str) {
        let mut settings = self.of(host).clone();
        let longest = Span(Duration::from_secs(366 * 24 * 3600));
        settings.honor_crawl_delay_up_to = longest;
        settings.honor_retry_after_up_to = longest;
        self.hosts.insert(host.to_owned(), settings);
    }
}

/// Of the rest of a host that cannot be reached, the part for which one rests that has no address.
const NAMELESS_PART: u32 = 4;

/// What a `Retry-After` that proved too short is doubled from at least.
const RETRY_AFTER_MIN: Duration = Duration::from_secs(1);

/// What one answer counts at least in what is usual.
const USUAL_MIN: f64 = 0.02;

/// What a finished fetch says about its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// An answer, whatever it says of the URL.
    Good {
        /// How long the fetch took.
        took: Duration,
    },
    /// 429 or 503: the host is overburdened or says so.
    Busy {
        /// How long the fetch took.
        took: Duration,
        /// What its Retry-After header asks, counted from the end of the fetch.
        retry_after: Option<Duration>,
    },
    /// No connection, no answer, no name.
    Unreachable {
        /// How long the attempt took.
        took: Duration,
        /// Failures in a row after which such a one is the last for a host that never answered, if
        /// `unreachable_max` is not less.
        most: u32,
    },
    /// Nobody answers on this port, but the host does on another: it is spared as after an answer.
    DeadPort,
    /// A fault of ours; says nothing of the host.
    Local {
        /// How long the host has met nothing else.
        lasted: Duration,
    },
}

/// Longest rest after a fault of ours: when it is over, no host waits longer than that.
const LOCAL_REST_MAX: Duration = Duration::from_secs(900);

/// The politeness state of one host. Durable: it survives a restart with the host's record.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Pace {
    /// No request before this.
    pub next_allowed: Timestamp,
    /// When the last fetch began.
    pub last_began: Timestamp,
    /// When the last fetch ended.
    pub last_ended: Timestamp,
    /// The rest demanded after the last fetch.
    pub gap_ms: u64,
    /// Crawl-delay of robots.txt for us.
    pub crawl_delay_ms: Option<u64>,
    /// Doublings in force because of 429 and 503.
    pub busy_level: u8,
    /// Good answers in a row.
    pub good_streak: u32,
    /// Failures to reach the host in a row.
    pub unreachable: u32,
    /// 429 and 503 answers in all.
    pub busy_total: u32,
    /// Moving average of fetch durations, quick to follow.
    latency_ms: f64,
    /// The same, slow to follow: what is usual.
    latency_usual_ms: f64,
}

/// Why a host rests as long as it does; the longest of several reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GapReason {
    /// `min_delay`.
    MinDelay,
    /// `factor` times the last fetch.
    FetchTime,
    /// `max_delay` cut the factor's product.
    MaxDelay,
    /// Crawl-delay in robots.txt.
    CrawlDelay,
    /// Retry-After header.
    RetryAfter,
    /// 429 or 503 without Retry-After.
    Backoff,
    /// The host could not be reached.
    Unreachable,
    /// Slower than usual.
    Latency,
    /// A fault of ours.
    Local,
}

/// What follows from a finished fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// The gap that begins at the end of the fetch.
    pub gap: Duration,
    /// Its reason.
    pub reason: GapReason,
    /// Why the host is left, if it asks for more than is honoured, or is given up: not always what
    /// makes the gap.
    pub beyond: Option<GapReason>,
}

impl Pace {
    /// Notes a fetch from `began` to `ended` and returns the rest that follows, which is already in
    /// force: `next_allowed` is `ended` plus the gap.
    pub fn finish(
        &mut self,
        behaviour: Behaviour,
        began: Timestamp,
        ended: Timestamp,
        settings: &Settings,
    ) -> Rest {
        self.last_began = began;
        self.last_ended = ended;
        self.learn(behaviour, settings);
        let rest = self.rest(behaviour, settings);
        self.gap_ms = rest.gap.as_millis() as u64;
        self.next_allowed = self.next_allowed.max(ended.plus(rest.gap));
        rest
    }

    fn learn(&mut self, behaviour: Behaviour, settings: &Settings) {
        match behaviour {
            Behaviour::Good { took } => {
                self.unreachable = 0;
                self.good_streak = self.good_streak.saturating_add(1);
                if self.busy_level > 0
                    && self.good_streak.is_multiple_of(settings.forgive_after.max(1))
                {
                    self.busy_level -= 1;
                }
                let ms = took.as_secs_f64() * 1000.0;
                if self.latency_usual_ms == 0.0 {
                    (self.latency_ms, self.latency_usual_ms) = (ms, ms);
                }
                self.latency_ms += 0.3 * (ms - self.latency_ms);
                // The first answer is a robots.txt, which says little of pages: until enough are
                // known, all count alike. Once the host was busy they do not: that is not usual.
                let usual = match self.busy_total {
                    0 => (1.0 / f64::from(self.good_streak)).max(USUAL_MIN),
                    _ => USUAL_MIN,
                };
                self.latency_usual_ms += usual * (ms - self.latency_usual_ms);
            }
            Behaviour::Busy { .. } => {
                self.unreachable = 0;
                self.good_streak = 0;
                self.busy_total = self.busy_total.saturating_add(1);
                self.busy_level = self.busy_level.saturating_add(1).min(30);
            }
            Behaviour::Unreachable { .. } => {
                if self.busy_level > 0 {
                    self.good_streak = 0;
                }
                self.unreachable = self.unreachable.saturating_add(1);
            }
            Behaviour::DeadPort | Behaviour::Local { .. } => {}
        }
    }

    /// Whether the host ever answered: only an answer takes a time that is remembered.
    fn has_answered(&self) -> bool {
        self.latency_usual_ms > 0.0
    }

    fn rest(&self, behaviour: Behaviour, settings: &Settings) -> Rest {
        let mut rest = self.ordinary_rest(behaviour, settings);
        let mut raise = |gap: Duration, reason: GapReason, limit: Option<Duration>| {
            if gap > rest.gap {
                (rest.gap, rest.reason) = (gap, reason);
            }
            if limit.is_some_and(|limit| gap > limit) {
                rest.beyond = Some(reason);
            }
        };
        if let Some(ms) = self.crawl_delay_ms {
            let limit = settings.honor_crawl_delay_up_to.get();
            raise(Duration::from_millis(ms), GapReason::CrawlDelay, Some(limit));
        }
        match behaviour {
            Behaviour::Busy { retry_after: Some(asked), .. } => {
                let limit = settings.honor_retry_after_up_to.get();
                raise(asked, GapReason::RetryAfter, Some(limit));
                // It is the least wait (RFC 9110 §10.2.3): where it proves too short, and the host
                // is busy still, the next one is longer.
                if self.busy_level > 1 {
                    let asked = asked.max(RETRY_AFTER_MIN);
                    let gap = doubled(asked, self.busy_level, settings.backoff_max);
                    raise(gap, GapReason::Backoff, None);
                }
            }
            Behaviour::Busy { retry_after: None, .. } => {
                let initial = settings.backoff_initial.get();
                let gap = doubled(initial, self.busy_level, settings.backoff_max);
                raise(gap, GapReason::Backoff, None);
            }
            Behaviour::Unreachable { most, .. } => {
                // The zone of a host that has answered may be moved just now.
                let most = if self.has_answered() { u32::MAX } else { most };
                let level = self.unreachable.min(30) as u8;
                let initial = settings.unreachable_initial.get();
                let mut gap = doubled(initial, level, settings.backoff_max);
                // What is given up that soon was told us by a name server, and burdens no host.
                if most < settings.unreachable_max {
                    gap /= NAMELESS_PART;
                }
                raise(gap, GapReason::Unreachable, None);
                if self.unreachable >= settings.unreachable_max.min(most) {
                    rest.beyond = Some(GapReason::Unreachable);
                }
            }
            // Doublings that are not yet forgiven keep an answering host at a slower pace.
            Behaviour::Good { .. } | Behaviour::DeadPort if self.busy_level > 0 => {
                let step = settings.min_delay.get().max(Duration::from_millis(100));
                let gap = step.saturating_mul(1 << self.busy_level.min(6));
                raise(gap, GapReason::Backoff, None);
            }
            // Asking everybody again at once would not mend our network; and what looks like our
            // fault may be that of hosts which are gone. To rest as long as it has lasted doubles.
            Behaviour::Local { lasted } => {
                let initial = settings.unreachable_initial.get();
                let gap = lasted.min(LOCAL_REST_MAX).max(initial);
                raise(gap, GapReason::Local, None);
            }
            Behaviour::Good { .. } | Behaviour::DeadPort => {}
        }
        rest
    }

    fn ordinary_rest(&self, behaviour: Behaviour, settings: &Settings) -> Rest {
        let (min, max) = (settings.min_delay.get(), settings.max_delay.get());
        let took = match behaviour {
            Behaviour::Good { took }
            | Behaviour::Busy { took, .. }
            | Behaviour::Unreachable { took, .. } => took,
            Behaviour::DeadPort | Behaviour::Local { .. } => Duration::ZERO,
        };
        let product = took.mul_f64(settings.factor.clamp(0.0, 1000.0));
        let (mut gap, mut reason) = match product {
            p if p <= min => (min, GapReason::MinDelay),
            p if p >= max => (max, GapReason::MaxDelay),
            p => (p, GapReason::FetchTime),
        };
        // A host that answers more slowly than it uses to is under load, whoever caused it.
        let pressure = self.latency_ms / self.latency_usual_ms.max(1.0);
        if pressure > 2.0 && self.latency_ms > 50.0 {
            let slower = gap.mul_f64(pressure.min(4.0)).min(max.max(gap));
            if slower > gap {
                (gap, reason) = (slower, GapReason::Latency);
            }
        }
        Rest { gap, reason, beyond: None }
    }

    /// Forbids requests before `until`, whatever else allows them.
    pub fn hold_until(&mut self, until: Timestamp) {
        self.next_allowed = self.next_allowed.max(until);
    }

    /// Returns the first moment from `now` on at which a request is allowed: after the rest, and
    /// within the allowed hours. One that is past says nothing of them.
    pub fn earliest(&self, settings: &Settings, now: Timestamp) -> Timestamp {
        Window::next_open(&settings.windows, self.next_allowed.max(now))
    }

    /// Forgets 429, 503 and silence, for which an operator forgives the host. What it asked for,
    /// and the rest that it is owed, stay.
    pub fn forgive(&mut self) {
        self.busy_level = 0;
        self.good_streak = 0;
        self.unreachable = 0;
    }

    /// Returns true while the host has not recovered from 429, 503 or silence.
    pub fn is_troubled(&self) -> bool {
        self.busy_level > 0 || self.unreachable > 0
    }

    /// Returns the moving average of fetch durations.
    pub fn latency(&self) -> Duration {
        Duration::from_secs_f64((self.latency_ms / 1000.0).clamp(0.0, 1e6))
    }
}

fn doubled(initial: Duration, level: u8, max: Span) -> Duration {
    let factor = 1u32 << level.saturating_sub(1).min(24);
    initial.saturating_mul(factor).min(max.get().max(initial))
}

#[cfg(test)]
mod tests {
    use super::*;

    const T0: Timestamp = Timestamp::from_millis(1_000_000);

    fn check(behaviours: &[Behaviour], want_secs: u64, want: GapReason) -> Pace {
        let settings = Settings::default();
        let mut pace = Pace::default();
        let mut rest = None;
        for behaviour in behaviours {
            rest = Some(pace.finish(*behaviour, T0, T0, &settings));
        }
        let rest = rest.unwrap();
        assert_eq!((rest.gap.as_secs(), rest.reason), (want_secs, want));
        assert!(pace.next_allowed >= T0.plus(rest.gap));
        pace
    }

    fn good(secs: u64) -> Behaviour {
        Behaviour::Good { took: Duration::from_secs(secs) }
    }

    fn busy(asked: Option<u64>) -> Behaviour {
        Behaviour::Busy { took: Duration::ZERO, retry_after: asked.map(Duration::from_secs) }
    }

    #[test]
    fn quick_pages_rest_for_the_least_delay() {
        check(&[good(0)], 1, GapReason::MinDelay);
    }

    #[test]
    fn slow_pages_earn_long_rests_up_to_the_maximum() {
        check(&[good(3)], 15, GapReason::FetchTime);
        check(&[good(30)], 30, GapReason::MaxDelay);
    }

    #[test]
    fn a_wish_of_the_host_is_never_shortened_by_our_maximum() {
        check(&[busy(Some(3600))], 3600, GapReason::RetryAfter);
        let mut pace = Pace { crawl_delay_ms: Some(120_000), ..Pace::default() };
        let rest = pace.finish(good(0), T0, T0, &Settings::default());
        assert_eq!((rest.gap.as_secs(), rest.reason), (120, GapReason::CrawlDelay));
        assert_eq!(rest.beyond, None);
    }

    /// Each URL was tried twelve times within as many seconds, and then given up.
    #[test]
    fn a_wish_that_proves_too_short_doubles() {
        check(&[busy(Some(1)), busy(Some(1))], 2, GapReason::Backoff);
        check(&[busy(Some(0)); 8], 128, GapReason::Backoff);
        check(&[busy(Some(1)); 12], 2048, GapReason::Backoff);
        check(&[busy(Some(3600)); 12], 24 * 3600, GapReason::Backoff);
        // What was forgiven is forgotten.
        let settings = Settings::default();
        let mut pace = Pace::default();
        pace.finish(busy(Some(30)), T0, T0, &settings);
        for _ in 0..settings.forgive_after {
            pace.finish(good(0), T0, T0, &settings);
        }
        let rest = pace.finish(busy(Some(30)), T0, T0, &settings);
        assert_eq!((rest.gap.as_secs(), rest.reason), (30, GapReason::RetryAfter));
    }

    #[test]
    fn a_wish_beyond_the_cap_is_reported_so_that_the_host_can_be_parked() {
        let mut pace = Pace { crawl_delay_ms: Some(3_600_000), ..Pace::default() };
        let rest = pace.finish(good(0), T0, T0, &Settings::default());
        assert_eq!(rest.beyond, Some(GapReason::CrawlDelay));
        let two_days = busy(Some(48 * 3600));
        let rest = Pace::default().finish(two_days, T0, T0, &Settings::default());
        assert_eq!(rest.beyond, Some(GapReason::RetryAfter));
    }

    #[test]
    fn busy_answers_double_the_rest_and_good_ones_forgive() {
        check(&[busy(None)], 60, GapReason::Backoff);
        let mut pace = check(&[busy(None), busy(None), busy(None)], 240, GapReason::Backoff);
        let settings = Settings::default();
        let after = pace.finish(good(0), T0, T0, &settings);
        assert_eq!((after.gap.as_secs(), after.reason), (8, GapReason::Backoff));
        for _ in 0..20 {
            pace.finish(good(0), T0, T0, &settings);
        }
        assert_eq!(pace.busy_level, 0);
        assert_eq!(pace.finish(good(0), T0, T0, &settings).reason, GapReason::MinDelay);
    }

    #[test]
    fn an_unreachable_host_is_given_up_after_the_written_number_of_tries() {
        let settings = Settings::default();
        let given_up_at = |mut pace: Pace, most: u32| {
            let lost = Behaviour::Unreachable { took: Duration::ZERO, most };
            (1..10).find(|_| pace.finish(lost, T0, T0, &settings).beyond.is_some())
        };
        assert_eq!(given_up_at(Pace::default(), u32::MAX), Some(6));
        assert_eq!(given_up_at(Pace::default(), 3), Some(3));
        let nameless = Behaviour::Unreachable { took: Duration::ZERO, most: 3 };
        check(&[nameless], 15, GapReason::Unreachable);
        check(&[nameless, nameless], 30, GapReason::Unreachable);
        let gone = Behaviour::Unreachable { took: Duration::ZERO, most: u32::MAX };
        check(&[gone, gone], 120, GapReason::Unreachable);
        check(&[good(1), nameless], 60, GapReason::Unreachable);
        let mut answered = Pace::default();
        answered.finish(Behaviour::Good { took: Duration::from_millis(9) }, T0, T0, &settings);
        assert_eq!(given_up_at(answered, 3), Some(6));
    }

    /// A host whose ordinary rest is longer than that of one that cannot be reached was parked for
    /// a Crawl-delay of which it knew nothing.
    #[test]
    fn it_is_given_up_for_that_also_where_its_rest_is_longer_anyway() {
        let hour = Span::secs(3_600);
        let settings = Settings { min_delay: hour, max_delay: hour, ..Settings::default() };
        let lost = Behaviour::Unreachable { took: Duration::ZERO, most: 3 };
        let mut pace = Pace::default();
        let rests: Vec<Rest> = (0..3).map(|_| pace.finish(lost, T0, T0, &settings)).collect();
        assert_eq!(rests[2].reason, GapReason::MinDelay);
        let beyond: Vec<_> = rests.iter().map(|rest| rest.beyond).collect();
        assert_eq!(beyond, [None, None, Some(GapReason::Unreachable)]);
    }

    #[test]
    fn the_rest_after_a_fault_of_ours_grows_with_it_up_to_a_bound() {
        for (lasted, want) in [(0, 60), (60, 60), (120, 120), (900, 900), (90_000, 900)] {
            let lasted = Duration::from_secs(lasted);
            check(&[Behaviour::Local { lasted }], want, GapReason::Local);
        }
    }

    #[test]
    fn rising_latency_lengthens_the_rest() {
        let settings = Settings { factor: 0.0, ..Settings::default() };
        let mut pace = Pace::default();
        for _ in 0..50 {
            let took = Duration::from_millis(100);
            pace.finish(Behaviour::Good { took }, T0, T0, &settings);
        }
        let slow = Behaviour::Good { took: Duration::from_secs(2) };
        let rest = pace.finish(slow, T0, T0, &settings);
        assert_eq!(rest.reason, GapReason::Latency);
        assert!(rest.gap > Duration::from_secs(1));
    }

    /// A host whose robots.txt came at once was taken for one that had become slow, for dozens of
    /// pages.
    #[test]
    fn pages_that_take_longer_than_a_robots_txt_are_not_slower_than_usual() {
        let settings = Settings::default();
        let mut pace = Pace::default();
        for (at, ms) in [1].into_iter().chain([250; 40]).enumerate() {
            let took = Duration::from_millis(ms);
            let rest = pace.finish(Behaviour::Good { took }, T0, T0, &settings);
            let want = settings.min_delay.get().max(took.mul_f64(settings.factor));
            assert_eq!((rest.gap, at), (want, at));
        }
        let took = Duration::from_millis(2_000);
        let rest = pace.finish(Behaviour::Good { took }, T0, T0, &settings);
        assert_eq!(rest.reason, GapReason::Latency, "it has become slower");
        // So it has when it was out of reach meanwhile.
        pace.finish(Behaviour::Unreachable { took, most: 5 }, T0, T0, &settings);
        let rest = pace.finish(Behaviour::Good { took }, T0, T0, &settings);
        assert_eq!(rest.reason, GapReason::Latency);
    }

    /// They were compared as they stood with names in their canonical form.
    #[test]
    fn a_host_has_the_settings_of_its_name_in_any_spelling() {
        let nine = HostOverride { min_delay: Some(Span::secs(9)), ..HostOverride::default() };
        for (written, host) in [
            ("A.Example.", "a.example"),
            ("B\u{fc}cher.example", "xn--bcher-kva.example"),
            ("[0:0::1]", "[::1]"),
            ("127.1", "127.0.0.1"),
        ] {
            let overrides = BTreeMap::from([(written.to_owned(), nine.clone())]);
            let rules = Rules::new(Settings::default(), &overrides);
            assert_eq!(rules.of(host).min_delay, Span::secs(9), "{written}");
        }
    }

    #[test]
    fn next_allowed_never_moves_back() {
        let settings = Settings::default();
        let mut pace = Pace::default();
        pace.finish(busy(Some(500)), T0, T0, &settings);
        let held = pace.next_allowed;
        pace.finish(good(0), T0, T0, &settings);
        assert!(pace.next_allowed >= held);
    }
}
