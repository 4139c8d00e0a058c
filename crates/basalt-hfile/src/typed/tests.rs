// SPDX-License-Identifier: Apache-2.0
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringArray,
    StringViewArray, UInt64Array,
};
use basalt_model::rowkey::{decode_row_key, encode_row_key};
use basalt_model::schema::{ColumnDefinition, KeyPart, SchemaDefinition};
use basalt_model::{CellType, Seq, SortOrder, TableId, Value, WriteBatch};
use proptest::prelude::*;

use super::*;
use crate::cells::{CellBlock, CellRun, CellSlot};

mod arrays;
mod columns;
mod groups;
mod totals;

use arrays::{array, types};

const T: TableId = TableId(1);

/// Blocks of the cells of some mutations, sorted by row, `cells_per_block` in each.
fn blocks(batch: &WriteBatch, cells_per_block: usize) -> Vec<Arc<CellBlock>> {
    let mut cells: Vec<_> = batch.iter().flat_map(|(_, mutation)| mutation.cells(Seq(1))).collect();
    cells.sort_by(|a, b| a.compare(b));
    let block = |cells: &[basalt_model::CellRef<'_>]| {
        let (mut keys, mut values, mut block) = (Vec::new(), Vec::new(), CellBlock::default());
        for (i, cell) in cells.iter().enumerate() {
            if i == 0 || cells[i - 1].row != cell.row {
                block.row_starts.push(i as u32);
            }
            block.slots.push(CellSlot {
                key: keys.len() as u32,
                value: values.len() as u32,
                value_len: cell.value.len() as u32,
                qualifier_len: cell.qualifier.len() as u32,
                tags: 0,
                tags_len: 0,
                row_len: cell.row.len() as u16,
                family_len: cell.family.len() as u8,
                cell_type: cell.cell_type,
                timestamp: cell.timestamp,
                seq: cell.seq,
            });
            keys.extend_from_slice(&(cell.row.len() as u16).to_be_bytes());
            keys.extend_from_slice(cell.row);
            keys.push(cell.family.len() as u8);
            keys.extend_from_slice(cell.family);
            keys.extend_from_slice(cell.qualifier);
            keys.extend_from_slice(&cell.timestamp.to_be_bytes());
            keys.push(cell.cell_type.code());
            values.extend_from_slice(cell.value);
        }
        block.keys = keys.into();
        block.values = values.into();
        Arc::new(block)
    };
    cells.chunks(cells_per_block).map(block).collect()
}

fn whole(block: &Arc<CellBlock>) -> CellRun {
    CellRun { block: block.clone(), cells: 0..block.len() }
}

/// Decodes blocks whose cells are handed over in runs of at most `run_cells`, in batches of a few rows.
fn decode(
    schema: &TableSchema,
    projection: &[ColumnRef],
    blocks: &[Arc<CellBlock>],
    run_cells: usize,
) -> Result<RecordBatch, TypedError> {
    let mut decoder = RowDecoder::of_columns(schema, projection);
    let mut batches = Vec::new();
    for block in blocks {
        for start in (0..block.len()).step_by(run_cells) {
            let cells = start..block.len().min(start + run_cells);
            decoder.push(&CellRun { block: block.clone(), cells })?;
            if decoder.rows_ready() >= 3 {
                batches.push(decoder.finish_batch()?);
            }
        }
    }
    decoder.end()?;
    batches.push(decoder.finish_batch()?);
    Ok(arrow::compute::concat_batches(decoder.schema(), &batches)?)
}

fn encode(schema: &TableSchema, batch: &RecordBatch, fresh: bool) -> Result<WriteBatch, TypedError> {
    let mut out = WriteBatch::new();
    RowEncoder::try_new(schema, schema.declared_order())?.encode(batch, T, 5, fresh, &mut out)?;
    Ok(out)
}

fn define(columns: Vec<ColumnDefinition>, key: Vec<KeyPart>) -> TableSchema {
    TableSchema::try_new(SchemaDefinition::new(columns, key)).unwrap()
}

