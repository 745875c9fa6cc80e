//! How rules in force are measured before a crawl ends: some of what they hide is fetched, first
//! what is like pages for which they failed, then what is spread over the site.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use xxhash_rust::xxh3::xxh3_64;

use super::{Checks, Extent, FORMS_AUDITED, MEASURED_MAX, STEP_MAX, Why};
use crate::clock::Timestamp;
use crate::crawl::evidence::evidence_of;
use crate::crawl::state::State;
use crate::db::families::{suppressed, urls};
use crate::db::{Batch, DbError};
use crate::dust::{Fetched, RuleId, RuleSet, Text, Trust};
use crate::frontier::UrlState;
use crate::url::{CrawlUrl, Fingerprint, query};

/// URLs of one doubted rule that are fetched before a crawl ends, and at a time. Three failures
/// retire a rule; where some agree, what is left of a doubt is left to the next crawl.
const DOUBTED_MAX: usize = 16;
const DOUBTED_STEP: usize = 4;

/// Hidden URLs that are fetched for each one that turned out to be another page, those that are
/// most like it: where one differs, so may its neighbours. For how many of the last ones of a rule.
const NEIGHBOURS: usize = 16;
const FAILED_MAX: usize = 4;

/// Pages next to each other, in the order of their names, of which a form of one at least is looked
/// at; and after one has failed. A site that is another one from some number on, or in one of many
/// parts that no rule of places knows, is met by this and not by chance.
const GAP: usize = 8;
const GAP_AFTER_FAILURE: usize = 4;

/// The same where pages show less than a half of what those of the rule do at the median, and less
/// than a quarter: what shows the first lines of a text, and links to a view of all of it, is no
/// kind of its own by its address.
const GAPS_OF_SHORT: [usize; 2] = [4, 2];

/// The same where pages show most, the longest one of so many, if that is more than others do by a
/// quarter: a list that is cut where it is long is no kind of its own by its address either.
const GAP_OF_LONG: usize = 4;
const LONG_AMONG: usize = 8;

/// Pages of one kind that are looked at for that at most: where there are more, gaps are wider. Of
/// one kind are forms with one value, where all are the only one of their page, or none is.
const SPREAD_MAX: usize = 64;

/// Pages with one value from which on they are a kind of their own.
const KIND_MIN: usize = 16;

/// Pages of one kind that are looked at in any case. A list with a link for each of its brands is
/// not what one with a single link was.
const OF_EACH_KIND: usize = 3;

/// Rules of which it is remembered where they failed.
const FAILED_RULES_MAX: usize = 2_000;

/// URLs of one rule among which the latest are looked for.
const LATEST_ROWS_MAX: usize = 20_000;

/// A hidden URL: when it was suppressed, which it is, and what stands for it.
type Row = (Timestamp, Fingerprint, Fingerprint);

/// What is left to measure of a rule in force before the end of a crawl.
#[derive(Debug)]
pub(super) struct Measuring {
    /// URLs with what stands for them that are most like those that turned out to be other pages.
    near: VecDeque<(Fingerprint, Fingerprint)>,
    /// Those among whose neighbours none was looked at.
    spread: VecDeque<(Fingerprint, Fingerprint)>,
    /// The others, in the order in which they are fetched.
    next: VecDeque<(Fingerprint, Fingerprint)>,
    /// How many of them, the first ones, would not be suppressed by what was known of the rule.
    owed: usize,
    /// URLs that it had hidden, those of a page that has many counted as far as they are audited.
    hidden: usize,
    /// The same, each counted once.
    rows: usize,
    /// What was known.
    trust: Trust,
}

impl Measuring {
    fn pop(&mut self) -> Option<(Fingerprint, Fingerprint)> {
        self.near.pop_front().or_else(|| self.spread.pop_front()).or_else(|| {
            self.owed = self.owed.saturating_sub(1);
            self.next.pop_front()
        })
    }

    /// Returns how many are fetched whatever is known of the rule.
    fn certain(&self) -> usize {
        self.near.len() + self.spread.len() + self.owed
    }

    fn is_empty(&self) -> bool {
        self.near.is_empty() && self.spread.is_empty() && self.next.is_empty()
    }
}

/// A URL that turned out to be another page.
#[derive(Debug)]
struct Failure {
    url: CrawlUrl,
    /// Other forms of what stood for it are hidden.
    is_of_several: bool,
    /// By what it differs from its key.
    part: u32,
    /// How much that shows which stood for it.
    extent: Option<Extent>,
}

/// Where a rule has failed.
#[derive(Debug, Default)]
pub(super) struct Failed {
    /// The last ones.
    last: VecDeque<Failure>,
    /// How many of their neighbours are still to be fetched.
    owed: usize,
}

