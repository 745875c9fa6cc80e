//! What can be said against a URL from its looks alone.

use crate::url::CrawlUrl;

use super::reason::{Limit, Reason};
use super::settings::Settings;

/// Returns what is wrong with the shape of a URL. Linear in its length but for sorting segments.
pub(super) fn fault(url: &CrawlUrl, settings: &Settings) -> Option<Reason> {
    seed_fault(url, settings)
        .or_else(|| path_fault(url.path(), settings))
        .or_else(|| query_fault(url.as_url().query().unwrap_or_default(), settings))
}

/// Returns what is wrong with the length or the port: the limits that seeds must keep too.
pub(super) fn seed_fault(url: &CrawlUrl, settings: &Settings) -> Option<Reason> {
    if url.has_bad_port() {
        return Some(Reason::BadPort(url.port()));
    }
    over(url.as_str().len(), settings.url_length_max.into()).map(Reason::UrlTooLong)
}

fn path_fault(path: &str, settings: &Settings) -> Option<Reason> {
    let trimmed = path.strip_prefix('/').unwrap_or(path);
    let trimmed = trimmed.strip_suffix('/').unwrap_or(trimmed);
    if trimmed.is_empty() {
        return None;
    }
    let depth = 1 + memchr::memchr_iter(b'/', trimmed.as_bytes()).count();
    if let Some(limit) = over(depth, settings.path_depth_max.into()) {
        return Some(Reason::PathTooDeep(limit));
    }
    if settings.path_repeat_max == 0 || depth <= usize::from(settings.path_repeat_max) {
        return None;
    }
    let mut segments: Vec<&str> = trimmed.split('/').collect();
    segments.sort_unstable();
    let most = segments.chunk_by(|a, b| a == b).map(<[&str]>::len).max().unwrap_or(0);
    over(most, settings.path_repeat_max.into()).map(Reason::PathRepeats)
}

fn query_fault(query: &str, settings: &Settings) -> Option<Reason> {
    if query.is_empty() {
        return None;
    }
    let parameters = 1 + memchr::memchr2_iter(b'&', b';', query.as_bytes()).count();
    over(parameters, settings.parameters_max.into()).map(Reason::TooManyParameters)
}

/// Returns the limit that is passed; a `max` of zero never is.
pub(super) fn over(found: usize, max: u64) -> Option<Limit> {
    let found = found as u64;
    (max != 0 && found > max).then_some(Limit { found, max })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, want: Option<&str>) {
        let settings = Settings {
            url_length_max: 80,
            path_depth_max: 8,
            path_repeat_max: 2,
            parameters_max: 3,
            ..Settings::default()
        };
        let url = CrawlUrl::parse(url).unwrap();
        assert_eq!(fault(&url, &settings).map(|reason| reason.code()), want, "{url}");
    }

    #[test]
    fn looks_alone_can_condemn_a_url() {
        check("http://a.test/", None);
        check("http://a.test:8080/", None);
        check("http://a.test:25/", Some("bad-port"));
        check("https://a.test:6667/", Some("bad-port"));
        check("http://a.test:0/", Some("bad-port"));
        check("http://a.test/1/2/3/4/5/6/7/8", None);
        check("http://a.test/1/2/3/4/5/6/7/8/", None);
        check("http://a.test/1/2/3/4/5/6/7/8/9", Some("path-too-deep"));
        check("http://a.test/2011/11/11/", None);
        check("http://a.test/a/b/a/b/a/b/", Some("path-repeats"));
        check("http://a.test/////", Some("path-repeats"));
        check("http://a.test/a?x=1&y=2&z=3", None);
        check("http://a.test/a?x=1&y=2&z=3&w=4", Some("too-many-parameters"));
        check(&format!("http://a.test/{}", "x".repeat(66)), None);
        check(&format!("http://a.test/{}", "x".repeat(67)), Some("url-too-long"));
    }

    #[test]
    fn zero_means_no_limit() {
        let settings = Settings {
            url_length_max: 0,
            path_depth_max: 0,
            path_repeat_max: 0,
            parameters_max: 0,
            ..Settings::default()
        };
        let long = format!("http://a.test/{}?{}", "a/".repeat(3000), "x&".repeat(3000));
        assert_eq!(fault(&CrawlUrl::parse(&long).unwrap(), &settings), None);
    }
}
