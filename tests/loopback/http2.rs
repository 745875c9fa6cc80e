//! HTTP/2, spoken well by hyper and badly by hand.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crawler::fetch::{Failure, Fetch, HttpVersion, Request, Settings, Truncated};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::client::{answered, check_going_on, failed, request, small};
use super::server::{GOOD, Step, play};
use super::tls::Authority;

/// What a server does once ALPN has chosen.
#[derive(Clone)]
enum Speech {
    /// HTTP/2 by hyper.
    Well,
    /// A script of raw bytes.
    Raw(Vec<Step>),
}

/// Serves TLS; HTTP/1.1 gets the good page. Returns what ALPN chose per connection.
async fn serve(authority: &Authority, speech: Speech) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let (address, chosen, _) = serve_counted(authority, speech).await;
    (address, chosen)
}

/// The same, with the number of open HTTP/2 connections.
async fn serve_counted(
    authority: &Authority,
    speech: Speech,
) -> (SocketAddr, Arc<Mutex<Vec<String>>>, watch::Receiver<usize>) {
    let config = authority.server("localhost", false, &[b"h2", b"http/1.1"]);
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let chosen = Arc::new(Mutex::new(Vec::new()));
    let seen = chosen.clone();
    let (open, count) = watch::channel(0);
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let (acceptor, speech, seen) = (acceptor.clone(), speech.clone(), seen.clone());
            let open = open.clone();
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(tcp).await else { return };
                let alpn = stream.get_ref().1.alpn_protocol().unwrap_or_default().to_vec();
                let alpn = String::from_utf8(alpn).unwrap();
                seen.lock().unwrap().push(alpn.clone());
                match speech {
                    Speech::Well if alpn == "h2" => {
                        let service = service_fn(page);
                        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                        let _ = server.serve_connection(TokioIo::new(stream), service).await;
                    }
                    Speech::Raw(script) if alpn == "h2" => {
                        open.send_modify(|open| *open += 1);
                        let _ = play(stream, script, 0, Arc::default()).await;
                        open.send_modify(|open| *open -= 1);
                    }
                    _ => {
                        let script = vec![Step::Read, Step::Send(GOOD.into()), Step::Read];
                        let _ = play(stream, script, 0, Arc::default()).await;
                    }
                }
            });
        }
    });
    (address, chosen, count)
}

async fn page(
    request: hyper::Request<Incoming>,
) -> Result<hyper::Response<Full<Bytes>>, std::convert::Infallible> {
    let response = hyper::Response::builder().header("x-path", request.uri().path());
    let body = match request.uri().path() {
        "/big" => vec![b'x'; 500_000],
        _ => b"good".to_vec(),
    };
    let fields = match request.uri().path() {
        "/fields" => 200,
        _ => 0,
    };
    let response = (0..fields).fold(response, |response, n| response.header(format!("n{n}"), "v"));
    Ok(response.body(Full::new(body.into())).unwrap())
}

fn https(address: SocketAddr, path: &str) -> Request {
    request(&format!("https://localhost:{}{path}", address.port()))
}

#[tokio::test]
async fn h2_ok_is_rendered_as_http1() {
    let authority = Authority::new();
    let fetcher = authority.trusting(&small());
    let (address, chosen) = serve(&authority, Speech::Well).await;
    for path in ["/a", "/b"] {
        let got = answered(fetcher.fetch(https(address, path)).await);
        assert_eq!((got.version, got.status), (HttpVersion::Http2, 200));
        assert_eq!((&got.body[..], &got.wire_body[..]), (&b"good"[..], &b"good"[..]));
        let request = std::str::from_utf8(&got.request_block).unwrap();
        let first = format!("GET {path} HTTP/1.1\r\nhost: localhost:{}\r\n", address.port());
        assert!(request.starts_with(&first) && request.ends_with("\r\n\r\n"), "{request}");
        let head = std::str::from_utf8(&got.head_block).unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.ends_with("\r\n\r\n"), "{head}");
        assert!(head.contains(&format!("x-path: {path}\r\n")), "{head}");
    }
    assert_eq!(*chosen.lock().unwrap(), ["h2"], "one connection for both");
}

