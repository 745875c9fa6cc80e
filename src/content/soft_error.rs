//! Soft errors: answers with status 200 that are no content. The page that is not there, the login
//! wall, the consent page, the search that found nothing.
//!
//! Recognised by **resemblance** where the host was asked for what cannot exist
//! ([`super::probes`]): the words that all its answers have, less the words that its ordinary pages
//! have, are its way of saying "nothing here", in whatever language; a page that says all of it and
//! little else is such an answer. And by **structure** where it was not: a password field and
//! hardly anything else, a short text about consent that wants a button pressed, a search address
//! with a short text that names its failure. A long text is never junk, whatever it says, nor is a
//! list of links; and what stands on most pages of a host, such as a form to log in beside the text
//! or an empty cart, says nothing of any of them.
//!
//! Junk is not archived as content, is one witness at most for a DUST rule, and its links are not
//! followed; all that is the caller's part. The verdict says what it was judged by.
//!
//! Bounded: at most [`ANSWERS_MAX`] kinds of answer of 2 KiB each, and a sample of ordinary words.

use super::phrases::{
    ACCOUNT, AGREE, CART, CONSENT, CREDENTIALS, LOGIN, LOGIN_FIRST, LOGIN_PATHS, NOT_THERE,
    NOTHING_FOUND, hits, hits_in, says,
};
use super::probes::{Probe, ProbeKind};
use super::site_model::Reader;
use super::{Analysis, Block, Region, WordSet};
use crate::url::query::parameters;

/// What a page is instead of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Junk {
    /// The answer to an address where nothing is.
    Soft404,
    /// A demand to log in.
    Login,
    /// A demand to consent.
    Consent,
    /// A search that found nothing.
    EmptyResult,
}

impl Junk {
    /// Returns true for what stands before other pages, which are shown to who does as is demanded.
    pub fn is_wall(self) -> bool {
        matches!(self, Junk::Login | Junk::Consent)
    }
}

/// A judgement with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct JunkVerdict {
    /// What the page is.
    pub junk: Junk,
    /// By what it was judged, for the log.
    pub evidence: String,
}

/// A page to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The path and query that were asked for.
    pub target: &'a str,
    /// The document's title.
    pub title: &'a str,
    /// Its blocks.
    pub blocks: &'a [Block<'a>],
    /// What the content stage found.
    pub analysis: &'a Analysis,
    /// Whether the page has a password field.
    pub password_field: bool,
    /// Whether other addresses of the host gave the same main text.
    pub text_seen_elsewhere: bool,
}

/// Kinds of answer to nonsense that are kept for a host.
pub const ANSWERS_MAX: usize = 8;
/// Ordinary pages sampled for the words that all pages of the host have.
const ORDINARY_PAGES: u32 = 24;
/// A word on this share of the ordinary pages is the host's furniture.
const ORDINARY_SHARE: f64 = 0.25;
/// Words of its own that an answer may have beyond what is known; names of products, say.
const OWN_WORDS: f64 = 6.0;
/// Numbers that an answer may have beyond those of the only one that is known, and half as many: a
/// date. Beyond that it is a table that is empty for nonsense.
const OWN_NUMBERS: u32 = 3;
/// Share of the words of "nothing here" that a page must have.
const COVERAGE: f64 = 0.8;
/// Further words that an answer may have where "nothing here" is a template without a word of its
/// own, as a share of that; of two answers and more it is known by how much they vary.
const TEMPLATE_PART: f64 = 0.5;

/// How a host answers nonsense, and what its ordinary pages have in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostErrors {
    answers: Vec<Nothing>,
    honest: u32,
    ordinary: Ordinary,
}

/// One way of saying "nothing here".
#[derive(Clone, Debug, PartialEq)]
struct Nothing {
    search: bool,
    /// Words in all answers of this kind.
    always: WordSet,
    /// Most words that one of them had besides, echoes apart.
    besides: f64,
    /// Most numbers that one of them had, echoes apart.
    numbers: u32,
    count: u32,
}

/// A sample of the words of ordinary pages.
#[derive(Clone, Debug, Default, PartialEq)]
struct Ordinary {
    pages: u32,
    /// Pages of each class of word set, so that shares are of the pages that could show a word.
    classes: Vec<u32>,
    counts: Vec<(u64, u32)>,
}

impl HostErrors {
    /// Takes note of an answer to a probe: its status, and the page if it had one.
    ///
    /// An honest answer (4xx) needs no page. Redirects are the caller's: what matters is the page
    /// at their end, if it is on the host.
    pub fn note_probe(&mut self, probe: &Probe, status: u16, page: Option<&Analysis>) {
        if (400..500).contains(&status) {
            self.honest += 1;
            return;
        }
        let Some(page) = page.filter(|_| (200..300).contains(&status)) else { return };
        let words = page.vocabulary.words.without(&WordSet::of_text(&probe.target));
        let search = probe.kind == ProbeKind::Search;
        let alike = self.answers.iter_mut().find(|known| {
            known.search == search && known.always.overlap(&words).similarity() >= SAME_ANSWER
        });
        if let Some(known) = alike {
            let common = known.always.common(&words);
            let lost = known.always.len().saturating_sub(common.len()) as f64;
            let extra = words.len().saturating_sub(common.len()) as f64;
            known.besides = (known.besides + lost).max(extra);
            known.always = common;
            known.numbers = known.numbers.max(page.figures.numbers);
            known.count += 1;
        } else if self.answers.len() < ANSWERS_MAX {
            let numbers = page.figures.numbers;
            self.answers.push(Nothing { search, always: words, besides: 0.0, numbers, count: 1 });
        }
    }

