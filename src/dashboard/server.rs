//! The listener: a thread of its own, bounded connections, and an end.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Serialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tower_service::Service;

use super::guard::Guard;
use super::history::History;
use super::patience::Patient;
use super::routes::{Site, Streams, router};
use super::settings::{Settings, TOKEN_MIN};
use super::view::Published;
use crate::crawl::{Command, Snapshot};

/// Time for a request's head; longer is a fault or an attack.
const HEAD_WITHIN: Duration = Duration::from_secs(5);

/// Time for a request and its answer, streams excepted.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Time in which a client must take some of what is sent to it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time in which open pages get the crawl's last figures.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Bytes of a request's head: ours have a few hundred, browsers add some.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// What the page says of the crawl.
#[derive(Clone, Debug, Default, Serialize)]
pub struct About {
    /// Name of the crawler.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Directory of the crawl.
    pub dir: String,
    /// What it is for.
    pub purpose: String,
}

/// Why there is no dashboard; reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum DashboardError {
    /// A setting is wrong.
    #[error("start the dashboard: {0}")]
    Settings(String),
    /// The token cannot be used.
    #[error("read the dashboard's token from {path}: {why}")]
    Token {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The address cannot be listened on.
    #[error(
        "listen on {address} for the dashboard: {error}; choose another port with --dashboard, or \
         stop what listens there"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        error: std::io::Error,
    },
    /// No thread, or no runtime.
    #[error("start the dashboard's thread: {0}")]
    Thread(std::io::Error),
}

/// A running dashboard.
#[derive(Debug)]
pub struct Dashboard {
    address: SocketAddr,
    thread: std::thread::JoinHandle<()>,
}

/// What a dashboard needs of the machine: its address, taken, and its token, read. A crawl asks for
/// it before it makes anything.
#[derive(Debug)]
pub struct Bound {
    settings: Settings,
    token: Option<String>,
    listener: std::net::TcpListener,
    address: SocketAddr,
}

impl Bound {
    /// Takes the address and reads the token; nothing where no dashboard is asked for.
    ///
    /// # Errors
    /// Returns what is wrong with the settings, the token or the address.
    pub fn new(settings: &Settings) -> Result<Option<Bound>, DashboardError> {
        settings.check().map_err(DashboardError::Settings)?;
        let Some(address) = settings.address().map_err(DashboardError::Settings)? else {
            return Ok(None);
        };
        let token = read_token(settings)?;
        let refused = |error| DashboardError::Listen { address, error };
        let listener = std::net::TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Some(Bound { settings: settings.clone(), token, listener, address }))
    }

    /// Serves the crawl's view there, on a thread of its own.
    ///
    /// # Errors
    /// Returns why there is no thread.
    pub fn start(
        self,
        about: About,
        snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
        commands: mpsc::Sender<Command>,
    ) -> Result<Dashboard, DashboardError> {
        let Bound { settings, token, listener, address } = self;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(DashboardError::Thread)?;
        let (publish, published) = watch::channel(None);
        let history = Arc::new(Mutex::new(History::default()));
        let site = Arc::new(Site {
            guard: Guard::new(token.as_deref(), &settings.hosts),
            about,
            snapshots: snapshots.clone(),
            published,
            history: history.clone(),
            commands,
            pages: Arc::new(Semaphore::new(settings.pages_max)),
        });
        let connections = settings.connections_max;
        let run = move || {
            runtime.block_on(async move {
                let Ok(listener) = TcpListener::from_std(listener) else { return };
                let mut open = JoinSet::new();
                tokio::select! {
                    () = serve(listener, site, connections, &mut open) => {}
                    () = publish_all(snapshots, publish, history) => {}
                }
                // The crawl is over: pages get its last figures, then their streams end.
                let all = async { while open.join_next().await.is_some() {} };
                let _ = tokio::time::timeout(LAST_WORDS, all).await;
            });
        };
        let thread = std::thread::Builder::new()
            .name("dashboard".to_owned())
            .spawn(run)
            .map_err(DashboardError::Thread)?;
        Ok(Dashboard { address, thread })
    }
}

impl Dashboard {
    /// Starts listening, if the settings say so.
    ///
    /// # Errors
    /// Returns why it cannot; nothing has been started then.
    pub fn start(
        settings: &Settings,
        about: About,
        snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
        commands: mpsc::Sender<Command>,
    ) -> Result<Option<Dashboard>, DashboardError> {
        let bound = Bound::new(settings)?;
        bound.map(|bound| bound.start(about, snapshots, commands)).transpose()
    }

    /// Returns where it listens; the port is a real one even if 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until open pages have the last figures, two seconds at most; the crawl's snapshots
    /// must have ended.
    pub fn close(self) {
        // A dashboard that broke has been reported by its own panic message.
        let _ = self.thread.join();
    }
}

/// Checks that the token can be read, where a file is named for it.
///
/// # Errors
/// Returns what is wrong with it.
pub fn check_token(settings: &Settings) -> Result<(), DashboardError> {
    read_token(settings).map(|_| ())
}

fn read_token(settings: &Settings) -> Result<Option<String>, DashboardError> {
    let path = &settings.token_file;
    if path.as_os_str().is_empty() {
        return Ok(None);
    }
    let wrong = |why: String| DashboardError::Token { path: path.clone(), why };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let token = text.lines().next().unwrap_or_default().trim();
    if token.len() < TOKEN_MIN {
        return Err(wrong(format!(
            "its first line has {} characters, and {TOKEN_MIN} are needed; make one with openssl \
             rand -hex 16",
            token.len()
        )));
    }
    Ok(Some(token.to_owned()))
}

/// Writes every snapshot down, until there are no more.
async fn publish_all(
    mut snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    publish: watch::Sender<Option<Published>>,
    history: Arc<Mutex<History>>,
) {
    while snapshots.changed().await.is_ok() {
        let Some(snapshot) = snapshots.borrow_and_update().clone() else { continue };
        history.lock().unwrap_or_else(PoisonError::into_inner).add(&snapshot);
        let published = Published::of(&snapshot, publish.borrow().as_ref());
        publish.send_replace(Some(published));
    }
}

async fn serve(
    listener: TcpListener,
    site: Arc<Site>,
    connections_max: usize,
    open: &mut JoinSet<()>,
) {
    let slots = Arc::new(Semaphore::new(connections_max));
    let router = router(site);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    // Beyond the bound a connection is closed at once: those that are open go on.
                    if let Ok(slot) = slots.clone().try_acquire_owned() {
                        open.spawn(answer(stream, router.clone(), slot));
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "the dashboard cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
            Some(_) = open.join_next() => {}
        }
    }
}

/// Answers the one request of a connection.
async fn answer(stream: TcpStream, router: axum::Router, slot: OwnedSemaphorePermit) {
    let streams = Streams::default();
    let mark = streams.clone();
    let service = hyper::service::service_fn(move |mut request: hyper::Request<_>| {
        request.extensions_mut().insert(mark.clone());
        router.clone().call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(HEAD_BYTES_MAX)
        .keep_alive(false)
        .serve_connection(TokioIo::new(Patient::new(stream, PATIENCE)), service);
    tokio::pin!(connection);
    tokio::select! {
        // A client that breaks off is the client's business.
        _ = &mut connection => {}
        () = tokio::time::sleep(ANSWER_WITHIN) => {
            if streams.0.load(Ordering::Relaxed) {
                let _ = connection.await;
            }
        }
    }
    drop(slot);
}
