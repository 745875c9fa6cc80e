//! What the machine lets the process have, and a configuration that gets by with it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{Exit, Failed};
use crate::config::Config;

/// Files that are open whatever is set: standard streams, the runtimes' own, the state's logs and
/// lock, archive, index, crawl log.
const ALWAYS: u64 = 40;

/// Address space that must be there. RocksDB and threads reserve most of it and use little; where
/// reserving fails, RocksDB neither opens nor returns.
const ADDRESS_SPACE_MIN: u64 = 1 << 30;

/// Raises the limit of open files as far as the system lets us, and returns the configuration with
/// bounds that keep within it.
///
/// # Errors
/// Returns that there is too little address space to open a state.
pub(super) fn fitted(config: &Config) -> Result<Config, Failed> {
    if let Some(limit) = getrlimit(Resource::As).current.filter(|space| *space < ADDRESS_SPACE_MIN)
    {
        let (have, least) = (limit >> 20, ADDRESS_SPACE_MIN >> 20);
        return Err(Failed::with(
            Exit::Internal,
            format!(
                "failed to start within {have} MiB of address space, of which {least} MiB are \
                 reserved though not used; raise `ulimit -v`, and bound memory by a cgroup instead"
            ),
        ));
    }
    let limit = raised();
    let mut fitted = config.clone();
    let wanted = files_wanted(config);
    let Some(limit) = limit.filter(|limit| *limit < wanted) else { return Ok(fitted) };
    let spare = limit.saturating_sub(ALWAYS).max(8);
    let share = |most: usize, parts: u64| most.min((spare / parts).max(1) as usize);
    fitted.frontier.in_flight_max = share(config.frontier.in_flight_max, 4);
    fitted.fetch.idle_max = share(config.fetch.idle_max, 4);
    fitted.dns.in_flight_max = share(config.dns.in_flight_max, 8);
    fitted.state.open_files_max = share(config.state.open_files_max as usize, 4) as u32;
    eprintln!(
        "warning: only {limit} files may be open at once, where {wanted} are asked for: {} fetches \
         in flight instead of {}; `ulimit -n {wanted}` gives them",
        fitted.frontier.in_flight_max, config.frontier.in_flight_max
    );
    Ok(fitted)
}

/// Returns how many files a crawl may have open at once.
pub(super) fn files_wanted(config: &Config) -> u64 {
    ALWAYS
        + config.frontier.in_flight_max as u64
        + config.fetch.idle_max as u64
        + config.dns.in_flight_max as u64
        + u64::from(config.state.open_files_max)
}

/// Returns how many files may be open after raising the limit; `None` if there is no limit.
fn raised() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_that_wants_more_files_than_there_can_be_is_cut_down() {
        let mut config = Config::default();
        config.state.open_files_max = u32::MAX;
        let Ok(fitted) = fitted(&config) else { panic!("tests run without such a limit") };
        assert!(fitted.frontier.in_flight_max >= 1);
        assert!(fitted.state.open_files_max < u32::MAX || raised().is_none());
    }
}
