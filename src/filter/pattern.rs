//! Lists of patterns: hosts, domains, URL prefixes and regular expressions.

use std::sync::Arc;

use regex::{RegexSet, RegexSetBuilder};

use crate::url::CrawlUrl;

use super::places::{Place, Places};

/// Memory that one list of regular expressions may take when compiled. The default of the library
/// (10 MiB) is for one pattern; lists of exclusions run to thousands.
const REGEX_BYTES_MAX: usize = 64 << 20;

/// Why an entry of a list is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`, entry {number} (`{text}`): {why}")]
pub struct PatternError {
    /// The settings key of the list.
    pub key: &'static str,
    /// Which entry, counted from 1.
    pub number: usize,
    /// The entry.
    pub text: String,
    /// What is wrong with it, in one line.
    pub why: String,
}

/// A compiled list.
#[derive(Clone, Debug)]
pub(super) struct Patterns {
    texts: Arc<[Arc<str>]>,
    places: Places,
    regexes: RegexSet,
    /// For each regular expression the entry it came from.
    regex_entries: Vec<u32>,
}

impl Patterns {
    /// Compiles a list of the settings.
    ///
    /// # Errors
    /// Returns the first entry that is no pattern.
    pub(super) fn new(key: &'static str, texts: &[String]) -> Result<Self, PatternError> {
        let mut places = Vec::new();
        let mut regexes = Vec::new();
        let mut regex_entries = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            let at = |why: String| PatternError { key, number: index + 1, text: text.clone(), why };
            let entry = u32::try_from(index).map_err(|_| at("too many entries".to_owned()))?;
            match parse(text).map_err(at)? {
                Pattern::Place(place) => places.push((place, entry)),
                Pattern::Regex(regex) => {
                    // The set tells no index of a bad pattern, so each is tried on its own first.
                    regex::Regex::new(&regex).map_err(|error| at(one_line(&error)))?;
                    regexes.push(regex);
                    regex_entries.push(entry);
                }
            }
        }
        let built = RegexSetBuilder::new(&regexes).size_limit(REGEX_BYTES_MAX).build();
        let regexes = built.map_err(|error| PatternError {
            key,
            number: texts.len(),
            text: format!("{} regular expressions together", regexes.len()),
            why: one_line(&error),
        })?;
        let texts = texts.iter().map(|text| Arc::from(text.as_str())).collect();
        Ok(Patterns { texts, places: Places::new(places), regexes, regex_entries })
    }

    /// Returns true for an empty list.
    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Returns the entry that holds the URL: a place before a regular expression.
    pub(super) fn find(&self, url: &CrawlUrl) -> Option<Arc<str>> {
        if self.is_empty() {
            return None;
        }
        let entry = self.places.find(url).or_else(|| {
            let first = self.regexes.matches(url.as_str()).iter().next()?;
            self.regex_entries.get(first).copied()
        })?;
        self.texts.get(entry as usize).cloned()
    }
}

enum Pattern {
    Place(Place),
    Regex(String),
}

fn parse(text: &str) -> Result<Pattern, String> {
    if let Some(regex) = text.strip_prefix("regex:") {
        return match regex {
            "" => Err("an empty regular expression matches everything; remove it".to_owned()),
            _ => Ok(Pattern::Regex(regex.to_owned())),
        };
    }
    if text.contains("://") {
        let url = CrawlUrl::parse(text).map_err(|error| error.to_string())?;
        let (host, path) = (url.host_str().to_owned(), url.path_and_query().to_owned());
        return Ok(Pattern::Place(Place::Prefix { host, path }));
    }
    let name = text.strip_prefix('.').unwrap_or(text);
    let refused = || {
        Err("write a host (`docs.example.org`), a domain (`.example.org`), the beginning of a \
             URL (`http://example.org/a/`) or `regex:` and a regular expression"
            .to_owned())
    };
    if name.is_empty() || name.contains(['/', '?', '#', '@', '*']) {
        return refused();
    }
    // Through the URL parser, so that case, IDN and IP literals come out in canonical form.
    let Ok(url) = CrawlUrl::parse(&format!("http://{name}/")) else { return refused() };
    if url.as_url().port().is_some() {
        return Err("a port means nothing here: scope is by host".to_owned());
    }
    let host = url.host_str().to_owned();
    Ok(Pattern::Place(if text.starts_with('.') { Place::Domain(host) } else { Place::Host(host) }))
}

/// Returns the last line of a regex error: the ones before draw the pattern and a caret.
fn one_line(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default().trim();
    last.strip_prefix("error: ").unwrap_or(last).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Result<Patterns, PatternError> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        Patterns::new("exclude", &texts)
    }

    #[test]
    fn the_pattern_that_decided_is_named() {
        let list = patterns(&[
            "A.test",
            ".Example.org",
            "https://b.test/private/",
            "regex:[?&]sid=[0-9a-f]+",
            "bücher.test",
        ])
        .unwrap();
        for (url, want) in [
            ("http://a.test/", Some("A.test")),
            ("http://x.example.org/", Some(".Example.org")),
            ("http://b.test/private/x", Some("https://b.test/private/")),
            ("http://b.test/public?x=1&sid=00ff", Some("regex:[?&]sid=[0-9a-f]+")),
            ("http://xn--bcher-kva.test/", Some("bücher.test")),
            ("http://b.test/public", None),
        ] {
            let url = CrawlUrl::parse(url).unwrap();
            assert_eq!(list.find(&url).as_deref(), want, "{url}");
        }
    }

    #[test]
    fn a_bad_entry_is_named_by_key_number_and_message() {
        let check = |texts: &[&str], want: &str| {
            let error = patterns(texts).expect_err("a bad entry").to_string();
            assert!(error.contains(want), "{error}");
        };
        check(&["a.test", "regex:(x"], "`exclude`, entry 2 (`regex:(x`): unclosed group");
        check(&["regex:"], "matches everything");
        check(&["a.test/x"], "write a host");
        check(&["*.pdf"], "write a host");
        check(&["."], "write a host");
        check(&["a.test:80x"], "write a host");
        check(&["a.test:8080"], "a port means nothing");
        check(&["ftp://a.test/"], "scheme `ftp`");
    }
}
