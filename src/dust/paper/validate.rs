//! The last phase: likely rules are proved or refuted by fetching pages (section 5.3).

use serde::Serialize;

use super::eliminate::refines;
use super::parameter::ParameterCandidate;
use super::rule::{Rule, Substitution};
use super::sample::Urn;
use super::settings::Settings;
use super::shingle::Shingles;

/// What came of fetching one URL, redirects followed.
#[derive(Clone, Debug, PartialEq)]
pub enum Fetched {
    /// A document.
    Page(Shingles),
    /// An error status, or no answer.
    Failed,
}

/// Fetches pages for the validation. It follows redirects, and owes the site its politeness.
pub trait Fetcher {
    /// Fetches one URL.
    fn fetch(&mut self, url: &str) -> Fetched;
}

/// The outcome of one validation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trial {
    /// Pairs of pages that were similar.
    #[serde(rename = "pos")]
    pub positive: u64,
    /// Pairs of pages that were not, or whose second page does not exist.
    #[serde(rename = "neg")]
    pub negative: u64,
    /// True if the list had no further URL to which the rule applies.
    pub exhausted: bool,
    /// The index of the pair in the list after elimination.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair: Option<usize>,
    /// The name of the parameter.
    #[serde(skip_serializing_if = "Option::is_none", rename = "param")]
    pub parameter: Option<String>,
    /// The verdict.
    pub valid: bool,
    /// How many pages were fetched.
    pub fetches: u64,
}

/// A pair of the list after elimination, the greater string first.
pub(super) type Strings = (Vec<String>, Vec<String>);

/// Validates pairs in order, then parameters, on URLs of `list` (figure 4).
///
/// Of a pair the shrinking direction is tried first, and the other only if that fails. A pair that
/// refines a valid one is dropped unseen. Of a parameter, omission is tried before its most
/// frequent value.
pub(super) fn validate(
    pairs: impl Iterator<Item = Strings>,
    parameters: &[ParameterCandidate],
    list: &[&str],
    settings: &Settings,
    fetcher: &mut dyn Fetcher,
) -> (Vec<Rule>, Vec<Trial>) {
    let urn = Urn::new(list);
    let (mut rules, mut trials) = (Vec::new(), Vec::new());
    let mut valid: Vec<Strings> = Vec::new();
    for (index, (alpha, beta)) in pairs.enumerate() {
        if valid.iter().any(|inner| refines((&alpha, &beta), (&inner.0, &inner.1))) {
            continue;
        }
        let salt = format!("{}/{index}", settings.seed);
        let shrinking = Rule::Substitute(Substitution::new(alpha.clone(), beta.clone()));
        let growing = Rule::Substitute(Substitution::new(beta.clone(), alpha.clone()));
        for rule in [shrinking, growing] {
            let mut trial = try_rule(&rule, &urn, &salt, settings, fetcher);
            trial.pair = Some(index);
            let is_valid = trial.valid;
            trials.push(trial);
            if is_valid {
                rules.push(rule);
                valid.push((alpha, beta));
                break;
            }
        }
    }
    for candidate in parameters {
        let salt = format!("{}/{}", settings.seed, candidate.name);
        let parameter = candidate.name.clone();
        let omit = Rule::Omit { parameter: parameter.clone() };
        let set = Rule::Set { parameter, value: candidate.value.clone() };
        for rule in [omit, set] {
            let mut trial = try_rule(&rule, &urn, &salt, settings, fetcher);
            trial.parameter = Some(candidate.name.clone());
            let is_valid = trial.valid;
            trials.push(trial);
            if is_valid {
                rules.push(rule);
                break;
            }
        }
    }
    (rules, trials)
}

