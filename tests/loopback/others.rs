//! Raw responses that other clients are tested with: the same verdict of sound or broken.
//!
//! With `CRAWLER_CONFORMANCE` naming a folder that holds `curl_http_cases.json` (a list of objects
//! with `id`, `response` in base 64 and `curl_exit`), its cases are tried too.

use std::collections::BTreeMap;

use crawler::fetch::{Outcome, Settings};
use serde::Deserialize;

use super::client::{check_going_on, fetcher, get, small};
use super::server::{Server, answer};

/// Cases on which we differ knowingly, with the reason.
const EXCEPTIONS: [(u64, &str); 1] = [(
    1124,
    "a bare line feed ends a chunk size: hyper refuses it, as RFC 9112 §7.1 allows, since proxies \
     that read it differently are attacked that way",
)];

/// Plays a response and returns whether it was taken as sound.
async fn is_sound(response: &[u8]) -> bool {
    let defaults = Settings::default();
    let quick = Settings {
        head_max: defaults.head_max,
        ratio_free: defaults.ratio_free,
        decoded_max: defaults.decoded_max,
        ..small()
    };
    let fetcher = fetcher(&quick);
    let server = Server::playing(answer(response)).await;
    let sound = match get(&fetcher, &server.url("/")).await {
        Outcome::Answer(answer) => answer.truncated.is_none(),
        Outcome::Failed(_) => false,
    };
    check_going_on("a raw response", &fetcher).await;
    sound
}

#[tokio::test]
async fn raw_responses_get_the_verdict_of_other_clients() {
    for (response, sound) in [
        (&b"HTTP/1.1 200 Fine\nTransfer-Encoding: chunked\n\n3\r\nabc\r\n0\r\n\r\n"[..], true),
        (b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\r\na\n\r\nWRONG\r\nb\r\n", false),
        (b"HTTP/1.1 405 405\nContent-Length: 2\n\nhi", true),
        (b"HTTP/1.1 200 OK\x00\nContent-Length: 2\n\nhi", false),
        (b"HTTP/1.1 200 OK\r\nServer: a/\rb\r\nContent-Length: 2\r\n\r\nhi", false),
        (b"HTTP/1.0123456789012345678901234567890 200 OK\nContent-Length: 2\n\nhi", false),
        (b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\r\nhi\r\n0\r\nt: a\0b\r\n\r\n", false),
        (b"HTTP/1.1 302 OK\r\nLocation: ../m o o.html  \r\nConnection: close\r\n\r\n", true),
    ] {
        assert_eq!(is_sound(response).await, sound, "{}", response.escape_ascii());
    }
}

#[derive(Deserialize)]
struct Case {
    id: u64,
    response: String,
    curl_exit: i32,
}

#[tokio::test]
async fn the_cases_of_a_given_folder_get_the_verdict_of_curl() {
    let Some(folder) = std::env::var_os("CRAWLER_CONFORMANCE") else { return };
    let file = std::path::Path::new(&folder).join("curl_http_cases.json");
    let cases: Vec<Case> = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let mut differ = BTreeMap::new();
    for case in &cases {
        let response = data_encoding::BASE64.decode(case.response.as_bytes()).unwrap();
        let sound = is_sound(&response).await;
        if sound != (case.curl_exit == 0) {
            differ.insert(case.id, sound);
        }
    }
    println!("curl_http_cases: {} of {} agree", cases.len() - differ.len(), cases.len());
    for (id, reason) in EXCEPTIONS {
        if differ.remove(&id).is_some() {
            println!("  {id} differs: {reason}");
        }
    }
    assert!(differ.is_empty(), "by id, whether we take it as sound: {differ:?}");
}
