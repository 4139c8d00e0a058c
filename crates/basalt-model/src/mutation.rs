// SPDX-License-Identifier: Apache-2.0
//! Batches of row mutations in the one byte form that the log, the memtable and the bulk writer share.
//!
//! A [`WriteBatch`] is one contiguous buffer of row entries. It is encoded once: the log writes these bytes,
//! and the memtable keeps slices of them. All numbers are little-endian.
//!
//! ```text
//! row entry   u16 row_len | u32 cell_count | u32 cells_len | row | cell*
//! cell        u8 type | u8 family_len | u16 tags_len | u32 qualifier_len | u32 value_len | i64 timestamp
//!             | family | qualifier | value | tags
//! ```
//!
//! Rule: the cells of an entry are in key order ([`CellRef::compare_without_seq`]) and no two share a key;
//! of two that did, the one written last was kept.
//!
//! Worked example, row `r`, family `f`, qualifier `q`, timestamp 1, put of `v` (33 bytes):
//! `0100 01000000 17000000 72 | 04 01 0000 01000000 01000000 0100000000000000 66 71 76`.

use bytes::Bytes;

use crate::cell::{CellRef, CellType, LATEST_TIMESTAMP, Seq};
use crate::table::TableId;
use crate::{FAMILY_LEN_MAX, ROW_LEN_MAX};

/// Bytes of an entry beside its row and its cells.
pub const ROW_HEADER: usize = 2 + 4 + 4;
/// Bytes of a cell in an entry beside family, qualifier, value and tags.
pub const CELL_HEADER: usize = 1 + 1 + 2 + 4 + 4 + 8;
const VALUE_LEN_AT: usize = 8;
const TIMESTAMP_AT: usize = 12;

/// Why a cell or row cannot be part of a batch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MutationError {
    /// A row key of no bytes or too many.
    #[error("row key is {found} bytes long; expected 1 to {ROW_LEN_MAX}")]
    RowLength {
        /// Length of the key given, in bytes.
        found: usize,
    },
    /// A family name of no bytes or too many.
    #[error("family name is {found} bytes long; expected 1 to {FAMILY_LEN_MAX}")]
    FamilyLength {
        /// Length of the name given, in bytes.
        found: usize,
    },
    /// A qualifier, value or tag section too long for its length field.
    #[error("{part} is {found} bytes long; expected at most {max}")]
    PartLength {
        /// `qualifier`, `value` or `tags`.
        part: &'static str,
        /// Length given, in bytes.
        found: usize,
        /// Longest possible, in bytes.
        max: usize,
    },
    /// Bytes that are not a row entry.
    #[error("row entry is malformed at byte {at}: {what}")]
    Malformed {
        /// Offset in the entry.
        at: usize,
        /// What does not fit.
        what: &'static str,
    },
}

/// Row mutations to be committed together, of one or several tables, in the order in which they were added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteBatch {
    buf: Vec<u8>,
    rows: Vec<(TableId, usize)>,
}

