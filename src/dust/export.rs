//! Rules for other programs: redirects for nginx and Apache, Clean-param for robots.txt, fuzzy
//! rules for pywb.
//!
//! Only what a format can say exactly is written; every other rule is named with the reason: so is
//! one that does not hold everywhere, since no format can say where. The
//! redirects look at the request as it came (`$request_uri`, `THE_REQUEST`), since servers decode
//! and fold the path before they match it. It writes text and reads nothing.
//!
//! Sources: nginx, ngx_http_rewrite_module; Apache HTTP Server 2.4, mod_rewrite; Yandex, robots.txt
//! Clean-param; pywb, `fuzzymatcher.py`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::rule::{Rule, RuleId, RuleKind, Segment};
use crate::url::query::Separator;
use crate::url::{Host, Site, cdx_key};

/// What the rules are written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// nginx: for a `server` block.
    Nginx,
    /// Apache HTTP Server 2.4: for a virtual host.
    Apache,
    /// `Clean-param` lines of robots.txt.
    CleanParam,
    /// Fuzzy rules of pywb, for its `rules_file`.
    Pywb,
}

/// Rules in another form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// The text of the file.
    pub text: String,
    /// Rules that the form cannot express, and why.
    pub left_out: Vec<(RuleId, String)>,
}

/// Writes rules in another form, each with its text and evidence as a comment; `any` says that it
/// is for somebody else to see where they hold.
pub fn export(rules: &[&Rule], form: Form, any: bool) -> Exported {
    let mut out = Exported { text: head(form).to_owned(), left_out: Vec::new() };
    let mut fuzzy = Fuzzy::default();
    for rule in rules {
        let limits = if any { None } else { rule.limits.reason() };
        let written = match (limits, form) {
            (Some(limits), _) => Err(limits),
            (None, Form::Nginx) => nginx(rule).map_err(str::to_owned),
            (None, Form::Apache) => apache(rule).map_err(str::to_owned),
            (None, Form::CleanParam) => clean_param(rule).map_err(str::to_owned),
            (None, Form::Pywb) => fuzzy.add(rule).map(|()| String::new()).map_err(str::to_owned),
        };
        match written {
            Ok(lines) => {
                let e = rule.evidence;
                let said = format!(
                    "{} {} [{}]: {} documents alike, {} different; draws {} alike, {} not",
                    rule.site,
                    rule,
                    rule.id,
                    e.documents_same,
                    e.documents_different,
                    e.draws_same,
                    e.draws_failed
                );
                comment(&mut out.text, &said);
                out.text.push_str(&lines);
            }
            Err(why) => {
                let said = format!("left out: {} {} [{}]: {why}", rule.site, rule, rule.id);
                comment(&mut out.text, &said);
                out.left_out.push((rule.id, why));
            }
        }
    }
    out.text.push_str(&fuzzy.text());
    out
}

/// Appends a blank line and a comment, in one line whatever is in it: what stood in a second one
/// would be a directive.
fn comment(out: &mut String, text: &str) {
    let one_line =
        text.replace(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'), " ");
    let _ = writeln!(out, "\n# {one_line}");
}

fn head(form: Form) -> &'static str {
    match form {
        Form::Nginx => {
            "# Redirects to canonical URLs; include it in a server block.\n\
             set $dust \"$request_method $http_host $request_uri\";\n\
             set $dust_port \"\";\n\
             if ($http_host ~ \"(:[0-9]+)$\") { set $dust_port $1; }\n"
        }
        Form::Apache => {
            "# Redirects to canonical URLs; include it in a virtual host (Apache 2.4).\n\
             RewriteEngine On\n\
             RewriteCond %{HTTP_HOST} \"(:[0-9]+)$\"\n\
             RewriteRule \"^\" \"-\" [E=DUST_PORT:%1]\n"
        }
        Form::CleanParam => {
            "# Clean-param lines, for the robots.txt of the host that each comment names.\n\
             User-agent: *\n"
        }
        Form::Pywb => {
            "# Fuzzy rules of pywb: put them below the line `rules:` of a copy of its rules.yaml,\n\
             # before its own ones, and name the copy as `rules_file` in config.yaml. A URL that\n\
             # is not in the index is looked up without the parameters, and by no other rule of\n\
             # pywb. What the crawl fetched instead may have them: `crawler export --format\n\
             # aliases` names it for every URL that the crawl left out.\n"
        }
    }
}

/// One redirect: a pattern on path and query with numbered groups, and what stands there then.
struct Redirect {
    /// Without anchors; `END` is where path and query end.
    tail: String,
    to: String,
    to_host: Option<Host>,
}

