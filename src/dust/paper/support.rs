//! Support: in how many envelopes two substrings can be exchanged (figure 1, lines 14 to 22).
//!
//! Every likely similar pair of a bucket is one instance of the pair of substrings inside.
//! Instances are sorted by a 64-bit hash of their two substrings and counted run by run. A
//! collision cannot change the result: every run that is long enough to matter is compared token by
//! token, and split if it holds different pairs.
//!
//! Memory is bounded: instances that do not fit into the table are only counted by hash class, and
//! taken class by class in further passes. Classes never split a pair, so supports stay exact.

use std::collections::HashMap;

use super::bucket::{self, Bucket};
use super::settings::Settings;
use super::similar::Likeness;
use super::table::Table;
use super::token::{TokenId, is_semiperiodic};

/// A pair of substrings, each of which may be the one to replace, and how often the log shows them
/// exchanged. `alpha` is the greater: longer, or equally long and later in token order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) alpha: Box<[TokenId]>,
    pub(super) beta: Box<[TokenId]>,
    /// Support with buckets up to T_low.
    pub(super) support: u64,
    /// Support with buckets up to T_high, by which rules are compared; never below `support`.
    pub(super) support_high: u64,
}

/// One likely similar pair of URLs in one envelope.
#[derive(Clone, Copy)]
struct Instance {
    /// Hash of the two substrings.
    key: u64,
    /// The place of the URL with the greater substring.
    alpha: u32,
    /// The place of the other.
    beta: u32,
    /// How many first tokens the envelope has.
    first: u16,
    /// How many last tokens it has.
    last: u16,
    /// Whether its bucket is within T_low.
    low: bool,
    /// Whether its bucket is within T_high.
    high: bool,
}

/// Hash classes by which passes are divided: by the upper 16 bits of the key.
const CLASSES: usize = 1 << 16;

/// Parts into which instances are put as they come, by the upper 8 bits of the key.
const PARTS: usize = 1 << 8;

/// Returns all pairs with support of at least MS, in no particular order.
pub(super) fn likely_pairs(
    table: &Table<'_>,
    likeness: &Likeness,
    settings: &Settings,
) -> Vec<Pair> {
    let capacity = settings.table_bytes_max.as_len() / size_of::<Instance>();
    let capacity = capacity.max(1);
    let mut gather = Gather::new(table, likeness, settings, capacity);
    let mut pairs = Vec::new();
    gather.pass(0..CLASSES as u64);
    if !gather.overflowed {
        count(table, settings, &mut gather.parts, &mut pairs);
        return pairs;
    }
    let sizes = std::mem::take(&mut gather.class_sizes);
    let mut from = 0;
    while from < CLASSES {
        let mut to = from;
        let mut total = 0;
        while to < CLASSES && (to == from || total + sizes[to] <= capacity as u64) {
            total += sizes[to];
            to += 1;
        }
        if total > 0 {
            // One class may exceed the table alone; then it holds the instances of few pairs, and
            // those are at most one for each occurrence of a substring.
            gather.capacity = usize::try_from(total).unwrap_or(usize::MAX);
            gather.pass(from as u64..to as u64);
            count(table, settings, &mut gather.parts, &mut pairs);
        }
        from = to;
    }
    pairs
}

struct Gather<'t, 'a> {
    table: &'t Table<'a>,
    likeness: &'t Likeness,
    settings: &'t Settings,
    /// Powers of the base of the rolling hash.
    powers: Vec<u64>,
    /// The instances by the upper bits of their keys: a part is sorted within the caches, however
    /// long the list.
    parts: Vec<Vec<Instance>>,
    /// How many there are.
    held: usize,
    capacity: usize,
    /// Whether the first pass had more instances than fit.
    overflowed: bool,
    /// How many instances each class has, counted by the first pass.
    class_sizes: Vec<u64>,
    /// The classes of this pass.
    classes: std::ops::Range<u64>,
    first_pass: bool,
    alpha_hashes: Vec<u64>,
    beta_hashes: Vec<u64>,
}

