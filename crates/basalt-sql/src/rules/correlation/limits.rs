// SPDX-License-Identifier: Apache-2.0
//! LIMIT, OFFSET and ORDER BY of subqueries that ask something of the outer row.
//!
//! No condition can leave a LIMIT. Where conditions say that values of a row equal something of the outer row, the rows are numbered instead, for each of
//! these values, and the conditions are above the numbers:
//!
//! ```text
//! SELECT v FROM b WHERE b.j = o.j AND b.w > 0 ORDER BY k DESC LIMIT 2
//!     ->  SELECT v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY b.j ORDER BY k DESC) r FROM b WHERE b.w > 0) WHERE b.j = o.j AND r <= 2
//! ```
//!
//! An order that no LIMIT is above of means nothing, and goes; so does a LIMIT of totals that are one row.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::alias::AliasGenerator;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::functions_window::row_number::row_number;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprFunctionExt, FetchType, Filter, Limit, LogicalPlan, Operator, Projection, SkipType,
    SortExpr, Window, lit,
};

use super::peeled::{Peeled, is_totals, written_over};
use super::{any_step, asks_outer};

/// The rows of what EXISTS asks for: which values they have, in which order and how many they are, makes no difference.
pub(super) fn rows_alone(mut plan: Arc<LogicalPlan>) -> Result<Arc<LogicalPlan>> {
    loop {
        plan = match plan.as_ref() {
            LogicalPlan::Projection(projection) => Arc::clone(&projection.input),
            LogicalPlan::Sort(sort) if sort.fetch != Some(0) => Arc::clone(&sort.input),
            LogicalPlan::Limit(limit) => match (limit.get_skip_type()?, limit.get_fetch_type()?) {
                (SkipType::Literal(0), FetchType::Literal(Some(1..))) => Arc::clone(&limit.input),
                _ => return Ok(plan),
            },
            _ => return Ok(plan),
        }
    }
}

/// The subquery without orders that mean nothing, with numbers in place of its limits.
pub(super) fn numbered(plan: LogicalPlan, aliases: &AliasGenerator) -> Result<LogicalPlan> {
    if !any_step(&plan, |step| matches!(step, LogicalPlan::Sort(_) | LogicalPlan::Limit(_))) {
        return Ok(plan);
    }
    match plan {
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
            numbered(Arc::unwrap_or_clone(sort.input), aliases)
        }
        LogicalPlan::Limit(limit) if asks_outer(&limit.input) => of_limit(limit, aliases),
        LogicalPlan::Limit(_) | LogicalPlan::Subquery(_) => Ok(plan),
        plan => {
            let plan = plan.map_children(|input| numbered(input, aliases).map(Transformed::yes)).data()?;
            plan.recompute_schema()
        }
    }
}

fn of_limit(limit: Limit, aliases: &AliasGenerator) -> Result<LogicalPlan> {
    let (SkipType::Literal(skip), FetchType::Literal(fetch)) =
        (limit.get_skip_type()?, limit.get_fetch_type()?)
    else {
        return Ok(LogicalPlan::Limit(limit));
    };
    let columns = limit.input.schema().columns();
    let peeled = Peeled::new(limit.input.as_ref().clone())?;
    if is_totals(&peeled.base) && skip == 0 && fetch != Some(0) {
        return numbered(Arc::unwrap_or_clone(limit.input), aliases);
    }
    let (asked, own): (Vec<_>, Vec<_>) = peeled.conditions.into_iter().partition(Expr::contains_outer);
    let groups: Option<Vec<_>> = asked.iter().map(own_side).collect();
    let (Some(groups), false) = (groups, any_step(&peeled.base, LogicalPlan::contains_outer_reference))
    else {
        return Ok(LogicalPlan::Limit(limit));
    };
    let mut input = peeled.base;
    if let Some(condition) = conjunction(own) {
        input = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(input))?);
    }
    // The columns below an alias may be called as those of the outer row are.
    let (input, renamed) = renamed(input, aliases)?;
    let written = |expr| written_over(expr, &renamed);
    let asked = asked.into_iter().map(written).collect::<Result<Vec<_>>>()?;
    let groups = groups.into_iter().map(written).collect::<Result<Vec<_>>>()?;
    let order = peeled.order.into_iter().map(|order| Ok(SortExpr { expr: written(order.expr)?, ..order }));
    let order = order.collect::<Result<Vec<_>>>()?;
    let values = peeled.columns.into_iter().map(written).collect::<Result<Vec<_>>>()?;
    let name = aliases.next("$number");
    let number = row_number().partition_by(groups).order_by(order).build()?.alias(&name);
    let numbers = LogicalPlan::Window(Window::try_new(vec![number], Arc::new(input))?);
    let number = Expr::Column(Column::new_unqualified(name));
    let literal = |count: usize| lit(u64::try_from(count).unwrap_or(u64::MAX));
    let first = (skip > 0).then(|| number.clone().gt(literal(skip)));
    let last = fetch.map(|fetch| number.lt_eq(literal(skip.saturating_add(fetch))));
    let condition = conjunction(asked.into_iter().chain(first).chain(last));
    let rows = Filter::try_new(condition.unwrap_or_else(|| lit(true)), Arc::new(numbers))?;
    let named = values.into_iter().zip(columns);
    let list = named.map(|(value, column)| value.alias_qualified(column.relation, column.name)).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(list, Arc::new(LogicalPlan::Filter(rows)))?))
}

/// The rows with names of their own for all columns, and these by the names before.
fn renamed(input: LogicalPlan, aliases: &AliasGenerator) -> Result<(LogicalPlan, HashMap<Column, Expr>)> {
    let columns = input.schema().columns().into_iter();
    let named: Vec<_> = columns.map(|column| (column, aliases.next("$row"))).collect();
    let list = named.iter().map(|(column, name)| Expr::Column(column.clone()).alias(name)).collect();
    let plan = LogicalPlan::Projection(Projection::try_new(list, Arc::new(input))?);
    let named = named.into_iter().map(|(column, name)| (column, Expr::Column(Column::new_unqualified(name))));
    Ok((plan, named.collect()))
}

/// The side of an equality that is of the subquery's row, where the other one is of the outer row.
fn own_side(part: &Expr) -> Option<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = part else { return None };
    let is_own = |own: &Expr, other: &Expr| !own.contains_outer() && !other.any_column_refs();
    if is_own(left, right) {
        Some(left.as_ref().clone())
    } else if is_own(right, left) {
        Some(right.as_ref().clone())
    } else {
        None
    }
}
