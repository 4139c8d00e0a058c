// SPDX-License-Identifier: Apache-2.0
//! Scans that give their rows from the end of the key to its beginning: piece by piece from the last one on, each read forward and
//! turned round.

use std::sync::Arc;

use basalt_model::{ColumnRef, KeyRange, SortOrder, SqlType};
use bytes::Bytes;
use datafusion::arrow::array::UInt32Array;
use datafusion::arrow::compute::take_record_batch;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Column as LogicalColumn;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalSortExpr};
use datafusion::physical_plan::Partitioning;

use super::super::partition::Partition;
use super::super::reader::{Part, Reader};
use super::reading::Opening;
use super::{Access, BasaltScan, Spec, fixed_parts, plan_properties, table_schema};
use crate::error::SqlError;
use crate::keys;

/// Stored bytes of a piece, about.
const PIECE_BYTES: u64 = 1 << 20;
/// Pieces that the last one is cut into, at most.
const PIECES_AT_THE_END: u64 = 16;

/// A partition that is read from its end.
pub(super) struct Reversed {
    opening: Opening,
    /// What is left, in the order of the key.
    pieces: Vec<KeyRange>,
    /// The piece that is being read.
    reader: Option<Reader>,
    /// Its rows, of which the last batch comes first once all are there.
    held: Vec<RecordBatch>,
}

impl Reversed {
    /// Those of the rows in `first` come before the others.
    pub(super) fn new(opening: Opening, first: Option<&KeyRange>) -> Result<Self> {
        let (spec, Partition { ranges, bytes }) = (&opening.spec, &opening.part.of);
        let (others, first) = match first {
            Some(first) => parted(ranges, first),
            None => (ranges.clone(), vec![]),
        };
        let mut pieces = vec![];
        for ranges in [others, first] {
            pieces.extend(cut(spec, &ranges, bytes.div_ceil(PIECE_BYTES))?);
            // Who wants the last rows alone does not wait for many.
            if let Some(last) = pieces.pop() {
                pieces.extend(cut(spec, &[last], PIECES_AT_THE_END)?);
            }
        }
        Ok(Self { opening, pieces, reader: None, held: vec![] })
    }

    /// The next rows; none while a piece is read.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(reader) = &mut self.reader {
            match reader.next()? {
                Some(batch) => {
                    let nothing = batch.slice(0, 0);
                    self.held.push(batch);
                    return Ok(Some(nothing));
                }
                None => self.reader = None,
            }
        }
        if let Some(batch) = self.held.pop() {
            return Ok(Some(turned_round(&batch)?));
        }
        let Some(piece) = self.pieces.pop() else { return Ok(None) };
        let of = Partition { ranges: vec![piece], bytes: PIECE_BYTES };
        let mut opening = self.opening.clone();
        opening.part = Part { of, ..opening.part };
        self.reader = Some(opening.open()?);
        Ok(Some(RecordBatch::new_empty(Arc::clone(&self.opening.spec.schema))))
    }
}

/// The ranges in about so many pieces, in the order of the key.
fn cut(spec: &Spec, ranges: &[KeyRange], wanted: u64) -> Result<Vec<KeyRange>> {
    if ranges.is_empty() {
        return Ok(vec![]);
    }
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX).max(1);
    let segments = spec.snapshot.segments(spec.id, ranges, wanted).map_err(SqlError::from)?;
    Ok(segments.into_iter().map(|segment| segment.range).collect())
}

/// What of the ranges lies outside of a range, and what inside.
fn parted(ranges: &[KeyRange], by: &KeyRange) -> (Vec<KeyRange>, Vec<KeyRange>) {
    let before = KeyRange { start: Bytes::new(), end: Some(by.start.clone()) };
    let behind = by.end.clone().map(|start| KeyRange { start, end: None });
    let within = |part: &KeyRange| {
        ranges.iter().map(|range| range.intersect(part)).filter(|range| !range.is_empty()).collect::<Vec<_>>()
    };
    let others = [Some(before), behind].iter().flatten().flat_map(within).collect();
    (others, within(by))
}

fn turned_round(batch: &RecordBatch) -> Result<RecordBatch> {
    let rows = u32::try_from(batch.num_rows()).map_err(|error| SqlError::internal(error.to_string()))?;
    Ok(take_record_batch(batch, &UInt32Array::from_iter_values((0..rows).rev()))?)
}

