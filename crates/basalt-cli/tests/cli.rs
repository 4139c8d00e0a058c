// SPDX-License-Identifier: Apache-2.0
//! The `basalt` binary as scripts use it: every test runs the real program in a directory of its own.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "cli/program.rs"]
mod program;

#[path = "cli/bench.rs"]
mod bench;
#[path = "cli/databases.rs"]
mod databases;
#[path = "cli/golden.rs"]
mod golden;
#[path = "cli/loads.rs"]
mod loads;
#[path = "cli/results.rs"]
mod results;
#[path = "cli/shell.rs"]
mod shell;
