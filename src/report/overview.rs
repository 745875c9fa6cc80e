//! The parts about the crawl as a whole: funnel, growth, answers, depth, latency, settings.

use hdrhistogram::Histogram;

use super::builder::{Facts, percent, span_text};
use super::plot::{self, Bar};
use super::table::{Cell, Table};
use super::{ERRORS_MAX, INLINKS_FILE, Section, safe};
use crate::crawl::inlinks::NAMED_MAX;
use crate::db::families::meta::Counters;

/// Upper ends of the classes of latency, in milliseconds.
const LATENCY_CLASSES: [u64; 11] = [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 600_000];

/// Depths that the page shows at once.
const DEPTHS_SHOWN: usize = 10;

/// From what was found to what was kept.
pub(super) fn funnel(facts: &Facts<'_>) -> Section {
    let Counters { discovered, known, suppressed, refused, failed, .. } = facts.state.counters;
    let counters = &facts.state.counters;
    let waiting = counters.queued + counters.in_flight;
    let answered = &facts.state.answered;
    let steps: Vec<(&str, u64, bool, &str)> = vec![
        ("found", discovered, true, "seeds, and links after a page's own repeats"),
        ("known already", known.saturating_sub(suppressed), false, "the same URL in normal form"),
        ("saved by rules", suppressed, false, "a rule gives them the key of a known URL"),
        ("refused", refused, false, "by scope, robots.txt, limits and other gates"),
        ("failed", failed, false, "no usable answer after all attempts"),
        ("waiting", waiting, false, "not fetched yet"),
        ("fetched", counters.done, true, "answered, whatever the answer said"),
        ("redirects", answered.redirects, false, "followed as links"),
        ("errors", answered.errors, false, "4xx, 5xx and others"),
        ("errors in disguise", answered.junk, false, "soft 404, login walls, consent, no results"),
        ("known text", answered.duplicates, false, "the main text was there under another URL"),
        ("thin", answered.thin, false, "too little text to be evidence of anything"),
        ("no text", answered.no_text, false, "pictures, style sheets, empty bodies"),
        ("new text kept", answered.new, true, "what the crawl was for"),
    ];
    let bars: Vec<Bar> = steps
        .iter()
        .filter(|(_, value, is_rest, _)| *is_rest || *value > 0)
        .map(|(name, value, is_rest, _)| {
            let sign = if *is_rest { "" } else { "− " };
            Bar { label: format!("{sign}{name}"), value: *value, is_rest: *is_rest }
        })
        .collect();
    let rows = steps.iter().map(|(name, value, is_rest, meaning)| {
        let sign = if *is_rest { "=" } else { "−" };
        let of_all = *value as f64 / discovered.max(1) as f64;
        vec![
            Cell::text(sign),
            Cell::text(*name),
            Cell::Count(*value),
            Cell::Share(of_all),
            Cell::text(*meaning),
        ]
    });
    let columns = [
        ("step", ""),
        ("name", "step"),
        ("urls", "URLs"),
        ("share", "of all found"),
        ("meaning", "meaning"),
    ];
    let table = Table::new("funnel", "From found to kept", &columns, rows.collect());
    let imbalance = facts.state.counters.imbalance();
    let adds_up = if imbalance == 0 {
        "Every URL that was found is in exactly one of these; the counts add up."
    } else {
        "The counts do not add up; `crawler verify` says where."
    };
    Section {
        id: "funnel",
        title: "From found to kept",
        text: format!(
            "Of {} URLs that were found, {} were fetched and {} had new text ({} of what was \
             fetched). {adds_up}",
            plot::grouped(discovered),
            plot::grouped(facts.state.counters.done),
            plot::grouped(answered.new),
            percent(answered.new, answered.all)
        ),
        plots: vec![plot::bars("Bars from URLs found to pages with new text", &bars)],
        tables: vec![table],
    }
}

