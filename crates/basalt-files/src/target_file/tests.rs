// SPDX-License-Identifier: Apache-2.0
use std::fs;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringViewArray};

use super::*;

fn rows() -> RecordBatch {
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("K", Arc::new(Int64Array::from(vec![1, 2])), true),
        ("V", Arc::new(StringViewArray::from(vec![Some("a;b"), None])), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one length")
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("directory");
    entries.map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned()).collect()
}

fn write(path: &Path, writing: &Writing) -> Result<u64> {
    let mut file = TargetFile::create(path, rows().schema(), writing)?;
    file.add(&rows())?;
    file.finish()
}

#[test]
fn a_file_has_its_name_only_when_it_is_whole() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("a.csv");
    let mut file = TargetFile::create(&path, rows().schema(), &Writing::default()).expect("created");
    file.add(&rows()).expect("written");
    assert!(!path.exists());
    assert_eq!(file.finish().expect("finished"), 2);
    assert_eq!(names(dir.path()), ["a.csv"]);
    assert_eq!(fs::read_to_string(&path).expect("text"), "K,V\n1,a;b\n2,\n");
}

#[test]
fn a_file_that_is_given_up_leaves_nothing() {
    let dir = tempfile::tempdir().expect("temporary directory");
    for ending in ["csv", "jsonl", "parquet", "arrow"] {
        let path = dir.path().join(format!("a.{ending}"));
        let mut file = TargetFile::create(&path, rows().schema(), &Writing::default()).expect("created");
        file.add(&rows()).expect("written");
        drop(file);
        assert_eq!(names(dir.path()), Vec::<String>::new(), "{ending}");
    }
}

#[test]
fn a_file_that_is_there_is_kept_unless_the_user_says_otherwise() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("a.jsonl");
    fs::write(&path, "mine").expect("written");
    let refused = write(&path, &Writing::default()).expect_err("the file is there").sentence();
    assert!(
        refused.ends_with("a.jsonl exists; choose another name, or say OVERWRITE to replace it"),
        "{refused}"
    );
    assert_eq!(fs::read_to_string(&path).expect("text"), "mine");
    write(&path, &Writing { overwrite: true, ..Writing::default() }).expect("replaced");
    assert_eq!(fs::read_to_string(&path).expect("text"), "{\"K\":1,\"V\":\"a;b\"}\n{\"K\":2,\"V\":null}\n");
}

/// Somebody else made the file while this one was written.
#[test]
fn a_file_that_came_meanwhile_is_kept() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("a.csv");
    let file = TargetFile::create(&path, rows().schema(), &Writing::default()).expect("created");
    fs::write(&path, "mine").expect("written");
    assert!(matches!(file.finish(), Err(Error::Unfit(_))));
    assert_eq!(names(dir.path()), ["a.csv"]);
    assert_eq!(fs::read_to_string(&path).expect("text"), "mine");
}

#[test]
fn delimiter_and_header_are_chosen() {
    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("a.txt");
    let csv = CsvStyle { delimiter: b';', header: false };
    write(&path, &Writing { format: Some(Format::Csv), csv, ..Writing::default() }).expect("written");
    assert_eq!(fs::read_to_string(&path).expect("text"), "1;\"a;b\"\n2;\n");
}

#[test]
fn every_compression_of_parquet_is_read_back() {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    let dir = tempfile::tempdir().expect("temporary directory");
    let path = dir.path().join("a.parquet");
    use Compression::*;
    for compression in [Zstd, Snappy, Gzip, Lz4, None] {
        write(&path, &Writing { compression, overwrite: true, ..Writing::default() }).expect("written");
        let reader =
            ParquetRecordBatchReaderBuilder::try_new(File::open(&path).expect("file")).expect("Parquet");
        assert_eq!(reader.metadata().row_group(0).column(0).compression(), codec(compression));
        let batches: Vec<_> = reader.build().expect("reader").map(|batch| batch.expect("rows")).collect();
        assert_eq!(batches, [rows()], "{compression:?}");
    }
}
