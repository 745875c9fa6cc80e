//! The third phase: parameters whose value may not matter. The paper names parameter substitution
//! and leaves it to its technical report; the choices here are named where they are made.

use std::collections::HashMap;

use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use super::list::UrlList;
use super::parts::sort_by_hash;
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

/// Parameters of one URL that are looked at, its first ones: each costs a look at all of the URL.
/// Servers take a thousand at most, and forms of people have some dozens.
const PARAMETERS_MAX: usize = 256;

fn looked_at(url: &str) -> impl Iterator<Item = Occurrence> {
    occurrences(url).take(PARAMETERS_MAX)
}

/// Returns how many URLs have more parameters than are looked at.
pub(super) fn left_out(list: &UrlList<'_>) -> usize {
    list.urls.iter().filter(|url| occurrences(url).nth(PARAMETERS_MAX).is_some()).count()
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
    let names = popular(list, settings);
    let capacity = settings.table_bytes_max.as_len() / (size_of::<Member>() + size_of::<Rest>());
    let mut candidates = Vec::new();
    let mut from = 0;
    while from < names.len() {
        // As many names at once as the tables may hold occurrences of, but at least one.
        let mut total = 0;
        let mut batch = HashMap::new();
        for &(name, count) in &names[from..] {
            if !batch.is_empty() && total + count > capacity as u64 {
                break;
            }
            total += count;
            batch.insert(name, batch.len() as u32);
        }
        from += batch.len();
        candidates.extend(judge(list, likeness, settings, &batch, total as usize));
    }
    let order = |a: &ParameterCandidate, b: &ParameterCandidate| {
        b.similar_pairs.cmp(&a.similar_pairs).then_with(|| a.name.cmp(&b.name))
    };
    candidates.sort_by(order);
    candidates
}

/// Returns the names that occur often enough, with how often, sorted.
fn popular<'a>(list: &UrlList<'a>, settings: &Settings) -> Vec<(&'a str, u64)> {
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for &url in &list.urls {
        for found in looked_at(url) {
            *counts.entry(found.name(url)).or_default() += 1;
        }
    }
    counts.retain(|_, count| *count >= settings.parameter_urls_min);
    let mut names: Vec<(&str, u64)> = counts.into_iter().collect();
    names.sort_unstable();
    names
}

/// An occurrence of a parameter, for the URLs that are equal but for its value.
#[derive(Clone, Copy)]
struct Member {
    /// Two 64-bit halves of a hash of what stands before and behind the value. Two of even a
    /// billion such texts meet by chance once in 10^20 lists, and then one parameter is judged by
    /// one comparison too many.
    shared: [u64; 2],
    name: u32,
    url: u32,
}

/// A URL with what is left of it without a parameter.
#[derive(Clone, Copy)]
struct Rest {
    hash: u64,
    name: u32,
    url: u32,
}

/// How many of the compared pairs were likely similar.
#[derive(Clone, Copy, Default)]
struct Evidence {
    similar: u64,
    compared: u64,
}

/// Judges the parameters of one batch, which have `total` occurrences.
fn judge(
    list: &UrlList<'_>,
    likeness: &Likeness,
    settings: &Settings,
    batch: &HashMap<&str, u32>,
    total: usize,
) -> Vec<ParameterCandidate> {
    let (mut members, mut rests) = gather(list, batch, total);
    let mut evidence = vec![Evidence::default(); batch.len()];
    let mut compare = |name: u32, a: u32, b: u32| {
        let evidence = &mut evidence[name as usize];
        evidence.compared += 1;
        evidence.similar += u64::from(likeness.likely_similar(a as usize, b as usize));
    };
    let order = |member: &Member| (member.shared, member.name, member.url);
    sort_by_hash(&mut members, |member| member.shared[0], |part| part.sort_unstable_by_key(order));
    for group in members.chunk_by(|a, b| (a.shared, a.name) == (b.shared, b.name)) {
        let pairs = (0..group.len()).flat_map(|x| (x + 1..group.len()).map(move |y| (x, y)));
        for (x, y) in pairs.take(PAIRS_PER_GROUP_MAX) {
            compare(group[x].name, group[x].url, group[y].url);
        }
    }
    drop(members);
    let mut names = vec![""; batch.len()];
    batch.iter().for_each(|(&name, &number)| names[number as usize] = name);
    sort_by_hash(&mut rests, |rest| rest.hash, |part| part.sort_unstable_by_key(|rest| rest.hash));
    let mut known = &list.hashes[..];
    for Rest { hash, name, url } in rests {
        let text = list.urls[url as usize];
        known = &known[first_from(known, hash)..];
        for &(_, other) in known.iter().take_while(|&&(other, _)| other == hash) {
            let rest = omit(text, names[name as usize]);
            if rest.as_deref().unwrap_or(text) == list.urls[other as usize] {
                compare(name, url, other);
            }
        }
    }
    accepted(list, settings, &names, &evidence)
}

