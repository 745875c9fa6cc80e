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
use crawler::dust::{
    Declared, Fetched, Fetcher, Observation, Report, RuleBook, RuleSet, Settings, Text, learn,
};
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
            return page(&self.boilerplate[url.site().as_str()], &shingles(words_of(&body)));
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
    Observation { declared, ..Observation::of(line.url.clone(), line.status, text) }
}

/// Reads a log of sizes, and learns the site's boilerplate from a sample of its pages.
fn read_sizes(path: &str, fetcher: &mut Loopback) -> Vec<Observation> {
    let text = std::fs::read_to_string(path).expect("the log is readable");
    let mut log = Vec::new();
    let mut sampled: HashMap<String, Vec<HashSet<u64>>> = HashMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let (Ok(url), Ok(status)) = (CrawlUrl::parse(fields[0]), fields[1].parse()) else {
            continue;
        };
        let size = |field: &str| field.parse::<u32>().ok();
        let text = match (size(fields[2]), size(fields[3])) {
            (Some(min), Some(max)) if status == 200 => Text::Size(min, max),
            _ => Text::Unknown,
        };
        let pages = sampled.entry(url.site().to_string()).or_default();
        if status == 200
            && pages.len() < 40
            && let Some((200, body, _)) = fetcher.get(&url)
        {
            pages.push(shingles(words_of(&body)));
        }
        log.push(Observation::of(url, status, text));
    }
    for (site, pages) in sampled {
        let mut count: HashMap<u64, usize> = HashMap::new();
        pages.iter().flatten().for_each(|shingle| *count.entry(*shingle).or_default() += 1);
        let common = count.into_iter().filter(|(_, n)| *n > 3 && *n * 10 > pages.len());
        fetcher.boilerplate.insert(site, common.map(|(shingle, _)| shingle).collect());
    }
    log
}

fn words_of(body: &str) -> &str {
    let body = body.split_once("<p>").map_or("", |(_, rest)| rest);
    body.split_once("</p>").map_or(body, |(text, _)| text)
}

/// Crawls the log in its order: mines when a site is due, and probes as it goes.
fn online(log: &[Observation], fetcher: &mut Loopback, settings: Settings) -> Report {
    let mut book = RuleBook::new(settings);
    let (mut mined, mut mining) = (0, std::time::Duration::ZERO);
    let clock = crawler::clock::Clock::system(Timestamp::ZERO);
    for (i, observation) in log.iter().enumerate() {
        book.observe(observation);
        if i % 100 != 99 {
            continue;
        }
        for site in book.take_due() {
            let before = clock.now();
            book.mine(&site, Timestamp::ZERO).expect("no bad rule");
            let took = clock.now().since(before);
            println!("mined {site} after {} pages in {took:?}", i + 1);
            mining += took;
            mined += 1;
        }
        for site in book.sites().cloned().collect::<Vec<_>>() {
            let probes = book.next_probes(Timestamp::ZERO, &site, 4, &|_| true);
            for probe in probes.expect("no bad rule") {
                let outcome = fetcher.fetch(&probe.url);
                let reference = probe.reference.as_ref().map(|url| fetcher.fetch(url));
                book.probe_result(probe.id, outcome, reference, Timestamp::ZERO);
            }
        }
    }
    println!("mined {mined} times in {mining:?}");
    let events = book.take_events();
    Report {
        rules: book.rules().cloned().collect(),
        events,
        probes: book.probes_spent(),
        book,
        unanswered: Default::default(),
    }
}

/// Arguments: the dump, the address of the model site, the logs to canonize, the output folder.
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let settings = args.get(4).map_or_else(Settings::default, |json| {
        serde_json::from_str(json).expect("settings are JSON")
    });
    let address = args[1].clone();
    let mut fetcher = Loopback { address, boilerplate: HashMap::new(), requests: 0 };
    let log = if args[0].ends_with("train.tsv") {
        read_sizes(&args[0], &mut fetcher)
    } else {
        let lines = read(&args[0]);
        fetcher.boilerplate = boilerplate(&lines);
        lines.iter().map(|line| observe(line, &fetcher.boilerplate)).collect()
    };
    let report = if args.get(5).is_some_and(|mode| mode == "online") {
        online(&log, &mut fetcher, settings)
    } else {
        learn(log, Some(&mut fetcher), settings, Timestamp::ZERO).expect("no bad rule")
    };
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
