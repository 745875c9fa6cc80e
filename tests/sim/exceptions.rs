//! Sites of which nearly all pages are the same under several URLs, and some are not: what a rule
//! is proved by says nothing of these, and none of them may be lost.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use crawler::crawl::{DustMode, DustSettings};
use crawler::url::CrawlUrl;

use super::scripted::{Page, empty};

/// What a URL shows: which document it is, and the page.
pub(super) type Shown = Option<(String, String)>;

/// Returns so many words that no other seed has.
pub(super) fn words(seed: &str, count: usize) -> String {
    let word = |n: usize| xxhash_rust::xxh3::xxh3_64(format!("{seed} {n}").as_bytes());
    (0..count).map(|n| format!("w{:x} ", word(n) >> 24)).collect()
}

pub(super) fn link(to: &str, text: &str) -> String {
    format!("<a href=\"{to}\">{text}</a> ")
}

pub(super) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html><title>{title}</title><p><a href=/>Home</a></p><h1>{title}</h1>{body}\
         <p>All rights are reserved by the owners of this site</p>"
    )
}

/// Returns the page that leads to so many others.
fn home(title: &str, folder: &str, pages: u32) -> Shown {
    let links = (0..pages).map(|n| link(&format!("/{folder}/{n}"), &name(folder, n.into())));
    Some(("home".into(), page(title, &links.collect::<String>())))
}

/// Returns the name of what the home page leads to.
fn name(folder: &str, n: u64) -> String {
    words(&format!("{folder} {n}"), 2)
}

/// Returns a page that lists lead to, with a text of so many words.
fn item(kind: &str, id: &str, count: usize) -> Shown {
    let body = format!("<p>{}</p>", words(id, count));
    Some((format!("{kind} {id}"), page(&words(&format!("title {id}"), 4), &body)))
}

pub(super) fn parameter<'u>(url: &'u CrawlUrl, name: &str) -> Option<&'u str> {
    let mut pairs = url.as_url().query()?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Crawls a site; returns the documents that were reached, and the number of requests.
pub(super) async fn crawl(
    site: fn(&CrawlUrl) -> Shown,
    dust: DustMode,
) -> (BTreeSet<String>, usize) {
    let asked = asked(site, DustSettings { mode: dust, ..DustSettings::default() }).await;
    let documents = asked.iter().filter_map(site).map(|(document, _)| document);
    (documents.collect(), asked.len())
}

/// Returns what a crawl asks of the site.
async fn asked(site: fn(&CrawlUrl) -> Shown, dust: DustSettings) -> Vec<CrawlUrl> {
    asked_of(move |url| site(url).map_or(Page::Missing, |(_, html)| Page::Html(html)), dust).await
}

/// Returns what a crawl asks of what answers so.
pub(super) async fn asked_of(
    site: impl Fn(&CrawlUrl) -> Page + Send + Sync + 'static,
    dust: DustSettings,
) -> Vec<CrawlUrl> {
    let mut world = empty();
    world.dust = dust;
    let crawled = world.scripted(Vec::new(), site).await;
    crawled.asked.iter().filter_map(|url| CrawlUrl::parse(url).ok()).collect()
}

/// Asserts that a crawl with rules loses nothing, and next to no time.
pub(super) async fn assert_none_is_lost(site: fn(&CrawlUrl) -> Shown) {
    let (all, without) = crawl(site, DustMode::Off).await;
    let (reached, with) = crawl(site, DustMode::Enforce).await;
    let lost: Vec<&String> = all.difference(&reached).collect();
    println!("{} documents, {without} requests, {with} with rules, lost: {lost:?}", all.len());
    assert!(all.len() > 100, "the site is reached: {}", all.len());
    assert_eq!(lost, Vec::<&String>::new());
    assert!(with <= without + without / 16 + 16, "{with} requests for {without}");
}

