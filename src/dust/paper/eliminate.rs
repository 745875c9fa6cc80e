//! Redundant pairs: a rule falls when another says the same with its full context (section 5.2).

use std::cmp::Ordering;
use std::collections::HashMap;

use super::settings::Settings;
use super::support::{Pair, mix};
use super::token::{TokenId, TokenTable};

/// Sorts pairs by a support, greatest first; equal supports by length, longest first, then by
/// tokens. Longer pairs first, so that a refinement is met before what it refines.
pub(super) fn sort(pairs: &mut [Pair], texts: &TokenTable<'_>, support: fn(&Pair) -> u64) {
    pairs.sort_unstable_by(|a, b| compare(a, b, texts, support));
}

fn compare(a: &Pair, b: &Pair, texts: &TokenTable<'_>, support: fn(&Pair) -> u64) -> Ordering {
    let length = |pair: &Pair| pair.alpha.len() + pair.beta.len();
    support(b)
        .cmp(&support(a))
        .then_with(|| length(b).cmp(&length(a)))
        .then_with(|| texts.compare(&a.alpha, &b.alpha))
        .then_with(|| texts.compare(&a.beta, &b.beta))
}

/// Returns for each pair whether it stays when redundant ones are dropped (figure 2).
///
/// The figure looks at every pair of a window of up to MW below each rule. By lemma 5.3 a pair
/// refines exactly those that are left when common first and last tokens are taken from it, so they
/// are looked up instead. The outcome is the figure's own, to its letter: a pair that has fallen
/// can still fell others that stand above it.
pub(super) fn kept(pairs: &[Pair], texts: &TokenTable<'_>, settings: &Settings) -> Vec<bool> {
    let mut order: Vec<u32> = (0..pairs.len() as u32).collect();
    order.sort_unstable_by(|&a, &b| {
        compare(&pairs[a as usize], &pairs[b as usize], texts, |pair| pair.support_high)
    });
    let ranked = Ranked::new(pairs, &order);
    // For the pair at each rank, the first rank below it whose pair refines it.
    let mut refined_by = vec![u32::MAX; order.len()];
    for at in 0..order.len() {
        ranked.for_each_refined(at, |other| {
            if other < at && refined_by[other] == u32::MAX {
                refined_by[other] = at as u32;
            }
        });
    }
    let mut kept = vec![true; pairs.len()];
    for at in 0..order.len() {
        if !kept[order[at] as usize] {
            continue;
        }
        let end = ranked.window_end(at, settings);
        let falls_at = (refined_by[at] as usize).min(end);
        ranked.for_each_refined(at, |other| {
            if other > at && other < falls_at {
                kept[order[other] as usize] = false;
            }
        });
        kept[order[at] as usize] = falls_at == end;
    }
    kept
}

/// Pairs by rank, to be found by their tokens.
struct Ranked<'p> {
    pairs: &'p [Pair],
    order: &'p [u32],
    /// The last rank with each hash.
    last: HashMap<u64, u32>,
    /// For each rank the one before it with the same hash, itself if there is none.
    before: Vec<u32>,
}

impl<'p> Ranked<'p> {
    fn new(pairs: &'p [Pair], order: &'p [u32]) -> Self {
        let mut last = HashMap::with_capacity(pairs.len());
        let mut before = Vec::with_capacity(pairs.len());
        for (rank, &at) in order.iter().enumerate() {
            let pair = &pairs[at as usize];
            let rank = rank as u32;
            before.push(last.insert(hash(&pair.alpha, &pair.beta), rank).unwrap_or(rank));
        }
        Ranked { pairs, order, last, before }
    }

