//! A repository that a site shows at every commit, as browsers of version control do: few texts,
//! and very many pages that show them again or list them in another company. It has an end.
//!
//! Commit `c` adds file `c`, and every third one changes the file before last. Each page names its
//! commit (`?id=`), has tabs to what the other views show of its path there, and lists lead on.

use std::fmt::Write;

use super::draw::{Draw, hash, mix, push_paragraph, word};
use super::links::Link;
use super::page::Cell;
use super::site::Site;

/// Folders of the repository.
const FOLDERS: u32 = 5;

/// Commits of one page of a log.
const LOG_PAGE: u32 = 10;

/// Where it stands.
const ROOT: &str = "/git/";

/// What a page shows of a path at a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    Log { offset: u32 },
    Commit,
    Diff,
    Tree,
}

/// A path of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Root,
    Folder(u32),
    File(u32),
}

/// A page of the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Browsed {
    shows: Shows,
    place: Place,
    commit: u32,
}

impl Place {
    fn path(self) -> String {
        match self {
            Place::Root => String::new(),
            Place::Folder(folder) => format!("part-{folder}/"),
            Place::File(file) => format!("part-{}/file-{file}.txt", file % FOLDERS),
        }
    }

    fn parse(path: &str) -> Option<Place> {
        let number = |text: &str| text.parse::<u32>().ok();
        let place = match path.split_once('/') {
            None if path.is_empty() => Place::Root,
            Some((folder, "")) => Place::Folder(number(folder.strip_prefix("part-")?)?),
            Some((_, file)) => {
                Place::File(number(file.strip_prefix("file-")?.strip_suffix(".txt")?)?)
            }
            None => return None,
        };
        (place.path() == path).then_some(place)
    }

    fn holds(self, file: u32) -> bool {
        match self {
            Place::Root => true,
            Place::Folder(folder) => file % FOLDERS == folder,
            Place::File(own) => own == file,
        }
    }
}

impl Browsed {
    fn href(self) -> String {
        let (view, more) = match self.shows {
            Shows::Log { offset: 0 } => ("log", String::new()),
            Shows::Log { offset } => ("log", format!("&ofs={offset}")),
            Shows::Commit => ("commit", String::new()),
            Shows::Diff => ("diff", String::new()),
            Shows::Tree => ("tree", String::new()),
        };
        format!("{ROOT}{view}/{}?id={}{more}", self.place.path(), self.commit)
    }
}

/// Returns the files that a commit adds or changes, each with its version there.
fn touched(commit: u32) -> impl Iterator<Item = (u32, u32)> {
    let changed = (commit % 3 == 2).then(|| commit.checked_sub(2)).flatten();
    std::iter::once((commit, 0)).chain(changed.map(|file| (file, 1)))
}

/// Returns the version of a file at a commit at which it is there.
fn version(file: u32, commit: u32) -> u32 {
    u32::from(file + 2 <= commit && touched(file + 2).any(|(changed, _)| changed == file))
}

