//! `crawler dups`: what the crawl has twice.

use clap::Args;
use serde_json::{Value, json};
use similar::{ChangeTag, DiffTag, TextDiff};

use super::output::number;
use super::sketch::{self, Source};
use super::{Answer, Common, Exit, look};
use crate::content::mirror::{Kinship, MirrorPair, MirrorSettings};
use crate::content::trap::Level;
use crate::crawl::dups::{Exact, HostRow, Nearly, by_host, exact, mirrors, nearly};
use crate::crawl::replicas::{ReplicaPair, Replicas, replicas};
use crate::url::CrawlUrl;

/// Width of a column of `--diff`, in characters.
const COLUMN: usize = 58;

/// Flags of `dups`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  crawler dups                          the largest groups of every kind
  crawler dups --clusters --most 100    clusters of near-duplicates
  crawler dups --replicas               near-replicas by words and links, over the archive
  crawler dups --diff URL URL           two archived pages side by side

Exit codes: 0 something is there twice, 3 nothing is.")]
pub(super) struct DupsArgs {
    /// Pages with the same text
    #[arg(long)]
    exact: bool,
    /// Pairs of pages with nearly the same text
    #[arg(long)]
    near: bool,
    /// Clusters of such pairs; resemblance is not transitive
    #[arg(long)]
    clusters: bool,
    /// Hosts by how much they repeat themselves
    #[arg(long)]
    by_host: bool,
    /// Hosts with the same texts under the same paths
    #[arg(long)]
    mirrors: bool,
    /// Near-replicas by signatures of words and links (RP and HM): reads the whole archive
    #[arg(long)]
    replicas: bool,
    /// Groups, pairs or hosts to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    most: usize,
    /// Compare two archived pages (or files) side by side
    #[arg(long, num_args = 2, value_names = ["URL", "URL"])]
    diff: Vec<String>,
}

/// Shows what is there twice.
pub(super) fn dups(common: &Common, args: &DupsArgs) -> Answer {
    if let [one, other] = &args.diff[..] {
        return diff(common, one, other);
    }
    let config = look::as_written(common)?;
    let db = look::open(&config)?;
    let some = args.exact || args.near || args.clusters || args.by_host || args.mirrors;
    let all = !(some || args.replicas);
    let mut found = 0;
    let mut report = serde_json::Map::new();
    let mut show = |name: &str, value: Value, text: &dyn Fn()| {
        if common.json {
            report.insert(name.to_owned(), value);
        } else {
            text();
        }
    };
    if all || args.exact {
        let exact = exact(&db, args.most)?;
        found += exact.groups.len();
        show("exact", serde_json::to_value(&exact)?, &|| print_exact(&exact));
    }
    if all || args.near || args.clusters {
        let nearly = nearly(&db, &config.repeats.near, args.most)?;
        found += nearly.pairs_total;
        let (pairs, clusters) = (all || args.near, all || args.clusters);
        show("near", serde_json::to_value(&nearly)?, &|| print_nearly(&nearly, pairs, clusters));
    }
    if all || args.by_host {
        let rows = by_host(&db, args.most)?;
        found += rows.iter().filter(|row| row.duplicates > 0).count();
        show("hosts", serde_json::to_value(&rows)?, &|| print_hosts(&rows));
    }
    if all || args.mirrors {
        let pairs = mirrors(&db, &MirrorSettings::default(), args.most)?;
        found += pairs.len();
        show("mirrors", serde_json::to_value(&pairs)?, &|| {
            println!("{} pairs of hosts have texts in common", number(pairs.len() as u64));
            pairs.iter().for_each(print_mirror);
        });
    }
    if args.replicas {
        let mut pages = sketch::WordsReader::new(&config, &db);
        let of_page = |url: &CrawlUrl| pages.read(url);
        let found_here = replicas(&db, &config.repeats.signatures, args.most, of_page)?;
        found += found_here.pairs_total;
        show("replicas", serde_json::to_value(&found_here)?, &|| print_replicas(&found_here));
    }
    if common.json {
        println!("{}", Value::Object(report));
    }
    Ok(if found > 0 { Exit::Complete } else { Exit::Nothing })
}

