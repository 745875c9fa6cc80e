//! Rules with a direction, and what they make of a URL (sections 3 and 5.4).

use serde::{Deserialize, Serialize};

use super::parameter;
use super::token::{BEGIN, END, display, tokens};

/// A rule with a direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub enum Rule {
    /// Replaces a substring by another.
    Substitute(Substitution),
    /// Removes a parameter.
    Omit {
        /// The name of the parameter.
        parameter: String,
    },
    /// Gives a parameter one value.
    Set {
        /// The name of the parameter.
        parameter: String,
        /// The value.
        value: String,
    },
}

/// The replacement of one string of tokens by another; sentinels are tokens too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Substitution {
    alpha: Vec<String>,
    beta: Vec<String>,
    /// The characters of alpha, to see quickly that a URL has none of it.
    needle: String,
}

impl Substitution {
    /// Makes the rule that replaces `alpha` by `beta`.
    pub fn new(alpha: Vec<String>, beta: Vec<String>) -> Self {
        let needle = alpha.iter().filter(|token| !is_sentinel(token)).map(String::as_str).collect();
        Substitution { alpha, beta, needle }
    }

    /// The tokens that are replaced.
    pub fn alpha(&self) -> &[String] {
        &self.alpha
    }

    /// The tokens that replace them.
    pub fn beta(&self) -> &[String] {
        &self.beta
    }

    /// Applies the rule to its first occurrence that leaves a URL with the tokens on both sides as
    /// they were.
    fn apply(&self, url: &str) -> Option<String> {
        if !url.contains(&self.needle) {
            return None;
        }
        let url_tokens: Vec<&str> =
            std::iter::once(BEGIN).chain(tokens(url)).chain(std::iter::once(END)).collect();
        let last_start = url_tokens.len().checked_sub(self.alpha.len())?;
        (0..=last_start)
            .filter(|&at| url_tokens[at..].iter().zip(&self.alpha).all(|(x, y)| x == y))
            .find_map(|at| self.apply_at(&url_tokens, at).filter(|outcome| outcome != url))
    }

    fn apply_at(&self, url: &[&str], at: usize) -> Option<String> {
        let replaced = || {
            let beta = self.beta.iter().map(String::as_str);
            url[..at]
                .iter()
                .copied()
                .chain(beta)
                .chain(url[at + self.alpha.len()..].iter().copied())
        };
        let outcome: String = replaced().filter(|token| !is_sentinel(token)).collect();
        // Two tokens glued into one, or a sentinel inside: not an instance by definition 3.1.
        let cut = std::iter::once(BEGIN).chain(tokens(&outcome)).chain(std::iter::once(END));
        (cut.eq(replaced()) && is_url(&outcome)).then_some(outcome)
    }
}

fn is_sentinel(token: &str) -> bool {
    token == BEGIN || token == END
}

/// Returns whether a text has the form of an http or https URL with a host and without space.
fn is_url(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) else {
        return false;
    };
    let has_host = rest.chars().next().is_some_and(|c| !matches!(c, '/' | '?' | '#'));
    // The last four are space to the reference's regular expressions, though not to Unicode.
    let is_space = |c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c);
    has_host && !rest.contains(is_space)
}

impl Rule {
    /// Applies the rule once; none if the URL stays as it is.
    pub fn apply(&self, url: &str) -> Option<String> {
        match self {
            Rule::Substitute(substitution) => substitution.apply(url),
            Rule::Omit { parameter } => parameter::omit(url, parameter),
            Rule::Set { parameter, value } => parameter::set(url, parameter, value),
        }
    }
}

/// Applies all rules in order, again and again, until nothing changes or `rounds_max` is reached.
pub fn canonize(url: &str, rules: &[Rule], rounds_max: usize) -> String {
    let mut url = url.to_owned();
    for _ in 0..rounds_max {
        let before = url.clone();
        for rule in rules {
            if let Some(outcome) = rule.apply(&url) {
                url = outcome;
            }
        }
        if url == before {
            break;
        }
    }
    url
}

