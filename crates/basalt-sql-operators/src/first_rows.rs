// SPDX-License-Identifier: Apache-2.0
//! The first rows of a large sort at once: who asks for everything in an order often looks at a page of it.
//!
//! A sort hands out nothing before it has read, and holds, all columns of all rows. [`FirstRows`] asks for the first [`PAGE`] of them
//! before that, which is a `LIMIT`: the scan skips what cannot be among them and reads the other columns of few rows. Only who wants more pays
//! for the sort. Its rows that were handed out are the ones below a key, the bound, and are left out by that: where several rows have the key of the page's
//! last one, any of them may be on the page, so those are left to the sort.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, replace_children_if_necessary,
};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};

use crate::sort::WholeSort;

/// Rows that are asked for first. A page of a client; ten times as many take twice the time.
const PAGE: usize = 100;
/// Rows, estimated, from which a sort takes long enough for its first rows to be worth a scan of their own.
const ROWS_MIN: usize = 1 << 20;

/// Puts [`FirstRows`] above a plan's last sort, if that is one of many rows of a table. For before the rule that hands conditions of
/// sorts to scans.
#[derive(Debug)]
pub struct FirstRowsAtOnce {
    is_table: fn(&dyn ExecutionPlan) -> bool,
}

impl FirstRowsAtOnce {
    /// The rule; `is_table` knows the leaves that give the same rows whenever they are run.
    pub fn new(is_table: fn(&dyn ExecutionPlan) -> bool) -> Self {
        Self { is_table }
    }

    /// The plan with its last sort made to begin with a page.
    fn paged(&self, plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            let Some(input) = self.paged(projection.input())? else { return Ok(None) };
            return replace_children_if_necessary(Arc::clone(plan), vec![input]).map(Some);
        }
        let Some(whole) = WholeSort::ending_with(plan).filter(|whole| self.is_worth_it(whole.sort)) else {
            return Ok(None);
        };
        let order = whole.order().clone();
        let mut page: Arc<dyn ExecutionPlan> = Arc::new(whole.sort.with_fetch(Some(PAGE)));
        if let Some(projection) = whole.projection {
            page = replace_children_if_necessary(Arc::clone(projection), vec![page])?;
        }
        if whole.merge.is_some() {
            page = Arc::new(SortPreservingMergeExec::new(order.clone(), page).with_fetch(Some(PAGE)));
        }
        Ok(Some(Arc::new(FirstRows { page, all: Arc::clone(plan), order })))
    }

    /// True if a sort has many rows, and the same ones in the same order whenever it is run.
    fn is_worth_it(&self, sort: &SortExec) -> bool {
        let mut input = sort.input();
        let mut is_steady = sort.expr().iter().all(|sort| !is_volatile(&sort.expr));
        while let Some(projection) = input.downcast_ref::<ProjectionExec>() {
            is_steady &= projection.expr().iter().all(|column| !is_volatile(&column.expr));
            input = projection.input();
        }
        if !is_steady || !(self.is_table)(input.as_ref()) {
            return false;
        }
        let statistics = StatisticsContext::new().compute(input.as_ref(), &StatisticsArgs::new());
        let rows = statistics.ok().and_then(|known| known.num_rows.get_value().copied());
        rows.is_some_and(|rows| rows >= ROWS_MIN)
    }
}

impl PhysicalOptimizerRule for FirstRowsAtOnce {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self.paged(&plan)?.unwrap_or(plan))
    }

    fn name(&self) -> &str {
        "first_rows_at_once"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The rows of a sort: a page of them at once, the others when they are asked for.
#[derive(Debug)]
struct FirstRows {
    /// The first rows.
    page: Arc<dyn ExecutionPlan>,
    /// All rows, these included.
    all: Arc<dyn ExecutionPlan>,
    order: LexOrdering,
}

impl DisplayAs for FirstRows {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        match t {
            DisplayFormatType::TreeRender => write!(f, "rows={PAGE}"),
            _ => write!(f, "FirstRows: rows={PAGE}"),
        }
    }
}

impl ExecutionPlan for FirstRows {
    fn name(&self) -> &str {
        "FirstRows"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.all.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.page, &self.all]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for sort in self.order.iter() {
            if f(&sort.expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true, true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false, false]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (page, all) = (children.remove(0), children.remove(0));
        Ok(Arc::new(Self { page, all, order: self.order.clone() }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let page = self.page.execute(partition, Arc::clone(&context))?;
        let (all, schema) = (Arc::clone(&self.all), self.schema());
        let rest = stream::once(async move { all.execute(partition, context) }).try_flatten();
        let rows = stream::once(page_and_rest(page, self.order.clone(), rest.boxed())).try_flatten();
        let rows = rows.try_filter(|batch| std::future::ready(batch.num_rows() > 0));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

type Batches = BoxStream<'static, Result<RecordBatch>>;

/// The rows of `page`, and behind them those of `all` that are not on it.
async fn page_and_rest(page: SendableRecordBatchStream, order: LexOrdering, all: Batches) -> Result<Batches> {
    let schema = page.schema();
    let mut keys = Keys::try_new(order, &schema)?;
    let page = concat_batches(&schema, &page.try_collect::<Vec<_>>().await?)?;
    if page.num_rows() < PAGE {
        return Ok(stream::iter([Ok(page)]).boxed());
    }
    let bound = keys.of_row(&page, page.num_rows() - 1)?;
    let page = page.slice(0, keys.below(&bound, &page)?);
    let mut bound = Some(bound);
    let rest = all.map(move |batch| keys.without_those_below(&mut bound, batch?));
    Ok(stream::iter([Ok(page)]).chain(rest).boxed())
}

/// The keys of rows that are in order.
struct Keys {
    order: LexOrdering,
    converter: RowConverter,
}

impl Keys {
    fn try_new(order: LexOrdering, schema: &Schema) -> Result<Self> {
        let fields = order
            .iter()
            .map(|sort| Ok(SortField::new_with_options(sort.expr.data_type(schema)?, sort.options)));
        let converter = RowConverter::new(fields.collect::<Result<_>>()?)?;
        Ok(Self { order, converter })
    }

    fn columns(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        self.order.iter().map(|sort| sort.expr.evaluate(batch)?.into_array(batch.num_rows())).collect()
    }

    fn of_row(&mut self, batch: &RecordBatch, row: usize) -> Result<OwnedRow> {
        let columns = self.columns(&batch.slice(row, 1))?;
        Ok(self.converter.convert_columns(&columns)?.row(0).owned())
    }

    /// How many rows come before a key.
    fn below(&mut self, bound: &OwnedRow, batch: &RecordBatch) -> Result<usize> {
        let columns = self.columns(batch)?;
        let rows = self.converter.convert_columns(&columns)?;
        Ok(rows.iter().take_while(|row| *row < bound.row()).count())
    }

    /// The rows from a key on, which is forgotten when the first of them was seen: behind it are no others.
    fn without_those_below(
        &mut self,
        bound: &mut Option<OwnedRow>,
        batch: RecordBatch,
    ) -> Result<RecordBatch> {
        let Some(key) = bound else { return Ok(batch) };
        let below = self.below(key, &batch)?;
        if below < batch.num_rows() {
            *bound = None;
        }
        Ok(batch.slice(below, batch.num_rows() - below))
    }
}

#[cfg(test)]
mod tests;
