//! The crawl: one loop that owns the frontier and the state, and the visits that it starts.
//!
//! Loop contract: (1) ask the frontier for what is next until it gives no lease; (2) start each
//! lease as a visit; (3) wait for the first of: a visit done, the time of the next lease, a
//! command, the second's tick; (4) settle what is done, log first, then one batch; (5) repeat.
//!
//! Invariants: **I1** every request is made under a lease, robots.txt and probes included; **I4** a
//! URL leaves its queue only in the batch that records its outcome; **I5** the archive is written
//! first, and visits are settled in the order of their records, so that a crash leaves a prefix;
//! **I6** all links of a page meet one version of the rules; **I9** a waiting URL is a row, never a
//! task.
//!
//! What it does not do: it decides nothing that `filter`, `frontier`, `robots` or `dust` decide,
//! and it prints nothing.

mod admit;
mod behind;
mod beside;
pub mod audit;
pub mod census;
mod checks;
mod clusters;
pub mod diff;
mod discover;
pub mod dups;
mod edge;
mod error;
mod evidence;
pub mod explain;
mod hosts;
pub mod inlinks;
mod judge;
mod learn;
pub mod learned;
mod learner;
pub mod log;
mod lost;
mod models;
mod names;
pub mod near;
mod observe;
mod obey;
mod open;
mod outage;
pub mod parked;
mod passing;
mod readmit;
mod redirected;
mod remaining;
mod repeats;
pub mod replicas;
mod robots_cache;
mod run;
mod self_links;
mod settings;
mod settle;
mod snapshot;
mod standing;
mod state;
mod stepped;
mod tally;
pub mod steer;
mod told;
pub mod unsaved;
pub mod verify;
pub mod view;
mod visit;
mod watched;
mod way;

pub use discover::{Link, SeedUrl};
pub use edge::{Edge, Store};
pub use error::CrawlError;
pub(crate) use evidence::{BODY_MIN, page_of};
pub use learner::{DustMode, DustSettings};
pub use near::NearMode;
pub use obey::Command;
pub use open::{Dust, Parts, Resumed, seeds_of};
pub use repeats::RepeatSettings;
pub use run::{Crawl, Ended, Options, Summary};
pub use settings::Settings;
pub use snapshot::{Brake, Remaining, Slowest, Snapshot};
pub use state::State;
pub use stepped::resume_clock;
pub use tally::{FETCH_BOUNDS_MS, MARGIN_BOUNDS_MS, REST_REASONS, Spread, Tally};
pub use visit::{block_of, blocks_of, retry_after, robots_outcome, text_page};