/// Where path and query end; replaced by what a form calls it.
const END: &str = "\u{1}";

/// Ways that the server would run in a circle.
const CIRCLE: &str = "the outcome would match again, and the redirect would never end";

type Written = Result<String, &'static str>;

fn redirects(rule: &Rule) -> Result<Vec<Redirect>, &'static str> {
    match &rule.rule {
        RuleKind::Substring { from, to, at_start, at_end } => {
            if to.contains(from.as_str()) {
                return Err(CIRCLE);
            }
            let (core, after) = (bounded(&regex::escape(from), from, to), !at_end);
            let asks = from.contains('?') || to.contains('?');
            let ends_query = from.contains('?') && !to.contains('?');
            if to.is_empty() {
                return Ok(with_query(taken_out(&core, after, asks), ends_query));
            }
            // A path begins with a slash whatever is replaced.
            let before = match (at_start, to.starts_with('/')) {
                (true, _) => None,
                (false, true) => Some("*?"),
                (false, false) => Some("+?"),
            };
            Ok(with_query(around(before, &core, after, to, asks), ends_query))
        }
        RuleKind::DropParameter { separator: Separator::Semicolon, .. } => Err(BETWEEN_SEMICOLONS),
        RuleKind::DropParameter { names, value, .. } => Ok(parameters(names, value.as_deref())),
        RuleKind::SetParameter { name, value } => {
            let (name_rx, value_rx) = (regex::escape(name), regex::escape(value));
            let mut other = format!("=(?!{value_rx}(?:&|{END}))[^&; ]*");
            if !value.is_empty() {
                // A name without `=` has no value.
                other = format!("(?:{other}|(?=&|{END}))");
            }
            let tail = format!("([^? ]*)\\?((?:[^? ]*?&)?){name_rx}{other}((?:&[^? ]*)?){END}");
            let to = format!("\u{2}1?\u{2}2{}={}\u{2}3", literal(name), literal(value));
            Ok(vec![Redirect { tail, to, to_host: None }])
        }
        RuleKind::PathSession { before, after } => {
            let (first, last) = (regex::escape(before), regex::escape(after));
            let session = format!("{first}[A-Za-z0-9_.!*~-]{{8,}}+{last}");
            // What follows an id is no part of a word, or it would be of the id.
            let session = match after.is_empty() {
                true => session,
                false => bounded(&session, &format!("{before}{after}"), ""),
            };
            Ok(taken_out(&session, true, false))
        }
        RuleKind::HostAlias { to, from_path, to_path, .. } => {
            let mut redirects = around(None, &regex::escape(from_path), true, to_path, false);
            redirects.iter_mut().for_each(|redirect| redirect.to_host = Some(to.clone()));
            Ok(redirects)
        }
        RuleKind::IgnoreSegment { shape, index, value } => Ok(segment(shape, *index, value)),
        RuleKind::SortParameters => Err("redirects cannot put parameters in order"),
        RuleKind::SelfLink { .. } => Err("which page it is stands on the page alone"),
        RuleKind::Escapes { .. } => {
            Err("redirects cannot replace what may stand any number of times")
        }
        RuleKind::PathCase => Err("lower-casing needs a map of the server"),
        RuleKind::Scheme { .. } => Err("redirect the scheme where the server listens"),
    }
}

/// Redirects of a rule that may take the sign away which begins the query: then they match only
/// where no other parameter follows, which would have to begin it.
fn with_query(mut redirects: Vec<Redirect>, ends_query: bool) -> Vec<Redirect> {
    let rest = format!("([^? ]*){END}");
    for redirect in redirects.iter_mut().filter(|_| ends_query) {
        if let Some(before) = redirect.tail.strip_suffix(&rest) {
            redirect.tail = format!("{before}([^?& ]*){END}");
        }
    }
    redirects
}

/// Redirects that take `core` out. What is left begins with a slash: whatever else stood behind the
/// host would become a part of its name.
fn taken_out(core: &str, after: bool, asks: bool) -> Vec<Redirect> {
    let mut redirects = around(Some("+?"), core, after, "", asks);
    if after {
        redirects.extend(around(None, &format!("{core}(?=/)"), after, "", asks));
    }
    redirects
}

