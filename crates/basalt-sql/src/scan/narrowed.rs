// SPDX-License-Identifier: Apache-2.0
//! Scans that a join makes small: rows that are looked up by the join's keys, in place of a scan that leaves the others out.
//!
//! A hash join reads one of its sides first. By then it knows every value that a row of the other side must have, and tells the scan there
//! ([`super::join_keys`]). Where these are few, and begin the primary key of the table or the key of one of its indexes, the scan is not run: its rows are
//! found by these keys. So a join of few rows with a large table takes the time of few rows (an index nested loop, a batch of keys at a time).
//!
//! That is decided when the keys are known, by their number and not by an estimate of it: each key, and each row that an index names, costs what
//! [`Cost`] says. The rows come as the scan would have given them, each in its partition and in the order of the key; whoever
//! counts on that cannot tell.

mod by_index;
mod said;

use std::sync::Arc;

use basalt_model::KeyRange;
use bytes::Bytes;
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::PhysicalExpr;
use parking_lot::Mutex;

use self::said::Said;
use super::cost::Cost;
use super::exec::{Spec, table_schema};
use crate::error::SqlError;
use crate::index::Usable;
use crate::keys::{self, Access};

/// What is read of a scan, in place of all: sorted, disjoint.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Narrowed {
    /// Rows of these keys.
    Keys(Vec<Bytes>),
    /// Rows in these ranges.
    Ranges(Vec<KeyRange>),
}

impl Narrowed {
    /// What lies in some ranges (sorted, disjoint).
    pub(super) fn within(&self, ranges: &[KeyRange]) -> Self {
        match self {
            Self::Keys(keys) => {
                let has = |key: &&Bytes| {
                    let behind = ranges.partition_point(|range| range.start <= **key);
                    behind > 0 && ranges[behind - 1].contains(key)
                };
                Self::Keys(keys.iter().filter(has).cloned().collect())
            }
            Self::Ranges(own) => Self::Ranges(both(own, ranges)),
        }
    }

    /// How many keys or ranges.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Keys(keys) => keys.len(),
            Self::Ranges(ranges) => ranges.len(),
        }
    }
}

/// What lies in both (each sorted, disjoint).
fn both(some: &[KeyRange], others: &[KeyRange]) -> Vec<KeyRange> {
    let mut both = vec![];
    let (mut some, mut others) = (some.iter().peekable(), others.iter().peekable());
    while let (Some(one), Some(other)) = (some.peek(), others.peek()) {
        let common = one.intersect(other);
        if !common.is_empty() {
            both.push(common);
        }
        let ends_first = match (&one.end, &other.end) {
            (Some(one), Some(other)) => one <= other,
            (end, _) => end.is_some(),
        };
        if ends_first {
            some.next();
        } else {
            others.next();
        }
    }
    both
}

/// The hints that are still asked of rows that are read so.
pub(super) fn left_of(
    hints: Vec<Arc<dyn PhysicalExpr>>,
    narrowed: &Narrowed,
    spec: &Spec,
) -> Vec<Arc<dyn PhysicalExpr>> {
    let table = table_schema(&spec.descriptor);
    let is_answered = |hint: &Arc<dyn PhysicalExpr>| match narrowed {
        Narrowed::Keys(_) => true,
        // Where lists of several columns would make too many ranges these are fewer, and wider.
        Narrowed::Ranges(ranges) => Said::is_all_of(hint, &spec.columns, table, ranges.len()),
    };
    hints.into_iter().filter(|hint| !is_answered(hint)).collect()
}

/// Values by which rows are looked up, at most.
const VALUES_MAX: usize = 1 << 14;

/// What was found out, and of what: all partitions of a scan want to know, and a plan may run again with other keys.
#[derive(Debug, Default)]
pub(super) struct Found(Mutex<Option<(Said, Option<Arc<Narrowed>>)>>);

