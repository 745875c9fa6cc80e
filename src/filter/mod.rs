//! Five named gates that every URL and every answer passes, each with a reason that can be stored.
//!
//! | gate | asks | when |
//! |---|---|---|
//! | schedule | may this link wait in the frontier? | once per link found |
//! | fetch | may it still be fetched? | when its turn has come |
//! | archive | is the answer kept? | when the answer is there |
//! | extract | are links looked for in it? | after archiving |
//! | follow | are the links found offered to the schedule gate? | after extraction |
//!
//! Invariants: a [`Filter`] is an immutable value, so all links of a page meet one filter; a change
//! at run time makes a new one ([`Filter::with_exclude`], [`Filter::with_seeds`]). Every verdict
//! has a [`Reason`] with a code that never changes its meaning, for logs outlive programs. The
//! schedule gate canonizes each accepted link by one snapshot of the live rules per page (I6,
//! [`PageGate`]). A gate reads no clock, does no I/O, and cannot fail.
//!
//! It does not know robots.txt (`robots`), politeness (`frontier`) or which addresses may be
//! connected to (`dns`), and it counts nothing: budgets compare figures that the caller holds.
//!
//! Sources: the five decisions follow the processors of Heritrix and the filters of BUbiNG; the
//! place of the URL filter is Mercator's.

mod candidate;
mod canonize;
mod gates;
mod pattern;
mod places;
mod reason;
mod scope;
mod settings;
mod shape;

pub use candidate::{Candidate, Directives, Found, Usage};
pub use canonize::{Canonize, Canonized, NoRules};
pub use gates::{Filter, FilterError, PageGate, Scheduled};
pub use pattern::PatternError;
pub use reason::{Limit, Reason, Verdict};
pub use settings::{Duplicates, Embeds, Scope, Settings};
