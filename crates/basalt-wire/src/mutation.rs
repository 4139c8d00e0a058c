// SPDX-License-Identifier: Apache-2.0
//! Changes of rows from their messages. The cells are inside of the message, or they are the next ones of the request's
//! cell block.

use basalt_model::filter::Comparator;
use basalt_model::operation::{DeletePart, NewCell};
use basalt_model::{
    Append, CellType, CheckAndMutate, Condition, Delete, Durability, Increment, LATEST_TIMESTAMP, Mutation,
    Put,
};
use bytes::Bytes;

use crate::cell_block::{CellReader, WireCell};
use crate::comparator::{comparator, compare_op};
use crate::exception::Exception;
use crate::read::time_range;
use crate::{filter, pb};

/// Attribute: milliseconds after which the cells expire.
const TTL: &str = "_ttl";
/// Attribute: whether an increment or append answers with the new cells.
const RETURN_RESULTS: &str = "_rr_";

/// A change, and what the client wants to know of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// What to do.
    pub mutation: Mutation,
    /// When it is acknowledged.
    pub durability: Option<Durability>,
    /// Answer with the new cells.
    pub return_results: bool,
    /// Number of the change, unique in its group; 0 for none.
    pub nonce: u64,
}

/// The change of a message; `cells` stands before its cells and is moved behind them, also if the change is refused.
pub fn change(message: pb::MutationProto, cells: &mut CellReader) -> Result<Change, Exception> {
    let of_block = cells.take(cell_count(&message))?;
    let given = match of_block.is_empty() {
        true => inline_cells(&message)?,
        false => of_block,
    };
    let row = message.row.clone().or_else(|| given.first().map(|cell| cell.row.clone())).unwrap_or_default();
    if let Some(cell) = given.iter().find(|cell| cell.row != row) {
        let (row, other) = (row.escape_ascii(), cell.row.escape_ascii());
        return Err(Exception::refused(format!("a cell of row {other} in a change of row {row}")));
    }
    if given.iter().any(|cell| !cell.tags.is_empty()) {
        return Err(Exception::refused("cells with tags cannot be stored"));
    }
    let ttl_ms = ttl(&message)?;
    let timestamp = message.timestamp.map(|at| at as i64).filter(|&at| at != LATEST_TIMESTAMP);
    let kind = message.mutate_type();
    if ttl_ms.is_some() && kind == pb::mutation_proto::MutationType::Delete {
        return Err(Exception::refused(
            "a time to live is only possible for cells with values, not for deletes",
        ));
    }
    let return_results = attribute(&message, RETURN_RESULTS).is_none_or(|value| value.first() != Some(&0));
    let (nonce, range) = (message.nonce.unwrap_or(0), time_range(message.time_range));
    let mutation = match kind {
        pb::mutation_proto::MutationType::Put => put(row, given, timestamp, ttl_ms)?,
        pb::mutation_proto::MutationType::Delete => delete(row, given, timestamp)?,
        pb::mutation_proto::MutationType::Increment => {
            let mut increment = Increment::new(row);
            (increment.time_range, increment.ttl_ms) = (range, ttl_ms);
            increment.timestamp = new_timestamp(&given).or(timestamp);
            increment.amounts = amounts(given)?;
            Mutation::Increment(increment)
        }
        pb::mutation_proto::MutationType::Append => {
            let mut append = Append::new(row);
            (append.time_range, append.ttl_ms) = (range, ttl_ms);
            append.timestamp = new_timestamp(&given).or(timestamp);
            append.values = given.into_iter().map(|cell| (cell.family, cell.qualifier, cell.value)).collect();
            Mutation::Append(append)
        }
    };
    Ok(Change { mutation, durability: durability(message.durability), return_results, nonce })
}

/// Cells of a change in the block of its request.
pub fn cell_count(message: &pb::MutationProto) -> usize {
    usize::try_from(message.associated_cell_count()).unwrap_or(0)
}

/// The condition of a message, with the changes that it guards.
pub fn check_and_mutate(
    message: pb::Condition,
    mutations: Vec<Mutation>,
) -> Result<CheckAndMutate, Exception> {
    let condition = match message.filter {
        Some(message) => Condition::Filter(filter::decode(message)?),
        None => Condition::Value {
            family: message.family.unwrap_or_default(),
            qualifier: message.qualifier.unwrap_or_default(),
            op: compare_op(message.compare_type.unwrap_or(pb::CompareType::Equal as i32))?,
            value: given_value(message.comparator)?,
        },
    };
    let mut check = CheckAndMutate::new(message.row, condition).time_range(time_range(message.time_range));
    check.mutations = mutations;
    Ok(check)
}

fn given_value(message: Option<pb::Comparator>) -> Result<Bytes, Exception> {
    let Some(message) = message else { return Ok(Bytes::new()) };
    let class = message.name.clone();
    match comparator(message)? {
        Comparator::Binary(value) => Ok(value),
        Comparator::Null => Ok(Bytes::new()),
        _ => Err(Exception::refused(format!("a condition with a {class}; expected a BinaryComparator"))),
    }
}

