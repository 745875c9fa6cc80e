//! [`Robots`]: what one robots.txt says to us.

use std::time::Duration;

use super::pattern::{Found, RuleTable, display_rule, normalize_url};
use crate::url::CrawlUrl;

/// The part of a robots.txt that concerns one product token.
///
/// Made by [`Robots::parse`], which accepts any bytes, and stored by [`Robots::to_bytes`]. Takes up
/// about 40 bytes and the rule's own text for every rule of our group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Robots {
    pub(super) group: Group,
    pub(super) rules: RuleTable,
    pub(super) crawl_delay: Option<Duration>,
    pub(super) sitemaps: Box<[String]>,
    pub(super) clean_params: Box<[String]>,
    pub(super) signals: Box<[Signal]>,
}

/// Which group of a robots.txt speaks to us (RFC 9309 §2.2.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Group {
    /// None: everything is allowed.
    #[default]
    None,
    /// The group of `*`.
    All,
    /// The groups that name our product token, spelt as in the file.
    Named(String),
}

impl Group {
    pub(super) fn name(&self) -> &str {
        match self {
            Group::None => "",
            Group::All => "*",
            Group::Named(token) => token,
        }
    }
}

/// A `Content-Usage` or `Content-Signal` line, kept as it stood: what may be done with content is
/// recorded beside it, not interpreted here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signal {
    /// The line's number, from 1.
    pub line: u32,
    /// Where it stood.
    pub scope: SignalScope,
    /// Its name, in lower case.
    pub name: String,
    /// Its value; bytes that are not UTF-8 are replaced.
    pub value: String,
}

/// Where a [`Signal`] stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalScope {
    /// Before the first group: for all robots.
    File,
    /// In the group that speaks to us.
    OurGroup,
    /// In a group for others.
    OtherGroup,
}

/// What robots.txt says about one URL, and by which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// True if the URL may be fetched.
    pub allowed: bool,
    /// The product token of the group that decided as the file spells it, `*`, or nothing if no
    /// group speaks to us.
    pub group: String,
    /// The number of the deciding line, from 1; none if no rule matched.
    pub line: Option<u32>,
    /// The deciding rule with its path in normal form: `Disallow: /private/`.
    pub rule: Option<String>,
    /// The whole in words, for the log and for `crawler robots`.
    pub reason: String,
}

impl Robots {
    /// Returns about how many bytes of memory this takes.
    pub(super) fn memory(&self) -> usize {
        let texts = self.sitemaps.iter().chain(&self.clean_params).map(|text| text.len());
        let signals = self.signals.iter().map(|signal| signal.name.len() + signal.value.len());
        let lists = std::mem::size_of_val(&*self.sitemaps)
            + std::mem::size_of_val(&*self.clean_params)
            + std::mem::size_of_val(&*self.signals);
        let own = std::mem::size_of::<Self>() + self.rules.memory() + lists;
        own + texts.chain(signals).sum::<usize>()
    }

    /// Returns whether `url` may be fetched: the answer of [`Robots::verdict`] without its words.
    pub fn is_allowed(&self, url: &CrawlUrl) -> bool {
        is_robots_txt(url) || self.find(url).is_none_or(|found| found.allow)
    }

    /// Returns whether `url` may be fetched, and why. Only path and query count: that the URL is
    /// of this robots.txt's origin is the caller's care.
    pub fn verdict(&self, url: &CrawlUrl) -> Verdict {
        let group = self.group.name().to_owned();
        let without_rule = |reason: &str| Verdict {
            allowed: true,
            group: group.clone(),
            line: None,
            rule: None,
            reason: reason.to_owned(),
        };
        if is_robots_txt(url) {
            return without_rule("robots.txt itself is always allowed");
        }
        if self.group == Group::None {
            return without_rule("no group of robots.txt speaks to us");
        }
        let Some(found) = self.find(url) else {
            return without_rule("no rule of robots.txt matches");
        };
        let verb = if found.allow { "Allow" } else { "Disallow" };
        let rule = format!("{verb}: {}", display_rule(found.pattern));
        Verdict {
            allowed: found.allow,
            reason: format!("robots.txt line {}, group {group}: {rule}", found.line),
            group,
            line: Some(found.line),
            rule: Some(rule),
        }
    }

    /// Returns the token of the group that speaks to us, as the file spells it, `*`, or nothing.
    pub fn group(&self) -> &str {
        self.group.name()
    }

    /// Returns the number of rules that concern us.
    pub fn rules(&self) -> usize {
        self.rules.len()
    }

    /// Returns the Crawl-delay of our group, at most 30 days; the longest if there are several.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay
    }

    /// Returns the values of the Sitemap lines in order, each once, as they stood: to be resolved
    /// against the URL of the robots.txt.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }

    /// Returns the values of the Clean-param lines, as they stood; they belong to no group.
    pub fn clean_params(&self) -> &[String] {
        &self.clean_params
    }

    /// Returns the Content-Usage and Content-Signal lines in order.
    pub fn signals(&self) -> &[Signal] {
        &self.signals
    }

    fn find(&self, url: &CrawlUrl) -> Option<Found<'_>> {
        self.rules.find(&normalize_url(url.path_and_query()))
    }
}

/// RFC 9309 §2.2.2: the URI /robots.txt is implicitly allowed.
pub(super) fn is_robots_txt(url: &CrawlUrl) -> bool {
    url.path_and_query() == "/robots.txt"
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
User-agent: *
Disallow: /private/

User-agent: FooBot
Disallow: /
Allow: /open/*.html$
";

    fn verdict(token: &str, path: &str) -> Verdict {
        let url = CrawlUrl::parse(&format!("http://example.com{path}")).unwrap();
        let robots = Robots::parse(FILE.as_bytes(), token);
        assert_eq!(robots.is_allowed(&url), robots.verdict(&url).allowed);
        robots.verdict(&url)
    }

    #[test]
    fn a_verdict_names_its_group_line_and_rule() {
        let found = verdict("foobot", "/open/a.html");
        assert!(found.allowed);
        assert_eq!((found.group.as_str(), found.line), ("FooBot", Some(6)));
        assert_eq!(found.rule.as_deref(), Some("Allow: /open/*.html$"));
        assert_eq!(found.reason, "robots.txt line 6, group FooBot: Allow: /open/*.html$");
        let found = verdict("other", "/private/a");
        assert!(!found.allowed);
        assert_eq!((found.group.as_str(), found.line), ("*", Some(2)));
    }

    #[test]
    fn without_a_matching_rule_a_url_is_allowed() {
        let found = verdict("other", "/a");
        assert!(found.allowed);
        assert_eq!((found.group.as_str(), found.line, found.rule), ("*", None, None));
    }

    #[test]
    fn robots_txt_itself_is_always_allowed() {
        assert!(verdict("foobot", "/robots.txt").allowed);
        assert!(!verdict("foobot", "/robots.txt?a").allowed);
        assert!(!verdict("foobot", "/a/robots.txt").allowed);
    }
}
