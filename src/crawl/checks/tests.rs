//! Which forms are audited, looked at again and set aside, and what of them is kept.

use std::sync::Arc;

use super::measure::audited_of;
use super::prove::ROWS_MAX;
use super::*;
use crate::crawl::readmit::tests::{drop_parameter, find, find_at_once, open, record, url};
use crate::db::MemoryEnv;
use crate::db::families::suppressed::Suppression;
use crate::dust::validate::Settings;
use crate::dust::{NO_ITEMS, Proven, Rule, RuleKind, Scope, Source, Standing, Text, places};

/// Writes that a URL is suppressed in favour of another.
pub(super) fn hide(batch: &mut Batch, state: &State, form: &CrawlUrl, by: &CrawlUrl, rule: RuleId) {
    let (by, own, at) = (by.fingerprint(), form.fingerprint(), Timestamp::from_millis(1));
    let rules = vec![rule.0];
    let gone = UrlState::Suppressed { by, rules: rules.clone(), version: 1, at };
    suppressed::put(batch, &state.db, by, own, &Suppression { rules, at });
    urls::put(batch, &state.db, own, &record(form, None, gone));
}

pub(super) fn is_hidden(state: &State, form: &CrawlUrl) -> bool {
    let record = urls::get(&state.db, form.fingerprint()).unwrap().unwrap();
    matches!(record.state, UrlState::Suppressed { .. })
}

/// While a rule was on trial that does in one directory what one in force does in all, no audit
/// in that directory was told of: what the one in force had hidden there stayed hidden.
#[test]
fn a_rule_on_trial_does_not_stand_before_one_in_force() {
    let moves = |from: &str, to: &str| {
        let (from, to) = (from.to_owned(), to.to_owned());
        let kind = RuleKind::Substring { from, to, at_start: true, at_end: false };
        let site = url("http://a.example/").site();
        Arc::new(Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO))
    };
    let all = moves("/5.0/", "/4.2/");
    let narrow = moves("/5.0/ref/", "/4.2/ref/");
    let (own, stands) = (url("http://a.example/5.0/ref/x"), url("http://a.example/4.2/ref/x"));
    let standing = Standing { on_trial: true, ..Standing::default() };
    let set = RuleSet::compile(1, vec![all.clone(), narrow.clone()], 0.05).unwrap();
    let set = set.standing([(narrow.id, standing)]);
    assert_eq!(set.canonize(&own).rules, [narrow.id], "the longer one comes first");
    let united = United::by_key(&set, &own, stands).unwrap();
    assert_eq!((united.url, united.rules), (own, vec![all.id]));
}

/// A rule that was proved in so many places that it held in all went on hiding what it had
/// hidden in one where it failed, but for as many as are measured.
#[test]
fn what_a_rule_hid_where_it_failed_comes_back_before_the_end() {
    let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
    let logs = tempfile::tempdir().unwrap();
    let mut state = open(&env, logs.path(), now);
    let rule = drop_parameter("sid");
    let form = |part: &str, n: u32| url(&format!("http://a.example/{part}/{n}?sid={n}"));
    let [_, failed, ..] = places(&form("bad", 0), &form("bad", 0), &NO_ITEMS);
    let mut proven = Proven::of(&rule.rule);
    for n in 0..400 {
        proven.agree(&form("good", n), &url(&format!("http://a.example/good/{n}")));
    }
    let standing = Standing {
        proven: Some(proven),
        everywhere: true,
        refused: [failed].into(),
        ..Standing::default()
    };
    let set = RuleSet::compile(1, vec![Arc::new(rule.clone())], 0.0).unwrap();
    state.rules.publish(set.standing([(rule.id, standing)]));
    let by = url("http://a.example/plain");
    let hidden = |part| (0..600).map(move |n| form(part, n));
    let mut batch = Batch::default();
    for form in hidden("bad").chain(hidden("good")) {
        hide(&mut batch, &state, &form, &by, rule.id);
    }
    state.commit(batch, now).unwrap();
    let rounds = (0..2_000).take_while(|_| state.check_rules(now).unwrap()).count();
    assert!(rounds < 2_000, "it comes to an end");
    assert_eq!(hidden("bad").filter(|form| is_hidden(&state, form)).count(), 0);
    assert!(hidden("good").filter(|form| is_hidden(&state, form)).count() > 300);
}

