//! The report of a crawl: one page that says what was found, what was kept, what was left out and
//! why, and whether anybody was hurried. It can be written while the crawl runs.
//!
//! The crawl log is read once, as a stream; so is the state, and its ledger twice more where rules
//! are suggested and not applied. Memory is bounded whatever the size of both: counts by host, by
//! type and by reason stop at written numbers and say what they left out, and every table says how
//! many rows there are beside those that it shows.
//!
//! The page is one file, needs no script and fetches nothing. Whatever comes from the web passes
//! through `maud`, which escapes it, and through `safe`, which takes credentials out. All figures
//! are [`table::Table`]s, so that page, CSV and JSON say the same.
//!
//! What it does not do: it does not judge content anew, reads no archive and fetches nothing; what
//! `crate::crawl::dups`, `crate::crawl::inlinks` and the rule book know is taken from them.

mod builder;
mod content;
mod hosts;
mod hosts_part;
mod inlinks;
mod log;
mod overview;
mod page;
mod plot;
mod redirects;
mod safe;
mod series;
mod state;
mod table;

pub use builder::{Input, ReportError, Setting, build};
pub use inlinks::{INLINKS_FILE, INLINKS_HEAD, inlink_row};
pub(crate) use plot::grouped;
pub use table::{Cell, Column, Table};

use serde::Serialize;

use crate::clock::Timestamp;

/// Rows of a table that the page shows; its CSV has up to [`CSV_ROWS_MAX`].
pub const SHOWN_ROWS_MAX: usize = 25;

/// Rows of a table that are kept at all.
pub const CSV_ROWS_MAX: usize = 1000;

/// Rows of the table of broken links, which is worked through and not only looked at.
pub const ERRORS_MAX: usize = 10_000;

/// A figure that stands at the head of the report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What it is.
    pub name: String,
    /// The figure.
    pub value: String,
    /// One line about it.
    pub note: String,
    /// True where somebody should look.
    pub alarm: bool,
}

/// A drawing, in a form for wide and one for narrow screens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// What it shows, for those who cannot see it.
    pub label: String,
    /// SVG for wide screens.
    pub wide: String,
    /// SVG for narrow ones.
    pub narrow: String,
}

/// A part of the report: what it is about, and its plot and tables.
#[derive(Clone, Debug, Serialize)]
pub struct Section {
    /// Stable name, an anchor in the page.
    pub id: &'static str,
    /// Title.
    pub title: &'static str,
    /// What it says, in a sentence or two.
    pub text: String,
    /// Drawings; not part of the JSON form.
    #[serde(skip)]
    pub plots: Vec<Plot>,
    /// Tables.
    pub tables: Vec<Table>,
}

/// The report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// When it was made.
    pub made: Timestamp,
    /// Name of the crawler.
    pub name: String,
    /// Contact of the crawl.
    pub contact: String,
    /// Whether the crawl runs, or how it ended.
    pub state: String,
    /// When the first request began, RFC 3339; empty where there is none.
    pub from: String,
    /// When the last one ended.
    pub to: String,
    /// The figures at its head.
    pub figures: Vec<Figure>,
    /// Its parts.
    pub sections: Vec<Section>,
    /// What could not be read, and what was left out.
    pub warnings: Vec<String>,
}

impl Report {
    /// Returns the page.
    pub fn html(&self) -> String {
        page::page(self).into_string()
    }

    /// Returns the tables in order.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.sections.iter().flat_map(|section| &section.tables)
    }
}
