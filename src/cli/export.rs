//! `crawler export`: what the archive holds, in the forms that others read.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use serde_json::json;

use super::look;
use super::output::{bytes, number, path};
use super::terminal::Stdout;
use super::{Answer, Common, Exit, Failed};
use crate::archive::{
    About, ArchiveError, Exported, Selection, Walked, export_aliases, export_cdxj, export_jsonl,
    export_wacz, export_warc, write_whole,
};
use crate::clock::{ByteSize, Clock, Timestamp};
use crate::config::{self, Config};
use crate::dataset::{Purpose, Reader, Wanted, Written, export_parquet, export_text};
use crate::db::families::suppressed;
use crate::fetch::user_agent;
use crate::url::{CrawlUrl, Host};

/// A form of export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One new WARC file of whole records, with requests and metadata
    Warc,
    /// A sorted index
    Cdxj,
    /// Lines for an index, by which a replayer finds URLs that rules kept from being fetched
    Aliases,
    /// One JSON object a line; with --text also the text
    Jsonl,
    /// A package that browsers replay
    Wacz,
    /// A table, one row a capture: text, digests, usage preferences, place in the archive
    Parquet,
    /// The main text of pages, one for every group of duplicates
    Text,
}

/// What an export is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Use {
    /// To be found by a search engine
    Search,
    /// To be given to a model with a question
    AiInput,
    /// To train a model
    AiTrain,
    /// Text and data mining in general
    Tdm,
    /// For whatever the owner may refuse: what is said stands beside each row
    Any,
}

/// Flags of `export`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler export --out site.wacz                        all of it, for replay in a browser
  crawler export --out pages.warc.gz --host example.org --status 200 --mime text/html
  crawler export --format jsonl --text 1MB | jq -r .url
  crawler export --format cdxj --since 2026-01-01
  crawler export --format aliases --out COLLECTION/indexes/aliases.cdxj     (pywb reads it there)
  crawler export --out pages.parquet --status 200 --mime text/html
  crawler export --out corpus.txt --for ai-train        only what no owner refuses for training

The form follows the file's name unless --format says it: .warc, .warc.gz, .cdxj, .jsonl, .wacz,
.parquet, .txt. Owners' words on use (Content-Usage, Content-Signal, TDM-Reservation, robots
directives) are read from headers, from the page and from robots.txt; the narrowest one holds.
A WARC or WACZ file has the records that wanted revisits refer to as well: they cannot be replayed
without. Exit codes: 0 exported, 3 nothing matches.")]
pub(super) struct ExportArgs {
    /// Form of the export
    #[arg(long, short, value_enum)]
    format: Option<Format>,
    /// File to write; must not exist. CDXJ and JSONL go to standard output without it
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Only URLs that contain this regular expression
    #[arg(long, value_name = "REGEX")]
    url: Option<String>,
    /// Only this host and its subdomains; may be given several times
    #[arg(long, value_name = "HOST")]
    host: Vec<String>,
    /// Only media types that begin so: `text/html`, `image/`
    #[arg(long, value_name = "TYPE")]
    mime: Vec<String>,
    /// Only this status, or class as `4xx`
    #[arg(long, value_name = "STATUS")]
    status: Vec<String>,
    /// Not before: `2026-01-31` or `2026-01-31T12:00:00Z`
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Not after
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only what the owner does not refuse for this use; may be given several times; Parquet and
    /// text. Without it the purpose of the crawl is the use: search, ai-input or ai-train
    #[arg(long = "for", value_enum, value_name = "USE")]
    uses: Vec<Use>,
    /// With --for: only what the owner allows in words
    #[arg(long, requires = "uses")]
    stated: bool,
    /// With text: also pages whose text is there already
    #[arg(long)]
    all: bool,
    /// Text of the payload in JSONL, at most so much of each
    #[arg(long, value_name = "SIZE", default_value = "0")]
    text: String,
}

