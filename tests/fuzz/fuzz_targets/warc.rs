//! libFuzzer's way to the judge of `warc`.

#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| crawler_fuzz::judges::warc(bytes));
