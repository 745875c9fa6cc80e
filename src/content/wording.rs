//! What a page says, as sums over its parts: equal where two pages say the same, and where they do
//! not, the difference of the sums is that of what each says alone.
//!
//! A sketch takes two texts for one that differ by a word in a hundred, and a bag of words does not
//! know their order. That forgives what changes from one look at a page to the next. But where a
//! page stands still, one name in place of another, "not" in a sentence, or a minus before a number
//! makes another page. A label that all forms of some kind have, such as a line that says that this
//! is the view to print, is the same difference on each of them.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};

use super::shingle::{Piece, mix};
use super::{Block, BlockKind, WordSet, Words, figures};

/// What the text of a page says outside blocks of links and labelled regions.
///
/// The blocks of a text count in any order, as the rows of a list do, and the words of a block in
/// theirs; those of a heading, where a label stands beside a title, in any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wording {
    /// A sum over the blocks, all words and signs of which count.
    pub whole: u32,
    /// The same without the words that the page's address says: how it was asked for.
    pub words: u32,
    /// The first sum, with all numbers the same word.
    pub masked_whole: u32,
    /// The second sum, with all numbers the same word.
    pub masked_words: u32,
    /// A sum over the numbers.
    pub numbers: u32,
    /// A sum over the numbers that the address does not say.
    pub figures: u32,
    /// The sum over the block that is most of it, with all numbers the same word; 0 where none is.
    pub bulk: u32,
    /// A sum over the blocks but headings, and over the words of these that stand nowhere else on
    /// the page.
    pub but_headings: u32,
    /// The same without numbers in headings, and with all others the same word.
    pub masked_but_headings: u32,
}

/// What is the same at two looks at a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Every word.
    All,
    /// Every word that is no number.
    AllButNumbers,
}

/// How the wording of one page differs from that of another one: the same where they differ by the
/// same blocks, the words of a heading, or numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordingChange {
    whole: u32,
    words: u32,
    but_headings: u32,
    numbers: u32,
    figures: u32,
}

/// What stands in every address, and hardly in another text.
static ADDRESS: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("://"));

/// Words of the least block that is most of a page.
const BULK_WORDS_MIN: usize = 5;

