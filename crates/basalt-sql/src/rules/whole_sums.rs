// SPDX-License-Identifier: Apache-2.0
//! SUM of BIGINT and UNSIGNED_LONG that notices an overflow. The planner's own sum has 64 bits and wraps; here whole numbers are added up with 38 digits,
//! and a sum that leaves its type is an error (206), as it is of `+`.
//!
//! SUM of smaller integers is left as it is: four thousand million rows do not take it beyond a BIGINT.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, PrimitiveArray};
use datafusion::arrow::datatypes::{ArrowPrimitiveType, DataType, Decimal128Type, Int64Type, UInt64Type};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, DFSchemaRef, Result, exec_err};
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunction};
use datafusion::logical_expr::{
    Aggregate, Cast, ColumnarValue, Expr, ExprSchemable, LogicalPlan, Projection, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility, Window, WindowFunctionDefinition,
};
use datafusion::optimizer::AnalyzerRule;

use crate::error::{SqlError, code};

/// All digits that such a sum can have.
const ALL_DIGITS: DataType = DataType::Decimal128(38, 0);

/// See the module.
#[derive(Debug)]
pub(crate) struct WholeSums {
    signed: Arc<ScalarUDF>,
    unsigned: Arc<ScalarUDF>,
}

impl WholeSums {
    pub(crate) fn new() -> Self {
        let function = |of| {
            let signature = Signature::exact(vec![ALL_DIGITS], Volatility::Immutable);
            Arc::new(ScalarUDF::new_from_impl(InRange { of, signature }))
        };
        Self { signed: function(DataType::Int64), unsigned: function(DataType::UInt64) }
    }

    fn rewrite(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Aggregate(aggregate) => {
                let (exprs, types) = widened(&aggregate.aggr_expr, aggregate.input.schema())?;
                if types.iter().all(Option::is_none) {
                    return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
                }
                let wide = Aggregate::try_new(aggregate.input, aggregate.group_expr, exprs)?;
                self.narrowed(LogicalPlan::Aggregate(wide), &types, aggregate.schema)
            }
            LogicalPlan::Window(window) => {
                let (exprs, types) = widened(&window.window_expr, window.input.schema())?;
                if types.iter().all(Option::is_none) {
                    return Ok(Transformed::no(LogicalPlan::Window(window)));
                }
                let wide = Window::try_new(exprs, window.input)?;
                self.narrowed(LogicalPlan::Window(wide), &types, window.schema)
            }
            other => Ok(Transformed::no(other)),
        }
    }

    /// The plan with its last columns, those of `types`, brought back to the types that they had; under the names of `schema`.
    fn narrowed(
        &self,
        wide: LogicalPlan,
        types: &[Option<DataType>],
        schema: DFSchemaRef,
    ) -> Result<Transformed<LogicalPlan>> {
        let before = schema.fields().len() - types.len();
        let columns = wide.schema().columns().into_iter().enumerate().map(|(at, column)| {
            let column = Expr::Column(column);
            let function = match at.checked_sub(before).and_then(|at| types[at].as_ref()) {
                Some(DataType::UInt64) => &self.unsigned,
                Some(_) => &self.signed,
                None => return column,
            };
            let (qualifier, field) = schema.qualified_field(at);
            function.call(vec![column]).alias_qualified(qualifier.cloned(), field.name())
        });
        let columns = columns.collect();
        let projection = Projection::try_new_with_schema(columns, Arc::new(wide), schema)?;
        Ok(Transformed::yes(LogicalPlan::Projection(projection)))
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

/// The totals with sums of 64 bits made wide, and the types that those had.
fn widened(totals: &[Expr], input: &DFSchema) -> Result<(Vec<Expr>, Vec<Option<DataType>>)> {
    let widened = totals.iter().map(|total| widened_total(total.clone(), input));
    Ok(widened.collect::<Result<Vec<_>>>()?.into_iter().unzip())
}

fn widened_total(mut total: Expr, input: &DFSchema) -> Result<(Expr, Option<DataType>)> {
    let mut function = &mut total;
    while let Expr::Alias(alias) = function {
        function = &mut alias.expr;
    }
    let arguments = match function {
        Expr::AggregateFunction(AggregateFunction { func, params }) if func.name() == "sum" => {
            &mut params.args
        }
        Expr::WindowFunction(window) => match window.as_mut() {
            WindowFunction { fun: WindowFunctionDefinition::AggregateUDF(func), params }
                if func.name() == "sum" =>
            {
                &mut params.args
            }
            _ => return Ok((total, None)),
        },
        _ => return Ok((total, None)),
    };
    let [argument] = arguments.as_mut_slice() else { return Ok((total, None)) };
    let of = argument.get_type(input)?;
    if !matches!(of, DataType::Int64 | DataType::UInt64) || is_short(argument, input) {
        return Ok((total, None));
    }
    let wide = Cast::new(Box::new(std::mem::take(argument)), ALL_DIGITS);
    *argument = Expr::Cast(wide);
    Ok((total, Some(of)))
}

/// True if the number has 32 bits at most, and more only because of a cast.
fn is_short(argument: &Expr, input: &DFSchema) -> bool {
    let Expr::Cast(cast) = argument else { return false };
    cast.expr.get_type(input).is_ok_and(|of| of.is_integer() && of.primitive_width() <= Some(4))
}

/// A sum in the type that it shall have.
#[derive(Debug)]
struct InRange {
    of: DataType,
    signature: Signature,
}

impl PartialEq for InRange {
    fn eq(&self, other: &Self) -> bool {
        self.of == other.of
    }
}

impl Eq for InRange {}

impl Hash for InRange {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.of.hash(state);
    }
}

impl ScalarUDFImpl for InRange {
    fn name(&self) -> &str {
        if self.of == DataType::Int64 { "$bigint_sum" } else { "$unsigned_long_sum" }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.of.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [sums] = args.args.as_slice() else { return exec_err!("{} takes one argument", self.name()) };
        let sums = sums.to_array(args.number_rows)?;
        let narrowed: ArrayRef = match self.of {
            DataType::Int64 => Arc::new(in_range::<Int64Type>(&sums, "BIGINT")?),
            _ => Arc::new(in_range::<UInt64Type>(&sums, "UNSIGNED_LONG")?),
        };
        Ok(ColumnarValue::Array(narrowed))
    }
}

fn in_range<T>(sums: &ArrayRef, name: &str) -> Result<PrimitiveArray<T>>
where
    T: ArrowPrimitiveType<Native: TryFrom<i128>>,
{
    sums.as_primitive::<Decimal128Type>().try_unary(|sum| {
        T::Native::try_from(sum).map_err(|_| {
            let text =
                format!("the sum {sum} is beyond {name}; SUM(CAST(.. AS DECIMAL(38, 0))) has all its digits");
            SqlError::coded(code::DATA_EXCEEDS_CAPACITY, text).into()
        })
    })
}
