// SPDX-License-Identifier: Apache-2.0
//! The operator: reads its input to the end, then hands on the groups, and before that whenever they take too much memory.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{StreamExt, stream};

use super::ShortSource;
use super::groups::Groups;
use super::plan::{Counted, Plan, State, group_schema};
use super::totals::{Counts, Grouped, Sums};

/// Groups that are held at once.
const GROUPS_MAX: usize = 1 << 20;
/// The same when most rows are a group of their own, and the next step has to put them together anyway.
const LONE_GROUPS_MAX: usize = 1 << 15;
/// Rows after which it shows whether most are.
const ROWS_JUDGED: usize = 100_000;

/// The first step of an aggregation; the planner's own operator takes the second.
#[derive(Debug)]
pub(super) struct NumberAggregate {
    input: Arc<dyn ExecutionPlan>,
    source: ShortSource,
    plan: Arc<Plan>,
    /// What EXPLAIN prints: the groups and aggregates.
    what: String,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl NumberAggregate {
    /// In place of `aggregation`, a first step.
    pub(super) fn new(
        aggregation: &AggregateExec,
        plan: Plan,
        input: Arc<dyn ExecutionPlan>,
        source: ShortSource,
    ) -> Self {
        let groups: Vec<&str> =
            aggregation.group_expr().expr().iter().map(|(_, name)| name.as_str()).collect();
        let aggregates: Vec<&str> =
            aggregation.aggr_expr().iter().map(|aggregate| aggregate.name()).collect();
        Self {
            input,
            source,
            plan: Arc::new(plan),
            what: format!("gby=[{}], aggr=[{}]", groups.join(", "), aggregates.join(", ")),
            properties: Arc::clone(aggregation.properties()),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl DisplayAs for NumberAggregate {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        match t {
            DisplayFormatType::TreeRender => write!(f, "{}", self.what),
            _ => write!(f, "NumberAggregate: {}", self.what),
        }
    }
}

impl ExecutionPlan for NumberAggregate {
    fn name(&self) -> &str {
        "NumberAggregate"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
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
        Ok(Arc::new(Self {
            input: children.remove(0),
            source: self.source,
            plan: Arc::clone(&self.plan),
            what: self.what.clone(),
            properties: Arc::clone(&self.properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let consumer = MemoryConsumer::new(format!("NumberAggregate[{partition}]"));
        let memory = consumer.register(context.memory_pool());
        let batch_rows = context.session_config().batch_size();
        let input = match (self.source)(self.input.as_ref(), partition, &context) {
            Some(short) => short?,
            None => self.input.execute(partition, context)?,
        };
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let running = Running::try_new(&self.plan, self.schema(), (input, batch_rows), memory, metrics)?;
        let batches = stream::try_unfold(running, |mut running| async {
            Ok(running.next().await?.map(|batch| (batch, running)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), Box::pin(batches))))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// One partition at work.
struct Running {
    plan: Arc<Plan>,
    schema: SchemaRef,
    input: SendableRecordBatchStream,
    /// Of the batches that are handed on.
    batch_rows: usize,
    ended: bool,
    /// `None` where all rows are one group.
    groups: Option<Groups>,
    sums: Vec<Sums>,
    counted: Counts,
    /// For each count of the plan, the rows that it leaves out.
    missing: Vec<Counts>,
    /// Rows since groups were handed on.
    rows: usize,
    groups_weighed: usize,
    ready: VecDeque<RecordBatch>,
    memory: MemoryReservation,
    metrics: BaselineMetrics,
}

impl Running {
    fn try_new(
        plan: &Arc<Plan>,
        schema: SchemaRef,
        (input, batch_rows): (SendableRecordBatchStream, usize),
        memory: MemoryReservation,
        metrics: BaselineMetrics,
    ) -> Result<Self> {
        let grouped = !plan.group_by.is_empty();
        let groups = grouped.then(|| Groups::try_new(group_schema(&input.schema(), &plan.group_by)?));
        Ok(Self {
            plan: Arc::clone(plan),
            schema,
            input,
            batch_rows,
            ended: false,
            groups: groups.transpose()?,
            sums: plan.sums.iter().map(|_| Sums::default()).collect(),
            counted: Counts::default(),
            missing: plan.counts.iter().map(|_| Counts::default()).collect(),
            rows: 0,
            groups_weighed: 0,
            ready: VecDeque::new(),
            memory,
            metrics,
        })
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch.record_output(&self.metrics)));
            }
            if self.ended {
                return Ok(None);
            }
            let batch = self.input.next().await.transpose()?;
            let timer = self.metrics.elapsed_compute().clone();
            let _running = timer.timer();
            match batch {
                Some(batch) => {
                    self.add(&batch)?;
                    if self.is_full() {
                        self.hand_on()?;
                    }
                }
                None => {
                    self.ended = true;
                    self.hand_on()?;
                }
            }
        }
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let rows = batch.num_rows();
        self.rows += rows;
        let terms = self.plan.terms.evaluate(batch)?;
        let grouped = match &mut self.groups {
            None => Grouped::Together(rows),
            Some(groups) => {
                let columns: Vec<ArrayRef> =
                    self.plan.group_by.iter().map(|&column| Arc::clone(batch.column(column))).collect();
                groups.assign(&columns)?;
                Grouped::Apart(groups.of_rows(), groups.len())
            }
        };
        for (sums, &term) in self.sums.iter_mut().zip(&self.plan.sums) {
            sums.add(grouped, &terms[term])?;
        }
        self.counted.add_all(grouped);
        for (missing, counted) in self.missing.iter_mut().zip(&self.plan.counts) {
            let nulls = match *counted {
                Counted::All => None,
                Counted::Term(term) => terms[term].nulls.as_ref(),
                Counted::Column(column) => batch.column(column).nulls(),
            };
            missing.add_nulls(grouped, nulls);
        }
        Ok(())
    }

    /// True if the groups take too much memory, or are too many.
    fn is_full(&mut self) -> bool {
        let Some(groups) = &self.groups else { return false };
        let count = groups.len();
        if count == self.groups_weighed {
            return false;
        }
        self.groups_weighed = count;
        let lone = self.rows >= ROWS_JUDGED && count > self.rows / 2;
        let sums: usize = self.sums.iter().map(Sums::size).sum();
        let counts: usize = self.missing.iter().map(Counts::size).sum();
        let size = groups.size() + sums + counts + self.counted.size();
        count >= if lone { LONE_GROUPS_MAX } else { GROUPS_MAX } || self.memory.try_resize(size).is_err()
    }

    /// Moves the groups to where they are handed on from.
    fn hand_on(&mut self) -> Result<()> {
        let mut columns = match &mut self.groups {
            Some(groups) if groups.len() == 0 => return Ok(()),
            Some(groups) => groups.take()?,
            None => vec![],
        };
        if self.groups.is_none() && self.rows == 0 {
            // No row at all is a group all the same.
            let nothing = super::numbers::Numbers::constant(0);
            self.sums.iter_mut().try_for_each(|sums| sums.add(Grouped::Together(0), &nothing))?;
            self.counted.add_all(Grouped::Together(0));
            self.missing.iter_mut().for_each(|missing| missing.add_nulls(Grouped::Together(0), None));
        }
        let counts: Vec<Counts> = self.missing.iter().map(|missing| self.counted.without(missing)).collect();
        let fields = &self.schema.fields()[columns.len()..];
        for (state, field) in self.plan.states.iter().zip(fields) {
            columns.push(match *state {
                State::Count(count) => counts[count].column(),
                State::Divisor(count) => counts[count].divisors(),
                State::Sum(sum, count) => self.sums[sum].column(field.data_type(), &counts[count])?,
            });
        }
        let all = RecordBatch::try_new(SchemaRef::clone(&self.schema), columns)?;
        let starts = (0..all.num_rows()).step_by(self.batch_rows);
        self.ready.extend(starts.map(|at| all.slice(at, self.batch_rows.min(all.num_rows() - at))));
        self.sums.iter_mut().for_each(|sums| *sums = Sums::default());
        self.counted = Counts::default();
        self.missing.iter_mut().for_each(|missing| *missing = Counts::default());
        (self.rows, self.groups_weighed) = (0, 0);
        self.memory.free();
        Ok(())
    }
}
