//! `crawler completions` and `crawler man`: made from the same definitions as the parser.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::terminal::Stdout;
use super::{Answer, Cli, Common, Exit};

/// Flags of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler completions bash > ~/.local/share/bash-completion/completions/crawler
  crawler completions zsh > ~/.zfunc/_crawler
  crawler completions fish > ~/.config/fish/completions/crawler.fish")]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Writes completions for a shell.
pub(super) fn completions(args: &CompletionsArgs) -> Answer {
    let mut out = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "crawler", &mut out);
    Stdout.write_all(&out)?;
    Ok(Exit::Complete)
}

/// Flags of `man`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler man | man -l -
  crawler man --out ~/.local/share/man/man1      one page for each command")]
pub(super) struct ManArgs {
    /// Write one page for each command into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Writes the manual.
pub(super) fn man(common: &Common, args: &ManArgs) -> Answer {
    let Some(dir) = &args.out else {
        let mut out = Vec::new();
        clap_mangen::Man::new(Cli::command()).render(&mut out)?;
        Stdout.write_all(&out)?;
        return Ok(Exit::Complete);
    };
    std::fs::create_dir_all(dir).with_context(|| format!("make {}", dir.display()))?;
    clap_mangen::generate_to(Cli::command(), dir)
        .with_context(|| format!("write the manual into {}", dir.display()))?;
    if !common.quiet {
        eprintln!("wrote the manual into {}", dir.display());
    }
    Ok(Exit::Complete)
}
