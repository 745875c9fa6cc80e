//! What the rules in force cost per URL: none, some and a hundred rules of the site.

use std::hint::black_box;
use std::sync::Arc;

use crawler::clock::Timestamp;
use crawler::dust::{Rule, RuleKind, RuleSet, Scope, Source};
use crawler::url::{CrawlUrl, Site};

fn main() {
    divan::main();
}

/// A hundred rules of one site: sixty literals, thirty-eight parameters, order and scheme.
fn rules() -> RuleSet {
    let rule = |kind| {
        let site = Site::new("example.com");
        Arc::new(Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO))
    };
    let literal = |i| {
        let (from, to) = (format!("/section{i}/old_"), format!("/section{i}/new?id="));
        rule(RuleKind::Substring { from, to, at_start: true, at_end: false })
    };
    let drop = |i| rule(RuleKind::DropParameter { names: vec![format!("p{i}")], value: None });
    let index = RuleKind::Substring {
        from: "/index.html".to_owned(),
        to: "/".to_owned(),
        at_start: false,
        at_end: true,
    };
    let mut rules: Vec<Arc<Rule>> = (0..59).map(literal).collect();
    rules.extend((0..38).map(drop));
    rules.extend([rule(index), rule(RuleKind::SortParameters), rule(RuleKind::PathCase)]);
    assert_eq!(rules.len(), 100);
    RuleSet::compile(1, rules, 0.01).expect("good rules")
}

fn urls(forms: &[&str]) -> Vec<CrawlUrl> {
    let url = |i: usize| {
        let form = forms[i % forms.len()].replace("{}", &i.to_string());
        CrawlUrl::parse(&form).expect("a URL")
    };
    (0..1_000).map(url).collect()
}

fn bench(bencher: divan::Bencher<'_, '_>, forms: &[&str]) {
    let (set, urls) = (rules(), urls(forms));
    bencher.counter(divan::counter::ItemsCount::new(urls.len())).bench_local(|| {
        for url in &urls {
            black_box(set.canonize(black_box(url)));
        }
    });
}

/// A URL of a site without rules.
#[divan::bench]
fn another_site(bencher: divan::Bencher<'_, '_>) {
    bench(bencher, &["https://www.other.org/section7/item-{}.html?x=1&y=2"]);
}

/// A URL of the site that no rule touches.
#[divan::bench]
fn untouched(bencher: divan::Bencher<'_, '_>) {
    bench(bencher, &["https://www.example.com/section7/some/longer/path/item-{}.html?x=1&y=2"]);
}

/// One URL in ten is rewritten, as on a real site.
#[divan::bench]
fn one_in_ten(bencher: divan::Bencher<'_, '_>) {
    let mut forms =
        vec!["https://www.example.com/section7/some/longer/path/item-{}.html?x=1&y=2"; 9];
    forms.push("https://www.example.com/section7/list.html?p3={}&x=1");
    bench(bencher, &forms);
}

/// Every URL is rewritten by one rule.
#[divan::bench]
fn one_rule(bencher: divan::Bencher<'_, '_>) {
    bench(bencher, &["https://www.example.com/section7/list.html?p3={}&x=1"]);
}

/// Every URL is rewritten by four rules.
#[divan::bench]
fn four_rules(bencher: divan::Bencher<'_, '_>) {
    bench(bencher, &["https://www.example.com/Section7/old_{}?y=2&p3=1&a=1"]);
}
