//! How far a rule is proved: in which places of its site, and for which values.
//!
//! A rule that was proved in some places says nothing about others, and a parameter that is without
//! effect for two of its values may have one for the third.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::escapes;
use super::items::{self, Items};
use super::rule::RuleKind;
use super::sketch::mix;
use super::validate::{features, server};
use crate::url::CrawlUrl;
use crate::url::query;

/// Most places of one kind that a rule is proved in; more of them than this are names of items, not
/// parts of the site, and asked for no more.
const PLACES_MAX: usize = 96;

/// Values of a parameter after which a rule that drops it may hold for others too.
const VALUES_MIN: usize = 8;

/// Values of a parameter that are counted; more of them say nothing new.
const VALUES_MAX: usize = 64;

/// Most places of one kind that are parts of a site, in each of which pairs are counted for
/// themselves: of more, one pair in each must do, and of more directories none.
const PARTS_MAX: usize = 24;

/// Pairs that agreed in a part of the site from which on a rule is taken to hold in it.
const PART_PROVED: u32 = 8;

/// As how many pairs it counts that none has failed yet, as
/// [`share_after`](super::validate::Settings::share_after) has it.
pub(super) const AGREED_BEFORE: f64 = 1.5;

/// Kinds of places: names of parameters, first directory, second directory, view.
const KINDS: usize = 4;
pub(super) const NAMES: usize = 0;
pub(super) const FIRST: usize = 1;
pub(super) const VIEW: usize = 3;

/// The view of a URL that names none: no place in which a rule is proved or fails.
const NO_VIEW: u64 = 0;

/// The second directory of pages of the first one that have names and not numbers.
const NAMED: &str = "*";

/// Parameters that say which view a URL is.
const VIEW_PARAMETERS: usize = 2;

/// The places of one URL.
pub(crate) type Places = [u64; KINDS];

/// Returns the places of a site that a URL belongs to: what its parameters are called, the first
/// directory of its path and the second one in it, which is where software that serves several
/// projects says what it shows of one, or else the program there that is asked
/// (`Results.html?q=1`), or whether the page is one of those with numbers (`/topic/17` and
/// `/topic/new`), and the words by which a program that has one path for everything says
/// which view of it is meant (`a=blob`, `action=history`), and not of which of its `items`. `key`
/// is the URL's key: hosts that are one by other rules have their places in common, and what rules
/// change is no view. The ports of a host have none in common, since another port is another
/// program.
pub(crate) fn places(url: &CrawlUrl, key: &CrawlUrl, items: &Items) -> Places {
    let [_, first, second, names] = features(url);
    let host = server(key);
    let is_directory = url.path()[1..].split('/').nth(2).is_some();
    let is_part = is_directory || url.as_url().query().is_some() && is_program(&second);
    let second = if is_part {
        second.as_str()
    } else if second.is_empty() || second.starts_with('#') {
        ""
    } else {
        // Names of items are no parts, but what has a name among numbers is no item.
        NAMED
    };
    let place = |kind: u64, text: &str| mix(xxh3_64(text.as_bytes()) ^ kind);
    [
        place(1, &format!("{host}?{names}")),
        place(2, &format!("{host}/{first}")),
        place(3, &format!("{host}/{first}/{second}")),
        view(url, key, items).map_or(NO_VIEW, |view| place(4, &format!("{host}?{view}"))),
    ]
}

/// Returns true for the name of a file that is a program, as far as names tell: letters, and a dot
/// before the last of them. Documents are more often called by several words or by numbers.
fn is_program(file: &str) -> bool {
    let is_name = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    file.rsplit_once('.').is_some_and(|(name, kind)| {
        !name.is_empty() && is_name(name) && (2..=5).contains(&kind.len()) && is_name(kind)
    })
}

