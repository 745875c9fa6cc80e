//! What an audit makes of two pages: the same, another one, or nothing to be said.

use std::sync::mpsc::sync_channel;

use super::verdict::AGREED_BETWEEN;
use super::*;
use crate::content::{Bag, WordSet};
use crate::crawl::checks::CONTESTED_FORMS;
use crate::crawl::checks::second_looks::STILL_LOOKS;
use crate::crawl::evidence::evidence;
use crate::crawl::learn::Asker;
use crate::crawl::learner::{Learner, Mind, Said};
use crate::crawl::readmit::tests::{done, drop_parameter, open, record, url};
use crate::db::MemoryEnv;
use crate::dust::{Rule, RuleBook, RuleKind, Scope, Sketch, Source, Text};

/// A page of these words.
fn page(words: std::ops::Range<u64>) -> Fetched {
    let bag = Some(Bag::of(words.clone()));
    let text = Sketch::of_shingles(words).map_or(Text::Unknown, Text::Main);
    Fetched::Page { text, digest: None, bag, junk: false }
}

/// A page with so many words of a text, and as many of chance, others for each number, as make a
/// hundred.
fn with_chance(own: u64, chance: u64) -> Fetched {
    let words = (0..own).chain(chance * 1_000..chance * 1_000 + 100 - own);
    let bag = Some(Bag::of(words.clone()));
    let text = Sketch::of_shingles(words).map_or(Text::Unknown, Text::Main);
    Fetched::Page { text, digest: None, bag, junk: false }
}

/// Returns a rule in force after the audit of a page that has some words more than the one that
/// stands for it, which at a second look came to this.
fn audited_beside(now_shown: Fetched) -> Rule {
    let (known, audited) = (page(0..300), page(0..340));
    assert!(known.differs_from(audited));
    audited_as(known, audited, now_shown)
}

/// Returns what is told of a page that a rule makes another one.
fn audit_of(rule: RuleId, known: Fetched, audited: Fetched) -> Audited {
    let pair = (url("http://a.example/p?sid=1"), url("http://a.example/p"));
    let (by, other) = (pair.1.fingerprint(), pair.1.clone());
    Audited {
        rules: vec![rule],
        pair,
        stands: None,
        audited,
        leads_on: false,
        led_to: Vec::new(),
        lacks: None,
        wordings: None,
        looks_at_form: false,
        lasts: Lasts::Unknown,
        beside: Differs::default(),
        own_beside: None,
        stood: (None, 0),
        says_same: false,
        words: None,
        says_no_more: false,
        known,
        is_own: true,
        by,
        other,
    }
}

/// One page that showed other words at each look, under eight addresses, was taken for a site that
/// does, and what a wrong rule hid of other pages stayed hidden.
#[test]
fn a_second_look_counts_once_for_all_audits_that_waited_for_it() {
    let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
    let logs = tempfile::tempdir().unwrap();
    let mut state = open(&env, logs.path(), now);
    let page_of = url("http://a.example/p");
    let mut looks = |look: Fetched, expected: &[(bool, bool)]| {
        for expected in expected {
            let waited = vec![audit_of(RuleId(1), page(0..300), page(0..340)); 8];
            state.note_looks(&waited, &Look::of(look, None));
            let checks = &state.checks;
            let known = (checks.looks.is_unknown(&page_of), checks.looks.has_stood_still(&page_of));
            assert_eq!(known, *expected);
        }
    };
    let unknown = (true, false);
    looks(page(0..340), &[unknown, unknown, unknown, (false, false)]);
    looks(page(0..300), &[unknown; 9]);
    looks(page(0..300), &[(true, true); 1]);
}

/// Returns a rule in force after the audit of a page, given what had stood for it, and what
/// that shows at a second look.
fn audited_as(known: Fetched, audited: Fetched, now_shown: Fetched) -> Rule {
    let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
    let logs = tempfile::tempdir().unwrap();
    let mut state = open(&env, logs.path(), now);
    let rule = drop_parameter("sid");
    let id = rule.id;
    let mut book = RuleBook::new(Default::default()).proving_by_pairs();
    book.import(vec![rule]);
    assert!(book.enforce(id, "as the test says", now));
    state.learner = Learner::Inline(Box::new(Mind::new(book, false, Default::default())));
    state.tell_verified(audit_of(id, known, audited), &Look::of(now_shown, None), now).unwrap();
    state.tell(Tell::Show);
    let shown = state.said.iter().find_map(|said| match said {
        Said::Shown(rules, _) => rules.iter().find(|rule| rule.id == id).cloned(),
        _ => None,
    });
    shown.expect("all rules are shown")
}

/// Where the page that stands for another one could not be looked at again, the doubt counted
/// as proof that both are one.
#[test]
fn a_doubt_that_no_second_look_settles_proves_nothing() {
    for nothing in [Fetched::Unavailable, Fetched::Forbidden, Fetched::Gone] {
        let evidence = audited_beside(nothing).evidence;
        let counted = (evidence.audits_same, evidence.audits_failed);
        assert_eq!(counted, (0, 0), "{nothing:?}");
    }
    assert_eq!(audited_beside(page(0..300)).evidence.audits_failed, 1, "it stands still");
    assert_eq!(audited_beside(page(0..340)).evidence.audits_same, 1, "it has changed");
}

impl From<(Fetched, Marks)> for Look {
    fn from((shown, marks): (Fetched, Marks)) -> Look {
        Look { shown, marks, words: None, beside: None }
    }
}

/// Items of chance stood beside the short texts of a shop, others at each look. Two looks at
/// one page were not so unlike that it had certainly changed, a third one was.
#[test]
fn what_differs_from_a_page_as_its_own_looks_do_is_no_evidence() {
    let (known, audited) = (with_chance(60, 1), with_chance(45, 2));
    assert!(known.is_contradicted_by(audited));
    let counted = |now_shown: Fetched| {
        assert!(!known.is_contradicted_by(now_shown));
        let evidence = audited_as(known, audited, now_shown).evidence;
        (evidence.audits_same, evidence.audits_failed)
    };
    assert_eq!(counted(with_chance(60, 3)), (0, 0), "its looks differ by as much");
    assert_eq!(counted(known), (0, 1), "it stands still");
}

/// A state with two rules, of which one is on trial, and a page that stands for its forms.
struct Bench {
    state: State,
    rules: [Rule; 2],
    now: Timestamp,
    /// What the miner says of its rules comes into force.
    hears: bool,
    _env: MemoryEnv,
    _logs: tempfile::TempDir,
}

impl Bench {
    /// `holder` was fetched, and stands for its key.
    fn new(holder: &str, became: UrlState) -> Bench {
        let mut bench = Bench::of(["sid", "lang"].map(drop_parameter), |book, rules, now| {
            assert!(book.enforce(rules[0].id, "as the test says", now));
            book.try_by_pairs(vec![rules[1].id], now).unwrap();
        });
        bench.hold(holder, became);
        bench
    }

