// SPDX-License-Identifier: Apache-2.0
//! Rows that come straight out of row groups are those that come out of their cells.

use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt32Type};
use proptest::prelude::*;

use super::*;
use crate::columnar::Mask;
use crate::{Encoding, HFileReader, HFileWriter, MemoryFile, ReadOptions, WriterOptions};

/// The cells of the rows' first family in a file of row groups.
pub(super) fn file(rows: &Rows, cells: &WriteBatch, typed: bool, block_rows: u32) -> HFileReader {
    let family = &rows.schema.empty_family;
    let layout = typed.then(|| Arc::new(rows.schema.family_layout(family)));
    let options = WriterOptions { encoding: Encoding::Columnar, block_rows, layout, ..Default::default() };
    let mut cells: Vec<_> = cells.iter().flat_map(|(_, mutation)| mutation.cells(Seq(1))).collect();
    cells.sort_by(|a, b| a.compare(b));
    let mut writer = HFileWriter::new(Vec::new(), options).unwrap();
    for cell in cells.into_iter().filter(|cell| cell.family == family.as_bytes()) {
        writer.append(cell).unwrap();
    }
    let bytes = writer.finish_into().unwrap().1;
    HFileReader::open(Arc::new(MemoryFile::new("rows", bytes)), ReadOptions::default()).unwrap()
}

/// Columns that need no other family, with the defaults of some.
fn decoder(rows: &Rows, with_defaults: bool, short: bool) -> RowDecoder {
    let schema = &rows.schema;
    let of_family = |column: &&ColumnRef| match column {
        ColumnRef::Key(_) => true,
        ColumnRef::Column(index) => schema.columns[*index].family == schema.empty_family,
    };
    let projection: Vec<ColumnRef> = schema.declared_order().iter().filter(of_family).copied().collect();
    let mut decoder = match short {
        true => RowDecoder::in_short_form(schema, &projection),
        false => RowDecoder::of_columns(schema, &projection),
    };
    for (position, &column) in projection.iter().enumerate() {
        let fits =
            matches!(schema.sql_type(column), SqlType::Integer | SqlType::Float | SqlType::UnsignedInt);
        if with_defaults && fits {
            decoder.set_default(position, vec![0x7f, 0, 0, 7]);
        }
    }
    decoder
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]

    #[test]
    fn row_groups_give_the_rows_of_their_cells(
        rows in any_rows(),
        typed in any::<bool>(),
        with_defaults in any::<bool>(),
        block_rows in 1u32..14,
        cut in 0usize..14,
    ) {
        let (_, cells) = stored_rows(&rows);
        let reader = file(&rows, &cells, typed, block_rows);
        let (mut plain, mut straight) =
            (decoder(&rows, with_defaults, false), decoder(&rows, with_defaults, false));
        let mut short = decoder(&rows, with_defaults, true);
        let mut expected = Ok(());
        let mut found = Ok(());
        for index in 0..reader.block_count().unwrap() {
            let opened = reader.open_block(index).unwrap();
            let group = opened.columns().unwrap();
            prop_assert!(group.is_plain());
            let cells = Arc::new(opened.decode().unwrap());
            expected = expected.and_then(|()| plain.push(&whole(&cells)));
            let cut = cut.min(group.rows());
            for range in [0..cut, cut..group.rows()] {
                let mask = Mask::of_range(range.clone());
                found = found.and_then(|()| straight.push_vector(group, 0, &mask));
                let in_short_form = short.push_vector(group, 0, &mask);
                prop_assert!(found.is_err() || in_short_form.is_ok());
            }
        }
        expected = expected.and_then(|()| plain.end());
        prop_assert_eq!(expected.is_ok(), found.is_ok(), "{:?} {:?}", expected, found);
        if expected.is_ok() {
            let (plain, short) = (plain.finish_batch().unwrap(), short.finish_batch().unwrap());
            for (plain, short) in plain.columns().iter().zip(short.columns()) {
                prop_assert_eq!(plain, &cast(short, plain.data_type()).unwrap());
            }
            prop_assert_eq!(plain, straight.finish_batch().unwrap());
        }
    }
}

