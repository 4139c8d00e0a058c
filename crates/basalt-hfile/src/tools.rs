// SPDX-License-Identifier: Apache-2.0
//! What one does with a single store file from a command line: print it, describe it, check it, rewrite it.

mod dump;

pub use dump::{DUMP_HEADER, DumpError, dump};

#[cfg(test)]
mod tests;
