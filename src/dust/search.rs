//! The search for rules in one window: in the order in which rules hide each other, each candidate
//! judged on what the accepted ones leave, up to three rounds over the rewritten window.

use std::collections::{BTreeMap, BTreeSet};

use xxhash_rust::xxh3::xxh3_64;

use super::corpus::{Corpus, Verdict};
use super::escapes;
use super::items::word;
use super::miner::Settings;
use super::propose::{self, Pair, Proposal, tokens};
use super::rule::{Evidence, Rule, RuleError, RuleId, RuleKind, RuleState, Scope, Source};
use crate::clock::Timestamp;
use crate::url::Site;
use crate::url::query::{Separator, parameters};

/// Rounds over the rewritten window; a fourth found nothing on any model site.
const ROUNDS_MAX: usize = 3;

/// Context tokens on both sides together.
const CONTEXT_MAX: usize = 8;

/// Contexts judged for one core.
const CONTEXTS_PER_CORE: usize = 32;

/// Instances kept of one core.
const INSTANCES_MAX: usize = 400;

/// Cores judged in one round, best supported first.
const CORES_MAX: usize = 120;

/// A form must be this many times as frequent as the other one to win over the shorter one.
const MAJORITY: usize = 3;

/// Words seen in two cases before the case of all paths is doubted.
const CASE_WORDS_MIN: usize = 4;

/// URLs of the sample before a rule of its own may say so of one word: if the first words had
/// theirs at once, there would never be enough of them to see that it holds for all.
const CASE_URLS_MIN: u32 = 250;

/// A token that stands for the end of path and query.
const END: &str = "\u{3}";

/// A search in progress.
pub(crate) struct Search<'a> {
    pub(crate) corpus: Corpus<'a>,
    pub(crate) site: &'a Site,
    pub(crate) settings: &'a Settings,
    /// Rules that were refuted and are not due again.
    pub(crate) refuted: &'a BTreeSet<RuleId>,
    /// Judgements left: the bound of the search.
    pub(crate) budget: u32,
    /// Rules that were found wanting, and how many had been found by then: while no other is, they
    /// need not be judged again.
    pub(crate) wanting: BTreeMap<RuleId, usize>,
    pub(crate) found: Vec<Rule>,
    /// Only sizes are known of the pages.
    pub(crate) by_size: bool,
    pub(crate) now: Timestamp,
}

/// A core and where it was seen.
#[derive(Default)]
struct Core {
    witnesses: BTreeSet<u64>,
    instances: Vec<Instance>,
    /// Hashes of the items that it exchanges for others.
    exchanged: BTreeSet<u64>,
    /// It was seen elsewhere than between two items.
    is_general: bool,
}

impl Core {
    /// Returns true where it tells items apart: what it saves are the views of that many of them,
    /// and where an item has ten, a few will always be the same.
    fn tells_items(&self, minimum: usize) -> bool {
        !self.is_general && self.exchanged.len() < minimum
    }
}

/// One place of a core: a class and the tokens on both sides, nearest first.
struct Instance {
    witness: u64,
    left: Vec<String>,
    right: Vec<String>,
}