    fn of(rules: [Rule; 2], begin: impl FnOnce(&mut RuleBook, &[Rule; 2], Timestamp)) -> Bench {
        let (env, now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let mut book = RuleBook::new(Default::default()).proving_by_pairs();
        book.import(rules.to_vec());
        begin(&mut book, &rules, now);
        state.rules.publish(book.rule_set().unwrap());
        state.learner = Learner::Inline(Box::new(Mind::new(book, false, Default::default())));
        Bench { state, rules, now, hears: false, _env: env, _logs: logs }
    }

    /// Lets a page that was fetched stand for its key.
    fn hold(&mut self, holder: &str, became: UrlState) {
        let (state, holder) = (&mut self.state, url(holder));
        let key = state.rules.snapshot().canonize(&holder).key.fingerprint();
        let mut batch = Batch::default();
        let row = record(&holder, None, became);
        urls::put(&mut batch, &state.db, holder.fingerprint(), &row);
        seen::put_by(&mut batch, &state.db, key, holder.fingerprint());
        state.commit(batch, self.now).unwrap();
    }

    /// Lets a form be fetched that has the key of the holder; returns what is known by then of
    /// each rule: pairs that agreed, and pairs that failed or were no evidence.
    fn fetch(&mut self, form: &str, shown: Fetched, leads_to: Option<&str>) -> [(u32, u32); 2] {
        let leads_to = leads_to.map(url);
        let leads = Leads { redirect: leads_to.as_ref(), ..Leads::default() };
        self.fetch_leading(form, shown, leads)
    }

    fn fetch_leading(&mut self, form: &str, shown: Fetched, leads: Leads<'_>) -> [(u32, u32); 2] {
        self.tell(form, shown, leads);
        self.known()
    }

    fn tell(&mut self, form: &str, shown: Fetched, leads: Leads<'_>) {
        let form = url(form);
        let set = self.state.rules.snapshot();
        let key = set.canonize(&form).key.into_owned();
        let mut batch = Batch::default();
        let (own, shown) = (form.fingerprint(), (shown, leads));
        self.state.tell_audit(&mut batch, (&form, own), &key, shown, self.now).unwrap();
        self.state.commit(batch, self.now).unwrap();
    }

    /// Lets each second look that is under way show this; returns what is known by then.
    fn look(&mut self, shown: Fetched) -> [(u32, u32); 2] {
        self.look_at((shown, Marks::default()))
    }

    fn look_at(&mut self, look: impl Into<Look>) -> [(u32, u32); 2] {
        self.show(&look.into());
        self.known()
    }

    fn show(&mut self, look: &Look) {
        while let Some(number) = self.state.probes.keys().next().copied() {
            let flight = self.state.probes.remove(&number).unwrap();
            let mut batch = Batch::default();
            self.state.probe_came_to(&mut batch, flight.asker, look.clone(), self.now).unwrap();
        }
        self.state.looks = Looks::default();
    }

    /// Returns what is known by now of each rule, as [`Bench::fetch`] does.
    fn known(&mut self) -> [(u32, u32); 2] {
        self.state.tell(Tell::Show);
        let mut shown = None;
        for said in std::mem::take(&mut self.state.said) {
            match said {
                Said::Shown(rules, _) => shown = Some(rules),
                Said::Rules(set, ..) if self.hears => self.state.rules.publish(set),
                _ => {}
            }
        }
        let shown = shown.expect("all rules are shown");
        self.rules.each_ref().map(|rule| {
            let rule = shown.iter().find(|shown| shown.id == rule.id).unwrap();
            let of = &rule.evidence;
            (of.draws_same + of.audits_same, of.draws_failed + of.audits_failed)
        })
    }
}

/// A pair proved each rule that rewrote its URL, also one that rewrote both pages alike.
#[test]
fn a_pair_proves_the_rules_that_make_it_one_and_no_others() {
    let page = page(0..300);
    let mut bench = Bench::new("http://a.example/d?id=7&lang=fr&sid=1", done(page, false));
    let agreed = bench.fetch("http://a.example/d?id=7&lang=fr&sid=2", page, None);
    assert_eq!(agreed, [(1, 0), (0, 0)], "the language was the same");
    let agreed = bench.fetch("http://a.example/d?id=7&lang=de&sid=1", page, None);
    assert_eq!(agreed, [(1, 0), (2, 0)], "each of its two values");
    // The site takes the session away, and says nothing of languages.
    let leads_to = Some("http://a.example/d?id=7&lang=es");
    let said = bench.fetch("http://a.example/d?id=7&lang=es&sid=3", page, leads_to);
    assert_eq!(said, [(2, 0), (2, 0)]);
}

/// Two facets in either order are one list, which is not the one without them.
#[test]
fn what_both_forms_have_is_not_proved_by_a_pair_of_them() {
    let site = url("http://a.example/").site();
    let drops = |facet: &str| {
        let (from, to) = (format!("facet={facet}&"), String::new());
        let kind = RuleKind::Substring { from, to, at_start: false, at_end: false };
        Rule::new(site.clone(), kind, Scope::default(), Source::Mined, Timestamp::ZERO)
    };
    let mut bench = Bench::of(["writer", "pages"].map(drops), |book, rules, now| {
        for rule in rules {
            assert!(book.enforce(rule.id, "as the test says", now));
        }
    });
    let page = page(0..300);
    bench.hold("http://a.example/d?facet=pages&facet=writer&id=8", done(page, false));
    let of = bench.fetch("http://a.example/d?facet=writer&facet=pages&id=8", page, None);
    assert_eq!(of, [(0, 0), (0, 0)]);
    let of = bench.fetch("http://a.example/d?facet=pages&id=8", page, None);
    assert_eq!(of, [(1, 0), (0, 0)], "only one of the two has it");
}

/// Of a session and a language both were doubted when the language mattered; of several such
/// failures the rule fell that had agreed hundreds of times.
#[test]
fn of_several_rules_the_one_is_blamed_without_which_the_page_is_known() {
    let (english, german) = (page(0..300), page(1_000..1_300));
    let mut bench = Bench::new("http://a.example/d?id=7", done(english, false));
    let known = url("http://a.example/d?id=7&lang=de");
    let mut batch = Batch::default();
    let row = record(&known, None, done(german, false));
    urls::put(&mut batch, &bench.state.db, known.fingerprint(), &row);
    seen::put_itself(&mut batch, &bench.state.db, known.fingerprint(), (0, None));
    bench.state.commit(batch, bench.now).unwrap();
    let mut doubt = |form: &str, shown: Fetched| {
        bench.fetch(form, shown, None);
        bench.look(english)
    };
    let of = doubt("http://a.example/d?id=7&lang=de&sid=2", german);
    assert_eq!(of, [(0, 0), (0, 1)]);
    let french = page(2_000..2_300);
    let of = doubt("http://a.example/d?id=7&lang=fr&sid=2", french);
    assert_eq!(of, [(0, 1), (0, 1)], "of that language nothing is known, nor is it tried now");
}

/// Each view of a page was compared with a version of it for which a rule stood that fell a
/// moment later, and the rules that make one page of its views fell with it.
#[test]
fn what_stands_for_a_page_by_a_rule_of_its_own_may_be_what_is_wrong() {
    let (new, old) = (page(0..300), page(1_000..1_300));
    // The old version stands for the page, by the language, which is on trial.
    let mut bench = Bench::new("http://a.example/d?id=7&lang=old", done(old, false));
    let doubt = |bench: &mut Bench, form: &str| {
        bench.fetch(form, new, None);
        bench.look(old)
    };
    let of = doubt(&mut bench, "http://a.example/d?id=7&sid=1");
    assert_eq!(of, [(0, 0), (0, 0)], "nobody knows which of the two it is");
    let plain = url("http://a.example/d?id=8");
    let holder = url("http://a.example/d?id=8&lang=old");
    let mut batch = Batch::default();
    for (page, shown) in [(&plain, new), (&holder, old)] {
        let row = record(page, None, done(shown, false));
        urls::put(&mut batch, &bench.state.db, page.fingerprint(), &row);
        seen::put_itself(&mut batch, &bench.state.db, page.fingerprint(), (0, None));
    }
    bench
        .state
        .stood
        .insert(url("http://a.example/d?id=8&sid=1").fingerprint(), holder.fingerprint());
    bench.state.commit(batch, bench.now).unwrap();
    let of = doubt(&mut bench, "http://a.example/d?id=8&sid=1");
    assert_eq!(of, [(1, 0), (0, 1)], "without the language it is the page that is there");
    // A form in the language of what stands for it agrees, and says nothing of that.
    let before = bench.fetch("http://a.example/d?id=7&lang=old&sid=3", old, None);
    assert_eq!(before[0].0, 2);
    let after = doubt(&mut bench, "http://a.example/d?id=7&sid=4");
    assert_eq!(after, before, "nor does anybody know by then");
}

/// A page in another language stood for a key by a wrong rule. What showed the page of the key was
/// set apart from the key, and the rules that make both one, which are right, were not found.
#[test]
fn a_form_is_told_apart_from_the_page_that_it_was_compared_with() {
    let (english, german) = (page(0..300), page(1_000..1_300));
    let holder = "http://a.example/d?id=7&lang=de";
    let mut bench = Bench::new(holder, done(german, false));
    let (tell, told) = sync_channel(8);
    let (_saying, said) = sync_channel(8);
    bench.state.learner = Learner::over(tell, said);
    bench.tell("http://a.example/d?id=7&lang=en", english, Leads::default());
    bench.show(&Look::from((german, Marks::default())));
    let compared = told.try_iter().find_map(|tell| match tell {
        Tell::Audited(_, compared, Finding::Failed, _) => Some(*compared),
        _ => None,
    });
    let AuditedForm { key, stands, .. } = compared.expect("it is another page");
    assert_eq!((key, stands), (url("http://a.example/d?id=7"), url(holder)));
}

/// The links to the posts of a topic redirect to its first page without the number that it has
/// where they stand. The rule that they lead back fell for the one that was met before that page.
#[test]
fn a_link_that_leads_to_a_form_of_its_page_does_not_lead_elsewhere() {
    let (topic, other) = (page(0..300), page(1_000..1_300));
    let forms = [("/topic/<n>?page=<n>", "/post/<n>"), ("/forum/<n>", "/last/<n>")];
    let rules = forms.map(|(page, link)| {
        let kind = RuleKind::SelfLink { page: page.to_owned(), link: link.to_owned() };
        let site = url("http://a.example/").site();
        Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO)
    });
    let mut bench = Bench::of(rules, |book, rules, now| {
        assert!(book.enforce(rules[0].id, "as the test says", now));
    });
    let numbered = url("http://a.example/topic/4?page=1");
    bench.hold(numbered.as_str(), done(topic, false));
    let mut led_to = |post: u32, to: &str, shown: Option<Fetched>| {
        if let Some(shown) = shown {
            bench.hold(to, done(shown, false));
        }
        let (link, to) = (url(&format!("http://a.example/post/{post}")), url(to));
        let leads = Leads { redirect: Some(&to), ..Leads::default() };
        let mut batch = Batch::default();
        let (state, now) = (&mut bench.state, bench.now);
        let link = (&link, link.fingerprint());
        let shown = (Fetched::Unavailable, leads);
        state.tell_audit(&mut batch, link, &numbered, shown, now).unwrap();
        bench.known()[0]
    };
    let bare = "http://a.example/topic/4";
    assert_eq!(led_to(11, numbered.as_str(), None), (1, 0));
    assert_eq!(led_to(12, bare, None), (1, 0), "nobody knows what it shows");
    assert_eq!(led_to(13, bare, Some(topic)), (2, 0));
    assert_eq!(led_to(14, "http://a.example/topic/4?view=all", Some(other)), (2, 1));
}