/// Redirects that replace `core` between what stands before and after it. The question mark between
/// path and query stands in the replacement and never in a group, since Apache refuses what has one
/// there; so there is a redirect for each place where it can be. `asks` is true where `core` or
/// `to` has it.
fn around(before: Option<&str>, core: &str, after: bool, to: &str, asks: bool) -> Vec<Redirect> {
    let plain = before.map_or(String::new(), |times| format!("([^? ]{times})"));
    let rest = if after { "([^? ]*)" } else { "" };
    let mut places = vec![(plain.clone(), rest)];
    if after && !asks {
        places.push((plain, "([^? ]*)\\?([^? ]*)"));
    }
    if before.is_some() && !asks {
        places.push(("([^? ]*)\\?([^? ]*?)".to_owned(), rest));
    }
    let redirect = |(before, after): (String, &str)| {
        let groups = |pattern: &str, from: usize| match pattern.matches('(').count() {
            0 => String::new(),
            1 => format!("\u{2}{from}"),
            _ => format!("\u{2}{from}?\u{2}{}", from + 1),
        };
        let first = groups(&before, 1);
        let last = groups(after, 1 + before.matches('(').count());
        let tail = format!("{before}{core}{after}{END}");
        Redirect { tail, to: format!("{first}{}{last}", literal(to)), to_host: None }
    };
    places.into_iter().map(redirect).collect()
}

/// Redirects that drop parameters: the only one, the first one, and a later one.
fn parameters(names: &[String], value: Option<&str>) -> Vec<Redirect> {
    let names: Vec<String> = names.iter().map(|name| regex::escape(name)).collect();
    let value = match value {
        None => "(?:=[^& ]*)?".to_owned(),
        Some("") => "=?".to_owned(),
        Some(value) => format!("={}", regex::escape(value)),
    };
    let one = format!("(?:{}){value}", names.join("|"));
    let redirect = |tail: String, to: &str| Redirect { tail, to: to.to_owned(), to_host: None };
    // Where it is the only one there may be others between semicolons.
    let only = one.replace("[^& ]", "[^&; ]");
    vec![
        redirect(format!("([^? ]*)\\?{only}{END}"), "\u{2}1"),
        redirect(format!("([^? ]*)\\?{one}&([^? ]*){END}"), "\u{2}1?\u{2}2"),
        redirect(format!("([^? ]*)\\?([^? ]*?)&{one}((?:&[^? ]*)?){END}"), "\u{2}1?\u{2}2\u{2}3"),
    ]
}

/// The pattern of what a rule replaces, with the same boundaries as the crawler keeps: it matches
/// nothing inside a token and glues no two tokens together. `from` begins and ends as `core` does.
fn bounded(core: &str, from: &str, to: &str) -> String {
    let word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let ends = |first: Option<char>, last: Option<char>| word(first) || word(last);
    let mut one = core.to_owned();
    if ends(from.chars().next(), to.chars().next()) {
        one = format!("(?<![A-Za-z0-9]){one}");
    }
    if ends(from.chars().last(), to.chars().last()) {
        one = format!("{one}(?![A-Za-z0-9])");
    }
    if to.is_empty() {
        one = format!("(?:(?<![A-Za-z0-9]){one}|{one}(?![A-Za-z0-9]))");
    }
    one
}

fn segment(shape: &[Segment], index: usize, value: &str) -> Vec<Redirect> {
    let mut path = String::from("(");
    for (at, segment) in shape.iter().enumerate() {
        let looks = match segment {
            Segment::Text(text) => regex::escape(text),
            Segment::Number => "[0-9]+".to_owned(),
            Segment::Any => "[^/? ]+".to_owned(),
        };
        if at == index {
            let value = regex::escape(value);
            path.push_str(&format!("/)(?!{value}(?:[/?]|{END})){looks}("));
        } else {
            path.push('/');
            path.push_str(&looks);
        }
    }
    let to = format!("\u{2}1{}\u{2}2", literal(value));
    let redirect = |rest: &str, to: String| Redirect {
        tail: format!("{path}){rest}{END}"),
        to,
        to_host: None,
    };
    vec![redirect("", to.clone()), redirect("\\?([^? ]*)", format!("{to}?\u{2}3"))]
}

/// Marks characters that mean something in a replacement, so that each form escapes them its way.
fn literal(text: &str) -> String {
    text.replace('%', "\u{3}").replace('$', "\u{4}")
}

/// Hosts on which a rule holds, as a pattern.
fn hosts(rule: &Rule) -> String {
    let host = match (&rule.rule, &rule.scope.host) {
        (RuleKind::HostAlias { from, .. }, _) => Some(from),
        (_, host) => host.as_ref(),
    };
    let site = regex::escape(rule.site.as_str());
    match host {
        Some(host) => regex::escape(host.as_str()),
        None if rule.site.has_hosts_below() => format!("(?:[^/ ]*\\.)?{site}"),
        None => site,
    }
}

