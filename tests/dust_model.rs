//! Learns rules from a dump of a model site and prints them, so that they can be scored.
//!
//! Input: lines of `url, status, final url, words` by tabs. What it prints are rules as JSON and
//! the canonical form of every URL of a second file.

use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use crawler::clock::Timestamp;
use crawler::dust::sketch::Sketch;
use crawler::dust::{Declared, Fetched, Fetcher, Observation, RuleSet, Settings, Text, learn};
use crawler::url::CrawlUrl;
use xxhash_rust::xxh3::xxh3_64;

/// Words of a shingle.
const SHINGLE: usize = 4;

/// Pages of a site from which its boilerplate is learned.
const SAMPLE: usize = 1_000;

fn shingles(text: &str) -> HashSet<u64> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(SHINGLE).map(|window| xxh3_64(window.join(" ").as_bytes())).collect()
}

struct Line {
    url: CrawlUrl,
    status: u16,
    end: CrawlUrl,
    shingles: HashSet<u64>,
}

fn read(path: &str) -> Vec<Line> {
    let text = std::fs::read_to_string(path).expect("the dump is readable");
    let line = |line: &str| {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap_or_default();
        let (url, status, end, words) = (next(), next(), next(), next());
        Some(Line {
            url: CrawlUrl::parse(url).ok()?,
            status: status.parse().ok()?,
            end: CrawlUrl::parse(end).ok()?,
            shingles: shingles(words),
        })
    };
    text.lines().filter_map(line).collect()
}

fn boilerplate(lines: &[Line]) -> HashMap<String, HashSet<u64>> {
    let mut sites: HashMap<String, (usize, HashMap<u64, usize>)> = HashMap::new();
    for line in lines {
        let site = sites.entry(line.url.site().to_string()).or_default();
        if site.0 < SAMPLE && !line.shingles.is_empty() {
            site.0 += 1;
            line.shingles.iter().for_each(|s| *site.1.entry(*s).or_default() += 1);
        }
    }
    let common = |(n, counts): (usize, HashMap<u64, usize>)| {
        counts.into_iter().filter(|(_, c)| *c > 2 && *c * 20 > n).map(|(s, _)| s).collect()
    };
    sites.into_iter().map(|(site, counts)| (site, common(counts))).collect()
}

/// Fetches from a model site that serves all its hosts on one loopback port.
struct Loopback {
    address: String,
    boilerplate: HashMap<String, HashSet<u64>>,
    requests: u64,
}

impl Loopback {
    fn get(&mut self, url: &CrawlUrl) -> Option<(u16, String, Option<String>)> {
        self.requests += 1;
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let host = url.host_str();
        write!(stream, "GET {url} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let location = head.lines().find_map(|line| line.strip_prefix("Location: "));
        Some((status, body.to_owned(), location.map(str::to_owned)))
    }
}

impl Fetcher for Loopback {
    fn fetch(&mut self, url: &CrawlUrl) -> Fetched {
        let mut url = url.clone();
        for _ in 0..5 {
            let Some((status, body, location)) = self.get(&url) else {
                return Fetched::Unavailable;
            };
            if let Some(next) = location.and_then(|to| url.join(&to).ok()) {
                url = next;
                continue;
            }
            if status >= 400 {
                return Fetched::Gone;
            }
            let body = body.split_once("<p>").map_or("", |(_, rest)| rest);
            let text = body.split_once("</p>").map_or(body, |(text, _)| text);
            return page(&self.boilerplate[url.site().as_str()], &shingles(text));
        }
        Fetched::Gone
    }
}

fn page(common: &HashSet<u64>, shingles: &HashSet<u64>) -> Fetched {
    let main = shingles.iter().copied().filter(|s| !common.contains(s));
    let text = Sketch::of_shingles(main).map_or(Text::Unknown, Text::Main);
    Fetched::Page { text, digest: None, bag: None, junk: false }
}

fn observe(line: &Line, boilerplate: &HashMap<String, HashSet<u64>>) -> Observation {
    let declared = (line.url != line.end).then(|| Declared::Redirect(line.end.clone()));
    let Fetched::Page { text, .. } = page(&boilerplate[line.url.site().as_str()], &line.shingles)
    else {
        unreachable!("a page is a page")
    };
    Observation {
        url: line.url.clone(),
        key: line.url.clone(),
        status: line.status,
        text,
        digest: None,
        bag: None,
        declared,
        junk: false,
        troubled: false,
    }
}

/// Arguments: the dump, the address of the model site, the logs to canonize, the output folder.
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let lines = read(&args[0]);
    let boilerplate = boilerplate(&lines);
    let log: Vec<Observation> = lines.iter().map(|line| observe(line, &boilerplate)).collect();
    drop(lines);
    let mut fetcher = Loopback { address: args[1].clone(), boilerplate, requests: 0 };
    let settings = args.get(4).map_or_else(Settings::default, |json| {
        serde_json::from_str(json).expect("settings are JSON")
    });
    let report = learn(log, Some(&mut fetcher), settings, Timestamp::ZERO).expect("no bad rule");
    let mut applied = String::new();
    let urls = |path: &str| {
        let text = std::fs::read_to_string(path).expect("the log is readable");
        let url = |line: &str| CrawlUrl::parse(line.split('\t').next()?).ok();
        text.lines().filter_map(url).collect::<Vec<_>>()
    };
    let truth = urls(&args[2].replace("test.tsv", "truth.tsv"));
    for rule in report.enforced() {
        let set = RuleSet::compile(1, vec![Arc::new(rule.clone())], 0.0).expect("a good rule");
        for url in &truth {
            let key = set.canonize(url);
            if *key.key != *url {
                applied += &format!("{} {}\t{url}\t{}\n", rule.site, rule, key.key);
            }
        }
    }
    let set = report.book.rule_set().expect("good rules");
    let canon: String =
        urls(&args[2]).iter().map(|url| format!("{url}\t{}\n", set.canonize(url).key)).collect();
    std::fs::write(format!("{}/applied.tsv", args[3]), applied).expect("the folder is writable");
    std::fs::write(format!("{}/canon.tsv", args[3]), canon).expect("the folder is writable");
    let events: String = report
        .events
        .iter()
        .map(|event| serde_json::to_string(event).expect("events are JSON") + "\n")
        .collect();
    std::fs::write(format!("{}/rules.jsonl", args[3]), events).expect("the folder is writable");
    for rule in &report.rules {
        let e = rule.evidence;
        println!(
            "{:?} {} {rule} [{:?}] docs {}/{} applicable {} draws {}/{} probes {}",
            rule.state,
            rule.site,
            rule.source,
            e.documents_same,
            e.documents_different,
            e.applicable,
            e.draws_same,
            e.draws_failed,
            e.probes
        );
    }
    println!(
        "enforced {} probes {} requests {}",
        report.enforced().count(),
        report.probes,
        fetcher.requests
    );
}
