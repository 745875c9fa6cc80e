//! From a visit to a batch: everything that an outcome changes, made durable at once.

use std::time::Duration;

use super::admit::Admitted;
use super::behind::Shown;
use super::checks::Alike;
use super::discover::{Link, Via};
use super::error::CrawlError;
use super::evidence::{Marks, Withheld, evidence, evidence_of, fetched_of};
use super::explain::nearest;
use super::learn::News;
use super::log::{Line, NearLine};
use super::near::{self, NearMode};
use super::passing::PASSING;
use super::readmit::shows_a_page;
use super::redirected::{PendingRobots, REDIRECT_WAIT};
use super::repeats::{Standing, query_names_page};
use super::state::State;
use super::visit::{PageFacts, Visit, retry_after, robots_outcome};
use super::watched::Fault;
use super::way;
use crate::clock::Timestamp;
use crate::content;
use crate::content::host::HostPages;
use crate::content::soft_error::Junk;
use crate::db::families::content as contents;
use crate::db::families::meta::ArchivePosition;
use crate::db::families::queue::Item;
use crate::db::families::seen::Depth;
use crate::db::families::{hosts, robots as robots_rows, urls};
use crate::db::{Batch, DbError, Family};
use crate::dust::{Fetched, declared};
use crate::fetch::{Answer, Failed, Failure, Outcome};
use crate::filter::{Directives, Found, Reason};
use crate::frontier::{Behaviour, DoneState, Errand, Lease, Rest, UrlRecord, UrlState, Waiting};
use crate::robots::{self, FetchedRobots};
use crate::url::{CrawlUrl, Origin};

/// Failures of the proxy in a row after which the crawl stops: it is never gone around.
const PROXY_FAILURES_MAX: u32 = 20;

/// Words in one of two pages of the same main text by which they are told apart: a date or a
/// counter has fewer.
const OTHER_WORDS_MIN: u32 = 6;

/// Other ports of a host whose robots.txt is heard for its Crawl-delay.
const PORTS_HEARD_MAX: usize = 64;

impl State {
    /// Settles a visit: log first, then one batch (I5).
    ///
    /// # Errors
    /// Returns what the log or the database says; the crawl must then stop.
    pub(super) fn settle(
        &mut self,
        admitted: Admitted,
        mut visit: Visit,
        content: &content::Settings,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        let mut batch = Batch::default();
        if let Some(address) = visit.moved {
            if let Some(addresses) = &visit.resolved {
                let host = admitted.lease.waiting.url.host();
                self.note_addresses(&mut batch, &host, addresses, visit.ended)?;
            }
            self.regroup(&mut batch, admitted.lease, address, now)?;
            return self.commit(batch, now);
        }
        self.blame(admitted.lease.host, &mut visit, now)?;
        let behaviour = self.note_answer(&admitted.lease, &visit);
        let mut line = self.line_of(&admitted, &visit);
        if matches!(admitted.lease.waiting.errand, Errand::Page) {
            line.beside = self.beside(&admitted)?;
        }
        self.counters.requests += 1;
        if let Outcome::Answer(answer) = &*visit.outcome {
            let class = usize::from(answer.status / 100).min(5);
            self.counters.by_class[class] += 1;
            self.counters.bytes += answer.wire_body.len() as u64;
        }
        self.note_proxy(&visit)?;
        let errand = admitted.lease.waiting.errand.clone();
        match errand {
            Errand::Robots { origin, hops, .. } => {
                self.take_row(&mut batch, &admitted.lease)?;
                self.counters.robots_requests += 1;
                self.settle_robots(&mut batch, &admitted.lease, origin, hops, &visit, now)?;
                line.then = "done".to_owned();
            }
            Errand::Probe(number) => {
                self.take_row(&mut batch, &admitted.lease)?;
                self.counters.probe_requests += 1;
                let asked = &admitted.lease.waiting.url;
                self.settle_probe(&mut batch, number, (asked, &visit), now)?;
                line.then = "done".to_owned();
            }
            Errand::Page => {
                self.counters.in_flight = self.counters.in_flight.saturating_sub(1);
                self.settle_page(&mut batch, &admitted, &visit, content, &mut line, now)?;
            }
        }
        if let Some(written) = &visit.written {
            let position = &written.position;
            self.archive = ArchivePosition { file: position.file.clone(), offset: position.offset };
        }
        if let Some(addresses) = &visit.resolved {
            let host = admitted.lease.waiting.url.host();
            self.note_addresses(&mut batch, &host, addresses, visit.ended)?;
        }
        hosts::delete_lease(&mut batch, &self.db, admitted.lease.host);
        let finished = self.frontier.finish(admitted.lease, behaviour, visit.began, visit.ended);
        self.tally.fetched(admitted.due, visit.began, visit.took, &finished.rest);
        finish_line(&mut line, &finished.rest, finished.record.pace.next_allowed);
        self.log.write(&line)?;
        self.note_fault(&line);
        self.part(&mut batch, finished.record, finished.parting)?;
        self.commit(batch, now)
    }