    /// Takes note of an ordinary page of the host, for the words that all its pages have.
    pub fn note_page(&mut self, page: &Analysis) {
        self.ordinary.note(&page.vocabulary.words);
    }

    /// Whether the sample of ordinary pages is full.
    pub fn has_sample(&self) -> bool {
        self.ordinary.pages >= ORDINARY_PAGES
    }

    /// Whether the host answered all probes with an error status: it needs no guessing.
    pub fn is_honest(&self) -> bool {
        self.honest > 0 && self.answers.is_empty()
    }

    /// Returns the number of probes answered.
    pub fn probes(&self) -> u32 {
        self.honest + self.answers.iter().map(|answer| answer.count).sum::<u32>()
    }

    /// Judges a page; `None` means content, as far as can be told.
    pub fn judge(&self, page: &Answer<'_>) -> Option<JunkVerdict> {
        self.by_resemblance(page).or_else(|| self.by_structure(page))
    }

    /// Judges by what the page says and has.
    fn by_structure(&self, page: &Answer<'_>) -> Option<JunkVerdict> {
        let words = page.analysis.words;
        // Of longer ones none is anything but content, whatever it says.
        if words > CONSENT_WORDS_MAX {
            return None;
        }
        let said = Said {
            page,
            words,
            own: self.ordinary.own_words(&page.analysis.vocabulary.words),
            text: self.short_text(page.blocks),
            title: page.title.to_lowercase(),
            headings: headings(page.blocks).to_lowercase(),
            target: page.target.to_lowercase(),
            host_is_known: self.ordinary.shows_all(),
        };
        said.login()
            .or_else(|| said.consent())
            .or_else(|| said.empty_result())
            .or_else(|| if self.is_honest() { None } else { said.not_there() })
    }

    /// Returns the text and what forms say, at most [`TEXT_MAX`] characters of it.
    fn short_text(&self, blocks: &[Block<'_>]) -> ShortText {
        let mut said = ShortText::default();
        let mut linked = WordSet::default();
        let mut room = TEXT_MAX;
        for block in blocks.iter().filter(|block| is_inside(block)) {
            let words = WordSet::of_text(block.text);
            if 2 * block.link_chars as usize > block.text.chars().count() {
                linked = linked.union(&words);
            }
            let to = match self.ordinary.is_furniture(&words) {
                Some(true) => &mut said.furniture,
                Some(false) => &mut said.own,
                None => &mut said.unknown,
            };
            let before = to.len();
            to.extend(block.text.chars().take(room).flat_map(char::to_lowercase));
            to.push('\n');
            room = room.saturating_sub(to.len() - before);
            if room == 0 {
                break;
            }
        }
        said.linked = self.ordinary.own_words(&linked);
        said
    }

    fn by_resemblance(&self, page: &Answer<'_>) -> Option<JunkVerdict> {
        // The root is always there, and hosts like to answer with it.
        if self.answers.is_empty() || matches!(page.target, "/" | "") {
            return None;
        }
        let words = page.analysis.vocabulary.words.without(&WordSet::of_text(page.target));
        self.answers.iter().find_map(|nothing| {
            let message = self.ordinary.unusual(&nothing.always);
            let said = message.overlap(&words);
            let coverage = said.both / (said.both + said.first_only).max(1.0);
            // Where the answer says nothing of its own it is an ordinary page: compare all of it. A
            // template without a page is not the page that stands in it, however usual its words.
            let (coverage, is_longer) = if message.len() < 3 {
                let whole = nothing.always.overlap(&words);
                let most = match nothing.count {
                    0 | 1 => OWN_WORDS.max(TEMPLATE_PART * whole.both),
                    _ => 1.5 * nothing.besides,
                };
                let more = whole.second_only > most;
                (whole.both / (whole.both + whole.first_only).max(1.0), more)
            } else {
                (coverage, false)
            };
            let own = self.ordinary.unusual(&words.without(&nothing.always)).len() as f64;
            // Of an answer that was given once it is not known by how much its kind varies. What
            // all answers say may be a template, of which names and numbers fill the fields.
            let varies = (1.5 * nothing.besides).max(0.2 * message.len() as f64);
            let allowed = if nothing.count > 1 { varies } else { OWN_WORDS };
            let numbers_max = nothing.numbers.saturating_add(nothing.numbers / 2);
            let besides = if nothing.count > 1 { 0 } else { OWN_NUMBERS };
            let is_filled = page.analysis.figures.numbers > numbers_max.saturating_add(besides);
            let is_other = nothing.always.is_empty() || is_longer || is_filled;
            let is_answer = !is_other && coverage >= COVERAGE && own <= allowed;
            is_answer.then(|| JunkVerdict {
                junk: if nothing.search { Junk::EmptyResult } else { Junk::Soft404 },
                evidence: format!(
                    "has {:.0} % of what {} answers to nonsense say, and {own} words of its own",
                    100.0 * coverage,
                    nothing.count
                ),
            })
        })
    }
}

/// Answers whose words are alike to this degree are the same kind.
const SAME_ANSWER: f64 = 0.5;

impl Ordinary {
    fn note(&mut self, words: &WordSet) {
        if self.pages >= ORDINARY_PAGES {
            return;
        }
        self.pages += 1;
        let class = words.class() as usize;
        if self.classes.len() <= class {
            self.classes.resize(class + 1, 0);
        }
        self.classes[class] += 1;
        for word in words.hashes() {
            match self.counts.binary_search_by_key(word, |(known, _)| *known) {
                Ok(at) => self.counts[at].1 += 1,
                Err(at) => self.counts.insert(at, (*word, 1)),
            }
        }
        if self.pages == ORDINARY_PAGES {
            // What is rare now will not be looked up again.
            let (classes, counts) = (&self.classes, &mut self.counts);
            counts.retain(|(word, count)| is_usual(classes, *word, *count));
            counts.shrink_to_fit();
        }
    }

