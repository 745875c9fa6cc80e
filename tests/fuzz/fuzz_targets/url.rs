//! libFuzzer's way to the judge of `url`.

#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| crawler_fuzz::judges::url(bytes));
