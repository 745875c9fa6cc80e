//! Tests of the web as it is served on loopback. Real sockets, no assertion on time.

use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

use crate::clock::{Clock, Timestamp};
use crate::dns::{DnsFailure, HickoryResolver, Resolve};
use crate::fetch::{Answer, Fetch, HyperFetch, Outcome, user_agent};
use crate::url::CrawlUrl;

use super::tests::{answered, request, url};
use super::*;

fn clock() -> Arc<Clock> {
    Arc::new(Clock::starting_at(Timestamp::from_millis(1_800_000_000_000)))
}

async fn serve(mut sites: Vec<SiteSpec>) -> Server {
    for site in &mut sites {
        (site.latency.base, site.latency.spread) = (Duration::ZERO, Duration::ZERO);
        site.dns.latency = Duration::ZERO;
    }
    let web = WebSpec::new(7, sites);
    Server::start(web, clock(), ServerOptions::default()).await.unwrap()
}

/// What a real client gets: status, headers of content, body as sent, and whether it was whole.
type Got = (u16, Vec<(String, String)>, Vec<u8>, bool);

/// Headers that depend on the transport or the hour.
const PASSING: [&str; 2] = ["date", "transfer-encoding"];

async fn get(server: &Server, url: &CrawlUrl) -> Result<Got, hyper::Error> {
    let address = server.web().address(url.host_str(), Duration::ZERO).unwrap();
    let stream = TcpStream::connect((address, url.port())).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let connection = tokio::spawn(connection);
    let request = hyper::Request::get(url.path_and_query())
        .header("host", format!("{}:{}", url.host_str(), url.port()))
        .header("accept-encoding", "gzip")
        .body(Empty::<bytes::Bytes>::new())
        .unwrap();
    let response = sender.send_request(request).await?;
    let status = response.status().as_u16();
    let text = |(name, value): (&hyper::header::HeaderName, &hyper::header::HeaderValue)| {
        (name.as_str().to_owned(), value.to_str().unwrap().to_owned())
    };
    let mut headers: Vec<_> = response.headers().iter().map(text).collect();
    headers.retain(|(name, _)| !PASSING.contains(&name.as_str()));
    headers.sort();
    let (mut body, mut incoming, mut whole) = (Vec::new(), response.into_body(), true);
    while let Some(frame) = incoming.frame().await {
        match frame {
            Ok(frame) => body.extend_from_slice(&frame.into_data().unwrap()),
            Err(_) => whole = false,
        }
    }
    drop(sender);
    let _ = connection.await;
    Ok((status, headers, body, whole))
}

#[tokio::test]
async fn loopback_and_process_answer_the_same() {
    let mut plain = SiteSpec::new("plain.test", 40);
    (plain.assets, plain.sitemap) = (true, Sitemap::Gzip);
    plain.redirects =
        Redirects { share: 10, chain: 2, looping: true, cross_host: true, ..Redirects::default() };
    plain.traps.calendar = true;
    let mut coded = SiteSpec::new("coded.test", 40);
    (coded.gzip, coded.chunked, coded.faults.gone) = (true, true, 300);
    coded.robots = vec![(Duration::ZERO, RobotsAnswer::rules(&["/x"], Some(1)))];
    let mut cut = SiteSpec::new("cut.test", 5);
    (cut.faults.truncated, cut.latency.rate) = (1000, 100_000);
    let server = serve(vec![plain, coded, cut]).await;
    let web = Arc::new(server.web().clone());
    let sim = SimWeb::new(web.clone(), clock());
    let port = server.http_port();
    let mut urls: Vec<CrawlUrl> = [
        "plain.test:P/robots.txt",
        "plain.test:P/sitemap.xml.gz",
        "plain.test:P/static/image-1.png",
        "plain.test:P/static/site.css",
        "plain.test:P/files/paper-0.pdf",
        "plain.test:P/go/2/7",
        "plain.test:P/calendar/2026-11",
        "plain.test:P/nowhere",
        "coded.test:P/robots.txt",
    ]
    .iter()
    .map(|text| url(&format!("http://{}", text.replace('P', &port.to_string()))))
    .collect();
    for host in 0..3 {
        let numbers = (0..40).step_by(5).map(|number| DocumentId { host, number });
        urls.extend(numbers.filter_map(|id| web.url(id)));
    }
    let mut broken = 0;
    for url in &urls {
        let (status, headers, body, whole) = get(&server, url).await.unwrap();
        let answer = answered(sim.fetch(request(url)).await);
        let mut expected: Vec<(String, String)> = answer
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), String::from_utf8(value.to_vec()).unwrap()))
            .filter(|(name, _)| !PASSING.contains(&name.as_str()))
            .collect();
        expected.sort();
        assert_eq!((status, headers), (answer.status, expected), "{url}");
        assert_eq!(body, answer.payload, "{url}");
        assert_eq!(whole, answer.truncated.is_none(), "{url}");
        broken += usize::from(!whole);
    }
    assert!(broken >= 1);
    assert_eq!(server.requests().total(), urls.len() as u64);
    let arrivals = server.requests().arrivals();
    assert!(arrivals.iter().all(|arrival| arrival.in_flight == 1));
    assert!(arrivals.is_sorted_by_key(|arrival| arrival.at));
    server.shutdown().await;
}

