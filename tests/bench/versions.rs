//! Measures near-duplicate detection on real pages: two versions of a documentation package, where
//! the truth is what a diff of the words says.
//!
//! `cargo bench --profile dev --bench versions -- DIR_OLD DIR_NEW`, each directory holding the HTML
//! files of one version, such as two unpacked Debian packages `postgresql-doc-15`. Files of the
//! same name are versions of one page.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crawler::content::near::{MemoryBands, NearIndex, NearSettings, Pair, clusters};
use crawler::content::{
    Analysis, Block, Boilerplate, Content, Page, Room, Settings, SiteModel, WideSketch, Words,
};
use crawler::crawl::block_of;
use crawler::extract;
use crawler::url::CrawlUrl;

fn main() {
    let dirs: Vec<PathBuf> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).map(PathBuf::from).collect();
    let [old, new] = dirs.as_slice() else {
        println!("give two directories of HTML files; see the head of tests/bench/versions.rs");
        return;
    };
    let (old, new) = (read(old), read(new));
    println!("{} and {} pages", old.len(), new.len());
    for with_model in [false, true] {
        let (a, b) = (judged(&old, with_model), judged(&new, with_model));
        println!("\n{} a model of the site", if with_model { "with" } else { "without" });
        same_names(&a, &b);
        found(&a, &b);
    }
}

/// Pages by name, as blocks.
type Version = BTreeMap<String, Vec<extract::TextBlock>>;

fn read(dir: &Path) -> Version {
    let mut out = Version::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        let entries = std::fs::read_dir(&dir).expect("the directory can be read");
        for path in entries.map(|entry| entry.expect("an entry").path()) {
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !name.ends_with(".html") {
                continue;
            }
            let body = std::fs::read(&path).expect("the file can be read");
            let url = CrawlUrl::parse("http://docs.example/").expect("a URL");
            let page = extract::Page {
                url: &url,
                content_type: Some("text/html"),
                link_headers: &[],
                body: &body,
            };
            out.insert(name, extract::extract(&page, &extract::Settings::default()).blocks);
        }
    }
    out
}

/// A page with its analysis and all its words, for the truth.
struct Judged {
    analysis: Analysis,
    words: Vec<u64>,
}

fn judged(version: &Version, with_model: bool) -> BTreeMap<String, Judged> {
    let (mut model, mut content) = (SiteModel::default(), Content::new(Settings::default()));
    if with_model {
        for blocks in version.values() {
            let analysis = analyse(&mut content, blocks, &model.boilerplate());
            model.observe(&analysis, content.settings(), Room::Ample);
        }
    }
    let known = model.boilerplate();
    let judge = |(name, blocks): (&String, &Vec<extract::TextBlock>)| {
        let words =
            blocks.iter().flat_map(|block| Words::of(&block.text).hashes().to_vec()).collect();
        (name.clone(), Judged { analysis: analyse(&mut content, blocks, &known), words })
    };
    version.iter().map(judge).collect()
}

fn analyse(content: &mut Content, blocks: &[extract::TextBlock], known: &Boilerplate) -> Analysis {
    let blocks: Vec<Block<'_>> = blocks.iter().map(block_of).collect();
    content.analyse(&Page { blocks: &blocks, ..Page::default() }, known)
}

/// Share of the words of two pages that a diff leaves unchanged.
fn unchanged(a: &[u64], b: &[u64]) -> f64 {
    let most = 6_000;
    let (a, b) = (&a[..a.len().min(most)], &b[..b.len().min(most)]);
    let same: usize = similar::capture_diff_slices(similar::Algorithm::Myers, a, b)
        .iter()
        .filter(|op| op.tag() == similar::DiffTag::Equal)
        .map(|op| op.new_range().len())
        .sum();
    2.0 * same as f64 / (a.len() + b.len()).max(1) as f64
}

fn estimate(a: &Analysis, b: &Analysis) -> f64 {
    a.wide.zip(b.wide).map_or(0.0, |(a, b): (WideSketch, WideSketch)| a.resemblance(&b))
}

