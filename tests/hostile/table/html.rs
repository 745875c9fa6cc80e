//! Pages that are huge, deep, broken or not what they say they are.

use std::sync::Arc;

use crawler::clock::{ByteSize, Span};

use crate::hostile::site::{Speech, answer, bad, http_by, links, page, raw};
use crate::hostile::world::{Case, Limits, case};

fn html(body: impl Into<Vec<u8>>) -> Speech {
    let body = Arc::new(body.into());
    bad(move || page(&*body))
}

fn typed(content_type: &'static str, body: impl Into<Vec<u8>>) -> Speech {
    let body = Arc::new(body.into());
    bad(move || answer("200 OK", &format!("Content-Type: {content_type}\r\n"), &*body))
}

/// The sizes of the defaults, for pages as large as they come.
fn large(limits: &mut Limits) {
    limits.fetch.body_max = ByteSize::mib(10);
    limits.fetch.decoded_max = ByteSize::mib(32);
    // Reading them takes the processor, and the other crawls of this test wait for it.
    limits.fetch.first_byte = Span::secs(20);
    limits.fetch.total = Span::secs(20);
    limits.fetch.rate_window = Span::secs(5);
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = huge();
    cases.extend(bytes());
    cases.extend(references());
    cases.extend(types());
    cases
}

fn huge() -> Vec<Case> {
    let found = "<a href=/found>a</a>";
    let big = |id: &'static str, does: &'static str, body: String, reached: bool| {
        let case = case(id, does, html(body)).at("/bad", "done 200|done 200 length");
        let case = case.with(large).heavy();
        let case = case.sends(64 << 20);
        if reached { case.asked("/found", 1..=1) } else { case }
    };
    let nested = |tag: &str, times: usize| format!("{}{found}", format!("<{tag}>").repeat(times));
    vec![
        big(
            "html_30mb_line",
            "30 MB on one line",
            format!("{found}{}", "word ".repeat(6 << 20)),
            true,
        ),
        big("html_deep_div", "300,000 nested div", nested("div", 300_000), true),
        big("html_deep_table", "30,000 nested tables", nested("table", 30_000), true),
        big("x_html_deep_formatting", "100,000 nested b", nested("b", 100_000), true),
        big("x_html_deep_form", "50,000 nested forms", nested("form", 50_000), true),
        big("x_html_deep_svg", "100,000 nested svg", nested("svg", 100_000), true),
        big("x_html_deep_mixed", "deep and never closed", nested("p><table><tr><td", 30_000), true),
        big("html_lt_flood", "ten million <", format!("{found}{}", "<".repeat(8 << 20)), true),
        big("html_amp_flood", "ten million &", format!("{found}{}", "&".repeat(8 << 20)), true),
        big(
            "x_html_entity_flood",
            "ten million half entities",
            format!("{found}{}", "&am".repeat(2 << 20)),
            true,
        ),
        big(
            "x_html_attributes",
            "a tag of 100,000 attributes",
            format!(
                "{found}<div {}>",
                (0..100_000).map(|n| format!("a{n}=1 ")).collect::<String>()
            ),
            true,
        ),
        big(
            "x_html_attribute_long",
            "an attribute of 8 MB",
            format!("{found}<a href=/{}>", "a".repeat(8 << 20)),
            true,
        ),
        big(
            "x_html_comment_open",
            "a comment that never ends",
            format!("{found}<!--{}<a href=/private/x>", "-".repeat(1 << 20)),
            true,
        ),
        big(
            "x_html_script_open",
            "a script that never ends",
            format!("{found}<script>{}<a href=/private/x>", "x=1;".repeat(1 << 18)),
            true,
        ),
        big(
            "x_html_title_open",
            "a title that never ends",
            format!("{found}<title>{}", "word ".repeat(1 << 18)),
            true,
        ),
        big(
            "x_html_same_id",
            "a million empty elements",
            format!("{found}{}", "<i></i>".repeat(1_000_000)),
            true,
        ),
        case(
            "x_html_100000_links",
            "100,000 links",
            html((0..100_000).map(|n| format!("<a href=/n{n}>")).collect::<String>()),
        )
        .with(|limits| {
            large(limits);
            limits.filter.host_pages_max = 40;
        })
        .requests(60)
        .heavy()
        .at("/n9000", "refused host-pages")
        .at("/n99999", "unknown")
        .lost(),
        case(
            "x_html_same_link",
            "one link 100,000 times",
            html("<a href=/found>x</a>".repeat(100_000)),
        )
        .with(large)
        .heavy()
        .asked("/found", 1..=1),
        case(
            "x_css_import_loop",
            "styles that import each other without end",
            http_by(|ask| {
                if ask.path == "/bad" {
                    return Some(page("<link rel=stylesheet href=/css/0>"));
                }
                let n: u32 = ask.path.strip_prefix("/css/")?.parse().ok()?;
                let import =
                    format!("@import '/css/{}'; a{{background:url(/css/{})}}", n + 1, n + 2);
                Some(answer("200 OK", "Content-Type: text/css\r\n", import))
            }),
        )
        .at("/css/3", "done 200")
        .requests(24),
        case(
            "x_frames_nested",
            "frames within frames without end",
            http_by(|ask| {
                let n: u32 = ask.path.strip_prefix("/bad")?.parse().unwrap_or(0);
                Some(page(format!("<iframe src=/bad{}></iframe>", n + 1)))
            }),
        )
        .requests(130),
    ]
}

