//! Whole pages through [`extract`]: what a browser without scripts sees in them.

use super::*;
use crate::clock::ByteSize;
use crate::url::CrawlUrl;

const URL: &str = "http://e.org/dir/page";

fn page(body: &str) -> Extracted {
    page_with(body, &Settings::default())
}

fn page_with(body: &str, settings: &Settings) -> Extracted {
    let url = CrawlUrl::parse(URL).unwrap();
    let page = Page {
        url: &url,
        content_type: Some("text/html; charset=utf-8"),
        link_headers: &[],
        body: body.as_bytes(),
    };
    extract(&page, settings)
}

/// Compares the links of a page, without `http://e.org` in front, in the order found.
#[track_caller]
fn check(body: &str, want: &[(LinkKind, &str)]) {
    let facts = page(body);
    let found: Vec<_> = facts
        .links
        .iter()
        .map(|link| (link.kind, link.url.as_str().trim_start_matches("http://e.org")))
        .collect();
    assert_eq!(found, want, "{body}");
}

#[track_caller]
fn check_anchors(body: &str, want: &[&str]) {
    let want: Vec<_> = want.iter().map(|url| (LinkKind::Anchor, *url)).collect();
    check(body, &want);
}

#[track_caller]
fn check_blocks(body: &str, want: &[&str]) {
    let facts = page(body);
    let found: Vec<_> = facts.blocks.iter().map(|block| &block.text[..]).collect();
    assert_eq!(found, want, "{body}");
}

#[test]
fn every_element_that_refers_gives_its_kind_of_link() {
    use LinkKind::*;
    check(
        "<link rel=stylesheet href=a.css><link rel='shortcut icon' href=i.ico>\
         <link rel=alternate hreflang=de href=de><link rel=alternate type=application/rss+xml \
         href=rss><link rel=next href=2><link rel=manifest href=m><link rel=preload href=p>\
         <link rel=dns-prefetch href=//x.org><link href=none><meta http-equiv=Refresh content='0; \
         url=r'><script src=s.js></script>",
        &[
            (Stylesheet, "/dir/a.css"),
            (Icon, "/dir/i.ico"),
            (Alternate, "/dir/de"),
            (Feed, "/dir/rss"),
            (LinkRel, "/dir/2"),
            (Manifest, "/dir/m"),
            (Preload, "/dir/p"),
            (Refresh, "/dir/r"),
            (Script, "/dir/s.js"),
        ],
    );
    check(
        "<body background=bg><a href=/a>a</a><area href=/b><iframe src=/c></iframe><img src=/d \
         srcset='/e 1x, /f 2x'><picture><source srcset=/g></picture><video src=/h poster=/i>\
         <track src=/j></video><audio src=/k></audio><embed src=/l><object data=/m></object>\
         <input type=image src=/n><image src=/o><td background=/p>",
        &[
            (Background, "/dir/bg"),
            (Anchor, "/a"),
            (Area, "/b"),
            (Iframe, "/c"),
            (Image, "/d"),
            (Srcset, "/e"),
            (Srcset, "/f"),
            (Srcset, "/g"),
            (Media, "/h"),
            (Poster, "/i"),
            (Media, "/j"),
            (Media, "/k"),
            (Embed, "/l"),
            (Object, "/m"),
            (Image, "/n"),
            (Image, "/o"),
            (Background, "/p"),
        ],
    );
    check("<frameset><frame src=/a><frame src=/b></frameset>", &[(Frame, "/a"), (Frame, "/b")]);
    check(
        "<style>@import 'a'; p{background:url(b)}</style><p style='background:url(&quot;c&quot;)'>",
        &[(CssImport, "/dir/a"), (CssUrl, "/dir/b"), (CssUrl, "/dir/c")],
    );
}

#[test]
fn links_where_a_browser_has_none_are_none() {
    check_anchors("<script>'<a href=x>'</script><!-- <a href=y> --><a href=z>", &["/dir/z"]);
    check_anchors("<title><a href=x></title><textarea><a href=y></textarea>", &[]);
    check_anchors("<template><a href=x>x</a></template><a href=y>y</a>", &["/dir/y"]);
    check_anchors("<style><a href=x></style><xmp><a href=y></xmp><iframe><a href=z>", &[]);
    check_anchors("<plaintext><a href=x>", &[]);
    check_anchors("<a name=x>x</a><a>y</a><math><a href=z></a></math>", &[]);
    check_anchors("<a href=x", &[]);
}

