//! What the content stage knows of one host, in one row: how it answers nonsense, and how much new
//! text it brings.
//!
//! The way of a page: a visit takes [`HostContent::errors`], a snapshot, and judges the page it has
//! analysed with [`HostErrors::judge`]; the loop then gives the outcome to [`HostContent::settle`],
//! which says how the host is treated from now on. An answer to a probe goes to
//! [`HostContent::note_probe`] instead.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Analysis;
use super::probes::{Probe, plan};
use super::site_model::Reader;
use super::soft_error::HostErrors;
use super::trap::{Brought, HostTrap, Level, Transition, TrapSettings, section_of, shape_of};

/// Settings of what is made of a host's pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct HostSettings {
    /// Requests for what cannot exist that a host is sent, at most 6; 0 to send none.
    pub probes: usize,
    /// Pages of a host before it is probed: small hosts are not worth it.
    pub probe_after_pages: u32,
    /// When a host is slowed, put last and parked.
    pub trap: TrapSettings,
}

impl Default for HostSettings {
    fn default() -> Self {
        HostSettings { probes: 4, probe_after_pages: 12, trap: TrapSettings::default() }
    }
}

/// What one page turned out to be.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// Path and query.
    pub target: &'a str,
    /// The analysis of the page; `None` for a payload without text, such as an image.
    pub analysis: Option<&'a Analysis>,
    /// It was judged to be a soft error.
    pub junk: bool,
    /// Another address gave the same payload.
    pub known_payload: bool,
    /// Another address gave the same main text.
    pub known_text: bool,
    /// Another address gave nearly the same main text, where that is known.
    pub known_nearly: bool,
    /// Addresses of the host that wait, where that is known. Those that rules hide would wait too,
    /// if there were none, and are counted with them: a space without end is one however few of its
    /// addresses wait, and what rules give back is no new one.
    pub waiting: Option<u64>,
    /// Path and query of the page of this host on which the address was found.
    pub via: Option<&'a str>,
    /// It is a demand to log in or to consent, to which the server sent whoever asked for something
    /// else, or whose address names the page that is shown afterwards.
    pub walled: bool,
}

/// What follows from a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// How links into its section are treated now.
    pub level: Level,
    /// Changes of level, to be logged.
    pub changes: Vec<Transition>,
}

/// What is known of a host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostContent {
    errors: Arc<HostErrors>,
    trap: HostTrap,
    planned: bool,
    /// Addresses that rules keep from being fetched now.
    hidden: u64,
    /// Pages that were fetched only to measure rules, and those of them whose text was known.
    audited: u64,
    known_by_audit: u64,
}

/// Pages of a host by what they show, and what waits there.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostPages {
    /// Pages that were fetched.
    pub fetched: u64,
    /// Those of them whose text was known, but for those that were fetched to measure rules.
    pub known: u64,
    /// Addresses that wait.
    pub queued: u64,
}

impl HostContent {
    /// Returns how the host answers nonsense, as known now.
    pub fn errors(&self) -> Arc<HostErrors> {
        Arc::clone(&self.errors)
    }

    /// Returns the evidence about new text.
    pub fn trap(&self) -> &HostTrap {
        &self.trap
    }

    /// Puts the host back among the healthy: an operator's decision.
    pub fn forgive(&mut self) {
        self.trap.forgive();
    }

    /// Judges a section anew, if it is parked, to which an address belongs that comes back: rules
    /// had kept it from being fetched. Returns the change of its level.
    pub fn reprieve(&mut self, target: &str, settings: &HostSettings) -> Option<Transition> {
        self.trap.reprieve(target, &settings.trap)
    }

    /// Returns true for one more page that proves rules in a section that is parked, as long as
    /// there were few.
    pub fn takes_proof(&mut self) -> bool {
        self.trap.takes_proof()
    }

    /// Takes note of an address that rules keep from being fetched.
    pub fn note_hidden(&mut self) {
        self.trap.note_hidden();
        self.hidden += 1;
    }

    /// Takes note of an address that rules kept from being fetched, and that comes back.
    pub fn note_restored(&mut self) {
        self.hidden = self.hidden.saturating_sub(1);
    }

    /// Returns how many addresses rules keep from being fetched by now.
    pub fn hidden(&self) -> u64 {
        self.hidden
    }

    /// Takes note of a page that was fetched only to measure rules, and whether its text was known.
    pub fn note_audit(&mut self, is_known: bool) {
        self.audited += 1;
        self.known_by_audit += u64::from(is_known);
    }

    /// Returns true where more than a share of the pages of the host would have a known text by now
    /// if there were no rules. Of the addresses that these hide, as many would have had their turn
    /// as of all others have; and as many of those would have a known text as of those that were
    /// drawn to measure rules: a thin page has none, whatever stands for it.
    pub fn shows_known_texts(&self, share: f64, pages: &HostPages) -> bool {
        let fetched = pages.fetched as f64;
        let turn = fetched / (fetched + pages.queued as f64).max(1.0);
        let hidden = self.hidden as f64 * turn;
        let known = hidden * (self.known_by_audit + 1) as f64 / (self.audited + 1) as f64;
        (pages.known + self.known_by_audit) as f64 + known > share * (fetched + hidden)
    }