/// Returns the first parameters that have a word for their value, name no item, and stand in the
/// key as well.
fn view(url: &CrawlUrl, key: &CrawlUrl, items: &Items) -> Option<String> {
    let stays: BTreeSet<&str> = parts(key).collect();
    let is_view = |part: &&str| items::word(part).is_some_and(|(name, _)| !items.contains(name));
    let words = parts(url).filter(|part| is_view(part) && stays.contains(part));
    let words: Vec<&str> = words.take(VIEW_PARAMETERS).collect();
    (!words.is_empty()).then(|| words.join("&"))
}

fn parts(url: &CrawlUrl) -> impl Iterator<Item = &str> {
    query::parameters(url.as_url().query().unwrap_or_default())
}

/// Where and for what a rule is proved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Proven {
    /// Pairs that agreed.
    pairs: u32,
    /// The same by place, each kind of place for itself.
    #[serde(deserialize_with = "kinds")]
    places: [BTreeMap<u64, u32>; KINDS],
    /// Hashes of values that made no difference, by the parameters that the rule drops, or sets to
    /// one value, whatever they are; up to [`VALUES_MAX`] of each.
    values: BTreeMap<String, BTreeSet<u64>>,
}

impl Proven {
    /// Returns what is known of a rule before any pair agreed: nothing.
    pub(crate) fn of(rule: &RuleKind) -> Proven {
        let names = match rule {
            RuleKind::DropParameter { names, value: None, .. } => names.as_slice(),
            RuleKind::SetParameter { name, .. } => std::slice::from_ref(name),
            _ => &[],
        };
        Proven::for_values(names.iter().map(|name| (name.clone(), BTreeSet::new())).collect())
    }

    /// Returns that a rule is proved for these values, by parameter.
    pub(crate) fn for_values(values: BTreeMap<String, BTreeSet<u64>>) -> Proven {
        Proven { values, ..Proven::default() }
    }

    /// Returns the values for which alone a rule is proved, by parameter: of those parameters of
    /// which too few were seen to speak for others.
    pub(crate) fn limited_to(&self) -> impl Iterator<Item = (&String, &BTreeSet<u64>)> {
        self.values.iter().filter(|(_, known)| known.len() < VALUES_MIN)
    }

    /// Takes in that a URL in these places showed what the rule said.
    pub(crate) fn add(&mut self, url: &CrawlUrl, here: &Places) {
        self.pairs += 1;
        for (of_kind, place) in self.places.iter_mut().zip(here) {
            if *place != NO_VIEW && (of_kind.len() < PLACES_MAX || of_kind.contains_key(place)) {
                *of_kind.entry(*place).or_default() += 1;
            }
        }
        for (name, value) in parameters(url) {
            let name = self.known_name(name);
            let known = self.values.get_mut(&*name).filter(|known| known.len() < VALUES_MAX);
            if let Some(known) = known {
                known.insert(value);
            }
        }
    }

    /// Returns true where a URL speaks for one of its places, or for a value, for which nothing
    /// spoke before.
    pub(crate) fn is_new(&self, url: &CrawlUrl, here: &Places) -> bool {
        here.iter().any(|place| !self.holds_in(*place))
            || self.unseen(url, VALUES_MAX).next().is_some()
    }

    /// Returns in how many places the rule is proved.
    pub(crate) fn places(&self) -> usize {
        self.places.iter().map(BTreeMap::len).sum()
    }

    /// Returns true for a kind of places that are parts of the site: there are no more of them than
    /// a site has parts. More directories than that are names of items, as the pages of a wiki are
    /// that lie in none; names of parameters are always parts.
    fn are_parts(&self, kind: usize) -> bool {
        matches!(kind, NAMES | VIEW) || self.places[kind].len() <= PARTS_MAX
    }

    /// Returns the places of a URL in which the rule is not proved. Where directories are the names
    /// of items, as homes of people are, it is enough to have been proved in some; unless
    /// `asks_each`, as a rule does that has failed in one.
    pub(crate) fn open_in(&self, here: Places, asks_each: bool) -> impl Iterator<Item = u64> {
        let kinds = self.places.iter().enumerate();
        let is_asked = move |kind, known| {
            known < PLACES_MAX && (asks_each || kind == NAMES || known <= PARTS_MAX)
        };
        let asked = kinds.filter(move |(kind, of_kind)| is_asked(*kind, of_kind.len()));
        asked.map(move |(kind, _)| here[kind]).filter(|place| !self.holds_in(*place))
    }

