//! Content and transfer codings: gzip, deflate, br and zstd, undone within bounds.
//!
//! Works on bodies that are wholly in memory, since the wire limit bounds them. A broken or endless
//! stream yields what came out before.

use std::io::Read;

use bytes::Bytes;

/// One compression that a body can be wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    fn named(token: &str) -> Option<Coding> {
        let known = [
            ("gzip", Coding::Gzip),
            ("x-gzip", Coding::Gzip),
            ("deflate", Coding::Deflate),
            ("br", Coding::Brotli),
            ("zstd", Coding::Zstd),
        ];
        known.iter().find(|(name, _)| name.eq_ignore_ascii_case(token)).map(|(_, coding)| *coding)
    }
}

/// What the fields of one coding header ask for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Codings {
    /// To be undone in this order.
    Known(Vec<Coding>),
    /// More layers than allowed.
    TooMany,
}

/// Reads the values of `Content-Encoding` or `Transfer-Encoding`.
///
/// `identity`, `none`, `chunked` and unknown tokens count as no coding, as in browsers: servers
/// write `utf-8` here and mean nothing by it.
pub(super) fn codings<'a>(values: impl Iterator<Item = &'a [u8]>, max: usize) -> Codings {
    let mut codings = Vec::new();
    for value in values {
        let Ok(value) = std::str::from_utf8(value) else { continue };
        for coding in value.split(',').filter_map(|token| Coding::named(token.trim())) {
            if codings.len() == max {
                return Codings::TooMany;
            }
            codings.push(coding);
        }
    }
    codings.reverse();
    Codings::Known(codings)
}

/// Bounds of what may come out of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Bytes at most.
    pub(super) bytes_max: usize,
    /// Bytes out per byte in at most, once more than `ratio_free` came out.
    pub(super) ratio_max: u32,
    /// Bytes that are free of that rule.
    pub(super) ratio_free: usize,
}

impl Bounds {
    /// Returns how much may come out of so many bytes.
    pub(super) fn output_max(&self, input: usize) -> usize {
        let by_ratio = input.saturating_mul(self.ratio_max as usize).max(self.ratio_free);
        by_ratio.min(self.bytes_max)
    }
}

/// A body with its codings undone.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decoded {
    pub(super) body: Bytes,
    /// False if a coding was broken, cut off or exceeded its bounds; `body` is what came before.
    pub(super) whole: bool,
}

/// Undoes `codings` in their order.
pub(super) fn decode(payload: &Bytes, codings: &[Coding], bounds: Bounds) -> Decoded {
    let output_max = bounds.output_max(payload.len());
    let mut decoded = Decoded { body: payload.clone(), whole: true };
    for coding in codings {
        if decoded.body.is_empty() {
            // Nothing to undo: servers announce codings on empty bodies too.
            break;
        }
        let layer = undo(*coding, &decoded.body, output_max);
        decoded = Decoded { whole: decoded.whole && layer.whole, body: layer.body };
    }
    decoded
}

fn undo(coding: Coding, input: &[u8], output_max: usize) -> Decoded {
    let mut output = Output::new(input.len(), output_max);
    let whole = match coding {
        Coding::Gzip => gunzip(input, &mut output),
        Coding::Deflate => inflate(input, &mut output),
        Coding::Brotli => output.drain(brotli::Decompressor::new(input, BUFFER.min(input.len()))),
        Coding::Zstd => match zstd::stream::read::Decoder::with_buffer(input) {
            Ok(mut decoder) => {
                decoder.window_log_max(ZSTD_WINDOW_LOG_MAX).is_ok() && output.drain(decoder)
            }
            Err(_) => false,
        },
    };
    Decoded { body: output.bytes.into(), whole }
}

const BUFFER: usize = 16 * 1024;
// 8 MiB, which RFC 9659 makes the most that an encoder may ask of a web client.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// Undoes one gzip member after the other; what follows the last one is padding and left out.
fn gunzip(input: &[u8], output: &mut Output) -> bool {
    let mut rest = input;
    loop {
        let mut decoder = flate2::bufread::GzDecoder::new(rest);
        if !output.drain(&mut decoder) {
            return false;
        }
        rest = decoder.into_inner();
        if !rest.starts_with(&[0x1f, 0x8b]) {
            return true;
        }
    }
}

/// Undoes `deflate`, which servers send with the zlib wrapper (RFC 9110 §8.4.1.2) or without.
fn inflate(input: &[u8], output: &mut Output) -> bool {
    let zlib = input.len() >= 2
        && input[0] & 0x0f == 8
        && (u16::from(input[0]) << 8 | u16::from(input[1])).is_multiple_of(31);
    if zlib {
        let whole = output.drain(flate2::bufread::ZlibDecoder::new(input));
        if whole || !output.bytes.is_empty() {
            return whole;
        }
    }
    output.drain(flate2::bufread::DeflateDecoder::new(input))
}

struct Output {
    bytes: Vec<u8>,
    max: usize,
}

impl Output {
    fn new(input: usize, max: usize) -> Self {
        // Text usually grows four- to fivefold; one allocation then serves most pages.
        let guess = input.saturating_mul(5).clamp(4096, 1 << 20).min(max.saturating_add(1));
        Output { bytes: Vec::with_capacity(guess), max }
    }

