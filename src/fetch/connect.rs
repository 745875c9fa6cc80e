//! TCP, proxy and TLS: from addresses to a stream that HTTP can be spoken on.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::rt::TokioIo;
use rustix::io::Errno;
use rustls::ClientConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tower_service::Service;

use super::{Failure, FetchError, Proxy, Settings, roots};
use crate::url::CrawlUrl;

/// A connection to an origin, or through the proxy to it.
pub(super) type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// A stream and how it came about.
pub(super) struct Connected {
    pub(super) stream: Stream,
    pub(super) address: IpAddr,
    pub(super) tls: Option<(String, String)>,
    pub(super) http2: bool,
    pub(super) connect_took: Duration,
    pub(super) tls_took: Duration,
}

/// Why there is no stream.
#[derive(Debug)]
pub(super) struct NotConnected {
    pub(super) failure: Failure,
    pub(super) detail: String,
    pub(super) address: Option<IpAddr>,
    /// This machine may have no descriptors or ports left.
    pub(super) is_starved: bool,
}

/// Makes connections, to exactly the addresses that it is given.
#[derive(Debug)]
pub(super) struct Connector {
    connect: Duration,
    tls: Duration,
    with_http2: Arc<ClientConfig>,
    http1_only: Arc<ClientConfig>,
    proxy: Option<Proxy>,
}

impl Connector {
    pub(super) fn new(settings: &Settings) -> Result<Self, FetchError> {
        let config = roots::tls_config(settings)?;
        let mut http1_only = config.clone();
        http1_only.alpn_protocols = vec![b"http/1.1".to_vec()];
        let mut with_http2 = config;
        if settings.http2 {
            with_http2.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        } else {
            with_http2.alpn_protocols.clone_from(&http1_only.alpn_protocols);
        }
        Ok(Connector {
            connect: settings.connect.get(),
            tls: settings.tls.get(),
            with_http2: Arc::new(with_http2),
            http1_only: Arc::new(http1_only),
            proxy: settings.proxy.clone(),
        })
    }

    /// Returns the proxy that everything goes through.
    pub(super) fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_ref()
    }

    /// Connects for one request, by `deadline` at the latest.
    pub(super) async fn connect(
        &self,
        url: &CrawlUrl,
        addresses: &[IpAddr],
        http2: bool,
        deadline: Instant,
    ) -> Result<Connected, NotConnected> {
        let start = Instant::now();
        let by = deadline.min(start + self.connect);
        let (tcp, address) = match &self.proxy {
            Some(proxy) => self.reach_proxy(proxy, url, by).await?,
            None => connect_any(addresses, url.port(), by).await?,
        };
        let connected = Instant::now();
        let connect_took = connected - start;
        if !url.is_https() {
            let stream = MaybeHttpsStream::Http(TokioIo::new(tcp));
            let tls_took = Duration::ZERO;
            return Ok(Connected {
                stream,
                address,
                tls: None,
                http2: false,
                connect_took,
                tls_took,
            });
        }
        let config = if http2 { &self.with_http2 } else { &self.http1_only };
        let by = deadline.min(connected + self.tls);
        let (stream, tls, http2) =
            secure(tcp, url, config, by).await.map_err(|(failure, detail)| NotConnected {
                failure,
                detail,
                address: Some(address),
                is_starved: false,
            })?;
        let tls_took = connected.elapsed();
        Ok(Connected { stream, address, tls, http2, connect_took, tls_took })
    }

    async fn reach_proxy(
        &self,
        proxy: &Proxy,
        url: &CrawlUrl,
        by: Instant,
    ) -> Result<(TcpStream, IpAddr), NotConnected> {
        let failed = |detail: String, address| NotConnected {
            failure: Failure::ProxyFailed,
            detail: format!("proxy {proxy}: {detail}"),
            address,
            is_starved: false,
        };
        let reached = timeout_at(by, TcpStream::connect((proxy.host(), proxy.port()))).await;
        let mut tcp = match reached {
            Ok(Ok(tcp)) => tcp,
            Ok(Err(error)) => return Err(failed(error.to_string(), None)),
            Err(_) => return Err(failed("not connected in time".to_owned(), None)),
        };
        let address = tcp.peer_addr().map_err(|error| failed(error.to_string(), None))?.ip();
        // Like Nagle's absence on direct connections: a request is one packet that should go now.
        let _ = tcp.set_nodelay(true);
        if url.is_https() {
            let (failure, why) = match timeout_at(by, tunnel(&mut tcp, proxy, url)).await {
                Ok(Ok(())) => return Ok((tcp, address)),
                Ok(Err(refused)) => refused,
                // It has taken the connection, and waits for the host longer than we do.
                Err(_) => (Failure::ConnectTimeout, "no tunnel in time".to_owned()),
            };
            return Err(NotConnected { failure, ..failed(why, Some(address)) });
        }
        Ok((tcp, address))
    }
}

