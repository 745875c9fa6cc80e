//! What a wall clock that was set while no process ran means for the rests of hosts.

use super::error::CrawlError;
use crate::clock::{Clock, Step, Timestamp};
use crate::db::families::{hosts, meta};
use crate::db::{Batch, Db};

/// Opens the clock of a crawl at its stored times. Where the machine's clock was set forward, the
/// rests of hosts move along with it: by the new one they would be over before their time.
///
/// # Errors
/// Returns what the database says.
pub fn resume_clock(db: &Db) -> Result<(Clock, Step), CrawlError> {
    let floor = meta::session(db)?.map_or(Timestamp::ZERO, |session| session.latest);
    // An anchor that cannot be read tells nothing, and is replaced.
    let anchor = meta::anchor(db).ok().flatten();
    let (clock, step) = Clock::resume(floor, anchor.as_ref());
    let mut batch = Batch::default();
    if let Step::Forward(by) = step {
        // What was not over by the old clock is not over by the new one.
        let old = clock.now().minus(by);
        hosts::each(db, |mut record| {
            if record.pace.next_allowed > old {
                record.pace.next_allowed = record.pace.next_allowed.plus(by);
                hosts::put(&mut batch, db, &record);
            }
            true
        })?;
    }
    if let Some(anchor) = clock.anchor() {
        meta::put_anchor(&mut batch, db, &anchor);
    }
    db.commit(batch)?;
    Ok((clock, step))
}
