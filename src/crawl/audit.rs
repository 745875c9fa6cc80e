//! The politeness auditor: proves from the crawl log alone that nobody was hurried.
//!
//! For every host the next request must not begin before the last one's end plus the gap that was
//! due then; the same for groups. The log tells begin, duration and gap of every request that was
//! made, so the proof needs nothing else, and it does not share the frontier's code.
//!
//! Of each request some eighty bytes are held, since lines stand in the order in which visits
//! ended; the lines of violations are read again for what is shown of them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::BufRead;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::log::{Line, files};

/// Violations that are shown; all are counted.
const SHOWN_MAX: usize = 100;

/// What the log proves.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Audit {
    /// Requests in the log.
    pub requests: u64,
    /// Hosts that were asked.
    pub hosts: BTreeMap<String, HostAudit>,
    /// Requests that came too early, at most a hundred.
    pub violations: Vec<Violation>,
    /// How many there were in all.
    pub violations_total: u64,
    /// Lines that could not be read: file, line number, why.
    pub bad_lines: Vec<(String, u64, String)>,
}

/// One host in the log.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostAudit {
    /// Requests to it.
    pub requests: u64,
    /// Smallest rest that was due, in milliseconds.
    pub gap_due_min_ms: u64,
    /// Smallest rest that was kept, in milliseconds.
    pub rest_min_ms: Option<u64>,
    /// Smallest time by which a request came later than it had to, in milliseconds.
    pub margin_min_ms: Option<i64>,
}

/// A request that came too early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// File and line.
    pub at: String,
    /// The host, or the group as `group:N`.
    pub who: String,
    /// What was fetched.
    pub url: String,
    /// The rest that was due, in milliseconds.
    pub due_ms: u64,
    /// The rest that was kept, negative where the request before was still under way.
    pub rest_ms: i64,
}

/// Why an audit cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// There is nothing to read.
    #[error("read the crawl log in {dir}: {why}; give the crawl's directory with --dir")]
    Unreadable {
        /// The directory.
        dir: PathBuf,
        /// What is wrong.
        why: String,
    },
}

#[derive(Clone, Copy)]
struct Before {
    end: u64,
    allowed: u64,
}

/// Audits the log in `dir`, all of it or one host of it.
///
/// # Errors
/// Returns why the log cannot be read; a bad line is part of the answer.
pub fn audit(dir: &Path, host: Option<&str>) -> Result<Audit, AuditError> {
    let unreadable = |why: String| AuditError::Unreadable { dir: dir.to_owned(), why };
    let files = files(dir).map_err(|error| unreadable(error.to_string()))?;
    if files.is_empty() {
        return Err(unreadable("there is no crawl-NNNNN.jsonl".to_owned()));
    }
    let (mut requests, mut names) = (Vec::new(), Names::default());
    let mut audit = Audit::default();
    for (number, file) in (0..).zip(&files) {
        read(file, number, host, &mut requests, &mut names, &mut audit)
            .map_err(|error| unreadable(format!("{}: {error}", file.display())))?;
    }
    // Lines stand in the order in which visits ended; the proof needs the order in which they
    // began.
    requests.sort_by_key(|request| request.began);
    let requests = without_echoes(requests);
    let mut judge = Judge { audit, names: names.list, ..Judge::default() };
    for request in &requests {
        judge.host(request);
        judge.group(request);
    }
    let Judge { mut audit, early, .. } = judge;
    show(&files, &early, &mut audit)
        .map_err(|error| unreadable(format!("the lines of violations: {error}")))?;
    Ok(audit)
}

