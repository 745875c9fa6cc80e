//! What is worth a look before anything is known of a site: habits of common software, and rules
//! that were proved on other sites of the crawl. A prior saves the search, never the proof.

use std::collections::{BTreeMap, BTreeSet};

use super::rule::{Rule, RuleKind, Scope, Source};
use crate::url::Host;

/// Parameters of analytics, newsletters and sessions that rarely choose what a page shows.
const PARAMETERS: [&str; 18] = [
    "utm_source",
    "utm_medium",
    "utm_campaign",
    "utm_term",
    "utm_content",
    "gclid",
    "fbclid",
    "mc_cid",
    "mc_eid",
    "ref",
    "PHPSESSID",
    "sid",
    "sessionid",
    "phpsessid",
    "replytocom",
    "print",
    "printable",
    "_ga",
];

/// Names under which servers serve a directory.
const INDEXES: [&str; 7] = [
    "index.html",
    "index.htm",
    "index.php",
    "index.asp",
    "index.jsp",
    "default.aspx",
    "default.asp",
];

/// Returns true for a rule that may hold on other sites: one that names no host.
pub(crate) fn is_portable(rule: &Rule) -> bool {
    let own = matches!(rule.rule, RuleKind::HostAlias { .. } | RuleKind::Scheme { .. });
    !own && rule.scope.host.is_none()
}

/// Priors in the order in which they are judged.
pub(crate) fn all<'a>(
    declared: Option<&BTreeSet<(RuleKind, Scope)>>,
    elsewhere: impl IntoIterator<Item = (&'a RuleKind, &'a Scope)>,
) -> Vec<(RuleKind, Scope, Source)> {
    let mut priors = Vec::new();
    let mut add = |kind: RuleKind, scope: Scope, source| {
        if !priors.iter().any(|(k, s, _)| *k == kind && *s == scope) {
            priors.push((kind, scope, source));
        }
    };
    for (rule, scope) in declared.into_iter().flatten() {
        add(rule.clone(), scope.clone(), Source::Declared);
    }
    for (rule, scope) in elsewhere {
        add(rule.clone(), scope.clone(), Source::Elsewhere);
    }
    for name in PARAMETERS {
        let kind = RuleKind::drop(vec![name.to_owned()], None);
        add(kind, Scope::default(), Source::Software);
    }
    for name in INDEXES {
        let (from, to) = (format!("/{name}"), "/".to_owned());
        let kind = RuleKind::Substring { from, to, at_start: false, at_end: true };
        add(kind, Scope::default(), Source::Software);
    }
    // One paper in two formats, as authors' pages have it.
    let (from, to) = (".ps".to_owned(), ".pdf".to_owned());
    let kind = RuleKind::Substring { from, to, at_start: false, at_end: true };
    add(kind, Scope::default(), Source::Software);
    let before = ";jsessionid=".to_owned();
    add(RuleKind::PathSession { before, after: String::new() }, Scope::default(), Source::Software);
    priors
}

/// Returns that a host is the same with and without `www.`, where both are known; the one with more
/// pages stays.
pub(crate) fn hosts(pages: &BTreeMap<&str, u32>) -> Vec<(RuleKind, Scope, Source)> {
    let both = pages.iter().filter_map(|(long, long_pages)| {
        let (short, short_pages) = pages.get_key_value(long.strip_prefix("www.")?)?;
        Some(if long_pages >= short_pages { (short, long) } else { (long, short) })
    });
    both.map(|(from, to)| {
        let (from, to) = (Host::new(from), Host::new(to));
        let kind =
            RuleKind::HostAlias { from, to, from_path: "/".to_owned(), to_path: "/".to_owned() };
        (kind, Scope::default(), Source::Software)
    })
    .collect()
}
