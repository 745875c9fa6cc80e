//! libFuzzer's way to the judge of `sitemap`.

#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| crawler_fuzz::judges::sitemap(bytes));
