//! Paths of rules and of URLs in one normal form, and the search for the longest rule that matches.
//!
//! Normal form (RFC 9309 §2.2.2, §2.2.3): escapes of unreserved characters are decoded, other
//! escapes have upper-case digits, and every byte that may not stand in a URL is escaped, so that
//! `/é`, `/%c3%a9` and `/%C3%A9` are one. `*` and `$` are special only where a rule has them bare;
//! `%2A` and `%24` in a rule, and either spelling in a URL, are the plain character. So that the
//! two cannot be confused, the special ones are kept as the bytes 0 and 1, which never stand bare.
//!
//! Search: rules are sorted by the literal before their first wildcard. All literals that begin a
//! path form a chain that one binary search finds, so that plain rules cost a few comparisons.
//! Rules that share a literal, such as the many that begin with `/*`, are tried one by one, most
//! octets first, behind a 128-bit filter of the byte pairs that they need.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::BitOr;

/// `*` in a rule: any number of bytes.
pub(super) const WILDCARD: u8 = 0;
/// `$` at the end of a rule: the end of the URL.
pub(super) const END: u8 = 1;

/// Most bytes of one line, as in Google's parser: eight times what browsers took as a URL once.
/// The rest of a longer line is dropped.
pub(super) const LINE_BYTES_MAX: usize = 2083 * 8;

/// Returns the normal form of a URL's path and query.
pub(super) fn normalize_url(path: &str) -> Cow<'_, [u8]> {
    let bytes = path.as_bytes();
    match bytes.iter().position(|&b| b == b'%' || !stands_bare(b)) {
        None => Cow::Borrowed(bytes),
        Some(_) => {
            let mut out = Vec::with_capacity(bytes.len() + 16);
            normalize_into(bytes, &mut out);
            Cow::Owned(out)
        }
    }
}

/// Returns the octets of a rule's path in normal form if it matches the path and query of a URL, as
/// the rules of a robots.txt do: of several that match the one with most octets speaks.
pub(crate) fn octets_matched(rule: &str, path: &str) -> Option<usize> {
    let mut pattern = Vec::new();
    normalize_rule(rule.as_bytes(), &mut pattern);
    let path = normalize_url(path);
    let literal = literal(&pattern);
    let rest = path.strip_prefix(literal)?;
    matches_rest(&pattern[literal.len()..], rest).then_some(pattern.len())
}

/// Appends the normal form of a rule's path.
pub(super) fn normalize_rule(path: &[u8], out: &mut Vec<u8>) {
    let (path, ends) = match path.split_last() {
        Some((b'$', rest)) => (rest, true),
        _ => (path, false),
    };
    for (i, literal) in path.split(|&b| b == b'*').enumerate() {
        if i > 0 {
            out.push(WILDCARD);
        }
        normalize_into(literal, out);
    }
    if ends {
        out.push(END);
    }
}

/// Returns a rule's path as it could stand in a robots.txt.
pub(super) fn display_rule(pattern: &[u8]) -> String {
    let mut out = String::with_capacity(pattern.len());
    for (i, &byte) in pattern.iter().enumerate() {
        match byte {
            WILDCARD => out.push('*'),
            END => out.push('$'),
            b'*' => out.push_str("%2A"),
            b'$' if i + 1 == pattern.len() => out.push_str("%24"),
            _ => out.push(char::from(byte)),
        }
    }
    out
}

/// Returns true if `pattern` is one that [`normalize_rule`] can have made, as far as matching and
/// display rely on it.
pub(super) fn is_normal(pattern: &[u8]) -> bool {
    let ends_first = pattern.iter().position(|&b| b == END);
    pattern.len() <= 3 * LINE_BYTES_MAX
        && ends_first.is_none_or(|at| at + 1 == pattern.len())
        && pattern.iter().all(|b| b.is_ascii_graphic() || matches!(*b, WILDCARD | END))
}

fn normalize_into(path: &[u8], out: &mut Vec<u8>) {
    let digit = |value: u8| b"0123456789ABCDEF"[usize::from(value & 15)];
    let mut at = 0;
    while at < path.len() {
        let byte = path[at];
        if byte == b'%'
            && let Some(value) = escaped_byte(path, at)
        {
            if is_unreserved(value) || matches!(value, b'*' | b'$') {
                out.push(value);
            } else {
                out.extend([b'%', digit(value >> 4), digit(value)]);
            }
            at += 3;
            continue;
        }
        if stands_bare(byte) {
            out.push(byte);
        } else {
            out.extend([b'%', digit(byte >> 4), digit(byte)]);
        }
        at += 1;
    }
}

