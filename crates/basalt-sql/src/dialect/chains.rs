// SPDX-License-Identifier: Apache-2.0
//! `a OR b OR c OR d`, which is read as a tree as deep as the chain is long, as one that is no deeper than it must be: everybody who
//! walks a condition takes stack for each step down, and the planner asks for the type of all that is below at each.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value};

/// Conditions that stay as they were read.
const SHORT: usize = 16;

/// Puts the conditions of a chain of AND or OR into halves, if they are many. The order in which they stand stays.
pub(super) fn balance(expr: &mut Expr) {
    let Expr::BinaryOp { op: op @ (BinaryOperator::And | BinaryOperator::Or), .. } = &*expr else { return };
    let op = op.clone();
    if length(expr, &op) <= SHORT {
        return;
    }
    let mut conditions = vec![];
    let mut rest = std::mem::replace(expr, Expr::value(Value::Null));
    loop {
        match rest {
            Expr::BinaryOp { left, op: joint, right } if joint == op => {
                conditions.push(*right);
                rest = *left;
            }
            first => {
                conditions.push(first);
                break;
            }
        }
    }
    conditions.reverse();
    if let Some(joined) = in_halves(conditions, &op) {
        *expr = joined;
    }
}

/// Conditions of a chain.
fn length(mut expr: &Expr, joint: &BinaryOperator) -> usize {
    let mut length = 1;
    while let Expr::BinaryOp { left, op, .. } = expr
        && op == joint
    {
        length += 1;
        expr = left;
    }
    length
}

/// The conditions joined, as a tree that is no deeper than it must be; `None` of none.
pub(super) fn in_halves(mut conditions: Vec<Expr>, op: &BinaryOperator) -> Option<Expr> {
    while conditions.len() > 1 {
        let mut left = conditions.into_iter();
        let mut joined = Vec::with_capacity(left.len().div_ceil(2));
        while let Some(first) = left.next() {
            joined.push(match left.next() {
                Some(second) => {
                    Expr::BinaryOp { left: Box::new(first), op: op.clone(), right: Box::new(second) }
                }
                None => first,
            });
        }
        conditions = joined;
    }
    conditions.pop()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::parse_condition;

    fn depth(expr: &Expr) -> usize {
        match expr {
            Expr::BinaryOp { left, right, .. } => 1 + depth(left).max(depth(right)),
            Expr::Nested(inner) => depth(inner),
            _ => 0,
        }
    }

    #[test]
    fn long_chains_are_as_deep_as_they_must_be_and_read_as_before() {
        for (count, most) in [(1, 0), (2, 1), (SHORT, SHORT - 1), (SHORT + 1, 5), (1000, 10)] {
            for joint in [" OR ", " AND "] {
                let names: Vec<String> = (0..count).map(|at| format!("C{at}")).collect();
                let text = names.join(joint);
                let parsed = parse_condition(&text).unwrap();
                assert_eq!((parsed.to_string(), depth(&parsed)), (text, most), "{count}{joint}");
            }
        }
    }

    #[test]
    fn what_stands_between_chains_ends_them() {
        let ors = vec!["A AND B"; 20].join(" OR ");
        let parsed = parse_condition(&format!("({ors}) AND NOT ({ors})")).unwrap();
        assert_eq!(parsed.to_string(), format!("({ors}) AND NOT ({ors})"));
        let Expr::BinaryOp { left, .. } = &parsed else { panic!("{parsed}") };
        assert_eq!(depth(left), 6);
    }
}