/// Validates one rule on URLs drawn from the list (figure 3).
///
/// If the list ends before the verdict, the rule is valid if there were positive examples and fewer
/// negative ones than the refutation share.
fn try_rule(
    rule: &Rule,
    urn: &Urn<'_>,
    salt: &str,
    settings: &Settings,
    fetcher: &mut dyn Fetcher,
) -> Trial {
    let wanted = settings.validations as f64;
    let accepting = (1.0 - settings.refutation_share) * wanted;
    let refuting = settings.refutation_share * wanted;
    let (mut positive, mut negative, mut fetches) = (0u64, 0u64, 0u64);
    let mut draw = urn.draw(salt).filter_map(|url| Some((url, rule.apply(url)?)));
    let mut exhausted = false;
    while (positive as f64) < accepting && (negative as f64) < refuting {
        let Some((url, outcome)) = draw.next() else {
            exhausted = true;
            break;
        };
        fetches += 2;
        let (before, after) = (fetcher.fetch(url), fetcher.fetch(&outcome));
        match (before, after) {
            (Fetched::Failed, _) => {}
            (Fetched::Page(before), Fetched::Page(after))
                if before.resemblance(&after) >= settings.resemblance_min =>
            {
                positive += 1;
            }
            (Fetched::Page(_), _) => negative += 1,
        }
    }
    let share = settings.refutation_share * (positive + negative) as f64;
    let valid =
        (negative as f64) < refuting && (!exhausted || positive > 0 && (negative as f64) < share);
    Trial { positive, negative, exhausted, pair: None, parameter: None, valid, fetches }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::rule::tests::{cut, substitution};
    use super::*;

    /// Serves pages from memory: equal numbers are equal documents.
    struct Pages {
        documents: HashMap<String, usize>,
        fetches: u64,
    }

    impl Fetcher for Pages {
        fn fetch(&mut self, url: &str) -> Fetched {
            self.fetches += 1;
            self.documents.get(url).map_or(Fetched::Failed, |document| {
                Fetched::Page(Shingles::of(&format!("document {document}")))
            })
        }
    }

    fn pages(documents: impl IntoIterator<Item = (String, usize)>) -> Pages {
        Pages { documents: documents.into_iter().collect(), fetches: 0 }
    }

    fn check(
        pages: &mut Pages,
        pairs: &[(&str, &str)],
        list: &[String],
        want: &[Rule],
        fetches: u64,
    ) {
        let list: Vec<&str> = list.iter().map(String::as_str).collect();
        let pairs = pairs.iter().map(|(alpha, beta)| (cut(alpha), cut(beta)));
        let (rules, trials) = validate(pairs, &[], &list, &Settings::default(), pages);
        assert_eq!(rules, want);
        assert_eq!(pages.fetches, fetches);
        assert_eq!(trials.iter().map(|trial| trial.fetches).sum::<u64>(), fetches);
    }

    #[test]
    fn ninety_five_positives_accept_and_five_negatives_refute() {
        let list: Vec<String> = (0..200).map(|i| format!("http://h/a{i}/x")).collect();
        let short = |url: &String| url.trim_end_matches("/x").to_owned();
        let rule = substitution("/x$", "$");
        let both = list.iter().enumerate().flat_map(|(i, url)| [(url.clone(), i), (short(url), i)]);
        check(&mut pages(both), &[("/x$", "$")], &list, std::slice::from_ref(&rule), 190);
        // The shrunk forms do not exist, and the growing direction is refuted as well.
        let long = list.iter().enumerate().map(|(i, url)| (url.clone(), i));
        check(&mut pages(long), &[("/x$", "$")], &list, &[], 20);
    }

    #[test]
    fn without_one_positive_example_nothing_is_valid() {
        let list: Vec<String> = (0..4).map(|i| format!("http://h/{i}/x")).collect();
        check(&mut pages([]), &[("/x$", "/y$")], &list, &[], 8);
    }

    #[test]
    fn the_growing_direction_is_tried_when_the_shrinking_one_fails() {
        let urls = |i| {
            [
                format!("http://h/s_{i}"),
                format!("http://h/s?id={i}&x=1"),
                format!("http://h/s?id={i}"),
            ]
        };
        let list: Vec<String> = (0..40).flat_map(urls).collect();
        let documents = list.iter().enumerate().map(|(at, url)| (url.clone(), at / 3));
        let trials_of_growing = 2 * 40;
        let mut pages = pages(documents);
        let list_texts: Vec<&str> = list.iter().map(String::as_str).collect();
        let pairs = [(cut("?id="), cut("_"))].into_iter();
        let (rules, trials) = validate(pairs, &[], &list_texts, &Settings::default(), &mut pages);
        assert_eq!(rules, [substitution("_", "?id=")]);
        assert!(!trials[0].valid);
        assert_eq!((trials[1].valid, trials[1].fetches), (true, trials_of_growing));
    }

    #[test]
    fn a_refinement_of_a_valid_pair_costs_nothing() {
        let list: Vec<String> = (0..20).map(|i| format!("http://h/story?id={i}")).collect();
        let documents = (0..20).flat_map(|i| {
            [(format!("http://h/story?id={i}"), i), (format!("http://h/story_{i}"), i)]
        });
        let pairs = [("?id=", "_"), ("story?id=", "story_"), ("zzz", "yyy")];
        check(&mut pages(documents), &pairs, &list, &[substitution("?id=", "_")], 40);
    }
}
