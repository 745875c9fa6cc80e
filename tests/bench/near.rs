//! Measures the content stage: main text, digests, sketches, the near-duplicate index and their
//! cost, on pages with known truth.
//!
//! `cargo bench --bench near [-- PART...]`, parts `main_text pairs widths rivals junk signatures
//! index stored cost`; a number among them is how many texts `index` and `stored` take, and `16x4`
//! their bands and bins. With `--profile dev` it builds faster, and times are some three times as
//! long.

use crawler::content::near::{MemoryBands, NearIndex, NearSettings};
use crawler::content::signature::{
    Form, SignatureSettings, distance, hyperlink_map, normalized, project,
};
use crawler::content::{
    Analysis, Block, BlockKind, Boilerplate, Content, Page, Region, Room, Settings, SiteModel,
    Sketch, WideSketch, probes, resemblance, shingles, signature, soft_error,
};
use crawler::crawl::near::{alike, put};
use crawler::db::{Batch, Db, Settings as DbSettings};
use crawler::url::Fingerprint;

#[allow(unreachable_pub, reason = "shared with the unit tests of the content stage")]
mod junk;
#[allow(unreachable_pub, reason = "shared with the unit tests of the content stage")]
mod pages;
#[allow(unreachable_pub, reason = "shared with the unit tests of the content stage")]
mod replicas;
use pages::{Chance, OwnBlock, Script, Site, article, borrowed, edit, text};
use replicas::{Collection, break_even, collection};

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let parts: [(&str, fn()); 9] = [
        ("main_text", main_text),
        ("pairs", pairs),
        ("widths", widths),
        ("rivals", rivals),
        ("junk", junk_pages),
        ("signatures", signatures),
        ("index", index),
        ("stored", stored),
        ("cost", cost),
    ];
    for (name, part) in parts {
        if asked.is_empty() || asked.iter().any(|asked| asked == name) {
            part();
        }
    }
}

fn analyse(content: &mut Content, blocks: &[OwnBlock], known: &Boilerplate) -> Analysis {
    let blocks = borrowed(blocks);
    content.analyse(&Page { blocks: &blocks, ..Page::default() }, known)
}

/// Teaches the model of a site with `count` pages.
fn taught(site: &Site, count: u64) -> SiteModel {
    let (mut model, mut content) = (SiteModel::default(), Content::new(Settings::default()));
    for n in 0..count {
        let words = text(site.seed << 20 | n | 1 << 50, 150 + (n as usize * 37) % 500);
        let blocks = site.page(&article(&words, site.script, n), n);
        let analysis = analyse(&mut content, &blocks, &model.boilerplate());
        model.observe(&analysis, &Settings::default(), Room::Ample);
    }
    model
}

/// Words of the truth that were kept, and kept words that are of the truth.
fn main_text() {
    println!("main text: precision and recall of words, 40 sites, 10 pages each");
    println!("{:<34}{:>10}{:>8}{:>12}{:>8}", "", "precision", "recall", "with model", "recall");
    let cases: [(&str, bool, usize, usize); 5] = [
        ("labelled, text of 300 words", true, 150, 300),
        ("unlabelled, text of 300 words", false, 150, 300),
        ("labelled, boilerplate of 90 %", true, 1800, 200),
        ("unlabelled, boilerplate of 90 %", false, 1800, 200),
        ("unlabelled, text of 40 words", false, 150, 40),
    ];
    for (name, labelled, furniture, words) in cases {
        let mut sums = [[0.0; 3]; 2];
        for seed in 0..40 {
            let site = Site { labelled, furniture, ..Site::new(1000 + seed) };
            let model = taught(&site, 60);
            for n in 0..10 {
                let own = article(&text(seed << 30 | n | 1 << 60, words), site.script, n);
                let page = site.page(&own, 5000 + n);
                let truth = own_words(&page);
                for (which, known) in
                    [Boilerplate::default().into(), model.boilerplate()].into_iter().enumerate()
                {
                    let got = analyse(&mut Content::new(Settings::default()), &page, &known);
                    let common = overlap(&truth, &got.main_words) as f64;
                    let add = [common, got.main_words.len() as f64, truth.len() as f64];
                    sums[which].iter_mut().zip(add).for_each(|(sum, add)| *sum += add);
                }
            }
        }
        let [[c, g, t], [mc, mg, mt]] = sums;
        println!("{name:<34}{:>10.3}{:>8.3}{:>12.3}{:>8.3}", c / g, c / t, mc / mg, mc / mt);
    }
}

