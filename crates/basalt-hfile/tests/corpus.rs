// SPDX-License-Identifier: Apache-2.0
//! The fuzz targets over the corpus and over random mutations of it: a short fuzz run in every test run.
//!
//! `testdata/corpus/TARGET/*` are the inputs: sound ones to start from, and whatever once failed. A failure prints the
//! target and the input in hex; put it there as a file. `BASALT_FUZZ_ROUNDS=100000` mutates longer, with
//! `BASALT_FUZZ_SEED` in other ways. `BASALT_WRITE_CORPUS=1` writes the sound inputs again.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use basalt_hfile::fuzzing::{TARGETS, block_input};
use basalt_hfile::{
    BloomKind, Compression, Encoding, HFileReader, HFileWriter, MemoryFile, ReadOptions, WriterOptions,
};
use basalt_model::{CellRef, CellType, Seq};

const ROUNDS_DEFAULT: u32 = 400;

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn folder(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/corpus").join(target)
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = fs::read_dir(folder(target)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn no_target_fails_on_its_corpus_or_on_mutations_of_it() {
    if variable("BASALT_WRITE_CORPUS").is_some() {
        write_corpus();
    }
    let rounds = variable("BASALT_FUZZ_ROUNDS").unwrap_or(ROUNDS_DEFAULT.into());
    let mut random = Random(variable("BASALT_FUZZ_SEED").unwrap_or(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for (name, target) in TARGETS {
        let corpus = corpus(name);
        assert!(corpus.len() >= 5, "the corpus of {name} is missing");
        for input in &corpus {
            run(name, target, input);
            for _ in 0..rounds {
                run(name, target, &mutate(input, &corpus, &mut random));
            }
        }
    }
}

fn run(name: &str, target: fn(&[u8]), input: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| target(input))).is_err() {
        let hex: String = input.iter().map(|byte| format!("{byte:02x}")).collect();
        panic!("target {name} fails on {hex}");
    }
}

fn mutate(input: &[u8], corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    const BYTES: [u8; 8] = [0, 1, 2, 0x7f, 0x80, 0xfe, 0xff, 0x28];
    let mut bytes = input.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        match random.below(8) {
            _ if bytes.is_empty() => bytes.push(BYTES[random.below(8)]),
            0 | 1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = BYTES[random.below(8)],
            3 => bytes[at] = bytes[at].wrapping_add(1),
            4 => bytes.truncate(at),
            5 => bytes.insert(at, BYTES[random.below(8)]),
            6 => {
                let end = (at + 1 + random.below(8)).min(bytes.len());
                let to = random.below(bytes.len() - (end - at) + 1);
                bytes.copy_within(at..end, to);
            }
            _ => {
                let other = &corpus[random.below(corpus.len())];
                let from = random.below(other.len());
                let len = (other.len() - from).min(bytes.len() - at).min(16);
                bytes[at..at + len].copy_from_slice(&other[from..from + len]);
            }
        }
    }
    bytes
}

fn small_file(options: WriterOptions) -> Vec<u8> {
    let options = WriterOptions { block_bytes: 200, index_block_bytes: 120, index_entries_min: 2, ..options };
    let with_tags = options.with_tags;
    let mut writer = HFileWriter::new(Vec::new(), options).unwrap();
    for number in 0..9u8 {
        // Some rows are longer than 255 bytes, so that row lengths differ in both bytes.
        let row = [&b"row"[..], &[number], &vec![b'x'; usize::from(number) * 40]].concat();
        let cell = |qualifier, timestamp, cell_type, value, tags| CellRef {
            row: &row,
            family: b"f",
            qualifier,
            timestamp,
            cell_type,
            value,
            seq: Seq(u64::from(number) * 60),
            tags: if with_tags { tags } else { b"" },
        };
        writer.append(cell(b"", 9, CellType::DeleteFamily, b"", b"")).unwrap();
        writer.append(cell(b"a", 1_700_000_000_000, CellType::Put, b"value", b"\0\x03\x08T1")).unwrap();
        writer.append(cell(b"a", 1_600_000_000_000, CellType::Put, b"value", b"\0\x03\x08T1\0\x02\x01X")).unwrap();
        writer.append(cell(b"ab", -5, CellType::DeleteColumn, b"", b"")).unwrap();
    }
    writer.finish_into().unwrap().1
}

/// Sound inputs for every target.
fn write_corpus() {
    let save = |target: &str, name: String, bytes: &[u8]| {
        fs::create_dir_all(folder(target)).unwrap();
        fs::write(folder(target).join(name), bytes).unwrap();
    };
    for encoding in Encoding::ALL {
        for (with_tags, tags_compressed, with_seq) in [(false, false, false), (true, true, true)] {
            let bloom = if with_seq { BloomKind::RowCol } else { BloomKind::Row };
            let options = WriterOptions { encoding, with_tags, tags_compressed, with_seq, bloom, ..Default::default() };
            let bytes = small_file(options);
            let name = format!("{}_{}", encoding.name().to_lowercase(), if with_seq { "full" } else { "bare" });
            let file = Arc::new(MemoryFile::new("seed", bytes.clone()));
            let reader = HFileReader::open(file, ReadOptions::default()).unwrap();
            for index in [0, reader.block_count().unwrap() / 2] {
                let block = reader.read_encoded_block(index).unwrap();
                save("block", format!("{name}_{index}"), &block_input(&block));
            }
            if with_seq {
                save("file", name.clone(), &bytes);
                save("resealed_file", name, &bytes);
            }
        }
    }
    for (number, compression) in Compression::ALL.into_iter().enumerate() {
        let bytes = small_file(WriterOptions { compression, ..Default::default() });
        save("resealed_file", format!("codec_{}", compression.name().to_lowercase()), &bytes);
        // The payload of the first block, behind its header, with the raw length that the header declares.
        let covered = u32::from_be_bytes(bytes[29..33].try_into().unwrap()) as usize;
        let input = [&[number as u8], &bytes[13..16], &bytes[33..covered]].concat();
        save("codec", compression.name().to_lowercase(), &input);
    }
    let bytes = small_file(WriterOptions::default());
    let mut at = 0;
    while at < bytes.len() - 4096 {
        let end = at + 33 + u32::from_be_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        let magic = String::from_utf8_lossy(&bytes[at..at + 7]).to_lowercase();
        if !magic.starts_with("datablk") {
            save("parts", magic.clone(), &bytes[at + 33..end - 4]);
            save("parts", format!("{magic}_block"), &bytes[at..end]);
        }
        at = end;
    }
    save("parts", "trailer".into(), &bytes[bytes.len() - 4096..][..200]);
}
