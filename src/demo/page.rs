//! The markup of pages: a document's text in a site's frame, and the pages that are no documents.

use std::fmt::Write;

use super::draw::{Draw, hash, mix, push_paragraph, word};
use super::links::{Link, first_list};
use super::site::{IMAGES, LISTS, Quiet, Site, list_path};

/// A cell of a table.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    text: String,
    href: Option<String>,
}

impl Cell {
    pub(super) fn new(text: String) -> Self {
        Cell { text, href: None }
    }

    pub(super) fn link(text: String, href: String) -> Self {
        Cell { text, href: Some(href) }
    }
}

/// Documents that a feed names.
const FEED_ITEMS: u32 = 20;

impl Site<'_> {
    /// Returns the page of a document as `target` asks for it.
    pub(super) fn document_page(
        self,
        number: u32,
        print: bool,
        session: Option<&str>,
        target: &str,
    ) -> String {
        let broken = self.spec.broken_markup > 0
            && mix(self.seed, hash(8, "broken") ^ u64::from(number)) % 1000
                < u64::from(self.spec.broken_markup);
        let mut page = Page { site: self, out: String::with_capacity(4096), broken };
        let canonical = self.spec.canonical_links.then(|| self.canonical(number));
        page.head(&self.title(number), canonical.as_deref());
        if !print {
            page.banner();
        }
        page.article(number, &self.main_text(number));
        page.list(&self.links(number, session));
        if !print {
            page.footer(target);
        }
        page.out
    }

    /// Returns a page with one paragraph and some links.
    pub(super) fn plain_page(
        self,
        title: &str,
        text: &str,
        links: &[Link],
        target: &str,
    ) -> String {
        let mut page = Page { site: self, out: String::with_capacity(1024), broken: false };
        page.head(title, None);
        page.banner();
        page.paragraph(text);
        page.list(links);
        page.footer(target);
        page.out
    }

    /// Returns a month of the calendar, which says nothing.
    pub(super) fn calendar_page(self, months: u32, target: &str) -> String {
        let named = |months: u32| format!("{}-{:02}", months / 12, months % 12 + 1);
        let neighbours = [months.checked_sub(1), Some(months + 1)];
        let link = |months: u32| Link::new(format!("/calendar/{}", named(months)), &named(months));
        let mut links: Vec<Link> = neighbours.into_iter().flatten().map(link).collect();
        links.push(Link::new("/".to_owned(), "Home"));
        let title = format!("Calendar {}", named(months));
        self.plain_page(&title, "No events in this month.", &links, target)
    }

    /// Returns a page whose relative link is one level deeper.
    pub(super) fn growing_page(self, target: &str) -> String {
        let links = [Link::new("more/".to_owned(), "More"), Link::new("/".to_owned(), "Home")];
        self.plain_page("More", "There is more to read below.", &links, target)
    }

    /// Returns a document's text in the part of the site whose every link has a new session.
    pub(super) fn session_page(self, id: &str, number: u32, target: &str) -> String {
        let mut draw = Draw::new(hash(self.seed, id));
        let mut link = |to: u32| {
            let id = draw.next() & 0xffff_ffff;
            Link::new(format!("/s/{id:08x}/page-{to}"), &self.title(to))
        };
        let mut links: Vec<Link> = self.children(number).map(&mut link).collect();
        links.push(link(0));
        self.plain_page(&self.title(number), &self.main_text(number), &links, target)
    }

    /// Returns a page of tabs, a table and a text.
    pub(super) fn listing_page(
        self,
        title: &str,
        tabs: &[Link],
        rows: &[Vec<Cell>],
        texts: &[String],
        target: &str,
    ) -> String {
        let mut page = Page { site: self, out: String::with_capacity(4096), broken: false };
        page.head(title, None);
        page.banner();
        page.list(tabs);
        page.out.push_str("<table>\n");
        for row in rows {
            page.out.push_str("<tr>");
            for Cell { text, href } in row {
                let _ = match href {
                    Some(href) => {
                        write!(page.out, "<td><a href=\"{}\">{text}</a></td>", escaped(href))
                    }
                    None => write!(page.out, "<td>{text}</td>"),
                };
            }
            page.out.push_str("</tr>\n");
        }
        page.out.push_str("</table>\n");
        texts.iter().for_each(|text| page.paragraph(text));
        page.footer(target);
        page.out
    }

    /// Returns one choice of the shop: a quarter of its goods, as if by some order and filter.
    pub(super) fn facets_page(self, choice: u32, target: &str) -> String {
        let mut draw = Draw::new(mix(self.seed, hash(24, "choice") ^ u64::from(choice)));
        let mut goods: Vec<u32> = (0..60).collect();
        for at in 0..20 {
            goods.swap(at, at + draw.below(60 - at as u64) as usize);
        }
        let shown = 10 + draw.below(10) as usize;
        let said = |good: &u32| {
            let mut text = String::new();
            let mut draw = Draw::new(mix(self.seed, hash(25, "good") ^ u64::from(*good)));
            push_paragraph(&mut text, &mut draw, 9);
            vec![Cell::new(text)]
        };
        let rows: Vec<Vec<Cell>> = goods[..shown].iter().map(said).collect();
        let mut link = |_| Link::new(format!("/shop?choice={}", draw.below(1 << 30)), "choose");
        let links: Vec<Link> = (0..4).map(&mut link).collect();
        self.listing_page("Shop", &links, &rows, &[], target)
    }

    /// Returns one of twenty texts, a few words of which are others under each path.
    pub(super) fn edited_page(self, number: u32, target: &str) -> String {
        let mut text = self.own_text(number % 20);
        self.edit(&mut text, number);
        let mut draw = Draw::new(mix(self.seed, hash(26, "told") ^ u64::from(number)));
        let mut link = |_| Link::new(format!("/told/{}", draw.below(1 << 30)), "told again");
        let links: Vec<Link> = (0..4).map(&mut link).collect();
        let texts: Vec<String> = text.split('\n').map(str::to_owned).collect();
        self.listing_page("Told", &links, &[], &texts, target)
    }

    /// Returns one of the lists; the first [`LISTS`] are too short to be told from each other. Each
    /// column can be made the first one to sort by, up or down; the two before it are kept.
    pub(super) fn sorted_page(self, list: u32, order: &str, target: &str) -> String {
        let length = if list < LISTS { 2 } else { 30 };
        let said = |row: u32| {
            let mut draw =
                Draw::new(mix(self.seed, hash(27, "hours") ^ u64::from(list * 64 + row)));
            let mut text = String::new();
            push_paragraph(&mut text, &mut draw, 6);
            vec![Cell::new(text)]
        };
        let mut rows: Vec<u32> = (0..length).collect();
        rows.sort_by_key(|row| mix(hash(28, order), u64::from(*row)));
        let rows: Vec<Vec<Cell>> = rows.into_iter().map(said).collect();
        let by = ["date", "who", "what", "task", "note", "hours"].into_iter();
        let by = by.flat_map(|column| [column.to_owned(), format!("{column}:desc")]);
        let mut tabs: Vec<Link> = by
            .map(|by| {
                let name = |by: &str| by.trim_end_matches(":desc").to_owned();
                let before = order.split(',').filter(|b| !b.is_empty() && name(b) != name(&by));
                let keys: Vec<&str> = std::iter::once(&*by).chain(before.take(2)).collect();
                Link::new(format!("{}?sort={}", list_path(list), keys.join(",")), "sort")
            })
            .collect();
        if !(list + 1).is_multiple_of(LISTS) {
            tabs.push(first_list(list + 1));
        }
        self.listing_page(&format!("Hours {list}"), &tabs, &rows, &[], target)
    }

    /// Returns a page that asks for restraint, or one that only such pages link to.
    pub(super) fn quiet_page(self, quiet: Quiet, target: &str) -> String {
        let onward = |number: u32| [Link::new(format!("/quiet/page-{number}"), "Onward")];
        match quiet {
            Quiet::Meta => {
                let page = self.plain_page("Quiet", "Please pass by.", &onward(1), target);
                let meta = "<meta name=\"robots\" content=\"nofollow, noarchive\">\n<title>";
                page.replacen("<title>", meta, 1)
            }
            Quiet::Header => self.plain_page("Quiet", "Please pass by.", &onward(2), target),
            Quiet::Behind(_) => self.plain_page("Behind", "Nobody should be here.", &[], target),
        }
    }

    /// Returns an RSS feed of the first documents.
    pub(super) fn feed(self) -> String {
        let origin = self.web.origin(&self.spec.name);
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        xml.push_str("<rss version=\"2.0\"><channel>\n");
        let _ = writeln!(xml, "<title>{}</title><link>{origin}/</link>", self.title(0));
        for number in 0..self.spec.pages.min(FEED_ITEMS) {
            let path = escaped(&self.canonical(number));
            let title = self.title(number);
            let _ = writeln!(xml, "<item><title>{title}</title><link>{origin}{path}</link></item>");
        }
        xml.push_str("</channel></rss>\n");
        xml
    }

    /// Returns an error page: the same words for every path.
    pub(super) fn error_page(self, status: u16, target: &str) -> String {
        let home = [Link::new("/".to_owned(), "Home")];
        let text = "Sorry, we could not find what you asked for. It may have moved or never been.";
        match status {
            200 => self.plain_page("Not here", text, &home, target),
            _ => self.plain_page(&format!("Error {status}"), text, &home, target),
        }
    }

    /// Returns a page of many links and `bytes` bytes or a little more.
    pub(super) fn huge_page(self) -> String {
        let bytes = usize::try_from(self.spec.huge_bytes).unwrap_or(usize::MAX);
        let mut page = Page { site: self, out: String::with_capacity(bytes + 4096), broken: false };
        page.head("Everything", None);
        let mut number = 0;
        while page.out.len() < bytes {
            let to = number % self.spec.pages;
            let _ = write!(page.out, "<p><a href=\"{}\">", escaped(&self.canonical(to)));
            push_paragraph(&mut page.out, &mut Draw::new(mix(self.seed, number.into())), 60);
            page.out.push_str("</a></p>\n");
            number += 1;
        }
        page.out.push_str("</body></html>\n");
        page.out
    }

    /// Returns the style sheet, which needs an image.
    pub(super) fn style_sheet(self) -> String {
        "body { margin: 2em; font-family: serif }\n\
         header { background: url(image-0.png) }\n"
            .to_owned()
    }
}

