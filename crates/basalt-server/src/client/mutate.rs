// SPDX-License-Identifier: Apache-2.0
//! Single changes: puts, deletes, increments, appends, and those under a condition.

use std::sync::atomic::Ordering::Relaxed;

use basalt_model::{Get, Mutation};
use basalt_store::Row;
use basalt_wire::mutation::{self, Change};
use basalt_wire::result::{self, CellForm};
use basalt_wire::{Exception, exception, pb};
use bytes::BytesMut;

use crate::call::{Context, Incoming, Reply};
use crate::failure;
use crate::node::Node;
use crate::nonces::Seen;
use crate::regions::Region;

pub(super) fn call(node: &Node, context: &Context, mut incoming: Incoming) -> Result<Reply, Exception> {
    let request: pb::MutateRequest = incoming.decode()?;
    let region = node.region(&request.region)?;
    let change = mutation::change(request.mutation, &mut incoming.cells)?;
    region.check_row(change.mutation.row())?;
    let mut cells = BytesMut::new();
    let answers = change.return_results && answers_with_cells(&change.mutation);
    let nonce = (request.nonce_group.unwrap_or(0), change.nonce);
    let (applied, row) = match request.condition {
        None => (true, once(node, &region, nonce, change)?),
        Some(condition) => under_condition(node, &region, condition, change)?,
    };
    let result = match answers {
        true if applied => Some(result::of_cells(row.cells(), context.form, &mut cells)),
        _ => None,
    };
    let response = pb::MutateResponse { result, processed: Some(applied), metrics: None };
    Ok(Reply::with_cells(&response, cells))
}

fn answers_with_cells(mutation: &Mutation) -> bool {
    matches!(mutation, Mutation::Increment(_) | Mutation::Append(_))
}

fn under_condition(
    node: &Node,
    region: &Region,
    condition: pb::Condition,
    change: Change,
) -> Result<(bool, Row), Exception> {
    let check = mutation::check_and_mutate(condition, vec![change.mutation])?;
    node.writes.fetch_add(1, Relaxed);
    let table = region.table_for(change.durability);
    let outcome = table.check_and_mutate(&check).map_err(failure::of_store)?;
    Ok((outcome.applied, outcome.row))
}

/// Makes a change, unless its number says that it was made before. Gives the new values of increments and appends.
pub(super) fn once(
    node: &Node,
    region: &Region,
    nonce: (u64, u64),
    change: Change,
) -> Result<Row, Exception> {
    node.writes.fetch_add(1, Relaxed);
    let table = region.table_for(change.durability);
    if !answers_with_cells(&change.mutation) {
        return table.mutate_row([change.mutation]).map_err(failure::of_store);
    }
    match node.nonces.begin(nonce) {
        Seen::New => {
            let made = table.mutate_row([change.mutation]);
            node.nonces.end(nonce, made.is_ok());
            made.map_err(failure::of_store)
        }
        // The client gave up waiting; it will find the change made when it asks again.
        Seen::UnderWay => Err(Exception::new(exception::REGION_TOO_BUSY, "the same change is being made")),
        Seen::Done => region.table.get(&current(&change.mutation)).map_err(failure::of_store),
    }
}

/// A get of the columns that a change concerns.
fn current(mutation: &Mutation) -> Get {
    let mut get = Get::new(bytes::Bytes::copy_from_slice(mutation.row()));
    match mutation {
        Mutation::Increment(increment) => {
            for (family, qualifier, _) in &increment.amounts {
                get = get.column(family.clone(), qualifier.clone());
            }
        }
        Mutation::Append(append) => {
            for (family, qualifier, _) in &append.values {
                get = get.column(family.clone(), qualifier.clone());
            }
        }
        Mutation::Put(_) | Mutation::Delete(_) => {}
    }
    get
}

/// The result of a change for a list of results; puts and deletes have an empty one.
pub(super) fn result_of(row: &Row, form: CellForm, cells: &mut BytesMut) -> pb::Result {
    match row.is_empty() {
        true => pb::Result::default(),
        false => result::of_cells(row.cells(), form, cells),
    }
}
