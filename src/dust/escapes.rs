//! One form for what escapes alone tell apart: `?uri=CELEX%3A1` and `?uri=CELEX:1`, and in queries
//! `a+b` and `a%20b`.
//!
//! A reserved character and its escape may mean different things (RFC 3986 §2.2), and the normal
//! form of URLs keeps both, but most servers decode before they look. So this is a rule to be
//! proved, as forms' way to write spaces is for itself. What parts a URL (`/ ? # & ; =`), a `+` in
//! queries and `%` mean something else than their escapes, whatever was proved, and stay. The case
//! of digits and what RFC 3986 calls unreserved are of the normal form already.

use std::borrow::Cow;

use crate::url::escaped_byte;

/// Bytes of an escape.
const ESCAPE_LEN: usize = 3;

/// Rewrites a URL, or its path and query, so that nothing is escaped that may stand as it is, or,
/// of `spaces`, so that those in the query are `%20`; `None` where nothing changes.
pub(crate) fn rewrite(url: &str, spaces: bool) -> Option<String> {
    match spaces {
        true => {
            let (path, query) = url.split_at(query_with_plus(url)?);
            Some(format!("{path}{}", query.replace('+', "%20")))
        }
        false => decode(url, false),
    }
}

/// Returns true where [`rewrite`] changes something, without building it.
pub(crate) fn changes(url: &str, spaces: bool) -> bool {
    match spaces {
        true => query_with_plus(url).is_some(),
        false => needless(url, false).next().is_some(),
    }
}

/// Returns true where two URLs, or their paths and queries, differ in nothing but escapes.
pub(crate) fn are_alike(one: &str, other: &str) -> bool {
    let plain = |url: &str| {
        let decoded = rewrite(url, false).unwrap_or_else(|| url.to_owned());
        rewrite(&decoded, true).unwrap_or(decoded)
    };
    one != other && plain(one) == plain(other)
}

/// Returns the name of a parameter as it is where nothing is escaped that may stand as it is.
pub(crate) fn decoded_name(name: &str) -> Cow<'_, str> {
    decode(name, true).map_or(Cow::Borrowed(name), Cow::Owned)
}

/// One pass is enough: no decoded character can be a part of another escape.
fn decode(text: &str, is_of_query: bool) -> Option<String> {
    let mut escapes = needless(text, is_of_query).peekable();
    escapes.peek()?;
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for (at, character) in escapes {
        out.push_str(&text[copied..at]);
        out.push(character);
        copied = at + ESCAPE_LEN;
    }
    out.push_str(&text[copied..]);
    Some(out)
}

/// Returns the escapes of characters that may stand as they are: where, and of which.
///
/// They are those that the parser leaves alone. It escapes braces in paths and `'` in queries.
fn needless(text: &str, is_of_query: bool) -> impl Iterator<Item = (usize, char)> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'%', bytes).filter_map(move |at| {
        let in_query = || is_of_query || memchr::memchr(b'?', &bytes[..at]).is_some();
        let byte = escaped_byte(bytes, at)?;
        let may_stand = match byte {
            b'!' | b'$' | b'(' | b')' | b'*' | b',' | b':' | b'@' | b'[' | b']' | b'|' => true,
            b'\'' | b'+' => !in_query(),
            b'{' | b'}' => in_query(),
            _ => false,
        };
        may_stand.then_some((at, char::from(byte)))
    })
}

/// Returns where the query begins, if a `+` stands in it.
fn query_with_plus(url: &str) -> Option<usize> {
    let last = memchr::memrchr(b'+', url.as_bytes())?;
    memchr::memchr(b'?', &url.as_bytes()[..last])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::url::CrawlUrl;

    fn check(spaces: bool, tail: &str, want: Option<&str>) {
        let url = CrawlUrl::parse(&format!("http://a.example{tail}")).unwrap();
        assert_eq!(url.path_and_query(), tail, "it is in normal form");
        assert_eq!(rewrite(tail, spaces).as_deref(), want, "{tail}");
        assert_eq!(changes(tail, spaces), want.is_some(), "{tail}");
    }

    #[test]
    fn what_may_stand_as_it_is_is_decoded() {
        for (tail, want) in [
            ("/TXT/?uri=CELEX%3A32016R0679", "/TXT/?uri=CELEX:32016R0679"),
            ("/%21%24%28%29%2A%2C%3A%40%5B%5D%7C", "/!$()*,:@[]|"),
            ("/a_%28b%29?f%5B0%5D=%7B1%7D", "/a_(b)?f[0]={1}"),
            ("/it%27s%2B1?it%27s%2B1", "/it's+1?it%27s%2B1"),
            ("/%7B1%7D?%7B1%7D", "/%7B1%7D?{1}"),
            ("/100%%28?%4%29", "/100%(?%4)"),
        ] {
            check(false, tail, Some(want));
            check(false, want, None);
        }
        assert_eq!(decoded_name("f%5B0%5D%2B%7B%7D%26"), "f[0]%2B{}%26");
    }

    #[test]
    fn what_has_a_meaning_of_its_own_stays_escaped() {
        for tail in [
            "/",
            "/a%2Fb%3Fc%23d%26e%3Bf%3Dg%25h",
            "/x?a=%2F%3F%23%26%3B%3D%2B%25",
            "/%2528?%2528",
            "/a%20b?a%20b",
            "/a+b?a+b",
            "/%C3%A9?%C3%A9",
            "/%00%0A%22%3C%3E%5C%5E%60?%00%0A%22%3C%3E%5C%5E%60",
            "/100%?%4%",
        ] {
            check(false, tail, None);
        }
    }

    #[test]
    fn spaces_of_queries_alone_are_written_in_one_way() {
        for (tail, want) in [("/a+b?q=c+d%20e+", "/a+b?q=c%20d%20e%20"), ("/?+", "/?%20")] {
            check(true, tail, Some(want));
            check(true, want, None);
        }
        for tail in ["/", "/a+b", "/a%20b?c%20d", "/a+b?c%2Bd", "/?"] {
            check(true, tail, None);
        }
    }

    #[test]
    fn urls_that_differ_in_escapes_are_alike_and_others_are_not() {
        assert!(are_alike("http://a.example/(x)?q=a+b", "http://a.example/%28x%29?q=a%20b"));
        for [one, other] in [["/a/b", "/a%2Fb"], ["/a+b", "/a%20b"], ["/?a+b", "/?a%2Bb"]] {
            assert!(!are_alike(one, other), "{one} {other}");
        }
        assert!(!are_alike("/a%28b", "/a%28b"), "they do not differ");
    }

    proptest! {
        #[test]
        fn any_url_keeps_its_parts_and_is_in_its_form_at_once(
            path in "([a-f0-9/.+%-]|%[2-7][0-9A-F]){0,20}",
            query in "([a-f0-9=&;+%-]|%[2-7][0-9A-F]){0,20}",
        ) {
            let url = CrawlUrl::parse(&format!("http://a.example/{path}?{query}")).unwrap();
            for spaces in [false, true] {
                let Some(tail) = rewrite(url.path_and_query(), spaces) else { continue };
                let key = CrawlUrl::parse(&format!("http://a.example{tail}")).unwrap();
                prop_assert_eq!(key.path_and_query(), &tail);
                prop_assert_eq!(rewrite(&tail, spaces), None);
                prop_assert!(key.as_url().query_pairs().eq(url.as_url().query_pairs()));
                // What a replayer looks up, which decodes all but `+`, says the same.
                prop_assert!(spaces || key.surt() == url.surt());
            }
        }
    }
}
