//! What owners say about the use of their texts, read from every place where they say it.
//!
//! Sources: draft-ietf-aipref-attach and draft-ietf-aipref-vocab (`Content-Usage`, categories
//! `train-ai` and `search` with `y` or `n`, in robots.txt for a path prefix), contentsignals.org
//! (`Content-Signal`, `search`, `ai-input` and `ai-train` with `yes` or `no`), the TDM Reservation
//! Protocol (`TDM-Reservation: 1`), and robots directives (`noindex`, and `noai` by habit). Where
//! they differ, the one that allows less holds.

use serde::Serialize;

/// What a text is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// To be found by a search engine.
    Search,
    /// To be given to a model with a question.
    AiInput,
    /// To train a model.
    AiTrain,
    /// Text and data mining in general.
    Tdm,
}

/// An owner's word on one purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Said {
    /// Nothing.
    #[default]
    Nothing,
    /// It is allowed.
    Yes,
    /// It is not.
    No,
}

impl Said {
    fn hear(&mut self, allowed: bool) {
        *self = match (*self, allowed) {
            (_, false) | (Said::No, _) => Said::No,
            (_, true) => Said::Yes,
        };
    }

    /// Returns `yes`, `no`, or nothing.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Said::Nothing => None,
            Said::Yes => Some("yes"),
            Said::No => Some("no"),
        }
    }
}

/// All that an owner says about one page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Preferences {
    /// For search.
    pub search: Said,
    /// As input to a model.
    pub ai_input: Said,
    /// For training.
    pub ai_train: Said,
    /// For text and data mining.
    pub tdm: Said,
    /// Every line as it was found, with its place: `header content-signal: ai-train=no`.
    pub raw: Vec<String>,
}

/// Lines of one page that are kept; a page that says more says it for nobody.
const RAW_MAX: usize = 32;

impl Preferences {
    /// Takes in a line: where it stood, its name and its value. `path` is path and query of the
    /// page, for lines that hold for a part of a site.
    pub fn hear(&mut self, place: &str, name: &str, value: &str, path: &str) {
        let name = name.trim().to_ascii_lowercase();
        let value = value.trim();
        let of_page = match name.as_str() {
            // In robots.txt a path may come first; it holds for what begins so.
            "content-usage" if place == "robots" => match value.split_once(char::is_whitespace) {
                Some((prefix, rest)) if prefix.starts_with('/') => {
                    path.starts_with(prefix).then_some(rest)
                }
                _ => Some(value),
            },
            _ => Some(value),
        };
        let Some(said) = of_page else { return };
        match name.as_str() {
            "content-usage" | "content-signal" => self.hear_pairs(said),
            "tdm-reservation" => self.hear_tdm(said),
            "x-robots-tag" | "robots" => self.hear_directives(said),
            "tdm-policy" => {}
            _ => return,
        }
        if self.raw.len() < RAW_MAX {
            self.raw.push(format!("{place} {name}: {value}"));
        }
    }

    fn hear_pairs(&mut self, text: &str) {
        for pair in text.split([',', ';']) {
            let Some((category, answer)) = pair.split_once('=') else { continue };
            let allowed = match answer.trim().trim_matches('"').to_ascii_lowercase().as_str() {
                "y" | "yes" | "?1" => true,
                "n" | "no" | "?0" => false,
                _ => continue,
            };
            match category.trim().to_ascii_lowercase().as_str() {
                "search" => self.search.hear(allowed),
                "ai-input" => self.ai_input.hear(allowed),
                "ai-train" | "train-ai" | "train-genai" => self.ai_train.hear(allowed),
                _ => {}
            }
        }
    }

    fn hear_tdm(&mut self, value: &str) {
        match value {
            "1" => {
                self.tdm.hear(false);
                self.ai_train.hear(false);
            }
            "0" => self.tdm.hear(true),
            _ => {}
        }
    }

    fn hear_directives(&mut self, value: &str) {
        let words = value.split(|c: char| c == ',' || c == ';' || c.is_whitespace());
        let says = |word: &str| words.clone().any(|found| found.eq_ignore_ascii_case(word));
        if says("noindex") || says("none") {
            self.search.hear(false);
        }
        if says("noai") {
            self.ai_train.hear(false);
        }
    }

    /// Returns an owner's word on a purpose.
    pub fn on(&self, purpose: Purpose) -> Said {
        match purpose {
            Purpose::Search => self.search,
            Purpose::AiInput => self.ai_input,
            Purpose::AiTrain => self.ai_train,
            Purpose::Tdm => self.tdm,
        }
    }

    /// Returns true if a page may be used for all these purposes: nobody said no, or, where
    /// `stated` is asked for, somebody said yes.
    pub fn allow(&self, purposes: &[Purpose], stated: bool) -> bool {
        purposes.iter().all(|purpose| match self.on(*purpose) {
            Said::Yes => true,
            Said::No => false,
            Said::Nothing => !stated,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[(&str, &str, &str)], want: [Said; 4]) {
        let mut heard = Preferences::default();
        for (place, name, value) in lines {
            heard.hear(place, name, value, "/blog/1?x=2");
        }
        let Preferences { search, ai_input, ai_train, tdm, .. } = heard;
        assert_eq!([search, ai_input, ai_train, tdm], want, "{lines:?}");
    }

    #[test]
    fn every_place_is_heard_and_the_narrowest_word_holds() {
        use Said::{No, Nothing, Yes};
        let none = [Nothing; 4];
        check(&[], none);
        check(&[("header", "Content-Usage", "train-ai=n, search=y")], [Yes, Nothing, No, Nothing]);
        check(
            &[("robots", "content-signal", "search=yes, ai-input=no,ai-train=no")],
            [Yes, No, No, Nothing],
        );
        check(
            &[
                ("robots", "content-signal", "ai-train=yes"),
                ("header", "content-usage", "train-ai=n"),
            ],
            [Nothing, Nothing, No, Nothing],
        );
        check(&[("header", "TDM-Reservation", "1")], [Nothing, Nothing, No, No]);
        check(&[("header", "tdm-reservation", "0")], [Nothing, Nothing, Nothing, Yes]);
        check(&[("meta", "robots", "NOINDEX, follow")], [No, Nothing, Nothing, Nothing]);
        check(&[("header", "x-robots-tag", "noai, noimageai")], [Nothing, Nothing, No, Nothing]);
        check(&[("header", "content-usage", "train-ai=perhaps, =, n")], none);
        check(&[("header", "server", "train-ai=n")], none);
    }

    #[test]
    fn a_line_for_a_part_of_a_site_holds_there_alone() {
        use Said::{No, Nothing};
        let blog = ("robots", "content-usage", "/blog/ train-ai=n");
        check(&[blog], [Nothing, Nothing, No, Nothing]);
        check(&[("robots", "content-usage", "/shop/ train-ai=n")], [Nothing; 4]);
    }

    #[test]
    fn silence_allows_unless_a_word_is_asked_for() {
        let mut heard = Preferences::default();
        assert!(heard.allow(&[Purpose::AiTrain], false));
        assert!(!heard.allow(&[Purpose::AiTrain], true));
        heard.hear("header", "content-signal", "ai-train=yes", "/");
        assert!(heard.allow(&[Purpose::AiTrain], true));
        assert!(!heard.allow(&[Purpose::AiTrain, Purpose::Search], true));
        heard.hear("meta", "robots", "noindex", "/");
        assert!(!heard.allow(&[Purpose::Search], false));
    }
}
