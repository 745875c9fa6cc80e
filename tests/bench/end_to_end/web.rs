//! The web of the benchmark: pages of 10 to 40 KB with 30 to 60 links, rendered before they are
//! asked for, and the server that has them.
//!
//! Host `n` is the address 127.1.0.0 + n; the name `hn.bench.test` leads to it too, by a name
//! server of one line. Every page of a host can be reached from its first, and no two have the same
//! text.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::net::{TcpListener, UdpSocket};
use tokio_rustls::TlsAcceptor;

/// How many hosts there are, and how many pages in all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub hosts: u32,
    pub pages: u32,
}

impl Shape {
    /// Returns how many pages each host has.
    pub(crate) fn per_host(self) -> u32 {
        (self.pages / self.hosts).max(1)
    }

    /// Returns how many pages there are.
    pub(crate) fn in_all(self) -> u64 {
        u64::from(self.per_host()) * u64::from(self.hosts)
    }
}

/// Returns the address of a host.
pub(crate) fn address(host: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(127, 1, 0, 0)) + host)
}

/// Returns the path of a page of any host; the first is the root.
pub(crate) fn path(page: u32) -> String {
    if page == 0 {
        return "/".to_owned();
    }
    let mut random = Random(u64::from(page) * 7 + 1);
    let (first, second) = (word(random.next()), word(random.next()));
    format!("/{}/{first}-{second}-{page}.html", SECTIONS[page as usize % SECTIONS.len()])
}

const SECTIONS: [&str; 6] = ["news", "guides", "reference/api", "blog/2024", "docs/v2", "people"];

/// SplitMix64: the same pages every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u32) -> u32 {
        (self.next() % u64::from(limit.max(1))) as u32
    }
}

/// Returns one of 8,000 words; small numbers, as `skewed` gives them, are the short ones.
fn word(number: u64) -> String {
    const SYLLABLES: [&str; 20] = [
        "ta", "re", "mon", "li", "ver", "so", "ken", "da", "pri", "ul", "est", "or", "in", "al",
        "che", "no", "bra", "ti", "qua", "en",
    ];
    let (mut rest, mut word) = (number % 8000, String::new());
    loop {
        word.push_str(SYLLABLES[(rest % 20) as usize]);
        rest /= 20;
        if rest == 0 {
            return word;
        }
    }
}

/// Renders every page of every host.
pub(crate) fn render(shape: Shape) -> Vec<Bytes> {
    let words: Vec<String> = (0..8000).map(word).collect();
    let paths: Vec<String> = (0..shape.per_host()).map(path).collect();
    let pages = (0..shape.hosts).flat_map(|host| (0..shape.per_host()).map(move |p| (host, p)));
    pages.map(|(host, page)| Bytes::from(render_one(shape, host, page, &paths, &words))).collect()
}

