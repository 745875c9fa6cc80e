//! What goes over the socket.

use serde::{Deserialize, Serialize};

use crate::crawl::Snapshot;
use crate::crawl::census::Census;
use crate::crawl::steer::{Answer, Kind, Order, Refusal};

/// What a client asks.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// How the crawl stands.
    Status,
    /// The same, once a second.
    Watch,
    /// An order.
    Order(Order),
}

impl Request {
    /// Reads a line.
    ///
    /// # Errors
    /// Returns why it is no request.
    pub fn read(line: &str) -> Result<Request, String> {
        let value: serde_json::Value =
            serde_json::from_str(line).map_err(|error| format!("this is no JSON: {error}"))?;
        let fields = value.as_object().map_or(0, serde_json::Map::len);
        match (value.get("do").and_then(serde_json::Value::as_str), fields) {
            (Some("status"), 1) => Ok(Request::Status),
            (Some("watch"), 1) => Ok(Request::Watch),
            _ => {
                let order = serde_json::from_value(value)
                    .map_err(|error| format!("this is no request: {error}"))?;
                // The library lets fields of a variant without fields pass.
                let bare =
                    matches!(order, Order::Pause | Order::Resume | Order::Stop | Order::Abort);
                if bare && fields > 1 {
                    return Err("this is no request: it takes no further field".to_owned());
                }
                Ok(Request::Order(order))
            }
        }
    }

    /// Returns the line, without its end.
    pub fn write(&self) -> String {
        match self {
            Request::Status => r#"{"do":"status"}"#.to_owned(),
            Request::Watch => r#"{"do":"watch"}"#.to_owned(),
            Request::Order(order) => serde_json::to_string(order)
                .expect("an order is plain data, which serde_json always encodes"),
        }
    }
}

/// How a crawl stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// Version of the protocol.
    pub protocol: u32,
    /// Process number of the crawl.
    pub pid: u32,
    /// Its directory, as it was started with.
    pub dir: String,
    /// Why it ended, once it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// The view of the last second; none before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Snapshot>,
    /// What was counted last, some seconds ago.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub census: Option<Census>,
}

/// What a client is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// How the crawl stands.
    Status(Box<Status>),
    /// What an order came to.
    Said(Result<Answer, Refusal>),
}

#[derive(Serialize, Deserialize)]
struct Line {
    ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<Box<Status>>,
    #[serde(flatten, default, skip_serializing_if = "Option::is_none")]
    answer: Option<Answer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
}

impl Reply {
    /// Returns the line, without its end.
    pub fn write(&self) -> String {
        let empty = || Line { ok: true, status: None, answer: None, kind: None };
        let line = match self {
            Reply::Status(status) => Line { status: Some(status.clone()), ..empty() },
            Reply::Said(Ok(answer)) => Line { answer: Some(answer.clone()), ..empty() },
            Reply::Said(Err(refusal)) => Line {
                ok: false,
                answer: Some(Answer::of(refusal.text.clone())),
                kind: Some(refusal.kind),
                ..empty()
            },
        };
        serde_json::to_string(&line)
            .expect("a reply is plain data, which serde_json always encodes")
    }

    /// Reads a line.
    ///
    /// # Errors
    /// Returns why it is no reply.
    pub fn read(line: &str) -> Result<Reply, String> {
        let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
        if let Some(status) = line.status {
            return Ok(Reply::Status(status));
        }
        let answer = line.answer.unwrap_or_default();
        Ok(Reply::Said(match (line.ok, line.kind) {
            (true, _) => Ok(answer),
            (false, kind) => Err(Refusal::new(kind.unwrap_or(Kind::Refused), answer.text)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_replies_are_read_as_they_were_written() {
        let forgive = Order::Forgive { host: "a.test".to_owned() };
        for request in [Request::Status, Request::Watch, Request::Order(forgive)] {
            assert_eq!(Request::read(&request.write()), Ok(request));
        }
        let status = Status { pid: 7, dir: "crawl".to_owned(), ..Status::default() };
        for reply in [
            Reply::Status(Box::new(status)),
            Reply::Said(Ok(Answer::of("paused"))),
            Reply::Said(Err(Refusal::new(Kind::Nothing, "no such host"))),
        ] {
            let line = reply.write();
            assert!(!line.contains('\n'));
            assert_eq!(Reply::read(&line), Ok(reply));
        }
    }

    #[test]
    fn a_mistyped_request_does_nothing() {
        for line in ["", "{", "[]", r#"{"do":"status","all":true}"#, r#"{"do":"pause","x":1}"#] {
            assert!(Request::read(line).is_err(), "{line}");
        }
    }
}
