//! What hidden forms of pages alone lead to: documents that would be lost with these forms.
//!
//! A form that is fetched to measure a rule may show the text of the page that stands for it and
//! lead on to what that one does not, as a form to print does that names its sources. What such a
//! form led to first is remembered, until something else leads there that no rule would have
//! hidden: a link of a page, or another URL with the same text. What is left when the crawl has
//! nothing else to do, and has a text of its own, speaks against the rules that would have hidden
//! the form.
//! What such a document leads to is behind the same form: its links, most of all that to itself,
//! let nothing be reached.
//!
//! Where a host shows many duplicates, the links of these forms are followed all the same, as of no
//! other duplicate. That has an end too: where some dozens under a rule were followed, and nothing
//! that they led to has turned out to be a document by then, its further forms are duplicates like
//! others ([`Behind::follows`]).
//!
//! Bounded: at most [`LED_MAX`] URLs, in memory; those of a run before are forgotten.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;

use lru::LruCache;

use crate::dust::{Fetched, RuleId};
use crate::url::{CrawlUrl, Fingerprint};

/// URLs that are remembered, half a KiB each.
const LED_MAX: usize = 4_096;

/// Pages behind forms of which it is remembered that they lead to one; what more lead to is not
/// taken for lost.
const FROM_MAX: usize = 8;

/// Forms under the same rules that lead to documents of their own, after which that is no accident:
/// a page may have come to name what it did not when the one that stands for it was fetched.
const FORMS_MIN: usize = 3;

/// Forms under a rule that are followed for its sake since one was last seen to lead to a document:
/// more than it takes to blame a rule of which one form in twenty does.
const FOLLOWED_MAX: u32 = 64;

/// Rules of which this is counted, those that were followed last.
const RULES_MAX: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1_999);

/// A form that agreed, and led to a URL that nothing had led to.
#[derive(Clone, Debug)]
pub(super) struct Form {
    /// The rules that would have hidden it.
    pub(super) rules: Vec<RuleId>,
    /// What they rewrite, and its key.
    pub(super) pair: (CrawlUrl, CrawlUrl),
    /// The page that stands for it, and what that had shown.
    pub(super) by: Fingerprint,
    pub(super) known: Fetched,
}

/// What a URL showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// A text like which there was none.
    New,
    /// The text that another URL had first.
    TextOf(Fingerprint),
    /// No text, or one much like another one.
    Other,
}

#[derive(Debug)]
struct Led {
    form: Form,
    /// Those of these URLs that lead to it: it can be reached once one of them can.
    from: Vec<Fingerprint>,
    /// The URL was fetched, and nothing had its text before.
    is_document: bool,
    /// It was told that its form is one of a few.
    is_told: bool,
}

/// The URLs to which nothing but hidden forms has led so far.
#[derive(Debug)]
pub(super) struct Behind {
    led: HashMap<Fingerprint, Led>,
    /// While the links of a hidden form, or of a page behind one, are let in: those that are new.
    new: Option<Vec<Fingerprint>>,
    /// While the links of a page behind a form are let in: that page.
    from: Option<Fingerprint>,
    /// URLs of the same page that were queued as forms of known ones, to check rules by them.
    forms: u64,
    /// Of each rule, forms that were followed since one was last seen to lead to a document.
    followed: LruCache<RuleId, u32>,
}

impl Default for Behind {
    fn default() -> Self {
        let followed = LruCache::sparse(RULES_MAX);
        Behind { led: HashMap::new(), new: None, from: None, forms: 0, followed }
    }
}

impl Behind {
    /// Begins with the links of a page; `is_hidden` where rules would have hidden it.
    pub(super) fn open(&mut self, page: Fingerprint, is_hidden: bool) {
        self.from = (!is_hidden && self.led.contains_key(&page)).then_some(page);
        self.new = (is_hidden || self.from.is_some()).then(Vec::new);
        self.forms = 0;
    }

    /// Ends with the links of a page; returns the new ones, if rules would have hidden the page,
    /// and how many more were queued that are forms of known URLs.
    pub(super) fn close(&mut self) -> (Vec<Fingerprint>, u64) {
        let new = self.new.take().unwrap_or_default();
        let Some(from) = self.from.take() else { return (new, self.forms) };
        if let Some(form) = self.led.get(&from).map(|led| led.form.clone()) {
            self.note(&new, &form, &[from]);
        }
        (Vec::new(), self.forms)
    }