/// Where pages differed from look to look and rules hid nothing, a fifth of all requests were
/// second looks.
#[test]
fn a_doubt_that_is_worth_no_second_look_speaks_against_rules_in_force() {
    let after = |looks: u64, hidden: u32, form: &str| {
        let mut bench = Bench::new("http://a.example/d?id=7", done(page(0..300), false));
        let host = url("http://a.example/").host();
        (0..looks).for_each(|_| bench.state.looks.take(host.clone()));
        assert_eq!(bench.state.hidden_of(&host).unwrap(), 0);
        (0..hidden).for_each(|_| bench.state.tell_suppressed(&url("http://a.example/x"), &[]));
        let known = bench.fetch(form, page(0..340), None);
        (known, bench.state.probes.len())
    };
    let (in_force, on_trial) = ("http://a.example/d?id=7&sid=2", "http://a.example/d?id=7&lang=2");
    assert_eq!(after(63, 0, in_force), ([(0, 0), (0, 0)], 1), "it is looked at again");
    assert_eq!(after(64, 0, in_force), ([(0, 1), (0, 0)], 0));
    assert_eq!(after(64, 8, in_force), ([(0, 0), (0, 0)], 1), "the rules save something");
    assert_eq!(after(64, 0, on_trial), ([(0, 0), (0, 0)], 0), "it is tried by others");
}

/// Forms that redirect to one page were no evidence of anything, nor was one that leads to a page
/// of its own.
#[test]
fn forms_agree_that_redirect_to_one_url_and_fail_where_one_leads_to_another_that_is_new() {
    let [own, other, wall] = [
        "http://a.example/7",
        "http://a.example/de/7",
        "http://a.example/login?next=%2Fgo%3Fid%3D7%26sid%3D2",
    ]
    .map(url);
    let after = |holder: Fetched, to: &CrawlUrl, new: u64| {
        let mut bench = Bench::new("http://a.example/go?id=7&sid=1", done(holder, false));
        let led_to = [to.fingerprint()];
        let led_to = if new > 0 { &led_to[..] } else { &[] };
        let leads = Leads { redirect: Some(to), new, led_to, ..Leads::default() };
        bench.fetch_leading("http://a.example/go?id=7&sid=2", Fetched::redirect(to), leads)[0]
    };
    let holder = Fetched::redirect(&own);
    assert_eq!(after(holder, &own, 0), (1, 0));
    assert_eq!(after(holder, &other, 1), (0, 1), "hidden, it would lose what it leads to");
    assert_eq!(after(page(0..300), &other, 1), (0, 1), "beside a page as well");
    assert_eq!(after(holder, &other, 0), (0, 0), "something else leads there");
    assert_eq!(after(holder, &wall, 1), (0, 0), "a demand to log in for each form");
    assert_eq!(after(Fetched::Unavailable, &other, 1), (0, 0), "nothing stands for it");
}

/// Of artists with a page of text and four works on each page of their list a rule hid all but
/// the first pages: titles of a few words were taken for labels.
#[test]
fn a_page_with_other_rows_that_leads_on_is_another_page() {
    let list = |rows: std::ops::Range<u64>| {
        let Fetched::Page { text, junk, .. } = page(0..300) else { panic!("a page") };
        let bag = Some(Bag::of((0..300).chain(rows)));
        Fetched::Page { text, digest: None, bag, junk }
    };
    let (first, next) = (list(1_000..1_016), list(2_000..2_016));
    assert!(!first.differs_from(next) && first.differs_by_rows(next, 0));
    let audit = |shown: Fetched, new: u64| {
        let mut bench = Bench::new("http://a.example/d?id=7&sid=1", done(first, false));
        let leads = Leads { new, ..Leads::default() };
        let form = "http://a.example/d?id=7&sid=2";
        bench.fetch_leading(form, shown, leads);
        bench.look(first)[0]
    };
    assert_eq!(audit(next, 4), (0, 1));
    assert_eq!(audit(next, 0), (0, 0), "labels, if others differ so: nothing is there that is new");
    assert_eq!(audit(list(1_000..1_015), 4), (1, 0), "the same list, and forms of its links");
}

/// A form that was found at a better place than the page that stands for it was fetched before
/// that, and was never compared with it.
#[test]
fn a_page_that_waited_is_compared_with_the_form_that_came_before_it() {
    let holder = url("http://a.example/d?id=7");
    for (shown, want) in [(page(0..300), (1, 0)), (page(1_000..1_300), (0, 1))] {
        let place = crate::frontier::Place { priority: 1, serial: 1 };
        let mut bench = Bench::new(holder.as_str(), UrlState::Queued(place));
        let form = url("http://a.example/d?id=7&sid=1");
        let mut batch = Batch::default();
        let row = record(&form, None, done(shown, false));
        urls::put(&mut batch, &bench.state.db, form.fingerprint(), &row);
        bench.state.commit(batch, bench.now).unwrap();
        assert_eq!(bench.fetch(form.as_str(), shown, None)[0], (0, 0));
        assert!(bench.state.is_compared(holder.fingerprint()));
        bench.fetch(holder.as_str(), page(0..300), None);
        assert_eq!(bench.look(shown)[0], want);
        assert!(!bench.state.is_compared(holder.fingerprint()), "once");
    }
}

/// Versions of a page that differ by the few words of an edit proved nothing, however many they
/// were, and the rule that hid them stayed in force.
#[test]
fn pages_that_each_have_words_of_their_own_in_their_text_are_pages_of_their_own() {
    let version = |of: u64, edit: u64| {
        let words = move || (of..of + 294).chain(of + edit..of + edit + 6);
        let text = Sketch::of_shingles(words()).map_or(Text::Unknown, Text::Main);
        Fetched::Page { text, digest: None, bag: Some(Bag::of(words())), junk: false }
    };
    let versions = |text_of: fn(Fetched, Fetched) -> Fetched| {
        let holder = |of: u64| format!("http://a.example/d?id={of}&sid=1");
        let mut bench = Bench::new(&holder(0), done(version(0, 300), false));
        (0..8).for_each(|_| bench.state.checks.looks.looked_twice(&url(&holder(0)), true, 0));
        for of in [1_000, 2_000, 3_000, 4_000] {
            let known = version(of, 300);
            bench.hold(&holder(of), done(known, false));
            let shown = text_of(known, version(of, 400));
            assert_eq!(known.judged_by(shown), Finding::Same);
            bench.fetch(&format!("http://a.example/d?id={of}&sid=2"), shown, None);
        }
        // One of them is a sample of those that are looked at again, and is no longer there.
        bench.look(version(0, 300))[0]
    };
    assert_eq!(versions(|_, shown| shown), (0, 1), "two may be accidents");
    let beside = |known: Fetched, shown: Fetched| match (known, shown) {
        (Fetched::Page { text, .. }, Fetched::Page { digest, bag, junk, .. }) => {
            Fetched::Page { text, digest, bag, junk }
        }
        _ => shown,
    };
    assert_eq!(versions(beside), (0, 0), "the words are not in the text");
}

