//! What each failure means for the next try: one table.

use super::Failure;

/// How often to try again after a failure, and what follows when that was in vain. How long the
/// host rests in between is politeness.
///
/// The idea of one row per kind of failure is BUbiNG's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries after the first one; [`u32::MAX`] where the fault is ours and no URL may be lost.
    pub max_retries: u32,
    /// Failures in a row after which a host that never answered is given up, if
    /// `politeness.unreachable_max` is not less; `None` where it says nothing of other URLs.
    pub host_failures_max: Option<u32>,
}

/// As many failures of a host as `politeness.unreachable_max` says.
const AS_SET: Option<u32> = Some(u32::MAX);

impl Failure {
    /// Returns when and how often to try again.
    pub fn retry(self) -> RetryPolicy {
        let policy = |max_retries: u32, host_failures_max: Option<u32>| RetryPolicy {
            max_retries,
            host_failures_max,
        };
        match self {
            // Names appear late and vanish briefly while zones are moved.
            Failure::DnsNotFound => policy(2, Some(3)),
            // Name servers of our own may be gone for a while, and then for every host.
            Failure::DnsFailed => policy(6, AS_SET),
            // The same addresses would be refused again, unless a name server lied for a while, as
            // those of a network do that wants a login first.
            Failure::AddressRefused => policy(0, Some(3)),
            Failure::ConnectFailed => policy(3, AS_SET),
            Failure::ConnectTimeout => policy(3, AS_SET),
            // The same host may be sound by http, or under another port's certificate.
            Failure::TlsCertificate => policy(1, None),
            Failure::TlsFailed => policy(2, None),
            Failure::TlsTimeout => policy(2, AS_SET),
            Failure::ProxyFailed => policy(u32::MAX, None),
            Failure::FirstByteTimeout => policy(2, AS_SET),
            Failure::ClosedEarly => policy(3, AS_SET),
            // The next try opens a connection, and shows what is the matter.
            Failure::KeptClosed => policy(1, None),
            // As for 429, the URL waits unpunished until that has happened too often.
            Failure::EnhanceYourCalm => policy(0, None),
            // What a server sends on purpose it sends again.
            Failure::HeadTooLarge => policy(0, None),
            Failure::ProtocolError => policy(1, None),
            Failure::Timeout => policy(2, None),
            Failure::LocalFailure => policy(u32::MAX, None),
        }
    }

    /// Returns the name of the failure as it stands in logs, such as `connect-timeout`.
    pub fn name(self) -> &'static str {
        match self {
            Failure::DnsNotFound => "dns-not-found",
            Failure::DnsFailed => "dns-failed",
            Failure::AddressRefused => "address-refused",
            Failure::ConnectFailed => "connect-failed",
            Failure::ConnectTimeout => "connect-timeout",
            Failure::TlsCertificate => "tls-certificate",
            Failure::TlsFailed => "tls-failed",
            Failure::TlsTimeout => "tls-timeout",
            Failure::ProxyFailed => "proxy-failed",
            Failure::FirstByteTimeout => "first-byte-timeout",
            Failure::ClosedEarly => "closed-early",
            Failure::KeptClosed => "kept-closed",
            Failure::EnhanceYourCalm => "enhance-your-calm",
            Failure::HeadTooLarge => "head-too-large",
            Failure::ProtocolError => "protocol-error",
            Failure::Timeout => "timeout",
            Failure::LocalFailure => "local-failure",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_faults_cost_no_url_and_condemn_nobody() {
        for failure in [Failure::ProxyFailed, Failure::LocalFailure] {
            assert_eq!(failure.retry().max_retries, u32::MAX);
            assert_eq!(failure.retry().host_failures_max, None);
        }
    }

    #[test]
    fn names_are_those_of_the_stored_form() {
        for failure in [Failure::DnsNotFound, Failure::HeadTooLarge, Failure::LocalFailure] {
            let stored = serde_json::to_string(&failure).unwrap();
            assert_eq!(stored, format!("\"{}\"", failure.name()));
        }
    }
}
