// SPDX-License-Identifier: Apache-2.0
//! Conditions on the rows of a scan: what the store answers of them ([`super::predicate`]), and the evaluation of all of a
//! condition on the rows that the store hands out undecided.

use std::fmt;
use std::sync::Arc;

use basalt_hfile::predicate::Predicate;
use basalt_hfile::typed::projected_schema;
use basalt_model::{ColumnRef, TableId, TableSchema};
use basalt_store::Snapshot;
use basalt_store::read::Condition;
use datafusion::arrow::array::AsArray;
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, Result, internal_err};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::conjunction;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, DynamicFilterTracking};
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};

use super::predicate::{Compiled, compile};

/// What the rows of a scan satisfy.
#[derive(Debug, Clone)]
pub(super) struct Filter {
    /// On the columns of the scan, and `more`.
    pub(super) condition: Arc<dyn PhysicalExpr>,
    /// Columns of the condition that the scan does not return.
    pub(super) more: Vec<ColumnRef>,
    columns: usize,
    compiled: Compiled,
}

impl Filter {
    /// The conjunction of `filters`, made physical by `physical`; `None` without any.
    pub(super) fn try_new(
        filters: &[Expr],
        physical: impl FnOnce(Expr, &DFSchema) -> Result<Arc<dyn PhysicalExpr>>,
        table: &TableSchema,
        columns: &[ColumnRef],
    ) -> Result<Option<Self>> {
        let Some(condition) = conjunction(filters.iter().cloned()) else { return Ok(None) };
        let declared = table.declared_order();
        let schema = DFSchema::try_from(projected_schema(table, declared))?;
        let condition = physical(condition, &schema)?;
        let mut named: Vec<usize> = collect_columns(&condition).iter().map(|column| column.index()).collect();
        named.sort_unstable();
        let more: Vec<ColumnRef> = named
            .into_iter()
            .map(|index| declared[index])
            .filter(|column| !columns.contains(column))
            .collect();
        let all = [columns, &more].concat();
        let condition = reassign_expr_columns(condition, &projected_schema(table, &all))?;
        let compiled = compile(&condition, &all, table);
        Ok(Some(Self { condition, more, columns: columns.len(), compiled }))
    }

    /// The same, for a scan of `to` in place of `from`.
    pub(super) fn of_columns(&self, from: &[ColumnRef], to: &[ColumnRef]) -> Result<Self> {
        let before = [from, &self.more].concat();
        let mut named: Vec<usize> = collect_columns(&self.condition).iter().map(Column::index).collect();
        named.sort_unstable();
        let more: Vec<ColumnRef> =
            named.into_iter().map(|index| before[index]).filter(|column| !to.contains(column)).collect();
        let after = [to, &more].concat();
        let condition = moved(&self.condition, &before, &after)?;
        Ok(Self { condition, more, columns: to.len(), compiled: self.compiled.clone() })
    }

    /// True if the files say that every row of the table satisfies the condition.
    pub(super) fn holds_always(&self, snapshot: &Snapshot, id: TableId, table: &TableSchema) -> bool {
        let Compiled { predicate, is_exact } = &self.compiled;
        // What cannot be read is said by the scan.
        *is_exact && snapshot.all_rows_satisfy(id, table, &Arc::new(predicate.clone())).unwrap_or(false)
    }

    /// The rows that satisfy the condition, without the columns that only the condition needs.
    pub(super) fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let keep = self.condition.evaluate(batch)?.into_array(batch.num_rows())?;
        let wanted: Vec<usize> = (0..self.columns).collect();
        Ok(filter_record_batch(&batch.project(&wanted)?, keep.as_boolean())?)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt(f)
    }
}

/// An expression on the columns `from` as one on the columns `to`, which have all that it names.
pub(super) fn moved(
    expr: &Arc<dyn PhysicalExpr>,
    from: &[ColumnRef],
    to: &[ColumnRef],
) -> Result<Arc<dyn PhysicalExpr>> {
    let moved = |expr: Arc<dyn PhysicalExpr>| {
        let Some(column) = expr.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
        let Some(at) = to.iter().position(|other| *other == from[column.index()]) else {
            return internal_err!("column {} is not among those that are read", column.name());
        };
        Ok(Transformed::yes(Arc::new(Column::new(column.name(), at)) as _))
    };
    Arc::clone(expr).transform_down(moved).data()
}

/// What the store is told of a scan's filter and of the hints that come while it runs.
pub(super) fn condition(
    filter: Option<&Filter>,
    hints: Vec<Arc<dyn PhysicalExpr>>,
    columns: &[ColumnRef],
    table: &Arc<TableSchema>,
) -> Option<Condition> {
    let hints: Vec<Hint> = hints.into_iter().map(|hint| Hint::new(hint, columns, table)).collect();
    if filter.is_none() && hints.is_empty() {
        return None;
    }
    let always = Compiled { predicate: Predicate::ALWAYS, is_exact: true };
    let Compiled { predicate, is_exact } = filter.map_or(always, |filter| filter.compiled.clone());
    let more = filter.map(|filter| filter.more.clone()).unwrap_or_default();
    let (columns, table) = (columns.to_vec(), Arc::clone(table));
    let mut hints = hints;
    let grows = hints.iter().any(Hint::may_change);
    let mut current = None;
    let of_now = move || {
        let mut changed = false;
        for hint in &mut hints {
            changed |= hint.follow(&columns, &table);
        }
        match &current {
            Some(current) if !changed => Arc::clone(current),
            _ => {
                let known = hints.iter().map(|hint| hint.predicate.clone());
                let all = Arc::new(known.fold(predicate.clone(), Predicate::and));
                current = Some(Arc::clone(&all));
                all
            }
        }
    };
    Some(Condition { predicate: Box::new(of_now), grows, is_exact, columns: more })
}

/// A condition that grows stronger.
struct Hint {
    condition: Arc<dyn PhysicalExpr>,
    tracking: DynamicFilterTracking,
    predicate: Predicate,
}

impl Hint {
    fn new(condition: Arc<dyn PhysicalExpr>, columns: &[ColumnRef], table: &TableSchema) -> Self {
        let tracking = DynamicFilterTracking::classify(&condition);
        let predicate = compile(&condition, columns, table).predicate;
        Self { condition, tracking, predicate }
    }

    fn may_change(&self) -> bool {
        matches!(self.tracking, DynamicFilterTracking::Watching(_))
    }

    /// Takes over what is known now; true if that is more than before.
    fn follow(&mut self, columns: &[ColumnRef], table: &TableSchema) -> bool {
        let changed = self.tracking.watcher().is_some_and(|watcher| watcher.changed());
        if changed {
            self.predicate = compile(&self.condition, columns, table).predicate;
        }
        changed
    }
}
