//! The parts about content: duplicates, rules, redirects, pages without content.

use super::Section;
use super::builder::{Facts, bytes, percent};
use super::plot;
use super::safe;
use super::table::{Cell, Table};
use crate::crawl::unsaved::Unsaved;
use crate::dust::{Rule, RuleState};

/// URLs of a group that one cell names.
const NAMED_MAX: usize = 5;

/// Texts that are there more than once.
pub(super) fn duplicates(facts: &Facts<'_>) -> Section {
    let (state, log) = (&facts.state, &facts.log);
    let rows = state.exact.groups.iter().map(|group| {
        let others: Vec<String> =
            group.urls.iter().take(NAMED_MAX).map(|url| safe::url(url)).collect();
        vec![Cell::Count(group.others + 1), Cell::url(&group.first), Cell::Text(others.join("  "))]
    });
    let columns = [("pages", "pages"), ("first", "first seen as"), ("others", "also as")];
    let exact = Table::new("duplicates", "The same text", &columns, rows.collect());
    let rows = state.nearly.clusters.iter().map(|cluster| {
        let urls: Vec<String> = cluster.urls.iter().take(NAMED_MAX).map(|u| safe::url(u)).collect();
        vec![
            Cell::Count(cluster.pages as u64),
            Cell::Share(cluster.least_resemblance),
            Cell::Urls(urls),
        ]
    });
    let columns =
        [("pages", "pages"), ("least_resemblance", "least alike"), ("urls", "for example")];
    let clusters = Table::new("near-clusters", "Nearly the same text", &columns, rows.collect())
        .of(state.nearly.clusters_total as u64)
        .note(match state.nearly.pairs_cut {
            false => "Pages that pairs connect; two of a cluster may be less alike than any pair.",
            true => {
                "Pages that pairs connect. There are more pairs than are told apart: clusters may \
                 be larger, and more, than this says."
            }
        });
    let rows =
        state.nearly.pairs.iter().map(|pair| {
            vec![Cell::Share(pair.resemblance), Cell::url(&pair.a), Cell::url(&pair.b)]
        });
    let columns = [("resemblance", "alike"), ("a", "one"), ("b", "the other")];
    let mut pairs = Table::new("near-pairs", "Pairs that are most alike", &columns, rows.collect())
        .of(state.nearly.pairs_total as u64);
    pairs.shown = 10;
    let rows = state.repeating.iter().filter(|row| row.duplicates > 0).map(|row| {
        vec![
            Cell::text(row.host.as_str()),
            Cell::Count(row.pages),
            Cell::Count(row.duplicates),
            Cell::Share(row.duplicates as f64 / row.pages.max(1) as f64),
        ]
    });
    let columns =
        [("host", "host"), ("pages", "pages"), ("known_text", "known text"), ("share", "share")];
    let mut by_host: Vec<Vec<Cell>> = rows.collect();
    by_host.sort_by_key(|row| match row.get(2) {
        Some(Cell::Count(n)) => std::cmp::Reverse(*n),
        _ => std::cmp::Reverse(0),
    });
    let hosts = Table::new("duplicates-by-host", "Repeats by host", &columns, by_host);
    let suppressed = state.counters.suppressed;
    Section {
        id: "duplicates",
        title: "Duplicates",
        text: format!(
            "By rule, {} URLs were known to be duplicates without a fetch. By content, {} fetches \
             ({} of all, {}) brought a text that was known. {} clusters are nearly the same.",
            plot::grouped(suppressed),
            plot::grouped(state.answered.duplicates),
            percent(state.answered.duplicates, state.answered.all),
            bytes(log.duplicate_bytes),
            plot::grouped(state.nearly.clusters_total as u64),
        ),
        plots: Vec::new(),
        tables: vec![exact, clusters, pairs, hosts],
    }
}

