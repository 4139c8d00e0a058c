// SPDX-License-Identifier: Apache-2.0
//! What is made of sums that have all their digits: of whole numbers a number of 64 bits again, or an error.
//!
//! A sum of DECIMALs without precision is made of two: 256 bits hold the digits of one of them, but not those of two of 38 digits before the point. So what
//! stands before the point and what stands behind it are added up apart, and put together at the end.

use std::sync::Arc;

use basalt_hfile::typed::{DECIMAL_DEFAULT, wide_power_of_ten, widened};
use datafusion::arrow::array::{AsArray, Decimal256Array, PrimitiveArray};
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Decimal256Type, Int64Type, UInt64Type, i256,
};
use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

use super::plain::Plain;
use super::wide::number;
use crate::error::{SqlError, code};

const DECIMAL: DataType = DataType::Decimal256(DECIMAL_DEFAULT.0, DECIMAL_DEFAULT.1);
const WHOLE: DataType = DataType::Decimal256(DECIMAL_DEFAULT.0, 0);

/// The type of a sum of whole numbers with all digits that it can have.
pub(crate) const ALL_DIGITS: DataType = DataType::Decimal128(38, 0);

/// Such a sum as a BIGINT; an error (206) if it is none.
pub(crate) fn bigint_sum() -> ScalarUDF {
    let run = |args: &ScalarFunctionArgs| in_range::<Int64Type>(args, "BIGINT");
    Plain::function("$bigint_sum", |_, found| Ok(found.to_vec()), |_| DataType::Int64, run)
}

/// The same as an UNSIGNED_LONG.
pub(crate) fn unsigned_long_sum() -> ScalarUDF {
    let run = |args: &ScalarFunctionArgs| in_range::<UInt64Type>(args, "UNSIGNED_LONG");
    Plain::function("$unsigned_long_sum", |_, found| Ok(found.to_vec()), |_| DataType::UInt64, run)
}

fn in_range<T>(args: &ScalarFunctionArgs, name: &str) -> Result<ColumnarValue>
where
    T: ArrowPrimitiveType<Native: TryFrom<i128>>,
{
    let sums = args.args[0].to_array(args.number_rows)?;
    let narrowed: PrimitiveArray<T> = sums.as_primitive::<Decimal128Type>().try_unary(|sum| {
        T::Native::try_from(sum).map_err(|_| {
            let text =
                format!("the sum {sum} is beyond {name}; SUM(CAST(.. AS DECIMAL(38, 0))) has all its digits");
            DataFusionError::from(SqlError::coded(code::DATA_EXCEEDS_CAPACITY, text))
        })
    })?;
    Ok(ColumnarValue::Array(Arc::new(narrowed)))
}

/// Numbers without what is behind the point.
pub(crate) fn whole_part() -> ScalarUDF {
    Plain::function("$whole_part", |_, found| Ok(found.to_vec()), |_| WHOLE, |args| part(args, &WHOLE))
}

/// What is behind the point.
pub(crate) fn fraction() -> ScalarUDF {
    Plain::function("$fraction", |_, found| Ok(found.to_vec()), |_| DECIMAL, |args| part(args, &DECIMAL))
}

/// The sum of both sums; an error (206) if it has more than 38 digits before the point.
pub(crate) fn put_together() -> ScalarUDF {
    Plain::function("$decimal_sum", |_, found| Ok(found.to_vec()), |_| DECIMAL, together)
}

fn one() -> i256 {
    wide_power_of_ten(DECIMAL_DEFAULT.1.unsigned_abs().into()).expect("half of the digits")
}

fn part(args: &ScalarFunctionArgs, of: &DataType) -> Result<ColumnarValue> {
    let numbers = args.args[0].to_array(args.number_rows)?;
    let one = one();
    let part = |number: i256| if *of == WHOLE { number / one } else { number % one };
    let parts: Decimal256Array = numbers.as_primitive::<Decimal256Type>().unary(part);
    Ok(ColumnarValue::Array(Arc::new(parts.with_data_type(of.clone()))))
}

fn together(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let [whole, fractions] = args.args.as_slice() else { return exec_err!("two sums are put together") };
    let (whole, fractions) = (whole.to_array(args.number_rows)?, fractions.to_array(args.number_rows)?);
    let one = one();
    let sum = |whole: i256, fraction: i256| {
        let digits = whole.checked_mul(one)?.checked_add(fraction)?;
        number(digits).and_then(widened)
    };
    let pairs = whole.as_primitive::<Decimal256Type>().iter().zip(fractions.as_primitive::<Decimal256Type>());
    let sums = pairs.map(|(whole, fraction)| match whole.zip(fraction) {
        None => Ok(None),
        Some((whole, fraction)) => sum(whole, fraction).map(Some).ok_or_else(|| {
            let text = "the sum has more than 38 digits before the point";
            SqlError::coded(code::DATA_EXCEEDS_CAPACITY, text).into()
        }),
    });
    let sums: Decimal256Array = sums.collect::<Result<_>>()?;
    Ok(ColumnarValue::Array(Arc::new(sums.with_data_type(DECIMAL))))
}
