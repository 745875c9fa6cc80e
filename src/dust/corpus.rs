//! A window seen through rules: URLs grouped by key, and what a further rule would merge.
//!
//! Every kind of rule is judged alike. A rule is right where the URLs that it gives one key lead to
//! one document; so candidates are judged by the groups that they merge, counted in distinct
//! documents. A candidate that is a composition of accepted rules merges nothing and falls by
//! itself.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap, HashSet};

use memchr::memmem::Finder;

use super::apply::SiteRules;
use super::evidence::{Doc, Documents, Text, Window};
use super::fetched::differ_by_clock;
use super::items::Items;
use super::live::rewrite;
use super::rule::{Rule, RuleError, RuleKind, RuleState};
use crate::content::Bag;
use crate::url::CrawlUrl;

/// Sizes that differ by less than this part prove nothing: counters and comments change pages.
const SIZE_SLACK: f64 = 0.15;

/// All URLs that have one key.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) key: CrawlUrl,
    /// Distinct documents, those of the key itself first.
    pub(crate) docs: Vec<Doc>,
    pub(crate) size: Option<(u32, u32)>,
    /// All words of its page, where it has one document.
    words: Option<Bag>,
    /// Number of URLs.
    pub(crate) members: u32,
}

/// What a rule would do to the corpus.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    /// Distinct documents whose URLs it would merge, rightly.
    pub(crate) same: BTreeSet<u64>,
    /// Distinct documents that it would merge into others, or lead to a dead URL.
    pub(crate) different: BTreeSet<u64>,
    /// A document was fetched beside what it would be merged into, and is not it, as another rule
    /// had it. Nothing else is told then.
    pub(crate) is_refuted: bool,
    /// Classes that it would rewrite.
    pub(crate) applicable: u32,
    /// Classes that it would save.
    pub(crate) merged: u32,
}

impl Verdict {
    /// Returns true where enough documents speak for the rule and next to none against it: what is
    /// left of a rule that was refuted is as wrong where it does what refuted it.
    pub(crate) fn accepts(&self, support_min: usize, negative_share_max: f64) -> bool {
        self.same.len() >= support_min
            && !self.is_refuted
            && self.negative_share() <= negative_share_max
    }

    /// Returns the share of documents that speak against the rule.
    pub(crate) fn negative_share(&self) -> f64 {
        let (same, different) = (self.same.len() as f64, self.different.len() as f64);
        if different == 0.0 { 0.0 } else { different / (same + different) }
    }
}

/// The paths and queries of keys, one below the other: a text is looked for in all of them in a
/// fraction of the time that it takes in each.
#[derive(Default)]
struct Tails {
    text: String,
    /// Where each ends.
    ends: Vec<usize>,
}

impl Tails {
    fn of<'t>(tails: impl Iterator<Item = &'t str>) -> Tails {
        let mut all = Tails::default();
        for tail in tails {
            all.text.push_str(tail);
            all.ends.push(all.text.len());
            all.text.push('\n');
        }
        all
    }

    /// Returns the numbers of those that hold a text.
    fn holding(&self, text: &str) -> impl Iterator<Item = usize> {
        let finder = Finder::new(text).into_owned();
        let mut from = 0;
        std::iter::from_fn(move || {
            let rest = self.text.as_bytes().get(from..)?;
            let at = from + finder.find(rest)?;
            let number = self.ends.partition_point(|end| *end < at);
            from = *self.ends.get(number)? + 1;
            Some(number)
        })
    }
}

/// The window of one site under the rules accepted so far.
pub(crate) struct Corpus<'a> {
    pub(crate) classes: Vec<Class>,
    /// Of each class, the path and query of its key; made when a text is first looked for in them.
    tails: OnceCell<Tails>,
    by_key: HashMap<Box<str>, usize>,
    documents: &'a Documents,
    dead: HashSet<&'a str>,
    rules: Vec<Rule>,
    compiled: SiteRules,
    /// Those of them that are proved.
    proved: SiteRules,
    /// Most documents that can speak for a further rule.
    repeated: usize,
    /// Pages that are two, as a fetch of both has shown.
    apart: Vec<(CrawlUrl, CrawlUrl)>,
    /// Parameters that name the items of the site.
    pub(crate) items: &'a Items,
}

