//! What can be set about fetching.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Proxy, Purpose};
use crate::clock::{ByteSize, Span};

/// Limits and ways of a fetch. Every fetch ends within `total`, whatever the server does (I8).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct Settings {
    /// Limit of the TCP connection, all addresses of the host together.
    pub connect: Span,
    /// Limit of the TLS handshake.
    pub tls: Span,
    /// From the request's last byte to the end of the header block; slow applications need it.
    pub first_byte: Span,
    /// Limit of everything together by wall clock; what came of the body by then is kept.
    pub total: Span,
    /// The same for robots.txt, for which a whole host waits.
    pub robots_total: Span,
    /// Bytes per second that a body must bring on average over each window.
    pub rate_min: ByteSize,
    /// The length of that window.
    pub rate_window: Span,
    /// Header block in bytes, interim answers included. Browsers and servers stop at or below it.
    pub head_max: ByteSize,
    /// Header fields of one answer.
    pub head_fields_max: usize,
    /// Interim answers (1xx) that are passed over before the final one.
    pub interim_max: usize,
    /// Body bytes on the wire; the rest is left and the record marked as truncated.
    pub body_max: ByteSize,
    /// Body bytes after decompression.
    pub decoded_max: ByteSize,
    /// Both limits for robots.txt, of which RFC 9309 §2.5 wants at least 500 KiB read.
    pub robots_body_max: ByteSize,
    /// Bodies larger than 1 MiB, as sent or decompressed, that are held at once over all hosts;
    /// others wait. 16 of them are at most 16 times `body_max` twice and `decoded_max` once.
    pub large_max: usize,
    /// Decompressed bytes per wire byte; past `ratio_free` a body that exceeds it is a bomb. Text
    /// stays below 50; gzip cannot exceed 1,032.
    pub ratio_max: u32,
    /// Decompressed bytes that are never a bomb.
    pub ratio_free: ByteSize,
    /// Content codings on top of each other.
    pub codings_max: usize,
    /// Offer HTTP/2 where there is TLS.
    pub http2: bool,
    /// Idle connections kept open, all hosts together.
    pub idle_max: usize,
    /// How long an idle connection is kept; servers close theirs after 5 to 75 seconds. Zero keeps
    /// none.
    pub idle_for: Span,
    /// TLS sessions remembered for resumption.
    pub tls_sessions_max: usize,
    /// A PEM file with further root certificates, besides Mozilla's.
    pub ca_file: Option<PathBuf>,
    /// A proxy for everything, such as `"http://proxy.example:3128"`; never bypassed. Names are left
    /// to it too: no name server is asked, and which of them may not be reached is for it to say.
    pub proxy: Option<Proxy>,
    /// A key for signing requests to servers that ask for it (Web Bot Auth), as `crawler identity
    /// init --sign` makes one. Nothing is signed without it, the default.
    pub signature_key: Option<PathBuf>,
    /// The origin that publishes the key, such as `"https://bot.example.org"`.
    pub signature_agent: Option<String>,
    /// `Accept` of every request; HTML preferred, everything else taken.
    pub accept: String,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            connect: Span::secs(10),
            tls: Span::secs(10),
            first_byte: Span::secs(30),
            total: Span::secs(120),
            robots_total: Span::secs(60),
            rate_min: ByteSize(100),
            rate_window: Span::secs(15),
            head_max: ByteSize::kib(64),
            head_fields_max: 500,
            interim_max: 16,
            body_max: ByteSize::mib(10),
            decoded_max: ByteSize::mib(32),
            robots_body_max: ByteSize::mib(1),
            large_max: 16,
            ratio_max: 250,
            ratio_free: ByteSize::mib(1),
            codings_max: 3,
            http2: true,
            idle_max: 512,
            idle_for: Span::secs(60),
            tls_sessions_max: 4096,
            ca_file: None,
            proxy: None,
            signature_key: None,
            signature_agent: None,
            accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8".to_owned(),
        }
    }
}

impl Settings {
    /// Checks what the types cannot say.
    ///
    /// # Errors
    /// Returns the key that is wrong, and what to write instead.
    pub fn check(&self) -> Result<(), String> {
        let limits = [
            ("connect", self.connect),
            ("tls", self.tls),
            ("first_byte", self.first_byte),
            ("total", self.total),
            ("robots_total", self.robots_total),
        ];
        let none = limits.iter().find(|(_, limit)| limit.get().is_zero());
        let none = none.map(|(key, limit)| (*key, limit.to_string()));
        let sizes = [("head_max", self.head_max), ("decoded_max", self.decoded_max)];
        let empty = sizes.iter().find(|(_, size)| size.get() == 0);
        let empty = empty.map(|(key, size)| (*key, size.to_string()));
        let no_field = (self.head_fields_max == 0).then(|| ("head_fields_max", "0".to_owned()));
        none.or(empty).or(no_field).map_or(Ok(()), |(key, value)| {
            Err(format!("{key} is {value}: every fetch would fail; the default is a good value"))
        })
    }

    pub(super) fn total_for(&self, purpose: Purpose) -> std::time::Duration {
        match purpose {
            Purpose::Page | Purpose::Probe => self.total.get(),
            Purpose::Robots => self.robots_total.get(),
        }
    }

    pub(super) fn body_max_for(&self, purpose: Purpose) -> usize {
        match purpose {
            Purpose::Page | Purpose::Probe => self.body_max.as_len(),
            Purpose::Robots => self.robots_body_max.as_len(),
        }
    }

    pub(super) fn decoded_max_for(&self, purpose: Purpose) -> usize {
        match purpose {
            Purpose::Page | Purpose::Probe => self.decoded_max.as_len(),
            Purpose::Robots => self.robots_body_max.as_len(),
        }
    }
}