impl<'t, 'a> Gather<'t, 'a> {
    fn new(
        table: &'t Table<'a>,
        likeness: &'t Likeness,
        settings: &'t Settings,
        capacity: usize,
    ) -> Self {
        let mut powers = vec![1u64];
        for at in 0..table.longest() {
            powers.push(powers[at].wrapping_mul(BASE));
        }
        Gather {
            table,
            likeness,
            settings,
            powers,
            parts: vec![Vec::new(); PARTS],
            held: 0,
            capacity,
            overflowed: false,
            class_sizes: vec![0; CLASSES],
            classes: 0..0,
            first_pass: false,
            alpha_hashes: Vec::new(),
            beta_hashes: Vec::new(),
        }
    }

    /// Gathers the instances of some hash classes; the first pass takes all, and counts them.
    fn pass(&mut self, classes: std::ops::Range<u64>) {
        self.clear();
        self.first_pass = classes.end - classes.start == CLASSES as u64;
        self.classes = classes;
        let (table, settings, likeness) = (self.table, self.settings, self.likeness);
        let (t_low, t_high) = (settings.bucket_max_low, settings.bucket_max_high);
        let members_max = if settings.one_run { t_low } else { t_low.max(t_high) };
        bucket::for_each(table, settings.substring_tokens_max, members_max, |bucket| {
            for (at, &a) in bucket.members.iter().enumerate() {
                for &b in &bucket.members[at + 1..] {
                    if likeness.likely_similar(a as usize, b as usize) {
                        self.pair(&bucket, oriented(table, a, b, bucket.first.0));
                    }
                }
            }
        });
    }

    /// Makes an instance of a pair of URLs in every envelope of a rectangle.
    fn pair(&mut self, bucket: &Bucket<'_>, (alpha, beta): (u32, u32)) {
        let members = bucket.members.len();
        let low = members <= self.settings.bucket_max_low;
        let high = members <= self.settings.bucket_max_high;
        let mut alpha_hashes = std::mem::take(&mut self.alpha_hashes);
        let mut beta_hashes = std::mem::take(&mut self.beta_hashes);
        // What lies outside of all substrings of the rectangle is not hashed.
        let widest = |place: u32| {
            let url = self.table.url(place as usize);
            &url[bucket.first.0..url.len() - bucket.last.0]
        };
        prefix_hashes(widest(alpha), &mut alpha_hashes);
        prefix_hashes(widest(beta), &mut beta_hashes);
        for last in bucket.last.0..=bucket.last.1 {
            let cut = 1 + last - bucket.last.0;
            let ends = (alpha_hashes.len() - cut, beta_hashes.len() - cut);
            for first in bucket.first.0..=bucket.first.1 {
                let from = first - bucket.first.0;
                let a = self.slice_hash(&alpha_hashes, from, ends.0);
                let b = self.slice_hash(&beta_hashes, from, ends.1);
                let key = mix(a.wrapping_add(mix(b)));
                let (first, last) = (first as u16, last as u16);
                self.keep(Instance { key, alpha, beta, first, last, low, high });
            }
        }
        (self.alpha_hashes, self.beta_hashes) = (alpha_hashes, beta_hashes);
    }

    /// Puts an instance into the table, if it is of this pass and there is room.
    #[inline]
    fn keep(&mut self, instance: Instance) {
        let class = instance.key >> (u64::BITS - CLASSES.ilog2());
        if !self.classes.contains(&class) {
            return;
        }
        if self.first_pass {
            self.class_sizes[class as usize] += 1;
            if self.overflowed {
                return;
            }
            if self.held == self.capacity {
                self.overflowed = true;
                self.clear();
                return;
            }
        }
        self.held += 1;
        self.parts[(instance.key >> (u64::BITS - PARTS.ilog2())) as usize].push(instance);
    }

    fn clear(&mut self) {
        self.parts.iter_mut().for_each(Vec::clear);
        self.held = 0;
    }

    /// Returns the hash of the tokens `from..to`, and of their number.
    #[inline]
    fn slice_hash(&self, hashes: &[u64], from: usize, to: usize) -> u64 {
        let length = to - from;
        let hash = hashes[to].wrapping_sub(hashes[from].wrapping_mul(self.powers[length]));
        hash.wrapping_add(length as u64)
    }
}

