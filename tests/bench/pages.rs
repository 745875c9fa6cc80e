//! Pages with known truth: texts of made-up words in the templates of made-up sites, edited,
//! reordered and dressed as asked. Everything follows from seeds.
//!
//! Words follow Zipf's law over a vocabulary that texts share, with stock phrases among them, so
//! that different texts have common shingles as real ones do.

use super::{Block, BlockKind, Region};

/// A sequence of numbers that follows from its seed (splitmix64).
#[derive(Clone, Debug)]
pub struct Chance(pub u64);

impl Chance {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at as u64 + 1) as usize);
        }
    }
}

/// How the words of a text are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    Latin,
    Cyrillic,
    Han,
    Thai,
}

const VOCABULARY: f64 = 20_000.0;

/// Returns the word of a rank; the same rank is always the same word.
pub fn word(rank: u64, script: Script) -> String {
    let mut chance = Chance(rank ^ 0x00c0_ffee);
    let letter = |chance: &mut Chance, first: u32, count: u64| {
        char::from_u32(first + chance.below(count) as u32).expect("a letter of the script")
    };
    match script {
        Script::Latin => {
            let syllables = 1 + (rank > 60) as u64 + (rank > 2000) as u64 + chance.below(2);
            (0..syllables)
                .flat_map(|_| {
                    let onset = b"bcdfghjklmnprstvwz"[chance.below(18) as usize] as char;
                    let nucleus = ["a", "e", "i", "o", "u", "ea", "an", "er", "in", "or"];
                    let nucleus = nucleus[chance.below(10) as usize];
                    std::iter::once(onset).chain(nucleus.chars())
                })
                .collect()
        }
        Script::Cyrillic => {
            (0..3 + chance.below(6)).map(|_| letter(&mut chance, 0x430, 32)).collect()
        }
        Script::Han => {
            (0..1 + chance.below(2)).map(|_| letter(&mut chance, 0x4e00, 3000)).collect()
        }
        Script::Thai => (0..3 + chance.below(4)).map(|_| letter(&mut chance, 0xe01, 46)).collect(),
    }
}

fn rank(chance: &mut Chance) -> u64 {
    // Zipf's law with exponent 1: ranks are uniform on a logarithmic scale.
    VOCABULARY.powf(chance.share()) as u64
}

/// Returns `words` word ranks: a text, with stock phrases here and there.
pub fn text(seed: u64, words: usize) -> Vec<u64> {
    let mut chance = Chance(seed ^ 0x7e87);
    let mut out = Vec::with_capacity(words + 6);
    while out.len() < words {
        if chance.below(40) == 0 {
            let phrase = VOCABULARY.powf(chance.share() * 0.6) as u64;
            let mut stock = Chance(phrase ^ 0x5701);
            out.extend((0..4 + stock.below(4)).map(|_| rank(&mut stock)));
        } else {
            out.push(rank(&mut chance));
        }
    }
    out.truncate(words);
    out
}

/// Changes a share of the words of a text: a third replaced, a third removed, a third inserted.
pub fn edit(text: &[u64], share: f64, seed: u64) -> Vec<u64> {
    let mut chance = Chance(seed ^ 0xed17);
    let mut out = Vec::with_capacity(text.len() + 8);
    for rank_here in text {
        if chance.share() >= share {
            out.push(*rank_here);
            continue;
        }
        match chance.below(3) {
            0 => out.push(rank(&mut chance)),
            1 => {}
            _ => out.extend([*rank_here, rank(&mut chance)]),
        }
    }
    out
}

/// Writes word ranks as a text.
pub fn written(words: &[u64], script: Script) -> String {
    let gap = if matches!(script, Script::Han | Script::Thai) { "" } else { " " };
    let words: Vec<String> = words.iter().map(|rank| word(*rank, script)).collect();
    words.join(gap)
}

/// A block that owns its text.
#[derive(Clone, Debug)]
pub struct OwnBlock {
    pub text: String,
    pub link_chars: u32,
    pub kind: BlockKind,
    pub region: Region,
    /// Whether it is the page's own text: the truth.
    pub own: bool,
}

impl OwnBlock {
    pub fn own(text: String, kind: BlockKind) -> Self {
        OwnBlock { text, link_chars: 0, kind, region: Region::None, own: true }
    }

