//! The main text of pages as plain text, one for every group of duplicates.
//!
//! Before each text stands its URL on a line of its own, and after it an empty line:
//! ```text
//! # http://example.org/story
//! First block.
//! Second block.
//! ```
//! A block of a text that begins with `#` is indented by one space, so that no page can pretend to
//! be the head of another.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;

use super::rows::{Reader, Wanted};
use super::{DatasetError, TEXTS_MAX, Written};
use crate::archive::ArchiveError;

/// Writes the texts of pages; `all` also those that are there already. Error pages, in disguise or
/// not, are left out unless a status is asked for. `name` is what errors call the output.
///
/// # Errors
/// Returns what the archive, the database or the output says.
pub fn export_text(
    reader: Reader<'_>,
    wanted: &Wanted,
    all: bool,
    out: &mut dyn Write,
    name: &Path,
) -> Result<Written, DatasetError> {
    let mut clusters = HashSet::new();
    reader.read(wanted, |row, written| {
        // Error pages have text too, but none that anybody asked for unless by status.
        let is_page = row.status.is_none_or(|status| (200..300).contains(&status));
        let is_junk = row.judged.as_ref().is_some_and(|judged| judged.starts_with("junk:"));
        let is_wanted = !wanted.selection.statuses.is_empty() || (is_page && !is_junk);
        let Some(text) = row.text.as_ref().filter(|_| is_wanted) else {
            written.left_out_without_text += 1;
            return Ok(false);
        };
        let near = row.near_cluster.as_ref();
        let is_told = row.repeats || near.is_some_and(|cluster| clusters.contains(cluster));
        if is_told && !all {
            written.left_out_as_duplicates += 1;
            return Ok(false);
        }
        if let Some(cluster) = near.filter(|_| clusters.len() < TEXTS_MAX) {
            clusters.insert(cluster.clone());
        }
        let piece = piece(&row.url, text);
        put(out, name, &piece)?;
        written.rows += 1;
        written.bytes += piece.len() as u64;
        Ok(true)
    })
}

fn put(out: &mut dyn Write, name: &Path, piece: &str) -> Result<(), ArchiveError> {
    out.write_all(piece.as_bytes()).map_err(|why| ArchiveError::write(name, why))
}

fn piece(url: &str, text: &str) -> String {
    let mut piece = format!("# {url}\n");
    for line in text.lines() {
        if line.starts_with('#') {
            piece.push(' ');
        }
        piece.push_str(line);
        piece.push('\n');
    }
    piece.push('\n');
    piece
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_names_the_file() {
        let mut full: &mut [u8] = &mut [0; 4];
        let error = put(&mut full, Path::new("texts.txt"), "# http://a.test/").unwrap_err();
        assert!(error.to_string().starts_with("write texts.txt: "), "{error}");
    }

    #[test]
    fn no_text_can_pretend_to_be_the_head_of_another() {
        let piece = piece("http://a.test/", "one\n# http://b.test/\ntwo");
        assert_eq!(piece, "# http://a.test/\none\n # http://b.test/\ntwo\n\n");
    }
}
