//! Decides what to fetch next, and when: the Mercator frontier as a value.
//!
//! Upholds **I2** (a host, and a group if one is set, has at most one lease) and **I3** (between
//! two leases of a host lies at least its gap). Performs no I/O, reads no clock, cannot fail:
//! `now` and rows are arguments, changes are return values, and the crawl loop makes them durable.
//!
//! ```text
//!  links ─► rows of a host (priority, serial) ─────────────┐
//!  hosts without a back queue ─► K front queues of hosts ─► biased selector ─► B back queues
//!                                                                              │ heap of times
//!                                                          groups (IP or site) ┴─► Lease
//! ```
//! The lecture's front queues hold URLs, which a refill moves to back queues one by one, so a host
//! with a million URLs passes a million of them through memory or over the disk before the next
//! host is seen. Here a URL is written once, under its host, and the front queues hold *hosts*, by
//! the priority of their best URL: same order among hosts, same rule that a new back queue belongs
//! to a host that has none, no head of line that blocks, and memory bounded by B.
//!
//! What it does not do: it knows no robots.txt (a prerequisite is a lease like any other, see
//! [`Lease::exchange`]), no scope and no content.
//!
//! Sources: Manning, Raghavan, Schütze, *Introduction to Information Retrieval* §20.2.3 (front and
//! back queues, heap, B = 3 times the threads); BUbiNG's two-level workbench for host and address.

mod back;
mod front;
mod politeness;
mod priority;
mod record;
mod window;

pub use back::{
    Active, Errand, Finished, Frontier, Lease, Next, PUT_OFF, Parting, Settings, Waiting,
    group_of_address, group_of_name,
};
pub use front::Selector;
pub use politeness::{
    Behaviour, GapReason, Grouping, HostOverride, Pace, Rest, Rules, Settings as Politeness,
};
pub use priority::{Rank, priority};
pub use record::{
    DoneState, HostId, HostRecord, HostStatus, PRIORITIES, Place, Standing, UrlRecord, UrlState,
};
pub use window::Window;
