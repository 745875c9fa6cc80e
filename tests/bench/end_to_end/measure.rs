//! Runs a process on a core of its own and says what it took.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use rustix::time::{ClockId, clock_gettime};

/// The core of what is measured, and the core of the server.
const CORES: [&str; 2] = ["0", "1"];

/// What a process took.
#[derive(Clone, Debug, Default)]
pub(crate) struct Usage {
    /// Seconds by the wall clock.
    pub wall: f64,
    /// Seconds of processor time, all threads, user and system.
    pub cpu: f64,
    /// Most resident memory, in MB.
    pub peak_mb: f64,
    /// What it wrote to standard output.
    pub output: String,
}

/// Returns a command that runs on the core of the server.
pub(crate) fn beside(program: &str) -> Command {
    pinned(1, program)
}

fn pinned(core: usize, program: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", CORES[core], program]);
    command
}

/// Runs a program to its end on the core of what is measured, in `dir`; `codes` are the exit codes
/// with which it may end.
pub(crate) fn run(program: &str, arguments: &[String], dir: &Path, codes: &[i32]) -> Usage {
    let mut command = pinned(0, program);
    command.args(arguments).current_dir(dir);
    command.stdout(Stdio::piped()).stderr(Stdio::inherit());
    let began = now();
    let mut child = command.spawn().expect("taskset is there (util-linux)");
    let (pid, over) = (child.id(), Arc::new(AtomicBool::new(false)));
    let watch = std::thread::spawn({
        let over = over.clone();
        move || watch_peak(pid, &over)
    });
    let output = read_all(&mut child);
    // The process stays for a while after its end, so that its time can be read.
    let wanted = Pid::from_raw(pid as i32).expect("a child has a number");
    waitid(WaitId::Pid(wanted), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).expect("waits");
    let wall = now() - began;
    let cpu = processor_seconds(pid);
    over.store(true, Ordering::Relaxed);
    let status = child.wait().expect("waits");
    let peak_mb = watch.join().expect("the watch goes on to the end");
    let ended_well = status.code().is_some_and(|code| codes.contains(&code));
    assert!(ended_well, "{program} {arguments:?}: {status}");
    Usage { wall, cpu, peak_mb, output }
}

fn read_all(child: &mut Child) -> String {
    let mut output = String::new();
    let mut pipe = child.stdout.take().expect("it was asked for");
    std::io::Read::read_to_string(&mut pipe, &mut output).expect("reads");
    output
}

fn now() -> f64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Returns the most resident memory that a process has had, looking until it is over.
fn watch_peak(pid: u32, over: &AtomicBool) -> f64 {
    let mut peak = 0.0;
    while !over.load(Ordering::Relaxed) {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        peak = f64::max(peak, kib.unwrap_or(0.0) / 1024.0);
        std::thread::sleep(Duration::from_millis(20));
    }
    peak
}

/// Returns the processor time of a process that has ended and not been waited for.
fn processor_seconds(pid: u32) -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The fields behind the name, which may have spaces: 14 and 15 of proc(5) are user and system.
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = |at: usize| fields.get(at).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / TICKS_PER_SECOND
}
