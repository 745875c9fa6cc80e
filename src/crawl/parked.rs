//! Parts of hosts that are parked as traps: which, why, and how many URLs they hold.
//!
//! The evidence is in the row of the host's texts, where a part is a hash; here stand the name and
//! the count, of the few parts of a host that are judged on their own. A part that was parked
//! before its name was kept has its row from the next URL on that is refused in it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::discover::TRAPPED;
use super::state::State;
use crate::clock::Timestamp;
use crate::content::host::HostContent;
use crate::content::trap::{section_name, section_of};
use crate::db::families::dust::{self as sites, Kind};
use crate::db::families::parts::{self, Part};
use crate::db::families::urls;
use crate::db::{Batch, Db, DbError};
use crate::frontier::UrlState;
use crate::url::{CrawlUrl, Fingerprint, Host};

/// A part of a host that is parked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ParkedPart {
    /// The host.
    pub host: String,
    /// The first path segment of its URLs; `#` stands for any number.
    pub part: String,
    /// Why it is parked.
    pub reason: String,
    /// Since when.
    #[serde(serialize_with = "super::explain::time")]
    pub since: Timestamp,
    /// URLs that were refused for it and have not come back.
    pub urls: u64,
}

/// Returns the parts that are parked in the order of their hosts, at most `most`.
///
/// # Errors
/// Returns what the database says.
pub fn parked_parts(db: &Db, most: usize) -> Result<Vec<ParkedPart>, DbError> {
    let mut found = Vec::new();
    let mut last: Option<(Host, HostContent)> = None;
    parts::each(db, None, |host, section| {
        if last.as_ref().is_none_or(|(known, _)| *known != host) {
            last = Some((host.clone(), content_of(db, &host)?));
        }
        // One that had to make room for others is judged no more.
        let judged = last.as_ref().is_some_and(|(_, known)| known.trap().is_parked(section));
        if judged && let Some(part) = parts::get(db, &host, section)? {
            let Part { name, reason, since, urls } = part;
            found.push(ParkedPart { host: host.to_string(), part: name, reason, since, urls });
        }
        Ok(found.len() < most)
    })?;
    Ok(found)
}

/// Returns what is stored of the texts of a host.
///
/// # Errors
/// Returns what the database says.
pub(super) fn content_of(db: &Db, host: &Host) -> Result<HostContent, DbError> {
    let stored = sites::get(db, Kind::Errors, host.as_str())?;
    // A row of another version is as good as none.
    Ok(stored.and_then(|bytes| HostContent::decode(&bytes)).unwrap_or_default())
}

/// Rows that change with the next batch.
#[derive(Debug, Default)]
pub(super) struct ParkedParts {
    changed: BTreeMap<(Host, u64), Option<Part>>,
}

impl ParkedParts {
    fn get(&self, db: &Db, host: &Host, section: u64) -> Result<Option<Part>, DbError> {
        match self.changed.get(&(host.clone(), section)) {
            Some(part) => Ok(part.clone()),
            None => parts::get(db, host, section),
        }
    }

    fn set(&mut self, host: Host, section: u64, part: Option<Part>) {
        self.changed.insert((host, section), part);
    }

    /// Puts all changes into the batch.
    pub(super) fn flush(&mut self, batch: &mut Batch, db: &Db) {
        for ((host, section), part) in std::mem::take(&mut self.changed) {
            match part {
                Some(part) => parts::put(batch, db, &host, section, &part),
                None => parts::delete(batch, db, &host, section),
            }
        }
    }
}

impl State {
    /// Notes that a section was parked or has recovered, as a page of its host has shown.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn note_part(
        &mut self,
        page: &CrawlUrl,
        section: u64,
        now: Timestamp,
    ) -> Result<(), DbError> {
        let host = page.host();
        if !self.trap_of(&host)?.is_parked(section) {
            self.parked_parts.set(host, section, None);
            return Ok(());
        }
        if section_of(page.path_and_query()) == Some(section) {
            self.count_in_part(page, 0, now)?;
        }
        Ok(())
    }

    /// Counts a URL that is refused because its part of the host is parked.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn hold_in_part(&mut self, url: &CrawlUrl, now: Timestamp) -> Result<(), DbError> {
        self.count_in_part(url, 1, now)
    }

    fn count_in_part(&mut self, url: &CrawlUrl, urls: u64, now: Timestamp) -> Result<(), DbError> {
        let (host, target) = (url.host(), url.path_and_query());
        let Some((section, name)) = section_of(target).zip(section_name(target)) else {
            return Ok(());
        };
        let part = match self.parked_parts.get(&self.db, &host, section)? {
            Some(part) => Part { urls: part.urls + urls, ..part },
            None => {
                let reason = self.trap_of(&host)?.why(section).unwrap_or_default();
                Part { name, reason, since: now, urls }
            }
        };
        self.parked_parts.set(host, section, Some(part));
        Ok(())
    }

    /// Counts a URL no more that was refused so and comes back.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn let_out_of_part(&mut self, url: &CrawlUrl) -> Result<(), DbError> {
        let host = url.host();
        let Some(section) = section_of(url.path_and_query()) else { return Ok(()) };
        if let Some(part) = self.parked_parts.get(&self.db, &host, section)? {
            let part = Part { urls: part.urls.saturating_sub(1), ..part };
            self.parked_parts.set(host, section, Some(part));
        }
        Ok(())
    }

    /// Does the same for a URL that another page leads to, where it was refused so before.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn find_in_part(&mut self, url: &CrawlUrl, own: Fingerprint) -> Result<(), DbError> {
        // Only what is parked holds any, and reading of every URL that is found would cost.
        if !self.is_in_parked_part(url) {
            return Ok(());
        }
        match urls::get(&self.db, own)?.map(|record| record.state) {
            Some(UrlState::Refused { reason, .. }) if reason == TRAPPED => {
                self.let_out_of_part(url)
            }
            _ => Ok(()),
        }
    }

    /// Forgets the parts of a host that are parked, as it is forgiven.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn forget_parts(&mut self, host: &Host) -> Result<(), DbError> {
        let (db, changed) = (self.db.clone(), &mut self.parked_parts);
        changed.changed.retain(|(name, _), _| name != host);
        parts::each(&db, Some(host), |host, section| {
            changed.set(host, section, None);
            Ok(true)
        })
    }
}