/// Articles in six further languages, of which a few are translated; the others fall back. Some are
/// entries of a few words, each of them translated.
fn wiki(url: &CrawlUrl) -> Shown {
    const LANGUAGES: [&str; 6] = ["de", "fr", "es", "it", "pl", "nl"];
    let lang = parameter(url, "lang");
    let tail = lang.map_or(String::new(), |lang| format!("?lang={lang}"));
    if url.path() == "/" {
        let links = (0..80)
            .step_by(4)
            .map(|n| link(&format!("/wiki/{n}{tail}"), &words(&n.to_string(), 3)));
        return Some(("home".into(), page("Wiki", &links.collect::<String>())));
    }
    let n: u32 = url.path().strip_prefix("/wiki/")?.parse().ok().filter(|n| *n < 80)?;
    let is_short = n % 5 == 3;
    let translated = lang.filter(|_| is_short || n % 12 == 1);
    let document = format!("article {n} {}", translated.unwrap_or("en"));
    let text = words(&document, if is_short { 6 } else { 180 });
    let others = LANGUAGES.map(|lang| link(&format!("/wiki/{n}?lang={lang}"), lang)).concat();
    let next = (1..5).map(|step| (n * 3 + step * 7) % 80);
    let next = next.map(|to| link(&format!("/wiki/{to}{tail}"), &words(&to.to_string(), 3)));
    let body = format!("<p>{others}</p><p>{text}</p><p>{}</p>", next.collect::<String>());
    Some((document, page(&words(&n.to_string(), 3), &body)))
}

/// Shelves in eight orders, of which most have a few books and some show their first ten of forty.
fn shelves(url: &CrawlUrl) -> Shown {
    const ORDERS: [&str; 8] = ["name", "price", "mark", "date", "ne", "pe", "me", "de"];
    let books = |shelf: u64| if shelf % 10 == 9 { 40 } else { 3 + shelf % 7 };
    let title = |shelf: u64, book: u64| words(&format!("title {shelf}-{book}"), 4);
    let path = url.path();
    if path == "/" {
        return home("Shop", "shelf", 40);
    }
    if let Some(book) = path.strip_prefix("/book/") {
        return item("book", book, 120);
    }
    let shelf: u64 = path.strip_prefix("/shelf/")?.parse().ok().filter(|n| *n < 40)?;
    let order = parameter(url, "sort").unwrap_or("name");
    let by = |book: &u64| xxhash_rust::xxh3::xxh3_64(format!("{order} {shelf} {book}").as_bytes());
    let mut all: Vec<u64> = (0..books(shelf)).collect();
    all.sort_by_key(by);
    all.truncate(10);
    let rows = all.iter().map(|book| {
        format!("<li>{}</li>", link(&format!("/book/{shelf}-{book}"), &title(shelf, *book)))
    });
    let orders = ORDERS.map(|order| link(&format!("/shelf/{shelf}?sort={order}"), order)).concat();
    let text = words(&format!("about {shelf}"), 60);
    let body = format!("<p>{text}</p><p>{orders}</p><ul>{}</ul>", rows.collect::<String>());
    all.sort_unstable();
    Some((format!("shelf {shelf} {all:?}"), page(&name("shelf", shelf), &body)))
}

/// Artists, whose works are listed below the same long text, four on a page.
fn artists(url: &CrawlUrl) -> Shown {
    let path = url.path();
    if path == "/" {
        return home("Artists", "artist", 30);
    }
    if let Some(piece) = path.strip_prefix("/piece/") {
        return item("piece", piece, 170);
    }
    let artist: u64 = path.strip_prefix("/artist/")?.parse().ok().filter(|n| *n < 30)?;
    let pages = 1 + artist % 3;
    let at: u64 = parameter(url, "page").unwrap_or("1").parse().ok()?;
    let at = at.clamp(1, pages);
    let rows = (4 * at - 4..4 * at).map(|n| {
        let title = words(&format!("title {artist}-{n}"), 4);
        format!("<li>{}</li>", link(&format!("/piece/{artist}-{n}"), &title))
    });
    let pager = (1..=pages).map(|n| link(&format!("/artist/{artist}?page={n}"), &n.to_string()));
    let text = words(&format!("life of {artist}"), 260);
    let rows = rows.collect::<String>();
    let body = format!("<p>{text}</p><ul>{rows}</ul><p>{}</p>", pager.collect::<String>());
    Some((format!("artist {artist} {at}"), page(&name("artist", artist), &body)))
}

