// SPDX-License-Identifier: Apache-2.0
//! A table of cells as programs use it: HBase's operations on an open database.
//!
//! ```text
//! put, delete                 -> one row mutation, straight to the commit line
//! increment, append,          -> read the row, then write, with no other write in between ("view" below)
//! check-and-mutate, deletes
//! of the newest version
//! ```

use std::sync::Arc;

use basalt_model::{
    Append, CheckAndMutate, Delete, Durability, Get, Increment, Mutation, Put, Scan, Seq, TableDescriptor,
    TableId, TableName, WriteBatch,
};

use crate::database::Database;
use crate::error::{Error, Result};
use crate::read::{Row, Rows};
use change::Change;
use unfinished::Unfinished;

mod change;
mod condition;
mod unfinished;

/// One table of an open database. Cheap to clone; it follows the table through renames and alterations.
#[derive(Debug, Clone)]
pub struct Table {
    db: Database,
    id: TableId,
    /// `None` for the table's own.
    durability: Option<Durability>,
}

/// One operation of [`Table::batch`].
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Reads a row.
    Get(Get),
    /// Changes a row.
    Mutate(Mutation),
    /// Changes a row several times at once.
    MutateRow(Vec<Mutation>),
}

/// What became of a conditional change.
#[derive(Debug, Clone)]
pub struct CheckOutcome {
    /// True if the condition held and the change was made.
    pub applied: bool,
    /// New values of increments and appends.
    pub row: Row,
}

impl Database {
    /// The table of this name, ready for use.
    pub fn open_table(&self, name: &TableName) -> Result<Table> {
        let (id, _) = self.table(name)?;
        Ok(Table { db: self.clone(), id, durability: None })
    }

    /// Changes rows of any tables, all of them or none, in the order given: an increment or append, or the delete of a newest version, sees
    /// what the changes before it make of its row.
    pub fn mutate(&self, changes: &[(TableId, Mutation)], durability: Durability) -> Result<Seq> {
        let mut plan = Vec::with_capacity(changes.len());
        for (table, mutation) in changes {
            plan.push((*table, Change::of(mutation)?));
        }
        if plan.iter().any(|(_, change)| change.needs_row()) {
            let changed = self.read_modify_write(durability, |view| {
                let mut unfinished = Unfinished::in_turn(view);
                for (table, change) in &plan {
                    change.write(*table, &mut unfinished)?;
                }
                Ok((unfinished.finish(), ()))
            })?;
            return Ok(changed.0);
        }
        let mut batch = batch_for(plan.iter().map(|(_, change)| change));
        let mut descriptor: Option<(TableId, Arc<TableDescriptor>)> = None;
        for (table, change) in &plan {
            if descriptor.as_ref().is_none_or(|(known, _)| known != table) {
                descriptor = Some((*table, self.table_by_id(*table)?));
            }
            let (_, descriptor) = descriptor.as_ref().expect("set above");
            change.write_blind(descriptor, *table, &mut batch)?;
        }
        self.write(batch, durability)
    }

    /// Adds what a put or a delete writes to a batch, for [`Database::write`]. False if that depends on what the row holds, as it does
    /// with increments and appends: [`Database::mutate`] looks there.
    pub fn add_blind(&self, table: TableId, mutation: &Mutation, batch: &mut WriteBatch) -> Result<bool> {
        let change = Change::of(mutation)?;
        if change.needs_row() {
            return Ok(false);
        }
        change.write_blind(&*self.table_by_id(table)?, table, batch)?;
        Ok(true)
    }
}

impl Database {
    /// Changes rows of any tables, all of them or none, if every condition holds, with no other write in between. Says whether
    /// they did. Only rows and conditions of `checks` count, not what they would change themselves. Increments, appends and deletes of newest versions
    /// find their rows as they were before all of the changes.
    pub fn mutate_if(
        &self,
        checks: &[(TableId, CheckAndMutate)],
        changes: &[(TableId, Mutation)],
        durability: Durability,
    ) -> Result<bool> {
        let mut plan = Vec::with_capacity(changes.len());
        for (table, mutation) in changes {
            plan.push((*table, Change::of(mutation)?));
        }
        let outcome = self.read_modify_write(durability, |view| {
            for (table, check) in checks {
                if condition::holds(check, view, *table)?.is_none() {
                    return Ok((WriteBatch::new(), false));
                }
            }
            let mut unfinished = Unfinished::together(view);
            for (table, change) in &plan {
                change.write(*table, &mut unfinished)?;
            }
            Ok((unfinished.finish(), true))
        })?;
        Ok(outcome.1)
    }
}

impl Table {
    /// The table's identity, for [`Database::mutate`] and snapshots.
    pub fn id(&self) -> TableId {
        self.id
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.db
    }

    /// Name, families and their attributes, as they are now.
    pub fn descriptor(&self) -> Result<Arc<TableDescriptor>> {
        self.db.table_by_id(self.id)
    }

    /// The durability of its writes.
    pub fn durability(&self) -> Durability {
        // A table that is gone is missed by the write.
        let own = || self.descriptor().map_or_else(|_| Durability::default(), |table| table.durability());
        self.durability.unwrap_or_else(own)
    }

