// SPDX-License-Identifier: Apache-2.0
//! Subqueries in arguments of aggregate and window functions, in GROUP BY, in ORDER BY and in ON. The planner joins their rows where rows are chosen or
//! listed, so they become columns of a list beneath, and what was around them names these:
//!
//! ```text
//! SELECT SUM(CASE WHEN x IN (SELECT ..) THEN v END) FROM t
//!     ->  SELECT SUM(CASE WHEN $beneath1 THEN v END) FROM (SELECT *, x IN (SELECT ..) AS $beneath1 FROM t)
//! a JOIN b ON a.k = b.k AND a.x IN (SELECT ..)
//!     ->  a JOIN b ON a.k = b.k WHERE a.x IN (SELECT ..)
//! a LEFT JOIN b ON a.k = b.k AND b.x IN (SELECT ..)
//!     ->  a LEFT JOIN (SELECT *, b.x IN (SELECT ..) AS $beneath1 FROM b) ON a.k = b.k AND $beneath1
//! ```
//!
//! What is of no outer row and one value stays: it is computed once, wherever it stands.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchemaRef, Result, not_impl_err};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, Filter, Join, JoinType, LogicalPlan, Projection, Subquery,
};
use datafusion::optimizer::AnalyzerRule;

/// The beginning of the names of the columns.
const BENEATH: &str = "$beneath";

/// The rule, for before all others.
#[derive(Debug)]
pub(crate) struct SubqueriesBeneath;

impl AnalyzerRule for SubqueriesBeneath {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let mut columns = 0;
        plan.transform_up_with_subqueries(|plan| of_plan(plan, &mut columns)).data()
    }

    fn name(&self) -> &str {
        "subqueries_beneath"
    }
}

fn of_plan(plan: LogicalPlan, columns: &mut usize) -> Result<Transformed<LogicalPlan>> {
    let is_above = matches!(
        plan,
        LogicalPlan::Aggregate(_)
            | LogicalPlan::Window(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Join(_)
            | LogicalPlan::Distinct(Distinct::On(_))
    );
    if !is_above || !plan.expressions().iter().any(has_moving) {
        return Ok(Transformed::no(plan));
    }
    let moved = match plan {
        LogicalPlan::Join(join) if join.join_type == JoinType::Inner => of_inner_join(join)?,
        LogicalPlan::Join(join) => of_outer_join(join, columns)?,
        LogicalPlan::Distinct(_) => {
            return not_impl_err!("a subquery beside DISTINCT ON: a query in FROM gives it a name");
        }
        plan => of_step(plan, columns)?,
    };
    Ok(Transformed::yes(moved))
}

/// The subquery of an expression that has to be beneath.
fn moving(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::Exists(Exists { subquery, .. }) | Expr::InSubquery(InSubquery { subquery, .. }) => {
            Some(subquery)
        }
        Expr::ScalarSubquery(subquery) => Some(subquery).filter(|of| !of.outer_ref_columns.is_empty()),
        _ => None,
    }
}

fn has_moving(expr: &Expr) -> bool {
    expr.exists(|part| Ok(moving(part).is_some())).expect("the closure does not fail")
}

/// The columns of the rows around that an expression and its subqueries name.
fn named(expr: &Expr) -> Vec<Column> {
    let mut named: Vec<_> = expr.column_refs().into_iter().cloned().collect();
    let look = |part: &Expr| {
        let outer = moving(part).into_iter().flat_map(|subquery| &subquery.outer_ref_columns);
        named.extend(outer.filter_map(|outer| match outer {
            Expr::OuterReferenceColumn(_, column) => Some(column.clone()),
            _ => None,
        }));
        Ok(TreeNodeRecursion::Continue)
    };
    expr.apply(look).expect("the closure does not fail");
    named
}

/// Expressions that become columns, each once, and their names.
#[derive(Debug, Default)]
struct Moved(Vec<(Expr, String)>);

impl Moved {
    /// The column in place of an expression.
    fn column(&mut self, expr: Expr, columns: &mut usize) -> Expr {
        let known = self.0.iter().find(|(known, _)| *known == expr).map(|(_, name)| name.clone());
        let name = known.unwrap_or_else(|| {
            *columns += 1;
            let name = format!("{BENEATH}{columns}");
            self.0.push((expr, name.clone()));
            name
        });
        Expr::Column(Column::new_unqualified(name))
    }
}

/// A join of which every row has both sides: what a subquery says may as well be asked of its rows.
fn of_inner_join(mut join: Join) -> Result<LogicalPlan> {
    let conditions = join.filter.take().map(split_conjunction_owned).unwrap_or_default();
    let (above, kept): (Vec<_>, Vec<_>) = conditions.into_iter().partition(has_moving);
    join.filter = conjunction(kept);
    let join = LogicalPlan::Join(join);
    Ok(match conjunction(above) {
        Some(above) => LogicalPlan::Filter(Filter::try_new(above, Arc::new(join))?),
        None => join,
    })
}

