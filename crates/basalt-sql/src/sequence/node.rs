// SPDX-License-Identifier: Apache-2.0
//! The plan node that adds one column of values per sequence to the rows of its input.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, Int64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::catalog::Session;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, DFSchemaRef, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore};
use datafusion::physical_expr::{
    Distribution, EquivalenceProperties, LexOrdering, OrderingRequirements, PhysicalExpr,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
};
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use futures::StreamExt;

use super::dealer::{Currents, Dealer, Run};
use super::table::SequenceName;
use crate::error::SqlError;

/// One added column.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SequenceColumn {
    pub(super) name: SequenceName,
    /// Values reserved per row; the column has the first.
    pub(super) count: u32,
    /// Name of the column.
    pub(super) label: String,
}

impl fmt::Display for SequenceColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => write!(f, "{}", self.name),
            count => write!(f, "{} ({count} values)", self.name),
        }
    }
}

/// What the values come from; the same for all nodes of a statement.
#[derive(Debug, Clone)]
struct Source {
    columns: Vec<SequenceColumn>,
    /// The rows are sorted, and take their values in their order.
    ordered: bool,
    dealer: Arc<Dealer>,
    currents: Currents,
}

impl Source {
    fn text(&self) -> String {
        self.columns.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }
}

/// Logical node.
#[derive(Debug, Clone)]
pub(super) struct SequenceNode {
    input: LogicalPlan,
    source: Source,
    schema: DFSchemaRef,
}

impl SequenceNode {
    pub(super) const NAME: &'static str = "Sequences";

    pub(super) fn try_new(
        input: LogicalPlan,
        columns: Vec<SequenceColumn>,
        ordered: bool,
        dealer: Arc<Dealer>,
        currents: Currents,
    ) -> Result<Self> {
        Self::over(input, Source { columns, ordered, dealer, currents })
    }

    fn over(input: LogicalPlan, source: Source) -> Result<Self> {
        let mut fields: Vec<_> =
            input.schema().iter().map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field))).collect();
        let added = source
            .columns
            .iter()
            .map(|column| (None, Arc::new(Field::new(&column.label, DataType::Int64, false))));
        fields.extend(added);
        let schema = DFSchema::new_with_metadata(fields, input.schema().metadata().clone())?;
        Ok(Self { input, source, schema: Arc::new(schema) })
    }
}

impl PartialEq for SequenceNode {
    fn eq(&self, other: &Self) -> bool {
        self.input == other.input && self.source.columns == other.source.columns
    }
}

impl Eq for SequenceNode {}

impl PartialOrd for SequenceNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.source.columns.partial_cmp(&other.source.columns)
    }
}

impl Hash for SequenceNode {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.input.hash(state);
        self.source.columns.hash(state);
    }
}

impl UserDefinedLogicalNodeCore for SequenceNode {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![]
    }

    /// A filter above sees every row take its value; it may not be moved below.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", Self::NAME, self.source.text())
    }

    fn with_exprs_and_inputs(&self, _exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        Self::over(inputs.swap_remove(0), self.source.clone())
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let inputs = self.input.schema().fields().len();
        Some(vec![output_columns.iter().copied().filter(|&column| column < inputs).collect()])
    }

    /// Every input row becomes one output row: no more rows are read than a LIMIT wants, no more values taken.
    fn supports_limit_pushdown(&self) -> bool {
        true
    }
}

/// Turns the logical node into the physical one.
#[derive(Debug, Default)]
pub(crate) struct SequencePlanner;

#[async_trait]
impl ExtensionPlanner for SequencePlanner {
    async fn plan_extension(
        &self,
        _planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical_inputs: &[&LogicalPlan],
        physical_inputs: &[Arc<dyn ExecutionPlan>],
        _session: &dyn Session,
        _planning_ctx: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(node) = node.as_any().downcast_ref::<SequenceNode>() else { return Ok(None) };
        let schema = Arc::clone(node.schema.inner());
        let input = Arc::clone(&physical_inputs[0]);
        let order = input.output_ordering().filter(|_| node.source.ordered).cloned();
        Ok(Some(Arc::new(SequenceExec::new(input, order, node.source.clone(), schema))))
    }
}

/// Physical node.
#[derive(Debug)]
struct SequenceExec {
    input: Arc<dyn ExecutionPlan>,
    /// The order in which the rows take their values, if it is one.
    order: Option<LexOrdering>,
    source: Source,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl SequenceExec {
    fn new(
        input: Arc<dyn ExecutionPlan>,
        order: Option<LexOrdering>,
        source: Source,
        schema: SchemaRef,
    ) -> Self {
        let below = input.properties();
        // The input's columns keep their positions, so its orderings hold here as well.
        let orderings = below.equivalence_properties().oeq_class().iter().cloned();
        let properties = PlanProperties::new(
            EquivalenceProperties::new_with_orderings(Arc::clone(&schema), orderings),
            below.output_partitioning().clone(),
            below.emission_type,
            below.boundedness,
        );
        Self { input, order, source, schema, properties: Arc::new(properties) }
    }
}

impl DisplayAs for SequenceExec {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        match t {
            DisplayFormatType::TreeRender => write!(f, "{}", self.source.text()),
            _ => write!(f, "SequenceExec: {}", self.source.text()),
        }
    }
}

impl ExecutionPlan for SequenceExec {
    fn name(&self) -> &str {
        "SequenceExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![if self.order.is_some() {
            Distribution::SinglePartition
        } else {
            Distribution::UnspecifiedDistribution
        }]
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        vec![self.order.clone().map(OrderingRequirements::from)]
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
        let (input, order) = (children.swap_remove(0), self.order.clone());
        Ok(Arc::new(Self::new(input, order, self.source.clone(), Arc::clone(&self.schema))))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context)?;
        let (source, schema) = (self.source.clone(), Arc::clone(&self.schema));
        let batches = input.map(move |batch| with_values(&batch?, &source, &schema));
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches)))
    }
}

fn with_values(batch: &RecordBatch, source: &Source, schema: &Arc<Schema>) -> Result<RecordBatch> {
    let rows = batch.num_rows();
    let mut columns = batch.columns().to_vec();
    for column in &source.columns {
        columns.push(values(column, rows, source)?);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

fn values(column: &SequenceColumn, rows: usize, source: &Source) -> std::result::Result<ArrayRef, SqlError> {
    let runs = match column.count {
        1 => source.dealer.next(&column.name, rows as u64)?,
        count => source.dealer.next_many(&column.name, u64::from(count), rows as u64)?,
    };
    let mut values = Vec::with_capacity(rows);
    for Run { first, step, count } in runs {
        // A run ends before the value would leave 64 bits, see `Record::take`.
        let index = |index: u64| first.wrapping_add(step.wrapping_mul(index as i64));
        values.extend((0..count).map(index));
    }
    if let Some(last) = values.last() {
        source.currents.lock().insert(column.name.clone(), *last);
    }
    Ok(Arc::new(Int64Array::from(values)))
}
