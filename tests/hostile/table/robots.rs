//! robots.txt that is large, broken, late, moved or never there.

use std::sync::Arc;

use crate::hostile::site::{Reply, Speech, answer, http_by, links, raw, robots, steps};
use crate::hostile::world::{Case, Limits, case};
use crate::loopback::name_server::Reply as Dns;
use crate::loopback::server::Step;

const RULE: &str = "User-agent: *\nDisallow: /private/\n";

fn text(body: impl Into<Vec<u8>>) -> Speech {
    let body = Arc::new(body.into());
    robots(move |_| answer("200 OK", "Content-Type: text/plain\r\n", &*body))
}

fn says(reply: impl Fn() -> Reply + Send + Sync + 'static) -> Speech {
    robots(move |_| reply())
}

/// The rule holds, and the rest of the host is crawled.
fn honoured(id: &'static str, does: &'static str, speech: Speech) -> Case {
    case(id, does, speech).at("/private/x", "refused robots-disallowed").never("/private")
}

/// Everything may be fetched.
fn open(id: &'static str, does: &'static str, speech: Speech) -> Case {
    case(id, does, speech).asked("/private/x", 1..=1)
}

/// Nothing may be fetched.
fn closed(id: &'static str, does: &'static str, speech: Speech) -> Case {
    case(id, does, speech)
        .at("/", "refused robots-unreachable|failed host-given-up|refused robots-disallowed")
        .asked("/", 0..=0)
        .never("/private")
        .lost()
}

fn roomy(limits: &mut Limits) {
    limits.fetch.robots_body_max = crawler::clock::ByteSize::mib(1);
    limits.fetch.body_max = crawler::clock::ByteSize::mib(2);
    limits.fetch.decoded_max = crawler::clock::ByteSize::mib(2);
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = texts();
    cases.extend(answers());
    cases.extend(redirects());
    cases.extend(changes());
    cases
}