/// Another join: each subquery is asked of the rows of the side that it names.
fn of_outer_join(mut join: Join, columns: &mut usize) -> Result<LogicalPlan> {
    let schema = Arc::clone(&join.schema);
    let (mut left, mut right) = (Moved::default(), Moved::default());
    let aside = |expr: Expr| {
        if moving(&expr).is_none() {
            return Ok(Transformed::no(expr));
        }
        let names = named(&expr);
        let is_of = |side: &LogicalPlan| names.iter().all(|column| side.schema().has_column(column));
        let side = match (is_of(&join.right), is_of(&join.left)) {
            (true, _) => &mut right,
            (false, true) => &mut left,
            (false, false) => {
                return not_impl_err!(
                    "a subquery in ON of an outer join that names columns of both sides; a query in FROM for one of them can put the rows together before"
                );
            }
        };
        Ok(Transformed::new(side.column(expr, columns), true, TreeNodeRecursion::Jump))
    };
    join.filter = join.filter.take().map(|filter| filter.transform_down(aside).data()).transpose()?;
    join.left = Arc::new(with_columns(Arc::unwrap_or_clone(join.left), left.0)?);
    join.right = Arc::new(with_columns(Arc::unwrap_or_clone(join.right), right.0)?);
    without_columns(LogicalPlan::Join(join).recompute_schema()?, &schema)
}

/// Totals, windows and orders.
fn of_step(plan: LogicalPlan, columns: &mut usize) -> Result<LogicalPlan> {
    let schema = Arc::clone(plan.schema());
    let mut moved = Moved::default();
    let beneath = |expr: Expr| match moving(&expr) {
        Some(_) => {
            let column = moved.column(expr, columns);
            Ok(Transformed::new(column, true, TreeNodeRecursion::Jump))
        }
        None => Ok(Transformed::no(expr)),
    };
    let mut beneath = beneath;
    let exprs = plan.expressions().into_iter().map(|expr| expr.transform_down(&mut beneath).data());
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    let input = plan.inputs()[0].clone();
    let is_total = matches!(plan, LogicalPlan::Aggregate(_));
    let plan = plan.with_new_exprs(exprs, vec![with_columns(input, moved.0)?])?;
    // Its columns are called after what they are totals of, or windows over.
    let is_number = |name: &str| name == Aggregate::INTERNAL_GROUPING_ID;
    let is_own = |column: &Column| {
        let is_beneath = column.relation.is_none() && column.name.starts_with(BENEATH);
        is_total && !is_number(&column.name) || !is_total && !is_beneath
    };
    let columns = plan.schema().columns().into_iter().filter(is_own);
    let before = schema.iter().filter(|(_, field)| !is_number(field.name()));
    let called = columns.zip(before).map(|(column, (table, field))| {
        let is_same = column.relation.as_ref() == table && column.name == *field.name();
        let column = Expr::Column(column);
        if is_same { column } else { column.alias_qualified(table.cloned(), field.name()) }
    });
    Ok(LogicalPlan::Projection(Projection::try_new(called.collect(), Arc::new(plan))?))
}

/// The columns that a step had before there were more beneath it.
fn without_columns(plan: LogicalPlan, before: &DFSchemaRef) -> Result<LogicalPlan> {
    let list = before.columns().into_iter().map(Expr::Column).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(list, Arc::new(plan))?))
}

/// The rows with these columns besides. Below a list that lacks what they name they are added to the rows of the list.
fn with_columns(input: LogicalPlan, moved: Vec<(Expr, String)>) -> Result<LogicalPlan> {
    if moved.is_empty() {
        return Ok(input);
    }
    let has_all = |plan: &LogicalPlan, (expr, _): &(Expr, String)| {
        named(expr).iter().all(|column| plan.schema().has_column(column))
    };
    if moved.iter().all(|moved| has_all(&input, moved)) {
        let mut list: Vec<_> = input.schema().columns().into_iter().map(Expr::Column).collect();
        list.extend(moved.into_iter().map(|(expr, name)| expr.alias(name)));
        return Ok(LogicalPlan::Projection(Projection::try_new(list, Arc::new(input))?));
    }
    let LogicalPlan::Projection(Projection { expr: mut list, input, schema, .. }) = input else {
        return not_impl_err!(
            "a subquery in ORDER BY that names columns which the rows in order do not have: give it a name in the select list"
        );
    };
    let values = list.iter().map(|expr| expr.clone().unalias());
    let values: HashMap<Column, Expr> = schema.columns().into_iter().zip(values).collect();
    let over_rows = |expr: Expr| match &expr {
        Expr::Column(column) => Ok(match values.get(column) {
            Some(value) => Transformed::new(value.clone(), true, TreeNodeRecursion::Jump),
            None => Transformed::no(expr),
        }),
        _ => Ok(Transformed::no(expr)),
    };
    let moved = moved.into_iter().map(|(expr, name)| Ok((expr.transform_down(over_rows).data()?, name)));
    let moved = moved.collect::<Result<Vec<_>>>()?;
    list.extend(moved.iter().map(|(_, name)| Expr::Column(Column::new_unqualified(name))));
    let input = with_columns(Arc::unwrap_or_clone(input), moved)?;
    Ok(LogicalPlan::Projection(Projection::try_new(list, Arc::new(input))?))
}