/// The first of the sixteen URLs most like one that had turned out to be another page was fetched,
/// and the others were forgotten.
#[test]
fn what_is_like_a_url_that_failed_is_looked_at_before_the_end() {
    let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
    let logs = tempfile::tempdir().unwrap();
    let mut state = open(&env, logs.path(), now);
    let rule = drop_parameter("sid");
    let form = |part: &str, n: u32| url(&format!("http://a.example/{part}/{n}?sid={n}"));
    let set = RuleSet::compile(1, vec![Arc::new(rule.clone())], 0.0).unwrap();
    state.rules.publish(set.standing([(rule.id, Standing::default())]));
    let by = url("http://a.example/plain");
    let hidden = |part, count| (0..count).map(move |n| form(part, n));
    let mut batch = Batch::default();
    for form in hidden("like", 40).chain(hidden("other", 400)) {
        hide(&mut batch, &state, &form, &by, rule.id);
    }
    state.commit(batch, now).unwrap();
    let failed = (form("like", 999), url("http://a.example/like/999"));
    state.note_failed(&[rule.id], (&failed.0, &failed.1), by.fingerprint()).unwrap();
    let rounds = (0..2_000).take_while(|_| state.check_rules(now).unwrap()).count();
    assert!(rounds < 2_000, "it comes to an end");
    let fetched = hidden("like", 40).filter(|form| !is_hidden(&state, form)).count();
    assert!((16..40).contains(&fetched), "{fetched}");
}

/// A list at one commit was hidden in favour of the newest one, and fetched in every order
/// where that had failed: what hid the plain form was taken for what stood for the others.
#[test]
fn forms_of_what_is_hidden_where_they_are_not_stand_for_each_other() {
    let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
    let logs = tempfile::tempdir().unwrap();
    let mut state = open(&env, logs.path(), now);
    let (at, order) = (drop_parameter("at"), drop_parameter("order"));
    let plain = url("http://a.example/list");
    let mut proven = Proven::of(&at.rule);
    for n in 0..40 {
        proven.agree(&url(&format!("http://a.example/list?at={n}")), &plain);
    }
    let [failed, ..] = places(&url("http://a.example/list?at=1&order=a"), &plain, &NO_ITEMS);
    let standing =
        Standing { proven: Some(proven), refused: [failed].into(), ..Standing::default() };
    let rules = [&at, &order].map(|rule| Arc::new(rule.clone()));
    let set = RuleSet::compile(1, rules.to_vec(), 0.0).unwrap();
    state.rules.publish(set.standing([(at.id, standing)]));
    for form in ["", "?at=1", "?at=1&order=a", "?at=1&order=b", "?order=c&at=1"] {
        find(&mut state, &format!("/list{form}"), now);
    }
    let form = |tail: &str| url(&format!("http://a.example/list{tail}"));
    let hidden = ["", "?at=1", "?at=1&order=a", "?at=1&order=b", "?order=c&at=1"]
        .map(|tail| is_hidden(&state, &form(tail)));
    assert_eq!(hidden, [false, true, false, true, true]);
}

