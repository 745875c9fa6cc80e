//! From what is known to a frame.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Paragraph, Sparkline, Wrap};

use super::super::output::{bytes, duration, number};
use super::super::progress;
use super::app::{App, Ask, Mode, Pane};
use super::panes;
use crate::crawl::Snapshot;

/// Below this nothing can be shown.
const LEAST: (u16, u16) = (30, 8);

/// From this width on, queue and rules stand beside the pane.
const WIDE: u16 = 116;

/// Columns of what stands beside.
const ASIDE: u16 = 38;

/// Draws the screen.
pub(super) fn draw(frame: &mut Frame<'_>, app: &App) {
    let area = frame.area();
    if area.width < LEAST.0 || area.height < LEAST.1 {
        let text = format!("at least {} x {}", LEAST.0, LEAST.1);
        frame.render_widget(Paragraph::new(text), area);
        return;
    }
    // The curve is a luxury of high screens.
    let curve = u16::from(area.height >= 16) * 2;
    let parts = [
        Constraint::Length(1),
        Constraint::Length(3),
        Constraint::Length(curve),
        Constraint::Length(1),
        Constraint::Min(1),
        Constraint::Length(1),
        Constraint::Length(1),
    ];
    let [top, figures, rates, tabs, body, said, keys] = Layout::vertical(parts).areas(area);
    headline(frame, app, top);
    if let Some(snapshot) = app.snapshot() {
        summary(frame, app, snapshot, figures);
        sparkline(frame, app, rates);
        tab_line(frame, app, tabs);
        let aside = if area.width >= WIDE && app.pane == Pane::Hosts { ASIDE } else { 0 };
        let sides = Layout::horizontal([Constraint::Min(1), Constraint::Length(aside)]);
        let [left, right] = sides.areas(body);
        panes::draw(frame, app, snapshot, left);
        if aside > 0 {
            panes::aside(frame, app, snapshot, right);
        }
    } else {
        let text = app.lost.as_deref().unwrap_or("waiting for the first view…");
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), body);
    }
    message(frame, app, said);
    key_line(frame, app, keys);
    overlay(frame, app, area);
}

/// Joins as many parts as fit a width, first ones first.
pub(super) fn fit<'t>(parts: Vec<Vec<Span<'t>>>, gap: &'static str, width: u16) -> Line<'t> {
    let (mut spans, mut used) = (Vec::new(), 0);
    for part in parts {
        let needs = part.iter().map(Span::width).sum::<usize>();
        let before = if spans.is_empty() { 0 } else { gap.len() };
        if used + before + needs > usize::from(width) {
            continue;
        }
        if before > 0 {
            spans.push(Span::raw(gap));
        }
        spans.extend(part);
        used += before + needs;
    }
    Line::from(spans)
}

fn headline(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let theme = app.theme;
    let mut parts = vec![vec![Span::styled("crawler", theme.title())]];
    let (word, style) = state_of(app);
    parts.push(vec![Span::styled(word, style)]);
    if let Some(snapshot) = app.snapshot() {
        let ran = duration(snapshot.at.since(snapshot.began));
        parts.push(vec![Span::raw(ran)]);
    }
    if let Some(status) = &app.status {
        parts.push(vec![Span::styled(status.dir.clone(), theme.faint())]);
        parts.push(vec![Span::styled(format!("process {}", status.pid), theme.faint())]);
    }
    frame.render_widget(fit(parts, "  ", area.width), area);
}

fn state_of(app: &App) -> (String, Style) {
    let theme = app.theme;
    if let Some(ended) = app.ended() {
        let style = if ended == "complete" { theme.good() } else { theme.warn() };
        return (format!("ended: {ended}"), style);
    }
    if app.lost.is_some() {
        return ("no news".to_owned(), theme.bad());
    }
    if app.is_paused() {
        return ("paused".to_owned(), theme.warn());
    }
    ("running".to_owned(), theme.good())
}