    /// Reads `source` to its end; false if it broke or would exceed the bound.
    fn drain(&mut self, source: impl Read) -> bool {
        // One byte more than there is room for shows whether the stream goes on. What came before
        // an error stays in `bytes`.
        let room = self.max.saturating_sub(self.bytes.len()) as u64;
        let read = source.take(room.saturating_add(1)).read_to_end(&mut self.bytes);
        let within = self.bytes.len() <= self.max;
        self.bytes.truncate(self.max);
        read.is_ok() && within
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    const WIDE: Bounds = Bounds { bytes_max: 1 << 20, ratio_max: 10_000, ratio_free: 1 << 20 };

    fn encode(coding: Coding, bytes: &[u8]) -> Bytes {
        let level = flate2::Compression::default();
        let encoded = match coding {
            Coding::Gzip => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            Coding::Deflate => {
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
                encoder.write_all(bytes).unwrap();
                encoder.finish().unwrap()
            }
            Coding::Brotli => {
                let mut encoded = Vec::new();
                let mut encoder = brotli::CompressorWriter::new(&mut encoded, 4096, 5, 20);
                encoder.write_all(bytes).unwrap();
                drop(encoder);
                encoded
            }
            Coding::Zstd => zstd::stream::encode_all(bytes, 3).unwrap(),
        };
        encoded.into()
    }

    fn text() -> Vec<u8> {
        (0..2_000).flat_map(|n| format!("line {n} of a page\n").into_bytes()).collect()
    }

    const ALL: [Coding; 4] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];

    #[test]
    fn every_coding_is_undone() {
        for coding in ALL {
            let decoded = decode(&encode(coding, &text()), &[coding], WIDE);
            assert!(decoded.whole && decoded.body == text(), "{coding:?}");
        }
    }

    #[test]
    fn a_stream_that_is_cut_off_yields_its_beginning() {
        for coding in ALL {
            let encoded = encode(coding, &text());
            let half = encoded.slice(..encoded.len() / 2);
            let decoded = decode(&half, &[coding], WIDE);
            assert!(!decoded.whole, "{coding:?}");
            assert!(text().starts_with(&decoded.body), "{coding:?}");
        }
    }

    #[test]
    fn rubbish_yields_nothing_and_no_coding_hangs_on_it() {
        for coding in ALL {
            let decoded = decode(&Bytes::from_static(b"<html>plain"), &[coding], WIDE);
            assert!(!decoded.whole, "{coding:?}");
            assert!(decode(&Bytes::new(), &[coding], WIDE).whole, "{coding:?}");
        }
    }

    #[test]
    fn a_bomb_stops_at_the_bound() {
        let zeros = vec![0; 8 << 20];
        for coding in ALL {
            let bomb = encode(coding, &zeros);
            let decoded = decode(&bomb, &[coding], WIDE);
            assert_eq!((decoded.whole, decoded.body.len()), (false, 1 << 20), "{coding:?}");
            let strict = Bounds { bytes_max: 64 << 20, ratio_max: 10, ratio_free: 1 << 10 };
            let decoded = decode(&bomb, &[coding], strict);
            assert!(!decoded.whole && decoded.body.len() <= (1 << 10).max(bomb.len() * 10));
        }
    }

    #[test]
    fn a_body_of_exactly_the_bound_is_whole() {
        let bounds = Bounds { bytes_max: 1000, ..WIDE };
        for coding in ALL {
            let exact = decode(&encode(coding, &vec![b'a'; 1000]), &[coding], bounds);
            assert_eq!((exact.whole, exact.body.len()), (true, 1000), "{coding:?}");
            let over = decode(&encode(coding, &vec![b'a'; 1001]), &[coding], bounds);
            assert_eq!((over.whole, over.body.len()), (false, 1000), "{coding:?}");
        }
    }

    #[test]
    fn deflate_without_its_wrapper_is_undone() {
        let mut encoder =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&text()).unwrap();
        let decoded = decode(&encoder.finish().unwrap().into(), &[Coding::Deflate], WIDE);
        assert!(decoded.whole && decoded.body == text());
    }

    #[test]
    fn gzip_members_are_joined_and_padding_after_them_is_ignored() {
        let mut two = encode(Coding::Gzip, b"one ").to_vec();
        two.extend_from_slice(&encode(Coding::Gzip, b"two"));
        two.extend_from_slice(b"\0\0\0padding");
        let decoded = decode(&two.into(), &[Coding::Gzip], WIDE);
        assert_eq!(decoded, Decoded { body: Bytes::from_static(b"one two"), whole: true });
    }

    #[test]
    fn codings_are_undone_last_first_and_bounded_in_number() {
        let value: &[u8] = b"deflate, GZIP,identity,,utf-8";
        let read = |max| codings([value, b"x-gzip".as_slice()].into_iter(), max);
        assert_eq!(read(2), Codings::TooMany);
        let known = [Coding::Gzip, Coding::Gzip, Coding::Deflate];
        assert_eq!(read(3), Codings::Known(known.to_vec()));
        let stacked =
            encode(Coding::Gzip, &encode(Coding::Gzip, &encode(Coding::Deflate, &text())));
        assert_eq!(decode(&stacked, &known, WIDE).body, text());
    }

    proptest! {
        #[test]
        fn damage_anywhere_keeps_the_bound(
            coding in prop::sample::select(&ALL[..]),
            at in any::<prop::sample::Index>(),
            byte: u8,
        ) {
            let mut encoded = encode(coding, &text()).to_vec();
            let at = at.index(encoded.len());
            encoded[at] = byte;
            let bounds = Bounds { bytes_max: 10_000, ..WIDE };
            let decoded = decode(&encoded.into(), &[coding], bounds);
            prop_assert!(decoded.body.len() <= 10_000);
        }
    }
}
