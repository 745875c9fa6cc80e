//! How fast the miner of the paper is, and how much memory it takes, from 20,000 to 1,000,000 URLs.
//!
//! `cargo bench --bench miner` prints one line for each site model and size: URLs per second of CPU
//! time, and the peak of resident memory of a process that does nothing else. `cargo bench --bench
//! miner -- MODEL URLS` runs one of them. Settings are the paper's; there is no fetching.

use std::collections::HashSet;

use crawler::dust::paper::{Record, Settings, mine};
use rustix::time::{ClockId, clock_gettime};
use tikv_jemallocator::Jemalloc;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

const SIZES: [usize; 3] = [20_000, 350_000, 1_000_000];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Cargo adds `--bench` to the arguments.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    if let [model, urls] = args.as_slice() {
        measure(model, urls.parse()?);
        return Ok(());
    }
    println!("model        URLs   likely  left    CPU s     URLs/s   us/URL  peak MiB");
    for model in MODELS {
        for urls in SIZES {
            let urls = urls.to_string();
            let status = std::process::Command::new(std::env::current_exe()?)
                .args([model, &urls])
                .status()?;
            if !status.success() {
                return Err(format!("{model} {urls} ended with {status}").into());
            }
        }
    }
    Ok(())
}

fn measure(model: &str, urls: usize) {
    let records = generate(model, urls);
    let start = cpu_seconds();
    let report = mine(&records, &Settings::default(), None);
    let seconds = cpu_seconds() - start;
    let (likely, left) = report.counts();
    println!(
        "{model:<10} {urls:>7} {likely:>8} {left:>5} {seconds:>8.2} {:>10.0} {:>8.2} {:>9}",
        urls as f64 / seconds,
        1e6 * seconds / urls as f64,
        peak_mebibytes(),
    );
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns the peak of resident memory, as Linux reports it; 0 elsewhere.
fn peak_mebibytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()).unwrap_or(0)
        / 1024
}

/// A forum with sizes, a campus site with sizes, and the forum with nothing known but its URLs.
const MODELS: [&str; 3] = ["forum", "campus", "forum-bare"];

fn generate(model: &str, count: usize) -> Vec<Record> {
    let mut random = Random(7);
    let mut seen = HashSet::with_capacity(count);
    let mut records = Vec::with_capacity(count);
    while records.len() < count {
        let (url, document) = match model {
            "campus" => campus(&mut random, count as u64),
            _ => forum(&mut random, count as u64),
        };
        if !seen.insert(url.clone()) {
            continue;
        }
        // Five per cent of a page change from one access to the next.
        let size = 500 + Random(document).below(3500) as i64;
        let size =
            (model != "forum-bare").then(|| (size, size + random.below(size as u64 / 20) as i64));
        records.push(Record { url, status: 200, size, sketch: Vec::new() });
    }
    records
}

/// Returns a URL of a forum on several hosts, and which document it leads to.
fn forum(random: &mut Random, n: u64) -> (String, u64) {
    const HOSTS: [(&str, u64); 5] =
        [("movies", 40), ("politics", 65), ("sports", 80), ("old", 90), ("world", 100)];
    let draw = random.below(100);
    let (host, _) = HOSTS.iter().find(|&&(_, upto)| draw < upto).unwrap_or(&HOSTS[0]);
    let www = if random.below(60) == 0 { "" } else { "www." };
    let id = 1 + random.skewed(n);
    let (path, kind) = match random.below(100) {
        0..45 => (format!("story?id={id}"), 1),
        45..50 => (format!("story_{id}"), 1),
        50..52 => (format!("story.php3?id={id}"), 1),
        52..54 => (format!("story?id={id}&LastView=&Close="), 1),
        54..62 => (format!("story?id={id}&NewOnly=1"), 2),
        62..63 => (format!("story?id={id}&NewOnly=1&tvqz=2"), 2),
        63..64 => (format!("story?id={id}&sid={:08x}", random.next() as u32), 1),
        64..70 => {
            let page = 2 + random.below(3);
            (format!("story?id={id}&page={page}"), 2 + page)
        }
        70..86 => (format!("thread?rep={id}"), 10),
        86..88 => (format!("thread_{id}"), 10),
        88..93 => {
            let page = random.below(12);
            (format!("forum?f={}&page={page}", id / 400), 20 + page)
        }
        93..96 => (format!("user?id={id}"), 40),
        96..98 => (format!("gallery/{}/{}", id / 12, id % 12), 41),
        _ => (format!("pic-{id}.jpg"), 42),
    };
    let document = format!("{host} {kind} {}", id);
    (format!("http://{www}{host}-forum.example/{path}"), hash(&document))
}

/// Returns a URL of a university department, and which document it leads to.
fn campus(random: &mut Random, n: u64) -> (String, u64) {
    let host = if random.below(40) == 0 { "ee.uni.example" } else { "www.ee.uni.example" };
    let user = random.skewed(n / 60 + 30);
    let course = random.skewed(n / 200 + 8);
    let (home, mut document) = match random.below(10) {
        0..4 => (format!("~u{user}/"), format!("user {user}")),
        4 => (format!("people/u{user}/"), format!("user {user}")),
        5..7 => (format!("courses/{:06}/", 44_000 + course), format!("course {course}")),
        7 => (format!("Courses/{:06}/", 44_000 + course), format!("course {course}")),
        8 => (format!("labs/l{}/", user % 200), format!("lab {}", user % 200)),
        _ => {
            let id = random.skewed(n / 10);
            let lang = if random.below(3) == 0 { "heb" } else { "eng" };
            let query = match random.below(4) {
                0 => format!("lang={lang}&id={id}"),
                _ => format!("id={id}&lang={lang}"),
            };
            let url = format!("http://{host}/cgi-bin/pub.cgi?{query}");
            return (url, hash(&format!("pub {id} {lang}")));
        }
    };
    let number = random.below(30);
    let rest = match random.below(20) {
        0 => String::new(),
        1 => "index.html".to_owned(),
        2..8 => format!("lect-{number}.ppt"),
        8..13 => format!("notes/node{number}.html"),
        13 => "notes/".to_owned(),
        14 => "notes/index.html".to_owned(),
        _ => format!("pubs/paper-{number}.pdf"),
    };
    document.push_str(rest.trim_end_matches("index.html"));
    (format!("http://{host}/{home}{rest}"), hash(&document))
}

/// A sequence of numbers that is the same everywhere (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        if end == 0 { 0 } else { self.next() % end }
    }

    /// Small numbers are drawn more often than great ones.
    fn skewed(&mut self, end: u64) -> u64 {
        let x = self.next() as f64 / u64::MAX as f64;
        (end as f64 * x * x) as u64
    }
}

fn hash(text: &str) -> u64 {
    crawler::dust::paper::fnv1a64(text)
}
