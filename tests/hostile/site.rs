//! A host that misbehaves, and its log.
//!
//! Every path has a [`Reply`]; those that a behaviour does not name are the plain pages of a small
//! healthy site, so that it shows whether the crawl gets on with the host afterwards.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::loopback::server::{Step, play};

/// Where hostile and healthy servers listen: the one address that the crawl may connect to.
pub(crate) const ADDRESS: [u8; 4] = [127, 0, 0, 2];

/// What a server says to one request.
pub(crate) struct Reply {
    pub(crate) steps: Vec<Step>,
    /// Whether the connection is kept for the next request.
    pub(crate) keep: bool,
}

/// Says these bytes and closes.
pub(crate) fn raw(bytes: impl AsRef<[u8]>) -> Reply {
    Reply { steps: vec![Step::Send(bytes.as_ref().to_vec())], keep: false }
}

/// Says these bytes and keeps the connection.
pub(crate) fn kept(bytes: impl AsRef<[u8]>) -> Reply {
    Reply { keep: true, ..raw(bytes) }
}

/// Plays these steps and closes.
pub(crate) fn steps(steps: Vec<Step>) -> Reply {
    Reply { steps, keep: false }
}

/// A whole answer with these header lines, each ended by CR LF.
pub(crate) fn answer(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Reply {
    let body = body.as_ref();
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    kept([head.as_bytes(), body].concat())
}

/// A page of HTML.
pub(crate) fn page(html: impl AsRef<[u8]>) -> Reply {
    answer("200 OK", "Content-Type: text/html; charset=utf-8\r\n", html)
}

/// A page of some words of its own that links to `paths`.
pub(crate) fn links(title: &str, paths: &[&str]) -> Reply {
    let mut html = format!("<title>{title}</title><p>{}</p>", words(title));
    paths.iter().for_each(|path| html.push_str(&format!("<a href=\"{path}\">{path}</a>\n")));
    page(html)
}

/// Forty words that depend on `key` alone, so that pages differ as real ones do.
pub(crate) fn words(key: &str) -> String {
    let mut state = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut text = String::new();
    for _ in 0..40 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.push_str(&format!("word{} ", state >> 50));
    }
    text
}

/// What a request asks for, and how often it was asked before.
pub(crate) struct Ask<'a> {
    pub(crate) host: &'a str,
    pub(crate) path: &'a str,
    pub(crate) before: usize,
    pub(crate) port: u16,
}

/// What a site says instead of its plain pages.
pub(crate) type Says = Arc<dyn Fn(&Ask<'_>) -> Option<Reply> + Send + Sync>;

/// How a site speaks.
#[derive(Clone)]
pub(crate) enum Speech {
    /// HTTP/1.1, by path.
    Http(Says),
    /// The same script on every connection, whatever is asked.
    Every(Vec<Step>),
    /// The nth connection plays the nth script, and further ones the last.
    Nth(Vec<Vec<Step>>),
    /// Within TLS.
    Tls(Arc<rustls::ServerConfig>, Box<Speech>),
    /// Where ALPN chose HTTP/2 the script, else the speech.
    Http2(Arc<rustls::ServerConfig>, Vec<Step>, Box<Speech>),
    /// HTTP/2 by hyper, with the plain pages.
    Http2Well(Arc<rustls::ServerConfig>),
    /// Connections are refused.
    Refused,
    /// Connections are neither accepted nor refused.
    Full,
}

/// Requests by path, connections, and bytes sent.
#[derive(Default)]
pub(crate) struct Log {
    requests: Mutex<Vec<(String, String, String)>>,
    connections: AtomicU64,
    sent: AtomicU64,
}

impl Log {
    /// Returns host and path of every request, in order.
    pub(crate) fn requests(&self) -> Vec<(String, String)> {
        let log = self.requests.lock().unwrap();
        log.iter().map(|(host, path, _)| (host.clone(), path.clone())).collect()
    }

    /// Returns the whole head of every request.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.requests.lock().unwrap().iter().map(|(.., head)| head.clone()).collect()
    }

    /// Returns how often a path was asked for, over all hosts.
    pub(crate) fn asked(&self, path: &str) -> usize {
        self.requests.lock().unwrap().iter().filter(|(_, asked, _)| asked == path).count()
    }

    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

/// A site that is being served, until it is dropped.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    pub(crate) log: Arc<Log>,
    task: Option<JoinHandle<()>>,
    /// Connections that fill the backlog of a listener that nobody accepts from.
    waiting: Vec<TcpStream>,
}

