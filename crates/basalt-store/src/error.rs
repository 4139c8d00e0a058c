// SPDX-License-Identifier: Apache-2.0
//! The one error of this crate, cut by what the caller can do about it: fix the call, restore the bytes, wait
//! and retry, or report a bug.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_hfile::typed::TypedError;
use basalt_model::escape::Escaped;
use basalt_model::filter::FilterError;
use basalt_model::mutation::MutationError;
use basalt_model::{KeyRange, TableName};
use bytes::Bytes;

use crate::ids::RegionId;
use crate::read::FilterFault;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong in the store. Cheap to clone: one failed log write answers many writers.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another process (or another handle) has the directory open.
    #[error("database {} is in use by {holder}", path.display())]
    Locked {
        /// Directory of the database.
        path: PathBuf,
        /// What the holder says about itself.
        holder: String,
    },
    /// The directory holds no database.
    #[error("{} is not a Basalt database: {found}", path.display())]
    NotADatabase {
        /// The directory.
        path: PathBuf,
        /// What lies there instead.
        found: &'static str,
    },
    /// A later release wrote the database.
    #[error("{} is of database format {found}, newer than {supported}, the newest that this release reads", path.display())]
    NewerFormat {
        /// The file that says so.
        path: PathBuf,
        /// Format of the file.
        found: u32,
        /// Newest format known here.
        supported: u32,
    },
    /// Bytes that are not what was written.
    #[error("{0}")]
    Corrupt(Arc<Corruption>),
    /// The operating system refused.
    #[error("cannot {op} {}", path.display())]
    Io {
        /// What was attempted, as a verb: `read`, `sync`.
        op: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: Arc<io::Error>,
    },
    /// The disk or the quota is full. Nothing acknowledged is lost, and writes work again once there is space.
    #[error("no space left to {op} {}", path.display())]
    OutOfSpace {
        /// What was attempted.
        op: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// Why.
        #[source]
        source: Arc<io::Error>,
    },
    /// The log could not be made durable at some earlier point; what reached the disk is unknown until the
    /// database is opened again. Reads go on.
    #[error("the write-ahead log failed earlier; the database takes no writes until it is opened again")]
    LogFailed {
        /// The failure.
        #[source]
        source: Arc<io::Error>,
    },
    /// Memory for unflushed writes is used up and flushing does not keep up; try again later.
    #[error("{unflushed_bytes} bytes of writes wait to be flushed, more than the limit of {limit_bytes}")]
    Overloaded {
        /// Bytes in memory.
        unflushed_bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// A mistake of this program, not of its caller. What was acknowledged before is in the log.
    #[error("a {what} panicked ({message}); this is a mistake in Basalt, please report it")]
    Panicked {
        /// What was under way: `flush`.
        what: &'static str,
        /// What the panic said.
        message: String,
    },
    /// A mistake of this program, not of its caller: something, most likely a panic, kept a change that is durable from being made in memory as
    /// well. What was acknowledged is in the files and in the log.
    #[error(
        "a mistake in Basalt, which an earlier error or the log of the program shows, kept a change of the manifest from memory; the database takes no more writes: close it and open it again, which finds all that was acknowledged"
    )]
    MemoryBehind,
    /// A write that this operation had read failed before it was durable; the same call may be repeated.
    #[error("the operation read a write that then failed; repeat it")]
    Conflict,
    /// The database was closed.
    #[error("the database is closed")]
    Closed,
    /// A change was asked of a database opened for reading.
    #[error("the database is open for reading only")]
    ReadOnly,
    /// No table of this name.
    #[error("there is no table {name}")]
    NoSuchTable {
        /// Name or `table 17` when only the id is known.
        name: String,
    },
    /// The table was disabled.
    #[error("table {name} is disabled; it takes no reads and writes until it is enabled again")]
    TableDisabled {
        /// Name.
        name: String,
    },
    /// A table of this name exists.
    #[error("table {name} exists already")]
    TableExists {
        /// The name.
        name: TableName,
    },
    /// The table has no such region, or not any more.
    #[error("table {table} has no region {region}; it was split or merged, or never was")]
    NoSuchRegion {
        /// The table.
        table: TableName,
        /// The region asked for.
        region: RegionId,
    },
    /// No snapshot of this name.
    #[error("there is no snapshot {name:?}")]
    NoSuchSnapshot {
        /// The name.
        name: String,
    },
    /// A snapshot of this name exists.
    #[error("snapshot {name:?} exists already")]
    SnapshotExists {
        /// The name.
        name: String,
    },
    /// A write to a table whose index nobody keeps.
    #[error(
        "table {table} has the index {index}, which is kept by SQL alone; open the database with it to write to the table"
    )]
    UnkeptIndex {
        /// The index.
        index: TableName,
        /// The table.
        table: TableName,
    },
    /// What an index does not allow, in the words of its keeper.
    #[error("index {index} does not allow the write")]
    IndexRefusal {
        /// The index.
        index: TableName,
        /// Why.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// The table has no such family.
    #[error("table {table} has no column family {family:?}")]
    NoSuchFamily {
        /// The table.
        table: TableName,
        /// The family asked for, escaped.
        family: String,
    },
    /// A table descriptor, option or argument that cannot be.
    #[error("{0}")]
    Invalid(String),
    /// Stored cells that make no row of the table's schema.
    #[error("table {table} holds a row that cannot be read")]
    StoredRow {
        /// The table.
        table: String,
        /// The row, the column and what is wrong.
        #[source]
        source: Arc<TypedError>,
    },
    /// A cell or row that cannot be.
    #[error(transparent)]
    Mutation(#[from] MutationError),
    /// A filter that cannot be.
    #[error(transparent)]
    BadFilter(#[from] FilterError),
    /// A filter that cannot judge what it met.
    #[error(transparent)]
    Filter(#[from] FilterFault),
    /// A number that is not possible.
    #[error("{what}: {found}; expected {min} to {max}")]
    OutOfRange {
        /// What was to be that many.
        what: &'static str,
        /// The number given.
        found: u64,
        /// The smallest possible.
        min: u64,
        /// The largest possible.
        max: u64,
    },
    /// A cell from before the epoch.
    #[error("timestamp {found} is negative; expected 0 or more")]
    NegativeTimestamp {
        /// The timestamp given.
        found: i64,
    },
    /// Times that end before they begin.
    #[error("time range from {min} to {max}; expected 0 <= minimum <= maximum")]
    BadTimeRange {
        /// First timestamp.
        min: i64,
        /// First timestamp behind the range.
        max: i64,
    },
    /// A scan that ends before it begins.
    #[error(
        "{}scan from row {} to row {}; expected the {} to be the smaller one",
        if *reversed { "reversed " } else { "" }, Escaped(start), Escaped(stop),
        if *reversed { "second" } else { "first" }
    )]
    InvertedRange {
        /// Where it was to begin.
        start: Bytes,
        /// Where it was to end.
        stop: Bytes,
        /// Whether rows were to come in descending order.
        reversed: bool,
    },
    /// A raw scan of some columns.
    #[error("a raw scan of table {table} names columns; expected whole families")]
    RawColumns {
        /// The table.
        table: TableName,
    },
    /// A change without anything to change.
    #[error("the change of row {} names no {what}", Escaped(row))]
    NothingToDo {
        /// The row.
        row: Bytes,
        /// What is missing, e.g. `cell`.
        what: &'static str,
    },
    /// Changes of different rows where one row was expected.
    #[error("a change of row {} among those of row {}; expected one row", Escaped(found), Escaped(expected))]
    OtherRow {
        /// The row of the operation.
        expected: Bytes,
        /// The row of the change.
        found: Bytes,
    },
    /// An increment of something else than a counter.
    #[error("cannot increment {family}:{qualifier} of row {row}: its value has {found} bytes; expected 8")]
    NotACounter {
        /// The row, escaped.
        row: String,
        /// The family, escaped.
        family: String,
        /// The qualifier, escaped.
        qualifier: String,
        /// Length of the value.
        found: usize,
    },
    /// No namespace of this name.
    #[error("there is no namespace {name:?}")]
    NoSuchNamespace {
        /// The name.
        name: String,
    },
    /// A namespace of this name exists.
    #[error("namespace {name:?} exists already")]
    NamespaceExists {
        /// The name.
        name: String,
    },
    /// A namespace that holds tables cannot be dropped.
    #[error("namespace {name:?} cannot be dropped: it holds {tables} tables or is the default one")]
    NamespaceNotEmpty {
        /// The name.
        name: String,
        /// Tables in it.
        tables: usize,
    },
    /// A scan that cuts rows together with a filter that must see whole ones.
    #[error(
        "the scan cuts rows into results of {limit}, but its filter decides about whole rows; \
         leave the limit or the filter out"
    )]
    IncompatibleFilter {
        /// The limit, e.g. `3 cells`.
        limit: String,
    },
}

