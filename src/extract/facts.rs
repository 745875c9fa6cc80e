//! What extraction takes and what it gives: plain values.

use crate::url::CrawlUrl;

/// One answer, as extraction sees it.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Where the body came from: the base of relative links, unless the page names another.
    pub url: &'a CrawlUrl,
    /// The `Content-Type` header, if any.
    pub content_type: Option<&'a str>,
    /// The values of all `Link` headers.
    pub link_headers: &'a [String],
    /// The body without content coding.
    pub body: &'a [u8],
}

/// What a body is, by its declared type and, where that says little, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DocumentKind {
    /// HTML or XHTML.
    Html,
    /// A style sheet.
    Css,
    /// An XML list of URLs (sitemaps.org).
    Sitemap,
    /// An XML list of sitemaps (sitemaps.org).
    SitemapIndex,
    /// A list of URLs as plain text.
    SitemapText,
    /// RSS or Atom.
    Feed,
    /// A drawing.
    Svg,
    /// Anything else: no links are looked for.
    Other,
}

impl DocumentKind {
    /// Returns the name as the log and the metrics write it.
    pub fn as_str(self) -> &'static str {
        match self {
            DocumentKind::Html => "html",
            DocumentKind::Css => "css",
            DocumentKind::Sitemap => "sitemap",
            DocumentKind::SitemapIndex => "sitemap-index",
            DocumentKind::SitemapText => "sitemap-text",
            DocumentKind::Feed => "feed",
            DocumentKind::Svg => "svg",
            DocumentKind::Other => "other",
        }
    }
}

/// Where on a page a link was found, and so what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LinkKind {
    /// `a href`, in HTML or SVG.
    Anchor,
    /// `area href`.
    Area,
    /// `meta http-equiv=refresh`.
    Refresh,
    /// `link rel=canonical`, in the page or in a `Link` header.
    Canonical,
    /// `link rel=alternate`, unless it names a feed.
    Alternate,
    /// `link rel=alternate` with the type of a feed.
    Feed,
    /// Any other `link rel` that names a document (`next`, `license`, `search`, `prefetch`, ...).
    LinkRel,
    /// Any other relation in a `Link` header.
    LinkHeader,
    /// A sitemap named by a sitemap index.
    Sitemap,
    /// A page named by a sitemap.
    SitemapEntry,
    /// An entry of a feed.
    FeedEntry,
    /// `frame src`.
    Frame,
    /// `iframe src`.
    Iframe,
    /// `img src`, `input type=image`, SVG `image`.
    Image,
    /// A candidate of `srcset` or `imagesrcset`.
    Srcset,
    /// `video`, `audio`, `source` and `track`.
    Media,
    /// `video poster`.
    Poster,
    /// `embed src`.
    Embed,
    /// `object data`.
    Object,
    /// `script src`.
    Script,
    /// `link rel=stylesheet`.
    Stylesheet,
    /// `link rel=icon` and its kin.
    Icon,
    /// `link rel=preload`, `modulepreload`.
    Preload,
    /// `link rel=manifest`.
    Manifest,
    /// The `background` attribute of old pages.
    Background,
    /// `use`, `feImage` and their like in SVG.
    SvgReference,
    /// `url()` in a style sheet, style element or style attribute.
    CssUrl,
    /// `@import`.
    CssImport,
}

impl LinkKind {
    /// Returns true for what a browser needs in order to render the page that it was found on.
    pub fn is_embed(self) -> bool {
        self >= LinkKind::Frame
    }

    /// Returns true for what is part of what a page shows: neither a style nor a script.
    pub fn is_shown(self) -> bool {
        matches!(
            self,
            LinkKind::Frame
                | LinkKind::Iframe
                | LinkKind::Image
                | LinkKind::Srcset
                | LinkKind::Media
                | LinkKind::Poster
                | LinkKind::Embed
                | LinkKind::Object
        )
    }

    /// Returns the letter that a hop over this link adds to the discovery path: E embed, R
    /// reference to go elsewhere at once, M manifest of URLs, L link. What a manifest lists is
    /// linked to: the letter tells sitemaps from the pages that they name.
    pub fn hop_letter(self) -> char {
        match self {
            LinkKind::Refresh => 'R',
            LinkKind::Sitemap => 'M',
            kind if kind.is_embed() => 'E',
            _ => 'L',
        }
    }

    /// Returns the name as the log and the archive write it.
    pub fn as_str(self) -> &'static str {
        match self {
            LinkKind::Anchor => "anchor",
            LinkKind::Area => "area",
            LinkKind::Refresh => "refresh",
            LinkKind::Canonical => "canonical",
            LinkKind::Alternate => "alternate",
            LinkKind::Feed => "feed",
            LinkKind::LinkRel => "link-rel",
            LinkKind::LinkHeader => "link-header",
            LinkKind::Sitemap => "sitemap",
            LinkKind::SitemapEntry => "sitemap-entry",
            LinkKind::FeedEntry => "feed-entry",
            LinkKind::Frame => "frame",
            LinkKind::Iframe => "iframe",
            LinkKind::Image => "image",
            LinkKind::Srcset => "srcset",
            LinkKind::Media => "media",
            LinkKind::Poster => "poster",
            LinkKind::Embed => "embed",
            LinkKind::Object => "object",
            LinkKind::Script => "script",
            LinkKind::Stylesheet => "stylesheet",
            LinkKind::Icon => "icon",
            LinkKind::Preload => "preload",
            LinkKind::Manifest => "manifest",
            LinkKind::Background => "background",
            LinkKind::SvgReference => "svg-reference",
            LinkKind::CssUrl => "css-url",
            LinkKind::CssImport => "css-import",
        }
    }

    /// Returns the kind that stands for a URL found as both: an embed before a navigation, since
    /// the page does not render without it; else the one found first.
    pub(super) fn stronger(self, later: LinkKind) -> LinkKind {
        if later.is_embed() && !self.is_embed() { later } else { self }
    }
}

