//! Links that lead back to the page they stand on, as those of the posts of a topic do: no address
//! says which page that is.

use crawler::crawl::DustMode;
use crawler::url::CrawlUrl;

use super::exceptions::{Shown, assert_none_is_lost, crawl, link, page, parameter, words};

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

/// Asserts that a crawl with rules reaches all topics, by fewer tenths of the requests than these.
async fn assert_posts_are_spared(site: fn(&CrawlUrl) -> Shown, tenths: usize) {
    let (all, without) = crawl(site, DustMode::Off).await;
    let (reached, with) = crawl(site, DustMode::Enforce).await;
    println!("{with} requests for {without}");
    assert_eq!((reached.len(), all.len()), (TOPICS as usize + 1, TOPICS as usize + 1));
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
