// SPDX-License-Identifier: Apache-2.0
//! Speed of reading and writing store files on one thread, the counterpart of `ScanBench` in tests/hbase.
//!
//! ```text
//! scan_bench make CELLS ENCODING CODEC FILE           writes the table of `table.rs`
//! scan_bench run [--rounds N] [--seeks N] [--write-cells N] FILE...
//! ```
//!
//! `run` prints one line of JSON a file:
//! * scan: every cell of the file; of each go into a sum its timestamp, the length of its value, and the last bytes of row,
//!   qualifier and value, so that none of them can be left unread. Blocks come from the operating system's cache
//!   and are verified, decompressed and decoded each time; the thread's processor time per round. `ScanBench` makes the same
//!   sum of HBase's cells, and `table.py` compares them;
//! * seek: a random row found through the index and the value of its first cell read, all blocks in memory,
//!   verified and decompressed but not decoded; percentiles of as many seeks as warmed up before;
//! * write: the file's first blocks, as the reader has them in memory (runs of rows), written to a new file with the same options.

mod table;

use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use basalt_hfile::{
    BloomKind, Compression, Encoding, FlatKey, HFileReader, HFileWriter, LocalFile, ReadOptions, RowBlock,
    WriterOptions,
};
use basalt_model::CellRef;

/// The allocator of the `basalt` program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["make", cells, encoding, codec, path] => make(cells.parse()?, encoding, codec, Path::new(path)),
        ["run", ref rest @ ..] => run(rest),
        _ => {
            Err("usage: scan_bench make CELLS ENCODING CODEC FILE | scan_bench run [OPTIONS] FILE...".into())
        }
    }
}

fn options(encoding: Encoding, compression: Compression) -> WriterOptions {
    WriterOptions { encoding, compression, bloom: BloomKind::Row, ..WriterOptions::default() }
}

fn make(cells: u64, encoding: &str, codec: &str, path: &Path) -> Outcome<()> {
    let encoding = Encoding::from_name(encoding).ok_or_else(|| format!("there is no encoding {encoding}"))?;
    let codec = Compression::from_name(codec).ok_or_else(|| format!("there is no codec {codec}"))?;
    let mut writer = HFileWriter::new(File::create(path)?, options(encoding, codec))?;
    table::write(&mut writer, cells)?;
    writer.finish()?;
    Ok(())
}

/// How much to measure.
struct Effort {
    rounds: usize,
    seeks: usize,
    write_cells: usize,
}

fn run(arguments: &[&str]) -> Outcome<()> {
    let mut effort = Effort { rounds: 5, seeks: 100_000, write_cells: 1_000_000 };
    let mut rest = arguments.iter();
    while let Some(&argument) = rest.next() {
        let mut number = || rest.next().ok_or("a number is missing")?.parse().map_err(Box::<dyn Error>::from);
        match argument {
            "--rounds" => effort.rounds = number()?,
            "--seeks" => effort.seeks = number()?,
            "--write-cells" => effort.write_cells = number()?,
            path => println!("{}", measure(Path::new(path), &effort)?),
        }
    }
    Ok(())
}