/// A look ahead at the path and at the view that the rule is bound to.
fn scope(rule: &Rule) -> String {
    let path = rule.scope.path.as_ref().map_or(String::new(), |path| {
        let parts: Vec<String> = path.split('#').map(regex::escape).collect();
        format!("(?={}(?:\\?|{END}))", parts.join("[0-9]+"))
    });
    let view = rule.scope.view.as_ref().map_or(String::new(), |view| {
        let view = regex::escape(view);
        // A `;` separates only where there is no `&` and every part has a name and a value.
        let (before, after) = ("(?:[^=&; ]+=[^&; ]*;)*", "(?:;[^=&; ]+=[^&; ]*)*");
        format!("(?=[^? ]*\\?(?:(?:[^ ]*&)?{view}(?:&|{END})|{before}{view}{after}{END}))")
    });
    path + &view
}

/// Quotes and backslashes end or change quoted texts in each server's own way, and no URL in normal
/// form has quotes.
fn check_plain(rule: &Rule, redirect: &Redirect) -> Result<(), &'static str> {
    let quoted =
        |scope: &Option<String>| scope.as_ref().is_some_and(|scope| scope.contains(['"', '\\']));
    let escaped = redirect.tail.contains("\\\\") || redirect.tail.contains('"');
    let scoped = quoted(&rule.scope.path) || quoted(&rule.scope.view);
    match escaped || redirect.to.contains(['"', '\\']) || scoped {
        true => Err("a server's configuration takes no quotes and backslashes as they are"),
        false => Ok(()),
    }
}

fn nginx(rule: &Rule) -> Written {
    let mut out = String::new();
    for redirect in redirects(rule)? {
        if redirect.to.contains('\u{4}') {
            return Err("nginx has no way to write a dollar sign");
        }
        check_plain(rule, &redirect)?;
        let pattern = format!("{}{}", scope(rule), redirect.tail).replace(END, "$");
        let host =
            redirect.to_host.map_or("$http_host".to_owned(), |host| format!("{host}$dust_port"));
        let to = redirect.to.replace('\u{2}', "$").replace('\u{3}', "%");
        let hosts = hosts(rule);
        let _ = writeln!(
            out,
            "if ($dust ~ \"^(?:GET|HEAD) (?i:{hosts})(?::[0-9]+)? {pattern}\") \
             {{ return 301 \"$scheme://{host}{to}\"; }}"
        );
    }
    Ok(out)
}

fn apache(rule: &Rule) -> Written {
    if let RuleKind::PathCase = rule.rule {
        return path_case(rule);
    }
    let mut out = String::new();
    for redirect in redirects(rule)? {
        check_plain(rule, &redirect)?;
        let pattern =
            format!("{}{}", scope(rule), redirect.tail).replace(END, "(?= HTTP/[0-9.]+$)");
        let host = redirect
            .to_host
            .map_or("%{HTTP_HOST}".to_owned(), |host| format!("{host}%{{ENV:DUST_PORT}}"));
        let to = redirect.to.replace('\u{2}', "%").replace('\u{3}', "\\%").replace('\u{4}', "\\$");
        let hosts = hosts(rule);
        // A request to a proxy names the host once more, in front of the path.
        let _ = write!(
            out,
            "RewriteCond %{{HTTP_HOST}} \"^{hosts}(?::[0-9]+)?$\" [NC]\n\
             RewriteCond %{{THE_REQUEST}} \"^(?:GET|HEAD) (?=/){pattern}\"\n\
             RewriteRule \"^\" \"%{{REQUEST_SCHEME}}://{host}{to}\" [R=301,NE,QSD,L]\n"
        );
    }
    Ok(out)
}

fn path_case(rule: &Rule) -> Written {
    if rule.scope.view.is_some() {
        return Err("the server lower-cases paths whatever their queries are");
    }
    // The path is decoded when it is lower-cased: an escaped question mark would begin a query.
    let nowhere = Redirect { tail: String::new(), to: String::new(), to_host: None };
    check_plain(rule, &nowhere)?;
    Ok(format!(
        "RewriteMap dust_lower int:tolower\n\
         RewriteCond %{{HTTP_HOST}} \"^{}(?::[0-9]+)?$\" [NC]\n\
         RewriteCond %{{THE_REQUEST}} \"^(?:GET|HEAD) (?![^? ]*%3[Ff])\"\n\
         RewriteCond %{{REQUEST_URI}} \"{}[A-Z]\"\n\
         RewriteRule \"^(.*)$\" \"${{dust_lower:$1}}\" [R=301,L]\n",
        hosts(rule),
        if rule.scope.path.is_some() {
            format!("^{}.*", scope(rule).replace(END, "$"))
        } else {
            String::new()
        }
    ))
}

