//! A long crawl of thousands of hosts, one in ten of them hostile, at the politest and at the
//! fastest settings: are memory and files flat, and do the counters add up?
//!
//! `cargo bench --profile dev --bench soak -- [SECONDS] [DIR] [SETTING]` crawls for so long (60 by
//! default) at each setting, or at the one that is named (`politest`, `fastest`), samples the
//! process once a second, prints a table, and leaves `soak.svg` and `soak.csv` in DIR
//! (`target/soak` by default). It fails if a check does.

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use crawler::clock::{Clock, Timestamp};
use crawler::demo::{Draft, Server, ServerOptions, WebSpec};
use plotters::prelude::*;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Hosts of the web; one in ten is sick, one in twenty an endless trap.
const HOSTS: u32 = 3000;

/// A way to crawl.
struct Pace {
    name: &'static str,
    settings: &'static [&'static str],
}

const PACES: [Pace; 2] = [
    Pace { name: "politest", settings: &["politeness.min_delay=2s", "politeness.factor=10.0"] },
    Pace {
        name: "fastest",
        settings: &[
            "politeness.min_delay=0s",
            "politeness.factor=0.0",
            "frontier.in_flight_max=512",
        ],
    },
];

/// One look at the process.
#[derive(Clone, Copy)]
struct Sample {
    at: f64,
    resident_mib: f64,
    files: usize,
    requests: u64,
}

fn main() -> Outcome<()> {
    let mut args = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    let seconds: u64 = args.next().map_or(Ok(60), |text| text.parse())?;
    let dir = args.next().map_or_else(|| PathBuf::from("target/soak"), PathBuf::from);
    let asked = args.next();
    let paces =
        || PACES.iter().filter(|pace| asked.as_deref().is_none_or(|name| name == pace.name));
    if paces().count() == 0 {
        return Err("the settings are politest and fastest".into());
    }
    std::fs::create_dir_all(&dir)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut all = Vec::new();
    for pace in paces() {
        let draft =
            Draft { hosts: HOSTS, pages: (20, 4000), sick: 100, traps: 50, ..Draft::default() };
        let web = WebSpec::draw(2, &draft);
        let clock = Arc::new(Clock::system(Timestamp::ZERO));
        let options = ServerOptions { addresses: 100, log_kept_max: 1000, ..Default::default() };
        let server = runtime.block_on(Server::start(web, clock, options))?;
        let crawl = dir.join(pace.name);
        let samples = soak(pace, &server, &crawl, seconds)?;
        report(pace, &samples);
        all.push((pace.name, samples));
        runtime.block_on(server.shutdown());
    }
    write(&dir, &all)
}

fn soak(pace: &Pace, server: &Server, dir: &Path, seconds: u64) -> Outcome<Vec<Sample>> {
    if dir.exists() {
        std::fs::remove_dir_all(dir)?;
    }
    std::fs::create_dir_all(dir)?;
    let list: Vec<String> = server.web().homes().iter().map(ToString::to_string).collect();
    std::fs::write(dir.join("seeds.txt"), list.join("\n"))?;
    let mut child = command(pace, server, dir, "run").spawn()?;
    let clock = Clock::system(Timestamp::ZERO);
    let began = clock.now();
    let mut samples = Vec::new();
    // One look a second, and a last one when the time is up.
    for second in 0..seconds {
        std::thread::park_timeout(Duration::from_secs(1));
        if child.try_wait()?.is_some() {
            return Err(format!("{}: the crawl ended after {second} s", pace.name).into());
        }
        let at = clock.now().since(began).as_secs_f64();
        samples.push(look(&child, at, server.requests().total())?);
    }
    let pid = i32::try_from(child.id())?;
    let pid = rustix::process::Pid::from_raw(pid).ok_or("a process has a number")?;
    rustix::process::kill_process(pid, rustix::process::Signal::INT)?;
    let status = child.wait()?;
    if status.code() != Some(11) {
        return Err(format!("{}: interrupted, it ended with {status}", pace.name).into());
    }
    for check in ["verify", "audit"] {
        let status = command(pace, server, dir, check).stdout(Stdio::inherit()).status()?;
        if !status.success() {
            return Err(format!("{}: {check} ended with {status}", pace.name).into());
        }
    }
    Ok(samples)
}

