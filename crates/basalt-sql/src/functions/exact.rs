// SPDX-License-Identifier: Apache-2.0
//! From FLOAT and DOUBLE to DECIMAL by way of the digits that the number is shown with, and back to the nearest number.
//!
//! A number like `1e20` or `12345678.9` times a power of ten is none that 53 bits hold: multiplied, as Arrow casts it, it
//! comes out as 100000000000000001988.46. The shortest text that reads back as the same number is what a user wrote.
//! Nor do they hold the digits of most DECIMALs, and 10^23: divided, as Arrow casts it, 14.0625 comes out as 14.062500000000002.
//!
//! A DECIMAL of 256 bits becomes a text without the zeros behind its last digit, which are not the user's.

use std::str::FromStr;
use std::sync::Arc;

use basalt_hfile::typed::{narrowed, wide_power_of_ten};
use basalt_model::types::Decimal;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Decimal256Array, Float32Array, Float64Array, StringArray,
};
use datafusion::arrow::compute::cast as arrow_cast;
use datafusion::arrow::datatypes::{
    DataType, Decimal128Type, Decimal256Type, Float32Type, Float64Type, i256,
};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::error::readable_type;

/// A CAST from FLOAT or DOUBLE to a DECIMAL of 128 or 256 bits, or the other way, or of one of 256 bits to a text.
pub(super) fn cast(cast: Cast) -> Expr {
    let to = cast.field.data_type().clone();
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::new_from_impl(Exact { to, signature }).call(vec![*cast.expr])
}

/// DECIMALs as the nearest FLOATs or DOUBLEs; one with more than 76 digits is NULL. `None` for arrays, and for wanted types, of another kind.
fn floats(values: &ArrayRef, float: &DataType) -> Option<ArrayRef> {
    let numbers: Vec<Option<Decimal>> = match values.data_type() {
        DataType::Decimal128(_, scale) => {
            let number = |digits| Decimal::new(digits, i32::from(*scale));
            values.as_primitive::<Decimal128Type>().iter().map(|digits| digits.map(number)).collect()
        }
        DataType::Decimal256(_, scale) => {
            let number = |digits| narrowed(digits, i32::from(*scale));
            values.as_primitive::<Decimal256Type>().iter().map(|digits| digits.and_then(number)).collect()
        }
        _ => return None,
    };
    let numbers = numbers.into_iter();
    Some(match float {
        DataType::Float32 => {
            let floats: Float32Array = numbers.map(|number| number.and_then(parsed)).collect();
            Arc::new(floats)
        }
        DataType::Float64 => {
            let doubles: Float64Array = numbers.map(|number| number.and_then(double)).collect();
            Arc::new(doubles)
        }
        _ => return None,
    })
}

