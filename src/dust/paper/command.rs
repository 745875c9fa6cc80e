//! `crawler dust mine --mode paper` behind its flags: lists in, a report out.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::list::Record;
use super::report::Report;
use super::rule::Rule;
use super::settings::Settings;
use super::validate::Fetcher;
use super::{Lists, mine_lists};
use crate::url::{CrawlUrl, Site};

/// What the command was given, already read.
#[derive(Clone, Debug, Default)]
pub struct MineArgs {
    /// The log that rules are learned from.
    pub train: Vec<Record>,
    /// The log that rules are validated on, if it is another one.
    pub valid: Option<Vec<Record>>,
    /// The URLs to canonize.
    pub canon: Option<Vec<Record>>,
    /// Whether each registrable domain is mined apart. A TSV list is of one site by definition and
    /// may have many domains; other logs are mixed.
    pub split_sites: bool,
    /// The constants of the paper.
    pub settings: Settings,
    /// JSON instead of a table.
    pub json: bool,
}

/// Why the report could not be written.
#[derive(Debug, thiserror::Error)]
pub enum MineError {
    /// The output refused it.
    #[error("write the report: {0}")]
    Write(#[from] io::Error),
    /// It could not be put into JSON.
    #[error("write the report as JSON: {0}")]
    Json(#[from] serde_json::Error),
}

/// The lists of one site.
struct Group {
    site: String,
    train: Vec<Record>,
    valid: Option<Vec<Record>>,
    canon: Option<Vec<Record>>,
}

/// Mines what it was given and writes the report.
///
/// One site gives one JSON object; several give `{"sites": [...]}`, each object with its `site`.
///
/// Returns the valid rules of each site, in the order in which they are applied; the site has no
/// name where lists are not split.
///
/// # Errors
/// Fails if the output does.
pub fn run_mine(
    args: MineArgs,
    mut fetcher: Option<&mut dyn Fetcher>,
    out: &mut dyn Write,
) -> Result<Vec<(String, Vec<Rule>)>, MineError> {
    let MineArgs { train, valid, canon, split_sites, settings, json } = args;
    let groups = match split_sites {
        true => split(train, valid, canon),
        false => vec![Group { site: String::new(), train, valid, canon }],
    };
    let several = groups.len() > 1;
    let mut valid = Vec::new();
    if json && several {
        out.write_all(b"{\"sites\": [")?;
    }
    for (at, group) in groups.iter().enumerate() {
        let lists = Lists {
            train: &group.train,
            valid: group.valid.as_deref(),
            canon: group.canon.as_deref(),
        };
        let fetcher: Option<&mut dyn Fetcher> = match &mut fetcher {
            Some(fetcher) => Some(&mut **fetcher),
            None => None,
        };
        let report = mine_lists(lists, &settings, fetcher);
        if let Some(validation) = &report.validation {
            valid.push((group.site.clone(), validation.rules.clone()));
        }
        match (json, several) {
            (true, true) => {
                out.write_all(if at == 0 { b"\n" } else { b",\n" })?;
                serde_json::to_writer(&mut *out, &OfSite { site: &group.site, report: &report })?;
            }
            (true, false) => {
                serde_json::to_writer(&mut *out, &report)?;
                out.write_all(b"\n")?;
            }
            (false, true) => {
                write!(out, "{}{}\n{report}", if at == 0 { "" } else { "\n" }, group.site)?
            }
            (false, false) => write!(out, "{report}")?,
        }
    }
    if json && several {
        out.write_all(b"\n]}\n")?;
    }
    out.flush()?;
    Ok(valid)
}

/// A report with the site it is about.
struct OfSite<'r> {
    site: &'r str,
    report: &'r Report<'r>,
}

impl Serialize for OfSite<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("site", self.site)?;
        self.report.serialize_fields(&mut map)?;
        map.end()
    }
}

/// Returns the site of a URL; what is no URL belongs to a site without a name.
fn site_of(url: &str) -> String {
    CrawlUrl::parse(url).map_or(String::new(), |url| Site::as_str(&url.site()).to_owned())
}

/// Splits lists by registrable domain. A site that has but URLs to canonize has a group without
/// training, so that each of them has a form; and there is always a group.
fn split(train: Vec<Record>, valid: Option<Vec<Record>>, canon: Option<Vec<Record>>) -> Vec<Group> {
    let (mut train, valid, canon) = (by_site(train), valid.map(by_site), canon.map(by_site));
    for site in canon.iter().flat_map(BTreeMap::keys) {
        train.entry(site.clone()).or_default();
    }
    if train.is_empty() {
        train.insert(String::new(), Vec::new());
    }
    let take = |lists: &Option<BTreeMap<String, Vec<Record>>>, site: &str| {
        lists.as_ref().map(|lists| lists.get(site).cloned().unwrap_or_default())
    };
    train
        .into_iter()
        .map(|(site, train)| {
            let (valid, canon) = (take(&valid, &site), take(&canon, &site));
            Group { site, train, valid, canon }
        })
        .collect()
}

