//! Soft errors: answers with status 200 that are no content. The page that is not there, the login
//! wall, the consent page, the search that found nothing.
//!
//! Recognised by **resemblance** where the host was asked for what cannot exist
//! ([`super::probes`]): the words that all its answers have, less the words that its ordinary pages
//! have, are its way of saying "nothing here", in whatever language; a page that says all of it and
//! little else is such an answer. And by **structure** where it was not: a password field and
//! hardly any text, a short text about consent that wants a button pressed, a search address with a
//! short text that names its failure. A long text is never junk, whatever it says.
//!
//! Junk is not archived as content, is one witness at most for a DUST rule, and its links are not
//! followed; all that is the caller's part. The verdict says what it was judged by.
//!
//! Bounded: at most [`ANSWERS_MAX`] kinds of answer of 2 KiB each, and a sample of ordinary words.

use super::phrases::{
    AGREE, CONSENT, CREDENTIALS, LOGIN, LOGIN_FIRST, LOGIN_PATHS, NOT_THERE, NOTHING_FOUND, hits,
};
use super::probes::{Probe, ProbeKind};
use super::site_model::Reader;
use super::{Analysis, Block, Region, WordSet};

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
/// Share of the words of "nothing here" that a page must have.
const COVERAGE: f64 = 0.8;
/// A main text of more words is content, whatever it says.
const JUNK_WORDS_MAX: u32 = 400;

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
        let words = page.word_set.without(&WordSet::of_text(&probe.target));
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
            known.count += 1;
        } else if self.answers.len() < ANSWERS_MAX {
            self.answers.push(Nothing { search, always: words, besides: 0.0, count: 1 });
        }
    }

    /// Takes note of an ordinary page of the host, for the words that all its pages have.
    pub fn note_page(&mut self, page: &Analysis) {
        self.ordinary.note(&page.word_set);
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
        self.by_resemblance(page).or_else(|| by_structure(page, self.is_honest()))
    }

    fn by_resemblance(&self, page: &Answer<'_>) -> Option<JunkVerdict> {
        // The root is always there, and hosts like to answer with it.
        if self.answers.is_empty() || matches!(page.target, "/" | "") {
            return None;
        }
        let words = page.analysis.word_set.without(&WordSet::of_text(page.target));
        self.answers.iter().find_map(|nothing| {
            let message = self.ordinary.unusual(&nothing.always);
            let said = message.overlap(&words);
            let coverage = said.both / (said.both + said.first_only).max(1.0);
            // Where the answer says nothing of its own it is an ordinary page: compare all of it.
            let coverage = if message.len() < 3 {
                let whole = nothing.always.overlap(&words);
                whole.both / (whole.both + whole.first_only).max(1.0)
            } else {
                coverage
            };
            let own = self.ordinary.unusual(&words.without(&nothing.always)).len() as f64;
            let allowed = OWN_WORDS.max(1.5 * nothing.besides).max(0.2 * message.len() as f64);
            let empty = nothing.always.is_empty();
            (!empty && coverage >= COVERAGE && own <= allowed).then(|| JunkVerdict {
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
        }
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
    let shown: u32 = classes.iter().take(word.leading_zeros() as usize + 1).sum();
    count >= 2 && f64::from(count) >= ORDINARY_SHARE * f64::from(shown)
}

/// Judges by what the page says and has, without knowing the host.
fn by_structure(page: &Answer<'_>, honest: bool) -> Option<JunkVerdict> {
    let words = page.analysis.words;
    if words > JUNK_WORDS_MAX {
        return None;
    }
    let text = short_text(page.blocks);
    let head = format!("{} {}", page.title, headings(page.blocks)).to_lowercase();
    let target = page.target.to_lowercase();
    login(page, words, &text, &head, &target)
        .or_else(|| consent(page, words, &text, &head))
        .or_else(|| empty_result(words, &text, &target))
        .or_else(|| if honest { None } else { not_there(words, &text, &head) })
}

fn login(
    page: &Answer<'_>,
    words: u32,
    text: &str,
    head: &str,
    target: &str,
) -> Option<JunkVerdict> {
    let asks = usize::from(page.password_field) * 2 + hits(text, CREDENTIALS).min(1);
    let names = 2 * hits(head, LOGIN).min(1)
        + hits(target, LOGIN_PATHS).min(1)
        + hits(text, LOGIN).min(2)
        + hits(text, LOGIN_FIRST).min(2)
        + usize::from(page.text_seen_elsewhere);
    let short = words <= if page.password_field { 120 } else { 60 };
    (short && asks >= 1 && asks + names >= 4).then(|| JunkVerdict {
        junk: Junk::Login,
        evidence: format!(
            "{words} words of text, {} password field, {names} signs of a login",
            if page.password_field { "a" } else { "no" }
        ),
    })
}

fn consent(page: &Answer<'_>, words: u32, text: &str, head: &str) -> Option<JunkVerdict> {
    let about = hits(text, CONSENT);
    let wants = hits(text, AGREE);
    let said = about + wants + hits(head, CONSENT).min(2) + usize::from(page.text_seen_elsewhere);
    // A policy explains for pages, and a banner stands over a text; a wall wants an answer only.
    let other = prose_without(page.blocks, &[CONSENT, AGREE]);
    let headed = hits(head, CONSENT) + hits(head, AGREE) > 0 || page.text_seen_elsewhere;
    let short = words <= CONSENT_WORDS_MAX && other <= OTHER_PROSE_MAX * if headed { 2 } else { 1 };
    (short && about >= 2 && wants >= 1 && said >= 5).then(|| JunkVerdict {
        junk: Junk::Consent,
        evidence: format!(
            "{words} words of text, {about} of them signs of consent, {wants} of a choice"
        ),
    })
}

fn empty_result(words: u32, text: &str, target: &str) -> Option<JunkVerdict> {
    let asked = target.contains('?') || target.contains("search") || target.contains("/tag");
    let found = NOTHING_FOUND.iter().find(|phrase| text.contains(**phrase));
    let found = found.filter(|_| asked && words <= 90)?;
    Some(JunkVerdict {
        junk: Junk::EmptyResult,
        evidence: format!("{words} words of text, and it says `{found}`"),
    })
}

fn not_there(words: u32, text: &str, head: &str) -> Option<JunkVerdict> {
    let said = 2 * hits(head, NOT_THERE).min(2) + hits(text, NOT_THERE).min(3);
    (words <= 90 && said >= 4).then(|| JunkVerdict {
        junk: Junk::Soft404,
        evidence: format!("{words} words of text, and its heading says that nothing is there"),
    })
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

/// Returns the text outside navigation, header and footer in lower case, cut at [`TEXT_MAX`].
fn short_text(blocks: &[Block<'_>]) -> String {
    let mut text = String::new();
    let outside =
        |block: &&Block<'_>| !matches!(block.region, Region::Nav | Region::Header | Region::Footer);
    for block in blocks.iter().filter(outside) {
        if text.len() >= TEXT_MAX {
            break;
        }
        let room = TEXT_MAX - text.len();
        text.extend(block.text.chars().take(room).flat_map(char::to_lowercase));
        text.push('\n');
    }
    text
}

fn headings(blocks: &[Block<'_>]) -> String {
    let heading = |block: &&Block<'_>| {
        block.kind == super::BlockKind::Heading
            && !matches!(block.region, Region::Nav | Region::Header | Region::Footer)
    };
    let texts: Vec<&str> = blocks.iter().filter(heading).take(3).map(|block| block.text).collect();
    texts.join(" ")
}

const LAYOUT: u8 = 1;

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
        let answers = read.list(18, |read| {
            let (search, count) = (read.u8()? != 0, read.u32()?);
            let besides = f64::from_le_bytes(read.take()?);
            let always = WordSet::decode(read)?;
            besides.is_finite().then_some(Nothing { search, always, besides, count })
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
        Content::default().analyse(&Page { blocks, links: 0 }, &Boilerplate::default())
    }

    #[test]
    fn each_kind_of_junk_is_recognised_and_content_that_looks_like_it_is_not() {
        // Held fixtures: seeds by which no threshold and no phrase was chosen.
        let table = judged(10_000, 40, 100);
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