    /// Says what a visit tells of its host, and notes the port on which it answered. A port on
    /// which nobody answers says nothing of a host that answers on another: else one link to it
    /// would cost all its pages. One that fails to give its robots.txt has answered nothing either.
    fn note_answer(&mut self, lease: &Lease, visit: &Visit) -> Behaviour {
        let behaviour = behaviour_of(visit);
        match behaviour {
            Behaviour::Unreachable { .. }
                if self.answers_elsewhere(lease.host, &lease.waiting.url.origin(), visit.ended) =>
            {
                Behaviour::DeadPort
            }
            Behaviour::Good { .. } | Behaviour::Busy { .. } => {
                let asks_robots = matches!(lease.waiting.errand, Errand::Robots { .. });
                let answers =
                    |answer: &Answer| !asks_robots || !matches!(answer.status, 429 | 500..);
                if matches!(&*visit.outcome, Outcome::Answer(answer) if answers(answer)) {
                    self.answered.put(lease.host, (lease.waiting.url.port(), visit.ended));
                }
                behaviour
            }
            Behaviour::Local { .. } => {
                let since = self.excused.peek(&lease.host).copied();
                let lasted = since.map_or(Duration::ZERO, |since| visit.ended.since(since));
                Behaviour::Local { lasted }
            }
            Behaviour::Unreachable { .. } | Behaviour::DeadPort => behaviour,
        }
    }

    /// Counts failures of the proxy, whatever was asked for through it: the first request of a host
    /// is for its robots.txt.
    ///
    /// # Errors
    /// Returns what the proxy says when it has failed too often in a row.
    fn note_proxy(&mut self, visit: &Visit) -> Result<(), CrawlError> {
        match &*visit.outcome {
            Outcome::Failed(failed) if failed.failure == Failure::ProxyFailed => {
                self.proxy_failures += 1;
                if self.proxy_failures >= PROXY_FAILURES_MAX {
                    return Err(CrawlError::Proxy(failed.detail.clone()));
                }
            }
            Outcome::Failed(_) | Outcome::Answer(_) => self.proxy_failures = 0,
        }
        Ok(())
    }

    /// Remembers a request that brought no page, for observers.
    fn note_fault(&mut self, line: &Line) {
        // That there is no robots.txt, or nothing where a probe looked for nothing, is no failure.
        let asked_for_it = line.purpose != "page" && !matches!(line.status, 429 | 500..);
        if line.failure.is_none() && (line.status < 400 || asked_for_it) {
            return;
        }
        let what = match (&line.failure, &line.detail) {
            (Some(failure), Some(detail)) => format!("{failure}: {detail}"),
            (Some(failure), None) => failure.clone(),
            (None, _) => format!("status {}", line.status),
        };
        let (at, url) = (Timestamp::from_millis(line.at_ms), line.url.clone());
        self.seen_of.note_fault(Fault { at, url, what });
    }

    fn settle_page(
        &mut self,
        batch: &mut Batch,
        admitted: &Admitted,
        visit: &Visit,
        content: &content::Settings,
        line: &mut Line,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        match &*visit.outcome {
            Outcome::Failed(failed) => {
                if visit.outcome.is_busy() && self.put_off_busy(batch, admitted)? {
                    line.then = "busy".to_owned();
                    return Ok(());
                }
                self.settle_failed(batch, admitted, failed, line, now)
            }
            Outcome::Answer(answer) => {
                if answer.asked_to_sign && self.put_off_unsigned(batch, admitted)? {
                    line.then = "retry".to_owned();
                    return Ok(());
                }
                if visit.outcome.is_busy() && self.put_off_busy(batch, admitted)? {
                    line.then = "busy".to_owned();
                    return Ok(());
                }
                line.then = "done".to_owned();
                self.settle_answer(batch, admitted, answer, visit, content, line, now)
            }
        }
    }

    /// Puts a URL that met a busy host at the end of its queue, unpunished; returns false if it has
    /// met one too often to go on.
    fn put_off_busy(&mut self, batch: &mut Batch, admitted: &Admitted) -> Result<bool, CrawlError> {
        let busy = admitted.lease.waiting.busy.saturating_add(1);
        let again = busy < self.settings.busy_answers_max;
        if again {
            self.requeue(batch, admitted, |record| record.busy = busy)?;
            self.count("busy");
        }
        Ok(again)
    }

    /// Puts a URL whose server asks for a signed request at the end of its queue; returns false if
    /// it was tried too often to go on.
    fn put_off_unsigned(
        &mut self,
        batch: &mut Batch,
        admitted: &Admitted,
    ) -> Result<bool, CrawlError> {
        let again = admitted.lease.waiting.attempts < self.settings.retries_max;
        if again {
            self.count("asked-to-sign");
            self.requeue(batch, admitted, |record| {
                record.attempts = record.attempts.saturating_add(1);
            })?;
        }
        Ok(again)
    }

