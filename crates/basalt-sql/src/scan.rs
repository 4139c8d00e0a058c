// SPDX-License-Identifier: Apache-2.0
//! A table of the store as the planner sees it, at one snapshot.
//!
//! [`BasaltTable`] answers the planner's questions (columns, size, which filters help) and turns a scan into a
//! [`BasaltScan`]: filters become an access by [`crate::keys`], the accessed ranges are cut into segments of about
//! equal size along the block index of the files, and contiguous segments become the partitions. So every
//! partition is in key order, which the plan declares: `ORDER BY` the key sorts nothing. Where nobody needs that order,
//! partitions that are done help the others, and a limit on the last rows of the key has the scan begin there ([`backwards`]);
//! `ORDER BY` the key in the opposite order has it go through it from the end ([`reversed`]). Columns that a sort with a limit does not look at are read of
//! the rows that it leaves ([`late`]), and a join tells the scan of its larger side which keys have a partner ([`join_keys`]); where these
//! are few, their rows are looked up ([`narrowed`]).

mod aligned;
mod backwards;
mod below;
mod choose;
mod cost;
mod deal;
mod exec;
mod facts;
mod filter;
mod index_only;
mod join_keys;
mod known_rows;
mod late;
mod lookup;
mod narrowed;
mod offset;
mod order;
mod outline;
mod partition;
mod predicate;
mod reader;
mod reversed;
mod shared;
mod totals;
mod whole;

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
use crate::hints::{IndexHints, Uncached};
use crate::index::Usable;
use crate::keys::{self, KeyAccess};
use crate::progress::Progress;
use crate::rules::is_subquery;
pub(crate) use backwards::LastRowsFirst;
use choose::{Chosen, Wish};
pub(crate) use exec::{BasaltScan, in_short_form, is_whole_scan, row_bytes};
pub(crate) use facts::{COMPARED, EQUAL, TableFacts, ValueFacts, share_of_all};
use filter::Filter;
pub(crate) use join_keys::{IntegerSemiJoin, JoinKeysInScan};
pub(crate) use known_rows::CountsKnown;
pub(crate) use late::ColumnsLate;
pub(crate) use offset::OffsetInScan;
pub(crate) use order::{WantedColumn, WantedOrder};
pub(crate) use outline::{Asking, at_moment, outlined};
pub(crate) use reversed::KeysFromTheEnd;
pub(crate) use shared::ScansShareWork;
pub(crate) use totals::TotalsInScan;
pub(crate) use whole::whole_reads;

