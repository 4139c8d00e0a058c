// SPDX-License-Identifier: Apache-2.0
//! Whether the condition of a check-and-mutate holds.

use basalt_model::{CheckAndMutate, CompareOp, Condition, Get, TableId};

use crate::error::Result;
use crate::snapshot::query::{View, check_family};

/// `None` if the condition does not hold; otherwise the timestamp of the cell that it rests on, 0 if there is none.
pub(super) fn holds(check: &CheckAndMutate, view: &View<'_>, table: TableId) -> Result<Option<i64>> {
    let range = check.time_range;
    let mut get = Get::new(check.row.clone()).time_range(range.min, range.max);
    // Here a filter sees all families from the start, as in HBase.
    get.options.families_on_demand = false;
    match &check.condition {
        Condition::Filter(filter) => {
            let row = view.get(table, &get.filter(filter.clone()))?;
            Ok(row.cells().next().map(|cell| cell.timestamp))
        }
        Condition::Value { family, qualifier, op, value } => {
            check_family(view.version.table(table)?, family)?;
            let row = view.get(table, &get.column(family.clone(), qualifier.clone()))?;
            let stored = row.cells().next();
            let holds = match &stored {
                _ if value.is_empty() => {
                    let empty = stored.is_none_or(|cell| cell.value.is_empty());
                    empty == (*op != CompareOp::NotEqual)
                }
                None => false,
                // The operator reads "given, operator, stored".
                Some(cell) => op.keeps(value[..].cmp(cell.value)),
            };
            Ok(holds.then(|| stored.map_or(0, |cell| cell.timestamp)))
        }
    }
}
