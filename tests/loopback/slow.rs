//! Servers that are slow, silent, endless or gone.

use std::net::IpAddr;
use std::time::Duration;

use crawler::fetch::{Failure, Fetch, Purpose, Request, Truncated};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::client::{Want, answered, check, check_going_on, failed, fetcher, get, request, small};
use super::server::{Server, Step, answer};

fn head_then(rest: Step) -> Vec<Step> {
    let mut script = answer("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n");
    script.push(rest);
    script
}

#[tokio::test]
async fn headers_that_come_too_slowly_are_given_up() {
    let drip = Step::Drip(b"HTTP/1.1 200 OK\r\nX: ".repeat(100));
    check("slow_headers", vec![Step::Read, drip], Want::Fails(Failure::FirstByteTimeout)).await;
    // However many of its bytes come at once, it is a status line that may go on.
    let begun = Step::Send(b"HTTP/1.1 200 ".to_vec());
    let forever = vec![Step::Read, begun, Step::DripForever(b'x')];
    check("slow_status", forever, Want::Fails(Failure::FirstByteTimeout)).await;
    let hang = vec![Step::Read, Step::Hang];
    check("silence_after_request", hang, Want::Fails(Failure::FirstByteTimeout)).await;
    check("port_blackhole", vec![Step::Hang], Want::Fails(Failure::FirstByteTimeout)).await;
}

#[tokio::test]
async fn bodies_that_come_too_slowly_keep_what_came() {
    for (name, rest) in [("slow_body", Step::DripForever(b'x')), ("body_hang", Step::Hang)] {
        let fetcher = fetcher(&small());
        let server = Server::playing(head_then(rest)).await;
        let got = answered(get(&fetcher, &server.url("/bad")).await);
        assert_eq!((got.status, got.truncated), (200, Some(Truncated::Time)), "{name}");
        assert!(got.body.len() < 5000 && got.body.iter().all(|byte| *byte == b'x'), "{name}");
        check_going_on(name, &fetcher).await;
    }
    let mut lie = answer("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbody");
    lie.push(Step::Hang);
    check("close_lie", lie, Want::Body(200, b"body", Some(Truncated::Time))).await;
}

#[tokio::test]
async fn the_whole_fetch_has_an_end_however_busy_the_server_is() {
    use crawler::clock::{ByteSize, Span};
    let settings = crawler::fetch::Settings {
        rate_min: ByteSize(0),
        rate_window: Span::millis(50),
        total: Span::millis(200),
        ..small()
    };
    let fetcher = fetcher(&settings);
    let server = Server::playing(head_then(Step::DripForever(b'x'))).await;
    let got = answered(get(&fetcher, &server.url("/")).await);
    assert_eq!(got.truncated, Some(Truncated::Time));
    let silent = Server::playing(vec![Step::Hang]).await;
    let got = failed(get(&fetcher, &silent.url("/")).await);
    assert_eq!(got.failure, Failure::Timeout);
}

#[tokio::test]
async fn endless_bodies_are_cut_at_the_limit() {
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000));
    let endless = |head: &str, part: &str| {
        vec![
            Step::Read,
            Step::Send(head.as_bytes().to_vec()),
            Step::SendForever(part.as_bytes().to_vec()),
        ]
    };
    let cut = || Want::Len(200, 64 * 1024, Some(Truncated::Length));
    let body = endless("HTTP/1.1 200 OK\r\n\r\n", &"x".repeat(0x1000));
    check("infinite_body", body, cut()).await;
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    check("infinite_chunked", endless(chunked, &chunk), cut()).await;
    let honest = "HTTP/1.1 200 OK\r\nContent-Length: 314572800\r\n\r\n";
    check("body_300mb", endless(honest, &"x".repeat(0x1000)), cut()).await;
}

#[tokio::test]
async fn chunks_that_are_mostly_framing_are_cut_by_wire_bytes() {
    let fetcher = fetcher(&small());
    let script = vec![
        Step::Read,
        Step::Send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec()),
        Step::SendForever(b"00000001\r\nx\r\n".repeat(100)),
    ];
    let server = Server::playing(script).await;
    let got = answered(get(&fetcher, &server.url("/")).await);
    assert_eq!(got.truncated, Some(Truncated::Length));
    assert!(got.wire_body.len() <= 2 * 64 * 1024 + 64 * 1024);
    assert!(!got.payload.is_empty() && got.payload.len() < 64 * 1024);
}

#[tokio::test]
async fn robots_have_limits_of_their_own() {
    use crawler::clock::Span;
    let settings = crawler::fetch::Settings { robots_total: Span::secs(4), ..small() };
    let fetcher = fetcher(&settings);
    let head = b"HTTP/1.1 200 OK\r\n\r\nUser-agent: *\n".to_vec();
    for (rest, len, why) in [
        (Step::SendForever(vec![b'#'; 4096]), 1 << 20, Truncated::Length),
        (Step::DripForever(b'#'), 0, Truncated::Time),
    ] {
        let server = Server::playing(vec![Step::Read, Step::Send(head.clone()), rest]).await;
        let mut robots = request(&server.url("/robots.txt"));
        robots.purpose = Purpose::Robots;
        let got = answered(fetcher.fetch(robots).await);
        assert_eq!(got.truncated, Some(why));
        assert!(got.body.starts_with(b"User-agent: *\n"));
        assert!(len == 0 || got.body.len() == len);
    }
}

