//! Where candidates come from: parameters, hosts, sessions and segments are enumerated from the
//! URLs alone; substrings come from pairs of URLs that lead to one document, or, where only sizes
//! are known, from the envelopes of the paper.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::corpus::{Class, Corpus};
use super::items;
use super::rule::{RuleKind, Segment, template};
use crate::url::query::{Separator, name_of};
use crate::url::{CrawlUrl, Host};

/// Parameters of one URL whose joint removal is tried: more make too many combinations.
const JOINT_NAMES_MAX: usize = 6;

/// Parameters of one URL that are looked at, by name: each costs a look at all of the URL.
const NAMES_MAX: usize = 256;

/// Pairs taken from one document; its further URLs say the same again.
const PAIRS_PER_DOC: usize = 64;

/// A document of more URLs than this is a replica rather than a page with aliases: it gives few
/// pairs, since they would be most of all pairs.
const ALIASES_MAX: usize = 16;

/// Longest part of an envelope in tokens, as in the paper [DustBuster §6].
const ENVELOPE_TOKENS_MAX: usize = 35;

/// Envelopes kept at once (16 bytes each); beyond it every second, fourth... hash class is kept,
/// which leaves buckets whole and support unbiased.
const ENVELOPES_MAX: usize = 4_000_000;

/// Largest bucket of an envelope: invalid rules flock together [DustBuster §4.2].
const BUCKET_MAX: usize = 11;

/// Values of a parameter that are tried each by itself: those without which most pages are the
/// same, then the most frequent ones.
const VALUES_MAX: usize = 8;

/// Segments of a path that is looked at for one to ignore.
const SEGMENTS_MAX: usize = 8;

/// Templates of paths, and views, in which one parameter is tried.
const CONTEXTS_MAX: usize = 12;

/// Shapes judged in one round, best supported first.
const SHAPES_MAX: usize = 24;

/// Pairs of hosts judged in one round, best supported first.
const HOSTS_MAX: usize = 64;

/// Longest prefixes of two aliased parts together, in bytes.
const PREFIXES_MAX: usize = 64;

/// One value of a parameter.
#[derive(Clone, Copy, Default)]
struct Value {
    /// Classes that have it.
    classes: u32,
    /// Those of them that lead to the same document without it.
    agree: u32,
}

/// A proposal and the number of URL groups that suggest it.
pub(crate) type Proposal = (RuleKind, u32);

/// Splits into runs of letters and digits, and single other characters [DustBuster §3].
pub(crate) fn tokens(text: &str) -> Vec<&str> {
    let mut out = Vec::with_capacity(16);
    let mut start = 0;
    let mut word = false;
    for (i, c) in text.char_indices() {
        let alnum = c.is_ascii_alphanumeric();
        if i > start && !(alnum && word) {
            out.push(&text[start..i]);
            start = i;
        }
        word = alnum;
    }
    if start < text.len() {
        out.push(&text[start..]);
    }
    out
}

