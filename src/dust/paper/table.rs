//! The tokenized list in two orders: by first tokens and by last tokens.
//!
//! URLs that share a prefix stand side by side in the one order, URLs that share a suffix in the
//! other. So buckets are found by sorting and comparing tokens, without a hash of any envelope:
//! there are no collisions to check, and memory is linear in the text.

use super::list::UrlList;
use super::token::{TokenId, TokenTable, tokens};

/// URLs longer than this many tokens are left out: it is far more than browsers and servers take,
/// and the work for a URL may grow with the square of its length.
const TOKENS_MAX: usize = 4_000;

/// URLs beyond so many tokens in all are left out: more numbers than that are not free for them.
const TOKENS_TOTAL_MAX: usize = 1 << 31;

/// Ranks that are looked through at most for what two URLs share: they lie in a few cache lines.
const NEIGHBOURS_MAX: usize = 64;

/// The tokens of a list. A URL's place is its rank by first tokens.
pub(super) struct Table<'a> {
    /// The texts of the tokens.
    pub(super) texts: TokenTable<'a>,
    /// All tokens, URL after URL, sentinels included.
    tokens: Vec<TokenId>,
    /// Where each URL starts in `tokens`, and the end.
    starts: Vec<u32>,
    /// The index in the list of the URL at each place.
    pub(super) order: Vec<u32>,
    /// How many tokens each URL shares with the one before it.
    pub(super) shared: Vec<u16>,
    /// The rank by last tokens of the URL at each place.
    pub(super) suffix_rank: Vec<u32>,
    /// The place of the URL at each rank by last tokens.
    pub(super) by_suffix: Vec<u32>,
    /// How many tokens the URL at each rank by last tokens has.
    pub(super) suffix_len: Vec<u16>,
    /// How many last tokens it shares with the one at the rank before.
    suffix_shared: Vec<u16>,
}

impl<'a> Table<'a> {
    /// Tokenizes and sorts a list.
    pub(super) fn new(list: &UrlList<'a>) -> Self {
        let mut texts = TokenTable::new();
        // A byte is a token at most, and a URL has two sentinels.
        let mut read = roomy(list.urls.iter().map(|url| url.len() + 2).sum());
        let mut starts = Vec::with_capacity(list.len() + 1);
        let mut kept = Vec::with_capacity(list.len());
        starts.push(0);
        for (index, url) in list.urls.iter().enumerate() {
            let start = read.len();
            read.push(TokenTable::BEGIN);
            read.extend(tokens(url).map(|token| texts.number(token)));
            read.push(TokenTable::END);
            if read.len() - start > TOKENS_MAX || read.len() > TOKENS_TOTAL_MAX {
                read.truncate(start);
                continue;
            }
            kept.push(index as u32);
            starts.push(read.len() as u32);
        }
        texts.close();
        let Sorted { urls: mut ranks, shared } = sorted::<false>(&read, &starts);
        let mut tokens = Vec::with_capacity(read.len());
        let mut sorted_starts = Vec::with_capacity(starts.len());
        sorted_starts.push(0);
        for rank in &mut ranks {
            let from = *rank as usize;
            tokens.extend_from_slice(&read[starts[from] as usize..starts[from + 1] as usize]);
            sorted_starts.push(tokens.len() as u32);
            *rank = kept[from];
        }
        drop((read, starts, kept));
        let mut table = Table {
            texts,
            tokens,
            starts: sorted_starts,
            order: ranks,
            shared,
            suffix_rank: Vec::new(),
            by_suffix: Vec::new(),
            suffix_len: Vec::new(),
            suffix_shared: Vec::new(),
        };
        let by_suffix = sorted::<true>(&table.tokens, &table.starts);
        table.by_suffix = by_suffix.urls;
        table.suffix_shared = by_suffix.shared;
        table.suffix_rank = vec![0; table.len()];
        for (rank, &place) in table.by_suffix.iter().enumerate() {
            table.suffix_rank[place as usize] = rank as u32;
        }
        let at = |rank: usize| table.by_suffix[rank] as usize;
        let len = |rank| table.url_len(at(rank)) as u16;
        table.suffix_len = (0..table.len()).map(len).collect();
        table
    }

    /// Frees everything but the texts of the tokens.
    pub(super) fn into_texts(self) -> TokenTable<'a> {
        self.texts
    }

    /// Returns how many URLs there are.
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns the tokens of the URL at a place.
    #[inline]
    pub(super) fn url(&self, place: usize) -> &[TokenId] {
        &self.tokens[self.starts[place] as usize..self.starts[place + 1] as usize]
    }

    /// Returns how many tokens the URL at a place has.
    #[inline]
    pub(super) fn url_len(&self, place: usize) -> usize {
        (self.starts[place + 1] - self.starts[place]) as usize
    }

    /// Returns how many last tokens the URLs at two ranks by last tokens share, the lesser first.
    ///
    /// That is the least that neighbours between them share. Where they are far apart, it is asked
    /// of the URLs themselves: then there are few, and their tokens are near by.
    #[inline]
    pub(super) fn shared_between(&self, lesser: u32, greater: u32) -> usize {
        let (lesser, greater) = (lesser as usize, greater as usize);
        if greater - lesser > NEIGHBOURS_MAX {
            let place = |rank: usize| self.by_suffix[rank] as usize;
            return self.shared_suffix(place(lesser), place(greater));
        }
        let between = &self.suffix_shared[lesser + 1..=greater];
        between.iter().min().map_or(0, |&least| usize::from(least))
    }

    /// Returns how many last tokens two URLs share.
    fn shared_suffix(&self, a: usize, b: usize) -> usize {
        let (a, b) = (self.url(a), self.url(b));
        a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count()
    }

    /// Returns the longest URL in tokens.
    pub(super) fn longest(&self) -> usize {
        (0..self.len()).map(|place| self.url_len(place)).max().unwrap_or(0)
    }
}

