// SPDX-License-Identifier: Apache-2.0
//! `basalt-sim replay ops|sql FILE...`: replays recorded operations or statements; see [`basalt_sim::replay`] and
//! [`basalt_sim::sql`].

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use basalt_sim::sql::known::Known;
use basalt_sim::{replay, sql};

/// The differences from Phoenix that are known.
const KNOWN: &str = include_str!("../testdata/phoenix/known.txt");

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
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["replay", "ops", files @ ..] if !files.is_empty() => operations(files),
        ["replay", "sql", files @ ..] if !files.is_empty() => statements(files),
        _ => bail!("usage: basalt-sim replay ops|sql FILE..."),
    }
}

fn operations(files: &[&str]) -> Result<bool> {
    let mut score = replay::Score::default();
    for file in files {
        replay::file(&PathBuf::from(file), &mut score, &mut |line| println!("{line}"))?;
    }
    println!("{} passed, {} failed", score.passed, score.failed);
    Ok(score.failed == 0)
}

fn statements(files: &[&str]) -> Result<bool> {
    let known = Known::parse(KNOWN)?;
    let mut score = sql::Score::default();
    for file in files {
        sql::file(&PathBuf::from(file), &known, &mut score, &mut |line| println!("{line}"))?;
    }
    println!("{} passed, {} failed, {} known", score.passed, score.failed, score.known);
    Ok(score.failed == 0)
}
