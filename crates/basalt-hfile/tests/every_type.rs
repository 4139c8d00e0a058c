// SPDX-License-Identifier: Apache-2.0
//! Every type in a COLUMNAR file: as column of the primary key, ascending and descending, in front and at the end, and as column of values.
//! With the least and the greatest values that it has and with NULL; what is read, by cell and by column, is what was written.
#![cfg(feature = "typed")]
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

#[path = "cell/owned.rs"]
mod cell;
#[path = "columnar/values.rs"]
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::RecordBatch;
use basalt_hfile::columnar::{Binder, Form};
use basalt_hfile::typed::RowDecoder;
use basalt_hfile::{
    CellRun, Encoding, HFileReader, HFileWriter, MemoryFile, Predicate, ReadOptions, WriterOptions,
};
use basalt_model::rowkey::encode_row_key;
use basalt_model::schema::{ColumnDefinition, KeyPart, SchemaDefinition, SchemaError};
use basalt_model::types::{Decimal as Digits, Value};
use basalt_model::{CellType, SortOrder, SqlType, TableSchema};
use cell::Cell;
use values::{Chance, TYPES, value};

/// The names of all kinds of types, and which of them a type is. A kind that is added to the model does not compile until it stands here,
/// and then has to be among the types that are tested.
macro_rules! kinds {
    ($($kind:ident $(($argument:tt))?),* $(,)?) => {
        const KINDS: &[&str] = &[$(stringify!($kind)),*];

        fn kind(sql_type: SqlType) -> &'static str {
            match sql_type {
                $(SqlType::$kind $(($argument))? => stringify!($kind),)*
            }
        }
    };
}

kinds! {
    TinyInt, SmallInt, Integer, BigInt,
    UnsignedTinyInt, UnsignedSmallInt, UnsignedInt, UnsignedLong,
    Float, Double, UnsignedFloat, UnsignedDouble,
    Decimal(_), Boolean,
    Date, Time, Timestamp, UnsignedDate, UnsignedTime, UnsignedTimestamp,
    Char(_), Varchar(_), Binary(_), Varbinary(_), Json, Array(_),
}

/// More than a vector.
const ROWS: usize = 1100;

/// The types of the list and JSON, and arrays of each that may be in one.
fn types() -> Vec<SqlType> {
    let arrays = TYPES.iter().filter_map(|sql_type| sql_type.as_element()).map(SqlType::Array);
    TYPES.into_iter().chain([SqlType::Json]).chain(arrays).collect()
}

#[test]
fn every_kind_of_type_is_in_the_list() {
    let listed: BTreeSet<&str> = TYPES.into_iter().chain([SqlType::Json]).map(kind).collect();
    assert_eq!(listed, KINDS.iter().copied().collect());
    let in_arrays = types().into_iter().filter_map(|sql_type| match sql_type {
        SqlType::Array(element) => Some(kind(element.into())),
        _ => None,
    });
    let in_arrays: BTreeSet<&str> = in_arrays.chain(["Json", "Array"]).collect();
    assert_eq!(in_arrays, listed, "of all but JSON and arrays there are arrays");
}

fn integers(bits: u32, is_unsigned: bool) -> Vec<i64> {
    let greatest = i64::MAX >> (64 - bits);
    if is_unsigned { vec![0, 1, greatest] } else { vec![-greatest - 1, -1, 0, 1, greatest] }
}

