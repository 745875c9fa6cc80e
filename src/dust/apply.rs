//! The compiled rules of one site: one look at a URL decides whether any rule touches it.
//!
//! All literals of a site stand in one automaton, all parameter names in one table; a URL that no
//! rule touches costs one scan of its path and query. Rules rewrite path and query as text, and
//! hosts only by a table of proved aliases, so that no rule can leave its site.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use xxhash_rust::xxh3::xxh3_64;

use super::escapes;
use super::rule::{Rule, RuleError, RuleId, RuleKind, Scope, Segment, has_template};
use super::self_link::{form_of_link, form_of_page};
use crate::url::query::{Separator, name_of};
use crate::url::{CrawlUrl, Host};

/// Replacements of one kind in one round; a URL that needs more is left to the next round.
const REPLACEMENTS_MAX: usize = 16;

/// Below this many literals, as where a search judges hundreds of rules one by one, a transition
/// table costs more to build than it saves.
const DFA_LITERALS_MIN: usize = 3;

/// Above this many literals a transition table would outgrow the caches.
const DFA_LITERALS_MAX: usize = 2_000;

/// A table keyed by hashes that are already uniform.
pub(crate) type HashedMap<V> = HashMap<u64, V, BuildHasherDefault<Identity>>;

/// Passes a 64-bit hash through.
#[derive(Default)]
pub(crate) struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// The rules of one site, ready to be applied.
#[derive(Debug, Default)]
pub(crate) struct SiteRules {
    aliases: HashedMap<Vec<Alias>>,
    schemes: Vec<(bool, Bound)>,
    parameters: HashedMap<Vec<Parameter>>,
    /// Those between semicolons.
    between_semicolons: HashedMap<Vec<Parameter>>,
    /// With what each is about: spaces, or all other characters.
    escapes: Vec<(bool, Bound)>,
    sorts: Vec<Bound>,
    cases: Vec<Bound>,
    literals: Option<AhoCorasick>,
    literal_rules: Vec<Literal>,
    shapes: Vec<Shape>,
    self_links: Vec<SelfLink>,
}

/// A rule's name and scope.
#[derive(Debug)]
struct Bound {
    id: RuleId,
    scope: Scope,
}

#[derive(Debug)]
struct Parameter {
    name: Box<str>,
    value: Option<Box<str>>,
    set: Option<Box<str>>,
    bound: Bound,
}

#[derive(Debug)]
struct Alias {
    from: Host,
    to: Host,
    from_path: Box<str>,
    to_path: Box<str>,
    id: RuleId,
}

#[derive(Debug)]
struct Shape {
    shape: Vec<Segment>,
    index: usize,
    value: Box<str>,
    bound: Bound,
}

/// Links that lead back to their pages; it rewrites nothing.
#[derive(Debug)]
struct SelfLink {
    page: Box<str>,
    link: Box<str>,
    bound: Bound,
}

#[derive(Debug)]
struct Literal {
    edit: Edit,
    bound: Bound,
}

#[derive(Debug)]
enum Edit {
    Replace { from: Box<str>, to: Box<str>, at_start: bool, at_end: bool },
    Session { after: Box<str> },
}

/// A URL while it is rewritten.
#[derive(Clone, Debug)]
pub(crate) struct Form<'a> {
    url: &'a CrawlUrl,
    https: bool,
    host: Cow<'a, str>,
    /// Path and query.
    tail: String,
    /// Rules that are not applied.
    without: &'a [RuleId],
}

impl<'a> Form<'a> {
    /// Takes a URL apart, to which all rules but some are to be applied.
    pub(crate) fn of(url: &'a CrawlUrl, without: &'a [RuleId]) -> Self {
        Form {
            url,
            without,
            https: url.is_https(),
            host: Cow::Borrowed(url.host_str()),
            tail: url.path_and_query().to_owned(),
        }
    }

