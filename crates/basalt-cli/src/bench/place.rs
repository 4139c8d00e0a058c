// SPDX-License-Identifier: Apache-2.0
//! Where a workload keeps its data.

use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;

use crate::failure::Result;

/// A directory that a second run finds, or a temporary one that goes with this run.
pub(super) struct Place {
    path: PathBuf,
    _temporary: Option<TempDir>,
}

impl Place {
    /// This directory; without one, a temporary one.
    pub(super) fn of(dir: Option<&Path>) -> Result<Self> {
        let Some(dir) = dir else {
            let temporary = tempfile::tempdir().context("cannot make a directory for the data")?;
            return Ok(Self { path: temporary.path().to_path_buf(), _temporary: Some(temporary) });
        };
        Ok(Self { path: dir.to_path_buf(), _temporary: None })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
