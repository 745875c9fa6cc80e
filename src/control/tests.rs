//! The socket's bounds, over a real socket and a loop that answers by the book.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{mpsc, watch};

use super::{CLIENTS_MAX, Client, REQUEST_MAX, Reply, Request, SOCKET, Server, Steering};
use crate::clock::{Clock, Timestamp};
use crate::crawl::Command;
use crate::crawl::steer::{Answer, Channel, Kind, Order, Refusal};
use crate::db::{Db, MemoryEnv};
use crate::frontier::Rules;

/// A crawl of which only the socket is real.
struct Stage {
    dir: tempfile::TempDir,
    server: Server,
}

/// Opens a socket whose orders are answered with what they are, or refused if they are to stop.
fn stage() -> Stage {
    let (commands, mut inbox) = mpsc::channel(4);
    tokio::spawn(async move {
        while let Some(command) = inbox.recv().await {
            let Command::Steer { order, by, reply } = command else { continue };
            assert_eq!(by.channel, Channel::Socket);
            assert_eq!(by.uid, Some(rustix::process::geteuid().as_raw()));
            let _ = reply.send(match order {
                Order::Stop => Err(Refusal::new(Kind::Refused, "not now")),
                order => Ok(Answer::of(Request::Order(order).write())),
            });
        }
    });
    stage_with(commands, |level| match level {
        "info" => Ok(()),
        other => Err(format!("`{other}` is no level")),
    })
}

fn stage_with(
    commands: mpsc::Sender<Command>,
    log_level: impl Fn(&str) -> Result<(), String> + Send + Sync + 'static,
) -> Stage {
    let dir = tempfile::tempdir().unwrap();
    let env = MemoryEnv::new().unwrap();
    let db = Db::open_in_memory(dir.path(), &Default::default(), &env).unwrap();
    let steering = Steering {
        commands,
        snapshots: watch::channel(None).1,
        db: Arc::new(db),
        archive: dir.path().join("archive"),
        clock: Arc::new(Clock::system(Timestamp::ZERO)),
        politeness: Arc::new(Rules::new(Default::default(), &Default::default())),
        log_level: Arc::new(log_level),
    };
    let server = Server::open(dir.path(), steering).unwrap();
    Stage { dir, server }
}

impl Stage {
    fn connect(&self) -> Client {
        Client::connect(self.dir.path()).unwrap()
    }

    /// Sends bytes as they are, and returns the lines that come back until the other side closes.
    fn send(&self, bytes: &[u8]) -> Vec<String> {
        let mut stream = UnixStream::connect(self.dir.path().join(SOCKET)).unwrap();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        BufReader::new(stream).lines().map_while(Result::ok).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orders_reach_the_loop_and_answers_come_back_in_order() {
    let stage = stage();
    let mut client = stage.connect();
    for order in [Order::Pause, Order::Resume, Order::Include { pattern: "a.test".to_owned() }] {
        let request = Request::Order(order);
        let said = client.ask(&request).unwrap();
        assert_eq!(said, Reply::Said(Ok(Answer::of(request.write()))));
    }
    let refused = client.ask(&Request::Order(Order::Stop)).unwrap();
    assert_eq!(refused, Reply::Said(Err(Refusal::new(Kind::Refused, "not now"))));
    let wrong = Request::Order(Order::Log { level: "loud".to_owned() });
    let Reply::Said(Err(refusal)) = client.ask(&wrong).unwrap() else { panic!("it is refused") };
    assert_eq!(refusal.kind, Kind::Usage);
    assert!(matches!(client.ask(&Request::Status), Ok(Reply::Status(_))));
    stage.server.close("complete").await;
    assert!(!stage.dir.path().join(SOCKET).exists());
}

/// It was changed, and the answer said that nothing was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_level_changes_only_where_the_crawl_hears_of_it() {
    let changed = Arc::new(AtomicBool::new(false));
    let told = changed.clone();
    let stage = stage_with(mpsc::channel(1).0, move |_| {
        told.store(true, Ordering::SeqCst);
        Ok(())
    });
    let order = Request::Order(Order::Log { level: "info".to_owned() });
    let said = stage.connect().ask(&order).unwrap();
    let Reply::Said(Err(refusal)) = said else { panic!("nobody hears it") };
    assert!(refusal.text.contains("nothing was changed"), "{}", refusal.text);
    assert!(!changed.load(Ordering::SeqCst));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_request_is_said_to_be_none_and_the_next_one_is_served() {
    let stage = stage();
    let lines = stage.send(b"hello\n\n{\"do\":\"fly\"}\n{\"do\":\"pause\"}\n");
    let ok: Vec<bool> = lines.iter().map(|line| line.starts_with(r#"{"ok":true"#)).collect();
    assert_eq!(ok, [false, false, false, true], "{lines:?}");
    let lines = stage.send(&[0xff, 0xfe, b'\n']);
    assert!(lines.is_empty(), "what is no text is not answered: {lines:?}");
    let lines = stage.send(&vec![b' '; REQUEST_MAX + 1]);
    assert!(lines.len() == 1 && lines[0].contains("at most"), "{lines:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_client_too_many_is_told_so_and_has_a_place_when_another_leaves() {
    let stage = stage();
    let mut clients: Vec<Client> = (0..CLIENTS_MAX).map(|_| stage.connect()).collect();
    for client in &mut clients {
        assert!(matches!(client.ask(&Request::Status), Ok(Reply::Status(_))));
    }
    let lines = stage.send(b"");
    assert!(lines.len() == 1 && lines[0].contains("clients are connected"), "{lines:?}");
    clients.pop();
    // The place is free when the crawl has seen the client leave.
    let served = (0..10_000).any(|_| {
        let Ok(mut client) = Client::connect(stage.dir.path()) else { return false };
        matches!(client.ask(&Request::Status), Ok(Reply::Status(_)))
    });
    assert!(served);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_watches_is_told_how_it_ended() {
    let stage = stage();
    let mut client = stage.connect();
    client.watch().unwrap();
    assert_eq!(client.next_status().unwrap().ended, None);
    let last = std::thread::spawn(move || client.next_status());
    stage.server.close("parked").await;
    assert_eq!(last.join().unwrap().unwrap().ended.as_deref(), Some("parked"));
}

#[test]
fn where_nobody_listens_no_crawl_runs() {
    let dir = tempfile::tempdir().unwrap();
    let said = Client::connect(dir.path()).unwrap_err().to_string();
    assert!(said.contains("no crawl runs in"), "{said}");
    // What a killed crawl leaves behind.
    drop(std::os::unix::net::UnixListener::bind(dir.path().join(SOCKET)).unwrap());
    let said = Client::connect(dir.path()).unwrap_err().to_string();
    assert!(said.contains("no crawl runs in"), "{said}");
}
