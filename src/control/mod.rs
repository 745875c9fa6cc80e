//! The control socket: how a running crawl is asked and steered from outside.
//!
//! A Unix socket named [`SOCKET`] in the directory of the crawl, there while it runs. Only the user
//! who runs the crawl, and root, may use it: its mode is 0600, and the other side's user number is
//! looked at besides.
//!
//! # Protocol, version 1
//! Lines of JSON, one object each, ended by `\n`; a client sends one line and gets one line, any
//! number of times. Unknown fields of an answer are to be ignored; unknown fields of a request are
//! refused, so that a mistyped order does nothing.
//!
//! | request | answer |
//! |---|---|
//! | `{"do":"status"}` | `{"ok":true,"status":{…}}`, a [`Status`] |
//! | `{"do":"watch"}` | such a line at once and after every second, until the crawl ends |
//! | any [`crate::crawl::steer::Order`], as `{"do":"pause"}` | `{"ok":true,"text":…}`, an [`Answer`](crate::crawl::steer::Answer) |
//! | anything else, or what cannot be done | `{"ok":false,"kind":…,"text":…}`, a [`Refusal`](crate::crawl::steer::Refusal) |
//!
//! The last line to a watcher has `"ended"` in its status: `complete`, `parked`, `limit`,
//! `interrupted` or `failed`.
//!
//! Bounds: [`CLIENTS_MAX`] clients, the next one is refused with a line; a request of
//! [`REQUEST_MAX`] bytes; [`IDLE_MAX`] without a request, unless it watches; [`ANSWER_MAX`] for the
//! loop to answer an order, after which the order is still carried out, and the client told so; a
//! client that takes no bytes for [`WRITE_MAX`] is dropped. So the crawl waits for no client: an
//! order is a message to its loop, and a status is a copy that the loop publishes once a second
//! anyway.

mod client;
mod path;
mod server;
#[cfg(test)]
mod tests;
mod wire;

pub use client::{Client, ClientError};
pub use path::socket_path;
pub use server::{ChangeLevel, Ended, Server, ServerError, Steering};
pub use wire::{Reply, Request, Status};

use std::time::Duration;

/// Name of the socket in the directory of the crawl.
pub const SOCKET: &str = "control.sock";

/// Clients at once: a dashboard, some terminals, a script.
pub const CLIENTS_MAX: usize = 16;

/// Bytes of a request; a pattern may be long.
pub const REQUEST_MAX: usize = 16 * 1024;

/// Bytes of an answer; a status of full lists is about 200 kB.
pub const REPLY_MAX: usize = 4 * 1024 * 1024;

/// Time between two requests of a client that does not watch.
pub const IDLE_MAX: Duration = Duration::from_secs(60);

/// Time for the loop to answer an order: dropping a million URLs takes some ten seconds.
pub const ANSWER_MAX: Duration = Duration::from_secs(120);

/// Time for a client to take what it is sent.
pub const WRITE_MAX: Duration = Duration::from_secs(5);
