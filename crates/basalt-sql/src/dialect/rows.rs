// SPDX-License-Identifier: Apache-2.0
//! Row values: `(a, b) > (1, 2)` written out as `a > 1 OR (a = 1 AND b > 2)`.
//!
//! The planner knows no row comparison, and written out the key-range extraction finds the one contiguous range
//! in it by itself: the ranges of the two branches touch and are merged.
//!
//! `(a, b) = (SELECT c, d ..)` is written out as the row of `(SELECT c ..)` and `(SELECT d ..)`, each of which has one row at most.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, Query, SelectItem, SetExpr, TableAlias, TableAliasColumnDef, TableFactor,
    UnaryOperator, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::parser::ParserError;

use super::chains::{balance, in_halves};

/// Row values in one list, at most: each is a condition of its own for the planner.
const LISTED_MAX: usize = 5_000;

/// Expands all row comparisons in a query, an expression or a part of FROM, and puts long chains of conditions into halves.
pub(super) fn expand(node: &mut impl VisitMut) -> Result<(), ParserError> {
    match node.visit(&mut Expander) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(message) => Err(ParserError::ParserError(message)),
    }
}

struct Expander;

impl VisitorMut for Expander {
    type Break = String;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<String> {
        balance(expr);
        match expanded(expr) {
            Ok(Some(expanded)) => *expr = expanded,
            Ok(None) => {}
            Err(message) => return ControlFlow::Break(message),
        }
        ControlFlow::Continue(())
    }
}

fn expanded(expr: &Expr) -> Result<Option<Expr>, String> {
    Ok(Some(match expr {
        Expr::BinaryOp { left, op, right } => match (row(left), row(right)) {
            (Some(left), Some(right)) => compare(left, op, right)?,
            (Some(left), None) => match single_row(right, left.len())? {
                Some(right) => compare(left, op, &right)?,
                None => return Ok(None),
            },
            (None, Some(right)) => match single_row(left, right.len())? {
                Some(left) => compare(&left, op, right)?,
                None => return Ok(None),
            },
            (None, None) => return Ok(None),
        },
        Expr::InList { expr, list, negated } => {
            let Some(left) = row(expr) else { return Ok(None) };
            if list.len() > LISTED_MAX {
                return Err(format!(
                    "more than {LISTED_MAX} row values are in one IN list; join with (VALUES ..) instead"
                ));
            }
            let equal = |item: &Expr| {
                let right = row(item).ok_or("a row value can only be compared with row values")?;
                compare(left, &BinaryOperator::Eq, right)
            };
            let equals = list.iter().map(equal).collect::<Result<Vec<_>, String>>()?;
            negate(
                in_halves(equals, &BinaryOperator::Or).ok_or("an IN list needs at least one value")?,
                *negated,
            )
        }
        Expr::Between { expr, negated, low, high } => {
            let (Some(value), Some(low), Some(high)) = (row(expr), row(low), row(high)) else {
                return Ok(None);
            };
            let above = compare(value, &BinaryOperator::GtEq, low)?;
            let below = compare(value, &BinaryOperator::LtEq, high)?;
            negate(join(Some(above), BinaryOperator::And, below), *negated)
        }
        _ => return Ok(None),
    }))
}

fn row(expr: &Expr) -> Option<&[Expr]> {
    match expr {
        Expr::Tuple(values) => Some(values),
        Expr::Nested(inner) => row(inner),
        _ => None,
    }
}

fn compare(left: &[Expr], op: &BinaryOperator, right: &[Expr]) -> Result<Expr, String> {
    if left.len() != right.len() {
        return Err(format!("a row value of {} columns is compared with one of {}", left.len(), right.len()));
    }
    Ok(match op {
        BinaryOperator::Eq => all_equal(left, right),
        BinaryOperator::NotEq => negate(all_equal(left, right), true),
        BinaryOperator::Lt | BinaryOperator::LtEq => lexicographic(left, &BinaryOperator::Lt, op, right),
        BinaryOperator::Gt | BinaryOperator::GtEq => lexicographic(left, &BinaryOperator::Gt, op, right),
        _ => return Err(format!("row values cannot be combined with {op}")),
    })
}