impl WriteBatch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty batch with room for mutations whose rows and cells, with their headers, take so many bytes.
    pub fn with_capacity(rows: usize, size_bytes: usize) -> Self {
        Self { buf: Vec::with_capacity(size_bytes), rows: Vec::with_capacity(rows) }
    }

    /// Number of row mutations.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if nothing was added.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Bytes that the log will write for these mutations.
    pub fn size_bytes(&self) -> usize {
        self.buf.len()
    }

    /// Starts the mutation of one row; add cells, then call [`RowBuilder::finish`]. Dropping the builder
    /// instead leaves the batch as it was.
    pub fn row(&mut self, table: TableId, row: &[u8]) -> Result<RowBuilder<'_>, MutationError> {
        if row.is_empty() || row.len() > ROW_LEN_MAX {
            return Err(MutationError::RowLength { found: row.len() });
        }
        let start = self.buf.len();
        self.buf.extend_from_slice(&(row.len() as u16).to_le_bytes());
        self.buf.extend_from_slice(&[0; 8]);
        self.buf.extend_from_slice(row);
        Ok(RowBuilder {
            batch: self,
            table,
            start,
            cell_count: 0,
            last_cell: None,
            in_order: true,
            done: false,
        })
    }

    /// Adds a mutation as it is.
    pub fn push(&mut self, table: TableId, row: RowMutationRef<'_>) {
        self.rows.push((table, self.buf.len()));
        self.buf.extend_from_slice(row.entry());
    }

    /// Gives every cell without a timestamp ([`LATEST_TIMESTAMP`]) this one.
    pub fn stamp(&mut self, timestamp: i64) {
        for i in 0..self.rows.len() {
            let start = self.rows[i].1;
            let end = self.rows.get(i + 1).map_or(self.buf.len(), |next| next.1);
            if stamp_entry(&mut self.buf[start..end], timestamp) {
                let row_len = u16::from_le_bytes([self.buf[start], self.buf[start + 1]]) as usize;
                let cells = &mut self.buf[start + ROW_HEADER + row_len..end];
                let sorted = sorted_cells(cells);
                // Stamping keeps all keys of an entry distinct or makes two equal; equal ones keep their
                // place behind each other, and readers take the first.
                cells.copy_from_slice(&sorted);
            }
        }
    }

    /// Freezes the batch: one shared buffer and its row mutations, as slices of it.
    pub fn freeze(mut self) -> FrozenBatch {
        // Memtables keep the buffer for as long as its rows: room for rows that never came must not stay with it.
        if self.buf.capacity() - self.buf.len() > self.buf.len() / 8 {
            self.buf.shrink_to_fit();
        }
        let bytes = Bytes::from(self.buf);
        let mut rows = Vec::with_capacity(self.rows.len());
        for (i, &(table, start)) in self.rows.iter().enumerate() {
            let end = self.rows.get(i + 1).map_or(bytes.len(), |next| next.1);
            rows.push((table, RowMutation { entry: bytes.slice(start..end) }));
        }
        FrozenBatch { bytes, rows }
    }

    /// The mutations, borrowed, in the order added.
    pub fn iter(&self) -> impl Iterator<Item = (TableId, RowMutationRef<'_>)> {
        self.rows.iter().enumerate().map(|(i, &(table, start))| {
            let end = self.rows.get(i + 1).map_or(self.buf.len(), |next| next.1);
            (table, RowMutationRef { entry: &self.buf[start..end] })
        })
    }

    /// Mutation `index`, borrowed.
    pub fn get(&self, index: usize) -> (TableId, RowMutationRef<'_>) {
        let (table, start) = self.rows[index];
        let end = self.rows.get(index + 1).map_or(self.buf.len(), |next| next.1);
        (table, RowMutationRef { entry: &self.buf[start..end] })
    }

    /// Removes all mutations and keeps the memory.
    pub fn clear(&mut self) {
        self.buf.clear();
        self.rows.clear();
    }
}

/// Adds the cells of one row to a batch.
#[derive(Debug)]
pub struct RowBuilder<'a> {
    batch: &'a mut WriteBatch,
    table: TableId,
    start: usize,
    cell_count: u32,
    last_cell: Option<usize>,
    in_order: bool,
    done: bool,
}

