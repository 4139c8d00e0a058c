// SPDX-License-Identifier: Apache-2.0
//! From runs of visible cells to record batches.
//!
//! Rows are decoded in stretches: all whole rows of a run, column by column, so that the type is decided once
//! per column and stretch. The last row of a run may go on in the next one; it stays *pending*, as the runs it
//! came in, until a cell of another row arrives or [`RowDecoder::end`] is called.
//!
//! A column's cell is looked for where it was in the row before; rows of one shape are found at the first try.
//! Otherwise the search goes from there, left or right, since the cells of a row are in order.

mod groups;
mod text_extremes;
mod totals;

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{FieldRef, Fields, Schema, SchemaRef};
use basalt_model::rowkey::{KeyError, split_column};
use basalt_model::{ColumnRef, KeyColumn, SortOrder, TableSchema};

pub(super) use groups::Selected;
pub use totals::{Number, Total, Totals, Wanted};

use super::column::{ColumnBuilder, ReadError, ValueSource};
use super::error::TypedError;
use super::projected_schema;
use crate::cells::{CellBlock, CellRun, CellSlot};
use crate::columnar::Held;

/// Builds batches of some columns of a table from its visible cells: the newest version of each column, no
/// delete markers, in key order.
///
/// Cells of columns that are not asked for are passed over, so runs may hold more families and qualifiers
/// than needed. A row is a row if it has any cell at all; without columns, rows are only counted. After an
/// error the decoder is of no further use.
#[derive(Debug)]
pub struct RowDecoder {
    schema: SchemaRef,
    columns: Vec<Column>,
    pending: Vec<CellRun>,
    rows_ready: usize,
    held: Held,
    /// Where rows are added up, not collected.
    totals: Option<Totals>,
}

#[derive(Debug)]
struct Column {
    name: String,
    place: Place,
    builder: ColumnBuilder,
}

/// Where a column's bytes lie.
#[derive(Debug)]
enum Place {
    Key(KeyPlace),
    Cell(CellPlace),
}

/// A key column: behind `offset` bytes of fixed-width columns, and then behind `before`.
#[derive(Debug)]
struct KeyPlace {
    offset: usize,
    before: Vec<KeyColumn>,
    column: KeyColumn,
    is_last: bool,
    /// Which of how many key columns it is.
    index: usize,
    count: usize,
}

#[derive(Debug)]
struct CellPlace {
    /// Family and qualifier, one behind the other, as in a flat key.
    name: Vec<u8>,
    /// The name as a number, and how far eight bytes are shifted to compare with it, if it is that short:
    /// comparing numbers saves a third of the time of reading a column.
    short: Option<(u64, u32)>,
    family_len: u8,
    /// Position of the cell in the row before.
    hint: usize,
    /// Bytes of the value that a missing cell stands for.
    default: Option<Vec<u8>>,
}

impl RowDecoder {
    /// A decoder of the given columns, in this order. `schema` has a field per column; see
    /// [`RowDecoder::of_columns`] for the usual one.
    pub fn new(table: &TableSchema, projection: &[ColumnRef], schema: SchemaRef) -> Self {
        let columns = projection.iter().map(|&column| Column::new(table, column)).collect();
        Self { schema, columns, pending: Vec::new(), rows_ready: 0, held: Held::default(), totals: None }
    }

    /// As [`RowDecoder::of_columns`], for readers that know what to do with it: DECIMALs of up to 18 digits become
    /// `Decimal64` arrays, and texts a dictionary array with keys of 32 bits where all of a batch come from one dictionary.
    /// So batches may differ in their types.
    pub fn in_short_form(table: &TableSchema, projection: &[ColumnRef]) -> Self {
        let mut decoder = Self::of_columns(table, projection);
        for (column, &of_table) in decoder.columns.iter_mut().zip(projection) {
            let (sql_type, nullable) = (table.sql_type(of_table), table.nullable(of_table));
            column.builder = ColumnBuilder::in_short_form(sql_type, order_of(table, of_table), nullable);
        }
        decoder
    }

    /// A decoder of the given columns with the Arrow schema that [`projected_schema`] gives them.
    pub fn of_columns(table: &TableSchema, projection: &[ColumnRef]) -> Self {
        Self::new(table, projection, projected_schema(table, projection).into())
    }

    /// Sets what a missing cell of the column at `position` of the projection stands for, in place of the encoded
    /// value of its DEFAULT. (A cell of no bytes stays NULL.) Key columns have no missing cells.
    pub fn set_default(&mut self, position: usize, encoded: Vec<u8>) {
        if let Place::Cell(cell) = &mut self.columns[position].place {
            cell.default = Some(encoded);
        }
    }