/// What was learned.
pub(super) fn rules(facts: &Facts<'_>) -> Section {
    let mut rules: Vec<&Rule> = facts.state.rules.iter().collect();
    let unsaved = facts.state.unsaved.as_ref();
    rules.sort_by_key(|rule| {
        let of = unsaved.and_then(|unsaved| unsaved.of(rule));
        let saves = (rule.evidence.suppressed, of.map(|of| of.fetched + of.waiting));
        (rule.state != RuleState::Enforced, std::cmp::Reverse(saves), rule.id)
    });
    let total = rules.len() as u64;
    let enforced = rules.iter().filter(|rule| rule.state == RuleState::Enforced).count();
    let saved = facts.state.counters.suppressed;
    let of =
        |good: u32, bad: u32| Cell::Text(format!("{good} of {}", u64::from(good) + u64::from(bad)));
    let rows = rules.iter().take(super::CSV_ROWS_MAX).map(|rule| {
        let e = rule.evidence;
        let mut row = vec![
            Cell::Text(rule.site.to_string()),
            Cell::Text(safe::cut(&rule.to_string(), 300)),
            Cell::Text(word(rule.state)),
            Cell::Text(word(rule.source)),
            Cell::Count(e.documents_same.into()),
            Cell::Count(e.documents_different.into()),
            of(e.draws_same, e.draws_failed),
            Cell::Count(e.probes.into()),
            of(e.audits_same, e.audits_failed),
            Cell::Count(e.suppressed),
            Cell::time(rule.changed),
            Cell::Text(rule.id.to_string()),
        ];
        if let Some(unsaved) = unsaved {
            let of = unsaved.of(rule).map(|of| [of.fetched, of.waiting].map(Cell::Count));
            row.extend(of.unwrap_or([Cell::None, Cell::None]));
        }
        row
    });
    let mut columns = vec![
        ("site", "site"),
        ("rule", "rule"),
        ("state", "state"),
        ("source", "from"),
        ("documents_alike", "documents alike"),
        ("documents_unlike", "unlike"),
        ("draws", "draws agreed"),
        ("probes", "probes"),
        ("audits", "audits agreed"),
        ("saved", "fetches saved"),
        ("changed", "since"),
        ("id", "id"),
    ];
    if unsaved.is_some() {
        columns.push(("unsaved_fetched", "pages that it would have saved"));
        columns.push(("unsaved_waiting", "waiting URLs that it would save"));
    }
    let table = Table::new("rules", "Rules and their evidence", &columns, rows.collect())
        .of(total)
        .note("Draws are uniform trials before a rule is enforced, audits those while it is.");
    let rows = facts.events.iter().map(|event| {
        let from = event.from.map_or_else(|| "new".to_owned(), word);
        vec![
            Cell::time(event.at),
            Cell::Text(event.site.to_string()),
            Cell::Text(safe::cut(&event.text, 300)),
            Cell::Text(format!("{from} → {}", word(event.to))),
            Cell::Text(safe::text(&event.reason, 400)),
        ]
    });
    let columns = [
        ("at", "when"),
        ("site", "site"),
        ("rule", "rule"),
        ("change", "change"),
        ("reason", "why"),
    ];
    let mut events =
        Table::new("rule-events", "Their lives, the latest first", &columns, rows.collect());
    events.shown = 10;
    Section {
        id: "rules",
        title: "DUST rules",
        text: format!(
            "{} rules were considered, {} are in force; they saved {} fetches and cost {}.{}",
            plot::grouped(total),
            plot::grouped(enforced as u64),
            plot::grouped(saved),
            price(&facts.state.rules),
            unsaved.map(suggested).unwrap_or_default(),
        ),
        plots: Vec::new(),
        tables: vec![table, events],
    }
}

/// Returns what rules would save that are suggested and not applied.
fn suggested(unsaved: &Unsaved) -> String {
    let least = if unsaved.cut { "at least " } else { "" };
    let [fetched, waiting] = [unsaved.all.fetched, unsaved.all.waiting].map(plot::grouped);
    format!(
        " They are suggested, not applied. Applied, they would have saved {least}{fetched} of the \
         pages fetched, and would save {least}{waiting} of the URLs that wait, but for some that \
         are fetched to check them."
    )
}

