//! The attributes of one tag, borrowed from the document.

use std::borrow::Cow;

use lol_html::html_content::Element;
use memchr::memchr2;

/// Attributes looked at per tag; what stands behind them is ignored.
const ATTRIBUTES_MAX: usize = 256;

/// Names and values as written, in the order written.
#[derive(Default)]
pub(super) struct Attributes<'d> {
    found: Vec<(&'d str, &'d str)>,
}

impl<'d> Attributes<'d> {
    /// Takes over the attributes of a start tag of `document`.
    pub(super) fn fill(&mut self, document: &'d str, element: &Element<'_, '_>) {
        self.found.clear();
        for attribute in element.attributes().iter().take(ATTRIBUTES_MAX) {
            let slice = |place: lol_html::html_content::SourceLocation| document.get(place.bytes());
            if let Some(name) = attribute.name_source_location().and_then(slice) {
                let value = attribute.value_source_location().and_then(slice).unwrap_or_default();
                self.found.push((name, value));
            }
        }
    }

    /// Returns the value of an attribute, character references decoded; of duplicates the first.
    pub(super) fn get(&self, name: &str) -> Option<Cow<'d, str>> {
        let (_, value) = self.found.iter().find(|(n, _)| n.eq_ignore_ascii_case(name))?;
        Some(decoded(value))
    }

    /// Returns the value of an attribute, white space at the ends removed, unless it is empty.
    pub(super) fn filled(&self, name: &str) -> Option<Cow<'d, str>> {
        self.get(name).filter(|value| !value.trim_ascii().is_empty())
    }

    /// Tells whether the attribute is there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.found.iter().any(|(n, _)| n.eq_ignore_ascii_case(name))
    }

    /// Tells whether the attribute is there and has this value, case apart.
    pub(super) fn is(&self, name: &str, value: &str) -> bool {
        self.get(name).is_some_and(|found| found.trim_ascii().eq_ignore_ascii_case(value))
    }
}

/// Decodes the value of an attribute as the HTML tokenizer does.
fn decoded(value: &str) -> Cow<'_, str> {
    if memchr2(b'&', 0, value.as_bytes()).is_none() {
        return Cow::Borrowed(value);
    }
    let value = htmlize::unescape_attribute(value);
    if value.contains('\0') { Cow::Owned(value.replace('\0', "\u{FFFD}")) } else { value }
}
