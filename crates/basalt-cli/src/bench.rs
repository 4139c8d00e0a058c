// SPDX-License-Identifier: Apache-2.0
//! `basalt bench`: whole workloads beside other programs, with the figures as Markdown. A module per workload.

mod beside;
mod chance;
mod changes;
mod encodings;
mod index;
mod join;
mod machine;
mod memory;
mod page;
mod place;
mod plot;
mod points;
mod questions;
mod rpc;
mod sheet;
mod statements;

use crate::args::{BenchArgs, BenchCommand, Shared};
use crate::failure::Result;

/// Runs the command.
pub(crate) fn run(args: &BenchArgs, shared: &Shared) -> Result<()> {
    match &args.command {
        BenchCommand::Beside(args) => beside::run(args, shared),
        BenchCommand::Changes(args) => changes::run(args, shared),
        BenchCommand::Encodings(args) => encodings::run(args, shared),
        BenchCommand::Index(args) => index::run(args, shared),
        BenchCommand::Join(args) => join::run(args, shared),
        BenchCommand::Memory(args) => memory::run(args, shared),
        BenchCommand::Points(args) => points::run(args, shared),
        BenchCommand::Sql(args) => questions::run(args, shared),
        BenchCommand::Rpc(args) => rpc::run(args, shared),
        BenchCommand::Statements(args) => statements::run(args, shared),
    }
}
