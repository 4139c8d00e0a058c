// SPDX-License-Identifier: Apache-2.0
//! Many actions in one call. Each succeeds or fails alone, but for those of one row that belong together.
//!
//! The cells of all actions lie one after the other in the request's block: whatever fails, the cells of what failed are
//! taken off, or those of the next action would be taken for them.
//!
//! Puts and deletes that follow each other are committed as one batch: one turn in the log for thousands of rows. Puts of the usual form
//! go from the request into the batch without anything in between ([`PutParts`]). Gets that follow each other are looked up
//! together ([`gets`]).

use std::sync::atomic::Ordering::Relaxed;

use basalt_model::mutation::ROW_HEADER;
use basalt_model::{Durability, Mutation, WriteBatch};
use basalt_wire::multi::{self, GetParts, PutParts, RegionActions};
use basalt_wire::mutation::{self, Change};
use basalt_wire::result::{self, CellForm};
use basalt_wire::{CellReader, Exception, exception, pb};
use bytes::BytesMut;
use prost::Message;
use prost::encoding::{encode_varint, encoded_len_varint};

use super::mutate::NewValues;
use super::{endpoint, get, gets, mutate};
use crate::answers::{Held, Level};
use crate::call::{Context, Incoming, Reply};
use crate::failure;
use crate::node::Node;
use crate::regions::Region;

/// Bytes of cells in one answer, about; actions beyond are not made, and the client sends them again.
const ANSWER_BYTES_MAX: usize = 32 << 20;
/// The same while memory for answers is exhausted: a client sends again only so many times.
const ANSWER_BYTES_MIN: usize = 2 << 20;
/// Changes that are committed together, at most.
const TOGETHER_MAX: usize = 50_000;

pub(super) fn call(node: &Node, context: &Context, mut incoming: Incoming) -> Result<Reply, Exception> {
    let request = multi::Multi::decode(incoming.param.clone())?;
    let mut multi = Multi {
        node,
        form: context.form,
        nonce_group: request.head.nonce_group.unwrap_or(0),
        given: std::mem::take(&mut incoming.cells),
        behind: request.regions.iter().map(|region| region.actions.len()).sum(),
        cells: BytesMut::new(),
        held: node.answers.hold(),
    };
    let mut message = Vec::new();
    let mut last = pb::MultiResponse::default();
    let mut legacy_condition = request.head.condition;
    for mut region in request.regions {
        if region.head.condition.is_none() {
            region.head.condition = legacy_condition.take();
        }
        let results = multi.region_action(region)?;
        last.processed = last.processed.or(results.processed);
        multi::push_field(RESULTS_OF_REGION, &results.encoded, &mut message);
    }
    last.region_statistics = Some(pb::MultiRegionLoadStats::default());
    message.extend_from_slice(&last.encode_to_vec());
    Ok(Reply::encoded(message, multi.cells))
}

/// Number of the field of a `MultiResponse` that holds the results of a region, and in there of that for one action.
const RESULTS_OF_REGION: u32 = 1;
pub(super) const RESULT: u32 = 1;

/// A `RegionActionResult`, encoded.
struct RegionResults {
    encoded: Vec<u8>,
    /// Whether the changes of one row were made.
    processed: Option<bool>,
}

impl RegionResults {
    fn of(message: &pb::RegionActionResult) -> Self {
        Self { encoded: message.encode_to_vec(), processed: message.processed }
    }
}

struct Multi<'a> {
    node: &'a Node,
    form: CellForm,
    nonce_group: u64,
    /// The cells of the request that are not taken yet.
    given: CellReader,
    /// Actions of the regions behind the one that is worked on.
    behind: usize,
    /// The cells of the answer.
    cells: BytesMut,
    /// What they take while they become more.
    held: Held,
}

/// True if an answer that has grown to so many bytes takes no more.
pub(super) fn is_full(held: &Held, bytes: usize) -> bool {
    let exhausted = held.grow(bytes) == Level::Exhausted;
    bytes > ANSWER_BYTES_MAX || exhausted && bytes > ANSWER_BYTES_MIN
}

