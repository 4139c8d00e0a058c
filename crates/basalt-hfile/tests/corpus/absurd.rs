// SPDX-License-Identifier: Apache-2.0
//! Sizes that cannot be true, under checksums that are: they must be found before memory is asked for.

use std::sync::Arc;

use basalt_hfile::fuzzing::{memory_bytes_max, target};
use basalt_hfile::{
    Compression, Encoding, Error, HFileReader, HFileWriter, MemoryFile, ReadOptions, Result, WriterOptions,
};
use basalt_model::{CellRef, CellType, Seq};

use crate::allocations::peak_of;

const HEADER_LEN: usize = 33;

fn file_of(compression: Compression, encoding: Encoding, value: &[u8]) -> Vec<u8> {
    let options = WriterOptions { compression, encoding, block_bytes: 200, ..Default::default() };
    let mut writer = HFileWriter::new(Vec::new(), options).unwrap();
    for row in [b"r1", b"r2", b"r3"] {
        let (timestamp, cell_type) = (7, CellType::Put);
        let cell = CellRef {
            row,
            family: b"f",
            qualifier: b"q",
            timestamp,
            cell_type,
            value,
            seq: Seq(1),
            tags: b"",
        };
        writer.append(cell).unwrap();
    }
    writer.finish_into().unwrap().1
}

/// Makes the checksum of the block at `at` right.
fn seal(bytes: &mut [u8], at: usize) {
    let covered = u32::from_be_bytes(bytes[at + 29..at + 33].try_into().unwrap()) as usize;
    let sum = crc32c::crc32c(&bytes[at..at + covered]);
    bytes[at + covered..at + covered + 4].copy_from_slice(&sum.to_be_bytes());
}

fn first_block(bytes: Vec<u8>) -> Result<usize> {
    let reader = HFileReader::open(Arc::new(MemoryFile::new("absurd", bytes)), ReadOptions::default())?;
    Ok(reader.read_block(0)?.len())
}

fn check_refused(bytes: Vec<u8>, memory_max: usize, what: &str) {
    let mut outcome = Ok(0);
    let peak = peak_of(|| outcome = first_block(bytes));
    match outcome {
        Err(Error::Corrupt { file, offset: 0, .. }) if file == "absurd" => {}
        other => panic!("{what}: {other:?}"),
    }
    assert!(peak <= memory_max, "{what}: {peak} bytes of memory");
}

#[test]
fn a_declared_size_beyond_the_codec_is_refused_before_memory_is_asked_for() {
    for compression in Compression::ALL {
        let sound = file_of(compression, Encoding::None, b"value");
        assert_eq!(first_block(sound.clone()).unwrap(), 3);
        for declared in [1 << 27, (1 << 30) - 1, 1 << 30, (1 << 30) + 1, i32::MAX as u32, u32::MAX] {
            let mut bytes = sound.clone();
            bytes[12..16].copy_from_slice(&u32::to_be_bytes(declared));
            seal(&mut bytes, 0);
            check_refused(bytes, 1 << 20, &format!("{compression} declares {declared}"));
        }
    }
}

#[test]
fn a_bomb_gets_no_more_than_its_declared_size() {
    let zeros = vec![0; 32 << 20];
    for compression in [Compression::Gz, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let mut bytes = file_of(compression, Encoding::None, &zeros);
        // Three cells, each in a block of its own; the first claims to hold little.
        for declared in [1u32, 1000, 65_536] {
            bytes[12..16].copy_from_slice(&declared.to_be_bytes());
            seal_chunks(&mut bytes);
            let mut outcome = Ok(0);
            let input = bytes.clone();
            let size = input.len();
            let peak = peak_of(|| outcome = first_block(input));
            assert!(matches!(outcome, Err(Error::Corrupt { offset: 0, .. })), "{compression}: {outcome:?}");
            // Index and Bloom metadata of the file, and the block's own bytes, shared with the file.
            assert!(peak <= size + (1 << 20), "{compression} {declared}: {peak} bytes of memory");
        }
    }
}

/// Makes the checksums of the first block right, one for each 16 KiB.
fn seal_chunks(bytes: &mut [u8]) {
    let covered = u32::from_be_bytes(bytes[29..33].try_into().unwrap()) as usize;
    let (block, sums) = bytes.split_at_mut(covered);
    for (chunk, sum) in block.chunks(16_384).zip(sums.chunks_mut(4)) {
        sum.copy_from_slice(&crc32c::crc32c(chunk).to_be_bytes());
    }
}

#[test]
fn absurd_lengths_in_cells_are_refused() {
    for encoding in Encoding::ALL {
        let sound = file_of(Compression::None, encoding, b"value");
        let covered = u32::from_be_bytes(sound[29..33].try_into().unwrap()) as usize;
        let mut refused = 0;
        for at in HEADER_LEN..covered - 4 {
            for length in [u32::MAX, i32::MAX as u32, 1 << 30, 0xffff_ff7f] {
                let mut bytes = sound.clone();
                bytes[at..at + 4].copy_from_slice(&length.to_be_bytes());
                seal(&mut bytes, 0);
                let mut outcome = Ok(0);
                let peak = peak_of(|| outcome = first_block(bytes));
                assert!(peak <= 1 << 20, "{encoding} byte {at}: {peak} bytes of memory");
                // Inside of a name or a value it is no length.
                refused += usize::from(outcome.is_err());
            }
        }
        assert!(refused > 40, "{encoding}: {refused}");
    }
}

#[test]
fn an_absurd_number_anywhere_in_a_file_costs_no_memory() {
    let resealed = target("resealed_file");
    for (encoding, compression) in [
        (Encoding::None, Compression::None),
        (Encoding::FastDiff, Compression::Gz),
        (Encoding::Diff, Compression::Zstd),
    ] {
        let sound = file_of(compression, encoding, b"value");
        for at in 0..sound.len() - 4 {
            // The padding of the trailer is the same everywhere.
            if sound[at..].iter().take(200).all(|&byte| byte == 0) {
                continue;
            }
            for number in [u32::MAX, i32::MAX as u32, 0x0fff_ffff, 0x0010_0000] {
                let mut bytes = sound.clone();
                bytes[at..at + 4].copy_from_slice(&number.to_be_bytes());
                let peak = peak_of(|| resealed(&bytes));
                assert!(peak <= memory_bytes_max(bytes.len()), "byte {at}: {peak} bytes of memory");
            }
        }
    }
}
