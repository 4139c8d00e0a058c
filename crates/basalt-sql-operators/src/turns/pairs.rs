// SPDX-License-Identifier: Apache-2.0
//! Joins that look at many pairs of rows for each that they return. DataFusion 55 does not come back from a join before it has a batch of rows, or
//! needs another one of an input: where one batch meets millions of rows and hardly any pair satisfies the condition, that is minutes later.
//!
//! So the condition itself lets others in, between two of its evaluations, of some thousand pairs each:
//!
//! 1. the join runs as a task of its own, and ends with an error when nobody wants its rows any more,
//! 2. the thread of a join that has not come back for [`HELD`] leaves the executor's other tasks to another thread, and shares the processor with it.

use std::cell::RefCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{Result, exec_err};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder, SortMergeJoinExec,
};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use futures::{Stream, StreamExt, stream};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// How long a join may keep the thread to itself.
const HELD: Duration = Duration::from_millis(10);
/// What another thread needs to take over, about: who comes back sooner goes on as before.
const TAKING_OVER: Duration = Duration::from_micros(100);
/// Batches between the join's task and who reads its rows.
const BATCHES: usize = 2;

/// A join whose condition lets others in; `None` if it has no condition besides equalities.
pub(super) fn letting_in(plan: &dyn ExecutionPlan) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        let Some(filter) = join.filter() else { return Ok(None) };
        return join.builder().with_filter(Some(condition(filter))).build_exec().map(Some);
    }
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        let Some(filter) = join.filter() else { return Ok(None) };
        let join = NestedLoopJoinExecBuilder::from(join).with_filter(Some(condition(filter))).build()?;
        return Ok(Some(Arc::new(join)));
    }
    let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() else { return Ok(None) };
    let Some(filter) = &join.filter else { return Ok(None) };
    let join = SortMergeJoinExec::try_new(
        Arc::clone(&join.left),
        Arc::clone(&join.right),
        join.on.clone(),
        Some(condition(filter)),
        join.join_type,
        join.sort_options.clone(),
        join.null_equality,
    )?;
    Ok(Some(Arc::new(join)))
}

fn condition(filter: &JoinFilter) -> JoinFilter {
    let condition = Arc::new(Condition(Arc::clone(filter.expression())));
    JoinFilter::new(condition, filter.column_indices().to_vec(), Arc::clone(filter.schema()))
}

/// The rows of a join as a task of its own, which begins when the first is asked for.
pub(super) fn as_task(join: SendableRecordBatchStream) -> impl Stream<Item = Result<RecordBatch>> {
    let begun = async move {
        let is_over = Arc::new(AtomicBool::new(false));
        let end = End(Arc::clone(&is_over));
        let mut task = RecordBatchReceiverStreamBuilder::new(join.schema(), BATCHES);
        let rows = task.tx();
        task.spawn(async move {
            let mut join = Polled { join, is_over };
            while let Some(batch) = join.next().await {
                // Who read the rows is gone.
                let Ok(()) = rows.send(batch).await else { break };
            }
            Ok(())
        });
        task.build().map(move |batch| {
            let _ = &end;
            batch
        })
    };
    stream::once(begun).flatten()
}

/// Nobody wants the rows any more.
struct End(Arc<AtomicBool>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The join that this thread is in.
struct Inside {
    since: Instant,
    is_over: Arc<AtomicBool>,
}

thread_local! {
    static INSIDE: RefCell<Option<Inside>> = const { RefCell::new(None) };
}

struct Polled {
    join: SendableRecordBatchStream,
    is_over: Arc<AtomicBool>,
}

impl Stream for Polled {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<RecordBatch>>> {
        let inside = Inside { since: Instant::now(), is_over: Arc::clone(&self.is_over) };
        INSIDE.set(Some(inside));
        let _leave = Leave;
        self.join.poll_next_unpin(cx)
    }
}

/// Joins below are tasks of their own, so that none is polled inside of another.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        INSIDE.set(None);
    }
}

/// Lets others in; an error if nobody wants the join's rows any more.
fn let_others_in() -> Result<()> {
    INSIDE.with_borrow_mut(|inside| {
        let Some(Inside { since, is_over }) = inside else { return Ok(()) };
        if is_over.load(Ordering::Relaxed) {
            return exec_err!("the join was cancelled");
        }
        if since.elapsed() > HELD {
            let is_among_others = |handle: Handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread;
            if Handle::try_current().is_ok_and(is_among_others) {
                block_in_place(|| thread::sleep(TAKING_OVER));
            }
            *since = Instant::now();
        }
        Ok(())
    })
}

/// A condition on pairs of rows that lets others in.
#[derive(Debug)]
struct Condition(Arc<dyn PhysicalExpr>);

impl PhysicalExpr for Condition {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.0.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.0.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let_others_in()?;
        self.0.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.0]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        Ok(Arc::new(Self(Arc::clone(&children[0]))))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_sql(f)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq(&other.0)
    }
}

impl Eq for Condition {}

impl Hash for Condition {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}
