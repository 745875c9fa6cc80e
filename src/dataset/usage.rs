//! What owners say about the use of their texts, read from every place where they say it.
//!
//! Sources: draft-ietf-aipref-attach and draft-ietf-aipref-vocab (`Content-Usage`, categories
//! `train-ai` and `search` with `y` or `n`), contentsignals.org (`Content-Signal`, `search`,
//! `ai-input` and `ai-train` with `yes` or `no`), both in robots.txt for the URLs that a path
//! matches, the TDM Reservation Protocol (`TDM-Reservation: 1`), and robots directives that are
//! meant for all robots or for us (`noindex`, and `noai` by habit). Where they differ, the one that
//! allows less holds.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::robots;

/// What a text is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
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
    /// Takes in what a header or a meta element says of its page, by name and value; `agent` is our
    /// product token, since some of it may be for other robots.
    pub fn hear(&mut self, place: &str, name: &str, value: &str, agent: &str) {
        let name = name.trim().to_ascii_lowercase();
        let value = value.trim();
        match name.as_str() {
            "content-usage" | "content-signal" => {
                pairs(value).for_each(|(purpose, allowed)| self.on_mut(purpose).hear(allowed));
            }
            "tdm-reservation" => self.hear_tdm(value),
            "tdm-policy" => {}
            _ => {
                let Some(words) = robots::words_for_us(&name, value, agent) else { return };
                self.hear_directives(&words);
            }
        }
        self.keep(place, &name, value);
    }

    /// Takes in what a robots.txt says by lines with name and value of a page with this path and
    /// query. A path may come first in a line, and matches as those of rules do. Of the lines of
    /// one name that speak of a purpose those with the longest path hold.
    pub fn hear_robots<'a>(
        &mut self,
        lines: impl IntoIterator<Item = (&'a str, &'a str)>,
        path: &str,
    ) {
        let mut longest: BTreeMap<(String, Purpose), (usize, Said)> = BTreeMap::new();
        for (name, value) in lines {
            let name = name.trim().to_ascii_lowercase();
            let value = value.trim();
            if !matches!(name.as_str(), "content-usage" | "content-signal") {
                continue;
            }
            let (octets, said) = match value.split_once(char::is_whitespace) {
                Some((prefix, said)) if prefix.starts_with(['/', '*']) => {
                    match robots::octets_matched(prefix, path) {
                        Some(octets) => (octets, said),
                        None => continue,
                    }
                }
                _ => (0, value),
            };
            for (purpose, allowed) in pairs(said) {
                let known = longest.entry((name.clone(), purpose)).or_default();
                if octets > known.0 {
                    *known = (octets, Said::Nothing);
                }
                if octets == known.0 {
                    known.1.hear(allowed);
                }
            }
            self.keep("robots", &name, value);
        }
        for ((_, purpose), (_, said)) in longest {
            self.on_mut(purpose).hear(said == Said::Yes);
        }
    }

    fn keep(&mut self, place: &str, name: &str, value: &str) {
        if self.raw.len() < RAW_MAX {
            self.raw.push(format!("{place} {name}: {value}"));
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

    fn hear_directives(&mut self, words: &[&str]) {
        let says = |word: &str| words.iter().any(|found| found.eq_ignore_ascii_case(word));
        if says("noindex") || says("none") {
            self.search.hear(false);
        }
        if says("noai") {
            self.ai_train.hear(false);
        }
    }

    fn on_mut(&mut self, purpose: Purpose) -> &mut Said {
        match purpose {
            Purpose::Search => &mut self.search,
            Purpose::AiInput => &mut self.ai_input,
            Purpose::AiTrain => &mut self.ai_train,
            Purpose::Tdm => &mut self.tdm,
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

/// Reads `search=yes, ai-train=n`; what is neither is passed over.
fn pairs(text: &str) -> impl Iterator<Item = (Purpose, bool)> {
    text.split([',', ';']).filter_map(|pair| {
        let (category, answer) = pair.split_once('=')?;
        let allowed = match answer.trim().trim_matches('"').to_ascii_lowercase().as_str() {
            "y" | "yes" | "?1" => true,
            "n" | "no" | "?0" => false,
            _ => return None,
        };
        let purpose = match category.trim().to_ascii_lowercase().as_str() {
            "search" => Purpose::Search,
            "ai-input" => Purpose::AiInput,
            "ai-train" | "train-ai" | "train-genai" => Purpose::AiTrain,
            _ => return None,
        };
        Some((purpose, allowed))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[(&str, &str, &str)], want: [Said; 4]) {
        let mut heard = Preferences::default();
        for (place, name, value) in lines.iter().filter(|(place, ..)| *place != "robots") {
            heard.hear(place, name, value, "crawler");
        }
        let robots = lines.iter().filter(|(place, ..)| *place == "robots");
        heard.hear_robots(robots.map(|(_, name, value)| (*name, *value)), "/blog/1?x=2");
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
        for name in ["crawler", "Crawler ", "*"] {
            check(&[("meta", name, "noai, noindex")], [No, Nothing, No, Nothing]);
        }
        check(&[("meta", "otherbot", "noai, noindex")], none);
        check(&[("header", "x-robots-tag", "otherbot: noindex")], none);
        check(
            &[("header", "x-robots-tag", "otherbot: noindex, crawler: noai")],
            [Nothing, Nothing, No, Nothing],
        );
        check(&[("header", "content-usage", "train-ai=perhaps, =, n")], none);
        check(&[("header", "server", "train-ai=n")], none);
    }

    #[test]
    fn a_line_for_a_part_of_a_site_holds_there_alone() {
        use Said::{No, Nothing, Yes};
        let blog = ("robots", "content-usage", "/blog/ train-ai=n");
        check(&[blog], [Nothing, Nothing, No, Nothing]);
        check(&[("robots", "content-usage", "/shop/ train-ai=n")], [Nothing; 4]);
        let signal = |value| ("robots", "content-signal", value);
        check(&[signal("/blog/ ai-train=no, search=yes")], [Yes, Nothing, No, Nothing]);
        check(&[signal("/closed/ ai-train=no, search=yes")], [Nothing; 4]);
        for (path, holds) in [
            ("*", true),
            ("/*?x=", true),
            ("/%62log/", true),
            ("/blog/1?x=2$", true),
            ("/blog/1$", false),
            ("/*/2", false),
        ] {
            let train = if holds { No } else { Nothing };
            let line = format!("{path} ai-train=no");
            check(&[("robots", "content-signal", &line)], [Nothing, Nothing, train, Nothing]);
        }
    }

    #[test]
    fn of_the_lines_of_a_robots_file_the_longest_path_speaks() {
        use Said::{No, Nothing, Yes};
        let signal = |value| ("robots", "content-signal", value);
        let train = |said| [Nothing, Nothing, said, Nothing];
        let lines = ["ai-train=no", "/ ai-train=no", "/blog/ ai-train=yes"].map(signal);
        check(&lines, train(Yes));
        check(&[lines[2], lines[1], lines[0]], train(Yes));
        let narrower = signal("/blog/*?x ai-train=no");
        check(&[narrower, lines[2]], train(No));
        // Of equally long ones the one that allows less; a longer one that is silent takes nothing
        // back; and what is said in another way is said as well.
        check(&[lines[2], signal("/*log/ ai-train=no")], train(No));
        check(&[lines[1], signal("/blog/ search=yes")], [Yes, Nothing, No, Nothing]);
        check(&[lines[2], ("robots", "content-usage", "train-ai=n")], train(No));
    }

    #[test]
    fn silence_allows_unless_a_word_is_asked_for() {
        let mut heard = Preferences::default();
        assert!(heard.allow(&[Purpose::AiTrain], false));
        assert!(!heard.allow(&[Purpose::AiTrain], true));
        heard.hear("header", "content-signal", "ai-train=yes", "crawler");
        assert!(heard.allow(&[Purpose::AiTrain], true));
        assert!(!heard.allow(&[Purpose::AiTrain, Purpose::Search], true));
        heard.hear("meta", "robots", "noindex", "crawler");
        assert!(!heard.allow(&[Purpose::Search], false));
    }
}
