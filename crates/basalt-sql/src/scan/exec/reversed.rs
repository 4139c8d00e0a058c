// SPDX-License-Identifier: Apache-2.0
//! Scans that give their rows from the end of the key to its beginning: piece by piece from the last one on, each read forward and
//! turned round.

use std::sync::Arc;

use basalt_model::{ColumnRef, KeyRange, SortOrder, SqlType};
use datafusion::arrow::array::UInt32Array;
use datafusion::arrow::compute::{SortOptions, take_record_batch};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalSortExpr};
use datafusion::physical_plan::Partitioning;

use super::super::partition::Partition;
use super::super::reader::{Part, Reader};
use super::reading::Opening;
use super::{Access, BasaltScan, fixed_parts, plan_properties, table_schema};
use crate::error::SqlError;

/// Stored bytes of a piece, about.
const PIECE_BYTES: u64 = 1 << 20;

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
    pub(super) fn new(opening: Opening) -> Result<Self> {
        let (spec, Partition { ranges, bytes }) = (&opening.spec, &opening.part.of);
        let wanted = usize::try_from(bytes.div_ceil(PIECE_BYTES)).unwrap_or(usize::MAX);
        let segments = spec.snapshot.segments(spec.id, ranges, wanted.max(1)).map_err(SqlError::from)?;
        let pieces = segments.into_iter().map(|segment| segment.range).collect();
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

fn turned_round(batch: &RecordBatch) -> Result<RecordBatch> {
    let rows = u32::try_from(batch.num_rows()).map_err(|error| SqlError::internal(error.to_string()))?;
    Ok(take_record_batch(batch, &UInt32Array::from_iter_values((0..rows).rev()))?)
}

impl BasaltScan {
    /// The same scan, whose rows come from the end of the key to its beginning; `None` if that is not the order `wanted` of its columns, or
    /// it takes the first rows that come.
    pub(in crate::scan) fn reversed(&self, wanted: &[PhysicalSortExpr]) -> Option<Self> {
        let is_whole = self.spec.limit.is_none() && self.spec.skip == 0;
        let is_of_ranges = matches!(self.spec.access.access, Access::Full | Access::Ranges(_));
        if !is_whole || !is_of_ranges || self.in_any_order || !self.is_opposite(wanted)? {
            return None;
        }
        let schema = Arc::clone(&self.spec.schema);
        let equivalences = EquivalenceProperties::new_with_orderings(schema, [wanted.to_vec()]);
        let partitioning = Partitioning::UnknownPartitioning(self.partitions.len());
        let scan = self.with_hints(self.hints.clone());
        let properties = Arc::new(plan_properties(equivalences, partitioning));
        Some(Self { is_backwards: false, is_reversed: true, properties, ..scan })
    }

    /// True if its rows come from the end of the key to its beginning.
    pub(in crate::scan) fn is_reversed(&self) -> bool {
        self.is_reversed
    }

    /// True if an order is the opposite of that of the key, but for columns of it that have one value; `None` of an order by anything else.
    fn is_opposite(&self, wanted: &[PhysicalSortExpr]) -> Option<bool> {
        let schema = table_schema(&self.spec.descriptor);
        let fixed = fixed_parts(schema, &self.spec.conditions);
        let mut parts = (0..schema.key.len()).filter(|&part| !fixed[part]);
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
            // NULL sorts first in a row key, whichever the order of the column.
            let opposite = SortOptions { descending: key.order == SortOrder::Asc, nulls_first: false };
            let is_it = sorted.options.descending == opposite.descending
                && (!key.nullable || sorted.options.nulls_first == opposite.nulls_first)
                && !matches!(key.sql_type, SqlType::Array(_));
            if !is_it || parts.next() != Some(part) {
                return Some(false);
            }
        }
        Some(true)
    }
}