/// Proposes to drop parameters: alone, by value, or two and three together, best supported first.
/// Those that no URL has without each other, such as a column and its order, are proposed together
/// before each alone: one rule is proved sooner than several.
pub(crate) fn parameters(corpus: &Corpus<'_>) -> Vec<Proposal> {
    let mut groups: BTreeMap<(Separator, Vec<&str>), HashMap<u64, u32>> = BTreeMap::new();
    let mut values: BTreeMap<(Separator, &str, &str), Value> = BTreeMap::new();
    let mut having: BTreeMap<(Separator, &str), u32> = BTreeMap::new();
    let whole: HashMap<u64, &Class> =
        corpus.classes.iter().map(|class| (hash_without(&class.key, &[]), class)).collect();
    for class in &corpus.classes {
        let Some(query) = class.key.as_url().query() else { continue };
        let separator = Separator::of(query);
        let names: BTreeSet<&str> = separator.parts(query).map(name_of).collect();
        for part in separator.parts(query) {
            if let Some((name, value)) = part.split_once('=') {
                let of = values.entry((separator, name, value)).or_default();
                of.classes += 1;
                let without = whole.get(&hash_without(&class.key, &[name]));
                of.agree += u32::from(without.is_some_and(|other| agree(class, other)));
            }
        }
        let names = names.into_iter().filter(|name| !name.is_empty());
        let names: Vec<&str> = names.take(NAMES_MAX).collect();
        for name in &names {
            *having.entry((separator, *name)).or_default() += 1;
        }
        for dropped in subsets(&names) {
            let rest = hash_without(&class.key, &dropped);
            *groups.entry((separator, dropped)).or_default().entry(rest).or_default() += 1;
        }
    }
    let mut proposals = Vec::new();
    for ((separator, names), rests) in groups {
        let all: u32 = rests.values().sum();
        let is_in_all = |name: &&str| having.get(&(separator, *name)) == Some(&all);
        let is_one = names.len() > 1 && names.iter().all(is_in_all);
        // Fewer names first, but of what is always together more.
        let order = if is_one { (0, usize::MAX - names.len()) } else { (names.len(), 0) };
        let support = rests
            .iter()
            .filter(|(rest, classes)| **classes > 1 || whole.contains_key(rest))
            .count();
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let support = u32::try_from(support).unwrap_or(u32::MAX);
        if let [name] = &names[..] {
            let of_name = values.range((separator, name.as_str(), "")..);
            let of_name = of_name.take_while(|((s, n, _), _)| *s == separator && n == name);
            // A value that most URLs of the parameter do not have can still be its default.
            let mut frequent: Vec<_> = of_name.filter(|(_, of)| of.classes > 2).collect();
            frequent.sort_by_key(|(_, of)| std::cmp::Reverse((of.agree, of.classes)));
            for ((_, _, value), of) in frequent.into_iter().take(VALUES_MAX) {
                let value = Some((*value).to_owned());
                let kind = RuleKind::DropParameter { names: names.clone(), value, separator };
                proposals.push((order, (kind, support.min(of.classes))));
            }
        }
        let kind = RuleKind::DropParameter { names, value: None, separator };
        proposals.push((order, (kind, support)));
    }
    proposals.retain(|(_, (_, support))| *support > 1);
    // Then any value before one value: the general rule is tried first.
    proposals.sort_by_key(|(order, (kind, support))| {
        let of_value = matches!(kind, RuleKind::DropParameter { value: Some(_), .. });
        (*order, of_value, u32::MAX - support)
    });
    proposals.into_iter().map(|(_, proposal)| proposal).collect()
}

/// Returns the templates of paths under which a rule would rewrite URLs, most frequent first.
pub(crate) fn templates(
    corpus: &Corpus<'_>,
    names: &[String],
    separator: Separator,
) -> Vec<String> {
    let named = naming(corpus, names, separator);
    most_frequent(named.map(|(class, _)| template(class.key.path())))
}

/// Returns the views in which a rule would rewrite URLs, most frequent first: words that another
/// parameter has which names no items.
pub(crate) fn views(corpus: &Corpus<'_>, names: &[String], separator: Separator) -> Vec<String> {
    let is_view = |part: &&str| {
        items::word(part).is_some_and(|(name, _)| {
            !corpus.items.contains(name) && !names.iter().any(|dropped| dropped == name)
        })
    };
    let named = naming(corpus, names, separator);
    let views = named.flat_map(|(_, query)| separator.parts(query).filter(is_view));
    most_frequent(views.map(str::to_owned))
}

