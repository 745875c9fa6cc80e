//! RP and HM signatures [Di Iorio et al., "Detecting near-replicas on the Web by content and
//! hyperlink analysis", WWW 2003]: a page as five numbers for its words, and five for what it links
//! to.
//!
//! **Random projection** (RP): the bag of words times a matrix of random entries, uniform in
//! [-1, 1]; an entry follows from the word's hash, so there is no dictionary and no matrix. Over a
//! collection each component is brought to [0, 1] ([`normalized`]).
//!
//! **Hyperlink Map** (HM): `x(t+1) = r + gamma * sum over children q of x_q(t) * r_q`, component by
//! component, three to five times, then divided by the largest component of all. Taken as published
//! ([`Form::Published`]) a page's value grows with the number of its links: one hub sets the
//! divisor, and all other pages crowd together near zero, where the threshold tells nothing apart.
//! [`Form::ByOutDegree`] takes the mean instead of the sum, and has no such trouble.
//!
//! Two pages collide if their HM differ by less than `C` and their RP by less than `D` in every
//! component.
//!
//! Break-even of precision and recall, `cargo bench --bench near -- signatures`:
//!
//! | pages and planted replicas | K | RP | RP + HM, published | RP + HM, by out-degree |
//! |---|---|---|---|---|
//! | 5,000; 3 of 4 replicas exact, others changed in 1-3 words | 5 | 0.90 | 0.94 | 0.95 |
//! | | 8 | 0.97 | 0.99 | 0.99 |
//! | 20,000; the same | 5 | 0.88 | 0.91 | 0.93 |
//! | | 8 | 0.98 | 0.98 | 0.98 |
//! | 20,000; the same, and 10 hubs of 2,000 links | 5 | 0.88 | 0.88 (97 % near zero) | 0.92 |
//! | | 8 | 0.97 | 0.97 (97 % near zero) | 0.98 |
//! | 20,000; half exact, 10 hubs | 8 | 0.96 | 0.96 | 0.98 |
//! | 20,000; 1 % of words edited, 10 hubs | 8 | 0.88 | 0.88 | 0.97 |
//! | 20,000; 5 % of words edited, 10 hubs | 8 | 0.40 | 0.40 | 0.79 |
//!
//! With hubs the published form brings nothing over RP alone: the best `C` is no threshold at all.
//! The paper has 0.90 and 0.93 at `K` = 5 on 300,000 pages, whose replicas it does not describe. At
//! the default of `K` = 8 both forms are above that on replicas as in the first seven rows; at `K`
//! = 5 RP alone is not.
//!
//! This serves reports over a finished crawl: a few numbers a page are cheap to keep, and to
//! compare across sites. For judging pages as they come sketches are sharper: they find 0.98 of all
//! edits of up to 5 % of the words at a precision of 1.

use serde::{Deserialize, Serialize};

use super::shingle::mix;

/// A point by which a page is compared: `K` components, five in the paper.
pub type Signature<const K: usize> = [f32; K];

/// Components by default. Five are few for texts that share a language: the more pages, the more
/// strangers fall into one small cube of five dimensions. Eight cost 32 bytes instead of 20.
pub const COMPONENTS: usize = 8;

/// Settings of RP and HM signatures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct SignatureSettings {
    /// How much of its children's signatures a page takes on.
    pub gamma: f32,
    /// How often signatures are passed on to parents: the depth of links that tell.
    pub iterations: u32,
    /// How children are added up: `published`, their sum as in the paper, or `by_out_degree`, their
    /// mean, which hubs do not spoil.
    pub form: Form,
    /// HM signatures of near-replicas differ by less than this (`C`).
    pub hm_tolerance: f32,
    /// RP signatures of near-replicas differ by less than this (`D`).
    pub rp_tolerance: f32,
}

impl Default for SignatureSettings {
    fn default() -> Self {
        SignatureSettings {
            gamma: 0.5,
            iterations: 4,
            form: Form::ByOutDegree,
            hm_tolerance: 0.03,
            rp_tolerance: 0.02,
        }
    }
}

/// How the signatures of a page's children are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Their sum, as in the paper.
    Published,
    /// Their mean.
    ByOutDegree,
}

