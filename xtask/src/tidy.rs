// SPDX-License-Identifier: Apache-2.0
//! Checks of form that no compiler makes. Each check returns findings, one line each, `path:line: what is
//! wrong and what to do`; an empty list is a tidy tree.
//!
//! ```text
//! sources    licence line, module doc, names, #[ignore], lengths (a ratchet: xtask/ratchet.txt)
//! layers     which crate may see which, and what may not be reached at all
//! features   one set of features per package, so that it is compiled once
//! documents  dependencies explained, crate list complete, links alive
//! ```
//!
//! The checks read the files that git knows, as they lie in the work tree.

mod documents;
mod features;
mod layers;
mod ratchet;
mod sources;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use ratchet::Ratchet;

/// A file of the repository: its path from the root, with `/`, and its text.
#[derive(Debug, Clone)]
pub(crate) struct SourceFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// Prints every finding; an error if there is one.
pub(crate) fn run(repository: &Path) -> Result<()> {
    let findings = findings(repository)?;
    for finding in &findings {
        eprintln!("{finding}");
    }
    match findings.len() {
        0 => Ok(()),
        n => bail!("tidy has {n} findings"),
    }
}

/// Writes today's lengths into the ratchet; for a change that was talked about, and for shrinking it.
pub(crate) fn bless(repository: &Path) -> Result<()> {
    let files = text_files(repository)?;
    Ratchet::measured(&files).save(repository)
}

fn findings(repository: &Path) -> Result<Vec<String>> {
    let files = text_files(repository)?;
    let metadata = metadata(repository)?;
    let mut findings = sources::check(&files);
    findings.extend(Ratchet::load(repository)?.check(&Ratchet::measured(&files)));
    findings.extend(layers::check(&metadata)?);
    findings.extend(features::check(repository)?);
    findings.extend(documents::check(&files, &workspace_crates(&metadata)?));
    Ok(findings)
}

/// Rust, Markdown and manifest files that git tracks or would add; what is ignored is not read.
fn text_files(repository: &Path) -> Result<Vec<SourceFile>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(repository)
        .output()
        .context("cannot start git")?;
    if !output.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let mut files = Vec::new();
    for path in String::from_utf8(output.stdout)?.split_terminator('\0') {
        let wanted = [".rs", ".md", "Cargo.toml"].iter().any(|ending| path.ends_with(ending));
        // A file removed from the work tree is still listed until the removal is committed.
        if wanted && repository.join(path).is_file() {
            let text =
                fs::read_to_string(repository.join(path)).with_context(|| format!("cannot read {path}"))?;
            files.push(SourceFile { path: path.to_string(), text });
        }
    }
    Ok(files)
}

/// What cargo knows of the workspace and the graph of its dependencies.
fn metadata(repository: &Path) -> Result<Value> {
    let json = cargo(repository, &["metadata", "--format-version", "1", "--locked"])?;
    serde_json::from_str(&json).context("cargo metadata is not JSON")
}

/// What a cargo command prints.
fn cargo(repository: &Path, arguments: &[&str]) -> Result<String> {
    let line = format!("cargo {}", arguments.join(" "));
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let output = command.args(arguments).current_dir(repository).output();
    let output = output.with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` prints no text"))
}

fn workspace_crates(metadata: &Value) -> Result<BTreeSet<String>> {
    let members: BTreeSet<&str> = metadata["workspace_members"]
        .as_array()
        .context("no workspace")?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let packages = metadata["packages"].as_array().context("no packages")?;
    Ok(packages
        .iter()
        .filter(|package| package["id"].as_str().is_some_and(|id| members.contains(id)))
        .filter_map(|package| package["name"].as_str().map(String::from))
        .collect())
}

#[cfg(test)]
mod tests;