fn print_exact(exact: &Exact) {
    println!("{} pages have a text that was known before", number(exact.pages));
    for group in &exact.groups {
        println!("exact     {} times: {}", number(group.others + 1), group.first);
        group.urls.iter().for_each(|url| println!("          {url}"));
    }
}

fn print_nearly(nearly: &Nearly, pairs: bool, clusters: bool) {
    let (all, of) = (nearly.pairs_total as u64, nearly.clusters_total as u64);
    let more = if nearly.pairs_cut { "more than " } else { "" };
    println!("{more}{} pairs have nearly the same text, in {} clusters", number(all), number(of));
    if nearly.pairs_cut {
        println!("  the others, and what only they connect, are left out here");
    }
    for pair in nearly.pairs.iter().filter(|_| pairs) {
        println!("near      {:.2}  {}\n                {}", pair.resemblance, pair.a, pair.b);
    }
    for cluster in nearly.clusters.iter().filter(|_| clusters) {
        let least = cluster.least_resemblance;
        println!("cluster   {} pages, at least {least:.2} alike", cluster.pages);
        cluster.urls.iter().for_each(|url| println!("          {url}"));
    }
}

fn print_hosts(rows: &[HostRow]) {
    println!("{:>10}  {:>10}  {:>9}  {:<12}  host", "pages", "repeats", "new now", "level");
    for row in rows {
        let level = match (row.level, &row.parked) {
            (Level::Parked, None) => "part parked".to_owned(),
            (level, _) => format!("{level:?}").to_lowercase(),
        };
        let (pages, repeats) = (number(row.pages), number(row.duplicates));
        let share = format!("{:.0} %", 100.0 * row.new_lately);
        println!("{pages:>10}  {repeats:>10}  {share:>9}  {level:<12}  {}", row.host);
        if let Some(reason) = &row.parked {
            println!("{:>49}  parked: {reason}", "");
        }
    }
}

fn print_mirror(pair: &MirrorPair) {
    let (same, other) = (pair.same_texts, pair.other_texts);
    let proved = if pair.proved { "proved" } else { "not proved" };
    let names = match pair.kinship {
        Kinship::Schemes => "one name, http and https",
        Kinship::Www => "one name, with and without www",
        Kinship::Ports => "one name, two ports",
        Kinship::Address => "a name and a number",
        Kinship::Names => "two names",
    };
    let address = if pair.one_address { "one address" } else { "no address in common" };
    println!("mirror    {} and {}: {same} texts the same, {other} not; {proved}", pair.a, pair.b);
    println!(
        "          at least {:.0} % of them by chance of the sample; {names}; {address}",
        100.0 * pair.share_at_least
    );
}

fn print_replicas(replicas: &Replicas) {
    let (pages, pairs) = (replicas.pages as u64, replicas.pairs_total as u64);
    let (pages, pairs, rest) = (number(pages), number(pairs), number(replicas.left_out as u64));
    let more = if replicas.cut { "; the crawl has more" } else { "" };
    println!(
        "{pairs} pairs of {pages} pages are near-replicas ({rest} have too little text{more})"
    );
    println!("{:<9} {:>5}  {:>5}", "", "words", "links");
    for ReplicaPair { a, b, words, links } in &replicas.pairs {
        println!("replica   {words:.3}  {links:.3}  {a}\n{:24}{b}", "");
    }
}

/// A row of two pages side by side.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    left: String,
    right: String,
    is_same: bool,
}

