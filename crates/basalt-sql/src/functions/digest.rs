// SPDX-License-Identifier: Apache-2.0
//! MD5(x): 16 bytes, of the bytes that Phoenix stores for the value.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use basalt_hfile::typed::{arrow_type, encode_key_value};
use basalt_model::SortOrder;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BinaryArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_datafusion_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::definition::type_of_field;

/// `planners` is the planner's MD5, which takes bytes and returns hexadecimal digits.
pub(super) fn md5(planners: &Arc<ScalarUDF>) -> ScalarUDF {
    let signature = Signature::any(1, Volatility::Immutable);
    ScalarUDF::new_from_impl(Md5 { signature, digits: Arc::clone(planners) })
}

#[derive(Debug)]
struct Md5 {
    signature: Signature,
    digits: Arc<ScalarUDF>,
}

impl PartialEq for Md5 {
    fn eq(&self, other: &Self) -> bool {
        self.digits == other.digits
    }
}

impl Eq for Md5 {}

impl Hash for Md5 {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.digits.hash(state);
    }
}

impl ScalarUDFImpl for Md5 {
    fn name(&self) -> &str {
        "md5"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Binary)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(sql_type) = type_of_field(&args.arg_fields[0]) else {
            return plan_err!("MD5 takes no value of type {}", args.arg_fields[0].data_type());
        };
        let values = args.args[0].to_array(args.number_rows)?;
        let values = cast(&values, &arrow_type(sql_type))?;
        let mut stored: Vec<Option<Vec<u8>>> = Vec::with_capacity(values.len());
        for row in 0..values.len() {
            let mut bytes = vec![];
            encode_key_value(sql_type, SortOrder::Asc, &values, row, &mut bytes)
                .map_err(|error| exec_datafusion_err!("{error}"))?;
            stored.push((!bytes.is_empty()).then_some(bytes));
        }
        let stored: BinaryArray = stored.iter().map(Option::as_deref).collect();
        args.args = vec![ColumnarValue::Array(Arc::new(stored))];
        let digits = self.digits.invoke_with_args(args.clone())?.to_array(args.number_rows)?;
        let digits = cast(&digits, &DataType::Utf8)?;
        let bytes: BinaryArray =
            digits.as_string::<i32>().iter().map(|digits| Some(from_hex(digits?))).collect();
        Ok(ColumnarValue::Array(Arc::new(bytes) as ArrayRef))
    }
}

/// The bytes of pairs of hexadecimal digits.
fn from_hex(digits: &str) -> Vec<u8> {
    let value =
        |digit: u8| char::from(digit).to_digit(16).expect("MD5 is written in hexadecimal digits") as u8;
    digits.as_bytes().chunks(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
}
