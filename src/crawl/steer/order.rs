//! Orders, and what is said to them.

use serde::{Deserialize, Serialize};

use super::jobs::Count;
use crate::clock::{ByteSize, Span, Timestamp};
use crate::filter;
use crate::url::Host;

/// What an operator can order. As JSON, `do` names it: `{"do":"delay","host":"a.test",
/// "delay":"5s"}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Order {
    /// Give no more leases, also after a restart.
    Pause,
    /// Give leases again.
    Resume,
    /// End after what is in flight, within the grace.
    Stop,
    /// End at once.
    Abort,
    /// Set the least delay of a host, or take the change back.
    Delay {
        /// Host name.
        host: String,
        /// Least rest between two requests; none for what the configuration says.
        #[serde(default)]
        delay: Option<Span>,
    },
    /// Add an exclusion, and drop what waits and matches it.
    Exclude {
        /// A pattern, as in `scope.exclude`.
        pattern: String,
        /// True to change nothing, and only count.
        #[serde(default)]
        preview: bool,
    },
    /// Take an exclusion back, and bring back what it refused.
    Include {
        /// The pattern, as it was added or configured.
        pattern: String,
    },
    /// Change budgets; what is left out stays as it is.
    Budget(Budget),
    /// Apply learned rules, or one of them, or apply them no more.
    Rules {
        /// True to apply.
        on: bool,
        /// The rule, or the beginning of its id; none for all.
        #[serde(default)]
        id: Option<String>,
    },
    /// Let a host that is parked, given up or held for a trap be crawled again, and bring back what
    /// was refused or failed for that reason.
    Forgive {
        /// Host name.
        host: String,
    },
    /// Change what the program says of itself, until it ends.
    Log {
        /// As `--log-level`.
        level: String,
    },
}

impl Order {
    /// Returns true for an order that changes nothing.
    pub fn is_question(&self) -> bool {
        match self {
            Order::Exclude { preview, .. } => *preview,
            Order::Budget(budget) => *budget == Budget::default(),
            _ => false,
        }
    }
}

/// Budgets of the crawl and of each host; zero means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Budget {
    /// Pages in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_pages: Option<u64>,
    /// Bytes in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_bytes: Option<ByteSize>,
    /// Pages of each host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_pages: Option<u64>,
    /// Bytes of each host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_bytes: Option<ByteSize>,
    /// Time of one run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Span>,
}

impl Budget {
    /// Returns the budgets that a crawl has.
    pub fn of(settings: &filter::Settings, time_max: Span) -> Budget {
        Budget {
            total_pages: Some(settings.total_pages_max),
            total_bytes: Some(settings.total_bytes_max),
            host_pages: Some(settings.host_pages_max),
            host_bytes: Some(settings.host_bytes_max),
            time: Some(time_max),
        }
    }

    /// Takes over what another one names.
    pub fn take(&mut self, other: &Budget) {
        self.total_pages = other.total_pages.or(self.total_pages);
        self.total_bytes = other.total_bytes.or(self.total_bytes);
        self.host_pages = other.host_pages.or(self.host_pages);
        self.host_bytes = other.host_bytes.or(self.host_bytes);
        self.time = other.time.or(self.time);
    }

    /// Writes the budgets that are named into a filter's settings.
    pub fn write(&self, settings: &mut filter::Settings) {
        let named = |place: &mut u64, value: Option<u64>| *place = value.unwrap_or(*place);
        named(&mut settings.total_pages_max, self.total_pages);
        named(&mut settings.host_pages_max, self.host_pages);
        settings.total_bytes_max = self.total_bytes.unwrap_or(settings.total_bytes_max);
        settings.host_bytes_max = self.host_bytes.unwrap_or(settings.host_bytes_max);
    }
}

impl std::fmt::Display for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let number = |n: u64| if n == 0 { "no limit".to_owned() } else { n.to_string() };
        let size = |n: ByteSize| if n.0 == 0 { "no limit".to_owned() } else { n.to_string() };
        let span = |n: Span| if n.get().is_zero() { "no limit".to_owned() } else { n.to_string() };
        let parts = [
            self.total_pages.map(|n| format!("pages in all: {}", number(n))),
            self.total_bytes.map(|n| format!("bytes in all: {}", size(n))),
            self.host_pages.map(|n| format!("pages of a host: {}", number(n))),
            self.host_bytes.map(|n| format!("bytes of a host: {}", size(n))),
            self.time.map(|n| format!("time of a run: {}", span(n))),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
    }
}

