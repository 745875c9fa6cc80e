//! The report as one page: no script, nothing loaded, everything escaped by `maud`.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::builder::{bytes, percent, span_text};
use super::plot::grouped;
use super::table::{Cell, Table};
use super::{Figure, Plot, Report, Section};

const STYLE: &str = include_str!("style.css");

/// Even a mistake in what follows could load and run nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
                      base-uri 'none'; form-action 'none'";

/// Returns the page.
pub(super) fn page(report: &Report) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                meta name="robots" content="noindex";
                title { "Crawl report: " (report.name) ", " (day(&report.from)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a class="skip" href="#main" { "Skip to the report" }
                (header(report))
                main id="main" {
                    @for warning in &report.warnings {
                        p class="warning" { strong { "Note: " } (warning) }
                    }
                    @for part in &report.sections { (section(part)) }
                }
                footer {
                    "Made " (report.made.to_rfc3339()) " by crawler " (env!("CARGO_PKG_VERSION"))
                    " from the crawl's log and state. Nothing in this page is loaded from elsewhere."
                }
            }
        }
    }
}

fn day(time: &str) -> &str {
    time.split('T').next().unwrap_or_default()
}

fn header(report: &Report) -> Markup {
    html! {
        header {
            h1 { "Crawl report" }
            p class="lead" {
                strong { (report.name) } " · " (report.contact) br;
                @if report.from.is_empty() {
                    "No request was made yet."
                } @else {
                    (minute(&report.from)) " to " (minute(&report.to)) " UTC"
                }
                " · " (report.state)
            }
            ul class="figures" {
                @for one in &report.figures { (figure(one)) }
            }
            nav aria-label="Parts of the report" {
                @for part in &report.sections {
                    a href={ "#" (part.id) } { (part.title) }
                }
            }
        }
    }
}

/// Returns a time to the minute, as people write it.
fn minute(time: &str) -> String {
    time.chars().take(16).map(|c| if c == 'T' { ' ' } else { c }).collect()
}

fn figure(figure: &Figure) -> Markup {
    html! {
        li class=[figure.alarm.then_some("alarm")] {
            span class="name" { (figure.name) }
            span class="value" { (figure.value) }
            span class="note" { (figure.note) }
        }
    }
}

fn section(section: &Section) -> Markup {
    html! {
        section id=(section.id) aria-labelledby={ (section.id) "-title" } {
            h2 id={ (section.id) "-title" } { (section.title) }
            p { (section.text) }
            @for one in &section.plots { (plot(one)) }
            div class="tables" { @for one in &section.tables { (table(one)) } }
        }
    }
}

/// The drawings are ours alone; the words in them are escaped by what drew them.
fn plot(plot: &Plot) -> Markup {
    html! {
        figure role="img" aria-label={ (plot.label) "; the figures are in the tables below" } {
            div class="wide" { (PreEscaped(&plot.wide)) }
            div class="narrow" { (PreEscaped(&plot.narrow)) }
        }
    }
}

fn table(table: &Table) -> Markup {
    let shown = table.shown.min(table.rows.len());
    let (head, tail) = table.rows.split_at(shown);
    html! {
        div class=(if is_small(table) { "table small" } else { "table" }) id={ "table-" (table.id) } {
            h3 {
                (table.title) " "
                small {
                    @if table.rows.is_empty() { "none" } @else {
                        (count(table))
                        span class="file" {
                            " · "
                            a href=(data_link(table)) download={ (table.id) ".csv" } {
                                "CSV" span class="hidden" { " of " (table.title) }
                            }
                        }
                    }
                }
            }
            @if !table.note.is_empty() { p class="note" { (table.note) } }
            @if !head.is_empty() { (rows(table, head)) }
            @if !tail.is_empty() {
                details {
                    summary {
                        @if head.is_empty() { "Show " } @else { "Show " (grouped(tail.len() as u64)) " more " }
                        "rows"
                    }
                    (rows(table, tail))
                }
            }
        }
    }
}

/// Small tables stand side by side where there is room.
fn is_small(table: &Table) -> bool {
    let is_wide = |cell: &Cell| match cell {
        Cell::Url(_) | Cell::Urls(_) => true,
        Cell::Text(text) => text.len() > 40,
        _ => false,
    };
    table.columns.len() <= 4 && !table.rows.iter().flatten().any(is_wide)
}

fn count(table: &Table) -> String {
    let kept = table.rows.len() as u64;
    match table.total {
        1 => "1 row".to_owned(),
        total if total > kept => format!("the first {} of {}", grouped(kept), grouped(total)),
        total => format!("{} rows", grouped(total)),
    }
}

