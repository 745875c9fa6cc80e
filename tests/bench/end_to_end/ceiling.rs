//! The ceiling: the same pages fetched by hyper alone, each host over one connection, as many hosts
//! at once as the crawl takes; nothing is read in them. Optionally the bodies go to a file.

use std::fs::File;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::web::{Shape, address, path};

/// Hosts at once: as many as the crawl has fetches in flight.
const AT_ONCE: u32 = 128;

/// Fetches every page, and prints how many bytes came.
pub(crate) async fn fetch_all(shape: Shape, port: u16, file: Option<&str>) {
    let file = file.map(|name| File::create(name).expect("creates the file"));
    let file = Arc::new(Mutex::new(file));
    let (next, bytes) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU64::new(0)));
    let workers: Vec<_> = (0..AT_ONCE.min(shape.hosts))
        .map(|_| {
            let (file, next, bytes) = (file.clone(), next.clone(), bytes.clone());
            tokio::spawn(async move {
                loop {
                    let host = next.fetch_add(1, Ordering::Relaxed);
                    if host >= shape.hosts {
                        return;
                    }
                    fetch_host(shape, host, port, &file, &bytes).await;
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.expect("no worker panics");
    }
    println!("{}", bytes.load(Ordering::Relaxed));
}

async fn fetch_host(
    shape: Shape,
    host: u32,
    port: u16,
    file: &Mutex<Option<File>>,
    bytes: &AtomicU64,
) {
    let to = SocketAddr::from((address(host), port));
    let stream = TcpStream::connect(to).await.expect("connects");
    let _ = stream.set_nodelay(true);
    let (mut sender, connection) =
        http1::handshake::<_, Empty<Bytes>>(TokioIo::new(stream)).await.expect("HTTP/1.1");
    tokio::spawn(connection);
    for page in 0..shape.per_host() {
        let request = Request::get(path(page))
            .header("Host", to.to_string())
            .header("User-Agent", "ceiling")
            .body(Empty::new())
            .expect("a request");
        sender.ready().await.expect("the connection stays");
        let response = sender.send_request(request).await.expect("an answer");
        assert_eq!(response.status(), 200);
        let body = response.into_body().collect().await.expect("a body").to_bytes();
        bytes.fetch_add(body.len() as u64, Ordering::Relaxed);
        if let Some(file) = &mut *file.lock().expect("no writer panics") {
            file.write_all(&body).expect("writes");
        }
    }
}