/// Places with a text of their own and a page for each month, of which one in three shows an event.
fn calendars(url: &CrawlUrl) -> Shown {
    let path = url.path();
    if path == "/" {
        return home("Places", "place", 30);
    }
    if let Some(event) = path.strip_prefix("/event/") {
        return item("event", event, 100);
    }
    let place: u64 = path.strip_prefix("/place/")?.parse().ok().filter(|n| *n < 30)?;
    let month: u64 = parameter(url, "month").unwrap_or("1").parse().ok().filter(|n| *n < 13)?;
    let is_on = (place * 13 + month).is_multiple_of(3);
    let event = format!("{place}-{month}");
    let entry = match is_on {
        true => link(&format!("/event/{event}"), &words(&format!("event {event}"), 6)),
        false => "No events".to_owned(),
    };
    let months = (1..13).map(|n| link(&format!("/place/{place}?month={n}"), &n.to_string()));
    let text = words(&format!("about {place}"), 140);
    let body = format!("<p>{text}</p><p>{entry}</p><p>{}</p>", months.collect::<String>());
    let document = if is_on { format!("place {event}") } else { format!("place {place}") };
    Some((document, page(&name("place", place), &body)))
}

/// Returns what a manual of so many parts, each of so many leaves, shows at its home page and at
/// those of its parts; `None` for other pages. `links` are those to one leaf.
fn contents(
    url: &CrawlUrl,
    (parts, leaves): (u32, u64),
    links: impl Fn(u64) -> String,
) -> Option<Shown> {
    if url.path() == "/" {
        return Some(home("Manual", "part", parts));
    }
    let part = url.path().strip_prefix("/part/")?;
    let part = part.parse().ok().filter(|n| *n < u64::from(parts));
    Some(part.map(|part: u64| {
        let body: String = (leaves * part..leaves * part + leaves).map(links).collect();
        (format!("part {part}"), page(&name("part", part), &body))
    }))
}

/// A manual of which each page has a form to print, without the menus and, where `listed` says so,
/// without the list of what the page is about: then both are pages.
fn manual(url: &CrawlUrl, listed: bool) -> Shown {
    let both = |n: u64| {
        let forms = [format!("/leaf/{n}"), format!("/leaf/{n}?print=1")];
        let forms = forms.map(|form| link(&form, &name("leaf", n)));
        if n.is_multiple_of(3) { forms.into_iter().rev().collect() } else { forms.concat() }
    };
    if let Some(shown) = contents(url, (30, 4), both) {
        return shown;
    }
    let n: u64 = url.path().strip_prefix("/leaf/")?.parse().ok().filter(|n| *n < 120)?;
    let is_printed = parameter(url, "print").is_some();
    let text = words(&format!("leaf {n}"), 200);
    // What each page lists, others do too, so that nothing leads to a page of it alone.
    let rows = (0..12).map(|k| (n * 7 + k * 11) % 120);
    let rows = rows.map(|to| link(&format!("/leaf/{to}"), &words(&format!("row {n} {to}"), 3)));
    let list = if listed { rows.collect::<String>() } else { String::new() };
    let menu = (0..20).map(|k| link(&format!("/part/{k}"), &words(&format!("menu {k}"), 3)));
    let around = format!("<div>{}</div><p>{list}</p>", menu.collect::<String>());
    let around = if is_printed { String::new() } else { around };
    let document = if listed && !is_printed { format!("list of {n}") } else { format!("leaf {n}") };
    Some((document, page(&name("leaf", n), &format!("{around}<p>{text}</p>"))))
}

/// A manual in two releases, of which half of the pages have the same notice; of one in twenty the
/// first release has not what the second one has, or the other way round.
fn releases(url: &CrawlUrl) -> Shown {
    const PAGES: u64 = 400;
    let both = |n: u64| {
        let form = |release: u32| link(&format!("/v{release}/{n}"), &name("leaf", n));
        form(1) + &form(2)
    };
    if let Some(shown) = contents(url, (40, 10), both) {
        return shown;
    }
    let (release, n) = url.path().strip_prefix("/v")?.split_once('/')?;
    let n: u64 = n.parse().ok().filter(|n| *n < PAGES)?;
    let has_notice = (n * 7919 % PAGES < PAGES / 2) ^ (release == "2" && n % 20 == 10);
    let notice = "<p><b>Deprecated</b> since release two, do not use this in new programs, it will \
                  be removed.</p>";
    let notice = if has_notice { notice } else { "" };
    let text = words(&format!("leaf {n}"), 80);
    let document = format!("leaf {n} {has_notice}");
    Some((document, page(&name("leaf", n), &format!("{notice}<p>{text}</p>"))))
}