fn bytes() -> Vec<Case> {
    let utf16 = |text: &str, bom: bool| {
        let units = bom.then_some(0xfeff).into_iter().chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect::<Vec<u8>>()
    };
    vec![
        case("html_nul", "null bytes", html("<a hr\0ef=/x>\0<a href=/found>\0</a>\0"))
            .asked("/found", 1..=1),
        case("html_bad_utf8", "broken UTF-8", html(
            [&b"<a href=/found>\xff\xfe\xed\xa0\x80</a><a href=\"/\xc3(\">"[..], b"\xf0\x9f"].concat()
        ))
        .asked("/found", 1..=1),
        case("html_utf16", "UTF-16 with a mark, called UTF-8", html(utf16("<a href=/found>a</a>", true)))
            .asked("/found", 1..=1),
        case("x_html_utf16_bare", "UTF-16 without a mark, declared in the header", typed(
            "text/html; charset=utf-16le", utf16("<a href=/found>a</a>", false)
        ))
        .asked("/found", 1..=1),
        case("x_html_utf16_guess", "UTF-16 without a mark or a word", typed(
            "text/html", utf16("<a href=/found>a</a>", false)
        ))
        .at("/bad", "done 200"),
        case("x_html_utf7", "UTF-7 that would hide a script", typed(
            "text/html; charset=utf-7", "<a href=/found>a</a>+ADw-a href=/private/x+AD4-"
        ))
        .asked("/found", 1..=1)
        .never("/private"),
        case("x_html_two_charsets", "three charsets that differ", typed(
            "text/html; charset=iso-8859-1",
            &b"<meta charset=utf-8><meta charset=koi8-r><a href=/found>\xe9</a>"[..],
        ))
        .asked("/found", 1..=1),
        case("x_html_charset_junk", "a charset that does not exist", typed(
            "text/html; charset=\"../../x\"", "<a href=/found>a</a>"
        ))
        .asked("/found", 1..=1),
        case("x_html_control", "control characters and escape sequences in title and links", html(
            "<title>\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m</title><a href='/found\u{1b}[31m'>\u{8}</a>"
        ))
        .asked("/found%1B[31m", 1..=1),
        case("x_html_bidi", "text that turns its direction", html(
            "<title>\u{202e}txt.exe</title><a href=/found>\u{2066}x\u{202e}</a>"
        ))
        .asked("/found", 1..=1),
        case("x_html_empty", "an empty page", html("")).at("/bad", "done 200"),
        case("x_html_only_space", "a megabyte of blanks", html(" ".repeat(1 << 20)))
            .with(large)
.heavy()
            .at("/bad", "done 200"),
    ]
}