/// Sorts records into the registrable domains of their URLs.
pub fn by_site(records: Vec<Record>) -> BTreeMap<String, Vec<Record>> {
    let mut sites: BTreeMap<String, Vec<Record>> = BTreeMap::new();
    for record in records {
        sites.entry(site_of(&record.url)).or_default().push(record);
    }
    sites
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(urls: &[String]) -> MineArgs {
        let record = |url: &String| Record { url: url.clone(), status: 200, ..Record::default() };
        MineArgs { train: urls.iter().map(record).collect(), json: true, ..MineArgs::default() }
    }

    fn check(args: MineArgs) -> serde_json::Value {
        let mut out = Vec::new();
        run_mine(args, None, &mut out).unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    fn urls(hosts: &[&str]) -> Vec<String> {
        let forms =
            |host: &str, i| [format!("http://{host}/s_{i}"), format!("http://{host}/s?id={i}")];
        hosts.iter().flat_map(|host| (0..4).flat_map(|i| forms(host, i))).collect()
    }

    #[test]
    fn without_a_fetcher_the_report_stops_before_validation_and_says_so() {
        let report = check(args(&urls(&["a.example"])));
        assert_eq!(report["urls"], 8);
        assert_eq!(report["after_elimination"][0]["support"], 4);
        assert!(report["stopped"].as_str().unwrap().contains("no way to fetch"));
        assert!(report.get("validated").is_none());
    }

    #[test]
    fn every_url_that_is_to_be_canonized_has_a_form_whether_or_not_its_site_was_mined() {
        let canon = ["http://a.example/s_1", "http://b.example/s_1", "no URL"];
        let record = |url: &str| Record { url: url.to_owned(), status: 200, ..Record::default() };
        let canon = Some(canon.map(record).to_vec());
        let report = check(MineArgs { split_sites: true, canon, ..args(&urls(&["a.example"])) });
        let sites = report["sites"].as_array().unwrap();
        let forms = |site: &serde_json::Value| {
            let forms = site["canonical"].as_object().unwrap();
            forms.keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(
            sites.iter().flat_map(forms).collect::<Vec<_>>(),
            ["no URL", "http://a.example/s_1", "http://b.example/s_1"]
        );
        let nothing = check(MineArgs { split_sites: true, ..args(&[]) });
        assert_eq!(nothing["urls"], 0);
    }

    /// Each parameter of a URL costs a look at the whole of it.
    #[test]
    fn of_a_url_of_very_many_parameters_the_first_ones_are_looked_at_and_that_is_said() {
        let of = |parameters: usize, page: usize, sid: usize| {
            let filler: String = (0..parameters).map(|n| format!("p{n}=1&")).collect();
            format!("http://a.example/{page}?early={sid}&{filler}late=1")
        };
        let urls = |parameters| -> Vec<String> {
            (0..12).flat_map(|page| [of(parameters, page, 1), of(parameters, page, 2)]).collect()
        };
        let names = |report: &serde_json::Value| -> Vec<String> {
            let found = report["param_candidates"].as_array().unwrap();
            found.iter().map(|found| found["param"].as_str().unwrap().to_owned()).collect()
        };
        let report = check(args(&urls(10)));
        assert_eq!(names(&report), ["early"]);
        assert!(report.get("parameters_left_out").is_none(), "{report}");
        let report = check(args(&urls(400)));
        assert_eq!(names(&report), ["early"]);
        assert_eq!(report["parameters_left_out"], 24, "URLs");
    }

    #[test]
    fn several_domains_are_one_list_unless_they_are_to_be_split() {
        let hosts = ["www.one.example", "two.example"];
        let together = check(args(&urls(&hosts)));
        assert_eq!(together["urls"], 16);
        let apart = check(MineArgs { split_sites: true, ..args(&urls(&hosts)) });
        let sites = apart["sites"].as_array().unwrap();
        assert_eq!(
            sites.iter().map(|site| &site["site"]).collect::<Vec<_>>(),
            ["one.example", "two.example"]
        );
        assert!(sites.iter().all(|site| site["urls"] == 8));
    }
}
