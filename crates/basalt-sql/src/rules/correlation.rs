// SPDX-License-Identifier: Apache-2.0
//! What conditions of a subquery ask of the outer row, made ready for the rules that turn the subquery into a join.
//!
//! Those rules (DataFusion 55, `PullUpCorrelatedExpr`) take each such condition out of the subquery, add the columns that it names to
//! everything above it, and ask it of the joined rows. They go wrong in three ways, each of which is met here:
//!
//! 1. They know the added columns by their names alone. Two of one name (`b.j = o.j AND c.j = o.k`), or one that is called what the subquery's list calls
//!    another, become one column. Here such columns get names of their own below the condition.
//! 2. Joins, derived tables and views above a condition keep the columns that they had. Here derived tables become projections, and what is below a join has the columns
//!    already.
//! 3. They take conditions out from below everything. From below the optional side of an outer join, a window function, an OFFSET or totals that are one row, of
//!    no rows too, a condition may not go: that is refused.
//! 4. Below totals they take an equality of a column, also one that is cast, and group by the column. Columns of two values that are cast to one are two groups then, of which the outer row
//!    finds both. Here what is compared, be it a cast or anything else of a row, is a column of its own below the condition ([`computed`]).

mod computed;
mod lateral;
mod limits;
mod marks;
mod peeled;
mod value;

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::common::alias::AliasGenerator;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result, TableReference, not_impl_err};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{
    Aggregate, Expr, Filter, JoinType, LogicalPlan, Projection, Subquery, SubqueryAlias,
};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

pub(crate) use computed::is_equality;
use computed::{computed_side, computes};

/// The beginning of the names that columns get.
const ASKED: &str = "$asked";

/// The rule.
#[derive(Debug)]
pub(super) struct Correlation;

impl OptimizerRule for Correlation {
    fn name(&self) -> &str {
        "correlation"
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let aliases = config.alias_generator();
        plan.transform_up_with_subqueries(|plan| of_plan(plan, aliases))
    }
}

/// What a subquery is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Whether it has rows.
    Exists,
    /// Whether a value is among its rows.
    Members,
    /// One value.
    Value,
    /// Its rows, beside the outer one.
    Lateral,
}

fn of_plan(plan: LogicalPlan, aliases: &AliasGenerator) -> Result<Transformed<LogicalPlan>> {
    if let LogicalPlan::Join(join) = plan {
        let (mut join, above) = lateral::lifted(join, aliases)?;
        let right = lateral_side(Arc::unwrap_or_clone(join.right), aliases)?;
        let changed = right.transformed || above.is_some();
        join.right = Arc::new(right.data);
        let join = LogicalPlan::Join(join);
        let plan = match above {
            Some(above) => above.of(join)?,
            None => join,
        };
        return Ok(Transformed::new(plan, changed, TreeNodeRecursion::Continue));
    }
    if !super::has_subquery(&plan) {
        return Ok(Transformed::no(plan));
    }
    let names = NamePreserver::new(&plan);
    let schemas: Vec<_> = plan.inputs().into_iter().map(|input| Arc::clone(input.schema())).collect();
    let around: Vec<_> = schemas.iter().map(Arc::as_ref).collect();
    let prepared = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let of_expr = |expr| {
            if let Some(subquery) = subquery_of(&expr) {
                check_names(&subquery.subquery, &around)?;
            }
            of_expr(expr, aliases)
        };
        Ok(expr.transform_up(of_expr)?.update_data(|expr| name.restore(expr)))
    })?;
    prepared.transform_data(|plan| marks::joined(plan, aliases))
}

/// The right side of a join, if it is a subquery of the left one.
fn lateral_side(right: LogicalPlan, aliases: &AliasGenerator) -> Result<Transformed<LogicalPlan>> {
    Ok(match right {
        LogicalPlan::Subquery(subquery) => {
            of_subquery(subquery, Role::Lateral, aliases)?.update_data(LogicalPlan::Subquery)
        }
        LogicalPlan::SubqueryAlias(alias) if matches!(*alias.input, LogicalPlan::Subquery(_)) => {
            let input = lateral_side(Arc::unwrap_or_clone(alias.input), aliases)?;
            let changed = input.transformed;
            let alias = SubqueryAlias::try_new(Arc::new(input.data), alias.alias)?;
            Transformed::new(LogicalPlan::SubqueryAlias(alias), changed, TreeNodeRecursion::Continue)
        }
        other => Transformed::no(other),
    })
}

/// The query of an expression that is one.
fn subquery_of(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::Exists(Exists { subquery, .. })
        | Expr::InSubquery(InSubquery { subquery, .. })
        | Expr::ScalarSubquery(subquery) => Some(subquery),
        _ => None,
    }
}

