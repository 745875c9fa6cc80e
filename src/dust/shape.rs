//! What a rule changes in a URL, as far as that says how likely it is to be wrong.
//!
//! Texts agree by accident where words are exchanged or left out: two versions of a file, two
//! directories that are both empty. What only spells a URL in another way, or drops a parameter
//! that says nothing, agrees since the server does not look at it. Measured on three browsers of
//! repositories (cgit, Mercurial, Fossil), which have more such accidents than any other software:
//! of rules that had agreed in three documents or more, those that failed later to those that never
//! did, by `.ci/real_software`:
//!
//! | exchanges words | takes a part of the path | drops a parameter | its value or text |
//! |---|---|---|---|
//! | 87 : 153 | 16 : 20 | 9 : 6 | 41 : 236 |

use std::collections::{BTreeMap, HashMap};

use super::rule::{Rule, RuleKind, Source};
use crate::url::Site;

/// What a rule changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Shape {
    /// A word for another one, or a value of a parameter for all others.
    Words,
    /// A part of the path, which is there or not, or the extension of a name.
    Path,
    /// A parameter, whatever its value.
    Parameter,
    /// A parameter with this value, or a part of it.
    Value,
    /// The way in which the same words are written.
    Spelling,
    /// A host or a scheme.
    Host,
    /// The item that is named: a link for the page that it stands on.
    Item,
}

/// Wrong rules for each true one before anything is known of a site: what precision the search has.
pub(crate) const ODDS_WRONG: f64 = 0.02;

/// The same for rules that exchange words, and for those that leave out a part of the path,
/// exchange the extension of a name, or take a link for its page. Parameters begin with no doubt:
/// 0.05 already would hide nothing of a repository shown at each commit, and what a parameter does
/// in one place is asked in each.
const ODDS_WRONG_WORDS: f64 = 0.5;
const ODDS_WRONG_PATH: f64 = 0.1;

/// The least odds, however many rules have never failed: sites change.
const ODDS_WRONG_MIN: f64 = 0.002;

/// Wrong rules for each true one among those that do what a refuted rule did.
const ODDS_DOUBTED: f64 = 1.0;

/// True rules that these odds are worth beside what a site shows.
const ODDS_WEIGHT: f64 = 5.0;

/// Rules of other sites that count as one of the site itself, and pairs of them that do.
pub(crate) const POOLED: u32 = 4;

impl Shape {
    /// Returns what a rule changes.
    pub(crate) fn of(rule: &RuleKind) -> Shape {
        match rule {
            RuleKind::Substring { from, to, at_end, .. } => match Shape::of_substring(from, to) {
                Shape::Words if *at_end && is_extension(from) && is_extension(to) => Shape::Path,
                shape => shape,
            },
            RuleKind::DropParameter { value: None, .. } => Shape::Parameter,
            RuleKind::SetParameter { .. } => Shape::Words,
            // A parameter without a value says no more than none.
            RuleKind::DropParameter { value: Some(value), .. } if value.is_empty() => {
                Shape::Spelling
            }
            RuleKind::DropParameter { value: Some(_), .. } => Shape::Value,
            RuleKind::SortParameters
            | RuleKind::Escapes { .. }
            | RuleKind::PathCase
            | RuleKind::PathSession { .. } => Shape::Spelling,
            RuleKind::HostAlias { .. } | RuleKind::Scheme { .. } => Shape::Host,
            RuleKind::IgnoreSegment { .. } => Shape::Path,
            RuleKind::SelfLink { .. } => Shape::Item,
        }
    }

    fn of_substring(from: &str, to: &str) -> Shape {
        let (mut a, mut b) = (words(from), words(to));
        let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
        a.drain(..same);
        b.drain(..same);
        let same = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
        a.truncate(a.len() - same);
        b.truncate(b.len() - same);
        let is_same = |(a, b): (&&str, &&str)| a.eq_ignore_ascii_case(b);
        match (a.is_empty(), b.is_empty()) {
            (false, false) if a.len() == b.len() && a.iter().zip(&b).all(is_same) => {
                Shape::Spelling
            }
            (false, false) => Shape::Words,
            (true, true) => Shape::Spelling,
            // Where a query is, what is left out is of it.
            _ if from.contains(['?', '&', ';', '=']) || to.contains(['?', '&', ';', '=']) => {
                Shape::Value
            }
            _ => Shape::Path,
        }
    }
}

