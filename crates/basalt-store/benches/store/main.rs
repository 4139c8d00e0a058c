// SPDX-License-Identifier: Apache-2.0
//! What opening costs: how long a log takes to replay after a crash, how long a database of many regions takes to open,
//! what a region that nobody asks takes of memory, and how long writers wait when they write too much.
//!
//! `cargo bench --workspace --bench store [-- PAGE [DIR]]` prints the figures and writes them into PAGE, above its first
//! `## `; the databases lie in DIR, a temporary directory without it. `make bench-store` does that for
//! docs/benchmarks/store.md.

#![expect(clippy::disallowed_methods, reason = "a bench has a clock and files of its own")]

mod allocations;
mod figures;
mod pauses;
mod recovery;
mod regions;

use std::path::{Path, PathBuf};

use basalt_store::Result;
use figures::Figures;

#[global_allocator]
static ALLOCATOR: allocations::Counting = allocations::Counting;

fn main() -> Result<()> {
    // `cargo bench` adds `--bench`.
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let temporary = tempfile::tempdir().expect("a temporary directory");
    let dir = args.get(1).map_or_else(|| temporary.path().to_owned(), PathBuf::from);
    let mut figures = Figures::default();
    recovery::measure(&dir, &mut figures)?;
    regions::measure(&dir, &mut figures)?;
    pauses::measure(&dir, &mut figures)?;
    if let Some(page) = args.first() {
        figures.write(Path::new(page));
    }
    Ok(())
}
