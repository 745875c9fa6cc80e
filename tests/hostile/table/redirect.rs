//! Redirects: loops, chains, nonsense, and ways to the inside.

use crate::hostile::site::{Ask, Reply, Speech, answer, bad, http_by, links, page};
use crate::hostile::world::{Case, case};
use crate::loopback::name_server::Reply as Dns;

fn go(status: &str, location: &str) -> Reply {
    answer(status, &format!("Content-Type: text/html\r\nLocation: {location}\r\n"), "moved")
}

fn to(location: &'static str) -> Speech {
    bad(move || go("302 Found", location))
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = loops();
    cases.extend(oddities());
    cases.extend(statuses());
    cases.extend(inside());
    cases
}

fn loops() -> Vec<Case> {
    vec![
        case("redir_self", "redirects to itself", to("/bad"))
            .at("/bad", "done 302")
            .asked("/bad", 1..=1),
        case("redir_a", "two pages that redirect to each other", pair("/bad", "/b"))
            .at("/bad", "done 302")
            .at("/b", "done 302")
            .asked("/bad", 1..=1)
            .asked("/b", 1..=1),
        case("redir_b", "the same, begun at the other end", pair("/b", "/bad"))
            .at("/bad", "done 302")
            .asked("/bad", 1..=1)
            .asked("/b", 1..=1),
        case(
            "x_redir_growing",
            "each redirect leads to a longer path",
            http_by(|ask| {
                ask.path.starts_with("/bad").then(|| go("302 Found", &format!("{}/a", ask.path)))
            }),
        )
        .at("/bad/a/a/a", "done 302")
        .at("/bad/a/a/a/a", "refused path-repeats"),
        case(
            "x_redir_numbers",
            "redirects that count without end",
            http_by(|ask| {
                let n: u32 = ask.path.strip_prefix("/bad")?.parse().unwrap_or(0);
                Some(go("302 Found", &format!("/bad{}", n + 1)))
            }),
        )
        .at("/bad20", "done 302")
        .at("/bad21", "refused too-many-redirects")
        .requests(26),
        case(
            "x_redir_cookie",
            "redirects to itself until a cookie comes back",
            bad(|| {
                let cookie = "Set-Cookie: seen=1\r\nLocation: /bad\r\n";
                answer("302 Found", cookie, "")
            }),
        )
        .asked("/bad", 1..=1),
        case(
            "x_redir_scheme_loop",
            "to https and back",
            http_by(|ask| {
                let port = ask.port;
                (ask.path == "/bad")
                    .then(|| go("301 Moved", &format!("https://bad.test:{port}/bad")))
            }),
        )
        .at("/bad", "done 301"),
        case("x_redir_fragment", "to itself with a fragment", to("/bad#again"))
            .asked("/bad", 1..=1),
        case(
            "x_redir_case",
            "to its own name in capitals",
            http_by(|ask| {
                let port = ask.port;
                (ask.path == "/bad")
                    .then(|| go("301 Moved", &format!("HTTP://BAD.TEST:{port}/bad")))
            }),
        )
        .asked("/bad", 1..=1),
    ]
}

fn pair(one: &'static str, other: &'static str) -> Speech {
    http_by(move |ask| match ask.path {
        path if path == one => Some(go("302 Found", other)),
        path if path == other => Some(go("302 Found", one)),
        _ => None,
    })
}

