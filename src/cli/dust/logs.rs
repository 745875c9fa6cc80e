//! Logs of every kind as what the two miners take: records for the paper's, observations for ours.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use xxhash_rust::xxh3::xxh3_64;

use super::super::output::{number, plain as plain_text};
use super::texts::Texts;
use super::{Exit, Failed};
use crate::archive::{Found, Walked, walk_file};
use crate::content;
use crate::content::Bag;
use crate::crawl::BODY_MIN;
use crate::crawl::log::{self, Line};
use crate::dust::input::{self, Batch, Collected, Format, is_no_page};
use crate::dust::paper::Record;
use crate::dust::{Declared, Observation, Sketch, Text};
use crate::extract;
use crate::url::CrawlUrl;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FormatName {
    /// Told from each file
    Auto,
    /// `url status size_min size_max sketch`, by tabs
    Tsv,
    /// Our own crawl log, or other JSON lines
    CrawlLog,
    /// Common or Combined Log Format of a web server
    AccessLog,
    /// Index of WARC files
    Cdxj,
    /// WARC files
    Warc,
}

/// How logs are read.
#[derive(Args, Debug)]
pub(super) struct LogArgs {
    /// What the files are
    #[arg(long, value_enum, default_value_t = FormatName::Auto)]
    pub(super) format: FormatName,
    /// Scheme and host of web-server logs that do not name it, such as `https://example.org`
    #[arg(long, value_name = "BASE")]
    pub(super) site: Option<String>,
}

/// Bytes of a page that are looked at for its sketch.
const PAGE_MAX: usize = 8 << 20;

/// Min-hashes of a page in a WARC file: as many as logs of the paper's kind have.
const MIN_HASHES: usize = 8;

/// Words of a main text whose length the log does not say. All texts of such a log are then taken
/// for equally long, and only their sketches decide.
const WORDS_UNKNOWN: u32 = 256;

/// Pages of crawl logs and WARC files that are looked at, some 500 bytes each: far more than are
/// kept of any site.
const OBSERVATIONS_MAX: usize = 500_000;

/// Damages that are shown.
const DAMAGES_MAX: usize = 20;

/// Bytes of a file that are read at once.
const READ_BYTES: usize = 1 << 16;

/// What logs came to.
#[derive(Default)]
pub(super) struct Logs {
    pub(super) collected: Collected,
    /// Pages of crawl logs and WARC files, with all that they say, the latest ones; empty if only
    /// records were asked for.
    observations: VecDeque<Observation>,
    left_out: u64,
    /// Whether a file may hold several sites; a TSV list is of one site by definition.
    pub(super) mixed: bool,
    /// The first damages of WARC files.
    damages: Vec<String>,
    damaged: u64,
}

/// Reads logs for records; directories stand for the crawl logs or the WARC files in them, `-` for
/// standard input. With `texts`, crawl logs and WARC files are read for all that they say.
pub(super) fn read(
    args: &LogArgs,
    files: &[PathBuf],
    mut texts: Option<&mut Texts>,
) -> Result<Logs, Failed> {
    args.check()?;
    let settings = input::Settings { site: args.site.clone(), ..input::Settings::default() };
    let mut batch = Batch::new(settings);
    let mut logs = Logs::default();
    let files = expand(files)?;
    if args.format == FormatName::Warc && files.iter().any(|file| file.as_os_str() == "-") {
        let what = "WARC files are read by their names, not from standard input";
        return Err(Failed::with(Exit::Usage, what));
    }
    if let Some(texts) = &mut texts {
        for file in files.iter().filter(|file| args.holds_warc(file)) {
            walk_file(file, PAGE_MAX, |found, block| {
                texts.learn_archived(found, block, PAGE_MAX);
                Ok(())
            })?;
        }
        texts.end_samples();
    }
    for file in files {
        one(args, &file, texts.as_deref_mut(), &mut batch, &mut logs)?;
    }
    logs.collected = batch.finish();
    Ok(logs)
}

