// SPDX-License-Identifier: Apache-2.0
//! Rows as Arrow record batches, and back: the one place where SQL columns meet cells.
//!
//! A row of a SQL table is a row key made of the primary-key columns, one cell for every other column that is
//! not NULL, and the *empty cell* ("x") that makes the row exist. [`RowEncoder`] turns batches into row
//! mutations, [`RowDecoder`] turns runs of visible cells into batches; [`KeyEncoder`] makes row keys alone.
//! Both decide per column, outside of the loop over rows. The bytes of values and keys are
//! [`basalt_model::types`]' and [`basalt_model::rowkey`]'s business, except that the hot loops here write
//! and read the same bytes from Arrow's buffers directly; tests hold the two against each other.
//!
//! | SQL type | Arrow type |
//! |---|---|
//! | TINYINT … BIGINT and their unsigned forms | Int8, Int16, Int32, Int64 |
//! | FLOAT, DOUBLE and their unsigned forms | Float32, Float64 |
//! | DECIMAL(p, s) | Decimal128(p, s) |
//! | DECIMAL | Decimal256(76, 38): digits behind the 38th are cut off when read |
//! | BOOLEAN | Boolean |
//! | DATE, TIME and their unsigned forms | Timestamp(Millisecond) |
//! | TIMESTAMP, UNSIGNED_TIMESTAMP | Timestamp(Nanosecond): the years 1677 to 2262 |
//! | CHAR, VARCHAR | Utf8View |
//! | BINARY, VARBINARY | Binary |
//! | arrays | List of the elements' Arrow type |

mod column;
mod decode;
mod encode;
mod error;
pub(crate) mod fuzzed;
mod source;
mod wide;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use basalt_model::{ColumnRef, ElementType, SqlType, TableSchema};

pub use decode::{Number, RowDecoder, Total, Totals, Wanted};
pub use encode::{KeyEncoder, RowEncoder, encode_key_value, row_timestamps};
pub use error::TypedError;
pub use wide::{DECIMAL_DEFAULT, narrowed, wide_power_of_ten, widened};

/// Field metadata key under which the SQL type stands, as `SqlType` prints it.
pub const TYPE_METADATA: &str = "basalt.type";

/// Field metadata key of BINARY columns of the primary key: literals beside them are padded. The value is empty.
pub const PADDED_METADATA: &str = "basalt.padded";

/// The Arrow type of a SQL type.
pub fn arrow_type(sql_type: SqlType) -> DataType {
    use SqlType::*;
    match sql_type {
        TinyInt | UnsignedTinyInt => DataType::Int8,
        SmallInt | UnsignedSmallInt => DataType::Int16,
        Integer | UnsignedInt => DataType::Int32,
        BigInt | UnsignedLong => DataType::Int64,
        Float | UnsignedFloat => DataType::Float32,
        Double | UnsignedDouble => DataType::Float64,
        Decimal(Some((precision, scale))) => DataType::Decimal128(precision, scale),
        Decimal(None) => DataType::Decimal256(DECIMAL_DEFAULT.0, DECIMAL_DEFAULT.1),
        Boolean => DataType::Boolean,
        Date | Time | UnsignedDate | UnsignedTime => DataType::Timestamp(TimeUnit::Millisecond, None),
        Timestamp | UnsignedTimestamp => DataType::Timestamp(TimeUnit::Nanosecond, None),
        Char(_) | Varchar(_) | Json => DataType::Utf8View,
        Binary(_) | Varbinary(_) => DataType::Binary,
        Array(element) => DataType::List(list_field(element).into()),
    }
}

/// The Arrow field of an array's elements.
pub(crate) fn list_field(element: ElementType) -> Field {
    Field::new_list_field(arrow_type(element.into()), true)
}

/// The Arrow field of one column: its name (with its family where the name alone is ambiguous), type,
/// nullability, and the SQL type in the metadata, with [`PADDED_METADATA`] where it applies.
pub fn arrow_field(schema: &TableSchema, column: ColumnRef) -> Field {
    let sql_type = schema.sql_type(column);
    let mut metadata = HashMap::from([(TYPE_METADATA.to_owned(), sql_type.to_string())]);
    if matches!((column, sql_type), (ColumnRef::Key(_), SqlType::Binary(_))) {
        metadata.insert(PADDED_METADATA.to_owned(), String::new());
    }
    Field::new(schema.display_name(column), arrow_type(sql_type), schema.nullable(column))
        .with_metadata(metadata)
}

/// The Arrow schema of a table: one field per column in declared order.
pub fn arrow_schema(schema: &TableSchema) -> Schema {
    projected_schema(schema, schema.declared_order())
}

/// The Arrow schema of some columns of a table.
pub fn projected_schema(schema: &TableSchema, columns: &[ColumnRef]) -> Schema {
    let fields = columns.iter().map(|&column| Arc::new(arrow_field(schema, column)));
    Schema::new(fields.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests;
