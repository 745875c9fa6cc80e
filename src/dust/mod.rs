//! DUST: different URLs with similar text. Learns, proves, applies and takes back the rules that
//! make one key of many URLs.
//!
//! `rule` says what a rule is, `live` applies the rules in force, `miner` finds candidates in what
//! was crawled, `validate` judges them by probes and `pairs` by what a crawl fetches anyway, and
//! `RuleBook` drives them for the crawl loop.
//! Invariants: a rule changes the key under which a URL is known, never the URL that is fetched;
//! no rule leads off its site; every table is bounded; nothing here fetches, reads a clock or
//! draws at random. Sources: DustBuster (Bar-Yossef, Keidar, Schonfeld, WWW 2007) and what pattern
//! learners found after it.

mod apply;
mod audit;
pub mod book;
mod changes;
mod corpus;
pub mod declared;
mod differences;
pub mod durable;
mod entries;
mod escapes;
pub mod evidence;
mod fetched;
pub mod export;
pub mod input;
mod items;
mod layout;
pub mod learn;
#[cfg(test)]
mod learn_tests;
pub mod limits;
pub mod live;
#[cfg(test)]
mod live_tests;
pub mod miner;
mod pairs;
pub mod paper;
mod prior;
mod propose;
mod proven;
mod publish;
pub mod rule;
mod search;
mod self_link;
mod shape;
pub mod sketch;
pub mod validate;

pub use crate::url::query::Separator;
pub use book::{Probe, RuleBook, RuleEvent, Settings};
pub(crate) use changes::{Changes, Difference, Words};
pub use evidence::{Declared, Observation, Text};
pub use fetched::Fetched;
pub(crate) use fetched::{are_of_chance, are_other_figures};
#[cfg(test)]
pub(crate) use items::NO_ITEMS;
pub use learn::{Fetcher, Report, learn, prove_rules};
pub use limits::Limits;
pub use live::{Canonized, LiveRules, RuleSet};
pub(crate) use live::{Trust, is_among_first};
pub use miner::Miner;
pub use rule::{Evidence, Rule, RuleFile, RuleId, RuleKind, RuleState, Scope, Segment, Source};
pub(crate) use self_link::{LedBack, form_of_link, form_of_page, names_page};
pub use sketch::{Likeness, Sketch};
pub use validate::Finding;
#[cfg(test)]
pub(crate) use {live::Standing, proven::Proven, proven::places};
