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
use super::parts::sort_by_hash;
use super::settings::Settings;
use super::similar::Likeness;
use super::table::{Table, roomy};
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
    /// The places of the two URLs, in an order that is the same for every instance of a pair: see
    /// [`Gather::pair`].
    places: (u32, u32),
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
        count(table, settings, &mut gather.instances, &mut pairs);
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
            count(table, settings, &mut gather.instances, &mut pairs);
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
    instances: Vec<Instance>,
    capacity: usize,
    /// Whether the first pass had more instances than fit.
    overflowed: bool,
    /// How many instances each class has, counted by the first pass.
    class_sizes: Vec<u64>,
    /// The classes of this pass.
    classes: std::ops::Range<u64>,
    first_pass: bool,
    /// Hashes of the first tokens of the two URLs at hand.
    hashes: (Vec<u64>, Vec<u64>),
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
            instances: roomy(capacity),
            capacity,
            overflowed: false,
            class_sizes: vec![0; CLASSES],
            classes: 0..0,
            first_pass: false,
            hashes: (Vec::new(), Vec::new()),
        }
    }

    /// Gathers the instances of some hash classes; the first pass takes all, and counts them.
    fn pass(&mut self, classes: std::ops::Range<u64>) {
        self.instances.clear();
        self.first_pass = classes.end - classes.start == CLASSES as u64;
        self.classes = classes;
        let (table, settings, likeness) = (self.table, self.settings, self.likeness);
        let (t_low, t_high) = (settings.bucket_max_low, settings.bucket_max_high);
        let members_max = if settings.one_run { t_low } else { t_low.max(t_high) };
        bucket::for_each(table, settings.substring_tokens_max, members_max, |bucket| {
            for (at, &a) in bucket.members.iter().enumerate() {
                for &b in &bucket.members[at + 1..] {
                    if likeness.likely_similar(a as usize, b as usize) {
                        self.pair(&bucket, a, b);
                    }
                }
            }
        });
    }

    /// Makes an instance of a pair of URLs in every envelope of a rectangle.
    ///
    /// Whatever URLs a pair of substrings is met in, the same of the two comes first: the longer
    /// one, or the one of the greater hash. Which is greater token by token is asked once for each
    /// pair that has support, for that reads texts from all over the memory.
    fn pair(&mut self, bucket: &Bucket<'_>, a: u32, b: u32) {
        let members = bucket.members.len();
        let low = members <= self.settings.bucket_max_low;
        let high = members <= self.settings.bucket_max_high;
        let (mut a_hashes, mut b_hashes) = std::mem::take(&mut self.hashes);
        // What lies outside of all substrings of the rectangle is not hashed.
        let widest = |place: u32| {
            let url = self.table.url(place as usize);
            &url[bucket.first.0..url.len() - bucket.last.0]
        };
        prefix_hashes(widest(a), &mut a_hashes);
        prefix_hashes(widest(b), &mut b_hashes);
        let by_length = a_hashes.len().cmp(&b_hashes.len());
        for last in bucket.last.0..=bucket.last.1 {
            let cut = 1 + last - bucket.last.0;
            let ends = (a_hashes.len() - cut, b_hashes.len() - cut);
            for first in bucket.first.0..=bucket.first.1 {
                let from = first - bucket.first.0;
                let a_hash = self.slice_hash(&a_hashes, from, ends.0);
                let b_hash = self.slice_hash(&b_hashes, from, ends.1);
                let order = by_length.then(a_hash.cmp(&b_hash)).then_with(|| {
                    let inside = |place: u32| substring(self.table, place, (first, last));
                    self.table.texts.compare(inside(a), inside(b))
                });
                let (hash, places) = match order.is_gt() {
                    true => (a_hash.wrapping_add(mix(b_hash)), (a, b)),
                    false => (b_hash.wrapping_add(mix(a_hash)), (b, a)),
                };
                let (first, last) = (first as u16, last as u16);
                self.keep(Instance { key: mix(hash), places, first, last, low, high });
            }
        }
        self.hashes = (a_hashes, b_hashes);
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
            if self.instances.len() == self.capacity {
                self.overflowed = true;
                self.instances.clear();
                return;
            }
        }
        self.instances.push(instance);
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

/// Sorts instances, counts the support of each pair and keeps those with enough.
fn count(
    table: &Table<'_>,
    settings: &Settings,
    instances: &mut [Instance],
    pairs: &mut Vec<Pair>,
) {
    sort_by_hash(
        instances,
        |instance| instance.key,
        |part| {
            // Those of a pair in the order of their URLs, in which the memory is read best.
            part.sort_unstable_by_key(|instance| (instance.key, instance.places));
            count_sorted(table, settings, part, pairs);
        },
    );
}

fn count_sorted(table: &Table<'_>, settings: &Settings, part: &[Instance], pairs: &mut Vec<Pair>) {
    let enough = settings.support_min.max(1);
    for run in part.chunk_by(|a, b| a.key == b.key) {
        if (run.iter().filter(|instance| instance.low).count() as u64) < enough {
            continue;
        }
        let pair = substrings(table, &run[0]);
        if run.iter().all(|instance| substrings(table, instance) == pair) {
            pairs.extend(supported(table, pair, run, settings, enough));
            continue;
        }
        let mut apart: HashMap<_, Vec<Instance>> = HashMap::new();
        for instance in run.iter() {
            apart.entry(substrings(table, instance)).or_default().push(*instance);
        }
        for (pair, run) in apart {
            pairs.extend(supported(table, pair, &run, settings, enough));
        }
    }
}

/// Returns the two substrings of an instance.
fn substrings<'t>(table: &'t Table<'_>, instance: &Instance) -> (&'t [TokenId], &'t [TokenId]) {
    let envelope = (usize::from(instance.first), usize::from(instance.last));
    let (a, b) = instance.places;
    (substring(table, a, envelope), substring(table, b, envelope))
}

/// Returns what an envelope leaves of the URL at a place.
fn substring<'t>(table: &'t Table<'_>, place: u32, (first, last): (usize, usize)) -> &'t [TokenId] {
    let url = table.url(place as usize);
    &url[first..url.len() - last]
}

/// Returns the pair with its support, if that is enough; `run` is in the order of places.
///
/// For empty and semiperiodic substrings one pair of URLs can have several envelopes (theorem 4.1
/// excludes them): there, pairs of URLs are counted instead.
fn supported(
    table: &Table<'_>,
    (a, b): (&[TokenId], &[TokenId]),
    run: &[Instance],
    settings: &Settings,
    enough: u64,
) -> Option<Pair> {
    let by_urls = a.is_empty() || b.is_empty() || is_semiperiodic(a) || is_semiperiodic(b);
    let support_of = |counts: fn(&Instance) -> bool| -> u64 {
        if !by_urls {
            return run.iter().filter(|instance| counts(instance)).count() as u64;
        }
        run.chunk_by(|a, b| a.places == b.places)
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
    let order = a.len().cmp(&b.len()).then_with(|| table.texts.compare(a, b));
    let (alpha, beta) = if order.is_gt() { (a, b) } else { (b, a) };
    Some(Pair { alpha: alpha.into(), beta: beta.into(), support, support_high })
}
