// SPDX-License-Identifier: Apache-2.0
//! Many gets of one region in one call.
//!
//! ```text
//! actions -> part | part      one thread each, if there are many gets and threads are free
//! part    -> sorted by row -> looked up, block by block -> cells in the order of the actions
//! ```
//!
//! What gets ask for beside their row is read once for all that ask for the same.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use basalt_model::operation::ReadOptions;
use basalt_store::{Lookups, Snapshot};
use basalt_wire::multi::GetParts;
use basalt_wire::result::{self, CellForm};
use basalt_wire::{Exception, pb, read};
use bytes::BytesMut;
use prost::Message;

use super::multi::{is_full, push_result, too_large};
use crate::answers::Held;
use crate::failure;
use crate::node::Node;
use crate::regions::Region;

/// Gets that are worth a thread.
const GETS_PER_THREAD: usize = 2048;
/// Wishes that are kept to be compared with.
const WISHES_MAX: usize = 64;

/// Looks the gets up. Their results are appended to `done` in their order, the cells of those to `cells`, of which `held` counts the bytes.
pub(super) fn find(
    node: &Node,
    region: &Region,
    gets: &[GetParts<'_>],
    form: CellForm,
    (cells, held): (&mut BytesMut, &Held),
    done: &mut Vec<u8>,
) {
    node.reads.fetch_add(gets.len() as u64, Relaxed);
    let helpers = node.helpers((gets.len() / GETS_PER_THREAD).saturating_sub(1));
    let snapshot = region.table.database().snapshot();
    let used = AtomicUsize::new(cells.len());
    let part = |gets: &[GetParts<'_>]| Part::find(&snapshot, region, gets, form, (&used, held));
    let mut parts = gets.chunks(gets.len().div_ceil(1 + helpers.count).max(1));
    let first = parts.next().unwrap_or_default();
    let parts: Vec<Part> = std::thread::scope(|scope| {
        let others: Vec<_> = parts.map(|gets| scope.spawn(move || part(gets))).collect();
        let first = part(first);
        let others = others
            .into_iter()
            .map(|other| other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        std::iter::once(first).chain(others).collect()
    });
    for part in parts {
        done.extend_from_slice(&part.done);
        match cells.is_empty() {
            true => *cells = part.cells,
            false => cells.extend_from_slice(&part.cells),
        }
    }
}

/// Results of gets that follow each other.
struct Part {
    done: Vec<u8>,
    cells: BytesMut,
}

/// What a get found.
enum Found {
    /// Cells in wire form, so many and where.
    Cells(u32, Range<usize>),
    Message(Result<pb::Result, Exception>),
}

impl Part {
    /// `used`: bytes of the answer so far, over all parts.
    fn find(
        snapshot: &Snapshot,
        region: &Region,
        gets: &[GetParts<'_>],
        form: CellForm,
        (used, held): (&AtomicUsize, &Held),
    ) -> Self {
        let mut search = Search { wishes: Wishes::default(), form, cells: BytesMut::new() };
        let mut found: Vec<Option<Found>> = Vec::new();
        found.resize_with(gets.len(), || None);
        let mut lookups = snapshot.lookups(region.table.id()).map_err(failure::of_store);
        for at in by_row(gets) {
            let before = search.cells.len();
            let get = &gets[at as usize];
            let of_get = match &mut lookups {
                _ if is_full(held, used.load(Relaxed)) => Err(too_large()),
                Err(exception) => Err(exception.clone()),
                Ok(lookups) => search.one(region, lookups, get),
            };
            let inline = match &of_get {
                Ok(Found::Message(Ok(result))) => result.encoded_len(),
                _ => 0,
            };
            used.fetch_add(search.cells.len() - before + inline, Relaxed);
            found[at as usize] = Some(of_get.unwrap_or_else(|exception| Found::Message(Err(exception))));
        }
        let mut part = Self { done: Vec::new(), cells: BytesMut::with_capacity(search.cells.len()) };
        for (get, found) in gets.iter().zip(found) {
            part.push(get.index, found.expect("every get is looked up"), &search.cells);
        }
        part
    }

    fn push(&mut self, index: Option<u32>, found: Found, cells: &[u8]) {
        let result = match found {
            Found::Message(result) => result,
            Found::Cells(count, range) => {
                self.cells.extend_from_slice(&cells[range]);
                let count = i32::try_from(count).expect("a row in memory has fewer than 2^31 cells");
                Ok(pb::Result {
                    associated_cell_count: Some(count),
                    stale: Some(false),
                    ..Default::default()
                })
            }
        };
        push_result(index, result, &mut self.done);
    }
}

/// Looks one row up after the other.
struct Search<'a> {
    wishes: Wishes<'a>,
    form: CellForm,
    /// In wire form, in the order in which they are found.
    cells: BytesMut,
}

impl<'a> Search<'a> {
    fn one(
        &mut self,
        region: &Region,
        lookups: &mut Lookups<'_>,
        get: &GetParts<'a>,
    ) -> Result<Found, Exception> {
        let wish = self.wishes.of(get.options)?;
        region.check_row(get.row)?;
        let row = lookups.get(get.row, &wish.options).map_err(failure::of_store)?;
        if wish.existence_only {
            return Ok(Found::Message(Ok(result::of_existence(!row.is_empty()))));
        }
        let start = self.cells.len();
        let message = result::of_cells(row.cells(), self.form, &mut self.cells);
        Ok(match self.form {
            CellForm::Inline => Found::Message(Ok(message)),
            CellForm::Block => Found::Cells(row.len() as u32, start..self.cells.len()),
        })
    }
}

/// What a get asks for beside its row.
struct Wish {
    options: ReadOptions,
    existence_only: bool,
}

/// The wishes that were read, by the bytes that say them.
#[derive(Default)]
struct Wishes<'a> {
    known: Vec<(&'a [u8], Wish)>,
    last: usize,
}

impl<'a> Wishes<'a> {
    fn of(&mut self, encoded: &'a [u8]) -> Result<&Wish, Exception> {
        if self.known.get(self.last).is_none_or(|(known, _)| *known != encoded) {
            self.last = match self.known.iter().position(|(known, _)| *known == encoded) {
                Some(at) => at,
                None => self.read(encoded)?,
            };
        }
        Ok(&self.known[self.last].1)
    }

    fn read(&mut self, encoded: &'a [u8]) -> Result<usize, Exception> {
        let message = pb::Get::decode(encoded)
            .map_err(|error| Exception::refused(format!("a get of the call cannot be read: {error}")))?;
        let existence_only = message.existence_only();
        let wish = Wish { options: read::get(message)?.options, existence_only };
        if self.known.len() >= WISHES_MAX {
            self.known.clear();
        }
        self.known.push((encoded, wish));
        Ok(self.known.len() - 1)
    }
}

/// The positions of the gets in the order of their rows.
fn by_row(gets: &[GetParts<'_>]) -> Vec<u32> {
    // Rows of a table often begin alike: what follows that, as a number, decides nearly always, without a look at the rows.
    let common = common_prefix(gets);
    let number = |row: &[u8]| {
        let mut bytes = [0; 8];
        let len = (row.len() - common).min(8);
        bytes[..len].copy_from_slice(&row[common..common + len]);
        u64::from_be_bytes(bytes)
    };
    let mut order: Vec<(u64, u32)> = gets.iter().map(|get| number(get.row)).zip(0..).collect();
    let row = |at: u32| gets[at as usize].row;
    order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| row(a.1).cmp(row(b.1))));
    order.into_iter().map(|(_, at)| at).collect()
}

/// How many bytes all rows have in common at their front.
fn common_prefix(gets: &[GetParts<'_>]) -> usize {
    let Some((first, others)) = gets.split_first() else { return 0 };
    let mut common = first.row.len();
    for get in others {
        common = first.row[..common].iter().zip(get.row).take_while(|(a, b)| a == b).count();
    }
    common
}

#[cfg(test)]
mod tests;
