// SPDX-License-Identifier: Apache-2.0
//! Compaction: which files to rewrite ([`pick`], a pure function of file metadata) and the rewriting ([`run`]).
//!
//! What this folder leaves to others: when to look, how many at a time, the manifest edit that replaces the
//! inputs by the outputs.
//!
//! The rule it protects: a compaction changes no answer. Every cell keeps its sequence number, so any set of
//! files may be merged, not only neighbours in age; delete markers leave only when every file that holds any
//! of their rows is among the inputs. Live snapshots hold the input files themselves.

mod courtesy;
mod output;
mod pick;
mod run;

pub(crate) use courtesy::{Courtesy, LookupTimes};
pub(crate) use output::{FILE_BYTES_MAX, RunWriter};
pub use pick::{Pick, PickOptions, Reason, is_due, major, pick};
pub(crate) use pick::{depth, is_aging};
pub use run::Control;
pub(crate) use run::{CompactionSpec, run};