    /// Plans probes again if not one was answered: those of a run that ended too early are gone.
    pub fn forget_unanswered(&mut self) {
        self.planned &= self.errors.probes() > 0;
    }

    /// Returns the probes that are due, once: each is a fetch under a lease of its own. `known` are
    /// some paths with queries of the host, the more the better the plan.
    pub fn probes_due(&mut self, seed: u64, known: &[&str], settings: &HostSettings) -> Vec<Probe> {
        if self.planned || self.trap.pages() < settings.probe_after_pages {
            return Vec::new();
        }
        self.planned = true;
        plan(seed, known, settings.probes)
    }

    /// Takes note of the answer to a probe.
    pub fn note_probe(&mut self, probe: &Probe, status: u16, page: Option<&Analysis>) {
        Arc::make_mut(&mut self.errors).note_probe(probe, status, page);
    }

    /// Takes note of a page, and says what follows.
    pub fn settle(&mut self, page: &Outcome<'_>, settings: &HostSettings) -> Settled {
        let section = section_of(page.target);
        let mut changes = Vec::new();
        if let Some(analysis) = page.analysis {
            if !page.junk && !self.errors.has_sample() {
                Arc::make_mut(&mut self.errors).note_page(analysis);
            }
            let brought = Brought {
                core_digest: analysis.core_digest,
                sample: analysis.sample,
                figures: analysis.figures,
                repeat: page.known_payload || page.known_text && !analysis.thin,
                near_repeat: page.known_nearly,
                thin: analysis.thin,
                junk: page.junk,
                waiting: page.waiting.map(|waiting| waiting.saturating_add(self.hidden)),
                address: self.trap.note_address(page.target),
                shape: Some(shape_of(page.target)),
                found_in: page.via.and_then(section_of),
                walled: page.walled,
            };
            changes = self.trap.note(section, &brought, &settings.trap);
        }
        Settled { level: self.trap.level_at(page.target), changes }
    }

    /// Takes note of a payload without text that no other address had, and of the page of this host
    /// on which it was found; returns the changes of level that follow.
    pub fn led_to_payload(&mut self, via: &str, settings: &HostSettings) -> Vec<Transition> {
        self.trap.note_payload(section_of(via), &settings.trap)
    }

    /// Encodes what is known, for storage: whether probes were planned u8, addresses hidden u64,
    /// pages audited u64, known ones of them u64, the length u32 of the errors and they, then the
    /// trap.
    pub fn encode(&self) -> Vec<u8> {
        let errors = self.errors.encode();
        let mut out = vec![u8::from(self.planned)];
        out.extend(self.hidden.to_le_bytes());
        out.extend(self.audited.to_le_bytes());
        out.extend(self.known_by_audit.to_le_bytes());
        out.extend((errors.len() as u32).to_le_bytes());
        out.extend(errors);
        out.extend(self.trap.encode());
        out
    }

