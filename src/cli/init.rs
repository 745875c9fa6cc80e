//! `crawler init`: a few questions, and a configuration that works.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};
use serde_json::json;

use super::output::path;
use super::{Answer, Common, Exit, Failed, quoted, text_of};
use crate::config::{self, Config};
use crate::frontier::PRIORITIES;
use crate::seed;

/// What the crawl is for, as a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Purpose {
    /// Keep a replayable copy
    Archive,
    /// Make a search index
    Search,
    /// Examine a site for its owner
    Audit,
    /// Feed language models at run time
    AiInput,
    /// Train language models
    AiTrain,
}

/// How far a crawl may go from its seeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ScopeWord {
    /// The seeds' hosts
    Host,
    /// The seeds' registrable domains, all their hosts
    Domain,
    /// Below the seeds' folders
    Prefix,
    /// The whole web
    Any,
}

/// Flags of `init`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler init                                   asks four questions on a terminal
  crawler init --yes --contact mailto:you@example.org --seed https://example.org/
  crawler init --yes --contact https://example.org/bot --purpose search --scope domain

Writes crawler.toml (or the file of --config) and, for seeds given here, seeds.txt beside it. Files
that are there stay unless --force is given. Exit codes: 0 written, 78 an answer is not usable.")]
pub(super) struct InitArgs {
    /// Ask nothing: take the flags, and the defaults for the rest
    #[arg(long, short)]
    yes: bool,
    /// Write over files that are there
    #[arg(long)]
    force: bool,
    /// What the crawl is for; it decides what is done with learned rules, and for which use owners
    /// must not have refused what is exported
    #[arg(long, value_enum)]
    purpose: Option<Purpose>,
    /// How far from the seeds it may go
    #[arg(long, value_enum)]
    scope: Option<ScopeWord>,
    /// A URL to begin with; may be given several times
    #[arg(long, value_name = "URL")]
    seed: Vec<String>,
}

struct Answers {
    contact: String,
    purpose: Purpose,
    scope: ScopeWord,
    seeds: Vec<String>,
}

/// Writes a configuration.
pub(super) fn init(common: &Common, args: &InitArgs) -> Answer {
    let file = common.config.clone().unwrap_or_else(|| PathBuf::from("crawler.toml"));
    let seeds_file = file.with_file_name("seeds.txt");
    refuse_to_overwrite(&file, args.force)?;
    // What is to be written into the configuration, before anything is asked or written.
    let dir = common.dir.as_deref().unwrap_or(Path::new("crawl"));
    let dir = text_of("the directory of the crawl (--dir, CRAWLER_DIR)", dir)?;
    let seeds_name = text_of("the seed list beside --config", &seeds_file)?;
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let answers = if terminal && !args.yes {
        ask(common, args)?
    } else {
        Answers {
            contact: common.contact.clone().unwrap_or_default(),
            purpose: args.purpose.unwrap_or(Purpose::Archive),
            scope: args.scope.unwrap_or(ScopeWord::Host),
            seeds: args.seed.clone(),
        }
    };
    let contact = Config { contact: answers.contact.trim().to_owned(), ..Config::default() };
    config::check_contact(&contact)?;
    let seeds = seed::parse("seeds", answers.seeds.join("\n").as_bytes(), PRIORITIES as u8);
    if let Some(error) = seeds.errors.first() {
        return Err(Failed::with(Exit::Config, error));
    }
    if !answers.seeds.is_empty() {
        refuse_to_overwrite(&seeds_file, args.force)?;
        let list: String = seeds.seeds.iter().map(|seed| format!("{}\n", seed.url)).collect();
        write(&seeds_file, &format!("# One URL a line.\n{list}"))?;
    }
    let has_seeds = seeds_file.exists();
    write(&file, &text(&answers, has_seeds.then_some(seeds_name), dir))?;
    // What it has written must be right by the same judge that reads it.
    config::load(Some(&file), &[])?;
    if common.json {
        let seeds = has_seeds.then(|| path(&seeds_file));
        println!("{}", json!({ "config": path(&file), "seeds": seeds }));
    } else if !common.quiet {
        println!("wrote {}", file.display());
        if !answers.seeds.is_empty() {
            println!("wrote {}", seeds_file.display());
        }
        let with = match common.config {
            Some(_) => format!(" --config {}", file.display()),
            None => String::new(),
        };
        let next = if has_seeds { "" } else { " --seeds FILE" };
        println!("next: crawler plan{with}{next}    and then: crawler run{with}{next}");
    }
    Ok(Exit::Complete)
}