/// A view to print, which lacks the same menus on all pages, was another page for each of them.
#[tokio::test(start_paused = true)]
async fn a_form_without_menus_is_no_page_of_its_own() {
    let site = |url: &CrawlUrl| manual(url, false);
    let ((all, without), (reached, with)) =
        (crawl(site, DustMode::Off).await, crawl(site, DustMode::Enforce).await);
    assert_eq!((all.difference(&reached).count(), all.len()), (0, 151));
    assert!(with < without - 60, "{with} requests for {without}");
}

#[tokio::test(start_paused = true)]
async fn a_form_without_what_each_page_lists_is_another_page() {
    assert_none_is_lost(|url| manual(url, true)).await;
}

/// What stands on many pages of a site was no text of any of them, and a label where two pages
/// differed by it: that all others did not differ at all was not asked.
#[tokio::test(start_paused = true)]
async fn a_notice_that_one_release_has_on_some_pages_is_not_lost() {
    assert_none_is_lost(releases).await;
}

/// One page in twelve was translated, and of all translations one in ninety-six was reached: of 47
/// audits 46 had agreed, most of them forms of the same few articles.
#[tokio::test(start_paused = true)]
async fn a_wiki_of_which_some_articles_are_translated_is_read_in_all_languages() {
    assert_none_is_lost(wiki).await;
}

/// Of most shelves each order shows the same books.
#[tokio::test(start_paused = true)]
async fn a_shelf_that_shows_its_first_ten_is_read_in_each_order() {
    assert_none_is_lost(shelves).await;
}

/// Four titles in place of four others were taken for labels, and the works were lost with them.
#[tokio::test(start_paused = true)]
async fn lists_below_a_text_of_their_own_are_read_to_their_end() {
    assert_none_is_lost(artists).await;
}

/// An event of six words was less than a title, and each of them had a page that nothing else led
/// to.
#[tokio::test(start_paused = true)]
async fn a_month_that_shows_one_event_is_another_page() {
    assert_none_is_lost(calendars).await;
}

/// Returns the links to both forms of a leaf.
fn leaf(n: u64, forms: [String; 2]) -> String {
    forms.map(|form| link(&form, &name("leaf", n))).concat()
}

/// Stories with a form to print, which names the source of one in three, with a page that nothing
/// else leads to.
fn sources(url: &CrawlUrl) -> Shown {
    let both = |n: u64| leaf(n, [format!("/story/{n}"), format!("/story/{n}?print=1")]);
    if let Some(shown) = contents(url, (30, 8), both) {
        return shown;
    }
    if let Some(source) = url.path().strip_prefix("/source/") {
        return item("source", source, 90);
    }
    let n: u64 = url.path().strip_prefix("/story/")?.parse().ok().filter(|n| *n < 240)?;
    let names_source = parameter(url, "print").is_some() && n.is_multiple_of(3);
    let to = if names_source { format!("/source/{n}") } else { "/".to_owned() };
    let body = format!("<nav>{}</nav><p>{}</p>", link(&to, "source"), words(&n.to_string(), 150));
    Some((format!("story {n}"), page(&name("leaf", n), &body)))
}

/// Posts with their first page of comments, which of one in twenty-five is another page. All are in
/// one directory, and there is one such page of each: no narrower rule explains which.
fn posts(url: &CrawlUrl) -> Shown {
    let both = |n: u64| leaf(n, [format!("/post/{n}"), format!("/post/{n}?cpage=1")]);
    if let Some(shown) = contents(url, (40, 15), both) {
        return shown;
    }
    let n: u64 = url.path().strip_prefix("/post/")?.parse().ok().filter(|n| *n < 600)?;
    let has_comments = parameter(url, "cpage").is_some() && n * 7919 % 25 == 3;
    let said = if has_comments { words(&format!("said {n}"), 60) } else { String::new() };
    let body = format!("<p>{}</p><p>{said}</p>", words(&n.to_string(), 150));
    Some((format!("post {n} {has_comments}"), page(&name("leaf", n), &body)))
}