    /// Puts the URL together again, or returns `None` where it is none any more. The second value
    /// is false where parsing changed the text, so that rules may apply to it anew.
    pub(crate) fn build(&self) -> Option<(CrawlUrl, bool)> {
        if self.https == self.url.is_https() && *self.host == *self.url.host_str() {
            // Setting parts costs a third of parsing, since the host need not be parsed again.
            let (path, query) = self.tail.split_at(self.path_len());
            let mut url = self.url.as_url().clone();
            if path != self.url.path() {
                url.set_path(path);
            }
            url.set_query(query.strip_prefix('?'));
            let built = CrawlUrl::from_url(url).ok()?;
            if built.path_and_query() == self.tail {
                return Some((built, true));
            }
        }
        let text = self.text();
        let built = CrawlUrl::parse(&text).ok()?;
        let same = built.as_str() == text;
        Some((built, same))
    }

    fn text(&self) -> String {
        let scheme = if self.https { "https" } else { "http" };
        let port = self.url.as_url().port().map(|port| format!(":{port}")).unwrap_or_default();
        format!("{scheme}://{}{port}{}", self.host, self.tail)
    }

    fn path_len(&self) -> usize {
        memchr::memchr(b'?', self.tail.as_bytes()).unwrap_or(self.tail.len())
    }
}

