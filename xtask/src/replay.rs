// SPDX-License-Identifier: Apache-2.0
//! Replays recorded operations of real HBase (`ops`) or statements of real Phoenix (`sql`). The work is done by the program `basalt-sim`, which is built as a part
//! of the workspace, so that its dependencies are compiled once for everything.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Builds the replayer and runs it; `arguments` are the kind and the files. An error if an answer differed.
pub(crate) fn run(repository: &Path, arguments: &[&str]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--workspace", "--locked", "--bin", "basalt-sim"])
        .current_dir(repository)
        .status()
        .context("cannot start cargo")?;
    if !built.success() {
        bail!("basalt-sim could not be built");
    }
    // The program lies beside this one: both are built with one profile.
    let here = std::env::current_exe().context("this program has no path")?;
    let program = here.with_file_name(format!("basalt-sim{}", std::env::consts::EXE_SUFFIX));
    let status = Command::new(&program)
        .arg("replay")
        .args(arguments)
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    if !status.success() {
        bail!("not everything was answered as recorded");
    }
    Ok(())
}
