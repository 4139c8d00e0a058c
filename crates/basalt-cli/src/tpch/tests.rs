// SPDX-License-Identifier: Apache-2.0
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::*;

fn written(table: Table, format: TpchFormat) -> (tempfile::TempDir, Written) {
    let dir = tempfile::tempdir().expect("temporary directory");
    let written = generate(dir.path(), table, 0.001, format, true).expect("generated");
    (dir, written)
}

#[test]
fn every_table_comes_in_every_format_with_the_same_rows() {
    for &table in Table::value_variants() {
        let counts = [TpchFormat::Parquet, TpchFormat::Csv, TpchFormat::Tbl]
            .map(|format| written(table, format).1.rows);
        assert_eq!(counts, [counts[0]; 3], "{}", table.name());
        if table != Table::Lineitem {
            assert_eq!(counts[0], table.rows_estimate(0.001), "{}", table.name());
        }
    }
}

#[test]
fn parquet_reads_back() {
    let (_dir, file) = written(Table::Lineitem, TpchFormat::Parquet);
    let reader =
        ParquetRecordBatchReaderBuilder::try_new(File::open(&file.path).expect("made")).expect("parquet");
    let names: Vec<_> = reader.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names.join(","), Table::Lineitem.csv_header());
    let rows: usize = reader.build().expect("parquet").map(|batch| batch.expect("sound").num_rows()).sum();
    assert_eq!(rows as u64, file.rows);
}

#[test]
fn csv_has_a_header_and_tbl_ends_in_a_bar() {
    let (_dir, csv) = written(Table::Nation, TpchFormat::Csv);
    let text = fs::read_to_string(csv.path).expect("text");
    assert!(text.starts_with("n_nationkey,n_name,n_regionkey,n_comment\n0,ALGERIA,0,"), "{text}");
    let (_dir, tbl) = written(Table::Nation, TpchFormat::Tbl);
    let text = fs::read_to_string(tbl.path).expect("text");
    assert!(text.lines().all(|line| line.ends_with('|')) && text.starts_with("0|ALGERIA|0|"), "{text}");
}

#[test]
fn the_table_is_known_by_the_file() {
    assert_eq!(Table::by_file_stem("LINEITEM"), Some(Table::Lineitem));
    assert_eq!(Table::by_file_stem("lineitem.3"), Some(Table::Lineitem));
    assert_eq!(Table::by_file_stem("lines"), None);
}