    fn pair(&self, rank: usize) -> &'p Pair {
        &self.pairs[self.order[rank] as usize]
    }

    /// Returns the rank after the last pair that is compared with the one at `rank`.
    fn window_end(&self, rank: usize, settings: &Settings) -> usize {
        let size = self.pair(rank).support_high;
        let relative = settings.deficiency_relative_max * size as f64;
        let deficiency = relative.max(settings.deficiency_absolute_max as f64);
        let end = rank.saturating_add(1).saturating_add(settings.window_max).min(self.order.len());
        let below = &self.order[rank + 1..end];
        rank + 1
            + below.partition_point(|&at| {
                (size - self.pairs[at as usize].support_high) as f64 <= deficiency
            })
    }

    /// Calls `found` with the rank of every pair that the one at `rank` refines. The same pair is
    /// found once for each way of taking it out.
    fn for_each_refined(&self, rank: usize, mut found: impl FnMut(usize)) {
        let pair = self.pair(rank);
        for_each_inner(&pair.alpha, &pair.beta, |alpha, beta| {
            let Some(&last) = self.last.get(&hash(alpha, beta)) else { return };
            let mut at = last;
            loop {
                let other = self.pair(at as usize);
                if *other.alpha == *alpha && *other.beta == *beta {
                    found(at as usize);
                    return;
                }
                let before = self.before[at as usize];
                if before == at {
                    return;
                }
                at = before;
            }
        });
    }
}

fn hash(alpha: &[TokenId], beta: &[TokenId]) -> u64 {
    let over = |start: u64, tokens: &[TokenId]| {
        tokens.iter().fold(start, |hash, &token| mix(hash ^ u64::from(token)))
    };
    over(over(alpha.len() as u64, alpha), beta)
}

/// Calls `visit` with what is left of two strings when some common first tokens and some common
/// last tokens are taken away, not both none.
fn for_each_inner<T: PartialEq>(alpha: &[T], beta: &[T], mut visit: impl FnMut(&[T], &[T])) {
    let shorter = alpha.len().min(beta.len());
    let first = alpha.iter().zip(beta).take_while(|(x, y)| x == y).count();
    let last = alpha.iter().rev().zip(beta.iter().rev()).take_while(|(x, y)| x == y).count();
    for i in 0..=first {
        for k in 0..=last.min(shorter - i) {
            if i + k > 0 {
                visit(&alpha[i..alpha.len() - k], &beta[i..beta.len() - k]);
            }
        }
    }
}

/// Returns whether the first pair refines the second: every instance of it is one of the other
/// (lemma 5.3), in either direction.
pub(super) fn refines<T: PartialEq>(
    (alpha, beta): (&[T], &[T]),
    (inner_alpha, inner_beta): (&[T], &[T]),
) -> bool {
    rule_refines((alpha, beta), (inner_alpha, inner_beta))
        || rule_refines((alpha, beta), (inner_beta, inner_alpha))
}

/// Returns whether the first rule is the second between some common first and last tokens.
fn rule_refines<T: PartialEq>((alpha, beta): (&[T], &[T]), (a, b): (&[T], &[T])) -> bool {
    let Some(outside) = alpha.len().checked_sub(a.len()) else { return false };
    if beta.len().checked_sub(b.len()) != Some(outside) {
        return false;
    }
    (0..=outside).any(|i| {
        alpha[i..].starts_with(a)
            && beta[i..].starts_with(b)
            && alpha[..i] == beta[..i]
            && alpha[i + a.len()..] == beta[i + b.len()..]
    })
}

#[cfg(test)]
mod tests {
    use super::super::token::tokens;
    use super::*;

    fn check(pair: (&str, &str), inner: (&str, &str), want: bool) {
        let cut = |text: &str| tokens(text).map(str::to_owned).collect::<Vec<_>>();
        let (a, b, c, d) = (cut(pair.0), cut(pair.1), cut(inner.0), cut(inner.1));
        assert_eq!(refines((&a[..], &b[..]), (&c[..], &d[..])), want, "{pair:?} {inner:?}");
        assert_eq!(refines((&a[..], &b[..]), (&d[..], &c[..])), want, "{pair:?} {inner:?} turned");
    }

    #[test]
    fn a_pair_refines_what_is_left_of_it_without_common_ends() {
        check((".il/story?id=", ".il/story_"), ("story?id=", "story_"), true);
        check((".il/story?id=", ".il/story_"), ("?id=", "_"), true);
        check(("?id=", "_"), ("story?id=", "story_"), false);
        check(("x/people/y", "x~y"), ("/people/", "~"), true);
        check(("a.a", "a.b"), ("a", "b"), true);
        check(("a.a", "b.a"), ("a", "b"), true);
        check(("a.a", "b.b"), ("a", "b"), false);
        check(("x/", "x"), ("/", ""), true);
    }
}
