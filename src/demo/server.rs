//! The web on loopback: real sockets, real time, the same answers.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{ACCEPT_ENCODING, CONTENT_LENGTH, HOST, HeaderMap, HeaderValue, IF_NONE_MATCH};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::clock::{Clock, Timestamp};
use crate::url::Host;

use super::log::RequestLog;
use super::names;
use super::reply::{Ask, Page, Reply, reply};
use super::web::WebSpec;

/// Connections at once on all addresses; further ones wait in the socket.
const CONNECTIONS_MAX: usize = 1024;

/// How often a free port is looked for that is free on every address.
const PORT_ATTEMPTS: usize = 20;

/// How long a silent server keeps a connection.
const SILENCE: Duration = Duration::from_secs(600);

/// A slow body comes in this rhythm.
const DRIP: Duration = Duration::from_millis(100);

/// Nothing listens here: connections to it are refused.
const NOBODY: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 254));

/// Where and how a web is served.
#[derive(Clone, Copy, Debug)]
pub struct ServerOptions {
    /// Port of all sites; 0: the system chooses.
    pub http_port: u16,
    /// Port of the name server, on 127.0.0.1; 0: the system chooses.
    pub dns_port: u16,
    /// How many addresses the sites share, from 127.0.0.1 on; 1 to 200.
    pub addresses: u8,
    /// Requests that the log keeps.
    pub log_kept_max: usize,
}

impl Default for ServerOptions {
    fn default() -> Self {
        ServerOptions { http_port: 0, dns_port: 0, addresses: 4, log_kept_max: 100_000 }
    }
}

/// A web that is being served. Dropping it ends that.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    dns_addr: SocketAddr,
    tasks: Vec<JoinHandle<()>>,
    open: watch::Sender<bool>,
}

/// What all tasks of a server share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) web: WebSpec,
    clock: Arc<Clock>,
    began: Timestamp,
    log: RequestLog,
    open: watch::Receiver<bool>,
}

impl Shared {
    pub(super) fn elapsed(&self) -> Duration {
        self.clock.now().since(self.began)
    }

    /// Waits until the server is closed.
    pub(super) fn closed(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut open = self.open.clone();
        async move {
            // An error means that the server is gone, which is the same.
            let _ = open.wait_for(|open| !*open).await;
        }
    }
}

impl Server {
    /// Serves a web on loopback addresses. Sites without an address get one of them in turn, and
    /// the port becomes part of all URLs.
    ///
    /// # Errors
    /// Returns why a port cannot be opened.
    pub async fn start(
        web: WebSpec,
        clock: Arc<Clock>,
        options: ServerOptions,
    ) -> io::Result<Self> {
        let addresses: Vec<IpAddr> =
            (1..=options.addresses.clamp(1, 200)).map(|n| [127, 0, 0, n].into()).collect();
        let listeners = listen(&addresses, options.http_port).await?;
        let port =
            listeners.first().map_or(Ok(0), |first| first.local_addr().map(|at| at.port()))?;
        let (udp, tcp) = bind_names(options.dns_port).await?;
        let dns_addr = udp.local_addr()?;
        let mut web = web.with_port(port);
        web.place(&addresses, NOBODY);
        let (open, receiver) = watch::channel(true);
        let (began, log) = (clock.now(), RequestLog::new(options.log_kept_max));
        let shared = Arc::new(Shared { web, clock, began, log, open: receiver });
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let mut tasks = vec![
            spawn(&shared, names::serve_udp(udp, shared.clone())),
            spawn(&shared, names::serve_tcp(tcp, shared.clone())),
        ];
        for listener in listeners {
            let accepting = accept(listener, shared.clone(), places.clone());
            tasks.push(spawn(&shared, accepting));
        }
        Ok(Server { shared, dns_addr, tasks, open })
    }

    /// Returns where the name server listens, by UDP and TCP.
    pub fn dns_addr(&self) -> SocketAddr {
        self.dns_addr
    }

    /// Returns the port of all sites.
    pub fn http_port(&self) -> u16 {
        self.shared.web.port()
    }

    /// Returns the web as it is served, port and addresses included.
    pub fn web(&self) -> &WebSpec {
        &self.shared.web
    }

    /// Returns the requests so far.
    pub fn requests(&self) -> &RequestLog {
        &self.shared.log
    }

    /// Closes every socket and waits for that.
    pub async fn shutdown(mut self) {
        self.open.send_replace(false);
        for task in self.tasks.drain(..) {
            // A task that panicked is closed as well.
            let _ = task.await;
        }
    }
}

fn spawn(shared: &Shared, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    let closed = shared.closed();
    tokio::spawn(async move {
        tokio::select! {
            () = work => {}
            () = closed => {}
        }
    })
}

/// Listens on one port of every address.
async fn listen(addresses: &[IpAddr], port: u16) -> io::Result<Vec<TcpListener>> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        match listen_once(addresses, port).await {
            // A port that is free on one address may be taken on another.
            Err(_) if port == 0 && attempts < PORT_ATTEMPTS => {}
            outcome => return outcome,
        }
    }
}

