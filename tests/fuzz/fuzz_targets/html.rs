//! libFuzzer's way to the judge of `html`.

#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| crawler_fuzz::judges::html(bytes));
