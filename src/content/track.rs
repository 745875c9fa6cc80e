//! How much new text some pages of a host bring: the sums by which a trap is told.

use super::site_model::Reader;
use super::trap::{Level, Transition, TrapSettings};

/// How much a page counts as a repeat: for being slowed and put last, and for being parked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weight {
    /// The page has text that was not known.
    pub(super) is_new: bool,
    /// How far it is a repeat, for what loses nothing.
    pub(super) repeat: f32,
    /// It is worth a fetch: it speaks against parking.
    pub(super) brings: bool,
    /// How far it is a repeat, for parking.
    pub(super) drought: f32,
    /// Whether it can be what parks.
    pub(super) parks: bool,
}

/// What the pages of a host, of a section, or of one shape of address have brought so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Track {
    /// Pages that were noted.
    pub(super) pages: u32,
    /// Those of them that had new text.
    pub(super) news: u32,
    /// Evidence for what loses nothing.
    pub(super) sum: f32,
    /// Evidence for parking.
    pub(super) drought: f32,
    /// Running share of new text, over about the last 64 pages.
    pub(super) share: f32,
    pub(super) level: Level,
    /// Pages that came while it was parked.
    pub(super) samples: u32,
}

/// Sums end at this factor of their highest threshold, so that new text soon tells.
const CEILING: f32 = 1.25;

/// Returns what a page adds to a sum of evidence for `low` shares of new text against `high` ones.
fn step(is_new: bool, repeat: f32, low: f32, high: f32) -> f32 {
    if is_new { (low / high).ln() } else { repeat * ((1.0 - low) / (1.0 - high)).ln() }
}

impl Track {
    /// Takes note of a page; where it does not count, as one of the pages alone.
    pub(super) fn add(
        &mut self,
        page: &Weight,
        counts: bool,
        settings: &TrapSettings,
    ) -> Option<Transition> {
        self.pages = self.pages.saturating_add(1);
        self.news = self.news.saturating_add(u32::from(page.is_new));
        let new = if page.is_new { 1.0 } else { 0.0 };
        // The first pages weigh as in a plain mean, later ones as in a running one.
        self.share += (new - self.share) / (self.pages.min(64) as f32);
        if counts {
            self.push(page, settings);
        }
        self.change(settings)
    }

    /// Takes note of new text that it led to elsewhere: that speaks against parking.
    pub(super) fn credit(&mut self, settings: &TrapSettings) -> Option<Transition> {
        let (low, high) = (settings.endless_share, settings.worthy_share);
        self.drought = (self.drought + step(true, 0.0, low, high)).max(0.0);
        self.change(settings)
    }

    /// Forgets the evidence for parking.
    pub(super) fn reprieve(&mut self, settings: &TrapSettings) -> Option<Transition> {
        self.drought = 0.0;
        self.change(settings)
    }

    fn change(&mut self, settings: &TrapSettings) -> Option<Transition> {
        let to = self.level_now(settings);
        if to == self.level {
            return None;
        }
        let from = std::mem::replace(&mut self.level, to);
        Some(Transition { section: None, from, to, reason: self.in_words() })
    }

    /// Says what its pages have brought.
    pub(super) fn in_words(&self) -> String {
        let percent = (self.share * 100.0).round();
        let of = self.pages.min(64);
        format!("{percent} % of its last {of} pages had new text, of {} in all", self.pages)
    }

    fn push(&mut self, page: &Weight, settings: &TrapSettings) {
        let slows = step(page.is_new, page.repeat, settings.trap_share, settings.healthy_share);
        self.sum = (self.sum + slows).clamp(0.0, CEILING * settings.low_priority_at);
        let (low, high) = (settings.endless_share, settings.worthy_share);
        let parks = step(page.brings, page.drought, low, high);
        let ceiling = settings.parked_at * if page.parks { CEILING } else { 0.99 };
        self.drought = (self.drought + parks).min(ceiling.max(self.drought)).max(0.0);
    }

    /// Falls back only when the sum is half of what raised it, or levels would flicker.
    fn level_now(&self, settings: &TrapSettings) -> Level {
        let thresholds = [
            (Level::Parked, self.drought, settings.parked_at),
            (Level::LowPriority, self.sum, settings.low_priority_at),
            (Level::Slowed, self.sum, settings.slowed_at),
        ];
        let reached = |(level, sum, at): &(Level, f32, f32)| {
            sum >= at || (self.level >= *level && *sum >= at / 2.0)
        };
        thresholds
            .iter()
            .find(|threshold| reached(threshold))
            .map_or(Level::Healthy, |(level, ..)| *level)
    }
}

const LEVELS: [Level; 4] = [Level::Healthy, Level::Slowed, Level::LowPriority, Level::Parked];

impl Track {
    /// Bytes of one that is encoded.
    pub(super) const LEN: usize = 25;

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.pages.to_le_bytes());
        out.extend(self.news.to_le_bytes());
        out.extend(self.sum.to_le_bytes());
        out.extend(self.drought.to_le_bytes());
        out.extend(self.share.to_le_bytes());
        out.push(self.level as u8);
        out.extend(self.samples.to_le_bytes());
    }

    pub(super) fn decode(read: &mut Reader<'_>) -> Option<Track> {
        let (pages, news) = (read.u32()?, read.u32()?);
        let mut figure = || read.take().map(f32::from_le_bytes).filter(|figure| figure.is_finite());
        let (sum, drought, share) = (figure()?, figure()?, figure()?);
        let level = *LEVELS.get(usize::from(read.u8()?))?;
        let samples = read.u32()?;
        Some(Track { pages, news, sum, drought, share, level, samples })
    }
}
