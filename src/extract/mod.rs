//! Extraction: the bytes of one answer become facts - links, text, forms, directives.
//!
//! Pure functions of a [`Page`] and [`Settings`]; no I/O, no clock, no randomness, and no failure:
//! whatever the bytes are, [`extract`] answers, within the written bounds of [`Settings`] and in
//! time linear in the body. What had to be left out is counted in [`Extracted`], never silent.
//!
//! HTML is read once, by the tokenizer of `html5gum`, for links, text, forms and directives
//! together. No tree is built: what the tree would say about blocks, regions and hidden
//! parts is kept on a stack of open elements of bounded depth. The facts agree with what a browser
//! without scripts would see; where a document is not well formed, the tokens decide.
//!
//! What this module does not do: guess at URLs in scripts, in text or in the `srcdoc` of a frame;
//! judge links (`filter`) or find the main text (`content`); fetch anything that an XML entity, a
//! style sheet or a frame names; parse robots.txt (`robots`).
//!
//! Sources: WHATWG HTML (§13.2.3 encodings, §13.2.5 tokens, §4.8.4 `srcset`, §4.2.5.3 refresh),
//! WHATWG Encoding, CSS Syntax Level 3, RFC 8288 (`Link`), sitemaps.org 0.9, RSS 0.9x to 2.0,
//! RFC 4287 (Atom), RFC 5005 (feeds in pages); discovery letters as Heritrix writes them.

mod attributes;
mod charset;
mod css;
mod document;
mod element;
mod facts;
mod forms;
mod html;
mod kind;
mod link_header;
mod links;
mod page_links;
mod refresh;
mod settings;
mod sitemap;
mod srcset;
mod text;
mod xhtml;

#[cfg(test)]
mod tests;

pub use charset::{CharsetSource, decode};
pub use document::{extract, extract_sitemap, is_html, is_list};
pub use facts::{
    BlockTag, DocumentKind, Extracted, Form, FormField, Link, LinkKind, Page, Region, SitemapEntry,
    TextBlock,
};
pub use link_header::{HeaderLink, link_header};
pub use refresh::target as refresh_target;
pub use settings::Settings;
pub use sitemap::{Sitemap, SitemapError, sitemap};
pub use srcset::srcset;