#[test]
fn links_where_a_browser_has_some_are_found() {
    check_anchors("<noscript><a href=a>a</a></noscript>", &["/dir/a"]);
    check_anchors("<NoScript ><p><a href=a>a</a></NOSCRIPT><a href=b>", &["/dir/a", "/dir/b"]);
    check_anchors("<svg><a href=a /><a xlink:href=b></a></svg>", &["/dir/a", "/dir/b"]);
    check_anchors("<svg><title><a href=a></title></svg><a href=b>", &["/dir/a", "/dir/b"]);
    check_anchors("<table><a href=a></table><select><option><a href=b>", &["/dir/a", "/dir/b"]);
    check_anchors("</html><a href=a>", &["/dir/a"]);
    check_anchors(
        "<A HREF=a><a\nhref\n=\n'b'><a/href=c><a title='>'href=\"d\">",
        &["/dir/a", "/dir/b", "/dir/c", "/dir/d"],
    );
    check_anchors("<div hidden><a href=a>a</a></div>", &["/dir/a"]);
}

#[test]
fn attribute_values_are_decoded_and_the_first_of_duplicates_counts() {
    check_anchors(
        "<a href='?a=1&amp;b=2&copy=3&#x26;c&lt=4&lt'>",
        &["/dir/page?a=1&b=2&copy=3&c&lt=4%3C"],
    );
    check_anchors("<a href=a href=b>", &["/dir/a"]);
    check_anchors("<a href=' \n a\tb '>", &["/dir/ab"]);
    check_anchors("<a href=''><a href='#x'>", &["/dir/page"]);
    check_anchors(
        "<a href='//x.org/'><a href='mailto:x'><a href='javascript:x'>",
        &["http://x.org/"],
    );
}

#[test]
fn the_first_base_counts_for_the_whole_page() {
    check_anchors(
        "<a href=a><base target=x><base href=/b/><base href=/c/><a href=d>",
        &["/b/a", "/b/d"],
    );
    check_anchors("<base href='http://['><base href=/c/><a href=d>", &["/dir/d"]);
    check_anchors("<template><base href=/b/></template><a href=a>", &["/dir/a"]);
}

#[test]
fn a_url_found_twice_is_one_link_of_the_stronger_kind() {
    use LinkKind::*;
    check("<a href=x><img src=./x><a href='x#y'>", &[(Image, "/dir/x")]);
    let twice = |first, second| page(&format!("<a {first} href=x>1</a><a {second} href=./x>2</a>"));
    assert!(twice("rel=nofollow", "rel='me NoFollow'").links[0].rel_nofollow);
    assert!(!twice("rel=nofollow", "").links[0].rel_nofollow);
    assert_eq!(twice("", "").links[0].text, "1");
    assert_eq!(twice("", "").links[0].raw, "x");
}

#[test]
fn anchor_texts_are_folded_and_images_speak_for_themselves() {
    let text = |body: &str| page(body).links.remove(0).text;
    assert_eq!(text("<a href=x> A <b>b&amp;</b>\n c<br>d</a> e"), "A b& cd");
    assert_eq!(text("<a href=x><img alt='A picture' src=y></a>"), "A picture");
    assert_eq!(text("<a href=x>one<a href=y>two</a></a>"), "one");
    assert_eq!(text("<a href=x><div><p>deep</div> end</a>"), "deep end");
}

#[test]
fn canonical_comes_from_the_header_before_the_page() {
    let url = CrawlUrl::parse(URL).unwrap();
    let body = b"<base href=/b/><link rel=Canonical href=c><a href=h>";
    let of = |link_headers: &[String]| {
        let page = Page { url: &url, content_type: Some("text/html"), link_headers, body };
        extract(&page, &Settings::default()).canonical.map(|url| url.to_string())
    };
    assert_eq!(of(&[]).as_deref(), Some("http://e.org/b/c"));
    let header = "<h>; rel=canonical, <n>; rel=next".to_owned();
    assert_eq!(of(&[header]).as_deref(), Some("http://e.org/dir/h"));
}

