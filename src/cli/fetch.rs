//! `crawler fetch`: one page, every decision shown, nothing stored.

use std::collections::BTreeMap;

use clap::Args;
use serde_json::{Map, Value, json};

use super::look::{self, Bench};
use super::output::bytes;
use super::wire::{self, Got, Wire, said};
use super::{Answer, Common, Exit};
use crate::clock::Span;
use crate::config::Config;
use crate::content::{Boilerplate, Content};
use crate::crawl::{blocks_of, text_page};
use crate::dns::DnsFailure;
use crate::extract::{self, Extracted};
use crate::fetch::{self, Outcome, Purpose};
use crate::filter::{Candidate, Directives, Found, Usage, Verdict};
use crate::robots;
use crate::url::{CrawlUrl, Host};

/// Header lines that are shown to people; JSON has them all.
const HEADERS_SHOWN: usize = 40;

/// Flags of `fetch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler fetch https://example.org/ --contact mailto:you@example.org
  crawler fetch https://example.org/ --links        also every link and what the gate says of it
  crawler fetch https://example.org/ --body > page  the decoded body, nothing else on stdout

robots.txt is fetched first and obeyed, and its host rests in between as in a crawl. Nothing is
stored. Exit codes: 0 fetched, 3 no answer or refused, 78 no contact.")]
pub(super) struct FetchArgs {
    /// The URL
    #[arg(value_name = "URL")]
    url: String,
    /// Show every link with the verdict of the schedule gate
    #[arg(long)]
    links: bool,
    /// Write the decoded body to standard output, and the decisions to standard error
    #[arg(long, conflicts_with_all = ["links", "json"])]
    body: bool,
}

/// The decisions in order: for people as lines, for scripts as one object.
#[derive(Default)]
struct Steps {
    rows: Vec<(String, String)>,
    json: Map<String, Value>,
}

impl Steps {
    fn say(&mut self, name: &str, text: impl Into<String>) {
        self.rows.push((name.to_owned(), text.into()));
    }

    fn put(&mut self, name: &str, value: Value) {
        self.json.insert(name.to_owned(), value);
    }
}

/// Fetches one page and shows what is decided about it.
pub(super) fn fetch(common: &Common, args: &FetchArgs) -> Answer {
    let config = common.load(&[])?.config;
    let url = look::url_of(&args.url)?;
    let db = look::open_if_there(&config)?;
    let bench = Bench::new(&config, db.as_ref())?;
    let runtime = wire::runtime()?;
    let _guard = runtime.enter();
    let wire = Wire::new(&config)?;
    wire.heed(&config, db.as_ref(), &url.host())?;
    let mut steps = Steps::default();
    steps.put("url", json!(url.as_str()));
    scope(&bench, &url, &mut steps);
    let outcome = {
        let heed = |host: &Host| wire.heed(&config, db.as_ref(), host);
        runtime.block_on(ask(&wire, &url, heed, &mut steps))?
    };
    let mut body = None;
    if let Some(Outcome::Answer(answer)) = &outcome {
        answered(&config, &bench, &url, answer, args.links, &mut steps);
        body = Some(answer.body.clone());
    }
    let exit = if body.is_some() { Exit::Complete } else { Exit::Nothing };
    if common.json {
        println!("{}", Value::Object(steps.json));
        return Ok(exit);
    }
    let rows = steps.rows.iter().map(|(name, text)| format!("  {name:<14} {text}\n"));
    let text = format!("{url}\n{}", rows.collect::<String>());
    if args.body {
        use std::io::Write;
        eprint!("{text}");
        super::terminal::Stdout.write_all(&body.unwrap_or_default())?;
    } else {
        print!("{text}");
    }
    Ok(exit)
}

