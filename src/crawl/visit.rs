//! One visit: everything that happens under one lease, outside the loop.
//!
//! Resolve, fetch, judge the content, archive; in this order, and the archive last, so that the
//! order of records is the order in which visits can be committed.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::beside;
use super::discover::Link;
use super::edge::{Edge, Store};
use super::names;
use super::near::{Near, nearest};
use super::way;
use crate::archive::{ArchiveError, Capture, Profile, RevisitOf, Written};
use crate::clock::Timestamp;
use crate::content::near::NearSettings;
use crate::content::soft_error::{HostErrors, JunkVerdict};
use crate::content::{self, Analysis, Boilerplate, Content};
use crate::db::families::content::{self as contents, FirstCapture};
use crate::db::{Db, DbError};
use crate::dns::{DnsFailure, Resolve};
use crate::extract;
use crate::fetch::{Answer, Failed, Failure, Fetch, Outcome, Purpose, Request, Truncated};
use crate::filter::{Filter, Found, Reason, Verdict};
use crate::frontier::group_of_address;
use crate::robots::{self, Directives, Validators};
use crate::url::{CrawlUrl, Fingerprint};

/// What a visit needs to know.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) url: CrawlUrl,
    pub(super) purpose: Purpose,
    /// Whether it was tried before.
    pub(super) again: bool,
    pub(super) path: String,
    pub(super) via: Option<CrawlUrl>,
    pub(super) rules_version: u64,
    /// The group that the lease is of, where addresses are kept apart.
    pub(super) group: Option<u64>,
    /// What robots.txt said, in words, for the archive.
    pub(super) robots: Option<String>,
    /// What robots.txt says of the use of contents: name and value as they stood.
    pub(super) usage: Vec<(String, String)>,
    /// By what to ask whether our copy is still the latest.
    pub(super) validators: Option<Validators>,
    /// What repeats on the pages of this site.
    pub(super) boilerplate: Arc<Boilerplate>,
    /// How the host answers to what cannot exist.
    pub(super) errors: Arc<HostErrors>,
    pub(super) tools: Arc<Tools>,
}

/// What all visits share.
#[derive(Debug)]
pub(super) struct Tools {
    pub(super) db: Arc<Db>,
    pub(super) filter: Arc<Filter>,
    pub(super) extract: extract::Settings,
    pub(super) content: content::Settings,
    /// When pages are near-duplicates; `None` if they are not looked for at once.
    pub(super) near: Option<NearSettings>,
    pub(super) agent: String,
    /// Whether known payloads become revisit records.
    pub(super) revisits: bool,
    /// Whether answers of name servers are archived.
    pub(super) dns: bool,
    /// Room for pages that were read and that the loop has not settled yet: what is known of a page
    /// takes several times the memory of its body, with which others wait.
    pub(super) room: Arc<Semaphore>,
}

/// Pages that were read and are not settled yet.
pub(super) const READ_AT_ONCE: usize = 16;

/// What a visit came to.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) began: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) took: Duration,
    pub(super) outcome: Arc<Outcome>,
    pub(super) address: Option<IpAddr>,
    /// All addresses of the name, where it was resolved anew.
    pub(super) resolved: Option<Vec<IpAddr>>,
    pub(super) page: Option<Box<PageFacts>>,
    /// An address of the name, where none is of the group that the lease is of: nothing was asked
    /// of it.
    pub(super) moved: Option<IpAddr>,
    /// Why the answer was not archived, where a gate or a directive said so.
    pub(super) not_archived: Option<String>,
    pub(super) written: Option<Written>,
    /// What it holds of [`Tools::room`] until it is settled.
    pub(super) room: Option<OwnedSemaphorePermit>,
}

/// What was learned from a page.
#[derive(Debug)]
pub(super) struct PageFacts {
    pub(super) mime: String,
    /// The body is HTML, by its type or its first bytes.
    pub(super) is_html: bool,
    pub(super) links: Vec<Link>,
    /// Links that were left out, being too many or too long.
    pub(super) links_dropped: u32,
    /// Code of the reason for which no links were looked for.
    pub(super) not_extracted: Option<&'static str>,
    /// What kept a part of the body from being read.
    pub(super) problem: Option<String>,
    pub(super) canonical: Option<CrawlUrl>,
    pub(super) redirect: Option<CrawlUrl>,
    pub(super) directives: Directives,
    pub(super) analysis: Option<Analysis>,
    /// Pictures that it shows: see [`beside::pictures`].
    pub(super) pictures: Vec<u64>,
    pub(super) title: Option<String>,
    /// The URL that had this text first, if it is another one.
    pub(super) repeats: Option<Fingerprint>,
    /// What its payload is known by, where it came whole.
    pub(super) payload: Option<u128>,
    /// Another URL had this payload first.
    pub(super) known_payload: bool,
    /// The most alike page that is known, looked for where the text is not known.
    pub(super) near: Option<Near>,
    /// What the page is instead of content.
    pub(super) junk: Option<JunkVerdict>,
}

