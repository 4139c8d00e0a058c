// SPDX-License-Identifier: Apache-2.0
//! Puts as HBase's clients send them by the thousand: read where they lie, and written into a batch without a value in between.
//!
//! ```text
//! Action:         index (1) | mutation (2)
//! MutationProto:  row (1) | mutate_type (2) | timestamp (4) | durability (6) | associated_cell_count (8) | nonce (9)
//! ```
//!
//! Action 7, a put of row `r1` with one cell in the request's block: `08 07 | 12 08 | 0a 02 72 31 | 10 02 | 40 01`
//!
//! Whatever else a put may carry, cells inside of the message, attributes, tags, is left to [`mutation::change`](crate::mutation::change),
//! and so is the answer to what is wrong.

use basalt_model::{CellType, Durability, LATEST_TIMESTAMP, TableId, WriteBatch};
use bytes::Buf;
use prost::encoding::decode_varint;

use super::{field, index};
use crate::cell_block::CellReader;
use crate::mutation;
use crate::pb::mutation_proto::MutationType;

/// An action that is a put with its cells in the request's block, in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PutParts<'a> {
    /// Number of the action.
    pub index: Option<u32>,
    /// The row.
    pub row: &'a [u8],
    /// When it is acknowledged, if it says so.
    pub durability: Option<Durability>,
    /// Of cells without one of their own.
    timestamp: i64,
    cell_count: usize,
}

impl<'a> PutParts<'a> {
    /// The parts, if the message has no others; else the action has to be decoded.
    pub fn of_action(action: &'a [u8]) -> Option<Self> {
        let mut rest = action;
        let index = index(&mut rest)?;
        let mut message = field(&mut rest, 0x12).filter(|_| rest.is_empty())?;
        let mut parts =
            Self { index, row: b"", durability: None, timestamp: LATEST_TIMESTAMP, cell_count: 0 };
        let mut is_put = false;
        while let Some(&key) = message.first() {
            if key == 0x0a {
                parts.row = field(&mut message, key)?;
                continue;
            }
            message.advance(1);
            let value = decode_varint(&mut message).ok()?;
            match key {
                0x10 => is_put = value == MutationType::Put as u64,
                0x20 => parts.timestamp = value as i64,
                0x30 => parts.durability = mutation::durability(Some(value as i32)),
                0x40 => parts.cell_count = usize::try_from(value as i32).ok()?,
                // The nonce: a put may be made twice.
                0x48 => {}
                _ => return None,
            }
        }
        (is_put && parts.cell_count > 0 && !parts.row.is_empty()).then_some(parts)
    }

    /// Takes the cells of the put and adds it to a batch. False if that has to be done by way of a
    /// [`Change`](mutation::Change): then both are as they were.
    #[must_use]
    pub fn write(&self, cells: &mut CellReader, table: TableId, batch: &mut WriteBatch) -> bool {
        let before = cells.position();
        let written = self.write_cells(cells, table, batch).is_some();
        if !written {
            cells.return_to(before);
        }
        written
    }

    fn write_cells(&self, cells: &mut CellReader, table: TableId, batch: &mut WriteBatch) -> Option<()> {
        let mut row = batch.row(table, self.row).ok()?;
        for _ in 0..self.cell_count {
            let cell = cells.next_cell().ok()?;
            let timestamp = match cell.timestamp {
                LATEST_TIMESTAMP => self.timestamp,
                given => given,
            };
            if cell.row != self.row
                || cell.cell_type != CellType::Put
                || !cell.tags.is_empty()
                || timestamp < 0
            {
                return None;
            }
            row.put(cell.family, cell.qualifier, timestamp, cell.value).ok()?;
        }
        row.finish();
        Some(())
    }
}

#[cfg(test)]
mod tests;