impl Site {
    /// Serves on a port that is free on loopback as well, so that a second server may stand there.
    pub(crate) async fn start(address: [u8; 4], speech: Speech) -> Self {
        let (listener, inside) = loop {
            let listener = listen((address, 0).into(), matches!(speech, Speech::Full)).unwrap();
            let port = listener.local_addr().unwrap().port();
            if let Ok(inside) = listen(([127, 0, 0, 1], port).into(), false) {
                break (listener, inside);
            }
        };
        drop(inside);
        Site::on(listener, speech).await
    }

    /// Serves where nothing may ever connect to: on the same port of loopback.
    pub(crate) async fn inside(port: u16) -> Vec<Self> {
        let mut sites = Vec::new();
        for address in
            [SocketAddr::from(([127, 0, 0, 1], port)), (std::net::Ipv6Addr::LOCALHOST, port).into()]
        {
            // A machine without IPv6 has one place less to be kept away from.
            let Ok(listener) = listen(address, false) else { continue };
            sites.push(Site::on(listener, http_by(|_| None)).await);
        }
        assert!(!sites.is_empty(), "the port was free a moment ago");
        sites
    }

    async fn on(listener: TcpListener, speech: Speech) -> Self {
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Log::default());
        let mut waiting = Vec::new();
        if matches!(speech, Speech::Refused) {
            return Site { address, log, task: None, waiting };
        }
        if matches!(speech, Speech::Full) {
            let patience = std::time::Duration::from_millis(100);
            let full = |waiting: &Vec<TcpStream>| waiting.len() >= 100;
            while let Ok(stream) = tokio::time::timeout(patience, TcpStream::connect(address)).await
            {
                waiting.push(stream.unwrap());
                assert!(!full(&waiting), "a backlog of one holds a hundred");
            }
            let task = tokio::spawn(async move {
                std::future::pending::<()>().await;
                drop(listener);
            });
            return Site { address, log, task: Some(task), waiting };
        }
        let seen = log.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (speech, log) = (speech.clone(), seen.clone());
                tokio::spawn(connection(stream, speech, log, address.port()));
            }
        });
        Site { address, log, task: Some(task), waiting }
    }
}

fn listen(address: SocketAddr, full: bool) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.bind(address)?;
    socket.listen(if full { 1 } else { 128 })
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
        self.waiting.clear();
    }
}

async fn connection(tcp: TcpStream, speech: Speech, log: Arc<Log>, port: u16) {
    let number = log.connections.fetch_add(1, Ordering::Relaxed);
    let resets = |script: &[Step]| script.iter().any(|step| matches!(step, Step::Reset));
    // Scripts by path may reset as well; a close that was read to its end sends none either way.
    let resetting = match &speech {
        Speech::Every(script) => resets(script),
        Speech::Nth(scripts) => scripts.iter().any(|script| resets(script)),
        _ => false,
    };
    if resetting {
        let _ = tcp.set_zero_linger();
    }
    match speech {
        Speech::Tls(config, inner) => {
            let Some(stream) = Counted::tls(tcp, config, &log).await else { return };
            speak(stream, *inner, number, log, port).await;
        }
        Speech::Http2(config, script, inner) => {
            let Some(stream) = Counted::tls(tcp, config, &log).await else { return };
            let http2 = stream.stream.get_ref().1.alpn_protocol() == Some(b"h2");
            let within = if http2 { Speech::Every(script) } else { *inner };
            speak(stream, within, number, log, port).await;
        }
        Speech::Http2Well(config) => {
            let Some(stream) = Counted::tls(tcp, config, &log).await else { return };
            let service = hyper::service::service_fn(|request| {
                let answer = spoken_well(&request, &log);
                async { Ok::<_, std::convert::Infallible>(answer) }
            });
            let server =
                hyper::server::conn::http2::Builder::new(hyper_util::rt::TokioExecutor::new());
            let stream = hyper_util::rt::TokioIo::new(stream);
            let _ = server.serve_connection(stream, service).await;
        }
        speech => speak(Counted { stream: tcp, log: log.clone() }, speech, number, log, port).await,
    }
}

async fn speak<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    speech: Speech,
    number: u64,
    log: Arc<Log>,
    port: u16,
) {
    match speech {
        Speech::Http(says) => while http(&mut stream, &says, &log, port).await.is_some() {},
        Speech::Every(script) => drop(play(stream, script, 0, Arc::default()).await),
        Speech::Nth(scripts) => {
            let script = scripts[(number as usize).min(scripts.len() - 1)].clone();
            drop(play(stream, script, 0, Arc::default()).await);
        }
        Speech::Tls(..)
        | Speech::Http2(..)
        | Speech::Http2Well(_)
        | Speech::Refused
        | Speech::Full => {}
    }
}

