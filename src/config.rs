//! The configuration: defaults, then the file, then the environment, then flags; one valid
//! [`Config`], made before any file or port is opened.
//!
//! No module imports this one: each owns its `Settings`, and this composes them. Unknown keys are
//! errors, with file, line, column, key, and the key that was probably meant. Flags and the
//! environment override keys of the file, they never add any.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::url::Host;
use crate::{
    archive, content, crawl, dashboard, db, dns, extract, fetch, filter, frontier, robots,
};

/// What the crawl is for. It decides what is done with learned rules, and which uses owners must
/// not have refused in what `crawler export` writes; what is archived is the same for all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Keep a replayable copy.
    #[default]
    Archive,
    /// Make a search index.
    Search,
    /// Examine a site for its owner.
    Audit,
    /// Feed language models at run time.
    AiInput,
    /// Train language models.
    AiTrain,
}

/// Everything that can be set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Config {
    /// Where a site owner can reach you: a URL or `mailto:` address. Required; it is sent with
    /// every request.
    pub contact: String,
    /// Name of the crawler in User-Agent and robots.txt.
    pub name: String,
    /// What the crawl is for: `archive`, `search`, `audit`, `ai-input` or `ai-train`.
    pub purpose: Purpose,
    /// Directory of the crawl: state, archive and logs lie below it.
    pub dir: PathBuf,
    /// Seed lists.
    pub seeds: Vec<PathBuf>,
    /// Exit code 4 if more URLs than this failed; none means any number is fine.
    pub max_failures: Option<u64>,
    /// What may be crawled.
    pub scope: filter::Settings,
    /// How hosts are treated.
    pub politeness: frontier::Politeness,
    /// Queues and concurrency.
    pub frontier: frontier::Settings,
    /// Bounds of the crawl as a whole.
    pub limits: crawl::Settings,
    /// How robots.txt is read and kept.
    pub robots: robots::Settings,
    /// Names to addresses.
    pub dns: dns::Settings,
    /// Limits of one fetch.
    pub fetch: fetch::Settings,
    /// How pages are read.
    pub extract: extract::Settings,
    /// How text is judged.
    pub content: content::Settings,
    /// What follows from text that comes back, and from answers that are no content.
    pub repeats: crawl::RepeatSettings,
    /// Learning which URLs lead to the same text.
    pub dust: crawl::DustSettings,
    /// WARC files.
    pub archive: archive::Settings,
    /// Memory and durability of the state.
    pub state: db::Settings,
    /// The live page and the metrics.
    pub dashboard: dashboard::Settings,
    /// Politeness of single hosts: `[host."slow.example.org"]`.
    pub host: BTreeMap<String, frontier::HostOverride>,
}