/// Why a rule for queries like `?a=1;b=2` is left out.
const BETWEEN_SEMICOLONS: &str = "it drops parameters between semicolons, this format between `&`";

fn clean_param(rule: &Rule) -> Written {
    let RuleKind::DropParameter { names, value: None, separator } = &rule.rule else {
        return Err("Clean-param can only drop parameters, whatever their value");
    };
    if *separator == Separator::Semicolon {
        return Err(BETWEEN_SEMICOLONS);
    }
    if rule.scope.view.is_some() {
        return Err("Clean-param holds in every view of a program, and the rule in one");
    }
    if rule.scope.path.is_some() {
        return Err(
            "Clean-param holds for every path that begins so, and the rule for no other one",
        );
    }
    let host = rule.scope.host.as_ref().map(Host::as_str).unwrap_or(rule.site.as_str());
    Ok(format!("# {host}\nClean-param: {}\n", names.join("&")))
}

/// Rules for pywb. It applies the first entry alone that is for a URL, so there is one for each
/// beginning of its index's keys, with all parameters that are dropped there.
#[derive(Default)]
struct Fuzzy<'a> {
    of_hosts: BTreeMap<&'a Host, (&'a Site, BTreeSet<&'a str>)>,
    of_sites: BTreeMap<&'a Site, BTreeSet<&'a str>>,
}

impl<'a> Fuzzy<'a> {
    fn add(&mut self, rule: &'a Rule) -> Result<(), &'static str> {
        let names = match &rule.rule {
            RuleKind::DropParameter { separator: Separator::Semicolon, .. } => {
                return Err(BETWEEN_SEMICOLONS);
            }
            RuleKind::DropParameter { names, value: None, .. } => names,
            // `+` is no space in its keys.
            RuleKind::SortParameters
            | RuleKind::Escapes { spaces: false }
            | RuleKind::PathCase
            | RuleKind::Scheme { .. } => {
                return Err("nothing to do: the keys of its index are already so");
            }
            _ => return Err("fuzzy rules of pywb can only pass over parameters"),
        };
        if rule.scope.view.is_some() {
            return Err("fuzzy rules of pywb hold in every view of a program, and the rule in one");
        }
        if rule.scope.path.is_some() {
            return Err(
                "fuzzy rules of pywb are bound to the beginning of a path, not to its shape",
            );
        }
        let held = match &rule.scope.host {
            Some(host) => &mut self.of_hosts.entry(host).or_insert((&rule.site, BTreeSet::new())).1,
            None => self.of_sites.entry(&rule.site).or_default(),
        };
        held.extend(names.iter().map(String::as_str));
        Ok(())
    }

    fn text(&self) -> String {
        /// What is dropped on hosts that one beginning of a key stands for.
        #[derive(Default)]
        struct Folded<'a> {
            hosts: BTreeSet<String>,
            names: BTreeSet<&'a str>,
        }
        let mut folded: BTreeMap<String, Folded<'_>> = BTreeMap::new();
        for (host, (site, names)) in &self.of_hosts {
            let Some(prefix) = key_of_host(host.as_str()) else { continue };
            let entry = folded.entry(prefix).or_default();
            entry.hosts.insert(host_pattern(host, site));
            entry.names.extend(names);
            entry.names.extend(self.of_sites.get(site).into_iter().flatten());
        }
        let mut out = String::new();
        for (prefix, Folded { hosts, names }) in folded {
            let hosts: Vec<String> = hosts.into_iter().collect();
            out.push_str(&fuzzy_entry(&[prefix], &hosts.join("|"), &names));
        }
        for (site, names) in &self.of_sites {
            let prefixes = keys_of_site(site);
            let mut hosts = regex::escape(site.as_str());
            if site.has_hosts_below() {
                hosts = format!("(?:[^/?#]*\\.)?{hosts}");
            }
            if !prefixes.is_empty() {
                out.push_str(&fuzzy_entry(&prefixes, &hosts, names));
            }
        }
        out
    }
}

/// Returns the beginning of the keys of a host in an index, up to its `)`.
fn key_of_host(host: &str) -> Option<String> {
    let key = cdx_key(&format!("http://{host}/"))?;
    Some(key[..=key.find(')')?].to_owned())
}