/// K INTEGER, A.V VARCHAR(3), B.W DECIMAL(5,2), D INTEGER DEFAULT 7
fn small_schema() -> TableSchema {
    let mut with_default = ColumnDefinition::new("D", SqlType::Integer);
    with_default.default_sql = Some("7".into());
    define(
        vec![
            ColumnDefinition::new("K", SqlType::Integer),
            ColumnDefinition::new("V", SqlType::Varchar(Some(3))).in_family("A"),
            ColumnDefinition::new("W", SqlType::Decimal(Some((5, 2)))).in_family("B"),
            with_default,
        ],
        vec![KeyPart::asc("K")],
    )
}

type SmallRow<'a> = (i32, Option<&'a str>, Option<i128>, Option<i32>);

fn small_batch(rows: &[SmallRow<'_>]) -> RecordBatch {
    let arrays: [ArrayRef; 4] = [
        Arc::new(Int32Array::from_iter(rows.iter().map(|row| Some(row.0)))),
        Arc::new(StringViewArray::from_iter(rows.iter().map(|row| row.1))),
        Arc::new(
            Decimal128Array::from_iter(rows.iter().map(|row| row.2)).with_precision_and_scale(38, 2).unwrap(),
        ),
        Arc::new(Int32Array::from_iter(rows.iter().map(|row| row.3))),
    ];
    RecordBatch::try_from_iter(["K", "V", "W", "D"].into_iter().zip(arrays)).unwrap()
}

/// The cells of a batch as text, one per line.
fn cells(batch: &WriteBatch) -> Vec<String> {
    let cells = batch.iter().flat_map(|(_, mutation)| mutation.cells(Seq(1)));
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let show = |cell: basalt_model::CellRef<'_>| {
        let family = String::from_utf8_lossy(cell.family).into_owned();
        let (row, qualifier, value) = (hex(cell.row), hex(cell.qualifier), hex(cell.value));
        match cell.cell_type {
            CellType::Put => format!("{row} {family}:{qualifier} = {value}"),
            other => format!("{row} {family}:{qualifier} {other:?}"),
        }
    };
    cells.map(show).collect()
}

#[test]
fn a_row_is_its_cells_in_key_order_and_the_empty_cell() {
    let batch = encode(&small_schema(), &small_batch(&[(1, Some("x"), Some(150), Some(3))]), false).unwrap();
    let expected = [
        "80000001 0:800d = 80000003",
        "80000001 A:00000000 = 78",
        "80000001 A:800b = 78",
        "80000001 B:800c = c10233",
    ];
    assert_eq!(cells(&batch), expected);
}

#[test]
fn null_deletes_the_cell_or_writes_none_or_no_bytes() {
    let rows = small_batch(&[(1, Some(""), None, None)]);
    let updated = ["80000001 0:800d = ", "80000001 A:00000000 = 78"];
    assert_eq!(cells(&encode(&small_schema(), &rows, true).unwrap()), updated);
    let fresh = [updated[0], updated[1], "80000001 A:800b DeleteColumn", "80000001 B:800c DeleteColumn"];
    assert_eq!(cells(&encode(&small_schema(), &rows, false).unwrap()), fresh);
}

#[test]
fn columns_left_out_are_not_touched() {
    let schema = small_schema();
    let batch = small_batch(&[(1, None, Some(100), None)]).project(&[2, 0]).unwrap();
    let mut encoder = RowEncoder::try_new(&schema, &[ColumnRef::Column(1), ColumnRef::Key(0)]).unwrap();
    let mut out = WriteBatch::new();
    encoder.encode(&batch, T, 5, false, &mut out).unwrap();
    assert_eq!(cells(&out), ["80000001 A:00000000 = 78", "80000001 B:800c = c102"]);
    assert_eq!(encoder.encode_key(&batch, 0).unwrap(), [0x80, 0, 0, 1]);
}

