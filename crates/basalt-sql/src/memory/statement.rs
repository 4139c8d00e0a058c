// SPDX-License-Identifier: Apache-2.0
//! A budget of one statement within that of all: its operators share the one as if there were no other, and take nothing that
//! the other does not have.

use std::fmt::{Display, Formatter};
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};

use super::SpillReservePool;

/// See the module.
#[derive(Debug)]
pub(crate) struct StatementPool {
    own: SpillReservePool,
    all: Arc<dyn MemoryPool>,
}

impl StatementPool {
    /// `bytes` of the budget `all`.
    pub(crate) fn new(bytes: usize, all: Arc<dyn MemoryPool>) -> Self {
        Self { own: SpillReservePool::new(bytes, "one query of this session may have"), all }
    }
}

impl Display for StatementPool {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.own, self.all)
    }
}

impl MemoryPool for StatementPool {
    fn name(&self) -> &str {
        "budget of a statement"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.own.register(consumer);
        self.all.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.own.unregister(consumer);
        self.all.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.own.grow(reservation, additional);
        self.all.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.own.shrink(reservation, shrink);
        self.all.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        self.own.try_grow(reservation, additional)?;
        let taken = self.all.try_grow(reservation, additional);
        if taken.is_err() {
            self.own.shrink(reservation, additional);
        }
        taken
    }

    fn reserved(&self) -> usize {
        self.own.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.own.memory_limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_has_its_own_and_no_more_than_all_have() {
        let all: Arc<dyn MemoryPool> = Arc::new(SpillReservePool::new(1_000, "all queries share"));
        let pools =
            [0, 1].map(|_| -> Arc<dyn MemoryPool> { Arc::new(StatementPool::new(600, Arc::clone(&all))) });
        let [one, other] = pools.each_ref().map(|pool| MemoryConsumer::new("HashJoinInput").register(pool));
        one.try_grow(600).expect("its own");
        let error = one.try_grow(1).expect_err("beyond its own").to_string();
        assert!(error.contains("that one query of this session may have"), "{error}");
        let error = other.try_grow(500).expect_err("beyond what is left of all").to_string();
        assert!(error.contains("that all queries share"), "{error}");
        assert_eq!((pools[0].reserved(), pools[1].reserved(), all.reserved()), (600, 0, 600));
        other.try_grow(400).expect("what is left");
        drop((one, other));
        assert_eq!((pools[0].reserved(), pools[1].reserved(), all.reserved()), (0, 0, 0));
    }
}
