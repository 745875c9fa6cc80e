//! Where the dashboard listens and whom it lets in.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::url::Host;

/// Shortest token: 16 characters of a random text are beyond guessing over a network.
pub(super) const TOKEN_MIN: usize = 16;

/// Most connections that may be allowed: all ports of one client.
const CONNECTIONS_MAX: usize = 1 << 16;

/// Settings of the dashboard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Settings {
    /// Address and port to listen on, such as `127.0.0.1:8400`; empty: no dashboard.
    pub listen: String,
    /// File whose first line is the token that clients must show, at least 16 characters; needed
    /// on anything but loopback. A file, so that the token never stands in a configuration
    /// that is shown or archived.
    pub token_file: PathBuf,
    /// Host names by which the dashboard may be asked for, beside addresses and `localhost`.
    pub hosts: Vec<String>,
    /// Connections at once, 65536 at most; further ones are closed.
    pub connections_max: usize,
    /// Open pages at once, fewer than connections; each holds one.
    pub pages_max: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            listen: String::new(),
            token_file: PathBuf::new(),
            hosts: Vec::new(),
            connections_max: 64,
            pages_max: 16,
        }
    }
}

impl Settings {
    /// Returns the address to listen on; `None` where there is to be no dashboard.
    ///
    /// # Errors
    /// Returns what is wrong with it; the key comes first.
    pub fn address(&self) -> Result<Option<SocketAddr>, String> {
        let listen = self.listen.trim();
        if listen.is_empty() {
            return Ok(None);
        }
        if let Some(port) = listen.strip_prefix("localhost:")
            && let Ok(port) = port.parse()
        {
            return Ok(Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port))));
        }
        let wrong = || {
            format!("`listen` must be an address and a port, such as 127.0.0.1:8400, not {listen}")
        };
        listen.parse().map(Some).map_err(|_| wrong())
    }

    /// Checks what can be checked without opening anything.
    ///
    /// # Errors
    /// Returns what is wrong; the key comes first.
    pub fn check(&self) -> Result<(), String> {
        let Some(address) = self.address()? else { return Ok(()) };
        if !address.ip().is_loopback() && self.token_file.as_os_str().is_empty() {
            return Err(format!(
                "`token_file` is missing: {address} can be reached from other machines, and \
                 whoever reaches it can read and pause the crawl; write a token into a file \
                 (openssl rand -hex 16 > token) and name the file, or listen on 127.0.0.1"
            ));
        }
        if let Some(host) = self.hosts.iter().find(|host| Host::named(host).is_none()) {
            return Err(format!(
                "`hosts` has `{}`, which is no host name: write it without scheme, port and path",
                host.escape_debug()
            ));
        }
        if self.pages_max == 0 || self.connections_max <= self.pages_max {
            return Err(format!(
                "`connections_max` must be above pages_max = {}, and that above 0",
                self.pages_max
            ));
        }
        if self.connections_max > CONNECTIONS_MAX {
            let most = self.connections_max;
            return Err(format!("`connections_max` is {most}: must be at most {CONNECTIONS_MAX}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(listen: &str, token_file: &str, want: Result<Option<&str>, &str>) {
        let settings = Settings {
            listen: listen.to_owned(),
            token_file: PathBuf::from(token_file),
            ..Settings::default()
        };
        let found = settings.check().and_then(|()| settings.address());
        match want {
            Ok(address) => {
                assert_eq!(found.unwrap().map(|a| a.to_string()), address.map(str::to_owned));
            }
            Err(part) => assert!(found.unwrap_err().contains(part), "{listen}"),
        }
    }

    #[test]
    fn only_loopback_needs_no_token() {
        check("", "", Ok(None));
        check("127.0.0.1:8400", "", Ok(Some("127.0.0.1:8400")));
        check("[::1]:8400", "", Ok(Some("[::1]:8400")));
        check("localhost:8400", "", Ok(Some("127.0.0.1:8400")));
        check("0.0.0.0:8400", "token", Ok(Some("0.0.0.0:8400")));
        check("0.0.0.0:8400", "", Err("can be reached from other machines"));
        check("[::]:8400", "", Err("openssl"));
        check("192.0.2.1:8400", "", Err("`token_file` is missing"));
        check("8400", "", Err("`listen` must be an address and a port"));
        check("example.org:8400", "", Err("such as 127.0.0.1:8400"));
    }

    /// The dashboard panicked as soon as it was opened.
    #[test]
    fn there_is_a_bound_for_connections() {
        let with = |connections_max: usize, pages_max: usize| {
            let listen = "127.0.0.1:8400".to_owned();
            Settings { listen, connections_max, pages_max, ..Settings::default() }.check()
        };
        assert_eq!(with(CONNECTIONS_MAX, CONNECTIONS_MAX - 1), Ok(()));
        for (connections, pages) in [(usize::MAX, 16), (usize::MAX, usize::MAX - 1), (65_537, 1)] {
            let said = with(connections, pages).unwrap_err();
            assert!(said.starts_with("`connections_max`") && said.ends_with("65536"), "{said}");
        }
    }

    /// They were taken, and the dashboard then refused the very name that was meant.
    #[test]
    fn names_that_no_browser_sends_as_a_host_are_refused() {
        let with = |host: &str| Settings {
            listen: "127.0.0.1:8400".to_owned(),
            hosts: vec![host.to_owned()],
            ..Settings::default()
        };
        for bad in ["https://crawler.internal", "crawler.internal:81", "*.internal", ""] {
            let said = with(bad).check().unwrap_err();
            assert!(said.starts_with("`hosts`"), "{said}");
        }
        assert_eq!(with("crawler.internal").check(), Ok(()));
    }
}