/// The bound held for HTTP/1.1 alone.
#[tokio::test]
async fn h2_header_fields_are_bounded_in_number() {
    let authority = Authority::new();
    let (address, _) = serve(&authority, Speech::Well).await;
    let fetcher = authority.trusting(&Settings { head_fields_max: 100, ..small() });
    let lost = failed(fetcher.fetch(https(address, "/fields")).await);
    assert_eq!(lost.failure, Failure::HeadTooLarge, "{}", lost.detail);
    assert_eq!(answered(fetcher.fetch(https(address, "/a")).await).status, 200);
    let fetcher = authority.trusting(&Settings { head_fields_max: 300, ..small() });
    assert_eq!(answered(fetcher.fetch(https(address, "/fields")).await).status, 200);
}

/// They were passed over for as long as they came: millions of them, at the cost of a whole core.
#[tokio::test]
async fn h2_interim_answers_are_passed_over_but_not_for_ever() {
    let settings = frame(SETTINGS, 0, 0, &[]);
    // `:status: 103`, its name from the static table.
    let early = frame(HEADERS, END_HEADERS, 1, &[&[0x08, 3][..], b"103"].concat());
    let end = frame(HEADERS, END_HEADERS | END_STREAM, 1, STATUS_200);
    let after = |step: Step| vec![Step::Send(settings.clone()), Step::ReadHttp2, step, Step::Hang];
    let few = after(Step::Send([early.repeat(16), end].concat()));
    for (script, want) in [(few, Ok(200)), (after(Step::SendForever(early)), Err(()))] {
        let authority = Authority::new();
        let fetcher = authority.trusting(&small());
        let (address, chosen) = serve(&authority, Speech::Raw(script)).await;
        let outcome = fetcher.fetch(https(address, "/")).await;
        match want {
            Ok(status) => assert_eq!(answered(outcome).status, status),
            Err(()) => assert_eq!(failed(outcome).failure, Failure::HeadTooLarge),
        }
        assert_eq!(*chosen.lock().unwrap(), ["h2"]);
    }
}

#[tokio::test]
async fn h2_bodies_are_cut_at_the_limit_and_the_connection_goes() {
    let authority = Authority::new();
    let fetcher = authority.trusting(&small());
    let (address, _) = serve(&authority, Speech::Well).await;
    let got = answered(fetcher.fetch(https(address, "/big")).await);
    assert_eq!((got.body.len(), got.truncated), (64 * 1024, Some(Truncated::Length)));
    assert_eq!(fetcher.idle(), 0);
}

#[tokio::test]
async fn http2_can_be_switched_off() {
    let authority = Authority::new();
    let fetcher = authority.trusting(&Settings { http2: false, ..small() });
    let (address, chosen) = serve(&authority, Speech::Well).await;
    let got = answered(fetcher.fetch(https(address, "/")).await);
    assert_eq!(got.version, HttpVersion::Http11);
    assert_eq!(*chosen.lock().unwrap(), ["http/1.1"]);
}

/// Returns a frame (RFC 9113 §4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;
const END_STREAM: u8 = 1;
/// `:status: 200` from the static table.
const STATUS_200: &[u8] = &[0x88];

fn after_settings(frames: &[Vec<u8>]) -> Vec<Step> {
    let mut bytes = frame(SETTINGS, 0, 0, &[]);
    frames.iter().for_each(|frame| bytes.extend(frame));
    vec![Step::Send(bytes), Step::Hang]
}

