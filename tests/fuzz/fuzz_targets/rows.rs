//! libFuzzer's way to the judge of `rows`.

#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| crawler_fuzz::judges::rows(bytes));