fn own_words(page: &[OwnBlock]) -> Vec<u64> {
    let own = page.iter().filter(|block| block.own);
    own.flat_map(|block| crawler::content::Words::of(&block.text).hashes().to_vec()).collect()
}

/// Size of the intersection of two bags.
fn overlap(a: &[u64], b: &[u64]) -> usize {
    let (mut a, mut b) = (a.to_vec(), b.to_vec());
    a.sort_unstable();
    b.sort_unstable();
    let (mut i, mut j, mut common) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (i, j, common) = (i + 1, j + 1, common + 1),
        }
    }
    common
}

type PagePair = (Site, Vec<OwnBlock>, Site, Vec<OwnBlock>);

/// A pair of pages of the named kind.
fn pair(kind: &str, seed: u64) -> PagePair {
    let mut chance = Chance(seed);
    let words = 120 + chance.below(600) as usize;
    let script = match kind {
        "Han, 2 % edited" | "Han, different text" => Script::Han,
        "Thai, 2 % edited" | "Thai, different text" => Script::Thai,
        "Cyrillic, 2 % edited" => Script::Cyrillic,
        _ => Script::Latin,
    };
    let furniture = if kind.starts_with("boilerplate of 90 %") { 9 * words } else { 150 };
    let words = if kind.starts_with("short") { 30 } else { words };
    let site = Site { script, furniture, ..Site::new(seed % 50) };
    let ranks = text(chance.next(), words);
    let base = article(&ranks, script, seed);
    let edited = |share| article(&edit(&ranks, share, seed), script, seed);
    let percent: Option<f64> = kind
        .split([' ', ','])
        .collect::<Vec<_>>()
        .windows(3)
        .find(|part| part[1] == "%" && part[2] == "edited")
        .and_then(|part| part[0].parse().ok());
    let (other_site, other) = match kind {
        "same text, another visit" => (site.clone(), base.clone()),
        "same text, another template" => {
            (Site { script, ..Site::new(seed % 50 + 100) }, base.clone())
        }
        "reordered list" => {
            let mut items = list(&ranks);
            chance.shuffle(&mut items);
            return (site.clone(), site.page(&list(&ranks), 1), site.clone(), site.page(&items, 2));
        }
        _ => match percent {
            Some(percent) => (site.clone(), edited(percent / 100.0)),
            None => (site.clone(), article(&text(chance.next(), words), script, seed)),
        },
    };
    let (one, two) = (site.page(&base, 1), other_site.page(&other, 2));
    (site, one, other_site, two)
}

fn list(ranks: &[u64]) -> Vec<OwnBlock> {
    let items = ranks.chunks(9).map(|item| pages::written(item, Script::Latin));
    items.map(|item| OwnBlock::own(item, BlockKind::ListItem)).collect()
}

const ALIKE: [&str; 13] = [
    "same text, another visit",
    "same text, another template",
    "1 % edited",
    "2 % edited",
    "5 % edited",
    "10 % edited",
    "20 % edited",
    "reordered list",
    "boilerplate of 90 %, 2 % edited",
    "short page, 2 % edited",
    "Cyrillic, 2 % edited",
    "Han, 2 % edited",
    "Thai, 2 % edited",
];
const DIFFERENT: [&str; 5] = [
    "same template, different text",
    "boilerplate of 90 %, different text",
    "short page, different text",
    "Han, different text",
    "Thai, different text",
];

