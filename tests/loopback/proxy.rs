//! Everything through a proxy, or nothing.

use crawler::fetch::{Failure, Fetch, Settings};

use super::client::{answered, failed, fetcher, get, request, small};
use super::server::{GOOD, Server, Step, answer};

fn through(proxy: &str) -> Settings {
    Settings { proxy: Some(proxy.parse().unwrap()), ..small() }
}

#[tokio::test]
async fn http_goes_to_the_proxy_with_the_whole_url() {
    let proxy = Server::playing(answer(GOOD)).await;
    let address = proxy.address;
    let fetcher = fetcher(&through(&format!("http://ann:s3cret@{address}")));
    let got = answered(get(&fetcher, "http://site.example/a?b").await);
    assert_eq!(&got.body[..], b"good");
    let sent = &proxy.requests()[0].1;
    assert!(sent.starts_with("GET http://site.example/a?b HTTP/1.1\r\nHost: site.example\r\n"));
    assert!(sent.contains("Proxy-Authorization: Basic YW5uOnMzY3JldA==\r\n"), "{sent}");
    // What is archived has everything but the credentials.
    let block = std::str::from_utf8(&got.request_block).unwrap();
    assert!(!block.contains("Authorization") && !block.contains("YW5u"), "{block}");
    assert_eq!(block.lines().count() + 1, sent.lines().count());
}

#[tokio::test]
async fn a_proxy_that_is_gone_is_never_passed_by() {
    let site = Server::playing(answer(GOOD)).await;
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let fetcher = fetcher(&through(&format!("http://{gone}")));
    for url in [site.url("/"), site.url("/").replace("http:", "https:")] {
        assert_eq!(failed(get(&fetcher, &url).await).failure, Failure::ProxyFailed);
    }
    assert!(site.requests().is_empty());
}

#[tokio::test]
async fn a_proxy_that_refuses_is_a_failure_of_the_proxy() {
    for (refusal, url) in [
        ("HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n", "http://site.example/"),
        ("HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n", "https://site.example/"),
        ("nonsense\r\n\r\n", "https://site.example/"),
        ("HTTP/1.1 200", "https://site.example/"),
    ] {
        let proxy = Server::playing(answer(refusal)).await;
        let fetcher = fetcher(&through(&format!("http://u:s3cret@{}", proxy.address)));
        let got = failed(get(&fetcher, url).await);
        assert_eq!(got.failure, Failure::ProxyFailed, "{refusal}");
        assert!(!got.detail.contains("s3cret"), "{}", got.detail);
    }
}

/// A host that is gone was taken for a proxy that is, and asked for ever.
#[tokio::test]
async fn a_host_that_the_proxy_cannot_reach_is_a_failure_of_the_host() {
    for status in ["403 Forbidden", "502 Bad Gateway", "503 Service Unavailable"] {
        let refusal = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
        let proxy = Server::playing(answer(&refusal)).await;
        let fetcher = fetcher(&through(&format!("http://{}", proxy.address)));
        let got = failed(get(&fetcher, "https://site.example/").await);
        assert_eq!(got.failure, Failure::ConnectFailed, "{status}");
        assert!(got.detail.contains(status), "{}", got.detail);
    }
    let proxy = Server::playing(vec![Step::Read, Step::Hang]).await;
    let fetcher = fetcher(&through(&format!("http://{}", proxy.address)));
    let got = failed(get(&fetcher, "https://site.example/").await);
    assert_eq!(got.failure, Failure::ConnectTimeout);
}

#[tokio::test]
async fn a_proxy_that_is_endless_is_a_failure_of_the_proxy() {
    let answer = Step::Send(b"HTTP/1.1 200".to_vec());
    let script = vec![Step::Read, answer, Step::SendForever(vec![b'x'; 999])];
    let proxy = Server::playing(script).await;
    let fetcher = fetcher(&through(&format!("http://{}", proxy.address)));
    let got = failed(get(&fetcher, "https://site.example/").await);
    assert_eq!(got.failure, Failure::ProxyFailed);
}

#[tokio::test]
async fn a_tunnel_is_asked_for_by_name_and_the_addresses_are_not_connected_to() {
    let proxy = Server::playing(vec![
        Step::Read,
        Step::Send(b"HTTP/1.1 200 Connected\r\nVia: x\r\n\r\n".to_vec()),
        Step::Send(b"this is no TLS".to_vec()),
    ])
    .await;
    let fetcher = fetcher(&through(&format!("http://{}", proxy.address)));
    let got = failed(fetcher.fetch(request("https://site.example:8443/")).await);
    assert_eq!(got.failure, Failure::TlsFailed);
    let sent = &proxy.requests()[0].1;
    assert!(sent.starts_with("CONNECT site.example:8443 HTTP/1.1\r\nHost: site.example:8443\r\n"));
}