/// Returns the projection of a bag of words, given as [`super::Analysis::main_words`]: not yet
/// normalized, so that it can be stored with the page.
///
/// The bag is weighted by one over the root of its Euclidean length; the paper leaves this open.
/// Taken raw, the length of a text drowns its words: long texts set the scale, short ones are all
/// alike. Brought to length one, a good witness is lost, for near-replicas are equally long. The
/// root lies between, and was best where HM is used too: see the table of `tests/bench/near.rs`.
pub fn project<const K: usize>(words: &[u64]) -> Signature<K> {
    let mut sorted = words.to_vec();
    sorted.sort_unstable();
    let mut sums = [0i64; K];
    let mut squares = 0u64;
    for same in sorted.chunk_by(|a, b| a == b) {
        let count = same.len() as u64;
        squares += count * count;
        let mut bits = 0;
        for (at, sum) in sums.iter_mut().enumerate() {
            if at % 5 == 0 {
                bits = mix(same[0] ^ 0x7270 ^ (at as u64) << 32);
            }
            // Twelve bits for an entry are plenty: 4,096 steps from -1 to 1.
            *sum += count as i64 * (2 * (bits & 0xfff) as i64 - 0xfff);
            bits >>= 12;
        }
    }
    let scale = f64::from(0xfff) * (squares as f64).sqrt().sqrt().max(1.0);
    sums.map(|sum| (sum as f64 / scale) as f32)
}

/// Returns the RP signatures of a collection: its projections, each component brought to [0, 1].
pub fn normalized<const K: usize>(projections: &[Signature<K>]) -> Vec<Signature<K>> {
    let mut least = [f32::INFINITY; K];
    let mut most = [f32::NEG_INFINITY; K];
    for projection in projections {
        for at in 0..K {
            least[at] = least[at].min(projection[at]);
            most[at] = most[at].max(projection[at]);
        }
    }
    let scale = |at: usize, value: f32| {
        let range = most[at] - least[at];
        if range > 0.0 { (value - least[at]) / range } else { 0.0 }
    };
    let all = |projection: &Signature<K>| std::array::from_fn(|at| scale(at, projection[at]));
    projections.iter().map(all).collect()
}

/// Returns the HM signatures of a collection, given its RP signatures and the children of each page
/// (indices into the collection; others are left out by the caller).
pub fn hyperlink_map<const K: usize>(
    rp: &[Signature<K>],
    children: &[Vec<u32>],
    settings: &SignatureSettings,
) -> Vec<Signature<K>> {
    let mut now = rp.to_vec();
    for _ in 0..settings.iterations {
        let next = |(own, children): (&Signature<K>, &Vec<u32>)| {
            let mut sum = [0.0f64; K];
            for child in children.iter().map(|child| *child as usize) {
                for at in 0..K {
                    sum[at] += f64::from(now[child][at]) * f64::from(rp[child][at]);
                }
            }
            let share = match settings.form {
                Form::Published => 1.0,
                Form::ByOutDegree => 1.0 / children.len().max(1) as f64,
            };
            std::array::from_fn(|at| {
                let value = f64::from(own[at]) + f64::from(settings.gamma) * share * sum[at];
                // The published form grows without bound on cycles of hubs.
                value.min(1e30) as f32
            })
        };
        now = rp.iter().zip(children).map(next).collect();
    }
    let most = now.iter().flatten().copied().fold(0.0f32, f32::max);
    if most > 0.0 {
        now.iter_mut().flatten().for_each(|value| *value /= most);
    }
    now
}

