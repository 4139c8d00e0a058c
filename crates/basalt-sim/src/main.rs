// SPDX-License-Identifier: Apache-2.0
//! `basalt-sim replay ops FILE…`: replays recorded operations; see [`basalt_sim::replay`].

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use basalt_sim::replay;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("basalt-sim: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// True if everything agreed.
fn run(arguments: &[String]) -> Result<bool> {
    let [replay, ops, files @ ..] = arguments else { bail!("usage: basalt-sim replay ops FILE...") };
    if replay != "replay" || ops != "ops" || files.is_empty() {
        bail!("usage: basalt-sim replay ops FILE...");
    }
    let mut score = replay::Score::default();
    for file in files {
        replay::file(&PathBuf::from(file), &mut score, &mut |line| println!("{line}"))?;
    }
    println!("{} passed, {} failed", score.passed, score.failed);
    Ok(score.failed == 0)
}