#[test]
fn a_missing_cell_stands_for_the_default_and_no_bytes_for_null() {
    let schema = small_schema();
    let column = ColumnRef::Column(2);
    let mut out = WriteBatch::new();
    let rows = small_batch(&[(1, None, None, None), (2, None, None, Some(3)), (3, None, None, None)]);
    RowEncoder::try_new(&schema, schema.declared_order())
        .unwrap()
        .encode(&rows.slice(0, 2), T, 5, true, &mut out)
        .unwrap();
    RowEncoder::try_new(&schema, &[ColumnRef::Key(0)])
        .unwrap()
        .encode(&rows.slice(2, 1).project(&[0]).unwrap(), T, 5, true, &mut out)
        .unwrap();
    let mut decoder = RowDecoder::of_columns(&schema, &[ColumnRef::Key(0), column]);
    decoder.set_default(1, vec![0x80, 0, 0, 7]);
    for block in blocks(&out, 100) {
        decoder.push(&whole(&block)).unwrap();
    }
    decoder.end().unwrap();
    let batch = decoder.finish_batch().unwrap();
    let expected: ArrayRef = Arc::new(Int32Array::from(vec![None, Some(3), Some(7)]));
    assert_eq!(batch.column(1), &expected);
}

#[track_caller]
fn refused(schema: &TableSchema, batch: &RecordBatch, code: Option<u16>, message: &str) {
    let error = encode(schema, batch, false).unwrap_err();
    assert_eq!((error.to_string().as_str(), error.phoenix_code()), (message, code));
}

#[test]
fn bad_values_name_row_and_column() {
    let schema = small_schema();
    let long = small_batch(&[(1, None, None, None), (2, Some("long"), None, None)]);
    refused(&schema, &long, Some(206), "row 1, column V: value of 4 characters is too long for VARCHAR(3)");
    let wide = small_batch(&[(1, None, Some(100_000), None)]);
    refused(&schema, &wide, Some(206), "row 0, column W: value 1000.00 is out of range for DECIMAL(5,2)");

    let mut strict = small_schema();
    strict.columns[0].nullable = false;
    let null = small_batch(&[(1, Some(""), None, None)]);
    refused(&strict, &null, Some(218), "row 0, column V: the column is NOT NULL");
    let error = RowEncoder::try_new(&strict, &[ColumnRef::Key(0)]).unwrap_err();
    assert_eq!(error.to_string(), "column V is NOT NULL and has no value");

    let null_key = RecordBatch::try_from_iter([
        ("K", Arc::new(Int32Array::from(vec![Some(1), None])) as ArrayRef),
        ("V", Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef),
    ]);
    let columns = [ColumnRef::Key(0), ColumnRef::Column(0)];
    let mut encoder = RowEncoder::try_new(&schema, &columns).unwrap();
    let mut out = WriteBatch::new();
    let error = encoder.encode(&null_key.unwrap(), T, 5, false, &mut out).unwrap_err();
    assert_eq!(error.to_string(), "row 1: primary key column K may not be null");
    assert_eq!((error.row_index(), error.column(), error.phoenix_code()), (Some(1), Some("K"), Some(218)));
    assert_eq!(out.len(), 1, "the row before the bad one was added");
}

#[test]
fn batches_of_another_shape_are_refused() {
    let schema = small_schema();
    let batch = small_batch(&[(1, None, None, None)]);
    let mut encoder = RowEncoder::try_new(&schema, &[ColumnRef::Key(0)]).unwrap();
    let error = encoder.encode(&batch, T, 5, false, &mut WriteBatch::new()).unwrap_err();
    assert_eq!(error.to_string(), "a batch of 1 columns was expected; found 4");
    let swapped = batch.project(&[1, 0, 2, 3]).unwrap();
    refused(
        &schema,
        &swapped,
        Some(203),
        "column K of type INTEGER cannot be written from Arrow type Utf8View",
    );
    let twice = RowEncoder::try_new(&schema, &[ColumnRef::Key(0), ColumnRef::Key(0)]).unwrap_err();
    assert_eq!(twice.to_string(), "column K is written twice");
    let keyless = RowEncoder::try_new(&schema, &[ColumnRef::Column(0)]).unwrap_err();
    assert_eq!(keyless.to_string(), "column K is NOT NULL and has no value");
}

