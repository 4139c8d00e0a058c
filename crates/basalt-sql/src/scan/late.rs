// SPDX-License-Identifier: Apache-2.0
//! The columns that a sort with a limit does not look at, read of the rows that it leaves.
//!
//! A scan below `ORDER BY … LIMIT` hands on every row that may be among the wanted ones when it is met, most of which others drive out later, and each of
//! them costs a vector of every column. Read narrow (the columns of the sort and the primary key) it costs little; the rows that are left are then found
//! by their keys, in the same snapshot.

use std::fmt;
use std::sync::Arc;

use basalt_hfile::typed::{KeyEncoder, TypedError};
use basalt_model::{ColumnRef, SqlType, TableDescriptor};
use bytes::Bytes;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{ColumnStatistics, Result, Statistics, exec_err};
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet, RecordOutput};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, replace_children_if_necessary,
};
use futures::{StreamExt, TryStreamExt, stream};

use super::BasaltScan;
use super::choose::lost;
use super::exec::{Spec, table_schema};
use super::filter::moved;
use super::reader::{Counters, look_up};
use crate::error::SqlError;
use crate::keys::{Access, KeyAccess};

/// Rows, at most, that are worth finding one by one.
const ROWS_MAX: usize = 1_000;
/// Rows that a scan must have for each that is found by its key.
const ROWS_PER_LOOKUP: usize = 256;
/// What the columns that are read late must cost together to be worth it: a number is 1.
const COST_MIN: usize = 4;
/// Rows that are looked up at a time, at most.
const AT_ONCE_MAX: usize = 64;
/// And at least, if there are so many.
const AT_ONCE_MIN: usize = 4;

/// Puts [`LateColumns`] above sorts with a limit. For before the rule that hands conditions of sorts to scans.
#[derive(Debug)]
pub(crate) struct ColumnsLate;

impl PhysicalOptimizerRule for ColumnsLate {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let replaced = |plan: Arc<dyn ExecutionPlan>| {
            Ok(match FewRows::of(&plan).map(FewRows::late).transpose()?.flatten() {
                Some(late) => Transformed::new(late, true, TreeNodeRecursion::Jump),
                None => Transformed::no(plan),
            })
        };
        plan.transform_down(replaced).data()
    }

    fn name(&self) -> &str {
        "columns_late"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// A sort with a limit of a scan's rows.
struct FewRows<'a> {
    sort: &'a SortExec,
    /// Its partitions are merged.
    is_merged: bool,
    /// How many rows are left.
    fetch: usize,
    /// What is computed of the rows once they are sorted, before they are merged.
    above: Option<&'a Arc<dyn ExecutionPlan>>,
    /// What is computed of the scan's rows before they are sorted.
    below: Option<&'a Arc<dyn ExecutionPlan>>,
    scan: &'a BasaltScan,
}

impl<'a> FewRows<'a> {
    fn of(plan: &'a Arc<dyn ExecutionPlan>) -> Option<Self> {
        let merge = plan.downcast_ref::<SortPreservingMergeExec>();
        let (above, sort) = behind_projection(merge.map_or(plan, |merge| merge.input()));
        let sort: &SortExec = sort.downcast_ref()?;
        let fetch = plan.fetch().filter(|&fetch| fetch <= ROWS_MAX)?;
        sort.fetch()?;
        if plan.properties().output_partitioning().partition_count() > 1 {
            return None;
        }
        let (below, scan) = behind_projection(sort.input());
        let scan = scan.downcast_ref()?;
        Some(Self { sort, is_merged: merge.is_some(), fetch, above, below, scan })
    }