fn pairs() {
    let pairs = 300;
    println!("\npairs judged alike (share of {pairs}; sites' models of 60 pages)");
    println!(
        "{:<38}{:>8}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}",
        "", "digest", "core", "16:>=.5", "16:>=.8", "w>=.5", "w>=.7", "w>=.8", "thin"
    );
    let models: std::collections::BTreeMap<(u64, usize, u8), SiteModel> = Default::default();
    let mut models = models;
    let mut totals = [[0usize; 8]; 2];
    for (which, kinds) in [&ALIKE[..], &DIFFERENT[..]].into_iter().enumerate() {
        for kind in kinds {
            let mut counts = [0usize; 8];
            for seed in 0..pairs {
                let (site, one, other_site, two) = pair(kind, seed as u64 + 7);
                let mut judge = |site: &Site, page: &[OwnBlock]| {
                    let key = (site.seed, site.furniture, site.script as u8);
                    let model = models.entry(key).or_insert_with(|| taught(site, 60));
                    analyse(&mut Content::new(Settings::default()), page, &model.boilerplate())
                };
                let (a, b) = (judge(&site, &one), judge(&other_site, &two));
                let few = a
                    .sketch
                    .zip(b.sketch)
                    .map_or(0.0, |(a, b): (Sketch, Sketch)| a.resemblance(&b));
                let wide = a
                    .wide
                    .zip(b.wide)
                    .map_or(0.0, |(a, b): (WideSketch, WideSketch)| a.resemblance(&b));
                let marks = [
                    a.text_digest == b.text_digest,
                    a.core_digest == b.core_digest && !a.thin,
                    few >= 0.5,
                    few >= 0.8,
                    wide >= 0.5,
                    wide >= 0.7,
                    wide >= 0.8,
                    a.thin || b.thin,
                ];
                counts.iter_mut().zip(marks).for_each(|(count, mark)| *count += usize::from(mark));
                // Edits of 10 % and more are other texts or not, as one likes: they are shown only.
                if !kind.starts_with("10 %") && !kind.starts_with("20 %") {
                    let total = &mut totals[which];
                    total
                        .iter_mut()
                        .zip(marks)
                        .for_each(|(total, mark)| *total += usize::from(mark));
                }
            }
            print!("{kind:<38}");
            counts.iter().for_each(|count| print!("{:>8.3} ", *count as f64 / pairs as f64));
            println!();
        }
    }
    print!("{:<38}", "precision (edits up to 5 %)");
    (0..7).for_each(|at| {
        let (yes, no) = (totals[0][at] as f64, totals[1][at] as f64);
        print!("{:>8.3} ", yes / (yes + no).max(1.0));
    });
    print!("\n{:<38}", "recall (edits up to 5 %)");
    let positives = (pairs * (ALIKE.len() - 2)) as f64;
    (0..7).for_each(|at| print!("{:>8.3} ", totals[0][at] as f64 / positives));
    println!();
}

/// Exact resemblance by width of shingles: what an edit costs, and what strangers have in common.
fn widths() {
    println!(
        "\nmean exact resemblance by width of shingles (texts of 400 words; max of strangers)"
    );
    println!(
        "{:<8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>11}{:>8}",
        "width", "1 %", "2 %", "5 %", "10 %", "20 %", "strangers", "max"
    );
    for width in 1..=7 {
        let mut sums = [0.0; 6];
        let mut most = 0.0f64;
        let texts = 100;
        for seed in 0..texts {
            let base = text(seed, 400);
            let of = |ranks: &[u64]| shingles(&pages::written(ranks, Script::Latin), width);
            let shingled = of(&base);
            for (at, share) in [0.01, 0.02, 0.05, 0.1, 0.2].into_iter().enumerate() {
                sums[at] += resemblance(&shingled, &of(&edit(&base, share, seed)));
            }
            let stranger = resemblance(&shingled, &of(&text(seed + 1000, 400)));
            sums[5] += stranger;
            most = most.max(stranger);
        }
        print!("{width:<8}");
        sums[..5].iter().for_each(|sum| print!("{:>8.3}", sum / texts as f64));
        println!("{:>11.4}{most:>8.3}", sums[5] / texts as f64);
    }
}

