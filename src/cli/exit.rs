//! Exit codes: stable, and what scripts decide by.

use std::process::ExitCode;

/// How a command ended. A code that is not listed must be treated as a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All that was asked for is done.
    Complete = 0,
    /// A failure of the program or its machine.
    Internal = 1,
    /// The command line is wrong.
    Usage = 2,
    /// Nothing matched: an unknown URL, host or rule, or a log without a readable line; or a site
    /// of which no page could be fetched.
    Nothing = 3,
    /// Done, but more URLs failed than `max_failures` allows.
    Failures = 4,
    /// The running crawl does not do what was ordered, now.
    Refused = 5,
    /// Stopped by a limit of time, or by a budget of pages or bytes; the same command goes on,
    /// where a budget is spent with a larger one.
    Limit = 10,
    /// Interrupted; the same command goes on.
    Interrupted = 11,
    /// The disk is full; the same command goes on when it is freed.
    Disk = 12,
    /// All that is left belongs to hosts that are parked.
    Parked = 13,
    /// A check found damage, a violation or a wrong count.
    Verify = 20,
    /// Another process has the state open, or writes to the archive.
    Locked = 75,
    /// The configuration or the seed list is wrong.
    Config = 78,
}

impl Exit {
    /// All codes with their meanings, for help texts.
    pub const ALL: [(Exit, &'static str); 13] = [
        (Exit::Complete, "complete"),
        (Exit::Internal, "a failure of the program or its machine"),
        (Exit::Usage, "wrong command line"),
        (Exit::Nothing, "nothing found"),
        (Exit::Failures, "done, but more failures than max_failures allows"),
        (Exit::Refused, "the running crawl does not do what was ordered, now"),
        (Exit::Limit, "stopped by a limit; the same command goes on, or with a larger budget"),
        (Exit::Interrupted, "interrupted; the same command goes on"),
        (Exit::Disk, "the disk is full; the same command goes on when it is freed"),
        (Exit::Parked, "only parked hosts are left"),
        (Exit::Verify, "a check found something wrong"),
        (Exit::Locked, "another process has the state open, or writes to the archive"),
        (Exit::Config, "wrong configuration or seed list"),
    ];
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_never_change() {
        let codes: Vec<u8> = Exit::ALL.iter().map(|(exit, _)| *exit as u8).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 20, 75, 78]);
    }
}
