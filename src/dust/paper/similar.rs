//! The third heuristic: which pairs of URLs are likely similar, by what the log says (section 4).

use super::list::UrlList;
use super::settings::{Cue, Settings};

/// Judges pairs of one list. Unknown counts as similar: only what was found different is refused.
#[derive(Clone, Debug)]
pub(super) enum Likeness {
    /// Ranges of sizes, in the order of the list; unknown sizes overlap with everything.
    Sizes(Vec<(i64, i64)>),
    /// The first values of each sketch.
    Sketches { values: Vec<u64>, known: Vec<u16>, width: usize, least: usize },
    /// No cue.
    Unknown,
}

/// The cue that a list offers, if none was asked for.
pub(super) fn resolve(cue: Cue, list: &UrlList<'_>) -> Cue {
    match cue {
        Cue::Auto if list.sketches.iter().any(|sketch| !sketch.is_empty()) => Cue::Sketch,
        Cue::Auto if list.sizes.iter().any(Option::is_some) => Cue::Size,
        Cue::Auto => Cue::None,
        given => given,
    }
}

impl Likeness {
    /// Gathers what the comparisons need, one entry for each place of `order`.
    pub(super) fn new(list: &UrlList<'_>, settings: &Settings, order: &[u32]) -> Self {
        match resolve(settings.cue, list) {
            Cue::Size => Likeness::Sizes(
                order
                    .iter()
                    .map(|&at| list.sizes[at as usize].unwrap_or((i64::MIN, i64::MAX)))
                    .collect(),
            ),
            Cue::Sketch => {
                let width = settings.sketch_values.min(usize::from(u16::MAX));
                let mut values = Vec::with_capacity(width.saturating_mul(order.len()));
                let mut known = Vec::with_capacity(order.len());
                for &at in order {
                    let sketch = list.sketches[at as usize];
                    let used = sketch.len().min(width);
                    values.extend_from_slice(&sketch[..used]);
                    values.extend(std::iter::repeat_n(0, width - used));
                    // One more than the values, so that a known sketch of which none is compared
                    // differs from an unknown one.
                    known.push(if sketch.is_empty() { 0 } else { used as u16 + 1 });
                }
                let least = settings.sketch_values_min;
                Likeness::Sketches { values, known, width, least }
            }
            Cue::None | Cue::Auto => Likeness::Unknown,
        }
    }

    /// Returns whether two URLs, by their places, were not found different.
    #[inline]
    pub(super) fn likely_similar(&self, a: usize, b: usize) -> bool {
        match self {
            Likeness::Sizes(sizes) => {
                let ((a_low, a_high), (b_low, b_high)) = (sizes[a], sizes[b]);
                a_low <= b_high && b_low <= a_high
            }
            Likeness::Sketches { values, known, width, least } => {
                if known[a] == 0 || known[b] == 0 {
                    return true;
                }
                let compared = usize::from(known[a].min(known[b])) - 1;
                let a = &values[a * width..a * width + compared];
                let b = &values[b * width..b * width + compared];
                a.iter().zip(b).filter(|(x, y)| x == y).count() >= *least
            }
            Likeness::Unknown => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_match_when_their_ranges_overlap_or_one_is_unknown() {
        let list = UrlList {
            urls: vec!["a", "b", "c", "d"],
            sizes: vec![Some((10, 20)), Some((20, 25)), Some((21, 22)), None],
            sketches: vec![&[]; 4],
            ..UrlList::default()
        };
        let like = Likeness::new(&list, &Settings::default(), &[0, 1, 2, 3]);
        for (a, b, want) in [(0, 1, true), (1, 2, true), (0, 2, false), (0, 3, true)] {
            assert_eq!(like.likely_similar(a, b), want, "{a} {b}");
            assert_eq!(like.likely_similar(b, a), want, "{b} {a}");
        }
    }

    #[test]
    fn sketches_match_when_enough_of_their_first_values_agree() {
        let list = UrlList {
            urls: vec!["a", "b", "c", "d", "e"],
            sizes: vec![None; 5],
            sketches: vec![&[1, 2, 3, 4, 9], &[1, 2, 7, 8, 9], &[1, 6, 7, 0, 9], &[1, 2], &[]],
            ..UrlList::default()
        };
        let settings = Settings { sketch_values_min: 2, ..Settings::default() };
        let like = Likeness::new(&list, &settings, &[0, 1, 2, 3, 4]);
        for (a, b, want) in [(0, 1, true), (0, 2, false), (0, 3, true), (2, 3, false), (2, 4, true)]
        {
            assert_eq!(like.likely_similar(a, b), want, "{a} {b}");
        }
    }
}
