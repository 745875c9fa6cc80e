//! One DUST rule: what it rewrites, where it holds, what speaks for it, and in which state it is.
//!
//! A rule is data. Its JSON form is stable and carries [`FORMAT`]; its text form is for people.
//! Applying rules is `live`, finding them `miner`, judging them `validate`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::xxh3_64;

use super::limits::Limits;
use crate::clock::Timestamp;
use crate::url::query::{self, Separator};
use crate::url::{Host, Site};

/// Version of the JSON form of rules and rule files.
pub const FORMAT: u32 = 3;

/// Longest text of a pattern or replacement in bytes; URLs longer than 2 KiB are rarely crawled.
const TEXT_BYTES_MAX: usize = 1024;

/// Most parameter names in one rule, and most segments in one pattern.
const PARTS_MAX: usize = 32;

/// The stable name of a rule: a hash of its site, kind and scope.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u64);

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for RuleId {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        u64::from_str_radix(text, 16)
            .map(RuleId)
            .map_err(|_| RuleError(format!("`{text}` is not a rule id: write 16 hex digits")))
    }
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RuleId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Why a rule cannot be used; reads after "failed to use the rule: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RuleError(pub(crate) String);

/// What a rule does to a URL. Every kind leaves a URL that is already in its form alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RuleKind {
    /// Replaces the leftmost `from` in path and query by `to`, on token boundaries only.
    Substring {
        /// What is replaced; not empty.
        from: String,
        /// What stands there afterwards.
        to: String,
        /// Matches only where path and query begin.
        #[serde(default)]
        at_start: bool,
        /// Matches only where path and query end.
        #[serde(default)]
        at_end: bool,
    },
    /// Drops query parameters by name.
    DropParameter {
        /// Names as they stand in the query, percent-encoding intact.
        names: Vec<String>,
        /// Drops the parameter only where it has this value: the default value of the site.
        #[serde(default)]
        value: Option<String>,
        /// Drops it from queries whose parameters are separated so, and from no other ones.
        #[serde(default, skip_serializing_if = "Separator::is_usual")]
        separator: Separator,
    },
    /// Gives a parameter this value wherever it is present.
    SetParameter {
        /// The parameter.
        name: String,
        /// Its value.
        value: String,
    },
    /// Orders query parameters by name; those of one name keep their order.
    SortParameters,
    /// Decodes escapes of characters that may stand as they are, in path and query; or, of
    /// `spaces`, writes those in the query `%20` and not `+`.
    Escapes {
        /// True for the spaces, false for the characters.
        #[serde(default)]
        spaces: bool,
    },
    /// Lower-cases the path.
    PathCase,
    /// Replaces one host by another one: `from`, or its part under `from_path`, is proved an alias
    /// of `to` under `to_path`.
    HostAlias {
        /// The alias.
        from: Host,
        /// The host that stands for it.
        to: Host,
        /// What the path begins with at the alias; begins and ends with a slash.
        #[serde(default = "slash")]
        from_path: String,
        /// What stands there at the other host; begins and ends with a slash.
        #[serde(default = "slash")]
        to_path: String,
    },
    /// Replaces http by https, or the reverse, on the default ports.
    Scheme {
        /// True for https.
        https: bool,
    },
    /// Removes a session id from the path: `before`, the id, and `after`.
    PathSession {
        /// What stands before the id, such as `;jsessionid=`.
        before: String,
        /// What stands after it and goes with it, such as `)`; may be empty.
        after: String,
    },
    /// Ignores one segment of paths of this shape: it becomes `value`.
    IgnoreSegment {
        /// The shape of the path.
        shape: Vec<Segment>,
        /// Which segment is ignored.
        index: usize,
        /// What stands there afterwards: a value that leads to every page, or `-`.
        value: String,
    },
    /// Takes links of one form, on pages of another form, for the page that they stand on. It
    /// rewrites no URL: what stands for such a link is the page on which it was found.
    ///
    /// In a form `<n>` is a number, `<any>` a name, and `<same>` either of them where the address
    /// of the page has it too.
    SelfLink {
        /// The form of the pages, such as `/viewtopic.php?t=<n>`.
        page: String,
        /// The form of the links, such as `/viewtopic.php?p=<n>`.
        link: String,
    },
}

