//! `crawler config`: check and show.

use clap::Subcommand;
use serde_json::json;

use super::{Answer, Common, Exit};
use crate::config::Source;

/// Subcommands of `config`.
#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Say whether the configuration is right, and where it is not
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
        ConfigCommand::Check => {
            let is_missing = loaded.config.contact.trim().is_empty();
            let missing: &[&str] = if is_missing { &["contact"] } else { &[] };
            if common.json {
                println!("{}", json!({ "valid": true, "missing": missing }));
            } else if !common.quiet {
                println!("the configuration is right");
                if is_missing {
                    println!(
                        "`contact` is missing, which whatever makes requests needs: add it, or give \
                         --contact mailto:you@example.org then"
                    );
                }
            }
        }
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