async fn listen_once(addresses: &[IpAddr], mut port: u16) -> io::Result<Vec<TcpListener>> {
    let mut listeners = Vec::with_capacity(addresses.len());
    for address in addresses {
        let listener = TcpListener::bind((*address, port)).await?;
        port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(listeners)
}

async fn bind_names(port: u16) -> io::Result<(tokio::net::UdpSocket, TcpListener)> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        match names::bind(port).await {
            Err(_) if port == 0 && attempts < PORT_ATTEMPTS => {}
            outcome => return outcome,
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, places: Arc<Semaphore>) {
    while let Ok(place) = places.clone().acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors: try again when some may be free.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (shared, closed) = (shared.clone(), shared.closed());
        tokio::spawn(async move {
            let _place = place;
            tokio::select! {
                () = serve(stream, shared) => {}
                () = closed => {}
            }
        });
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let _ = stream.set_nodelay(true);
    let address = stream.local_addr().ok().map(|at| at.ip());
    let service = hyper::service::service_fn(move |request| {
        let shared = shared.clone();
        async move { respond(request, shared, address).await }
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).title_case_headers(true);
    // Errors are those that the specification asked for, or the client's.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Notes the end of a request when its answer has been sent or given up.
struct UnderWay {
    shared: Arc<Shared>,
    host: Host,
    address: Option<IpAddr>,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.shared.log.end(&self.host, self.address, self.shared.clock.now());
    }
}

async fn respond(
    request: Request<Incoming>,
    shared: Arc<Shared>,
    address: Option<IpAddr>,
) -> Result<Response<Body>, io::Error> {
    let name = host_name(&request);
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let (host, now) = (Host::new(&name), shared.clock.now());
    let known = shared.web.site_of(&name).is_some();
    let since_last = shared.log.begin((&host, known), target, address, now);
    let under_way = UnderWay { shared: shared.clone(), host, address };
    if request.method() != Method::GET {
        return Ok(status_only(StatusCode::METHOD_NOT_ALLOWED));
    }
    let header = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    let ask = Ask {
        host: &name,
        target,
        if_none_match: header(IF_NONE_MATCH),
        gzip: header(ACCEPT_ENCODING).is_some_and(|codings| codings.contains("gzip")),
        since_last,
        elapsed: shared.elapsed(),
        now,
    };
    match reply(&shared.web, &ask) {
        Reply::Refused => Err(io::ErrorKind::ConnectionRefused.into()),
        Reply::Closed(wait) => {
            sleep(wait).await;
            Err(io::ErrorKind::ConnectionReset.into())
        }
        Reply::Silent => {
            sleep(SILENCE).await;
            Err(io::ErrorKind::TimedOut.into())
        }
        Reply::Page(page) => {
            sleep(page.wait).await;
            Ok(response(*page, under_way))
        }
    }
}

fn host_name(request: &Request<Incoming>) -> String {
    let authority = request.headers().get(HOST).and_then(|host| host.to_str().ok());
    let name = authority.unwrap_or_default();
    let name = name.rsplit_once(':').map_or(name, |(name, _)| name);
    name.to_ascii_lowercase()
}

fn status_only(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(empty());
    *response.status_mut() = status;
    response
}

fn empty() -> Body {
    Empty::new().map_err(|never: Infallible| match never {}).boxed_unsync()
}

fn response(page: Page, under_way: UnderWay) -> Response<Body> {
    let status = StatusCode::from_u16(page.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = status_only(status);
    let headers: &mut HeaderMap = response.headers_mut();
    for (name, value) in &page.headers {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.append(*name, value);
        }
    }
    if page.status == 304 {
        return response;
    }
    if !page.chunked {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(page.payload.len()));
    }
    *response.body_mut() = body(page, under_way);
    response
}

/// What is still to be sent of a body.
struct Rest {
    payload: Bytes,
    /// True if the connection breaks at the end.
    cut: bool,
    rate: u64,
    _under_way: UnderWay,
}

fn body(page: Page, under_way: UnderWay) -> Body {
    let end = page.cut.unwrap_or(page.payload.len());
    let payload = page.payload.slice(..end);
    let rest = Rest { payload, cut: page.cut.is_some(), rate: page.rate, _under_way: under_way };
    let frames = stream::unfold(Some(rest), |rest| async { next_frame(rest?).await });
    BodyExt::boxed_unsync(StreamBody::new(Pin::from(
        Box::new(frames) as Box<dyn futures_util::Stream<Item = io::Result<Frame<Bytes>>> + Send>
    )))
}

async fn next_frame(mut rest: Rest) -> Option<(io::Result<Frame<Bytes>>, Option<Rest>)> {
    if rest.payload.is_empty() {
        if !rest.cut {
            return None;
        }
        // What was sent before must be on its way, or breaking off would take it back.
        sleep(DRIP).await;
        return Some((Err(io::ErrorKind::ConnectionReset.into()), None));
    }
    let part = match rest.rate {
        0 => rest.payload.len(),
        rate => {
            sleep(DRIP).await;
            usize::try_from(rate / 10).unwrap_or(usize::MAX).clamp(1, rest.payload.len())
        }
    };
    let frame = Frame::data(rest.payload.split_to(part));
    Some((Ok(frame), Some(rest)))
}