fn slash() -> String {
    "/".to_owned()
}

/// One segment of a path's shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Segment {
    /// This text.
    Text(String),
    /// Digits only.
    Number,
    /// Anything, but not nothing.
    Any,
}

/// Where on its site a rule holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scope {
    /// Only on this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
    /// Only under paths of this template: every run of digits is one `#`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only in queries that have this parameter with this value, such as `do=diff`: the view that a
    /// program with one path for everything is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<String>,
}

/// Where a rule came from.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Found in the pages of the site.
    #[default]
    Mined,
    /// Declared by the site: rel=canonical, redirects, Clean-param, No-Vary-Search, sitemaps.
    Declared,
    /// A habit of common software.
    Software,
    /// Proved on another site of this crawl.
    Elsewhere,
    /// Loaded from a file.
    Imported,
}

/// The life of a rule.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum RuleState {
    /// Found; nothing is tested yet.
    #[default]
    Candidate,
    /// On trial. Tried by probes it changes nothing; tried by what is fetched anyway, it hides what
    /// is not fetched to check it.
    Shadow,
    /// Changes the keys of URLs.
    Enforced,
    /// Changes nothing until the operator decides.
    Suspended,
    /// Refuted; tried again later.
    Retired,
}

impl RuleState {
    /// Returns true where a crawl hides URLs by such a rule: it is in force, or on trial.
    pub(crate) fn hides(self) -> bool {
        matches!(self, RuleState::Enforced | RuleState::Shadow)
    }
}

/// What speaks for and against a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Evidence {
    /// Distinct documents that were seen under two forms which the rule makes one.
    pub documents_same: u32,
    /// Distinct documents that the rule would have merged with another document.
    pub documents_different: u32,
    /// URLs of the window that the rule rewrites.
    pub applicable: u32,
    /// URLs of the window that it would have saved.
    #[serde(default)]
    pub merged: u32,
    /// Uniform draws whose outcome was the same document.
    pub draws_same: u32,
    /// Uniform draws whose outcome was another document, or nothing.
    pub draws_failed: u32,
    /// Probe fetches spent.
    pub probes: u32,
    /// Audits whose outcome was the same document.
    pub audits_same: u32,
    /// Audits whose outcome was another document.
    pub audits_failed: u32,
    /// Fetches avoided.
    pub suppressed: u64,
}

impl Evidence {
    /// Returns true where a draw or an audit showed another document.
    pub(crate) fn has_failed(&self) -> bool {
        self.draws_failed + self.audits_failed > 0
    }

    /// Returns how many URLs were fetched for the rule and showed what it says.
    pub(crate) fn fetched_same(&self) -> u32 {
        self.draws_same.saturating_add(self.audits_same)
    }
}

/// A DUST rule of one site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Hash of site, kind and scope.
    pub id: RuleId,
    /// The registrable domain on which it holds.
    pub site: Site,
    /// What it does.
    pub rule: RuleKind,
    /// Where it holds.
    #[serde(default)]
    pub scope: Scope,
    /// Where it came from.
    #[serde(default)]
    pub source: Source,
    /// In which state it is.
    #[serde(default)]
    pub state: RuleState,
    /// What speaks for and against it.
    #[serde(default)]
    pub evidence: Evidence,
    /// Where it is not applied, by whoever has no more than the rule; a crawl that learned it knows
    /// more, and leaves this empty.
    #[serde(default, skip_serializing_if = "Limits::is_none")]
    pub limits: Limits,
    /// When it was found.
    #[serde(default)]
    pub found: Timestamp,
    /// When its state last changed.
    #[serde(default)]
    pub changed: Timestamp,
}

/// A rule file: what `export` writes and `import` reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleFile {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// Version of the rule set that was exported.
    #[serde(default)]
    pub version: u64,
    /// The rules, in any order.
    pub rules: Vec<Rule>,
}