impl SiteRules {
    /// Compiles the rules of one site; their order does not matter.
    pub(crate) fn compile<'a>(
        rules: impl IntoIterator<Item = &'a Rule>,
    ) -> Result<Self, RuleError> {
        let mut rules: Vec<&Rule> = rules.into_iter().collect();
        rules.iter().try_for_each(|rule| rule.check())?;
        // Longer patterns first: a refinement speaks before what it refines.
        rules
            .sort_by_key(|rule| (rule.rule.phase(), std::cmp::Reverse(pattern_len(rule)), rule.id));
        let mut site = SiteRules::default();
        let mut patterns: Vec<&str> = Vec::new();
        let decodes = |rule: &&Rule| {
            rule.rule == RuleKind::Escapes { spaces: false } && rule.scope == Scope::default()
        };
        let decodes = rules.iter().any(decodes);
        for rule in rules {
            let bound = || Bound { id: rule.id, scope: rule.scope.clone() };
            match &rule.rule {
                RuleKind::HostAlias { from, to, from_path, to_path } => {
                    let alias = Alias {
                        from: from.clone(),
                        to: to.clone(),
                        from_path: from_path.as_str().into(),
                        to_path: to_path.as_str().into(),
                        id: rule.id,
                    };
                    let hash = xxh3_64(from.as_str().as_bytes());
                    site.aliases.entry(hash).or_default().push(alias);
                }
                RuleKind::Scheme { https } => site.schemes.push((*https, bound())),
                RuleKind::DropParameter { names, value, separator } => {
                    let of = match separator {
                        Separator::Ampersand => &mut site.parameters,
                        Separator::Semicolon => &mut site.between_semicolons,
                    };
                    for name in names {
                        add_parameter(of, name, value.as_deref(), None, bound());
                    }
                }
                RuleKind::SetParameter { name, value } => {
                    // Set with its escapes it would be decoded, and set again, without end.
                    let plain = decodes.then(|| escapes::decoded_name(value));
                    let value = plain.as_deref().unwrap_or(value);
                    add_parameter(&mut site.parameters, name, None, Some(value), bound());
                }
                RuleKind::Escapes { spaces } => site.escapes.push((*spaces, bound())),
                RuleKind::SortParameters => site.sorts.push(bound()),
                RuleKind::PathCase => site.cases.push(bound()),
                // Where all is decoded, that is what it says, or the reverse of it.
                RuleKind::Substring { from, to, .. } if decodes && escapes::are_alike(from, to) => {
                }
                RuleKind::Substring { from, to, at_start, at_end } => {
                    patterns.push(from);
                    let (from, to) = (from.as_str().into(), to.as_str().into());
                    let edit = Edit::Replace { from, to, at_start: *at_start, at_end: *at_end };
                    site.literal_rules.push(Literal { edit, bound: bound() });
                }
                RuleKind::PathSession { before, after } => {
                    patterns.push(before);
                    let edit = Edit::Session { after: after.as_str().into() };
                    site.literal_rules.push(Literal { edit, bound: bound() });
                }
                RuleKind::IgnoreSegment { shape, index, value } => site.shapes.push(Shape {
                    shape: shape.clone(),
                    index: *index,
                    value: value.as_str().into(),
                    bound: bound(),
                }),
                RuleKind::SelfLink { page, link } => site.self_links.push(SelfLink {
                    page: page.as_str().into(),
                    link: link.as_str().into(),
                    bound: bound(),
                }),
            }
        }
        site.literals = automaton(&patterns)?;
        Ok(site)
    }

    /// Returns true where some rule may change the URL: a quick look without allocation.
    pub(crate) fn may_touch(&self, url: &CrawlUrl) -> bool {
        let tail = url.path_and_query();
        if self.literals.as_ref().is_some_and(|literals| literals.is_match(tail)) {
            return true;
        }
        if (!self.parameters.is_empty()
            || !self.between_semicolons.is_empty()
            || !self.sorts.is_empty())
            && let Some(query) = url.as_url().query()
        {
            if [Separator::Ampersand, Separator::Semicolon]
                .into_iter()
                .any(|separator| self.names_one(query, separator))
            {
                return true;
            }
            if !self.sorts.is_empty() && !is_sorted(query) {
                return true;
            }
        }
        let upper = |path: &str| path.bytes().any(|b| b.is_ascii_uppercase());
        (!self.aliases.is_empty() && self.alias(url.host_str(), url.path(), &[]).is_some())
            || self.schemes.iter().any(|(https, _)| *https != url.is_https())
            || self.escapes.iter().any(|(spaces, _)| escapes::changes(tail, *spaces))
            || (!self.cases.is_empty() && upper(url.path()))
            || self.shapes.iter().any(|shape| fits(&shape.shape, url.path()))
    }

    /// Returns true where some rules take links for the pages they stand on.
    pub(crate) fn has_self_links(&self) -> bool {
        !self.self_links.is_empty()
    }

    /// Returns the rule by which a link is the page that it was found on; `None` for a link to the
    /// address of that page.
    pub(crate) fn led_back(&self, link: &CrawlUrl, page: &CrawlUrl) -> Option<RuleId> {
        if self.self_links.is_empty() || link == page || link.origin() != page.origin() {
            return None;
        }
        let (of_page, of_link) = (form_of_page(page)?, form_of_link(link, page)?);
        let has_forms = |of: &SelfLink| *of.link == *of_link && *of.page == *of_page;
        let leads_back = |of: &&SelfLink| has_forms(of) && of.bound.holds(&Form::of(link, &[]));
        self.self_links.iter().find(leads_back).map(|of| of.bound.id)
    }

    /// Applies every rule once, in order, and returns whether anything changed.
    pub(crate) fn round(&self, form: &mut Form<'_>, applied: &mut Vec<RuleId>) -> bool {
        let before = applied.len();
        self.apply_host(form, applied);
        self.apply_parameters(form, Separator::Ampersand, applied);
        self.apply_parameters(form, Separator::Semicolon, applied);
        self.apply_escapes(form, applied);
        self.apply_sort(form, applied);
        self.apply_case(form, applied);
        self.apply_literals(form, applied);
        self.apply_shapes(form, applied);
        applied.len() > before
    }

    fn alias(&self, host: &str, tail: &str, without: &[RuleId]) -> Option<&Alias> {
        let aliases = self.aliases.get(&xxh3_64(host.as_bytes()))?;
        let holds = |alias: &&Alias| {
            alias.from.as_str() == host
                && tail.starts_with(&*alias.from_path)
                && !without.contains(&alias.id)
        };
        aliases.iter().find(holds)
    }

    fn apply_host(&self, form: &mut Form<'_>, applied: &mut Vec<RuleId>) {
        if let Some(alias) = self.alias(&form.host, &form.tail, form.without) {
            form.host = Cow::Owned(alias.to.as_str().to_owned());
            replace(&mut form.tail, 0..alias.from_path.len(), &alias.to_path);
            applied.push(alias.id);
        }
        for (https, bound) in &self.schemes {
            if form.https != *https && form.url.as_url().port().is_none() && bound.holds(form) {
                form.https = *https;
                applied.push(bound.id);
            }
        }
    }

    fn of_parameters(&self, separator: Separator) -> &HashedMap<Vec<Parameter>> {
        match separator {
            Separator::Ampersand => &self.parameters,
            Separator::Semicolon => &self.between_semicolons,
        }
    }

    /// Returns true where a query of this kind has a parameter that some rule is about.
    fn names_one(&self, query: &str, separator: Separator) -> bool {
        let rules = self.of_parameters(separator);
        let is_of_kind = || Separator::of(query) == separator;
        let names_one = |query| {
            let mut parts = separator.parts(query);
            parts.any(|part| rules.contains_key(&xxh3_64(name_of(part).as_bytes())))
        };
        !rules.is_empty() && names_one(query) && is_of_kind()
    }

    fn apply_parameters(
        &self,
        form: &mut Form<'_>,
        separator: Separator,
        applied: &mut Vec<RuleId>,
    ) {
        let at = form.path_len();
        if at == form.tail.len() || !self.names_one(&form.tail[at + 1..], separator) {
            return;
        }
        let query = &form.tail[at + 1..];
        let mut kept = String::with_capacity(query.len());
        let mut changed = false;
        for part in separator.parts(query) {
            let name = name_of(part);
            let value = part.get(name.len() + 1..).unwrap_or_default();
            let rules = self.of_parameters(separator).get(&xxh3_64(name.as_bytes()));
            let rule = rules.into_iter().flatten().find(|rule| {
                *rule.name == *name
                    && rule.value.as_deref().is_none_or(|only| only == value)
                    && rule.set.as_deref() != Some(value)
                    && rule.bound.holds(form)
            });
            let part: Cow<'_, str> = match rule {
                None => part.into(),
                Some(rule) => {
                    changed = true;
                    applied.push(rule.bound.id);
                    match &rule.set {
                        None => continue,
                        Some(set) => format!("{name}={set}").into(),
                    }
                }
            };
            if !kept.is_empty() {
                kept.push(separator.into());
            }
            kept.push_str(&part);
        }
        if changed {
            form.tail.truncate(at);
            if !kept.is_empty() {
                form.tail.push('?');
                form.tail.push_str(&kept);
            }
        }
    }

    fn apply_escapes(&self, form: &mut Form<'_>, applied: &mut Vec<RuleId>) {
        for (spaces, bound) in &self.escapes {
            if let Some(tail) = escapes::rewrite(&form.tail, *spaces)
                && bound.holds(form)
            {
                form.tail = tail;
                applied.push(bound.id);
            }
        }
    }

    fn apply_sort(&self, form: &mut Form<'_>, applied: &mut Vec<RuleId>) {
        let at = form.path_len();
        if self.sorts.is_empty() || at == form.tail.len() || is_sorted(&form.tail[at + 1..]) {
            return;
        }
        if let Some(bound) = self.sorts.iter().find(|bound| bound.holds(form)) {
            let query = &form.tail[at + 1..];
            let separator = Separator::of(query);
            let mut sorted: Vec<&str> = separator.parts(query).collect();
            sorted.sort_by_key(|part| name_of(part));
            let query = sorted.join(char::from(separator).encode_utf8(&mut [0; 4]));
            form.tail.truncate(at + 1);
            form.tail.push_str(&query);
            applied.push(bound.id);
        }
    }

    fn apply_case(&self, form: &mut Form<'_>, applied: &mut Vec<RuleId>) {
        if self.cases.is_empty() {
            return;
        }
        let at = form.path_len();
        let lower = lower_path(&form.tail[..at]);
        if let Some(lower) = lower
            && let Some(bound) = self.cases.iter().find(|bound| bound.holds(form))
        {
            replace(&mut form.tail, 0..at, &lower);
            applied.push(bound.id);
        }
    }

    fn apply_literals(&self, form: &mut Form<'_>, applied: &mut Vec<RuleId>) {
        let Some(literals) = &self.literals else { return };
        for _ in 0..REPLACEMENTS_MAX {
            // Most tails match nothing, and the search for one match is far faster than for all.
            if !literals.is_match(&form.tail) {
                return;
            }
            let mut best: Option<(usize, usize, usize)> = None;
            for found in literals.find_overlapping_iter(&form.tail) {
                let (rule, start) = (found.pattern().as_usize(), found.start());
                if best.is_some_and(|(other, at, _)| (other, at) <= (rule, start)) {
                    continue;
                }
                if let Some(end) = self.literal_rules[rule].end_of_match(form, start, found.end()) {
                    best = Some((rule, start, end));
                }
            }
            let Some((rule, start, end)) = best else { return };
            let literal = &self.literal_rules[rule];
            let asked = form.path_len() < end;
            replace(&mut form.tail, start..end, literal.replacement());
            keep_one_query(&mut form.tail, start + literal.replacement().len(), asked);
            applied.push(literal.bound.id);
        }
    }

    fn apply_shapes(&self, form: &mut Form<'_>, applied: &mut Vec<RuleId>) {
        for Shape { shape, index, value, bound } in &self.shapes {
            let at = form.path_len();
            let path = &form.tail[..at];
            if !fits(shape, path) || !bound.holds(form) {
                continue;
            }
            let start: usize = path.split('/').take(index + 1).map(|part| part.len() + 1).sum();
            let end = path[start..].find('/').map_or(at, |len| start + len);
            if path[start..end] != **value {
                replace(&mut form.tail, start..end, value);
                applied.push(bound.id);
            }
        }
    }
}

