//! Logs of every kind as what the two miners take: records for the paper's, observations for ours.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use flate2::bufread::MultiGzDecoder;
use xxhash_rust::xxh3::xxh3_64;

use super::super::output::number;
use super::texts::Texts;
use super::{Exit, Failed};
use crate::archive::{Found, Walked, walk_file};
use crate::content;
use crate::content::Bag;
use crate::crawl::log::{self, Line};
use crate::dust::input::{self, Batch, Collected, Format, detect};
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

/// Bytes of a file by which its format is told.
const HEAD: usize = 1 << 16;

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
    damages: Vec<String>,
}

/// Reads logs for records; directories stand for the crawl logs or the WARC files in them, `-` for
/// standard input. With `texts`, crawl logs and WARC files are read for all that they say.
pub(super) fn read(
    args: &LogArgs,
    files: &[PathBuf],
    mut texts: Option<&mut Texts>,
) -> Result<Logs, Failed> {
    let settings = input::Settings { site: args.site.clone(), ..input::Settings::default() };
    let mut batch = Batch::new(settings);
    let mut logs = Logs::default();
    let files = expand(files)?;
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
    let mut source = open(file)?;
    let reading = || format!("failed to read {name}");
    let head = source.fill_buf().with_context(reading)?;
    if texts.is_some() && format.or_else(|| detect(head)) == Some(Format::CrawlLog) {
        logs.mixed = true;
        return crawl_log(source, &name, batch, logs);
    }
    let format = batch.read(source, &name, format).with_context(reading)?;
    logs.mixed |= format != Format::Tsv;
    Ok(())
}

/// Opens a log, plain or gzip.
fn open(file: &Path) -> Result<Box<dyn BufRead>, Failed> {
    let raw: Box<dyn Read> = if file.as_os_str() == "-" {
        Box::new(io::stdin())
    } else {
        let opened = File::open(file);
        Box::new(opened.with_context(|| format!("failed to open {}", file.display()))?)
    };
    let mut source = BufReader::with_capacity(HEAD, raw);
    let head = source.fill_buf().with_context(|| format!("failed to read {}", file.display()))?;
    if head.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(BufReader::with_capacity(HEAD, MultiGzDecoder::new(source))));
    }
    Ok(Box::new(source))
}

/// Reads our own crawl log with all that it says. Lines that are none go through `batch`, which
/// counts and names them.
fn crawl_log(
    mut source: Box<dyn BufRead>,
    name: &str,
    batch: &mut Batch,
    logs: &mut Logs,
) -> Result<(), Failed> {
    /// Longer lines are none of ours.
    const LINE_MAX: u64 = 1 << 20;
    let mut bytes = Vec::new();
    let mut count = 0u64;
    loop {
        bytes.clear();
        let read = source.by_ref().take(LINE_MAX).read_until(b'\n', &mut bytes);
        if read.with_context(|| format!("failed to read {name}"))? == 0 {
            return Ok(());
        }
        count += 1;
        match serde_json::from_slice::<Line>(&bytes) {
            Ok(line) if line.status > 0 && line.purpose != "robots" => {
                if let Some(observation) = observed(&line) {
                    logs.observe(observation);
                }
                let known = |size: u64| i64::try_from(size).ok().map(|size| (size, size));
                batch.push(Record {
                    url: line.url,
                    status: line.status,
                    size: known(line.size),
                    sketch: Vec::new(),
                });
            }
            Ok(_) => {}
            Err(_) if bytes.trim_ascii().is_empty() => {}
            Err(error) => batch.bad_line(name, count, error.to_string()),
        }
    }
}

fn observed(line: &Line) -> Option<Observation> {
    let url = CrawlUrl::parse(&line.url).ok()?;
    let parse = |text: &Option<String>| CrawlUrl::parse(text.as_deref()?).ok();
    let redirect = (300..400).contains(&line.status).then(|| parse(&line.location)).flatten();
    let sketch = line.sketch.as_deref().and_then(|text| text.parse::<content::Sketch>().ok());
    let main = |sketch: content::Sketch| {
        Text::Main(Sketch { mins: *sketch.bytes(), shingles: WORDS_UNKNOWN })
    };
    Some(Observation {
        key: parse(&line.canonical).unwrap_or_else(|| url.clone()),
        status: line.status,
        text: sketch.map_or(Text::Unknown, main),
        digest: line.digest.as_ref().map(|digest| xxh3_64(digest.as_bytes())),
        bag: None,
        declared: redirect
            .map(Declared::Redirect)
            .or_else(|| parse(&line.declared).map(Declared::Canonical)),
        junk: line.content.starts_with("junk"),
        troubled: line.then == "busy",
        url,
    })
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
    /// Takes in a page. The latest pages are kept, as the miner itself does.
    fn observe(&mut self, observation: Observation) {
        if self.observations.len() == OBSERVATIONS_MAX {
            self.observations.pop_front();
            self.left_out += 1;
        }
        self.observations.push_back(observation);
    }

    fn note_damages(&mut self, walked: &Walked) {
        let damages = walked.damages.iter();
        self.damages.extend(damages.map(|(file, damage)| {
            format!("{file}: damaged at byte {}: {:?}", damage.offset, damage.kind)
        }));
    }

    /// Says on standard error what could not be read, and what was.
    pub(super) fn report(&self, quiet: bool) {
        let collected = &self.collected;
        for line in &collected.bad_lines {
            eprintln!("{line}");
        }
        for damage in &self.damages {
            eprintln!("{damage}");
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
    }

    /// Returns what the online miner takes: crawl logs as they are, records by size or sketch.
    pub(super) fn into_observations(self) -> Vec<Observation> {
        let mut all = Vec::from(self.observations);
        tell_texts_of_revisits(&mut all);
        let told: std::collections::HashSet<u64> =
            all.iter().map(|seen| xxh3_64(seen.url.as_str().as_bytes())).collect();
        for record in self.collected.records {
            let Ok(url) = CrawlUrl::parse(&record.url) else { continue };
            if told.contains(&xxh3_64(url.as_str().as_bytes())) {
                continue;
            }
            let small = |size: i64| u32::try_from(size).unwrap_or(u32::MAX);
            let text = match (&record.sketch[..], record.size) {
                ([a, b, c, d, ..], _) => Text::Page([*a, *b, *c, *d]),
                (_, Some((least, most))) if record.status == 200 => {
                    Text::Size(small(least), small(most))
                }
                _ => Text::Unknown,
            };
            all.push(Observation {
                key: url.clone(),
                url,
                status: record.status,
                text,
                digest: None,
                bag: None,
                declared: None,
                junk: false,
                troubled: false,
            });
        }
        all
    }
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
