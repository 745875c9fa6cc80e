//! Reads HTML once, front to back, for everything that is wanted of it.

use std::convert::Infallible;

use encoding_rs::Encoding;
use html5gum::{Emitter, Error, State, Tokenizer};
use memchr::memchr;

use super::attributes::Attributes;
use super::css;
use super::element::{
    Nest, Open, Shape, Stack, breaks_out, is_void, number_of, path, region_of_role,
};
use super::facts::{Extracted, Region};
use super::forms::Forms;
use super::links::{References, resolve};
use super::page_links::{Namespace, collect, directs_all, directs_robots};
use super::settings::Settings;
use super::text::{Blocks, Place, append_folded, cut};

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
        attributes: Attributes::default(),
        blocks: Blocks::new(settings),
        forms: Forms::default(),
        raw: Raw::None,
        style: String::new(),
        title: None,
        has_base: false,
        boxes: 0,
        path_buffer: Vec::new(),
    };
    let Ok(()) = Tokenizer::new_with_emitter(document, Tokens::of(&mut reader)).finish();
    reader.finish()
}

/// Puts tokens together of what the tokenizer says, and hands them to the reader.
struct Tokens<'r, 'f> {
    reader: &'r mut Reader<'f>,
    /// Text since the last tag.
    text: Vec<u8>,
    name: Vec<u8>,
    is_end: bool,
    is_self_closing: bool,
    /// The name of the last start tag: nothing but its end tag ends a script.
    started: Vec<u8>,
}

impl<'r, 'f> Tokens<'r, 'f> {
    fn of(reader: &'r mut Reader<'f>) -> Self {
        let (text, name, started) = Default::default();
        Tokens { reader, text, name, is_end: false, is_self_closing: false, started }
    }

    fn begin_tag(&mut self, is_end: bool) {
        self.name.clear();
        self.reader.attributes.clear();
        self.is_end = is_end;
        self.is_self_closing = false;
    }

    fn end_text(&mut self) {
        if self.text.is_empty() {
            return;
        }
        // Null characters are dropped, as parsers do.
        if memchr(0, &self.text).is_some() {
            self.text.retain(|byte| *byte != 0);
        }
        // The document was text, which is only cut in front of ASCII.
        self.reader.text(std::str::from_utf8(&self.text).unwrap_or_default());
        self.text.clear();
    }
}

/// Errors of markup, comments and document types are passed over.
impl Emitter for Tokens<'_, '_> {
    type Token = Infallible;

    fn set_last_start_tag(&mut self, name: Option<&[u8]>) {
        self.started = name.unwrap_or_default().to_vec();
    }

    fn emit_eof(&mut self) {
        self.end_text();
    }

    fn emit_error(&mut self, _: Error) {}

    #[inline]
    fn should_emit_errors(&mut self) -> bool {
        false
    }

    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }

    fn emit_string(&mut self, text: &[u8]) {
        self.text.extend_from_slice(text);
    }

    fn init_start_tag(&mut self) {
        self.begin_tag(false);
    }

    fn init_end_tag(&mut self) {
        self.begin_tag(true);
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        self.end_text();
        if self.is_end {
            self.reader.end_tag(std::str::from_utf8(&self.name).unwrap_or_default());
            return None;
        }
        std::mem::swap(&mut self.started, &mut self.name);
        let name = std::str::from_utf8(&self.started).unwrap_or_default();
        self.reader.start_tag(name, self.is_self_closing)
    }

    fn set_self_closing(&mut self) {
        self.is_self_closing = true;
    }

    fn push_tag_name(&mut self, part: &[u8]) {
        self.name.extend_from_slice(part);
    }

    fn init_attribute(&mut self) {
        self.reader.attributes.begin();
    }

    fn push_attribute_name(&mut self, part: &[u8]) {
        self.reader.attributes.push_name(part);
    }

    fn push_attribute_value(&mut self, part: &[u8]) {
        self.reader.attributes.push_value(part);
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.is_end && !self.started.is_empty() && self.name == self.started
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.reader.stack.top().content != Namespace::Html
    }

    fn init_comment(&mut self) {}
    fn emit_current_comment(&mut self) {}
    fn push_comment(&mut self, _: &[u8]) {}
    fn init_doctype(&mut self) {}
    fn emit_current_doctype(&mut self) {}
    fn set_force_quirks(&mut self) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
}