fn keys_of_site(site: &Site) -> Vec<String> {
    let site_name = site.as_str();
    let mut keys: Vec<String> = key_of_host(site_name).into_iter().collect();
    if site.has_hosts_below() {
        keys.extend(key_of_host(&format!("www.{site_name}")));
        let labels: Vec<&str> = site_name.rsplit('.').collect();
        keys.push(labels.join(",") + ",");
    }
    keys.dedup();
    keys
}

/// Returns a pattern of the hosts whose keys are those of `host`, as far as they are of its site:
/// an index knows no `www.` and no `www2.` in front of a host.
fn host_pattern(host: &Host, site: &Site) -> String {
    let plain = host.as_str().strip_prefix("www");
    let plain = plain
        .and_then(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('.'));
    let plain = plain.filter(|plain| Host::new(plain).site() == *site);
    let folded = plain.unwrap_or(host.as_str());
    let is_whole = plain.is_none() && host.as_str().starts_with("www");
    let www = if is_whole { "" } else { "(?:www[0-9]*\\.)?" };
    format!("{www}{}", regex::escape(folded))
}

/// Returns the entry that takes parameters out of the URL that is asked for, and looks for nothing
/// but the outcome: whatever pywb finds by filters it finds by their being a part of a key, such as
/// `id=1` in `id=10`.
fn fuzzy_entry(prefixes: &[String], hosts: &str, names: &BTreeSet<&str>) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let names: Vec<String> = names.iter().map(|name| regex::escape(name)).collect();
    let one = format!("(?:{})(?:=[^&?#]*)?", names.join("|"));
    // What is of other hosts or without a query stays as it is. Then come the only parameters, the
    // first ones, and later ones; a question mark behind the first one ends what is understood.
    let matched = format!(
        "^((?!https?://(?i:{hosts})(?::[0-9]*)?[/?]).*|[^?]*)$\
         |^([^?]*)\\?{one}(?:&{one})*$\
         |^([^?]*\\?)(?:{one}&)+\
         |&{one}(?=(?:&[^?]*)?$)"
    );
    let prefixes: Vec<String> = prefixes.iter().map(|prefix| quoted(prefix)).collect();
    format!(
        "\n\
         \x20   - url_prefix: [{}]\n\
         \x20     fuzzy_lookup:\n\
         \x20       match: {}\n\
         \x20       replace: '\\1\\2\\3'\n\
         \x20       re_type: sub\n\
         \x20       type: exact\n",
        prefixes.join(", "),
        quoted(&matched)
    )
}

#[cfg(test)]
mod tests {
    use super::super::rule::{Scope, Source};
    use super::*;
    use crate::clock::Timestamp;
    use crate::url::Site;

    fn rule(kind: RuleKind, scope: Scope) -> Rule {
        Rule::new(Site::new("a.example"), kind, scope, Source::Mined, Timestamp::ZERO)
    }

    fn drop(value: Option<&str>) -> RuleKind {
        let names = vec!["sid".to_owned(), "b.c".to_owned()];
        RuleKind::drop(names, value.map(str::to_owned))
    }

    fn substring(from: &str, to: &str) -> RuleKind {
        let (from, to) = (from.to_owned(), to.to_owned());
        RuleKind::Substring { from, to, at_start: true, at_end: false }
    }

    /// Checks that the text has all of `want`, and that nothing is left out unless `want` is empty.
    fn check(kind: RuleKind, scope: Scope, form: Form, want: &[&str]) {
        let rule = rule(kind, scope);
        let exported = export(&[&rule], form, false);
        for part in want {
            assert!(exported.text.contains(part), "{part} is not in\n{}", exported.text);
        }
        assert_eq!(exported.left_out.is_empty(), !want.is_empty(), "{}", exported.text);
        assert!(exported.text.contains(&rule.id.to_string()));
    }

    #[test]
    fn redirects_look_at_the_request_as_it_came() {
        check(
            substring("/story_", "/story?id="),
            Scope::default(),
            Form::Nginx,
            &[
                "if ($dust ~ \"^(?:GET|HEAD) (?i:(?:[^/ ]*\\.)?a\\.example)(?::[0-9]+)? /story_([^? ]*)$\") \
               { return 301 \"$scheme://$http_host/story?id=$1\"; }",
            ],
        );
        check(
            substring("/story?id=", "/story_"),
            Scope::default(),
            Form::Nginx,
            &["/story\\?id=([^?& ]*)$\") { return 301 \"$scheme://$http_host/story_$1\"; }"],
        );
        check(
            substring("/a", "/100%"),
            Scope::default(),
            Form::Apache,
            &["%{THE_REQUEST} \"^(?:GET|HEAD) (?=/)/a(?![A-Za-z0-9])", "%{HTTP_HOST}/100\\%%1\""],
        );
        let scope = Scope { path: Some("/s/#.html".to_owned()), ..Scope::default() };
        check(
            drop(Some("1")),
            scope,
            Form::Nginx,
            &["(?=/s/[0-9]+\\.html(?:\\?|$))", "=1&([^? ]*)$"],
        );
    }

