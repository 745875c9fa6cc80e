//! Extraction against a tree: bytes a second over whole pages, links and text together.
//!
//! Over the fixtures, or over the `.html` files of `EXTRACT_PAGES`, the first two hundred by name.

use std::path::{Path, PathBuf};

use crawler::extract::{Page, Settings, extract};
use crawler::url::CrawlUrl;
use divan::Bencher;
use divan::counter::BytesCount;
use scraper::{Html, Selector};

fn main() {
    divan::main();
}

/// Pages compared at most.
const PAGES_MAX: usize = 200;

fn pages() -> Vec<Vec<u8>> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/html");
    let directory = std::env::var_os("EXTRACT_PAGES").map_or(fixtures, PathBuf::from);
    let mut files: Vec<PathBuf> = std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "html"))
        .collect();
    files.sort();
    files.truncate(PAGES_MAX);
    files.iter().filter_map(|file| std::fs::read(file).ok()).collect()
}

fn bytes_of(pages: &[Vec<u8>]) -> BytesCount {
    BytesCount::new(pages.iter().map(Vec::len).sum::<usize>())
}

/// Everything that [`extract`] gives: links, text blocks, forms, directives.
#[divan::bench]
fn tokens(bencher: Bencher<'_, '_>) {
    let pages = pages();
    let url = CrawlUrl::parse("http://pages.example/dir/page.html").expect("a URL");
    let settings = Settings::default();
    bencher.counter(bytes_of(&pages)).bench(|| {
        for body in &pages {
            let content_type = Some("text/html; charset=utf-8");
            let page = Page { url: &url, content_type, link_headers: &[], body };
            divan::black_box(extract(&page, &settings));
        }
    });
}

/// The least that a tree costs: parsed, its links resolved, its text gathered.
#[divan::bench]
fn tree(bencher: Bencher<'_, '_>) {
    let pages = pages();
    let url = CrawlUrl::parse("http://pages.example/dir/page.html").expect("a URL");
    let selector = Selector::parse("a, area, link, img, script, iframe").expect("a selector");
    bencher.counter(bytes_of(&pages)).bench(|| {
        for body in &pages {
            let tree = Html::parse_document(&String::from_utf8_lossy(body));
            for element in tree.select(&selector) {
                let raw = element.value().attr("href").or_else(|| element.value().attr("src"));
                divan::black_box(raw.map(|raw| url.join(raw)));
            }
            divan::black_box(tree.root_element().text().collect::<String>());
        }
    });
}