    /// The Arrow schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Takes the next cells.
    pub fn push(&mut self, run: &CellRun) -> Result<(), TypedError> {
        let Range { mut start, end } = run.cells;
        if start >= end {
            return Ok(());
        }
        let block = &*run.block;
        let next_row = block.row_starts.partition_point(|&row| row as usize <= start);
        if let Some(pending) = self.pending.last() {
            let first_end = block.row_starts.get(next_row).map_or(end, |&next| end.min(next as usize));
            if pending.block.row(pending.cells.start) == block.row(start) {
                self.push_pending(run, start..first_end);
                start = first_end;
            }
            if start == end {
                return Ok(());
            }
            self.close_pending()?;
        }
        self.push_rows(run, start)
    }

    /// Number of whole rows that [`RowDecoder::finish_batch`] will return.
    pub fn rows_ready(&self) -> usize {
        self.rows_ready
    }

    /// All whole rows so far as a batch; the pending row stays.
    pub fn finish_batch(&mut self) -> Result<RecordBatch, TypedError> {
        let arrays = self.columns.iter_mut().map(|column| column.builder.finish());
        let arrays: Vec<ArrayRef> = arrays.collect::<Result<_, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows_ready));
        self.rows_ready = 0;
        let schema = schema_of(&self.schema, &arrays);
        Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
    }

    /// Says that no cell of the pending row follows, at the end of a scan or of a range: the row is whole.
    pub fn end(&mut self) -> Result<(), TypedError> {
        if self.pending.is_empty() { Ok(()) } else { self.close_pending() }
    }

    /// Adds cells to the pending row; those that follow its last ones in the same block become one run.
    fn push_pending(&mut self, run: &CellRun, cells: Range<usize>) {
        match self.pending.last_mut() {
            Some(last) if Arc::ptr_eq(&last.block, &run.block) && last.cells.end == cells.start => {
                last.cells.end = cells.end;
            }
            _ => self.pending.push(CellRun { block: run.block.clone(), cells }),
        }
    }

    /// Decodes all rows that begin in `start..` of a run but the last one, which becomes pending.
    fn push_rows(&mut self, run: &CellRun, start: usize) -> Result<(), TypedError> {
        let (block, end) = (&run.block, run.cells.end);
        let starts = &block.row_starts;
        let mut first = starts.partition_point(|&row| (row as usize) < start);
        let last = starts.partition_point(|&row| (row as usize) < end).saturating_sub(1);
        if starts.get(first).is_none_or(|&row| row as usize != start) {
            // The run begins inside of a row of its block.
            let row_end = starts.get(first).map_or(end, |&row| end.min(row as usize));
            self.push_pending(run, start..row_end);
            if row_end == end {
                return Ok(());
            }
            self.close_pending()?;
            first = starts.partition_point(|&row| (row as usize) < row_end);
        }
        if last > first {
            self.decode(block, &starts[first..=last])?;
        }
        self.push_pending(run, starts[last] as usize..end);
        Ok(())
    }

    /// Decodes the rows of a block that begin at `bounds`, but for the last bound, which is the end.
    fn decode(&mut self, block: &CellBlock, bounds: &[u32]) -> Result<(), TypedError> {
        let reads_cells = self.columns.iter().any(|column| matches!(column.place, Place::Cell(_)));
        let mut first = 0;
        while first + 1 < bounds.len() {
            let last = (first + STRETCH_ROWS).min(bounds.len() - 1);
            if reads_cells {
                touch(block, bounds[first] as usize..bounds[last] as usize);
            }
            self.decode_stretch(block, &bounds[first..=last])?;
            first = last;
        }
        Ok(())
    }

    fn decode_stretch(&mut self, block: &CellBlock, bounds: &[u32]) -> Result<(), TypedError> {
        for Column { name, place, builder } in &mut self.columns {
            let result = match place {
                Place::Key(place) => builder.extend(&mut KeyValues { block, bounds, place }),
                Place::Cell(place) => builder.extend(&mut CellValues { block, bounds, place }),
            };
            result.map_err(|(row, error)| stored_error(name, block.row(bounds[row] as usize), error))?;
        }
        self.rows_ready += bounds.len() - 1;
        Ok(())
    }

    fn close_pending(&mut self) -> Result<(), TypedError> {
        let mut pending = std::mem::take(&mut self.pending);
        let result = match &pending[..] {
            [run] => self.decode(&run.block, &[run.cells.start as u32, run.cells.end as u32]),
            runs => self.decode_split_row(runs),
        };
        pending.clear();
        self.pending = pending;
        result
    }

    /// Decodes one row whose cells lie in several runs.
    fn decode_split_row(&mut self, runs: &[CellRun]) -> Result<(), TypedError> {
        for Column { name, place, builder } in &mut self.columns {
            let row = runs[0].block.row(runs[0].cells.start);
            let result = match place {
                Place::Key(place) => {
                    let bounds = [runs[0].cells.start as u32, runs[0].cells.end as u32];
                    builder.extend(&mut KeyValues { block: &runs[0].block, bounds: &bounds, place })
                }
                Place::Cell(place) => builder.extend(&mut SplitValue { runs, place }),
            };
            result.map_err(|(_, error)| stored_error(name, row, error))?;
        }
        self.rows_ready += 1;
        Ok(())
    }
}

