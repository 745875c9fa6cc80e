//! Which encoding a body is in, and its text (WHATWG HTML §13.2.3).
//!
//! In this order: a byte order mark; the `charset` of the `Content-Type` header; UTF-16 that shows
//! by its zero bytes; a `meta` element; an XML declaration; a guess. The standard looks for `meta`
//! in the first 1,024 bytes and lets the parser start over if one comes later; here the same search
//! goes on for [`DECLARATION_WITHIN`] bytes, which gives the same answer in one go.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use memchr::{memchr, memmem};

/// How far into a body a declaration is looked for.
const DECLARATION_WITHIN: usize = 64 * 1024;
/// The part in which the standard's search sees no difference between markup and scripts.
const PRESCAN: usize = 1024;
/// Bytes looked at for the zero bytes of UTF-16.
const ZEROES_WITHIN: usize = 1024;

/// What told the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CharsetSource {
    /// A byte order mark.
    Bom,
    /// The `Content-Type` header.
    Header,
    /// A `meta` element or an XML declaration.
    Declaration,
    /// Nothing: a guess by the bytes.
    Guess,
}

/// Decodes a body; malformed sequences become U+FFFD, and a byte order mark is dropped.
///
/// `tld` is the top-level domain in lower case, which helps a guess; `guess_max` bounds the bytes
/// that a guess may cost.
pub fn decode<'b>(
    body: &'b [u8],
    content_type: Option<&str>,
    tld: Option<&str>,
    guess_max: usize,
) -> (Cow<'b, str>, &'static Encoding, CharsetSource) {
    let (encoding, source) = find(body, content_type, tld, guess_max);
    (encoding.decode_with_bom_removal(body).0, encoding, source)
}

fn find(
    body: &[u8],
    content_type: Option<&str>,
    tld: Option<&str>,
    guess_max: usize,
) -> (&'static Encoding, CharsetSource) {
    if let Some((encoding, _)) = Encoding::for_bom(body) {
        return (encoding, CharsetSource::Bom);
    }
    let in_header = content_type.and_then(|value| charset_parameter(value.as_bytes()));
    if let Some(encoding) = in_header.and_then(Encoding::for_label) {
        return (encoding, CharsetSource::Header);
    }
    if let Some(encoding) = by_zeroes(body) {
        return (encoding, CharsetSource::Guess);
    }
    let head = &body[..body.len().min(DECLARATION_WITHIN)];
    match prescan(head).or_else(|| xml_declaration(head)) {
        Some(encoding) => (encoding, CharsetSource::Declaration),
        None => (guess(body, tld, guess_max), CharsetSource::Guess),
    }
}

/// Returns the `charset` parameter of a `Content-Type` value.
fn charset_parameter(value: &[u8]) -> Option<&[u8]> {
    let mut rest = &value[memchr(b';', value)? + 1..];
    loop {
        rest = rest.trim_ascii_start();
        let name_end = rest.iter().position(|&b| matches!(b, b'=' | b';'))?;
        let name = rest[..name_end].trim_ascii();
        let is_set = rest[name_end] == b'=';
        rest = &rest[name_end + 1..];
        if !is_set {
            continue;
        }
        let (found, after) = parameter_value(rest);
        if name.eq_ignore_ascii_case(b"charset") && !found.is_empty() {
            return Some(found);
        }
        rest = after;
    }
}

/// Returns the value that `rest` begins with, and what follows its semicolon.
fn parameter_value(rest: &[u8]) -> (&[u8], &[u8]) {
    let rest = rest.trim_ascii_start();
    let (value, after) = match rest.first() {
        Some(b'"') => {
            let end = memchr(b'"', &rest[1..]).map_or(rest.len(), |i| i + 1);
            (&rest[1..end], &rest[end..])
        }
        _ => {
            let end = memchr(b';', rest).unwrap_or(rest.len());
            // Some servers quote with apostrophes, which the grammar does not know.
            (rest[..end].trim_ascii().trim_ascii_end(), &rest[end..])
        }
    };
    let next = memchr(b';', after).map_or(after.len(), |i| i + 1);
    (strip_apostrophes(value), &after[next..])
}