fn render_one(shape: Shape, host: u32, page: u32, paths: &[String], words: &[String]) -> String {
    let mut random = Random((u64::from(host) << 32) + u64::from(page));
    let target = 10_000 + random.below(30_000) as usize;
    let mut links = 30 + random.below(31);
    let mut html = String::with_capacity(target + 2048);
    let title = sentence(&mut random, words, 6);
    html.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.push_str(&format!("<title>{title} - Site {host}</title>\n"));
    html.push_str(
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta property=\"og:type\" content=\"article\">\n<style>\n.nav a{padding:4px 8px;\
         color:#246}\n.main p{line-height:1.5;margin:0 0 1em}\n</style>\n<script>\n\
         window.dataLayer=window.dataLayer||[];function track(){dataLayer.push(arguments)}\n\
         track('page','view');if(1<2&&document.cookie){track(\"<a href='/never'>\")}\n</script>\n\
         </head>\n<body class=\"page article\">\n<header class=\"top\" role=\"banner\">\n\
         <nav class=\"nav\"><ul>\n",
    );
    let count = shape.per_host();
    let link = |html: &mut String, to: u32, text: &str| {
        let to = to % count;
        let path = &paths[to as usize];
        match to % 3 {
            0 => html.push_str(&format!("<a href=\"{path}\" class=\"link l{to}\">{text}</a>")),
            1 => html.push_str(&format!("<a class='more' href='{path}'>{text}</a>")),
            _ => html.push_str(&format!("<a href=\"{path}\" title=\"{text}\">{text}</a>")),
        }
    };
    for nav in 0..8.min(links) {
        html.push_str("<li class=\"item\">");
        link(&mut html, nav, SECTIONS[nav as usize % SECTIONS.len()]);
        html.push_str("</li>\n");
    }
    links -= 8;
    html.push_str("</ul></nav>\n</header>\n<main class=\"main\" id=\"content\">\n");
    html.push_str(&format!("<h1>{title}</h1>\n<div class=\"body\">\n"));
    // A binary tree over the pages of the host, so that all can be reached.
    let mut to = vec![2 * page + 1, 2 * page + 2];
    to.extend((2..links).map(|_| random.below(count)));
    let mut to = to.into_iter().peekable();
    let every = target / links as usize;
    let mut next = html.len() + every / 2;
    while html.len() < target || to.peek().is_some() {
        html.push_str("<p>");
        for _ in 0..3 + random.below(4) {
            let length = 6 + random.below(14);
            html.push_str(&sentence(&mut random, words, length));
            html.push_str(match random.below(8) {
                0 => " &amp; more.</p>\n<p class=\"lead\">",
                1 => ", <em>that is</em> all. ",
                _ => ". ",
            });
            if html.len() >= next
                && let Some(to) = to.next()
            {
                let text = sentence(&mut random, words, 3);
                link(&mut html, to, &text);
                html.push(' ');
                next += every;
            }
        }
        html.push_str("</p>\n");
        if random.below(12) == 0 {
            let heading = sentence(&mut random, words, 4);
            html.push_str(&format!("<h2 id=\"s{}\">{heading}</h2>\n", html.len()));
        }
    }
    html.push_str(&format!(
        "</div>\n</main>\n<footer class=\"foot\"><p>Copyright Site {host}, all rights reserved.</p>\
         </footer>\n</body>\n</html>\n"
    ));
    html
}

fn sentence(random: &mut Random, words: &[String], length: u32) -> String {
    let mut sentence = String::with_capacity(length as usize * 7);
    for n in 0..length {
        if n > 0 {
            sentence.push(' ');
        }
        // The cube of an even share: few words are frequent, most are rare.
        let share = (random.next() >> 40) as f64 / (1u64 << 24) as f64;
        sentence.push_str(&words[(share * share * share * words.len() as f64) as usize]);
    }
    sentence
}

/// What the server has.
struct Site {
    shape: Shape,
    pages: Vec<Bytes>,
}

const ROBOTS: &str = "User-agent: *\nDisallow: /private/\nDisallow: /*?print=\nAllow: /\n";

impl Site {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let found = self.page_of(request);
        let (status, kind, body) = match (request.uri().path(), found) {
            ("/robots.txt", _) => (200, "text/plain", Bytes::from_static(ROBOTS.as_bytes())),
            (_, Some(page)) => (200, "text/html; charset=utf-8", page),
            _ => (404, "text/html", Bytes::from_static(b"<title>404</title><p>Not found.</p>")),
        };
        let response = Response::builder().status(status);
        let response = response.header("Content-Type", kind).header("Server", "bench");
        response.body(Full::new(body)).expect("the fields are right")
    }

    fn page_of(&self, request: &Request<Incoming>) -> Option<Bytes> {
        let authority = request.headers().get("host")?.to_str().ok()?;
        let name = authority.split(':').next()?;
        let host = match name.parse::<Ipv4Addr>() {
            Ok(address) => u32::from(address) - u32::from(Ipv4Addr::new(127, 1, 0, 0)),
            Err(_) => name.strip_prefix('h')?.split('.').next()?.parse().ok()?,
        };
        let path = request.uri().path();
        let page = match path {
            "/" => 0,
            _ => path.strip_suffix(".html")?.rsplit('-').next()?.parse::<u32>().ok()?,
        };
        let count = self.shape.per_host();
        (host < self.shape.hosts && page < count)
            .then(|| self.pages[(host * count + page) as usize].clone())
    }
}

