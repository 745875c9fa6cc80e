//! The judges, as a library that all targets share; see `mod.rs` for the runs without libFuzzer.

mod http;
pub mod judges;
