// SPDX-License-Identifier: Apache-2.0
//! The sorted file: HFile v3 blocks, encodings, compression, index and bloom filters. Bytes in, cells or
//! Arrow arrays out; nothing here opens a file or knows a table.

pub mod cells;

pub use cells::{CellBlock, CellRun, CellSlot};
