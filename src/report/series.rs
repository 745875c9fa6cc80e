//! Counts over time in bounded memory: when the buckets are full, two become one.

/// Buckets at most; between half of them and all are in use.
const BUCKETS_MAX: usize = 240;

/// What is counted in each bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Requests of every kind.
    pub(super) requests: u64,
    /// Pages fetched.
    pub(super) pages: u64,
    /// Pages with new text.
    pub(super) new: u64,
    /// Pages whose text was known.
    pub(super) duplicates: u64,
    /// Bytes as transferred.
    pub(super) bytes: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Tally) {
        self.requests += other.requests;
        self.pages += other.pages;
        self.new += other.new;
        self.duplicates += other.duplicates;
        self.bytes += other.bytes;
    }
}

/// Tallies over time.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    origin: u64,
    width: u64,
    buckets: Vec<Tally>,
}

impl Series {
    /// Counts at a time in milliseconds; what comes before the first is counted with it.
    pub(super) fn add(&mut self, at: u64, tally: &Tally) {
        if self.width == 0 {
            (self.origin, self.width) = (at, 1000);
        }
        let since = at.saturating_sub(self.origin);
        while since / self.width >= BUCKETS_MAX as u64 {
            self.halve();
        }
        let index = (since / self.width) as usize;
        if index >= self.buckets.len() {
            self.buckets.resize(index + 1, Tally::default());
        }
        self.buckets[index].add(tally);
    }

    fn halve(&mut self) {
        self.width = self.width.saturating_mul(2);
        let pairs = self.buckets.chunks(2).map(|pair| {
            let mut sum = Tally::default();
            pair.iter().for_each(|tally| sum.add(tally));
            sum
        });
        self.buckets = pairs.collect();
    }

    /// Returns the width of a bucket in milliseconds.
    pub(super) fn width(&self) -> u64 {
        self.width.max(1)
    }

    /// Returns the time of the first bucket, in milliseconds since the epoch.
    pub(super) fn origin(&self) -> u64 {
        self.origin
    }

    /// Returns the buckets.
    pub(super) fn buckets(&self) -> &[Tally] {
        &self.buckets
    }

    /// Returns the sums up to the end of each bucket.
    pub(super) fn sums(&self) -> Vec<Tally> {
        let mut sum = Tally::default();
        let step = |tally: &Tally| {
            sum.add(tally);
            sum
        };
        self.buckets.iter().map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_however_long_it_takes() {
        let mut series = Series::default();
        let one = Tally { requests: 1, ..Tally::default() };
        for second in 0..100_000u64 {
            series.add(5_000_000 + second * 1000, &one);
        }
        assert!(series.buckets().len() <= BUCKETS_MAX);
        assert!(series.buckets().len() > BUCKETS_MAX / 3);
        assert_eq!(series.sums().last().map(|tally| tally.requests), Some(100_000));
    }
}
