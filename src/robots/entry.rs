//! [`Entry`]: what is known of an origin's robots.txt, and what a fetch of it changes.
//!
//! | the fetch came to | verdict | asked again after |
//! |---|---|---|
//! | 2xx | by its rules | `ttl`, or less if Cache-Control says so |
//! | 304 | by the copy that we have | the same |
//! | 4xx but 429, 1xx, other 3xx, codes unknown | all is allowed (RFC 9309 §2.3.1.3) | `ttl` |
//! | more than `redirects_max` redirects | all is allowed (§2.3.1.2) | `ttl` |
//! | 429, 5xx, no answer | all is disallowed (§2.3.1.4) | `failure_ttl_min`, doubling to `_max` |
//! | … for longer than `outage_tolerated` | by the copy that we have, if any (§2.4) | the same |
//! | … for longer than `outage_max` | by that copy; without one all is allowed | the same |
//!
//! 429 is counted with the server errors, though its number begins with 4: it says "not now", and a
//! site that says so should not be crawled faster for it. A disallow is never for ever: it lasts
//! until the next try, at most `failure_ttl_max` away.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::rules::{Robots, Verdict, is_robots_txt};
use crate::clock::{ByteSize, Span, Timestamp};
use crate::url::CrawlUrl;

/// RFC 9309 §2.5: a parsing limit must be at least 500 KiB.
const BYTES_MIN: ByteSize = ByteSize::kib(500);

/// No Cache-Control makes us ask for robots.txt more often than this.
const TTL_MIN: Duration = Duration::from_secs(3600);

/// How robots.txt is read and kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Settings {
    /// Bytes of a robots.txt that are read; the rest is passed over. At least 500 KiB, as RFC 9309
    /// demands; the default is that in round numbers.
    pub max_bytes: ByteSize,
    /// How long a robots.txt, or its absence, is believed. RFC 9309 allows 24 hours, the default.
    pub ttl: Span,
    /// How long all is disallowed after a first failure (429, 5xx, no answer) before the next try.
    /// One minute, for most outages are short.
    pub failure_ttl_min: Span,
    /// The longest such time; it doubles with every failure. One hour: a site that comes back is
    /// not left waiting, and one that does not costs 24 requests a day.
    pub failure_ttl_max: Span,
    /// How long failures may go on before the last good copy is used again. Half a day: a site in
    /// trouble is left alone first.
    pub outage_tolerated: Span,
    /// How long failures may go on, without any copy, before all is allowed. 30 days, the example
    /// of RFC 9309.
    pub outage_max: Span,
    /// Redirects that are followed, also to other hosts. RFC 9309 asks for at least 5, the
    /// default.
    pub redirects_max: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            max_bytes: ByteSize::kib(512),
            ttl: Span::secs(24 * 3600),
            failure_ttl_min: Span::secs(60),
            failure_ttl_max: Span::secs(3600),
            outage_tolerated: Span::secs(12 * 3600),
            outage_max: Span::secs(30 * 24 * 3600),
            redirects_max: 5,
        }
    }
}

impl Settings {
    /// Checks what the types cannot say.
    ///
    /// # Errors
    /// Returns the key that is wrong, and what to write instead.
    pub fn check(&self) -> Result<(), String> {
        if self.max_bytes < BYTES_MIN {
            return Err(format!(
                "max_bytes is {}: RFC 9309 asks for at least 500KiB",
                self.max_bytes
            ));
        }
        if self.ttl > Span::secs(24 * 3600) {
            return Err(format!("ttl is {}: RFC 9309 allows at most 24h", self.ttl));
        }
        if self.redirects_max < 5 {
            let found = self.redirects_max;
            return Err(format!("redirects_max is {found}: RFC 9309 asks for at least 5"));
        }
        if self.failure_ttl_min.get().is_zero() || self.failure_ttl_min > self.failure_ttl_max {
            return Err("failure_ttl_min must lie between 1ms and failure_ttl_max".to_owned());
        }
        Ok(())
    }
}

/// By what a server tells whether our copy is still the latest (RFC 9110 §8.8), as it wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validators {
    /// Its `ETag`, if it gave one.
    pub etag: Option<String>,
    /// Its `Last-Modified`, if it gave one.
    pub last_modified: Option<String>,
    /// When the answer that bore them began: the date of its record in the archive.
    pub at: Timestamp,
    /// The product token that the copy was read for; for another it has to be read anew.
    pub agent: String,
}

/// Bytes of a validator that are worth sending back with every question.
const VALIDATOR_MAX: usize = 512;