/// Returns the classes in whose queries one of these parameters stands, each with its query.
fn naming<'a>(
    corpus: &'a Corpus<'_>,
    names: &[String],
    separator: Separator,
) -> impl Iterator<Item = (&'a Class, &'a str)> {
    let of_kind = move |class: &'a Class| {
        let query = class.key.as_url().query()?;
        let mut of_query = separator.parts(query).map(name_of);
        let names_one = of_query.any(|name| names.iter().any(|one| one == name));
        (names_one && Separator::of(query) == separator).then_some((class, query))
    };
    corpus.classes.iter().filter_map(of_kind)
}

/// Returns where a rule may hold, given where each URL is that it would rewrite: where there are
/// more than two of them, most frequent first.
fn most_frequent(places: impl Iterator<Item = String>) -> Vec<String> {
    let mut count: BTreeMap<String, u32> = BTreeMap::new();
    places.for_each(|place| *count.entry(place).or_default() += 1);
    let mut places: Vec<(String, u32)> = count.into_iter().filter(|(_, n)| *n > 2).collect();
    places.sort_by_key(|(place, n)| (std::cmp::Reverse(*n), place.clone()));
    places.into_iter().take(CONTEXTS_MAX).map(|(place, _)| place).collect()
}

/// Proposes aliases between hosts that hold the same paths, whole or under a prefix; the host with
/// more URLs stays.
pub(crate) fn hosts(corpus: &Corpus<'_>) -> Vec<Proposal> {
    let mut sizes: BTreeMap<&str, u32> = BTreeMap::new();
    let mut tails: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, class) in corpus.classes.iter().enumerate() {
        *sizes.entry(class.key.host_str()).or_default() += 1;
        tails.entry(class.key.path_and_query()).or_default().push(at);
    }
    if sizes.len() < 2 {
        return Vec::new();
    }
    let mut pairs: BTreeMap<[&str; 4], u32> = BTreeMap::new();
    let mut add = |a: usize, b: usize, (from, to)| {
        let host = |at: usize| corpus.classes[at].key.host_str();
        *pairs.entry([host(a), from, host(b), to]).or_default() += 1;
    };
    for group in tails.values().chain(by_document(corpus).values()) {
        for (i, a) in group.iter().enumerate().take(BUCKET_MAX) {
            for b in group.iter().skip(i + 1).take(BUCKET_MAX) {
                let size = |at: usize| {
                    let host = corpus.classes[at].key.host_str();
                    (sizes[host], std::cmp::Reverse(host))
                };
                let (small, large) = if size(*a) < size(*b) { (*a, *b) } else { (*b, *a) };
                let tail = |at: usize| corpus.classes[at].key.path_and_query();
                if size(*a) != size(*b)
                    && let Some(prefixes) = prefixes(tail(small), tail(large))
                {
                    add(small, large, prefixes);
                }
            }
        }
    }
    let alias = |([from, from_path, to, to_path], support): ([&str; 4], u32)| {
        let (from, to) = (Host::new(from), Host::new(to));
        let (from_path, to_path) = (from_path.to_owned(), to_path.to_owned());
        (RuleKind::HostAlias { from, to, from_path, to_path }, support)
    };
    let mut proposals: Vec<Proposal> =
        pairs.into_iter().filter(|(_, support)| *support > 1).map(alias).collect();
    proposals.sort_by_key(|(_, support)| std::cmp::Reverse(*support));
    proposals.truncate(HOSTS_MAX);
    proposals
}

/// Returns what stands before the common end of two tails, up to and with a slash.
fn prefixes<'a>(a: &'a str, b: &'a str) -> Option<(&'a str, &'a str)> {
    let common = a.bytes().rev().zip(b.bytes().rev()).take_while(|(x, y)| x == y).count();
    let from = a.len() - common;
    let slash = from + a[from..].find('/')?;
    let (left, right) = (&a[..=slash], &b[..=b.len() - (a.len() - slash)]);
    let query = left.contains('?') || right.contains('?');
    (!query && left.len() + right.len() <= PREFIXES_MAX).then_some((left, right))
}