/// Returns what a server needs that is trusted by whoever trusts the certificate in `ca_file`,
/// which is made here.
fn secure(shape: Shape, ca_file: &str) -> TlsAcceptor {
    let mut params = CertificateParams::new(Vec::<String>::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let own_key = KeyPair::generate().expect("a key");
    let issuer = CertifiedIssuer::self_signed(params, own_key).expect("signs");
    std::fs::write(ca_file, issuer.pem()).expect("writes the certificate");
    let names: Vec<String> = (0..shape.hosts).map(|host| address(host).to_string()).collect();
    let params = CertificateParams::new(names).expect("names are addresses");
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, &issuer).expect("signs");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("key and certificate belong together");
    TlsAcceptor::from(Arc::new(config))
}

async fn answer_all(
    site: &Site,
    stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
) {
    let service = service_fn(|request| {
        let answer = site.answer(&request);
        async move { Ok::<_, Infallible>(answer) }
    });
    let serving = hyper::server::conn::http1::Builder::new();
    // A client that goes away ends its connection, and nothing else.
    let _ = serving.serve_connection(TokioIo::new(stream), service).await;
}

/// Serves until it is killed; says its ports, of pages and of names, on standard output once it
/// listens. With `ca_file` it serves over TLS, and writes there whom to trust.
pub(crate) async fn serve(shape: Shape, ca_file: Option<&str>) {
    let site = Arc::new(Site { shape, pages: render(shape) });
    let tls = ca_file.map(|file| secure(shape, file));
    let listener = TcpListener::bind(SocketAddr::from(([0, 0, 0, 0], 0))).await.expect("listens");
    let names = UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("listens");
    let port = listener.local_addr().expect("has an address").port();
    println!("{port} {}", names.local_addr().expect("has an address").port());
    tokio::spawn(answer_names(names));
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let _ = stream.set_nodelay(true);
        let (site, tls) = (site.clone(), tls.clone());
        tokio::spawn(async move {
            match tls {
                None => answer_all(&site, stream).await,
                // Who cannot agree on a cipher is not served.
                Some(tls) => {
                    if let Ok(stream) = tls.accept(stream).await {
                        answer_all(&site, stream).await;
                    }
                }
            }
        });
    }
}

/// Answers questions for addresses of `hN.bench.test`.
async fn answer_names(socket: UdpSocket) {
    let mut buffer = [0; 512];
    while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
        if let Some(answer) = answer_name(&buffer[..length]) {
            let _ = socket.send_to(&answer, from).await;
        }
    }
}

/// Answers one question (RFC 1035 §4): a copy of it, and one address if it asks for one.
fn answer_name(question: &[u8]) -> Option<Vec<u8>> {
    let mut end = 12;
    while *question.get(end)? != 0 {
        end += 1 + usize::from(question[end]);
    }
    let first = question.get(13..13 + usize::from(question[12]))?;
    let host: u32 = std::str::from_utf8(first).ok()?.strip_prefix('h')?.parse().ok()?;
    let asks_for_address = question.get(end + 1..end + 3)? == [0, 1];
    let mut answer = question.get(..end + 5)?.to_vec();
    // An authoritative answer to one question, with one address or none, and nothing besides.
    answer[2..4].copy_from_slice(&[0x84, 0]);
    answer[4..12].copy_from_slice(&[0, 1, 0, u8::from(asks_for_address), 0, 0, 0, 0]);
    if asks_for_address {
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 14, 16, 0, 4]);
        answer.extend(address(host).octets());
    }
    Some(answer)
}