/// The durability of this number, if it is one that a client asks for.
pub(crate) fn durability(number: Option<i32>) -> Option<Durability> {
    match pb::mutation_proto::Durability::try_from(number?).ok()? {
        pb::mutation_proto::Durability::SkipWal => Some(Durability::Skip),
        pb::mutation_proto::Durability::AsyncWal => Some(Durability::Async),
        pb::mutation_proto::Durability::SyncWal => Some(Durability::Sync),
        pb::mutation_proto::Durability::FsyncWal => Some(Durability::Fsync),
        pb::mutation_proto::Durability::UseDefault => None,
    }
}

fn attribute<'a>(message: &'a pb::MutationProto, name: &str) -> Option<&'a Bytes> {
    message.attribute.iter().find(|pair| pair.name == name)?.value.as_ref()
}

fn ttl(message: &pb::MutationProto) -> Result<Option<u64>, Exception> {
    let Some(value) = attribute(message, TTL) else { return Ok(None) };
    let millis =
        <[u8; 8]>::try_from(&value[..]).map(i64::from_be_bytes).ok().and_then(|ms| u64::try_from(ms).ok());
    millis.map(Some).ok_or_else(|| {
        Exception::refused(format!(
            "attribute {TTL} has {} bytes; expected 8, a number of milliseconds",
            value.len()
        ))
    })
}

/// The cells inside of the message, as a block would have them.
fn inline_cells(message: &pb::MutationProto) -> Result<Vec<WireCell>, Exception> {
    let row = message.row.clone().unwrap_or_default();
    let is_delete = message.mutate_type() == pb::mutation_proto::MutationType::Delete;
    let mut cells = Vec::new();
    for column in &message.column_value {
        for value in &column.qualifier_value {
            cells.push(WireCell {
                row: row.clone(),
                family: column.family.clone(),
                qualifier: value.qualifier.clone().unwrap_or_default(),
                timestamp: value.timestamp.or(message.timestamp).map_or(LATEST_TIMESTAMP, |at| at as i64),
                // A put may hold markers, too: its cells then say so.
                cell_type: match value.delete_type {
                    None if !is_delete => CellType::Put,
                    kind => delete_type(kind)?,
                },
                value: value.value.clone().unwrap_or_default(),
                tags: value.tags.clone().unwrap_or_default(),
            });
        }
    }
    Ok(cells)
}

fn delete_type(number: Option<i32>) -> Result<CellType, Exception> {
    use pb::mutation_proto::DeleteType;
    let Some(number) = number else { return Ok(CellType::Delete) };
    Ok(match DeleteType::try_from(number) {
        Ok(DeleteType::DeleteOneVersion) => CellType::Delete,
        Ok(DeleteType::DeleteMultipleVersions) => CellType::DeleteColumn,
        Ok(DeleteType::DeleteFamily) => CellType::DeleteFamily,
        Ok(DeleteType::DeleteFamilyVersion) => CellType::DeleteFamilyVersion,
        Err(_) => return Err(Exception::refused(format!("kind {number} of delete is not known"))),
    })
}

fn put(
    row: Bytes,
    cells: Vec<WireCell>,
    timestamp: Option<i64>,
    ttl_ms: Option<u64>,
) -> Result<Mutation, Exception> {
    if cells.iter().any(|cell| cell.cell_type.is_delete()) {
        return Err(Exception::refused("a put holds a delete marker"));
    }
    let mut put = Put::new(row);
    put.ttl_ms = ttl_ms;
    put.cells.reserve_exact(cells.len());
    for cell in cells {
        let timestamp = cell.given_timestamp().or(timestamp);
        put.cells.push(NewCell {
            family: cell.family,
            qualifier: cell.qualifier,
            timestamp,
            value: cell.value,
        });
    }
    Ok(Mutation::Put(put))
}

fn delete(row: Bytes, cells: Vec<WireCell>, timestamp: Option<i64>) -> Result<Mutation, Exception> {
    let mut delete = Delete::new(row);
    delete.timestamp = timestamp;
    for cell in cells {
        let given = cell.given_timestamp();
        let (family, qualifier) = (cell.family, cell.qualifier);
        delete.parts.push(match cell.cell_type {
            CellType::Delete => DeletePart::Version { family, qualifier, timestamp: given },
            CellType::DeleteColumn => DeletePart::Column { family, qualifier, timestamp: given },
            CellType::DeleteFamily => DeletePart::Family { family, timestamp: given },
            CellType::DeleteFamilyVersion => DeletePart::FamilyVersion { family, timestamp: cell.timestamp },
            CellType::Put => return Err(Exception::refused("a delete holds a value")),
        });
    }
    Ok(Mutation::Delete(delete))
}

/// The timestamp that the cells of an increment or append ask for, if they do.
fn new_timestamp(cells: &[WireCell]) -> Option<i64> {
    cells.iter().find_map(WireCell::given_timestamp)
}

fn amounts(cells: Vec<WireCell>) -> Result<Vec<(Bytes, Bytes, i64)>, Exception> {
    let amount = |cell: WireCell| {
        let number = <[u8; 8]>::try_from(&cell.value[..]).map_err(|_| {
            Exception::refused(format!("an amount of {} bytes in an increment; expected 8", cell.value.len()))
        })?;
        Ok((cell.family, cell.qualifier, i64::from_be_bytes(number)))
    };
    cells.into_iter().map(amount).collect()
}

#[cfg(test)]
mod tests;
