//! Boards of tasks, as trackers of issues have them: tables that can be sorted by each column and
//! are cut into pages. Of a board that fits on one page every order shows the same tasks; of a
//! longer one each page of each order shows others, around them the same form of filters.
//!
//! What tells two pages of a board apart are names of tasks, and those are links.

use super::draw::{Draw, hash, mix, push_paragraph};
use super::links::Link;
use super::page::Cell;
use super::site::Site;

/// Where they stand.
const ROOT: &str = "/board/";

/// Tasks of one page.
const PAGE: u32 = 15;

/// Tasks of every other board, and of those between.
const LENGTHS: [u32; 2] = [12, 48];

/// By what a board can be sorted.
const COLUMNS: [&str; 4] = ["task", "state", "owner", "due"];

/// A page of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    board: u32,
    /// A column, and whether downwards; by number where there is none.
    sort: Option<(usize, bool)>,
    /// From 0.
    page: u32,
}

impl Shown {
    fn href(&self) -> String {
        let sort = self.sort.map(|(column, down)| {
            format!("sort={}{}", COLUMNS[column], if down { ":desc" } else { "" })
        });
        let page = (self.page > 0).then(|| format!("page={}", self.page + 1));
        let query: Vec<String> = page.into_iter().chain(sort).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{ROOT}{}{mark}{}", self.board, query.join("&"))
    }

    fn length(&self) -> u32 {
        LENGTHS[self.board as usize % LENGTHS.len()]
    }

    /// Returns how many pages its board has.
    fn pages(&self) -> u32 {
        self.length().div_ceil(PAGE)
    }

    /// Returns the numbers of the tasks that it shows, in order.
    fn tasks(&self) -> impl Iterator<Item = u32> {
        let mut tasks: Vec<u32> = (0..self.length()).collect();
        if let Some((column, down)) = self.sort {
            tasks.sort_by_key(|task| mix(hash(29, COLUMNS[column]), u64::from(*task)));
            if down {
                tasks.reverse();
            }
        }
        tasks.into_iter().skip((self.page * PAGE) as usize).take(PAGE as usize)
    }

    /// Returns a number for the set of tasks that it shows.
    pub(super) fn set(&self) -> u64 {
        let task = |task: u32| mix(u64::from(self.board) << 32, u64::from(task));
        self.tasks().map(task).fold(0, u64::wrapping_add)
    }
}

impl Site<'_> {
    /// Returns the path of its first board.
    pub(super) fn first_board(self) -> String {
        Shown { board: 0, sort: None, page: 0 }.href()
    }

    /// Returns the page of a board that a path and query leads to.
    pub(super) fn shown_board(self, path: &str, query: &str) -> Option<Shown> {
        let board =
            path.strip_prefix(ROOT)?.parse().ok().filter(|board| *board < self.spec.boards)?;
        let mut shown = Shown { board, sort: None, page: 0 };
        for part in query.split('&').filter(|part| !part.is_empty()) {
            match part.split_once('=')? {
                ("page", page) => shown.page = page.parse::<u32>().ok()?.checked_sub(1)?,
                ("sort", sort) => {
                    let (column, down) =
                        sort.strip_suffix(":desc").map_or((sort, false), |column| (column, true));
                    let column = COLUMNS.iter().position(|known| *known == column)?;
                    shown.sort = Some((column, down));
                }
                _ => return None,
            }
        }
        (shown.page < shown.pages()).then_some(shown)
    }

    /// Returns the numbers of all sets of tasks that pages of its boards show.
    pub(super) fn sets_of_tasks(self) -> impl Iterator<Item = u64> {
        let downs = |column| [false, true].map(|down| Some((column, down)));
        let sorts: Vec<_> =
            std::iter::once(None).chain((0..COLUMNS.len()).flat_map(downs)).collect();
        (0..self.spec.boards).flat_map(move |board| {
            let pages = Shown { board, sort: None, page: 0 }.pages();
            let of = move |sort| (0..pages).map(move |page| Shown { board, sort, page }.set());
            sorts.clone().into_iter().flat_map(of)
        })
    }

    /// Returns a page of a board.
    pub(super) fn board_page(self, shown: &Shown, target: &str) -> String {
        let text = |what: &str, number: u32, words: u64| {
            let mut text = String::new();
            let number = u64::from(shown.board) << 32 | u64::from(number);
            push_paragraph(
                &mut text,
                &mut Draw::new(mix(self.seed ^ number, hash(30, what))),
                words,
            );
            text
        };
        let row = |task: u32| {
            let path = self.canonical(task % self.spec.pages.max(1));
            let name = Cell::link(text("task", task, 8), path);
            vec![name, Cell::new(text("state", task % 3, 1))]
        };
        let rows: Vec<Vec<Cell>> = shown.tasks().map(row).collect();
        let link = |shown: Shown, text: &str| Link::new(shown.href(), text);
        let mut tabs = Vec::new();
        for (column, name) in COLUMNS.iter().enumerate() {
            for down in [false, true] {
                let sort = Some((column, down));
                tabs.push(link(Shown { sort, page: 0, ..shown.clone() }, name));
            }
        }
        for page in 0..shown.pages() {
            tabs.push(link(Shown { page, ..shown.clone() }, "page"));
        }
        if shown.board + 1 < self.spec.boards {
            tabs.push(link(Shown { board: shown.board + 1, sort: None, page: 0 }, "next board"));
        }
        let filters = [text("filters", 0, 60), text("filters", 1, 60)];
        self.listing_page(&format!("Board {}", shown.board), &tabs, &rows, &filters, target)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SiteSpec, Truth, WebSpec};
    use crate::url::CrawlUrl;

    #[test]
    fn an_order_shows_other_tasks_where_a_board_is_cut_and_the_same_where_it_is_not() {
        let mut spec = SiteSpec::new("a.test", 5);
        spec.boards = 2;
        let web = WebSpec::new(1, vec![spec]);
        let set = |tail: &str| match web
            .truth(&CrawlUrl::parse(&format!("http://a.test{tail}")).unwrap())
        {
            Some(Truth::Board { tasks }) => Some(tasks),
            _ => None,
        };
        assert!(set("/board/0").is_some());
        assert_eq!(set("/board/0"), set("/board/0?sort=due:desc"));
        assert_ne!(set("/board/1"), set("/board/1?sort=due"));
        assert_ne!(set("/board/1?sort=due"), set("/board/1?page=2&sort=due"));
        assert_eq!(set("/board/0?page=2"), None);
        assert_eq!(set("/board/2"), None);
        let all: std::collections::HashSet<u64> = web.sets_of_tasks(0).collect();
        assert!(all.contains(&set("/board/1?page=4&sort=owner").unwrap()));
        // Downwards the last page shows what the first one shows upwards, if it is full.
        assert!(all.len() > 20 && all.len() < 2 + 9 * 4, "{}", all.len());
    }
}
