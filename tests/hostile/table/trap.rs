//! Hosts without end.

use crate::hostile::site::{ADDRESS, Reply, Speech, http_by, links, page, words};
use crate::hostile::world::{Case, case};
use crate::loopback::name_server::Reply as Dns;

/// A site whose `/bad…` pages are made by `make` from what follows `/bad`.
fn trap(make: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Speech {
    http_by(move |ask| ask.path.strip_prefix("/bad").map(&make))
}

fn number(rest: &str) -> u64 {
    let digits: String = rest.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = known();
    cases.extend(more());
    cases
}

fn known() -> Vec<Case> {
    vec![
        case(
            "trap_calendar",
            "months that lead to the next and the one before",
            trap(|rest| {
                let month = number(rest) + 1000;
                links(
                    "calendar: nothing happens in this month",
                    &[&format!("/bad/{}", month - 999), &format!("/bad/{}", (month + 3999) % 5000)],
                )
            }),
        )
        .requests(400),
        case(
            "trap_path",
            "every page leads to itself/deeper/",
            trap(|rest| links(&format!("deeper than {rest}"), &["deeper/"])),
        )
        .requests(12),
        case("trap_session", "every link carries a new session id", session("sid")).requests(400),
        case(
            "trap_dup",
            "one text under ever new URLs",
            trap(|rest| {
                let n = number(rest) + 1;
                links("the same text for ever", &[&format!("/bad/{n}"), &format!("/bad/{}", n * 2)])
            }),
        )
        .requests(400),
        case(
            "trap_case",
            "one page in every spelling of its name",
            trap(|_| links("index", &["/bad/Index", "/bad/INDEX", "/bad/index", "/bad/iNdEx"])),
        )
        .requests(10),
    ]
}

fn session(name: &'static str) -> Speech {
    let counter = std::sync::atomic::AtomicU64::new(0);
    http_by(move |ask| {
        let rest = ask.path.strip_prefix("/bad")?;
        let id = counter.fetch_add(3, std::sync::atomic::Ordering::Relaxed);
        let about = rest.split('?').next().unwrap_or_default().len() % 3;
        let next: Vec<String> = (0..3)
            .map(|k| {
                format!("/bad{}?{name}={:016x}", "/a".repeat(k), (id + k as u64) * 0x9e37_79b9)
            })
            .collect();
        let next: Vec<&str> = next.iter().map(String::as_str).collect();
        Some(links(&format!("session page {about}"), &next))
    })
}

fn more() -> Vec<Case> {
    vec![
        case(
            "x_trap_session_path",
            "a session id within the path",
            trap(|rest| {
                let n = number(rest) * 31 + 7;
                links("shop window", &[&format!("/bad;jsessionid={:x}", n % 1_000_000_007)])
            }),
        )
        .requests(400),
        case(
            "x_trap_soft404",
            "every URL exists and says that it does not",
            http_by(|ask| {
                (ask.path.len() > 6 && ask.path != "/robots.txt").then(|| {
                    let n = number(ask.path) + 1;
                    links(
                        "sorry, this page was not found",
                        &[&format!("/nothing/{n}"), &format!("/no/{n}")],
                    )
                })
            }),
        )
        .seeds(&["http://bad.test:PORT/", "http://bad.test:PORT/nothing/1"])
        .at("/nothing/1", "done 200")
        .requests(400)
        .lost(),
        case(
            "x_trap_query_grows",
            "each link adds a parameter",
            trap(|rest| {
                let mark = if rest.contains('?') { '&' } else { '?' };
                links(&format!("filter {rest}"), &[&format!("/bad{rest}{mark}f=1")])
            }),
        )
        .requests(80),
        case(
            "x_trap_facets",
            "filters in every order",
            trap(|rest| {
                let used: Vec<&str> = rest.trim_start_matches('?').split('&').collect();
                let mut sorted = used.clone();
                sorted.sort_unstable();
                let next: Vec<String> = ["a=1", "b=2", "c=3", "d=4", "e=5", "f=6"]
                    .into_iter()
                    .filter(|one| !used.contains(one))
                    .map(|one| {
                        format!(
                            "/bad?{}",
                            [used.join("&"), one.to_owned()].join("&").trim_start_matches('&')
                        )
                    })
                    .collect();
                let next: Vec<&str> = next.iter().map(String::as_str).collect();
                links(&format!("facets {}", sorted.join(" ")), &next)
            }),
        )
        .requests(700),
        case(
            "x_trap_new_words",
            "pages without end, each of new words",
            trap(|rest| {
                let n = number(rest);
                links(
                    &format!("babble {n}"),
                    &[&format!("/bad/{}", n * 2 + 1), &format!("/bad/{}", n * 2 + 2)],
                )
            }),
        )
        .with(|limits| limits.filter.host_pages_max = 80)
        .requests(100)
        .lost(),
        case(
            "x_trap_shuffled",
            "the same words in another order on every page",
            trap(|rest| {
                let n = number(rest) as usize;
                let text = words("shuffled");
                let mut all: Vec<&str> = text.split(' ').collect();
                let len = all.len();
                all.rotate_left(n * 7 % len);
                page(format!("<p>{}</p><a href=/bad/{}>next</a>", all.join(" "), n + 1))
            }),
        )
        .requests(400),
        case(
            "x_trap_pages",
            "a list whose last pages are empty, without end",
            trap(|rest| {
                let n = number(rest);
                links("page of a list: no entries", &[&format!("/bad?page={}", n + 1)])
            }),
        )
        .requests(400),
        case(
            "x_trap_hosts",
            "every host leads to a new host",
            http_by(|ask| match ask.path {
                "/robots.txt" => None,
                _ => {
                    let n = number(ask.host) + 1;
                    let next = format!("http://h{n}.wild.test:{}/", ask.port);
                    Some(links(&format!("host {n}"), &[&next, "/after"]))
                }
            }),
        )
        .zone(&[("*.wild.test", Dns::V4(vec![ADDRESS], 300))])
        .with(|limits| limits.filter.hops_max = 20)
        .requests(100),
        case(
            "x_trap_both_slashes",
            "every page with and without a final slash",
            trap(|rest| {
                links(
                    &format!("slash {}", rest.trim_end_matches('/')),
                    &["/bad/a", "/bad/a/", "/bad//a"],
                )
            }),
        )
        .requests(14),
        case(
            "x_trap_dots",
            "links of dots that grow",
            trap(|rest| links(&format!("dots {rest}"), &["./././x/", "x/../x/./y/"])),
        )
        .requests(60),
        case(
            "x_trap_form",
            "a search that leads to searches",
            trap(|rest| {
                let n = number(rest);
                page(format!(
                    "<form action=/bad method=get><input name=q></form>\
                 <p>results for {n}: none</p><a href='/bad?q={}'>did you mean</a>",
                    n + 1
                ))
            }),
        )
        .requests(400),
    ]
}
