// SPDX-License-Identifier: Apache-2.0
//! DECIMALs and floating-point numbers that stand in place of each other, or are compared as several at once: `COALESCE(d, 0.0)`, the queries
//! of a UNION, `i IN (0.5, 1e30)`. The planner would make DECIMALs of thirty digits of all, which have neither very small nor very large
//! numbers; here all become floating-point numbers.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, Result, TableReference};
use datafusion::logical_expr::expr::{Cast, InSubquery};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Projection, Subquery, Union};
use datafusion::optimizer::AnalyzerRule;

use super::alike::{Together, with_alike};
use super::exact;
use super::numbers::{compared, rewrite_plan};

/// The name of a column of a subquery that was made such a number.
const NUMBER: &str = "$number";

/// The rule before types are coerced.
#[derive(Debug, Default)]
pub(crate) struct MixedNumbers;

impl AnalyzerRule for MixedNumbers {
    fn name(&self) -> &str {
        "mixed_numbers"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        // What is above a changed plan has other types, too.
        let mut has_changed = false;
        let rewritten = plan.transform_up_with_subqueries(|plan| {
            let changed = match plan {
                LogicalPlan::Union(union) => of_union(union)?,
                other => rewrite_plan(other, of_expr)?,
            };
            has_changed |= changed.transformed;
            if has_changed { changed.map_data(LogicalPlan::recompute_schema) } else { Ok(changed) }
        });
        rewritten.map(|rewritten| rewritten.data)
    }
}

/// The type that numbers of these types become; `None` if they are not of both kinds.
pub(super) fn common<'a>(types: impl Iterator<Item = &'a DataType> + Clone) -> Option<DataType> {
    let has_decimals = types.clone().any(is_decimal);
    let has_floats = types.clone().any(|found| matches!(found, DataType::Float32 | DataType::Float64));
    (has_decimals && has_floats).then_some(DataType::Float64)
}

fn is_decimal(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Decimal128(..) | DataType::Decimal256(..))
}

fn of_expr(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    if let Expr::InSubquery(within) = expr {
        return of_subquery(within, schema);
    }
    Ok(with_alike(expr, |why, values| {
        // Beside a floating-point number DECIMALs become such of its own type, see `super::numbers`.
        let is_done =
            why == Together::Compared && values.first().is_some_and(|first| is_float(first, schema));
        !is_done && make_alike(values, schema)
    }))
}

fn is_float(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|found| found.is_floating())
}

/// Makes floating-point numbers of the DECIMALs, if both are there; true if so. Literals beside nothing but FLOATs become FLOATs.
fn make_alike(values: &mut [&mut Expr], schema: &DFSchema) -> bool {
    let types: Vec<DataType> = values.iter().filter_map(|value| value.get_type(schema).ok()).collect();
    let Some(mut number) = common(types.iter()) else { return false };
    let is_column_of_decimals = |value: &&mut Expr| {
        !value.column_refs().is_empty() && value.get_type(schema).is_ok_and(|found| is_decimal(&found))
    };
    if !types.contains(&DataType::Float64) && !values.iter().any(is_column_of_decimals) {
        number = DataType::Float32;
    }
    for value in values {
        **value = compared(std::mem::take(*value), &number, schema);
    }
    true
}

/// `x IN (SELECT y ..)` where one of the two is a DECIMAL and the other is not.
fn of_subquery(within: InSubquery, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let InSubquery { expr, subquery, negated } = within;
    let own = expr.get_type(schema)?;
    let other = subquery.subquery.schema().field(0).data_type().clone();
    let Some(number) = common([&own, &other].into_iter()) else {
        return Ok(Transformed::no(Expr::InSubquery(InSubquery { expr, subquery, negated })));
    };
    let expr = Box::new(compared(*expr, &number, schema));
    // A name of its own: the planner puts the column beside what it was made of.
    let inner =
        with_numbers(Arc::clone(&subquery.subquery), &[Some(number)], |column, _, _| column.alias(NUMBER))?;
    let subquery = Subquery { subquery: inner, ..subquery };
    Ok(Transformed::yes(Expr::InSubquery(InSubquery { expr, subquery, negated })))
}

fn of_union(union: Union) -> Result<Transformed<LogicalPlan>> {
    let width = union.inputs.first().map_or(0, |first| first.schema().fields().len());
    if union.inputs.iter().any(|input| input.schema().fields().len() != width) {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    }
    let number = |column| common(union.inputs.iter().map(|input| input.schema().field(column).data_type()));
    let numbers: Vec<Option<DataType>> = (0..width).map(number).collect();
    if numbers.iter().all(Option::is_none) {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    }
    let named = |column: Expr, qualifier: Option<&TableReference>, name: &str| {
        column.alias_qualified(qualifier.cloned(), name)
    };
    let inputs = union.inputs.into_iter().map(|input| with_numbers(input, &numbers, named));
    let inputs = inputs.collect::<Result<_>>()?;
    Ok(Transformed::yes(LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?)))
}

/// The plan, with the DECIMALs of some columns as such numbers, which are named by the column's qualifier and name.
fn with_numbers(
    plan: Arc<LogicalPlan>,
    numbers: &[Option<DataType>],
    named: impl Fn(Expr, Option<&TableReference>, &str) -> Expr,
) -> Result<Arc<LogicalPlan>> {
    let column = |(at, number): (usize, &Option<DataType>)| {
        let (qualifier, field) = plan.schema().qualified_field(at);
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        match number {
            Some(number) if is_decimal(field.data_type()) => {
                let number = exact::cast(Cast::new(Box::new(column), number.clone()));
                named(number, qualifier, field.name())
            }
            _ => column,
        }
    };
    let columns: Vec<Expr> = numbers.iter().enumerate().map(column).collect();
    if columns.iter().all(|column| matches!(column, Expr::Column(_))) {
        return Ok(plan);
    }
    Projection::try_new(columns, plan).map(|projected| Arc::new(LogicalPlan::Projection(projected)))
}
