//! What is shown, and what keys mean.

use std::collections::VecDeque;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::super::output::plain;
use super::theme::Theme;
use crate::clock::Span;
use crate::control::Status;
use crate::crawl::steer::{Answer, Order};
use crate::crawl::view::HostLine;
use crate::crawl::{Brake, Snapshot};

/// Seconds of which the rate is remembered.
const RATES_MAX: usize = 600;

/// Characters of a typed text.
const TYPED_MAX: usize = 500;

/// What the lower part of the screen shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Pane {
    #[default]
    Hosts,
    Queue,
    Dust,
    Errors,
    Flights,
}

impl Pane {
    pub(super) const ALL: [Pane; 5] =
        [Pane::Hosts, Pane::Queue, Pane::Dust, Pane::Errors, Pane::Flights];

    pub(super) fn title(self) -> &'static str {
        match self {
            Pane::Hosts => "Hosts",
            Pane::Queue => "Queue",
            Pane::Dust => "DUST",
            Pane::Errors => "Errors",
            Pane::Flights => "In flight",
        }
    }
}

/// By what hosts are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    #[default]
    Backlog,
    State,
    Busy,
    Name,
}

impl Sort {
    pub(super) fn word(self) -> &'static str {
        match self {
            Sort::Backlog => "backlog",
            Sort::State => "state",
            Sort::Busy => "429s",
            Sort::Name => "name",
        }
    }

    fn next(self) -> Sort {
        match self {
            Sort::Backlog => Sort::State,
            Sort::State => Sort::Busy,
            Sort::Busy => Sort::Name,
            Sort::Name => Sort::Backlog,
        }
    }
}

/// What a text is typed for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// The least delay of this host.
    Delay(String),
    /// A pattern to exclude.
    Exclude,
    /// An exclusion to take back.
    Include,
}

/// What the keyboard does now.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Mode {
    /// Moves and chooses.
    #[default]
    Look,
    /// Shows the keys.
    Help,
    /// Types a text.
    Type(Ask, String),
    /// Says yes or no to an order.
    Confirm(String, Order),
}

/// What a key leads to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Action {
    Nothing,
    Quit,
    Send(Order),
}

/// The whole that is shown.
#[derive(Debug)]
pub(super) struct App {
    pub(super) theme: Theme,
    pub(super) status: Option<Status>,
    pub(super) rates: VecDeque<f64>,
    pub(super) pane: Pane,
    pub(super) selected: usize,
    pub(super) sort: Sort,
    pub(super) mode: Mode,
    /// A question that waits until nothing is typed any more.
    pub(super) next: Option<Mode>,
    /// The last thing that was said, and whether it is bad news.
    pub(super) message: Option<(String, bool)>,
    /// Why there is no news of the crawl.
    pub(super) lost: Option<String>,
}

impl App {
    pub(super) fn new(theme: Theme) -> App {
        App {
            theme,
            status: None,
            rates: VecDeque::new(),
            pane: Pane::default(),
            selected: 0,
            sort: Sort::default(),
            mode: Mode::default(),
            next: None,
            message: None,
            lost: None,
        }
    }

    /// Takes the view of a second.
    pub(super) fn take(&mut self, mut status: Status) {
        clean(&mut status);
        if let Some(snapshot) = &status.snapshot {
            let before = self.snapshot().map(|before| before.at);
            if before != Some(snapshot.at) {
                if self.rates.len() == RATES_MAX {
                    self.rates.pop_front();
                }
                self.rates.push_back(snapshot.rate);
            }
        }
        let chosen = self.chosen_host().map(|host| host.name);
        self.lost = None;
        self.status = Some(status);
        // The chosen host stays chosen, wherever it stands now.
        if let Some(name) = chosen.filter(|_| self.pane == Pane::Hosts) {
            let place = self.hosts().iter().position(|host| host.name == name);
            self.selected = place.unwrap_or(self.selected);
        }
        self.select(0);
    }

    /// Takes note that there is no news any more.
    pub(super) fn lose(&mut self, why: &str) {
        if self.ended().is_none() {
            self.lost = Some(plain(why).into_owned());
        }
    }

    /// Takes what was said to an order.
    pub(super) fn answered(&mut self, order: &Order, said: Result<Answer, String>) {
        match (order, said) {
            (Order::Exclude { pattern, preview: true }, Ok(answer)) => {
                let order = Order::Exclude { pattern: pattern.clone(), preview: false };
                let text = plain(answer.text.trim_end_matches("; nothing is changed")).into_owned();
                self.next = Some(Mode::Confirm(text, order));
                self.message = None;
                self.ask_next();
            }
            (_, Ok(answer)) => self.message = Some((plain(&answer.text).into_owned(), false)),
            (_, Err(why)) => self.message = Some((plain(&why).into_owned(), true)),
        }
    }