/// Tries the addresses in order, each for its share of the time that is left.
async fn connect_any(
    addresses: &[IpAddr],
    port: u16,
    by: Instant,
) -> Result<(TcpStream, IpAddr), NotConnected> {
    let mut last = None;
    let mut out_of_reach = None;
    for (tried, address) in addresses.iter().enumerate() {
        let left = u32::try_from(addresses.len() - tried).unwrap_or(u32::MAX);
        let now = Instant::now();
        if now >= by && tried > 0 {
            break;
        }
        let share = now + by.saturating_duration_since(now) / left;
        let attempt = timeout_at(share, TcpStream::connect(SocketAddr::new(*address, port))).await;
        let error = match attempt {
            Ok(Ok(tcp)) => {
                let _ = tcp.set_nodelay(true);
                return Ok((tcp, *address));
            }
            Ok(Err(error)) => error,
            Err(_) => io::Error::new(io::ErrorKind::TimedOut, "not connected in time"),
        };
        let failure = failure_of(&error, *address);
        let lost = NotConnected {
            failure,
            detail: error.to_string(),
            address: Some(*address),
            is_starved: is_starved(&error),
        };
        if is_out_of_reach(&error) {
            // A machine may have one family of addresses only.
            out_of_reach = out_of_reach.filter(|_| failure != Failure::LocalFailure).or(Some(lost));
        } else if failure == Failure::LocalFailure {
            return Err(lost);
        } else {
            last = Some(lost);
        }
    }
    Err(last.or(out_of_reach).unwrap_or_else(|| NotConnected {
        failure: Failure::LocalFailure,
        detail: "no address to connect to".to_owned(),
        address: None,
        is_starved: false,
    }))
}

/// Returns true where this machine has no way to an address, or none for its whole family.
fn is_out_of_reach(error: &io::Error) -> bool {
    use io::ErrorKind::{AddrNotAvailable, NetworkUnreachable};
    matches!(error.kind(), NetworkUnreachable | AddrNotAvailable)
}

/// Returns true where descriptors, ports or memory may be what is missing.
fn is_starved(error: &io::Error) -> bool {
    use io::ErrorKind::{AddrNotAvailable, OutOfMemory};
    let exhausted = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS].map(Errno::raw_os_error);
    matches!(error.kind(), AddrNotAvailable | OutOfMemory)
        || error.raw_os_error().is_some_and(|code| exhausted.contains(&code))
}

/// Tells our own trouble from the host's.
fn failure_of(error: &io::Error, address: IpAddr) -> Failure {
    match error.kind() {
        io::ErrorKind::TimedOut => Failure::ConnectTimeout,
        io::ErrorKind::NetworkDown => Failure::LocalFailure,
        // Many machines have no IPv6, or have it switched off: that says nothing about the network
        // as a whole.
        _ if is_out_of_reach(error) && address.is_ipv4() => Failure::LocalFailure,
        _ if is_starved(error) && !is_out_of_reach(error) => Failure::LocalFailure,
        _ => Failure::ConnectFailed,
    }
}

/// Asks the proxy for a tunnel (RFC 9110 §9.3.6), and returns what fails if there is none.
async fn tunnel(
    tcp: &mut TcpStream,
    proxy: &Proxy,
    url: &CrawlUrl,
) -> Result<(), (Failure, String)> {
    let line = asked_for_tunnel(tcp, proxy, url).await;
    let line = line.map_err(|error| (Failure::ProxyFailed, error.to_string()))?;
    let status = line.split(' ').nth(1).unwrap_or_default();
    let is_status = line.starts_with("HTTP/1.") && status.len() == 3;
    let failure = match status.as_bytes().first() {
        Some(b'2') if is_status => return Ok(()),
        // A proxy that works and cannot, or may not, reach this host.
        Some(b'4' | b'5') if is_status && status != "407" => Failure::ConnectFailed,
        _ => Failure::ProxyFailed,
    };
    Err((failure, format!("CONNECT answered by `{}`", line.trim_end().escape_debug())))
}

