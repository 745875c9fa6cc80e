//! Which parts of a host are taken for endless, and which are not.

use super::*;
use crate::content::shingle::mix;

fn new(n: u64) -> Brought {
    Brought { core_digest: mix(n), ..Brought::default() }
}

fn repeat(n: u64) -> Brought {
    Brought { core_digest: mix(n % 5), repeat: true, ..Brought::default() }
}

/// Notes `pages` pages; returns after how many each level was first reached.
fn run(
    host: &mut HostTrap,
    pages: u64,
    mut page: impl FnMut(u64) -> (Option<u64>, Brought),
) -> [Option<u64>; 4] {
    let mut reached = [None; 4];
    for n in 0..pages {
        let (section, brought) = page(n);
        for change in host.note(section, &brought, &TrapSettings::default()) {
            reached[change.to as usize].get_or_insert(n + 1);
        }
    }
    reached
}

#[test]
fn a_trap_is_slowed_then_put_last_then_parked() {
    let mut host = HostTrap::default();
    let reached = run(&mut host, 200, |n| (None, repeat(n)));
    assert_eq!(reached, [None, Some(14), Some(35), Some(105)]);
    assert_eq!(host.level(None), Level::Parked);
}

#[test]
fn a_trap_with_a_little_new_text_is_parked_too() {
    let mut host = HostTrap::default();
    let page = |n| if mix(n).is_multiple_of(50) { new(n) } else { repeat(n) };
    let [_, slowed, _, parked] = run(&mut host, 1000, |n| (None, page(n)));
    assert!(slowed.unwrap() < 60 && parked.unwrap() < 400, "{slowed:?} {parked:?}");
}

#[test]
fn a_trap_is_recognised_by_its_own_texts_without_being_told() {
    let mut host = HostTrap::default();
    let page = |n: u64| Brought { core_digest: mix(n % 12), ..Brought::default() };
    let reached = run(&mut host, 300, |n| (None, page(n)));
    assert!(reached[Level::Parked as usize].unwrap() < 150);
}

#[test]
fn a_large_healthy_archive_is_not_mistaken_for_a_trap() {
    // Share of new text, and the worst that may happen over 100,000 pages.
    for (share, worst) in
        [(100, Level::Healthy), (90, Level::Healthy), (70, Level::Slowed), (50, Level::LowPriority)]
    {
        for seed in 0..5 {
            let mut host = HostTrap::default();
            let is_new = |n: u64| mix(n ^ (seed << 50)) % 100 < share;
            let page = |n| if is_new(n) { new(n) } else { repeat(n) };
            let mut seen = Level::Healthy;
            for n in 0..100_000 {
                host.note(None, &page(n), &TrapSettings::default());
                seen = seen.max(host.level(None));
            }
            assert!(seen <= worst, "{seen:?} at {share} %");
        }
    }
}

#[test]
fn a_repository_browsed_at_every_commit_is_crawled_to_its_end() {
    // Four pages in ten are those of another commit, most others lists of known files in other
    // company, and their addresses are ever more.
    let shown = |n: u64| Sample(std::array::from_fn(|at| (mix(n % 90) >> 32) as u32 + at as u32));
    for seed in 0..5 {
        let mut host = HostTrap::default();
        let page = |n: u64| match mix(n ^ (seed << 50)) % 100 {
            0..40 => repeat(n),
            40..97 => Brought { sample: shown(n), ..new(n) },
            _ => new(n),
        };
        for n in 0..10_000 {
            let brought = Brought { waiting: Some(n), ..page(n) };
            host.note(Some(1), &brought, &TrapSettings::default());
            assert!(host.worst() < Level::Parked, "after {n} pages");
        }
    }
}

