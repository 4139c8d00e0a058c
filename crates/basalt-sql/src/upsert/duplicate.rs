// SPDX-License-Identifier: Apache-2.0
//! ON DUPLICATE KEY: rows that are not there are written as given; rows that are there stay (IGNORE), or get new values
//! computed from the values that they have (UPDATE). UPDATE_ONLY does not write those that are not there.
//!
//! Reading and writing are one step, with no other write in between, for all rows of the statement together. A key may be
//! given once only, since an update of a row that the same statement has just written would depend on their order;
//! IGNORE takes the first.
//!
//! RETURNING goes the same way without ON DUPLICATE KEY: what a row is afterwards depends on what it was.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_hfile::CellRun;
use basalt_hfile::typed::RowDecoder;
use basalt_model::schema::ColumnRef;
use basalt_model::{TableSchema, WriteBatch};
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::physical_expr::PhysicalExpr;

use crate::dialect::OnDuplicate;
use crate::error::{SqlError, code};
use crate::ingest::{RowAssembler, find_column};
use crate::outcome::RowStream;
use crate::plan::Planning;
use crate::returning::{Changed, Returning};
use crate::scan::BasaltTable;

/// What happens to rows that are there, where that takes to read them.
pub(super) struct Duplicates<'a> {
    /// `None`: they are overwritten.
    rule: Option<&'a OnDuplicate>,
    returning: Option<Returning>,
}

impl<'a> Duplicates<'a> {
    /// `None` if no row has to be read.
    pub(super) fn of(rule: Option<&'a OnDuplicate>, returning: Option<Returning>) -> Option<Self> {
        (rule.is_some() || returning.is_some()).then_some(Self { rule, returning })
    }

    /// Writes the rows.
    pub(super) fn write(
        &self,
        planning: &Planning,
        table: &Arc<BasaltTable>,
        assembler: &mut RowAssembler,
        values: &[ArrayRef],
        count: usize,
    ) -> Result<Changed, SqlError> {
        // All rows are made once before any is written: what is wrong with them is found here.
        let mut given = WriteBatch::new();
        assembler.add(values, count, &mut given).map_err(|refusal| refusal.into_error(0, count == 1))?;
        let (indices, keys) = self.distinct(&given)?;
        let updater = match self.rule {
            Some(OnDuplicate::Update(assignments) | OnDuplicate::UpdateOnly(assignments)) => {
                Some(Updater::try_new(planning, table, assignments)?)
            }
            _ => None,
        };
        let mut writing = Writing { duplicates: self, assembler, values, updater, batch: WriteBatch::new() };
        let (mut changed, mut returned, mut failure) = (0, None, None);
        let durability = table.descriptor.durability();
        let written = planning.engine.database().update_rows(table.id, &keys, durability, |rows| {
            match writing.rows(planning, &indices, &rows) {
                Ok((count, stream)) => (changed, returned) = (count, stream),
                Err((index, error)) => {
                    let single = count == 1;
                    failure = Some(if single { error } else { error.within(format!("row {}", index + 1)) });
                    return Ok(None);
                }
            }
            Ok(Some(writing.batch))
        });
        match failure {
            Some(error) => Err(error),
            None => {
                written?;
                planning.progress.add_written(changed);
                Ok(Changed { rows: changed, returned })
            }
        }
    }

    /// Which rows are written, one for each key, and their keys.
    fn distinct(&self, given: &WriteBatch) -> Result<(Vec<usize>, Vec<Vec<u8>>), SqlError> {
        let mut at: HashMap<&[u8], usize> = HashMap::new();
        let mut chosen: Vec<(usize, &[u8])> = vec![];
        for (index, (_, row)) in given.iter().enumerate() {
            match (at.get(row.row()), self.rule) {
                (None, _) => {
                    at.insert(row.row(), chosen.len());
                    chosen.push((index, row.row()));
                }
                // The last one overwrites the others.
                (Some(&known), None) => chosen[known].0 = index,
                (Some(_), Some(OnDuplicate::Ignore)) => {}
                (Some(_), Some(OnDuplicate::Update(_) | OnDuplicate::UpdateOnly(_))) => {
                    return Err(SqlError::statement(
                        "ON DUPLICATE KEY UPDATE takes each key once; the statement has one of them twice",
                    ));
                }
            }
        }
        Ok(chosen.into_iter().map(|(index, key)| (index, key.to_vec())).unzip())
    }
}

/// Rows while no other write comes in between.
struct Writing<'a> {
    duplicates: &'a Duplicates<'a>,
    assembler: &'a mut RowAssembler,
    values: &'a [ArrayRef],
    updater: Option<Updater<'a>>,
    batch: WriteBatch,
}

