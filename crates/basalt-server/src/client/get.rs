// SPDX-License-Identifier: Apache-2.0
//! Gets.

use std::sync::atomic::Ordering::Relaxed;

use basalt_wire::result::{self, CellForm};
use basalt_wire::{Exception, pb, read};
use bytes::BytesMut;

use crate::call::{Context, Incoming, Reply};
use crate::failure;
use crate::meta;
use crate::node::Node;
use crate::regions::{Place, Region};

pub(super) fn call(node: &Node, context: &Context, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::GetRequest = incoming.decode()?;
    let mut cells = BytesMut::new();
    let result = match node.place(&request.region)? {
        Place::Meta => of_meta(node, request.get, context.form, &mut cells)?,
        Place::Stored(region) => of_region(node, &region, request.get, context.form, &mut cells)?,
    };
    Ok(Reply::with_cells(&pb::GetResponse { result: Some(result) }, cells))
}

fn of_meta(
    node: &Node,
    message: pb::Get,
    form: CellForm,
    cells: &mut BytesMut,
) -> Result<pb::Result, Exception> {
    let existence_only = message.existence_only();
    let row = meta::get(node, &read::get(message)?)?;
    Ok(match existence_only {
        true => result::of_existence(!row.is_empty()),
        false => result::of_cells(row.cells(), form, cells),
    })
}

/// What a get finds in a stored region; cells of a block are appended to `cells`.
pub(super) fn of_region(
    node: &Node,
    region: &Region,
    message: pb::Get,
    form: CellForm,
    cells: &mut BytesMut,
) -> Result<pb::Result, Exception> {
    let existence_only = message.existence_only();
    let get = read::get(message)?;
    region.check_row(get.row())?;
    node.reads.fetch_add(1, Relaxed);
    if existence_only {
        return Ok(result::of_existence(region.table.exists(&get).map_err(failure::of_store)?));
    }
    let row = region.table.get(&get).map_err(failure::of_store)?;
    Ok(result::of_cells(row.cells(), form, cells))
}
