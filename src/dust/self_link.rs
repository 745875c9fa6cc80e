//! Links that lead back to the page they stand on: each post of a topic has an address of its own,
//! and shows the topic.
//!
//! No rewriting of `/viewtopic.php?p=1326` says which topic it is. The page on which the link was
//! found does: what holds for links of one form on pages of another one is learned like any rule,
//! and what stands for such a link is the page itself.

use super::rule::{RuleKind, Scope};
use crate::url::{CrawlUrl, query};

/// Longest form; what is longer is told from others by more than a form can say.
const FORM_BYTES_MAX: usize = 256;

/// Longest piece of a URL that is taken for a word of its site, and not for the name of an item.
const WORD_BYTES_MAX: usize = 16;

/// Longest word before the number of an item, as in `msg123`.
const PREFIX_BYTES_MAX: usize = 8;

/// A number, whatever it is; a name, whatever it is; and either, where the page has it too.
const NUMBER: &str = "<n>";
const ANY: &str = "<any>";
const SAME: &str = "<same>";

/// Signs that stand between the pieces of a URL.
const SIGNS: &[char] = &['/', '?', '&', ';', '=', '.', ',', ':'];

/// Links of one form that led back to the pages they were found on.
#[derive(Debug)]
pub(crate) struct LedBack {
    /// What would say so of all of them.
    pub(crate) rule: RuleKind,
    pub(crate) scope: Scope,
    /// How many pages there were.
    pub(crate) pages: u32,
    /// One of the links, and its page.
    pub(crate) link: CrawlUrl,
    pub(crate) page: CrawlUrl,
}

/// Returns the form of a page's address: numbers and names of items are left open. `None` where it
/// is too long to be one.
pub(crate) fn form_of_page(page: &CrawlUrl) -> Option<String> {
    form(page.path_and_query(), |_| false)
}

/// Returns the form of a link as it is seen from the page that it stands on: what that has in its
/// own address is the same. `None` where it is too long to be one.
pub(crate) fn form_of_link(link: &CrawlUrl, page: &CrawlUrl) -> Option<String> {
    let page = page.path_and_query();
    form(link.path_and_query(), |part| {
        let mut pieces = page.split(SIGNS);
        pieces.any(|piece| piece == part || with_number(piece).is_some_and(|(_, n)| n == part))
    })
}

/// Returns true where the address of a link seems to say itself which page it is, so that a rule
/// that rewrites addresses may say as much: it has all numbers and names that the page has, and
/// none more in its path; or the same path, in which there are some; or none that the page has not,
/// and the same path but for these, or one above it or below; or it is a page of the same form, and
/// shares some. A name that is the value of one parameter in both, as a session is, says nothing.
pub(crate) fn names_page(link: &CrawlUrl, page: &CrawlUrl) -> bool {
    let (of_page, of_link) = (open(page), open(link));
    let is_in = |of: &Open<'_>, all: &[Open<'_>]| all.iter().any(|known| known.text == of.text);
    let lacks_none = of_page.iter().all(|of| is_in(of, &of_link) || of.is_exchanged(&of_link));
    let is_new = |of: &Open<'_>| !is_in(of, &of_page) && !of.is_exchanged(&of_page);
    let has_none_new = !of_link.iter().any(&is_new);
    let has_none_new_in_path = !of_link.iter().any(|of| of.parameter.is_none() && is_new(of));
    if lacks_none && has_none_new_in_path {
        return true;
    }
    if link.path() == page.path() && of_page.iter().any(|of| of.parameter.is_none()) {
        return true;
    }
    let is_alike = |one: &str, other: &str| form(one, |_| false) == form(other, |_| false);
    let is_below = |one: &str, other: &str| {
        one.strip_prefix(other.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
    };
    let (own, theirs) = (link.path(), page.path());
    let is_like_it = is_alike(own, theirs) || is_below(own, theirs) || is_below(theirs, own);
    if has_none_new && is_like_it {
        return true;
    }
    let shares =
        of_link.iter().any(|of| (of.is_number || of.parameter.is_none()) && is_in(of, &of_page));
    shares && is_alike(link.path_and_query(), page.path_and_query())
}

/// A number or a name that a form leaves open.
struct Open<'a> {
    text: &'a str,
    is_number: bool,
    /// The parameter whose value it is a part of, if it is not of the path.
    parameter: Option<&'a str>,
}

impl Open<'_> {
    /// Returns true for a name that is the value of a parameter which has another one there.
    fn is_exchanged(&self, there: &[Open<'_>]) -> bool {
        let is_name = |of: &Open<'_>| !of.is_number && of.parameter.is_some();
        is_name(self) && there.iter().any(|of| is_name(of) && of.parameter == self.parameter)
    }
}

fn open(url: &CrawlUrl) -> Vec<Open<'_>> {
    let query = url.as_url().query().unwrap_or_default();
    let values = query::parameters(query).map(|part| {
        let name = query::name_of(part);
        (part.get(name.len() + 1..).unwrap_or_default(), Some(name))
    });
    let texts = std::iter::once((url.path(), None)).chain(values);
    let pieces =
        texts.flat_map(|(text, parameter)| text.split(SIGNS).map(move |part| (part, parameter)));
    pieces
        .filter_map(|(part, parameter)| {
            let (_, text, is_number) = left_open(part)?;
            Some(Open { text, is_number, parameter })
        })
        .collect()
}

