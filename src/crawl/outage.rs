//! Tells an outage of our own network or name servers from hosts that are gone.
//!
//! Hosts that have answered before do not vanish together. When several of them fail in a row with
//! no answer of anybody in between, the fault is taken to be ours: until something answers again,
//! failures cost no URL a try and speak against no host. The same holds where our own machine says
//! that it cannot send. Neither excuses a host for ever. What it does not do: it sends nothing to
//! find out; the next request that is due anyway does.

use std::collections::BTreeSet;
use std::time::Duration;

use super::settings::Settings;
use super::state::State;
use super::visit::Visit;
use crate::clock::Timestamp;
use crate::db::DbError;
use crate::fetch::{Failed, Failure, Outcome};
use crate::frontier::HostId;

/// Hosts that failed one after the other, and since when that is our fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outage {
    /// Hosts that had answered before and have failed since anybody last answered.
    silent: BTreeSet<HostId>,
    since: Option<Timestamp>,
}

impl Outage {
    /// Notes an answer; returns how long the outage lasted that it ends.
    fn answered(&mut self, now: Timestamp) -> Option<Duration> {
        self.silent.clear();
        self.since.take().map(|since| now.since(since))
    }

    /// Notes that a host could not be reached; `known` says whether it ever answered. Returns true
    /// if the fault is ours.
    fn failed(&mut self, host: HostId, known: bool, now: Timestamp, settings: &Settings) -> bool {
        if self.since.is_none() && known {
            self.silent.insert(host);
            if self.silent.len() >= settings.outage_hosts.max(1) {
                self.since = Some(now);
            }
        }
        self.since.is_some_and(|since| now.since(since) < settings.outage_max.get())
    }
}

impl State {
    /// Turns a failure that an outage of ours explains into one of ours.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn blame(
        &mut self,
        host: HostId,
        visit: &mut Visit,
        now: Timestamp,
    ) -> Result<(), DbError> {
        let failed = match &*visit.outcome {
            Outcome::Answer(_) => {
                self.excused.pop(&host);
                if let Some(lasted) = self.outage.answered(now) {
                    tracing::warn!(?lasted, "the network answers again");
                }
                return Ok(());
            }
            Outcome::Failed(failed) => failed,
        };
        if failed.failure == Failure::LocalFailure {
            // One address family, or a part of the network, may be out of our reach for good, while
            // other hosts answer.
            let since = *self.excused.get_or_insert(host, || now);
            if now.since(since) >= self.settings.outage_max.get() {
                let detail = format!("out of our reach since {since}: {}", failed.detail);
                let failure = Failure::ConnectFailed;
                visit.outcome =
                    Outcome::Failed(Failed { failure, detail, ..failed.clone() }).into();
            }
            return Ok(());
        }
        if !is_silence(failed.failure) {
            self.excused.pop(&host);
            return Ok(());
        }
        let known = self.host(host)?.is_some_and(|record| record.done > 0);
        let before = self.outage.since;
        if !self.outage.failed(host, known, now, &self.settings) {
            self.excused.pop(&host);
            return Ok(());
        }
        self.excused.get_or_insert(host, || now);
        if before.is_none() {
            let (hosts, last) = (self.outage.silent.len(), &failed.detail);
            tracing::warn!(
                hosts,
                last,
                "nothing answers, also not what answered before: waiting for the network or the \
                 name servers to come back; no URL loses a try meanwhile"
            );
        }
        let detail = format!("outage of our own: {}: {}", failed.failure.name(), failed.detail);
        let failure = Failure::LocalFailure;
        visit.outcome = Outcome::Failed(Failed { failure, detail, ..failed.clone() }).into();
        Ok(())
    }
}

/// Failures that look the same whether the host is gone or we are.
fn is_silence(failure: Failure) -> bool {
    matches!(
        failure,
        Failure::DnsNotFound
            | Failure::DnsFailed
            | Failure::ConnectFailed
            | Failure::ConnectTimeout
            | Failure::TlsTimeout
            | Failure::FirstByteTimeout
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Span;

    const T0: Timestamp = Timestamp::from_millis(1_000_000);

    /// Feeds failures of hosts (number, known) and returns which were ours.
    fn check(failures: &[(u32, bool)], want: &[bool]) -> Outage {
        let settings = Settings { outage_hosts: 3, ..Settings::default() };
        let mut outage = Outage::default();
        let ours: Vec<bool> = failures
            .iter()
            .map(|(host, known)| outage.failed(HostId(*host), *known, T0, &settings))
            .collect();
        assert_eq!(ours, want);
        outage
    }

    #[test]
    fn hosts_that_answered_before_and_fail_together_are_our_outage() {
        let mut outage =
            check(&[(1, true), (2, true), (3, true), (4, false)], &[false, false, true, true]);
        assert_eq!(outage.answered(T0.plus(Duration::from_secs(9))), Some(Duration::from_secs(9)));
        assert_eq!(outage, Outage::default());
    }

    #[test]
    fn one_host_that_fails_often_and_hosts_that_never_answered_prove_nothing() {
        check(&[(1, true), (1, true), (1, true), (1, true)], &[false; 4]);
        check(&[(1, false), (2, false), (3, false), (4, false)], &[false; 4]);
    }

    #[test]
    fn an_outage_excuses_nobody_for_ever() {
        let outage_max = Span::secs(60);
        let settings = Settings { outage_hosts: 1, outage_max, ..Settings::default() };
        let mut outage = Outage::default();
        assert!(outage.failed(HostId(1), true, T0, &settings));
        assert!(!outage.failed(HostId(1), true, T0.plus(outage_max.get()), &settings));
    }
}
