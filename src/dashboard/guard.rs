//! Who may ask for what: the Host header, the token, and where a command comes from.
//!
//! Three attacks are meant. A page elsewhere that rebinds its own name to this machine is stopped
//! by the Host header, which still says that name. A page elsewhere that sends a form or a script's
//! request here is stopped by Origin, by Sec-Fetch-Site and by a header that only our page knows
//! the value of. Somebody else on the network is stopped by the token.

use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use sha2::{Digest, Sha256};

use crate::url::Host;

/// The header that carries the page's own token with every command.
pub(super) const COMMAND_HEADER: &str = "x-crawler-command";

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// No Host header, or several.
    NoHost,
    /// A name that nobody allowed.
    Host,
    /// No token, or a wrong one.
    Token,
    /// A command from another place than our page.
    Origin,
}

impl Refusal {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Refusal::NoHost => StatusCode::BAD_REQUEST,
            Refusal::Host => StatusCode::MISDIRECTED_REQUEST,
            Refusal::Token => StatusCode::UNAUTHORIZED,
            Refusal::Origin => StatusCode::FORBIDDEN,
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Refusal::NoHost => "the request names no host\n",
            Refusal::Host => {
                "this dashboard is not known by that name: ask for it by its address, or add the \
                 name to dashboard.hosts\n"
            }
            Refusal::Token => {
                "a token is needed: as password (any user name), or as `Authorization: Bearer \
                 TOKEN`; it stands in the file that dashboard.token_file names\n"
            }
            Refusal::Origin => "commands are taken from the dashboard's own page only\n",
        }
    }
}

/// What requests are checked against.
pub(super) struct Guard {
    /// SHA-256 of the token: comparing hashes tells a guesser nothing by its duration.
    token: Option<[u8; 32]>,
    hosts: Vec<Host>,
    command_token: String,
}

impl Guard {
    /// Makes a guard with a new command token.
    pub(super) fn new(token: Option<&str>, hosts: &[String]) -> Self {
        Guard {
            token: token.map(|token| Sha256::digest(token.as_bytes()).into()),
            // As browsers send them.
            hosts: hosts.iter().filter_map(|host| Host::named(host)).collect(),
            // 122 bits of the system's randomness.
            command_token: uuid::Uuid::new_v4().simple().to_string(),
        }
    }

    /// Returns what our page must send with commands.
    pub(super) fn command_token(&self) -> &str {
        &self.command_token
    }

    /// Judges a request by its head.
    pub(super) fn check(&self, head: &Parts) -> Result<(), Refusal> {
        let host = single(&head.headers, header::HOST.as_str()).ok_or(Refusal::NoHost)?;
        if !self.knows(host) {
            return Err(Refusal::Host);
        }
        if !self.admits(&head.headers) {
            return Err(Refusal::Token);
        }
        let reads = matches!(head.method, Method::GET | Method::HEAD);
        if !reads && !self.is_ours(&head.headers, host) {
            return Err(Refusal::Origin);
        }
        Ok(())
    }

    /// An address cannot be rebound, a name can.
    fn knows(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        let address = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        name == "localhost"
            || name.parse::<std::net::Ipv4Addr>().is_ok()
            || address.is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok())
            || self.hosts.iter().any(|host| host.as_str() == name)
    }

    fn admits(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let Some(given) = single(headers, header::AUTHORIZATION.as_str()) else { return false };
        let Some((scheme, rest)) = given.split_once(' ') else { return false };
        let shown = if scheme.eq_ignore_ascii_case("bearer") {
            rest.trim().as_bytes().to_vec()
        } else if scheme.eq_ignore_ascii_case("basic") {
            password(rest.trim()).unwrap_or_default()
        } else {
            return false;
        };
        <[u8; 32]>::from(Sha256::digest(&shown)) == *token
    }

    fn is_ours(&self, headers: &HeaderMap, host: &str) -> bool {
        let shown = single(headers, COMMAND_HEADER).unwrap_or_default();
        let known = Sha256::digest(shown) == Sha256::digest(&self.command_token);
        let same_origin = match headers.get(header::ORIGIN) {
            None => true,
            Some(origin) => origin.to_str().is_ok_and(|origin| {
                origin.split_once("://").is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(host))
            }),
        };
        let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
        known && same_origin && site.is_none_or(|site| site == b"same-origin")
    }
}

