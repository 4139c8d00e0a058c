// SPDX-License-Identifier: Apache-2.0
//! One small result with every kind of value, printed in every format.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array, Float32Array,
    Float64Array, Int64Array, ListArray, StringViewArray, TimestampMillisecondArray,
    TimestampNanosecondArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{Field, i256};
use arrow::ipc::reader::StreamReader;

use super::*;

fn printed(format: OutputFormat, style: &TableStyle, batches: &[RecordBatch], complete: bool) -> String {
    String::from_utf8(bytes_of(format, style, batches, complete)).expect("text")
}

fn bytes_of(format: OutputFormat, style: &TableStyle, batches: &[RecordBatch], complete: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut sink = sink(format, batches[0].schema(), style, &mut out).expect("memory");
    for batch in batches {
        sink.batch(batch).expect("memory");
    }
    sink.end(complete).expect("memory");
    drop(sink);
    out
}

fn check(format: OutputFormat, expected: &str) {
    assert_eq!(printed(format, &TableStyle::default(), &[sample()], true), expected);
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .expect("columns of one length")
}

fn sample() -> RecordBatch {
    let money = Decimal128Array::from(vec![Some(-1_050), Some(7), None]).with_precision_and_scale(15, 2);
    batch(vec![
        ("K", Arc::new(Int64Array::from(vec![1, 2, 3]))),
        ("D", Arc::new(money.expect("fits"))),
        ("F", Arc::new(Float32Array::from(vec![Some(0.1), None, Some(f32::INFINITY)]))),
        ("B", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("T", Arc::new(StringViewArray::from(vec![Some("a,\"b\"\n|\t\\"), Some(""), None]))),
    ])
}

fn one(array: ArrayRef) -> String {
    let csv = printed(OutputFormat::Csv, &TableStyle::default(), &[batch(vec![("V", array)])], true);
    csv.strip_prefix("V\n").expect("header").trim_end().replace('\n', " | ")
}

#[test]
fn csv_quotes_what_needs_it_and_tells_null_from_empty() {
    check(
        OutputFormat::Csv,
        "K,D,F,B,T\n1,-10.50,0.1,true,\"a,\"\"b\"\"\n|\t\\\"\n2,0.07,,false,\"\"\n3,,Infinity,,\n",
    );
}

#[test]
fn tsv_escapes() {
    check(
        OutputFormat::Tsv,
        "K\tD\tF\tB\tT\n1\t-10.50\t0.1\ttrue\ta,\"b\"\\n|\\t\\\\\n2\t0.07\t\tfalse\t\n3\t\tInfinity\t\t\n",
    );
}

#[test]
fn json_keeps_numbers_exact_and_stays_valid() {
    let lines = concat!(
        "{\"K\":1,\"D\":-10.50,\"F\":0.1,\"B\":true,\"T\":\"a,\\\"b\\\"\\n|\\t\\\\\"}\n",
        "{\"K\":2,\"D\":0.07,\"F\":null,\"B\":false,\"T\":\"\"}\n",
        "{\"K\":3,\"D\":null,\"F\":\"Infinity\",\"B\":null,\"T\":null}\n",
    );
    check(OutputFormat::Jsonl, lines);
    let array = printed(OutputFormat::Json, &TableStyle::default(), &[sample(), sample()], true);
    let parsed: serde_json::Value = serde_json::from_str(&array).expect("valid JSON");
    assert_eq!(parsed.as_array().map(Vec::len), Some(6));
    let none = printed(OutputFormat::Json, &TableStyle::default(), &[sample().slice(0, 0)], true);
    assert_eq!(none, "[]\n");
}

#[test]
fn markdown_keeps_its_cells_apart() {
    check(
        OutputFormat::Markdown,
        "| K | D | F | B | T |\n|---:|---:|---:|---|---|\n| 1 | -10.50 | 0.1 | true | a,\"b\"<br>\\|\t\\\\ |\n\
         | 2 | 0.07 |  | false |  |\n| 3 |  | Infinity |  |  |\n",
    );
}

#[test]
fn a_table_in_a_pipe_is_whole() {
    check(
        OutputFormat::Table,
        "\
┌───┬────────┬──────────┬───────┬─────────────┐
│ K │   D    │    F     │   B   │      T      │
├───┼────────┼──────────┼───────┼─────────────┤
│ 1 │ -10.50 │      0.1 │ true  │ a,\"b\"\\n|\\t\\ │
│ 2 │   0.07 │     NULL │ false │             │
│ 3 │   NULL │ Infinity │ NULL  │ NULL        │
└───┴────────┴──────────┴───────┴─────────────┘
",
    );
}

#[test]
fn a_table_on_a_terminal_shows_some_rows_and_counts_all() {
    let rows = batch(vec![("N", Arc::new(Int64Array::from_iter_values(0..2_500)))]);
    let style = TableStyle { width: Some(40), rows_max: Some(2), color: false };
    assert_eq!(
        printed(OutputFormat::Table, &style, &[rows.clone(), rows], true),
        "┌────────┐\n│   N    │\n│ BIGINT │\n├────────┤\n│      0 │\n│      1 │\n└────────┘\n5,000 rows (2 shown)\n"
    );
}

#[test]
fn a_cancelled_table_says_so() {
    let style = TableStyle { width: Some(40), rows_max: Some(1), color: false };
    let text = printed(OutputFormat::Table, &style, &[sample().project(&[0]).expect("column 0")], false);
    assert!(text.ends_with("stopped after 3 rows (1 shown)\n"), "{text}");
}

#[test]
fn a_long_table_in_a_pipe_flows() {
    let rows = batch(vec![("N", Arc::new(Int64Array::from_iter_values(0..1_500)))]);
    let text = printed(OutputFormat::Table, &TableStyle::default(), &[rows.clone(), rows], true);
    assert_eq!(text.lines().count(), 3 + 3_000 + 1);
}

#[test]
fn lines_align_their_names() {
    let text = printed(OutputFormat::Line, &TableStyle::default(), &[sample().slice(1, 1)], true);
    assert_eq!(text, "K = 2\nD = 0.07\nF = \nB = false\nT = \n");
}

#[test]
fn arrow_reads_back() {
    let bytes = bytes_of(OutputFormat::Arrow, &TableStyle::default(), &[sample(), sample()], true);
    let batches: Vec<_> =
        StreamReader::try_new(&bytes[..], None).expect("stream").map(Result::unwrap).collect();
    assert_eq!(batches, [sample(), sample()]);
}

#[test]
fn dates_and_times_look_as_in_phoenix() {
    let millis = TimestampMillisecondArray::from(vec![
        0,
        -1,
        951_782_400_000,
        253_402_300_799_999,
        -62_135_596_800_000,
    ]);
    assert_eq!(
        one(Arc::new(millis)),
        "1970-01-01 00:00:00.000 | 1969-12-31 23:59:59.999 | 2000-02-29 00:00:00.000 | 9999-12-31 23:59:59.999 | \
         0001-01-01 00:00:00.000"
    );
    let nanos = TimestampNanosecondArray::from(vec![1_000_000, 1_000, 1]);
    assert_eq!(
        one(Arc::new(nanos)),
        "1970-01-01 00:00:00.001 | 1970-01-01 00:00:00.000001 | 1970-01-01 00:00:00.000000001"
    );
    assert_eq!(one(Arc::new(Date32Array::from(vec![0, 11_016, -1]))), "1970-01-01 | 2000-02-29 | 1969-12-31");
}

#[test]
fn numbers_are_exact() {
    let wide = Decimal128Array::from(vec![i128::from(i64::MAX) * 1_000, -1]).with_precision_and_scale(38, 3);
    assert_eq!(one(Arc::new(wide.expect("fits"))), "9223372036854775807.000 | -0.001");
    let bare = Decimal128Array::from(vec![15_000_000_000, 20_000_000_000]).with_precision_and_scale(38, 10);
    assert_eq!(one(Arc::new(bare.expect("fits"))), "1.5 | 2");
    let digits = "99999999999999999999999999999999999999";
    let all = [format!("{digits}5"), "-5".to_owned(), "1000".to_owned(), format!("1{}", "0".repeat(39))];
    let all = all.map(|digits| i256::from_string(&digits).expect("it has less than 77 digits"));
    let widest = Decimal256Array::from(all.to_vec()).with_precision_and_scale(39, 1).expect("fits");
    assert_eq!(one(Arc::new(widest)), format!("{digits}.5 | -0.5 | 100 | 1{}", "0".repeat(38)));
    let doubles = Float64Array::from(vec![0.1 + 0.2, 1.0, 1e300, f64::NAN, -0.0]);
    assert_eq!(one(Arc::new(doubles)), "0.30000000000000004 | 1.0 | 1e300 | NaN | -0.0");
    assert_eq!(one(Arc::new(BinaryArray::from_vec(vec![b"\x00\xff", b"a"]))), "00ff | 61");
}

#[test]
fn elements_of_an_array_look_as_they_do_by_themselves() {
    let elements = Decimal256Array::from(vec![Some(i256::from(150)), None, Some(i256::from(-200))]);
    let elements: ArrayRef = Arc::new(elements.with_precision_and_scale(76, 2).expect("fits"));
    let field = Arc::new(Field::new("item", elements.data_type().clone(), true));
    let lists = ListArray::new(field, OffsetBuffer::from_lengths([2, 0, 1]), elements, None);
    assert_eq!(one(Arc::new(lists)), "\"[1.5, NULL]\" | [] | [-2]");
    let days: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![0]));
    let field = Arc::new(Field::new("item", days.data_type().clone(), true));
    let lists = ListArray::new(field, OffsetBuffer::from_lengths([1]), days, None);
    assert_eq!(one(Arc::new(lists)), "[1970-01-01 00:00:00.000]");
}

#[test]
fn thousands_are_grouped() {
    assert_eq!([0, 999, 1_000, 6_001_215].map(grouped), ["0", "999", "1,000", "6,001,215"]);
}