impl Failed {
    /// Returns how much a URL is like one of those that failed: whether both are one of several
    /// forms, or neither is; how many of its parameters that has too; whether what stands for both
    /// shows as much; and how far their paths are the same.
    fn likeness(
        &self,
        url: &CrawlUrl,
        is_of_several: bool,
        extent: Option<Extent>,
    ) -> (bool, usize, bool, usize) {
        let parameters = |url: &CrawlUrl| -> BTreeSet<String> {
            let query = url.as_url().query().unwrap_or_default();
            query::parameters(query).map(str::to_owned).collect()
        };
        let own = parameters(url);
        let like = |other: &Failure| {
            let shared = parameters(&other.url).intersection(&own).count();
            let paths = url.path().bytes().zip(other.url.path().bytes());
            let path = paths.take_while(|(a, b)| a == b).count();
            let shows_as_much = match (other.extent, extent) {
                (Some(Extent::Words(a)), Some(Extent::Words(b))) => a.max(b) < 2 * a.min(b),
                (a, b) => a == b,
            };
            (other.is_of_several == is_of_several, shared, shows_as_much, path)
        };
        self.last.iter().map(like).max().unwrap_or_default()
    }
}

impl Checks {
    /// Notes that a URL, given with its key, is another page than rules had it, whether other forms
    /// of what stood for it are hidden, and how much that shows.
    fn note_failed(
        &mut self,
        rules: &[RuleId],
        (url, key): (&CrawlUrl, &CrawlUrl),
        (is_of_several, extent): (bool, Option<Extent>),
    ) {
        let part = own_part(url, key);
        for rule in rules {
            if self.failed.len() >= FAILED_RULES_MAX && !self.failed.contains_key(rule) {
                continue;
            }
            let failed = self.failed.entry(*rule).or_default();
            if failed.last.len() >= FAILED_MAX {
                failed.last.pop_front();
            }
            failed.last.push_back(Failure { url: url.clone(), is_of_several, part, extent });
            let near = self.measuring.remove(rule).map_or(0, |measuring| measuring.near.len());
            self.owe_neighbours(*rule, NEIGHBOURS + near);
        }
    }

    /// Takes out of the URLs that a rule hides those most like the ones that turned out to be other
    /// pages, as many as are owed for these, given how many forms of each page it hides and how
    /// much that shows.
    fn take_neighbours(
        &mut self,
        rule: RuleId,
        hidden: &mut Vec<(CrawlUrl, Row)>,
        pages: &HashMap<Fingerprint, (usize, Option<Extent>)>,
    ) -> VecDeque<(Fingerprint, Fingerprint)> {
        let Some(failed) = self.failed.get_mut(&rule) else { return VecDeque::new() };
        let owed = std::mem::take(&mut failed.owed).min(hidden.len());
        if owed > 0 {
            hidden.sort_by_cached_key(|(url, row)| {
                let (forms, extent) = pages.get(&row.2).copied().unwrap_or_default();
                (Reverse(failed.likeness(url, forms > 1, extent)), row.1)
            });
        }
        hidden.drain(..owed).map(|(_, (_, url, by))| (url, by)).collect()
    }

    fn owes_neighbours(&self, rule: RuleId) -> bool {
        self.failed.get(&rule).is_some_and(|failed| failed.owed > 0)
    }

    /// Notes how many URLs are still to be fetched that are like those that failed.
    fn owe_neighbours(&mut self, rule: RuleId, more: usize) {
        if let Some(failed) = self.failed.get_mut(&rule) {
            failed.owed = (failed.owed + more).min(NEIGHBOURS * FAILED_MAX);
        }
    }
}

