//! Which parameters of a site name its items, told from those that say which view is meant.
//!
//! A program that has one path for everything says by a word what it shows (`do=diff`), and by a
//! word of what (`id=welcome`). There are few views, and more items with every page.

use std::collections::{BTreeMap, BTreeSet};

use crate::url::query;
use xxhash_rust::xxh3::xxh3_64;

/// Longest word that may say which view is meant, in bytes.
const WORD_MAX: usize = 24;

/// Words that a parameter has for views; one that has more names items.
const VIEWS_MAX: usize = 24;

/// Parameters of one site whose words are counted.
const COUNTED_MAX: usize = 64;

/// Names of the parameters that name items.
pub(crate) type Items = BTreeSet<Box<str>>;

/// Nothing is known of such parameters.
pub(crate) static NO_ITEMS: Items = Items::new();

/// The words that the parameters of one site have for their values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words {
    /// Hashes of the words of each parameter, up to [`VIEWS_MAX`].
    counted: BTreeMap<Box<str>, BTreeSet<u64>>,
    items: Items,
}

impl Words {
    /// Takes in the URL of a page.
    pub(crate) fn note(&mut self, url: &str) {
        let query = url.split_once('?').map_or("", |(_, query)| query);
        for part in query::parameters(query) {
            let Some((name, word)) = word(part) else { continue };
            if self.items.contains(name) {
                continue;
            }
            let has_room = self.counted.len() < COUNTED_MAX;
            if !self.counted.contains_key(name) && has_room {
                self.counted.insert(name.into(), BTreeSet::new());
            }
            let Some(words) = self.counted.get_mut(name) else { continue };
            words.insert(xxh3_64(word.as_bytes()));
            if words.len() > VIEWS_MAX
                && let Some((name, _)) = self.counted.remove_entry(name)
            {
                self.items.insert(name);
            }
        }
    }

    /// Returns the parameters that name items, as far as the pages tell so far.
    pub(crate) fn items(&self) -> &Items {
        &self.items
    }
}

/// Takes a parameter apart whose value is a word: lower-case letters, with `_` or `-` between, or
/// with `/`, as in `route=product/category`.
pub(crate) fn word(part: &str) -> Option<(&str, &str)> {
    let (name, value) = part.split_once('=')?;
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-' | b'/');
    let is_word = (2..=WORD_MAX).contains(&value.len()) && value.bytes().all(is_letter);
    is_word.then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_word_for_every_page_names_items_and_what_has_few_names_views() {
        let mut words = Words::default();
        let letter = |n: u32| char::from_u32(u32::from('a') + n).unwrap();
        for n in 0..25 {
            assert!(words.items().is_empty(), "after {n} items");
            let view = ["diff", "history", "index"][n as usize % 3];
            words.note(&format!("http://a.example/doku?id=page_{}&do={view}&n={n}", letter(n)));
        }
        assert_eq!(*words.items(), Items::from(["id".into()]));
        words.note("http://a.example/doku?id=page_a&do=recent");
        assert_eq!(words.counted.keys().map(|name| &**name).collect::<Vec<_>>(), ["do"]);
    }

    #[test]
    fn no_site_makes_it_grow_without_end() {
        let mut words = Words::default();
        for n in 0..1_000 {
            words.note(&format!("http://a.example/?x{n}=word"));
        }
        assert_eq!(words.counted.len(), COUNTED_MAX);
    }

    #[test]
    fn numbers_names_and_sentences_are_no_words() {
        assert_eq!(word("do=export_raw"), Some(("do", "export_raw")));
        assert_eq!(word("route=product/product"), Some(("route", "product/product")));
        for part in ["id=17", "f=Main", "q=a+b", "v=", "v=x", "do", "v=abcdefghijklmnopqrstuvwxy"] {
            assert_eq!(word(part), None, "{part}");
        }
    }
}