    fn requeue(
        &mut self,
        batch: &mut Batch,
        admitted: &Admitted,
        change: impl FnOnce(&mut UrlRecord),
    ) -> Result<(), CrawlError> {
        self.put_last(batch, &admitted.lease, change)?;
        self.counters.queued += 1;
        self.counters.retries += 1;
        Ok(())
    }

    /// Moves the row of a page, or of a probe, to the end of its queue.
    ///
    /// # Errors
    /// Returns what the database says.
    pub(super) fn put_last(
        &mut self,
        batch: &mut Batch,
        lease: &Lease,
        change: impl FnOnce(&mut UrlRecord),
    ) -> Result<(), CrawlError> {
        let waiting = &lease.waiting;
        let record = self.take_row(batch, lease)?;
        let item = match waiting.errand {
            Errand::Probe(number) => Item::Probe { url: waiting.url.to_string(), number },
            Errand::Page | Errand::Robots { .. } => Item::Page(waiting.fingerprint),
        };
        let place = self.enqueue(batch, lease.host, waiting.place.priority, &item)?;
        if let Some(record) = &record {
            self.shape.add(record.hops, place.priority);
        }
        self.settle_url(batch, waiting.fingerprint, record, |record| {
            change(record);
            record.state = UrlState::Queued(place);
        });
        Ok(())
    }

    fn settle_failed(
        &mut self,
        batch: &mut Batch,
        admitted: &Admitted,
        failed: &Failed,
        line: &mut Line,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        let waiting = &admitted.lease.waiting;
        let most = match failed.failure.retry().max_retries {
            // A fault of ours costs no URL, however often it comes.
            u32::MAX => u32::MAX,
            // Name servers are ours as well: their number of tries spans an hour. And what a kept
            // connection closed on has not been tried on its own.
            most if matches!(failed.failure, Failure::DnsFailed | Failure::KeptClosed) => most,
            most => most.min(u32::from(self.settings.retries_max)),
        };
        if u32::from(waiting.attempts) < most {
            line.then = "retry".to_owned();
            self.count("retry");
            // A fault of ours is no try: else the first failure of the host's after some of them
            // would be the last one.
            let tries = u16::from(!is_fault_of_ours(failed.failure));
            return self.requeue(batch, admitted, |record| {
                record.attempts = record.attempts.saturating_add(tries);
            });
        }
        line.then = "failed".to_owned();
        let record = self.take_row(batch, &admitted.lease)?;
        let reason = failed.failure.name();
        self.settle_url(batch, waiting.fingerprint, record, |record| {
            record.attempts = record.attempts.saturating_add(1);
            record.state = UrlState::Failed {
                reason: reason.to_owned(),
                detail: failed.detail.clone(),
                at: now,
            };
        });
        self.counters.failed += 1;
        self.count(reason);
        Ok(self.give_back(batch, waiting.fingerprint)?)
    }

