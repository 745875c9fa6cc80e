//! One pass over the crawl log.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use hdrhistogram::Histogram;

use super::builder::ReportError;
use super::hosts::Hosts;
use super::redirects::Redirects;
use super::safe;
use super::series::{Series, Tally};
use crate::crawl::log::{Line, files};

/// Different words of one kind (types, failures) that are told apart.
const WORDS_MAX: usize = 1000;

/// Examples that are kept of a kind.
const EXAMPLES_MAX: usize = 100;

/// Bytes of a line: a line of ours is a few kilobytes, so a longer one is damage.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Bad lines that are named.
const BAD_NAMED_MAX: usize = 5;

/// Longest time that is told apart, in milliseconds: ten minutes, more than any fetch may take.
const LATENCY_MAX_MS: u64 = 600_000;

/// How often each word was said; those beyond [`WORDS_MAX`] are counted together.
#[derive(Debug, Default)]
pub(super) struct Words {
    known: HashMap<String, (u64, u64)>,
    /// How often another word was said.
    pub(super) others: u64,
}

impl Words {
    fn add(&mut self, word: &str, bytes: u64) {
        let is_full = self.known.len() >= WORDS_MAX;
        match self.known.get_mut(word) {
            Some((count, sum)) => (*count, *sum) = (*count + 1, *sum + bytes),
            None if is_full => self.others += 1,
            None => {
                self.known.insert(word.to_owned(), (1, bytes));
            }
        }
    }

    /// Returns words, counts and bytes, the most frequent first.
    pub(super) fn sorted(&self) -> Vec<(&str, u64, u64)> {
        let mut words: Vec<_> =
            self.known.iter().map(|(word, (count, sum))| (word.as_str(), *count, *sum)).collect();
        words.sort_by_key(|(word, count, _)| (std::cmp::Reverse(*count), *word));
        words
    }
}

/// A page that is no content whatever its status says.
#[derive(Clone, Debug)]
pub(super) struct JunkPage {
    pub(super) kind: String,
    pub(super) url: String,
    pub(super) evidence: String,
}

/// What the log says.
#[derive(Debug)]
pub(super) struct LogFacts {
    /// Begin of the first request and end of the last, in milliseconds since the epoch.
    pub(super) span: Option<(u64, u64)>,
    /// Requests by purpose.
    pub(super) purposes: Words,
    /// Pages by status; 0 where there was no answer.
    pub(super) statuses: BTreeMap<u16, (u64, u64)>,
    /// Answers to requests for robots.txt by status.
    pub(super) robots_statuses: BTreeMap<u16, u64>,
    /// Pages by type.
    pub(super) types: Words,
    /// Requests without an answer, by what failed.
    pub(super) failures: Words,
    /// Pages by how their content was judged.
    pub(super) contents: Words,
    /// Rests by what they were due to.
    pub(super) gap_reasons: Words,
    /// Times to the first byte, in milliseconds.
    pub(super) first_byte: Histogram<u32>,
    /// Times of whole requests.
    pub(super) took: Histogram<u32>,
    /// Bodies that were cut short.
    pub(super) truncated: u64,
    /// Hosts.
    pub(super) hosts: Hosts,
    /// Redirects.
    pub(super) redirects: Redirects,
    /// Counts over time.
    pub(super) series: Series,
    /// Examples of pages without content.
    pub(super) junk: Vec<JunkPage>,
    /// How many such pages there are.
    pub(super) junk_total: u64,
    /// Bytes of pages whose text was known.
    pub(super) duplicate_bytes: u64,
    /// What could not be read.
    pub(super) warnings: Vec<String>,
    bad: u64,
}

impl LogFacts {
    fn new() -> LogFacts {
        let histogram = || {
            let made = Histogram::new_with_bounds(1, LATENCY_MAX_MS, 2);
            made.expect("the bounds are in order and two digits are allowed")
        };
        LogFacts {
            span: None,
            purposes: Words::default(),
            statuses: BTreeMap::new(),
            robots_statuses: BTreeMap::new(),
            types: Words::default(),
            failures: Words::default(),
            contents: Words::default(),
            gap_reasons: Words::default(),
            first_byte: histogram(),
            took: histogram(),
            truncated: 0,
            hosts: Hosts::default(),
            redirects: Redirects::default(),
            series: Series::default(),
            junk: Vec::new(),
            junk_total: 0,
            duplicate_bytes: 0,
            warnings: Vec::new(),
            bad: 0,
        }
    }

    /// Reads the log in `dir`; a directory without one gives nothing, with a warning.
    pub(super) fn read(dir: &Path) -> Result<LogFacts, ReportError> {
        let mut facts = LogFacts::new();
        let files = match files(dir) {
            Ok(files) => files,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(why) => return Err(ReportError::Log { file: dir.to_owned(), why }),
        };
        if files.is_empty() {
            let dir = dir.display();
            facts.warnings.push(format!("there is no crawl log in {dir}: counts by request lack"));
        }
        for file in &files {
            facts.read_file(file).map_err(|why| ReportError::Log { file: file.clone(), why })?;
        }
        if facts.bad > 0 {
            let first = facts.warnings.join("; ");
            facts.warnings =
                vec![format!("{} lines of the log cannot be read: {first}", facts.bad)];
        }
        Ok(facts)
    }

