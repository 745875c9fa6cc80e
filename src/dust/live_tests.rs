//! How the rules in force rewrite URLs.

use std::sync::Arc;

use proptest::prelude::*;

use crate::clock::Timestamp;
use crate::dust::live::{LiveRules, RuleSet, Standing};
use crate::dust::rule::{Rule, RuleId, RuleKind, Scope, Segment, Source};
use crate::url::{CrawlUrl, Host, Site};

fn rule(kind: RuleKind, scope: Scope) -> Arc<Rule> {
    let site = Site::new("example.com");
    Arc::new(Rule::new(site, kind, scope, Source::Mined, Timestamp::ZERO))
}

fn substring(from: &str, to: &str) -> Arc<Rule> {
    let (from, at_start) = from.strip_prefix('^').map_or((from, false), |from| (from, true));
    let (from, at_end) = from.strip_suffix('$').map_or((from, false), |from| (from, true));
    let (from, to) = (from.to_owned(), to.to_owned());
    rule(RuleKind::Substring { from, to, at_start, at_end }, Scope::default())
}

fn drop(name: &str) -> Arc<Rule> {
    let kind = RuleKind::drop(vec![name.to_owned()], None);
    rule(kind, Scope::default())
}

fn set(rules: &[Arc<Rule>]) -> RuleSet {
    RuleSet::compile(1, rules.to_vec(), 0.01).unwrap()
}

fn check(rules: &[Arc<Rule>], url: &str, want: &str) {
    let (set, url) = (set(rules), CrawlUrl::parse(url).unwrap());
    let key = set.canonize(&url);
    assert_eq!(key.key.as_str(), want);
    assert_eq!(key.rules.is_empty(), *key.key == url);
    assert_eq!(set.canonize(&key.key).key, key.key, "canonizing twice");
}

fn under(path: &str) -> Scope {
    Scope { path: Some(path.to_owned()), ..Scope::default() }
}

/// A key had two question marks, or a query without one.
#[test]
fn a_rule_that_moves_a_value_into_the_query_or_out_of_it_keeps_one_query() {
    let moves = |from: &str, to: &str| {
        let (from, to) = (from.to_owned(), to.to_owned());
        let kind = RuleKind::Substring { from, to, at_start: true, at_end: false };
        [rule(kind, Scope::default())]
    };
    let into = moves("/story_", "/story?id=");
    check(&into, "http://example.com/story_9", "http://example.com/story?id=9");
    check(&into, "http://example.com/story_9?a=1&b=2", "http://example.com/story?id=9&a=1&b=2");
    let out = moves("/story?id=", "/story_");
    check(&out, "http://example.com/story?id=9", "http://example.com/story_9");
    check(&out, "http://example.com/story?id=9&a=1&b=2", "http://example.com/story_9?a=1&b=2");
    check(&out, "http://example.com/story?id=9?a=1&b=2", "http://example.com/story_9?a=1&b=2");
}

