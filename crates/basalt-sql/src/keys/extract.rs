// SPDX-License-Identifier: Apache-2.0
//! Reading predicates: which values they leave to which key column.

use basalt_model::range::after_prefix;
use basalt_model::{SqlType, TableSchema};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Like, Operator};
use datafusion::scalar::ScalarValue;

use super::compose::Composed;
use super::domain::{Domain, Interval, Limit};
use super::value::{self, KeyValue};

/// The key ranges that a conjunction leaves; `None` if it contradicts itself.
pub(super) fn scan(schema: &TableSchema, filters: &[Expr]) -> Option<Composed> {
    conjunction(schema, filters.iter().collect())
}

/// How many of the leading key columns have a single value.
pub(super) fn fixed_columns(schema: &TableSchema, filters: &[Expr]) -> usize {
    let mut fixed = vec![false; schema.key.len()];
    let mut conjuncts: Vec<&Expr> = filters.iter().collect();
    while let Some(expr) = conjuncts.pop() {
        if let Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) = expr {
            conjuncts.extend([left.as_ref(), right.as_ref()]);
        } else if let Some((column, domain)) = column_domain(schema, expr) {
            fixed[column] |= domain.is_points() && domain.len() == 1;
        }
    }
    fixed.iter().take_while(|fixed| **fixed).count()
}

fn conjunction(schema: &TableSchema, mut conjuncts: Vec<&Expr>) -> Option<Composed> {
    let mut domains: Vec<Option<Domain>> = vec![None; schema.key.len()];
    let mut disjunctions = vec![];
    while let Some(expr) = conjuncts.pop() {
        if let Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) = expr {
            conjuncts.extend([left.as_ref(), right.as_ref()]);
        } else if let Some((column, domain)) = column_domain(schema, expr) {
            let known = domains[column].take();
            let both = known.map_or(domain.clone(), |known| known.intersect(&domain));
            if both.is_empty() {
                return None;
            }
            domains[column] = Some(both);
        } else if is_or(expr) {
            disjunctions.push(expr);
        }
    }
    let mut composed = Composed::new(&schema.key, &domains);
    for expr in disjunctions {
        composed = composed.intersect(disjunction(schema, expr)?);
    }
    Some(composed)
}

fn is_or(expr: &Expr) -> bool {
    matches!(expr, Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }))
}

/// `None` if every branch contradicts itself.
fn disjunction(schema: &TableSchema, expr: &Expr) -> Option<Composed> {
    let mut branches = vec![expr];
    let mut any: Option<Composed> = None;
    while let Some(expr) = branches.pop() {
        if let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) = expr {
            branches.extend([left.as_ref(), right.as_ref()]);
            continue;
        }
        let Some(branch) = conjunction(schema, vec![expr]) else { continue };
        if branch.is_full() {
            return Some(branch);
        }
        any = Some(match any {
            Some(any) => any.union(branch),
            None => branch,
        });
    }
    any
}

/// The key column that a predicate is about, and what it leaves; `None` if it is about something else or is not
/// understood.
fn column_domain(schema: &TableSchema, expr: &Expr) -> Option<(usize, Domain)> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { op: op @ (Operator::And | Operator::Or), .. }) => {
            let mut parts = vec![];
            flatten(expr, *op, &mut parts);
            let mut domains = parts.into_iter().map(|part| column_domain(schema, part));
            let (column, mut domain) = domains.next()??;
            for part in domains {
                let (other, part) = part?;
                if other != column {
                    return None;
                }
                domain = if *op == Operator::Or { domain.union(&part) } else { domain.intersect(&part) };
            }
            Some((column, domain))
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (left.as_ref(), right.as_ref()) {
            (column, Expr::Literal(literal, _)) => comparison(schema, column, *op, literal),
            (Expr::Literal(literal, _), column) => comparison(schema, column, op.swap()?, literal),
            _ => None,
        },
        Expr::InList(InList { expr, list, negated: false }) => in_list(schema, expr, list),
        Expr::Between(Between { expr, negated: false, low, high }) => {
            let (Expr::Literal(low, _), Expr::Literal(high, _)) = (low.as_ref(), high.as_ref()) else {
                return None;
            };
            let (column, from) = comparison(schema, expr, Operator::GtEq, low)?;
            let (_, to) = comparison(schema, expr, Operator::LtEq, high)?;
            Some((column, from.intersect(&to)))
        }
        Expr::IsNull(expr) => null_test(schema, expr, true),
        Expr::IsNotNull(expr) => null_test(schema, expr, false),
        Expr::Like(like) => like_prefix(schema, like),
        Expr::Column(_) => boolean(schema, expr, true),
        Expr::Not(inner) => boolean(schema, inner, false),
        _ => None,
    }
}