    /// Returns whether all words of a block are on most ordinary pages; `None` where the sample
    /// shows none of them.
    fn is_furniture(&self, block: &WordSet) -> Option<bool> {
        let shown = block.filtered(|word| self.shows(word));
        (!shown.is_empty()).then(|| self.unusual(&shown).is_empty())
    }

    /// Returns the number of words of `set` that are not on most ordinary pages, estimated from
    /// those that the sample shows.
    fn own_words(&self, set: &WordSet) -> usize {
        let shown = set.filtered(|word| self.shows(word));
        let own = self.unusual(&shown).len();
        if shown.is_empty() { set.len() } else { (own * set.len()).div_ceil(shown.len()) }
    }

    /// Whether every word of most pages is known: some of the sample were short.
    fn shows_all(&self) -> bool {
        self.classes.first().is_some_and(|pages| *pages >= 2)
    }

    /// Whether a word can be known to be on most pages: pages of many words keep a class of them.
    fn shows(&self, word: u64) -> bool {
        pages_showing(&self.classes, word) >= 2
    }

    /// Returns the words of `set` that are not on most ordinary pages.
    fn unusual(&self, set: &WordSet) -> WordSet {
        set.filtered(|word| {
            let known = self.counts.binary_search_by_key(&word, |(known, _)| *known);
            !known.is_ok_and(|at| is_usual(&self.classes, word, self.counts[at].1))
        })
    }
}

fn is_usual(classes: &[u32], word: u64, count: u32) -> bool {
    let shown = pages_showing(classes, word);
    count >= 2 && f64::from(count) >= ORDINARY_SHARE * f64::from(shown)
}

/// Returns the number of pages, counted by class, whose sets hold `word` if the pages do.
fn pages_showing(classes: &[u32], word: u64) -> u32 {
    classes.iter().take(word.leading_zeros() as usize + 1).sum()
}

/// Characters of the longest label: that of a button, or of some in one line.
const LABEL_CHARS: usize = 60;
/// Words of the main text of a demand to log in at most.
const LOGIN_WORDS_MAX: u32 = 120;
/// Words of its own, links and all, that a demand to log in may have where title or address say
/// that it is one.
const WALL_WORDS_MAX: usize = 160;
/// The same where only a heading says so, a sentence, or a text that other addresses have too.
const HINTED_WALL_WORDS_MAX: usize = 60;
/// The same where nothing does: a form and nothing else, on a host whose other pages have none.
const BARE_FORM_WORDS_MAX: usize = 15;
/// Words of the main text at most of a page that says that it has nothing.
const NOTHING_WORDS_MAX: u32 = 90;
/// Words of its own in lists of links, of a page that wants consent or found nothing.
const LINKED_WORDS_MAX: usize = 30;
/// The same of a page that has nothing and was not searched for.
const LINKED_BELOW_MAX: usize = 5;
/// Words of its own beside the line that says so, of a page that has nothing and was not searched
/// for: a name and a hint where to look.
const BESIDE_NOTHING_MAX: usize = 12;
/// Words of its own in lists of links, of a page that wants consent under a title that says nothing
/// of it: a banner stands over lists too.
const LINKED_UNDER_BANNER_MAX: usize = 10;

/// What a short page says.
struct Said<'a> {
    page: &'a Answer<'a>,
    /// Words of the main text.
    words: u32,
    /// Distinct words of the text and of forms that are on few pages of the host, those of lists
    /// and links among them.
    own: usize,
    text: ShortText,
    title: String,
    headings: String,
    target: String,
    /// Whether it is known what most pages of the host say.
    host_is_known: bool,
}

/// Blocks of the text and of forms in lower case, a line each.
#[derive(Default)]
struct ShortText {
    /// Those with words that few pages of the host have.
    own: String,
    /// Those whose words are not in the sample of the host's pages, whether or not they have them.
    unknown: String,
    /// Those that say what most pages of the host do.
    furniture: String,
    /// Distinct words of lists of links that are on few pages of the host.
    linked: usize,
}

