// SPDX-License-Identifier: Apache-2.0
//! How the operators of all running queries share one budget.
//!
//! Sorts and aggregates fill memory as long as they get it and spill when they do not. If they were given all of it,
//! what then has to happen (merging the sorted runs, the build side of a join) would find nothing: it cannot
//! spill, so its statement would fail although the data fits the disk. DataFusion's own pools have that gap.
//! Here operators that spill share a part of the budget, and the rest is kept for those that cannot.

mod statement;

use std::fmt::{Display, Formatter};

use datafusion::common::resources_datafusion_err;
use datafusion::common::{Result, human_readable_size};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use parking_lot::Mutex;

pub(crate) use statement::StatementPool;

/// What operators that spill and merges of their runs may hold together, in percent of what those of fixed needs
/// leave.
const ELASTIC_PERCENT: usize = 90;
/// What each of the two may hold while there are both. A sort hands its rows over to a merge before they go
/// to disk, and a merge holds as much as the sort did: rows, and for narrow ones as much again of sort keys.
const HALF_PERCENT: usize = ELASTIC_PERCENT / 2;
/// What one operator of these two classes gets even if others hold the whole part: this fraction of the budget,
/// if it is free. Less than one batch in memory is no progress.
const FLOOR_FRACTION: usize = 32;
/// Where that is less than this, which a batch of narrow rows and what is computed of it take, it is this, but no more than an eighth
/// of the budget.
const FLOOR_BYTES: usize = 512 << 10;
/// What one reservation of an aggregate gets of its share, in percent. It merges its runs with one, as many at a time as it gets
/// memory for, and puts the groups together again with another, which would find nothing.
const GROUPING_PERCENT: usize = 66;
/// How DataFusion's aggregates name themselves.
const GROUPING_NAME: &str = "AggregateStream";
/// How DataFusion names the reservation of a sort for merging its runs.
const MERGE_NAME: &str = "ExternalSorterMerge";

/// A budget of bytes, shared fairly among operators that spill, first come first served among the others.
#[derive(Debug)]
pub(crate) struct SpillReservePool {
    bytes: usize,
    /// Who has them, for errors: `the 1.0 GB that ...`.
    whose: &'static str,
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

    /// How much more of the budget `bytes` a reservation that holds `held` may take, if it may take `percent_of_fair` of what its consumer
    /// gets.
    fn room(&self, bytes: usize, class: &Class, held: usize, percent_of_fair: usize) -> usize {
        let free = bytes.saturating_sub(self.reserved());
        let share = match class {
            Class::Spilling => &self.spilling,
            Class::Merging => &self.merging,
            Class::Fixed => return free,
        };
        let percent = if self.merging.consumers == 0 { ELASTIC_PERCENT } else { HALF_PERCENT };
        let part = bytes.saturating_sub(self.fixed) / 100 * percent;
        // A sort that has spilled is one merge and no spilling consumer; those that still fill memory must not
        // grow beyond what their own merges will get.
        let fair = part / self.spilling.consumers.max(self.merging.consumers).max(1);
        let fair = fair / 100 * percent_of_fair;
        let by_share = fair.saturating_sub(held).min(part.saturating_sub(share.held));
        let floor = (bytes / FLOOR_FRACTION).max(FLOOR_BYTES.min(bytes / 8));
        let by_floor = floor.saturating_sub(held);
        by_share.max(by_floor).min(free)
    }
}

impl SpillReservePool {
    /// A budget of `bytes`. `whose` ends the sentence `the 1.0 GB that ...`.
    pub(crate) fn new(bytes: usize, whose: &'static str) -> Self {
        Self { bytes, whose, state: Mutex::default() }
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
        let groups = reservation.consumer().name().contains(GROUPING_NAME);
        let percent = if groups { GROUPING_PERCENT } else { 100 };
        let room = state.room(self.bytes, &class, reservation.size(), percent);
        if additional > room {
            return Err(resources_datafusion_err!(
                "{} holds {}, asked for {} more and may have {} of the {} that {}",
                reservation.consumer().name(),
                human_readable_size(reservation.size()),
                human_readable_size(additional),
                human_readable_size(room),
                human_readable_size(self.bytes),
                self.whose
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
        let pool: Arc<dyn MemoryPool> = Arc::new(SpillReservePool::new(bytes, "all queries share"));
        let owner = Arc::clone(&pool);
        (pool, move |name| MemoryConsumer::new(name).with_can_spill(name == "Spill").register(&owner))
    }

    /// Grows in small steps until refused.
    fn fill(reservation: &MemoryReservation) -> usize {
        while reservation.try_grow(10).is_ok() {}
        reservation.size()
    }

    #[test]
    fn what_spills_leaves_room_for_what_cannot() {
        let (pool, consumer) = consumers(64_000);
        let (aggregate, other) = (consumer("Spill"), consumer("Spill"));
        assert_eq!(fill(&aggregate), 28_800, "half of 90 %");
        drop(other);
        assert_eq!(fill(&aggregate), 57_600, "alone it gets all of the 90 %");
        let join = consumer("HashJoinInput");
        assert_eq!(fill(&join), 6_400);
        assert_eq!(pool.reserved(), 64_000);
        assert!(aggregate.try_grow(1).is_err());
    }

    #[test]
    fn an_aggregate_that_merges_has_room_for_its_groups() {
        let owner: Arc<dyn MemoryPool> = Arc::new(SpillReservePool::new(64_000, "all queries share"));
        let merge = MemoryConsumer::new("FinalHashAggregateStream[0]").with_can_spill(true).register(&owner);
        let groups = merge.new_empty();
        assert_eq!(fill(&merge), 38_010, "two thirds of 90 %");
        assert_eq!(fill(&groups), 57_600 - 38_010, "the rest of them");
    }

    #[test]
    fn a_merge_gets_as_much_as_its_sort() {
        let (_pool, consumer) = consumers(64_000);
        let sorts = [consumer("Spill"), consumer("Spill")];
        let merges = [consumer("ExternalSorterMerge[0]"), consumer("ExternalSorterMerge[1]")];
        assert_eq!(fill(&sorts[0]), 14_400);
        assert_eq!(fill(&merges[0]), 14_400);
        let [first, second] = sorts;
        drop(first);
        assert_eq!(fill(&second), 14_400, "the first one is still merging");
        assert_eq!(fill(&merges[1]), 14_400);
    }

    #[test]
    fn a_late_sort_gets_the_floor_at_least() {
        let (_pool, consumer) = consumers(64_000);
        let first = consumer("Spill");
        fill(&first);
        let late = consumer("Spill");
        assert_eq!(fill(&late), 6_400, "an eighth would be 8,000, but that is not free");
        first.free();
        assert_eq!(fill(&late), 28_800);
    }

    #[test]
    fn nothing_is_given_twice() {
        let (pool, consumer) = consumers(64_000);
        let (join, sort) = (consumer("HashJoinInput"), consumer("Spill"));
        assert_eq!(fill(&join), 64_000);
        let error = sort.try_grow(100).expect_err("nothing is left").to_string();
        assert!(error.contains("may have 0.0 B of the 62.5 KB"), "{error}");
        drop(join);
        assert_eq!(fill(&sort), 57_600);
        drop(sort);
        assert_eq!(pool.reserved(), 0);
    }
}