/// The element whose content is characters, not markup.
#[derive(Clone, Copy, PartialEq)]
enum Raw {
    None,
    Title,
    Textarea,
    Style,
    Script,
    /// A document that stands in for this one where frames are unknown.
    Replacement,
    Xmp,
    Plaintext,
}

impl Raw {
    /// Returns what the content of an element of HTML is. Without scripts, that of `noscript` is
    /// markup.
    fn of(name: &str) -> Raw {
        match name {
            "title" => Raw::Title,
            "textarea" => Raw::Textarea,
            "style" => Raw::Style,
            "script" => Raw::Script,
            "iframe" | "noembed" | "noframes" => Raw::Replacement,
            "xmp" => Raw::Xmp,
            "plaintext" => Raw::Plaintext,
            _ => Raw::None,
        }
    }

    /// Returns how the tokenizer reads it (WHATWG HTML §13.2.6.2).
    fn state(self) -> Option<State> {
        match self {
            Raw::None => None,
            Raw::Title | Raw::Textarea => Some(State::RcData),
            Raw::Script => Some(State::ScriptData),
            Raw::Style | Raw::Replacement | Raw::Xmp => Some(State::RawText),
            Raw::Plaintext => Some(State::PlainText),
        }
    }
}

/// What has been read so far.
struct Reader<'f> {
    encoding: &'static Encoding,
    settings: &'f Settings,
    facts: &'f mut Extracted,
    references: &'f mut References,
    stack: Stack,
    /// Those of the present tag.
    attributes: Attributes,
    blocks: Blocks,
    forms: Forms,
    raw: Raw,
    style: String,
    title: Option<String>,
    has_base: bool,
    /// Boxes that can be checked, so far.
    boxes: u32,
    path_buffer: Vec<u8>,
}