#[tokio::test]
async fn servers_that_cannot_speak_http2_are_asked_again_in_http1() {
    let no_error = [0; 8];
    for (name, frames) in [
        ("h2_goaway", vec![frame(GOAWAY, 0, 0, &no_error)]),
        ("h2_refused", vec![frame(RST_STREAM, 0, 1, &[0, 0, 0, 7])]),
        ("h2_goaway_http11_required", vec![frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, 13])]),
    ] {
        let authority = Authority::new();
        let fetcher = authority.trusting(&small());
        let (address, chosen) = serve(&authority, Speech::Raw(after_settings(&frames))).await;
        let got = answered(fetcher.fetch(https(address, "/")).await);
        assert_eq!((got.version, &got.body[..]), (HttpVersion::Http11, &b"good"[..]), "{name}");
        assert_eq!(*chosen.lock().unwrap(), ["h2", "http/1.1"], "{name}");
        // The next connection does not try HTTP/2 again.
        let anew = Request { fresh: true, ..https(address, "/") };
        answered(fetcher.fetch(anew).await);
        assert_eq!(*chosen.lock().unwrap(), ["h2", "http/1.1", "http/1.1"], "{name}");
        check_going_on(name, &fetcher).await;
    }
}

/// It was asked again at once, in HTTP/2 and HTTP/1.1, under one lease; one that is overburdened
/// was asked so at each of them.
#[tokio::test]
async fn a_server_that_may_have_worked_on_a_request_is_asked_again_under_another_lease() {
    let too_long = [&[0xff, 0xff, 0xff, DATA, 0, 0, 0, 0, 1][..], &[0; 100]].concat();
    for (name, frames) in [
        ("h2_rst_internal_error", vec![frame(RST_STREAM, 0, 1, &[0, 0, 0, 2])]),
        ("h2_badframe", vec![too_long]),
        ("h2_pushpromise", vec![frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2, 0x82])]),
        ("h2_bad_hpack", vec![frame(HEADERS, END_HEADERS, 1, &[0xff, 0xff, 0xff, 0xff, 0xff])]),
    ] {
        let authority = Authority::new();
        let fetcher = authority.trusting(&small());
        let (address, chosen) = serve(&authority, Speech::Raw(after_settings(&frames))).await;
        let got = failed(fetcher.fetch(https(address, "/")).await);
        assert_eq!(got.failure, Failure::ClosedEarly, "{name}");
        assert_eq!(*chosen.lock().unwrap(), ["h2"], "{name}");
        let got = answered(fetcher.fetch(https(address, "/")).await);
        assert_eq!((got.version, &got.body[..]), (HttpVersion::Http11, &b"good"[..]), "{name}");
        assert_eq!(*chosen.lock().unwrap(), ["h2", "http/1.1"], "{name}");
        check_going_on(name, &fetcher).await;
    }
}

/// It was asked again at once, on a connection of its own.
#[tokio::test]
async fn a_server_that_wants_calm_is_not_asked_again() {
    let calm = [0, 0, 0, 11];
    for (name, frames) in [
        ("h2_goaway_calm", vec![frame(GOAWAY, 0, 0, &[&[0; 4][..], &calm].concat())]),
        ("h2_goaway_calm_too_many", {
            let why = [&[0; 4][..], &calm, b"too_many_pings"].concat();
            vec![frame(GOAWAY, 0, 0, &why)]
        }),
        ("h2_rst_calm", vec![frame(RST_STREAM, 0, 1, &calm)]),
    ] {
        let authority = Authority::new();
        let fetcher = authority.trusting(&small());
        let (address, chosen) = serve(&authority, Speech::Raw(after_settings(&frames))).await;
        let got = fetcher.fetch(https(address, "/")).await;
        assert_eq!(*chosen.lock().unwrap(), ["h2"], "{name}");
        assert_eq!(failed(got).failure.name(), "enhance-your-calm", "{name}");
        check_going_on(name, &fetcher).await;
    }
}