impl Wording {
    /// Returns the wording of the blocks that are kept of a page, and their numbers, but those that
    /// its address says.
    pub(super) fn of(
        words: &Words,
        blocks: &[Block<'_>],
        spans: &[Piece],
        (kept, said): (&[bool], &Said),
    ) -> (Wording, WordSet) {
        let (mut wording, mut numbers) = (Wording::default(), Vec::new());
        let (mut all, mut longest) = (0, 0);
        let shown = blocks.iter().zip(spans).zip(kept).filter(|(_, kept)| **kept);
        for ((block, span), _) in shown {
            let hashes = &words.hashes()[span.start..span.end];
            let whole = sum_of(block.kind, hashes.iter().copied());
            let (mut unsaid, mut masked_whole, mut masked_unsaid) = (whole, whole, whole);
            // Most blocks have neither.
            if hashes.iter().any(|hash| said.has(*hash) || Words::is_number_hash(*hash)) {
                let is_unsaid = |hash: &u64| !said.has(*hash);
                let is_number = |hash: &u64| Words::is_number_hash(*hash);
                for hash in hashes.iter().copied().filter(is_number) {
                    wording.numbers = wording.numbers.wrapping_add(mix(hash) as u32);
                    if is_unsaid(&hash) {
                        numbers.push(hash);
                        wording.figures = wording.figures.wrapping_add(mix(hash) as u32);
                    }
                }
                unsaid = sum_of(block.kind, hashes.iter().copied().filter(is_unsaid));
                let masked = (span.start..span.end).map(|at| words.masked(at));
                masked_whole = sum_of(block.kind, masked.clone());
                let masked = masked.zip(hashes);
                let masked = masked.filter(|(_, hash)| is_number(hash) || is_unsaid(hash));
                masked_unsaid = sum_of(block.kind, masked.map(|(masked, _)| masked));
            }
            all += hashes.len();
            if hashes.len() > longest {
                (longest, wording.bulk) = (hashes.len(), masked_whole as u32);
            }
            let signs = signs_of(block.text) as u32;
            // Truncated, sums still add up.
            for (sum, of_block) in [
                (&mut wording.whole, whole),
                (&mut wording.words, unsaid),
                (&mut wording.masked_whole, masked_whole),
                (&mut wording.masked_words, masked_unsaid),
            ] {
                *sum = sum.wrapping_add(of_block as u32).wrapping_add(signs);
            }
            let is_heading = block.kind == BlockKind::Heading;
            for (sum, of_block) in [
                (&mut wording.but_headings, whole),
                (&mut wording.masked_but_headings, masked_whole),
            ] {
                let of_block = if is_heading { 0 } else { of_block as u32 };
                *sum = sum.wrapping_add(of_block).wrapping_add(signs);
            }
        }
        if longest < BULK_WORDS_MIN || 3 * longest < 2 * all {
            wording.bulk = 0;
        }
        for word in in_headings_only(words, blocks, spans) {
            wording.but_headings = wording.but_headings.wrapping_add(mix(word) as u32);
            if !Words::is_number_hash(word) {
                let sum = &mut wording.masked_but_headings;
                *sum = sum.wrapping_add(mix(word) as u32);
            }
        }
        (wording, WordSet::of_hashes(numbers))
    }

    /// Returns the part of what the page says that another look at it has left standing: all of
    /// it, or all but its numbers, as those of a clock; `None` where not even that is the same.
    pub fn kept_at(&self, later: &Wording) -> Option<Kept> {
        match () {
            () if self.whole == later.whole => Some(Kept::All),
            () if self.masked_whole == later.masked_whole => Some(Kept::AllButNumbers),
            () => None,
        }
    }

    /// Returns this wording as far as it is kept.
    #[must_use]
    pub fn of_kept(self, kept: Kept) -> Wording {
        let (whole, words) = (self.masked_whole, self.masked_words);
        match kept {
            Kept::All => self,
            Kept::AllButNumbers => {
                let but_headings = self.masked_but_headings;
                Wording { whole, words, but_headings, numbers: 0, figures: 0, ..self }
            }
        }
    }

    /// Returns true where two pages say the same but for the words of headings that stand on each
    /// of them elsewhere too: a heading over a form says whom a reply is for.
    pub fn differs_in_headings_alone(&self, other: &Wording) -> bool {
        self.but_headings == other.but_headings
    }

    /// Returns how another page differs from this one, if it does: neither in what their addresses
    /// do not say, nor in all that they say, do they agree.
    pub fn change_to(&self, other: &Wording) -> Option<WordingChange> {
        let is_other = self.whole != other.whole && self.words != other.words;
        is_other.then(|| WordingChange {
            whole: other.whole.wrapping_sub(self.whole),
            words: other.words.wrapping_sub(self.words),
            but_headings: other.but_headings.wrapping_sub(self.but_headings),
            numbers: other.numbers.wrapping_sub(self.numbers),
            figures: other.figures.wrapping_sub(self.figures),
        })
    }
}

impl WordingChange {
    /// Returns a change by these sums, for tests.
    #[cfg(test)]
    pub(crate) fn of(words: u32, figures: u32) -> WordingChange {
        WordingChange { whole: words, words, but_headings: words, numbers: figures, figures }
    }

    /// Returns true where two pairs of pages differ by the same, whichever page of each pair is the
    /// one that has it: by all that they say, or by what their addresses do not say, or by all but
    /// words of headings that stand on each page elsewhere too. What an address says stands in some
    /// texts, and in each as often as it happens to.
    pub fn is_same(&self, other: &WordingChange) -> bool {
        is_same(self.whole, other.whole)
            || is_same(self.words, other.words)
            || is_same(self.but_headings, other.but_headings)
    }