/// The least and the greatest values of a type, and what is special.
fn extremes(sql_type: SqlType) -> Vec<Value<'static>> {
    use SqlType::*;
    let is_unsigned = sql_type.is_unsigned();
    let bytes = |all: &[&[u8]]| all.iter().map(|bytes| Value::Bytes(bytes.to_vec().into())).collect();
    let texts = |all: &[&str]| all.iter().map(|&text| Value::Text(text.to_owned().into())).collect();
    match sql_type {
        TinyInt | SmallInt | Integer | BigInt | UnsignedTinyInt | UnsignedSmallInt | UnsignedInt
        | UnsignedLong => {
            let bits = 8 * sql_type.fixed_width().unwrap() as u32;
            integers(bits, is_unsigned).into_iter().map(Value::Int).collect()
        }
        Float | UnsignedFloat => {
            let signed = [f32::MIN, -0.0, f32::NEG_INFINITY, f32::NAN];
            let all = [0.0, f32::MIN_POSITIVE, f32::from_bits(1), 0.1, f32::MAX, f32::INFINITY];
            all.into_iter().chain(signed.into_iter().filter(|_| !is_unsigned)).map(Value::Float).collect()
        }
        Double | UnsignedDouble => {
            let signed = [f64::MIN, -0.0, f64::NEG_INFINITY, f64::NAN];
            let all = [0.0, f64::MIN_POSITIVE, f64::from_bits(1), 0.1, f64::MAX, f64::INFINITY];
            all.into_iter().chain(signed.into_iter().filter(|_| !is_unsigned)).map(Value::Double).collect()
        }
        Decimal(declared) => {
            let (precision, scale) = declared.unwrap_or((38, 19));
            let most = 10i128.pow(precision.into()) - 1;
            let all = [-most, -1, 0, 1, 10i128.pow(precision.into()) / 7, most];
            all.map(|digits| Value::Decimal(Digits::new(digits, scale.into()))).into()
        }
        Boolean => [false, true].map(Value::Boolean).into(),
        Date | Time | UnsignedDate | UnsignedTime => {
            integers(64, is_unsigned).into_iter().map(Value::Millis).collect()
        }
        Timestamp | UnsignedTimestamp => {
            // What fits nanoseconds since 1970 in 64 bits.
            let most = i64::MAX / 1_000_000;
            let all = integers(64, is_unsigned).into_iter().map(|millis| millis.clamp(-most, most - 1));
            all.map(|millis| Value::Timestamp { millis, nanos: (millis & 1) as u32 * 999_999 }).collect()
        }
        Char(_) => texts(&["~", "a b", "A"]),
        Varchar(most) => {
            let long = "x".repeat(most.unwrap_or(400) as usize);
            texts(&["a", "größer \u{10ffff}", &long])
        }
        Json => texts(&["{}", "[1, \"größer \u{10ffff}\"]", &format!("\"{}\"", "x".repeat(400))]),
        Binary(width) => bytes(&[&vec![0; width as usize], &vec![0xff; width as usize]]),
        Varbinary(most) => bytes(&[&[1], &[0xff; 8], &vec![7; most.unwrap_or(400) as usize]]),
        Array(element) => {
            let elements = extremes(element.into());
            let each = elements.iter().map(|element| Value::Array(vec![element.clone()]));
            // Elements of variable width may be NULL.
            let null = Value::Array(vec![elements[0].clone(), Value::Null, elements[1].clone()]);
            each.chain([Value::Array(elements.clone()), null]).collect()
        }
    }
}

/// Values of a type: those that are special, NULL if `nullable`, and others. What a type refuses is left out.
fn values_of(sql_type: SqlType, nullable: bool) -> Vec<Value<'static>> {
    let mut chance = Chance(11);
    let special = extremes(sql_type);
    let values = (0..ROWS).map(|row| match row % 9 {
        3 => special[row / 9 % special.len()].clone(),
        _ if nullable && chance.one_in(9) => Value::Null,
        _ => value(sql_type, row as u64, None, &mut chance),
    });
    let is_taken = |value: &Value<'_>| {
        let taken = sql_type.encode(SortOrder::Asc, value, &mut Vec::new()).is_ok();
        assert!(taken || matches!(sql_type, SqlType::Array(_)), "{sql_type} refuses {value:?}");
        taken && (nullable || !value.is_null())
    };
    values.filter(is_taken).collect()
}

/// N INTEGER and K of a type are the primary key, K in front or at the end, and V of the same type. JSON is in no key: there K is a text.
fn table(sql_type: SqlType, order: SortOrder, is_last: bool) -> Result<TableSchema, SchemaError> {
    let part = if order == SortOrder::Asc { KeyPart::asc("K") } else { KeyPart::desc("K") };
    let mut key = vec![part, KeyPart::asc("N")];
    let mut columns = vec![
        ColumnDefinition::new("K", if sql_type == SqlType::Json { SqlType::Varchar(None) } else { sql_type }),
        ColumnDefinition::new("N", SqlType::Integer),
        ColumnDefinition::new("V", sql_type),
    ];
    (columns[0].not_null, columns[1].not_null) = (sql_type.fixed_width().is_some(), true);
    if is_last {
        key.reverse();
        columns.swap(0, 1);
    }
    TableSchema::try_new(SchemaDefinition::new(columns, key))
}