fn escaped_byte(bytes: &[u8], at: usize) -> Option<u8> {
    let digit = |at: usize| char::from(*bytes.get(at)?).to_digit(16);
    Some((digit(at + 1)? * 16 + digit(at + 2)?) as u8)
}

/// RFC 3986 §2.3.
const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Unreserved, reserved, or a percent sign that begins no escape.
const fn stands_bare(byte: u8) -> bool {
    is_unreserved(byte)
        || matches!(byte, b':' | b'/' | b'?' | b'#' | b'[' | b']' | b'@' | b'%')
        || matches!(
            byte,
            b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b';' | b'='
        )
}

/// One rule of a table under construction: line, allow or disallow, pattern in normal form.
pub(super) struct Draft {
    pub(super) line: u32,
    pub(super) allow: bool,
    pub(super) pattern: Box<[u8]>,
}

/// Allow and disallow rules, ready for search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RuleTable {
    text: Box<[u8]>,
    rules: Box<[Rule]>,
    families: Box<[Family]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    /// Bloom filter of the byte pairs in every URL that this rule matches.
    pairs: u128,
    start: u32,
    line: u32,
    octets: u16,
    literal: u16,
    allow: bool,
}

/// The rules that share a literal: `rules[start..next family's start]`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Family {
    start: u32,
    /// The family of the longest other literal that begins this one's, or `NONE`.
    parent: u32,
}

const NONE: u32 = u32::MAX;

/// A rule as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found<'a> {
    pub(super) line: u32,
    pub(super) allow: bool,
    pub(super) pattern: &'a [u8],
}

impl RuleTable {
    /// Builds the table. Of equal rules the first line is kept.
    pub(super) fn new(mut drafts: Vec<Draft>) -> Self {
        // A rule that matches nothing or everything at length 0 decides nothing (RFC 9309 §2.2.2).
        drafts.retain(|draft| {
            !draft.pattern.is_empty() && draft.pattern.len() <= usize::from(u16::MAX)
        });
        drafts.sort_by(|a, b| {
            let key = |d: &Draft| (Reverse(d.pattern.len()), Reverse(d.allow), d.line);
            literal(&a.pattern).cmp(literal(&b.pattern)).then_with(|| key(a).cmp(&key(b)))
        });
        let mut seen = std::collections::HashSet::with_capacity(drafts.len());
        let fresh: Vec<bool> =
            drafts.iter().map(|draft| seen.insert((&*draft.pattern, draft.allow))).collect();
        let mut kept = fresh.into_iter();
        drafts.retain(|_| kept.next().unwrap_or(true));

        let mut text = Vec::with_capacity(drafts.iter().map(|draft| draft.pattern.len()).sum());
        let mut rules = Vec::with_capacity(drafts.len());
        for draft in &drafts {
            rules.push(Rule {
                pairs: pairs_of_rule(&draft.pattern),
                start: text.len() as u32,
                line: draft.line,
                octets: draft.pattern.len() as u16,
                literal: literal(&draft.pattern).len() as u16,
                allow: draft.allow,
            });
            text.extend(&*draft.pattern);
        }
        let mut table =
            RuleTable { text: text.into(), rules: rules.into(), families: Box::default() };
        table.families = table.find_families();
        table
    }

    /// Returns how many bytes of memory the rules take.
    pub(super) fn memory(&self) -> usize {
        self.text.len()
            + std::mem::size_of_val(&*self.rules)
            + std::mem::size_of_val(&*self.families)
    }

    /// Returns the number of rules.
    pub(super) fn len(&self) -> usize {
        self.rules.len()
    }

