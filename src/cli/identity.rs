//! `crawler identity`: who we are, for site owners and for servers that ask.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use ipnet::IpNet;
use maud::{DOCTYPE, Markup, html};
use serde_json::{Value, json};

use super::output::path;
use super::{Answer, Common, Exit, Failed};
use crate::clock::{Clock, Timestamp};
use crate::config::{self, Config};
use crate::fetch::{DIRECTORY_PATH, SigningKey, mail_of, user_agent};

const VERSION: &str = env!("CARGO_PKG_VERSION");

const EXAMPLES: &str = "\
Examples:
  crawler identity init --contact mailto:you@example.org
  crawler identity init --contact https://bot.example.org/ --range 192.0.2.0/28 --range 2001:db8::/64
  crawler identity init --contact https://bot.example.org/ --sign

Writes into identity/ (or --out DIR): user-agent.txt, bot.html (a page for site owners),
robots-example.txt, ranges.json (addresses, in the form that large crawlers publish theirs in) and,
with --sign, key.pem (mode 0600) and signatures-directory.json, to be served at
/.well-known/http-message-signatures-directory. Publish all but the key. Requests are signed only
after fetch.signature_key and fetch.signature_agent are set, and only for servers that ask for it.
Files that are there stay unless --force is given; a key always stays.

Exit codes: 0 written, 78 an answer is not usable.";

/// Subcommands of `identity`.
#[derive(Debug, Subcommand)]
pub(super) enum IdentityCommand {
    /// Write what to publish about this crawler
    Init(InitArgs),
    /// Show what every request says of us
    #[command(after_help = "\
Examples:
  crawler identity show
  crawler identity show --json")]
    Show,
}

/// Flags of `identity init`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct InitArgs {
    /// Directory to write into
    #[arg(long, short, value_name = "DIR", default_value = "identity")]
    out: PathBuf,
    /// An address range that requests come from; may be given several times
    #[arg(long, value_name = "CIDR")]
    range: Vec<String>,
    /// Make a key for signed requests (Web Bot Auth)
    #[arg(long)]
    sign: bool,
    /// Write over files that are there; never over a key
    #[arg(long)]
    force: bool,
}

/// Runs a subcommand.
pub(super) fn identity(common: &Common, command: &IdentityCommand) -> Answer {
    match command {
        IdentityCommand::Init(args) => init(common, args),
        IdentityCommand::Show => show(common),
    }
}

fn show(common: &Common) -> Answer {
    let config = common.load(&[])?.config;
    config::check_contact(&config)?;
    let key = config.fetch.signature_key.as_deref().map(SigningKey::read).transpose()?;
    let key_id = key.as_ref().map(SigningKey::id);
    let (agent, from) = (agent(&config), mail_of(&config.contact));
    if common.json {
        let shown = json!({
            "user_agent": agent, "from": from, "robots_token": config.name,
            "signs_as": config.fetch.signature_agent, "key_id": key_id,
        });
        println!("{shown}");
        return Ok(Exit::Complete);
    }
    println!("User-Agent    {agent}");
    println!("From          {}", from.unwrap_or("not sent: the contact is no mail address"));
    println!("robots token  {}", config.name);
    match (&config.fetch.signature_agent, key_id) {
        (Some(agent), Some(id)) => println!("signs as      {agent}, key {id}, where asked"),
        _ => println!("signs as      nobody: fetch.signature_key is not set"),
    }
    Ok(Exit::Complete)
}

fn agent(config: &Config) -> String {
    user_agent(&config.name, VERSION, &config.contact)
}

