// SPDX-License-Identifier: Apache-2.0
//! How fast do rows become cells and cells become Arrow arrays, on one core?
//!
//! `cargo bench -p basalt-hfile --bench typed` prints rows/s and MB/s (of keys and values) for a table shaped
//! like LINEITEM: a key of BIGINT and INTEGER, 14 other columns, 15 cells a row. The best of several rounds
//! counts, since other work on the machine only ever slows a round down. Blocks are read twice over: a few of
//! them again and again, as if just decoded (they lie in the processor's cache), and all of them, 1.7 kB a
//! row from memory.

use std::sync::Arc;
use std::time::Instant;

use arrow::array::{
    ArrayRef, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringViewArray,
    TimestampMillisecondArray,
};
use basalt_hfile::typed::{RowDecoder, RowEncoder};
use basalt_hfile::{CellBlock, CellRun, CellSlot};
use basalt_model::schema::{ColumnDefinition, KeyPart, SchemaDefinition};
use basalt_model::{ColumnRef, LATEST_TIMESTAMP, Seq, SqlType, TableId, TableSchema, WriteBatch};

const ROWS: usize = 65_536;
const BATCH_ROWS: usize = 8_192;
const ROWS_PER_BLOCK: usize = 100;
const CACHED_BLOCKS: usize = 4;
const ROUNDS: usize = 15;

fn main() {
    let schema = lineitem();
    let batches: Vec<RecordBatch> = (0..ROWS / BATCH_ROWS).map(|i| rows(i * BATCH_ROWS)).collect();
    let mut encoder = RowEncoder::try_new(&schema, schema.declared_order()).expect("all columns");
    let mut out = WriteBatch::new();
    let mut encode = || {
        out.clear();
        for batch in &batches {
            encoder.encode(batch, TableId(1), LATEST_TIMESTAMP, true, &mut out).expect("values fit");
        }
    };
    report("encode all columns", 0, best(&mut encode));
    let blocks = blocks(&out);
    let bytes = blocks.iter().map(|block| block.keys.len() + block.values.len()).sum();
    let all = schema.declared_order();
    let four: Vec<ColumnRef> = ["L_QUANTITY", "L_EXTENDEDPRICE", "L_DISCOUNT", "L_SHIPDATE"]
        .map(|name| schema.find(None, name).expect("declared above"))
        .to_vec();
    let few: Vec<_> = (0..blocks.len()).map(|i| blocks[i % CACHED_BLOCKS].clone()).collect();
    for (name, projection) in [
        ("decode all columns", all),
        ("decode 4 columns", &four),
        ("decode key", &all[..2]),
        ("count rows", &[]),
    ] {
        for (place, blocks) in [("cached", &few), ("in memory", &blocks)] {
            let seconds = best(&mut || decode(&schema, projection, blocks));
            report(&format!("{name}, {place}"), bytes, seconds);
        }
    }
}