/// Where each look at a page made new forms of all that it leads to, a share of them that is
/// audited led to more of them than it was, without end.
#[test]
fn the_more_forms_of_a_page_are_hidden_the_fewer_are_audited() {
    let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
    let logs = tempfile::tempdir().unwrap();
    let mut state = open(&env, logs.path(), now);
    let rule = drop_parameter("sid");
    let set = RuleSet::compile(1, vec![Arc::new(rule.clone())], 0.1).unwrap();
    let form = |n: u32| url(&format!("http://a.example/p?sid={n}"));
    let by = url("http://a.example/p");
    let mut hidden = 0;
    state.checks.compared.note_agreed(&[rule.id], by.fingerprint(), (&form(0), &by));
    for (forms, want) in [(0, 430..570), (4, 430..570), (40, 25..75), (400, 1..25)] {
        let mut batch = Batch::default();
        for n in hidden..forms {
            hide(&mut batch, &state, &form(n), &by, rule.id);
        }
        hidden = forms;
        state.commit(batch, now).unwrap();
        let is_measured = |n: &u32| {
            let united = United::by_key(&set, &form(*n), by.clone()).unwrap();
            state.is_measured(&set, &united, by.fingerprint()).unwrap()
        };
        let measured = (1_000..6_000).filter(is_measured).count();
        assert!(want.contains(&measured), "{measured} of 5,000 where {forms} are hidden");
    }
    // A page of which no form was looked at may be the one for which the rule is wrong.
    state.checks = Checks::default();
    let is_measured = |n: &u32| {
        let united = United::by_key(&set, &form(*n), by.clone()).unwrap();
        state.is_measured(&set, &united, by.fingerprint()).unwrap()
    };
    let measured = (1_000..6_000).filter(is_measured).count();
    assert!((430..570).contains(&measured), "{measured} of 5,000");
    assert_eq!(audited_of(4), 4.0);
    assert!((9.0..9.3).contains(&audited_of(14)));
}

/// It was put into the queue once for each rule that had set it aside, and fetched as often.
#[test]
fn what_two_rules_set_aside_comes_back_once() {
    use crate::crawl::readmit::tests::done;
    use crate::dust::Sketch;
    let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
    let logs = tempfile::tempdir().unwrap();
    let mut state = open(&env, logs.path(), now);
    let (at, order) = (drop_parameter("at"), drop_parameter("order"));
    let page = |tail: &str| url(&format!("http://a.example/list{tail}"));
    let (plain, held, form) = (page(""), page("?at=1"), page("?at=1&order=a"));
    let text = Sketch::of_shingles(0..300).map_or(Text::Unknown, Text::Main);
    let shown = Fetched::Page { text, digest: Some(1), bag: None, junk: false };
    let mut batch = Batch::default();
    for page in [&plain, &held] {
        let fetched = record(page, None, done(shown, false));
        urls::put(&mut batch, &state.db, page.fingerprint(), &fetched);
        let depth = (fetched.hops, fetched.hops_max);
        seen::put_itself(&mut batch, &state.db, page.fingerprint(), depth);
    }
    hide(&mut batch, &state, &form, &plain, at.id);
    let how = Suppression { rules: vec![at.id.0, order.id.0], at: now };
    suppressed::put(&mut batch, &state.db, plain.fingerprint(), form.fingerprint(), &how);
    state.commit(batch, now).unwrap();
    let mut proven = Proven::of(&order.rule);
    proven.agree(&form, &plain);
    let of_order = Standing { proven: Some(proven), everywhere: true, ..Standing::default() };
    let of_at = Standing { on_trial: true, ..Standing::default() };
    let rules = [&at, &order].map(|rule| Arc::new(rule.clone()));
    let set = RuleSet::compile(1, rules.to_vec(), 0.0).unwrap();
    state.rules.publish(set.standing([(at.id, of_at), (order.id, of_order)]));
    assert!(state.check_rules(now).unwrap() && !is_hidden(&state, &form));
    assert_eq!(state.counters.queued, 1);
}

/// Of more URLs than are looked at in one step the later ones were never looked at.
#[test]
fn what_is_set_aside_is_looked_at_to_the_last_url() {
    let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
    let logs = tempfile::tempdir().unwrap();
    let mut state = open(&env, logs.path(), now);
    let rule = drop_parameter("sid");
    let set = RuleSet::compile(1, vec![Arc::new(rule.clone())], 0.0).unwrap();
    let standing = Standing { on_trial: true, ..Standing::default() };
    state.rules.publish(set.standing([(rule.id, standing)]));
    // Rows without a URL, which cost little, and the last URL of ten.
    let mut batch = Batch::default();
    let forms = (0..10).map(|n| url(&format!("http://a.example/p?sid={n}")));
    let last = forms.max_by_key(CrawlUrl::fingerprint).unwrap();
    hide(&mut batch, &state, &last, &url("http://a.example/p"), rule.id);
    let how = Suppression { rules: vec![rule.id.0], at: now };
    for n in 0..ROWS_MAX as u128 {
        suppressed::put(&mut batch, &state.db, Fingerprint(1), Fingerprint(n), &how);
    }
    state.commit(batch, now).unwrap();
    let rounds = (0..20).take_while(|_| state.check_rules(now).unwrap()).count();
    assert!(rounds < 20, "it comes to an end");
    assert!(!is_hidden(&state, &last));
}