    /// Returns true where the rule is proved in a place.
    pub(crate) fn holds_in(&self, place: u64) -> bool {
        place == NO_VIEW || self.places.iter().any(|of_kind| of_kind.contains_key(&place))
    }

    /// Returns how many pairs agreed in that of some parts of the site where the fewest did. Views
    /// are proved, and are no parts: a rule would be measured in each.
    pub(crate) fn least_in(&self, here: &Places) -> u32 {
        self.least_by(here, |_, _, agreed| agreed)
    }

    /// Returns what [`Proven::least_in`] says where each of several parts in which the rule holds
    /// speaks for the others: one that holds in eleven parts of a site will in the twelfth. The
    /// odds that it is wrong there are then as many times smaller, and by the square of the pairs
    /// that agreed in it they are weighed.
    fn weighed_in(&self, here: &Places) -> u32 {
        self.least_by(here, |of_kind, here, agreed| {
            let others = of_kind.iter().filter(|(place, _)| **place != here);
            let others = others.filter(|(_, agreed)| **agreed >= PART_PROVED).count();
            let agreed = f64::from(agreed) + AGREED_BEFORE;
            (agreed * ((1 + others) as f64).sqrt() - AGREED_BEFORE) as u32
        })
    }

    /// Returns the least of what pairs that agreed in some parts of the site are worth, given all
    /// parts of a kind, the one that is meant and its pairs.
    fn least_by(&self, here: &Places, worth: impl Fn(&BTreeMap<u64, u32>, u64, u32) -> u32) -> u32 {
        let parts = self.places[..VIEW].iter().zip(here);
        let parts = parts.filter(|(of_kind, _)| of_kind.len() <= PARTS_MAX);
        let worth = parts.map(|(of_kind, place)| {
            worth(of_kind, *place, of_kind.get(place).copied().unwrap_or(0))
        });
        worth.min().unwrap_or(self.pairs)
    }

    /// Returns how many values spoke for one that a URL has and that was not seen, where the fewest
    /// did: many pairs of few values say little of the next value. `None` where all its values were
    /// seen, or so many others that one more says nothing.
    pub(crate) fn values_seen(&self, url: &CrawlUrl) -> Option<u32> {
        let few = self.values.values().any(|known| known.len() < VALUES_MAX);
        let unseen = few.then(|| self.unseen(url, VALUES_MAX)).into_iter().flatten();
        unseen.map(|(known, _)| known.len() as u32).min()
    }

    /// Returns how many pairs that agreed in the places of a URL, or values that did, speak for
    /// it, where the fewest do; `None` where neither counts for itself. Parts of the site speak for
    /// each other, unless it `has_failed` in one.
    pub(crate) fn least_for(
        &self,
        url: &CrawlUrl,
        here: Option<&Places>,
        has_failed: bool,
    ) -> Option<u32> {
        let in_places = here.map(|here| match has_failed {
            true => self.least_in(here),
            false => self.weighed_in(here),
        });
        in_places.into_iter().chain(self.values_seen(url)).min()
    }

    /// Returns that part of the site, of those of a URL, outside of which at least so many pairs
    /// agreed, and how many did in it: there a rule may have failed, and hold elsewhere. Of several
    /// it is the one in which the fewest agreed; of directories the wider one is asked first.
    pub(crate) fn weak_part(&self, here: &Places, agreed_min: u32) -> Option<(u64, u32)> {
        let weak = |kind: usize| {
            if !self.are_parts(kind) {
                return None;
            }
            let agreed = self.places[kind].get(&here[kind]).copied().unwrap_or(0);
            let holds_elsewhere = self.pairs >= agreed + agreed_min;
            (holds_elsewhere && here[kind] != NO_VIEW).then_some((here[kind], agreed))
        };
        let parts = [weak(1).or_else(|| weak(2)), weak(VIEW), weak(NAMES)];
        parts.into_iter().flatten().min_by_key(|(_, agreed)| *agreed)
    }