fn scope(bench: &Bench, url: &CrawlUrl, steps: &mut Steps) {
    let scheduled = bench.filter.schedule(&Candidate::link(url, url, 0));
    let gate = bench.filter.fetch(url, &Usage::default(), &Usage::default());
    steps.say("schedule gate", scheduled.to_string());
    steps.say("fetch gate", gate.to_string());
    steps.put("schedule_gate", json!({ "accept": scheduled.accept, "code": scheduled.code() }));
    steps.put("fetch_gate", json!({ "accept": gate.accept, "code": gate.code() }));
}

/// Resolves, reads robots.txt and asks for the page; `None` if one of them forbids it.
async fn ask(
    wire: &Wire,
    url: &CrawlUrl,
    heed: impl Fn(&Host) -> Result<(), super::Failed>,
    steps: &mut Steps,
) -> Result<Option<Outcome>, super::Failed> {
    let host = url.host();
    steps.say("as", wire.agent.clone());
    match wire.resolve(&host).await {
        Err(failure) => {
            let why = wire::unresolved(&failure);
            steps.say("dns", why.clone());
            let refused = match &failure {
                DnsFailure::Refused(addresses) => &addresses[..],
                DnsFailure::NotFound | DnsFailure::Failed(_) => &[],
            };
            let refused: Vec<String> = refused.iter().map(ToString::to_string).collect();
            steps.put("dns", json!({ "addresses": [], "refused": refused, "failure": why }));
            return Ok(None);
        }
        Ok(resolved) => {
            let list: Vec<String> = resolved.addresses.iter().map(ToString::to_string).collect();
            let refused: Vec<String> = resolved.refused.iter().map(ToString::to_string).collect();
            let also = match refused.is_empty() {
                true => String::new(),
                false => format!(" (not allowed: {})", refused.join(", ")),
            };
            let known = match list.is_empty() {
                true => "left to the proxy".to_owned(),
                false => list.join(", "),
            };
            steps.say("dns", format!("{known}{also}"));
            steps.put("dns", json!({ "addresses": list, "refused": refused }));
        }
    }
    let got = wire.robots(url, heed).await?;
    for (target, said) in &got.steps {
        steps.say("robots.txt", format!("{target}: {said}"));
    }
    let verdict = got.entry.allows(url);
    let word = if verdict.allowed { "allows" } else { "disallows" };
    steps.say("", format!("{word}: {}", verdict.reason));
    let delay = got.entry.robots().and_then(robots::Robots::crawl_delay);
    let floor = wire.rules.of(host.as_str()).min_delay.get().max(delay.unwrap_or_default());
    steps.say("politeness", format!("at least {} between requests", Span(floor)));
    steps.put(
        "robots",
        json!({
            "allowed": verdict.allowed,
            "group": verdict.group,
            "line": verdict.line,
            "rule": verdict.rule,
            "reason": verdict.reason,
            "crawl_delay_ms": delay.map(|delay| delay.as_millis() as u64),
        }),
    );
    steps.put("floor_ms", json!(floor.as_millis() as u64));
    if !verdict.allowed {
        steps.say("not fetched", "robots.txt says so");
        return Ok(None);
    }
    let got: Got = wire.get(url, Purpose::Page).await;
    if !got.waited.is_zero() && got.outcome.is_some() {
        steps.say("rested", Span::millis(got.waited.as_millis() as u64).to_string());
    }
    steps.say("answer", said(&got));
    if let Some(rest) = &got.rest {
        let reason = serde_json::to_value(rest.reason)?;
        let word = reason.as_str().unwrap_or_default().to_owned();
        let gap = Span::millis(rest.gap.as_millis() as u64);
        steps.say("next request", format!("after {gap} ({word})"));
        steps.put("rest", json!({ "ms": rest.gap.as_millis() as u64, "reason": word }));
    }
    if let Some(Outcome::Failed(failed)) = &got.outcome {
        let code = failed.failure.name();
        steps.put("failure", json!(code));
        steps.put("detail", json!(failed.detail));
    }
    Ok(got.outcome)
}