/// Two rules on trial were both refuted by one page, for which only one of them was wrong.
#[test]
fn a_check_tests_one_rule_at_a_time() {
    use crate::content::Bag;
    use crate::crawl::readmit::tests::done;
    use crate::dust::Sketch;
    let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
    let logs = tempfile::tempdir().unwrap();
    let mut state = open(&env, logs.path(), now);
    let rules = ["sid", "ref"].map(drop_parameter);
    let [one, two] = [0, 1].map(|at: usize| rules[at].id);
    let by = url("http://a.example/p");
    let text = Sketch::of_shingles(0..300).map_or(Text::Unknown, Text::Main);
    let bag = Some(Bag::of(0..300));
    let shown = Fetched::Page { text, digest: None, bag, junk: false };
    let mut batch = Batch::default();
    let stands = record(&by, None, done(shown, false));
    urls::put(&mut batch, &state.db, by.fingerprint(), &stands);
    state.commit(batch, now).unwrap();
    let mut is_fetched = |tail: &str, on_trial: &[RuleId]| {
        let set = RuleSet::compile(1, rules.iter().cloned().map(Arc::new).collect(), 0.0);
        let trial = || Standing { on_trial: true, ..Standing::default() };
        let set = set.unwrap().standing(on_trial.iter().map(|rule| (*rule, trial())));
        let form = url(&format!("http://a.example/p{tail}"));
        let united = United::by_key(&set, &form, by.clone()).unwrap();
        let own = form.fingerprint();
        state.is_fetched_to_check(&set, own, &united, by.fingerprint()).unwrap()
    };
    assert!(!is_fetched("?sid=1&ref=1", &[one, two]));
    assert!(is_fetched("?sid=2", &[one, two]));
    assert!(is_fetched("?ref=2", &[one, two]));
    assert!(is_fetched("?sid=3&ref=3", &[one]), "the other one is proved");
    assert!(!is_fetched("?sid=4&ref=4", &[]));
}

/// What waited on a host that was parked stood for the same on its other name, for ever.
#[test]
fn what_a_parked_host_stands_for_is_fetched_from_its_other_name() {
    use crate::dust::{Rule, Scope, Source};
    let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
    let logs = tempfile::tempdir().unwrap();
    let mut state = open(&env, logs.path(), now);
    let [www, bare] = ["www.a.example", "a.example"].map(|name| {
        let home = url(&format!("http://{name}/"));
        (state.host_id(&home.host()).unwrap(), home)
    });
    let kind = RuleKind::HostAlias {
        from: bare.1.host(),
        to: www.1.host(),
        from_path: "/".to_owned(),
        to_path: "/".to_owned(),
    };
    let site = bare.1.site();
    let rule = Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO);
    state.rules.publish(RuleSet::compile(1, vec![Arc::new(rule.clone())], 0.0).unwrap());
    let page = |home: &CrawlUrl, n: u32| home.join(&format!("/{n}")).unwrap();
    let mut batch = Batch::default();
    let place = crate::frontier::Place { priority: 1, serial: 1 };
    for n in 0..40 {
        let (by, form) = (page(&www.1, n), page(&bare.1, n));
        let waits = record(&by, None, UrlState::Queued(place));
        urls::put(&mut batch, &state.db, by.fingerprint(), &waits);
        hide(&mut batch, &state, &form, &by, rule.id);
    }
    state.commit(batch, now).unwrap();
    let hidden = |state: &State| (0..40).filter(|n| is_hidden(state, &page(&bare.1, *n))).count();
    for _ in 0..40 {
        state.check_rules(now).unwrap();
    }
    assert!(hidden(&state) > 30, "while the host is open");
    set_parked(&mut state, www.0, now);
    let rounds = (0..40).take_while(|_| state.check_rules(now).unwrap()).count();
    assert!(rounds < 40 && hidden(&state) == 0, "{} left", hidden(&state));
}

