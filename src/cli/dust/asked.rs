//! What was asked for in fetching pages for proofs, and what came of it.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use super::super::output::number;
use super::{Exit, Failed};
use crate::dust::Fetched;
use crate::fetch::Failure;

/// Why a URL showed no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// The site says that there is no such page.
    Gone,
    /// More redirects than are followed.
    Redirects,
    /// By its configuration, or the orders of its operator, the crawler does not ask for it.
    Excluded,
    /// A rule of robots.txt.
    Disallowed,
    /// robots.txt could not be had.
    Robots,
    /// The name has no address, or none that may be connected to.
    Address,
    /// No connection, or no usable answer over it.
    Connection,
    /// The host rests for too long, or a crawl is asking it.
    NotNow,
    /// Any other answer that is no page.
    Status(u16),
}

impl Reason {
    /// Returns the reason for a fetch that failed.
    pub(super) fn of(failure: Failure) -> Reason {
        match failure {
            Failure::DnsNotFound | Failure::DnsFailed | Failure::AddressRefused => Reason::Address,
            _ => Reason::Connection,
        }
    }

    /// Returns what a URL without a page shows.
    pub(super) fn shows(self) -> Fetched {
        match self {
            Reason::Excluded | Reason::Disallowed => Fetched::Forbidden,
            Reason::Status(429 | 500..=599) => Fetched::Unavailable,
            Reason::Gone | Reason::Redirects | Reason::Status(_) => Fetched::Gone,
            Reason::Robots | Reason::Address | Reason::Connection | Reason::NotNow => {
                Fetched::Unavailable
            }
        }
    }

    /// Returns what to do about it.
    fn next(self) -> &'static str {
        match self {
            Reason::Gone | Reason::Redirects => "see that the log is of this site as it is now",
            Reason::Excluded => "`crawler fetch URL` shows what excludes it",
            Reason::Disallowed => {
                "`crawler robots URL` shows by which line; ask its owner to allow this user agent"
            }
            Reason::Robots | Reason::Connection => {
                "see that the site is up; `crawler fetch URL` shows what comes of it"
            }
            Reason::Address => {
                "`crawler dns HOST` shows its addresses; for a network of your own set dns.allow \
                 or dns.allow_private"
            }
            Reason::NotNow => "try again when the host has rested and no crawl asks it",
            Reason::Status(_) => {
                "try again later, or ask its owner to let this user agent in; `crawler fetch URL` \
                 shows the answer"
            }
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Gone => "no such page",
            Reason::Redirects => "too many redirects",
            Reason::Excluded => "excluded here",
            Reason::Disallowed => "robots.txt disallows",
            Reason::Robots => "robots.txt not to be had",
            Reason::Address => "no address that is allowed",
            Reason::Connection => "no connection or no usable answer",
            Reason::NotNow => "host not to be asked now",
            Reason::Status(status) => return write!(f, "HTTP status {status}"),
        })
    }
}

/// Why a URL showed no page, with the words for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Missing {
    pub(super) reason: Reason,
    pub(super) why: String,
}

/// How often there was one reason, and the words for it when it came up first.
#[derive(Debug)]
struct Times {
    count: u64,
    why: String,
}

/// A site of which no page was seen.
#[derive(Debug)]
struct NothingSeen {
    asked: u64,
    count: u64,
    reason: Reason,
    why: String,
}

impl std::error::Error for NothingSeen {}

impl fmt::Display for NothingSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NothingSeen { asked, count, reason, why } = self;
        let (asked, count) = (number(*asked), number(*count));
        write!(
            f,
            "failed to prove anything: of {asked} fetches none showed a page; most often \
             ({count} times): {reason} ({why}); no rule was changed or written; {}",
            reason.next()
        )
    }
}

/// What was asked for, and what came of it.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pages: u64,
    missing: BTreeMap<Reason, Times>,
}

impl Asked {
    /// Counts a page.
    pub(super) fn count_page(&mut self) {
        self.pages += 1;
    }

    /// Counts a URL that showed none.
    pub(super) fn count_missing(&mut self, missing: &Missing) {
        let first = || Times { count: 0, why: missing.why.clone() };
        self.missing.entry(missing.reason).or_insert_with(first).count += 1;
    }

    /// Returns how many URLs were asked for.
    fn total(&self) -> u64 {
        self.pages + self.missing.values().map(|times| times.count).sum::<u64>()
    }

