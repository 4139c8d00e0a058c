// SPDX-License-Identifier: Apache-2.0
//! CURRENT_DATE() and CURRENT_TIME(): the moment of the statement in milliseconds, as a DATE and as a TIME, both of which have day and time of
//! day in Phoenix.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Both functions.
pub(super) fn functions() -> [ScalarUDF; 2] {
    ["current_date", "current_time"]
        .map(|name| ScalarUDF::new_from_impl(Now { name, signature: Signature::nullary(Volatility::Stable) }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Now {
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for Now {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Timestamp(TimeUnit::Millisecond, None))
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("{} is the moment at which its statement was planned", self.name)
    }

    /// The same moment wherever the statement asks for it.
    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let Some(moment) = context.query_execution_start_time() else {
            return Ok(ExprSimplifyResult::Original(args));
        };
        let moment = ScalarValue::TimestampMillisecond(Some(moment.timestamp_millis()), None);
        Ok(ExprSimplifyResult::Simplified(Expr::Literal(moment, None)))
    }
}