/// Exports.
pub(super) fn export(common: &Common, args: &ExportArgs) -> Answer {
    let config = look::as_written(common)?;
    let format = format_of(args)?;
    let selection = selection(args)?;
    let dir = look::archive_dir(&config);
    if !dir.exists() {
        let dir = dir.display();
        let why =
            format!("failed to export: there is no archive in {dir}; `crawler run` makes one");
        return Err(Failed::with(Exit::Nothing, why));
    }
    let is_set = matches!(format, Format::Parquet | Format::Text);
    let misplaced = [
        (!args.uses.is_empty() && !is_set, "--for", "parquet or text"),
        (args.all && format != Format::Text, "--all", "text"),
        (args.text != "0" && format != Format::Jsonl, "--text", "jsonl"),
    ];
    if let Some((_, flag, formats)) = misplaced.iter().find(|(given, ..)| *given) {
        let why = format!("{flag} belongs to --format {formats}; leave it out here");
        return Err(Failed::with(Exit::Usage, why));
    }
    if is_set {
        return data_set(common, &config, args, format, selection, &dir);
    }
    let text_max: ByteSize = args.text.parse().map_err(|why| {
        Failed::with(Exit::Usage, format!("--text {}: {why}; write a size as 1MB", args.text))
    })?;
    let exported = write(&config, args, format, &selection, &dir, text_max.as_len())?;
    tell_damage(&exported.walked);
    if exported.too_large > 0 {
        eprintln!("warning: {} records are too large and left out", number(exported.too_large));
    }
    if exported.originals > 0 && !common.quiet {
        let (many, verb) = match exported.originals {
            1 => ("1 record that a revisit refers to".to_owned(), "is"),
            n => (format!("{} records that revisits refer to", number(n)), "are"),
        };
        eprintln!("{many} {verb} exported as well, though not asked for: replay needs them");
    }
    report(common, args, &exported);
    // A WARC file begins with a record about itself.
    let own = u64::from(format == Format::Warc);
    Ok(if exported.records > own { Exit::Complete } else { Exit::Nothing })
}

/// Writes the table, or the texts.
fn data_set(
    common: &Common,
    config: &Config,
    args: &ExportArgs,
    format: Format,
    selection: Selection,
    dir: &Path,
) -> Answer {
    let db = look::open_if_there(config)?;
    if db.is_none() {
        eprintln!("warning: there is no state: boilerplate, robots.txt and clusters are not known");
    }
    let purposes = purposes(common, &args.uses)?;
    let wanted = Wanted { selection, purposes, stated: args.stated };
    let (near, extract) = (&config.repeats.near, config.extract.clone());
    let reader =
        Reader::new(dir, db.as_ref(), &config.name, near, extract, config.content.clone())?;
    let written = match (&args.out, format) {
        (Some(target), _) if target.exists() => return Err(is_there(target)),
        (Some(target), Format::Parquet) => {
            let software = format!("{}/{}", config.name, env!("CARGO_PKG_VERSION"));
            export_parquet(reader, &wanted, &software, target)?
        }
        (Some(target), _) => write_whole(target, |file| {
            let mut out = BufWriter::new(file);
            let written = export_text(reader, &wanted, args.all, &mut out, target)?;
            out.flush().map_err(|why| ArchiveError::write(target, why))?;
            Ok::<_, Failed>(written)
        })?,
        (None, _) => {
            let mut out = BufWriter::new(Stdout);
            let name = Path::new("standard output");
            let written = export_text(reader, &wanted, args.all, &mut out, name)?;
            out.flush().context("write to standard output")?;
            written
        }
    };
    tell(common, args, &written);
    Ok(if written.rows > 0 { Exit::Complete } else { Exit::Nothing })
}

/// Returns what owners must not have refused: what is asked for, or what the crawl was for.
fn purposes(common: &Common, uses: &[Use]) -> Result<Vec<Purpose>, Failed> {
    let asked = uses.iter().filter_map(|purpose| match purpose {
        Use::Search => Some(Purpose::Search),
        Use::AiInput => Some(Purpose::AiInput),
        Use::AiTrain => Some(Purpose::AiTrain),
        Use::Tdm => Some(Purpose::Tdm),
        Use::Any => None,
    });
    if !uses.is_empty() {
        return Ok(asked.collect());
    }
    let (purpose, word) = match look::as_crawled(common)?.purpose {
        config::Purpose::Archive | config::Purpose::Audit => return Ok(Vec::new()),
        config::Purpose::Search => (Purpose::Search, "search"),
        config::Purpose::AiInput => (Purpose::AiInput, "ai-input"),
        config::Purpose::AiTrain => (Purpose::AiTrain, "ai-train"),
    };
    if !common.quiet {
        eprintln!(
            "the crawl is for {word}: what owners refuse for it is left out, or add --for any"
        );
    }
    Ok(vec![purpose])
}