    /// Puts the question that waits. What is typed meanwhile is no answer to it.
    fn ask_next(&mut self) {
        if self.mode == Mode::Look
            && let Some(question) = self.next.take()
        {
            self.mode = question;
        }
    }

    pub(super) fn snapshot(&self) -> Option<&Snapshot> {
        self.status.as_ref()?.snapshot.as_ref()
    }

    /// Returns how the crawl ended, if it has.
    pub(super) fn ended(&self) -> Option<&str> {
        self.status.as_ref()?.ended.as_deref()
    }

    pub(super) fn is_paused(&self) -> bool {
        self.snapshot().is_some_and(|snapshot| snapshot.brake == Brake::Paused)
    }

    /// Returns the hosts with a back queue, and those without that are worth a line.
    pub(super) fn hosts(&self) -> Vec<HostLine> {
        let Some(status) = &self.status else { return Vec::new() };
        let mut hosts: Vec<HostLine> =
            status.snapshot.iter().flat_map(|snapshot| snapshot.view.hosts.clone()).collect();
        let known: std::collections::HashSet<String> =
            hosts.iter().map(|host| host.name.clone()).collect();
        let others = status.census.iter().flat_map(|census| &census.lines);
        hosts.extend(others.filter(|host| !known.contains(&host.name)).cloned());
        hosts.sort_by(|a, b| {
            let first = match self.sort {
                Sort::Backlog => b.backlog.cmp(&a.backlog),
                Sort::State => b.state.cmp(&a.state),
                Sort::Busy => b.busy.cmp(&a.busy),
                Sort::Name => std::cmp::Ordering::Equal,
            };
            let most = (b.backlog, b.done).cmp(&(a.backlog, a.done));
            first.then(most).then_with(|| a.name.cmp(&b.name))
        });
        if self.sort == Sort::Name {
            hosts.sort_by(|a, b| a.name.cmp(&b.name));
        }
        hosts
    }

    /// Returns the number of rows of the pane.
    fn rows(&self) -> usize {
        let Some(snapshot) = self.snapshot() else { return 0 };
        match self.pane {
            Pane::Hosts => self.hosts().len(),
            Pane::Queue => 0,
            Pane::Dust => snapshot.view.dust.rules.len(),
            Pane::Errors => snapshot.view.faults.len(),
            Pane::Flights => snapshot.view.flights.len(),
        }
    }

    pub(super) fn chosen_host(&self) -> Option<HostLine> {
        let hosts = (self.pane == Pane::Hosts).then(|| self.hosts())?;
        hosts.get(self.selected).cloned()
    }

