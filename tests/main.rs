//! The one test binary: every integration test is a module of it, so that it links once.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cli;
mod cli_dust;
mod crash;
mod dust_paper;
mod extract;
mod fuzz;
mod hostile;
mod loopback;
mod sim;
mod tidy;
