//! Learns rules from a dump of a model site and prints them, so that they can be scored.
//!
//! Input: lines of `url, status, final url, words` by tabs. What it prints are rules as JSON and
//! the canonical form of every URL of a second file.

use std::collections::{HashMap, HashSet};

use crawler::clock::Timestamp;
use crawler::dust::sketch::Sketch;
use crawler::dust::{Declared, Miner, Observation, Text};
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

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let lines = read(&args[0]);
    let boilerplate = boilerplate(&lines);
    let mut miner = Miner::new(crawler::dust::miner::Settings::default());
    for line in &lines {
        let common = &boilerplate[line.url.site().as_str()];
        let main = line.shingles.iter().copied().filter(|s| !common.contains(s));
        let declared = (line.url != line.end).then(|| Declared::Redirect(line.end.clone()));
        miner.observe(&Observation {
            url: line.url.clone(),
            key: line.url.clone(),
            status: line.status,
            text: Sketch::of_shingles(main).map_or(Text::Unknown, Text::Main),
            digest: None,
            bag: None,
            declared,
            junk: false,
            troubled: false,
        });
    }
    let sites: Vec<_> = miner.sites().cloned().collect();
    for site in sites {
        println!("{site}");
        let began = std::time::SystemTime::UNIX_EPOCH;
        let _ = began;
        let rules = miner
            .mine(&site, Vec::new(), &Default::default(), &[], Timestamp::ZERO)
            .expect("no rules in force");
        for rule in rules {
            println!("  {rule}  {:?}", rule.evidence);
        }
    }
}
