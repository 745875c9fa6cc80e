//! The part of a host that a URL lies in, where that is parked as a trap.

use serde::Serialize;

use crate::clock::Timestamp;
use crate::content::trap::{section_name, section_of};
use crate::crawl::parked::content_of;
use crate::db::families::parts::{self, Part};
use crate::db::{Db, DbError};
use crate::url::CrawlUrl;

/// A parked part of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartSaid {
    /// The first path segment of its URLs; `#` stands for any number.
    pub name: String,
    /// Since when; none until a URL was refused for it, where an older program parked it.
    #[serde(serialize_with = "super::words::time_or_none")]
    pub since: Option<Timestamp>,
    /// Why.
    pub reason: String,
    /// URLs that were refused for it and have not come back.
    pub urls: u64,
    /// True if the URL is left out for it; false if it was fetched, or is one of those that are
    /// fetched all the same, since pages of its shape bring new text or to see whether the part has
    /// recovered.
    pub leaves_out: bool,
}

/// Returns the part that a URL lies in, if it is parked; `is_done` says that the URL was fetched.
pub(super) fn part(
    db: Option<&Db>,
    url: &CrawlUrl,
    is_done: bool,
) -> Result<Option<PartSaid>, DbError> {
    let (host, target) = (url.host(), url.path_and_query());
    let Some((section, name)) = section_of(target).zip(section_name(target)) else {
        return Ok(None);
    };
    let Some(db) = db else { return Ok(None) };
    let content = content_of(db, &host)?;
    let trap = content.trap();
    if !trap.is_parked(section) {
        return Ok(None);
    }
    let leaves_out = !is_done && trap.leaves_out(target, url.fingerprint().short());
    Ok(Some(match parts::get(db, &host, section)? {
        Some(Part { name, reason, since, urls }) => {
            PartSaid { name, since: Some(since), reason, urls, leaves_out }
        }
        None => {
            let reason = trap.why(section).unwrap_or_default();
            PartSaid { name, since: None, reason, urls: 0, leaves_out }
        }
    }))
}