impl State {
    /// Notes that a URL, given with its key, is another page than the one that rules had for it.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(in crate::crawl) fn note_failed(
        &mut self,
        rules: &[RuleId],
        pair: (&CrawlUrl, &CrawlUrl),
        by: Fingerprint,
    ) -> Result<(), DbError> {
        let is_of_several = suppressed::count_of(&self.db, by, 1)? > 0;
        let extent = self.extent_of(by)?;
        self.checks.note_failed(rules, pair, (is_of_several, extent));
        Ok(())
    }

    /// Fetches what a rule in force suppressed last; and more of what it hides, where its site has
    /// turned out to be one on which rules fail, or its last audits raised a doubt; first what
    /// would not be suppressed by what is known of its place by now.
    pub(super) fn measure_before_the_end(
        &mut self,
        batch: &mut Batch,
        set: &RuleSet,
        rule: RuleId,
    ) -> Result<bool, DbError> {
        let done = self.checks.measured.get(&rule).copied().unwrap_or(0);
        let doubted = if set.doubts(rule) { DOUBTED_MAX } else { 1 };
        let (left, doubted) = (MEASURED_MAX.saturating_sub(done), doubted.saturating_sub(done));
        let known = match self.checks.measuring.remove(&rule) {
            Some(known) => Some(self.still_owed(set, known)?),
            None => None,
        };
        let validate = self.configured.dust.validate.clone();
        let open_of = |of: &Measuring| {
            set.wants(rule, of.hidden, &validate).max(of.certain()).min(left).max(doubted)
        };
        let mut measuring = match known {
            _ if left.max(doubted) == 0 => return Ok(false),
            Some(known)
                if (open_of(&known) == 0 || !known.is_empty())
                    && set.trusts_as(rule, &known.trust)
                    && !self.hides_more(rule, known.rows)? =>
            {
                known
            }
            known => {
                self.checks.owe_neighbours(rule, known.map_or(0, |known| known.near.len()));
                self.what_to_measure(set, rule, done)?
            }
        };
        let open = open_of(&measuring);
        let step = match (open, done) {
            (0, _) => 0,
            (_, 0) => 1,
            _ => (open / 4).clamp(DOUBTED_STEP, STEP_MAX).min(open),
        };
        let (mut any, mut taken) = (false, 0);
        while taken < step
            && let Some((url, by)) = measuring.pop()
        {
            // What two rules suppressed is fetched once for both.
            if self.checks.awaits(url) {
                continue;
            }
            if self.restore_suppressed(batch, by, url)? {
                taken += 1;
                measuring.hidden = measuring.hidden.saturating_sub(1);
                self.checks.begin(url, by, &[rule], Why::Measures);
                *self.checks.measured.entry(rule).or_default() += 1;
                any = true;
            }
        }
        // The first is the latest one; the next ones are taken in another order.
        if done > 0 {
            self.checks.measuring.insert(rule, measuring);
        } else {
            self.checks.owe_neighbours(rule, measuring.near.len());
        }
        Ok(any)
    }

    /// Looks again at what would not have been suppressed: with each audit that agrees there is
    /// less of it.
    fn still_owed(&self, set: &RuleSet, mut known: Measuring) -> Result<Measuring, DbError> {
        let (mut owed, mut rest) = (VecDeque::new(), VecDeque::new());
        for (url, by) in known.next.drain(..known.owed.min(known.next.len())) {
            let is_owed = match self.url_of(url)? {
                Some(form) => self.would_be_fetched(set, &form, by)?,
                None => false,
            };
            let into = if is_owed { &mut owed } else { &mut rest };
            into.push_back((url, by));
        }
        known.owed = owed.len();
        owed.append(&mut rest);
        owed.append(&mut known.next);
        known.next = owed;
        Ok(known)
    }

    /// Looks at what a rule hides, for what of it is to be fetched: first what would not be
    /// suppressed by now; within that, and within the rest, what is rare or what came last.
    /// Nothing is fetched from a host that is closed, and says nothing.
    fn what_to_measure(
        &mut self,
        set: &RuleSet,
        rule: RuleId,
        done: usize,
    ) -> Result<Measuring, DbError> {
        let mut hidden: Vec<(CrawlUrl, Row)> = Vec::new();
        let all = suppressed::by_rule(&self.db, rule.0, LATEST_ROWS_MAX)?;
        let all_len = all.len();
        for (url, by) in all {
            let Some(how) = suppressed::get(&self.db, by, url)? else { continue };
            let Some(form) = self.url_of(url)? else { continue };
            if self.is_host_open(&form.host())? {
                hidden.push((form, (how.at, url, by)));
            }
        }
        let mut forms: HashMap<Fingerprint, usize> = HashMap::new();
        hidden.iter().for_each(|(_, row)| *forms.entry(row.2).or_default() += 1);
        let mut near = VecDeque::new();
        if self.checks.owes_neighbours(rule) {
            let mut pages = HashMap::new();
            for (page, forms) in &forms {
                pages.insert(*page, (*forms, self.extent_of(*page)?));
            }
            near = self.checks.take_neighbours(rule, &mut hidden, &pages);
        }
        // The first one is what came last.
        let spread =
            if done > 0 { self.take_spread(set, rule, &mut hidden)? } else { VecDeque::new() };
        let (mut rows, mut owed) = (Vec::new(), Vec::new());
        for (form, row) in hidden {
            let into =
                if self.would_be_fetched(set, &form, row.2)? { &mut owed } else { &mut rows };
            into.push(row);
        }
        let hidden = forms.into_values().map(audited_of).sum::<f64>() as usize;
        let wanted = set.wants(rule, hidden, &self.configured.dust.validate).max(owed.len());
        for rows in [&mut rows, &mut owed] {
            rows.sort_unstable_by(|a, b| b.cmp(a));
            if done > 0 && wanted > 0 {
                self.rarest_first(rows)?;
            }
        }
        let owed_len = owed.len().min(MEASURED_MAX);
        let pair = |(_, url, by): Row| (url, by);
        let next = owed.into_iter().chain(rows).map(pair).take(MEASURED_MAX).collect();
        let trust = set.trust(rule);
        Ok(Measuring { near, spread, next, owed: owed_len, hidden, rows: all_len, trust })
    }

    /// Takes out of what a rule hides forms of pages that are spread over its site, so that among
    /// some that are next to each other, and of each kind, a form of one agrees, has agreed, or
    /// tells that it does not.
    fn take_spread(
        &self,
        set: &RuleSet,
        rule: RuleId,
        hidden: &mut Vec<(CrawlUrl, Row)>,
    ) -> Result<VecDeque<(Fingerprint, Fingerprint)>, DbError> {
        let mut agreed = self.checks.compared.agreed_under(rule);
        let mut forms: BTreeMap<Fingerprint, Vec<(&CrawlUrl, Fingerprint)>> = BTreeMap::new();
        for (form, (_, url, by)) in hidden.iter() {
            forms.entry(*by).or_default().push((form, *url));
        }
        // What pages are called, their forms, which they are, and how much they show.
        let mut pages: Vec<(Vec<u8>, Vec<Form>, Fingerprint, Extent)> = Vec::new();
        for (by, forms) in forms {
            let known = agreed.remove(&by).unwrap_or_default();
            let Some(page) = self.url_of(by)? else { continue };
            let Some(extent) = self.extent_of(by)? else { continue };
            let part_of = |form: &CrawlUrl| {
                let key = set.canonize(form).key;
                // Where it is its own key, rules change what stands for it.
                own_part(if *key == *form { &page } else { form }, &key)
            };
            let forms = forms.into_iter().map(|(form, url)| (part_of(form), Some(url)));
            let forms = forms.chain(known.iter().map(|part| (*part, None))).collect();
            pages.push((in_natural_order(page.path_and_query()), forms, by, extent));
        }
        for (by, known) in agreed.into_iter().take(LATEST_ROWS_MAX) {
            if let Some(page) = self.url_of(by)? {
                let forms = known.iter().map(|part| (*part, None)).collect();
                // What has agreed was not thin then.
                let extent = self.extent_of(by)?.filter(|extent| *extent != Extent::Thin);
                let extent = extent.unwrap_or(Extent::Bytes);
                pages.push((in_natural_order(page.path_and_query()), forms, by, extent));
            }
        }
        let words = pages.iter().filter_map(|(.., extent)| extent.words());
        let gap_of = gaps_by_extent(words.collect());
        let mut pages_with: HashMap<u32, usize> = HashMap::new();
        for (part, _) in pages.iter().flat_map(|(_, forms, ..)| forms) {
            *pages_with.entry(*part).or_default() += 1;
        }
        // What only few pages have, as sessions are, is of one kind.
        let kind_of = |part: u32| if pages_with.get(&part) >= Some(&KIND_MIN) { part } else { 0 };
        // No thin page agrees, but it may tell that it does not; and it says nothing of others.
        let mut kinds: BTreeMap<(bool, usize, bool, u32), Vec<PageOfKind>> = BTreeMap::new();
        for (name, mut forms, by, extent) in pages {
            let (is_thin, gap) = (extent == Extent::Thin, gap_of(extent.words()));
            let is_of_several = forms.len() > 1;
            forms.iter_mut().for_each(|(part, _)| *part = kind_of(*part));
            // One that has agreed comes first.
            forms.sort_unstable();
            for forms in forms.chunk_by(|(part, _), (other, _)| part == other) {
                let is_known = forms[0].1.is_none();
                let hidden = forms.iter().find_map(|(_, form)| *form).map(|form| (form, by));
                let page = PageOfKind { name: name.clone(), is_known, hidden };
                kinds.entry((is_thin, gap, is_of_several, forms[0].0)).or_default().push(page);
            }
        }
        let failed = self.checks.failed.get(&rule);
        let has_failed = |part: u32| {
            failed.is_some_and(|failed| failed.last.iter().any(|of| kind_of(of.part) == part))
        };
        let mut taken: Vec<(u32, (Fingerprint, Fingerprint))> = Vec::new();
        for ((_, gap, _, part), pages) in &mut kinds {
            pages.sort_unstable_by(|a, b| (&a.name, a.hidden).cmp(&(&b.name, b.hidden)));
            let known: Vec<bool> = pages.iter().map(|page| page.is_known).collect();
            let gap = if has_failed(*part) { GAP_AFTER_FAILURE.min(*gap) } else { *gap };
            let shift = xxh3_64(&part.to_le_bytes()) as usize;
            let looked_at =
                spread(&known, gap, shift).into_iter().filter_map(|at| pages[at].hidden);
            taken.extend((0u32..).map(u32::reverse_bits).zip(looked_at));
        }
        // Where there are more than are fetched, some of each kind, and all over the site: numbers
        // whose bits are reversed fall into ever smaller halves.
        taken.sort_unstable();
        let gone: BTreeSet<Fingerprint> = taken.iter().map(|(_, (form, _))| *form).collect();
        let taken = taken.into_iter().map(|(_, row)| row).collect();
        hidden.retain(|(_, row)| !gone.contains(&row.1));
        Ok(taken)
    }

    /// Returns true where a rule hides more by an eighth than these rows.
    fn hides_more(&self, rule: RuleId, rows: usize) -> Result<bool, DbError> {
        let most = rows + rows / 8;
        if most >= LATEST_ROWS_MAX {
            return Ok(false);
        }
        Ok(suppressed::by_rule(&self.db, rule.0, most + 1)?.len() > most)
    }

    /// Returns true where a URL that was suppressed in favour of `by` would be fetched if it were
    /// found now.
    fn would_be_fetched(
        &self,
        set: &RuleSet,
        url: &CrawlUrl,
        by: Fingerprint,
    ) -> Result<bool, DbError> {
        let united = self.united_by(set, url, by)?;
        Ok(!united.rules.is_empty() && self.is_measured(set, &united, by)?)
    }

    /// Puts those URLs first for which a text stands that stands for few others of these: a rule
    /// that is right where there is nothing to show, and says so under every address, may be wrong
    /// where there is something.
    fn rarest_first(&self, rows: &mut [Row]) -> Result<(), DbError> {
        let mut texts: HashMap<Fingerprint, u64> = HashMap::new();
        let mut counts: HashMap<u64, u32> = HashMap::new();
        for (_, _, by) in rows.iter() {
            let text = match texts.get(by) {
                Some(text) => *text,
                None => {
                    let text = self.text_of(*by)?;
                    texts.insert(*by, text);
                    text
                }
            };
            *counts.entry(text).or_default() += 1;
        }
        // Among equals in the order of their hashes, which is none.
        rows.sort_by_cached_key(|(_, url, by)| (counts[&texts[by]], *url));
        Ok(())
    }

    /// Returns a hash of the text that a fetched URL showed; 0 where it showed none.
    fn text_of(&self, url: Fingerprint) -> Result<u64, DbError> {
        let Some(record) = urls::get(&self.db, url)? else { return Ok(0) };
        let UrlState::Done(done) = record.state else { return Ok(0) };
        Ok(match evidence_of(&done.evidence) {
            Some(Fetched::Page { text: Text::Main(sketch), .. }) => xxh3_64(&sketch.mins),
            Some(Fetched::Page { text: Text::Bytes(hash), .. }) => hash,
            _ => 0,
        })
    }
}