fn single<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(first)
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) && !name.is_empty() => name,
        _ => host,
    }
}

fn password(basic: &str) -> Option<Vec<u8>> {
    let decoded = data_encoding::BASE64.decode(basic.as_bytes()).ok()?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    Some(decoded[colon + 1..].to_vec())
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn check(guard: &Guard, method: &str, headers: &[(&str, &str)], want: Result<(), Refusal>) {
        let mut request = Request::builder().method(method).uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).unwrap().into_parts();
        assert_eq!(guard.check(&head), want, "{method} {headers:?}");
    }

    #[test]
    fn names_that_nobody_allowed_are_refused() {
        let guard = Guard::new(None, &["Crawler.internal".to_owned()]);
        for good in [
            "127.0.0.1:8400",
            "127.0.0.1",
            "[::1]:8400",
            "localhost:8400",
            "LOCALHOST",
            "192.0.2.7:80",
            "crawler.internal:8400",
            "CRAWLER.internal",
        ] {
            check(&guard, "GET", &[("host", good)], Ok(()));
        }
        for bad in [
            "evil.example",
            "evil.example:8400",
            "127.0.0.1.evil.example:8400",
            "localhost.evil.example",
            "[::1].evil.example",
            "crawler.internal.evil.example",
            "",
            ":8400",
        ] {
            check(&guard, "GET", &[("host", bad)], Err(Refusal::Host));
        }
        let named = Guard::new(None, &["B\u{fc}cher.internal.".to_owned()]);
        check(&named, "GET", &[("host", "xn--bcher-kva.internal:80")], Ok(()));
        check(&guard, "GET", &[], Err(Refusal::NoHost));
        let twice = [("host", "127.0.0.1"), ("host", "evil.example")];
        check(&guard, "GET", &twice, Err(Refusal::NoHost));
    }

    #[test]
    fn the_token_is_asked_of_everyone_where_there_is_one() {
        let guard = Guard::new(Some(TOKEN), &[]);
        let with = |value: &str, want| {
            check(&guard, "GET", &[("host", "127.0.0.1"), ("authorization", value)], want);
        };
        check(&guard, "GET", &[("host", "127.0.0.1")], Err(Refusal::Token));
        with("Bearer 0123456789abcdef", Ok(()));
        with("bearer  0123456789abcdef", Ok(()));
        let basic = |text: &str| format!("Basic {}", data_encoding::BASE64.encode(text.as_bytes()));
        with(&basic("anybody:0123456789abcdef"), Ok(()));
        with(&basic(":0123456789abcdef"), Ok(()));
        with(&basic("0123456789abcdef:"), Err(Refusal::Token));
        with("Basic !!!", Err(Refusal::Token));
        with("Bearer 0123456789abcdeF", Err(Refusal::Token));
        with("Bearer ", Err(Refusal::Token));
        with("Digest 0123456789abcdef", Err(Refusal::Token));
        // The name is checked first: a page elsewhere learns not even that there is a token.
        check(&guard, "GET", &[("host", "evil.example")], Err(Refusal::Host));
    }

    #[test]
    fn commands_come_from_our_page_only() {
        let guard = Guard::new(None, &[]);
        let command = guard.command_token().to_owned();
        let command = command.as_str();
        let ours = [("host", "127.0.0.1:8400"), (COMMAND_HEADER, command)];
        check(&guard, "POST", &ours, Ok(()));
        let with = |more: (&'static str, &'static str), want| {
            check(&guard, "POST", &[ours[0], ours[1], more], want);
        };
        with(("origin", "http://127.0.0.1:8400"), Ok(()));
        with(("sec-fetch-site", "same-origin"), Ok(()));
        with(("origin", "http://evil.example"), Err(Refusal::Origin));
        with(("origin", "http://127.0.0.1:8401"), Err(Refusal::Origin));
        with(("origin", "null"), Err(Refusal::Origin));
        with(("sec-fetch-site", "cross-site"), Err(Refusal::Origin));
        with(("sec-fetch-site", "same-site"), Err(Refusal::Origin));
        check(&guard, "POST", &ours[..1], Err(Refusal::Origin));
        let wrong = [ours[0], (COMMAND_HEADER, "0123")];
        check(&guard, "POST", &wrong, Err(Refusal::Origin));
        check(&guard, "DELETE", &ours[..1], Err(Refusal::Origin));
    }
}
