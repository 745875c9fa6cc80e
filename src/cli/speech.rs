//! What the program says of itself on standard error, and how much of it.

use std::io::IsTerminal;
use std::sync::{Arc, OnceLock};

use tracing_subscriber::EnvFilter;

use super::{Exit, Failed};

/// Changes the level, or says why a text is none.
pub(super) type Louder = Arc<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

static LOUDER: OnceLock<Louder> = OnceLock::new();

/// Levels, as they are written.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Begins to speak at a level.
///
/// # Errors
/// Returns what is wrong with the level.
pub(super) fn begin(level: &str) -> Result<(), Failed> {
    let filter =
        parse(level).map_err(|why| Failed::with(Exit::Usage, format!("--log-level: {why}")))?;
    // Colours are for eyes: not for files and pipes, nor for who set NO_COLOR (no-color.org).
    let plain = std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
    let colours = std::io::stderr().is_terminal() && !plain;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours);
    let lines = lines.with_writer(std::io::stderr).with_filter_reloading();
    let handle = lines.reload_handle();
    lines.init();
    let louder = move |level: &str| {
        let filter = parse(level)?;
        handle.reload(filter).map_err(|error| format!("cannot change the log level: {error}"))
    };
    // The first one stays: a process begins to speak once.
    let _ = LOUDER.set(Arc::new(louder));
    Ok(())
}

/// Returns what changes the level while the program runs.
pub(super) fn louder() -> Louder {
    let silent: Louder = Arc::new(|_: &str| Err("this program keeps no log".to_owned()));
    LOUDER.get().cloned().unwrap_or(silent)
}

/// Reads a level, also per module. A word alone must be a level: the library would take any other
/// for the name of a module, and be silent.
fn parse(text: &str) -> Result<EnvFilter, String> {
    let wrong = || {
        let known = "error, warn, info, debug, trace or off";
        format!("`{}` is no log level: write {known}, or MODULE=LEVEL", text.escape_debug())
    };
    let is_level = |word: &str| LEVELS.iter().any(|level| word.eq_ignore_ascii_case(level));
    let part_fits = |part: &str| match part.split_once('=') {
        None => is_level(part),
        Some((module, level)) => !module.is_empty() && is_level(level),
    };
    if !text.split(',').map(str::trim).all(part_fits) {
        return Err(wrong());
    }
    EnvFilter::try_new(text).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_level_is_refused() {
        for (text, fits) in [
            ("info", true),
            ("DEBUG", true),
            ("warn,crawler::crawl=debug", true),
            ("inof", false),
            ("crawler=inof", false),
            ("", false),
        ] {
            assert_eq!(parse(text).is_ok(), fits, "{text}");
        }
    }
}
