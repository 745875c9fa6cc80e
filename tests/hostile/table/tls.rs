//! Certificates and handshakes that are wrong, and HTTP/2 that is spoken badly.

use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};

use crate::hostile::site::{Speech, http_by};
use crate::hostile::world::{Case, case};
use crate::loopback::server::Step;
use crate::loopback::tls::{Authority, server_config};

pub(crate) fn cases(authority: &Authority) -> Vec<Case> {
    let mut cases = certificates(authority);
    cases.extend(http2(authority));
    for case in &mut cases {
        case.secure();
    }
    cases
}

fn plain() -> Box<Speech> {
    Box::new(http_by(|_| None))
}

fn certificates(authority: &Authority) -> Vec<Case> {
    let sound = |expired: bool, name: &str| {
        Speech::Tls(Arc::new(authority.server(name, expired, &[])), plain())
    };
    let self_signed = || {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["bad.test".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Speech::Tls(Arc::new(server_config(certificate.der().clone(), &key, &[])), plain())
    };
    let never = |id: &'static str, does: &'static str, speech: Speech| {
        case(id, does, speech).at("/", "failed host-given-up|refused robots-unreachable").lost()
    };
    let hello = |bytes: Vec<u8>| Speech::Every(vec![Step::Send(bytes), Step::Hang]);
    vec![
        never("tls_selfsigned", "a certificate that signs itself", self_signed()),
        never("tls_expired", "an expired certificate", sound(true, "bad.test")),
        never("tls_wronghost", "another host's certificate", sound(false, "other.test")),
        never("x_tls_unknown_ca", "a certificate of an unknown authority", Speech::Tls(
            Arc::new(Authority::new().server("bad.test", false, &[])), plain(),
        )),
        never("tls_hang", "no answer to the handshake", Speech::Every(vec![Step::Hang])),
        never("tls_old", "TLS 1.0", hello(old_hello())),
        never("x_tls_alert", "an alert", hello(vec![21, 3, 1, 0, 2, 2, 70])),
        never("x_tls_plain", "HTTP where TLS is spoken", hello(b"HTTP/1.1 200 OK\r\n\r\n".to_vec())),
        never("x_tls_reset", "a reset in the handshake", Speech::Every(vec![Step::Reset])),
        never("x_tls_drip", "a handshake byte by byte", Speech::Every(vec![Step::DripForever(22)])),
        never("x_tls_flood", "a handshake without end", Speech::Every(vec![Step::SendForever(
            [&[22, 3, 3, 0x40, 0][..], &[0; 0x4000]].concat(),
        )])),
        case("tls_http10_keepalive", "HTTP/1.0 that keeps the connection", Speech::Tls(
            Arc::new(authority.server("bad.test", false, &[])),
            Box::new(http_by(|ask| {
                let page = match ask.path {
                    "/" => "<a href=/after>a</a>",
                    "/after" => "after",
                    _ => return None,
                };
                Some(crate::hostile::site::kept(format!(
                    "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Type: text/html\r\n\
                     Content-Length: {}\r\n\r\n{page}", page.len()
                )))
            })),
        )),
        case("x_tls_close_unclean", "closes without saying so", Speech::Tls(
            Arc::new(authority.server("bad.test", false, &[])),
            Box::new(http_by(|ask| (ask.path == "/bad").then(|| crate::hostile::site::steps(vec![
                Step::Send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<a href=/found>x</a>".to_vec()),
            ])))),
        ))
        .at("/bad", "done 200|done 200 disconnect")
        .asked("/found", 1..=1),
    ]
}

fn old_hello() -> Vec<u8> {
    let mut hello = vec![3, 1];
    hello.extend([7; 32]);
    hello.extend([0, 0, 0x2f, 0]);
    let mut record = vec![22, 3, 1, 0, hello.len() as u8 + 4, 2, 0, 0, hello.len() as u8];
    record.extend(hello);
    record
}

/// Returns a frame (RFC 9113 §4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;
/// `:status: 200` from the static table.
const STATUS_200: &[u8] = &[0x88];

fn http2(authority: &Authority) -> Vec<Case> {
    let config = Arc::new(authority.server("bad.test", false, &[b"h2", b"http/1.1"]));
    let spoken = |script: Vec<Step>| Speech::Http2(config.clone(), script, plain());
    let settings = frame(SETTINGS, 0, 0, &[]);
    let after = |frames: &[Vec<u8>]| {
        let bytes = [settings.clone(), frames.concat()].concat();
        spoken(vec![Step::Send(bytes), Step::Hang])
    };
    let flood = |first: Vec<u8>, bytes: Vec<u8>| {
        let begin = Step::Send([settings.clone(), first].concat());
        spoken(vec![begin, Step::SendForever(bytes)])
    };
    let head = frame(HEADERS, END_HEADERS, 1, STATUS_200);
    let block = [0x40, 1, b'a', 127, 200, 0];
    let again =
        |id: &'static str, does: &'static str, speech: Speech| case(id, does, speech).requests(12);
    // What HTTP/2 begins and never ends is no robots.txt; then nothing may be fetched.
    let never = |id: &'static str, does: &'static str, frames: &[Vec<u8>]| {
        let bytes = [settings.clone(), frames.concat()].concat();
        let speech = spoken(vec![Step::ReadHttp2, Step::Send(bytes), Step::Hang]);
        case(id, does, speech)
            .at("/", "failed host-given-up|refused robots-unreachable")
            .sends(64 << 20)
            .lost()
    };
    // What comes before the client has asked may be a fault of the connection: then HTTP/1.1 is
    // spoken.
    let either = |id: &'static str, does: &'static str, speech: Speech| {
        case(id, does, speech)
            .at("/", "failed host-given-up|refused robots-unreachable|done 200")
            .sends(64 << 20)
            .lost()
    };
    let too_long = [&[0xff, 0xff, 0xff, DATA, 0, 0, 0, 0, 1][..], &[0; 100]].concat();
    vec![
        again("h2_goaway", "GOAWAY at once", after(&[frame(GOAWAY, 0, 0, &[0; 8])])),
        again("h2_badframe", "a frame that is too long", after(&[too_long])),
        again(
            "h2_pushpromise",
            "a push although that is off",
            after(&[frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2, 0x82])]),
        ),
        again(
            "x_h2_refused",
            "refuses the stream",
            after(&[frame(RST_STREAM, 0, 1, &[0, 0, 0, 7])]),
        ),
        again(
            "x_h2_hpack",
            "broken compression of headers",
            after(&[frame(HEADERS, END_HEADERS, 1, &[0xff; 5])]),
        ),
        again(
            "x_h2_window",
            "a window that overflows",
            after(&[
                frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]),
                frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]),
            ]),
        ),
        again(
            "x_h2_status_missing",
            "an answer without a status",
            after(&[frame(HEADERS, END_HEADERS, 1, &[0x40, 1, b'a', 1, b'b'])]),
        ),
        never("h2_stall", "headers, and never a body", std::slice::from_ref(&head)),
        never(
            "h2_rst",
            "a reset within the body",
            &[
                head.clone(),
                frame(DATA, 0, 1, b"User-agent: *\n"),
                frame(RST_STREAM, 0, 1, &[0, 0, 0, 2]),
            ],
        ),
        either(
            "h2_contflood",
            "continued headers without end",
            flood(frame(HEADERS, 0, 1, STATUS_200), frame(CONTINUATION, 0, 1, &block).repeat(20)),
        ),
        either("h2_settingsflood", "settings without end", flood(Vec::new(), settings.repeat(50))),
        either(
            "x_h2_pingflood",
            "pings without end",
            flood(Vec::new(), frame(PING, 0, 0, &[0; 8]).repeat(50)),
        ),
        either(
            "x_h2_dataflood",
            "empty data without end",
            flood(head.clone(), frame(DATA, 0, 1, &[]).repeat(50)),
        ),
        either("x_h2_silence", "agrees to HTTP/2 and is silent", spoken(vec![Step::Hang])),
        case("h2_ok", "HTTP/2 as it should be", Speech::Http2Well(config.clone()))
            .at("/", "done 200")
            .at("/bad", "done 200"),
    ]
}