#[test]
fn a_section_is_judged_anew_a_few_times_and_no_more() {
    let (mut host, settings) = (HostTrap::default(), TrapSettings::default());
    let (page, view) = ("/view/page", section_of("/view/page"));
    assert_eq!(host.reprieve(page, &settings), None);
    for _ in 0..REPRIEVES_MAX {
        (0..105).for_each(|n| _ = host.note(view, &repeat(n), &settings));
        assert_eq!(host.level(view), Level::Parked);
        assert_eq!(host.reprieve("/other/page", &settings), None);
        let change = host.reprieve(page, &settings).unwrap();
        assert_eq!((change.section, change.from), (view, Level::Parked));
        assert_eq!(host.level(view), change.to);
        assert!(change.to < Level::Parked);
    }
    (0..105).for_each(|n| _ = host.note(view, &repeat(n), &settings));
    assert_eq!(HostTrap::decode(&host.encode()), Some(host.clone()));
    assert_eq!(host.reprieve(page, &settings), None);
    assert_eq!(host.level(view), Level::Parked);
}

#[test]
fn words_of_addresses_are_fresh_once_and_too_many_are_never_fresh() {
    let mut host = HostTrap::default();
    let mut is_fresh = |address: &str| host.note_address(address) == Novelty::Word;
    assert!(is_fresh("/tree/lib/a.txt?id=1"));
    assert!(is_fresh("/log/lib/b.txt?id=2"));
    assert!(!is_fresh("/log/lib/a.txt?id=2"));
    assert!(!is_fresh("/"));
    let fresh = (0..10_000).filter(|n| is_fresh(&format!("/view/{n}"))).count();
    assert!((1900..WORDS_MAX).contains(&fresh), "{fresh}");
    assert!(!is_fresh("/view/another"));
    assert_eq!(HostTrap::decode(&host.encode()), Some(host));
}

#[test]
fn mixtures_are_worth_a_fetch_while_words_meet_that_have_not_met() {
    // Old text in another company, wherever one looks; addresses of four words each.
    let shown = |n: u64| Sample(std::array::from_fn(|at| (mix(n % 90) >> 32) as u32 + at as u32));
    let parked_after = |words: u64, address: &dyn Fn(u64) -> String| {
        let mut host = HostTrap::default();
        (0..60_000).position(|n| {
            let address = host.note_address(&address(n));
            let page = Brought { sample: shown(n), address, ..new(n) };
            host.note(Some(1), &page, &TrapSettings::default());
            assert!(host.words.len() as u64 <= words);
            if n % 9_999 == 0 {
                assert_eq!(HostTrap::decode(&host.encode()).as_ref(), Some(&host));
            }
            host.worst() == Level::Parked
        })
    };
    let views = ["log", "tree", "diff", "commit"];
    let repository = |n: u64| {
        let (commit, file, view) = (n / 4 / 100, n / 4 % 100, views[n as usize % 4]);
        format!("/git/{view}/file-{file}?id={commit}")
    };
    assert_eq!(parked_after(1 + 4 + 100 + 150, &repository), None);
    // One whose parameters stand between semicolons, as gitweb writes them.
    let between = |n: u64| {
        let (commit, file, view) = (n / 4 / 100, n / 4 % 100, views[n as usize % 4]);
        format!("/git?a={view};f=file-{file};id={commit}")
    };
    assert_eq!(parked_after(1 + 4 + 100 + 150, &between), None);
    // Eight facets of ten values each: a hundred million addresses, of eighty words.
    let shop = |n: u64| {
        let chosen = (0..8).map(|facet| format!("f{facet}={}", mix(n * 8 + facet) % 10));
        format!("/shop?{}", chosen.collect::<Vec<_>>().join("&"))
    };
    let after = parked_after(81, &shop).unwrap();
    assert!(after < 20_000, "{after}");
}

/// Lists in every order and with every filter, of which rules hid all exact repeats, went on
/// without end: what was left were new mixtures.
#[test]
fn what_rules_hide_counts_among_the_mixtures_of_a_host() {
    let shown = |n: u64| Sample(std::array::from_fn(|at| (mix(n % 90) >> 32) as u32 + at as u32));
    let parked_after = |hidden: u64| {
        let mut host = HostTrap::default();
        run(&mut host, 100, |n| (Some(1), new(n)));
        let after = (0..20_000).position(|n| {
            (0..hidden).for_each(|_| host.note_hidden());
            let chosen = (0..8).map(|facet| format!("f{facet}={}", mix(n * 8 + facet) % 10));
            let address = format!("/shop?{}", chosen.collect::<Vec<_>>().join("&"));
            let page = Brought {
                sample: shown(n),
                address: host.note_address(&address),
                ..new(n + 1_000)
            };
            host.note(Some(1), &page, &TrapSettings::default());
            host.worst() == Level::Parked
        });
        assert_eq!(HostTrap::decode(&host.encode()), Some(host));
        after.unwrap_or(usize::MAX)
    };
    let (bare, hidden) = (parked_after(0), parked_after(20));
    assert!(hidden < 3_000 && bare > 2 * hidden, "{hidden} for {bare}");
}

