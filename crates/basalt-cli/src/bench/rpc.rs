// SPDX-License-Identifier: Apache-2.0
//! `basalt bench rpc`: HBase's Java client asks Basalt, then HBase itself, the same questions.
//!
//! Both servers are processes of their own on this machine, one at a time, with data of their own; both sync what is written by
//! default. The questions, and what is done before anything is timed, are in `tests/hbase/src/basalt/RpcBench.java`.

mod report;
mod server;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow};

use super::machine::Memory;
use crate::args::{BenchRpcArgs, Shared};
use crate::failure::{Failure, Result};
use server::Server;

/// What was measured of one server.
struct Measured {
    /// Figures by the names that the Java program gives them.
    figures: BTreeMap<String, f64>,
    memory: Option<Memory>,
}

/// Runs the command.
pub(crate) fn run(args: &BenchRpcArgs, shared: &Shared) -> Result<()> {
    let script = args.programs.join("run.sh");
    if !script.is_file() {
        return Err(Failure::usage(format!(
            "{} is missing; expected the Java programs of Basalt's repository: run it from there, or name them with --programs",
            script.display()
        )));
    }
    let work = match &args.dir {
        Some(dir) => tempfile::Builder::new().prefix("bench-rpc-").tempdir_in(dir),
        None => tempfile::tempdir(),
    };
    let work = work.context("cannot make a directory for the data")?;
    let basalt = measure(&script, args, shared, "Basalt", || Server::basalt(work.path(), shared))?;
    let hbase = measure(&script, args, shared, "HBase", || Server::hbase(work.path(), &script, &args.heap))?;
    report::write(args, &basalt, &hbase)?;
    if !shared.quiet {
        eprintln!("written: {}", args.out.display());
    }
    Ok(())
}

fn measure(
    script: &Path,
    args: &BenchRpcArgs,
    shared: &Shared,
    name: &str,
    start: impl FnOnce() -> Result<Server>,
) -> Result<Measured> {
    if !shared.quiet {
        eprintln!("{name}: {} rows", args.rows);
    }
    let server = start()?;
    let output = Command::new(script)
        .args(["RpcBench", &server.cluster, &args.rows.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot run {}", script.display()))?;
    if !output.status.success() {
        let what = anyhow!("the client of {name} ended with {}; {}", output.status, server.log_hint());
        return Err(Failure::input(what));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !shared.quiet {
        eprint!("{text}");
    }
    let measured = Measured { figures: figures(&text), memory: server.memory() };
    server.stop()?;
    Ok(measured)
}

/// Lines of a name, a figure and its unit, between tabs; other lines are Java's own remarks.
fn figures(text: &str) -> BTreeMap<String, f64> {
    let line = |line: &str| {
        let mut parts = line.split('\t');
        let (name, figure) = (parts.next()?, parts.next()?);
        parts.next()?;
        Some((name.to_owned(), figure.parse().ok()?))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests;