/// Where damaged bytes lie and what they held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corruption {
    /// The file.
    pub file: PathBuf,
    /// Offset of the damaged block or record in the file.
    pub offset: u64,
    /// The table whose data it is, when that can still be told.
    pub table: Option<String>,
    /// The rows that it may have held, when that can still be told.
    pub range: Option<KeyRange>,
    /// What is wrong, both sides named.
    pub what: String,
}

impl fmt::Display for Corruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is damaged at offset {}", self.file.display(), self.offset)?;
        if let Some(table) = &self.table {
            write!(f, " (table {table}")?;
            if let Some(range) = &self.range {
                write!(f, ", rows from {}", Escaped(&range.start))?;
                match &range.end {
                    Some(end) => write!(f, " to before {}", Escaped(end))?,
                    None => f.write_str(" to the end")?,
                }
            }
            f.write_str(")")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl Error {
    /// True if the same call may succeed later without anybody changing it: the disk has space again, the
    /// flush has caught up, the other process has left.
    pub fn retryable(&self) -> bool {
        match self {
            Error::OutOfSpace { .. } | Error::Overloaded { .. } | Error::Locked { .. } | Error::Conflict => {
                true
            }
            Error::Io { source, .. } => {
                matches!(source.kind(), io::ErrorKind::Interrupted | io::ErrorKind::TimedOut)
            }
            _ => false,
        }
    }

    /// Wraps an operating-system error with what was attempted on which file.
    pub(crate) fn io(op: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| {
            let (path, full) = (path.to_owned(), is_out_of_space(&source));
            let source = Arc::new(source);
            if full { Error::OutOfSpace { op, path, source } } else { Error::Io { op, path, source } }
        }
    }

    /// A corruption that names file and offset only.
    pub(crate) fn corrupt(file: &Path, offset: u64, what: impl Into<String>) -> Error {
        let what = what.into();
        Error::Corrupt(Arc::new(Corruption { file: file.to_owned(), offset, table: None, range: None, what }))
    }
}

/// True for a full disk or an exhausted quota.
pub(crate) fn is_out_of_space(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
