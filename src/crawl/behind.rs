//! What hidden forms of pages alone lead to: documents that would be lost with these forms.
//!
//! A form that is fetched to measure a rule may show the text of the page that stands for it and
//! lead on to what that one does not, as a form to print does that names its sources. What such a
//! form led to first is remembered, until something else leads there: a link of a page that no rule
//! would have hidden, or another URL with the same text. What is left when the crawl has nothing
//! else to do, and has a text of its own, speaks against the rules that would have hidden the form.
//!
//! Bounded: at most [`LED_MAX`] URLs, in memory; those of a run before are forgotten.

use std::collections::{BTreeMap, HashMap};

use crate::dust::{Fetched, RuleId};
use crate::url::{CrawlUrl, Fingerprint};

/// URLs that are remembered, half a KiB each.
const LED_MAX: usize = 4_096;

/// Forms under the same rules that lead to documents of their own, after which that is no accident:
/// a page may have come to name what it did not when the one that stands for it was fetched.
const FORMS_MIN: usize = 3;

/// A form that agreed, and led to a URL that nothing had led to.
#[derive(Clone, Debug)]
pub(super) struct Form {
    /// The rules that would have hidden it.
    pub(super) rules: Vec<RuleId>,
    /// What they rewrite, and its key.
    pub(super) pair: (CrawlUrl, CrawlUrl),
    /// What the page that stands for it had shown.
    pub(super) known: Fetched,
}

#[derive(Debug)]
struct Led {
    form: Form,
    /// The URL was fetched, and nothing had its text before.
    is_document: bool,
}

/// The URLs to which nothing but hidden forms has led so far.
#[derive(Debug, Default)]
pub(super) struct Behind {
    led: HashMap<Fingerprint, Led>,
    /// While the links of a hidden form are let in: those that are new.
    new: Option<Vec<Fingerprint>>,
    /// URLs of the same page that were queued as forms of known ones, to check rules by them.
    forms: u64,
}

impl Behind {
    /// Begins with the links of a page; `is_hidden` where rules would have hidden it.
    pub(super) fn open(&mut self, is_hidden: bool) {
        self.new = is_hidden.then(Vec::new);
        self.forms = 0;
    }

    /// Ends with the links of a page; returns the new ones, if rules would have hidden the page,
    /// and how many more were queued that are forms of known URLs.
    pub(super) fn close(&mut self) -> (Vec<Fingerprint>, u64) {
        (self.new.take().unwrap_or_default(), self.forms)
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
        if self.new.is_none() {
            self.led.remove(&url);
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
        for url in led_to {
            if self.led.len() >= LED_MAX {
                return;
            }
            self.led.entry(*url).or_insert_with(|| Led { form: form.clone(), is_document: false });
        }
    }

    /// Takes in what a URL showed: a text that was new, or that of another one, if anything.
    pub(super) fn shown(&mut self, url: Fingerprint, is_new: bool, same_as: Option<Fingerprint>) {
        if !is_new {
            self.led.remove(&url);
        } else if let Some(led) = self.led.get_mut(&url) {
            led.is_document = true;
        }
        if let Some(first) = same_as {
            self.met(first);
        }
    }

    /// Returns the forms that alone led to documents, each once, where those under the same rules
    /// are not few. They are told no more.
    pub(super) fn take(&mut self) -> Vec<Form> {
        let mut by_rules: BTreeMap<&[RuleId], BTreeMap<&CrawlUrl, &Form>> = BTreeMap::new();
        for Led { form, .. } in self.led.values().filter(|led| led.is_document) {
            by_rules.entry(&form.rules).or_default().insert(&form.pair.0, form);
        }
        let many = by_rules.into_values().filter(|forms| forms.len() >= FORMS_MIN);
        let forms: Vec<Form> = many.flat_map(BTreeMap::into_values).cloned().collect();
        self.led.retain(|_, led| !forms.iter().any(|form| form.rules == led.form.rules));
        forms
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
            behind.open(true);
            behind.found(source, false);
            let (led_to, _) = behind.close();
            assert_eq!(led_to, [source]);
            let pair = (url(&format!("/{n}?print=1")), url(&format!("/{n}")));
            let form = Form { rules: vec![RuleId(1)], pair, known: Fetched::Unavailable };
            behind.agreed(&led_to, &form);
            later(&mut behind, n, source);
        }
        let forms = behind.take();
        assert!(behind.take().is_empty(), "each is told once");
        forms.len()
    }

    #[test]
    fn forms_of_what_is_known_are_no_news_of_where_a_page_leads() {
        let mut behind = Behind::default();
        let [source, form] = ["/source", "/1?print=1&sid=2"].map(|text| url(text).fingerprint());
        for _ in 0..2 {
            behind.open(true);
            behind.found(source, false);
            behind.found(form, true);
            assert_eq!(behind.close(), (vec![source], 1));
        }
    }

    #[test]
    fn what_hidden_forms_alone_lead_to_speaks_against_their_rules() {
        let is_new = |behind: &mut Behind, _: u32, source| behind.shown(source, true, None);
        assert_eq!((against(2, is_new), against(3, is_new)), (0, 3));
        assert_eq!(against(3, |_, _, _| {}), 0, "nobody knows what is there");
        assert_eq!(against(3, |behind, _, source| behind.shown(source, false, None)), 0);
        // Two are left where another page leads to the third, or has its text.
        for is_text in [false, true] {
            let met = |behind: &mut Behind, n: u32, source| {
                behind.shown(source, true, None);
                match (n, is_text) {
                    (0, true) => behind.shown(url("/other").fingerprint(), false, Some(source)),
                    (0, false) => behind.met(source),
                    _ => {}
                }
            };
            assert_eq!((against(3, met), against(4, met)), (0, 3));
        }
        let by_a_form = |behind: &mut Behind, _: u32, source| {
            behind.shown(source, true, None);
            behind.open(true);
            behind.met(source);
            behind.close();
        };
        assert_eq!(against(3, by_a_form), 3, "that one is hidden too");
        // A page leads to the other release of the source, which waited when the rule was found.
        let hidden = |behind: &mut Behind, n: u32, source| {
            behind.shown(source, true, None);
            behind.hidden(url(&format!("/1.0/source/{n}")).fingerprint(), source);
        };
        assert_eq!(against(9, hidden), 0);
    }
}