/// The crawl over time.
pub(super) fn time(facts: &Facts<'_>) -> Section {
    let series = &facts.log.series;
    let sums = series.sums();
    let rows = series.buckets().iter().zip(&sums).enumerate().map(|(at, (tally, sum))| {
        let from = series.origin() + at as u64 * series.width();
        vec![
            Cell::time(crate::clock::Timestamp::from_millis(from)),
            Cell::Count(tally.requests),
            Cell::Count(tally.pages),
            Cell::Count(tally.new),
            Cell::Count(tally.duplicates),
            Cell::Bytes(tally.bytes),
            Cell::Count(sum.new),
        ]
    });
    let columns = [
        ("from", "from"),
        ("requests", "requests"),
        ("pages", "pages"),
        ("new_text", "new text"),
        ("known_text", "known text"),
        ("bytes", "bytes"),
        ("new_text_so_far", "new text so far"),
    ];
    let mut table = Table::new("time", "Over time", &columns, rows.collect());
    table.shown = 0;
    let width = span_text(series.width());
    Section {
        id: "time",
        title: "Over time",
        text: format!(
            "Pages fetched (grey), with new text (blue) and with known text (orange), added up. \
             One row of the table is {width}."
        ),
        plots: vec![plot::growth("Pages fetched, new and known, over time", series)],
        tables: vec![table],
    }
}

/// Broken links, and who has them.
pub(super) fn errors(facts: &Facts<'_>) -> Section {
    let state = &facts.state;
    let rows = state.broken.iter().map(|broken| {
        let mut row = vec![
            Cell::Url(broken.url.clone()),
            broken.fault.status.map_or(Cell::None, |status| Cell::Count(status.into())),
            Cell::text(broken.fault.reason.as_str()),
            broken.via.clone().map_or(Cell::None, Cell::Url),
        ];
        if facts.inlinks.is_some() {
            row.extend([Cell::Count(broken.pages), Cell::Urls(broken.linked_from.clone())]);
        }
        row
    });
    let mut columns =
        vec![("url", "URL"), ("status", "status"), ("reason", "no answer"), ("via", "found on")];
    let more = match facts.inlinks {
        Some(found) => {
            columns.extend([("pages", "pages"), ("linked_from", "linked from")]);
            format!(
                " Beside it stands how many of {} pages with links lead there, also over \
                 redirects, and the first {NAMED_MAX} of them; with `--csv`, {INLINKS_FILE} has \
                 every link.",
                plot::grouped(found.read)
            )
        }
        None if facts.input.inlinks.is_some() => String::new(),
        None => " `crawler report --inlinks` finds all pages that lead there.".to_owned(),
    };
    let table = Table::within(ERRORS_MAX, "errors", "Broken links", &columns, rows.collect());
    Section {
        id: "errors",
        title: "Broken links",
        text: format!(
            "{} URLs were answered with an error, or not at all. Each is shown with the page on \
             which it was found first; a seed has none.{more}",
            plot::grouped(state.broken_total)
        ),
        plots: Vec::new(),
        tables: vec![table.of(state.broken_total)],
    }
}