#[test]
fn damaged_values_name_column_and_row() {
    let schema = small_schema();
    let decode_value = |qualifier: &[u8], family: &[u8], value: &[u8], column| {
        let mut batch = WriteBatch::new();
        let mut row = batch.row(T, &[0x80, 0, 0, 1]).unwrap();
        row.put(family, qualifier, 5, value).unwrap();
        row.finish();
        decode(&schema, &[column], &blocks(&batch, 10), 10).unwrap_err().to_string()
    };
    let text = decode_value(&[0x80, 0x0b], b"A", &[0xff], ColumnRef::Column(0));
    assert_eq!(text, "column V of row \\x80\\x00\\x00\\x01: bytes are no VARCHAR(3): the text is not UTF-8");
    let decimal = decode_value(&[0x80, 0x0c], b"B", &[0xc1], ColumnRef::Column(1));
    assert_eq!(
        decimal,
        "column W of row \\x80\\x00\\x00\\x01: bytes are no DECIMAL(5,2): there are no digits"
    );
    let integer = decode_value(&[0x80, 0x0d], b"0", &[1, 2, 3], ColumnRef::Column(2));
    assert_eq!(integer, "column D of row \\x80\\x00\\x00\\x01: INTEGER takes 4 bytes; found 3");
    let mut short_key = WriteBatch::new();
    let mut row = short_key.row(T, b"ab").unwrap();
    row.put(b"A", b"q", 5, b"").unwrap();
    row.finish();
    let error = decode(&schema, &[ColumnRef::Key(0)], &blocks(&short_key, 10), 10).unwrap_err();
    assert!(error.is_damage());
    assert_eq!(error.to_string(), "row ab: row key does not fit the primary key: it ends inside of a column");
}

#[test]
fn stored_decimals_are_cut_to_the_scale() {
    let schema = small_schema();
    let mut batch = WriteBatch::new();
    let mut row = batch.row(T, &[0x80, 0, 0, 1]).unwrap();
    row.put(b"B", &[0x80, 0x0c], 5, &[0xc1, 0x02, 0x18, 0x2e]).unwrap(); // 1.2345
    row.finish();
    let batch = decode(&schema, &[ColumnRef::Column(1)], &blocks(&batch, 10), 10).unwrap();
    assert_eq!(batch.column(0).as_primitive::<arrow::datatypes::Decimal128Type>().value(0), 123);
}

#[test]
fn rows_are_counted_without_columns_and_unknown_cells_passed_over() {
    let schema = small_schema();
    let rows: Vec<_> = (0..10).map(|i| (i, Some("abc"), None, Some(i))).collect();
    let mut batch = encode(&schema, &small_batch(&rows), true).unwrap();
    for key in 0..10u8 {
        let mut row = batch.row(T, &[0x80, 0, 0, key]).unwrap();
        row.put(b"A", b"\x80\x0a\x80", 5, b"unknown").unwrap();
        row.put(b"ZZ", b"", 5, b"unknown").unwrap();
        row.finish();
    }
    for run_cells in [1, 2, 7, 100] {
        let blocks = blocks(&batch, 13);
        assert_eq!(decode(&schema, &[], &blocks, run_cells).unwrap().num_rows(), 10);
        let found = decode(&schema, schema.declared_order(), &blocks, run_cells).unwrap();
        let expected = small_batch(&rows);
        for column in 0..4 {
            assert_eq!(found.column(column).to_data().len(), 10);
            if column != 2 {
                assert_eq!(found.column(column), expected.column(column), "runs of {run_cells}");
            }
        }
    }
}

#[test]
fn the_pending_row_is_held_back_until_it_is_whole() {
    let schema = small_schema();
    let batch = encode(&schema, &small_batch(&[(1, Some("a"), Some(1), None), (2, None, None, None)]), true);
    let blocks = blocks(&batch.unwrap(), 2);
    let mut decoder = RowDecoder::of_columns(&schema, &[ColumnRef::Column(1)]);
    decoder.push(&whole(&blocks[0])).unwrap();
    assert_eq!(decoder.rows_ready(), 0);
    decoder.push(&whole(&blocks[1])).unwrap();
    assert_eq!(decoder.finish_batch().unwrap().num_rows(), 0);
    decoder.push(&whole(&blocks[2])).unwrap();
    assert_eq!(decoder.rows_ready(), 1);
    decoder.end().unwrap();
    decoder.end().unwrap();
    assert_eq!(decoder.finish_batch().unwrap().num_rows(), 2);
}