/// Rows decoded column by column in one go: few enough that their cells stay in the second-level cache from
/// the first column to the last.
const STRETCH_ROWS: usize = 64;

/// Reads one byte of every cache line of some cells, in order. A column's cells lie too irregularly for the
/// processor to fetch ahead, whole stretches do not. For blocks that are not in the processor's cache this
/// doubles the speed (4 of 16 columns: 1.3 to 3 M rows/s, all: 0.4 to 0.75), for those that are it costs about
/// 50 ns a row; see the lines "in memory" and "cached" of `benches/typed.rs`.
fn touch(block: &CellBlock, cells: Range<usize>) {
    let (first, last) = (&block.slots[cells.start], &block.slots[cells.end - 1]);
    let parts = [(&block.keys, first.key, last.key), (&block.values, first.value, last.value)];
    for (bytes, from, to) in parts {
        let lines = bytes.get(from as usize..to as usize).unwrap_or_default().iter().step_by(64);
        std::hint::black_box(lines.fold(0u8, |sum, byte| sum.wrapping_add(*byte)));
        if block.keys.as_ptr() == block.values.as_ptr() {
            break;
        }
    }
}

#[cold]
fn stored_error(column: &str, row: &[u8], error: ReadError) -> TypedError {
    let (column, row) = (column.to_owned(), row.to_vec());
    match error {
        ReadError::Key(source) => TypedError::StoredKey { row, source },
        ReadError::Value(source) => TypedError::StoredValue { column, row, source },
        ReadError::Null => TypedError::StoredNull { column, row },
    }
}

impl Column {
    fn new(table: &TableSchema, column: ColumnRef) -> Self {
        let place = match column {
            ColumnRef::Key(index) => Place::Key(KeyPlace::new(&table.key, index)),
            ColumnRef::Column(index) => {
                let column = &table.columns[index];
                let name = [column.family.as_bytes(), &column.qualifier].concat();
                let family_len = column.family.len() as u8;
                let word = || name.iter().fold(0, |word, &byte| word << 8 | byte as u64);
                let short = (1..=8).contains(&name.len()).then(|| (word(), 64 - 8 * name.len() as u32));
                let default = column.default_value.clone();
                Place::Cell(CellPlace { name, short, family_len, hint: 0, default })
            }
        };
        let (sql_type, order) = (table.sql_type(column), order_of(table, column));
        let builder = ColumnBuilder::new(sql_type, order, table.nullable(column));
        Self { name: table.name(column).to_owned(), place, builder }
    }
}

fn order_of(table: &TableSchema, column: ColumnRef) -> SortOrder {
    match column {
        ColumnRef::Key(index) => table.key[index].order,
        ColumnRef::Column(_) => SortOrder::Asc,
    }
}

/// The schema with the types that the arrays have.
fn schema_of(schema: &SchemaRef, arrays: &[ArrayRef]) -> SchemaRef {
    let is_of = |(field, array): (&FieldRef, &ArrayRef)| field.data_type() == array.data_type();
    if schema.fields().iter().zip(arrays).all(is_of) {
        return SchemaRef::clone(schema);
    }
    let typed = |(field, array): (&FieldRef, &ArrayRef)| {
        Arc::new(field.as_ref().clone().with_data_type(array.data_type().clone()))
    };
    Arc::new(Schema::new(schema.fields().iter().zip(arrays).map(typed).collect::<Fields>()))
}

impl KeyPlace {
    fn new(key: &[KeyColumn], index: usize) -> Self {
        let widths = key[..index].iter().map_while(|column| column.sql_type.fixed_width());
        let (fixed, offset) = widths.fold((0, 0), |(count, offset), width| (count + 1, offset + width));
        Self {
            offset,
            before: key[fixed..index].to_vec(),
            column: key[index].clone(),
            is_last: index + 1 == key.len(),
            index,
            count: key.len(),
        }
    }

    #[inline]
    fn value<'a>(&self, row: &'a [u8]) -> Result<&'a [u8], KeyError> {
        let mut rest =
            row.get(self.offset..).ok_or(KeyError::Bytes { what: "it ends inside of a column" })?;
        for column in &self.before {
            rest = split_column(column, false, rest)?.1;
        }
        let (bytes, behind) = split_column(&self.column, self.is_last, rest)?;
        if self.is_last && !behind.is_empty() {
            return Err(KeyError::Bytes { what: "bytes follow the last column" });
        }
        Ok(bytes)
    }
}