fn init(common: &Common, args: &InitArgs) -> Answer {
    let config = common.load(&[])?.config;
    config::check_contact(&config)?;
    let ranges = ranges(&args.range)?;
    let now = Clock::system(Timestamp::ZERO).now();
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("failed to make the directory {}", args.out.display()))?;
    let key_file = args.out.join("key.pem");
    let key = args.sign.then(|| key(&key_file)).transpose()?;
    let mut files = vec![
        ("user-agent.txt", format!("{}\n", agent(&config))),
        ("bot.html", page(&config, &ranges, key.is_some()).into_string()),
        ("robots-example.txt", robots(&config)),
        ("ranges.json", pretty(&ranges_json(&ranges, now))?),
    ];
    if let Some(key) = &key {
        files.push(("signatures-directory.json", pretty(&key.directory())?));
    }
    for (name, _) in &files {
        let file = args.out.join(name);
        if file.exists() && !args.force {
            let file = file.display();
            let why = format!("{file} is there already; --force writes over it");
            return Err(Failed::with(Exit::Config, why));
        }
    }
    let mut written = Vec::new();
    for (name, text) in &files {
        let file = args.out.join(name);
        std::fs::write(&file, text)
            .with_context(|| format!("failed to write {}", file.display()))?;
        written.push(file);
    }
    if common.json {
        let key_id = key.as_ref().map(SigningKey::id);
        let key_file = key.as_ref().map(|_| path(&key_file));
        let written: Vec<String> = written.iter().map(|file| path(file)).collect();
        println!("{}", json!({ "files": written, "key": key_file, "key_id": key_id }));
    } else if !common.quiet {
        written.iter().for_each(|file| println!("wrote {}", file.display()));
        if let Some(key) = &key {
            println!("key   {} ({}); keep it to yourself", key_file.display(), key.id());
            eprintln!(
                "next: serve signatures-directory.json as {DIRECTORY_PATH} with type\n\
                 application/http-message-signatures-directory+json, and set fetch.signature_key \
                 and\nfetch.signature_agent"
            );
        }
    }
    Ok(Exit::Complete)
}

/// Reads the key, or makes one that only its owner can read. A key is never written over: what is
/// published says it is ours.
fn key(file: &Path) -> Result<SigningKey, Failed> {
    if !file.exists() {
        let pem = SigningKey::generate()?;
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
        made.and_then(|mut made| made.write_all(pem.as_bytes()).and_then(|()| made.sync_all()))
            .with_context(|| format!("failed to write the key {}", file.display()))?;
    }
    Ok(SigningKey::read(file)?)
}

fn ranges(texts: &[String]) -> Result<Vec<IpNet>, Failed> {
    let parsed = texts.iter().map(|text| {
        let net = text
            .parse::<IpNet>()
            .or_else(|_| text.parse().map(|ip| IpNet::new_assert(ip, full(ip))));
        net.map(|net| net.trunc()).map_err(|_| {
            let why = format!("--range {text}: write an address or a range as 192.0.2.0/28");
            Failed::with(Exit::Config, why)
        })
    });
    parsed.collect()
}

fn full(ip: std::net::IpAddr) -> u8 {
    if ip.is_ipv4() { 32 } else { 128 }
}

/// Returns address ranges in the form that large search engines publish theirs in.
fn ranges_json(ranges: &[IpNet], now: Timestamp) -> Value {
    let prefixes: Vec<Value> = ranges
        .iter()
        .map(|net| match net {
            IpNet::V4(net) => json!({ "ipv4Prefix": net.to_string() }),
            IpNet::V6(net) => json!({ "ipv6Prefix": net.to_string() }),
        })
        .collect();
    json!({ "creationTime": now.to_rfc3339(), "prefixes": prefixes })
}

