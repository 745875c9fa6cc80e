//! `crawler audit`: proves politeness from the crawl log.

use clap::Args;

use super::output::number;
use super::{Answer, Common, Exit, Failed};
use crate::crawl::audit as auditor;
use crate::crawl::log::files;

/// Flags of `audit`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 nobody was hurried, 3 there is no crawl log, or no request in it to that host, 20 a
request came too early, or a line cannot be read.")]
pub(super) struct AuditArgs {
    /// Only this host
    #[arg(long, value_name = "HOST")]
    host: Option<String>,
    /// Hosts to show, tightest first
    #[arg(long, value_name = "N", default_value_t = 20)]
    most: usize,
}

/// Audits the log; exit code 20 if any request came too early.
pub(super) fn audit(common: &Common, args: &AuditArgs) -> Answer {
    let config = common.load(&[])?.config;
    let dir = config.dir.join("log");
    let audit = auditor::audit(&dir, args.host.as_deref()).map_err(|error| {
        match files(&dir).is_ok_and(|files| !files.is_empty()) {
            true => Failed::from(error),
            false => Failed::with(Exit::Nothing, format!("failed to {error}")),
        }
    })?;
    let exit = match (audit.violations_total, audit.bad_lines.is_empty()) {
        (0, true) if audit.requests == 0 && args.host.is_some() => Exit::Nothing,
        (0, true) => Exit::Complete,
        _ => Exit::Verify,
    };
    if let Some(host) = args.host.as_ref().filter(|_| exit == Exit::Nothing) {
        eprintln!("the log has no request to {host}");
    }
    if common.json {
        println!("{}", serde_json::to_string(&audit)?);
        return Ok(exit);
    }
    for (file, line, why) in &audit.bad_lines {
        eprintln!("{file}:{line}: {why}");
    }
    for violation in &audit.violations {
        println!(
            "VIOLATION {}: {} rested {} ms of {} ms before {}",
            violation.at, violation.who, violation.rest_ms, violation.due_ms, violation.url
        );
    }
    if !common.quiet {
        let mut hosts: Vec<_> = audit.hosts.iter().collect();
        hosts.sort_by_key(|(_, host)| host.margin_min_ms.unwrap_or(i64::MAX));
        println!(
            "{:>10}  {:>12}  {:>12}  {:>12}  host",
            "requests", "least due", "least kept", "margin"
        );
        for (name, host) in hosts.into_iter().take(args.most) {
            let ms = |value: Option<i64>| value.map_or("-".to_owned(), |ms| format!("{ms} ms"));
            println!(
                "{:>10}  {:>12}  {:>12}  {:>12}  {name}",
                number(host.requests),
                ms(host.rest_min_ms.map(|_| host.gap_due_min_ms as i64)),
                ms(host.rest_min_ms.map(|rest| rest as i64)),
                ms(host.margin_min_ms),
            );
        }
        println!(
            "{} requests to {} hosts, {} too early",
            number(audit.requests),
            number(audit.hosts.len() as u64),
            number(audit.violations_total)
        );
    }
    Ok(exit)
}