impl Config {
    /// Returns what is done with learned rules, the purpose considered.
    pub fn dust_mode(&self) -> crawl::DustMode {
        match (self.dust.mode, self.purpose) {
            (crawl::DustMode::Auto, Purpose::Archive) => crawl::DustMode::Suggest,
            (crawl::DustMode::Auto, _) => crawl::DustMode::Enforce,
            (mode, _) => mode,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config {
            contact: String::new(),
            name: "crawler".to_owned(),
            purpose: Purpose::default(),
            dir: PathBuf::from("crawl"),
            seeds: Vec::new(),
            max_failures: None,
            scope: filter::Settings::default(),
            politeness: frontier::Politeness::default(),
            frontier: frontier::Settings::default(),
            limits: crawl::Settings::default(),
            robots: robots::Settings::default(),
            dns: dns::Settings::default(),
            fetch: fetch::Settings::default(),
            extract: extract::Settings::default(),
            content: content::Settings::default(),
            repeats: crawl::RepeatSettings::default(),
            dust: crawl::DustSettings::default(),
            archive: archive::Settings::default(),
            state: db::Settings::default(),
            dashboard: dashboard::Settings::default(),
            host: BTreeMap::new(),
        }
    }
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Nobody set it.
    Default,
    /// The configuration file.
    File,
    /// An environment variable.
    Environment,
    /// A flag of the command.
    Flag,
}

/// What is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The file, `--set`, or the environment variable.
    pub place: String,
    /// Line, from 1, where it is a file.
    pub line: Option<usize>,
    /// Column, from 1.
    pub column: Option<usize>,
    /// The key with its tables, such as `politeness.min_delay`.
    pub key: String,
    /// What is wrong with it.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl ConfigError {
    /// Returns an error about a place, of which nothing more is known yet.
    fn at(place: &str) -> ConfigError {
        ConfigError {
            place: place.to_owned(),
            line: None,
            column: None,
            key: String::new(),
            message: String::new(),
            hint: None,
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, ":{line}:{column}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// A value that overrides the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Override {
    /// The key with its tables.
    pub key: String,
    /// The value as written on the command line; text that is no TOML value is taken as a string.
    pub value: String,
    /// Where it comes from.
    pub source: Source,
}

/// A valid configuration and the origin of each of its values.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration.
    pub config: Config,
    /// Keys that do not have their default, with their origin.
    pub sources: BTreeMap<String, Source>,
    /// Where each of them was set: file, line and column, or what is stronger than the file.
    pub places: BTreeMap<String, String>,
}

impl Loaded {
    /// Returns an error about the value of a key, with the place where it was set.
    pub fn problem(&self, key: &str, message: String) -> ConfigError {
        let place = self.places.get(key).map_or("configuration", String::as_str);
        ConfigError { key: key.to_owned(), message, ..ConfigError::at(place) }
    }

    /// Returns every key with its value as TOML and its origin, in order.
    pub fn effective(&self) -> Vec<(String, String, Source)> {
        let mut rows = Vec::new();
        if let Ok(Value::Table(table)) = Value::try_from(&self.config) {
            flatten("", &table, &mut rows);
        }
        rows.into_iter()
            .map(|(key, value)| {
                let source = self.sources.get(&key).copied().unwrap_or(Source::Default);
                (key, value.to_string(), source)
            })
            .collect()
    }
}

fn flatten(prefix: &str, table: &Table, rows: &mut Vec<(String, Value)>) {
    for (key, value) in table {
        let key = if key.contains('.') { format!("\"{key}\"") } else { key.clone() };
        let path = if prefix.is_empty() { key } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inner) => flatten(&path, inner, rows),
            _ => rows.push((path, value.clone())),
        }
    }
}

/// Reads and checks a configuration. `file` may be absent.
///
/// # Errors
/// Returns the first thing that is wrong, with its place.
pub fn load(file: Option<&Path>, overrides: &[Override]) -> Result<Loaded, ConfigError> {
    let Some(path) = file else { return read("configuration", "", overrides) };
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError {
        place: name.clone(),
        line: None,
        column: None,
        key: String::new(),
        message: format!("cannot be read: {error}"),
        hint: Some("name another with --config, or make one with `crawler init`".to_owned()),
    })?;
    read(&name, &text, overrides)
}