impl Bound {
    fn holds(&self, form: &Form<'_>) -> bool {
        !form.without.contains(&self.id)
            && self.scope.host.as_ref().is_none_or(|host| *host.as_str() == *form.host)
            && self
                .scope
                .path
                .as_ref()
                .is_none_or(|template| has_template(&form.tail[..form.path_len()], template))
            && self.scope.has_view(form.tail.get(form.path_len() + 1..).unwrap_or_default())
    }
}

impl Literal {
    fn replacement(&self) -> &str {
        match &self.edit {
            Edit::Replace { to, .. } => to,
            Edit::Session { .. } => "",
        }
    }

    /// Returns where the replaced text ends, or `None` where the rule does not apply here: inside a
    /// token, where two tokens would be glued together, or out of its scope.
    fn end_of_match(&self, form: &Form<'_>, start: usize, end: usize) -> Option<usize> {
        let tail = form.tail.as_bytes();
        let end = match &self.edit {
            Edit::Replace { at_start, at_end, .. } => {
                if (*at_start && start != 0) || (*at_end && end != tail.len()) {
                    return None;
                }
                end
            }
            Edit::Session { after } => {
                let id = |b: &u8| b.is_ascii_alphanumeric() || b"-_.!*~".contains(b);
                let len = tail[end..].iter().take_while(|b| id(b)).count();
                let ends = form.tail[end + len..].starts_with(&**after);
                if len < SESSION_ID_MIN || !ends {
                    return None;
                }
                end + len + after.len()
            }
        };
        let (from, to) = match &self.edit {
            Edit::Replace { from, to, .. } => (from.as_bytes(), to.as_bytes()),
            Edit::Session { .. } => (&tail[start..end], &b""[..]),
        };
        let word = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
        let (left, right) = (start.checked_sub(1).map(|i| &tail[i]), tail.get(end));
        let splits = |outer: Option<&u8>, inner: Option<&u8>| word(outer) && word(inner);
        let inside = splits(left, from.first()) || splits(right, from.last());
        let glued = match (to.first(), to.last()) {
            (Some(first), Some(last)) => splits(left, Some(first)) || splits(right, Some(last)),
            _ => splits(left, right),
        };
        // The tail must begin with a slash whatever is replaced.
        let rooted = start > 0 || to.first().or(right) == Some(&b'/');
        (!inside && !glued && rooted && self.bound.holds(form)).then_some(end)
    }
}

