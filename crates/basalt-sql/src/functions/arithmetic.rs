// SPDX-License-Identifier: Apache-2.0
//! Whole-number `+`, `-` and `*` that notice an overflow.
//!
//! Integers of any width are added as BIGINT, as in Phoenix (`ii + 1` is a BIGINT). Phoenix and the planner's own
//! operators wrap silently when the result leaves 64 bits; here it is an error. Dates, DECIMAL and floating-point
//! numbers keep the planner's operators.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::compute::kernels::numeric;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, exec_err};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
    lit,
};
use datafusion::physical_expr_common::datum::apply;
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// Plans integer arithmetic.
#[derive(Debug)]
pub(crate) struct CheckedArithmetic {
    functions: [Arc<ScalarUDF>; 3],
}

impl CheckedArithmetic {
    pub(crate) fn new() -> Self {
        let function = |operation| Arc::new(ScalarUDF::new_from_impl(Checked::new(operation)));
        Self { functions: [Operation::Add, Operation::Subtract, Operation::Multiply].map(function) }
    }
}

impl ExprPlanner for CheckedArithmetic {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let function = match expr.op {
            BinaryOperator::Plus => &self.functions[0],
            BinaryOperator::Minus => &self.functions[1],
            BinaryOperator::Multiply => &self.functions[2],
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let whole = |expr: &Expr| expr.get_type(schema).is_ok_and(|data_type| is_whole(&data_type));
        if !whole(&expr.left) || !whole(&expr.right) {
            return Ok(PlannerResult::Original(expr));
        }
        Ok(PlannerResult::Planned(function.call(vec![expr.left, expr.right])))
    }
}

/// `-x` of a whole number, as a BIGINT: `-(-128)` is no TINYINT.
pub(super) fn negated(expr: Expr) -> Expr {
    static SUBTRACT: LazyLock<Arc<ScalarUDF>> =
        LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(Checked::new(Operation::Subtract))));
    SUBTRACT.call(vec![lit(0_i64), expr])
}

/// Types that fit into BIGINT.
pub(super) fn is_whole(data_type: &DataType) -> bool {
    use DataType::{Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32};
    matches!(data_type, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Operation {
    Add,
    Subtract,
    Multiply,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    operation: Operation,
    signature: Signature,
}

impl Checked {
    fn new(operation: Operation) -> Self {
        Self { operation, signature: Signature::exact(vec![DataType::Int64; 2], Volatility::Immutable) }
    }

    fn symbol(&self) -> &'static str {
        match self.operation {
            Operation::Add => "+",
            Operation::Subtract => "-",
            Operation::Multiply => "*",
        }
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.operation {
            Operation::Add => "$add",
            Operation::Subtract => "$subtract",
            Operation::Multiply => "$multiply",
        }
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        self.schema_name(args)
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let [left, right] = args else { return exec_err!("{} takes two arguments", self.name()) };
        Ok(format!("{} {} {}", left.schema_name(), self.symbol(), right.schema_name()))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Int64)
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = args.args.as_slice() else {
            return exec_err!("{} takes two arguments", self.name());
        };
        match self.operation {
            Operation::Add => apply(left, right, numeric::add),
            Operation::Subtract => apply(left, right, numeric::sub),
            Operation::Multiply => apply(left, right, numeric::mul),
        }
    }
}
