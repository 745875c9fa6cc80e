//! The numbers of a page: all that tells one page of measurements, times or results from the next,
//! where both are made of the same words.
//!
//! [`super::Analysis::core_digest`] takes all numbers for one, as counters, dates and the months of
//! a calendar are no new text. Here they count, in the company of the words around them, but for
//! those that the address of the page says already: the month of a calendar is in its address, the
//! rate of a day is not. Numbers in blocks of links are left out, since they name other pages.
//!
//! Does not judge: what follows from new figures is the part of [`super::trap`].

use super::Words;
use super::shingle::{Piece, for_each_shingle, mix};
use super::trap::Sample;

/// Words in a window: as many as a shingle has by default.
const WIDTH: usize = 4;

/// What is remembered of the numbers of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// A sample of the windows that have one of them.
    pub(super) sample: Sample,
    /// Digest of all these windows, in any order.
    pub(super) digest: u32,
    /// How many numbers there are.
    pub(super) numbers: u32,
    /// Whether they are a part of what the page says: a third of its own words at least. A counter
    /// below a text is not.
    pub(super) are_text: bool,
}

impl Figures {
    /// Returns the figures of the pieces of a page at `target`, which has `own_words` of its own.
    pub(super) fn of(words: &Words, pieces: &[Piece], target: &str, own_words: u32) -> Figures {
        let said = said_by(target);
        let is_figure = |at: usize| words.is_number(at) && !said.contains(&words.hashes()[at]);
        let word = |at: usize| match words.is_number(at) && !is_figure(at) {
            true => words.masked(at),
            false => words.hashes()[at],
        };
        let mut windows = Vec::new();
        let mut numbers = 0u32;
        for piece in pieces {
            let before = numbers;
            let figures = (piece.start..piece.end).filter(|at| is_figure(*at)).count();
            numbers = numbers.saturating_add(super::count(figures));
            if numbers == before {
                continue;
            }
            for_each_shingle(*piece, WIDTH, word, |first, width, window| {
                if (first..first + width).any(is_figure) {
                    windows.push(window);
                }
            });
        }
        let are_text = numbers > 0 && numbers.saturating_mul(3) >= own_words;
        Figures { are_text, ..Figures::of_windows(&windows, numbers) }
    }

    fn of_windows(windows: &[u64], numbers: u32) -> Figures {
        let sum = windows.iter().fold(0u64, |sum, window| sum.wrapping_add(*window));
        let digest = (mix(sum) >> 32) as u32;
        Figures { sample: Sample::of(windows), digest, numbers, are_text: false }
    }

    /// Returns figures that are known by `seed`, for tests.
    #[cfg(test)]
    pub(super) fn drawn(seed: u64, numbers: u32) -> Figures {
        let windows: Vec<u64> = (0..u64::from(numbers)).map(|n| mix(mix(seed) ^ n)).collect();
        Figures { are_text: numbers > 0, ..Figures::of_windows(&windows, numbers) }
    }
}

/// Numbers of an address that are looked at.
const SAID_MAX: usize = 32;

/// Returns the hashes of the numbers that an address says, with and without a zero in front.
pub(super) fn said_by(target: &str) -> Vec<u64> {
    let runs = target.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty());
    let mut said = Vec::new();
    for run in runs.take(SAID_MAX) {
        let bare = run.trim_start_matches('0');
        for form in [run, bare, &format!("0{bare}")] {
            said.extend_from_slice(Words::of(form).hashes());
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(target: &str, text: &str) -> Figures {
        let words = Words::of(text);
        let piece = Piece { start: 0, end: words.len() };
        Figures::of(&words, &[piece], target, 0)
    }

    #[test]
    fn what_the_address_says_is_no_figure() {
        assert_eq!(of("/2024/3", "Nothing happens in 03 2024").numbers, 0);
        assert_eq!(of("/cal?m=03", "Nothing happens in month 3").numbers, 0);
        assert_eq!(of("/day/7", "No number here").numbers, 0);
        let rates = of("/2024/3", "In 3 2024 a crown was 17 cents");
        assert_eq!(rates.numbers, 1);
        assert_eq!(rates, of("/2023/4", "In 4 2023 a crown was 17 cents"));
        assert_ne!(rates, of("/2024/3", "In 3 2024 a crown was 18 cents"));
    }

    #[test]
    fn a_counter_below_a_text_is_no_part_of_it() {
        let words = Words::of("you are visitor 1234 of this page");
        let piece = [Piece { start: 0, end: words.len() }];
        assert!(Figures::of(&words, &piece, "/", 3).are_text);
        assert!(!Figures::of(&words, &piece, "/", 200).are_text);
    }
}