    fn furniture(text: String, kind: BlockKind, region: Region, links: bool) -> Self {
        let link_chars = if links { text.chars().count() as u32 } else { 0 };
        OwnBlock { text, link_chars, kind, region, own: false }
    }
}

/// Returns the blocks as the content stage takes them.
pub fn borrowed(blocks: &[OwnBlock]) -> Vec<Block<'_>> {
    blocks
        .iter()
        .map(|block| Block {
            text: &block.text,
            link_chars: block.link_chars,
            path: 0,
            kind: block.kind,
            region: block.region,
        })
        .collect()
}

/// An article of about `words` words: a heading, paragraphs of some fifty, now and then a list.
pub fn article(words: &[u64], script: Script, seed: u64) -> Vec<OwnBlock> {
    let mut chance = Chance(seed ^ 0xa471);
    let mut rest = words;
    let mut out = Vec::new();
    while !rest.is_empty() {
        let (length, kind) = match chance.below(8) {
            0 => (3 + chance.below(5), BlockKind::Heading),
            1 => (5 + chance.below(10), BlockKind::ListItem),
            _ => (25 + chance.below(60), BlockKind::Paragraph),
        };
        let (head, tail) = rest.split_at(rest.len().min(length as usize));
        out.push(OwnBlock::own(written(head, script), kind));
        rest = tail;
    }
    out
}

/// A site: the furniture around its texts.
#[derive(Clone, Debug)]
pub struct Site {
    pub seed: u64,
    /// Whether its markup names navigation, header, footer and main part.
    pub labelled: bool,
    /// Words of furniture that is the same on every page.
    pub furniture: usize,
    pub script: Script,
}

impl Site {
    pub fn new(seed: u64) -> Self {
        Site { seed, labelled: !seed.is_multiple_of(3), furniture: 150, script: Script::Latin }
    }

    /// Dresses `text` for the visit `visit`: what changes by visit is furniture too.
    pub fn page(&self, text: &[OwnBlock], visit: u64) -> Vec<OwnBlock> {
        let region = |region: Region| if self.labelled { region } else { Region::None };
        let mut fixed = Chance(self.seed ^ 0xf1);
        let mut changing = Chance(self.seed ^ visit.wrapping_mul(0x9e37_79b9) ^ 0xc4a);
        let mut say = |words: u64| {
            let ranks: Vec<u64> = (0..words).map(|_| rank(&mut fixed)).collect();
            written(&ranks, self.script)
        };
        let mut out = Vec::new();
        let furniture = self.furniture as u64;
        out.push(OwnBlock::furniture(
            say(furniture / 10),
            BlockKind::Other,
            region(Region::Header),
            false,
        ));
        for _ in 0..furniture / 6 {
            out.push(OwnBlock::furniture(say(2), BlockKind::ListItem, region(Region::Nav), true));
        }
        let date = format!("{} {} {}", say(1), 1 + changing.below(28), 2000 + changing.below(25));
        out.push(OwnBlock::furniture(date, BlockKind::Other, region(Region::Header), false));
        let main = text.iter().cloned();
        out.extend(main.map(|block| OwnBlock { region: region(Region::Main), ..block }));
        let advert: Vec<u64> = text_of_advert(self.seed, changing.below(12));
        let advert = written(&advert, self.script);
        out.push(OwnBlock::furniture(advert, BlockKind::Paragraph, region(Region::Aside), false));
        for _ in 0..4 {
            let other = written(&text_of_title(self.seed, changing.below(300)), self.script);
            out.push(OwnBlock::furniture(other, BlockKind::ListItem, region(Region::Aside), true));
        }
        let counter = format!("{} {} {}", say(3), changing.below(100_000), say(3));
        out.push(OwnBlock::furniture(counter, BlockKind::Paragraph, region(Region::Footer), false));
        let small_print = say(furniture / 3);
        out.push(OwnBlock::furniture(
            small_print,
            BlockKind::Paragraph,
            region(Region::Footer),
            false,
        ));
        out
    }
}

fn text_of_advert(site: u64, number: u64) -> Vec<u64> {
    text(site ^ number << 20 ^ 0xad, 18)
}

fn text_of_title(site: u64, number: u64) -> Vec<u64> {
    text(site ^ number << 20 ^ 0x7171, 6)
}