/// Texts of 200 shingles; one in ten is a copy of an earlier one with 10 changed, which is a
/// resemblance of 190 / 210 = 0.905. The copies of one text change the same ten, so they resemble
/// each other as much as the original: whichever of them is named is right.
struct Texts {
    chance: Chance,
    /// For each text so far the one that it is a copy of, or itself.
    originals: Vec<u64>,
}

const TEXTS: u64 = 1_000_000;

fn texts_asked() -> u64 {
    std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(TEXTS)
}

fn settings_asked() -> NearSettings {
    let asked = std::env::args().find_map(|arg| {
        let (bands, bins) = arg.split_once('x')?;
        Some((bands.parse().ok()?, bins.parse().ok()?))
    });
    let default = NearSettings::default();
    asked.map_or(default.clone(), |(bands, bins)| NearSettings { bands, bins, ..default })
}

impl Texts {
    fn new() -> Texts {
        Texts { chance: Chance(99), originals: Vec::new() }
    }

    fn shingles(text: u64) -> Vec<u64> {
        let mut chance = Chance(text);
        (0..200).map(|_| chance.next()).collect()
    }

    fn copy(original: u64, own: u64) -> Vec<u64> {
        let mut all = Self::shingles(original);
        let mut chance = Chance(Chance(own ^ 0x55).next() ^ 0x0707);
        all[..10].iter_mut().for_each(|shingle| *shingle = chance.next());
        all
    }

    fn sketch(shingles: &[u64]) -> WideSketch {
        crawler::content::sketch(shingles).expect("200 shingles are not thin").1
    }

    /// Returns the sketch of the next text.
    fn next(&mut self) -> WideSketch {
        let page = self.originals.len() as u64;
        let original = if page == 0 { 0 } else { self.chance.below(page) };
        let is_copy = page > 100
            && self.chance.below(10) == 0
            && self.originals[original as usize] == original;
        self.originals.push(if is_copy { original } else { page });
        Self::sketch(&if is_copy { Self::copy(original, page) } else { Self::shingles(page) })
    }
}

/// What an index named for texts whose truth is known.
#[derive(Default)]
struct Named {
    planted: u64,
    right: u64,
    wrong: u64,
}

impl Named {
    /// Notes what was named for the newest text.
    fn note(&mut self, texts: &Texts, named: Option<u64>) {
        let (page, originals) = (texts.originals.len() - 1, &texts.originals);
        let original = originals[page];
        let is_right = named.is_some_and(|named| originals[named as usize] == original);
        self.planted += u64::from(original != page as u64);
        self.right += u64::from(is_right);
        self.wrong += u64::from(named.is_some() && !is_right);
    }
}

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Named { planted, right, wrong } = *self;
        let recall = right as f64 / planted as f64;
        write!(f, "{planted} near-duplicates planted, recall {recall:.4}, {wrong} wrong")
    }
}

/// An index in memory that holds all texts.
fn index() {
    let (settings, count) = (settings_asked(), texts_asked());
    let mut index = NearIndex::new(settings.clone(), MemoryBands::new(count as usize, &settings));
    let (mut texts, mut named) = (Texts::new(), Named::default());
    let mut spent = 0;
    for page in 0..count {
        let wide = texts.next();
        let start = processor_us();
        let Ok(found) = index.find(&wide);
        let Ok(()) = index.add(page, &wide);
        spent += processor_us() - start;
        named.note(&texts, found.first().map(|(page, _)| *page));
    }
    println!(
        "\nindex of {count} texts in memory: {named}; {:.1} us a text (find and add), {} MB",
        spent as f64 / count as f64,
        index.store().memory() / 1_000_000
    );
}

