//! The behaviours, by kind. Names without `x_` are those of a list that others keep.

mod busy;
mod coding;
mod dns;
mod framing;
mod html;
mod redirect;
mod robots;
mod sitemap;
mod slow;
mod tls;
mod trap;

use super::world::Case;
use crate::loopback::tls::Authority;

/// Returns every behaviour with its group.
pub(crate) fn all(authority: &Authority) -> Vec<(&'static str, Case)> {
    let groups = [
        ("http-framing", framing::cases()),
        ("slow", slow::cases()),
        ("content-coding", coding::cases()),
        ("redirect", redirect::cases()),
        ("misc", busy::cases()),
        ("html", html::cases()),
        ("sitemap", sitemap::cases()),
        ("trap", trap::cases()),
        ("robots", robots::cases()),
        ("tls", tls::cases(authority)),
        ("dns", dns::cases()),
    ];
    groups
        .into_iter()
        .flat_map(|(group, cases)| cases.into_iter().map(move |case| (group, case)))
        .collect()
}
