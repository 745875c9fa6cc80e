//! A crawl that does not run: its changes are noted in its state, and hold with the next run.

use super::super::{Answer, Common, Exit, Failed};
use super::super::{dust, look};
use super::print;
use crate::clock::{Clock, Timestamp};
use crate::config::Config;
use crate::control::ClientError;
use crate::crawl::log::JsonLog;
use crate::crawl::steer::{
    self, Budget, By, Changes, Channel, Entry, Kind, Order, Refusal, count_refused, host_name,
};
use crate::db::families::{hosts, meta};
use crate::db::{Batch, Db, DbError};
use crate::filter::Filter;

/// Changes the state of a crawl that does not run; `absent` says that none does.
pub(super) fn change(
    common: &Common,
    config: &Config,
    order: &Order,
    absent: ClientError,
) -> Answer {
    let dir = look::state_dir(config);
    if !dir.exists() {
        return Err(Failed::with(Exit::Nothing, absent));
    }
    if order.is_question() {
        let db = look::open(config)?;
        let (changes, filter) = in_force(config, &db)?;
        return print::said(common, ask(config, &db, &changes, &filter, order)?);
    }
    let db = Db::open(&dir, &config.state).map_err(|error| match error {
        DbError::Locked { .. } => {
            let why = "its socket cannot be reached, and its state is in use";
            Failed::from(anyhow::Error::from(error).context(why))
        }
        error => error.into(),
    })?;
    let (mut changes, filter) = in_force(config, &db)?;
    let said = match order {
        Order::Rules { on, id: Some(id) } => dust::decide_one(config, &db, id, *on)?,
        order => known(&db, order)?.and_then(|()| changes.make(order, &filter)),
    };
    note(config, &db, order, &said)?;
    match said {
        Err(refusal) => print::said(common, Err(refusal)),
        Ok(answer) => {
            let mut batch = Batch::default();
            meta::put_control(&mut batch, &db, &changes.write());
            db.commit(batch)?;
            db.sync()?;
            let text = format!("{} (no crawl runs: it holds with the next one)", answer.text);
            print::noted(common, &steer::Answer { text, ..answer })?;
            Ok(Exit::Complete)
        }
    }
}

/// Returns what was changed so far, and the exclusions and budgets that hold with it.
fn in_force(config: &Config, db: &Db) -> Result<(Changes, Filter), Failed> {
    let changes = Changes::read(meta::control(db)?.as_deref())
        .map_err(|why| Failed::with(Exit::Internal, format!("failed to {why}")))?;
    // What is asked of it knows no scope, so it needs no seeds.
    let filter = changes.filter(&Filter::new(&config.scope, &[])?);
    Ok((changes, filter))
}

/// Answers an order that changes nothing.
fn ask(
    config: &Config,
    db: &Db,
    changes: &Changes,
    filter: &Filter,
    order: &Order,
) -> Result<Result<steer::Answer, Refusal>, Failed> {
    let Order::Exclude { pattern, .. } = order else {
        let time = changes.budget.time.unwrap_or(config.limits.time_max);
        let budget = Budget::of(filter.settings(), time);
        let answer = steer::Answer::of(budget.to_string());
        return Ok(Ok(steer::Answer { budget: Some(budget), ..answer }));
    };
    let with = match filter.with_exclude(pattern) {
        Ok(with) => with,
        Err(error) => {
            let text = format!("`{}`: failed to {error}", pattern.escape_debug());
            return Ok(Err(Refusal::new(Kind::Usage, text)));
        }
    };
    Ok(Ok(steer::preview_answer(pattern, count_refused(db, &with)?)))
}

/// Refuses to forgive a host that the crawl has never heard of.
fn known(db: &Db, order: &Order) -> Result<Result<(), Refusal>, Failed> {
    let Order::Forgive { host } = order else { return Ok(Ok(())) };
    let name = match host_name(host) {
        Ok(name) => name,
        Err(refusal) => return Ok(Err(refusal)),
    };
    Ok(match hosts::id_of(db, &name)? {
        Some(_) => Ok(()),
        None => Err(Refusal::new(Kind::Nothing, format!("the crawl knows no host {name}"))),
    })
}

/// Writes the journal's line.
fn note(
    config: &Config,
    db: &Db,
    order: &Order,
    said: &Result<steer::Answer, Refusal>,
) -> Result<(), Failed> {
    let floor = meta::session(db)?.map_or(Timestamp::ZERO, |session| session.latest);
    let by = By {
        channel: Channel::Stopped,
        uid: Some(rustix::process::getuid().as_raw()),
        pid: i32::try_from(std::process::id()).ok(),
    };
    let entry = Entry::new(Clock::system(floor).now(), by, order, said.as_ref());
    let mut journal = JsonLog::open(&config.dir.join("log").join(steer::JOURNAL))?;
    Ok(journal.write(&entry)?)
}