    /// Returns the rules in the order of the table.
    pub(super) fn iter(&self) -> impl Iterator<Item = Found<'_>> {
        self.rules.iter().map(|rule| self.found(rule))
    }

    /// Returns the rule with most octets that matches a path in normal form; allow before disallow
    /// among equals (RFC 9309 §2.2.2).
    pub(super) fn find(&self, path: &[u8]) -> Option<Found<'_>> {
        let after = self.families.partition_point(|family| self.literal_of(family) <= path);
        let mut family = after.checked_sub(1)?;
        let mut best: Option<&Rule> = None;
        let in_path = std::cell::OnceCell::new();
        loop {
            let literal = self.literal_of(&self.families[family]);
            if let Some(rest) = path.strip_prefix(literal) {
                for rule in self.rules_of(family) {
                    if best.is_some_and(|best| !rule.beats(best)) {
                        break;
                    }
                    let wild = usize::from(rule.literal) < usize::from(rule.octets);
                    if wild
                        && (rule.pairs & !in_path.get_or_init(|| pairs(path)) != 0
                            || !matches_rest(&self.pattern(rule)[literal.len()..], rest))
                    {
                        continue;
                    }
                    best = Some(rule);
                    break;
                }
            }
            match self.families[family].parent {
                NONE => return best.map(|rule| self.found(rule)),
                parent => family = parent as usize,
            }
        }
    }

    fn rules_of(&self, family: usize) -> &[Rule] {
        let end =
            self.families.get(family + 1).map_or(self.rules.len(), |next| next.start as usize);
        &self.rules[self.families[family].start as usize..end]
    }

    fn literal_of(&self, family: &Family) -> &[u8] {
        let rule = &self.rules[family.start as usize];
        &self.pattern(rule)[..usize::from(rule.literal)]
    }

    fn pattern(&self, rule: &Rule) -> &[u8] {
        &self.text[rule.start as usize..][..usize::from(rule.octets)]
    }

    fn found<'a>(&'a self, rule: &Rule) -> Found<'a> {
        Found { line: rule.line, allow: rule.allow, pattern: self.pattern(rule) }
    }

    fn find_families(&self) -> Box<[Family]> {
        let mut families: Vec<Family> = Vec::new();
        for (i, rule) in self.rules.iter().enumerate() {
            let literal = &self.pattern(rule)[..usize::from(rule.literal)];
            if families.last().is_some_and(|last| self.literal_of(last) == literal) {
                continue;
            }
            // Sorted order puts a literal behind all that begin it, the nearest on the chain first.
            let mut parent = families.len().checked_sub(1);
            while let Some(at) = parent {
                if literal.starts_with(self.literal_of(&families[at])) {
                    break;
                }
                parent = Some(families[at].parent).filter(|&up| up != NONE).map(|up| up as usize);
            }
            families.push(Family { start: i as u32, parent: parent.map_or(NONE, |at| at as u32) });
        }
        families.into()
    }
}

impl Rule {
    fn beats(&self, other: &Rule) -> bool {
        (self.octets, self.allow, Reverse(self.line))
            > (other.octets, other.allow, Reverse(other.line))
    }
}

/// Returns a Bloom filter of the pairs of neighbouring bytes.
fn pairs(text: &[u8]) -> u128 {
    text.windows(2)
        .map(|pair| {
            let number = u32::from(pair[0]) << 8 | u32::from(pair[1]);
            1 << (number.wrapping_mul(0x9E37_79B1) >> 25)
        })
        .fold(0, BitOr::bitor)
}

fn pairs_of_rule(pattern: &[u8]) -> u128 {
    pattern.split(|b| matches!(*b, WILDCARD | END)).map(pairs).fold(0, BitOr::bitor)
}

/// Returns the part of a pattern before its first special byte.
fn literal(pattern: &[u8]) -> &[u8] {
    let end = pattern.iter().position(|b| matches!(*b, WILDCARD | END)).unwrap_or(pattern.len());
    &pattern[..end]
}

