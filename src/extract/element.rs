//! What the elements of HTML mean for text and nesting, and the stack of those that are open.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::facts::{BlockTag, Region};
use super::page_links::Namespace;
use super::text::Place;

/// How far down the stack an implied end is looked for.
const IMPLIED_WITHIN: usize = 32;

/// How an element nests: what it ends without an end tag, and what it shields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nest {
    Inline,
    Block,
    Paragraph,
    Heading,
    Item,
    Definition,
    Choice,
    Row,
    Cell,
    RowGroup,
    List,
    DefinitionList,
    Table,
    /// Ends of outer elements are not implied across it.
    Barrier,
}

/// What an element is by its name alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) nest: Nest,
    /// The kind of text block it begins, if it is block-level.
    pub(super) block: Option<BlockTag>,
    /// Its content is never shown.
    pub(super) hidden: bool,
    pub(super) region: Option<Region>,
}

impl Shape {
    const INLINE: Shape = Shape { nest: Nest::Inline, block: None, hidden: false, region: None };

    /// Holds ends of outer elements back and is nothing else.
    pub(super) const BARRIER: Shape = Shape { nest: Nest::Barrier, ..Shape::INLINE };

    const fn block(nest: Nest, tag: BlockTag) -> Self {
        Shape { nest, block: Some(tag), hidden: false, region: None }
    }

    const fn region(region: Region) -> Self {
        Shape { region: Some(region), ..Shape::block(Nest::Block, BlockTag::Other) }
    }

    const fn hidden() -> Self {
        Shape { nest: Nest::Barrier, block: None, hidden: true, region: None }
    }

    /// Looks up an element of HTML; `name` in lower case. Block-level are those that the standard
    /// style sheet shows so (WHATWG HTML §15.3).
    pub(super) fn of(name: &str) -> Self {
        match name {
            "a" | "b" | "i" | "em" | "span" | "strong" | "code" | "img" | "br" => Shape::INLINE,
            "div" | "html" | "body" | "center" | "section" | "address" | "details" | "dialog"
            | "fieldset" | "figure" | "hgroup" | "hr" | "frameset" | "plaintext" | "listing"
            | "xmp" | "optgroup" => Shape::block(Nest::Block, BlockTag::Other),
            "p" => Shape::block(Nest::Paragraph, BlockTag::Paragraph),
            "pre" | "blockquote" | "figcaption" => Shape::block(Nest::Block, BlockTag::Paragraph),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                Shape::block(Nest::Heading, BlockTag::Heading)
            }
            "legend" | "summary" => Shape::block(Nest::Block, BlockTag::Heading),
            "caption" => Shape::block(Nest::Barrier, BlockTag::Heading),
            "li" => Shape::block(Nest::Item, BlockTag::ListItem),
            "dt" | "dd" => Shape::block(Nest::Definition, BlockTag::ListItem),
            "option" => Shape::block(Nest::Choice, BlockTag::ListItem),
            "ul" | "ol" | "dir" => Shape::block(Nest::List, BlockTag::Other),
            "menu" => {
                Shape { region: Some(Region::Nav), ..Shape::block(Nest::List, BlockTag::Other) }
            }
            "dl" => Shape::block(Nest::DefinitionList, BlockTag::Other),
            "table" => Shape::block(Nest::Table, BlockTag::Other),
            "tr" => Shape::block(Nest::Row, BlockTag::Other),
            "td" | "th" => Shape::block(Nest::Cell, BlockTag::Cell),
            "thead" | "tbody" | "tfoot" => Shape::block(Nest::RowGroup, BlockTag::Other),
            "nav" => Shape::region(Region::Nav),
            "header" => Shape::region(Region::Header),
            "footer" => Shape::region(Region::Footer),
            "aside" => Shape::region(Region::Aside),
            "form" | "search" => Shape::region(Region::Form),
            "main" => Shape::region(Region::Main),
            "article" => Shape::region(Region::Article),
            "button" | "object" | "marquee" | "select" => Shape::BARRIER,
            "template" | "datalist" | "rp" | "video" | "audio" | "canvas" => Shape::hidden(),
            _ => Shape::INLINE,
        }
    }

    /// Looks up an element of SVG or MathML, or the root of one.
    pub(super) fn of_foreign(name: &str) -> Self {
        match name {
            "title" | "desc" | "metadata" | "style" | "script" => Shape::hidden(),
            "svg" | "math" | "foreignobject" => Shape::BARRIER,
            _ => Shape::INLINE,
        }
    }
}

