//! The tokens of an HTML document: start tags, end tags and text, in order (WHATWG HTML §13.2.5).
//!
//! Every token is a slice of the document; nothing is copied or decoded. Comments, document types
//! and what is broken are passed over as the standard says. Which names are of SVG and MathML, and
//! so whether `title` or `script` begins raw text, is followed as a tree builder would
//! (§13.2.6.5), but for misnested tables and forms: they change no namespace.
//!
//! Why not a library: the fastest one that finds the same links (`lol_html`) took longer than all
//! that is read from its tokens, for it matches selectors and can rewrite, which nobody here wants.
//! What this one must find is what a whole tree finds (`tests/extract.rs`).

use memchr::{memchr, memchr2, memmem};

use super::page_links::Namespace;

/// Attributes looked at per tag; what stands behind them is passed over.
const ATTRIBUTES_MAX: usize = 256;

/// Foreign elements within each other that are followed; no honest page has ten.
const FOREIGN_MAX: usize = 512;

/// What kind of text stands between two tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    /// With character references.
    Data,
    /// The content of `title` and `textarea`: character references, but no tags.
    RcData,
    /// The content of `style`, `xmp`, `iframe`, `noembed` and `noframes`.
    Raw,
    /// The content of `script`.
    Script,
    /// As it stands.
    Plain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'d> {
    Start {
        /// As written.
        name: &'d str,
        namespace: Namespace,
        /// False if the element is over with its start tag.
        has_content: bool,
    },
    /// The name of an end tag, as written.
    End(&'d str),
    Text(&'d str, TextKind),
}

/// Names and values of the attributes of one start tag as written, in order.
pub(super) type Found<'d> = Vec<(&'d str, &'d str)>;

/// Reads a document front to back.
pub(super) struct Tokens<'d> {
    document: &'d str,
    at: usize,
    /// The element whose content is no markup, and what it is.
    raw: Option<(&'d str, TextKind)>,
    /// The namespaces that are open, HTML below all of them left out.
    namespaces: Vec<Namespace>,
}

impl<'d> Tokens<'d> {
    pub(super) fn new(document: &'d str) -> Self {
        Tokens { document, at: 0, raw: None, namespaces: Vec::new() }
    }

    /// Returns the next token; of a start tag the attributes are put into `attributes`.
    pub(super) fn next(&mut self, attributes: &mut Found<'d>) -> Option<Token<'d>> {
        if let Some((name, kind)) = self.raw.take() {
            let end = self.end_of_raw(name, kind);
            let text = &self.document[self.at..end];
            self.at = end;
            if !text.is_empty() {
                return Some(Token::Text(text, kind));
            }
        }
        while self.at < self.document.len() {
            let start = self.at;
            self.at = self.next_markup(start);
            if self.at > start {
                return Some(Token::Text(&self.document[start..self.at], TextKind::Data));
            }
            if let Some(token) = self.markup(attributes) {
                return Some(token);
            }
        }
        None
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.document.as_bytes().get(at).copied()
    }

    fn rest(&self) -> &'d [u8] {
        &self.document.as_bytes()[self.at..]
    }

    /// Returns where the next tag, comment or the like begins; a `<` before anything else is text.
    fn next_markup(&self, from: usize) -> usize {
        let bytes = self.document.as_bytes();
        let mut at = from;
        while let Some(found) = memchr(b'<', &bytes[at..]) {
            at += found;
            match bytes.get(at + 1) {
                Some(b'/') if at + 2 < bytes.len() => return at,
                Some(b'!' | b'?') => return at,
                Some(byte) if byte.is_ascii_alphabetic() => return at,
                _ => at += 1,
            }
        }
        bytes.len()
    }

    /// Reads what begins with the `<` here; `None` if it is none of the three tokens.
    fn markup(&mut self, attributes: &mut Found<'d>) -> Option<Token<'d>> {
        let bytes = self.document.as_bytes();
        match bytes[self.at + 1] {
            b'/' => match bytes[self.at + 2] {
                byte if byte.is_ascii_alphabetic() => self.end_tag(attributes),
                _ => self.skip_tag(self.at + 2),
            },
            b'!' if self.rest().starts_with(b"<!--") => {
                self.comment();
                None
            }
            b'!' if self.rest().starts_with(b"<![CDATA[") && !self.namespaces.is_empty() => {
                self.at += "<![CDATA[".len();
                let end = memmem::find(self.rest(), b"]]>").map_or(bytes.len(), |n| self.at + n);
                let text = &self.document[self.at..end];
                self.at = (end + 3).min(bytes.len());
                (!text.is_empty()).then_some(Token::Text(text, TextKind::Plain))
            }
            b'!' | b'?' => self.skip_tag(self.at + 1),
            _ => self.start_tag(attributes),
        }
    }

    /// Passes over everything up to the next `>`.
    fn skip_tag(&mut self, from: usize) -> Option<Token<'d>> {
        let bytes = self.document.as_bytes();
        self.at = memchr(b'>', &bytes[from..]).map_or(bytes.len(), |found| from + found + 1);
        None
    }

    /// Passes over a comment, which `-->` and `--!>` end, and `>` at its very beginning too.
    fn comment(&mut self) {
        let bytes = self.document.as_bytes();
        self.at += "<!--".len();
        if self.rest().starts_with(b">") || self.rest().starts_with(b"->") {
            self.skip_tag(self.at);
            return;
        }
        while let Some(found) = memmem::find(self.rest(), b"--") {
            self.at += found;
            match (self.byte(self.at + 2), self.byte(self.at + 3)) {
                (Some(b'>'), _) => return self.at += 3,
                (Some(b'!'), Some(b'>')) => return self.at += 4,
                _ => self.at += 1,
            }
        }
        self.at = bytes.len();
    }

    /// Reads the name that begins here.
    fn name(&mut self, from: usize) -> &'d str {
        let rest = &self.document.as_bytes()[from..];
        let length = rest.iter().position(|byte| ends_name(*byte)).unwrap_or(rest.len());
        self.at = from + length;
        &self.document[from..from + length]
    }

    fn end_tag(&mut self, attributes: &mut Found<'d>) -> Option<Token<'d>> {
        let name = self.name(self.at + 2);
        self.attributes(attributes)?;
        self.leave(name);
        Some(Token::End(name))
    }

    fn start_tag(&mut self, attributes: &mut Found<'d>) -> Option<Token<'d>> {
        let name = self.name(self.at + 1);
        let is_self_closing = self.attributes(attributes)?;
        let within = self.namespace();
        let namespace = self.enter(name, is_self_closing, attributes);
        let has_content = match namespace {
            Namespace::Html => !is_void(name),
            Namespace::Svg | Namespace::MathMl => !is_self_closing,
        };
        if within == Namespace::Html && namespace == Namespace::Html {
            self.raw = raw_kind(name).map(|kind| (name, kind));
        }
        Some(Token::Start { name, namespace, has_content })
    }

    /// Reads attributes up to the end of the tag; returns whether it closes itself, or `None` if
    /// the document ends first: then there is no tag.
    fn attributes(&mut self, found: &mut Found<'d>) -> Option<bool> {
        found.clear();
        let mut closes_itself = false;
        while let Some(byte) = self.byte(self.at) {
            if byte == b'>' {
                self.at += 1;
                return Some(closes_itself);
            }
            closes_itself = byte == b'/';
            if closes_itself || is_space(byte) {
                self.at += 1;
                continue;
            }
            let Some(attribute) = self.attribute() else { break };
            if found.len() < ATTRIBUTES_MAX {
                found.push(attribute);
            }
        }
        self.at = self.document.len();
        None
    }

    fn attribute(&mut self) -> Option<(&'d str, &'d str)> {
        let bytes = self.document.as_bytes();
        let start = self.at;
        // An equals sign at the very beginning belongs to the name.
        let ends = |byte: &u8| ends_name(*byte) || *byte == b'=';
        self.at = start + 1 + bytes[start + 1..].iter().position(ends)?;
        let name = &self.document[start..self.at];
        self.skip_spaces();
        if self.byte(self.at)? != b'=' {
            return Some((name, ""));
        }
        self.at += 1;
        self.skip_spaces();
        let value = match self.byte(self.at)? {
            quote @ (b'"' | b'\'') => {
                let from = self.at + 1;
                let end = from + memchr(quote, &bytes[from..])?;
                self.at = end + 1;
                &self.document[from..end]
            }
            b'>' => "",
            _ => {
                let from = self.at;
                let ends = |byte: &u8| is_space(*byte) || *byte == b'>';
                self.at = from + bytes[from..].iter().position(ends)?;
                &self.document[from..self.at]
            }
        };
        Some((name, value))
    }

    fn skip_spaces(&mut self) {
        self.at += self.rest().iter().take_while(|byte| is_space(**byte)).count();
    }

    /// Returns where the content of `name` ends: before its end tag, or with the document.
    fn end_of_raw(&self, name: &str, kind: TextKind) -> usize {
        let bytes = self.document.as_bytes();
        match kind {
            TextKind::Plain | TextKind::Data => bytes.len(),
            TextKind::Script => end_of_script(bytes, self.at),
            TextKind::RcData | TextKind::Raw => {
                let mut at = self.at;
                while let Some(found) = memchr(b'<', &bytes[at..]) {
                    at += found;
                    if is_tag(&bytes[at..], "</", name) {
                        return at;
                    }
                    at += 1;
                }
                bytes.len()
            }
        }
    }

    fn namespace(&self) -> Namespace {
        self.namespaces.last().copied().unwrap_or(Namespace::Html)
    }

    /// Follows a start tag into or out of foreign content; returns the namespace of its element.
    fn enter(&mut self, name: &str, is_self_closing: bool, attributes: &Found<'d>) -> Namespace {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        match self.namespace() {
            Namespace::Html if is("svg") => self.push(Namespace::Svg, is_self_closing),
            Namespace::Html if is("math") => self.push(Namespace::MathMl, is_self_closing),
            Namespace::Html => Namespace::Html,
            _ if ends_foreign(name, attributes) => {
                while self.namespace() != Namespace::Html {
                    self.namespaces.pop();
                }
                Namespace::Html
            }
            Namespace::Svg if holds_html_in_svg(name) => {
                self.push(Namespace::Html, is_self_closing)
            }
            Namespace::MathMl if holds_html_in_math(name) && is_html(name, attributes) => {
                self.push(Namespace::Html, is_self_closing)
            }
            foreign => foreign,
        }
    }

    fn push(&mut self, namespace: Namespace, is_self_closing: bool) -> Namespace {
        if !is_self_closing && self.namespaces.len() < FOREIGN_MAX {
            self.namespaces.push(namespace);
        }
        namespace
    }

    fn leave(&mut self, name: &str) {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        let below = self.namespaces.len().checked_sub(2).map(|at| self.namespaces[at]);
        let leaves = match (self.namespaces.last(), below) {
            (Some(Namespace::Svg), _) => is("svg") || is("p") || is("br"),
            (Some(Namespace::MathMl), _) => is("math") || is("p") || is("br"),
            (Some(Namespace::Html), Some(Namespace::Svg)) => holds_html_in_svg(name),
            (Some(Namespace::Html), Some(Namespace::MathMl)) => holds_html_in_math(name),
            _ => false,
        };
        if leaves {
            self.namespaces.pop();
        }
    }
}

/// Returns where a script ends (§13.2.5.15 and the states behind it): a comment in it that speaks
/// of scripts hides their end tags.
fn end_of_script(bytes: &[u8], from: usize) -> usize {
    #[derive(PartialEq)]
    enum In {
        Script,
        Comment,
        ScriptInComment,
    }
    let (mut at, mut place) = (from, In::Script);
    while let Some(found) = memchr2(b'<', b'-', &bytes[at..]) {
        at += found;
        let rest = &bytes[at..];
        if place != In::Script && rest.starts_with(b"-->") {
            place = In::Script;
        } else if place == In::Script && rest.starts_with(b"<!--") {
            place = In::Comment;
            // Its dashes may be those of its end.
            at += 1;
        } else if is_tag(rest, "</", "script") {
            if place != In::ScriptInComment {
                return at;
            }
            place = In::Comment;
        } else if place == In::Comment && is_tag(rest, "<", "script") {
            place = In::ScriptInComment;
        }
        at += 1;
    }
    bytes.len()
}

/// Whether a tag of this name begins here, in any case of letters.
fn is_tag(rest: &[u8], opening: &str, name: &str) -> bool {
    let Some(rest) = rest.strip_prefix(opening.as_bytes()) else { return false };
    let is_name = rest.get(..name.len()).is_some_and(|n| n.eq_ignore_ascii_case(name.as_bytes()));
    is_name && rest.get(name.len()).is_some_and(|byte| ends_name(*byte))
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | 0x0C)
}