/// Shorter values after a session marker are names, not ids.
const SESSION_ID_MIN: usize = 8;

fn pattern_len(rule: &Rule) -> usize {
    match &rule.rule {
        RuleKind::Substring { from, .. } => from.len(),
        RuleKind::HostAlias { from_path, .. } => from_path.len(),
        RuleKind::DropParameter { value, .. } => usize::from(value.is_some()),
        _ => 0,
    }
}

fn automaton(patterns: &[&str]) -> Result<Option<AhoCorasick>, RuleError> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let kind = match patterns.len() {
        0..DFA_LITERALS_MIN => Some(AhoCorasickKind::NoncontiguousNFA),
        DFA_LITERALS_MIN..=DFA_LITERALS_MAX => Some(AhoCorasickKind::DFA),
        _ => None,
    };
    AhoCorasick::builder()
        .match_kind(MatchKind::Standard)
        .kind(kind)
        .build(patterns)
        .map(Some)
        .map_err(|error| RuleError(format!("the literals of a site do not compile: {error}")))
}

fn add_parameter(
    to: &mut HashedMap<Vec<Parameter>>,
    name: &str,
    value: Option<&str>,
    set: Option<&str>,
    bound: Bound,
) {
    let rule = Parameter {
        name: name.into(),
        value: value.map(Into::into),
        set: set.map(Into::into),
        bound,
    };
    to.entry(xxh3_64(name.as_bytes())).or_default().push(rule);
}

