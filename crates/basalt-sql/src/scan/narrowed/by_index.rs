// SPDX-License-Identifier: Apache-2.0
//! The keys of the rows that an index names under what hints say.

use std::sync::Arc;

use basalt_model::{ColumnRef, KeyRange};
use basalt_store::read::RowRequest;
use bytes::Bytes;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::split_conjunction_owned;

use super::super::exec::{Spec, table_schema};
use super::said::Said;
use crate::error::SqlError;
use crate::index::{Usable, keys_of_rows, unqualified};
use crate::keys::{Access, KeyAccess};

/// Rows of an index that are read at a time.
const BATCH_ROWS: usize = 8_192;

/// The sorted keys of all rows that the hints leave, by the first index that is of use; `None` if none is, or it names more than `rows_max` rows.
pub(super) fn keys(spec: &Spec, said: &Said, rows_max: usize) -> Result<Option<Vec<Bytes>>, SqlError> {
    for index in usable(spec) {
        let access = |filters: &[Expr]| index.access(filters);
        // The conditions of the query alone are what the planner decided about.
        if matches!(said.access(&[], access), Access::Full) {
            continue;
        }
        let conditions: Vec<Expr> =
            spec.conditions.iter().cloned().flat_map(split_conjunction_owned).map(unqualified).collect();
        let found = match (KeyAccess { access: said.access(&conditions, access), bounds: String::new() })
            .into_ranges()
            .access
        {
            Access::Nothing => Some(vec![]),
            Access::Ranges(ranges) if ranges.len() <= rows_max => named(spec, index, ranges, rows_max)?,
            _ => None,
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// An index whose first value is this column.
pub(super) fn beginning_with<'a>(spec: &'a Spec, column: &str) -> Option<&'a Usable> {
    let begins = |index: &&Usable| {
        let key = &index.table.table_schema().key;
        let first = index.leading() - 1;
        index.place(column).is_some_and(|place| key.get(first).is_some_and(|key| key.name == place.column))
    };
    usable(spec).find(begins)
}

/// Those that can be read, and have all rows of the scan.
fn usable(spec: &Spec) -> impl Iterator<Item = &Usable> {
    let conditions: Vec<Expr> =
        spec.conditions.iter().cloned().flat_map(split_conjunction_owned).map(unqualified).collect();
    let indexes = if spec.as_of_ms.is_none() { &spec.indexes[..] } else { &[] };
    indexes.iter().filter(move |index| index.unreadable.is_none() && index.has_all(&conditions))
}

/// The keys of the table's rows in ranges of an index.
fn named(
    spec: &Spec,
    index: &Usable,
    ranges: Vec<KeyRange>,
    rows_max: usize,
) -> Result<Option<Vec<Bytes>>, SqlError> {
    let (schema, own) = (table_schema(&spec.descriptor), index.table.table_schema());
    let place = |name: &str| own.find(None, &index.place(name)?.column).ok();
    let columns: Option<Vec<ColumnRef>> = schema.key.iter().map(|key| place(&key.name)).collect();
    let Some(columns) = columns else { return Ok(None) };
    let request = RowRequest::of_columns(&columns, BATCH_ROWS.min(rows_max.saturating_add(1)));
    let batches = spec.snapshot.rows(index.table.id, &Arc::new(own.clone()), request, ranges)?;
    let batches = batches.map(|read| Ok(read?.batch));
    keys_of_rows(schema, batches, rows_max)
}