impl Multi<'_> {
    /// An error only if the rest of the request cannot be understood any more.
    fn region_action(&mut self, message: RegionActions) -> Result<RegionResults, Exception> {
        let RegionActions { mut head, actions } = message;
        self.behind -= actions.len();
        let region = match self.node.region(&head.region) {
            Ok(region) => region,
            Err(exception) => {
                for action in actions {
                    self.skip(&multi::decode(action)?)?;
                }
                return Ok(RegionResults::of(&failed(&exception)));
            }
        };
        if head.atomic() || head.condition.is_some() {
            head.action = actions.into_iter().map(multi::decode).collect::<Result<_, _>>()?;
            return self.of_one_row(&region, head).map(|results| RegionResults::of(&results));
        }
        let mut results = Results::with_capacity(actions.len());
        let mut rest = &actions[..];
        while let Some(action) = rest.first() {
            if self.put(&region, action, rest.len(), &mut results) {
                rest = &rest[1..];
                continue;
            }
            let gets: Vec<GetParts<'_>> =
                rest.iter().map_while(|action| GetParts::of_action(action)).collect();
            if gets.is_empty() {
                self.single(&region, multi::decode(action.clone())?, &mut results)?;
                rest = &rest[1..];
            } else {
                self.gets(&region, &gets, &mut results);
                rest = &rest[gets.len()..];
            }
        }
        self.commit(&mut results);
        Ok(RegionResults { encoded: results.done, processed: None })
    }

    /// Adds an action to the batch that waits, if it is a put of the usual form; nothing happens if it is not. `rest`: actions from this one on.
    fn put(&mut self, region: &Region, action: &[u8], rest: usize, results: &mut Results) -> bool {
        let Some(put) = PutParts::of_action(action) else { return false };
        if is_full(&self.held, self.cells.len()) || !region.range.contains(put.row) {
            return false;
        }
        if results.batch.is_empty() {
            let rows = rest.min(TOGETHER_MAX);
            let given = self.given.remaining() / (rest + self.behind) * rows;
            results.batch = WriteBatch::with_capacity(rows, given + rows * ROW_HEADER);
        }
        if !put.write(&mut self.given, region.table.id(), &mut results.batch) {
            return false;
        }
        results.waits(put.index, region, put.durability);
        if results.batch.len() >= TOGETHER_MAX {
            self.commit(results);
        }
        true
    }

    fn gets(&mut self, region: &Region, gets: &[GetParts<'_>], results: &mut Results) {
        self.commit(results);
        let answer = (&mut self.cells, &self.held);
        gets::find(self.node, region, gets, self.form, answer, &mut results.done);
    }

    fn skip(&mut self, action: &pb::Action) -> Result<(), Exception> {
        action
            .mutation
            .iter()
            .try_for_each(|message| self.given.take(mutation::cell_count(message)).map(drop))
    }

    /// Changes of one row that are made together, under a condition or not.
    fn of_one_row(
        &mut self,
        region: &Region,
        message: pb::RegionAction,
    ) -> Result<pb::RegionActionResult, Exception> {
        let mut changes = Vec::with_capacity(message.action.len());
        let indices: Vec<Option<u32>> = message.action.iter().map(|action| action.index).collect();
        let mut refused = None;
        for action in message.action {
            let Some(message) = action.mutation else {
                refused.get_or_insert(Exception::refused("only changes can be made together; found a get"));
                continue;
            };
            match self.change(message)? {
                Ok(change) => changes.push(change),
                Err(exception) => {
                    refused.get_or_insert(exception);
                }
            }
        }
        let values: Vec<NewValues> = changes.iter().map(NewValues::of).collect();
        let outcome = match refused {
            Some(exception) => Err(exception),
            None => self.apply(region, changes, message.condition),
        };
        let (applied, row) = match outcome {
            Ok(outcome) => outcome,
            Err(exception) => return Ok(failed(&exception)),
        };
        let mut results = Vec::with_capacity(indices.len());
        for (at, index) in (0..).zip(indices) {
            let result = Some(match at {
                0 => mutate::result_of(&values, &row, CellForm::Inline, &mut self.cells),
                _ => pb::Result::default(),
            });
            results.push(pb::ResultOrException { index: index.or(Some(at)), result, ..Default::default() });
        }
        Ok(pb::RegionActionResult { result_or_exception: results, exception: None, processed: Some(applied) })
    }

    fn apply(
        &self,
        region: &Region,
        changes: Vec<Change>,
        condition: Option<pb::Condition>,
    ) -> Result<(bool, basalt_store::Row), Exception> {
        self.node.writes.fetch_add(1, Relaxed);
        let durability =
            changes.iter().map(|change| region.durability(change.durability)).max().unwrap_or_default();
        let table = region.table.with_durability(durability);
        let mutations: Vec<Mutation> = changes.into_iter().map(|change| change.mutation).collect();
        for mutation in &mutations {
            region.check_row(mutation.row())?;
        }
        match condition {
            None => Ok((true, table.mutate_row(mutations).map_err(failure::of_store)?)),
            Some(condition) => {
                let check = mutation::check_and_mutate(condition, mutations)?;
                let outcome = table.check_and_mutate(&check).map_err(failure::of_store)?;
                Ok((outcome.applied, outcome.row))
            }
        }
    }

    /// The outer error is one of the cell block: nothing behind it can be read.
    fn change(&mut self, message: pb::MutationProto) -> Result<Result<Change, Exception>, Exception> {
        let (before, count) = (self.given.clone(), mutation::cell_count(&message));
        let change = mutation::change(message, &mut self.given);
        if change.is_err() {
            self.given = before;
            self.given.take(count)?;
        }
        Ok(change)
    }

    fn single(
        &mut self,
        region: &Region,
        action: pb::Action,
        results: &mut Results,
    ) -> Result<(), Exception> {
        let index = action.index;
        if is_full(&self.held, self.cells.len()) {
            self.skip(&action)?;
            results.push(index, Err(too_large()));
            return Ok(());
        }
        if let Some(message) = action.get {
            self.commit(results);
            let found = get::of_region(self.node, region, message, self.form, &mut self.cells);
            results.push(index, found);
        } else if let Some(message) = action.mutation {
            match self.change(message)? {
                Ok(change) => self.make(region, index, change, results),
                Err(exception) => results.push(index, Err(exception)),
            }
        } else if let Some(call) = action.service_call {
            self.commit(results);
            results.push_service(index, endpoint::answer(self.node, region, &call));
        } else {
            results.push(
                index,
                Err(Exception::refused("an action without a get, a change or a call of a service")),
            );
        }
        Ok(())
    }

    fn make(&mut self, region: &Region, index: Option<u32>, change: Change, results: &mut Results) {
        if let Err(exception) = region.check_row(change.mutation.row()) {
            results.push(index, Err(exception));
            return;
        }
        let before = results.batch.len();
        match self.node.db.add_blind(region.table.id(), &change.mutation, &mut results.batch) {
            Err(error) => return results.push(index, Err(failure::of_store(error))),
            // A delete of a table without families.
            Ok(true) if results.batch.len() == before => return results.push_done(index),
            Ok(true) => {
                results.waits(index, region, change.durability);
                if results.batch.len() >= TOGETHER_MAX {
                    self.commit(results);
                }
                return;
            }
            Ok(false) => {}
        }
        self.commit(results);
        let (return_results, nonce) = (change.return_results, (self.nonce_group, change.nonce));
        let made = mutate::once(self.node, region, nonce, change);
        let result = made.map(|row| match return_results && !row.is_empty() {
            true => result::of_cells(row.cells(), self.form, &mut self.cells),
            false => pb::Result::default(),
        });
        results.push(index, result);
    }

    /// Commits the puts and deletes that wait. If one of them cannot be, it alone fails.
    fn commit(&self, results: &mut Results) {
        let durability = results.durability.take().unwrap_or_default();
        let batch = std::mem::take(&mut results.batch);
        if batch.is_empty() {
            return;
        }
        let indices = std::mem::take(&mut results.waiting);
        self.node.writes.fetch_add(indices.len() as u64, Relaxed);
        let mut failed = self.node.db.write_rows(batch, durability).into_iter().peekable();
        for (row, index) in indices.into_iter().enumerate() {
            match failed.next_if(|(failed, _)| *failed == row) {
                Some((_, error)) => results.push(index, Err(failure::of_store(error))),
                None => results.push_done(index),
            }
        }
    }
}