/// The same texts in the state's index, one batch a page as in a crawl, each looked up before it is
/// added; what that costs by the tenth.
fn stored() {
    let (settings, count) = (settings_asked(), texts_asked());
    let dir = tempfile::tempdir().expect("a directory");
    let db = Db::open(dir.path(), &DbSettings::default()).expect("opens");
    println!("\nindex on disk: us of processor a page to find and to put, resident MB, disk bytes");
    let (mut texts, mut named) = (Texts::new(), Named::default());
    let (mut finding, mut putting, mut before) = (0u64, 0u64, processor_us());
    let part = (count / 10).max(1);
    for page in 0..count {
        let wide = texts.next();
        // Pages come in the order of nothing, as fingerprints do.
        let url = Fingerprint(u128::from(page) << 64 | u128::from(Chance(page).next()));
        let made = processor_us();
        let near = alike(&db, &settings, url, &wide).expect("is read");
        let looked = processor_us();
        let mut batch = Batch::default();
        put(&db, &mut batch, &settings, url, &wide).expect("is put");
        db.commit(batch).expect("is written");
        let done = processor_us();
        (finding, putting) = (finding + looked - made, putting + done - looked);
        named.note(&texts, near.map(|near| (near.url.0 >> 64) as u64));
        if (page + 1) % part == 0 {
            let each = |us: u64| us as f64 / part as f64;
            println!(
                "{:>9}: find {:>6.1}, put {:>6.1}, {:>4} MB, {:>4} bytes a page",
                page + 1,
                each(finding),
                each(putting),
                resident_bytes() / 1_000_000,
                bytes_of(dir.path()) / (page + 1)
            );
            (finding, putting) = (0, 0);
        }
    }
    before = processor_us() - before;
    println!("{named}; {:.0} s of processor in all", before as f64 / 1e6);
}

/// Returns the processor time of this process, its compactions included, in microseconds.
fn processor_us() -> u64 {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    spent.tv_sec as u64 * 1_000_000 + spent.tv_nsec as u64 / 1000
}

fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("a number") * 4096
}

fn bytes_of(dir: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(dir).expect("is there").filter_map(Result::ok);
    entries.filter_map(|entry| entry.metadata().ok()).map(|meta| meta.len()).sum()
}

fn cost() {
    println!("\ncost of a page, one thread");
    for words in [300, 1400, 5000] {
        let site = Site::new(4);
        let model = taught(&site, 200);
        let pages: Vec<Vec<OwnBlock>> =
            (0..200).map(|n| site.page(&article(&text(n, words), Script::Latin, n), n)).collect();
        let borrowed: Vec<Vec<Block<'_>>> = pages.iter().map(|page| borrowed(page)).collect();
        let mut content = Content::new(Settings::default());
        for (name, known) in
            [("no model", Boilerplate::default().into()), ("model", model.boilerplate())]
        {
            let mut best = f64::MAX;
            for _ in 0..5 {
                let start = processor_us();
                for blocks in &borrowed {
                    std::hint::black_box(
                        content.analyse(&Page { blocks, ..Page::default() }, &known),
                    );
                }
                best = best.min((processor_us() - start) as f64 / borrowed.len() as f64);
            }
            let bytes: usize = pages[0].iter().map(|block| block.text.len()).sum();
            println!("{words} words ({bytes} bytes), {name}: {best:.1} us of processor");
        }
    }
}

/// SimHash of 64 bits beside sketches, on the same texts: pairs found by edit, and strangers taken
/// for alike among all pairs of 800 texts.
fn rivals() {
    println!("\nsketches and SimHash-64: share of pairs found, texts of 400 words, and strangers");
    println!(
        "{:<28}{:>8}{:>8}{:>8}{:>8}{:>8}{:>16}",
        "edited", "0.25 %", "1 %", "2 %", "5 %", "10 %", "of 319,600"
    );
    let sketch = |shingles: &[u64]| crawler::content::sketch(shingles).expect("not thin");
    for least in [0.5, 0.8] {
        let alike = |a: &Sketch, b: &Sketch| a.resemblance(b) >= least;
        rival(&format!("16 bins, >= {least}"), 4, |text| sketch(text).0, alike);
    }
    for least in [0.5, 0.8] {
        let alike = |a: &WideSketch, b: &WideSketch| a.resemblance(b) >= least;
        rival(&format!("128 bins, >= {least}"), 4, |text| sketch(text).1, alike);
    }
    for (what, width, most) in [("shingles", 4, 3), ("shingles", 4, 10), ("words", 1, 3)] {
        let alike = |a: &u64, b: &u64| (a ^ b).count_ones() <= most;
        rival(&format!("SimHash of {what}, <= {most}"), width, sim_hash, alike);
    }
}

