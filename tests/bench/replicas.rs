//! Collections with planted near-replicas, and how well thresholds on signatures find them.

use super::pages::{Chance, edit, text};
use super::signature::{SignatureSettings, collisions, distance};

/// A collection with planted near-replicas: texts in topics, sites as trees with a menu, and for
/// one page in twenty a near-replica on a mirror, with the same children or their replicas.
pub struct Collection {
    /// Hashes of the words of each page.
    pub texts: Vec<Vec<u64>>,
    /// Pages that each page links to.
    pub children: Vec<Vec<u32>>,
    /// Pairs of near-replicas.
    pub planted: Vec<(u32, u32)>,
}

/// `edits` is the share of words edited, or minus the share of exact replicas, the others differing
/// in one to three words.
pub fn collection(pages: u32, hubs: u32, edits: f64, seed: u64) -> Collection {
    let mut chance = Chance(seed);
    let mut texts: Vec<Vec<u64>> = Vec::new();
    let mut children: Vec<Vec<u32>> = Vec::new();
    let site = 50;
    for page in 0..pages {
        // Lengths from 100 to 4,000 words, half of them under 400.
        let words = (100.0 * 40f64.powf(chance.share().powf(1.4))) as usize;
        let topic = chance.below(200) * 30_000;
        let mut ranks = text(chance.next(), words);
        // Half of the words belong to the topic.
        ranks.iter_mut().for_each(|rank| *rank += topic * u64::from(chance.below(2) == 0));
        texts.push(ranks);
        let home = page - page % site;
        let mut links: Vec<u32> = (0..1 + chance.below(8))
            .map(|_| (home + chance.below(u64::from(site)) as u32).min(pages - 1))
            .collect();
        links.push(home);
        if chance.below(3) == 0 {
            links.push(chance.below(u64::from(pages)) as u32);
        }
        children.push(links);
    }
    for hub in 0..hubs {
        let all: Vec<u32> =
            (0..pages / 10).map(|_| chance.below(u64::from(pages)) as u32).collect();
        children[(hub * site) as usize] = all;
    }
    let mut planted = Vec::new();
    for copy in 0..pages / 20 {
        let original = (copy * 20 + 7) % pages;
        planted.push((original, pages + copy));
        texts.push(if edits > 0.0 {
            edit(&texts[original as usize], edits, u64::from(copy))
        } else {
            let mut copied = texts[original as usize].clone();
            let changed = u64::from(chance.share() > -edits) * (1 + chance.below(3));
            for _ in 0..changed {
                let at = chance.below(copied.len() as u64) as usize;
                copied[at] = 1_000_000_000 + chance.below(3000);
            }
            copied
        });
        let mut links = children[original as usize].clone();
        // A mirror links to its own home page and drops a link now and then.
        if links.len() > 3 && chance.below(4) == 0 {
            links.pop();
        }
        children.push(links);
    }
    let hashed = |ranks: Vec<u64>| ranks.into_iter().map(|rank| Chance(rank).next()).collect();
    let texts = texts.into_iter().map(hashed).collect();
    Collection { texts, children, planted }
}

/// Returns the best min(precision, recall) over both thresholds, and the thresholds.
///
/// As in the paper: recall is the share of planted pages that are returned with their replica,
/// precision the share of returned pages that have a replica.
pub fn break_even<const K: usize>(
    collection: &Collection,
    rp: &[[f32; K]],
    hm: &[[f32; K]],
) -> (f64, f32, f32) {
    let all = SignatureSettings {
        hm_tolerance: f32::INFINITY,
        rp_tolerance: 0.05,
        ..SignatureSettings::default()
    };
    let pairs = collisions(rp, hm, &all);
    let planted: std::collections::BTreeSet<(u32, u32)> =
        collection.planted.iter().copied().collect();
    let mut has_replica = vec![false; rp.len()];
    planted.iter().for_each(|(a, b)| {
        has_replica[*a as usize] = true;
        has_replica[*b as usize] = true;
    });
    let mut found: Vec<(f32, f32, usize, usize, bool)> = pairs
        .iter()
        .map(|(a, b)| {
            let (x, y) = (*a as usize, *b as usize);
            let (c, d) = (distance(&hm[x], &hm[y]), distance(&rp[x], &rp[y]));
            (c, d, x, y, planted.contains(&(*a, *b)))
        })
        .collect();
    found.sort_by(|x, y| x.1.total_cmp(&y.1));
    let steps = |most: f32| (0..24).map(move |step| most * 0.75f32.powi(step));
    let mut best = (0.0, 0.0, 0.0);
    for d in steps(0.05) {
        let within = &found[..found.partition_point(|pair| pair.1 < d)];
        for c in steps(1.0) {
            let mut returned = vec![false; rp.len()];
            let mut hits = 0;
            for (_, _, x, y, is_planted) in within.iter().filter(|pair| pair.0 < c) {
                returned[*x] = true;
                returned[*y] = true;
                hits += usize::from(*is_planted);
            }
            let all = returned.iter().filter(|page| **page).count() as f64;
            let right =
                returned.iter().zip(&has_replica).filter(|(a, b)| **a && **b).count() as f64;
            let value = (right / all.max(1.0)).min(f64::from(hits as u32) / planted.len() as f64);
            if value > best.0 {
                best = (value, c, d);
            }
        }
    }
    best
}
