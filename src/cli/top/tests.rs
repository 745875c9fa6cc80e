//! Frames and keys, on a screen in memory.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;

use super::app::{Action, App, Mode, Pane};
use super::draw::draw;
use super::theme::Theme;
use crate::cli::progress::{line, line_within};
use crate::clock::{Span, Timestamp};
use crate::control::Status;
use crate::crawl::census::Census;
use crate::crawl::steer::{Answer, Order};
use crate::crawl::view::{FaultLine, FlightLine, HostLine, HostState, RuleLine, View};
use crate::crawl::{Brake, Remaining, Slowest, Snapshot};
use crate::db::families::meta::Counters;
use crate::dust::RuleState;

fn host(name: &str, state: HostState, backlog: u64) -> HostLine {
    let name = name.to_owned();
    HostLine { name, state, backlog, gap_ms: 1000, latency_ms: 30, ..HostLine::default() }
}

fn status() -> Status {
    let counters = Counters {
        discovered: 5000,
        done: 1234,
        queued: 567,
        failed: 3,
        suppressed: 89,
        by_class: [0, 0, 1200, 20, 10, 4],
        ..Counters::default()
    };
    let mut view = View {
        hosts: vec![
            host("slow.test", HostState::Waiting, 400),
            host("busy.test", HostState::BackingOff, 60),
            host("quick.test", HostState::Ready, 7),
        ],
        flights: vec![FlightLine {
            url: "http://quick.test/now".to_owned(),
            purpose: "page".to_owned(),
            age_ms: 120,
        }],
        faults: vec![FaultLine {
            at: Timestamp::from_millis(59_000),
            url: "http://busy.test/x".to_owned(),
            what: "status 503".to_owned(),
        }],
        reasons: vec![("known".to_owned(), 900), ("robots-disallowed".to_owned(), 12)],
        ..View::default()
    };
    view.hosts[1].busy = 4;
    view.dust.learns = true;
    view.dust.enforces = true;
    view.dust.by_state = [2, 1, 3, 0, 1];
    view.dust.rules = vec![RuleLine {
        id: "0123456789abcdef".to_owned(),
        site: "slow.test".to_owned(),
        text: "drop parameter sid".to_owned(),
        state: RuleState::Enforced,
        alike: 20,
        unlike: 0,
        saved: 89,
        ..RuleLine::default()
    }];
    let snapshot = Snapshot {
        at: Timestamp::from_millis(60_000),
        began: Timestamp::from_millis(18_000),
        counters,
        hosts_active: 3,
        hosts_ready: 1,
        hosts_waiting: [0, 2, 0, 0, 0, 0, 0, 0],
        in_flight: 1,
        rate: 12.5,
        bytes_rate: 40_000.0,
        brake: Brake::Politeness { resting: 2 },
        slowest: Some(Slowest { host: "slow.test".to_owned(), backlog: 400, gap_ms: 1030 }),
        remaining: Remaining { floor_ms: 412_000, ceiling_ms: Some(900_000) },
        rules_version: 4,
        rules: 3,
        disk_free: Some(61_000_000_000),
        disk_reserve: 1_000_000_000,
        hosts_known: 9,
        shape: Default::default(),
        tally: Default::default(),
        ended: None,
        view,
    };
    let census = Census {
        hosts: 9,
        parked: 1,
        lines: vec![host("held.test", HostState::Parked, 30)],
        queue: [5, 500, 60, 2, 0, 0, 0, 0],
        queue_is_whole: true,
        archive_bytes: 34_000_000,
        archive_files: 2,
        ..Census::default()
    };
    Status {
        protocol: 1,
        pid: 42,
        dir: "crawl".to_owned(),
        snapshot: Some(snapshot),
        census: Some(census),
        ..Status::default()
    }
}

fn app(status: Status) -> App {
    let mut app = App::new(Theme::with_colors(true));
    app.take(status);
    app
}

/// Returns the screen as lines of text.
fn screen(app: &App, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, app)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(row).collect()
}

#[track_caller]
fn check(app: &App, size: (u16, u16), wants: &[&str]) {
    let lines = screen(app, size.0, size.1);
    let text = lines.join("\n");
    for want in wants {
        assert!(text.contains(want), "`{want}` is not on the screen of {size:?}:\n{text}");
    }
}

fn press(app: &mut App, keys: &str) -> Action {
    let mut last = Action::Nothing;
    for key in keys.chars() {
        let code = match key {
            '\n' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            '\u{1b}' => KeyCode::Esc,
            '\u{8}' => KeyCode::Backspace,
            key => KeyCode::Char(key),
        };
        last = app.key(KeyEvent::new(code, KeyModifiers::NONE));
    }
    last
}