#[tokio::test]
async fn sick_hosts_fail_on_real_sockets() {
    let sick = |name: &str, change: fn(&mut Faults)| {
        let mut site = SiteSpec::new(name, 5);
        change(&mut site.faults);
        site
    };
    let server = serve(vec![
        sick("closed.test", |faults| faults.closed = 1000),
        sick("refused.test", |faults| faults.refused = true),
    ])
    .await;
    let home = |host| server.web().url(DocumentId { host, number: 0 }).unwrap();
    assert!(get(&server, &home(0)).await.is_err());
    let address = server.web().address("refused.test", Duration::ZERO).unwrap();
    let refused = TcpStream::connect((address, server.http_port())).await.unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    server.shutdown().await;
}

fn question(name: &str, kind: RecordType) -> Vec<u8> {
    let mut message = Message::new(77, MessageType::Query, OpCode::Query);
    message.add_query(Query::query(Name::from_str(name).unwrap(), kind));
    message.to_vec().unwrap()
}

async fn ask_udp(server: SocketAddr, name: &str, kind: RecordType) -> Message {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.send_to(&question(name, kind), server).await.unwrap();
    let mut buffer = [0; 4096];
    let length = socket.recv(&mut buffer).await.unwrap();
    Message::from_vec(&buffer[..length]).unwrap()
}

async fn ask_tcp(server: SocketAddr, name: &str, kind: RecordType) -> Message {
    let mut stream = TcpStream::connect(server).await.unwrap();
    let question = question(name, kind);
    stream.write_u16(question.len() as u16).await.unwrap();
    stream.write_all(&question).await.unwrap();
    let mut answer = vec![0; stream.read_u16().await.unwrap().into()];
    stream.read_exact(&mut answer).await.unwrap();
    Message::from_vec(&answer).unwrap()
}

#[tokio::test]
async fn the_name_server_answers_and_fails_as_described() {
    let site = |name: &str, answer: DnsAnswer| {
        let mut site = SiteSpec::new(name, 1);
        (site.dns.answer, site.dns.ttl) = (answer, Duration::from_secs(7));
        site
    };
    let mut good = site("good.test", DnsAnswer::Address);
    good.aliases = vec!["www.good.test".to_owned()];
    let private: std::net::Ipv4Addr = "10.0.0.1".parse().unwrap();
    let server = serve(vec![
        good,
        site("private.test", DnsAnswer::Private(private.into())),
        site("none.test", DnsAnswer::NotFound),
        site("fails.test", DnsAnswer::Fails),
    ])
    .await;
    let dns = server.dns_addr();
    for (name, kind, code, address) in [
        ("good.test.", RecordType::A, ResponseCode::NoError, Some([127, 0, 0, 1])),
        ("WWW.Good.test.", RecordType::A, ResponseCode::NoError, Some([127, 0, 0, 1])),
        ("good.test.", RecordType::AAAA, ResponseCode::NoError, None),
        ("private.test.", RecordType::A, ResponseCode::NoError, Some([10, 0, 0, 1])),
        ("none.test.", RecordType::A, ResponseCode::NXDomain, None),
        ("unknown.test.", RecordType::A, ResponseCode::NXDomain, None),
        ("fails.test.", RecordType::A, ResponseCode::ServFail, None),
    ] {
        let (udp, tcp) = (ask_udp(dns, name, kind).await, ask_tcp(dns, name, kind).await);
        for answer in [udp, tcp] {
            assert_eq!((answer.metadata.id, answer.metadata.response_code), (77, code), "{name}");
            let found = answer.answers.first().map(|record| match &record.data {
                RData::A(found) => (found.0.octets(), record.ttl),
                other => panic!("{other:?}"),
            });
            assert_eq!(found, address.map(|address| (address, 7)), "{name}");
        }
    }
    server.shutdown().await;
}

