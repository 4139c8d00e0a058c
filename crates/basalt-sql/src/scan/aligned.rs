// SPDX-License-Identifier: Apache-2.0
//! Partitions that share no value of the first key column: what belongs to one value is then in one partition, so that
//! grouping by it needs no exchange between them, and the plan can say between which values they are cut.

use basalt_model::{SortOrder, SqlType, TableSchema, Value};
use bytes::Bytes;
use datafusion::common::ScalarValue;
use datafusion::common::SplitPoint;

use super::partition::Partition;

/// Cuts partitions, which lie one behind the other, in front of the first row of a value of the first key column; the first
/// value of each partition but the first one. `None`, and nothing is changed, if the column's values are not numbers of a
/// fixed width.
pub(super) fn align(partitions: &mut Vec<Partition>, schema: &TableSchema) -> Option<Vec<SplitPoint>> {
    let key = schema.key.first()?;
    let width = key.sql_type.fixed_width()?;
    let mut cuts: Vec<(Bytes, SplitPoint)> = vec![];
    for partition in &partitions[1..] {
        let start = &partition.ranges.first()?.start;
        // The start may be shorter than a row: it is the least row of those that come.
        let mut value = start[..start.len().min(width)].to_vec();
        let bytes = Bytes::copy_from_slice(&value);
        value.resize(width, 0);
        let value = scalar(key.sql_type, key.order, &value)?;
        cuts.push((bytes, SplitPoint::new(vec![value])));
    }
    let mut aligned: Vec<Partition> = vec![];
    let mut splits = vec![];
    for (index, mut partition) in std::mem::take(partitions).into_iter().enumerate() {
        if let Some((cut, split)) = index.checked_sub(1).map(|before| &cuts[before]) {
            partition.ranges[0].start = cut.clone();
            let before = aligned.last_mut().expect("a partition comes before the cut");
            if before.ranges[0].start >= *cut {
                // One value has the whole partition before: the two are one.
                partition.ranges[0].start = before.ranges[0].start.clone();
                partition.bytes += before.bytes;
                aligned.pop();
            } else {
                before.end_at(cut);
                splits.push(split.clone());
            }
        }
        aligned.push(partition);
    }
    *partitions = aligned;
    Some(splits)
}

impl Partition {
    /// Leaves out rows from `end` on.
    fn end_at(&mut self, end: &Bytes) {
        self.ranges.retain(|range| range.start < *end);
        if let Some(last) = self.ranges.last_mut() {
            last.end = Some(end.clone());
        }
    }
}

fn scalar(sql_type: SqlType, order: SortOrder, bytes: &[u8]) -> Option<ScalarValue> {
    use SqlType::*;
    let Value::Int(number) = sql_type.decode(order, bytes).ok()? else { return None };
    Some(match sql_type {
        TinyInt | UnsignedTinyInt => ScalarValue::Int8(Some(number.try_into().ok()?)),
        SmallInt | UnsignedSmallInt => ScalarValue::Int16(Some(number.try_into().ok()?)),
        Integer | UnsignedInt => ScalarValue::Int32(Some(number.try_into().ok()?)),
        BigInt | UnsignedLong => ScalarValue::Int64(Some(number)),
        _ => return None,
    })
}
