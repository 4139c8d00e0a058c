// SPDX-License-Identifier: Apache-2.0
//! Phrases of the dialect that the planner has in other words: `''` is NULL, `FETCH FIRST n ROWS ONLY` is LIMIT,
//! `x > ANY (SELECT ..)` asks whether rows exist ([`super::quantified`]), literals of dates and casts to unsigned types are others
//! ([`super::written_types`]).

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Join, JoinConstraint, JoinOperator, LimitClause,
    Query, Select, Value, VisitMut, VisitorMut,
};

use super::{aggregates, quantified, similar, written_types};
use crate::dialect;
use crate::error::{Position, SqlError, code, nearest};
use crate::functions::{BASE62, FROM_ESCAPED, LOWER, TO_ESCAPED, UPPER};

/// Rewrites a query or an expression.
pub(super) fn rewrite(node: &mut impl VisitMut) -> Result<(), SqlError> {
    match node.visit(&mut Phrases) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Phrases;

impl VisitorMut for Phrases {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        let takes_rows = query.fetch.as_ref().is_some_and(|fetch| !fetch.with_ties && !fetch.percent);
        if takes_rows && let Some(fetch) = query.fetch.take() {
            let offset = match query.limit_clause.take() {
                Some(LimitClause::LimitOffset { offset, .. }) => offset,
                _ => None,
            };
            // FETCH FIRST ROW ONLY.
            let limit = fetch.quantity.or_else(|| Some(Expr::value(Value::Number("1".to_owned(), false))));
            query.limit_clause = Some(LimitClause::LimitOffset { limit, offset, limit_by: vec![] });
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        let conditions = [&mut select.selection, &mut select.having, &mut select.qualify];
        conditions.into_iter().flatten().for_each(quantified::condition);
        let joins = select.from.iter_mut().flat_map(|from| &mut from.joins);
        joins.filter_map(condition_of).for_each(quantified::condition);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        if let Err(error) = written_types::rewrite(expr) {
            return ControlFlow::Break(error);
        }
        if let Expr::Value(value) = expr
            && matches!(&value.value, Value::SingleQuotedString(text) if text.is_empty())
        {
            value.value = Value::Null;
        }
        if let Expr::Like { pattern, escape_char: None, .. } | Expr::ILike { pattern, escape_char: None, .. } =
            expr
            && let Expr::Value(pattern) = pattern.as_mut()
            && let Value::SingleQuotedString(pattern) = &mut pattern.value
            && pattern.contains('\\')
        {
            *pattern = like_pattern(pattern);
        }
        match similar::rewrite(expr) {
            Ok(Some(rewritten)) => *expr = rewritten,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(error),
        }
        if let Some(error) = unknown_format(expr) {
            return ControlFlow::Break(error);
        }
        if matches!(
            expr,
            Expr::Function(_) | Expr::AnyOp { .. } | Expr::AllOp { .. } | Expr::InSubquery { .. }
        ) && let Some(rewritten) = reworded(&dialect::printable(expr))
        {
            *expr = rewritten;
        }
        ControlFlow::Continue(())
    }
}

/// ON.
fn condition_of(join: &mut Join) -> Option<&mut Expr> {
    match &mut join.join_operator {
        JoinOperator::Join(JoinConstraint::On(condition))
        | JoinOperator::Inner(JoinConstraint::On(condition))
        | JoinOperator::Left(JoinConstraint::On(condition))
        | JoinOperator::LeftOuter(JoinConstraint::On(condition))
        | JoinOperator::Right(JoinConstraint::On(condition))
        | JoinOperator::RightOuter(JoinConstraint::On(condition))
        | JoinOperator::FullOuter(JoinConstraint::On(condition)) => Some(condition),
        _ => None,
    }
}

/// A pattern of LIKE as the planner reads it. In Phoenix a backslash before anything but `%`, `_` and another one is a character like any other.
fn like_pattern(written: &str) -> String {
    let mut pattern = String::with_capacity(written.len() + 4);
    let mut chars = written.chars().peekable();
    while let Some(ch) = chars.next() {
        pattern.push(ch);
        if ch == '\\' {
            pattern.push(chars.next_if(|next| matches!(next, '%' | '_' | '\\')).unwrap_or('\\'));
        }
    }
    pattern
}

/// The expression in the planner's words, if it has others.
fn reworded(expr: &Expr) -> Option<Expr> {
    quantified::value(expr)
        .or_else(|| aggregates::rewrite(expr))
        .or_else(|| coded(expr))
        .or_else(|| renamed(expr))
}

/// The error of ENCODE and its like with a format that it does not know.
fn unknown_format(expr: &Expr) -> Option<SqlError> {
    let Expr::Function(function) = expr else { return None };
    let name = function.name.to_string();
    let known = match name.as_str() {
        "ENCODE" => ["HEX", "BASE64", "BASE64PAD", "BASE62"].as_slice(),
        "DECODE" => &["HEX", "BASE64", "BASE64PAD"],
        "ENCODE_BINARY" | "DECODE_BINARY" => &["HEX", "BASE64", "HBASE"],
        _ => return None,
    };
    let FunctionArguments::List(list) = &function.args else { return None };
    let [_, FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))] = list.args.as_slice() else {
        return None;
    };
    let Value::SingleQuotedString(format) = &value.value else { return None };
    let upper = format.to_uppercase();
    if known.contains(&upper.as_str()) {
        return None;
    }
    let names = known.join(", ");
    let message = format!("{name} knows the formats {names}, not '{format}'");
    let meant =
        if upper == "BASE16" { Some("HEX".to_owned()) } else { nearest(&upper, known.iter().copied()) };
    let start = value.span.start;
    let place =
        (start.line > 0).then_some(Position { line: start.line as usize, column: start.column as usize });
    // Phoenix has functions of its own for these formats, and misses that of another one.
    let code = if name.ends_with("_BINARY") { code::FUNCTION_NOT_FOUND } else { code::ILLEGAL_DATA };
    Some(SqlError::coded(code, message).suggest(meant).at(place))
}

