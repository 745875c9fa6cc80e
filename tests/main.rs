//! The one test binary: every integration test is a module of it, so that it links once.

mod cli_dust;
mod dust_paper;
mod extract;
mod loopback;
mod sim;
mod tidy;
