//! The dashboard: one live page over a running crawl, and its metrics for Prometheus.
//!
//! It reads [`Snapshot`]s, which the loop publishes once a second whether or not anybody looks, and
//! sends the loop a [`Command`] when somebody presses a button. It has a thread of its own, so
//! nothing that a client does or fails to do can hold the crawl (I9).
//!
//! Invariants: it listens where it is told and nowhere else; on anything but loopback it needs a
//! token; a request whose Host is a name that nobody allowed is refused, so that a page elsewhere
//! cannot reach it by rebinding a name; what changes something needs the page's own token besides;
//! connections, streams, requests and answers are bounded in number, size and time. Everything that
//! comes from the web (host names, rules) travels as JSON and becomes text nodes, never markup, and
//! the policy of the page runs no script but its own three.
//!
//! What it does not do: it keeps no history beyond the run, shows no page contents, and speaks no
//! TLS: put a proxy in front of it where the way to it is not yours.
//!
//! Sources: WHATWG HTML, Server-sent events; Content Security Policy Level 3; OpenMetrics 1.0.

mod assets;
mod guard;
mod history;
#[cfg(test)]
mod loopback_tests;
pub mod metrics;
mod metrics_table;
mod patience;
mod routes;
mod server;
mod settings;
mod view;

pub use server::{About, Bound, Dashboard, DashboardError, check_token};
pub use settings::Settings;

#[cfg(doc)]
use crate::crawl::{Command, Snapshot};