/// What the servers answered.
pub(super) fn answers(facts: &Facts<'_>) -> Section {
    let log = &facts.log;
    let pages: u64 = log.statuses.values().map(|(count, _)| count).sum();
    let mut statuses: Vec<_> = log.statuses.iter().collect();
    statuses.sort_by_key(|(status, (count, _))| (std::cmp::Reverse(*count), **status));
    let share = |count: u64, all: u64| Cell::Share(count as f64 / all.max(1) as f64);
    let status_rows = statuses.iter().map(|(status, (count, bytes))| {
        let name = match **status {
            0 => Cell::text("no answer"),
            status => Cell::text(status.to_string()),
        };
        vec![name, Cell::Count(*count), share(*count, pages), Cell::Bytes(*bytes)]
    });
    let columns =
        [("status", "status"), ("answers", "answers"), ("share", "share"), ("bytes", "bytes")];
    let status_table = Table::new("status", "By status", &columns, status_rows.collect());
    let types = log.types.sorted();
    let all: u64 = types.iter().map(|(_, count, _)| count).sum::<u64>() + log.types.others;
    let type_rows = types.iter().map(|(mime, count, bytes)| {
        let mime = Cell::Text(safe::cut(mime, 100));
        vec![mime, Cell::Count(*count), share(*count, all), Cell::Bytes(*bytes)]
    });
    let columns =
        [("type", "type"), ("answers", "answers"), ("share", "share"), ("bytes", "bytes")];
    let type_table = Table::new("type", "By type", &columns, type_rows.collect())
        .note("Redirects are left out: their type says nothing.");
    let words = |words: &super::log::Words| -> Vec<Vec<Cell>> {
        words.sorted().iter().map(|(w, n, _)| vec![Cell::text(*w), Cell::Count(*n)]).collect()
    };
    let columns = [("failure", "failure"), ("requests", "requests")];
    let failures =
        Table::new("failures", "Requests without an answer", &columns, words(&log.failures));
    let columns = [("purpose", "purpose"), ("requests", "requests")];
    let purposes = Table::new("purposes", "Requests by purpose", &columns, words(&log.purposes));
    let columns = [("content", "content"), ("pages", "pages")];
    let contents = Table::new("contents", "How content was judged", &columns, words(&log.contents))
        .note("Every fetch counts, so a page that was fetched twice counts twice.");
    let text = match log.truncated {
        0 => "What servers answered, attempt by attempt.".to_owned(),
        cut => format!(
            "What servers answered, attempt by attempt. {} bodies were cut short by a limit.",
            plot::grouped(cut)
        ),
    };
    let tables = vec![status_table, type_table, contents, failures, purposes];
    Section { id: "answers", title: "Answers", text, plots: Vec::new(), tables }
}

/// How deep and how fast.
pub(super) fn depth(facts: &Facts<'_>) -> Section {
    let depths = &facts.state.depths;
    let rows = depths.iter().map(|(depth, at)| {
        vec![
            Cell::Count((*depth).into()),
            Cell::Count(at.done),
            Cell::Count(at.queued),
            Cell::Count(at.refused),
            Cell::Count(at.suppressed),
            Cell::Count(at.failed),
        ]
    });
    let columns = [
        ("hops", "hops"),
        ("fetched", "fetched"),
        ("waiting", "waiting"),
        ("refused", "refused"),
        ("saved", "saved by rules"),
        ("failed", "failed"),
    ];
    let mut depth_table = Table::new("depth", "By hops from the seeds", &columns, rows.collect());
    depth_table.shown = DEPTHS_SHOWN;
    let deepest = depths.keys().next_back().map_or(0, |deepest| deepest + 1);
    let at = |depth: u16| depths.get(&depth).map_or(0, |at| at.done);
    let fetched: Vec<u64> = (0..deepest).map(at).collect();
    let deep = deep(&fetched);
    let (first, took) = (&facts.log.first_byte, &facts.log.took);
    let classes = classes(first);
    let whole = self::classes(took);
    let class_rows = classes.iter().zip(&whole).map(|((name, first), (_, took))| {
        vec![Cell::text(name.as_str()), Cell::Count(*first), Cell::Count(*took)]
    });
    let columns = [("class", "time"), ("first_byte", "first byte"), ("whole", "whole request")];
    let class_table = Table::new("latency", "Latency", &columns, class_rows.collect());
    let quantiles = [0.5, 0.9, 0.99, 1.0].map(|q| {
        let name = if q < 1.0 { format!("{:.0} %", q * 100.0) } else { "slowest".to_owned() };
        let at = |h: &Histogram<u32>| match h.len() {
            0 => Cell::None,
            _ => Cell::Millis(h.value_at_quantile(q) as i64),
        };
        vec![Cell::Text(name), at(first), at(took)]
    });
    let columns = [
        ("quantile", "at most, for"),
        ("first_byte_ms", "first byte"),
        ("whole_ms", "whole request"),
    ];
    let quantile_table =
        Table::new("quantiles", "Latency, shares of all", &columns, quantiles.to_vec())
            .note("Times have two significant digits.");
    Section {
        id: "depth",
        title: "Depth and latency",
        text: "Pages fetched by hops from a seed (first), and answers by the time to their first \
               byte (second)."
            .to_owned(),
        plots: vec![
            plot::columns("Pages fetched by hops from the seeds", &deep),
            plot::columns("Answers by time to the first byte", &classes),
        ],
        tables: vec![depth_table, quantile_table, class_table],
    }
}