/// An error if a subquery names a row that is none of the query around it, which has these columns: that of a query further out.
fn check_names(plan: &LogicalPlan, around: &[&DFSchema]) -> Result<()> {
    let mut stranger = None;
    any_step(plan, |step| {
        let look = |expr: &Expr| {
            expr.apply(|expr| {
                if let Expr::OuterReferenceColumn(_, column) = expr
                    && !around.iter().any(|schema| schema.has_column(column))
                {
                    stranger = Some(column.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        };
        step.apply_expressions(look).expect("the closure does not fail");
        stranger.is_some()
    });
    match stranger {
        Some(column) => not_impl_err!(
            "a subquery that names a column of a query further out than the one around it: {column}"
        ),
        None => Ok(()),
    }
}

fn of_expr(expr: Expr, aliases: &AliasGenerator) -> Result<Transformed<Expr>> {
    Ok(match expr {
        Expr::Exists(Exists { subquery, negated }) => of_subquery(subquery, Role::Exists, aliases)?
            .update_data(|subquery| Expr::Exists(Exists { subquery, negated })),
        Expr::InSubquery(InSubquery { expr, subquery, negated }) => {
            of_subquery(subquery, Role::Members, aliases)?
                .update_data(|subquery| Expr::InSubquery(InSubquery { expr, subquery, negated }))
        }
        Expr::ScalarSubquery(subquery) => of_value(subquery, aliases)?,
        other => Transformed::no(other),
    })
}

fn of_value(subquery: Subquery, aliases: &AliasGenerator) -> Result<Transformed<Expr>> {
    let of_value =
        |subquery| Ok(of_subquery(subquery, Role::Value, aliases)?.update_data(Expr::ScalarSubquery));
    let Some(expr) = value::taken_apart(&subquery)? else { return of_value(subquery) };
    let total = |expr| match expr {
        Expr::ScalarSubquery(subquery) => of_value(subquery),
        other => Ok(Transformed::no(other)),
    };
    Ok(Transformed::yes(expr.transform_up(total).data()?))
}

fn of_subquery(subquery: Subquery, role: Role, aliases: &AliasGenerator) -> Result<Transformed<Subquery>> {
    if !any_step(&subquery.subquery, LogicalPlan::contains_outer_reference) {
        return Ok(Transformed::no(subquery));
    }
    let plan = match role {
        Role::Exists => limits::rows_alone(Arc::clone(&subquery.subquery))?,
        _ => Arc::clone(&subquery.subquery),
    };
    let plan = limits::numbered(Arc::unwrap_or_clone(plan), aliases)?;
    Place { role, is_top: true, has_totals: false, closed: None }.check(&plan)?;
    // A condition that stands beside a LATERAL subquery may name tables as the subquery does.
    let is_plain = !has_lists(&plan) && !has_marks(&plan) && has_own_names(&plan) && !computes(&plan);
    if role != Role::Lateral && is_plain {
        return Ok(Transformed::yes(Subquery { subquery: Arc::new(plan), ..subquery }));
    }
    let columns = plan.schema().columns();
    let mut made = Names { aliases, has_join: false, has_totals: false }.made(plan)?;
    if made.schema().fields().len() != columns.len() {
        let list = columns.into_iter().map(Expr::Column).collect();
        made = LogicalPlan::Projection(Projection::try_new(list, Arc::new(made))?);
    }
    Ok(Transformed::yes(Subquery { subquery: Arc::new(made), ..subquery }))
}

/// The inputs of a step, without the queries of its expressions.
fn any_step(plan: &LogicalPlan, mut is: impl FnMut(&LogicalPlan) -> bool) -> bool {
    let mut steps = vec![plan];
    while let Some(step) = steps.pop() {
        if is(step) {
            return true;
        }
        if !matches!(step, LogicalPlan::Subquery(_)) {
            steps.extend(step.inputs());
        }
    }
    false
}

/// True for a condition about the outer row.
fn is_asking(step: &LogicalPlan) -> bool {
    matches!(step, LogicalPlan::Filter(filter) if filter.predicate.contains_outer())
}

/// True if there is such a condition.
fn asks_outer(plan: &LogicalPlan) -> bool {
    any_step(plan, is_asking)
}

/// True if a derived table, or a list of columns below a join, has such a condition below it.
fn has_lists(plan: &LogicalPlan) -> bool {
    let is_list = |step: &LogicalPlan| {
        matches!(step, LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_)) && asks_outer(step)
    };
    any_step(plan, |step| match step {
        LogicalPlan::SubqueryAlias(_) => asks_outer(step),
        LogicalPlan::Join(_) => any_step(step, is_list),
        _ => false,
    })
}

/// True of a list that asks other subqueries: what they are joined with may be the same rows, which the rules that follow tell apart by what is
/// computed of them.
fn has_marks(plan: &LogicalPlan) -> bool {
    any_step(plan, |step| matches!(step, LogicalPlan::Join(join) if join.join_type == JoinType::LeftMark))
}

/// The columns that conditions compare with the outer row.
fn asked(filter: &Filter) -> Vec<Column> {
    let parts = split_conjunction(&filter.predicate).into_iter().filter(|part| part.contains_outer());
    parts.flat_map(|part| part.column_refs().into_iter().cloned()).collect()
}

/// True if no two of these columns have one name, nor a column of the list that of another.
fn has_own_names(plan: &LogicalPlan) -> bool {
    let mut names: BTreeMap<String, Column> = BTreeMap::new();
    let mut add = |column: Column| match names.get(&column.name) {
        Some(other) => *other == column,
        None => {
            names.insert(column.name.clone(), column);
            true
        }
    };
    let shown = plan.schema().columns();
    if !shown.into_iter().all(&mut add) {
        return false;
    }
    !any_step(plan, |step| match step {
        LogicalPlan::Filter(filter) => !asked(filter).into_iter().all(&mut add),
        _ => false,
    })
}

/// A place in a subquery.
#[derive(Debug, Clone, Copy)]
struct Place {
    role: Role,
    /// True where there are only lists above, and conditions.
    is_top: bool,
    /// True below totals.
    has_totals: bool,
    /// What is above that no condition can leave.
    closed: Option<&'static str>,
}

impl Place {
    /// An error if a condition about the outer row is where it cannot leave.
    fn check(self, plan: &LogicalPlan) -> Result<()> {
        match plan {
            LogicalPlan::Filter(filter) => self.check_condition(filter)?,
            LogicalPlan::Subquery(_) => {}
            plan if plan.contains_outer_reference() => {
                return not_impl_err!(
                    "a subquery that names the outer row elsewhere than in WHERE or HAVING: in a list, an aggregate or ON"
                );
            }
            _ => {}
        }
        let inside = Self { is_top: false, ..self };
        let closed = |above| Self { closed: Some(self.closed.unwrap_or(above)), ..inside };
        match plan {
            LogicalPlan::Subquery(_) => Ok(()),
            LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) | LogicalPlan::Filter(_) => {
                self.check_inputs(plan)
            }
            LogicalPlan::Limit(limit) if self.role == Role::Exists && self.is_top && limit.skip.is_none() => {
                self.check_inputs(plan)
            }
            LogicalPlan::Limit(_) => closed("LIMIT or OFFSET").check_inputs(plan),
            LogicalPlan::Window(_) => closed("a window function").check_inputs(plan),
            LogicalPlan::Union(_) => closed("UNION").check_inputs(plan),
            LogicalPlan::Aggregate(aggregate) => {
                let is_value = matches!(self.role, Role::Value | Role::Lateral) && self.is_top;
                let one_row = aggregate.group_expr.is_empty() && !is_value;
                let place = if one_row || super::has_sets(aggregate) {
                    closed("totals that are one row also of none")
                } else {
                    inside
                };
                let has_totals = self.has_totals || !aggregate.aggr_expr.is_empty();
                Self { has_totals, ..place }.check_inputs(plan)
            }
            LogicalPlan::Join(join) => {
                const OUTER: &str = "an outer join";
                let (left, right) = match join.join_type {
                    JoinType::Inner => (inside, inside),
                    JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => {
                        (inside, closed(OUTER))
                    }
                    JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => {
                        (closed(OUTER), inside)
                    }
                    JoinType::Full => (closed(OUTER), closed(OUTER)),
                };
                left.check(&join.left)?;
                right.check(&join.right)
            }
            _ => inside.check_inputs(plan),
        }
    }

    fn check_condition(self, filter: &Filter) -> Result<()> {
        for part in split_conjunction(&filter.predicate).into_iter().filter(|part| part.contains_outer()) {
            if let Some(above) = self.closed {
                return not_impl_err!("a condition of a subquery on the outer row, below {above}");
            }
            if self.has_totals && !is_equality(part) {
                return not_impl_err!(
                    "a condition of a subquery on the outer row, below totals, other than that something of its rows equals something of the outer row"
                );
            }
        }
        Ok(())
    }

    fn check_inputs(self, plan: &LogicalPlan) -> Result<()> {
        plan.inputs().into_iter().try_for_each(|input| self.check(input))
    }
}

/// The columns that were added to a plan and are in no list yet.
fn added(plan: &LogicalPlan, list: &[Expr]) -> Vec<Expr> {
    let columns = plan.schema().columns().into_iter();
    let added = columns.filter(|column| column.relation.is_none() && column.name.starts_with(ASKED));
    added.map(Expr::Column).filter(|column| !list.contains(column)).collect()
}

/// Gives columns names of their own.
#[derive(Clone, Copy)]
struct Names<'a> {
    aliases: &'a AliasGenerator,
    /// True below a join.
    has_join: bool,
    /// True below totals.
    has_totals: bool,
}

impl Names<'_> {
    /// The plan, whose conditions on the outer row name columns that nobody else has. They are added to their inputs, whose other columns stay.
    fn made(self, plan: LogicalPlan) -> Result<LogicalPlan> {
        match plan {
            LogicalPlan::SubqueryAlias(alias) if asks_outer(&alias.input) => {
                let columns = alias.input.schema().columns();
                let input = self.made(Arc::unwrap_or_clone(alias.input))?;
                let fields = alias.schema.fields().iter();
                let named = |(column, field): (Column, &Arc<_>)| {
                    let field: &datafusion::arrow::datatypes::Field = field;
                    Expr::Column(column)
                        .alias_qualified(Some(TableReference::clone(&alias.alias)), field.name())
                };
                let list = columns.into_iter().zip(fields).map(named).collect();
                self.with_added(list, Arc::new(input))
            }
            LogicalPlan::Projection(projection) => {
                let input = self.made(Arc::unwrap_or_clone(projection.input))?;
                self.with_added(projection.expr, Arc::new(input))
            }
            LogicalPlan::Subquery(_) => Ok(plan),
            plan => {
                let inside = Self {
                    has_join: self.has_join || matches!(plan, LogicalPlan::Join(_)),
                    has_totals: self.has_totals || computed::is_totals(&plan),
                    ..self
                };
                let plan = plan.map_children(|input| inside.made(input).map(Transformed::yes)).data()?;
                match plan.recompute_schema()? {
                    LogicalPlan::Filter(filter) if filter.predicate.contains_outer() => {
                        self.condition(filter)
                    }
                    LogicalPlan::Aggregate(aggregate) if self.has_join => {
                        let mut groups = aggregate.group_expr;
                        groups.extend(added(&aggregate.input, &groups));
                        let made = Aggregate::try_new(aggregate.input, groups, aggregate.aggr_expr)?;
                        Ok(LogicalPlan::Aggregate(made))
                    }
                    plan => Ok(plan),
                }
            }
        }
    }

    /// The list, below a join with the columns that were added below it.
    fn with_added(self, mut list: Vec<Expr>, input: Arc<LogicalPlan>) -> Result<LogicalPlan> {
        if self.has_join {
            list.extend(added(&input, &list));
        }
        Ok(LogicalPlan::Projection(Projection::try_new(list, input)?))
    }

    fn condition(self, filter: Filter) -> Result<LogicalPlan> {
        let asked: Vec<(Expr, String)> =
            self.asked(&filter).into_iter().map(|expr| (expr, self.aliases.next(ASKED))).collect();
        let all = filter.input.schema().columns().into_iter().map(Expr::Column);
        let named = asked.iter().map(|(expr, name)| expr.clone().alias(name));
        let input = Projection::try_new(all.chain(named).collect(), filter.input)?;
        let part = |part: &Expr| {
            let part = part.clone();
            if !part.contains_outer() {
                return Ok(part);
            }
            let renamed = |expr| {
                let name = asked.iter().find(|(asked, _)| *asked == expr).map(|(_, name)| name);
                Ok(match name {
                    Some(name) => {
                        let column = Expr::Column(Column::new_unqualified(name));
                        Transformed::new(column, true, TreeNodeRecursion::Jump)
                    }
                    None => Transformed::no(expr),
                })
            };
            part.transform_down(renamed).data()
        };
        let parts = split_conjunction(&filter.predicate).into_iter().map(part).collect::<Result<Vec<_>>>()?;
        let predicate = conjunction(parts).unwrap_or(filter.predicate);
        Ok(LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(LogicalPlan::Projection(input)))?))
    }

    /// What conditions compare with the outer row, each once: columns, and below totals also what is computed of a row.
    fn asked(self, filter: &Filter) -> Vec<Expr> {
        let mut asked = vec![];
        let parts = split_conjunction(&filter.predicate).into_iter().filter(|part| part.contains_outer());
        for part in parts {
            let side = computed_side(part, filter.input.schema()).filter(|_| self.has_totals);
            let exprs = match side {
                Some(side) => vec![side.clone()],
                None => part.column_refs().into_iter().cloned().map(Expr::Column).collect(),
            };
            for expr in exprs {
                if !asked.contains(&expr) {
                    asked.push(expr);
                }
            }
        }
        asked
    }
}
