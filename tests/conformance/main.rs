//! Speaks JSON lines, one request in and one answer out, so that others' test suites can drive the
//! very code that the crawler uses.

fn main() {}
