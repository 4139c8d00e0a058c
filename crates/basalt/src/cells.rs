// SPDX-License-Identifier: Apache-2.0
//! Cells: tables as HBase has them, in this process. Rows of any bytes, column families, versions, deletes, filters,
//! with the names and the meanings of HBase's client.
//!
//! # Tables and namespaces
//!
//! ```
//! use basalt::cells::*;
//!
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("shop");
//! let db = Database::open(&path, OpenOptions::create())?;
//! db.create_namespace("shop")?;
//! let name = TableName::new("shop", "orders");
//! let mut family = FamilyDescriptor::new("d");
//! family.set("VERSIONS", "3")?;
//! family.set("TTL", "86400")?;
//! family.set("OWNER", "ada")?; // not known to Basalt, kept as given
//! let id = db.create_table(TableDescriptor::new(name.clone()).family(family))?;
//!
//! // Online: readers and writers go on, files follow when they are rewritten.
//! let mut altered = (*db.table_by_id(id)?).clone();
//! altered.families[0].set("VERSIONS", "5")?;
//! db.alter_table(id, altered.family(FamilyDescriptor::new("log")))?;
//!
//! let orders = db.open_table(&name)?;
//! assert_eq!(orders.descriptor()?.families.len(), 2);
//! db.drop_table(&name)?;
//! db.drop_namespace("shop")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Writing and reading
//!
//! ```
//! # use basalt::cells::*;
//! # let dir = tempfile::tempdir()?;
//! # let db = Database::open(&dir.path().join("db"), OpenOptions::create())?;
//! # let name = TableName::in_default("people");
//! # db.create_table(TableDescriptor::new(name.clone()).family(FamilyDescriptor { versions_max: 3, ..FamilyDescriptor::new("d") }))?;
//! let people = db.open_table(&name)?;
//! people.put(Put::new("ada").add("d", "name", "Ada").add_at("d", "town", 1_000, "London"))?;
//! people.put(Put::new("ada").add_at("d", "town", 2_000, "Paris"))?;
//!
//! let row = people.get(&Get::new("ada"))?;
//! assert_eq!(row.value(b"d", b"town"), Some(&b"Paris"[..]));
//! let row = people.get(&Get::new("ada").column("d", "town").versions(3))?;
//! let towns: Vec<_> = row.cells().map(|cell| (cell.timestamp, cell.value)).collect();
//! assert_eq!(towns, [(2_000, &b"Paris"[..]), (1_000, b"London")]);
//!
//! people.delete(Delete::new("ada").version("d", "town", 2_000))?;
//! assert_eq!(people.get(&Get::new("ada"))?.value(b"d", b"town"), Some(&b"London"[..]));
//!
//! // Acknowledged before it is on disk, synced a moment later.
//! people.with_durability(Durability::Async).put(Put::new("bob").add("d", "name", "Bob"))?;
//! // All rows or none, over any tables.
//! let changes = vec![(people.id(), Put::new("c").add("d", "name", "C").into()), (people.id(), Delete::new("bob").into())];
//! db.mutate(&changes, Durability::Sync)?;
//! assert!(!people.exists(&Get::new("bob"))?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Counters and conditions
//!
//! ```
//! # use basalt::cells::*;
//! # let dir = tempfile::tempdir()?;
//! # let db = Database::open(&dir.path().join("db"), OpenOptions::create())?;
//! # let name = TableName::in_default("pages");
//! # db.create_table(TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("d")))?;
//! let pages = db.open_table(&name)?;
//! pages.increment(Increment::new("home").add("d", "hits", 2))?;
//! let row = pages.increment(Increment::new("home").add("d", "hits", 3))?;
//! assert_eq!(row.value(b"d", b"hits"), Some(&5_i64.to_be_bytes()[..]));
//! pages.append(Append::new("home").add("d", "log", "a"))?;
//!
//! let first = CheckAndMutate::if_not_exists("home", "d", "owner").then(Put::new("home").add("d", "owner", "ada"));
//! assert!(pages.check_and_mutate(&first)?.applied);
//! assert!(!pages.check_and_mutate(&first)?.applied);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Scans and filters
//!
//! ```
//! # use basalt::cells::*;
//! # let dir = tempfile::tempdir()?;
//! # let db = Database::open(&dir.path().join("db"), OpenOptions::create())?;
//! # let name = TableName::in_default("events");
//! # db.create_table(TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("d")))?;
//! let events = db.open_table(&name)?;
//! for i in 0..10 {
//!     let state = if i % 2 == 0 { "open" } else { "done" };
//!     events.put(Put::new(format!("2026-{i:02}")).add("d", "state", state).add("d", "text", "..."))?;
//! }
//! let open = Filter::single_column_value("d", "state", CompareOp::Equal, "open");
//! let scan = Scan::new().start("2026-08").stop_inclusive("2026-02").filter(open).reversed().limit(2);
//! let rows = events.scan(&scan)?.collect::<Result<Vec<_>, _>>()?;
//! let keys: Vec<&[u8]> = rows.iter().map(|row| row.key()).collect();
//! assert_eq!(keys, [b"2026-08", b"2026-06"]);
//!
//! // A snapshot does not move, and any number of reads can share it.
//! let before = db.snapshot();
//! events.delete(Delete::new("2026-00"))?;
//! assert_eq!(before.query(events.id(), &Scan::new())?.count(), 10);
//! assert_eq!(events.scan(&Scan::new())?.count(), 9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Large rows come in parts, by cells or by bytes; several gets are answered together; a reader may ask for what was written within some time.
//!
//! ```
//! # use basalt::cells::*;
//! # let dir = tempfile::tempdir()?;
//! # let db = Database::open(&dir.path().join("db"), OpenOptions::create())?;
//! # let name = TableName::in_default("wide");
//! # db.create_table(TableDescriptor::new(name.clone()).family(FamilyDescriptor { versions_max: 2, ..FamilyDescriptor::new("d") }))?;
//! let wide = db.open_table(&name)?;
//! let mut put = Put::new("row");
//! for column in 0..10 {
//!     put = put.add_at("d", format!("c{column}"), 100 + column, "a value");
//! }
//! wide.put(put)?;
//! let parts = wide.scan(&Scan::new().batch(4))?.collect::<Result<Vec<_>, _>>()?;
//! assert_eq!(parts.iter().map(|part| (part.len(), part.is_partial())).collect::<Vec<_>>(), [(4, true), (4, true), (2, false)]);
//! assert!(wide.scan(&Scan::new().result_bytes_max(100))?.count() > 1);
//!
//! let found = wide.get_all(&[Get::new("row").column("d", "c3"), Get::new("nowhere")])?;
//! assert_eq!((found[0].len(), found[1].is_empty()), (1, true));
//! assert_eq!(wide.get(&Get::new("row").time_range(103, 106))?.len(), 3);
//!
//! // Several changes of one row at once; of several rows, each with its own answer.
//! let changes: Vec<Mutation> = vec![Put::new("row").add("d", "new", "1").into(), Delete::new("row").column("d", "c0").into()];
//! wide.mutate_row(changes)?;
//! let answers = wide.batch(vec![Action::Get(Get::new("row").column("d", "new")), Action::Mutate(Put::new("other").add("d", "x", "2").into())]);
//! assert!(answers.iter().all(Result::is_ok));
//!
//! // A cell with a life of its own, of a second, which is over: it began in 1970.
//! wide.put(Put::new("session").ttl_ms(1_000).add_at("d", "token", 1_000, "gone"))?;
//! assert!(!wide.exists(&Get::new("session"))?);
//!
//! // Files are written and rewritten by themselves; this is for who cannot wait.
//! wide.flush()?;
//! wide.major_compact()?;
//! assert_eq!(db.stats(wide.id())?.files, 1);
//!
//! db.set_table_enabled(wide.id(), false)?;
//! assert!(wide.get(&Get::new("row")).is_err());
//! db.set_table_enabled(wide.id(), true)?;
//! db.truncate_table(&name, false)?;
//! assert_eq!(db.open_table(&name)?.scan(&Scan::new())?.count(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Regions
//!
//! ```
//! # use basalt::cells::*;
//! # let dir = tempfile::tempdir()?;
//! # let db = Database::open(&dir.path().join("db"), OpenOptions::create())?;
//! let name = TableName::in_default("users");
//! let table = TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("d"));
//! let id = db.create_table_split(table, &["g".into(), "p".into()])?;
//! let users = db.open_table(&name)?;
//! users.put(Put::new("kim").add("d", "town", "Oslo"))?;
//!
//! // Nothing is rewritten, and readers and writers go on. Without a row, halves are cut.
//! let middle = db.regions(id)?[1].id;
//! let [left, right] = db.split_region(id, middle, Some(b"k"))?;
//! let merged = db.merge_regions(id, [left, right])?;
//! assert_eq!(db.regions(id)?.iter().map(|region| region.id).nth(1), Some(merged));
//! assert!(users.exists(&Get::new("kim"))?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The table attribute `MAX_FILESIZE` (10 GiB by default) says when a region is split by itself.
//!
//! # Snapshots of tables
//!
//! A [`Snapshot`] lives in memory. A table can also be kept as it is under a name, without copying anything: to be cloned,
//! restored, or taken to another database.
//!
//! ```
//! # use basalt::cells::*;
//! # let dir = tempfile::tempdir()?;
//! # let db = Database::open(&dir.path().join("db"), OpenOptions::create())?;
//! # let name = TableName::in_default("users");
//! # db.create_table(TableDescriptor::new(name.clone()).family(FamilyDescriptor::new("d")))?;
//! db.open_table(&name)?.put(Put::new("kim").add("d", "town", "Oslo"))?;
//! db.create_snapshot("monday", &name)?;
//! db.open_table(&name)?.delete(Delete::new("kim"))?;
//!
//! db.clone_snapshot("monday", &TableName::in_default("copy"))?;
//! assert!(db.open_table(&TableName::in_default("copy"))?.exists(&Get::new("kim"))?);
//! db.restore_snapshot("monday")?;
//! // A restored table has a new identity: it is opened anew.
//! assert!(db.open_table(&name)?.exists(&Get::new("kim"))?);
//!
//! db.export_snapshot("monday", &dir.path().join("export"))?;
//! let other = Database::open(&dir.path().join("other"), OpenOptions::create())?;
//! other.import_snapshot(&dir.path().join("export"), None)?;
//! assert_eq!(other.snapshots()[0].name, "monday");
//! db.drop_snapshot("monday")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Deletes
//!
//! Tables made here follow HBase's default: a delete marker hides every version at or below its timestamp, also one
//! that is put later, until a major compaction removes the marker. The family attribute `NEW_VERSION_BEHAVIOR=true`
//! chooses the other rule, which SQL tables have: what is put later is never hidden.

pub use basalt_model::filter::{
    BitOp, ColumnOffset, Comparator, CompareOp, Filter, FilterError, FuzzyKey, RowRange, SingleColumnValue,
};
pub use basalt_model::operation::{DeletePart, NewCell, ReadOptions, Selection};
pub use basalt_model::table::{AttributeError, DeleteRule, KeepDeletedCells};
pub use basalt_model::{
    Append, CellRef, CellType, CheckAndMutate, Condition, Delete, Durability, FamilyDescriptor, Get,
    Increment, KeyRange, LATEST_TIMESTAMP, Mutation, Put, Scan, Seq, TableDescriptor, TableId, TableName,
    TimeRange, WriteBatch,
};
pub use basalt_store::{
    Action, CellRun, CheckOutcome, CompactionStats, Database, Error, FilterFault, Keep, Lookups, Metrics,
    OpenOptions, Recovery, RegionId, RegionStats, Row, Rows, RunningStats, ScanOptions, Snapshot, Step,
    Table, TableSnapshot,
};
