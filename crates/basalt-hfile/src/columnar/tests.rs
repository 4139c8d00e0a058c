// SPDX-License-Identifier: Apache-2.0
//! The worked sections of `docs/format.md` are those that the writer makes of the values that stand there.

use std::sync::Arc;

use basalt_model::types::{Decimal, Value};
use basalt_model::{CellRef, CellType, FamilyLayout, KeyColumn, Seq, SortOrder, SqlType};

use super::head::Kind;
use crate::{Encoding, HFileReader, HFileWriter, MemoryFile, ReadOptions, WriterOptions};

/// A file whose key is a number from 0 on, with columns of one type; of each row the values.
fn file(sql_type: SqlType, rows: &[Vec<Value<'_>>]) -> Vec<u8> {
    let name = |column: usize| vec![b'a' + column as u8];
    let key =
        KeyColumn { name: "K".into(), sql_type: SqlType::Integer, order: SortOrder::Asc, nullable: false };
    let columns = (0..rows[0].len()).map(|column| (name(column), sql_type)).collect();
    let options = WriterOptions {
        encoding: Encoding::Columnar,
        file_number: 7,
        create_time_ms: 1_700_000_000_000,
        layout: Some(Arc::new(FamilyLayout { key: vec![key], columns })),
        ..Default::default()
    };
    let mut writer = HFileWriter::new(Vec::new(), options).expect("the options are valid");
    for (number, values) in (0u32..).zip(rows) {
        for (column, value) in values.iter().enumerate() {
            let mut bytes = Vec::new();
            sql_type.encode(SortOrder::Asc, value, &mut bytes).expect("a value of the type");
            let cell = CellRef {
                row: &(number ^ 1 << 31).to_be_bytes(),
                family: b"0",
                qualifier: &name(column),
                timestamp: 1_700_000_000_000,
                cell_type: CellType::Put,
                value: &bytes,
                seq: Seq(5),
                tags: b"",
            };
            writer.append(cell).expect("cells ascend");
        }
    }
    writer.finish_into().expect("memory does not fail").1
}

/// The bytes that stand in `docs/format.md` under a heading, in front of the bars.
fn written_down(heading: &str) -> Vec<u8> {
    let format = std::fs::read_to_string("../../docs/format.md").expect("the document is there");
    let text = format.split("\n### ").find(|text| text.starts_with(heading));
    let text = text.unwrap_or_else(|| panic!("docs/format.md has no heading {heading}"));
    let text = text.split("```").nth(1).expect("bytes under a heading");
    let digits = text.lines().filter_map(|line| line.split_once('|')).flat_map(|(hex, _)| hex.chars());
    let digits: Vec<u32> = digits.filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

/// The section of the last column's values, and its entry in the head if it is kept as distances, must be what is written down.
fn check(heading: &str, scheme: &str, sql_type: SqlType, rows: &[Vec<Value<'_>>]) {
    let bytes = file(sql_type, rows);
    let file = Arc::new(MemoryFile::new("worked", bytes.clone()));
    let reader = HFileReader::open(file, ReadOptions::default()).expect("a sound file");
    let block = reader.open_block(0).expect("a sound block");
    let group = block.columns().expect("a row group");
    let column = rows[0].len() as u16 - 1;
    let section = group.section(Kind::Values, column).expect("a sound section").expect("it has values");
    let entry = group.head.entry(Kind::Values, column).expect("it has values");
    let range = entry.offset as usize..(entry.offset + entry.len) as usize;
    let found = group.source.read(range).expect("it lies in the block");
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(section.scheme_name().0, scheme, "{heading}: {}", hex(&found));
    let expected = written_down(heading);
    let (entry, expected) = expected.split_at(expected.len().saturating_sub(found.len()));
    assert_eq!(hex(&found), hex(expected), "{heading}");
    let is_beside = group.head.beside(column).is_some();
    assert_eq!(is_beside, !entry.is_empty(), "{heading}");
    assert!(
        !is_beside || bytes.windows(entry.len()).any(|window| window == entry),
        "{heading}: {}",
        hex(entry)
    );
}

fn column(values: impl IntoIterator<Item = Value<'static>>) -> Vec<Vec<Value<'static>>> {
    values.into_iter().map(|value| vec![value]).collect()
}

fn texts(texts: impl IntoIterator<Item = &'static str>) -> Vec<Vec<Value<'static>>> {
    column(texts.into_iter().map(|text| Value::Text(text.into())))
}

#[test]
fn sections_of_numbers_are_those_of_the_format() {
    let runs = [(50, 3), (40, 1000), (38, 8)].into_iter().flat_map(|(times, number)| vec![number; times]);
    check("Runs", "runs", SqlType::Integer, &column(runs.map(Value::Int)));
    let times = [0, 1002, 1999, 3001, 4000, 5001, 6000, 7003].map(|time| 1_700_000_000_000 + time);
    check("Delta", "delta", SqlType::Date, &column(times.map(Value::Millis)));
    let gaps = [1103, 9471, 21_502, 29_018, 44_337, 52_791, 60_190, 79_994];
    check("Ascending", "ascending", SqlType::Integer, &column(gaps.map(Value::Int)));
    let few = [7, 3_000_000, 900_000_000_001, 3_000_000].into_iter().cycle().take(16);
    check("Dictionary of numbers", "dictionary", SqlType::BigInt, &column(few.map(Value::Int)));
    let prices = [0.25, 17.5, 3.99, 10.0, f64::MAX].map(Value::Double);
    check("ALP", "alp", SqlType::Double, &column(prices));
    let front = |row: u32| if row.is_multiple_of(2) { 0x3e80_0000 } else { 0x3f80_0000 };
    let bits = |row: u32| front(row) + (row * 0x9e37) % 0x1_0000;
    let noise = (0..16).map(|row| f32::from_bits(bits(row)));
    check("Split", "split", SqlType::UnsignedFloat, &column(noise.map(Value::Float)));
}

#[test]
fn a_section_of_distances_is_that_of_the_format() {
    let row = |row: i64| {
        let first = row * row * 1_000_003 % 999_983_000;
        vec![Value::Int(first), Value::Int(first + row % 4)]
    };
    check("Distances", "frame", SqlType::Integer, &(0..24).map(row).collect::<Vec<_>>());
}

#[test]
fn sections_of_texts_are_those_of_the_format() {
    let text = SqlType::Varchar(None);
    check("Plain", "plain", text, &texts(["tuff", "slate", "gneiss"]));
    let few = ["granite", "slate", "granite", "slate", "slate", "granite"];
    check("Dictionary of texts", "dictionary", text, &texts(few));
    check("Prefix", "prefix", text, &texts(["customer/1", "customer/17", "customer/2", "customer/2/a"]));
    let orders =
        ["o-271828", "o-182845", "o-904523", "o-536028", "o-747135", "o-266249", "o-775724", "o-709369"];
    check("Digits", "digits", text, &texts(orders));
    check(
        "Pattern",
        "pattern",
        text,
        &texts(["a1 in state b2", "c3 in state d4", "e5 in state f6", "a1 in state f6"]),
    );
    let rocks = ["metamorphic slate", "sedimentary slate", "metamorphic rock", "sedimentary rock"];
    let rocks = rocks.into_iter().chain(["sedimentary tuff", "metamorphic slate"]);
    check("Words", "words", text, &texts(rocks));
    let hundredths = |n: i128| if n == 7 { -4 } else { 10i128.pow(20) + n * 7919 % 1000 };
    let numbers = (0..24).map(|n| Value::Decimal(Decimal::new(hundredths(n) * 100, 4)));
    check("Decimals", "decimals", SqlType::Decimal(Some((38, 4))), &column(numbers));
    let fragments = ["basaltic", "granitic", "gneisses"];
    let rocks = (0..20usize).map(|row| {
        let text = [row, row / 3, row / 9, row * row].map(|at| fragments[at % 3]).concat();
        vec![Value::Text(text.into())]
    });
    check("FSST", "fsst", text, &rocks.collect::<Vec<_>>());
}