#[test]
fn parameters_are_dropped_set_and_sorted() {
    let rules = [drop("sid")];
    check(&rules, "http://example.com/a?sid=1", "http://example.com/a");
    check(&rules, "http://example.com/a?x=1&sid=1&y=2", "http://example.com/a?x=1&y=2");
    check(&rules, "http://example.com/a?side=1", "http://example.com/a?side=1");
    let value = Some("en".to_owned());
    let lang = RuleKind::drop(vec!["lang".to_owned()], value);
    let rules = [rule(lang, under("/pub/#"))];
    check(&rules, "http://example.com/pub/12?lang=en", "http://example.com/pub/12");
    check(&rules, "http://example.com/pub/12?lang=de", "http://example.com/pub/12?lang=de");
    check(&rules, "http://example.com/pub?lang=en", "http://example.com/pub?lang=en");
    let asked = Scope { view: Some("do=log".to_owned()), ..Scope::default() };
    let rules = [rule(RuleKind::drop(vec!["at".to_owned()], None), asked)];
    assert_eq!(rules[0].to_string(), r#"drop parameter "at" with "do=log""#);
    check(&rules, "http://example.com/x?do=log&at=1&f=2", "http://example.com/x?do=log&f=2");
    check(&rules, "http://example.com/x?at=1&do=log", "http://example.com/x?do=log");
    for other in ["do=logs&at=1", "do=tree&at=1", "redo=log&at=1", "at=1", "at=do=log"] {
        let url = format!("http://example.com/x?{other}");
        check(&rules, &url, &url);
    }
    let view = RuleKind::SetParameter { name: "v".to_owned(), value: "1".to_owned() };
    let rules = [rule(view, Scope::default()), rule(RuleKind::SortParameters, Scope::default())];
    check(&rules, "http://example.com/?z=2&v=9&a=1", "http://example.com/?a=1&v=1&z=2");
    let rules = [rule(RuleKind::SortParameters, Scope::default())];
    let quarter = "http://example.com/?year=2025;month=4Q;category=a";
    check(&rules, quarter, "http://example.com/?category=a;month=4Q;year=2025");
    check(&rules, "http://example.com/?b=1;a", "http://example.com/?b=1;a");
}

#[test]
fn a_rule_is_named_once_however_often_it_was_applied() {
    let utm = ["utm_campaign", "utm_medium", "utm_source"].map(str::to_owned);
    let rules = [rule(RuleKind::drop(utm.to_vec(), None), Scope::default()), substring("//", "/")];
    let url = "http://example.com/a////b?utm_source=s&utm_medium=m&id=1&utm_campaign=c";
    let url = CrawlUrl::parse(url).unwrap();
    let set = set(&rules);
    let canonized = set.canonize(&url);
    assert_eq!(canonized.key.as_str(), "http://example.com/a/b?id=1");
    assert_eq!(canonized.rules, rules.each_ref().map(|rule| rule.id));
    assert_eq!(set.uniting(&url, &canonized.key).map(|rules| rules.len()), Some(2));
}

#[test]
fn substrings_are_replaced_at_token_boundaries_only() {
    let rules = [substring("/index.html$", "/"), substring("^/people/", "/~")];
    check(&rules, "http://example.com/people/ann/index.html", "http://example.com/~ann/");
    check(&rules, "http://example.com/x/people/ann", "http://example.com/x/people/ann");
    check(&rules, "http://example.com/index.html?x=1", "http://example.com/index.html?x=1");
    let rules = [substring("story_", "story?id=")];
    check(&rules, "http://example.com/story_12", "http://example.com/story?id=12");
    check(&rules, "http://example.com/history_12", "http://example.com/history_12");
    // Removing the dot would make one word of two.
    check(&[substring(".", "")], "http://example.com/a.b", "http://example.com/a.b");
}

fn alias((from, from_path): (Host, &str), (to, to_path): (Host, &str)) -> RuleKind {
    let (from_path, to_path) = (from_path.to_owned(), to_path.to_owned());
    RuleKind::HostAlias { from, to, from_path, to_path }
}

#[test]
fn hosts_change_only_by_proved_aliases_and_schemes_only_on_default_ports() {
    let (from, to) = (Host::new("www.example.com"), Host::new("example.com"));
    let scheme = rule(RuleKind::Scheme { https: true }, Scope::default());
    let rules = [rule(alias((from, "/"), (to, "/")), Scope::default()), scheme];
    check(&rules, "http://www.example.com/a", "https://example.com/a");
    check(&rules, "http://m.example.com:81/a", "http://m.example.com:81/a");
    check(&rules, "http://www.example.org/a", "http://www.example.org/a");
    let (from, to) = (Host::new("example.com"), Host::new("money.example.com"));
    let rules = [rule(alias((from, "/money/"), (to, "/")), Scope::default())];
    check(&rules, "http://example.com/money/a?b", "http://money.example.com/a?b");
    check(&rules, "http://example.com/sports/a", "http://example.com/sports/a");
    check(&[substring("/x", "")], "http://example.com/x/evil.org", "http://example.com/evil.org");
    check(&[substring("/x", "")], "http://example.com/x", "http://example.com/x");
}

#[test]
fn sessions_case_and_decorative_segments_are_ignored() {
    let session = RuleKind::PathSession { before: ";jsessionid=".into(), after: String::new() };
    let rules = [rule(session, Scope::default())];
    check(&rules, "http://example.com/a;jsessionid=0a1b2c3d4e?x=1", "http://example.com/a?x=1");
    check(&rules, "http://example.com/a;jsessionid=no", "http://example.com/a;jsessionid=no");
    let rules = [rule(RuleKind::PathCase, Scope::default())];
    check(&rules, "http://example.com/A%2Fb/C?Q=R", "http://example.com/a%2Fb/c?Q=R");
    let shape = vec![Segment::Text("item".into()), Segment::Number, Segment::Any];
    let rules =
        [rule(RuleKind::IgnoreSegment { shape, index: 2, value: "-".into() }, Scope::default())];
    check(&rules, "http://example.com/item/12/blue-shoe", "http://example.com/item/12/-");
    check(&rules, "http://example.com/item/x/blue-shoe", "http://example.com/item/x/blue-shoe");
}

#[test]
fn escapes_are_decoded_before_what_stands_there_is_looked_at() {
    let escapes = rule(RuleKind::Escapes { spaces: false }, Scope::default());
    let spaces = rule(RuleKind::Escapes { spaces: true }, Scope::default());
    let sort = rule(RuleKind::SortParameters, Scope::default());
    let rules = [escapes.clone(), spaces, drop("f[0]"), drop("g%5B%5D"), sort];
    check(&rules, "http://example.com/a%28b%29?q=c+d", "http://example.com/a(b)?q=c%20d");
    check(&rules, "http://example.com/a+b?f%5B0%5D=1&q=c%2Bd", "http://example.com/a+b?q=c%2Bd");
    check(&rules, "http://example.com/?g%5B%5D=1&%5B=2&A=3", "http://example.com/?A=3&[=2");
    check(&rules, "http://example.com/a%2Fb?c%26d%3De", "http://example.com/a%2Fb?c%26d%3De");
    check(&[escapes], "http://example.com/%40?q=c+d", "http://example.com/@?q=c+d");
    let rules = [rule(RuleKind::Escapes { spaces: false }, under("/wiki/"))];
    check(&rules, "http://example.com/wiki/?%40", "http://example.com/wiki/?@");
    check(&rules, "http://example.com/find/?%40", "http://example.com/find/?%40");
}

#[test]
fn a_url_without_a_fixed_point_keeps_its_form() {
    let rules = [substring("/a/", "/b/"), substring("/b/", "/a/")];
    check(&rules, "http://example.com/a/", "http://example.com/a/");
    check(&[substring("/a/", "/a/a/")], "http://example.com/a/", "http://example.com/a/");
}

#[test]
fn other_sites_are_untouched_and_publishing_swaps_the_whole_set() {
    check(&[drop("sid")], "http://example.org/a?sid=1", "http://example.org/a?sid=1");
    check(&[drop("sid")], "http://a.b.example.com/a?sid=1", "http://a.b.example.com/a");
    let live = LiveRules::default();
    let before = live.snapshot();
    live.publish(set(&[drop("sid")]));
    assert_eq!((before.version(), live.snapshot().version()), (0, 1));
    assert!(before.is_empty());
}

#[test]
fn the_audit_share_is_kept_and_does_not_depend_on_the_version() {
    let set = RuleSet::compile(1, vec![drop("sid")], 0.05).unwrap();
    let other = RuleSet::compile(9, vec![drop("x")], 0.05).unwrap();
    let urls = (0..20_000).map(|i| CrawlUrl::parse(&format!("http://example.com/{i}")).unwrap());
    let audited: Vec<bool> =
        urls.map(|url| set.audits(&url, &[]) && other.audits(&url, &[])).collect();
    let share = audited.iter().filter(|audited| **audited).count();
    assert!((850..1150).contains(&share), "{share}");
}

/// A rule that rewrote two forms of a page alike was proved by what another one made of them.
#[test]
fn two_urls_are_united_by_the_rules_alone_without_which_they_would_not_be() {
    let (sid, lang) = (drop("sid"), drop("lang"));
    let uniting = |rules: &RuleSet, one: &str, other: &str| {
        let url =
            |tail: &str| CrawlUrl::parse(&format!("http://example.com/d?id=7{tail}")).unwrap();
        let mut rules = rules.uniting(&url(one), &url(other));
        rules.iter_mut().for_each(|rules| rules.sort_unstable());
        rules
    };
    let both = set(&[sid.clone(), lang.clone()]);
    let mut ids = vec![sid.id, lang.id];
    ids.sort_unstable();
    assert_eq!(uniting(&both, "&lang=fr&sid=1", "&lang=fr&sid=2"), Some(vec![sid.id]));
    assert_eq!(uniting(&both, "&lang=fr&sid=1", "&lang=de&sid=1"), Some(vec![lang.id]));
    assert_eq!(uniting(&both, "&lang=fr&sid=1", ""), Some(ids));
    assert_eq!(uniting(&both, "&lang=fr", "&page=2"), None);
    // Either would do: the one that is on trial is not needed, and so neither proved nor doubted.
    let value = Some("1".to_owned());
    let first = RuleKind::drop(vec!["sid".to_owned()], value);
    let first = rule(first, Scope::default());
    for (on_trial, proved) in [(&sid, &first), (&first, &sid)] {
        let standing = Standing { on_trial: true, ..Standing::default() };
        let set = set(&[sid.clone(), first.clone()]).standing([(on_trial.id, standing)]);
        assert_eq!(uniting(&set, "&sid=1", ""), Some(vec![proved.id]));
        // Where the other one comes first, the one that is needed rewrites the URL without it.
        let url = CrawlUrl::parse("http://example.com/d?id=7&sid=1").unwrap();
        assert_eq!(set.rewriting(&url, &[proved.id]), [proved.id]);
        assert_eq!(set.rewriting(&url, &[]), []);
    }
}

/// Two facets in either order proved that lists without them are the same.
#[test]
fn what_a_rule_takes_from_both_forms_is_not_proved_by_them() {
    let writer = substring("&facet=writer&id=", "&id=");
    let (pages, first) = (substring("facet=pages&", ""), substring("facet=writer&", ""));
    let set = set(&[writer.clone(), pages.clone(), first.clone(), drop("sid")]);
    let url = |query: &str| CrawlUrl::parse(&format!("http://example.com/list?{query}")).unwrap();
    let one = url("facet=pages&facet=writer&id=8");
    let other = url("facet=writer&facet=pages&id=8");
    assert_eq!(set.canonize(&one).key.as_str(), "http://example.com/list?id=8");
    assert_eq!(set.canonize(&one).key, set.canonize(&other).key);
    assert!(set.takes_from_both(first.id, &other, &one));
    assert!(!set.takes_from_both(first.id, &other, &url("facet=pages&id=8")));
    assert!(!set.takes_from_both(first.id, &other, &url("id=8")));
    // Another value is not the same, and a rule that takes nothing takes nothing from both.
    let [one, same, other] = ["id=8&sid=1", "sid=1&id=8", "id=8&sid=2"].map(url);
    assert!(set.takes_from_both(drop("sid").id, &one, &same));
    assert!(!set.takes_from_both(drop("sid").id, &one, &other));
    assert!(!set.takes_from_both(writer.id, &one, &same));
}

fn token() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab]{1,2}",
        Just("/".to_owned()),
        Just("=".to_owned()),
        Just("&".to_owned()),
        Just("?".to_owned()),
        Just("_".to_owned()),
        Just("..".to_owned()),
        Just("%41".to_owned()),
        Just("%3A".to_owned()),
        Just("+".to_owned())
    ]
}

