//! Extraction by tokens against a whole tree: `scraper` builds the tree that a browser would, and
//! both must find the same links and the same visible text.
//!
//! Set `EXTRACT_PAGES` to a directory to compare over all its `.html` files as well.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crawler::clock::ByteSize;
use crawler::extract::{Extracted, LinkKind, Page, Settings, extract};
use crawler::url::CrawlUrl;
use proptest::prelude::*;
use scraper::{ElementRef, Html, Node, Selector};

const URL: &str = "http://pages.example/dir/page.html";

fn facts(body: &[u8], content_type: &str) -> Extracted {
    let url = CrawlUrl::parse(URL).expect("a URL");
    let page = Page { url: &url, content_type: Some(content_type), link_headers: &[], body };
    // Bounds so wide that no honest page meets them.
    let settings = Settings {
        links_max: 1_000_000,
        text_max: ByteSize::mib(64),
        body_max: ByteSize::mib(64),
        ..Settings::default()
    };
    extract(&page, &settings)
}

/// The elements and attributes compared; the others need more than an attribute to be found.
const COMPARED: &str = "a, area[href], iframe[src], frame[src], img[src], script[src]";

fn is_compared(kind: LinkKind) -> bool {
    matches!(
        kind,
        LinkKind::Anchor
            | LinkKind::Area
            | LinkKind::Iframe
            | LinkKind::Frame
            | LinkKind::Image
            | LinkKind::Script
    )
}

/// Returns the URLs that the tree has.
fn links_of_tree(tree: &Html, base: &CrawlUrl) -> BTreeSet<String> {
    let selector = Selector::parse(COMPARED).expect("a selector");
    let is_shown = |element: &ElementRef<'_>| {
        element.ancestors().all(|node| {
            node.value()
                .as_element()
                .is_none_or(|ancestor| !matches!(ancestor.name(), "template" | "math"))
        })
    };
    tree.select(&selector)
        .filter(is_shown)
        .filter_map(|element| {
            let attribute =
                if matches!(element.value().name(), "a" | "area") { "href" } else { "src" };
            // In SVG the attribute may be of the namespace of XLink.
            let mut attributes = element.value().attrs();
            let raw = attributes.find(|(name, _)| *name == attribute)?.1;
            let is_empty_embed = attribute == "src" && raw.trim().is_empty();
            base.join(raw).ok().filter(|_| !is_empty_embed)
        })
        .map(|url| url.to_string())
        .collect()
}

/// Returns the visible characters of the tree, without white space.
fn text_of_tree(tree: &Html) -> String {
    let mut text = String::new();
    for node in tree.tree.root().descendants() {
        let Node::Text(found) = node.value() else { continue };
        let is_hidden = node.ancestors().any(|node| {
            node.value().as_element().is_some_and(|element| {
                let style = element.attr("style").unwrap_or_default().replace(' ', "");
                let in_svg = element.name.ns.ends_with("svg");
                let name = element.name();
                matches!(
                    name,
                    "script"
                        | "style"
                        | "template"
                        | "iframe"
                        | "noframes"
                        | "noembed"
                        | "datalist"
                        | "rp"
                        | "video"
                        | "audio"
                        | "canvas"
                ) || name == "title"
                    || in_svg && matches!(name, "desc" | "metadata")
                    || name == "dialog" && element.attr("open").is_none()
                    || element.attr("hidden").is_some_and(|value| value != "until-found")
                    || style.contains("display:none")
                    || style.contains("visibility:hidden")
            })
        });
        if !is_hidden {
            text.extend(found.chars().filter(|c| !c.is_whitespace() && *c != '\0'));
        }
    }
    text
}

/// Returns what differs between tokens and tree, in words.
fn differences(body: &[u8]) -> Vec<String> {
    let facts = facts(body, "text/html");
    let encoding = encoding_rs::Encoding::for_label(facts.charset.as_bytes());
    let encoding = encoding.expect("extraction names encodings as the standard does");
    let text = encoding.decode(body).0;
    // The tree takes `noscript` for text, as a browser with scripts does.
    let text = text.replace("<noscript", "<x-script").replace("</noscript", "</x-script");
    let tree = Html::parse_document(&text);
    let mut found = Vec::new();
    let ours: BTreeSet<String> = facts
        .links
        .iter()
        .filter(|link| is_compared(link.kind))
        .map(|link| link.url.to_string())
        .collect();
    let theirs = links_of_tree(&tree, &facts.base);
    // A URL found in two roles has the kind of the stronger.
    let all: BTreeSet<String> = facts.links.iter().map(|link| link.url.to_string()).collect();
    found.extend(ours.difference(&theirs).map(|url| format!("only in tokens: {url}")));
    found.extend(theirs.difference(&all).map(|url| format!("only in the tree: {url}")));
    let shown = |c: &char| !c.is_whitespace();
    let ours: String =
        facts.blocks.iter().flat_map(|block| block.text.chars()).filter(shown).collect();
    let theirs = text_of_tree(&tree);
    if ours != theirs {
        let same = ours.chars().zip(theirs.chars()).take_while(|(a, b)| a == b).count();
        let around =
            |text: &str| text.chars().skip(same.saturating_sub(30)).take(90).collect::<String>();
        found.push(format!(
            "text differs: {:?} in tokens, {:?} in the tree",
            around(&ours),
            around(&theirs)
        ));
    }
    found
}