    /// Returns those of some places in which the rule is not proved, and which it is refused in if
    /// it fails. Where view and names are both new it is the view; what has the same names must
    /// prove itself all the same.
    pub(crate) fn unproved_in(&self, here: &Places) -> Vec<u64> {
        let is_new = |kind: &usize| {
            let has_room = self.places[*kind].len() < PLACES_MAX;
            has_room && self.are_parts(*kind) && !self.holds_in(here[*kind])
        };
        let mut new: Vec<usize> = (0..KINDS).filter(is_new).collect();
        if new.contains(&VIEW) {
            new.retain(|kind| *kind != NAMES);
        }
        new.into_iter().map(|kind| here[kind]).collect()
    }

    /// Returns the values of a URL for which the rule is not proved.
    pub(crate) fn unproven_values<'a>(&'a self, url: &'a CrawlUrl) -> impl Iterator<Item = u64> {
        let unseen = self.is_limited_to_values().then(|| self.unseen(url, VALUES_MIN));
        unseen.into_iter().flatten().map(|(_, value)| value)
    }

    /// Returns true where a URL has a value for which the rule is not proved.
    pub(crate) fn lacks_value_of(&self, url: &CrawlUrl) -> bool {
        self.unproven_values(url).next().is_some()
    }

    /// Returns the values of a URL that the rule drops and that were not seen, beside those that
    /// were, of parameters of which fewer than `most` were.
    fn unseen<'a>(
        &'a self,
        url: &'a CrawlUrl,
        most: usize,
    ) -> impl Iterator<Item = (&'a BTreeSet<u64>, u64)> {
        parameters(url).filter_map(move |(name, value)| {
            let name = self.known_name(name);
            let known = self.values.get(&*name).filter(|known| known.len() < most)?;
            (!known.contains(&value)).then_some((known, value))
        })
    }

    /// Returns the name under which the values of a parameter are known: where escapes are decoded,
    /// a rule may be about it without its escapes.
    fn known_name<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.values.contains_key(name) { name.into() } else { escapes::decoded_name(name) }
    }

    /// Returns true where there may be values for which the rule is not proved.
    pub(crate) fn is_limited_to_values(&self) -> bool {
        self.limited_to().next().is_some()
    }
}

/// Returns names and hashes of values of a URL's parameters.
fn parameters(url: &CrawlUrl) -> impl Iterator<Item = (&str, u64)> {
    parts(url).map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (name, xxh3_64(value.as_bytes()))
    })
}