fn references() -> Vec<Case> {
    vec![
        case("html_schemes", "links of every scheme", html(
            "<a href=mailto:x@y.test>1</a><a href='javascript:location=\"/private/x\"'>2</a>\
             <a href=data:text/html,x>3</a><a href=file:///etc/passwd>4</a><a href=tel:1>5</a>\
             <a href=blob:http://bad.test/x>6</a><a href=about:blank>7</a><a href=ws://bad.test/>8</a>\
             <a href=view-source:http://bad.test/private/x>9</a><a href=/found>10</a>"
        ))
        .asked("/found", 1..=1)
        .never("/private")
        .requests(5),
        case("html_userinfo", "links with credentials", http_by(|ask| {
            let port = ask.port;
            (ask.path == "/bad").then(|| page(format!(
                "<a href=http://user:secret@bad.test:{port}/found>1</a>\
                 <a href=http://good.test@127.0.0.1:{port}/private/x>2</a>"
            )))
        }))
        .asked("/found", 1..=1),
        case("html_ports", "links to ports that browsers refuse", html(
            "<a href=http://bad.test:25/x>1</a><a href=http://bad.test:6667/x>2</a>\
             <a href=http://bad.test:65536/x>3</a><a href=http://bad.test:-1/x>4</a>\
             <a href=http://bad.test:22/x>5</a><a href=/found>6</a>"
        ))
        .at("http://bad.test:25/x", "refused bad-port")
        .at("http://bad.test:6667/x", "refused bad-port")
        .at("http://bad.test:22/x", "refused bad-port")
        .asked("/found", 1..=1),
        case("html_base_evil", "a base on another host, and a second one", html(
            "<base href=http://other.test/><base href=/x/><a href=found>1</a>"
        ))
        .never("/x")
        .at("http://other.test/found", "refused robots-unreachable|failed host-given-up"),
        case("x_html_base_data", "a base that is data", html(
            "<base href=data:text/html,x><a href=found>1</a><a href=/found>2</a>"
        ))
        .at("/bad", "done 200"),
        case("x_html_url_spaces", "line breaks and tabs within links", html(
            "<a href='/fo\nu\tnd'>1</a><a href='  /found2  '>2</a>"
        ))
        .asked("/found", 1..=1)
        .asked("/found2", 1..=1),
        case("x_html_url_dots", "links that climb above the root", html(
            "<a href=../../../../found>1</a><a href=/a/%2e%2e/%2e%2e/found2>2</a>"
        ))
        .asked("/found", 1..=1)
        .asked("/found2", 1..=1),
        case("x_html_url_escapes", "links of broken escapes", html(
            "<a href=/%zz>1</a><a href=/%>2</a><a href=/%00>3</a><a href='/%0d%0aX: y'>4</a>"
        ))
        .at("/bad", "done 200"),
        case("x_html_idn", "links to names of broken Punycode", html(
            "<a href=http://xn--a/>1</a><a href=http://xn--/>2</a><a href=http://a..b/>3</a>\
             <a href=http://-/>4</a><a href='http://a b/'>5</a><a href=/found>6</a>"
        ))
        .asked("/found", 1..=1),
        case("x_html_long_host", "links to names that are too long", html(format!(
            "<a href=http://{}.test/>1</a><a href=http://{}test/>2</a><a href=/found>3</a>",
            "a".repeat(64), "a.".repeat(130)
        )))
        .asked("/found", 1..=1),
        case("html_honeypot", "a hidden link to what robots.txt forbids", http_by(|ask| match ask.path {
            "/robots.txt" => Some(answer("200 OK", "", "User-agent: *\nDisallow: /private/\n")),
            "/bad" => Some(page("<a href=/private/x style=display:none>x</a><img src=/private/y>")),
            _ => None,
        }))
        .at("/private/x", "refused robots-disallowed")
        .at("/private/y", "refused robots-disallowed")
        .never("/private"),
        case("html_srcset", "odd srcset", html(
            "<img srcset='/i1 1x, /i2 2x,,  , \"/i,3\" 3x'><img srcset=',,,'><img srcset='/i4 -1w'>"
        ))
        .asked("/i1", 1..=1)
        .asked("/i2", 1..=1),
        case("x_html_meta_nofollow", "a page whose links must not be followed", html(
            "<meta name=robots content=nofollow><a href=/private/x>x</a>"
        ))
        .never("/private"),
        case("x_header_nofollow", "the same in the header", bad(|| {
            answer("200 OK", "Content-Type: text/html\r\nX-Robots-Tag: none\r\n", "<a href=/private/x>x</a>")
        }))
        .never("/private"),
        case("x_link_header_flood", "500 Link headers", bad(|| {
            let many: String = (0..300).map(|n| format!("Link: </l{n}>; rel=x\r\n")).collect();
            answer("200 OK", &format!("Content-Type: text/html\r\n{many}"), "x")
        }))
        .at("/bad", "done 200")
        .requests(400),
    ]
}

