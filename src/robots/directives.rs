//! [`Directives`]: what a page says of itself, by meta tags and by the X-Robots-Tag header.
//!
//! ```html
//! <meta name="robots" content="noindex, nofollow">
//! <meta name="mybot" content="noarchive">
//! ```
//! ```text
//! X-Robots-Tag: noindex
//! X-Robots-Tag: otherbot: noindex, mybot: nofollow, noarchive
//! X-Robots-Tag: unavailable_after: Wed, 25 Jun 2025 15:00:00 GMT
//! ```
//! In a header a name with a colon opens a scope that lasts to the next name or to the end of that
//! value; in a tag the name of the tag is the scope. Scopes of other robots are passed over. Of
//! everything said to us the most restrictive counts, so neither order nor repetition matters, and
//! `index`, `follow` and `all` take nothing back. Directives about search results (`nosnippet`,
//! `max-snippet`) are no business of a crawler.
//!
//! Does not find the tags in a page (`extract` does) and does not know `rel=nofollow` of one link.

use serde::{Deserialize, Serialize};

use super::parse::product_token;
use crate::clock::Timestamp;

/// The sum of a page's directives for one robot. Nothing said is all allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directives {
    /// Do not show this page in an index.
    pub noindex: bool,
    /// Do not follow the links of this page.
    pub nofollow: bool,
    /// Do not keep a copy for others to see.
    pub noarchive: bool,
    /// Do not index the images of this page.
    pub noimageindex: bool,
    /// Do not show this page from this time on; the earliest if there are several.
    pub unavailable_after: Option<Timestamp>,
}

impl Directives {
    /// Reads the meta tags of a page, given as name and content in any order, and the values of its
    /// X-Robots-Tag headers, each by itself; `agent` is our product token. Tags with other names
    /// are passed over, so all of a page's may be given.
    pub fn read<'a>(
        metas: impl IntoIterator<Item = (&'a str, &'a str)>,
        headers: impl IntoIterator<Item = &'a str>,
        agent: &str,
    ) -> Directives {
        let mut directives = Directives::default();
        for (name, content) in metas {
            if is_for_us(name.trim(), agent) {
                directives.add_tag(content);
            }
        }
        for value in headers {
            directives.add_header(value, agent);
        }
        directives
    }

    /// Adds the content of a meta tag that is meant for us.
    pub fn add_tag(&mut self, content: &str) {
        self.add_all(said_to_us(content, None));
    }

    /// Adds one value of an X-Robots-Tag header; `agent` is our product token.
    pub fn add_header(&mut self, value: &str, agent: &str) {
        self.add_all(said_to_us(value, Some(agent)));
    }

    /// Returns the more restrictive of both.
    #[must_use]
    pub fn and(self, other: Directives) -> Directives {
        let earliest = match (self.unavailable_after, other.unavailable_after) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        Directives {
            noindex: self.noindex || other.noindex,
            nofollow: self.nofollow || other.nofollow,
            noarchive: self.noarchive || other.noarchive,
            noimageindex: self.noimageindex || other.noimageindex,
            unavailable_after: earliest,
        }
    }

    fn add_all<'a>(&mut self, said: Vec<Said<'a>>) {
        for said in said {
            match said {
                Said::Word(word) => self.add(word),
                Said::Until(time) => {
                    let until = Directives { unavailable_after: time, ..Directives::default() };
                    *self = self.and(until);
                }
            }
        }
    }

    fn add(&mut self, word: &str) {
        let is = |known: &str| word.eq_ignore_ascii_case(known);
        let none = is("none");
        self.noindex |= none || is("noindex");
        self.nofollow |= none || is("nofollow");
        self.noarchive |= is("noarchive") || is("nocache");
        self.noimageindex |= is("noimageindex");
    }
}

/// Returns the words of a meta tag or, where `name` is that of the header, of an X-Robots-Tag value
/// which are meant for us, also those that [`Directives`] has no field for; nothing where all of it
/// is for others.
pub(crate) fn words_for_us<'a>(name: &str, value: &'a str, agent: &str) -> Option<Vec<&'a str>> {
    let said = match name.trim() {
        name if name.eq_ignore_ascii_case("x-robots-tag") => said_to_us(value, Some(agent)),
        name if is_for_us(name, agent) => said_to_us(value, None),
        _ => Vec::new(),
    };
    let word = |said| match said {
        Said::Word(word) => Some(word),
        Said::Until(_) => None,
    };
    (!said.is_empty()).then(|| said.into_iter().filter_map(word).collect())
}

/// One directive that is meant for us.
enum Said<'a> {
    /// A word.
    Word(&'a str),
    /// `unavailable_after`, with its time if it could be read.
    Until(Option<Timestamp>),
}

/// Takes a value apart; names of robots open scopes in it where an agent is given.
fn said_to_us<'a>(value: &'a str, agent: Option<&str>) -> Vec<Said<'a>> {
    let mut said = Vec::new();
    let mut for_us = true;
    let mut parts = value.split([',', ';']).peekable();
    while let Some(mut part) = parts.next() {
        while let Some(agent) = agent
            && let Some((name, rest)) = part.split_once(':')
            && !takes_a_value(name.trim())
        {
            for_us = is_for_us(name.trim(), agent);
            part = rest;
        }
        match part.split_once(':') {
            Some((name, value)) if for_us => {
                if !name.trim().eq_ignore_ascii_case("unavailable_after") {
                    continue;
                }
                // A date may contain the comma that separates directives, so the next part is
                // tried along with it.
                let whole = parts.peek().map(|next| format!("{value},{next}"));
                let time = match whole.and_then(|text| parse_date(&text)) {
                    Some(time) => {
                        parts.next();
                        Some(time)
                    }
                    None => parse_date(value),
                };
                said.push(Said::Until(time));
            }
            // Some writers use white space alone, or semicolons.
            None if for_us => said.extend(part.split_ascii_whitespace().map(Said::Word)),
            _ => {}
        }
    }
    said
}

