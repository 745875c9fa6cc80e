//! The lower part of the screen: one pane at a time, and what stands beside on wide screens.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState};

use super::super::ctl::state_word;
use super::super::output::{bytes, duration, number};
use super::app::{App, Pane};
use super::draw::fit;
use crate::crawl::Snapshot;
use crate::crawl::census::Census;
use crate::crawl::view::{DustView, HostLine, HostState};
use crate::dust::RuleState;

/// Names of the states of a rule, in their order.
const RULE_STATES: [&str; 5] = ["candidates", "on trial", "on", "suspended", "retired"];

/// From this width on a table has all its columns.
const FULL: u16 = 78;

/// Draws the pane.
pub(super) fn draw(frame: &mut Frame<'_>, app: &App, snapshot: &Snapshot, area: Rect) {
    let parts = [Constraint::Length(1), Constraint::Min(0)];
    let [head, body] = Layout::vertical(parts).areas(area);
    match app.pane {
        Pane::Hosts => hosts(frame, app, snapshot, head, body),
        Pane::Queue => queue(frame, app, snapshot, head, body),
        Pane::Dust => dust(frame, app, snapshot, head, body),
        Pane::Errors => errors(frame, app, snapshot, head, body),
        Pane::Flights => flights(frame, app, snapshot, head, body),
    }
}

fn census(app: &App) -> Option<&Census> {
    app.status.as_ref()?.census.as_ref()
}

/// Returns figures with their words, as many as fit.
fn figures(app: &App, figures: &[(u64, &str, Style)], width: u16) -> Line<'static> {
    let part = |(n, word, style): &(u64, &str, Style)| {
        let style = if *n > 0 { *style } else { Style::new() };
        vec![Span::styled(number(*n), style), Span::styled(format!(" {word}"), app.theme.faint())]
    };
    fit(figures.iter().map(part).collect(), "  ", width)
}

fn table(
    frame: &mut Frame<'_>,
    app: &App,
    head: Vec<Cell<'static>>,
    rows: Vec<Row<'_>>,
    widths: Vec<Constraint>,
    area: Rect,
) {
    if rows.is_empty() {
        frame.render_widget(Line::styled("none", app.theme.faint()), area);
        return;
    }
    let chosen = app.selected.min(rows.len() - 1);
    let table = Table::new(rows, widths)
        .header(Row::new(head).style(app.theme.faint()))
        .column_spacing(1)
        .row_highlight_style(app.theme.chosen());
    let mut state = TableState::new().with_selected(chosen);
    frame.render_stateful_widget(table, area, &mut state);
}

fn right(text: impl Into<String>) -> Cell<'static> {
    Cell::from(Text::from(text.into()).alignment(Alignment::Right))
}

/// Returns a time in at most six columns.
fn short(ms: u64) -> String {
    match ms {
        0 => "-".to_owned(),
        1..1000 => format!("{ms}ms"),
        ms => duration(Duration::from_millis(ms)),
    }
}

/// Returns a number in at most seven columns.
fn brief(n: u64) -> String {
    match n {
        0..1_000_000 => number(n),
        n => format!("{:.1}M", n as f64 / 1e6),
    }
}

fn hosts(frame: &mut Frame<'_>, app: &App, snapshot: &Snapshot, head: Rect, body: Rect) {
    let theme = app.theme;
    let active = &snapshot.view.hosts;
    let resting = snapshot.hosts_active.saturating_sub(snapshot.hosts_ready) as u64;
    let off = active.iter().filter(|host| host.state == HostState::BackingOff).count() as u64;
    let counted = census(app).cloned().unwrap_or_default();
    let line: u64 = snapshot.hosts_waiting.iter().sum();
    let heads = [
        (snapshot.hosts_ready as u64, "ready", theme.good()),
        (resting, "waiting", theme.strong()),
        (off.max(counted.backing_off), "backing off", theme.warn()),
        (counted.parked, "parked", theme.bad()),
        (counted.given_up, "given up", theme.bad()),
        (line, "in line", theme.strong()),
        (counted.sleeping, "asleep", theme.strong()),
        (counted.hosts, "in all", Style::new()),
    ];
    let ordered = format!("by {}", app.sort.word());
    let room = head.width.saturating_sub(ordered.len() as u16 + 1);
    frame.render_widget(figures(app, &heads, room), head);
    let note = Line::styled(ordered, theme.faint()).alignment(Alignment::Right);
    frame.render_widget(note, head);
    let full = body.width >= FULL;
    let hosts = app.hosts();
    let rows = hosts.iter().map(|host| host_row(app, host, full)).collect();
    let names = ["host", "state", "backlog", "done", "gap", "latency", "429s", "next"];
    let widths = [0, 11, 7, 6, 6, 7, 4, 6];
    let shown = |at: &usize| full || ![3, 5].contains(at);
    let columns: Vec<usize> = (0..names.len()).filter(shown).collect();
    let heads = columns.iter().map(|at| match at {
        0 | 1 => Cell::from(names[*at]),
        at => right(names[*at]),
    });
    let widths = columns.iter().map(|at| match at {
        0 => Constraint::Min(12),
        at => Constraint::Length(widths[*at]),
    });
    table(frame, app, heads.collect(), rows, widths.collect(), body);
}