fn text(tokens: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec(token(), tokens).prop_map(|tokens| tokens.concat())
}

fn any_rule() -> impl Strategy<Value = Arc<Rule>> {
    let literal = (text(1..4), text(0..4), any::<bool>())
        .prop_map(|(from, to, at_end)| RuleKind::Substring { from, to, at_start: false, at_end });
    let parameter = ("[ab]", prop::option::of("[ab]"))
        .prop_map(|(name, value)| RuleKind::drop(vec![name], value));
    let escapes = any::<bool>().prop_map(|spaces| RuleKind::Escapes { spaces });
    let whole = prop_oneof![Just(RuleKind::SortParameters), Just(RuleKind::PathCase), escapes];
    prop_oneof![literal, parameter, whole].prop_map(|kind| rule(kind, Scope::default()))
}

proptest! {
    #[test]
    fn any_rules_keep_any_url_on_its_site_valid_and_fixed(
        rules in prop::collection::vec(any_rule(), 1..8),
        tail in text(0..12),
    ) {
        let rules: Vec<_> = rules.into_iter().filter(|rule| rule.check().is_ok()).collect();
        let set = set(&rules);
        let url = CrawlUrl::parse(&format!("http://example.com/{tail}")).unwrap();
        let key = set.canonize(&url).key.into_owned();
        prop_assert_eq!(key.host_str(), "example.com");
        prop_assert_eq!(&CrawlUrl::parse(key.as_str()).unwrap(), &key);
        prop_assert_eq!(&*set.canonize(&key).key, &key);
        let needed = set.uniting(&url, &key).expect("they have one key");
        prop_assert_eq!(needed.is_empty(), url == key);
        let rewriting = set.rewriting(&url, &needed);
        prop_assert_eq!(rewriting.is_empty(), url == key);
        prop_assert!(rewriting.iter().all(|rule| needed.contains(rule)));
        prop_assert_eq!(set.rewriting(&key, &needed), []);
        let needed = rules.into_iter().filter(|rule| needed.contains(&rule.id)).collect::<Vec<_>>();
        let alone = super::live_tests::set(&needed);
        prop_assert_eq!(alone.canonize(&url).key, alone.canonize(&key).key);
    }
}

