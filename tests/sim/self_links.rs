//! Links that lead back to the page they stand on, as those of the posts of a topic do: no address
//! says which page that is.

use std::collections::BTreeSet;

use crawler::crawl::{DustMode, DustSettings};
use crawler::url::CrawlUrl;

use super::exceptions::{
    Shown, asked_of, assert_none_is_lost, crawl, link, page, parameter, words,
};
use super::scripted::{Page, empty};

/// Topics of a board, and posts of each.
const TOPICS: u64 = 60;
const POSTS: u64 = 8;

/// A board whose posts have numbers of their own, and show the topic; by `is_alone` some show
/// themselves alone.
fn board(url: &CrawlUrl, is_alone: fn(u64) -> bool) -> Shown {
    let title = |topic: u64| words(&format!("title {topic}"), 4);
    let text = |post: u64| format!("<p>{}</p>", words(&format!("post {post}"), 40));
    if url.path() == "/" {
        // The last post of each third topic is linked from here too, which is no link of its own.
        let links = (0..TOPICS).map(|n| {
            let last = link(&format!("/topic?post={}", 7_000 + n * POSTS + POSTS - 1), "last");
            let topic = link(&format!("/topic?id={n}"), &title(n));
            if n % 3 == 0 { topic + &last } else { topic }
        });
        return Some(("home".into(), page("Board", &links.collect::<String>())));
    }
    let number = |name| parameter(url, name).and_then(|number| number.parse::<u64>().ok());
    if url.path() != "/topic" {
        return None;
    }
    let post = number("post").and_then(|post| post.checked_sub(7_000));
    let topic = number("id").or(post.map(|post| post / POSTS)).filter(|topic| *topic < TOPICS)?;
    if let Some(post) = post.filter(|post| is_alone(*post)) {
        let body = format!("<p>{}</p>", words(&format!("alone {post}"), 90));
        return Some((format!("post {post}"), page(&title(topic), &body)));
    }
    let posts = (topic * POSTS..(topic + 1) * POSTS).map(|post| {
        link(&format!("/topic?post={}", 7_000 + post), &format!("#{post}")) + &text(post)
    });
    let body: String = posts.collect();
    Some((format!("topic {topic}"), page(&title(topic), &body)))
}

fn plain(url: &CrawlUrl) -> Shown {
    board(url, |_| false)
}

/// The last third of the topics has moved to a program that shows posts by themselves.
fn half_moved(url: &CrawlUrl) -> Shown {
    board(url, |post| post / POSTS >= 40)
}

/// The first post of each topic is on a page of its own.
fn first_alone(url: &CrawlUrl) -> Shown {
    board(url, |post| post % POSTS == 0)
}

/// A board whose links to posts name the topic too, which has several pages: the link alone does
/// not say which of them. By `is_alone` some show themselves alone.
fn pages_of_topics(url: &CrawlUrl, is_alone: fn(u64) -> bool) -> Shown {
    const ON_PAGE: u64 = 5;
    let title = |topic: u64| words(&format!("title {topic}"), 4);
    if url.path() == "/" {
        let links = (0..TOPICS).map(|n| link(&format!("/topic?id={n}"), &title(n)));
        return Some(("home".into(), page("Board", &links.collect::<String>())));
    }
    let number = |name| parameter(url, name).and_then(|number| number.parse::<u64>().ok());
    let topic = number("id").filter(|topic| url.path() == "/topic" && *topic < TOPICS)?;
    // Each third topic has one page, the others have three.
    let posts = if topic % 3 == 0 { ON_PAGE } else { 3 * ON_PAGE };
    let post = number("post")
        .map(|post| post.checked_sub(100 * topic))
        .map(|post| post.filter(|post| *post < posts));
    let at = match (post, number("page")) {
        (Some(post), _) => post? / ON_PAGE,
        (None, page) => page.unwrap_or(1).checked_sub(1).filter(|at| *at < posts / ON_PAGE)?,
    };
    if let Some(post) = post.flatten().map(|post| 100 * topic + post).filter(|n| is_alone(*n)) {
        let body = format!("<p>{}</p>", words(&format!("alone {post}"), 90));
        return Some((format!("post {post}"), page(&title(topic), &body)));
    }
    let numbers = (at * ON_PAGE..(at + 1) * ON_PAGE).map(|post| 100 * topic + post);
    let texts = numbers.map(|post| {
        let text = format!("<p>{}</p>", words(&format!("post {post}"), 40));
        link(&format!("/topic?id={topic}&post={post}"), &format!("#{post}")) + &text
    });
    let others = (1..posts / ON_PAGE)
        .map(|at| link(&format!("/topic?id={topic}&page={}", at + 1), &format!("page {}", at + 1)));
    let body = texts.chain(others).collect::<String>();
    Some((format!("topic {topic} page {at}"), page(&title(topic), &body)))
}

fn named(url: &CrawlUrl) -> Shown {
    pages_of_topics(url, |_| false)
}

/// Topics of the last third show each post by itself.
fn half_moved_and_named(url: &CrawlUrl) -> Shown {
    pages_of_topics(url, |post| post / 100 >= 40)
}

/// The last post of each page is on a page of its own.
fn last_alone_and_named(url: &CrawlUrl) -> Shown {
    pages_of_topics(url, |post| post % 5 == 4)
}

