// SPDX-License-Identifier: Apache-2.0
//! ORDER BY of everything, in memory if it fits: rows stay where they are, and what is sorted is a number and a place for each.
//!
//! DataFusion sorts batch by batch and moves whole rows at every merge. Here the partitions of the input are read at the same
//! time; each row becomes a [`keys::Entry`] of sixteen bytes, entries are sorted in runs while the rows are still coming, the
//! runs are merged, and rows are gathered once, in the order of the answer, by all threads. When memory does not
//! suffice, what was read is handed over to DataFusion's sort, which spills.

mod exec;
mod gather;
mod keys;
mod rule;
mod runs;
mod whole;

pub use rule::SortRows;
pub(crate) use whole::WholeSort;
