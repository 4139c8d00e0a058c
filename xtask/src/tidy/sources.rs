// SPDX-License-Identifier: Apache-2.0
//! Checks of single Rust files: licence line, module doc, module names, tests that are switched off.

use super::SourceFile;

const LICENCE: &str = "// SPDX-License-Identifier: Apache-2.0";

/// Names that say nothing about what lies inside; put the function with its data instead.
const EMPTY_NAMES: &[&str] = &["common", "helper", "helpers", "misc", "util", "utils"];

pub(super) fn check(files: &[SourceFile]) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        check_header(file, &mut findings);
        check_name(file, &mut findings);
        check_lines(file, &mut findings);
    }
    findings
}

/// The licence is the first line; a module then says what it owns, unless it is a file of tests.
fn check_header(file: &SourceFile, findings: &mut Vec<String>) {
    let mut lines = file.text.lines();
    if lines.next() != Some(LICENCE) {
        findings.push(format!("{}:1: the first line must be `{LICENCE}`", file.path));
    }
    if !is_test(&file.path) && !lines.next().is_some_and(|line| line.starts_with("//! ")) {
        findings.push(format!("{}:2: a module doc (`//!`) must say what the module owns", file.path));
    }
}

fn check_name(file: &SourceFile, findings: &mut Vec<String>) {
    for part in file.path.split('/') {
        let name = part.strip_suffix(".rs").unwrap_or(part);
        if EMPTY_NAMES.contains(&name) {
            findings.push(format!("{}:1: `{name}` says nothing; name the module for its job", file.path));
        }
        if name == "mod" {
            findings.push(format!("{}:1: use `name.rs` beside `name/`, not `mod.rs`", file.path));
        }
    }
}

fn check_lines(file: &SourceFile, findings: &mut Vec<String>) {
    for (number, line) in (1..).zip(file.text.lines()) {
        let line = line.trim_start();
        if line.starts_with(concat!("#[", "ignore")) {
            findings.push(format!("{}:{number}: a test that does not run proves nothing", file.path));
        }
        let unowned = concat!("TO", "DO");
        if line.contains(unowned) && !line.contains(&format!("{unowned}(")) {
            findings.push(format!("{}:{number}: say who will do it: `{unowned}(name): …`", file.path));
        }
    }
}

/// True for files that hold only tests or benches.
pub(super) fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs")
        || path.ends_with("_tests.rs")
        || path.contains("/tests/")
        || path.contains("/benches/")
}

#[cfg(test)]
mod tests;