    /// The same rows by a narrow scan, and the rest of them by their keys; `None` where that is not less work, or a key may not find its row.
    fn late(self) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Self { sort, is_merged, fetch, above, below, scan } = self;
        let Spec { descriptor, columns, as_of_ms, .. } = &**scan.spec();
        // Lookups of single rows know no past.
        if as_of_ms.is_some() || !keys_find_rows(descriptor) || scan.rows_estimate() / ROWS_PER_LOOKUP < fetch
        {
            return Ok(None);
        }
        let Some(order) = order_of_scan(sort, below)? else { return Ok(None) };
        let mut sorted: Vec<usize> =
            order.iter().flat_map(|sort| collect_columns(&sort.expr)).map(|column| column.index()).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let keys = (0..table_schema(descriptor).key.len()).map(ColumnRef::Key);
        let mut narrow: Vec<ColumnRef> = keys.collect();
        narrow.extend(
            sorted.into_iter().map(|at| columns[at]).filter(|column| matches!(column, ColumnRef::Column(_))),
        );
        let rest = columns.iter().filter(|column| !narrow.contains(column));
        if rest.map(|column| cost(table_schema(descriptor).sql_type(*column))).sum::<usize>() < COST_MIN {
            return Ok(None);
        }
        let Some(first) = scan.of_columns(narrow.clone())? else { return Ok(None) };
        let narrow_order = order.iter().map(|sort| {
            let expr = moved(&sort.expr, columns, &narrow)?;
            Ok(PhysicalSortExpr { expr, options: sort.options })
        });
        let narrow_order = narrow_order.collect::<Result<Vec<_>>>()?;
        let Some(narrow_order) = LexOrdering::new(narrow_order) else { return Ok(None) };
        let mut input: Arc<dyn ExecutionPlan> = Arc::new(
            SortExec::new(narrow_order.clone(), Arc::new(first))
                .with_fetch(Some(fetch))
                .with_preserve_partitioning(is_merged),
        );
        if is_merged {
            input = Arc::new(SortPreservingMergeExec::new(narrow_order, input).with_fetch(Some(fetch)));
        }
        let mut late: Arc<dyn ExecutionPlan> = Arc::new(LateColumns::new(input, narrow, scan.spec(), order));
        for projection in below.into_iter().chain(above) {
            late = replace_children_if_necessary(Arc::clone(projection), vec![late])?;
        }
        Ok(Some(late))
    }
}

/// What lies below a projection, and the projection, if there is one.
fn behind_projection(
    plan: &Arc<dyn ExecutionPlan>,
) -> (Option<&Arc<dyn ExecutionPlan>>, &Arc<dyn ExecutionPlan>) {
    match plan.downcast_ref::<ProjectionExec>() {
        Some(projection) => (Some(plan), projection.input()),
        None => (None, plan),
    }
}

/// The order of a sort, by the columns of the scan below; `None` if what is sorted changes whenever it is computed.
fn order_of_scan(
    sort: &SortExec,
    projection: Option<&Arc<dyn ExecutionPlan>>,
) -> Result<Option<Vec<PhysicalSortExpr>>> {
    let projection = projection.and_then(|projection| projection.downcast_ref::<ProjectionExec>());
    let mut computed = projection.into_iter().flat_map(|projection| projection.expr());
    if computed.any(|column| is_volatile(&column.expr))
        || sort.expr().iter().any(|sort| is_volatile(&sort.expr))
    {
        return Ok(None);
    }
    let of_scan = |sort: &PhysicalSortExpr| {
        let expr = match projection {
            Some(projection) => basalt_sql_operators::below_projection(&sort.expr, projection)?,
            None => Arc::clone(&sort.expr),
        };
        Ok(PhysicalSortExpr { expr, options: sort.options })
    };
    sort.expr().iter().map(of_scan).collect::<Result<_>>().map(Some)
}

/// True if a row's key can be told by the values of its key columns, whoever wrote it, and the row is still there a moment later.
fn keys_find_rows(descriptor: &TableDescriptor) -> bool {
    use SqlType::{Array, Boolean, Decimal, Double, Float, UnsignedDouble, UnsignedFloat};
    let types = || table_schema(descriptor).key.iter().map(|key| key.sql_type);
    let many_forms = |sql_type| {
        matches!(sql_type, Array(_) | Boolean | Decimal(_) | Double | Float | UnsignedDouble | UnsignedFloat)
    };
    // Of two texts at the end of a key both may be absent, with or without the byte that parts them.
    let texts = types().filter(|sql_type| sql_type.fixed_width().is_none()).count();
    texts <= 1
        && !types().any(many_forms)
        && descriptor.families.iter().all(|family| family.ttl_secs.is_none())
}

/// What it costs to read a column, about: a number is 1.
fn cost(sql_type: SqlType) -> usize {
    use SqlType::{Array, Binary, Char, Json, Varbinary, Varchar};
    match sql_type {
        Array(_) | Binary(_) | Char(_) | Json | Varbinary(_) | Varchar(_) => COST_MIN,
        _ => 1,
    }
}