fn summary(frame: &mut Frame<'_>, app: &App, snapshot: &Snapshot, area: Rect) {
    let theme = app.theme;
    let counters = &snapshot.counters;
    let figure = |n: u64, word: &'static str, style: Style| {
        vec![Span::styled(number(n), style), Span::styled(format!(" {word}"), theme.faint())]
    };
    let alarm = |n: u64, style: Style| if n > 0 { style } else { theme.strong() };
    let first = vec![
        figure(counters.done, "done", theme.strong()),
        figure(counters.queued, "queued", theme.strong()),
        figure(snapshot.in_flight as u64, "in flight", theme.strong()),
        figure(counters.failed, "failed", alarm(counters.failed, theme.bad())),
        figure(counters.refused, "refused", theme.strong()),
        figure(counters.suppressed, "saved by rules", alarm(counters.suppressed, theme.good())),
        figure(counters.duplicates, "duplicates", theme.strong()),
    ];
    let mut second = vec![vec![
        Span::styled(format!("{:.1}/s", snapshot.rate), theme.strong()),
        Span::raw(format!(" {}/s", bytes(snapshot.bytes_rate))),
    ]];
    if let Some(free) = snapshot.disk_free {
        let text = Span::styled("disk free ", theme.faint());
        second.push(vec![text, Span::raw(bytes(free as f64))]);
    }
    if let Some(census) = app.status.as_ref().and_then(|status| status.census.as_ref()) {
        let archive = bytes(census.archive_bytes as f64);
        second.push(vec![Span::styled("archive ", theme.faint()), Span::raw(archive)]);
        let state = bytes(census.state_bytes as f64);
        second.push(vec![Span::styled("state ", theme.faint()), Span::raw(state)]);
    }
    second.push(vec![
        Span::styled("received ", theme.faint()),
        Span::raw(bytes(counters.bytes as f64)),
    ]);
    let third = if let Some(ended) = app.ended() {
        vec![vec![Span::styled(farewell(ended), theme.strong())]]
    } else {
        let mut brake = progress::brake(&snapshot.brake);
        if brake.is_empty() {
            brake = "nothing holds it back".to_owned();
        }
        let why = vec![Span::styled("pace: ", theme.faint()), Span::raw(brake)];
        let left = left_of(snapshot);
        let host = snapshot.slowest.as_ref().filter(|_| !left.is_empty());
        let host = host.map_or(String::new(), |slowest| {
            format!("{}: {} x {} ms", slowest.host, number(slowest.backlog), slowest.gap_ms)
        });
        vec![
            why,
            vec![
                Span::styled(if left.is_empty() { "" } else { "left: " }, theme.faint()),
                Span::raw(left),
            ],
            vec![Span::styled(host, theme.faint())],
        ]
    };
    let lines = vec![
        fit(first, "  ", area.width),
        fit(second, "  ", area.width),
        fit(third, "  ", area.width),
    ];
    frame.render_widget(Paragraph::new(lines), area);
}

/// Says what the end of a crawl means.
fn farewell(ended: &str) -> &'static str {
    match ended {
        "complete" => "the crawl is complete; this is its last view",
        "parked" => "only parked hosts are left; this is the last view",
        "limit" => "a limit ended the run; `crawler run` goes on. This is the last view",
        "interrupted" => "the run was stopped; `crawler run` goes on. This is the last view",
        _ => "the crawl failed: see what it said. This is the last view",
    }
}

/// Returns the range of the remaining time.
fn left_of(snapshot: &Snapshot) -> String {
    if snapshot.counters.queued == 0 {
        return String::new();
    }
    let floor = duration(Duration::from_millis(snapshot.floor_ms()));
    match snapshot.ceiling_ms() {
        Some(ceiling) => format!("{floor} to {}", duration(Duration::from_millis(ceiling))),
        None => format!("at least {floor}"),
    }
}

fn sparkline(frame: &mut Frame<'_>, app: &App, area: Rect) {
    if area.height == 0 {
        return;
    }
    let label = "pages/s ";
    let sides = [Constraint::Length(label.len() as u16), Constraint::Min(1)];
    let [left, right] = Layout::horizontal(sides).areas(area);
    let most = app.rates.iter().copied().fold(0.0, f64::max);
    let lines = vec![
        Line::styled(format!("{most:>7.0}"), app.theme.faint()),
        Line::styled(label.trim_end(), app.theme.faint()),
    ];
    frame.render_widget(Paragraph::new(lines), left);
    let shown = app.rates.len().saturating_sub(usize::from(right.width));
    let rates = app.rates.iter().skip(shown).map(|rate| (rate * 10.0) as u64);
    let max = ((most * 10.0) as u64).max(1);
    let curve = Sparkline::default().data(rates.collect::<Vec<_>>()).max(max);
    frame.render_widget(curve.style(app.theme.bar()), right);
}