fn oddities() -> Vec<Case> {
    vec![
        case("redir_none", "a redirect without a target", bad(|| answer("302 Found", "", "moved")))
            .at("/bad", "done 302"),
        case("redir_empty", "an empty target", to("")).at("/bad", "done 302").asked("/bad", 1..=1),
        case("redir_js", "to a script", to("javascript:alert(1)")).at("/bad", "done 302"),
        case("redir_ftp", "to ftp", to("ftp://bad.test/x")).at("/bad", "done 302"),
        case("x_redir_file", "to a file", to("file:///etc/passwd")).at("/bad", "done 302"),
        case("x_redir_data", "to data", to("data:text/html,<a href=/private/x>x</a>"))
            .at("/bad", "done 302")
            .never("/private"),
        case("x_redir_gopher", "to gopher", to("gopher://127.0.0.1:6379/_INFO"))
            .at("/bad", "done 302"),
        case("redir_spaces", "spaces in the target", to("/a b  c")).asked("/a%20b%20%20c", 1..=1),
        case("redir_long", "a target of 100 kB", bad(|| {
            go("302 Found", &format!("/{}", "a".repeat(100_000)))
        }))
        .at("/bad", "failed head-too-large"),
        case("x_redir_4k", "a target of 4 kB", bad(|| go("302 Found", &format!("/{}", "a".repeat(4000)))))
            .at("/bad", "done 302")
            .never("/aaa"),
        case("redir_two", "two targets", bad(|| {
            answer("302 Found", "Location: /one\r\nLocation: /two\r\n", "")
        }))
        .at("/bad", "done 302"),
        case("redir_scheme_rel", "a target without a scheme", http_by(|ask| {
            let port = ask.port;
            (ask.path == "/bad").then(|| go("302 Found", &format!("//bad.test:{port}/found")))
        }))
        .asked("/found", 1..=1),
        case("redir_bigbody", "a redirect with 5 MB of body", bad(|| {
            answer("302 Found", "Location: /found\r\n", vec![b'b'; 5_000_000])
        }))
        .at("/bad", "done 302 length")
        .asked("/found", 1..=1)
        .sends(32 << 20),
        case("x_redir_control", "control characters in the target", bad(|| {
            crate::hostile::site::raw(&b"HTTP/1.1 302 F\r\nLocation: /a\tb\x1b[31m\r\n\r\n"[..])
        }))
        .at("/bad", "done 302|failed protocol-error"),
        case("x_redir_high", "bytes above 127 in the target", bad(|| {
            crate::hostile::site::raw(&b"HTTP/1.1 302 F\r\nLocation: /caf\xe9\r\n\r\n"[..])
        }))
        .at("/bad", "done 302"),
        case("x_redir_port", "to a port that is none", to("http://bad.test:99999/x"))
            .at("/bad", "done 302"),
        case("x_redir_bad_port", "to the port of mail", to("http://bad.test:25/x"))
            .at("/bad", "done 302")
            .at("http://bad.test:25/x", "refused bad-port"),
        case("x_redir_userinfo", "to a target with credentials", http_by(|ask| {
            let port = ask.port;
            (ask.path == "/bad").then(|| go("302 Found", &format!("http://u:secret@bad.test:{port}/found")))
        }))
        .asked("/found", 1..=1),
        case("refresh_header", "a Refresh header", bad(|| {
            answer("200 OK", "Content-Type: text/html\r\nRefresh: 5; url=/found\r\n", "wait")
        }))
        .asked("/found", 1..=1),
        case("x_refresh_self", "a page that refreshes itself for ever", bad(|| {
            page("<meta http-equiv=refresh content=0><meta http-equiv=refresh content='0;url=/bad'>")
        }))
        .asked("/bad", 1..=1),
    ]
}

fn statuses() -> Vec<Case> {
    let mut cases = Vec::new();
    for (id, status, does, found) in [
        ("redir_300", "300 Choices", "300 with a target", 0),
        ("redir_301", "301 Moved", "301", 1),
        ("redir_303", "303 Other", "303", 1),
        ("redir_305", "305 Proxy", "305", 0),
        ("redir_306", "306 Unused", "306", 0),
        ("redir_308", "308 Permanent", "308", 1),
        ("x_redir_307", "307 Temporary", "307", 1),
        ("x_redir_201", "201 Created", "a target without a redirect", 0),
        ("x_redir_399", "399 Odd", "an unknown status of redirection", 0),
    ] {
        let speech = bad(move || go(status, "/found"));
        cases.push(case(id, does, speech).asked("/found", found..=found));
    }
    cases
}