/// Nothing was compared with the first pages of a site, whose main text was not known, and what
/// they stood for wrongly said nothing of the rule.
#[test]
fn a_page_that_came_before_the_model_of_its_site_is_looked_at_again() {
    let Fetched::Page { digest, bag, junk, .. } = page(0..300) else { panic!("a page") };
    let early = Fetched::Page { text: Text::Unknown, digest, bag, junk };
    for (shown, want) in [(page(0..300), (1, 0)), (page(1_000..1_300), (0, 1))] {
        let mut bench = Bench::new("http://a.example/d?id=7", done(early, false));
        bench.fetch("http://a.example/d?id=7&sid=1", shown, None);
        assert_eq!(bench.look(page(0..300))[0], want);
    }
}

/// The pages of a book of pictures, all with the words of the first one, agreed with it each
/// time they were looked at, and none but those was ever fetched.
#[test]
fn pages_with_the_same_words_and_new_parts_are_pages_of_their_own() {
    let text = page(0..300);
    // What parts the first page showed, and shows when it is looked at again; and those of the
    // others, if some of them are new.
    let pages = |first: u64, again: Option<u64>, others: [Option<u64>; 6]| {
        let holder = url("http://a.example/d?id=7&sid=1");
        let mut bench = Bench::new(holder.as_str(), done(text, false));
        let UrlState::Done(mut shown) = done(text, false) else { panic!("it was fetched") };
        let marks = Marks { parts: Some(first), ..Marks::default() };
        shown.evidence = evidence(&text, false, marks);
        let mut batch = Batch::default();
        let row = record(&holder, None, UrlState::Done(shown));
        urls::put(&mut batch, &bench.state.db, holder.fingerprint(), &row);
        bench.state.commit(batch, bench.now).unwrap();
        for (n, parts) in others.into_iter().enumerate() {
            let leads = Leads { new: 1, parts, ..Leads::default() };
            bench.fetch_leading(&format!("http://a.example/d?id=7&sid=1{n}"), text, leads);
            bench.look_at((text, Marks { parts: again, ..Marks::default() }));
        }
        bench.known()[0]
    };
    let others = [2, 3, 4, 5, 6, 7].map(Some);
    assert_eq!(pages(1, Some(1), others), (0, 2), "two may be an accident");
    assert_eq!(pages(1, Some(1), [None; 6]), (6, 0), "all are known");
    assert_eq!(pages(1, Some(1), [Some(1); 6]), (6, 0), "they are at other addresses");
    assert_eq!(pages(1, Some(9), others), (6, 0), "the first one has others at each look");
    let one = [None, None, Some(2), None, None, None];
    assert_eq!(pages(1, Some(1), one), (5, 0), "one that has some proves nothing");
}

/// The questions of a quiz stood in a form, other ones under each address, below one text: one of
/// both was lost of each page.
#[test]
fn pages_with_other_things_beside_one_text_are_pages_of_their_own() {
    let text = page(0..300);
    // What each form shows beside the text, given its number, and what the page that stands for it
    // shows there: when it was fetched, and when it is looked at again.
    let forms = |own: &dyn Fn(u64) -> String, first: &str, again: &str| {
        let holder = url("http://a.example/d?id=7");
        let mut bench = Bench::new(holder.as_str(), done(text, false));
        let shown = |words: &str| {
            let sum = words.bytes().fold(1u32, |sum, byte| sum * 31 % 65_521 + u32::from(byte));
            let marks = Marks { beside: Some([sum, 0, 0]), ..Marks::default() };
            (marks, Beside::of_words(words))
        };
        let UrlState::Done(mut became) = done(text, false) else { panic!("it was fetched") };
        became.evidence = evidence(&text, false, shown(first).0);
        bench.hold(holder.as_str(), UrlState::Done(became));
        for n in 0..8 {
            let (marks, beside) = shown(&own(n));
            let beside = marks.beside.zip(Some(beside));
            let leads = Leads { beside: beside.as_ref(), ..Leads::default() };
            bench.fetch_leading(&format!("http://a.example/d?id=7&sid={n}"), text, leads);
            let (marks, beside) = shown(again);
            bench.look_at(Look { beside: Some(beside), ..Look::from((text, marks)) });
        }
        bench.known()[0]
    };
    let page = "questions about apples";
    let each = |n: u64| format!("questions about pear{n}");
    let (agreed, against) = forms(&each, page, page);
    assert!(agreed == 0 && against == 0, "each may be the only one of its kind: {agreed}");
    assert_eq!(forms(&|_| page.to_owned(), page, page), (8, 0), "the same");
    assert_eq!(forms(&|_| "questions in print".to_owned(), page, page), (7, 0), "a label");
    assert_eq!(forms(&each, page, "questions about plums"), (8, 0), "others at each look");
    assert_eq!(forms(&|_| "questions".to_owned(), page, page), (8, 0), "fewer");
}

/// Colours of one article were taken for one page, since another article of chance stood beside
/// each at each look: by as many words two looks at one page differ.
#[test]
fn what_forms_say_for_good_tells_pages_apart_that_change_at_each_look() {
    // What each form says beside the text, given its page; another teaser is at each look.
    let forms = |own: &dyn Fn(u64) -> String| {
        let mut looks = 0;
        let mut shown = |page: u64, own: &str| {
            looks += 1;
            let text = page * 1_000..page * 1_000 + 100;
            let teaser = (0..20).map(|n| 1_000_000 + looks * 100 + n);
            let said = text.clone().chain(teaser.clone()).map(|n| format!("word{n}x"));
            let said = format!("{} {own}", said.collect::<Vec<_>>().join(" "));
            let words = Vocabulary { words: WordSet::of_text(&said), ..Vocabulary::default() };
            let bag = Some(Bag::of(text.clone().chain(teaser)));
            let text = Sketch::of_shingles(text).map_or(Text::Unknown, Text::Main);
            let shown = Fetched::Page { text, digest: None, bag, junk: false };
            Look { words: Some(words), ..Look::from((shown, Marks::default())) }
        };
        let mut bench = Bench::new("http://a.example/d?id=0", done(shown(0, "").shown, false));
        let site = url("http://a.example/");
        (0..4).for_each(|_| bench.state.checks.looks.looked_twice(&site, false, 20));
        // Each page is asked for under its own address.
        bench.state.configured.dust.validate.looks_past_caches = false;
        for page in 1..20 {
            let by = format!("http://a.example/d?id={page}");
            bench.hold(&by, done(shown(page, "").shown, false));
            let form = shown(page, &own(page));
            let leads = Leads { words: form.words.as_ref(), ..Leads::default() };
            bench.fetch_leading(&format!("{by}&sid=1"), form.shown, leads);
            while let Some(number) = bench.state.probes.keys().next().copied() {
                let asker = bench.state.probes.remove(&number).unwrap().asker;
                let is_form = matches!(asker, Asker::Form(_));
                let look = shown(page, if is_form { own(page) } else { String::new() }.as_str());
                let mut batch = Batch::default();
                bench.state.probe_came_to(&mut batch, asker, look, bench.now).unwrap();
            }
            bench.state.looks = Looks::default();
        }
        bench.known()[0]
    };
    assert_eq!(forms(&|_| String::new()), (19, 0), "the same");
    let (agreed, against) = forms(&|_| "a view to print of this page".to_owned());
    assert!(agreed >= 17 && against == 0, "a label: {agreed} {against}");
    let colour = |page: u64| format!("colour{page} number{page}a stock{page}b size{page}c");
    let (_, against) = forms(&colour);
    assert!(against >= 2, "each has its own: {against}");
}

/// Quotes of chance on each page, nearly half as long as its text: its form was like it by chance
/// alone, most audits said nothing, and nearly all forms were fetched.
#[test]
fn what_differs_by_no_more_than_chance_agrees() {
    let shown = |page: u64, quote: u64, own: u64| {
        let text = page * 1_000..page * 1_000 + 84 - own;
        let quotes = 1_000_000 + quote * 100..1_000_000 + quote * 100 + 32;
        let words = text.chain(quotes).chain(2_000_000 + page * 100..2_000_000 + page * 100 + own);
        let bag = Some(Bag::of(words.clone()));
        let text = Sketch::of_shingles(words).map_or(Text::Unknown, Text::Main);
        Fetched::Page { text, digest: None, bag, junk: false }
    };
    let agreed_after = |looks: usize, own: u64, changes_by: u32| {
        let mut bench = Bench::new("http://a.example/d?id=0", done(shown(0, 0, 0), false));
        let site = url("http://a.example/");
        (0..4).for_each(|_| bench.state.checks.looks.looked_twice(&site, false, changes_by));
        let [first, last] = ["the text, red", "the text, blue"].map(WordSet::of_text);
        for _ in 0..looks {
            let rules = [bench.rules[0].id];
            let said = [first.clone(), last.clone()];
            let lasts = bench.state.checks.compared.note_lasting(&rules, &said, &last);
            assert_eq!(lasts, Lasts::Little);
        }
        for page in 1..40 {
            let by = format!("http://a.example/d?id={page}");
            let (known, form) = (shown(page, 2 * page, 0), shown(page, 2 * page + 1, own));
            bench.hold(&by, done(known, false));
            bench.fetch(&format!("{by}&sid=1"), form, None);
            bench.look(shown(page, 2 * page, 0));
        }
        bench.known()[0].0
    };
    let agreed = |own: u64, changes_by: u32| agreed_after(1, own, changes_by);
    let by_chance = agreed(0, 90);
    let unseen = agreed_after(0, 0, 90);
    assert!(by_chance > unseen, "no form was looked at twice: {by_chance} {unseen}");
    let where_less_changes = agreed(0, 10);
    assert!(by_chance > where_less_changes, "{by_chance} {where_less_changes}");
    let with_words_of_their_own = agreed(60, 90);
    assert!(with_words_of_their_own < 4, "{with_words_of_their_own}");
}

