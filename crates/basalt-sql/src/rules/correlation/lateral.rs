// SPDX-License-Identifier: Apache-2.0
//! LATERAL subqueries whose lists name the outer row, or that are totals without GROUP BY: their lists and conditions are computed above the join, where both
//! rows are.
//!
//! ```text
//! o, LATERAL (SELECT b.k + o.k AS n FROM b WHERE b.j = o.j) x
//!     ->  SELECT o.*, $l.$c0 + o.k AS n FROM o, LATERAL (SELECT b.k AS $c0 FROM b WHERE b.j = o.j) $l
//! o, LATERAL (SELECT 5 AS n FROM b WHERE b.j = o.j HAVING COUNT(*) > 1) x
//!     ->  SELECT o.*, 5 AS n FROM o, LATERAL (SELECT COUNT(*) AS $c0 FROM b WHERE b.j = o.j) $l WHERE $l.$c0 > 1
//! ```
//!
//! DataFusion 55 makes an outer join of such totals, which are a row also of nothing: what is left in a list above them would be NULL for rows without any
//! match, and a condition above them would lose nothing.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::alias::AliasGenerator;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, Result, Spans};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    Expr, Filter, Join, JoinType, LogicalPlan, LogicalPlanBuilder, Projection, Subquery, SubqueryAlias, lit,
    when,
};

use super::limits::numbered;
use super::peeled::{Peeled, beside, is_totals, written_over};
use super::{any_step, asks_outer, check_names};

/// A column that is true in rows that the subquery has.
const THERE: &str = "$there";

/// What is computed above a join.
pub(super) struct Above {
    conditions: Vec<Expr>,
    columns: Vec<Expr>,
}

impl Above {
    /// The join's rows with it.
    pub(super) fn of(self, join: LogicalPlan) -> Result<LogicalPlan> {
        let mut plan = join;
        if let Some(condition) = conjunction(self.conditions) {
            plan = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(plan))?);
        }
        Ok(LogicalPlan::Projection(Projection::try_new(self.columns, Arc::new(plan))?))
    }
}

/// A join whose LATERAL subquery has plain columns, and what is computed above it; any other join as it is.
pub(super) fn lifted(join: Join, aliases: &AliasGenerator) -> Result<(Join, Option<Above>)> {
    let Some(subquery) = subquery_of(&join.right) else { return Ok((join, None)) };
    check_names(&subquery.subquery, &[join.left.schema()])?;
    if !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
        return Ok((join, None));
    }
    let peeled = Peeled::new(with_numbers(&join.right, aliases)?)?;
    let asks_totals = is_totals(&peeled.base) && asks_outer(&peeled.base);
    if !asks_totals && !peeled.columns.iter().any(Expr::contains_outer) {
        return Ok((join, None));
    }
    let (join, above) = parts(join, peeled, aliases)?;
    Ok((join, Some(above)))
}

/// The right side of a join with numbers in place of the limits of its subquery, whose lists can be lifted then.
fn with_numbers(right: &LogicalPlan, aliases: &AliasGenerator) -> Result<LogicalPlan> {
    match right {
        LogicalPlan::Subquery(subquery) => {
            let plan = numbered(subquery.subquery.as_ref().clone(), aliases)?;
            Ok(LogicalPlan::Subquery(subquery.with_plan(Arc::new(plan))))
        }
        right => {
            right.clone().map_children(|input| with_numbers(&input, aliases).map(Transformed::yes)).data()
        }
    }
}

/// The subquery that the right side of a join is.
fn subquery_of(right: &LogicalPlan) -> Option<&Subquery> {
    match right {
        LogicalPlan::Subquery(subquery) => Some(subquery),
        LogicalPlan::SubqueryAlias(alias) => subquery_of(&alias.input),
        LogicalPlan::Projection(projection) => subquery_of(&projection.input),
        _ => None,
    }
}

fn parts(join: Join, peeled: Peeled, aliases: &AliasGenerator) -> Result<(Join, Above)> {
    let (left, schema) = (Arc::clone(join.left.schema()), Arc::clone(&join.schema));
    let has_totals = is_totals(&peeled.base);
    let name = aliases.next("$lateral");
    let mut plain = vec![];
    let mut renamed = HashMap::new();
    for (at, column) in peeled.base.schema().columns().into_iter().enumerate() {
        let own = format!("$c{at}");
        plain.push(Expr::Column(column.clone()).alias(&own));
        renamed.insert(column, Expr::Column(Column::new(Some(name.as_str()), own)));
    }
    plain.push(lit(true).alias(THERE));
    let written = |expr: Expr| beside(written_over(expr, &renamed)?);
    let columns = peeled.columns.into_iter().map(written).collect::<Result<Vec<_>>>()?;
    let mut conditions = peeled.conditions.into_iter().map(written).collect::<Result<Vec<_>>>()?;
    let right = join.right.schema().columns().into_iter().zip(columns.iter().cloned()).collect();
    let on = join.on.into_iter().map(|(left, right)| left.eq(right)).chain(join.filter);
    for part in on {
        conditions.push(written_over(part, &right)?);
    }
    let right = subquery(Projection::try_new(plain, Arc::new(peeled.base))?)?;
    let right = SubqueryAlias::try_new(Arc::new(right), name.as_str())?;
    // What has no row of the right side has none of its values, whatever they are computed of.
    let is_left = join.join_type == JoinType::Left;
    let is_there = match (is_left, has_totals) {
        (false, _) => None,
        (true, true) => conjunction(std::mem::take(&mut conditions)).map(Expr::is_true),
        (true, false) => Some(Expr::Column(Column::new(Some(name.as_str()), THERE))),
    };
    let (kind, on) = match is_left && !has_totals {
        true => (JoinType::Left, std::mem::take(&mut conditions)),
        false => (JoinType::Inner, vec![]),
    };
    let join = LogicalPlanBuilder::from(Arc::unwrap_or_clone(join.left)).join_on(
        LogicalPlan::SubqueryAlias(right),
        kind,
        on,
    )?;
    let LogicalPlan::Join(join) = join.build()? else { unreachable!("a builder of joins makes joins") };
    let lefts = left.columns().into_iter().map(Expr::Column);
    let named = schema.iter().skip(left.fields().len()).zip(columns).map(|((table, field), value)| {
        let value = match &is_there {
            Some(is_there) => when(is_there.clone(), value).end()?,
            None => value,
        };
        Ok(value.alias_qualified(table.cloned(), field.name()))
    });
    let columns = lefts.map(Ok).chain(named).collect::<Result<Vec<_>>>()?;
    Ok((join, Above { conditions, columns }))
}

/// The list as a subquery, if it names the outer row.
fn subquery(list: Projection) -> Result<LogicalPlan> {
    let plan = LogicalPlan::Projection(list);
    if !any_step(&plan, LogicalPlan::contains_outer_reference) {
        return Ok(plan);
    }
    let outer_ref_columns = plan.all_out_ref_exprs();
    Ok(LogicalPlan::Subquery(Subquery { subquery: Arc::new(plan), outer_ref_columns, spans: Spans::new() }))
}
