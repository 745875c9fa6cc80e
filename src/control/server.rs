//! The crawl's side of the socket.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::wire::{Reply, Request, Status};
use super::{ANSWER_MAX, CLIENTS_MAX, IDLE_MAX, REQUEST_MAX, WRITE_MAX, socket_path};
use crate::clock::Clock;
use crate::crawl::census::{Census, census};
use crate::crawl::steer::{By, Channel, Kind, Order, Refusal};
use crate::crawl::{Command, Snapshot};
use crate::db::{Db, DbError};
use crate::frontier::Rules;

/// Least time between two counts of the state.
const CENSUS_EVERY: Duration = Duration::from_secs(3);

/// A count rests this many times as long as it took, so that it costs at most a tenth of a core.
const CENSUS_RESTS: u32 = 10;

/// A count is anew for a single question when it is older than this.
const CENSUS_OLD: Duration = Duration::from_secs(10);

/// Time that a single question waits for it.
const CENSUS_WAIT: Duration = Duration::from_secs(2);

/// Time for clients to take the last line when the crawl has ended.
const FAREWELL: Duration = Duration::from_secs(2);

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// Its path is too long.
    #[error("open the control socket: {0}")]
    Path(String),
    /// The system refuses it.
    #[error("open the control socket {path}: {why}")]
    Open {
        /// Where.
        path: String,
        /// What the system says.
        why: io::Error,
    },
}

/// Changes the level of the program's log, or says what is wrong with the one that was named.
pub type ChangeLevel = Arc<dyn Fn(&str) -> Result<(), String> + Send + Sync>;

/// What a server steers and shows.
pub struct Steering {
    /// Where orders go.
    pub commands: mpsc::Sender<Command>,
    /// What the loop publishes.
    pub snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    /// The state, for counts.
    pub db: Arc<Db>,
    /// The archive's directory.
    pub archive: PathBuf,
    /// The time.
    pub clock: Arc<Clock>,
    /// Politeness, for the hours in which hosts may be fetched: no order changes those.
    pub politeness: Arc<Rules>,
    /// Changes what the program says of itself.
    pub log_level: ChangeLevel,
}

impl std::fmt::Debug for Steering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Steering").field("archive", &self.archive).finish_non_exhaustive()
    }
}

/// How a crawl ended, for those who watch it.
pub type Ended = Option<String>;

/// A socket that is open.
#[derive(Debug)]
pub struct Server {
    path: PathBuf,
    ended: watch::Sender<Ended>,
    serving: JoinHandle<()>,
    watchers: watch::Receiver<usize>,
    counted: Arc<watch::Sender<Option<Census>>>,
    /// What the last count is taken from.
    last: Option<Countable>,
}

/// What is counted for observers.
#[derive(Clone, Debug)]
struct Countable {
    db: Arc<Db>,
    archive: PathBuf,
    clock: Arc<Clock>,
    politeness: Arc<Rules>,
}

impl Countable {
    fn count(&self) -> Result<Census, DbError> {
        census(&self.db, &self.archive, &self.politeness, self.clock.now())
    }
}

struct Shared {
    steering: Steering,
    ended: watch::Receiver<Ended>,
    census: watch::Receiver<Option<Census>>,
    /// How many clients watch.
    watchers: watch::Sender<usize>,
    about: Status,
}

impl Server {
    /// Opens the socket in the directory of a crawl whose state is locked by us, so that a socket
    /// which lies there is a dead one's. Must be called within a runtime, which then serves it.
    ///
    /// # Errors
    /// Returns why it cannot be opened; the crawl can go on without.
    pub fn open(dir: &Path, steering: Steering) -> Result<Server, ServerError> {
        let path = socket_path(dir).map_err(ServerError::Path)?;
        let wrap = |why| ServerError::Open { path: path.display().to_string(), why };
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(wrap(error)),
            _ => {}
        }
        let listener = UnixListener::bind(&path).map_err(wrap)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(wrap)?;
        let (ended, ended_view) = watch::channel(None);
        let (counted, census) = watch::channel(None);
        let (watchers, watched) = watch::channel(0);
        let about = Status {
            protocol: 1,
            pid: std::process::id(),
            dir: dir.display().to_string(),
            ..Status::default()
        };
        let counted = Arc::new(counted);
        let countable = Countable {
            db: steering.db.clone(),
            archive: steering.archive.clone(),
            clock: steering.clock.clone(),
            politeness: steering.politeness.clone(),
        };
        let last = Some(countable.clone());
        let counting = tokio::spawn(keep_counting(countable, counted.clone(), watched.clone()));
        let shared = Arc::new(Shared { steering, ended: ended_view, census, watchers, about });
        let serving = tokio::spawn(async move {
            serve(listener, shared).await;
            counting.abort();
        });
        Ok(Server { path, ended, serving, watchers: watched, counted, last })
    }

    /// Tells those who watch how the crawl ended, and closes the socket.
    pub async fn close(mut self, ended: &str) {
        // Whoever watches keeps the last view on the screen: it must not be some seconds old.
        let _ = timeout(CENSUS_WAIT, self.count_last()).await;
        let _ = self.ended.send(Some(ended.to_owned()));
        if timeout(FAREWELL, &mut self.serving).await.is_err() {
            self.serving.abort();
            let _ = (&mut self.serving).await;
        }
    }
}