/// Why a visit came to nothing that can be committed.
#[derive(Debug)]
pub(super) enum VisitError {
    Db(DbError),
    Archive(ArchiveError),
}

/// Waits between two tries to write a capture to a full disk.
const FULL_DISK_PAUSE: Duration = Duration::from_secs(5);

/// Makes one visit.
pub(super) async fn visit<R, F, S>(
    edge: Arc<Edge<R, F, S>>,
    task: Task,
) -> Result<Visit, VisitError>
where
    R: Resolve,
    F: Fetch,
    S: Store,
{
    let began = edge.clock.now();
    let resolved = names::resolve(&edge, &task.url.host(), task.tools.dns).await?;
    let fresh = resolved.as_ref().ok().filter(|r| !r.cached).map(|r| r.addresses.clone());
    let mut moved = None;
    let resolved = resolved.map(|mut resolved| {
        if let Some(group) = task.group {
            moved = resolved.addresses.first().copied();
            resolved.addresses.retain(|address| group_of_address(*address) == group);
            moved = moved.filter(|_| resolved.addresses.is_empty());
        }
        resolved
    });
    let outcome = match resolved {
        Ok(_) if moved.is_some() => Outcome::Failed(elsewhere(began, edge.clock.now())),
        Ok(resolved) => {
            let request = Request {
                url: task.url.clone(),
                addresses: resolved.addresses,
                purpose: task.purpose,
                etag: task.validators.as_ref().and_then(|known| known.etag.clone()),
                last_modified: task
                    .validators
                    .as_ref()
                    .and_then(|known| known.last_modified.clone()),
                // A robots.txt is asked for seldom, and counts its failures elsewhere.
                fresh: task.again || task.purpose == Purpose::Robots,
            };
            edge.fetch.fetch(request).await
        }
        Err(failure) => Outcome::Failed(unresolved(failure, began, edge.clock.now())),
    };
    let ended = edge.clock.now();
    let outcome = Arc::new(outcome);
    let (began, took, address) = match &*outcome {
        Outcome::Answer(answer) => (answer.began, answer.timing.total, Some(answer.address)),
        Outcome::Failed(failed) => (failed.began, failed.took, failed.address),
    };
    let mut visit = Visit {
        began,
        ended,
        took,
        outcome: outcome.clone(),
        address,
        resolved: fresh,
        page: None,
        moved,
        not_archived: None,
        written: None,
        room: None,
    };
    if visit.moved.is_some() {
        return Ok(visit);
    }
    if matches!(*outcome, Outcome::Answer(_)) {
        visit.room = task.tools.room.clone().acquire_owned().await.ok();
    }
    let mut revisit = unchanged(&task, &outcome);
    let (task, facts) = read(task, &outcome).await?;
    if let (Outcome::Answer(answer), Some(mut facts)) = (&*outcome, facts) {
        visit.not_archived = refused_by_archive_gate(&task, answer, &facts);
        let first = earlier(&task, &facts).map_err(VisitError::Db)?;
        let own = task.url.fingerprint();
        facts.known_payload = first.as_ref().is_some_and(|first| first.url != own);
        revisit = first.filter(|_| task.tools.revisits).map(revisit_of);
        visit.page = Some(Box::new(facts));
    }
    if visit.not_archived.is_none() {
        let capture = Arc::new(capture(task, outcome, revisit));
        visit.written = Some(patiently(|| edge.store.write(capture.clone())).await?);
    }
    Ok(visit)
}

/// Decoded bytes from which on a page is read where that holds no other host up: half a second of
/// work, at the worst.
const READ_ASIDE: usize = 1 << 20;