/// Fills in what is shown of violations from their lines.
fn show(files: &[PathBuf], early: &[(u32, u64)], audit: &mut Audit) -> std::io::Result<()> {
    for (number, file) in (0..).zip(files) {
        let mut wanted: HashMap<u64, Vec<usize>> = HashMap::new();
        for (at, (_, line)) in early.iter().enumerate().filter(|(_, place)| place.0 == number) {
            wanted.entry(*line).or_default().push(at);
        }
        if wanted.is_empty() {
            continue;
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let lines = std::io::BufReader::new(std::fs::File::open(file)?).lines();
        for (number, text) in (1u64..).zip(lines) {
            let text = text?;
            let Some(violations) = wanted.get(&number) else { continue };
            let url = serde_json::from_str::<Line>(&text).map(|line| line.url).unwrap_or_default();
            for at in violations {
                audit.violations[*at].at = format!("{name}:{number}");
                audit.violations[*at].url = url.clone();
            }
        }
    }
    Ok(())
}

/// Drops lines that tell of a request a second time: a crash between the log and the batch leaves
/// the request's own line and, at the next start, one that says it was interrupted; a crash in that
/// start leaves the latter twice. Within an interrupted span a host was asked once, so whatever
/// else the log has of the same URL there is the same request, and the span covers it.
fn without_echoes(requests: Vec<Request>) -> Vec<Request> {
    let mut spans: HashMap<(u32, u64), Vec<(u64, u64)>> = HashMap::new();
    for request in requests.iter().filter(|request| request.interrupted) {
        let key = (request.host, request.url);
        spans.entry(key).or_default().push((request.began, request.end));
    }
    let longest = |spans: &[(u64, u64)], began: u64, end: u64| {
        !spans.iter().any(|(from, to)| *from == began && *to > end)
    };
    let mut told = HashSet::new();
    let kept = requests.into_iter().filter(|request| {
        let key = (request.host, request.url);
        let Some(spans) = spans.get(&key) else { return true };
        if request.interrupted {
            return longest(spans, request.began, request.end) && told.insert((key, request.began));
        }
        !spans.iter().any(|(from, to)| (*from..=*to).contains(&request.began))
    });
    kept.collect()
}

struct Request {
    interrupted: bool,
    /// Number of the file, from 0, and of the line, from 1.
    at: (u32, u64),
    /// Number of its name.
    host: u32,
    /// Hash.
    url: u64,
    began: u64,
    end: u64,
    gap: u64,
    group: Option<(u64, u64)>,
}

/// Names of hosts, each held once.
#[derive(Default)]
struct Names {
    numbers: HashMap<String, u32>,
    list: Vec<String>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.list.len() as u32;
        self.numbers.insert(name.to_owned(), number);
        self.list.push(name.to_owned());
        number
    }
}

fn read(
    file: &Path,
    file_number: u32,
    host: Option<&str>,
    requests: &mut Vec<Request>,
    names: &mut Names,
    audit: &mut Audit,
) -> std::io::Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let lines = std::io::BufReader::new(std::fs::File::open(file)?).lines();
    for (number, line) in (1u64..).zip(lines) {
        let line = line?;
        match serde_json::from_str::<Line>(&line) {
            Ok(line) if host.is_none_or(|host| host == line.host) => requests.push(Request {
                interrupted: line.then == "interrupted",
                at: (file_number, number),
                began: line.at_ms,
                end: line.at_ms.saturating_add(line.took_ms),
                gap: line.gap_ms,
                group: line.group.zip(line.group_gap_ms),
                host: names.number(&line.host),
                url: xxhash_rust::xxh3::xxh3_64(line.url.as_bytes()),
            }),
            Ok(_) => {}
            Err(error) if audit.bad_lines.len() < SHOWN_MAX => {
                audit.bad_lines.push((name.clone(), number, error.to_string()));
            }
            Err(_) => {}
        }
    }
    Ok(())
}

/// Judges requests in the order in which they began.
#[derive(Default)]
struct Judge {
    audit: Audit,
    names: Vec<String>,
    hosts: HashMap<u32, Before>,
    groups: HashMap<u64, Before>,
    /// Where the lines of the shown violations stand.
    early: Vec<(u32, u64)>,
}

impl Judge {
    fn host(&mut self, request: &Request) {
        let name = self.names.get(request.host as usize).cloned().unwrap_or_default();
        self.audit.requests += 1;
        let host = self.audit.hosts.entry(name.clone()).or_default();
        host.requests += 1;
        let last = self.hosts.get(&request.host).copied();
        if let Some(last) = last {
            let rest = request.began as i64 - last.end as i64;
            let margin = request.began as i64 - last.allowed as i64;
            let due = last.allowed.saturating_sub(last.end);
            host.gap_due_min_ms =
                if host.rest_min_ms.is_none() { due } else { host.gap_due_min_ms.min(due) };
            let kept = u64::try_from(rest).unwrap_or(0);
            host.rest_min_ms = Some(host.rest_min_ms.map_or(kept, |least| least.min(kept)));
            host.margin_min_ms = Some(host.margin_min_ms.map_or(margin, |least| least.min(margin)));
            if margin < 0 {
                self.blame(request, name, due, rest);
            }
        }
        let allowed = request.end.saturating_add(request.gap);
        let earlier = last.map_or(0, |last| last.allowed);
        let now = Before { end: request.end, allowed: allowed.max(earlier) };
        self.hosts.insert(request.host, now);
    }

    fn group(&mut self, request: &Request) {
        let Some((group, gap)) = request.group else { return };
        if let Some(last) = self.groups.get(&group).copied()
            && request.began < last.allowed
        {
            let rest = request.began as i64 - last.end as i64;
            let due = last.allowed.saturating_sub(last.end);
            self.blame(request, format!("group:{group}"), due, rest);
        }
        let allowed = request.end.saturating_add(gap);
        self.groups.insert(group, Before { end: request.end, allowed });
    }

