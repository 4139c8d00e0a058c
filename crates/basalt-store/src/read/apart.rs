// SPDX-License-Identifier: Apache-2.0
//! Rows of a SQL table that lie in several families, each read by a scan of its own and put together by their keys.
//!
//! So row groups of every family pass as they are ([`super::straight`]), which they cannot where the cells of families are merged
//! row by row. What is wanted of a family comes in batches with the key beside it. Where the batches have the same keys, which is
//! the rule, columns are laid side by side; elsewhere the rows of each family find their place by comparing keys, and where a family
//! has no row its columns are NULL.
//!
//! A condition on columns of one family is told to the scan of that family if no row without a value there satisfies it. It leaves out
//! vectors in which no row passes, and what it leaves out is left out altogether; single rows it does not, so that families stay in step.
//! The caller looks at every row all the same.

mod sides;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow::array::{
    Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array, new_empty_array, new_null_array,
};
use arrow::compute::{SortOptions, interleave, take};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};
use basalt_hfile::Encoding;
use basalt_hfile::typed::{TypedError, arrow_type, projected_schema};
use basalt_model::{ColumnRef, FamilyDescriptor, KeyRange, SortOrder, SqlType, TableDescriptor, TableSchema};

use self::sides::{Side, needed, predicate_of};
use super::access::ReadCounters;
use super::rows::{Condition, RowBatch, RowRequest, RowScan};
use super::scan::CellScan;
use crate::{Error, Result};

/// Opens the cells of some families in some ranges.
pub(crate) type Open = Box<dyn Fn(Vec<KeyRange>, Vec<String>) -> Result<CellScan> + Send>;

/// The next ranges of a scan that is told only while it runs what it reads; `None` if there is nothing more.
pub(crate) type NextRanges = Box<dyn FnMut() -> Option<Vec<KeyRange>> + Send>;

/// Rows side by side from which on they are handed out by themselves; fewer come with those around them.
const IN_STEP_MIN: usize = 256;

/// See the module.
pub struct RowsApart {
    open: Open,
    next_ranges: Option<NextRanges>,
    table: Arc<str>,
    schema: Arc<TableSchema>,
    families: Vec<FamilyColumns>,
    /// Where each wanted column is found.
    places: Vec<Place>,
    out: SchemaRef,
    condition: Option<Condition>,
    skip: u64,
    batch_rows: usize,
    converter: RowConverter,
    counters: Arc<ReadCounters>,
    /// Of the part in hand.
    sides: Vec<Side>,
    failed: bool,
}

/// What is wanted of a family.
struct FamilyColumns {
    name: String,
    columns: Vec<ColumnRef>,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    /// This part of the key.
    Key(usize),
    /// This column of this family.
    Of { family: usize, column: usize },
}

impl fmt::Debug for RowsApart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowsApart").field("table", &self.table).finish_non_exhaustive()
    }
}

/// True if rows of these columns are to be put together from several families: these have row groups, the order of the key is that of
/// its columns, and what is not there is NULL.
pub(crate) fn can_be_apart(
    descriptor: &TableDescriptor,
    families: &[String],
    schema: &TableSchema,
    columns: &[ColumnRef],
) -> bool {
    let has_row_groups = |family: &FamilyDescriptor| {
        family.encoding == Encoding::Columnar.name() || !families.contains(&family.name)
    };
    let is_ordered = !schema.key.iter().any(|part| matches!(part.sql_type, SqlType::Array(_)));
    let may_be_missing = |column: &ColumnRef| match *column {
        ColumnRef::Key(_) => true,
        ColumnRef::Column(index) => {
            let column = &schema.columns[index];
            column.nullable && column.default_value.is_none()
        }
    };
    is_ordered && descriptor.families.iter().all(has_row_groups) && columns.iter().all(may_be_missing)
}

impl RowsApart {
    /// Rows with cells in any of `families`, in `ranges` and then in those of `next_ranges`.
    pub(crate) fn try_new(
        open: Open,
        families: Vec<String>,
        schema: Arc<TableSchema>,
        request: RowRequest,
        table: Arc<str>,
        ranges: Vec<KeyRange>,
        next_ranges: Option<NextRanges>,
    ) -> Result<Self> {
        let wanted = request.all_columns();
        let mut families: Vec<_> =
            families.into_iter().map(|name| FamilyColumns { name, columns: Vec::new() }).collect();
        let place = |column: &ColumnRef| match *column {
            ColumnRef::Key(part) => Place::Key(part),
            ColumnRef::Column(index) => {
                let of = |family: &FamilyColumns| family.name == schema.columns[index].family;
                let family = families.iter().position(of).expect("the families of all columns are read");
                let columns = &mut families[family].columns;
                let known = columns.iter().position(|known| known == column);
                let place = known.unwrap_or(columns.len());
                if known.is_none() {
                    columns.push(*column);
                }
                Place::Of { family, column: place }
            }
        };
        let places = wanted.iter().map(place).collect();
        let of_key = schema.key.iter().map(|part| {
            // NULL is first in a row key, whichever the order of the column.
            let options = SortOptions { descending: part.order == SortOrder::Desc, nulls_first: true };
            SortField::new_with_options(arrow_type(part.sql_type), options)
        });
        let explain = |error| explained(&table, error);
        let converter = RowConverter::new(of_key.collect()).map_err(explain)?;
        let mut rows = Self {
            out: Arc::new(projected_schema(&schema, &wanted)),
            condition: request.condition,
            skip: request.skip,
            batch_rows: request.batch_rows,
            counters: Arc::default(),
            sides: Vec::new(),
            failed: false,
            open,
            next_ranges,
            table,
            schema,
            families,
            places,
            converter,
        };
        rows.begin(ranges)?;
        Ok(rows)
    }

