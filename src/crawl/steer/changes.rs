//! What of an operator's orders lasts: the value under the key `control` of the state.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::order::{Answer, Budget, Kind, Order, Refusal, host_name};
use crate::clock::Span;
use crate::filter::Filter;
use crate::frontier::Rules;

/// Exclusions, delayed hosts and pardons that are kept, of each.
const KEPT_MAX: usize = 10_000;

/// Jobs that may wait.
const JOBS_MAX: usize = 64;

/// Longest delay that may be set: beyond it a host is better excluded.
const DELAY_MAX: Span = Span::secs(30 * 24 * 3600);

/// Work on many rows that an order has left to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "job", rename_all = "kebab-case")]
pub enum Job {
    /// Settle what waits and is excluded by now.
    Drop {
        /// The exclusion that asks for it.
        pattern: String,
    },
    /// Bring back what an exclusion refused.
    Include {
        /// The exclusion.
        pattern: String,
    },
    /// Bring back what budgets refused.
    Budget,
    /// Open a host again, and bring back what was refused or failed while it was held.
    Forgive {
        /// Host name.
        host: String,
    },
    /// Bring back what was refused as part of a trap, wherever it is in none any more. No order
    /// leaves this: it follows from the texts of a site.
    Untrap,
    /// Bring back what the filter refused and lets pass by now. No order leaves this: it follows
    /// from other seeds, or another scope, than those of the run before.
    Refilter,
    /// Bring back what was refused for too many hops and is near enough by now. No order leaves
    /// this: it follows from a nearer way to a page that was fetched before.
    Nearer,
    /// Let nothing stand for others that showed a text which passes, and bring back what it stood
    /// for. No order leaves this: it follows from what an audit showed.
    Disown {
        /// Names of the text.
        names: Vec<u64>,
    },
}

impl Job {
    /// Returns the job that an order leaves, if it leaves one.
    pub fn of(order: &Order) -> Option<Job> {
        match order {
            Order::Exclude { pattern, .. } => Some(Job::Drop { pattern: pattern.clone() }),
            Order::Include { pattern } => Some(Job::Include { pattern: pattern.clone() }),
            Order::Budget(budget) => (*budget != Budget::default()).then_some(Job::Budget),
            Order::Forgive { host } => host_name(host).ok().map(|host| Job::Forgive { host }),
            Order::Pause
            | Order::Resume
            | Order::Stop
            | Order::Abort
            | Order::Delay { .. }
            | Order::Rules { .. }
            | Order::Log { .. } => None,
        }
    }
}

/// What an operator changed, as it lasts over restarts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Changes {
    /// No leases are given.
    pub paused: bool,
    /// Exclusions beside those of the configuration.
    pub excluded: Vec<String>,
    /// Exclusions of the configuration that do not hold.
    pub included: Vec<String>,
    /// Least delays by host name.
    pub delays: BTreeMap<String, Span>,
    /// Budgets that replace the configuration's.
    pub budget: Budget,
    /// Whether rules are applied, whatever the configuration says.
    pub rules: Option<bool>,
    /// Hosts whose wishes are waited for however long they are.
    pub forgiven: BTreeSet<String>,
    /// Work that is not done yet.
    pub jobs: Vec<Job>,
}

