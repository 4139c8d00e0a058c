// SPDX-License-Identifier: Apache-2.0
use std::fs::File;
use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Int64Array, RecordBatch, StringArray};
use arrow::ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;

use super::super::tests::{Loaded, OnError, load_file, target};
use super::super::{FirstBadRow, Target, TargetColumn, open};
use super::*;
use crate::target_file::{TargetFile, Writing};

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .expect("columns of one length")
}

fn sample() -> RecordBatch {
    batch(vec![
        ("v", Arc::new(StringArray::from(vec![Some("a"), None, Some("c"), Some("d")]))),
        ("k", Arc::new(Int64Array::from(vec![Some(1), Some(1 << 40), None, Some(4)]))),
    ])
}

fn loaded(ending: &str, batch: &RecordBatch, target: &Target, on_error: OnError) -> Result<Loaded, String> {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join(format!("a.{ending}"));
    let file = File::create(&path).expect("file");
    match ending {
        "parquet" => {
            let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("writer");
            writer.write(batch).expect("written");
            writer.close().expect("closed");
        }
        "arrow" => {
            let mut writer = FileWriter::try_new(file, &batch.schema()).expect("writer");
            writer.write(batch).expect("written");
            writer.finish().expect("closed");
        }
        _ => {
            let mut writer = StreamWriter::try_new(file, &batch.schema()).expect("writer");
            writer.write(batch).expect("written");
            writer.finish().expect("closed");
        }
    }
    load_file(dir.path(), &path, target, on_error)
}

#[test]
fn columns_go_by_name_in_every_container() {
    for ending in ["parquet", "arrow", "ipc"] {
        let loaded = loaded(ending, &sample().slice(0, 1), &target(), OnError::Stop).expect("fits");
        assert_eq!(loaded.rows, ["a,1"], "{ending}");
    }
}

#[test]
fn rows_that_do_not_fit_are_rejected_with_their_place() {
    let loaded = loaded("parquet", &sample(), &target(), OnError::Reject).expect("opens");
    assert_eq!(loaded.rows, ["a,1", "d,4"]);
    assert_eq!(
        loaded.rejected,
        "# a.parquet, row 2, column K: '1099511627776' does not fit INTEGER\n{\"v\":null,\"k\":1099511627776}\n\
         # a.parquet, row 3, column K: is NULL, but part of the primary key\n{\"v\":\"c\",\"k\":null}\n"
    );
}

#[test]
fn stop_keeps_the_rows_before() {
    let loaded = loaded("parquet", &sample(), &target(), OnError::Stop).expect("opens");
    assert_eq!(loaded.rows, ["a,1"]);
    assert!(loaded.stopped.is_some_and(|row| row.starts_with("a.parquet, row 2, column K: ")));
}

#[test]
fn what_can_never_fit_is_refused_at_once() {
    let text_key = batch(vec![("k", Arc::new(Date32Array::from(vec![1])))]);
    let mut wide = target();
    wide.columns[0].sql_type = SqlType::Boolean;
    let refused = loaded("parquet", &text_key, &wide, OnError::Reject);
    assert_eq!(
        refused.map(|loaded| loaded.rows),
        Err("a.parquet, column K: the file has Date32, which BOOLEAN cannot hold".into())
    );
}

#[test]
fn lengths_and_signs_are_checked() {
    let column =
        |name: &str, sql_type| TargetColumn { name: name.into(), sql_type, is_key: false, nullable: true };
    let target =
        Target { columns: vec![column("V", SqlType::Varchar(Some(1))), column("K", SqlType::UnsignedLong)] };
    let rows = batch(vec![
        ("V", Arc::new(StringArray::from(vec!["ä", "ab", "c"]))),
        ("K", Arc::new(Int64Array::from(vec![1, 2, -3]))),
    ]);
    let loaded = loaded("parquet", &rows, &target, OnError::Reject).expect("opens");
    assert_eq!(loaded.rows, ["ä,1"]);
    assert!(
        loaded.rejected.contains("row 2, column V: has 2 characters, VARCHAR(1) takes 1"),
        "{}",
        loaded.rejected
    );
    assert!(
        loaded.rejected.contains("row 3, column K: '-3' does not fit UNSIGNED_LONG"),
        "{}",
        loaded.rejected
    );
}

#[test]
fn of_a_parquet_file_only_the_wanted_columns_are_read() {
    let dir = tempfile::tempdir().expect("temporary directory");
    for ending in ["parquet", "arrow"] {
        let path = dir.path().join(format!("a.{ending}"));
        let mut file = TargetFile::create(&path, sample().schema(), &Writing::default()).expect("created");
        file.add(&sample()).expect("written");
        file.finish().expect("finished");
        let options = Options { some_columns: true, ..Options::default() };
        let column =
            TargetColumn { name: "k".into(), sql_type: SqlType::BigInt, is_key: false, nullable: true };
        let target = Target { columns: vec![column] };
        let mut source = open(&path, &options, &target, Arc::default()).expect("opened");
        let batch = source.next_batch(&mut FirstBadRow::default()).expect("read").expect("rows");
        assert_eq!((batch.num_rows(), batch.num_columns()), (4, 1), "{ending}");
        let nothing = Target { columns: vec![] };
        let mut source = open(&path, &options, &nothing, Arc::default()).expect("opened");
        let batch = source.next_batch(&mut FirstBadRow::default()).expect("read").expect("rows");
        assert_eq!((batch.num_rows(), batch.num_columns()), (4, 0), "{ending}");
    }
}
