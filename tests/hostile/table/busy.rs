//! Hosts that say "not now", that ask for credentials, that set cookies or lie about the time.

use crate::hostile::site::{Speech, answer, bad, http_by, links, page, steps};
use crate::hostile::world::{Case, case};

fn with(status: &'static str, headers: &'static str) -> Speech {
    bad(move || answer(status, headers, "x"))
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("ok", "a good page with one link", bad(|| links("good", &["/found"])))
            .at("/bad", "done 200")
            .asked("/found", 1..=1),
        case("cookie_bad", "broken cookies, and one for all of test", bad(|| {
            let cookies = "Set-Cookie: =;;;=\r\nSet-Cookie: \x7f\r\nSet-Cookie: a=b; Domain=test\r\n\
                           Set-Cookie: c=d; Domain=good.test; Path=/\r\n";
            let many: String = (0..200).map(|n| format!("Set-Cookie: n{n}=v; c\r\n")).collect();
            answer("200 OK", &format!("Content-Type: text/html\r\n{}{many}", cookies.replace('\x7f', "x")), "x")
        }))
        .at("/bad", "done 200"),
        case("auth_401", "401", with("401 No", "WWW-Authenticate: Basic realm=\"x\"\r\n"))
            .at("/bad", "done 401")
            .asked("/bad", 1..=1),
        case("x_auth_407", "407 without a proxy", with("407 No", "Proxy-Authenticate: Basic\r\n"))
            .at("/bad", "done 407")
            .asked("/bad", 1..=1),
        case("x_auth_ntlm", "401 that wants many rounds", with(
            "401 No", "WWW-Authenticate: NTLM\r\nWWW-Authenticate: Negotiate AAAA\r\n"
        ))
        .asked("/bad", 1..=1),
        case("retry_date", "503 until the year 2100", with(
            "503 Busy", "Retry-After: Fri, 01 Jan 2100 00:00:00 GMT\r\n"
        ))
        .parked()
        .lost(),
        case("x_retry_seconds_huge", "429 for more seconds than fit", with(
            "429 Slowly", "Retry-After: 99999999999999999999999\r\n"
        ))
        .parked()
        .lost(),
        case("x_retry_year", "429 for a year", with("429 Slowly", "Retry-After: 31536000\r\n"))
            .parked()
            .lost(),
        case("x_retry_negative", "503 for minus one second", with("503 Busy", "Retry-After: -1\r\n"))
            .at("/bad", "done 503"),
        case("x_retry_past", "503 until the year 1970", with(
            "503 Busy", "Retry-After: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
        ))
        .at("/bad", "done 503"),
        case("x_retry_nonsense", "503 until Tuesday", with("503 Busy", "Retry-After: Tuesday\r\n"))
            .at("/bad", "done 503"),
        case("x_429_for_ever", "429 for ever, on one page", with("429 Slowly", ""))
            .at("/bad", "done 429")
            .asked("/bad", 2..=4),
        case("x_503_for_ever", "503 for ever, on everything", http_by(|ask| {
            (ask.path != "/robots.txt").then(|| answer("503 Busy", "", ""))
        }))
        .at("/", "done 503")
        .asked("/", 2..=4)
        .lost(),
        case("x_503_then_well", "503 twice, then well", http_by(|ask| {
            (ask.path == "/bad" && ask.before < 2).then(|| answer("503 Busy", "", ""))
        }))
        .at("/bad", "done 404"),
        case("x_500_for_ever", "500 on every page", http_by(|ask| {
            (ask.path != "/robots.txt").then(|| answer("500 Oops", "", "<a href=/private/x>x</a>"))
        }))
        .at("/", "done 500")
        .asked("/", 1..=3)
        .never("/private")
        .lost(),
        case("future_date", "dates that cannot be, a broken ETag", with(
            "200 OK",
            "Date: Thu, 99 Foo 9999 99:99:99 GMT\r\nLast-Modified: -1\r\nETag: \"unclosed\r\n\
             Expires: never\r\nAge: -5\r\n"
        ))
        .at("/bad", "done 200"),
        case("x_alt_svc", "offers itself on an inner address", http_by(|ask| {
            let headers = format!("Content-Type: text/html\r\nAlt-Svc: h2=\"127.0.0.1:{}\"\r\n", ask.port);
            (ask.path == "/bad").then(|| answer("200 OK", &headers, "x"))
        }))
        .at("/bad", "done 200"),
        case("x_upgrade", "426, and demands another protocol", with(
            "426 Upgrade", "Upgrade: h2c\r\nConnection: Upgrade\r\n"
        ))
        .at("/bad", "done 426"),
        case("x_content_location", "says it is another URL", http_by(|ask| {
            let headers = "Content-Type: text/html\r\nContent-Location: http://other.test/\r\n\
                           Link: <http://good.test/>; rel=canonical\r\n";
            (ask.path == "/bad").then(|| answer("200 OK", headers, "<a href=/found>x</a>"))
        }))
        .asked("/found", 1..=1),
        case("x_canonical_inside", "calls an inner page its canonical one", bad(|| {
            page("<link rel=canonical href=http://127.0.0.1/internal/x><a href=/found>x</a>")
        }))
        .asked("/found", 1..=1),
        case("x_connection_kept_dead", "keeps the connection and forgets it", http_by(|ask| {
            // Says that it is kept, and closes: the next request meets a dead connection.
            (ask.path == "/bad").then(|| steps(vec![crate::loopback::server::Step::Send(
                b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi".to_vec(),
            )]))
        }))
        .at("/bad", "done 200"),
    ]
}
