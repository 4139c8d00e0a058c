// SPDX-License-Identifier: Apache-2.0
use std::fs::File;
use std::sync::Arc;

use arrow::array::{Int64Array, StringArray};
use arrow::compute::concat_batches;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

use super::*;

const ROWS: i64 = 50_000;

/// Three columns of very different sizes in row groups that no batch ends with.
fn sample() -> RecordBatch {
    let texts = (0..ROWS).map(|n| format!("the text of row {n} is long")).collect::<Vec<_>>();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a", Arc::new(Int64Array::from_iter((0..ROWS).map(|n| (n % 7 != 0).then_some(n))))),
        ("b", Arc::new(StringArray::from(texts))),
        ("c", Arc::new(Int64Array::from_iter_values((0..ROWS).map(|n| n % 3)))),
    ];
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

fn written(path: &Path) -> ArrowReaderMetadata {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(7_001)).build();
    let file = File::create(path).expect("file");
    let mut writer = ArrowWriter::try_new(file, sample().schema(), Some(properties)).expect("writer");
    writer.write(&sample()).expect("written");
    writer.close().expect("closed");
    ArrowReaderMetadata::load(&File::open(path).expect("opens"), Default::default()).expect("is Parquet")
}

#[test]
fn columns_are_put_together_again() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("a.parquet");
    let metadata = written(&path);
    for columns in [vec![0, 1, 2], vec![1], vec![0, 2]] {
        for threads in [1, 2, 3, 8] {
            let read = SideBySide::start(&path, &metadata, &columns, threads).expect("starts");
            assert_eq!(read.parts.len(), threads.min(columns.len()));
            let schema = read.schema.clone();
            let batches = read.collect::<Result<Vec<_>, _>>().expect("is read");
            let expected = sample().project(&columns).expect("has the columns");
            assert_eq!(concat_batches(&schema, &batches).expect("fit").columns(), expected.columns());
        }
    }
}

#[test]
fn threads_end_when_nobody_reads_on() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("a.parquet");
    let metadata = written(&path);
    let mut read = SideBySide::start(&path, &metadata, &[0, 1, 2], 3).expect("starts");
    assert!(read.next().expect("has rows").is_ok());
    // Waits for the threads: a test that hangs has found one that does not end.
    drop(read);
}

#[test]
fn damage_in_one_column_is_an_error_of_the_whole() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let path = directory.path().join("a.parquet");
    let metadata = written(&path);
    let column = metadata.metadata().row_group(3).column(2).byte_range();
    let mut bytes = std::fs::read(&path).expect("is there");
    bytes[column.0 as usize..(column.0 + column.1) as usize].fill(0xff);
    std::fs::write(&path, bytes).expect("is written");
    let read = SideBySide::start(&path, &metadata, &[0, 1, 2], 2).expect("starts");
    let found = read.collect::<Result<Vec<_>, _>>();
    assert!(found.is_err(), "a column of nonsense was read");
}

#[test]
fn shares_weigh_about_the_same() {
    assert_eq!(share_out(&[1, 100, 40, 60, 2], 2), [vec![1, 4], vec![0, 2, 3]]);
    assert_eq!(share_out(&[5, 5], 4), [vec![0], vec![1]]);
    assert_eq!(share_out(&[0, 0, 0], 2), [vec![0, 2], vec![1]]);
    assert_eq!(share_out(&[], 3), [Vec::<usize>::new()]);
}
