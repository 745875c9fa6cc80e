//! The first two phases exactly as figures 1 and 2 of the paper have them: tables of strings, every
//! substring of every URL, every pair of the window. Slow, and hard to get wrong.

use std::collections::{BTreeMap, BTreeSet};

use crawler::dust::paper::{BEGIN, Cue, END, Record, Settings, tokens};

type Strings = Vec<String>;
type Pair = (Strings, Strings);

/// What is known of one URL.
struct Known {
    url: String,
    tokens: Strings,
    size: Option<(i64, i64)>,
    sketch: Vec<u64>,
}

/// The results of the first two phases.
pub(crate) struct Naive {
    /// Each pair with its support by T_low and by T_high.
    pub(crate) likely: BTreeMap<Pair, (u64, u64)>,
    /// What the second phase leaves, best first.
    pub(crate) after_elimination: Vec<Pair>,
}

impl Naive {
    pub(crate) fn mine(records: &[Record], settings: &Settings) -> Naive {
        let list = preprocess(records);
        let low = detect_likely_rules(&list, settings.bucket_max_low, settings);
        let high = match settings.one_run {
            true => low.clone(),
            false => detect_likely_rules(&list, settings.bucket_max_high, settings),
        };
        let likely: BTreeMap<Pair, (u64, u64)> = low
            .into_iter()
            .map(|(pair, support)| {
                let support_high = support.max(high.get(&pair).copied().unwrap_or(0));
                (pair, (support, support_high))
            })
            .collect();
        let by_high = sorted(&likely, |supports| supports.1);
        let kept = eliminate_redundancies(&by_high, &likely, settings);
        let by_low = sorted(&likely, |supports| supports.0);
        let after_elimination = by_low.into_iter().filter(|pair| kept.contains(pair)).collect();
        Naive { likely, after_elimination }
    }
}

fn preprocess(records: &[Record]) -> Vec<Known> {
    let mut list: Vec<Known> = Vec::new();
    for record in records.iter().filter(|record| record.status < 400) {
        if !list.iter().any(|known| known.url == record.url) {
            let inner = tokens(&record.url).map(str::to_owned);
            let all = std::iter::once(BEGIN.to_owned()).chain(inner).chain([END.to_owned()]);
            let url = record.url.clone();
            list.push(Known { url, tokens: all.collect(), size: None, sketch: vec![] });
        }
        let known = list.iter_mut().find(|known| known.url == record.url).unwrap();
        if record.status == 200 {
            known.size = match (known.size, record.size) {
                (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
                (a, b) => a.or(b),
            };
        }
        if known.sketch.is_empty() {
            known.sketch.clone_from(&record.sketch);
        }
    }
    list
}

fn likely_similar(a: &Known, b: &Known, cue: Cue, settings: &Settings) -> bool {
    match cue {
        Cue::Size => match (a.size, b.size) {
            (Some(a), Some(b)) => a.0 <= b.1 && b.0 <= a.1,
            _ => true,
        },
        Cue::Sketch if !a.sketch.is_empty() && !b.sketch.is_empty() => {
            let both = a.sketch.iter().zip(&b.sketch).take(settings.sketch_values);
            both.filter(|(x, y)| x == y).count() >= settings.sketch_values_min
        }
        _ => true,
    }
}

/// Figure 1.
fn detect_likely_rules(list: &[Known], t: usize, settings: &Settings) -> BTreeMap<Pair, u64> {
    let cue = match settings.cue {
        Cue::Auto if list.iter().any(|known| !known.sketch.is_empty()) => Cue::Sketch,
        Cue::Auto if list.iter().any(|known| known.size.is_some()) => Cue::Size,
        cue => cue,
    };
    let mut buckets: BTreeMap<Pair, Vec<(Strings, usize)>> = BTreeMap::new();
    for (at, known) in list.iter().enumerate() {
        let url = &known.tokens;
        for length in 0..=settings.substring_tokens_max.min(url.len()) {
            for i in 0..=url.len() - length {
                let envelope = (url[..i].to_vec(), url[i + length..].to_vec());
                buckets.entry(envelope).or_default().push((url[i..i + length].to_vec(), at));
            }
        }
    }
    let mut instances: BTreeMap<Pair, Vec<(usize, usize)>> = BTreeMap::new();
    for bucket in buckets.values().filter(|bucket| bucket.len() > 1 && bucket.len() <= t) {
        for x in bucket {
            for y in bucket.iter().filter(|y| greater(&x.0, &y.0)) {
                if likely_similar(&list[x.1], &list[y.1], cue, settings) {
                    instances.entry((x.0.clone(), y.0.clone())).or_default().push((x.1, y.1));
                }
            }
        }
    }
    let support = |pair: &Pair, instances: &Vec<(usize, usize)>| -> u64 {
        let excluded = |string: &Strings| string.is_empty() || has_border(string);
        match excluded(&pair.0) || excluded(&pair.1) {
            true => instances.iter().collect::<BTreeSet<_>>().len() as u64,
            false => instances.len() as u64,
        }
    };
    instances
        .iter()
        .map(|(pair, instances)| (pair.clone(), support(pair, instances)))
        .filter(|&(_, support)| support >= settings.support_min)
        .collect()
}

fn greater(a: &Strings, b: &Strings) -> bool {
    (a.len(), a) > (b.len(), b)
}

fn has_border(string: &Strings) -> bool {
    (1..string.len()).any(|length| string.ends_with(&string[..length]))
}

fn sorted(likely: &BTreeMap<Pair, (u64, u64)>, by: fn(&(u64, u64)) -> u64) -> Vec<Pair> {
    let mut pairs: Vec<_> = likely.iter().collect();
    let tokens = |pair: &Pair| pair.0.len() + pair.1.len();
    pairs
        .sort_by(|(a, x), (b, y)| by(y).cmp(&by(x)).then(tokens(b).cmp(&tokens(a))).then(a.cmp(b)));
    pairs.into_iter().map(|(pair, _)| pair.clone()).collect()
}

/// Figure 2.
fn eliminate_redundancies(
    r: &[Pair],
    likely: &BTreeMap<Pair, (u64, u64)>,
    settings: &Settings,
) -> BTreeSet<Pair> {
    let size = |i: usize| likely[&r[i]].1 as f64;
    let mut eliminated = vec![false; r.len()];
    for i in 0..r.len() {
        if eliminated[i] {
            continue;
        }
        for j in 1..=settings.window_max.min(r.len() - 1 - i) {
            let allowed = (settings.deficiency_relative_max * size(i))
                .max(settings.deficiency_absolute_max as f64);
            if size(i) - size(i + j) > allowed {
                break;
            }
            if refines(&r[i], &r[i + j]) {
                eliminated[i + j] = true;
            } else if refines(&r[i + j], &r[i]) {
                eliminated[i] = true;
                break;
            }
        }
    }
    r.iter().zip(eliminated).filter(|(_, gone)| !gone).map(|(pair, _)| pair.clone()).collect()
}

/// Lemma 5.3 in both directions: alpha is found in alpha', replaced by beta, and gives beta'.
fn refines(pair: &Pair, inner: &Pair) -> bool {
    let rule_refines = |alpha: &Strings, beta: &Strings| {
        (0..=pair.0.len()).any(|i| {
            pair.0[i..].starts_with(alpha) && {
                let replaced = [&pair.0[..i], beta, &pair.0[i + alpha.len()..]].concat();
                replaced == pair.1
            }
        })
    };
    rule_refines(&inner.0, &inner.1) || rule_refines(&inner.1, &inner.0)
}
