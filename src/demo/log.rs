//! What the servers saw: every request with its time, and a judge of politeness over them.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::url::Host;

/// Most violations that a judge writes down; all of them are counted.
const VIOLATIONS_KEPT: usize = 100;

/// One request as its server saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Host name that was asked.
    pub host: Host,
    /// Path and query.
    pub path: String,
    /// When it began.
    pub at: Timestamp,
    /// Requests of this host under way, this one included.
    pub in_flight: u32,
    /// The address that was asked, if known.
    pub address: Option<IpAddr>,
}

/// Requests in order; the newest are kept, all are counted and judged.
#[derive(Debug)]
pub struct RequestLog {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    kept_max: usize,
    arrivals: VecDeque<Arrival>,
    total: u64,
    in_flight: HashMap<Host, u32>,
    last: HashMap<Host, Timestamp>,
    judge: Option<Judge>,
}

impl RequestLog {
    /// Makes a log that keeps the newest `kept_max` requests.
    pub fn new(kept_max: usize) -> Self {
        let (arrivals, in_flight, last) = (VecDeque::new(), HashMap::new(), HashMap::new());
        let state = State { kept_max, arrivals, total: 0, in_flight, last, judge: None };
        RequestLog { state: Mutex::new(state) }
    }

    /// Has every request from now on judged; an earlier judge is returned.
    pub fn judge(&self, judge: Judge) -> Option<Judge> {
        self.lock().judge.replace(judge)
    }

    /// Returns what the judge found so far; `None` if there is no judge.
    pub fn verdict(&self) -> Option<Judgement> {
        self.lock().judge.as_ref().map(|judge| judge.judgement.clone())
    }

    /// Returns how many requests there were.
    pub fn total(&self) -> u64 {
        self.lock().total
    }

    /// Returns the requests that are kept, oldest first.
    pub fn arrivals(&self) -> Vec<Arrival> {
        self.lock().arrivals.iter().cloned().collect()
    }

    /// Notes the beginning of a request and returns the time since the host's last one began. That
    /// is remembered where the host is `known` alone: anybody can name others without end.
    pub(super) fn begin(
        &self,
        (host, known): (&Host, bool),
        path: &str,
        address: Option<IpAddr>,
        at: Timestamp,
    ) -> Option<Duration> {
        let mut state = self.lock();
        let count = state.in_flight.entry(host.clone()).or_insert(0);
        *count += 1;
        let in_flight = *count;
        state.total += 1;
        let last = known.then(|| state.last.insert(host.clone(), at)).flatten();
        let arrival = Arrival { host: host.clone(), path: path.to_owned(), at, in_flight, address };
        if let Some(judge) = &mut state.judge {
            judge.begin(&arrival);
        }
        if state.kept_max > 0 {
            if state.arrivals.len() == state.kept_max {
                state.arrivals.pop_front();
            }
            state.arrivals.push_back(arrival);
        }
        last.map(|last| at.since(last))
    }

    /// Notes the end of a request.
    pub(super) fn end(&self, host: &Host, address: Option<IpAddr>, at: Timestamp) {
        let mut state = self.lock();
        if let Some(count) = state.in_flight.get_mut(host) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                state.in_flight.remove(host);
            }
        }
        if let Some(judge) = &mut state.judge {
            judge.end(host, address, at);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // A panic elsewhere leaves counts that are still true.
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Whom a judge protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protect {
    /// Each host by itself.
    Hosts,
    /// Each address, with all hosts on it.
    Addresses,
    /// Each registrable domain, with all hosts below it.
    Sites,
}

/// Checks that no two requests come closer than they may, and never two at once.
///
/// Memory: one entry per host (or group) ever asked.
pub struct Judge {
    protect: Protect,
    gap: Box<dyn Fn(&Host) -> Duration + Send>,
    groups: HashMap<String, Group>,
    judgement: Judgement,
}

impl std::fmt::Debug for Judge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Judge").field("judgement", &self.judgement).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Group {
    in_flight: u32,
    last: Option<Timestamp>,
}

/// What a judge found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Requests judged.
    pub requests: u64,
    /// Hosts or groups seen.
    pub groups: usize,
    /// Requests that came too early or while another was under way.
    pub violations: u64,
    /// The first of them, in words.
    pub examples: Vec<String>,
    /// The most requests of one group under way at once.
    pub in_flight_peak: u32,
    /// The smallest time by which a request came later than it had to; none if none was early or
    /// no host was asked twice.
    pub margin_min: Option<Duration>,
}

impl Judge {
    /// Makes a judge that wants `gap` between the end of a host's request and the next one's
    /// beginning.
    pub fn new(protect: Protect, gap: impl Fn(&Host) -> Duration + Send + 'static) -> Self {
        let (groups, judgement) = (HashMap::new(), Judgement::default());
        Judge { protect, gap: Box::new(gap), groups, judgement }
    }