/// Versions of one page, by how much of it the diff leaves unchanged.
fn same_names(a: &BTreeMap<String, Judged>, b: &BTreeMap<String, Judged>) {
    let bands =
        [(1.0, 9.0), (0.99, 1.0), (0.95, 0.99), (0.9, 0.95), (0.8, 0.9), (0.5, 0.8), (0.0, 0.5)];
    println!(
        "{:<16}{:>7}{:>8}{:>8}{:>9}{:>9}{:>9}{:>10}",
        "unchanged", "pages", "digest", "core", "w>=.5", "w>=.7", "w>=.8", "thin"
    );
    for (from, to) in bands {
        let mut counts = [0usize; 7];
        for (one, other) in a.iter().filter_map(|(name, page)| Some((page, b.get(name)?))) {
            let truth = unchanged(&one.words, &other.words);
            if !(from..to).contains(&truth) {
                continue;
            }
            let (x, y) = (&one.analysis, &other.analysis);
            let near = estimate(x, y);
            let marks = [
                true,
                x.text_digest == y.text_digest,
                x.core_digest == y.core_digest,
                near >= 0.5,
                near >= 0.7,
                near >= 0.8,
                x.thin || y.thin,
            ];
            counts.iter_mut().zip(marks).for_each(|(count, mark)| *count += usize::from(mark));
        }
        let share = |at: usize| counts[at] as f64 / (counts[0] as f64).max(1.0);
        let band = if to > 1.0 { "all".to_owned() } else { format!("{from} to {to}") };
        print!("{band:<16}{:>7}", counts[0]);
        (1..7).for_each(|at| print!("{:>9.3}", share(at)));
        println!();
    }
}

/// What the index finds among all pages of both versions, against the diff of each pair found.
fn found(a: &BTreeMap<String, Judged>, b: &BTreeMap<String, Judged>) {
    let pages: Vec<(&String, &Judged)> = a.iter().chain(b).collect();
    let all = [(32, 4, 0.5), (16, 4, 0.7), (25, 5, 0.7), (16, 6, 0.8)];
    for (bands, bins, resemblance_min) in all {
        let settings = NearSettings { bands, bins, resemblance_min };
        let mut index = NearIndex::new(settings.clone(), MemoryBands::new(pages.len(), &settings));
        let mut pairs: Vec<Pair> = Vec::new();
        for (id, (_, page)) in (0..).zip(&pages) {
            if let Some(sketch) = &page.analysis.wide {
                let Ok(found) = index.insert(id, sketch);
                pairs.extend(found);
            }
        }
        let mut of_other_name = Vec::new();
        let mut same_name = 0;
        for pair in &pairs {
            let ((one, x), (other, y)) = (pages[pair.a as usize], pages[pair.b as usize]);
            if one == other {
                same_name += 1;
            } else {
                of_other_name.push((unchanged(&x.words, &y.words), one, other));
            }
        }
        of_other_name.sort_by(|x, y| x.0.total_cmp(&y.0));
        let alike = of_other_name.iter().filter(|pair| pair.0 >= 0.5).count();
        let sketch_of = |id: u64| pages[id as usize].1.analysis.wide;
        let clusters = clusters(&pairs, sketch_of);
        let largest = clusters.first().map_or(0, |cluster| cluster.members.len());
        let least = clusters.iter().map(|cluster| cluster.least_resemblance).fold(1.0, f64::min);
        println!(
            "index {bands} x {bins}, resemblance >= {resemblance_min}: {same_name} pairs of one \
             name, {} of two names, of which {alike} are half or more unchanged; {} clusters, the \
             largest of {largest}, least resemblance inside one {least:.2}",
            of_other_name.len(),
            clusters.len()
        );
        for (truth, one, other) in of_other_name.iter().take(3) {
            println!("    least alike: {truth:.2} {one} {other}");
        }
    }
}