fn is_sorted(query: &str) -> bool {
    Separator::of(query).parts(query).is_sorted_by_key(name_of)
}

/// Puts `with` in the place of a part of `text`, in one copy instead of byte by byte.
fn replace(text: &mut String, part: std::ops::Range<usize>, with: &str) {
    let mut new = String::with_capacity(text.len() - part.len() + with.len());
    new.push_str(&text[..part.start]);
    new.push_str(with);
    new.push_str(&text[part.end..]);
    *text = new;
}

/// Mends the sign that begins the query where what was replaced has brought one, or taken it away:
/// `from` is where the text behind it begins, and `asked` says whether a query began before that.
fn keep_one_query(tail: &mut String, from: usize, asked: bool) {
    let asks = tail[..from].contains('?');
    let (old, new) = match (asked, asks) {
        (false, true) => ('?', "&"),
        (true, false) => ('&', "?"),
        _ => return,
    };
    let signs: &[char] = if asks { &['?'] } else { &['?', '&'] };
    let Some(at) = tail[from..].find(signs).map(|at| from + at) else { return };
    // Behind a path that ends in a question mark there is nothing to join.
    let new = if tail[..at].ends_with('?') { "" } else { new };
    if tail[at..].starts_with(old) {
        replace(tail, at..at + 1, new);
    }
}

/// Lower-cases a path but for its percent-encodings, whose case the normal form decides; `None`
/// where there is nothing to change, as in the rounds that only look whether another is needed.
fn lower_path(path: &str) -> Option<String> {
    if !path.bytes().any(|b| b.is_ascii_uppercase()) {
        return None;
    }
    let mut out = String::with_capacity(path.len());
    let mut escape = 0u8;
    for c in path.chars() {
        if c == '%' {
            escape = 3;
        }
        out.push(if escape > 0 { c } else { c.to_ascii_lowercase() });
        escape = escape.saturating_sub(1);
    }
    (out != path).then_some(out)
}

/// Returns true where a path has this shape.
pub(crate) fn fits(shape: &[Segment], path: &str) -> bool {
    let mut segments = path.strip_prefix('/').unwrap_or(path).split('/');
    let all = shape.iter().all(|want| {
        segments.next().is_some_and(|segment| match want {
            Segment::Text(text) => text == segment,
            Segment::Number => !segment.is_empty() && segment.bytes().all(|b| b.is_ascii_digit()),
            Segment::Any => !segment.is_empty(),
        })
    });
    all && segments.next().is_none()
}
