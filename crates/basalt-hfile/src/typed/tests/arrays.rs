// SPDX-License-Identifier: Apache-2.0
//! Arrays of any type made of random words, without the codecs that are under test.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Decimal128Array, Decimal256Array, Float32Array, Float64Array,
    Int8Array, Int16Array, Int32Array, Int64Array, StringViewArray, TimestampMillisecondArray,
    TimestampNanosecondArray,
};
use arrow::datatypes::i256;
use basalt_model::SqlType;

use crate::typed::DECIMAL_DEFAULT;

pub(super) fn types() -> Vec<SqlType> {
    use SqlType::*;
    vec![
        TinyInt,
        SmallInt,
        Integer,
        BigInt,
        UnsignedTinyInt,
        UnsignedSmallInt,
        UnsignedInt,
        UnsignedLong,
        Float,
        Double,
        UnsignedFloat,
        UnsignedDouble,
        Decimal(None),
        Decimal(Some((12, 2))),
        Boolean,
        Date,
        Time,
        Timestamp,
        UnsignedDate,
        UnsignedTime,
        UnsignedTimestamp,
        Char(7),
        Varchar(None),
        Varchar(Some(5)),
        Binary(3),
        Varbinary(None),
        Decimal(Some((38, 0))),
    ]
}

fn text(word: u64, chars: usize, ascii: bool) -> String {
    let alphabet: Vec<char> =
        if ascii { "ab~ z".chars().collect() } else { "a~é漢\u{10ffff}".chars().collect() };
    let count = 1 + word as usize % chars;
    let text: String =
        (0..count).map(|i| alphabet[(word >> (8 + 4 * i)) as usize % alphabet.len()]).collect();
    let text: String = format!("x{text}").chars().take(chars).collect();
    text.trim_end().to_owned()
}

fn bytes(word: u64, count: usize) -> Vec<u8> {
    word.to_le_bytes()[..count].to_vec()
}

/// An array of the type; every word stands for one value.
pub(super) fn array(sql_type: SqlType, words: &[Option<u64>]) -> ArrayRef {
    use SqlType::*;
    let mask = if sql_type.is_unsigned() { u64::MAX >> 1 } else { u64::MAX };
    let words = words.iter().copied();
    let unsigned = sql_type.is_unsigned();
    match sql_type {
        TinyInt | UnsignedTinyInt => Arc::new(Int8Array::from_iter(
            words.map(|w| w.map(|w| if unsigned { w as i8 & i8::MAX } else { w as i8 })),
        )),
        SmallInt | UnsignedSmallInt => Arc::new(Int16Array::from_iter(
            words.map(|w| w.map(|w| if unsigned { w as i16 & i16::MAX } else { w as i16 })),
        )),
        Integer | UnsignedInt => Arc::new(Int32Array::from_iter(
            words.map(|w| w.map(|w| if unsigned { w as i32 & i32::MAX } else { w as i32 })),
        )),
        BigInt | UnsignedLong => Arc::new(Int64Array::from_iter(words.map(|w| w.map(|w| (w & mask) as i64)))),
        Date | Time | UnsignedDate | UnsignedTime => {
            Arc::new(TimestampMillisecondArray::from_iter(words.map(|w| w.map(|w| (w & mask) as i64))))
        }
        Timestamp | UnsignedTimestamp => {
            Arc::new(TimestampNanosecondArray::from_iter(words.map(|w| w.map(|w| (w & mask) as i64))))
        }
        Float | UnsignedFloat => Arc::new(Float32Array::from_iter(words.map(|w| {
            let value = w.map(|w| f32::from_bits(w as u32 & if unsigned { u32::MAX >> 1 } else { u32::MAX }));
            value.map(|v| {
                if v.is_nan() && unsigned {
                    0.5
                } else if v.is_nan() {
                    f32::NAN
                } else {
                    v
                }
            })
        }))),
        Double | UnsignedDouble => Arc::new(Float64Array::from_iter(words.map(|w| {
            let value = w.map(|w| f64::from_bits(w & mask));
            value.map(|v| {
                if v.is_nan() && unsigned {
                    0.5
                } else if v.is_nan() {
                    f64::NAN
                } else {
                    v
                }
            })
        }))),
        Array(_) => panic!("no words stand for arrays"),
        Decimal(None) => {
            // Up to 38 digits, the last of them up to 38 behind the point.
            let value = |w: u64| {
                let digits = ((w as i64 as i128) * (w as i128 | 1)) % 10i128.pow(38);
                i256::from_i128(digits).wrapping_mul(i256::from_i128(10).wrapping_pow((w % 39) as u32))
            };
            let array = Decimal256Array::from_iter(words.map(|w| w.map(value)));
            Arc::new(array.with_precision_and_scale(DECIMAL_DEFAULT.0, DECIMAL_DEFAULT.1).unwrap())
        }
        Decimal(Some((precision, scale))) => {
            let value = |w: u64| {
                let wide = ((w as i64 as i128) * (w as i128 | 1)) >> (w % 100);
                wide % 10i128.pow(precision.into())
            };
            let array = Decimal128Array::from_iter(words.map(|w| w.map(value)));
            Arc::new(array.with_precision_and_scale(precision, scale).unwrap())
        }
        Boolean => Arc::new(BooleanArray::from_iter(words.map(|w| w.map(|w| w % 2 == 1)))),
        Char(n) => Arc::new(StringViewArray::from_iter(words.map(|w| w.map(|w| text(w, n as usize, true))))),
        Varchar(n) => {
            let chars = n.unwrap_or(12) as usize;
            Arc::new(StringViewArray::from_iter(words.map(|w| w.map(|w| text(w, chars, false)))))
        }
        Json => Arc::new(StringViewArray::from_iter(words.map(|w| w.map(|w| format!("[{w}]"))))),
        Binary(n) => Arc::new(BinaryArray::from_iter(words.map(|w| w.map(|w| bytes(w, n as usize))))),
        Varbinary(_) => {
            Arc::new(BinaryArray::from_iter(words.map(|w| w.map(|w| bytes(w, 1 + w as usize % 8)))))
        }
    }
}
