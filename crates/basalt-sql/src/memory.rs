// SPDX-License-Identifier: Apache-2.0
//! How the operators of all running queries share one budget.
//!
//! Sorts and aggregates fill memory as long as they get it and spill when they do not. If they were given all of it,
//! what then has to happen (merging the sorted runs, the build side of a join) would find nothing: it cannot
//! spill, so its statement would fail although the data fits the disk. DataFusion's own pools have that gap.
//! Here operators that spill share a part of the budget, and the rest is kept for those that cannot.

use std::fmt::{Display, Formatter};

use datafusion::common::resources_datafusion_err;
use datafusion::common::{Result, human_readable_size};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use parking_lot::Mutex;

/// What operators that spill may hold together, in percent of what those of fixed needs leave.
const SPILLING_PERCENT: usize = 60;
/// What merges of spilled runs may hold together, in percent of the same. A merge takes all it can get to merge
/// more runs at once, and gets along with little.
const MERGING_PERCENT: usize = 25;
/// What one operator of these two classes gets even if others hold the whole part: this fraction of the budget,
/// if it is free. Less than one batch in memory is no progress.
const FLOOR_FRACTION: usize = 32;
/// How DataFusion names the reservation of a sort for merging its runs.
const MERGE_NAME: &str = "ExternalSorterMerge";

/// A budget of bytes, shared fairly among operators that spill, first come first served among the others.
#[derive(Debug)]
pub(crate) struct SpillReservePool {
    bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    spilling: Share,
    merging: Share,
    /// Bytes held by operators that cannot do with less: build sides of joins, accumulators.
    fixed: usize,
}

/// One class of consumers that take what they get.
#[derive(Debug, Default)]
struct Share {
    consumers: usize,
    /// Bytes held by all of them.
    held: usize,
}

enum Class {
    Spilling,
    Merging,
    Fixed,
}

impl Class {
    fn of(consumer: &MemoryConsumer) -> Self {
        match consumer.can_spill() {
            true => Self::Spilling,
            false if consumer.name().starts_with(MERGE_NAME) => Self::Merging,
            false => Self::Fixed,
        }
    }
}

impl State {
    fn share(&mut self, class: Class) -> Option<&mut Share> {
        match class {
            Class::Spilling => Some(&mut self.spilling),
            Class::Merging => Some(&mut self.merging),
            Class::Fixed => None,
        }
    }

    fn held(&mut self, class: Class) -> &mut usize {
        match class {
            Class::Spilling => &mut self.spilling.held,
            Class::Merging => &mut self.merging.held,
            Class::Fixed => &mut self.fixed,
        }
    }

    fn reserved(&self) -> usize {
        self.spilling.held + self.merging.held + self.fixed
    }

    /// How much more of the budget `bytes` a consumer that holds `held` may take.
    fn room(&self, bytes: usize, class: &Class, held: usize) -> usize {
        let free = bytes.saturating_sub(self.reserved());
        let (share, percent) = match class {
            Class::Spilling => (&self.spilling, SPILLING_PERCENT),
            Class::Merging => (&self.merging, MERGING_PERCENT),
            Class::Fixed => return free,
        };
        let part = bytes.saturating_sub(self.fixed) / 100 * percent;
        let fair = part / share.consumers.max(1);
        let by_share = fair.saturating_sub(held).min(part.saturating_sub(share.held));
        let by_floor = (bytes / FLOOR_FRACTION).saturating_sub(held);
        by_share.max(by_floor).min(free)
    }
}

impl SpillReservePool {
    /// A budget of `bytes`.
    pub(crate) fn new(bytes: usize) -> Self {
        Self { bytes, state: Mutex::default() }
    }
}

impl Display for SpillReservePool {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}({})", self.name(), human_readable_size(self.bytes))
    }
}

impl MemoryPool for SpillReservePool {
    fn name(&self) -> &str {
        "budget"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        if let Some(share) = self.state.lock().share(Class::of(consumer)) {
            share.consumers += 1;
        }
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        if let Some(share) = self.state.lock().share(Class::of(consumer)) {
            share.consumers -= 1;
        }
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        *self.state.lock().held(Class::of(reservation.consumer())) += additional;
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        *self.state.lock().held(Class::of(reservation.consumer())) -= shrink;
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let class = Class::of(reservation.consumer());
        let mut state = self.state.lock();
        let room = state.room(self.bytes, &class, reservation.size());
        if additional > room {
            return Err(resources_datafusion_err!(
                "{} holds {}, asked for {} more and may have {} of the {} that all queries share",
                reservation.consumer().name(),
                human_readable_size(reservation.size()),
                human_readable_size(additional),
                human_readable_size(room),
                human_readable_size(self.bytes)
            ));
        }
        *state.held(class) += additional;
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.state.lock().reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn consumers(bytes: usize) -> (Arc<dyn MemoryPool>, impl Fn(&str) -> MemoryReservation) {
        let pool: Arc<dyn MemoryPool> = Arc::new(SpillReservePool::new(bytes));
        let owner = Arc::clone(&pool);
        (pool, move |name| MemoryConsumer::new(name).with_can_spill(name == "Sort").register(&owner))
    }

    /// Grows in small steps until refused.
    fn fill(reservation: &MemoryReservation) -> usize {
        while reservation.try_grow(10).is_ok() {}
        reservation.size()
    }

    #[test]
    fn what_spills_leaves_room_for_what_cannot() {
        let (pool, consumer) = consumers(64_000);
        let (sort, other) = (consumer("Sort"), consumer("Sort"));
        assert_eq!(fill(&sort), 19_200, "half of 60 %");
        drop(other);
        assert_eq!(fill(&sort), 38_400, "alone it gets all of the 60 %");
        let merge = consumer("ExternalSorterMerge[0]");
        assert_eq!(fill(&merge), 16_000, "25 %");
        let join = consumer("HashJoinInput");
        assert_eq!(fill(&join), 9_600);
        assert_eq!(pool.reserved(), 64_000);
        assert!(sort.try_grow(1).is_err());
    }

    #[test]
    fn a_late_sort_gets_the_floor_at_least() {
        let (_pool, consumer) = consumers(64_000);
        let first = consumer("Sort");
        fill(&first);
        let late = consumer("Sort");
        assert_eq!(fill(&late), 2_000);
        first.free();
        assert_eq!(fill(&late), 19_200);
    }

    #[test]
    fn nothing_is_given_twice() {
        let (pool, consumer) = consumers(64_000);
        let (join, sort) = (consumer("HashJoinInput"), consumer("Sort"));
        assert_eq!(fill(&join), 64_000);
        let error = sort.try_grow(100).expect_err("nothing is left").to_string();
        assert!(error.contains("may have 0.0 B of the 62.5 KB"), "{error}");
        drop(join);
        assert_eq!(fill(&sort), 38_400);
        drop(sort);
        assert_eq!(pool.reserved(), 0);
    }
}