    /// What the scans have read so far; goes on counting while they run.
    pub(crate) fn counters(&self) -> &Arc<ReadCounters> {
        &self.counters
    }

    fn begin(&mut self, ranges: Vec<KeyRange>) -> Result<()> {
        let stated = self.condition.as_mut().map(|condition| (condition.predicate)());
        self.sides.clear();
        for family in &self.families {
            let is_of = |column: &ColumnRef| match *column {
                ColumnRef::Key(_) => true,
                ColumnRef::Column(index) => self.schema.columns[index].family == family.name,
            };
            let predicate = stated.as_ref().map(|stated| predicate_of(stated, &is_of));
            let predicate = predicate.filter(needed);
            let is_needed = predicate.is_some();
            let condition = predicate.map(|predicate| {
                let predicate = Arc::new(predicate);
                Condition {
                    predicate: Box::new(move || Arc::clone(&predicate)),
                    grows: false,
                    is_exact: true,
                    columns: Vec::new(),
                }
            });
            let key = (0..self.schema.key.len()).map(ColumnRef::Key);
            let columns: Vec<ColumnRef> = key.chain(family.columns.iter().copied()).collect();
            let request = RowRequest { condition, ..RowRequest::of_columns(&columns, self.batch_rows) };
            let cells = (self.open)(ranges.clone(), vec![family.name.clone()])?.counting_on(&self.counters);
            let scan = RowScan::new(cells, Arc::clone(&self.schema), request, Arc::clone(&self.table));
            self.sides.push(Side::new(scan.by_vectors(), is_needed));
        }
        Ok(())
    }