    fn key(&self, host: &Host, address: Option<IpAddr>) -> String {
        match (self.protect, address) {
            (Protect::Addresses, Some(address)) => address.to_string(),
            (Protect::Sites, _) => host.site().as_str().to_owned(),
            _ => host.as_str().to_owned(),
        }
    }

    fn begin(&mut self, arrival: &Arrival) {
        let key = self.key(&arrival.host, arrival.address);
        let gap = (self.gap)(&arrival.host);
        let group = self.groups.entry(key.clone()).or_default();
        group.in_flight += 1;
        let (in_flight, last) = (group.in_flight, group.last);
        self.judgement.requests += 1;
        self.judgement.groups = self.groups.len();
        self.judgement.in_flight_peak = self.judgement.in_flight_peak.max(in_flight);
        if in_flight > 1 {
            self.violation(format!(
                "{key}: {in_flight} at once at {} {}",
                arrival.at, arrival.path
            ));
        }
        if let Some(last) = last {
            let rested = arrival.at.since(last);
            match rested.checked_sub(gap) {
                Some(margin) => {
                    let least = self.judgement.margin_min.unwrap_or(Duration::MAX);
                    self.judgement.margin_min = Some(least.min(margin));
                }
                None => self.violation(format!(
                    "{key}: {rested:?} of {gap:?} at {} {}",
                    arrival.at, arrival.path
                )),
            }
        }
    }

    fn end(&mut self, host: &Host, address: Option<IpAddr>, at: Timestamp) {
        let key = self.key(host, address);
        if let Some(group) = self.groups.get_mut(&key) {
            group.in_flight = group.in_flight.saturating_sub(1);
            group.last = Some(at);
        }
    }

    fn violation(&mut self, what: String) {
        self.judgement.violations += 1;
        if self.judgement.examples.len() < VIOLATIONS_KEPT {
            self.judgement.examples.push(what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    /// Runs (host, address, begin, end) under a judge who wants 100 ms.
    fn check(protect: Protect, visits: &[(&str, u8, u64, u64)], want: (u64, Option<u64>)) {
        let log = RequestLog::new(2);
        log.judge(Judge::new(protect, |_| Duration::from_millis(100)));
        let mut events: Vec<(u64, bool, Host, Option<IpAddr>)> = Vec::new();
        for (host, address, begin, end) in visits {
            let (host, address) = (Host::new(host), Some(IpAddr::from([127, 0, 0, *address])));
            events.push((*begin, true, host.clone(), address));
            events.push((*end, false, host, address));
        }
        events.sort_by_key(|event| event.0);
        for (millis, begins, host, address) in events {
            match begins {
                true => drop(log.begin((&host, true), "/", address, at(millis))),
                false => log.end(&host, address, at(millis)),
            }
        }
        let judgement = log.verdict().expect("a judge");
        let margin = judgement.margin_min.map(|margin| margin.as_millis() as u64);
        assert_eq!((judgement.violations, margin), want, "{judgement:?}");
        assert_eq!(log.total(), visits.len() as u64);
        assert!(log.arrivals().len() <= 2);
    }

    #[test]
    fn hosts_that_are_not_of_the_web_are_counted_and_not_remembered() {
        let log = RequestLog::new(2);
        let begin = |name: &str, known: bool, millis| {
            let host = Host::new(name);
            let since = log.begin((&host, known), "/", None, at(millis));
            log.end(&host, None, at(millis));
            since
        };
        begin("known.test", true, 0);
        for n in 0..100 {
            assert_eq!(begin(&format!("other-{n}.test"), false, n), None);
        }
        assert_eq!(begin("other-1.test", false, 200), None);
        assert_eq!(begin("known.test", true, 300), Some(Duration::from_millis(300)));
        assert_eq!((log.total(), log.lock().last.len()), (103, 1));
    }

    #[test]
    fn a_judge_sees_haste_and_crowding() {
        check(Protect::Hosts, &[("a", 1, 0, 10), ("a", 1, 115, 120)], (0, Some(5)));
        check(Protect::Hosts, &[("a", 1, 0, 10), ("a", 1, 109, 120)], (1, None));
        check(Protect::Hosts, &[("a", 1, 0, 50), ("a", 1, 20, 60)], (1, None));
        check(Protect::Hosts, &[("a", 1, 0, 10), ("b", 1, 5, 8)], (0, None));
        check(Protect::Addresses, &[("a", 1, 0, 10), ("b", 1, 5, 8)], (1, None));
        check(Protect::Addresses, &[("a", 1, 0, 10), ("a", 2, 5, 8)], (0, None));
        check(Protect::Sites, &[("x.a.com", 1, 0, 10), ("y.a.com", 2, 50, 60)], (1, None));
    }
}
