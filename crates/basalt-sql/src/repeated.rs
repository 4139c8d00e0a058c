// SPDX-License-Identifier: Apache-2.0
//! Queries that are asked again and again: their plans are kept. Planning a query of one table takes about half a millisecond, which is
//! most of what a query of few rows takes.
//!
//! A plan is kept when its query comes for the second time. It keeps no file and no snapshot alive, and is run in the snapshot of
//! who asks ([`scan::at_moment`]): it shows what is there then. It is not used where planning might come to another plan: if the table or
//! its indexes were defined anew, or if the table has become much larger or smaller.
//!
//! Kept are plans that read one table, filter its rows and add them up, and that are the same whenever they are made: without functions of the moment,
//! without hints or a memory limit of the session's own. What sorts, joins or deals rows out anew takes longer than its planning.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan, Volatility};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::ast::Query;
use quick_cache::sync::Cache;

use crate::rules::is_of_one_table;
use crate::scan::{self, Asking};
use crate::spill;

/// Plans that are kept at most; the least wanted goes.
const PLANS_MAX: usize = 128;
/// Longest query, as text, whose plan is kept: plans have the values of their query.
const TEXT_MAX: usize = 16 << 10;
/// Places for what has been asked once. Two queries that share one may be planned once more than they need.
const ASKED: usize = 1 << 10;

/// A query, with what its names depend on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    pub(crate) query: Query,
    /// What USE said.
    pub(crate) schema: Option<String>,
}

/// The plans of the queries of all sessions.
pub(crate) struct Repeated {
    plans: Cache<Question, Arc<dyn ExecutionPlan>>,
    /// Hashes of queries that were asked.
    asked: Box<[AtomicU64]>,
    hasher: RandomState,
}

/// A plan without its moment.
pub(crate) struct Kept(Arc<dyn ExecutionPlan>);

impl std::fmt::Debug for Repeated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repeated").field("plans", &self.plans.len()).finish_non_exhaustive()
    }
}

impl Repeated {
    pub(crate) fn new() -> Self {
        let asked = (0..ASKED).map(|_| AtomicU64::new(0)).collect();
        Self { plans: Cache::new(PLANS_MAX), asked, hasher: RandomState::new() }
    }

    /// The plan that is kept for a question.
    pub(crate) fn kept(&self, question: &Question) -> Option<Kept> {
        self.plans.get(question).map(Kept)
    }

    /// The plan of a question in the snapshot of who asks, if what is kept for it still holds. What does not is forgotten.
    pub(crate) fn plan(
        &self,
        question: &Question,
        kept: &Kept,
        asking: &Asking<'_>,
    ) -> Option<Arc<dyn ExecutionPlan>> {
        // What goes wrong here is said by the planner.
        let plan = scan::at_moment(&kept.0, asking).ok().flatten();
        if plan.is_none() {
            self.plans.remove(question);
        }
        plan
    }

    /// True if the question was asked before, and its plan is wanted: see [`Self::keep`].
    pub(crate) fn is_asked_again(&self, question: &Question) -> bool {
        // 0 stands for nothing.
        let hash = self.hasher.hash_one(question) | 1;
        self.asked[(hash >> 32) as usize % ASKED].swap(hash, Relaxed) == hash
    }

    /// Keeps the plan of a question, if it is one of those that can be kept. `logical` is what it was made of.
    pub(crate) fn keep(&self, question: Question, logical: &LogicalPlan, plan: &Arc<dyn ExecutionPlan>) {
        if !is_of_one_table(logical) || !is_timeless(logical) || spill::keeps_rows(plan) {
            return;
        }
        if let Some(outline) = scan::outlined(plan)
            && question.query.to_string().len() <= TEXT_MAX
        {
            self.plans.insert(question, outline);
        }
    }

    /// How many plans are kept.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.plans.len()
    }
}

/// True if no function has another value at another time.
fn is_timeless(plan: &LogicalPlan) -> bool {
    let mut varies = false;
    let mut look = |expr: &Expr| {
        let of_function = match expr {
            Expr::ScalarFunction(call) => call.func.signature().volatility,
            Expr::AggregateFunction(call) => call.func.signature().volatility,
            Expr::HigherOrderFunction(_) | Expr::WindowFunction(_) => Volatility::Volatile,
            _ => Volatility::Immutable,
        };
        varies |= of_function != Volatility::Immutable;
        Ok(if varies { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    };
    let walked = plan.apply(|node| node.apply_expressions(|expr| expr.apply(&mut look)));
    walked.is_ok() && !varies
}

#[cfg(test)]
mod tests;