fn pretty(value: &Value) -> Result<String, Failed> {
    Ok(format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Returns a robots.txt for site owners to take from.
fn robots(config: &Config) -> String {
    let name = &config.name;
    format!(
        "# What you can tell {name} in your robots.txt. Take what you need.\n\
         # Changes are seen within a day.\n\
         \n\
         # Slow it down: at least ten seconds between two requests.\n\
         User-agent: {name}\n\
         Crawl-delay: 10\n\
         \n\
         # Keep it out of a part of your site.\n\
         User-agent: {name}\n\
         Disallow: /private/\n\
         Allow: /private/about.html\n\
         \n\
         # Keep it out altogether.\n\
         User-agent: {name}\n\
         Disallow: /\n\
         \n\
         # Say what your texts may be used for; it is kept beside every page.\n\
         User-agent: {name}\n\
         Content-Usage: search=y, train-ai=n\n\
         Content-Signal: search=yes, ai-train=no\n"
    )
}

/// Returns the page for site owners.
fn page(config: &Config, ranges: &[IpNet], signs: bool) -> Markup {
    let (name, contact) = (&config.name, &config.contact);
    let politeness = &config.politeness;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "About " (name) }
                style {
                    "body{max-width:44em;margin:2em auto;padding:0 1em;font:16px/1.5 system-ui,sans-serif}"
                    "code,pre{font-size:.95em;overflow-wrap:anywhere;white-space:pre-wrap}"
                }
            }
            body {
                h1 { "About " (name) }
                p {
                    (name) " is a web crawler. It calls itself " code { (agent(config)) }
                    " and obeys the robots.txt group of " code { (name) } ", or else of " code { "*" } "."
                }
                h2 { "What it does on your site" }
                ul {
                    li { "It reads robots.txt first and again every day, and obeys it (RFC 9309)." }
                    li { "It has one request to a host under way at a time, and rests at least "
                        (politeness.min_delay) " in between, longer where pages are slow." }
                    li { "It obeys Crawl-delay, Retry-After, 429 and 503, meta robots, X-Robots-Tag and \
                         rel=nofollow." }
                    li { "It keeps what you say about the use of your texts (Content-Usage, \
                         Content-Signal, TDM-Reservation) beside every page." }
                    li { "It keeps no cookies, fills in no forms and logs in nowhere." }
                }
                h2 { "How to slow it down or keep it out" }
                pre { "User-agent: " (name) "\nCrawl-delay: 10\nDisallow: /private/" }
                h2 { "How to know that it is ours" }
                @if ranges.is_empty() {
                    p { "Its addresses are not published." }
                } @else {
                    p { "Its requests come from these addresses, also in "
                        a href="ranges.json" { "ranges.json" } ":" }
                    ul { @for net in ranges { li { code { (net) } } } }
                }
                @if signs {
                    p { "It signs its requests (Web Bot Auth, RFC 9421) where a server asks for it by "
                        code { "Accept-Signature" } "; the key is in the "
                        a href=(DIRECTORY_PATH) { "directory" } "." }
                }
                h2 { "How to reach us" }
                p {
                    @if contact.starts_with("http") || contact.starts_with("mailto:") {
                        a href=(contact) { (contact.trim_start_matches("mailto:")) }
                    } @else { (contact) }
                    ". If it troubles your site, say so: we look at it and stop it if need be."
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_the_form_of_large_crawlers() {
        let nets = ranges(&["192.0.2.5/28".to_owned(), "2001:db8::1".to_owned()]).unwrap();
        let json = ranges_json(&nets, Timestamp::ZERO);
        assert_eq!(json["prefixes"][0]["ipv4Prefix"], "192.0.2.0/28");
        assert_eq!(json["prefixes"][1]["ipv6Prefix"], "2001:db8::1/128");
        assert!(ranges(&["example.org".to_owned()]).is_err());
    }

    #[test]
    fn the_robots_example_says_to_our_parser_what_its_comments_say() {
        let config = Config::default();
        let text = robots(&config);
        let robots = crate::robots::Robots::parse(text.as_bytes(), &config.name);
        assert_eq!(robots.crawl_delay(), Some(std::time::Duration::from_secs(10)));
        assert_eq!(robots.signals().len(), 2);
    }

    #[test]
    fn the_page_escapes_what_the_configuration_says() {
        let config =
            Config { contact: "https://b.test/\"><script>".to_owned(), ..Config::default() };
        let page = page(&config, &[], true).into_string();
        assert!(!page.contains("<script>"), "{page}");
    }
}