fn best(work: &mut dyn FnMut()) -> f64 {
    let round = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

fn report(name: &str, bytes: usize, seconds: f64) {
    let rows_per_s = ROWS as f64 / seconds / 1e6;
    let mb_per_s = bytes as f64 / seconds / 1e6;
    println!("{name:30} {rows_per_s:8.2} M rows/s {mb_per_s:10.0} MB/s");
}

fn decode(schema: &TableSchema, projection: &[ColumnRef], blocks: &[Arc<CellBlock>]) {
    let mut decoder = RowDecoder::of_columns(schema, projection);
    let mut found = 0;
    for block in blocks {
        decoder.push(&CellRun { block: block.clone(), cells: 0..block.len() }).expect("sound cells");
        if decoder.rows_ready() >= BATCH_ROWS {
            found += decoder.finish_batch().expect("sound rows").num_rows();
        }
    }
    decoder.end().expect("sound cells");
    found += decoder.finish_batch().expect("sound rows").num_rows();
    assert!(found.abs_diff(ROWS) <= ROWS_PER_BLOCK, "{found} rows");
}

fn lineitem() -> TableSchema {
    use SqlType::*;
    let money = Decimal(Some((12, 2)));
    let columns = [
        ("L_ORDERKEY", BigInt),
        ("L_LINENUMBER", Integer),
        ("L_PARTKEY", BigInt),
        ("L_SUPPKEY", BigInt),
        ("L_QUANTITY", money),
        ("L_EXTENDEDPRICE", money),
        ("L_DISCOUNT", money),
        ("L_TAX", money),
        ("L_RETURNFLAG", Char(1)),
        ("L_LINESTATUS", Char(1)),
        ("L_SHIPDATE", Date),
        ("L_COMMITDATE", Date),
        ("L_RECEIPTDATE", Date),
        ("L_SHIPINSTRUCT", Varchar(Some(25))),
        ("L_SHIPMODE", Varchar(Some(10))),
        ("L_COMMENT", Varchar(Some(44))),
    ];
    let columns = columns.map(|(name, sql_type)| match name {
        "L_ORDERKEY" | "L_LINENUMBER" => ColumnDefinition::new(name, sql_type).not_null(),
        _ => ColumnDefinition::new(name, sql_type),
    });
    let key = vec![KeyPart::asc("L_ORDERKEY"), KeyPart::asc("L_LINENUMBER")];
    TableSchema::try_new(SchemaDefinition::new(columns.to_vec(), key)).expect("a sound definition")
}

fn rows(first: usize) -> RecordBatch {
    let numbers = first as u64..(first + BATCH_ROWS) as u64;
    let mixed =
        |salt: u64| numbers.clone().map(move |i| (i + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20);
    let big =
        |salt| Arc::new(Int64Array::from_iter_values(mixed(salt).map(|v| v as i64 % 200_000))) as ArrayRef;
    let money = |salt, most: i128| {
        let array = Decimal128Array::from_iter_values(mixed(salt).map(|v| v as i128 % most));
        Arc::new(array.with_precision_and_scale(12, 2).expect("precision 12")) as ArrayRef
    };
    let date = |salt| {
        let days = mixed(salt).map(|v| (8_000 + v as i64 % 2_500) * 86_400_000);
        Arc::new(TimestampMillisecondArray::from_iter_values(days)) as ArrayRef
    };
    let text = |salt, texts: &'static [&'static str]| {
        Arc::new(StringViewArray::from_iter_values(mixed(salt).map(|v| texts[v as usize % texts.len()])))
            as ArrayRef
    };
    let quantity = mixed(3).map(|v| (1 + v as i128 % 50) * 100);
    let quantity = Decimal128Array::from_iter_values(quantity).with_precision_and_scale(12, 2);
    let comment =
        |v: u64| "egular courts above the final requests, furiously"[..10 + v as usize % 34].to_owned();
    let arrays: [(&str, ArrayRef); 16] = [
        ("L_ORDERKEY", Arc::new(Int64Array::from_iter_values(numbers.clone().map(|v| v as i64 / 4)))),
        ("L_LINENUMBER", Arc::new(Int32Array::from_iter_values(numbers.clone().map(|v| 1 + v as i32 % 4)))),
        ("L_PARTKEY", big(1)),
        ("L_SUPPKEY", big(2)),
        ("L_QUANTITY", Arc::new(quantity.expect("precision 12"))),
        ("L_EXTENDEDPRICE", money(4, 10_500_000)),
        ("L_DISCOUNT", money(5, 11)),
        ("L_TAX", money(6, 9)),
        ("L_RETURNFLAG", text(7, &["A", "N", "R"])),
        ("L_LINESTATUS", text(8, &["F", "O"])),
        ("L_SHIPDATE", date(9)),
        ("L_COMMITDATE", date(10)),
        ("L_RECEIPTDATE", date(11)),
        ("L_SHIPINSTRUCT", text(12, &["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"])),
        ("L_SHIPMODE", text(13, &["AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB", "REG AIR"])),
        ("L_COMMENT", Arc::new(StringViewArray::from_iter_values(mixed(14).map(comment)))),
    ];
    RecordBatch::try_from_iter(arrays).expect("columns of one length")
}

/// The cells as the NONE encoding decodes them: flat keys and values in one buffer.
fn blocks(batch: &WriteBatch) -> Vec<Arc<CellBlock>> {
    let mut blocks = Vec::new();
    for first in (0..batch.len()).step_by(ROWS_PER_BLOCK) {
        let (mut buffer, mut block) = (Vec::new(), CellBlock::default());
        for index in first..batch.len().min(first + ROWS_PER_BLOCK) {
            block.row_starts.push(block.slots.len() as u32);
            for cell in batch.get(index).1.cells(Seq(0)) {
                let key = buffer.len();
                buffer.extend_from_slice(&(cell.row.len() as u16).to_be_bytes());
                buffer.extend_from_slice(cell.row);
                buffer.push(cell.family.len() as u8);
                buffer.extend_from_slice(cell.family);
                buffer.extend_from_slice(cell.qualifier);
                buffer.extend_from_slice(&cell.timestamp.to_be_bytes());
                buffer.push(cell.cell_type.code());
                block.slots.push(CellSlot {
                    key: key as u32,
                    value: buffer.len() as u32,
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
                buffer.extend_from_slice(cell.value);
            }
        }
        block.keys = buffer.into();
        block.values = block.keys.clone();
        block.plain = true;
        blocks.push(Arc::new(block));
    }
    blocks
}
