//! Verdicts and their reasons.

use std::fmt;
use std::sync::Arc;

/// What a gate decided, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a verdict that nobody reads was not worth its reason"]
pub struct Verdict {
    /// True to go on.
    pub accept: bool,
    /// Why.
    pub reason: Reason,
}

impl Verdict {
    /// Returns an acceptance.
    pub(super) fn yes(reason: Reason) -> Self {
        Verdict { accept: true, reason }
    }

    /// Returns a refusal.
    pub(super) fn no(reason: Reason) -> Self {
        Verdict { accept: false, reason }
    }

    /// Returns the stable code of the reason.
    pub fn code(&self) -> &'static str {
        self.reason.code()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.accept { "accepted" } else { "refused" };
        write!(f, "{word}: {} ({})", self.reason, self.reason.code())
    }
}

/// A figure and the limit it met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// What was counted.
    pub found: u64,
    /// The most that the settings allow.
    pub max: u64,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of at most {}", self.found, self.max)
    }
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident $(($kind:ty))? = $code:literal, $text:literal;)*) => {
        /// Why a gate accepted or refused.
        ///
        /// [`Reason::code`] is what logs and counters keep: a code is never renamed and never used
        /// again for something else. [`fmt::Display`] is a line for people.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Reason {
            $($(#[$doc])* $name $(($kind))?,)*
        }

        impl Reason {
            /// Codes of all reasons, in the order of the gates.
            pub const CODES: &'static [&'static str] = &[$($code),*];

            /// Returns true for the code of a reason for which the schedule gate refuses.
            pub fn is_of_schedule(code: &str) -> bool {
                let at = |code| Reason::CODES.iter().position(|known| *known == code);
                let (first, last) = (Reason::Excluded("".into()), "too-many-parameters");
                at(code).is_some_and(|_| (at(first.code())..=at(last)).contains(&at(code)))
            }

            /// Returns the stable kebab-case code.
            pub fn code(&self) -> &'static str {
                match self {
                    $(reasons!(@pattern $name $(($kind))?) => $code,)*
                }
            }

            fn text(&self) -> &'static str {
                match self {
                    $(reasons!(@pattern $name $(($kind))?) => $text,)*
                }
            }
        }
    };
    (@pattern $name:ident ($kind:ty)) => { Reason::$name(_) };
    (@pattern $name:ident) => { Reason::$name };
}

