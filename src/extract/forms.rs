//! Forms that are sent by GET, recorded as facts.

use encoding_rs::Encoding;

use super::attributes::Attributes;
use super::facts::{Extracted, Form, FormField};
use super::links::resolve;
use super::settings::Settings;
use super::text::cut;

/// A form as found.
struct Draft {
    action: String,
    is_get: bool,
    fields: Vec<FormField>,
}

/// A `select` whose options are being read.
struct Select {
    field: FormField,
    /// Whether an option has set the value, and whether it was marked `selected`.
    chosen: Option<bool>,
    /// Whether the text that comes is the value of the option.
    reads_text: bool,
}

/// The forms so far, and the one that is open: forms do not nest.
#[derive(Default)]
pub(super) struct Forms {
    done: Vec<Draft>,
    open: Option<Draft>,
    select: Option<Select>,
    /// Whether the text that comes is the value of the last field, a `textarea`.
    in_textarea: bool,
}

impl Forms {
    /// Takes notice of a start tag.
    pub(super) fn start(&mut self, name: &str, attributes: &Attributes, settings: &Settings) {
        if name == "form" {
            if self.open.is_none() && self.done.len() < settings.forms_max {
                self.open = Some(Draft {
                    action: attributes.get("action").unwrap_or_default().to_owned(),
                    is_get: !attributes.is("method", "post") && !attributes.is("method", "dialog"),
                    fields: Vec::new(),
                });
            }
            return;
        }
        if self.open.is_none() {
            return;
        }
        self.in_textarea = false;
        if name != "option" {
            self.end_select(settings);
        }
        match name {
            "input" => self.input(attributes, settings),
            "textarea" => {
                if let Some(field) = field(attributes, "textarea", settings) {
                    self.in_textarea =
                        self.add(FormField { value: String::new(), ..field }, settings);
                }
            }
            "select" => {
                self.select = field(attributes, "select", settings).map(|field| Select {
                    field: FormField { value: String::new(), ..field },
                    chosen: None,
                    reads_text: false,
                });
            }
            "option" => self.option(attributes, settings),
            _ => {}
        }
    }

    fn input(&mut self, attributes: &Attributes, settings: &Settings) {
        let kind = attributes.filled("type").map(|t| t.trim_ascii().to_ascii_lowercase());
        let kind = kind.unwrap_or_else(|| "text".to_owned());
        let is_sent = match kind.as_str() {
            // Buttons are sent only if they are pressed, files never by GET.
            "submit" | "button" | "reset" | "image" | "file" => false,
            "checkbox" | "radio" => attributes.has("checked"),
            _ => true,
        };
        if let Some(mut field) = field(attributes, &kind, settings).filter(|_| is_sent) {
            if matches!(kind.as_str(), "checkbox" | "radio") && !attributes.has("value") {
                "on".clone_into(&mut field.value);
            }
            self.add(field, settings);
        }
    }

    fn option(&mut self, attributes: &Attributes, settings: &Settings) {
        let Some(select) = &mut self.select else { return };
        select.reads_text = false;
        let is_selected = attributes.has("selected");
        // The first marked option counts, else the first of all.
        if select.chosen == Some(true) || (select.chosen.is_some() && !is_selected) {
            return;
        }
        select.chosen = Some(is_selected);
        select.field.value.clear();
        match attributes.get("value") {
            Some(value) => select.field.value.push_str(cut(value, settings.label_max)),
            None => select.reads_text = true,
        }
    }

    /// Takes notice of text.
    pub(super) fn text(&mut self, text: &str, settings: &Settings) {
        let value = if self.in_textarea {
            self.open.as_mut().and_then(|form| form.fields.last_mut()).map(|field| &mut field.value)
        } else {
            let select = self.select.as_mut().filter(|select| select.reads_text);
            select.map(|select| &mut select.field.value)
        };
        if let Some(value) = value {
            value.push_str(cut(text, settings.label_max.saturating_sub(value.len())));
        }
    }

    fn add(&mut self, field: FormField, settings: &Settings) -> bool {
        match &mut self.open {
            Some(form) if form.fields.len() < settings.form_fields_max => {
                form.fields.push(field);
                true
            }
            _ => false,
        }
    }

    fn end_select(&mut self, settings: &Settings) {
        if let Some(select) = self.select.take() {
            let value = select.field.value.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
            let value = if select.reads_text { value } else { select.field.value };
            if select.chosen.is_some() {
                self.add(FormField { value, ..select.field }, settings);
            }
        }
    }

    /// Ends the open form.
    pub(super) fn end(&mut self, settings: &Settings) {
        self.end_select(settings);
        self.in_textarea = false;
        self.done.extend(self.open.take().filter(|form| form.is_get));
    }

    /// Ends the open form, resolves all and puts them into `facts`.
    pub(super) fn finish(
        mut self,
        document: &crate::url::CrawlUrl,
        encoding: &'static Encoding,
        settings: &Settings,
        facts: &mut Extracted,
    ) {
        self.end(settings);
        for draft in self.done {
            let raw = draft.action.trim_ascii();
            // An empty action is the document itself, not the base.
            let base = if raw.is_empty() { document } else { &facts.base };
            if let Ok(action) = resolve(base, raw, encoding, settings.url_length_max) {
                facts.forms.push(Form { action, fields: draft.fields });
            }
        }
    }
}

/// Returns a field with the name and value of a start tag, if it has a name.
fn field(attributes: &Attributes, kind: &str, settings: &Settings) -> Option<FormField> {
    let name = attributes.get("name").filter(|name| !name.is_empty())?;
    let value = attributes.get("value").unwrap_or_default();
    Some(FormField {
        name: cut(name, settings.label_max).to_owned(),
        value: cut(value, settings.label_max).to_owned(),
        kind: cut(kind, settings.label_max).to_owned(),
    })
}