#[test]
fn arrow_schemas_say_type_and_nullability() {
    let schema = arrow_schema(&small_schema());
    let fields: Vec<_> = schema.fields().iter().map(|f| (f.name().as_str(), f.is_nullable())).collect();
    assert_eq!(fields, [("K", false), ("V", true), ("W", true), ("D", true)]);
    assert_eq!(schema.field(2).data_type(), &DataType::Decimal128(5, 2));
    assert_eq!(schema.field(2).metadata()[TYPE_METADATA], "DECIMAL(5,2)");
}

#[derive(Debug, Clone)]
struct Rows {
    schema: TableSchema,
    batch: RecordBatch,
    cells_per_block: usize,
    run_cells: usize,
    projection: Vec<ColumnRef>,
}

type ColumnChoice = (SqlType, bool, bool, bool);

fn any_rows() -> impl Strategy<Value = Rows> {
    let column = || (proptest::sample::select(types()), any::<bool>(), any::<bool>(), any::<bool>());
    let columns = (proptest::collection::vec(column(), 1..4), proptest::collection::vec(column(), 0..7));
    let shape = (columns, 0usize..12, 1usize..40, 1usize..40, any::<u64>());
    shape.prop_flat_map(|((key, columns), rows, cells_per_block, run_cells, shuffle)| {
        let words = proptest::collection::vec(proptest::option::weighted(0.8, any::<u64>()), rows * 11);
        (Just((key, columns, cells_per_block, run_cells, shuffle, rows)), words).prop_map(
            |((key, columns, cells_per_block, run_cells, shuffle, rows), words)| {
                rows_of(&key, &columns, rows, &words, (cells_per_block, run_cells, shuffle))
            },
        )
    })
}

fn rows_of(
    key: &[ColumnChoice],
    columns: &[ColumnChoice],
    rows: usize,
    words: &[Option<u64>],
    (cells_per_block, run_cells, shuffle): (usize, usize, u64),
) -> Rows {
    let mut definitions = Vec::new();
    let mut parts = Vec::new();
    for (i, &(sql_type, desc, _, _)) in key.iter().enumerate() {
        // VARBINARY must be the last column.
        let last = i + 1 == key.len();
        let sql_type =
            if matches!(sql_type, SqlType::Varbinary(_)) && !last { SqlType::Integer } else { sql_type };
        let mut column = ColumnDefinition::new(format!("K{i}"), sql_type);
        column.not_null = sql_type.fixed_width().is_some() || i == 0;
        definitions.push(column);
        parts.push(if desc { KeyPart::desc(format!("K{i}")) } else { KeyPart::asc(format!("K{i}")) });
    }
    for (i, &(sql_type, not_null, other_family, default)) in columns.iter().enumerate() {
        let mut column = ColumnDefinition::new(format!("V{i}"), sql_type);
        column.not_null = not_null;
        column.family = other_family.then(|| format!("F{}", i % 2));
        column.default_sql = default.then(|| "1".into());
        definitions.push(column);
    }
    let schema = define(definitions, parts);
    let arrays = schema.declared_order().iter().enumerate().map(|(i, &column)| {
        let words: Vec<_> = (0..rows).map(|row| words[row * 11 + i]).collect();
        let words: Vec<_> = match schema.nullable(column) {
            true => words,
            false => words.into_iter().map(|word| Some(word.unwrap_or(9))).collect(),
        };
        array(schema.sql_type(column), &words)
    });
    let arrays: Vec<_> = arrays.collect();
    let batch = RecordBatch::try_new(Arc::new(arrow_schema(&schema)), arrays).unwrap();
    let mut projection: Vec<_> = schema.declared_order().to_vec();
    let len = projection.len();
    projection.rotate_left(shuffle as usize % len);
    projection.retain(|column| match column {
        ColumnRef::Key(i) | ColumnRef::Column(i) => shuffle >> (8 + i) & 1 == 0,
    });
    Rows { schema, batch, cells_per_block, run_cells, projection }
}