reasons! {
    /// A seed.
    Seed = "seed", "it is a seed";
    /// Within the scope.
    InScope = "in-scope", "within the scope";
    /// An embed of a page, within the scope of embeds.
    Embed = "embed", "needed by a page";
    /// A pattern of `include`.
    Included(Arc<str>) = "included", "matches `include`";
    /// A seed redirects here, and the scope goes with it.
    SeedRedirect = "seed-redirect", "a seed redirects here";
    /// A sitemap that robots.txt names, of a host of which a part is in scope.
    DeclaredSitemap = "declared-sitemap", "robots.txt names it as a sitemap";
    /// A pattern of `exclude`.
    Excluded(Arc<str>) = "excluded", "matches `exclude`";
    /// No pattern of `only`.
    NotInOnly = "not-in-only", "matches nothing in `only`";
    /// Outside the scope.
    OutOfScope = "out-of-scope", "outside the scope";
    /// An embed outside the scope of embeds.
    EmbedOutOfScope = "embed-out-of-scope", "an embed outside the scope of embeds";
    /// Embeds of embeds, too deep.
    EmbedTooDeep(Limit) = "embed-too-deep", "too many embeds in a row";
    /// The link carries rel=nofollow.
    LinkNofollow = "link-nofollow", "the link says nofollow";
    /// Too many links away from its seed.
    TooManyHops(Limit) = "too-many-hops", "too many hops";
    /// Too many redirects in a row.
    TooManyRedirects(Limit) = "too-many-redirects", "too many redirects in a row";
    /// A port that no browser connects to.
    BadPort(u16) = "bad-port", "a port of another protocol";
    /// URL too long; bytes.
    UrlTooLong(Limit) = "url-too-long", "URL too long";
    /// Too many path segments.
    PathTooDeep(Limit) = "path-too-deep", "path too deep";
    /// One path segment too often.
    PathRepeats(Limit) = "path-repeats", "one path segment repeats";
    /// Too many parameters.
    TooManyParameters(Limit) = "too-many-parameters", "too many parameters";
    /// Nothing against fetching.
    WithinBudget = "within-budget", "within every budget";
    /// Pages of the host.
    HostPages(Limit) = "host-pages", "page budget of the host is spent";
    /// Bytes of the host.
    HostBytes(Limit) = "host-bytes", "byte budget of the host is spent";
    /// Pages of the crawl.
    TotalPages(Limit) = "total-pages", "page budget of the crawl is spent";
    /// Bytes of the crawl.
    TotalBytes(Limit) = "total-bytes", "byte budget of the crawl is spent";
    /// The answer is kept.
    Archived = "archived", "kept";
    /// A status that is not archived.
    StatusNotArchived(Arc<str>) = "status-not-archived", "status is not archived";
    /// A content type that is not archived.
    TypeNotArchived(Arc<str>) = "type-not-archived", "content type is not archived";
    /// Longer than what is archived; bytes.
    TooLongToArchive(Limit) = "too-long-to-archive", "too long to archive";
    /// The page says noarchive.
    Noarchive = "noarchive", "the page says noarchive";
    /// Links are looked for.
    Extracted = "extracted", "links are looked for";
    /// A status whose body has no links for us.
    StatusNotExtracted(Arc<str>) = "status-not-extracted", "status is not searched for links";
    /// A content type without links.
    TypeNotExtracted(Arc<str>) = "type-not-extracted", "content type is not searched for links";
    /// Too long to be searched; bytes.
    TooLongToExtract(Limit) = "too-long-to-extract", "too long to be searched for links";
    /// No body.
    EmptyBody = "empty-body", "no body";
    /// Links are offered to the schedule gate.
    Followed = "followed", "links are followed";
    /// The page says nofollow.
    PageNofollow = "page-nofollow", "the page says nofollow";
    /// Known content, on a host that shows much of it.
    DuplicateContent = "duplicate-content", "its text is known already";
    /// An error page that says 200.
    SoftError = "soft-error", "an error page in disguise";
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())?;
        match self {
            Reason::Included(what)
            | Reason::Excluded(what)
            | Reason::StatusNotArchived(what)
            | Reason::TypeNotArchived(what)
            | Reason::StatusNotExtracted(what)
            | Reason::TypeNotExtracted(what) => write!(f, ": {what}"),
            Reason::BadPort(port) => write!(f, ": {port}"),
            Reason::EmbedTooDeep(limit)
            | Reason::TooManyHops(limit)
            | Reason::TooManyRedirects(limit)
            | Reason::UrlTooLong(limit)
            | Reason::PathTooDeep(limit)
            | Reason::PathRepeats(limit)
            | Reason::TooManyParameters(limit)
            | Reason::HostPages(limit)
            | Reason::HostBytes(limit)
            | Reason::TotalPages(limit)
            | Reason::TotalBytes(limit)
            | Reason::TooLongToArchive(limit)
            | Reason::TooLongToExtract(limit) => write!(f, ": {limit}"),
            Reason::Seed
            | Reason::InScope
            | Reason::Embed
            | Reason::SeedRedirect
            | Reason::DeclaredSitemap
            | Reason::NotInOnly
            | Reason::OutOfScope
            | Reason::EmbedOutOfScope
            | Reason::LinkNofollow
            | Reason::WithinBudget
            | Reason::Archived
            | Reason::Noarchive
            | Reason::Extracted
            | Reason::EmptyBody
            | Reason::Followed
            | Reason::PageNofollow
            | Reason::DuplicateContent
            | Reason::SoftError => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_kebab_case() {
        let mut codes = Reason::CODES.to_vec();
        assert!(codes.iter().all(|code| code.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
        codes.sort_unstable();
        let all = codes.len();
        codes.dedup();
        assert_eq!(codes.len(), all);
    }

    #[test]
    fn a_verdict_reads_as_a_line() {
        let verdict = Verdict::no(Reason::TooManyHops(Limit { found: 21, max: 20 }));
        assert_eq!(verdict.to_string(), "refused: too many hops: 21 of at most 20 (too-many-hops)");
        let verdict = Verdict::no(Reason::Excluded("regex:/print/".into()));
        assert_eq!(verdict.to_string(), "refused: matches `exclude`: regex:/print/ (excluded)");
    }
}
