//! From the bytes of a robots.txt to [`Robots`].
//!
//! Lenient where site owners err and nothing else could be meant, as Google's parser is: any line
//! end, a missing colon, frequent misspellings. Lines that are not understood are passed over and
//! do not end a group (RFC 9309 §2.2.4); a Crawl-delay line counts for the agents named before it.

use std::time::Duration;

use super::pattern::{Draft, LINE_BYTES_MAX, RuleTable, normalize_rule};
use super::rules::{Group, Robots, Signal, SignalScope};

/// Most bytes that are ever read. Settings ask for less.
const BYTES_MAX: usize = 16 << 20;

/// A longer Crawl-delay is cut to this: a month is "never" to any crawl, and stays computable.
const CRAWL_DELAY_MAX: Duration = Duration::from_secs(30 * 24 * 3600);

impl Robots {
    /// Reads the part of a robots.txt that concerns `agent`, a product token such as `mybot`, case
    /// ignored; of a whole User-Agent value, what [`product_token`] makes of it.
    ///
    /// Any bytes will do: what is no rule is passed over, so a page of HTML, UTF-16 or an image
    /// allows everything. Reads the first 16 MiB.
    pub fn parse(body: &[u8], agent: &str) -> Robots {
        Robots::parse_within(body, agent, BYTES_MAX)
    }

    /// Does as [`Robots::parse`], but reads `bytes_max` bytes only and drops the line that this
    /// limit cuts: half a rule is another rule.
    pub fn parse_within(body: &[u8], agent: &str, bytes_max: usize) -> Robots {
        let bytes_max = bytes_max.min(BYTES_MAX);
        let body = match body.get(..bytes_max) {
            Some(cut) if body.len() > bytes_max => {
                let end = cut.iter().rposition(|&b| is_line_end(b)).map_or(0, |last| last + 1);
                &cut[..end]
            }
            _ => body,
        };
        let mut reader = Reader::new(product_token(agent));
        for (number, line) in lines(without_bom(body)) {
            if let Some((name, value)) = name_and_value(line) {
                reader.take(number, name, value);
            }
        }
        reader.finish()
    }
}

/// Returns the product token at the beginning of a user agent's name: its letters, digits,
/// underscores and hyphens. RFC 9309 §2.2.1 has no digits, but robots do.
pub fn product_token(agent: &str) -> &str {
    let end = agent.bytes().position(|b| !is_token_byte(b)).unwrap_or(agent.len());
    &agent[..end]
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Drops a UTF-8 byte order mark, or the part of one that somebody's editor left.
fn without_bom(body: &[u8]) -> &[u8] {
    let length = [0xef, 0xbb, 0xbf].iter().zip(body).take_while(|(mark, b)| mark == b).count();
    &body[length..]
}

/// Returns the lines with their numbers; CR, LF and CRLF end a line.
fn lines(body: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let mut rest = body;
    let mut number = 0;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        let ending = if rest[end..].starts_with(b"\r\n") { 2 } else { 1 };
        rest = rest.get(end + ending..).unwrap_or_default();
        number += 1;
        Some((number, &line[..line.len().min(LINE_BYTES_MAX)]))
    })
}

/// Splits a line at its colon, or, as is often meant, at the only white space in it.
fn name_and_value(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = match memchr::memchr(b'#', line) {
        Some(comment) => &line[..comment],
        None => line,
    }
    .trim_ascii();
    let (name, value) = match memchr::memchr(b':', line) {
        Some(colon) => (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()),
        None => {
            let space = line.iter().position(|b| matches!(b, b' ' | b'\t'))?;
            let value = line[space..].trim_ascii();
            if value.iter().any(|b| matches!(b, b' ' | b'\t')) {
                return None;
            }
            (&line[..space], value)
        }
    };
    (!name.is_empty()).then_some((name, value))
}

#[derive(Clone, Copy, PartialEq)]
enum Name {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    Sitemap,
    CleanParam,
    Signal,
    /// `http` or `https`: perhaps a sitemap's bare URL, whose colon split the line.
    Scheme,
}

