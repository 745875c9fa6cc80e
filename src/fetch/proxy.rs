//! A proxy that every fetch goes through.

use std::fmt;
use std::str::FromStr;

use data_encoding::BASE64;
use hyper::header::HeaderValue;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An HTTP proxy: `http://[user:password@]host[:port]`.
///
/// Its credentials are sent to it and appear nowhere else: not in `Debug`, not in `Display`, not
/// when settings are written out.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    host: String,
    port: u16,
    authorization: Option<HeaderValue>,
}

impl Proxy {
    /// Returns the host to connect to, IPv6 addresses without brackets.
    pub(super) fn host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    /// Returns the port to connect to.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the value of `Proxy-Authorization`, marked as sensitive.
    pub(super) fn authorization(&self) -> Option<&HeaderValue> {
        self.authorization.as_ref()
    }
}

impl FromStr for Proxy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The text may hold a password, so no message repeats it.
        let wrong = |what: &str| format!("{what}: write `http://host:port` for the proxy");
        let url = url::Url::parse(text).map_err(|_| wrong("not a URL"))?;
        if url.scheme() != "http" {
            return Err(wrong("only proxies spoken to by plain http are supported"));
        }
        let host =
            url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| wrong("no host"))?;
        if !matches!(url.path(), "" | "/") || url.query().is_some() {
            return Err(wrong("a proxy has no path"));
        }
        let authorization = match (url.username(), url.password()) {
            ("", None) => None,
            (REDACTED, _) => return Err(wrong("its credentials were left out")),
            (user, password) => {
                let decoded = [user, password.unwrap_or_default()]
                    .map(|part| percent_decoded(part.as_bytes()));
                let basic = BASE64.encode(&[&decoded[0][..], b":", &decoded[1]].concat());
                let mut value = HeaderValue::try_from(format!("Basic {basic}"))
                    .map_err(|_| wrong("its credentials cannot be sent"))?;
                value.set_sensitive(true);
                Some(value)
            }
        };
        Ok(Proxy { host: host.to_owned(), port: url.port().unwrap_or(80), authorization })
    }
}

const REDACTED: &str = "***";

fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(decoded) if byte == b'%' => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    bytes
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = if self.authorization.is_some() { "***@" } else { "" };
        write!(f, "http://{user}{}:{}", self.host, self.port)
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Proxy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Proxy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_never_shows_its_credentials() {
        let proxy: Proxy = "http://ann:s%40cret@proxy.example:3128".parse().unwrap();
        assert_eq!(proxy.authorization().unwrap(), "Basic YW5uOnNAY3JldA==");
        let shown = format!("{proxy} {proxy:?} {}", serde_json::to_string(&proxy).unwrap());
        assert!(!shown.contains("ann") && !shown.contains("cret"), "{shown}");
        assert_eq!(proxy.to_string(), "http://***@proxy.example:3128");
    }

    #[test]
    fn a_bad_proxy_is_refused_without_being_repeated() {
        for text in
            ["proxy:secret", "socks5://secret:1", "http://a:secret@p/x", "http://***@secret:80"]
        {
            let error = text.parse::<Proxy>().unwrap_err();
            assert!(error.contains("http://host:port") && !error.contains("secret"), "{error}");
        }
    }
}
