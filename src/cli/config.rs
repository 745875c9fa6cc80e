//! `crawler config`: check and show.

use std::sync::Arc;

use clap::Subcommand;
use serde_json::json;

use super::run::refused_lists;
use super::{Answer, Common, Exit};
use crate::clock::{Clock, Timestamp};
use crate::config::{ConfigError, Loaded, Source};
use crate::dashboard;
use crate::fetch::{self, HyperFetch, user_agent};

/// Subcommands of `config`.
#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Say whether the configuration is right with the files that it names, and where it is not
    Check,
    /// Show every key and its value
    Show {
        /// Say also where each value is from
        #[arg(long)]
        effective: bool,
    },
}

/// Checks or shows the configuration.
pub(super) fn config(common: &Common, command: &ConfigCommand) -> Answer {
    let loaded = common.load(&[])?;
    match command {
        ConfigCommand::Check => return check(common, &loaded),
        ConfigCommand::Show { effective } => {
            let rows = loaded.effective();
            if common.json {
                let rows: Vec<_> = rows
                    .iter()
                    .map(|(key, value, source)| json!({ "key": key, "value": value, "source": source }))
                    .collect();
                println!("{}", serde_json::to_string(&rows)?);
                return Ok(Exit::Complete);
            }
            for (key, value, source) in rows {
                match (effective, source) {
                    (false, _) => println!("{key} = {value}"),
                    (true, Source::Default) => println!("{key} = {value}"),
                    (true, source) => {
                        let word = format!("{source:?}").to_lowercase();
                        println!("{key} = {value}  # from the {word}");
                    }
                }
            }
        }
    }
    Ok(Exit::Complete)
}

fn check(common: &Common, loaded: &Loaded) -> Answer {
    let is_missing = loaded.config.contact.trim().is_empty();
    let missing: &[&str] = if is_missing { &["contact"] } else { &[] };
    let problems: Vec<String> = refused(loaded).iter().map(ToString::to_string).collect();
    problems.iter().for_each(|problem| eprintln!("error: {problem}"));
    let valid = problems.is_empty();
    if common.json {
        println!("{}", json!({ "valid": valid, "missing": missing, "problems": problems }));
    } else if !common.quiet {
        if valid {
            println!("the configuration is right");
        }
        if is_missing {
            println!(
                "`contact` is missing, which whatever makes requests needs: add it, or give \
                 --contact mailto:you@example.org then"
            );
        }
    }
    Ok(if valid { Exit::Complete } else { Exit::Config })
}

/// Returns what a run would refuse, one after the other, of the files that the configuration names
/// and of what it sends.
fn refused(loaded: &Loaded) -> Vec<ConfigError> {
    let config = &loaded.config;
    let mut refused: Vec<ConfigError> =
        refused_lists(config).into_iter().map(|why| loaded.problem("seeds", why)).collect();
    // Each key by itself, so that one that is wrong hides no other.
    let (none, set) = (fetch::Settings::default, config.fetch.clone());
    let signed = match set.signature_key {
        Some(_) => "fetch.signature_key",
        None => "fetch.signature_agent",
    };
    let (signature_key, signature_agent) = (set.signature_key, set.signature_agent);
    for (key, settings) in [
        ("fetch.ca_file", fetch::Settings { ca_file: set.ca_file, ..none() }),
        (signed, fetch::Settings { signature_key, signature_agent, ..none() }),
        ("fetch.accept", fetch::Settings { accept: set.accept, ..none() }),
        ("contact", none()),
    ] {
        let contact =
            if key == "contact" { config.contact.as_str() } else { "mailto:check@localhost" };
        let agent = user_agent(&config.name, env!("CARGO_PKG_VERSION"), contact);
        let clock = Arc::new(Clock::system(Timestamp::ZERO));
        if let Err(error) = HyperFetch::new(&settings, &agent, contact, clock) {
            refused.push(loaded.problem(key, format!("failed to {error}")));
        }
    }
    if let Err(error) = dashboard::check_token(&config.dashboard) {
        refused.push(loaded.problem("dashboard.token_file", format!("failed to {error}")));
    }
    refused
}