/// Reads a page; what is none has no facts.
async fn read(task: Task, outcome: &Arc<Outcome>) -> Result<(Task, Option<PageFacts>), VisitError> {
    let large = match &**outcome {
        Outcome::Answer(answer) => answer.body.len() > READ_ASIDE,
        Outcome::Failed(_) => false,
    };
    if !large {
        let facts = facts_of(&task, outcome).map_err(VisitError::Db)?;
        return Ok((task, facts));
    }
    let outcome = outcome.clone();
    let aside = tokio::task::spawn_blocking(move || {
        let facts = facts_of(&task, &outcome);
        (task, facts)
    });
    match aside.await {
        Ok((task, facts)) => Ok((task, facts.map_err(VisitError::Db)?)),
        // A bug of ours is told by whoever joins this visit.
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        // The runtime is going down, and this visit with it.
        Err(_) => std::future::pending().await,
    }
}

fn facts_of(task: &Task, outcome: &Outcome) -> Result<Option<PageFacts>, DbError> {
    match (outcome, task.purpose) {
        (Outcome::Answer(answer), Purpose::Page | Purpose::Probe) => {
            page_facts(task, answer).map(Some)
        }
        (Outcome::Answer(_), Purpose::Robots) | (Outcome::Failed(_), _) => Ok(None),
    }
}

/// Writes to the archive; while the disk is full it waits, for the loop has paused the crawl
/// meanwhile and an operator is expected. It ends with the crawl, which aborts its visits.
pub(super) async fn patiently<T, F>(attempt: impl Fn() -> F) -> Result<T, VisitError>
where
    F: Future<Output = Result<T, ArchiveError>>,
{
    let mut said = false;
    loop {
        match attempt().await {
            Ok(written) => return Ok(written),
            Err(error) if error.is_full() => {
                if !std::mem::replace(&mut said, true) {
                    tracing::warn!(%error, "a visit waits until its records can be written");
                }
                tokio::time::sleep(FULL_DISK_PAUSE).await;
            }
            Err(error) => return Err(VisitError::Archive(error)),
        }
    }
}

/// A visit that may not be made says nothing of the host.
fn elsewhere(began: Timestamp, ended: Timestamp) -> Failed {
    let detail = "its address is of another group".to_owned();
    Failed {
        failure: Failure::LocalFailure,
        ..unresolved(DnsFailure::Failed(detail), began, ended)
    }
}

fn unresolved(failure: DnsFailure, began: Timestamp, ended: Timestamp) -> Failed {
    let (failure, detail) = match failure {
        DnsFailure::NotFound => (Failure::DnsNotFound, "the name has no address".to_owned()),
        DnsFailure::Refused(addresses) => {
            let list: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            let detail = format!("address not allowed: {}; see dns.allow_private", list.join(", "));
            (Failure::AddressRefused, detail)
        }
        DnsFailure::Failed(detail) => (Failure::DnsFailed, detail),
    };
    Failed {
        failure,
        detail,
        began,
        took: ended.since(began),
        address: None,
        request_block: None,
        received: bytes::Bytes::new(),
    }
}

fn capture(task: Task, outcome: Arc<Outcome>, revisit: Option<RevisitOf>) -> Capture {
    Capture {
        purpose: task.purpose,
        path: task.path,
        via: task.via,
        rule_version: task.rules_version,
        robots: task.robots,
        usage: task.usage,
        revisit,
        ..Capture::new(task.url, outcome)
    }
}

fn page_facts(task: &Task, answer: &Answer) -> Result<PageFacts, DbError> {
    let content_type = answer.header_text("content-type");
    let location = answer.header_url("location");
    let redirect = redirect_of(&task.url, answer.status, location.as_deref());
    let is_whole = answer.status == 200 && !answer.payload.is_empty() && answer.is_whole();
    let mut facts = PageFacts {
        mime: media_type(content_type.as_deref().unwrap_or_default()),
        is_html: true,
        links: Vec::new(),
        links_dropped: 0,
        not_extracted: None,
        problem: None,
        canonical: None,
        redirect,
        directives: Directives::default(),
        analysis: None,
        pictures: Vec::new(),
        title: None,
        repeats: None,
        payload: is_whole.then(|| payload_key(answer)),
        known_payload: false,
        near: None,
        junk: None,
    };
    let link_headers: Vec<String> = answer.header_urls("link").collect();
    let page = extract::Page {
        url: &task.url,
        content_type: content_type.as_deref(),
        link_headers: &link_headers,
        body: &answer.body,
    };
    facts.is_html = extract::is_html(&page);
    let meta = read_page(task, answer, &page, &mut facts)?;
    let tags: Vec<String> = answer.header_texts("x-robots-tag").collect();
    facts.directives = Directives::read(
        meta.iter().map(|(name, content)| (name.as_str(), content.as_str())),
        tags.iter().map(String::as_str),
        &task.tools.agent,
    );
    Ok(facts)
}