impl Reader<'_> {
    /// Reads a start tag; returns how its content is to be read, where that is not markup.
    fn start_tag(&mut self, name: &str, is_self_closing: bool) -> Option<State> {
        let namespace = self.namespace_of(name);
        let is_html = namespace == Namespace::Html;
        let shape = match namespace {
            Namespace::Html if self.is_shadow_root(name) => Shape::BARRIER,
            Namespace::Html => Shape::of(name),
            Namespace::Svg | Namespace::MathMl => Shape::of_foreign(name),
        };
        self.begin_block(name, namespace, shape);
        let parent = self.stack.top();
        let label = if parent.inert { None } else { self.facts_of(namespace, name) };
        let has_content = if is_html { !is_void(name) } else { !is_self_closing };
        if has_content {
            self.open(namespace, name, shape, label);
        }
        self.raw = if is_html { Raw::of(name) } else { Raw::None };
        self.raw.state()
    }

    /// Returns the vocabulary that an element belongs to, once those are closed that it breaks out
    /// of.
    fn namespace_of(&mut self, name: &str) -> Namespace {
        match (self.stack.top().content, name) {
            (Namespace::Html, "svg") => Namespace::Svg,
            (Namespace::Html, "math") => Namespace::MathMl,
            (Namespace::Html, _) => Namespace::Html,
            (_, name) if breaks_out(name) || name == "font" && self.is_old_font() => {
                let depth = self.stack.foreign();
                self.close_from(depth);
                Namespace::Html
            }
            (namespace, _) => namespace,
        }
    }

    fn is_old_font(&self) -> bool {
        ["color", "face", "size"].iter().any(|name| self.attributes.has(name))
    }

    /// Returns the vocabulary of what is in an element.
    fn content_of(&self, namespace: Namespace, name: &str) -> Namespace {
        match (namespace, name) {
            (Namespace::Svg, "foreignobject" | "desc" | "title") => Namespace::Html,
            (Namespace::MathMl, "mi" | "mo" | "mn" | "ms" | "mtext") => Namespace::Html,
            (Namespace::MathMl, "annotation-xml")
                if self.attributes.is("encoding", "text/html")
                    || self.attributes.is("encoding", "application/xhtml+xml") =>
            {
                Namespace::Html
            }
            _ => namespace,
        }
    }

    /// Reads an end tag.
    fn end_tag(&mut self, name: &str) {
        match std::mem::replace(&mut self.raw, Raw::None) {
            Raw::Title => self.end_title(),
            Raw::Style => self.style_sheet(),
            _ => {}
        }
        let shape = match self.stack.top().content {
            Namespace::Html => Shape::of(name),
            Namespace::Svg | Namespace::MathMl => Shape::BARRIER,
        };
        match self.stack.ended_by(name, shape) {
            Some(depth) => self.close_from(depth),
            // A form that began outside of a table ends within as well.
            None if name == "form" => self.forms.end(self.settings),
            None => {}
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

    /// Opens an element, if it matters to what is inside.
    fn open(&mut self, namespace: Namespace, name: &str, shape: Shape, label: Option<u32>) {
        let parent = self.stack.top();
        let hidden = shape.hidden || self.is_hidden(name);
        let role = self.attributes.filled("role").and_then(region_of_role);
        let content = self.content_of(namespace, name);
        let matters = content != parent.content
            || shape.nest != Nest::Inline
            || shape.block.is_some()
            || hidden
            || label.is_some()
            || role.is_some();
        if !matters {
            return;
        }
        let is_html = namespace == Namespace::Html;
        let open = Open {
            name: number_of(name),
            nest: shape.nest,
            is_block: shape.block.is_some(),
            is_form: is_html && name == "form",
            hidden: parent.hidden || hidden,
            inert: parent.inert || (is_html && name == "template" && !self.is_shadow_root(name)),
            content,
            link: label.or(parent.link),
            place: self.place(parent.place, name, shape, role),
        };
        self.stack.push(open);
    }

    /// Tells whether a `template` is shown in its place, without a script (WHATWG HTML §4.12.3).
    fn is_shadow_root(&self, name: &str) -> bool {
        let is_mode = |mode| self.attributes.is("shadowrootmode", mode);
        name == "template" && (is_mode("open") || is_mode("closed"))
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
                let path = path(parent.path, name, class, id, &mut self.path_buffer);
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
                    if name == "input" {
                        self.field();
                    }
                }
                "img" => self.label_by_image(),
                _ => {}
            }
        }
        collect(namespace, name, &self.attributes, self.references)
    }

    /// Takes down what a field shows: a text, or that a box is checked. What somebody looks for, or
    /// is known by, is not what a page says.
    fn field(&mut self) {
        let kind = self.attributes.filled("type").unwrap_or("text").trim_ascii();
        let is_any = |kinds: &[&str]| kinds.iter().any(|one| kind.eq_ignore_ascii_case(one));
        let is_box = is_any(&["checkbox", "radio"]);
        self.boxes += u32::from(is_box);
        let buttons = ["submit", "button", "reset", "image"];
        let is_hidden = self.stack.top().hidden || self.is_hidden("input");
        if is_hidden || is_any(&["hidden", "password", "search", "file"]) {
            return;
        }
        let shown = match is_box {
            true if self.attributes.has("checked") => format!("checked{}", self.boxes),
            true => return,
            false if is_any(&buttons) => return,
            false => self.attributes.filled("value").unwrap_or_default().to_owned(),
        };
        let room = self.settings.text_max.as_len().saturating_sub(self.facts.fields.len());
        if !shown.is_empty() && shown.len() < room {
            self.facts.fields.push_str(&shown);
            self.facts.fields.push('\n');
        }
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
            if let Ok(base) = resolve(&self.facts.base, href, self.encoding, max) {
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
        if !directs_robots(&name, content) {
            return;
        }
        // However many robots a page names, what it says to all of them is heard.
        if directives.len() >= self.settings.directives_max
            && directs_all(&name)
            && let Some(at) = directives.iter().rposition(|(name, _)| !directs_all(name))
        {
            directives.remove(at);
        }
        if directives.len() < self.settings.directives_max {
            let max = self.settings.label_max;
            directives.push((cut(&name, max).to_owned(), cut(content, max).to_owned()));
        }
    }

    /// A link around nothing but an image is labelled by its description.
    fn label_by_image(&mut self) {
        let Some(link) = self.stack.top().link else { return };
        if let Some(alt) = self.attributes.filled("alt")
            && let Some(label) = self.references.text_mut(link)
        {
            append_folded(label, alt, self.settings.label_max);
        }
    }

    fn text(&mut self, text: &str) {
        match self.raw {
            Raw::Title => self.title(text),
            Raw::Style => self.style.push_str(text),
            Raw::Script | Raw::Replacement => {}
            Raw::None | Raw::Textarea | Raw::Xmp | Raw::Plaintext => self.shown(text),
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
        if let Some(label) = top.link.and_then(|link| self.references.text_mut(link)) {
            append_folded(label, text, self.settings.label_max);
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
        self.end_title();
        self.style_sheet();
        self.blocks.end(self.stack.top().place);
        (self.facts.blocks, self.facts.truncated_text) = self.blocks.finish();
        self.forms
    }
}
