//! The corpora of the fuzzer, and mutations of them by fixed seeds, in every test run.
//!
//! `FUZZ_ROUNDS=100000 cargo test --test all fuzz::` mutates more. libFuzzer itself runs by
//! `.ci/fuzz`; what it finds is put into `corpus/` and stays a test.

mod http;
mod judges;

use std::path::Path;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Longest input that is made; what a byte more would show, a shorter input shows as well.
const LENGTH_MAX: usize = 16 << 10;

/// Bytes that mean something to one reader or another.
const SIGNS: &[u8] = b"\0\r\n:<>\"'%/?#&=[]{},.\xff";

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(name);
    let files = std::fs::read_dir(&dir).expect("every judge has a corpus").flatten();
    let mut paths: Vec<_> = files.map(|file| file.path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("it is read")).collect()
}

/// Changes an input as fuzzers do: bytes changed, cut out, doubled, exchanged with another input.
fn mutate(bytes: &mut Vec<u8>, other: &[u8], chance: &mut SmallRng) {
    for _ in 0..chance.random_range(1..=4) {
        let at = chance.random_range(0..=bytes.len());
        let to = (at + chance.random_range(0..=32)).min(bytes.len());
        match chance.random_range(0..5) {
            0 if at < bytes.len() => bytes[at] = chance.random(),
            1 => drop(bytes.drain(at..to)),
            2 => {
                let piece = bytes[at..to].to_vec();
                bytes.splice(at..at, piece);
            }
            3 if !other.is_empty() => {
                let from = chance.random_range(0..other.len());
                let piece = &other[from..(from + 32).min(other.len())];
                bytes.splice(at..to, piece.iter().copied());
            }
            _ => bytes.insert(at, SIGNS[chance.random_range(0..SIGNS.len())]),
        }
    }
    bytes.truncate(LENGTH_MAX);
}

#[test]
fn no_bytes_break_what_reads_them() {
    let rounds = std::env::var("FUZZ_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    for (name, judge) in judges::ALL {
        let corpus = corpus(name);
        assert!(!corpus.is_empty(), "{name} has no corpus");
        corpus.iter().for_each(|bytes| judge(bytes));
        let mut chance = SmallRng::seed_from_u64(7);
        for round in 0..rounds {
            let mut bytes = corpus[round % corpus.len()].clone();
            let other = &corpus[chance.random_range(0..corpus.len())];
            mutate(&mut bytes, other, &mut chance);
            judge(&bytes);
        }
    }
}
