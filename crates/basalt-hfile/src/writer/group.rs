// SPDX-License-Identifier: Apache-2.0
//! Blocks of COLUMNAR: cells are gathered until they fill a row group, which becomes one columnar block, or, if it
//! is irregular, blocks written cell by cell.
//!
//! Encoding a row group is most of the work of writing one. A caller that has threads lends them ([`Background`]): then some groups
//! are encoded while the next one gathers. They are written in their order, and get their checksums, which depend on the place in
//! the file, then.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use basalt_model::{CellRef, FamilyLayout};

use super::{HFileWriter, LastKey};
use crate::block::{BlockKind, HEADER_LEN};
use crate::bloom::BloomKind;
use crate::columnar::{self, COLUMNS_MAX, ColumnBatch, EncodedGroup, Group, Seal, Sketches};
use crate::compression::{Compression, Compressor};
use crate::encoding::raw_cells::raw_cell_len;
use crate::encoding::{CellStep, Encoding, encoded_len_max};
use crate::error::{Error, Result};
use crate::file::FileWrite;
use crate::index::separator;
use crate::key::FlatKey;
use crate::options::WriterOptions;
use crate::varint::vlong_len;

/// Bytes of a block besides its sections, mostly.
const ROOM: usize = 1 << 14;
/// Level of ZSTD where no other is given: HBase's.
const ZSTD_LEVEL: i32 = 3;

/// Threads that a writer may use.
pub trait Background: Debug + Send + Sync {
    /// Runs a job beside the caller. If it cannot, it drops the job.
    fn run(&self, job: Box<dyn FnOnce() + Send>);

    /// How many jobs may be under way at once, at least one.
    fn jobs(&self) -> usize;
}

/// A block that is being encoded.
struct Pending {
    block_key: Vec<u8>,
    /// Bytes that it will come to, about.
    size_bytes: usize,
    encoded: Receiver<(EncodedGroup, Option<Compressor>)>,
}

/// The rows gathered so far, and how they are written.
pub(super) struct GroupWriter {
    group: Group,
    layout: Option<Arc<FamilyLayout>>,
    codec: Compression,
    codec_level: Option<i32>,
    /// Compressors that no job has.
    compressors: Vec<Compressor>,
    seal: Seal,
    rows_max: usize,
    bytes_max: usize,
    background: Option<Arc<dyn Background>>,
    /// Of all groups so far.
    sketches: Sketches,
    /// In the order of the file.
    pending: VecDeque<Pending>,
}

impl GroupWriter {
    /// `None` for other encodings.
    pub(super) fn try_new(options: &WriterOptions) -> Result<Option<Self>> {
        if options.encoding != Encoding::Columnar {
            return Ok(None);
        }
        let default_level = (options.compression == Compression::Zstd).then_some(ZSTD_LEVEL);
        Ok(Some(Self {
            group: Group::new(false),
            layout: options.layout.clone(),
            codec: options.compression,
            codec_level: options.compression_level.or(default_level),
            compressors: Vec::new(),
            seal: Seal::of_file(options.file_number, options.create_time_ms),
            rows_max: options.block_rows as usize,
            bytes_max: options.columnar_bytes(),
            background: None,
            sketches: Sketches::default(),
            pending: VecDeque::new(),
        }))
    }

    /// Bytes that the group will come to, about.
    pub(super) fn size_bytes(&self) -> usize {
        self.group.size_bytes() / 2 + self.pending.iter().map(|pending| pending.size_bytes).sum::<usize>()
    }

    /// How many different values there are in the groups that were written, as an entry of the file info.
    pub(super) fn sketches(&self) -> Option<Vec<u8>> {
        self.sketches.encode()
    }

    /// A compressor for a job, if the family has a codec.
    fn compressor(&mut self) -> Result<Option<Compressor>> {
        if self.codec == Compression::None {
            return Ok(None);
        }
        if let Some(compressor) = self.compressors.pop() {
            return Ok(Some(compressor));
        }
        let io = |source| Error::Io { file: "being written".into(), offset: 0, source };
        Compressor::new(self.codec, self.codec_level).map(Some).map_err(io)
    }
}

fn lost() -> Error {
    let source = std::io::Error::other("the thread that encoded a block ended without it");
    Error::Io { file: "being written".into(), offset: 0, source }
}

impl<W: FileWrite> HFileWriter<W> {
    /// Lends threads to a writer of COLUMNAR; others need none.
    pub fn encode_in(&mut self, background: Arc<dyn Background>) {
        if let Some(groups) = &mut self.groups {
            groups.background = Some(background);
        }
    }

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

