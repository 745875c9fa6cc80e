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
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::web::{Shape, address, path};

/// Hosts at once: as many as the crawl has fetches in flight.
const AT_ONCE: u32 = 128;

/// Fetches every page, and prints how many bytes came.
pub(crate) async fn fetch_all(shape: Shape, port: u16, file: Option<&str>, ca: Option<&str>) {
    let tls = ca.map(trusting);
    let file = file.map(|name| File::create(name).expect("creates the file"));
    let file = Arc::new(Mutex::new(file));
    let (next, bytes) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU64::new(0)));
    let workers: Vec<_> = (0..AT_ONCE.min(shape.hosts))
        .map(|_| {
            let (file, next, bytes) = (file.clone(), next.clone(), bytes.clone());
            let tls = tls.clone();
            tokio::spawn(async move {
                loop {
                    let host = next.fetch_add(1, Ordering::Relaxed);
                    if host >= shape.hosts {
                        return;
                    }
                    let to = SocketAddr::from((address(host), port));
                    let stream = TcpStream::connect(to).await.expect("connects");
                    let _ = stream.set_nodelay(true);
                    let work = Work { shape, to, file: &file, bytes: &bytes };
                    match &tls {
                        None => work.fetch_host(stream).await,
                        Some(tls) => {
                            let name = ServerName::IpAddress(to.ip().into());
                            let stream = tls.connect(name, stream).await.expect("trusts");
                            work.fetch_host(stream).await;
                        }
                    }
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.expect("no worker panics");
    }
    println!("{}", bytes.load(Ordering::Relaxed));
}

/// Returns a client that trusts the certificate in `file`, and no other.
fn trusting(file: &str) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(file).expect("a certificate");
    roots.add(certificate).expect("a certificate of an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

/// One host's pages, and where they go.
struct Work<'w> {
    shape: Shape,
    to: SocketAddr,
    file: &'w Mutex<Option<File>>,
    bytes: &'w AtomicU64,
}

impl Work<'_> {
    async fn fetch_host(
        self,
        stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    ) {
        let (mut sender, connection) =
            http1::handshake::<_, Empty<Bytes>>(TokioIo::new(stream)).await.expect("HTTP/1.1");
        tokio::spawn(connection);
        for page in 0..self.shape.per_host() {
            let request = Request::get(path(page))
                .header("Host", self.to.to_string())
                .header("User-Agent", "ceiling")
                .body(Empty::new())
                .expect("a request");
            sender.ready().await.expect("the connection stays");
            let response = sender.send_request(request).await.expect("an answer");
            assert_eq!(response.status(), 200);
            let body = response.into_body().collect().await.expect("a body").to_bytes();
            self.bytes.fetch_add(body.len() as u64, Ordering::Relaxed);
            if let Some(file) = &mut *self.file.lock().expect("no writer panics") {
                file.write_all(&body).expect("writes");
            }
        }
    }
}
