// SPDX-License-Identifier: Apache-2.0
//! A scan of an index that has all that the query asks for: its rows, put into the columns of the table.

use std::fmt;
use std::sync::Arc;

use basalt_model::{ColumnRef, KeyColumn, SqlType};
use datafusion::arrow::array::{ArrayRef, AsArray, BooleanArray};
use datafusion::arrow::compute::nullif;
use datafusion::arrow::datatypes::{Int8Type, SchemaRef};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::catalog::Session;
use datafusion::common::Statistics;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::StreamExt;

use super::choose::{Wish, lost};
use super::order::IndexEnd;
use super::{BasaltTable, shared};
use crate::index::Usable;
use crate::keys;

/// Where a column of the table comes from: a column of the input, and the one that says whether there is a value.
#[derive(Debug, Clone, Copy)]
struct Take {
    value: usize,
    presence: Option<usize>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct IndexOnlyScan {
    input: Arc<dyn ExecutionPlan>,
    takes: Arc<[Take]>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    /// What EXPLAIN says.
    title: String,
    metrics: ExecutionPlanMetricsSet,
}

/// Columns of an index that a plan reads, in declared order of the index.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    positions: Vec<usize>,
}

impl Wanted {
    /// The position of a column in the input, which will have it.
    pub(super) fn column(&mut self, index: &BasaltTable, name: &str) -> Result<usize> {
        let schema = index.table_schema();
        let declared = schema.declared_order().iter().position(|&column| schema.name(column) == name);
        let declared = declared.ok_or_else(|| lost(name))?;
        Ok(match self.positions.iter().position(|known| *known == declared) {
            Some(position) => position,
            None => {
                self.positions.push(declared);
                self.positions.len() - 1
            }
        })
    }

    pub(super) fn positions(&self) -> &Vec<usize> {
        &self.positions
    }
}

impl IndexOnlyScan {
    /// Plans the scan of `index` from this end under `filters`, which are all of the query's.
    pub(super) fn plan(
        wish: &Wish<'_>,
        index: &Usable,
        filters: &[Expr],
        state: &dyn Session,
        note: String,
        end: IndexEnd,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let table = wish.table;
        let columns = table.columns(wish.projection);
        let mut wanted = Wanted::default();
        let mut takes = vec![];
        for &column in &columns {
            let name = table.table_schema().display_name(column);
            let place = index.place(&name).ok_or_else(|| lost(&name))?;
            let presence =
                place.presence.as_deref().map(|name| wanted.column(&index.table, name)).transpose()?;
            takes.push(Take { value: wanted.column(&index.table, &place.column)?, presence });
        }
        let input = index.table.plain_scan(state, Some(wanted.positions()), filters, wish.limit, None)?;
        let (input, end) = end.of_scan(input);
        let schema = table.projected(wish.projection)?;
        let orderings = orderings(table, index, filters, &columns, &end);
        let equivalences = EquivalenceProperties::new_with_orderings(Arc::clone(&schema), orderings);
        // How the input's partitions are cut is said in terms of the index.
        let count = input.properties().output_partitioning().partition_count();
        let partitioning = Partitioning::UnknownPartitioning(count);
        let properties =
            PlanProperties::new(equivalences, partitioning, EmissionType::Incremental, Boundedness::Bounded)
                .with_scheduling_type(SchedulingType::Cooperative);
        let title = format!("table={}, index={}{note}", table.relation_name(), index.name());
        Ok(Arc::new(Self::over(input, takes.into(), schema, properties, title)))
    }

    fn over(
        input: Arc<dyn ExecutionPlan>,
        takes: Arc<[Take]>,
        schema: SchemaRef,
        properties: PlanProperties,
        title: String,
    ) -> Self {
        let (properties, metrics) = (Arc::new(properties), ExecutionPlanMetricsSet::new());
        Self { input, takes, schema, properties, title, metrics }
    }
}

