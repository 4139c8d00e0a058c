// SPDX-License-Identifier: Apache-2.0
//! Rows that come by column make the file that their cells make, byte for byte.

use proptest::prelude::*;

use super::*;
use crate::columnar::ColumnBatch;
use crate::{BloomKind, Encoding, HFileWriter, WriterOptions};

/// Rows of one family without NULL.
fn whole_rows() -> impl Strategy<Value = Rows> {
    let column = || (proptest::sample::select(types()), any::<bool>(), Just(false), any::<bool>());
    let columns = (proptest::collection::vec(column(), 1..4), proptest::collection::vec(column(), 0..7));
    (columns, 1usize..50).prop_flat_map(|((key, columns), rows)| {
        // Few enough values that many are the same.
        let word = prop_oneof![0u64..6, any::<u64>()].prop_map(Some);
        proptest::collection::vec(word, rows * 11)
            .prop_map(move |words| rows_of(&key, &columns, rows, &words, (1, 1, 0)))
    })
}

/// How the rows of a file come.
#[derive(Debug, Clone, Copy)]
enum By {
    Cell,
    Column,
}

fn file(rows: &Rows, batch: &RecordBatch, options: WriterOptions, cuts: &[(usize, By)]) -> Vec<u8> {
    let mut writer = HFileWriter::new(Vec::new(), options).expect("the options are valid");
    let encoder = RowEncoder::try_new(&rows.schema, rows.schema.declared_order()).expect("all columns");
    let mut done = 0;
    for (count, by) in cuts.iter().copied().chain([(usize::MAX, By::Column)]) {
        let piece = batch.slice(done, count.min(batch.num_rows() - done));
        done += piece.num_rows();
        let columns = match by {
            By::Cell => None,
            By::Column => encoder.encode_columns(&piece, 5),
        };
        match columns {
            Some(columns) => writer.append_columns(&columns).expect("rows ascend"),
            None => {
                let cells = encode(&rows.schema, &piece, true).expect("the rows are valid");
                for cell in cells.iter().flat_map(|(_, row)| row.cells(Seq(0))) {
                    writer.append(cell).expect("cells ascend");
                }
            }
        }
    }
    let (summary, file) = writer.finish_into().expect("memory does not fail");
    assert_eq!(summary.rows as usize, batch.num_rows());
    file
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..Default::default() })]

    #[test]
    fn columns_make_the_file_that_cells_make(
        rows in whole_rows(),
        typed in any::<bool>(),
        encoding in proptest::sample::select(vec![Encoding::Columnar, Encoding::Columnar, Encoding::FastDiff]),
        bloom in proptest::sample::select(vec![BloomKind::Row, BloomKind::None, BloomKind::RowCol]),
        with_seq in any::<bool>(),
        block_rows in 1u32..14,
        cuts in proptest::collection::vec((0usize..20, prop_oneof![Just(By::Cell), Just(By::Column)]), 0..6),
    ) {
        let (batch, _) = stored_rows(&rows);
        let layout = typed.then(|| Arc::new(rows.schema.family_layout(&rows.schema.empty_family)));
        let options = || WriterOptions {
            encoding, bloom, block_rows, with_seq, layout: layout.clone(), ..Default::default()
        };
        let by_cell = file(&rows, &batch, options(), &[(usize::MAX, By::Cell)]);
        let mixed = file(&rows, &batch, options(), &cuts);
        prop_assert!(by_cell == mixed, "{} rows, cut {cuts:?}", batch.num_rows());
    }
}

#[test]
fn rows_that_are_not_all_alike_do_not_come_by_column() {
    let column = |name: &str, sql_type| ColumnDefinition::new(name, sql_type);
    let schema = define(
        vec![
            column("K", SqlType::Integer),
            column("V", SqlType::Varchar(Some(2))),
            column("N", SqlType::UnsignedInt),
        ],
        vec![KeyPart::asc("K")],
    );
    let by_column = |keys: [i32; 2], texts: [Option<&str>; 2], numbers: [i32; 2]| -> Option<ColumnBatch> {
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(Int32Array::from(keys.to_vec())),
            Arc::new(StringViewArray::from_iter(texts)),
            Arc::new(Int32Array::from(numbers.to_vec())),
        ];
        let batch = RecordBatch::try_new(Arc::new(arrow_schema(&schema)), arrays).expect("arrays fit");
        RowEncoder::try_new(&schema, schema.declared_order()).expect("all columns").encode_columns(&batch, 5)
    };
    let ab = [Some("a"), Some("b")];
    assert_eq!(by_column([1, 2], ab, [0, 9]).map(|batch| batch.cells()), Some(6));
    for (keys, texts, numbers) in [
        ([2, 1], ab, [0, 9]),
        ([1, 1], ab, [0, 9]),
        ([1, 2], [Some("a"), None], [0, 9]),
        ([1, 2], [Some("a"), Some("")], [0, 9]),
        ([1, 2], [Some("a"), Some("too long")], [0, 9]),
        ([1, 2], ab, [0, -1]),
    ] {
        assert!(by_column(keys, texts, numbers).is_none(), "{keys:?} {texts:?} {numbers:?}");
    }
}