/// A page with a text of so many words and a line below it, and links to the others of its kind.
fn lined(folder: &str, n: u64, line: &str, forms: &[String]) -> Shown {
    let links: String = forms.iter().map(|form| link(form, "the other")).collect();
    let text = words(&format!("{folder} text {n}"), 80);
    let body = format!("<p>{text}</p><p>{line}</p>{links}");
    Some((format!("{folder} {n} {line}"), page(&name(folder, n), &body)))
}

/// Seats of a parliament: each term had another member, and that is all that differs.
fn seats(url: &CrawlUrl) -> Shown {
    if url.path() == "/" {
        return home("Seats", "seat", 60);
    }
    let n: u64 = url.path().strip_prefix("/seat/")?.parse().ok()?;
    let term: u64 = parameter(url, "term").map_or(Some(0), |term| term.parse().ok())?;
    let forms: Vec<String> = (1..5).map(|term| format!("/seat/{n}?term={term}")).collect();
    let member = words(&format!("member {n} {term}"), 1);
    lined("seat", n, &format!("The seat was held by {member} until the end"), &forms)
}

/// Sections of a law, as they are and as they were: "not" came into every second one.
fn sections(url: &CrawlUrl) -> Shown {
    if url.path() == "/" {
        return home("Sections", "section", 120);
    }
    let n: u64 = url.path().strip_prefix("/section/")?.parse().ok()?;
    let before = parameter(url, "as").is_some();
    let not = if before && n.is_multiple_of(2) { "not " } else { "" };
    let forms = [format!("/section/{n}?as=before")];
    lined("section", n, &format!("The tenant shall {not}pay for what is named above"), &forms)
}

/// Bouts and their return: who beat whom is told by the same words.
fn bouts(url: &CrawlUrl) -> Shown {
    if url.path() == "/" {
        return home("Bouts", "bout", 120);
    }
    let n: u64 = url.path().strip_prefix("/bout/")?.parse().ok()?;
    let (one, other) = (words(&format!("one {n}"), 1), words(&format!("other {n}"), 1));
    let line = match parameter(url, "leg") {
        Some(_) => format!("In the end {one}defeated {other}by points"),
        None => format!("In the end {other}defeated {one}by points"),
    };
    lined("bout", n, &line, &[format!("/bout/{n}?leg=second")])
}

/// Of 150 seats in five terms, all but the first form of each was taken for one page.
#[tokio::test(start_paused = true)]
async fn pages_that_differ_by_one_word_are_not_lost() {
    assert_none_is_lost(seats).await;
    assert_none_is_lost(sections).await;
}

#[tokio::test(start_paused = true)]
async fn pages_that_differ_by_the_order_of_their_words_are_not_lost() {
    assert_none_is_lost(bouts).await;
}

/// All forms to print that were looked at had the text of their story, and led to sources that were
/// lost with those that were not.
#[tokio::test(start_paused = true)]
async fn what_hidden_forms_alone_lead_to_is_not_lost() {
    assert_none_is_lost(sources).await;
}

/// The rule fell, and was back at once under the directory in which all posts are, by the same
/// pages that had agreed before.
#[tokio::test(start_paused = true)]
async fn a_rule_that_fell_does_not_come_back_under_another_name() {
    assert_none_is_lost(posts).await;
}