#[test]
fn a_wall_that_pages_are_sent_to_is_parked_though_ever_fewer_wait() {
    let after = |walled: bool| {
        let mut host = HostTrap::default();
        let wall = Brought { walled, junk: true, ..repeat(0) };
        (0..1_000).position(|n| {
            let brought = Brought { waiting: Some(2_000 - n), ..wall };
            host.note(Some(1), &brought, &TrapSettings::default());
            host.level(Some(1)) == Level::Parked
        })
    };
    assert_eq!((after(true), after(false)), (Some(26), None));
    // Three sections with some each are no reason to leave the host.
    let mut host = HostTrap::default();
    run(&mut host, 36, |n| (Some(n % 3 + 1), Brought { walled: true, junk: true, ..repeat(0) }));
    assert!(host.level(None) < Level::Parked && host.level(Some(1)) < Level::Parked);
}

#[test]
fn a_parked_section_is_seen_again_now_and_then_and_comes_back_with_new_text() {
    let mut host = HostTrap::default();
    run(&mut host, 105, |n| (Some(1), repeat(n)));
    assert_eq!(host.level(Some(1)), Level::Parked);
    assert!(host.samples(Some(2), 1), "another section is not sampled but fetched");
    let mut fetched = 0;
    for n in 0..100_000 {
        if host.samples(Some(1), mix(n)) {
            host.note(Some(1), &repeat(n), &TrapSettings::default());
            fetched += 1;
        }
    }
    assert!((5..40).contains(&fetched), "{fetched} of 100,000");
    let bytes = host.encode();
    let mut host = HostTrap::decode(&bytes).unwrap();
    assert_eq!(host.encode(), bytes);
    run(&mut host, 5, |n| (Some(1), new(n + 100)));
    assert!(host.level(Some(1)) < Level::Parked);
}

/// Notes a page of a host that keeps everything under one name.
fn show(host: &mut HostTrap, target: &str, page: Brought) -> Vec<Transition> {
    let page = Brought { shape: Some(shape_of(target)), ..page };
    host.note(section_of(target), &page, &TrapSettings::default())
}

#[test]
fn posts_are_fetched_to_the_last_though_the_lists_around_them_park_their_section() {
    let mut host = HostTrap::default();
    let list = |n: u64| format!("/admin/post/?sort={n}&desc=1");
    let post = |n: u64| format!("/admin/post/details/?id={n}");
    for n in 0..20 {
        show(&mut host, &post(n), new(n));
    }
    (0..400).for_each(|n| drop(show(&mut host, &list(n), repeat(n))));
    assert_eq!(host.level(section_of("/admin/post/")), Level::Parked);
    let left_out = |host: &HostTrap, url: &dyn Fn(u64) -> String| {
        (0..1_000).filter(|n| host.leaves_out(&url(*n), mix(*n))).count()
    };
    assert_eq!(left_out(&host, &post), 0);
    assert!(left_out(&host, &list) > 900);
    // They say nothing of the lists, and these are seen now and then as before.
    (100..400).for_each(|n| assert_eq!(show(&mut host, &post(n), new(n)), []));
    assert_eq!(host.level(section_of("/admin/post/")), Level::Parked);
    assert_eq!(HostTrap::decode(&host.encode()), Some(host.clone()));
    // Once they bring nothing they are left out as well.
    (0..300).for_each(|n| drop(show(&mut host, &post(n), repeat(n))));
    assert!(left_out(&host, &post) > 900);
}

