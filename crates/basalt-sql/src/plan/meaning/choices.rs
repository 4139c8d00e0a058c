// SPDX-License-Identifier: Apache-2.0
//! Values that stand in place of each other and are of no common type: those of COALESCE, of CASE, of the queries of a UNION. And windows of a
//! distance between texts, NTH_VALUE of a place that is none.

use datafusion::common::DFSchema;
use datafusion::logical_expr::expr::{
    AggregateFunction, Case, NullTreatment, ScalarFunction, Sort, WindowFunction,
};
use datafusion::logical_expr::{Expr, ExprSchemable, Union, WindowFrame, WindowFrameBound, WindowFrameUnits};
use datafusion::scalar::ScalarValue;

use super::{Kind, Unlike, comparisons, differ, place};
use crate::error::{SqlError, code, readable_type};
use crate::plan::Planning;

/// Functions that answer one of their arguments.
const CHOOSING: [&str; 4] = ["coalesce", "nvl", "greatest", "least"];

/// The refusal of an expression that chooses among such values.
pub(super) fn of(expr: &Expr, schema: &DFSchema, planning: &Planning) -> Option<SqlError> {
    match expr {
        Expr::ScalarFunction(ScalarFunction { func, args }) if CHOOSING.contains(&func.name()) => {
            unlike(&args.iter().collect::<Vec<_>>(), &func.name().to_uppercase(), schema, planning)
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == "nullif" => match &args[..] {
            [left, right] => comparisons::of_pair(left, right, schema, planning),
            _ => None,
        },
        Expr::Case(Case { when_then_expr, else_expr, .. }) => {
            let values = when_then_expr.iter().map(|(_, then)| then.as_ref());
            let values = values.chain(else_expr.as_deref());
            unlike(&values.collect::<Vec<_>>(), "CASE", schema, planning)
        }
        Expr::AggregateFunction(AggregateFunction { func, params }) if func.name() == "nth_value" => {
            of_place(&params.args)
        }
        Expr::WindowFunction(window) => {
            let WindowFunction { fun, params } = window.as_ref();
            let place = match fun.name() {
                "nth_value" => of_place(&params.args),
                "lead" if params.null_treatment == Some(NullTreatment::IgnoreNulls) => of_lead(&params.args),
                _ => None,
            };
            place.or_else(|| of_distance(&params.window_frame, &params.order_by, schema, planning))
        }
        _ => None,
    }
}

/// An error if not all values are of the kind of the first that has one.
fn unlike(values: &[&Expr], chooser: &str, schema: &DFSchema, planning: &Planning) -> Option<SqlError> {
    let has_kind = |value: &&&Expr| value.get_type(schema).is_ok_and(|own| Kind::of(&own).is_some());
    let (first, others) = values.iter().find(has_kind).zip(values.split_first().map(|(_, others)| others))?;
    let unlike = others.iter().find_map(|other| Unlike::of(first, other, schema))?;
    Some(unlike.refused(planning, |name, own, other| {
        format!("{chooser} chooses between {name} of type {own} and one of type {other}; a CAST makes one of the other")
    }))
}

/// An error if a column of a query of a UNION is of another kind than that of the first.
pub(super) fn of_union(union: &Union) -> Option<SqlError> {
    let (first, others) = union.inputs.split_first()?;
    others.iter().find_map(|other| {
        let pairs = first.schema().fields().iter().zip(other.schema().fields());
        let (number, (own, other)) =
            (1..).zip(pairs).find(|(_, (own, other))| differ(own.data_type(), other.data_type()))?;
        let (own, other) = (readable_type(own.data_type()), readable_type(other.data_type()));
        let message = format!(
            "UNION of columns that are of no common type: column {number} is {own} in one query and {other} in another; a CAST makes one of the other"
        );
        Some(SqlError::coded(code::UNION_COLUMN_TYPE, message))
    })
}

/// An error for RANGE BETWEEN 1 PRECEDING .. of rows in the order of texts, or of truth.
fn of_distance(
    frame: &WindowFrame,
    order: &[Sort],
    schema: &DFSchema,
    planning: &Planning,
) -> Option<SqlError> {
    let is_distance = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(by) | WindowFrameBound::Following(by) => !by.is_null(),
        WindowFrameBound::CurrentRow => false,
    };
    let by = order.first().filter(|_| frame.units == WindowFrameUnits::Range)?;
    let own = by.expr.get_type(schema).ok()?;
    let has_none = matches!(Kind::of(&own), Some(Kind::Text | Kind::Truth));
    (has_none && (is_distance(&frame.start_bound) || is_distance(&frame.end_bound))).then(|| {
        let message = format!(
            "RANGE counts a distance, which values of type {} do not have; ROWS counts rows",
            readable_type(&own)
        );
        SqlError::coded(code::TYPE_MISMATCH, message).at(place(&by.expr, planning))
    })
}

/// DataFusion 55 loses values where LEAD looks for more than the next one that is not null.
fn of_lead(args: &[Expr]) -> Option<SqlError> {
    let is_next = match args {
        [_] => true,
        [_, Expr::Literal(distance, _), ..] => matches!(distance, ScalarValue::Int64(Some(0 | 1))),
        _ => false,
    };
    (!is_next).then(|| {
        let message = "LEAD with IGNORE NULLS takes 1 as its distance; for more write NTH_VALUE(x, n) IGNORE NULLS with ROWS BETWEEN 1 FOLLOWING \
                       AND UNBOUNDED FOLLOWING";
        SqlError::unsupported(message)
    })
}

fn of_place(args: &[Expr]) -> Option<SqlError> {
    match args {
        [_, Expr::Literal(ScalarValue::Int64(Some(0)), _)] => {
            let message = "NTH_VALUE counts from 1, and from -1 backwards; found 0";
            Some(SqlError::coded(code::TYPE_MISMATCH, message))
        }
        _ => None,
    }
}
