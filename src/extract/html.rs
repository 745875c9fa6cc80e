//! Reads HTML once, front to back, for everything that is wanted of it.

use std::borrow::Cow;

use encoding_rs::Encoding;

use super::attributes::Attributes;
use super::css;
use super::element::{Nest, Open, Shape, Stack, path, region_of_role};
use super::facts::{Extracted, Region};
use super::forms::Forms;
use super::links::{References, resolve};
use super::page_links::{Namespace, collect, directs_robots};
use super::settings::Settings;
use super::text::{Blocks, Place, append_folded, cut};
use super::tokens::{TextKind, Token, Tokens};

/// Open elements whose end tags are told apart by their names; of those deeper down only the number
/// is known.
const NAMES_MAX: usize = 4096;

/// Adds what an HTML document says to `facts` and `references`, and returns its forms.
pub(super) fn read(
    document: &str,
    encoding: &'static Encoding,
    settings: &Settings,
    facts: &mut Extracted,
    references: &mut References,
) -> Forms {
    let mut reader = Reader {
        encoding,
        settings,
        facts,
        references,
        stack: Stack::new(settings.depth_max),
        names: Vec::new(),
        deeper: 0,
        attributes: Attributes::default(),
        blocks: Blocks::new(settings),
        forms: Forms::default(),
        raw: Raw::None,
        style: String::new(),
        title: None,
        has_base: false,
        path_buffer: Vec::new(),
    };
    let mut tokens = Tokens::new(document);
    while let Some(token) = tokens.next(&mut reader.attributes.found) {
        match token {
            Token::Start { name, namespace, has_content } => {
                reader.element(name, namespace, has_content);
            }
            Token::End(name) => reader.end(name),
            Token::Text(text, kind) => reader.text(text, kind),
        }
    }
    reader.finish()
}

/// The element whose content is characters, not markup.
#[derive(Clone, Copy, PartialEq)]
enum Raw {
    None,
    Title,
    Textarea,
    Style,
    Shown,
}

/// What has been read so far.
struct Reader<'d, 'f> {
    encoding: &'static Encoding,
    settings: &'f Settings,
    facts: &'f mut Extracted,
    references: &'f mut References,
    stack: Stack,
    /// Names of all open elements, and the serials of those that are on the stack.
    names: Vec<(&'d str, Option<u32>)>,
    /// Open elements beyond [`NAMES_MAX`].
    deeper: u32,
    attributes: Attributes<'d>,
    blocks: Blocks,
    forms: Forms,
    raw: Raw,
    style: String,
    title: Option<String>,
    has_base: bool,
    path_buffer: Vec<u8>,
}

impl<'d> Reader<'d, '_> {
    fn element(&mut self, written: &'d str, namespace: Namespace, has_content: bool) {
        let name = lower_case(written);
        // The tokens count `title` and `desc` in SVG among HTML, as their content is.
        let in_svg = self.stack.top().svg;
        let namespace = match namespace {
            Namespace::Html if in_svg && matches!(&*name, "title" | "desc") => Namespace::Svg,
            namespace => namespace,
        };
        let shape = match namespace {
            Namespace::Html if in_svg && name == "foreignobject" => Shape::of_foreign(&name),
            Namespace::Html => Shape::of(&name),
            Namespace::Svg | Namespace::MathMl => Shape::of_foreign(&name),
        };
        self.begin_block(&name, namespace, shape);
        let parent = self.stack.top();
        let label = if parent.inert { None } else { self.facts_of(namespace, &name) };
        self.raw = match (namespace, &*name) {
            (Namespace::Html, "title") => Raw::Title,
            (Namespace::Html, "textarea") => Raw::Textarea,
            (Namespace::Html, "style") => Raw::Style,
            (Namespace::Html, "xmp" | "plaintext") => Raw::Shown,
            _ => Raw::None,
        };
        if !has_content {
            return;
        }
        let serial = self.open(namespace, &name, shape, label);
        if self.names.len() < NAMES_MAX {
            self.names.push((written, serial));
        } else {
            self.deeper = self.deeper.saturating_add(1);
        }
    }