    #[test]
    fn a_segment_is_ignored_only_where_it_looks_as_it_must() {
        let shape = |second| vec![Segment::Text("a".into()), second];
        let kind =
            |second| RuleKind::IgnoreSegment { shape: shape(second), index: 1, value: "1".into() };
        for (second, want) in [
            (Segment::Number, "(?!1(?:[/?]|$))[0-9]+()$"),
            (Segment::Text("b.c".into()), "(?!1(?:[/?]|$))b\\.c()$"),
            (Segment::Any, "(?!1(?:[/?]|$))[^/? ]+()$"),
        ] {
            check(kind(second), Scope::default(), Form::Nginx, &[want]);
        }
    }

    /// nginx did not start with such a file.
    #[test]
    fn what_a_server_would_misread_is_left_out() {
        for from in ["/a\"b", "/a\\b"] {
            for form in [Form::Nginx, Form::Apache] {
                check(substring(from, "/a"), Scope::default(), form, &[]);
                check(substring("/a", from), Scope::default(), form, &[]);
            }
        }
    }

    /// Hosts below a public suffix are sites of their own.
    #[test]
    fn what_holds_for_a_public_suffix_holds_for_no_host_below_it() {
        let site = Site::new("github.io");
        let rule = Rule::new(site, drop(None), Scope::default(), Source::Mined, Timestamp::ZERO);
        let text = |form| export(&[&rule], form, false).text;
        assert!(
            text(Form::Nginx).contains("(?:GET|HEAD) (?i:github\\.io)"),
            "{}",
            text(Form::Nginx)
        );
        assert!(text(Form::Pywb).contains("url_prefix: ['io,github)']"), "{}", text(Form::Pywb));
    }

    #[test]
    fn a_redirect_that_would_never_end_is_left_out() {
        check(substring("/a", "/a/b"), Scope::default(), Form::Nginx, &[]);
        check(RuleKind::SortParameters, Scope::default(), Form::Apache, &[]);
        check(RuleKind::PathCase, Scope::default(), Form::Nginx, &[]);
        check(RuleKind::PathCase, Scope::default(), Form::Apache, &["int:tolower"]);
        for form in [Form::Nginx, Form::Apache, Form::CleanParam, Form::Pywb] {
            for spaces in [false, true] {
                check(RuleKind::Escapes { spaces }, Scope::default(), form, &[]);
            }
        }
    }

    #[test]
    fn redirects_look_for_the_view_and_what_cannot_is_left_out() {
        let scope = Scope { view: Some("do=a.b".to_owned()), ..Scope::default() };
        let ahead = r"(?=[^? ]*\?(?:(?:[^ ]*&)?do=a\.b(?:&|";
        for form in [Form::Nginx, Form::Apache] {
            check(drop(None), scope.clone(), form, &[ahead]);
        }
        for form in [Form::CleanParam, Form::Pywb] {
            check(drop(None), scope.clone(), form, &[]);
        }
        check(RuleKind::PathCase, scope, Form::Apache, &[]);
        let quoted = Scope { view: Some("do=\"".to_owned()), ..Scope::default() };
        check(drop(None), quoted, Form::Nginx, &[]);
    }

    #[test]
    fn what_does_not_hold_everywhere_is_left_out_unless_it_is_asked_for() {
        let mut rule = rule(drop(None), Scope::default());
        let few = r#"{"values":{"b.c":["00000000000000ff"],"sid":["0000000000000001","2"]}}"#;
        rule.limits = serde_json::from_str(few).unwrap();
        for form in [Form::Nginx, Form::Apache, Form::CleanParam, Form::Pywb] {
            let why = export(&[&rule], form, false).left_out.remove(0).1;
            assert_eq!(why, "of `b.c` few values are proved, and no others: 1");
            assert_eq!(export(&[&rule], form, true).left_out, []);
        }
    }

    #[test]
    fn parameters_are_dropped_by_robots_files_and_replayers() {
        let scope = Scope { path: Some("/s/#".to_owned()), ..Scope::default() };
        check(drop(None), Scope::default(), Form::CleanParam, &["Clean-param: sid&b.c\n"]);
        // It would hold for `/s/1/more` as well.
        check(drop(None), scope.clone(), Form::CleanParam, &[]);
        check(drop(Some("1")), Scope::default(), Form::CleanParam, &[]);
        check(drop(None), scope, Form::Pywb, &[]);
        check(
            drop(None),
            Scope::default(),
            Form::Pywb,
            &["url_prefix: ['example,a)', 'example,a,']\n", "(?:b\\.c|sid)(?:=[^&?#]*)?"],
        );
    }

