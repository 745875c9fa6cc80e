//! Knows a text when it comes back.
//!
//! The second half of Mercator's memory: after "URL seen?" comes "content seen?". A page goes in as
//! blocks of text with their place ([`Page`]); [`Content::analyse`] sets boilerplate aside, and
//! gives back digests (the same text), sketches (a similar text) and the words themselves for the
//! finer judgements: soft errors, signatures, traps.
//!
//! Invariants: the same [`Page`] and the same [`Boilerplate`] give the same [`Analysis`] on every
//! machine; [`Analysis::text_digest`] depends on the page alone; a text that is all boilerplate is
//! *thin* and has no sketch, so it can never be evidence that two pages are alike.
//!
//! Measured on pages with known truth, `cargo bench --bench near`, sites' models of 60 pages. Share
//! of pairs judged alike; "16" is [`Sketch`], "128" is [`WideSketch`], at that resemblance or more:
//!
//! | pair | text digest | 16, 0.5 | 16, 0.8 | 128, 0.5 | 128, 0.7 | 128, 0.8 |
//! |---|---|---|---|---|---|---|
//! | same text, another visit | 0.72 | 1.00 | 0.99 | 1.00 | 1.00 | 1.00 |
//! | same text, another template | 0.34 | 1.00 | 0.98 | 1.00 | 1.00 | 1.00 |
//! | 1 % of words edited | 0.03 | 1.00 | 0.84 | 1.00 | 0.99 | 0.91 |
//! | 2 % | 0.00 | 0.99 | 0.64 | 1.00 | 0.94 | 0.61 |
//! | 5 % | 0.00 | 0.83 | 0.18 | 0.98 | 0.30 | 0.03 |
//! | 10 % | 0.00 | 0.35 | 0.01 | 0.32 | 0.00 | 0.00 |
//! | 20 % | 0.00 | 0.02 | 0.00 | 0.00 | 0.00 | 0.00 |
//! | list in another order | 0.00 | 1.00 | 0.98 | 1.00 | 1.00 | 0.99 |
//! | boilerplate of 90 %, 2 % edited | 0.00 | 0.99 | 0.62 | 1.00 | 0.93 | 0.61 |
//! | 30 words, 2 % edited | 0.43 | 0.81 | 0.59 | 0.85 | 0.67 | 0.53 |
//! | Cyrillic, 2 % edited | 0.00 | 0.97 | 0.67 | 1.00 | 0.92 | 0.60 |
//! | Han, 2 % edited | 0.01 | 0.98 | 0.64 | 1.00 | 0.89 | 0.53 |
//! | Thai, 2 % edited | 0.00 | 0.99 | 0.80 | 1.00 | 0.99 | 0.88 |
//! | different text, same template (five kinds, 1,500 pairs) | 0 | 0 | 0 | 0 | 0 | 0 |
//!
//! So precision is 1 everywhere, and recall of edits up to 5 % is 0.96 at (16, 0.5), 0.99 at
//! (128, 0.5), 0.88 at (128, 0.7). Of 319,600 pairs of strangers, 16 bins at 0.5 take none for
//! alike. SimHash-64 of the same shingles finds at distance 3 0.75 of texts with one word in 400
//! changed and 0.07 at 2 %; of single words it finds 0.89 at 2 %, and takes 18 pairs of strangers
//! for alike (with another hash, 1,098): it does not earn a place.
//!
//! | width of shingles | 1 % edited | 2 % | 5 % | 10 % | 20 % | strangers, mean | most |
//! |---|---|---|---|---|---|---|---|
//! | 2 | 0.97 | 0.94 | 0.86 | 0.74 | 0.54 | 0.016 | 0.042 |
//! | 3 | 0.95 | 0.90 | 0.78 | 0.62 | 0.39 | 0.004 | 0.018 |
//! | **4** | 0.93 | 0.87 | 0.72 | 0.53 | 0.29 | 0.002 | 0.012 |
//! | 5 | 0.92 | 0.84 | 0.66 | 0.45 | 0.22 | 0.001 | 0.008 |
//!
//! Four is the width from which strangers have hardly anything in common: a wider one only costs
//! recall. Words of main text, precision and recall: 1.00 and 1.00 where markup names the parts of
//! a page; where it does not, 0.78 and 1.00 by structure alone, 0.96 and 0.96 with the site's
//! model; with 90 % of boilerplate besides 0.20 and 1.00, with the model 0.92 and 0.98.
//!
//! Cost: 27 us for 1,400 words in one block, 43 us in the seventy blocks of a page, 51 us with a
//! model of its site, on one core of a busy machine (`-- cost`); half of it is reading words, and
//! both sketches together take 2 us.
//!
//! Does not parse HTML, fetch, store or read a clock, and never decides by address alone.
//!
//! Sources: Broder, "On the resemblance and containment of documents", 1997; Li, Owen, Zhang, "One
//! permutation hashing", 2012; Shrivastava, "Optimal densification", 2017; Di Iorio et al.,
//! "Detecting near-replicas on the Web by content and hyperlink analysis", WWW 2003; He et al.,
//! "Crawling deep web entity pages", WSDM 2013.