#[test]
fn header_links_are_links_of_any_kind_of_body() {
    let url = CrawlUrl::parse(URL).unwrap();
    let link_headers = ["<n>; rel=next, <s>; rel=stylesheet, <x>; rel=next; anchor=y".to_owned()];
    let page =
        Page { url: &url, content_type: Some("image/png"), link_headers: &link_headers, body: b"" };
    let facts = extract(&page, &Settings::default());
    let kinds: Vec<_> = facts.links.iter().map(|link| link.kind).collect();
    assert_eq!(kinds, [LinkKind::LinkHeader, LinkKind::Stylesheet]);
    assert_eq!(facts.kind, DocumentKind::Other);
}

#[test]
fn titles_languages_and_directives_are_read() {
    let facts = page(
        "<html lang=' de-AT '><svg><title>no</title></svg><title>\n A &amp; <b>\n</title>\
         <title>B</title><meta name=ROBOTS content='NoIndex'><meta name=examplebot \
         content='none'><meta name=description content='follow'>",
    );
    assert_eq!(facts.lang.as_deref(), Some("de-AT"));
    assert_eq!(facts.title.as_deref(), Some("A & <b>"));
    let directives: Vec<_> = facts.meta_robots.iter().map(|(n, c)| (&n[..], &c[..])).collect();
    assert_eq!(directives, [("robots", "NoIndex"), ("examplebot", "none")]);
    for cut_off in ["<title>", "<title></title>"] {
        assert_eq!(page(cut_off).title, None, "{cut_off}");
    }
    assert_eq!(page("<title>A").title.as_deref(), Some("A"));
}

/// Thirty-two tags for others were all that was read, and the page was archived.
#[test]
fn what_a_page_says_to_all_robots_is_heard_however_many_it_names() {
    let others = |n: usize| format!("<meta name=bot{n} content=noindex>");
    let named: String = (0..40).map(others).collect();
    let all = "<meta name=robots content=noarchive><meta name=robots content=nofollow>";
    for tags in [format!("{named}{all}"), format!("{all}{named}")] {
        let facts = page(&tags);
        assert_eq!(facts.meta_robots.len(), Settings::default().directives_max);
        let heard = facts.meta_robots.iter().filter(|(name, _)| name == "robots").count();
        assert_eq!(heard, 2);
    }
    let facts = page("<meta name=crawler content='unavailable_after: 25 Jun 2027 15:00:00 GMT'>");
    assert_eq!(facts.meta_robots.len(), 1);
}

#[test]
fn what_a_script_shows_in_sight_is_part_of_the_page() {
    use LinkKind::*;
    check(
        "<img src=/blank.gif data-src=/a data-srcset='/b 1x, /c 2x'><picture><source \
         data-srcset=/d></picture><iframe data-src=/e></iframe>",
        &[
            (Image, "/blank.gif"),
            (Image, "/a"),
            (Srcset, "/b"),
            (Srcset, "/c"),
            (Srcset, "/d"),
            (Iframe, "/e"),
        ],
    );
}

#[test]
fn fields_say_what_they_are_filled_in_with() {
    let fields = |html: &str| page(html).fields;
    assert_eq!(
        fields(
            "<input value=' one two '><input type=number value=3><input type=radio><input \
             type=checkbox checked>"
        ),
        " one two \n3\nchecked2\n"
    );
    for unsaid in [
        "<input type=hidden value=token>",
        "<input type=search value=words>",
        "<input type=SUBMIT value=Send>",
        "<input type=checkbox value=1>",
        "<div hidden><input value=x></div>",
        "<input value=x style='display:none'>",
        "<input hidden value=x>",
        "<input>",
        "<textarea>a block</textarea>",
    ] {
        assert_eq!(fields(unsaid), "", "{unsaid}");
    }
}

