//! Speaks JSON lines: `{"lines": [...], "valid": [...], "canon": [...], "settings": {...},
//! "pages": {url: text}}` in, the report of the paper's miner out. `lines` are a TSV list; without
//! `pages` it stops before validation. So another implementation can be compared on thousands of
//! lists in one process.

use std::collections::HashMap;
use std::io::{BufRead, Write};

use crawler::dust::input::{self, Batch, Format};
use crawler::dust::paper::{Fetched, Fetcher, MineArgs, Record, Settings, Shingles, run_mine};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    lines: Vec<String>,
    valid: Option<Vec<String>>,
    canon: Option<Vec<String>>,
    #[serde(default)]
    settings: Settings,
    pages: Option<HashMap<String, String>>,
}

/// Serves texts by URL.
struct Pages(HashMap<String, String>);

impl Fetcher for Pages {
    fn fetch(&mut self, url: &str) -> Fetched {
        self.0.get(url).map_or(Fetched::Failed, |text| Fetched::Page(Shingles::of(text)))
    }
}

fn records(lines: &[String]) -> Vec<Record> {
    let text = lines.join("\n");
    let mut batch = Batch::new(input::Settings::default());
    batch.read(text.as_bytes(), "request", Some(Format::Tsv)).expect("a slice is always readable");
    batch.finish().records
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let args = MineArgs {
            train: records(&request.lines),
            valid: request.valid.as_deref().map(records),
            canon: request.canon.as_deref().map(records),
            split_sites: false,
            settings: request.settings,
            json: true,
        };
        let mut pages = request.pages.map(Pages);
        let fetcher = pages.as_mut().map(|pages| pages as &mut dyn Fetcher);
        run_mine(args, fetcher, &mut out)?;
        out.flush()?;
    }
    Ok(())
}