impl<'a> Corpus<'a> {
    /// Groups a window by key under the rules in force.
    ///
    /// # Errors
    /// Returns the first rule that cannot be used.
    pub(crate) fn new(
        window: &'a Window,
        extra: &[(CrawlUrl, Option<Doc>)],
        documents: &'a Documents,
        rules: Vec<Rule>,
    ) -> Result<Self, RuleError> {
        let mut corpus = Corpus {
            classes: Vec::new(),
            tails: OnceCell::new(),
            by_key: HashMap::new(),
            documents,
            dead: window.dead.iter().map(|url| &**url).collect(),
            compiled: SiteRules::compile(&rules)?,
            proved: SiteRules::compile(
                rules.iter().filter(|rule| rule.state == RuleState::Enforced),
            )?,
            rules,
            repeated: 0,
            apart: window.apart().collect(),
            items: window.words.items(),
        };
        for page in &window.pages {
            if page.declared.as_ref().is_some_and(|(redirect, _)| *redirect) {
                continue;
            }
            let Ok(url) = CrawlUrl::parse(&page.url) else { continue };
            let size = match page.text {
                Text::Size(min, max) => Some((min, max)),
                _ => None,
            };
            corpus.add(url, page.doc, size, page.bag);
        }
        for (url, doc) in extra {
            corpus.add(url.clone(), *doc, None, None);
        }
        corpus.repeated = corpus.repeated();
        Ok(corpus)
    }

    /// Returns true where no document is known, only sizes.
    pub(crate) fn has_only_sizes(&self) -> bool {
        self.classes.iter().all(|class| class.docs.is_empty())
            && self.classes.iter().any(|class| class.size.is_some())
    }

    /// Returns true where two of these classes may lead to one document.
    pub(crate) fn some_agree(&self, group: &[usize]) -> bool {
        let classes = || group.iter().map(|at| &self.classes[*at]);
        let docs: Vec<Doc> = classes().filter_map(|class| class.docs.first().copied()).collect();
        let sizes: Vec<(u32, u32)> = classes().filter_map(|class| class.size).collect();
        docs.iter().collect::<BTreeSet<_>>().len() < docs.len()
            || (docs.is_empty()
                && sizes.iter().collect::<BTreeSet<_>>().len() * 2 <= sizes.len()
                && sizes.len() > 1)
    }

    /// Judges a rule by what it would merge. Where so many documents speak against it that no
    /// share of them up to `negative_share_max` could be reached any more, the rest is not looked
    /// at. Until then each document is compared with the first page of its group; only where a
    /// later one of them turns out to be a soft error does the whole count compare with another.
    pub(crate) fn judge(&self, rule: &Rule, negative_share_max: f64) -> Verdict {
        let Ok(compiled) = SiteRules::compile([rule]) else { return Verdict::default() };
        let most_same = self.repeated as f64;
        let is_lost = |different: usize| {
            let different = different as f64;
            different > negative_share_max * (different + most_same)
        };
        let mut groups: HashMap<Box<str>, Vec<usize>> = HashMap::new();
        if self.is_refuted(&compiled) {
            return Verdict { is_refuted: true, ..Verdict::default() };
        }
        let mut verdict = Verdict::default();
        let mut apart: HashSet<Doc> = HashSet::new();
        for i in self.candidates(rule) {
            let class = &self.classes[i];
            if !compiled.may_touch(&class.key) {
                continue;
            }
            let Some((key, _)) = rewrite(&compiled, &class.key) else { continue };
            let key = self.key_of(key);
            if key == class.key {
                continue;
            }
            verdict.applicable += 1;
            if self.dead.contains(key.as_str()) {
                verdict.different.extend(class.docs.iter().map(|doc| u64::from(*doc)));
            }
            let group = groups
                .entry(key.as_str().into())
                .or_insert_with(|| self.by_key.get(key.as_str()).copied().into_iter().collect());
            if let Some(first) = group.first()
                && self.are_apart(&self.classes[*first], class)
            {
                let other = &self.classes[*first].key;
                tracing::trace!(%rule, url = %class.key, %other, "two documents");
                apart.extend(class.docs.first());
            }
            group.push(i);
            if is_lost(apart.len().max(verdict.different.len())) {
                verdict.different.extend(apart.iter().map(|doc| u64::from(*doc)));
                return verdict;
            }
        }
        for members in groups.into_values().filter(|members| members.len() > 1) {
            self.tally(&members, &mut verdict);
        }
        verdict
    }

    /// Returns true where a rule, by itself or by what is proved, takes a document for another one
    /// that is known to be others. Those on trial are no accomplices: it may be their fault.
    fn is_refuted(&self, rule: &SiteRules) -> bool {
        let key_of = |url: CrawlUrl| key_by(&self.proved, url);
        self.apart.iter().any(|(url, key)| {
            let (one, other) = (key_of(url.clone()), key_of(key.clone()));
            let touches = rule.may_touch(&one) || rule.may_touch(&other);
            let led = |url: CrawlUrl| match rewrite(rule, &url) {
                Some((key, _)) => key_of(key),
                None => url,
            };
            touches && one != other && led(one) == led(other)
        })
    }