#[test]
fn forms_by_get_are_recorded_with_their_defaults() {
    let facts = page(
        "<base href=/b/><form action=s><input name=q value='a&amp;b'><input type=hidden name=h \
         value=1><input type=checkbox name=c><input type=checkbox name=d checked><select name=e>\
         <option>one<option selected value=2>two</select><textarea name=t>x\ny</textarea>\
         <input type=submit name=go><input value=nameless></form>\
         <form method=POST action=p><input name=x></form><form></form>",
    );
    assert_eq!(facts.forms.len(), 2);
    assert_eq!(facts.forms[0].action.as_str(), "http://e.org/b/s");
    let fields: Vec<_> =
        facts.forms[0].fields.iter().map(|f| (&f.name[..], &f.value[..], &f.kind[..])).collect();
    assert_eq!(
        fields,
        [
            ("q", "a&b", "text"),
            ("h", "1", "hidden"),
            ("d", "on", "checkbox"),
            ("e", "2", "select"),
            ("t", "x\ny", "textarea"),
        ]
    );
    assert_eq!(facts.forms[1].action.as_str(), URL);
}

#[test]
fn text_is_parted_at_block_elements() {
    check_blocks(
        "<p>a<b>b</b> c<p>d<div>e<ul><li>f<li>g</ul>h</div>",
        &["ab c", "d", "e", "f", "g", "h"],
    );
    check_blocks("<table><tr><td>a<td>b<tr><th>c</table>d", &["a", "b", "c", "d"]);
    check_blocks("a<br>b<br><br>c", &["a b", "c"]);
    check_blocks("x &lt;y&gt; &nbsp; &eacute z", &["x <y> é z"]);
}

#[test]
fn what_is_not_shown_is_not_text() {
    check_blocks(
        "<title>t</title><script>s</script><style>s</style><template>t</template><!--c-->\
         <p hidden>h<p style='color:red; Display : NONE'>n<p style='visibility:hidden'>v\
         <noframes>f</noframes><dialog>d</dialog><p>shown",
        &["shown"],
    );
    check_blocks("a<svg><title>t</title><desc>d</desc><text>b</text></svg>c", &["abc"]);
    check_blocks("<svg><foreignObject><p>a<title>t</title></foreignObject></svg>b", &["a", "b"]);
    check_blocks(
        "<noscript>a</noscript><p hidden=until-found>b</p><xmp><b></xmp>",
        &["a", "b", "<b>"],
    );
}

#[test]
fn blocks_know_their_kind_region_and_links() {
    let facts = page(
        "<nav><ul><li><a href=x>Home page</a></ul></nav><main><h1>T</h1><header>H</header>\
         <p>See <a href=y>this</a>.</p></main><footer>F</footer><div role=banner>B</div>",
    );
    let found: Vec<_> =
        facts.blocks.iter().map(|b| (&b.text[..], b.tag, b.region, b.link_chars)).collect();
    assert_eq!(
        found,
        [
            ("Home page", BlockTag::ListItem, Region::Nav, 8),
            ("T", BlockTag::Heading, Region::Main, 0),
            ("H", BlockTag::Other, Region::Main, 0),
            ("See this.", BlockTag::Paragraph, Region::Main, 4),
            ("F", BlockTag::Other, Region::Footer, 0),
            ("B", BlockTag::Other, Region::Header, 0),
        ]
    );
}

/// A page whose only own words are those of a link to write to somebody had none.
#[test]
fn whom_one_can_write_to_is_text() {
    let facts = page(
        "<p><a href=' MailTo:a@b'>Ann Bell</a> or <a href=tel:1>call</a><p><a href=mail>to</a>",
    );
    let found: Vec<_> = facts.blocks.iter().map(|b| (&b.text[..], b.link_chars)).collect();
    assert_eq!(found, [("Ann Bell or call", 0), ("to", 2)]);
}

#[test]
fn rows_of_a_template_share_their_path() {
    let facts = page(
        "<div id=post-1><p>a</div><div id=post-23><p>b</div><div class=x><p>c</div>\
         <ul><li>d<li>e</ul>",
    );
    let paths: Vec<_> = facts.blocks.iter().map(|block| block.path).collect();
    assert_eq!(paths[0], paths[1]);
    assert_ne!(paths[1], paths[2]);
    assert_eq!(paths[3], paths[4]);
}