mod bag;
mod beside;
mod compare;
mod digest;
mod echo;
mod figures;
pub mod host;
mod main_text;
pub mod mirror;
pub mod near;
mod phrases;
pub mod probes;
mod shingle;
pub mod signature;
mod site_model;
mod sketch;
pub mod soft_error;
mod track;
pub mod trap;
mod word_set;
mod wording;
mod words;

#[cfg(test)]
#[path = "../../tests/bench/junk.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the benchmark of this stage")]
mod junk;
#[cfg(test)]
#[path = "../../tests/bench/pages.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the benchmark of this stage")]
mod pages;
#[cfg(test)]
#[path = "../../tests/bench/replicas.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the benchmark of this stage")]
mod replicas;

pub use bag::{Bag, Change};
pub use beside::Beside;
pub use compare::{Comparison, Estimate, compare};
pub use digest::{PayloadDigest, TextDigest};
pub use figures::Figures;
pub use shingle::{
    THIN_SHINGLES, containment, is_thin, min_hashes, min_hashes_text, resemblance, shingles,
};
pub use site_model::{Boilerplate, Room, SAMPLE_PAGES_MAX, SiteModel};
pub use sketch::{Bins, NotASketch, Sketch, WideSketch, sketch};
pub use word_set::{Overlap, Vocabulary, WORDS_KEPT, WordSet};
pub use wording::{Kept, Wording, WordingChange};
pub use words::Words;

use serde::{Deserialize, Serialize};

use digest::TextDigester;
use echo::Echo;
use shingle::{Piece, for_each_shingle, mix};
use wording::Said;

/// What a block of text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// A paragraph, or text directly inside a division.
    #[default]
    Paragraph,
    /// A heading of any level.
    Heading,
    /// An item of a list.
    ListItem,
    /// A cell of a table.
    Cell,
    /// Anything else.
    Other,
}

/// The part of the page a block stands in, by its markup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Region {
    /// No marked part.
    #[default]
    None,
    /// Navigation.
    Nav,
    /// The page's header.
    Header,
    /// The page's footer.
    Footer,
    /// Beside the text: related items, adverts.
    Aside,
    /// A form.
    Form,
    /// The marked main part, or an article.
    Main,
}

/// A run of text between two block boundaries of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Block<'a> {
    /// The text, without markup.
    pub text: &'a str,
    /// How many of its characters are inside links.
    pub link_chars: u32,
    /// Hash of the path of elements down to the block.
    pub path: u64,
    /// What the block is.
    pub kind: BlockKind,
    /// Where it stands.
    pub region: Region,
}

impl<'a> Block<'a> {
    /// Returns a paragraph without links, outside every region: the form of plain text.
    pub fn paragraph(text: &'a str) -> Self {
        Block { text, ..Block::default() }
    }
}

/// A page as the content stage takes it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Page<'a> {
    /// The blocks of text, in the order of the page.
    pub blocks: &'a [Block<'a>],
    /// The number of distinct link targets.
    pub links: usize,
    /// Path and query of its address, which its text may repeat; empty where there is none.
    pub target: &'a str,
    /// What its fields are filled in with, as text.
    pub fields: &'a str,
}

/// Settings of the content stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Settings {
    /// Words of a page that are looked at; the rest is cut off. 50,000 words are a book.
    pub words_max: usize,
    /// Words in a shingle. Four, by measurement: see the table of `tests/bench/near.rs`.
    pub shingle_words: usize,
    /// Whether boilerplate is learned from what repeats on a site.
    pub learn_boilerplate: bool,
    /// Share of a site's sampled pages above which a window of words is boilerplate.
    pub boilerplate_share: f64,
    /// Pages a window must be on, however small the sample: fewer could be forms of one document.
    pub boilerplate_pages_min: u32,
    /// Pages sampled before a site's boilerplate is first used.
    pub sample_pages_min: u32,
    /// Pages in a full sample: enough to know shares of 5 % to within 3 %; 255 at most.
    pub sample_pages_max: u32,
    /// Windows counted while a site is sampled; 9 bytes each.
    pub sample_windows_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            words_max: 50_000,
            shingle_words: 4,
            learn_boilerplate: true,
            boilerplate_share: 0.05,
            boilerplate_pages_min: 6,
            sample_pages_min: 12,
            sample_pages_max: 192,
            sample_windows_max: 32_768,
        }
    }
}

