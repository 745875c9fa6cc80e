//! Tables: one form for the page, for CSV and for JSON.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};

use super::{CSV_ROWS_MAX, safe};
use crate::clock::Timestamp;

/// One field of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing is known.
    None,
    /// Words; from the web or from us.
    Text(String),
    /// An address; shown as a link where it is http or https.
    Url(String),
    /// Several addresses.
    Urls(Vec<String>),
    /// A number of things.
    Count(u64),
    /// Milliseconds; below zero where something came too early.
    Millis(i64),
    /// Bytes.
    Bytes(u64),
    /// A share of one.
    Share(f64),
}

impl Cell {
    /// Returns milliseconds, or nothing.
    pub(super) fn millis(value: Option<i64>) -> Cell {
        value.map_or(Cell::None, Cell::Millis)
    }

    /// Returns words.
    pub(super) fn text(value: impl Into<String>) -> Cell {
        Cell::Text(value.into())
    }

    /// Returns a time, to the second.
    pub(super) fn time(at: Timestamp) -> Cell {
        let text = at.to_rfc3339();
        Cell::Text(format!("{}Z", text.split(['.', 'Z']).next().unwrap_or_default()))
    }

    /// Returns an address without credentials.
    pub(super) fn url(value: &str) -> Cell {
        Cell::Url(safe::url(value))
    }

    fn csv(&self) -> String {
        match self {
            Cell::None => String::new(),
            Cell::Text(text) | Cell::Url(text) => field(text),
            Cell::Urls(urls) => field(&urls.join(" ")),
            Cell::Count(n) | Cell::Bytes(n) => n.to_string(),
            Cell::Millis(ms) => ms.to_string(),
            Cell::Share(share) => format!("{share:.4}"),
        }
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Cell::None => serializer.serialize_none(),
            Cell::Text(text) | Cell::Url(text) => serializer.serialize_str(text),
            Cell::Urls(urls) => serializer.collect_seq(urls),
            Cell::Count(n) | Cell::Bytes(n) => serializer.serialize_u64(*n),
            Cell::Millis(ms) => serializer.serialize_i64(*ms),
            Cell::Share(share) => serializer.serialize_f64(*share),
        }
    }
}

/// Quotes a field (RFC 4180). What a spreadsheet would take for a formula is told that it is text.
fn field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// A column: its name in JSON and CSV, and its heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name in JSON and CSV, with the unit.
    pub key: &'static str,
    /// Heading in the page.
    pub title: &'static str,
}

/// A table, its largest rows first.
#[derive(Clone, Debug)]
pub struct Table {
    /// Stable name: an anchor, and the name of its CSV.
    pub id: &'static str,
    /// Caption.
    pub title: &'static str,
    /// What its columns mean, where the headings do not say it.
    pub note: &'static str,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, at most [`CSV_ROWS_MAX`] unless it says otherwise.
    pub rows: Vec<Vec<Cell>>,
    /// How many rows there are in all.
    pub total: u64,
    /// Rows that the page shows at once.
    pub shown: usize,
}

impl Table {
    /// Makes a table of all rows there are; the first ones are kept.
    pub(super) fn new(
        id: &'static str,
        title: &'static str,
        columns: &[(&'static str, &'static str)],
        rows: Vec<Vec<Cell>>,
    ) -> Table {
        Table::within(CSV_ROWS_MAX, id, title, columns, rows)
    }

    /// Makes a table of which up to `most` rows are kept.
    pub(super) fn within(
        most: usize,
        id: &'static str,
        title: &'static str,
        columns: &[(&'static str, &'static str)],
        mut rows: Vec<Vec<Cell>>,
    ) -> Table {
        let total = rows.len() as u64;
        rows.truncate(most);
        let columns = columns.iter().map(|(key, title)| Column { key, title }).collect();
        let shown = super::SHOWN_ROWS_MAX;
        Table { id, title, note: "", columns, rows, total, shown }
    }

    /// Says how many rows there are, where not all were given.
    pub(super) fn of(mut self, total: u64) -> Table {
        self.total = self.total.max(total);
        self
    }

    /// Adds what the headings do not say.
    pub(super) fn note(mut self, note: &'static str) -> Table {
        self.note = note;
        self
    }

    /// Returns the table as CSV (RFC 4180), with a heading.
    pub fn csv(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|column| column.key).collect();
        let mut out = names.join(",");
        out.push_str("\r\n");
        for row in &self.rows {
            out.push_str(&csv_row(row));
        }
        out
    }
}

/// Returns a row of CSV, line end included.
pub(super) fn csv_row(cells: &[Cell]) -> String {
    let fields: Vec<String> = cells.iter().map(Cell::csv).collect();
    fields.join(",") + "\r\n"
}

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("id", self.id)?;
        map.serialize_entry("title", self.title)?;
        map.serialize_entry("total", &self.total)?;
        map.serialize_entry("rows", &Rows(self))?;
        map.end()
    }
}

struct Rows<'t>(&'t Table);

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.0.rows.len()))?;
        for row in &self.0.rows {
            rows.serialize_element(&Row(self.0, row))?;
        }
        rows.end()
    }
}

struct Row<'t>(&'t Table, &'t [Cell]);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pairs = self.0.columns.iter().zip(self.1);
        serializer.collect_map(pairs.map(|(column, cell)| (column.key, cell)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cell: Cell, want: &str) {
        assert_eq!(cell.csv(), want, "{cell:?}");
    }

    #[test]
    fn fields_are_quoted_and_formulas_are_words() {
        check(Cell::text("plain"), "plain");
        check(Cell::text("a,b"), "\"a,b\"");
        check(Cell::text("say \"no\"\nplease"), "\"say \"\"no\"\"\nplease\"");
        check(Cell::text("=cmd()"), "'=cmd()");
        check(Cell::text("@sum, of"), "\"'@sum, of\"");
        check(Cell::Millis(-5), "-5");
        check(Cell::None, "");
    }

    #[test]
    fn a_table_keeps_its_first_rows_and_the_number_of_all() {
        let rows = (0..2000).map(|n| vec![Cell::Count(n)]).collect();
        let table = Table::new("t", "T", &[("n", "N")], rows);
        assert_eq!((table.rows.len(), table.total), (CSV_ROWS_MAX, 2000));
        assert!(table.csv().starts_with("n\r\n0\r\n1\r\n"));
        let json = serde_json::to_value(&table).unwrap();
        assert_eq!(json["rows"][1]["n"], 1);
        assert_eq!(json["total"], 2000);
    }
}
