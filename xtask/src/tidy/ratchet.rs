// SPDX-License-Identifier: Apache-2.0
//! Lengths of files and functions: nothing new may be long, and what is long may only get shorter.
//!
//! `xtask/ratchet.txt` lists what was already over the limit, one line each:
//!
//! ```text
//! file crates/basalt-model/src/mutation.rs 640
//! function crates/basalt-sql/src/plan.rs::plan_statement 82
//! ```
//!
//! Files of tests count as files; their functions do not count. A function is measured by its indentation,
//! which rustfmt guarantees: from the line with `fn` to the closing brace in the same column.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::SourceFile;
use super::sources::is_test;

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;
const RATCHET_FILE: &str = "xtask/ratchet.txt";

/// What is over the limit: `file <path>` or `function <path>::<name>`, and its lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ratchet(BTreeMap<String, usize>);

impl Ratchet {
    /// What is over the limit in these files.
    pub(super) fn measured(files: &[SourceFile]) -> Self {
        let mut long = BTreeMap::new();
        for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
            let lines = file.text.lines().count();
            if lines > FILE_LINES_MAX {
                long.insert(format!("file {}", file.path), lines);
            }
            if !is_test(&file.path) {
                for (name, lines) in
                    functions(&file.text).into_iter().filter(|(_, n)| *n > FUNCTION_LINES_MAX)
                {
                    long.insert(format!("function {}::{name}", file.path), lines);
                }
            }
        }
        Self(long)
    }

    pub(super) fn load(repository: &Path) -> Result<Self> {
        let text = fs::read_to_string(repository.join(RATCHET_FILE)).context(RATCHET_FILE)?;
        Self::parse(&text)
    }

    pub(super) fn save(&self, repository: &Path) -> Result<()> {
        let lines: Vec<String> = self.0.iter().map(|(what, lines)| format!("{what} {lines}\n")).collect();
        fs::write(repository.join(RATCHET_FILE), lines.concat()).context(RATCHET_FILE)
    }

    fn parse(text: &str) -> Result<Self> {
        let mut entries = BTreeMap::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let Some((what, lines)) = line.rsplit_once(' ') else {
                bail!("{RATCHET_FILE}: `{line}` is not `<what> <lines>`");
            };
            let lines = lines.parse().with_context(|| format!("{RATCHET_FILE}: `{line}`"))?;
            entries.insert(what.to_string(), lines);
        }
        Ok(Self(entries))
    }

    /// Findings for what grew beyond this ratchet, and for entries that are no longer needed.
    pub(super) fn check(&self, measured: &Self) -> Vec<String> {
        let mut findings = Vec::new();
        for (what, &lines) in &measured.0 {
            let limit = if what.starts_with("file ") { FILE_LINES_MAX } else { FUNCTION_LINES_MAX };
            let allowed = self.0.get(what).copied().unwrap_or(limit);
            if lines > allowed {
                findings.push(format!(
                    "{what}: {lines} lines, allowed are {allowed}; which second subject lives in it?"
                ));
            }
        }
        for what in self.0.keys().filter(|what| !measured.0.contains_key(*what)) {
            findings.push(format!("{RATCHET_FILE}: `{what}` is short now; remove the line"));
        }
        findings
    }
}

/// Names and lengths in lines of all functions with a body of several lines.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let end = lines[start..].iter().position(|line| ends_function(line, indent));
        if let Some(length) = end {
            found.push((name.to_string(), length + 1));
        }
    }
    found
}

/// True for the closing brace, for a function on one line, and for the end of a signature without body.
fn ends_function(line: &str, indent: &str) -> bool {
    let Some(rest) = line.strip_prefix(indent) else { return false };
    rest.starts_with('}') || !rest.starts_with(' ') && rest.ends_with(['}', ';'])
}

/// The name, if this line begins a function.
fn function_name(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    loop {
        match words.next()? {
            "pub" | "async" | "const" | "unsafe" => {}
            word if word.starts_with("pub(") => {}
            "fn" => break,
            _ => return None,
        }
    }
    words.next()?.split(['(', '<']).next()
}

#[cfg(test)]
mod tests;
