// SPDX-License-Identifier: Apache-2.0
//! A subquery with a number, by which the planner tells it from others: it names all that are IN alike, and takes totals of two for one name.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The name of the call: (number, subquery).
pub(crate) const NUMBERED: &str = "$numbered";

/// The function of this name.
pub(super) fn function() -> ScalarUDF {
    ScalarUDF::new_from_impl(Numbered { signature: Signature::any(2, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Numbered {
    signature: Signature,
}

impl ScalarUDFImpl for Numbered {
    fn name(&self) -> &str {
        NUMBERED
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(arg_types[1].clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::clone(&args.arg_fields[1]))
    }

    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let [_, value] = <[Expr; 2]>::try_from(args).expect("the signature has two arguments");
        Ok(ExprSimplifyResult::Simplified(value))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(args.args[1].clone())
    }
}
