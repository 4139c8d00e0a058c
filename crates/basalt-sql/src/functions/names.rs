// SPDX-License-Identifier: Apache-2.0
//! Names of what Phoenix's catalog keeps as numbers and letters: SQLTYPENAME(n), EXTERNALSQLTYPEID(n), SQLTABLETYPE(s),
//! SQLVIEWTYPE(n), SQLINDEXTYPE(n), INDEXSTATENAME(s). What has no name is NULL.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, Int32Array, StringArray};
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

use super::plain::{Plain, count, texts};

/// Number of a type among JDBC's and Phoenix's, its name, and its number among JDBC's.
const TYPES: [(i64, &str, i32); 24] = [
    (-6, "TINYINT", -6),
    (-5, "BIGINT", -5),
    (-3, "VARBINARY", -3),
    (-2, "BINARY", -2),
    (1, "CHAR", 1),
    (3, "DECIMAL", 3),
    (4, "INTEGER", 4),
    (5, "SMALLINT", 5),
    (6, "FLOAT", 6),
    (8, "DOUBLE", 8),
    (9, "UNSIGNED_INT", 4),
    (10, "UNSIGNED_LONG", -5),
    (11, "UNSIGNED_TINYINT", -6),
    (12, "VARCHAR", 12),
    (13, "UNSIGNED_SMALLINT", 5),
    (14, "UNSIGNED_FLOAT", 6),
    (15, "UNSIGNED_DOUBLE", 8),
    (16, "BOOLEAN", 16),
    (18, "UNSIGNED_TIME", 92),
    (19, "UNSIGNED_DATE", 91),
    (20, "UNSIGNED_TIMESTAMP", 93),
    (91, "DATE", 91),
    (92, "TIME", 92),
    (93, "TIMESTAMP", 93),
];
/// An array of a type has its number and this.
const ARRAYS: i64 = 3000;
/// JDBC's number of arrays.
const ARRAY_TYPE: i32 = 2003;

pub(super) fn functions() -> Vec<ScalarUDF> {
    vec![
        Plain::function("sqltypename", number, text, |args| named(args, type_name)),
        Plain::function(
            "externalsqltypeid",
            number,
            |_| DataType::Int32,
            |args| {
                let numbers = args.args[0].to_array(args.number_rows)?;
                let numbers = numbers.as_primitive::<Int64Type>();
                let found: Int32Array = numbers.iter().map(|number| jdbc_number(number?)).collect();
                Ok(ColumnarValue::Array(Arc::new(found)))
            },
        ),
        Plain::function("sqlviewtype", number, text, |args| {
            named(args, |number| among(&[(1, "MAPPED"), (2, "READ_ONLY"), (3, "UPDATABLE")], number))
        }),
        Plain::function("sqlindextype", number, text, |args| {
            named(args, |number| among(&[(1, "GLOBAL"), (2, "LOCAL"), (3, "UNCOVERED_GLOBAL")], number))
        }),
        Plain::function("sqltabletype", letter, text, |args| {
            lettered(args, &[("u", "TABLE"), ("s", "SYSTEM TABLE"), ("v", "VIEW"), ("i", "INDEX")])
        }),
        Plain::function("indexstatename", letter, text, |args| {
            lettered(
                args,
                &[
                    ("a", "ACTIVE"),
                    ("b", "BUILDING"),
                    ("c", "CREATE_DISABLE"),
                    ("d", "UNUSABLE"),
                    ("e", "USABLE"),
                    ("i", "INACTIVE"),
                    ("p", "PENDING_ACTIVE"),
                    ("r", "REBUILD"),
                    ("w", "PENDING_DISABLE"),
                    ("x", "DISABLE"),
                ],
            )
        }),
    ]
}

fn text(_: &[DataType]) -> DataType {
    DataType::Utf8
}

fn number(name: &str, found: &[DataType]) -> Result<Vec<DataType>> {
    count(name, found, 1, 1)?;
    if !found[0].is_integer() && !found[0].is_null() {
        return plan_err!("{} takes a whole number, not {}", name.to_uppercase(), found[0]);
    }
    Ok(vec![DataType::Int64])
}

fn letter(name: &str, found: &[DataType]) -> Result<Vec<DataType>> {
    texts(name, found, 1, 1)
}

fn type_name(number: i64) -> Option<String> {
    let of = |number: i64| TYPES.iter().find(|(known, ..)| *known == number).map(|(_, name, _)| *name);
    let of_array = || of(number - ARRAYS).map(|name| format!("{name} ARRAY"));
    of(number).map(str::to_owned).or_else(of_array)
}

fn jdbc_number(number: i64) -> Option<i32> {
    let of = |number: i64| TYPES.iter().find(|(known, ..)| *known == number).map(|(.., jdbc)| *jdbc);
    of(number).or_else(|| of(number - ARRAYS).map(|_| ARRAY_TYPE))
}

fn among(names: &[(i64, &str)], number: i64) -> Option<String> {
    names.iter().find(|(known, _)| *known == number).map(|(_, name)| (*name).to_owned())
}

fn named(args: &ScalarFunctionArgs, name: impl Fn(i64) -> Option<String>) -> Result<ColumnarValue> {
    let numbers: ArrayRef = args.args[0].to_array(args.number_rows)?;
    let names: StringArray = numbers.as_primitive::<Int64Type>().iter().map(|number| name(number?)).collect();
    Ok(ColumnarValue::Array(Arc::new(names)))
}

fn lettered(args: &ScalarFunctionArgs, names: &[(&str, &str)]) -> Result<ColumnarValue> {
    let letters = args.args[0].to_array(args.number_rows)?;
    let name = |letter: &str| names.iter().find(|(known, _)| *known == letter).map(|(_, name)| *name);
    let names: StringArray = letters.as_string::<i32>().iter().map(|letter| name(letter?)).collect();
    Ok(ColumnarValue::Array(Arc::new(names)))
}