fn tell(common: &Common, args: &ExportArgs, written: &Written) {
    tell_damage(&written.walked);
    if written.overflowed {
        eprintln!("warning: there are too many texts to remember; later repeats are not told");
    }
    let refused = match args.stated {
        true => "refused or not allowed in words by their owners",
        false => "refused by their owners",
    };
    let left_out = [
        (written.left_out_by_usage, refused),
        (written.left_out_as_duplicates, "there already"),
        (written.left_out_without_text, "without text"),
    ];
    match &args.out {
        Some(target) if common.json => println!(
            "{}",
            json!({
                "file": path(target), "records": written.rows, "bytes": written.bytes,
                "left_out_by_usage": written.left_out_by_usage,
                "left_out_as_duplicates": written.left_out_as_duplicates,
                "left_out_without_text": written.left_out_without_text,
                "damages": written.walked.damaged,
            })
        ),
        Some(target) if !common.quiet => {
            let (rows, size) = (number(written.rows), bytes(written.bytes as f64));
            println!("{}: {rows} rows, {size}", target.display());
        }
        _ => {}
    }
    for (count, why) in left_out.iter().filter(|(count, _)| *count > 0 && !common.quiet) {
        eprintln!("left out: {} {why}", number(*count));
    }
}

fn tell_damage(walked: &Walked) {
    for (file, damage) in &walked.damages {
        eprintln!("warning: stepped over damage in {file}: {damage}");
    }
    if walked.damaged > walked.damages.len() as u64 {
        eprintln!("warning: {} damages in all", number(walked.damaged));
    }
}

fn is_there(target: &Path) -> Failed {
    let target = target.display();
    Failed::with(Exit::Usage, format!("{target} is there already; name another file, or remove it"))
}

fn write(
    config: &Config,
    args: &ExportArgs,
    format: Format,
    selection: &Selection,
    dir: &Path,
    text_max: usize,
) -> Result<Exported, Failed> {
    let agent = user_agent(&config.name, env!("CARGO_PKG_VERSION"), &config.contact);
    let about = About {
        software: format!("{}/{}", config.name, env!("CARGO_PKG_VERSION")),
        user_agent: agent,
        contact: config.contact.clone(),
        robots: "RFC 9309".to_owned(),
        crawl: None,
    };
    let now = Clock::system(Timestamp::ZERO).now();
    let Some(target) = &args.out else {
        let mut out = BufWriter::new(Stdout);
        let exported = lines(config, format, dir, selection, text_max, &mut out)?;
        out.flush().context("write to standard output")?;
        return Ok(exported);
    };
    if target.exists() {
        return Err(is_there(target));
    }
    Ok(match format {
        Format::Warc => export_warc(dir, selection, target, &config.archive, &about, now)?,
        Format::Wacz => export_wacz(dir, selection, target, &config.archive, &about, now)?,
        Format::Cdxj | Format::Aliases | Format::Jsonl => write_whole(target, |file| {
            let mut out = BufWriter::new(file);
            let exported = lines(config, format, dir, selection, text_max, &mut out)?;
            out.flush().map_err(|why| ArchiveError::write(target, why))?;
            Ok::<_, Failed>(exported)
        })?,
        Format::Parquet | Format::Text => unreachable!("data sets have their own way"),
    })
}

fn lines(
    config: &Config,
    format: Format,
    dir: &Path,
    selection: &Selection,
    text_max: usize,
    out: &mut dyn Write,
) -> Result<Exported, Failed> {
    Ok(match format {
        Format::Cdxj => export_cdxj(dir, selection, out)?,
        Format::Aliases => aliases(config, dir, selection, out)?,
        _ => export_jsonl(dir, selection, text_max, out)?,
    })
}

/// What rules suppressed is found under the URL that stood for it.
fn aliases(
    config: &Config,
    dir: &Path,
    selection: &Selection,
    out: &mut dyn Write,
) -> Result<Exported, Failed> {
    let db = look::open(config)?;
    let mut failed = None;
    let mut of = |uri: &str| {
        let Ok(url) = CrawlUrl::parse(uri) else { return Vec::new() };
        suppressed::urls_under(&db, url.fingerprint()).unwrap_or_else(|error| {
            failed.get_or_insert(error);
            Vec::new()
        })
    };
    let exported = export_aliases(dir, selection, &mut of, out)?;
    failed.map_or(Ok(exported), |error| Err(error.into()))
}