/// A table at one snapshot.
#[derive(Debug, Clone)]
pub(crate) struct BasaltTable {
    pub(crate) id: TableId,
    pub(crate) descriptor: Arc<TableDescriptor>,
    rules: Option<(TableName, Arc<ViewRules>)>,
    schema: SchemaRef,
    snapshot: Snapshot,
    /// Rows are as they were at this moment, in milliseconds since 1970.
    as_of_ms: Option<i64>,
    rows_estimate: u64,
    /// Rows, where the files know it for sure.
    rows_exact: Option<u64>,
    facts: Arc<TableFacts>,
    progress: Arc<Progress>,
    indexes: Arc<Vec<Usable>>,
    hints: IndexHints,
    /// The order that the query wants, where an index may have it.
    order: Option<WantedOrder>,
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
        let (indexes, hints) = (Arc::default(), IndexHints::default());
        let rows = rows_exact.unwrap_or(rows_estimate);
        let facts = Arc::new(TableFacts::new(snapshot.clone(), id, Arc::clone(&descriptor), rows));
        Some(Self {
            id,
            descriptor,
            rules,
            schema,
            snapshot,
            as_of_ms: None,
            rows_estimate,
            rows_exact,
            facts,
            progress,
            indexes,
            hints,
            order: None,
        })
    }

    /// The same table, which may be read through these indexes.
    pub(crate) fn with_indexes(&self, indexes: Vec<Usable>, hints: &IndexHints) -> Self {
        Self { indexes: Arc::new(indexes), hints: hints.clone(), ..self.clone() }
    }

    /// The same table for a query that wants its rows in an order; `None` where that changes nothing.
    pub(crate) fn in_order(&self, order: WantedOrder) -> Option<Self> {
        let changes = !self.indexes.is_empty() && self.order.as_ref() != Some(&order);
        changes.then(|| Self { order: Some(order), ..self.clone() })
    }

    /// The same table as it was at a moment, in milliseconds since 1970.
    pub(crate) fn at_moment(self, moment: i64) -> Self {
        Self { as_of_ms: Some(moment), rows_exact: None, ..self }
    }

    /// Rows, about.
    pub(crate) fn rows_estimate(&self) -> u64 {
        self.rows_exact.unwrap_or(self.rows_estimate)
    }

    /// What is known of the values of a column.
    pub(crate) fn facts(&self, name: &str) -> Option<ValueFacts> {
        self.facts.of(self.table_schema().find(None, name).ok()?)
    }

    /// The name of the table or view.
    pub(crate) fn relation_name(&self) -> &TableName {
        self.rules.as_ref().map_or(&self.descriptor.name, |(name, _)| name)
    }

    /// All columns in declared order, as batches have them.
    pub(crate) fn arrow_schema(&self) -> &SchemaRef {
        &self.schema
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
        let access = keys::access(self.table_schema(), filters);
        // Lookups of single rows know no past.
        if self.as_of_ms.is_some() { access.into_ranges() } else { access }
    }

    /// The columns of a projection as batches have them.
    fn projected(&self, projection: Option<&Vec<usize>>) -> Result<SchemaRef> {
        Ok(match projection {
            Some(indices) => Arc::new(self.schema.project(indices)?),
            None => Arc::clone(&self.schema),
        })
    }

    /// A scan of the table itself; `note` says why it is not one of an index.
    fn plain_scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
        note: Option<String>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let false_or_null = [ScalarValue::Boolean(Some(false)), ScalarValue::Boolean(None)];
        let is_never =
            |filter: &Expr| matches!(filter, Expr::Literal(value, _) if false_or_null.contains(value));
        if filters.iter().any(is_never) {
            return Ok(Arc::new(EmptyExec::new(self.projected(projection)?)));
        }
        let access = self.access(filters);
        let spec = self.spec(state, projection, filters, limit, access, note)?;
        Ok(Arc::new(BasaltScan::try_new(spec).map_err(SqlError::from)?))
    }

    fn spec(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
        access: KeyAccess,
        note: Option<String>,
    ) -> Result<exec::Spec> {
        let columns = self.columns(projection);
        let physical = |expr, schema: &DFSchema| state.create_physical_expr(expr, schema);
        let mut filter = Filter::try_new(filters, physical, self.table_schema(), &columns)?;
        // Where the number of all rows is known, so is that of the rows that satisfy what all of them do.
        let holds = |filter: &mut Filter| {
            self.rows_exact.is_some_and(|rows| rows > 0)
                && filter.holds_always(&self.snapshot, self.id, self.table_schema())
        };
        let satisfied = filter.take_if(holds);
        Ok(exec::Spec {
            id: self.id,
            descriptor: Arc::clone(&self.descriptor),
            snapshot: self.snapshot.clone(),
            as_of_ms: self.as_of_ms,
            cached: state.config().get_extension::<Uncached>().is_none(),
            columns,
            schema: self.projected(projection)?,
            access,
            filter,
            satisfied,
            skip: 0,
            limit,
            partitions_max: state.config().target_partitions(),
            batch_rows: state.config().batch_size(),
            rows_estimate: self.rows_estimate,
            rows_exact: self.rows_exact,
            facts: Arc::clone(&self.facts),
            conditions: filters.to_vec(),
            progress: Arc::clone(&self.progress),
            indexes: if self.hints.none { Arc::default() } else { Arc::clone(&self.indexes) },
            note,
        })
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
    filter.exists(|expr| Ok(is_subquery(expr))).expect("the closure does not fail")
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
        let wish = Wish { table: self, projection, filters, limit };
        match wish.choose(state)? {
            Chosen::Index(plan) => Ok(plan),
            Chosen::Table(note) => self.plain_scan(state, projection, filters, limit, note),
        }
    }
}