    #[expect(clippy::too_many_arguments, reason = "one step of `settle`, which owns them all")]
    fn settle_answer(
        &mut self,
        batch: &mut Batch,
        admitted: &Admitted,
        answer: &Answer,
        visit: &Visit,
        content: &content::Settings,
        line: &mut Line,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        let waiting = &admitted.lease.waiting;
        let record = self.take_row(batch, &admitted.lease)?;
        let Some(facts) = visit.page.as_deref() else { return Ok(()) };
        let standing = self.note_content(batch, admitted, answer, visit, facts, content, now)?;
        line.content = judge(answer, facts);
        line.evidence = facts.junk.as_ref().map(|junk| junk.evidence.clone());
        self.tally.near_duplicates += u64::from(facts.near.is_some());
        if let Some(near) = &facts.near
            && let Some(known) = urls::get(&self.db, near.url)?
        {
            let (page, like) = (waiting.fingerprint, near.url);
            let page = (near::page_id(page), line.url.as_str());
            self.seen_of.clusters.note(page, (near::page_id(like), &known.url));
            line.near = Some(NearLine { url: known.url, resemblance: near.resemblance });
        }
        let (queued, has_parts) = (self.counters.queued, self.has_new_parts(admitted, facts)?);
        let is_hidden = admitted.is_audit || self.is_compared(waiting.fingerprint);
        self.behind.open(waiting.fingerprint, is_hidden);
        let followed = self.follow(batch, admitted, facts, record.as_ref(), standing, now);
        let (led_to, forms) = self.behind.close();
        let (version, follow) = followed?;
        let urls = self.counters.queued.saturating_sub(queued).saturating_sub(forms);
        let news = News { urls, led_to, has_parts };
        line.rules = version;
        line.follow = follow;
        let keeps_back = keeps_back(line, visit);
        let stands = self.stands_beside(admitted);
        let kept_back = match stands {
            Some(other) => self.withholds(other)?.map(|what| (other, what)),
            None => None,
        };
        let is_form_of_such = matches!(kept_back, Some((_, Withheld::Links)));
        let fetched = fetched_of(answer, Some(facts));
        let shown = match fetched {
            shown @ Fetched::Page { digest: None, .. } => shown,
            _ if self.is_troubled(admitted) => Fetched::Unavailable,
            shown => shown,
        };
        let marks = Marks::of(facts);
        let own = (waiting.fingerprint, stands.is_some());
        if self.note_shown(own, (shown, marks)) {
            line.content = PASSING.to_owned();
        }
        let done = DoneState {
            at: visit.began,
            status: answer.status,
            bytes: answer.body.len() as u64,
            mime: facts.mime.clone(),
            text_digest: facts
                .analysis
                .as_ref()
                .filter(|analysis| !analysis.thin && facts.junk.is_none())
                .map(|analysis| u128::from_be_bytes(*analysis.text_digest.bytes())),
            record: visit.written.as_ref().map(|w| (w.at.file.clone(), w.at.offset, w.at.length)),
            rules_version: version,
            content: line.content.clone(),
            links: facts.links.len() as u32,
            evidence: evidence(&shown, keeps_back && !is_form_of_such, marks),
        };
        if let Some((other, what)) = kept_back {
            let walled = facts.redirect.as_ref().is_some_and(query_names_page);
            let alike = match what {
                Withheld::Page(to) => Alike::of_redirect(to, (shown, walled)),
                Withheld::Links => {
                    shows_a_page(&done).then(|| Alike::of_links(&waiting.url, keeps_back))
                }
            };
            if let Some(alike) = alike {
                self.note_kept_back(batch, &waiting.url, other, alike)?;
            }
        }
        self.learn(batch, admitted, answer, (facts, (fetched, marks), &news), now)?;
        let shows_a_page = shows_a_page(&done);
        // One more form of what is known is no document, whatever the order of its words.
        let text = match (facts.repeats, &facts.near) {
            (Some(first), _) => Shown::TextOf(first),
            (None, None) if shows_a_page => Shown::New,
            (None, _) => Shown::Other,
        };
        self.behind.shown((waiting.fingerprint, is_hidden), text);
        self.settle_url(batch, waiting.fingerprint, record, |record| {
            record.state = UrlState::Done(Box::new(done));
        });
        self.counters.done += 1;
        self.count(&format!("status-{}", answer.status));
        if let Some(why) = &visit.not_archived {
            self.count(why);
        }
        if !shows_a_page {
            self.give_back(batch, waiting.fingerprint)?;
            // What it led to may have been suppressed for it in this very batch.
            if !facts.links.is_empty() {
                self.note_returning(batch, waiting.fingerprint);
            }
        }
        Ok(())
    }

    /// Notes the content of a page; returns how its links are treated.
    #[expect(clippy::too_many_arguments, reason = "one step of `settle`, which owns them all")]
    fn note_content(
        &mut self,
        batch: &mut Batch,
        admitted: &Admitted,
        answer: &Answer,
        visit: &Visit,
        facts: &PageFacts,
        settings: &content::Settings,
        now: Timestamp,
    ) -> Result<Standing, CrawlError> {
        let waiting = &admitted.lease.waiting;
        let repeats = facts.repeats.is_some();
        let mut standing = self.settle_text(batch, admitted, facts, now)?;
        if facts.payload.is_some() {
            self.settle_payload(batch, admitted, facts, now)?;
        }
        self.slow_down(admitted, visit, standing.slower)?;
        let mut pages = HostPages::default();
        self.change_host(admitted.lease.host, |record| {
            record.done += 1;
            record.bytes += answer.wire_body.len() as u64;
            // Whether its pages are duplicates is asked of what the host shows unasked for.
            record.duplicates += u64::from(repeats && !admitted.is_audit);
            let (fetched, known) = (record.done, record.duplicates);
            pages = HostPages { fetched, known, queued: record.queued };
        })?;
        let known_by_audit = (admitted.is_audit && facts.analysis.is_some()).then_some(repeats);
        standing.repeats |= self.shows_known_texts(&waiting.url, known_by_audit, &pages)?;
        self.counters.duplicates += u64::from(repeats);
        if let Some(junk) = &facts.junk {
            self.counters.junk += 1;
            self.count(junk_code(junk.junk));
            return Ok(standing);
        }
        if let Some(analysis) = &facts.analysis {
            self.learn_page(batch, &waiting.url.site(), analysis, settings)?;
            if !analysis.thin {
                let digest = u128::from_be_bytes(*analysis.text_digest.bytes());
                self.note_first(batch, contents::Kind::Text, digest, waiting, visit)?;
            }
            if !repeats && self.repeats.near_duplicates != NearMode::Off {
                near::add(&self.db, batch, &self.repeats.near, waiting.fingerprint, analysis)?;
            }
        }
        if let Some(key) = facts.payload {
            self.note_first(batch, contents::Kind::Payload, key, waiting, visit)?;
        }
        Ok(standing)
    }

