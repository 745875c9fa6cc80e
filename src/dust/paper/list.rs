//! The URL list: what the miner is given, and what of it is kept (sections 3 and 5.1).

use xxhash_rust::xxh3::xxh3_64;

use super::parts::sort_by_hash;

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
    /// The hash of each URL with its index in the list, sorted.
    pub(super) hashes: Vec<(u64, u32)>,
}

impl<'a> UrlList<'a> {
    /// Keeps the URLs that answered without error, unites their size ranges, and keeps the first
    /// sketch of each.
    pub fn new(records: &'a [Record]) -> Self {
        let answered = |record: &Record| record.status < ERROR_STATUS_MIN;
        // Equal URLs are found by sorting hashes: memory is touched in order, so that a million
        // URLs cost as much each as a thousand.
        let mut hashes = Vec::with_capacity(records.len());
        let known = (0u32..).zip(records).filter(|(_, record)| answered(record));
        hashes.extend(known.map(|(at, record)| (Self::hash(&record.url), at)));
        sort_by_hash(&mut hashes, |entry| entry.0, |part| part.sort_unstable());
        let mut firsts: Vec<u32> = (0..records.len() as u32).collect();
        for run in hashes.chunk_by(|a, b| a.0 == b.0).filter(|run| run.len() > 1) {
            mark_repeated(records, run, &mut firsts);
        }
        hashes.retain(|&(_, at)| firsts[at as usize] == at);
        let mut list = UrlList { hashes, ..UrlList::default() };
        list.urls.reserve_exact(list.hashes.len());
        list.sizes.reserve_exact(list.hashes.len());
        list.sketches.reserve_exact(list.hashes.len());
        for (at, record) in records.iter().enumerate().filter(|(_, record)| answered(record)) {
            let first = firsts[at] as usize;
            // What was a record's index becomes its URL's index in the list.
            if first == at {
                firsts[at] = list.urls.len() as u32;
                list.urls.push(&record.url);
                list.sizes.push(None);
                list.sketches.push(&[]);
            } else {
                firsts[at] = firsts[first];
            }
            list.unite(firsts[at] as usize, record);
        }
        for (_, at) in &mut list.hashes {
            *at = firsts[*at as usize];
        }
        list
    }

    fn unite(&mut self, place: usize, record: &'a Record) {
        if let (WHOLE_DOCUMENT_STATUS, Some((least, greatest))) = (record.status, record.size) {
            let size = &mut self.sizes[place];
            *size = Some(match *size {
                None => (least, greatest),
                Some((low, high)) => (low.min(least), high.max(greatest)),
            });
        }
        if self.sketches[place].is_empty() {
            self.sketches[place] = &record.sketch;
        }
    }

    /// Returns the hash by which `hashes` is sorted.
    pub(super) fn hash(url: &str) -> u64 {
        xxh3_64(url.as_bytes())
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

/// Sets `firsts` to the first record with the same URL, for records with the same hash.
fn mark_repeated(records: &[Record], run: &[(u64, u32)], firsts: &mut [u32]) {
    // More than one only if two URLs share 64 bits of hash.
    let mut distinct: Vec<u32> = Vec::new();
    for &(_, at) in run {
        let url = &records[at as usize].url;
        match distinct.iter().find(|&&first| records[first as usize].url == *url) {
            Some(&first) => firsts[at as usize] = first,
            None => distinct.push(at),
        }
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
        let mut hashes = [(UrlList::hash("a"), 0), (UrlList::hash("c"), 1)];
        hashes.sort_unstable();
        assert_eq!(list.hashes, hashes);
    }
}
