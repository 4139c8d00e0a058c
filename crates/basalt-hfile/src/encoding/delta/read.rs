// SPDX-License-Identifier: Apache-2.0
//! Decoding delta-encoded cells, one after the other.
//!
//! Each encoding reads the head of a cell (lengths, key difference, timestamp, type) in its
//! [`DeltaFormat::read`]; names are rebuilt, tails read and slots made here. All of it is one loop that the
//! compiler specialises per encoding and file layout. A cursor runs the same loop cell by cell.

use std::cmp::Ordering;
use std::ops::Range;

use basalt_model::{CellRef, CellType, Seq};
use bytes::Bytes;

use super::marks::Mark;
use super::names::{NewName, SHORT};
use super::rows::{DeltaRows, KnownHead, RowHead};
use super::tags::TagReader;
use crate::cells::{CellBlock, CellSlot, RowFronts};
use crate::encoding::DecodeContext;
use crate::encoding::cursor::MARK_CELLS;
use crate::encoding::raw_cells::RUN_CELLS_EXPECTED;
use crate::error::Damage;
use crate::key::{FlatKey, KEY_OVERHEAD};
use crate::rows::{Parts, RowBlock};
use crate::varint::{read_leb, read_vlong, vlong_len};

/// The head of a cell, read.
pub(in crate::encoding) struct NewCell {
    pub(in crate::encoding) name: NewName,
    pub(in crate::encoding) timestamp: i64,
    /// Where the timestamp, or what stands for it, lies in the payload.
    pub(in crate::encoding) timestamp_at: Range<usize>,
    pub(in crate::encoding) cell_type: u8,
    pub(in crate::encoding) value: Range<usize>,
    /// Where the tail begins.
    pub(in crate::encoding) tail_at: usize,
}

/// One of the encodings.
pub(in crate::encoding) trait DeltaFormat: 'static {
    /// Name of the encoding, for messages.
    const NAME: &'static str;

    /// Reads what stands before the first cell; returns where the cells begin.
    fn read_start(body: &[u8], at: usize, cells: &mut DeltaCells) -> Option<usize>;

    /// Reads the head of the cell at `at`; `last` is the slot of the cell before, `family` what
    /// [`Self::read_start`] found. `None` if it does not fit; ranges that lie outside the payload are found by the caller.
    fn read(body: &[u8], at: usize, last: Option<&CellSlot>, family: &Range<usize>) -> Option<NewCell>;

    /// Reads the head of a row's first cell of which all but the row is known, up to the bytes of the row.
    fn read_row_head(body: &[u8], at: usize, known: &KnownHead) -> Option<RowHead>;

    /// Timestamps of rows of one form lie in the payload, as eight bytes each.
    const TIMESTAMPS_WHOLE: bool;

    /// The timestamp that is stored at `at` in the form that `flag`, the first byte of its cell, says.
    fn read_timestamp(body: &[u8], at: usize, flag: u8, last: i64) -> Option<i64>;
}

/// The cells decoded so far.
pub(in crate::encoding) struct DeltaCells {
    body: Bytes,
    pub(super) at: usize,
    /// Raw size of the cells so far, and of all by the block's claim.
    pub(super) raw_bytes: usize,
    pub(super) raw_bytes_declared: usize,
    /// Names, back to back; behind `keys_len` is scratch.
    pub(super) keys: Vec<u8>,
    pub(super) keys_len: usize,
    tags: Vec<u8>,
    pub(super) slots: Vec<CellSlot>,
    pub(super) row_starts: Vec<u32>,
    plain: bool,
    tag_reader: TagReader,
    pub(super) context: DecodeContext,
    /// DIFF stores the family once, before the cells.
    pub(in crate::encoding) family: Range<usize>,
    /// `raw_bytes` before the last row.
    pub(super) row_raw_start: usize,
    /// The last row was decoded as a whole.
    in_bulk: bool,
}

