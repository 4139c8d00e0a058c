// SPDX-License-Identifier: Apache-2.0
//! Rows that come straight out of row groups are those that come out of their cells.

use proptest::prelude::*;

use super::*;
use crate::columnar::Mask;
use crate::{Encoding, HFileReader, HFileWriter, MemoryFile, ReadOptions, WriterOptions};

/// The cells of the rows' first family in a file of row groups.
fn file(rows: &Rows, cells: &WriteBatch, typed: bool, block_rows: u32) -> HFileReader {
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
fn decoder(rows: &Rows, with_defaults: bool) -> RowDecoder {
    let schema = &rows.schema;
    let of_family = |column: &&ColumnRef| match column {
        ColumnRef::Key(_) => true,
        ColumnRef::Column(index) => schema.columns[*index].family == schema.empty_family,
    };
    let projection: Vec<ColumnRef> = schema.declared_order().iter().filter(of_family).copied().collect();
    let mut decoder = RowDecoder::of_columns(schema, &projection);
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
        let (mut plain, mut straight) = (decoder(&rows, with_defaults), decoder(&rows, with_defaults));
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
                found = found.and_then(|()| straight.push_vector(group, 0, &Mask::of_range(range.clone())));
            }
        }
        expected = expected.and_then(|()| plain.end());
        prop_assert_eq!(expected.is_ok(), found.is_ok(), "{:?} {:?}", expected, found);
        if expected.is_ok() {
            prop_assert_eq!(plain.finish_batch().unwrap(), straight.finish_batch().unwrap());
        }
    }
}