    /// Decodes what [`HostContent::encode`] wrote; `None` for anything else.
    pub fn decode(bytes: &[u8]) -> Option<HostContent> {
        let mut read = Reader(bytes);
        let planned = read.u8()? != 0;
        let (hidden, audited, known_by_audit) = (read.u64()?, read.u64()?, read.u64()?);
        let len = read.u32()? as usize;
        let (errors, trap) = read.0.split_at_checked(len)?;
        let errors = Arc::new(HostErrors::decode(errors)?);
        let trap = HostTrap::decode(trap)?;
        Some(HostContent { errors, trap, planned, hidden, audited, known_by_audit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::junk::SoftHost;
    use crate::content::pages::borrowed;
    use crate::content::soft_error::{Answer, Junk};
    use crate::content::{Boilerplate, Content, Page};

    fn analysed(blocks: &[crate::content::pages::OwnBlock]) -> Analysis {
        let blocks = borrowed(blocks);
        Content::default()
            .analyse(&Page { blocks: &blocks, ..Page::default() }, &Boilerplate::default())
    }

    #[test]
    fn a_host_shows_known_texts_as_it_would_without_rules() {
        let mut host = HostContent::default();
        let shows = |host: &HostContent, known, queued| {
            host.shows_known_texts(0.5, &HostPages { fetched: 100, known, queued })
        };
        assert!(!shows(&host, 50, 0) && shows(&host, 51, 0));
        (0..40).for_each(|_| host.note_hidden());
        // Of 140 pages 70 would be half.
        assert!(!shows(&host, 30, 0) && shows(&host, 31, 0));
        assert!(!shows(&host, 31, 100), "half of those that are hidden would still wait");
        (0..5).for_each(|_| host.note_audit(true));
        assert!(!shows(&host, 25, 0) && shows(&host, 26, 0));
        let mut thin = host.clone();
        (0..6).for_each(|_| thin.note_audit(false));
        assert!(!shows(&thin, 45, 0) && shows(&thin, 46, 0), "of 40 that are hidden 20 are known");
        assert_eq!(HostContent::decode(&host.encode()), Some(host.clone()));
        (0..50).for_each(|_| host.note_restored());
        assert!(!shows(&host, 45, 0) && shows(&host, 46, 0));
    }

    fn outcome<'a>(target: &'a str, analysis: &'a Analysis) -> Outcome<'a> {
        Outcome {
            target,
            analysis: Some(analysis),
            junk: false,
            known_payload: false,
            known_text: false,
            known_nearly: false,
            waiting: None,
            via: None,
            walled: false,
        }
    }

    #[test]
    fn a_host_is_probed_once_and_then_its_dead_links_are_known() {
        let (soft, settings) = (SoftHost::new(9), HostSettings::default());
        let mut host = HostContent::default();
        assert_eq!(host.probes_due(1, &[], &settings), []);
        for n in 0..settings.probe_after_pages {
            let page = analysed(&soft.page(u64::from(n)));
            let settled = host.settle(&outcome(&format!("/a/{n}"), &page), &settings);
            assert!(settled.changes.is_empty());
        }
        let probes = host.probes_due(1, &["/a/1.html"], &settings);
        assert!((2..=4).contains(&probes.len()));
        assert_eq!(host.probes_due(1, &[], &settings), []);
        for (visit, probe) in (0..).zip(&probes) {
            let page = analysed(&soft.nothing_at(&probe.target, visit));
            host.note_probe(probe, 200, Some(&page));
        }
        let dead = soft.nothing_at("/a/gone.html", 99);
        let (analysis, blocks) = (analysed(&dead), borrowed(&dead));
        let answer = Answer {
            target: "/a/gone.html",
            title: "",
            blocks: &blocks,
            analysis: &analysis,
            password_field: false,
            text_seen_elsewhere: false,
        };
        let junk = host.errors().judge(&answer).unwrap();
        assert_eq!(junk.junk, Junk::Soft404);
        assert_eq!(HostContent::decode(&host.encode()), Some(host.clone()));
        assert_eq!(HostContent::decode(&host.encode()[1..]), None);
    }

    #[test]
    fn a_host_that_repeats_itself_is_slowed_until_it_is_forgiven() {
        let (soft, settings) = (SoftHost::new(10), HostSettings::default());
        let mut host = HostContent::default();
        let page = analysed(&soft.page(1));
        let again = Outcome { known_text: true, ..outcome("/a/1?s=1", &page) };
        assert_eq!(host.settle(&again, &settings).level, Level::Healthy);
        let settled: Vec<Settled> = (0..20).map(|_| host.settle(&again, &settings)).collect();
        assert_eq!(settled[19].level, Level::Slowed);
        assert!(settled.iter().any(|settled| !settled.changes.is_empty()));
        host.forgive();
        assert_eq!(host.trap().worst(), Level::Healthy);
    }

    /// Tables by every column in every order: rules hid most of what a page led to, so that ever
    /// fewer addresses waited, and thousands of forms were fetched to prove further rules. And half
    /// of a repository, which came back when a rule fell, was taken for new addresses.
    #[test]
    fn what_rules_hide_waits_as_well_where_it_is_seen_whether_a_host_comes_to_an_end() {
        let (soft, settings) = (SoftHost::new(11), HostSettings::default());
        let pages: Vec<Analysis> = (0..200).map(|n| analysed(&soft.page(n))).collect();
        let parked_after = |hides: u64, restores: u64| {
            let mut host = HostContent::default();
            (0..restores).for_each(|_| host.note_hidden());
            for (n, page) in (0..).zip(&pages) {
                let target = format!("/a/{n}");
                let new = Outcome { waiting: Some(1_000 - n), ..outcome(&target, page) };
                host.settle(&new, &settings);
            }
            (0..restores).for_each(|_| host.note_restored());
            (0..600).position(|n| {
                (0..hides).for_each(|_| host.note_hidden());
                let known = Outcome { known_text: true, ..outcome("/a/1?s=1", &pages[1]) };
                let again = Outcome { waiting: Some(800 + restores - n), ..known };
                host.settle(&again, &settings).level == Level::Parked
            })
        };
        assert_eq!(parked_after(0, 0), None);
        assert_eq!(parked_after(9, 0), Some(200), "as many repeats as there were texts");
        assert_eq!(parked_after(0, 500), None);
    }

    #[test]
    fn payloads_without_text_say_nothing_about_text() {
        let mut host = HostContent::default();
        let image = Outcome {
            target: "/a.png",
            analysis: None,
            junk: false,
            known_payload: true,
            known_text: false,
            known_nearly: false,
            waiting: None,
            via: None,
            walled: false,
        };
        for _ in 0..50 {
            let settled = host.settle(&image, &HostSettings::default());
            assert_eq!(settled.level, Level::Healthy);
        }
    }
}