impl RowBuilder<'_> {
    /// Adds a put; [`LATEST_TIMESTAMP`] asks for the time of the commit.
    pub fn put(
        &mut self,
        family: &[u8],
        qualifier: &[u8],
        timestamp: i64,
        value: &[u8],
    ) -> Result<(), MutationError> {
        self.cell(family, qualifier, timestamp, CellType::Put, value, b"")
    }

    /// Adds a delete marker.
    pub fn delete(
        &mut self,
        family: &[u8],
        qualifier: &[u8],
        timestamp: i64,
        cell_type: CellType,
    ) -> Result<(), MutationError> {
        self.cell(family, qualifier, timestamp, cell_type, b"", b"")
    }

    /// Adds a cell of any type with raw tags.
    pub fn cell(
        &mut self,
        family: &[u8],
        qualifier: &[u8],
        timestamp: i64,
        cell_type: CellType,
        value: &[u8],
        tags: &[u8],
    ) -> Result<(), MutationError> {
        if family.is_empty() || family.len() > FAMILY_LEN_MAX {
            return Err(MutationError::FamilyLength { found: family.len() });
        }
        let max = i32::MAX as usize;
        for (part, found, max) in
            [("qualifier", qualifier.len(), max), ("value", value.len(), max), ("tags", tags.len(), 0xffff)]
        {
            if found > max {
                return Err(MutationError::PartLength { part, found, max });
            }
        }
        let buf = &mut self.batch.buf;
        let at = buf.len();
        let mut header = [0u8; CELL_HEADER];
        header[0] = cell_type.code();
        header[1] = family.len() as u8;
        header[2..4].copy_from_slice(&(tags.len() as u16).to_le_bytes());
        header[4..8].copy_from_slice(&(qualifier.len() as u32).to_le_bytes());
        header[8..12].copy_from_slice(&(value.len() as u32).to_le_bytes());
        header[12..20].copy_from_slice(&timestamp.to_le_bytes());
        buf.extend_from_slice(&header);
        buf.extend_from_slice(family);
        buf.extend_from_slice(qualifier);
        buf.extend_from_slice(value);
        buf.extend_from_slice(tags);
        if let Some(last) = self.last_cell {
            let previous = parse_cell(b"", &buf[last..]).expect("written by an earlier call").0;
            let this = parse_cell(b"", &buf[at..]).expect("written above").0;
            self.in_order &= previous.compare_without_seq(&this).is_lt();
        }
        self.last_cell = Some(at);
        self.cell_count += 1;
        Ok(())
    }

    /// Adds a cell of a template behind all cells of the row so far. `write` appends the value to the buffer
    /// and says whether there is a cell at all; returns what it says. For writers of many rows of one shape,
    /// who know the order of their templates: the order is checked in debug builds only.
    #[inline]
    pub fn templated<E: From<MutationError>>(
        &mut self,
        template: &CellTemplate,
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let buf = &mut self.batch.buf;
        let at = buf.len();
        buf.extend_from_slice(&template.prefix);
        let value_at = buf.len();
        if !write(buf)? {
            buf.truncate(at);
            return Ok(false);
        }
        let found = buf.len() - value_at;
        if found > i32::MAX as usize {
            return Err(MutationError::PartLength { part: "value", found, max: i32::MAX as usize }.into());
        }
        buf[at + VALUE_LEN_AT..at + TIMESTAMP_AT].copy_from_slice(&(found as u32).to_le_bytes());
        debug_assert!(self.last_cell.is_none_or(|last| {
            let previous = parse_cell(b"", &buf[last..]).expect("written by an earlier call").0;
            previous.compare_without_seq(&parse_cell(b"", &buf[at..]).expect("written above").0).is_lt()
        }));
        self.last_cell = Some(at);
        self.cell_count += 1;
        Ok(true)
    }

    /// Ends the row. A row without cells is not added.
    pub fn finish(mut self) {
        if self.cell_count == 0 {
            return;
        }
        let row_len =
            u16::from_le_bytes([self.batch.buf[self.start], self.batch.buf[self.start + 1]]) as usize;
        let cells_at = self.start + ROW_HEADER + row_len;
        if !self.in_order {
            let (cells, count) = sorted_distinct_cells(&self.batch.buf[cells_at..]);
            self.batch.buf.truncate(cells_at);
            self.batch.buf.extend_from_slice(&cells);
            self.cell_count = count;
        }
        let cells_len = (self.batch.buf.len() - cells_at) as u32;
        let header = &mut self.batch.buf[self.start..];
        header[2..6].copy_from_slice(&self.cell_count.to_le_bytes());
        header[6..10].copy_from_slice(&cells_len.to_le_bytes());
        self.batch.rows.push((self.table, self.start));
        self.done = true;
    }
}

impl Drop for RowBuilder<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.batch.buf.truncate(self.start);
        }
    }
}

/// Everything of a cell but its row and value, checked and encoded once: for writers of many rows of one shape
/// (see [`RowBuilder::templated`]). Saves half of the time of a put of 20 bytes.
#[derive(Debug, Clone)]
pub struct CellTemplate {
    /// Cell header with a value length of 0, family, qualifier.
    prefix: Vec<u8>,
}