#[test]
fn bounds_are_kept_and_said() {
    let links: String = (0..100).map(|i| format!("<a href=/{i}>x</a>")).collect();
    let settings = Settings { links_max: 30, ..Settings::default() };
    let facts = page_with(&links, &settings);
    assert_eq!((facts.links.len(), facts.truncated_links), (30, true));

    let settings = Settings { body_max: ByteSize(20), ..Settings::default() };
    let facts = page_with("<a href=a>a</a>12345678<a href=b>b</a>", &settings);
    assert_eq!((facts.links.len(), facts.truncated_body), (1, true));

    let facts = page(&format!("<a href=/{}><a href=tel:1>", "x".repeat(9000)));
    assert_eq!((facts.links_too_long, facts.links_unusable), (1, 1));

    let settings = Settings { text_max: ByteSize(10), ..Settings::default() };
    assert!(page_with("some text that is longer", &settings).truncated_text);
}

#[test]
fn deep_nesting_hides_no_link() {
    let deep = "<div>".repeat(100_000);
    let facts = page(&format!("{deep}<a href=x>deep</a>{}<a href=y>", "</div>".repeat(100_000)));
    assert_eq!(facts.links.len(), 2);
    assert_eq!(facts.blocks[0].text, "deep");
}

#[test]
fn a_tag_of_attributes_without_end_hides_no_link() {
    let attributes: String = (0..100_000).map(|i| format!(" a{i}")).collect();
    let facts = page(&format!("<a href=x>x</a><p{attributes} hidden>a<a href=y>y</a>"));
    assert_eq!(facts.links.len(), 2);
    assert_eq!(facts.blocks.len(), 2, "what stands behind so many is not looked at");
}

#[test]
fn sitemaps_and_feeds_become_links() {
    let url = CrawlUrl::parse("http://e.org/sitemap.xml").unwrap();
    let of = |body: &str| {
        let page = Page {
            url: &url,
            content_type: Some("application/xml"),
            link_headers: &[],
            body: body.as_bytes(),
        };
        let facts = extract(&page, &Settings::default());
        (facts.kind, facts.links.first().map(|link| (link.kind, link.url.to_string())))
    };
    let link = |kind| Some((kind, "http://e.org/a".to_owned()));
    assert_eq!(
        of("<urlset><url><loc>http://e.org/a</loc></url></urlset>"),
        (DocumentKind::Sitemap, link(LinkKind::SitemapEntry))
    );
    assert_eq!(
        of("<sitemapindex><sitemap><loc>http://e.org/a</loc></sitemap></sitemapindex>"),
        (DocumentKind::SitemapIndex, link(LinkKind::Sitemap))
    );
    assert_eq!(
        of("<feed><entry><link href='http://e.org/a'/></entry></feed>"),
        (DocumentKind::Feed, link(LinkKind::FeedEntry))
    );
}

/// Links of a list were bounded as those of a page are, at a fifth of its entries.
#[test]
fn each_entry_of_a_sitemap_is_a_link() {
    let url = CrawlUrl::parse("http://e.org/sitemap.xml").unwrap();
    let entries = (0..10_001).map(|n| format!("<url><loc>/{n}</loc></url>"));
    let body = format!("<urlset>{}</urlset>", entries.collect::<String>());
    let page = Page { url: &url, content_type: None, link_headers: &[], body: body.as_bytes() };
    let facts = extract_sitemap(&page, &Settings::default());
    assert_eq!((facts.entries.len(), facts.links.len()), (10_001, 10_001));
    assert!(!facts.truncated_links);
    let settings = Settings { sitemap_entries_max: 10_000, ..Settings::default() };
    let facts = extract_sitemap(&page, &settings);
    assert_eq!((facts.entries.len(), facts.links.len()), (10_000, 10_000));
    assert!(facts.truncated_links);
}

/// Returns what a body of this type leads to, without `http://e.org/` in front.
fn links_of(content_type: &str, body: &str) -> Vec<(LinkKind, String)> {
    let url = CrawlUrl::parse("http://e.org/page").unwrap();
    let content_type = Some(content_type);
    let page = Page { url: &url, content_type, link_headers: &[], body: body.as_bytes() };
    let links = extract(&page, &Settings::default()).links.into_iter();
    let shown = |url: &CrawlUrl| url.as_str().trim_start_matches("http://e.org/").to_owned();
    links.map(|link| (link.kind, shown(&link.url))).collect()
}

