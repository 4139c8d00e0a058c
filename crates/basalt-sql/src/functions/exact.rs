// SPDX-License-Identifier: Apache-2.0
//! From FLOAT and DOUBLE to DECIMAL by way of the digits that the number is shown with.
//!
//! A number like `1e20` or `12345678.9` times a power of ten is none that 53 bits hold: multiplied, as Arrow casts it, it
//! comes out as 100000000000000001988.46. The shortest text that reads back as the same number is what a user wrote.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// `CAST(floating-point AS DECIMAL(p, s))` with a DECIMAL of 128 bits.
pub(super) fn decimal(cast: Cast) -> Expr {
    let DataType::Decimal128(precision, scale) = *cast.field.data_type() else { return Expr::Cast(cast) };
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::new_from_impl(Exact { precision, scale, signature }).call(vec![*cast.expr])
}

/// FLOATs or DOUBLEs as DECIMALs, rounded to `scale` digits behind the point, halves away from zero; one that has more than
/// `precision` digits, or is no number, is NULL. `None` for arrays of another type.
pub(crate) fn decimals(values: &ArrayRef, precision: u8, scale: i8) -> Option<Decimal128Array> {
    let exact = |text: String| unscaled(&text, scale).filter(|value| digits(*value) <= u32::from(precision));
    let decimals: Decimal128Array = match values.data_type() {
        DataType::Float32 => {
            let values = values.as_primitive::<Float32Type>();
            values.iter().map(|value| value.and_then(|value| exact(value.to_string()))).collect()
        }
        DataType::Float64 => {
            let values = values.as_primitive::<Float64Type>();
            values.iter().map(|value| value.and_then(|value| exact(value.to_string()))).collect()
        }
        _ => return None,
    };
    Some(decimals.with_data_type(DataType::Decimal128(precision, scale)))
}

/// The number of a text like `-12.345`, times ten to the power of `scale`; `None` if it has no such text or no room in 128 bits.
fn unscaled(text: &str, scale: i8) -> Option<i128> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let scale = usize::try_from(scale).ok()?;
    let kept = fraction.get(..scale).unwrap_or(fraction);
    let missing = u32::try_from(scale - kept.len()).ok()?;
    let value = format!("{whole}{kept}").parse::<i128>().ok()?.checked_mul(10_i128.checked_pow(missing)?)?;
    let up = fraction.as_bytes().get(scale).is_some_and(|digit| *digit >= b'5');
    let value = value.checked_add(i128::from(up))?;
    Some(if negative { -value } else { value })
}

fn digits(value: i128) -> u32 {
    value.unsigned_abs().checked_ilog10().map_or(0, |log| log + 1)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Exact {
    precision: u8,
    scale: i8,
    signature: Signature,
}

impl ScalarUDFImpl for Exact {
    fn name(&self) -> &str {
        "$exact_decimal"
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        self.schema_name(args)
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let [value] = args else { return exec_err!("CAST takes one value") };
        Ok(value.schema_name().to_string())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Decimal128(self.precision, self.scale))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = args.args[0].to_array(args.number_rows)?;
        let Some(decimals) = decimals(&values, self.precision, self.scale) else {
            return exec_err!("{} is no floating-point number", values.data_type());
        };
        let lost = (0..values.len()).find(|&row| values.is_valid(row) && decimals.is_null(row));
        if let Some(row) = lost {
            let value = array_value_to_string(&values, row)?;
            return exec_err!(
                "{value} is too large to store in a DECIMAL({}, {})",
                self.precision,
                self.scale
            );
        }
        Ok(ColumnarValue::Array(Arc::new(decimals)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_that_a_number_is_shown_with() {
        let of = |value: f64, scale| unscaled(&value.to_string(), scale);
        assert_eq!(of(1e20, 10), Some(1_000_000_000_000_000_000_000_000_000_000));
        assert_eq!(of(12_345_678.9, 10), Some(123_456_789_000_000_000));
        assert_eq!(
            [0.125, -0.125, 0.124, -99.995].map(|value| of(value, 2)),
            [13, -13, 12, -10_000].map(Some)
        );
        assert_eq!(of(1e-9, 3), Some(0));
        assert_eq!([f64::INFINITY, f64::NAN, 1e40].map(|value| of(value, 0)), [None; 3]);
        assert_eq!(unscaled(&1.1_f32.to_string(), 5), Some(110_000));
    }
}
