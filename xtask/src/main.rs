// SPDX-License-Identifier: Apache-2.0
//! The chores of the repository, as one program: `cargo xtask <chore>`.
//!
//! ```text
//! tidy [--bless]   checks that no compiler makes: headers, lengths, layers, documents (see `tidy`)
//! lint             formatting, clippy, tidy
//! ci               formatting, clippy and every test; all that continuous integration runs
//! replay ops|sql FILE...   recorded answers of HBase or Phoenix against ours, with each difference
//! ```
//!
//! Kept free of the database's own crates and of macros, so that it is compiled in seconds.

mod ci;
mod replay;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["tidy"] => tidy::run(&repository()),
        ["tidy", "--bless"] => tidy::bless(&repository()),
        ["lint"] => ci::lint(&repository()),
        ["ci"] => ci::run(&repository()),
        ["replay", rest @ ..] => replay::run(&repository(), rest),
        _ => bail!("no such chore: {}; there are tidy [--bless], lint, ci and replay", words.join(" ")),
    }
}

/// The root of the checkout that this program runs for.
fn repository() -> PathBuf {
    // As Cargo says now: another checkout with the same target directory may have compiled this program.
    let crate_dir =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&crate_dir).parent().expect("xtask lies in the repository").to_path_buf()
}
