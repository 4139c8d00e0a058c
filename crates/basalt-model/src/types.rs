// SPDX-License-Identifier: Apache-2.0
//! Phoenix's SQL types and their byte encodings (facts from Phoenix 5.2). The encodings sort: unsigned byte
//! order of the encoded form is the order of the values. DESC inverts every byte of the ASC form, except
//! that BOOLEAN's DESC form is the logical not.
//!
//! This module owns the declared types; [`number`] and [`decimal`] hold the byte forms that need arithmetic,
//! [`value`] encodes and decodes single values of any type, and [`error`] says why a value does not fit its
//! type or bytes are no value of it; [`array`] holds the form of arrays. NULL is the value of no bytes everywhere.
//!
//! ```text
//! INTEGER -1, 0, 1        7fffffff 80000000 80000001
//! DECIMAL -1, 0.01, 1     3e6466   c002     c102
//! VARCHAR 'a', 'ab', 'b'  61       6162     62
//! ```

pub mod array;
pub mod decimal;
pub mod error;
pub mod number;
pub mod value;

use std::fmt;

pub use decimal::Decimal;
pub use error::TypeError;
pub use value::Value;

use serde::{Deserialize, Serialize};

/// Declares [`SqlType`] and [`ElementType`] from one list: an array may hold values of any type but JSON and arrays.
macro_rules! types {
    ($($(#[$doc:meta])* $name:ident $(($argument:ident: $of:ty))?,)*) => {
        /// A SQL type as declared. Fixed-width types fill their width; variable-width ones end in a key at a
        /// separator (see the row-key codec).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum SqlType {
            $($(#[$doc])* $name $(($of))?,)*
            /// UTF-8 that is one JSON value, as it was written; never in a key, nor in an array.
            Json,
            /// Values of one type in order, see [`array`].
            Array(ElementType),
        }

        /// What an array holds.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum ElementType {
            $($(#[$doc])* $name $(($of))?,)*
        }

        impl From<ElementType> for SqlType {
            fn from(element: ElementType) -> Self {
                match element {
                    $(ElementType::$name $(($argument))? => Self::$name $(($argument))?,)*
                }
            }
        }

        impl SqlType {
            /// The type as that of an array's elements; `None` for JSON and arrays.
            pub fn as_element(self) -> Option<ElementType> {
                Some(match self {
                    $(Self::$name $(($argument))? => ElementType::$name $(($argument))?,)*
                    Self::Json | Self::Array(_) => return None,
                })
            }
        }
    };
}

types! {
    /// 1 byte, sign bit flipped.
    TinyInt,
    /// 2 bytes, sign bit flipped.
    SmallInt,
    /// 4 bytes, sign bit flipped.
    Integer,
    /// 8 bytes, sign bit flipped.
    BigInt,
    /// 1 byte, 0..=127.
    UnsignedTinyInt,
    /// 2 bytes, 0..=32767.
    UnsignedSmallInt,
    /// 4 bytes, 0..=2^31-1.
    UnsignedInt,
    /// 8 bytes, 0..=2^63-1.
    UnsignedLong,
    /// 4 bytes, order-preserving IEEE 754.
    Float,
    /// 8 bytes, order-preserving IEEE 754.
    Double,
    /// 4 bytes, raw IEEE 754 bits, value >= 0.
    UnsignedFloat,
    /// 8 bytes, raw IEEE 754 bits, value >= 0.
    UnsignedDouble,
    /// Variable width, base-100 digits; `None` for DECIMAL without precision and scale.
    Decimal(declared: Option<(u8, i8)>),
    /// 1 byte, 00 or 01.
    Boolean,
    /// 8 bytes: milliseconds since the epoch, sign bit flipped.
    Date,
    /// As `Date`.
    Time,
    /// 12 bytes: `Date` plus 4 bytes of nanoseconds below the millisecond.
    Timestamp,
    /// 8 bytes: milliseconds since the epoch, >= 0.
    UnsignedDate,
    /// As `UnsignedDate`.
    UnsignedTime,
    /// 12 bytes, >= 0.
    UnsignedTimestamp,
    /// n single-byte characters, padded with spaces.
    Char(length: u32),
    /// UTF-8; the empty text is NULL. `Some(n)`: at most n characters.
    Varchar(most: Option<u32>),
    /// n bytes, padded with 00.
    Binary(length: u32),
    /// Any bytes; the empty value is NULL. `Some(n)`: at most n bytes.
    Varbinary(most: Option<u32>),
}

impl SqlType {
    /// Width of the encoded form in bytes, `None` for variable-width types.
    pub fn fixed_width(self) -> Option<usize> {
        use SqlType::*;
        Some(match self {
            TinyInt | UnsignedTinyInt | Boolean => 1,
            SmallInt | UnsignedSmallInt => 2,
            Integer | UnsignedInt | Float | UnsignedFloat => 4,
            BigInt | UnsignedLong | Double | UnsignedDouble | Date | Time | UnsignedDate | UnsignedTime => 8,
            Timestamp | UnsignedTimestamp => 12,
            Char(n) | Binary(n) => n as usize,
            Decimal(_) | Varchar(_) | Varbinary(_) | Json | Array(_) => return None,
        })
    }
}

impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use SqlType::*;
        f.write_str(match self {
            TinyInt => "TINYINT",
            SmallInt => "SMALLINT",
            Integer => "INTEGER",
            BigInt => "BIGINT",
            UnsignedTinyInt => "UNSIGNED_TINYINT",
            UnsignedSmallInt => "UNSIGNED_SMALLINT",
            UnsignedInt => "UNSIGNED_INT",
            UnsignedLong => "UNSIGNED_LONG",
            Float => "FLOAT",
            Double => "DOUBLE",
            UnsignedFloat => "UNSIGNED_FLOAT",
            UnsignedDouble => "UNSIGNED_DOUBLE",
            Boolean => "BOOLEAN",
            Date => "DATE",
            Time => "TIME",
            Timestamp => "TIMESTAMP",
            UnsignedDate => "UNSIGNED_DATE",
            UnsignedTime => "UNSIGNED_TIME",
            UnsignedTimestamp => "UNSIGNED_TIMESTAMP",
            Decimal(None) => "DECIMAL",
            Varchar(None) => "VARCHAR",
            Varbinary(None) => "VARBINARY",
            Json => "JSON",
            Array(element) => return write!(f, "{} ARRAY", SqlType::from(*element)),
            Decimal(Some((precision, scale))) => return write!(f, "DECIMAL({precision},{scale})"),
            Char(n) => return write!(f, "CHAR({n})"),
            Varchar(Some(n)) => return write!(f, "VARCHAR({n})"),
            Binary(n) => return write!(f, "BINARY({n})"),
            Varbinary(Some(n)) => return write!(f, "VARBINARY({n})"),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