fn diff(common: &Common, one: &str, other: &str) -> Answer {
    let config = look::as_written(common)?;
    let (one, other) = (Source::read(&config, one)?, Source::read(&config, other)?);
    let comparison = sketch::comparison(&config, &one, &other)?;
    let texts = |page: &Source| -> Vec<String> {
        page.extracted.blocks.iter().map(|block| block.text.clone()).collect()
    };
    let rows = side_by_side(&texts(&one), &texts(&other));
    if common.json {
        let rows: Vec<Value> = rows
            .iter()
            .map(|row| json!({ "a": row.left, "b": row.right, "same": row.is_same }))
            .collect();
        let (a, b) = (&one.name, &other.name);
        println!("{}", json!({ "a": a, "b": b, "comparison": comparison, "rows": rows }));
        return Ok(Exit::Complete);
    }
    sketch::print(&comparison, &one, &other);
    println!();
    for row in rows {
        let mark = if row.is_same { ' ' } else { '|' };
        let (left, right) = (wrapped(&row.left), wrapped(&row.right));
        for at in 0..left.len().max(right.len()) {
            let text = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
            let (left, right) = (text(&left), text(&right));
            let space = COLUMN.saturating_sub(left.chars().count());
            println!("{left}{:space$} {mark} {right}", "");
        }
    }
    Ok(Exit::Complete)
}

/// Puts the blocks of two pages side by side; what one has of a block and the other lacks stands in
/// brackets.
fn side_by_side(a: &[String], b: &[String]) -> Vec<Row> {
    let (a, b): (Vec<&str>, Vec<&str>) =
        (a.iter().map(String::as_str).collect(), b.iter().map(String::as_str).collect());
    let mut rows = Vec::new();
    for op in TextDiff::from_slices(&a, &b).ops() {
        let (tag, old, new) = op.as_tag_tuple();
        for at in 0..old.len().max(new.len()) {
            let left = old.clone().nth(at).map_or("", |at| a[at]);
            let right = new.clone().nth(at).map_or("", |at| b[at]);
            let is_same = tag == DiffTag::Equal;
            let both = tag == DiffTag::Replace && !left.is_empty() && !right.is_empty();
            let (left, right) =
                if both { marked(left, right) } else { (left.to_owned(), right.to_owned()) };
            rows.push(Row { left, right, is_same });
        }
    }
    rows
}

fn marked(left: &str, right: &str) -> (String, String) {
    let words = TextDiff::from_words(left, right);
    let (mut a, mut b) = (String::new(), String::new());
    for change in words.iter_all_changes() {
        let text = change.value();
        let own = || if text.trim().is_empty() { text.to_owned() } else { format!("[{text}]") };
        match change.tag() {
            ChangeTag::Equal => {
                a.push_str(text);
                b.push_str(text);
            }
            ChangeTag::Delete => a.push_str(&own()),
            ChangeTag::Insert => b.push_str(&own()),
        }
    }
    (a, b)
}

/// Breaks a text into lines of a column, between words where it can.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut width = 0;
    for word in text.split_inclusive(' ') {
        if width > 0 && width + word.trim_end().chars().count() > COLUMN {
            lines.push(String::new());
            width = 0;
        }
        for c in word.chars() {
            if width == COLUMN && c == ' ' {
                continue;
            }
            if width == COLUMN {
                lines.push(String::new());
                width = 0;
            }
            lines.last_mut().expect("it begins with one line").push(c);
            width += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: &[&str], b: &[&str], want: &[(&str, &str, bool)]) {
        let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let rows = side_by_side(&own(a), &own(b));
        let got: Vec<(&str, &str, bool)> =
            rows.iter().map(|row| (&row.left[..], &row.right[..], row.is_same)).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn blocks_stand_side_by_side_and_words_that_differ_are_marked() {
        check(&["a", "b"], &["a", "b"], &[("a", "a", true), ("b", "b", true)]);
        check(&["a", "b"], &["a"], &[("a", "a", true), ("b", "", false)]);
        check(&["one red fox"], &["one blue fox"], &[("one [red] fox", "one [blue] fox", false)]);
    }

    #[test]
    fn columns_break_between_words_and_long_words_anywhere() {
        let lines = wrapped(&"word ".repeat(40));
        assert!(lines.iter().all(|line| line.chars().count() <= COLUMN), "{lines:?}");
        assert_eq!(wrapped(&"x".repeat(2 * COLUMN)).len(), 2);
        let full = format!("{} next", "x".repeat(COLUMN));
        assert_eq!(wrapped(&full), ["x".repeat(COLUMN), "next".to_owned()]);
        assert_eq!(wrapped(""), [""]);
    }
}