#[test]
fn a_shape_that_is_found_in_a_parked_section_is_tried() {
    let mut host = HostTrap::default();
    (0..200).for_each(|n| drop(show(&mut host, &format!("/a/?page={n}"), repeat(n))));
    let note = |n: u64| format!("/a/note/{n}/text");
    assert!(!host.leaves_out(&note(1), 1), "nothing is known of it");
    assert_eq!(show(&mut host, &note(1), new(1_001)), []);
    let spared = show(&mut host, &note(2), new(1_002));
    assert_eq!((spared[0].from, spared[0].to), (Level::Parked, Level::LowPriority));
    assert_eq!(spared[0].section, section_of("/a/"), "what was refused is looked at again");
    assert!(!host.leaves_out(&note(3), 3));
    // Ever new shapes are not tried for ever.
    let mut tried = 0;
    for n in 0..10_000u64 {
        let name = |n: u64| char::from(b'a' + (n % 26) as u8);
        let url = format!("/a/{}{}{}/x", name(n), name(n / 26), name(n / 676));
        if !host.leaves_out(&url, mix(n)) {
            show(&mut host, &url, repeat(n));
            tried += 1;
        }
    }
    assert!(tried < 2 * SHAPES_MAX, "{tried}");
    assert!(host.shapes.len() <= SHAPES_MAX);
}

#[test]
fn the_facets_of_one_script_do_not_use_up_what_others_are_tried_by() {
    let mut host = HostTrap::default();
    let facet = |n: u64| format!("/cgi/list?by{}=1", char::from(b'a' + (n % 26) as u8));
    let both = |n: u64| format!("{}&then{}=1", facet(n), char::from(b'a' + (n / 26) as u8));
    (0..200).for_each(|n| drop(show(&mut host, &both(n), repeat(n))));
    assert_eq!(host.level(section_of("/cgi/list?x=1")), Level::Parked);
    assert!(host.leaves_out("/cgi/list?other=1", 1), "of one script many were seen");
    assert!(!host.leaves_out("/cgi/report?of=1", 1), "nothing is known of it");
    show(&mut host, "/cgi/report?of=1", new(1_001));
    let host = HostTrap::decode(&host.encode()).unwrap();
    assert_eq!(host.tried, 1);
    assert!(!host.leaves_out("/cgi/history?of=1", 1));
}

#[test]
fn new_text_speaks_for_the_section_that_led_to_it() {
    let mut host = HostTrap::default();
    let (lists, notes) = (section_of("/lists/1"), section_of("/notes/1"));
    run(&mut host, 105, |n| (lists, repeat(n)));
    assert_eq!(host.level(lists), Level::Parked);
    run(&mut host, 3, |n| (notes, Brought { found_in: lists, ..repeat(n) }));
    assert_eq!(host.level(lists), Level::Parked, "not what is known");
    let led_to = |n: u64| Brought { found_in: lists, ..new(n + 100) };
    let reached = run(&mut host, 3, |n| (notes, led_to(n)));
    assert!(host.level(lists) < Level::Parked, "{reached:?}");
}

#[test]
fn a_shape_is_directories_and_names_of_parameters() {
    assert_eq!(shape_of("/a/1/x.html"), shape_of("/A/22/y.html"));
    assert_ne!(shape_of("/a/b/x"), shape_of("/a/c/x"));
    assert_eq!(shape_of("/a/b/c/d/x"), shape_of("/a/b/c/e/x"));
    assert_eq!(shape_of("/v.php?a=1&b=2"), shape_of("/v.php?b=3&a=4"));
    assert_eq!(shape_of("/v.php?a=1;b=2"), shape_of("/v.php?b=3;a=4"));
    assert_ne!(shape_of("/v.php?a=1"), shape_of("/w.php?a=1"));
    assert_ne!(shape_of("/v.php?a=1"), shape_of("/v.php?a=1&c=1"));
    assert_ne!(shape_of("/"), shape_of("/a/"));
}

