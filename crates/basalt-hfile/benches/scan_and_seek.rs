// SPDX-License-Identifier: Apache-2.0
//! How fast are writing, scanning and point reads, per encoding and codec, on one thread?
//!
//! `cargo bench -p basalt-hfile --bench scan_and_seek [-- ROWS]`; 1048576 rows are 4,194,304 cells. The table: rows of a 4-byte
//! integer key and four cells as Phoenix lays them out (the empty column and three columns, two of random floats and one of few
//! values). Times are CPU time of the thread, the best of three; sizes and counts are exact.
//!
//! - `scan`: every block as cells, with a slot for each ([`HFileReader::read_block`]): what the store reads.
//! - `rows`: every block as runs of rows ([`HFileReader::read_rows`]), and every cell of them looked at.
//! - `seek enc`: find the block, take one row out of the cached, still encoded block.
//! - `seek dec`: the same from the cached, decoded block.
//! - `seek cold`: the same from the file in memory: checksum, decompression and one row.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use basalt_hfile::{
    CellBlock, Compression, EncodedBlock, Encoding, HFileReader, HFileWriter, MemoryFile, ReadOptions,
    WriterOptions,
};
use basalt_model::{CellRef, CellType, Seq};

const ROWS_DEFAULT: u32 = 250_000;
const SEEKS: usize = 20_000;
const QUALIFIERS: [&[u8]; 4] = [b"V1", b"V2", b"V3", b"_0"];

fn main() {
    let rows = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(ROWS_DEFAULT);
    println!(
        "{:<14}{:<8}{:>9}{:>12}{:>12}{:>12}{:>10}{:>11}{:>11}{:>11}",
        "encoding",
        "codec",
        "bytes/row",
        "write Mc/s",
        "scan Mc/s",
        "rows Mc/s",
        "raw MB/s",
        "seek enc",
        "seek dec",
        "seek cold"
    );
    for compression in
        [Compression::None, Compression::Lz4, Compression::Snappy, Compression::Zstd, Compression::Gz]
    {
        for encoding in Encoding::ALL {
            measure(encoding, compression, rows);
        }
    }
}

/// CPU time of this thread in nanoseconds, so that other work on the machine does not count.
fn cpu_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    stat.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0)
}

fn best_ns(mut work: impl FnMut()) -> u64 {
    let time = |work: &mut dyn FnMut()| {
        let (cpu, wall) = (cpu_ns(), Instant::now());
        work();
        match cpu_ns() - cpu {
            0 => wall.elapsed().as_nanos() as u64,
            ns => ns,
        }
    };
    (0..3).map(|_| time(&mut work)).min().unwrap_or(u64::MAX).max(1)
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Phoenix's form of an integer key: big-endian, sign bit flipped.
fn key(row: u32) -> [u8; 4] {
    (row ^ 0x8000_0000).to_be_bytes()
}

fn write(encoding: Encoding, compression: Compression, rows: u32) -> Vec<u8> {
    let options = WriterOptions { encoding, compression, ..Default::default() };
    let mut writer =
        HFileWriter::new(Vec::with_capacity(rows as usize * 160), options).expect("valid options");
    let mut state = 7;
    for row in 0..rows {
        let floats = [random(&mut state) as u32, random(&mut state) as u32, row % 16].map(u32::to_be_bytes);
        let values: [&[u8]; 4] = [&floats[0], &floats[1], &floats[2], b"x"];
        for (qualifier, value) in QUALIFIERS.into_iter().zip(values) {
            let cell = CellRef {
                row: &key(row),
                family: b"0",
                qualifier,
                timestamp: 1_700_000_000_000 + i64::from(row / 1000),
                cell_type: CellType::Put,
                value,
                seq: Seq(0),
                tags: b"",
            };
            writer.append(cell).expect("in order");
        }
    }
    writer.finish_into().expect("memory does not fail").1
}

fn measure(encoding: Encoding, compression: Compression, rows: u32) {
    let mut bytes = Vec::new();
    let write_ns = best_ns(|| bytes = write(encoding, compression, rows));
    let size = bytes.len();
    let file = Arc::new(MemoryFile::new("bench", bytes));
    let reader = HFileReader::open(file, ReadOptions::default()).expect("just written");
    let blocks = reader.block_count().expect("just written");
    let cells = u64::from(rows) * 4;
    let mut raw_bytes = 0;
    let scan_ns = best_ns(|| {
        let mut seen = 0;
        raw_bytes = 0;
        for index in 0..blocks {
            let block = black_box(reader.read_block(index).expect("sound"));
            seen += block.len() as u64;
            raw_bytes +=
                block.slots.iter().map(|slot| 20 + 4 + 1 + 2 + u64::from(slot.value_len)).sum::<u64>();
        }
        assert_eq!(seen, cells);
    });
    let rows_ns = best_ns(|| {
        let (mut seen, mut sum) = (0, 0);
        for index in 0..blocks {
            let block = reader.read_rows(index).expect("sound");
            sum = block.fold_cells(sum, |sum, cell| sum + look_at(cell));
            seen += block.len() as u64;
        }
        black_box(sum);
        assert_eq!(seen, cells);
    });
    let encoded: Vec<EncodedBlock> =
        (0..blocks).map(|index| reader.read_encoded_block(index).expect("sound")).collect();
    let decoded: Vec<CellBlock> = encoded.iter().map(|block| block.decode().expect("sound")).collect();
    let from_encoded = p50_ns(rows, &reader, |block, row| {
        let found = encoded[block].decode_row(row).expect("sound");
        assert_eq!(found.cell(0).row, row);
        black_box(found.slots[0].value_len);
    });
    let from_decoded = p50_ns(rows, &reader, |block, row| {
        let at = decoded[block].lower_bound_row(row);
        assert_eq!(decoded[block].row(at), row);
        black_box(decoded[block].cell(at).value.len());
    });
    let from_file = p50_ns(rows, &reader, |block, row| {
        black_box(reader.read_encoded_block(block).expect("sound").decode_row(row).expect("sound"));
    });
    println!(
        "{:<14}{:<8}{:>9.1}{:>12.1}{:>12.1}{:>12.1}{:>10.0}{:>8.2} us{:>8.2} us{:>8.2} us",
        encoding.name(),
        compression.name(),
        size as f64 / f64::from(rows),
        cells as f64 * 1e3 / write_ns as f64,
        cells as f64 * 1e3 / scan_ns as f64,
        cells as f64 * 1e3 / rows_ns as f64,
        raw_bytes as f64 * 1e3 / rows_ns as f64,
        from_encoded as f64 / 1e3,
        from_decoded as f64 / 1e3,
        from_file as f64 / 1e3,
    );
}

/// Something of each part of a cell that is read in place.
#[inline(always)]
fn look_at(cell: &CellRef<'_>) -> i64 {
    let last = |bytes: &[u8]| bytes.last().map_or(0, |&byte| i64::from(byte));
    (cell.timestamp ^ cell.value.len() as i64) + last(cell.row) + last(cell.qualifier) + last(cell.value)
}

/// Median time to find the block of a random row and read from it. The few rows that lie across two blocks count
/// with what the first of them holds.
fn p50_ns(rows: u32, reader: &HFileReader, mut read: impl FnMut(usize, &[u8])) -> u64 {
    let mut state = 99;
    let mut times: Vec<u64> = (0..SEEKS)
        .map(|_| {
            let row = key((random(&mut state) % u64::from(rows)) as u32);
            let start = Instant::now();
            let block = reader.find_block(&row).expect("sound").expect("the row is in the file");
            read(block, &row);
            start.elapsed().as_nanos() as u64
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2]
}
