//! The place in the schedule gate where learned rules rewrite a link.

use std::borrow::Cow;

use crate::dust::RuleSet;
use crate::url::CrawlUrl;

/// A version of the live rules: the same input gives the same output for as long as it lives.
pub trait Canonize: Send + Sync {
    /// Returns the version, which is recorded with every URL that met it (I6). Zero: no rules.
    fn version(&self) -> u64;

    /// Returns the canonical form of a URL and the rules that made it. Idempotent.
    fn canonize<'u>(&self, url: &'u CrawlUrl) -> Canonized<'u>;
}

/// A URL after the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canonized<'u> {
    /// The canonical URL, whose fingerprint keys `seen`; borrowed where no rule applied.
    pub key: Cow<'u, CrawlUrl>,
    /// Identifiers of the rules that applied, in order.
    pub rules: Vec<u64>,
}

impl<'u> Canonized<'u> {
    /// Returns a URL that no rule touched.
    pub fn same(url: &'u CrawlUrl) -> Self {
        Canonized { key: Cow::Borrowed(url), rules: Vec::new() }
    }
}

/// The empty rule set, version zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoRules;

impl Canonize for NoRules {
    fn version(&self) -> u64 {
        0
    }

    fn canonize<'u>(&self, url: &'u CrawlUrl) -> Canonized<'u> {
        Canonized::same(url)
    }
}

impl Canonize for RuleSet {
    fn version(&self) -> u64 {
        RuleSet::version(self)
    }

    fn canonize<'u>(&self, url: &'u CrawlUrl) -> Canonized<'u> {
        let canonized = RuleSet::canonize(self, url);
        let rules = canonized.rules.into_iter().map(|rule| rule.0).collect();
        Canonized { key: canonized.key, rules }
    }
}
