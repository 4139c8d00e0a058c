// SPDX-License-Identifier: Apache-2.0
//! `(SELECT v FROM b WHERE b.j = o.j)` as a value: of rows, not of totals, of which each outer row may have one at most. The planner takes totals of the outer
//! row only, so that these are what is asked for, and a function takes them apart:
//!
//! ```text
//! $one_row((SELECT named_struct('value', FIRST_VALUE(v), 'rows', COUNT(*)) FROM b WHERE b.j = o.j))
//! ```
//!
//! The function is asked of outer rows alone, and is volatile, so that nobody asks it of groups that no outer row has: several rows are an error
//! where one of them would have to be taken.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, make_array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, exec_err, plan_err};
use datafusion::functions::core::expr_fn::named_struct;
use datafusion::functions_aggregate::count::count_all;
use datafusion::functions_aggregate::first_last::first_value;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, LogicalPlanBuilder, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Subquery, Volatility, lit,
};
use datafusion::optimizer::AnalyzerRule;

use crate::error::{SqlError, code};

/// The rule, for before types are made equal.
#[derive(Debug)]
pub(crate) struct SingleRows;

impl AnalyzerRule for SingleRows {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Projection(_) | LogicalPlan::Filter(_) => {
                let names = NamePreserver::new(&plan);
                plan.map_expressions(|expr| {
                    let name = names.save(&expr);
                    Ok(expr.transform_up(with_totals)?.update_data(|expr| name.restore(expr)))
                })
            }
            plan => Ok(Transformed::no(plan)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "single_rows"
    }
}

/// A value that is a query of rows of the outer row, from totals of these rows; anything else as it is.
fn with_totals(expr: Expr) -> Result<Transformed<Expr>> {
    let Expr::ScalarSubquery(subquery) = expr else { return Ok(Transformed::no(expr)) };
    let columns = subquery.subquery.schema().columns();
    let [value] = &columns[..] else { return Ok(Transformed::no(Expr::ScalarSubquery(subquery))) };
    if subquery.outer_ref_columns.is_empty() || !has_rows(&subquery.subquery) {
        return Ok(Transformed::no(Expr::ScalarSubquery(subquery)));
    }
    let first = first_value(Expr::Column(value.clone()), vec![]);
    let totals = LogicalPlanBuilder::from(Arc::unwrap_or_clone(subquery.subquery))
        .aggregate(Vec::<Expr>::new(), [first, count_all()])?;
    let found: Vec<_> = totals.schema().columns().into_iter().map(Expr::Column).collect();
    let [first, rows] = &found[..] else { return plan_err!("totals of a subquery have two columns") };
    let both = named_struct(vec![lit("value"), first.clone(), lit("rows"), rows.clone()]);
    let plan = Arc::new(totals.project([both.alias(&value.name)])?.build()?);
    let totals = Expr::ScalarSubquery(Subquery { subquery: plan, ..subquery });
    let signature = Signature::any(1, Volatility::Volatile);
    Ok(Transformed::yes(ScalarUDF::new_from_impl(OneRow { signature }).call(vec![totals])))
}

/// True of rows, as many as there are; false of totals, and where a limit leaves one.
fn has_rows(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => has_rows(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => has_rows(&alias.input),
        LogicalPlan::Filter(filter) if matches!(*filter.input, LogicalPlan::Aggregate(_)) => {
            has_rows(&filter.input)
        }
        LogicalPlan::Aggregate(aggregate) => aggregate.aggr_expr.is_empty(),
        rows => rows.max_rows().is_none_or(|rows| rows > 1),
    }
}

/// The value of one row, NULL of none.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OneRow {
    signature: Signature,
}

impl ScalarUDFImpl for OneRow {
    fn name(&self) -> &str {
        "$one_row"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        match arg_types {
            [DataType::Struct(fields)] if fields.len() == 2 => Ok(fields[0].data_type().clone()),
            _ => plan_err!("{} takes a value and a number of rows", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let totals = args.args[0].to_array(args.number_rows)?;
        let Some(totals) = totals.as_struct_opt() else {
            return exec_err!("{} got other types than it was planned with", self.name());
        };
        let rows = totals.column(1).as_primitive::<Int64Type>();
        let is_several = |at: usize| totals.is_valid(at) && rows.is_valid(at) && rows.value(at) > 1;
        if (0..totals.len()).any(is_several) {
            let text = "a subquery that is a value has more than one row for an outer row";
            return Err(SqlError::coded(code::SINGLE_ROW_SUBQUERY, text).into());
        }
        let values = totals.column(0).to_data();
        let nulls = NullBuffer::union(totals.nulls(), values.nulls());
        Ok(ColumnarValue::Array(make_array(values.into_builder().nulls(nulls).build()?)))
    }
}