    fn select(&mut self, by: isize) {
        let last = self.rows().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    fn show(&mut self, pane: Pane) {
        self.pane = pane;
        self.selected = 0;
    }

    fn turn(&mut self, by: usize) {
        let count = Pane::ALL.len();
        let at = Pane::ALL.iter().position(|pane| *pane == self.pane).unwrap_or(0);
        self.show(Pane::ALL[(at + by) % count]);
    }

    /// Takes a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> Action {
        if key.kind == KeyEventKind::Release {
            return Action::Nothing;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && matches!(key.code, KeyCode::Char('c' | 'd')) {
            return Action::Quit;
        }
        // Ctrl-P goes up in other programs: no letter steers but by itself.
        let is_chord = control || key.modifiers.contains(KeyModifiers::ALT);
        if is_chord && !matches!(self.mode, Mode::Type(..)) {
            return Action::Nothing;
        }
        let action = self.act_on(key, control);
        self.ask_next();
        action
    }

    fn act_on(&mut self, key: KeyEvent, control: bool) -> Action {
        self.message = None;
        match std::mem::take(&mut self.mode) {
            Mode::Look => self.look(key.code),
            Mode::Help => Action::Nothing,
            Mode::Type(ask, text) => self.type_on(ask, text, key.code, control),
            Mode::Confirm(_, order) if matches!(key.code, KeyCode::Char('y' | 'Y')) => {
                self.send(order)
            }
            Mode::Confirm(text, order) => {
                let no = matches!(key.code, KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc);
                if no {
                    self.message = Some(("nothing is changed".to_owned(), false));
                } else {
                    self.mode = Mode::Confirm(text, order);
                }
                Action::Nothing
            }
        }
    }

    fn look(&mut self, code: KeyCode) -> Action {
        match code {
            KeyCode::Char('q') | KeyCode::Esc => return Action::Quit,
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.mode = Mode::Help,
            KeyCode::Tab | KeyCode::Right | KeyCode::Char('l') => self.turn(1),
            KeyCode::BackTab | KeyCode::Left => self.turn(Pane::ALL.len() - 1),
            KeyCode::Char(digit @ '1'..='5') => {
                self.show(Pane::ALL[digit as usize - '1' as usize]);
            }
            KeyCode::Up | KeyCode::Char('k') => self.select(-1),
            KeyCode::Down | KeyCode::Char('j') => self.select(1),
            KeyCode::PageUp => self.select(-10),
            KeyCode::PageDown => self.select(10),
            KeyCode::Home | KeyCode::Char('g') => self.selected = 0,
            KeyCode::End | KeyCode::Char('G') => self.select(isize::MAX),
            KeyCode::Char('o') => {
                self.sort = self.sort.next();
                self.selected = 0;
            }
            code => return self.steer(code),
        }
        Action::Nothing
    }

    /// Takes a key that steers the crawl.
    fn steer(&mut self, code: KeyCode) -> Action {
        if !matches!(code, KeyCode::Char('p' | 's' | 'x' | 'i' | 'f')) {
            return Action::Nothing;
        }
        if self.ended().is_some() {
            self.message = Some(("the crawl has ended: `crawler run` goes on".to_owned(), true));
            return Action::Nothing;
        }
        let host = self.chosen_host();
        match (code, host) {
            (KeyCode::Char('p'), _) => {
                let order = if self.is_paused() { Order::Resume } else { Order::Pause };
                return self.send(order);
            }
            (KeyCode::Char('x'), host) => {
                let text = host.map_or(String::new(), |host| host.name);
                self.mode = Mode::Type(Ask::Exclude, text);
            }
            (KeyCode::Char('i'), _) => self.mode = Mode::Type(Ask::Include, String::new()),
            (KeyCode::Char('s'), Some(host)) => {
                // Twice what it rests now is what "slower" most often means.
                let twice = Span::millis(host.gap_ms.max(500).saturating_mul(2));
                self.mode = Mode::Type(Ask::Delay(host.name), twice.to_string());
            }
            (KeyCode::Char('f'), Some(host)) => {
                let text = format!("forgive {}, and bring back what it was refused", host.name);
                self.mode = Mode::Confirm(text, Order::Forgive { host: host.name });
            }
            _ => {
                self.message = Some(("choose a host first: 1, then the arrows".to_owned(), true));
            }
        }
        Action::Nothing
    }

    fn type_on(&mut self, ask: Ask, mut text: String, code: KeyCode, control: bool) -> Action {
        match code {
            KeyCode::Esc => {
                self.message = Some(("nothing is changed".to_owned(), false));
                return Action::Nothing;
            }
            KeyCode::Enter => return self.typed(ask, text.trim()),
            KeyCode::Backspace => {
                text.pop();
            }
            KeyCode::Char('u') if control => text.clear(),
            KeyCode::Char(c) if !control && text.chars().count() < TYPED_MAX => text.push(c),
            _ => {}
        }
        self.mode = Mode::Type(ask, text);
        Action::Nothing
    }

    fn typed(&mut self, ask: Ask, text: &str) -> Action {
        if text.is_empty() {
            self.message = Some(("nothing is changed".to_owned(), false));
            return Action::Nothing;
        }
        let pattern = text.to_owned();
        match ask {
            Ask::Exclude => self.send(Order::Exclude { pattern, preview: true }),
            Ask::Include => self.send(Order::Include { pattern }),
            Ask::Delay(host) => match text.parse() {
                Ok(delay) => self.send(Order::Delay { host, delay: Some(delay) }),
                Err(why) => {
                    self.message = Some((why, true));
                    self.mode = Mode::Type(Ask::Delay(host), text.to_owned());
                    Action::Nothing
                }
            },
        }
    }

    fn send(&mut self, order: Order) -> Action {
        self.message = Some(("…".to_owned(), false));
        Action::Send(order)
    }
}

/// Makes every text of a view safe for a terminal.
fn clean(status: &mut Status) {
    let wash = |text: &mut String| {
        if let std::borrow::Cow::Owned(clean) = plain(text) {
            *text = clean;
        }
    };
    wash(&mut status.dir);
    status.ended.iter_mut().for_each(wash);
    if let Some(census) = &mut status.census {
        census.lines.iter_mut().flat_map(|host| [&mut host.name, &mut host.reason]).for_each(wash);
    }
    let Some(snapshot) = &mut status.snapshot else { return };
    snapshot.slowest.iter_mut().map(|slowest| &mut slowest.host).for_each(wash);
    let view = &mut snapshot.view;
    view.hosts.iter_mut().flat_map(|host| [&mut host.name, &mut host.reason]).for_each(wash);
    view.flights.iter_mut().flat_map(|one| [&mut one.url, &mut one.purpose]).for_each(wash);
    view.faults.iter_mut().flat_map(|one| [&mut one.url, &mut one.what]).for_each(wash);
    view.clusters.iter_mut().flat_map(|one| [&mut one.url, &mut one.newest]).for_each(wash);
    view.reasons.iter_mut().map(|(reason, _)| reason).for_each(wash);
    let rules = view.dust.rules.iter_mut();
    rules.flat_map(|rule| [&mut rule.id, &mut rule.site, &mut rule.text]).for_each(wash);
}