/// Matches the rest of a pattern, from its first special byte on, against the rest of a path.
///
/// Each literal is taken where it first occurs: for patterns of literals and stars alone that finds
/// a match whenever there is one, without going back.
fn matches_rest(mut pattern: &[u8], mut path: &[u8]) -> bool {
    loop {
        match pattern {
            [] => return true,
            [END, ..] => return path.is_empty(),
            _ => {}
        }
        let stars = pattern.iter().take_while(|&&b| b == WILDCARD).count();
        pattern = &pattern[stars..];
        let next = literal(pattern);
        pattern = &pattern[next.len()..];
        if pattern == [END] {
            return path.ends_with(next);
        }
        match memchr::memmem::find(path, next) {
            Some(at) => path = &path[at + next.len()..],
            None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(rules: &[&str]) -> RuleTable {
        let drafts = rules.iter().enumerate().map(|(i, rule)| {
            let (verb, path) = rule.split_once(' ').unwrap();
            let mut pattern = Vec::new();
            normalize_rule(path.as_bytes(), &mut pattern);
            Draft { line: i as u32 + 1, allow: verb == "+", pattern: pattern.into() }
        });
        RuleTable::new(drafts.collect())
    }

    fn check(rules: &[&str], path: &str, want: Option<u32>) {
        let table = table(rules);
        let found = table.find(&normalize_url(path)).map(|found| found.line);
        assert_eq!(found, want, "{rules:?} {path}");
        for (line, rule) in (1..).zip(rules) {
            let alone = octets_matched(&rule[2..], path).is_some();
            assert!(alone || want != Some(line), "{rule} {path}");
            assert!(!alone || want.is_some(), "{rule} {path}");
        }
    }

    #[test]
    fn the_rule_with_most_octets_decides() {
        let rules = ["- /", "+ /a", "- /a/b", "+ /a/b/c$", "- /*.gif", "- /a/*/z", "+ /a/b/ccc"];
        for (path, want) in [
            ("/", 1),
            ("/x", 1),
            ("/a", 2),
            ("/a/b/c", 4),
            ("/a/b/cc", 3),
            ("/a/b/ccc", 7),
            ("/a/x.gif", 5),
            ("/a/y/z", 6),
            ("/a/b/q/z", 6),
            ("/x.gif?y", 5),
        ] {
            check(&rules, path, Some(want));
        }
    }

    #[test]
    fn of_equally_long_rules_allow_decides_and_the_first_line_is_named() {
        check(&["- /a", "+ /a", "+ /a"], "/a", Some(2));
        check(&["- /*b", "+ /ab"], "/ab", Some(2));
        check(&["- /ab", "- /*b"], "/ab", Some(1));
        check(&["- /*b", "- /ab"], "/ab", Some(1));
    }

    #[test]
    fn stars_and_dollars_are_special_only_when_bare_and_in_place() {
        for (rule, path, want) in [
            ("- /a*", "/a", true),
            ("- /a**b", "/axxb", true),
            ("- *", "/", true),
            ("- */b$", "/a/b", true),
            ("- */b$", "/a/b/", false),
            ("- /a*b*c$", "/abcbc", true),
            ("- /a*$", "/abc", true),
            ("- /$", "/", true),
            ("- /$", "/a", false),
            ("- /a$b", "/a$b", true),
            ("- /a$b", "/a", false),
            ("- /a$$", "/a$", true),
            ("- /a%24", "/a$b", true),
            ("- /a%2a", "/a*b", true),
            ("- /a%2a", "/ab", false),
            ("- /a*", "/a%2A", true),
            ("- $", "/", false),
            ("- a", "/a", false),
        ] {
            check(&[rule], path, want.then_some(1));
        }
    }

    #[test]
    fn spellings_of_one_character_match_each_other() {
        for (rule, path, want) in [
            ("- /%7Ejoe", "/~joe", true),
            ("- /~joe", "/%7ejoe", true),
            ("- /a%2fb", "/a%2Fb", true),
            ("- /a%2fb", "/a/b", false),
            ("- /a/b", "/a%2Fb", false),
            ("- /\u{30c4}", "/%E3%83%84", true),
            ("- /%e3%83%84", "/%E3%83%84", true),
            ("- /a b", "/a%20b", true),
            ("- /a{b|c}", "/a%7Bb%7Cc%7D", true),
            ("- /a<", "/a%3C", true),
            ("- /100%", "/100%", true),
        ] {
            check(&[rule], path, want.then_some(1));
        }
    }

    #[test]
    fn a_shown_rule_reads_back_as_the_same_rule() {
        for rule in ["/a*b$", "/%2A%24", "/a$b", "/$$", "/\u{e9}", "*", "$", "/a%24"] {
            let mut once = Vec::new();
            normalize_rule(rule.as_bytes(), &mut once);
            let mut again = Vec::new();
            normalize_rule(display_rule(&once).as_bytes(), &mut again);
            assert_eq!(once, again, "{rule}");
            assert!(is_normal(&once));
        }
    }

    /// The definition of a match, with no regard to cost.
    fn matches_plainly(pattern: &[u8], path: &[u8]) -> bool {
        match pattern.split_first() {
            None => true,
            Some((&END, _)) => path.is_empty(),
            Some((&WILDCARD, rest)) => {
                (0..=path.len()).any(|skip| matches_plainly(rest, &path[skip..]))
            }
            Some((byte, rest)) => {
                path.split_first().is_some_and(|(b, path)| b == byte && matches_plainly(rest, path))
            }
        }
    }

    proptest! {
        #[test]
        fn the_search_finds_what_trying_every_rule_finds(
            rules in prop::collection::vec("[+-] [/ab*]{0,6}[$]?", 1..12),
            path in "/[/ab]{0,8}",
        ) {
            let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
            let table = table(&rules);
            let path = normalize_url(&path);
            let plainly = table
                .iter()
                .filter(|rule| matches_plainly(rule.pattern, &path))
                .max_by_key(|rule| (rule.pattern.len(), rule.allow, Reverse(rule.line)));
            prop_assert_eq!(table.find(&path), plainly);
        }
    }
}