fn refuse_to_overwrite(file: &Path, force: bool) -> Result<(), Failed> {
    if force || !file.exists() {
        return Ok(());
    }
    let file = file.display();
    let why = format!("{file} is there already; --force writes over it, --config names another");
    Err(Failed::with(Exit::Config, why))
}

fn write(file: &Path, text: &str) -> Result<(), Failed> {
    Ok(std::fs::write(file, text).with_context(|| format!("write {}", file.display()))?)
}

fn ask(common: &Common, args: &InitArgs) -> Result<Answers, Failed> {
    let contact = match &common.contact {
        Some(contact) => contact.clone(),
        None => question("Where can site owners reach you? mailto: address or URL", "", |text| {
            let config = Config { contact: text.to_owned(), ..Config::default() };
            config::check_contact(&config).map(|()| text.to_owned()).map_err(|e| e.message)
        })?,
    };
    let purpose = match args.purpose {
        Some(purpose) => purpose,
        None => choice("What is it for? archive, search, audit, ai-input, ai-train", "archive")?,
    };
    let scope = match args.scope {
        Some(scope) => scope,
        None => choice("How far may it go? host, domain, prefix, any", "host")?,
    };
    let mut seeds = args.seed.clone();
    if seeds.is_empty() {
        let what = "Where does it begin? URLs with spaces between; none for a list later";
        let line = question(what, "", |text| Ok(text.to_owned()))?;
        seeds = line.split_whitespace().map(str::to_owned).collect();
    }
    Ok(Answers { contact, purpose, scope, seeds })
}

fn choice<T: ValueEnum>(what: &str, default: &str) -> Result<T, Failed> {
    question(what, default, |text| T::from_str(text, true))
}

/// Asks until the answer is usable; the end of the input is none.
fn question<T>(
    what: &str,
    default: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, Failed> {
    let hint = if default.is_empty() { String::new() } else { format!(" [{default}]") };
    loop {
        eprint!("{what}{hint}: ");
        std::io::stderr().flush()?;
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            return Err(Failed::with(
                Exit::Config,
                "the answers ended; `crawler init --yes` asks none",
            ));
        }
        let answer = if line.trim().is_empty() { default } else { line.trim() };
        match read(answer) {
            Ok(value) => return Ok(value),
            Err(why) => eprintln!("  {why}"),
        }
    }
}

fn text(answers: &Answers, seeds: Option<&str>, dir: &str) -> String {
    let name = |value: &dyn Fn() -> Option<String>| value().unwrap_or_default();
    let purpose = name(&|| Some(answers.purpose.to_possible_value()?.get_name().to_owned()));
    let scope = name(&|| Some(answers.scope.to_possible_value()?.get_name().to_owned()));
    let seeds = match seeds {
        Some(file) => format!("seeds = [{}]", quoted(file)),
        None => "# seeds = [\"seeds.txt\"]".to_owned(),
    };
    let defaults = Config::default();
    format!(
        "# Settings of a crawl. `crawler config show` lists every key, `crawler config check` finds\n\
         # mistakes, and `crawler plan` shows what would be crawled.\n\
         \n\
         # Sent with every request, so that site owners can reach you.\n\
         contact = {}\n\
         # archive, search, audit, ai-input or ai-train.\n\
         purpose = {}\n\
         # State, archive and logs.\n\
         dir = {}\n\
         # One URL a line.\n\
         {seeds}\n\
         \n\
         [scope]\n\
         # host, domain, prefix or any; measured from the seeds.\n\
         scope = {}\n\
         # Patterns that never belong to the crawl: a host, a domain as \".example.org\", the\n\
         # beginning of a URL, or \"regex:...\".\n\
         exclude = []\n\
         \n\
         [politeness]\n\
         # Least rest between two requests to a host; its own wishes count if they are longer.\n\
         min_delay = \"{}\"\n\
         # The rest is this many times the duration of the last fetch.\n\
         factor = {:?}\n",
        quoted(answers.contact.trim()),
        quoted(&purpose),
        quoted(dir),
        quoted(&scope),
        defaults.politeness.min_delay,
        defaults.politeness.factor,
    )
}