/// Decodes a whole payload.
pub(in crate::encoding) fn decode<F: DeltaFormat>(
    body: &Bytes,
    context: &DecodeContext,
) -> Result<CellBlock, Damage> {
    let mut cells = DeltaCells::try_new::<F>(body, context)?;
    cells.step_until::<F, _>(|_| false)?;
    Ok(cells.into_block(0))
}

/// Decodes a whole payload to runs of rows.
pub(in crate::encoding) fn decode_rows<F: DeltaFormat>(
    body: &Bytes,
    context: &DecodeContext,
) -> Result<RowBlock, Damage> {
    let mut cells = DeltaCells::with_room::<F>(body, context, RUN_CELLS_EXPECTED)?;
    let mut parts = Parts::default();
    cells.step_until_or_run::<F, _>(|_| false, Some(&mut parts))?;
    Ok(parts.into_block(cells.into_block(0)))
}

/// Decodes up to the end of `row`, and keeps the cells of that row.
pub(in crate::encoding) fn decode_row<F: DeltaFormat>(
    body: &Bytes,
    context: &DecodeContext,
    row: &[u8],
) -> Result<CellBlock, Damage> {
    let mut cells = DeltaCells::try_new::<F>(body, context)?;
    // Rows are compared once each, at their first cell.
    let past =
        cells.step_until::<F, _>(|cells| (cells.in_bulk || cells.at_new_row()) && cells.last_row() > row)?;
    if past {
        cells.drop_last_row();
    }
    let found = cells.row_starts.last().copied().filter(|_| cells.last_row() == row);
    let first = found.map_or(cells.slots.len(), |start| start as usize);
    let mut block = cells.into_block(first);
    // Until here the flag spoke of all cells that were decoded on the way.
    let columns = |at: usize| block.qualifier_of(&block.slots[at]);
    block.plain = block.slots.iter().all(|slot| slot.cell_type == CellType::Put)
        && (1..block.len()).all(|at| columns(at - 1) != columns(at));
    Ok(block)
}

impl DeltaCells {
    pub(in crate::encoding) fn try_new<F: DeltaFormat>(
        body: &Bytes,
        context: &DecodeContext,
    ) -> Result<Self, Damage> {
        Self::with_room::<F>(body, context, usize::MAX)
    }

    /// With room for few cells: a cursor may be sent elsewhere before it has read one.
    pub(super) fn for_cursor<F: DeltaFormat>(body: &Bytes, context: &DecodeContext) -> Result<Self, Damage> {
        Self::with_room::<F>(body, context, 1)
    }

    /// With room for at most `cells_max` cells, until there are more.
    fn with_room<F: DeltaFormat>(
        body: &Bytes,
        context: &DecodeContext,
        cells_max: usize,
    ) -> Result<Self, Damage> {
        let cut = || Damage::new(0, format!("the {} block ends before its first cell", F::NAME));
        let declared = u32::from_be_bytes(*body.first_chunk().ok_or_else(cut)?) as usize;
        if declared > context.block_raw_bytes_max {
            let limit = context.block_raw_bytes_max;
            return Err(Damage::new(0, format!("the cells claim {declared} bytes, the limit is {limit}")));
        }
        // The estimate may be wrong in a damaged file; the payload bounds the cells at four bytes each.
        let cell_bytes = context.cell_bytes_estimate.max(8 + KEY_OVERHEAD);
        let expected = (declared / cell_bytes).min(body.len() / 4).min(cells_max - 1) + 1;
        // Room for all keys but not more than the payload makes likely; the rest comes by growing.
        let key_bytes = (declared / cell_bytes).max(1);
        let key_bytes = declared.saturating_sub(8 * expected).min(body.len() * 4) / key_bytes * expected;
        let mut cells = Self {
            body: body.clone(),
            at: 0,
            raw_bytes: 0,
            raw_bytes_declared: declared,
            keys: vec![0; key_bytes.min(body.len() * 4) + SHORT],
            keys_len: 0,
            tags: Vec::new(),
            slots: Vec::with_capacity(expected),
            row_starts: Vec::with_capacity(expected / 2 + 1),
            plain: true,
            tag_reader: TagReader::default(),
            context: *context,
            family: 0..0,
            row_raw_start: 0,
            in_bulk: false,
        };
        cells.at = F::read_start(body, 4, &mut cells).ok_or_else(cut)?;
        Ok(cells)
    }

