//! What is printed of a failure: what could not be done, why, and what to do next.

use std::io::ErrorKind;

use crate::config::ConfigError;

/// Returns the line about an error. Errors are fragments that read after "failed to"; those of the
/// configuration begin with their place, and begin with it here too.
pub(super) fn line(error: &anyhow::Error) -> String {
    let mut text = told(error);
    let has_place = error.chain().any(|cause| cause.is::<ConfigError>());
    if !has_place && !text.starts_with("failed to") {
        text.insert_str(0, "failed to ");
    }
    // Most errors of ours end in what to do; what the system says does not.
    if let Some(next) = next(error).filter(|_| !text.contains("; ")) {
        text.push_str("; ");
        text.push_str(next);
    }
    text
}

/// Returns an error and its causes, each said once: many name their cause in their own sentence.
fn told(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Returns what to do about an error of the operating system.
fn next(error: &anyhow::Error) -> Option<&'static str> {
    let io = error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>())?;
    Some(match io.kind() {
        ErrorKind::PermissionDenied => "mend who may read and write there, or name another place",
        ErrorKind::NotFound => "see that the path is right",
        ErrorKind::AlreadyExists => "name another place, or remove what is there",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some space; the same command goes on"
        }
        ErrorKind::ReadOnlyFilesystem => "name a place that can be written",
        ErrorKind::IsADirectory | ErrorKind::NotADirectory => "name a file where one is wanted",
        ErrorKind::AddrInUse => "stop what uses the address, or name another one",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    fn check(error: anyhow::Error, want: &str) {
        assert_eq!(line(&error), want);
    }

    #[test]
    fn a_failure_says_what_why_and_what_next() {
        let io = |kind| std::io::Error::from(kind);
        check(
            Err::<(), _>(io(ErrorKind::PermissionDenied)).context("write /x").unwrap_err(),
            "failed to write /x: permission denied; mend who may read and write there, or name \
             another place",
        );
        check(
            Err::<(), _>(io(ErrorKind::NotFound))
                .context("failed to read /x; see --in")
                .unwrap_err(),
            "failed to read /x; see --in: entity not found",
        );
        check(
            anyhow::anyhow!("use the state: it is damaged"),
            "failed to use the state: it is damaged",
        );
    }
}
