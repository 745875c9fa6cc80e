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

use super::rule::{Rule, RuleKind, Source};

/// What a rule changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    /// A word for another one, or a value of a parameter for all others.
    Words,
    /// A part of the path, which is there or not.
    Path,
    /// A parameter, whatever its value.
    Parameter,
    /// A parameter with this value, or a part of it.
    Value,
    /// The way in which the same words are written.
    Spelling,
    /// A host or a scheme.
    Host,
}

/// Wrong rules for each true one before anything is known of a site: what precision the search has.
pub(crate) const ODDS_WRONG: f64 = 0.02;

/// The same for rules that exchange words, and for those that leave out a part of the path.
/// Parameters begin with no doubt: 0.05 already would hide nothing of a repository shown at each
/// commit, and what a parameter does in one place is asked in each.
const ODDS_WRONG_WORDS: f64 = 0.5;
const ODDS_WRONG_PATH: f64 = 0.1;

impl Shape {
    /// Returns what a rule changes.
    pub(crate) fn of(rule: &RuleKind) -> Shape {
        match rule {
            RuleKind::Substring { from, to, .. } => Shape::of_substring(from, to),
            RuleKind::DropParameter { value: None, .. } => Shape::Parameter,
            RuleKind::DropParameter { value: Some(_), .. } => Shape::Value,
            RuleKind::SetParameter { .. } => Shape::Words,
            RuleKind::SortParameters | RuleKind::PathCase | RuleKind::PathSession { .. } => {
                Shape::Spelling
            }
            RuleKind::HostAlias { .. } | RuleKind::Scheme { .. } => Shape::Host,
            RuleKind::IgnoreSegment { .. } => Shape::Path,
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
pub(crate) fn odds_before(rule: &Rule) -> f64 {
    match Shape::of(&rule.rule) {
        Shape::Words if rule.source == Source::Mined => ODDS_WRONG_WORDS,
        Shape::Path if rule.source == Source::Mined => ODDS_WRONG_PATH,
        _ => ODDS_WRONG,
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
    }
}