/// Returns how many forms of a page are counted where this many are hidden: as many as would have
/// been looked at whether to audit them ([`State::is_measured`]).
pub(super) fn audited_of(forms: usize) -> f64 {
    let (forms, all) = (forms as f64, FORMS_AUDITED as f64);
    if forms <= all { forms } else { all * (1.0 + (forms / all).ln()) }
}

/// A form of a page: by what it differs from its key, and which one it is, unless it has agreed.
type Form = (u32, Option<Fingerprint>);

/// A page with forms of one kind.
#[derive(Debug)]
struct PageOfKind {
    /// What it is called, so that those next to each other in the order of these names are so on
    /// their site.
    name: Vec<u8>,
    /// A form of this kind has agreed.
    is_known: bool,
    /// A hidden one, and what stands for it.
    hidden: Option<(Fingerprint, Fingerprint)>,
}

/// Returns a hash of that part of a URL by which it differs from its key: the value of a parameter
/// that a rule drops, or the name of a directory that it exchanges.
pub(super) fn own_part(url: &CrawlUrl, key: &CrawlUrl) -> u32 {
    // Names and values are parts as a whole.
    let is_sign = |byte: &u8| b"/?&;=".contains(byte);
    let is_border = |text: &[u8], at: usize| {
        at == 0 || at == text.len() || is_sign(&text[at]) || is_sign(&text[at - 1])
    };
    let (url, key) = (url.path_and_query().as_bytes(), key.path_and_query().as_bytes());
    let mut same = url.iter().zip(key).take_while(|(a, b)| a == b).count();
    while !(is_border(url, same) && is_border(key, same)) {
        same -= 1;
    }
    let (url, key) = (&url[same..], &key[same..]);
    let mut same = url.iter().rev().zip(key.iter().rev()).take_while(|(a, b)| a == b).count();
    while !(is_border(url, url.len() - same) && is_border(key, key.len() - same)) {
        same -= 1;
    }
    xxh3_64(&url[..url.len() - same]) as u32
}