impl RuleFile {
    /// Parses a rule file and checks every rule in it.
    ///
    /// # Errors
    /// Returns what is wrong, and with which rule.
    pub fn parse(json: &[u8]) -> Result<RuleFile, RuleError> {
        /// What is the same in files of all formats.
        #[derive(Deserialize)]
        struct Head {
            format: u32,
        }
        let wrong = |error| RuleError(format!("not a rule file: {error}"));
        // Before all else: what a later format has in it is no error of the file.
        if let Ok(Head { format }) = serde_json::from_slice(json)
            && format > FORMAT
        {
            return Err(RuleError(format!(
                "the rule file has format {format}, this crawler reads up to {FORMAT}: use a newer \
                 one"
            )));
        }
        let file: RuleFile = serde_json::from_slice(json).map_err(wrong)?;
        let mut ids = BTreeSet::new();
        for rule in &file.rules {
            rule.check()?;
            if !ids.insert(rule.id) {
                return Err(RuleError(format!("rule {}: it is in the file twice", rule.id)));
            }
        }
        Ok(file)
    }
}

impl Rule {
    /// Makes a candidate.
    pub fn new(site: Site, rule: RuleKind, scope: Scope, source: Source, now: Timestamp) -> Self {
        Rule {
            id: RuleId::of(&site, &rule, &scope),
            site,
            rule,
            scope,
            source,
            state: RuleState::Candidate,
            evidence: Evidence::default(),
            limits: Limits::default(),
            found: now,
            changed: now,
        }
    }

    /// Checks that the rule can be applied and cannot leave its site.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub fn check(&self) -> Result<(), RuleError> {
        let wrong = |what: String| RuleError(format!("rule {}: {what}", self.id));
        self.rule.check().map_err(wrong)?;
        self.scope.check(&self.site).map_err(wrong)?;
        self.limits.names().try_for_each(|name| text("parameter", name)).map_err(wrong)?;
        let expected = RuleId::of(&self.site, &self.rule, &self.scope);
        if self.id != expected {
            return Err(RuleError(format!(
                "rule {}: the id does not belong to what the rule says, it would be {expected}",
                self.id
            )));
        }
        if let RuleKind::HostAlias { from, to, .. } = &self.rule
            && [from, to].iter().any(|host| !host.is_valid() || host.site() != self.site)
        {
            return Err(RuleError(format!(
                "rule {}: a host is not of the site {}",
                self.id, self.site
            )));
        }
        Ok(())
    }
}

impl RuleId {
    /// Returns the id of a rule.
    pub fn of(site: &Site, rule: &RuleKind, scope: &Scope) -> RuleId {
        // JSON, since it is the form that is promised to be stable.
        let text = serde_json::to_vec(&(site, rule, scope)).unwrap_or_default();
        RuleId(xxh3_64(&text))
    }
}

impl RuleKind {
    /// Returns the rule that drops parameters, where they have this value or whatever they have,
    /// from queries of the usual form.
    pub fn drop(names: Vec<String>, value: Option<String>) -> RuleKind {
        RuleKind::DropParameter { names, value, separator: Separator::default() }
    }

    /// Returns true for a rule that takes links for the pages they stand on.
    pub(crate) fn is_self_link(&self) -> bool {
        self.link_that_leads_back().is_some()
    }

    /// Returns the form of the links that such a rule takes for the pages they stand on.
    pub(crate) fn link_that_leads_back(&self) -> Option<&str> {
        match self {
            RuleKind::SelfLink { link, .. } => Some(link),
            _ => None,
        }
    }

    /// Returns the rule that leads back, where there is one: it makes one page of the same URLs.
    pub(crate) fn inverse(&self) -> Option<RuleKind> {
        match self.clone() {
            RuleKind::Substring { from, to, at_start, at_end } if !to.is_empty() => {
                Some(RuleKind::Substring { from: to, to: from, at_start, at_end })
            }
            RuleKind::HostAlias { from, to, from_path, to_path } => Some(RuleKind::HostAlias {
                from: to,
                to: from,
                from_path: to_path,
                to_path: from_path,
            }),
            _ => None,
        }
    }