fn texts() -> Vec<Case> {
    let filler = |bytes: usize| "# filler of a robots.txt\n".repeat(bytes / 25);
    let utf16: Vec<u8> =
        format!("\u{feff}{RULE}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        honoured("robots_r-ok", "a plain robots.txt", text(RULE)),
        open("robots_r-204", "204", says(|| raw("HTTP/1.1 204 None\r\n\r\n"))),
        honoured("robots_r-499k", "490 kB with the rule at the end", text(filler(490_000) + RULE))
            .with(roomy),
        honoured(
            "robots_r-longline",
            "a line of 400 kB, then the rule",
            text(format!("Allow: /{}\n{RULE}", "a".repeat(400_000))),
        )
        .with(roomy),
        open(
            "robots_r-html",
            "a page",
            text("<html><body>Hello, this is no robots.txt</body></html>"),
        ),
        case(
            "robots_r-html-rules",
            "rules within HTML",
            text("<html><pre>User-agent: *<br>\nDisallow: /private/<br>\n</pre></html>"),
        )
        .at("/private/x", "refused robots-disallowed|done 404"),
        honoured("robots_r-bom", "a byte order mark first", text(format!("\u{feff}{RULE}"))),
        honoured("robots_r-cr", "lines that end in CR alone", text(RULE.replace('\n', "\r"))),
        case("robots_r-nul", "null bytes between lines", text(RULE.replace('\n', "\n\0\0\n")))
            .at("/private/x", "refused robots-disallowed|done 404"),
        honoured(
            "robots_r-png",
            "called an image",
            says(|| answer("200 OK", "Content-Type: image/png\r\n", RULE)),
        ),
        case(
            "robots_r-wild",
            "200 rules that make a matcher go back and forth",
            text(format!("User-agent: *\n{}", "Disallow: /*a*a*a*a*a*a*a*a*b$\n".repeat(200))),
        )
        .seeds(&[
            "http://bad.test:PORT/",
            "http://bad.test:PORT/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ]),
        case(
            "x_robots_stars",
            "one rule of 2,000 wildcards",
            text(format!("User-agent: *\nDisallow: /{}z\n", "*a".repeat(2_000))),
        ),
        case(
            "x_robots_groups",
            "20,000 groups",
            text("User-agent: x\nDisallow: /\n".repeat(18_000)),
        )
        .with(roomy),
        case("x_robots_utf16", "UTF-16", text(utf16))
            .at("/private/x", "refused robots-disallowed|done 404"),
        honoured(
            "x_robots_bad_utf8",
            "broken UTF-8",
            text([b"# \xff\xfe\xed\xa0\x80\n", RULE.as_bytes()].concat()),
        ),
        honoured(
            "x_robots_gzip",
            "compressed",
            says(|| {
                answer("200 OK", "Content-Encoding: gzip\r\n", super::coding::gzip(RULE.as_bytes()))
            }),
        ),
        honoured(
            "x_robots_bomb",
            "the rule, then a bomb",
            says(|| {
                let bomb = super::coding::gzip(&[RULE.as_bytes(), &vec![b'#'; 16 << 20]].concat());
                answer("200 OK", "Content-Encoding: gzip\r\n", bomb)
            }),
        ),
        case(
            "x_robots_delay_huge",
            "a crawl delay of a year",
            text("User-agent: *\nCrawl-delay: 31536000\n"),
        )
        .parked()
        .lost(),
        case(
            "x_robots_delay_odd",
            "crawl delays of nonsense",
            text(
                "User-agent: *\nCrawl-delay: -1\nCrawl-delay: NaN\nCrawl-delay: inf\nCrawl-delay: 1e999\n",
            ),
        ),
        case(
            "x_robots_control",
            "escape sequences in rules",
            text("User-agent: *\nDisallow: /\u{1b}[2J\nDisallow: /private/\u{7}\n"),
        ),
    ]
}

fn answers() -> Vec<Case> {
    let status = |status: &'static str| says(move || answer(status, "", RULE));
    vec![
        open("robots_r-403", "403", status("403 Forbidden")),
        open("x_robots_401", "401", status("401 Unauthorized")),
        open("x_robots_410", "410", status("410 Gone")),
        open("x_robots_999", "999", status("999 Denied")),
        closed("x_robots_500", "500", status("500 Oops")),
        closed("x_robots_503", "503 for ever", status("503 Busy")),
        closed("x_robots_429", "429 for ever", status("429 Slowly")),
        closed("x_robots_reset", "a reset", Speech::Every(vec![Step::Read, Step::Reset])),
        closed("x_robots_silence", "nothing", says(|| steps(vec![Step::Hang]))),
        closed("x_robots_nonsense", "no HTTP", says(|| raw("robots? what robots?\r\n\r\n"))),
        closed(
            "x_robots_heads",
            "headers without end",
            says(|| {
                steps(vec![
                    Step::Send(b"HTTP/1.1 200 OK\r\n".to_vec()),
                    Step::SendForever(b"X-A: b\r\n".repeat(100)),
                ])
            }),
        ),
        closed(
            "robots_r-slow",
            "robots.txt byte by byte",
            says(|| {
                steps(vec![
                    Step::Send(b"HTTP/1.1 200 OK\r\n\r\nUser-agent: *\n".to_vec()),
                    Step::DripForever(b'#'),
                ])
            }),
        ),
        closed(
            "x_robots_cut",
            "closed in the midst of it",
            says(|| raw("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nUser-agent: *\n")),
        ),
        closed(
            "x_robots_bad_chunks",
            "broken chunks",
            says(|| {
                raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nUser\r\nzz\r\n")
            }),
        ),
        closed(
            "x_robots_bad_gzip",
            "gzip that is none",
            says(|| answer("200 OK", "Content-Encoding: gzip\r\n", RULE)),
        ),
        honoured(
            "robots_r-endless",
            "the rule first, then no end",
            says(|| {
                steps(vec![
                    Step::Send(format!("HTTP/1.1 200 OK\r\n\r\n{RULE}").into_bytes()),
                    Step::SendForever(b"# and so on\n".repeat(300)),
                ])
            }),
        )
        .with(roomy),
    ]
}

fn redirects() -> Vec<Case> {
    let hops = |hops: usize| {
        http_by(move |ask| {
            let next =
                |n: usize| answer("301 Moved", &format!("Location: /robots-{n}.txt\r\n"), "");
            match ask.path {
                "/" => Some(links("home", &["/private/x", "/after"])),
                "/robots.txt" => Some(next(1)),
                path => {
                    let n: usize =
                        path.strip_prefix("/robots-")?.strip_suffix(".txt")?.parse().ok()?;
                    Some(if n < hops { next(n + 1) } else { answer("200 OK", "", RULE) })
                }
            }
        })
    };
    let to = |location: &'static str| {
        says(move || answer("302 Found", &format!("Location: {location}\r\n"), ""))
    };
    vec![
        open("robots_r-loop", "a redirect to itself", to("/robots.txt"))
            .asked("/robots.txt", 1..=6),
        honoured("robots_r-5hops", "five redirects", hops(5)),
        open("x_robots_endless_hops", "redirects without end", hops(1_000)),
        open("x_robots_to_home", "a redirect to a page", to("/after")),
        open("x_robots_no_target", "a redirect to nowhere", says(|| raw("HTTP/1.1 302 F\r\n\r\n"))),
        open("x_robots_to_script", "a redirect to a script", to("javascript:1")),
        closed(
            "x_robots_to_inside",
            "a redirect to the inside",
            robots(|ask| {
                let location = format!("Location: http://127.0.0.1:{}/robots.txt\r\n", ask.port);
                answer("302 Found", &location, "")
            }),
        ),
        closed(
            "x_robots_to_dead",
            "a redirect to a host that does not exist",
            to("http://gone.test/robots.txt"),
        ),
        closed(
            "x_robots_to_bad_port",
            "a redirect to the port of mail",
            to("http://bad.test:25/robots.txt"),
        ),
        closed(
            "x_robots_two_to_dead",
            "redirects of two hosts to one that does not exist",
            robots(|_| answer("302 Found", "Location: http://gone.test/robots.txt\r\n", "")),
        )
        .seeds(&["/", "http://other.test:PORT/", "http://third.test:PORT/"])
        .at("http://third.test:PORT/", "refused robots-unreachable")
        .zone(&[
            ("other.test", Dns::V4(vec![crate::hostile::site::ADDRESS], 300)),
            ("third.test", Dns::V4(vec![crate::hostile::site::ADDRESS], 300)),
        ])
        .with(|limits| {
            limits.politeness.unreachable_max = 2;
            limits.crawl.robots_failures_max = 3;
        }),
        honoured(
            "x_robots_other_host",
            "a redirect to another host's rules",
            http_by(|ask| match (ask.path, ask.host) {
                ("/robots.txt", "bad.test") => {
                    let location =
                        format!("Location: http://other.test:{}/robots.txt\r\n", ask.port);
                    Some(answer("301 Moved", &location, ""))
                }
                ("/robots.txt", _) => Some(answer("200 OK", "", RULE)),
                ("/", _) => Some(links("home", &["/private/x", "/after"])),
                _ => None,
            }),
        )
        .zone(&[("other.test", Dns::V4(vec![crate::hostile::site::ADDRESS], 300))])
        .with(|limits| limits.politeness.min_delay = crawler::clock::Span::millis(1)),
    ]
}

fn changes() -> Vec<Case> {
    let short = |limits: &mut Limits| limits.robots.ttl = crawler::clock::Span::millis(1);
    vec![
        case(
            "x_robots_closes",
            "allows at first, then forbids all",
            robots(|ask| match ask.before {
                0 => answer("200 OK", "", "User-agent: *\nAllow: /\n"),
                _ => answer("200 OK", "", "User-agent: *\nDisallow: /\n"),
            }),
        )
        .at("/", "done 200|refused robots-disallowed")
        .at("/after", "refused robots-disallowed|unknown")
        .with(short)
        .lost(),
        case(
            "x_robots_recovers",
            "fails once, then is there",
            robots(|ask| match ask.before {
                0 => answer("503 Busy", "", ""),
                _ => answer("200 OK", "", RULE),
            }),
        )
        .at("/private/x", "refused robots-disallowed")
        .never("/private"),
        case(
            "x_robots_vanishes",
            "is there once, then fails",
            robots(|ask| match ask.before {
                0 => answer("200 OK", "", RULE),
                _ => answer("500 Oops", "", ""),
            }),
        )
        .at("/private/x", "refused robots-disallowed")
        .never("/private")
        .with(|limits| {
            limits.robots.ttl = crawler::clock::Span::millis(1);
            limits.robots.outage_tolerated = crawler::clock::Span::millis(10);
        }),
        case(
            "x_robots_never_stale",
            "asks to be kept for a thousand years",
            robots(|_| answer("200 OK", "Cache-Control: max-age=99999999999999999999\r\n", RULE)),
        )
        .at("/private/x", "refused robots-disallowed")
        .never("/private"),
    ]
}
