//! `crawler dust validate`: proves the rules of a file on the URLs of a log.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::super::output::number;
use super::logs::{self, LogArgs};
use super::pages::FetchArgs;
use super::rules::{row, table};
use super::texts::Texts;
use super::{Answer, Common, Exit, Failed};
use crate::dust::{Rule, RuleFile, RuleState, prove_rules};

const EXAMPLES: &str = "\
Examples:
  crawler dust validate rules.json --log access.log --site https://example.org --fetch live \\
      --contact mailto:me@example.org
  crawler dust validate rules.json --log list.tsv --fetch proxy=http://127.0.0.1:8099

URLs are drawn from the log, uniformly over its parts, and fetched in both forms, also where the log
tells no sizes. A rule whose pages cannot be fetched stays as it was. Exit codes: 3 no page was
seen, 20 a rule is refuted.";

/// Flags of `dust validate`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct ValidateArgs {
    /// The rule file
    #[arg(value_name = "RULES")]
    file: PathBuf,
    /// Logs whose URLs are drawn; may be given several times
    #[arg(long, value_name = "FILE", required = true)]
    log: Vec<PathBuf>,
    #[command(flatten)]
    how: LogArgs,
    #[command(flatten)]
    fetch: FetchArgs,
    /// Write the rules with their new state and evidence
    #[arg(long, value_name = "OUT")]
    rules: Option<PathBuf>,
}

/// Validates.
pub(super) fn validate(common: &Common, args: &ValidateArgs) -> Answer {
    let config = common.load(&[])?.config;
    let rules = super::rule_file(&args.file)?.rules;
    let nothing = || {
        let what = "nothing can be proved without pages: use --fetch live or --fetch proxy=URL";
        Failed::with(Exit::Usage, what)
    };
    if args.fetch.is_none() {
        return Err(nothing());
    }
    args.fetch.check()?;
    super::check_writable(args.rules.as_deref())?;
    let mut texts = Texts::new(&config);
    let logs = logs::read(&args.how, &args.log, Some(&mut texts))?;
    logs.report(common.quiet)?;
    let observations = logs.into_observations()?;
    let mut pages = args.fetch.pages(&config, texts)?.ok_or_else(nothing)?;
    pages.learn_sites(&observations);
    let mut settings = config.dust.book();
    // Whoever asks for a proof grants its fetches; only a crawl keeps them to a share.
    settings.validate.probe_share_max = f64::MAX;
    let report = prove_rules(rules, observations, &mut pages, settings, super::now())?;
    pages.asked.check()?;
    if let Some(file) = &args.rules {
        let rules = RuleFile { rules: report.rules.clone(), ..report.book.export() };
        super::write(file, &serde_json::to_vec_pretty(&rules)?)?;
    }
    let answered = |rule: &&Rule| !report.unanswered.contains(&rule.id);
    let count = |state| {
        let rules = report.rules.iter().filter(answered);
        rules.filter(|rule| rule.state == state).count() as u64
    };
    let unanswered = report.unanswered.len() as u64;
    let refuted = report
        .events
        .iter()
        .filter(|event| event.to == RuleState::Retired && event.reason.starts_with("refuted"))
        .count() as u64;
    let not_provable = count(RuleState::Retired).saturating_sub(refuted);
    let undecided = count(RuleState::Shadow) + unanswered;
    if common.json {
        let rules: Vec<Value> = report.rules.iter().map(row).collect::<Result<_, _>>()?;
        let report = json!({
            "rules": rules,
            "proved": count(RuleState::Enforced),
            "refuted": refuted,
            "not_provable": not_provable,
            "undecided": undecided,
            "unanswered": report.unanswered,
            "probes": report.probes,
            "requests": pages.requests,
            "events": report.events,
        });
        println!("{report}");
    } else {
        print!("{}", table(&report.rules.iter().collect::<Vec<_>>(), None));
        for event in report.events.iter().filter(|event| event.to == RuleState::Retired) {
            println!("{} {}: {}", event.rule, event.text, event.reason);
        }
        for rule in report.rules.iter().filter(|rule| !answered(rule)) {
            println!("{} {rule}: undecided and as it was: its pages did not come", rule.id);
        }
        println!(
            "{} proved, {} refuted, {} not provable, {} undecided, {} not met in the log; \
             {} probes, {} requests",
            number(count(RuleState::Enforced)),
            number(refuted),
            number(not_provable),
            number(undecided),
            number(count(RuleState::Candidate)),
            number(report.probes),
            number(pages.requests)
        );
    }
    if let Some(line) = pages.asked.line() {
        eprintln!("{line}");
    }
    Ok(if refuted > 0 { Exit::Verify } else { Exit::Complete })
}
