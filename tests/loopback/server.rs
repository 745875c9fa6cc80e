//! A server that does exactly what it is told, one step after the other.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// One thing that a server does on a connection.
#[derive(Clone)]
pub(crate) enum Step {
    /// Reads a request up to its blank line, and logs it.
    Read,
    /// Reads the HTTP/2 preface and frames up to the head of a request.
    ReadHttp2,
    /// Sends bytes.
    Send(Vec<u8>),
    /// Sends the same bytes until the client has had enough.
    SendForever(Vec<u8>),
    /// Sends bytes one by one, slowly.
    Drip(Vec<u8>),
    /// Sends the same byte for ever, slowly.
    DripForever(u8),
    /// Does nothing until the client closes.
    Hang,
    /// Closes in such a way that the client gets a reset.
    Reset,
}

/// Returns the steps that answer one request with `bytes` and close.
pub(crate) fn answer(bytes: impl AsRef<[u8]>) -> Vec<Step> {
    vec![Step::Read, Step::Send(bytes.as_ref().to_vec())]
}

/// A plain good page.
pub(crate) const GOOD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\ngood";

/// A scripted server; it stops when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    log: Arc<Mutex<Vec<(usize, String)>>>,
    open: Arc<watch::Sender<usize>>,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts a server whose nth connection plays the nth script, and further ones the last.
    pub(crate) async fn start(scripts: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let seen = log.clone();
        let open = Arc::new(watch::Sender::new(0));
        let count = open.clone();
        let task = tokio::spawn(async move {
            let mut number = 0;
            while let Ok((stream, _)) = listener.accept().await {
                let script = scripts[number.min(scripts.len() - 1)].clone();
                let (seen, count) = (seen.clone(), count.clone());
                count.send_modify(|open| *open += 1);
                tokio::spawn(async move {
                    if script.iter().any(|step| matches!(step, Step::Reset)) {
                        stream.set_zero_linger().unwrap();
                    }
                    let _ = play(stream, script, number, seen).await;
                    count.send_modify(|open| *open -= 1);
                });
                number += 1;
            }
        });
        Server { address, log, open, task }
    }

    /// Starts a server that plays one script on every connection.
    pub(crate) async fn playing(script: Vec<Step>) -> Self {
        Self::start(vec![script]).await
    }

    /// Returns the requests so far, each with the number of its connection.
    pub(crate) fn requests(&self) -> Vec<(usize, String)> {
        self.log.lock().unwrap().clone()
    }

    /// Waits until every connection has been closed by the client, or by its script.
    pub(crate) async fn all_closed(&self) {
        let mut open = self.open.subscribe();
        let closed = open.wait_for(|open| *open == 0);
        tokio::time::timeout(Duration::from_secs(10), closed).await.unwrap().unwrap();
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Plays a script on a stream of any kind.
pub(crate) async fn play<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    script: Vec<Step>,
    number: usize,
    log: Arc<Mutex<Vec<(usize, String)>>>,
) -> std::io::Result<()> {
    for step in script {
        match step {
            Step::Read => {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    request.push(stream.read_u8().await?);
                }
                let request = String::from_utf8_lossy(&request).into_owned();
                log.lock().unwrap().push((number, request));
            }
            Step::ReadHttp2 => read_http2(&mut stream).await?,
            Step::Send(bytes) => stream.write_all(&bytes).await?,
            Step::SendForever(bytes) => loop {
                stream.write_all(&bytes).await?;
            },
            Step::Drip(bytes) => {
                let mut beat = tokio::time::interval(Duration::from_millis(5));
                for byte in bytes {
                    beat.tick().await;
                    stream.write_all(&[byte]).await?;
                }
            }
            Step::DripForever(byte) => {
                let mut beat = tokio::time::interval(Duration::from_millis(5));
                loop {
                    beat.tick().await;
                    stream.write_all(&[byte]).await?;
                }
            }
            Step::Hang => {
                let mut rest = [0; 1024];
                while stream.read(&mut rest).await? > 0 {}
            }
            Step::Reset => return Ok(()),
        }
    }
    stream.shutdown().await?;
    // A socket closed with unread bytes sends a reset, which can overtake what was sent.
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}

/// Reads the connection preface and frames up to one of the kind HEADERS (RFC 9113 §3.4, §4.1).
async fn read_http2<S: AsyncRead + Unpin>(stream: &mut S) -> std::io::Result<()> {
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        stream.read_exact(&mut vec![0; length as usize]).await?;
        if head[3] == 1 {
            return Ok(());
        }
    }
}