    /// Notes a violation; where it stands and what was fetched is filled in at the end.
    fn blame(&mut self, request: &Request, who: String, due_ms: u64, rest_ms: i64) {
        self.audit.violations_total += 1;
        if self.audit.violations.len() < SHOWN_MAX {
            let (at, url) = (String::new(), String::new());
            self.audit.violations.push(Violation { at, who, url, due_ms, rest_ms });
            self.early.push(request.at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn check(requests: &[(&str, u64, u64, u64)], want: u64) {
        let dir = tempfile::tempdir().unwrap();
        let mut file = std::fs::File::create(dir.path().join("crawl-00001.jsonl")).unwrap();
        for (host, at_ms, took_ms, gap_ms) in requests {
            let line = Line {
                host: (*host).to_owned(),
                at_ms: *at_ms,
                took_ms: *took_ms,
                gap_ms: *gap_ms,
                ..Line::default()
            };
            writeln!(file, "{}", serde_json::to_string(&line).unwrap()).unwrap();
        }
        assert_eq!(audit(dir.path(), None).unwrap().violations_total, want);
    }

    #[test]
    fn a_kept_gap_is_no_violation_and_a_broken_one_is() {
        check(&[("a", 0, 10, 100), ("a", 110, 10, 100)], 0);
        check(&[("a", 0, 10, 100), ("a", 109, 10, 100)], 1);
        check(&[("a", 0, 10, 100), ("b", 1, 10, 100)], 0);
    }

    #[test]
    fn two_requests_under_way_at_once_are_a_violation() {
        check(&[("a", 0, 50, 0), ("a", 20, 5, 0)], 1);
    }

    #[test]
    fn a_longer_wish_is_not_forgotten_after_a_shorter_one() {
        check(&[("a", 0, 10, 1000), ("a", 5, 1, 10), ("a", 500, 1, 10)], 2);
    }

    #[test]
    fn a_request_that_the_log_tells_of_twice_is_judged_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = std::fs::File::create(dir.path().join("crawl-00001.jsonl")).unwrap();
        let line = |at_ms, took_ms, then: &str| Line {
            host: "a".to_owned(),
            url: "http://a/".to_owned(),
            at_ms,
            took_ms,
            gap_ms: 20,
            then: then.to_owned(),
            ..Line::default()
        };
        let lines = [
            line(102, 5, "done"),
            line(100, 200, "interrupted"),
            line(100, 350, "interrupted"),
            line(471, 5, "done"),
        ];
        for line in lines {
            writeln!(file, "{}", serde_json::to_string(&line).unwrap()).unwrap();
        }
        let audit = audit(dir.path(), None).unwrap();
        assert_eq!((audit.requests, audit.violations_total), (2, 0), "{:?}", audit.violations);
    }

    /// URL and place of every request were held: 350 bytes each.
    #[test]
    fn little_is_held_of_a_request_and_a_violation_is_shown_with_its_line() {
        assert!(size_of::<Request>() <= 96, "{}", size_of::<Request>());
        let dir = tempfile::tempdir().unwrap();
        let line = |n: u64, at_ms| Line {
            host: "a.test".to_owned(),
            url: format!("http://a.test/{n}"),
            at_ms,
            took_ms: 10,
            gap_ms: 100,
            ..Line::default()
        };
        let first = [line(1, 0), line(2, 500)];
        let second = [line(4, 1_050), line(3, 1_000)];
        for (file, lines) in [(1, first), (2, second)] {
            let lines = lines.map(|line| serde_json::to_string(&line).unwrap() + "\n").concat();
            std::fs::write(dir.path().join(format!("crawl-{file:05}.jsonl")), lines).unwrap();
        }
        let audit = audit(dir.path(), None).unwrap();
        let shown: Vec<_> = audit.violations.iter().map(|v| (&v.at[..], &v.url[..])).collect();
        assert_eq!(shown, [("crawl-00002.jsonl:1", "http://a.test/4")]);
        assert_eq!((audit.requests, audit.violations[0].rest_ms), (4, 40));
    }

    #[test]
    fn a_bad_line_is_named_and_the_others_are_judged() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("crawl-00001.jsonl"), "{\"host\":\n{}\n").unwrap();
        let audit = audit(dir.path(), None).unwrap();
        assert_eq!((audit.bad_lines.len(), audit.bad_lines[0].1, audit.requests), (1, 1, 1));
    }
}