impl Found {
    /// What the hints leave to be read of a scan, as far as is known now; `None`: all of it.
    pub(super) fn of(
        &self,
        spec: &Spec,
        hints: &[Arc<dyn PhysicalExpr>],
    ) -> Result<Option<Arc<Narrowed>>, SqlError> {
        if !can_be_narrowed(spec) {
            return Ok(None);
        }
        let rows = rows_read(spec);
        let values_max = usize::try_from(rows / Cost::of(&spec.snapshot, spec.id, &spec.descriptor).look_up);
        let values_max = values_max.unwrap_or(usize::MAX).min(VALUES_MAX);
        let said = Said::by(hints, &spec.columns, table_schema(&spec.descriptor), values_max);
        if said.is_empty() {
            return Ok(None);
        }
        let mut found = self.0.lock();
        if let Some((of, known)) = &*found
            && *of == said
        {
            return Ok(known.clone());
        }
        let narrowed = narrowed(spec, &said, values_max)?.map(Arc::new);
        *found = Some((said, narrowed.clone()));
        Ok(narrowed)
    }
}

/// A scan that takes some rows of many takes those that come first.
fn can_be_narrowed(spec: &Spec) -> bool {
    let is_scan = matches!(spec.access.access, Access::Full | Access::Ranges(_));
    is_scan && spec.limit.is_none() && spec.skip == 0
}

fn narrowed(spec: &Spec, said: &Said, rows_max: usize) -> Result<Option<Narrowed>, SqlError> {
    let by_key =
        said.access(&spec.conditions, |filters| keys::access(table_schema(&spec.descriptor), filters));
    match by_key {
        Access::Nothing => return Ok(Some(Narrowed::Keys(vec![]))),
        Access::Points(keys) if keys.len() <= rows_max => {
            return Ok(Some(match spec.as_of_ms {
                None => Narrowed::Keys(keys),
                // Lookups of single rows know no past.
                Some(_) => Narrowed::Ranges(keys.into_iter().map(KeyRange::point).collect()),
            }));
        }
        Access::Ranges(ranges) if ranges.len() <= rows_max => return Ok(Some(Narrowed::Ranges(ranges))),
        Access::Points(_) | Access::Ranges(_) | Access::Full => {}
    }
    Ok(by_index::keys(spec, said, rows_max)?.map(Narrowed::Keys))
}

/// About how many rows the scan reads without this.
fn rows_read(spec: &Spec) -> u64 {
    let Access::Ranges(ranges) = &spec.access.access else { return spec.rows_estimate };
    let bytes = |ranges: &[KeyRange]| {
        let segments = spec.snapshot.segments(spec.id, ranges, 1);
        // What cannot be told now will be said by the scan.
        segments.map_or(0, |segments| segments.iter().map(|segment| segment.bytes_estimate).sum::<u64>())
    };
    let all = bytes(&[KeyRange::all()]).max(1);
    let share = u128::from(bytes(ranges).min(all)) * u128::from(spec.rows_estimate) / u128::from(all);
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// How the rows may be found once the hints are known, for EXPLAIN.
pub(super) fn shown(spec: &Spec, hints: &[Arc<dyn PhysicalExpr>]) -> Option<String> {
    if !can_be_narrowed(spec) {
        return None;
    }
    let schema = table_schema(&spec.descriptor);
    let columns = hints.iter().flat_map(|hint| hint.children().into_iter().filter_map(said::place));
    let names: Vec<String> =
        columns.filter_map(|at| spec.columns.get(at)).map(|&column| schema.display_name(column)).collect();
    if names.contains(&schema.key[0].name) {
        return Some("key".to_owned());
    }
    let named = |name: &String| by_index::beginning_with(spec, name).map(Usable::name);
    names.iter().find_map(named).map(str::to_owned)
}

/// The access that some conditions leave, if each of several alternatives is one: all that any of them leaves.
fn united(alternatives: impl Iterator<Item = Access>) -> Access {
    let (mut points, mut ranges) = (vec![], vec![]);
    for access in alternatives {
        match access {
            Access::Nothing => {}
            Access::Points(keys) => points.extend(keys),
            Access::Ranges(some) => ranges.extend(some),
            Access::Full => return Access::Full,
        }
    }
    points.sort_unstable();
    points.dedup();
    if ranges.is_empty() {
        return if points.is_empty() { Access::Nothing } else { Access::Points(points) };
    }
    ranges.extend(points.into_iter().map(KeyRange::point));
    Access::Ranges(keys::united(ranges))
}

/// Conditions of a scan and what hints say, together.
fn together(conditions: &[Expr], said: &[Expr]) -> Vec<Expr> {
    conditions.iter().chain(said).cloned().collect()
}

#[cfg(test)]
mod tests;
