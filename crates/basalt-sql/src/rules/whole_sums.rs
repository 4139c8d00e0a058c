// SPDX-License-Identifier: Apache-2.0
//! SUM of BIGINT, UNSIGNED_LONG and DECIMAL without precision that notices an overflow. The planner's own sums have 64 or 256 bits and wrap; here whole numbers
//! are added up with 38 digits, DECIMALs in two parts, and a sum that leaves its type is an error (206), as it is of `+`.
//!
//! SUM of smaller integers is left as it is: four thousand million rows do not take it beyond a BIGINT.

use std::sync::Arc;

use basalt_hfile::typed::DECIMAL_DEFAULT;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, DFSchemaRef, Result};
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction};
use datafusion::logical_expr::{
    Aggregate, Cast, Expr, ExprSchemable, LogicalPlan, Projection, ScalarUDF, Window,
    WindowFunctionDefinition,
};
use datafusion::optimizer::AnalyzerRule;

use crate::functions::{ALL_DIGITS, bigint_sum, fraction, put_together, unsigned_long_sum, whole_part};

/// See the module.
#[derive(Debug)]
pub(crate) struct WholeSums {
    signed: Arc<ScalarUDF>,
    unsigned: Arc<ScalarUDF>,
    whole_part: Arc<ScalarUDF>,
    fraction: Arc<ScalarUDF>,
    put_together: Arc<ScalarUDF>,
}

/// What became of a total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Total {
    Same,
    /// A sum with all its digits, which shall have a type of 64 bits.
    Signed,
    Unsigned,
    /// Two sums: of what is before the point, and of what is behind it.
    Parts,
}

impl WholeSums {
    pub(crate) fn new() -> Self {
        Self {
            signed: Arc::new(bigint_sum()),
            unsigned: Arc::new(unsigned_long_sum()),
            whole_part: Arc::new(whole_part()),
            fraction: Arc::new(fraction()),
            put_together: Arc::new(put_together()),
        }
    }

    fn rewrite(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Aggregate(aggregate) => {
                let (exprs, totals) = self.widened(&aggregate.aggr_expr, aggregate.input.schema())?;
                if totals.iter().all(|total| *total == Total::Same) {
                    return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
                }
                let wide = Aggregate::try_new(aggregate.input, aggregate.group_expr, exprs)?;
                self.narrowed(LogicalPlan::Aggregate(wide), &totals, aggregate.schema)
            }
            LogicalPlan::Window(window) => {
                let (exprs, totals) = self.widened(&window.window_expr, window.input.schema())?;
                if totals.iter().all(|total| *total == Total::Same) {
                    return Ok(Transformed::no(LogicalPlan::Window(window)));
                }
                let wide = Window::try_new(exprs, window.input)?;
                self.narrowed(LogicalPlan::Window(wide), &totals, window.schema)
            }
            other => Ok(Transformed::no(other)),
        }
    }

    /// The plan with its last columns, of which `totals` tells, brought back to the types that they had; under the names of `schema`.
    fn narrowed(
        &self,
        wide: LogicalPlan,
        totals: &[Total],
        schema: DFSchemaRef,
    ) -> Result<Transformed<LogicalPlan>> {
        let before = schema.fields().len() - totals.len();
        let mut columns = wide.schema().columns().into_iter().map(Expr::Column);
        let mut exprs: Vec<Expr> = columns.by_ref().take(before).collect();
        for (at, total) in (before..).zip(totals) {
            let column = columns.by_ref().take(if *total == Total::Parts { 2 } else { 1 }).collect();
            let function = match total {
                Total::Same => {
                    exprs.extend(column);
                    continue;
                }
                Total::Signed => &self.signed,
                Total::Unsigned => &self.unsigned,
                Total::Parts => &self.put_together,
            };
            let (qualifier, field) = schema.qualified_field(at);
            exprs.push(function.call(column).alias_qualified(qualifier.cloned(), field.name()));
        }
        let projection = Projection::try_new_with_schema(exprs, Arc::new(wide), schema)?;
        Ok(Transformed::yes(LogicalPlan::Projection(projection)))
    }

    /// The totals with sums made wide, and what became of each.
    fn widened(&self, totals: &[Expr], input: &DFSchema) -> Result<(Vec<Expr>, Vec<Total>)> {
        let (mut exprs, mut kinds) = (Vec::with_capacity(totals.len()), Vec::with_capacity(totals.len()));
        for total in totals {
            let mut wide = total.clone();
            let Some((argument, is_distinct)) = summed(&mut wide) else {
                exprs.push(wide);
                kinds.push(Total::Same);
                continue;
            };
            let kind = match argument.get_type(input)? {
                DataType::Int64 if !is_short(argument, input) => Total::Signed,
                DataType::UInt64 if !is_short(argument, input) => Total::Unsigned,
                // Of different numbers the parts may be the same.
                DataType::Decimal256(_, scale) if scale == DECIMAL_DEFAULT.1 && !is_distinct => Total::Parts,
                _ => Total::Same,
            };
            match kind {
                Total::Same => {}
                Total::Signed | Total::Unsigned => {
                    *argument = Expr::Cast(Cast::new(Box::new(std::mem::take(argument)), ALL_DIGITS));
                }
                Total::Parts => {
                    let number = std::mem::take(argument);
                    *argument = self.whole_part.call(vec![number.clone()]);
                    exprs.push(wide.clone());
                    let (argument, _) = summed(&mut wide).expect("it is a sum");
                    *argument = self.fraction.call(vec![number]);
                }
            }
            exprs.push(wide);
            kinds.push(kind);
        }
        Ok((exprs, kinds))
    }
}

impl AnalyzerRule for WholeSums {
    fn name(&self) -> &str {
        "whole_sums"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| self.rewrite(plan)).map(|rewritten| rewritten.data)
    }
}

/// What a total adds up, if it is a sum, and whether of different values only.
fn summed(total: &mut Expr) -> Option<(&mut Expr, bool)> {
    let mut function = total;
    while let Expr::Alias(alias) = function {
        function = &mut alias.expr;
    }
    let (arguments, is_distinct) = match function {
        Expr::AggregateFunction(AggregateFunction { func, params }) if func.name() == "sum" => {
            (&mut params.args, params.distinct)
        }
        Expr::WindowFunction(window) => match window.as_mut() {
            WindowFunction { fun: WindowFunctionDefinition::AggregateUDF(func), params }
                if func.name() == "sum" =>
            {
                (&mut params.args, params.distinct)
            }
            _ => return None,
        },
        _ => return None,
    };
    match arguments.as_mut_slice() {
        [argument] => Some((argument, is_distinct)),
        _ => None,
    }
}

/// True if the number has 32 bits at most, and more only because of a cast.
fn is_short(argument: &Expr, input: &DFSchema) -> bool {
    let Expr::Cast(cast) = argument else { return false };
    cast.expr.get_type(input).is_ok_and(|of| of.is_integer() && of.primitive_width() <= Some(4))
}