/// Reads body and header fields as far as the extract gate allows; returns what the page itself
/// asks of robots, which holds whether its links are looked for or not.
fn read_page(
    task: &Task,
    answer: &Answer,
    page: &extract::Page<'_>,
    facts: &mut PageFacts,
) -> Result<Vec<(String, String)>, DbError> {
    let (settings, length) = (&task.tools.extract, answer.body.len() as u64);
    // What robots.txt or an index names as a sitemap is one, whatever its type says.
    let sitemap = way::is_sitemap(&task.path);
    let is_list = sitemap || extract::is_list(page);
    let typed = page.content_type.filter(|_| !sitemap);
    let gate = task.tools.filter.extract(answer.status, typed, length, is_list);
    if !gate.accept {
        facts.not_extracted = Some(gate.code());
        if leads_by_its_head(&gate) {
            let head = extract::Page { body: &[], ..*page };
            take_links(&task.url, extract::extract(&head, settings), answer, facts);
        }
        let is_html = extract::is_html(page);
        return Ok(if is_html { extract::extract(page, settings).meta_robots } else { Vec::new() });
    }
    let extract = if sitemap { extract::extract_sitemap } else { extract::extract };
    let mut extracted = extract(page, settings);
    let meta = std::mem::take(&mut extracted.meta_robots);
    if (200..300).contains(&answer.status) {
        judge_text(task, &extracted, facts)?;
    }
    facts.title = extracted.title.take();
    facts.problem = problem(&extracted);
    take_links(&task.url, extracted, answer, facts);
    Ok(meta)
}

/// Returns true where the gate refuses a body and not what is said before it.
fn leads_by_its_head(gate: &Verdict) -> bool {
    matches!(gate.reason, Reason::EmptyBody | Reason::TooLongToExtract(_))
}

/// Takes over the links of a page, with that of its `Refresh` header.
fn take_links(
    url: &CrawlUrl,
    extracted: extract::Extracted,
    answer: &Answer,
    facts: &mut PageFacts,
) {
    facts.canonical = extracted.canonical;
    facts.links_dropped = extracted.links_dropped.saturating_add(extracted.links_too_long);
    facts.pictures = beside::pictures(url, &extracted.links);
    facts.links = extracted.links.into_iter().map(link_of).collect();
    let refresh = answer.header_url("refresh");
    if let Some(url) = refresh_of(url, refresh.as_deref()) {
        let (found, letter) = (Found::Redirect, 'R');
        facts.links.push(Link { url, found, letter, nofollow: false, as_link: None });
    }
}

/// Returns where an answer of this status redirects to, by its `Location`.
pub(super) fn redirect_of(url: &CrawlUrl, status: u16, location: Option<&str>) -> Option<CrawlUrl> {
    let location = location.filter(|_| matches!(status, 301 | 302 | 303 | 307 | 308))?;
    url.join(location).ok()
}

/// Returns where an answer leads by its `Refresh` header.
pub(super) fn refresh_of(url: &CrawlUrl, refresh: Option<&str>) -> Option<CrawlUrl> {
    url.join(extract::refresh_target(refresh?)?).ok()
}

/// Bytes of what is said about a body that could not be read to its end.
const PROBLEM_MAX: usize = 200;

/// Says what kept a part of a body from being read.
fn problem(extracted: &extract::Extracted) -> Option<String> {
    let cut = extracted.truncated_body.then(|| "longer than what is read".to_owned());
    let mut said = extracted.errors.first().cloned().or(cut)?;
    said.truncate(said.floor_char_boundary(PROBLEM_MAX));
    Some(said)
}

/// Returns the media type of a `Content-Type`, without what cannot stand in one and would only do
/// harm in logs, and no longer than any that is registered.
fn media_type(content_type: &str) -> String {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let sound = essence.chars().take_while(char::is_ascii_graphic).take(MEDIA_TYPE_MAX);
    sound.collect::<String>().to_ascii_lowercase()
}

