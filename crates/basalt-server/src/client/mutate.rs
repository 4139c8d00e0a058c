// SPDX-License-Identifier: Apache-2.0
//! Single changes: puts, deletes, increments, appends, and those under a condition.

use std::sync::atomic::Ordering::Relaxed;

use basalt_model::{CellRef, Get, Mutation};
use basalt_store::Row;
use basalt_wire::mutation::{self, Change};
use basalt_wire::result::{self, CellForm};
use basalt_wire::{Exception, exception, pb};
use bytes::{Bytes, BytesMut};

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
    // Who does not want the new cells gets a result without them.
    let answers = answers_with_cells(&change.mutation).then_some(change.return_results);
    let nonce = (request.nonce_group.unwrap_or(0), change.nonce);
    let (applied, row) = match request.condition {
        None => (true, once(node, &region, nonce, change)?),
        Some(condition) => under_condition(node, &region, condition, change)?,
    };
    let result = answers.filter(|_| applied).map(|with_cells| match with_cells {
        true => result::of_cells(row.cells(), context.form, &mut cells),
        false => pb::Result::default(),
    });
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
    let mut get = Get::new(Bytes::copy_from_slice(mutation.row()));
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

/// The columns of which a change has new values, in their order, and whether the client wants those.
pub(super) struct NewValues {
    columns: Vec<(Bytes, Bytes)>,
    wanted: bool,
}

impl NewValues {
    pub(super) fn of(change: &Change) -> Self {
        let mut columns: Vec<(Bytes, Bytes)> = match &change.mutation {
            Mutation::Increment(increment) => increment
                .amounts
                .iter()
                .map(|(family, qualifier, _)| (family.clone(), qualifier.clone()))
                .collect(),
            Mutation::Append(append) => append
                .values
                .iter()
                .map(|(family, qualifier, _)| (family.clone(), qualifier.clone()))
                .collect(),
            Mutation::Put(_) | Mutation::Delete(_) => Vec::new(),
        };
        columns.sort_unstable();
        Self { columns, wanted: change.return_results }
    }
}

/// The result of changes of one row: of all new values, which `row` has by column, those that are wanted, by change.
pub(super) fn result_of(
    changes: &[NewValues],
    row: &Row,
    form: CellForm,
    cells: &mut BytesMut,
) -> pb::Result {
    let mut left: Vec<CellRef<'_>> = row.cells().collect();
    let mut wanted = Vec::new();
    for change in changes {
        for (family, qualifier) in &change.columns {
            // Of a column that several changes concern the values have the order of the changes.
            let at = left.iter().position(|cell| cell.family == family && cell.qualifier == qualifier);
            let cell = at.map(|at| left.remove(at));
            wanted.extend(cell.filter(|_| change.wanted));
        }
    }
    match wanted.is_empty() {
        true => pb::Result::default(),
        false => result::of_cells(wanted.into_iter(), form, cells),
    }
}
