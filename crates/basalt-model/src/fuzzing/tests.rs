// SPDX-License-Identifier: Apache-2.0
use std::path::PathBuf;

use super::*;

fn target(name: &str) -> Target {
    TARGETS.iter().find(|(known, _)| *known == name).expect("a seed is of a target").1
}

/// What is in the repository: long runs' small inputs, and whatever once failed.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from("testdata/corpus").join(name);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn what_was_changed_at_random_is_read_or_refused() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize % below
    };
    let mut inputs = seeds();
    inputs.extend(
        TARGETS.iter().flat_map(|(name, _)| corpus(name).into_iter().map(move |input| (*name, input))),
    );
    for (name, input) in inputs {
        target(name)(&input);
        for _ in 0..400 {
            let mut changed = input.clone();
            for _ in 0..=random(4) {
                if changed.is_empty() {
                    break;
                }
                let at = random(changed.len());
                match random(3) {
                    0 => changed[at] = random(256) as u8,
                    1 => changed.truncate(at + 1),
                    _ => changed.insert(at, random(256) as u8),
                }
            }
            target(name)(&changed);
        }
    }
}

#[test]
fn the_seeds_themselves_are_read() {
    for (name, input) in seeds() {
        if name == "mutation" {
            let bytes = Bytes::from(input);
            let (_, len) = RowMutation::decode(&bytes).unwrap();
            assert_eq!(2 * len, bytes.len());
        } else if name == "value" {
            let (sql_type, order) = chosen(input[0]);
            assert!(sql_type.decode(order, &input[1..]).is_ok(), "{sql_type}");
        }
    }
}
