//! Buckets: which URLs share an envelope (figure 1, lines 5 to 13).
//!
//! The envelope (i, k) of a URL is its first i and its last k tokens. Its bucket is found without a
//! table of envelopes: the URLs that share exactly the first i tokens form a group (a node of the
//! prefix tree), and inside a group, sorted by last tokens, the URLs that share the last k form a
//! run (a node of the suffix tree of that group). One group holds for a range of i, one run for a
//! range of k, so a whole rectangle of envelopes shares one bucket and is visited once. This costs
//! about one visit per URL and branching of its prefix, where the paper makes one tuple per
//! substring.

use super::table::Table;

/// The envelopes (i, k) of a rectangle and the URLs in all of their buckets, by place.
pub(super) struct Bucket<'b> {
    /// Places in the table, at least two.
    pub(super) members: &'b [u32],
    /// Least and greatest number of first tokens.
    pub(super) first: (usize, usize),
    /// Least and greatest number of last tokens.
    pub(super) last: (usize, usize),
}

/// Calls `visit` for every bucket of 2 to `members_max` URLs, for substrings of at most
/// `substring_max` tokens.
pub(super) fn for_each(
    table: &Table<'_>,
    substring_max: usize,
    members_max: usize,
    visit: impl FnMut(Bucket<'_>),
) {
    let mut walk = Walk {
        table,
        substring_max,
        members_max,
        visit,
        ranks: Vec::new(),
        places: Vec::new(),
        open: Vec::new(),
        lengths: Vec::new(),
        chosen: Vec::new(),
    };
    walk.groups();
}

/// A run that may still grow: it starts at `start` and shares `shared` tokens.
struct Open {
    start: usize,
    shared: usize,
    shortest: usize,
    longest: usize,
}

struct Walk<'t, 'a, V> {
    table: &'t Table<'a>,
    substring_max: usize,
    members_max: usize,
    visit: V,
    ranks: Vec<u32>,
    places: Vec<u32>,
    open: Vec<Open>,
    lengths: Vec<u32>,
    chosen: Vec<u32>,
}

impl<V: FnMut(Bucket<'_>)> Walk<'_, '_, V> {
    /// Visits the groups of URLs with equal prefixes: the intervals of the array of shared lengths.
    fn groups(&mut self) {
        let table = self.table;
        // Pairs of where an interval starts and how many first tokens it shares.
        let mut open: Vec<(usize, usize)> = Vec::new();
        for at in 1..=table.len() {
            let shared = table.shared.get(at).map(|&shared| usize::from(shared));
            let mut start = at - 1;
            while let Some(&(from, depth)) = open.last() {
                if shared.is_some_and(|shared| depth <= shared) {
                    break;
                }
                open.pop();
                start = from;
                let below = open.last().map(|&(_, depth)| depth + 1).unwrap_or(0);
                let least = shared.map_or(0, |shared| shared + 1).max(below);
                self.group(from, at, (least, depth));
            }
            let Some(shared) = shared else { break };
            if open.last().is_none_or(|&(_, depth)| depth < shared) {
                open.push((start, shared));
            }
        }
    }

    /// Visits the runs of equal suffixes among the URLs at `from..to`, which share their first
    /// tokens.
    fn group(&mut self, from: usize, to: usize, first: (usize, usize)) {
        let table = self.table;
        let mut ranks = std::mem::take(&mut self.ranks);
        let mut places = std::mem::take(&mut self.places);
        let mut open = std::mem::take(&mut self.open);
        places.clear();
        if to - from == table.len() {
            places.extend_from_slice(&table.by_suffix);
        } else {
            ranks.clear();
            ranks.extend_from_slice(&table.suffix_rank[from..to]);
            ranks.sort_unstable();
            places.extend(ranks.iter().map(|&rank| table.by_suffix[rank as usize]));
        }
        open.clear();
        let length = |at: usize| table.url_len(places[at] as usize);
        for at in 1..=places.len() {
            let shared = (at < places.len())
                .then(|| table.shared_suffix(places[at - 1] as usize, places[at] as usize));
            let (mut start, mut shortest, mut longest) = (at - 1, length(at - 1), length(at - 1));
            while let Some(run) = open.last() {
                if shared.is_some_and(|shared| run.shared <= shared) {
                    break;
                }
                let mut run = open.pop().expect("the loop has just seen it");
                run.shortest = run.shortest.min(shortest);
                run.longest = run.longest.max(longest);
                (start, shortest, longest) = (run.start, run.shortest, run.longest);
                let below = open.last().map_or(0, |run| run.shared + 1);
                let least = shared.map_or(0, |shared| shared + 1).max(below);
                self.run(&places[run.start..at], first, (least, run.shared), shortest, longest);
            }
            let Some(shared) = shared else { break };
            match open.last_mut() {
                Some(run) if run.shared == shared => {
                    run.shortest = run.shortest.min(shortest);
                    run.longest = run.longest.max(longest);
                }
                _ => open.push(Open { start, shared, shortest, longest }),
            }
        }
        (self.ranks, self.places, self.open) = (ranks, places, open);
    }

    /// Visits the buckets of one rectangle, whose URLs have `shortest` to `longest` tokens.
    ///
    /// Envelope and substring must fit into a URL: i + k <= tokens <= i + k + S. Where that holds
    /// for all of them, as nearly always, the rectangle is one visit.
    fn run(
        &mut self,
        members: &[u32],
        first: (usize, usize),
        last: (usize, usize),
        shortest: usize,
        longest: usize,
    ) {
        if members.len() < 2 || first.0 > first.1 || last.0 > last.1 {
            return;
        }
        let all_fit = first.1 + last.1 <= shortest
            && longest <= (first.0 + last.0).saturating_add(self.substring_max);
        if all_fit {
            if members.len() <= self.members_max {
                (self.visit)(Bucket { members, first, last });
            }
            return;
        }
        self.count_lengths(members, shortest, longest);
        for i in first.0..=first.1 {
            // Outside of these no member fits.
            let least = shortest.saturating_sub(self.substring_max).saturating_sub(i);
            let Some(most) = longest.checked_sub(i) else { return };
            for k in last.0.max(least)..=last.1.min(most) {
                let fits = i + k..=(i + k).saturating_add(self.substring_max);
                let upto = |tokens: usize| {
                    self.lengths[tokens.clamp(shortest, longest + 1) - shortest] as usize
                };
                let fitting = upto(fits.end().saturating_add(1)) - upto(i + k);
                if fitting < 2 || fitting > self.members_max {
                    continue;
                }
                let fits = |place: u32| fits.contains(&self.table.url_len(place as usize));
                self.chosen.clear();
                self.chosen.extend(members.iter().filter(|&&place| fits(place)));
                (self.visit)(Bucket { members: &self.chosen, first: (i, i), last: (k, k) });
            }
        }
    }

    /// Sets `lengths[n]` to the number of members with fewer than `shortest + n` tokens.
    fn count_lengths(&mut self, members: &[u32], shortest: usize, longest: usize) {
        self.lengths.clear();
        self.lengths.resize(longest - shortest + 2, 0);
        for &place in members {
            self.lengths[self.table.url_len(place as usize) - shortest + 1] += 1;
        }
        for n in 1..self.lengths.len() {
            self.lengths[n] += self.lengths[n - 1];
        }
    }
}