#[test]
fn a_calendar_is_parked_without_the_archive_around_it() {
    let mut host = HostTrap::default();
    let (calendar, archive) = (section_of("/calendar/2024/05"), section_of("/papers/1"));
    // The calendar grows faster than the archive: four links in five are its own.
    let page = |n| if n % 5 == 0 { (archive, new(n)) } else { (calendar, repeat(n)) };
    run(&mut host, 2000, page);
    assert_eq!(host.level(calendar), Level::Parked);
    assert!(host.level(archive) <= Level::Slowed);
    assert!(host.level(None) <= Level::Slowed);
    run(&mut host, 50, |n| (archive, new(n + 10_000)));
    assert_eq!(host.level(archive), Level::Healthy);
}

#[test]
fn a_trap_that_spreads_over_many_sections_parks_the_host() {
    let mut host = HostTrap::default();
    let reached = run(&mut host, 2000, |n| (Some(n / 3 + 1), repeat(n)));
    assert!(reached[Level::Parked as usize].unwrap() <= 110);
    assert_eq!(host.sections.len(), SECTIONS_MAX);
}

#[test]
fn a_gallery_of_thin_pages_is_put_last_at_worst() {
    let mut host = HostTrap::default();
    run(&mut host, 5000, |n| (None, Brought { thin: true, ..new(n) }));
    assert_eq!(host.level(None), Level::LowPriority);
}

#[test]
fn repeats_that_come_to_an_end_by_themselves_park_nobody() {
    // A file server shows every directory in nine orders. Once parked, it never showed the
    // rest.
    let mut host = HostTrap::default();
    let settings = TrapSettings::default();
    let mut note = |page: Brought, waiting| {
        host.note(Some(1), &Brought { waiting: Some(waiting), ..page }, &settings);
        host.worst()
    };
    (0..200).for_each(|n| assert_eq!(note(new(n), n * 8), Level::Healthy));
    // The first four orders of each lead to the other four; then it is only ever fewer.
    (0..150).for_each(|n| assert!(note(repeat(n), 1600) < Level::Parked));
    (0..1600).for_each(|n| assert!(note(repeat(n), 1600 - n) < Level::Parked));
    let parked = (0..250).position(|n| note(repeat(n), 700) == Level::Parked);
    assert_eq!(parked, Some(200), "as many repeats without end as texts before");
}

#[test]
fn a_list_that_is_worked_off_parks_nobody_though_it_was_read_after_the_last_new_text() {
    // Pages of photographs: four of the host have text, twelve lists of 25 and what they list
    // have none.
    let mut host = HostTrap::default();
    let mut note = |page: Brought, waiting| {
        let page = Brought { waiting: Some(waiting), ..page };
        host.note(Some(1), &page, &TrapSettings::default());
        host.worst()
    };
    (0..4).for_each(|n| assert_eq!(note(new(n), 12), Level::Healthy));
    (0..12).for_each(|n| assert!(note(repeat(n), 12 + 24 * n) < Level::Parked));
    (0..300).for_each(|n| assert!(note(repeat(n), 300 - n) < Level::Parked, "{n}"));
    // Lists for ever are parked: each leads to another, and to 24 addresses of nothing new.
    let wave = |n: u64| 300 - n % 25;
    let parked = (0..600).position(|n| note(repeat(n), wave(n)) == Level::Parked);
    assert!(parked.is_some_and(|after| after < 200), "{parked:?}");
}

#[test]
fn pages_of_the_same_words_that_differ_in_numbers_are_parked_late_or_never() {
    let parked_after = |page: &dyn Fn(u64) -> Figures| {
        let mut host = HostTrap::default();
        (0..5000).position(|n| {
            let brought = Brought { figures: page(n), thin: true, ..Brought::default() };
            host.note(Some(1), &brought, &TrapSettings::default());
            if n % 999 == 0 {
                assert_eq!(HostTrap::decode(&host.encode()).as_ref(), Some(&host));
            }
            host.worst() == Level::Parked
        })
    };
    assert_eq!(parked_after(&|n| Figures::drawn(n, FIGURES_MANY)), None);
    let few = parked_after(&|n| Figures::drawn(n, 3)).unwrap();
    assert!((1000..1200).contains(&few), "{few}");
    // The days of a month are no news for ever.
    let month = parked_after(&|n| Figures::drawn(n % 12, 40)).unwrap();
    assert!(month < 200, "{month}");
    assert!(parked_after(&|_| Figures::default()).unwrap() < 110);
}