/// Returns an empty list with room for so many, so that it never moves; what is not written takes
/// no memory. If there is less address space than that, it grows as it must.
pub(super) fn roomy<T>(most: usize) -> Vec<T> {
    let mut list = Vec::new();
    let _ = list.try_reserve_exact(most);
    list
}

/// The URLs of a list in an order of their tokens.
struct Sorted {
    /// The URL at each rank.
    urls: Vec<u32>,
    /// How many tokens it shares with the one at the rank before.
    shared: Vec<u16>,
}

/// Sorts the URLs by their tokens, from the end if `BACKWARD`. Which token comes first is arbitrary
/// but fixed; equal prefixes (suffixes) stand together, which is all that is needed.
///
/// A multikey sort that looks at two tokens at a time: the keys of a group are copied beside the
/// numbers, so that sorting them touches no other memory. All groups of one depth are read before
/// any is sorted: their URLs lie all over the memory, and only reads that wait for nothing else
/// wait together.
fn sorted<const BACKWARD: bool>(tokens: &[TokenId], starts: &[u32]) -> Sorted {
    let count = starts.len() - 1;
    let mut entries: Vec<(u64, u32)> = (0..count as u32).map(|url| (0, url)).collect();
    let key = |url: u32, depth: usize| -> u64 {
        let url = &tokens[starts[url as usize] as usize..starts[url as usize + 1] as usize];
        let at = |depth: usize| {
            let token = if BACKWARD {
                url.len().checked_sub(depth + 1).map(|at| url[at])
            } else {
                url.get(depth).copied()
            };
            token.map_or(0, |token| u64::from(token) + 1)
        };
        at(depth) << 32 | at(depth + 1)
    };
    let mut shared = vec![0; count];
    let mut groups = vec![(0u32, count as u32)];
    let mut deeper = Vec::new();
    let mut depth = 0;
    while !groups.is_empty() {
        for &(from, to) in &groups {
            for entry in &mut entries[from as usize..to as usize] {
                entry.0 = key(entry.1, depth);
            }
        }
        for (from, to) in groups.drain(..) {
            let group = &mut entries[from as usize..to as usize];
            if group.iter().any(|entry| entry.0 != group[0].0) {
                group.sort_unstable();
            }
            let mut start = from as usize;
            let mut before = 0;
            for run in group.chunk_by(|a, b| a.0 == b.0) {
                if start > from as usize {
                    shared[start] = (depth + usize::from(run[0].0 >> 32 == before >> 32)) as u16;
                }
                before = run[0].0;
                // A key whose second half is empty ends its URL, and URLs are distinct.
                if run.len() > 1 && before as u32 != 0 {
                    deeper.push((start as u32, (start + run.len()) as u32));
                }
                start += run.len();
            }
        }
        std::mem::swap(&mut groups, &mut deeper);
        depth += 2;
    }
    Sorted { urls: entries.into_iter().map(|(_, url)| url).collect(), shared }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_with_a_common_prefix_or_suffix_stand_together() {
        let urls = vec!["h/a/1", "h/b/1", "h/a", "g/a/1", "h/a/12", "", "h/a/1/2/3", "1"];
        let count = urls.len();
        let list = UrlList { urls, ..UrlList::default() };
        let table = Table::new(&list);
        for place in 1..count {
            let url = table.url(place);
            let shared =
                |other| url.iter().zip(table.url(other)).take_while(|(a, b)| a == b).count() as u16;
            assert_eq!(Some(table.shared[place]), (0..place).map(shared).max());
            let at = |rank: usize| table.by_suffix[rank] as usize;
            let best = (0..place).map(|other| table.shared_suffix(at(other), at(place))).max();
            assert_eq!(Some(table.shared_suffix(at(place - 1), at(place))), best);
        }
        for (place, &index) in table.order.iter().enumerate() {
            let rank = table.suffix_rank[place] as usize;
            assert_eq!(usize::from(table.suffix_len[rank]), table.url_len(place));
            let text: String =
                table.url(place).iter().map(|&token| table.texts.text(token)).collect();
            assert_eq!(text, format!("\u{2}{}\u{3}", list.urls[index as usize]));
            assert_eq!(table.by_suffix[table.suffix_rank[place] as usize] as usize, place);
        }
    }

    #[test]
    fn what_two_ranks_share_is_what_their_urls_do() {
        let texts: Vec<String> =
            (0..300).map(|n| format!("h{}/{}/{}", n % 7, n % 20, n % 3)).collect();
        let mut urls: Vec<&str> = texts.iter().map(String::as_str).collect();
        urls.sort_unstable();
        urls.dedup();
        assert!(urls.len() > 2 * NEIGHBOURS_MAX);
        let list = UrlList { urls, ..UrlList::default() };
        let table = Table::new(&list);
        let at = |rank: u32| table.by_suffix[rank as usize] as usize;
        for greater in 1..table.len() as u32 {
            for lesser in 0..greater {
                let want = table.shared_suffix(at(lesser), at(greater));
                assert_eq!(table.shared_between(lesser, greater), want);
            }
        }
    }
}