impl Changes {
    /// Reads what is stored; nothing stored is no change.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub fn read(stored: Option<&str>) -> Result<Changes, String> {
        let Some(text) = stored else { return Ok(Changes::default()) };
        serde_json::from_str(text)
            .map_err(|error| format!("read what an operator changed while it ran: {error}"))
    }

    /// Returns what is stored.
    pub fn write(&self) -> String {
        serde_json::to_string(self).expect("plain data, which serde_json always encodes")
    }

    /// Takes over an order that is state, and notes the job that follows. `filter` is the filter in
    /// force. The answer says what lasts; what is done at once is the caller's business.
    ///
    /// # Errors
    /// Returns why the order cannot be taken; nothing is changed then.
    pub fn make(&mut self, order: &Order, filter: &Filter) -> Result<Answer, Refusal> {
        match order {
            Order::Pause => {
                let text = if self.paused { "paused already" } else { "paused" };
                self.paused = true;
                Ok(Answer::of(text))
            }
            Order::Resume => {
                let text = if self.paused { "going on" } else { "not paused" };
                self.paused = false;
                Ok(Answer::of(text))
            }
            Order::Delay { host, delay } => self.delay(host, *delay),
            Order::Exclude { pattern, .. } => self.exclude(pattern, filter),
            Order::Include { pattern } => self.include(pattern, filter),
            Order::Budget(budget) => {
                if *budget == Budget::default() {
                    return Ok(Answer::of("nothing is changed"));
                }
                self.budget.take(budget);
                self.add_job(Job::Budget)?;
                Ok(Answer::of(budget.to_string()))
            }
            Order::Rules { on, id: None } => {
                self.rules = Some(*on);
                Ok(Answer::of(match on {
                    true => "learned rules are applied",
                    false => {
                        "learned rules are not applied; what they suppressed stays so: \
                         `crawler ctl rules off ID` brings back what one rule suppressed"
                    }
                }))
            }
            Order::Forgive { host } => {
                let host = host_name(host)?;
                full(self.forgiven.len())?;
                self.add_job(Job::Forgive { host: host.clone() })?;
                let text = format!(
                    "{host} is open again; what it asks for (Crawl-delay, Retry-After) is waited \
                     for, however long"
                );
                self.forgiven.insert(host);
                Ok(Answer::of(text))
            }
            Order::Stop | Order::Abort | Order::Log { .. } | Order::Rules { id: Some(_), .. } => {
                let text = "this says something to a running crawl, and none runs here";
                Err(Refusal::new(Kind::Refused, text))
            }
        }
    }

    fn delay(&mut self, host: &str, delay: Option<Span>) -> Result<Answer, Refusal> {
        let host = host_name(host)?;
        let Some(delay) = delay else {
            return match self.delays.remove(&host) {
                Some(_) => Ok(Answer::of(format!("{host}: the delay that is configured"))),
                None => {
                    let text = format!("the delay of {host} was not changed");
                    Err(Refusal::new(Kind::Nothing, text))
                }
            };
        };
        if delay > DELAY_MAX {
            let text = format!("{delay} is more than {DELAY_MAX}; exclude the host instead");
            return Err(Refusal::new(Kind::Usage, text));
        }
        full(self.delays.len())?;
        let text = format!("{host}: at least {delay} between two requests");
        self.delays.insert(host, delay);
        Ok(Answer::of(text))
    }

    fn exclude(&mut self, pattern: &str, filter: &Filter) -> Result<Answer, Refusal> {
        filter.with_exclude(pattern).map_err(|error| {
            Refusal::new(Kind::Usage, format!("`{}`: failed to {error}", pattern.escape_debug()))
        })?;
        full(self.excluded.len())?;
        if filter.settings().exclude.iter().any(|known| known == pattern) {
            let text = format!("`{pattern}` is excluded already");
            return Err(Refusal::new(Kind::Refused, text));
        }
        self.add_job(Job::Drop { pattern: pattern.to_owned() })?;
        let known = self.included.len();
        self.included.retain(|included| included != pattern);
        if self.included.len() == known {
            self.excluded.push(pattern.to_owned());
        }
        // What an earlier order was to bring back stays where it is.
        let back = Job::Include { pattern: pattern.to_owned() };
        self.jobs.retain(|job| *job != back);
        Ok(Answer::of(format!("`{pattern}` is excluded")))
    }

    fn include(&mut self, pattern: &str, filter: &Filter) -> Result<Answer, Refusal> {
        if !filter.settings().exclude.iter().any(|known| known == pattern) {
            let text = format!("`{}` is not excluded", pattern.escape_debug());
            return Err(Refusal::new(Kind::Nothing, text));
        }
        self.add_job(Job::Include { pattern: pattern.to_owned() })?;
        let known = self.excluded.len();
        self.excluded.retain(|excluded| excluded != pattern);
        if self.excluded.len() == known {
            self.included.push(pattern.to_owned());
        }
        Ok(Answer::of(format!("`{pattern}` is no longer excluded")))
    }

    /// Returns how many orders have work left to do.
    pub fn orders_left(&self) -> usize {
        let of_order = |job: &&Job| {
            !matches!(job, Job::Untrap | Job::Refilter | Job::Nearer | Job::Disown { .. })
        };
        self.jobs.iter().filter(of_order).count()
    }

    /// Notes work that no order asked for. One of a kind is enough, so it needs no place of its own
    /// among what waits.
    pub(in crate::crawl) fn ask(&mut self, job: Job) {
        if !self.jobs.contains(&job) {
            self.jobs.push(job);
        }
    }

    fn add_job(&mut self, job: Job) -> Result<(), Refusal> {
        if self.jobs.contains(&job) {
            return Ok(());
        }
        if self.jobs.len() >= JOBS_MAX {
            let text = format!("{JOBS_MAX} orders are still being carried out: try again later");
            return Err(Refusal::new(Kind::Refused, text));
        }
        self.jobs.push(job);
        Ok(())
    }

    /// Returns a filter with the exclusions and budgets that were changed.
    pub fn filter(&self, filter: &Filter) -> Filter {
        let mut filter = filter.clone();
        for pattern in &self.included {
            // One that the configuration has dropped meanwhile needs no exception.
            if let Some(without) = filter.without_exclude(pattern) {
                filter = without;
            }
        }
        for pattern in &self.excluded {
            match filter.with_exclude(pattern) {
                Ok(with) => filter = with,
                Err(error) => tracing::warn!(pattern, %error, "an exclusion cannot be read"),
            }
        }
        filter.with_budgets(|settings| self.budget.write(settings))
    }

    /// Writes the delays and pardons into the rules of politeness.
    pub fn politeness(&self, rules: &Rules) -> Rules {
        let mut rules = rules.clone();
        for (host, delay) in &self.delays {
            rules.set_min_delay(host, *delay);
        }
        for host in &self.forgiven {
            rules.honor_all(host);
        }
        rules
    }
}

