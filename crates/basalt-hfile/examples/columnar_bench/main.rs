// SPDX-License-Identifier: Apache-2.0
//! Size and speed of COLUMNAR on the three-column table: an integer key and two random floats, as Phoenix lays it out.
//!
//! ```text
//! columnar_bench [ROWS]                       default 4,000,000
//!
//! row = pk, 4 bytes, sign bit flipped; family "0"; one timestamp and one sequence number per 1,000 rows
//!   "_0" = "x", the empty cell     "V1", "V2" = FLOAT
//! ```
//!
//! One thread, files in memory, times of the thread's own clock, the best of five rounds:
//! * bytes a row of the file, without Bloom filter, for every encoding with and without ZSTD;
//! * SUM over V1 as Arrow arrays, verified and decoded each round, in decoded bytes; beside it what this thread reads
//!   of memory, the sum of 64-bit words of 512 MiB;
//! * all cells, by COLUMNAR and by NONE;
//! * random rows, all cells of each: the block is open, its vectors are verified and decoded for every row.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{AsArray, Float32Array};
use arrow::datatypes::Float32Type;
use basalt_hfile::columnar::Mask;
use basalt_hfile::typed::RowDecoder;
use basalt_hfile::{
    BloomKind, Compression, EncodedBlock, Encoding, HFileReader, HFileWriter, MemoryFile, ReadOptions,
    WriterOptions,
};
use basalt_model::types::number::encode_f32;
use basalt_model::{
    CellRef, CellType, ColumnRef, ColumnSchema, KeyColumn, Seq, SortOrder, SqlType, TableSchema,
};

/// The allocator of the `basalt` program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Outcome<T> = Result<T, Box<dyn Error>>;

const ROWS_PER_BATCH: i64 = 1_000;
const FIRST_BATCH_MS: i64 = 1_700_000_000_000;
const ROUNDS: usize = 5;

fn main() -> Outcome<()> {
    let rows: i32 = std::env::args().nth(1).map_or(Ok(4_000_000), |rows| rows.parse())?;
    println!("{:<14} {:<5} {:>12} {:>10} {:>12}", "encoding", "codec", "bytes", "bytes/row", "written Mr/s");
    let mut plain = None;
    let mut columnar = None;
    for encoding in Encoding::ALL {
        for compression in [Compression::None, Compression::Zstd] {
            let bytes = file(rows, encoding, compression, true)?;
            match (encoding, compression) {
                (Encoding::None, Compression::None) => plain = Some(open(bytes)?),
                (Encoding::Columnar, Compression::None) => columnar = Some(open(bytes)?),
                _ => {}
            }
        }
    }
    file(rows, Encoding::Columnar, Compression::None, false)?;
    let (plain, columnar) = (plain.ok_or("no file")?, columnar.ok_or("no file")?);
    let memory = read_memory();
    println!("\nmemory, 64-bit words: {memory:.2} GB/s");
    let (sum, seconds) = best(|| sum_of_column(&columnar))?;
    let speed = f64::from(rows) * 4.0 / seconds / 1e9;
    println!(
        "SUM(V1) = {sum:.1}: {:.2} ms, {speed:.2} GB/s decoded, {:.0} % of memory",
        seconds * 1e3,
        100.0 * speed / memory
    );
    for (name, reader) in [("COLUMNAR", &columnar), ("NONE", &plain)] {
        let (cells, seconds) = best(|| scan_cells(reader))?;
        println!("{name}: {cells} cells in {:.1} ms, {:.1} M/s", seconds * 1e3, cells as f64 / seconds / 1e6);
    }
    gets(&columnar, rows)
}

fn schema() -> TableSchema {
    let column = |name: &str| ColumnSchema {
        name: name.into(),
        family: "0".into(),
        qualifier: name.into(),
        sql_type: SqlType::Float,
        nullable: true,
        default_sql: None,
        default_value: None,
    };
    TableSchema {
        key: vec![KeyColumn {
            name: "PK".into(),
            sql_type: SqlType::Integer,
            order: SortOrder::Asc,
            nullable: false,
        }],
        columns: vec![column("V1"), column("V2")],
        declared: vec![ColumnRef::Key(0), ColumnRef::Column(0), ColumnRef::Column(1)],
        empty_family: "0".into(),
        empty_qualifier: b"_0".to_vec(),
        qualifier_next: 11,
        qualifier_bytes: 0,
        key_defaults: Default::default(),
        row_timestamp: None,
    }
}

