// SPDX-License-Identifier: Apache-2.0
//! What Basalt stores and how it is ordered: cells, keys, key ranges, table descriptors, SQL types and
//! schemas with their byte encodings. No I/O, no async, no Arrow; every other crate stands on this one.
//!
//! Start with [`cell`] (the unit of storage and its order), then [`table`] (tables and families),
//! then [`schema`], [`types`] and [`rowkey`] (how SQL sees the same bytes).

pub mod cell;
pub mod escape;
pub mod filter;
#[doc(hidden)]
pub mod fuzzing;
pub mod index;
pub mod java_pattern;
pub mod mutation;
pub mod operation;
pub mod range;
pub mod rowkey;
pub mod schema;
pub mod table;
pub mod types;

pub use cell::{CellRef, CellType, LATEST_TIMESTAMP, Seq};
pub use filter::{Comparator, CompareOp, Filter};
pub use index::{IndexDescriptor, IndexState};
pub use mutation::{CellTemplate, FrozenBatch, RowMutation, RowMutationRef, WriteBatch};
pub use operation::{
    Append, CheckAndMutate, Condition, Delete, Durability, Get, Increment, Mutation, Put, Scan, TimeRange,
};
pub use range::KeyRange;
pub use schema::{ColumnRef, ColumnSchema, FamilyLayout, KeyColumn, SortOrder, TableSchema};
pub use table::{FamilyDescriptor, TableDescriptor, TableId, TableName};
pub use types::{ElementType, SqlType, TypeError, Value};

/// Longest row key in bytes, as in HBase (the length is stored as a signed 16-bit number).
pub const ROW_LEN_MAX: usize = 32_767;
/// Longest family name in bytes, as in HBase.
pub const FAMILY_LEN_MAX: usize = 127;