/// What the content stage knows of one page.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// Digest of the main text by structure alone: the same page has the same whenever it comes.
    pub text_digest: TextDigest,
    /// Digest of the words of the main text without the site's boilerplate, in any order and with
    /// every number alike: pages that differ in a counter, a date or the month of a calendar have
    /// the same, and so has a list however it is sorted. It compares pages of one site only, as
    /// each site has its own boilerplate. Of a page that is thin the words of its forms are part of
    /// it, and signs that are no words.
    pub core_digest: u64,
    /// Words of the main text, without the site's boilerplate.
    pub words: u32,
    /// Words of the whole page.
    pub words_all: u32,
    /// Whether the main text is no evidence: it has too few shingles, or neither structure nor a
    /// model of the site can tell it from navigation.
    pub thin: bool,
    /// The sketch of the crawl log; `None` where the page is thin.
    pub sketch: Option<Sketch>,
    /// The sketch of the near-duplicate index; `None` where the page is thin.
    pub wide: Option<WideSketch>,
    /// The version of the site's model that was applied, 0 for none.
    pub model_version: u32,
    /// Hashes of the words of the main text, in order.
    pub main_words: Vec<u64>,
    /// The words of the page outside navigation, header, footer and headings: the same in any
    /// order, whatever is known of the site, and for a list whose title says under which address it
    /// was asked for.
    pub bag: Bag,
    /// Its distinct words and numbers.
    pub vocabulary: Vocabulary,
    /// A few shingles, by which a host that repeats itself is known: see [`trap`].
    pub sample: trap::Sample,
    /// The numbers of the page, as far as its address does not say them.
    pub figures: Figures,
    /// What the page says outside blocks of links, word for word.
    pub wording: Wording,
    /// What it says beside its text.
    pub beside: Beside,
    /// Number of distinct link targets.
    pub links: usize,
    /// Windows for the site's sample, where it is learning.
    pub(crate) windows: Option<Vec<u32>>,
}

/// The content stage: settings and the memory it uses again for every page. One for each thread.
#[derive(Debug, Default)]
pub struct Content {
    settings: Settings,
    words: Words,
    /// Those of fields.
    fields: Words,
    shingles: Vec<u64>,
}

