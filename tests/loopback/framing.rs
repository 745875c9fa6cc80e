//! What stands on the wire of HTTP/1.1: lengths, chunks, header blocks, status lines.

use crawler::fetch::{Failure, Truncated};

use super::client::{Want, answered, check, fetcher, get, small};
use super::server::{Server, Step, answer};

const OK: &str = "HTTP/1.1 200 OK\r\n";

fn ok(rest: &str) -> Vec<Step> {
    answer([OK, rest].concat())
}

#[tokio::test]
async fn cl_short_keeps_what_came_and_says_so() {
    let script = ok(&format!("Content-Length: 1000\r\n\r\n{}", "x".repeat(100)));
    check("cl_short", script, Want::Len(200, 100, Some(Truncated::Disconnect))).await;
}

#[tokio::test]
async fn cl_long_takes_the_length_and_no_more() {
    let script = ok(&format!("Content-Length: 10\r\n\r\n{}", "y".repeat(500)));
    check("cl_long", script, Want::Body(200, b"yyyyyyyyyy", None)).await;
}

#[tokio::test]
async fn lengths_that_are_no_lengths_are_refused() {
    let cases = [
        ("cl_negative", "Content-Length: -5\r\n\r\nhello"),
        ("cl_letters", "Content-Length: 5abc\r\n\r\nhello"),
        ("cl_two_differ", "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
        ("cl_comma_differ", "Content-Length: 5, 6\r\n\r\nhello!"),
        ("cl_overflow", "Content-Length: 99999999999999999999999\r\n\r\nhello"),
        ("cl_plus", "Content-Length: +5\r\n\r\nhello"),
    ];
    for (name, rest) in cases {
        check(name, ok(rest), Want::Fails(Failure::ProtocolError)).await;
    }
}

#[tokio::test]
async fn equal_lengths_count_as_one() {
    for (name, rest) in [
        ("cl_comma_same", "Content-Length: 5, 5\r\n\r\nhello"),
        ("cl_two_same", "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello"),
    ] {
        check(name, ok(rest), Want::Body(200, b"hello", None)).await;
    }
}

#[tokio::test]
async fn cl_enormous_allocates_nothing_by_its_word() {
    let script = ok("Content-Length: 1000000000000000000\r\n\r\nhi");
    check("cl_enormous", script, Want::Body(200, b"hi", Some(Truncated::Disconnect))).await;
}

#[tokio::test]
async fn cl_and_chunked_reads_chunks_and_gives_the_connection_up() {
    let page = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n\
                5\r\nhello\r\n0\r\n\r\n";
    let fetcher = fetcher(&small());
    let script = [answer(page), answer(page), vec![Step::Hang]].concat();
    let server = Server::playing(script).await;
    for _ in 0..2 {
        let got = answered(get(&fetcher, &server.url("/bad")).await);
        assert_eq!((&got.body[..], got.truncated), (&b"hello"[..], None));
        assert_eq!(fetcher.idle(), 0);
    }
    assert_eq!(server.requests().iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 1]);
}

#[tokio::test]
async fn broken_chunks_keep_what_came_before() {
    let head = "Transfer-Encoding: chunked\r\n\r\n";
    let broken = Some(Truncated::Unspecified);
    for (name, chunks, body, truncated) in [
        ("chunk_bad_size", "zz\r\nhello\r\n0\r\n\r\n", "", broken),
        ("chunk_bad_second", "5\r\nhello\r\nzz\r\n", "hello", broken),
        ("chunk_no_crlf_after", "5\r\nhelloXX0\r\n\r\n", "hello", broken),
        ("chunk_huge_size", "fffffffffffffffff\r\nhello", "", broken),
        ("chunk_negative", "-5\r\nhello\r\n0\r\n\r\n", "", broken),
        ("chunk_eof_inside", "a\r\nhello", "hello", Some(Truncated::Disconnect)),
        ("chunk_no_last", "5\r\nhello\r\n", "hello", Some(Truncated::Disconnect)),
        ("chunk_extension", "5;a=b;c=\"d\"\r\nhello\r\n0\r\n\r\n", "hello", None),
        ("chunk_trailers", "5\r\nhello\r\n0\r\nX-After: 1\r\n\r\n", "hello", None),
        ("chunk_leading_zeros", "0005\r\nhello\r\n000\r\n\r\n", "hello", None),
    ] {
        let want = Want::Body(200, body.as_bytes(), truncated);
        check(name, ok(&[head, chunks].concat()), want).await;
    }
}