impl Site<'_> {
    /// Returns where its repository begins.
    pub(super) fn repository_home(self) -> String {
        let commit = self.spec.commits.saturating_sub(1);
        Browsed { shows: Shows::Log { offset: 0 }, place: Place::Root, commit }.href()
    }

    /// Returns the page of the repository that a path and query leads to.
    pub(super) fn browsed(self, path: &str, query: &str) -> Option<Browsed> {
        let (view, path) = path.strip_prefix(ROOT)?.split_once('/')?;
        let (id, offset) = query.strip_prefix("id=")?.split_once("&ofs=").map_or_else(
            || Some((query.strip_prefix("id=")?, 0)),
            |(id, offset)| Some((id, offset.parse().ok()?)),
        )?;
        let (place, commit) = (Place::parse(path)?, id.parse::<u32>().ok()?);
        let shows = match view {
            "log" => Shows::Log { offset },
            "commit" => Shows::Commit,
            "diff" => Shows::Diff,
            "tree" => Shows::Tree,
            _ => return None,
        };
        let is_there = match place {
            Place::Root => true,
            Place::Folder(folder) => folder < FOLDERS && folder <= commit,
            Place::File(file) => file <= commit,
        };
        let page = Browsed { shows, place, commit };
        (commit < self.spec.commits
            && is_there
            && page.href() == format!("{ROOT}{view}/{path}?{query}"))
        .then_some(page)
    }

    /// Returns the numbers of the texts of the repository: first its commits, then the versions of
    /// its files.
    pub(super) fn versions(self) -> impl Iterator<Item = u32> {
        let commits = self.spec.commits;
        let files = (0..commits).flat_map(move |commit| {
            touched(commit).map(move |(file, version)| commits + 2 * file + version)
        });
        (0..commits).chain(files)
    }

    /// Returns the number of the text that a page shows, if it shows one and not a list.
    pub(super) fn version_of(self, page: Browsed) -> Option<u32> {
        match (page.shows, page.place) {
            (Shows::Commit, Place::Root) => Some(page.commit),
            (Shows::Tree, Place::File(file)) => {
                Some(self.spec.commits + 2 * file + version(file, page.commit))
            }
            _ => None,
        }
    }

    /// Returns a page of the repository.
    pub(super) fn repository_page(self, page: Browsed, target: &str) -> String {
        let Browsed { place, commit, .. } = page;
        let at = |shows: Shows| Browsed { shows, ..page }.href();
        let tabs = [
            Link::new(at(Shows::Log { offset: 0 }), "log"),
            Link::new(at(Shows::Tree), "tree"),
            Link::new(at(Shows::Commit), "commit"),
            Link::new(at(Shows::Diff), "diff"),
        ];
        let (rows, texts) = match (page.shows, place) {
            (Shows::Log { offset }, _) => (self.log_rows(place, commit, offset), Vec::new()),
            (Shows::Commit, _) => self.commit_page(page),
            (Shows::Diff, _) => (Vec::new(), self.changes(place, commit)),
            (Shows::Tree, Place::File(file)) => {
                (Vec::new(), self.lines(file, version(file, commit)))
            }
            (Shows::Tree, _) => (self.tree_rows(place, commit), Vec::new()),
        };
        let title = format!("{} at {}", place.path(), self.commit_name(commit));
        self.listing_page(&title, &tabs, &rows, &texts, target)
    }

    fn commit_name(self, commit: u32) -> String {
        format!("{:016x}", mix(self.seed, hash(20, "commit") ^ u64::from(commit)))
    }

    fn subject(self, commit: u32) -> String {
        let mut draw = Draw::new(mix(self.seed, hash(21, "subject") ^ u64::from(commit)));
        let words: Vec<String> = (0..6).map(|_| word(draw.next())).collect();
        words.join(" ")
    }

    fn log_rows(self, place: Place, commit: u32, offset: u32) -> Vec<Vec<Cell>> {
        let touches = |commit: &u32| touched(*commit).any(|(file, _)| place.holds(file));
        let mut commits = (0..=commit).rev().filter(touches).skip(offset as usize);
        let mut rows: Vec<Vec<Cell>> = commits
            .by_ref()
            .take(LOG_PAGE as usize)
            .map(|at| {
                let to = Browsed { shows: Shows::Commit, place, commit: at };
                let date = format!("2026-{:02}-{:02}", at / 28 % 12 + 1, at % 28 + 1);
                let files = touched(at).count();
                vec![
                    Cell::new(date),
                    Cell::link(self.subject(at), to.href()),
                    Cell::new(format!("A. N. Author {files} -0/+{}", 10 * files)),
                ]
            })
            .collect();
        if commits.next().is_some() {
            let shows = Shows::Log { offset: offset + LOG_PAGE };
            let to = Browsed { shows, place, commit };
            rows.push(vec![Cell::link("next".to_owned(), to.href())]);
        }
        rows
    }

    fn commit_page(self, page: Browsed) -> (Vec<Vec<Cell>>, Vec<String>) {
        let Browsed { place, commit, .. } = page;
        let mut rows = vec![
            vec![Cell::new("author".to_owned()), Cell::new("A. N. Author".to_owned())],
            vec![Cell::new("commit".to_owned()), Cell::link(self.commit_name(commit), page.href())],
        ];
        if let Some(parent) = commit.checked_sub(1) {
            let is_there = self.browsed_at(Shows::Commit, place, parent);
            rows.extend(is_there.map(|to| {
                vec![
                    Cell::new("parent".to_owned()),
                    Cell::link(self.commit_name(parent), to.href()),
                ]
            }));
        }
        for (file, _) in touched(commit).filter(|(file, _)| place.holds(*file)) {
            let file = Place::File(file);
            let to = Browsed { shows: Shows::Diff, place: file, commit };
            rows.push(vec![Cell::link(file.path(), to.href()), Cell::new("10 ++++++".to_owned())]);
        }
        let mut draw = Draw::new(mix(self.seed, hash(22, "message") ^ u64::from(commit)));
        let mut message = self.subject(commit);
        message.push('\n');
        push_paragraph(&mut message, &mut draw, 12 + mix(self.seed, commit.into()) % 30);
        let mut texts: Vec<String> = message.split('\n').map(str::to_owned).collect();
        texts.extend(self.changes(place, commit));
        (rows, texts)
    }

    fn browsed_at(self, shows: Shows, place: Place, commit: u32) -> Option<Browsed> {
        let href = Browsed { shows, place, commit }.href();
        let (path, query) = href.split_once('?')?;
        self.browsed(path, query)
    }

    fn changes(self, place: Place, commit: u32) -> Vec<String> {
        let mut out = Vec::new();
        for (file, version) in touched(commit).filter(|(file, _)| place.holds(*file)) {
            let path = Place::File(file).path();
            out.push(format!("diff --git a/{path} b/{path}"));
            let lines = self.lines(file, version).into_iter();
            // What a later version adds is its last line.
            out.extend(lines.skip(if version == 0 { 0 } else { 9 }).map(|line| format!("+{line}")));
        }
        out
    }

    /// Returns the lines of a version of a file.
    fn lines(self, file: u32, version: u32) -> Vec<String> {
        let mut draw = Draw::new(mix(self.seed, hash(23, "file") ^ u64::from(file)));
        let mut lines: Vec<String> = (0..9 + version)
            .map(|_| {
                let mut line = String::new();
                push_paragraph(&mut line, &mut draw, 12);
                line
            })
            .collect();
        if version > 0 {
            let _ = write!(lines[3], " {}", word(draw.next()));
        }
        lines
    }

    fn tree_rows(self, place: Place, commit: u32) -> Vec<Vec<Cell>> {
        let row = |entry: Place, size: u32| {
            let to = |shows: Shows| Browsed { shows, place: entry, commit }.href();
            vec![
                Cell::new("-rw-r--r--".to_owned()),
                Cell::link(entry.path(), to(Shows::Tree)),
                Cell::new(format!("{size}")),
                Cell::link("log".to_owned(), to(Shows::Log { offset: 0 })),
            ]
        };
        match place {
            Place::Root => {
                (0..FOLDERS.min(commit + 1)).map(|at| row(Place::Folder(at), 0)).collect()
            }
            _ => {
                let files = (0..=commit).filter(|file| place.holds(*file));
                let size = |file: u32| 1000 + 7 * file + 90 * version(file, commit);
                files.map(|file| row(Place::File(file), size(file))).collect()
            }
        }
    }
}
