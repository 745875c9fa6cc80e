//! Reads HTML once, front to back, for everything that is wanted of it.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use encoding_rs::Encoding;
use lol_html::html_content::{Element, TextChunk, TextType};
use lol_html::{
    DocumentContentHandlers, ElementContentHandlers, HtmlRewriter, MemorySettings, Selector,
};
use memchr::memchr2;

use super::attributes::Attributes;
use super::css;
use super::element::{Nest, Open, Shape, Stack, path, region_of_role};
use super::facts::{Extracted, Region};
use super::forms::Forms;
use super::links::{References, resolve};
use super::page_links::{Namespace, collect, directs_robots};
use super::settings::Settings;
use super::text::{Blocks, Place, append_folded, cut};

/// How often the tokenizer is started anew where its memory ran out, as it does in documents of a
/// hundred thousand nested elements.
const RESTARTS_MAX: u32 = 16;

static EVERY_ELEMENT: LazyLock<Selector> =
    LazyLock::new(|| "*".parse().expect("the universal selector is a selector"));

static NOSCRIPT: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(["<noscript", "</noscript"])
        .expect("two short words make a small automaton")
});

/// Adds what an HTML document says to `facts` and `references`, and returns its forms.
pub(super) fn read(
    document: &str,
    encoding: &'static Encoding,
    settings: &Settings,
    facts: &mut Extracted,
    references: &mut References,
) -> Forms {
    let document = with_scripts_off(document);
    let reader = RefCell::new(Reader {
        input: &document,
        reached: 0,
        encoding,
        settings,
        facts,
        references,
        stack: Stack::new(settings.depth_max),
        ended: Rc::default(),
        attributes: Attributes::default(),
        blocks: Blocks::new(settings),
        forms: Forms::default(),
        raw: Raw::None,
        style: String::new(),
        title: None,
        has_base: false,
        path_buffer: Vec::new(),
    });
    for restarts in 0..=RESTARTS_MAX {
        let input = reader.borrow().input;
        if let Err(problem) = tokenize(input, &reader, settings) {
            let mut reader = reader.borrow_mut();
            let reached = match std::mem::take(&mut reader.reached) {
                // One tag alone takes more memory than there is: it is passed over.
                0 => input.find('>').map_or(input.len(), |end| end + 1),
                reached => reached,
            };
            reader.input = &input[reached..];
            if restarts < RESTARTS_MAX && !reader.input.is_empty() {
                continue;
            }
            reader.facts.errors.push(format!("HTML was not read to its end: {problem}"));
        }
        break;
    }
    reader.into_inner().finish()
}

/// Renames `noscript`, whose content the tokenizer would take for text, as browsers do that run
/// scripts. Seen by one that does not, it is an element like any other.
fn with_scripts_off(document: &str) -> Cow<'_, str> {
    let mut renamed: Option<Vec<u8>> = None;
    for found in NOSCRIPT.find_iter(document) {
        let bytes = renamed.get_or_insert_with(|| document.as_bytes().to_vec());
        // Any name that means nothing does, as long as no byte changes its place.
        bytes[found.end() - "noscript".len()..found.end()].copy_from_slice(b"x-script");
    }
    match renamed.map(String::from_utf8) {
        Some(Ok(renamed)) => Cow::Owned(renamed),
        _ => Cow::Borrowed(document),
    }
}