    /// Of two entries for one host pywb never sees the second one.
    #[test]
    fn all_that_is_dropped_on_a_host_is_in_one_entry_for_a_replayer() {
        let of = |name: &str, host: Option<&str>| {
            let scope = Scope { host: host.map(Host::new), ..Scope::default() };
            rule(RuleKind::drop(vec![name.to_owned()], None), scope)
        };
        let rules = [
            of("u", None),
            of("v", None),
            of("x", Some("www2.a.example")),
            of("y", Some("a.example")),
            of("z", Some("b.a.example")),
        ];
        let text = export(&rules.iter().collect::<Vec<_>>(), Form::Pywb, false).text;
        let entries: Vec<&str> = text.split("- url_prefix: ").skip(1).collect();
        for (entry, prefixes, names) in [
            (entries[0], "['example,a)']", "(?:u|v|x|y)"),
            (entries[1], "['example,a,b)']", "(?:u|v|z)"),
            (entries[2], "['example,a)', 'example,a,']", "(?:u|v)"),
        ] {
            assert!(entry.starts_with(prefixes) && entry.contains(names), "{prefixes} in\n{text}");
        }
        assert_eq!(entries.len(), 3);
    }

    #[test]
    fn a_replayer_knows_hosts_by_the_keys_of_its_index() {
        for (site, host, prefixes) in [
            ("example.org", Some("www2.example.org"), "['org,example)']"),
            ("www.com", None, "['com)', 'com,www)', 'com,www,']"),
            ("www.com", Some("www.com"), "['com)']"),
        ] {
            let scope = Scope { host: host.map(Host::new), ..Scope::default() };
            let at = Timestamp::ZERO;
            let rule = Rule::new(Site::new(site), drop(None), scope, Source::Mined, at);
            let text = export(&[&rule], Form::Pywb, false).text;
            assert!(text.contains(&format!("url_prefix: {prefixes}\n")), "{text}");
        }
    }

    /// A name in a comment went on in a second line, and that was a directive.
    #[test]
    fn nothing_but_a_written_rule_is_outside_of_comments() {
        let mut limited = rule(drop(None), Scope::default());
        let few = r##"{"values":{"x`\nreturn 302 https://evil.example/;\n#":["1"]}}"##;
        limited.limits = serde_json::from_str(few).unwrap();
        let site = "a.example\r\nreturn 302 https://evil.example/;\u{85}\u{2028}#";
        let at = Timestamp::ZERO;
        let sorted = RuleKind::SortParameters;
        let other = Rule::new(Site::new(site), sorted, Scope::default(), Source::Mined, at);
        for form in [Form::Nginx, Form::Apache, Form::CleanParam, Form::Pywb] {
            let exported = export(&[&limited, &other], form, false);
            assert_eq!(exported.left_out.len(), 2);
            let rest = exported.text.strip_prefix(head(form)).unwrap();
            assert_eq!(rest.lines().filter(|line| !line.is_empty()).count(), 2, "{rest}");
            for line in rest.lines() {
                assert!(line.is_empty() || line.starts_with("# left out: "), "{line:?}");
                assert!(!line.contains(['\r', '\u{85}', '\u{2028}']), "{line:?}");
            }
        }
    }

    /// A form that is sent is lost when it is redirected, and an escaped `?` is none of a query.
    #[test]
    fn what_is_no_reading_is_never_redirected_by_apache() {
        let kinds = [drop(None), substring("/a", "/b"), RuleKind::PathCase];
        for kind in kinds {
            let text = export(&[&rule(kind, Scope::default())], Form::Apache, false).text;
            let (mut conditions, mut redirects) = (String::new(), 0);
            for line in text.lines() {
                if line.starts_with("RewriteRule") && line.contains("R=301") {
                    assert!(conditions.contains("%{THE_REQUEST} \"^(?:GET|HEAD) "), "{text}");
                    redirects += 1;
                }
                if line.starts_with("RewriteRule") {
                    conditions.clear();
                }
                conditions.push_str(line);
            }
            assert!(redirects > 0, "{text}");
        }
        check(RuleKind::PathCase, Scope::default(), Form::Apache, &["(?![^? ]*%3[Ff])"]);
    }
}