fn strip_apostrophes(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"'").and_then(|v| v.strip_suffix(b"'")).unwrap_or(value)
}

/// Recognizes UTF-16 without a byte order mark: markup is mostly ASCII, so one byte of most pairs
/// is zero, and no other encoding of the web has zero bytes at all.
fn by_zeroes(body: &[u8]) -> Option<&'static Encoding> {
    let (pairs, _) = body[..body.len().min(ZEROES_WITHIN)].as_chunks::<2>();
    let high_first = pairs.iter().filter(|pair| pair[0] == 0 && pair[1] != 0).count();
    let low_first = pairs.iter().filter(|pair| pair[0] != 0 && pair[1] == 0).count();
    let most =
        |zeroes: usize, others: usize| zeroes >= 2 && zeroes * 2 > pairs.len() && others == 0;
    if most(high_first, low_first) {
        Some(UTF_16BE)
    } else if most(low_first, high_first) {
        Some(UTF_16LE)
    } else {
        None
    }
}

/// Guesses by the bytes alone.
fn guess(body: &[u8], tld: Option<&str>, guess_max: usize) -> &'static Encoding {
    let escapes = memchr(0x1B, &body[..body.len().min(guess_max)]);
    let Some(first) = body.iter().position(|b| !b.is_ascii()).or(escapes) else {
        return WINDOWS_1252;
    };
    if escapes.is_none() && std::str::from_utf8(body).is_ok() {
        return UTF_8;
    }
    let start = first.min(escapes.unwrap_or(first)).saturating_sub(2);
    let sample = &body[start..body.len().min(start + guess_max)];
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, true);
    let tld = tld.filter(|t| !t.is_empty() && !t.bytes().any(|b| b.is_ascii_uppercase()));
    detector.guess(tld.map(str::as_bytes), Utf8Detection::Allow)
}

/// Returns the encoding that an XML declaration at the very start names.
fn xml_declaration(head: &[u8]) -> Option<&'static Encoding> {
    let declaration = &head[..memchr(b'>', head).filter(|_| head.starts_with(b"<?xml"))?];
    let mut rest = &declaration[memmem::find(declaration, b"encoding")? + b"encoding".len()..];
    let skip_blank = |bytes: &mut &[u8]| {
        let blank = bytes.iter().take_while(|&&b| b <= b' ').count();
        *bytes = &bytes[blank..];
    };
    skip_blank(&mut rest);
    rest = rest.strip_prefix(b"=")?;
    skip_blank(&mut rest);
    let (&quote, rest) = rest.split_first().filter(|(q, _)| matches!(q, b'"' | b'\''))?;
    let label = &rest[..memchr(quote, rest)?];
    if label.iter().any(|&b| b <= b' ') { None } else { Encoding::for_label(label).map(declared) }
}

/// A declaration that could be read byte by byte cannot be true if it says UTF-16.
fn declared(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16BE || encoding == UTF_16LE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    }
}

/// Looks for a `meta` element that declares an encoding (WHATWG "prescan a byte stream"). A body
/// that ends in the middle of a tag declares nothing.
fn prescan(head: &[u8]) -> Option<&'static Encoding> {
    let mut scan = Scan { bytes: head, at: 0 };
    loop {
        scan.at += memchr(b'<', scan.rest())?;
        let rest = scan.rest();
        if rest.starts_with(b"<!--") {
            // The dashes that open a comment may be those that close it.
            scan.at += 2 + memmem::find(&rest[2..], b"-->")? + 3;
        } else if is_meta(rest) {
            scan.at += b"<meta".len();
            if let Some(encoding) = scan.meta()? {
                return Some(encoding);
            }
        } else if is_tag(rest) {
            let name_end = rest.iter().position(|&b| is_space(b) || b == b'>')?;
            let name = rest[1..name_end].to_ascii_lowercase();
            scan.at += name_end;
            while scan.attribute()?.is_some() {}
            if scan.at > PRESCAN {
                scan.skip_raw(&name)?;
            }
        } else if matches!(rest.get(1)?, b'!' | b'/' | b'?') {
            scan.at += memchr(b'>', rest)? + 1;
        } else {
            scan.at += 1;
        }
    }
}