/// Returns true for an element of HTML that never has content (WHATWG HTML §13.1.2, and those of
/// old pages in §13.2.6.4).
pub(super) fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "basefont"
            | "bgsound"
            | "br"
            | "col"
            | "embed"
            | "frame"
            | "hr"
            | "img"
            | "input"
            | "keygen"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
    )
}

/// Returns true for an element that is always one of HTML, and ends a drawing or a formula in which
/// it is found (WHATWG HTML §13.2.6.5).
pub(super) fn breaks_out(name: &str) -> bool {
    matches!(
        name,
        "b" | "big"
            | "blockquote"
            | "body"
            | "br"
            | "center"
            | "code"
            | "dd"
            | "div"
            | "dl"
            | "dt"
            | "em"
            | "embed"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "head"
            | "hr"
            | "i"
            | "img"
            | "li"
            | "listing"
            | "menu"
            | "meta"
            | "nobr"
            | "ol"
            | "p"
            | "pre"
            | "ruby"
            | "s"
            | "small"
            | "span"
            | "strong"
            | "strike"
            | "sub"
            | "sup"
            | "table"
            | "tt"
            | "u"
            | "ul"
            | "var"
    )
}

/// Returns a number by which an element knows its end tag.
pub(super) fn number_of(name: &str) -> u64 {
    xxh3_64_with_seed(name.as_bytes(), 0)
}

/// Returns the region that an ARIA role names.
pub(super) fn region_of_role(role: &str) -> Option<Region> {
    match role.split_ascii_whitespace().next()?.to_ascii_lowercase().as_str() {
        "navigation" | "menu" | "menubar" => Some(Region::Nav),
        "banner" => Some(Region::Header),
        "contentinfo" => Some(Region::Footer),
        "complementary" => Some(Region::Aside),
        "form" | "search" => Some(Region::Form),
        "main" => Some(Region::Main),
        "article" => Some(Region::Article),
        _ => None,
    }
}

/// An open element, with what it hands down to its content.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// Its name ([`number_of`]).
    pub(super) name: u64,
    pub(super) nest: Nest,
    pub(super) is_block: bool,
    pub(super) is_form: bool,
    /// Nothing inside is shown.
    pub(super) hidden: bool,
    /// Inside `template`: nothing inside exists yet.
    pub(super) inert: bool,
    /// The vocabulary of what is inside.
    pub(super) content: Namespace,
    /// The reference whose anchor text this is.
    pub(super) link: Option<u32>,
    pub(super) place: Place,
}

/// The open elements that matter, outermost first; never empty, of bounded depth.
pub(super) struct Stack {
    open: Vec<Open>,
    depth_max: usize,
    /// Elements that are open beyond the bound.
    beyond: u32,
}

impl Stack {
    pub(super) fn new(depth_max: usize) -> Self {
        let root = Open {
            name: 0,
            nest: Nest::Barrier,
            is_block: true,
            is_form: false,
            hidden: false,
            inert: false,
            content: Namespace::Html,
            link: None,
            place: Place { path: 0, tag: BlockTag::Other, region: Region::None },
        };
        Stack { open: vec![root], depth_max: depth_max.max(1), beyond: 0 }
    }

    /// Returns the innermost element.
    pub(super) fn top(&self) -> Open {
        self.open[self.open.len() - 1]
    }

    /// Opens an element, which is only counted at the bound of depth.
    pub(super) fn push(&mut self, element: Open) {
        if self.open.len() > self.depth_max {
            self.beyond = self.beyond.saturating_add(1);
        } else {
            self.open.push(element);
        }
    }

