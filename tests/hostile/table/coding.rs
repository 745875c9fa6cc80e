//! Content codings: sound, broken, stacked, and as a weapon.

use std::io::Write;
use std::sync::Arc;

use crate::hostile::site::{Speech, bad, raw};
use crate::hostile::world::{Case, case};

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
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

fn coded(coding: &str, body: Vec<u8>) -> Speech {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: {coding}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    let bytes = Arc::new([head.as_bytes(), &body].concat());
    bad(move || raw(&*bytes))
}

const PAGE: &[u8] = b"<a href=/found>some text, some text, some more text</a>";

pub(crate) fn cases() -> Vec<Case> {
    let zeros = vec![0; 16 << 20];
    let broken = "done 200 undecoded";
    let mut layers = PAGE.to_vec();
    (0..200).for_each(|_| layers = gzip(&layers));
    let mut bad_header = gzip(PAGE);
    bad_header[0] = 0;
    let mut bad_sum = gzip(PAGE);
    let end = bad_sum.len() - 6;
    bad_sum[end] ^= 1;
    let long = gzip(&PAGE.repeat(100));
    let mut cases = vec![
        case("gzip_bomb", "a page of zeros a thousand times its size", coded("gzip", gzip(&zeros)))
            .at("/bad", broken),
        case("x_bomb_nested", "a bomb within a bomb", coded("gzip, gzip", gzip(&gzip(&zeros))))
            .at("/bad", broken),
        case("x_bomb_br", "a bomb in brotli", coded("br", brotli(&zeros))).at("/bad", broken),
        case(
            "x_bomb_zstd",
            "a bomb in zstd",
            coded("zstd", zstd::stream::encode_all(&zeros[..], 3).unwrap()),
        )
        .at("/bad", broken),
        case("ce_chain", "200 layers of gzip", coded(&vec!["gzip"; 200].join(", "), layers))
            .at("/bad", broken),
        case("gzip_bad_header", "a broken gzip header", coded("gzip", bad_header))
            .at("/bad", broken),
        case("x_gzip_bad_sum", "a wrong checksum", coded("gzip", bad_sum))
            .at("/bad", broken)
            .asked("/found", 1..=1),
        case("x_gzip_cut", "gzip cut off", coded("gzip", long[..long.len() - 6].to_vec()))
            .at("/bad", broken)
            .asked("/found", 1..=1),
        case("x_gzip_lie", "says gzip, sends text", coded("gzip", PAGE.to_vec()))
            .at("/bad", broken),
        case("x_br_lie", "says br, sends gzip", coded("br", gzip(PAGE))).at("/bad", broken),
        case("ce_unknown", "a coding that does not exist", coded("utf-8", PAGE.to_vec()))
            .at("/bad", "done 200"),
        case(
            "x_gzip_two_members",
            "two gzip members in a row",
            coded("gzip", [gzip(&PAGE[..9]), gzip(&PAGE[9..])].concat()),
        )
        .at("/bad", "done 200")
        .asked("/found", 1..=1),
        case("x_gzip_empty", "says gzip, sends nothing", coded("gzip", Vec::new()))
            .at("/bad", "done 200"),
    ];
    for (id, does, coding, body) in [
        ("deflate_zlib", "deflate as zlib", "deflate", zlib(PAGE)),
        ("deflate_raw", "deflate without a frame", "deflate", raw_deflate(PAGE)),
        ("ce_x_gzip", "gzip by its old name", "x-gzip", gzip(PAGE)),
        ("x_ce_upper", "gzip in capitals", "GZIP", gzip(PAGE)),
        ("x_ce_stacked", "two codings on one another", "deflate, gzip", gzip(&zlib(PAGE))),
    ] {
        let case = case(id, does, coded(coding, body));
        cases.push(case.at("/bad", "done 200").asked("/found", 1..=1));
    }
    cases
}