/// Rows of a short text, one of fixed width, a long one and a number, few of each, some of them NULL, and two numbers that are close to each
/// other, in row groups of 100 rows.
pub(super) fn repetitive() -> (TableSchema, HFileReader) {
    let schema = define(
        vec![
            ColumnDefinition::new("K", SqlType::Integer),
            ColumnDefinition::new("SHORT", SqlType::Varchar(None)),
            ColumnDefinition::new("FIXED", SqlType::Char(5)),
            ColumnDefinition::new("LONG", SqlType::Varchar(None)),
            ColumnDefinition::new("PRICE", SqlType::Decimal(Some((12, 2)))),
            ColumnDefinition::new("BEGUN", SqlType::BigInt),
            ColumnDefinition::new("ENDED", SqlType::BigInt),
        ],
        vec![KeyPart::asc("K")],
    );
    let text = |row: i32, of: i32, name: &str| (row % 7 != of).then(|| format!("{name}{}", row * row % 4));
    let rows = 0..450;
    let begun = |row: i32| i64::from(row) * 7_919 % 4_096 * 1_000_003;
    let arrays: [ArrayRef; 7] = [
        Arc::new(Int32Array::from_iter_values(rows.clone())),
        Arc::new(StringViewArray::from_iter(rows.clone().map(|row| text(row, 1, "s")))),
        Arc::new(StringViewArray::from_iter(rows.clone().map(|row| text(row, 2, "fff")))),
        Arc::new(StringViewArray::from_iter(
            rows.clone().map(|row| text(row, 3, "a text of some length, №")),
        )),
        Arc::new(
            Decimal128Array::from_iter(
                rows.clone().map(|row| (row % 5 > 0).then_some(i128::from(row) * 997)),
            )
            .with_precision_and_scale(12, 2)
            .unwrap(),
        ),
        Arc::new(Int64Array::from_iter_values(rows.clone().map(begun))),
        Arc::new(Int64Array::from_iter_values(rows.map(|row| begun(row) + i64::from(row % 30)))),
    ];
    let names = ["K", "SHORT", "FIXED", "LONG", "PRICE", "BEGUN", "ENDED"];
    let batch = RecordBatch::try_from_iter(names.into_iter().zip(arrays)).unwrap();
    let cells = encode(&schema, &batch, false).unwrap();
    let layout = Some(Arc::new(schema.family_layout(&schema.empty_family)));
    let options =
        WriterOptions { encoding: Encoding::Columnar, block_rows: 100, layout, ..Default::default() };
    let mut cells: Vec<_> = cells.iter().flat_map(|(_, mutation)| mutation.cells(Seq(1))).collect();
    cells.sort_by(|a, b| a.compare(b));
    let mut writer = HFileWriter::new(Vec::new(), options).unwrap();
    cells.into_iter().for_each(|cell| writer.append(cell).unwrap());
    let bytes = writer.finish_into().unwrap().1;
    let file = Arc::new(MemoryFile::new("rows", bytes));
    (schema, HFileReader::open(file, ReadOptions::default()).unwrap())
}

/// A group of which one column is read when it is opened has the other one, too, which the numbers are distances from.
#[test]
fn numbers_beside_others_are_loaded_with_them() {
    let (schema, reader) = repetitive();
    let ended = *schema.declared_order().last().unwrap();
    let opened = reader.open_block(1).unwrap();
    let group = opened.columns().unwrap();
    let kept = group.facts().unwrap().into_iter().filter(|section| section.what.starts_with("Beside"));
    assert_eq!(kept.count(), 1);
    let number = group.columns().count() - 1;
    group.load(false, &[number]).unwrap();
    let mut decoder = RowDecoder::of_columns(&schema, &[ended]);
    decoder.push_vector(group, 0, &Mask::of_range(0..group.rows())).unwrap();
    let batch = decoder.finish_batch().unwrap();
    let expected = (100..200).map(|row: i64| row * 7_919 % 4_096 * 1_000_003 + row % 30);
    let found = batch.column(0).as_primitive::<arrow::datatypes::Int64Type>();
    assert!(expected.eq(found.values().iter().copied()));
}

#[test]
fn texts_of_a_dictionary_are_the_same_by_number_and_by_view() {
    let (schema, reader) = repetitive();
    let columns = schema.declared_order();
    let (mut plain, mut straight) =
        (RowDecoder::of_columns(&schema, columns), RowDecoder::of_columns(&schema, columns));
    let mut short = RowDecoder::in_short_form(&schema, columns);
    let mut dictionaries = 0;
    // Batches of one group, and of several with a dictionary each; all rows of a group, or every third.
    for groups in [vec![0], vec![1, 2], vec![3, 4]] {
        for group in groups {
            let opened = reader.open_block(group).unwrap();
            plain.push(&whole(&Arc::new(opened.decode().unwrap()))).unwrap();
            plain.end().unwrap();
            let group = opened.columns().unwrap();
            let half = |odd: usize| Mask::of_tests(group.rows(), |row| row % 2 == odd);
            let (even, odd) = (half(0), half(1));
            for decoder in [&mut straight, &mut short] {
                // First a part of the rows that is no range, then the rest in the order in which they are compared below.
                decoder.push_vector(group, 0, &even).unwrap();
                decoder.push_vector(group, 0, &odd).unwrap();
            }
        }
        let (plain, straight) = (plain.finish_batch().unwrap(), straight.finish_batch().unwrap());
        let short = short.finish_batch().unwrap();
        let sorted = |batch: &RecordBatch| {
            let order = arrow::compute::sort_to_indices(batch.column(0), None, None).unwrap();
            arrow::compute::take_record_batch(batch, &order).unwrap()
        };
        assert_eq!(sorted(&straight), plain);
        for (index, column) in short.columns().iter().enumerate() {
            dictionaries += usize::from(column.as_dictionary_opt::<UInt32Type>().is_some());
            let cast = cast(column, straight.column(index).data_type()).unwrap();
            assert_eq!(&cast, straight.column(index), "column {index}");
        }
        assert!(matches!(short.column(4).data_type(), DataType::Decimal64(12, 2)));
    }
    assert_eq!(dictionaries, 3, "one batch of one group has three columns of texts");
}
