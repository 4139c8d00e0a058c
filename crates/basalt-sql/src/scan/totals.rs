// SPDX-License-Identifier: Apache-2.0
//! SUM, AVG, MIN, MAX and COUNT of a scan's numbers, MIN and MAX of its texts, without groups: added up by the scan where row groups have them, or
//! answered by what row groups say of all their values. Rows that the scan must make cells of come as batches, and go to the
//! planner's own accumulators, which the rest is merged into.

use std::fmt;
use std::sync::Arc;

use basalt_hfile::typed::{Number, Total, Totals, Wanted};
use basalt_sql_operators::{below_projection, in_two_steps};
use datafusion::arrow::array::{ArrayRef, new_null_array};
use datafusion::arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue, exec_datafusion_err, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Accumulator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::stream;

use super::BasaltScan;
use super::reader::{Reader, let_others_run};

/// Puts [`ScanTotals`] in the place of the first step of an aggregation over a scan.
#[derive(Debug)]
pub(crate) struct TotalsInScan;

impl PhysicalOptimizerRule for TotalsInScan {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let replaced = |plan: Arc<dyn ExecutionPlan>| match plan.downcast_ref::<AggregateExec>() {
            Some(aggregation) => {
                Ok(replacement(aggregation)?.map_or_else(|| Transformed::no(plan), Transformed::yes))
            }
            None => Ok(Transformed::no(plan)),
        };
        plan.transform_up(replaced).data()
    }

    fn name(&self) -> &str {
        "totals_in_scan"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn replacement(aggregation: &AggregateExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let is_single = match aggregation.mode() {
        AggregateMode::Partial => false,
        AggregateMode::Single => true,
        _ => return Ok(None),
    };
    let input = Input::of(aggregation.input());
    let Some(figures) = figures(&input, aggregation) else { return Ok(None) };
    if !is_single {
        return Ok(Some(Arc::new(ScanTotals::new(aggregation, input, figures))));
    }
    let first = |partial: &AggregateExec| Arc::new(ScanTotals::new(partial, input, figures)) as _;
    in_two_steps(aggregation, AggregateMode::Final, first).map(Some)
}

/// Where rows come from, and what is computed of them before they are aggregated.
#[derive(Debug, Clone)]
struct Input {
    scan: Arc<dyn ExecutionPlan>,
    projection: Option<Arc<dyn ExecutionPlan>>,
}

impl Input {
    fn of(plan: &Arc<dyn ExecutionPlan>) -> Self {
        match plan.downcast_ref::<ProjectionExec>() {
            Some(projection) => {
                Self { scan: Arc::clone(projection.input()), projection: Some(Arc::clone(plan)) }
            }
            None => Self { scan: Arc::clone(plan), projection: None },
        }
    }

    fn projection(&self) -> Option<&ProjectionExec> {
        self.projection.as_ref()?.downcast_ref::<ProjectionExec>()
    }

    /// An expression of the aggregation, on the columns of the scan.
    fn of_scan(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let same = || Ok(Arc::clone(expr));
        self.projection().map_or_else(same, |projection| below_projection(expr, projection))
    }

    /// Rows of the scan as the aggregation expects them.
    fn computed(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let Some(projection) = self.projection() else { return Ok(batch) };
        let columns = projection.expr().iter();
        let columns = columns.map(|computed| computed.expr.evaluate(&batch)?.into_array(batch.num_rows()));
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = columns.collect::<Result<_>>()?;
        Ok(RecordBatch::try_new_with_options(projection.schema(), columns, &options)?)
    }
}

/// What an aggregate shows, of a column of the scan.
#[derive(Debug, Clone, Copy)]
enum Figure {
    Rows,
    Count(usize),
    Sum(usize),
    Average(usize),
    Least(usize),
    Most(usize),
}

/// What the aggregates of an aggregation are, if all of them can be had from the totals of a scan.
fn figures(input: &Input, aggregation: &AggregateExec) -> Option<Vec<Figure>> {
    let scan = input.scan.downcast_ref::<BasaltScan>()?;
    let schema = scan.schema();
    let is_plain = aggregation.group_expr().is_empty()
        && !schema.fields().is_empty()
        && aggregation.limit_options().is_none()
        && aggregation.filter_expr().iter().all(Option::is_none);
    if !is_plain {
        return None;
    }
    let figures = aggregation.aggr_expr().iter().map(|aggregate| figure(aggregate, input, &schema));
    let figures: Vec<Figure> = figures.collect::<Option<_>>()?;
    scan.can_total(&wanted(&figures, &schema)).then_some(figures)
}

/// What figures want of each column of the scan.
fn wanted(figures: &[Figure], schema: &Schema) -> Vec<Wanted> {
    let mut wanted = vec![Wanted::default(); schema.fields().len()];
    for figure in figures {
        match *figure {
            Figure::Rows | Figure::Count(_) => {}
            Figure::Sum(column) | Figure::Average(column) => wanted[column].sum = true,
            Figure::Least(column) | Figure::Most(column) => wanted[column].extremes = true,
        }
    }
    wanted
}

fn figure(aggregate: &AggregateFunctionExpr, input: &Input, schema: &Schema) -> Option<Figure> {
    if aggregate.is_distinct() || !aggregate.order_bys().is_empty() {
        return None;
    }
    let arguments = aggregate.expressions();
    let [argument] = arguments.as_slice() else { return None };
    let argument = &input.of_scan(argument).ok()?;
    let column = argument.downcast_ref::<Column>().map(Column::index);
    let adds = |column: usize| {
        let from = schema.field(column).data_type();
        let types = aggregate.state_fields().ok()?;
        types.last().is_some_and(|sum| is_sum_of(from, sum.data_type())).then_some(column)
    };
    match aggregate.fun().name() {
        "count" => match argument.downcast_ref::<Literal>() {
            Some(literal) => (!literal.value().is_null()).then_some(Figure::Rows),
            None => column.map(Figure::Count),
        },
        "min" => column.map(Figure::Least),
        "max" => column.map(Figure::Most),
        "sum" => column.or_else(|| widened(argument, schema)).and_then(adds).map(Figure::Sum),
        "avg" => column.or_else(|| widened(argument, schema)).and_then(adds).map(Figure::Average),
        _ => None,
    }
}

/// The column of which this is every value in a wider type.
fn widened(argument: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<usize> {
    let cast = argument.downcast_ref::<CastExpr>()?;
    let column = cast.expr().downcast_ref::<Column>()?.index();
    let from = schema.field(column).data_type();
    let holds_all = match (from, argument.data_type(schema).ok()?) {
        (DataType::Float32, DataType::Float64) => true,
        (DataType::Int8 | DataType::Int16 | DataType::Int32, DataType::Int64) => true,
        (from, DataType::Decimal128(precision, 0)) => from.is_signed_integer() && precision >= 19,
        (DataType::Decimal128(from, scale), DataType::Decimal128(to, same)) => to >= *from && same == *scale,
        _ => false,
    };
    holds_all.then_some(column)
}

/// True if `sum` is the type of a sum that has the digits of the numbers of `column`.
fn is_sum_of(column: &DataType, sum: &DataType) -> bool {
    match (column, sum) {
        (DataType::Float32 | DataType::Float64, DataType::Float64) => true,
        (DataType::Decimal128(_, scale), DataType::Decimal128(_, of_sum)) => scale == of_sum,
        (column, DataType::Int64 | DataType::Decimal128(_, 0)) => column.is_signed_integer(),
        _ => false,
    }
}

/// The first step of an aggregation, as far as a scan can make it.
#[derive(Debug)]
pub(super) struct ScanTotals {
    input: Input,
    aggregates: Vec<Arc<AggregateFunctionExpr>>,
    figures: Vec<Figure>,
    wanted: Vec<Wanted>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ScanTotals {
    /// In place of `aggregation`, a first step.
    fn new(aggregation: &AggregateExec, input: Input, figures: Vec<Figure>) -> Self {
        let wanted = wanted(&figures, &input.scan.schema());
        Self {
            input,
            aggregates: aggregation.aggr_expr().to_vec(),
            figures,
            wanted,
            properties: Arc::clone(aggregation.properties()),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl DisplayAs for ScanTotals {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let names: Vec<_> = self.aggregates.iter().map(|aggregate| aggregate.name()).collect();
        match t {
            DisplayFormatType::TreeRender => write!(f, "aggr={}", names.join(", ")),
            _ => write!(f, "ScanTotals: aggr=[{}]", names.join(", ")),
        }
    }
}

impl ExecutionPlan for ScanTotals {
    fn name(&self) -> &str {
        "ScanTotals"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input.scan]
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
        let scan = children.remove(0);
        // It must not keep the scan that was there before.
        let projection = self.input.projection.clone();
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        let above = |projection: Arc<dyn ExecutionPlan>| {
            projection.replace_children(vec![Arc::clone(&scan)], options)
        };
        let projection = projection.map(above);
        Ok(Arc::new(Self {
            input: Input { scan, projection: projection.transpose()? },
            aggregates: self.aggregates.clone(),
            figures: self.figures.clone(),
            wanted: self.wanted.clone(),
            properties: Arc::clone(&self.properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some(scan) = self.input.scan.downcast_ref::<BasaltScan>() else {
            return internal_err!("totals of a scan were asked of {}", self.input.scan.name());
        };
        let accumulators = self.aggregates.iter().map(|aggregate| aggregate.create_accumulator());
        let running = Running {
            input: self.input.clone(),
            reader: scan.total(partition, &self.wanted, &context)?,
            aggregates: self.aggregates.clone(),
            figures: self.figures.clone(),
            accumulators: accumulators.collect::<Result<_>>()?,
            metrics: BaselineMetrics::new(&self.metrics, partition),
        };
        let schema = self.schema();
        let batch = stream::once(async move { running.finish(schema).await });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batch)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// One partition at work.
struct Running {
    input: Input,
    reader: Reader,
    aggregates: Vec<Arc<AggregateFunctionExpr>>,
    figures: Vec<Figure>,
    accumulators: Vec<Box<dyn Accumulator>>,
    metrics: BaselineMetrics,
}

impl Running {
    /// Reads to the end; the one row that the next step takes.
    async fn finish(mut self, schema: Arc<Schema>) -> Result<RecordBatch> {
        while let Some(batch) = self.reader.next()? {
            let timer = self.metrics.elapsed_compute().timer();
            let batch = self.input.computed(batch)?;
            for (aggregate, accumulator) in self.aggregates.iter().zip(&mut self.accumulators) {
                let values = aggregate.expressions();
                let values = values.iter().map(|value| value.evaluate(&batch)?.into_array(batch.num_rows()));
                accumulator.update_batch(&values.collect::<Result<Vec<_>>>()?)?;
            }
            drop(timer);
            let_others_run().await;
        }
        let mut columns = Vec::new();
        let parts = self.aggregates.iter().zip(&self.figures).zip(&mut self.accumulators);
        for ((aggregate, figure), accumulator) in parts {
            if let Some(totals) = self.reader.totals().filter(|totals| totals.rows > 0) {
                accumulator.merge_batch(&state(*figure, totals, &aggregate.state_fields()?)?)?;
            }
            for value in accumulator.state()? {
                columns.push(value.to_array()?);
            }
        }
        Ok(RecordBatch::try_new(schema, columns)?.record_output(&self.metrics))
    }
}

/// What an accumulator that had seen the rows of the totals would hand on.
fn state(figure: Figure, totals: &Totals, fields: &[FieldRef]) -> Result<Vec<ArrayRef>> {
    let column = |at: usize| &totals.columns[at];
    let [first, ..] = fields else { return internal_err!("an aggregate without a state") };
    Ok(match figure {
        Figure::Rows => vec![integer(totals.rows.into(), first.data_type())?],
        Figure::Count(at) => vec![integer(column(at).count.into(), first.data_type())?],
        Figure::Sum(at) => vec![sum(column(at), first.data_type())?],
        Figure::Average(at) => {
            let [count, of_sum] = fields else { return internal_err!("an average is of two parts") };
            vec![integer(column(at).count.into(), count.data_type())?, sum(column(at), of_sum.data_type())?]
        }
        Figure::Least(at) => match column(at).least_text() {
            Some(least) => vec![text(least, first.data_type())?],
            None => vec![extreme(column(at).least(), first.data_type())?],
        },
        Figure::Most(at) => match column(at).most_text() {
            Some(most) => vec![text(most, first.data_type())?],
            None => vec![extreme(column(at).most(), first.data_type())?],
        },
    })
}

fn sum(total: &Total, data_type: &DataType) -> Result<ArrayRef> {
    match data_type {
        _ if total.count == 0 => Ok(new_null_array(data_type, 1)),
        DataType::Float64 => ScalarValue::Float64(Some(total.float_sum)).to_array(),
        _ => integer(total.sum, data_type),
    }
}

fn extreme(number: Option<Number>, data_type: &DataType) -> Result<ArrayRef> {
    match (number, data_type) {
        (None, _) => Ok(new_null_array(data_type, 1)),
        (Some(Number::Integer(number)), _) => integer(number.into(), data_type),
        (Some(Number::Float(number)), DataType::Float32) => {
            ScalarValue::Float32(Some(number as f32)).to_array()
        }
        (Some(Number::Float(number)), _) => ScalarValue::Float64(Some(number)).to_array(),
    }
}

fn text(text: &[u8], data_type: &DataType) -> Result<ArrayRef> {
    if data_type.is_string() {
        let text = str::from_utf8(text);
        let text =
            text.map_err(|_| exec_datafusion_err!("a stored VARCHAR is not UTF-8 and cannot be read"))?;
        return ScalarValue::from(text).cast_to(data_type)?.to_array();
    }
    ScalarValue::Binary(Some(text.to_vec())).cast_to(data_type)?.to_array()
}

/// A number, or the digits of a DECIMAL. What leaves 64 bits of an integer wraps, as the planner's own SUM does.
fn integer(number: i128, data_type: &DataType) -> Result<ArrayRef> {
    match *data_type {
        DataType::Decimal128(precision, scale) => {
            ScalarValue::Decimal128(Some(number), precision, scale).to_array()
        }
        DataType::UInt64 => ScalarValue::UInt64(Some(number as u64)).to_array(),
        _ => ScalarValue::Int64(Some(number as i64)).cast_to(data_type)?.to_array(),
    }
}