fn full(kept: usize) -> Result<(), Refusal> {
    if kept < KEPT_MAX {
        return Ok(());
    }
    let text = format!("{KEPT_MAX} such changes are kept; write them into the configuration");
    Err(Refusal::new(Kind::Refused, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(exclude: &[&str]) -> Filter {
        let exclude = exclude.iter().map(|pattern| (*pattern).to_owned()).collect();
        let settings = crate::filter::Settings { exclude, ..Default::default() };
        Filter::new(&settings, &[]).unwrap()
    }

    #[test]
    fn an_exclusion_that_is_taken_back_leaves_nothing_behind() {
        let mut changes = Changes::default();
        let plain = filter(&[]);
        let add = Order::Exclude { pattern: "a.test".to_owned(), preview: false };
        changes.make(&add, &plain).unwrap();
        let with = changes.filter(&plain);
        assert_eq!(with.settings().exclude, ["a.test"]);
        let again = changes.make(&add, &with).unwrap_err();
        assert_eq!(again.kind, Kind::Refused);
        changes.make(&Order::Include { pattern: "a.test".to_owned() }, &with).unwrap();
        assert_eq!(changes.filter(&plain).settings(), plain.settings());
        changes.jobs.clear();
        assert_eq!(changes, Changes::default());
    }

    #[test]
    fn an_exclusion_of_the_configuration_can_be_taken_back_and_made_again() {
        let mut changes = Changes::default();
        let configured = filter(&["a.test"]);
        let back = Order::Include { pattern: "a.test".to_owned() };
        changes.make(&back, &configured).unwrap();
        let without = changes.filter(&configured);
        assert!(without.settings().exclude.is_empty());
        assert_eq!(changes.make(&back, &without).unwrap_err().kind, Kind::Nothing);
        let add = Order::Exclude { pattern: "a.test".to_owned(), preview: false };
        changes.make(&add, &without).unwrap();
        assert_eq!(changes.filter(&configured).settings(), configured.settings());
        assert!(changes.excluded.is_empty() && changes.included.is_empty());
    }

    #[test]
    fn what_is_stored_is_read_again() {
        let mut changes = Changes::default();
        let plain = filter(&[]);
        let budget = Budget { total_pages: Some(10), ..Budget::default() };
        for order in [
            Order::Pause,
            Order::Delay { host: "A.test".to_owned(), delay: Some(Span::secs(7)) },
            Order::Exclude { pattern: "regex:/x".to_owned(), preview: false },
            Order::Budget(budget),
            Order::Rules { on: false, id: None },
            Order::Forgive { host: "b.test".to_owned() },
        ] {
            changes.make(&order, &plain).unwrap();
        }
        assert_eq!(Changes::read(Some(&changes.write())), Ok(changes.clone()));
        assert_eq!(changes.filter(&plain).settings().total_pages_max, 10);
        let rules = changes.politeness(&Rules::default());
        assert_eq!(rules.of("a.test").min_delay, Span::secs(7));
        assert!(Changes::read(Some("{")).is_err());
    }

    #[test]
    fn what_cannot_be_read_changes_nothing() {
        let mut changes = Changes::default();
        for order in [
            Order::Delay { host: "a b".to_owned(), delay: Some(Span::secs(1)) },
            Order::Delay { host: "a.test".to_owned(), delay: Some(Span::secs(1 << 40)) },
            Order::Delay { host: "a.test".to_owned(), delay: None },
            Order::Exclude { pattern: "regex:(".to_owned(), preview: false },
            Order::Include { pattern: "a.test".to_owned() },
            Order::Stop,
        ] {
            changes.make(&order, &filter(&[])).unwrap_err();
            assert_eq!(changes, Changes::default(), "{order:?}");
        }
    }
}