impl CellTemplate {
    /// Cells of one column with one timestamp and type.
    pub fn try_new(
        family: &[u8],
        qualifier: &[u8],
        timestamp: i64,
        cell_type: CellType,
    ) -> Result<Self, MutationError> {
        let mut batch = WriteBatch::new();
        let mut row = batch.row(TableId(0), b"r")?;
        row.cell(family, qualifier, timestamp, cell_type, b"", b"")?;
        row.finish();
        Ok(Self { prefix: batch.buf.split_off(ROW_HEADER + 1) })
    }

    /// Gives the cells to come another timestamp.
    #[inline]
    pub fn set_timestamp(&mut self, timestamp: i64) {
        self.prefix[TIMESTAMP_AT..CELL_HEADER].copy_from_slice(&timestamp.to_le_bytes());
    }
}

/// A batch that no longer changes: the bytes for the log and the mutations as slices of them.
#[derive(Debug, Clone)]
pub struct FrozenBatch {
    /// All row entries, one behind the other.
    pub bytes: Bytes,
    /// The same entries one by one with their tables.
    pub rows: Vec<(TableId, RowMutation)>,
}

/// One row's mutation; shares the buffer of its batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowMutation {
    entry: Bytes,
}

impl RowMutation {
    /// Reads one entry from the front of `bytes` and checks every length in it; returns the entry and the
    /// number of bytes it takes. For bytes from a log: nothing is assumed of them.
    pub fn decode(bytes: &Bytes) -> Result<(Self, usize), MutationError> {
        let len = check_entry(bytes)?;
        Ok((Self { entry: bytes.slice(..len) }, len))
    }

    /// The row key, sharing the batch's buffer.
    #[inline]
    pub fn row_bytes(&self) -> Bytes {
        let row_len = u16::from_le_bytes([self.entry[0], self.entry[1]]) as usize;
        self.entry.slice(ROW_HEADER..ROW_HEADER + row_len)
    }

    /// Borrowed form.
    #[inline]
    pub fn borrow(&self) -> RowMutationRef<'_> {
        RowMutationRef { entry: &self.entry }
    }

    /// Bytes of the entry, shared.
    #[inline]
    pub fn entry(&self) -> &Bytes {
        &self.entry
    }
}

/// One row's mutation, borrowed from its batch.
#[derive(Debug, Clone, Copy)]
pub struct RowMutationRef<'a> {
    entry: &'a [u8],
}

impl<'a> RowMutationRef<'a> {
    /// The row key.
    #[inline]
    pub fn row(&self) -> &'a [u8] {
        let row_len = u16::from_le_bytes([self.entry[0], self.entry[1]]) as usize;
        &self.entry[ROW_HEADER..ROW_HEADER + row_len]
    }

    /// Number of cells, at least one.
    pub fn cell_count(&self) -> usize {
        u32::from_le_bytes(self.entry[2..6].try_into().expect("4 bytes")) as usize
    }

    /// The cells in key order, each with the given sequence number.
    #[inline]
    pub fn cells(&self, seq: Seq) -> Cells<'a> {
        let row = self.row();
        Cells { row, seq, rest: &self.entry[ROW_HEADER + row.len()..] }
    }

    /// The encoded entry.
    #[inline]
    pub fn entry(&self) -> &'a [u8] {
        self.entry
    }
}

/// Iterator over the cells of one mutation, in key order.
#[derive(Debug, Clone)]
pub struct Cells<'a> {
    row: &'a [u8],
    seq: Seq,
    rest: &'a [u8],
}

impl<'a> Iterator for Cells<'a> {
    type Item = CellRef<'a>;

    #[inline]
    fn next(&mut self) -> Option<CellRef<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let (mut cell, len) =
            parse_cell(self.row, self.rest).expect("entry was built or checked by this module");
        cell.seq = self.seq;
        self.rest = &self.rest[len..];
        Some(cell)
    }
}

