//! Which words of a page are its own text.
//!
//! Two judges. **Structure**, from the page alone: what stands in navigation, header, footer, aside
//! or form is set aside; of the rest, long blocks with few links are text, blocks of links are not,
//! and short blocks follow the company they keep (the idea of jusText [Pomikálek 2011]).
//! **Repetition**, from the site: windows of words that a [`Boilerplate`] knows are set aside
//! wherever they stand. With a model, structure can be lenient, for repetition is the better judge:
//! a list of links that no other page has is the text of an index page.
//!
//! The strict choice alone never depends on what was crawled before: digests come from it.

use super::shingle::{Piece, for_each_shingle};
use super::site_model::Boilerplate;
use super::{Block, BlockKind, Region, Settings, Words};

/// A block of at least this many bytes with few links is prose: some twelve words of an alphabet,
/// twenty characters of Han.
const PROSE_BYTES: usize = 70;
/// Prose has at most this share of its characters in links.
const PROSE_LINKS: f64 = 0.33;
/// A block with more than this share of its characters in links is a block of links.
const LIST_LINKS: f64 = 0.5;
/// A text of fewer words than this was chosen too strictly: the next more lenient choice is taken.
const WORDS_MIN: usize = 20;
/// A region that holds more than this share of a page's words is the page, whatever it is called:
/// some frameworks wrap every page in one form.
const REGION_IS_PAGE: f64 = 0.7;

/// Which blocks of a page are text, judged by structure alone.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    /// Text for certain.
    pub(super) strict: Vec<bool>,
    /// Text unless the site's model knows it.
    pub(super) lenient: Vec<bool>,
    /// Everything outside the labelled regions: what a site's model is learned from.
    pub(super) all: Vec<bool>,
    /// The same but for blocks of links.
    pub(super) unlinked: Vec<bool>,
    /// Whether structure found a text. Where it did not, `strict` is what is left of the page,
    /// navigation and all: good enough to know the same page again, no evidence of resemblance.
    pub(super) found: bool,
}

/// A page without prose is its own text if at most this share of its words is in blocks of links.
const FEW_LINKS: f64 = 0.3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Aside,
    Prose,
    Short,
    Links,
}

