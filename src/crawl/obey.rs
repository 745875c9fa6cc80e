//! Commands: what reaches the loop from outside, and how it is answered.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::edge::Store;
use super::error::CrawlError;
use super::run::{Crawl, Ended};
use super::snapshot::Brake;
use super::steer::{Answer, By, Kind, Order, Refusal, count_refused, preview_answer};
use crate::clock::{Span, Timestamp};
use crate::dns::Resolve;
use crate::dust::RuleId;
use crate::fetch::Fetch;
use crate::frontier::Errand;

/// What an operator can ask of a running crawl.
#[derive(Debug)]
pub enum Command {
    /// Give no more leases.
    Pause(oneshot::Sender<String>),
    /// Give leases again.
    Resume(oneshot::Sender<String>),
    /// End after what is in flight, within the grace.
    Stop,
    /// End at once.
    Abort,
    /// Change the least delay of a host.
    Delay(String, Span, oneshot::Sender<String>),
    /// Add an exclusion; with `preview` only count what it would drop.
    Exclude {
        /// Host name or regular expression, as in the configuration.
        pattern: String,
        /// True to change nothing.
        preview: bool,
        /// The answer.
        reply: oneshot::Sender<String>,
    },
    /// Take a rule out of force, or put it in.
    Rule {
        /// The rule.
        id: RuleId,
        /// True to put it in force.
        enforce: bool,
        /// The answer.
        reply: oneshot::Sender<String>,
    },
    /// Take an exclusion back.
    Include(String, oneshot::Sender<String>),
    /// Any order, with who gave it: all the others are one of these.
    Steer {
        /// The order.
        order: Order,
        /// Who gave it.
        by: By,
        /// The answer; dropped without one only when the crawl ends.
        reply: oneshot::Sender<Result<Answer, Refusal>>,
    },
}

impl<R: Resolve, F: Fetch, S: Store> Crawl<R, F, S> {
    /// Carries out a command, or begins to: what takes long is a job.
    pub(super) fn obey(&mut self, command: Command) -> Result<(), CrawlError> {
        let (order, words) = match command {
            Command::Steer { order, by, reply } => return self.steer(&order, by, reply),
            Command::Pause(words) => (Order::Pause, Some(words)),
            Command::Resume(words) => (Order::Resume, Some(words)),
            Command::Stop => (Order::Stop, None),
            Command::Abort => (Order::Abort, None),
            Command::Delay(host, delay, words) => {
                (Order::Delay { host, delay: Some(delay) }, Some(words))
            }
            Command::Exclude { pattern, preview, reply } => {
                (Order::Exclude { pattern, preview }, Some(reply))
            }
            Command::Rule { id, enforce, reply } => {
                (Order::Rules { on: enforce, id: Some(id.to_string()) }, Some(reply))
            }
            Command::Include(pattern, words) => (Order::Include { pattern }, Some(words)),
        };
        let (reply, answer) = oneshot::channel::<Result<Answer, Refusal>>();
        if let Some(words) = words {
            // An answer may come when a job is done, so it is passed on by a task.
            self.options.visits.spawn(async move {
                let text = match answer.await {
                    Ok(Ok(answer)) => answer.text,
                    Ok(Err(refusal)) => refusal.text,
                    Err(_) => "the crawl ended first".to_owned(),
                };
                let _ = words.send(text);
            });
        }
        self.steer(&order, By::default(), reply)
    }

    fn steer(
        &mut self,
        order: &Order,
        by: By,
        reply: oneshot::Sender<Result<Answer, Refusal>>,
    ) -> Result<(), CrawlError> {
        let now = self.edge.clock.now();
        match order {
            Order::Stop | Order::Abort => {
                let at_once = *order == Order::Abort;
                let text = match at_once {
                    false => "stopping when what is in flight is done; `crawler run` goes on",
                    true => "stopping at once; `crawler run` goes on from here",
                };
                let answer = Answer::of(text);
                self.state.note_order(now, by, order, Ok(&answer))?;
                if at_once {
                    // Else the next pass would begin what it then throws away.
                    self.state.frontier.set_paused(true);
                    self.stopping = Some((Ended::Interrupted, now));
                } else {
                    self.stop(Ended::Interrupted, now);
                }
                let _ = reply.send(Ok(answer));
            }
            // The level itself is the program's, not the crawl's; here it is only journalled.
            Order::Log { level } => {
                let answer = Answer::of(format!("log level: {level}"));
                self.state.note_order(now, by, order, Ok(&answer))?;
                let _ = reply.send(Ok(answer));
            }
            Order::Exclude { pattern, preview: true } => self.preview(pattern.clone(), reply),
            Order::Budget(_) if order.is_question() => {
                let budget = self.state.budget();
                let answer = Answer { budget: Some(budget), ..Answer::of(budget.to_string()) };
                let _ = reply.send(Ok(answer));
            }
            Order::Pause | Order::Resume => {
                self.state.steer(order, by, reply, now)?;
                self.pause(*order == Order::Pause);
            }
            Order::Delay { .. }
            | Order::Exclude { .. }
            | Order::Include { .. }
            | Order::Budget(_)
            | Order::Rules { .. }
            | Order::Forgive { .. } => self.state.steer(order, by, reply, now)?,
        }
        Ok(())
    }

    fn pause(&mut self, paused: bool) {
        self.state.frontier.set_paused(paused || self.stopping.is_some());
        self.paused_by = paused.then_some(Brake::Paused);
        // An operator gives leases free, but no disk: not even until the next look at it.
        self.watch_disks();
    }

    /// Counts on a thread of its own what an exclusion would drop.
    fn preview(&self, pattern: String, reply: oneshot::Sender<Result<Answer, Refusal>>) {
        let filter = match self.state.filter.with_exclude(&pattern) {
            Ok(filter) => filter,
            Err(error) => {
                let text = format!("`{}`: failed to {error}", pattern.escape_debug());
                let _ = reply.send(Err(Refusal::new(Kind::Usage, text)));
                return;
            }
        };
        let db = Arc::clone(&self.state.db);
        self.options.visits.spawn_blocking(move || {
            let said = match count_refused(&db, &filter) {
                Ok(count) => Ok(preview_answer(&pattern, count)),
                Err(error) => Err(Refusal::new(Kind::Refused, format!("failed to {error}"))),
            };
            let _ = reply.send(said);
        });
    }

    /// Does a step of what orders have left to do.
    pub(super) fn work(&mut self, now: Timestamp) -> Result<bool, CrawlError> {
        if self.state.jobs.is_empty() {
            return Ok(false);
        }
        let held = self.held.values().map(|(admitted, _)| admitted);
        let pages = self.flights.values().chain(held);
        let pages = pages.filter(|admitted| admitted.lease.waiting.errand == Errand::Page);
        let leased: HashSet<u64> =
            pages.map(|admitted| admitted.lease.waiting.place.serial).collect();
        self.state.work(&leased, now)
    }
}