/// Returns which of the pages of one kind are looked at, given in the order of their names whether
/// each is known: one of each stretch of `gap` that is not, and as many as make up the least
/// number, evenly. Each kind begins elsewhere, by `shift`: what recurs in even steps, as one shelf
/// in ten, would be missed for all of them.
fn spread(known: &[bool], gap: usize, shift: usize) -> Vec<usize> {
    let gap = gap.max(known.len().div_ceil(SPREAD_MAX));
    let even = |from: usize, len: usize, count: usize| {
        (0..count).map(move |part| from + (part * len + shift % len) / count)
    };
    let mut taken = Vec::new();
    let mut from = 0;
    for stretch in known.split(|is_known| *is_known) {
        taken.extend(even(from, stretch.len(), stretch.len() / gap));
        from += stretch.len() + 1;
    }
    let open: Vec<usize> = (0..known.len()).filter(|at| !known[*at]).collect();
    let least = OF_EACH_KIND.saturating_sub(known.len() - open.len()).min(open.len());
    if taken.len() >= least {
        return taken;
    }
    even(0, open.len(), least).map(|at| open[at]).collect()
}

/// Returns which gap pages have that show so many words, among some that show these.
fn gaps_by_extent(mut words: Vec<u32>) -> impl Fn(Option<u32>) -> usize {
    words.sort_unstable();
    let median = words.get(words.len() / 2).copied().unwrap_or_default();
    let long = words.iter().rev().nth(words.len() / LONG_AMONG).copied().unwrap_or(u32::MAX);
    let long = long.max((median + median / 4).saturating_add(1));
    move |words| {
        let Some(words) = words else { return GAP };
        match (median / words.max(1)).checked_ilog2() {
            Some(halves @ 1..) => GAPS_OF_SHORT[GAPS_OF_SHORT.len().min(halves as usize) - 1],
            _ if words >= long => GAP_OF_LONG,
            _ => GAP,
        }
    }
}