/// Judges the blocks of a page, block `i` having `spans[i].len()` words.
pub(super) fn choose(blocks: &[Block<'_>], spans: &[Piece]) -> Chosen {
    let page = page_region(blocks, spans);
    let looks: Vec<Look> = blocks.iter().map(|block| look(block, page)).collect();
    let mut strict = by_company(blocks, &looks);
    prefer_main(blocks, spans, &mut strict);
    let all: Vec<bool> = looks.iter().map(|look| *look != Look::Aside).collect();
    let unlinked: Vec<bool> =
        looks.iter().map(|look| matches!(look, Look::Prose | Look::Short)).collect();
    let mut lenient = unlinked.clone();
    // Lists of links beside a text lead to other texts; where there is no text, they are the page.
    let mut found = true;
    if words_in(spans, &strict) < WORDS_MIN {
        let lists: Vec<bool> = looks.iter().map(|look| *look == Look::Links).collect();
        found = words_in(spans, &lists) as f64 <= FEW_LINKS * words_in(spans, &all) as f64;
        let few = words_in(spans, &lenient) < WORDS_MIN;
        strict = if few { all.clone() } else { lenient };
        lenient = all.clone();
    }
    Chosen { strict, lenient, all, unlinked, found }
}

pub(super) fn words_in(spans: &[Piece], chosen: &[bool]) -> usize {
    spans.iter().zip(chosen).filter(|(_, kept)| **kept).map(|(span, _)| span.len()).sum()
}

/// Returns the labelled region that is the whole page, if there is one.
fn page_region(blocks: &[Block<'_>], spans: &[Piece]) -> Option<Region> {
    let total: usize = spans.iter().map(|span| span.len()).sum();
    let words_of = |region: Region| -> usize {
        let inside = blocks.iter().zip(spans).filter(|(block, _)| block.region == region);
        inside.map(|(_, span)| span.len()).sum()
    };
    [Region::Form, Region::Header, Region::Aside]
        .into_iter()
        .find(|region| words_of(*region) as f64 > REGION_IS_PAGE * total as f64)
}

fn look(block: &Block<'_>, page: Option<Region>) -> Look {
    let labelled = !matches!(block.region, Region::None | Region::Main);
    if labelled && Some(block.region) != page {
        return Look::Aside;
    }
    let chars = block.text.chars().count().max(1);
    let links = f64::from(block.link_chars) / chars as f64;
    match () {
        () if links > LIST_LINKS => Look::Links,
        () if links <= PROSE_LINKS && block.text.len() >= PROSE_BYTES => Look::Prose,
        () => Look::Short,
    }
}

/// Keeps prose, and the short blocks that stand between prose or head it.
fn by_company(blocks: &[Block<'_>], looks: &[Look]) -> Vec<bool> {
    let mut prose_before = vec![false; looks.len()];
    let mut prose_after = vec![false; looks.len()];
    let mut last = false;
    for (at, look) in looks.iter().enumerate() {
        prose_before[at] = last;
        last = next_company(last, *look);
    }
    last = false;
    for (at, look) in looks.iter().enumerate().rev() {
        prose_after[at] = last;
        last = next_company(last, *look);
    }
    let keep = |at: usize| match looks[at] {
        Look::Prose => true,
        Look::Aside | Look::Links => false,
        Look::Short if blocks[at].region == Region::Main => true,
        Look::Short => match blocks[at].kind {
            BlockKind::Heading => prose_after[at],
            BlockKind::ListItem | BlockKind::Cell => prose_before[at] || prose_after[at],
            BlockKind::Paragraph | BlockKind::Other => prose_before[at] && prose_after[at],
        },
    };
    (0..looks.len()).map(keep).collect()
}

/// Short blocks do not change the company, the others do.
fn next_company(before: bool, look: Look) -> bool {
    match look {
        Look::Prose => true,
        Look::Short => before,
        Look::Aside | Look::Links => false,
    }
}

/// Where the page marks its main part and that part has text, nothing outside it is text.
fn prefer_main(blocks: &[Block<'_>], spans: &[Piece], chosen: &mut [bool]) {
    let is_main = |at: usize| blocks[at].region == Region::Main;
    let main: usize =
        (0..chosen.len()).filter(|at| chosen[*at] && is_main(*at)).map(|at| spans[at].len()).sum();
    if main >= WORDS_MIN && 3 * main >= words_in(spans, chosen) {
        chosen.iter_mut().enumerate().for_each(|(at, kept)| *kept &= is_main(at));
    }
}

/// Joins the spans of chosen blocks into pieces: each block is one, but cells are joined until they
/// make a window of words, since a cell alone says too little.
pub(super) fn pieces(
    blocks: &[Block<'_>],
    spans: &[Piece],
    kept: &[bool],
    width: usize,
) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::with_capacity(blocks.len());
    let mut open = false;
    for ((block, span), kept) in blocks.iter().zip(spans).zip(kept) {
        if !kept || span.len() == 0 {
            open &= *kept;
            continue;
        }
        let is_cell = block.kind == BlockKind::Cell;
        match out.last_mut().filter(|last| open && is_cell && last.end == span.start) {
            Some(last) => last.end = span.end,
            None => out.push(*span),
        }
        open = is_cell && out.last().is_some_and(|last| last.len() < width);
    }
    out
}

/// Returns the windows of `pieces` as a [`Boilerplate`] counts them, sorted and without repeats.
pub(super) fn windows(words: &Words, pieces: &[Piece], settings: &Settings) -> Vec<u32> {
    let mut out = Vec::with_capacity(pieces.iter().map(|piece| piece.len()).sum());
    for piece in pieces {
        let word = |at: usize| words.masked(at);
        for_each_shingle(*piece, settings.shingle_words, word, |first, width, window| {
            if !mostly_numbers(words, first, width, *piece) {
                out.push(window as u32);
            }
        });
    }
    sort_hashes(&mut out);
    out.dedup();
    out
}

/// Sorts hashes, of which a page has thousands: three passes of counting, from the lowest bits up,
/// take a third of the time that comparing does.
fn sort_hashes(hashes: &mut Vec<u32>) {
    const BITS: usize = 11;
    const PLACES: usize = 1 << BITS;
    // Counting costs the same for few.
    if hashes.len() < PLACES / 4 {
        hashes.sort_unstable();
        return;
    }
    let mut sorted = vec![0; hashes.len()];
    for pass in 0..3 {
        let digit = |hash: u32| (hash as usize >> (pass * BITS)) % PLACES;
        let mut next = [0u32; PLACES];
        hashes.iter().for_each(|hash| next[digit(*hash)] += 1);
        let mut start = 0;
        for place in &mut next {
            start += std::mem::replace(place, start);
        }
        for hash in hashes.iter() {
            let place = &mut next[digit(*hash)];
            sorted[*place as usize] = *hash;
            *place += 1;
        }
        std::mem::swap(hashes, &mut sorted);
    }
}

/// A window of numbers says nothing when masked: a table of figures is not a template. But a short
/// block that is nothing else is a date or a counter.
fn mostly_numbers(words: &Words, first: usize, width: usize, piece: Piece) -> bool {
    let is_number = |hash: &&u64| Words::is_number_hash(**hash);
    piece.len() > width
        && 2 * words.hashes()[first..first + width].iter().filter(is_number).count() > width
}

/// Takes the windows that `known` holds out of `pieces`.
///
/// What is left between two of them is kept if it fills a window or was a piece of its own: shorter
/// scraps are the names and dates that a template is filled with.
pub(super) fn without_boilerplate(
    words: &Words,
    pieces: &[Piece],
    known: &Boilerplate,
    width: usize,
) -> Vec<Piece> {
    let mut out = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let mut start = piece.start;
        let mut end = piece.start;
        for_each_shingle(
            *piece,
            width,
            |at| words.masked(at),
            |first, window_width, window| {
                if !known.holds(window as u32) || mostly_numbers(words, first, window_width, *piece)
                {
                    return;
                }
                if first >= end + width {
                    out.push(Piece { start: end, end: first });
                }
                end = end.max(first + window_width);
                start = end;
            },
        );
        let untouched = start == piece.start;
        if (untouched && piece.len() > 0) || piece.end >= end + width {
            out.push(Piece { start: end, end: piece.end });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_sorted_however_many_they_are() {
        for count in [0u64, 1, 500, 600, 5000] {
            let mix = crate::content::shingle::mix;
            let mut hashes: Vec<u32> = (0..count).map(|n| mix(n / 2) as u32).collect();
            let mut expected = hashes.clone();
            expected.sort_unstable();
            sort_hashes(&mut hashes);
            assert_eq!(hashes, expected);
        }
    }

    const PROSE: &str = "The river rises in the hills above the town and runs for ninety miles, \
                         through woods and meadows, before it meets the sea at the old harbour.";

    fn spans(blocks: &[Block<'_>]) -> Vec<Piece> {
        let mut at = 0;
        let span = |block: &Block<'_>| {
            let start = at;
            at += Words::of(block.text).len();
            Piece { start, end: at }
        };
        blocks.iter().map(span).collect()
    }

    /// Checks which blocks the strict choice keeps, as a string of `x` and `.`.
    fn check(blocks: &[Block<'_>], want: &str) {
        let chosen = choose(blocks, &spans(blocks));
        let got: String = chosen.strict.iter().map(|kept| if *kept { 'x' } else { '.' }).collect();
        assert_eq!(got, want);
    }

    fn block(text: &str, kind: BlockKind, region: Region) -> Block<'_> {
        Block { kind, region, ..Block::paragraph(text) }
    }

    fn links(text: &str) -> Block<'_> {
        Block { link_chars: text.len() as u32, ..Block::paragraph(text) }
    }

    #[test]
    fn labelled_regions_are_set_aside() {
        let nav = block(PROSE, BlockKind::Paragraph, Region::Nav);
        let footer = block("Copyright", BlockKind::Paragraph, Region::Footer);
        check(&[nav, Block::paragraph(PROSE), footer], ".x.");
    }

    #[test]
    fn short_blocks_follow_their_company() {
        let heading = block("The river", BlockKind::Heading, Region::None);
        let short = Block::paragraph("It is deep.");
        check(&[short, links("Home About Contact"), heading, Block::paragraph(PROSE)], "..xx");
        check(&[Block::paragraph(PROSE), short, Block::paragraph(PROSE), short], "xxx.");
        check(&[Block::paragraph(PROSE), short, links("Next chapter"), heading], "x...");
    }

    #[test]
    fn where_a_main_part_is_marked_the_rest_is_not_text() {
        let main = block(PROSE, BlockKind::Paragraph, Region::Main);
        check(&[Block::paragraph(PROSE), main], ".x");
        let empty = block("Loading", BlockKind::Paragraph, Region::Main);
        check(&[Block::paragraph(PROSE), empty], "xx");
    }

    #[test]
    fn a_page_wrapped_in_one_form_is_still_a_page() {
        let form = block(PROSE, BlockKind::Paragraph, Region::Form);
        check(&[form, form], "xx");
        check(&[Block::paragraph("Search")], "x");
    }

    #[test]
    fn an_index_of_links_is_its_own_text() {
        let items = ["First chapter of the book", "Second chapter", "Third chapter"].map(links);
        check(&items, "xxx");
    }

    #[test]
    fn cells_join_to_windows_and_other_blocks_do_not() {
        let cell = |text| block(text, BlockKind::Cell, Region::None);
        let item = |text| block(text, BlockKind::ListItem, Region::None);
        let blocks = [cell("a b"), cell("c"), cell("d"), cell("e"), item("f"), item("g")];
        let got = pieces(&blocks, &spans(&blocks), &[true; 6], 4);
        let got: Vec<(usize, usize)> = got.iter().map(|piece| (piece.start, piece.end)).collect();
        assert_eq!(got, [(0, 4), (4, 5), (5, 6), (6, 7)]);
        let kept = [true, false, true, true, true, true];
        let got = pieces(&blocks, &spans(&blocks), &kept, 4);
        assert_eq!(got[0], Piece { start: 0, end: 2 });
    }
}