impl Validators {
    /// Returns what an answer bore; `None` if that is nothing, or nothing that can be sent back.
    pub fn new(
        etag: Option<String>,
        last_modified: Option<String>,
        at: Timestamp,
        agent: &str,
    ) -> Option<Self> {
        let sound = |text: &String| {
            let plain = text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
            !text.is_empty() && text.len() <= VALIDATOR_MAX && plain
        };
        let (etag, last_modified) = (etag.filter(sound), last_modified.filter(sound));
        let bears = etag.is_some() || last_modified.is_some();
        bears.then(|| Validators { etag, last_modified, at, agent: agent.to_owned() })
    }
}

/// What a fetch of robots.txt came to, redirects followed.
#[derive(Clone, Debug, PartialEq)]
pub enum FetchedRobots {
    /// A 2xx answer: what its body says to us, and the max-age of its Cache-Control.
    Rules {
        /// What [`Robots::parse_within`] read, cut off bodies included.
        robots: Arc<Robots>,
        /// How long the site would have it kept.
        max_age: Option<Duration>,
        /// By what to ask whether it has changed; `None` where redirects led to it.
        validators: Option<Validators>,
    },
    /// Any other answer that is no redirect.
    Status {
        /// The status code.
        status: u16,
        /// How long the site would have the copy kept, which a 304 confirms.
        max_age: Option<Duration>,
        /// When the site would be asked again.
        retry_after: Option<Duration>,
    },
    /// Still a redirect after `redirects_max` of them, or one that leads nowhere.
    Redirects,
    /// No answer: names, connection, TLS or protocol failed, or time ran out; why, in a few words.
    NoAnswer(String),
}

impl FetchedRobots {
    /// Sorts an answer by its status; `agent` is our product token. Give a redirect that is not
    /// followed as [`FetchedRobots::Redirects`] instead.
    pub fn from_answer(status: u16, body: &[u8], agent: &str, settings: &Settings) -> Self {
        if (200..300).contains(&status) {
            let bytes_max = settings.max_bytes.max(BYTES_MIN).as_len();
            let robots = Arc::new(Robots::parse_within(body, agent, bytes_max));
            return FetchedRobots::Rules { robots, max_age: None, validators: None };
        }
        FetchedRobots::Status { status, max_age: None, retry_after: None }
    }

    /// Adds what the headers of the answer ask for: the max-age of Cache-Control, and Retry-After.
    /// Each counts only where it means something.
    #[must_use]
    pub fn asking(self, max_age: Option<Duration>, retry_after: Option<Duration>) -> Self {
        match self {
            FetchedRobots::Rules { robots, validators, .. } => {
                FetchedRobots::Rules { robots, max_age, validators }
            }
            FetchedRobots::Status { status, .. } => {
                FetchedRobots::Status { status, max_age, retry_after }
            }
            other => other,
        }
    }

    /// Adds by what to ask the next time whether the file has changed.
    #[must_use]
    pub fn known_by(self, validators: Option<Validators>) -> Self {
        match self {
            FetchedRobots::Rules { robots, max_age, .. } => {
                FetchedRobots::Rules { robots, max_age, validators }
            }
            other => other,
        }
    }
}

/// What is known of one origin's robots.txt.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// When it was last asked for.
    pub fetched: Timestamp,
    /// When it is to be asked for again. Until then every verdict is the same.
    pub valid_until: Timestamp,
    pub(super) standing: Standing,
    /// Failures in a row, this fetch included.
    pub(super) failures: u32,
    pub(super) failing_since: Option<Timestamp>,
    pub(super) copy: Option<Copy>,
    /// The product token that robots.txt was read for, if it is known.
    pub(super) agent: Option<String>,
}

/// The last good copy.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Copy {
    pub(super) robots: Arc<Robots>,
    pub(super) fetched: Timestamp,
    pub(super) validators: Option<Validators>,
}

/// What decides verdicts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Standing {
    /// The rules of the copy.
    Rules,
    /// All is allowed, for there is no robots.txt.
    Unavailable(u16),
    /// All is allowed, for the redirects have no end.
    Redirects,
    /// All is disallowed.
    Disallowed(Trouble),
    /// The rules of a copy that could not be renewed.
    OldCopy(Trouble),
    /// All is allowed, for the failure outlasted all patience.
    GivenUp(Trouble),
}

/// Why robots.txt could not be had.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Trouble {
    Status(u16),
    NoAnswer(String),
}

