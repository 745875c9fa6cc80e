//! Which behaviour of a hostile server is tried by which test of this folder.
//!
//! Only those that concern one fetch or one resolution; what pages, robots.txt and traps contain is
//! judged elsewhere. `cargo test --test all behaviours -- --nocapture` prints the count; with
//! `CRAWLER_CONFORMANCE` naming a folder that holds `hostile_behaviours.json` it also prints which
//! of its behaviours are not here.

use std::collections::BTreeSet;

const TRIED: &[(&str, &[&str])] = &[
    ("cl_short_keeps_what_came_and_says_so", &["cl_short"]),
    ("cl_long_takes_the_length_and_no_more", &["cl_long"]),
    ("lengths_that_are_no_lengths_are_refused", &["cl_negative", "cl_letters", "cl_two_differ"]),
    ("equal_lengths_count_as_one", &["cl_comma_same"]),
    ("cl_enormous_allocates_nothing_by_its_word", &["cl_enormous"]),
    ("cl_and_chunked_reads_chunks_and_gives_the_connection_up", &["cl_and_chunked"]),
    ("broken_chunks_keep_what_came_before", &["chunk_bad_size"]),
    ("te_not_chunked_reads_to_the_end", &["te_not_chunked"]),
    ("transfer_codings_are_no_part_of_the_payload", &["te_gzip_chunked"]),
    ("a_closed_header_block_is_no_answer", &["eof_in_headers"]),
    ("header_blocks_are_bounded_in_bytes_and_in_fields", &["headers_20000", "cookie_bad"]),
    ("status_lines_of_nonsense_are_refused", &["status_http12", "http09"]),
    (
        "oddities_that_browsers_accept_are_accepted",
        &["header_dup_ct", "status_line_only", "status_999", "unasked_206", "auth_401"],
    ),
    ("interim_answers_are_passed_over_but_not_for_ever", &["early_hints"]),
    ("answers_without_a_body_have_none", &["no_content_body", "unasked_304"]),
    ("bytes_after_an_answer_are_never_the_next_answer", &["two_responses"]),
    ("bodies_that_come_too_slowly_keep_what_came", &["close_lie", "slow_body"]),
    ("headers_that_come_too_slowly_are_given_up", &["slow_headers", "port_blackhole"]),
    (
        "connections_that_end_before_an_answer_are_told_apart",
        &["close_no_answer", "port_close", "port_reset"],
    ),
    ("endless_bodies_are_cut_at_the_limit", &["infinite_body", "infinite_chunked", "body_300mb"]),
    ("bombs_stop_at_the_bound", &["gzip_bomb"]),
    ("long_chains_of_codings_are_refused", &["ce_chain"]),
    ("broken_codings_keep_the_bytes_and_say_so", &["gzip_bad_header"]),
    (
        "every_coding_that_is_asked_for_is_undone",
        &["deflate_zlib", "deflate_raw", "ce_unknown", "ce_x_gzip"],
    ),
    (
        "redirects_are_answers_like_others",
        &[
            "redir_300",
            "redir_301",
            "redir_303",
            "redir_305",
            "redir_306",
            "redir_308",
            "redir_none",
            "redir_empty",
            "redir_spaces",
            "redir_two",
            "redir_long",
            "redir_bigbody",
        ],
    ),
    (
        "no_spelling_of_an_inner_address_is_let_through",
        &[
            "ssrf_loopback",
            "ssrf_localhost",
            "ssrf_decimal",
            "ssrf_zero",
            "ssrf_v6",
            "ssrf_userinfo",
            "ssrf_dns",
            "ssrf_metadata",
            "ssrf_10",
        ],
    ),
    ("one_connection_serves_many_requests", &["ok"]),
    ("robots_have_limits_of_their_own", &["robots_r-endless", "robots_r-slow"]),
    ("a_refused_connection_fails_at_once_and_names_the_address", &["port_refused"]),
    ("an_address_that_never_answers_is_given_up", &["unroutable"]),
    (
        "bad_certificates_are_refused_and_told_from_other_trouble",
        &["tls_selfsigned", "tls_expired", "tls_wronghost"],
    ),
    ("handshakes_that_go_nowhere_are_given_up", &["tls_hang", "tls_old"]),
    ("http10_with_keep_alive_is_spoken_over_tls", &["tls_http10_keepalive"]),
    ("h2_ok_is_rendered_as_http1", &["h2_ok"]),
    (
        "servers_that_cannot_speak_http2_are_asked_again_in_http1",
        &["h2_goaway", "h2_badframe", "h2_pushpromise"],
    ),
    ("streams_that_break_off_keep_what_came", &["h2_stall", "h2_rst"]),
    ("floods_and_silence_end_in_bounded_time", &["h2_contflood", "h2_settingsflood"]),
    (
        "every_kind_of_answer_has_its_verdict",
        &[
            "dns_nxdomain",
            "dns_timeout",
            "dns_private",
            "dns_trunc",
            "dns_wrongid",
            "dns_v6only",
            "dns_invalid",
        ],
    ),
    ("a_name_that_is_bound_anew_does_not_move_a_fetch", &["dns_rebind"]),
];

const SOURCES: [&str; 8] = [
    include_str!("codings.rs"),
    include_str!("dns.rs"),
    include_str!("framing.rs"),
    include_str!("http2.rs"),
    include_str!("keepalive.rs"),
    include_str!("proxy.rs"),
    include_str!("slow.rs"),
    include_str!("tls.rs"),
];

#[test]
fn every_behaviour_is_tried_by_a_test_that_exists() {
    let mut tried = BTreeSet::new();
    for (test, behaviours) in TRIED {
        let head = format!("async fn {test}()");
        assert!(SOURCES.iter().any(|source| source.contains(&head)), "no test `{test}`");
        for behaviour in *behaviours {
            assert!(tried.insert(*behaviour), "`{behaviour}` stands here twice");
        }
    }
    println!("{} behaviours of hostile servers tried on loopback, all survived", tried.len());
    let Some(folder) = std::env::var_os("CRAWLER_CONFORMANCE") else { return };
    let file = std::path::Path::new(&folder).join("hostile_behaviours.json");
    let all: Vec<serde_json::Value> =
        serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let all: BTreeSet<&str> = all.iter().filter_map(|one| one["id"].as_str()).collect();
    let unknown: Vec<_> = tried.difference(&all).collect();
    assert!(unknown.is_empty(), "unknown: {unknown:?}");
    let elsewhere: Vec<_> = all.difference(&tried).copied().collect();
    println!("not here ({} of {}): {}", elsewhere.len(), all.len(), elsewhere.join(" "));
}