impl ShortText {
    /// Counts the phrases that the page says and its host does not say everywhere.
    fn hits(&self, phrases: &[&str]) -> usize {
        hits_in([&self.own, &self.unknown], phrases)
    }

    fn lines(&self) -> impl Iterator<Item = &str> {
        self.own.lines().chain(self.unknown.lines())
    }

    /// Counts the same in short lines: fields and buttons have labels, sentences speak of them.
    fn labels(&self, phrases: &[&str]) -> usize {
        let is_short = |line: &&str| line.chars().count() <= LABEL_CHARS;
        let labels: Vec<&str> = self.lines().filter(is_short).collect();
        phrases.iter().filter(|phrase| labels.iter().any(|line| says(line, phrase))).count()
    }
}

impl Said<'_> {
    /// Counts the phrases in the title and the first headings.
    fn head_hits(&self, phrases: &[&str]) -> usize {
        hits_in([&self.title, &self.headings], phrases)
    }

    fn verdict(&self, junk: Junk, evidence: String) -> JunkVerdict {
        let evidence = format!("{} words of text, {} of its own, {evidence}", self.words, self.own);
        JunkVerdict { junk, evidence }
    }

    fn login(&self) -> Option<JunkVerdict> {
        if self.words > LOGIN_WORDS_MAX {
            return None;
        }
        // Where a part of a form stands on most pages, all of it does.
        let everywhere = [LOGIN, CREDENTIALS, ACCOUNT].map(|of| hits(&self.text.furniture, of));
        let on_every_page = everywhere.iter().sum::<usize>() > 0;
        let in_text = |phrases: &[&str]| match on_every_page {
            true => hits(&self.text.own, phrases),
            false => self.text.hits(phrases),
        };
        let box_says = in_text(LOGIN).min(2) + (in_text(LOGIN_FIRST) + in_text(ACCOUNT)).min(2);
        let named = 2 * hits(&self.title, LOGIN).min(1) + hits(&self.target, LOGIN_PATHS).min(1);
        let headed = 2 * hits(&self.headings, LOGIN).min(1);
        let elsewhere = usize::from(self.page.text_seen_elsewhere);
        let asked = in_text(CREDENTIALS).min(1);
        // A form of which the page says nothing is the host's, and stands on all of its pages.
        let has_form = self.page.password_field && (named > 0 || box_says + asked > 0);
        let first = in_text(LOGIN_FIRST);
        // Without a field it may be a page about passwords, if it only speaks of them.
        let asked = match has_form || first + elsewhere > 0 {
            true => asked,
            false => asked.min(self.text.labels(CREDENTIALS)),
        };
        let asks = 2 * usize::from(has_form) + asked;
        let signs = named.max(headed) + box_says + elsewhere;
        let demands = headed + first > 0;
        let own_max = if named > 0 {
            WALL_WORDS_MAX
        } else if demands || (elsewhere > 0 && has_form) {
            HINTED_WALL_WORDS_MAX
        } else if self.host_is_known && has_form {
            BARE_FORM_WORDS_MAX
        } else {
            // It may be a home page with some links, or a text that speaks of passwords.
            0
        };
        // Without markup that names its parts, a page's main text may be what most pages say.
        let few = has_form || self.own.min(self.words as usize) <= 60;
        let short = few && self.own <= own_max;
        (short && asks >= 1 && asks + signs >= 4).then(|| {
            let field = if has_form { "a" } else { "no" };
            let evidence = format!("{field} password field, {signs} signs of a login");
            self.verdict(Junk::Login, evidence)
        })
    }

    fn consent(&self) -> Option<JunkVerdict> {
        let about = self.text.hits(CONSENT);
        let wants = if about >= 2 { self.text.labels(AGREE) } else { 0 };
        if wants == 0 {
            return None;
        }
        let elsewhere = self.page.text_seen_elsewhere;
        let said = about + wants + self.head_hits(CONSENT).min(2) + usize::from(elsewhere);
        // A policy explains for pages, a banner stands over a text; a wall wants an answer only.
        let other = prose_without(self.page.blocks, &[CONSENT, AGREE]);
        let headed = self.head_hits(CONSENT) + self.head_hits(AGREE) > 0 || elsewhere;
        let linked_max = match hits(&self.title, CONSENT) {
            0 => LINKED_UNDER_BANNER_MAX,
            _ => LINKED_WORDS_MAX,
        };
        let short =
            self.text.linked <= linked_max && other <= OTHER_PROSE_MAX * if headed { 2 } else { 1 };
        (short && said >= 5).then(|| {
            let evidence = format!("{about} of them signs of consent, {wants} of a choice");
            self.verdict(Junk::Consent, evidence)
        })
    }

    fn empty_result(&self) -> Option<JunkVerdict> {
        let target = &self.target;
        let asked = target.contains('?') || target.contains("search") || target.contains("/tag");
        let searched = asks_for_words(target);
        // A category without goods of its own leads to those below it; a search only suggests.
        let linked_max = if searched { LINKED_WORDS_MAX } else { LINKED_BELOW_MAX };
        if !asked || self.words > NOTHING_WORDS_MAX || self.text.linked > linked_max {
            return None;
        }
        let lines = self.text.lines().filter(|line| hits(line, CART) == 0);
        // What was not searched for may be a thing of which there are no records.
        let is_alone = |line: &&str| {
            let besides = self.own.saturating_sub(WordSet::of_text(line).len());
            searched || (line.chars().count() <= LABEL_CHARS && besides <= BESIDE_NOTHING_MAX)
        };
        let found = lines
            .filter(is_alone)
            .flat_map(|line| NOTHING_FOUND.iter().filter(move |phrase| says(line, phrase)))
            .next()?;
        Some(self.verdict(Junk::EmptyResult, format!("and it says `{found}`")))
    }

    fn not_there(&self) -> Option<JunkVerdict> {
        if self.words > NOTHING_WORDS_MAX {
            return None;
        }
        let said = 2 * self.head_hits(NOT_THERE).min(2) + self.text.hits(NOT_THERE).min(3);
        (said >= 4).then(|| {
            self.verdict(Junk::Soft404, "and its heading says that nothing is there".to_owned())
        })
    }
}