    /// Appends rows that come by column. Those of a batch that cannot go as they are (other encodings, Bloom filters of columns,
    /// rows that are not behind the last one) go cell by cell, and so meet all checks that [`Self::append`] makes.
    pub fn append_columns(&mut self, batch: &ColumnBatch) -> Result<()> {
        let of_rows = self.general_bloom.as_ref().is_none_or(|bloom| bloom.kind() == BloomKind::Row);
        let behind = self.stats.cells == 0 || {
            let last = self.last_key.key();
            last.row < batch.first_row() && last.family == batch.family()
        };
        let few = (1..=COLUMNS_MAX).contains(&batch.columns().len());
        if self.groups.is_none() || !(of_rows && behind && few) {
            return batch.for_each_cell(|cell| self.append(cell));
        }
        let mut done = 0;
        while done < batch.len() {
            let writer = self.groups.as_ref().expect("the encoding is COLUMNAR");
            let room = writer.group.room_for(batch, writer.rows_max, writer.bytes_max);
            if room == 0 {
                self.finish_group(false)?;
                continue;
            }
            let rows = done..batch.len().min(done + room);
            done = rows.end;
            self.gather_rows(batch, rows);
        }
        // What `raw_cell_len` says of all cells.
        let tags = if self.layout.with_tags { 2 } else { 0 };
        let seq = if self.layout.with_seq { vlong_len(0) } else { 0 };
        let raw_bytes = batch.key_bytes() + batch.value_bytes() + (8 + tags + seq) * batch.cells();
        self.stats.add_batch(batch, raw_bytes as u64);
        Ok(())
    }

    /// Adds rows of a batch to the group, in which there is room for them.
    fn gather_rows(&mut self, batch: &ColumnBatch, rows: Range<usize>) {
        let mut value = Vec::new();
        let writer = self.groups.as_mut().expect("the encoding is COLUMNAR");
        if writer.group.is_empty() {
            let cell = batch.cell(rows.start, 0, &mut value);
            let (first, is_first) = (FlatKey::of(&cell), self.last_key.bytes().is_empty());
            self.block_key = if is_first { first.to_vec() } else { separator(&self.last_key.key(), &first) };
        }
        if let Some(bloom) = &mut self.general_bloom {
            rows.clone().for_each(|row| bloom.add_row(batch.rows().get(row)));
        }
        writer.group.extend(batch, rows.clone());
        self.last_key.set(&batch.cell(rows.end - 1, batch.columns().len() - 1, &mut value), true);
    }

    /// Writes the group, if there are cells in one. `continues` if the next cell is of the same row.
    pub(super) fn finish_group(&mut self, continues: bool) -> Result<()> {
        let Some(writer) = self.groups.as_mut().filter(|writer| !writer.group.is_empty()) else {
            return Ok(());
        };
        let group = std::mem::replace(&mut writer.group, Group::new(continues));
        if continues || !group.is_regular() {
            self.write_pending(0)?;
            return self.write_by_cell(&group);
        }
        let jobs = writer.background.as_ref().map_or(1, |background| background.jobs().max(1));
        self.write_pending(jobs - 1)?;
        let writer = self.groups.as_mut().expect("the encoding is COLUMNAR");
        let (layout, mut compressor) = (writer.layout.clone(), writer.compressor()?);
        let (done, encoded) = sync_channel(1);
        let size_bytes = group.size_bytes() / 2;
        let job = move || {
            let encoded = columnar::encode(&group, layout.as_deref(), &mut compressor);
            // A writer that is gone wants no block.
            let _ = done.send((encoded, compressor));
        };
        let block_key = std::mem::take(&mut self.block_key);
        writer.pending.push_back(Pending { block_key, size_bytes, encoded });
        if let Some(background) = &writer.background {
            background.run(Box::new(job));
            return Ok(());
        }
        job();
        self.write_pending(0)
    }

    /// Writes blocks that are being encoded, the first ones first, until so many are left.
    pub(super) fn write_pending(&mut self, left: usize) -> Result<()> {
        while let Some(writer) = self.groups.as_mut().filter(|writer| writer.pending.len() > left) {
            let Some(Pending { block_key, encoded, .. }) = writer.pending.pop_front() else { break };
            let (encoded, compressor) = encoded.recv().map_err(|_| lost())?;
            writer.compressors.extend(compressor);
            writer.sketches.merge(encoded.sketches());
            let (seal, offset) = (writer.seal, self.sink.offset());
            let mut block = Vec::with_capacity(encoded.size_bytes() + ROOM);
            block.resize(HEADER_LEN, 0);
            encoded.write((seal, offset), &mut block);
            let put_seal = |block: &mut [u8]| columnar::seal(block, seal, offset);
            let pointer = self.sink.write_sealed_block(BlockKind::ColumnarData, &mut block, put_seal)?;
            let of_next = std::mem::replace(&mut self.block_key, block_key);
            self.add_data_block(pointer)?;
            self.block_key = of_next;
            self.start_block();
        }
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
