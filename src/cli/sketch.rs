//! `crawler sketch`: what a page is known by, and how alike two pages are.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use serde_json::json;

use super::{Answer, Common, Exit, Failed, look};
use crate::archive::{RecordAt, read_at};
use crate::config::Config;
use crate::content::{Block, Boilerplate, Comparison, Content, Page, SiteModel, compare};
use crate::crawl::blocks_of;
use crate::crawl::replicas::PageWords;
use crate::db::Db;
use crate::db::families::{dust as sites, urls};
use crate::extract::{self, Extracted};
use crate::frontier::UrlState;
use crate::url::{CrawlUrl, Site};

/// Bytes of a file or a payload that are read.
const BODY_MAX: usize = 32 << 20;

/// Records that are followed from a revisit to what it repeats.
const REVISITS_MAX: usize = 4;

/// Flags of `sketch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler sketch page.html                          digest and sketches of a file
  crawler sketch http://a.example/1 http://a.example/2   two archived pages
  crawler sketch page.html http://a.example/1 --json

A file is read from the disk, a URL from the archive of the crawl; nothing is fetched.")]
pub(super) struct SketchArgs {
    /// A file, or a URL of the crawl; two are compared
    #[arg(value_name = "FILE|URL", required = true, num_args = 1..=2)]
    pages: Vec<String>,
}

/// A page to be compared.
pub(super) struct Source {
    /// As it was named.
    pub(super) name: String,
    /// What was read of it.
    pub(super) extracted: Extracted,
    url: Option<CrawlUrl>,
}

/// Shows what one page is known by, or compares two.
pub(super) fn sketch(common: &Common, args: &SketchArgs) -> Answer {
    let config = look::as_written(common)?;
    let sources: Result<Vec<Source>, Failed> =
        args.pages.iter().map(|name| Source::read(&config, name)).collect();
    match &sources?[..] {
        [one, other, ..] => compared(common, &config, one, other),
        [one] => alone(common, &config, one),
        [] => Err(Failed::with(Exit::Usage, "name a file or a URL")),
    }
}

fn alone(common: &Common, config: &Config, source: &Source) -> Answer {
    let known = boilerplate(config, [source, source])?;
    let blocks = blocks_of(&source.extracted);
    let page = source.page(&blocks);
    let analysis = Content::new(config.content.clone()).analyse(&page, &known);
    if common.json {
        let found = json!({
            "page": source.name, "words": analysis.words, "words_all": analysis.words_all,
            "thin": analysis.thin, "text": analysis.text_digest,
            "core": format!("{:016x}", analysis.core_digest), "sketch": analysis.sketch,
            "wide": analysis.wide, "links": analysis.links, "model": analysis.model_version,
        });
        println!("{found}");
        return Ok(Exit::Complete);
    }
    println!("page       {}", source.name);
    println!("words      {} of main text, {} in all", analysis.words, analysis.words_all);
    println!("text       {}", analysis.text_digest);
    println!("core       {:016x}", analysis.core_digest);
    match (&analysis.sketch, &analysis.wide) {
        (Some(sketch), Some(wide)) => println!("sketch     {sketch}\nwide       {wide}"),
        _ => println!("sketch     none: the main text is thin, so it is no evidence"),
    }
    Ok(Exit::Complete)
}

fn compared(common: &Common, config: &Config, one: &Source, other: &Source) -> Answer {
    let comparison = comparison(config, one, other)?;
    if common.json {
        println!("{}", json!({ "a": one.name, "b": other.name, "comparison": comparison }));
    } else {
        print(&comparison, one, other);
    }
    Ok(Exit::Complete)
}

/// Compares two pages by every measure there is.
pub(super) fn comparison(
    config: &Config,
    one: &Source,
    other: &Source,
) -> Result<Comparison, Failed> {
    let known = boilerplate(config, [one, other])?;
    let (a, b) = (blocks_of(&one.extracted), blocks_of(&other.extracted));
    Ok(compare(&one.page(&a), &other.page(&b), &known, &config.content))
}

/// Prints a comparison for people.
pub(super) fn print(comparison: &Comparison, one: &Source, other: &Source) {
    let Comparison { words_a, words_b, thin, same_text, same_core, .. } = comparison;
    println!("a           {} ({words_a} words of main text)", one.name);
    println!("b           {} ({words_b} words)", other.name);
    println!("same text   {same_text}; but for boilerplate and numbers: {same_core}");
    println!(
        "resemblance {:.3}; {:.3} of a is in b, {:.3} of b in a",
        comparison.resemblance, comparison.a_in_b, comparison.b_in_a
    );
    for (name, estimate) in [("log", comparison.sketch), ("index", comparison.wide)] {
        if let Some(estimate) = estimate {
            let (value, error) = (estimate.resemblance, estimate.standard_error);
            println!("by sketch   {value:.3} +- {error:.3} ({name})");
        }
    }
    if *thin {
        println!("one of them is thin: none of this is evidence");
    }
}