/// The rows that a table holds after the batch: sorted by row key, the first of equal keys.
fn stored_rows(rows: &Rows) -> (RecordBatch, WriteBatch) {
    let encoder = KeyEncoder::try_new(&rows.schema, rows.schema.declared_order()).unwrap();
    let mut keys = Vec::new();
    encoder
        .encode(&rows.batch, |index, key| {
            keys.push((key.to_vec(), index as u64));
            Ok::<_, TypedError>(())
        })
        .unwrap();
    keys.sort();
    keys.dedup_by(|a, b| a.0 == b.0);
    let indices = UInt64Array::from_iter_values(keys.iter().map(|key| key.1));
    let batch = arrow::compute::take_record_batch(&rows.batch, &indices).unwrap();
    let cells = encode(&rows.schema, &batch, true).unwrap();
    (batch, cells)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn batches_survive_cells_and_blocks(rows in any_rows()) {
        let (expected, cells) = stored_rows(&rows);
        let blocks = blocks(&cells, rows.cells_per_block);
        let all = rows.schema.declared_order();
        for projection in [all, &rows.projection] {
            let found = decode(&rows.schema, projection, &blocks, rows.run_cells).unwrap();
            prop_assert_eq!(found.num_rows(), expected.num_rows());
            for (position, column) in projection.iter().enumerate() {
                let at = all.iter().position(|other| other == column).unwrap();
                prop_assert_eq!(found.column(position), expected.column(at));
            }
        }
    }

    #[test]
    fn stored_bytes_are_those_of_the_plain_codecs(rows in any_rows()) {
        let (_, cells) = stored_rows(&rows);
        for (_, mutation) in cells.iter() {
            let values = decode_row_key(&rows.schema.key, mutation.row()).unwrap();
            let mut row = Vec::new();
            encode_row_key(&rows.schema.key, &values, &mut row).unwrap();
            prop_assert_eq!(&row, mutation.row());
            for cell in mutation.cells(Seq(1)) {
                let Some(column) = rows.schema.columns.iter().find(|column| column.qualifier == cell.qualifier) else {
                    prop_assert_eq!(cell.value, b"x");
                    continue;
                };
                let value = column.sql_type.decode(SortOrder::Asc, cell.value).unwrap();
                let mut bytes = Vec::new();
                column.sql_type.encode(SortOrder::Asc, &value, &mut bytes).unwrap();
                prop_assert_eq!(&bytes, cell.value);
            }
        }
    }

    #[test]
    fn any_bytes_decode_or_are_refused(
        rows in any_rows(),
        row in proptest::collection::vec(any::<u8>(), 1..24),
        value in proptest::collection::vec(any::<u8>(), 0..24),
    ) {
        let schema = &rows.schema;
        for column in &schema.columns {
            let mut batch = WriteBatch::new();
            let mut builder = batch.row(T, &row).unwrap();
            builder.put(column.family.as_bytes(), &column.qualifier, 5, &value).unwrap();
            builder.finish();
            for &projected in schema.declared_order() {
                if let Err(error) = decode(schema, &[projected], &blocks(&batch, 10), 10) {
                    prop_assert!(error.is_damage(), "{}", error);
                }
            }
        }
    }

    #[test]
    fn single_values_have_the_bytes_of_a_key(sql_type in proptest::sample::select(types()), word in any::<u64>()) {
        let array = array(sql_type, &[None, Some(word)]);
        let mut asc = Vec::new();
        for order in [SortOrder::Asc, SortOrder::Desc] {
            let mut out = b"before".to_vec();
            encode_key_value(sql_type, order, &array, 0, &mut out).unwrap();
            prop_assert_eq!(out.len(), 6);
            encode_key_value(sql_type, order, &array, 1, &mut out).unwrap();
            let value = sql_type.decode(order, &out[6..]).unwrap();
            prop_assert!(value != Value::Null || array.is_null(1));
            asc.clear();
            sql_type.encode(order, &value, &mut asc).unwrap();
            prop_assert_eq!(&asc, &out[6..]);
        }
    }
}