fn host_row<'h>(app: &App, host: &'h HostLine, full: bool) -> Row<'h> {
    let busy = if host.busy > 0 { app.theme.warn() } else { Style::new() };
    let held = host.state >= HostState::Parked;
    let name = match held && !host.reason.is_empty() {
        true => Cell::from(Line::from(vec![
            Span::raw(host.name.as_str()),
            Span::styled(format!("  {}", host.reason), app.theme.faint()),
        ])),
        false => Cell::from(host.name.as_str()),
    };
    let next = match host.state {
        HostState::Fetching | HostState::Ready => "now".to_owned(),
        HostState::Idle | HostState::Parked | HostState::GivenUp => "-".to_owned(),
        HostState::Waiting | HostState::BackingOff if host.next_ms == 0 => "now".to_owned(),
        HostState::Waiting | HostState::BackingOff => short(host.next_ms),
    };
    let mut cells = vec![
        name,
        Cell::from(state_word(host.state)).style(app.theme.host(host.state)),
        right(brief(host.backlog)),
    ];
    if full {
        cells.push(right(brief(host.done)));
    }
    cells.push(right(short(host.gap_ms)));
    if full {
        cells.push(right(short(host.latency_ms)));
    }
    cells.push(right(host.busy.to_string()).style(busy));
    cells.push(right(next));
    Row::new(cells)
}

fn queue(frame: &mut Frame<'_>, app: &App, snapshot: &Snapshot, head: Rect, body: Rect) {
    let counted = census(app);
    let whole = counted.is_none_or(|census| census.queue_is_whole);
    let title = match (counted, whole) {
        (None, _) => "counting…".to_owned(),
        (Some(census), true) => {
            let age = duration(snapshot.at.since(census.at));
            format!("URLs that wait, by priority (0 is best); counted {age} ago")
        }
        (Some(_), false) => "URLs that wait, by priority: the first five million".to_owned(),
    };
    frame.render_widget(Line::styled(title, app.theme.faint()), head);
    frame.render_widget(Paragraph::new(bars(app, snapshot, body.width)), body);
}

/// Returns the queue by priority as bars.
fn bars(app: &App, snapshot: &Snapshot, width: u16) -> Vec<Line<'static>> {
    let urls = census(app).map(|census| census.queue).unwrap_or_default();
    let most = urls.iter().copied().max().unwrap_or(0).max(1);
    let room = usize::from(width).saturating_sub(24);
    let line = |(priority, urls, hosts): (usize, u64, u64)| {
        let long = (urls as u128 * room as u128 / u128::from(most)) as usize;
        let long = if urls > 0 { long.max(1) } else { 0 };
        let hosts = if hosts > 0 { format!("  {} hosts", number(hosts)) } else { String::new() };
        Line::from(vec![
            Span::styled(format!("{priority} "), app.theme.title()),
            Span::raw(format!("{:>9} ", brief(urls))),
            Span::styled("█".repeat(long), app.theme.bar()),
            Span::styled(hosts, app.theme.faint()),
        ])
    };
    let rows = urls.into_iter().zip(snapshot.hosts_waiting).enumerate();
    rows.map(|(priority, (urls, hosts))| line((priority, urls, hosts))).collect()
}

/// Says what learning does in this crawl.
fn dust_mode(dust: &DustView) -> &'static str {
    match (dust.learns, dust.enforces) {
        (false, _) => "nothing is learned (dust.mode)",
        (true, false) => "rules are learned, and not applied",
        (true, true) => "rules are learned and applied",
    }
}

