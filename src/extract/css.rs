//! URLs in style sheets, style elements and style attributes (CSS Syntax Level 3).

use cssparser::{ParseError, Parser, Token};
use memchr::memmem;

use super::facts::LinkKind;

/// How deep blocks and functions may nest; no real sheet goes beyond ten.
const DEPTH_MAX: u32 = 32;

/// Calls `found` with every reference of a style sheet or declaration list: `url()`, `src()`,
/// strings of `image-set()`, `@import`. Namespaces are names, not references.
pub(super) fn references(css: &str, found: &mut dyn FnMut(LinkKind, &str)) {
    if !may_refer(css.as_bytes()) {
        return;
    }
    Walk { found, statement: Statement::Plain }.block(&mut Parser::new(css), 0, false);
}

/// Spares the tokenizer for the many sheets and attributes that refer to nothing. A backslash may
/// hide any letter.
fn may_refer(css: &[u8]) -> bool {
    memmem::find(css, b"(").is_some() && {
        let lower =
            |needle: &[u8]| css.windows(needle.len()).any(|w| w.eq_ignore_ascii_case(needle));
        lower(b"url(")
            || lower(b"src(")
            || lower(b"image-set(")
            || memchr::memchr(b'\\', css).is_some()
    } || memchr::memchr(b'@', css).is_some()
}

/// What a string or URL means at this place.
#[derive(Clone, Copy, PartialEq)]
enum Statement {
    Plain,
    Import,
    Namespace,
}

struct Walk<'f> {
    found: &'f mut dyn FnMut(LinkKind, &str),
    statement: Statement,
}

impl Walk<'_> {
    /// Reads one block or function to its end; `strings` tells whether bare strings are URLs.
    fn block(&mut self, parser: &mut Parser<'_>, depth: u32, strings: bool) {
        // A block that is not entered is skipped whole by the next call.
        while let Ok(token) = parser.next() {
            let inner_strings = match token.clone() {
                Token::AtKeyword(name) => {
                    self.statement = match &name {
                        n if n.eq_ignore_ascii_case("import") => Statement::Import,
                        n if n.eq_ignore_ascii_case("namespace") => Statement::Namespace,
                        _ => Statement::Plain,
                    };
                    continue;
                }
                Token::Semicolon => {
                    self.statement = Statement::Plain;
                    continue;
                }
                Token::UnquotedUrl(url) => {
                    self.url(&url);
                    continue;
                }
                Token::QuotedString(text) => {
                    if strings || self.statement == Statement::Import {
                        self.url(&text);
                    }
                    continue;
                }
                Token::CurlyBracketBlock => {
                    self.statement = Statement::Plain;
                    false
                }
                Token::Function(name) => {
                    ["url", "src", "image-set", "-webkit-image-set", "cross-fade"]
                        .iter()
                        .any(|known| name.eq_ignore_ascii_case(known))
                }
                Token::ParenthesisBlock | Token::SquareBracketBlock => false,
                _ => continue,
            };
            if depth < DEPTH_MAX {
                let _ = parser.parse_nested_block(|inner| {
                    self.block(inner, depth + 1, inner_strings);
                    Ok::<(), ParseError<()>>(())
                });
            }
        }
    }

    fn url(&mut self, url: &str) {
        let statement = std::mem::replace(&mut self.statement, Statement::Plain);
        let kind = match statement {
            Statement::Plain => LinkKind::CssUrl,
            Statement::Import => LinkKind::CssImport,
            Statement::Namespace => return,
        };
        // A fragment alone points into the document itself.
        if !url.is_empty() && !url.starts_with('#') {
            (self.found)(kind, url);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(css: &str, want: &[(LinkKind, &str)]) {
        let mut found = Vec::new();
        references(css, &mut |kind, url| found.push((kind, url.to_owned())));
        let want: Vec<_> = want.iter().map(|(kind, url)| (*kind, (*url).to_owned())).collect();
        assert_eq!(found, want, "{css}");
    }

    #[test]
    fn references_are_found_wherever_they_stand() {
        use LinkKind::{CssImport, CssUrl};
        check(
            "@import 'a.css'; @import url(b.css) print;",
            &[(CssImport, "a.css"), (CssImport, "b.css")],
        );
        check("@media screen { p { background: URL( 'a b.png' ) } }", &[(CssUrl, "a b.png")]);
        check("background:u\\72l(a.png)", &[(CssUrl, "a.png")]);
        check("a{b:image-set('x.png' 1x, url(y.png) 2x)}", &[(CssUrl, "x.png"), (CssUrl, "y.png")]);
        check("@font-face{src:local('No'),url(f.woff2) format('woff2')}", &[(CssUrl, "f.woff2")]);
        check("a{b:url(a\\)b)}", &[(CssUrl, "a)b")]);
    }

    #[test]
    fn comments_strings_namespaces_and_fragments_are_none() {
        check("/* url(a) */ a{content:'url(b)'; fill:url(#c)}", &[]);
        check(
            "@namespace url(http://www.w3.org/1999/xhtml); a{b:url(c)}",
            &[(LinkKind::CssUrl, "c")],
        );
        check("@charset 'utf-8'; p{color:red}", &[]);
    }

    #[test]
    fn nesting_is_bounded() {
        check(&"a{(".repeat(100_000), &[]);
        check(&format!("{}url(x){}", "{".repeat(20), "}".repeat(20)), &[(LinkKind::CssUrl, "x")]);
    }
}
