//! What every request says of itself.

use bytes::Bytes;
use http_body_util::Empty;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, FROM, HOST, HeaderName, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH,
    PROXY_AUTHORIZATION, USER_AGENT,
};
use hyper::{Request as HttpRequest, Uri};

use super::{FetchError, Proxy, Request, Settings};
use crate::url::CrawlUrl;

/// Returns the `User-Agent` of a crawler: `Mozilla/5.0 (compatible; NAME/VERSION; +CONTACT)`.
pub fn user_agent(name: &str, version: &str, contact: &str) -> String {
    format!("Mozilla/5.0 (compatible; {name}/{version}; +{contact})")
}

/// Returns the mail address in a contact, written as such or as a `mailto:` URL: it is sent as
/// `From` (RFC 9110 §10.1.2).
pub fn mail_of(contact: &str) -> Option<&str> {
    let mail = contact.trim().strip_prefix("mailto:").unwrap_or(contact.trim());
    let mail = mail.split('?').next().unwrap_or_default();
    let (user, host) = mail.split_once('@')?;
    let sound = !user.is_empty() && !host.is_empty() && !mail.contains(['/', ' ', ':']);
    sound.then_some(mail)
}

/// Makes requests; the fields that are alike in all of them are made once.
#[derive(Debug)]
pub(super) struct RequestMaker {
    user_agent: HeaderValue,
    accept: HeaderValue,
    from: Option<HeaderValue>,
}

impl RequestMaker {
    pub(super) fn new(
        settings: &Settings,
        user_agent: &str,
        contact: &str,
    ) -> Result<Self, FetchError> {
        let value = |what: &'static str, text: &str| {
            HeaderValue::from_str(text).map_err(|_| FetchError::Identity { what })
        };
        Ok(RequestMaker {
            user_agent: value("user agent", user_agent)?,
            accept: value("`accept`", &settings.accept)?,
            from: mail_of(contact).map(|mail| value("contact", mail)).transpose()?,
        })
    }

    /// Makes the request for HTTP/1.1: with `Host`, and with the whole URL where a proxy needs it.
    pub(super) fn http1(
        &self,
        request: &Request,
        proxy: Option<&Proxy>,
    ) -> Result<HttpRequest<Empty<Bytes>>, String> {
        let url = &request.url;
        let proxy = proxy.filter(|_| !url.is_https());
        let target = if proxy.is_some() { url.as_str() } else { url.path_and_query() };
        let mut made = self.base(request, target)?;
        let host = HeaderValue::try_from(authority(url)).map_err(|error| error.to_string())?;
        // First, as RFC 9110 §7.2 recommends: so the rest is put in behind it.
        let rest = std::mem::take(made.headers_mut());
        made.headers_mut().reserve(rest.len() + 2);
        made.headers_mut().insert(HOST, host);
        made.headers_mut().extend(rest);
        if let Some(value) = proxy.and_then(Proxy::authorization) {
            made.headers_mut().insert(PROXY_AUTHORIZATION, value.clone());
        }
        Ok(made)
    }

    /// Makes the request for HTTP/2, where the host is part of the URL.
    pub(super) fn http2(&self, request: &Request) -> Result<HttpRequest<Empty<Bytes>>, String> {
        self.base(request, request.url.as_str())
    }

    fn base(&self, request: &Request, target: &str) -> Result<HttpRequest<Empty<Bytes>>, String> {
        let uri = Uri::try_from(target).map_err(|error| format!("request line: {error}"))?;
        let mut made = HttpRequest::new(Empty::new());
        *made.uri_mut() = uri;
        let headers = made.headers_mut();
        headers.reserve(8);
        headers.insert(USER_AGENT, self.user_agent.clone());
        headers.insert(ACCEPT, self.accept.clone());
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, deflate, br, zstd"));
        if let Some(from) = &self.from {
            headers.insert(FROM, from.clone());
        }
        let mut condition = |name: HeaderName, value: &Option<String>| {
            // What a server once sent may hold bytes that cannot be sent back: then without it.
            if let Some(Ok(value)) = value.as_deref().map(HeaderValue::from_str) {
                headers.insert(name, value);
            }
        };
        condition(IF_NONE_MATCH, &request.etag);
        condition(IF_MODIFIED_SINCE, &request.last_modified);
        Ok(made)
    }
}

/// Returns host and port as they stand in `Host`: without the scheme's default port.
pub(super) fn authority(url: &CrawlUrl) -> String {
    match url.as_url().port() {
        Some(port) => format!("{}:{port}", url.host_str()),
        None => url.host_str().to_owned(),
    }
}

/// Returns the request block without the line that holds the proxy's credentials.
pub(super) fn without_credentials(block: Bytes) -> Bytes {
    const NAME: &[u8] = b"proxy-authorization:";
    let secret = |line: &[u8]| line.get(..NAME.len()).is_some_and(|n| n.eq_ignore_ascii_case(NAME));
    let lines = block.split_inclusive(|byte| *byte == b'\n');
    if !lines.clone().any(secret) {
        return block;
    }
    lines.filter(|line| !secret(line)).flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetch::Purpose;

    #[test]
    fn a_crawler_names_itself_and_its_contact() {
        let agent = user_agent("crawler", "0.1.0", "https://bot.example/");
        assert_eq!(agent, "Mozilla/5.0 (compatible; crawler/0.1.0; +https://bot.example/)");
    }

    #[test]
    fn only_mail_addresses_are_sent_as_from() {
        assert_eq!(mail_of("mailto:you@example.org"), Some("you@example.org"));
        assert_eq!(mail_of("mailto:you@example.org?subject=bot"), Some("you@example.org"));
        assert_eq!(mail_of("you@example.org"), Some("you@example.org"));
        for other in ["https://example.org/@bot", "https://u@example.org", "", "@", "mailto:"] {
            assert_eq!(mail_of(other), None, "{other}");
        }
    }

    #[test]
    fn host_stands_first_and_conditions_that_cannot_be_sent_are_left_out() {
        let maker = RequestMaker::new(&Settings::default(), "agent", "you@example.org").unwrap();
        let request = Request {
            url: CrawlUrl::parse("http://h.example:81/a?b|c").unwrap(),
            addresses: Vec::new(),
            purpose: Purpose::Page,
            etag: Some("\"tag\"".to_owned()),
            last_modified: Some("bad\nvalue: x".to_owned()),
            fresh: false,
        };
        let made = maker.http1(&request, None).unwrap();
        let names: Vec<_> = made.headers().keys().map(|name| name.as_str()).collect();
        let want = ["host", "user-agent", "accept", "accept-encoding", "from", "if-none-match"];
        assert_eq!(names, want);
        assert_eq!(made.headers()[HOST], "h.example:81");
        assert_eq!(made.uri(), "/a?b|c");
    }

    #[test]
    fn the_archive_never_sees_the_proxys_credentials() {
        let block = Bytes::from_static(b"GET / HTTP/1.1\r\nproxy-Authorization: x\r\nA: b\r\n\r\n");
        assert_eq!(without_credentials(block), "GET / HTTP/1.1\r\nA: b\r\n\r\n");
    }
}