/// The names of lines that are read, frequent misspellings included. A name may go on after one of
/// these, as in `User-agents` and `Disallowed`.
const NAMES: [(&str, Name); 18] = [
    ("user-agent", Name::UserAgent),
    ("useragent", Name::UserAgent),
    ("user agent", Name::UserAgent),
    ("allow", Name::Allow),
    ("disallow", Name::Disallow),
    ("dissallow", Name::Disallow),
    ("dissalow", Name::Disallow),
    ("disalow", Name::Disallow),
    ("diasllow", Name::Disallow),
    ("disallaw", Name::Disallow),
    ("crawl-delay", Name::CrawlDelay),
    ("crawl delay", Name::CrawlDelay),
    ("crawldelay", Name::CrawlDelay),
    ("sitemap", Name::Sitemap),
    ("site-map", Name::Sitemap),
    ("clean-param", Name::CleanParam),
    ("content-usage", Name::Signal),
    ("content-signal", Name::Signal),
];

fn known_name(name: &[u8]) -> Option<Name> {
    if name.eq_ignore_ascii_case(b"http") || name.eq_ignore_ascii_case(b"https") {
        return Some(Name::Scheme);
    }
    let begins = |known: &str| {
        name.get(..known.len()).is_some_and(|head| head.eq_ignore_ascii_case(known.as_bytes()))
    };
    NAMES.iter().find(|(known, _)| begins(known)).map(|(_, name)| *name)
}

/// What the groups of one kind, ours or those of `*`, have said so far.
#[derive(Default)]
struct Said {
    /// True between a matching User-agent line and the next group.
    in_rules: bool,
    /// The same for delays, which a Crawl-delay line ends too.
    in_delay: bool,
    drafts: Vec<Draft>,
    delay: Option<Duration>,
    /// Indices into the reader's signals.
    signals: Vec<usize>,
}

struct Reader<'a> {
    token: &'a str,
    /// The spelling of our token, once a group has named it.
    named: Option<String>,
    ours: Said,
    all: Said,
    any_group: bool,
    any_star: bool,
    seen_rule: bool,
    seen_delay: bool,
    sitemaps: Vec<String>,
    clean_params: Vec<String>,
    signals: Vec<Signal>,
}

impl<'a> Reader<'a> {
    fn new(token: &'a str) -> Self {
        Reader {
            token,
            named: None,
            ours: Said::default(),
            all: Said::default(),
            any_group: false,
            any_star: false,
            seen_rule: false,
            seen_delay: false,
            sitemaps: Vec::new(),
            clean_params: Vec::new(),
            signals: Vec::new(),
        }
    }

    fn take(&mut self, line: u32, name: &[u8], value: &[u8]) {
        match known_name(name) {
            Some(Name::UserAgent) => self.user_agent(value),
            Some(Name::Allow) => self.rule(line, true, value),
            Some(Name::Disallow) => self.rule(line, false, value),
            Some(Name::CrawlDelay) => self.delay(value),
            Some(Name::Sitemap) => self.sitemap(text(value)),
            Some(Name::CleanParam) => self.clean_params.push(text(value)),
            Some(Name::Signal) => self.signal(line, name, value),
            Some(Name::Scheme) if value.starts_with(b"//") && mentions_sitemap(value) => {
                self.sitemap(format!("{}:{}", text(name), text(value)));
            }
            Some(Name::Scheme) | None => {}
        }
    }

    fn user_agent(&mut self, value: &[u8]) {
        if self.seen_rule {
            self.ours.in_rules = false;
            self.all.in_rules = false;
        }
        if self.seen_rule || self.seen_delay {
            self.ours.in_delay = false;
            self.all.in_delay = false;
        }
        self.seen_rule = false;
        self.seen_delay = false;
        self.any_group = true;
        if value.first() == Some(&b'*') && value.get(1).is_none_or(u8::is_ascii_whitespace) {
            self.any_star = true;
            self.all.in_rules = true;
            self.all.in_delay = true;
            return;
        }
        let end = value.iter().position(|&b| !is_token_byte(b)).unwrap_or(value.len());
        let token = &value[..end];
        if !token.is_empty() && token.eq_ignore_ascii_case(self.token.as_bytes()) {
            self.named.get_or_insert_with(|| text(token));
            self.ours.in_rules = true;
            self.ours.in_delay = true;
        }
    }

