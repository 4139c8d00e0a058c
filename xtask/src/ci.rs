// SPDX-License-Identifier: Apache-2.0
//! What continuous integration runs, step by step; nothing happens there that this module does not do.
//!
//! All steps run even when an early one fails, so that one run tells everything; the tests come last because
//! their summary is what one looks for at the end of a log.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::tidy;

const FORMAT: &[&str] = &["fmt", "--all", "--check"];
const CLIPPY: &[&str] =
    &["clippy", "--release", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"];
const TEST: &[&str] = &["test", "--release", "--workspace", "--locked", "--no-fail-fast"];

/// Formatting, clippy and every test. Tidiness is one of the tests (`tidy/tests.rs`).
pub(crate) fn run(repository: &Path) -> Result<()> {
    cargo_all(repository, &[FORMAT, CLIPPY, TEST])
}

/// What a reviewer would otherwise have to say about form.
pub(crate) fn lint(repository: &Path) -> Result<()> {
    let tidy = tidy::run(repository);
    cargo_all(repository, &[FORMAT, CLIPPY])?;
    tidy
}

fn cargo_all(repository: &Path, steps: &[&[&str]]) -> Result<()> {
    let mut failed = Vec::new();
    for step in steps {
        let line = format!("cargo {}", step.join(" "));
        eprintln!("==> {line}");
        let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(*step)
            .current_dir(repository)
            .status()
            .with_context(|| format!("cannot start `{line}`"))?;
        if !status.success() {
            failed.push(line);
        }
    }
    if !failed.is_empty() {
        bail!("failed: {}", failed.join("; "));
    }
    Ok(())
}