/// Lists in the order of any of four columns, up and down: what leads to an order that goes down is
/// the same order up, and nothing else.
fn columns(url: &CrawlUrl) -> Shown {
    const COLUMNS: [&str; 4] = ["name", "date", "size", "kind"];
    let path = url.path();
    if path == "/" {
        return home("Lists", "list", 60);
    }
    if let Some(row) = path.strip_prefix("/row/") {
        return item("row", row, 80);
    }
    let list: u64 = path.strip_prefix("/list/")?.parse().ok().filter(|n| *n < 60)?;
    let (by, down) = (parameter(url, "by"), parameter(url, "down").is_some());
    let hash = |row: &u64| {
        xxhash_rust::xxh3::xxh3_64(format!("{} {list} {row}", by.unwrap_or("name")).as_bytes())
    };
    let mut rows: Vec<u64> = (0..20).collect();
    rows.sort_by_key(hash);
    if down {
        rows.reverse();
    }
    let heads = COLUMNS.map(|column| {
        let turns = if by == Some(column) && !down { "&down=1" } else { "" };
        link(&format!("/list/{list}?by={column}{turns}"), column)
    });
    let rows = rows.iter().map(|row| {
        let title = words(&format!("title {list}-{row}"), 3);
        format!("<li>{}</li>", link(&format!("/row/{}", list % 4 * 20 + row), &title))
    });
    let body = format!("<p>{}</p><ul>{}</ul>", heads.concat(), rows.collect::<String>());
    Some((format!("list {list}"), page(&name("list", list), &body)))
}

/// Articles with a view to print, behind a cache that keeps a copy for each address: it has the
/// teaser and the clock of the moment when it was made.
fn cached(url: &CrawlUrl) -> Shown {
    let teaser = |target: &str| {
        let clock = u32::from_str_radix(&words(target, 1)[1..4], 16).unwrap_or_default();
        let teaser = words(&format!("teaser {target}"), 2);
        format!("<p>Of interest today: {teaser}, rendered in {clock} ms</p>")
    };
    printed(url, teaser(url.path_and_query()))
}

/// The same without a cache, where each article has a word of its own that its view to print has
/// not, and addresses with parameters that nothing knows are refused, or say so.
fn strict(url: &CrawlUrl) -> Shown {
    let query = url.query().unwrap_or_default();
    let word = words(&format!("{query} {}", url.path()), 1);
    let is_known = query.is_empty() || query == "print=1";
    is_known.then(|| printed(url, format!("<p>By {word}</p>")))?
}

fn noting(url: &CrawlUrl) -> Shown {
    let query = url.query().unwrap_or_default();
    let word = words(&format!("{} {}", url.path(), query.starts_with("print=1")), 1);
    let known = query.is_empty() || query == "print=1";
    let note = if known { "" } else { "<p>Unknown filters were left out</p>" };
    printed(url, format!("{note}<p>By {word}</p>"))
}

/// Returns 120 articles with a view to print, and this beside the text.
fn printed(url: &CrawlUrl, beside: String) -> Shown {
    if url.path() == "/" {
        let to = |n: u32, tail: &str| link(&format!("/a/{n}{tail}"), &name("a", n.into()));
        let links = (0..120).flat_map(|n| [to(n, ""), to(n, "?print=1")]);
        return Some(("home".into(), page("Articles", &links.collect::<String>())));
    }
    let n: u32 = url.path().strip_prefix("/a/")?.parse().ok().filter(|n| *n < 120)?;
    let body = format!("<p>{}</p>{beside}", words(&format!("text {n}"), 100));
    let is_print = url.query().is_some_and(|query| query.contains("print=1"));
    Some((format!("{n} {is_print}"), page(&name("a", n.into()), &body)))
}

/// A page that a cache holds stands still, and each of its forms, which have copies of their own,
/// was taken for another page.
#[tokio::test(start_paused = true)]
async fn what_a_cache_keeps_for_each_address_makes_no_page() {
    let (reached, with) = crawl(cached, DustMode::Enforce).await;
    assert!((0..120).all(|n| reached.iter().any(|id| id.starts_with(&format!("{n} ")))));
    let without = crawl(cached, DustMode::Off).await.1;
    assert!(with < without - 20, "{with} requests for {without}");
}

/// Who wants no URL asked for that no page has written says so.
#[tokio::test(start_paused = true)]
async fn pages_are_asked_for_under_other_addresses_unless_that_is_switched_off() {
    for looks_past_caches in [true, false] {
        let mut dust = DustSettings { mode: DustMode::Enforce, ..DustSettings::default() };
        dust.validate.looks_past_caches = looks_past_caches;
        let asked = asked(cached, dust).await;
        let is_made_up = |url: &&CrawlUrl| url.query().is_some_and(|query| query.contains("_="));
        assert_eq!(asked.iter().any(|url| is_made_up(&url)), looks_past_caches);
        let is_asked_again = asked.iter().collect::<BTreeSet<_>>().len() < asked.len();
        assert!(is_asked_again || looks_past_caches, "then pages are asked for under their own");
    }
}

