// SPDX-License-Identifier: Apache-2.0
//! Operators of query plans that DataFusion does not have, and the rules that put them in the place of its own. They know
//! Arrow and DataFusion, but neither tables nor SQL: a crate apart, because their loops are worth the compiler's best effort
//! and the statements' planning is not.

mod aggregate;
mod distinct_runs;
mod division;
mod fences;
mod first_rows;
mod join_filters;
mod kept_orders;
mod left_rows;
mod long_sorts;
mod products;
mod sort;
mod turns;
mod unordered;
mod windows;

pub use aggregate::{AggregateNumbers, ShortSource, below_projection, in_two_steps, is_number_aggregate};
pub use division::{NoQuotient, QUOTIENT_DIGITS, quotients};
pub use fences::{FencedFilters, FencedProjections};
pub use first_rows::FirstRowsAtOnce;
pub use join_filters::NullableJoinFilters;
pub use kept_orders::KeptOrders;
pub use long_sorts::{LongSorts, kept as rows_kept_by_sort};
pub use products::products;
pub use sort::SortRows;
pub use turns::JoinsTakeTurns;
pub use unordered::UnorderedInputs;
pub use windows::WindowsAskForMemory;