#[test]
fn the_usual_terminal_shows_everything_that_matters() {
    let app = app(status());
    let wants = [
        "running",
        "1,234 done",
        "567 queued",
        "3 failed",
        "89 saved by rules",
        "12.5/s",
        "disk free 61.0 GB",
        "waiting: 2 hosts rest",
        "left: ",
        "1 parked",
        "slow.test",
        "backing off",
        "held.test",
        "q quit",
        "p pause",
        "x exclude",
    ];
    check(&app, (80, 24), &wants);
    let wants = ["1,234 done", "slow.test", "backing off", "q quit", "p pause", "x exclude"];
    check(&app, (60, 20), &wants);
    check(&app, (140, 40), &["Queue by priority", "DUST", "3 on", "status 503"]);
}

#[test]
fn every_pane_shows_its_part() {
    for (keys, wants) in [
        ("1", &["backlog", "gap", "429s", "by backlog"][..]),
        ("2", &["by priority", "500 ", "█"]),
        ("3", &["3 on", "2 candidates", "89 URLs saved", "drop parameter sid", "01234567"]),
        ("4", &["4 5xx", "12 robots-disallowed", "status 503", "http://busy.test/x"]),
        ("5", &["1 requests", "http://quick.test/now", "120ms"]),
    ] {
        let mut app = app(status());
        press(&mut app, keys);
        check(&app, (80, 24), wants);
        check(&app, (60, 20), &wants[..1]);
    }
}

#[test]
fn no_size_breaks_it() {
    for mode in ["", "?", "x", "s", "f", "2", "3", "4", "5"] {
        let mut app = app(status());
        press(&mut app, mode);
        for width in [1, 5, 29, 30, 40, 59, 79, 115, 116, 200] {
            for height in [1, 7, 8, 9, 15, 16, 24, 60] {
                assert_eq!(screen(&app, width, height).len(), usize::from(height));
            }
        }
    }
    let empty = App::new(Theme::with_colors(true));
    check(&empty, (60, 20), &["waiting for the first view"]);
}

#[test]
fn what_the_web_says_cannot_steer_the_terminal() {
    let evil = "\u{1b}]0;title\u{7}\u{9b}2J\u{202e}x\n";
    let mut status = status();
    let snapshot = status.snapshot.as_mut().unwrap();
    snapshot.view.hosts[0].name = evil.to_owned();
    snapshot.view.faults[0].what = evil.to_owned();
    snapshot.view.faults[0].url = evil.to_owned();
    snapshot.view.flights[0].url = evil.to_owned();
    snapshot.view.dust.rules[0].text = evil.to_owned();
    snapshot.view.reasons[0].0 = evil.to_owned();
    snapshot.slowest.as_mut().unwrap().host = evil.to_owned();
    status.dir = evil.to_owned();
    let mut app = app(status);
    app.answered(&Order::Pause, Ok(Answer::of(evil)));
    for pane in ["1", "2", "3", "4", "5", "1x", "s"] {
        press(&mut app, pane);
        let text = screen(&app, 140, 40).join("");
        let unsafe_char = text.chars().find(|c| c.is_control() || *c == '\u{202e}');
        assert_eq!(unsafe_char, None, "in pane {pane}");
        press(&mut app, "\u{1b}");
    }
}