/// A form that had been looked at twice, and said nothing for good that its page does not say,
/// was another page where the quotes of both happened to be long.
#[test]
fn a_form_that_says_nothing_for_good_is_not_refuted_by_chance() {
    let (known, audited) = (with_chance(60, 1), with_chance(45, 2));
    assert!(known.is_contradicted_by(audited));
    let counted_after = |silent: usize, is_own: bool, lasts: Lasts, changes_by: u32| {
        let mut bench = Bench::new("http://a.example/p", done(known, false));
        let site = url("http://a.example/");
        (0..4).for_each(|_| bench.state.checks.looks.looked_twice(&site, false, changes_by));
        let said = ["the fog", "the rain"].map(WordSet::of_text);
        for _ in 0..silent {
            let rules = [bench.rules[0].id];
            bench.state.checks.compared.note_lasting(&rules, &said, &said[1]);
        }
        let told = audit_of(bench.rules[0].id, known, audited);
        bench.state.tell_audited(Audited { lasts, is_own, ..told }, None, bench.now).unwrap();
        bench.known()[0]
    };
    let counted = |lasts: Lasts, changes_by: u32| counted_after(0, true, lasts, changes_by);
    assert_eq!(counted(Lasts::Unknown, 100), (0, 1));
    assert_eq!(counted(Lasts::Little, 100), (0, 0));
    assert_eq!(counted(Lasts::Little, 40), (0, 1), "by more than looks do");
    assert_eq!(counted(Lasts::Own { is_page: false }, 100), (0, 1));
    // A form that came before its page is not looked at twice, nor one of many that are silent.
    let unknown = |silent, is_own| counted_after(silent, is_own, Lasts::Unknown, 100);
    assert_eq!([unknown(0, false), unknown(16, true), unknown(15, true)], [(0, 0), (0, 0), (0, 1)]);
    assert_eq!(counted_after(16, true, Lasts::Own { is_page: false }, 100), (0, 1));
    assert_eq!(counted_after(16, false, Lasts::Unknown, 40), (0, 1), "by more than looks do");
}

/// Returns the wording of a page with these numbers.
fn says(page: u64, numbers: &[u64]) -> Wording {
    let figures = numbers.iter().sum::<u64>() as u32;
    let words = figures.wrapping_add(page as u32 * 1_000_003);
    let (masked_whole, masked_words) = (page as u32, page as u32);
    let numbers = figures;
    let masked = Wording { masked_whole, masked_words, ..Wording::default() };
    Wording { whole: words, words, numbers, figures, but_headings: words, ..masked }
}

/// Five members of parliament after each other for each of 150 seats, alike but for their
/// names: a sketch takes them for one page, and all but the first were lost.
#[test]
fn pages_that_differ_by_one_word_each_are_pages_of_their_own_where_they_stand_still() {
    // Another word of the text of each page, or the same words in another order; the second
    // look shows the same as the first, or a clock.
    let forms = |word: &dyn Fn(u64) -> u64, moves: bool, clock: bool| {
        let shown = |page: u64, word: u64, moved: u32| {
            let words = page * 1_000..page * 1_000 + 300;
            let text = Sketch::of_shingles(words.clone()).map_or(Text::Unknown, Text::Main);
            let bag = Some(Bag::of(words.chain([word])));
            let page = Fetched::Page { text, digest: None, bag, junk: false };
            let sum = (word as u32).wrapping_add(moved);
            let (whole, words, masked_whole, masked_words) = (sum, sum, sum, sum);
            let sums = Wording { whole, words, masked_whole, ..Wording::default() };
            (page, Wording { masked_words, but_headings: sum, ..sums })
        };
        let (first, _) = shown(0, 0, 0);
        let mut bench = Bench::new("http://a.example/d?id=0", done(first, false));
        for page in 1..16 {
            let by = format!("http://a.example/d?id={page}");
            let (known, wording) = shown(page, page * 77, 0);
            let UrlState::Done(mut became) = done(known, false) else { panic!("a page") };
            let marks = Marks { wording: Some(wording), ..Marks::default() };
            became.evidence = evidence(&known, false, marks);
            bench.hold(&by, UrlState::Done(became));
            let moved = if moves { page as u32 * 999 } else { 0 };
            let (other, wording) = shown(page, word(page), moved);
            let leads = Leads { wording: Some(wording), ..Leads::default() };
            bench.fetch_leading(&format!("{by}&sid=1"), other, leads);
            let (again, wording) = shown(page, page * 77, if clock { page as u32 } else { 0 });
            bench.look_at((again, Marks { wording: Some(wording), ..Marks::default() }));
        }
        bench.known()[0]
    };
    assert_eq!(forms(&|page| page * 77, false, false), (15, 0), "the same words");
    let (agreed, against) = forms(&|page| page * 55, false, false);
    assert!(agreed == 0 && against >= 2, "each has its own word: {agreed} {against}");
    let (agreed, against) = forms(&|page| page * 77, true, false);
    assert!(agreed == 0 && against >= 2, "another order: {agreed} {against}");
    let (agreed, against) = forms(&|page| page * 77 + 5, false, false);
    assert!(agreed >= 8 && against <= 1, "the same on each: {agreed} {against}");
    assert_eq!(forms(&|page| page * 55, false, true).1, 0, "it changes at each look");
}

/// Views to print lack the menu of their site, which has more words than a short text: the
/// first of them refuted the rule that makes them one with their pages.
#[test]
fn a_menu_that_all_forms_lack_is_a_label_and_the_rows_of_a_list_are_not() {
    // Where a menu of so many words begins, and how many words a form has in its text besides.
    let forms = |(around, words): (&dyn Fn(u64) -> u64, u64), published: u64| {
        let shown = |page: u64, around: std::ops::Range<u64>, published: u64| {
            let words = (page * 1_000..page * 1_000 + 100).chain(800_000..800_000 + published);
            let text = Sketch::of_shingles(words.clone()).map_or(Text::Unknown, Text::Main);
            let bag = Some(Bag::of(words.chain(around)));
            Fetched::Page { text, digest: None, bag, junk: false }
        };
        let whole = |page: u64| shown(page, around(page)..around(page) + words, 0);
        let mut bench = Bench::new("http://a.example/d?id=0", done(whole(0), false));
        for page in 1..10 {
            let by = format!("http://a.example/d?id={page}");
            bench.hold(&by, done(whole(page), false));
            bench.fetch(&format!("{by}&sid=1"), shown(page, 0..0, published), None);
            bench.look(whole(page));
        }
        bench.known()[0]
    };
    let (menu, rows) = (|_| 900_000, |page| 900_000 + page * 1_000);
    assert_eq!(forms((&menu, 200), 0), (7, 0), "the first two tell nothing yet");
    let (agreed, against) = forms((&rows, 200), 0);
    assert!(agreed == 0 && against >= 2, "{agreed} {against}");
    // Each says in its text where it was published, in more words than a label has.
    let (agreed, against) = forms((&menu, 80), 6);
    assert!(agreed >= 6 && against == 0, "a shorter menu: {agreed} {against}");
    let (agreed, against) = forms((&rows, 80), 6);
    assert!(agreed == 0 && against >= 2, "fewer rows: {agreed} {against}");
}

