//! What a discovery path says of the URL at its end: one letter a hop, as Heritrix writes them.
//!
//! The gates are asked by it when a URL is found and when it is explained, so that both agree.

use crate::db::families::seen::Depth;
use crate::filter::{Candidate, Found};
use crate::url::CrawlUrl;

/// Letters of a discovery path that are kept.
const PATH_MAX: usize = 64;

/// Returns the path of a URL that one more hop leads to: the last letters of it.
pub(super) fn longer(path: &str, letter: char) -> String {
    let mut path = [path, &*letter.encode_utf8(&mut [0; 4])].concat();
    if path.len() > PATH_MAX {
        path.drain(..path.len() - PATH_MAX);
    }
    path
}

/// Returns how a hop of this letter finds.
pub(super) fn found_by(letter: char) -> Found {
    match letter {
        'E' => Found::Embed,
        'R' => Found::Redirect,
        'M' => Found::Manifest,
        'I' => Found::Inferred,
        _ => Found::Link,
    }
}

/// Returns true for what was found as a sitemap, over whatever redirects.
pub(super) fn is_sitemap(path: &str) -> bool {
    path.trim_end_matches('R').ends_with('M')
}

/// Returns true if a hop of this letter costs nothing: what it leads to belongs to the page.
pub(super) fn is_free(letter: char) -> bool {
    matches!(letter, 'E' | 'R')
}

/// Returns the hops from the seeds to what a hop of this letter leads to from a depth.
pub(super) fn deeper(hops: u16, letter: char) -> u16 {
    hops.saturating_add(u16::from(!is_free(letter)))
}

/// Returns how many more links may lie between the seeds and what a page of this depth leads to,
/// where `limit` is the crawl's (0 for none); less than none for what lies too deep.
pub(super) fn room((hops, hops_max): Depth, limit: u16) -> i32 {
    let left = |max: u16| i32::from(max) - i32::from(hops);
    let limit = Some(limit).filter(|limit| *limit != 0);
    limit.into_iter().chain(hops_max).map(left).min().unwrap_or(i32::MAX)
}

/// Returns what the schedule gate is asked about a URL that was found over this path, which has at
/// least one letter.
pub(super) fn candidate<'a>(
    url: &'a CrawlUrl,
    via: Option<&'a CrawlUrl>,
    path: &str,
    (hops, hops_max): Depth,
    nofollow: bool,
) -> Candidate<'a> {
    let found = path.chars().next_back().map_or(Found::Link, found_by);
    let without_redirects = path.trim_end_matches('R');
    let redirects = path.len() - without_redirects.len();
    // A row of embeds is one with the redirects in it: else it would have no end.
    let row = path.chars().rev().take_while(|letter| is_free(*letter));
    let embeds = row.filter(|letter| *letter == 'E').count();
    let needed = without_redirects.ends_with('E');
    let declared = path.strip_prefix('P').is_some_and(|rest| rest.chars().all(is_of_manifest));
    Candidate {
        url,
        via,
        found,
        hops,
        hops_max,
        embed_hops: if needed { embeds as u16 } else { 0 },
        redirects: redirects as u16,
        from_seed: found == Found::Redirect && without_redirects.is_empty(),
        declared,
        nofollow,
    }
}

fn is_of_manifest(letter: char) -> bool {
    matches!(letter, 'M' | 'R')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_keeps_its_last_letters() {
        assert_eq!(longer("", 'L'), "L");
        let long = longer(&"L".repeat(PATH_MAX), 'E');
        assert_eq!((long.len(), long.ends_with("LE")), (PATH_MAX, true));
    }

    #[test]
    fn a_depth_leaves_the_room_of_the_nearer_limit() {
        for (depth, limit, want) in [
            ((3, None), 0, i32::MAX),
            ((3, None), 5, 2),
            ((3, Some(4)), 5, 1),
            ((3, Some(9)), 5, 2),
            ((3, Some(0)), 0, -3),
        ] {
            assert_eq!(room(depth, limit), want, "{depth:?} of {limit}");
        }
    }

    #[test]
    fn a_sitemap_is_one_over_redirects_and_what_it_lists_is_none() {
        for (path, want) in
            [("PM", true), ("PMRR", true), ("LM", true), ("PML", false), ("", false)]
        {
            assert_eq!(is_sitemap(path), want, "{path}");
        }
    }

    #[test]
    fn the_gate_is_asked_by_the_path() {
        let url = CrawlUrl::parse("http://a.test/").unwrap();
        let check = |path: &str, embeds: u16, redirects: u16, from_seed: bool, declared: bool| {
            let asked = candidate(&url, None, path, (1, None), false);
            let found = (asked.embed_hops, asked.redirects, asked.from_seed, asked.declared);
            assert_eq!(found, (embeds, redirects, from_seed, declared), "{path}");
        };
        check("L", 0, 0, false, false);
        check("RR", 0, 2, true, false);
        check("LRR", 0, 2, false, false);
        check("LE", 1, 0, false, false);
        check("LERR", 1, 2, false, false);
        check("LERREE", 3, 0, false, false);
        check("REL", 0, 0, false, false);
        check("PM", 0, 0, false, true);
        check("PMRM", 0, 0, false, true);
        check("PMRR", 0, 2, false, true);
        check("PML", 0, 0, false, false);
        check("LM", 0, 0, false, false);
    }
}