/// Every spelling of an address inside, each with the port of the server there.
fn inside() -> Vec<Case> {
    let mut cases = Vec::new();
    for (id, does, host) in [
        ("ssrf_loopback", "to loopback", "127.0.0.1"),
        ("ssrf_localhost", "to loopback by name", "localhost"),
        ("ssrf_decimal", "to loopback as one number", "2130706433"),
        ("ssrf_zero", "to the address of zeros", "0.0.0.0"),
        ("ssrf_v6", "to loopback of IPv6", "[::1]"),
        ("ssrf_userinfo", "to loopback behind credentials", "bad.test@127.0.0.1"),
        ("ssrf_dns", "to a name that leads inside", "inner.test"),
        ("x_ssrf_octal", "to loopback in octal", "0177.0.0.01"),
        ("x_ssrf_hex", "to loopback in hexadecimal", "0x7f000001"),
        ("x_ssrf_short", "to loopback in two parts", "127.1"),
        ("x_ssrf_mapped", "to loopback within IPv6", "[::ffff:127.0.0.1]"),
        ("x_ssrf_mapped_hex", "the same in hexadecimal", "[::ffff:7f00:1]"),
        ("x_ssrf_nat64", "to loopback behind NAT64", "[64:ff9b::7f00:1]"),
        ("x_ssrf_6to4", "to loopback behind 6to4", "[2002:7f00:1::]"),
        ("x_ssrf_wide", "to loopback in full-width digits", "１２７.０.０.１"),
        ("x_ssrf_circled", "to loopback in circled digits", "①②⑦.⓪.⓪.①"),
        ("x_ssrf_dot", "to loopback with a final dot", "127.0.0.1."),
        ("x_ssrf_ideographic", "to loopback with other full stops", "127。0。0。1"),
        ("x_ssrf_escaped", "to loopback in escapes", "%31%32%37.0.0.1"),
        ("x_ssrf_subdomain", "to a name below localhost", "a.localhost"),
        ("x_ssrf_backslash", "to loopback behind a backslash", "127.0.0.1\\@bad.test"),
        ("x_ssrf_alias", "to an alias of a name that leads inside", "alias.test"),
        ("x_ssrf_dns_v6", "to a name with an inner IPv6 address", "inner6.test"),
        ("x_ssrf_dns_mapped", "to a name with a mapped address", "mapped.test"),
    ] {
        cases.push(inner(id, does, move |ask| {
            go("302 Found", &format!("http://{host}:{}/internal/x", ask.port))
        }));
    }
    cases.push(inner("ssrf_metadata", "to the metadata of a cloud", |_| {
        go("302 Found", "http://169.254.169.254/latest/meta-data/")
    }));
    cases.push(inner("ssrf_10", "to a private address", |_| {
        go("302 Found", "http://10.0.0.1/internal/x")
    }));
    cases.push(inner("x_ssrf_links", "links to the inside, on a page", |ask| {
        let port = ask.port;
        page(format!(
            "<a href=http://127.0.0.1:{port}/a>1</a><img src=http://[::1]:{port}/b>\
             <iframe src=http://0x7f.1:{port}/c></iframe><a href=//localhost:{port}/d>4</a>\
             <link rel=stylesheet href=http://inner.test:{port}/e>"
        ))
    }));
    cases.push(inner("x_ssrf_hops", "to the inside by way of a public name", |ask| {
        match ask.host {
            "bad.test" => go("302 Found", &format!("http://other.test:{}/bad", ask.port)),
            _ => go("302 Found", &format!("http://inner.test:{}/internal/x", ask.port)),
        }
    }));
    cases.push(inner("x_ssrf_sitemap", "a sitemap that lists the inside", |ask| {
        let xml = format!(
            "<urlset><url><loc>http://127.0.0.1:{}/internal/s</loc></url></urlset>",
            ask.port
        );
        answer("200 OK", "Content-Type: application/xml\r\n", xml)
    }));
    cases
}

fn inner(
    id: &'static str,
    does: &'static str,
    reply: impl Fn(&Ask<'_>) -> Reply + Send + Sync + 'static,
) -> Case {
    let speech = http_by(move |ask| match (ask.path, ask.host) {
        ("/bad", _) => Some(reply(ask)),
        ("/", "bad.test") => Some(links("home", &["/bad", "/after"])),
        _ => None,
    });
    case(id, does, speech).never("/internal").zone(&[
        ("inner.test", Dns::V4(vec![[127, 0, 0, 1]], 300)),
        ("inner6.test", Dns::V6(std::net::Ipv6Addr::LOCALHOST)),
        ("mapped.test", Dns::V6(std::net::Ipv4Addr::LOCALHOST.to_ipv6_mapped())),
        ("alias.test", Dns::Alias("inner.test")),
        ("other.test", Dns::V4(vec![super::super::site::ADDRESS], 300)),
    ])
}