fn is_meta(rest: &[u8]) -> bool {
    rest.get(..5).is_some_and(|tag| tag.eq_ignore_ascii_case(b"<meta"))
        && rest.get(5).is_some_and(|&b| is_space(b) || b == b'/')
}

fn is_tag(rest: &[u8]) -> bool {
    let name = if rest.get(1) == Some(&b'/') { rest.get(2) } else { rest.get(1) };
    name.is_some_and(u8::is_ascii_alphabetic)
}

/// The white space of HTML.
fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0C | b'\r' | b' ')
}

/// A place in the bytes. Every method answers `None` when they end.
struct Scan<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Scan<'b> {
    fn rest(&self) -> &'b [u8] {
        &self.bytes[self.at.min(self.bytes.len())..]
    }

    fn here(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Moves on over bytes for which `skip` is true.
    fn pass(&mut self, skip: impl Fn(u8) -> bool) -> Option<u8> {
        while skip(self.here()?) {
            self.at += 1;
        }
        self.here()
    }

    /// Moves behind the end tag of an element whose content is no markup.
    fn skip_raw(&mut self, name: &[u8]) -> Option<()> {
        if !matches!(name, b"script" | b"style" | b"title" | b"textarea") {
            return Some(());
        }
        loop {
            self.at += memmem::find(self.rest(), b"</")? + 2;
            if self.rest().get(..name.len())?.eq_ignore_ascii_case(name) {
                return Some(());
            }
        }
    }

    /// Reads the attributes of a `meta` element; the inner answer is what it declares.
    fn meta(&mut self) -> Option<Option<&'static Encoding>> {
        let mut seen: Vec<Vec<u8>> = Vec::new();
        let mut is_pragma = false;
        // Whether the charset found counts only if `http-equiv` says so too.
        let mut needs_pragma = None;
        let mut charset: Option<Option<&'static Encoding>> = None;
        while let Some((name, value)) = self.attribute()? {
            if seen.contains(&name) || seen.len() > 64 {
                continue;
            }
            match &name[..] {
                b"http-equiv" => is_pragma |= value == b"content-type",
                b"content" if charset.is_none() => {
                    if let Some(encoding) = in_content(&value) {
                        charset = Some(Some(encoding));
                        needs_pragma = Some(true);
                    }
                }
                b"charset" => {
                    charset = Some(Encoding::for_label(&value));
                    needs_pragma = Some(false);
                }
                _ => {}
            }
            seen.push(name);
        }
        Some(match (needs_pragma, charset) {
            (Some(true), _) if !is_pragma => None,
            (Some(_), Some(Some(encoding))) => Some(declared(encoding)),
            _ => None,
        })
    }

    /// Reads one attribute, in lower case; the inner `None` is the end of the tag.
    fn attribute(&mut self) -> Option<Option<(Vec<u8>, Vec<u8>)>> {
        if self.pass(|b| is_space(b) || b == b'/')? == b'>' {
            return Some(None);
        }
        let start = self.at;
        let ends_name =
            |b: u8, first: bool| is_space(b) || matches!(b, b'/' | b'>') || (b == b'=' && !first);
        while !ends_name(self.here()?, self.at == start) {
            self.at += 1;
        }
        let name = self.bytes[start..self.at].to_ascii_lowercase();
        if self.pass(is_space)? != b'=' {
            return Some(Some((name, Vec::new())));
        }
        self.at += 1;
        let value = match self.pass(is_space)? {
            quote @ (b'"' | b'\'') => {
                self.at += 1;
                let length = memchr(quote, self.rest())?;
                let value = self.rest()[..length].to_ascii_lowercase();
                self.at += length + 1;
                value
            }
            b'>' => Vec::new(),
            _ => {
                let start = self.at;
                self.pass(|b| !is_space(b) && b != b'>')?;
                self.bytes[start..self.at].to_ascii_lowercase()
            }
        };
        Some(Some((name, value)))
    }
}

