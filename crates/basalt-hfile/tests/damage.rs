// SPDX-License-Identifier: Apache-2.0
//! Damaged files: every flipped bit, every truncation, blocks in the wrong place. A damaged file gives an error
//! that names file and offset, or the very cells that were written; never other cells, never a panic.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::sync::Arc;

use basalt_hfile::{
    BloomKind, Checksum, Compression, Encoding, Error, HFileReader, HFileWriter, MemoryFile, ReadOptions,
    WriterOptions, tools,
};
use basalt_model::{CellRef, CellType, Seq};

const TRAILER_LEN: usize = 4096;
const HEADER_LEN: usize = 33;

/// A file of several small blocks with everything in it: versions, markers, tags, an index of two levels, Bloom
/// filters of both sorts.
fn small_file(options: WriterOptions) -> Vec<u8> {
    // Tags would make the row groups irregular.
    let with_tags = options.encoding != Encoding::Columnar;
    let options =
        WriterOptions { block_bytes: 150, block_rows: 3, index_block_bytes: 120, with_tags, ..options };
    let mut writer = HFileWriter::new(Vec::new(), options).unwrap();
    let tag = if with_tags { &b"\0\x03\x08T1"[..] } else { b"" };
    for number in 0..8u8 {
        let row = [b'r', b'0' + number];
        let cell = |qualifier, timestamp, cell_type, value, tags| CellRef {
            row: &row,
            family: b"f",
            qualifier,
            timestamp,
            cell_type,
            value,
            seq: Seq(u64::from(number) * 60),
            tags,
        };
        if number == 3 {
            writer.append(cell(b"", 9, CellType::DeleteFamily, b"", b"")).unwrap();
        }
        writer.append(cell(b"a", 1_700_000_000_000, CellType::Put, b"value", tag)).unwrap();
        writer.append(cell(b"a", 1_600_000_000_000, CellType::Put, b"value", b"")).unwrap();
        writer.append(cell(b"ab", 5, CellType::DeleteColumn, b"", b"")).unwrap();
    }
    writer.finish_into().unwrap().1
}

/// A file of row groups whose sections a codec makes smaller.
fn texts_file(compression: Compression) -> Vec<u8> {
    let options = WriterOptions {
        encoding: Encoding::Columnar,
        compression,
        block_rows: 24,
        checksum: Checksum::Crc32c,
        ..Default::default()
    };
    let mut writer = HFileWriter::new(Vec::new(), options).unwrap();
    for number in 0..48u8 {
        let row = [b'r', b'0' + number];
        let text = format!("what number {} says of {}, at length", number * 5 % 48, number * 7 % 48);
        for (qualifier, value) in [(&b"a"[..], text.as_bytes()), (b"b", &[number % 5; 4])] {
            let cell = CellRef {
                row: &row,
                family: b"f",
                qualifier,
                timestamp: 1_700_000_000_000 + i64::from(number * 3 % 10),
                cell_type: CellType::Put,
                value,
                seq: Seq(u64::from(number)),
                tags: b"",
            };
            writer.append(cell).unwrap();
        }
    }
    writer.finish_into().unwrap().1
}

/// All that a reader would give out: cells as text, and the answers of the Bloom filters.
fn read_all(bytes: Vec<u8>) -> Result<String, Error> {
    let reader = HFileReader::open(Arc::new(MemoryFile::new("damaged", bytes)), ReadOptions::default())?;
    let mut out = vec![];
    tools::dump(&reader, &mut out).map_err(|error| match error {
        tools::DumpError::File(error) => error,
        other => panic!("{other}"),
    })?;
    let mut out = String::from_utf8(out).unwrap();
    for number in 0..20u8 {
        let row = [b'r', b'0' + number];
        let answers = (
            reader.may_contain_row(&row)?,
            reader.may_contain_column(&row, b"a")?,
            reader.may_contain_family_delete(&row)?,
        );
        out += &format!("{answers:?} {:?}\n", reader.find_block(&row)?);
    }
    out += &format!("{} cells to {:?}", reader.cells(), reader.last_row());
    Ok(out)
}

fn all_options() -> Vec<WriterOptions> {
    let mut all = vec![];
    for encoding in Encoding::ALL {
        let bloom = if encoding == Encoding::Diff { BloomKind::RowCol } else { BloomKind::Row };
        all.push(WriterOptions {
            encoding,
            bloom,
            checksum: if encoding == Encoding::RowIndexV1 { Checksum::Crc32 } else { Checksum::Crc32c },
            tags_compressed: encoding == Encoding::Prefix,
            ..Default::default()
        });
    }
    for compression in Compression::ALL {
        all.push(WriterOptions { compression, encoding: Encoding::FastDiff, ..Default::default() });
    }
    all
}

#[test]
fn every_flipped_bit_is_found_when_the_file_is_read() {
    for options in all_options() {
        let what = format!("{} {}", options.encoding, options.compression);
        every_flipped_bit_is_found(&small_file(options), &what);
    }
}

#[test]
fn every_flipped_bit_is_found_in_row_groups_of_every_codec() {
    let plain = texts_file(Compression::None).len();
    for compression in Compression::ALL.into_iter().filter(|compression| *compression != Compression::None) {
        let sound = texts_file(compression);
        assert!(sound.len() < plain, "{compression} makes no section of {} bytes smaller", sound.len());
        every_flipped_bit_is_found(&sound, &format!("COLUMNAR {compression}"));
    }
}