/// Where other addresses of a page are refused, or have words of their own, a word that a form has
/// for its own makes it a page, as ever.
#[tokio::test(start_paused = true)]
async fn a_site_that_takes_no_other_addresses_loses_nothing() {
    for site in [strict as fn(&CrawlUrl) -> Shown, noting] {
        let (all, without) = crawl(site, DustMode::Off).await;
        let (reached, with) = crawl(site, DustMode::Enforce).await;
        assert_eq!((all.difference(&reached).count(), all.len()), (0, 241));
        // Each doubt has its look, and the first ones up to three.
        assert!(with < without + without / 4, "{with} requests for {without}");
    }
}

/// What leads to lists in one more order leads to nothing that is new.
#[tokio::test(start_paused = true)]
async fn an_order_that_only_another_order_leads_to_is_no_document() {
    let ((all, without), (reached, with)) =
        (crawl(columns, DustMode::Off).await, crawl(columns, DustMode::Enforce).await);
    assert_eq!((all.difference(&reached).count(), all.len()), (0, 141));
    assert!(with < without - without / 4, "{with} requests for {without}");
}

/// Articles that lists of another form lead to once most were fetched; while the server is being
/// maintained it says so in place of each, with a status as if all were well.
#[derive(Default)]
struct Serviced {
    asked: AtomicU32,
    shown: Mutex<BTreeSet<u32>>,
}

impl Serviced {
    fn page(&self, url: &CrawlUrl) -> Option<String> {
        let link_to =
            |n: u32, tail: &str| link(&format!("/a/{n}{tail}"), &name("article", n.into()));
        if url.path() == "/" {
            let plain = (0..160).map(|n| link_to(n, ""));
            let forms = (0..30).map(|n| link_to(n, "?src=list"));
            return Some(page("Articles", &plain.chain(forms).collect::<String>()));
        }
        if let Some(n) = url.path().strip_prefix("/list/") {
            let from = n.parse::<u32>().ok().filter(|n| *n < 8)? * 20;
            let forms = (from..from + 20).map(|n| link_to(n, "?src=list"));
            let next = link(&format!("/list/{}", from / 20 + 1), "next");
            return Some(page(&name("list", from.into()), &(forms.collect::<String>() + &next)));
        }
        let n: u32 = url.path().strip_prefix("/a/")?.parse().ok().filter(|n| *n < 160)?;
        if (120..160).contains(&self.asked.fetch_add(1, Ordering::Relaxed)) {
            return Some(page("Maintenance", &format!("<p>{}</p>", words("we are soon back", 40))));
        }
        self.shown.lock().expect("nobody breaks here").insert(n);
        let list = if n < 5 { link("/list/0", "lists") } else { String::new() };
        let text = words(&format!("article {n}"), 120);
        Some(page(&name("article", n.into()), &format!("<p>{text}</p>{list}")))
    }
}

/// A notice of maintenance was the first form that was fetched of some pages, and stood for their
/// other forms for good.
#[tokio::test(start_paused = true)]
async fn a_notice_of_maintenance_stands_for_no_page() {
    let reached = async |dust| {
        let mut world = empty();
        world.dust.mode = dust;
        let site = Arc::new(Serviced::default());
        let script = Arc::clone(&site);
        let answer = move |url: &CrawlUrl| script.page(url).map_or(Page::Missing, Page::Html);
        let crawled = world.scripted(Vec::new(), answer).await;
        let shown = site.shown.lock().expect("nobody breaks here").len();
        (shown, crawled.asked.len())
    };
    let ((all, without), (shown, with)) =
        (reached(DustMode::Off).await, reached(DustMode::Enforce).await);
    println!("{shown} of {all} articles, {with} requests for {without}");
    assert_eq!((shown, all), (160, 160));
    assert!(with < without - 30, "{with} requests for {without}");
}
