//! Mirrors and aliases: two hosts with the same paths and the same text.
//!
//! [`Mirrors`] samples pages of each host by a hash of the path, the same paths on every host, and
//! compares what different hosts say under the same path. Evidence is counted in distinct texts: a
//! soft error under a thousand paths is one text. An address is never evidence: thousands of hosts
//! share one, and one host has many; a shared address is only noted beside a pair that the texts
//! have found.
//!
//! Bounded: [`MirrorSettings::hosts_max`] hosts of [`SAMPLES_MAX`] samples of 16 bytes each, 4 KiB
//! a host; later hosts are not sampled, and [`Mirrors::overflowed`] says so.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::TextDigest;
use super::shingle::mix;

/// Pages sampled of each host.
pub const SAMPLES_MAX: usize = 256;

/// Settings of the search for mirrors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct MirrorSettings {
    /// Hosts sampled; 4 KiB each at most.
    pub hosts_max: usize,
    /// Distinct texts that two hosts must share under the same paths.
    pub texts_min: u32,
    /// Share of the sampled texts under paths both have that must be the same. News change between
    /// two visits, so it is not 1.
    pub share_min: f64,
}

impl Default for MirrorSettings {
    fn default() -> Self {
        MirrorSettings { hosts_max: 20_000, texts_min: 8, share_min: 0.8 }
    }
}

/// A page, as far as mirrors are concerned.
#[derive(Clone, Copy, Debug)]
pub struct MirrorPage<'a> {
    /// `scheme://host[:port]`.
    pub origin: &'a str,
    /// Path and query.
    pub target: &'a str,
    /// Digest of its main text; thin pages must not be given.
    pub text: TextDigest,
    /// The address that answered, if known: shown, never counted.
    pub address: Option<&'a str>,
}

/// How the names of two origins are related, as far as the names themselves say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kinship {
    /// The same host by http and https.
    Schemes,
    /// A host and the same with `www.` before it.
    Www,
    /// The same host by another port.
    Ports,
    /// A number and a name.
    Address,
    /// Two names.
    Names,
}

/// What the texts say about two origins.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MirrorPair {
    /// The origin that sorts first.
    pub a: String,
    /// The other.
    pub b: String,
    /// How their names are related.
    pub kinship: Kinship,
    /// Distinct texts found under the same path on both.
    pub same_texts: u32,
    /// Paths that both have, with different texts.
    pub other_texts: u32,
    /// Lower end of the 95 % interval of the share of equal texts.
    pub share_at_least: f64,
    /// Whether both have answered from one address; not evidence.
    pub one_address: bool,
    /// Whether the evidence is enough to treat them as one host.
    pub proved: bool,
}

/// Samples of all hosts.
#[derive(Debug, Default)]
pub struct Mirrors {
    origins: BTreeMap<String, Origin>,
    overflowed: u64,
}

#[derive(Debug, Default)]
struct Origin {
    /// Hash of the path and digest of the text, of the paths with the least hashes.
    samples: BTreeMap<u64, u64>,
    /// Addresses that answered, at most four.
    addresses: BTreeSet<u64>,
}

impl Mirrors {
    /// Takes note of a page with text.
    pub fn note(&mut self, page: &MirrorPage<'_>, settings: &MirrorSettings) {
        if !self.origins.contains_key(page.origin) && self.origins.len() >= settings.hosts_max {
            self.overflowed += 1;
            return;
        }
        let origin = self.origins.entry(page.origin.to_owned()).or_default();
        // The least hashes: where two hosts have the same paths, they have the same sample.
        origin.samples.insert(mix(xxh3_64(page.target.as_bytes())), page.text.short());
        if origin.samples.len() > SAMPLES_MAX {
            origin.samples.pop_last();
        }
        if let Some(address) = page.address.filter(|_| origin.addresses.len() < 4) {
            origin.addresses.insert(xxh3_64(address.as_bytes()));
        }
    }

    /// Returns how many pages were not sampled because there were too many hosts.
    pub fn overflowed(&self) -> u64 {
        self.overflowed
    }

