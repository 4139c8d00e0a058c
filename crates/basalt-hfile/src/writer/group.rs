// SPDX-License-Identifier: Apache-2.0
//! Blocks of COLUMNAR: cells are gathered until they fill a row group, which becomes one columnar block, or, if it
//! is irregular, blocks written cell by cell.

use std::sync::Arc;

use basalt_model::{CellRef, FamilyLayout};

use super::{HFileWriter, LastKey};
use crate::block::{BlockKind, HEADER_LEN};
use crate::columnar::{self, Group, Seal};
use crate::compression::{Compression, Compressor};
use crate::encoding::raw_cells::raw_cell_len;
use crate::encoding::{CellStep, Encoding, encoded_len_max};
use crate::error::{Error, Result};
use crate::file::FileWrite;
use crate::index::separator;
use crate::key::FlatKey;
use crate::options::WriterOptions;

/// The rows gathered so far, and how they are written.
pub(super) struct GroupWriter {
    group: Group,
    layout: Option<Arc<FamilyLayout>>,
    codec: Option<Compressor>,
    seal: Seal,
    rows_max: usize,
    bytes_max: usize,
}

impl GroupWriter {
    /// `None` for other encodings.
    pub(super) fn try_new(options: &WriterOptions) -> Result<Option<Self>> {
        if options.encoding != Encoding::Columnar {
            return Ok(None);
        }
        let codec = match options.compression {
            Compression::None => None,
            codec => {
                let compressor = Compressor::new(codec, options.compression_level);
                let io = |source| Error::Io { file: "being written".into(), offset: 0, source };
                Some(compressor.map_err(io)?)
            }
        };
        Ok(Some(Self {
            group: Group::new(false),
            layout: options.layout.clone(),
            codec,
            seal: Seal::of_file(options.file_number, options.create_time_ms),
            rows_max: options.block_rows as usize,
            bytes_max: options.columnar_bytes(),
        }))
    }

    /// Bytes that the group will come to, about.
    pub(super) fn size_bytes(&self) -> usize {
        self.group.size_bytes() / 2
    }
}

impl<W: FileWrite> HFileWriter<W> {
    /// Adds a cell to the group; `divides` if it may begin a block.
    pub(super) fn append_to_group(&mut self, cell: &CellRef<'_>, new_row: bool, divides: bool) -> Result<()> {
        let writer = self.groups.as_ref().expect("the encoding is COLUMNAR");
        if divides && writer.group.is_full(cell, new_row, writer.rows_max, writer.bytes_max) {
            self.finish_group(!new_row)?;
        }
        if self.groups.as_ref().is_some_and(|writer| writer.group.is_empty()) {
            let first = FlatKey::of(cell);
            self.block_key =
                if self.stats.cells == 0 { first.to_vec() } else { separator(&self.last_key.key(), &first) };
        }
        self.last_key.set(cell, new_row);
        let writer = self.groups.as_mut().expect("the encoding is COLUMNAR");
        writer.group.push(cell, new_row);
        let raw_len = raw_cell_len(cell, self.layout);
        self.stats.add(cell, self.last_key.bytes(), raw_len, new_row);
        Ok(())
    }

    /// Writes the group, if there are cells in one. `continues` if the next cell is of the same row.
    pub(super) fn finish_group(&mut self, continues: bool) -> Result<()> {
        let Some(writer) = self.groups.as_mut().filter(|writer| !writer.group.is_empty()) else {
            return Ok(());
        };
        let group = std::mem::replace(&mut writer.group, Group::new(continues));
        if continues || !group.is_regular() {
            return self.write_by_cell(&group);
        }
        let (seal, offset) = (writer.seal, self.sink.offset());
        self.block.truncate(0);
        let mut block = self.block.take_vec();
        block.resize(HEADER_LEN, 0);
        let layout = writer.layout.as_deref();
        columnar::encode(&group, layout, &mut writer.codec, (seal, offset), &mut block);
        let put_seal = |block: &mut [u8]| columnar::seal(block, seal, offset);
        let pointer = self.sink.write_sealed_block(BlockKind::ColumnarData, &mut block, put_seal)?;
        self.block.take_back(block);
        self.add_data_block(pointer)?;
        self.start_block();
        Ok(())
    }

    fn write_by_cell(&mut self, group: &Group) -> Result<()> {
        self.start_block();
        let mut last: Option<LastKey> = None;
        group.for_each(|cell| {
            let step = last.as_ref().map(|last| CellStep::between(&last.key(), &cell));
            if let Some(last) = &last
                && step.as_ref().is_some_and(|step| step.order.is_ne())
                && self.block_is_full()
            {
                self.finish_block()?;
                self.block_key = separator(&last.key(), &FlatKey::of(&cell));
            }
            let key = last.get_or_insert_default();
            key.set(&cell, step.as_ref().is_none_or(|step| step.new_row));
            let in_block = step.as_ref().filter(|_| self.block_cells > 0);
            self.block.reserve(encoded_len_max(&cell, key.bytes()));
            self.encoder.append(&cell, key.bytes(), in_block, &mut self.block);
            self.block_raw_bytes += raw_cell_len(&cell, self.layout);
            self.block_cells += 1;
            Ok(())
        })?;
        self.finish_block()
    }
}