/// `robots` and `*` speak to all. A longer name than ours, such as `mybot-news`, is another robot.
fn is_for_us(name: &str, agent: &str) -> bool {
    name == "*"
        || name.eq_ignore_ascii_case("robots")
        || (!name.is_empty() && name.eq_ignore_ascii_case(product_token(agent)))
}

/// Returns true for directives that are written with a colon and must not be taken for a robot.
fn takes_a_value(name: &str) -> bool {
    ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// Reads a date as HTTP, RFC 822 and its dialects, RFC 850 or ISO 8601 have it. One without a time
/// means its first moment in UTC.
fn parse_date(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let millis =
        |at: jiff::Timestamp| u64::try_from(at.as_millisecond()).ok().map(Timestamp::from_millis);
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return millis(at);
    }
    if let Ok(at) = text.parse::<jiff::civil::DateTime>() {
        return millis(at.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp());
    }
    if let Ok(at) = httpdate::parse_http_date(text) {
        let since = at.duration_since(std::time::UNIX_EPOCH).ok()?;
        return Some(Timestamp::ZERO.plus(since));
    }
    // `25-Aug-2007 15:00:00 EST`, and zones that RFC 822 knows.
    let spaced = text.replace('-', " ");
    jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(text)
        .or_else(|_| jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(&spaced))
        .ok()
        .and_then(millis)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(directives: Directives) -> String {
        [
            (directives.noindex, "noindex"),
            (directives.nofollow, "nofollow"),
            (directives.noarchive, "noarchive"),
            (directives.noimageindex, "noimageindex"),
        ]
        .iter()
        .filter(|(said, _)| *said)
        .map(|(_, word)| (*word).to_owned())
        .chain(directives.unavailable_after.map(|time| time.to_rfc3339()))
        .collect::<Vec<_>>()
        .join(" ")
    }

    fn check(metas: &[(&str, &str)], headers: &[&str], want: &str) {
        let metas = metas.iter().copied();
        let read = Directives::read(metas, headers.iter().copied(), "MyBot/1.0");
        assert_eq!(words(read), want, "{headers:?}");
    }

    #[test]
    fn tags_for_us_and_for_all_are_summed_up() {
        for (metas, want) in [
            (&[("robots", "noindex,nofollow")][..], "noindex nofollow"),
            (&[("ROBOTS ", " NoIndex,\n\n follow")], "noindex"),
            (&[("robots", "none")], "noindex nofollow"),
            (&[("robots", "all")], ""),
            (&[("robots", "")], ""),
            (&[("robots", "noindex nofollow")], "noindex nofollow"),
            (&[("robots", "noindex;noarchive")], "noindex noarchive"),
            (&[("robots", "index"), ("mybot", "noarchive, nofollow")], "nofollow noarchive"),
            (&[("otherbot", "none"), ("description", "noindex")], ""),
            (&[("mybot-news", "noindex")], ""),
            (&[("robots", "max-snippet:5, noimageindex, nocache")], "noarchive noimageindex"),
        ] {
            check(metas, &[], want);
        }
    }

    #[test]
    fn headers_for_other_robots_are_passed_over() {
        for (headers, want) in [
            (&["noindex", "nofollow"][..], "noindex nofollow"),
            (&["otherbot: none"], ""),
            (&["mybot: nofollow"], "nofollow"),
            (&["MYBOT : none"], "noindex nofollow"),
            (&["otherbot: noindex, nofollow"], ""),
            (&["otherbot: noindex, mybot: nofollow, noarchive"], "nofollow noarchive"),
            (&["noarchive, otherbot: noindex"], "noarchive"),
            (&["otherbot: noindex", "nofollow"], "nofollow"),
            (&["max-snippet: 20, noindex"], "noindex"),
            (&["*: noindex"], "noindex"),
            (&["otherbot: max-snippet: 3, noindex"], ""),
        ] {
            check(&[], headers, want);
        }
    }

    #[test]
    fn dates_are_read_in_the_forms_that_sites_use() {
        for date in [
            "Wed, 25 Jun 2025 15:00:00 GMT",
            "Wednesday, 25-Jun-25 15:00:00 GMT",
            "25 Jun 2025 15:00:00 GMT",
            "25 Jun 2025 10:00:00 EST",
            "25-Jun-2025 10:00:00 EST",
            "2025-06-25T17:00:00+02:00",
            "2025-06-25 15:00",
        ] {
            let want = "2025-06-25T15:00:00.000Z";
            check(&[], &[&format!("unavailable_after: {date}")], want);
            let both = format!("unavailable_after: {date}, noindex");
            check(&[("robots", &both)], &[], &format!("noindex {want}"));
        }
        check(&[("robots", "unavailable_after: 2025-06-25")], &[], "2025-06-25T00:00:00.000Z");
        check(&[], &["unavailable_after: soon, noindex"], "noindex");
        check(&[], &["otherbot: unavailable_after: 2025-06-25T00:00:00Z"], "");
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(
            content in "\\PC{0,30}",
            header in "([a-z*]{0,5}[:, ]|none|mybot|unavailable_after){0,9}",
        ) {
            let metas = [("robots", content.as_str())];
            let read = Directives::read(metas, [header.as_str()], "mybot");
            prop_assert_eq!(read.and(read), read);
            prop_assert_eq!(read.and(Directives::default()), read);
        }
    }
}