    /// Lets a host that repeats itself rest longer: its present gap, several times.
    fn slow_down(
        &mut self,
        admitted: &Admitted,
        visit: &Visit,
        slower: u32,
    ) -> Result<(), CrawlError> {
        if slower <= 1 {
            return Ok(());
        }
        let settings = self.frontier.rules().of(admitted.lease.name.as_str());
        let (least, most) = (settings.min_delay.get(), settings.max_delay.get());
        Ok(self.change_host(admitted.lease.host, |record| {
            let gap = Duration::from_millis(record.pace.gap_ms).max(least);
            let rest = gap.saturating_mul(slower).min(most.max(gap));
            record.pace.hold_until(visit.ended.plus(rest));
        })?)
    }

    fn note_first(
        &mut self,
        batch: &mut Batch,
        kind: contents::Kind,
        digest: u128,
        waiting: &crate::frontier::Waiting,
        visit: &Visit,
    ) -> Result<(), CrawlError> {
        let Some(written) = visit.written.as_ref().filter(|written| !written.is_revisit) else {
            return Ok(());
        };
        if contents::get(&self.db, kind, digest)?.is_some() {
            return Ok(());
        }
        let first = contents::FirstCapture {
            url: waiting.fingerprint,
            target: waiting.url.to_string(),
            at: written.date,
            payload_digest: written.payload_digest.clone().unwrap_or_default(),
        };
        contents::put(batch, &self.db, kind, digest, &first);
        Ok(())
    }

    /// Offers the links of a page to the schedule gate, redirects first; returns the version of the
    /// rules that judged them and, where the text was known or they were not followed, why.
    fn follow(
        &mut self,
        batch: &mut Batch,
        admitted: &Admitted,
        facts: &PageFacts,
        record: Option<&UrlRecord>,
        standing: Standing,
        now: Timestamp,
    ) -> Result<(u64, Option<String>), CrawlError> {
        let waiting = &admitted.lease.waiting;
        let mut links: Vec<Link> = Vec::new();
        if let Some(target) = &facts.redirect {
            let (found, url) = (Found::Redirect, target.clone());
            links.push(Link { url, found, letter: 'R', nofollow: false, as_link: None });
        }
        let repeats = standing.repeats && !self.shows_other_words(facts)?;
        let duplicate = facts.repeats.is_some();
        let speaks_for_others = admitted.is_audit && duplicate && repeats;
        let directives = Directives {
            nofollow: facts.directives.nofollow,
            noarchive: facts.directives.noarchive,
            duplicate,
            audit: speaks_for_others && self.follows_audit(admitted),
            host_duplicates: repeats,
            soft_error: facts.junk.is_some(),
        };
        let verdict = self.filter.follow(&directives);
        if verdict.accept {
            links.extend(facts.links.iter().cloned());
        } else if !facts.links.is_empty() {
            self.count(verdict.code());
        }
        if matches!(verdict.reason, Reason::DuplicateContent) {
            // The page is archived, and not whole without its parts. Those with a query may be new
            // at each look.
            let is_part =
                |link: &&Link| link.found == Found::Embed && link.url.as_url().query().is_none();
            links.extend(facts.links.iter().filter(is_part).cloned());
        }
        let (hops, hops_max) = self.depth_by_now(waiting, record)?;
        let via = Via {
            url: &waiting.url,
            fingerprint: waiting.fingerprint,
            path: &waiting.path,
            hops,
            hops_max,
            stale: standing.repeats || standing.last || facts.repeats.is_some(),
        };
        let says = !facts.links.is_empty() && (!verdict.accept || facts.repeats.is_some());
        let reason = says.then(|| verdict.code().to_owned());
        Ok((self.discover(batch, &via, &links, now)?, reason))
    }

    /// Returns the depth of a page, given its record: it may have been found nearer since its row
    /// was read. Where its links would lie too deep, it is asked whether a page before it was.
    fn depth_by_now(
        &self,
        waiting: &Waiting,
        record: Option<&UrlRecord>,
    ) -> Result<Depth, DbError> {
        let Some(record) = record else { return Ok((waiting.hops, waiting.hops_max)) };
        let (depth, limit) = ((record.hops, record.hops_max), self.filter.settings().hops_max);
        match way::room(depth, limit) {
            1.. => Ok(depth),
            _ => nearest(&self.db, record, depth, limit),
        }
    }