fn measure(path: &Path, effort: &Effort) -> Outcome<String> {
    let reader = HFileReader::open(Arc::new(LocalFile::open(path)?), ReadOptions::default())?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let size = reader.size_bytes();
    let sum = scan(&reader)?;
    let scans = times(effort.rounds, || scan(&reader).map(drop))?;
    let mut line = format!(
        r#"{{"by":"basalt","file":"{name}","size_bytes":{size},"cells":{},"sum":{sum}"#,
        reader.cells()
    );
    line += &format!(r#","raw_bytes":{},"scan_s":{scans:?}"#, raw_bytes(&reader)?);
    if effort.write_cells > 0 {
        let blocks = first_blocks(&reader, effort.write_cells)?;
        let cells: usize = blocks.iter().map(RowBlock::len).sum();
        let writes = times(effort.rounds, || write(&reader, &blocks))?;
        line += &format!(r#","write_cells":{cells},"write_s":{writes:?}"#);
    }
    if effort.seeks > 0 {
        let [p50, p90, p99] = seek(&reader, effort.seeks)?;
        line += &format!(r#","seek_ns":{{"p50":{p50},"p90":{p90},"p99":{p99}}}"#);
    }
    Ok(line + "}")
}

/// The least time of a round: the clock below is exact to a tick of the scheduler, up to 4 ms.
const ROUND_SECONDS: f64 = 0.4;

/// Seconds of this thread on a processor for one run, in each of `rounds` rounds of some runs.
fn times(rounds: usize, mut work: impl FnMut() -> Outcome<()>) -> Outcome<Vec<f64>> {
    work()?;
    let start = cpu_seconds()?;
    work()?;
    let runs = (ROUND_SECONDS / (cpu_seconds()? - start).max(0.004)).ceil() as usize;
    let mut seconds = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let start = cpu_seconds()?;
        for _ in 0..runs {
            work()?;
        }
        seconds.push((cpu_seconds()? - start) / runs as f64);
    }
    Ok(seconds)
}

/// A clock that stands still while other programs have the processor.
fn cpu_seconds() -> Outcome<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let nanos: u64 = text.split(' ').next().unwrap_or_default().parse()?;
    Ok(nanos as f64 / 1e9)
}

/// The sum over all cells.
fn scan(reader: &HFileReader) -> Outcome<i64> {
    let (mut cells, mut sum) = (0, 0);
    for index in 0..reader.block_count()? {
        let block = reader.read_rows(index)?;
        sum = block.fold_cells(sum, |sum, cell| sum + summand(cell));
        cells += block.len() as u64;
    }
    if cells != reader.cells() {
        return Err(format!("scanned {cells} cells of {}", reader.cells()).into());
    }
    Ok(black_box(sum))
}

#[inline(always)]
fn summand(cell: &CellRef<'_>) -> i64 {
    let last = |bytes: &[u8]| bytes.last().map_or(0, |&byte| i64::from(byte));
    (cell.timestamp ^ cell.value.len() as i64) + last(cell.row) + last(cell.qualifier) + last(cell.value)
}

/// Bytes of all cells in HBase's plain form, without sequence numbers: what "raw MB/s" counts.
fn raw_bytes(reader: &HFileReader) -> Outcome<u64> {
    let mut bytes = 0;
    for index in 0..reader.block_count()? {
        reader.read_rows(index)?.for_each_cell(|cell| {
            bytes +=
                (20 + cell.row.len() + cell.family.len() + cell.qualifier.len() + cell.value.len()) as u64;
        });
    }
    Ok(bytes)
}

/// Blocks from the first on that come to `cells` cells, or a few more.
fn first_blocks(reader: &HFileReader, cells: usize) -> Outcome<Vec<RowBlock>> {
    let (mut blocks, mut count) = (Vec::new(), 0);
    for index in 0..reader.block_count()? {
        if count >= cells {
            break;
        }
        blocks.push(reader.read_rows(index)?);
        count += blocks.last().map_or(0, RowBlock::len);
    }
    Ok(blocks)
}

fn write(reader: &HFileReader, blocks: &[RowBlock]) -> Outcome<()> {
    let path = temporary();
    let options = options(reader.encoding(), reader.trailer().compression);
    let mut writer = HFileWriter::new(File::create(&path)?, options)?;
    for block in blocks {
        writer.append_block(block)?;
    }
    writer.finish()?;
    std::fs::remove_file(&path)?;
    Ok(())
}

fn temporary() -> PathBuf {
    std::env::temp_dir().join(format!("basalt-scan-bench-{}.hfile", std::process::id()))
}

fn seek(reader: &HFileReader, seeks: usize) -> Outcome<[u64; 3]> {
    let (mut rows, mut blocks) = (Vec::new(), Vec::new());
    for index in 0..reader.block_count()? {
        let block = reader.read_block(index)?;
        rows.extend((0..block.len()).step_by(64).map(|at| block.row(at).to_vec()));
        blocks.push(reader.read_encoded_block(index)?);
    }
    let mut random = 1_u64;
    let mut nanos = Vec::with_capacity(seeks);
    for round in 0..2 * seeks {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let row = &rows[(random >> 33) as usize % rows.len()];
        let start = Instant::now();
        let mut index = reader.find_block(row)?.ok_or("a row that is there was not found")?;
        let key = FlatKey::first_of_row(row);
        let mut cursor = blocks[index].cursor()?;
        while !cursor.seek(&key)? {
            index += 1;
            cursor = blocks[index].cursor()?;
        }
        black_box(cursor.cell().ok_or("the cursor is nowhere")?.value.first());
        if round >= seeks {
            nanos.push(u64::try_from(start.elapsed().as_nanos())?);
        }
    }
    nanos.sort_unstable();
    Ok([50, 90, 99].map(|percent| nanos[(seeks - 1) * percent / 100]))
}