/// Two names of at most 127 characters with a slash between (RFC 6838 §4.2).
const MEDIA_TYPE_MAX: usize = 255;

fn link_of(link: extract::Link) -> Link {
    let letter = link.kind.hop_letter();
    let as_link = link.as_link.filter(|_| way::is_free(letter));
    Link {
        url: link.url,
        found: way::found_by(letter),
        letter,
        nofollow: link.rel_nofollow,
        as_link,
    }
}

thread_local! {
    static CONTENT: std::cell::RefCell<Option<Content>> = const { std::cell::RefCell::new(None) };
}

/// Analyses the text of a page, looks whether it is known, and judges whether it is content at all.
fn judge_text(
    task: &Task,
    extracted: &extract::Extracted,
    facts: &mut PageFacts,
) -> Result<(), DbError> {
    if extracted.kind != extract::DocumentKind::Html || extracted.blocks.is_empty() {
        return Ok(());
    }
    let blocks = blocks_of(extracted);
    let page = text_page(&task.url, extracted, &blocks);
    let analysis = CONTENT.with_borrow_mut(|content| {
        let content = content.get_or_insert_with(|| Content::new(task.tools.content.clone()));
        content.analyse(&page, &task.boilerplate)
    });
    facts.repeats = known_text(task, &analysis)?;
    // A probe is no page: what it shows is noted as the host's way of saying "nothing here".
    if task.purpose == Purpose::Page {
        facts.junk = task.errors.judge(&content::soft_error::Answer {
            target: task.url.path_and_query(),
            title: extracted.title.as_deref().unwrap_or_default(),
            blocks: &blocks,
            analysis: &analysis,
            password_field: extracted.password_field,
            text_seen_elsewhere: facts.repeats.is_some(),
        });
    }
    let looks = facts.junk.is_none() && facts.repeats.is_none() && task.purpose == Purpose::Page;
    if let Some(settings) = task.tools.near.as_ref().filter(|_| looks) {
        facts.near = nearest(&task.tools.db, settings, task.url.fingerprint(), &analysis)?;
    }
    facts.analysis = Some(analysis);
    Ok(())
}

/// Returns the blocks of a page as the content stage takes them.
pub fn blocks_of(extracted: &extract::Extracted) -> Vec<content::Block<'_>> {
    extracted.blocks.iter().map(block_of).collect()
}

/// Returns a page as the content stage takes it, given its blocks ([`blocks_of`]).
pub fn text_page<'a>(
    url: &'a CrawlUrl,
    extracted: &'a extract::Extracted,
    blocks: &'a [content::Block<'a>],
) -> content::Page<'a> {
    let (links, target) = (extracted.links.len(), url.path_and_query());
    content::Page { blocks, links, target, fields: &extracted.fields }
}

/// Returns a block of a page as the content stage takes it.
pub fn block_of(block: &extract::TextBlock) -> content::Block<'_> {
    use content::{BlockKind, Region};
    content::Block {
        text: &block.text,
        link_chars: block.link_chars,
        path: block.path,
        kind: match block.tag {
            extract::BlockTag::Paragraph => BlockKind::Paragraph,
            extract::BlockTag::Heading => BlockKind::Heading,
            extract::BlockTag::ListItem => BlockKind::ListItem,
            extract::BlockTag::Cell => BlockKind::Cell,
            extract::BlockTag::Other => BlockKind::Other,
        },
        region: match block.region {
            extract::Region::None => Region::None,
            extract::Region::Nav => Region::Nav,
            extract::Region::Header => Region::Header,
            extract::Region::Footer => Region::Footer,
            extract::Region::Aside => Region::Aside,
            extract::Region::Form => Region::Form,
            extract::Region::Main | extract::Region::Article => Region::Main,
        },
    }
}

fn refused_by_archive_gate(task: &Task, answer: &Answer, facts: &PageFacts) -> Option<String> {
    if task.purpose == Purpose::Probe {
        return Some("probe".to_owned());
    }
    let directives = crate::filter::Directives {
        nofollow: facts.directives.nofollow,
        noarchive: facts.directives.noarchive,
        ..crate::filter::Directives::default()
    };
    let content_type = answer.header_text("content-type");
    let length = answer.wire_body.len() as u64;
    let verdict =
        task.tools.filter.archive(answer.status, content_type.as_deref(), length, &directives);
    (!verdict.accept).then(|| verdict.code().to_owned())
}