#[test]
fn photographs_speak_for_the_pages_that_lead_to_them() {
    let mut host = HostTrap::default();
    for n in 0..1000 {
        host.note(Some(1), &repeat(n), &TrapSettings::default());
        host.note_payload(Some(1), &TrapSettings::default());
        assert!(host.worst() < Level::Parked);
    }
    let [_, _, _, parked] = run(&mut host, 200, |n| (Some(1), repeat(n)));
    assert_eq!(parked, Some(105));
    let back = (0..9).find_map(|_| host.note_payload(Some(1), &TrapSettings::default()).pop());
    assert_eq!(back.map(|change| (change.section, change.from)), Some((Some(1), Level::Parked)));
}

#[test]
fn new_text_brings_a_host_back() {
    let mut host = HostTrap::default();
    run(&mut host, 1000, |n| (None, repeat(n)));
    assert_eq!(host.level(None), Level::Parked);
    run(&mut host, 60, |n| (None, new(n + 100)));
    assert_eq!(host.level(None), Level::Healthy);
    run(&mut host, 1000, |n| (None, repeat(n)));
    host.forgive();
    assert_eq!(host.level(None), Level::Healthy);
}

#[test]
fn evidence_survives_its_encoding_and_nothing_else_is_taken_for_it() {
    let mut host = HostTrap::default();
    for pages in [0, 5, 3000] {
        run(&mut host, pages, |n| (Some(n % 40 + 1), if n % 3 == 0 { new(n) } else { repeat(n) }));
        let bytes = host.encode();
        assert_eq!(HostTrap::decode(&bytes).as_ref(), Some(&host));
        assert!(bytes.len() < 7 * 1024, "{}", bytes.len());
        assert_eq!(HostTrap::decode(&bytes[..bytes.len() - 1]), None);
    }
    assert_eq!(HostTrap::decode(&[1; 12]), None);
}

#[test]
fn sections_are_first_segments_with_numbers_alike() {
    assert_eq!(section_of("/2023/05/a"), section_of("/2024/11/b"));
    assert_eq!(section_of("/Calendar/a"), section_of("/calendar/b?x=1"));
    assert_ne!(section_of("/papers/a"), section_of("/calendar/a"));
    assert_eq!(section_of("/about.html"), None);
    assert_eq!(section_of("/cal.php?d=1"), section_of("/cal.php?d=2"));
    assert_eq!(section_of("/"), None);
}

#[test]
fn a_reason_has_its_figures() {
    let mut host = HostTrap::default();
    let mut last = None;
    for n in 0..14 {
        last = host.note(None, &repeat(n), &TrapSettings::default()).pop();
    }
    let reason = last.unwrap().reason;
    assert_eq!(reason, "0 % of its last 14 pages had new text, of 14 in all");
}

use crate::content::pages::{Chance, OwnBlock, Site, article, borrowed, edit, text, written};
use crate::content::{BlockKind, Content, Page, Room, Settings, SiteModel};

/// Crawls `pages` pages of a made-up host through the whole content stage; returns after how
/// many pages each level was first reached, and how many pages of text the host had brought.
fn crawl(pages: u64, page: impl Fn(u64) -> (String, Vec<OwnBlock>)) -> ([Option<u64>; 4], Level) {
    let (mut model, mut content) = (SiteModel::default(), Content::new(Settings::default()));
    let (mut host, mut seen) = (HostTrap::default(), std::collections::BTreeSet::new());
    let mut reached = [None; 4];
    for n in 0..pages {
        let (target, blocks) = page(n);
        let blocks = borrowed(&blocks);
        let known = model.boilerplate();
        let page = Page { blocks: &blocks, target: &target, ..Page::default() };
        let analysis = content.analyse(&page, &known);
        model.observe(&analysis, content.settings(), Room::Ample);
        let brought = Brought {
            core_digest: analysis.core_digest,
            sample: analysis.sample,
            figures: analysis.figures,
            repeat: !seen.insert(analysis.text_digest) && !analysis.thin,
            thin: analysis.thin,
            address: host.note_address(&target),
            ..Brought::default()
        };
        for change in host.note(section_of(&target), &brought, &TrapSettings::default()) {
            reached[change.to as usize].get_or_insert(n + 1);
        }
    }
    (reached, host.level(section_of(&page(pages - 1).0)))
}