    /// Returns true where a page that is compared with another one shows parts that nothing has led
    /// to yet.
    fn has_new_parts(&self, admitted: &Admitted, facts: &PageFacts) -> Result<bool, DbError> {
        let own = admitted.lease.waiting.fingerprint;
        if admitted.canonical.is_none() && !self.is_compared(own) {
            return Ok(false);
        }
        for part in facts.links.iter().filter(|link| link.found == Found::Embed) {
            if !self.db.has(Family::Urls, &part.url.fingerprint().to_bytes())? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true where the main text of a page is known and its words are not: a list whose rows
    /// are taken for furniture shows the same text wherever it begins, and leads elsewhere.
    fn shows_other_words(&self, facts: &PageFacts) -> Result<bool, DbError> {
        let (Some(first), Some(analysis)) = (facts.repeats, &facts.analysis) else {
            return Ok(false);
        };
        let Some(record) = urls::get(&self.db, first)? else { return Ok(false) };
        let UrlState::Done(done) = record.state else { return Ok(false) };
        let known = evidence_of(&done.evidence).and_then(Fetched::bag);
        Ok(known.is_some_and(|known| known.differing(&analysis.bag) >= OTHER_WORDS_MIN))
    }

    fn settle_robots(
        &mut self,
        batch: &mut Batch,
        lease: &Lease,
        origin: Origin,
        hops: u32,
        visit: &Visit,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        if is_ours(&visit.outcome) {
            // It says nothing of the file; whoever needs it asks again when the host is due.
            self.redirected.remove(&origin);
            return Ok(());
        }
        let (url, page) = (&lease.waiting.url, &lease.waiting);
        let awaited = self.redirected.get(&origin);
        // Behind a redirect the lease may be one of another host, and knows of no page.
        let depth = match awaited {
            Some(pending) if hops > 0 => pending.depth,
            _ => (page.hops, page.hops_max),
        };
        if hops > 0 && awaited.is_none_or(|pending| (&pending.target, pending.hops) != (url, hops))
        {
            // It came too late: the origin has been asked again meanwhile, or will be.
            return Ok(());
        }
        let outcome = robots_outcome(url, &visit.outcome, &self.agent, &self.robots_settings);
        let fetched = match outcome {
            Ok(fetched) if hops == 0 => fetched.known_by(self.validators(&visit.outcome)),
            Ok(fetched) => fetched,
            Err(_) if hops >= self.robots_settings.redirects_max => FetchedRobots::Redirects,
            Err(target) => {
                return self.follow_robots(batch, origin, (target, hops + 1), depth, now);
            }
        };
        self.redirected.remove(&origin);
        let previous = self.robots_of(&origin)?;
        let entry =
            robots::after_fetch(previous.as_deref(), fetched, visit.ended, &self.robots_settings);
        let host = self.host_id(&origin.host)?;
        let delay = self.crawl_delay(&origin, &entry, visit.ended)?;
        // A port on which nobody answers does not put the host in trouble.
        let is_dead_port = self.answers_elsewhere(host, &origin, visit.ended);
        let failures = if is_dead_port { 0 } else { entry.failures() };
        let rules = self.frontier.rules().of(origin.host.as_str());
        let honoured = rules.honor_crawl_delay_up_to.get();
        self.change_host(host, |record| {
            record.pace.crawl_delay_ms = delay.map(|delay| delay.as_millis() as u64);
            record.robots_failures = failures;
            // Where another host gave the answer, no visit of this one ends with it. Who asks for
            // more than is honoured is parked, and not waited for.
            let asked = delay.filter(|delay| *delay <= honoured);
            if let Some(delay) = asked.filter(|_| record.pace.last_ended > Timestamp::ZERO) {
                record.pace.hold_until(record.pace.last_ended.plus(delay));
            }
        })?;
        self.frontier.refresh(host);
        let sitemaps = entry.robots().map(|robots| robots.sitemaps().to_vec()).unwrap_or_default();
        let clean = entry.robots().map(robots::Robots::clean_params).unwrap_or_default();
        let declared = clean.iter().flat_map(|line| declared::clean_param(line, &origin.host));
        self.tell_declared(origin.host.site(), declared.collect());
        self.set_robots(batch, origin, entry);
        self.discover_sitemaps(batch, lease, depth, &sitemaps, now)
    }

    /// Returns the longest Crawl-delay that a robots.txt of the host asks for, on whichever port:
    /// it is one machine that is spared. A copy that was not renewed for as long as it may be kept
    /// is no longer heard: nothing is asked for on its port.
    fn crawl_delay(
        &self,
        origin: &Origin,
        entry: &robots::Entry,
        now: Timestamp,
    ) -> Result<Option<Duration>, DbError> {
        let of = |entry: &robots::Entry| entry.robots().and_then(robots::Robots::crawl_delay);
        let kept = self.robots_settings.ttl.get();
        let mut longest = of(entry);
        robots_rows::of_other_ports(&self.db, origin, PORTS_HEARD_MAX, |bytes| {
            let heard = robots::Entry::from_bytes(bytes).ok();
            let heard = heard.filter(|entry| entry.is_for(&self.agent));
            let heard = heard.filter(|entry| entry.valid_until.plus(kept) >= now);
            longest = longest.max(heard.as_ref().and_then(of));
        })?;
        Ok(longest)
    }

    fn validators(&self, outcome: &Outcome) -> Option<robots::Validators> {
        let Outcome::Answer(answer) = outcome else { return None };
        let (etag, modified) = (answer.header_text("etag"), answer.header_text("last-modified"));
        robots::Validators::new(etag, modified, answer.began, &self.agent)
    }

    fn discover_sitemaps(
        &mut self,
        batch: &mut Batch,
        lease: &Lease,
        (hops, hops_max): Depth,
        sitemaps: &[String],
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        let url = &lease.waiting.url;
        let resolved = sitemaps.iter().filter_map(|sitemap| url.join(sitemap).ok());
        let found = Found::Manifest;
        let link = |url| Link { url, found, letter: 'M', nofollow: false, as_link: None };
        let links: Vec<Link> = resolved.map(link).collect();
        let via = Via {
            url,
            fingerprint: lease.waiting.fingerprint,
            path: "P",
            hops,
            hops_max,
            stale: false,
        };
        self.discover(batch, &via, &links, now)?;
        Ok(())
    }

    /// A redirect of robots.txt is fetched under a lease of the host that it leads to.
    fn follow_robots(
        &mut self,
        batch: &mut Batch,
        origin: Origin,
        (target, hops): (CrawlUrl, u32),
        depth: Depth,
        now: Timestamp,
    ) -> Result<(), CrawlError> {
        let (host, mut row) = (target.host(), None);
        if !self.redirected.make_room(&origin, now) {
            // It is asked once more when others have been answered.
            let id = self.host_id(&origin.host)?;
            let later = now.plus(REDIRECT_WAIT);
            return Ok(self.change_host(id, |record| record.pace.hold_until(later))?);
        }
        if host != origin.host {
            if let Some(why) = self.refused_target(&target)? {
                return self.lose_robots(batch, origin, why, now);
            }
            let id = self.host_id(&host)?;
            let item = Item::Robots { url: target.to_string(), origin: origin.clone(), hops };
            row = Some((id, self.enqueue(batch, id, 0, &item)?));
        }
        let pending = PendingRobots { target, hops, depth, since: now, row };
        self.redirected.put(origin, pending);
        Ok(())
    }

    fn line_of(&self, admitted: &Admitted, visit: &Visit) -> Line {
        let waiting = &admitted.lease.waiting;
        let purpose = match waiting.errand {
            Errand::Page => "page",
            Errand::Probe(_) => "probe",
            Errand::Robots { .. } => "robots",
        };
        let mut line = Line {
            at: visit.began.to_rfc3339(),
            at_ms: visit.began.as_millis(),
            took_ms: visit.ended.since(visit.began).as_millis() as u64,
            host: admitted.lease.name.to_string(),
            purpose: purpose.to_owned(),
            url: waiting.url.to_string(),
            canonical: admitted.canonical.clone(),
            via: admitted.via.as_ref().map(ToString::to_string),
            path: waiting.path.clone(),
            address: visit.address.map(|address| address.to_string()),
            rules: admitted.rules_version,
            file: visit.written.as_ref().map(|written| written.at.file.clone()),
            offset: visit.written.as_ref().map(|written| written.at.offset),
            digest: visit.written.as_ref().and_then(|w| w.payload_digest.clone()),
            ..Line::default()
        };
        let record = self.frontier.active(admitted.lease.host).map(|active| &active.record);
        line.group = record.and_then(|record| self.frontier.group(record));
        let gap = self.frontier.rules().all().group_delay.get();
        line.group_gap_ms = line.group.map(|_| gap.as_millis() as u64);
        match &*visit.outcome {
            Outcome::Failed(failed) => {
                line.failure = Some(failed.failure.name().to_owned());
                line.detail = Some(failed.detail.clone());
            }
            Outcome::Answer(answer) => answer_line(&mut line, answer, visit.page.as_deref()),
        }
        line
    }
}

fn answer_line(line: &mut Line, answer: &Answer, facts: Option<&PageFacts>) {
    line.status = answer.status;
    line.size = answer.body.len() as u64;
    line.wire = answer.wire_body.len() as u64;
    line.connect_ms = answer.timing.connect.as_millis() as u64;
    line.tls_ms = answer.timing.tls.as_millis() as u64;
    line.first_byte_ms = answer.timing.first_byte.as_millis() as u64;
    line.truncated = answer.truncated.map(|why| format!("{why:?}").to_ascii_lowercase());
    let Some(facts) = facts else { return };
    line.mime.clone_from(&facts.mime);
    line.links = facts.links.len() as u32;
    line.location = facts.redirect.as_ref().map(ToString::to_string);
    line.declared = facts.canonical.as_ref().map(ToString::to_string);
    line.links_dropped = facts.links_dropped;
    line.not_extracted = facts.not_extracted.map(str::to_owned);
    line.problem.clone_from(&facts.problem);
    if let Some(analysis) = &facts.analysis {
        line.text = Some(analysis.text_digest.to_string());
        line.sketch = analysis.sketch.as_ref().map(ToString::to_string);
    }
}

fn finish_line(line: &mut Line, rest: &Rest, next_allowed: Timestamp) {
    line.gap_ms = rest.gap.as_millis() as u64;
    let reason = serde_json::to_value(rest.reason).ok();
    line.gap_reason = reason.and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default();
    line.next_allowed_ms = next_allowed.as_millis();
}

fn judge(answer: &Answer, facts: &PageFacts) -> String {
    if let Some(junk) = &facts.junk {
        return junk_code(junk.junk).to_owned();
    }
    let word = match (&facts.analysis, facts.repeats) {
        _ if !(200..300).contains(&answer.status) => "none",
        (_, Some(_)) => "duplicate",
        (Some(analysis), None) if analysis.thin => "thin",
        (Some(_), None) => "new",
        (None, None) => "none",
    };
    word.to_owned()
}

fn junk_code(junk: Junk) -> &'static str {
    match junk {
        Junk::Soft404 => "junk:soft-404",
        Junk::Login => "junk:login",
        Junk::Consent => "junk:consent",
        Junk::EmptyResult => "junk:empty-result",
    }
}

/// Returns true where a page forbids what another form of it may allow: to follow its links, or to
/// archive it.
fn keeps_back(line: &Line, visit: &Visit) -> bool {
    line.follow.as_deref() == Some(Reason::PageNofollow.code())
        || visit.not_archived.as_deref() == Some(Reason::Noarchive.code())
}

/// True for a fault that says nothing of the host.
fn is_ours(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed(failed) if is_fault_of_ours(failed.failure))
}

