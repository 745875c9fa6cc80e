//! What the log says of each host, and whether it was asked too early, in one pass.
//!
//! A host has one lease at a time, so its lines stand in the order of its requests and the last one
//! is all that must be remembered. This shares no code with what kept the gaps.

use std::collections::HashMap;

use crate::crawl::log::Line;
use crate::url::Fingerprint;

/// Hosts that are told apart, about 500 bytes each; further ones are only counted.
const HOSTS_MAX: usize = 200_000;

/// What the log says of one host.
#[derive(Clone, Debug, Default)]
pub(super) struct HostTally {
    /// Requests of every kind.
    pub(super) requests: u64,
    /// Answers by class: none, 2xx, 3xx, 4xx, 5xx and others.
    pub(super) by_class: [u64; 5],
    /// Of the answers: 429 and 503.
    pub(super) busy: u64,
    /// Bytes as transferred.
    pub(super) bytes: u64,
    /// Pages with new text.
    pub(super) new: u64,
    /// Pages whose text was known.
    pub(super) duplicates: u64,
    /// Error pages in disguise and the like.
    pub(super) junk: u64,
    /// Sum of the times to the first byte, in milliseconds.
    pub(super) first_byte_sum: u64,
    /// Answers in that sum.
    pub(super) answers: u64,
    /// The smallest rest that was due, in milliseconds.
    pub(super) due_min: Option<u64>,
    /// The smallest rest that was kept, in milliseconds.
    pub(super) kept_min: Option<u64>,
    /// The smallest time by which a request came later than it had to, in milliseconds.
    pub(super) margin_min: Option<i64>,
    /// Requests that came too early.
    pub(super) early: u64,
    last: Option<Last>,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    began: u64,
    end: u64,
    allowed: u64,
    url: Fingerprint,
}

/// What the log says of all hosts.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    known: HashMap<String, HostTally>,
    /// Till when a group (an address or a site) must rest.
    groups: HashMap<u64, u64>,
    /// Requests that came too early for their group.
    pub(super) early_groups: u64,
    /// Requests to hosts beyond those that are told apart.
    pub(super) beyond: u64,
}

impl Hosts {
    /// Takes in a line; returns false where it tells of a request that was told before.
    pub(super) fn note(&mut self, line: &Line) -> bool {
        if !self.known.contains_key(&line.host) {
            if self.known.len() >= HOSTS_MAX {
                self.beyond += 1;
                return true;
            }
            self.known.insert(line.host.clone(), HostTally::default());
        }
        let told = self.known.get_mut(&line.host).is_some_and(|host| host.note(line));
        if told {
            self.note_group(line);
        }
        told
    }

    fn note_group(&mut self, line: &Line) {
        let Some((group, gap)) = line.group.zip(line.group_gap_ms) else { return };
        if self.groups.len() >= HOSTS_MAX && !self.groups.contains_key(&group) {
            return;
        }
        let allowed = line.at_ms.saturating_add(line.took_ms).saturating_add(gap);
        let before = self.groups.insert(group, allowed);
        self.early_groups += u64::from(before.is_some_and(|before| line.at_ms < before));
    }

    /// Returns the hosts, those with most requests first.
    pub(super) fn sorted(&self) -> Vec<(&str, &HostTally)> {
        let mut hosts: Vec<_> =
            self.known.iter().map(|(name, host)| (name.as_str(), host)).collect();
        hosts.sort_by_key(|(name, host)| (std::cmp::Reverse(host.requests), *name));
        hosts
    }

    /// Returns how many requests came too early, and the smallest margin.
    pub(super) fn verdict(&self) -> (u64, Option<i64>) {
        let early = self.known.values().map(|host| host.early).sum();
        (early, self.known.values().filter_map(|host| host.margin_min).min())
    }
}

impl HostTally {
    fn note(&mut self, line: &Line) -> bool {
        if !self.rest(line) {
            return false;
        }
        self.requests += 1;
        let class = match line.status / 100 {
            0 => 0,
            class @ 2..=4 => usize::from(class) - 1,
            _ => 4,
        };
        self.by_class[class] += 1;
        self.busy += u64::from(matches!(line.status, 429 | 503));
        self.bytes += line.wire;
        if line.status > 0 {
            self.first_byte_sum += line.first_byte_ms;
            self.answers += 1;
        }
        self.new += u64::from(line.content == "new");
        self.duplicates += u64::from(line.content == "duplicate");
        self.junk += u64::from(line.content.starts_with("junk:"));
        true
    }

    /// Judges the rest before a request. A crash between log and state leaves the request's own
    /// line and one that says that it was interrupted: they are one request, and the longer holds.
    fn rest(&mut self, line: &Line) -> bool {
        let url = Fingerprint::of(&line.url);
        let end = line.at_ms.saturating_add(line.took_ms);
        let allowed = end.saturating_add(line.gap_ms);
        if let Some(last) = &mut self.last {
            let same = last.url == url && (line.at_ms..=end).contains(&last.began);
            if line.then == "interrupted" && same {
                last.end = last.end.max(end);
                last.allowed = last.allowed.max(allowed);
                return false;
            }
            let due = last.allowed.saturating_sub(last.end);
            let kept = line.at_ms.saturating_sub(last.end);
            let margin = line.at_ms as i64 - last.allowed as i64;
            self.due_min = Some(self.due_min.map_or(due, |least| least.min(due)));
            self.kept_min = Some(self.kept_min.map_or(kept, |least| least.min(kept)));
            self.margin_min = Some(self.margin_min.map_or(margin, |least| least.min(margin)));
            self.early += u64::from(margin < 0);
        }
        let before = self.last.map_or(0, |last| last.allowed);
        self.last = Some(Last { began: line.at_ms, end, allowed: allowed.max(before), url });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[(u64, u64, u64, &str, &str)], requests: u64, early: u64) {
        let mut hosts = Hosts::default();
        for (at_ms, took_ms, gap_ms, url, then) in lines {
            hosts.note(&Line {
                host: "a".to_owned(),
                at_ms: *at_ms,
                took_ms: *took_ms,
                gap_ms: *gap_ms,
                url: (*url).to_owned(),
                then: (*then).to_owned(),
                ..Line::default()
            });
        }
        let told: u64 = hosts.sorted().iter().map(|(_, host)| host.requests).sum();
        assert_eq!((told, hosts.verdict().0), (requests, early), "{lines:?}");
    }

    #[test]
    fn a_kept_gap_is_no_violation_and_a_broken_one_is() {
        check(&[(0, 10, 100, "u", "done"), (110, 10, 100, "v", "done")], 2, 0);
        check(&[(0, 10, 100, "u", "done"), (109, 10, 100, "v", "done")], 2, 1);
        check(&[(0, 50, 0, "u", "done"), (20, 5, 0, "v", "done")], 2, 1);
    }

    #[test]
    fn a_longer_wish_is_not_forgotten_after_a_shorter_one() {
        let lines =
            [(0, 10, 1000, "u", "done"), (5, 1, 10, "v", "done"), (500, 1, 10, "w", "done")];
        check(&lines, 3, 2);
    }

    #[test]
    fn a_request_that_the_log_tells_of_twice_is_judged_once() {
        let lines = [
            (102, 5, 20, "u", "done"),
            (100, 200, 20, "u", "interrupted"),
            (100, 350, 20, "u", "interrupted"),
            (471, 5, 20, "u", "done"),
        ];
        check(&lines, 2, 0);
    }
}
