//! The key under which a CDXJ index knows a URL, as pywb 2.10 and cdxj-indexer compute it.
//!
//! Both take it from the Python package surt 0.3.1, itself a port of webarchive-commons. It folds
//! far more than normalization may: case, `www.`, session ids, order of parameters, a trailing
//! slash, escapes of escapes. A replayer computes the key of what the reader asked for in the same
//! way, so an index with any other key would hide its records. The steps below follow what that
//! package does, byte for byte; its order of steps matters and looks odd in places for that reason.
//!
//! Does not lower the bar of identity: [`super::Fingerprint`] is the key of the crawl.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::bytes::Regex;
use unicode_normalization::UnicodeNormalization;

/// Returns the key of a URL or of another record name such as `dns:example.com`.
///
/// `-` for an empty text. `None` where the package raises an error: nothing but white space, or a
/// port that is no number below 65,536.
pub fn cdx_key(url: &str) -> Option<String> {
    if url.is_empty() {
        return Some("-".to_owned());
    }
    if url.starts_with("filedesc") {
        return Some(url.to_owned());
    }
    let text = with_one_scheme(without_white_space(url.as_bytes()));
    if text.is_empty() {
        return None;
    }
    let parts = split(&text);
    let (host, port) = host_and_port(parts.authority)?;
    let mut host = (!host.is_empty()).then(|| lower_before_percent(host));
    let mut path = (!parts.path.is_empty()).then(|| parts.path.to_vec());
    if parts.scheme.starts_with(b"http")
        && host.is_none()
        && let Some(all) = path.take()
    {
        // `http:////example.com/a`: the host is the first thing behind the slashes.
        let start = all.iter().position(|&b| b != b'/').unwrap_or(all.len());
        let end = memchr::memchr(b'/', &all[start..]).map_or(all.len(), |at| start + at);
        host = Some(all[start..end].to_vec());
        path = Some([b"/", all.get(end + 1..).unwrap_or_default()].concat());
    }
    let host = host.map(|host| canonical_host(&host, parts.scheme)).unwrap_or_default();
    let mut key = Vec::with_capacity(text.len() + 4);
    if host.is_empty() {
        key.extend(parts.scheme);
        key.push(b':');
    } else {
        key.extend(host.split(|&b| b == b'.').rev().collect::<Vec<_>>().join(&b','));
        let default = if parts.scheme.eq_ignore_ascii_case(b"http") { 80 } else { 443 };
        let known = parts.scheme.eq_ignore_ascii_case(b"http")
            || parts.scheme.eq_ignore_ascii_case(b"https");
        if port != 0 && !(known && port == default) {
            key.extend(format!(":{port}").bytes());
        }
        key.push(b')');
    }
    let path = canonical_path(path, !host.is_empty());
    let query = canonical_query(parts.query);
    if path.is_empty() && query.is_some() {
        key.push(b'/');
    }
    key.extend(path);
    if let Some(query) = query {
        key.push(b'?');
        key.extend(query);
    }
    // Everything above leaves ASCII only: the rest was escaped.
    String::from_utf8(key).ok()
}

struct Parts<'a> {
    scheme: &'a [u8],
    authority: &'a [u8],
    path: &'a [u8],
    query: &'a [u8],
}

/// RFC 2396 appendix B, for a text that has a scheme.
fn split(text: &[u8]) -> Parts<'_> {
    let until = |text: &[u8], stops: &[u8]| {
        text.iter().position(|b| stops.contains(b)).unwrap_or(text.len())
    };
    let (scheme, rest) = text.split_at(until(text, b":"));
    let rest = rest.get(1..).unwrap_or_default();
    let (authority, rest) = match rest.strip_prefix(b"//") {
        Some(rest) => rest.split_at(until(rest, b"/?#")),
        None => (&rest[..0], rest),
    };
    let (path, rest) = rest.split_at(until(rest, b"?#"));
    let query = rest.strip_prefix(b"?").unwrap_or_default();
    Parts { scheme, authority, path, query: &query[..until(query, b"#")] }
}

/// Trims white space at both ends and takes line ends and tabs out of the middle.
fn without_white_space(url: &[u8]) -> Cow<'_, [u8]> {
    let is_space = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
    let start = url.iter().position(|b| !is_space(b)).unwrap_or(url.len());
    let end = url.iter().rposition(|b| !is_space(b)).map_or(start, |last| last + 1);
    let url = &url[start..end];
    let breaks = |b: &u8| matches!(b, b'\t' | b'\n' | b'\r');
    if url.iter().any(breaks) {
        Cow::Owned(url.iter().copied().filter(|b| !breaks(b)).collect())
    } else {
        Cow::Borrowed(url)
    }
}