/// Views to print lacked what stands beside each post of a topic, others on each, and their
/// rule fell for it.
#[test]
fn a_form_that_says_nothing_more_than_its_page_is_no_other_page() {
    let text = |page: u64| page * 1_000..page * 1_000 + 100;
    let shown = |page: u64, around: std::ops::Range<u64>| {
        let sketch = Sketch::of_shingles(text(page)).map_or(Text::Unknown, Text::Main);
        let bag = Some(Bag::of(text(page).chain(around.clone())));
        let said: Vec<String> = text(page).chain(around).map(|n| format!("word{n}x")).collect();
        let words = WordSet::of_text(&said.join(" "));
        let words = Some(Vocabulary { words, ..Vocabulary::default() });
        let shown = Fetched::Page { text: sketch, digest: None, bag, junk: false };
        Look { shown, marks: Marks::default(), words, beside: None }
    };
    // Which words stand around the text of each form; returns how many agreed and did not.
    let forms = |around: &dyn Fn(u64) -> std::ops::Range<u64>, leads_on: bool| {
        let whole = |page: u64| shown(page, page * 1_000_000..page * 1_000_000 + 150);
        let mut bench = Bench::new("http://a.example/d?id=0", done(whole(0).shown, false));
        for page in 1..10 {
            let by = format!("http://a.example/d?id={page}");
            bench.hold(&by, done(whole(page).shown, false));
            let form = shown(page, around(page));
            let leads = Leads { words: form.words.as_ref(), ..Leads::default() };
            let leads = Leads { new: u64::from(leads_on), ..leads };
            bench.fetch_leading(&format!("{by}&sid=1"), form.shown, leads);
            bench.look_at(whole(page));
        }
        bench.known()[0]
    };
    assert_eq!(forms(&|_| 0..0, false), (8, 0), "at one of them nothing is looked at again");
    let fell = |(agreed, against)| agreed == 0 && against >= 2;
    assert!(fell(forms(&|_| 0..0, true)), "they lead to what nothing else does");
    let others = |page: u64| 7_000_000 + page * 1_000..7_000_060 + page * 1_000;
    assert!(fell(forms(&others, false)), "each has a list of its own");
}

/// On a site that never changes, what stands for each view to print was asked for again.
#[test]
fn what_a_page_of_a_still_site_said_need_not_be_looked_at_again() {
    let shown = |page: u64, around: u64, (number, own_words): (&str, u64)| {
        let text = page * 1_000..page * 1_000 + 200;
        let beside = (0..around).map(|n| 7_000_000 + page * 1_000 + n);
        let own = (0..own_words).map(|n| 8_000_000 + page * 1_000 + n);
        let said: Vec<u64> = text.clone().chain(beside).chain(own).collect();
        let words: Vec<String> = said.iter().map(|n| format!("word{n}x")).collect();
        let numbers = WordSet::of_hashes(vec![number.len() as u64]);
        let words = Vocabulary { words: WordSet::of_text(&words.join(" ")), numbers };
        let text = Sketch::of_shingles(text).map_or(Text::Unknown, Text::Main);
        let bag = Some(Bag::of(said.iter().copied()));
        // No two pages differ from their forms by the same, which would be a label.
        let sum = (1_000_003 * page + page * page * (77 * around + 31 * own_words)) as u32;
        let (whole, words_sum, masked_whole, masked_words) = (sum, sum, sum, sum);
        let sums = Wording { whole, words: words_sum, masked_whole, ..Wording::default() };
        let wording = Some(Wording { masked_words, but_headings: sum, ..sums });
        let marks = Marks { wording, ..Marks::default() };
        let shown = Fetched::Page { text, digest: None, bag, junk: false };
        Look { words: Some(words), ..Look::from((shown, marks)) }
    };
    // Which number and how many words of its own a form says, and whether it leads on; returns how
    // many pages were looked at again, and how many agreed.
    let forms = |looks: u32, says: (&str, u64), leads_on: bool, remembers: bool| {
        let mut bench =
            Bench::new("http://a.example/d?id=0", done(shown(0, 20, ("1", 0)).shown, false));
        let site = url("http://a.example/");
        (0..looks).for_each(|_| {
            bench.state.checks.looks.looked_twice(&site, true, 0);
            bench.state.checks.looks.words_at_two_looks(&site, true);
        });
        let mut asked = 0;
        for page in 1..9 {
            let (by, whole) = (format!("http://a.example/d?id={page}"), shown(page, 20, ("1", 0)));
            let UrlState::Done(mut became) = done(whole.shown, false) else { panic!("a page") };
            became.evidence = evidence(&whole.shown, false, whole.marks);
            bench.hold(&by, UrlState::Done(became));
            let said = whole.words.as_ref().filter(|_| remembers);
            said.iter().for_each(|said| {
                bench.state.looks.note_said(url(&by).fingerprint(), said);
            });
            let form = shown(page, 0, says);
            let (wording, words) = (form.marks.wording, form.words.as_ref());
            let new = u64::from(leads_on);
            let leads = Leads { new, wording, words, ..Leads::default() };
            bench.fetch_leading(&format!("{by}&sid=1"), form.shown, leads);
            asked += bench.state.probes.len();
            bench.look_at(whole);
        }
        (asked, bench.known()[0].0)
    };
    let (asked, agreed) = forms(STILL_LOOKS, ("1", 0), false, true);
    // One page in sixteen is looked at all the same.
    assert!(asked <= 1 && agreed >= 7, "{asked} of 8 were asked for again, {agreed} agreed");
    for (looks, says, leads_on, remembers) in [
        (STILL_LOOKS - 4, ("1", 0), false, true),
        (STILL_LOOKS, ("11", 0), false, true),
        (STILL_LOOKS, ("1", 8), false, true),
        (STILL_LOOKS, ("1", 0), true, true),
        (STILL_LOOKS, ("1", 0), false, false),
    ] {
        let (asked, agreed) = forms(looks, says, leads_on, remembers);
        let is_spared = asked < 4 && agreed > 1;
        assert!(!is_spared, "{looks} {says:?} {leads_on} {remembers}: {asked} {agreed}");
    }
}

/// The doses for a child, in a table of the same words, were no evidence of anything, and what
/// agreed beside them proved the rule that hid them.
#[test]
fn pages_with_the_same_words_and_other_numbers_are_pages_of_their_own() {
    let shown = |page: u64, numbers: &[u64]| {
        let words = page * 1_000..page * 1_000 + 300;
        let text = Sketch::of_shingles(words.clone()).map_or(Text::Unknown, Text::Main);
        let bag = Some(Bag::of(words.chain(numbers.iter().copied())));
        let marks = Marks { wording: Some(says(page, numbers)), ..Marks::default() };
        (Fetched::Page { text, digest: None, bag, junk: false }, marks)
    };
    let own = |page: u64| vec![page * 10, page * 10 + 1, page * 10 + 2];
    // Which numbers each form shows, and its page at a second look; returns how many agreed,
    // and how many failed or were no evidence.
    let forms = |form: &dyn Fn(u64) -> Vec<u64>, again: &dyn Fn(u64) -> Vec<u64>| {
        let (first, _) = shown(0, &own(0));
        let mut bench = Bench::new("http://a.example/d?id=0", done(first, false));
        for page in 1..13 {
            let by = format!("http://a.example/d?id={page}");
            let (known, marks) = shown(page, &own(page));
            let UrlState::Done(mut became) = done(known, false) else { panic!("a page") };
            became.evidence = evidence(&known, false, marks);
            bench.hold(&by, UrlState::Done(became));
            let (other, Marks { wording, .. }) = shown(page, &form(page));
            let leads = Leads { wording, ..Leads::default() };
            bench.fetch_leading(&format!("{by}&sid=1"), other, leads);
            bench.look_at(shown(page, &again(page)));
        }
        bench.known()[0]
    };
    assert_eq!(forms(&own, &own), (12, 0));
    let others = |page: u64| vec![page * 100, page * 100 + 1, page * 100 + 2];
    assert_eq!(forms(&others, &own), (0, 2), "two are no accident");
    let (agreed, against) = forms(&|page| own(page)[1..].to_vec(), &own);
    assert!(agreed == 0 && against >= 2, "a single number less: {against}");
    let (agreed, _) = forms(&|page| [own(page), vec![7, 8, 9]].concat(), &own);
    assert!(agreed >= 7, "what all forms say is how they were asked for: {agreed}");
    let clock = |page| vec![page * 77, page * 77 + 1];
    assert!(forms(&others, &clock).1 <= 1, "they are others at each look");
}

