//! A page's own address where its text repeats it: a permanent link at its foot, the entries of a
//! programming interface shown as they are, the request that was made.
//!
//! By such words two forms of one page differ, and by as many as it has entries; of what the page
//! says they are no part. So the parameters of a page's own address are left out where its text
//! has them in an address: behind `?`, `&` or `;`. Those of other addresses stay.

use memchr::memchr_iter;

use crate::url::query::{name_of, parameters};

/// Parameters of an address that are looked for; more have no meaning for people.
const PARAMETERS_MAX: usize = 16;

/// The parameters of a page's own address.
#[derive(Debug, Default)]
pub(super) struct Echo<'a> {
    /// Each with its name and a value, as they stand in the address.
    parameters: Vec<&'a str>,
}

impl<'a> Echo<'a> {
    /// Reads the parameters of the page at `target`, a path and query.
    pub(super) fn of(target: &'a str) -> Echo<'a> {
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let has_both = |part: &&str| (1..part.len()).contains(&name_of(part).len());
        Echo { parameters: parameters(query).filter(has_both).take(PARAMETERS_MAX).collect() }
    }

    /// Gives the pieces of a text between these parameters, in their order.
    pub(super) fn rest_of<'t>(&self, text: &'t str, mut give: impl FnMut(&'t str)) {
        let mut from = 0;
        if !self.parameters.is_empty() {
            for equals in memchr_iter(b'=', text.as_bytes()) {
                let found = self.parameters.iter().find_map(|own| spot(text, equals, own));
                if let Some((start, end)) = found.filter(|(start, _)| *start >= from) {
                    give(&text[from..start]);
                    from = end;
                }
            }
        }
        give(&text[from..]);
    }
}

/// Returns where a parameter stands in a text, if it is one of an address there and its name ends
/// at `equals`.
fn spot(text: &str, equals: usize, own: &str) -> Option<(usize, usize)> {
    let start = equals.checked_sub(name_of(own).len())?;
    let bytes = text.as_bytes();
    let is_in_address = start > 0 && matches!(bytes[start - 1], b'?' | b'&' | b';');
    let rest = bytes[start..].strip_prefix(own.as_bytes()).filter(|_| is_in_address)?;
    (!goes_on(rest)).then_some((start, start + own.len()))
}

/// Returns true where a value does not end in front of this.
fn goes_on(rest: &[u8]) -> bool {
    let is_of_value = |byte: &u8| !byte.is_ascii() || byte.is_ascii_alphanumeric();
    match rest {
        // The end of a sentence, or of a file's name.
        [b'.' | b',' | b':', next, ..] => is_of_value(next),
        [b'-' | b'_' | b'~' | b'%' | b'+', ..] => true,
        [first, ..] => is_of_value(first),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(target: &str, text: &str) -> String {
        let mut rest = String::new();
        Echo::of(target).rest_of(text, |piece| rest.push_str(piece));
        rest
    }

    #[test]
    fn own_parameters_are_left_out_of_addresses_and_nothing_else_is() {
        let own = "/list?format=api&page=7";
        let (given, left) = ("GET /list?format=api&page=7 \"/item/3?format=api\"", "GET /list?&");
        assert_eq!(without(own, given), format!("{left} \"/item/3?\""));
        for other in [
            "format=api",
            "a page=7",
            "/list?page=8&format=json",
            "/list?page=71&format=apis",
            "/list?page=7.5&format=api-2&format=api%20",
            "/list?myformat=api",
            "/list?page=7é",
            "=?=&=",
        ] {
            assert_eq!(without(own, other), other);
        }
        assert_eq!(without(own, "See /list?page=7."), "See /list?.");
        assert_eq!(without(own, "/l?page=7;format=api&amp"), "/l?;&amp");
    }

    #[test]
    fn what_has_no_parameters_repeats_none() {
        for target in ["", "/list", "/list?", "/list?page", "/list?=7", "/?&;&"] {
            assert_eq!(without(target, "/list?page&=7&page=7"), "/list?page&=7&page=7", "{target}");
        }
        let many: String = (0..40).map(|n| format!("&p{n}=1")).collect();
        assert_eq!(without(&format!("/?{many}"), "/?p0=1 /?p39=1"), "/? /?p39=1");
    }
}
