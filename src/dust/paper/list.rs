//! The URL list: what the miner is given, and what of it is kept (sections 3 and 5.1).

use std::collections::HashMap;

/// One line of a log: a URL was asked for, and this is what is known of the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The URL as it was asked for.
    pub url: String,
    /// The HTTP status.
    pub status: u16,
    /// Least and greatest size of the document in bytes; one access has both equal.
    pub size: Option<(i64, i64)>,
    /// Min-hashes of the document, in the order of their hash functions; empty if unknown.
    pub sketch: Vec<u64>,
}

/// Statuses from here on are errors, and their URLs no part of the list.
const ERROR_STATUS_MIN: u16 = 400;
/// Only such an answer tells the size of the document itself.
const WHOLE_DOCUMENT_STATUS: u16 = 200;

/// The distinct URLs of a log that answered, in the order of their first line.
#[derive(Clone, Debug, Default)]
pub struct UrlList<'a> {
    /// The URLs.
    pub urls: Vec<&'a str>,
    /// The range of sizes seen of each.
    pub sizes: Vec<Option<(i64, i64)>>,
    /// The first sketch seen of each; empty if none.
    pub sketches: Vec<&'a [u64]>,
}

impl<'a> UrlList<'a> {
    /// Keeps the URLs that answered without error, unites their size ranges, and keeps the first
    /// sketch of each.
    pub fn new(records: &'a [Record]) -> Self {
        let mut list = UrlList::default();
        let mut places: HashMap<&str, u32> = HashMap::with_capacity(records.len());
        for record in records.iter().filter(|record| record.status < ERROR_STATUS_MIN) {
            let next = list.urls.len() as u32;
            let place = *places.entry(&record.url).or_insert(next);
            if place == next {
                list.urls.push(&record.url);
                list.sizes.push(None);
                list.sketches.push(&[]);
            }
            let place = place as usize;
            if let (WHOLE_DOCUMENT_STATUS, Some((least, greatest))) = (record.status, record.size) {
                let size = &mut list.sizes[place];
                *size = Some(match *size {
                    None => (least, greatest),
                    Some((low, high)) => (low.min(least), high.max(greatest)),
                });
            }
            if list.sketches[place].is_empty() {
                list.sketches[place] = &record.sketch;
            }
        }
        list
    }

    /// Returns how many URLs there are.
    pub fn len(&self) -> usize {
        self.urls.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.urls.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(url: &str, status: u16, size: Option<(i64, i64)>, sketch: &[u64]) -> Record {
        Record { url: url.to_owned(), status, size, sketch: sketch.to_vec() }
    }

    #[test]
    fn a_list_has_each_url_once_without_errors_and_with_the_range_of_its_sizes() {
        let records = [
            record("a", 200, Some((10, 10)), &[]),
            record("b", 404, Some((5, 5)), &[]),
            record("a", 200, Some((30, 30)), &[7]),
            record("a", 304, Some((1, 1)), &[8]),
            record("c", 301, Some((9, 9)), &[]),
        ];
        let list = UrlList::new(&records);
        assert_eq!(list.urls, ["a", "c"]);
        assert_eq!(list.sizes, [Some((10, 30)), None]);
        assert_eq!(list.sketches, [&[7][..], &[]]);
    }
}
