//! What a site itself declares about its URLs, as rules: Clean-param of robots.txt, the
//! No-Vary-Search header, rel=canonical and redirects, and the hosts of its sitemaps.
//!
//! A declaration is a prior: it is judged first when the site is mined, and proved by probes like
//! any other rule, since sites declare what is not so. A declaration that cannot be read says
//! nothing. Sources: Yandex's page on Clean-param; draft-ietf-httpbis-no-vary-search and RFC 9651
//! (structured fields); RFC 6596 (canonical); sitemaps.org 0.9.

use std::collections::{BTreeMap, BTreeSet};

use super::rule::{RuleKind, Scope, template};
use crate::url::query::{Separator, name_of};
use crate::url::{CrawlUrl, Host};

/// A declared rule and where it is said to hold.
pub type DeclaredRule = (RuleKind, Scope);

/// Parameters taken from one declaration.
const NAMES_MAX: usize = 16;

/// Parameters that one redirect or canonical link may drop together.
const JOINT_MAX: usize = 4;

/// Returns what a `Clean-param` line of the robots.txt of `host` says: names joined by `&`, then
/// perhaps the beginning of a path.
pub fn clean_param(line: &str, host: &Host) -> Vec<DeclaredRule> {
    let mut words = line.split_ascii_whitespace();
    let names = words.next().unwrap_or_default();
    let path = words.next().unwrap_or_default().trim_end_matches('*');
    // A rule holds under one path or on the whole host; the beginning of many paths is tried on the
    // host, where the search finds the contexts in which it holds.
    let whole = path.starts_with('/') && !path.ends_with('/') && path.contains('.');
    let path = whole.then(|| template(path));
    let scope = Scope { host: Some(host.clone()), path, view: None };
    let names = names.split('&').filter(|name| is_name(name)).take(NAMES_MAX);
    names.map(|name| (drop(vec![name.to_owned()]), scope.clone())).collect()
}

/// Returns what a `No-Vary-Search` header of the answer to `url` says.
pub fn no_vary_search(header: &str, url: &CrawlUrl) -> Vec<DeclaredRule> {
    let (mut all, mut named, mut except, mut order) = (false, Vec::new(), Vec::new(), false);
    for (key, value) in members(header) {
        match (key, value) {
            ("key-order", None | Some("?1")) => order = true,
            ("params", None | Some("?1")) => all = true,
            ("params", Some(list)) => named = strings(list),
            ("except", Some(list)) => except = strings(list),
            _ => {}
        }
    }
    if all {
        let names = url.as_url().query().into_iter().flat_map(|query| query.split('&'));
        let names = names.map(|part| name_of(part).to_owned());
        named = names.filter(|name| !except.contains(name)).collect();
    }
    let scope = Scope { host: Some(url.host()), path: Some(template(url.path())), view: None };
    let distinct: BTreeSet<String> = named.into_iter().filter(|name| is_name(name)).collect();
    let mut rules: Vec<DeclaredRule> = distinct
        .into_iter()
        .take(NAMES_MAX)
        .map(|name| (drop(vec![name]), scope.clone()))
        .collect();
    if order {
        rules.push((RuleKind::SortParameters, Scope::default()));
    }
    rules
}

/// Returns the rule by which a URL has become what it redirects to, or what it names as its
/// canonical form, where that is one step: parameters left out, their order, the host, the scheme.
/// Other steps are found by the search, which knows both URLs as one document.
pub fn step(url: &CrawlUrl, target: &CrawlUrl) -> Option<DeclaredRule> {
    if url.site() != target.site() || url.as_url().port() != target.as_url().port() {
        return None;
    }
    let everywhere = |kind| Some((kind, Scope::default()));
    let same_host = url.host_str() == target.host_str();
    let same_tail = url.path_and_query() == target.path_and_query();
    match (url.is_https() == target.is_https(), same_host) {
        (false, true) if same_tail => everywhere(RuleKind::Scheme { https: target.is_https() }),
        (true, false) if same_tail => everywhere(alias(url.host(), target.host())),
        (true, true) if url.path() == target.path() => queries(url, target),
        _ => None,
    }
}

/// Returns what the locations of a sitemap say of a site: the host that most of them name stands
/// for its other form, with or without `www.`, and their scheme for the other one.
pub fn listed<'a>(locations: impl IntoIterator<Item = &'a CrawlUrl>) -> Vec<DeclaredRule> {
    let mut hosts: BTreeMap<(String, bool), usize> = BTreeMap::new();
    for url in locations {
        *hosts.entry((url.host_str().to_owned(), url.is_https())).or_default() += 1;
    }
    let Some(((host, https), _)) = hosts.into_iter().max_by_key(|(_, count)| *count) else {
        return Vec::new();
    };
    let other = host.strip_prefix("www.").map_or_else(|| format!("www.{host}"), str::to_owned);
    let (from, to) = (Host::new(&other), Host::new(&host));
    let mut rules = vec![(RuleKind::Scheme { https }, Scope::default())];
    if from.site() == to.site() {
        rules.push((alias(from, to), Scope::default()));
    }
    rules
}

