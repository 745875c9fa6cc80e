//! The learned rules in the state: a head, and a row for each site.

use crate::db::families::dust::{self, Kind};
use crate::db::families::meta;
use crate::db::{Batch, Db, DbError};
use crate::dust::durable::RuleRows;
use crate::url::Site;

/// Returns all rows of the learned rules; `None` where nothing was learned yet.
///
/// # Errors
/// Returns what the database says.
pub fn rules(db: &Db) -> Result<Option<RuleRows>, DbError> {
    let Some(head) = meta::rule_book(db)? else { return Ok(None) };
    let mut sites = Vec::new();
    dust::each(db, Kind::Rules, |name, row| sites.push((Site::new(name), Some(row.to_vec()))))?;
    Ok(Some(RuleRows { head, sites }))
}

/// Stores rows of learned rules, and removes those that are none any more.
pub fn put_rules(batch: &mut Batch, db: &Db, rows: &RuleRows) {
    meta::put_rule_book(batch, db, &rows.head);
    for (site, row) in &rows.sites {
        match row {
            Some(row) => dust::put(batch, db, Kind::Rules, site.as_str(), row),
            None => dust::delete(batch, db, Kind::Rules, site.as_str()),
        }
    }
}