impl Content {
    /// Returns a content stage with these settings.
    pub fn new(settings: Settings) -> Self {
        Content { settings, ..Content::default() }
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Analyses a page, given what is known of its site ([`SiteModel::boilerplate`], or the default
    /// for nothing).
    ///
    /// Give the result to [`SiteModel::observe`] afterwards, so that the site's model learns.
    pub fn analyse(&mut self, page: &Page<'_>, known: &Boilerplate) -> Analysis {
        let settings = &self.settings;
        let spans = push_blocks(&mut self.words, page, settings.words_max);
        let words = &self.words;
        let width = settings.shingle_words.max(1);
        let chosen = main_text::choose(page.blocks, &spans);
        let strict = main_text::pieces(page.blocks, &spans, &chosen.strict, width);
        let lenient = main_text::pieces(page.blocks, &spans, &chosen.lenient, width);
        let all = main_text::pieces(page.blocks, &spans, &chosen.all, width);
        let with_forms = page.blocks.iter().zip(&chosen.all);
        let with_forms: Vec<bool> =
            with_forms.map(|(block, all)| *all || block.region == Region::Form).collect();
        // Where most of what a page says stands in forms, they are what it is for.
        let is_form =
            main_text::words_in(&spans, &with_forms) > 2 * main_text::words_in(&spans, &chosen.all);
        let bag = bag(words, page.blocks, &spans, if is_form { &with_forms } else { &chosen.all });
        let with_forms = main_text::pieces(page.blocks, &spans, &with_forms, width);
        let windows = (settings.learn_boilerplate && known.is_learning())
            .then(|| main_text::windows(words, &all, settings));
        let kept = if known.is_empty() {
            strict.clone()
        } else {
            main_text::without_boilerplate(words, &lenient, known, width)
        };
        self.shingles.clear();
        let mut main_words = Vec::with_capacity(kept.iter().map(|piece| piece.len()).sum());
        for piece in &kept {
            main_words.extend_from_slice(&words.hashes()[piece.start..piece.end]);
            let word = |at: usize| words.hashes()[at];
            for_each_shingle(*piece, width, word, |_, _, shingle| self.shingles.push(shingle));
        }
        let shown = main_text::pieces(page.blocks, &spans, &chosen.unlinked, width);
        let own_words = count(main_words.len());
        let evidence = chosen.found || !known.is_empty();
        let sketches = sketch(&self.shingles).filter(|_| evidence);
        // Where the text says next to nothing, forms do, as those of a quiz, or signs that are no
        // words, as those of a formula.
        let mut core_digest = words_digest(words, &kept);
        if sketches.is_none() {
            let is_form = page.blocks.iter().map(|block| block.region == Region::Form);
            let forms: Vec<bool> = is_form.collect();
            let forms = main_text::pieces(page.blocks, &spans, &forms, width);
            let forms = main_text::without_boilerplate(words, &forms, known, width);
            core_digest = mix(core_digest).wrapping_add(words_digest(words, &forms));
            core_digest = mix(core_digest).wrapping_add(signs_digest(page.blocks, &chosen.all));
        }
        let said = Said::by(page.target);
        let unlinked = (&chosen.unlinked[..], &said);
        let (wording, numbers) = Wording::of(words, page.blocks, &spans, unlinked);
        self.fields.clear();
        self.fields.push_text(page.fields, settings.words_max);
        let beside = Beside::of(words, page.blocks, &spans, unlinked, &self.fields);
        // What nothing tells from navigation is the same on every page.
        let sample = if evidence { trap::Sample::of(&self.shingles) } else { Default::default() };
        Analysis {
            text_digest: text_digest(words, &strict),
            core_digest,
            words: own_words,
            words_all: count(words.len()),
            thin: sketches.is_none(),
            sketch: sketches.map(|(few, _)| few),
            wide: sketches.map(|(_, wide)| wide),
            model_version: known.version(),
            main_words,
            bag,
            vocabulary: Vocabulary { words: WordSet::of(words, &with_forms), numbers },
            sample,
            figures: Figures::of(words, &shown, page.target, own_words),
            wording,
            beside,
            links: page.links,
            windows,
        }
    }
}

/// Returns the words of the blocks that are kept, but for headings.
fn bag(words: &Words, blocks: &[Block<'_>], spans: &[Piece], kept: &[bool]) -> Bag {
    let blocks = blocks.iter().zip(spans).zip(kept);
    let kept = blocks.filter(|((block, _), kept)| **kept && block.kind != BlockKind::Heading);
    let hashes = kept.flat_map(|((_, span), _)| &words.hashes()[span.start..span.end]);
    Bag::of(hashes.copied())
}

impl Content {
    /// Returns which blocks of a page are its main text: those of whose words at least half are.
    pub fn main_blocks(&mut self, page: &Page<'_>, known: &Boilerplate) -> Vec<usize> {
        let settings = &self.settings;
        let spans = push_blocks(&mut self.words, page, settings.words_max);
        let width = settings.shingle_words.max(1);
        let chosen = main_text::choose(page.blocks, &spans);
        let choice = if known.is_empty() { &chosen.strict } else { &chosen.lenient };
        let mut kept = main_text::pieces(page.blocks, &spans, choice, width);
        if !known.is_empty() {
            kept = main_text::without_boilerplate(&self.words, &kept, known, width);
        }
        let mut pieces = kept.iter().peekable();
        let mut main = Vec::new();
        for (at, span) in spans.iter().enumerate() {
            let mut inside = 0;
            while let Some(piece) = pieces.peek() {
                let (start, end) = (piece.start.max(span.start), piece.end.min(span.end));
                inside += end.saturating_sub(start);
                // A piece that goes on behind this block has words in the next one too.
                if piece.end > span.end {
                    break;
                }
                pieces.next();
            }
            if inside > 0 && inside * 2 >= span.end - span.start {
                main.push(at);
            }
        }
        main
    }
}

/// Puts the words of all blocks in one sequence; returns the span of each block in it.
/// What repeats the page's own address is no word of it.
fn push_blocks(words: &mut Words, page: &Page<'_>, words_max: usize) -> Vec<Piece> {
    words.clear();
    let echo = Echo::of(page.target);
    let mut push = |block: &Block<'_>| {
        let start = words.len();
        echo.rest_of(block.text, |text| _ = words.push_text(text, words_max));
        Piece { start, end: words.len() }
    };
    page.blocks.iter().map(&mut push).collect()
}

fn text_digest(words: &Words, pieces: &[Piece]) -> TextDigest {
    let mut digester = TextDigester::default();
    pieces.iter().for_each(|piece| digester.push(&words.hashes()[piece.start..piece.end]));
    digester.finish()
}

/// Returns the digest of the signs of the blocks that are kept: what is no letter, no digit and not
/// in ASCII.
fn signs_digest(blocks: &[Block<'_>], kept: &[bool]) -> u64 {
    let kept = blocks.iter().zip(kept).filter(|(_, kept)| **kept);
    let chars = kept.flat_map(|(block, _)| block.text.chars());
    let signs = chars.filter(|c| !c.is_ascii() && !c.is_alphanumeric() && !c.is_whitespace());
    signs.fold(0, |digest, sign| mix(digest ^ u64::from(sign)))
}

/// Returns the digest of the words of some pieces, in any order and with all numbers alike.
fn words_digest(words: &Words, pieces: &[Piece]) -> u64 {
    let all = pieces.iter().flat_map(|piece| piece.start..piece.end);
    mix(all.fold(0, |sum, at| sum.wrapping_add(mix(words.masked(at)))))
}

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each entry of an interface that is shown as it is has its own address, and that the view in
    /// which it is shown: as many words of two forms of one page differed as it had entries.
    #[test]
    fn a_page_that_repeats_its_own_address_is_known_by_what_it_says_besides() {
        let of = |query: &str, from: usize| {
            let view = query.strip_prefix("?format=api").map_or("", |_| "?format=api");
            let entry = |n| format!("id {n} url http://e.org/articles/{n}/{view} title word{n}");
            let text: Vec<String> = (from..from + 48).map(entry).collect();
            let text = format!("GET /articles/{query} {}", text.join(" "));
            let target = format!("/articles/{query}");
            let blocks = [Block::paragraph(&text)];
            let page = Page { blocks: &blocks, target: &target, ..Page::default() };
            Content::default().analyse(&page, &Boilerplate::default())
        };
        let (plain, shown) = (of("", 1), of("?format=api", 1));
        assert_eq!((plain.text_digest, plain.bag), (shown.text_digest, shown.bag));
        assert_ne!(plain.bag, of("?page=2", 49).bag);
        assert_ne!(of("?format=api&page=2", 49).bag, of("?format=api&page=3", 97).bag);
    }

    #[test]
    fn a_list_in_another_order_under_another_title_has_the_same_bag() {
        let bag = |title: &str, rows: &[String]| {
            let heading = Block { kind: BlockKind::Heading, ..Block::paragraph(title) };
            let rows = rows.iter().map(|row| Block::paragraph(row));
            let blocks: Vec<Block<'_>> = std::iter::once(heading).chain(rows).collect();
            let page = Page { blocks: &blocks, ..Page::default() };
            Content::default().analyse(&page, &Boilerplate::default()).bag
        };
        let mut rows: Vec<String> =
            (0..20).map(|i| format!("file {i} of the year {}", 2026 - i % 3)).collect();
        let first = bag("Index of the files", &rows);
        rows.reverse();
        assert_eq!(bag("Index of the same files", &rows), first);
        rows.pop();
        assert_ne!(bag("Index of the files", &rows), first);
    }

    /// Three forms about one ticket were taken for one page: what is outside of them was the same.
    #[test]
    fn the_words_of_forms_tell_pages_apart_that_are_forms() {
        let labels: Vec<String> = (0..80).map(|i| format!("label{i}")).collect();
        let (few, more) = (labels[..40].join(" "), labels.join(" "));
        let text = "a ticket about the weather in the north ".repeat(4);
        let bag = |texts: usize, form: &str| {
            let form = Block { region: Region::Form, ..Block::paragraph(form) };
            let blocks: Vec<Block<'_>> =
                std::iter::repeat_n(Block::paragraph(&text), texts).chain([form]).collect();
            let page = Page { blocks: &blocks, ..Page::default() };
            Content::default().analyse(&page, &Boilerplate::default()).bag
        };
        assert!(bag(1, &few).differing(&bag(1, &more)) > 20);
        assert_eq!(bag(4, &few), bag(4, &more), "a form to answer below a text");
    }
}
