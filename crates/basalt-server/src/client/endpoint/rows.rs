// SPDX-License-Identifier: Apache-2.0
//! Changes of several rows of a region, all of them or none; with conditions, only if every one of them holds.

use basalt_model::{CheckAndMutate, TableId};
use basalt_wire::{CellReader, Exception, exception, mutation, pb};

use crate::failure;
use crate::node::Node;
use crate::nonces::Seen;
use crate::regions::Region;

/// The answer; `None` if there is no such method.
pub(super) fn call(
    node: &Node,
    region: &Region,
    method: &str,
    request: pb::MutateRowsRequest,
) -> Result<Option<pb::MutateRowsResponse>, Exception> {
    if method != "MutateRows" {
        return Ok(None);
    }
    let table = region.table.id();
    let (mut changes, mut durability) = (Vec::new(), basalt_model::Durability::Skip);
    for message in request.mutation_request {
        let change = mutation::change(message, &mut CellReader::default())?;
        region.check_row(change.mutation.row())?;
        durability = durability.max(region.durability(change.durability));
        changes.push((table, change.mutation));
    }
    let checks = conditions(region, request.condition)?;
    if changes.is_empty() {
        return Ok(Some(pb::MutateRowsResponse { processed: Some(true) }));
    }
    let nonce = (request.nonce_group.unwrap_or(0), request.nonce.unwrap_or(0));
    let processed = match node.nonces.begin(nonce) {
        Seen::New => {
            let made = node.db.mutate_if(&checks, &changes, durability);
            node.nonces.end(nonce, made.is_ok());
            made.map_err(failure::of_store)?
        }
        Seen::UnderWay => {
            return Err(Exception::new(exception::REGION_TOO_BUSY, "the same changes are being made"));
        }
        Seen::Done => true,
    };
    Ok(Some(pb::MutateRowsResponse { processed: Some(processed) }))
}

/// Conditions, of rows that need not be among those that change, but have to lie in the region as well.
fn conditions(
    region: &Region,
    messages: Vec<pb::Condition>,
) -> Result<Vec<(TableId, CheckAndMutate)>, Exception> {
    let checked = |message| {
        let check = mutation::check_and_mutate(message, Vec::new())?;
        region.check_row(&check.row)?;
        Ok((region.table.id(), check))
    };
    messages.into_iter().map(checked).collect()
}
