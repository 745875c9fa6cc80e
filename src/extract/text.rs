//! Gathers visible text into blocks.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use memchr::{memchr, memchr3};

use super::facts::{BlockTag, Region, TextBlock};
use super::settings::Settings;

static TWO_SPACES: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("  "));

/// White space too, but so rare that text with it goes word by word.
const FORM_FEED: u8 = 0x0C;

/// Where a text stands: taken from the innermost block-level element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) path: u64,
    pub(super) tag: BlockTag,
    pub(super) region: Region,
}

/// The blocks so far, and the one that is being filled.
pub(super) struct Blocks {
    done: Vec<TextBlock>,
    text: String,
    link_chars: u32,
    /// White space was seen since the last word.
    space: bool,
    /// Line breaks since the last word.
    breaks: u32,
    bytes_left: usize,
    blocks_max: usize,
    truncated: bool,
}

impl Blocks {
    pub(super) fn new(settings: &Settings) -> Self {
        Blocks {
            done: Vec::new(),
            text: String::new(),
            link_chars: 0,
            space: false,
            breaks: 0,
            bytes_left: settings.text_max.as_len(),
            blocks_max: settings.blocks_max,
            truncated: false,
        }
    }

    /// Adds text to the open block, white space folded.
    pub(super) fn push(&mut self, text: &str, in_link: bool) {
        self.space |= text.starts_with(char::is_whitespace);
        // Most text is ASCII, where white space is found three times as fast, and most of it has
        // single spaces only, so that many words are copied at once.
        let has_room = text.len() + 1 < self.bytes_left && self.done.len() < self.blocks_max;
        let is_plain = has_room && !in_link && memchr(FORM_FEED, text.as_bytes()).is_none();
        match (text.is_ascii(), is_plain) {
            (true, true) => self.runs(text),
            (true, false) => self.words(text.split_ascii_whitespace(), in_link),
            (false, _) => self.words(text.split_whitespace(), in_link),
        }
        if !text.is_empty() {
            self.space = text.ends_with(char::is_whitespace);
        }
    }

    fn words<'t>(&mut self, words: impl Iterator<Item = &'t str>, in_link: bool) {
        for word in words {
            if word.len() >= self.bytes_left || self.done.len() >= self.blocks_max {
                self.truncated = true;
                return;
            }
            if std::mem::replace(&mut self.space, true) && !self.text.is_empty() {
                self.text.push(' ');
            }
            self.text.push_str(word);
            self.bytes_left -= word.len() + 1;
            self.breaks = 0;
            if in_link {
                let chars = word.chars().count();
                self.link_chars = self.link_chars.saturating_add(chars.try_into().unwrap_or(0));
            }
        }
    }

    /// Adds ASCII text for which there is room, run by run of words with single spaces between.
    fn runs(&mut self, text: &str) {
        let mut rest = text.trim_ascii_start();
        while !rest.is_empty() {
            let line = &rest[..memchr3(b'\n', b'\t', b'\r', rest.as_bytes()).unwrap_or(rest.len())];
            let end = TWO_SPACES.find(line.as_bytes()).unwrap_or(line.len());
            self.run(line[..end].trim_ascii_end());
            self.space = true;
            rest = rest[end..].trim_ascii_start();
        }
    }

    fn run(&mut self, words: &str) {
        if words.is_empty() {
            return;
        }
        if self.space && !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(words);
        self.bytes_left -= words.len() + 1;
        self.breaks = 0;
    }

    /// Notes a line break; two in a row end the block, as old pages part their paragraphs.
    pub(super) fn line_break(&mut self, place: Place) {
        self.space = true;
        self.breaks += 1;
        if self.breaks == 2 {
            self.end(place);
        }
    }

    /// Ends the open block, if it has text.
    pub(super) fn end(&mut self, place: Place) {
        self.space = false;
        self.breaks = 0;
        if self.text.is_empty() {
            return;
        }
        self.done.push(TextBlock {
            // Copied, so that the buffer need not grow anew for every block.
            text: self.text.as_str().to_owned(),
            link_chars: std::mem::take(&mut self.link_chars),
            path: place.path,
            tag: place.tag,
            region: place.region,
        });
        self.text.clear();
    }

    /// Returns the blocks, and whether some text had no room.
    pub(super) fn finish(self) -> (Vec<TextBlock>, bool) {
        (self.done, self.truncated)
    }
}

