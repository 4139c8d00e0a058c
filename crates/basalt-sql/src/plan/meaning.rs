// SPDX-License-Identifier: Apache-2.0
//! What has no meaning whatever the rows are: comparisons and choices of values that are of no common type, a place that is none. The planner
//! would cast each row's text and fail with the first that is no number; here the statement is refused before it reads any, as in Phoenix.

mod choices;
mod comparisons;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result as PlanResult};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion::scalar::ScalarValue;

use super::Planning;
use crate::error::{Position, SqlError, code, readable_type};
use crate::functions::parse_instant;

/// What values can be compared with, and stand in place of.
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

fn differ(left: &DataType, right: &DataType) -> bool {
    matches!((Kind::of(left), Kind::of(right)), (Some(left), Some(right)) if left != right)
}

/// An error if something in the plan has no meaning.
pub(super) fn check(plan: &LogicalPlan, planning: &Planning) -> Result<(), SqlError> {
    let mut refusal = None;
    let walked = plan.apply_with_subqueries(|node| {
        let mut schema = DFSchema::empty();
        node.inputs().iter().for_each(|input| schema.merge(input.schema()));
        refusal = match node {
            LogicalPlan::Join(join) => comparisons::of_join(join, &schema, planning),
            LogicalPlan::Union(union) => choices::of_union(union),
            _ => None,
        };
        if refusal.is_some() {
            return Ok(TreeNodeRecursion::Stop);
        }
        node.apply_expressions(|expr| {
            refusal = first_in(expr, &schema, planning)?;
            Ok(if refusal.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    });
    match refusal {
        Some(refusal) => Err(refusal),
        None => walked.map(drop).map_err(|error| planning.error(error)),
    }
}

/// An error if something in an expression over the columns of `schema` has no meaning.
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
        refusal = match comparisons::of(part, schema, planning)? {
            None => choices::of(part, schema, planning),
            found => found,
        };
        Ok(if refusal.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(refusal)
}

/// Two values of no common type.
struct Unlike<'a> {
    /// One that is not written in the statement, if there is one.
    value: &'a Expr,
    own: DataType,
    other: DataType,
    /// The other one, if it is a text of the statement, which is no value of the own type.
    text: Option<&'a ScalarValue>,
}

impl<'a> Unlike<'a> {
    /// Nothing if the two are of a common type. A text that is written in the statement is taken for a value of the other's type, if it is
    /// one; a type that cannot be told yet (a parameter's) is judged later.
    fn of(left: &'a Expr, right: &'a Expr, schema: &DFSchema) -> Option<Self> {
        let (left_type, right_type) = (left.get_type(schema).ok()?, right.get_type(schema).ok()?);
        if !differ(&left_type, &right_type) {
            return None;
        }
        let text = |value: &'a Expr, text: &'a ScalarValue, own: DataType, other| {
            // Truth is TRUE or FALSE, without quotes.
            let is_other = match &own {
                DataType::Boolean => true,
                DataType::Timestamp(..) => text.try_as_str().flatten().and_then(parse_instant).is_none(),
                own => text.cast_to(own).is_err(),
            };
            is_other.then_some(Self { value, own, other, text: Some(text) })
        };
        let typed = |value, own, other| Some(Self { value, own, other, text: None });
        match (text_of(left), text_of(right)) {
            (None, Some(found)) => text(left, found, left_type, right_type),
            (Some(found), None) => text(right, found, right_type, left_type),
            (Some(_), Some(_)) => None,
            (None, None) if left.column_refs().is_empty() => typed(right, right_type, left_type),
            (None, None) => typed(left, left_type, right_type),
        }
    }

    /// The error, which says `why` of the name and the type of a value, and the type of the other.
    fn refused(self, planning: &Planning, why: impl Fn(&str, &str, &str) -> String) -> SqlError {
        let own = readable_type(&self.own);
        let message = match self.text {
            Some(text) => format!("'{text}' is no value of type {own}"),
            None => {
                let name = match self.value {
                    Expr::Column(column) => format!("column {}", column.name),
                    _ => "a value".to_owned(),
                };
                why(&name, &own, &readable_type(&self.other))
            }
        };
        SqlError::coded(code::TYPE_MISMATCH, message).at(place(self.value, planning))
    }
}

/// The text of a literal.
fn text_of(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) if value.try_as_str().flatten().is_some() => Some(value),
        _ => None,
    }
}

/// Where the first column of an expression stands.
fn place(expr: &Expr, planning: &Planning) -> Option<Position> {
    let columns = expr.column_refs();
    columns.iter().find_map(|column| {
        let table = column.relation.as_ref().map(|relation| relation.table());
        planning.tokens().find_column(table, &column.name).or_else(|| planning.tokens().find(&column.name))
    })
}
