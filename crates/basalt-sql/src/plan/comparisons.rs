// SPDX-License-Identifier: Apache-2.0
//! Comparisons of what cannot be compared: a text with a number, a date with a truth value. The planner would cast the text of each row
//! and fail with the first that is no number; here the statement is refused before it reads any, as in Phoenix. A text that is written in
//! the statement is taken for a value of the other's type, if it is one.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result as PlanResult};
use datafusion::logical_expr::{Between, BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::scalar::ScalarValue;

use super::Planning;
use crate::error::{SqlError, code, readable_type};

/// What can be compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Truth,
    Moment,
}

impl Kind {
    /// Nothing for types that the planner judges alone.
    fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(Self::Text),
            DataType::Boolean => Some(Self::Truth),
            DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => Some(Self::Moment),
            number if number.is_numeric() => Some(Self::Number),
            _ => None,
        }
    }
}

/// An error if a comparison of the plan has no meaning.
pub(super) fn check(plan: &LogicalPlan, planning: &Planning) -> Result<(), SqlError> {
    let mut refusal = None;
    let walked = plan.apply_with_subqueries(|node| {
        let inputs = node.inputs();
        let mut schema = DFSchema::empty();
        inputs.iter().for_each(|input| schema.merge(input.schema()));
        if let LogicalPlan::Join(join) = node {
            let pair = |(left, right): &(Expr, Expr)| self::refusal(left, right, &schema, planning);
            refusal = join.on.iter().find_map(pair);
        }
        node.apply_expressions(|expr| {
            refusal = refusal.take().or(first_in(expr, &schema, planning)?);
            Ok(if refusal.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    });
    match refusal {
        Some(refusal) => Err(refusal),
        None => walked.map(drop).map_err(|error| planning.error(error)),
    }
}

/// An error if a comparison in an expression over the columns of `schema` has no meaning.
pub(super) fn check_expr(expr: &Expr, schema: &DFSchema, planning: &Planning) -> Result<(), SqlError> {
    match first_in(expr, schema, planning).map_err(|error| planning.error(error))? {
        Some(refusal) => Err(refusal),
        None => Ok(()),
    }
}

/// The first refusal in an expression.
fn first_in(expr: &Expr, schema: &DFSchema, planning: &Planning) -> PlanResult<Option<SqlError>> {
    let mut refusal = None;
    expr.apply(|part| {
        refusal = check_one(part, schema, planning)?;
        Ok(if refusal.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(refusal)
}

fn check_one(expr: &Expr, schema: &DFSchema, planning: &Planning) -> PlanResult<Option<SqlError>> {
    let check = |left: &Expr, right: &Expr| refusal(left, right, schema, planning);
    Ok(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(*op) => check(left, right),
        Expr::Between(Between { expr, low, high, .. }) => check(expr, low).or_else(|| check(expr, high)),
        Expr::InList(list) => list.list.iter().find_map(|item| check(&list.expr, item)),
        Expr::InSubquery(within) => {
            let column = within.subquery.subquery.schema().columns().into_iter().next();
            let inner = within.subquery.subquery.schema();
            let types = column.map(|column| Expr::Column(column).get_type(inner)).transpose()?;
            let outer = within.expr.get_type(schema);
            match (outer, types) {
                (Ok(outer), Some(inner)) if differ(&outer, &inner) => {
                    Some(of_types(&within.expr, &outer, &inner, planning))
                }
                _ => None,
            }
        }
        _ => None,
    })
}

fn compares(operator: Operator) -> bool {
    use Operator::*;
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

fn differ(left: &DataType, right: &DataType) -> bool {
    matches!((Kind::of(left), Kind::of(right)), (Some(left), Some(right)) if left != right)
}

/// Why these two cannot be compared.
fn refusal(left: &Expr, right: &Expr, schema: &DFSchema, planning: &Planning) -> Option<SqlError> {
    // A type that cannot be told yet (a parameter's) is judged later.
    let (left_type, right_type) = (left.get_type(schema).ok()?, right.get_type(schema).ok()?);
    if !differ(&left_type, &right_type) {
        return None;
    }
    match (text_of(left), text_of(right)) {
        (None, Some(text)) => unreadable(text, left, &left_type, planning),
        (Some(text), None) => unreadable(text, right, &right_type, planning),
        (Some(_), Some(_)) => None,
        (None, None) if left.column_refs().is_empty() => {
            Some(of_types(right, &right_type, &left_type, planning))
        }
        (None, None) => Some(of_types(left, &left_type, &right_type, planning)),
    }
}

/// The text of a literal.
fn text_of(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(
            value @ (ScalarValue::Utf8(Some(_))
            | ScalarValue::Utf8View(Some(_))
            | ScalarValue::LargeUtf8(Some(_))),
            _,
        ) => Some(value),
        _ => None,
    }
}

/// An error if the text is no value of the type of what it is compared with.
fn unreadable(
    text: &ScalarValue,
    with: &Expr,
    data_type: &DataType,
    planning: &Planning,
) -> Option<SqlError> {
    text.cast_to(data_type).err()?;
    let message = format!("'{text}' is no value of type {}", readable_type(data_type));
    Some(SqlError::coded(code::TYPE_MISMATCH, message).at(place(with, planning)))
}

fn of_types(expr: &Expr, own: &DataType, other: &DataType, planning: &Planning) -> SqlError {
    let name = match expr {
        Expr::Column(column) => format!("column {}", column.name),
        _ => "a value".to_owned(),
    };
    let (own, other) = (readable_type(own), readable_type(other));
    let message =
        format!("{name} of type {own} cannot be compared with {other}; a CAST makes one of the other");
    SqlError::coded(code::TYPE_MISMATCH, message).at(place(expr, planning))
}

/// Where the first column of an expression stands.
fn place(expr: &Expr, planning: &Planning) -> Option<crate::error::Position> {
    let columns = expr.column_refs();
    columns.iter().find_map(|column| {
        let table = column.relation.as_ref().map(|relation| relation.table());
        planning.tokens().find_column(table, &column.name).or_else(|| planning.tokens().find(&column.name))
    })
}
