// SPDX-License-Identifier: Apache-2.0
//! Keys of joins that are integers of any width, as 64 bits.

use basalt_hfile::predicate::NumberSet;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, PrimitiveArray};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::compute;
use datafusion::arrow::datatypes::{ArrowPrimitiveType, DataType, Int8Type, Int16Type, Int32Type, Int64Type};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::joins::HashJoinExec;

/// Keys of which bits are made, at most, and the bits of all of them: 32 MiB.
pub(super) const KEYS_MAX: usize = 1 << 24;
const BITS_MAX: u64 = 1 << 28;
/// Bits for each key, at most.
const BITS_MAX_OF_KEY: u64 = 1 << 12;

/// A pair of columns that are joined on and are integers of one width.
pub(super) struct IntegerPair {
    /// Which of the pairs of the join.
    pub(super) at: usize,
    /// The left column's place.
    pub(super) left: usize,
    pub(super) right: Column,
}

impl IntegerPair {
    /// The first of a join.
    pub(super) fn of(join: &HashJoinExec) -> Option<Self> {
        let (left_schema, right_schema) = (join.left().schema(), join.right().schema());
        join.on().iter().enumerate().find_map(|(at, (left, right))| {
            let (left, right) = (left.downcast_ref::<Column>()?, right.downcast_ref::<Column>()?);
            let types = [left_schema.field(left.index()), right_schema.field(right.index())];
            let [left_type, right_type] = types.map(|field| field.data_type());
            let is_integer =
                matches!(left_type, DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64);
            let right = right.clone();
            (is_integer && left_type == right_type).then(|| Self { at, left: left.index(), right })
        })
    }
}

/// Calls a function for integers of the width that an array has.
macro_rules! by_width {
    ($keys:expr, $call:ident $(, $more:expr)*) => {
        match $keys.data_type() {
            DataType::Int8 => $call::<Int8Type>($keys.as_primitive() $(, $more)*),
            DataType::Int16 => $call::<Int16Type>($keys.as_primitive() $(, $more)*),
            DataType::Int32 => $call::<Int32Type>($keys.as_primitive() $(, $more)*),
            _ => $call::<Int64Type>($keys.as_primitive() $(, $more)*),
        }
    };
}

/// How many keys there are that are not NULL.
pub(super) fn count(keys: &[ArrayRef]) -> usize {
    keys.iter().map(|keys| keys.len() - keys.null_count()).sum()
}

/// The least and the greatest of all; `None` without any.
pub(super) fn bounds(keys: &[ArrayRef]) -> Option<(i64, i64)> {
    fn of<T: ArrowPrimitiveType<Native: Into<i64>>>(keys: &PrimitiveArray<T>) -> Option<(i64, i64)> {
        Some((compute::min(keys)?.into(), compute::max(keys)?.into()))
    }
    let each = keys.iter().filter_map(|keys| by_width!(keys, of));
    each.reduce(|(a, b), (c, d)| (a.min(c), b.max(d)))
}

/// True if so many keys between these two are worth a bit for each number there.
pub(super) fn are_close(count: usize, least: i64, greatest: i64) -> bool {
    count <= KEYS_MAX && greatest.abs_diff(least) < BITS_MAX.min(BITS_MAX_OF_KEY * count as u64)
}

/// Takes those that are not NULL into a set that has room for them.
pub(super) fn insert(keys: &ArrayRef, set: &mut NumberSet) {
    each(keys, |key| set.insert(key));
}

/// Hands over those that are not NULL.
pub(super) fn each(keys: &ArrayRef, take: impl FnMut(i64)) {
    fn of<T: ArrowPrimitiveType<Native: Into<i64>>>(keys: &PrimitiveArray<T>, mut take: impl FnMut(i64)) {
        match keys.null_count() {
            0 => keys.values().iter().for_each(|&key| take(key.into())),
            _ => keys.iter().flatten().for_each(|key| take(key.into())),
        }
    }
    by_width!(keys, of, take);
}

/// Which of the keys pass; NULL does not.
pub(super) fn passing(keys: &ArrayRef, has: impl Fn(i64) -> bool) -> BooleanArray {
    fn of<T: ArrowPrimitiveType<Native: Into<i64>>>(
        keys: &PrimitiveArray<T>,
        has: impl Fn(i64) -> bool,
    ) -> BooleanBuffer {
        let values = keys.values();
        BooleanBuffer::collect_bool(values.len(), |at| has(values[at].into()))
    }
    let passing = by_width!(keys, of, has);
    let passing = match keys.nulls() {
        Some(nulls) => &passing & nulls.inner(),
        None => passing,
    };
    BooleanArray::new(passing, None)
}