/// Returns the encoding named in the `content` of a `meta` element; `content` is in lower case.
fn in_content(content: &[u8]) -> Option<&'static Encoding> {
    let mut rest = content;
    loop {
        rest = &rest[memmem::find(rest, b"charset")? + b"charset".len()..];
        let after = trim_space(rest);
        let Some(value) = after.strip_prefix(b"=") else { continue };
        let value = trim_space(value);
        let label = match value.first()? {
            quote @ (b'"' | b'\'') => &value[1..1 + memchr(*quote, &value[1..])?],
            _ => {
                let end = value.iter().position(|&b| is_space(b) || b == b';');
                &value[..end.unwrap_or(value.len())]
            }
        };
        return Encoding::for_label(label);
    }
}

fn trim_space(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.iter().take_while(|&&b| is_space(b)).count()..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content_type: Option<&str>, body: &[u8], want: &str) {
        assert_eq!(decode(body, content_type, None, 4096).1.name(), want);
    }

    #[test]
    fn a_byte_order_mark_beats_all() {
        check(Some("text/html; charset=koi8-r"), b"\xEF\xBB\xBF<meta charset=big5>", "UTF-8");
        check(None, b"\xFF\xFE<\0a\0", "UTF-16LE");
        check(None, b"\xFE\xFF\0<\0a", "UTF-16BE");
    }

    #[test]
    fn the_header_beats_the_page() {
        let page = b"<meta charset=big5>";
        check(Some("text/html; charset=KOI8-R"), page, "KOI8-R");
        check(Some("text/html;a=b; Charset = \"utf-8\" ;c"), page, "UTF-8");
        check(Some("text/html; charset='gbk'"), page, "GBK");
        check(Some("text/html; charset="), page, "Big5");
        check(Some("text/html; charset=nonsense"), page, "Big5");
        check(Some("text/html"), page, "Big5");
    }

    #[test]
    fn a_meta_element_declares_it() {
        check(
            None,
            b"<meta http-equiv=Content-Type content='text/html; charset=euc-jp'>",
            "EUC-JP",
        );
        check(None, b"<meta content='text/html; charset=euc-jp'>", "windows-1252");
        check(None, b"<!--<meta charset=big5>--><meta charset=gbk>", "GBK");
        check(None, b"<!--><meta charset=big5>", "Big5");
        check(None, b"<p title='<meta charset=big5>'><meta charset=gbk>", "GBK");
        check(None, b"<meta charset=utf-16le>", "UTF-8");
        check(None, b"<meta charset=x-user-defined>", "windows-1252");
        check(None, b"<meta charset=big5", "windows-1252");
        check(None, b"<meta charset=gbk charset=big5>", "GBK");
    }

    #[test]
    fn a_late_declaration_counts_but_not_one_inside_a_late_script() {
        let filler = b"<!--".iter().copied().chain([b'x'; 2000]).chain(*b"-->");
        let mut page: Vec<u8> = filler.collect();
        page.extend(b"<script>'<meta charset=big5>'</script>");
        check(None, &page, "windows-1252");
        page.extend(b"<meta charset=gbk>");
        check(None, &page, "GBK");
    }

    #[test]
    fn an_xml_declaration_is_the_last_declaration() {
        check(None, b"<?xml version='1.0' encoding='iso-8859-2'?><html>", "ISO-8859-2");
        check(None, b"<?xml encoding='big5'?><meta charset=gbk>", "GBK");
        check(None, b" <?xml encoding='big5'?>", "windows-1252");
    }

    #[test]
    fn what_nobody_declares_is_guessed() {
        check(None, b"<p>plain", "windows-1252");
        check(None, "<p>Grüße".as_bytes(), "UTF-8");
        check(None, b"<p>Gr\xFC\xDFe aus M\xFCnchen", "windows-1252");
        let russian = encoding_rs::WINDOWS_1251.encode("Привет, это простая страница").0;
        check(None, &russian, "windows-1251");
        let japanese = encoding_rs::ISO_2022_JP.encode("こんにちは、世界").0;
        check(None, &japanese, "ISO-2022-JP");
    }

    #[test]
    fn utf_16_shows_without_a_mark() {
        let little: Vec<u8> = "<html><p>Grüße".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = "<html><p>Grüße".encode_utf16().flat_map(u16::to_be_bytes).collect();
        check(None, &little, "UTF-16LE");
        check(None, &big, "UTF-16BE");
        assert_eq!(decode(&big, None, None, 0).0, "<html><p>Grüße");
    }
}