/// Puts `http://` before what has no scheme, and keeps the last of several.
fn with_one_scheme(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    if text.is_empty() {
        return text;
    }
    let end = text
        .iter()
        .position(|b| !b.is_ascii_alphanumeric() && !matches!(b, b'+' | b'-' | b'.'))
        .unwrap_or(text.len());
    if !text[0].is_ascii_alphabetic() || text.get(end) != Some(&b':') {
        return Cow::Owned([b"http://", &*text].concat());
    }
    let length = |text: &[u8]| match text {
        _ if text.starts_with(b"http://") => 7,
        _ if text.starts_with(b"https://") => 8,
        _ => 0,
    };
    let mut start = 0;
    loop {
        let here = length(&text[start..]);
        if here == 0 || length(&text[start + here..]) == 0 {
            break;
        }
        start += here;
    }
    if start == 0 { text } else { Cow::Owned(text[start..].to_vec()) }
}

/// Splits an authority; a port of 0 stands for none. `None` if the port is no port.
fn host_and_port(authority: &[u8]) -> Option<(&[u8], u16)> {
    let trimmed = authority.iter().rposition(|&b| b != b':').map_or(0, |last| last + 1);
    let authority = &authority[..trimmed];
    let info = authority.rsplit(|&b| b == b'@').next().unwrap_or_default();
    let cut = |text, byte| match memchr::memchr(byte, text) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &text[text.len()..]),
    };
    let (host, port) = match memchr::memchr(b'[', info) {
        Some(open) => {
            let (host, rest) = cut(&info[open + 1..], b']');
            (host, cut(rest, b':').1)
        }
        None => cut(info, b':'),
    };
    let mut number: u32 = 0;
    for digit in port {
        let digit = char::from(*digit).to_digit(10)?;
        number = number.saturating_mul(10).saturating_add(digit);
    }
    Some((host, u16::try_from(number).ok()?))
}

fn lower_before_percent(host: &[u8]) -> Vec<u8> {
    let end = memchr::memchr(b'%', host).unwrap_or(host.len());
    let mut host = host.to_vec();
    host[..end].make_ascii_lowercase();
    host
}

fn canonical_host(host: &[u8], scheme: &[u8]) -> Vec<u8> {
    let mut host = unescape_fully(host);
    if !host.is_ascii() {
        host = to_ascii(&host).unwrap_or(host);
    }
    // One pass over pairs of dots, so three become two; then dots at the ends go.
    let mut single = Vec::with_capacity(host.len());
    let mut at = 0;
    while at < host.len() {
        single.push(host[at]);
        at += if host[at..].starts_with(b"..") { 2 } else { 1 };
    }
    let start = single.iter().position(|&b| b != b'.').unwrap_or(single.len());
    let end = single.iter().rposition(|&b| b != b'.').map_or(start, |last| last + 1);
    let mut host = single[start..end].to_vec();
    if let Some(address) = address(&host) {
        return address.to_string().into_bytes();
    }
    host.make_ascii_lowercase();
    let mut host = escape_once(&host);
    host.make_ascii_lowercase();
    if scheme != b"dns"
        && let Some(rest) = host.strip_prefix(b"www")
    {
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        if rest.get(digits) == Some(&b'.') {
            return rest[digits + 1..].to_vec();
        }
    }
    host
}

/// IDNA as of 2003 (RFC 3490), as Python's codec has it. It lets any ASCII label pass that is
/// neither empty nor too long. `None` if a label is not allowed. Of Nameprep (RFC 3491), the rules
/// for text in both directions are left out. A parsed URL never comes here: its host is ASCII.
fn to_ascii(host: &[u8]) -> Option<Vec<u8>> {
    let text: String = host.utf8_chunks().map(|chunk| chunk.valid()).collect();
    let mut labels: Vec<&str> = text.split(['.', '\u{3002}', '\u{ff0e}', '\u{ff61}']).collect();
    let dot_at_end = labels.pop_if(|last| last.is_empty()).is_some();
    let mut labels = labels.into_iter().map(label_to_ascii).collect::<Option<Vec<String>>>()?;
    if dot_at_end {
        labels.push(String::new());
    }
    Some(labels.join(".").into_bytes())
}

fn label_to_ascii(label: &str) -> Option<String> {
    const LENGTHS: std::ops::Range<usize> = 1..64;
    if label.is_ascii() {
        return LENGTHS.contains(&label.len()).then(|| label.to_owned());
    }
    let mapped = label
        .chars()
        .filter(|c| !is_mapped_to_nothing(*c))
        .nfkc()
        .flat_map(char::to_lowercase)
        .nfkc()
        .collect::<String>()
        .replace('\u{df}', "ss")
        .replace('\u{3c2}', "\u{3c3}");
    if mapped.is_ascii() {
        return LENGTHS.contains(&mapped.len()).then_some(mapped);
    }
    if mapped.starts_with("xn--") || mapped.chars().any(is_prohibited) {
        return None;
    }
    let encoded = format!("xn--{}", idna::punycode::encode_str(&mapped)?);
    LENGTHS.contains(&encoded.len()).then_some(encoded)
}