/// The forms that a page led to were drawn before any of them was hidden; when their turn came
/// the others were, and next to none of them was fetched.
#[test]
fn what_was_drawn_to_be_audited_is_audited_whatever_is_hidden_meanwhile() {
    let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
    let logs = tempfile::tempdir().unwrap();
    let mut state = open(&env, logs.path(), now);
    let rule = drop_parameter("sid");
    state.rules.publish(RuleSet::compile(1, vec![Arc::new(rule.clone())], 0.1).unwrap());
    let set = state.rules.snapshot();
    find(&mut state, "/p", now);
    let by = url("http://a.example/p").fingerprint();
    state.checks.compared.note_agreed(
        &[rule.id],
        by,
        (&url("http://a.example/p?sid=0"), &url("http://a.example/p")),
    );
    let tails: Vec<String> = (0..300).map(|n| format!("/p?sid={n}")).collect();
    let tails: Vec<&str> = tails.iter().map(String::as_str).collect();
    find_at_once(&mut state, &tails, now);
    let forms = tails.iter().map(|tail| url(&format!("http://a.example{tail}")));
    let drawn: Vec<CrawlUrl> = forms.filter(|form| !is_hidden(&state, form)).collect();
    assert!((15..50).contains(&drawn.len()), "{} drawn", drawn.len());
    for form in drawn {
        let united = United::by_key(&set, &form, url("http://a.example/p")).unwrap();
        let own = form.fingerprint();
        assert!(state.is_fetched_to_check(&set, own, &united, by).unwrap(), "{form}");
    }
}

/// What a rule hides on two hosts of a site, one of which is parked.
fn hidden_on_two_hosts(
    state: &mut State,
    rule: &Rule,
    now: Timestamp,
) -> (crate::frontier::HostId, [Vec<CrawlUrl>; 2]) {
    let forms = ["a.example", "www.a.example"].map(|host| {
        let form = |n| url(&format!("http://{host}/{n}?sid={n}"));
        (0..20).map(form).collect::<Vec<CrawlUrl>>()
    });
    let mut batch = Batch::default();
    for form in forms.iter().flatten() {
        hide(&mut batch, state, form, &url("http://a.example/p"), rule.id);
    }
    state.commit(batch, now).unwrap();
    let parked = state.host_id(&forms[1][0].host()).unwrap();
    set_parked(state, parked, now);
    (parked, forms)
}

fn set_parked(state: &mut State, host: crate::frontier::HostId, at: Timestamp) {
    let reason = "repeats itself".to_owned();
    let parked = crate::frontier::HostStatus::Parked { reason, at };
    state.change_host(host, |record| record.status = parked).unwrap();
}

/// They were put into the queue of the parked host, where they wait for good, and counted as
/// what measures the rule.
#[test]
fn no_rule_is_measured_on_a_host_that_is_closed() {
    let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
    let logs = tempfile::tempdir().unwrap();
    let mut state = open(&env, logs.path(), now);
    let rule = drop_parameter("sid");
    state.rules.publish(RuleSet::compile(1, vec![Arc::new(rule.clone())], 1.0).unwrap());
    let (_, [open, parked]) = hidden_on_two_hosts(&mut state, &rule, now);
    let rounds = (0..100).take_while(|_| state.check_rules(now).unwrap()).count();
    assert!(rounds < 100, "it comes to an end");
    let hidden = |forms: &[CrawlUrl]| forms.iter().filter(|f| is_hidden(&state, f)).count();
    assert_eq!((hidden(&open), hidden(&parked)), (0, 20));
}

