//! Column families, one file each: the layout of keys and values, and typed reads and writes.

pub mod content;
pub mod dust;
pub mod hosts;
pub mod line;
pub mod meta;
pub mod names;
pub mod parts;
pub mod queue;
pub mod robots;
pub mod seen;
pub mod suppressed;
pub mod urls;

/// Rows of a walk in steps, and the key at which the next step begins; none at the end.
pub type Chunk<T> = (Vec<T>, Option<Vec<u8>>);

/// A column family. The names are on disk: never change one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// Counters, versions and whatever there is one of.
    Meta,
    /// Host number → host record.
    Hosts,
    /// Host name → host number.
    HostIds,
    /// URL fingerprint → URL record.
    Urls,
    /// Key fingerprint → nothing, or the URL that stands for it.
    Seen,
    /// Host, priority, serial → what waits.
    Queue,
    /// Priority, serial → host: the front queues.
    Line,
    /// Time, host → nothing: hosts that sleep.
    Snoozed,
    /// Group, serial → host: hosts that wait for room in their group.
    GroupLine,
    /// Host → lease that was given and is not finished.
    Leases,
    /// Origin → robots.txt.
    Robots,
    /// Name → history of addresses.
    Names,
    /// Representative, suppressed URL → rules.
    Suppressed,
    /// Rule, suppressed URL → representative.
    SuppressedByRule,
    /// Text or payload digest → first capture.
    Contents,
    /// Band of a sketch → documents.
    Bands,
    /// Site → what the miner and the content stage remember of it.
    Sites,
}

impl Family {
    /// All families, in the order in which they are opened.
    pub const ALL: [Family; 17] = [
        Family::Meta,
        Family::Hosts,
        Family::HostIds,
        Family::Urls,
        Family::Seen,
        Family::Queue,
        Family::Line,
        Family::Snoozed,
        Family::GroupLine,
        Family::Leases,
        Family::Robots,
        Family::Names,
        Family::Suppressed,
        Family::SuppressedByRule,
        Family::Contents,
        Family::Bands,
        Family::Sites,
    ];

    /// Returns its name on disk.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Meta => "meta",
            Family::Hosts => "hosts",
            Family::HostIds => "host_ids",
            Family::Urls => "urls",
            Family::Seen => "seen",
            Family::Queue => "queue",
            Family::Line => "line",
            Family::Snoozed => "snoozed",
            Family::GroupLine => "group_line",
            Family::Leases => "leases",
            Family::Robots => "robots",
            Family::Names => "names",
            Family::Suppressed => "suppressed",
            Family::SuppressedByRule => "suppressed_by_rule",
            Family::Contents => "contents",
            Family::Bands => "bands",
            Family::Sites => "sites",
        }
    }

    /// Returns the length of the prefixes by which it is read, where most of them are not there.
    pub(super) const fn prefix_length(self) -> Option<usize> {
        match self {
            Family::Bands => Some(8),
            _ => None,
        }
    }

    /// Returns true if it is read by whole key, so that a Bloom filter pays.
    pub(super) const fn is_looked_up(self) -> bool {
        !matches!(
            self,
            Family::Queue | Family::Line | Family::Snoozed | Family::GroupLine | Family::Bands
        )
    }
}