fn by_document(corpus: &Corpus<'_>) -> BTreeMap<u32, Vec<usize>> {
    let mut by_doc: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (i, class) in corpus.classes.iter().enumerate() {
        if let Some(doc) = class.docs.first() {
            by_doc.entry(*doc).or_default().push(i);
        }
    }
    by_doc
}

/// Proposes to remove ids in paths: `;name=id`, and `/(S(id))`.
pub(crate) fn sessions(corpus: &Corpus<'_>) -> Vec<Proposal> {
    let mut count: BTreeMap<(String, &str), u32> = BTreeMap::new();
    for class in &corpus.classes {
        let path = class.key.path();
        if let Some((_, rest)) = path.split_once(';')
            && let Some((name, value)) = rest.split_once('=')
            && value.len() >= 8
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        {
            *count.entry((format!(";{name}="), "")).or_default() += 1;
        }
        if let Some((_, rest)) = path.split_once("/(")
            && let Some((name, _)) = rest.split_once('(')
            && name.len() == 1
        {
            *count.entry((format!("/({name}("), "))")).or_default() += 1;
        }
    }
    let session = |((before, after), support): ((String, &str), u32)| {
        (RuleKind::PathSession { before, after: after.to_owned() }, support)
    };
    count.into_iter().map(session).collect()
}

/// Proposes to ignore one segment of a shape, where paths that differ there only are frequent; with
/// another segment general or not.
pub(crate) fn segments(corpus: &Corpus<'_>) -> Vec<Proposal> {
    // Most pages are the only ones of their document: only what two of one have in common can tell
    // of a segment to ignore.
    let witnesses = corpus.repeating();
    let mut told: HashMap<(u64, usize), u32> = HashMap::new();
    for at in &witnesses {
        for rest in rests_of(&corpus.classes[*at]) {
            *told.entry(rest).or_default() += 1;
        }
    }
    told.retain(|_, classes| *classes > 1);
    if told.is_empty() {
        return Vec::new();
    }
    let mut rests: HashMap<(u64, usize), Vec<usize>> = HashMap::new();
    for (at, class) in corpus.classes.iter().enumerate() {
        for rest in rests_of(class).filter(|rest| told.contains_key(rest)) {
            rests.entry(rest).or_default().push(at);
        }
    }
    let mut groups_of: BTreeMap<(Vec<Segment>, usize), Vec<&[usize]>> = BTreeMap::new();
    for ((_, index), group) in &rests {
        // Where all lead to different documents there is nothing to ignore.
        if !corpus.some_agree(group) {
            continue;
        }
        let parts: Vec<&str> = corpus.classes[group[0]].key.path()[1..].split('/').collect();
        for shape in shapes_of(&parts, *index) {
            groups_of.entry((shape, *index)).or_default().push(group);
        }
    }
    let mut supported: Vec<_> = groups_of.into_iter().filter(|(_, of)| of.len() > 2).collect();
    supported.sort_by_key(|(_, groups)| std::cmp::Reverse(groups.len()));
    supported.truncate(SHAPES_MAX);
    let propose = |((shape, index), groups): ((Vec<Segment>, usize), Vec<&[usize]>)| {
        let mut values: BTreeMap<&str, u32> = BTreeMap::new();
        for at in groups.iter().copied().flatten() {
            let value = corpus.classes[*at].key.path()[1..].split('/').nth(index);
            *values.entry(value.unwrap_or_default()).or_default() += 1;
        }
        let support = u32::try_from(groups.len()).unwrap_or(u32::MAX);
        let most = values.iter().max_by_key(|(value, count)| (**count, std::cmp::Reverse(**value)));
        // A value under which most groups are known leads to all of them; else any will do.
        let value = most.filter(|(_, count)| **count * 2 > support);
        let value = value.map_or("-", |(value, _)| value).to_owned();
        (RuleKind::IgnoreSegment { shape, index, value }, support)
    };
    supported.into_iter().map(propose).collect()
}