/// What was passed over since its host was parked was taken for proved, and was not looked at
/// again when the host was forgiven.
#[test]
fn what_was_passed_over_on_a_parked_host_is_in_doubt_when_that_opens() {
    use crate::frontier::HostStatus;
    let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
    let logs = tempfile::tempdir().unwrap();
    let mut state = open(&env, logs.path(), now);
    let rule = drop_parameter("sid");
    let set = RuleSet::compile(1, vec![Arc::new(rule.clone())], 0.0).unwrap();
    let standing = Standing { on_trial: true, ..Standing::default() };
    state.rules.publish(set.standing([(rule.id, standing)]));
    let (host, [_, parked]) = hidden_on_two_hosts(&mut state, &rule, now);
    let later = now.plus(std::time::Duration::from_secs(1));
    while state.check_rules(later).unwrap() {}
    assert!(parked.iter().all(|form| is_hidden(&state, form)));
    state.change_host(host, |record| record.status = HostStatus::Open).unwrap();
    while state.check_rules(later).unwrap() {}
    assert!(!parked.iter().any(|form| is_hidden(&state, form)));
}

/// A rule that had agreed often elsewhere hid what it would not have hidden by what was known
/// at the end, and that was never looked at.
#[test]
fn what_would_not_be_hidden_any_more_is_fetched_before_the_end() {
    let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
    let logs = tempfile::tempdir().unwrap();
    let mut state = open(&env, logs.path(), now);
    let rule = drop_parameter("sid");
    let mut proven = Proven::of(&rule.rule);
    let form = |part: &str, n: u32| url(&format!("http://a.example/{part}/{n}?sid={n}"));
    let plain = |part: &str, n: u32| url(&format!("http://a.example/{part}/{n}"));
    for n in 0..400 {
        proven.agree(&form("often", n), &plain("often", n));
    }
    proven.agree(&form("once", 0), &plain("once", 0));
    let settings = Settings::default();
    let standing = Standing {
        proven: Some(proven),
        shares: settings.shares_after(0, 1.0),
        audit_share: Some(settings.share_after(401, 1.0)),
        agreed: 401,
        odds: Some(1.0),
        ..Standing::default()
    };
    let set = RuleSet::compile(1, vec![Arc::new(rule.clone())], 0.0).unwrap();
    state.rules.publish(set.standing([(rule.id, standing)]));
    let mut batch = Batch::default();
    let hidden: Vec<(&str, CrawlUrl)> = ["often", "once"]
        .into_iter()
        .flat_map(|part| (500..520).map(move |n| (part, form(part, n))))
        .collect();
    for (part, form) in &hidden {
        hide(&mut batch, &state, form, &plain(part, 0), rule.id);
    }
    state.commit(batch, now).unwrap();
    for _ in 0..20 {
        state.check_rules(now).unwrap();
    }
    let left = |wanted: &str| {
        let of_part = hidden.iter().filter(|(part, _)| *part == wanted);
        of_part.filter(|(_, form)| is_hidden(&state, form)).count()
    };
    assert_eq!(left("once"), 0, "one pair there says little");
    assert!(left("often") > 15, "and hundreds say enough: {}", left("often"));
}

/// Audits before the end of a crawl, most of them thin, parked a part of a site that would have
/// come to its end.
#[test]
fn what_is_fetched_to_measure_a_rule_before_the_end_is_no_evidence_of_a_trap() {
    let mut checks = Checks::default();
    let mut count = |why: Why, is_thin: bool| {
        let urls = (0..MEASURED_MAX as u128).map(Fingerprint);
        let samples = urls.filter(|url| {
            checks.begin(*url, Fingerprint(0), &[RuleId(why as u64)], why);
            let samples = checks.samples(*url, is_thin);
            checks.end(*url);
            samples
        });
        samples.count()
    };
    assert_eq!([true, false].map(|is_thin| count(Why::Measures, is_thin)), [MEASURED_MAX; 2]);
    assert_eq!((count(Why::Told, true), count(Why::Drawn, false)), (0, SAMPLED_MAX));
}
