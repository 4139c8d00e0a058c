// SPDX-License-Identifier: Apache-2.0
//! A table of the store as the planner sees it, at one snapshot.
//!
//! [`BasaltTable`] answers the planner's questions (columns, size, which filters help) and turns a scan into a
//! [`BasaltScan`]: filters become an access by [`crate::keys`], the accessed ranges are cut into segments of about
//! equal size along the block index of the files, and contiguous segments become the partitions. So every
//! partition is in key order, which the plan declares: `ORDER BY` the key sorts nothing.

mod exec;
mod filter;
mod offset;
mod partition;
mod predicate;

use std::sync::Arc;

use async_trait::async_trait;
use basalt_hfile::typed::arrow_schema;
use basalt_model::schema::ColumnRef;
use basalt_model::{TableDescriptor, TableId, TableName, TableSchema};
use basalt_store::{Database, Snapshot};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{ColumnStatistics, DFSchema, ScalarValue, Statistics};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::sql::sqlparser::ast::Expr as SqlExpr;

use crate::catalog::{Relation, ViewRules, view};
use crate::dialect::Name;
use crate::error::SqlError;
use crate::keys::{self, KeyAccess};
use crate::progress::Progress;
pub(crate) use exec::BasaltScan;
use filter::Filter;
pub(crate) use offset::OffsetInScan;

/// Rows per batch.
pub(crate) const BATCH_ROWS: usize = 8_192;

/// A table at one snapshot.
#[derive(Debug)]
pub(crate) struct BasaltTable {
    pub(crate) id: TableId,
    pub(crate) descriptor: Arc<TableDescriptor>,
    rules: Option<(TableName, Arc<ViewRules>)>,
    schema: SchemaRef,
    snapshot: Snapshot,
    rows_estimate: u64,
    /// Rows, where the files know it for sure.
    rows_exact: Option<u64>,
    progress: Arc<Progress>,
}

impl BasaltTable {
    /// The table or view as `snapshot` sees it, without a view's condition; `None` for a table without a SQL schema.
    pub(crate) fn new(
        database: &Database,
        snapshot: Snapshot,
        relation: Relation,
        progress: Arc<Progress>,
    ) -> Option<Self> {
        let Relation { id, descriptor, view: rules } = relation;
        let schema = Arc::new(arrow_schema(descriptor.schema.as_ref()?));
        let rows_estimate = database.stats(id).map_or(0, |stats| stats.rows_estimate);
        // What cannot be told now will be said by the scan.
        let rows_exact = snapshot.row_count(id).ok().flatten();
        Some(Self { id, descriptor, rules, schema, snapshot, rows_estimate, rows_exact, progress })
    }

    /// Columns, key and types.
    pub(crate) fn table_schema(&self) -> &TableSchema {
        self.descriptor.schema.as_ref().expect("new() refuses tables without schema")
    }

    /// The rules of a view.
    pub(crate) fn rules(&self) -> Option<&ViewRules> {
        self.rules.as_ref().map(|(_, rules)| rules.as_ref())
    }

    /// The values that a view gives to columns of the rows that are written to it; an error if it takes none.
    pub(crate) fn fixed_columns(&self) -> std::result::Result<&[(Name, SqlExpr)], SqlError> {
        match &self.rules {
            None => Ok(&[]),
            Some((name, rules)) => rules.constants.as_deref().ok_or_else(|| view::read_only(name)),
        }
    }

    /// The access that these filters leave.
    pub(crate) fn access(&self, filters: &[Expr]) -> KeyAccess {
        keys::access(self.table_schema(), filters)
    }

    fn columns(&self, projection: Option<&Vec<usize>>) -> Vec<ColumnRef> {
        let declared = &self.table_schema().declared;
        match projection {
            Some(indices) => indices.iter().map(|&index| declared[index]).collect(),
            None => declared.clone(),
        }
    }
}

fn has_subquery(filter: &Expr) -> bool {
    let is_subquery = |expr: &Expr| {
        let subquery = matches!(
            expr,
            Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_)
        );
        Ok(subquery)
    };
    filter.exists(is_subquery).expect("the closure does not fail")
}

#[async_trait]
impl TableProvider for BasaltTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// The scan takes every filter that says the same of a row whenever it is asked.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match filter.is_volatile() || has_subquery(filter) {
            true => TableProviderFilterPushDown::Unsupported,
            false => TableProviderFilterPushDown::Exact,
        };
        Ok(filters.iter().map(support).collect())
    }

    fn statistics(&self) -> Option<Statistics> {
        Some(Statistics {
            num_rows: Precision::Inexact(self.rows_estimate as usize),
            total_byte_size: Precision::Absent,
            column_statistics: vec![ColumnStatistics::new_unknown(); self.schema.fields().len()],
        })
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            Some(indices) => Arc::new(self.schema.project(indices)?),
            None => self.schema(),
        };
        let false_or_null = [ScalarValue::Boolean(Some(false)), ScalarValue::Boolean(None)];
        if filters
            .iter()
            .any(|filter| matches!(filter, Expr::Literal(value, _) if false_or_null.contains(value)))
        {
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        let columns = self.columns(projection);
        let physical = |expr, schema: &DFSchema| state.create_physical_expr(expr, schema);
        let filter = Filter::try_new(filters, physical, self.table_schema(), &columns)?;
        let scan = BasaltScan::try_new(exec::Spec {
            id: self.id,
            descriptor: Arc::clone(&self.descriptor),
            snapshot: self.snapshot.clone(),
            columns,
            schema,
            access: self.access(filters),
            filter,
            skip: 0,
            limit,
            partitions_max: state.config().target_partitions(),
            rows_estimate: self.rows_estimate,
            rows_exact: self.rows_exact,
            progress: Arc::clone(&self.progress),
        });
        Ok(Arc::new(scan.map_err(SqlError::from)?))
    }
}
