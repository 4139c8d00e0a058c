// SPDX-License-Identifier: Apache-2.0
//! How many rows a part of a plan gives, about. Tables know how many they have; what conditions leave of them is guessed from
//! their form, as long as nobody keeps statistics of values.

use std::sync::Arc;

use datafusion::common::Column;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Expr, Join, JoinType, LogicalPlan, Operator, Projection, TableScan,
};

use crate::scan::BasaltTable;

/// Share of the rows that a comparison with one value leaves.
pub(super) const EQUAL: f64 = 0.1;
/// The same of `<`, `>=` and their like, and of conditions on two columns.
const COMPARED: f64 = 0.33;
/// The same of LIKE.
const LIKE: f64 = 0.1;
/// The same of anything else.
const OTHER: f64 = 0.25;
/// The same of a join that only asks whether there is a partner.
const PARTNER: f64 = 0.5;
/// Groups for each row that is grouped by columns that are no key.
const GROUPS: f64 = 0.25;
/// Rows of what nothing is known of.
const ROWS: f64 = 1000.0;

/// What is known of the rows of a plan.
#[derive(Debug, Clone)]
pub(super) struct Estimate {
    /// At least 1.
    pub(super) rows: f64,
    /// Rows without conditions.
    pub(super) all_rows: f64,
    /// Columns of which no two rows have the same values; none if that is not known.
    pub(super) key: Vec<Column>,
}

impl Estimate {
    /// Of a plan.
    pub(super) fn of(plan: &LogicalPlan) -> Self {
        match plan {
            LogicalPlan::TableScan(scan) => of_table(scan),
            LogicalPlan::Filter(filter) => Self::of(&filter.input).filtered([&filter.predicate]),
            LogicalPlan::SubqueryAlias(alias) => {
                let of = Self::of(&alias.input);
                let renamed = |column: &Column| Column::new(Some(alias.alias.clone()), column.name.clone());
                Self { key: of.key.iter().map(renamed).collect(), ..of }
            }
            LogicalPlan::Projection(projection) => of_projection(projection),
            LogicalPlan::Aggregate(aggregate) => of_groups(aggregate),
            LogicalPlan::Join(join) => of_join(join),
            LogicalPlan::Limit(_) | LogicalPlan::Sort(_) => {
                let of = Self::of(plan.inputs()[0]);
                let rows = plan.fetch().ok().flatten().map_or(of.rows, |fetch| of.rows.min(fetch as f64));
                Self { rows: rows.max(1.0), ..of }
            }
            LogicalPlan::Values(values) => Self::without_key(values.values.len() as f64),
            LogicalPlan::EmptyRelation(_) => Self::without_key(1.0),
            LogicalPlan::Union(union) => {
                Self::without_key(union.inputs.iter().map(|input| Self::of(input).rows).sum())
            }
            other => {
                let inputs = other.inputs();
                Self::without_key(inputs.iter().map(|input| Self::of(input).rows).fold(ROWS, f64::max))
            }
        }
    }

    fn without_key(rows: f64) -> Self {
        Self { rows: rows.max(1.0), all_rows: rows.max(1.0), key: Vec::new() }
    }

    /// What conditions leave.
    fn filtered<'a>(self, conditions: impl IntoIterator<Item = &'a Expr>) -> Self {
        let parts = conditions.into_iter().flat_map(split_conjunction);
        let share: f64 = parts.map(|part| self.share(part)).product();
        Self { rows: (self.rows * share).max(1.0), ..self }
    }

    /// Number of different values of a column, if it is known.
    pub(super) fn distinct(&self, column: &Column) -> Option<f64> {
        matches!(&self.key[..], [key] if key == column).then_some(self.all_rows)
    }

    fn share(&self, condition: &Expr) -> f64 {
        let one_of = |column: &Expr| match column {
            Expr::Column(column) => self.distinct(column).map_or(EQUAL, |values| 1.0 / values.max(1.0)),
            _ => EQUAL,
        };
        let share = match condition {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
                Operator::And => self.share(left) * self.share(right),
                Operator::Or => self.share(left) + self.share(right),
                Operator::Eq if matches!(**right, Expr::Literal(..)) => one_of(left),
                Operator::Eq if matches!(**left, Expr::Literal(..)) => one_of(right),
                Operator::NotEq => 1.0 - EQUAL,
                _ => COMPARED,
            },
            Expr::InList(list) => {
                let share = (one_of(&list.expr) * list.list.len() as f64).min(PARTNER);
                if list.negated { 1.0 - share } else { share }
            }
            Expr::Between(between) if !between.negated => COMPARED * COMPARED,
            Expr::Like(like) if !like.negated => LIKE,
            Expr::Like(_) | Expr::IsNotNull(_) => 1.0 - LIKE,
            Expr::Not(inner) => 1.0 - self.share(inner),
            _ => OTHER,
        };
        share.clamp(0.0, 1.0)
    }
}

/// The share of all pairs of rows that a condition on two sides leaves.
pub(super) fn share_of_pairs(condition: &Expr) -> f64 {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            (share_of_pairs(left) + share_of_pairs(right)).min(1.0)
        }
        Expr::BinaryExpr(BinaryExpr { op: Operator::Eq, .. }) => EQUAL,
        _ => COMPARED,
    }
}

