//! The biased front queue selector: better priorities more often, every priority sometimes.

use super::record::PRIORITIES;

/// Chooses the front queue that the next host is taken from.
///
/// Smooth weighted round robin with weights 2^(K-1-p): in 255 turns a queue of priority p that is
/// never empty gets 2^(7-p) of them, so the last one gets one and none starves. Deterministic, so
/// that a simulation replays.
#[derive(Clone, Debug, Default)]
pub struct Selector {
    credit: [i64; PRIORITIES],
    waiting: [u64; PRIORITIES],
}

impl Selector {
    /// Notes that a host entered a front queue.
    pub fn entered(&mut self, priority: u8) {
        self.waiting[usize::from(priority) % PRIORITIES] += 1;
    }

    /// Notes that a host left a front queue.
    pub fn left(&mut self, priority: u8) {
        let waiting = &mut self.waiting[usize::from(priority) % PRIORITIES];
        *waiting = waiting.saturating_sub(1);
    }

    /// Notes that a front queue is empty.
    pub fn clear(&mut self, priority: u8) {
        self.waiting[usize::from(priority) % PRIORITIES] = 0;
    }

    /// Returns how many hosts wait in all front queues.
    pub fn waiting(&self) -> u64 {
        self.waiting.iter().sum()
    }

    /// Returns how many hosts wait at each priority.
    pub fn by_priority(&self) -> [u64; PRIORITIES] {
        self.waiting
    }

    /// Returns the priority to take the next host from, or `None` if no host waits.
    pub fn choose(&mut self) -> Option<u8> {
        let mut best: Option<usize> = None;
        let mut total = 0;
        for priority in 0..PRIORITIES {
            if self.waiting[priority] == 0 {
                continue;
            }
            let weight = 1i64 << (PRIORITIES - 1 - priority);
            total += weight;
            self.credit[priority] += weight;
            if best.is_none_or(|best| self.credit[priority] > self.credit[best]) {
                best = Some(priority);
            }
        }
        let best = best?;
        self.credit[best] -= total;
        Some(best as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_priority_starves_and_better_ones_come_more_often() {
        let mut selector = Selector::default();
        for priority in 0..PRIORITIES as u8 {
            selector.entered(priority);
        }
        let mut turns = [0u32; PRIORITIES];
        for _ in 0..255 {
            turns[usize::from(selector.choose().unwrap())] += 1;
        }
        assert_eq!(turns, [128, 64, 32, 16, 8, 4, 2, 1]);
    }

    #[test]
    fn only_queues_with_hosts_are_chosen() {
        let mut selector = Selector::default();
        assert_eq!(selector.choose(), None);
        selector.entered(6);
        assert_eq!(selector.choose(), Some(6));
        selector.left(6);
        assert_eq!(selector.choose(), None);
    }
}