    /// Returns the pairs of origins with any text in common under one path, best proved first.
    ///
    /// Texts that more than [`HOSTS_OF_TEXT_MAX`] hosts have under one path (an imprint, a default
    /// page) pair nobody.
    pub fn report(&self, settings: &MirrorSettings) -> Vec<MirrorPair> {
        let mut by_page: BTreeMap<(u64, u64), Vec<&str>> = BTreeMap::new();
        for (name, origin) in &self.origins {
            for (path, text) in &origin.samples {
                by_page.entry((*path, *text)).or_default().push(name);
            }
        }
        let mut pairs: BTreeSet<(&str, &str)> = BTreeSet::new();
        for names in by_page.values().filter(|names| names.len() <= HOSTS_OF_TEXT_MAX) {
            for (at, a) in names.iter().enumerate() {
                pairs.extend(names[at + 1..].iter().map(|b| (*a, *b)));
            }
        }
        let mut out: Vec<MirrorPair> =
            pairs.into_iter().filter_map(|(a, b)| self.pair(a, b, settings)).collect();
        out.sort_by(|x, y| {
            let rank = |pair: &MirrorPair| (pair.proved, pair.same_texts);
            rank(y).cmp(&rank(x)).then_with(|| (&x.a, &x.b).cmp(&(&y.a, &y.b)))
        });
        out
    }

    fn pair(&self, a: &str, b: &str, settings: &MirrorSettings) -> Option<MirrorPair> {
        let (one, other) = (self.origins.get(a)?, self.origins.get(b)?);
        let mut same = BTreeSet::new();
        let mut different = BTreeSet::new();
        for (path, text) in &one.samples {
            match other.samples.get(path) {
                Some(twin) if twin == text => drop(same.insert(*text)),
                Some(_) => drop(different.insert(*text)),
                None => {}
            }
        }
        let (same_texts, other_texts) = (same.len() as u32, different.len() as u32);
        let share_at_least = wilson_lower(same_texts, same_texts + other_texts);
        Some(MirrorPair {
            a: a.to_owned(),
            b: b.to_owned(),
            kinship: kinship(a, b),
            same_texts,
            other_texts,
            share_at_least,
            one_address: !one.addresses.is_disjoint(&other.addresses),
            proved: same_texts >= settings.texts_min
                && f64::from(same_texts)
                    >= settings.share_min * f64::from(same_texts + other_texts),
        })
    }
}

/// Hosts that may share a text under one path and still be compared with each other.
pub const HOSTS_OF_TEXT_MAX: usize = 32;

/// Returns the lower end of the 95 % interval of a share (Wilson's).
fn wilson_lower(hits: u32, of: u32) -> f64 {
    if of == 0 {
        return 0.0;
    }
    let (n, share, z) = (f64::from(of), f64::from(hits) / f64::from(of), 1.96f64);
    let middle = share + z * z / (2.0 * n);
    let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    (middle - half) / (1.0 + z * z / n)
}

