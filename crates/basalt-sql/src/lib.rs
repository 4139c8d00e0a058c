// SPDX-License-Identifier: Apache-2.0
//! Phoenix SQL over the store, planned and run by DataFusion.
//!
//! An [`Engine`] holds what sessions share (the database, memory, threads, cached sequence values), a [`Session`]
//! is one connection and runs one statement at a time:
//!
//! ```text
//! text -> [dialect] statement -> [plan] logical plan over one snapshot -> DataFusion -> [scan] -> store
//!                             -> [upsert] [update] [delete] [merge] [definition] -> store
//! ```
//!
//! The rules of this crate: a statement sees one snapshot for all of its tables; a changing statement is visible
//! wholly or not at all (DELETE of more rows than fit in memory excepted, which says so); errors are translated
//! once, in [`error`].

mod begun;
mod catalog;
mod coerce;
mod constant;
mod copy;
mod cursor;
mod deep;
mod definition;
mod delete;
mod dialect;
mod engine;
mod error;
mod explain;
mod file_table;
mod functions;
mod hints;
mod index;
mod ingest;
mod joins;
mod keys;
mod lanes;
mod memory;
mod merge;
mod outcome;
mod panics;
mod parameter;
mod plan;
mod point;
mod progress;
mod repeated;
mod returning;
mod rules;
mod running;
mod scan;
mod sequence;
mod session;
mod spill;
mod split;
mod uncommitted;
mod update;
mod upsert;

pub use begun::{Begun, Waiting};
pub use engine::{Engine, EngineOptions};
pub use error::{ErrorKind, PhoenixCode, Position, SqlError};
pub use explain::PLAN_FORMAT;
pub use ingest::{BulkLoad, RowRefusal};
pub use outcome::{Outcome, RowStream};
pub use parameter::{Prepared, Value};
pub use progress::{Progress, ProgressReading};
pub use session::{Described, Session};
pub use split::{OpenPart, Split, StatementText, split_statements};
