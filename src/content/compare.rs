//! Two pages side by side: what the sketches say, and what is so.

use serde::Serialize;

use super::{
    Analysis, Boilerplate, Content, Page, Settings, Sketch, WideSketch, containment, resemblance,
};

/// How alike two pages are, by every measure there is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Words of the first page's main text.
    pub words_a: u32,
    /// Words of the second page's main text.
    pub words_b: u32,
    /// Whether either is thin: then nothing below is evidence.
    pub thin: bool,
    /// Whether the main texts have the same digest.
    pub same_text: bool,
    /// Whether they are the same but for boilerplate and numbers.
    pub same_core: bool,
    /// Exact resemblance of their shingles.
    pub resemblance: f64,
    /// Share of the first text's shingles that the second has.
    pub a_in_b: f64,
    /// Share of the second text's shingles that the first has.
    pub b_in_a: f64,
    /// Resemblance estimated from the sketches of the crawl log, and its standard error.
    pub sketch: Option<Estimate>,
    /// Resemblance estimated from the sketches of the index, and its standard error.
    pub wide: Option<Estimate>,
}

/// An estimated resemblance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate.
    pub resemblance: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// Compares two pages of one site (or of none, with the default boilerplate).
pub fn compare(a: &Page<'_>, b: &Page<'_>, known: &Boilerplate, settings: &Settings) -> Comparison {
    let mut content = Content::new(settings.clone());
    let one = content.analyse(a, known);
    let shingles_a = std::mem::take(&mut content.shingles);
    let other = content.analyse(b, known);
    let shingles_b = std::mem::take(&mut content.shingles);
    Comparison {
        words_a: one.words,
        words_b: other.words,
        thin: one.thin || other.thin,
        same_text: one.text_digest == other.text_digest,
        same_core: one.core_digest == other.core_digest,
        resemblance: resemblance(&shingles_a, &shingles_b),
        a_in_b: containment(&shingles_a, &shingles_b),
        b_in_a: containment(&shingles_b, &shingles_a),
        sketch: estimate_few(&one, &other),
        wide: estimate_wide(&one, &other),
    }
}

fn estimate_few(a: &Analysis, b: &Analysis) -> Option<Estimate> {
    let resemblance = a.sketch?.resemblance(&b.sketch?);
    Some(Estimate { resemblance, standard_error: Sketch::standard_error(resemblance) })
}

fn estimate_wide(a: &Analysis, b: &Analysis) -> Option<Estimate> {
    let resemblance = a.wide?.resemblance(&b.wide?);
    Some(Estimate { resemblance, standard_error: WideSketch::standard_error(resemblance) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Block;
    use crate::content::pages::{Script, edit, text, written};

    fn check(a: &str, b: &str) -> Comparison {
        let (a, b) = ([Block::paragraph(a)], [Block::paragraph(b)]);
        let page = |blocks| Page { blocks, ..Page::default() };
        compare(&page(&a), &page(&b), &Boilerplate::default(), &Settings::default())
    }

    #[test]
    fn estimates_lie_within_three_standard_errors_of_what_is_so() {
        for seed in 0..30 {
            let words = text(seed, 500);
            let edited = edit(&words, 0.02 * (seed % 6) as f64, seed);
            let both = [words, edited].map(|words| written(&words, Script::Latin));
            let got = check(&both[0], &both[1]);
            let wide = got.wide.unwrap();
            let error = WideSketch::standard_error(got.resemblance);
            assert!((wide.resemblance - got.resemblance).abs() <= 3.0 * error + 1e-9, "{got:?}");
            assert_eq!(got.same_text, seed % 6 == 0);
        }
    }

    #[test]
    fn a_part_is_contained_in_the_whole_without_resembling_it() {
        let whole = written(&text(1, 400), Script::Latin);
        let part = written(&text(1, 100), Script::Latin);
        let got = check(&part, &whole);
        assert_eq!(got.a_in_b, 1.0);
        assert!(got.b_in_a < 0.3 && got.resemblance < 0.3);
    }

    #[test]
    fn thin_pages_have_no_estimate() {
        let got = check("hello world", "hello world");
        assert!(got.thin && got.same_text && got.sketch.is_none());
    }
}
