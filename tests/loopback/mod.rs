//! The edges against real sockets on 127.0.0.1: servers that misbehave, each in one way.
//!
//! A behaviour is data ([`server::Step`]s); its verdict is asserted, and after each one the same
//! client must still fetch a good page. Time limits are made small instead of waiting for the real
//! ones, and nothing is asserted about how long anything took.

#![allow(clippy::unwrap_used)]

mod behaviours;
pub(crate) mod client;
mod dns;
mod framing;
mod http2;
mod keepalive;
pub(crate) mod name_server;
mod proxy;
pub(crate) mod server;
mod slow;
pub(crate) mod tls;
mod codings;
mod others;
