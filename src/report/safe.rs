//! Takes credentials out of what is shown.
//!
//! A report is passed on, so user names and passwords in addresses and the values of parameters
//! that usually carry a secret are replaced. Names alone decide, for a secret looks like any other
//! text.

use std::borrow::Cow;

/// What stands in place of a credential.
const HIDDEN: &str = "[hidden]";

/// Parameters and settings whose names contain one of these carry secrets.
const SECRET_NAMES: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "api_key",
    "apikey",
    "api-key",
    "credential",
    "authorization",
    "signature",
    "access_key",
];

/// Parameters with exactly these names carry secrets.
const SECRET_EXACT: [&str; 9] =
    ["pwd", "pass", "auth", "sig", "sid", "sessionid", "jsessionid", "phpsessid", "key"];

/// Characters of an address that are shown; the rest is counted.
const URL_CHARS_MAX: usize = 500;

/// Returns an address without credentials, cut where it is very long.
pub(super) fn url(text: &str) -> String {
    let text = without_userinfo(text);
    let text = match text.split_once('?') {
        None => hidden_in_path(&text),
        Some((path, query)) => format!("{}?{}", hidden_in_path(path), hidden_values(query)),
    };
    cut(&text, URL_CHARS_MAX)
}

/// Returns a text of at most so many characters, its addresses without credentials.
pub(super) fn text(text: &str, chars_max: usize) -> String {
    let words = text.split_inclusive(' ').map(|word| {
        let address = word.trim_end();
        if !address.contains("://") {
            return Cow::Borrowed(word);
        }
        Cow::Owned(format!("{}{}", url(address), &word[address.len()..]))
    });
    cut(&words.collect::<Vec<_>>().concat(), chars_max)
}

/// Returns a text of at most so many characters.
pub(super) fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some((at, _)) => {
            let left = text[at..].chars().count();
            format!("{}… (+{left} characters)", &text[..at])
        }
    }
}

/// Returns the value of a setting, or that it is hidden.
pub(super) fn setting(key: &str, value: &str) -> String {
    let last = key.rsplit('.').next().unwrap_or(key);
    if is_secret(last) && !value.is_empty() { HIDDEN.to_owned() } else { all_userinfo(value) }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_EXACT.contains(&name.as_str()) || SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// Hides values between `&`, and then between `;` as well: a secret may have a `;`, and another
/// parameter may end at one.
fn hidden_values(query: &str) -> String {
    hidden_between("&", query, |field| hidden_between(";", field, str::to_owned))
}

/// Hides the values of parameters that stand in a path, as in `/x;jsessionid=1`.
fn hidden_in_path(path: &str) -> String {
    let segments = path.split('/').map(|segment| hidden_between(";", segment, str::to_owned));
    segments.collect::<Vec<_>>().join("/")
}

fn hidden_between(separator: &str, query: &str, other: impl Fn(&str) -> String) -> String {
    let fields = query.split(separator).map(|field| match field.split_once('=') {
        Some((name, value)) if !value.is_empty() && is_secret(name) => format!("{name}={HIDDEN}"),
        _ => other(field),
    });
    fields.collect::<Vec<_>>().join(separator)
}

/// Replaces what stands before the `@` of the authority.
fn without_userinfo(text: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = text.split_once("://") else { return Cow::Borrowed(text) };
    let end = rest.find(['/', '?', '#', '"', ' ']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        None => Cow::Borrowed(text),
        Some(at) => Cow::Owned(format!("{scheme}://{HIDDEN}@{}", &rest[at + 1..])),
    }
}

/// Does the same for every address of a text.
fn all_userinfo(text: &str) -> String {
    let words = text.split_inclusive([' ', ',', '\n']);
    words.map(without_userinfo).collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &str) {
        assert_eq!(url(text), want, "{text}");
    }

    #[test]
    fn credentials_are_hidden_and_the_rest_stays() {
        check("http://a.test/x?id=3", "http://a.test/x?id=3");
        check("http://me:pw@a.test/x", "http://[hidden]@a.test/x");
        check("http://a.test/x@y", "http://a.test/x@y");
        check(
            "http://a.test/?a=1&access_token=abc&b=2",
            "http://a.test/?a=1&access_token=[hidden]&b=2",
        );
        check("http://a.test/?sid=9&side=left", "http://a.test/?sid=[hidden]&side=left");
        check("http://a.test/?id=3;sid=9;b=2", "http://a.test/?id=3;sid=[hidden];b=2");
        check("http://a.test/?a=1;token=X&b=2", "http://a.test/?a=1;token=[hidden]&b=2");
        check("http://a.test/?token=a;b&c=2", "http://a.test/?token=[hidden]&c=2");
        check("http://a.test/?Password=", "http://a.test/?Password=");
        check("http://a.test/x;jsessionid=ABC", "http://a.test/x;jsessionid=[hidden]");
        check(
            "http://a.test/x;v=1;SID=ABC/y;k=2?sid=7&b=/;c",
            "http://a.test/x;v=1;SID=[hidden]/y;k=2?sid=[hidden]&b=/;c",
        );
    }

    #[test]
    fn settings_hide_secrets_and_the_userinfo_of_proxies() {
        assert_eq!(
            setting("fetch.proxy", "\"http://u:p@proxy:3128\""),
            "\"http://[hidden]@proxy:3128\""
        );
        assert_eq!(setting("dashboard.token", "\"abc\""), HIDDEN);
        assert_eq!(setting("politeness.min_delay", "\"1s\""), "\"1s\"");
    }

    #[test]
    fn addresses_within_a_text_lose_their_credentials_too() {
        let shown = text("refuted: http://a.test/?id=1&sid=7 is not http://u:p@b.test/", 200);
        assert_eq!(
            shown,
            "refuted: http://a.test/?id=1&sid=[hidden] is not http://[hidden]@b.test/"
        );
    }

    #[test]
    fn a_long_address_is_cut_between_characters() {
        let long = format!("http://a.test/{}", "ü".repeat(600));
        let shown = url(&long);
        assert!(shown.ends_with("… (+114 characters)"), "{shown}");
    }
}
