//! Certificates and handshakes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use crawler::fetch::{Failure, Fetch, HttpVersion, HyperFetch, Settings};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::client::{answered, check_going_on, failed, fetcher, request, small};
use super::server::{GOOD, Server, Step, play};

/// A certificate authority with a file that names it.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    directory: tempfile::TempDir,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("ca.pem"), issuer.pem()).unwrap();
        Authority { issuer, directory }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join("ca.pem")
    }

    /// Returns a client that trusts this authority too.
    pub(crate) fn trusting(&self, settings: &Settings) -> HyperFetch {
        fetcher(&Settings { ca_file: Some(self.file()), ..settings.clone() })
    }

    /// Returns server settings with a certificate for `name`.
    pub(crate) fn server(&self, name: &str, expired: bool, alpn: &[&[u8]]) -> rustls::ServerConfig {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        if expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2020, 2, 1);
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        server_config(certificate.der().clone(), &key, alpn)
    }
}

/// Returns server settings with this certificate.
pub(crate) fn server_config(
    certificate: CertificateDer<'static>,
    key: &KeyPair,
    alpn: &[&[u8]],
) -> rustls::ServerConfig {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    config
}

/// Serves one script over TLS on every connection; counts the handshakes that resumed.
async fn serve(
    config: rustls::ServerConfig,
    script: Vec<Step>,
) -> (SocketAddr, Arc<Mutex<Vec<bool>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let resumed = Arc::new(Mutex::new(Vec::new()));
    let seen = resumed.clone();
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let (acceptor, script, seen) = (acceptor.clone(), script.clone(), seen.clone());
            tokio::spawn(async move {
                let Ok(stream) = acceptor.accept(tcp).await else { return };
                let kind = stream.get_ref().1.handshake_kind();
                seen.lock().unwrap().push(kind == Some(rustls::HandshakeKind::Resumed));
                let _ = play(stream, script, 0, Arc::default()).await;
            });
        }
    });
    (address, resumed)
}

fn good() -> Vec<Step> {
    vec![Step::Read, Step::Send(GOOD.into())]
}

fn https(address: SocketAddr) -> crawler::fetch::Request {
    request(&format!("https://localhost:{}/", address.port()))
}

#[tokio::test]
async fn a_sound_certificate_of_a_trusted_authority_is_accepted_and_named() {
    let authority = Authority::new();
    let fetcher = authority.trusting(&small());
    let config = authority.server("localhost", false, &[b"http/1.1"]);
    let (address, _) = serve(config, good()).await;
    let got = answered(fetcher.fetch(https(address)).await);
    assert_eq!((got.status, &got.body[..]), (200, &b"good"[..]));
    let (protocol, cipher) = got.tls.unwrap();
    assert_eq!(protocol, "tls/1.3");
    assert!(cipher.starts_with("TLS_") && !cipher.contains("13"), "{cipher}");
}

#[tokio::test]
async fn bad_certificates_are_refused_and_told_from_other_trouble() {
    let authority = Authority::new();
    let fetcher = authority.trusting(&small());
    let self_signed = {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        server_config(params.self_signed(&key).unwrap().der().clone(), &key, &[])
    };
    for (name, config) in [
        ("tls_expired", authority.server("localhost", true, &[])),
        ("tls_wronghost", authority.server("other.example", false, &[])),
        ("tls_selfsigned", self_signed),
        ("tls_unknown_ca", Authority::new().server("localhost", false, &[])),
    ] {
        let (address, handshakes) = serve(config, good()).await;
        let got = failed(fetcher.fetch(https(address)).await);
        assert_eq!(got.failure, Failure::TlsCertificate, "{name}: {}", got.detail);
        assert!(handshakes.lock().unwrap().is_empty() && got.request_block.is_none(), "{name}");
        check_going_on(name, &fetcher).await;
    }
}

#[tokio::test]
async fn handshakes_that_go_nowhere_are_given_up() {
    let fetcher = fetcher(&small());
    for (name, script, failure) in [
        ("tls_hang", vec![Step::Hang], Failure::TlsTimeout),
        ("tls_drip", vec![Step::DripForever(22)], Failure::TlsFailed),
        ("tls_plain_http", vec![Step::Send(GOOD.into()), Step::Hang], Failure::TlsFailed),
        ("tls_close", vec![], Failure::TlsFailed),
        ("tls_reset", vec![Step::Reset], Failure::TlsFailed),
        // A ServerHello that chooses TLS 1.0.
        ("tls_old", vec![Step::Send(old_hello()), Step::Hang], Failure::TlsFailed),
        // An alert: protocol_version.
        (
            "tls_alert",
            vec![Step::Send(vec![21, 3, 1, 0, 2, 2, 70]), Step::Hang],
            Failure::TlsFailed,
        ),
    ] {
        let server = Server::playing(script).await;
        let got = failed(fetcher.fetch(https(server.address)).await);
        assert_eq!(got.failure, failure, "{name}: {}", got.detail);
        check_going_on(name, &fetcher).await;
    }
}

fn old_hello() -> Vec<u8> {
    let mut hello = vec![3, 1];
    hello.extend([7; 32]);
    hello.extend([0, 0, 0x2f, 0]);
    let mut record = vec![22, 3, 1, 0, hello.len() as u8 + 4, 2, 0, 0, hello.len() as u8];
    record.extend(hello);
    record
}

#[tokio::test]
async fn http10_with_keep_alive_is_spoken_over_tls() {
    let authority = Authority::new();
    let fetcher = authority.trusting(&small());
    let page =
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 4\r\n\r\ngood".to_vec();
    let once = vec![Step::Read, Step::Send(page)];
    let script = [once.clone(), once].concat();
    let (address, handshakes) = serve(authority.server("localhost", false, &[]), script).await;
    for _ in 0..2 {
        let got = answered(fetcher.fetch(https(address)).await);
        assert_eq!((got.version, &got.body[..]), (HttpVersion::Http10, &b"good"[..]));
    }
    assert_eq!(handshakes.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn tls_sessions_are_resumed() {
    let authority = Authority::new();
    let fetcher = authority.trusting(&small());
    let config = authority.server("localhost", false, &[]);
    let close = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\ngood".to_vec();
    let (address, resumed) = serve(config, vec![Step::Read, Step::Send(close)]).await;
    for _ in 0..2 {
        answered(fetcher.fetch(https(address)).await);
    }
    assert_eq!(*resumed.lock().unwrap(), [false, true]);
}

#[tokio::test]
async fn a_ca_file_without_certificates_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("empty.pem");
    std::fs::write(&file, "nothing").unwrap();
    for path in [file, directory.path().join("missing.pem")] {
        let settings = Settings { ca_file: Some(path.clone()), ..small() };
        let clock = Arc::new(crawler::clock::Clock::starting_at(crawler::clock::Timestamp::ZERO));
        let error = HyperFetch::new(&settings, "agent", "", clock).unwrap_err().to_string();
        assert!(error.contains(path.to_str().unwrap()), "{error}");
    }
}