/// The operands of a chain of one operator. Chains of thousands come from lists; they are not walked by recursion.
fn flatten<'a>(expr: &'a Expr, op: Operator, parts: &mut Vec<&'a Expr>) {
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        match expr {
            Expr::BinaryExpr(binary) if binary.op == op => {
                rest.extend([binary.left.as_ref(), binary.right.as_ref()])
            }
            _ => parts.push(expr),
        }
    }
}

fn key_column(schema: &TableSchema, expr: &Expr) -> Option<usize> {
    let Expr::Column(column) = expr else { return None };
    schema.key.iter().position(|key| key.name == column.name)
}

fn comparison(
    schema: &TableSchema,
    expr: &Expr,
    op: Operator,
    literal: &ScalarValue,
) -> Option<(usize, Domain)> {
    let column = key_column(schema, expr)?;
    if literal.is_null() {
        // Comparing with NULL is never true. `IS [NOT] DISTINCT FROM` is left to the filter.
        return is_comparison(op).then(|| (column, Domain::empty()));
    }
    let value = value::encode(literal, schema.key[column].sql_type)?;
    let domain = match op {
        Operator::Eq => Domain::point(value),
        Operator::Lt => Domain::of(Limit::None, Limit::Exclusive(value)),
        Operator::LtEq => Domain::of(Limit::None, Limit::Inclusive(value)),
        Operator::Gt => Domain::of(Limit::Exclusive(value), Limit::None),
        Operator::GtEq => Domain::of(Limit::Inclusive(value), Limit::None),
        _ => return None,
    };
    Some((column, domain))
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

fn in_list(schema: &TableSchema, expr: &Expr, list: &[Expr]) -> Option<(usize, Domain)> {
    let column = key_column(schema, expr)?;
    let mut values = Vec::with_capacity(list.len());
    for item in list {
        let Expr::Literal(literal, _) = item else { return None };
        if !literal.is_null() {
            values.push(value::encode(literal, schema.key[column].sql_type)?);
        }
    }
    Some((column, Domain::points(values)))
}

fn null_test(schema: &TableSchema, expr: &Expr, null: bool) -> Option<(usize, Domain)> {
    let column = key_column(schema, expr)?;
    let nullable = schema.key[column].sql_type.fixed_width().is_none();
    let domain = match (null, nullable) {
        (true, true) => Domain::only_null(),
        (true, false) => Domain::empty(),
        (false, _) => Domain { null: false, intervals: vec![Interval::all()] },
    };
    Some((column, domain))
}

fn boolean(schema: &TableSchema, expr: &Expr, wanted: bool) -> Option<(usize, Domain)> {
    let column = key_column(schema, expr)?;
    let sql_type = schema.key[column].sql_type;
    if sql_type != SqlType::Boolean {
        return None;
    }
    let value = value::encode(&ScalarValue::Boolean(Some(wanted)), sql_type)?;
    Some((column, Domain::point(value)))
}

/// `LIKE 'abc%'`: everything from `abc` to before `abd`.
fn like_prefix(schema: &TableSchema, like: &Like) -> Option<(usize, Domain)> {
    if like.negated || like.case_insensitive {
        return None;
    }
    let column = key_column(schema, &like.expr)?;
    let Expr::Literal(pattern, _) = like.pattern.as_ref() else { return None };
    let pattern = pattern.try_as_str().flatten()?;
    let escape = like.escape_char.unwrap_or('\\');
    let mut prefix = String::new();
    let mut chars = pattern.chars();
    while let Some(ch) = chars.next() {
        match ch {
            '%' | '_' => break,
            _ if ch == escape => prefix.push(chars.next()?),
            _ => prefix.push(ch),
        }
    }
    if prefix.is_empty() || !matches!(schema.key[column].sql_type, SqlType::Varchar(_) | SqlType::Char(_)) {
        return None;
    }
    let low = prefix.into_bytes();
    let text = |bytes: &[u8]| format!("'{}'", String::from_utf8_lossy(bytes));
    let high = match after_prefix(&low) {
        Some(high) => Limit::Exclusive(KeyValue { text: text(&high), bytes: high.to_vec() }),
        None => Limit::None,
    };
    Some((column, Domain::of(Limit::Inclusive(KeyValue { text: text(&low), bytes: low }), high)))
}