#[tokio::test]
async fn streams_that_break_off_keep_what_came() {
    let head = frame(HEADERS, END_HEADERS, 1, STATUS_200);
    let data = frame(DATA, 0, 1, b"some");
    let reset = frame(RST_STREAM, 0, 1, &[0, 0, 0, 2]);
    for (name, frames, body, why) in [
        ("h2_stall", vec![head.clone()], "", Truncated::Time),
        ("h2_stall_in_body", vec![head.clone(), data.clone()], "some", Truncated::Time),
        ("h2_rst", vec![head.clone(), data.clone(), reset], "some", Truncated::Disconnect),
    ] {
        let authority = Authority::new();
        let fetcher = authority.trusting(&small());
        let (address, _) = serve(&authority, Speech::Raw(after_settings(&frames))).await;
        let got = answered(fetcher.fetch(https(address, "/")).await);
        assert_eq!((got.status, got.truncated), (200, Some(why)), "{name}");
        assert!(body.as_bytes().starts_with(&got.body), "{name}");
        assert_eq!(fetcher.idle(), 0, "{name}");
        check_going_on(name, &fetcher).await;
    }
}

#[tokio::test]
async fn floods_and_silence_end_in_bounded_time() {
    let settings = frame(SETTINGS, 0, 0, &[]);
    let flood = |bytes: Vec<u8>| vec![Step::Send(settings.clone()), Step::SendForever(bytes)];
    let block = [0x40, 1, b'a', 127, 200, 0].to_vec();
    let open = frame(HEADERS, 0, 1, STATUS_200);
    let more = frame(CONTINUATION, 0, 1, &block).repeat(20);
    for (name, script) in [
        ("h2_silence", vec![Step::Hang]),
        ("h2_settings_only", after_settings(&[])),
        ("h2_settingsflood", flood(frame(SETTINGS, 0, 0, &[]).repeat(50))),
        ("h2_pingflood", flood(frame(6, 0, 0, &[0; 8]).repeat(50))),
        (
            "h2_contflood",
            vec![Step::Send([settings.clone(), open].concat()), Step::SendForever(more)],
        ),
        ("h2_empty_data_flood", flood(frame(DATA, 0, 1, &[]).repeat(50))),
    ] {
        let authority = Authority::new();
        let fetcher = authority.trusting(&small());
        let (address, chosen, mut open) = serve_counted(&authority, Speech::Raw(script)).await;
        match fetcher.fetch(https(address, "/")).await {
            crawler::fetch::Outcome::Answer(got) => {
                assert_eq!(got.version, HttpVersion::Http11, "{name}");
            }
            crawler::fetch::Outcome::Failed(got) => {
                let is_expected =
                    matches!(got.failure, Failure::FirstByteTimeout | Failure::ClosedEarly);
                assert!(is_expected, "{name}: {}", got.detail);
            }
        }
        assert!(chosen.lock().unwrap().len() <= 2, "{name}");
        let closed = open.wait_for(|open| *open == 0);
        tokio::time::timeout(Duration::from_secs(10), closed).await.expect(name).unwrap();
        check_going_on(name, &fetcher).await;
    }
}

#[tokio::test]
async fn heads_over_the_limit_are_refused_in_http2_too() {
    let authority = Authority::new();
    let fetcher = authority.trusting(&Settings { first_byte: small().total, ..small() });
    // One field of 120 bytes, a thousand times, in frames of up to 16 KiB.
    let field = [&[0, 1, b'a', 120][..], &[b'v'; 120]].concat();
    let block = field.repeat(100);
    let mut frames = vec![frame(HEADERS, 0, 1, &[STATUS_200, &block].concat())];
    frames.extend((0..8).map(|_| frame(CONTINUATION, 0, 1, &block)));
    frames.push(frame(CONTINUATION, END_HEADERS, 1, &block));
    let (address, chosen) = serve(&authority, Speech::Raw(after_settings(&frames))).await;
    match fetcher.fetch(https(address, "/")).await {
        crawler::fetch::Outcome::Answer(got) => assert_eq!(got.version, HttpVersion::Http11),
        other => assert_eq!(failed(other).failure, Failure::ClosedEarly),
    }
    assert!(chosen.lock().unwrap().len() <= 2);
}