/// Returns where in a sorted list the first entry stands whose hash is not less: looked for in
/// steps that double, since it is near.
fn first_from(known: &[(u64, u32)], hash: u64) -> usize {
    let is_less = |entry: &(u64, u32)| entry.0 < hash;
    let mut end = 1;
    while known.get(end - 1).is_some_and(is_less) {
        end *= 2;
    }
    let from = end / 2;
    from + known[from..end.min(known.len())].partition_point(is_less)
}

/// Gathers the occurrences of the parameters of a batch.
fn gather(
    list: &UrlList<'_>,
    batch: &HashMap<&str, u32>,
    total: usize,
) -> (Vec<Member>, Vec<Rest>) {
    let (mut members, mut rests) = (Vec::with_capacity(total), Vec::with_capacity(total));
    let mut shared = Vec::new();
    let mut named: Vec<u32> = Vec::new();
    for (at, &text) in (0u32..).zip(&list.urls) {
        named.clear();
        for found in looked_at(text) {
            let Some(&name) = batch.get(found.name(text)) else { continue };
            shared.clear();
            // The length keeps ("a", "bc") and ("ab", "c") apart.
            shared.extend_from_slice(&found.value.to_le_bytes());
            shared.extend_from_slice(&text.as_bytes()[..found.value]);
            shared.extend_from_slice(&text.as_bytes()[found.end..]);
            let hash = xxh3_128(&shared);
            let shared = [(hash >> 64) as u64, hash as u64];
            members.push(Member { shared, name, url: at });
            if !named.contains(&name) {
                named.push(name);
                let rest = omit(text, found.name(text));
                let hash = UrlList::hash(rest.as_deref().unwrap_or(text));
                rests.push(Rest { hash, name, url: at });
            }
        }
    }
    (members, rests)
}

/// Returns the parameters with enough evidence, each with its most frequent value, the least of
/// several.
fn accepted(
    list: &UrlList<'_>,
    settings: &Settings,
    names: &[&str],
    evidence: &[Evidence],
) -> Vec<ParameterCandidate> {
    let is_enough = |evidence: &Evidence| {
        let share = settings.parameter_similar_share_min * evidence.compared as f64;
        evidence.compared >= settings.support_min
            && evidence.similar >= settings.support_min
            && evidence.similar as f64 >= share
    };
    let enough = names.iter().zip(evidence).filter(|(_, evidence)| is_enough(evidence));
    let enough: Vec<(&str, Evidence)> = enough.map(|(&name, &evidence)| (name, evidence)).collect();
    if enough.is_empty() {
        return Vec::new();
    }
    let mut values: Vec<HashMap<&str, u64>> = vec![HashMap::new(); enough.len()];
    for &url in &list.urls {
        for found in looked_at(url) {
            if let Some(at) = enough.iter().position(|&(name, _)| name == found.name(url)) {
                *values[at].entry(found.value(url)).or_default() += 1;
            }
        }
    }
    let candidate = |((name, evidence), values): ((&str, Evidence), HashMap<&str, u64>)| {
        let best = values.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(a.0)));
        ParameterCandidate {
            name: name.to_owned(),
            value: best.map_or_else(String::new, |(value, _)| value.to_owned()),
            similar_pairs: evidence.similar,
            pairs: evidence.compared,
        }
    };
    enough.into_iter().zip(values).map(candidate).collect()
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