    /// Returns a number for the order of application: parameters before substrings, since a
    /// substring rule can hide a parameter.
    pub(crate) fn phase(&self) -> u8 {
        match self {
            RuleKind::Scheme { .. } | RuleKind::HostAlias { .. } => 0,
            RuleKind::PathSession { .. } => 1,
            RuleKind::DropParameter { .. } | RuleKind::SetParameter { .. } => 2,
            RuleKind::Escapes { .. } => 3,
            RuleKind::SortParameters => 4,
            RuleKind::PathCase => 5,
            RuleKind::Substring { .. } => 6,
            RuleKind::IgnoreSegment { .. } => 7,
            RuleKind::SelfLink { .. } => 8,
        }
    }

    fn check(&self) -> Result<(), String> {
        match self {
            RuleKind::Substring { from, to, at_start, .. } => {
                text("pattern", from)?;
                text("replacement", to)?;
                if from.is_empty() || from == to {
                    return Err("the pattern is empty or equals its replacement".to_owned());
                }
                if *at_start && (!from.starts_with('/') || !to.starts_with('/')) {
                    return Err("a pattern at the start of the path begins with a slash".to_owned());
                }
                Ok(())
            }
            RuleKind::DropParameter { names, value, .. } => {
                if names.is_empty() || names.len() > PARTS_MAX {
                    return Err("it names no parameter, or too many".to_owned());
                }
                names.iter().try_for_each(|name| text("parameter", name))?;
                value.iter().try_for_each(|value| text("value", value))
            }
            RuleKind::SetParameter { name, value } => {
                text("parameter", name)?;
                text("value", value)
            }
            RuleKind::PathSession { before, after } => {
                text("pattern", before)?;
                text("pattern", after)?;
                let starts = before.starts_with([';', '/']) && before.len() > 1;
                if starts {
                    Ok(())
                } else {
                    Err("a path session starts with `;` or `/`".to_owned())
                }
            }
            RuleKind::IgnoreSegment { shape, index, value } => {
                text("segment", value)?;
                let is_plain = |text: &str| !text.is_empty() && !text.contains(['/', '?']);
                for segment in shape {
                    if let Segment::Text(segment) = segment {
                        of_url("segment", segment)?;
                    }
                }
                let plain = is_plain(value);
                let fits = *index < shape.len() && shape.len() <= PARTS_MAX && plain;
                if fits {
                    Ok(())
                } else {
                    Err("the segment is outside of the shape, or its value is none".to_owned())
                }
            }
            RuleKind::HostAlias { from, to, from_path, to_path } => {
                text("path", from_path)?;
                text("path", to_path)?;
                let path = |path: &str| path.starts_with('/') && path.ends_with('/');
                if from == to || !path(from_path) || !path(to_path) {
                    return Err("the hosts are equal, or a path has no slash at an end".to_owned());
                }
                Ok(())
            }
            RuleKind::SelfLink { page, link } => {
                text("form", page)?;
                text("form", link)?;
                if page.starts_with('/') && link.starts_with('/') {
                    Ok(())
                } else {
                    Err("the form of a page, or of a link, begins with a slash".to_owned())
                }
            }
            RuleKind::SortParameters
            | RuleKind::Escapes { .. }
            | RuleKind::PathCase
            | RuleKind::Scheme { .. } => Ok(()),
        }
    }
}

/// Checks a part of a rule that becomes a part of a URL.
fn text(what: &str, text: &str) -> Result<(), String> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(format!("the {what} {text:?} is too long"));
    }
    of_url(what, text)
}

/// Checks a part of a rule that is compared with a part of a URL.
fn of_url(what: &str, text: &str) -> Result<(), String> {
    let bad = |c: char| c.is_whitespace() || c.is_control() || c == '#' || !c.is_ascii();
    if text.contains(bad) {
        return Err(format!("the {what} {text:?} has no place in a URL"));
    }
    Ok(())
}

impl Scope {
    /// Checks that it lies within the site.
    fn check(&self, site: &Site) -> Result<(), String> {
        if !site.is_valid() {
            return Err(format!("the site {:?} is no name of a host", site.as_str()));
        }
        if let Some(host) = &self.host
            && (!host.is_valid() || host.site() != *site)
        {
            return Err(format!("the host {:?} is not of the site {site}", host.as_str()));
        }
        if let Some(view) = &self.view {
            text("view", view)?;
            let (name, _) = view.split_once('=').unwrap_or_default();
            if name.is_empty() || view.contains(['&', ';', '?']) {
                return Err(format!("the view {view:?} is no parameter with its value"));
            }
        }
        let Some(path) = &self.path else { return Ok(()) };
        of_url("path", &path.replace('#', ""))?;
        if path.starts_with('/') { Ok(()) } else { Err(format!("the path {path:?} has no slash")) }
    }