impl Server {
    async fn count_last(&mut self) {
        if *self.watchers.borrow() == 0 {
            return;
        }
        let Some(countable) = self.last.take() else { return };
        if let Ok(Ok(census)) = tokio::task::spawn_blocking(move || countable.count()).await {
            self.counted.send_replace(Some(census));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Where it is gone already there is nothing to remove.
        let _ = std::fs::remove_file(&self.path);
        self.serving.abort();
    }
}

/// Counts the state again and again while somebody watches, on a thread for work that blocks.
async fn keep_counting(
    countable: Countable,
    counted: Arc<watch::Sender<Option<Census>>>,
    mut watched: watch::Receiver<usize>,
) {
    while watched.wait_for(|watchers| *watchers > 0).await.is_ok() {
        let (countable, clock) = (countable.clone(), countable.clock.clone());
        let began = clock.now();
        match tokio::task::spawn_blocking(move || countable.count()).await {
            Ok(Ok(census)) => drop(counted.send_replace(Some(census))),
            Ok(Err(error)) => tracing::warn!(%error, "cannot count the state for observers"),
            Err(_) => return,
        }
        let took = clock.now().since(began);
        tokio::time::sleep(CENSUS_EVERY.max(took * CENSUS_RESTS)).await;
    }
}

async fn serve(listener: UnixListener, shared: Arc<Shared>) {
    let places = Arc::new(Semaphore::new(CLIENTS_MAX));
    let mut clients = JoinSet::new();
    let mut ended = shared.ended.clone();
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of file descriptors, most likely; the crawl needs them more.
                    tracing::warn!(%error, "cannot accept a client of the control socket");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    continue;
                }
            },
            () = over(&mut ended) => break,
            Some(_) = clients.join_next() => continue,
        };
        let place = places.clone().try_acquire_owned().ok();
        let shared = shared.clone();
        clients.spawn(async move {
            let full = place.is_none();
            let _ = client(stream, &shared, full).await;
        });
        // One more than there are places may be told that there is none; the others wait in the
        // listener's own queue.
        if clients.len() > CLIENTS_MAX {
            clients.join_next().await;
        }
    }
    while clients.join_next().await.is_some() {}
}

fn refusal(kind: Kind, text: impl Into<String>) -> Reply {
    Reply::Said(Err(Refusal::new(kind, text)))
}

/// Serves a client until it goes, or does what is not allowed.
async fn client(stream: UnixStream, shared: &Shared, full: bool) -> io::Result<()> {
    let other = stream.peer_cred()?;
    let own = rustix::process::geteuid().as_raw();
    let (read, mut write) = stream.into_split();
    if other.uid() != own && other.uid() != 0 {
        let text = "this crawl belongs to another user";
        return say(&mut write, &refusal(Kind::Refused, text)).await;
    }
    if full {
        let text = format!("{CLIENTS_MAX} clients are connected: close one, or try again later");
        return say(&mut write, &refusal(Kind::Refused, text)).await;
    }
    let by = By { channel: Channel::Socket, uid: Some(other.uid()), pid: other.pid() };
    let mut lines = BufReader::with_capacity(1024, read.take(0));
    let mut ended = shared.ended.clone();
    loop {
        let line = tokio::select! {
            line = timeout(IDLE_MAX, next_line(&mut lines)) => line,
            () = over(&mut ended) => return Ok(()),
        };
        let Ok(line) = line else {
            let text = format!("no request for {} s", IDLE_MAX.as_secs());
            return say(&mut write, &refusal(Kind::Refused, text)).await;
        };
        let Some(line) = line? else { return Ok(()) };
        let Some(line) = line.strip_suffix('\n') else {
            let text = format!("a request is one line of at most {REQUEST_MAX} bytes");
            return say(&mut write, &refusal(Kind::Usage, text)).await;
        };
        match Request::read(line) {
            Err(why) => say(&mut write, &refusal(Kind::Usage, why)).await?,
            Ok(Request::Status) => {
                count_anew(shared).await;
                say(&mut write, &status(shared)).await?;
            }
            Ok(Request::Watch) => return watch_on(&mut lines, &mut write, shared).await,
            Ok(Request::Order(order)) => {
                let reply = carry_out(shared, order, by).await;
                say(&mut write, &reply).await?;
            }
        }
    }
}