/// In HTML nothing but its end tag ends a script, so that an empty one swallowed the page.
#[test]
fn in_xhtml_an_empty_element_has_no_content() {
    let body = "<?xml version='1.0'?><!-- <title/> --><html xmlns='http://www.w3.org/1999/xhtml'>\
                <head><title/><script src=\"s.js\" data-x='>' /><style />\
                <script>'<title/>'</script></head><body><textarea/><iframe src='f'/>\
                <template/><a href='a'>a</a><br/><img src='i'/></body></html>";
    let want = [
        (LinkKind::Script, "s.js".to_owned()),
        (LinkKind::Iframe, "f".to_owned()),
        (LinkKind::Anchor, "a".to_owned()),
        (LinkKind::Image, "i".to_owned()),
    ];
    for content_type in ["application/xhtml+xml", "text/xml", "application/xml; charset=utf-8"] {
        assert_eq!(links_of(content_type, body), want, "{content_type}");
    }
    let html = [(LinkKind::Script, "s.js".to_owned())];
    assert_eq!(links_of("text/html", "<script src=s.js /><a href=a>a</a>"), html);
}

#[test]
fn any_number_of_slashes_stands_before_a_host() {
    check_anchors("<a href='///x.org/a'>", &["http://x.org/a"]);
    check_anchors("<a href=' /\t\\//x.org/é?é'>", &["http://x.org/%C3%A9?%C3%A9"]);
}

/// Browsers show it in place, without a script.
#[test]
fn a_declared_shadow_root_is_part_of_the_page() {
    for mode in ["open", "CLOSED"] {
        let root = format!("<template shadowrootmode={mode}><p>a<a href=x>b</a></template>");
        check_anchors(&format!("<div>{root}</div><a href=y>"), &["/dir/x", "/dir/y"]);
        check_blocks(&root, &["ab"]);
    }
    check_anchors("<template shadowrootmode=none><a href=x></template>", &[]);
}

#[test]
fn drawings_lead_on_and_show_what_they_use() {
    let body = "<?xml version='1.0'?><!DOCTYPE svg><svg xmlns='http://www.w3.org/2000/svg'>\
                <a href='a'><text>t</text></a><a xlink:href='b'/><use xlink:href='s.svg#x'/>\
                <use href='#own'/><image href='i.png'/></svg>";
    let want = [
        (LinkKind::Anchor, "a".to_owned()),
        (LinkKind::Anchor, "b".to_owned()),
        (LinkKind::SvgReference, "s.svg".to_owned()),
        (LinkKind::Image, "i.png".to_owned()),
    ];
    assert_eq!(links_of("image/svg+xml", body), want);
}

#[test]
fn style_sheets_give_their_references() {
    let url = CrawlUrl::parse(URL).unwrap();
    let body = b"@import 'a.css'; b{background:url(c.png)}";
    let page = Page { url: &url, content_type: Some("text/css"), link_headers: &[], body };
    let facts = extract(&page, &Settings::default());
    let kinds: Vec<_> = facts.links.iter().map(|link| link.kind).collect();
    assert_eq!(kinds, [LinkKind::CssImport, LinkKind::CssUrl]);
    assert_eq!((facts.kind, facts.charset), (DocumentKind::Css, "windows-1252"));
}

#[test]
fn hops_have_the_letters_of_the_discovery_path() {
    let letters = [
        (LinkKind::Anchor, 'L'),
        (LinkKind::Canonical, 'L'),
        (LinkKind::Image, 'E'),
        (LinkKind::Frame, 'E'),
        (LinkKind::CssImport, 'E'),
        (LinkKind::Refresh, 'R'),
        (LinkKind::Sitemap, 'M'),
        (LinkKind::SitemapEntry, 'L'),
        (LinkKind::FeedEntry, 'L'),
    ];
    for (kind, letter) in letters {
        assert_eq!(kind.hop_letter(), letter, "{}", kind.as_str());
        assert_eq!(kind.is_embed(), letter == 'E');
    }
}

#[test]
fn a_field_for_a_password_is_noticed_in_a_form_of_any_method_and_outside_of_one() {
    for (body, want) in [
        ("<form method=post><input type=PASSWORD name=p></form>", true),
        ("<input name=p type=password>", true),
        ("<form><input name=q></form> password", false),
    ] {
        assert_eq!(page(body).password_field, want, "{body}");
    }
}
