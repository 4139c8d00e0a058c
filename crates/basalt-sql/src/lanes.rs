// SPDX-License-Identifier: Apache-2.0
//! Lanes: threads on which the plans of statements run, those of each statement beside those of the others.
//!
//! The tasks of a plan go on for as long as they have work: some build a hash table of millions of rows without a pause. Were they on the same
//! threads, a statement of a millisecond would wait for that. On threads of its own it waits for nothing: the operating system gives each
//! lane the same share of the processor, whatever is done in it, as often as a thousand times a second.
//!
//! A lane has as many threads as a plan has partitions. The first statement makes the first one; another one is made when a statement finds all
//! of them taken, up to [`LANES_MAX`]; more statements than that share them. Threads without work take no time.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};

use crate::deep::THREAD_STACK_BYTES;

/// Lanes at most.
const LANES_MAX: usize = 8;
/// Batches of a plan's result that wait for whoever reads it.
const BATCHES_AHEAD: usize = 2;

/// See the module.
pub(crate) struct Lanes {
    threads: usize,
    lanes: Mutex<Vec<Arc<Lane>>>,
}

struct Lane {
    /// There until the lane is dropped.
    runtime: Option<Runtime>,
    plans: AtomicUsize,
}

/// A plan's place in a lane.
struct Place(Arc<Lane>);

impl Lanes {
    /// Lanes of so many threads each; none is made yet.
    pub(crate) fn new(threads: usize) -> Self {
        Self { threads: threads.max(1), lanes: Mutex::default() }
    }

    /// Runs a plan in the lane with the fewest. It ends, soon, when the stream is dropped.
    pub(crate) fn run(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let place = self.enter()?;
        let lane = Arc::clone(&place.0);
        let mut result = RecordBatchReceiverStreamBuilder::new(plan.schema(), BATCHES_AHEAD);
        let reader = result.tx();
        let running = async move {
            let _place = place;
            let mut batches = execute_stream(plan, context)?;
            while let Some(batch) = batches.next().await {
                let is_over = batch.is_err();
                if reader.send(batch).await.is_err() || is_over {
                    break;
                }
            }
            Ok(())
        };
        result.spawn_on(running, lane.runtime().handle());
        Ok(result.build())
    }

    /// Tasks of plans that run, or have not ended since they were dropped.
    pub(crate) fn tasks(&self) -> usize {
        self.lanes.lock().iter().map(|lane| lane.runtime().metrics().num_alive_tasks()).sum()
    }

    fn enter(&self) -> Result<Place> {
        let mut lanes = self.lanes.lock();
        let least = lanes.iter().min_by_key(|lane| lane.plans.load(Relaxed));
        let lane = match least {
            Some(lane) if lanes.len() == LANES_MAX || lane.plans.load(Relaxed) == 0 => Arc::clone(lane),
            least => match Lane::start(self.threads) {
                Ok(lane) => {
                    lanes.push(Arc::clone(&lane));
                    lane
                }
                // The system has no more threads: those that there are do.
                Err(error) => least.cloned().ok_or(DataFusionError::IoError(error))?,
            },
        };
        lane.plans.fetch_add(1, Relaxed);
        Ok(Place(lane))
    }
}

impl Lane {
    fn start(threads: usize) -> std::io::Result<Arc<Self>> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("basalt-lane")
            .thread_stack_size(THREAD_STACK_BYTES)
            .enable_time()
            .build()?;
        Ok(Arc::new(Self { runtime: Some(runtime), plans: AtomicUsize::new(0) }))
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("taken only when the lane is dropped")
    }
}

impl Drop for Lane {
    /// Wherever that happens, be it on a thread of the lane itself: nobody waits for its threads.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.plans.fetch_sub(1, Relaxed);
    }
}

impl fmt::Debug for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lanes").field("threads", &self.threads).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(lanes: &Lanes) -> Vec<usize> {
        lanes.lanes.lock().iter().map(|lane| lane.plans.load(Relaxed)).collect()
    }

    #[test]
    fn each_plan_has_a_lane_until_there_are_no_more() {
        let lanes = Lanes::new(1);
        let mut places: Vec<Place> = (0..LANES_MAX).map(|_| lanes.enter().expect("threads")).collect();
        assert_eq!(taken(&lanes), [1; LANES_MAX]);
        places.push(lanes.enter().expect("threads"));
        assert_eq!(taken(&lanes).iter().sum::<usize>(), LANES_MAX + 1);
        places.clear();
        let again = [lanes.enter().expect("threads"), lanes.enter().expect("threads")];
        assert_eq!(taken(&lanes).iter().filter(|plans| **plans == 1).count(), again.len());
        assert_eq!(taken(&lanes).len(), LANES_MAX);
    }

    #[test]
    fn one_after_the_other_take_one_lane() {
        let lanes = Lanes::new(2);
        for _ in 0..5 {
            drop(lanes.enter().expect("threads"));
        }
        assert_eq!((taken(&lanes), lanes.tasks()), (vec![0], 0));
    }
}