#[tokio::test]
async fn an_address_that_never_answers_is_given_up() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    // Nobody accepts: once the backlog is full, further attempts are left without an answer.
    let mut waiting = Vec::new();
    let patience = Duration::from_millis(200);
    while let Ok(stream) = tokio::time::timeout(patience, TcpStream::connect(address)).await {
        waiting.push(stream.unwrap());
        assert!(waiting.len() < 100, "a backlog of one holds a hundred");
    }
    let fetcher = fetcher(&small());
    let got = failed(get(&fetcher, &format!("http://{address}/")).await);
    assert_eq!(got.failure, Failure::ConnectTimeout);
    check_going_on("unroutable", &fetcher).await;
}

#[tokio::test]
async fn connections_that_end_before_an_answer_are_told_apart() {
    check("close_no_answer", vec![Step::Read], Want::Fails(Failure::ClosedEarly)).await;
    check("port_close", vec![], Want::Fails(Failure::ClosedEarly)).await;
    check("port_reset", vec![Step::Reset], Want::Fails(Failure::ClosedEarly)).await;
    let reset = vec![Step::Read, Step::Reset];
    check("reset_after_request", reset, Want::Fails(Failure::ClosedEarly)).await;
}

#[tokio::test]
async fn a_reset_in_the_body_keeps_what_came() {
    let fetcher = fetcher(&small());
    let mut script = head_then(Step::Send(b"some".to_vec()));
    script.push(Step::Reset);
    let server = Server::playing(script).await;
    // A reset may overtake the bytes before it: then there was no answer.
    match get(&fetcher, &server.url("/")).await {
        crawler::fetch::Outcome::Answer(got) => {
            assert_eq!(got.truncated, Some(Truncated::Disconnect));
            assert!(b"some".starts_with(&got.body[..]));
        }
        crawler::fetch::Outcome::Failed(got) => assert_eq!(got.failure, Failure::ClosedEarly),
    }
    check_going_on("reset_in_body", &fetcher).await;
}

#[tokio::test]
async fn a_refused_connection_fails_at_once_and_names_the_address() {
    let fetcher = fetcher(&small());
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let got = failed(get(&fetcher, &format!("http://{closed}/")).await);
    assert_eq!(got.failure, Failure::ConnectFailed);
    assert_eq!(got.address, Some(IpAddr::from([127, 0, 0, 1])));
    assert_eq!(got.request_block, None);
    check_going_on("port_refused", &fetcher).await;
}

#[tokio::test]
async fn the_next_address_is_tried_where_one_refuses() {
    let fetcher = fetcher(&small());
    let good = Server::playing(answer(super::server::GOOD)).await;
    let mut two = request(&good.url("/"));
    // Nothing listens on 127.0.0.2 at this port, so the second address is the one that answers.
    two.addresses = vec![IpAddr::from([127, 0, 0, 2]), IpAddr::from([127, 0, 0, 1])];
    let got = answered(fetcher.fetch(two).await);
    assert_eq!((got.address, &got.body[..]), (IpAddr::from([127, 0, 0, 1]), &b"good"[..]));
}

#[tokio::test]
async fn a_request_without_addresses_connects_nowhere() {
    let fetcher = fetcher(&small());
    let good = Server::playing(answer(super::server::GOOD)).await;
    let mut none = request(&good.url("/"));
    none.addresses.clear();
    assert_eq!(failed(fetcher.fetch(none).await).failure, Failure::LocalFailure);
    assert!(good.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hosts_that_hang_do_not_hold_up_the_others() {
    let patient = crawler::fetch::Settings::default();
    let fetcher = std::sync::Arc::new(fetcher(&patient));
    let mut hanging = Vec::new();
    let mut silent = Vec::new();
    for script in [vec![Step::Hang], vec![Step::Read, Step::Hang], head_then(Step::Hang)] {
        for _ in 0..10 {
            let server = Server::playing(script.clone()).await;
            let (fetcher, url) = (fetcher.clone(), server.url("/"));
            hanging.push(tokio::spawn(async move { get(&fetcher, &url).await }));
            silent.push(server);
        }
    }
    let good = Server::playing([Step::Read, Step::Send(super::server::GOOD.into())].into()).await;
    for _ in 0..100 {
        // It closes each connection after its answer.
        let anew = Request { fresh: true, ..request(&good.url("/")) };
        let got = answered(fetcher.fetch(anew).await);
        assert_eq!(got.body, "good");
    }
    assert!(hanging.iter().all(|fetch| !fetch.is_finished()));
    // A fetch that is given up closes its connection.
    hanging.iter().for_each(tokio::task::JoinHandle::abort);
    for server in &silent {
        server.all_closed().await;
    }
}
