//! A model site behind a proxy on loopback: every story under two URLs.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A server that answers absolute-form requests; it lives as long as the test process.
pub(super) struct ModelSite {
    pub(super) address: SocketAddr,
    requests: Arc<AtomicU64>,
}

impl ModelSite {
    /// Starts a site on which both URLs of a story show the same text.
    pub(super) fn start() -> Self {
        Self::serve(0)
    }

    /// Starts a site on which they show different texts.
    pub(super) fn start_with_other_texts() -> Self {
        Self::serve(100_000)
    }

    fn serve(apart: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(AtomicU64::new(0));
        let count = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = answer(stream, apart, &count);
            }
        });
        ModelSite { address, requests }
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }
}

fn answer(stream: TcpStream, apart: u64, count: &AtomicU64) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().unwrap_or(Ok(String::new()))?;
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    count.fetch_add(1, Ordering::SeqCst);
    let url = first.split(' ').nth(1).unwrap_or_default();
    let story = |mark: &str| url.split_once(mark).and_then(|(_, id)| id.parse::<u64>().ok());
    let number = story("/story?id=").or_else(|| story("/story_").map(|id| id + apart));
    let (status, body) = match number {
        Some(number) => ("200 OK", page(&text(number))),
        None => ("404 Not Found", page("there is no such page")),
    };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

/// The text of a story: words that no other story has in this order.
pub(super) fn text(number: u64) -> String {
    let word = |at: u64| {
        let mixed = (number * 1000 + at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("w{:x}", mixed >> 44)
    };
    (0..120).map(word).collect::<Vec<_>>().join(" ")
}

pub(super) fn page(text: &str) -> String {
    format!("<!DOCTYPE html><html><body><main><p>{text}</p></main></body></html>")
}