fn rows(table: &Table, rows: &[Vec<Cell>]) -> Markup {
    html! {
        // A table that is wider than the screen scrolls in its own frame, by keyboard too.
        div class="scroll" tabindex="0" role="region" aria-label=(table.title) {
            table {
                thead { tr {
                    @for (at, column) in table.columns.iter().enumerate() {
                        th scope="col" class=[is_number(table, at).then_some("number")] {
                            (column.title)
                        }
                    }
                } }
                tbody { @for row in rows { tr { @for one in row { (cell(one)) } } } }
            }
        }
    }
}

fn is_number(table: &Table, column: usize) -> bool {
    let first = table.rows.iter().filter_map(|row| row.get(column));
    let known = first.clone().find(|cell| **cell != Cell::None);
    known.is_some_and(|cell| !matches!(cell, Cell::Text(_) | Cell::Url(_) | Cell::Urls(_)))
}

fn cell(cell: &Cell) -> Markup {
    let number = |text: String| html! { td class="number" { (text) } };
    match cell {
        Cell::None => html! { td class="number" { "–" } },
        Cell::Text(text) => html! { td class=[class_of(text)] { (text) } },
        Cell::Url(url) => html! { td class="long" { (link(url)) } },
        Cell::Urls(urls) => html! {
            td class="long urls" { @for url in urls { span { (link(url)) } } }
        },
        Cell::Count(n) => number(grouped(*n)),
        Cell::Bytes(n) => number(bytes(*n)),
        Cell::Share(share) => {
            let parts = (share.clamp(0.0, 1.0) * 10_000.0).round() as u64;
            let text = percent(parts, 10_000);
            let width = format!("--share:{:.2}%", share.clamp(0.0, 1.0) * 100.0);
            html! { td class="number share" style=(width) { (text) } }
        }
        Cell::Millis(ms) => match u64::try_from(*ms) {
            Ok(ms) if ms < 10_000 => number(format!("{} ms", grouped(ms))),
            Ok(ms) => number(span_text(ms)),
            Err(_) => html! { td class="number bad" { (ms) " ms" } },
        },
    }
}

/// Only what a browser fetches like any page becomes a link.
fn link(url: &str) -> Markup {
    if url.starts_with("http://") || url.starts_with("https://") {
        html! { a href=(url) rel="noreferrer noopener nofollow" { (url) } }
    } else {
        html! { (url) }
    }
}

fn class_of(text: &str) -> Option<&'static str> {
    match text {
        "enforced" | "kept" => Some("good"),
        text if text.starts_with("BROKEN") || text == "retired" => Some("bad"),
        text if text.len() == 20 && text.ends_with('Z') && text.contains('T') => Some("time"),
        text if text.len() > 40 => Some("long"),
        text if text.len() > 16 => Some("phrase"),
        _ => None,
    }
}

/// Returns the CSV of a table as a link that needs no script and no second file.
fn data_link(table: &Table) -> String {
    let base64 = data_encoding::BASE64.encode(table.csv().as_bytes());
    format!("data:text/csv;charset=utf-8;base64,{base64}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    const HOSTILE: &str = "http://a.test/\"><script>alert(1)</script>?x='onmouseover=y";

    fn report(cells: Vec<Cell>) -> Report {
        let columns = [("a", "a"), ("b", "b"), ("c", "c"), ("d", "d")];
        let table = Table::new("t", "T", &columns[..cells.len()], vec![cells]);
        Report {
            made: Timestamp::ZERO,
            name: HOSTILE.to_owned(),
            contact: HOSTILE.to_owned(),
            state: HOSTILE.to_owned(),
            from: String::new(),
            to: String::new(),
            figures: vec![Figure {
                name: HOSTILE.to_owned(),
                value: HOSTILE.to_owned(),
                note: HOSTILE.to_owned(),
                alarm: true,
            }],
            sections: vec![Section {
                id: "s",
                title: "S",
                text: HOSTILE.to_owned(),
                plots: Vec::new(),
                tables: vec![table],
            }],
            warnings: vec![HOSTILE.to_owned()],
        }
    }

    #[test]
    fn nothing_of_the_web_stands_in_the_page_unescaped() {
        let script = Cell::Url("javascript:alert(1)".to_owned());
        let page = report(vec![Cell::text(HOSTILE), Cell::url(HOSTILE), script, Cell::None]).html();
        assert!(!page.contains("<script"), "{page}");
        assert!(!page.contains("?x='onmouseover=y\"><"), "{page}");
        assert!(!page.contains("href=\"javascript:"), "{page}");
        assert!(page.contains("&lt;script&gt;"));
    }

    #[test]
    fn the_page_loads_nothing_and_needs_no_script() {
        let page = report(vec![Cell::Share(0.5), Cell::Count(12_034)]).html();
        for banned in [" src=", "<script", "<link", "@import", "url(http"] {
            assert!(!page.contains(banned), "{banned}");
        }
        assert!(page.contains("default-src 'none'"));
        assert!(page.contains("12,034"));
        let csv = data_encoding::BASE64.encode(b"a,b\r\n0.5000,12034\r\n");
        assert!(page.contains(&csv), "{page}");
    }
}
