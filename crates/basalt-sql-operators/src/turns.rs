// SPDX-License-Identifier: Apache-2.0
//! Turns for others. A join makes many rows of few, or looks at many pairs that do not fit: it may go on for minutes without asking its inputs, which is
//! where plans return to the executor. So joins do that of their own accord: statements beside them run, and they can be cancelled.
//!
//! 1. Above every join, after every [`BATCHES`] batches; in [`pairs`] that satisfy no condition, between two evaluations of it.
//! 2. A nested-loop join looks at each pair of its left input, which it keeps, and a batch of its right one before it asks for another: the right batches
//!    are cut so that these are about [`PAIRS`], and between two of them it is the others' turn. Shorter ones than [`ROWS_MIN`] would make the join
//!    slower, as it computes conditions on one left row and one right batch at a time. Of an executor with one thread, where no other can take over,
//!    this is all that nested loops do for others.
//!
//! **The rule comes last.** What finds its way through a plan by the names of columns (filters do) takes one column for another above
//! a join of two that are named alike; these operators would be in the way, or worse. They say of their rows what their input says.

mod pairs;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, Statistics};
use futures::{Stream, StreamExt, stream};
use tokio::task::yield_now;

use crate::left_rows;

/// Batches of a join between two turns of others.
const BATCHES: usize = 8;
/// Pairs of rows that a nested-loop join looks at between two turns of others: some hundredths of a second.
const PAIRS: usize = 1 << 24;
/// Rows of a right batch at least. One that fits into a batch of 8,192 eleven times is multiplied with left rows before conditions are computed, which
/// takes several times as long. What turns cost: 400 million pairs of 20,000 left rows take 1.15 s in pieces of 840 rows, 0.62 s in whole batches; of
/// 2,000 left rows, which leave batches whole, nothing.
const ROWS_MIN: usize = 768;

/// The rule, for behind all others.
#[derive(Debug)]
pub struct JoinsTakeTurns;

impl PhysicalOptimizerRule for JoinsTakeTurns {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let of_plan = |plan: Arc<dyn ExecutionPlan>| {
            if !is_join(plan.as_ref()) {
                return Ok(Transformed::no(plan));
            }
            let letting_in = pairs::letting_in(plan.as_ref())?;
            let has_condition = letting_in.is_some();
            let plan = letting_in.unwrap_or(plan);
            let looped = plan.downcast_ref::<NestedLoopJoinExec>();
            let is_full = looped.is_some_and(|join| *join.join_type() == JoinType::Full);
            let (join, turn) = match looped.map(left_rows::wait_for_partitions) {
                Some(_) if is_full => (in_short_pieces(plan, false)?, Turn::InMemory),
                None => (plan, Turn::Joined),
                Some(false) => (in_short_pieces(plan, false)?, Turn::Joined),
                Some(true) if left_rows::may_spill(config) => (in_short_pieces(plan, true)?, Turn::Joined),
                Some(true) => (in_short_pieces(plan, false)?, Turn::InMemory),
            };
            let turns = Turns { input: join, turn, has_condition };
            Ok(Transformed::yes(Arc::new(turns) as Arc<dyn ExecutionPlan>))
        };
        plan.transform_up(of_plan).data()
    }

    fn name(&self) -> &str {
        "joins_take_turns"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn is_join(plan: &dyn ExecutionPlan) -> bool {
    plan.is::<HashJoinExec>()
        || plan.is::<SortMergeJoinExec>()
        || plan.is::<CrossJoinExec>()
        || plan.is::<NestedLoopJoinExec>()
}

/// The nested-loop join, with right batches by the number of left rows, all of them in one partition if that is wanted.
fn in_short_pieces(join: Arc<dyn ExecutionPlan>, one_partition: bool) -> Result<Arc<dyn ExecutionPlan>> {
    let kept = Arc::new(AtomicUsize::new(0));
    let [left, right] = join.children()[..] else { return Ok(join) };
    let right = if one_partition { left_rows::in_one_partition(right) } else { Arc::clone(right) };
    let children: Vec<Arc<dyn ExecutionPlan>> = vec![
        Turns::new(Arc::clone(left), Turn::Kept(Arc::clone(&kept))),
        Turns::new(right, Turn::Pieces(kept)),
    ];
    join.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
}

/// What is done to the batches on their way.
#[derive(Debug, Clone)]
enum Turn {
    /// Nothing but a turn of others after some of them.
    Joined,
    /// The same, of a join that may not go to disk, see [`left_rows`].
    InMemory,
    /// Their rows are counted: the left ones of a nested-loop join.
    Kept(Arc<AtomicUsize>),
    /// They are cut by the number of left rows, which are all known by then: the right ones.
    Pieces(Arc<AtomicUsize>),
}

/// The rows of its input, as they come.
#[derive(Debug)]
struct Turns {
    input: Arc<dyn ExecutionPlan>,
    turn: Turn,
    /// It is a join with a condition besides equalities.
    has_condition: bool,
}

impl Turns {
    fn new(input: Arc<dyn ExecutionPlan>, turn: Turn) -> Arc<Self> {
        Arc::new(Self { input, turn, has_condition: false })
    }
}

impl DisplayAs for Turns {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self.turn {
            Turn::Joined | Turn::InMemory => "Turns",
            Turn::Kept(_) => "Turns: counted",
            Turn::Pieces(_) => "Turns: in pieces",
        })
    }
}