/// The orders of the rows that come from this end: the indexed values and the rest of the key, as far as they are read; and the same
/// without what the filters, which are in terms of the index, leave one value of.
pub(super) fn orderings(
    table: &BasaltTable,
    index: &Usable,
    filters: &[Expr],
    columns: &[ColumnRef],
    end: &IndexEnd,
) -> Vec<Vec<PhysicalSortExpr>> {
    let key = &index.table.table_schema().key;
    let fixed = keys::fixed_columns(index.table.table_schema(), filters);
    let parts = if fixed == 0 { vec![&key[..]] } else { vec![&key[..], &key[fixed..]] };
    parts.into_iter().filter_map(|key| ordering(table, index, key, columns, end)).collect()
}

fn ordering(
    table: &BasaltTable,
    index: &Usable,
    key: &[KeyColumn],
    columns: &[ColumnRef],
    end: &IndexEnd,
) -> Option<Vec<PhysicalSortExpr>> {
    let schema = table.table_schema();
    let mut ordering = vec![];
    for key in key {
        let of_key = |column: &&ColumnRef| {
            let place = index.place(&schema.display_name(**column));
            place.is_some_and(|place| place.column == key.name)
        };
        if index.is_presence(&key.name) {
            continue;
        }
        let Some(at) = columns.iter().position(|column| of_key(&column)) else { break };
        if matches!(key.sql_type, SqlType::Array(_)) {
            break;
        }
        let expr: Arc<dyn PhysicalExpr> = Arc::new(Column::new(&schema.display_name(columns[at]), at));
        ordering.push(PhysicalSortExpr::new(expr, end.options(key)));
    }
    (!ordering.is_empty()).then_some(ordering)
}

impl DisplayAs for IndexOnlyScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "IndexOnlyScan: {}", self.title)
    }
}

/// The order of the input is kept and is that of the properties, but `maintains_input_order` must not say so: the planner would
/// ask the input for an order by the numbers of these columns, which are others there.
impl ExecutionPlan for IndexOnlyScan {
    fn name(&self) -> &str {
        "IndexOnlyScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.pop().ok_or_else(|| lost("at all"))?;
        let (takes, schema) = (Arc::clone(&self.takes), Arc::clone(&self.schema));
        let mut properties = PlanProperties::clone(&self.properties);
        if shared::has_lost_its_order(&self.input, &input) {
            properties = properties.with_eq_properties(EquivalenceProperties::new(Arc::clone(&schema)));
        }
        Ok(Arc::new(Self::over(input, takes, schema, properties, self.title.clone())))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let (takes, schema) = (Arc::clone(&self.takes), Arc::clone(&self.schema));
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let batches = self.input.execute(partition, context)?;
        let batches = batches.map(move |batch| {
            let timer = metrics.elapsed_compute().timer();
            let batch = taken(&batch?, &takes, &schema);
            timer.done();
            batch.record_output(&metrics)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let Statistics { num_rows, total_byte_size, column_statistics } = &*inputs[0];
        let of_column = |take: &Take| column_statistics[take.value].clone();
        Ok(Arc::new(Statistics {
            num_rows: *num_rows,
            total_byte_size: *total_byte_size,
            column_statistics: self.takes.iter().map(of_column).collect(),
        }))
    }
}

fn taken(batch: &RecordBatch, takes: &[Take], schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = takes.iter().map(|take| value(batch, take)).collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

fn value(batch: &RecordBatch, take: &Take) -> Result<ArrayRef> {
    let values = batch.column(take.value);
    let Some(presence) = take.presence else { return Ok(Arc::clone(values)) };
    let presence = batch.column(presence).as_primitive::<Int8Type>();
    let absent: BooleanArray = presence.values().iter().map(|&present| Some(present == 0)).collect();
    if absent.true_count() == 0 { Ok(Arc::clone(values)) } else { Ok(nullif(values.as_ref(), &absent)?) }
}
