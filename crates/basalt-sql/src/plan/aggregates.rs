// SPDX-License-Identifier: Apache-2.0
//! Aggregates of Phoenix that the planner has under other names, or that are made of others. NULLs are passed over.
//!
//! | Phoenix | here |
//! |---|---|
//! | DISTINCT_COUNT(x) | COUNT(DISTINCT x) |
//! | COLLECTDISTINCT(x) | an ARRAY_AGG of the distinct values, in their order |
//! | APPROX_COUNT_DISTINCT(x) | APPROX_DISTINCT(x) |
//! | FIRST_VALUE(x) WITHIN GROUP (ORDER BY y), LAST_VALUE, NTH_VALUE(x, n) | the same, ordered and filtered inside |
//! | FIRST_VALUES(x, n), LAST_VALUES(x, n) WITHIN GROUP (ORDER BY y) | the first n of an ordered ARRAY_AGG |
//! | PERCENTILE_DISC(p) WITHIN GROUP (ORDER BY x) | the element of an ordered ARRAY_AGG at ⌈p · count⌉ |
//! | PERCENT_RANK(v) WITHIN GROUP (ORDER BY x) | the share of values before v |
//! | BOOL_AND(x), BOOL_OR(x) over frames whose first row moves | MIN(x AND TRUE), MAX(x AND TRUE) |

use datafusion::sql::sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, OrderByExpr,
    WindowFrameBound, WindowType,
};

use crate::dialect;
use crate::functions::FIRST_OF;

/// The call in the planner's words, if it is one of these.
pub(super) fn rewrite(expr: &Expr) -> Option<Expr> {
    let Expr::Function(function) = expr else { return None };
    if let Some(over) = &function.over {
        return of_moving_frames(function, over);
    }
    if function.filter.is_some() {
        return None;
    }
    let arguments = arguments(function)?;
    let text =
        match (function.name.to_string().as_str(), arguments.as_slice(), function.within_group.as_slice()) {
            ("DISTINCT_COUNT", [x], []) => format!("COUNT(DISTINCT {x})"),
            ("COLLECTDISTINCT", [x], []) => {
                format!("ARRAY_AGG(DISTINCT {x} ORDER BY {x}) FILTER (WHERE {x} IS NOT NULL)")
            }
            ("APPROX_COUNT_DISTINCT", [x], []) => format!("CAST(APPROX_DISTINCT({x}) AS BIGINT)"),
            (name @ ("FIRST_VALUE" | "LAST_VALUE"), [x], [by]) => {
                format!("{name}({x} ORDER BY {by}) FILTER (WHERE {x} IS NOT NULL)")
            }
            ("NTH_VALUE", [x, n], [by]) => {
                format!("NTH_VALUE({x}, {n} ORDER BY {by}) FILTER (WHERE {x} IS NOT NULL)")
            }
            ("FIRST_VALUES", [x, n], [by]) => format!("\"{FIRST_OF}\"({}, {n})", collected(x, by)),
            ("LAST_VALUES", [x, n], [by]) => format!("\"{FIRST_OF}\"({}, {n})", collected(x, &reversed(by))),
            ("PERCENTILE_DISC", [p], [by]) => {
                let x = &by.expr;
                let place = format!("GREATEST(1, CAST(CEIL({p} * COUNT({x})) AS BIGINT))");
                format!("ARRAY_ELEM({}, {place})", collected(x, by))
            }
            ("PERCENT_RANK", [v], [by]) => {
                let (x, before) = (&by.expr, if by.options.asc == Some(false) { ">" } else { "<" });
                format!(
                    "CAST(COUNT(CASE WHEN {x} {before} {v} THEN 1 END) AS DOUBLE) / NULLIF(COUNT({x}), 0)"
                )
            }
            _ => return None,
        };
    dialect::parse_condition(&text).ok()
}

/// Truth values sort, and the least and the greatest of a frame can be told when rows leave it.
fn of_moving_frames(function: &Function, over: &WindowType) -> Option<Expr> {
    let WindowType::WindowSpec(window) = over else { return None };
    let frame = window.window_frame.as_ref()?;
    let by = match function.name.to_string().as_str() {
        "BOOL_AND" => "MIN",
        "BOOL_OR" => "MAX",
        _ => return None,
    };
    let arguments = arguments(function)?;
    let [x] = arguments.as_slice() else { return None };
    if matches!(frame.start_bound, WindowFrameBound::Preceding(None)) {
        return None;
    }
    let filter =
        function.filter.as_ref().map(|filter| format!(" FILTER (WHERE {filter})")).unwrap_or_default();
    dialect::parse_condition(&format!("{by}(({x}) AND TRUE){filter} OVER ({window})")).ok()
}

fn arguments(function: &Function) -> Option<Vec<&Expr>> {
    let FunctionArguments::List(list) = &function.args else { return None };
    if !list.clauses.is_empty() || matches!(list.duplicate_treatment, Some(DuplicateTreatment::Distinct)) {
        return None;
    }
    list.args.iter().map(argument).collect()
}

fn argument(argument: &FunctionArg) -> Option<&Expr> {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

/// All values in order.
fn collected(x: &Expr, by: &OrderByExpr) -> String {
    format!("ARRAY_AGG({x} ORDER BY {by}) FILTER (WHERE {x} IS NOT NULL)")
}

fn reversed(by: &OrderByExpr) -> OrderByExpr {
    let mut reversed = by.clone();
    reversed.options.asc = Some(by.options.asc == Some(false));
    reversed
}