/// The plain pages in HTTP/2.
fn spoken_well(
    request: &hyper::Request<hyper::body::Incoming>,
    log: &Log,
) -> hyper::Response<http_body_util::Full<bytes::Bytes>> {
    let path = request.uri().path().to_owned();
    let (status, html) = match path.as_str() {
        "/" => (200, "<a href=/bad>1</a><a href=/after>2</a>"),
        "/bad" | "/after" => (200, "good"),
        _ => (404, "not here"),
    };
    log.requests.lock().unwrap().push(("bad.test".to_owned(), path, String::new()));
    let response = hyper::Response::builder().status(status).header("content-type", "text/html");
    response.body(http_body_util::Full::from(html)).unwrap()
}

/// Answers one request; `None` if the connection is over.
async fn http<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    says: &Says,
    log: &Log,
    port: u16,
) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1)?.to_owned();
    let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with("host:"));
    let host = line.and_then(|line| line.split(':').nth(1)).unwrap_or_default().trim().to_owned();
    let before = {
        let mut requests = log.requests.lock().unwrap();
        let before = requests.iter().filter(|(h, p, _)| *h == host && *p == path).count();
        requests.push((host.clone(), path.clone(), head.clone()));
        before
    };
    let ask = Ask { host: &host, path: &path, before, port };
    let reply = says(&ask).unwrap_or_else(|| plain(&path));
    let keep = reply.keep;
    let done = if keep {
        let mut wrote = Ok(());
        for step in reply.steps {
            if let Step::Send(bytes) = step {
                wrote = tokio::io::AsyncWriteExt::write_all(stream, &bytes).await;
            }
        }
        wrote.is_ok()
    } else {
        let _ = play(stream, reply.steps, 0, Arc::default()).await;
        false
    };
    done.then_some(())
}

/// The plain pages: a home page, the page behind the bad one, and nothing else.
fn plain(path: &str) -> Reply {
    match path {
        "/" => links("home", &["/bad", "/after"]),
        "/after" => links("after", &[]),
        _ => answer("404 Not Found", "Content-Type: text/plain\r\n", "not here"),
    }
}

/// A site whose `/bad` says `reply`.
pub(crate) fn bad(reply: impl Fn() -> Reply + Send + Sync + 'static) -> Speech {
    http_by(move |ask| (ask.path == "/bad").then(&reply))
}

/// A site that says what `says` wants, and its plain pages otherwise.
pub(crate) fn http_by(says: impl Fn(&Ask<'_>) -> Option<Reply> + Send + Sync + 'static) -> Speech {
    Speech::Http(Arc::new(says))
}

/// A site with `robots` as its robots.txt; its home page also leads to `/private/x`.
pub(crate) fn robots(reply: impl Fn(&Ask<'_>) -> Reply + Send + Sync + 'static) -> Speech {
    http_by(move |ask| match ask.path {
        "/robots.txt" => Some(reply(ask)),
        "/" => Some(links("home", &["/private/x", "/after"])),
        _ => None,
    })
}

/// A healthy site of `count` pages in a chain and a star.
pub(crate) fn healthy(count: usize) -> Speech {
    http_by(move |ask| {
        let number: usize = match ask.path {
            "/" => 0,
            path => path.strip_prefix("/page-")?.parse().ok().filter(|n| *n < count)?,
        };
        let next: Vec<String> = (1..=3).map(|k| (number * 3 + k) % count).map(page_path).collect();
        let next: Vec<&str> = next.iter().map(String::as_str).collect();
        Some(links(&format!("healthy {number}"), &next))
    })
}

/// Returns the path of a healthy page.
pub(crate) fn page_path(number: usize) -> String {
    if number == 0 { "/".to_owned() } else { format!("/page-{number}") }
}

/// Counts what is written.
struct Counted<S> {
    stream: S,
    log: Arc<Log>,
}

impl Counted<tokio_rustls::server::TlsStream<TcpStream>> {
    async fn tls(
        tcp: TcpStream,
        config: Arc<rustls::ServerConfig>,
        log: &Arc<Log>,
    ) -> Option<Self> {
        let stream = TlsAcceptor::from(config).accept(tcp).await.ok()?;
        Some(Counted { stream, log: log.clone() })
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        if let Poll::Ready(Ok(length)) = &wrote {
            self.log.sent.fetch_add(*length as u64, Ordering::Relaxed);
        }
        wrote
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

/// Counts of requests by path, for messages.
pub(crate) fn tally(log: &Log) -> BTreeMap<String, usize> {
    let mut tally = BTreeMap::new();
    for (host, path) in log.requests() {
        *tally.entry(format!("{host}{path:.80}")).or_default() += 1;
    }
    tally
}
