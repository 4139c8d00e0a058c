// SPDX-License-Identifier: Apache-2.0
//! Results: cells behind the message, in the block, or inside of it on a connection that named no codec.

use basalt_model::CellRef;
use bytes::{Bytes, BytesMut};

use crate::cell_block::{CellReader, WireCell, encode_cell};
use crate::exception::Exception;
use crate::pb;

/// Where the cells of an answer go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellForm {
    /// Into the block.
    Block,
    /// Into the message.
    Inline,
}

/// The result that holds these cells; those of a block are appended to `block`.
pub fn of_cells<'a>(
    cells: impl Iterator<Item = CellRef<'a>>,
    form: CellForm,
    block: &mut BytesMut,
) -> pb::Result {
    match form {
        CellForm::Block => {
            let mut count = 0;
            for cell in cells {
                encode_cell(&cell, block);
                count += 1;
            }
            pb::Result { associated_cell_count: Some(count), stale: Some(false), ..Default::default() }
        }
        CellForm::Inline => {
            pb::Result { cell: cells.map(|cell| inline(&cell)).collect(), ..Default::default() }
        }
    }
}

/// The result that holds the next `count` cells of a block.
pub fn of_block(block: &mut CellReader, count: usize) -> Result<pb::Result, Exception> {
    let cell = |cell: WireCell| pb::Cell {
        row: Some(cell.row),
        family: Some(cell.family),
        qualifier: Some(cell.qualifier),
        timestamp: Some(cell.timestamp as u64),
        cell_type: Some(i32::from(cell.cell_type.code())),
        value: Some(cell.value),
        tags: None,
    };
    Ok(pb::Result { cell: block.take(count)?.into_iter().map(cell).collect(), ..Default::default() })
}

/// The answer to a get that only asks whether there is something.
pub fn of_existence(exists: bool) -> pb::Result {
    pb::Result { associated_cell_count: Some(0), exists: Some(exists), ..Default::default() }
}

fn inline(cell: &CellRef<'_>) -> pb::Cell {
    pb::Cell {
        row: Some(Bytes::copy_from_slice(cell.row)),
        family: Some(Bytes::copy_from_slice(cell.family)),
        qualifier: Some(Bytes::copy_from_slice(cell.qualifier)),
        timestamp: Some(cell.timestamp as u64),
        cell_type: Some(i32::from(cell.cell_type.code())),
        value: Some(Bytes::copy_from_slice(cell.value)),
        tags: None,
    }
}