fn queries(url: &CrawlUrl, target: &CrawlUrl) -> Option<DeclaredRule> {
    let query = |url: &CrawlUrl| url.as_url().query().unwrap_or_default().to_owned();
    let separator = Separator::of(&query(url));
    let parts = |url: &CrawlUrl| -> Vec<String> {
        let query = query(url);
        separator.parts(&query).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let name = |part: &String| name_of(part).to_owned();
    let (from, to) = (parts(url), parts(target));
    let (mut sorted, kept) = (from.clone(), to.iter().map(name).collect::<BTreeSet<_>>());
    sorted.sort_by_key(name);
    if from != to && sorted == to {
        return Some((RuleKind::SortParameters, Scope::default()));
    }
    let rest: Vec<&String> = from.iter().filter(|part| kept.contains(&name(part))).collect();
    let dropped: BTreeSet<String> =
        from.iter().map(name).filter(|name| !kept.contains(name)).collect();
    let one_step = rest.iter().copied().eq(&to) && (1..=JOINT_MAX).contains(&dropped.len());
    let sound = one_step && dropped.iter().all(|name| is_name(name));
    let kind = || {
        let names = dropped.into_iter().collect();
        RuleKind::DropParameter { names, value: None, separator }
    };
    sound.then(|| (kind(), Scope::default()))
}

fn drop(names: Vec<String>) -> RuleKind {
    RuleKind::drop(names, None)
}

fn alias(from: Host, to: Host) -> RuleKind {
    let slash = || "/".to_owned();
    RuleKind::HostAlias { from, to, from_path: slash(), to_path: slash() }
}

fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_graphic() && !matches!(b, b'#' | b'=' | b'&' | b'?' | b'/');
    !name.is_empty() && name.len() <= 64 && name.bytes().all(plain)
}

/// Splits a structured dictionary into its members: a key and, where there is one, its value.
fn members(text: &str) -> Vec<(&str, Option<&str>)> {
    let (mut start, mut depth, mut quoted) = (0, 0u32, false);
    let mut parts = Vec::new();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'(' if !quoted => depth += 1,
            b')' if !quoted => depth = depth.saturating_sub(1),
            b',' if !quoted && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
        .into_iter()
        .take(NAMES_MAX)
        .map(|part| match part.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (part.trim(), None),
        })
        .collect()
}

/// Returns the strings of an inner list; escapes do not occur in names.
fn strings(list: &str) -> Vec<String> {
    let Some(inner) = list.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else {
        return Vec::new();
    };
    inner.split('"').skip(1).step_by(2).take(NAMES_MAX).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rules: impl IntoIterator<Item = DeclaredRule>, want: &[&str]) {
        let text = |(kind, scope): DeclaredRule| format!("{kind}{scope}");
        assert_eq!(rules.into_iter().map(text).collect::<Vec<_>>(), want);
    }

    fn url(text: &str) -> CrawlUrl {
        CrawlUrl::parse(text).unwrap()
    }

    #[test]
    fn clean_param_names_parameters_and_perhaps_a_path() {
        let host = Host::new("a.example");
        let on = |line: &str, want: &[&str]| check(clean_param(line, &host), want);
        on("sid", &["drop parameter \"sid\" on a.example"]);
        on(
            "ref&sort /shop/list7.php",
            &[
                "drop parameter \"ref\" under \"/shop/list#.php\" on a.example",
                "drop parameter \"sort\" under \"/shop/list#.php\" on a.example",
            ],
        );
        on("ref /shop/*", &["drop parameter \"ref\" on a.example"]);
        on("", &[]);
        on("a b=c /x", &["drop parameter \"a\" on a.example"]);
        on("& \u{e9}", &[]);
    }

    #[test]
    fn no_vary_search_names_parameters_all_of_them_or_their_order() {
        let page = url("http://a.example/p?b=1&a=2");
        let on = |header: &str, want: &[&str]| check(no_vary_search(header, &page), want);
        let (a, b) = (
            "drop parameter \"a\" under \"/p\" on a.example",
            "drop parameter \"b\" under \"/p\" on a.example",
        );
        on("params=(\"a\" \"b\")", &[a, b]);
        on("key-order, params=(\"b\")", &[b, "sort parameters"]);
        on("params, except=(\"b\")", &[a]);
        on("params=?1", &[a, b]);
        on("params=?0, key-order=?0", &[]);
        on("params=(a b", &[]);
        on("", &[]);
    }

    #[test]
    fn a_redirect_or_canonical_link_of_one_step_is_a_rule() {
        let on = |from: &str, to: &str, want: &[&str]| check(step(&url(from), &url(to)), want);
        on("http://a.example/p?id=1&s=2", "http://a.example/p?id=1", &["drop parameter \"s\""]);
        on("http://a.example/p?b=1&a=2", "http://a.example/p?a=2&b=1", &["sort parameters"]);
        on(
            "http://a.example/p?id=1;k=1;s=2",
            "http://a.example/p?id=1;k=1",
            &["drop parameter \"s\" between \";\""],
        );
        on("http://a.example/p?b=1;a=2", "http://a.example/p?a=2;b=1", &["sort parameters"]);
        on("http://a.example/p", "https://a.example/p", &["http is https"]);
        on("http://www.a.example/p", "http://a.example/p", &["host www.a.example is a.example"]);
        for (from, to) in [
            ("http://a.example/p?id=1", "http://a.example/p?id=2"),
            ("http://a.example/p?id=1&s=2", "http://a.example/login"),
            ("http://a.example/p?id=1;s=2", "http://a.example/p?id=1;x=1"),
            ("http://a.example/p?id=1;s=2", "http://a.example/p?id=1&x=1"),
            ("http://a.example/p", "http://b.test/p"),
            ("http://a.example/p?a=1", "http://a.example/p?a=1&b=2"),
            ("http://a.example/p", "http://a.example/p"),
        ] {
            on(from, to, &[]);
        }
    }

    #[test]
    fn a_sitemap_says_which_host_and_scheme_the_site_prefers() {
        let urls = [url("https://www.a.example/1"), url("https://www.a.example/2")];
        check(listed(&urls), &["http is https", "host a.example is www.a.example"]);
        check(listed(&[]), &[]);
    }
}