struct Page<'w> {
    site: Site<'w>,
    out: String,
    broken: bool,
}

impl Page<'_> {
    fn head(&mut self, title: &str, canonical: Option<&str>) {
        self.out.push_str("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n");
        let charset = &self.site.spec.charset;
        if charset.in_page {
            let label = charset.encoding.name().to_ascii_lowercase();
            let _ = writeln!(self.out, "<meta charset=\"{label}\">");
        }
        let _ = write!(self.out, "<title>{title}");
        self.out.push_str("</title>\n");
        if let Some(path) = canonical {
            let origin = self.site.web.origin(&self.site.spec.name);
            let _ =
                writeln!(self.out, "<link rel=\"canonical\" href=\"{origin}{}\">", escaped(path));
        }
        if self.site.spec.feed {
            let kind = "rel=\"alternate\" type=\"application/rss+xml\"";
            let _ = writeln!(self.out, "<link {kind} href=\"/feed.xml\">");
        }
        if self.site.spec.assets {
            self.out.push_str("<link rel=\"stylesheet\" href=\"/static/site.css\">\n");
        }
        self.out.push_str(if self.broken { "<body>\n" } else { "</head>\n<body>\n" });
    }

    fn banner(&mut self) {
        let site = self.site;
        let _ = write!(self.out, "<header><p>{} | ", site.spec.name);
        let mut draw = Draw::new(mix(site.seed, hash(9, "banner")));
        let mut words = String::new();
        push_paragraph(&mut words, &mut draw, u64::from(site.spec.boilerplate_words / 2));
        self.out.push_str(&site.spoken(words));
        self.out.push_str("</p></header>\n");
    }

    fn article(&mut self, number: u32, text: &str) {
        self.out.push_str("<main>\n<article>\n");
        let _ = writeln!(self.out, "<h1>{}</h1>", self.site.title(number));
        if self.site.spec.assets {
            let image = number % IMAGES;
            let _ = match self.broken {
                true => writeln!(self.out, "<img src=/static/image-{image}.png alt=picture>"),
                false => {
                    writeln!(self.out, "<img src=\"/static/image-{image}.png\" alt=\"picture\">")
                }
            };
        }
        for paragraph in text.split('\n') {
            self.paragraph(paragraph);
        }
        // What is never closed holds the footer too, as in a browser.
        self.out.push_str(if self.broken { "</b></div>\n" } else { "</article>\n</main>\n" });
    }

    fn paragraph(&mut self, text: &str) {
        self.out.push_str("<p>");
        self.out.push_str(text);
        self.out.push_str(if self.broken { "<b>\n" } else { "</p>\n" });
    }

    fn list(&mut self, links: &[Link]) {
        self.out.push_str("<nav>\n<ul>\n");
        for link in links {
            let rel = if link.nofollow { " rel=\"nofollow\"" } else { "" };
            let _ = match self.broken {
                // An ampersand of its own and no closing tags: wrong, frequent, and understood by
                // every browser.
                true => writeln!(self.out, "<li><A HREF='{}'{rel}>{}", link.href, link.text),
                false => writeln!(
                    self.out,
                    "<li><a href=\"{}\"{rel}>{}</a></li>",
                    escaped(&link.href),
                    link.text
                ),
            };
        }
        self.out.push_str("</ul>\n</nav>\n");
    }

    fn footer(&mut self, target: &str) {
        let site = self.site;
        self.out.push_str("<footer><p>");
        let mut draw = Draw::new(mix(site.seed, hash(10, "footer")));
        let mut words = String::new();
        push_paragraph(&mut words, &mut draw, site.spec.boilerplate_words.div_ceil(2).into());
        self.out.push_str(&site.spoken(words));
        self.out.push_str("</p>\n");
        if site.spec.volatile_line {
            let visits = hash(site.seed, target);
            let _ = writeln!(
                self.out,
                "<p>Visitor {} today, greetings to {}</p>",
                visits % 100_000,
                word(visits)
            );
        }
        self.out.push_str("</footer>\n</body>\n</html>\n");
    }
}

fn escaped(href: &str) -> String {
    href.replace('&', "&amp;")
}
