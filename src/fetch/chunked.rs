//! Where a chunked body stands in the bytes that came (RFC 9112 §7.1).
//!
//! hyper has undone the chunks and judged them; this finds where in the recorded bytes that ended,
//! so that the archive holds the same stretch, no byte of a next answer among it.

/// Returns how many bytes of `wire` frame the first `payload` bytes of the body; with `whole` also
/// the last chunk and the trailer section.
pub(super) fn framed_len(wire: &[u8], payload: usize, whole: bool) -> usize {
    let mut at = 0;
    let mut left = payload;
    loop {
        if left == 0 && !whole {
            return at;
        }
        let Some(line) = line_len(&wire[at..]) else { return wire.len() };
        let size = chunk_size(&wire[at..at + line]);
        if size == 0 {
            return if whole { trailers_end(wire, at + line) } else { at };
        }
        let start = at + line;
        if left < size {
            // The rest of this chunk did not reach the payload.
            return (start + left).min(wire.len());
        }
        left -= size;
        if wire.len() - start <= size {
            return wire.len();
        }
        at = start + size;
        at += line_len(&wire[at..]).unwrap_or(wire.len() - at);
    }
}

fn line_len(wire: &[u8]) -> Option<usize> {
    memchr::memchr(b'\n', wire).map(|end| end + 1)
}

fn chunk_size(line: &[u8]) -> usize {
    let digits = line.iter().map_while(|byte| char::from(*byte).to_digit(16));
    digits.fold(0usize, |size, digit| size.saturating_mul(16).saturating_add(digit as usize))
}

fn trailers_end(wire: &[u8], mut at: usize) -> usize {
    while let Some(line) = line_len(&wire[at..]) {
        let empty = matches!(&wire[at..at + line], b"\n" | b"\r\n");
        at += line;
        if empty {
            return at;
        }
    }
    wire.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(wire: &str, payload: usize, whole: bool, want: &str) {
        assert_eq!(&wire[..framed_len(wire.as_bytes(), payload, whole)], want);
    }

    #[test]
    fn a_whole_body_ends_after_its_trailers() {
        check("3\r\nabc\r\n0\r\n\r\nHTTP/1.1", 3, true, "3\r\nabc\r\n0\r\n\r\n");
        check(
            "3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\nrest",
            3,
            true,
            "3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n",
        );
        check("0\r\n\r\n", 0, true, "0\r\n\r\n");
    }

    #[test]
    fn a_body_cut_by_us_ends_with_its_payload() {
        check("3\r\nabc\r\n3\r\ndef\r\n", 4, false, "3\r\nabc\r\n3\r\nd");
        check("3\r\nabc\r\n3\r\ndef\r\n", 3, false, "3\r\nabc\r\n");
        check("3\r\nabc\r\n", 0, false, "");
    }

    #[test]
    fn a_body_cut_by_the_server_is_taken_as_far_as_it_goes() {
        check("a\r\nabc", 3, false, "a\r\nabc");
        check("a\r\nabc", 3, true, "a\r\nabc");
        check("ffffffffffffffffffff\r\nabc", 3, true, "ffffffffffffffffffff\r\nabc");
        check("zz\r\nabc", 0, true, "zz\r\nabc");
    }

    proptest! {
        #[test]
        fn no_bytes_lead_outside_of_them(
            wire in "[0-9a-fx;\\r\\n]{0,60}",
            payload in 0..100usize,
            whole: bool,
        ) {
            prop_assert!(framed_len(wire.as_bytes(), payload, whole) <= wire.len());
        }
    }
}
