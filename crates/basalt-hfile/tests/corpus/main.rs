// SPDX-License-Identifier: Apache-2.0
//! The fuzz targets over the corpus and over random mutations of it: a short fuzz run in every test run.
//!
//! `testdata/corpus/TARGET/*` are the inputs: sound ones to start from (`BASALT_WRITE_CORPUS=1` writes them again), what
//! long runs of cargo-fuzz found worth keeping, and whatever once failed. A failure prints the target and the input in hex;
//! put it there as a file. `BASALT_FUZZ_ROUNDS=100000` mutates longer, with `BASALT_FUZZ_SEED` in other ways.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod absurd;
mod allocations;
mod seeds;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use basalt_hfile::fuzzing::{TARGETS, Target, memory_bytes_max};

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

/// Mutations of every input in a test run.
const ROUNDS_DEFAULT: u64 = 60;
/// No input may take longer; a loaded machine is given some room.
const TIME_MAX: Duration = Duration::from_secs(5);
/// The corpus lies in the repository, so it stays small.
const CORPUS_BYTES_MAX: u64 = 1 << 20;

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
    PathBuf::from("testdata/corpus").join(target)
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> =
        fs::read_dir(folder(target)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read(path).unwrap()).collect()
}

#[test]
fn no_target_fails_on_its_corpus_or_on_mutations_of_it() {
    if variable("BASALT_WRITE_CORPUS").is_some() {
        seeds::write(folder);
    }
    let rounds = variable("BASALT_FUZZ_ROUNDS").unwrap_or(ROUNDS_DEFAULT);
    let mut random =
        Random(variable("BASALT_FUZZ_SEED").unwrap_or(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut bytes = 0;
    for (name, target) in TARGETS {
        let corpus = corpus(name);
        assert!(corpus.len() >= 2, "the corpus of {name} is missing");
        for input in &corpus {
            bytes += input.len() as u64;
            run(name, target, input);
            for _ in 0..rounds {
                run(name, target, &mutate(input, &corpus, &mut random));
            }
        }
    }
    assert!(bytes <= CORPUS_BYTES_MAX, "the corpus has grown to {bytes} bytes; merge it");
}

fn run(name: &str, target: Target, input: &[u8]) {
    let start = Instant::now();
    let mut sound = true;
    let peak = allocations::peak_of(|| sound = catch_unwind(AssertUnwindSafe(|| target(input))).is_ok());
    let (took, bound) = (start.elapsed(), memory_bytes_max(input.len()));
    if !sound || peak > bound || took > TIME_MAX {
        let hex: String = input.iter().map(|byte| format!("{byte:02x}")).collect();
        panic!(
            "target {name}, {took:?}, {peak} of at most {bound} bytes of memory, sound: {sound}, on {hex}"
        );
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