impl LogArgs {
    /// Checks that the base of the URLs is one: what else stood in it would be a part of every URL.
    fn check(&self) -> Result<(), Failed> {
        let Some(site) = &self.site else { return Ok(()) };
        let plain = site.strip_suffix('/').unwrap_or(site);
        let rest = plain.split_once("://").map_or(plain, |(_, rest)| rest);
        let whole =
            if rest.len() < plain.len() { plain.to_owned() } else { format!("http://{rest}") };
        let is_bare =
            !rest.contains(['/', '?', '#', '@', '\\']) && !site.contains(char::is_whitespace);
        if is_bare && !rest.ends_with(':') && CrawlUrl::parse(&whole).is_ok() {
            return Ok(());
        }
        let why = format!(
            "--site {}: write scheme, host and port, such as https://example.org",
            plain_text(site)
        );
        Err(Failed::with(Exit::Usage, why))
    }

    fn holds_warc(&self, file: &Path) -> bool {
        self.format == FormatName::Warc || self.format == FormatName::Auto && is_warc(file)
    }
}

fn expand(files: &[PathBuf]) -> Result<Vec<PathBuf>, Failed> {
    let mut all = Vec::new();
    for file in files {
        if !file.is_dir() {
            all.push(file.clone());
            continue;
        }
        let reading = || format!("failed to list {}", file.display());
        let mut found = log::files(file).with_context(reading)?;
        if found.is_empty() {
            for entry in std::fs::read_dir(file).with_context(reading)? {
                let path = entry.with_context(reading)?.path();
                if is_warc(&path) {
                    found.push(path);
                }
            }
            found.sort();
        }
        if found.is_empty() {
            let what = "holds neither crawl logs nor WARC files";
            return Err(Failed::with(Exit::Nothing, format!("{} {what}", file.display())));
        }
        all.append(&mut found);
    }
    Ok(all)
}

fn is_warc(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".open").unwrap_or(&name);
    name.ends_with(".warc") || name.ends_with(".warc.gz")
}

fn one(
    args: &LogArgs,
    file: &Path,
    texts: Option<&mut Texts>,
    batch: &mut Batch,
    logs: &mut Logs,
) -> Result<(), Failed> {
    let name = file.display().to_string();
    if args.holds_warc(file) {
        logs.mixed = true;
        return match texts {
            Some(texts) => archived(file, texts, logs),
            None => warc(file, batch, logs),
        };
    }
    let format = match args.format {
        FormatName::Tsv => Some(Format::Tsv),
        FormatName::CrawlLog => Some(Format::CrawlLog),
        FormatName::AccessLog => Some(Format::AccessLog),
        FormatName::Cdxj => Some(Format::Cdxj),
        FormatName::Auto | FormatName::Warc => None,
    };
    let source = open(file)?;
    let read = match texts {
        Some(_) => batch.read_beside(source, &name, format, &mut |line| logs.read_own(line)),
        None => batch.read(source, &name, format),
    };
    let format = read.with_context(|| format!("failed to read {name}"))?;
    logs.mixed |= format.is_some_and(|format| format != Format::Tsv);
    Ok(())
}

fn open(file: &Path) -> Result<Box<dyn BufRead>, Failed> {
    if file.as_os_str() == "-" {
        return Ok(Box::new(BufReader::new(io::stdin())));
    }
    let opened = File::open(file).with_context(|| format!("failed to open {}", file.display()))?;
    Ok(Box::new(BufReader::with_capacity(READ_BYTES, opened)))
}

fn observed(line: &Line) -> Option<Observation> {
    let url = CrawlUrl::parse(&line.url).ok()?;
    let parse = |text: &Option<String>| CrawlUrl::parse(text.as_deref()?).ok();
    let redirect = (300..400).contains(&line.status).then(|| parse(&line.location)).flatten();
    Some(Observation {
        key: parse(&line.canonical).unwrap_or_else(|| url.clone()),
        status: line.status,
        text: main_text(line).or_else(|| bytes(line)).unwrap_or_default(),
        digest: digest(line),
        bag: None,
        declared: redirect
            .map(Declared::Redirect)
            .or_else(|| parse(&line.declared).map(Declared::Canonical)),
        junk: line.content.starts_with("junk"),
        troubled: line.then == "busy",
        url,
    })
}

