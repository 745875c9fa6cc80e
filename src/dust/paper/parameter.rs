//! The third phase: parameters whose value may not matter. The paper names parameter substitution
//! and leaves it to its technical report; the choices here are named where they are made.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use super::list::UrlList;
use super::settings::Settings;
use super::similar::Likeness;

/// A parameter that is probably without effect, and the evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParameterCandidate {
    /// The name of the parameter.
    #[serde(rename = "param")]
    pub name: String,
    /// Its most frequent value.
    pub value: String,
    /// How many of the compared pairs were likely similar.
    pub similar_pairs: u64,
    /// How many pairs of URLs that differ in this parameter only were compared.
    pub pairs: u64,
}

/// One `name=value` in a URL: where the name begins, where the value begins and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Occurrence {
    name: usize,
    value: usize,
    end: usize,
}

/// Returns the parameters of a URL: after any `?` or `&`, a name without `?&=#`, a `=`, and a value
/// up to the next `&` or `#`.
fn occurrences(url: &str) -> impl Iterator<Item = Occurrence> {
    let bytes = url.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            at += memchr::memchr2(b'?', b'&', bytes.get(at..)?)?;
            let name = at + 1;
            let length = bytes[name..].iter().position(|b| b"?&=#".contains(b));
            at += 1;
            let Some(length) = length.filter(|&length| length > 0) else { continue };
            if bytes[name + length] != b'=' {
                continue;
            }
            let value = name + length + 1;
            let end = memchr::memchr2(b'&', b'#', &bytes[value..]);
            at = end.map_or(bytes.len(), |end| value + end);
            return Some(Occurrence { name, value, end: at });
        }
    })
}

impl Occurrence {
    fn name(self, url: &str) -> &str {
        &url[self.name..self.value - 1]
    }

    fn value(self, url: &str) -> &str {
        &url[self.value..self.end]
    }
}

/// Removes a parameter from the query; none if it is not there.
pub(super) fn omit(url: &str, name: &str) -> Option<String> {
    let (head, rest) = url.split_once('?')?;
    let (query, fragment) = rest.find('#').map_or((rest, ""), |at| rest.split_at(at));
    let is_it = |part: &str| part.split('=').next() == Some(name);
    if !query.split('&').any(is_it) {
        return None;
    }
    let mut outcome = head.to_owned();
    let mut joint = '?';
    for part in query.split('&').filter(|part| !is_it(part)) {
        outcome.push(joint);
        outcome.push_str(part);
        joint = '&';
    }
    outcome.push_str(fragment);
    Some(outcome)
}

/// Gives a parameter a value wherever it occurs; none if that changes nothing.
pub(super) fn set(url: &str, name: &str, value: &str) -> Option<String> {
    let mut outcome = String::with_capacity(url.len());
    let mut copied = 0;
    for found in occurrences(url).filter(|found| found.name(url) == name) {
        outcome.push_str(&url[copied..found.value]);
        outcome.push_str(value);
        copied = found.end;
    }
    outcome.push_str(&url[copied..]);
    (outcome != url).then_some(outcome)
}

/// Most pairs compared in one group of URLs that differ in one parameter.
const PAIRS_PER_GROUP_MAX: usize = 50;

/// Returns the likely parameter rules, best first.
///
/// A parameter counts if it occurs often enough, if at least MS pairs of URLs that differ in it
/// alone (by value, or by having it at all) are likely similar, and if those are a large enough
/// share of the pairs compared. The overflow threshold does not apply: a session's name fills any
/// bucket, and is the very thing to find.
pub(super) fn detect(
    list: &UrlList<'_>,
    likeness: &Likeness,
    settings: &Settings,
) -> Vec<ParameterCandidate> {
    let popular = popular(list, settings);
    let capacity = settings.table_bytes_max.as_len() / size_of::<Member>() / 2;
    let places: HashMap<&str, u32> = match popular.is_empty() {
        true => HashMap::new(),
        false => (0..).zip(&list.urls).map(|(at, &url)| (url, at)).collect(),
    };
    let mut candidates = Vec::new();
    let names: Vec<(&str, u64)> = popular.into_iter().collect();
    let mut from = 0;
    while from < names.len() {
        // As many names at once as the table may hold members for, but at least one.
        let mut total = 0;
        let mut batch = HashMap::new();
        for &(name, count) in &names[from..] {
            total += count;
            if !batch.is_empty() && total > capacity as u64 {
                break;
            }
            batch.insert(name, batch.len() as u32);
        }
        from += batch.len();
        judge(list, likeness, settings, &places, &batch, &mut candidates);
    }
    candidates
        .sort_by(|a, b| b.similar_pairs.cmp(&a.similar_pairs).then_with(|| a.name.cmp(&b.name)));
    candidates
}

/// Returns the names that occur often enough, with how often.
fn popular<'a>(list: &UrlList<'a>, settings: &Settings) -> BTreeMap<&'a str, u64> {
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for &url in &list.urls {
        for found in occurrences(url) {
            *counts.entry(found.name(url)).or_default() += 1;
        }
    }
    counts.into_iter().filter(|&(_, count)| count >= settings.parameter_urls_min).collect()
}

/// A URL in a group: the URLs that are equal but for one parameter.
struct Member {
    name: u32,
    /// Whether the group is of URLs that are equal once the parameter is removed.
    omitted: bool,
    /// A 128-bit hash of what the URLs share. Two of even a billion groups meet by chance once in
    /// 10^20 lists, and then one parameter is judged by one comparison too many.
    shared: u128,
    url: u32,
}

