// SPDX-License-Identifier: Apache-2.0
//! What fuzzers need of the typed form: the rows of a row group as record batches under some schema, with and without cells, and
//! predicates asked of it.

use std::ops::Bound;
use std::sync::Arc;

use arrow::array::RecordBatch;
use basalt_model::schema::{ColumnSchema, KeyColumn};
use basalt_model::types::Decimal;
use basalt_model::{ColumnRef, SortOrder, SqlType, TableSchema};

use super::{RowDecoder, TypedError};
use crate::CellRun;
use crate::cells::CellBlock;
use crate::columnar::{Binder, BoundPredicate, ColumnarBlock};
use crate::predicate::{Operand, Predicate, ValueRange};

/// Vectors of a block that are decoded.
const VECTORS_MAX: usize = 3;

/// Types of the columns, in turn from where the fuzzer says.
const TYPES: [SqlType; 16] = [
    SqlType::Integer,
    SqlType::Varchar(None),
    SqlType::Decimal(Some((9, 2))),
    SqlType::Double,
    SqlType::Varbinary(None),
    SqlType::UnsignedInt,
    SqlType::BigInt,
    SqlType::Char(4),
    SqlType::Decimal(None),
    SqlType::Float,
    SqlType::Boolean,
    SqlType::Date,
    SqlType::Timestamp,
    SqlType::TinyInt,
    SqlType::UnsignedDouble,
    SqlType::Array(basalt_model::ElementType::Varchar(None)),
];

/// Types of the key's columns.
const KEYS: [&[SqlType]; 4] = [
    &[SqlType::Varbinary(None)],
    &[SqlType::Integer],
    &[SqlType::Char(2), SqlType::Varchar(None)],
    &[SqlType::Varchar(None), SqlType::SmallInt, SqlType::Varchar(None)],
];

/// Reads a block every way there is; `choice` says what its bytes are taken for.
pub(crate) fn read(block: &ColumnarBlock, cells: Option<CellBlock>, choice: u8) {
    let table = schema(block, usize::from(choice));
    if let Some(cells) = cells {
        let _ = of_cells(&table, cells);
    }
    if !block.is_plain() {
        return;
    }
    let predicates = predicates(&table).map(Arc::new);
    for predicate in &predicates {
        let bound = Binder::default().bind(predicate, block, &table);
        let _ = bound.of_block(block);
        let _ = of_vectors(&table, block, &bound);
    }
    let _ = RowDecoder::of_columns(&table, &[]).count(
        &Binder::default().bind(&predicates[0], block, &table),
        block,
        0..block.rows().min(VECTORS_MAX * crate::columnar::VECTOR),
    );
}

/// A schema whose columns are those of the block.
fn schema(block: &ColumnarBlock, choice: usize) -> TableSchema {
    let order = if choice & 0x80 == 0 { SortOrder::Asc } else { SortOrder::Desc };
    let key = KEYS[choice / 16 % KEYS.len()].iter().enumerate().map(|(at, &sql_type)| KeyColumn {
        name: format!("K{at}"),
        sql_type,
        order,
        nullable: sql_type.fixed_width().is_none(),
    });
    let columns = block.columns().take(8).enumerate().map(|(at, (qualifier, _))| ColumnSchema {
        name: format!("C{at}"),
        family: "f".into(),
        qualifier: qualifier.to_vec(),
        sql_type: TYPES[(choice + at) % TYPES.len()],
        nullable: at % 2 == 0,
        default_sql: None,
        default_value: None,
    });
    let (key, columns): (Vec<_>, Vec<_>) = (key.collect(), columns.collect());
    let declared = (0..key.len()).map(ColumnRef::Key).chain((0..columns.len()).map(ColumnRef::Column));
    TableSchema {
        declared: declared.collect(),
        key,
        columns,
        empty_family: "f".into(),
        empty_qualifier: Vec::new(),
        qualifier_next: 99,
        qualifier_bytes: 0,
        key_defaults: Default::default(),
        row_timestamp: None,
    }
}

fn of_cells(table: &TableSchema, cells: CellBlock) -> Result<RecordBatch, TypedError> {
    let mut decoder = RowDecoder::of_columns(table, table.declared_order());
    let whole = 0..cells.len();
    decoder.push(&CellRun { block: Arc::new(cells), cells: whole })?;
    decoder.end()?;
    decoder.finish_batch()
}

fn of_vectors(table: &TableSchema, block: &ColumnarBlock, bound: &BoundPredicate) -> Result<(), TypedError> {
    let mut decoder = RowDecoder::in_short_form(table, table.declared_order());
    decoder.load(block)?;
    for vector in 0..block.vectors().min(VECTORS_MAX) {
        let _ = bound.of_vector(block, vector)?;
        let rows = decoder.select(bound, block, vector)?;
        decoder.push_vector(block, vector, &rows)?;
        let ready = decoder.rows_ready();
        assert_eq!(decoder.finish_batch()?.num_rows(), ready);
    }
    Ok(())
}

/// Nothing asked; a point, a range and a long list of each column; NULL.
fn predicates(table: &TableSchema) -> [Predicate; 4] {
    let within = |column: ColumnRef, at: i64| {
        let operand = |at: i64| match table.sql_type(column) {
            SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Varbinary(_) => {
                Operand::Text(format!("r{at}").into_bytes())
            }
            SqlType::Decimal(_) => Operand::Decimal(Decimal::new(at.into(), 1)),
            SqlType::Double | SqlType::Float | SqlType::UnsignedDouble => Operand::Float(at as f64 / 3.0),
            _ => Operand::Integer(at),
        };
        let range =
            ValueRange { low: Bound::Excluded(operand(at)), high: Bound::Included(operand(at + 1000)) };
        let points = (0..40).map(|step| ValueRange::point(operand(at + step * 3)));
        [vec![range], points.collect()].map(|ranges| Predicate::Within(column, ranges))
    };
    let all = |pick: &dyn Fn(ColumnRef) -> Predicate| {
        Predicate::Any(table.declared_order().iter().map(|&column| pick(column)).collect())
    };
    [
        Predicate::ALWAYS,
        all(&|column| Predicate::All(within(column, -5).to_vec())),
        all(&|column| Predicate::Any(within(column, 70).to_vec())),
        all(&Predicate::Null),
    ]
}
