// SPDX-License-Identifier: Apache-2.0
//! `x < ANY (SELECT ..)`, `x < ALL (SELECT ..)` and `(x, y) IN (SELECT ..)`, as questions whether there are rows for which the comparison holds, does
//! not, or is unknown. Of `x IN (SELECT ..)` see [`super::membership`].
//!
//! | | ANY | ALL |
//! |---|---|---|
//! | true | of some row it holds | of every row it holds |
//! | false | of no row it holds or is unknown | of some row it does not hold |
//! | unknown | else | else |
//!
//! In a condition unknown counts as false, under a NOT in it as true: there one question is enough. Elsewhere all three are told apart.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Query, UnaryOperator};

use crate::dialect::{self, Equal, exists_equal, width};
use crate::functions::{ALL_OF, ANY_OF};

/// Rewrites those of a condition that stand below nothing but AND, OR and NOT.
pub(super) fn condition(expr: &mut Expr) {
    in_condition(expr, false);
}

fn in_condition(expr: &mut Expr, under_not: bool) {
    match expr {
        Expr::Nested(inner) => in_condition(inner, under_not),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => in_condition(expr, !under_not),
        Expr::BinaryOp { left, op: BinaryOperator::And | BinaryOperator::Or, right } => {
            in_condition(left, under_not);
            in_condition(right, under_not);
        }
        Expr::InSubquery { expr: row, subquery, negated } => {
            let asked = if under_not == *negated { Equal::Surely } else { Equal::Maybe };
            if let Some(exists) = exists_equal(row, subquery, asked) {
                *expr = unless(*negated, exists);
            }
        }
        Expr::AnyOp { .. } | Expr::AllOp { .. } => {
            let printable = dialect::printable(expr);
            let rewritten =
                Quantified::of(&printable).and_then(|quantified| quantified.in_condition(under_not));
            if let Some(rewritten) = rewritten {
                *expr = rewritten;
                // Of row values there is another step.
                in_condition(expr, under_not);
            }
        }
        _ => {}
    }
}

/// The expression in the planner's words wherever it stands, if it is one of these.
pub(super) fn value(expr: &Expr) -> Option<Expr> {
    if let Some(quantified) = Quantified::of(expr) {
        let told = quantified.as_value()?;
        return value(&told).or(Some(told));
    }
    if let Expr::InSubquery { expr, subquery, negated } = expr {
        return membership(expr, subquery, *negated);
    }
    let (left, op, right, function) = match expr {
        Expr::AnyOp { left, compare_op, right, .. } => (left, compare_op, right, ANY_OF),
        Expr::AllOp { left, compare_op, right } => (left, compare_op, right, ALL_OF),
        _ => return None,
    };
    dialect::parse_condition(&format!("\"{function}\"('{op}', {left}, {right})")).ok()
}

/// The membership of a row value, if it is one.
fn membership(row: &Expr, subquery: &Query, negated: bool) -> Option<Expr> {
    let (found, unknown) =
        (exists_equal(row, subquery, Equal::Surely)?, exists_equal(row, subquery, Equal::Unknown)?);
    let text = format!("CASE WHEN {found} THEN {} WHEN {unknown} THEN NULL ELSE {negated} END", !negated);
    dialect::parse_condition(&text).ok()
}

fn unless(negated: bool, expr: Expr) -> Expr {
    if negated { Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(expr) } } else { expr }
}

/// A comparison with ANY or ALL rows of a subquery.
struct Quantified<'a> {
    left: &'a Expr,
    op: &'a BinaryOperator,
    rows: &'a Query,
    all: bool,
}

impl<'a> Quantified<'a> {
    fn of(expr: &'a Expr) -> Option<Self> {
        let (left, op, right, all) = match expr {
            Expr::AnyOp { left, compare_op, right, .. } => (left, compare_op, right, false),
            Expr::AllOp { left, compare_op, right } => (left, compare_op, right, true),
            _ => return None,
        };
        match right.as_ref() {
            Expr::Subquery(rows) => Some(Self { left, op, rows, all }),
            _ => None,
        }
    }

    /// True where an IN says the same.
    fn is_membership(&self) -> bool {
        matches!(self.op, BinaryOperator::Eq) && !self.all
    }

    /// Whether there is a row for which the comparison is such, or is true if nothing else is asked.
    fn exists(&self, is: Option<&str>) -> String {
        let Self { left, op, rows, .. } = self;
        let names: Vec<_> = (0..width(left).unwrap_or(1)).map(|at| format!("\"$V{at}\"")).collect();
        let values: Vec<_> = names.iter().map(|name| format!("\"$of\".{name}")).collect();
        let (names, values) = (names.join(", "), values.join(", "));
        let right = if width(left).is_some() { format!("({values})") } else { values };
        let condition = match is {
            Some(is) => format!("({left} {op} {right}) {is}"),
            None => format!("{left} {op} {right}"),
        };
        format!("EXISTS (SELECT 1 FROM ({rows}) AS \"$of\" ({names}) WHERE {condition})")
    }

    /// In a condition, under an odd number of NOTs or not: true, or under NOT false, for the same rows.
    fn in_condition(&self, under_not: bool) -> Option<Expr> {
        let Self { left, rows, all, .. } = self;
        let text = match (all, under_not) {
            _ if self.is_membership() => format!("{left} IN ({rows})"),
            // The planner finds the rows of a comparison as it is sooner.
            (false, false) => self.exists(None),
            (false, true) => self.exists(Some("IS NOT FALSE")),
            (true, false) => format!("NOT {}", self.exists(Some("IS NOT TRUE"))),
            (true, true) => format!("NOT {}", self.exists(Some("IS FALSE"))),
        };
        dialect::parse_condition(&text).ok()
    }

    fn as_value(&self) -> Option<Expr> {
        let Self { left, rows, all, .. } = self;
        let text = if self.is_membership() {
            format!("{left} IN ({rows})")
        } else {
            let (decided, answer) = if *all { ("IS FALSE", "FALSE") } else { ("IS TRUE", "TRUE") };
            let other = if *all { "TRUE" } else { "FALSE" };
            let (decisive, unknown) = (self.exists(Some(decided)), self.exists(Some("IS NULL")));
            format!("CASE WHEN {decisive} THEN {answer} WHEN {unknown} THEN NULL ELSE {other} END")
        };
        dialect::parse_condition(&text).ok()
    }
}
