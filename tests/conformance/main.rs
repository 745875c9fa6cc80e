//! Speaks JSON lines, one request in and one answer out, so that others' test suites can drive the
//! very code that the crawler uses.

mod extract;

use std::io::{BufRead, Write};

fn main() {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return };
        let request: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
        let op = request["op"].as_str().unwrap_or_default();
        let answer = extract::answer(op, &request);
        let answer = answer.unwrap_or_else(|| serde_json::json!({ "error": "unknown op" }));
        if writeln!(out, "{answer}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}