/// Returns the main text of a page, where the line has a sketch of it.
fn main_text(line: &Line) -> Option<Text> {
    let sketch: content::Sketch = line.sketch.as_deref()?.parse().ok()?;
    Some(Text::Main(Sketch { mins: *sketch.bytes(), shingles: WORDS_UNKNOWN }))
}

/// Returns what tells the bytes of what is no HTML, where the line says so.
fn bytes(line: &Line) -> Option<Text> {
    let is_body = (200..300).contains(&line.status) && line.size >= BODY_MIN as u64;
    let is_other = !line.mime.is_empty() && !line.mime.contains("html");
    digest(line).filter(|_| is_body && is_other).map(Text::Bytes)
}

fn digest(line: &Line) -> Option<u64> {
    line.digest.as_ref().map(|digest| xxh3_64(digest.as_bytes()))
}

fn warc(file: &Path, batch: &mut Batch, logs: &mut Logs) -> Result<(), Failed> {
    let settings = extract::Settings::default();
    let walked = walk_file(file, PAGE_MAX, |found, block| {
        if let Some(record) = page_in_archive(found, block, &settings) {
            batch.push(record);
        }
        Ok(())
    })?;
    logs.note_damages(&walked);
    Ok(())
}

/// Reads WARC files as the crawl read their pages.
fn archived(file: &Path, texts: &mut Texts, logs: &mut Logs) -> Result<(), Failed> {
    let walked = walk_file(file, PAGE_MAX, |found, block| {
        if let Some(observation) = texts.observe_archived(found, block, PAGE_MAX) {
            logs.observe(observation);
        }
        Ok(())
    })?;
    logs.note_damages(&walked);
    Ok(())
}

/// Returns the record of an archived page, with min-hashes of its whole text.
fn page_in_archive(found: &Found, block: &[u8], settings: &extract::Settings) -> Option<Record> {
    let url = found.head.uri();
    let status: u16 = found.status.as_deref()?.parse().ok()?;
    let body = found.decoded(block, PAGE_MAX);
    let parsed = CrawlUrl::parse(url).ok()?;
    let content_type = found.http_header("content-type");
    let page = extract::Page {
        url: &parsed,
        content_type: content_type.as_deref(),
        link_headers: &[],
        body: &body,
    };
    let extracted = extract::extract(&page, settings);
    let text = extracted.blocks.iter().map(|block| &*block.text).collect::<Vec<_>>().join("\n");
    let sketch = match text.trim().is_empty() {
        true => Vec::new(),
        false => content::min_hashes(&content::shingles(&text, 4), MIN_HASHES),
    };
    let size = i64::try_from(body.len()).ok();
    let size = size.filter(|_| found.head.kind() != "revisit").map(|size| (size, size));
    Some(Record { url: url.to_owned(), status, size, sketch })
}

impl Logs {
    /// Takes in a line of our own crawl log with all that it says; returns nothing for one of
    /// another program, or of no page.
    fn read_own(&mut self, line: &[u8]) -> Option<Record> {
        let line: Line = serde_json::from_slice(line).ok()?;
        let ours = line.at_ms > 0 || main_text(&line).is_some();
        if !ours || line.status == 0 || is_no_page(&line.purpose) {
            return None;
        }
        self.observe(observed(&line)?);
        // What it does not say of a text, such as that of an image, is not known by its size.
        Some(Record { url: line.url, status: line.status, ..Record::default() })
    }

    /// Takes in a page. The latest pages are kept, as the miner itself does.
    fn observe(&mut self, observation: Observation) {
        if self.observations.len() == OBSERVATIONS_MAX {
            self.observations.pop_front();
            self.left_out += 1;
        }
        self.observations.push_back(observation);
    }

    fn note_damages(&mut self, walked: &Walked) {
        self.damaged += walked.damaged;
        let damages = walked.damages.iter().take(DAMAGES_MAX.saturating_sub(self.damages.len()));
        self.damages.extend(damages.map(|(file, damage)| format!("{file}: {damage}")));
    }