fn html_files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "html" || e == "htm") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn tokens_and_tree_agree_on_whole_pages() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/html");
    let mut files = html_files(&fixtures);
    assert!(!files.is_empty(), "the fixtures are there");
    files.retain(|file| !file.ends_with("broken.html"));
    files.extend(
        std::env::var_os("EXTRACT_PAGES").map(|d| html_files(Path::new(&d))).into_iter().flatten(),
    );
    let mut wrong = 0;
    for file in &files {
        let found = differences(&std::fs::read(file).unwrap());
        wrong += usize::from(!found.is_empty());
        for difference in found.iter().take(5) {
            eprintln!("{}: {difference}", file.display());
        }
    }
    assert_eq!(wrong, 0, "of {} pages", files.len());
}

/// Scraps of markup that, put together at random, make the worst of pages.
const SCRAPS: [&str; 40] = [
    "<a href=x>",
    "</a>",
    "<p>",
    "</p>",
    "<div class=a>",
    "</div>",
    "<table>",
    "<tr>",
    "<td>",
    "</table>",
    "<svg>",
    "</svg>",
    "<title>",
    "</title>",
    "<template>",
    "</template>",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "<style>",
    "url(x)",
    "</style>",
    "<select>",
    "<option>",
    "<form>",
    "</form>",
    "<textarea>",
    "</textarea>",
    "<noscript>",
    "</noscript>",
    "<base href=/b/>",
    "&amp;",
    "&#x80;",
    "\0",
    "é",
    "<math><mi>",
    "<![CDATA[",
    "<img srcset='a 1x, b",
    "'>",
];

fn kinds() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "text/html",
        "text/html; charset=utf-16",
        "text/html; charset=iso-2022-jp",
        "text/css",
        "application/xml",
        "application/rss+xml",
        "",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_bytes_give_facts(body in prop::collection::vec(any::<u8>(), 0..2000), kind in kinds()) {
        let facts = facts(&body, kind);
        prop_assert!(facts.blocks.iter().all(|block| !block.text.trim().is_empty()));
    }

    #[test]
    fn any_markup_gives_facts_within_bounds(
        scraps in prop::collection::vec(prop::sample::select(SCRAPS.to_vec()), 0..200),
        kind in kinds(),
    ) {
        let body = scraps.concat();
        let url = CrawlUrl::parse(URL).expect("a URL");
        let page = Page {
            url: &url,
            content_type: Some(kind),
            link_headers: &scraps.iter().map(|&s| s.to_owned()).collect::<Vec<_>>(),
            body: body.as_bytes(),
        };
        let (links_max, blocks_max, depth_max) = (3, 4, 5);
        let settings = Settings { links_max, blocks_max, depth_max, ..Settings::default() };
        let facts = extract(&page, &settings);
        prop_assert!(facts.links.len() <= 3 && facts.blocks.len() <= 4);
        let urls: BTreeSet<&str> = facts.links.iter().map(|link| link.url.as_str()).collect();
        prop_assert_eq!(urls.len(), facts.links.len(), "one link per URL");
    }

    /// Left out are the two places where the tokenizer, which builds no tree, is known to lose its
    /// way: an `svg` that a table ends unclosed, and MathML inside SVG.
    #[test]
    fn no_link_of_the_tree_is_missed_in_any_markup(
        scraps in prop::collection::vec(prop::sample::select(SCRAPS.to_vec()), 0..14),
    ) {
        let scraps = scraps.iter().filter(|scrap| !matches!(**scrap, "<math><mi>" | "<![CDATA["));
        let numbered = scraps.enumerate().map(|(i, s)| s.replace("href=x", &format!("href=x{i}")));
        let body = numbered.collect::<String>();
        let mut missing = differences(body.as_bytes());
        missing.retain(|found| found.starts_with("only in the tree"));
        prop_assert!(missing.is_empty(), "{}: {:?}", body, missing);
    }
}

#[test]
fn a_broken_page_hides_no_link() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/html/broken.html");
    let body = std::fs::read(fixture).unwrap();
    let missing =
        differences(&body).into_iter().filter(|found| found.starts_with("only in the tree"));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<String>::new());
}