/// Looks for an earlier capture of the same payload.
fn earlier(task: &Task, facts: &PageFacts) -> Result<Option<FirstCapture>, DbError> {
    let Some(key) = facts.payload else { return Ok(None) };
    contents::get(&task.tools.db, contents::Kind::Payload, key)
}

/// Returns what a payload is known by. Replayers take the head from a revisit record and the body
/// from the record that it names: where the two are not framed alike, they show chunk sizes.
fn payload_key(answer: &Answer) -> u128 {
    let framing = answer.header_text("transfer-encoding").map(|text| text.to_ascii_lowercase());
    let seed = framing.map_or(0, |framing| xxhash_rust::xxh3::xxh3_64(framing.as_bytes()));
    xxhash_rust::xxh3::xxh3_128_with_seed(&answer.payload, seed)
}

/// Returns the capture that an answer of 304 speaks of.
fn unchanged(task: &Task, outcome: &Outcome) -> Option<RevisitOf> {
    let known = task.validators.as_ref()?;
    let Outcome::Answer(answer) = outcome else { return None };
    (answer.status == 304).then(|| RevisitOf {
        uri: task.url.to_string(),
        date: known.at,
        record_id: None,
        payload_digest: None,
        profile: Profile::ServerNotModified,
    })
}

fn revisit_of(first: FirstCapture) -> RevisitOf {
    RevisitOf {
        uri: first.target,
        date: first.at,
        record_id: None,
        payload_digest: Some(first.payload_digest),
        profile: Profile::IdenticalPayload,
    }
}

/// Returns the URL that had this text first, if it is another one.
fn known_text(task: &Task, analysis: &Analysis) -> Result<Option<Fingerprint>, DbError> {
    if analysis.thin {
        return Ok(None);
    }
    let digest = u128::from_be_bytes(*analysis.text_digest.bytes());
    let first = contents::get(&task.tools.db, contents::Kind::Text, digest)?;
    let own = task.url.fingerprint();
    Ok(first.map(|first| first.url).filter(|url| *url != own))
}

/// Returns what a fetch of robots.txt came to.
///
/// # Errors
/// Returns where it redirects, which is to be fetched next.
pub fn robots_outcome(
    url: &CrawlUrl,
    outcome: &Outcome,
    agent: &str,
    settings: &robots::Settings,
) -> Result<robots::FetchedRobots, CrawlUrl> {
    use robots::FetchedRobots;
    let answer = match outcome {
        Outcome::Failed(failed) => {
            return Ok(FetchedRobots::NoAnswer(failed.detail.clone()));
        }
        Outcome::Answer(answer) => answer,
    };
    if matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
        let target = answer.header_url("location").and_then(|to| url.join(&to).ok());
        return match target {
            Some(target) if target.has_bad_port() => {
                let detail = format!("it redirects to port {}", target.port());
                Ok(FetchedRobots::NoAnswer(detail))
            }
            target => target.map_or(Ok(FetchedRobots::Redirects), Err),
        };
    }
    let whole = answer.body.len() >= settings.max_bytes.as_len();
    if let Some(why) = answer.truncated.filter(|_| !whole).and_then(broken_off)
        && (200..300).contains(&answer.status)
    {
        return Ok(FetchedRobots::NoAnswer(format!("the answer was {why}")));
    }
    let fetched = FetchedRobots::from_answer(answer.status, &answer.body, agent, settings);
    Ok(fetched.asking(max_age(answer), retry_after(answer)))
}

/// The longest rest that Retry-After may ask for, in seconds: a year.
const RETRY_AFTER_MAX: u64 = 366 * 24 * 3600;

/// Says how a robots.txt was lost on the way, so that rules are missing which nobody knows. What
/// was cut at our own limit counts as far as it goes (RFC 9309 §2.5).
fn broken_off(why: Truncated) -> Option<&'static str> {
    match why {
        Truncated::Time => Some("too slow"),
        Truncated::Disconnect => Some("cut off"),
        Truncated::Unspecified | Truncated::Undecoded => Some("of a broken coding"),
        Truncated::Length => None,
    }
}

fn max_age(answer: &Answer) -> Option<Duration> {
    answer.header_texts("cache-control").find_map(|control| {
        let control = control.to_ascii_lowercase();
        let said = control.split(',').find_map(|part| part.trim().strip_prefix("max-age="))?;
        // The quoted form is to be read as well (RFC 9111 §5.2).
        said.trim().trim_matches('"').parse().ok().map(Duration::from_secs)
    })
}