/// Reads a line with its end, or as much as a line may have; none at the end of the stream.
async fn next_line(
    lines: &mut BufReader<tokio::io::Take<OwnedReadHalf>>,
) -> io::Result<Option<String>> {
    lines.get_mut().set_limit(REQUEST_MAX as u64);
    let mut line = Vec::new();
    lines.read_until(b'\n', &mut line).await?;
    if line.is_empty() {
        return Ok(None);
    }
    String::from_utf8(line).map(Some).map_err(io::Error::other)
}

async fn say(write: &mut OwnedWriteHalf, reply: &Reply) -> io::Result<()> {
    let mut line = reply.write();
    line.push('\n');
    timeout(WRITE_MAX, write.write_all(line.as_bytes())).await?
}

fn status(shared: &Shared) -> Reply {
    let snapshot = shared.steering.snapshots.borrow().as_deref().cloned();
    let census = shared.census.borrow().clone();
    let ended = shared.ended.borrow().clone();
    Reply::Status(Box::new(Status { ended, snapshot, census, ..shared.about.clone() }))
}

/// Waits for a count of the state where the last one is old, but not for long.
async fn count_anew(shared: &Shared) {
    let mut census = shared.census.clone();
    let now = shared.steering.clock.now();
    let age = census.borrow_and_update().as_ref().map(|census| now.since(census.at));
    if age.is_none_or(|age| age > CENSUS_OLD) {
        let _watching = Watching::begin(&shared.watchers);
        // What is there after that is good enough.
        let _ = timeout(CENSUS_WAIT, census.changed()).await;
    }
}

/// Sends the view of every second until the crawl ends or the client goes.
async fn watch_on(
    lines: &mut BufReader<tokio::io::Take<OwnedReadHalf>>,
    write: &mut OwnedWriteHalf,
    shared: &Shared,
) -> io::Result<()> {
    let _watching = Watching::begin(&shared.watchers);
    let mut snapshots = shared.steering.snapshots.clone();
    let mut ended = shared.ended.clone();
    loop {
        snapshots.borrow_and_update();
        say(write, &status(shared)).await?;
        if ended.borrow().is_some() {
            return Ok(());
        }
        tokio::select! {
            // Where the loop is gone, how it ended is known in a moment.
            () = next_second(&mut snapshots) => {}
            () = over(&mut ended) => {}
            // A watcher has nothing more to say: that it says something, or goes, ends it.
            _ = next_line(lines) => return Ok(()),
        }
    }
}

/// Waits until the crawl has ended, or whoever would say so is gone.
async fn over(ended: &mut watch::Receiver<Ended>) {
    let _ = ended.wait_for(Option::is_some).await;
}

/// Waits for the next view; for ever once the loop is gone.
async fn next_second(snapshots: &mut watch::Receiver<Option<Arc<Snapshot>>>) {
    if snapshots.changed().await.is_err() {
        std::future::pending().await
    }
}

/// One more who watches, for as long as this lives.
struct Watching<'w>(&'w watch::Sender<usize>);

impl<'w> Watching<'w> {
    fn begin(watchers: &'w watch::Sender<usize>) -> Self {
        watchers.send_modify(|watchers| *watchers += 1);
        Watching(watchers)
    }
}

impl Drop for Watching<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|watchers| *watchers -= 1);
    }
}

async fn carry_out(shared: &Shared, order: Order, by: By) -> Reply {
    let mut is_sent = false;
    let asked = async {
        let Ok(place) = shared.steering.commands.reserve().await else {
            return refusal(Kind::Refused, "the crawl is ending; nothing was changed");
        };
        // The level is changed here, and only when the loop will hear of it.
        if let Order::Log { level } = &order
            && let Err(why) = (shared.steering.log_level)(level)
        {
            return refusal(Kind::Usage, why);
        }
        let (reply, answer) = oneshot::channel();
        place.send(Command::Steer { order, by, reply });
        is_sent = true;
        match answer.await {
            Ok(said) => Reply::Said(said),
            Err(_) => refusal(
                Kind::Refused,
                "the crawl ended before it was done; what it had noted goes on with the next run",
            ),
        }
    };
    // Both waits together: the client does not wait for longer.
    match timeout(ANSWER_MAX, asked).await {
        Ok(reply) => reply,
        Err(_) if is_sent => {
            refusal(Kind::Refused, "it takes long, and goes on: see `crawler ctl status`")
        }
        Err(_) => refusal(Kind::Refused, "the crawl does not listen; nothing was changed"),
    }
}