#[test]
fn without_colours_no_cell_has_one() {
    let mut app = app(status());
    app.theme = Theme::with_colors(false);
    for pane in ["1", "2", "3", "4", "5"] {
        press(&mut app, pane);
        let mut terminal = Terminal::new(TestBackend::new(140, 40)).unwrap();
        terminal.draw(|frame| draw(frame, &app)).unwrap();
        let cells = terminal.backend().buffer().content();
        assert!(cells.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    }
}

#[test]
fn p_pauses_and_then_lets_it_go_on() {
    let mut app = app(status());
    assert_eq!(press(&mut app, "p"), Action::Send(Order::Pause));
    let mut paused = status();
    paused.snapshot.as_mut().unwrap().brake = Brake::Paused;
    app.take(paused);
    check(&app, (80, 24), &["paused", "p go on"]);
    assert_eq!(press(&mut app, "p"), Action::Send(Order::Resume));
}

#[test]
fn an_exclusion_is_counted_first_and_made_only_after_a_yes() {
    let mut app = app(status());
    press(&mut app, "x");
    check(&app, (80, 24), &["Exclude", "slow.test"]);
    let pattern = "slow.test".to_owned();
    let preview = Order::Exclude { pattern: pattern.clone(), preview: true };
    assert_eq!(press(&mut app, "\n"), Action::Send(preview.clone()));
    let said = "`slow.test` would drop 400 of 567 waiting URLs; nothing is changed";
    app.answered(&preview, Ok(Answer::of(said)));
    check(&app, (60, 20), &["would drop 400 of 567", "y or n"]);
    assert_eq!(press(&mut app, "n"), Action::Nothing);
    assert_eq!(app.mode, Mode::Look);
    app.answered(&preview, Ok(Answer::of(said)));
    let order = Order::Exclude { pattern, preview: false };
    assert_eq!(press(&mut app, "y"), Action::Send(order));
}

/// A pattern was being typed when the count of the one before came, and its first `y` was taken for
/// the answer.
#[test]
fn a_question_waits_until_nothing_is_typed() {
    let mut app = app(status());
    press(&mut app, "x");
    let pattern = "slow.test".to_owned();
    let preview = Order::Exclude { pattern: pattern.clone(), preview: true };
    press(&mut app, "\nx");
    app.answered(&preview, Ok(Answer::of("would drop 400")));
    assert_eq!(press(&mut app, "my"), Action::Nothing);
    check(&app, (80, 24), &["Exclude", "slow.testmy"]);
    press(&mut app, "\u{1b}");
    check(&app, (80, 24), &["would drop 400", "y or n"]);
    let order = Order::Exclude { pattern, preview: false };
    assert_eq!(press(&mut app, "y"), Action::Send(order));
}

#[test]
fn a_letter_with_ctrl_or_alt_steers_nothing() {
    let mut app = app(status());
    for modifier in [KeyModifiers::CONTROL, KeyModifiers::ALT] {
        let chord = KeyEvent::new(KeyCode::Char('p'), modifier);
        assert_eq!(app.key(chord), Action::Nothing);
    }
    let end = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(app.key(end), Action::Quit);
}

/// It wrapped on a terminal of 80 columns, and each second left a line behind.
#[test]
fn the_progress_line_keeps_to_one_row() {
    let mut snapshot = status().snapshot.unwrap();
    let whole = line(&snapshot);
    assert!(whole.contains("slow.test: 400 x 1030 ms"), "{whole}");
    assert_eq!(line_within(&snapshot, 200), whole);
    for columns in 0..160 {
        let shown = line_within(&snapshot, columns);
        assert!(shown.len() < columns.max(1), "{columns}: {shown}");
    }
    let eighty = line_within(&snapshot, 80);
    assert!(eighty.starts_with("1,234 done | 567 queued"), "{eighty}");
    snapshot.slowest.as_mut().unwrap().host = "long.".repeat(50);
    let named = line_within(&snapshot, 140);
    assert!(named.ends_with(" left"), "{named}");
}

#[test]
fn the_chosen_host_is_slowed_and_stays_chosen_when_others_move() {
    let mut app = app(status());
    press(&mut app, "j");
    assert_eq!(app.chosen_host().unwrap().name, "busy.test");
    let mut later = status();
    later.snapshot.as_mut().unwrap().view.hosts[1].backlog = 9000;
    app.take(later);
    assert_eq!(app.chosen_host().unwrap().name, "busy.test");
    press(&mut app, "s");
    assert_eq!(press(&mut app, "x\n"), Action::Nothing, "no span: it asks again");
    check(&app, (80, 24), &["is not a duration"]);
    let delay = Some(Span::secs(2));
    let order = Order::Delay { host: "busy.test".to_owned(), delay };
    assert_eq!(press(&mut app, "\u{8}\n"), Action::Send(order));
}

#[test]
fn the_end_is_said_and_the_last_view_stays() {
    let mut app = app(status());
    let mut last = status();
    last.ended = Some("complete".to_owned());
    app.take(last);
    app.lose("it closed the connection");
    check(&app, (80, 24), &["ended: complete", "last view", "1,234 done", "slow.test"]);
    assert_eq!(press(&mut app, "p"), Action::Nothing);
    check(&app, (80, 24), &["the crawl has ended"]);
    assert_eq!(press(&mut app, "q"), Action::Quit);
}

#[test]
fn silence_is_said_and_the_last_view_stays() {
    let mut app = app(status());
    app.lose("it closed the connection");
    check(&app, (80, 24), &["no news", "it closed the connection", "slow.test"]);
    app.take(status());
    assert!(app.lost.is_none());
    app.pane = Pane::Hosts;
}