/// Appends text with white space folded, up to `max` bytes.
pub(super) fn append_folded(label: &mut String, text: &str, max: usize) {
    label.reserve((text.trim().len() + 2).min(max.saturating_sub(label.len())));
    if !label.is_empty() && !label.ends_with(' ') && text.starts_with(char::is_whitespace) {
        label.push(' ');
    }
    for word in text.split_whitespace() {
        let room = max.saturating_sub(label.len());
        if room == 0 {
            return;
        }
        label.push_str(cut(word, room));
        label.push(' ');
    }
    if !text.ends_with(char::is_whitespace) {
        label.truncate(label.trim_end_matches(' ').len());
    }
}

/// Returns as many whole characters of `text` as fit into `max` bytes.
pub(super) fn cut(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: Place = Place { path: 1, tag: BlockTag::Other, region: Region::None };

    #[track_caller]
    fn check(parts: &[&str], want: &str) {
        let mut blocks = Blocks::new(&Settings::default());
        let mut label = String::new();
        for part in parts {
            blocks.push(part, false);
            append_folded(&mut label, part, 100);
        }
        blocks.end(PLACE);
        let (blocks, _) = blocks.finish();
        assert_eq!(blocks.first().map_or("", |block| &block.text), want);
        assert_eq!(label.trim_end(), want);
    }

    #[test]
    fn white_space_is_folded_across_the_parts_of_a_text() {
        check(&["a", "b"], "ab");
        check(&["a ", "b"], "a b");
        check(&["a", " b"], "a b");
        check(&["a\n", "\t", "", " b\u{a0}c "], "a b c");
        check(&[" "], "");
        check(&["", "a", "", "b"], "ab");
    }

    #[test]
    fn runs_of_words_give_the_same_text_as_words_one_by_one() {
        let mut state = 1u64;
        let mut next = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % limit
        };
        for _ in 0..2000 {
            let (mut fast, mut slow) =
                (Blocks::new(&Settings::default()), Blocks::new(&Settings::default()));
            for _ in 0..4 {
                let length = next(12);
                let part: String = (0..length)
                    .map(|_| ['a', 'b', ' ', ' ', '\n', '\u{b}', '\u{c}', 'é'][next(8)])
                    .collect();
                fast.push(&part, false);
                // Text in links always goes word by word.
                slow.push(&part, true);
            }
            assert_eq!((&fast.text, fast.space), (&slow.text, slow.space));
            assert_eq!(fast.bytes_left, slow.bytes_left);
        }
    }

    #[test]
    fn link_characters_are_counted_without_spaces() {
        let mut blocks = Blocks::new(&Settings::default());
        blocks.push("see ", false);
        blocks.push("über uns", true);
        blocks.end(PLACE);
        assert_eq!(blocks.finish().0[0].link_chars, 7);
    }

    #[test]
    fn two_line_breaks_part_blocks_and_one_does_not() {
        let mut blocks = Blocks::new(&Settings::default());
        for part in ["a", "b", "", "c"] {
            blocks.push(part, false);
            blocks.line_break(PLACE);
        }
        blocks.end(PLACE);
        let texts: Vec<_> = blocks.finish().0.into_iter().map(|block| block.text).collect();
        assert_eq!(texts, ["a b", "c"]);
    }

    #[test]
    fn text_is_bounded() {
        let settings = Settings { text_max: crate::clock::ByteSize(8), ..Settings::default() };
        let mut blocks = Blocks::new(&settings);
        blocks.push("four five", false);
        blocks.end(PLACE);
        let (blocks, truncated) = blocks.finish();
        assert_eq!((&blocks[0].text[..], truncated), ("four", true));
        assert_eq!(cut("aé", 2), "a");
    }
}
