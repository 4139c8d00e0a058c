// SPDX-License-Identifier: Apache-2.0
//! Deletes what a scan finds, in batches, without the rows travelling to the client and back.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering::Relaxed;

use basalt_model::operation::DeletePart;
use basalt_model::{Delete, Durability, Mutation, TableId};
use basalt_store::Row;
use basalt_wire::{Exception, pb};
use bytes::Bytes;
use pb::bulk_delete_request::DeleteType;

use super::scan;
use crate::failure;
use crate::node::Node;
use crate::regions::Region;

/// Rows that are deleted together, at most, whatever the client says.
const BATCH_MAX: usize = 10_000;

/// The answer; `None` if there is no such method.
pub(super) fn call(
    node: &Node,
    region: &Region,
    method: &str,
    request: pb::BulkDeleteRequest,
) -> Result<Option<pb::BulkDeleteResponse>, Exception> {
    if method != "delete" {
        return Ok(None);
    }
    let (kind, timestamp) = (request.delete_type(), request.timestamp.map(|at| at as i64));
    let batch = (request.row_batch_size as usize).clamp(1, BATCH_MAX);
    let (mut rows, mut versions) = (0, 0);
    let mut waiting: Vec<(TableId, Mutation)> = Vec::new();
    for row in scan(region, request.scan)? {
        let row = row.map_err(failure::of_store)?;
        let delete = delete_of(&row, kind, timestamp);
        rows += 1;
        versions += delete.parts.len() as u64;
        waiting.push((region.table.id(), delete.into()));
        if waiting.len() >= batch {
            commit(node, &mut waiting)?;
        }
    }
    commit(node, &mut waiting)?;
    let versions_deleted = (kind == DeleteType::Version).then_some(versions);
    Ok(Some(pb::BulkDeleteResponse { rows_deleted: rows, versions_deleted }))
}

fn commit(node: &Node, waiting: &mut Vec<(TableId, Mutation)>) -> Result<(), Exception> {
    if !waiting.is_empty() {
        node.writes.fetch_add(waiting.len() as u64, Relaxed);
        node.db.mutate(waiting, Durability::default()).map_err(failure::of_store)?;
        waiting.clear();
    }
    Ok(())
}

/// What goes of a row that was found.
fn delete_of(row: &Row, kind: DeleteType, timestamp: Option<i64>) -> Delete {
    let mut delete = Delete::new(Bytes::copy_from_slice(row.key()));
    delete.timestamp = timestamp;
    // Each family and column once, each version that was found.
    let mut seen = BTreeSet::new();
    for cell in row.cells() {
        let family = Bytes::copy_from_slice(cell.family);
        let qualifier = Bytes::copy_from_slice(cell.qualifier);
        let part = match kind {
            DeleteType::Row => break,
            DeleteType::Family => DeletePart::Family { family: family.clone(), timestamp },
            DeleteType::Column => {
                DeletePart::Column { family: family.clone(), qualifier: qualifier.clone(), timestamp }
            }
            DeleteType::Version => {
                let timestamp = timestamp.or(Some(cell.timestamp));
                DeletePart::Version { family: family.clone(), qualifier: qualifier.clone(), timestamp }
            }
        };
        let key = match kind {
            DeleteType::Family => (family, Bytes::new(), 0),
            DeleteType::Version => (family, qualifier, timestamp.unwrap_or(cell.timestamp)),
            _ => (family, qualifier, 0),
        };
        if seen.insert(key) {
            delete.parts.push(part);
        }
    }
    delete
}