/// `ENCODE(n, 'BASE62')`, which is not among the planner's formats; their names are in lower case there.
fn coded(expr: &Expr) -> Option<Expr> {
    let Expr::Function(function) = expr else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    let [
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(format))),
    ] = list.args.as_slice()
    else {
        return None;
    };
    let Value::SingleQuotedString(format) = &format.value else { return None };
    let text = match (function.name.to_string().as_str(), format.to_lowercase()) {
        ("ENCODE_BINARY", lower) if lower == "hex" => format!("ENCODE({value}, 'hex')"),
        ("ENCODE_BINARY", lower) if lower == "base64" => format!("ENCODE({value}, 'base64pad')"),
        ("DECODE_BINARY", lower) if matches!(lower.as_str(), "hex" | "base64") => {
            format!("DECODE({value}, '{lower}')")
        }
        ("ENCODE_BINARY", lower) if lower == "hbase" => format!("\"{TO_ESCAPED}\"({value})"),
        ("DECODE_BINARY", lower) if lower == "hbase" => format!("\"{FROM_ESCAPED}\"({value})"),
        ("ENCODE", lower) if lower == "base62" => format!("\"{BASE62}\"({value})"),
        (name @ ("ENCODE" | "DECODE"), lower) if lower != *format => format!("{name}({value}, '{lower}')"),
        _ => return None,
    };
    dialect::parse_condition(&text).ok()
}

/// LOG(n, base), which the planner takes the other way round, SIGN, which has another name there, INVERT, and cases by locale.
fn renamed(expr: &Expr) -> Option<Expr> {
    let Expr::Function(function) = expr else { return None };
    let FunctionArguments::List(list) = &function.args else { return None };
    let text = match (function.name.to_string().as_str(), list.args.as_slice()) {
        ("LOG", [n, base]) => format!("LOG({base}, {n})"),
        // Ten would have to be a value of the number's type, which a DECIMAL(2, 1) has not.
        ("LOG", [n]) => format!("LOG(({n}) * 1e0)"),
        // The order in which values lie in a key is not a property of values here.
        ("INVERT", [x]) => format!("({x})"),
        ("UPPER", [s, locale]) => format!("\"{UPPER}\"({s}, {locale})"),
        ("LOWER", [s, locale]) => format!("\"{LOWER}\"({s}, {locale})"),
        ("SIGN", [n]) => format!("CAST(SIGNUM({n}) AS INTEGER)"),
        _ => return None,
    };
    dialect::parse_condition(&text).ok()
}
