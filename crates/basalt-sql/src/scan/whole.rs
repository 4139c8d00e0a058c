// SPDX-License-Identifier: Apache-2.0
//! A warning for what is probably a mistake: a large table is read from its first row to its last for the sake of a few rows, because no
//! condition is on the first columns of its key and no index helps.
//!
//! Reports read whole tables on purpose. So the warning is given only where the conditions leave one row of [`ROWS_PER_FOUND`], by what is known
//! of the values of their columns, which a condition without such knowledge never does.

use std::sync::Arc;

use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::physical_plan::ExecutionPlan;

use super::BasaltScan;
use crate::index::unqualified;
use crate::keys::Access;

/// Smaller tables are read in no time.
const ROWS_MIN: u64 = 1 << 20;
/// Rows of which one or none is wanted.
const ROWS_PER_FOUND: u64 = 10_000;

/// The warnings for a plan.
pub(crate) fn whole_reads(plan: &Arc<dyn ExecutionPlan>) -> Vec<String> {
    let of_scan = plan.downcast_ref::<BasaltScan>().and_then(warning);
    of_scan.into_iter().chain(plan.children().into_iter().flat_map(whole_reads)).collect()
}

fn warning(scan: &BasaltScan) -> Option<String> {
    let spec = scan.spec();
    let is_whole = matches!(spec.access.access, Access::Full) && spec.limit.is_none();
    let is_meant = spec.note.as_deref().is_some_and(|note| note.contains("by hint"));
    let (rows, found) = (spec.rows_exact.unwrap_or(spec.rows_estimate), scan.rows_estimate() as u64);
    let split = spec.conditions.iter().cloned().flat_map(split_conjunction_owned);
    let conditions: Vec<Expr> = split.map(unqualified).collect();
    if !is_whole || is_meant || rows < ROWS_MIN || found.saturating_mul(ROWS_PER_FOUND) > rows {
        return None;
    }
    // What serves them was thought to take longer.
    if spec.indexes.iter().any(|index| !matches!(index.access(&conditions).access, Access::Full)) {
        return None;
    }
    let key = spec.descriptor.schema.as_ref()?.key.first()?;
    Some(format!(
        "all {rows} rows of {} are looked at for about {found}: no condition is on {}, the first column of its key, and no index serves the conditions; CREATE INDEX on their columns would",
        scan.table_name(),
        key.name
    ))
}
