//! The parts about hosts: politeness, refusals, traps.

use super::Section;
use super::builder::Facts;
use super::plot;
use super::safe;
use super::table::{Cell, Table};
use crate::content::trap::Level;

/// Who was asked how often, and whether too early.
pub(super) fn politeness(facts: &Facts<'_>) -> Section {
    let hosts = facts.log.hosts.sorted();
    let total = hosts.len() as u64;
    let (early, margin) = facts.log.hosts.verdict();
    // Those that were hurried come first, whatever their size.
    let mut order: Vec<_> = hosts.iter().collect();
    order.sort_by_key(|(name, host)| {
        (std::cmp::Reverse(host.early), std::cmp::Reverse(host.requests), *name)
    });
    let rows = order.into_iter().take(super::CSV_ROWS_MAX).map(|(name, host)| {
        let known = facts.state.hosts.get(*name);
        let mean = (host.answers > 0).then(|| (host.first_byte_sum / host.answers) as i64);
        let millis = |value: Option<u64>| Cell::millis(value.map(|ms| ms as i64));
        let verdict = match (host.margin_min, host.early) {
            (None, _) => "asked once".to_owned(),
            (Some(_), 0) => "kept".to_owned(),
            (Some(_), early) => format!("BROKEN {early} times"),
        };
        vec![
            Cell::Text((*name).to_owned()),
            Cell::Count(host.requests),
            millis(host.due_min),
            millis(host.kept_min),
            Cell::millis(host.margin_min),
            Cell::Text(verdict),
            Cell::Count(host.by_class[1]),
            Cell::Count(host.by_class[2]),
            Cell::Count(host.by_class[3]),
            Cell::Count(host.by_class[4]),
            Cell::Count(host.by_class[0]),
            Cell::Count(host.busy),
            Cell::Count(host.new),
            Cell::Count(host.duplicates),
            Cell::Count(host.junk),
            Cell::Bytes(host.bytes),
            Cell::millis(mean),
            Cell::Count(known.map_or(0, |known| known.queued)),
            Cell::Text(known.map_or(String::new(), |known| safe::cut(&known.closed, 200))),
        ]
    });
    let columns = [
        ("host", "host"),
        ("requests", "requests"),
        ("gap_required_min_ms", "least gap required"),
        ("gap_kept_min_ms", "least gap kept"),
        ("margin_min_ms", "least margin"),
        ("verdict", "verdict"),
        ("status_2xx", "2xx"),
        ("status_3xx", "3xx"),
        ("status_4xx", "4xx"),
        ("status_5xx", "5xx"),
        ("no_answer", "none"),
        ("busy", "429, 503"),
        ("new_text", "new text"),
        ("known_text", "known text"),
        ("junk", "no content"),
        ("bytes", "bytes"),
        ("first_byte_mean_ms", "first byte, mean"),
        ("waiting", "waiting"),
        ("closed", "closed because"),
    ];
    let table = Table::new("hosts", "Hosts", &columns, rows.collect()).of(total).note(
        "A gap runs from the end of one request to the beginning of the next; the margin is how \
         much later than allowed a request came.",
    );
    let reasons = facts.log.gap_reasons.sorted();
    let rows = reasons.iter().filter(|(reason, ..)| !reason.is_empty());
    let rows = rows.map(|(reason, count, _)| vec![Cell::text(*reason), Cell::Count(*count)]);
    let columns = [("reason", "longest wish"), ("rests", "rests")];
    let reasons = Table::new("gap-reasons", "What set the gaps", &columns, rows.collect());
    let groups = facts.log.hosts.early_groups;
    let text = match (early + groups, margin) {
        (0, Some(margin)) => format!(
            "No host was asked too early. The closest call came {margin} ms after it was allowed. \
             This is computed from the crawl log alone; `crawler audit` does the same again."
        ),
        (0, None) => "No host was asked twice, so no gap was due.".to_owned(),
        (early, _) => format!(
            "{} requests came too early. `crawler audit` names each of them.",
            plot::grouped(early)
        ),
    };
    let tables = vec![table, reasons];
    Section { id: "hosts", title: "Hosts and politeness", text, plots: Vec::new(), tables }
}

