//! The parameters of a query, and what stands between them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What stands between the parameters of a query.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Separator {
    /// `&`, as forms send it (WHATWG URL, `application/x-www-form-urlencoded`).
    #[default]
    Ampersand,
    /// `;`, as HTML 4.01 (appendix B.2.2) asks programs to write it in links: gitweb and Foswiki
    /// do.
    Semicolon,
}

impl Separator {
    /// Returns what separates the parameters of a query: `;` where there is no `&` and every part
    /// between two `;` has a name and a value.
    pub(crate) fn of(query: &str) -> Separator {
        let bytes = query.as_bytes();
        if memchr::memchr(b';', bytes).is_none() || memchr::memchr(b'&', bytes).is_some() {
            return Separator::Ampersand;
        }
        let is_parameter = |part: &str| part.find('=').is_some_and(|at| at > 0);
        let all = Separator::Semicolon.parts(query).all(is_parameter);
        if all { Separator::Semicolon } else { Separator::Ampersand }
    }

    /// Returns true for the one that needs no mention.
    pub(crate) fn is_usual(&self) -> bool {
        *self == Separator::Ampersand
    }

    /// Returns the parts of a query between these. Looking for bytes takes a fraction of what
    /// looking for characters does, and this is done for every URL of a site with rules.
    pub(crate) fn parts(self, query: &str) -> impl Iterator<Item = &str> {
        let byte = char::from(self) as u8;
        let mut rest = Some(query);
        std::iter::from_fn(move || {
            let query = rest?;
            let Some(end) = memchr::memchr(byte, query.as_bytes()) else { return rest.take() };
            rest = Some(&query[end + 1..]);
            Some(&query[..end])
        })
    }
}

impl From<Separator> for char {
    fn from(separator: Separator) -> char {
        match separator {
            Separator::Ampersand => '&',
            Separator::Semicolon => ';',
        }
    }
}

impl fmt::Display for Separator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", char::from(*self))
    }
}

/// Returns the parameters of a query, name and value, by its own separator.
pub(crate) fn parameters(query: &str) -> impl Iterator<Item = &str> {
    Separator::of(query).parts(query)
}

/// Returns the name of a parameter.
pub(crate) fn name_of(part: &str) -> &str {
    &part[..memchr::memchr(b'=', part.as_bytes()).unwrap_or(part.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_separated_by_what_stands_between_names_with_values() {
        let parts = |query| parameters(query).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(parts("a=1&b=2"), ["a=1", "b=2"]);
        assert_eq!(parts("p=x.git;a=blob;hb=HEAD"), ["p=x.git", "a=blob", "hb=HEAD"]);
        assert_eq!(parts("C=N;O="), ["C=N", "O="]);
        for one in ["list=1;2;3", "a=1;", ";a=1", "a=1;=2", "a;b", "a=1"] {
            assert_eq!(parts(one), [one], "a value");
        }
        assert_eq!(parts("a=1;b=2&c=3"), ["a=1;b=2", "c=3"]);
        assert_eq!((parts(""), name_of("a=b=c"), name_of("a")), (vec![String::new()], "a", "a"));
    }
}
