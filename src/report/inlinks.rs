//! The links that lead to broken URLs: how they are written, and what is not known of them.
//!
//! They are no table, for they may be more than memory holds: each is a row of a file of its own.

use super::plot::grouped;
use super::table::{Cell, csv_row};
use crate::crawl::inlinks::{Fault, Inlink, Inlinks};

/// Name of the file, beside those of the tables.
pub const INLINKS_FILE: &str = "inlinks.csv";

/// First line of the file, line end included.
pub const INLINKS_HEAD: &str = "url,status,reason,page,link\r\n";

/// Returns a link as a row of the file, line end included.
pub fn inlink_row(inlink: &Inlink<'_>) -> String {
    let Fault { status, reason } = inlink.fault;
    csv_row(&[
        Cell::url(inlink.url),
        status.map_or(Cell::None, |status| Cell::Count(status.into())),
        Cell::text(reason.as_str()),
        Cell::url(inlink.page),
        Cell::url(inlink.link),
    ])
}

/// Says of which pages and links it is not known whether they lead to broken links.
pub(super) fn unknown(found: &Inlinks) -> Vec<String> {
    if found.is_blind() {
        let why = "the archive gives no page with links: of the pages that lead to a broken link \
                   only the one on which it was found first is known";
        return vec![why.to_owned()];
    }
    let counts = [
        (found.unread, "pages with links are not in the archive, or cannot be read there"),
        (found.redirects_unknown, "redirects are too many, or not in the archive"),
        (found.urls_beyond, "broken links are more than are looked for on pages"),
    ];
    let some = counts.into_iter().filter(|(count, _)| *count > 0);
    let said = some.map(|(count, what)| {
        format!("{} {what}: pages that lead to broken links may be missing", grouped(count))
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_a_row_with_what_is_wrong_and_without_credentials() {
        let check = |status: Option<u16>, reason: &str, want: &str| {
            let fault = &Fault { status, reason: reason.to_owned() };
            let [url, page, link] = ["http://a.test/x,y", "http://a.test/", "http://a.test/?sid=1"];
            let row = inlink_row(&Inlink { url, fault, page, link });
            assert_eq!(row, want);
        };
        let rest = "http://a.test/,http://a.test/?sid=[hidden]\r\n";
        check(Some(404), "", &format!("\"http://a.test/x,y\",404,,{rest}"));
        check(None, "timeout", &format!("\"http://a.test/x,y\",,timeout,{rest}"));
        assert_eq!(INLINKS_HEAD.split(',').count(), 5);
    }

    #[test]
    fn what_could_not_be_looked_into_is_said() {
        assert!(unknown(&Inlinks::default()).is_empty(), "there was nothing to look into");
        let mut found = Inlinks::default();
        found.unread = 3;
        let blind = unknown(&found);
        assert!(blind[0].contains("gives no page"), "{blind:?}");
        (found.read, found.urls_beyond) = (1, 2000);
        let some = unknown(&found);
        assert_eq!(some.len(), 2);
        assert!(some[1].starts_with("2,000 broken links"), "{some:?}");
    }
}