/// The links of each page name a session, which is that of the page where it has one.
fn with_sessions(url: &CrawlUrl, site: fn(&CrawlUrl) -> Shown) -> Shown {
    let (document, html) = site(url)?;
    let new = format!("{:016x}", xxhash_rust::xxh3::xxh3_64(document.as_bytes()));
    let session = parameter(url, "sid").unwrap_or(&new);
    let html = match url.path() {
        "/" => html,
        _ => html.replace("/topic?", &format!("/topic?sid={session}&")),
    };
    Some((document, html))
}

fn plain_in_sessions(url: &CrawlUrl) -> Shown {
    with_sessions(url, plain)
}

fn half_moved_in_sessions(url: &CrawlUrl) -> Shown {
    with_sessions(url, half_moved)
}

/// Asserts that a crawl with rules reaches all documents, by fewer than so many tenths of the
/// requests.
async fn assert_posts_are_spared(site: fn(&CrawlUrl) -> Shown, tenths: usize) {
    let (all, without) = crawl(site, DustMode::Off).await;
    let (reached, with) = crawl(site, DustMode::Enforce).await;
    println!("{with} requests for {without}");
    assert_eq!(reached, all);
    assert!(with < without * tenths / 10, "{with} requests for {without}");
}

/// A post without a session was hidden for the topic of one with a session, in the name of the rule
/// that drops sessions, and stayed so when the rule of links fell.
#[tokio::test(start_paused = true)]
async fn sessions_beside_posts_lose_none() {
    assert_posts_are_spared(plain_in_sessions, 7).await;
    assert_none_is_lost(half_moved_in_sessions).await;
}

#[tokio::test(start_paused = true)]
async fn posts_that_show_their_topic_are_not_fetched() {
    assert_posts_are_spared(plain, 6).await;
}

#[tokio::test(start_paused = true)]
async fn posts_that_are_pages_of_their_own_are_not_lost() {
    assert_none_is_lost(half_moved).await;
    assert_none_is_lost(first_alone).await;
}

/// Which page of the topic it is, the topic's name in the link does not say.
#[tokio::test(start_paused = true)]
async fn posts_that_name_their_topic_are_not_fetched_for_its_other_pages() {
    assert_posts_are_spared(named, 7).await;
}

#[tokio::test(start_paused = true)]
async fn posts_that_name_their_topic_and_are_pages_of_their_own_are_not_lost() {
    assert_none_is_lost(half_moved_and_named).await;
    assert_none_is_lost(last_alone_and_named).await;
}

/// Posts lead to their topic by a redirect, but for those in topics from `moved` on, which have
/// pages of their own.
fn redirects(url: &CrawlUrl, moved: u64) -> Page {
    let shown = match (url.path().strip_prefix("/post/"), url.path().strip_prefix("/alone/")) {
        (Some(post), _) => {
            let topic = post.parse::<u64>().map_or(TOPICS, |post| (post - 7_000) / POSTS);
            let is_moved = topic >= moved;
            let to = if is_moved { format!("/alone/{post}") } else { format!("/topic?id={topic}") };
            return Page::moved(to);
        }
        (None, Some(post)) => Some(page(post, &format!("<p>{}</p>", words(post, 60)))),
        (None, None) => plain(url).map(|(_, html)| html.replace("/topic?post=", "/post/")),
    };
    shown.map_or(Page::Missing, Page::Html)
}

/// Returns how many requests a crawl needs, and what it reaches but for redirects.
async fn follow(moved: u64, mode: DustMode) -> (usize, BTreeSet<CrawlUrl>) {
    let dust = DustSettings { mode, ..DustSettings::default() };
    let asked = asked_of(move |url| redirects(url, moved), dust).await;
    let reached = asked.iter().filter(|url| !url.path().starts_with("/post/"));
    (asked.len(), reached.cloned().collect())
}

#[tokio::test(start_paused = true)]
async fn posts_that_redirect_to_their_topic_are_not_asked_for() {
    let (without, all) = follow(TOPICS, DustMode::Off).await;
    let (with, reached) = follow(TOPICS, DustMode::Enforce).await;
    println!("{with} requests for {without}");
    assert_eq!(reached, all);
    assert!(with < without * 6 / 10, "{with} requests for {without}");
}

#[tokio::test(start_paused = true)]
async fn pages_behind_the_redirects_of_some_posts_are_not_lost() {
    for moved in [0, 12, 40, 54] {
        let (without, all) = follow(moved, DustMode::Off).await;
        let (with, reached) = follow(moved, DustMode::Enforce).await;
        println!("{with} requests for {without}, from topic {moved} on");
        assert_eq!(reached, all, "from topic {moved} on");
    }
}

/// A crawl that was complete fetched some of what its rules hide, each time that it was run again.
#[tokio::test(start_paused = true)]
async fn a_complete_crawl_that_is_run_again_asks_for_nothing() {
    let mut world = empty();
    world.dust = DustSettings { mode: DustMode::Enforce, ..DustSettings::default() };
    let site = |url: &CrawlUrl| plain(url).map_or(Page::Missing, |(_, html)| Page::Html(html));
    let first = world.scripted(Vec::new(), site).await;
    assert!(first.summary.counters.suppressed > 100, "{:?}", first.summary.counters);
    drop(first);
    let again = world.scripted(Vec::new(), site).await;
    assert_eq!(again.asked, Vec::<String>::new());
}
