//! Which attributes of which elements refer to something, and to what.

use super::attributes::Attributes;
use super::css;
use super::facts::LinkKind;
use super::links::References;
use super::refresh;
use super::srcset::srcset;

/// The vocabulary that an element's name is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Namespace {
    Html,
    Svg,
    MathMl,
}

/// Adds the references of one start tag; returns the number of that which its content labels.
pub(super) fn collect(
    namespace: Namespace,
    name: &str,
    attributes: &Attributes,
    references: &mut References,
) -> Option<u32> {
    if let Some(style) = attributes.get("style").filter(|style| style.contains('(')) {
        css::references(style, &mut |kind, url| _ = references.add(kind, url, false));
    }
    match namespace {
        Namespace::Html => html(name, attributes, references),
        Namespace::Svg => svg(name, attributes, references),
        Namespace::MathMl => None,
    }
}

fn html(name: &str, attributes: &Attributes, references: &mut References) -> Option<u32> {
    let mut embed = |kind: LinkKind, attribute: &str| {
        if let Some(url) = attributes.filled(attribute) {
            references.add(kind, url, false);
        }
    };
    match name {
        "a" | "area" => {
            let kind = if name == "a" { LinkKind::Anchor } else { LinkKind::Area };
            let url = attributes.get("href")?;
            let label = references.add(kind, url, has_nofollow(attributes));
            // Whom one can write to or call is said in a text, and is no entry of a menu.
            return label.filter(|_| !names_somebody(url));
        }
        "link" => link_element(attributes, references),
        "meta" if attributes.is("http-equiv", "refresh") => {
            let content = attributes.get("content")?;
            references.add(LinkKind::Refresh, refresh::target(content)?, false);
        }
        "iframe" => {
            embed(LinkKind::Iframe, "src");
            embed(LinkKind::Iframe, "data-src");
        }
        "frame" => embed(LinkKind::Frame, "src"),
        "img" | "image" => {
            embed(LinkKind::Image, "src");
            // What a script shows once it is in sight.
            embed(LinkKind::Image, "data-src");
            candidates("srcset", attributes, references);
            candidates("data-srcset", attributes, references);
        }
        "source" => {
            embed(LinkKind::Media, "src");
            candidates("srcset", attributes, references);
            candidates("data-srcset", attributes, references);
        }
        "video" => {
            embed(LinkKind::Media, "src");
            embed(LinkKind::Poster, "poster");
        }
        "audio" | "track" => embed(LinkKind::Media, "src"),
        "embed" => embed(LinkKind::Embed, "src"),
        "object" => embed(LinkKind::Object, "data"),
        "script" => embed(LinkKind::Script, "src"),
        "input" if attributes.is("type", "image") => embed(LinkKind::Image, "src"),
        "body" | "table" | "thead" | "tbody" | "tfoot" | "tr" | "td" | "th" => {
            embed(LinkKind::Background, "background");
        }
        _ => {}
    }
    None
}

fn svg(name: &str, attributes: &Attributes, references: &mut References) -> Option<u32> {
    let kind = match name {
        "a" => LinkKind::Anchor,
        "image" => LinkKind::Image,
        "script" => LinkKind::Script,
        "use" | "feimage" | "textpath" | "pattern" | "lineargradient" | "radialgradient"
        | "mpath" | "animate" | "set" => LinkKind::SvgReference,
        _ => return None,
    };
    let url = attributes.get("href").or_else(|| attributes.get("xlink:href"))?;
    match kind {
        LinkKind::Anchor => references.add(kind, url, has_nofollow(attributes)),
        // A fragment alone points into the drawing itself.
        _ if url.is_empty() || url.starts_with('#') => None,
        _ => {
            references.add(kind, url, false);
            None
        }
    }
}

fn candidates(attribute: &str, attributes: &Attributes, references: &mut References) {
    if let Some(value) = attributes.get(attribute) {
        for url in srcset(value) {
            references.add(LinkKind::Srcset, url, false);
        }
    }
}

fn link_element(attributes: &Attributes, references: &mut References) {
    let rel = attributes.get("rel").unwrap_or_default();
    let media_type = attributes.get("type").unwrap_or_default();
    if let Some(kind) = relation(rel, media_type, LinkKind::LinkRel) {
        if let Some(url) = attributes.filled("href") {
            references.add(kind, url, has_nofollow(attributes));
        }
        candidates("imagesrcset", attributes, references);
    }
}

/// Returns what a relation makes of a link; `other` for those without a meaning of their own, and
/// `None` for those that name no document.
pub(super) fn relation(rel: &str, media_type: &str, other: LinkKind) -> Option<LinkKind> {
    let has = |wanted: &str| rel.split_ascii_whitespace().any(|r| r.eq_ignore_ascii_case(wanted));
    let has_any = |wanted: &[&str]| wanted.iter().any(|w| has(w));
    if has("stylesheet") {
        Some(LinkKind::Stylesheet)
    } else if has("canonical") {
        Some(LinkKind::Canonical)
    } else if has_any(&["icon", "apple-touch-icon", "apple-touch-icon-precomposed", "mask-icon"]) {
        Some(LinkKind::Icon)
    } else if has_any(&["preload", "modulepreload"]) {
        Some(LinkKind::Preload)
    } else if has("manifest") {
        Some(LinkKind::Manifest)
    } else if has("alternate") {
        let media_type = media_type.to_ascii_lowercase();
        let is_feed = ["rss+xml", "atom+xml", "rdf+xml", "feed+json"];
        let is_feed = is_feed.iter().any(|feed| media_type.contains(feed));
        Some(if is_feed { LinkKind::Feed } else { LinkKind::Alternate })
    } else {
        // The first two name hosts, the third a service to be posted to.
        let names_no_document = ["dns-prefetch", "preconnect", "pingback", "nofollow"];
        rel.split_ascii_whitespace()
            .any(|r| !names_no_document.iter().any(|n| r.eq_ignore_ascii_case(n)))
            .then_some(other)
    }
}

/// Tells whether a link leads to somebody and to no page.
fn names_somebody(url: &str) -> bool {
    let scheme = url.trim_ascii_start().split(':').next().unwrap_or_default();
    ["mailto", "tel"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

/// Tells whether the element asks robots not to follow. Commas between relations are wrong but
/// common, and the wish is clear.
fn has_nofollow(attributes: &Attributes) -> bool {
    attributes.get("rel").is_some_and(|rel| {
        rel.split(|c: char| c.is_ascii_whitespace() || c == ',')
            .any(|r| r.eq_ignore_ascii_case("nofollow"))
    })
}

/// Tells whether the name of a `meta` element is that of directives for everybody.
pub(super) fn directs_all(name: &str) -> bool {
    matches!(name, "robots" | "tdm-reservation" | "tdm-policy")
}

/// Tells whether a `meta` element directs robots: those of everybody, those who mine texts (TDM
/// Reservation Protocol), or by its content those of a name that only the reader of the facts can
/// know.
pub(super) fn directs_robots(name: &str, content: &str) -> bool {
    const DIRECTIVES: [&str; 16] = [
        "all",
        "follow",
        "index",
        "indexifembedded",
        "noai",
        "noarchive",
        "nocache",
        "nofollow",
        "noimageai",
        "noimageindex",
        "noindex",
        "none",
        "nosnippet",
        "notranslate",
        "unavailable_after",
        "noydir",
    ];
    directs_all(name)
        || !matches!(name, "keywords" | "description" | "title")
            && content.split([',', ';', ' ', ':']).any(|word| {
                let word = word.trim_ascii();
                DIRECTIVES.iter().any(|directive| directive.eq_ignore_ascii_case(word))
            })
}