/// An odd number with bits well spread, as the base of the rolling hash.
const BASE: u64 = 0x9E37_79B9_7F4A_7C15;

/// Sets `hashes[n]` to the hash of the first n tokens.
fn prefix_hashes(tokens: &[TokenId], hashes: &mut Vec<u64>) {
    hashes.clear();
    hashes.push(0);
    let mut hash = 0u64;
    for &token in tokens {
        hash = hash.wrapping_mul(BASE).wrapping_add(mix(u64::from(token) + 1));
        hashes.push(hash);
    }
}

/// Spreads the bits of a number (the finalizer of splitmix64).
pub(super) fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// Returns the two URLs with the one first whose substring is the greater, in every envelope that
/// they share (section 5.3): the longer one, or the one later in token order.
fn oriented(table: &Table<'_>, a: u32, b: u32, first: usize) -> (u32, u32) {
    let (x, y) = (table.url(a as usize), table.url(b as usize));
    let order = x.len().cmp(&y.len()).then_with(|| table.texts.compare(&x[first..], &y[first..]));
    if order.is_gt() { (a, b) } else { (b, a) }
}

/// Sorts instances, counts the support of each pair and keeps those with enough.
fn count(
    table: &Table<'_>,
    settings: &Settings,
    parts: &mut [Vec<Instance>],
    pairs: &mut Vec<Pair>,
) {
    for part in parts {
        part.sort_unstable_by_key(|instance| instance.key);
        count_sorted(table, settings, part, pairs);
    }
}

fn count_sorted(
    table: &Table<'_>,
    settings: &Settings,
    part: &mut [Instance],
    pairs: &mut Vec<Pair>,
) {
    let enough = settings.support_min.max(1);
    for run in part.chunk_by_mut(|a, b| a.key == b.key) {
        if (run.iter().filter(|instance| instance.low).count() as u64) < enough {
            continue;
        }
        let (alpha, beta) = substrings(table, &run[0]);
        if run.iter().all(|instance| substrings(table, instance) == (alpha, beta)) {
            pairs.extend(supported(alpha, beta, run, settings, enough));
            continue;
        }
        let mut apart: HashMap<_, Vec<Instance>> = HashMap::new();
        for instance in run.iter() {
            apart.entry(substrings(table, instance)).or_default().push(*instance);
        }
        for ((alpha, beta), mut run) in apart {
            pairs.extend(supported(alpha, beta, &mut run, settings, enough));
        }
    }
}

/// Returns the two substrings of an instance.
fn substrings<'t>(table: &'t Table<'_>, instance: &Instance) -> (&'t [TokenId], &'t [TokenId]) {
    let (first, last) = (usize::from(instance.first), usize::from(instance.last));
    let inside = |place: u32| {
        let url = table.url(place as usize);
        &url[first..url.len() - last]
    };
    (inside(instance.alpha), inside(instance.beta))
}

/// Returns the pair with its support, if that is enough.
///
/// For empty and semiperiodic substrings one pair of URLs can have several envelopes (theorem 4.1
/// excludes them): there, pairs of URLs are counted instead.
fn supported(
    alpha: &[TokenId],
    beta: &[TokenId],
    run: &mut [Instance],
    settings: &Settings,
    enough: u64,
) -> Option<Pair> {
    let by_urls =
        alpha.is_empty() || beta.is_empty() || is_semiperiodic(alpha) || is_semiperiodic(beta);
    if by_urls {
        run.sort_unstable_by_key(|instance| (instance.alpha, instance.beta));
    }
    let support_of = |counts: fn(&Instance) -> bool| -> u64 {
        if !by_urls {
            return run.iter().filter(|instance| counts(instance)).count() as u64;
        }
        run.chunk_by(|a, b| (a.alpha, a.beta) == (b.alpha, b.beta))
            .filter(|envelopes| envelopes.iter().any(counts))
            .count() as u64
    };
    let support = support_of(|instance| instance.low);
    if support < enough {
        return None;
    }
    let support_high = match settings.one_run {
        true => support,
        false => support_of(|instance| instance.high).max(support),
    };
    Some(Pair { alpha: alpha.into(), beta: beta.into(), support, support_high })
}