    /// Takes in that a URL was queued that nothing had led to; `is_form` where it is queued to
    /// check what rules would make it, which is no news of where a page leads: the form of a page
    /// with a session leads on to all others with that session.
    pub(super) fn found(&mut self, url: Fingerprint, is_form: bool) {
        if is_form {
            self.forms += 1;
        } else if let Some(new) = &mut self.new {
            new.push(url);
        }
    }

    /// Takes in that a link leads to a URL, or to one for which it stands.
    pub(super) fn met(&mut self, url: Fingerprint) {
        let from = match (&self.new, self.from) {
            (None, _) => None,
            (Some(_), Some(from)) if from != url => Some(from),
            (Some(_), _) => return,
        };
        let Some(led) = self.led.get_mut(&url) else { return };
        match from {
            Some(from) if led.from.contains(&from) => {}
            Some(from) if led.from.len() < FROM_MAX => led.from.push(from),
            Some(_) | None => _ = self.led.remove(&url),
        }
    }

    /// Takes in that a URL is hidden in favour of another one, which what led to it leads to then;
    /// a page, as far as it is known.
    pub(super) fn hidden(&mut self, url: Fingerprint, by: Fingerprint) {
        if !self.led.contains_key(&url) {
            self.met(by);
        }
    }

    /// Takes in what a form led to that agreed.
    pub(super) fn agreed(&mut self, led_to: &[Fingerprint], form: &Form) {
        self.note(led_to, form, &[]);
    }

    fn note(&mut self, led_to: &[Fingerprint], form: &Form, from: &[Fingerprint]) {
        for url in led_to {
            if self.led.len() >= LED_MAX {
                return;
            }
            let led = || Led {
                form: form.clone(),
                from: from.to_vec(),
                is_document: false,
                is_told: false,
            };
            self.led.entry(*url).or_insert_with(led);
        }
    }

    /// Takes in what a URL showed: a text that was new, or that of another one, if anything. That
    /// one is reached by it, unless rules would have hidden this URL as well: it may be a view of
    /// what it has the text of.
    pub(super) fn shown(&mut self, (url, is_hidden): (Fingerprint, bool), shown: Shown) {
        match (self.led.get_mut(&url), shown) {
            (Some(led), shown) => {
                led.is_document = shown == Shown::New && !is_hidden;
                if led.is_document {
                    led.form.rules.iter().for_each(|rule| _ = self.followed.pop(rule));
                }
            }
            (None, Shown::TextOf(first)) if !is_hidden => self.met(first),
            (None, _) => {}
        }
    }

    /// Returns true where the links of one more form under these rules are followed though its text
    /// is known and its host shows many that are, and counts it.
    pub(super) fn follows(&mut self, rules: &[RuleId]) -> bool {
        let is_open =
            |rule: &RuleId| self.followed.peek(rule).is_none_or(|forms| *forms < FOLLOWED_MAX);
        let follows = rules.iter().any(is_open);
        for rule in rules.iter().filter(|_| follows) {
            *self.followed.get_or_insert_mut(*rule, || 0) += 1;
        }
        follows
    }

    /// Forgets what can be reached from what can be reached.
    fn prune(&mut self) {
        loop {
            let is_reached = |led: &Led| led.from.iter().any(|from| !self.led.contains_key(from));
            let reached = self.led.iter().filter(|(_, led)| is_reached(led));
            let reached: Vec<Fingerprint> = reached.map(|(url, _)| *url).collect();
            if reached.is_empty() {
                return;
            }
            for url in reached {
                self.led.remove(&url);
            }
        }
    }

    /// Returns the forms that alone led to documents, each once, where those under the same rules
    /// are not few. They are told no more.
    pub(super) fn take(&mut self) -> Vec<Form> {
        self.prune();
        let mut by_rules: BTreeMap<&[RuleId], BTreeMap<&CrawlUrl, &Form>> = BTreeMap::new();
        for Led { form, .. } in self.led.values().filter(|led| led.is_document) {
            by_rules.entry(&form.rules).or_default().insert(&form.pair.0, form);
        }
        let many = by_rules.into_values().filter(|forms| forms.len() >= FORMS_MIN);
        let forms: Vec<Form> = many.flat_map(BTreeMap::into_values).cloned().collect();
        self.led.retain(|_, led| !forms.iter().any(|form| form.rules == led.form.rules));
        forms
    }

