// SPDX-License-Identifier: Apache-2.0
//! Puts and deletes of several rows of a region, all of them or none.

use basalt_model::{Mutation, TableId};
use basalt_wire::{CellReader, Exception, mutation, pb};

use crate::failure;
use crate::node::Node;
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
    let (mut changes, mut durability) = (Vec::new(), basalt_model::Durability::Skip);
    for message in request.mutation_request {
        let change = mutation::change(message, &mut CellReader::default())?;
        if !matches!(change.mutation, Mutation::Put(_) | Mutation::Delete(_)) {
            return Err(Exception::refused("only puts and deletes of several rows can be made together"));
        }
        region.check_row(change.mutation.row())?;
        durability = durability.max(region.durability(change.durability));
        changes.push(change.mutation);
    }
    let processed = match <[pb::Condition; 1]>::try_from(request.condition) {
        Ok([condition]) => {
            let check = mutation::check_and_mutate(condition, changes)?;
            let table = region.table.with_durability(durability);
            table.check_and_mutate(&check).map_err(failure::of_store)?.applied
        }
        Err(conditions) if conditions.is_empty() => {
            let table: TableId = region.table.id();
            let changes: Vec<(TableId, Mutation)> =
                changes.into_iter().map(|change| (table, change)).collect();
            if !changes.is_empty() {
                node.db.mutate(&changes, durability).map_err(failure::of_store)?;
            }
            true
        }
        Err(_) => {
            return Err(Exception::refused(
                "several conditions for changes of several rows; expected one at most",
            ));
        }
    };
    Ok(Some(pb::MutateRowsResponse { processed: Some(processed) }))
}
