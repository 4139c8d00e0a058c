// SPDX-License-Identifier: Apache-2.0
//! What one does with a single store file from a command line: print it, describe it, check it, rewrite it.

mod convert;
mod dump;
mod stat;
mod verify;

pub use convert::{ConvertOptions, convert};
pub use dump::{DUMP_HEADER, DumpError, dump};
pub use stat::{BlockStat, CellStat, FileStat, IndexStat, InfoEntry, stat};
pub use verify::verify;

#[cfg(test)]
mod tests;