fn is_fault_of_ours(failure: Failure) -> bool {
    matches!(failure, Failure::LocalFailure | Failure::ProxyFailed)
}

/// Says what a visit tells of its host.
fn behaviour_of(visit: &Visit) -> Behaviour {
    let took = visit.took;
    match &*visit.outcome {
        Outcome::Answer(answer) if visit.outcome.is_busy() => {
            Behaviour::Busy { took, retry_after: retry_after(answer) }
        }
        Outcome::Answer(_) => Behaviour::Good { took },
        Outcome::Failed(_) if visit.outcome.is_busy() => {
            Behaviour::Busy { took, retry_after: None }
        }
        Outcome::Failed(_) if is_ours(&visit.outcome) => {
            Behaviour::Local { lasted: Duration::ZERO }
        }
        Outcome::Failed(failed) => match failed.failure.retry().host_failures_max {
            Some(most) => Behaviour::Unreachable { took, most },
            None => Behaviour::Good { took },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawl::admit::REDIRECT_PATIENCE;
    use crate::crawl::readmit::tests::{open, url};
    use crate::crawl::redirected::REDIRECTS_MAX;
    use crate::db::MemoryEnv;

    /// Each host of a list of bare names whose robots.txt leads elsewhere took memory, until that
    /// had answered or for ever.
    #[test]
    fn redirected_robots_txts_are_remembered_up_to_a_bound_and_not_for_ever() {
        let (env, mut now) = (MemoryEnv::new().unwrap(), Timestamp::from_millis(1));
        let logs = tempfile::tempdir().unwrap();
        let mut state = open(&env, logs.path(), now);
        let target = url("http://www.example/robots.txt");
        let origin = |n: usize| url(&format!("http://h{n}.example/")).origin();
        for n in 0..REDIRECTS_MAX {
            let (target, depth) = (target.clone(), (0, None));
            let pending = PendingRobots { target, hops: 1, depth, since: now, row: None };
            state.redirected.put(origin(n), pending);
        }
        let follow = |state: &mut State, now: Timestamp| {
            let mut batch = Batch::default();
            let more = origin(REDIRECTS_MAX);
            state.follow_robots(&mut batch, more, (target.clone(), 1), (0, None), now).unwrap();
            state.commit(batch, now).unwrap();
        };
        follow(&mut state, now);
        assert!(state.redirected.get(&origin(REDIRECTS_MAX)).is_none());
        let id = state.host_id(&origin(REDIRECTS_MAX).host).unwrap();
        let record = state.host(id).unwrap().unwrap();
        assert_eq!(record.pace.next_allowed, now.plus(REDIRECT_WAIT));
        now = now.plus(REDIRECT_PATIENCE);
        follow(&mut state, now);
        assert!(state.redirected.get(&origin(REDIRECTS_MAX)).is_some());
        assert!((0..REDIRECTS_MAX).all(|n| state.redirected.get(&origin(n)).is_none()));
    }
}