/// Two URLs that may be one document, and what stands for the document.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) a: usize,
    pub(crate) b: usize,
    pub(crate) witness: u64,
}

/// Returns pairs of keys that lead to one document, on one host.
pub(crate) fn pairs(corpus: &Corpus<'_>) -> Vec<Pair> {
    if corpus.has_only_sizes() {
        return pairs_by_envelope(corpus);
    }
    let mut pairs = Vec::new();
    for (doc, mut members) in by_document(corpus) {
        members.sort_by(|a, b| corpus.classes[*a].key.cmp(&corpus.classes[*b].key));
        let most = if members.len() > ALIASES_MAX { ALIASES_MAX } else { PAIRS_PER_DOC };
        let mut taken = 0;
        // Neighbours in order first: they differ least.
        'doc: for step in 1..members.len() {
            for i in 0..members.len() - step {
                let (a, b) = (members[i], members[i + step]);
                if same_origin(&corpus.classes[a], &corpus.classes[b]) {
                    pairs.push(Pair { a, b, witness: u64::from(doc) });
                    taken += 1;
                    if taken >= most {
                        break 'doc;
                    }
                }
            }
        }
    }
    pairs
}

/// The pairs of the paper's buckets: URLs that share an envelope and whose sizes overlap.
fn pairs_by_envelope(corpus: &Corpus<'_>) -> Vec<Pair> {
    let tails: Vec<Vec<&str>> =
        corpus.classes.iter().map(|class| tokens(class.key.path_and_query())).collect();
    let total: usize = tails.iter().map(|t| (t.len() + 1) * (t.len() + 2) / 2).sum();
    let mut keep = 1u64;
    while total / keep as usize > ENVELOPES_MAX {
        keep *= 2;
    }
    let mut envelopes: Vec<(u64, u32)> = Vec::with_capacity(total / keep as usize + 1024);
    for (i, tail) in tails.iter().enumerate() {
        if corpus.classes[i].size.is_none() {
            continue;
        }
        let host = xxh3_64(corpus.classes[i].key.host_str().as_bytes());
        let (prefixes, suffixes) = ends(tail, host);
        for (start, prefix) in prefixes.iter().enumerate() {
            let last = suffixes.len().min(start + ENVELOPE_TOKENS_MAX + 1);
            for suffix in &suffixes[start..last] {
                let hash = super::sketch::mix(prefix ^ suffix.rotate_left(17));
                if hash.is_multiple_of(keep) {
                    envelopes.push((hash, i as u32));
                }
            }
        }
    }
    envelopes.sort_unstable();
    let mut found: BTreeSet<(u32, u32)> = BTreeSet::new();
    for bucket in envelopes.chunk_by(|a, b| a.0 == b.0) {
        if !(2..=BUCKET_MAX).contains(&bucket.len()) {
            continue;
        }
        for (i, (_, a)) in bucket.iter().enumerate() {
            for (_, b) in &bucket[i + 1..] {
                found.insert((*a.min(b), *a.max(b)));
            }
        }
    }
    let overlap = |(a, b): (u32, u32)| {
        let (x, y) = (corpus.classes[a as usize].size?, corpus.classes[b as usize].size?);
        let witness = u64::from(x.0.max(y.0));
        (x.0 <= y.1 && y.0 <= x.1).then_some(Pair { a: a as usize, b: b as usize, witness })
    };
    found.into_iter().filter(|(a, b)| a != b).filter_map(overlap).collect()
}

/// Returns the hashes of all prefixes and of all suffixes of a list of tokens.
fn ends(tokens: &[&str], seed: u64) -> (Vec<u64>, Vec<u64>) {
    let step = |hash: u64, token: &&str| {
        super::sketch::mix(hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ xxh3_64(token.as_bytes()))
    };
    let mut prefixes = vec![seed];
    for token in tokens {
        prefixes.push(step(prefixes[prefixes.len() - 1], token));
    }
    let mut suffixes = vec![seed ^ 1];
    for token in tokens.iter().rev() {
        suffixes.push(step(suffixes[suffixes.len() - 1], token));
    }
    suffixes.reverse();
    (prefixes, suffixes)
}