/// Returns the largest difference of two signatures in any component.
pub fn distance<const K: usize>(a: &Signature<K>, b: &Signature<K>) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Returns the pairs of pages that collide: HM within `C` and RP within `D`.
///
/// Walks the pages in the order of one RP component, so it costs the number of pages times those
/// within `D` of each in that component.
pub fn collisions<const K: usize>(
    rp: &[Signature<K>],
    hm: &[Signature<K>],
    settings: &SignatureSettings,
) -> Vec<(u32, u32)> {
    let mut order: Vec<u32> = (0..rp.len() as u32).collect();
    order.sort_by(|a, b| rp[*a as usize][0].total_cmp(&rp[*b as usize][0]).then(a.cmp(b)));
    let mut out = Vec::new();
    for (at, a) in order.iter().enumerate() {
        let reach = rp[*a as usize][0] + settings.rp_tolerance;
        for b in order[at + 1..].iter().take_while(|b| rp[**b as usize][0] < reach) {
            let (one, other) = (*a as usize, *b as usize);
            if distance(&rp[one], &rp[other]) < settings.rp_tolerance
                && distance(&hm[one], &hm[other]) < settings.hm_tolerance
            {
                out.push((*a.min(b), *a.max(b)));
            }
        }
    }
    out.sort_unstable();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Words;

    const K: usize = 5;

    fn rp(texts: &[&str]) -> Vec<Signature<K>> {
        let projected = texts.iter().map(|text| project(Words::of(text).hashes()));
        normalized(&projected.collect::<Vec<_>>())
    }

    #[test]
    fn the_order_of_words_does_not_matter_and_the_words_do() {
        let all = rp(&["a b c d", "d c b a", "a b c e", "x y z"]);
        assert_eq!(distance(&all[0], &all[1]), 0.0);
        assert!(distance(&all[0], &all[2]) > 0.0);
        assert!(all.iter().flatten().all(|value| (0.0..=1.0).contains(value)));
    }

    #[test]
    fn entries_are_spread_evenly_from_minus_one_to_one() {
        let entries: Vec<Signature<K>> = (0..20_000u64).map(|word| project(&[mix(word)])).collect();
        for at in 0..K {
            let mean = entries.iter().map(|entry| f64::from(entry[at])).sum::<f64>() / 20_000.0;
            let squares: f64 = entries.iter().map(|entry| f64::from(entry[at]).powi(2)).sum();
            assert!(mean.abs() < 0.02, "{mean}");
            assert!((squares / 20_000.0 - 1.0 / 3.0).abs() < 0.01);
        }
    }

    #[test]
    fn pages_with_the_same_words_differ_by_what_they_link_to() {
        let rp = rp(&["same words", "same words", "other things", "more of the rest", "last page"]);
        let children = vec![vec![2], vec![3], vec![4], vec![], vec![]];
        for form in [Form::Published, Form::ByOutDegree] {
            let settings = SignatureSettings { form, ..SignatureSettings::default() };
            let hm = hyperlink_map(&rp, &children, &settings);
            assert!(distance(&hm[0], &hm[1]) > 0.01, "{form:?}");
            assert_eq!(collisions(&rp, &hm, &settings), []);
            let alike = hyperlink_map(&rp, &vec![Vec::new(); 5], &settings);
            assert_eq!(collisions(&rp, &alike, &settings), [(0, 1)]);
        }
    }

    #[test]
    fn the_equation_is_the_published_one() {
        let rp = vec![[0.5; K], [0.2; K], [1.0; K]];
        let children = vec![vec![1, 2], vec![2], vec![]];
        let settings = SignatureSettings {
            form: Form::Published,
            gamma: 0.5,
            iterations: 2,
            ..SignatureSettings::default()
        };
        // x1(1) = 0.2 + 0.5 * 1 = 0.7; x0(2) = 0.5 + 0.5 * (0.7 * 0.2 + 1) = 1.07, the largest.
        let hm = hyperlink_map(&rp, &children, &settings);
        let want = [1.0, 0.7 / 1.07, 1.0 / 1.07];
        for (got, want) in hm.iter().zip(want) {
            assert!((got[0] - want).abs() < 1e-6, "{got:?}");
        }
    }

    #[test]
    fn one_hub_crowds_the_published_form_and_not_the_other() {
        let pages = 500u32;
        let texts: Vec<String> =
            (0..pages).map(|n| format!("w{n} x{} y{}", n / 2, n / 3)).collect();
        let rp = rp(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let mut children: Vec<Vec<u32>> = (0..pages).map(|n| vec![(n * 7 + 1) % pages]).collect();
        children[0] = (1..pages).collect();
        let spread = |form: Form| {
            let settings = SignatureSettings { form, ..SignatureSettings::default() };
            let hm = hyperlink_map(&rp, &children, &settings);
            let mut values: Vec<f32> = hm.iter().map(|page| page[0]).collect();
            values.sort_by(f32::total_cmp);
            values[450] - values[50]
        };
        assert!(spread(Form::Published) < 0.02, "{}", spread(Form::Published));
        assert!(spread(Form::ByOutDegree) > 0.2, "{}", spread(Form::ByOutDegree));
    }

    #[test]
    fn empty_collections_have_no_collisions() {
        let settings = SignatureSettings::default();
        assert_eq!(normalized::<K>(&[]), Vec::<Signature<K>>::new());
        assert_eq!(hyperlink_map::<K>(&[], &[], &settings), Vec::<Signature<K>>::new());
        assert_eq!(collisions::<K>(&[], &[], &settings), []);
    }

    #[test]
    fn planted_replicas_break_even_above_the_figures_of_the_paper() {
        use crate::content::replicas::{break_even, collection};
        let collection = collection(2_000, 3, -0.5, 5);
        let projected: Vec<Signature<COMPONENTS>> =
            collection.texts.iter().map(|text| project(text)).collect();
        let rp = normalized(&projected);
        let settings = SignatureSettings::default();
        let hm = hyperlink_map(&rp, &collection.children, &settings);
        let none = vec![[0.0; COMPONENTS]; rp.len()];
        let (alone, _, _) = break_even(&collection, &rp, &none);
        let (with_links, _, _) = break_even(&collection, &rp, &hm);
        assert!(alone >= 0.90, "{alone}");
        assert!(with_links >= 0.93, "{with_links}");
        // The default thresholds are not far from the best ones.
        let found = collisions(&rp, &hm, &settings);
        let right = found.iter().filter(|pair| collection.planted.contains(pair)).count();
        assert!(right * 10 >= collection.planted.len() * 9, "recall of {right}");
        assert!(right * 10 >= found.len() * 9, "precision of {right} in {}", found.len());
    }
}
