//! What documents say: main texts and titles.

use std::borrow::Cow;

use super::draw::{Draw, hash, mix, push_paragraph, word};
use super::site::Site;
use super::spec::Language;

impl Site<'_> {
    /// Returns the main text of a document, one paragraph a line.
    pub(super) fn main_text(self, number: u32) -> String {
        let base = self.replicated(number);
        let mut text = self.own_text(base.unwrap_or(number));
        if base.is_some() {
            self.edit(&mut text, number);
        }
        self.spoken(text)
    }

    /// Returns the document that a near replica repeats.
    fn replicated(self, number: u32) -> Option<u32> {
        let share = u64::from(self.spec.near_replicas);
        let replica = |n: u32| mix(self.seed, hash(3, "near") ^ u64::from(n)) % 1000 < share;
        let base = number.checked_sub(1)?;
        // The one before must be an original itself, or replicas of replicas would drift.
        (share > 0 && number > 1 && replica(number) && !replica(base)).then_some(base)
    }

    pub(super) fn own_text(self, number: u32) -> String {
        let mut draw = Draw::new(mix(self.seed, hash(4, "text") ^ u64::from(number)));
        let (least, most) = self.spec.words;
        let mut left = u64::from(least) + draw.below(u64::from(most.saturating_sub(least)) + 1);
        let mut text = String::with_capacity(left as usize * 6 + 16);
        while left > 0 {
            let words = (30 + draw.below(40)).min(left);
            left -= words;
            push_paragraph(&mut text, &mut draw, words);
            if left > 0 {
                text.push('\n');
            }
        }
        text
    }

    /// Replaces about one word in forty, and one for certain by a word that is nowhere else.
    pub(super) fn edit(self, text: &mut String, number: u32) {
        let mut draw = Draw::new(mix(self.seed, hash(5, "edit") ^ u64::from(number)));
        let certain = draw.below(text.matches(' ').count() as u64 + 1) as usize;
        let edited: Vec<Cow<'_, str>> = text
            .split(' ')
            .enumerate()
            .map(|(at, known)| match (at == certain, draw.below(40)) {
                (true, _) => Cow::Owned(format!("{}{number}", word(draw.next()))),
                // A word at the end of a paragraph holds the line break and stays.
                (false, 0) if !known.contains('\n') => Cow::Owned(word(draw.next())),
                (false, _) => Cow::Borrowed(known),
            })
            .collect();
        *text = edited.join(" ");
    }

    /// Returns the title of a document.
    pub(super) fn title(self, number: u32) -> String {
        let mut title = self.word(number);
        title[..1].make_ascii_uppercase();
        for turn in 1..3 {
            title.push(' ');
            title.push_str(&word(mix(
                self.seed,
                hash(6, "title") ^ (u64::from(number) << 2) ^ turn,
            )));
        }
        self.spoken(title)
    }

    /// Returns a text as the site's language writes it.
    pub(super) fn spoken(self, text: String) -> String {
        match self.spec.language {
            Language::Latin => text,
            Language::Accented => text.chars().map(|c| exchanged(c, ACCENTED)).collect(),
            Language::Cyrillic => text.chars().map(|c| exchanged(c, CYRILLIC)).collect(),
            Language::Ideographs => ideographs(&text),
        }
    }
}

/// Letters and what stands for them; capitals follow.
const ACCENTED: &[(char, char)] =
    &[('j', 'é'), ('z', 'ü'), ('v', 'ñ'), ('h', 'ø'), ('f', 'ç'), ('u', 'å')];

/// The same for every letter that occurs.
#[rustfmt::skip]
const CYRILLIC: &[(char, char)] = &[
    ('a', 'а'), ('b', 'б'), ('c', 'ц'), ('d', 'д'), ('e', 'е'), ('f', 'ф'), ('g', 'г'),
    ('h', 'х'), ('i', 'и'), ('j', 'й'), ('k', 'к'), ('l', 'л'), ('m', 'м'), ('n', 'н'),
    ('o', 'о'), ('p', 'п'), ('r', 'р'), ('s', 'с'), ('t', 'т'), ('u', 'у'), ('v', 'в'),
    ('z', 'з'),
];

fn exchanged(c: char, letters: &[(char, char)]) -> char {
    let lower = c.to_ascii_lowercase();
    let Some((_, other)) = letters.iter().find(|(letter, _)| *letter == lower) else { return c };
    if c == lower { *other } else { other.to_uppercase().next().unwrap_or(*other) }
}

/// One ideograph for each pair of letters, chosen from those that children learn first, so that
/// every East Asian encoding has them.
const IDEOGRAPHS: [char; 64] = [
    '日', '一', '国', '人', '年', '大', '十', '二', '本', '中', '長', '出', '三', '時', '行', '見',
    '月', '後', '前', '生', '五', '間', '上', '東', '四', '今', '金', '九', '入', '学', '高', '円',
    '子', '外', '八', '六', '下', '来', '気', '小', '七', '山', '話', '女', '北', '午', '百', '書',
    '先', '名', '川', '千', '水', '半', '男', '西', '電', '校', '語', '土', '木', '聞', '食', '車',
];

fn ideographs(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut first = None;
    for c in text.chars() {
        match (c, first.take()) {
            ('a'..='z' | 'A'..='Z', None) => first = Some(c),
            ('a'..='z' | 'A'..='Z', Some(before)) => {
                let pair = (before.to_ascii_lowercase() as usize) * 31 + c as usize;
                out.push(IDEOGRAPHS[pair % IDEOGRAPHS.len()]);
            }
            (' ', _) => {}
            ('.', _) => out.push('。'),
            (other, _) => out.push(other),
        }
    }
    out
}