    /// Returns the depth from which the end tag of an element of this shape closes, if it closes
    /// any: of a cell or a table no tag ends what is around it but one of a table
    /// (WHATWG HTML §13.2.4.2, in short).
    pub(super) fn ended_by(&mut self, name: &str, shape: Shape) -> Option<usize> {
        if self.beyond > 0 && (shape.nest != Nest::Inline || shape.block.is_some()) {
            self.beyond -= 1;
            return None;
        }
        let number = number_of(name);
        for (depth, open) in self.open.iter().enumerate().skip(1).rev() {
            if open.name == number {
                return Some(depth);
            }
            let shields = match shape.nest {
                Nest::Table | Nest::Barrier => false,
                Nest::Row | Nest::RowGroup | Nest::Cell => open.nest == Nest::Table,
                _ => matches!(open.nest, Nest::Cell | Nest::Table | Nest::Barrier),
            };
            if shields {
                return None;
            }
        }
        None
    }

    /// Returns the depth of the drawing or formula that is open.
    pub(super) fn foreign(&self) -> usize {
        let is_html = |open: &Open| open.content == Namespace::Html;
        self.open.iter().rposition(is_html).map_or(1, |html| html + 1)
    }

    /// Returns the elements from `depth` on.
    pub(super) fn from(&self, depth: usize) -> &[Open] {
        &self.open[depth..]
    }

    /// Closes all elements from `depth` on.
    pub(super) fn truncate(&mut self, depth: usize) {
        self.open.truncate(depth.max(1));
    }

    /// Ends an open link without closing what it contains: links do not nest.
    pub(super) fn end_link(&mut self) {
        for open in self.open.iter_mut().rev().take_while(|open| open.link.is_some()) {
            open.link = None;
        }
    }

    /// Returns the depth from which a new element closes others without their end tags
    /// (WHATWG HTML §13.2.6.4.7, in short).
    pub(super) fn implied_end(&self, nest: Nest) -> Option<usize> {
        let inner_to_outer = || self.open.iter().enumerate().skip(1).rev().take(IMPLIED_WITHIN);
        let find = |same: Nest, shields: &[Nest]| {
            inner_to_outer()
                .take_while(|(_, open)| open.nest == same || !shields.contains(&open.nest))
                .find(|(_, open)| open.nest == same)
                .map(|(depth, _)| depth)
        };
        let innermost_block = |wanted: Nest| {
            let first = inner_to_outer().find(|(_, open)| open.nest != Nest::Inline);
            first.filter(|(_, open)| open.nest == wanted).map(|(depth, _)| depth)
        };
        use Nest::*;
        let implied = match nest {
            Inline | Barrier => return None,
            Item => find(Item, &[List, Table, Cell, Barrier]),
            Definition => find(Definition, &[DefinitionList, Table, Cell, Barrier]),
            Row => find(Row, &[Table, RowGroup, Barrier]),
            Cell => find(Cell, &[Row, Table, Barrier]),
            RowGroup => find(RowGroup, &[Table, Barrier]),
            Choice => innermost_block(Choice),
            Heading => innermost_block(Heading),
            _ => None,
        };
        implied.or_else(|| innermost_block(Paragraph))
    }
}

/// Extends the path of the parent by one element: its name, classes and id, each run of digits in
/// the latter two folded, so that `post-17` and `post-18` share it.
pub(super) fn path(parent: u64, name: &str, class: &str, id: &str, buffer: &mut Vec<u8>) -> u64 {
    buffer.clear();
    let mut in_digits = false;
    for (mark, part) in [(b'<', name), (b'.', class), (b'#', id)] {
        buffer.push(mark);
        for &byte in part.as_bytes() {
            let is_digit = byte.is_ascii_digit() && mark != b'<';
            if !(is_digit && in_digits) {
                buffer.push(if is_digit { b'0' } else { byte });
            }
            in_digits = is_digit;
        }
        in_digits = false;
    }
    xxh3_64_with_seed(buffer, parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_fold_digits_and_tell_classes_apart() {
        let mut buffer = Vec::new();
        let mut path = |name, class, id| path(7, name, class, id, &mut buffer);
        assert_eq!(path("div", "post", "p-17"), path("div", "post", "p-1234"));
        assert_ne!(path("h1", "", ""), path("h2", "", ""));
        assert_ne!(path("div", "a", ""), path("div", "", "a"));
        assert_ne!(path("div", "a", ""), path("div", "b", ""));
    }
}