/// One URL found on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Resolved and normalized.
    pub url: CrawlUrl,
    /// What the link is for; of several, the one that weighs most.
    pub kind: LinkKind,
    /// True where every occurrence on the page carries `rel=nofollow`.
    pub rel_nofollow: bool,
    /// Where the page leads there by a link that is neither an embed nor a refresh, whatever else
    /// it does with the URL: true if each such link carries `rel=nofollow`. None without such a
    /// link.
    pub as_link: Option<bool>,
    /// The anchor text, whitespace folded; empty where there is none. Bounded by `label_max`.
    pub text: String,
    /// The reference as written, character references decoded.
    pub raw: String,
}

/// One entry of a sitemap, sitemap index or feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitemapEntry {
    /// Resolved and normalized.
    pub url: CrawlUrl,
    /// As written, trimmed.
    pub loc: String,
    /// `lastmod`, `pubDate`, `updated`: as written, trimmed.
    pub lastmod: Option<String>,
    /// `changefreq` as written, trimmed.
    pub changefreq: Option<String>,
}

/// One field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormField {
    /// The name.
    pub name: String,
    /// The value that is sent if nobody touches the form.
    pub value: String,
    /// `text`, `hidden`, `select`, `textarea`, ...: the element's type in lower case.
    pub kind: String,
}

/// A form that is sent by GET: recorded, never submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Where it is sent.
    pub action: CrawlUrl,
    /// The fields in document order.
    pub fields: Vec<FormField>,
}

/// What kind of block a text came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockTag {
    /// `p`, `blockquote`, `pre`, `figcaption`.
    Paragraph,
    /// `h1` to `h6`, `legend`, `caption`, `summary`.
    Heading,
    /// `li`, `dt`, `dd`, `option`.
    ListItem,
    /// `td`, `th`.
    Cell,
    /// Any other block: `div`, `body`, ...
    Other,
}

/// The part of the page that a text stands in, by element names and `role` attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Region {
    /// No landmark says anything.
    None,
    /// `nav`, `menu`, role navigation.
    Nav,
    /// `header` of the page, role banner.
    Header,
    /// `footer` of the page, role contentinfo.
    Footer,
    /// `aside`, role complementary.
    Aside,
    /// `form`, `search`, role form or search.
    Form,
    /// `main`, role main.
    Main,
    /// `article`, role article.
    Article,
}

/// The visible text directly inside one block-level element, up to the next block boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextBlock {
    /// Whitespace folded to single spaces, none at the ends; never empty.
    pub text: String,
    /// How many of its characters, spaces not counted, stand inside links.
    pub link_chars: u32,
    /// A hash of the way from the root to the block: names, classes and ids of the block-level
    /// elements, digits folded, so that the rows of a template share it within and across pages.
    pub path: u64,
    /// What kind of block.
    pub tag: BlockTag,
    /// Where on the page.
    pub region: Region,
}

/// The facts of one answer.
#[derive(Clone, Debug)]
pub struct Extracted {
    /// What the body is.
    pub kind: DocumentKind,
    /// The encoding it was decoded by, as WHATWG names it; empty for kind `Other`.
    pub charset: &'static str,
    /// What relative links were resolved against.
    pub base: CrawlUrl,
    /// Distinct links in the order found.
    pub links: Vec<Link>,
    /// The first `rel=canonical`: of the `Link` headers, else of the page.
    pub canonical: Option<CrawlUrl>,
    /// `meta` elements that direct robots: name in lower case, content as written.
    pub meta_robots: Vec<(String, String)>,
    /// The first `title`, whitespace folded.
    pub title: Option<String>,
    /// `html lang`, as written.
    pub lang: Option<String>,
    /// The visible text in document order.
    pub blocks: Vec<TextBlock>,
    /// Forms sent by GET.
    pub forms: Vec<Form>,
    /// What fields that are shown are filled in with, in document order, a line each: texts, and
    /// the numbers of checked boxes. The text of a `textarea` is a block.
    pub fields: String,
    /// True if the page has a field for a password, in a form of any method or outside of one.
    pub password_field: bool,
    /// Entries of a sitemap or feed, whose URLs also stand in `links`.
    pub entries: Vec<SitemapEntry>,
    /// True if the page has more links than were kept.
    pub truncated_links: bool,
    /// True if the body is longer than what was parsed.
    pub truncated_body: bool,
    /// True if the page has more text than was kept.
    pub truncated_text: bool,
    /// References, or entries of a list, dropped because there were as many as are kept.
    pub links_dropped: u32,
    /// References dropped because their URL is too long.
    pub links_too_long: u32,
    /// References dropped because they are no http(s) URL: `mailto:`, `javascript:`, bad syntax.
    pub links_unusable: u32,
    /// What went wrong, in words; at most a few.
    pub errors: Vec<String>,
}

impl Extracted {
    /// Returns facts that say nothing yet about a page.
    pub(super) fn empty(url: &CrawlUrl, kind: DocumentKind) -> Self {
        Extracted {
            kind,
            charset: "",
            base: url.clone(),
            links: Vec::new(),
            canonical: None,
            meta_robots: Vec::new(),
            title: None,
            lang: None,
            blocks: Vec::new(),
            forms: Vec::new(),
            fields: String::new(),
            password_field: false,
            entries: Vec::new(),
            truncated_links: false,
            truncated_body: false,
            truncated_text: false,
            links_dropped: 0,
            links_too_long: 0,
            links_unusable: 0,
            errors: Vec::new(),
        }
    }
}