impl Trouble {
    pub(super) fn code(&self) -> u16 {
        match self {
            Trouble::Status(status) => *status,
            Trouble::NoAnswer(_) => 0,
        }
    }

    pub(super) fn words(&self) -> &str {
        match self {
            Trouble::Status(_) => "",
            Trouble::NoAnswer(why) => why,
        }
    }

    fn describe(&self) -> String {
        match self {
            Trouble::Status(status) => format!("robots.txt answered {status}"),
            Trouble::NoAnswer(why) => format!("robots.txt could not be fetched ({why})"),
        }
    }
}

/// Returns what is known after a fetch, by the table at the head of this module. `previous` is what
/// was known before it.
pub fn after_fetch(
    previous: Option<&Entry>,
    outcome: FetchedRobots,
    now: Timestamp,
    settings: &Settings,
) -> Entry {
    let copy = previous.and_then(|entry| entry.copy.clone());
    let ttl = settings.ttl.get();
    let kept = |max_age: Option<Duration>| max_age.map_or(ttl, |age| age.max(TTL_MIN).min(ttl));
    let good = |standing, copy, ttl: Duration| Entry {
        fetched: now,
        valid_until: now.plus(ttl),
        standing,
        failures: 0,
        failing_since: None,
        copy,
        agent: None,
    };
    match outcome {
        FetchedRobots::Rules { robots, max_age, validators } => {
            let copy = Copy { robots, fetched: now, validators };
            good(Standing::Rules, Some(copy), kept(max_age))
        }
        FetchedRobots::Status { status: 304, max_age, .. } if copy.is_some() => {
            let copy = copy.map(|copy| Copy { fetched: now, ..copy });
            good(Standing::Rules, copy, kept(max_age))
        }
        FetchedRobots::Status { status: status @ (429 | 500..=599), retry_after, .. } => {
            failed(previous, Trouble::Status(status), retry_after, now, settings)
        }
        FetchedRobots::NoAnswer(why) => {
            failed(previous, Trouble::NoAnswer(why), None, now, settings)
        }
        // What the site took away does not come back as an old copy.
        FetchedRobots::Status { status, .. } => good(Standing::Unavailable(status), None, ttl),
        FetchedRobots::Redirects => good(Standing::Redirects, None, ttl),
    }
}

fn failed(
    previous: Option<&Entry>,
    trouble: Trouble,
    retry_after: Option<Duration>,
    now: Timestamp,
    settings: &Settings,
) -> Entry {
    let failures = previous.map_or(0, |entry| entry.failures).saturating_add(1);
    let since = previous.and_then(|entry| entry.failing_since).unwrap_or(now);
    let copy = previous.and_then(|entry| entry.copy.clone());
    let outage = now.since(since);
    let standing = if outage >= settings.outage_tolerated.get() && copy.is_some() {
        Standing::OldCopy(trouble)
    } else if outage >= settings.outage_max.get() {
        Standing::GivenUp(trouble)
    } else {
        Standing::Disallowed(trouble)
    };
    let doublings = (failures - 1).min(31);
    let rest = settings.failure_ttl_min.get().saturating_mul(1 << doublings);
    let rest = rest.min(settings.failure_ttl_max.get());
    // The site's own wish is kept up to a day; the host's politeness keeps it whole.
    let rest = rest.max(retry_after.unwrap_or_default().min(settings.ttl.get()));
    Entry {
        fetched: now,
        valid_until: now.plus(rest),
        standing,
        failures,
        failing_since: Some(since),
        copy,
        agent: None,
    }
}

impl Entry {
    /// Notes the product token that robots.txt was read for: of its groups only ours is kept.
    #[must_use]
    pub fn read_for(self, agent: &str) -> Entry {
        Entry { agent: Some(agent.to_owned()), ..self }
    }

    /// Returns true if it may be used by a crawler of this product token.
    pub fn is_for(&self, agent: &str) -> bool {
        self.agent.as_ref().is_none_or(|known| known == agent)
    }