    /// As they are behind the cell of `mark`, which is the first one they know.
    pub(super) fn resume<F: DeltaFormat>(
        body: &Bytes,
        context: &DecodeContext,
        mark: &Mark<'_>,
    ) -> Result<Self, Damage> {
        let mut cells = Self::with_room::<F>(body, context, 2 * MARK_CELLS)?;
        cells.keys_len = mark.name.len();
        cells.grow_keys();
        cells.keys[..mark.name.len()].copy_from_slice(mark.name);
        cells.slots.push(mark.slot);
        cells.row_starts.push(0);
        (cells.at, cells.raw_bytes) = (mark.at, mark.raw_bytes);
        Ok(cells)
    }

    /// What it takes to go on behind the last cell.
    pub(super) fn mark(&self) -> Option<Mark<'_>> {
        let slot = self.slots.last()?;
        let name = &self.keys[self.name(slot)];
        Some(Mark { name, slot: CellSlot { key: 0, ..*slot }, at: self.at, raw_bytes: self.raw_bytes })
    }

    /// True if there may be tags whose coded form depends on all before.
    pub(super) fn may_have_coded_tags(&self) -> bool {
        self.context.layout.tags_compressed
    }

    /// The name (row length to qualifier) of a decoded cell.
    #[inline(always)]
    pub(super) fn name(&self, slot: &CellSlot) -> Range<usize> {
        let len = 3 + slot.row_len as usize + slot.family_len as usize + slot.qualifier_len as usize;
        slot.key as usize..slot.key as usize + len
    }

    /// Decodes cells until `stop` says so of the last one, or the payload ends; true if it was stopped.
    pub(super) fn step_until<F: DeltaFormat, S: FnMut(&Self) -> bool>(
        &mut self,
        stop: S,
    ) -> Result<bool, Damage> {
        self.step_until_or_run::<F, S>(stop, None)
    }

    /// As [`Self::step_until`]; runs of rows of one form go to `parts` if that is there.
    fn step_until_or_run<F: DeltaFormat, S: FnMut(&Self) -> bool>(
        &mut self,
        stop: S,
        parts: Option<&mut Parts>,
    ) -> Result<bool, Damage> {
        // The file's options are decided here, once, and are constants in the loop.
        match (self.context.layout.with_tags, self.context.layout.with_seq) {
            (false, false) => self.step_loop::<F, S, false, false>(stop, parts),
            (false, true) => self.step_loop::<F, S, false, true>(stop, parts),
            (true, false) => self.step_loop::<F, S, true, false>(stop, parts),
            (true, true) => self.step_loop::<F, S, true, true>(stop, parts),
        }
    }

    fn step_loop<F: DeltaFormat, S: FnMut(&Self) -> bool, const TAGS: bool, const SEQ: bool>(
        &mut self,
        mut stop: S,
        mut parts: Option<&mut Parts>,
    ) -> Result<bool, Damage> {
        let body = self.body.clone();
        let mut rows = DeltaRows::default();
        // Where the cells of the last row begin.
        let mut starts = Vec::new();
        let mut try_rows = true;
        while self.at < body.len() {
            let before = (self.at, self.keys_len, self.raw_bytes, self.row_raw_start);
            self.step::<F, TAGS, SEQ>(&body).ok_or_else(|| self.explain::<F>())?;
            if self.at_new_row() {
                // Only now is it known that the row before has ended. The cell is taken back if rows that look like
                // that one can be decoded from here on; coded tags cannot be, they have changed the dictionary.
                if try_rows && rows.is_ready() && !self.has_coded_tags() {
                    self.take_back(before);
                    self.in_bulk = true;
                    match parts.as_deref_mut() {
                        Some(parts) => rows.decode_run::<F, TAGS, SEQ>(self, &body, &starts, parts),
                        None if rows.decode::<F, TAGS, SEQ>(self, &body, &starts, &mut stop) => {
                            return Ok(true);
                        }
                        None => {}
                    }
                    self.in_bulk = false;
                    try_rows = false;
                    continue;
                }
                try_rows = true;
                starts.clear();
            }
            starts.push(before.0);
            if stop(self) {
                return Ok(true);
            }
        }
        self.check_end::<F>()?;
        Ok(false)
    }

    /// Forgets the last cell, which began a row; the arguments are what was before it.
    fn take_back(&mut self, (at, keys_len, raw_bytes, row_raw_start): (usize, usize, usize, usize)) {
        self.slots.pop();
        self.row_starts.pop();
        (self.at, self.keys_len, self.raw_bytes, self.row_raw_start) =
            (at, keys_len, raw_bytes, row_raw_start);
    }

    fn has_coded_tags(&self) -> bool {
        self.context.layout.tags_compressed && self.slots.last().is_some_and(|slot| slot.tags_len > 0)
    }

    /// True if the last decoded cell begins a row.
    fn at_new_row(&self) -> bool {
        self.row_starts.last().is_some_and(|&start| start as usize + 1 == self.slots.len())
    }

    /// Row of the last decoded cell, of which there must be one.
    fn last_row(&self) -> &[u8] {
        let Some(slot) = self.slots.last() else { return b"" };
        &self.keys[slot.key as usize + 2..slot.key as usize + 2 + slot.row_len as usize]
    }

    /// True if the last decoded cell's key is not below `target`.
    pub(super) fn last_is_at_or_after(&self, target: &FlatKey<'_>) -> bool {
        match self.last_row().cmp(target.row) {
            Ordering::Less => false,
            Ordering::Greater => true,
            Ordering::Equal => FlatKey::of(&self.cell(self.len() - 1)).compare(target).is_ge(),
        }
    }

    /// Takes the cells of the last row out of the result.
    fn drop_last_row(&mut self) {
        let first = self.row_starts.pop().map_or(0, |start| start as usize);
        self.slots.truncate(first);
    }

    /// Family length, family and qualifier of a decoded cell.
    pub(super) fn column_bytes(&self, slot: &CellSlot) -> &[u8] {
        &self.keys[self.name(slot)][2 + slot.row_len as usize..]
    }

    /// Index of the first cell of the last decoded row.
    pub(super) fn last_row_start(&self) -> usize {
        self.row_starts.last().map_or(0, |&start| start as usize)
    }

    /// Number of cells decoded.
    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Decoded cell `index`.
    pub(super) fn cell(&self, index: usize) -> CellRef<'_> {
        let slot = &self.slots[index];
        let name = &self.keys[self.name(slot)];
        let (row, column) = name[2..].split_at(slot.row_len.into());
        let (family, qualifier) = column[1..].split_at(slot.family_len.into());
        let tags = if self.context.layout.tags_compressed { &self.tags[..] } else { &self.body[..] };
        CellRef {
            row,
            family,
            qualifier,
            timestamp: slot.timestamp,
            cell_type: slot.cell_type,
            value: &self.body[slot.value as usize..slot.value as usize + slot.value_len as usize],
            seq: slot.seq,
            tags: &tags[slot.tags as usize..slot.tags as usize + slot.tags_len as usize],
        }
    }

    fn check_end<F: DeltaFormat>(&self) -> Result<(), Damage> {
        let (declared, found) = (self.raw_bytes_declared, self.raw_bytes);
        if declared == found {
            return Ok(());
        }
        Err(Damage::new(
            self.at,
            format!("the {} block declares {declared} bytes of cells and holds {found}", F::NAME),
        ))
    }

    #[cold]
    fn explain<F: DeltaFormat>(&self) -> Damage {
        let (number, left) = (self.slots.len(), self.body.len() - self.at);
        Damage::new(self.at, format!("{} cell {number} does not fit into the {left} bytes left", F::NAME))
    }

    /// Decodes the next cell.
    #[inline(always)]
    fn step<F: DeltaFormat, const TAGS: bool, const SEQ: bool>(&mut self, body: &[u8]) -> Option<()> {
        let head = F::read(body, self.at, self.slots.last(), &self.family)?;
        let cell_type = CellType::from_code(head.cell_type)?;
        let mut at = head.tail_at;
        let (mut tags_at, mut tags_len) = (0, 0);
        if TAGS {
            let (len, leb_len) = read_leb(body.get(at..)?)?;
            at += leb_len;
            tags_len = u16::try_from(len).ok()?;
            if self.context.layout.tags_compressed {
                tags_at = self.tags.len();
                at = self.tag_reader.read(body, at, tags_len.into(), &mut self.tags)?;
            } else {
                tags_at = at;
                at += tags_len as usize;
            }
        }
        let mut seq = Seq(0);
        if SEQ {
            let (number, len) = read_vlong(body.get(at..)?)?;
            seq = Seq(u64::try_from(number).ok()?);
            at += len;
        }
        if head.value.end > body.len() || at > body.len() {
            return None;
        }
        let key = self.keys_len;
        let (row_len, family_len, qualifier_len, new_row, same_column) = self.push_name(body, &head.name)?;
        let name_len = self.keys_len - key;
        let tags_raw = if TAGS { 2 + tags_len as usize } else { 0 };
        let seq_raw = if SEQ { vlong_len(seq.0 as i64) } else { 0 };
        let raw_before = self.raw_bytes;
        self.raw_bytes += 8 + name_len + 9 + head.value.len() + tags_raw + seq_raw;
        if self.raw_bytes > self.raw_bytes_declared || row_len == 0 {
            return None;
        }
        if new_row {
            self.row_starts.push(self.slots.len() as u32);
            self.row_raw_start = raw_before;
        }
        self.plain &= cell_type == CellType::Put && !same_column;
        self.slots.push(CellSlot {
            key: key as u32,
            value: head.value.start as u32,
            value_len: head.value.len() as u32,
            qualifier_len,
            tags: tags_at as u32,
            tags_len,
            row_len,
            family_len,
            cell_type,
            timestamp: head.timestamp,
            seq: self.context.seq_override.unwrap_or(seq),
        });
        self.at = at;
        Some(())
    }

    /// The decoded cells from `first` on, which begins a row.
    fn into_block(mut self, first: usize) -> CellBlock {
        if first > 0 {
            self.slots.drain(..first);
            self.row_starts = if self.slots.is_empty() { Vec::new() } else { vec![0] };
        }
        let tags = match (self.context.layout.with_tags, self.context.layout.tags_compressed) {
            (false, _) => Bytes::new(),
            (true, false) => self.body.clone(),
            (true, true) => self.tags.into(),
        };
        self.keys.truncate(self.keys_len);
        self.keys.shrink_to_fit();
        CellBlock {
            keys: self.keys.into(),
            values: self.body,
            tags,
            slots: self.slots,
            row_starts: self.row_starts,
            plain: self.plain,
            fronts: RowFronts::default(),
        }
    }
}

/// The `len` (1 to 8) bytes at `at`, big-endian.
#[inline(always)]
pub(in crate::encoding) fn read_be(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    if let Some(eight) = bytes.get(at..at + 8) {
        return Some(u64::from_be_bytes(*eight.first_chunk()?) >> (64 - 8 * len));
    }
    Some(bytes.get(at..at + len)?.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

/// The `len` (1 to 8) bytes at `at`, little-endian.
#[inline(always)]
pub(in crate::encoding) fn read_le(bytes: &[u8], at: usize, len: usize) -> Option<u64> {
    if let Some(eight) = bytes.get(at..at + 8) {
        return Some(u64::from_le_bytes(*eight.first_chunk()?) & (u64::MAX >> (64 - 8 * len)));
    }
    Some(bytes.get(at..at + len)?.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}