fn command(pace: &Pace, server: &Server, dir: &Path, what: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawler"));
    command.args([what, "--quiet", "--contact", "mailto:soak@crawler.test", "--dir"]).arg(dir);
    if what == "run" {
        command.arg("--seeds").arg(dir.join("seeds.txt"));
    }
    let servers = format!("dns.servers=[\"{}\"]", server.dns_addr());
    command.args(["--set", &servers, "--set", "dns.allow=[\"127.0.0.0/8\"]"]);
    // What is full soon, so that memory has its final size for most of the time.
    command.args(["--set", "state.cache=16MiB", "--set", "dust.miner.pages_total=20000"]);
    command.args(["--set", "limits.disk_reserve=100MB", "--set", "fetch.total=20s"]);
    for setting in pace.settings {
        command.args(["--set", setting]);
    }
    command.stdout(Stdio::null());
    command
}

fn look(child: &Child, at: f64, requests: u64) -> Outcome<Sample> {
    let proc = PathBuf::from(format!("/proc/{}", child.id()));
    let status = std::fs::read_to_string(proc.join("status"))?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: f64 = resident
        .and_then(|text| text.split_whitespace().next())
        .ok_or("no VmRSS in /proc")?
        .parse()?;
    let files = std::fs::read_dir(proc.join("fd"))?.count();
    Ok(Sample { at, resident_mib: kib / 1024.0, files, requests })
}

/// Prints the figures of one setting by quarters of the time.
fn report(pace: &Pace, samples: &[Sample]) {
    println!("{}: quarter, resident MiB (mean, most), files (mean, most), requests", pace.name);
    let size = samples.len().div_ceil(4).max(1);
    for (number, quarter) in (1..).zip(samples.chunks(size)) {
        let count = quarter.len() as f64;
        let mean = |value: fn(&Sample) -> f64| quarter.iter().map(value).sum::<f64>() / count;
        let most = |value: fn(&Sample) -> f64| quarter.iter().map(value).fold(0.0, f64::max);
        println!(
            "  {number}  {:6.1} {:6.1}   {:4.0} {:4.0}   {:7}",
            mean(|sample| sample.resident_mib),
            most(|sample| sample.resident_mib),
            mean(|sample| sample.files as f64),
            most(|sample| sample.files as f64),
            quarter.last().map_or(0, |sample| sample.requests),
        );
    }
}

fn write(dir: &Path, all: &[(&str, Vec<Sample>)]) -> Outcome<()> {
    let mut csv = String::from("setting,second,resident_mib,files,requests\n");
    for (name, samples) in all {
        for sample in samples {
            let Sample { at, resident_mib, files, requests } = sample;
            writeln!(csv, "{name},{at:.0},{resident_mib:.1},{files},{requests}")?;
        }
    }
    std::fs::write(dir.join("soak.csv"), csv)?;
    let file = dir.join("soak.svg");
    let root = SVGBackend::new(&file, (900, 600)).into_drawing_area();
    root.fill(&WHITE)?;
    let halves = root.split_evenly((2, 1));
    draw(&halves[0], "resident memory, MiB", all, |sample| sample.resident_mib)?;
    draw(&halves[1], "open files", all, |sample| sample.files as f64)?;
    root.present()?;
    println!("{}", file.display());
    Ok(())
}

fn draw<B: DrawingBackend>(
    area: &DrawingArea<B, plotters::coord::Shift>,
    title: &str,
    all: &[(&str, Vec<Sample>)],
    value: fn(&Sample) -> f64,
) -> Outcome<()>
where
    B::ErrorType: 'static,
{
    let every = || all.iter().flat_map(|(_, samples)| samples);
    let most = |of: fn(&Sample) -> f64| every().map(of).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 18))
        .margin(10)
        .x_label_area_size(28)
        .y_label_area_size(48)
        .build_cartesian_2d(0.0..most(|sample| sample.at), 0.0..most(value) * 1.1)?;
    chart.configure_mesh().x_desc("seconds").draw()?;
    for ((name, samples), color) in all.iter().zip([BLUE, RED]) {
        let line = samples.iter().map(|sample| (sample.at, value(sample)));
        chart
            .draw_series(LineSeries::new(line, color))?
            .label(*name)
            .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 20, y)], color));
    }
    chart.configure_series_labels().background_style(WHITE).draw()?;
    Ok(())
}