    /// Returns true where the numbers of two pairs of pages differ by the same.
    pub fn has_figures_of(&self, other: &WordingChange) -> bool {
        is_same(self.numbers, other.numbers) || is_same(self.figures, other.figures)
    }
}

/// Returns true for one difference, whichever way it was taken.
fn is_same(a: u32, b: u32) -> bool {
    a == b || a == b.wrapping_neg()
}

/// Returns the sum over the words of such a block.
fn sum_of(kind: BlockKind, words: impl Iterator<Item = u64>) -> u64 {
    match kind {
        BlockKind::Heading => words.fold(0, |sum, word| sum.wrapping_add(mix(word))),
        _ => words.fold(0, |sum, word| mix(sum ^ word)),
    }
}

/// Returns the words of the headings of a page that stand in none of its other blocks.
fn in_headings_only(words: &Words, blocks: &[Block<'_>], spans: &[Piece]) -> Vec<u64> {
    let hashes_of = |are_headings: bool| {
        let kind = move |block: &Block<'_>| (block.kind == BlockKind::Heading) == are_headings;
        let blocks = blocks.iter().zip(spans).filter(move |(block, _)| kind(block));
        blocks.flat_map(|(_, span)| &words.hashes()[span.start..span.end]).copied()
    };
    let titles = Said::among(hashes_of(true).collect());
    let mut elsewhere = vec![false; titles.hashes.len()];
    for at in hashes_of(false).filter_map(|hash| titles.place_of(hash)) {
        elsewhere[at] = true;
    }
    let words = titles.hashes.into_iter().zip(elsewhere);
    words.filter(|(_, elsewhere)| !elsewhere).map(|(hash, _)| hash).collect()
}

/// Parts of an address that are looked at, and words of each.
const SAID_MAX: usize = 32;

/// The words that an address says, and the numbers within them; or those of headings.
#[derive(Default)]
pub(super) struct Said {
    hashes: Vec<u64>,
    /// A bit for each, by the upper bits of its hash: next to all words of a text have none of
    /// these, also where the headings of a page have half a hundred.
    bits: [u64; 16],
}

impl Said {
    /// Returns what the path and query of an address say.
    pub(super) fn by(target: &str) -> Said {
        let mut hashes = figures::said_by(target);
        let parts = url::form_urlencoded::parse(target.as_bytes()).take(SAID_MAX);
        for part in parts.flat_map(|(name, value)| [name, value]) {
            hashes.extend(Words::of(&part).hashes().iter().take(SAID_MAX));
        }
        Said::among(hashes)
    }

    fn among(mut hashes: Vec<u64>) -> Said {
        hashes.sort_unstable();
        hashes.dedup();
        let mut bits = [0; 16];
        for hash in &hashes {
            let (word, bit) = Said::bit(*hash);
            bits[word] |= bit;
        }
        Said { hashes, bits }
    }

    pub(super) fn has(&self, hash: u64) -> bool {
        self.place_of(hash).is_some()
    }

    fn place_of(&self, hash: u64) -> Option<usize> {
        let (word, bit) = Said::bit(hash);
        let may_be = self.bits[word] & bit != 0;
        may_be.then(|| self.hashes.binary_search(&hash).ok()).flatten()
    }

    fn bit(hash: u64) -> (usize, u64) {
        ((hash >> 60) as usize, 1 << (hash >> 54 & 63))
    }
}

/// Returns a hash of the signs of a text, 0 where it has none: what is no letter, no digit, and no
/// punctuation that may be typed in more than one way. Those of addresses are none: a page may say
/// its own, which has more of them where it has more parameters.
fn signs_of(text: &str) -> u64 {
    if ADDRESS.find(text.as_bytes()).is_none() {
        return signs_in(0, text);
    }
    text.split_ascii_whitespace().filter(|part| !part.contains("://")).fold(0, signs_in)
}

fn signs_in(mut digest: u64, text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(next) = bytes[at..].iter().position(|byte| MAY_BE_SIGN[usize::from(*byte)]) {
        at += next;
        let mut len = 1;
        let sign = match bytes[at] {
            // Else it is a hyphen or a dash.
            b'-' => {
                let follows = at.checked_sub(1).is_some_and(|before| !is_separator(bytes[before]));
                let is_minus = !follows && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
                is_minus.then_some(u64::from(b'-'))
            }
            byte @ 0..=0x7f => Some(u64::from(byte)),
            _ => {
                let c = text[at..].chars().next().unwrap_or_default();
                len = c.len_utf8();
                is_sign(c).then_some(u64::from(c))
            }
        };
        if let Some(sign) = sign {
            digest = mix(digest ^ sign ^ SIGN);
        }
        at += len;
    }
    digest
}

/// Signs that are typed in one way only; those of programs and formulas among them.
const SIGNS: &[u8] = b"+*<>$^=!?&|%~/\\#@[]{}_";

/// Which bytes are signs or may be part of one: next to none of a text.
const MAY_BE_SIGN: [bool; 256] = {
    let mut may_be = [false; 256];
    let mut at = 0;
    while at < SIGNS.len() {
        may_be[SIGNS[at] as usize] = true;
        at += 1;
    }
    may_be[b'-' as usize] = true;
    let mut byte = 0x80;
    while byte < may_be.len() {
        may_be[byte] = true;
        byte += 1;
    }
    may_be
};

/// Returns true for what may stand before a minus.
fn is_separator(byte: u8) -> bool {
    byte.is_ascii() && !byte.is_ascii_alphanumeric()
}

/// Returns true for a sign that is not in ASCII: no quotation mark, no dash, no dots, and no space
/// of any width.
fn is_sign(c: char) -> bool {
    let is_typography =
        matches!(c, '\u{2000}'..='\u{206f}' | '\u{a0}' | '\u{ad}' | '\u{ab}' | '\u{bb}' | '\u{b7}');
    !is_typography && !c.is_alphanumeric() && !c.is_whitespace()
}

/// Keeps a sign from being taken for a word.
const SIGN: u64 = 0x7369_676e_0000_0000;

#[cfg(test)]
mod tests {
    use super::*;

    /// Two answers to one exercise were taken for one page: they differed by an operator.
    #[test]
    fn operators_are_signs_and_what_is_typed_in_several_ways_is_none() {
        let says = |text: &str| of("/", &[Block::paragraph(text)]);
        for (one, other) in
            [("a == b", "a != b"), ("a && b", "a || b"), ("x[1]", "x(1)"), ("6/2", "6%2")]
        {
            assert!(says(one).change_to(&says(other)).is_some(), "{one} {other}");
        }
        for (one, other) in
            [("it's", "it\u{2019}s"), ("a - b", "a \u{2013} b"), ("so\u{2026}", "so...")]
        {
            assert_eq!(says(one).change_to(&says(other)), None, "{one} {other}");
        }
    }

    fn heading(text: &str) -> Block<'_> {
        Block { kind: BlockKind::Heading, ..Block::paragraph(text) }
    }

    fn of(target: &str, blocks: &[Block<'_>]) -> Wording {
        let mut words = Words::default();
        let push = |block: &Block<'_>| {
            let start = words.len();
            words.push_text(block.text, usize::MAX);
            Piece { start, end: words.len() }
        };
        let spans: Vec<Piece> = blocks.iter().map(push).collect();
        let kept = vec![true; blocks.len()];
        Wording::of(&words, blocks, &spans, (&kept, &Said::by(target))).0
    }

    fn text(target: &str, lines: &[&str]) -> Wording {
        let blocks: Vec<Block<'_>> = lines.iter().copied().map(Block::paragraph).collect();
        of(target, &blocks)
    }

    fn differ(a: &str, b: &str) -> bool {
        text("/p", &[a]).change_to(&text("/p", &[b])).is_some()
    }

    #[test]
    fn a_word_its_place_and_a_sign_make_another_page() {
        assert!(differ("The member is Smith", "The member is Jones"));
        assert!(differ("The tenant shall pay", "The tenant shall not pay"));
        assert!(differ("The Rovers beat the Wanderers", "The Wanderers beat the Rovers"));
        assert!(differ("The frost came to -5 degrees", "The frost came to 5 degrees"));
        assert!(differ("Rated ★★★☆☆", "Rated ★★☆☆☆") && differ("a < b", "a > b"));
        assert!(differ("Contains nuts: ✓", "Contains nuts: ✗"));
        assert!(differ("price 9 €", "price 9 £"));
    }

    #[test]
    fn how_a_text_is_typed_and_in_which_order_its_rows_stand_do_not() {
        assert!(!differ("It’s “right” – so…", "It's \"right\" - so..."));
        assert!(!differ("a well-kept page", "a well kept page"));
        assert!(!differ("One, two; three.", "one two three"));
        let rows = ["b of two", "a of one", "c of three"];
        let mut sorted = rows;
        sorted.sort_unstable();
        assert_eq!(text("/p", &rows), text("/p", &sorted));
    }

    #[test]
    fn what_an_address_says_is_no_difference() {
        let named = |at: &str, line: &str| text(at, &["A text of some words", line]);
        let (by_name, by_date) =
            (named("/list?by=name", "Sorted by name"), named("/list?by=date", "Sorted by date"));
        assert_eq!(by_name.change_to(&by_date), None);
        // A year that one address says and the other does not is in both texts.
        let both = "In 2024 it was 7";
        assert_eq!(named("/p?year=2024", both).change_to(&named("/p", both)), None);
        assert!(named("/p?year=2024", both).change_to(&named("/p", "In 2024 it was 8")).is_some());
        assert_eq!(named("/a/b%20c", "b c").words, named("/a/x", "").words);
        // Nor is it beside a clock, or beside a label.
        let shown = |at: &str, clock: &str, more: &[&str]| {
            text(at, &[&["Read our newsletter, or 1 of 2 others", clock], more].concat())
        };
        let plain = shown("/p", "0.31 s", &[]);
        let kept = plain.kept_at(&shown("/p", "0.47 s", &[])).unwrap();
        let sent = shown("/p?from=newsletter&n=1", "0.52 s", &[]);
        assert_eq!(plain.of_kept(kept).change_to(&sent.of_kept(kept)), None);
        let printed = |text_of: &dyn Fn(&str, &[&str]) -> Wording| {
            text_of("/p", &[]).change_to(&text_of("/p?print=1", &["Print view"])).unwrap()
        };
        let one = printed(&|at, more| shown(at, "", more));
        let two = printed(&|at, more| text(at, &[&["A print of 1 and 1"], more].concat()));
        assert!(one.is_same(&two) && one.has_figures_of(&two));
    }

    /// Each form of a page to reply to one of its comments had another heading, and so the rule
    /// that makes them one fell.
    #[test]
    fn a_heading_of_words_that_stand_elsewhere_on_the_page_says_nothing_new() {
        let comments = "Reader says it is long. Post a comment. Writer says: reply to this";
        let page = |title: &str, comments: &str| {
            of("/p", &[Block::paragraph(comments), heading(title), Block::paragraph("Send")])
        };
        let plain = page("Leave a comment", comments);
        let reply = page("Leave a reply to Reader", comments);
        assert!(plain.change_to(&reply).is_some() && plain.differs_in_headings_alone(&reply));
        let stranger = page("Leave a reply to Smith", comments);
        assert!(!plain.differs_in_headings_alone(&stranger), "it is said nowhere else");
        let rated = page("Leave a reply to Reader ★★", comments);
        assert!(!plain.differs_in_headings_alone(&rated));
        let swapped =
            page("Leave a comment", "Writer says it is long. Post a comment. Reader says");
        assert!(!plain.differs_in_headings_alone(&swapped));
        // With a word that the plain form has not, it is the same label for each of them.
        let label = |title: &str| plain.change_to(&page(title, comments)).unwrap();
        assert!(
            label("Leave a reply to Reader (cancel)")
                .is_same(&label("Reply to Writer (cancel, leave)"))
        );
        assert!(!label("Leave a reply to Smith").is_same(&label("Leave a reply to Jones")));
        // So it is where each look shows another number of readers.
        let counted = |title: &str, readers: &str| {
            let blocks = [comments, readers, "of 7 are here"].map(Block::paragraph);
            of("/p", &[&[heading(title)], &blocks[..]].concat())
        };
        let plain = counted("Leave a comment", "40");
        let kept = plain.kept_at(&counted("Leave a comment", "41")).unwrap();
        let (plain, of_kept) = (plain.of_kept(kept), |title| counted(title, "42").of_kept(kept));
        assert!(plain.differs_in_headings_alone(&of_kept("Leave a reply to Reader")));
        assert!(!plain.differs_in_headings_alone(&of_kept("Leave a reply to Smith")));
    }

    #[test]
    fn a_clock_leaves_the_words_beside_it() {
        let at = |name: &str, clock: &str| text("/p", &[name, "Shown in seconds:", clock]);
        let (smith, later, jones) = (at("Smith", "0.31"), at("Smith", "0.47"), at("Jones", "0.52"));
        assert_eq!(smith.kept_at(&smith), Some(Kept::All));
        let kept = smith.kept_at(&later).unwrap();
        assert_eq!(kept, Kept::AllButNumbers);
        assert_eq!(smith.of_kept(kept).change_to(&later.of_kept(kept)), None);
        assert!(smith.of_kept(kept).change_to(&jones.of_kept(kept)).is_some());
        assert_eq!(smith.kept_at(&jones), None);
    }

    #[test]
    fn the_same_label_is_the_same_difference_on_each_page() {
        let label = |title: &str, body: &str| {
            let plain = [heading(title), Block::paragraph(body)];
            let longer = format!("Print view of {title}");
            let printed =
                [heading(&longer), Block::paragraph(body), Block::paragraph("Printed version")];
            of("/p", &plain).change_to(&of("/p", &printed)).unwrap()
        };
        let (one, two) = (label("Apples", "They are red"), label("Pears", "They are 20 cm long"));
        assert!(one.is_same(&two) && one.has_figures_of(&two));
        let back = text("/p", &["a", "b"]).change_to(&text("/p", &["a"])).unwrap();
        let there = text("/p", &["c"]).change_to(&text("/p", &["c", "b"])).unwrap();
        assert!(back.is_same(&there));
        let other = text("/p", &["c 3"]).change_to(&text("/p", &["c 4"])).unwrap();
        assert!(!other.is_same(&there) && !other.has_figures_of(&there));
    }
}