/// Eight other figures looked like a menu that a view to print lacks, since all numbers are one
/// word there; and beside a counter, which changes at each look, none counted.
#[test]
fn other_figures_are_another_page_however_many_and_beside_a_counter() {
    let shown = |page: u64, figures: u64, counter: Option<u64>| {
        let words = page * 1_000..page * 1_000 + 300;
        let text = Sketch::of_shingles(words.clone()).map_or(Text::Unknown, Text::Main);
        let numbers: Vec<u64> = (figures..figures + 8).chain(counter).collect();
        let bag = Some(Bag::of(words.clone().chain(numbers.iter().copied())));
        let set = |of: &mut dyn Iterator<Item = u64>| {
            let words: Vec<String> = of.map(|n| format!("w{n}x")).collect();
            WordSet::of_text(&words.join(" "))
        };
        let words = set(&mut words.clone());
        let words = Some(Vocabulary { words, numbers: set(&mut numbers.iter().copied()) });
        let marks = Marks { wording: Some(says(page, &numbers)), ..Marks::default() };
        let shown = Fetched::Page { text, digest: None, bag, junk: false };
        Look { shown, marks, words, beside: None }
    };
    // Whether forms show other figures, and whether there is a counter.
    let forms = |are_others: bool, is_counted: bool| {
        let count = |n: u64| is_counted.then_some(1_000_000 + n * 37);
        let own = |page: u64| 500_000 + page * 100;
        let first = shown(0, own(0), count(0)).shown;
        let mut bench = Bench::new("http://a.example/d?id=0", done(first, false));
        for page in 1..13 {
            let by = format!("http://a.example/d?id={page}");
            let Look { shown: known, marks, .. } = shown(page, own(page), count(3 * page));
            let UrlState::Done(mut became) = done(known, false) else { panic!("a page") };
            became.evidence = evidence(&known, false, marks);
            bench.hold(&by, UrlState::Done(became));
            let figures = if are_others { own(page) + 50 + page } else { own(page) };
            let form = shown(page, figures, count(3 * page + 1));
            let (wording, words) = (form.marks.wording, form.words.as_ref());
            let leads = Leads { wording, words, ..Leads::default() };
            bench.fetch_leading(&format!("{by}&sid=1"), form.shown, leads);
            bench.look_at(shown(page, own(page), count(3 * page + 2)));
        }
        bench.known()[0]
    };
    for is_counted in [false, true] {
        assert_eq!(forms(false, is_counted), (12, 0), "{is_counted}");
        let (agreed, against) = forms(true, is_counted);
        assert!(agreed == 0 && against >= 2, "{is_counted}: {agreed} {against}");
    }
}

/// A list by name was taken for the one by popularity, which is the default, and for the default
/// besides: each audit of both rules led from the default to itself, and proved them both.
#[test]
fn rules_that_undo_each_other_are_not_proved_by_where_they_lead() {
    let site = url("http://a.example/").site();
    let [name, popular] = ["name", "popular"].map(str::to_owned);
    let from = format!("sort={popular}");
    let to = format!("sort={name}");
    let kinds = [
        RuleKind::Substring { from, to, at_start: false, at_end: true },
        RuleKind::drop(vec!["sort".to_owned()], Some(name)),
    ];
    let rule =
        |kind| Rule::new(site.clone(), kind, Scope::default(), Source::Mined, Timestamp::ZERO);
    let mut bench = Bench::of(kinds.map(rule), |book, rules, now| {
        for rule in rules {
            assert!(book.enforce(rule.id, "as the test says", now));
        }
    });
    let list = page(0..300);
    let fetch = |bench: &mut Bench, id: u32, by_name: Option<UrlState>| {
        let home = format!("http://a.example/d?id={id}");
        bench.hold(&home, done(list, false));
        if let Some(state) = by_name {
            let between = url(&format!("{home}&sort=name"));
            let mut batch = Batch::default();
            let row = record(&between, None, state);
            urls::put(&mut batch, &bench.state.db, between.fingerprint(), &row);
            seen::put_itself(&mut batch, &bench.state.db, between.fingerprint(), (0, None));
            bench.state.commit(batch, bench.now).unwrap();
        }
        bench.fetch(&format!("{home}&sort=popular"), list, None)[0]
    };
    let hidden = UrlState::Suppressed {
        by: Fingerprint(1),
        rules: Vec::new(),
        version: 1,
        at: Timestamp::ZERO,
    };
    bench.hears = true;
    assert_eq!(fetch(&mut bench, 1, Some(hidden.clone())), (0, 0), "the list by name was not seen");
    let another = done(page(1_000..1_300), false);
    assert_eq!(fetch(&mut bench, 2, Some(another)), (0, 0), "it is another one");
    assert_eq!(fetch(&mut bench, 3, Some(done(list, false))), (1, 0), "it is the same");
    assert_eq!(fetch(&mut bench, 4, None), (2, 0), "there is none");
    for id in 100..100 + AGREED_BETWEEN {
        if id < 108 {
            assert_eq!(fetch(&mut bench, id, Some(hidden.clone())), (2, 0), "too little is known");
        }
        let shown = page(u64::from(id) * 1_000..u64::from(id) * 1_000 + 300);
        let by_name = format!("http://a.example/d?id={id}&sort=name");
        bench.hold(&format!("http://a.example/d?id={id}"), done(shown, false));
        bench.fetch(&by_name, shown, None);
    }
    assert_eq!(fetch(&mut bench, 5, Some(hidden)), (3, 0), "lists by name are the usual ones");
    let another = done(page(1_000..1_300), false);
    assert_eq!(fetch(&mut bench, 6, Some(another)), (3, 0), "but for one that was seen");
}

/// On a site with a counter on each page each audit took two fetches, since the numbers of the
/// first two were never the same; and a label beside them was none.
#[test]
fn a_counter_on_each_page_asks_for_a_second_look_at_few_of_them() {
    let shown = |page: u64, count: u64| {
        let words = page * 1_000..page * 1_000 + 300;
        let text = Sketch::of_shingles(words.clone()).map_or(Text::Unknown, Text::Main);
        let bag = Some(Bag::of(words.chain([count])));
        let marks = Marks { wording: Some(says(page, &[count])), ..Marks::default() };
        (Fetched::Page { text, digest: None, bag, junk: false }, marks)
    };
    // Second looks at forty pages, and how many forms agreed.
    let looks = |count: &dyn Fn(u64) -> u64| {
        let mut bench = Bench::new("http://a.example/d?id=0", done(shown(0, 0).0, false));
        let mut looks = 0;
        for page in 1..41 {
            let by = format!("http://a.example/d?id={page}");
            let (known, marks) = shown(page, count(3 * page));
            let UrlState::Done(mut became) = done(known, false) else { panic!("a page") };
            became.evidence = evidence(&known, false, marks);
            bench.hold(&by, UrlState::Done(became));
            let (other, Marks { wording, .. }) = shown(page, count(3 * page + 1));
            let leads = Leads { wording, ..Leads::default() };
            bench.fetch_leading(&format!("{by}&sid=1"), other, leads);
            looks += bench.state.probes.len();
            bench.look_at(shown(page, count(3 * page + 2)));
        }
        (looks, bench.known()[0])
    };
    let (none, all) = looks(&|_| 7);
    assert_eq!((none, all), (0, (40, 0)), "the same each time");
    let (few, agreed) = looks(&|n| 1_000_000 + n);
    assert!((3..10).contains(&few), "{few}");
    assert_eq!(agreed, (40, 0));
}

/// Each view to print was another page than the one with the menus, and its rule fell.
#[test]
fn the_words_around_one_text_are_a_label_where_other_pages_lack_them_too() {
    let framed = |text: u64, frame: std::ops::Range<u64>| {
        let own = text * 1_000..text * 1_000 + 300;
        let Fetched::Page { text, junk, .. } = page(own.clone()) else { panic!("a page") };
        Fetched::Page { text, digest: None, bag: Some(Bag::of(own.chain(frame))), junk }
    };
    let menus = 900_000..900_064;
    let holder = |text: u64| format!("http://a.example/d?id={text}&sid=1");
    let mut bench = Bench::new(&holder(1), done(framed(1, menus.clone()), false));
    let mut print = |text: u64, frame: std::ops::Range<u64>| {
        let (known, shown) = (framed(text, menus.clone()), framed(text, frame));
        assert!(known.differs_from(shown) && known.has_text_of(shown, 0));
        bench.hold(&holder(text), done(known, false));
        bench.fetch(&format!("http://a.example/d?id={text}&sid=2"), shown, None);
        bench.look(known)[0]
    };
    assert_eq!(print(1, 0..0), (0, 0), "nothing is known of such views yet");
    assert_eq!(print(2, 0..0), (1, 0), "another page has the same menus");
    assert_eq!(print(3, 0..0), (2, 0));
    assert_eq!(print(4, 500_000..500_090), (2, 1), "it shows what no other page does");
}

