//! The prioritizer: how early a URL should be fetched.

use super::record::PRIORITIES;

/// What the priority of a URL depends on.
#[derive(Clone, Copy, Debug)]
pub struct Rank {
    /// Links followed from the seed.
    pub hops: u16,
    /// True for an embed or a redirect: it belongs to the page that names it.
    pub belongs: bool,
    /// True where the host, or the page, is showing text that is known already.
    pub stale: bool,
}

/// Returns the priority of a URL: seeds 0, then by distance, since pages near a seed are read more
/// (half of a site's pages carry most of its visits within five levels); what belongs to a page
/// comes with it, and what a host full of repeats links to comes last.
pub fn priority(rank: Rank) -> u8 {
    let last = (PRIORITIES - 1) as u16;
    if rank.stale {
        return last as u8;
    }
    let distance = if rank.belongs { rank.hops } else { rank.hops.max(1) };
    distance.min(last - 1) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(hops: u16, belongs: bool, stale: bool, want: u8) {
        assert_eq!(priority(Rank { hops, belongs, stale }), want);
    }

    #[test]
    fn near_pages_come_first_and_stale_ones_last() {
        check(0, true, false, 0);
        check(1, false, false, 1);
        check(3, true, false, 3);
        check(60_000, false, false, 6);
        check(1, false, true, 7);
    }
}