/// Why an action is not done when the answer is full.
pub(super) fn too_large() -> Exception {
    Exception::new(exception::MULTI_TOO_LARGE, "the answer is full; the rest was not done, send it again")
}

/// The results of one region's actions.
struct Results {
    /// What puts and deletes that wait to be committed together write: a row each.
    batch: WriteBatch,
    /// Their numbers.
    waiting: Vec<Option<u32>>,
    /// The strongest that one of them asks for.
    durability: Option<Durability>,
    /// That of the table, if it was needed.
    default_durability: Option<Durability>,
    /// Encoded, one field each.
    done: Vec<u8>,
}

/// Bytes of an empty result, but for indices above 127: `0a 04 | 08 07 | 12 00` is that of action 7.
const DONE_BYTES: usize = 8;

impl Results {
    fn with_capacity(actions: usize) -> Self {
        Self {
            batch: WriteBatch::new(),
            waiting: Vec::with_capacity(actions.min(TOGETHER_MAX)),
            durability: None,
            default_durability: None,
            done: Vec::with_capacity(actions * DONE_BYTES),
        }
    }

    /// Takes note of a row that was added to the batch.
    fn waits(&mut self, index: Option<u32>, region: &Region, asked: Option<Durability>) {
        let default = || *self.default_durability.get_or_insert_with(|| region.durability(None));
        let durability = asked.unwrap_or_else(default);
        self.durability = self.durability.max(Some(durability));
        self.waiting.push(index);
    }