fn of_table(scan: &TableScan) -> Estimate {
    let provider = source_as_provider(&scan.source).ok();
    let table = provider.as_ref().and_then(|provider| {
        let any: &dyn std::any::Any = provider.as_ref();
        any.downcast_ref::<BasaltTable>()
    });
    let Some(table) = table else { return Estimate::without_key(ROWS).filtered(&scan.filters) };
    let column = |name: &String| Column::new(Some(scan.table_name.clone()), name.clone());
    let key = table.table_schema().key.iter().map(|key| column(&key.name)).collect();
    let all_rows = (table.rows_estimate() as f64).max(1.0);
    let of = Estimate { rows: all_rows, all_rows, key }.filtered(&scan.filters);
    Estimate { rows: scan.fetch.map_or(of.rows, |fetch| of.rows.min(fetch as f64)).max(1.0), ..of }
}

fn of_projection(projection: &Projection) -> Estimate {
    let of = Estimate::of(&projection.input);
    let shown = projection.schema.columns();
    let name = |column: &Column| {
        let is_it = |expr: &Expr| match expr {
            Expr::Alias(alias) => matches!(&*alias.expr, Expr::Column(inner) if inner == column),
            Expr::Column(inner) => inner == column,
            _ => false,
        };
        projection.expr.iter().position(is_it).map(|at| shown[at].clone())
    };
    let key = of.key.iter().map(name).collect::<Option<_>>().unwrap_or_default();
    Estimate { key, ..of }
}

fn of_groups(aggregate: &Aggregate) -> Estimate {
    let of = Estimate::of(&aggregate.input);
    if aggregate.group_expr.is_empty() {
        return Estimate::without_key(1.0);
    }
    let grouped = |column: &Column| {
        aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::Column(group) if group == column))
    };
    let by_key = !of.key.is_empty() && of.key.iter().all(grouped);
    let rows = if by_key { of.rows } else { (of.rows * GROUPS).max(1.0) };
    let key = aggregate.schema.columns()[..aggregate.group_expr.len()].to_vec();
    Estimate { rows, all_rows: rows, key }
}

fn of_join(join: &Join) -> Estimate {
    let (left, right) = (Estimate::of(&join.left), Estimate::of(&join.right));
    let equal = |(left, right): &'_ (Expr, Expr)| (left.try_as_col().cloned(), right.try_as_col().cloned());
    let columns: Vec<_> = join.on.iter().map(equal).collect();
    let pairs: Vec<_> = columns
        .iter()
        .map(|(left, right)| EqualPair { left: left.as_ref(), right: right.as_ref(), values: None })
        .collect();
    let share = share_of_keys(&left, &right, &pairs);
    let inner = left.rows * right.rows * share;
    match join.join_type {
        JoinType::LeftSemi | JoinType::LeftAnti => Estimate { rows: (left.rows * PARTNER).max(1.0), ..left },
        JoinType::RightSemi | JoinType::RightAnti => {
            Estimate { rows: (right.rows * PARTNER).max(1.0), ..right }
        }
        JoinType::LeftMark => left,
        JoinType::RightMark => right,
        JoinType::Inner => Estimate::without_key(inner),
        JoinType::Left => Estimate::without_key(inner.max(left.rows)),
        JoinType::Right => Estimate::without_key(inner.max(right.rows)),
        JoinType::Full => Estimate::without_key(inner.max(left.rows + right.rows)),
    }
}

/// Columns of two sides that are equal; `None` for what is no column.
#[derive(Debug, Clone, Copy)]
pub(super) struct EqualPair<'a> {
    pub(super) left: Option<&'a Column>,
    pub(super) right: Option<&'a Column>,
    /// Number of values that they can have, if it is known.
    pub(super) values: Option<f64>,
}

/// The share of all pairs of rows whose columns are equal.
pub(super) fn share_of_keys(left: &Estimate, right: &Estimate, pairs: &[EqualPair<'_>]) -> f64 {
    let has_key = |side: &Estimate, named: Vec<Option<&Column>>| {
        !side.key.is_empty() && side.key.iter().all(|key| named.contains(&Some(key)))
    };
    // Every row of one side has one partner at most: what the other names are its keys, as a rule.
    if has_key(right, pairs.iter().map(|pair| pair.right).collect()) {
        return 1.0 / right.all_rows;
    }
    if has_key(left, pairs.iter().map(|pair| pair.left).collect()) {
        return 1.0 / left.all_rows;
    }
    if pairs.is_empty() {
        return 1.0;
    }
    let (fewer, more) = (left.all_rows.min(right.all_rows), left.all_rows.max(right.all_rows));
    let shares = pairs.iter().map(|pair| 1.0 / pair.values.unwrap_or(fewer).max(1.0));
    shares.product::<f64>().max(1.0 / more)
}

/// A plan and its estimate.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    pub(super) plan: Arc<LogicalPlan>,
    pub(super) estimate: Estimate,
}

impl Leaf {
    pub(super) fn new(plan: LogicalPlan) -> Self {
        let estimate = Estimate::of(&plan);
        Self { plan: Arc::new(plan), estimate }
    }
}
