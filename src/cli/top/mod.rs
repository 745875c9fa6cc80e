//! `crawler top`: the running crawl on a full screen.
//!
//! [`app`] is what is shown and what keys mean; [`draw`] makes a frame of it. Both are values and
//! functions of values, so that tests draw on a screen in memory. [`run`] joins them with the
//! terminal, the control socket and the keyboard: a thread each, which send to one channel, so that
//! neither a slow crawl nor a slow terminal holds the other.
//!
//! Nothing of the web reaches the screen as it came: every text is made [`plain`] when it arrives.
//! The terminal is given back as it was on every way out: keys, errors, panics, SIGTERM, SIGHUP.
//!
//! [`plain`]: super::output::plain

mod app;
mod draw;
mod panes;
mod run;
#[cfg(test)]
mod tests;
mod theme;

pub(super) use run::{TopArgs, top};