fn report(common: &Common, args: &ExportArgs, exported: &Exported) {
    let Some(target) = &args.out else { return };
    if common.json {
        let report = json!({
            "file": path(target),
            "records": exported.records,
            "bytes": exported.bytes,
            "originals": exported.originals,
            "left_out": exported.too_large,
            "damages": exported.walked.damaged,
        });
        println!("{report}");
    } else if !common.quiet {
        let (records, size) = (number(exported.records), bytes(exported.bytes as f64));
        println!("{}: {records} records, {size}", target.display());
    }
}

fn format_of(args: &ExportArgs) -> Result<Format, Failed> {
    let name = args.out.as_ref().map(|out| out.display().to_string()).unwrap_or_default();
    let by_name = [
        (".warc", Format::Warc),
        (".warc.gz", Format::Warc),
        (".cdxj", Format::Cdxj),
        (".jsonl", Format::Jsonl),
        (".wacz", Format::Wacz),
        (".parquet", Format::Parquet),
        (".txt", Format::Text),
    ];
    let named = by_name.iter().find(|(end, _)| name.ends_with(end)).map(|(_, format)| *format);
    let Some(format) = args.format.or(named) else {
        let why = "the form of the export is not known: give --format warc, cdxj, jsonl, wacz, \
                   parquet or text, or --out with a name that ends so";
        return Err(Failed::with(Exit::Usage, why));
    };
    if args.out.is_none() && matches!(format, Format::Warc | Format::Wacz | Format::Parquet) {
        let why = "WARC, WACZ and Parquet are written to a file: add --out FILE";
        return Err(Failed::with(Exit::Usage, why));
    }
    Ok(format)
}

fn selection(args: &ExportArgs) -> Result<Selection, Failed> {
    let url = args.url.as_deref().map(regex::Regex::new).transpose().map_err(|error| {
        Failed::with(Exit::Usage, format!("--url is no regular expression: {error}"))
    })?;
    let time = |name: &str, text: &Option<String>, rest: &str| -> Result<_, Failed> {
        let Some(text) = text else { return Ok(None) };
        let full = if text.contains('T') { text.clone() } else { format!("{text}{rest}") };
        let at = Timestamp::from_rfc3339(&full).ok_or_else(|| {
            let why = format!("--{name} {text}: write 2026-01-31 or 2026-01-31T12:00:00Z");
            Failed::with(Exit::Usage, why)
        })?;
        Ok(Some(at))
    };
    Ok(Selection {
        url,
        hosts: args.host.iter().map(|host| host_of(host)).collect::<Result<_, _>>()?,
        mimes: args.mime.clone(),
        statuses: args.status.iter().map(|text| status_of(text)).collect::<Result<_, _>>()?,
        since: time("since", &args.since, "T00:00:00Z")?,
        until: time("until", &args.until, "T23:59:59.999Z")?,
    })
}

/// Reads a host name, also one with letters beyond ASCII.
fn host_of(text: &str) -> Result<String, Failed> {
    Host::named(text).map(|host| host.as_str().to_owned()).ok_or_else(|| {
        let why = format!("--host {text}: this is no host; write a name, as example.org");
        Failed::with(Exit::Usage, why)
    })
}

/// Reads a status, or a class of them.
fn status_of(text: &str) -> Result<String, Failed> {
    let status = text.to_ascii_lowercase();
    let digits = status.strip_suffix("xx").unwrap_or(&status);
    let wanted = if digits.len() < status.len() { 1 } else { 3 };
    if digits.len() == wanted && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(status);
    }
    Err(Failed::with(Exit::Usage, format!("--status {text}: this is none; write 404 or 4xx")))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: ExportArgs,
    }

    /// Captures have milliseconds: those of its last second were left out.
    #[test]
    fn a_day_that_ends_a_selection_belongs_to_it_as_a_whole() {
        let line = Line::parse_from(["export", "--since", "2026-01-31", "--until", "2026-01-31"]);
        let selection = selection(&line.args).expect("both are days");
        let at = |text| Timestamp::from_rfc3339(text);
        assert_eq!(selection.since, at("2026-01-31T00:00:00.000Z"));
        assert_eq!(selection.until, at("2026-01-31T23:59:59.999Z"));
    }
}