impl Writing<'_> {
    /// Makes the changes of all rows; returns how many rows change, and what RETURNING says. An error has the row at fault.
    fn rows(
        &mut self,
        planning: &Planning,
        indices: &[usize],
        rows: &[Vec<CellRun>],
    ) -> Result<(u64, Option<RowStream>), (usize, SqlError)> {
        let mut returned = self.duplicates.returning.as_ref().map(Returning::begin);
        let mut changed = 0;
        for (&index, before) in indices.iter().zip(rows) {
            let at_fault = |error| (index, error);
            let writes = self.row(index, before).map_err(at_fault)?;
            changed += u64::from(writes);
            if let Some(returned) = &mut returned {
                let added = match self.batch.len().checked_sub(1).filter(|_| writes) {
                    Some(last) => returned.add_changed(before, &[self.batch.get(last).1]),
                    None => returned.add(before),
                };
                added.map_err(at_fault)?;
            }
        }
        let returned = returned.map(|returned| returned.finish(planning)).transpose();
        Ok((changed, returned.map_err(|error| (0, error))?))
    }

    /// Adds the change of one row; false if it stays as it is.
    fn row(&mut self, index: usize, before: &[CellRun]) -> Result<bool, SqlError> {
        match (self.duplicates.rule, &mut self.updater) {
            (Some(OnDuplicate::UpdateOnly(_)), _) if before.is_empty() => return Ok(false),
            (Some(OnDuplicate::Ignore), _) if !before.is_empty() => return Ok(false),
            (_, Some(updater)) if !before.is_empty() => updater.add(before, &mut self.batch)?,
            _ => {
                let row: Vec<_> = self.values.iter().map(|values| values.slice(index, 1)).collect();
                let added = self.assembler.add(&row, 1, &mut self.batch);
                added.map_err(|refusal| refusal.into_error(0, true))?;
            }
        }
        Ok(true)
    }
}

/// Computes the new values of rows that are there.
struct Updater<'a> {
    planning: &'a Planning,
    table: Arc<BasaltTable>,
    /// The key, the columns that are set, and those that every write must name.
    values: Vec<Value>,
    assembler: RowAssembler,
}

/// What a column of a changed row gets.
enum Value {
    /// The value that it has, at this position of the row.
    Kept(usize),
    New(Arc<dyn PhysicalExpr>),
}

impl<'a> Updater<'a> {
    fn try_new(
        planning: &'a Planning,
        table: &Arc<BasaltTable>,
        assignments: &[(crate::dialect::Name, datafusion::sql::sqlparser::ast::Expr)],
    ) -> Result<Self, SqlError> {
        let schema = table.table_schema();
        let (mut columns, mut values) = (vec![], vec![]);
        for (name, expr) in assignments {
            let position = planning.tokens().find(&name.name);
            let column = find_column(schema, name.schema.as_deref(), &name.name)
                .map_err(|error| error.at(position))?;
            if matches!(column, ColumnRef::Key(_)) {
                let message =
                    format!("column {name} is in the primary key, which ON DUPLICATE KEY cannot change");
                return Err(SqlError::coded(code::KEY_UPDATED, message).at(position));
            }
            if columns.contains(&column) {
                let message = format!("column {name} is set twice");
                return Err(SqlError::coded(code::UPDATED_TWICE, message).at(position));
            }
            columns.push(column);
            values.push(Value::New(planning.row_expression(expr.clone(), table)?));
        }
        for (position, &column) in schema.declared_order().iter().enumerate() {
            if !columns.contains(&column) && is_required(schema, column) {
                columns.push(column);
                values.push(Value::Kept(position));
            }
        }
        let descriptor = Arc::clone(&table.descriptor);
        let assembler = RowAssembler::try_new(table.id, descriptor, columns, vec![], false)?;
        Ok(Self { planning, table: Arc::clone(table), values, assembler })
    }

    /// Adds the mutation of one row, given its cells.
    fn add(&mut self, runs: &[CellRun], out: &mut WriteBatch) -> Result<(), SqlError> {
        let row = decode(&self.table, runs)?;
        let values = self.values.iter().map(|value| match value {
            Value::Kept(position) => Ok(Arc::clone(row.column(*position))),
            Value::New(expr) => {
                let value = expr.evaluate(&row).and_then(|value| value.into_array(1));
                value.map_err(|error| self.planning.error(error))
            }
        });
        let values = values.collect::<Result<Vec<_>, _>>()?;
        self.assembler.add(&values, 1, out).map_err(|refusal| refusal.into_error(0, true))
    }
}

fn is_required(schema: &TableSchema, column: ColumnRef) -> bool {
    matches!(column, ColumnRef::Key(_)) || !schema.nullable(column)
}

/// All columns of a row in declared order.
fn decode(table: &BasaltTable, runs: &[CellRun]) -> Result<RecordBatch, SqlError> {
    let schema = table.table_schema();
    let mut decoder = RowDecoder::new(schema, schema.declared_order(), table.schema());
    for run in runs {
        decoder.push(run)?;
    }
    decoder.end()?;
    Ok(decoder.finish_batch()?)
}
