//! What follows from "content seen?": what the archive keeps of a page, and whether its links are
//! followed.
//!
//! Thin texts are never repeats by their words, only by their bytes: "page not found" under a
//! thousand addresses says nothing about where they lead.

use serde::{Deserialize, Serialize};

use super::trap::Level;

/// Whether the links of a page whose content is known are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowRepeats {
    /// Followed unless the host is already showing duplicates.
    #[default]
    Auto,
    /// Always followed.
    Always,
    /// Never followed.
    Never,
}

/// How a page repeats known content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeat {
    /// The same bytes.
    Payload,
    /// The same words of main text, in other bytes.
    Text,
}

/// What is known about a page's content when it comes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Another address gave the same payload.
    pub payload: bool,
    /// Another address gave the same main text.
    pub text: bool,
    /// The main text is thin.
    pub thin: bool,
    /// How the host is treated: above [`Level::Healthy`] it is showing duplicates.
    pub host: Level,
}

/// What to do with a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenText {
    /// How it repeats known content, if it does.
    pub repeat: Option<Repeat>,
    /// Whether its record may be a revisit with the profile identical-payload-digest. Only the
    /// same bytes allow that.
    pub revisit: bool,
    /// Whether its links are followed.
    pub follow: bool,
    /// Why, for the log.
    pub reason: &'static str,
}

impl SeenText {
    /// Decides.
    pub fn decide(known: Known, follow: FollowRepeats) -> SeenText {
        let repeat = match known {
            Known { payload: true, .. } => Some(Repeat::Payload),
            Known { text: true, thin: false, .. } => Some(Repeat::Text),
            _ => None,
        };
        let duplicates = known.host > Level::Healthy;
        let (follow, reason) = match (repeat, follow) {
            (None, _) => (true, "new text"),
            (Some(_), FollowRepeats::Always) => (true, "known content; links always followed"),
            (Some(_), FollowRepeats::Never) => (false, "known content; links never followed"),
            (Some(_), FollowRepeats::Auto) if duplicates => {
                (false, "known content on a host that is showing duplicates")
            }
            (Some(_), FollowRepeats::Auto) => (true, "known content on a healthy host"),
        };
        SeenText { repeat, revisit: repeat == Some(Repeat::Payload), follow, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(known: Known, follow: FollowRepeats, want: (Option<Repeat>, bool, bool)) {
        let got = SeenText::decide(known, follow);
        assert_eq!((got.repeat, got.revisit, got.follow), want, "{known:?} {follow:?}");
    }

    #[test]
    fn repeats_are_followed_until_the_host_shows_duplicates() {
        let new = Known::default();
        let text = Known { text: true, ..new };
        let bytes = Known { payload: true, ..text };
        let slowed = Known { host: Level::Slowed, ..text };
        check(new, FollowRepeats::Auto, (None, false, true));
        check(text, FollowRepeats::Auto, (Some(Repeat::Text), false, true));
        check(bytes, FollowRepeats::Auto, (Some(Repeat::Payload), true, true));
        check(slowed, FollowRepeats::Auto, (Some(Repeat::Text), false, false));
        check(slowed, FollowRepeats::Always, (Some(Repeat::Text), false, true));
        check(text, FollowRepeats::Never, (Some(Repeat::Text), false, false));
        check(Known { host: Level::Parked, ..new }, FollowRepeats::Never, (None, false, true));
    }

    #[test]
    fn thin_texts_repeat_only_by_their_bytes() {
        let thin = Known { text: true, thin: true, ..Known::default() };
        check(thin, FollowRepeats::Never, (None, false, true));
        let bytes = Known { payload: true, ..thin };
        check(bytes, FollowRepeats::Never, (Some(Repeat::Payload), true, false));
    }
}