impl ExecutionPlan for Turns {
    fn name(&self) -> &str {
        "Turns"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
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
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (turn, has_condition) = (self.turn.clone(), self.has_condition);
        Ok(Arc::new(Self { input: Arc::clone(&children[0]), turn, has_condition }))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let context = match &self.turn {
            Turn::Joined => context,
            Turn::InMemory => left_rows::without_files(context)?,
            Turn::Kept(_) | Turn::Pieces(_) => left_rows::with_files(context),
        };
        let input = self.input.execute(partition, context)?;
        let schema = input.schema();
        Ok(match &self.turn {
            Turn::Joined | Turn::InMemory if self.has_condition => {
                Box::pin(RecordBatchStreamAdapter::new(schema, pairs::as_task(input)))
            }
            Turn::Joined | Turn::InMemory => {
                Box::pin(RecordBatchStreamAdapter::new(schema, with_turns(input)))
            }
            Turn::Kept(rows) => {
                // A plan may run again.
                rows.store(0, Ordering::Relaxed);
                let rows = Arc::clone(rows);
                let counted = input.inspect(move |batch| {
                    let more = batch.as_ref().map_or(0, RecordBatch::num_rows);
                    rows.fetch_add(more, Ordering::Relaxed);
                });
                Box::pin(RecordBatchStreamAdapter::new(schema, counted))
            }
            Turn::Pieces(kept) => {
                let pieces = Pieces { input, rest: None, kept: Arc::clone(kept) };
                Box::pin(RecordBatchStreamAdapter::new(schema, pieces.stream()))
            }
        })
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        Ok(Arc::clone(&inputs[0]))
    }
}

fn with_turns(input: SendableRecordBatchStream) -> impl Stream<Item = Result<RecordBatch>> {
    stream::unfold((input, 0), |(mut input, passed)| async move {
        if passed > 0 && passed % BATCHES == 0 {
            yield_now().await;
        }
        let batch = input.next().await?;
        Some((batch, (input, passed + 1)))
    })
}

/// Right batches of a nested-loop join, cut.
struct Pieces {
    input: SendableRecordBatchStream,
    /// What is left of a batch, and the rows of its next piece.
    rest: Option<(RecordBatch, usize)>,
    /// Rows of the left input.
    kept: Arc<AtomicUsize>,
}

impl Pieces {
    fn stream(self) -> impl Stream<Item = Result<RecordBatch>> {
        stream::unfold(self, |mut pieces| async move { Some((pieces.next().await?, pieces)) })
    }

    async fn next(&mut self) -> Option<Result<RecordBatch>> {
        let (batch, rows) = match self.rest.take() {
            Some(rest) => rest,
            None => match self.input.next().await? {
                Ok(batch) => {
                    let rows = piece_rows(batch.num_rows(), self.kept.load(Ordering::Relaxed));
                    (batch, rows)
                }
                Err(error) => return Some(Err(error)),
            },
        };
        // The join is done with the piece before.
        yield_now().await;
        let rest = batch.num_rows().saturating_sub(rows);
        self.rest = (rest > 0).then(|| (batch.slice(rows, rest), rows));
        Some(Ok(batch.slice(0, batch.num_rows() - rest)))
    }
}

/// Rows of the pieces into which a batch is cut: about the same of each, so that none is short.
fn piece_rows(rows: usize, kept: usize) -> usize {
    let most = (PAIRS / kept.max(1)).max(ROWS_MIN);
    rows.div_ceil((rows / most).max(1))
}
