//! The bounds of extraction.

use serde::{Deserialize, Serialize};

use crate::clock::ByteSize;

/// How much of a page is read, and how many facts are kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Settings {
    /// Bytes of a page that are parsed; the rest is left unread. Twenty times the largest pages
    /// that people write, a tenth of a second of work.
    pub body_max: ByteSize,
    /// Bytes of a sitemap or feed after decompression; the limit that sitemaps.org sets itself.
    /// What is longer is read so far. `fetch.body_max` and `fetch.decoded_max` cut before it.
    pub sitemap_max: ByteSize,
    /// Distinct links kept per page, in the order found. Pages with more are link farms or dumps.
    pub links_max: usize,
    /// Entries kept per sitemap or feed; the limit that sitemaps.org sets itself.
    pub sitemap_entries_max: usize,
    /// Bytes of all URLs kept per page; what comes then is dropped and counted. Ten times what an
    /// honest sitemap has, and a bound where a long base makes each short link a long one.
    pub link_bytes_max: ByteSize,
    /// Bytes of a normalized URL; longer ones are dropped and counted. Servers refuse request
    /// lines beyond it; what is worth crawling is for the filter to say.
    pub url_length_max: usize,
    /// Bytes of visible text kept per page, over all blocks.
    pub text_max: ByteSize,
    /// Text blocks kept per page.
    pub blocks_max: usize,
    /// Open elements that are told apart; what is nested deeper counts to the deepest of them. The
    /// depth at which browsers flatten as well.
    pub depth_max: usize,
    /// Bytes of anchor text, title and directive values; enough for every honest one.
    pub label_max: usize,
    /// Forms kept per page.
    pub forms_max: usize,
    /// Fields kept per form.
    pub form_fields_max: usize,
    /// Robots directives kept per page.
    pub directives_max: usize,
    /// Bytes that are looked at to guess an encoding that nothing declares.
    pub charset_guess_max: ByteSize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            body_max: ByteSize::mib(8),
            sitemap_max: ByteSize::mib(50),
            links_max: 10_000,
            sitemap_entries_max: 50_000,
            link_bytes_max: ByteSize::mib(16),
            url_length_max: 8_192,
            text_max: ByteSize::mib(2),
            blocks_max: 20_000,
            depth_max: 512,
            label_max: 512,
            forms_max: 32,
            form_fields_max: 64,
            directives_max: 32,
            charset_guess_max: ByteSize::kib(64),
        }
    }
}