/// Judges the parameters of one batch.
fn judge(
    list: &UrlList<'_>,
    likeness: &Likeness,
    settings: &Settings,
    places: &HashMap<&str, u32>,
    batch: &HashMap<&str, u32>,
    candidates: &mut Vec<ParameterCandidate>,
) {
    let mut members = Vec::new();
    let mut values: Vec<(u32, &str)> = Vec::new();
    let mut shared = Vec::new();
    let mut named: Vec<u32> = Vec::new();
    for (at, &url) in (0u32..).zip(&list.urls) {
        named.clear();
        for found in occurrences(url) {
            let Some(&name) = batch.get(found.name(url)) else { continue };
            values.push((name, found.value(url)));
            shared.clear();
            // The prefix, its length and the suffix: the length keeps ("a", "bc") and ("ab", "c") apart.
            shared.extend_from_slice(&url.as_bytes()[..found.value]);
            shared.extend_from_slice(&found.value.to_le_bytes());
            shared.extend_from_slice(&url.as_bytes()[found.end..]);
            members.push(Member { name, omitted: false, shared: xxh3_128(&shared), url: at });
            if !named.contains(&name) {
                named.push(name);
                let rest = omit(url, found.name(url));
                let rest = rest.as_deref().unwrap_or(url);
                // Only a URL of the list can be compared with.
                if let Some(&without) = places.get(rest) {
                    members.push(Member { name, omitted: true, shared: without.into(), url: at });
                }
            }
        }
    }
    members.sort_unstable_by_key(|member| (member.name, member.omitted, member.shared, member.url));
    values.sort_unstable();
    let mut evidence = vec![(0u64, 0u64); batch.len()];
    for group in
        members.chunk_by(|a, b| (a.name, a.omitted, a.shared) == (b.name, b.omitted, b.shared))
    {
        let (similar, compared) = &mut evidence[group[0].name as usize];
        let mut compare = |a: u32, b: u32| {
            *compared += 1;
            *similar += u64::from(likeness.likely_similar(a as usize, b as usize));
        };
        if group[0].omitted {
            group.iter().for_each(|member| compare(member.url, member.shared as u32));
            continue;
        }
        let pairs = (0..group.len()).flat_map(|x| (x + 1..group.len()).map(move |y| (x, y)));
        pairs.take(PAIRS_PER_GROUP_MAX).for_each(|(x, y)| compare(group[x].url, group[y].url));
    }
    for (&name, &number) in batch {
        let (similar_pairs, pairs) = evidence[number as usize];
        let share = settings.parameter_similar_share_min * pairs as f64;
        if pairs < settings.support_min
            || similar_pairs < settings.support_min
            || (similar_pairs as f64) < share
        {
            continue;
        }
        let value = most_frequent(&values, number).to_owned();
        candidates.push(ParameterCandidate { name: name.to_owned(), value, similar_pairs, pairs });
    }
}

/// Returns the most frequent value of a parameter, the least of several, from sorted values.
fn most_frequent<'a>(values: &[(u32, &'a str)], name: u32) -> &'a str {
    let from = values.partition_point(|&(other, _)| other < name);
    let to = values.partition_point(|&(other, _)| other <= name);
    let mut best: &[(u32, &str)] = &[];
    for run in values[from..to].chunk_by(|a, b| a.1 == b.1) {
        if run.len() > best.len() {
            best = run;
        }
    }
    best.first().map_or("", |&(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::super::list::Record;
    use super::*;

    #[test]
    fn omitting_a_parameter_leaves_the_rest_of_the_url() {
        for (url, want) in [
            ("http://h/p?a=1&sid=9&b=2", Some("http://h/p?a=1&b=2")),
            ("http://h/p?sid=9", Some("http://h/p")),
            ("http://h/p?sid=9&a=1#f", Some("http://h/p?a=1#f")),
            ("http://h/p?sid&a=1", Some("http://h/p?a=1")),
            ("http://h/p?xsid=9", None),
            ("http://h/p&sid=9", None),
        ] {
            assert_eq!(omit(url, "sid").as_deref(), want, "{url}");
        }
    }

    #[test]
    fn setting_a_parameter_changes_every_occurrence() {
        let url = "http://h/p?a=1&s=9&b=2&s=";
        assert_eq!(set(url, "s", "0").as_deref(), Some("http://h/p?a=1&s=0&b=2&s=0"));
        assert_eq!(set(url, "a", "1"), None);
        assert_eq!(set(url, "z", "1"), None);
    }

    #[test]
    fn a_value_may_hold_anything_but_the_next_parameter() {
        let url = "http://h/?=x?&n=a?b=c&&#?f=1";
        let found: Vec<_> = occurrences(url).map(|o| (o.name(url), o.value(url))).collect();
        assert_eq!(found, [("n", "a?b=c"), ("f", "1")]);
    }

    #[test]
    fn a_parameter_without_effect_is_found_and_one_with_effect_is_not() {
        let mut records = Vec::new();
        for i in 0..8 {
            for s in ["x", "y"] {
                let url = format!("http://h/p?id={i}&sid={s}{i}");
                records.push(Record {
                    url,
                    status: 200,
                    size: Some((100 * i, 100 * i)),
                    sketch: vec![],
                });
            }
        }
        let list = UrlList::new(&records);
        let order: Vec<u32> = (0..list.len() as u32).collect();
        let settings = Settings::default();
        let likeness = Likeness::new(&list, &settings, &order);
        let found = detect(&list, &likeness, &settings);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].name.as_str(), found[0].similar_pairs, found[0].pairs), ("sid", 8, 8));
        assert_eq!(found[0].value, "x0");
    }
}