/// The rows of a table, a cell of the value in most and the empty cell in each.
fn cells(table: &TableSchema, sql_type: SqlType) -> Vec<Cell> {
    let place = table.key.iter().position(|column| column.name == "K").unwrap();
    let keys = values_of(table.key[place].sql_type, table.key[place].nullable);
    let values = values_of(sql_type, true);
    let mut rows = BTreeMap::new();
    for (number, key) in keys.into_iter().enumerate() {
        let mut parts = vec![Value::Int(number as i64 - 500)];
        parts.insert(place, key);
        let (mut row, mut bytes) = (vec![], vec![]);
        encode_row_key(&table.key, &parts, &mut row).unwrap();
        sql_type.encode(SortOrder::Asc, &values[number * 7 % values.len()], &mut bytes).unwrap();
        rows.insert(row, (number % 13 > 0).then_some(bytes));
    }
    let mut cells = vec![];
    for (row, value) in rows {
        let cell = |qualifier: &[u8], value| Cell {
            row: row.clone(),
            qualifier: qualifier.to_vec(),
            timestamp: 1_700_000_000_000,
            cell_type: CellType::Put,
            value,
            seq: 5,
            tags: vec![],
        };
        cells.push(cell(&table.empty_qualifier, b"x".to_vec()));
        cells.extend(value.map(|value| cell(&table.columns[0].qualifier, value)));
    }
    cells
}

fn open(table: Option<&TableSchema>, cells: &[Cell]) -> HFileReader {
    let layout = table.map(|table| Arc::new(table.family_layout(&table.empty_family)));
    let options = WriterOptions { encoding: Encoding::Columnar, layout, ..Default::default() };
    let mut writer = HFileWriter::new(Vec::new(), options).unwrap();
    cells.iter().for_each(|cell| writer.append(cell.borrow()).unwrap());
    let bytes = writer.finish_into().unwrap().1;
    HFileReader::open(Arc::new(MemoryFile::new("table", bytes)), ReadOptions::default()).unwrap()
}

/// The rows as batches: made of the columns of a row group, and of its cells.
fn batches(table: &TableSchema, reader: &HFileReader) -> [RecordBatch; 2] {
    let decoder = || RowDecoder::of_columns(table, table.declared_order());
    let block = reader.open_block(0).unwrap();
    let group = block.columns().unwrap();
    let (mut by_column, mut by_cell) = (decoder(), decoder());
    let all = Binder::default().bind(&Arc::new(Predicate::ALWAYS), group, table);
    for vector in 0..group.vectors() {
        let rows = by_column.select(&all, group, vector).unwrap();
        by_column.push_vector(group, vector, &rows).unwrap();
    }
    let block = reader.read_block(0).unwrap();
    let cells = 0..block.len();
    by_cell.push(&CellRun { block: Arc::new(block), cells }).unwrap();
    by_cell.end().unwrap();
    [by_column.finish_batch().unwrap(), by_cell.finish_batch().unwrap()]
}

fn check(table: &TableSchema, sql_type: SqlType) {
    let cells = cells(table, sql_type);
    assert!(cells.len() > ROWS / 2, "{sql_type}: {} cells", cells.len());
    for layout in [Some(table), None] {
        let reader = open(layout, &cells);
        assert_eq!(reader.block_count().unwrap(), 1);
        let block = reader.read_block(0).unwrap();
        assert!(cells.iter().map(Cell::borrow).eq((0..block.len()).map(|at| block.cell(at))), "{sql_type}");
        let [by_column, by_cell] = batches(table, &reader);
        assert_eq!(by_column, by_cell, "{sql_type}");
        check_forms(table, sql_type, &reader, layout.is_some());
    }
}

/// With a layout, a key is its columns, and numbers are kept as such.
fn check_forms(table: &TableSchema, sql_type: SqlType, reader: &HFileReader, has_layout: bool) {
    let block = reader.open_block(0).unwrap();
    let group = block.columns().unwrap();
    let sections = group.facts().unwrap();
    let parts = sections.iter().filter(|section| section.what.starts_with("KeyValues")).count();
    assert!(!has_layout || parts == 2, "{sql_type}: {parts} parts of the key");
    let of_numbers = !matches!(sql_type, SqlType::Char(_) | SqlType::Binary(_));
    if has_layout && of_numbers && sql_type.fixed_width().is_some() {
        let column = group.columns().find(|(name, _)| *name == table.columns[0].qualifier);
        assert_ne!(column.unwrap().1, Form::Bytes, "{sql_type}");
    }
}

#[test]
fn every_type_comes_back_from_keys_and_values() {
    let mut refused = BTreeSet::new();
    for sql_type in types() {
        for order in [SortOrder::Asc, SortOrder::Desc] {
            for is_last in [false, true] {
                match table(sql_type, order, is_last) {
                    Ok(table) => check(&table, sql_type),
                    Err(_) => _ = refused.insert((kind(sql_type), order == SortOrder::Desc, is_last)),
                }
            }
        }
    }
    // Arrays and VARBINARY end a key, and arrays are ascending.
    let expected = [
        ("Array", false, false),
        ("Array", true, false),
        ("Array", true, true),
        ("Varbinary", false, false),
        ("Varbinary", true, false),
    ];
    assert_eq!(refused, expected.into());
}
