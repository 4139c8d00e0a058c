// SPDX-License-Identifier: Apache-2.0
//! SUM, AVG and COUNT of exact numbers, the first of the two steps in which the planner aggregates.
//!
//! DataFusion computes with DECIMALs in 128 bits, an expression at a time. Most are prices and quantities, of which even
//! products fit 64 bits: [`NumberAggregate`] looks at the numbers of each batch and computes with 64 bits what fits, with 128
//! what does not. Scans hand it DECIMALs of up to 18 digits as 64 bits to begin with. What is equal in several aggregates
//! (`SUM(a)` and `AVG(a)`, `a * b` and `a * b * c`) is computed once. The answers, NULLs and errors are those of the planner's
//! own operators, except that a result of more than 128 bits is an error everywhere.

mod exec;
mod groups;
mod numbers;
mod plan;
mod rule;
mod terms;
mod totals;

pub use plan::below_projection;
pub use rule::{AggregateNumbers, in_two_steps};

use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;

/// True of what [`AggregateNumbers`] puts into plans.
pub fn is_number_aggregate(plan: &dyn ExecutionPlan) -> bool {
    plan.is::<exec::NumberAggregate>()
}

/// Asks a plan for the rows of a partition in short form; `None` if it has none. In short form, DECIMALs of up to 18 digits
/// may be `Decimal64` and texts dictionaries of `UInt32`; the type of a column may change from batch to batch, and is not always
/// that of the stream's schema.
pub type ShortSource =
    fn(&dyn ExecutionPlan, usize, &TaskContext) -> Option<Result<SendableRecordBatchStream>>;
