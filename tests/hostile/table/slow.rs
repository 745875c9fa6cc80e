//! Servers that are slow, silent, endless or gone.

use crate::hostile::site::{Speech, bad, http_by, links, steps};
use crate::hostile::world::{Case, case};
use crate::loopback::server::Step;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

fn then(head: &str, last: Step) -> Speech {
    let script = vec![Step::Send(format!("{OK}{head}").into_bytes()), last];
    bad(move || steps(script.clone()))
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = slow();
    cases.extend(endless());
    cases.extend(connections());
    cases
}

fn slow() -> Vec<Case> {
    let late = "failed first-byte-timeout";
    vec![
        case(
            "slow_headers",
            "headers byte by byte",
            bad(|| steps(vec![Step::Drip(b"HTTP/1.1 200 OK\r\nX: ".repeat(100))])),
        )
        .at("/bad", late),
        case(
            "x_slow_status",
            "a status line byte by byte without end",
            bad(|| steps(vec![Step::DripForever(b'H')])),
        )
        .at("/bad", "failed first-byte-timeout|failed protocol-error"),
        case(
            "x_silence_after_headers_begun",
            "half a header, then silence",
            bad(|| steps(vec![Step::Send(b"HTTP/1.1 200 OK\r\nX-".to_vec()), Step::Hang])),
        )
        .at("/bad", late),
        case("x_silence", "reads the request and is silent", bad(|| steps(vec![Step::Hang])))
            .at("/bad", late),
        case("slow_body", "a body byte by byte", then("\r\n", Step::DripForever(b'x')))
            .at("/bad", "done 200 time"),
        case(
            "x_body_stops",
            "a body that stops half way",
            then("Content-Length: 5000\r\n\r\n<a href=/found>a</a>", Step::Hang),
        )
        .at("/bad", "done 200 time")
        .asked("/found", 1..=1),
        case(
            "x_chunk_stops",
            "a chunk that never ends",
            then("Transfer-Encoding: chunked\r\n\r\n14\r\n<a href=/found>a</a>\r\nff\r\nab", Step::Hang),
        )
        .at("/bad", "done 200 time")
        .asked("/found", 1..=1),
        case("x_slow_home", "the first page never comes", http_by(|ask| {
            (ask.path == "/").then(|| steps(vec![Step::Hang]))
        }))
        .at("/", late)
        .lost(),
        case("x_robots_then_nothing", "answers robots.txt and then nothing", http_by(|ask| {
            (ask.path != "/robots.txt").then(|| steps(vec![Step::Hang]))
        }))
        .seeds(&["http://bad.test:PORT/a", "http://bad.test:PORT/b", "http://bad.test:PORT/c",
                 "http://bad.test:PORT/d", "http://bad.test:PORT/e", "http://bad.test:PORT/f"])
        .lost(),
        case("x_robots_then_reset", "answers robots.txt and resets everything else", Speech::Nth(vec![
            [crate::loopback::server::answer("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")].concat(),
            vec![Step::Read, Step::Reset],
        ]))
        .lost(),
        case("close_no_answer", "reads the request and closes", bad(|| steps(Vec::new())))
            .at("/bad", "failed closed-early")
            .asked("/bad", 2..=6),
        case("x_alien_port", "a healthy host's closed port, linked to many times", bad(|| {
            let links: String = (0..30)
                .map(|n| format!("<a href=http://good.test:81/{n}>x</a><a href=http://bad.test:81/{n}>x</a>"))
                .collect();
            crate::hostile::site::page(links)
        }))
        .at("http://good.test:81/1", "refused robots-unreachable")
        .at("http://bad.test:81/29", "refused robots-unreachable"),
        case("x_every_second", "closes on every second request", http_by(|ask| {
            (ask.path != "/robots.txt" && ask.before % 2 == 0).then(|| steps(Vec::new()))
        }))
        .at("/bad", "done 404"),
        case("x_comes_back", "fails twice, then answers", http_by(|ask| {
            (ask.path == "/bad").then(|| match ask.before {
                0 | 1 => steps(Vec::new()),
                _ => links("back again", &["/found"]),
            })
        }))
        .at("/bad", "done 200")
        .asked("/found", 1..=1),
    ]
}

fn endless() -> Vec<Case> {
    let cut = "done 200 length";
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(0x1000)).into_bytes();
    vec![
        case(
            "infinite_body",
            "a body without length or end",
            then("\r\n", Step::SendForever(vec![b'x'; 4096])),
        )
        .at("/bad", cut),
        case(
            "infinite_chunked",
            "chunks without end",
            then("Transfer-Encoding: chunked\r\n\r\n", Step::SendForever(chunk)),
        )
        .at("/bad", cut),
        case(
            "x_chunks_of_one",
            "chunks of one byte without end",
            then(
                "Transfer-Encoding: chunked\r\n\r\n",
                Step::SendForever(b"1\r\nx\r\n".repeat(500)),
            ),
        )
        .at("/bad", cut),
        case(
            "body_300mb",
            "an honest page of 300 MB",
            then("Content-Length: 314572800\r\n\r\n", Step::SendForever(vec![b'x'; 4096])),
        )
        .at("/bad", cut),
        case(
            "x_links_endless",
            "links without end",
            then("\r\n", Step::SendForever(b"<a href=/nowhere>x</a>".repeat(100))),
        )
        .at("/bad", cut)
        .at("/nowhere", "done 404"),
        case(
            "x_headers_endless",
            "headers without end",
            then("", Step::SendForever(b"X-A: b\r\n".repeat(100))),
        )
        .at("/bad", "failed head-too-large"),
        case(
            "x_cookies_megabytes",
            "cookies by the megabyte",
            then(
                "",
                Step::SendForever(format!("Set-Cookie: a={}\r\n", "b".repeat(4000)).into_bytes()),
            ),
        )
        .at("/bad", "failed head-too-large"),
    ]
}

fn connections() -> Vec<Case> {
    let gone = |id: &'static str, does: &'static str, speech: Speech| {
        case(id, does, speech).at("/", "failed host-given-up|refused robots-unreachable").lost()
    };
    vec![
        gone("port_refused", "refuses connections", Speech::Refused),
        gone("port_reset", "resets every connection", Speech::Every(vec![Step::Reset])),
        gone("port_blackhole", "accepts and is silent", Speech::Every(vec![Step::Hang])),
        gone("port_close", "accepts and closes", Speech::Every(Vec::new())),
        gone("unroutable", "an address that never answers", Speech::Full).with(|limits| {
            limits.fetch.connect = crawler::clock::Span::millis(150);
        }),
        gone(
            "x_port_garbage",
            "sends random bytes at once",
            Speech::Every(vec![Step::Send(
                (0..4096u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect(),
            )]),
        ),
        gone(
            "x_port_tls",
            "speaks TLS where HTTP is spoken",
            Speech::Every(vec![Step::Read, Step::Send(vec![21, 3, 3, 0, 2, 2, 70])]),
        ),
        gone(
            "x_port_talks_first",
            "floods before it is asked",
            Speech::Every(vec![Step::SendForever(vec![0; 4096])]),
        ),
    ]
}