/// A rule as it stands in files.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Written {
    Sub {
        #[serde(default)]
        from: String,
        #[serde(default)]
        to: String,
        alpha: Vec<String>,
        beta: Vec<String>,
    },
    Omit {
        param: String,
    },
    Set {
        param: String,
        value: String,
    },
}

impl From<Written> for Rule {
    fn from(written: Written) -> Self {
        match written {
            // The printable forms are for people; tokens alone are exact.
            Written::Sub { alpha, beta, .. } => Rule::Substitute(Substitution::new(alpha, beta)),
            Written::Omit { param } => Rule::Omit { parameter: param },
            Written::Set { param, value } => Rule::Set { parameter: param, value },
        }
    }
}

impl From<Rule> for Written {
    fn from(rule: Rule) -> Self {
        match rule {
            Rule::Substitute(Substitution { alpha, beta, .. }) => {
                Written::Sub { from: display(&alpha), to: display(&beta), alpha, beta }
            }
            Rule::Omit { parameter } => Written::Omit { param: parameter },
            Rule::Set { parameter, value } => Written::Set { param: parameter, value },
        }
    }
}

impl std::fmt::Display for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Rule::Substitute(rule) => {
                write!(f, "\"{}\" -> \"{}\"", display(&rule.alpha), display(&rule.beta))
            }
            Rule::Omit { parameter } => write!(f, "omit parameter {parameter}"),
            Rule::Set { parameter, value } => write!(f, "set parameter {parameter} to \"{value}\""),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A substitution from strings in which a leading `^` and a trailing `$` are the sentinels.
    pub(crate) fn substitution(alpha: &str, beta: &str) -> Rule {
        Rule::Substitute(Substitution::new(cut(alpha), cut(beta)))
    }

    pub(crate) fn cut(text: &str) -> Vec<String> {
        let (text, begins) = text.strip_prefix('^').map_or((text, false), |rest| (rest, true));
        let (text, ends) = text.strip_suffix('$').map_or((text, false), |rest| (rest, true));
        let begin = begins.then_some(BEGIN);
        let end = ends.then_some(END);
        begin.into_iter().chain(tokens(text)).chain(end).map(str::to_owned).collect()
    }

    fn check(rule: (&str, &str), url: &str, want: Option<&str>) {
        assert_eq!(substitution(rule.0, rule.1).apply(url).as_deref(), want, "{rule:?} {url}");
    }

    #[test]
    fn a_rule_replaces_the_first_whole_token_match() {
        check(("/~", "/people/"), "http://h/~jo/~x", Some("http://h/people/jo/~x"));
        check(("1", "2"), "http://h/11/1", Some("http://h/11/2"));
        check(("/index.html$", "$"), "http://h/index.html/index.html", Some("http://h/index.html"));
        check(("^http://www.", "^http://"), "http://www.h/", Some("http://h/"));
    }

    #[test]
    fn a_rule_never_glues_tokens_nor_leaves_what_is_no_url() {
        check(("_", ""), "http://h/a_b_/c", Some("http://h/a_b/c"));
        check(("http", "x"), "http://h/a", None);
        check(("h", "h h"), "http://h", None);
        check(("/x", ""), "http://h//a", None);
    }

    #[test]
    fn an_empty_string_is_replaced_where_that_first_leaves_a_url() {
        check(("", "/"), "http://h/a", Some("http://h//a"));
    }

    #[test]
    fn canonization_ends_at_a_fixed_point_or_after_the_last_round() {
        let rules = [substitution("/x", "")];
        assert_eq!(canonize(&format!("http://h{}", "/x".repeat(9)), &rules, 10), "http://h");
        assert_eq!(canonize(&format!("http://h{}", "/x".repeat(12)), &rules, 10), "http://h/x/x");
        assert_eq!(canonize("http://h/y", &rules, 10), "http://h/y");
    }

    #[test]
    fn rules_are_written_with_their_tokens_and_read_back() {
        let rule = substitution("^http://www.", "^http://");
        let text = serde_json::to_string(&rule).unwrap();
        assert!(
            text.starts_with(
                r#"{"type":"sub","from":"^http://www.","to":"^http://","alpha":["\u0002","http""#
            ),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Rule>(&text).unwrap(), rule);
    }
}
