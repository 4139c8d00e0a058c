// SPDX-License-Identifier: Apache-2.0
use std::path::PathBuf;

use super::*;
use crate::Compressor;

/// What is in the repository: long runs' small inputs, and whatever once failed.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from("testdata/corpus").join(name);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Sound inputs with bytes changed, cut off and repeated: every target takes all of them.
#[test]
fn what_was_changed_at_random_is_read_or_refused() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize % below
    };
    let mut inputs: Vec<_> = seeds().into_iter().map(|(_, input)| input).collect();
    inputs.extend(TARGETS.iter().flat_map(|(name, _)| corpus(name)));
    for sent in inputs.into_iter().filter(|input| !input.is_empty()) {
        for (_, target) in TARGETS {
            target(&sent);
        }
        for _ in 0..500 {
            let mut changed = sent.clone();
            for _ in 0..=random(4) {
                let at = random(changed.len());
                match random(3) {
                    0 => changed[at] = random(256) as u8,
                    1 => changed.truncate(at + 1),
                    _ => changed.insert(at, random(256) as u8),
                }
            }
            for (_, target) in TARGETS {
                target(&changed);
            }
        }
    }
}

#[test]
fn every_target_has_a_seed_and_the_seeds_are_read() {
    let seeds = seeds();
    for (name, _) in TARGETS {
        assert!(seeds.iter().any(|(known, _)| *known == name), "{name} has no seed");
    }
    for (name, input) in seeds {
        let read = match name {
            "request" => Request::decode(input.into()).is_ok(),
            "filter" => filter::decode(pb::Filter::decode(&input[..]).unwrap()).is_ok(),
            "table" => schema::table(pb::TableSchema::decode(&input[..]).unwrap()).is_ok(),
            "cells" => CellReader::new(Bytes::from(input).slice(2..)).take(2).is_ok(),
            "codec_gzip" => Compressor::Gzip.decompress(input.into()).is_ok(),
            "codec_zlib" => Compressor::Zlib.decompress(input.into()).is_ok(),
            "codec_snappy" => Compressor::Snappy.decompress(input.into()).is_ok(),
            "codec_lz4" => Compressor::Lz4.decompress(input.into()).is_ok(),
            "zookeeper" => zookeeper::connect(input.clone().into(), 1)
                .or(zookeeper::answer(input.into(), &[]).map(|_| Bytes::new()))
                .is_some(),
            _ => true,
        };
        assert!(read, "a seed of {name} is refused");
    }
}