fn rival<S>(name: &str, width: usize, sign: impl Fn(&[u64]) -> S, alike: impl Fn(&S, &S) -> bool) {
    let sign = |ranks: &[u64]| sign(&shingles(&pages::written(ranks, Script::Latin), width));
    let texts: Vec<Vec<u64>> = (0..800).map(|seed| text(seed, 400)).collect();
    let signed: Vec<S> = texts.iter().map(|text| sign(text)).collect();
    print!("{name:<28}");
    for share in [0.0025, 0.01, 0.02, 0.05, 0.1] {
        let found = (0..200).filter(|at| {
            let edited = edit(&texts[*at], share, *at as u64 + 17);
            alike(&signed[*at], &sign(&edited))
        });
        print!("{:>8.3}", found.count() as f64 / 200.0);
    }
    let pairs = (0..signed.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
    println!("{:>16}", pairs.filter(|(a, b)| alike(&signed[*a], &signed[*b])).count());
}

fn sim_hash(shingles: &[u64]) -> u64 {
    let mut sums = [0i32; 64];
    for shingle in shingles {
        let hash = Chance(*shingle).next();
        sums.iter_mut().enumerate().for_each(|(bit, sum)| {
            *sum += if hash >> bit & 1 == 1 { 1 } else { -1 };
        });
    }
    sums.iter().enumerate().fold(0, |hash, (bit, sum)| hash | u64::from(*sum > 0) << bit)
}

/// Confusion of the judgement of soft errors, on seeds that no threshold was set by.
fn junk_pages() {
    println!("\nsoft errors: precision and recall of held fixtures");
    junk::judged(30_000, 80, 200).print();
}

/// Precision and recall at the thresholds where they are nearest to each other and best.
fn signatures() {
    println!("\nRP and HM signatures: break-even of precision and recall (and thresholds C, D)");
    for (name, pages, hubs, edits) in [
        ("5,000 pages, 3 of 4 replicas exact", 5_000, 0, -0.75),
        ("20,000 pages, 3 of 4 replicas exact", 20_000, 0, -0.75),
        ("20,000 pages, 3 of 4 replicas exact, 10 hubs", 20_000, 10, -0.75),
        ("20,000 pages, half of the replicas exact, 10 hubs", 20_000, 10, -0.5),
        ("20,000 pages, 1 % edited, 10 hubs", 20_000, 10, 0.01),
        ("20,000 pages, 5 % edited, 10 hubs", 20_000, 10, 0.05),
    ] {
        let collection = collection(pages, hubs, edits, 5);
        println!("{name}");
        signatures_of::<5>(&collection);
        signatures_of::<8>(&collection);
    }
}

fn signatures_of<const K: usize>(collection: &Collection) {
    let projected = collection.texts.iter().map(|words| project::<K>(words));
    let rp = normalized(&projected.collect::<Vec<_>>());
    let hm = |form| {
        let settings = SignatureSettings { form, ..SignatureSettings::default() };
        hyperlink_map(&rp, &collection.children, &settings)
    };
    let (published, by_degree) = (hm(Form::Published), hm(Form::ByOutDegree));
    let none = vec![[0.0; K]; rp.len()];
    print!("  K = {K}");
    for (what, hm) in [("RP", &none), ("RP+HM published", &published), ("by degree", &by_degree)] {
        let (value, c, d) = break_even(collection, &rp, hm);
        let near_zero = hm.iter().filter(|page| distance(page, &[0.0; K]) < 0.02).count();
        print!("   {what} {value:.3} ({c:.4}, {d:.4})");
        if what != "RP" {
            print!(" {:.0} % near zero", 100.0 * near_zero as f64 / hm.len() as f64);
        }
    }
    println!();
}