    /// Returns true where no document of one class may be one of the other. A class of several has
    /// them by a rule on trial, and which of them is meant is not told by that. Nor is it where
    /// two pages have the same words but for a clock's: one of them was told apart from a third
    /// page, or its text was read before the boilerplate of its site was known.
    fn are_apart(&self, one: &Class, other: &Class) -> bool {
        let words = one.words.zip(other.words);
        if words.is_some_and(|(one, other)| differ_by_clock(&one, &other)) {
            return false;
        }
        let differ = |doc: &Doc| other.docs.iter().all(|known| self.documents.differ(*doc, *known));
        !one.docs.is_empty() && !other.docs.is_empty() && one.docs.iter().all(differ)
    }

    /// Puts a rule in force: keys change, classes merge. Where the rule leads to other views of a
    /// page, what it moves has not the size of its new key.
    ///
    /// # Errors
    /// Returns why the rule cannot be used.
    pub(crate) fn accept(&mut self, rule: Rule, other_view: bool) -> Result<(), RuleError> {
        self.rules.push(rule);
        self.compiled = SiteRules::compile(&self.rules)?;
        self.by_key.clear();
        let classes = std::mem::take(&mut self.classes);
        let mut keyed: Vec<(bool, CrawlUrl, Class)> = classes
            .into_iter()
            .map(|mut class| {
                let key = self.key_of(class.key.clone());
                let moved = key != class.key;
                class.size = class.size.filter(|_| !(moved && other_view));
                (moved, key, class)
            })
            .collect();
        // The page of the key itself speaks first; another view of it may have another size.
        keyed.sort_by_key(|(moved, _, _)| *moved);
        for (_, key, class) in keyed {
            match self.by_key.get(key.as_str()) {
                Some(at) => self.classes[*at].absorb(&class.docs, class.size, class.members),
                None => {
                    self.by_key.insert(key.as_str().into(), self.classes.len());
                    self.classes.push(Class { key, ..class });
                }
            }
        }
        self.repeated = self.repeated();
        self.tails = OnceCell::new();
        Ok(())
    }

    /// Returns the numbers of the classes whose keys hold a text in their path and query.
    pub(crate) fn holding(&self, text: &str) -> impl Iterator<Item = usize> {
        let keys = || self.classes.iter().map(|class| class.key.path_and_query());
        self.tails.get_or_init(|| Tails::of(keys())).holding(text)
    }

    /// Returns the numbers of the classes that a rule may touch, and of few others where it looks
    /// for a literal: that is found in all keys at once.
    fn candidates<'c>(&'c self, rule: &'c Rule) -> Box<dyn Iterator<Item = usize> + 'c> {
        match &rule.rule {
            RuleKind::Substring { from, .. } => Box::new(self.holding(from)),
            RuleKind::SetParameter { name, .. } => Box::new(self.holding(name)),
            RuleKind::PathSession { before, .. } => Box::new(self.holding(before)),
            RuleKind::Escapes { spaces } => Box::new(self.holding(if *spaces { "+" } else { "%" })),
            RuleKind::DropParameter { names, .. } if names.len() == 1 => {
                Box::new(self.holding(&names[0]))
            }
            RuleKind::SelfLink { .. } => Box::new(std::iter::empty()),
            _ => Box::new(0..self.classes.len()),
        }
    }

    /// Returns true where a further rule may be carried by so many documents.
    pub(crate) fn may_carry(&self, support_min: usize) -> bool {
        self.repeated >= support_min
    }

    /// Returns the numbers of the classes whose document another class has too, and of those of
    /// which only the size is known.
    pub(crate) fn repeating(&self) -> Vec<usize> {
        let classes_of = self.classes_of_documents();
        let repeats = |class: &Class| match class.docs.first() {
            Some(doc) => classes_of.get(doc).is_some_and(|classes| *classes > 1),
            None => class.size.is_some(),
        };
        (0..self.classes.len()).filter(|at| repeats(&self.classes[*at])).collect()
    }

    /// Counts the documents of several classes, and the classes that could count as one by size.
    fn repeated(&self) -> usize {
        let is_sized = |class: &&Class| class.docs.is_empty() && class.size.is_some();
        let sized = self.classes.iter().filter(is_sized).count();
        self.classes_of_documents().values().filter(|classes| **classes > 1).count() + sized
    }

    /// Counts the classes of each document.
    fn classes_of_documents(&self) -> HashMap<Doc, u32> {
        let mut classes_of: HashMap<Doc, u32> = HashMap::new();
        for doc in self.classes.iter().filter_map(|class| class.docs.first()) {
            *classes_of.entry(*doc).or_default() += 1;
        }
        classes_of
    }