#[inline]
fn parse_cell<'a>(row: &'a [u8], bytes: &'a [u8]) -> Option<(CellRef<'a>, usize)> {
    let header = bytes.get(..CELL_HEADER)?;
    let cell_type = CellType::from_code(header[0])?;
    let family_len = header[1] as usize;
    let tags_len = u16::from_le_bytes([header[2], header[3]]) as usize;
    let qualifier_len = u32::from_le_bytes(header[4..8].try_into().ok()?) as usize;
    let value_len = u32::from_le_bytes(header[8..12].try_into().ok()?) as usize;
    let timestamp = i64::from_le_bytes(header[12..20].try_into().ok()?);
    let len = CELL_HEADER.checked_add(family_len)?.checked_add(qualifier_len)?;
    let len = len.checked_add(value_len)?.checked_add(tags_len)?;
    let body = bytes.get(CELL_HEADER..len)?;
    let (family, body) = body.split_at(family_len);
    let (qualifier, body) = body.split_at(qualifier_len);
    let (value, tags) = body.split_at(value_len);
    Some((CellRef { row, family, qualifier, timestamp, cell_type, value, seq: Seq(0), tags }, len))
}

/// Length of the entry at the front of `bytes`, after checking every length in it.
fn check_entry(bytes: &[u8]) -> Result<usize, MutationError> {
    let malformed = |at, what| MutationError::Malformed { at, what };
    let header = bytes.get(..ROW_HEADER).ok_or(malformed(0, "header is cut off"))?;
    let row_len = u16::from_le_bytes([header[0], header[1]]) as usize;
    let cell_count = u32::from_le_bytes(header[2..6].try_into().expect("4 bytes"));
    let cells_len = u32::from_le_bytes(header[6..10].try_into().expect("4 bytes")) as usize;
    if row_len == 0 || row_len > ROW_LEN_MAX {
        return Err(malformed(0, "row length is out of range"));
    }
    let len = ROW_HEADER + row_len + cells_len;
    let mut cells = bytes.get(ROW_HEADER + row_len..len).ok_or(malformed(6, "cells are cut off"))?;
    for _ in 0..cell_count {
        let at = len - cells.len();
        let (cell, cell_len) =
            parse_cell(b"", cells).ok_or(malformed(at, "cell does not fit its lengths"))?;
        if cell.family.is_empty() || cell.family.len() > FAMILY_LEN_MAX {
            return Err(malformed(at, "family length is out of range"));
        }
        cells = &cells[cell_len..];
    }
    if !cells.is_empty() || cell_count == 0 {
        return Err(malformed(2, "cell count does not fit the cells"));
    }
    Ok(len)
}

/// Replaces LATEST in one entry; true if explicit and stamped timestamps are mixed, so that the order may
/// have changed.
fn stamp_entry(entry: &mut [u8], timestamp: i64) -> bool {
    let row_len = u16::from_le_bytes([entry[0], entry[1]]) as usize;
    let mut at = ROW_HEADER + row_len;
    let (mut stamped, mut explicit) = (false, false);
    while at < entry.len() {
        let (cell, len) = parse_cell(b"", &entry[at..]).expect("built by this module");
        if cell.timestamp == LATEST_TIMESTAMP {
            entry[at + TIMESTAMP_AT..at + CELL_HEADER].copy_from_slice(&timestamp.to_le_bytes());
            stamped = true;
        } else {
            explicit = true;
        }
        at += len;
    }
    stamped && explicit
}

fn split_cells(mut cells: &[u8]) -> Vec<(CellRef<'_>, &[u8])> {
    let mut parts = Vec::new();
    while !cells.is_empty() {
        let (cell, len) = parse_cell(b"", cells).expect("built by this module");
        parts.push((cell, &cells[..len]));
        cells = &cells[len..];
    }
    parts
}

fn sorted_cells(cells: &[u8]) -> Vec<u8> {
    let mut parts = split_cells(cells);
    parts.sort_by(|a, b| a.0.compare_without_seq(&b.0));
    parts.iter().flat_map(|part| part.1.iter().copied()).collect()
}

fn sorted_distinct_cells(cells: &[u8]) -> (Vec<u8>, u32) {
    let mut parts = split_cells(cells);
    parts.reverse();
    parts.sort_by(|a, b| a.0.compare_without_seq(&b.0));
    parts.dedup_by(|later, kept| later.0.compare_without_seq(&kept.0).is_eq());
    (parts.iter().flat_map(|part| part.1.iter().copied()).collect(), parts.len() as u32)
}

#[cfg(test)]
mod tests;
