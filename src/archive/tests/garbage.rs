//! Whatever the bytes, the reader ends without a panic and within its bounds.

use std::io::Cursor;

use proptest::prelude::*;

use super::captures::{about, plain, settings};
use crate::archive::disk::FileSystem;
use crate::archive::encode::{Item, warcinfo};
use crate::archive::open::open;
use crate::archive::{Compression, Damage, DamageKind, Reader, Settings, resync};

/// A small archive of four records, in memory.
fn archive(compression: Compression) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let settings = Settings { compression, ..settings(dir.path()) };
    let (writer, _) = open(settings.clone(), about(), None, Box::new(FileSystem)).unwrap();
    let id = writer.info.get();
    let mut bytes = warcinfo(&settings, &about(), id, "a.warc", super::captures::START);
    let item = Item::Visit(std::sync::Arc::new(plain("/", b"<p>text</p>")));
    bytes.extend(writer.encoder.encode(&item, id).bytes);
    bytes
}

/// Reads to the end, over damage too; returns whole records and damages.
fn read(bytes: &[u8]) -> (usize, Vec<Damage>) {
    let (mut records, mut damages) = (0, Vec::new());
    let mut reader = Reader::new(Cursor::new(bytes), 0);
    loop {
        match reader.next_record(1000) {
            None => return (records, damages),
            Some(Ok(record)) => {
                assert!(record.block.len() <= 1000);
                records += 1;
            }
            Some(Err(damage)) => {
                let next = resync(Cursor::new(bytes), &damage).unwrap();
                damages.push(damage);
                match next {
                    Some((_, behind)) => reader = behind,
                    None => return (records, damages),
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn random_bytes_are_damage_and_never_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        let (records, damages) = read(&bytes);
        prop_assert_eq!(records, 0);
        prop_assert_eq!(damages.is_empty(), bytes.is_empty());
    }

    #[test]
    fn an_archive_with_any_byte_changed_is_read_around_the_damage(
        gzip in any::<bool>(), at in any::<prop::sample::Index>(), value in any::<u8>(),
    ) {
        let compression = if gzip { Compression::Gzip } else { Compression::None };
        let mut bytes = archive(compression);
        let at = at.index(bytes.len());
        bytes[at] = value;
        let (records, damages) = read(&bytes);
        // A changed length may swallow the record behind it.
        prop_assert!(records >= 2, "{records} records, {damages:?}");
    }

    #[test]
    fn an_archive_cut_anywhere_ends_in_one_torn_record(
        gzip in any::<bool>(), at in any::<prop::sample::Index>(),
    ) {
        let compression = if gzip { Compression::Gzip } else { Compression::None };
        let bytes = archive(compression);
        let (whole, damages) = read(&bytes[..at.index(bytes.len())]);
        prop_assert!(whole < 4);
        prop_assert!(damages.len() <= 1);
        for damage in damages {
            prop_assert_eq!(damage.kind, DamageKind::Torn);
        }
    }
}

#[test]
fn records_that_share_one_gzip_member_are_told_apart() {
    let plain = archive(Compression::None);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    std::io::Write::write_all(&mut encoder, &plain).unwrap();
    let packed = encoder.finish().unwrap();
    let mut reader = Reader::new(Cursor::new(&packed), 0);
    let records: Vec<_> =
        std::iter::from_fn(|| reader.next_record(1000)).map(Result::unwrap).collect();
    let indices: Vec<_> = records.iter().map(|r| r.extent.index_in_member).collect();
    assert_eq!(indices, [0, 1, 2, 3]);
    assert!(records.iter().all(|r| r.extent.offset == 0));
    assert_eq!(records[3].extent.length, packed.len() as u64);
}

#[test]
fn a_header_without_an_end_is_refused_within_its_bound() {
    let mut bytes = b"WARC/1.1\r\n".to_vec();
    bytes.extend(b"X: y\r\n".repeat(1_000_000));
    let mut reader = Reader::new(Cursor::new(&bytes), 0);
    let damage = reader.next_record(10).unwrap().unwrap_err();
    assert_eq!(damage, Damage { offset: 0, kind: DamageKind::BadHead });
    assert!(reader.next_record(10).is_none());
}
