// SPDX-License-Identifier: Apache-2.0
//! RETURNING: what a statement that changes rows answers of each: the row as the statement leaves it, or, of a row that it
//! deletes, as it was.
//!
//! The list is looked up before anything is written, and evaluated before the rows are visible, so that an error in it changes
//! nothing. The rows are those of the one batch that goes through the write-ahead log; a statement that needs more is refused.

use std::collections::HashMap;
use std::sync::Arc;

use basalt_hfile::CellRun;
use basalt_hfile::typed::RowDecoder;
use basalt_model::{RowMutationRef, WriteBatch};
use basalt_store::row_after;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::sql::sqlparser::ast::{SelectItem, SetExpr};

use crate::delete;
use crate::dialect::Target;
use crate::error::SqlError;
use crate::ingest::{BATCH_ROWS_MAX, RowWriter};
use crate::outcome::RowStream;
use crate::plan::{Planning, Titles, is_row_fact, shown_schema};
use crate::rules::is_subquery;
use crate::scan::BasaltTable;

/// Rows that are read between two chances to be cancelled.
const ROWS_AT_ONCE: usize = 1_024;

/// What a statement changed.
pub(crate) struct Changed {
    /// How many rows.
    pub(crate) rows: u64,
    /// What RETURNING says of them.
    pub(crate) returned: Option<RowStream>,
}

impl Changed {
    /// Writes what waits in `writer`, after it was asked what RETURNING says of it.
    pub(crate) async fn all_of(
        planning: &Planning,
        writer: RowWriter,
        returning: Option<&Returning>,
    ) -> Result<Self, SqlError> {
        let returned = match returning {
            Some(returning) => Some(returning.of_waiting(planning, returning.waiting(&writer)?).await?),
            None => None,
        };
        Ok(Self { rows: writer.end().await?, returned })
    }
}

/// A RETURNING list, ready for rows of one table.
pub(crate) struct Returning {
    table: Arc<BasaltTable>,
    values: Vec<Arc<dyn PhysicalExpr>>,
    schema: SchemaRef,
    titles: Titles,
}

impl Returning {
    /// Looks the list up; `None` if there is none.
    pub(crate) fn try_new(
        planning: &Planning,
        target: &Target,
        table: &Arc<BasaltTable>,
        items: Vec<SelectItem>,
    ) -> Result<Option<Self>, SqlError> {
        if items.is_empty() {
            return Ok(None);
        }
        let mut query = delete::row_query(table.table_schema(), target, vec![], &[], None, vec![], None)?;
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.projection = items;
        }
        let titles = Titles::of(&query);
        let LogicalPlan::Projection(list) = planning.query(query)? else { return Err(beyond_the_row()) };
        if !is_of_one_row(&list.input) {
            return Err(beyond_the_row());
        }
        let (mut values, mut fields) = (vec![], vec![]);
        for (expr, field) in list.expr.iter().zip(list.schema.fields()) {
            if expr.exists(|part| Ok(needs_more(part)))? {
                return Err(beyond_the_row());
            }
            let value = planning.compile(expr.clone(), list.input.schema())?;
            let data_type = value.data_type(table.arrow_schema())?;
            fields.push(Field::new(field.name(), data_type, true).with_metadata(field.metadata().clone()));
            values.push(value);
        }
        let schema = shown_schema(&SchemaRef::new(Schema::new(fields)));
        Ok(Some(Self { table: Arc::clone(table), values, schema, titles }))
    }

    /// The rows that wait to be written; an error once they are more than the statement can answer.
    pub(crate) fn waiting<'a>(&self, writer: &'a RowWriter) -> Result<&'a WriteBatch, SqlError> {
        writer.waiting().filter(|batch| batch.len() as u64 <= BATCH_ROWS_MAX).ok_or_else(|| {
            SqlError::statement(format!(
                "RETURNING answers at most {BATCH_ROWS_MAX} rows, of at most 32 MiB, and this statement changes more; leave it away or narrow the statement with WHERE"
            ))
        })
    }

    /// What the list says of rows that wait to be written, of which `planning` sees the state before.
    pub(crate) async fn of_waiting(
        &self,
        planning: &Planning,
        batch: &WriteBatch,
    ) -> Result<RowStream, SqlError> {
        let mut returned = self.begin();
        // A query may give a key twice, and MERGE may delete a row and insert it again.
        let mut changes: HashMap<&[u8], Vec<RowMutationRef<'_>>> = HashMap::new();
        batch.iter().for_each(|(_, change)| changes.entry(change.row()).or_default().push(change));
        for (at, (_, change)) in batch.iter().enumerate() {
            // Of a row that changes several times, at its first change.
            let Some(changes) = changes.remove(change.row()) else { continue };
            returned.add_changed(&planning.snapshot.get_row(self.table.id, change.row())?, &changes)?;
            if at % ROWS_AT_ONCE == ROWS_AT_ONCE - 1 {
                tokio::task::yield_now().await;
            }
        }
        returned.finish(planning)
    }

    /// For rows that come one by one.
    pub(crate) fn begin(&self) -> Returned<'_> {
        let schema = self.table.table_schema();
        let decoder = RowDecoder::new(schema, schema.declared_order(), self.table.schema());
        Returned { returning: self, decoder }
    }
}

/// Rows on their way to a RETURNING list.
pub(crate) struct Returned<'a> {
    returning: &'a Returning,
    decoder: RowDecoder,
}

impl Returned<'_> {
    /// A row by its cells.
    pub(crate) fn add(&mut self, cells: &[CellRun]) -> Result<(), SqlError> {
        for run in cells {
            self.decoder.push(run)?;
        }
        Ok(self.decoder.end()?)
    }

    /// A row by its cells and what changes of them, in this order: as it is then, or as it was if nothing is left.
    pub(crate) fn add_changed(
        &mut self,
        before: &[CellRun],
        changes: &[RowMutationRef<'_>],
    ) -> Result<(), SqlError> {
        let mut after = before.to_vec();
        for change in changes {
            after = row_after(&after, *change)
                .ok_or_else(|| SqlError::internal("a statement wrote a column of a row twice"))?;
        }
        self.add(if after.is_empty() { before } else { &after })
    }

    /// The values of all rows.
    pub(crate) fn finish(mut self, planning: &Planning) -> Result<RowStream, SqlError> {
        let rows = self.decoder.finish_batch()?;
        let Returning { values, schema, titles, .. } = self.returning;
        let count = rows.num_rows();
        let values = values.iter().map(|value| {
            let value = value.evaluate(&rows).and_then(|value| value.into_array(count));
            value.map_err(|error| planning.error(error))
        });
        let values = values.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(SchemaRef::clone(schema), values, &options)
            .map_err(|error| SqlError::internal(error.to_string()))?;
        RowStream::titled(batch, titles)
    }
}

/// True if each row of the plan is a row of the table.
fn is_of_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(_) => true,
        LogicalPlan::SubqueryAlias(alias) => is_of_one_row(&alias.input),
        LogicalPlan::Filter(filter) => is_of_one_row(&filter.input),
        _ => false,
    }
}

/// True for what a row alone does not say.
fn needs_more(expr: &Expr) -> bool {
    is_subquery(expr) || matches!(expr, Expr::ScalarFunction(call) if is_row_fact(call.name()))
}

fn beyond_the_row() -> SqlError {
    SqlError::statement(
        "RETURNING takes expressions over the columns of the row; aggregates, subqueries, sequences and what the store knows of rows belong into a SELECT",
    )
}
