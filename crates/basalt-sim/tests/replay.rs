// SPDX-License-Identifier: Apache-2.0
//! Every recorded sequence gives the answers of real HBase, but for the differences that are listed by name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use basalt_sim::replay;

fn directory() -> PathBuf {
    Path::new("testdata/hbase-ops").to_owned()
}

/// `FILE sequence N: operation M` of each listed difference.
fn known() -> std::io::Result<BTreeSet<String>> {
    let text = std::fs::read_to_string(directory().join("known-differences.txt"))?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let place = |line: &str| {
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        format!("{} sequence {}: operation {}", parts[0], parts[1], parts[2])
    };
    Ok(lines.map(place).collect())
}

#[test]
fn recorded_operations_give_the_answers_of_hbase() -> anyhow::Result<()> {
    let (mut score, mut differing) = (replay::Score::default(), Vec::new());
    for entry in std::fs::read_dir(directory())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "gz") {
            replay::file(&path, &mut score, &mut |line| {
                if !line.ends_with("all answers equal") {
                    differing.push(line.to_owned());
                }
            })?;
        }
    }
    let prefix = format!("{}/", directory().display());
    let place = |line: &String| {
        let line = line.trim_start_matches(&prefix);
        let end = line.match_indices(": ").nth(1).map_or(line.len(), |(at, _)| at);
        line[..end].to_owned()
    };
    let found: BTreeSet<String> = differing.iter().map(place).collect();
    let known = known()?;
    assert_eq!(
        found,
        known,
        "differences that are not listed, or no longer there:\n{}",
        differing.join("\n")
    );
    assert!(score.passed + score.failed >= 374, "only {} sequences were found", score.passed + score.failed);
    Ok(())
}