    /// The same table, with another durability of its writes. Default: [`TableDescriptor::durability`].
    #[must_use]
    pub fn with_durability(&self, durability: Durability) -> Self {
        Self { durability: Some(durability), ..self.clone() }
    }

    /// What a get finds; an empty row if there is nothing.
    pub fn get(&self, get: &Get) -> Result<Row> {
        self.db.snapshot().get(self.id, get)
    }

    /// True if a get finds anything.
    pub fn exists(&self, get: &Get) -> Result<bool> {
        Ok(!self.get(get)?.is_empty())
    }

    /// What several gets find at one moment, in the same order.
    pub fn get_all(&self, gets: &[Get]) -> Result<Vec<Row>> {
        self.db.snapshot().get_all(self.id, gets)
    }

    /// The rows of a scan as they are now; later writes do not show.
    pub fn scan(&self, scan: &Scan) -> Result<Rows> {
        self.db.snapshot().query(self.id, scan)
    }

    /// Writes cells of a row.
    pub fn put(&self, put: Put) -> Result<()> {
        self.mutate_row([put]).map(drop)
    }

    /// Deletes cells of a row.
    pub fn delete(&self, delete: Delete) -> Result<()> {
        self.mutate_row([delete]).map(drop)
    }

    /// Adds to counters and gives their new values.
    pub fn increment(&self, increment: Increment) -> Result<Row> {
        self.mutate_row([increment])
    }

    /// Appends to values and gives the new ones.
    pub fn append(&self, append: Append) -> Result<Row> {
        self.mutate_row([append])
    }

    /// Makes several changes of one row at once; gives the new values of increments and appends. As in HBase each of these finds the row as it was
    /// before all of them: two increments of one column add but the second one's amount. [`Database::mutate`] makes changes in turn.
    pub fn mutate_row(&self, mutations: impl IntoIterator<Item = impl Into<Mutation>>) -> Result<Row> {
        let mutations: Vec<Mutation> = mutations.into_iter().map(Into::into).collect();
        let changes = changes_of_one_row(&mutations)?;
        if !changes.iter().any(Change::needs_row) {
            let mut batch = batch_for(changes.iter());
            let descriptor = self.descriptor()?;
            for change in &changes {
                change.write_blind(&descriptor, self.id, &mut batch)?;
            }
            self.db.write(batch, self.durability())?;
            return Ok(Row::default());
        }
        let written = self.db.read_modify_write(self.durability(), |view| {
            let mut unfinished = Unfinished::together(view);
            let row = change::write_all(&changes, self.id, &mut unfinished)?;
            Ok((unfinished.finish(), row))
        })?;
        Ok(written.1)
    }

    /// Checks one row and changes it if the condition holds, with no other write in between.
    pub fn check_and_mutate(&self, check: &CheckAndMutate) -> Result<CheckOutcome> {
        let changes = changes_of_one_row(&check.mutations)?;
        let found = changes[0].row();
        if *found != check.row {
            let found = bytes::Bytes::copy_from_slice(found);
            return Err(Error::OtherRow { expected: check.row.clone(), found });
        }
        let outcome = self.db.read_modify_write(self.durability(), |view| {
            let Some(seen_at) = condition::holds(check, view, self.id)? else {
                return Ok((WriteBatch::new(), CheckOutcome { applied: false, row: Row::default() }));
            };
            let changes: Vec<Change<'_>> =
                changes.into_iter().map(|change| change.not_before(seen_at)).collect();
            let mut unfinished = Unfinished::together(view);
            let row = change::write_all(&changes, self.id, &mut unfinished)?;
            Ok((unfinished.finish(), CheckOutcome { applied: true, row }))
        })?;
        Ok(outcome.1)
    }

    /// Makes independent operations, each of which succeeds or fails alone; the answers have their order.
    pub fn batch(&self, actions: Vec<Action>) -> Vec<Result<Row>> {
        let act = |action| match action {
            Action::Get(get) => self.get(&get),
            Action::Mutate(mutation) => self.mutate_row([mutation]),
            Action::MutateRow(mutations) => self.mutate_row(mutations),
        };
        actions.into_iter().map(act).collect()
    }

    /// Writes what is in memory to store files.
    pub fn flush(&self) -> Result<()> {
        self.db.flush(Some(self.id))
    }

    /// Rewrites the store files so that one sorted run per family is left, without anything that no reader sees.
    pub fn major_compact(&self) -> Result<()> {
        self.db.compact(Some(self.id), true)
    }
}

/// An empty batch with room for changes.
fn batch_for<'a>(changes: impl ExactSizeIterator<Item = &'a Change<'a>>) -> WriteBatch {
    let rows = changes.len();
    WriteBatch::with_capacity(rows, changes.map(Change::size_bytes).sum())
}

fn changes_of_one_row(mutations: &[Mutation]) -> Result<Vec<Change<'_>>> {
    let Some(first) = mutations.first() else {
        return Err(Error::Invalid("a change of a row needs at least one mutation".into()));
    };
    let mut changes = Vec::with_capacity(mutations.len());
    for mutation in mutations {
        if mutation.row() != first.row() {
            let [expected, found] = [first, mutation].map(|of| bytes::Bytes::copy_from_slice(of.row()));
            return Err(Error::OtherRow { expected, found });
        }
        changes.push(Change::of(mutation)?);
    }
    Ok(changes)
}
