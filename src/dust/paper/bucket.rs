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
        lens: Vec::new(),
        open: Vec::new(),
        shorter: Vec::new(),
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
    /// The ranks by last tokens of a group, in order.
    ranks: Vec<u32>,
    /// The places of its URLs in that order, and how many tokens they have.
    places: Vec<u32>,
    lens: Vec<u16>,
    open: Vec<Open>,
    /// Of a run: how many have fewer tokens than its shortest and so many.
    shorter: Vec<u32>,
    chosen: Vec<u32>,
}

/// The URLs of a run, and how many tokens they have.
#[derive(Clone, Copy)]
struct Members<'m> {
    places: &'m [u32],
    lens: &'m [u16],
    shortest: usize,
    longest: usize,
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
        let mut lens = std::mem::take(&mut self.lens);
        let mut open = std::mem::take(&mut self.open);
        ranks.clear();
        if to - from == table.len() {
            ranks.extend(0..to as u32);
        } else {
            ranks.extend_from_slice(&table.suffix_rank[from..to]);
            ranks.sort_unstable();
        }
        // From here on nearly all is read rank by rank, in the order in which it lies in memory.
        places.clear();
        places.extend(ranks.iter().map(|&rank| table.by_suffix[rank as usize]));
        lens.clear();
        lens.extend(ranks.iter().map(|&rank| table.suffix_len[rank as usize]));
        open.clear();
        for at in 1..=ranks.len() {
            let shared = ranks.get(at).map(|&rank| table.shared_between(ranks[at - 1], rank));
            let length = usize::from(lens[at - 1]);
            let (mut start, mut shortest, mut longest) = (at - 1, length, length);
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
                let (places, lens) = (&places[run.start..at], &lens[run.start..at]);
                let members = Members { places, lens, shortest, longest };
                self.run(members, first, (least, run.shared));
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
        (self.ranks, self.places, self.lens, self.open) = (ranks, places, lens, open);
    }

    /// Visits the buckets of one rectangle.
    ///
    /// Envelope and substring must fit into a URL: i + k <= tokens <= i + k + S. Where that holds
    /// for all of them, as nearly always, the rectangle is one visit.
    fn run(&mut self, members: Members<'_>, first: (usize, usize), last: (usize, usize)) {
        let Members { places, lens, shortest, longest } = members;
        if places.len() < 2 || first.0 > first.1 || last.0 > last.1 {
            return;
        }
        let all_fit = first.1 + last.1 <= shortest
            && longest <= (first.0 + last.0).saturating_add(self.substring_max);
        if all_fit {
            if places.len() <= self.members_max {
                (self.visit)(Bucket { members: places, first, last });
            }
            return;
        }
        self.count_lengths(members);
        for i in first.0..=first.1 {
            // Outside of these no member fits.
            let least = shortest.saturating_sub(self.substring_max).saturating_sub(i);
            let Some(most) = longest.checked_sub(i) else { return };
            for k in last.0.max(least)..=last.1.min(most) {
                let fits = i + k..=(i + k).saturating_add(self.substring_max);
                let upto = |tokens: usize| {
                    self.shorter[tokens.clamp(shortest, longest + 1) - shortest] as usize
                };
                let fitting = upto(fits.end().saturating_add(1)) - upto(i + k);
                if fitting < 2 || fitting > self.members_max {
                    continue;
                }
                self.chosen.clear();
                let fitting =
                    places.iter().zip(lens).filter(|(_, len)| fits.contains(&(**len).into()));
                self.chosen.extend(fitting.map(|(place, _)| *place));
                (self.visit)(Bucket { members: &self.chosen, first: (i, i), last: (k, k) });
            }
        }
    }

    /// Sets `shorter[n]` to the number of members with fewer than `shortest + n` tokens.
    fn count_lengths(&mut self, members: Members<'_>) {
        self.shorter.clear();
        self.shorter.resize(members.longest - members.shortest + 2, 0);
        for &len in members.lens {
            self.shorter[usize::from(len) - members.shortest + 1] += 1;
        }
        for n in 1..self.shorter.len() {
            self.shorter[n] += self.shorter[n - 1];
        }
    }
}