    fn rule(&mut self, line: u32, allow: bool, value: &[u8]) {
        self.seen_rule = true;
        // A rule before any group speaks to nobody; an empty one says nothing, but ends the names.
        if value.is_empty() {
            return;
        }
        for said in [&mut self.ours, &mut self.all] {
            if said.in_rules {
                let mut pattern = Vec::with_capacity(value.len());
                normalize_rule(value, &mut pattern);
                said.drafts.push(Draft { line, allow, pattern: pattern.into() });
            }
        }
    }

    fn delay(&mut self, value: &[u8]) {
        self.seen_delay = true;
        let Some(delay) = delay(value) else { return };
        for said in [&mut self.ours, &mut self.all] {
            if said.in_delay {
                said.delay = said.delay.max(Some(delay));
            }
        }
    }

    fn sitemap(&mut self, url: String) {
        if !url.is_empty() {
            self.sitemaps.push(url);
        }
    }

    fn signal(&mut self, line: u32, name: &[u8], value: &[u8]) {
        for said in [&mut self.ours, &mut self.all] {
            if said.in_rules {
                said.signals.push(self.signals.len());
            }
        }
        let scope = if self.any_group { SignalScope::OtherGroup } else { SignalScope::File };
        let name = text(name).to_ascii_lowercase();
        self.signals.push(Signal { line, scope, name, value: text(value) });
    }