fn answered(
    config: &Config,
    bench: &Bench,
    url: &CrawlUrl,
    answer: &fetch::Answer,
    with_links: bool,
    steps: &mut Steps,
) {
    head(answer, steps);
    let content_type = answer.header_text("content-type");
    let headers: Vec<String> = answer.header_urls("link").collect();
    let page = extract::Page {
        url,
        content_type: content_type.as_deref(),
        link_headers: &headers,
        body: &answer.body,
    };
    let length = answer.body.len() as u64;
    let is_list = extract::is_list(&page);
    let gate = bench.filter.extract(answer.status, content_type.as_deref(), length, is_list);
    steps.say("extract gate", gate.to_string());
    steps.put("extract_gate", json!({ "accept": gate.accept, "code": gate.code() }));
    let extracted = extract::extract(&page, &config.extract);
    let directives = directives_of(&extracted, answer, &config.name);
    if gate.accept {
        facts(&extracted, steps);
        text(config, url, &extracted, steps);
        links(bench, url, &extracted, with_links, steps);
    }
    let known = Directives {
        nofollow: directives.nofollow,
        noarchive: directives.noarchive,
        ..Directives::default()
    };
    let wire = answer.wire_body.len() as u64;
    let archive = bench.filter.archive(answer.status, content_type.as_deref(), wire, &known);
    let follow = bench.filter.follow(&known);
    steps.say("archive gate", archive.to_string());
    steps.say("follow gate", follow.to_string());
    steps.put("archive_gate", json!({ "accept": archive.accept, "code": archive.code() }));
    steps.put("follow_gate", json!({ "accept": follow.accept, "code": follow.code() }));
}

fn directives_of(extracted: &Extracted, answer: &fetch::Answer, agent: &str) -> robots::Directives {
    let tags: Vec<String> = answer.header_texts("x-robots-tag").collect();
    let meta = extracted.meta_robots.iter();
    robots::Directives::read(
        meta.map(|(name, content)| (name.as_str(), content.as_str())),
        tags.iter().map(String::as_str),
        agent,
    )
}

fn head(answer: &fetch::Answer, steps: &mut Steps) {
    let timing = &answer.timing;
    steps.say(
        "timing",
        format!(
            "connect {} ms, tls {} ms, first byte {} ms, total {} ms",
            timing.connect.as_millis(),
            timing.tls.as_millis(),
            timing.first_byte.as_millis(),
            timing.total.as_millis()
        ),
    );
    if let Some((protocol, cipher)) = &answer.tls {
        steps.say("tls", format!("{protocol}, {cipher}"));
    }
    let headers: Vec<(String, String)> = answer
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), String::from_utf8_lossy(value).into_owned()))
        .collect();
    for (name, value) in headers.iter().take(HEADERS_SHOWN) {
        steps.say("header", format!("{name}: {value}"));
    }
    let (wire, body) = (answer.wire_body.len(), answer.body.len());
    let cut = answer.truncated.map(|why| format!(", cut off: {why:?}").to_lowercase());
    let cut = cut.unwrap_or_default();
    steps.say(
        "body",
        format!("{} on the wire, {} decoded{cut}", bytes(wire as f64), bytes(body as f64)),
    );
    steps.put("status", json!(answer.status));
    steps.put("version", json!(answer.version));
    steps.put("address", json!(answer.address));
    steps.put("headers", json!(headers));
    steps.put("wire_bytes", json!(wire));
    steps.put("body_bytes", json!(body));
    steps.put("truncated", json!(answer.truncated));
    steps.put("took_ms", json!(timing.total.as_millis() as u64));
}

fn facts(extracted: &Extracted, steps: &mut Steps) {
    steps.say("document", format!("{}, {}", extracted.kind.as_str(), extracted.charset));
    if let Some(title) = &extracted.title {
        steps.say("title", title.clone());
    }
    if let Some(canonical) = &extracted.canonical {
        steps.say("canonical", canonical.to_string());
    }
    for (name, content) in &extracted.meta_robots {
        steps.say("directive", format!("{name}: {content}"));
    }
    let canonical = extracted.canonical.as_ref().map(ToString::to_string);
    steps.put("document", json!({ "kind": extracted.kind.as_str(), "charset": extracted.charset }));
    steps.put("title", json!(extracted.title));
    steps.put("canonical", json!(canonical));
    steps.put("lang", json!(extracted.lang));
    steps.put("meta_robots", json!(extracted.meta_robots));
}