/// What is said to an order that is carried out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// One line for people.
    pub text: String,
    /// URLs that it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<Count>,
    /// The budgets in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
}

impl Answer {
    /// Returns an answer of one line.
    pub fn of(text: impl Into<String>) -> Answer {
        Answer { text: text.into(), ..Answer::default() }
    }
}

/// Why an order is not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It is no order, or a part of it cannot be read.
    Usage,
    /// There is no such host, rule or exclusion.
    Nothing,
    /// It cannot be done now.
    Refused,
}

/// What is said to an order that is not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{text}")]
pub struct Refusal {
    /// Why, as a word.
    pub kind: Kind,
    /// What, why, and what to do next.
    pub text: String,
}

impl Refusal {
    /// Returns a refusal.
    pub fn new(kind: Kind, text: impl Into<String>) -> Refusal {
        Refusal { kind, text: text.into() }
    }
}

/// Which way an order came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// From within the process: the dashboard.
    #[default]
    Program,
    /// As a signal.
    Signal,
    /// Through the control socket.
    Socket,
    /// While no crawl ran.
    Stopped,
}

/// Who gave an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct By {
    /// The way it came.
    pub channel: Channel,
    /// User number of the other side, where the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    /// Process number of the other side, where the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
}

/// A line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// When, RFC 3339 UTC.
    pub at: String,
    /// The same, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// Who.
    pub by: By,
    /// What.
    pub order: Order,
    /// Whether it was carried out.
    pub ok: bool,
    /// What was said.
    pub text: String,
}

impl Entry {
    /// Composes a line.
    pub fn new(at: Timestamp, by: By, order: &Order, said: Result<&Answer, &Refusal>) -> Entry {
        let text = match said {
            Ok(answer) => answer.text.clone(),
            Err(refusal) => refusal.text.clone(),
        };
        let order = order.clone();
        Entry { at: at.to_rfc3339(), at_ms: at.as_millis(), by, order, ok: said.is_ok(), text }
    }
}

/// Returns a host name in the form in which the crawl knows it.
///
/// # Errors
/// Returns a refusal for what is no host name.
pub fn host_name(text: &str) -> Result<String, Refusal> {
    let wrong = || {
        let text = format!("`{}` is no host name: write `www.example.org`", text.escape_debug());
        Refusal::new(Kind::Usage, text)
    };
    Host::named(text).map(|host| host.as_str().to_owned()).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, want: Order) {
        assert_eq!(serde_json::from_str::<Order>(json).unwrap(), want);
        let again = serde_json::to_string(&want).unwrap();
        assert_eq!(serde_json::from_str::<Order>(&again).unwrap(), want);
    }

    #[test]
    fn an_order_is_one_flat_object() {
        check(r#"{"do":"pause"}"#, Order::Pause);
        let delay = Some(Span::secs(5));
        check(
            r#"{"do":"delay","host":"a.test","delay":"5s"}"#,
            Order::Delay { host: "a.test".to_owned(), delay },
        );
        check(
            r#"{"do":"exclude","pattern":"a.test"}"#,
            Order::Exclude { pattern: "a.test".to_owned(), preview: false },
        );
        let budget = Budget { total_pages: Some(7), ..Budget::default() };
        check(r#"{"do":"budget","total_pages":7}"#, Order::Budget(budget));
        check(r#"{"do":"rules","on":false}"#, Order::Rules { on: false, id: None });
    }

    #[test]
    fn what_is_no_order_is_refused() {
        for text in
            [r#"{"do":"fly"}"#, r#"{"do":"budget","pages":7}"#, r#"{"do":"delay"}"#, "[]", "{}"]
        {
            assert!(serde_json::from_str::<Order>(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_host_is_known_by_its_canonical_name() {
        for (text, want) in [
            ("Example.ORG", Some("example.org")),
            ("bücher.example", Some("xn--bcher-kva.example")),
            ("127.0.0.1", Some("127.0.0.1")),
            ("http://a.test", None),
            ("a.test/x", None),
            ("a.test:81", None),
            ("*.a.test", None),
            ("", None),
        ] {
            assert_eq!(host_name(text).ok().as_deref(), want, "{text}");
        }
    }
}