/// RFC 3454 table B.1.
fn is_mapped_to_nothing(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{1806}' | '\u{2060}' | '\u{feff}')
        || matches!(c, '\u{180b}'..='\u{180d}' | '\u{200b}'..='\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

/// RFC 3454 tables C.1.2 to C.9; spaces are plain by now.
fn is_prohibited(c: char) -> bool {
    let code = c as u32;
    matches!(c, '\u{80}'..='\u{9f}' | '\u{6dd}' | '\u{70f}' | '\u{180e}' | '\u{1680}')
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2061}'..='\u{2063}' | '\u{206a}'..='\u{206f}')
        || matches!(c, '\u{2ff0}'..='\u{2ffb}' | '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}')
        || matches!(c, '\u{fff9}'..='\u{ffff}' | '\u{1d173}'..='\u{1d17a}')
        || matches!(code, 0xe0001 | 0xe0020..=0xe007f | 0xf0000..)
        || code & 0xfffe == 0xfffe
}

/// Reads an IPv4 address in the spellings of `inet_aton`, but for hexadecimal ones.
fn address(host: &[u8]) -> Option<std::net::Ipv4Addr> {
    if host.is_empty() || !host.iter().all(|b| b.is_ascii_digit() || *b == b'.') {
        return None;
    }
    // What begins like an octal number and then has other digits is taken for a name.
    if host[0] == b'0' && host.contains(&b'.') && host.iter().any(|b| matches!(b, b'8' | b'9')) {
        return None;
    }
    if !host.contains(&b'.') {
        let number = host.iter().fold(0u32, |number, digit| {
            number.wrapping_mul(10).wrapping_add(u32::from(digit - b'0'))
        });
        return Some(number.into());
    }
    let fields: Vec<&[u8]> = host.split(|&b| b == b'.').collect();
    let (last, first) = fields.split_last()?;
    if first.len() > 3 {
        return None;
    }
    let mut number: u32 = 0;
    for field in first {
        number = number << 8 | u32::from(u8::try_from(field_value(field)?).ok()?);
    }
    let bits = 8 * (4 - first.len() as u32);
    let value = field_value(last)?;
    if value >> bits != 0 {
        return None;
    }
    Some(((u64::from(number) << bits | value) as u32).into())
}

/// Octal with a leading zero, else decimal.
fn field_value(field: &[u8]) -> Option<u64> {
    let radix = if field.len() > 1 && field[0] == b'0' { 8 } else { 10 };
    u64::from_str_radix(std::str::from_utf8(field).ok()?, radix).ok()
}

fn canonical_path(path: Option<Vec<u8>>, has_host: bool) -> Vec<u8> {
    let mut path = path.map(|path| unescape_fully(&path)).unwrap_or_default();
    if has_host {
        path = without_dots(&path);
    }
    let mut path = escape_once(&path);
    path.make_ascii_lowercase();
    if memchr::memmem::find(&path, b".aspx").is_some() {
        for pattern in PATH_SESSIONS.iter() {
            if let Some(found) = pattern.captures(&path) {
                path = [&found[1], &found[2]].concat();
            }
        }
    }
    if path.len() > 1 && path.ends_with(b"/") {
        path.pop();
    }
    path
}

/// Resolves dot segments, and folds slashes that follow each other into one.
fn without_dots(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for segment in path.split(|&b| b == b'/').skip(1) {
        match segment {
            b"." => {}
            // A climb above the root is kept, and may be climbed over in turn.
            b".." if kept.pop().is_none() => kept.push(segment),
            b".." => {}
            _ => kept.push(segment),
        }
    }
    let mut out = vec![b'/'];
    if let Some((last, folders)) = kept.split_last() {
        for folder in folders.iter().filter(|folder| !folder.is_empty()) {
            out.extend(*folder);
            out.push(b'/');
        }
        out.extend(*last);
    }
    out
}

fn canonical_query(query: &[u8]) -> Option<Vec<u8>> {
    let mut query = escape_once(&unescape_fully(query));
    if query.windows(2).any(|pair| pair.eq_ignore_ascii_case(b"id")) {
        for pattern in QUERY_SESSIONS.iter() {
            if let Some(found) = pattern.captures(&query) {
                let after = found.get(2).map_or(&b""[..], |after| after.as_bytes());
                query = [&found[1], after].concat();
            }
        }
    }
    query.make_ascii_lowercase();
    let mut pairs: Vec<(&[u8], Option<&[u8]>)> = query
        .split(|&b| b == b'&')
        .map(|pair| match memchr::memchr(b'=', pair) {
            Some(at) => (&pair[..at], Some(&pair[at + 1..])),
            None => (pair, None),
        })
        .collect();
    pairs.sort();
    let mut out = Vec::with_capacity(query.len());
    for (i, (name, value)) in pairs.into_iter().enumerate() {
        if i > 0 {
            out.push(b'&');
        }
        out.extend(name);
        if let Some(value) = value {
            out.push(b'=');
            out.extend(value);
        }
    }
    (!out.is_empty()).then_some(out)
}

/// Decodes escapes until none is left, those that decoding made included, in one pass: an escape
/// is reduced as soon as its last digit is there, and no two can overlap.
fn unescape_fully(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        out.push(byte);
        while let [.., b'%', high, low] = out[..] {
            let digits = char::from(high).to_digit(16).zip(char::from(low).to_digit(16));
            let Some((high, low)) = digits else { break };
            out.truncate(out.len() - 3);
            out.push((high * 16 + low) as u8);
        }
    }
    out
}