/// What was not asked for, and why.
pub(super) fn refusals(facts: &Facts<'_>) -> Section {
    let state = &facts.state;
    let counted = |map: &std::collections::HashMap<String, super::state::Counted>| {
        let mut rows: Vec<_> = map.iter().collect();
        rows.sort_by_key(|(reason, counted)| (std::cmp::Reverse(counted.count), *reason));
        let cells = rows.into_iter().map(|(reason, counted)| {
            vec![
                Cell::text(reason.as_str()),
                Cell::Count(counted.count),
                Cell::Url(counted.example.clone()),
            ]
        });
        cells.collect::<Vec<_>>()
    };
    let columns = [("reason", "reason"), ("urls", "URLs"), ("example", "for example")];
    let refused = Table::new("refused", "Refused, by reason", &columns, counted(&state.refused))
        .note("URLs that have a place in the ledger; links refused at sight are in the funnel.");
    let failed = Table::new("failed", "Given up, by reason", &columns, counted(&state.failed));
    let mut robots: Vec<_> = state.robots.iter().collect();
    robots.sort_by_key(|(key, counted)| (std::cmp::Reverse(counted.count), *key));
    let total = robots.len() as u64;
    let rows = robots.into_iter().take(super::CSV_ROWS_MAX).map(|((host, line), counted)| {
        vec![
            Cell::text(host.as_str()),
            Cell::Text(safe::cut(line, 200)),
            Cell::Count(counted.count),
            Cell::Url(counted.example.clone()),
        ]
    });
    let columns =
        [("host", "host"), ("line", "line"), ("urls", "URLs"), ("example", "for example")];
    let robots = Table::new("robots", "Refused by robots.txt", &columns, rows.collect()).of(total);
    let rows = facts.log.robots_statuses.iter().map(|(status, count)| {
        let status = if *status == 0 { "no answer".to_owned() } else { status.to_string() };
        vec![Cell::Text(status), Cell::Count(*count)]
    });
    let columns = [("status", "status"), ("requests", "requests")];
    let answers = Table::new("robots-status", "Answers to robots.txt", &columns, rows.collect());
    let rows = state
        .reasons
        .iter()
        .map(|(reason, count)| vec![Cell::text(reason.as_str()), Cell::Count(*count)]);
    let columns = [("reason", "reason"), ("times", "times")];
    let mut reasons =
        Table::new("reasons", "Every reason that was given", &columns, rows.collect());
    reasons.rows.sort_by_key(|row| std::cmp::Reverse(order_of(row)));
    reasons.shown = 0;
    let by_robots: u64 = state.robots.values().map(|c| c.count).sum::<u64>() + state.robots_beyond;
    Section {
        id: "refusals",
        title: "What was not fetched",
        text: format!(
            "{} URLs were refused by robots.txt, each with the line that decided.",
            plot::grouped(by_robots)
        ),
        plots: Vec::new(),
        tables: vec![refused, robots, answers, failed, reasons],
    }
}

fn order_of(row: &[Cell]) -> u64 {
    match row.get(1) {
        Some(Cell::Count(count)) => *count,
        _ => 0,
    }
}

/// Hosts that brought nothing new, and what was done about them.
pub(super) fn traps(facts: &Facts<'_>) -> Section {
    let state = &facts.state;
    let stopped: Vec<_> = state
        .repeating
        .iter()
        .filter(|row| row.level != Level::Healthy || row.parked.is_some())
        .collect();
    let rows = stopped.iter().map(|row| {
        let level = match row.level {
            Level::Healthy => "healthy",
            Level::Slowed => "slowed",
            Level::LowPriority => "slowed, last in line",
            Level::Parked => "parked in part or whole",
        };
        vec![
            Cell::text(row.host.as_str()),
            Cell::text(level),
            Cell::Count(row.pages),
            Cell::Count(row.duplicates),
            Cell::Share(row.new_lately),
            Cell::Count(row.probes.into()),
            Cell::Text(safe::cut(row.parked.as_deref().unwrap_or_default(), 200)),
        ]
    });
    let columns = [
        ("host", "host"),
        ("level", "treated as"),
        ("pages", "pages"),
        ("known_text", "known text"),
        ("new_lately", "new, lately"),
        ("probes", "probes of error pages"),
        ("parked", "parked because"),
    ];
    let traps = Table::new("traps", "Hosts that repeat themselves", &columns, rows.collect()).note(
        "`new, lately` is the share of new text over about the last 64 pages. Nothing of a parked \
         host is lost: its URLs wait.",
    );
    let limits = [
        "path-repeats",
        "path-too-deep",
        "too-many-hops",
        "too-many-parameters",
        "url-too-long",
        "host-pages",
        "trap",
        "trap-slowed",
        "trap-low-priority",
        "trap-section-parked",
        "trap-parked",
    ];
    let rows = limits.iter().filter_map(|limit| {
        let count = *state.reasons.get(*limit)?;
        Some(vec![Cell::text(*limit), Cell::Count(count)])
    });
    let columns = [("reason", "reason"), ("times", "times")];
    let table = Table::new("trap-reasons", "Endless spaces cut off", &columns, rows.collect())
        .note("How often each guard against endless spaces of URLs spoke.");
    Section {
        id: "traps",
        title: "Traps",
        text: match stopped.len() {
            0 => "No host had to be slowed or parked for repeating itself.".to_owned(),
            1 => "One host was slowed or parked for repeating itself.".to_owned(),
            n => format!("{n} hosts were slowed or parked for repeating themselves."),
        },
        plots: Vec::new(),
        tables: vec![traps, table],
    }
}