    fn read_file(&mut self, file: &Path) -> std::io::Result<()> {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut reader = BufReader::with_capacity(1 << 18, std::fs::File::open(file)?);
        let mut buffer = Vec::new();
        for number in 1u64.. {
            buffer.clear();
            let read = (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut buffer)?;
            if read == 0 {
                break;
            }
            let whole = buffer.last() == Some(&b'\n');
            if !whole && read as u64 == LINE_BYTES_MAX {
                self.bad_line(&name, number, "it is longer than a megabyte");
                skip_line(&mut reader)?;
                continue;
            }
            // A line without an end is being written just now.
            match serde_json::from_slice::<Line>(&buffer) {
                Ok(line) => self.note(&line),
                Err(_) if !whole => {}
                Err(error) => self.bad_line(&name, number, &error.to_string()),
            }
        }
        Ok(())
    }

    fn bad_line(&mut self, file: &str, number: u64, why: &str) {
        self.bad += 1;
        if self.warnings.len() < BAD_NAMED_MAX {
            self.warnings.push(format!("{file}:{number}: {why}"));
        }
    }

    fn note(&mut self, line: &Line) {
        if !self.hosts.note(line) {
            return;
        }
        let end = line.at_ms.saturating_add(line.took_ms);
        let span = self.span.unwrap_or((line.at_ms, end));
        self.span = Some((span.0.min(line.at_ms), span.1.max(end)));
        let page = line.purpose == "page";
        self.series.add(
            line.at_ms,
            &Tally {
                requests: 1,
                pages: u64::from(page && line.then == "done"),
                new: u64::from(line.content == "new"),
                duplicates: u64::from(line.content == "duplicate"),
                bytes: line.wire,
            },
        );
        self.purposes.add(&line.purpose, line.wire);
        self.gap_reasons.add(&line.gap_reason, 0);
        self.took.saturating_record(line.took_ms.max(1));
        self.truncated += u64::from(line.truncated.is_some());
        if let Some(failure) = &line.failure {
            self.failures.add(failure, 0);
        } else {
            self.first_byte.saturating_record(line.first_byte_ms.max(1));
        }
        if line.purpose == "robots" {
            *self.robots_statuses.entry(line.status).or_default() += 1;
        }
        if page {
            self.note_page(line);
        }
    }

    fn note_page(&mut self, line: &Line) {
        let (count, bytes) = self.statuses.entry(line.status).or_default();
        (*count, *bytes) = (*count + 1, *bytes + line.wire);
        self.redirects.note(line);
        if line.status == 0 {
            return;
        }
        if line.location.is_none() {
            let mime = if line.mime.is_empty() { "(none)" } else { &line.mime };
            self.types.add(mime, line.wire);
        }
        if !line.content.is_empty() {
            self.contents.add(&line.content, line.wire);
        }
        if line.content == "duplicate" {
            self.duplicate_bytes += line.wire;
        }
        if let Some(kind) = line.content.strip_prefix("junk:") {
            self.junk_total += 1;
            if self.junk.len() < EXAMPLES_MAX {
                let evidence = safe::text(line.evidence.as_deref().unwrap_or_default(), 200);
                let (kind, url) = (kind.to_owned(), line.url.clone());
                self.junk.push(JunkPage { kind, url, evidence });
            }
        }
    }
}

/// Reads to the end of a line without keeping it.
fn skip_line(reader: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(buffer.len(), |at| at + 1);
        reader.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_counted_and_named_and_costs_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let line = |at_ms: u64| {
            let line = Line {
                at_ms,
                took_ms: 5,
                host: "a.test".to_owned(),
                url: format!("http://a.test/{at_ms}"),
                purpose: "page".to_owned(),
                status: 200,
                content: "new".to_owned(),
                then: "done".to_owned(),
                ..Line::default()
            };
            serde_json::to_string(&line).unwrap()
        };
        let long = "x".repeat(3 << 20);
        let torn = &line(3000)[..40];
        let text = format!("{}\nnot json\n{long}\n{}\n{torn}", line(1000), line(2000));
        std::fs::write(dir.path().join("crawl-00001.jsonl"), text).unwrap();
        let facts = LogFacts::read(dir.path()).unwrap();
        assert_eq!(facts.statuses[&200].0, 2);
        assert_eq!(facts.span, Some((1000, 2005)));
        assert_eq!(facts.warnings.len(), 1);
        assert!(facts.warnings[0].starts_with("2 lines"), "{:?}", facts.warnings);
        assert!(facts.warnings[0].contains("crawl-00001.jsonl:2"), "{:?}", facts.warnings);
    }

    #[test]
    fn a_crawl_without_a_log_has_a_report_that_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let facts = LogFacts::read(&dir.path().join("log")).unwrap();
        assert!(facts.warnings[0].contains("no crawl log"), "{:?}", facts.warnings);
    }

    #[test]
    fn words_beyond_the_bound_are_counted_together() {
        let mut words = Words::default();
        (0..WORDS_MAX + 5).for_each(|n| words.add(&n.to_string(), 1));
        words.add("0", 2);
        assert_eq!((words.sorted().len(), words.others), (WORDS_MAX, 5));
        assert_eq!(words.sorted()[0], ("0", 2, 3));
    }
}
