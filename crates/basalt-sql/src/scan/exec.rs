// SPDX-License-Identifier: Apache-2.0
//! The leaf of every plan: reads one partition of a table batch by batch.
//!
//! The store is synchronous. A poll of the stream reads one batch and returns, so a dropped stream stops at the
//! next batch, and the cooperative wrapper lets other tasks run in between.

mod any_order;
mod reading;
mod reversed;
mod shown;

use std::sync::Arc;

use basalt_hfile::typed::{Totals, Wanted, projected_schema};
use basalt_model::schema::ColumnRef;
use basalt_model::{KeyRange, SortOrder, SqlType, TableDescriptor, TableId, TableName, TableSchema};
use basalt_store::Snapshot;
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{ColumnStatistics, Statistics};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr, RangePartitioning,
};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{ExecutionPlan, Partitioning, PlanProperties};

use super::aligned;
use super::deal::Work;
use super::facts::{TableFacts, share_of_all};
use super::filter::Filter;
use super::narrowed::Found;
use super::partition::{self, Partition};
use super::reader::Rows;
use crate::error::SqlError;
use crate::index::Usable;
use crate::keys::{Access, KeyAccess};
use crate::progress::Progress;

/// What a scan is made of.
#[derive(Debug, Clone)]
pub(super) struct Spec {
    pub(super) id: TableId,
    pub(super) descriptor: Arc<TableDescriptor>,
    pub(super) snapshot: Snapshot,
    /// Rows are as they were at this moment, in milliseconds since 1970.
    pub(super) as_of_ms: Option<i64>,
    /// What is read may enter the block cache.
    pub(super) cached: bool,
    pub(super) columns: Vec<ColumnRef>,
    pub(super) schema: SchemaRef,
    pub(super) access: KeyAccess,
    /// What the rows satisfy.
    pub(super) filter: Option<Filter>,
    /// What all rows of the table are known to satisfy, and is not asked of them.
    pub(super) satisfied: Option<Filter>,
    /// Rows, from the first on, that are left out; only of a scan of one partition without a filter.
    pub(super) skip: usize,
    pub(super) limit: Option<usize>,
    pub(super) partitions_max: usize,
    /// Rows per batch, at most.
    pub(super) batch_rows: usize,
    pub(super) rows_estimate: u64,
    pub(super) rows_exact: Option<u64>,
    pub(super) facts: Arc<TableFacts>,
    /// All that rows satisfy, the accessed keys included.
    pub(super) conditions: Vec<Expr>,
    pub(super) progress: Arc<Progress>,
    /// Indexes by which its rows may be found once hints are known.
    pub(super) indexes: Arc<Vec<Usable>>,
    /// Why no index is read, for EXPLAIN.
    pub(super) note: Option<String>,
}

impl Spec {
    fn values_of(&self, column: ColumnRef) -> Option<usize> {
        self.facts.of(column).and_then(|facts| facts.values).map(|values| values as usize)
    }

    /// What the order of joins depends on, of so many rows: their bytes, and how many values their columns have in the table.
    pub(super) fn statistics(&self, num_rows: Precision<usize>) -> Statistics {
        let of_column = |column: &ColumnRef| {
            let distinct_count = self.values_of(*column).map_or(Precision::Absent, Precision::Inexact);
            ColumnStatistics { distinct_count, ..ColumnStatistics::new_unknown() }
        };
        Statistics {
            num_rows,
            total_byte_size: num_rows.to_inexact().multiply(&Precision::Inexact(row_bytes(&self.schema))),
            column_statistics: self.columns.iter().map(of_column).collect(),
        }
    }
}