    /// The next rows, perhaps none; `None` at the end of all parts.
    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let mut found_none = false;
            for side in &mut self.sides {
                found_none |= !side.fill()?;
            }
            if found_none {
                // A scan with a condition lets its caller do something else.
                return Ok(Some(RecordBatch::new_empty(Arc::clone(&self.out))));
            }
            let is_over = self.sides.iter().all(Side::has_ended)
                || self.sides.iter().any(|side| side.is_needed && side.has_ended());
            if !is_over {
                let rows = self.next_rows().map_err(|error| explained(&self.table, error))?;
                if rows.num_rows() > 0 {
                    return Ok(Some(rows));
                }
                continue;
            }
            self.sides.clear();
            match self.next_ranges.as_mut().and_then(|next| next()) {
                Some(ranges) => self.begin(ranges)?,
                None => return Ok(None),
            }
        }
    }

    fn next_rows(&mut self) -> std::result::Result<RecordBatch, ArrowError> {
        match self.rows_in_step() {
            Some(count) => self.side_by_side(count),
            None => self.by_key(),
        }
    }

    /// How many rows come next that all families have, one beside the other; `None` if they are few, and others lie between.
    fn rows_in_step(&self) -> Option<usize> {
        let count = self.sides.iter().map(Side::rows_left).min().filter(|count| *count > 0)?;
        let (first, others) = self.sides.split_first()?;
        let is_in_step = |other: &Side, rows: usize| {
            (0..self.schema.key.len()).all(|part| first.slice(part, rows) == other.slice(part, rows))
        };
        let are_in_step = |rows: usize| others.iter().all(|other| is_in_step(other, rows));
        if are_in_step(count) {
            return Some(count);
        }
        if count <= IN_STEP_MIN || !are_in_step(IN_STEP_MIN) {
            return None;
        }
        let (mut low, mut high) = (IN_STEP_MIN, count);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if are_in_step(middle) { low = middle } else { high = middle }
        }
        Some(low)
    }

    fn side_by_side(&mut self, count: usize) -> std::result::Result<RecordBatch, ArrowError> {
        let key_len = self.schema.key.len();
        let columns = self.places.iter().map(|place| match *place {
            Place::Key(part) => self.sides[0].slice(part, count),
            Place::Of { family, column } => self.sides[family].slice(key_len + column, count),
        });
        let batch = self.batch(columns.collect(), count);
        self.sides.iter_mut().for_each(|side| side.pass(count));
        batch
    }

    /// Rows up to the first last one of the batches in hand, each family's where its key is.
    fn by_key(&mut self) -> std::result::Result<RecordBatch, ArrowError> {
        let key_len = self.schema.key.len();
        if self.drop_batches()? {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.out)));
        }
        for side in &mut self.sides {
            side.convert(&self.converter, key_len)?;
        }
        let live: Vec<usize> = (0..self.sides.len()).filter(|&at| !self.sides[at].has_ended()).collect();
        let last = live.iter().filter_map(|&at| self.sides[at].last_key()).min();
        let mut at = vec![0; self.sides.len()];
        let mut picks: Vec<Vec<Option<u32>>> = vec![Vec::new(); self.sides.len()];
        let mut keys: Vec<(usize, usize)> = Vec::new();
        // Which families have the row.
        let mut here = vec![false; self.sides.len()];
        loop {
            let least = live.iter().filter_map(|&side| self.sides[side].key(at[side])).min();
            let Some(least) = least.filter(|least| Some(*least) <= last) else { break };
            // The first row that all have who must.
            let next = self.sides.iter().zip(&at).filter(|(side, _)| side.is_needed);
            let next = next.filter_map(|(side, &at)| side.key(at)).max();
            if let Some(next) = next.filter(|next| *next > least) {
                self.sides.iter().zip(&mut at).for_each(|(side, at)| *at = side.first_not_before(next, *at));
                continue;
            }
            for ((here, side), &at) in here.iter_mut().zip(&self.sides).zip(&at) {
                *here = side.key(at).is_some_and(|key| key == least);
            }
            if !self.sides.iter().zip(&here).any(|(side, here)| side.is_needed && !here) {
                let first = here.iter().position(|here| *here).expect("the least key is of a family");
                keys.push((first, self.sides[first].place(at[first])));
                for (side, picks) in picks.iter_mut().enumerate() {
                    picks.push(here[side].then(|| self.sides[side].place(at[side]) as u32));
                }
            }
            at.iter_mut().zip(&here).for_each(|(at, here)| *at += usize::from(*here));
        }
        let picks: Vec<UInt32Array> = picks.into_iter().map(UInt32Array::from).collect();
        let mut columns = Vec::with_capacity(self.places.len());
        for place in &self.places {
            columns.push(match *place {
                Place::Key(part) => {
                    let empty = new_empty_array(&arrow_type(self.schema.key[part].sql_type));
                    let of = |side: &Side| side.column(part).unwrap_or_else(|| Arc::clone(&empty));
                    let parts: Vec<ArrayRef> = self.sides.iter().map(of).collect();
                    interleave(&parts.iter().map(AsRef::as_ref).collect::<Vec<&dyn Array>>(), &keys)?
                }
                Place::Of { family, column } => match self.sides[family].column(key_len + column) {
                    Some(array) => take(&array, &picks[family], None)?,
                    None => {
                        let of = self.families[family].columns[column];
                        new_null_array(&arrow_type(self.schema.sql_type(of)), keys.len())
                    }
                },
            });
        }
        let batch = self.batch(columns, keys.len());
        self.sides.iter_mut().zip(at).for_each(|(side, count)| side.pass(count));
        batch
    }

    /// Leaves batches behind that lie before the next row that all have who must; true if there are any.
    fn drop_batches(&mut self) -> std::result::Result<bool, ArrowError> {
        let mut next = None;
        for side in self.sides.iter().filter(|side| side.is_needed) {
            let first = side.one_key(0, &self.converter, self.schema.key.len())?;
            next = next.max(Some(first));
        }
        let Some(next) = next else { return Ok(false) };
        let mut dropped = false;
        for side in self.sides.iter_mut().filter(|side| side.rows_left() > 0) {
            let rows = side.rows_left();
            if side.one_key(rows - 1, &self.converter, self.schema.key.len())? < next {
                side.pass(rows);
                dropped = true;
            }
        }
        Ok(dropped)
    }

    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> std::result::Result<RecordBatch, ArrowError> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.out), columns, &options)
    }

    fn next_batch(&mut self) -> Result<Option<RowBatch>> {
        let Some(batch) = self.advance()? else { return Ok(None) };
        let rows = batch.num_rows();
        let skip = rows.min(usize::try_from(self.skip).unwrap_or(usize::MAX));
        self.skip -= skip as u64;
        self.counters.rows.fetch_add((rows - skip) as u64, Relaxed);
        Ok(Some(RowBatch { batch: batch.slice(skip, rows - skip), passed: self.condition.is_none() }))
    }
}

impl Iterator for RowsApart {
    type Item = Result<RowBatch>;

    fn next(&mut self) -> Option<Result<RowBatch>> {
        if self.failed {
            return None;
        }
        let next = self.next_batch().transpose();
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}

#[cold]
fn explained(table: &Arc<str>, error: ArrowError) -> Error {
    Error::StoredRow { table: table.to_string(), source: Arc::new(TypedError::from(error)) }
}

#[cfg(test)]
mod tests;
