// SPDX-License-Identifier: Apache-2.0
//! Every package is compiled with the same features for the program and for the tests.
//!
//! A dependency that only tests have may switch on a feature of a package deep below DataFusion; then `make test`
//! after `make demo` compiles half of the tree once more, which takes minutes. The cure is to name the feature in
//! the workspace's manifest for a crate that is always compiled.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;

use super::cargo;

pub(super) fn check(repository: &Path) -> Result<Vec<String>> {
    Ok(compare(&features(repository, "normal,build")?, &features(repository, "normal,build,dev")?))
}

/// Package with version -> the sets of features that it is compiled with, as resolved for the whole workspace on
/// this machine. More than one when a build script or a macro needs others.
type Features = BTreeMap<String, BTreeSet<String>>;

fn features(repository: &Path, edges: &str) -> Result<Features> {
    let arguments =
        ["tree", "--workspace", "--locked", "--prefix", "none", "--format", "{p}|{f}", "--edges", edges];
    Ok(parse(&cargo(repository, &arguments)?))
}

fn parse(tree: &str) -> Features {
    let mut found = Features::new();
    for (package, features) in tree.lines().filter_map(|line| line.split_once('|')) {
        let features = features.strip_suffix(" (*)").unwrap_or(features); // printed in full above
        found.entry(package.to_string()).or_default().insert(features.to_string());
    }
    found
}

fn compare(program: &Features, tests: &Features) -> Vec<String> {
    let mut findings = Vec::new();
    for (package, features) in program {
        let Some(new) = tests.get(package).and_then(|with_tests| with_tests.difference(features).next())
        else {
            continue;
        };
        let old: Vec<&str> = features.iter().map(String::as_str).collect();
        findings.push(format!(
            "Cargo.toml: {package} is compiled with features [{}] for the program and [{new}] for tests",
            old.join("] [")
        ));
    }
    findings
}

#[cfg(test)]
mod tests;