fn ends_name(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b'/' | b'>')
}

fn is_any_of(name: &str, names: &[&str]) -> bool {
    names.iter().any(|other| name.eq_ignore_ascii_case(other))
}

fn is_void(name: &str) -> bool {
    const VOID: [&str; 18] = [
        "br", "img", "input", "link", "meta", "hr", "source", "wbr", "area", "base", "col",
        "embed", "param", "track", "frame", "basefont", "bgsound", "keygen",
    ];
    name.len() <= 8 && is_any_of(name, &VOID)
}

/// Returns what the content of an element of HTML is, if it is no markup.
fn raw_kind(name: &str) -> Option<TextKind> {
    const RAW: [&str; 5] = ["style", "iframe", "xmp", "noembed", "noframes"];
    match name.as_bytes()[0].to_ascii_lowercase() {
        b's' if name.eq_ignore_ascii_case("script") => Some(TextKind::Script),
        b't' if is_any_of(name, &["title", "textarea"]) => Some(TextKind::RcData),
        b'p' if name.eq_ignore_ascii_case("plaintext") => Some(TextKind::Plain),
        b's' | b'i' | b'x' | b'n' if is_any_of(name, &RAW) => Some(TextKind::Raw),
        _ => None,
    }
}

fn holds_html_in_svg(name: &str) -> bool {
    is_any_of(name, &["foreignobject", "title", "desc"])
}

