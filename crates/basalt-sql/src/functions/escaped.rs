// SPDX-License-Identifier: Apache-2.0
//! ENCODE_BINARY(b, 'HBASE') and DECODE_BINARY(s, 'HBASE'): bytes in the form that HBase's shell prints, `a\x00`.

use std::sync::Arc;

use basalt_model::escape::Escaped;
use datafusion::arrow::array::{AsArray, BinaryArray, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

use super::plain::{Plain, count, is_text, texts};

/// The call that stands for ENCODE_BINARY(b, 'HBASE').
pub(crate) const TO_ESCAPED: &str = "$to_escaped";
/// The call that stands for DECODE_BINARY(s, 'HBASE').
pub(crate) const FROM_ESCAPED: &str = "$from_escaped";

pub(super) fn functions() -> [ScalarUDF; 2] {
    [
        Plain::function(TO_ESCAPED, bytes, |_| DataType::Utf8, encode),
        Plain::function(
            FROM_ESCAPED,
            |_, found| texts("decode_binary", found, 1, 1),
            |_| DataType::Binary,
            decode,
        ),
    ]
}

fn bytes(_: &str, found: &[DataType]) -> Result<Vec<DataType>> {
    count("encode_binary", found, 1, 1)?;
    match &found[0] {
        DataType::Binary | DataType::BinaryView | DataType::LargeBinary | DataType::FixedSizeBinary(_) => {}
        text if is_text(text) => {}
        other => return plan_err!("ENCODE_BINARY takes a binary value, not {other}"),
    }
    Ok(vec![DataType::Binary])
}

fn encode(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let values = args.args[0].to_array(args.number_rows)?;
    let texts = values.as_binary::<i32>().iter().map(|bytes| Some(Escaped(bytes?).to_string()));
    let texts: StringArray = texts.map(|text| text.filter(|text| !text.is_empty())).collect();
    Ok(ColumnarValue::Array(Arc::new(texts)))
}

fn decode(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let texts = args.args[0].to_array(args.number_rows)?;
    let values: BinaryArray = texts.as_string::<i32>().iter().map(|text| text.map(plain)).collect();
    Ok(ColumnarValue::Array(Arc::new(values)))
}

/// `\xHH` is a byte; anything else stands for itself.
fn plain(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (vec![], text.as_bytes());
    while let Some((&first, behind)) = rest.split_first() {
        let hex = match behind {
            [b'x', high, low, ..] if first == b'\\' => {
                char::from(*high).to_digit(16).zip(char::from(*low).to_digit(16))
            }
            _ => None,
        };
        let (byte, taken) = hex.map_or((first, 1), |(high, low)| ((high * 16 + low) as u8, 4));
        bytes.push(byte);
        rest = &rest[taken..];
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(plain(&Escaped(&all).to_string()), all);
        assert_eq!(plain("\\x4\\y\\"), b"\\x4\\y\\");
    }
}
