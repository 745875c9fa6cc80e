//! The client under test, and what is expected of it.

use std::net::IpAddr;
use std::sync::Arc;

use crawler::clock::{ByteSize, Clock, Span, Timestamp};
use crawler::fetch::{
    Answer, Failed, Failure, Fetch, HyperFetch, Outcome, Purpose, Request, Settings, Truncated,
    user_agent,
};
use crawler::url::CrawlUrl;

use super::server::{GOOD, Server, Step};

/// Limits small enough that every one is reached within a moment.
pub(crate) fn small() -> Settings {
    Settings {
        connect: Span::millis(1_000),
        tls: Span::millis(1_000),
        first_byte: Span::millis(750),
        total: Span::millis(5_000),
        rate_min: ByteSize(4_000),
        rate_window: Span::millis(400),
        head_max: ByteSize::kib(16),
        body_max: ByteSize::kib(64),
        decoded_max: ByteSize::kib(256),
        ratio_free: ByteSize::kib(16),
        ..Settings::default()
    }
}

pub(crate) fn fetcher(settings: &Settings) -> HyperFetch {
    let clock = Arc::new(Clock::starting_at(Timestamp::from_millis(1_000)));
    let agent = user_agent("crawler", "0", "https://bot.example/");
    HyperFetch::new(settings, &agent, "bot@bot.example", clock).unwrap()
}

pub(crate) fn request(url: &str) -> Request {
    Request {
        url: CrawlUrl::parse(url).unwrap(),
        addresses: vec![IpAddr::from([127, 0, 0, 1])],
        purpose: Purpose::Page,
        etag: None,
        last_modified: None,
        fresh: false,
    }
}

pub(crate) async fn get(fetcher: &HyperFetch, url: &str) -> Outcome {
    fetcher.fetch(request(url)).await
}

pub(crate) fn answered(outcome: Outcome) -> Answer {
    match outcome {
        Outcome::Answer(answer) => *answer,
        Outcome::Failed(failed) => panic!("{:?}: {}", failed.failure, failed.detail),
    }
}

pub(crate) fn failed(outcome: Outcome) -> Failed {
    match outcome {
        Outcome::Failed(failed) => failed,
        Outcome::Answer(answer) => {
            panic!("answered {} {:?}", answer.status, String::from_utf8_lossy(&answer.head_block))
        }
    }
}

/// What must come of a behaviour.
pub(crate) enum Want {
    /// An answer with this status, body and truncation.
    Body(u16, &'static [u8], Option<Truncated>),
    /// An answer with this status and a body of so many bytes.
    Len(u16, usize, Option<Truncated>),
    /// No answer.
    Fails(Failure),
}

/// Plays one behaviour and checks the verdict, the bounds, and that the client goes on.
pub(crate) async fn check(name: &str, script: Vec<Step>, want: Want) {
    let settings = small();
    let fetcher = fetcher(&settings);
    let bad = Server::playing(script).await;
    let outcome = get(&fetcher, &bad.url("/bad")).await;
    match (&outcome, want) {
        (Outcome::Answer(got), Want::Body(status, body, truncated)) => {
            let seen = got.body.escape_ascii().to_string();
            assert_eq!((got.status, got.truncated), (status, truncated), "{name}: {seen:.200}");
            assert!(got.body == body, "{name}: {seen:.200}");
        }
        (Outcome::Answer(got), Want::Len(status, len, truncated)) => {
            assert_eq!(
                (got.status, got.body.len(), got.truncated),
                (status, len, truncated),
                "{name}"
            );
        }
        (Outcome::Failed(got), Want::Fails(failure)) => {
            assert_eq!(got.failure, failure, "{name}: {}", got.detail);
        }
        (Outcome::Answer(got), Want::Fails(failure)) => {
            panic!("{name}: {failure:?} expected, status {} came", got.status)
        }
        (Outcome::Failed(got), _) => {
            panic!("{name}: an answer expected, {:?} came: {}", got.failure, got.detail)
        }
    }
    check_bounds(name, &outcome, &settings);
    if fetcher.idle() == 0 {
        bad.all_closed().await;
    }
    check_going_on(name, &fetcher).await;
}

fn check_bounds(name: &str, outcome: &Outcome, settings: &Settings) {
    let body_max = settings.body_max.as_len();
    match outcome {
        Outcome::Answer(got) => {
            assert!(got.head_block.len() <= settings.head_max.as_len(), "{name}");
            assert!(got.head_block.ends_with(b"\n"), "{name}");
            assert!(
                got.request_block.starts_with(b"GET /bad HTTP/1.1\r\nHost: 127.0.0.1:"),
                "{name}"
            );
            assert!(got.request_block.ends_with(b"\r\n\r\n"), "{name}");
            assert!(got.payload.len() <= body_max.max(settings.decoded_max.as_len()), "{name}");
            assert!(got.wire_body.len() <= 2 * body_max + 64 * 1024, "{name}");
            assert!(got.body.len() <= settings.decoded_max.as_len(), "{name}");
        }
        Outcome::Failed(got) => {
            assert!(got.received.len() <= settings.head_max.as_len(), "{name}");
            assert!(!got.detail.is_empty() && !got.detail.contains('\n'), "{name}");
        }
    }
}

/// Fetches a good page with the same client.
pub(crate) async fn check_going_on(name: &str, fetcher: &HyperFetch) {
    let good = Server::playing(vec![Step::Read, Step::Send(GOOD.into()), Step::Hang]).await;
    let answer = answered(get(fetcher, &good.url("/")).await);
    assert_eq!((answer.status, &answer.body[..]), (200, &b"good"[..]), "after {name}");
}