/// Escapes everything but printable ASCII, and of that `#` and `%`.
fn escape_once(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for &byte in text {
        if byte.is_ascii_graphic() && !matches!(byte, b'#' | b'%') {
            out.push(byte);
        } else {
            let digit = |value: u8| b"0123456789ABCDEF"[usize::from(value & 15)];
            out.extend([b'%', digit(byte >> 4), digit(byte)]);
        }
    }
    out
}

fn patterns<const N: usize>(patterns: [&str; N]) -> [Regex; N] {
    patterns.map(|pattern| {
        Regex::new(&format!("(?i-u){pattern}")).expect("a constant pattern that the tests compile")
    })
}

/// Session ids in the path, as ASP.NET writes them.
static PATH_SESSIONS: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    patterns([
        r"^(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)$",
        r"^(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)$",
    ])
});

/// Session ids in the query; each takes the ampersand behind it along.
static QUERY_SESSIONS: LazyLock<[Regex; 5]> = LazyLock::new(|| {
    patterns([
        "^(.*)jsessionid=[0-9a-zA-Z]{32}(?:&(.*))?$",
        "^(.*)phpsessid=[0-9a-zA-Z]{32}(?:&(.*))?$",
        "^(.*)sid=[0-9a-zA-Z]{32}(?:&(.*))?$",
        "^(.*)aspsessionid[a-zA-Z]{8}=[a-zA-Z]{24}(?:&(.*))?$",
        "^(.*)cfid=[^&]+&cftoken=[^&]+(?:&(.*))?$",
    ])
});

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(url: &str, want: &str) {
        assert_eq!(cdx_key(url).as_deref(), Some(want), "{url}");
    }

    #[test]
    fn keys_are_those_that_pywb_computes() {
        let session = "0123456789abcdefghijklemopqrstuv";
        for (url, want) in [
            ("http://www.Example.com:80/A/B/?Y=2&x=1&X", "com,example)/a/b?x&x=1&y=2"),
            ("https://example.com:444/", "com,example:444)/"),
            ("http://www2.example.com/a/", "com,example)/a"),
            ("http://127.0.0.1/", "1,0,0,127)/"),
            ("http://[2001:db8::1]:8080/x", "2001:db8::1:8080)/x"),
            ("http://example.com/%25%32%35", "com,example)/%25"),
            ("http://example.com//a//b/../c", "com,example)/a/c"),
            ("http://example.com/?", "com,example)/"),
            ("dns:www.Example.com", "dns:www.example.com"),
            ("example.com", "com,example)/"),
            ("http://https://example.com/", "com,example)/"),
            ("http:////example.com/a", "com,example)/a"),
            ("http://user:pw@example.com/", "com,example)/"),
            ("", "-"),
            ("warcinfo:crawl.warc.gz", "warcinfo:crawl.warc.gz"),
        ] {
            check(url, want);
        }
        check(&format!("http://a.b/c.php?jsessionid={session}&d=e"), "b,a)/c.php?d=e");
        check("http://a.b/(S(4hqa0555fwsecu455xqckv45))/c.aspx", "b,a)/c.aspx");
        assert_eq!(cdx_key("http://example.com:port/"), None);
        assert_eq!(cdx_key("   "), None);
    }

    #[test]
    fn escapes_of_escapes_take_one_pass_however_deep() {
        let deep = format!("http://a/%{}41", "25".repeat(200_000));
        check(&deep, "a)/a");
    }

    proptest! {
        #[test]
        fn any_text_has_a_key_or_none_but_never_a_panic(
            text in "\\PC{0,40}",
            url in "(https?://)?[a-z.%0-9:@\\[\\]?#&=/]{0,40}",
        ) {
            let _ = cdx_key(&text);
            if let Some(key) = cdx_key(&url) {
                prop_assert!(key.is_ascii());
            }
        }
    }
}