/// What repeats on the site of both pages, if they are of one site that the crawl knows.
fn boilerplate(config: &Config, pages: [&Source; 2]) -> Result<Arc<Boilerplate>, Failed> {
    let sites = pages.map(|page| page.url.as_ref().map(CrawlUrl::site));
    let [Some(site), Some(other)] = sites else { return Ok(Arc::default()) };
    let db = look::open_if_there(config)?.filter(|_| site == other);
    db.map_or_else(|| Ok(Arc::default()), |db| of_site(&db, &site))
}

fn of_site(db: &Db, site: &Site) -> Result<Arc<Boilerplate>, Failed> {
    let stored = sites::get(db, sites::Kind::Model, site.as_str())?;
    let model = stored.and_then(|bytes| SiteModel::decode(&bytes)).unwrap_or_default();
    Ok(model.boilerplate())
}

/// Reads what the signatures of archived pages are made of.
pub(super) struct WordsReader<'a> {
    config: &'a Config,
    db: &'a Db,
    content: Content,
    /// What repeats on the site of the last page: pages come site by site.
    last: Option<(Site, Arc<Boilerplate>)>,
}

impl<'a> WordsReader<'a> {
    /// Returns a reader of the pages of a crawl.
    pub(super) fn new(config: &'a Config, db: &'a Db) -> WordsReader<'a> {
        WordsReader { config, db, content: Content::new(config.content.clone()), last: None }
    }

    /// Reads one page; one that the archive cannot give has no words.
    pub(super) fn read(&mut self, url: &CrawlUrl) -> Result<PageWords, Failed> {
        let Ok((content_type, body)) = archived(self.config, self.db, url) else {
            return Ok(PageWords::default());
        };
        let source =
            Source::of(self.config, url.as_str(), url, content_type.as_deref(), &body, true);
        let blocks = blocks_of(&source.extracted);
        let page = source.page(&blocks);
        let known = self.boilerplate(url.site())?;
        let analysis = self.content.analyse(&page, &known);
        let words = if analysis.thin { Vec::new() } else { analysis.main_words };
        let links = source.extracted.links.iter().map(|link| link.url.fingerprint());
        Ok(PageWords { words, links: links.collect() })
    }

    fn boilerplate(&mut self, site: Site) -> Result<Arc<Boilerplate>, Failed> {
        if let Some((last, known)) = &self.last
            && *last == site
        {
            return Ok(known.clone());
        }
        let known = of_site(self.db, &site)?;
        self.last = Some((site, known.clone()));
        Ok(known)
    }
}

impl Source {
    /// Returns it as the content stage takes it, given its blocks.
    fn page<'a>(&'a self, blocks: &'a [Block<'a>]) -> Page<'a> {
        let target = self.url.as_ref().map_or("", CrawlUrl::path_and_query);
        let (links, fields) = (self.extracted.links.len(), &self.extracted.fields);
        Page { blocks, links, target, fields }
    }

    /// Reads a page from a file, or from the archive of the crawl.
    pub(super) fn read(config: &Config, name: &str) -> Result<Source, Failed> {
        let path = Path::new(name);
        if path.is_file() {
            let body = std::fs::read(path)?;
            let place = CrawlUrl::parse("http://file.invalid/").expect("it is a URL");
            return Ok(Source::of(config, name, &place, None, &body, false));
        }
        let url = look::url_of(name)?;
        let Some(db) = look::open_if_there(config)? else {
            let dir = config.dir.display();
            let message = format!("read {name}: there is no such file, and no crawl in {dir}");
            return Err(Failed::with(Exit::Nothing, message));
        };
        let (content_type, body) = archived(config, &db, &url)?;
        Ok(Source::of(config, url.as_str(), &url, content_type.as_deref(), &body, true))
    }

    fn of(
        config: &Config,
        name: &str,
        url: &CrawlUrl,
        content_type: Option<&str>,
        body: &[u8],
        is_of_crawl: bool,
    ) -> Source {
        let body = &body[..body.len().min(BODY_MAX)];
        let page = extract::Page { url, content_type, link_headers: &[], body };
        let extracted = extract::extract(&page, &config.extract);
        let url = is_of_crawl.then(|| url.clone());
        Source { name: name.to_owned(), extracted, url }
    }
}

/// Returns the archived payload of a URL with its type, through revisits.
fn archived(config: &Config, db: &Db, url: &CrawlUrl) -> Result<(Option<String>, Vec<u8>), Failed> {
    let dir = look::archive_dir(config);
    let mut fingerprint = url.fingerprint();
    for _ in 0..REVISITS_MAX {
        let state = urls::get(db, fingerprint)?.map(|record| record.state);
        let Some(UrlState::Done(done)) = state else { break };
        let Some((file, offset, length)) = done.record else { break };
        let record = read_at(&dir, &RecordAt { file, offset, length }, BODY_MAX)?;
        if record.head.kind() != "revisit" {
            return Ok(record.content(BODY_MAX));
        }
        let first = record.head.get("WARC-Refers-To-Target-URI");
        let Some(first) = first.and_then(|first| CrawlUrl::parse(first).ok()) else { break };
        fingerprint = first.fingerprint();
    }
    let message = format!("read {url}: the crawl has no archived page of it; `crawler explain` it");
    Err(Failed::with(Exit::Nothing, message))
}
