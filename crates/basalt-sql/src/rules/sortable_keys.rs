// SPDX-License-Identifier: Apache-2.0
//! Joins that sort take keys that are DECIMALs without precision. DataFusion 55 can sort those numbers of 256 bits, but not compare them while it merges; it can compare
//! bytes, and a number's, the most significant one first and the sign turned, are in the order of the numbers.

use std::sync::Arc;

use datafusion::arrow::array::{AsArray, FixedSizeBinaryArray, FixedSizeBinaryBuilder};
use datafusion::arrow::datatypes::{DataType, Decimal256Type, i256};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, LogicalPlan, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

/// The rule; it has nothing to do where joins hash.
#[derive(Debug)]
pub(super) struct SortableKeys;

impl OptimizerRule for SortableKeys {
    fn name(&self) -> &str {
        "sortable_keys"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Join(mut join) = plan else { return Ok(Transformed::no(plan)) };
        if config.options().optimizer.prefer_hash_join {
            return Ok(Transformed::no(LogicalPlan::Join(join)));
        }
        let mut changed = false;
        for (left, right) in &mut join.on {
            if is_wide(left, join.left.schema())? && is_wide(right, join.right.schema())? {
                *left = in_order(left);
                *right = in_order(right);
                changed = true;
            }
        }
        let transformed = if changed { Transformed::yes } else { Transformed::no };
        Ok(transformed(LogicalPlan::Join(join)))
    }
}

fn is_wide(key: &Expr, schema: &DFSchema) -> Result<bool> {
    Ok(matches!(key.get_type(schema)?, DataType::Decimal256(..)))
}

fn in_order(key: &Expr) -> Expr {
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::new_from_impl(InOrder { signature }).call(vec![key.clone()])
}

/// Bytes of a key.
const WIDTH: i32 = 32;

#[derive(Debug, PartialEq, Eq, Hash)]
struct InOrder {
    signature: Signature,
}

impl ScalarUDFImpl for InOrder {
    fn name(&self) -> &str {
        "$in_order"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::FixedSizeBinary(WIDTH))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let numbers = args.args[0].to_array(args.number_rows)?;
        Ok(ColumnarValue::Array(Arc::new(bytes(numbers.as_primitive::<Decimal256Type>())?)))
    }
}

fn bytes(numbers: impl IntoIterator<Item = Option<i256>>) -> Result<FixedSizeBinaryArray> {
    let mut keys = FixedSizeBinaryBuilder::new(WIDTH);
    for number in numbers {
        match number {
            Some(number) => {
                let mut bytes = number.to_be_bytes();
                bytes[0] ^= 0x80;
                keys.append_value(bytes)?;
            }
            None => keys.append_null(),
        }
    }
    Ok(keys.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_in_the_order_of_the_numbers() {
        let numbers =
            [i256::MIN, i256::from(-300), i256::MINUS_ONE, i256::ZERO, i256::ONE, i256::from(256), i256::MAX];
        let keys = bytes(numbers.into_iter().map(Some).chain([None])).expect("of one width");
        let keys: Vec<_> = keys.iter().collect();
        assert!(keys[..numbers.len()].is_sorted_by(|a, b| a < b), "{keys:?}");
        assert_eq!(keys[numbers.len()], None);
    }
}