fn types() -> Vec<Case> {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR<a href=/private/x>\0\0\xff\xfe".repeat(50);
    let laughs = |root: &str| {
        let mut text = "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY a \"ha\">".to_owned();
        for (name, of) in ('b'..='k').zip('a'..='j') {
            text.push_str(&format!("<!ENTITY {name} \"{}\">", format!("&{of};").repeat(10)));
        }
        text + root
    };
    vec![
        case("html_as_png", "a page called an image", typed("image/png", "<a href=/private/x>x</a>"))
            .at("/bad", "done 200")
            .never("/private"),
        case("png_as_html", "an image called a page", typed("text/html", png)).at("/bad", "done 200"),
        case("html_bad_ct", "a content type of nonsense", typed(
            "text/html;;;=; charset=\"", "<a href=/found>x</a>"
        ))
        .asked("/found", 1..=1),
        case("x_ct_missing", "no content type", bad(|| raw(
            "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n<a href=/found>x</a>"
        )))
        .asked("/found", 1..=1),
        case("x_ct_huge", "a content type of 10 kB", bad(|| {
            answer("200 OK", &format!("Content-Type: text/{}\r\n", "a".repeat(10_000)), "x")
        }))
        .at("/bad", "done 200"),
        case("xhtml_laughs", "entities that multiply, in XHTML", typed(
            "application/xhtml+xml",
            laughs("]><html xmlns=\"http://www.w3.org/1999/xhtml\"><a href=\"/found\">&k;</a></html>"),
        ))
        .at("/bad", "done 200"),
        case("x_svg_laughs", "entities that multiply, in an image", typed(
            "image/svg+xml", laughs("]><svg><text>&k;</text></svg>")
        ))
        .at("/bad", "done 200"),
        case("x_feed_laughs", "entities that multiply, in a feed", typed(
            "application/rss+xml", laughs("]><rss><channel><link>&k;</link></channel></rss>")
        ))
        .at("/bad", "done 200"),
        case("x_200_error", "200 with the text of an error", http_by(|ask| {
            ask.path.starts_with("/bad").then(|| links("404 Not Found: the page does not exist", &["/bad2"]))
        }))
        .at("/bad", "done 200"),
        case("x_pdf_as_html", "a document called a page", typed("text/html", b"%PDF-1.7\n%\xe2\xe3\n".repeat(3000)))
            .with(large)
.heavy()
            .at("/bad", "done 200"),
    ]
}
