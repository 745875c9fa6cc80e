//! Sorting by hash in parts that fit into the processor's caches.

/// Parts: by the upper bits of the hash. A million entries of 32 bytes make parts of 128 KiB.
const PARTS: usize = 1 << 8;

/// Sorts entries by a hash that is spread evenly, and those of one hash as `sort` leaves them: the
/// cost per entry hardly depends on how many there are.
///
/// `sort` is given all entries of a part at once, and has to put equal hashes together. In place:
/// each entry is moved to its part by one exchange (American flag sort).
pub(super) fn sort_by_hash<T: Copy>(
    entries: &mut [T],
    hash: impl Fn(&T) -> u64,
    mut sort: impl FnMut(&mut [T]),
) {
    let part = |entry: &T| (hash(entry) >> (u64::BITS - PARTS.ilog2())) as usize;
    let mut ends = [0usize; PARTS];
    entries.iter().for_each(|entry| ends[part(entry)] += 1);
    let mut next = [0usize; PARTS];
    let mut sum = 0;
    for (next, end) in next.iter_mut().zip(&mut ends) {
        *next = sum;
        sum += *end;
        *end = sum;
    }
    let mut start = 0;
    for own in 0..PARTS {
        while next[own] < ends[own] {
            let at = next[own];
            let other = part(&entries[at]);
            if other != own {
                entries.swap(at, next[other]);
            }
            next[other] += 1;
        }
        sort(&mut entries[start..ends[own]]);
        start = ends[own];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dust::paper::support::mix;

    #[test]
    fn entries_are_sorted_however_many_they_are() {
        for count in [0u64, 1, 2, 255, 5000] {
            let mut entries: Vec<(u64, u64)> =
                (0..count).rev().map(|n| (mix(n / 3 + 1), n)).collect();
            let mut want = entries.clone();
            want.sort_unstable();
            sort_by_hash(&mut entries, |entry| entry.0, |part| part.sort_unstable());
            assert_eq!(entries, want);
        }
    }

    #[test]
    fn entries_that_all_fall_into_one_part_are_sorted_too() {
        let mut entries = [3u64, 1, 2, 1];
        sort_by_hash(&mut entries, |entry| *entry, |part| part.sort_unstable());
        assert_eq!(entries, [1, 1, 2, 3]);
    }
}
