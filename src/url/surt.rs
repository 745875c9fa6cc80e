//! Sort-friendly URI reordering transform, without loss: hosts reversed, so that sites sort
//! together.
//!
//! For scopes and for sorting. The key of a CDXJ index is another thing: [`super::cdx_key`].

use super::CrawlUrl;

/// Returns the SURT of a URL: `com,example)/path?query`; scheme and port are left out, an IP
/// address keeps its order.
pub fn surt(url: &CrawlUrl) -> String {
    let host = url.host_str();
    let mut key = String::with_capacity(url.as_str().len());
    if url.host().ip().is_some() {
        key.push_str(host);
    } else {
        for (i, label) in host.split('.').rev().enumerate() {
            if i > 0 {
                key.push(',');
            }
            key.push_str(label);
        }
    }
    key.push(')');
    key.push_str(url.path_and_query());
    key
}

/// Returns the prefix that the SURT of every URL in the folder of `url` begins with: the path up to
/// its last slash, `com,example)/docs/` for `http://example.com/docs/index.html?x=/y`.
pub fn surt_prefix(url: &CrawlUrl) -> String {
    let mut prefix = surt(url);
    let after_path = url.path_and_query().len() - url.path().len();
    prefix.truncate(prefix.len() - after_path);
    let folder = prefix.rfind('/').map_or(prefix.len(), |slash| slash + 1);
    prefix.truncate(folder);
    prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &str, want_prefix: &str) {
        let url = CrawlUrl::parse(text).unwrap();
        assert_eq!(surt(&url), want, "{text}");
        assert_eq!(surt_prefix(&url), want_prefix, "{text}");
        assert!(surt(&url).starts_with(&surt_prefix(&url)));
    }

    #[test]
    fn hosts_are_reversed_and_nothing_else_is_touched() {
        check(
            "http://www.Example.com/A/b?c=/d",
            "com,example,www)/A/b?c=/d",
            "com,example,www)/A/",
        );
        check("https://example.com:444", "com,example)/", "com,example)/");
        check("http://127.0.0.1/x", "127.0.0.1)/x", "127.0.0.1)/");
        check("http://[::1]/x/", "[::1])/x/", "[::1])/x/");
    }
}