/// Hosts below a public suffix are sites of their own, of which its rules say nothing.
#[test]
fn rules_of_a_public_suffix_hold_for_no_host_below_it() {
    let kind = RuleKind::PathCase;
    let (site, at) = (Site::new("github.io"), Timestamp::ZERO);
    let rule = Rule::new(site, kind, Scope::default(), Source::Mined, at);
    let set = RuleSet::compile(1, vec![Arc::new(rule)], 0.0).unwrap();
    let is_touched = |url: &str| !set.canonize(&CrawlUrl::parse(url).unwrap()).rules.is_empty();
    assert!(is_touched("http://github.io/A"));
    assert!(!is_touched("http://someone.github.io/A") && !set.knows("someone.github.io"));
}

#[test]
fn all_that_a_doubted_rule_would_suppress_is_fetched() {
    let rules = [drop("a"), drop("b")];
    let [doubted, sound] = [rules[0].id, rules[1].id];
    let set = set(&rules).doubting([doubted]);
    let count = |rules: &[RuleId]| {
        let urls = (0..10_000).map(|n| CrawlUrl::parse(&format!("http://a.example/{n}")).unwrap());
        urls.filter(|url| set.audits(url, rules)).count()
    };
    let (plain, often) = (count(&[sound]), count(&[sound, doubted]));
    assert!((50..200).contains(&plain), "{plain}");
    assert_eq!(often, 10_000);
}

