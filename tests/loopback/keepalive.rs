//! Connections that are used again, and those that must not be.

use std::net::IpAddr;

use crawler::clock::Span;
use crawler::fetch::{Failure, Fetch, HyperFetch, Request, Settings};

use super::client::{answered, failed, fetcher, get, request, small};
use super::server::{GOOD, Server, Step};

fn good() -> [Step; 2] {
    [Step::Read, Step::Send(GOOD.into())]
}

async fn fetch_twice(fetcher: &HyperFetch, server: &Server) -> Vec<usize> {
    for path in ["/1", "/2"] {
        let got = answered(get(fetcher, &server.url(path)).await);
        assert_eq!((got.status, &got.body[..]), (200, &b"good"[..]), "{path}");
    }
    server.requests().iter().map(|(number, _)| *number).collect()
}

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let fetcher = fetcher(&small());
    let server = Server::playing([good(), good()].concat()).await;
    assert_eq!(fetch_twice(&fetcher, &server).await, [0, 0]);
}

#[tokio::test]
async fn what_a_kept_connection_closes_on_is_not_asked_for_again_at_once() {
    let fetcher = fetcher(&small());
    // The first connection answers once and closes on the second request; so does the next.
    let script = [&good()[..], &[Step::Read]].concat();
    let server = Server::start(vec![script.clone(), script.clone(), script]).await;
    let numbers = || server.requests().iter().map(|(number, _)| *number).collect::<Vec<_>>();
    answered(get(&fetcher, &server.url("/1")).await);
    assert_eq!(failed(get(&fetcher, &server.url("/2")).await).failure, Failure::KeptClosed);
    assert_eq!(numbers(), [0, 0], "the server has seen one request for each");
    answered(get(&fetcher, &server.url("/2")).await);
    // The next try has a connection of its own, though one is kept.
    let again = Request { fresh: true, ..request(&server.url("/2")) };
    answered(fetcher.fetch(again).await);
    assert_eq!(numbers(), [0, 0, 1, 2]);
    // On a new connection it is the host's failure.
    let dead = Server::playing(vec![Step::Read]).await;
    let got = failed(get(&fetcher, &dead.url("/")).await);
    assert_eq!(got.failure, Failure::ClosedEarly);
    assert_eq!(dead.requests().len(), 1);
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_meanwhile_is_replaced() {
    let fetcher = fetcher(&small());
    let server = Server::start(vec![good().into(), good().into()]).await;
    assert_eq!(fetch_twice(&fetcher, &server).await, [0, 1]);
}

#[tokio::test]
async fn half_an_answer_on_a_kept_connection_is_not_repeated() {
    let fetcher = fetcher(&small());
    let half = [Step::Read, Step::Send(b"HTTP/1.1 200 OK\r\n".to_vec())];
    let server = Server::playing([good(), half].concat()).await;
    answered(get(&fetcher, &server.url("/1")).await);
    assert_eq!(failed(get(&fetcher, &server.url("/2")).await).failure, Failure::ClosedEarly);
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn bytes_after_an_answer_are_never_the_next_answer() {
    let stray = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray";
    let fetcher = fetcher(&small());
    for page in [
        [GOOD, stray].concat(),
        [GOOD, "xxxx"].concat(),
        format!("HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n{stray}"),
    ] {
        let script = vec![Step::Read, Step::Send(page.into_bytes()), Step::Read, Step::Hang];
        let second = good().to_vec();
        let server = Server::start(vec![script, second]).await;
        answered(get(&fetcher, &server.url("/1")).await);
        let got = answered(get(&fetcher, &server.url("/2")).await);
        assert_eq!(&got.body[..], b"good");
        assert_eq!(server.requests().last().unwrap().0, 1);
    }
}

#[tokio::test]
async fn connection_close_is_honoured() {
    let fetcher = fetcher(&small());
    let page = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\ngood";
    let script = vec![Step::Read, Step::Send(page.into()), Step::Hang];
    let server = Server::playing(script).await;
    assert_eq!(fetch_twice(&fetcher, &server).await, [0, 1]);
    assert_eq!(fetcher.idle(), 0);
}

#[tokio::test]
async fn a_kept_connection_to_an_address_that_no_longer_counts_is_not_used() {
    let fetcher = fetcher(&small());
    let server = Server::playing([good(), good()].concat()).await;
    answered(get(&fetcher, &server.url("/1")).await);
    let mut moved = request(&server.url("/2"));
    moved.addresses = vec![IpAddr::from([127, 0, 0, 2])];
    assert_eq!(failed(fetcher.fetch(moved).await).failure, Failure::ConnectFailed);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn idle_connections_are_bounded_in_number_and_age() {
    let keep = [good(), good()].concat();
    let two = fetcher(&Settings { idle_max: 2, ..small() });
    let mut servers = Vec::new();
    for _ in 0..4 {
        servers.push(Server::playing([&keep[..], &[Step::Hang]].concat()).await);
        answered(get(&two, &servers.last().unwrap().url("/")).await);
    }
    assert_eq!(two.idle(), 2);
    // The oldest went first.
    answered(get(&two, &servers[3].url("/")).await);
    answered(get(&two, &servers[0].url("/")).await);
    assert_eq!(servers[3].requests().last().unwrap().0, 0);
    assert_eq!(servers[0].requests().last().unwrap().0, 1);

    let none = fetcher(&Settings { idle_for: Span::millis(0), ..small() });
    answered(get(&none, &servers[2].url("/")).await);
    assert_eq!(none.idle(), 0);
}

#[tokio::test]
async fn conditional_requests_carry_what_the_server_gave() {
    let fetcher = fetcher(&small());
    let server = Server::playing(vec![
        Step::Read,
        Step::Send(b"HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n".to_vec()),
    ])
    .await;
    let mut again = request(&server.url("/"));
    again.etag = Some("\"a\"".to_owned());
    again.last_modified = Some("Sat, 01 Jan 2022 00:00:00 GMT".to_owned());
    let got = answered(fetcher.fetch(again).await);
    assert_eq!((got.status, got.wire_body.len()), (304, 0));
    let sent = &server.requests()[0].1;
    assert!(sent.contains("If-None-Match: \"a\"\r\n"), "{sent}");
    assert!(sent.contains("If-Modified-Since: Sat, 01 Jan 2022 00:00:00 GMT\r\n"), "{sent}");
    for never in ["Cookie", "Referer", "Authorization", "Range"] {
        assert!(!sent.contains(never), "{sent}");
    }
}
