// SPDX-License-Identifier: Apache-2.0
//! `basalt bench memory`: how fast this machine reads memory in order, which is what a scan is measured against.

use std::hint::black_box;
use std::time::Instant;

use serde_json::{Value, json};

use super::sheet::{Sheet, median};
use crate::args::{BenchMemoryArgs, Shared};
use crate::failure::Result;

/// What one number of threads reads a second, in GB.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bandwidth {
    threads: usize,
    by_words: f64,
    by_bytes: f64,
}

/// Runs the command.
pub(crate) fn run(args: &BenchMemoryArgs, shared: &Shared) -> Result<()> {
    let all: Vec<Bandwidth> =
        (1..=shared.threads()).map(|threads| bandwidth(threads, args.megabytes, args.runs)).collect();
    let mut sheet = Sheet::new(&["threads", "64-bit words", "bytes"], 0);
    for bandwidth in &all {
        let speed = |gigabytes: f64| format!("{gigabytes:.2} GB/s");
        let row = [bandwidth.threads.to_string(), speed(bandwidth.by_words), speed(bandwidth.by_bytes)];
        sheet.row(row.into());
    }
    sheet.print();
    super::sheet::write_json(
        args.json.as_deref(),
        &json!(all.iter().map(Bandwidth::json).collect::<Vec<_>>()),
    )
}

impl Bandwidth {
    /// Of 64-bit words.
    pub(super) fn gigabytes(&self) -> f64 {
        self.by_words
    }

    fn json(&self) -> Value {
        json!({ "threads": self.threads, "words_gb_per_s": self.by_words, "bytes_gb_per_s": self.by_bytes })
    }
}

/// Each thread reads memory of its own, all at the same time; the median of some runs.
pub(super) fn bandwidth(threads: usize, megabytes: usize, runs: usize) -> Bandwidth {
    let words = (megabytes << 20) / 8 / threads;
    // Memory that was never written, or only with zeros, may be one page again and again.
    let parts: Vec<Vec<u64>> = (1..=threads).map(|thread| vec![thread as u64; words]).collect();
    let bytes = (words * 8 * threads) as f64;
    let timed = |read: fn(&[u64])| {
        let seconds = (0..runs.max(1)).map(|_| {
            let start = Instant::now();
            std::thread::scope(|scope| {
                for part in &parts {
                    scope.spawn(move || read(part));
                }
            });
            start.elapsed().as_secs_f64()
        });
        bytes / median(seconds.collect()) / 1e9
    };
    Bandwidth { threads, by_words: timed(read_words), by_bytes: timed(read_bytes) }
}

fn read_words(words: &[u64]) {
    black_box(words.iter().fold(0u64, |sum, word| sum.wrapping_add(*word)));
}

fn read_bytes(words: &[u64]) {
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    black_box(bytes.fold(0u64, |sum, byte| sum.wrapping_add(byte.into())));
}