/// DECIMALs of 256 bits as texts. `None` for arrays, and for wanted types, of another kind.
fn plain(values: &ArrayRef, text: &DataType) -> Option<ArrayRef> {
    if !matches!(values.data_type(), DataType::Decimal256(..)) || !text.is_string() {
        return None;
    }
    let decimals = values.as_primitive::<Decimal256Type>();
    let shown = |row| {
        let text = decimals.value_as_string(row);
        if !text.contains('.') {
            return text;
        }
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    let texts: StringArray =
        (0..decimals.len()).map(|row| decimals.is_valid(row).then(|| shown(row))).collect();
    arrow_cast(&texts, text).ok()
}

const NAME: &str = "$exact_cast";

fn double(number: Decimal) -> Option<f64> {
    // Both are exact, so their quotient is the nearest.
    let power = usize::try_from(number.scale).ok().and_then(|scale| POWERS.get(scale));
    match power {
        Some(power) if number.unscaled.unsigned_abs() <= 1 << 53 => Some(number.unscaled as f64 / power),
        _ => parsed(number),
    }
}

fn parsed<T: FromStr>(number: Decimal) -> Option<T> {
    format!("{}e{}", number.unscaled, -i64::from(number.scale)).parse().ok()
}

/// Powers of ten that are exact in 53 bits.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// FLOATs or DOUBLEs as DECIMALs of a type of 128 or 256 bits, rounded to its scale, halves away from zero; one that has more than
/// its precision of digits, or is no number, is NULL. `None` for arrays, and for wanted types, of another kind.
pub(crate) fn decimals(values: &ArrayRef, decimal: &DataType) -> Option<ArrayRef> {
    let texts: Vec<Option<String>> = match values.data_type() {
        DataType::Float32 => texts(values.as_primitive::<Float32Type>().iter()),
        DataType::Float64 => texts(values.as_primitive::<Float64Type>().iter()),
        _ => return None,
    };
    let digits = |scale| texts.iter().map(move |text| unscaled(text.as_deref()?, scale));
    Some(match *decimal {
        DataType::Decimal128(precision, scale) => {
            let short = |digits: Option<i256>| digits.filter(|digits| fits(*digits, precision))?.to_i128();
            let decimals: Decimal128Array = digits(scale).map(short).collect();
            Arc::new(decimals.with_data_type(decimal.clone()))
        }
        DataType::Decimal256(precision, scale) => {
            let short = |digits: Option<i256>| digits.filter(|digits| fits(*digits, precision));
            let decimals: Decimal256Array = digits(scale).map(short).collect();
            Arc::new(decimals.with_data_type(decimal.clone()))
        }
        _ => return None,
    })
}

fn texts<T: ToString>(values: impl Iterator<Item = Option<T>>) -> Vec<Option<String>> {
    values.map(|value| value.map(|value| value.to_string())).collect()
}

/// The number of a text like `-12.345`, times ten to the power of `scale`; `None` if it has no such text or no room in 256 bits.
fn unscaled(text: &str, scale: i8) -> Option<i256> {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let scale = usize::try_from(scale).ok()?;
    let kept = fraction.get(..scale).unwrap_or(fraction);
    let missing = scale - kept.len();
    let value = i256::from_string(&format!("{whole}{kept}{:0<missing$}", ""))?;
    let up = fraction.as_bytes().get(scale).is_some_and(|digit| *digit >= b'5');
    let value = if up { value.checked_add(i256::ONE)? } else { value };
    if negative { value.checked_neg() } else { Some(value) }
}

/// True if a number has no more digits.
fn fits(digits: i256, precision: u8) -> bool {
    wide_power_of_ten(precision.into()).is_some_and(|limit| digits.wrapping_abs() < limit)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Exact {
    to: DataType,
    signature: Signature,
}

impl ScalarUDFImpl for Exact {
    fn name(&self) -> &str {
        NAME
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        self.schema_name(args)
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let [value] = args else { return exec_err!("CAST takes one value") };
        // Not the name of the value: a join's keys stand beside its columns in one list.
        Ok(format!("CAST({} AS {})", value.schema_name(), self.to))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = args.args[0].to_array(args.number_rows)?;
        let cast = decimals(&values, &self.to).or_else(|| floats(&values, &self.to));
        let Some(cast) = cast.or_else(|| plain(&values, &self.to)) else {
            return exec_err!("{} cannot become {}", values.data_type(), self.to);
        };
        let lost = (0..values.len()).find(|&row| values.is_valid(row) && cast.is_null(row));
        if let Some(row) = lost {
            let value = array_value_to_string(&values, row)?;
            return exec_err!("{value} is too large to store in a {}", readable_type(&self.to));
        }
        Ok(ColumnarValue::Array(cast))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_that_a_number_is_shown_with() {
        let of = |value: f64, scale| unscaled(&value.to_string(), scale);
        let some = |digits: i128| Some(i256::from_i128(digits));
        assert_eq!(of(1e20, 10), some(1_000_000_000_000_000_000_000_000_000_000));
        assert_eq!(of(12_345_678.9, 10), some(123_456_789_000_000_000));
        assert_eq!(
            [0.125, -0.125, 0.124, -99.995].map(|value| of(value, 2)),
            [13, -13, 12, -10_000].map(some)
        );
        assert_eq!(of(1e-9, 3), some(0));
        assert_eq!(of(1e-12, 38), some(10_i128.pow(26)));
        assert_eq!([f64::INFINITY, f64::NAN, 1e80].map(|value| of(value, 0)), [None; 3]);
        assert_eq!(unscaled(&1.1_f32.to_string(), 5), some(110_000));
    }

    #[test]
    fn what_has_too_many_digits_is_null() {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![1e37, 1e38, 1e39, -1e38]));
        let nulls = |decimal| decimals(&values, &decimal).expect("a DECIMAL").null_count();
        assert_eq!([nulls(DataType::Decimal128(38, 0)), nulls(DataType::Decimal256(76, 38))], [3, 3]);
        assert_eq!(nulls(DataType::Decimal256(76, 0)), 0);
        assert!(decimals(&values, &DataType::Int64).is_none());
    }

    #[test]
    fn floats_are_the_nearest() {
        let of = |digits: &str, scale| {
            let digits = Decimal256Array::from(vec![i256::from_string(digits)]);
            let digits: ArrayRef = Arc::new(digits.with_data_type(DataType::Decimal256(76, scale)));
            floats(&digits, &DataType::Float64).expect("of the kind").as_primitive::<Float64Type>().value(0)
        };
        assert_eq!(of("1406250000000000000000000000000000000000", 38), 14.0625);
        assert_eq!(of("-1", 38), -1e-38);
        assert_eq!(of("100000000000000000000000", 0), 1e23);
        assert_eq!(of("123456789012345678901234567890123456789012345", 38), 1_234_567.890_123_456_8);
        let short: ArrayRef = Arc::new(Decimal128Array::from(vec![Some(i128::MAX), None]));
        let short = floats(&short, &DataType::Float32).expect("of the kind");
        let short = short.as_primitive::<Float32Type>();
        assert_eq!((short.value(0), short.is_null(1)), (1.701_411_8e28, true), "ten digits behind the point");
        assert!(floats(&(Arc::new(Float64Array::from(vec![1.0])) as ArrayRef), &DataType::Float64).is_none());
    }
}