impl CellPlace {
    /// The first cell of this column among some cells of a row.
    #[inline(always)]
    fn find<'a>(&mut self, block: &'a CellBlock, cells: Range<usize>) -> Option<&'a CellSlot> {
        let slots = &block.slots[cells];
        match slots.get(self.hint) {
            Some(slot) if self.is_column_of(block, slot) => Some(slot),
            _ => self.search(block, slots),
        }
    }

    /// True if a cell is of this column.
    #[inline(always)]
    fn is_column_of(&self, block: &CellBlock, slot: &CellSlot) -> bool {
        let len = slot.family_len as usize + slot.qualifier_len as usize;
        if slot.family_len != self.family_len || len != self.name.len() {
            return false;
        }
        let from = slot.key as usize + 3 + slot.row_len as usize;
        match (self.short, block.keys.get(from..).and_then(|bytes| bytes.first_chunk())) {
            (Some((word, shift)), Some(&bytes)) => u64::from_be_bytes(bytes) >> shift == word,
            _ => block.keys[from..from + len] == self.name,
        }
    }

    /// Looks left or right of where the cell was in the row before.
    fn search<'a>(&mut self, block: &'a CellBlock, slots: &'a [CellSlot]) -> Option<&'a CellSlot> {
        let guess = self.hint.min(slots.len().checked_sub(1)?);
        match self.compare(block, &slots[guess]) {
            Ordering::Equal => self.found(block, slots, guess),
            Ordering::Less => {
                let at = guess
                    + 1
                    + slots[guess + 1..].iter().position(|slot| self.compare(block, slot).is_ge())?;
                self.found(block, slots, at)
            }
            Ordering::Greater => {
                let at = slots[..guess].iter().rposition(|slot| self.compare(block, slot).is_le())?;
                self.found(block, slots, at)
            }
        }
    }

    fn found<'a>(&mut self, block: &CellBlock, slots: &'a [CellSlot], at: usize) -> Option<&'a CellSlot> {
        let slot = &slots[at];
        if self.compare(block, slot).is_ne() {
            return None;
        }
        self.hint = at;
        Some(slot)
    }

    /// How the column of a cell compares to this one.
    fn compare(&self, block: &CellBlock, slot: &CellSlot) -> Ordering {
        let from = slot.key as usize + 3 + slot.row_len as usize;
        let name = &block.keys[from..from + slot.family_len as usize + slot.qualifier_len as usize];
        if slot.family_len == self.family_len {
            return name.cmp(&self.name);
        }
        let (family, qualifier) = name.split_at(slot.family_len as usize);
        let (own_family, own_qualifier) = self.name.split_at(self.family_len as usize);
        family.cmp(own_family).then_with(|| qualifier.cmp(own_qualifier))
    }
}

/// A key column of consecutive rows.
struct KeyValues<'a> {
    block: &'a CellBlock,
    bounds: &'a [u32],
    place: &'a KeyPlace,
}

impl ValueSource for KeyValues<'_> {
    fn rows(&self) -> usize {
        self.bounds.len() - 1
    }

    #[inline(always)]
    fn value(&mut self, row: usize) -> Result<Option<&[u8]>, KeyError> {
        self.place.value(self.block.row(self.bounds[row] as usize)).map(Some)
    }
}

/// A column outside of the key, of consecutive rows.
struct CellValues<'a> {
    block: &'a CellBlock,
    bounds: &'a [u32],
    place: &'a mut CellPlace,
}

impl ValueSource for CellValues<'_> {
    fn rows(&self) -> usize {
        self.bounds.len() - 1
    }

    #[inline(always)]
    fn value(&mut self, row: usize) -> Result<Option<&[u8]>, KeyError> {
        let cells = self.bounds[row] as usize..self.bounds[row + 1] as usize;
        Ok(match self.place.find(self.block, cells) {
            Some(slot) => Some(self.block.value_of(slot)),
            None => self.place.default.as_deref(),
        })
    }
}

/// A column outside of the key, of one row in several runs.
struct SplitValue<'a> {
    runs: &'a [CellRun],
    place: &'a mut CellPlace,
}

impl ValueSource for SplitValue<'_> {
    fn rows(&self) -> usize {
        1
    }

    fn value(&mut self, _row: usize) -> Result<Option<&[u8]>, KeyError> {
        for run in self.runs {
            if let Some(slot) = self.place.find(&run.block, run.cells.clone()) {
                return Ok(Some(run.block.value_of(slot)));
            }
        }
        Ok(self.place.default.as_deref())
    }
}