/// A page that did not answer in time refuted the rule under which it stood for others.
#[test]
fn what_did_not_answer_says_nothing_of_a_rule() {
    let failed =
        UrlState::Failed { reason: "timeout".into(), detail: "".into(), at: Timestamp::ZERO };
    let mut bench = Bench::new("http://a.example/d?id=7&sid=1", failed);
    let known = bench.fetch("http://a.example/d?id=7&sid=2", page(0..300), None);
    assert_eq!(known, [(0, 0), (0, 0)]);
    let mut bench = Bench::new("http://a.example/d?id=7&sid=1", done(Fetched::Gone, false));
    let known = bench.fetch("http://a.example/d?id=7&sid=2", page(0..300), None);
    assert_eq!(known, [(0, 1), (0, 0)], "a page that is gone does");
}

/// A plain form came back when the page that had stood for it was gone, and that did not count
/// against the rule.
#[test]
fn a_plain_form_that_came_back_is_compared_with_what_stood_for_it() {
    let holder = "http://a.example/d?id=7&sid=1";
    let mut bench = Bench::new(holder, done(Fetched::Gone, false));
    let plain = url("http://a.example/d?id=7").fingerprint();
    assert!(!bench.state.is_compared(plain));
    bench.state.stood.insert(plain, url(holder).fingerprint());
    assert!(bench.state.is_compared(plain));
    let known = bench.fetch("http://a.example/d?id=7", page(0..300), None);
    assert_eq!(known, [(0, 1), (0, 0)]);
    assert!(!bench.state.is_compared(plain), "and is not remembered any longer");
}

/// Checks whose pages never answered, or were refused, kept the rule from any further check.
#[test]
fn what_came_to_nothing_is_no_check_under_way() {
    let Fetched::Page { text, bag, junk, .. } = page(0..300) else { panic!("a page") };
    let shown = Fetched::Page { text, bag, junk, digest: Some(1) };
    let mut bench = Bench::new("http://a.example/p?id=7&lang=x", done(shown, false));
    let mut is_fetched = |tail: &str| {
        crate::crawl::readmit::tests::find(&mut bench.state, tail, bench.now);
        let own = url(&format!("http://a.example{tail}")).fingerprint();
        let record = urls::get(&bench.state.db, own).unwrap().unwrap();
        let is_fetched = matches!(record.state, UrlState::Queued(_));
        if is_fetched {
            let mut batch = Batch::default();
            bench.state.stood.insert(own, own);
            bench.state.give_back(&mut batch, own).unwrap();
            bench.state.commit(batch, bench.now).unwrap();
            assert!(!bench.state.is_compared(own));
        }
        is_fetched
    };
    let fetched = (0..8).filter(|n| is_fetched(&format!("/p?id=7&lang={n}"))).count();
    assert_eq!(fetched, 8, "each in place of the one before");
}

/// While a rule was on trial, or proved for some values only, the others did nothing for a URL
/// that it rewrote as well: a list was fetched in every order at every commit.
#[test]
fn rules_that_are_proved_hold_beside_one_that_is_not() {
    let Fetched::Page { text, bag, junk, .. } = page(0..300) else { panic!("a page") };
    let page = Fetched::Page { text, bag, junk, digest: Some(1) };
    let mut bench = Bench::new("http://a.example/d?id=7&lang=fr&sid=1", done(page, false));
    let mut find = |tails: &[&str]| {
        let urls: Vec<CrawlUrl> =
            tails.iter().map(|tail| url(&format!("http://a.example/d?id=7{tail}"))).collect();
        let seed = |url: &CrawlUrl| crate::crawl::SeedUrl {
            url: url.clone(),
            priority: None,
            hops_max: None,
        };
        let seeds: Vec<crate::crawl::SeedUrl> = urls.iter().map(seed).collect();
        let (state, mut batch) = (&mut bench.state, Batch::default());
        state.discover_seeds(&mut batch, &seeds, bench.now).unwrap();
        state.commit(batch, bench.now).unwrap();
        let hidden = |url: &CrawlUrl| {
            let record = urls::get(&state.db, url.fingerprint()).unwrap().unwrap();
            match record.state {
                UrlState::Suppressed { by, rules, .. } => Some((by, rules)),
                _ => None,
            }
        };
        urls.iter().map(hidden).collect::<Vec<_>>()
    };
    let by = |tail: &str| url(&format!("http://a.example/d?id=7{tail}")).fingerprint();
    let [sid, lang] = ["sid", "lang"].map(|name| drop_parameter(name).id.0);
    let of = find(&["&lang=de&sid=2", "&lang=de&sid=3", "&lang=de"]);
    let german = Some((by("&lang=de&sid=2"), vec![sid]));
    assert_eq!(of, [None, german.clone(), german.clone()], "at once");
    assert_eq!(find(&["&lang=de&sid=4"]), [german], "and later");
    let french = (by("&lang=fr&sid=1"), vec![sid]);
    assert_eq!(find(&["&lang=fr&sid=5"]), [Some(french)]);
    let set_aside = find(&["&lang=es&sid=1", "&lang=it&sid=2", "&lang=it&sid=3"]);
    let aside = Some((by("&lang=fr&sid=1"), vec![lang, sid]));
    assert_eq!(set_aside, [None, aside.clone(), aside], "as many are checked at a time");
}

/// A handbook of which some pages are translated into three languages: the same pages refuted
/// the rules of two of them, and the third one hid all that there was in its language.
#[test]
fn other_forms_of_a_page_that_stood_for_another_one_are_fetched() {
    let Fetched::Page { text, bag, junk, .. } = page(0..300) else { panic!("a page") };
    let shown = Fetched::Page { text, bag, junk, digest: Some(1) };
    let mut bench = Bench::new("http://a.example/d?id=7&sid=1", done(shown, false));
    let form = |n: u32| url(&format!("http://a.example/d?id=7&sid={n}"));
    let find = |bench: &mut Bench, forms: std::ops::Range<u32>| {
        let seeds =
            forms.map(|n| crate::crawl::SeedUrl { url: form(n), priority: None, hops_max: None });
        let (seeds, mut batch) = (seeds.collect::<Vec<_>>(), Batch::default());
        bench.state.discover_seeds(&mut batch, &seeds, bench.now).unwrap();
        bench.state.commit(batch, bench.now).unwrap();
    };
    let hidden = |bench: &Bench, forms: std::ops::Range<u32>| {
        let record = |n| urls::get(&bench.state.db, form(n).fingerprint()).unwrap().unwrap();
        forms.filter(|n| matches!(record(*n).state, UrlState::Suppressed { .. })).count()
    };
    find(&mut bench, 10..22);
    let before = hidden(&bench, 10..22);
    assert!((4..CONTESTED_FORMS).contains(&before), "{before} of 12 are hidden");
    bench.fetch("http://a.example/d?id=7&sid=2", page(1_000..1_300), None);
    bench.look(shown);
    assert!(bench.state.is_readmitting());
    while bench.state.readmit_some(bench.now).unwrap() {}
    assert_eq!(hidden(&bench, 10..22), 0);
    // Those that are found later are fetched as well, as many as are left of them.
    find(&mut bench, 30..42);
    let later = hidden(&bench, 30..42);
    find(&mut bench, 50..62);
    assert!(later < hidden(&bench, 50..62), "{later}");
}

/// Each audit that did not agree had what stands for it fetched again, however many looked at
/// the same page in the same second.
#[test]
fn one_look_at_a_page_serves_all_doubts_of_its_time() {
    let (shown, other) = (page(0..300), page(0..340));
    let mut bench = Bench::new("http://a.example/d?id=7&sid=1", done(shown, false));
    let mut audit = |tail: &str| {
        let form = format!("http://a.example/d?id=7&sid={tail}");
        let known = bench.fetch(&form, other, None);
        (known[0], bench.state.probes.len())
    };
    assert_eq!((audit("2"), audit("3")), (((0, 0), 1), ((0, 0), 1)), "a look is under way");
    let number = *bench.state.probes.keys().next().unwrap();
    let flight = bench.state.probes.remove(&number).unwrap();
    let mut batch = Batch::default();
    let look = Look::of(other, None);
    bench.state.probe_came_to(&mut batch, flight.asker, look, bench.now).unwrap();
    let mut audit = |tail: &str, now: u64| {
        bench.now = Timestamp::from_millis(now);
        let form = format!("http://a.example/d?id=7&sid={tail}");
        (bench.fetch(&form, other, None)[0], bench.state.probes.len())
    };
    assert_eq!(audit("4", 50_000), ((3, 0), 0), "it has changed, as all three say");
    assert_eq!(audit("5", 90_000), ((3, 0), 1), "that was long ago");
}