    /// Closes the innermost element of this name, and what is open within it.
    fn end(&mut self, name: &str) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        let is_it = |(other, _): &(&str, _)| name.eq_ignore_ascii_case(other);
        let Some(at) = self.names.iter().rposition(is_it) else { return };
        let serials = self.names.drain(at..).filter_map(|(_, serial)| serial);
        // The outermost that is still open closes the others.
        let depth = serials.filter_map(|serial| self.stack.depth_of(serial)).min();
        if let Some(depth) = depth {
            self.close_from(depth);
        }
    }

    /// Ends what this start tag ends: elements that have no end tags, the text before it, a link.
    fn begin_block(&mut self, name: &str, namespace: Namespace, shape: Shape) {
        if namespace == Namespace::Html {
            if let Some(depth) = self.stack.implied_end(shape.nest) {
                self.close_from(depth);
            }
            match name {
                "br" => self.blocks.line_break(self.stack.top().place),
                "a" if !self.stack.top().inert => self.stack.end_link(),
                _ => {}
            }
        }
        if shape.block.is_some() {
            self.blocks.end(self.stack.top().place);
        }
    }

    /// Opens an element, if it matters to what is inside; returns its serial then.
    fn open(
        &mut self,
        namespace: Namespace,
        name: &str,
        shape: Shape,
        label: Option<u32>,
    ) -> Option<u32> {
        let parent = self.stack.top();
        let hidden = shape.hidden || self.is_hidden(name);
        let role = self.attributes.filled("role").and_then(|role| region_of_role(&role));
        let matters = shape.nest != Nest::Inline
            || shape.block.is_some()
            || hidden
            || label.is_some()
            || role.is_some();
        if !matters {
            return None;
        }
        let is_html = namespace == Namespace::Html;
        let open = Open {
            serial: 0,
            nest: shape.nest,
            is_block: shape.block.is_some(),
            is_form: is_html && name == "form",
            hidden: parent.hidden || hidden,
            inert: parent.inert || (is_html && name == "template"),
            svg: match name {
                "svg" => true,
                "foreignobject" | "title" | "desc" => false,
                _ => parent.svg,
            },
            link: label.or(parent.link),
            place: self.place(parent.place, name, shape, role),
        };
        self.stack.push(open)
    }

    fn place(&mut self, parent: Place, name: &str, shape: Shape, role: Option<Region>) -> Place {
        // The header and footer of an article or aside belong to it, not to the page.
        let by_name = shape.region.filter(|region| {
            !matches!(region, Region::Header | Region::Footer)
                || !matches!(
                    parent.region,
                    Region::Main | Region::Article | Region::Aside | Region::Nav
                )
        });
        let region = role.or(by_name).unwrap_or(parent.region);
        match shape.block {
            None => Place { region, ..parent },
            Some(tag) => {
                let class = self.attributes.get("class").unwrap_or_default();
                let id = self.attributes.get("id").unwrap_or_default();
                let path = path(parent.path, name, &class, &id, &mut self.path_buffer);
                Place { path, tag, region }
            }
        }
    }

    fn is_hidden(&self, name: &str) -> bool {
        if self.attributes.has("hidden") {
            return !self.attributes.is("hidden", "until-found");
        }
        if name == "dialog" && !self.attributes.has("open") {
            return true;
        }
        self.attributes.get("style").is_some_and(|style| {
            let mut declarations = style.split(';').filter_map(|part| part.split_once(':'));
            declarations.any(|(property, value)| {
                let value = value.trim_ascii();
                let is = |p: &str, v: &str| {
                    property.trim_ascii().eq_ignore_ascii_case(p)
                        && value.get(..v.len()).is_some_and(|head| head.eq_ignore_ascii_case(v))
                };
                is("display", "none") || is("visibility", "hidden")
            })
        })
    }

    /// Takes down what a start tag says; returns the reference that its content labels.
    fn facts_of(&mut self, namespace: Namespace, name: &str) -> Option<u32> {
        if namespace == Namespace::Html {
            match name {
                "html" => self.language(),
                "base" => self.base(),
                "meta" => self.directive(),
                "form" | "input" | "select" | "option" | "textarea" => {
                    let asks = name == "input" && self.attributes.is("type", "password");
                    self.facts.password_field |= asks;
                    self.forms.start(name, &self.attributes, self.settings);
                }
                "img" => self.label_by_image(),
                _ => {}
            }
        }
        collect(namespace, name, &self.attributes, self.references)
    }

    fn language(&mut self) {
        if self.facts.lang.is_none() {
            let lang = self.attributes.filled("lang");
            self.facts.lang =
                lang.map(|lang| cut(lang.trim_ascii(), self.settings.label_max).to_owned());
        }
    }

    /// Only the first `base` with a `href` counts, even if that cannot be used.
    fn base(&mut self) {
        if let Some(href) = self.attributes.get("href").filter(|_| !self.has_base) {
            self.has_base = true;
            let max = self.settings.url_length_max;
            if let Ok(base) = resolve(&self.facts.base, &href, self.encoding, max) {
                self.facts.base = base;
            }
        }
    }

    fn directive(&mut self) {
        let (Some(name), Some(content)) =
            (self.attributes.filled("name"), self.attributes.get("content"))
        else {
            return;
        };
        let name = name.trim_ascii().to_ascii_lowercase();
        let directives = &mut self.facts.meta_robots;
        if directs_robots(&name, &content) && directives.len() < self.settings.directives_max {
            let max = self.settings.label_max;
            directives.push((cut(&name, max).to_owned(), cut(&content, max).to_owned()));
        }
    }

    /// A link around nothing but an image is labelled by its description.
    fn label_by_image(&mut self) {
        let Some(link) = self.stack.top().link else { return };
        if let Some(alt) = self.attributes.filled("alt") {
            self.label(link, &alt);
        }
    }

    fn label(&mut self, link: u32, text: &str) {
        if let Some(label) = self.references.text_mut(link) {
            append_folded(label, text, self.settings.label_max);
        }
    }

    fn text(&mut self, text: &str, kind: TextKind) {
        match (kind, self.raw) {
            (TextKind::Data, _) => self.shown(&characters(text)),
            (TextKind::Plain, _) => self.shown(text),
            (TextKind::RcData, Raw::Title) => {
                self.title(&characters(text));
                self.end_title();
            }
            (TextKind::RcData, _) => self.shown(&characters(text)),
            (TextKind::Raw, Raw::Style) => {
                self.style.push_str(text);
                self.style_sheet();
            }
            (TextKind::Raw, Raw::Shown) => self.shown(text),
            (TextKind::Raw | TextKind::Script, _) => {}
        }
    }

    fn shown(&mut self, text: &str) {
        let top = self.stack.top();
        if text.is_empty() || top.inert {
            return;
        }
        self.forms.text(text, self.settings);
        if top.hidden {
            return;
        }
        if let Some(link) = top.link {
            self.label(link, text);
        }
        self.blocks.push(text, top.link.is_some());
    }

    /// Only the first title counts, and none in a template.
    fn title(&mut self, text: &str) {
        if !self.stack.top().inert && self.facts.title.is_none() {
            let title = self.title.get_or_insert_default();
            append_folded(title, text, self.settings.label_max);
        }
    }

    fn end_title(&mut self) {
        if let Some(title) = self.title.take() {
            self.facts.title = Some(title.trim_ascii_end().to_owned());
        }
    }

    fn style_sheet(&mut self) {
        let style = std::mem::take(&mut self.style);
        if !self.stack.top().inert {
            let references = &mut *self.references;
            css::references(&style, &mut |kind, url| _ = references.add(kind, url, false));
        }
    }

    fn close_from(&mut self, depth: usize) {
        let closing = self.stack.from(depth);
        let is_block = closing.iter().any(|open| open.is_block);
        let is_form = closing.iter().any(|open| open.is_form);
        if is_block {
            self.blocks.end(self.stack.top().place);
        }
        if is_form {
            self.forms.end(self.settings);
        }
        self.stack.truncate(depth);
    }

    fn finish(mut self) -> Forms {
        self.blocks.end(self.stack.top().place);
        (self.facts.blocks, self.facts.truncated_text) = self.blocks.finish();
        self.forms
    }
}

fn lower_case(name: &str) -> Cow<'_, str> {
    if name.bytes().any(|b| b.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

/// Decodes the character references of text; null characters are dropped, as parsers do.
fn characters(text: &str) -> Cow<'_, str> {
    let has = |byte: u8, text: &str| memchr::memchr(byte, text.as_bytes()).is_some();
    let text = if has(b'&', text) { htmlize::unescape(text) } else { Cow::Borrowed(text) };
    if has(0, &text) { Cow::Owned(text.replace('\0', "")) } else { text }
}