/// Reads Retry-After, in seconds or as a date (RFC 9110 §10.2.3); a date counts from that of the
/// answer, where it has one, since the server's clock may be wrong. One that asks for no rest says
/// nothing, and one that asks for longer than a year counts as a year.
pub fn retry_after(answer: &Answer) -> Option<Duration> {
    let text = answer.header_text("retry-after")?;
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let asked = match text.parse::<u64>() {
        Ok(secs) => Duration::from_secs(secs.min(RETRY_AFTER_MAX)),
        // More than the number holds.
        Err(_) if is_number => Duration::from_secs(RETRY_AFTER_MAX),
        Err(_) => {
            let until = httpdate::parse_http_date(&text).ok()?;
            let date = answer.header_text("date");
            let said = date.and_then(|date| httpdate::parse_http_date(&date).ok());
            let ended = answer.began.plus(answer.timing.total);
            let ended = std::time::UNIX_EPOCH + Duration::from_millis(ended.as_millis());
            until.duration_since(said.unwrap_or(ended)).ok()?
        }
    };
    (!asked.is_zero()).then_some(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an answer of the year 2026 with these headers.
    fn answer(headers: &[(&str, &str)]) -> Answer {
        let named = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned().into());
        Answer {
            status: 503,
            version: crate::fetch::HttpVersion::Http11,
            headers: headers.iter().map(named).collect(),
            request_block: Default::default(),
            head_block: Default::default(),
            wire_body: Default::default(),
            payload: "a page".into(),
            body: Default::default(),
            truncated: None,
            address: [127, 0, 0, 1].into(),
            tls: None,
            began: Timestamp::from_millis(1_790_000_000_000),
            timing: Default::default(),
            asked_to_sign: false,
        }
    }

    /// Returns what is read from an answer with this Retry-After and Date.
    fn read(asked: &str, date: Option<&str>) -> Option<u64> {
        let mut headers = vec![("retry-after", asked)];
        headers.extend(date.map(|date| ("date", date)));
        retry_after(&answer(&headers)).map(|asked| asked.as_secs())
    }

    /// pywb showed a page that came with a length, and repeats one that came in chunks, with the
    /// sizes of those chunks in it.
    #[test]
    fn a_payload_repeats_none_that_is_framed_otherwise() {
        let key = |framing: &[(&str, &str)]| payload_key(&answer(framing));
        let (plain, chunked) = (key(&[]), key(&[("transfer-encoding", "chunked")]));
        assert_ne!(plain, chunked);
        assert_eq!(plain, xxhash_rust::xxh3::xxh3_128(b"a page"), "as states have it");
        assert_eq!(plain, key(&[("content-length", "6")]));
        assert_eq!(chunked, key(&[("transfer-encoding", "Chunked")]));
        assert_ne!(chunked, key(&[("transfer-encoding", "gzip, chunked")]));
    }

    #[test]
    fn how_long_a_robots_txt_may_be_kept_is_found_in_any_of_its_fields() {
        let two = [("cache-control", "public"), ("cache-control", "no-transform, Max-Age=60")];
        assert_eq!(max_age(&answer(&two)), Some(Duration::from_secs(60)));
        let quoted = [("cache-control", "max-age=\"60\"")];
        assert_eq!(max_age(&answer(&quoted)), Some(Duration::from_secs(60)));
        assert_eq!(max_age(&answer(&[("cache-control", "s-maxage=60")])), None);
    }

    #[test]
    fn a_wish_to_be_left_alone_is_read_by_the_clock_of_the_server() {
        let until = "Mon, 21 Sep 2026 14:13:50 GMT";
        assert_eq!(read("120", None), Some(120));
        assert_eq!(read("999999999999", None), Some(RETRY_AFTER_MAX));
        assert_eq!(read(&"9".repeat(40), None), Some(RETRY_AFTER_MAX), "more than a number holds");
        assert_eq!(read(until, None), Some(30), "our clock shows 14:13:20");
        assert_eq!(read(until, Some("Mon, 21 Sep 2026 14:12:50 GMT")), Some(60));
        assert_eq!(read(until, Some("Mon, 21 Sep 2026 16:12:50 GMT")), None, "it is over");
        assert_eq!((read("0", None), read("soon", None)), (None, None), "which asks for no rest");
    }
}