#[test]
fn the_next_version_differs_in_the_sites_that_changed() {
    let drop = |site: &str, name: &str| {
        let kind = RuleKind::drop(vec![name.to_owned()], None);
        Arc::new(Rule::new(Site::new(site), kind, Scope::default(), Source::Mined, Timestamp::ZERO))
    };
    let url = |site: &str| CrawlUrl::parse(&format!("http://{site}/p?a=1&b=2")).unwrap();
    let [one, two] = ["one.example", "two.example"];
    let (old, new, other) = (drop(one, "a"), drop(one, "b"), drop(two, "a"));
    let first = RuleSet::compile(1, vec![old.clone(), other.clone()], 0.0).unwrap();
    let first = first.doubting([old.id, other.id]);
    let next = first.clone().with_site(2, &Site::new(one), vec![new.clone()]).unwrap();
    let key = |set: &RuleSet, site| set.canonize(&url(site)).key.to_string();
    assert_eq!(key(&first, one), "http://one.example/p?b=2", "a version does not change");
    assert_eq!(key(&next, one), "http://one.example/p?a=1");
    assert_eq!(key(&next, two), "http://two.example/p?b=2");
    assert_eq!((next.version(), next.len()), (2, 2));
    assert!(next.rule(old.id).is_none() && next.rule(new.id).is_some());
    assert!(!next.doubts(new.id) && next.doubts(other.id));
    let last = next.with_site(3, &Site::new(one), Vec::new()).unwrap();
    assert!(!last.knows(one) && last.knows(two));
}
