//! A web of our own: synthetic sites from one description, in process and on loopback.
//!
//! A [`WebSpec`] describes many sites ([`SiteSpec`]) with their habits and vices; what they say
//! follows from it and a seed alone. [`SimWeb`] serves it in process and in virtual time,
//! [`Server`] on 127.0.0.0/8 with a name server of its own; both answer the same. [`demo_web`] is
//! the small fixed web that `crawler demo` shows to a newcomer.
//!
//! Invariants: nothing of a page is stored, it is made when asked for, so a web of millions of
//! pages costs its list of hosts. Every document of a site is reachable from its home page, or
//! named by its sitemap ([`WebSpec::documents`] says which there are, [`WebSpec::truth`] what a URL
//! leads to). No address outside of loopback is ever listened on.
//!
//! It knows nothing of crawling: it imports no logic of the crawler but URLs and time, so that what
//! it judges ([`Judge`]) cannot share the crawler's mistakes.

mod board;
mod draw;
mod links;
mod log;
mod names;
mod page;
mod reply;
mod repository;
mod server;
mod sim;
mod site;
mod spec;
mod text;
mod web;
mod webs;

#[cfg(test)]
mod loopback_tests;
#[cfg(test)]
mod tests;

pub use log::{Arrival, Judge, Judgement, Protect, RequestLog};
pub use server::{Server, ServerOptions};
pub use sim::{SimLimits, SimWeb};
pub use spec::{
    Busy, Charset, DnsAnswer, DnsSpec, Faults, Habits, Language, Latency, Redirects, RetryAfter,
    RobotsAnswer, SiteSpec, Sitemap, Traps, UrlStyle,
};
pub use web::{DocumentId, Truth, WebSpec};
pub use webs::{Draft, demo_web};
