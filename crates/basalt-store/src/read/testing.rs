// SPDX-License-Identifier: Apache-2.0
//! Cells by value and the blocks made of them, for the tests of this crate.

use std::path::PathBuf;
use std::sync::Arc;

use basalt_hfile::{CellBlock, CellRun, CellSlot, Encoding, HFileWriter, WriterOptions};
use basalt_model::{CellRef, CellType, Seq};
use bytes::Bytes;

use super::{BlockCache, Keep, ReadAccess, ReadCounters, StoreFile};
use crate::env::Env;
use crate::env::sim::SimStorage;
use crate::{FileId, FileMeta};

/// A cell by value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) row: Vec<u8>,
    pub(crate) family: Vec<u8>,
    pub(crate) qualifier: Vec<u8>,
    pub(crate) timestamp: i64,
    pub(crate) cell_type: CellType,
    pub(crate) value: Vec<u8>,
    pub(crate) seq: u64,
}

impl Cell {
    pub(crate) fn put(row: &str, qualifier: &str, timestamp: i64, seq: u64) -> Self {
        Self {
            row: row.into(),
            family: b"f".to_vec(),
            qualifier: qualifier.into(),
            timestamp,
            cell_type: CellType::Put,
            value: format!("{seq}").into_bytes(),
            seq,
        }
    }

    pub(crate) fn marker(row: &str, qualifier: &str, timestamp: i64, cell_type: CellType, seq: u64) -> Self {
        let value = Vec::new();
        let family_wide = matches!(cell_type, CellType::DeleteFamily | CellType::DeleteFamilyVersion);
        let qualifier = if family_wide { "" } else { qualifier };
        Self { cell_type, value, ..Self::put(row, qualifier, timestamp, seq) }
    }

    pub(crate) fn of(cell: CellRef<'_>) -> Self {
        Self {
            row: cell.row.to_vec(),
            family: cell.family.to_vec(),
            qualifier: cell.qualifier.to_vec(),
            timestamp: cell.timestamp,
            cell_type: cell.cell_type,
            value: cell.value.to_vec(),
            seq: cell.seq.0,
        }
    }

    pub(crate) fn borrow(&self) -> CellRef<'_> {
        CellRef {
            row: &self.row,
            family: &self.family,
            qualifier: &self.qualifier,
            timestamp: self.timestamp,
            cell_type: self.cell_type,
            value: &self.value,
            seq: Seq(self.seq),
            tags: b"",
        }
    }
}

/// Sorts cells as a store file holds them.
pub(crate) fn sorted(mut cells: Vec<Cell>) -> Vec<Cell> {
    cells.sort_by(|a, b| a.borrow().compare(&b.borrow()));
    cells
}

/// A block of these cells, which are in key order.
pub(crate) fn block(cells: &[Cell]) -> CellBlock {
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    let mut block = CellBlock { plain: true, ..CellBlock::default() };
    for (i, cell) in cells.iter().enumerate() {
        let previous = i.checked_sub(1).map(|i| &cells[i]);
        if previous.is_none_or(|previous| previous.row != cell.row) {
            block.row_starts.push(i as u32);
        } else if previous.is_some_and(|previous| previous.qualifier == cell.qualifier) {
            block.plain = false;
        }
        block.plain &= !cell.cell_type.is_delete();
        block.slots.push(CellSlot {
            key: keys.len() as u32,
            value: values.len() as u32,
            value_len: cell.value.len() as u32,
            qualifier_len: cell.qualifier.len() as u32,
            tags: 0,
            tags_len: 0,
            row_len: cell.row.len() as u16,
            family_len: cell.family.len() as u8,
            cell_type: cell.cell_type,
            timestamp: cell.timestamp,
            seq: Seq(cell.seq),
        });
        keys.extend_from_slice(&(cell.row.len() as u16).to_be_bytes());
        keys.extend_from_slice(&cell.row);
        keys.push(cell.family.len() as u8);
        keys.extend_from_slice(&cell.family);
        keys.extend_from_slice(&cell.qualifier);
        keys.extend_from_slice(&cell.timestamp.to_be_bytes());
        keys.push(cell.cell_type.code());
        values.extend_from_slice(&cell.value);
    }
    (block.keys, block.values) = (Bytes::from(keys), Bytes::from(values));
    block
}

/// The cells, in key order, as runs of whole blocks of `block_cells` cells.
pub(crate) fn runs(cells: &[Cell], block_cells: usize) -> Vec<CellRun> {
    let run = |cells: &[Cell]| CellRun { block: Arc::new(block(cells)), cells: 0..cells.len() };
    cells.chunks(block_cells).map(run).collect()
}

/// The cells of runs, by value.
pub(crate) fn cells_of(runs: &[CellRun]) -> Vec<Cell> {
    runs.iter().flat_map(|run| run.cells.clone().map(|i| Cell::of(run.block.cell(i)))).collect()
}

/// An environment with a file system in memory.
pub(crate) fn memory_env() -> Env {
    Env::with_storage(Arc::new(SimStorage::new(0)))
}

/// Writes cells, in key order, as a store file with small blocks.
pub(crate) fn store_file(env: &Env, id: u64, cells: &[Cell]) -> Arc<StoreFile> {
    encoded_file(env, id, cells, Encoding::None)
}

/// The same in any encoding.
pub(crate) fn encoded_file(env: &Env, id: u64, cells: &[Cell], encoding: Encoding) -> Arc<StoreFile> {
    file_of(env, id, cells, WriterOptions { block_bytes: 256, encoding, ..WriterOptions::default() })
}

/// Writes cells, in key order, as a store file.
pub(crate) fn file_of(env: &Env, id: u64, cells: &[Cell], options: WriterOptions) -> Arc<StoreFile> {
    let path = PathBuf::from(format!("/{id}"));
    let mut file = env.storage.create(&path).expect("memory does not fail");
    let mut writer = HFileWriter::new(&mut file, options).expect("the options are valid");
    for cell in cells {
        writer.append(cell.borrow()).expect("the cells are sorted");
    }
    let written = writer.finish().expect("memory does not fail");
    let seqs = || cells.iter().map(|cell| Seq(cell.seq));
    let meta = FileMeta {
        id: FileId(id),
        size_bytes: written.size_bytes,
        cells: written.cells,
        rows: written.rows,
        deletes: written.deletes,
        raw_bytes: written.raw_bytes,
        first_row: written.first_row,
        last_row: written.last_row,
        timestamp_min: written.timestamp_min,
        timestamp_max: written.timestamp_max,
        seq_min: seqs().min().unwrap_or_default(),
        seq_max: seqs().max().unwrap_or_default(),
        own_ttl: None,
        seq_override: None,
        created_ms: 0,
        dir: None,
        part: None,
    };
    Arc::new(StoreFile::new(env.clone(), path, "T".into(), meta))
}

/// Access through a cache of some blocks.
pub(crate) fn access() -> ReadAccess {
    let counters = Arc::new(ReadCounters::default());
    ReadAccess { cache: Arc::new(BlockCache::new(1 << 20)), keep: Keep::Decoded, columns: None, counters }
}
