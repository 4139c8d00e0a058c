// SPDX-License-Identifier: Apache-2.0
//! Basalt as a library: open a directory, ask in SQL, load rows by the million.
//!
//! ```
//! use basalt::{Options, Outcome};
//! use futures::StreamExt;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("shop");
//! let engine = basalt::open(&path, &Options::create())?;
//! let session = engine.session();
//! session.execute("CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR)").await?;
//! session.execute("UPSERT INTO item VALUES (1, 'lamp'), (2, 'chair')").await?;
//!
//! let Outcome::Rows(mut rows) = session.execute("SELECT name FROM item WHERE id = 2").await? else {
//!     unreachable!("a SELECT answers rows")
//! };
//! while let Some(batch) = rows.next().await {
//!     assert_eq!(batch?.num_rows(), 1);
//! }
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! A statement that runs many times is prepared once; its parameters are `?`, or `:1`, `:2`. Values are never read as SQL:
//!
//! ```
//! use basalt::{Options, Outcome, Value};
//! # use futures::StreamExt;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let engine = basalt::open(&dir.path().join("shop"), &Options::create())?;
//! let session = engine.session();
//! session.execute("CREATE TABLE item (id BIGINT PRIMARY KEY, name VARCHAR, price DECIMAL(9, 2))").await?;
//! let add = session.prepare("UPSERT INTO item VALUES (?, ?, ?)")?;
//! session.execute_prepared(&add, &[1.into(), "lamp".into(), Value::Decimal("12.50".into())]).await?;
//! session.execute_prepared(&add, &[2.into(), "it's a chair".into(), Value::Null]).await?;
//!
//! let find = session.prepare("SELECT id FROM item WHERE name = :1 OR price > :2")?;
//! assert_eq!(find.parameters(), 2);
//! let answer = session.execute_prepared(&find, &["it's a chair".into(), 20.into()]).await?;
//! let Outcome::Rows(mut rows) = answer else { unreachable!("a SELECT answers rows") };
//! # let mut found = 0;
//! while let Some(batch) = rows.next().await {
//!     // One row: 2.
//! #   found += batch?.num_rows();
//! }
//! # assert_eq!(found, 1);
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! An [`Engine`] is one open database. It is cheap to clone and safe to share; a [`Session`] is one connection and runs
//! one statement at a time. Dropping the future or the rows of a statement cancels it. Rows are Arrow record batches.
//! [`Engine::bulk_load`] writes many rows without the log. [`cells`] is the other face of the same data: HBase's
//! tables, families, cells, filters; [`Engine::database`] leads there from an open engine.
//!
//! The crates below this one may change in any release; what is re-exported here changes with notice.

use std::path::Path;

pub mod cells;

pub use basalt_hfile::typed::arrow_type;
pub use basalt_model::index::{IndexDescriptor, IndexPart, IndexSource, IndexState};
pub use basalt_model::schema::ColumnRef;
pub use basalt_model::{SortOrder, SqlType, TableDescriptor, TableId, TableName, TableSchema};
pub use basalt_sql::{
    Begun, BulkLoad, Engine, EngineOptions, ErrorKind, OpenPart, Outcome, PLAN_FORMAT, PhoenixCode, Position,
    Prepared, Progress, ProgressReading, RowRefusal, RowStream, Session, Split, SqlError, StatementText,
    Value, Waiting, split_statements,
};
pub use basalt_store::{
    CheckReport, Database, DiskCacheOptions, Durability, Env, Finding, OpenOptions, Severity,
};

/// Memory that a database uses if nobody says otherwise, in bytes.
pub const MEMORY_BYTES_DEFAULT: u64 = 1 << 30;

/// How to open a database. The rest of what can be chosen is in [`OpenOptions`] and [`EngineOptions`].
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Create the database if the directory is missing or empty. Default false.
    pub create: bool,
    /// Change nothing on disk. Default false.
    pub read_only: bool,
    /// Memory for everything together, in bytes; [`MEMORY_BYTES_DEFAULT`] if `None`. One third goes to caches and writes
    /// that are not yet in store files, two thirds to sorts, joins and aggregates, which spill to disk beyond it.
    pub memory_bytes: Option<u64>,
    /// A second tier of the block cache on a local disk. Default none.
    pub disk_cache: Option<DiskCacheOptions>,
    /// Threads that work on a statement; one per core if `None`.
    pub threads: Option<usize>,
}

impl Options {
    /// Options that create the database if need be.
    pub fn create() -> Self {
        Self { create: true, ..Self::default() }
    }
}

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store refused: locked, damaged, of a newer format, no database, or the file system said no.
    #[error(transparent)]
    Store(#[from] basalt_store::Error),
    /// The SQL engine could not be set up.
    #[error(transparent)]
    Sql(#[from] SqlError),
}

/// Opens the database in the directory `path`. Another process that has it open is an error that names the holder.
pub fn open(path: &Path, options: &Options) -> Result<Engine, Error> {
    let memory_bytes = options.memory_bytes.unwrap_or(MEMORY_BYTES_DEFAULT);
    let store = OpenOptions {
        create: options.create,
        read_only: options.read_only,
        memory_bytes: memory_bytes / 3,
        disk_cache: options.disk_cache.clone(),
        ..OpenOptions::default()
    };
    let engine = EngineOptions { memory_bytes: memory_bytes / 3 * 2, ..EngineOptions::default() };
    let engine = match options.threads {
        Some(threads) => EngineOptions { threads, ..engine },
        None => engine,
    };
    Ok(Engine::try_new(Database::open(path, store)?, engine)?)
}

/// Verifies every byte of the database in `path` and changes nothing; `report` gets each finding as it is made. An error
/// means that nothing could be verified: there is no database, or another process is writing to it.
pub fn check(path: &Path, report: &mut dyn FnMut(Finding)) -> Result<CheckReport, Error> {
    Ok(basalt_store::check(path, &Env::local(), report)?)
}
