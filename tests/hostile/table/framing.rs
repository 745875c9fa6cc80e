//! Lengths, chunks, header blocks and status lines that are wrong.

use crate::hostile::site::{bad, http_by, kept, raw};
use crate::hostile::world::{Case, case};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";
const LINK: &str = "<a href=/found>a</a>";

fn ok(rest: impl std::fmt::Display) -> crate::hostile::site::Speech {
    let bytes = format!("{OK}{rest}");
    bad(move || raw(&bytes))
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = lengths();
    cases.extend(chunks());
    cases.extend(heads());
    cases.extend(statuses());
    cases
}

fn lengths() -> Vec<Case> {
    let refused = "failed protocol-error";
    vec![
        case(
            "cl_short",
            "promises 1000 bytes, sends 100, closes",
            ok(format!("Content-Length: 1000\r\n\r\n{LINK}{}", "x".repeat(80))),
        )
        .at("/bad", "done 200 disconnect")
        .asked("/found", 1..=1),
        case(
            "cl_long",
            "promises 10 bytes and sends 500, among them what looks like an answer",
            bad(|| {
                let next = "HTTP/1.1 200 OK\r\nContent-Length: 21\r\n\r\n<a href=/private/x>x</a>";
                kept(format!("{OK}Content-Length: 10\r\n\r\n{}{next}", "y".repeat(300)))
            }),
        )
        .at("/bad", "done 200")
        .never("/private"),
        case("cl_negative", "a negative length", ok("Content-Length: -5\r\n\r\nhello"))
            .at("/bad", refused),
        case("cl_letters", "letters after the length", ok("Content-Length: 5abc\r\n\r\nhello"))
            .at("/bad", refused),
        case(
            "cl_two_differ",
            "two lengths that differ",
            ok("Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
        )
        .at("/bad", refused),
        case(
            "cl_comma_same",
            "one length twice in a list",
            ok("Content-Length: 5, 5\r\n\r\nhello"),
        )
        .at("/bad", "done 200"),
        case(
            "x_cl_comma_differ",
            "a list of two lengths",
            ok("Content-Length: 5, 6\r\n\r\nhello!"),
        )
        .at("/bad", refused),
        case(
            "x_cl_overflow",
            "a length beyond 64 bits",
            ok("Content-Length: 99999999999999999999999\r\n\r\nhello"),
        )
        .at("/bad", refused),
        case("x_cl_hex", "a length in hexadecimal", ok("Content-Length: 0x05\r\n\r\nhello"))
            .at("/bad", refused),
        case("x_cl_empty", "a length without a value", ok("Content-Length:\r\n\r\nhello"))
            .at("/bad", "done 200|failed protocol-error"),
        case(
            "cl_and_chunked",
            "length and chunks together",
            bad(|| {
                kept(format!(
                    "{OK}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n\
                     14\r\n{LINK}\r\n0\r\n\r\n"
                ))
            }),
        )
        .at("/bad", "done 200")
        .asked("/found", 1..=1),
        case(
            "cl_enormous",
            "promises an exabyte, sends two bytes",
            ok("Content-Length: 1000000000000000000\r\n\r\nhi"),
        )
        .at("/bad", "done 200 disconnect"),
    ]
}

fn chunks() -> Vec<Case> {
    let broken = "done 200 unspecified";
    let chunked = |rest: &str| ok(format!("Transfer-Encoding: chunked\r\n\r\n{rest}"));
    vec![
        case("chunk_bad_size", "a chunk size of letters", chunked("zz\r\nhello\r\n0\r\n\r\n"))
            .at("/bad", broken),
        case(
            "x_chunk_bad_second",
            "a sound chunk, then a broken one",
            chunked(&format!("14\r\n{LINK}\r\nzz\r\n")),
        )
        .at("/bad", broken)
        .asked("/found", 1..=1),
        case("x_chunk_huge", "a chunk size beyond 64 bits", chunked("fffffffffffffffff\r\nhi"))
            .at("/bad", broken),
        case("x_chunk_negative", "a negative chunk size", chunked("-5\r\nhello\r\n0\r\n\r\n"))
            .at("/bad", broken),
        case("x_chunk_no_last", "chunks that end without a last one", chunked("5\r\nhello\r\n"))
            .at("/bad", "done 200 disconnect"),
        case(
            "x_chunk_smuggled",
            "an answer within the trailer of chunks",
            bad(|| {
                kept(format!(
                    "{OK}Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n\
                     HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n<a href=/private/x>x</a>"
                ))
            }),
        )
        .at("/bad", "done 200")
        .never("/private"),
        case(
            "x_chunk_extension_long",
            "chunk extensions of 200 kB",
            chunked(&format!("2;a={}\r\nhi\r\n0\r\n\r\n", "b".repeat(200_000))),
        )
        .at("/bad", "done 200 length|done 200 unspecified"),
        case(
            "x_trailers_20000",
            "20,000 trailer fields",
            chunked(&format!("2\r\nhi\r\n0\r\n{}\r\n", "X-T: 1\r\n".repeat(20_000))),
        )
        .at("/bad", "done 200 length|done 200 unspecified"),
        case(
            "te_not_chunked",
            "chunked is not the last transfer coding",
            ok("Transfer-Encoding: chunked, identity\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        )
        .at("/bad", "done 200"),
        case("te_gzip_chunked", "gzip as a transfer coding nobody asked for", te_gzip())
            .at("/bad", "done 200")
            .asked("/found", 1..=1),
        case(
            "x_te_twice",
            "chunked twice",
            ok("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
        )
        .at("/bad", "done 200|done 200 unspecified|failed protocol-error"),
        case(
            "x_te_unknown",
            "a transfer coding that does not exist",
            ok("Transfer-Encoding: xyzzy\r\n\r\nhi"),
        )
        .at("/bad", "done 200|done 200 unspecified|failed protocol-error"),
    ]
}

fn te_gzip() -> crate::hostile::site::Speech {
    let body = super::coding::gzip(LINK.as_bytes());
    let chunk = [format!("{:x}\r\n", body.len()).as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
    let head = format!("{OK}Transfer-Encoding: gzip, chunked\r\n\r\n");
    let bytes = [head.as_bytes(), &chunk].concat();
    bad(move || raw(&bytes))
}

fn heads() -> Vec<Case> {
    let too_large = "failed head-too-large";
    let cut = "failed closed-early";
    vec![
        case("eof_in_headers", "closes within the headers", ok("Content-Ty")).at("/bad", cut),
        case("x_eof_in_status", "closes within the status line", bad(|| raw("HTTP/1.")))
            .at("/bad", cut),
        case("x_eof_before_blank", "closes before the blank line", ok("")).at("/bad", cut),
        case("headers_20000", "20,000 headers", ok("X-A: b\r\n".repeat(20_000) + "\r\nhi"))
            .at("/bad", too_large),
        case("x_header_long", "one header of 200 kB", ok(format!("X: {}\r\n\r\n", "v".repeat(200_000))))
            .at("/bad", too_large),
        case("header_dup_ct", "two content types", ok("Content-Type: image/png\r\n\r\nhi"))
            .at("/bad", "done 200"),
        case("x_header_nul", "a null byte in a header", ok("X-A: a\0b\r\n\r\nhi"))
            .at("/bad", "failed protocol-error"),
        case("x_header_cr", "a bare CR in a header", ok("X-A: a\rb\r\n\r\nhi"))
            .at("/bad", "failed protocol-error"),
        case("x_header_high", "headers of bytes above 127", high_bytes()).at("/bad", "done 200"),
        case("x_header_empty_name", "a header without a name", ok(": value\r\n\r\nhi"))
            .at("/bad", "done 200|failed protocol-error"),
        case("x_bare_lf", "line feeds without carriage returns", bad(|| {
            raw("HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 20\n\n<a href=/found>a</a>")
        }))
        .at("/bad", "done 200")
        .asked("/found", 1..=1),
        case(
            "x_header_injection",
            "a redirect whose Location holds an encoded header",
            bad(|| {
                raw("HTTP/1.1 302 Go\r\nLocation: /x%0d%0aX-Evil:%20yes\r\nContent-Length: 0\r\n\r\n")
            }),
        )
        .asked("/x%0D%0AX-Evil:%20yes", 1..=1),
        case(
            "two_responses",
            "a second answer that nobody asked for on a kept connection",
            http_by(|ask| {
                let next = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 24\r\n\r\n\
                            <a href=/private/x>x</a>";
                (ask.path == "/bad").then(|| kept(format!("{OK}Content-Length: 2\r\n\r\nhi{next}")))
            }),
        )
        .at("/bad", "done 200")
        .never("/private"),
        case("close_lie", "says close, sends a page, keeps the socket open", bad(|| {
            use crate::loopback::server::Step;
            let page = format!("{OK}Connection: close\r\n\r\n{LINK}");
            crate::hostile::site::steps(vec![Step::Send(page.into_bytes()), Step::Hang])
        }))
        .at("/bad", "done 200 time")
        .asked("/found", 1..=1),
    ]
}

fn high_bytes() -> crate::hostile::site::Speech {
    let bytes = [OK.as_bytes(), b"X-A: \xff\xfe\xe9\r\nContent-Length: 2\r\n\r\nhi"].concat();
    bad(move || raw(&bytes))
}

fn statuses() -> Vec<Case> {
    let refused = "failed protocol-error";
    let line = |id: &'static str, does: &'static str, line: &'static str, want: &'static str| {
        case(id, does, bad(move || raw(format!("{line}\r\n\r\n")))).at("/bad", want)
    };
    let interim = |what: &str, times: usize| {
        let bytes = format!("{}{OK}Content-Length: 2\r\n\r\nhi", what.repeat(times));
        bad(move || raw(&bytes))
    };
    vec![
        line("status_line_only", "a status line and nothing else", "HTTP/1.1 200 OK", "done 200"),
        line("status_http12", "HTTP/1.2", "HTTP/1.2 200 OK", refused),
        line("x_status_icy", "a radio's status line", "ICY 200 OK", refused),
        line("x_status_letters", "a status of letters", "HTTP/1.1 abc OK", refused),
        line("x_status_099", "a status below 100", "HTTP/1.1 099 Low", refused),
        line("x_status_1000", "a status of four digits", "HTTP/1.1 2000 OK", refused),
        line("x_status_ssh", "another protocol's greeting", "SSH-2.0-OpenSSH_9.2", refused),
        line("x_status_nul", "null bytes instead of a status", "\0\0\0\0\0\0", refused),
        line("x_status_zero_length_reason", "no reason phrase", "HTTP/1.1 200", "done 200"),
        line("status_999", "status 999", "HTTP/1.1 999 Denied\r\nContent-Length: 0", "done 999"),
        line("x_status_600", "status 600", "HTTP/1.1 600 Odd\r\nContent-Length: 0", "done 600"),
        case("http09", "a page without a status line", bad(|| raw("<html>hello</html>")))
            .at("/bad", refused),
        case("early_hints", "one interim answer, then the page", interim(HINTS, 1))
            .at("/bad", "done 200"),
        case("x_interim_flood", "200 interim answers", interim("HTTP/1.1 102 Wait\r\n\r\n", 200))
            .at("/bad", "failed head-too-large"),
        case(
            "x_interim_endless",
            "interim answers without end",
            bad(|| {
                use crate::loopback::server::Step;
                let step = Step::SendForever(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec());
                crate::hostile::site::steps(vec![step])
            }),
        )
        .at("/bad", "failed head-too-large"),
        case(
            "x_switching",
            "switches protocols unasked",
            bad(|| {
                raw("HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n")
            }),
        )
        .at("/bad", refused),
        case(
            "no_content_body",
            "204 with a body on a kept connection",
            bad(|| kept("HTTP/1.1 204 None\r\nContent-Length: 24\r\n\r\n<a href=/private/x>x</a>")),
        )
        .at("/bad", "done 204")
        .never("/private"),
        case(
            "unasked_304",
            "304 to a request without a condition",
            bad(|| kept("HTTP/1.1 304 Same\r\nETag: \"x\"\r\nContent-Length: 5\r\n\r\nhello")),
        )
        .at("/bad", "done 304"),
        case(
            "unasked_206",
            "206 to a request without a range",
            bad(|| {
                kept(
                    "HTTP/1.1 206 Part\r\nContent-Type: text/html\r\nContent-Range: bytes 0-1/9\r\n\
                  Content-Length: 2\r\n\r\nhi",
                )
            }),
        )
        .at("/bad", "done 206"),
        case(
            "x_range_confused",
            "416 to a request without a range",
            bad(|| {
                kept("HTTP/1.1 416 Range\r\nContent-Range: bytes */-1\r\nContent-Length: 0\r\n\r\n")
            }),
        )
        .at("/bad", "done 416"),
    ]
}

const HINTS: &str = "HTTP/1.1 103 Early Hints\r\nLink: </private/x>; rel=preload\r\n\r\n";
