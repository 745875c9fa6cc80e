//! Forms of one document that rules are proved by: what is no HTML, and parameters between
//! semicolons.

use std::collections::BTreeSet;

use crawler::crawl::DustMode;
use crawler::url::CrawlUrl;

use super::scripted::{Crawled, Page, empty};

/// What a crawl with rules made of the files of a site.
struct Files {
    crawled: Crawled,
    /// Fetches of files.
    fetches: usize,
    /// Files that were fetched in some form.
    reached: BTreeSet<String>,
}

/// Crawls a site with rules whose home leads to these forms of files, as `form` writes them.
async fn files(
    forms: Vec<String>,
    shown: impl Fn(&CrawlUrl) -> (String, Page) + Clone + Send + Sync + 'static,
) -> Files {
    let mut world = empty();
    world.dust.mode = DustMode::Enforce;
    // One page leads to few of them, so that rules are there before the last are found.
    let lists: Vec<Vec<String>> = forms.chunks(12).map(<[String]>::to_vec).collect();
    let (links, answer) = (lists.clone(), shown.clone());
    let crawled = world
        .scripted(Vec::new(), move |url| match url.path() {
            "/robots.txt" => Page::Missing,
            "/" => list(0, &links),
            path => match path.strip_prefix("/list/").and_then(|n| n.parse().ok()) {
                Some(n) => list(n, &links),
                None if is_form(url) => answer(url).1,
                None => Page::Missing,
            },
        })
        .await;
    let asked: Vec<CrawlUrl> =
        crawled.asked.iter().filter_map(|url| CrawlUrl::parse(url).ok()).collect();
    let of_files: Vec<&CrawlUrl> = asked.iter().filter(|url| is_form(url)).collect();
    let reached = of_files.iter().map(|url| shown(url).0).collect();
    Files { fetches: of_files.len(), reached, crawled }
}

fn is_form(url: &CrawlUrl) -> bool {
    url.path().starts_with("/file/") || url.path() == "/show"
}

/// A page that leads to some files and to the next list.
fn list(n: usize, lists: &[Vec<String>]) -> Page {
    let next = format!("/list/{}", n + 1);
    let links = lists.get(n).into_iter().flatten().map(String::as_str);
    let next = (n + 1 < lists.len()).then_some(next.as_str());
    Page::text(&format!("list {n}"), &links.chain(next).collect::<Vec<_>>())
}

fn bytes(content_type: &'static str, text: &str) -> Page {
    let body = format!("{text} ").repeat(20).into_bytes();
    Page::Said(200, vec![("content-type", content_type.as_bytes())], body)
}

fn parameter(url: &CrawlUrl, name: &str) -> String {
    let query = url.as_url().query().unwrap_or_default();
    let parts = query.split(['&', ';']).filter_map(|part| part.split_once('='));
    parts.filter(|(key, _)| *key == name).map(|(_, value)| value.to_owned()).collect()
}

/// Nothing was known of files but that they are there, so that each was fetched in every form.
#[tokio::test(start_paused = true)]
async fn a_file_is_known_by_its_bytes_whatever_it_is() {
    for content_type in ["text/plain", "application/pdf", "image/png", "text/x-perl"] {
        let forms = (0..150).flat_map(|n| ["", "?via=tree", "?via=log"].map(|end| (n, end)));
        let forms = forms.map(|(n, end)| format!("/file/{n}{end}")).collect();
        let found = files(forms, move |url| {
            let file = url.path().to_owned();
            (file.clone(), bytes(content_type, &file))
        });
        let found = found.await;
        assert_eq!(found.reached.len(), 150, "{content_type}");
        assert!(found.fetches < 300, "{content_type}: {} fetches of 450 forms", found.fetches);
    }
}

/// What agrees for most files and not for all hides none of these others.
#[tokio::test(start_paused = true)]
async fn a_file_that_has_other_bytes_is_another_file() {
    let forms = (0..200).flat_map(|n| ["1", "2"].map(|rev| format!("/file/{n}?rev={rev}")));
    let all = |url: &CrawlUrl| {
        let n: u32 = url.path()["/file/".len()..].parse().unwrap_or_default();
        let rev = if n % 4 == 3 { parameter(url, "rev") } else { String::new() };
        format!("{n} {rev}")
    };
    let found = files(forms.collect(), move |url| (all(url), bytes("text/plain", &all(url)))).await;
    assert_eq!(found.reached.len(), 250, "{} fetches", found.fetches);
    assert_eq!(found.crawled.summary.counters.failed, 0);
}

/// Where parameters are written between semicolons each value of one was a rule of its own, which
/// took as long to prove as there are values.
#[tokio::test(start_paused = true)]
async fn parameters_between_semicolons_are_dropped_one_by_one() {
    let forms = (0..150).flat_map(|n| {
        ["a", "b", "c"].map(|word| format!("/show?file={n};from={word}{n};view=text"))
    });
    let found = files(forms.collect(), |url| {
        let file = parameter(url, "file");
        let page = Page::text(&file, &[]);
        (file, page)
    });
    let found = found.await;
    assert_eq!(found.reached.len(), 150);
    assert!(found.fetches < 300, "{} fetches of 450 forms", found.fetches);
    let hidden = |n| {
        let mut forms = ["a", "b", "c"]
            .map(|word| format!("http://a.test/show?file={n};from={word}{n};view=text"))
            .into_iter();
        forms.any(|form| found.crawled.fetches(&form) == 0)
    };
    assert!((140..150).any(hidden), "the last are hidden by one rule");
}

/// The pages of a book of pictures have all the words that tell of the book: its first page stood
/// for the others, and the pictures of these were never found.
#[tokio::test(start_paused = true)]
async fn pages_with_the_same_words_and_another_picture_are_pages_of_their_own() {
    const BOOKS: usize = 16;
    const PAGES: usize = 6;
    for dust in [DustMode::Off, DustMode::Enforce] {
        let mut world = empty();
        world.dust.mode = dust;
        let crawled = world
            .scripted(Vec::new(), |url| {
                let (path, book) = (url.path(), parameter(url, "book"));
                let page_of = parameter(url, "page").parse().unwrap_or(1);
                match path {
                    "/" => {
                        let books = (0..BOOKS).map(|book| format!("/viewer?book={book}"));
                        let texts = (0..40).map(|n| format!("/text/{n}"));
                        let links: Vec<String> = books.chain(texts).collect();
                        Page::text("home", &links.iter().map(String::as_str).collect::<Vec<_>>())
                    }
                    "/viewer" if page_of <= PAGES => {
                        let links: Vec<String> =
                            (1..=PAGES).map(|n| format!("/viewer?book={book}&page={n}")).collect();
                        let links: Vec<&str> = links.iter().map(String::as_str).collect();
                        match Page::text(&format!("book {book}"), &links) {
                            Page::Html(page) => {
                                Page::Html(format!("{page}<img src=\"/scan/{book}-{page_of}\">"))
                            }
                            other => other,
                        }
                    }
                    _ if path.starts_with("/text/") => Page::text(path, &[]),
                    _ if path.starts_with("/scan/") => bytes("image/png", path),
                    _ => Page::Missing,
                }
            })
            .await;
        let scans = (0..BOOKS).flat_map(|book| (1..=PAGES).map(move |page| (book, page)));
        let missing: Vec<String> = scans
            .map(|(book, page)| format!("http://a.test/scan/{book}-{page}"))
            .filter(|scan| crawled.fetches(scan) == 0)
            .collect();
        assert!(
            missing.is_empty(),
            "{dust:?}: {} missing, as {:?}",
            missing.len(),
            missing.first()
        );
    }
}
