//! Printing that no text of the web can abuse, and that no closed pipe or full disk can break.
//!
//! The macros shadow those of the standard library in every command, so that nobody has to
//! remember: what would move a cursor, set a title or turn the direction of text is written as an
//! escape. The escapes are those of JSON, so that a line of JSON stays one, with the same meaning.
//!
//! Those of the standard library panic where they cannot write, which would end a crawl because
//! nobody reads its progress. Here what is said on standard error is said as far as it goes, and
//! what is lost of standard output is remembered for the end of the program ([`ended`]).

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::OnceLock;

use super::{Answer, Exit, Failed};

macro_rules! print {
    ($($arg:tt)*) => { $crate::cli::terminal::out(&::std::format!($($arg)*)) };
}

macro_rules! println {
    () => { $crate::cli::terminal::out("\n") };
    ($($arg:tt)*) => { $crate::cli::terminal::out(&(::std::format!($($arg)*) + "\n")) };
}

macro_rules! eprintln {
    () => { $crate::cli::terminal::err("\n") };
    ($($arg:tt)*) => { $crate::cli::terminal::err(&(::std::format!($($arg)*) + "\n")) };
}

macro_rules! eprint {
    ($($arg:tt)*) => { $crate::cli::terminal::err(&::std::format!($($arg)*)) };
}

/// The first failure of standard output.
static LOST: OnceLock<io::Error> = OnceLock::new();

/// Standard output. After its first failure nothing more is written, and [`ended`] tells of it.
/// What goes to a terminal is written as [`shown`], also where texts of pages are what was asked
/// for; a file or another program gets them as they are.
pub(super) struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut stdout = io::stdout().lock();
        if !stdout.is_terminal() {
            return kept(stdout.write(bytes));
        }
        let (text, length) = first_text(bytes);
        kept(stdout.write_all(shown(&text).as_bytes()).map(|()| length))
    }

    fn flush(&mut self) -> io::Result<()> {
        kept(io::stdout().lock().flush())
    }
}

/// Returns what bytes begin with as text, and its length: up to the first one that is no UTF-8, or
/// that one alone.
fn first_text(bytes: &[u8]) -> (Cow<'_, str>, usize) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.into(), bytes.len()),
        Err(error) => {
            let length = match error.valid_up_to() {
                0 => error.error_len().unwrap_or(bytes.len()),
                valid => valid,
            };
            (String::from_utf8_lossy(&bytes[..length]), length)
        }
    }
}

fn kept<T>(written: io::Result<T>) -> io::Result<T> {
    if let Some(lost) = LOST.get() {
        return Err(io::Error::new(lost.kind(), lost.to_string()));
    }
    written.inspect_err(|error| {
        if error.kind() != ErrorKind::Interrupted {
            let _ = LOST.set(io::Error::new(error.kind(), error.to_string()));
        }
    })
}

/// Prints to standard output.
pub(super) fn out(text: &str) {
    // What is lost is told at the end of the program.
    let _ = Stdout.write_all(shown(text).as_bytes());
}

/// Prints to standard error, if that is possible.
pub(super) fn err(text: &str) {
    let _ = io::stderr().lock().write_all(shown(text).as_bytes());
}

/// Returns the exit code of a command, and says what failed. Output that nobody reads any more, as
/// in `| head`, is no failure, and hides none either: the code is that of the command.
pub(super) fn ended(answer: Answer) -> Exit {
    let _ = Stdout.flush();
    let Some(lost) = LOST.get() else {
        return answer.unwrap_or_else(|failed| {
            eprintln!("error: {}", failed.line);
            failed.exit
        });
    };
    let exit = match answer {
        Ok(exit) => exit,
        Err(failed) if is_because(&failed, lost) => Exit::Complete,
        Err(failed) => {
            eprintln!("error: {}", failed.line);
            failed.exit
        }
    };
    if lost.kind() == ErrorKind::BrokenPipe {
        return exit;
    }
    eprintln!("error: failed to write to standard output: {lost}");
    match (exit, lost.kind()) {
        (Exit::Complete, ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => Exit::Disk,
        (Exit::Complete, _) => Exit::Internal,
        (exit, _) => exit,
    }
}

/// Returns true where a command failed since its output was lost.
fn is_because(failed: &Failed, lost: &io::Error) -> bool {
    failed.exit == Exit::Disk || failed.line.contains(&lost.to_string())
}

/// Returns text as it may be printed: line feeds and tabs stay, other control characters and those
/// that turn the direction of text become `\uXXXX`.
pub(super) fn shown(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_obeyed(c) {
            // Writing to a string cannot fail; all of these are in the first plane.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out.into()
}

fn is_obeyed(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_would_obey_is_printed() {
        for (text, want) in [
            ("plain ä 世界\n\tindented", "plain ä 世界\n\tindented"),
            ("a\u{1b}[2Jb", "a\\u001b[2Jb"),
            ("a\u{9b}31m\u{7f}\r\u{0}", "a\\u009b31m\\u007f\\u000d\\u0000"),
            ("a\u{202e}b\u{2066}", "a\\u202eb\\u2066"),
        ] {
            assert_eq!(shown(text), want);
        }
        for (bytes, text, length) in [
            (&b"plain"[..], "plain", 5),
            (b"ab\xff\x1b", "ab", 2),
            (b"\xff\x1b", "\u{fffd}", 1),
            (b"\xe4\xb8", "\u{fffd}", 2),
        ] {
            assert_eq!(first_text(bytes), (text.into(), length));
        }
        let json = serde_json::to_string("a\u{9b}b\u{202e}c\u{1b}").unwrap();
        let read: String = serde_json::from_str(&shown(&json)).unwrap();
        assert_eq!(read, "a\u{9b}b\u{202e}c\u{1b}");
    }
}
