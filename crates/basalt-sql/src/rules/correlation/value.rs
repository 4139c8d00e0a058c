// SPDX-License-Identifier: Apache-2.0
//! Subqueries of one value that are totals without GROUP BY, with HAVING, or with a list that names the outer row or none of the totals: what is computed of
//! the totals is computed in the expression around, of subqueries that are one of the totals each.
//!
//! ```text
//! (SELECT 5 FROM b WHERE b.j = o.j HAVING COUNT(*) < 3)
//!     ->  CASE WHEN (SELECT COUNT(*) FROM b WHERE b.j = o.j) < 3 THEN 5 END
//! ```
//!
//! DataFusion 55 knows what totals of nothing are, but not what a list above them is that names none, nor one with a condition.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection, Subquery, when};

use super::asks_outer;
use super::peeled::{Peeled, beside, is_totals, written_over};

/// The expression in place of the subquery, if it needs one.
pub(super) fn taken_apart(subquery: &Subquery) -> Result<Option<Expr>> {
    let Peeled { mut columns, conditions, base, .. } = Peeled::new(subquery.subquery.as_ref().clone())?;
    if !is_totals(&base) || !asks_outer(&base) {
        return Ok(None);
    }
    let Some(value) = columns.pop() else { return Ok(None) };
    if conditions.is_empty() && !value.contains_outer() && value.any_column_refs() {
        return Ok(None);
    }
    let base = Arc::new(base);
    let mut totals = HashMap::new();
    for column in base.schema().columns() {
        let list = Projection::try_new(vec![Expr::Column(column.clone())], Arc::clone(&base))?;
        let total = Subquery { subquery: Arc::new(LogicalPlan::Projection(list)), ..subquery.clone() };
        totals.insert(column, Expr::ScalarSubquery(total));
    }
    let value = beside(written_over(value, &totals)?)?;
    let Some(condition) = conjunction(conditions) else { return Ok(Some(value)) };
    Ok(Some(when(beside(written_over(condition, &totals)?)?, value).end()?))
}