/// Reads and checks the text of a configuration, which errors call `name`.
///
/// # Errors
/// Returns the first thing that is wrong, with its place.
pub fn read(name: &str, text: &str, overrides: &[Override]) -> Result<Loaded, ConfigError> {
    let mut table = Table::new();
    let mut sources = BTreeMap::new();
    if !text.is_empty() {
        // Strictly by itself first, since only the text knows lines and columns.
        toml::from_str::<Config>(text).map_err(|error| at_place(name, text, &error))?;
        table = toml::from_str(text).map_err(|error| at_place(name, text, &error))?;
        let mut rows = Vec::new();
        flatten("", &table, &mut rows);
        sources.extend(rows.into_iter().map(|(key, _)| (key, Source::File)));
    }
    for change in overrides {
        apply(&mut table, change)?;
        sources.insert(change.key.clone(), change.source);
    }
    let config: Config = Value::Table(table).try_into().map_err(|error: toml::de::Error| {
        // The file alone was right, so it is one of the overrides.
        let guilty = overrides.iter().find(|change| one_is_wrong(change)).or(overrides.last());
        let key = guilty.map_or(String::new(), |change| change.key.clone());
        let message = explained(error.message(), &key);
        ConfigError {
            place: guilty.map_or(name.to_owned(), place_of),
            line: None,
            column: None,
            key,
            hint: hint_for(&message),
            message,
        }
    })?;
    check(&config).map_err(|(key, message)| {
        let error = ConfigError { key, message, ..ConfigError::at(name) };
        // What overrides the file is to blame for itself.
        let is_within = |change: &&Override| {
            change
                .key
                .strip_prefix(&error.key)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        match overrides.iter().rev().find(is_within) {
            Some(change) => ConfigError { place: place_of(change), ..error },
            None => {
                let (line, column) = Places::of(text).line_column(&error.key).unzip();
                ConfigError { line, column, ..error }
            }
        }
    })?;
    let of_text = Places::of(text);
    let places = sources.iter().map(|(key, source)| {
        let place = match source {
            Source::Environment => "environment".to_owned(),
            Source::Flag => "command line".to_owned(),
            Source::File | Source::Default => of_text
                .line_column(key)
                .map_or(name.to_owned(), |(line, column)| format!("{name}:{line}:{column}")),
        };
        (key.clone(), place)
    });
    let places = places.collect();
    Ok(Loaded { config, sources, places })
}

fn place_of(change: &Override) -> String {
    match change.source {
        Source::Environment => "environment".to_owned(),
        _ => "command line".to_owned(),
    }
}

fn one_is_wrong(change: &Override) -> bool {
    let mut table = Table::new();
    apply(&mut table, change).is_err() || Value::Table(table).try_into::<Config>().is_err()
}

fn apply(table: &mut Table, change: &Override) -> Result<(), ConfigError> {
    let wrong = |message: &str| ConfigError {
        place: place_of(change),
        line: None,
        column: None,
        key: change.key.clone(),
        message: message.to_owned(),
        hint: None,
    };
    let value = parse_value(&change.value);
    let parts = split_key(&change.key);
    let (last, tables) = parts.split_last().ok_or_else(|| wrong("names no key"))?;
    let mut table = table;
    for part in tables {
        let entry = table.entry(part.clone()).or_insert_with(|| Value::Table(Table::new()));
        table = entry.as_table_mut().ok_or_else(|| wrong("is a value, not a table"))?;
    }
    table.insert(last.clone(), value);
    Ok(())
}

/// Splits `host."slow.example.org".min_delay` at the dots outside quotes.
fn split_key(key: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for c in key.chars() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            c => parts.last_mut().expect("it begins with one part").push(c),
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn parse_value(text: &str) -> Value {
    let parsed: Result<Table, _> = toml::from_str(&format!("v = {text}"));
    let value = parsed.ok().and_then(|mut table| table.remove("v"));
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

fn at_place(name: &str, text: &str, error: &toml::de::Error) -> ConfigError {
    let span = error.span();
    let (line, column) = span.clone().map(|span| line_column(text, span.start)).unzip();
    let places = Places::of(text);
    let key = span.map_or(String::new(), |span| match places.key_at(span.start) {
        Some(key) => key.to_owned(),
        // A text that is no TOML has no keys but those that its lines show.
        None => key_of_line(text, span.start),
    });
    let message = explained(error.message(), &key);
    let hint = places.quoted_name(&key).or_else(|| hint_for(&message));
    ConfigError { place: name.to_owned(), line, column, key, message, hint }
}

/// Returns what is wrong with the value of a key: where it takes one of several words and was given
/// something else than a text, the parser does not say which.
fn explained(message: &str, key: &str) -> String {
    if message.contains("expected struct ") {
        return format!("is a table of keys: write `[{key}]`, and below it one key a line");
    }
    let is_no_text = message == "wanted string or table" || message.starts_with("invalid type");
    let words = is_no_text.then(|| words_of(key)).flatten();
    words.map_or_else(|| message.to_owned(), |words| format!("must be {words}"))
}

/// Returns the words that a key takes, if it takes one of several.
fn words_of(key: &str) -> Option<String> {
    // The parser names them where the text is none of them, as this one is.
    let none = Override { key: key.to_owned(), value: "\"\"".to_owned(), source: Source::Default };
    let mut table = Table::new();
    apply(&mut table, &none).ok()?;
    let error = Value::Table(table).try_into::<Config>().err()?;
    let (unknown, words) = error.message().split_once(", expected ")?;
    unknown.starts_with("unknown variant").then(|| words.to_owned())
}

fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// Returns the key, with its table, that the line of the byte at `offset` seems to be about.
fn key_of_line(text: &str, offset: usize) -> String {
    let start = text[..text.floor_char_boundary(offset)].rfind('\n').map_or(0, |at| at + 1);
    let header = |line: &str| {
        let (name, _) = line.trim().strip_prefix('[')?.split_once(']')?;
        Some(name.to_owned())
    };
    let line = text[start..].lines().next().unwrap_or_default();
    let table = text[..start].lines().rev().find_map(header);
    let key = line.split('=').next().unwrap_or_default().trim();
    match (header(line), table) {
        (Some(own), _) => own,
        (None, Some(table)) if !key.is_empty() => format!("{table}.{key}"),
        (None, _) => key.to_owned(),
    }
}

/// Where the keys of a text stand, and their values.
struct Places<'t> {
    text: &'t str,
    keys: Vec<KeyPlace>,
}

struct KeyPlace {
    /// The key with its tables.
    path: String,
    name: Range<usize>,
    /// The value; of a table that has a header, nothing.
    value: Range<usize>,
    is_table: bool,
}

impl<'t> Places<'t> {
    /// Reads them; a text that is no TOML has none.
    fn of(text: &'t str) -> Places<'t> {
        let mut keys = Vec::new();
        if let Ok(document) = toml_edit::Document::parse(text) {
            collect("", document.as_table(), &mut keys);
        }
        Places { text, keys }
    }

    /// Returns the innermost key that stands at `offset`, or whose value does.
    fn key_at(&self, offset: usize) -> Option<&str> {
        let holds = |key: &&KeyPlace| key.name.contains(&offset) || key.value.contains(&offset);
        let innermost = self.keys.iter().filter(holds).max_by_key(|key| key.name.start);
        innermost.map(|key| key.path.as_str())
    }

    /// Returns line and column of a key.
    fn line_column(&self, path: &str) -> Option<(usize, usize)> {
        let place = self.keys.iter().find(|key| key.path == path)?;
        Some(line_column(self.text, place.name.start))
    }

    /// Says how the table of a host is named, if `path` is where one with dots was split.
    fn quoted_name(&self, path: &str) -> Option<String> {
        let below = path.strip_prefix("host.")?;
        let is_split =
            below.contains('.') && self.keys.iter().any(|k| k.path == path && k.is_table);
        let tables = self.keys.iter().filter(|key| is_split && key.is_table);
        let whole = tables.filter_map(|key| {
            let name = key.path.strip_prefix("host.")?;
            name.starts_with(below).then_some(name)
        });
        let name = whole.max_by_key(|name| name.len())?;
        Some(format!("a name with dots is quoted: write `[host.\"{name}\"]`"))
    }
}

/// Adds the keys of a table and of those within it.
fn collect(prefix: &str, table: &dyn toml_edit::TableLike, keys: &mut Vec<KeyPlace>) {
    for (key, item) in table.iter() {
        let name = table.key(key).and_then(toml_edit::Key::span).unwrap_or_default();
        let path = if key.contains('.') { format!("\"{key}\"") } else { key.to_owned() };
        let path = if prefix.is_empty() { path } else { format!("{prefix}.{path}") };
        let value = item.as_value().and_then(|value| value.span()).unwrap_or_default();
        let inner = item.as_table_like();
        keys.push(KeyPlace { path: path.clone(), name, value, is_table: inner.is_some() });
        if let Some(inner) = inner {
            collect(&path, inner, keys);
        }
    }
}

/// Makes "did you mean" of serde's list of fields.
fn hint_for(message: &str) -> Option<String> {
    if message.starts_with("invalid IP address syntax") {
        return Some("write a network as \"127.0.0.0/8\"".to_owned());
    }
    if message.starts_with("invalid socket address syntax") {
        return Some("write address and port as \"192.0.2.1:53\"".to_owned());
    }
    let rest = message.strip_prefix("unknown field `")?;
    let (unknown, rest) = rest.split_once('`')?;
    let known: Vec<&str> =
        rest.split('`').skip(1).step_by(2).filter(|key| !key.is_empty()).collect();
    let near = nearest(unknown, known.iter().copied());
    let elsewhere = near.is_none().then(|| elsewhere(unknown)).flatten();
    match (near, elsewhere) {
        (Some(near), _) => Some(format!("did you mean `{near}`?")),
        (None, Some(path)) => Some(format!("did you mean `{path}`, in another table?")),
        (None, None) => Some("`crawler config show` lists every key".to_owned()),
    }
}

fn nearest<'k>(unknown: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    known
        .map(|key| (strsim::damerau_levenshtein(unknown, key), key))
        .filter(|(distance, key)| *distance <= 2.max(key.len() / 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, key)| key)
}

/// Looks for a key of the same name in another table.
fn elsewhere(unknown: &str) -> Option<String> {
    let keys = known_keys();
    keys.into_iter().find(|key| key.rsplit('.').next() == Some(unknown))
}

/// Returns every key of the configuration.
pub fn known_keys() -> BTreeSet<String> {
    let mut rows = Vec::new();
    if let Ok(Value::Table(table)) = Value::try_from(Config::default()) {
        flatten("", &table, &mut rows);
    }
    rows.into_iter().map(|(key, _)| key).collect()
}

/// Returns the list of the scope that has an entry which cannot be read.
fn guilty_list(scope: &filter::Settings) -> &'static str {
    type List = fn(&mut filter::Settings) -> &mut Vec<String>;
    let lists: [(&'static str, List); 6] = [
        ("scope.include", |scope| &mut scope.include),
        ("scope.exclude", |scope| &mut scope.exclude),
        ("scope.only", |scope| &mut scope.only),
        ("scope.archive_types", |scope| &mut scope.archive_types),
        ("scope.archive_statuses", |scope| &mut scope.archive_statuses),
        ("scope.extract_types", |scope| &mut scope.extract_types),
    ];
    let is_guilty = |list: List| {
        let mut alone = filter::Settings::default();
        *list(&mut alone) = list(&mut scope.clone()).clone();
        filter::Filter::new(&alone, &[]).is_err()
    };
    lists.iter().find(|(_, list)| is_guilty(*list)).map_or("scope", |(key, _)| key)
}

/// Checks what the types cannot say.
fn check(config: &Config) -> Result<(), (String, String)> {
    let below = |table: &str, problem: Result<(), String>| {
        problem.map_err(|message| {
            // Checks name their key first: "`prefix` must …", "ttl is …".
            let key = message.trim_start_matches('`').split(['`', ' ']).next().unwrap_or_default();
            (format!("{table}.{key}"), message.clone())
        })
    };
    if let Some((key, message)) = config.politeness.problem() {
        return Err((format!("politeness.{key}"), message));
    }
    if config.politeness.group == frontier::Grouping::Ip && config.fetch.proxy.is_some() {
        let message = "is `ip`, but no address is known behind fetch.proxy: use `host` or \
                       `registrable-domain`";
        return Err(("politeness.group".to_owned(), message.to_owned()));
    }
    check_hosts(config)?;
    below("robots", config.robots.check())?;
    below("fetch", config.fetch.check())?;
    if config.fetch.robots_body_max <= config.robots.max_bytes {
        // At the same number a rule that is cut in half would count as another one.
        let (found, least) = (config.fetch.robots_body_max, config.robots.max_bytes);
        let message = format!("is {found}: must be more than robots.max_bytes, {least}");
        return Err(("fetch.robots_body_max".to_owned(), message));
    }
    below("archive", config.archive.check())?;
    below("dashboard", config.dashboard.check())?;
    if let Err(error) = filter::Filter::new(&config.scope, &[]) {
        return Err((guilty_list(&config.scope).to_owned(), error.to_string()));
    }
    if !config.contact.trim().is_empty() {
        check_contact(config).map_err(|error| (error.key, error.message))?;
    }
    if config.frontier.in_flight_max == 0 {
        return Err(("frontier.in_flight_max".to_owned(), "must be at least 1".to_owned()));
    }
    let most = content::SAMPLE_PAGES_MAX;
    if config.content.sample_pages_max > most {
        let message = format!("is {}: must be at most {most}", config.content.sample_pages_max);
        return Err(("content.sample_pages_max".to_owned(), message));
    }
    let token = |c: char| c.is_ascii_alphabetic() || matches!(c, '-' | '_');
    if config.name.is_empty() || !config.name.chars().all(token) {
        let message = "must be letters, `-` and `_` only: it is the product token of RFC 9309";
        return Err(("name".to_owned(), message.to_owned()));
    }
    Ok(())
}

/// Checks the politeness of single hosts: under a key that is no host's name it would do nothing.
fn check_hosts(config: &Config) -> Result<(), (String, String)> {
    let mut named: BTreeMap<Host, &str> = BTreeMap::new();
    for (name, changed) in &config.host {
        let table =
            if name.contains('.') { format!("host.\"{name}\"") } else { format!("host.{name}") };
        let Some(host) = Host::named(name) else {
            let message = "is no host name: write `[host.\"www.example.org\"]`, without scheme, \
                           port or path; it holds for this name alone";
            return Err((table, message.to_owned()));
        };
        if let Some(other) = named.insert(host, name) {
            return Err((table, format!("is the same host as `{other}`")));
        }
        if let Some((key, message)) = config.politeness.with(changed).problem() {
            return Err((format!("{table}.{key}"), message));
        }
    }
    Ok(())
}

/// Checks the contact: that there is one, which only commands that make requests need, and that it
/// reaches somebody.
///
/// # Errors
/// Returns what to add.
pub fn check_contact(config: &Config) -> Result<(), ConfigError> {
    let contact = config.contact.trim();
    let good = contact.split_once(':').is_some_and(|(scheme, rest)| {
        matches!(scheme, "mailto" | "http" | "https") && rest.len() > 3
    }) && !contact.contains(char::is_whitespace);
    if good {
        return Ok(());
    }
    let message = if contact.is_empty() {
        "is missing: site owners must be able to reach whoever crawls them"
    } else {
        "must be a `mailto:` address or an http(s) URL"
    };
    Err(ConfigError {
        place: "configuration".to_owned(),
        line: None,
        column: None,
        key: "contact".to_owned(),
        message: message.to_owned(),
        hint: Some(
            "add --contact mailto:you@example.org, set CRAWLER_CONTACT, or write it into the file"
                .to_owned(),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_error(text: &str, want: &str) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("crawler.toml");
        std::fs::write(&file, text).unwrap();
        let error = load(Some(&file), &[]).unwrap_err().to_string();
        let shown = error.replace(&file.display().to_string(), "FILE");
        assert!(shown.starts_with(want), "{shown}");
    }

    #[test]
    fn an_unknown_key_is_an_error_with_its_place_and_the_key_that_was_meant() {
        check_error(
            "[politeness]\nmin_dealy = \"2s\"\n",
            "FILE:2:1: politeness.min_dealy: unknown field `min_dealy`",
        );
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("c.toml");
        std::fs::write(&file, "[politeness]\nmin_dealy = \"2s\"\n").unwrap();
        let hint = load(Some(&file), &[]).unwrap_err().hint;
        assert_eq!(hint.as_deref(), Some("did you mean `min_delay`?"));
    }

    #[test]
    fn a_bad_value_names_file_line_and_key() {
        check_error("[politeness]\nmin_delay = \"2\"\n", "FILE:2:13: politeness.min_delay: `2` is");
        check_error("[politeness]\nmin_delay = \"60s\"\n", "FILE:2:1: politeness.min_delay: 1m is");
        check_error("name = \"my bot\"\n", "FILE:1:1: name: must be");
        check_error("[fetch]\nconnect = \"0s\"\n", "FILE:2:1: fetch.connect: connect is 0");
        for size in ["511KiB", "512KiB"] {
            check_error(
                &format!("[fetch]\nrobots_body_max = \"{size}\"\n"),
                &format!("FILE:2:1: fetch.robots_body_max: is {size}: must be more than"),
            );
        }
        check_error(
            "[content]\nsample_pages_max = 256\n",
            "FILE:2:1: content.sample_pages_max: is 256: must be at most 255",
        );
        check_error(
            "[politeness]\ngroup = \"ip\"\n[fetch]\nproxy = \"http://p.test:3128\"\n",
            "FILE:2:1: politeness.group: is `ip`, but no address is known behind fetch.proxy",
        );
        check_error("contact = \n", "FILE:1:");
    }

    /// Whatever stood there was taken, and what no host has for its name changed nothing.
    #[test]
    fn the_politeness_of_a_host_is_that_of_a_name_that_a_host_can_have() {
        let error = |text: &str| read("FILE", text, &[]).unwrap_err();
        for key in ["https://a.example", "a.example:81", "a.example/x", "*.example", "", "a b"] {
            let error = error(&format!("[host.\"{key}\"]\nmin_delay = \"9s\"\n"));
            assert!(error.message.starts_with("is no host name"), "{key}: {error}");
            assert!(error.line == Some(1) && error.key.contains(key), "{key}: {error}");
        }
        let error = error("host.\"A.example\".factor = 9\nhost.\"a.example.\".factor = 8\n");
        assert_eq!(error.message, "is the same host as `A.example`");
        assert_eq!((error.line, error.key.as_str()), (Some(2), "host.\"a.example.\""));
        let (key, value) = ("host.\"*.example\".factor".to_owned(), "3".to_owned());
        let flag = Override { key, value, source: Source::Flag };
        assert_eq!(load(None, &[flag]).unwrap_err().place, "command line");
        for key in ["a.example", "B\u{fc}cher.example", "127.0.0.1", "[::1]", "under_score"] {
            read("FILE", &format!("[host.\"{key}\"]\nmin_delay = \"9s\"\n"), &[]).unwrap();
        }
    }

    /// A key that takes one of several words, given something else, said "wanted string or table".
    #[test]
    fn a_key_that_takes_one_of_several_words_names_them_whatever_it_is_given() {
        let learning = "must be one of `auto`, `off`, `observe`, `suggest`, `enforce`";
        check_error("[dust]\nmode = true\n", &format!("FILE:2:8: dust.mode: {learning}"));
        check_error("[dust]\nmode = 3\n", &format!("FILE:2:8: dust.mode: {learning}"));
        check_error("[dust]\nmode = [\"off\"]\n", &format!("FILE:2:8: dust.mode: {learning}"));
        check_error("dust.mode = true\n", &format!("FILE:1:13: dust.mode: {learning}"));
        check_error("dust = { mode = true }\n", &format!("FILE:1:17: dust.mode: {learning}"));
        check_error(
            "[scope]\nfollow_duplicates = true\n",
            "FILE:2:21: scope.follow_duplicates: must be one of `auto`, `always`, `never`",
        );
        let by = |source| Override { key: "dust.mode".into(), value: "true".into(), source };
        for (source, place) in
            [(Source::Flag, "command line"), (Source::Environment, "environment")]
        {
            let error = load(None, &[by(source)]).unwrap_err().to_string();
            assert_eq!(error, format!("{place}: dust.mode: {learning}"));
        }
        let mut tried = 0;
        for key in known_keys() {
            let Some((table, name)) = key.split_once('.') else { continue };
            let error = |value: &str| {
                let text = format!("[{table}]\n{name} = {value}\n");
                read("FILE", &text, &[]).map_or_else(|error| error.to_string(), |_| String::new())
            };
            let wrong = error("\"no such word\"");
            let Some((_, words)) = wrong.split_once("unknown variant `no such word`, expected ")
            else {
                continue;
            };
            tried += 1;
            let at = name.len() + 4;
            assert_eq!(error("true"), format!("FILE:2:{at}: {table}.{name}: must be {words}"));
        }
        assert!(tried >= 4, "{tried}");
    }

    #[test]
    fn flags_override_the_file_and_the_origin_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("c.toml");
        std::fs::write(&file, "[politeness]\nmin_delay = \"2s\"\nfactor = 3\n").unwrap();
        let flag = |key: &str, value: &str| Override {
            key: key.to_owned(),
            value: value.to_owned(),
            source: Source::Flag,
        };
        let loaded = load(
            Some(&file),
            &[flag("politeness.min_delay", "4s"), flag("host.\"a.example\".min_delay", "9s")],
        )
        .unwrap();
        assert_eq!(loaded.config.politeness.min_delay.to_string(), "4s");
        let of = |key: &str| {
            loaded
                .effective()
                .into_iter()
                .find(|(k, ..)| k == key)
                .map(|(_, value, source)| (value, source))
        };
        assert_eq!(of("politeness.min_delay"), Some(("\"4s\"".to_owned(), Source::Flag)));
        assert_eq!(of("politeness.factor"), Some(("3.0".to_owned(), Source::File)));
        assert_eq!(of("politeness.max_delay").map(|(_, source)| source), Some(Source::Default));
        let error = load(Some(&file), &[flag("politeness.min_dely", "4s")]).unwrap_err();
        assert_eq!(
            (error.place.as_str(), error.key.as_str()),
            ("command line", "politeness.min_dely")
        );
    }

    #[test]
    fn one_letter_typos_are_nearly_always_understood() {
        let keys: Vec<String> = known_keys().into_iter().collect();
        let (mut tried, mut right) = (0, 0);
        for (number, key) in keys.iter().cycle().take(1000).enumerate() {
            let name = key.rsplit('.').next().unwrap();
            let table = key.strip_suffix(name).unwrap().trim_end_matches('.');
            let at = (number * 7) % name.len();
            let typo = match number % 3 {
                0 => format!("{}{}", &name[..at], &name[at + 1..]),
                1 => format!("{}q{}", &name[..at], &name[at..]),
                _ => format!("{}q{}", &name[..at], &name[at + 1..]),
            };
            let text = if table.is_empty() {
                format!("{typo} = 1\n")
            } else {
                format!("[{table}]\n{typo} = 1\n")
            };
            let Err(error) = toml::from_str::<Config>(&text) else { continue };
            if !error.message().starts_with("unknown field") {
                continue;
            }
            tried += 1;
            let hint = hint_for(error.message()).unwrap_or_default();
            right += usize::from(hint.contains(&format!("`{name}`")));
        }
        assert!(tried > 900, "{tried}");
        assert!(right * 100 >= tried * 95, "{right} of {tried}");
    }

    #[test]
    fn a_contact_is_required_and_must_reach_somebody() {
        let with = |contact: &str| Config { contact: contact.to_owned(), ..Config::default() };
        assert!(check_contact(&with("mailto:you@example.org")).is_ok());
        assert!(check_contact(&with("https://example.org/bot")).is_ok());
        for bad in ["", "you", "mailto:", "https://a b"] {
            assert!(check_contact(&with(bad)).is_err(), "{bad}");
        }
        check_error("name = \"bot\"\ncontact = \"you\"\n", "FILE:2:1: contact: must be");
    }
}