/// Returns the first line of the answer to CONNECT.
async fn asked_for_tunnel(
    tcp: &mut TcpStream,
    proxy: &Proxy,
    url: &CrawlUrl,
) -> io::Result<String> {
    const ANSWER_MAX: usize = 16 * 1024;
    let target = format!("{}:{}", url.host_str(), url.port());
    let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n").into_bytes();
    if let Some(value) = proxy.authorization() {
        request.extend_from_slice(b"Proxy-Authorization: ");
        request.extend_from_slice(value.as_bytes());
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    tcp.write_all(&request).await?;
    let mut answer = Vec::with_capacity(512);
    while !answer.ends_with(b"\r\n\r\n") && !answer.ends_with(b"\n\n") {
        // Byte by byte, since what follows the block belongs to TLS; it is a hundred bytes, once
        // per connection.
        if answer.len() == ANSWER_MAX {
            return Err(io::Error::other("endless answer to CONNECT"));
        }
        answer.push(tcp.read_u8().await?);
    }
    let line = answer.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(String::from_utf8_lossy(line).into_owned())
}

type Secured = (Stream, Option<(String, String)>, bool);

async fn secure(
    tcp: TcpStream,
    url: &CrawlUrl,
    config: &Arc<ClientConfig>,
    by: Instant,
) -> Result<Secured, (Failure, String)> {
    let uri = Uri::builder()
        .scheme("https")
        .authority(url.host_str())
        .path_and_query("/")
        .build()
        .map_err(|error| (Failure::TlsFailed, format!("host name: {error}")))?;
    let mut connector = HttpsConnector::from((Established(Some(tcp)), config.clone()));
    let stream = match timeout_at(by, connector.call(uri)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return Err(tls_failure(&*error)),
        Err(_) => return Err((Failure::TlsTimeout, "handshake not finished in time".to_owned())),
    };
    let MaybeHttpsStream::Https(tls) = &stream else {
        return Err((Failure::TlsFailed, "no TLS where it was asked for".to_owned()));
    };
    let session = tls.inner().get_ref().1;
    let http2 = session.alpn_protocol() == Some(b"h2");
    let names = (protocol_name(session), cipher_name(session));
    Ok((stream, Some(names), http2))
}

/// Returns the name in the form of the WARC-Protocol field.
fn protocol_name(session: &rustls::ClientConnection) -> String {
    match session.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_3) => "tls/1.3".to_owned(),
        Some(rustls::ProtocolVersion::TLSv1_2) => "tls/1.2".to_owned(),
        other => format!("tls/{other:?}"),
    }
}

/// Returns the name in IANA's registry; rustls marks the suites of TLS 1.3 by a prefix of its own.
fn cipher_name(session: &rustls::ClientConnection) -> String {
    let suite = session.negotiated_cipher_suite().map(|suite| format!("{:?}", suite.suite()));
    suite.unwrap_or_default().replacen("TLS13_", "TLS_", 1)
}

fn tls_failure(error: &(dyn std::error::Error + 'static)) -> (Failure, String) {
    let failure = match rustls_error(error) {
        Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => {
            Failure::TlsCertificate
        }
        _ => Failure::TlsFailed,
    };
    (failure, error.to_string())
}

/// Looks for rustls' error, which stands inside one or two of the standard library's.
fn rustls_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a rustls::Error> {
    const NESTED_MAX: usize = 8;
    let mut error = error;
    for _ in 0..NESTED_MAX {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        error = match inner {
            Some(inner) => inner,
            None => error.source()?,
        };
    }
    None
}

/// Hands hyper-rustls the connection that was made to a checked address, so that it resolves and
/// connects nothing itself.
struct Established(Option<TcpStream>);

impl Service<Uri> for Established {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<TokioIo<TcpStream>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let tcp = self.0.take().ok_or_else(|| io::Error::other("connection already handed out"));
        std::future::ready(tcp.map(TokioIo::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with IPv6 alone never came to the second address of a host that has both. TCP has
    /// no way to a group of machines, whatever the network.
    #[tokio::test]
    async fn an_address_out_of_reach_leaves_the_others_to_be_tried() {
        let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = server.local_addr().unwrap().port();
        let by = Instant::now() + Duration::from_secs(10);
        let (nowhere, here) = (IpAddr::from([224, 0, 0, 1]), IpAddr::from([127, 0, 0, 1]));
        let (_, address) = connect_any(&[nowhere, here], port, by).await.unwrap();
        assert_eq!(address, here);
        let lost = connect_any(&[nowhere], port, by).await.unwrap_err();
        assert_eq!((lost.failure, lost.is_starved), (Failure::LocalFailure, false));
        drop(server);
        // What answers says more than what was not reached.
        let lost = connect_any(&[here, nowhere], port, by).await.unwrap_err();
        assert_eq!((lost.failure, lost.address), (Failure::ConnectFailed, Some(here)));
    }

    #[test]
    fn our_own_trouble_is_told_from_the_hosts() {
        let (v4, v6) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([0x2001, 0, 0, 0, 0, 0, 0, 1]));
        for (code, address, want) in [
            (Errno::MFILE, v4, Failure::LocalFailure),
            (Errno::NFILE, v4, Failure::LocalFailure),
            (Errno::NOBUFS, v4, Failure::LocalFailure),
            (Errno::ADDRNOTAVAIL, v4, Failure::LocalFailure),
            (Errno::NETUNREACH, v4, Failure::LocalFailure),
            (Errno::NETUNREACH, v6, Failure::ConnectFailed),
            // Where IPv6 is switched off, as in most containers.
            (Errno::ADDRNOTAVAIL, v6, Failure::ConnectFailed),
            (Errno::NETDOWN, v4, Failure::LocalFailure),
            (Errno::HOSTUNREACH, v4, Failure::ConnectFailed),
            (Errno::CONNREFUSED, v4, Failure::ConnectFailed),
            (Errno::CONNRESET, v4, Failure::ConnectFailed),
            (Errno::TIMEDOUT, v4, Failure::ConnectTimeout),
        ] {
            let got = failure_of(&io::Error::from(code), address);
            assert_eq!(got, want, "{code:?}");
        }
    }
}