/// All columns of the rows whose keys the input gives, in its order.
#[derive(Debug)]
struct LateColumns {
    /// One partition, with these columns.
    input: Arc<dyn ExecutionPlan>,
    columns: Vec<ColumnRef>,
    /// The rows to find.
    spec: Arc<Spec>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl LateColumns {
    /// For the rows of a scan; `order` is the input's, by the columns of the scan.
    fn new(
        input: Arc<dyn ExecutionPlan>,
        columns: Vec<ColumnRef>,
        scan: &Spec,
        order: Vec<PhysicalSortExpr>,
    ) -> Self {
        let access = KeyAccess { access: Access::Points(vec![]), bounds: String::new() };
        let spec = Spec { access, filter: None, satisfied: None, conditions: vec![], ..scan.clone() };
        let equivalences = EquivalenceProperties::new_with_orderings(Arc::clone(&spec.schema), [order]);
        let partitioning = Partitioning::UnknownPartitioning(1);
        let properties =
            PlanProperties::new(equivalences, partitioning, EmissionType::Final, Boundedness::Bounded);
        let (properties, metrics) = (Arc::new(properties), ExecutionPlanMetricsSet::new());
        Self { input, columns, spec: Arc::new(spec), properties, metrics }
    }
}

impl DisplayAs for LateColumns {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let schema = table_schema(&self.spec.descriptor);
        let late = self.spec.columns.iter().filter(|column| !self.columns.contains(column));
        let late: Vec<&str> = late.map(|column| schema.name(*column)).collect();
        match t {
            DisplayFormatType::TreeRender => write!(f, "columns={}", late.join(", ")),
            _ => {
                write!(f, "LateColumns: table={}, columns=[{}]", self.spec.descriptor.name, late.join(", "))
            }
        }
    }
}

impl ExecutionPlan for LateColumns {
    fn name(&self) -> &str {
        "LateColumns"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
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
        Ok(Arc::new(Self {
            input,
            columns: self.columns.clone(),
            spec: Arc::clone(&self.spec),
            properties: Arc::clone(&self.properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let keys = KeyEncoder::try_new(table_schema(&self.spec.descriptor), &self.columns);
        let keys = keys.map_err(SqlError::from)?;
        let spec = Arc::clone(&self.spec);
        let counters = Arc::new(Counters::new(&self.metrics, partition));
        let reading = Arc::clone(&counters);
        let batches = stream::once(async move {
            let narrow: Vec<RecordBatch> = input.try_collect().await?;
            let mut found: Vec<Bytes> = vec![];
            for batch in &narrow {
                let take = |_, key: &[u8]| {
                    found.push(Bytes::copy_from_slice(key));
                    Ok::<_, TypedError>(())
                };
                keys.encode(batch, take).map_err(SqlError::from)?;
            }
            let threads = spec.partitions_max.max(1);
            let at_once = found.len().div_ceil(threads).clamp(AT_ONCE_MIN, AT_ONCE_MAX);
            let parts: Vec<Vec<Bytes>> = found.chunks(at_once).map(<[Bytes]>::to_vec).collect();
            let tasks = stream::iter(parts).map(move |keys| {
                let spec = Arc::clone(&spec);
                let counters = Arc::clone(&reading);
                let task = SpawnedTask::spawn(async move {
                    let _running = counters.baseline.elapsed_compute().timer();
                    rows_of(&spec, &keys, &counters)
                });
                async move {
                    task.join_unwind()
                        .await
                        .map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?
                }
            });
            Ok::<_, DataFusionError>(tasks.buffered(threads))
        });
        let batches = batches.try_flatten().map(move |batch| batch.record_output(&counters.baseline));
        let schema = SchemaRef::clone(&self.spec.schema);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, Box::pin(batches))))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let unknown = vec![ColumnStatistics::new_unknown(); self.spec.schema.fields().len()];
        let of_input =
            inputs.first().map(|input| Statistics { column_statistics: unknown, ..(**input).clone() });
        Ok(Arc::new(of_input.unwrap_or_else(|| Statistics::new_unknown(&self.spec.schema))))
    }
}

/// The rows of some keys, in their order.
fn rows_of(spec: &Spec, keys: &[Bytes], counters: &Counters) -> Result<RecordBatch> {
    let rows = look_up(spec, keys, counters)?.batch;
    if rows.num_rows() != keys.len() {
        return exec_err!(
            "{} of {} rows of table {} that a scan found are not there under the keys that their columns make; \
             rows written by other means than SQL must have keys as SQL makes them, and the statement without LIMIT reads them as they are",
            keys.len() - rows.num_rows(),
            keys.len(),
            spec.descriptor.name
        );
    }
    spec.progress.add_read(keys.len() as u64, 0);
    Ok(rows)
}