fn file(rows: i32, encoding: Encoding, compression: Compression, typed: bool) -> Outcome<Vec<u8>> {
    let layout = typed.then(|| Arc::new(schema().family_layout("0")));
    let options =
        WriterOptions { encoding, compression, bloom: BloomKind::None, layout, ..WriterOptions::default() };
    let start = cpu_seconds()?;
    let mut writer = HFileWriter::new(Vec::new(), options)?;
    let mut random = 1;
    for number in 0..rows {
        let row = (number as u32 ^ 1 << 31).to_be_bytes();
        let batch = i64::from(number) / ROWS_PER_BATCH;
        let (v1, v2) = (encode_f32(random_float(&mut random)), encode_f32(random_float(&mut random)));
        for (qualifier, value) in [(&b"V1"[..], &v1[..]), (b"V2", &v2), (b"_0", b"x")] {
            writer.append(CellRef {
                row: &row,
                family: b"0",
                qualifier,
                timestamp: FIRST_BATCH_MS + batch * 25,
                cell_type: CellType::Put,
                value,
                seq: Seq(1 + batch as u64),
                tags: b"",
            })?;
        }
    }
    let bytes = writer.finish_into()?.1;
    let seconds = cpu_seconds()? - start;
    let name = if typed { encoding.name().to_owned() } else { format!("{encoding} bytes") };
    println!(
        "{name:<14} {:<5} {:>12} {:>10.3} {:>12.2}",
        compression.name(),
        bytes.len(),
        bytes.len() as f64 / f64::from(rows),
        f64::from(rows) / seconds / 1e6
    );
    Ok(bytes)
}

/// A number in 0..1 of SplitMix64, rounded from 64 bits as SQL's RAND() is.
fn random_float(state: &mut u64) -> f32 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^= z >> 31;
    ((z >> 11) as f64 / (1u64 << 53) as f64) as f32
}

fn open(bytes: Vec<u8>) -> Outcome<HFileReader> {
    Ok(HFileReader::open(Arc::new(MemoryFile::new("table", bytes)), ReadOptions::default())?)
}

/// A clock that stands still while other programs have the processor.
fn cpu_seconds() -> Outcome<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanos: u64 = text.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanos as f64 / 1e9)
}

fn best<T>(mut work: impl FnMut() -> Outcome<T>) -> Outcome<(T, f64)> {
    let mut least: Option<(T, f64)> = None;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let result = work()?;
        let seconds = start.elapsed().as_secs_f64();
        if least.as_ref().is_none_or(|(_, before)| seconds < *before) {
            least = Some((result, seconds));
        }
    }
    least.ok_or_else(|| "no round".into())
}

fn read_memory() -> f64 {
    let words = vec![1u64; 64 << 20];
    let mut least = f64::MAX;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        black_box(words.iter().fold(0u64, |sum, word| sum.wrapping_add(*word)));
        least = least.min(start.elapsed().as_secs_f64());
    }
    (words.len() * 8) as f64 / least / 1e9
}

fn sum_of_column(reader: &HFileReader) -> Outcome<f64> {
    let schema = schema();
    let mut decoder = RowDecoder::of_columns(&schema, &[ColumnRef::Column(0)]);
    let mut sum = 0.0;
    for index in 0..reader.block_count()? {
        let block = reader.open_block(index)?;
        let group = block.columns().ok_or("a block that is no row group")?;
        let column = group.column(b"V1").ok_or("the column is missing")?;
        group.load(false, &[column])?;
        for vector in 0..group.vectors() {
            decoder.push_vector(group, vector, &Mask::of_range(0..group.rows_of(vector)))?;
            if decoder.rows_ready() >= 8192 {
                sum += sum_of(decoder.finish_batch()?.column(0).as_primitive::<Float32Type>());
            }
        }
    }
    Ok(sum + sum_of(decoder.finish_batch()?.column(0).as_primitive::<Float32Type>()))
}

fn sum_of(array: &Float32Array) -> f64 {
    // Eight sums at once, so that the additions are not what is measured.
    let (chunks, rest) = array.values().as_chunks::<8>();
    let mut sums = [0f64; 8];
    for chunk in chunks {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += f64::from(*value);
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|value| f64::from(*value)).sum::<f64>()
}

fn scan_cells(reader: &HFileReader) -> Outcome<usize> {
    let mut cells = 0;
    for index in 0..reader.block_count()? {
        let block = reader.open_block(index)?;
        match block.columns() {
            Some(group) => {
                for vector in 0..group.vectors() {
                    cells += black_box(group.decode(vector..vector + 1)?).len();
                }
            }
            None => cells += black_box(block.decode()?).len(),
        }
    }
    Ok(cells)
}

fn gets(reader: &HFileReader, rows: i32) -> Outcome<()> {
    let blocks: Vec<EncodedBlock> =
        (0..reader.block_count()?).map(|index| reader.read_encoded_block(index)).collect::<Result<_, _>>()?;
    let (mut random, mut nanos) = (7, Vec::new());
    for round in 0..20_000 {
        let number = (f64::from(random_float(&mut random)) * f64::from(rows)) as u32;
        let row = (number ^ 1 << 31).to_be_bytes();
        let start = Instant::now();
        let index = reader.find_block(&row)?.ok_or("the row is missing")?;
        let cells = blocks[index].decode_row(&row)?.len();
        if round >= 10_000 {
            nanos.push(start.elapsed().as_nanos());
        }
        assert_eq!(cells, 3);
    }
    nanos.sort_unstable();
    println!("get: p50 {} ns, p99 {} ns", nanos[nanos.len() / 2], nanos[nanos.len() * 99 / 100]);
    Ok(())
}