fn text(config: &Config, url: &CrawlUrl, extracted: &Extracted, steps: &mut Steps) {
    if extracted.blocks.is_empty() {
        return;
    }
    let blocks = blocks_of(extracted);
    let page = text_page(url, extracted, &blocks);
    let mut content = Content::new(config.content.clone());
    let analysis = content.analyse(&page, &Boilerplate::default());
    let (words, all) = (analysis.words, analysis.words_all);
    let thin = if analysis.thin { ", too thin to tell from others" } else { "" };
    steps.say("main text", format!("{words} of {all} words{thin}"));
    steps.say("text digest", analysis.text_digest.to_string());
    let sketch = analysis.sketch.as_ref().map(ToString::to_string);
    if let Some(sketch) = &sketch {
        steps.say("sketch", sketch.clone());
    }
    steps.put(
        "text",
        json!({
            "words": words,
            "words_all": all,
            "thin": analysis.thin,
            "digest": analysis.text_digest.to_string(),
            "sketch": sketch,
        }),
    );
}

/// Judges a link as what it is, or where that is refused as the plain link that it is as well.
fn verdict_on(bench: &Bench, url: &CrawlUrl, link: &extract::Link) -> Verdict {
    let plain = Candidate { nofollow: link.rel_nofollow, ..Candidate::link(&link.url, url, 1) };
    let first = bench.filter.schedule(&match link.kind {
        kind if kind.is_embed() => Candidate { found: Found::Embed, embed_hops: 1, ..plain },
        extract::LinkKind::Refresh => Candidate { found: Found::Redirect, redirects: 1, ..plain },
        _ => plain,
    });
    let plain = link.as_link.map(|nofollow| Candidate { nofollow, ..plain });
    let plain = plain.filter(|_| !first.accept).map(|plain| bench.filter.schedule(&plain));
    plain.filter(|plain| plain.accept).unwrap_or(first)
}

fn links(bench: &Bench, url: &CrawlUrl, extracted: &Extracted, all: bool, steps: &mut Steps) {
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    let mut shown = Vec::new();
    let mut accepted = 0u64;
    for link in &extracted.links {
        *kinds.entry(link.kind.as_str()).or_default() += 1;
        let verdict = verdict_on(bench, url, link);
        accepted += u64::from(verdict.accept);
        if all {
            let kind = link.kind.as_str();
            steps.say("link", format!("{} ({kind}): {verdict}", link.url));
            shown.push(json!({
                "url": link.url.as_str(),
                "kind": kind,
                "accept": verdict.accept,
                "code": verdict.code(),
            }));
        }
    }
    let list: Vec<String> = kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let total = extracted.links.len();
    let by_kind = if list.is_empty() { String::new() } else { format!(": {}", list.join(", ")) };
    steps.say("links", format!("{total}, {accepted} would be queued{by_kind}"));
    let dropped = u64::from(extracted.links_dropped) + u64::from(extracted.links_too_long);
    if dropped > 0 {
        steps.say("left out", format!("{dropped} links: too many, or too long"));
    }
    if extracted.truncated_body {
        steps.say("left out", "what is longer than extract.body_max or extract.sitemap_max");
    }
    for error in &extracted.errors {
        steps.say("problem", error.clone());
    }
    steps.put(
        "links",
        json!({
            "total": total,
            "accepted": accepted,
            "dropped": dropped,
            "unusable": extracted.links_unusable,
            "by_kind": kinds,
        }),
    );
    if all {
        steps.put("link_list", Value::Array(shown));
    }
}
