//! Answers requests of conformance suites, one JSON line in, one JSON line out, through the same
//! code that crawls.
//!
//! A request is an object with an `op`; the modules below are asked in turn for an answer, and each
//! says at its head which operations it knows. An operation that none knows is answered with an
//! `error`, as is a line that is no JSON: the next line is read all the same.

mod extract;
mod robots;
mod url;

use std::io::{BufRead, Write};

use serde_json::{Value, json};

fn main() -> std::io::Result<()> {
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        serde_json::to_writer(&mut output, &answer(&line))?;
        output.write_all(b"\n")?;
        output.flush()?;
        line.clear();
    }
    Ok(())
}

fn answer(line: &[u8]) -> Value {
    let text = whole_characters(&String::from_utf8_lossy(line));
    let request: Value = match serde_json::from_str(&text) {
        Ok(request) => request,
        Err(error) => return json!({ "error": error.to_string() }),
    };
    let op = request["op"].as_str().unwrap_or_default();
    url::answer(op, &request)
        .or_else(|| robots::answer(op, &request))
        .or_else(|| extract::answer(op, &request))
        .unwrap_or_else(|| json!({ "error": format!("unknown op `{op}`") }))
}

/// Replaces escapes of half surrogate pairs, which JSON may hold but UTF-8 cannot, by U+FFFD, as a
/// browser does before it parses a URL.
fn whole_characters(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match surrogate(rest) {
            Some(high) if high < 0xdc00 => match rest.get(6..).and_then(surrogate) {
                Some(low) if low >= 0xdc00 => 12,
                _ => 0,
            },
            Some(_) => 0,
            None => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        };
        if length == 0 {
            out.push_str("\\ufffd");
            rest = &rest[6..];
        } else {
            out.push_str(&rest[..length]);
            rest = &rest[length..];
        }
    }
    out.push_str(rest);
    out
}

/// Returns the code of the surrogate whose escape begins `text`.
fn surrogate(text: &str) -> Option<u32> {
    let code = u32::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()?;
    (0xd800..0xe000).contains(&code).then_some(code)
}