/// The row of a subquery of so many columns, if the expression is one: a subquery for each column. Which row a limit leaves must be the same for all
/// of them.
fn single_row(expr: &Expr, columns: usize) -> Result<Option<Vec<Expr>>, String> {
    let subquery = match expr {
        Expr::Subquery(subquery) => subquery,
        Expr::Nested(inner) => return single_row(inner, columns),
        _ => return Ok(None),
    };
    let is_limited = subquery.limit_clause.is_some() || subquery.fetch.is_some();
    if is_limited && subquery.order_by.is_none() {
        return Err("a row that is compared with that of a subquery with LIMIT needs ORDER BY there: without it any row may come".into());
    }
    let names = column_names(columns);
    let value = |name: &Ident| {
        let mut query = over(subquery, &names);
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.projection = vec![SelectItem::UnnamedExpr(column_of(name))];
        }
        Expr::Subquery(Box::new(query))
    };
    Ok(Some(names.iter().map(value).collect()))
}

/// How many values a row value has; `None` of anything else.
pub(crate) fn width(expr: &Expr) -> Option<usize> {
    row(expr).map(<[Expr]>::len)
}

/// What is asked of a row value's being equal to a row of a subquery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Equal {
    Surely,
    Maybe,
    /// Neither surely nor surely not.
    Unknown,
}

/// Whether a subquery has such a row; `None` if the expression is no row value.
pub(crate) fn exists_equal(expr: &Expr, subquery: &Query, asked: Equal) -> Option<Expr> {
    let left = row(expr)?;
    let names = column_names(left.len());
    let right: Vec<_> = names.iter().map(column_of).collect();
    let equal = all_equal(left, &right);
    let condition = match asked {
        Equal::Surely => equal,
        Equal::Maybe => Expr::IsNotFalse(Box::new(equal)),
        Equal::Unknown => Expr::IsNull(Box::new(equal)),
    };
    let mut query = over(subquery, &names);
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.selection = Some(condition);
    }
    Some(Expr::Exists { subquery: Box::new(query), negated: false })
}

/// What the rows of a subquery are called.
const OF: &str = "$of";

/// Names for the columns of a subquery.
fn column_names(columns: usize) -> Vec<Ident> {
    (0..columns).map(|at| Ident::with_quote('"', format!("$V{at}"))).collect()
}

fn column_of(name: &Ident) -> Expr {
    Expr::CompoundIdentifier(vec![Ident::with_quote('"', OF), name.clone()])
}

/// `SELECT 1 FROM` the subquery, whose columns get these names.
fn over(subquery: &Query, names: &[Ident]) -> Query {
    let mut query = parsed_exists();
    if let SetExpr::Select(select) = query.body.as_mut()
        && let Some(TableFactor::Derived { subquery: inner, alias: shown, .. }) =
            select.from.first_mut().map(|table| &mut table.relation)
    {
        **inner = subquery.clone();
        let columns = names.iter().map(|name| TableAliasColumnDef { name: name.clone(), data_type: None });
        let name = Ident::with_quote('"', OF);
        *shown = Some(TableAlias { explicit: true, name, columns: columns.collect(), at: None });
    }
    query
}

/// `SELECT 1 FROM (SELECT 1)`, to be filled in.
fn parsed_exists() -> Query {
    let tokens = super::tokens::tokenize("SELECT 1 FROM (SELECT 1)").expect("the text is well formed");
    *super::parser_of(tokens).parse_query().expect("the text is a query")
}

fn all_equal(left: &[Expr], right: &[Expr]) -> Expr {
    let mut all = None;
    for (left, right) in left.iter().zip(right) {
        all = Some(join(all, BinaryOperator::And, binary(left, &BinaryOperator::Eq, right)));
    }
    nested(all.expect("a row value has at least one column"))
}

/// `strict` on all columns but the last, which is compared with `last`.
fn lexicographic(left: &[Expr], strict: &BinaryOperator, last: &BinaryOperator, right: &[Expr]) -> Expr {
    if let ([left], [right]) = (left, right) {
        return binary(left, last, right);
    }
    let rest = lexicographic(&left[1..], strict, last, &right[1..]);
    let equal = binary(&left[0], &BinaryOperator::Eq, &right[0]);
    let tail = nested(join(Some(equal), BinaryOperator::And, rest));
    nested(join(Some(binary(&left[0], strict, &right[0])), BinaryOperator::Or, tail))
}

fn binary(left: &Expr, op: &BinaryOperator, right: &Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left.clone()), op: op.clone(), right: Box::new(right.clone()) }
}

fn join(left: Option<Expr>, op: BinaryOperator, right: Expr) -> Expr {
    match left {
        Some(left) => Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) },
        None => right,
    }
}

fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}

fn negate(expr: Expr, negated: bool) -> Expr {
    if negated {
        Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(nested(expr)) }
    } else {
        nested(expr)
    }
}