#[tokio::test]
async fn nothing_listens_after_shutdown() {
    let server = serve(vec![SiteSpec::new("a.test", 1)]).await;
    let at = SocketAddr::from(([127, 0, 0, 1], server.http_port()));
    drop(TcpStream::connect(at).await.unwrap());
    server.shutdown().await;
    assert!(TcpStream::connect(at).await.is_err());
}

#[tokio::test]
async fn the_crawlers_own_client_and_resolver_see_the_same_web_on_both_ways() {
    let mut site = SiteSpec::new("www.plain.test", 30);
    (site.gzip, site.assets, site.sitemap) = (true, true, Sitemap::Plain);
    let mut chunked = SiteSpec::new("chunked.test", 30);
    (chunked.chunked, chunked.faults.errors) = (true, 300);
    let mut cut = SiteSpec::new("cut.test", 3);
    cut.faults.truncated = 1000;
    let mut gone = SiteSpec::new("gone.test", 3);
    gone.dns.answer = DnsAnswer::NotFound;
    let mut refused = SiteSpec::new("refused.test", 3);
    refused.faults.refused = true;
    let server = serve(vec![site, chunked, cut, gone, refused]).await;
    let clock = clock();
    let settings = crate::dns::Settings {
        servers: vec![server.dns_addr()],
        allow: vec!["127.0.0.0/8".parse().unwrap()],
        ..crate::dns::Settings::default()
    };
    let resolver = HickoryResolver::new(&settings, clock.clone()).unwrap();
    let agent = user_agent("crawler", "0", "https://bot.example/");
    let fetcher =
        HyperFetch::new(&crate::fetch::Settings::default(), &agent, "bot@bot.example", clock)
            .unwrap();
    let sim = SimWeb::new(Arc::new(server.web().clone()), self::clock());
    let mut compared = 0;
    for host in 0..5 {
        for number in (0..30).step_by(3) {
            let Some(url) = server.web().url(DocumentId { host, number }) else { continue };
            let host = url.host();
            let (real, simulated) = (resolver.resolve(&host).await, sim.resolve(&host).await);
            let (real, simulated) = match (real, simulated) {
                (Ok(real), Ok(simulated)) => (real, simulated),
                (Err(DnsFailure::NotFound), Err(DnsFailure::NotFound)) => continue,
                other => panic!("{url}: {other:?}"),
            };
            assert_eq!(real.addresses, simulated.addresses, "{url}");
            let mut request = request(&url);
            request.addresses = real.addresses;
            let (real, simulated) =
                (fetcher.fetch(request.clone()).await, sim.fetch(request).await);
            compared += 1;
            match (real, simulated) {
                (Outcome::Answer(real), Outcome::Answer(simulated)) => {
                    compare(&real, &simulated, &url);
                }
                (Outcome::Failed(real), Outcome::Failed(simulated)) => {
                    assert_eq!(real.failure, simulated.failure, "{url}");
                }
                other => panic!("{url}: {other:?}"),
            }
        }
    }
    assert!(compared >= 30, "{compared}");
    server.shutdown().await;
}

fn compare(real: &Answer, simulated: &Answer, url: &CrawlUrl) {
    assert_eq!((real.status, real.truncated), (simulated.status, simulated.truncated), "{url}");
    assert_eq!(real.payload, simulated.payload, "{url}");
    assert_eq!(real.body, simulated.body, "{url}");
    assert_eq!(real.wire_body, simulated.wire_body, "{url}");
    let lines = |answer: &Answer| {
        let head = String::from_utf8(answer.head_block.to_vec()).unwrap().to_lowercase();
        let mut lines: Vec<String> = head.split("\r\n").map(str::to_owned).collect();
        lines.retain(|line| !line.starts_with("date:"));
        lines.sort();
        lines
    };
    assert_eq!(lines(real), lines(simulated), "{url}");
}