/// Returns what it cost to prove rules and to watch them; probes for error pages are not theirs.
pub(super) fn price(rules: &[Rule]) -> String {
    let sum = |of: fn(&Rule) -> u32| rules.iter().map(|rule| u64::from(of(rule))).sum::<u64>();
    let probes = sum(|rule| rule.evidence.probes);
    let audits = sum(|rule| rule.evidence.audits_same + rule.evidence.audits_failed);
    format!("{} probes and {} audits", plot::grouped(probes), plot::grouped(audits))
}

/// Returns a word as JSON has it.
fn word(value: impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().replace('_', " ")
}

/// Who leads where.
pub(super) fn redirects(facts: &Facts<'_>) -> Section {
    let redirects = &facts.log.redirects;
    let all: u64 = redirects.by_status.values().sum();
    let rows = redirects.by_status.iter();
    let rows =
        rows.map(|(status, count)| vec![Cell::Text(status.to_string()), Cell::Count(*count)]);
    let columns = [("status", "status"), ("redirects", "redirects")];
    let statuses = Table::new("redirects", "Redirects by status", &columns, rows.collect());
    let rows = facts.chain_lengths.iter();
    let rows = rows.map(|(length, n)| vec![Cell::Count(*length as u64), Cell::Count(*n)]);
    let columns = [("redirects", "redirects in a row"), ("chains", "chains")];
    let lengths = Table::new("chain-lengths", "Chains by length", &columns, rows.collect());
    let rows = facts.chains.iter().map(|(chain, end)| {
        vec![
            Cell::Count(chain.length() as u64),
            Cell::Urls(chain.steps.iter().map(|url| safe::url(url)).collect()),
            Cell::text(end.as_str()),
        ]
    });
    let columns = [("redirects", "redirects"), ("chain", "chain"), ("status", "ended with")];
    let ended: u64 = facts.chain_lengths.values().sum();
    let mut chains = Table::new("chains", "Longest chains", &columns, rows.collect()).of(ended);
    chains.shown = 10;
    Section {
        id: "redirects",
        title: "Redirects",
        text: format!(
            "{} answers were redirects, {} of them to another host; they make {} chains. Most \
             redirects lead to what is known already.",
            plot::grouped(all),
            plot::grouped(redirects.elsewhere),
            plot::grouped(ended)
        ),
        plots: Vec::new(),
        tables: vec![statuses, lengths, chains],
    }
}

/// Error pages in disguise and their kin.
pub(super) fn junk(facts: &Facts<'_>) -> Section {
    let log = &facts.log;
    let contents = log.contents.sorted();
    let kinds = contents.iter().filter_map(|(word, count, bytes)| {
        let kind = word.strip_prefix("junk:")?;
        Some(vec![Cell::text(kind), Cell::Count(*count), Cell::Bytes(*bytes)])
    });
    let columns = [("kind", "kind"), ("pages", "pages"), ("bytes", "bytes")];
    let kinds = Table::new("junk", "Pages without content, by kind", &columns, kinds.collect());
    let rows = log.junk.iter().map(|page| {
        vec![
            Cell::text(page.kind.as_str()),
            Cell::url(&page.url),
            Cell::text(page.evidence.as_str()),
        ]
    });
    let columns = [("kind", "kind"), ("url", "page"), ("evidence", "how it was told")];
    let mut pages =
        Table::new("junk-pages", "The first of them", &columns, rows.collect()).of(log.junk_total);
    pages.shown = 10;
    Section {
        id: "junk",
        title: "Errors in disguise",
        text: match log.junk_total {
            0 => "No page was an error in disguise, a login wall or an empty result.".to_owned(),
            n => format!(
                "{} pages answered as if they were there but are an error page, a wall or an empty \
                 result; their links were not followed.",
                plot::grouped(n)
            ),
        },
        plots: Vec::new(),
        tables: vec![kinds, pages],
    }
}
