// SPDX-License-Identifier: Apache-2.0
//! AVG: of integers a DECIMAL with four digits behind the point, cut off and not rounded, as in Phoenix; of DECIMALs
//! one with four digits more than the values have (Phoenix: four in all); of floating-point numbers a DOUBLE.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, plan_err};
use datafusion::functions_aggregate::average::avg_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator, ReversedUDAF, Signature, Volatility,
};

/// Holds every integer of 64 bits.
const INTEGER: DataType = DataType::Decimal128(20, 0);

/// The function.
pub(crate) fn average() -> AggregateUDF {
    let signature = Signature::user_defined(Volatility::Immutable);
    AggregateUDF::new_from_impl(Average { signature, inner: avg_udaf() })
}

/// The planner's AVG does the work; all that is new is what integers become.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Average {
    signature: Signature,
    inner: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for Average {
    fn name(&self) -> &str {
        "avg"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let [argument] = arg_types else {
            return plan_err!("AVG takes one argument, not {}", arg_types.len());
        };
        Ok(vec![match argument {
            DataType::Decimal128(..) | DataType::Decimal256(..) => argument.clone(),
            DataType::Float32 | DataType::Float64 | DataType::Null => DataType::Float64,
            integer if integer.is_integer() => INTEGER,
            other => return plan_err!("AVG takes numbers, not {other}"),
        }])
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arg_types)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.inner.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.inner.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        self.inner.create_groups_accumulator(args)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}