fn holds_html_in_math(name: &str) -> bool {
    is_any_of(name, &["mi", "mo", "mn", "ms", "mtext", "annotation-xml"])
}

/// An annotation holds HTML only if it says so.
fn is_html(name: &str, attributes: &[(&str, &str)]) -> bool {
    let says_so = |(name, value): &(&str, &str)| {
        name.eq_ignore_ascii_case("encoding")
            && is_any_of(value, &["text/html", "application/xhtml+xml"])
    };
    !name.eq_ignore_ascii_case("annotation-xml") || attributes.iter().any(says_so)
}

/// Whether a start tag within foreign content ends it (§13.2.6.5).
fn ends_foreign(name: &str, attributes: &[(&str, &str)]) -> bool {
    const ENDING: [&str; 44] = [
        "b",
        "big",
        "blockquote",
        "body",
        "br",
        "center",
        "code",
        "dd",
        "div",
        "dl",
        "dt",
        "em",
        "embed",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "head",
        "hr",
        "i",
        "img",
        "li",
        "listing",
        "menu",
        "meta",
        "nobr",
        "ol",
        "p",
        "pre",
        "ruby",
        "s",
        "small",
        "span",
        "strong",
        "strike",
        "sub",
        "sup",
        "table",
        "tt",
        "u",
        "ul",
        "var",
    ];
    let shows = |(name, _): &(&str, &str)| is_any_of(name, &["color", "face", "size"]);
    is_any_of(name, &ENDING) || name.eq_ignore_ascii_case("font") && attributes.iter().any(shows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the tokens of a document: tags with their attributes, text in brackets.
    #[track_caller]
    fn check(document: &str, want: &[&str]) {
        let (mut tokens, mut attributes) = (Tokens::new(document), Vec::new());
        let mut found = Vec::new();
        while let Some(token) = tokens.next(&mut attributes) {
            found.push(match token {
                Token::Start { name, has_content, .. } => {
                    let all = attributes.iter().map(|(name, value)| format!(" {name}={value}"));
                    let end = if has_content { "" } else { "/" };
                    format!("<{name}{}{end}>", all.collect::<String>())
                }
                Token::End(name) => format!("</{name}>"),
                Token::Text(text, _) => format!("[{text}]"),
            });
        }
        assert_eq!(found, want, "{document}");
    }

    #[test]
    fn attributes_may_be_quoted_or_not_and_stand_without_values() {
        check("<p a b=1 c='2>' d = \"3\"e=f/>", &["<p a= b=1 c=2> d=3 e=f/>"]);
        check("<br/><img src=x/>", &["<br/>", "<img src=x//>"]);
        check("<p =a==b / c=>d", &["<p =a==b c=>", "[d]"]);
    }

    #[test]
    fn what_only_looks_like_a_tag_is_text_or_nothing() {
        check("a < b <3 </", &["[a < b <3 </]"]);
        check("a</>b</ p>c<?x>d<!y>e", &["[a]", "[b]", "[c]", "[d]", "[e]"]);
        check("a<p b='c", &["[a]"]);
        check("a<p", &["[a]"]);
    }

    #[test]
    fn comments_end_where_the_standard_says() {
        check("<!-->a<!--->b<!-- --!>c<!-- -- > -->d<!--e", &["[a]", "[b]", "[c]", "[d]"]);
        check("<!----->a", &["[a]"]);
    }

    #[test]
    fn raw_text_lasts_to_its_own_end_tag() {
        check("<title><b></titles></TITLE ><b>", &["<title>", "[<b></titles>]", "</TITLE>", "<b>"]);
        check("<style></p></style>", &["<style>", "[</p>]", "</style>"]);
        check("<script></script>a", &["<script>", "</script>", "[a]"]);
        check("<plaintext></plaintext>", &["<plaintext>", "[</plaintext>]"]);
    }

    #[test]
    fn a_comment_in_a_script_hides_the_end_tags_of_scripts_that_it_begins() {
        check(
            "<script><!--<script></script>--></script>a",
            &["<script>", "[<!--<script></script>-->]", "</script>", "[a]"],
        );
        check("<script><!--</script>a", &["<script>", "[<!--]", "</script>", "[a]"]);
        check(
            "<script><!--><script></script>a",
            &["<script>", "[<!--><script>]", "</script>", "[a]"],
        );
    }

    #[test]
    fn foreign_content_has_sections_of_characters_and_no_raw_text() {
        check(
            "<svg><style><a/></style><![CDATA[<b>]]></svg><![CDATA[c]]>",
            &["<svg>", "<style>", "<a/>", "</style>", "[<b>]", "</svg>"],
        );
        check("<svg><p><style><i></style>", &["<svg>", "<p>", "<style>", "[<i>]", "</style>"]);
        check(
            "<svg><foreignObject><title><i></title></foreignObject><title><i>",
            &[
                "<svg>",
                "<foreignObject>",
                "<title>",
                "[<i>]",
                "</title>",
                "</foreignObject>",
                "<title>",
                "<i>",
            ],
        );
    }
}
