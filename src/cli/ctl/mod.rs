//! `crawler ctl`: steer a crawl, through its control socket while it runs and in its state while it
//! does not.
//!
//! What is state (pause, exclusions, delays, budgets, rules, pardons) can be changed either way and
//! lasts; what speaks to a process (stop, abort, log level, status) needs one that runs.

mod args;
mod print;
mod running;
mod stopped;

pub(super) use args::CtlArgs;
pub(super) use print::state_word;
pub(super) use running::ctl;
