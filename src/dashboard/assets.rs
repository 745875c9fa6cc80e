//! The files of the page, as they stand in `assets/`: inside the program, so that it needs no
//! internet and no directory.
//!
//! `uplot.js` and `uplot.css` are uPlot 1.6.32 as published on npm (`dist/uPlot.iife.min.js` and
//! `dist/uPlot.min.css`, unchanged), MIT, licence in `uplot-licence.txt`. It was chosen because it
//! draws a thousand points in a millisecond, weighs 51 kB and depends on nothing.

/// A file of the page.
pub(super) struct Asset {
    pub(super) path: &'static str,
    pub(super) media_type: &'static str,
    pub(super) text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! asset {
    ($path:literal, $media_type:expr, $file:literal) => {
        Asset {
            path: $path,
            media_type: $media_type,
            text: include_str!(concat!("assets/", $file)),
        }
    };
}

/// All files, `/` first.
pub(super) const ASSETS: &[Asset] = &[
    asset!("/", HTML, "index.html"),
    asset!("/style.css", CSS, "style.css"),
    asset!("/charts.js", SCRIPT, "charts.js"),
    asset!("/page.js", SCRIPT, "page.js"),
    asset!("/uplot.js", SCRIPT, "uplot.js"),
    asset!("/uplot.css", CSS, "uplot.css"),
    asset!("/uplot-licence.txt", "text/plain; charset=utf-8", "uplot-licence.txt"),
    asset!("/icon.svg", "image/svg+xml", "icon.svg"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_only_files_that_are_there_and_holds_no_script_or_style_itself() {
        let page = ASSETS[0].text;
        let named = page.split(['"']).filter(|part| {
            part.starts_with('/') && part.len() > 1 && !part.contains(char::is_whitespace)
        });
        let own = ["/metrics"];
        for path in named {
            let known = ASSETS.iter().any(|asset| asset.path == path) || own.contains(&path);
            assert!(known, "{path}");
        }
        for banned in ["<style", " style=", "onclick", "javascript:", "<script>", "http://"] {
            assert!(!page.contains(banned), "{banned}");
        }
    }

    /// A table with a state that the page did not know was not shown at all.
    #[test]
    fn the_page_has_a_word_for_every_state() {
        use crate::crawl::view::HostState;
        use crate::dust::RuleState;
        let script = ASSETS.iter().find(|asset| asset.path == "/page.js").unwrap().text;
        let check = |table: &str, state: serde_json::Value| {
            let table = script.split_once(&format!("const {table} = {{")).unwrap().1;
            let (table, _) = table.split_once("};").unwrap();
            let state = state.as_str().unwrap();
            let has = |key: String| table.contains(&key);
            assert!(has(format!(" {state}: ")) || has(format!("\"{state}\": ")), "{state}");
        };
        let mut host = Some(HostState::Idle);
        while let Some(state) = host {
            check("HOST_WORDS", serde_json::to_value(state).unwrap());
            host = match state {
                HostState::Idle => Some(HostState::Fetching),
                HostState::Fetching => Some(HostState::Ready),
                HostState::Ready => Some(HostState::Waiting),
                HostState::Waiting => Some(HostState::BackingOff),
                HostState::BackingOff => Some(HostState::Parked),
                HostState::Parked => Some(HostState::GivenUp),
                HostState::GivenUp => None,
            };
        }
        let mut rule = Some(RuleState::Candidate);
        while let Some(state) = rule {
            check("RULE_WORDS", serde_json::to_value(state).unwrap());
            check("RULE_TONES", serde_json::to_value(state).unwrap());
            rule = match state {
                RuleState::Candidate => Some(RuleState::Shadow),
                RuleState::Shadow => Some(RuleState::Enforced),
                RuleState::Enforced => Some(RuleState::Suspended),
                RuleState::Suspended => Some(RuleState::Retired),
                RuleState::Retired => None,
            };
        }
    }

    #[test]
    fn our_scripts_make_text_never_markup() {
        let ours = ASSETS.iter().filter(|asset| matches!(asset.path, "/page.js" | "/charts.js"));
        let mut seen = 0;
        for asset in ours {
            seen += 1;
            let banned =
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("];
            for word in banned {
                assert!(!asset.text.contains(word), "{} has {word}", asset.path);
            }
        }
        assert_eq!(seen, 2);
    }
}