fn form(tail: &str, has_page: impl Fn(&str) -> bool) -> Option<String> {
    let mut out = String::with_capacity(tail.len());
    for piece in tail.split_inclusive(SIGNS) {
        let part = piece.trim_end_matches(SIGNS);
        match left_open(part) {
            None => out.push_str(part),
            Some((prefix, text, is_number)) => {
                out.push_str(prefix);
                out.push_str(match (has_page(text), is_number) {
                    (true, _) => SAME,
                    (false, true) => NUMBER,
                    (false, false) => ANY,
                });
            }
        }
        out.push_str(&piece[part.len()..]);
        if out.len() > FORM_BYTES_MAX {
            return None;
        }
    }
    Some(out)
}

/// Returns what a form leaves open of a piece, after the short word before it, and whether that is
/// a number; `None` for a word of the site.
fn left_open(part: &str) -> Option<(&str, &str, bool)> {
    match with_number(part) {
        Some((prefix, number)) => Some((prefix, number, true)),
        None => (!is_word(part)).then_some(("", part, false)),
    }
}

/// Returns a number and the short word before it, which may be none.
fn with_number(part: &str) -> Option<(&str, &str)> {
    let at = part.find(|c: char| c.is_ascii_digit())?;
    let (prefix, number) = part.split_at(at);
    let is_prefix = prefix.len() <= PREFIX_BYTES_MAX
        && prefix.bytes().all(|b| b.is_ascii_alphabetic() || b"-_".contains(&b));
    (is_prefix && number.bytes().all(|b| b.is_ascii_digit())).then_some((prefix, number))
}

fn is_word(part: &str) -> bool {
    part.len() <= WORD_BYTES_MAX && part.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(tail: &str) -> CrawlUrl {
        CrawlUrl::parse(&format!("http://forum.example{tail}")).unwrap()
    }

    #[test]
    fn a_page_has_the_form_of_those_like_it() {
        let check = |tail: &str, want: &str| {
            assert_eq!(form_of_page(&url(tail)).as_deref(), Some(want), "{tail}");
        };
        check("/", "/");
        check("/viewtopic.php?f=2&t=45&start=10", "/viewtopic.php?f=<n>&t=<n>&start=<n>");
        check("/index.php?topic=5.msg123", "/index.php?topic=<n>.msg<n>");
        check("/archive/index.php/t-5.html", "/archive/index.php/t-<n>.html");
        check("/t/why-it-rains/12", "/t/<any>/<n>");
        check("/x?sid=3a0f8377d1230ae6", "/x?sid=<any>");
        check("/x?view=print&mode=", "/x?view=print&mode=");
        assert_eq!(form_of_page(&url(&format!("/{}", "a/".repeat(200)))), None, "too long");
    }

    #[test]
    fn a_link_that_says_which_page_it_is_needs_no_rule_of_pages() {
        let check = |page: &str, link: &str, want: bool| {
            assert_eq!(names_page(&url(link), &url(page)), want, "{link} on {page}");
        };
        check("/product?id=5", "/product?id=5&tab=specs", true);
        check("/products/a-b", "/products/a-b?variant=41", true);
        check("/view.php?t=5&sid=3a0f83", "/view.php?t=5&sid=88b2a0", true);
        check("/story/7", "/print/story/7", true);
        check("/a/5?ref=s1", "/a/5", true);
        check("/view/5?s=1", "/view/5?part=2", true);
        check("/record/5?sid=9", "/record/5/holdings", true);
        check("/en-us/some-name", "/fr-fr/some-name", true);
        check("/view.php?t=5&sid=3a0f83", "/view.php?p=77&sid=3a0f83", false);
        check("/view.php?p=70&sid=3a0f83", "/view.php?p=77&sid=3a0f83", false);
        check("/ad/5?ca=8", "/ad-5.htm", false);
        check("/view.php?p=70", "/view.php?p=77", false);
        check("/i?topic=5.0", "/i?topic=5.msg77", false);
        check("/t/why-it-rains/12", "/t/why-it-rains/12/7", false);
    }

    #[test]
    fn a_link_says_what_it_has_of_its_page() {
        let check = |page: &str, link: &str, want: &str| {
            let form = form_of_link(&url(link), &url(page));
            assert_eq!(form.as_deref(), Some(want), "{link} on {page}");
        };
        check(
            "/viewtopic.php?t=45&sid=3a0f83",
            "/viewtopic.php?p=1326&sid=3a0f83",
            "/viewtopic.php?p=<n>&sid=<same>",
        );
        check("/t/why-it-rains/12", "/t/why-it-rains/12/7", "/t/<same>/<same>/<n>");
        check("/t/why-it-rains/12", "/t/more-rain/13/7", "/t/<any>/<n>/<n>");
        check("/i?topic=5.0", "/i?topic=5.msg77", "/i?topic=<same>.msg<n>");
        check("/i?topic=5.msg70", "/i?topic=5.msg77", "/i?topic=<same>.msg<n>");
        check("/i?topic=5.0", "/i?topic=6.msg77", "/i?topic=<n>.msg<n>");
    }
}
