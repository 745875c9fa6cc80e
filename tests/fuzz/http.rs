//! Bytes as the answer of a server: the real client against a listener of one connection.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;

use crawler::clock::{Clock, Span, Timestamp};
use crawler::fetch::{Fetch, HyperFetch, Outcome, Purpose, Request, Settings};
use crawler::url::CrawlUrl;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

struct Wire {
    runtime: tokio::runtime::Runtime,
    listener: TcpListener,
    address: SocketAddr,
    fetch: HyperFetch,
}

thread_local! {
    static WIRE: RefCell<Option<Wire>> = const { RefCell::new(None) };
}

fn open() -> Wire {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let _guard = runtime.enter();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
    let address = listener.local_addr().expect("it has one");
    let settings = Settings { idle_for: Span::millis(0), idle_max: 0, ..Settings::default() };
    let clock = Arc::new(Clock::system(Timestamp::ZERO));
    let fetch = HyperFetch::new(&settings, "fuzz", "mailto:fuzz@crawler.test", clock);
    drop(_guard);
    Wire { runtime, listener, address, fetch: fetch.expect("it starts") }
}

/// Answers one request with `bytes`; what the client makes of them keeps to what was sent.
pub(super) fn judge(bytes: &[u8]) {
    WIRE.with_borrow_mut(|wire| {
        let wire = wire.get_or_insert_with(open);
        let outcome = wire.runtime.block_on(exchange(wire, bytes));
        match outcome {
            Outcome::Answer(answer) => {
                let sent = memchr::memmem::find(bytes, &answer.head_block);
                assert!(sent.is_some(), "the head block is not what was sent");
                assert!(answer.wire_body.len() <= bytes.len());
            }
            Outcome::Failed(failed) => assert!(!failed.detail.is_empty()),
        }
    });
}

async fn exchange(wire: &Wire, bytes: &[u8]) -> Outcome {
    let url = CrawlUrl::parse(&format!("http://a.example:{}/", wire.address.port()));
    let request = Request {
        url: url.expect("it is a URL"),
        addresses: vec![wire.address.ip()],
        purpose: Purpose::Page,
        etag: None,
        last_modified: None,
        fresh: false,
    };
    let serve = async {
        let Ok((mut stream, _)) = wire.listener.accept().await else { return };
        let mut asked = [0; 4096];
        // Whatever was asked, and whether or not the client listens to the end.
        let _ = stream.read(&mut asked).await;
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
    };
    let (outcome, ()) = tokio::join!(wire.fetch.fetch(request), serve);
    outcome
}