impl Search<'_> {
    /// Runs the search and returns the candidates in the order of their discovery.
    ///
    /// # Errors
    /// Returns a rule that does not compile.
    pub(crate) fn run(
        mut self,
        priors: &[(RuleKind, Scope, Source)],
    ) -> Result<Vec<Rule>, RuleError> {
        self.by_size = self.corpus.has_only_sizes();
        for (kind, scope, source) in priors {
            // What others proved, or the site says, needs no witness here to be tried; mere habit
            // needs one.
            let told = matches!(source, Source::Elsewhere | Source::Declared);
            let support = usize::from(!told);
            self.attempt(kind, scope, *source, support)?;
        }
        for _ in 0..ROUNDS_MAX {
            let before = self.found.len();
            // Where fewer documents have two forms than must speak for a rule, none does.
            if !self.corpus.may_carry(self.settings.support_min as usize) {
                break;
            }
            self.plain(propose::hosts)?;
            self.schemes()?;
            self.plain(propose::sessions)?;
            // How characters are escaped comes before what stands there. Spaces are proved by pages
            // of their own: only software that reads queries as forms write them takes `+` for one.
            self.attempt_mined(RuleKind::Escapes { spaces: false })?;
            self.attempt_mined(RuleKind::Escapes { spaces: true })?;
            // Where it makes no difference in which order parameters stand, each further rule has
            // one form to explain in place of several.
            self.attempt_mined(RuleKind::SortParameters)?;
            self.parameters()?;
            self.path_case()?;
            self.substrings()?;
            self.plain(propose::segments)?;
            if self.found.len() == before || self.budget == 0 {
                break;
            }
        }
        Ok(self.found)
    }

    /// Judges one rule and accepts it where the evidence carries it: then it returns true.
    fn attempt(
        &mut self,
        kind: &RuleKind,
        scope: &Scope,
        source: Source,
        support_min: usize,
    ) -> Result<bool, RuleError> {
        let rule = Rule::new(self.site.clone(), kind.clone(), scope.clone(), source, self.now);
        if self.refuted.contains(&rule.id) || rule.check().is_err() {
            return Ok(false);
        }
        if self.found.iter().any(|known| known.id == rule.id) {
            return Ok(false);
        }
        let Some(verdict) = self.judge(&rule) else { return Ok(false) };
        let worth = source != Source::Mined || verdict.applicable >= self.settings.applicable_min;
        // Other views of a page have other sizes: where there is nothing but sizes, what others
        // know is left to the trial.
        let blind = source != Source::Mined && verdict.applicable > 0 && self.by_size;
        let carried = blind || self.accepted(&verdict, support_min);
        tracing::trace!(
            %rule, worth, carried, same = verdict.same.len(), different = verdict.different.len(),
            verdict.is_refuted, verdict.applicable, "judged"
        );
        if worth && carried && self.corpus.settles_with(&rule) {
            self.take(rule, &verdict)?;
            return Ok(true);
        }
        self.wanting.insert(rule.id, self.found.len());
        Ok(false)
    }

    /// Judges a rule, unless it was found wanting and nothing has changed since.
    fn judge(&mut self, rule: &Rule) -> Option<Verdict> {
        if self.budget == 0 || self.wanting.get(&rule.id) == Some(&self.found.len()) {
            return None;
        }
        self.budget -= 1;
        Some(self.corpus.judge(rule, self.settings.negative_share_max))
    }

    fn attempt_mined(&mut self, kind: RuleKind) -> Result<bool, RuleError> {
        let support = self.settings.support_min as usize;
        self.attempt(&kind, &Scope::default(), Source::Mined, support)
    }

    fn accepted(&self, verdict: &Verdict, support_min: usize) -> bool {
        verdict.applicable > 0 && verdict.accepts(support_min, self.settings.negative_share_max)
    }

    fn take(&mut self, mut rule: Rule, verdict: &Verdict) -> Result<(), RuleError> {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        rule.evidence = Evidence {
            documents_same: count(verdict.same.len()),
            documents_different: count(verdict.different.len()),
            applicable: verdict.applicable,
            merged: verdict.merged,
            ..Evidence::default()
        };
        rule.state = RuleState::Candidate;
        let other_view = self.by_size && verdict.different.len() > verdict.same.len();
        self.corpus.accept(rule.clone(), other_view)?;
        self.found.push(rule);
        Ok(())
    }

    fn plain(&mut self, propose: fn(&Corpus<'_>) -> Vec<Proposal>) -> Result<(), RuleError> {
        for (kind, support) in propose(&self.corpus) {
            if support >= self.settings.support_min {
                self.attempt_mined(kind)?;
            }
        }
        Ok(())
    }

    fn schemes(&mut self) -> Result<(), RuleError> {
        let https = self.corpus.classes.iter().filter(|class| class.key.is_https()).count();
        if https > 0 && https < self.corpus.classes.len() {
            self.attempt_mined(RuleKind::Scheme { https: 2 * https >= self.corpus.classes.len() })?;
        }
        Ok(())
    }

    /// Tries the case of paths where it differs in more words than a rule of its own each explains.
    fn path_case(&mut self) -> Result<(), RuleError> {
        let mut words: BTreeSet<String> = BTreeSet::new();
        for pair in propose::pairs(&self.corpus) {
            let path = |at: usize| self.corpus.classes[at].key.path();
            let (a, b) = (tokens(path(pair.a)), tokens(path(pair.b)));
            if a.len() == b.len() && a.iter().zip(&b).all(|(x, y)| x.eq_ignore_ascii_case(y)) {
                let differing = a.iter().zip(&b).filter(|(x, y)| x != y);
                words.extend(differing.map(|(word, _)| word.to_ascii_lowercase()));
            }
        }
        if words.len() >= CASE_WORDS_MIN {
            self.attempt_mined(RuleKind::PathCase)?;
        }
        Ok(())
    }

    /// Tries every parameter on the whole site, then under single path templates and in single
    /// views.
    fn parameters(&mut self) -> Result<(), RuleError> {
        let proposals = propose::parameters(&self.corpus);
        let mut settled: BTreeSet<String> = BTreeSet::new();
        for (kind, support) in proposals {
            let RuleKind::DropParameter { names, value, separator } = &kind else { continue };
            if support < self.settings.support_min || names.iter().any(|n| settled.contains(n)) {
                continue;
            }
            if self.attempt_mined(kind.clone())? {
                settled.extend(names.iter().cloned());
                continue;
            }
            if names.len() > 1 {
                continue;
            }
            let minimum = self.settings.support_min as usize;
            for path in propose::templates(&self.corpus, names, *separator) {
                let scope = Scope { path: Some(path), ..Scope::default() };
                self.attempt(&kind, &scope, Source::Mined, minimum)?;
            }
            for view in propose::views(&self.corpus, names, *separator) {
                let scope = Scope { view: Some(view), ..Scope::default() };
                self.attempt(&kind, &scope, Source::Mined, minimum)?;
            }
            if separator.is_usual() {
                self.set_instead(names, value.as_deref())?;
            }
        }
        Ok(())
    }

    /// Where dropping was refuted (the page needs the parameter), its most frequent value stays.
    fn set_instead(&mut self, names: &[String], value: Option<&str>) -> Result<(), RuleError> {
        let drop = RuleKind::drop(names.to_vec(), None);
        let id = RuleId::of(self.site, &drop, &Scope::default());
        if value.is_some() || !self.refuted.contains(&id) {
            return Ok(());
        }
        let mut values: BTreeMap<String, u32> = BTreeMap::new();
        for class in &self.corpus.classes {
            // The rule sets a parameter between `&` alone.
            let query = class.key.as_url().query().filter(|query| Separator::of(query).is_usual());
            for part in query.into_iter().flat_map(parameters) {
                if let Some((name, value)) = part.split_once('=')
                    && names.first().is_some_and(|only| only == name)
                {
                    *values.entry(value.to_owned()).or_default() += 1;
                }
            }
        }
        if let Some((value, _)) = values.into_iter().max_by_key(|(_, count)| *count) {
            self.attempt_mined(RuleKind::SetParameter { name: names[0].clone(), value })?;
        }
        Ok(())
    }

    fn substrings(&mut self) -> Result<(), RuleError> {
        let pairs = propose::pairs(&self.corpus);
        let minimum = self.settings.support_min as usize;
        let urls: u32 = self.corpus.classes.iter().map(|class| class.members).sum();
        let waits =
            |long: &str, short: &str| urls < CASE_URLS_MIN && long.eq_ignore_ascii_case(short);
        let mut cores: Vec<((String, String), Core)> = self
            .cores(&pairs)
            .into_iter()
            .filter(|((long, short), _)| !waits(long, short))
            .filter(|(_, core)| core.witnesses.len() >= minimum && !core.tells_items(minimum))
            .collect();
        cores.sort_by(|(a, x), (b, y)| (y.witnesses.len(), a).cmp(&(x.witnesses.len(), b)));
        for ((long, short), core) in cores.into_iter().take(CORES_MAX) {
            self.contexts(&long, &short, &core)?;
        }
        Ok(())
    }

    /// Strips what the two tails of each pair have in common on both sides.
    fn cores(&self, pairs: &[Pair]) -> BTreeMap<(String, String), Core> {
        let mut cores: BTreeMap<(String, String), Core> = BTreeMap::new();
        for pair in pairs {
            let [a, b] = [pair.a, pair.b].map(|at| self.corpus.classes[at].key.path_and_query());
            // Escapes have a rule for all of them: where it does not hold, none for each page will.
            if escapes::are_alike(a, b) {
                continue;
            }
            let (a, b) = (tokens(a), tokens(b));
            let left = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
            let most = a.len().min(b.len()) - left;
            let right =
                a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count().min(most);
            let digits = |side: &[&str]| side.iter().all(|t| t.bytes().all(|c| c.is_ascii_digit()));
            let is_number = |left: usize, right: usize| {
                let (x, y) = (&a[left..a.len() - right], &b[left..b.len() - right]);
                !x.is_empty() && !y.is_empty() && digits(x) && digits(y)
            };
            let (left, right) = match is_number(left, right) {
                true => release_around(&a, (left, right)),
                false => (left, right),
            };
            let (x, y) = (&a[left..a.len() - right], &b[left..b.len() - right]);
            let ((long, whole), short) =
                if (x.len(), x) > (y.len(), y) { ((x, &a), y) } else { ((y, &b), x) };
            // Numbered items are not DUST; a rule must not turn one number into another.
            if long.len() > 35 || is_number(left, right) {
                continue;
            }
            let core = cores.entry((long.concat(), short.concat())).or_default();
            core.witnesses.insert(pair.witness);
            match exchanged(&self.corpus, pair) {
                Some(item) => _ = core.exchanged.insert(item),
                None => core.is_general = true,
            }
            if core.instances.len() < INSTANCES_MAX {
                let right_at = whole.len() - right;
                let mut after: Vec<String> =
                    whole[right_at..].iter().take(CONTEXT_MAX).map(|t| (*t).to_owned()).collect();
                if after.len() < CONTEXT_MAX {
                    after.push(END.to_owned());
                }
                let before = whole[..left].iter().rev().take(CONTEXT_MAX);
                core.instances.push(Instance {
                    witness: pair.witness,
                    left: before.map(|t| (*t).to_owned()).collect(),
                    right: after,
                });
            }
        }
        cores
    }

    /// Finds the shortest contexts in which a core holds: breadth first over both sides.
    fn contexts(&mut self, long: &str, short: &str, core: &Core) -> Result<(), RuleError> {
        let minimum = self.settings.support_min as usize;
        let mut covered = vec![false; core.instances.len()];
        let mut queue: BTreeMap<(usize, usize), Vec<Vec<usize>>> = BTreeMap::new();
        queue.insert((0, 0), vec![(0..core.instances.len()).collect()]);
        let mut judged = 0;
        while let Some(((size, left), groups)) = queue.pop_first() {
            let right = size - left;
            for group in groups {
                let group: Vec<usize> = group.into_iter().filter(|i| !covered[*i]).collect();
                let witnesses = |group: &[usize]| {
                    group.iter().map(|i| core.instances[*i].witness).collect::<BTreeSet<_>>().len()
                };
                if witnesses(&group) < minimum || judged >= CONTEXTS_PER_CORE || self.budget == 0 {
                    continue;
                }
                judged += 1;
                if self.context(long, short, core, &group, (left, right))? {
                    group.iter().for_each(|i| covered[*i] = true);
                    continue;
                }
                if size == CONTEXT_MAX {
                    continue;
                }
                let wider = [(left + 1, right), (left, right + 1)];
                for (i, (left, right)) in wider.into_iter().enumerate() {
                    let mut split: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
                    for at in &group {
                        let instance = &core.instances[*at];
                        let next = if i == 0 {
                            instance.left.get(left - 1)
                        } else {
                            instance.right.get(right - 1)
                        };
                        if let Some(next) = next {
                            split.entry(next).or_default().push(*at);
                        }
                    }
                    let mut split: Vec<Vec<usize>> = split.into_values().collect();
                    split.sort_by_key(|group| std::cmp::Reverse(group.len()));
                    queue.entry((left + right, left)).or_default().extend(split);
                }
            }
        }
        Ok(())
    }

    /// Judges a core in one context; accepts its most specific form of equal support.
    fn context(
        &mut self,
        long: &str,
        short: &str,
        core: &Core,
        group: &[usize],
        (left, right): (usize, usize),
    ) -> Result<bool, RuleError> {
        let first = &core.instances[group[0]];
        let shortest = Literal::of(first, left, right);
        let agree = |side: fn(&Instance) -> &Vec<String>, from: usize| {
            let sides = group.iter().map(|i| side(&core.instances[*i]));
            let shared = |n: usize| sides.clone().all(|s| s.get(n) == side(first).get(n));
            (from..side(first).len()).take_while(|n| shared(*n)).count() + from
        };
        let widest = (agree(|i| &i.left, left), agree(|i| &i.right, right));
        let specific = Literal::of(first, widest.0, widest.1);
        // A look at the texts is far cheaper than a judgement. The rarer form bounds what a rule of
        // either direction can save.
        let is_rare = |core: &str| {
            let form = format!("{}{core}{}", shortest.left, shortest.right);
            let least = self.settings.applicable_min as usize;
            self.corpus.holding(&form).take(least).count() < least
        };
        if is_rare(long) || is_rare(short) {
            return Ok(false);
        }
        for shrink in self.directions(&specific, long, short) {
            let (from, to) = if shrink { (long, short) } else { (short, long) };
            let Some(general) = shortest.rule(from, to) else { continue };
            let rule = |kind| {
                Rule::new(self.site.clone(), kind, Scope::default(), Source::Mined, self.now)
            };
            let general = rule(general);
            let Some(verdict) = self.judge(&general) else { continue };
            if !self.accepted(&verdict, self.settings.support_min as usize) {
                self.wanting.insert(general.id, self.found.len());
                continue;
            }
            let Some(kind) = specific.rule(from, to) else { continue };
            if self.attempt_mined(kind)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Shrinking comes first, but where the longer form is far more frequent it is the site's own.
    fn directions(&self, context: &Literal, long: &str, short: &str) -> [bool; 2] {
        let count = |core: &str| {
            let form = format!("{}{core}{}", context.left, context.right);
            self.corpus.holding(&form).count()
        };
        let grow = !short.is_empty() && count(long) >= count(short).saturating_mul(MAJORITY);
        [!grow, grow]
    }
}

/// The context of a literal rule.
struct Literal {
    left: String,
    right: String,
    at_start: bool,
    at_end: bool,
}

impl Literal {
    fn of(instance: &Instance, left: usize, right: usize) -> Literal {
        let at_end = instance.right[..right].iter().any(|t| t == END);
        let right: String = instance.right[..right].iter().filter(|t| *t != END).cloned().collect();
        let at_start = left == instance.left.len() && left < CONTEXT_MAX;
        let left = instance.left[..left].iter().rev().cloned().collect();
        Literal { left, right, at_start, at_end }
    }

    fn rule(&self, from: &str, to: &str) -> Option<RuleKind> {
        let text = |core: &str| format!("{}{core}{}", self.left, self.right);
        let (from, to) = (text(from), text(to));
        let at_start = self.at_start && from.starts_with('/') && to.starts_with('/');
        let at_end = self.at_end;
        // What makes its own pattern anew has no fixed point.
        let again = match (at_start, at_end) {
            (true, true) => to == from,
            (true, false) => to.starts_with(&from),
            (false, true) => to.ends_with(&from),
            (false, false) => to.contains(&from),
        };
        // A slash parts directories: without what stands beside it, all of them would be one.
        let is_any_slash = from == "/" && !at_start && !at_end;
        let sound = !from.is_empty() && !is_any_slash && !again;
        sound.then_some(RuleKind::Substring { from, to, at_start, at_end })
    }
}

/// Returns a hash of the items that two pages name, where they differ in nothing else.
fn exchanged(corpus: &Corpus<'_>, pair: &Pair) -> Option<u64> {
    let [a, b] = [pair.a, pair.b].map(|at| corpus.classes[at].key.path_and_query());
    let ((path, query), (other_path, other_query)) = a.split_once('?').zip(b.split_once('?'))?;
    let (mut ours, mut theirs) = (parameters(query), parameters(other_query));
    let mut items = None;
    loop {
        match (ours.next(), theirs.next()) {
            (None, None) => break,
            (Some(one), Some(other)) if one == other => {}
            (Some(one), Some(other)) if items.is_none() => {
                let ((name, item), (other_name, other)) = word(one).zip(word(other))?;
                let is_item = name == other_name && corpus.items.contains(name);
                items = is_item.then(|| [item.min(other), item.max(other)].join("="));
                items.as_ref()?;
            }
            _ => return None,
        }
    }
    items.filter(|_| path == other_path).map(|items| xxh3_64(items.as_bytes()))
}

/// Returns how many tokens on both sides of a number stand before and after the directory that it
/// is a part of, if that is called by a release, as in `/2.0/manual`: where two releases have one
/// text, that is no item among numbered ones. Where it is not, the number itself.
fn release_around(tail: &[&str], (left, right): (usize, usize)) -> (usize, usize) {
    let before = tail[..left].iter().rev().take_while(|token| **token != "/").count();
    let after = tail[tail.len() - right..].iter().take_while(|token| **token != "/").count();
    let directory = &tail[left - before..tail.len() - right + after];
    let is_release = directory.contains(&".")
        && directory.iter().all(|t| *t == "." || t.bytes().all(|c| c.is_ascii_digit()));
    let is_in_path = !tail[..left].contains(&"?");
    match is_release && is_in_path && after < right {
        true => (left - before, right - after),
        false => (left, right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dust::evidence::{Observation, Text};
    use crate::dust::miner::Miner;
    use crate::dust::sketch::Sketch;
    use crate::url::CrawlUrl;

    /// Returns the rules found on a site of these words, of each three pages in two cases, and of
    /// so many others.
    fn found(words: &[&str], others: u64) -> Vec<String> {
        let mut miner = Miner::new(Settings { applicable_min: 3, ..Settings::default() });
        let mut observe = |tail: String, document: u64| {
            let url = CrawlUrl::parse(&format!("http://example.com{tail}")).unwrap();
            let shingles = document * 1_000..document * 1_000 + 120;
            let text = Sketch::of_shingles(shingles).map_or(Text::Unknown, Text::Main);
            miner.observe(&Observation::of(url, 200, text));
        };
        for (at, word) in (1..).zip(words) {
            for page in 0..3 {
                observe(format!("/{word}/topic-{page}.html"), 10 * at + page);
                observe(format!("/{}/topic-{page}.html", word.to_uppercase()), 10 * at + page);
            }
        }
        (0..others).for_each(|page| observe(format!("/page/no-{page}.html"), 1_000 + page));
        let site = Site::new("example.com");
        let rules = miner.mine(&site, Vec::new(), &BTreeSet::new(), &[], Timestamp::ZERO).unwrap();
        rules.iter().map(Rule::to_string).collect()
    }

    #[test]
    fn a_slash_too_many_is_dropped_where_it_stands() {
        let mut miner = Miner::new(Settings { applicable_min: 3, ..Settings::default() });
        for page in 0..24_u64 {
            let shingles = page * 1_000..page * 1_000 + 120;
            let text = Sketch::of_shingles(shingles).map_or(Text::Unknown, Text::Main);
            let name = char::from(b'a' + page as u8);
            let forms = match page % 2 {
                0 => [format!("/{name}/page"), format!("/{name}//page")],
                _ => [format!("/{name}/list"), format!("/{name}/list/")],
            };
            for tail in forms {
                let url = CrawlUrl::parse(&format!("http://example.com{tail}")).unwrap();
                miner.observe(&Observation::of(url, 200, text));
            }
        }
        let site = Site::new("example.com");
        let rules = miner.mine(&site, Vec::new(), &BTreeSet::new(), &[], Timestamp::ZERO).unwrap();
        let mut rules: Vec<String> = rules.iter().map(Rule::to_string).collect();
        rules.sort();
        assert_eq!(rules, [r#""//page$" -> "/page$""#, r#""/list/$" -> "/list$""#]);
    }

    /// A program whose every file was fetched once for each commit, since one view of it in five
    /// needs the commit.
    #[test]
    fn a_parameter_that_one_view_needs_is_dropped_in_the_others() {
        let mut miner = Miner::new(Settings { applicable_min: 3, ..Settings::default() });
        let letter = |n: u64| char::from(b'a' + (n % 26) as u8);
        for file in 0..40 {
            let name = format!("file_{}{}", letter(file), letter(file / 26));
            for (view, at) in [("blob", 0), ("log", 1), ("tree", 2), ("raw", 3), ("diff", 4)] {
                for commit in 0..2 {
                    let tail = format!("/x?f={name}&do={view}&at={commit}");
                    let document = 100 * at + file + if view == "log" { 1_000 * commit } else { 0 };
                    let shingles = document * 1_000..document * 1_000 + 120;
                    let text = Sketch::of_shingles(shingles).map_or(Text::Unknown, Text::Main);
                    let url = CrawlUrl::parse(&format!("http://example.com{tail}")).unwrap();
                    miner.observe(&Observation::of(url, 200, text));
                }
            }
        }
        let site = Site::new("example.com");
        let rules = miner.mine(&site, Vec::new(), &BTreeSet::new(), &[], Timestamp::ZERO).unwrap();
        let mut dropped: Vec<String> = rules.iter().map(Rule::to_string).collect();
        dropped.retain(|rule| rule.starts_with("drop parameter \"at\" "));
        dropped.sort();
        let want = ["blob", "diff", "raw", "tree"];
        assert_eq!(dropped, want.map(|view| format!("drop parameter \"at\" with \"do={view}\"")));
    }

    /// A manual of which two releases are the same was crawled twice: their names are numbers.
    #[test]
    fn a_directory_that_is_called_by_a_release_is_no_numbered_item() {
        let found = |names: [&str; 2]| {
            let mut miner = Miner::new(Settings { applicable_min: 3, ..Settings::default() });
            for page in 0..40u64 {
                for name in names {
                    let tail = name.replace('*', &page.to_string());
                    let url = format!("http://example.com{tail}");
                    let shingles = page * 1_000..page * 1_000 + 120;
                    let text = Sketch::of_shingles(shingles).map_or(Text::Unknown, Text::Main);
                    let url = CrawlUrl::parse(&url).unwrap();
                    miner.observe(&Observation::of(url, 200, text));
                }
            }
            let site = Site::new("example.com");
            let rules = miner.mine(&site, Vec::new(), &BTreeSet::new(), &[], Timestamp::ZERO);
            let exchange = |rule: &Rule| matches!(rule.rule, RuleKind::Substring { .. });
            rules.unwrap().iter().filter(|rule| exchange(rule)).map(Rule::to_string).collect()
        };
        let rules: Vec<String> = found(["/1.0/part/page-*.html", "/2.0/part/page-*.html"]);
        let is_it = |rule: &String| rule.contains("/1.0/") && rule.contains("/2.0/");
        assert!(matches!(&rules[..], [rule] if is_it(rule)), "{rules:?}");
        let rules: Vec<String> = found(["/1/part/page-*.html", "/2/part/page-*.html"]);
        assert!(rules.is_empty(), "{rules:?}");
        let rules: Vec<String> = found(["/part/page-*.html?v=1.0", "/part/page-*.html?v=2.0"]);
        assert!(rules.is_empty(), "{rules:?}");
    }

    /// A register in three languages, each of whose acts is linked in two ways: each act had a rule
    /// of its own, and the site a hundred.
    #[test]
    fn escapes_have_one_rule_and_none_for_each_page() {
        let mine = |forms: [&str; 2], are_same: bool, refuted: &BTreeSet<RuleId>| {
            let mut miner = Miner::new(Settings { applicable_min: 3, ..Settings::default() });
            let languages = (0..).zip(["de", "en", "fr"]);
            let acts = languages.flat_map(|of| (0..12u64).map(move |act| (of, act)));
            for ((number, language), act) in acts {
                for (at, form) in (0..).zip(forms) {
                    let tail = form.replace('*', &act.to_string());
                    let url = format!("http://example.com/{language}/{tail}");
                    let document = 100 * number + act + if are_same { 0 } else { 1_000 * at };
                    let shingles = document * 1_000..document * 1_000 + 120;
                    let text = Sketch::of_shingles(shingles).map_or(Text::Unknown, Text::Main);
                    let url = CrawlUrl::parse(&url).unwrap();
                    miner.observe(&Observation::of(url, 200, text));
                }
            }
            let site = Site::new("example.com");
            miner.mine(&site, Vec::new(), refuted, &[], Timestamp::ZERO).unwrap()
        };
        for (forms, name) in [
            (["act?uri=A:*", "act?uri=A%3A*"], "decode escapes"),
            (["act(*)", "act%28*%29"], "decode escapes"),
            (["act?q=a+*", "act?q=a%20*"], "\"+\" is \"%20\" in queries"),
        ] {
            let rules = mine(forms, true, &BTreeSet::new());
            assert_eq!(rules.iter().map(Rule::to_string).collect::<Vec<_>>(), [name]);
            assert_eq!(mine(forms, true, &BTreeSet::from([rules[0].id])), [], "{name}");
            assert_eq!(mine(forms, false, &BTreeSet::new()), [], "{name}");
        }
        for apart in [["act/a/*", "act/a%2F*"], ["act?a=1&b=*", "act?a=1%26b=*"]] {
            let rules = mine(apart, true, &BTreeSet::new());
            assert!(!rules.iter().any(|rule| matches!(rule.rule, RuleKind::Escapes { .. })));
        }
    }

    #[test]
    fn one_word_in_two_cases_waits_for_others() {
        assert_eq!(found(&["books"], 20), [""; 0]);
        assert_eq!(found(&["books", "maps", "music", "films"], 20), ["lower-case path"]);
        let alone = found(&["books"], 250);
        assert!(matches!(&alone[..], [rule] if rule.contains("/BOOKS/")), "{alone:?}");
    }
}