/// Returns true for what tells at the end of a name how the thing of that name is shown: one thing
/// has several, as `.html` and `.print`. Shorter ones are languages and versions.
fn is_extension(piece: &str) -> bool {
    let name = piece.strip_prefix('.').unwrap_or_default();
    name.len() >= 3
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && name.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Returns the words of a piece of a URL; an escape stands between words.
fn words(piece: &str) -> Vec<&str> {
    let parts = piece.split('%').enumerate();
    let plain = parts.map(|(at, part)| if at == 0 { part } else { part.get(2..).unwrap_or("") });
    plain
        .flat_map(|part| part.split(|c: char| !c.is_ascii_alphanumeric()))
        .filter(|word| !word.is_empty())
        .collect()
}

/// Returns the odds that a rule is wrong before anything is known of its site. What a site
/// declares, or what was proved on another one, is no accident.
fn odds_before(rule: &Rule) -> f64 {
    match Shape::of(&rule.rule) {
        Shape::Words if rule.source == Source::Mined => ODDS_WRONG_WORDS,
        Shape::Path | Shape::Item if rule.source == Source::Mined => ODDS_WRONG_PATH,
        _ => ODDS_WRONG,
    }
}

/// What a crawl has shown of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is in force and has never failed.
    Right,
    /// It was refuted.
    Wrong,
}

/// Rules of one shape by what was shown of them.
#[derive(Clone, Copy, Debug, Default)]
struct ShapeRecord {
    wrong: u32,
    right: u32,
}

/// How far rules have been right so far, by shape: on each site, and on all of them.
#[derive(Debug, Default)]
pub(crate) struct ShapeRecords {
    of_site: HashMap<Site, BTreeMap<Shape, ShapeRecord>>,
    of_all: BTreeMap<Shape, ShapeRecord>,
}

impl ShapeRecords {
    /// Takes what is known of the rules of a site now, in place of what was.
    pub(crate) fn replace(
        &mut self,
        site: &Site,
        verdicts: impl Iterator<Item = (Shape, Verdict)>,
    ) {
        for (shape, before) in self.of_site.remove(site).unwrap_or_default() {
            let all = self.of_all.entry(shape).or_default();
            all.wrong -= before.wrong;
            all.right -= before.right;
        }
        let mut own: BTreeMap<Shape, ShapeRecord> = BTreeMap::new();
        for (shape, verdict) in verdicts {
            for record in [own.entry(shape).or_default(), self.of_all.entry(shape).or_default()] {
                match verdict {
                    Verdict::Right => record.right += 1,
                    Verdict::Wrong => record.wrong += 1,
                }
            }
        }
        if !own.is_empty() {
            self.of_site.insert(site.clone(), own);
        }
    }

    /// Returns the odds that a rule of this shape is wrong on its site: exchanged words may be an
    /// accident where parameters are not. What other sites of the crawl show counts too, but less.
    /// One that is doubted, since it does what a refuted rule did, is as likely wrong as not.
    pub(crate) fn odds_wrong(&self, of: &Rule, is_doubted: bool) -> f64 {
        let least = if is_doubted { ODDS_DOUBTED } else { ODDS_WRONG_MIN };
        let shape = Shape::of(&of.rule);
        let own = self.of_site.get(&of.site).and_then(|own| own.get(&shape));
        let own = own.copied().unwrap_or_default();
        let all = self.of_all.get(&shape).copied().unwrap_or_default();
        let pooled = |own: u32, all: u32| f64::from(own) + f64::from(all - own) / f64::from(POOLED);
        let (wrong, right) = (pooled(own.wrong, all.wrong), pooled(own.right, all.right));
        ((wrong + odds_before(of) * ODDS_WEIGHT) / (right + ODDS_WEIGHT)).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(from: &str, to: &str, want: Shape) {
        assert_eq!(Shape::of_substring(from, to), want, "{from} -> {to}");
        assert_eq!(Shape::of_substring(to, from), want, "{to} -> {from}");
    }

    #[test]
    fn rules_have_the_shape_of_what_they_change() {
        check("/story?id=", "/story_", Shape::Value);
        check("/index.html", "/", Shape::Path);
        check("/Main_Page", "/main_page", Shape::Spelling);
        check("+10:00", "%2010%3A00", Shape::Spelling);
        check("=App/Prove", "=TAP", Shape::Words);
        check("/file/tip/", "/file/03be1326ec6f/", Shape::Words);
        check("/labs/optics/", "/optics/", Shape::Path);
        check("?revcount=7", "", Shape::Value);
        check("/", "", Shape::Spelling);
        let ends = |from: &str, to: &str, at_end: bool| {
            let (from, to) = (from.to_owned(), to.to_owned());
            Shape::of(&RuleKind::Substring { from, to, at_start: false, at_end })
        };
        assert_eq!(ends(".print", ".html", true), Shape::Path);
        let words = [("/a.print", "/b.html"), (".en", ".de"), (".101", ".102")];
        assert!(words.iter().all(|(from, to)| ends(from, to, true) == Shape::Words));
        assert_eq!(ends(".print", ".html", false), Shape::Words);
    }
}