    /// Appends an empty result.
    fn push_done(&mut self, index: Option<u32>) {
        let Some(index) = index else { return self.push(None, Ok(pb::Result::default())) };
        let len = 1 + encoded_len_varint(index.into()) + 2;
        self.done.extend_from_slice(&[0x0a, len as u8, 0x08]);
        encode_varint(index.into(), &mut self.done);
        self.done.extend_from_slice(&[0x12, 0]);
    }

    fn push(&mut self, index: Option<u32>, result: Result<pb::Result, Exception>) {
        push_result(index, result, &mut self.done);
    }

    fn push_service(&mut self, index: Option<u32>, value: Result<pb::NameBytesPair, Exception>) {
        let (value, exception) = match value {
            Ok(value) => (Some(value), None),
            Err(exception) => (None, Some(exception.to_pair())),
        };
        let service_result = value.map(|value| pb::CoprocessorServiceResult { value: Some(value) });
        let result = pb::ResultOrException { index, exception, service_result, ..Default::default() };
        prost::encoding::message::encode(RESULT, &result, &mut self.done);
    }
}

/// Appends what became of an action.
pub(super) fn push_result(index: Option<u32>, result: Result<pb::Result, Exception>, done: &mut Vec<u8>) {
    let (result, exception) = match result {
        Ok(result) => (Some(result), None),
        Err(exception) => (None, Some(exception.to_pair())),
    };
    let result = pb::ResultOrException { index, result, exception, ..Default::default() };
    prost::encoding::message::encode(RESULT, &result, done);
}

fn failed(exception: &Exception) -> pb::RegionActionResult {
    pb::RegionActionResult { exception: Some(exception.to_pair()), ..Default::default() }
}
