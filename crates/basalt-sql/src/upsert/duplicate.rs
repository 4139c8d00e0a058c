// SPDX-License-Identifier: Apache-2.0
//! ON DUPLICATE KEY: rows that are not there are written as given; rows that are there stay (IGNORE), or get new values
//! computed from the values that they have (UPDATE). UPDATE_ONLY does not write those that are not there.
//!
//! Reading and writing are one step, with no other write in between, for all rows of the statement together. A key may be
//! given once only, since an update of a row that the same statement has just written would depend on their order;
//! IGNORE takes the first.

use std::collections::HashSet;
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
use crate::plan::Planning;
use crate::scan::BasaltTable;

/// Writes the rows; returns how many were changed.
pub(super) fn write(
    planning: &Planning,
    table: &Arc<BasaltTable>,
    on_duplicate: &OnDuplicate,
    assembler: &mut RowAssembler,
    values: &[ArrayRef],
    count: usize,
) -> Result<u64, SqlError> {
    // All rows are made once before any is written: what is wrong with them is found here.
    let mut given = WriteBatch::new();
    assembler.add(values, count, &mut given).map_err(|refusal| refusal.into_error(0, count == 1))?;
    let mut keys: Vec<Vec<u8>> = given.iter().map(|(_, row)| row.row().to_vec()).collect();
    let mut indices: Vec<usize> = (0..count).collect();
    let mut seen = HashSet::new();
    indices.retain(|&index| seen.insert(keys[index].clone()));
    let mut updater = match on_duplicate {
        OnDuplicate::Ignore => None,
        OnDuplicate::Update(_) | OnDuplicate::UpdateOnly(_) if indices.len() < count => {
            return Err(SqlError::statement(
                "ON DUPLICATE KEY UPDATE takes each key once; the statement has one of them twice",
            ));
        }
        OnDuplicate::Update(assignments) | OnDuplicate::UpdateOnly(assignments) => {
            Some(Updater::try_new(planning, table, assignments)?)
        }
    };
    keys = indices.iter().map(|&index| std::mem::take(&mut keys[index])).collect();
    let mut changed = 0;
    let mut failure = None;
    let durability = table.descriptor.durability();
    let written = planning.engine.database().update_rows(table.id, &keys, durability, |rows| {
        let mut batch = WriteBatch::new();
        for (&index, row) in indices.iter().zip(&rows) {
            let added = match (&mut updater, row.is_empty()) {
                (_, true) if matches!(on_duplicate, OnDuplicate::UpdateOnly(_)) => continue,
                (_, true) => {
                    let row: Vec<_> = values.iter().map(|values| values.slice(index, 1)).collect();
                    assembler.add(&row, 1, &mut batch).map_err(|refusal| refusal.into_error(0, true))
                }
                (None, false) => continue,
                (Some(updater), false) => updater.add(row, &mut batch),
            };
            if let Err(error) = added {
                failure = Some(if count == 1 { error } else { error.within(format!("row {}", index + 1)) });
                return Ok(None);
            }
            changed += 1;
        }
        Ok(Some(batch))
    });
    match failure {
        Some(error) => Err(error),
        None => {
            written?;
            planning.progress.add_written(changed);
            Ok(changed)
        }
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
                return Err(SqlError::statement(format!("column {name} is set twice")).at(position));
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