fn dust_figures(app: &App, snapshot: &Snapshot) -> [(u64, &'static str, Style); 7] {
    let dust = &snapshot.view.dust;
    let theme = app.theme;
    let of = |at: usize, style: Style| (dust.by_state[at], RULE_STATES[at], style);
    [
        of(2, theme.good()),
        of(0, theme.strong()),
        of(1, theme.strong()),
        of(3, theme.warn()),
        of(4, theme.strong()),
        (snapshot.counters.suppressed, "URLs saved", theme.good()),
        (dust.audits, "audits", theme.strong()),
    ]
}

fn dust(frame: &mut Frame<'_>, app: &App, snapshot: &Snapshot, head: Rect, body: Rect) {
    let dust = &snapshot.view.dust;
    let parts = [Constraint::Length(1), Constraint::Min(0)];
    let [mode, body] = Layout::vertical(parts).areas(body);
    frame.render_widget(figures(app, &dust_figures(app, snapshot), head.width), head);
    let probes = format!(
        "{}; {} probe fetches spent",
        dust_mode(dust),
        number(snapshot.counters.probe_requests)
    );
    frame.render_widget(Line::styled(probes, app.theme.faint()), mode);
    let rows = dust.rules.iter().map(|rule| {
        let (word, style) = match rule.state {
            RuleState::Candidate => ("candidate", Style::new()),
            RuleState::Shadow => ("on trial", Style::new()),
            RuleState::Enforced => ("on", app.theme.good()),
            RuleState::Suspended => ("suspended", app.theme.warn()),
            RuleState::Retired => ("retired", app.theme.faint()),
        };
        Row::new(vec![
            Cell::from(rule.id.get(..8).unwrap_or(&rule.id)),
            Cell::from(word).style(style),
            right(brief(rule.saved)),
            right(rule.alike.to_string()),
            right(rule.unlike.to_string()),
            Cell::from(format!("{}: {}", rule.site, rule.text)),
        ])
    });
    let heads: [Cell<'static>; 6] = [
        "id".into(),
        "state".into(),
        right("saved"),
        right("alike"),
        right("unlike"),
        "rule".into(),
    ];
    let widths = vec![
        Constraint::Length(8),
        Constraint::Length(9),
        Constraint::Length(7),
        Constraint::Length(5),
        Constraint::Length(6),
        Constraint::Min(12),
    ];
    table(frame, app, heads.into(), rows.collect(), widths, body);
}

fn errors(frame: &mut Frame<'_>, app: &App, snapshot: &Snapshot, head: Rect, body: Rect) {
    let theme = app.theme;
    let counters = &snapshot.counters;
    let class = counters.by_class;
    let heads = [
        (class[2], "2xx", theme.good()),
        (class[3], "3xx", theme.strong()),
        (class[4], "4xx", theme.warn()),
        (class[5], "5xx", theme.bad()),
        (counters.failed, "failed", theme.bad()),
        (counters.retries, "retried", theme.warn()),
        (counters.junk, "error pages in disguise", theme.strong()),
    ];
    frame.render_widget(figures(app, &heads, head.width), head);
    let parts = [Constraint::Length(1), Constraint::Min(0)];
    let [reasons, body] = Layout::vertical(parts).areas(body);
    let quiet = |reason: &str| reason.starts_with("status-2") || reason == "known";
    let frequent = snapshot.view.reasons.iter().filter(|(reason, _)| !quiet(reason));
    let frequent: Vec<(u64, &str, Style)> =
        frequent.map(|(reason, count)| (*count, reason.as_str(), Style::new())).collect();
    frame.render_widget(figures(app, &frequent, reasons.width), reasons);
    let rows = snapshot.view.faults.iter().map(|fault| {
        let ago = short(snapshot.at.since(fault.at).as_millis() as u64);
        let url = Cell::from(fault.url.as_str());
        Row::new(vec![right(ago), Cell::from(fault.what.as_str()).style(theme.warn()), url])
    });
    let heads = vec![right("ago"), "what".into(), "URL".into()];
    let widths = vec![Constraint::Length(6), Constraint::Length(22), Constraint::Min(12)];
    table(frame, app, heads, rows.collect(), widths, body);
}

fn flights(frame: &mut Frame<'_>, app: &App, snapshot: &Snapshot, head: Rect, body: Rect) {
    let text =
        format!("{} requests are under way, oldest first", number(snapshot.in_flight as u64));
    frame.render_widget(Line::styled(text, app.theme.faint()), head);
    let rows = snapshot.view.flights.iter().map(|flight| {
        Row::new(vec![
            right(short(flight.age_ms)),
            Cell::from(flight.purpose.as_str()),
            Cell::from(flight.url.as_str()),
        ])
    });
    let heads = vec![right("since"), "for".into(), "URL".into()];
    let widths = vec![Constraint::Length(6), Constraint::Length(6), Constraint::Min(12)];
    table(frame, app, heads, rows.collect(), widths, body);
}

/// Draws queue, rules and disk beside the hosts of a wide screen.
pub(super) fn aside(frame: &mut Frame<'_>, app: &App, snapshot: &Snapshot, area: Rect) {
    let theme = app.theme;
    let heading = |text: &'static str| Line::styled(text, theme.title());
    let width = area.width.saturating_sub(2);
    let mut lines = vec![heading("Queue by priority")];
    lines.extend(bars(app, snapshot, width));
    lines.extend([Line::raw(""), heading("DUST")]);
    for figure in dust_figures(app, snapshot) {
        lines.push(figures(app, &[figure], width));
    }
    if let Some(census) = census(app) {
        lines.extend([Line::raw(""), heading("Disk")]);
        let archive = bytes(census.archive_bytes as f64);
        let files = number(census.archive_files);
        lines.push(Line::raw(format!("archive {archive} in {files} files")));
        lines.push(Line::raw(format!("state {}", bytes(census.state_bytes as f64))));
    }
    lines.extend([Line::raw(""), heading("Last failures")]);
    for fault in &snapshot.view.faults {
        lines.push(Line::styled(fault.what.clone(), theme.warn()));
        lines.push(Line::styled(format!(" {}", fault.url), theme.faint()));
    }
    let inner = Rect { x: area.x + 2, width, ..area };
    frame.render_widget(Paragraph::new(lines), inner);
}
