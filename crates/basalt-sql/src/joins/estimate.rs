// SPDX-License-Identifier: Apache-2.0
//! How many rows a part of a plan gives, about: by the rows of tables, what is known of their values, their keys, and the form
//! of conditions.

use std::sync::Arc;

use datafusion::common::Column;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Expr, Join, JoinType, LogicalPlan, Operator, Projection, TableScan,
};

use crate::scan::{BasaltTable, COMPARED, EQUAL, ValueFacts, share_of_all};

/// Share of the rows that are left by a join that only asks whether there is a partner.
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
    /// What is known of columns.
    pub(super) facts: Vec<(Column, ValueFacts)>,
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
                let facts = of.facts.iter().map(|(column, facts)| (renamed(column), *facts)).collect();
                Self { key: of.key.iter().map(renamed).collect(), facts, ..of }
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
        Self { rows: rows.max(1.0), all_rows: rows.max(1.0), key: Vec::new(), facts: Vec::new() }
    }

    /// What conditions leave.
    fn filtered<'a>(self, conditions: impl IntoIterator<Item = &'a Expr>) -> Self {
        let facts = |column: &Column| {
            let known = self.facts.iter().find(|(of, _)| of == column).map(|(_, facts)| *facts);
            match self.distinct(column) {
                Some(values) => {
                    Some(ValueFacts { values: Some(values), ..known.unwrap_or(ValueFacts::UNKNOWN) })
                }
                None => known,
            }
        };
        let share = share_of_all(conditions, &facts);
        Self { rows: (self.rows * share).max(1.0), ..self }
    }

    /// Number of different values of a column, if it is known.
    pub(super) fn distinct(&self, column: &Column) -> Option<f64> {
        if matches!(&self.key[..], [key] if key == column) {
            return Some(self.all_rows);
        }
        self.facts.iter().find(|(of, _)| of == column)?.1.values
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
    let named = scan.filters.iter().flat_map(Expr::column_refs).cloned();
    let mut columns: Vec<Column> = scan.projected_schema.columns().into_iter().chain(named).collect();
    columns.sort();
    columns.dedup();
    let known = |column: Column| table.facts(&column.name).map(|facts| (column, facts));
    let facts = columns.into_iter().filter_map(known).collect();
    let of = Estimate { rows: all_rows, all_rows, key, facts }.filtered(&scan.filters);
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
    let facts = of.facts.iter().filter_map(|(column, facts)| Some((name(column)?, *facts))).collect();
    Estimate { key, facts, ..of }
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
    let values = |group: &Expr| group.try_as_col().and_then(|column| of.distinct(column));
    let groups: Option<f64> = aggregate.group_expr.iter().map(values).product();
    let rows = match groups {
        _ if by_key => of.rows,
        Some(groups) => groups.min(of.rows),
        None => (of.rows * GROUPS).max(1.0),
    };
    let key = aggregate.schema.columns()[..aggregate.group_expr.len()].to_vec();
    Estimate { rows, all_rows: rows, key, facts: Vec::new() }
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