/// Names of parameters that hold what somebody searches for.
const SEARCHES: &[&str] = &[
    "q", "s", "k", "w", "p", "query", "search", "text", "term", "terms", "keyword", "keywords",
    "words", "find",
];

/// Returns true for an address by which something is searched for.
fn asks_for_words(target: &str) -> bool {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pairs = parameters(query).filter_map(|pair| pair.split_once('='));
    // A number under one letter is that of a page or a post.
    let words = pairs.filter(|(name, value)| {
        let numbered = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        !(numbered && name.len() == 1 && *name != "q")
    });
    path.contains("search")
        || words
            .map(|(name, _)| name.to_ascii_lowercase())
            .any(|name| SEARCHES.contains(&name.as_str()))
}

/// Words of prose about something else that a consent page may have, twice as many if its heading
/// is about consent or other addresses have the same text.
const OTHER_PROSE_MAX: usize = 60;
/// Words of a consent page at most: longer texts are policies, and content.
const CONSENT_WORDS_MAX: u32 = 240;

/// Counts the words of the blocks of prose that have none of the phrases.
fn prose_without(blocks: &[Block<'_>], phrases: &[&[&str]]) -> usize {
    let outside = blocks.iter().filter(|block| {
        matches!(block.region, Region::None | Region::Main)
            && block.text.len() >= 70
            && 3 * block.link_chars as usize <= block.text.len()
    });
    outside
        .take(200)
        .filter(|block| {
            let text: String = block.text.chars().take(600).flat_map(char::to_lowercase).collect();
            phrases.iter().all(|phrases| hits(&text, phrases) == 0)
        })
        .map(|block| super::Words::of(block.text).len())
        .sum()
}

/// Bytes of text that phrases are looked for in.
const TEXT_MAX: usize = 8192;

/// Returns true for a block of the text or of a form: outside navigation, header and footer, and
/// not beside the text, where many hosts offer to log in.
fn is_inside(block: &Block<'_>) -> bool {
    matches!(block.region, Region::None | Region::Main | Region::Form)
}

fn headings(blocks: &[Block<'_>]) -> String {
    let heading = |block: &&Block<'_>| block.kind == super::BlockKind::Heading && is_inside(block);
    let texts: Vec<&str> = blocks.iter().filter(heading).take(3).map(|block| block.text).collect();
    texts.join(" ")
}

const LAYOUT: u8 = 2;

impl HostErrors {
    /// Encodes what is known, for storage; numbers little-endian.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![LAYOUT];
        out.extend(self.honest.to_le_bytes());
        out.extend((self.answers.len() as u32).to_le_bytes());
        for answer in &self.answers {
            out.push(u8::from(answer.search));
            out.extend(answer.count.to_le_bytes());
            out.extend(answer.besides.to_le_bytes());
            out.extend(answer.numbers.to_le_bytes());
            answer.always.encode(&mut out);
        }
        out.extend(self.ordinary.pages.to_le_bytes());
        out.extend((self.ordinary.classes.len() as u32).to_le_bytes());
        self.ordinary.classes.iter().for_each(|pages| out.extend(pages.to_le_bytes()));
        out.extend((self.ordinary.counts.len() as u32).to_le_bytes());
        for (word, count) in &self.ordinary.counts {
            out.extend(word.to_le_bytes());
            out.extend(count.to_le_bytes());
        }
        out
    }

    /// Decodes what [`HostErrors::encode`] wrote; `None` for anything else.
    pub fn decode(bytes: &[u8]) -> Option<HostErrors> {
        let mut read = Reader(bytes);
        (read.u8()? == LAYOUT).then_some(())?;
        let honest = read.u32()?;
        let answers = read.list(22, |read| {
            let (search, count) = (read.u8()? != 0, read.u32()?);
            let (besides, numbers) = (f64::from_le_bytes(read.take()?), read.u32()?);
            let always = WordSet::decode(read)?;
            besides.is_finite().then_some(Nothing { search, always, besides, numbers, count })
        })?;
        let pages = read.u32()?;
        let classes = read.list(4, Reader::u32)?;
        let counts = read.list(12, |read| Some((read.u64()?, read.u32()?)))?;
        let ordinary = Ordinary { pages, classes, counts };
        let good = read.0.is_empty() && answers.len() <= ANSWERS_MAX && ordinary.counts.is_sorted();
        good.then_some(HostErrors { answers, honest, ordinary })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::junk::{SoftHost, Truth, judged};
    use crate::content::pages::borrowed;
    use crate::content::probes::plan;
    use crate::content::{Boilerplate, Content, Page};

    fn analysed(blocks: &[Block<'_>]) -> Analysis {
        Content::default().analyse(&Page { blocks, ..Page::default() }, &Boilerplate::default())
    }

    #[test]
    fn each_kind_of_junk_is_recognised_and_content_that_looks_like_it_is_not() {
        // Held fixtures: seeds by which no threshold and no phrase was chosen.
        let table = judged(30_000, 80, 200);
        table.print();
        for kind in [Truth::Soft404, Truth::Login, Truth::Consent, Truth::EmptyResult] {
            let (precision, recall) = table.precision_and_recall(kind);
            assert!(precision >= 0.95, "precision of {kind:?}: {precision}");
            assert!(recall >= 0.95, "recall of {kind:?}: {recall}");
        }
    }

    #[test]
    fn an_honest_host_needs_no_guessing() {
        let mut errors = HostErrors::default();
        for probe in plan(1, &["/a/b"], 4) {
            errors.note_probe(&probe, 404, None);
        }
        assert!(errors.is_honest());
        assert_eq!(errors.probes(), 3);
        let blocks = [Block::paragraph("Page not found"), Block::paragraph("404 not found, sorry")];
        let analysis = analysed(&blocks);
        let page = Answer {
            target: "/x",
            title: "404 Not Found",
            blocks: &blocks,
            analysis: &analysis,
            password_field: false,
            text_seen_elsewhere: false,
        };
        assert_eq!(errors.judge(&page), None);
        let junk = HostErrors::default().judge(&page).unwrap();
        assert_eq!(junk.junk, Junk::Soft404);
    }

    const FORM: [&str; 5] =
        ["Login name", "Password", "Remember me", "Lost your password?", "Log in"];

    fn in_form(line: &str) -> Block<'_> {
        Block { region: Region::Form, ..Block::paragraph(line) }
    }

    /// Judges a page with a form to log in below its own text.
    fn judge(errors: &HostErrors, target: &str, title: &str, own: &[Block<'_>]) -> Option<Junk> {
        let blocks: Vec<_> = own.iter().copied().chain(FORM.map(in_form)).collect();
        judge_blocks(errors, (target, title), &blocks, true)
    }

    /// Judges a page of these blocks.
    fn judge_blocks(
        errors: &HostErrors,
        (target, title): (&str, &str),
        blocks: &[Block<'_>],
        password_field: bool,
    ) -> Option<Junk> {
        let analysis = analysed(blocks);
        let page = Answer {
            target,
            title,
            blocks,
            analysis: &analysis,
            password_field,
            text_seen_elsewhere: false,
        };
        errors.judge(&page).map(|verdict| verdict.junk)
    }

    #[test]
    fn a_form_on_every_page_of_a_host_says_nothing_of_any() {
        let errors = HostErrors::default();
        let own = ["Keyword: parser", "Assigned to nobody"].map(Block::paragraph);
        assert_eq!(judge(&errors, "/keyword1", "Keyword 1", &own), None, "all that is known");
        let mut without = HostErrors::default();
        for text in ["Nothing like it", "Nor this"] {
            without.note_page(&analysed(&[Block::paragraph(text)]));
        }
        assert_eq!(judge(&without, "/keyword1", "Keyword 1", &own), Some(Junk::Login));
        for words in [40, 4000] {
            let mut errors = HostErrors::default();
            for n in 0..4 {
                let text: String = (0..words).map(|word| format!("word{n}of{word}x ")).collect();
                let page = [Block::paragraph(&text)].into_iter().chain(FORM.map(in_form));
                errors.note_page(&analysed(&page.collect::<Vec<_>>()));
            }
            assert_eq!(judge(&errors, "/keyword1", "Keyword 1", &own), None, "{words} words");
            let login = judge(&errors, "/user?@template=login", "Login", &own);
            assert_eq!(login, Some(Junk::Login), "{words} words");
        }
    }

    #[test]
    fn a_wall_under_the_title_of_a_page_is_known_by_what_it_demands() {
        let errors = HostErrors::default();
        let teaser = "The council met on Monday to talk about the bridge, the school and the two \
                      roads that were closed in spring for want of money";
        let wall = [teaser, "Please log in to continue reading."].map(Block::paragraph);
        assert_eq!(judge(&errors, "/news/17", "The bridge", &wall), Some(Junk::Login));
        let page = [teaser, "The bridge stays closed until May."].map(Block::paragraph);
        assert_eq!(judge(&errors, "/news/17", "The bridge", &page), None);
    }

    #[test]
    fn a_text_that_speaks_of_passwords_is_no_wall() {
        let script = "echo machine example login name username name password word";
        let blocks = [Block::paragraph(script)];
        let analysis = analysed(&blocks);
        let errors = HostErrors::default();
        let page = Answer {
            target: "/netrc/test.sh",
            title: "test.sh",
            blocks: &blocks,
            analysis: &analysis,
            password_field: false,
            text_seen_elsewhere: true,
        };
        assert_eq!(errors.judge(&page), None);
        let (target, title) = ("/login?next=/netrc/test.sh", "Login");
        let wall = errors.judge(&Answer { target, title, ..page }).map(|verdict| verdict.junk);
        assert_eq!(wall, Some(Junk::Login));
    }

    #[test]
    fn a_view_that_is_empty_for_nonsense_is_content_where_it_is_not() {
        let view: String = (0..80).map(|word| format!("kind{word}x ")).collect();
        let items = "alpha beacon candle dormer eaves flint gable hearth inglenook joist";
        let blocks = |shown: &'static str| [Block::paragraph(&view), Block::paragraph(shown)];
        let of = |shown| analysed(&blocks(shown));
        let judge = |errors: &HostErrors, shown| {
            let (blocks, analysis) = (blocks(shown), of(shown));
            let page = Answer {
                target: "/index/tools",
                title: "Index",
                blocks: &blocks,
                analysis: &analysis,
                password_field: false,
                text_seen_elsewhere: false,
            };
            errors.judge(&page).map(|verdict| verdict.junk)
        };
        let nothing = "There are no items, or you may not read them";
        let mut errors = HostErrors::default();
        let probe = |n: usize| plan(1, &["/index/a"], 4).swap_remove(n);
        errors.note_probe(&probe(0), 200, Some(&of(nothing)));
        assert_eq!(judge(&errors, nothing), Some(Junk::Soft404));
        assert_eq!(judge(&errors, items), None);
        // Where answers to nonsense are known to differ in as many words, it may be one of them.
        let other = "We hope that you like kayak lantern mitten nettle orchard paddle quilt raft";
        errors.note_probe(&probe(1), 200, Some(&of(other)));
        assert_eq!(judge(&errors, items), Some(Junk::Soft404));
    }

    /// Judges a page of these lines without any form.
    fn judge_lines(errors: &HostErrors, target: &str, title: &str, lines: &[&str]) -> Option<Junk> {
        let blocks: Vec<_> = lines.iter().copied().map(Block::paragraph).collect();
        judge_blocks(errors, (target, title), &blocks, false)
    }

    #[test]
    fn a_page_that_speaks_of_logging_in_or_of_cookies_is_neither_wall() {
        let errors = HostErrors::default();
        let help = "To sign in with your password, hold the red key until the lamp is green, then \
                    type both parts of it.";
        let lines = ["Red key: sign in", help, "Forgot it? Ask at the desk."];
        assert_eq!(judge_lines(&errors, "/help/login?topic=7", "Red key: sign in", &lines), None);
        let lines = ["Log in", "Name", "Password", "Forgot your password?"];
        let login = judge_lines(&errors, "/login", "Log in", &lines);
        assert_eq!(login, Some(Junk::Login), "a form that a script sends");
        let vendor = "The cookie of this vendor holds a number for thirteen months and needs your \
                      consent: press accept all, or manage preferences to leave it out.";
        let lines = ["Cookies of Lamps and Sons", vendor];
        assert_eq!(judge_lines(&errors, "/vendor/7", "Cookies of Lamps and Sons", &lines), None);
        let wall =
            ["Your cookies", "We need your consent for tracking.", "Accept all", "Reject all"];
        let consent = judge_lines(&errors, "/news/7", "Your cookies", &wall);
        assert_eq!(consent, Some(Junk::Consent));
    }

    #[test]
    fn an_address_searches_where_a_parameter_holds_words() {
        for target in ["/?q=12", "/list?p=words", "/?a=1;q=x", "/search/12"] {
            assert!(asks_for_words(target), "{target}");
        }
        for target in ["/list?p=2", "/list?p=2;o=date", "/?id=q", "/"] {
            assert!(!asks_for_words(target), "{target}");
        }
    }

    #[test]
    fn a_thing_of_which_there_are_no_records_is_no_empty_search() {
        let errors = HostErrors::default();
        let label = "Bronze bowl with two handles and a foot, from the grave of a woman by the \
                     river, turned and chased.";
        let judge = |target: &str, lines: &[&str]| judge_lines(&errors, target, "Bowl", lines);
        let (long, short) = ("There are no records of its maker.", "No records of its maker.");
        let sentence = format!("{label} {long}");
        assert_eq!(judge("/object?id=7", &["Bowl", &sentence]), None);
        assert_eq!(judge("/object?id=7", &["Bowl", label, short]), None);
        assert_eq!(judge("/?p=7", &["Bowl", label, short]), None, "the number of a post");
        let nothing = ["Lamps", "No products were found here.", "Look at another shelf."];
        assert_eq!(judge("/shelf?id=7", &nothing), Some(Junk::EmptyResult));
        let empty = ["Lamps", "Sorry, no results.", label];
        assert_eq!(judge("/find?q=lamps", &empty), Some(Junk::EmptyResult));
    }

    #[test]
    fn a_template_that_is_empty_for_nonsense_is_content_once_it_is_filled() {
        for met in [0, 4] {
            check_template(met);
        }
    }

    /// Checks a template of which `met` pages were met before nonsense was asked for.
    fn check_template(met: usize) {
        let lines = |cells: [&'static str; 3]| {
            let [reading, serial, place] = cells;
            ["Meter", "Reading", reading, "Serial", serial, "Place", place].map(Block::paragraph)
        };
        let mut errors = HostErrors::default();
        for (n, place) in ["north", "south", "east", "west"].into_iter().enumerate().take(met) {
            let number = String::leak(format!("{}", 1000 + n));
            errors.note_page(&analysed(&lines([number, number, place])));
        }
        for probe in plan(1, &["/meter/7"], 4).iter().filter(|p| p.kind == ProbeKind::Page) {
            errors.note_probe(probe, 200, Some(&analysed(&lines(["", "", ""]))));
        }
        let judge = |cells| {
            let blocks = lines(cells);
            let page = Page { blocks: &blocks, target: "/meter/9", ..Page::default() };
            let known = Boilerplate::default();
            let analysis = Content::default().analyse(&page, &known);
            let page = Answer {
                target: "/meter/9",
                title: "Meter",
                blocks: &blocks,
                analysis: &analysis,
                password_field: false,
                text_seen_elsewhere: false,
            };
            errors.judge(&page).map(|verdict| verdict.junk)
        };
        assert_eq!(judge(["", "", ""]), Some(Junk::Soft404));
        assert_eq!(judge(["1234", "99", "hill"]), None);
        assert_eq!(judge(["1234", "", ""]), None, "a number is all it has");
    }

    /// A wiki has a history for any name, which is empty for nonsense: the words of its rows are
    /// the same on each page, the dates are not.
    #[test]
    fn a_table_that_is_empty_for_the_only_nonsense_known_is_content_with_a_row() {
        let judge = |rows: &[&str]| {
            let lines = |rows: &[&str]| -> Vec<String> {
                let head = ["Changes to this page", "Date", "Author", "Subject", "View", "Compare"];
                head.iter().chain(rows).map(|line| (*line).to_owned()).collect()
            };
            let (nothing, shown) = (lines(&[]), lines(rows));
            let blocks = |lines: &'_ [String]| -> Vec<Block<'static>> {
                let text = |line: &String| &*String::leak(line.clone());
                lines.iter().map(text).map(Block::paragraph).collect()
            };
            let mut errors = HostErrors::default();
            errors.note_probe(
                &plan(1, &["/history/a"], 4)[0],
                200,
                Some(&analysed(&blocks(&nothing))),
            );
            judge_blocks(&errors, ("/history/lamps", "Changes"), &blocks(&shown), false)
        };
        assert_eq!(judge(&[]), Some(Junk::Soft404));
        assert_eq!(judge(&["Date 2026-11-30", "13:26:05", "Author"]), None);
        assert_eq!(judge(&["Asked at 13:26"]), Some(Junk::Soft404));
    }

    #[test]
    fn no_items_are_not_twenty() {
        assert!(says("there are 0 items here", "0 items"));
        assert!(says("20 items, 0 items", "0 items"));
        assert!(!says("showing 1-10 of 120 items", "0 items"));
        assert!(!says("€ 1.0 items", "0 items"));
        assert!(says("keine treffer", "keine treffer"));
    }

    #[test]
    fn the_root_is_content_even_where_it_answers_everything() {
        let host = SoftHost::new(5);
        let mut errors = HostErrors::default();
        let home = host.page(1);
        let blocks = borrowed(&home);
        let analysis = analysed(&blocks);
        for probe in plan(1, &[], 2) {
            errors.note_probe(&probe, 200, Some(&analysis));
        }
        let judge = |target: &str| {
            let page = Answer {
                target,
                title: "",
                blocks: &blocks,
                analysis: &analysis,
                password_field: false,
                text_seen_elsewhere: true,
            };
            errors.judge(&page).map(|verdict| verdict.junk)
        };
        assert_eq!(judge("/"), None);
        assert_eq!(judge("/old/page.html"), Some(Junk::Soft404));
    }

    #[test]
    fn what_is_known_of_a_host_survives_its_encoding() {
        let host = SoftHost::new(6);
        let mut errors = HostErrors::default();
        for n in 0..30 {
            errors.note_page(&analysed(&borrowed(&host.page(n))));
        }
        for probe in plan(1, &["/find?q=x"], 6) {
            let answer = host.nothing_at(&probe.target, 3);
            errors.note_probe(&probe, 200, Some(&analysed(&borrowed(&answer))));
        }
        let bytes = errors.encode();
        assert!(bytes.len() < 24 * 1024, "{}", bytes.len());
        assert_eq!(HostErrors::decode(&bytes).as_ref(), Some(&errors));
        assert_eq!(HostErrors::decode(&bytes[..bytes.len() - 1]), None);
        assert_eq!(HostErrors::decode(&[]), None);
    }
}
