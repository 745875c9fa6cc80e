//! Steering: what an operator changes while a crawl runs, and what of it lasts.
//!
//! An [`Order`] is carried out by the loop, between two steps of it, and answered with an
//! [`Answer`] or a [`Refusal`]. Orders that are state (exclusions, delays, budgets, rules,
//! pardons, the pause) are kept as [`Changes`] in the same batch that makes them true, so that
//! they survive a kill; a crawl that is not running takes them by the same [`Changes::make`], and
//! finds them when it starts. Every order that is not merely a question is a line of
//! `log/control.jsonl`, written first.
//!
//! What touches many rows (dropping what an exclusion refuses, bringing back what a pardon allows)
//! is a [`Job`], done some hundred rows at a time between two steps of the loop, and begun anew
//! after a crash; a preview is counted on a thread of its own. So no order stalls the crawl.
//!
//! A URL that a job moves keeps one place in the ledger: the counters add up before, during and
//! after it.
//!
//! It opens no socket and knows no client: `control` does.

mod act;
mod changes;
mod jobs;
mod order;

pub use act::JOURNAL;
pub use changes::{Changes, Job};
pub(super) use jobs::Jobs;
pub use jobs::{Count, count_refused, preview_answer};
pub use order::{Answer, Budget, By, Channel, Entry, Kind, Order, Refusal, host_name};
