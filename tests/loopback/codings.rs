//! Compression: sound, broken, cut off, stacked, and as a weapon.

use std::io::Write;

use crawler::fetch::Truncated;

use super::client::{Want, answered, check, fetcher, get, small};
use super::server::{Server, Step, answer};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder =
        flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn brotli(bytes: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    brotli::CompressorWriter::new(&mut encoded, 4096, 5, 20).write_all(bytes).unwrap();
    encoded
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 3).unwrap()
}

fn coded(coding: &str, body: &[u8]) -> Vec<Step> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    answer([head.as_bytes(), body].concat())
}

const TEXT: &[u8] = b"<p>some text, some text, some more text</p>";

#[tokio::test]
async fn every_coding_that_is_asked_for_is_undone() {
    for (name, coding, body) in [
        ("gzip", "gzip", gzip(TEXT)),
        ("ce_x_gzip", "x-gzip", gzip(TEXT)),
        ("ce_upper", "GZIP", gzip(TEXT)),
        ("deflate_zlib", "deflate", zlib(TEXT)),
        ("deflate_raw", "deflate", raw_deflate(TEXT)),
        ("br", "br", brotli(TEXT)),
        ("zstd", "zstd", zstd(TEXT)),
        ("stacked", "deflate, gzip", gzip(&zlib(TEXT))),
        ("gzip_padded", "gzip", [gzip(TEXT), vec![0; 64]].concat()),
        ("gzip_two_members", "gzip", [gzip(&TEXT[..9]), gzip(&TEXT[9..])].concat()),
        ("identity", "identity", TEXT.to_vec()),
        ("none", "none", TEXT.to_vec()),
        ("ce_unknown", "utf-8", TEXT.to_vec()),
    ] {
        check(name, coded(coding, &body), Want::Body(200, TEXT, None)).await;
    }
}

#[tokio::test]
async fn the_archive_keeps_the_coding() {
    let body = gzip(TEXT);
    let server = Server::playing(coded("gzip", &body)).await;
    let got = answered(get(&fetcher(&small()), &server.url("/")).await);
    assert_eq!((&got.wire_body, &got.payload), (&body.clone().into(), &body.into()));
    assert_eq!(got.wire_body.as_ptr(), got.payload.as_ptr(), "no copy");
    assert_eq!(got.body, TEXT);
}

#[tokio::test]
async fn broken_codings_keep_the_bytes_and_say_so() {
    let broken = Some(Truncated::Undecoded);
    for coding in ["gzip", "deflate", "br", "zstd"] {
        check(coding, coded(coding, b"not compressed!"), Want::Body(200, b"", broken)).await;
    }
    let mut bad_header = gzip(TEXT);
    bad_header[0] = 0;
    check("gzip_bad_header", coded("gzip", &bad_header), Want::Body(200, b"", broken)).await;
    let mut bad_sum = gzip(TEXT);
    let end = bad_sum.len() - 6;
    bad_sum[end] ^= 1;
    check("gzip_bad_sum", coded("gzip", &bad_sum), Want::Body(200, TEXT, broken)).await;
    let whole = gzip(&TEXT.repeat(100));
    let cut = coded("gzip", &whole[..whole.len() - 6]);
    check("gzip_cut", cut, Want::Body(200, &TEXT.repeat(100).leak()[..], broken)).await;
}

#[tokio::test]
async fn empty_bodies_need_no_decoder() {
    for coding in ["gzip", "deflate", "br", "zstd"] {
        check(coding, coded(coding, b""), Want::Body(200, b"", None)).await;
    }
}

#[tokio::test]
async fn bombs_stop_at_the_bound() {
    let zeros = vec![0; 16 << 20];
    for (name, coding, bomb) in [
        ("gzip_bomb", "gzip", gzip(&zeros)),
        ("gzip_bomb_nested", "gzip, gzip", gzip(&gzip(&zeros))),
        ("br_bomb", "br", brotli(&zeros)),
        ("zstd_bomb", "zstd", zstd(&zeros)),
    ] {
        // Small settings: 256 KiB, 250 bytes out for one in, 16 KiB free of that.
        let bound = (bomb.len() * 250).clamp(16 * 1024, 256 * 1024);
        let want = Want::Len(200, bound, Some(Truncated::Undecoded));
        check(name, coded(coding, &bomb), want).await;
    }
}

#[tokio::test]
async fn long_chains_of_codings_are_refused() {
    let mut body = TEXT.to_vec();
    for _ in 0..200 {
        body = gzip(&body);
    }
    let chain = vec!["gzip"; 200].join(", ");
    check("ce_chain", coded(&chain, &body), Want::Body(200, b"", Some(Truncated::Undecoded))).await;
    let four = gzip(&gzip(&gzip(&gzip(TEXT))));
    let script = coded("gzip,gzip,gzip,gzip", &four);
    check("ce_four", script, Want::Body(200, b"", Some(Truncated::Undecoded))).await;
}

#[tokio::test]
async fn transfer_codings_are_no_part_of_the_payload() {
    let body = gzip(TEXT);
    let chunked = [format!("{:x}\r\n", body.len()).as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n";
    let server = Server::playing(answer([head, &chunked[..]].concat())).await;
    let got = answered(get(&fetcher(&small()), &server.url("/")).await);
    assert_eq!((&got.payload[..], &got.body[..], got.truncated), (TEXT, TEXT, None));
    assert_eq!(got.wire_body, chunked);
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n";
    let plain = answer([head, &body[..]].concat());
    check("te_gzip", plain, Want::Body(200, TEXT, None)).await;
}