impl BasaltScan {
    /// The same scan, whose rows come from the end of the key to its beginning, NULLs of its first column perhaps before; `None` if that is not
    /// the order `wanted` of its columns, or it takes the first rows that come.
    pub(in crate::scan) fn reversed(&self, wanted: &[PhysicalSortExpr]) -> Option<Self> {
        let nulls = self.nulls_of_opposite(wanted)?;
        let scan = self.begun_at_the_end(nulls.as_ref())?;
        let schema = Arc::clone(&self.spec.schema);
        let equivalences = EquivalenceProperties::new_with_orderings(schema, [wanted.to_vec()]);
        let partitioning = Partitioning::UnknownPartitioning(self.partitions.len());
        let properties = Arc::new(plan_properties(equivalences, partitioning));
        Some(Self { properties, ..scan })
    }

    /// The same scan, whose rows come from the end of the key to its beginning, but those before the others of which `first` is true: a
    /// condition that leaves one value, or NULL, of the first column of the key that the scan's own leave more of. It has no order that the
    /// planner knows. `None` if it takes the first rows that come, or single keys.
    pub(in crate::scan) fn begun_at_the_end(&self, first: Option<&Expr>) -> Option<Self> {
        let is_whole = self.spec.limit.is_none() && self.spec.skip == 0;
        let is_of_ranges = matches!(self.spec.access.access, Access::Full | Access::Ranges(_));
        if !is_whole || !is_of_ranges || self.in_any_order {
            return None;
        }
        let first = match first {
            Some(condition) => self.part_of(condition)?,
            None => None,
        };
        let equivalences = EquivalenceProperties::new(Arc::clone(&self.spec.schema));
        let partitioning = Partitioning::UnknownPartitioning(self.partitions.len());
        let scan = self.with_hints(self.hints.clone());
        let properties = Arc::new(plan_properties(equivalences, partitioning));
        Some(Self { is_backwards: false, reversed: Some(first), properties, ..scan })
    }

    /// The part of the key whose rows satisfy a condition, if there are any; `None` if the key does not tell.
    fn part_of(&self, condition: &Expr) -> Option<Option<KeyRange>> {
        let schema = table_schema(&self.spec.descriptor);
        let mut conditions = self.spec.conditions.clone();
        let fixed = keys::fixed_columns(schema, &conditions);
        conditions.push(condition.clone());
        let ranges = match keys::access(schema, &conditions).into_ranges().access {
            // The scan's conditions rule it out.
            Access::Nothing => return Some(None),
            Access::Ranges(ranges) if keys::fixed_columns(schema, &conditions) > fixed => ranges,
            _ => return None,
        };
        let (first, last) = (ranges.first()?, ranges.last()?);
        Some(Some(KeyRange { start: first.start.clone(), end: last.end.clone() }))
    }

    /// True if its rows come from the end of the key to its beginning.
    pub(in crate::scan) fn is_reversed(&self) -> bool {
        self.reversed.is_some()
    }

    /// Of an order that is the opposite of that of the key, but for columns of it that have one value: which NULLs come first all the same.
    /// `None` of another order.
    fn nulls_of_opposite(&self, wanted: &[PhysicalSortExpr]) -> Option<Option<Expr>> {
        let schema = table_schema(&self.spec.descriptor);
        let fixed = fixed_parts(schema, &self.spec.conditions);
        let mut parts = (0..schema.key.len()).filter(|&part| !fixed[part]).enumerate();
        let mut nulls = None;
        for sorted in wanted {
            let ColumnRef::Key(part) =
                *self.spec.columns.get(sorted.expr.downcast_ref::<Column>()?.index())?
            else {
                return None;
            };
            if fixed[part] {
                continue;
            }
            let key = &schema.key[part];
            let (position, next) = parts.next()?;
            // NULL sorts first in a row key, whichever the order of the column.
            let is_first = key.nullable && sorted.options.nulls_first;
            let is_it = sorted.options.descending == (key.order == SortOrder::Asc)
                && (!is_first || position == 0)
                && !matches!(key.sql_type, SqlType::Array(_));
            if !is_it || next != part {
                return None;
            }
            if is_first {
                nulls = Some(Expr::IsNull(Box::new(Expr::Column(LogicalColumn::new_unqualified(&key.name)))));
            }
        }
        Some(nulls)
    }
}
