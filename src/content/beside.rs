//! What a page says beside its text: in its header, footer and forms, in what it calls an aside,
//! and in fields that are filled in.
//!
//! None of that is the text of a page, and much of it is the same on all pages of a site, or
//! another at each look. But the questions of a quiz stand in a form, the price of an article
//! beside the button that orders it, and what is known of a thing in a box beside its description.

use super::shingle::{Piece, mix};
use super::word_set::WordSet;
use super::wording::Said;
use super::{Block, BlockKind, Region, Words};

/// What a page says beside its text, but for what its address says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// Hashes of words and numbers, in order.
    hashes: Vec<u64>,
}

impl Beside {
    /// Returns what stands in the labelled regions of a page, as far as these are neither
    /// navigation nor taken for its text, and in its fields. Headings say what a region is.
    pub(super) fn of(
        words: &Words,
        blocks: &[Block<'_>],
        spans: &[Piece],
        (kept, said): (&[bool], &Said),
        fields: &Words,
    ) -> Beside {
        let blocks = blocks.iter().zip(spans).zip(kept);
        let beside = blocks.filter(|((block, _), kept)| !**kept && is_beside(block));
        let hashes = beside.flat_map(|((_, span), _)| &words.hashes()[span.start..span.end]);
        let hashes = hashes.chain(fields.hashes()).copied().filter(|hash| !said.has(*hash));
        Beside { hashes: hashes.collect() }
    }

    /// Returns sums over the words and over the numbers: 0 where there are none, and the same for
    /// the same ones in any order.
    pub fn sums(&self) -> [u32; 2] {
        let mut sums = [0u32; 2];
        for hash in &self.hashes {
            let sum = &mut sums[usize::from(Words::is_number_hash(*hash))];
            *sum = sum.wrapping_add(mix(*hash) as u32);
        }
        sums
    }

    /// Returns the words, and the numbers.
    pub fn sets(&self) -> [WordSet; 2] {
        let (numbers, words): (Vec<u64>, Vec<u64>) =
            self.hashes.iter().copied().partition(|hash| Words::is_number_hash(*hash));
        [words, numbers].map(WordSet::of_hashes)
    }
}

/// Returns true for a block that stands beside the text of a page and is no list of links.
fn is_beside(block: &Block<'_>) -> bool {
    matches!(block.region, Region::Form | Region::Aside | Region::Header | Region::Footer)
        && block.kind != BlockKind::Heading
        && 2 * block.link_chars as usize <= block.text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::super::{Boilerplate, Content, Page};
    use super::*;

    fn of(target: &str, blocks: &[Block<'_>], fields: &str) -> Beside {
        let page = Page { blocks, target, fields, ..Page::default() };
        Content::default().analyse(&page, &Boilerplate::default()).beside
    }

    fn block(region: Region, text: &str) -> Block<'_> {
        Block { region, ..Block::paragraph(text) }
    }

    const TEXT: &str = "A text of a dozen words about the weather, by which this page is known";

    #[test]
    fn words_and_numbers_of_labelled_regions_and_of_fields_count_apart() {
        let page = |aside: &str, form: &str, fields: &str| {
            let blocks = [
                Block::paragraph(TEXT),
                block(Region::Aside, aside),
                block(Region::Form, form),
                block(Region::Nav, aside),
            ];
            of("/p", &blocks, fields).sums()
        };
        let plain = page("born in Rome", "costs 12 euros", "blue");
        assert_eq!(plain, page("Rome in born", "12 costs euros", "blue"), "in any order");
        let [words, numbers] = plain;
        assert!(words != 0 && numbers != 0);
        for (other, same_words, same_numbers) in [
            (page("born in Paris", "costs 12 euros", "blue"), false, true),
            (page("born in Rome", "costs 13 euros", "blue"), true, false),
            (page("born in Rome", "costs 12 euros", "red"), false, true),
        ] {
            assert_eq!((other[0] == words, other[1] == numbers), (same_words, same_numbers));
        }
        assert_eq!(of("/p", &[Block::paragraph(TEXT)], "").sums(), [0, 0]);
    }

    #[test]
    fn what_an_address_says_a_heading_and_a_list_of_links_do_not() {
        let aside = |target: &str, text: &str| {
            of(target, &[Block::paragraph(TEXT), block(Region::Aside, text)], "").sums()
        };
        assert_eq!(aside("/p?theme=blue&n=7", "shown in blue 7"), aside("/p", "shown in"));
        let bare = of("/p", &[Block::paragraph(TEXT)], "").sums();
        let with = |block: Block<'_>| of("/p", &[Block::paragraph(TEXT), block], "").sums();
        let region = Region::Aside;
        assert_eq!(
            with(Block { kind: BlockKind::Heading, region, ..Block::paragraph("About") }),
            bare
        );
        assert_eq!(with(Block { link_chars: 9, region, ..Block::paragraph("Other page") }), bare);
        assert_ne!(with(Block { link_chars: 4, region, ..Block::paragraph("by Smith") }), bare);
    }

    /// A framework that wraps each page in one form makes no form of its text.
    #[test]
    fn a_region_that_is_the_page_is_its_text() {
        assert_eq!(of("/p", &[block(Region::Form, TEXT)], "").sums(), [0, 0]);
    }

    #[test]
    fn the_words_that_one_page_has_alone_are_told_from_sets() {
        let aside = |text: &str| {
            let [words, numbers] =
                of("/p", &[Block::paragraph(TEXT), block(Region::Aside, text)], "").sets();
            (words, numbers)
        };
        let (one, two) = (aside("born in Rome in 1712"), aside("born in Paris in 1712"));
        assert_eq!((one.0.len(), one.1.len()), (3, 1));
        assert_eq!(two.0.without(&one.0), WordSet::of_text("Paris"));
        assert!(two.1.without(&one.1).is_empty());
    }
}
