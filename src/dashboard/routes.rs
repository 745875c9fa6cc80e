//! Paths and answers.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::sse::{Event, KeepAlive};
use axum::response::{IntoResponse, Response, Sse};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use futures_util::stream::{self, Stream};
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot, watch};

use super::assets::ASSETS;
use super::guard::{Guard, Refusal};
use super::history::History;
use super::metrics;
use super::server::About;
use super::view::{Published, view};
use crate::crawl::{Command, Snapshot};

/// How long the loop may take to obey: it looks at commands between two visits.
const OBEY_WITHIN: Duration = Duration::from_secs(5);

/// Silence after which a stream says that it is alive; snapshots come every second.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The policy of every answer: nothing but our own files, and no frame around us.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'; require-trusted-types-for 'script'";

/// What all routes share.
pub(super) struct Site {
    pub(super) guard: Guard,
    pub(super) about: About,
    pub(super) snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    pub(super) published: watch::Receiver<Option<Published>>,
    pub(super) history: Arc<Mutex<History>>,
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) pages: Arc<Semaphore>,
}

/// Set by a stream on its connection, which may then live longer than a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Streams(pub(super) Arc<AtomicBool>);

/// Returns the routes behind their guard.
pub(super) fn router(site: Arc<Site>) -> Router {
    let mut router = Router::new();
    for asset in ASSETS {
        let answer = || async { ([(header::CONTENT_TYPE, asset.media_type)], asset.text) };
        router = router.route(asset.path, get(answer));
    }
    router
        .route("/events", get(events))
        .route("/api/snapshot", get(snapshot))
        .route("/api/pause", post(pause))
        .route("/api/resume", post(resume))
        .route("/metrics", get(exposition))
        .fallback(|| async { (StatusCode::NOT_FOUND, "there is nothing here\n") })
        .layer(middleware::from_fn_with_state(site.clone(), guarded))
        .with_state(site)
}

/// Checks every request before its route, and gives every answer its headers.
async fn guarded(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let (head, body) = request.into_parts();
    let mut response = match site.guard.check(&head) {
        Ok(()) => next.run(Request::from_parts(head, body)).await,
        Err(refusal) => refuse(refusal),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let same_origin = HeaderValue::from_static("same-origin");
    headers.insert("cross-origin-resource-policy", same_origin.clone());
    headers.insert("cross-origin-opener-policy", same_origin);
    response
}

fn refuse(refusal: Refusal) -> Response {
    let mut response = (refusal.status(), refusal.text()).into_response();
    if refusal == Refusal::Token {
        let how = HeaderValue::from_static("Basic realm=\"crawler\", charset=\"UTF-8\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, how);
    }
    response
}

/// The last snapshot, whole, as JSON.
async fn snapshot(State(site): State<Arc<Site>>) -> Response {
    let snapshot = site.snapshots.borrow().clone();
    match snapshot {
        None => not_yet(),
        Some(snapshot) => {
            let mut whole = view(&snapshot);
            whole["view"] = json!(snapshot.view);
            Json(whole).into_response()
        }
    }
}

async fn exposition(State(site): State<Arc<Site>>) -> Response {
    let snapshot = site.snapshots.borrow().clone();
    match snapshot.map(metrics::text) {
        None => not_yet(),
        Some(Ok(text)) => ([(header::CONTENT_TYPE, metrics::MEDIA_TYPE)], text).into_response(),
        Some(Err(_)) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn not_yet() -> Response {
    let text = "the crawl has published nothing yet; ask again in a second\n";
    (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], text).into_response()
}

async fn pause(State(site): State<Arc<Site>>) -> Response {
    obey(&site, Command::Pause).await
}

async fn resume(State(site): State<Arc<Site>>) -> Response {
    obey(&site, Command::Resume).await
}

/// Passes a command on and waits, not for ever, for what the loop says.
async fn obey(site: &Site, command: fn(oneshot::Sender<String>) -> Command) -> Response {
    let (reply, answer) = oneshot::channel();
    let said = async {
        site.commands.send(command(reply)).await.ok()?;
        answer.await.ok()
    };
    match tokio::time::timeout(OBEY_WITHIN, said).await {
        Ok(Some(said)) => Json(json!({ "answer": said })).into_response(),
        Ok(None) => problem("the crawl has ended"),
        Err(_) => problem("the crawl is busy; it will obey as soon as it can"),
    }
}

fn problem(text: &str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "problem": text }))).into_response()
}

/// The stream of one open page: who we are, what was, then what is.
async fn events(
    State(site): State<Arc<Site>>,
    Extension(streams): Extension<Streams>,
) -> Response<Body> {
    let Ok(permit) = site.pages.clone().try_acquire_owned() else {
        let text = "too many pages are open; see dashboard.pages_max\n";
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    };
    streams.0.store(true, Ordering::Relaxed);
    Sse::new(stream_of(&site, permit))
        .keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
        .into_response()
}

/// What a stream has sent.
struct Sent {
    published: watch::Receiver<Option<Published>>,
    last: Option<Published>,
    waiting: std::collections::VecDeque<Event>,
    /// Held as long as the stream lives.
    _permit: OwnedSemaphorePermit,
}

fn stream_of(
    site: &Site,
    permit: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Event, Infallible>> + use<> {
    let hello = json!({ "about": site.about, "command": site.guard.command_token() });
    let history = site.history.lock().unwrap_or_else(PoisonError::into_inner).json();
    let mut published = site.published.clone();
    // What is there already is news to this page.
    published.mark_changed();
    let waiting = [event("hello", &hello.to_string()), event("history", &history)].into();
    let sent = Sent { published, last: None, waiting, _permit: permit };
    stream::unfold(sent, |mut sent| async move {
        while sent.waiting.is_empty() {
            // An error is the end of the crawl: everything it said has been sent.
            sent.published.changed().await.ok()?;
            let now = sent.published.borrow_and_update().clone();
            if let Some(now) = now {
                sent.note(now);
            }
        }
        let next = sent.waiting.pop_front()?;
        Some((Ok(next), sent))
    })
}

impl Sent {
    fn note(&mut self, now: Published) {
        let last = self.last.as_ref();
        let same =
            |old: Option<&Arc<str>>, new: &Arc<str>| old.is_some_and(|o| Arc::ptr_eq(o, new));
        if !same(last.map(|last| &last.hosts), &now.hosts) {
            self.waiting.push_back(event("hosts", &now.hosts));
        }
        if !same(last.map(|last| &last.rules), &now.rules) {
            self.waiting.push_back(event("rules", &now.rules));
        }
        self.waiting.push_back(event("view", &now.view));
        self.last = Some(now);
    }
}

/// JSON holds no raw line break, so one event is one line.
fn event(name: &str, json: &str) -> Event {
    Event::default().event(name).data(json)
}
