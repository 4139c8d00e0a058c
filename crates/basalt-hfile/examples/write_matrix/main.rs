// SPDX-License-Identifier: Apache-2.0
//! `write_matrix DIR [SEED]`: writes random store files in every encoding with every codec, and beside each what
//! Basalt finds in it: the cells (`.tsv`), seeks (`.seeks`) and answers of the Bloom filters (`.blooms`).
//! tests/hbase then has real HBase read them all. The same seed writes the same files.
//!
//! Cells go in one by one, but regular rows as the runs that a reader makes of another file: `append_block`.

mod answers;
mod cells;
mod chance;
mod plan;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_hfile::{
    Compression, Encoding, FileWrite, HFileReader, HFileWriter, MemoryFile, ReadOptions, RowPart,
    WriterOptions,
};
use basalt_model::CellRef;

use cells::{Kind, OwnedCell};
use chance::Chance;
use plan::Plan;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let dir = PathBuf::from(arguments.next().ok_or("usage: write_matrix DIR [SEED]")?);
    let seed = arguments.next().map_or(Ok(1), |seed| seed.parse())?;
    fs::create_dir_all(&dir)?;
    let plans = plan::plans(seed);
    for plan in &plans {
        write(&dir, plan, seed).map_err(|error| format!("{}: {error}", plan.name))?;
    }
    println!("{} files of seed {seed} in {}", plans.len(), dir.display());
    Ok(())
}

fn write(dir: &Path, plan: &Plan, seed: u64) -> Result<(), Box<dyn Error>> {
    let mut chance = Chance::new(seed, &plan.name);
    let options = &plan.options;
    let cells = cells::cells(plan.kind, options.with_seq, &mut chance);

    let mut file = Vec::new();
    let mut writer = HFileWriter::new(&mut file, options.clone())?;
    match plan.kind {
        Kind::Regular => append_runs(&mut writer, options, &cells, &mut chance)?,
        _ => append_cells(&mut writer, options, &cells)?,
    }
    writer.finish()?;
    let save = |suffix: &str, content: &[u8]| fs::write(dir.join(format!("{}.{suffix}", plan.name)), content);
    save("hfile", &file)?;
    save("tsv", answers::tsv(&cells, options.with_seq, options.with_tags).as_bytes())?;

    let reader = open(&plan.name, file)?;
    save("seeks", answers::seeks(&reader, &cells, &mut chance)?.as_bytes())?;
    save("blooms", answers::blooms(&reader, &cells, &mut chance)?.as_bytes())?;
    Ok(())
}

fn open(name: &str, file: Vec<u8>) -> Result<HFileReader, Box<dyn Error>> {
    Ok(HFileReader::open(Arc::new(MemoryFile::new(name, file)), ReadOptions::default())?)
}

fn append_cells<W: FileWrite>(
    writer: &mut HFileWriter<W>,
    options: &WriterOptions,
    cells: &[OwnedCell],
) -> Result<(), Box<dyn Error>> {
    for cell in cells {
        let tags: &[u8] = if options.with_tags { &cell.tags } else { b"" };
        writer.append(CellRef { tags, ..cell.borrow() })?;
    }
    Ok(())
}

/// The blocks of a file with these cells, of any encoding.
fn append_runs<W: FileWrite>(
    writer: &mut HFileWriter<W>,
    options: &WriterOptions,
    cells: &[OwnedCell],
    chance: &mut Chance,
) -> Result<(), Box<dyn Error>> {
    let encoding = chance.pick(&Encoding::OF_HBASE);
    let options =
        WriterOptions { encoding, compression: Compression::None, block_bytes: 20_000, ..options.clone() };
    let mut file = Vec::new();
    let mut source = HFileWriter::new(&mut file, options.clone())?;
    append_cells(&mut source, &options, cells)?;
    source.finish()?;
    let source = open("the source of runs", file)?;
    let mut rows_in_runs = 0;
    for index in 0..source.block_count()? {
        let block = source.read_rows(index)?;
        let rows = block.parts().map(|part| if let RowPart::Rows(rows) = part { rows.len() } else { 0 });
        rows_in_runs += rows.sum::<usize>();
        writer.append_block(&block)?;
    }
    match rows_in_runs {
        0..500 => Err(format!("only {rows_in_runs} rows came in runs").into()),
        _ => Ok(()),
    }
}