    /// Returns true where a query is that of the view it holds in, if it holds in one only.
    pub(crate) fn has_view(&self, query: &str) -> bool {
        let is_asked = |view| query::parameters(query).any(|part| part == view);
        self.view.as_deref().is_none_or(is_asked)
    }
}

impl fmt::Display for RuleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RuleKind::Substring { from, to, at_start, at_end } => {
                let (start, end) =
                    (if *at_start { "^" } else { "" }, if *at_end { "$" } else { "" });
                write!(f, "\"{start}{from}{end}\" -> \"{start}{to}{end}\"")
            }
            RuleKind::DropParameter { names, value, separator } => {
                f.write_str(if names.len() == 1 { "drop parameter " } else { "drop parameters " })?;
                for (i, name) in names.iter().enumerate() {
                    write!(f, "{}\"{name}\"", if i > 0 { ", " } else { "" })?;
                }
                if let Some(value) = value {
                    write!(f, " when \"{value}\"")?;
                }
                if separator.is_usual() { Ok(()) } else { write!(f, " between \"{separator}\"") }
            }
            RuleKind::SetParameter { name, value } => {
                write!(f, "set parameter \"{name}\" to \"{value}\"")
            }
            RuleKind::SortParameters => f.write_str("sort parameters"),
            RuleKind::Escapes { spaces: false } => f.write_str("decode escapes"),
            RuleKind::Escapes { spaces: true } => f.write_str("\"+\" is \"%20\" in queries"),
            RuleKind::PathCase => f.write_str("lower-case path"),
            RuleKind::HostAlias { from, to, from_path, to_path } => {
                if (from_path.as_str(), to_path.as_str()) == ("/", "/") {
                    return write!(f, "host {from} is {to}");
                }
                write!(f, "\"^{from}{from_path}\" -> \"^{to}{to_path}\"")
            }
            RuleKind::Scheme { https: true } => f.write_str("http is https"),
            RuleKind::Scheme { https: false } => f.write_str("https is http"),
            RuleKind::PathSession { before, after } => {
                write!(f, "drop session \"{before}\u{2026}{after}\"")
            }
            RuleKind::IgnoreSegment { shape, index, .. } => {
                f.write_str("ignore segment in \"")?;
                for (i, segment) in shape.iter().enumerate() {
                    match segment {
                        _ if i == *index => f.write_str("/\u{2026}")?,
                        Segment::Text(text) => write!(f, "/{text}")?,
                        Segment::Number => f.write_str("/#")?,
                        Segment::Any => f.write_str("/*")?,
                    }
                }
                f.write_str("\"")
            }
            RuleKind::SelfLink { page, link } => {
                write!(f, "link \"{link}\" on \"{page}\" is that page")
            }
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, " under \"{path}\"")?;
        }
        if let Some(view) = &self.view {
            write!(f, " with \"{view}\"")?;
        }
        if let Some(host) = &self.host {
            write!(f, " on {host}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.rule, self.scope)
    }
}

/// Returns a path with every run of digits as one `#`.
pub fn template(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut digits = false;
    for c in path.chars() {
        if c.is_ascii_digit() {
            if !digits {
                out.push('#');
            }
            digits = true;
        } else {
            out.push(c);
            digits = false;
        }
    }
    out
}

