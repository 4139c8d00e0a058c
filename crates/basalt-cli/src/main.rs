// SPDX-License-Identifier: Apache-2.0
//! The `basalt` binary. This file reads the command line and hands over; each command has a module of its own.

mod args;
mod bad_rows;
mod bench;
mod check;
mod connection;
mod demo;
mod failure;
mod hfile;
mod load;
mod output;
mod processor;
mod progress;
mod serve;
mod shell;
mod sql;
mod statement;
mod tpch;

use std::process::ExitCode;

use clap::Parser;

use args::{Command, CommandLine};
use failure::Failure;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Some(complaint) = processor::complaint() {
        eprintln!("error: {complaint}");
        return ExitCode::FAILURE;
    }
    match run(CommandLine::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.code())
        }
    }
}

fn run(line: CommandLine) -> failure::Result<()> {
    if let (Some(db), Some(_)) = (&line.db, &line.command) {
        return Err(Failure::usage(format!(
            "{} stands before a command, which takes no database there",
            db.display()
        )));
    }
    match line.command {
        None => shell::run(line.db.as_deref(), &line.shared),
        Some(Command::Sql(args)) => sql::run(&args, &line.shared),
        Some(Command::Load(args)) => load::run(&args, &line.shared),
        Some(Command::Tpch(args)) => tpch::run(&args, &line.shared),
        Some(Command::Hfile(args)) => hfile::run(&args, &line.shared),
        Some(Command::Demo(args)) => demo::run(&args, &line.shared),
        Some(Command::Bench(args)) => bench::run(&args, &line.shared),
        Some(Command::Serve(args)) => serve::run(&args, &line.shared),
        Some(Command::Check(args)) => check::run(&args, &line.shared),
    }
}