/// Returns a name so that those with smaller numbers come first: `/a/9` before `/a/10`.
fn in_natural_order(name: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(name.len() + 4);
    let is_digit = u8::is_ascii_digit;
    for run in name.as_bytes().chunk_by(|a, b| is_digit(a) == is_digit(b)) {
        if is_digit(&run[0]) {
            let zeros = run.iter().take_while(|digit| **digit == b'0').count();
            key.extend([b'0', u8::try_from(run.len() - zeros).unwrap_or(u8::MAX)]);
            key.extend(&run[zeros..]);
        } else {
            key.extend(run);
        }
    }
    key
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::crawl::checks::tests::{hide, is_hidden};
    use crate::crawl::readmit::tests::{done, drop_parameter, open, record, url};
    use crate::db::MemoryEnv;
    use crate::dust::{Rule, Sketch};

    /// Lists of more than twenty entries were cut, one in ten, and none of them was looked at.
    #[test]
    fn pages_that_show_little_or_most_are_looked_at_more_often() {
        let words =
            |long: usize| (0..100).map(move |n| if n < long { 400 } else { 190 + n as u32 % 20 });
        let gaps = |long: usize| {
            let gap_of = gaps_by_extent(words(long).collect());
            [400, 209, 90, 40].map(|words| gap_of(Some(words)))
        };
        assert_eq!(gaps(10), [GAP_OF_LONG, GAP, GAPS_OF_SHORT[0], GAPS_OF_SHORT[1]]);
        assert_eq!(gaps(0)[1], GAP, "hardly longer than others");
        assert_eq!(gaps_by_extent(Vec::new())(Some(400)), GAP);
        assert_eq!(gaps_by_extent(words(10).collect())(None), GAP);
    }

    #[test]
    fn what_is_looked_at_leaves_no_wide_gap() {
        let known =
            |at: &[usize], len: usize| -> Vec<bool> { (0..len).map(|n| at.contains(&n)).collect() };
        assert!(spread(&known(&[], 0), 4, 0).is_empty());
        assert_eq!(spread(&known(&[], 2), 4, 0), [0, 1], "as many as there are");
        assert_eq!(spread(&known(&[], 9), 4, 4), [1, 4, 7], "three at least");
        assert_eq!(spread(&known(&[], 9), 4, 9 + 7), [2, 5, 8], "from elsewhere on");
        assert_eq!(spread(&known(&[0, 1, 8], 9), 4, 3), [5], "the middle of six");
        assert!(spread(&known(&[0, 1, 5], 9), 4, 7).is_empty(), "no four are next to each other");
        assert_eq!(spread(&known(&[0], 9), 4, 4), [3, 7], "eight are twice four");
        assert_eq!(spread(&[false; 6_400], 4, 1).len(), SPREAD_MAX, "wider where there are many");
        assert_eq!(spread(&[false; 6_400], 4, 3_200)[..2], [50, 150]);
        assert!(spread(&[false; 319], 4, 318).len() <= SPREAD_MAX);
    }

    #[test]
    fn numbers_in_names_are_ordered_as_numbers() {
        let mut names = ["/a/10?p=2", "/a/9", "/b/1", "/a/010", "/a/x2", "/a/1000", "/a/x10"];
        names.sort_by_key(|name| in_natural_order(name));
        assert_eq!(names, ["/a/9", "/a/010", "/a/10?p=2", "/a/1000", "/a/x2", "/a/x10", "/b/1"]);
        assert_eq!(in_natural_order("/a/007"), in_natural_order("/a/7"));
    }

    #[test]
    fn a_form_differs_from_its_key_by_what_rules_change() {
        let part = |form: &str, key: &str| {
            own_part(
                &url(&format!("http://a.example{form}")),
                &url(&format!("http://a.example{key}")),
            )
        };
        assert_eq!(part("/a/5?x=1&to=mail", "/a/5?x=1"), part("/a/77?x=3&to=mail", "/a/77?x=3"));
        assert_ne!(part("/a/5?to=mail", "/a/5"), part("/a/5?to=post", "/a/5"));
        assert_eq!(part("/stable/x", "/12/x"), part("/stable/y/z", "/12/y/z"));
        assert_eq!(part("/mobile/max", "/max"), part("/mobile/foo", "/foo"));
        assert_eq!(part("/aa", "/a"), xxh3_64(b"aa") as u32, "a name is one part");
        assert_eq!(part("/a", "/a"), xxh3_64(b"") as u32);
    }

    /// Of the forms by which a page may be shared one was a page of its own, now and then.
    #[test]
    fn each_value_that_a_rule_drops_is_looked_at_all_over_the_site() {
        let (mut state, rule, _held) = with_a_rule();
        let now = Timestamp::from_millis(1);
        let hidden = hidden_forms(&mut state, rule.id, (0..64).map(|page| (page, 4)));
        assert!((0..200).any(|_| !state.check_rules(now).unwrap()), "it comes to an end");
        for value in 0..4 {
            let of_value = hidden.iter().skip(value).step_by(4);
            let back: Vec<bool> = of_value.map(|form| !is_hidden(&state, form)).collect();
            let widest = back.split(|is_back| *is_back).map(<[bool]>::len).max();
            assert!(widest <= Some(2 * GAP), "{value}: {widest:?}");
        }
        let back = hidden.iter().filter(|form| !is_hidden(&state, form)).count();
        assert!(back <= 4 * 64 / GAP + 1, "{back}");
    }

    /// Returns a crawl with a rule in force, and what its state lies in.
    fn with_a_rule() -> (State, Rule, (MemoryEnv, tempfile::TempDir)) {
        let (env, logs) = (MemoryEnv::new().unwrap(), tempfile::tempdir().unwrap());
        let state = open(&env, logs.path(), Timestamp::from_millis(1));
        let rule = drop_parameter("sid");
        let set = RuleSet::compile(1, vec![Arc::new(rule.clone())], 0.0).unwrap();
        state.rules.publish(set);
        (state, rule, (env, logs))
    }

    /// Stores pages that were fetched, and forms of each that a rule has hidden.
    fn hidden_forms(
        state: &mut State,
        rule: RuleId,
        pages: impl Iterator<Item = (u32, u32)>,
    ) -> Vec<CrawlUrl> {
        hidden_forms_of(state, rule, pages.map(|(page, forms)| (page, forms, 300)))
    }

    /// The same, with how many words each page shows.
    fn hidden_forms_of(
        state: &mut State,
        rule: RuleId,
        pages: impl Iterator<Item = (u32, u32, u64)>,
    ) -> Vec<CrawlUrl> {
        let (mut batch, mut hidden) = (Batch::default(), Vec::new());
        for (page, forms, words) in pages {
            let by = url(&format!("http://a.example/{page}"));
            let text = Sketch::of_shingles(0..words).map_or(Text::Unknown, Text::Main);
            let shown = Fetched::Page { text, digest: Some(1), bag: None, junk: false };
            let fetched = record(&by, None, done(shown, false));
            urls::put(&mut batch, &state.db, by.fingerprint(), &fetched);
            for form in 0..forms {
                let form = url(&format!("http://a.example/{page}?sid={form}"));
                hide(&mut batch, state, &form, &by, rule);
                hidden.push(form);
            }
        }
        state.commit(batch, Timestamp::from_millis(1)).unwrap();
        hidden
    }

    /// Lets a form of each of these pages agree with it.
    fn agree(state: &mut State, rule: RuleId, pages: impl Iterator<Item = u32>) {
        for page in pages {
            let form = url(&format!("http://a.example/{page}?sid=0"));
            let page = url(&format!("http://a.example/{page}"));
            state.checks.compared.note_agreed(&[rule], page.fingerprint(), (&form, &page));
        }
    }

    /// The last pages of a site were other ones in one of their forms, and chance met none of them.
    #[test]
    fn no_stretch_of_pages_is_left_of_which_none_was_looked_at() {
        let (mut state, rule, _held) = with_a_rule();
        let now = Timestamp::from_millis(1);
        let hidden = hidden_forms(&mut state, rule.id, (0..320).map(|page| (page, 1)));
        agree(&mut state, rule.id, 0..64);
        assert!((0..200).any(|_| !state.check_rules(now).unwrap()), "it comes to an end");
        let back: Vec<bool> = hidden.iter().map(|form| !is_hidden(&state, form)).collect();
        let count = |back: &[bool]| back.iter().filter(|is_back| **is_back).count();
        assert!(count(&back[..64]) <= 1, "of those that are known none but the last one");
        let widest = back[64..].split(|is_back| *is_back).map(<[bool]>::len).max();
        assert!(widest <= Some(2 * GAP), "{widest:?}");
        assert!(count(&back) <= 256 / GAP + 1, "{}", count(&back));
    }

    /// Of sixty lists five had a link for each of four brands, and were told apart by none of the
    /// lists with one brand that had been looked at.
    #[test]
    fn pages_with_several_hidden_forms_are_looked_at_too() {
        let (mut state, rule, _held) = with_a_rule();
        let now = Timestamp::from_millis(1);
        let of = |page: u32| match page % 12 {
            0 | 6 => (page, 0),
            5 => (page, 4),
            _ => (page, 1),
        };
        let hidden = hidden_forms(&mut state, rule.id, (0..60).map(of));
        agree(&mut state, rule.id, (0..60).filter(|page| page % 6 == 0));
        assert!((0..200).any(|_| !state.check_rules(now).unwrap()), "it comes to an end");
        let back: Vec<&CrawlUrl> = hidden.iter().filter(|form| !is_hidden(&state, form)).collect();
        let of_several =
            |form: &CrawlUrl| (0..5).any(|n| form.path() == format!("/{}", n * 12 + 5));
        let several = back.iter().filter(|form| of_several(form)).count();
        assert!(several >= OF_EACH_KIND, "{back:?}");
        assert!(back.len() <= 2 * OF_EACH_KIND + 1, "of one value and of the others: {back:?}");
    }

    /// Of a hundred pages four showed the first lines of what their view to print shows whole, as
    /// short as others are; all audits had met others.
    #[test]
    fn pages_that_show_far_less_than_the_others_are_looked_at_too() {
        let (mut state, rule, _held) = with_a_rule();
        let now = Timestamp::from_millis(1);
        let is_teaser = |page: u32| page % 25 == 7;
        let is_short = |page: u32| is_teaser(page) || matches!(page % 25, 9 | 11);
        let of = |page: u32| (page, 1, if is_short(page) { 35 } else { 300 });
        let hidden = hidden_forms_of(&mut state, rule.id, (0..100).map(of));
        agree(&mut state, rule.id, (0..100).filter(|page| page % 5 == 0));
        assert!((0..200).any(|_| !state.check_rules(now).unwrap()), "it comes to an end");
        let (teasers, others): (Vec<_>, Vec<_>) =
            hidden.iter().zip(0..).partition(|(_, page)| is_teaser(*page));
        let back = |forms: Vec<(&CrawlUrl, u32)>| {
            forms.into_iter().filter(|(form, _)| !is_hidden(&state, form)).count()
        };
        assert!(back(teasers) >= 2, "of twelve short ones every other is looked at");
        let others = back(others);
        assert!(others <= 12, "few of those among which some are known: {others}");
    }

    #[test]
    fn where_a_short_page_failed_short_ones_are_its_neighbours() {
        let rule = RuleId(1);
        let mut checks = Checks::default();
        let form = |page: u64| url(&format!("http://a.example/{page}?print=1"));
        let failed = (false, Some(Extent::Words(35)));
        checks.note_failed(&[rule], (&form(1_000), &url("http://a.example/1000")), failed);
        let row = |page: u64| (form(page), (Timestamp::ZERO, form(page).fingerprint(), by(page)));
        fn by(page: u64) -> Fingerprint {
            Fingerprint(u128::from(page))
        }
        let words = |page| Some(Extent::Words(if page % 10 == 3 { 50 } else { 71 }));
        let pages = (0..100).map(|page| (by(page), (1, words(page)))).collect();
        let near = checks.take_neighbours(rule, &mut (0..100).map(row).collect(), &pages);
        let short = near.iter().take(10).filter(|(_, by)| by.0 % 10 == 3);
        assert_eq!((short.count(), near.len()), (10, NEIGHBOURS));
    }

    /// One audit in a hundred failed, which may have been an accident, and nobody looked at the
    /// next URLs, of which each was another page too.
    #[test]
    fn the_neighbours_of_a_page_that_differs_are_looked_at() {
        let rule = RuleId(1);
        let first = |failed: &str| -> Vec<String> {
            let mut checks = Checks::default();
            checks.note_failed(&[rule], (&url(failed), &url("http://a.example/")), (false, None));
            let tabs = ["info", "price"];
            let of =
                |n: u64| tabs.map(|tab| format!("http://a.example/of/u{}/{n}?tab={tab}", n / 4));
            let forms: Vec<CrawlUrl> = (0..40).flat_map(of).map(|form| url(&form)).collect();
            let row = |form: &CrawlUrl| (Timestamp::ZERO, form.fingerprint(), Fingerprint(0));
            let mut hidden = forms.iter().map(|form| (form.clone(), row(form))).collect();
            let near = checks.take_neighbours(rule, &mut hidden, &HashMap::new());
            assert_eq!((near.len(), hidden.len()), (NEIGHBOURS, forms.len() - NEIGHBOURS));
            assert!(
                checks.take_neighbours(rule, &mut hidden, &HashMap::new()).is_empty(),
                "they are owed once"
            );
            assert!(checks.take_neighbours(RuleId(2), &mut hidden, &HashMap::new()).is_empty());
            let name = |near: Fingerprint| {
                let form = forms.iter().find(|form| form.fingerprint() == near);
                form.expect("it was hidden").path_and_query().to_owned()
            };
            near.into_iter().map(|(near, _)| name(near)).collect()
        };
        let near = first("http://a.example/of/u7/99?tab=price");
        assert!(near.iter().all(|form| form.ends_with("?tab=price")), "{near:?}");
        assert!(near[..4].iter().all(|form| form.starts_with("/of/u7/")), "{near:?}");
    }
}