/// Returns true where `path` has this template, without building it.
pub(crate) fn has_template(path: &str, template: &str) -> bool {
    let (path, template) = (path.as_bytes(), template.as_bytes());
    let (mut i, mut j) = (0, 0);
    while i < path.len() && j < template.len() {
        if path[i].is_ascii_digit() {
            if template[j] != b'#' {
                return false;
            }
            while i < path.len() && path[i].is_ascii_digit() {
                i += 1;
            }
        } else {
            if path[i] != template[j] {
                return false;
            }
            i += 1;
        }
        j += 1;
    }
    i == path.len() && j == template.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(kind: RuleKind) -> Rule {
        let site = Site::new("example.com");
        Rule::new(site, kind, Scope::default(), Source::Mined, Timestamp::ZERO)
    }

    fn kinds() -> Vec<(RuleKind, &'static str)> {
        let name = |name: &str| vec![name.to_owned()];
        let substring = RuleKind::Substring {
            from: "/index.html".into(),
            to: "/".into(),
            at_start: false,
            at_end: true,
        };
        let shape = vec![Segment::Text("item".into()), Segment::Number, Segment::Any];
        let (from, to) = (Host::new("www.example.com"), Host::new("example.com"));
        vec![
            (substring, "\"/index.html$\" -> \"/$\""),
            (RuleKind::drop(name("sid"), None), "drop parameter \"sid\""),
            (
                RuleKind::drop(name("lang"), Some("en".into())),
                "drop parameter \"lang\" when \"en\"",
            ),
            (
                RuleKind::DropParameter {
                    names: name("js"),
                    value: None,
                    separator: Separator::Semicolon,
                },
                "drop parameter \"js\" between \";\"",
            ),
            (
                RuleKind::SetParameter { name: "v".into(), value: "1".into() },
                "set parameter \"v\" to \"1\"",
            ),
            (RuleKind::SortParameters, "sort parameters"),
            (RuleKind::Escapes { spaces: false }, "decode escapes"),
            (RuleKind::Escapes { spaces: true }, "\"+\" is \"%20\" in queries"),
            (RuleKind::PathCase, "lower-case path"),
            (
                RuleKind::HostAlias { from, to, from_path: slash(), to_path: slash() },
                "host www.example.com is example.com",
            ),
            (RuleKind::Scheme { https: true }, "http is https"),
            (
                RuleKind::PathSession { before: ";jsessionid=".into(), after: String::new() },
                "drop session \";jsessionid=\u{2026}\"",
            ),
            (
                RuleKind::IgnoreSegment { shape, index: 2, value: "-".into() },
                "ignore segment in \"/item/#/\u{2026}\"",
            ),
        ]
    }

    #[test]
    fn rules_read_as_text_and_survive_json() {
        for (kind, text) in kinds() {
            assert_eq!(kind.to_string(), text);
            let rule = rule(kind);
            rule.check().unwrap();
            let json = serde_json::to_string(&rule).unwrap();
            assert_eq!(serde_json::from_str::<Rule>(&json).unwrap(), rule, "{json}");
        }
    }

    #[test]
    fn a_forged_or_senseless_rule_is_refused() {
        let mut forged = rule(RuleKind::PathCase);
        forged.id = RuleId(7);
        assert!(forged.check().is_err());
        for (from, to) in [("", "/"), ("/a", "/a"), ("/a b", "/"), ("/\u{e9}", "/")] {
            let (from, to) = (from.to_owned(), to.to_owned());
            let kind = RuleKind::Substring { from, to, at_start: false, at_end: false };
            assert!(rule(kind).check().is_err());
        }
        let (from, to) = (Host::new("example.com"), Host::new("other.org"));
        let alias = RuleKind::HostAlias { from, to, from_path: slash(), to_path: slash() };
        assert!(rule(alias).check().is_err());
    }

    #[test]
    fn a_rule_file_names_each_rule_once() {
        let (one, other) = (rule(RuleKind::PathCase), rule(RuleKind::SortParameters));
        let parse = |rules: Vec<Rule>| {
            let file = RuleFile { format: FORMAT, version: 0, rules };
            RuleFile::parse(&serde_json::to_vec(&file).unwrap())
        };
        assert!(parse(vec![one.clone(), other.clone()]).is_ok());
        let error = parse(vec![one.clone(), other, one.clone()]).unwrap_err().to_string();
        assert!(error.contains(&one.id.to_string()), "{error}");
    }

    #[test]
    fn a_rule_file_of_a_later_format_is_named_as_one_whatever_is_in_it() {
        let later = br#"{"format":99,"rules":[{"rule":{"kind":"of a later day"}}]}"#;
        let error = RuleFile::parse(later).unwrap_err().to_string();
        assert!(error.contains("format 99"), "{error}");
        let unknown = br#"{"format":1,"rules":[{"rule":{"kind":"of a later day"}}]}"#;
        let error = RuleFile::parse(unknown).unwrap_err().to_string();
        assert!(error.starts_with("not a rule file"), "{error}");
    }

    #[test]
    fn a_rule_of_links_has_two_forms_that_are_paths() {
        let of = |page: &str, link: &str| {
            rule(RuleKind::SelfLink { page: page.to_owned(), link: link.to_owned() })
        };
        let link = of("/topic?id=<n>", "/topic?post=<n>");
        assert!(link.check().is_ok());
        assert_eq!(link.to_string(), "link \"/topic?post=<n>\" on \"/topic?id=<n>\" is that page");
        let json = serde_json::to_string(&link.rule).unwrap();
        let want = r#"{"kind":"self_link","page":"/topic?id=<n>","link":"/topic?post=<n>"}"#;
        assert_eq!(json, want, "what files hold");
        for (page, link) in [("", "/a"), ("/a", "a"), ("/a\n}", "/a"), ("/a", "/a b")] {
            assert!(of(page, link).check().is_err(), "{page:?} {link:?}");
        }
    }

    /// What is exported becomes a line of a server's configuration.
    #[test]
    fn nothing_in_a_rule_can_end_a_line() {
        let of = |site: &str, kind: RuleKind, scope: Scope| {
            Rule::new(Site::new(site), kind, scope, Source::Mined, Timestamp::ZERO).check().is_ok()
        };
        let scope = |host: Option<&str>, path: Option<&str>| Scope {
            view: None,
            host: host.map(Host::new),
            path: path.map(str::to_owned),
        };
        let case = || RuleKind::PathCase;
        let with = |view: &str| {
            of("example.com", case(), Scope { view: Some(view.to_owned()), ..Scope::default() })
        };
        assert!(with("do=diff") && with("do="));
        for view in ["", "do", "=diff", "do=a b", "do=a\n", "do=a&x=1", "do=a;x=1", "do=a?"] {
            assert!(!with(view), "{view:?}");
        }
        assert!(of("example.com", case(), scope(Some("a.example.com"), Some("/a/#.html"))));
        assert!(of("[::1]", case(), scope(None, None)));
        assert!(!of("example.com\nserver {", case(), scope(None, None)));
        assert!(!of("", case(), scope(None, None)));
        for host in ["a\n.example.com", "other.org"] {
            assert!(!of("example.com", case(), scope(Some(host), None)), "{host:?}");
        }
        for path in ["/a\nreturn 301", "/a b", "a", ""] {
            assert!(!of("example.com", case(), scope(None, Some(path))), "{path:?}");
        }
        let shape = vec![Segment::Text("a\n}".into()), Segment::Any];
        let segment = RuleKind::IgnoreSegment { shape, index: 1, value: "-".into() };
        assert!(!of("example.com", segment, scope(None, None)));
        let (from, to) = (Host::new("a\n.example.com"), Host::new("example.com"));
        let alias = RuleKind::HostAlias { from, to, from_path: slash(), to_path: slash() };
        assert!(!of("example.com", alias, scope(None, None)));
        let limited = |json: serde_json::Value| {
            let at = Timestamp::ZERO;
            let site = Site::new("example.com");
            let mut rule = Rule::new(site, case(), Scope::default(), Source::Mined, at);
            rule.limits = serde_json::from_value(json).unwrap();
            rule.check().is_ok()
        };
        let name = "x`\nreturn 302 https://evil.example/;\n#";
        assert!(limited(serde_json::json!({ "values": { "a%0Ab": ["1"] }, "items": ["id"] })));
        assert!(!limited(serde_json::json!({ "values": { name: ["1"] } })));
        assert!(!limited(serde_json::json!({ "items": [name] })));
    }

    #[test]
    fn templates_generalise_digits() {
        for (path, want) in [("/story_12", "/story_#"), ("/2006-03/a7b", "/#-#/a#b"), ("/", "/")] {
            assert_eq!(template(path), want);
            assert!(has_template(path, want), "{path}");
            assert!(!has_template(path, "/story"), "{path}");
        }
        assert!(!has_template("/story_", "/story_#"));
    }
}