    /// Returns true where canonizing by all rules twice equals once, and never fails, on a sample.
    pub(crate) fn settles_with(&self, rule: &Rule) -> bool {
        let Ok(compiled) = SiteRules::compile(self.rules.iter().chain([rule])) else {
            return false;
        };
        let Ok(alone) = SiteRules::compile([rule]) else { return false };
        let classes = self.candidates(rule).map(|at| &self.classes[at]);
        let touched = classes.filter(|class| alone.may_touch(&class.key));
        touched.filter_map(|class| rewrite(&alone, &class.key).map(|_| class)).take(300).all(
            |class| {
                // A rule that undoes another one leaves the URL where it was.
                rewrite(&compiled, &class.key).is_some_and(|(key, _)| key != class.key)
            },
        )
    }

    fn key_of(&self, url: CrawlUrl) -> CrawlUrl {
        key_by(&self.compiled, url)
    }

    fn add(
        &mut self,
        url: CrawlUrl,
        doc: Option<Doc>,
        size: Option<(u32, u32)>,
        words: Option<Bag>,
    ) {
        let key = self.key_of(url);
        match self.by_key.get(key.as_str()) {
            Some(at) => self.classes[*at].absorb(doc.as_slice(), size, 1),
            None => {
                self.by_key.insert(key.as_str().into(), self.classes.len());
                let docs = doc.into_iter().collect();
                let words = words.filter(|_| doc.is_some());
                self.classes.push(Class { key, docs, size, words, members: 1 });
            }
        }
    }

    fn tally(&self, members: &[usize], verdict: &mut Verdict) {
        let classes = || members.iter().map(|at| &self.classes[*at]);
        let known = || classes().filter_map(|class| Some((class, *class.docs.first()?)));
        verdict.merged += u32::try_from(members.len() - 1).unwrap_or(u32::MAX);
        // What is merged with junk is what would be lost, so junk is never the one counted.
        let junk = known().find(|(_, doc)| self.documents.is_junk(*doc));
        let Some((kept_by, kept)) = junk.or_else(|| known().next()) else {
            let sizes: Vec<(u32, u32)> = classes().filter_map(|class| class.size).collect();
            tally_sizes(&sizes, verdict);
            return;
        };
        if known().all(|(_, doc)| doc == kept) {
            if known().nth(1).is_some() {
                verdict.same.insert(u64::from(kept));
            }
            return;
        }
        let others = known().filter(|(class, _)| self.are_apart(kept_by, class));
        verdict.different.extend(others.map(|(_, doc)| u64::from(doc)));
    }
}

impl Class {
    fn absorb(&mut self, docs: &[Doc], size: Option<(u32, u32)>, members: u32) {
        for doc in docs {
            if !self.docs.contains(doc) && self.docs.len() < 8 {
                self.docs.push(*doc);
            }
        }
        self.words = self.words.filter(|_| self.docs.len() == 1);
        self.size = match (self.size, size) {
            (Some((a, b)), Some((c, d))) if far_apart((a, b), (c, d)) => Some((a, b)),
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (size, None) | (None, size) => size,
        };
        self.members += members;
    }
}

/// Returns the key of a URL by some rules.
fn key_by(rules: &SiteRules, url: CrawlUrl) -> CrawlUrl {
    if !rules.may_touch(&url) {
        return url;
    }
    rewrite(rules, &url).map_or(url, |(key, _)| key)
}

/// Sizes that overlap speak for a merge, sizes far apart against it; the size stands for the
/// document.
fn tally_sizes(sizes: &[(u32, u32)], verdict: &mut Verdict) {
    let Some((first, rest)) = sizes.split_first() else { return };
    for (min, max) in rest {
        if *min <= first.1 && first.0 <= *max {
            verdict.same.insert(u64::from((*min).max(first.0)));
        } else if far_apart(*first, (*min, *max)) {
            verdict.different.insert(u64::from(*min) << 32 | u64::from(first.0));
        }
    }
}

fn far_apart(a: (u32, u32), b: (u32, u32)) -> bool {
    let (low, high) = (a.1.min(b.1), a.0.max(b.0));
    f64::from(high) > f64::from(low) * (1.0 + SIZE_SLACK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_in_each_tail_once_and_not_across_two() {
        let tails = ["/a/b/a/b", "/", "/b?a=1", "/a/b"];
        let all = Tails::of(tails.into_iter());
        for text in ["/a/b", "/", "b", "b/a", "?a", "1", "/a/b/a/b", "x", "b/", "1/", ""] {
            let each = tails.iter().enumerate().filter(|(_, tail)| tail.contains(text));
            let each: Vec<usize> = each.map(|(at, _)| at).collect();
            assert_eq!(all.holding(text).collect::<Vec<_>>(), each, "{text}");
        }
        assert_eq!(Tails::default().holding("/").count(), 0);
    }
}
