// SPDX-License-Identifier: Apache-2.0
//! A workload of every kind of change, as data: a database runs it, and a map says what each step makes of the state.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use basalt_model::table::DeleteRule;
use basalt_model::{Append, CheckAndMutate, Increment, Put, TableId, TableName, WriteBatch};
use basalt_store::env::sim::SimStorage;
use basalt_store::{Database, Durability, OpenOptions, Result};

use crate::support::*;

/// What is there of a table, or of a named snapshot.
#[derive(Debug, Clone, Default)]
pub(crate) struct TableState {
    families: Vec<String>,
    enabled: bool,
    rows: Rows,
    /// Of a snapshot: the table's name, and what it has of it. It shows only when it is cloned or restored.
    kept: Option<(String, Box<TableState>)>,
}

/// As far as a database shows it: not the rows of a disabled table.
impl PartialEq for TableState {
    fn eq(&self, other: &Self) -> bool {
        let same_rows = !self.enabled || self.rows == other.rows;
        self.families == other.families && self.enabled == other.enabled && same_rows
    }
}

/// Everything that a database shows.
pub(crate) type State = BTreeMap<String, TableState>;

/// Table, row, column, value.
type Cell = (&'static str, &'static str, &'static str, &'static str);

/// One change, or an operation that must change nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Create(&'static str, &'static [&'static str]),
    Drop(&'static str),
    /// With the regions that it had, or with one.
    Truncate(&'static str, bool),
    /// Other families.
    Alter(&'static str, &'static [&'static str]),
    Rename(&'static str, &'static str),
    Enable(&'static str, bool),
    Write(&'static [Cell]),
    /// Acknowledged before it is durable.
    WriteAsync(&'static [Cell]),
    /// Table, row, column.
    Delete(&'static str, &'static str, &'static str),
    /// Adds one to a counter.
    Increment(&'static str, &'static str, &'static str),
    /// Appends to a value.
    Append(Cell),
    /// Writes the value if the column is missing.
    PutIfMissing(Cell),
    /// Bulk-loads into one table.
    Ingest(&'static str, &'static [Cell]),
    /// Splits the only region of a table.
    Split(&'static str, &'static str),
    /// Merges the first two regions of a table.
    Merge(&'static str),
    /// Name, table.
    Snapshot(&'static str, &'static str),
    /// Snapshot, table.
    Clone(&'static str, &'static str),
    Restore(&'static str),
    DropSnapshot(&'static str),
    /// A snapshot to another directory and back, under another name.
    Carry(&'static str, &'static str),
    Flush,
    FlushOne(&'static str),
    Compact(bool),
    SyncLog,
    Reopen,
}

/// Every kind of step, each behind others that leave it something to work on: log segments that end, rows in memory
/// and in files, files that overlap.
pub(crate) const STEPS: &[Step] = &[
    Step::Create("A", &["f", "g"]),
    Step::Create("B", &["f"]),
    Step::Write(&[("A", "r1", "f:x", "1"), ("B", "r1", "f:x", "1")]),
    Step::Increment("A", "count", "f:n"),
    Step::Flush,
    Step::WriteAsync(&[("A", "r2", "g:x", "2"), ("B", "r2", "f:x", "2")]),
    Step::Write(&[("A", "r1", "f:x", "3"), ("A", "r3", "g:y", "3"), ("B", "r1", "f:x", "3")]),
    Step::Increment("A", "count", "f:n"),
    Step::FlushOne("A"),
    Step::Append(("A", "r1", "f:x", " and more")),
    Step::PutIfMissing(("B", "once", "f:x", "first")),
    Step::PutIfMissing(("B", "once", "f:x", "second")),
    Step::Delete("A", "r2", "g:x"),
    Step::Flush,
    Step::Compact(false),
    Step::Ingest("A", &[("A", "r1", "f:x", "loaded"), ("A", "r5", "g:x", "5"), ("A", "r0", "f:x", "0")]),
    Step::Write(&[("A", "r5", "f:x", "6"), ("B", "r5", "f:x", "6")]),
    Step::Compact(true),
    Step::Truncate("B", false),
    Step::Write(&[("A", "r6", "f:x", "7"), ("B", "r6", "f:x", "7")]),
    Step::Reopen,
    Step::Alter("A", &["f"]),
    Step::Increment("A", "count", "f:n"),
    Step::Alter("A", &["f", "g", "h"]),
    Step::Write(&[("A", "r7", "h:x", "8"), ("A", "r7", "g:x", "8"), ("B", "r7", "f:x", "8")]),
    Step::Truncate("A", true),
    Step::Increment("A", "count", "f:n"),
    Step::Enable("B", false),
    Step::Rename("B", "C"),
    Step::Enable("C", true),
    Step::WriteAsync(&[("A", "r8", "f:x", "9"), ("C", "r8", "f:x", "9")]),
    Step::SyncLog,
    Step::Flush,
    Step::Write(&[("A", "r9", "h:x", "10"), ("C", "r9", "f:x", "10")]),
    Step::Create("B", &["f"]),
    Step::Write(&[("B", "r1", "f:x", "11"), ("C", "r1", "f:x", "11")]),
    Step::Drop("C"),
    Step::Flush,
    Step::Compact(true),
    Step::Ingest("B", &[("B", "r0", "f:x", "12"), ("B", "r2", "f:x", "12")]),
    Step::Truncate("B", true),
    Step::Enable("B", false),
    Step::Enable("B", true),
    Step::Snapshot("s", "A"),
    Step::Split("A", "r5"),
    Step::Write(&[("A", "r1", "f:x", "13"), ("A", "r8", "f:x", "13")]),
    Step::Clone("s", "D"),
    Step::Write(&[("D", "r8", "g:x", "14")]),
    Step::Flush,
    Step::Compact(false),
    Step::Merge("A"),
    Step::Write(&[("A", "r5", "f:x", "15")]),
    Step::Carry("s", "t"),
    Step::DropSnapshot("s"),
    Step::Restore("t"),
    Step::Write(&[("A", "r7", "f:x", "16")]),
    Step::Compact(true),
    Step::DropSnapshot("t"),
    Step::Drop("D"),
];

/// Under this name a state has a snapshot.
fn named(snapshot: &str) -> String {
    format!("snapshot {snapshot}")
}

impl Step {
    /// False if what it works on is not there, because an earlier step failed.
    pub(crate) fn applies(&self, state: &State) -> bool {
        let column = |cell: &Cell| {
            let family = cell.2.split_once(':').unwrap().0;
            state
                .get(cell.0)
                .is_some_and(|table| table.enabled && table.families.iter().any(|known| known == family))
        };
        match self {
            Self::Create(name, _) => !state.contains_key(*name),
            Self::Rename(from, to) => state.contains_key(*from) && !state.contains_key(*to),
            Self::Drop(name) | Self::Truncate(name, _) | Self::Alter(name, _) | Self::Enable(name, _) => {
                state.contains_key(*name)
            }
            Self::FlushOne(name) => state.contains_key(*name),
            Self::Write(cells) | Self::WriteAsync(cells) | Self::Ingest(_, cells) => cells.iter().all(column),
            Self::Delete(table, row, name) | Self::Increment(table, row, name) => {
                column(&(table, row, name, ""))
            }
            Self::Append(cell) | Self::PutIfMissing(cell) => column(cell),
            Self::Split(name, _) | Self::Merge(name) => state.get(*name).is_some_and(|table| table.enabled),
            Self::Snapshot(name, table) => state.contains_key(*table) && !state.contains_key(&named(name)),
            Self::Clone(name, to) => state.contains_key(&named(name)) && !state.contains_key(*to),
            Self::Carry(name, to) => state.contains_key(&named(name)) && !state.contains_key(&named(to)),
            Self::Restore(name) | Self::DropSnapshot(name) => state.contains_key(&named(name)),
            Self::Flush | Self::Compact(_) | Self::SyncLog | Self::Reopen => true,
        }
    }

    /// True if a crash right after it may undo it.
    pub(crate) fn is_loose(&self) -> bool {
        matches!(self, Self::WriteAsync(_))
    }

    /// The state after the step.
    pub(crate) fn apply(&self, before: &State) -> State {
        let mut state = before.clone();
        match *self {
            Self::Create(name, families) => {
                let families = families.iter().map(|&family| family.to_owned()).collect();
                state.insert(name.into(), TableState { families, enabled: true, ..TableState::default() });
            }
            Self::Drop(name) => drop(state.remove(name)),
            Self::Truncate(name, _) => state.get_mut(name).unwrap().rows.clear(),
            Self::Alter(name, families) => alter(state.get_mut(name).unwrap(), families),
            Self::Rename(from, to) => {
                let table = state.remove(from).unwrap();
                state.insert(to.into(), table);
            }
            Self::Enable(name, enabled) => state.get_mut(name).unwrap().enabled = enabled,
            Self::Write(cells) | Self::WriteAsync(cells) | Self::Ingest(_, cells) => {
                cells.iter().for_each(|&cell| set(&mut state, cell))
            }
            Self::Delete(table, row, column) => {
                let rows = &mut state.get_mut(table).unwrap().rows;
                rows.get_mut(row).map(|columns| columns.remove(column));
                rows.retain(|_, columns| !columns.is_empty());
            }
            Self::Increment(table, row, column) => {
                let old = value(&state, table, row, column).map_or(0, count);
                columns(&mut state, table, row).insert(column.into(), stored(old + 1));
            }
            Self::Append((table, row, column, more)) => {
                let old = value(&state, table, row, column).unwrap_or_default().to_owned();
                columns(&mut state, table, row).insert(column.into(), old + more);
            }
            Self::PutIfMissing(cell) => {
                if value(&state, cell.0, cell.1, cell.2).is_none() {
                    set(&mut state, cell);
                }
            }
            Self::Snapshot(name, table) => {
                let kept = Some((table.to_owned(), Box::new(state[table].clone())));
                state.insert(named(name), TableState { kept, ..TableState::default() });
            }
            Self::Clone(name, to) => {
                let (_, table) = state[&named(name)].kept.clone().unwrap();
                state.insert(to.into(), TableState { enabled: true, ..*table });
            }
            Self::Restore(name) => {
                let (of, table) = state[&named(name)].kept.clone().unwrap();
                state.insert(of, TableState { enabled: true, ..*table });
            }
            Self::Carry(name, to) => {
                let carried = state[&named(name)].clone();
                state.insert(named(to), carried);
            }
            Self::DropSnapshot(name) => drop(state.remove(&named(name))),
            Self::Split(..)
            | Self::Merge(_)
            | Self::Flush
            | Self::FlushOne(_)
            | Self::Compact(_)
            | Self::SyncLog
            | Self::Reopen => {}
        }
        state
    }

    /// Does it; [`Step::Reopen`] is the caller's.
    pub(crate) fn act(&self, db: &Database) -> Result<()> {
        match *self {
            Self::Create(name, families) => db.create_table(described(name, families)).map(drop),
            Self::Drop(name) => db.drop_table(&TableName::in_default(name)),
            Self::Truncate(name, keep) => db.truncate_table(&TableName::in_default(name), keep).map(drop),
            Self::Alter(name, families) => db.alter_table(id(db, name)?, described(name, families)),
            Self::Rename(from, to) => {
                let (id, before) = db.table(&TableName::in_default(from))?;
                let mut renamed = (*before).clone();
                renamed.name = TableName::in_default(to);
                db.alter_table(id, renamed)
            }
            Self::Enable(name, enabled) => db.set_table_enabled(id(db, name)?, enabled),
            Self::Write(cells) => db.write(batch(db, cells)?, Durability::Sync).map(drop),
            Self::WriteAsync(cells) => db.write(batch(db, cells)?, Durability::Async).map(drop),
            Self::Delete(table, row, column) => {
                let mut batch = WriteBatch::new();
                delete_column(&mut batch, id(db, table)?, row, column);
                db.write(batch, Durability::Sync).map(drop)
            }
            Self::Increment(table, row, column) => {
                let (family, qualifier) = column.split_once(':').unwrap();
                let table = db.open_table(&TableName::in_default(table))?;
                table.increment(Increment::new(row).add(family, qualifier, 1)).map(drop)
            }
            Self::Append((table, row, column, more)) => {
                let (family, qualifier) = column.split_once(':').unwrap();
                let table = db.open_table(&TableName::in_default(table))?;
                table.append(Append::new(row).add(family, qualifier, more)).map(drop)
            }
            Self::PutIfMissing(cell) => put_if_missing(db, cell),
            Self::Ingest(table, cells) => {
                let mut load = db.ingest(id(db, table)?)?;
                for cell in cells {
                    load.add(batch(db, std::slice::from_ref(cell))?)?;
                }
                load.finish().map(drop)
            }
            Self::Split(name, row) => {
                let table = id(db, name)?;
                match db.regions(table)?[..] {
                    [ref only] => db.split_region(table, only.id, Some(row.as_bytes())).map(drop),
                    _ => Ok(()),
                }
            }
            Self::Merge(name) => {
                let table = id(db, name)?;
                match db.regions(table)?[..] {
                    [ref first, ref second, ..] => db.merge_regions(table, [first.id, second.id]).map(drop),
                    _ => Ok(()),
                }
            }
            Self::Snapshot(name, table) => db.create_snapshot(name, &TableName::in_default(table)),
            Self::Clone(name, to) => db.clone_snapshot(name, &TableName::in_default(to)).map(drop),
            Self::Restore(name) => db.restore_snapshot(name).map(drop),
            Self::DropSnapshot(name) => db.drop_snapshot(name),
            Self::Carry(name, to) => {
                // Nobody exports into what an earlier attempt left.
                static ATTEMPTS: AtomicU64 = AtomicU64::new(0);
                let directory =
                    PathBuf::from(format!("/out-{:08}", ATTEMPTS.fetch_add(1, Ordering::Relaxed)));
                db.export_snapshot(name, &directory)?;
                db.import_snapshot(&directory, Some(to)).map(drop)
            }
            Self::Flush => db.flush(None),
            Self::FlushOne(table) => db.flush(Some(id(db, table)?)),
            Self::Compact(major) => db.compact(None, major),
            Self::SyncLog => db.sync_wal(),
            Self::Reopen => unreachable!("the caller reopens"),
        }
    }
}

fn alter(table: &mut TableState, families: &[&str]) {
    table.families = families.iter().map(|&family| family.to_owned()).collect();
    for columns in table.rows.values_mut() {
        columns.retain(|column, _| families.contains(&column.split_once(':').unwrap().0));
    }
    table.rows.retain(|_, columns| !columns.is_empty());
}

fn columns<'a>(state: &'a mut State, table: &str, row: &str) -> &'a mut BTreeMap<String, String> {
    state.get_mut(table).unwrap().rows.entry(row.into()).or_default()
}

fn set(state: &mut State, (table, row, column, value): Cell) {
    columns(state, table, row).insert(column.into(), value.into());
}

fn value<'a>(state: &'a State, table: &str, row: &str, column: &str) -> Option<&'a str> {
    Some(state.get(table)?.rows.get(row)?.get(column)?)
}

fn count(value: &str) -> i64 {
    i64::from_be_bytes(value.as_bytes().try_into().unwrap())
}

/// A counter as it is stored; small ones are text.
fn stored(count: i64) -> String {
    String::from_utf8(count.to_be_bytes().to_vec()).unwrap()
}

fn id(db: &Database, name: &str) -> Result<TableId> {
    Ok(db.table(&TableName::in_default(name))?.0)
}

fn described(name: &str, families: &[&str]) -> basalt_model::TableDescriptor {
    let mut descriptor = descriptor(name, families);
    for family in &mut descriptor.families {
        // A later put is never hidden by an earlier delete of the same millisecond.
        family.delete_rule = DeleteRule::BySequence;
        family.block_bytes = 100;
    }
    descriptor
}

fn batch(db: &Database, cells: &[Cell]) -> Result<WriteBatch> {
    let mut batch = WriteBatch::new();
    for (table, row, column, value) in cells {
        put(&mut batch, id(db, table)?, row, &[(column, value)]);
    }
    Ok(batch)
}

fn put_if_missing(db: &Database, (table, row, column, value): Cell) -> Result<()> {
    let (family, qualifier) = column.split_once(':').unwrap();
    let table = db.open_table(&TableName::in_default(table))?;
    let put = Put::new(row).add(family, qualifier, value);
    table.check_and_mutate(&CheckAndMutate::if_not_exists(row, family, qualifier).then(put)).map(drop)
}

/// Segments of the log end every few writes, and the log is long after a few of them.
pub(crate) fn open_recorded(storage: &SimStorage) -> Result<Database> {
    let options = OpenOptions { wal_segment_bytes: 500, ..options_with_stepping_clock(storage) };
    Database::open(std::path::Path::new(ROOT), options)
}

/// What the database shows.
pub(crate) fn shown(db: &Database) -> Result<State> {
    let snapshot = db.snapshot();
    let mut state = State::new();
    for (id, descriptor) in db.tables() {
        let families = descriptor.families.iter().map(|family| family.name.clone()).collect();
        let enabled = db.is_table_enabled(id)?;
        let rows = if enabled { rows(&snapshot, id)? } else { Rows::new() };
        state.insert(descriptor.name.name.clone(), TableState { families, enabled, rows, kept: None });
    }
    for snapshot in db.snapshots() {
        state.insert(named(&snapshot.name), TableState::default());
    }
    Ok(state)
}