fn kinship(a: &str, b: &str) -> Kinship {
    let split = |origin: &str| -> (String, String) {
        let (scheme, rest) = origin.split_once("://").unwrap_or(("", origin));
        (scheme.to_owned(), rest.to_owned())
    };
    let port_start = |host: &str| {
        let colon = host.rfind(':').filter(|colon| !host[*colon..].contains(']'));
        colon.unwrap_or(host.len())
    };
    let ((scheme_a, host_a), (scheme_b, host_b)) = (split(a), split(b));
    let (name_a, name_b) = (&host_a[..port_start(&host_a)], &host_b[..port_start(&host_b)]);
    let bare = |name: &str| name.strip_prefix("www.").unwrap_or(name).to_owned();
    let is_number =
        |name: &str| name.starts_with('[') || name.chars().all(|c| c.is_ascii_digit() || c == '.');
    match () {
        () if name_a == name_b && scheme_a != scheme_b => Kinship::Schemes,
        () if name_a == name_b => Kinship::Ports,
        () if bare(name_a) == bare(name_b) => Kinship::Www,
        () if is_number(name_a) != is_number(name_b) => Kinship::Address,
        () => Kinship::Names,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(mirrors: &mut Mirrors, origin: &str, path: &str, text: &str) {
        let text = TextDigest::of(text);
        let page = MirrorPage { origin, target: path, text, address: Some("192.0.2.1") };
        mirrors.note(&page, &MirrorSettings::default());
    }

    fn site(mirrors: &mut Mirrors, origin: &str, pages: u32, text: impl Fn(u32) -> String) {
        for n in 0..pages {
            note(mirrors, origin, &format!("/{n}.html"), &text(n));
        }
    }

    fn report(mirrors: &Mirrors) -> Vec<(String, String, bool)> {
        let pairs = mirrors.report(&MirrorSettings::default());
        pairs.into_iter().map(|pair| (pair.a, pair.b, pair.proved)).collect()
    }

    #[test]
    fn hosts_with_the_same_paths_and_texts_are_mirrors() {
        let mut mirrors = Mirrors::default();
        site(&mut mirrors, "http://a.example", 1000, |n| format!("text {n}"));
        site(&mut mirrors, "http://b.example", 1000, |n| format!("text {n}"));
        site(&mut mirrors, "http://c.example", 1000, |n| format!("other {n}"));
        assert_eq!(
            report(&mirrors),
            [("http://a.example".into(), "http://b.example".into(), true)]
        );
        let pair = &mirrors.report(&MirrorSettings::default())[0];
        assert_eq!((pair.same_texts, pair.other_texts), (SAMPLES_MAX as u32, 0));
    }

    #[test]
    fn one_address_is_no_evidence() {
        let mut mirrors = Mirrors::default();
        site(&mut mirrors, "http://a.example", 50, |n| format!("text {n}"));
        site(&mut mirrors, "http://b.example", 50, |n| format!("other {n}"));
        assert_eq!(report(&mirrors), []);
        note(&mut mirrors, "http://a.example", "/x", "the same");
        note(&mut mirrors, "http://b.example", "/x", "the same");
        let pair = mirrors.report(&MirrorSettings::default()).remove(0);
        assert!(pair.one_address && !pair.proved);
        assert_eq!((pair.same_texts, pair.other_texts), (1, 50));
    }

    #[test]
    fn one_text_under_many_paths_is_one_witness() {
        let mut mirrors = Mirrors::default();
        site(&mut mirrors, "http://a.example", 100, |_| "nothing here".to_owned());
        site(&mut mirrors, "http://b.example", 100, |_| "nothing here".to_owned());
        let pair = mirrors.report(&MirrorSettings::default()).remove(0);
        assert_eq!((pair.same_texts, pair.proved), (1, false));
    }

    #[test]
    fn a_few_pages_that_changed_between_visits_do_not_hide_a_mirror() {
        let mut mirrors = Mirrors::default();
        site(&mut mirrors, "http://a.example", 200, |n| format!("text {n}"));
        site(&mut mirrors, "https://a.example", 200, |n| {
            if n.is_multiple_of(20) { format!("news {n}") } else { format!("text {n}") }
        });
        let pair = mirrors.report(&MirrorSettings::default()).remove(0);
        assert!(pair.proved, "{pair:?}");
        assert_eq!(pair.kinship, Kinship::Schemes);
    }

    #[test]
    fn kinship_is_read_from_the_names() {
        let check = |a: &str, b: &str, want: Kinship| assert_eq!(kinship(a, b), want, "{a} {b}");
        check("http://a.example", "https://a.example", Kinship::Schemes);
        check("http://a.example", "http://www.a.example", Kinship::Www);
        check("http://a.example", "https://www.a.example", Kinship::Www);
        check("http://a.example", "http://a.example:8080", Kinship::Ports);
        check("http://192.0.2.7", "http://a.example", Kinship::Address);
        check("http://[2001:db8::1]:8080", "http://a.example", Kinship::Address);
        check("http://a.example", "http://b.example", Kinship::Names);
    }

    #[test]
    fn hosts_beyond_the_bound_are_not_sampled_and_it_is_said() {
        let mut mirrors = Mirrors::default();
        let settings = MirrorSettings { hosts_max: 2, ..MirrorSettings::default() };
        for n in 0..5 {
            let origin = format!("http://{n}.example");
            let text = TextDigest::of("x");
            mirrors
                .note(&MirrorPage { origin: &origin, target: "/", text, address: None }, &settings);
        }
        assert_eq!((mirrors.origins.len(), mirrors.overflowed()), (2, 3));
    }
}