fn tokenize(
    input: &str,
    reader: &RefCell<Reader<'_, '_>>,
    settings: &Settings,
) -> Result<(), lol_html::errors::RewritingError> {
    let memory = MemorySettings::new()
        .with_max_allowed_memory_usage(settings.parse_memory_max.as_len().max(1 << 20));
    let elements = ElementContentHandlers::default().element(|element: &mut Element<'_, '_>| {
        reader.borrow_mut().element(element);
        Ok(())
    });
    let text = DocumentContentHandlers::default().text(|chunk: &mut TextChunk<'_>| {
        reader.borrow_mut().text(chunk);
        Ok(())
    });
    let tokenizer_settings = lol_html::Settings::new()
        .append_element_content_handler((Cow::Borrowed(&*EVERY_ELEMENT), elements))
        .append_document_content_handler(text)
        .with_memory_settings(memory)
        .with_strict(false);
    let mut tokenizer = HtmlRewriter::new(tokenizer_settings, |_: &[u8]| {});
    tokenizer.write(input.as_bytes())?;
    tokenizer.end()
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
    /// What the tokenizer was given, and how much of it has come back.
    input: &'d str,
    reached: usize,
    encoding: &'static Encoding,
    settings: &'f Settings,
    facts: &'f mut Extracted,
    references: &'f mut References,
    stack: Stack,
    /// Serials of the elements whose end tags have come since the last token.
    ended: Rc<RefCell<Vec<u32>>>,
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
    fn element(&mut self, element: &mut Element<'_, '_>) {
        self.close_ended();
        let tag = element.source_location().bytes();
        self.reached = tag.end;
        let name = tag_name(self.input.get(tag).unwrap_or_default());
        self.attributes.fill(self.input, element);
        // The tokenizer counts `title` and `desc` in SVG among HTML, as it does their content.
        let in_svg = self.stack.top().svg;
        let namespace = match Namespace::of(element.namespace_uri()) {
            Namespace::Html if in_svg && matches!(&*name, "title" | "desc") => Namespace::Svg,
            namespace => namespace,
        };
        let shape = match namespace {
            Namespace::Html if in_svg && name == "foreignobject" => Shape::of_foreign(&name),
            Namespace::Html if self.is_shadow_root(&name) => Shape::BARRIER,
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
        if element.can_have_content() {
            self.open(element, namespace, &name, shape, label);
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
    fn open(
        &mut self,
        element: &mut Element<'_, '_>,
        namespace: Namespace,
        name: &str,
        shape: Shape,
        label: Option<u32>,
    ) {
        let parent = self.stack.top();
        let hidden = shape.hidden || self.is_hidden(name);
        let role = self.attributes.filled("role").and_then(|role| region_of_role(&role));
        let matters = shape.nest != Nest::Inline
            || shape.block.is_some()
            || hidden
            || label.is_some()
            || role.is_some();
        if !matters {
            return;
        }
        let is_html = namespace == Namespace::Html;
        let open = Open {
            serial: 0,
            nest: shape.nest,
            is_block: shape.block.is_some(),
            is_form: is_html && name == "form",
            hidden: parent.hidden || hidden,
            inert: parent.inert || (is_html && name == "template" && !self.is_shadow_root(name)),
            svg: match name {
                "svg" => true,
                "foreignobject" | "title" | "desc" => false,
                _ => parent.svg,
            },
            link: label.or(parent.link),
            place: self.place(parent.place, name, shape, role),
        };
        if let Some(serial) = self.stack.push(open) {
            let ended = Rc::clone(&self.ended);
            // Every element here can have content, the only thing that this asks for.
            let _ = element.on_end_tag(Box::new(move |_| {
                ended.borrow_mut().push(serial);
                Ok(())
            }));
        }
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

    fn text(&mut self, chunk: &mut TextChunk<'_>) {
        self.close_ended();
        self.reached = chunk.source_location().bytes().end;
        let text = chunk.as_str();
        match (chunk.text_type(), self.raw) {
            (TextType::Data, _) => self.shown(&characters(text)),
            (TextType::CDataSection | TextType::PlainText, _) => self.shown(text),
            (TextType::RCData, Raw::Title) => {
                self.title(&characters(text));
                if chunk.last_in_text_node() {
                    self.end_title();
                }
            }
            (TextType::RCData, _) => self.shown(&characters(text)),
            (TextType::RawText, Raw::Style) => {
                self.style.push_str(text);
                if chunk.last_in_text_node() {
                    self.style_sheet();
                }
            }
            (TextType::RawText, Raw::Shown) => self.shown(text),
            (TextType::RawText | TextType::ScriptData, _) => {}
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

    /// Closes the elements whose end tags have come.
    fn close_ended(&mut self) {
        if self.ended.borrow().is_empty() {
            return;
        }
        let mut ended = std::mem::take(&mut *self.ended.borrow_mut());
        for serial in ended.drain(..) {
            if let Some(depth) = self.stack.depth_of(serial) {
                self.close_from(depth);
            }
        }
        *self.ended.borrow_mut() = ended;
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
        self.close_ended();
        self.end_title();
        self.style_sheet();
        self.blocks.end(self.stack.top().place);
        (self.facts.blocks, self.facts.truncated_text) = self.blocks.finish();
        self.forms
    }
}

/// Returns the name in a start tag, in lower case.
pub(super) fn tag_name(tag: &str) -> Cow<'_, str> {
    let name = tag.strip_prefix('<').unwrap_or(tag);
    let is_end = |b: u8| matches!(b, b'\t' | b'\n' | 0x0C | b'\r' | b' ' | b'/' | b'>');
    let end = name.bytes().position(is_end).unwrap_or(name.len());
    let name = &name[..end];
    if name.bytes().any(|b| b.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    }
}

/// Decodes the character references of text; null characters are dropped, as parsers do.
fn characters(text: &str) -> Cow<'_, str> {
    // Both are rare, and one search for two bytes costs a third of two for characters.
    if memchr2(b'&', 0, text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let text = htmlize::unescape(text);
    if text.contains('\0') { Cow::Owned(text.replace('\0', "")) } else { text }
}
