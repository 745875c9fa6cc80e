//! The attributes of one tag.

use std::ops::Range;

/// Attributes looked at per tag; what stands behind them is ignored.
const ATTRIBUTES_MAX: usize = 256;

/// Names and values in the order written, names in lower case, character references decoded.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    /// All names and values, one behind the other.
    text: Vec<u8>,
    found: Vec<Attribute>,
    /// What comes belongs to an attribute beyond the bound.
    is_full: bool,
}

/// Where the name and the value of an attribute are.
#[derive(Debug)]
struct Attribute {
    name: Range<usize>,
    value: Range<usize>,
}

impl Attributes {
    /// Forgets those of the tag before.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.found.clear();
        self.is_full = false;
    }

    /// Begins an attribute.
    pub(super) fn begin(&mut self) {
        self.is_full = self.found.len() >= ATTRIBUTES_MAX;
        if !self.is_full {
            let end = self.text.len();
            self.found.push(Attribute { name: end..end, value: end..end });
        }
    }

    /// Adds to the name of the attribute that was begun.
    pub(super) fn push_name(&mut self, part: &[u8]) {
        if let Some(last) = self.found.last_mut().filter(|_| !self.is_full) {
            self.text.extend_from_slice(part);
            let end = self.text.len();
            last.name.end = end;
            last.value = end..end;
        }
    }

    /// Adds to the value of the attribute that was begun.
    pub(super) fn push_value(&mut self, part: &[u8]) {
        if let Some(last) = self.found.last_mut().filter(|_| !self.is_full) {
            self.text.extend_from_slice(part);
            last.value.end = self.text.len();
        }
    }

    fn find(&self, name: &str) -> Option<&Attribute> {
        self.found.iter().find(|found| &self.text[found.name.clone()] == name.as_bytes())
    }

    /// Returns the value of an attribute; of duplicates the first.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let value = &self.text[self.find(name)?.value.clone()];
        std::str::from_utf8(value).ok()
    }

    /// Returns the value of an attribute, white space at the ends removed, unless it is empty.
    pub(super) fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.trim_ascii().is_empty())
    }

    /// Tells whether the attribute is there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Tells whether the attribute is there and has this value, case apart.
    pub(super) fn is(&self, name: &str, value: &str) -> bool {
        self.get(name).is_some_and(|found| found.trim_ascii().eq_ignore_ascii_case(value))
    }
}