fn same_origin(a: &Class, b: &Class) -> bool {
    a.key.host_str() == b.key.host_str()
        && a.key.is_https() == b.key.is_https()
        && a.key.port() == b.key.port()
}

/// Returns, for each segment of a path, a hash of all but this segment, and its place.
fn rests_of(class: &Class) -> impl Iterator<Item = (u64, usize)> {
    let parts = class.key.path()[1..].split('/');
    let hashes: Vec<u64> = parts.map(|part| xxh3_64(part.as_bytes())).collect();
    let query = class.key.as_url().query().unwrap_or_default();
    let around = xxh3_64_with_seed(class.key.host_str().as_bytes(), xxh3_64(query.as_bytes()));
    let empty = xxh3_64(b"");
    let count = if (2..=SEGMENTS_MAX).contains(&hashes.len()) { hashes.len() } else { 0 };
    (0..count).filter_map(move |index| {
        let mut bytes = [0; 8 * SEGMENTS_MAX];
        for (at, hash) in hashes.iter().enumerate().filter(|(at, _)| *at != index) {
            bytes[8 * at..8 * at + 8].copy_from_slice(&hash.to_le_bytes());
        }
        let rest = || (xxh3_64_with_seed(&bytes[..8 * count], around), index);
        (hashes[index] != empty).then(rest)
    })
}

/// Returns true where both classes are known to lead to one document.
fn agree(class: &Class, other: &Class) -> bool {
    class.docs.first().is_some_and(|doc| other.docs.first() == Some(doc))
}

fn hash_without(url: &CrawlUrl, names: &[&str]) -> u64 {
    let mut text = String::with_capacity(url.as_str().len());
    text.push_str(url.host_str());
    text.push_str(url.path());
    let query = url.as_url().query();
    let between = query.map(Separator::of).unwrap_or_default();
    let mut before = '?';
    for part in query.into_iter().flat_map(|query| between.parts(query)) {
        if !names.contains(&name_of(part)) {
            text.push(before);
            text.push_str(part);
            before = between.into();
        }
    }
    xxh3_64(text.as_bytes())
}

/// Returns all sets of one to three names, or single names where there are many.
fn subsets<'a>(names: &[&'a str]) -> Vec<Vec<&'a str>> {
    let mut sets: Vec<Vec<&str>> = names.iter().map(|name| vec![*name]).collect();
    if names.len() > JOINT_NAMES_MAX {
        return sets;
    }
    for (i, a) in names.iter().enumerate() {
        for (j, b) in names.iter().enumerate().skip(i + 1) {
            sets.push(vec![a, b]);
            sets.extend(names.iter().skip(j + 1).map(|c| vec![*a, *b, *c]));
        }
    }
    sets
}

/// Returns the shape of a path, and its shapes with one more segment general.
fn shapes_of(parts: &[&str], index: usize) -> Vec<Vec<Segment>> {
    let segment = |(i, part): (usize, &&str)| {
        if i == index {
            Segment::Any
        } else if !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) {
            Segment::Number
        } else {
            Segment::Text((*part).to_owned())
        }
    };
    let exact: Vec<Segment> = parts.iter().enumerate().map(segment).collect();
    let mut shapes = vec![exact.clone()];
    // A shape of nothing but general segments would be the whole site.
    let texts = exact.iter().filter(|s| matches!(s, Segment::Text(t) if !t.is_empty())).count();
    for i in 0..parts.len() {
        if texts > 1 && matches!(&exact[i], Segment::Text(text) if !text.is_empty()) {
            let mut shape = exact.clone();
            shape[i] = Segment::Any;
            shapes.push(shape);
        }
    }
    shapes
}