fn said(text: String) -> OwnBlock {
    OwnBlock::own(text, BlockKind::Paragraph)
}

/// Checks that a trap is parked within `most` pages.
fn check_trap(name: &str, most: u64, page: impl Fn(u64) -> (String, Vec<OwnBlock>)) {
    let (reached, level) = crawl(most, page);
    assert_eq!(level, Level::Parked, "{name} {reached:?}");
}

#[test]
fn traps_of_many_kinds_are_parked() {
    let site = Site::new(77);
    let goods: Vec<String> = (0..60).map(|n| written(&text(n << 8, 9), site.script)).collect();
    check_trap("calendar", 200, |n| {
        let (year, month) = (2000 + n / 12, n % 12 + 1);
        let mut days = vec![said(format!("Calendar {month} {year}"))];
        days.extend((1..=28).map(|day| OwnBlock::own(format!("{day}"), BlockKind::Cell)));
        (format!("/calendar/{year}/{month}"), site.page(&days, n))
    });
    check_trap("days with a clock", u64::from(FIGURES_FREE) + 200, |n| {
        let hours = (0..24).map(|hour| OwnBlock::own(format!("{hour} 00"), BlockKind::Cell));
        let mut day = vec![said(format!("Day {n} of this calendar"))];
        day.extend(hours);
        day.push(said(format!("It is now {} {} {}", n / 60 % 24, n % 60, mix(n) % 1000)));
        (format!("/day/{n}"), site.page(&day, n))
    });
    check_trap("session ids", 200, |n| {
        let own = article(&text(n % 30, 300), site.script, n % 30);
        (format!("/s{:x}/page{}", mix(n), n % 30), site.page(&own, n))
    });
    check_trap("facets", 400, |n| {
        let mut chance = Chance(n);
        let mut shown = goods.clone();
        chance.shuffle(&mut shown);
        shown.truncate(10 + chance.below(10) as usize);
        let items = shown.into_iter().map(|good| OwnBlock::own(good, BlockKind::ListItem));
        let items: Vec<OwnBlock> = items.collect();
        (format!("/shop?order={n}"), site.page(&items, n))
    });
    check_trap("edited on every visit", 500, |n| {
        let own = article(&edit(&text(n % 20, 300), 0.02, n), site.script, n);
        (format!("/view/{n}"), site.page(&own, n))
    });
}

#[test]
fn healthy_hosts_of_many_kinds_are_left_alone() {
    let site = Site::new(78);
    let check = |name: &str, worst: Level, page: &dyn Fn(u64) -> (String, Vec<OwnBlock>)| {
        let (reached, _) = crawl(3000, page);
        let worst_reached = reached.iter().rposition(Option::is_some).unwrap_or(0);
        assert!(worst_reached <= worst as usize, "{name} {reached:?}");
    };
    let of = |n: u64, words: usize| article(&text(n << 9, words), site.script, n);
    check("archive", Level::Healthy, &|n| {
        (format!("/papers/{n}"), site.page(&of(n, 80 + (n % 300) as usize), n))
    });
    check("archive of short notes", Level::Healthy, &|n| {
        (format!("/notes/{n}"), site.page(&of(n, 30), n))
    });
    check("results of matches, a table a day", Level::Slowed, &|n| {
        let mut chance = Chance(n);
        let mut rows = vec![said(format!("Results of day {n}"))];
        let mut cell = |text: String| rows.push(OwnBlock::own(text, BlockKind::Cell));
        for club in 0..12 {
            cell(written(&text(club << 7, 1), site.script));
            (0..4).for_each(|_| cell(format!("{}", chance.below(100))));
        }
        (format!("/day/{n}"), site.page(&rows, n))
    });
    check("archive with a print view of every second page", Level::Slowed, &|n| {
        let which = if n % 3 == 2 { n - 1 } else { n };
        (format!("/papers/{n}"), site.page(&of(which, 200), n))
    });
}
