//! Terminal, keyboard, socket and signals, joined by one channel.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event as Terminal, KeyEvent};

use super::super::{Answer, Common, Exit, Failed};
use super::app::{Action, App};
use super::draw::draw;
use super::theme::Theme;
use crate::control::{Client, Reply, Request, Status};
use crate::crawl::steer::{self, Order};

const EXAMPLES: &str = "\
Examples:
  crawler top                            the crawl in the directory that crawler.toml names
  crawler top --dir demo-crawl           another one
  NO_COLOR=1 crawler top                 without colours

It needs a crawl that runs; `crawler status` shows one that does not. Scripts use
`crawler ctl status --json`. Inside, ? shows the keys; q leaves, and the crawl goes on.";

/// Time between two tries to reach a crawl that is silent.
const AGAIN: Duration = Duration::from_secs(2);

/// Flags of `top`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(in crate::cli) struct TopArgs {}

/// What happens.
enum Event {
    Seen(Box<Status>),
    Lost(String),
    Key(KeyEvent),
    Resized,
    Said(Box<(Order, Result<steer::Answer, String>)>),
    /// A signal ends the program.
    Ended,
    /// The keyboard is gone.
    Deaf(String),
}

/// Shows the crawl until the user leaves.
pub(in crate::cli) fn top(common: &Common, _args: &TopArgs) -> Answer {
    let config = common.load(&[])?.config;
    if common.json || !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        let text = "`crawler top` needs a terminal; `crawler ctl status --json` is for scripts";
        return Err(Failed::with(Exit::Usage, text));
    }
    // Before the screen is taken, so that its absence is said in a line.
    let client =
        Client::connect(&config.dir).map_err(|error| Failed::with(Exit::Nothing, error))?;
    let (send, events) = channel();
    end_by_signal(send.clone())?;
    let screen = Screen::take()?;
    watch(client, config.dir.clone(), send.clone());
    listen(send.clone());
    let orders = Orders {
        quick: give_orders(config.dir.clone(), send.clone()),
        slow: give_orders(config.dir.clone(), send),
    };
    show(screen, &events, &orders)
}

/// The terminal while it is ours; it is given back when this goes, and before a panic speaks.
struct Screen(DefaultTerminal);

impl Screen {
    fn take() -> Result<Screen, Failed> {
        let terminal = ratatui::try_init().context("failed to take the screen")?;
        Ok(Screen(terminal))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

fn show(mut screen: Screen, events: &Receiver<Event>, orders: &Orders) -> Answer {
    let mut app = App::new(Theme::of_environment());
    loop {
        screen.0.draw(|frame| draw(frame, &app)).context("failed to draw")?;
        let Ok(first) = events.recv() else { return Ok(Exit::Internal) };
        // What has happened meanwhile is drawn at once.
        let mut next = Some(first);
        while let Some(event) = next {
            match event {
                Event::Seen(status) => app.take(*status),
                Event::Lost(why) => app.lose(&why),
                Event::Said(said) => {
                    let (order, said) = *said;
                    app.answered(&order, said);
                }
                Event::Resized => {}
                Event::Ended => return Ok(Exit::Interrupted),
                Event::Deaf(why) => {
                    drop(screen);
                    let text = format!("failed to read the keyboard: {why}");
                    return Err(Failed::with(Exit::Internal, text));
                }
                Event::Key(key) => match app.key(key) {
                    Action::Nothing => {}
                    Action::Quit => return Ok(Exit::Complete),
                    Action::Send(order) => orders.give(order),
                },
            }
            next = events.try_recv().ok();
        }
    }
}

/// Watches the crawl on a thread of its own; reaches for it again when it is silent, for a crawl
/// may be started anew. What cannot be sent any more interests nobody: then the program is leaving.
fn watch(client: Client, dir: PathBuf, send: Sender<Event>) {
    std::thread::spawn(move || {
        let mut client = Some(client);
        loop {
            let connected = client.take().map_or_else(|| Client::connect(&dir), Ok);
            let lost = match connected {
                Err(error) => error,
                Ok(mut client) => match follow(&mut client, &send) {
                    Ok(()) => return,
                    Err(error) => error,
                },
            };
            if send.send(Event::Lost(lost.to_string())).is_err() {
                return;
            }
            std::thread::sleep(AGAIN);
        }
    });
}

/// Passes on what a crawl shows until it ends, or nobody listens any more.
fn follow(client: &mut Client, send: &Sender<Event>) -> Result<(), crate::control::ClientError> {
    client.watch()?;
    loop {
        let status = client.next_status()?;
        let ended = status.ended.is_some();
        if send.send(Event::Seen(Box::new(status))).is_err() || ended {
            return Ok(());
        }
    }
}

/// Reads the keyboard on a thread of its own.
fn listen(send: Sender<Event>) {
    std::thread::spawn(move || {
        loop {
            let event = match event::read() {
                Ok(Terminal::Key(key)) => Event::Key(key),
                Ok(Terminal::Resize(..)) => Event::Resized,
                Ok(_) => continue,
                Err(error) => Event::Deaf(error.to_string()),
            };
            let deaf = matches!(event, Event::Deaf(_));
            if send.send(event).is_err() || deaf {
                return;
            }
        }
    });
}

/// Two lines of orders, so that a pause does not wait for one that is carried out row by row.
struct Orders {
    quick: Sender<Order>,
    slow: Sender<Order>,
}

impl Orders {
    fn give(&self, order: Order) {
        let line = match order {
            Order::Pause | Order::Resume => &self.quick,
            _ => &self.slow,
        };
        // Where nobody takes it any more, the program is leaving.
        let _ = line.send(order);
    }
}

/// Gives orders on a thread of its own, one after the other.
fn give_orders(dir: PathBuf, send: Sender<Event>) -> Sender<Order> {
    let (orders, inbox) = channel::<Order>();
    std::thread::spawn(move || {
        for order in inbox {
            let said = give(&dir, &order);
            if send.send(Event::Said(Box::new((order, said)))).is_err() {
                return;
            }
        }
    });
    orders
}

fn give(dir: &Path, order: &Order) -> Result<steer::Answer, String> {
    let asked = Client::connect(dir)
        .and_then(|mut client| client.ask(&Request::Order(order.clone())))
        .map_err(|error| error.to_string())?;
    match asked {
        Reply::Said(said) => said.map_err(|refusal| refusal.text),
        Reply::Status(_) => Err("the crawl answers something else".to_owned()),
    }
}

/// Leaves in order when the system asks to.
fn end_by_signal(send: Sender<Event>) -> Result<(), Failed> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("failed to wait for signals")?;
    let kinds = [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()];
    let caught = runtime.block_on(async { kinds.map(signal) });
    let [terminate, hangup, interrupt] = caught;
    let (mut terminate, mut hangup, mut interrupt) =
        (terminate.context("failed to catch signals")?, hangup?, interrupt?);
    std::thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
                _ = interrupt.recv() => {}
            }
        });
        // Where nobody listens, the program is leaving already.
        let _ = send.send(Event::Ended);
    });
    Ok(())
}