    /// Returns true if robots.txt is to be asked for before another page is.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        now >= self.valid_until
    }

    /// Returns whether `url` may be fetched, and why.
    pub fn allows(&self, url: &CrawlUrl) -> Verdict {
        let everything = |allowed: bool, reason: String| Verdict {
            allowed: allowed || is_robots_txt(url),
            group: String::new(),
            line: None,
            rule: None,
            reason,
        };
        let by_copy = || match &self.copy {
            Some(copy) => copy.robots.verdict(url),
            None => everything(true, "there are no rules".to_owned()),
        };
        match &self.standing {
            Standing::Rules => by_copy(),
            Standing::Unavailable(status) => {
                everything(true, format!("robots.txt answered {status}: treated as allow"))
            }
            Standing::Redirects => {
                everything(true, "robots.txt redirects without end: treated as allow".to_owned())
            }
            Standing::Disallowed(trouble) => {
                let (what, until) = (trouble.describe(), self.valid_until);
                everything(false, format!("{what}: treated as disallow until {until}"))
            }
            Standing::OldCopy(trouble) => {
                let verdict = by_copy();
                let what = trouble.describe();
                let reason = format!("{what}, so the last copy stands: {}", verdict.reason);
                Verdict { reason, ..verdict }
            }
            Standing::GivenUp(trouble) => {
                let (what, since) = (trouble.describe(), self.failing_since.unwrap_or_default());
                everything(true, format!("{what} since {since}: treated as allow"))
            }
        }
    }

    /// Returns whether `url` may be fetched: the answer of [`Entry::allows`] without its words.
    pub fn is_allowed(&self, url: &CrawlUrl) -> bool {
        match &self.standing {
            Standing::Rules | Standing::OldCopy(_) => {
                self.copy.as_ref().is_none_or(|copy| copy.robots.is_allowed(url))
            }
            Standing::Unavailable(_) | Standing::Redirects | Standing::GivenUp(_) => true,
            Standing::Disallowed(_) => is_robots_txt(url),
        }
    }

    /// Returns the last good copy: its crawl delay, sitemaps and the like. Kept through failures,
    /// dropped once the site answers that there is none.
    pub fn robots(&self) -> Option<&Robots> {
        self.copy.as_ref().map(|copy| &*copy.robots)
    }

    /// Returns about how many bytes of memory the entry takes.
    pub fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.robots().map_or(0, Robots::memory)
    }

    /// Returns by what to ask whether the copy, read for `agent`, is still the latest.
    pub fn validators(&self, agent: &str) -> Option<&Validators> {
        let validators = self.copy.as_ref()?.validators.as_ref();
        validators.filter(|known| known.agent == agent)
    }

    /// Returns true if all is disallowed because robots.txt could not be had: until it is, or
    /// until the last good copy counts again.
    pub fn is_withheld(&self) -> bool {
        matches!(self.standing, Standing::Disallowed(_))
    }

    /// Returns how many fetches of robots.txt have failed in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3600;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(1_763_632_800_000 + seconds * 1000)
    }

    fn rules(body: &str) -> FetchedRobots {
        FetchedRobots::from_answer(200, body.as_bytes(), "mybot", &Settings::default())
    }

    fn status(status: u16) -> FetchedRobots {
        FetchedRobots::from_answer(
            status,
            b"User-agent: *\nDisallow: /",
            "mybot",
            &Settings::default(),
        )
    }

    fn reset() -> FetchedRobots {
        FetchedRobots::NoAnswer("connection reset".to_owned())
    }

    /// Plays a history of fetches, and returns whether /private/ and /open are allowed after it,
    /// and for how many seconds.
    fn play(history: &[(u64, FetchedRobots)]) -> (bool, bool, u64) {
        let mut entry: Option<Entry> = None;
        for (seconds, outcome) in history {
            let now = at(*seconds);
            entry = Some(after_fetch(entry.as_ref(), outcome.clone(), now, &Settings::default()));
        }
        let entry = entry.unwrap();
        let allows = |path: &str| {
            let url = CrawlUrl::parse(&format!("http://example.com{path}")).unwrap();
            assert_eq!(entry.allows(&url).allowed, entry.is_allowed(&url));
            entry.is_allowed(&url)
        };
        assert!(allows("/robots.txt"));
        assert!(!entry.is_stale(entry.fetched) && entry.is_stale(entry.valid_until));
        let valid = entry.valid_until.since(entry.fetched).as_secs();
        (allows("/private/"), allows("/open"), valid)
    }

    fn check(history: &[(u64, FetchedRobots)], private: bool, open: bool, seconds: u64) {
        assert_eq!(play(history), (private, open, seconds), "{history:?}");
    }

    const FILE: &str = "User-agent: *\nDisallow: /private/\n";

    #[test]
    fn an_answer_speaks_for_a_day() {
        check(&[(0, rules(FILE))], false, true, 24 * HOUR);
        check(&[(0, rules("<!DOCTYPE html><title>Not found</title>"))], true, true, 24 * HOUR);
        for code in [300, 304, 399, 400, 401, 403, 404, 410, 418, 451, 499, 777, 101] {
            check(&[(0, status(code))], true, true, 24 * HOUR);
        }
        check(&[(0, FetchedRobots::Redirects)], true, true, 24 * HOUR);
        check(&[(0, status(299))], false, false, 24 * HOUR);
    }

    #[test]
    fn failures_disallow_for_a_short_and_growing_time() {
        for failure in [status(429), status(500), status(502), status(503), status(599), reset()] {
            check(&[(0, failure.clone())], false, false, 60);
            check(&[(0, failure.clone()), (60, failure.clone())], false, false, 120);
            let many: Vec<_> = (0..9).map(|i| (i * HOUR, failure.clone())).collect();
            check(&many, false, false, HOUR);
        }
    }

    #[test]
    fn one_good_answer_forgives_all_failures() {
        check(&[(0, reset()), (60, reset()), (180, rules(FILE))], false, true, 24 * HOUR);
        check(&[(0, reset()), (60, status(404)), (90, reset())], false, false, 60);
    }

    #[test]
    fn a_long_outage_brings_the_last_copy_back_and_without_one_ends_in_allow() {
        let day = 24 * HOUR;
        let known = (0, rules(FILE));
        check(&[known.clone(), (day, reset())], false, false, 60);
        check(&[known.clone(), (day, reset()), (day + 13 * HOUR, reset())], false, true, 120);
        check(&[known.clone(), (day, reset()), (40 * day, reset())], false, true, 120);
        check(&[(0, reset()), (13 * HOUR, reset())], false, false, 120);
        check(&[(0, reset()), (30 * day, reset())], true, true, 120);
        // What the site took away in between does not count.
        check(
            &[known, (day, status(404)), (2 * day, reset()), (3 * day, reset())],
            false,
            false,
            120,
        );
    }

    #[test]
    fn not_modified_renews_the_copy() {
        check(&[(0, rules(FILE)), (24 * HOUR, status(304))], false, true, 24 * HOUR);
    }

    #[test]
    fn the_site_may_shorten_the_day_but_not_below_an_hour() {
        for (age, want) in [(0, HOUR), (2 * HOUR, 2 * HOUR), (48 * HOUR, 24 * HOUR)] {
            let age = Some(Duration::from_secs(age));
            check(&[(0, rules("").asking(age, None))], true, true, want);
            let renewed = status(304).asking(age, None);
            check(&[(0, rules(FILE)), (24 * HOUR, renewed)], false, true, want);
            // Of what is not there, nothing is kept.
            check(&[(0, status(404).asking(age, None))], true, true, 24 * HOUR);
        }
    }

    #[test]
    fn retry_after_is_waited_for_up_to_a_day() {
        for (asked, want) in [(1, 60), (600, 600), (72 * HOUR, 24 * HOUR)] {
            let outcome = status(503).asking(None, Some(Duration::from_secs(asked)));
            check(&[(0, outcome)], false, false, want);
        }
    }

    #[test]
    fn verdicts_say_why() {
        let url = CrawlUrl::parse("http://example.com/private/a").unwrap();
        let settings = Settings::default();
        let reason = |previous: Option<&Entry>, outcome| {
            after_fetch(previous, outcome, at(0), &settings).allows(&url).reason
        };
        assert_eq!(
            reason(None, status(503)),
            "robots.txt answered 503: treated as disallow until 2025-11-20T10:01:00.000Z"
        );
        assert_eq!(
            reason(None, reset()),
            "robots.txt could not be fetched (connection reset): treated as disallow until \
             2025-11-20T10:01:00.000Z"
        );
        assert_eq!(reason(None, status(404)), "robots.txt answered 404: treated as allow");
        assert_eq!(reason(None, rules(FILE)), "robots.txt line 2, group *: Disallow: /private/");
    }

    #[test]
    fn settings_keep_to_the_rfc() {
        assert_eq!(Settings::default().check(), Ok(()));
        let small = Settings { max_bytes: ByteSize::kib(1), ..Settings::default() };
        assert_eq!(
            small.check(),
            Err("max_bytes is 1KiB: RFC 9309 asks for at least 500KiB".to_owned())
        );
        for wrong in [
            Settings { ttl: Span::secs(90_000), ..Settings::default() },
            Settings { redirects_max: 4, ..Settings::default() },
            Settings { failure_ttl_min: Span::secs(0), ..Settings::default() },
            Settings { failure_ttl_max: Span::secs(1), ..Settings::default() },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
