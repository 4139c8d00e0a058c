// SPDX-License-Identifier: Apache-2.0
//! What a scan of a SQL table is asked for.

use std::sync::Arc;

use basalt_hfile::predicate::Predicate;
use basalt_hfile::typed::Wanted;
use basalt_model::{ColumnRef, TableSchema};

use crate::read::cell_columns::CellColumns;
use crate::read::straight::Taking;

/// Which rows and columns of a SQL table a scan is to return.
pub struct RowRequest {
    /// The wanted columns.
    pub columns: Vec<ColumnRef>,
    /// What the wanted rows satisfy.
    pub condition: Option<Condition>,
    /// Rows, from the first on, that are to be left out; for requests without a condition.
    pub skip: u64,
    /// Rows as they were at this moment, in milliseconds since 1970; see [`crate::ScanOptions::as_of_ms`].
    pub as_of_ms: Option<i64>,
    /// Columns may come in short form, in the batches that passed: see [`RowDecoder::in_short_form`].
    pub short: bool,
    /// What is to be known of each column, if rows are to be added up: those of row groups that pass as they are do not come
    /// in batches then, but are in [`RowScan::totals`]. What [`Totals::can_have`] says can be had.
    pub totals: Option<Vec<Wanted>>,
    /// Rows may come in any order: those of files that overlap, and of rows changed since, come faster then. Not with `skip`.
    pub any_order: bool,
    /// Rows of a batch, about.
    pub batch_rows: usize,
    /// False leaves the block cache as it is: what is read does not enter it.
    pub cached: bool,
}

impl RowRequest {
    /// All rows, with these columns.
    pub fn of_columns(columns: &[ColumnRef], batch_rows: usize) -> Self {
        Self {
            columns: columns.to_vec(),
            condition: None,
            skip: 0,
            as_of_ms: None,
            short: false,
            totals: None,
            any_order: false,
            batch_rows,
            cached: true,
        }
    }

    /// The wanted columns and those of the condition.
    pub(crate) fn all_columns(&self) -> Vec<ColumnRef> {
        let more = self.condition.as_ref().map(|condition| condition.columns.as_slice()).unwrap_or_default();
        [&self.columns, more].concat()
    }

    pub(super) fn taking(&self, schema: &TableSchema) -> Taking {
        let columns = CellColumns::new(schema, self.all_columns());
        let has_order = !self.any_order && !self.columns.is_empty();
        Taking { any_order: !has_order && self.skip == 0, columns }
    }
}

/// What the rows that a scan is to return satisfy, as far as the store can tell.
pub struct Condition {
    /// Asked at every row group, and at every vector if it [grows](Self::grows). Rows that do not satisfy it are not wanted.
    pub predicate: Box<dyn FnMut() -> Arc<Predicate> + Send>,
    /// The predicate may grow stronger by what the scan returns: that is returned soon, and what the predicate may spare is not read in
    /// advance.
    pub grows: bool,
    /// True if all rows that satisfy the predicate are wanted. Else the caller looks at every row.
    pub is_exact: bool,
    /// Columns that the caller needs to look at a row, beyond the wanted ones.
    pub columns: Vec<ColumnRef>,
}
