// SPDX-License-Identifier: Apache-2.0
//! `write_matrix DIR [SEED]`: writes random store files in every encoding with every codec, and beside each what
//! Basalt finds in it: the cells (`.tsv`), seeks (`.seeks`) and answers of the Bloom filters (`.blooms`).
//! tests/hbase then has real HBase read them all. The same seed writes the same files.

mod answers;
mod cells;
mod chance;
mod plan;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_hfile::{HFileReader, HFileWriter, MemoryFile, ReadOptions};
use basalt_model::CellRef;

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
    for cell in &cells {
        let tags: &[u8] = if options.with_tags { &cell.tags } else { b"" };
        writer.append(CellRef { tags, ..cell.borrow() })?;
    }
    writer.finish()?;
    let save = |suffix: &str, content: &[u8]| fs::write(dir.join(format!("{}.{suffix}", plan.name)), content);
    save("hfile", &file)?;
    save("tsv", answers::tsv(&cells, options.with_seq, options.with_tags).as_bytes())?;

    let reader =
        HFileReader::open(Arc::new(MemoryFile::new(plan.name.as_str(), file)), ReadOptions::default())?;
    save("seeks", answers::seeks(&reader, &cells, &mut chance)?.as_bytes())?;
    save("blooms", answers::blooms(&reader, &cells, &mut chance)?.as_bytes())?;
    Ok(())
}
