//! Sort-friendly URI reordering transform: hosts reversed, so that sites sort together.

use super::CrawlUrl;

/// Returns the SURT key of a URL: `com,example)/path?query`.
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

/// Returns the SURT prefix under which everything at or below `url` sorts.
pub fn surt_prefix(url: &CrawlUrl) -> String {
    surt(url)
}