fn tab_line(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let parts = Pane::ALL.into_iter().zip(1..).map(|(pane, digit)| {
        let style = if pane == app.pane { app.theme.chosen() } else { Style::new() };
        vec![
            Span::styled(format!("{digit} "), app.theme.title()),
            Span::styled(pane.title(), style),
        ]
    });
    frame.render_widget(fit(parts.collect(), "  ", area.width), area);
}

fn message(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let (text, bad) = match (&app.lost, &app.message) {
        (Some(why), _) => (format!("no news of the crawl: {why}"), true),
        (None, Some((text, bad))) => (text.clone(), *bad),
        (None, None) => return,
    };
    let style = if bad { app.theme.bad() } else { app.theme.strong() };
    frame.render_widget(Line::styled(text, style), area);
}

fn key_line(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let pause = if app.is_paused() { "go on" } else { "pause" };
    let keys: &[(&str, &str)] = match app.mode {
        Mode::Look if app.ended().is_some() => {
            &[("q", "quit"), ("Tab", "pane"), ("↑↓", "choose"), ("o", "order"), ("?", "keys")]
        }
        Mode::Look => &[
            ("q", "quit"),
            ("?", "keys"),
            ("p", pause),
            ("s", "slow"),
            ("x", "exclude"),
            ("f", "forgive"),
            ("Tab", "pane"),
            ("↑↓", "choose"),
            ("o", "order"),
            ("i", "include"),
        ],
        Mode::Help => &[("any key", "back")],
        Mode::Type(..) => &[("Enter", "go on"), ("Esc", "leave it"), ("Ctrl-U", "empty")],
        Mode::Confirm(..) => &[("y", "do it"), ("n", "leave it")],
    };
    let parts = keys.iter().map(|(key, word)| {
        vec![Span::styled(*key, app.theme.title()), Span::raw(format!(" {word}"))]
    });
    frame.render_widget(fit(parts.collect(), "  ", area.width), area);
}

/// Draws what is asked over everything else.
fn overlay(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let (title, lines) = match &app.mode {
        Mode::Look => return,
        Mode::Help => (" Keys ".to_owned(), help(app)),
        Mode::Type(ask, text) => {
            let (title, hint) = match ask {
                Ask::Delay(host) => {
                    (format!(" Least rest of {host} "), "as 250ms, 10s, 5m; holds after a restart")
                }
                Ask::Exclude => (
                    " Exclude ".to_owned(),
                    "host, .domain, URL prefix or regex:…; the next step counts, and asks",
                ),
                Ask::Include => {
                    (" Take an exclusion back ".to_owned(), "as it was added or configured")
                }
            };
            let typed = tail(text, area.width.saturating_sub(10).into());
            let line = Line::from(vec![Span::raw(typed), Span::styled(" ", app.theme.chosen())]);
            (title, vec![line, Line::raw(""), Line::styled(hint, app.theme.faint())])
        }
        Mode::Confirm(text, _) => {
            let ask = Line::styled("Do it? y or n", app.theme.warn());
            (" Sure? ".to_owned(), vec![Line::raw(text.clone()), Line::raw(""), ask])
        }
    };
    let width = area.width.saturating_sub(4).min(76);
    let inner = usize::from(width.saturating_sub(4)).max(1);
    let needed: usize = lines.iter().map(|line| line.width().max(1).div_ceil(inner)).sum();
    let height = (needed as u16 + 2).min(area.height);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, place);
    let block = Block::bordered().border_type(BorderType::Rounded).title(title);
    let block =
        block.border_style(app.theme.title()).padding(ratatui::widgets::Padding::horizontal(1));
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), place);
}

/// Returns the end of a text that is too long.
fn tail(text: &str, most: usize) -> String {
    let count = text.chars().count();
    text.chars().skip(count.saturating_sub(most.max(1))).collect()
}

fn help(app: &App) -> Vec<Line<'static>> {
    let rows = [
        ("1-5, Tab", "choose a pane"),
        ("↑ ↓ PgUp PgDn", "choose a row"),
        ("o", "order hosts by backlog, state, 429s, name"),
        ("p", "pause, or go on"),
        ("s", "slow the chosen host"),
        ("x", "exclude: counts what it drops, then asks"),
        ("i", "take an exclusion back"),
        ("f", "forgive the chosen host: parked, given up, trapped"),
        ("q", "quit; the crawl goes on"),
    ];
    let line = |(key, what): (&'static str, &'static str)| {
        Line::from(vec![Span::styled(format!("{key:<15}"), app.theme.title()), Span::raw(what)])
    };
    rows.into_iter().map(line).collect()
}