    fn finish(mut self) -> Robots {
        let (group, said) = match self.named {
            Some(token) => (Group::Named(token), self.ours),
            None if self.any_star => (Group::All, self.all),
            None => (Group::None, Said::default()),
        };
        for at in said.signals {
            self.signals[at].scope = SignalScope::OurGroup;
        }
        let mut seen = std::collections::HashSet::new();
        self.sitemaps.retain(|url| seen.insert(url.clone()));
        Robots {
            group,
            rules: RuleTable::new(said.drafts),
            crawl_delay: said.delay,
            sitemaps: self.sitemaps.into(),
            clean_params: self.clean_params.into(),
            signals: self.signals.into(),
        }
    }
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

fn mentions_sitemap(value: &[u8]) -> bool {
    value.windows(7).any(|word| word.eq_ignore_ascii_case(b"sitemap"))
}

/// Reads seconds, whole or with a decimal point; anything else is no delay.
fn delay(value: &[u8]) -> Option<Duration> {
    if !value.iter().all(|b| b.is_ascii_digit() || *b == b'.') {
        return None;
    }
    let seconds: f64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    Some(Duration::try_from_secs_f64(seconds).unwrap_or(CRAWL_DELAY_MAX).min(CRAWL_DELAY_MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::url::CrawlUrl;

    fn allowed(body: &[u8], agent: &str, path: &str) -> bool {
        let url = CrawlUrl::parse(&format!("http://example.com{path}")).unwrap();
        Robots::parse(body, agent).is_allowed(&url)
    }

    fn check(body: &str, agent: &str, path: &str, want: bool) {
        assert_eq!(allowed(body.as_bytes(), agent, path), want, "{agent} {path} in\n{body}");
    }

    #[test]
    fn groups_of_one_name_are_merged_and_others_passed_over() {
        let body = "User-agent: a\nUser-agent: B-bot\nDisallow: /x\n\nUser-agent: *\nDisallow: /\n\
                    User-agent: b-BOT/2.1\nDisallow: /y\n";
        for (agent, path, want) in [
            ("b-bot", "/x", false),
            ("b-bot", "/y", false),
            ("b-bot", "/z", true),
            ("a", "/y", true),
            ("b", "/z", false),
            ("b-bot-news", "/z", false),
        ] {
            check(body, agent, path, want);
        }
    }

    #[test]
    fn a_group_without_rules_allows_everything() {
        check("User-agent: *\nDisallow: /\nUser-agent: a\n", "a", "/x", true);
        check("User-agent: *\nDisallow: /\nUser-agent: a\nDisallow:\n", "a", "/x", true);
        check("User-agent: a\nDisallow:\nUser-agent: b\nDisallow: /\n", "a", "/x", true);
        check("User-agent: a\nDisallow:\nDisallow: /\n", "a", "/x", false);
    }

    #[test]
    fn rules_before_any_group_speak_to_nobody() {
        check("Disallow: /\nUser-agent: b\nDisallow: /y", "a", "/x", true);
    }

    #[test]
    fn lines_that_are_not_understood_do_not_end_a_group() {
        for line in ["Sitemap: /s.xml", "Host: a.b", "nonsense", "", "# remark", "Noindex: /x"] {
            check(
                &format!("User-agent: a\n{line}\nUser-agent: b\nDisallow: /\n"),
                "a",
                "/x",
                false,
            );
        }
    }

    #[test]
    fn any_line_end_mark_and_misspelling_is_read() {
        for body in [
            "User-agent: a\rDisallow: /x",
            "User-agent: a\r\nDisallow: /x\r\n",
            "\u{feff}User-agent: a\nDisallow: /x",
            "  USERAGENT :\ta # me\n\tdisalow:/x#all",
            "user-agent a\nuser agent: b\ndisallow /x",
            "User-agents: a\nDisallowed: /x",
        ] {
            check(body, "a", "/xy", false);
            check(body, "a", "/y", true);
        }
    }

    #[test]
    fn utf_16_html_and_binary_allow_everything() {
        let text = "User-agent: *\nDisallow: /\n";
        let wide: Vec<u8> =
            [0xff, 0xfe].into_iter().chain(text.bytes().flat_map(|b| [b, 0])).collect();
        let gzip = [&b"\x1f\x8b\x08\x00"[..], &[0; 40], b"\n\xff\xff:\xff\n"].concat();
        let html = "<html><body>User-agent: *<br>Disallow: /<br></body></html>";
        for body in [&wide[..], &gzip, html.as_bytes(), b""] {
            assert!(allowed(body, "a", "/x"), "{body:?}");
        }
        // A stray zero or a line of bytes that are no UTF-8 spoils only itself.
        assert!(!allowed(b"\0\xff\nUser-agent: *\nDisallow: /\xe9\n", "a", "/%E9"));
    }

    #[test]
    fn the_size_limit_drops_the_line_that_it_cuts() {
        let body = b"User-agent: *\nDisallow: /a\nDisallow: /bcd\n";
        let rules = |max| Robots::parse_within(body, "a", max).rules();
        assert_eq!((rules(body.len()), rules(body.len() - 1), rules(30), rules(3)), (2, 1, 1, 0));
        let long = format!("User-agent: *\nDisallow: /{}\n", "a".repeat(100_000));
        let robots = Robots::parse(long.as_bytes(), "a");
        let url = CrawlUrl::parse(&format!("http://a/{}", "a".repeat(LINE_BYTES_MAX))).unwrap();
        assert!(!robots.is_allowed(&url));
    }

    #[test]
    fn a_crawl_delay_is_seconds_for_the_agents_before_it() {
        let seconds = |body: &str, agent: &str| {
            Robots::parse(body.as_bytes(), agent).crawl_delay().map(|delay| delay.as_secs_f64())
        };
        for (value, want) in [
            ("10", Some(10.0)),
            ("0.5", Some(0.5)),
            (".5", Some(0.5)),
            ("10 # s", Some(10.0)),
            ("1e99", None),
            ("inf", None),
            ("-1", None),
            ("10s", None),
            ("1.2.3", None),
            ("", None),
            ("99999999999999999999999", Some(30.0 * 24.0 * 3600.0)),
        ] {
            assert_eq!(
                seconds(&format!("User-agent: a\nCrawl-delay: {value}"), "a"),
                want,
                "{value}"
            );
        }
        let body = "User-agent: *\nCrawl-delay: 1\nUser-agent: a\nCrawl-delay: 2\nUser-agent: b\n\
                    Disallow: /\nUser-agent: a\nDisallow: /\nCrawl-delay: 3\n";
        assert_eq!(seconds(body, "a"), Some(3.0));
        assert_eq!(seconds(body, "b"), None);
        assert_eq!(seconds(body, "c"), Some(1.0));
    }

    #[test]
    fn lines_for_all_are_kept_as_they_stand() {
        let body = "Content-Signal: search=yes, ai-train=no\nSitemap: /a.xml\nUser-agent: a\n\
                    Content-Usage: /x train-ai=n\nDisallow: /\nUser-agent: b\ncontent-usage: y\n\
                    Clean-param: ref /shop/\nSITEMAP: http://b/S.xml\nSitemap: /a.xml\n\
                    https://c/my-sitemap.xml\n";
        let robots = Robots::parse(body.as_bytes(), "a");
        assert_eq!(robots.sitemaps(), ["/a.xml", "http://b/S.xml", "https://c/my-sitemap.xml"]);
        assert_eq!(robots.clean_params(), ["ref /shop/"]);
        let signals: Vec<_> = robots
            .signals()
            .iter()
            .map(|signal| (signal.line, signal.scope, signal.name.as_str(), signal.value.as_str()))
            .collect();
        assert_eq!(
            signals,
            [
                (1, SignalScope::File, "content-signal", "search=yes, ai-train=no"),
                (4, SignalScope::OurGroup, "content-usage", "/x train-ai=n"),
                (7, SignalScope::OtherGroup, "content-usage", "y"),
            ]
        );
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read_and_stored(
            lines in prop::collection::vec(
                prop_oneof![
                    prop::collection::vec(any::<u8>(), 0..20),
                    "(?i)(user-agent|(dis)?allow|crawl-delay|content-usage)[: ]{1,2}[/*$%a-f.]{0,9}"
                        .prop_map(String::into_bytes),
                ],
                0..12,
            ),
            path in "/[/*$%a-f0-9.]{0,9}",
        ) {
            let body = lines.join(&b'\n');
            let robots = Robots::parse(&body, "a");
            if let Ok(url) = CrawlUrl::parse(&format!("http://example.com{path}")) {
                prop_assert_eq!(robots.verdict(&url).allowed, robots.is_allowed(&url));
            }
            prop_assert_eq!(Robots::from_bytes(&robots.to_bytes()), Ok(robots));
        }

        /// Within what texting_robots gets right: groups with rules in them, paths that need no
        /// escape, and no `$` but at the end.
        #[test]
        fn another_implementation_gives_the_same_verdicts(
            groups in prop::collection::vec(
                (
                    prop::collection::vec("[ab*]|other", 1..3),
                    prop::collection::vec(
                        "(Allow|Disallow): /[/xy]{0,3}([*][/xy]{1,2}){0,2}[$]?",
                        1..5,
                    ),
                ),
                1..4,
            ),
            path in "/[/xy]{0,6}",
        ) {
            let mut body = String::new();
            for (agents, rules) in &groups {
                agents.iter().for_each(|agent| body += &format!("User-agent: {agent}\n"));
                rules.iter().for_each(|rule| body += &format!("{rule}\n"));
                body += "\n";
            }
            let url = format!("http://example.com{path}");
            for agent in ["a", "b", "c"] {
                let theirs = texting_robots::Robot::new(agent, body.as_bytes()).unwrap();
                prop_assert_eq!(
                    allowed(body.as_bytes(), agent, &path),
                    theirs.allowed(&url),
                    "{} {}", agent, body
                );
            }
        }
    }
}