/// Reads the places of each kind; what an earlier program wrote has fewer kinds.
fn kinds<'de, D>(from: D) -> Result<[BTreeMap<u64, u32>; KINDS], D::Error>
where
    D: serde::Deserializer<'de>,
{
    let mut read = Vec::<BTreeMap<u64, u32>>::deserialize(from)?;
    read.resize_with(KINDS, BTreeMap::new);
    let mut read = read.into_iter();
    Ok(std::array::from_fn(|_| read.next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dust::items::NO_ITEMS;

    impl Proven {
        /// Takes in a pair of a site of which no items are known.
        pub(crate) fn agree(&mut self, url: &CrawlUrl, key: &CrawlUrl) {
            self.add(url, &places(url, key, &NO_ITEMS));
        }
    }

    fn url(tail: &str) -> CrawlUrl {
        CrawlUrl::parse(&format!("http://example.com{tail}")).unwrap()
    }

    #[test]
    fn values_are_proved_one_by_one_until_some_have_been_and_are_counted_from_there() {
        let names = vec!["a".to_owned(), "b".to_owned()];
        let mut proven = Proven::of(&RuleKind::drop(names, None));
        let open = |proven: &Proven, tail: &str| proven.unproven_values(&url(tail)).count();
        for value in 0..7 {
            assert_eq!(open(&proven, &format!("/x?a={value}&c=1")), 1);
            proven.agree(&url(&format!("/x?a={value}&c=1")), &url("/x?c=1"));
            assert_eq!(open(&proven, &format!("/y?a={value}")), 0);
        }
        assert_eq!(open(&proven, "/x?a=7&b=0"), 2);
        proven.agree(&url("/x?a=7"), &url("/x"));
        assert_eq!(open(&proven, "/x?a=8&b=0"), 1, "of the other one nothing is known");
        assert!(proven.is_limited_to_values());
        let seen = |proven: &Proven, tail: &str| proven.values_seen(&url(tail));
        assert_eq!(seen(&proven, "/x?a=9"), Some(8), "however many pairs agreed");
        assert_eq!((seen(&proven, "/x?a=3"), seen(&proven, "/x?c=9")), (None, None));
        assert_eq!(seen(&proven, "/x?a=9&b=1"), Some(0));
        for value in 8..200 {
            proven.agree(&url(&format!("/x?a={value}")), &url("/x"));
        }
        assert_eq!(seen(&proven, "/x?a=999"), None, "enough is known of it");
    }

    #[test]
    fn the_values_of_a_parameter_are_known_by_its_name_without_escapes() {
        let mut proven = Proven::of(&RuleKind::drop(vec!["f[0]".to_owned()], None));
        let open = |proven: &Proven, tail: &str| proven.unproven_values(&url(tail)).count();
        assert_eq!(open(&proven, "/x?f%5B0%5D=1"), 1);
        proven.agree(&url("/x?f%5B0%5D=1"), &url("/x"));
        assert_eq!((open(&proven, "/x?f[0]=1"), open(&proven, "/x?f[0]=2")), (0, 1));
        let proven = Proven::of(&RuleKind::drop(vec!["f%5B0%5D".to_owned()], None));
        assert_eq!((open(&proven, "/x?f%5B0%5D=1"), open(&proven, "/x?f[0]=1")), (1, 0));
    }

    /// What was proved of the server on one port of a machine held for what another one serves.
    #[test]
    fn the_ports_of_a_host_are_places_of_their_own() {
        let url = |port: &str, item: u32| {
            CrawlUrl::parse(&format!("http://example.com{port}/list/part/{item}?sid=1")).unwrap()
        };
        let mut proven = Proven::default();
        for item in 0..20 {
            proven.agree(&url(":8001", item), &url(":8001", item));
        }
        let on = |port: &str| places(&url(port, 1), &url(port, 1), &NO_ITEMS);
        assert!(on(":8001").iter().all(|place| proven.holds_in(*place)));
        for other in [":8002", ""] {
            assert!(!on(other)[..VIEW].iter().any(|at| proven.holds_in(*at)), "port {other}");
            assert_eq!(proven.least_in(&on(other)), 0, "port {other}");
        }
        assert_eq!(on(":80"), on(""), "one server, written in two ways");
        let secure = CrawlUrl::parse("https://example.com/list/part/1?sid=1").unwrap();
        assert_eq!(
            places(&secure, &secure, &NO_ITEMS),
            on(""),
            "and with encryption it is the same one"
        );
    }

    /// A rule was tried in the home of each of a hundred people.
    #[test]
    fn directories_that_are_items_are_not_asked_one_by_one() {
        let mut proven = Proven::default();
        let home = |name: &str| url(&format!("/~{name}/notes/list?sid=1"));
        let open = |proven: &Proven, url: &CrawlUrl, asks_each| {
            proven.open_in(places(url, url, &NO_ITEMS), asks_each).count()
        };
        for name in 'a'..='y' {
            let url = home(&format!("u{name}"));
            assert_eq!(open(&proven, &url, false), if name == 'a' { 3 } else { 2 });
            proven.agree(&url, &url);
        }
        assert_eq!(open(&proven, &home("other"), false), 0);
        assert_eq!(open(&proven, &home("other"), true), 2, "it failed in one of them");
        let names = url("/~other/notes/list?sid=1&page=2");
        assert_eq!(open(&proven, &names, false), 1, "views are no items");
    }

    /// A commit that matters to no view of a file but to its history failed for all of them, and
    /// all that it had hidden was fetched.
    #[test]
    fn the_view_of_a_program_with_one_path_is_a_place() {
        let mut proven = Proven::default();
        let on = |view: &str, rest: &str| {
            let [of, key] = ["&at=1", ""].map(|at| url(&format!("/x?p=x.git&a={view}{rest}{at}")));
            (of.clone(), key.clone(), places(&of, &key, &NO_ITEMS))
        };
        for _ in 0..12 {
            let (of, key, _) = on("blob_plain", "&f=1&h=2");
            proven.agree(&of, &key);
        }
        let (history, key, here) = on("history", "&f=1&h=2");
        assert_eq!(proven.open_in(here, false).collect::<Vec<_>>(), [here[VIEW]]);
        assert_eq!(proven.unproved_in(&here), [here[VIEW]]);
        proven.agree(&history, &key);
        assert_eq!(proven.weak_part(&here, 10), Some((here[VIEW], 1)), "its names agreed 13 times");
        let (_, _, unnamed) = on("blob_plain", "&f=1");
        assert_eq!(proven.unproved_in(&unnamed), [unnamed[NAMES]], "its view is proved");
        let (_, _, new) = on("tree", "&f=1");
        assert_eq!(proven.unproved_in(&new), [new[VIEW]], "the names are still to be proved");
        let plain = places(&url("/x?id=7&at=1"), &url("/x?id=7"), &NO_ITEMS);
        assert_eq!(proven.unproved_in(&plain), [plain[NAMES]], "what names no view is no place");
        assert_eq!(proven.open_in(plain, true).collect::<Vec<_>>(), [plain[NAMES]]);
        let view = |tail: &str, key: &str| view(&url(tail), &url(key), &NO_ITEMS);
        let named = view("/x?sort=name&a=b1&at=2&do=log", "/x?a=b1&do=log");
        assert_eq!(named.as_deref(), Some("do=log"));
        assert_eq!(view("/x?C=N&id=7&f=Main&q=a+b&s=1", "/x?C=N&id=7&f=Main&q=a+b"), None);
    }

    /// Two queues have one form to change a query, and other tickets.
    #[test]
    fn the_program_that_a_directory_has_is_a_place() {
        let of = |tail: &str| places(&url(tail), &url(tail), &NO_ITEMS);
        let mut proven = Proven::default();
        let form = url("/Search/Build.html?Query=1");
        (0..20).for_each(|_| proven.agree(&form, &form));
        let here = of("/Search/Results.html?Query=1");
        assert_eq!(proven.open_in(here, false).collect::<Vec<_>>(), [here[2]]);
        assert_eq!(proven.least_in(&here), 0);
        assert_eq!(proven.open_in(of("/Search/Build.html?Query=2"), false).count(), 0);
        for items in ["/news/a-bridge.html", "/news/2026.html", "/news/bridge"] {
            let [one, other] = ["", "2"].map(|at| of(&items.replace("ge", &format!("ge{at}"))));
            assert_eq!(one[2], other[2], "{items}");
        }
        assert_eq!(of("/news/bridge.html")[2], of("/news/weather.html")[2], "nobody asks it");
    }

    /// Where one came from changed no page that is known by its number, and chose the topic on the
    /// one page of help among them.
    #[test]
    fn a_page_with_a_name_among_numbers_is_in_a_place_of_its_own() {
        let of = |tail: &str| places(&url(tail), &url(tail), &NO_ITEMS);
        let mut proven = Proven::default();
        for item in 0..20 {
            let url = url(&format!("/piece/{item}?topic=7"));
            proven.agree(&url, &url);
        }
        assert!(proven.unproved_in(&of("/piece/20?topic=8")).is_empty());
        let help = of("/piece/help?topic=8");
        assert_eq!(proven.unproved_in(&help), [help[2]]);
        assert_eq!(of("/piece/index?topic=8"), help, "names are no parts");
        assert_eq!(of("/piece/17-a-name?topic=8"), of("/piece/20?topic=8"));
    }

    /// A dozen repositories in seven views each were as many places as are asked for in all, and
    /// what had a view or names of parameters of its own was hidden without proof.
    #[test]
    fn many_directories_leave_no_view_and_no_names_unasked() {
        let of = |tail: &str| places(&url(tail), &url(tail), &NO_ITEMS);
        let mut proven = Proven::default();
        let named = |repository: char, view: char| format!("/r{repository}/v{repository}{view}");
        for (repository, view) in ('a'..='t').flat_map(|n| ('a'..='g').map(move |view| (n, view))) {
            let form = url(&format!("{}/file?id=1", named(repository, view)));
            proven.agree(&form, &form);
        }
        assert!(proven.places() > PLACES_MAX);
        for (other, kind) in [("/ra/vaa/file?do=edit&id=1", NAMES), ("/ra/vaa/x?id=blame", VIEW)] {
            let here = of(other);
            let open: Vec<u64> = proven.open_in(here, false).collect();
            assert!(open.contains(&here[kind]), "{other}");
        }
        let directory = of("/ra/another/file?id=1");
        assert_eq!(proven.open_in(directory, true).count(), 0, "there are too many of them");
        assert_eq!(proven.places[2].len(), PLACES_MAX);
    }

    #[test]
    fn what_was_kept_before_there_were_views_is_read() {
        let kept = r#"{"pairs":2,"places":[{"1":2},{"3":2},{"5":1}],"values":{}}"#;
        let read: Proven = serde_json::from_str(kept).unwrap();
        assert_eq!((read.places(), read.holds_in(5)), (3, true));
        let again: Proven = serde_json::from_slice(&serde_json::to_vec(&read).unwrap()).unwrap();
        assert_eq!(again, read);
    }

    /// Each page of a wiki without directories was a part of the site in which a rule might fail
    /// and hold in all others, so that one that hid old versions was never taken back.
    #[test]
    fn names_of_items_are_no_parts_in_which_a_rule_may_fail() {
        let mut proven = Proven::default();
        let of = |tail: &str| places(&url(tail), &url(tail), &NO_ITEMS);
        for item in ('a'..='z').take(PARTS_MAX) {
            let url = url(&format!("/Page_{item}?revision=1"));
            proven.agree(&url, &url);
        }
        let other = of("/Another?revision=2");
        assert_eq!(proven.unproved_in(&other), other[1..VIEW]);
        assert_eq!(proven.weak_part(&other, 10), Some((other[1], 0)));
        proven.agree(&url("/One_more?revision=1"), &url("/One_more"));
        assert_eq!(proven.unproved_in(&other), Vec::<u64>::new());
        assert_eq!(proven.weak_part(&other, 10), None);
        let named = of("/Another?other=2");
        assert_eq!(proven.unproved_in(&named), [named[NAMES]], "names of parameters are parts");
    }

    #[test]
    fn pairs_are_counted_in_each_place() {
        let mut proven = Proven::default();
        for item in 0..3 {
            let url = url(&format!("/list/part/{item}?sid=1"));
            proven.agree(&url, &url);
        }
        let of = |tail: &str| places(&url(tail), &url(tail), &NO_ITEMS);
        assert_eq!(proven.least_in(&of("/list/part/9?sid=4")), 3);
        assert_eq!(proven.least_in(&of("/list/other/9?sid=4")), 0);
        assert_eq!((proven.places(), proven.holds_in(of("/list/x")[1])), (3, true));
        assert_eq!(proven.weak_part(&of("/list/part/9?sid=7"), 2), None);
        let other = of("/view/part/9?sid=1");
        assert_eq!(proven.weak_part(&other, 2), Some((other[1], 0)));
    }
}
