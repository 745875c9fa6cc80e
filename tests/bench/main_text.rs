//! Measures the main text of real pages against what it is known to be, and beside it what other
//! extractors make of the same pages.
//!
//! `cargo bench --profile dev --bench main_text -- FOLDER`, where `FOLDER/SET/NAME.html` is a page,
//! `NAME.txt` its main text and `NAME.LIBRARY.txt` what a library takes for it; `.ci/main_text`
//! collects such a folder. The pages of a set `site-…` are of one site, so its model is measured
//! too. Words are compared as bags; figures are means over the pages of a set.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crawler::content::{Boilerplate, Content, Page, Room, Settings, SiteModel, Words};
use crawler::crawl::blocks_of;
use crawler::extract::{self, Extracted};
use crawler::url::CrawlUrl;

fn main() {
    let Some(folder) = std::env::args().skip(1).find(|arg| !arg.starts_with('-')) else {
        println!("give a folder of pages; see the head of tests/bench/main_text.rs");
        return;
    };
    println!(
        "{:<12}{:<20}{:>6}{:>11}{:>8}{:>8}{:>8}",
        "", "", "pages", "precision", "recall", "F1", "none"
    );
    let mut all: BTreeMap<String, Sums> = BTreeMap::new();
    for set in entries(Path::new(&folder)).filter(|path| path.is_dir()) {
        let name = set.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for (reader, sums) in measured(&set) {
            println!("{name:<12}{reader:<20}{sums}");
            all.entry(reader).or_default().add(&sums);
        }
    }
    for (reader, sums) in all {
        println!("{:<12}{reader:<20}{sums}", "all");
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.into_iter()
}

/// What one reader made of a set of pages.
#[derive(Clone, Debug, Default)]
struct Sums {
    pages: usize,
    precision: f64,
    recall: f64,
    f1: f64,
    /// Pages of which it kept no word.
    none: usize,
}

impl Sums {
    fn note(&mut self, truth: &[u64], kept: &[u64]) {
        let common = overlap(truth, kept) as f64;
        let precision = common / (kept.len() as f64).max(1.0);
        let recall = common / (truth.len() as f64).max(1.0);
        self.pages += 1;
        self.precision += precision;
        self.recall += recall;
        self.f1 += 2.0 * precision * recall / (precision + recall).max(1e-9);
        self.none += usize::from(kept.is_empty());
    }

    fn add(&mut self, other: &Sums) {
        self.pages += other.pages;
        self.precision += other.precision;
        self.recall += other.recall;
        self.f1 += other.f1;
        self.none += other.none;
    }
}

impl std::fmt::Display for Sums {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let each = |sum: f64| sum / (self.pages as f64).max(1.0);
        let (precision, recall, f1) = (each(self.precision), each(self.recall), each(self.f1));
        write!(f, "{:>6}{precision:>11.3}{recall:>8.3}{f1:>8.3}{:>8}", self.pages, self.none)
    }
}

/// Size of the intersection of two bags.
fn overlap(a: &[u64], b: &[u64]) -> usize {
    let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
    a.iter().for_each(|word| *counts.entry(*word).or_default() += 1);
    let taken = b.iter().filter(|word| match counts.get_mut(word) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        _ => false,
    });
    taken.count()
}

fn measured(set: &Path) -> BTreeMap<String, Sums> {
    let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
    let pages: Vec<(PathBuf, Extracted)> = entries(set)
        .filter(|path| path.extension().is_some_and(|ending| ending == "html"))
        .map(|path| (path.clone(), extracted(&path)))
        .collect();
    let mut content = Content::new(Settings::default());
    // Pages of many sites have nothing in common that would be boilerplate.
    let is_site = set.file_name().is_some_and(|name| name.to_string_lossy().starts_with("site-"));
    let model = taught(&mut content, &pages);
    for (path, page) in &pages {
        let truth = words(&path.with_extension("txt"));
        let mut read = |known: &Boilerplate| {
            let blocks = blocks_of(page);
            content
                .analyse(
                    &Page { blocks: &blocks, links: page.links.len(), ..Page::default() },
                    known,
                )
                .main_words
        };
        sums.entry("structure alone".into())
            .or_default()
            .note(&truth, &read(&Boilerplate::default()));
        if is_site {
            sums.entry("and the site".into()).or_default().note(&truth, &read(&model));
        }
        for file in entries(set) {
            if let Some(library) = library_of(path, &file) {
                sums.entry(library).or_default().note(&truth, &words(&file));
            }
        }
        let all: Vec<u64> = page.blocks.iter().flat_map(|block| hashes(&block.text)).collect();
        sums.entry("the whole page".into()).or_default().note(&truth, &all);
    }
    sums
}

fn extracted(path: &Path) -> Extracted {
    let body = std::fs::read(path).expect("the page can be read");
    let url = CrawlUrl::parse("http://site.example/a/page.html").expect("a URL");
    let page = extract::Page {
        url: &url,
        content_type: Some("text/html"),
        link_headers: &[],
        body: &body,
    };
    extract::extract(&page, &extract::Settings::default())
}

fn taught(content: &mut Content, pages: &[(PathBuf, Extracted)]) -> std::sync::Arc<Boilerplate> {
    let mut model = SiteModel::default();
    for (_, page) in pages {
        let blocks = blocks_of(page);
        let known = model.boilerplate();
        let analysis = content
            .analyse(&Page { blocks: &blocks, links: page.links.len(), ..Page::default() }, &known);
        model.observe(&analysis, content.settings(), Room::Ample);
    }
    model.boilerplate()
}

/// Returns the library that wrote `file` for the page at `path`, if one did.
fn library_of(path: &Path, file: &Path) -> Option<String> {
    let page = path.file_stem()?.to_str()?;
    let library = file.file_name()?.to_str()?.strip_prefix(page)?.strip_prefix('.')?;
    library.strip_suffix(".txt").filter(|library| !library.is_empty()).map(str::to_owned)
}

fn words(path: &Path) -> Vec<u64> {
    hashes(&std::fs::read_to_string(path).expect("the text can be read"))
}

fn hashes(text: &str) -> Vec<u64> {
    Words::of(text).hashes().to_vec()
}