    /// Says on standard error what could not be read, and what was.
    ///
    /// # Errors
    /// Fails if all that there was to read was bad.
    pub(super) fn report(&self, quiet: bool) -> Result<(), Failed> {
        let collected = &self.collected;
        for line in &collected.bad_lines {
            eprintln!("{line}");
        }
        for damage in &self.damages {
            eprintln!("{damage}");
        }
        if self.damaged > self.damages.len() as u64 {
            eprintln!("{} damages in all", number(self.damaged));
        }
        if collected.bad > 0 {
            eprintln!("{} bad lines left out", number(collected.bad));
        }
        if collected.share < 1.0 {
            eprintln!(
                "too many URLs for memory: a sample of {:.2} % was taken; rare rules are missed",
                100.0 * collected.share
            );
        }
        if self.left_out > 0 {
            eprintln!(
                "{} pages left out: the last {} are looked at",
                number(self.left_out),
                number(OBSERVATIONS_MAX as u64)
            );
        }
        if !quiet {
            let pages = self.observations.len() as u64;
            eprintln!("{} distinct URLs read", number((collected.records.len() as u64).max(pages)));
        }
        let none = collected.records.is_empty() && self.observations.is_empty();
        if none && collected.bad > 0 && collected.unused == 0 {
            return Err(Failed::with(Exit::Nothing, "nothing could be read: all lines are bad"));
        }
        Ok(())
    }

    /// Returns what the online miner takes: crawl logs as they are, records by size or sketch. What
    /// is no URL is counted on standard error.
    ///
    /// # Errors
    /// Fails if nothing is left without it.
    pub(super) fn into_observations(self) -> Result<Vec<Observation>, Failed> {
        let mut all = Vec::from(self.observations);
        tell_texts_of_revisits(&mut all);
        let hash = |url: &CrawlUrl| xxh3_64(url.as_str().as_bytes());
        let mut told: HashMap<u64, usize> = HashMap::new();
        for (at, seen) in all.iter().enumerate() {
            told.entry(hash(&seen.url)).or_insert(at);
        }
        let (mut no_urls, mut first) = (0u64, None);
        for record in self.collected.records {
            let Some(seen) = of_record(&record) else {
                no_urls += 1;
                first.get_or_insert(record.url);
                continue;
            };
            match told.get(&hash(&seen.url)).and_then(|at| all.get_mut(*at)) {
                None => all.push(seen),
                // Of what the crawl did not read, another log may tell the text.
                Some(known) if known.text == Text::Unknown && known.status == 200 => {
                    known.text = seen.text;
                }
                Some(_) => {}
            }
        }
        if let Some(first) = first {
            let (many, first) = (number(no_urls), plain_text(&first).into_owned());
            eprintln!(
                "{many} entries left out: they are no URLs of http or https, such as {first}"
            );
            if all.is_empty() {
                return Err(Failed::with(Exit::Nothing, "nothing could be read: there is no URL"));
            }
        }
        Ok(all)
    }
}

fn of_record(record: &Record) -> Option<Observation> {
    let url = CrawlUrl::parse(&record.url).ok()?;
    let small = |size: i64| u32::try_from(size).unwrap_or(u32::MAX);
    let text = match (&record.sketch[..], record.size) {
        ([a, b, c, d, ..], _) => Text::Page([*a, *b, *c, *d]),
        (_, Some((least, most))) if record.status == 200 => Text::Size(small(least), small(most)),
        _ => Text::Unknown,
    };
    // Who is told that a page has not changed has been given it before.
    let status = if record.status == 304 { 200 } else { record.status };
    Some(Observation::of(url, status, text))
}

/// A page whose text is unknown shows that of another one with the same payload.
fn tell_texts_of_revisits(all: &mut [Observation]) {
    let known = all.iter().filter(|seen| seen.text != Text::Unknown);
    let known: HashMap<u64, (Text, Option<Bag>)> =
        known.filter_map(|seen| Some((seen.digest?, (seen.text, seen.bag)))).collect();
    for seen in all.iter_mut().filter(|seen| seen.text == Text::Unknown) {
        let shown = seen.digest.and_then(|digest| known.get(&digest));
        if let Some((text, bag)) = shown.filter(|_| (200..300).contains(&seen.status)) {
            (seen.text, seen.bag) = (*text, *bag);
        }
    }
}