fn every_flipped_bit_is_found(sound: &[u8], what: &str) {
    read_all(sound.to_vec()).unwrap();
    let mut bytes = sound.to_vec();
    for at in 0..sound.len() {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            match read_all(bytes.clone()) {
                Err(Error::Corrupt { file, offset, .. }) => {
                    assert_eq!(file, "damaged");
                    assert!(offset <= at as u64, "{what}: bit {bit} of byte {at} is blamed on {offset}");
                }
                Err(other) => panic!("{what}: bit {bit} of byte {at}: {other}"),
                Ok(_) => panic!("{what}: bit {bit} of byte {at} goes unnoticed"),
            }
            bytes[at] ^= 1 << bit;
        }
    }
}

/// HBase's trailer has no checksum. No flipped bit of it changes a cell or an answer of the Bloom filters, and
/// `verify` finds all by comparing totals, except for four that change nothing at all: the two lowest bits of
/// the minor version (3.0 to 3.3 read alike), and two that turn the tag of the codec into another field's when
/// the codec is NONE.
#[test]
fn a_flipped_bit_in_a_trailer_without_checksum_is_found_or_changes_no_cell() {
    for encoding in Encoding::ALL {
        let sound = small_file(WriterOptions { encoding, trailer_checksum: false, ..Default::default() });
        let cells = read_all(sound.clone()).unwrap();
        let cells = cells.split(" cells to").next().unwrap().rsplit_once('\n').unwrap().0;
        let mut bytes = sound.clone();
        let mut harmless = vec![];
        for at in sound.len() - TRAILER_LEN..sound.len() {
            for bit in 0..8 {
                bytes[at] ^= 1 << bit;
                let unnoticed = match read_all(bytes.clone()) {
                    Err(_) => false,
                    Ok(text) => {
                        assert!(
                            text.starts_with(cells),
                            "{encoding}: bit {bit} of byte {at} changes what is read"
                        );
                        tools::verify(Arc::new(MemoryFile::new("damaged", bytes.clone()))).is_empty()
                    }
                };
                if unnoticed {
                    harmless.push((at - (sound.len() - TRAILER_LEN), bit));
                }
                bytes[at] ^= 1 << bit;
            }
        }
        // Without its tag the codec is absent, which means NONE, which it is.
        let codec_at =
            sound[sound.len() - TRAILER_LEN..].windows(3).position(|field| field == [0x60, 2, 0]).unwrap();
        let mut expected = vec![(codec_at, 4), (codec_at, 5), (4092, 0), (4092, 1)];
        if encoding == Encoding::Columnar {
            // The tag becomes that of the index levels, of which the few row groups need one and not two.
            expected.remove(1);
        }
        assert_eq!(harmless, expected, "{encoding}");
    }
}

#[test]
fn a_file_cut_anywhere_does_not_open() {
    for options in all_options() {
        let sound = small_file(options);
        for len in 0..sound.len() {
            match read_all(sound[..len].to_vec()) {
                Err(Error::Corrupt { .. }) => {}
                other => panic!("cut to {len} bytes: {other:?}"),
            }
        }
        for more in [1, 4096, 10_000] {
            let longer = [&sound[..], &vec![0; more]].concat();
            assert!(matches!(read_all(longer), Err(Error::Corrupt { .. })));
        }
    }
}

/// Offset and size of every block.
fn blocks(bytes: &[u8]) -> Vec<(usize, usize)> {
    let mut blocks = vec![];
    let mut at = 0;
    while at < bytes.len() - TRAILER_LEN {
        let on_disk = u32::from_be_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        blocks.push((at, HEADER_LEN + on_disk));
        at += HEADER_LEN + on_disk;
    }
    blocks
}

#[test]
fn two_blocks_in_each_others_place_are_found() {
    let mut swaps = 0;
    for options in all_options() {
        let sound = small_file(options);
        let blocks = blocks(&sound);
        for (number, &(first, size)) in blocks.iter().enumerate() {
            for &(second, other_size) in &blocks[number + 1..] {
                if size != other_size || sound[first..first + size] == sound[second..second + size] {
                    continue;
                }
                let mut bytes = sound.clone();
                bytes[first..first + size].copy_from_slice(&sound[second..second + size]);
                bytes[second..second + size].copy_from_slice(&sound[first..first + size]);
                assert!(matches!(read_all(bytes), Err(Error::Corrupt { .. })), "{first} and {second}");
                swaps += 1;
            }
        }
    }
    assert!(swaps >= 10, "{swaps}");
}

#[test]
fn a_block_in_the_place_of_another_is_found() {
    for options in all_options() {
        let sound = small_file(options);
        let blocks = blocks(&sound);
        for &(from, size) in &blocks {
            for &(to, other_size) in &blocks {
                if from != to && size == other_size {
                    let mut bytes = sound.clone();
                    bytes.copy_within(from..from + size, to);
                    assert!(matches!(read_all(bytes), Err(Error::Corrupt { .. })), "{from} over {to}");
                }
            }
        }
    }
}