    /// Returns the forms that alone led to documents where they are few, each once: too few to
    /// blame their rules, and enough to look at more of what these hide.
    pub(super) fn take_few(&mut self) -> Vec<Form> {
        let few = self.led.values_mut().filter(|led| led.is_document && !led.is_told);
        let few = few.map(|led| {
            led.is_told = true;
            (led.form.pair.0.clone(), led.form.clone())
        });
        few.collect::<BTreeMap<CrawlUrl, Form>>().into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> CrawlUrl {
        CrawlUrl::parse(&format!("http://a.example{text}")).unwrap()
    }

    /// Some forms to print lead to a page each; returns how many speak against the rule in the end.
    fn against(forms: u32, later: impl Fn(&mut Behind, u32, Fingerprint)) -> usize {
        let mut behind = Behind::default();
        for n in 0..forms {
            let source = url(&format!("/source/{n}")).fingerprint();
            let pair = (url(&format!("/{n}?print=1")), url(&format!("/{n}")));
            behind.open(pair.0.fingerprint(), true);
            behind.found(source, false);
            let (led_to, _) = behind.close();
            assert_eq!(led_to, [source]);
            let (rules, by) = (vec![RuleId(1)], pair.1.fingerprint());
            let form = Form { rules, pair, by, known: Fetched::Unavailable };
            behind.agreed(&led_to, &form);
            later(&mut behind, n, source);
        }
        let forms = behind.take();
        assert!(behind.take().is_empty(), "each is told once");
        let few = behind.take_few();
        assert!(few.len() < FORMS_MIN && behind.take_few().is_empty(), "so are few");
        forms.len()
    }

    /// Half of the requests to a browser of a repository were for what duplicates led to that had
    /// been fetched to measure rules: one more value of a parameter, on each of its views.
    #[test]
    fn forms_are_followed_until_many_of_a_rule_have_led_to_nothing() {
        let mut behind = Behind::default();
        let (rule, other) = (RuleId(1), RuleId(2));
        let follow = |behind: &mut Behind, times: u32| {
            (0..times).filter(|_| behind.follows(&[rule])).count() as u32
        };
        assert_eq!(follow(&mut behind, FOLLOWED_MAX + 8), FOLLOWED_MAX);
        assert!(behind.follows(&[rule, other]), "of the other one little is known");
        assert!(!behind.follows(&[]), "for no rule's sake");
        // One of them leads to a document after all.
        let (source, page) = (url("/source").fingerprint(), url("/1").fingerprint());
        let pair = (url("/1?print=1"), url("/1"));
        let form = Form { rules: vec![rule], pair, by: page, known: Fetched::Unavailable };
        behind.agreed(&[source], &form);
        behind.shown((source, false), Shown::Other);
        assert!(!behind.follows(&[rule]));
        behind.shown((source, false), Shown::New);
        assert_eq!(follow(&mut behind, FOLLOWED_MAX + 8), FOLLOWED_MAX);
        for id in 0..2 * RULES_MAX.get() as u64 {
            behind.follows(&[RuleId(10 + id)]);
        }
        assert!(behind.followed.len() <= RULES_MAX.get());
    }

    #[test]
    fn forms_of_what_is_known_are_no_news_of_where_a_page_leads() {
        let mut behind = Behind::default();
        let [source, form] = ["/source", "/1?print=1&sid=2"].map(|text| url(text).fingerprint());
        for _ in 0..2 {
            behind.open(url("/1?print=1").fingerprint(), true);
            behind.found(source, false);
            behind.found(form, true);
            assert_eq!(behind.close(), (vec![source], 1));
        }
    }

    #[test]
    fn what_hidden_forms_alone_lead_to_speaks_against_their_rules() {
        let is_new =
            |behind: &mut Behind, _: u32, source| behind.shown((source, false), Shown::New);
        assert_eq!((against(2, is_new), against(3, is_new)), (0, 3));
        let mut behind = Behind::default();
        let [form, page, source] = ["/1?print=1", "/1", "/source"].map(url);
        let (rules, by, source) = (vec![RuleId(1)], page.fingerprint(), source.fingerprint());
        behind.agreed(
            &[source],
            &Form { rules, pair: (form, page), by, known: Fetched::Unavailable },
        );
        assert!(behind.take_few().is_empty(), "it may be no document");
        behind.shown((source, false), Shown::New);
        assert_eq!((behind.take().len(), behind.take_few().len()), (0, 1), "one is one of a few");
        assert_eq!(against(3, |_, _, _| {}), 0, "nobody knows what is there");
        assert_eq!(against(3, |behind, _, source| behind.shown((source, false), Shown::Other)), 0);
        // Two are left where another page leads to the third, or has its text.
        for is_text in [false, true] {
            let met = |behind: &mut Behind, n: u32, source| {
                behind.shown((source, false), Shown::New);
                match (n, is_text) {
                    (0, true) => {
                        let other = (url("/other").fingerprint(), false);
                        behind.shown(other, Shown::TextOf(source));
                    }
                    (0, false) => behind.met(source),
                    _ => {}
                }
            };
            assert_eq!((against(3, met), against(4, met)), (0, 3));
        }
        let by_a_form = |behind: &mut Behind, _: u32, source| {
            behind.shown((source, false), Shown::New);
            behind.open(url("/2?print=1").fingerprint(), true);
            behind.met(source);
            behind.close();
        };
        assert_eq!(against(3, by_a_form), 3, "that one is hidden too");
        let has_view = |behind: &mut Behind, n: u32, source| {
            behind.shown((source, false), Shown::New);
            let view = url(&format!("/print/source/{n}")).fingerprint();
            behind.shown((view, true), Shown::TextOf(source));
        };
        assert_eq!(against(3, has_view), 3, "what has their text is a hidden view of them");
        // A page leads to the other release of the source, which waited when the rule was found.
        let hidden = |behind: &mut Behind, n: u32, source| {
            behind.shown((source, false), Shown::New);
            behind.hidden(url(&format!("/1.0/source/{n}")).fingerprint(), source);
        };
        assert_eq!(against(9, hidden), 0);
    }

    /// Next to every page links to itself, or says which address it has: that alone took what only
    /// hidden forms led to for something that can be reached.
    #[test]
    fn what_is_behind_a_form_leads_to_nothing_that_can_be_reached() {
        let of = |text: &str, n: u32| url(&format!("/{text}/{n}")).fingerprint();
        // Each source links to itself, to the one before it, and to a page that nothing leads to.
        let linked = |behind: &mut Behind, n: u32, source: Fingerprint| {
            behind.open(source, false);
            behind.met(source);
            behind.met(of("source", n.saturating_sub(1)));
            behind.found(of("more", n), false);
            assert_eq!(behind.close(), (Vec::new(), 0));
            behind.shown((source, false), Shown::New);
        };
        assert_eq!(against(3, linked), 3);
        // It redirects to a page that nothing else leads to, which has a view to print.
        let redirects = |behind: &mut Behind, n: u32, source: Fingerprint| {
            behind.open(source, false);
            behind.found(of("target", n), false);
            behind.close();
            behind.shown((source, false), Shown::Other);
            behind.open(of("target", n), false);
            behind.found(of("print", n), false);
            behind.close();
            behind.shown((of("target", n), false), Shown::New);
            behind.shown((of("print", n), false), Shown::TextOf(of("target", n)));
        };
        assert_eq!(against(3, redirects), 3);
        // Some other page leads to the first source, and so to all that it leads to.
        let reached = |behind: &mut Behind, n: u32, source: Fingerprint| {
            linked(behind, n, source);
            behind.shown((of("more", n), false), Shown::New);
            if n == 0 {
                behind.open(of("other", 0), false);
                behind.met(source);
                behind.close();
            }
        };
        assert_eq!((against(3, reached), against(4, reached)), (0, 3));
        // What very many of them lead to, as a page of contents, is no loss.
        let contents = |behind: &mut Behind, n: u32, source: Fingerprint| {
            behind.open(source, false);
            (0..n).for_each(|other| behind.met(of("source", other)));
            behind.close();
            behind.shown((source, false), Shown::New);
        };
        assert!(against(20, contents) < 20);
    }
}
