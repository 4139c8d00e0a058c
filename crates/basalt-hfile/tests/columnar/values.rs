// SPDX-License-Identifier: Apache-2.0
//! Values of every type, made of chance.

use basalt_model::types::{Decimal as Digits, Value};
use basalt_model::{ElementType, SqlType};

/// SplitMix64: one seed makes one table.
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(super) fn one_in(&mut self, count: u64) -> bool {
        count > 0 && self.next().is_multiple_of(count)
    }
}

/// Every type; those that come more than once do so with what they are declared with. Files in the repository were written with the first 16, and two of the others.
pub(super) const TYPES: [SqlType; 32] = [
    SqlType::Integer,
    SqlType::BigInt,
    SqlType::UnsignedLong,
    SqlType::TinyInt,
    SqlType::Float,
    SqlType::Double,
    SqlType::UnsignedDouble,
    SqlType::Decimal(Some((12, 2))),
    SqlType::Decimal(None),
    SqlType::Boolean,
    SqlType::Date,
    SqlType::Timestamp,
    SqlType::UnsignedTimestamp,
    SqlType::Varchar(None),
    SqlType::Char(3),
    SqlType::Varbinary(None),
    SqlType::SmallInt,
    SqlType::UnsignedTinyInt,
    SqlType::UnsignedSmallInt,
    SqlType::UnsignedInt,
    SqlType::UnsignedFloat,
    SqlType::Time,
    SqlType::UnsignedDate,
    SqlType::UnsignedTime,
    SqlType::Binary(8),
    SqlType::Varchar(Some(20)),
    SqlType::Varbinary(Some(8)),
    SqlType::Decimal(Some((38, 0))),
    SqlType::Decimal(Some((31, 20))),
    SqlType::Array(ElementType::Integer),
    SqlType::Array(ElementType::Varchar(None)),
    SqlType::Array(ElementType::Decimal(None)),
];

/// A value of a type, by one of several distributions, or close to a number.
pub(super) fn value(sql_type: SqlType, row: u64, near: Option<i64>, chance: &mut Chance) -> Value<'static> {
    use SqlType::*;
    let number = match chance.next() % 4 {
        of_four if let Some(near) = near => near + (of_four * 7) as i64,
        0 => row as i64,
        1 => (chance.next() % 7) as i64,
        2 => (chance.next() % 100_000) as i64,
        _ => (chance.next() >> (chance.next() % 50 + 2)) as i64,
    };
    match sql_type {
        TinyInt | UnsignedTinyInt => Value::Int(number % 100),
        SmallInt | UnsignedSmallInt => Value::Int(number % 30_000),
        Integer => Value::Int(i64::from(number as i32)),
        UnsignedInt => Value::Int(number & i64::from(i32::MAX)),
        BigInt | UnsignedLong => Value::Int(number),
        Float | UnsignedFloat => Value::Float(number as f32 / 100.0),
        Double | UnsignedDouble => Value::Double(number as f64 / 100.0),
        // All of many digits.
        Decimal(Some((31, scale))) => {
            let digits = 10i128.pow(30) + i128::from(number) * 10i128.pow(9) + i128::from(number % 1000);
            Value::Decimal(Digits::new(digits, scale.into()))
        }
        Decimal(Some((18.., scale))) => {
            let digits = i128::from(number) * 10i128.pow(12) + i128::from(number % 1000);
            Value::Decimal(Digits::new(digits, scale.into()))
        }
        Decimal(_) => Value::Decimal(Digits::new((number % 1_000_000_000).into(), 2)),
        Boolean => Value::Boolean(number % 2 == 0),
        Date | UnsignedDate => Value::Millis(number % 4000 * 86_400_000),
        Time | UnsignedTime => Value::Millis(number % 86_400_000),
        Timestamp | UnsignedTimestamp => {
            Value::Timestamp { millis: number % (1 << 40), nanos: (number % 3) as u32 }
        }
        Varchar(_) => Value::Text(format!("text number {}", number % 5000).into()),
        Json => Value::Text(format!(r#"{{"number": {}}}"#, number % 5000).into()),
        Char(_) => Value::Text(["AIR", "MAI", "SHI"][number as usize % 3].into()),
        Binary(width) => Value::Bytes(number.to_be_bytes()[8 - width as usize..].to_vec().into()),
        Varbinary(_) => Value::Bytes(number.to_be_bytes()[..number as usize % 9].to_vec().into()),
        Array(element) => {
            let count = chance.next() % 4;
            Value::Array((0..count).map(|_| value(element.into(), row, near, chance)).collect())
        }
    }
}
