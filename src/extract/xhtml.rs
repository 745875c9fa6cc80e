//! XHTML for a tokenizer of HTML, which passes over the `/` of `<script src="x"/>` and looks for the
//! end tag: every element that ends where it begins gets one.

use std::borrow::Cow;

use memchr::memchr;
use memchr::memmem::find;

use super::element::is_void;

/// Elements in which the tokenizer knows no tags but the one that ends them.
const RAW: [&str; 8] =
    ["iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp"];

/// Adds the end tags. No document grows to more than twice its length by it.
pub(super) fn with_end_tags(document: Cow<'_, str>) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = memchr(b'<', &document.as_bytes()[at..]) {
        let start = at + found;
        let markup = &document[start..];
        let Some(length) = length_of(markup) else { break };
        at = start + length;
        let name = tag_name(&markup[..length]);
        if !markup[1..].starts_with(|c: char| c.is_ascii_alphabetic()) || is_void(&name) {
            continue;
        }
        if markup[..length].ends_with("/>") {
            out.push_str(&document[copied..at]);
            out.extend(["</", &name, ">"]);
            copied = at;
        } else if RAW.contains(&&*name) {
            let end = find(&document.as_bytes()[at..], format!("</{name}").as_bytes());
            let Some(end) = end else { break };
            at += end;
        }
    }
    if copied == 0 {
        return document;
    }
    out.push_str(&document[copied..]);
    Cow::Owned(out)
}

/// Returns the name in a start tag, in lower case.
fn tag_name(tag: &str) -> Cow<'_, str> {
    let name = tag.strip_prefix('<').unwrap_or(tag);
    let is_end = |b: u8| matches!(b, b'\t' | b'\n' | 0x0C | b'\r' | b' ' | b'/' | b'>');
    let end = name.bytes().position(is_end).unwrap_or(name.len());
    let name = &name[..end];
    if name.bytes().any(|b| b.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

/// Returns the length of the tag, comment, section or instruction that a text begins with; none if
/// it breaks off.
fn length_of(markup: &str) -> Option<usize> {
    const ENDS: [(&str, &str); 4] =
        [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")];
    if let Some((_, end)) = ENDS.iter().find(|(start, _)| markup.starts_with(start)) {
        return find(markup.as_bytes(), end.as_bytes()).map(|at| at + end.len());
    }
    let is_tag = markup[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    if is_tag { tag_length(markup.as_bytes()) } else { Some(1) }
}

/// Returns the length of a tag: a `>` in quotes does not end it.
fn tag_length(markup: &[u8]) -> Option<usize> {
    let mut quote = None;
    for (at, &byte) in markup.iter().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if open == byte => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'>') => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(document: &str, want: &str) {
        let found = with_end_tags(Cow::Borrowed(document));
        assert_eq!(found, want, "{document}");
        assert!(found.len() <= 2 * document.len());
    }

    #[test]
    fn what_ends_where_it_begins_gets_an_end_tag() {
        check("<a/>", "<a/></a>");
        check("<p x='/>'/>é<br/><img />", "<p x='/>'/></p>é<br/><img />");
        check("<script>'<b/>'</script><b />", "<script>'<b/>'</script><b /></b>");
        check("1 < 2, that's <a/>", "1 < 2, that's <a/></a>");
        let none = "<!-- <a/> --><![CDATA[<a/>]]><?x <a/>?></a/>";
        check(none, none);
    }

    #[test]
    fn what_breaks_off_stays_as_it_is() {
        for document in ["", "<", "</", "<a", "<a x='/>", "<!--", "<![CDATA[<a/>", "<script><a/>"] {
            check(document, document);
        }
    }
}