/// A scan of a table, cut into partitions.
#[derive(Debug)]
pub(crate) struct BasaltScan {
    spec: Arc<Spec>,
    /// Conditions on the scan's columns that joins and sorts find out while the query runs. Rows that do not satisfy
    /// them may be left out, and need not.
    hints: Vec<Arc<dyn PhysicalExpr>>,
    /// What these leave to be read.
    narrowed: Arc<Found>,
    partitions: Vec<Partition>,
    segments: usize,
    /// The partitions share their work: the number of their deal among those of the context.
    deal: Option<usize>,
    /// Nobody makes use of the order of its rows.
    in_any_order: bool,
    /// It is wanted to begin with the rows at the end of the key, where its partitions share their work.
    is_backwards: bool,
    /// Its rows come from the end of the key to its beginning, but those in a range, if there is one, before the others.
    reversed: Option<Option<KeyRange>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl BasaltScan {
    pub(super) fn try_new(spec: Spec) -> std::result::Result<Self, basalt_store::Error> {
        let (mut partitions, segments) = cut(&spec, 1)?;
        let schema = table_schema(&spec.descriptor);
        let fixed = fixed_parts(schema, &spec.conditions);
        let ordering = key_ordering(schema, &spec.columns, &vec![false; fixed.len()]);
        let partitioning = partitioning(&spec, &mut partitions, ordering.as_deref());
        let among_fixed =
            fixed.contains(&true).then(|| key_ordering(schema, &spec.columns, &fixed)).flatten();
        let orderings = ordering.into_iter().chain(among_fixed);
        let equivalences = EquivalenceProperties::new_with_orderings(Arc::clone(&spec.schema), orderings);
        let properties = plan_properties(equivalences, partitioning);
        Ok(Self {
            spec: Arc::new(spec),
            hints: vec![],
            narrowed: Arc::default(),
            partitions,
            segments,
            deal: None,
            in_any_order: false,
            is_backwards: false,
            reversed: None,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// The same scan, whose partitions share their work by the deal of this number of the context: without an order, and with no row in a
    /// partition of its own. `None` if there is nothing to share, or a limit wants the first rows.
    pub(super) fn dealt(&self, number: usize) -> Option<Self> {
        let spec = &self.spec;
        if self.partitions.len() < 2 || spec.limit.is_some() || spec.skip > 0 || self.is_reversed() {
            return None;
        }
        let (partitions, segments) = match self.is_backwards {
            true => cut_backwards(spec, self.partitions.len()).ok()?,
            false => cut(spec, PIECES).ok()?,
        };
        let partitioning = Partitioning::UnknownPartitioning(partitions.len());
        let equivalences = EquivalenceProperties::new(Arc::clone(&spec.schema));
        Some(Self {
            spec: Arc::clone(spec),
            hints: self.hints.clone(),
            narrowed: Arc::default(),
            partitions,
            segments,
            deal: Some(number),
            in_any_order: true,
            is_backwards: self.is_backwards,
            reversed: None,
            properties: Arc::new(plan_properties(equivalences, partitioning)),
            metrics: self.metrics.clone(),
        })
    }

    /// The same scan, which begins with the rows at the end of the key. `None` if that is not where the greatest values of this column are, or
    /// the least if `descending` is false.
    pub(super) fn backwards(&self, column: usize, descending: bool) -> Option<Self> {
        let schema = table_schema(&self.spec.descriptor);
        let ColumnRef::Key(part) = *self.spec.columns.get(column)? else { return None };
        let is_opposite = (schema.key[part].order == SortOrder::Desc) != descending;
        let is_leading = fixed_parts(schema, &self.spec.conditions)[..part].iter().all(|fixed| *fixed);
        let is_of_ranges = matches!(self.spec.access.access, Access::Full | Access::Ranges(_));
        let is_whole = self.spec.limit.is_none() && self.spec.skip == 0;
        if !is_opposite || !is_leading || !is_of_ranges || !is_whole || self.is_reversed() {
            return None;
        }
        let mut scan = Self {
            spec: Arc::clone(&self.spec),
            hints: self.hints.clone(),
            narrowed: Arc::default(),
            partitions: self.partitions.clone(),
            segments: self.segments,
            deal: None,
            in_any_order: self.in_any_order,
            is_backwards: true,
            reversed: None,
            properties: Arc::clone(&self.properties),
            metrics: self.metrics.clone(),
        };
        if let [_] = self.partitions[..] {
            // Nobody deals with others: it deals with itself.
            (scan.partitions, scan.segments) = cut_backwards(&self.spec, 1).ok()?;
            let equivalences = EquivalenceProperties::new(Arc::clone(&self.spec.schema));
            scan.properties = Arc::new(plan_properties(equivalences, Partitioning::UnknownPartitioning(1)));
        }
        Some(scan)
    }

    /// The same scan of these columns, in place of its own; `None` if it takes any so many rows, or has hints already.
    pub(super) fn of_columns(&self, columns: Vec<ColumnRef>) -> Result<Option<Self>> {
        let Spec { limit: None, skip: 0, descriptor, filter, satisfied, .. } = &*self.spec else {
            return Ok(None);
        };
        if !self.hints.is_empty() || self.is_reversed() {
            return Ok(None);
        }
        let of_columns = |filter: &Option<Filter>| {
            filter.as_ref().map(|filter| filter.of_columns(&self.spec.columns, &columns)).transpose()
        };
        let spec = Spec {
            schema: Arc::new(projected_schema(table_schema(descriptor), &columns)),
            filter: of_columns(filter)?,
            satisfied: of_columns(satisfied)?,
            columns,
            ..Spec::clone(&self.spec)
        };
        Ok(Some(Self::try_new(spec).map_err(SqlError::from)?))
    }

    /// Conditions that are found out while the query runs.
    pub(super) fn hints(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.hints
    }

    /// The same scan with these hints in place of its own.
    pub(super) fn with_hints(&self, hints: Vec<Arc<dyn PhysicalExpr>>) -> Self {
        Self {
            spec: Arc::clone(&self.spec),
            hints,
            narrowed: Arc::default(),
            partitions: self.partitions.clone(),
            segments: self.segments,
            deal: self.deal,
            in_any_order: self.in_any_order,
            is_backwards: self.is_backwards,
            reversed: self.reversed.clone(),
            properties: Arc::clone(&self.properties),
            metrics: self.metrics.clone(),
        }
    }

    /// The number of its deal, if its partitions share their work.
    pub(super) fn deal(&self) -> Option<usize> {
        self.deal
    }

    /// True if it is wanted to begin at the end of the key.
    pub(super) fn is_backwards(&self) -> bool {
        self.is_backwards
    }

    /// What it is made of.
    pub(super) fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    /// True if it begins at the end of the key: it was dealt out, or has one partition.
    fn reads_backwards(&self) -> bool {
        self.is_backwards && (self.deal.is_some() || self.partitions.len() == 1)
    }

    /// How many partitions it has.
    pub(super) fn partition_count(&self) -> usize {
        self.partitions.len()
    }

    /// What there is to deal out.
    pub(super) fn work(&self) -> Work {
        Work { partitions: self.partitions.clone(), is_backwards: self.is_backwards }
    }

    /// The table that is read.
    pub(crate) fn table_name(&self) -> &TableName {
        &self.spec.descriptor.name
    }

    /// The same by its id.
    pub(crate) fn table_id(&self) -> TableId {
        self.spec.id
    }

    /// True if it looks for rows in this range.
    pub(crate) fn reads(&self, range: &KeyRange) -> bool {
        match &self.spec.access.access {
            Access::Nothing => false,
            Access::Points(keys) => keys.iter().any(|key| range.contains(key)),
            Access::Ranges(ranges) => ranges.iter().any(|part| part.overlaps(range)),
            Access::Full => true,
        }
    }

    /// Rows of all partitions, if the files know it for sure.
    pub(crate) fn rows_exact(&self) -> Option<usize> {
        let Spec { access, filter: None, skip: 0, limit: None, rows_exact, .. } = &*self.spec else {
            return None;
        };
        matches!(access.access, Access::Full).then_some((*rows_exact)? as usize)
    }

    /// Rows that the plan may count on, estimated.
    pub(super) fn rows_estimate(&self) -> usize {
        let rows = match &self.spec.access.access {
            Access::Nothing => 0,
            Access::Points(keys) => keys.len(),
            Access::Full | Access::Ranges(_) => {
                let schema = table_schema(&self.spec.descriptor);
                let facts = |column: &datafusion::common::Column| {
                    self.spec.facts.of(schema.find(None, &column.name).ok()?)
                };
                let share = share_of_all(&self.spec.conditions, &facts);
                (self.spec.rows_estimate as f64 * share).ceil() as usize
            }
        };
        let rows = rows.saturating_sub(self.spec.skip);
        self.spec.limit.map_or(rows, |limit| rows.min(limit))
    }

    /// True if this column of the scan is the whole key of its table.
    pub(super) fn is_key(&self, column: usize) -> bool {
        let is_part = matches!(self.spec.columns.get(column), Some(ColumnRef::Key(_)));
        is_part && table_schema(&self.spec.descriptor).key.len() == 1
    }

    /// How many values a column of the scan has, about.
    pub(super) fn distinct_values(&self, column: usize) -> Option<usize> {
        self.spec.values_of(*self.spec.columns.get(column)?)
    }

    /// True if this can be had of the values of each column as they are added up: see [`Rows::Total`].
    pub(super) fn can_total(&self, wanted: &[Wanted]) -> bool {
        let Spec { access, limit: None, skip: 0, columns, descriptor, .. } = &*self.spec else {
            return false;
        };
        let schema = table_schema(descriptor);
        let mut columns = columns.iter().zip(wanted);
        !matches!(access.access, Access::Points(_) | Access::Nothing)
            && columns.all(|(&column, &wanted)| Totals::can_have(schema, column, wanted))
    }

    /// The same scan without its first rows, and with no more than `limit`, in one partition; `None` if it has a
    /// condition, or a limit of its own.
    pub(crate) fn skipping(&self, skip: usize, limit: Option<usize>) -> Option<Self> {
        let Spec { filter: None, skip: 0, limit: own, .. } = &*self.spec else { return None };
        if matches!(self.spec.access.access, Access::Points(_))
            || !self.hints.is_empty()
            || self.is_reversed()
        {
            return None;
        }
        if own.is_some_and(|own| limit.is_none_or(|limit| own < skip.saturating_add(limit))) {
            return None;
        }
        let spec = Spec { skip, limit, partitions_max: 1, ..Spec::clone(&self.spec) };
        Self::try_new(spec).ok()
    }
}

/// The rows of a partition in short form, if the plan is a scan: see [`basalt_sql_operators::ShortSource`].
pub(crate) fn in_short_form(
    plan: &dyn ExecutionPlan,
    partition: usize,
    context: &TaskContext,
) -> Option<Result<SendableRecordBatchStream>> {
    plan.downcast_ref::<BasaltScan>().map(|scan| scan.read(partition, Rows::Short, context))
}

/// True of a scan that gives the same rows whenever it is run: not of one that takes any so many.
pub(crate) fn is_whole_scan(plan: &dyn ExecutionPlan) -> bool {
    plan.downcast_ref::<BasaltScan>().is_some_and(|scan| scan.spec.limit.is_none() && scan.spec.skip == 0)
}

/// Memory of a row, about.
pub(crate) fn row_bytes(schema: &Schema) -> usize {
    schema.fields().iter().map(|field| field.data_type().primitive_width().unwrap_or(TEXT_BYTES)).sum()
}

/// Memory of a value of no fixed width, guessed.
const TEXT_BYTES: usize = 32;

pub(super) fn table_schema(descriptor: &TableDescriptor) -> &TableSchema {
    descriptor.schema.as_ref().expect("BasaltTable::new refuses tables without schema")
}

/// Segments of a partition that shares its work, about: how finely others can help it.
const PIECES: usize = 32;

/// Segments, at most, that are looked at to find small ones at the end of the key.
const PIECES_BACKWARDS: usize = 4_096;

fn plan_properties(equivalences: EquivalenceProperties, partitioning: Partitioning) -> PlanProperties {
    PlanProperties::new(equivalences, partitioning, EmissionType::Incremental, Boundedness::Bounded)
        .with_scheduling_type(SchedulingType::Cooperative)
}

/// The partitions, each of about `pieces` segments, and how many these are together.
fn cut(spec: &Spec, pieces: usize) -> std::result::Result<(Vec<Partition>, usize), basalt_store::Error> {
    let all = [KeyRange::all()];
    let ranges: &[KeyRange] = match &spec.access.access {
        Access::Nothing | Access::Points(_) => return Ok((vec![Partition::default()], 0)),
        Access::Ranges(ranges) => ranges,
        Access::Full => &all,
    };
    let segments = spec.snapshot.segments(spec.id, ranges, spec.partitions_max * pieces)?;
    let bytes = segments.iter().map(|segment| segment.bytes_estimate).sum();
    let count = segments.len();
    let mut partitions = partition::group(segments, partition::wanted(bytes, spec.partitions_max));
    if partitions.is_empty() {
        partitions.push(Partition::default());
    }
    Ok((partitions, count))
}

/// The same, of segments that are small at the end of the key.
fn cut_backwards(
    spec: &Spec,
    count: usize,
) -> std::result::Result<(Vec<Partition>, usize), basalt_store::Error> {
    let everything = [KeyRange::all()];
    let ranges = match &spec.access.access {
        Access::Ranges(ranges) => ranges,
        _ => &everything[..],
    };
    let segments = spec.snapshot.segments(spec.id, ranges, PIECES_BACKWARDS)?;
    let segments = partition::finer_at_the_end(segments);
    let all = segments.len();
    Ok((partition::group(segments, count), all))
}

/// How the rows lie in the partitions, which are cut anew for it where that says more.
fn partitioning(
    spec: &Spec,
    partitions: &mut Vec<Partition>,
    ordering: Option<&[PhysicalSortExpr]>,
) -> Partitioning {
    if let (Access::Full, Some([first, ..]), 2..) = (&spec.access.access, ordering, partitions.len())
        && let Some(splits) = aligned::align(partitions, table_schema(&spec.descriptor))
        && let Some(ordering) = LexOrdering::new([first.clone()])
        && let Ok(ranges) = RangePartitioning::try_new(ordering, splits)
    {
        return Partitioning::Range(ranges);
    }
    Partitioning::UnknownPartitioning(partitions.len())
}

/// Which columns of the key have one value in all rows that are read.
fn fixed_parts(schema: &TableSchema, conditions: &[Expr]) -> Vec<bool> {
    let mut fixed = vec![false; schema.key.len()];
    for condition in conditions {
        let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else { continue };
        let column = match (&**left, &**right) {
            (Expr::Column(column), Expr::Literal(..)) | (Expr::Literal(..), Expr::Column(column)) => column,
            _ => continue,
        };
        if let Ok(ColumnRef::Key(part)) = schema.find(None, &column.name) {
            use SqlType::{Double, Float, UnsignedDouble, UnsignedFloat};
            // 0.0 and -0.0 are two values of a key.
            let is_float =
                matches!(schema.key[part].sql_type, Float | Double | UnsignedFloat | UnsignedDouble);
            fixed[part] |= !is_float;
        }
    }
    fixed
}

/// The order of the rows of a partition: the leading key columns, as far as they are read, without those of one value.
fn key_ordering(
    schema: &TableSchema,
    columns: &[ColumnRef],
    fixed: &[bool],
) -> Option<Vec<PhysicalSortExpr>> {
    let mut ordering = vec![];
    for (index, key) in schema.key.iter().enumerate() {
        if fixed[index] {
            continue;
        }
        let Some(at) = columns.iter().position(|column| *column == ColumnRef::Key(index)) else { break };
        if matches!(key.sql_type, SqlType::Array(_)) {
            break;
        }
        let expr: Arc<dyn PhysicalExpr> = Arc::new(Column::new(&key.name, at));
        // NULL sorts first in a row key, whichever the order of the column.
        let options = SortOptions { descending: key.order == SortOrder::Desc, nulls_first: true };
        ordering.push(PhysicalSortExpr::new(expr, options));
    }
    (!ordering.is_empty()).then_some(ordering)
}

impl ExecutionPlan for BasaltScan {
    fn name(&self) -> &str {
        "BasaltScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let condition = self.spec.filter.iter().map(|filter| &filter.condition);
        for expr in condition.chain(&self.hints) {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    /// Takes what joins and sorts will find out as hints. Filters of the query itself came with the table's scan.
    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        pushed: ChildPushdownResult,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let count = pushed.parent_filters.len();
        let answer = FilterPushdownPropagation::with_parent_pushdown_result(vec![PushedDown::No; count]);
        if phase == FilterPushdownPhase::Pre || count == 0 {
            return Ok(answer);
        }
        let more = pushed.parent_filters.into_iter().map(|pushed| pushed.filter);
        let hints = self.hints.iter().cloned().chain(more).collect();
        Ok(answer.with_updated_node(Arc::new(self.with_hints(hints))))
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.read(partition, Rows::Plain, &context)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let share = if args.partition().is_some() { self.partitions.len().max(1) } else { 1 };
        let num_rows = match self.rows_exact() {
            Some(rows) if args.partition().is_none() => Precision::Exact(rows),
            _ => Precision::Inexact(self.rows_estimate() / share),
        };
        Ok(Arc::new(self.spec.statistics(num_rows)))
    }
}