    /// Returns the reasons that say nothing of the pages themselves.
    fn failures(&self) -> impl Iterator<Item = (Reason, &Times)> {
        let all = self.missing.iter().map(|(reason, times)| (*reason, times));
        all.filter(|(reason, _)| *reason != Reason::Gone)
    }

    /// Checks that something was seen, where something was asked for: a page, or that there is no
    /// such page.
    ///
    /// # Errors
    /// Fails with the commonest reason.
    pub(super) fn check(&self) -> Result<(), Failed> {
        if self.pages > 0 || self.missing.contains_key(&Reason::Gone) {
            return Ok(());
        }
        let commonest =
            self.failures().max_by_key(|(reason, times)| (times.count, Reverse(*reason)));
        let Some((reason, times)) = commonest else { return Ok(()) };
        let (asked, count, why) = (self.total(), times.count, times.why.clone());
        Err(Failed::with(Exit::Nothing, NothingSeen { asked, count, reason, why }))
    }

    /// Returns one line about what could not be fetched, if there is something.
    pub(super) fn line(&self) -> Option<String> {
        let count: u64 = self.failures().map(|(_, times)| times.count).sum();
        let reasons = self.failures().map(|(reason, times)| {
            let count = number(times.count);
            format!("{count} {reason}")
        });
        let reasons = reasons.collect::<Vec<_>>().join(", ");
        let (some, all) = (number(count), number(self.total()));
        (count > 0).then(|| format!("{some} of {all} fetches showed no page: {reasons}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pages: u64, reasons: &[(Reason, &str)]) -> Asked {
        let mut asked = Asked::default();
        (0..pages).for_each(|_| asked.count_page());
        for (reason, why) in reasons {
            asked.count_missing(&Missing { reason: *reason, why: (*why).to_owned() });
        }
        asked
    }

    #[test]
    fn a_site_of_which_nothing_is_seen_is_an_error_that_names_the_commonest_reason() {
        let refused = (Reason::Address, "address not allowed: 127.0.0.1");
        let asked = asked(0, &[(Reason::Status(500), "500"), refused, refused]);
        let failed = asked.check().unwrap_err();
        assert_eq!(failed.exit, Exit::Nothing);
        for part in ["of 3 fetches", "(2 times)", "address not allowed: 127.0.0.1", "dns.allow"] {
            assert!(failed.line.contains(part), "{}", failed.line);
        }
    }

    #[test]
    fn every_reason_is_an_error_of_its_own() {
        for reason in [
            Reason::Redirects,
            Reason::Excluded,
            Reason::Disallowed,
            Reason::Robots,
            Reason::Connection,
            Reason::NotNow,
            Reason::Status(403),
        ] {
            let failed = asked(0, &[(reason, "so it was")]).check().unwrap_err();
            let said = format!("{reason} (so it was)");
            assert!(failed.line.contains(&said), "{}", failed.line);
        }
    }

    #[test]
    fn where_something_is_seen_or_nothing_is_asked_there_is_no_error() {
        let failure = (Reason::Connection, "refused");
        assert!(asked(0, &[]).check().is_ok());
        assert!(asked(1, &[failure, failure]).check().is_ok());
        assert!(asked(0, &[failure, (Reason::Gone, "404")]).check().is_ok());
    }

    #[test]
    fn what_failed_is_told_in_one_line_by_reasons() {
        let (busy, closed) = ((Reason::Status(503), "busy"), (Reason::Connection, "refused"));
        let line = asked(4, &[busy, closed, busy, (Reason::Gone, "404")]).line();
        let want = "3 of 8 fetches showed no page: 1 no connection or no usable answer, 2 HTTP \
                    status 503";
        assert_eq!(line.as_deref(), Some(want));
        assert_eq!(asked(4, &[(Reason::Gone, "404")]).line(), None);
    }

    #[test]
    fn what_was_not_answered_says_nothing_of_a_rule() {
        for reason in [
            Reason::Robots,
            Reason::Address,
            Reason::Connection,
            Reason::NotNow,
            Reason::Status(429),
            Reason::Status(500),
        ] {
            assert_eq!(reason.shows(), Fetched::Unavailable, "{reason}");
        }
        assert_eq!(Reason::Disallowed.shows(), Fetched::Forbidden);
        assert_eq!(Reason::Gone.shows(), Fetched::Gone);
        assert_eq!(Reason::Status(403).shows(), Fetched::Gone);
        assert_eq!(Reason::of(Failure::AddressRefused), Reason::Address);
        assert_eq!(Reason::of(Failure::ConnectFailed), Reason::Connection);
    }
}