#[tokio::test]
async fn te_not_chunked_reads_to_the_end() {
    let script = ok("Transfer-Encoding: chunked, identity\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    check("te_not_chunked", script, Want::Len(200, 15, None)).await;
}

#[tokio::test]
async fn a_closed_header_block_is_no_answer() {
    for (name, sent) in [
        ("eof_in_headers", "HTTP/1.1 200 OK\r\nContent-Type: text/ht"),
        ("eof_in_status", "HTTP/1."),
        ("eof_before_blank", "HTTP/1.1 200 OK\r\n"),
    ] {
        check(name, answer(sent), Want::Fails(Failure::ClosedEarly)).await;
    }
}

#[tokio::test]
async fn header_blocks_are_bounded_in_bytes_and_in_fields() {
    let many = format!("{OK}{}\r\n", "X-A: b\r\n".repeat(20_000));
    check("headers_20000", answer(many), Want::Fails(Failure::HeadTooLarge)).await;
    let fields = format!("{OK}{}\r\n", "a: b\r\n".repeat(600));
    check("headers_600_short", answer(fields), Want::Fails(Failure::HeadTooLarge)).await;
    let one = format!("{OK}X-Long: {}\r\n\r\n", "v".repeat(200_000));
    check("header_200k", answer(one), Want::Fails(Failure::HeadTooLarge)).await;
    let endless = vec![Step::Read, Step::Send(OK.into()), Step::SendForever(b"X-A: b\r\n".into())];
    check("headers_endless", endless, Want::Fails(Failure::HeadTooLarge)).await;
    let line = vec![Step::Read, Step::SendForever(b"HTTP/1.1 200 OK".to_vec())];
    check("status_line_endless", line, Want::Fails(Failure::HeadTooLarge)).await;
    let cookies =
        format!("{OK}{}Content-Length: 2\r\n\r\nok", "Set-Cookie: a=b; c\r\n".repeat(400));
    check("cookies_400", answer(cookies), Want::Body(200, b"ok", None)).await;
}

#[tokio::test]
async fn status_lines_of_nonsense_are_refused() {
    for (name, sent) in [
        ("http09", "<html>hello</html>"),
        ("status_http12", "HTTP/1.2 200 OK\r\n\r\n"),
        ("icy", "ICY 200 OK\r\n\r\n"),
        ("status_one_digit", "HTTP/1.1 2 OK\r\n\r\n"),
        ("status_letters", "HTTP/1.1 abc OK\r\n\r\n"),
        ("status_099", "HTTP/1.1 099 Low\r\n\r\n"),
        ("http2_answer", "HTTP/2 200\r\n\r\n"),
        ("ssh", "SSH-2.0-OpenSSH_9.2\r\n\r\n"),
        ("nul_bytes", "\0\0\0\0\0\0\0\0\r\n\r\n"),
    ] {
        check(name, answer(sent), Want::Fails(Failure::ProtocolError)).await;
    }
}

#[tokio::test]
async fn bytes_that_do_not_belong_into_fields_are_refused() {
    for (name, fields) in [
        ("header_nul", "X-A: a\0b\r\nContent-Length: 2\r\n\r\nhi"),
        ("header_bare_cr", "X-A: a\rb\r\nContent-Length: 2\r\n\r\nhi"),
    ] {
        check(name, ok(fields), Want::Fails(Failure::ProtocolError)).await;
    }
}

#[tokio::test]
async fn oddities_that_browsers_accept_are_accepted() {
    let hi = |want| Want::Body(want, b"hi", None);
    check("bare_lf", answer("HTTP/1.1 200 OK\nContent-Length: 2\n\nhi"), hi(200)).await;
    check("obs_fold", ok("X-A: a\r\n  b\r\nContent-Length: 2\r\n\r\nhi"), hi(200)).await;
    check("space_before_colon", ok("Content-Length : 2\r\n\r\nhi"), hi(200)).await;
    check("no_colon", ok("just words\r\nContent-Length: 2\r\n\r\nhi"), hi(200)).await;
    check("header_dup_ct", ok("Content-Type: a/b\r\nContent-Type: c/d\r\n\r\nhi"), hi(200)).await;
    check("no_reason", answer("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi"), hi(200)).await;
    check("http10", answer("HTTP/1.0 200 OK\r\n\r\nhi"), hi(200)).await;
    check("leading_blank", answer("\r\n\r\nHTTP/1.1 200 OK\r\n\r\nhi"), hi(200)).await;
    check("status_999", answer("HTTP/1.1 999 Denied\r\nContent-Length: 2\r\n\r\nhi"), hi(999))
        .await;
    check("auth_401", answer("HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nhi"), hi(401)).await;
    check("unasked_206", answer("HTTP/1.1 206 Part\r\nContent-Length: 2\r\n\r\nhi"), hi(206)).await;
    check("status_line_only", answer("HTTP/1.1 200 OK\r\n\r\n"), Want::Body(200, b"", None)).await;
}

#[tokio::test]
async fn answers_without_a_body_have_none() {
    for (name, status) in [("no_content_body", 204), ("unasked_304", 304)] {
        let page = format!("HTTP/1.1 {status} X\r\nContent-Length: 5\r\n\r\nhello");
        check(name, answer(page), Want::Body(status, b"", None)).await;
    }
}

#[tokio::test]
async fn interim_answers_are_passed_over_but_not_for_ever() {
    let last = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    for (name, interim, times, want) in [
        ("early_hints", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 1, None),
        ("continue_10", "HTTP/1.1 100 Continue\r\n\r\n", 10, None),
        ("interim_flood", "HTTP/1.1 102 Wait\r\n\r\n", 200, Some(Failure::HeadTooLarge)),
        (
            "switching",
            "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n",
            1,
            Some(Failure::ProtocolError),
        ),
    ] {
        let want = want.map_or(Want::Body(200, b"hi", None), Want::Fails);
        check(name, answer([&interim.repeat(times), last].concat()), want).await;
    }
}

#[tokio::test]
async fn the_blocks_are_those_of_the_wire() {
    let head = "HTTP/1.1 200  Fine\r\nX-ODD:a\r\nx-odd :  b\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunks = "3;x\r\nabc\r\n2\r\nde\r\n0\r\nT: 1\r\n\r\n";
    let early = "HTTP/1.1 103 Early Hints\r\n\r\n";
    let server = Server::playing(answer([early, head, chunks].concat())).await;
    let fetcher = fetcher(&small());
    let got = answered(get(&fetcher, &server.url("/a?b=c")).await);
    assert_eq!(got.head_block, head);
    assert_eq!(got.wire_body, chunks);
    assert_eq!((&got.payload[..], &got.body[..]), (&b"abcde"[..], &b"abcde"[..]));
    assert_eq!(got.request_block, server.requests()[0].1);
    assert_eq!(got.header_texts("x-odd").collect::<Vec<_>>(), ["a", "b"]);
    let want = format!(
        "GET /a?b=c HTTP/1.1\r\nHost: {}\r\n\
         User-Agent: Mozilla/5.0 (compatible; crawler/0; +https://bot.example/)\r\n\
         Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
         Accept-Encoding: gzip, deflate, br, zstd\r\nFrom: bot@bot.example\r\n\r\n",
        server.address
    );
    assert_eq!(server.requests()[0].1, want);
}

#[tokio::test]
async fn redirects_are_answers_like_others() {
    for status in [300, 301, 302, 303, 305, 306, 307, 308] {
        let page = format!("HTTP/1.1 {status} Go\r\nLocation: /x\r\nContent-Length: 2\r\n\r\nhi");
        check("redirect", answer(page), Want::Body(status, b"hi", None)).await;
    }
    for (name, fields) in [
        ("redir_none", ""),
        ("redir_empty", "Location: \r\n"),
        ("redir_spaces", "Location: /a b  c\r\n"),
        ("redir_two", "Location: /a\r\nLocation: /b\r\n"),
    ] {
        let page = format!("HTTP/1.1 302 Go\r\n{fields}Content-Length: 2\r\n\r\nhi");
        check(name, answer(page), Want::Body(302, b"hi", None)).await;
    }
    let big = format!("HTTP/1.1 302 Go\r\nLocation: /x\r\n\r\n{}", "b".repeat(5_000_000));
    check("redir_bigbody", answer(big), Want::Len(302, 64 * 1024, Some(Truncated::Length))).await;
    let long = format!("HTTP/1.1 302 Go\r\nLocation: /{}\r\n\r\n", "a".repeat(100_000));
    check("redir_long", answer(long), Want::Fails(Failure::HeadTooLarge)).await;
}