/// Names the depths at which nearly all pages are, and adds up the few deeper ones.
fn deep(fetched: &[u64]) -> Vec<(String, u64)> {
    let all: u64 = fetched.iter().sum();
    let mut sum = 0;
    let nearly_all = |count: &u64| {
        sum += count;
        sum * 200 >= all * 199
    };
    let last = fetched.iter().position(nearly_all).map_or(0, |at| at + 1);
    let last = if last + 1 >= fetched.len() { fetched.len() } else { last };
    let mut named: Vec<(String, u64)> =
        fetched[..last].iter().enumerate().map(|(at, n)| (at.to_string(), *n)).collect();
    if last < fetched.len() {
        named.push((format!("{last}+"), fetched[last..].iter().sum()));
    }
    named
}

fn classes(histogram: &Histogram<u32>) -> Vec<(String, u64)> {
    let mut from = 0;
    let named = LATENCY_CLASSES.iter().map(|to| {
        let count = histogram.count_between(from + 1, *to);
        from = *to;
        let name = match to {
            600_000 => "> 10 s".to_owned(),
            to if *to >= 1000 => format!("≤ {} s", *to as f64 / 1000.0),
            to => format!("≤ {to} ms"),
        };
        (name, count)
    });
    named.collect()
}

/// What the crawl was told, and what it was made with.
pub(super) fn settings(facts: &Facts<'_>) -> Section {
    let row = |setting: &super::Setting| {
        vec![
            Cell::text(setting.key.as_str()),
            Cell::Text(safe::setting(&setting.key, &setting.value)),
            Cell::text(setting.default.as_str()),
        ]
    };
    let columns = [("key", "key"), ("value", "value"), ("default", "default")];
    let all = &facts.input.settings;
    let changed = all.iter().filter(|setting| setting.is_changed()).map(row).collect();
    let changed =
        Table::new("settings-changed", "Settings that are not the default", &columns, changed);
    let mut every = Table::new("settings", "All settings", &columns, all.iter().map(row).collect());
    every.shown = 0;
    let versions = facts.input.versions.iter();
    let rows =
        versions.map(|(name, value)| vec![Cell::text(name.as_str()), Cell::text(value.as_str())]);
    let columns = [("name", "name"), ("value", "value")];
    let versions = Table::new("versions", "Versions", &columns, rows.collect());
    Section {
        id: "settings",
        title: "Configuration and versions",
        text: "With these, the crawl can be made again. Credentials are left out.".to_owned(),
        plots: Vec::new(),
        tables: vec![changed, every, versions],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(fetched: &[u64], want: &[(&str, u64)]) {
        let named = deep(fetched);
        let named: Vec<(&str, u64)> = named.iter().map(|(name, n)| (&name[..], *n)).collect();
        assert_eq!(named, want, "{fetched:?}");
    }

    #[test]
    fn a_long_tail_of_depths_is_added_up() {
        check(&[], &[]);
        check(&[1], &[("0", 1)]);
        check(&[1, 1000, 1000, 1, 1, 1], &[("0", 1), ("1", 1000), ("2", 1000), ("3+", 3)]);
        check(&[5, 5, 5], &[("0", 5), ("1", 5), ("2", 5)]);
    }
}
